//! Keys as people write them (`ctrl-p`, `enter`, `G`), and which command of the table each is bound to.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{COMMANDS, Command};
use crate::page::Page;

use inkstone_base::language::{LINES, Message};
use inkstone_base::{bail, message};

/// A key with what is held down beside it. Shift is part of a letter and of [`KeyCode::BackTab`], and nowhere else looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyPress {
    code: KeyCode,
    held: KeyModifiers,
}

/// Names of keys that are no character: what people write, the key, and how it is shown.
const NAMED: &[(&str, KeyCode, &str)] = &[
    ("enter", KeyCode::Enter, "Enter"),
    ("esc", KeyCode::Esc, "Esc"),
    ("tab", KeyCode::Tab, "Tab"),
    ("shift-tab", KeyCode::BackTab, "Shift-Tab"),
    ("space", KeyCode::Char(' '), "Space"),
    ("backspace", KeyCode::Backspace, "Backspace"),
    ("delete", KeyCode::Delete, "Delete"),
    ("insert", KeyCode::Insert, "Insert"),
    ("left", KeyCode::Left, "←"),
    ("right", KeyCode::Right, "→"),
    ("up", KeyCode::Up, "↑"),
    ("down", KeyCode::Down, "↓"),
    ("pgdn", KeyCode::PageDown, "PgDn"),
    ("pgup", KeyCode::PageUp, "PgUp"),
    ("home", KeyCode::Home, "Home"),
    ("end", KeyCode::End, "End"),
];

impl KeyPress {
    /// Reads `enter`, `ctrl-p`, `alt-x`, `f5`, `G`. Fails with the names there are.
    pub(crate) fn parse(text: &str) -> Result<KeyPress> {
        let mut held = KeyModifiers::NONE;
        let mut name = text;
        while let Some((before, rest)) = name.split_once('-').filter(|(_, rest)| !rest.is_empty()) {
            held |= match before.to_ascii_lowercase().as_str() {
                "ctrl" => KeyModifiers::CONTROL,
                "alt" => KeyModifiers::ALT,
                _ => break,
            };
            name = rest;
        }
        let lower = name.to_ascii_lowercase();
        let mut characters = name.chars();
        let code = match (characters.next(), characters.next(), NAMED.iter().find(|named| named.0 == lower)) {
            (_, _, Some(named)) => named.1,
            (Some(one), None, _) if !one.is_control() => KeyCode::Char(one),
            _ => match lower.strip_prefix('f').and_then(|number| number.parse().ok()) {
                Some(number @ 1..=12) => KeyCode::F(number),
                _ => {
                    let names: Vec<&str> = NAMED.iter().map(|named| named.0).collect();
                    bail!(
                        "{text:?} 不是按键；可用单个字符、f1 到 f12 或 {}，前面可加 ctrl- 或 alt-",
                        "{text:?} is no key; one character, f1 to f12, or {}, with ctrl- or alt- before it",
                        names.join(", ")
                    )
                }
            },
        };
        Ok(KeyPress { code, held })
    }
}

/// Keys one after the other: `jj<enter>/回购<esc>`. Fails at the first that is none.
pub fn sequence(text: &str) -> Result<Vec<KeyEvent>> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|inside| Some(&inside[..inside.find('>')?]));
        let (key, length) = match named {
            Some(name) => (KeyPress::parse(name)?, name.len() + 2),
            None => (KeyPress { code: KeyCode::Char(first), held: KeyModifiers::NONE }, first.len_utf8()),
        };
        keys.push(KeyEvent::new(key.code, key.held));
        rest = &rest[length..];
    }
    Ok(keys)
}

impl From<&KeyEvent> for KeyPress {
    fn from(event: &KeyEvent) -> KeyPress {
        KeyPress { code: event.code, held: event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT) }
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-")] {
            if self.held.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match (self.code, NAMED.iter().find(|named| named.1 == self.code)) {
            (_, Some(named)) => f.write_str(named.2),
            (KeyCode::Char(one), None) => write!(f, "{one}"),
            (code, None) => write!(f, "{code}"),
        }
    }
}

/// The keys of every command: those of the table, or those that the configuration gives instead.
#[derive(Clone, Debug)]
pub(crate) struct Keymap(Vec<Vec<KeyPress>>);

impl Keymap {
    /// The table with `changes` put over it: by the name of a command, its keys. Fails where a name is not known, a key is none, or
    /// two commands of a page would have the same key; all faults are named at once.
    pub(crate) fn new(changes: &BTreeMap<String, Vec<String>>) -> Result<Keymap> {
        let mut faults = Vec::new();
        for name in changes.keys().filter(|name| COMMANDS.iter().all(|command| command.id != **name)) {
            let near = COMMANDS
                .iter()
                .map(|command| command.id)
                .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
            faults.push(message!(
                "ui.keys.{name}：没有这个命令；是不是 {}？",
                "ui.keys.{name}: no such command; did you mean {}?",
                near.unwrap_or_default()
            ));
        }
        let mut keymap = Vec::with_capacity(COMMANDS.len());
        for command in COMMANDS {
            let changed = changes.get(command.id);
            let written: Vec<&str> =
                changed.map_or_else(|| command.keys.to_vec(), |keys| keys.iter().map(String::as_str).collect());
            let mut keys = Vec::new();
            for text in written {
                match KeyPress::parse(text) {
                    Ok(key) => keys.push(key),
                    Err(error) => faults.push(message!("ui.keys.{}：{error}", "ui.keys.{}: {error}", command.id)),
                }
            }
            keymap.push(keys);
        }
        for page in Page::ALL {
            let mut seen: Vec<(KeyPress, &str)> = Vec::new();
            for (command, keys) in COMMANDS.iter().zip(&keymap).filter(|(command, _)| command.pages.contains(&page)) {
                for key in keys {
                    match seen.iter().find(|(other, _)| other == key) {
                        Some((_, other)) => {
                            faults.push(message!(
                                "ui.keys：{key} 同时绑定到 {other} 和 {}",
                                "ui.keys: {key} is bound to both {other} and {}",
                                command.id
                            ));
                        }
                        None => seen.push((*key, command.id)),
                    }
                }
            }
        }
        faults.dedup();
        if !faults.is_empty() {
            bail!(Message::joined(faults, LINES));
        }
        Ok(Keymap(keymap))
    }

    /// The keys of a command of the table, the one to show first.
    pub(crate) fn keys(&self, command: &Command) -> &[KeyPress] {
        let at = COMMANDS.iter().position(|other| std::ptr::eq(other, command));
        at.and_then(|at| self.0.get(at)).map_or(&[], Vec::as_slice)
    }

    /// The command that a key is bound to on a page.
    pub(crate) fn command(&self, page: Page, key: &KeyEvent) -> Option<&'static Command> {
        let key = KeyPress::from(key);
        let bound = |(command, keys): &(&Command, &Vec<KeyPress>)| command.pages.contains(&page) && keys.contains(&key);
        COMMANDS.iter().zip(&self.0).find(bound).map(|(command, _)| command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written_and_shown_as_people_know_them() {
        for (text, shown) in
            [("enter", "Enter"), ("Ctrl-p", "Ctrl-p"), ("alt-left", "Alt-←"), ("G", "G"), ("-", "-"), ("F5", "F5")]
        {
            assert_eq!(KeyPress::parse(text).unwrap().to_string(), shown, "{text}");
        }
        let error = KeyPress::parse("entr").unwrap_err().to_string();
        assert!(error.contains("\"entr\" is no key") && error.contains("pgdn"), "{error}");
    }

    #[test]
    fn a_changed_key_takes_the_place_of_the_tables() {
        let change = |name: &str, keys: &[&str]| {
            BTreeMap::from([(name.to_owned(), keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())])
        };
        let keymap = Keymap::new(&change("quit", &["ctrl-q"])).unwrap();
        let press = |key: KeyEvent| keymap.command(Page::Corpus, &key).map(|command| command.id);
        assert_eq!(press(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::CONTROL)), Some("quit"));
        assert_eq!(press(KeyEvent::from(KeyCode::Char('q'))), None);
        let error = Keymap::new(&change("qiut", &["x"])).unwrap_err().to_string();
        assert!(error.contains("did you mean quit?"), "{error}");
        let error = Keymap::new(&change("quit", &["?"])).unwrap_err().to_string();
        assert!(error.contains("? is bound to both help and quit"), "{error}");
    }
}
