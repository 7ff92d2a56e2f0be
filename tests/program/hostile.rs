//! Input that was made to do harm: nothing of it reaches a terminal, a folder that is not its own, or another file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::desk::{Desk, news};
use crate::{Ran, assert_says, edit, run, run_on};

/// Sequences that terminals obey: colours, a cleared screen, the clipboard, a title, C1 forms of the same, text that runs backwards.
const OBEYED: &str =
    "\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;evil\u{7}\u{9b}31m\u{90}q\u{9c}\u{202e}\u{2066}\u{200b}\u{8}\u{7f}";

/// Fails where something that a terminal would obey stands in what the program said.
fn harmless(ran: &Ran) {
    let obeyed = |c: &char| (c.is_control() && *c != '\n') || ('\u{200b}'..='\u{206f}').contains(c) && *c != '\u{200d}';
    for (name, text) in [("stdout", ran.text()), ("stderr", ran.stderr.clone())] {
        let found: Vec<char> = text.chars().filter(obeyed).collect();
        assert!(found.is_empty(), "{found:?} in {name}:\n{text:?}");
    }
}

/// A project whose texts, ids and unreadable rows are full of what terminals obey.
fn evil() -> Desk {
    let desk = Desk::new();
    let quoted = news().replace("季度业绩", &format!("季度{OBEYED}业绩")).replace("0-0,", &format!("0{OBEYED}-0,"));
    desk.write("news.csv", format!("{quoted}x{OBEYED},t,b,600101.SH,{OBEYED}\n"));
    desk
}

#[test]
fn what_terminals_obey_is_shown_instead_by_every_command() {
    let desk = evil();
    let ran = desk.run();
    harmless(&ran);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let says = |args: &[&str]| {
        let ran = run(desk.folder(), args);
        harmless(&ran);
        ran
    };
    let names = says(&["trace", "tone", "--date", "2024-03-05"]).finished();
    let code = names["date"]["names"][0]["code"].as_str().expect("a name has a value").to_owned();
    let traced = says(&["trace", "tone", "--date", "2024-03-05", "--code", &code]).finished();
    assert!(traced.to_string().contains("\\u001b[2J") || traced.to_string().contains('季'), "{traced}");
    says(&["ledger"]).finished();
    let name = format!("a{}.txt", OBEYED.replace('/', ""));
    desk.write(&name, format!("标题：{OBEYED}\n\n正文{OBEYED}。"));
    let read = says(&["read", &name, "--text"]).json();
    assert_eq!(read["files"][0]["text"], format!("正文{OBEYED}。"), "JSON means what was read");
    let refused = says(&["run", "-c", &format!("{OBEYED}.toml")]);
    assert_says(refused.json()["error"].as_str().unwrap(), &["cannot read the configuration", OBEYED]);
    assert_says(&refused.stderr, &["cannot read the configuration"]);
    edit(&desk.folder().join("workbench.toml"), "name = \"tone\"\nmodel", "name = \"\\u001b[2J\"\nmodel");
    says(&["run", "--headless"]).refusal();
}

#[test]
fn a_pipe_gets_a_text_as_it_is() {
    let desk = Desk::new();
    // Characters in mode char are those that are written; what directs writing stays among them.
    let text = "公司\u{2066}增长";
    let ran = run_on(desk.folder(), &["tokenize", "--mode", "char"], format!("{text}\n").as_bytes());
    let joined: String = ran.text().trim_end_matches('\n').split(' ').collect();
    assert_eq!(joined, text);
}

#[test]
fn names_that_lead_elsewhere_are_refused_with_their_line() {
    let long = "长".repeat(80);
    for name in ["../x", "/etc/x", "a/b", "a\\\\b", "CON", "lpt1", "", ".", "..", "a\\u0000b", &long] {
        let desk = Desk::new();
        let config = desk.folder().join("workbench.toml");
        edit(&config, "[[factor]]\nname = \"tone\"", &format!("[[factor]]\nname = \"{name}\""));
        assert_says(&desk.run().refusal(), &["workbench.toml:18: factor[0].name: "]);
        let experiment = format!(
            "\n[[experiment]]\nname = \"{name}\"\nfeatures = [\"tone\"]\nvary = {{ truncate = [\"head:64\"] }}\n"
        );
        let desk = Desk::new();
        let config = desk.folder().join("workbench.toml");
        fs::write(&config, fs::read_to_string(&config).unwrap() + &experiment).unwrap();
        assert_says(&desk.run().refusal(), &["experiment[0].name: "]);
        assert!(!desk.folder().join(".inkstone").exists(), "nothing was begun");
    }
    let desk = Desk::new();
    let config = desk.folder().join("workbench.toml");
    edit(&config, "[[factor]]\nname = \"tone\"", "[[factor]]\nname = \"情绪因子\"");
    desk.run().finished();
    assert!(desk.folder().join(".inkstone/factors/情绪因子.parquet").exists());
}

#[test]
fn a_manifest_leads_to_no_other_folder() {
    let desk = Desk::new();
    desk.run().finished();
    let manifest = desk.folder().join("exports/manifest.json");
    let sound: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let mut evil = sound.clone();
    evil["parameters"]["factor"][0]["name"] = "../../../evil".into();
    let place = desk.folder().join("evil/manifest.json");
    fs::create_dir(place.parent().unwrap()).unwrap();
    fs::write(&place, evil.to_string()).unwrap();
    let before = listing(desk.folder());
    let ran = run(desk.folder(), &["replay", "evil/manifest.json", "--dir", "again", "--base", "."]);
    assert_says(&ran.refusal(), &["evil/manifest.json", "factor[0].name", "../../../evil"]);
    let mut after = listing(desk.folder());
    after.retain(|path| !path.starts_with("again"));
    assert_eq!(after, before);
    let mut evil = sound;
    evil["files"][0]["path"] = "../../secret".into();
    fs::write(&place, evil.to_string()).unwrap();
    let ran = run(desk.folder(), &["diff", "exports/manifest.json", "evil/manifest.json"]);
    assert_says(&ran.refusal(), &["../../secret", "outside of its folder"]);
}

/// Files and folders below a folder, relative to it.
fn listing(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    entries.map(|path| path.strip_prefix(folder).unwrap().to_owned()).collect()
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_file_is_replaced_and_never_written_through() {
        let desk = Desk::new();
        desk.run().finished();
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("victim");
        let mut linked = 0;
        for path in listing(desk.folder()) {
            let full = desk.folder().join(&path);
            let made = path.starts_with(".inkstone") || path.starts_with("exports") || path.starts_with("reports");
            let of_store = path.components().any(|part| part.as_os_str() == "features.sled");
            // Locks and ledger are opened as they stand; their folder belongs to whoever may write it.
            let held = path.extension().is_some_and(|e| e == "lock")
                || path.ends_with("lock")
                || path.starts_with(".inkstone/ledger");
            if made && !of_store && !held && full.is_file() {
                fs::remove_file(&full).unwrap();
                symlink(&victim, &full).unwrap();
                linked += 1;
            }
        }
        assert!(linked > 10);
        fs::write(&victim, "mine").unwrap();
        edit(&desk.folder().join("workbench.toml"), "min_names = 2\n\n", "min_names = 3\n\n");
        harmless(&desk.run());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "and nothing stands beside it");
    }

    #[test]
    fn a_pipe_as_a_source_is_refused_at_once() {
        let desk = Desk::new();
        fs::remove_file(desk.folder().join("news.csv")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, desk.folder().join("news.csv"), mode).unwrap();
        assert_says(&desk.run().refusal(), &["news.csv", "a pipe, a socket or a device"]);
    }
}
