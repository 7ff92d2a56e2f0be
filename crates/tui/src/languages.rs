//! Every picture that is kept of a page, a state or a form is in one language: no English words on a Chinese screen but names and keys,
//! and no Chinese ones on an English screen but those of documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// English words that may stand on a Chinese screen: measures, formats, keys of configurations and of the keyboard, names of models, and
/// words of the invented data.
const ALLOWED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/languages.txt");

/// Folders with pictures, and with the sources of what the invented documents say.
fn folders() -> [PathBuf; 2] {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    [here.join("src"), here.join("../../src/command/workbench")]
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// The pictures by name, without the lines above them.
fn pictures() -> BTreeMap<String, String> {
    let mut found = Vec::new();
    folders().iter().for_each(|folder| files(folder, &mut found));
    let pictures = found.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "snap"));
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let text = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        text.splitn(3, "---\n").nth(2).unwrap_or_default().to_owned()
    };
    pictures.map(|path| (name(&path), text(&path))).collect()
}

fn is_english(name: &str) -> bool {
    name.contains("english") || name.contains("__states__") && name.ends_with("_120")
}

fn is_han(c: char) -> bool {
    ('一'..='龥').contains(&c)
}

#[test]
fn a_chinese_screen_has_no_english_words() {
    let allowed = fs::read_to_string(ALLOWED).unwrap();
    let allowed: BTreeSet<&str> = allowed.split_whitespace().collect();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = 0;
    for (name, picture) in pictures().into_iter().filter(|(name, _)| !is_english(name)) {
        seen += 1;
        assert!(picture.chars().any(is_han), "{name} has no Chinese words");
        // Commands of the shell are in no language.
        for line in picture.lines().filter(|line| !line.contains("inkstone ")) {
            let plain = |c: char| {
                c.is_ascii_alphanumeric()
                    || matches!(c, '_' | '.' | '/' | '-' | ':' | '=' | '"' | '[' | ']' | '+' | '~')
            };
            for word in line.split(|c| !plain(c)) {
                let is_word = word.len() > 2 && word.bytes().all(|b| b.is_ascii_alphabetic());
                if is_word && !allowed.contains(word) {
                    found.insert(word.to_owned(), name.clone());
                }
            }
        }
    }
    assert!(seen > 100, "{seen} pictures");
    assert!(found.is_empty(), "{} English words on Chinese screens: {found:#?}", found.len());
}

#[test]
fn an_english_screen_has_no_chinese_words_but_those_of_documents() {
    // What invented documents, models and files say stands in the sources of the tests.
    let mut sources = Vec::new();
    folders().iter().for_each(|folder| files(folder, &mut sources));
    let is_source = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        matches!(
            &*name,
            "screens.rs"
                | "testing.rs"
                | "invented.rs"
                | "filled.rs"
                | "bench.rs"
                | "states.rs"
                | "tour.rs"
                | "welcome.rs"
        )
    };
    let invented: String = sources.iter().filter(is_source).map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (name, picture) in pictures().into_iter().filter(|(name, _)| is_english(name)) {
        for run in picture.split(|c| !is_han(c)).filter(|run| run.chars().count() > 1 && *run != "中文") {
            if !invented.contains(run) {
                found.insert(run.to_owned(), name.clone());
            }
        }
    }
    assert!(found.is_empty(), "{} Chinese words on English screens: {found:#?}", found.len());
}
