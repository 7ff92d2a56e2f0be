//! `search`: the documents of a project that a query finds, as of a time.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;

use super::is_batch;
use super::opened::OpenProject;
use super::project::batch_on;
use crate::cli::{Global, Search};
use crate::headless::{self, Summary};
use crate::pipeline::{self, Searched};
use inkstone_base::message;
use inkstone_features::search::{FoundDocument, Passage, SearchQuery};

/// Prints what was found as JSON, and on a terminal as lines.
pub(super) fn run(args: &Search, global: &Global) -> Result<ExitCode> {
    let opened = OpenProject::read(&args.project.config, "search", global);
    let work = |opened: &OpenProject, ctx: &inkstone_base::job::Ctx| {
        let query = SearchQuery {
            text: &args.query,
            by: args.by,
            until: args.until,
            most: args.top,
            sentences: args.sentences,
        };
        pipeline::search(&opened.config, &opened.base, &query, args.feature.as_deref(), ctx)
    };
    if !is_batch(global) {
        let opened = opened?;
        let searched = work(&opened, &opened.ctx()?)?;
        headless::print(&lines(&searched))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(batch_on("search", opened, |opened, ctx| {
        let Searched { answer, index, feature } = work(&opened, ctx)?;
        let mut summary = Summary::default();
        summary.set_note(&opened.config.project.note);
        summary.set("query", &args.query);
        summary.set("by", args.by);
        if let Some(feature) = feature {
            summary.set("feature", feature);
        }
        if let Some(until) = args.until {
            summary.set("until", until);
        }
        summary.set("index", index);
        summary.set("answer", answer);
        Ok(summary)
    }))
}

/// The answer as text: a heading, then a line a document with its sentences below it.
fn lines(searched: &Searched) -> String {
    let Searched { answer, index, .. } = searched;
    let mut text = String::new();
    if index.parts_damaged > 0 {
        let _ = writeln!(
            text,
            "{}",
            message!(
                "检索索引有 {} 份损坏，已重新建立",
                "{} parts of the search index were damaged and were made again",
                index.parts_damaged
            )
        );
    }
    let terms: Vec<String> = answer.terms.iter().map(|term| format!("{} {}", term.term, term.documents)).collect();
    let _ = writeln!(
        text,
        "{}",
        message!(
            "{} 篇文档中 {} 篇有所查的词（{}）",
            "{} documents, of which {} have words of the query ({})",
            answer.documents_known,
            answer.documents_with_words,
            terms.join(", ")
        )
    );
    for found in &answer.found {
        let FoundDocument { rank, score, doc_id, published_at, codes, title, .. } = found;
        let _ = writeln!(text, "\n{rank:>3}  {score:.3}  {}  {doc_id}  {codes}", published_at.format("%Y-%m-%d %H:%M"));
        if !title.is_empty() {
            let _ = writeln!(text, "     {}", marked(title, found.sentences.iter().find(|sentence| sentence.title)));
        }
        for sentence in found.sentences.iter().filter(|sentence| !sentence.title) {
            let _ = writeln!(text, "     {}", marked(&sentence.text, Some(sentence)));
        }
    }
    text
}

/// A sentence with its words in brackets; nothing that a terminal obeys.
fn marked(text: &str, passage: Option<&Passage>) -> String {
    let (mut shown, mut from) = (String::new(), 0);
    for hit in passage.map(|passage| &passage.hits[..]).unwrap_or_default() {
        if hit.start < from {
            continue;
        }
        shown += &text[from..hit.start];
        let _ = write!(shown, "【{}】", &text[hit.clone()]);
        from = hit.end;
    }
    shown += &text[from..];
    inkstone_base::width::shown(&shown).into_owned()
}
