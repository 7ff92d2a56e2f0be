//! workbench.toml: what is read can be edited, and an edit changes what it names alone.

use inkstone::config::{Config, edit};

pub(super) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (paths, text) = text.split_once('\u{0}').unwrap_or(("project.name", text));
    let read = Config::parse("workbench.toml", text);
    if read.is_ok() {
        assert!(Config::faults(text).is_empty());
    }
    let (path, value) = paths.split_once('=').unwrap_or((paths, "\"砚\""));
    // Keys that must be quoted are names of columns alone, which are changed with their table.
    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "_-.[]".contains(c));
    if let Some(changed) = plain.then(|| edit::set(text, path, value).ok()).flatten() {
        let written = edit::Written::read(&changed).expect("an edit leaves TOML");
        // Lines end as those of the file do.
        let lines = |text: &str| text.trim().replace('\r', "");
        let found = written.get(path).map(lines);
        assert!(found.is_some_and(|found| found == lines(value)), "{path} = {value} in {changed:?}");
        assert_eq!(edit::set(&changed, path, value).expect("an edit can be repeated"), changed);
        let out = edit::unset(&changed, path).expect("what was set can be taken out");
        assert_eq!(edit::Written::read(&out).expect("an edit leaves TOML").get(path), None, "{path} in {out:?}");
    }
    if let Ok(added) = edit::add(text, "source", "[[source]]\nname = \"a\"\npath = \"b\"\n") {
        edit::remove(&added, "source", 0).expect("a source that is there can be taken away");
    }
    let quoted = edit::quoted(path);
    assert_eq!(format!("a = {quoted}").parse::<toml::Table>().expect("TOML")["a"].as_str(), Some(path));
}
