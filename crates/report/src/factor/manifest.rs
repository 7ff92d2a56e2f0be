//! The manifest on a page: its values by name as tables, and as JSON.

use anyhow::Result;
use serde_json::Value;

use super::words;
use crate::page::{both, head_of, paragraph, table_of, text};

/// Rows up to which a table is open from the start.
const OPEN: usize = 12;
/// Rows of a table, and entries of a list in the JSON. An export for Qlib has a file for each column of each security.
const SHOWN: usize = 200;

/// The manifest as a table of what is a single value, tables of what has parts, and the JSON folded. Long lists are cut.
pub(super) fn manifest(manifest: &Value) -> Result<String> {
    let Value::Object(entries) = manifest else {
        return Ok(match manifest {
            Value::Null => paragraph(words::NO_MANIFEST),
            other => raw(other)?,
        });
    };
    let (parts, single): (Vec<_>, Vec<_>) = entries.iter().partition(|(_, value)| has_parts(value));
    let single: Vec<(String, &Value)> = single.into_iter().map(|(key, value)| (key.clone(), value)).collect();
    let mut page = if single.is_empty() { String::new() } else { rows(&single, true) };
    for (key, value) in parts {
        let mut leaves = Vec::new();
        flatten("", value, &mut leaves);
        let open = if leaves.len() <= OPEN { " open" } else { "" };
        let (name, n) = (named(key), leaves.len());
        let rest = if n > SHOWN { paragraph(words::CUT_MANIFEST) } else { String::new() };
        leaves.truncate(SHOWN);
        page += &format!("<details{open}><summary>{name} ({n})</summary>\n{}{rest}</details>\n", rows(&leaves, false));
    }
    let mut shown = manifest.clone();
    let lists = shown.as_object_mut().into_iter().flat_map(|entries| entries.values_mut());
    let cut = lists.filter_map(Value::as_array_mut).filter(|list| list.len() > SHOWN);
    let cut = cut.map(|list| list.truncate(SHOWN)).count();
    let rest = if cut > 0 { paragraph(words::CUT_MANIFEST) } else { String::new() };
    Ok(page + &raw(&shown)? + &rest)
}

fn raw(manifest: &Value) -> Result<String> {
    let json = serde_json::to_string_pretty(manifest)?;
    Ok(format!(
        "<details><summary>{}</summary>\n<pre class=\"wide\" tabindex=\"0\">{}</pre></details>\n",
        both(words::RAW),
        // Line breaks stay; what else a page cannot hold is shown.
        json.lines().map(text).collect::<Vec<_>>().join("\n")
    ))
}

fn has_parts(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        _ => false,
    }
}

/// Values without parts, each with the way to it: `backtest.horizons`.
fn flatten<'a>(path: &str, value: &'a Value, leaves: &mut Vec<(String, &'a Value)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(entries) if has_parts(value) => {
            entries.iter().for_each(|(key, value)| flatten(&below(key), value, leaves));
        }
        Value::Array(items) if has_parts(value) => {
            items.iter().enumerate().for_each(|(i, item)| flatten(&below(&(i + 1).to_string()), item, leaves));
        }
        _ => leaves.push((path.to_owned(), value)),
    }
}

fn rows(leaves: &[(String, &Value)], names: bool) -> String {
    let row = |(key, value): &(String, &Value)| {
        let key = if names { named(key) } else { text(key) };
        format!("<tr><td class=\"text\">{key}</td><td class=\"text wrap\">{}</td></tr>\n", text(&plain(value)))
    };
    let heads = [words::KEY, words::VALUE].map(|word| head_of(&both(word), true));
    table_of(&heads, &leaves.iter().map(row).collect::<Vec<_>>(), words::NO_MANIFEST)
}

/// A key in words where they are known.
fn named(key: &str) -> String {
    words::key(key).map_or_else(|| text(key), both)
}

/// A value as it is read: text without quotes, lists with commas, nothing as a dash.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
