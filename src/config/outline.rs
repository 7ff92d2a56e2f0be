//! The keys of the commented template, each with its default, an example, a sentence, and the values that it may have.

use super::TEMPLATE;

/// A key of the template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Section: `backtest`, `feature`.
    pub section: String,
    /// True if the section may occur several times.
    pub repeated: bool,
    /// The key below the section: `delay`, `columns.title`, `walk_forward.test_days`.
    pub key: String,
    /// Default as it is written, if there is one.
    pub default: Option<String>,
    /// An example, if it has no default.
    pub example: Option<String>,
    /// The sentence in English.
    pub english: String,
    /// The sentence in Chinese.
    pub chinese: String,
    /// Possible values, if the template lists them.
    pub choices: Vec<String>,
}

/// The keys of the template, in its order.
pub fn settings() -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    let (mut section, mut below, mut repeated, mut nested) = (String::new(), String::new(), false, false);
    for line in TEMPLATE.lines() {
        let example = line.starts_with("#: ");
        let line = line.strip_prefix("#: ").unwrap_or(line);
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.split_once("]]")).map(|(name, _)| name) {
            // A list of tables inside a section is no setting of one line.
            nested = name.contains('.');
            if !nested {
                (section, below, repeated) = (name.to_owned(), String::new(), true);
            }
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(name, _)| name) {
            nested = false;
            match name.split_once('.') {
                Some((_, inner)) => below = format!("{inner}."),
                None => (section, below, repeated) = (name.to_owned(), String::new(), false),
            }
        } else if let Some((key, rest)) =
            line.split_once(" = ").filter(|_| !line.trim_start().starts_with('#') && !nested)
        {
            let (value, comment) = value_and_comment(rest);
            let (english, chinese) = languages(comment);
            // In repeated sections the template shows defaults as examples too; names and files alone have none.
            let has_default =
                !example || repeated && !describes_absence(&english) && !is_invented(&section, key, &below);
            let setting = Setting {
                section: section.clone(),
                repeated,
                key: format!("{below}{}", key.trim()),
                default: has_default.then(|| value.to_owned()),
                example: (!has_default).then(|| value.to_owned()),
                choices: choices(&english, value),
                english,
                chinese,
            };
            if !settings.iter().any(|s| s.section == setting.section && s.key == setting.key) {
                settings.push(setting);
            }
        } else if let (Some(comment), Some(last)) = (line.trim_start().strip_prefix('#'), settings.last_mut())
            && example
        {
            // The comment goes on in the next line, in either language.
            let (english, chinese) = languages(comment.trim());
            last.english = format!("{} {english}", last.english).trim_end().to_owned();
            last.chinese += &chinese;
            last.choices =
                choices(&last.english, last.default.as_deref().or(last.example.as_deref()).unwrap_or_default());
        }
    }
    settings
}

/// An example of a section that may occur several times, with a name that is not taken.
pub fn example(section: &str, taken: &[String]) -> Option<String> {
    let keys: &[&str] = match section {
        "rewrite" => &["name", "model", "fitted_until", "prompt"],
        "feature" => &["name", "model"],
        "factor" => &["name", "expression"],
        "experiment" => &["name", "target", "features", "vary"],
        "on" => &["event", "run"],
        _ => return None,
    };
    let settings = settings();
    let mut block = format!("[[{section}]]\n");
    for key in keys {
        let setting = settings.iter().find(|s| s.section == section && s.key == *key)?;
        let value = setting.example.as_deref().or(setting.default.as_deref())?;
        let value = if *key == "name" { free(value.trim_matches('"'), taken) } else { value.to_owned() };
        block += &format!("{key} = {value}\n");
    }
    Some(block)
}

fn free(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name));
    format!("\"{}\"", free.unwrap_or_default())
}

/// True if the sentence says what holds while the key is absent.
fn describes_absence(english: &str) -> bool {
    english.contains("absent:") && !english.contains("absent: 0")
}

/// True if the value of the key in the template is an invented example and not the default.
fn is_invented(section: &str, key: &str, below: &str) -> bool {
    match section {
        "source" => below == "columns." || matches!(key, "name" | "path" | "published_at_default"),
        "rewrite" => matches!(key, "name" | "model" | "fitted_until" | "prompt"),
        "feature" => {
            matches!(key, "name" | "model") && below.is_empty()
                || below == "file."
                || below == "onnx." && matches!(key, "model" | "fitted_until")
                || below == "embeddings." && key == "fitted_until"
                || below == "finetune." && matches!(key, "base" | "fitted_until")
        }
        "factor" => matches!(key, "name" | "expression"),
        "on" => key == "run",
        "experiment" => matches!(key, "name" | "features" | "vary" | "baseline" | "factor"),
        _ => false,
    }
}

/// A value and the comment behind it; a `#` inside quotes is neither.
fn value_and_comment(rest: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (None, '#') => return (rest[..at].trim_end(), rest[at + 1..].trim()),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open && !rest[..at].ends_with('\\') => quote = None,
            _ => {}
        }
    }
    (rest.trim_end(), "")
}

/// The English and the Chinese half of a comment, with two spaces or more between them; a line may have one of them alone.
fn languages(comment: &str) -> (String, String) {
    let is_han = |c: &char| ('一'..='龥').contains(c);
    let chinese =
        comment.match_indices("  ").map(|found| found.0).find(|at| comment[*at..].chars().any(|c| is_han(&c)));
    let letters = comment.chars().filter(char::is_ascii_alphabetic).count();
    match chinese {
        Some(at) => (comment[..at].trim().to_owned(), comment[at..].trim().to_owned()),
        None if 2 * comment.chars().filter(is_han).count() > letters => (String::new(), comment.to_owned()),
        None => (comment.to_owned(), String::new()),
    }
}

/// The values that a comment lists with `|` between them, where the value is a text or a list.
fn choices(english: &str, value: &str) -> Vec<String> {
    if !value.starts_with(['"', '[']) || !english.contains('|') {
        return Vec::new();
    }
    let listed = english.split(';').next().unwrap_or_default();
    let listed = match listed.split_once(": ") {
        Some((before, after)) if !before.contains('|') && after.contains('|') => after,
        _ => listed,
    };
    let mut choices = Vec::new();
    for piece in listed.split('|') {
        let piece = piece.split('(').next().unwrap_or_default();
        let word = piece.split(',').next().unwrap_or_default().trim().trim_end_matches(':');
        let word = word.split(": ").next().unwrap_or_default();
        if !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'.'))
        {
            choices.push(word.to_owned());
        }
    }
    if choices.len() < 2 { Vec::new() } else { choices }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, edit};

    fn setting(section: &str, key: &str) -> Setting {
        let found = settings().into_iter().find(|s| s.section == section && s.key == key);
        found.unwrap_or_else(|| panic!("no {section}.{key}"))
    }

    #[test]
    fn keys_have_what_the_template_says_of_them() {
        let threads = setting("project", "threads");
        assert_eq!((threads.default.as_deref(), threads.chinese.as_str()), (Some("0"), "线程数，结果与之无关"));
        assert_eq!(threads.english, "0: every core; results do not depend on it");
        let latest = setting("ingest", "latest");
        assert_eq!((latest.default, latest.example.as_deref()), (None, Some("\"2025-12-31T23:59:59\"")));
        assert_eq!(setting("market", "cutoff").choices, ["close", "next_open"]);
        assert_eq!(setting("source", "table").choices, ["documents", "prices", "securities", "relations", "events"]);
        assert_eq!(setting("source", "columns.title").example.as_deref(), Some("\"headline\""));
        assert_eq!(setting("feature", "walk_forward.test_days").default.as_deref(), Some("20"));
        assert!(
            setting("feature", "model").choices.contains(&"textrnn".to_owned()),
            "a list may go on in the next line"
        );
        assert!(setting("feature", "truncate").english.ends_with("\" -title\""));
        assert!(setting("factor", "expression").english.contains("mean(tone.positive"), "also one with = in it");
        for setting in settings() {
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
            assert!(setting.key.bytes().all(plain), "{} is no key", setting.key);
        }
        assert_eq!(setting("backtest", "weights").choices, ["equal", "cap"]);
        assert_eq!(setting("factor", "kinds").choices, ["report", "news", "announcement", "post"]);
        assert_eq!(setting("export", "formats").choices, ["parquet", "arrow", "csv"]);
        assert_eq!(setting("export", "shapes").choices.len(), 5);
    }

    #[test]
    fn every_key_is_explained_in_both_languages() {
        let is_han = |c: char| ('一'..='龥').contains(&c);
        for Setting { section, key, english, chinese, .. } in settings() {
            assert!(chinese.chars().any(is_han), "{section}.{key} has no Chinese sentence");
            let letters = english.chars().filter(char::is_ascii_alphabetic).count();
            assert!(letters > english.chars().filter(|c| is_han(*c)).count(), "{section}.{key}: {english}");
        }
    }

    #[test]
    fn every_choice_that_is_offered_is_a_value_that_the_key_may_have() {
        let plain = settings().into_iter().filter(|s| !s.repeated && s.default.is_some());
        let mut tried = 0;
        for setting in plain {
            for choice in &setting.choices {
                let path = format!("{}.{}", setting.section, setting.key);
                let is_list = setting.default.as_ref().is_some_and(|default| default.starts_with('['));
                let value = if is_list { format!("[{}]", edit::quoted(choice)) } else { edit::quoted(choice) };
                let text = edit::set(TEMPLATE, &path, &value).unwrap();
                let faults = Config::faults(&text);
                assert!(faults.is_empty(), "{path} = {choice}: {faults:?}");
                tried += 1;
            }
        }
        assert!(tried > 15, "{tried}");
    }

    #[test]
    fn defaults_are_those_of_the_program() {
        for setting in settings().into_iter().filter(|s| !s.repeated) {
            let Some(default) = setting.default else { continue };
            let text = edit::set(TEMPLATE, &format!("{}.{}", setting.section, setting.key), &default).unwrap();
            assert_eq!(text, TEMPLATE, "{}.{}", setting.section, setting.key);
        }
    }

    #[test]
    fn examples_can_be_added_and_take_a_free_name() {
        let feature = example("feature", &[]).unwrap();
        let text = edit::add(TEMPLATE, "feature", &feature).unwrap();
        let text = edit::add(&text, "factor", &example("factor", &["tone".into()]).unwrap()).unwrap();
        let text = edit::add(&text, "experiment", &example("experiment", &[]).unwrap()).unwrap();
        let config = Config::parse("w", &text).unwrap();
        assert_eq!((config.feature[0].name.as_str(), config.factor[0].name.as_str()), ("tone", "tone_2"));
        assert_eq!(example("ui", &[]), None);
    }
}
