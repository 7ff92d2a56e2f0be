//! Vectorizers on plain files: fitting on a stream of lines, the rows of those lines in a second pass, and the fitted model as
//! `eval`, `embed` and `explain` use it.
//!
//! Lines are read, cut and counted once. Each thread takes the next block of lines and counts it with a table of its own;
//! the tables are merged at the end, which gives the same vocabulary whatever thread had which block. When rows are
//! wanted, the counts of each document wait in a scratch file, no larger than the text, and become rows when the
//! vocabulary is known. Memory is bounded by the vocabulary (once a thread) and some blocks, not by the corpus.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;

use super::counted::{JoinedCounts, ThreadCounts, TrainedRows};
use super::spill::DocumentName;
use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows};
use crate::lines::{Block, Cutter, Line, Lines, Refused};
use crate::standalone::coverage::{KnownTokens, coverage};
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, Csr, Explanation, Fields, ModelHeader, Vectorizer, VectorizerParams};

/// Bytes of lines that a thread takes at once.
const BLOCK: usize = 1 << 18;

/// Fits a vectorizer on all lines. The report has `documents`, `tokens` (terms, each as often as it occurs), `vocabulary` and
/// `fitted_until`.
pub fn train(lines: &mut Lines, cutter: &Cutter, params: &VectorizerParams, ctx: &Ctx) -> Result<(Vectorizer, Report)> {
    let (model, _, report) = fit(lines, cutter, params, None, ctx)?;
    Ok((model, report))
}

/// [`train`], and the rows of the lines. They wait in scratch files in the folder of
/// `beside`.
pub fn train_rows(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &VectorizerParams,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(Vectorizer, TrainedRows, Report)> {
    fit(lines, cutter, params, Some(beside), ctx)
}

fn fit(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &VectorizerParams,
    beside: Option<&Path>,
    ctx: &Ctx,
) -> Result<(Vectorizer, TrainedRows, Report)> {
    params.check()?;
    let analyzer = Analyzer::new(params, cutter.segmenter().cloned())?;
    let hashing = if params.learns() { None } else { Some(Vectorizer::hashing(params)?) };
    let reader = Mutex::new(Reader { lines, next: 0 });
    let shares = ctx.install(|| {
        let shares = (0..ctx.threads()).into_par_iter().with_max_len(1);
        let count = |_| {
            let counts = ThreadCounts::new(params, hashing.as_ref(), beside.map(disk::folder_of))?;
            Share { counts, documents: 0, length: 0, refused: Vec::new() }.count(&reader, &analyzer, ctx)
        };
        shares.map(count).collect::<Result<Vec<Share<'_>>>>()
    })?;
    let (mut documents, mut length) = (0, 0);
    let (mut refused, mut threads) = (Vec::new(), Vec::new());
    for share in shares {
        documents += share.documents;
        length += share.length;
        refused.extend(share.refused);
        threads.push(share.counts);
    }
    refused.sort_by_key(|refused| refused.number);
    lines.refuse(refused);
    lines.finish()?;
    let joined = JoinedCounts::new(threads, params)?;
    let (model, rows) = match hashing {
        Some(model) => {
            let rows = joined.hashed(&model);
            (model, rows)
        }
        None => joined.fit(params, ctx)?,
    };
    let mut report = lines.finish()?;
    report.fact("documents", documents);
    report.fact("tokens", length);
    report.fact("vocabulary", model.width());
    report.fact("fitted_until", model.fitted_until());
    Ok((model, rows, report))
}

/// The lines that threads take blocks of.
struct Reader<'l> {
    lines: &'l mut Lines,
    next: u64,
}

/// The lines of one thread.
struct Share<'m> {
    counts: ThreadCounts<'m>,
    documents: u64,
    length: u64,
    refused: Vec<Refused>,
}

impl Share<'_> {
    /// Takes block after block until there are no more.
    fn count(mut self, reader: &Mutex<Reader<'_>>, analyzer: &Analyzer, ctx: &Ctx) -> Result<Self> {
        let mut block = Block::default();
        loop {
            let number = {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                if !reader.lines.next_block(&mut block, BLOCK)? {
                    return Ok(self);
                }
                reader.next += 1;
                reader.next
            };
            let before = self.documents;
            for line in block.lines() {
                match line {
                    Ok(line) => {
                        self.documents += 1;
                        let name = line.id.as_deref().map_or(DocumentName::Number(line.number), DocumentName::Id);
                        self.length += u64::from(self.counts.add(analyzer, fields(&line), line.time, name)?);
                    }
                    Err(refused) => self.refused.push(refused),
                }
            }
            self.counts.end_block(number)?;
            ctx.advance(self.documents - before)?;
        }
    }
}

pub(crate) fn fields<'l>(line: &'l Line<'_>) -> Fields<'l> {
    Fields { title: &line.title, body: &line.text }
}

pub(super) fn columns(model: &Vectorizer) -> Columns {
    Columns::Sparse { names: model.terms().iter().map(|term| term.to_string()).collect(), width: model.width() }
}

impl Fitted for Opened<Vectorizer, Analyzer> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn name(&self) -> &str {
        self.model.params().name()
    }

    fn columns(&self) -> Result<Columns> {
        Ok(columns(&self.model))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let mut rows = Csr::new(self.model.width());
        lines.iter().for_each(|line| rows.push_row(self.model.transform(&self.cutter, fields(line))));
        Ok(Rows::Sparse(rows))
    }

    fn explain(&self, line: &Line<'_>, _of: Option<&str>) -> Result<Explanation> {
        Ok(self.model.explain(&self.cutter, fields(line)).largest_first())
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(self.name())?;
        let (documents, stored) = (AtomicU64::new(0), AtomicU64::new(0));
        let (mut figures, report) = coverage(lines, ctx, |line| {
            let (row, length) = self.model.count(&self.cutter, fields(line));
            let known: f32 = row.iter().map(|(_, count)| count.abs()).sum();
            documents.fetch_add(1, Ordering::Relaxed);
            stored.fetch_add(row.len() as u64, Ordering::Relaxed);
            Ok(KnownTokens { tokens: length as usize, known: known as usize, empty: row.is_empty() })
        })?;
        let per_document = stored.into_inner() as f64 / documents.into_inner().max(1) as f64;
        figures.insert("values_per_document".into(), json!(per_document));
        Ok((figures, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{CutSpec, LineFormat};
    use inkstone_models::{Preset, read_npz};
    use inkstone_text::{DfLimit, TokenizerParams};

    /// Lines of invented announcements, some blocks of them, with ids, a broken line and an empty one.
    fn lines() -> String {
        let mut text = String::new();
        for i in 0..9000 {
            let (a, b) = (i * 7 % 97, i * 13 % 31);
            let words = format!("公司{a} 公告 第{b} 季度 净利润 增长 {} 产能{} 回购 回购", i % 5, a * b % 1000);
            match i {
                17 => text.push_str("{\"text\": 1}\n"),
                18 => text.push_str("{\"text\": \"\"}\n"),
                _ => text.push_str(&format!("{{\"id\":\"n{i}\",\"title\":\"公告 {a}\",\"text\":\"{words}\"}}\n")),
            }
        }
        assert!(text.len() > 2 * BLOCK, "several blocks");
        text
    }

    fn open(text: String, format: LineFormat) -> (Lines, Cutter) {
        let tokenizer =
            TokenizerParams { mode: inkstone_text::Mode::Char, keep_numbers: true, ..TokenizerParams::default() };
        let cutter = Cutter::new(CutSpec::new(format, tokenizer), Path::new("")).unwrap();
        (Lines::new(std::io::Cursor::new(text), format), cutter)
    }

    fn params(preset: Preset) -> VectorizerParams {
        VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::preset(preset) }
    }

    /// The model file and the rows that some threads make.
    fn train_with(params: &VectorizerParams, threads: usize) -> (Vec<u8>, Vec<u8>, Report) {
        let dir = tempfile::tempdir().unwrap();
        let (model_path, rows_path) = (dir.path().join("m"), dir.path().join("x.npz"));
        let ctx = Ctx::new(threads, 1).unwrap();
        let (mut lines, cutter) = open(lines(), LineFormat::Jsonl);
        let (model, rows, report) = train_rows(&mut lines, &cutter, params, &rows_path, &ctx).unwrap();
        rows.write(&model, &rows_path, &ctx).unwrap();
        model.save(&model_path, cutter.spec()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no scratch file is left");
        // The second pass gives what the model gives to each line.
        let analyzer = Analyzer::new(params, cutter.segmenter().cloned()).unwrap();
        let matrix = read_npz(&rows_path).unwrap();
        assert_eq!((matrix.rows(), matrix.cols()), (8999, model.width()));
        let fields = Fields {
            title: "公告 49", body: "公司49 公告 第29 季度 净利润 增长 2 产能421 回购 回购"
        };
        let row: Vec<(u32, f32)> = matrix.row(7).iter().collect();
        assert_eq!(row, model.transform(&analyzer, fields));
        assert!(matrix.row(17).indices.is_empty(), "an empty document is an empty row");
        (std::fs::read(model_path).unwrap(), std::fs::read(rows_path).unwrap(), report)
    }

    #[test]
    fn any_number_of_threads_makes_the_same_bytes() {
        let ngrams = VectorizerParams { ngram_range: (1, 2), title_features: 20, ..params(Preset::Tfidf) };
        for params in [params(Preset::Bm25), ngrams, params(Preset::Hashing), params(Preset::Shingles)] {
            let one = train_with(&params, 1);
            assert_eq!((one.2.rows_in, one.2.dropped_rows(), &one.2.facts["documents"]), (9000, 1, &8999.into()));
            for threads in [2, 8] {
                let more = train_with(&params, threads);
                assert!(one.0 == more.0 && one.1 == more.1, "{threads} threads, {params:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_fitted_is_told_with_the_way_out() {
        let ctx = Ctx::new(2, 1).unwrap();
        let refusal = |text: &str, params: &VectorizerParams| {
            let (mut lines, cutter) = open(text.to_owned(), LineFormat::Tokens);
            train(&mut lines, &cutter, params, &ctx).map_or_else(|error| format!("{error:#}"), |_| String::new())
        };
        let tfidf = VectorizerParams::default();
        assert!(refusal("", &tfidf).contains("the input is empty"));
        assert!(refusal("\n \n", &tfidf).contains("no words to choose from in 2 documents"));
        assert!(refusal("增长 回购\n", &tfidf).contains("lower min_df"));
        assert_eq!(refusal("增长 回购\n", &params(Preset::Tfidf)), "", "one document is enough when min_df allows it");
        assert!(
            refusal("增长\n", &VectorizerParams { ngram_range: (3, 3), ..tfidf }).contains("too short for the n-grams")
        );
        assert!(refusal("增长\n", &params(Preset::EventWords)).contains("lines of tokens have no parts of speech"));
    }

    #[test]
    fn a_cancelled_training_stops_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        ctx.cancel();
        let (mut lines, cutter) = open(lines(), LineFormat::Jsonl);
        let rows = dir.path().join("x.npz");
        let error = train_rows(&mut lines, &cutter, &params(Preset::Tfidf), &rows, &ctx).err().unwrap();
        assert!(error.is::<inkstone_base::job::Cancelled>());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
