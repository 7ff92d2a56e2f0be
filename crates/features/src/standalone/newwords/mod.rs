//! New words of a plain file, as a dictionary for jieba and a table of their figures.
//!
//! Two passes over the file, without holding it in memory: one counts strings of characters, the other finds in which documents
//! the chosen words are, when they were first seen, and what the tokenizer cuts whole with and without them. A new word is known from the last
//! time of the corpus on (`fitted_until`), not from its first occurrence: its figures rest on all of the text.

mod occurrences;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;

use self::occurrences::{Occurrences, finder, look};
use super::{Line, Lines};
use crate::lines::BLOCK;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{NewWord, NewWordParams, Places, Selection, select};
use inkstone_text::{DictionaryEntry, Segmenter, TokenizerParams};

/// Documents that one thread reads before it counts them as done.
const CHUNK: usize = 256;
/// Part of speech that new words get: other names.
const TAG: &str = "nz";

/// The new words of a corpus.
#[derive(Clone, Debug)]
pub struct NewWords {
    /// Highest score first.
    pub words: Vec<NewWord>,
    /// Last time of the corpus; none when it has no times.
    pub fitted_until: Option<NaiveDateTime>,
}

/// The corpus as it is read, once for each pass.
struct NewWordsCorpus<'a, O> {
    open: O,
    until: Option<NaiveDateTime>,
    ctx: &'a Ctx,
}

impl<O: Fn() -> Result<Lines>> NewWordsCorpus<'_, O> {
    /// Gives the documents up to the last time, chunk by chunk on all threads, and their results in order.
    fn pass<T: Send>(
        &self,
        work: impl Fn(&[Line<'_>]) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<Report> {
        let mut lines = (self.open)()?;
        let (mut late, mut untimed) = (0, 0);
        lines.for_each_block(BLOCK, |mut documents| {
            if let Some(until) = self.until {
                let before = documents.len() as u64;
                documents.retain(|line| line.time.is_some());
                let timed = documents.len() as u64;
                documents.retain(|line| line.time <= Some(until));
                untimed += before - timed;
                late += timed - documents.len() as u64;
            }
            let results = self.ctx.install(|| {
                let results = documents.par_chunks(CHUNK).map(|chunk| {
                    let result = work(chunk)?;
                    self.ctx.advance(chunk.len() as u64)?;
                    Ok(result)
                });
                results.collect::<Result<Vec<T>>>()
            })?;
            results.into_iter().try_for_each(&mut take)
        })?;
        let mut report = lines.finish()?;
        report.rows_out -= late + untimed;
        report.drop_rows("later than --until", late);
        report.drop_rows("no time, with --until given", untimed);
        Ok(report)
    }
}

/// Finds the new words of the lines that `open` gives, each time it is called, up to `until`.
///
/// The report has `documents`, `characters`, `fitted_until`, `frequent_strings`, `refused` by reason, `words`, `spilled_mb`, and, over the
/// first documents with a new word, which share of the words' occurrences the tokenizer cuts whole without and with them
/// (`cut_whole_before`, `cut_whole_after`).
pub fn find(
    open: impl Fn() -> Result<Lines>,
    params: &NewWordParams,
    until: Option<NaiveDateTime>,
    tokenizer: &TokenizerParams,
    base: &Path,
    ctx: &Ctx,
) -> Result<(NewWords, Report)> {
    let segmenter = Segmenter::new(tokenizer, base)?;
    let corpus = NewWordsCorpus { open, until, ctx };
    let mut counter = params.counter()?;
    let (mut documents, mut fitted_until) = (0u64, None);
    let count = |chunk: &[Line<'_>]| {
        let mut places = Places::default();
        chunk.iter().for_each(|line| places.read(&line.whole()));
        Ok((places, chunk.len() as u64, chunk.iter().filter_map(|line| line.time).max()))
    };
    let mut report = corpus.pass(count, |(places, read, last)| {
        documents += read;
        fitted_until = fitted_until.max(last);
        counter.add(&places)
    })?;
    ensure!(documents > 0, "文件在 --until 之前没有文档", "the file has no documents up to --until");
    let Selection { mut words, frequent, mut refused, places, spilled_bytes } =
        select(&counter.finish(ctx)?, params, &segmenter, ctx)?;

    let finder = finder(&words)?;
    let mut seen = Occurrences::new(words.len());
    let sampled = seen.sampled.clone();
    corpus.pass(
        |chunk| Ok(look(&finder, chunk, sampled.load(Relaxed))),
        |found| {
            seen.take(found);
            Ok(())
        },
    )?;
    for (word, (documents, first)) in words.iter_mut().zip(&seen.words) {
        word.documents = *documents;
        word.first_seen = *first;
    }
    let before = words.len();
    words.retain(|word| word.documents >= params.min_documents);
    *refused.entry("in too few documents").or_default() += (before - words.len()) as u64;
    if params.top > 0 {
        words.truncate(params.top);
    }
    let reasons = || {
        let mut reasons: Vec<_> = refused.iter().filter(|(_, n)| **n > 0).collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let reasons: Vec<String> = reasons.iter().map(|(reason, n)| format!("{n} × {reason}")).collect();
        reasons.join("; ")
    };
    ensure!(
        !words.is_empty(),
        "{frequent} 个出现 {} 次的字串中没有留下新词：{}；请降低 --min-pmi、--min-entropy、--min-count 或 --min-documents，或提供更多文本",
        "no new word is left of {frequent} strings that occur {} times: {}; lower --min-pmi, --min-entropy, --min-count or --min-documents, or give more text",
        params.min_count,
        reasons()
    );
    let found = NewWords { words, fitted_until };
    let entries = found.entries();
    let (whole_before, whole_after) =
        seen.cut_whole(&finder, &found.words, &segmenter, &Segmenter::with_words(tokenizer, base, &entries)?);
    report.fact("documents", documents);
    report.fact("characters", places);
    report.fact("fitted_until", fitted_until);
    report.fact("frequent_strings", frequent);
    report.fact("refused", &refused);
    report.fact("words", found.words.len());
    report.fact("spilled_mb", spilled_bytes >> 20);
    report.fact("cut_whole_before", whole_before);
    report.fact("cut_whole_after", whole_after);
    Ok((found, report))
}

impl NewWords {
    pub fn entries(&self) -> Vec<DictionaryEntry> {
        let entry = |word: &NewWord| DictionaryEntry {
            word: word.word.clone(),
            frequency: Some(word.frequency),
            tag: TAG.to_owned(),
        };
        self.words.iter().map(entry).collect()
    }

    /// Writes a user dictionary for jieba, here and in Python: `word frequency tag` a line.
    pub fn save_dictionary(&self, path: &Path) -> Result<()> {
        disk::write_atomic(path, |out| {
            for word in &self.words {
                writeln!(out, "{} {} {TAG}", word.word, word.frequency)?;
            }
            Ok(())
        })
    }

    pub fn save_table(&self, path: &Path, formulas: Formulas) -> Result<()> {
        let time = |time: Option<NaiveDateTime>| time.map(|time| time.to_string()).unwrap_or_default();
        let until = time(self.fitted_until);
        disk::write_atomic(path, |out| {
            let mut rows = csv::Writer::from_writer(out);
            rows.write_record([
                "word",
                "score",
                "count",
                "documents",
                "pmi",
                "left_entropy",
                "right_entropy",
                "weakest_cut",
                "count_a",
                "count_b",
                "cut_now",
                "frequency",
                "tag",
                "first_seen",
                "fitted_until",
            ])?;
            for word in &self.words {
                let NewWord { count, documents, pmi, left_entropy, right_entropy, score, frequency, .. } = word;
                let [a, b] = word.counts_of_parts;
                let numbers = [count, documents, &a, &b].map(u64::to_string);
                let figures = [score, pmi, left_entropy, right_entropy].map(f64::to_string);
                let first = time(word.first_seen);
                rows.write_record([
                    &*formulas.field(&word.word),
                    &figures[0],
                    &numbers[0],
                    &numbers[1],
                    &figures[1],
                    &figures[2],
                    &figures[3],
                    &formulas.field(&word.weakest_cut),
                    &numbers[2],
                    &numbers[3],
                    &formulas.field(&word.cut_now),
                    &frequency.to_string(),
                    TAG,
                    &first,
                    &until,
                ])?;
            }
            Ok(rows.flush()?)
        })
    }
}
