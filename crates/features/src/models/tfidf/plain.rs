//! Vectorizers on plain files: fitting on a stream of lines, the rows of those lines in a second pass, and the fitted model as
//! `eval`, `embed` and `explain` use it.
//!
//! Lines are read, cut and counted once. Each thread takes the next block of lines and counts it with a table of its own;
//! the tables are merged at the end, which gives the same vocabulary whatever thread had which block. When rows are
//! wanted, the counts of each document wait in a scratch file, no larger than the text, and become rows when the
//! vocabulary is known. Memory is bounded by the vocabulary (once a thread) and some blocks, not by the corpus.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde_json::json;

use super::spill::{Spill, SpillWriter, SpilledBlock};
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows};
use crate::fitted::{Opened, figures};
use crate::lines::{Block, Cutter, Line, Lines, Refused};
use crate::standalone::write_rows;
use inkstone_base::data::Report;
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::{Analyzer, Csr, Explanation, Fields, ModelHeader, TermCounts, Vectorizer, VectorizerParams};

/// Bytes of lines that a thread takes at once.
const BLOCK: usize = 1 << 18;
/// Blocks whose rows are made at once, before they are given in order.
const WINDOW: usize = 64;

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
    let (model, rows, report) = fit(lines, cutter, params, Some(beside), ctx)?;
    Ok((model, rows.context(Word("所要的行应已保留", "rows that were asked for are kept"))?, report))
}

fn fit(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &VectorizerParams,
    beside: Option<&Path>,
    ctx: &Ctx,
) -> Result<(Vectorizer, Option<TrainedRows>, Report)> {
    params.check()?;
    let analyzer = Analyzer::new(params, cutter.segmenter().cloned())?;
    let hashing = if params.learns() { None } else { Some(Vectorizer::hashing(params)?) };
    let reader = Mutex::new(Reader { lines, next: 0 });
    let shares = ctx.install(|| {
        let shares = (0..ctx.threads()).into_par_iter().with_max_len(1);
        let count = |_| Share::count(&reader, &analyzer, params, hashing.as_ref(), beside, ctx);
        shares.map(count).collect::<Result<Vec<Share>>>()
    })?;
    let (mut counts, mut documents, mut length) = (TermCounts::new(params), 0, 0);
    let (mut refused, mut spills, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for share in shares {
        // The first table is taken as it is: copying it would cost as much as merging it.
        let same = counts.is_empty();
        if same {
            counts = share.counts;
            numbers.push(None);
        } else {
            numbers.push(Some(counts.merge(&share.counts)?));
        }
        documents += share.documents;
        length += share.length;
        refused.extend(share.refused);
        spills.extend(share.spill.map(SpillWriter::finish).transpose()?);
    }
    refused.sort_by_key(|refused| refused.number);
    lines.refuse(refused);
    lines.finish()?;
    let (model, columns) = match hashing {
        Some(model) => (model, None),
        None => {
            let (model, columns) = ctx.install(|| Vectorizer::fit_columns(&counts, params))?;
            (model, Some(columns))
        }
    };
    let rows = beside.map(|_| {
        // From the numbers of each thread's table straight to columns.
        let columns = columns.map(|columns| {
            let here = |numbers: Option<Vec<u32>>| match numbers {
                None => columns.clone(),
                Some(numbers) => numbers.into_iter().map(|id| columns[id as usize]).collect(),
            };
            numbers.into_iter().map(here).collect()
        });
        TrainedRows { spills, columns, width: model.width() }
    });
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

/// The counts of one thread.
struct Share {
    counts: TermCounts,
    documents: u64,
    length: u64,
    spill: Option<SpillWriter>,
    refused: Vec<Refused>,
}

impl Share {
    /// Takes block after block until there are no more.
    fn count(
        reader: &Mutex<Reader<'_>>,
        analyzer: &Analyzer,
        params: &VectorizerParams,
        hashing: Option<&Vectorizer>,
        beside: Option<&Path>,
        ctx: &Ctx,
    ) -> Result<Share> {
        let spill = beside.map(SpillWriter::beside).transpose()?;
        let mut share = Share { counts: TermCounts::new(params), documents: 0, length: 0, spill, refused: Vec::new() };
        let mut block = Block::default();
        loop {
            let number = {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                if !reader.lines.next_block(&mut block, BLOCK)? {
                    return Ok(share);
                }
                reader.next += 1;
                reader.next
            };
            let before = share.documents;
            for line in block.lines() {
                match line {
                    Ok(line) => share.add(&line, analyzer, hashing)?,
                    Err(refused) => share.refused.push(refused),
                }
            }
            if let Some(spill) = &mut share.spill {
                spill.end(number)?;
            }
            ctx.advance(share.documents - before)?;
        }
    }

    fn add(&mut self, line: &Line<'_>, analyzer: &Analyzer, hashing: Option<&Vectorizer>) -> Result<()> {
        self.documents += 1;
        let fields = fields(line);
        let Some(hashing) = hashing else {
            self.counts.add(analyzer, fields, line.time)?;
            let (row, length) = self.counts.row();
            self.length += u64::from(length);
            if let Some(spill) = &mut self.spill {
                spill.push(line, row.iter().map(|&(id, count)| (id, count as i32)), length);
            }
            return Ok(());
        };
        let (row, length) = hashing.count(analyzer, fields);
        self.length += u64::from(length);
        if let Some(spill) = &mut self.spill {
            spill.push(line, row.iter().map(|&(column, count)| (column, count as i32)), length);
        }
        Ok(())
    }
}

/// The rows of the lines that a vectorizer was fitted on; they can be read any number of times.
pub struct TrainedRows {
    /// One a thread.
    spills: Vec<Spill>,
    /// The column of each thread's numbers; none where the numbers are columns.
    columns: Option<Vec<Vec<u32>>>,
    width: usize,
}

impl TrainedRows {
    /// Gives the rows block by block with their documents' ids, in the order of the lines.
    pub fn for_each(
        &self,
        model: &Vectorizer,
        ctx: &Ctx,
        mut give: impl FnMut(&[Cow<'_, str>], Csr) -> Result<()>,
    ) -> Result<()> {
        let blocks = |(i, spill): (usize, &Spill)| spill.places.iter().map(|&place| (i, place)).collect::<Vec<_>>();
        let mut places: Vec<(usize, SpilledBlock)> = self.spills.iter().enumerate().flat_map(blocks).collect();
        places.sort_by_key(|(_, place)| place.block);
        for window in places.chunks(WINDOW) {
            let blocks = ctx.install(|| {
                let blocks = window.par_iter().map(|&(spill, place)| {
                    ctx.check()?;
                    self.block(spill, place, model)
                });
                blocks.collect::<Result<Vec<_>>>()
            })?;
            for (ids, rows) in blocks {
                give(&ids, rows)?;
            }
        }
        Ok(())
    }

    /// Writes the rows to a file of the format that its name says.
    pub fn write(&self, model: &Vectorizer, path: &Path, ctx: &Ctx) -> Result<()> {
        write_rows(path, &columns(model), Formulas::Keep, |sink| {
            self.for_each(model, ctx, |ids, rows| sink.push(ids, &Rows::Sparse(rows)))
        })
    }

    fn block(&self, spill: usize, place: SpilledBlock, model: &Vectorizer) -> Result<(Vec<Cow<'_, str>>, Csr)> {
        let columns = self.columns.as_ref().map(|columns| &columns[spill][..]);
        let mut documents = self.spills[spill].documents(place)?;
        let (mut ids, mut rows) = (Vec::new(), Csr::new(self.width));
        // Column above count, so that ordering by column is ordering numbers.
        let (mut packed, mut row): (Vec<u64>, Vec<(u32, f32)>) = (Vec::new(), Vec::new());
        loop {
            packed.clear();
            let document = documents.next(|id, count| {
                let column = columns.map_or(id, |columns| columns[id as usize]);
                if column != u32::MAX {
                    packed.push(u64::from(column) << 32 | u64::from(count as u32));
                }
            });
            let Some((id, length)) = document else { return Ok((ids, rows)) };
            packed.sort_unstable();
            row.clear();
            row.extend(packed.iter().map(|&packed| ((packed >> 32) as u32, packed as u32 as i32 as f32)));
            model.weigh(&mut row, length);
            rows.push_row(row.iter().copied());
            ids.push(id);
        }
    }
}

pub(crate) fn fields<'l>(line: &'l Line<'_>) -> Fields<'l> {
    Fields { title: &line.title, body: &line.text }
}

fn columns(model: &Vectorizer) -> Columns {
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
        let (mut documents, mut tokens, mut known, mut stored, mut empty) = (0u64, 0u64, 0u64, 0u64, 0u64);
        let measure = |line: &Line<'_>| {
            let (row, length) = self.model.count(&self.cutter, fields(line));
            let known: f32 = row.iter().map(|(_, count)| count.abs()).sum();
            (u64::from(length), known as u64, row.len() as u64)
        };
        lines.for_each_document(ctx, measure, |(all, in_vocabulary, values)| {
            documents += 1;
            tokens += all;
            known += in_vocabulary;
            stored += values;
            empty += u64::from(values == 0);
            Ok(())
        })?;
        let figures = figures(json!({
            "documents": documents, "tokens": tokens, "oov": tokens - known, "empty_documents": empty,
            "values_per_document": stored as f64 / documents.max(1) as f64,
        }));
        Ok((figures, lines.finish()?))
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
