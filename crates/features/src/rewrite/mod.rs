//! Rewriting: a model writes a text of each document, which features read in place of the document.
//!
//! The texts stand in documents of the same part and row as their sources, with the same times, so that all that reads a corpus reads them.
//! A document that has no text is empty. Codes are those of the source; names are found in the text anew, so that they can be masked.
//! A text is known with its document, but not before the model's own text ends (`fitted_until`).
//!
//! Useful for: summaries, views, translations of long documents. Not for: labels or numbers, which `onnx` features read from a model itself.

mod params;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use polars_core::prelude::{IntoColumn, NamedFrom, Series};

use crate::extract::RewrittenCorpus;
use crate::extract::reading::MASKED;
use inkstone_base::data::{Document, Key, Report};
use inkstone_base::job::Ctx;
use inkstone_corpus::clean::{self, CleanDocument, clean_of_part, clean_to_frame, normalise};
use inkstone_corpus::link::{
    self, LearnedName, Link, Linked, Taught, TextField, codes_of, links_of_part, mask, name_spans,
};
use inkstone_market::Security;
use inkstone_onnx::{Generator, Opening, PromptFields, RuntimeParams, Written, numbers_kept};
use inkstone_tables::corpus::Parts;
pub use params::Rewrite;
use texts::{WrittenText, WrittenTexts};

/// The number of documents that are given to a model at once, and whose texts are kept at once.
const TOGETHER: usize = 64;
/// The same for a model that writes one text after the other.
const ONE_BY_ONE: usize = 8;
/// The column with the share of the numbers of a text that stand in its document.
pub const NUMBERS_KEPT: &str = "numbers_kept";

/// The corpus of a project, and the settings and tables with which it is rewritten.
#[derive(Clone, Copy)]
pub struct RewriteSources<'a> {
    pub clean: &'a Parts,
    pub links: &'a Parts,
    /// Folder of the texts that are kept by content.
    pub written: &'a Path,
    pub securities: &'a [Security],
    /// The names that the documents taught.
    pub learned: &'a [LearnedName],
    pub link: &'a link::Params,
    pub normal_form: &'a clean::Params,
    pub onnx: &'a RuntimeParams,
    /// Folder of relative paths.
    pub base: &'a Path,
}

/// A document as the model reads it.
struct SourceText {
    /// Key of the document, the model and its settings, by which the text is kept.
    key: Key,
    title: String,
    body: String,
}

/// Rewrites a corpus into the parts of `out`. Progress counts each document twice: written, and linked.
pub fn run(rewrite: &Rewrite, sources: &RewriteSources<'_>, out: &RewrittenCorpus, ctx: &Ctx) -> Result<Report> {
    let named = || format!("rewrite {:?}", rewrite.name);
    rewrite.check().with_context(named)?;
    let mut report = Report::new("rewrite");
    let mut writer = TextWriter {
        rewrite,
        sources,
        files: rewrite.files_key(sources.base)?,
        texts: WrittenTexts::open(sources.written)?,
        model: None,
        newly_written: 0,
        ctx,
    };
    let (mut shares, mut with_numbers) = (0.0, 0u64);
    let parts = sources.clean.files()?.len();
    for part in 0..parts {
        let docs = clean_of_part(&sources.clean.path(part))?;
        let links = links_of_part(&sources.links.path(part))?;
        let read = |(row, doc): (usize, &CleanDocument)| writer.source_of(&doc.document, &links, row as u32);
        let source_texts: Vec<Option<SourceText>> = docs.iter().enumerate().map(read).collect();
        let missing = writer.write_missing(&source_texts).with_context(named)?;
        ctx.advance((docs.len() - missing) as u64)?;
        let there = source_texts.iter().flatten().map(|source| source.key).filter(|key| writer.texts.has(*key));
        let written = writer.texts.read(there)?;
        let (mut rewritten, mut kept) = (Vec::with_capacity(docs.len()), Vec::with_capacity(docs.len()));
        for (row, (doc, source)) in docs.into_iter().zip(&source_texts).enumerate() {
            let found = source.as_ref().and_then(|source| written.get(&source.key));
            let text = found.map(|text| normalise(text, sources.normal_form)).unwrap_or_default();
            let share = numbers_kept(&title_and_body(&doc.document.title, &doc.document.body), &text);
            shares += share.unwrap_or(0.0);
            with_numbers += u64::from(share.is_some());
            report.rows_in += 1;
            let has_too_few = share.is_some_and(|share| share < rewrite.min_numbers_kept);
            let dropped = match (source, found) {
                (None, _) => Some("of a kind that is not rewritten, or without text"),
                (Some(_), None) => Some("that do not fit into the prompt"),
                (Some(_), Some(_)) if text.is_empty() => Some("of which the model wrote nothing"),
                _ if has_too_few => Some("with numbers that are not in the document (min_numbers_kept)"),
                _ => None,
            };
            match dropped {
                Some(reason) => report.drop_rows(reason, 1),
                None => report.rows_out += 1,
            }
            kept.push(share);
            let body = if has_too_few { String::new() } else { text };
            rewritten.push(rewritten_document(doc, body, codes_of(&links, row as u32)));
        }
        let mut frame = clean_to_frame(&rewritten)?;
        frame.with_column(Series::new(NUMBERS_KEPT.into(), kept).into_column())?;
        out.clean.write(part, &mut frame)?;
    }
    out.clean.truncate(parts)?;
    let taught = Taught::Before(sources.learned);
    link::run(&out.clean, sources.securities, taught, &out.links, sources.link, Linked::Given, ctx)?;
    report.fact("newly_written", writer.newly_written);
    if with_numbers > 0 {
        report.fact(NUMBERS_KEPT, shares / with_numbers as f64);
    }
    report.fact("fitted_until", out.fitted_until);
    if let Some(model) = &writer.model {
        report.fact("ran", model.ran());
    }
    Ok(report)
}

/// A document with a text in place of title and body.
fn rewritten_document(doc: CleanDocument, body: String, codes: Vec<inkstone_base::code::Code>) -> CleanDocument {
    let text = Key::of(body.as_bytes());
    CleanDocument { document: Document { title: String::new(), body, codes, ..doc.document }, text, ..doc }
}

/// Title and body as one text.
fn title_and_body(title: &str, body: &str) -> String {
    if title.is_empty() { body.to_owned() } else { format!("{title}\n{body}") }
}

/// Writes the texts that are not kept yet.
struct TextWriter<'a> {
    rewrite: &'a Rewrite,
    sources: &'a RewriteSources<'a>,
    /// Key of the model's files.
    files: Key,
    texts: WrittenTexts,
    /// Opened when the first text has to be written.
    model: Option<Generator>,
    newly_written: u64,
    ctx: &'a Ctx,
}

impl TextWriter<'_> {
    /// A document as the model reads it; none for one that is not rewritten.
    fn source_of(&self, document: &Document, links: &[Link], row: u32) -> Option<SourceText> {
        let kinds = &self.rewrite.kinds;
        if !kinds.is_empty() && !kinds.contains(&document.kind) {
            return None;
        }
        let masked = |text: &str, field| match self.rewrite.mask_names {
            true => mask(text, &name_spans(links, row, field), MASKED),
            false => text.to_owned(),
        };
        let (title, body) = (masked(&document.title, TextField::Title), masked(&document.body, TextField::Body));
        if title_and_body(&title, &body).trim().is_empty() {
            return None;
        }
        Some(SourceText { key: self.rewrite.source_key(self.files, &title, &body), title, body })
    }

    /// Writes the texts that are not kept yet. Returns the number of documents without a kept text, repeats among them.
    fn write_missing(&mut self, source_texts: &[Option<SourceText>]) -> Result<usize> {
        let is_missing = |source: &&SourceText| !self.texts.has(source.key);
        let missing: Vec<&SourceText> = source_texts.iter().flatten().filter(is_missing).collect();
        let documents = missing.len();
        let mut seen = BTreeSet::new();
        let different: Vec<&SourceText> = missing.into_iter().filter(|source| seen.insert(source.key)).collect();
        let repeats = (documents - different.len()) as u64;
        if different.is_empty() {
            return Ok(0);
        }
        let TextWriter { rewrite, sources, texts, model, ctx, .. } = self;
        let model = match model {
            Some(model) => model,
            None => {
                let (onnx, base) = (sources.onnx, sources.base);
                let runtime = onnx.load(base)?;
                let opening = Opening { runtime, device: onnx.device, threads: ctx.threads(), base };
                let opened = rewrite.open(&opening)?;
                // A prompt that is too long by itself is an error; a document that is too long within it is left out.
                opened.prompt_of(PromptFields::default())?;
                model.insert(opened)
            }
        };
        let together = if model.steps_together() { TOGETHER } else { ONE_BY_ONE };
        for some in different.chunks(together) {
            let prompt = |source: &&SourceText| {
                let (title, body, whole) = (&source.title, &source.body, &title_and_body(&source.title, &source.body));
                model.prompt_of(PromptFields { title, body, whole })
            };
            let fit = some.iter().filter_map(|source| Some((source.key, prompt(source).ok()?)));
            let (keys, prompts): (Vec<Key>, Vec<String>) = fit.unzip();
            let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
            let found = model.write_all(&prompts, 0, ctx)?;
            let best = |found: Vec<Written>| found.into_iter().next().map_or_else(String::new, |best| best.text);
            let written = keys.into_iter().zip(found).map(|(source, found)| WrittenText { source, text: best(found) });
            let written: Vec<WrittenText> = written.collect();
            self.newly_written += written.len() as u64;
            if !written.is_empty() {
                texts.write(&written)?;
            }
            ctx.advance(some.len() as u64)?;
        }
        ctx.advance(repeats)?;
        Ok(documents)
    }
}
