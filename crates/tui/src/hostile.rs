//! Pages made of what terminals obey: every cell shows it as what it is.

use std::sync::Arc;

use anyhow::bail;
use polars_core::prelude::{IntoColumn, NamedFrom, Series};
use tempfile::TempDir;

use super::bench::{Bench, LARGE, SMALL, filled, outcome};
use super::page::Page;
use super::{Runner, width};
use inkstone_base::disk;
use inkstone_tables::corpus::{documents_from_frame, documents_to_frame};
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// A cleared screen, the clipboard, a title, C1 forms of these, text that runs backwards, nothing to be seen, and a heap of accents.
const OBEYED: &str = "\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;x\u{7}\u{9b}2J\u{90}q\u{9c}\u{202e}\u{2066}\u{200b}\u{8}\u{7f}\r\u{feff}e";

fn evil(text: &str) -> String {
    format!("{text}{OBEYED}{}", "\u{301}".repeat(10_000))
}

/// The project of all screen tests with [`OBEYED`] behind every text of its documents, rows set aside and backtest.
fn poisoned() -> Arc<TempDir> {
    let dir = filled();
    let project = Project::new(dir.path());
    for (i, part) in project.documents().files().unwrap().iter().enumerate() {
        let mut docs = documents_from_frame(&frames::read_parquet(part, None).unwrap()).unwrap();
        for doc in &mut docs {
            for text in [&mut doc.doc_id, &mut doc.title, &mut doc.body, &mut doc.source] {
                *text = evil(text);
            }
            for text in [&mut doc.org, &mut doc.rating, &mut doc.author, &mut doc.label] {
                *text = Some(evil("甲"));
            }
        }
        let first = docs.iter().map(|doc| doc.doc_id.as_str()).collect::<Vec<_>>();
        let first = Series::new("first_mention".into(), first).into_column();
        let mut clean = documents_to_frame(&docs).unwrap();
        clean.hstack_mut(&[first]).unwrap();
        project.clean().write(i, &mut clean).unwrap();
        project.documents().write(i, &mut documents_to_frame(&docs).unwrap()).unwrap();
    }
    let reject = serde_json::json!({"file": evil("a.csv"), "row": 1, "column": evil("c"), "reason": evil("why"),
        "value": evil("v"), "raw": OBEYED});
    std::fs::write(project.rejects(), format!("{reject}\n")).unwrap();
    let mut outcome = outcome(true);
    outcome.portfolios.iter_mut().for_each(|book| book.name = evil("long"));
    disk::write_json(&project.backtest("tone"), &outcome).unwrap();
    dir
}

fn harmless(picture: &str, place: &str) {
    let obeyed = |c: &char| *c != '\n' && width::invisible(*c);
    let found: Vec<char> = picture.chars().filter(obeyed).collect();
    assert!(found.is_empty(), "{found:?} on {place}:\n{picture}");
    assert!(picture.len() < 400_000, "accents heap up on {place}");
}

#[test]
fn no_page_hands_a_terminal_what_it_would_obey() {
    let run: Runner = Arc::new(|_| bail!("{}", evil("cannot read")));
    for size in [SMALL, LARGE] {
        let mut bench = Bench::open(&poisoned(), |w| {
            w.note = Some(evil("合成数据"));
            w.run = run.clone();
        });
        harmless(&bench.screen(size, "9r"), "the jobs");
        bench.finish();
        for (i, page) in Page::tabs().iter().enumerate() {
            for keys in ["", "j<enter>", "<esc>", "?", "<esc>"] {
                harmless(&bench.screen(size, &format!("{}{keys}", i + 1)), &format!("{page:?} after {keys:?}"));
            }
        }
        harmless(&bench.screen(size, "9x"), "the rows set aside");
        harmless(&bench.screen(size, "<esc>1"), "the corpus");
    }
    let mut bench = Bench::open(&poisoned(), |_| ());
    assert!(bench.screen(LARGE, "1").contains("␛[2J"), "what was taken out is shown as what it is");
}
