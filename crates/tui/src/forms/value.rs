//! Values of TOML as they are typed and shown.

use serde::Deserialize;

use crate::field::Field;

use inkstone_base::language::Message;

/// A value that is typed.
pub(super) struct Editing {
    pub(super) field: Field,
    /// True if the value is a text: it is typed without quotes.
    textual: bool,
    pub(super) faults: Vec<Message>,
}

impl Editing {
    /// A field that holds a text.
    pub(super) fn new(text: String, textual: bool) -> Editing {
        Editing { field: Field::new(text), textual, faults: Vec::new() }
    }

    /// The text typed as a value of TOML.
    pub(super) fn value(&self) -> String {
        let text = self.field.text();
        let (table, is_value) = (text.trim_start().starts_with('{'), read(text.trim()).is_some());
        // Input that is no TOML value is a string: its key takes the string, or says what it wants.
        if is_value && (table || !self.textual) { text.trim().to_owned() } else { quoted(text) }
    }
}

#[derive(Deserialize)]
struct One {
    value: toml::Value,
}

fn read(value: &str) -> Option<toml::Value> {
    toml::from_str::<One>(&format!("value = {value}")).ok().map(|one| one.value)
}

/// A text without its quotes; other values as they are written.
pub(super) fn plain(value: &str) -> String {
    match read(value) {
        Some(toml::Value::String(text)) => text,
        _ => value.to_owned(),
    }
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

pub(super) fn section_of(path: &str) -> &str {
    path.split(['[', '.']).next().unwrap_or(path)
}

/// Name and number of one of several sections.
pub(super) fn numbered(path: &str) -> Option<(&str, usize)> {
    let (name, rest) = path.split_once('[')?;
    Some((name, rest.strip_suffix(']')?.parse().ok()?))
}
