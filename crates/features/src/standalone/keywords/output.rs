//! Keywords and key sentences as lines of a file.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::extractor::{DocumentKeywords, KeySentence};
use super::{CHUNK, Extractor};
use crate::standalone::{Line, Lines};
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure};
use inkstone_models::{Explanation, Keyword};

/// One line of the output.
#[derive(Serialize)]
struct Record<'t> {
    id: Cow<'t, str>,
    keywords: Vec<Scored<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentences: Option<Vec<Quoted<'t>>>,
}

#[derive(Serialize)]
struct Scored<'t> {
    word: &'t str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tag: &'t str,
    count: u64,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

#[derive(Serialize)]
struct Quoted<'t> {
    text: &'t str,
    #[serde(flatten)]
    place: KeySentence,
}

/// How the output is written.
#[derive(Clone, Copy)]
enum Shape {
    Jsonl,
    Csv(Formulas),
}

/// Writes keywords and key sentences of all lines to `output`.
///
/// The report has `documents`, `without_keywords` (documents without a candidate), `keywords` and `sentences`.
pub fn run(lines: &mut Lines, extractor: &Extractor, output: &Path, formulas: Formulas, ctx: &Ctx) -> Result<Report> {
    let shape = match output.extension().and_then(|e| e.to_str()) {
        Some("jsonl" | "ndjson") => Shape::Jsonl,
        Some("csv") if extractor.params.explain => {
            bail!("表格放不下解释；请写成 .jsonl", "a table has no room for explanations; write .jsonl")
        }
        Some("csv") => Shape::Csv(formulas),
        _ => bail!(
            "{}：输出文件名决定格式；请写成 .jsonl 或 .csv",
            "{}: the name of the output says its format; write .jsonl or .csv",
            output.display()
        ),
    };
    let mut sums = KeywordSums::default();
    disk::write_atomic(output, |out| {
        if let Shape::Csv(_) = shape {
            writeln!(out, "id,kind,rank,text,tag,count,score,start,end")?;
        }
        let write = |chunk: &[Line<'_>]| {
            let mut sums = KeywordSums::default();
            let mut text = Vec::new();
            for line in chunk {
                let text_of_line = line.whole();
                let found = extractor.find(line, &text_of_line);
                write_document(extractor, line, &found, shape, &mut text, &mut sums)?;
            }
            ctx.advance(chunk.len() as u64)?;
            Ok((text, sums))
        };
        lines.for_each_chunk(CHUNK, ctx, write, |(text, more)| {
            sums.add(&more);
            Ok(out.write_all(&text)?)
        })?;
        lines.finish()?;
        ensure!(sums.keywords > 0 || extractor.params.top == 0, extractor.no_candidates());
        Ok(())
    })?;
    let mut report = lines.report();
    sums.note(&mut report);
    Ok(report)
}

#[derive(Default)]
struct KeywordSums {
    documents: u64,
    without: u64,
    keywords: u64,
    sentences: u64,
}

impl KeywordSums {
    fn add(&mut self, more: &KeywordSums) {
        self.documents += more.documents;
        self.without += more.without;
        self.keywords += more.keywords;
        self.sentences += more.sentences;
    }

    fn note(&self, report: &mut Report) {
        report.fact("documents", self.documents);
        report.fact("without_keywords", self.without);
        report.fact("keywords", self.keywords);
        report.fact("sentences", self.sentences);
    }
}

/// Appends a document's keywords and key sentences.
fn write_document(
    extractor: &Extractor,
    line: &Line<'_>,
    found: &DocumentKeywords<'_>,
    shape: Shape,
    out: &mut Vec<u8>,
    sums: &mut KeywordSums,
) -> Result<()> {
    let best: Vec<Keyword<'_>> = found.words.best(&found.scores, extractor.params.top);
    sums.documents += 1;
    sums.without += u64::from(best.is_empty());
    sums.keywords += best.len() as u64;
    sums.sentences += found.sentences.len() as u64;
    match shape {
        Shape::Jsonl => {
            let scored = |k: &Keyword<'_>| extractor.params.explain.then(|| extractor.explain(found, k.word)).flatten();
            let keywords = best.iter().map(|keyword| {
                let Keyword { word, tag, count, score } = *keyword;
                Scored { word, tag, count, score, explanation: scored(keyword) }
            });
            let quoted = |place: &KeySentence| Quoted { text: &line.text[place.start..place.end], place: *place };
            let sentences = found.sentences.iter().map(quoted).collect();
            let wants_sentences = extractor.params.sentences > 0;
            let record = Record {
                id: line.name(),
                keywords: keywords.collect(),
                sentences: wants_sentences.then_some(sentences),
            };
            serde_json::to_writer(&mut *out, &record)?;
            out.push(b'\n');
        }
        Shape::Csv(formulas) => {
            let mut rows = csv::WriterBuilder::new().has_headers(false).from_writer(out);
            let id = line.name();
            let id = formulas.field(&id);
            for (rank, k) in (1..).zip(&best) {
                let (rank, count, score) = (rank.to_string(), k.count.to_string(), k.score.to_string());
                rows.write_record([&*id, "keyword", &rank, &formulas.field(k.word), k.tag, &count, &score, "", ""])?;
            }
            for (rank, place) in (1..).zip(&found.sentences) {
                let KeySentence { start, end, score } = *place;
                let numbers = [rank.to_string(), score.to_string(), start.to_string(), end.to_string()];
                let [rank, score, start_at, end_at] = &numbers;
                rows.write_record([
                    &*id,
                    "sentence",
                    rank,
                    &formulas.field(&line.text[start..end]),
                    "",
                    "",
                    score,
                    start_at,
                    end_at,
                ])?;
            }
            rows.flush()?;
        }
    }
    Ok(())
}
