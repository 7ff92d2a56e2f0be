//! Co-occurrence, PPMI and its word vectors on plain files.
//!
//! Lines are read once: the numbers of their words wait in a scratch file until it is known which words are kept. Title and text
//! of a document are apart: no pair reaches from one into the other. Memory is bounded by the vocabulary, a block, and what
//! counting is allowed.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use chrono::NaiveDateTime;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde_json::json;

use super::{Block, Columns, Cutter, EvalParams, Figures, Fitted, Line, Lines, Rows, WordVectors};
use crate::data::Report;
use crate::disk::{self, Scratch};
use crate::job::Ctx;
use crate::model::{
    Cooccurrence, CooccurrenceParams, Explanation, ModelFile, ModelHeader, PairCounter, PairWords, Ppmi, PpmiModel,
    PpmiParams, component_names,
};

pub(crate) const KIND: &str = PpmiModel::KIND;

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 22;
/// Documents that one thread numbers at once.
const CHUNK: usize = 256;
/// Tokens whose pairs are counted between two looks at the memory.
const TOKENS: usize = 1 << 20;
/// Stands for a word that is not kept.
const LEFT_OUT: u32 = u32::MAX;

/// Counts pairs, and makes word vectors of them. Scratch files are made in the folder of `beside`; the matrix is written to
/// `matrix` (`.npz`), if that is wanted. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `pairs`, `cells`,
/// `dim`, `singular_values`, `singular_value_error`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    counting: &CooccurrenceParams,
    params: &PpmiParams,
    beside: &Path,
    matrix: Option<&Path>,
    ctx: &Ctx,
) -> Result<(PpmiModel, Report)> {
    let (words, counts, mut report) = count(lines, cutter, counting, beside, ctx)?;
    let ppmi = Ppmi::new(&counts, params, disk::folder_of(beside), ctx)?;
    report.fact("pairs", counts.pairs());
    report.fact("cells", ppmi.cells());
    drop(counts);
    if let Some(path) = matrix {
        ppmi.write_npz(path, &words.words, ctx)?;
    }
    let model = PpmiModel::fit(words, &ppmi, counting, params, ctx)?;
    report.fact("dim", model.dim());
    report.fact("singular_values", model.singular_values());
    report.fact("singular_value_error", model.error());
    Ok((model, report))
}

/// Counts the pairs of the words of all lines.
fn count(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &CooccurrenceParams,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(PairWords, Cooccurrence, Report)> {
    let mut numbered = Numbered::new(beside)?;
    let mut block = Block::default();
    while lines.next_block(&mut block, BLOCK)? {
        let documents = lines.documents(&block);
        let chunks = ctx.install(|| {
            let chunks = documents.par_chunks(CHUNK).map(|chunk| {
                ctx.advance(chunk.len() as u64)?;
                Ok(Chunk::of(chunk, cutter))
            });
            chunks.collect::<Result<Vec<Chunk>>>()
        })?;
        chunks.into_iter().try_for_each(|chunk| numbered.add(chunk))?;
        numbered.documents += documents.len() as u64;
        numbered.last = documents.iter().map(|line| line.time).fold(numbered.last, Option::max);
    }
    let mut report = lines.finish()?;
    report.fact("documents", numbered.documents);
    report.fact("tokens", numbered.counts.iter().sum::<u64>());
    report.fact("fitted_until", numbered.last);
    let (words, counts) = numbered.pairs(params, beside, ctx)?;
    report.fact("vocabulary", words.words.len());
    Ok((words, counts, report))
}

/// Some documents as numbers of words of their own.
#[derive(Default)]
struct Chunk {
    words: Vec<Box<str>>,
    /// Sequences of words, each after its length.
    numbers: Vec<u32>,
}

impl Chunk {
    fn of(lines: &[Line<'_>], cutter: &Cutter) -> Chunk {
        let mut chunk = Chunk::default();
        let mut known: FxHashMap<Box<str>, u32> = FxHashMap::default();
        for text in lines.iter().flat_map(|line| [&line.title, &line.text]).filter(|text| !text.is_empty()) {
            let terms = cutter.terms(text);
            chunk.numbers.push(terms.len() as u32);
            for term in terms {
                let number = known.get(&*term).copied().unwrap_or_else(|| {
                    chunk.words.push((&*term).into());
                    known.insert((&*term).into(), chunk.words.len() as u32 - 1);
                    chunk.words.len() as u32 - 1
                });
                chunk.numbers.push(number);
            }
        }
        chunk
    }
}

/// All documents as numbers of words.
struct Numbered {
    numbers: FxHashMap<Box<str>, u32>,
    /// Occurrences by number.
    counts: Vec<u64>,
    scratch: Scratch,
    documents: u64,
    last: Option<NaiveDateTime>,
}

impl Numbered {
    fn new(beside: &Path) -> Result<Numbered> {
        let scratch = Scratch::beside(beside)?;
        Ok(Numbered { numbers: FxHashMap::default(), counts: Vec::new(), scratch, documents: 0, last: None })
    }

    fn add(&mut self, chunk: Chunk) -> Result<()> {
        let Chunk { words, mut numbers } = chunk;
        let here: Vec<u32> = words
            .into_iter()
            .map(|word| {
                let next = self.counts.len() as u32;
                let number = *self.numbers.entry(word).or_insert(next);
                if number == next {
                    self.counts.push(0);
                }
                number
            })
            .collect();
        let mut rest = &mut numbers[..];
        while let Some((length, after)) = rest.split_first_mut() {
            let (sequence, after) = after.split_at_mut(*length as usize);
            for number in sequence {
                *number = here[*number as usize];
                self.counts[*number as usize] += 1;
            }
            rest = after;
        }
        self.scratch.write(bytemuck::cast_slice(&numbers))
    }

    /// Chooses the words, and counts the pairs of those.
    fn pairs(self, params: &CooccurrenceParams, beside: &Path, ctx: &Ctx) -> Result<(PairWords, Cooccurrence)> {
        let mut kept: Vec<(Box<str>, u32)> =
            self.numbers.into_iter().filter(|(_, i)| self.counts[*i as usize] >= params.min_count).collect();
        kept.sort_unstable_by(|a, b| {
            (Reverse(self.counts[a.1 as usize]), &a.0).cmp(&(Reverse(self.counts[b.1 as usize]), &b.0))
        });
        if params.max_words > 0 {
            kept.truncate(params.max_words);
        }
        ensure!(
            kept.len() > 1,
            "{} of {} words occur at least {} times in {} documents, and pairs need two: lower --min-count, or give \
             more text",
            kept.len(),
            self.counts.len(),
            params.min_count,
            self.documents
        );
        let mut columns = vec![LEFT_OUT; self.counts.len()];
        (0..).zip(&kept).for_each(|(column, (_, number))| columns[*number as usize] = column);
        let mut counter = PairCounter::new(kept.len(), params, disk::folder_of(beside))?;
        let map = self.scratch.map()?;
        let mut rest: &[u32] = bytemuck::cast_slice(map.as_deref().unwrap_or_default());
        let (mut sequences, mut tokens) = (Vec::new(), 0);
        while let Some((&length, after)) = rest.split_first() {
            let (sequence, after) = after.split_at(length as usize);
            rest = after;
            sequences.push(sequence);
            tokens += sequence.len();
            if tokens >= TOKENS || rest.is_empty() {
                let known = |sequence: &&[u32]| -> Vec<u32> {
                    sequence.iter().map(|&i| columns[i as usize]).filter(|&column| column != LEFT_OUT).collect()
                };
                counter.add(&ctx.install(|| sequences.par_iter().map(known).collect::<Vec<_>>()), ctx)?;
                sequences.clear();
                tokens = 0;
            }
        }
        let words = kept.into_iter().map(|(word, _)| word).collect();
        let words = PairWords { words, documents: self.documents, fitted_until: self.last };
        Ok((words, counter.finish(ctx)?))
    }
}

/// A fitted model and the cutter that its documents are read with.
pub(super) struct FittedPpmi {
    header: ModelHeader,
    model: PpmiModel,
    cutter: Cutter,
}

impl FittedPpmi {
    pub(super) fn open(file: &ModelFile, cutter: Cutter) -> Result<FittedPpmi> {
        Ok(FittedPpmi { header: file.header().clone(), model: PpmiModel::read(file)?, cutter })
    }

    fn with_terms<T>(&self, line: &Line<'_>, f: impl FnOnce(&[&str]) -> T) -> T {
        let text = line.whole();
        let terms = self.cutter.terms(&text);
        f(&terms.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    }
}

impl Fitted for FittedPpmi {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(component_names(self.model.dim())))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let means = lines.iter().flat_map(|line| self.with_terms(line, |terms| self.model.mean(terms)));
        Ok(Rows::Dense(means.collect()))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let names = component_names(self.model.dim());
        let component = of.map(|name| {
            names
                .iter()
                .position(|known| known == name)
                .with_context(|| format!("the model has no component {name}; there are c1 to c{}", self.model.dim()))
        });
        let component = component.transpose()?;
        Ok(self.with_terms(line, |terms| self.model.explain(terms, component)))
    }

    fn words(&self) -> Option<WordVectors<'_>> {
        let vectors = Cow::Borrowed(self.model.vectors());
        Some(WordVectors { words: self.model.words(), vectors, dim: self.model.dim() })
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(KIND)?;
        let (mut documents, mut tokens, mut known, mut empty) = (0u64, 0u64, 0u64, 0u64);
        let mut block = Block::default();
        while lines.next_block(&mut block, BLOCK)? {
            for line in lines.documents(&block) {
                ctx.advance(1)?;
                let (all, in_vocabulary) = self.with_terms(&line, |terms| {
                    (terms.len(), terms.iter().filter(|term| self.model.vector(term).is_some()).count())
                });
                documents += 1;
                tokens += all as u64;
                known += in_vocabulary as u64;
                empty += u64::from(in_vocabulary == 0);
            }
        }
        let figures =
            json!({"documents": documents, "tokens": tokens, "oov": tokens - known, "empty_documents": empty});
        Ok((figures.as_object().cloned().context("figures are an object")?, lines.finish()?))
    }
}
