//! Values of TOML as they are typed and shown.

use crossterm::event::KeyCode;
use serde::Deserialize;

use crate::field::Field;

use inkstone_base::language::Message;

/// A value that is typed, or a list whose members are chosen.
pub(super) struct Editing {
    pub(super) field: Field,
    pub(super) choosing: Option<Choosing>,
    /// True if the value is a text: it is typed without quotes.
    textual: bool,
    pub(super) faults: Vec<Message>,
}

impl Editing {
    /// A field that holds a text.
    pub(super) fn new(text: String, textual: bool) -> Editing {
        let mut field = Field::new(text);
        // A list goes on within its bracket.
        if !textual && field.text().ends_with(']') {
            field.key(&KeyCode::Left.into());
        }
        Editing { field, choosing: None, textual, faults: Vec::new() }
    }

    /// Chooses the members of a list among those that it may have.
    pub(super) fn choosing(list: &str, choices: &[String]) -> Editing {
        let chosen = members(list).unwrap_or_default();
        let unknown = chosen.iter().filter(|member| !choices.contains(member));
        let choices = choices.iter().chain(unknown).cloned().collect();
        Editing { choosing: Some(Choosing { choices, chosen, at: 0 }), ..Editing::new(list.to_owned(), false) }
    }

    /// Takes a key of the list: moves the mark or chooses; false for a key that means nothing here.
    pub(super) fn choose(&mut self, code: KeyCode) -> bool {
        let Some(choosing) = &mut self.choosing else { return false };
        match code {
            KeyCode::Left | KeyCode::Up | KeyCode::Char('h' | 'k') => choosing.at = choosing.at.saturating_sub(1),
            KeyCode::Right | KeyCode::Down | KeyCode::Char('l' | 'j') => {
                choosing.at = (choosing.at + 1).min(choosing.choices.len().saturating_sub(1));
            }
            KeyCode::Char(' ') => {
                let member = &choosing.choices[choosing.at];
                match choosing.chosen.iter().position(|chosen| chosen == member) {
                    Some(at) => drop(choosing.chosen.remove(at)),
                    None => choosing.chosen.push(member.clone()),
                }
                let list: Vec<String> = choosing.chosen.iter().map(|member| quoted(member)).collect();
                self.field = Field::new(format!("[{}]", list.join(", ")));
            }
            _ => return false,
        }
        true
    }

    /// The text typed as a value of TOML.
    pub(super) fn value(&self) -> String {
        let text = self.field.text();
        let (table, is_value) = (text.trim_start().starts_with('{'), read(text.trim()).is_some());
        // Input that is no TOML value is a string: its key takes the string, or says what it wants.
        if is_value && (table || !self.textual) { text.trim().to_owned() } else { quoted(text) }
    }
}

/// The members that a list may have and those that it has, in the order in which they were chosen.
pub(super) struct Choosing {
    pub(super) choices: Vec<String>,
    pub(super) chosen: Vec<String>,
    /// Number of the marked choice.
    pub(super) at: usize,
}

/// The members of a list of texts; none of any other value.
pub(super) fn members(list: &str) -> Option<Vec<String>> {
    let toml::Value::Array(members) = read(list)? else { return None };
    members.into_iter().map(|member| Some(member.as_str()?.to_owned())).collect()
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
