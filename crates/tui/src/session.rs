//! The state in which the workbench was left: the page shown and the memory of each page. Read before the pages are, written by the scribe.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Language;
use super::page::Page;

/// Version of the file. What a later one wrote is not read.
const VERSION: u32 = 1;

/// Bytes of a session file; what is longer was not written by this program.
const MOST: u64 = 4 << 20;

/// The state of the workbench that its next start restores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Session {
    pub page: Page,
    /// The language, where a key had changed it.
    pub language: Option<Language>,
    pages: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    page: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(default)]
    pages: Map<String, Value>,
}

/// The result of looking for an earlier session.
#[derive(Debug, PartialEq)]
pub(crate) enum FoundSession {
    /// Nothing: this is the first one.
    Nothing,
    Session(Box<Session>),
    /// A file that cannot be read, or not in full.
    Damaged,
    /// A file of a version to come.
    Newer,
}

impl Session {
    /// A session on this page, in this language where a key has changed it.
    pub(crate) fn new(page: Page, language: Option<Language>) -> Session {
        Session { page, language, pages: Map::new() }
    }

    pub(crate) fn note(&mut self, page: Page, memory: Value) {
        if !memory.is_null() {
            self.pages.insert(id(page).to_owned(), memory);
        }
    }

    pub(crate) fn memory(&self, page: Page) -> Option<&Value> {
        self.pages.get(id(page))
    }

    pub(crate) fn text(&self) -> String {
        let language = self.language.map(|language| if language == Language::Zh { "zh" } else { "en" }.to_owned());
        let stored = Stored { version: VERSION, page: id(self.page).to_owned(), language, pages: self.pages.clone() };
        // Plain data always has a JSON form.
        serde_json::to_string_pretty(&stored).unwrap_or_default() + "\n"
    }
}

/// Reads the file of a session, and gives the text that would be written of it.
pub fn read_session(path: &Path) -> Option<String> {
    match read(path) {
        FoundSession::Session(session) => Some(session.text()),
        _ => None,
    }
}

pub(crate) fn read(path: &Path) -> FoundSession {
    let bytes =
        match fs::metadata(path).and_then(|there| if there.len() > MOST { Ok(Vec::new()) } else { fs::read(path) }) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return FoundSession::Nothing,
            Err(_) => return FoundSession::Damaged,
        };
    let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { return FoundSession::Damaged };
    match value["version"].as_u64() {
        Some(version) if version > u64::from(VERSION) => return FoundSession::Newer,
        Some(_) => {}
        None => return FoundSession::Damaged,
    }
    let Ok(stored) = serde_json::from_value::<Stored>(value) else { return FoundSession::Damaged };
    let Some(page) = Page::ALL.into_iter().find(|page| id(*page) == stored.page) else { return FoundSession::Damaged };
    let language = match stored.language.as_deref() {
        Some("zh") => Some(Language::Zh),
        Some("en") => Some(Language::En),
        _ => None,
    };
    FoundSession::Session(Box::new(Session { page, language, pages: stored.pages }))
}

/// Puts a file that cannot be read beside its place, so that nothing is lost, and gives its new name.
pub(crate) fn set_aside(path: &Path) -> Option<String> {
    let aside = path.with_extension("json.set-aside");
    fs::rename(path, &aside).ok()?;
    aside.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The name of a page in the file.
fn id(page: Page) -> &'static str {
    match page {
        Page::Corpus => "corpus",
        Page::Text => "text",
        Page::Models => "models",
        Page::Onnx => "onnx",
        Page::Features => "features",
        Page::Experiments => "experiments",
        Page::Factor => "factor",
        Page::Ledger => "ledger",
        Page::Jobs => "jobs",
        Page::Stock => "stock",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_reads_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.json");
        assert_eq!(read(&path), FoundSession::Nothing);
        let mut session = Session::new(Page::Factor, Some(Language::En));
        session.note(Page::Corpus, json!({"search": "回购", "cursor": 7}));
        session.note(Page::Text, Value::Null);
        fs::write(&path, session.text()).unwrap();
        assert_eq!(read(&path), FoundSession::Session(Box::new(session.clone())));
        assert_eq!(
            (session.memory(Page::Corpus).unwrap()["cursor"].as_u64(), session.memory(Page::Text)),
            (Some(7), None)
        );
    }

    #[test]
    fn what_is_damaged_or_newer_is_told_apart_and_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.json");
        for text in
            ["", "{\"version\":1,\"pa", "[1]", "{\"page\":\"corpus\"}", "{\"version\":1,\"page\":\"砚\"}", "\u{0}"]
        {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path), FoundSession::Damaged, "{text:?}");
        }
        fs::write(&path, "{\"version\":2,\"page\":{\"two\":\"at once\"}}").unwrap();
        assert_eq!(read(&path), FoundSession::Newer);
        assert_eq!(set_aside(&path).as_deref(), Some("session.json.set-aside"));
        assert_eq!(read(&path), FoundSession::Nothing);
        assert!(dir.path().join("session.json.set-aside").exists());
    }
}
