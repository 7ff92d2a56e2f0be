//! A corpus as numbers of words in a scratch file, which trainers of word vectors read any number of times.
//!
//! Lines are read once. The numbers of all their words wait in one scratch file until it is known which words are kept; a
//! second has the numbers of the kept words alone, the most frequent word 0. Memory holds the vocabulary and a block.

mod phrases;

use std::cmp::Reverse;
use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use memmap2::Mmap;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::{Cutter, Line, Lines};
use inkstone_base::data::{Report, TooLittle};
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_models::{Training, WordLimits, WordVectors};

pub use phrases::PhraseParams;

/// Documents that one thread numbers at once.
const CHUNK: usize = 256;
/// Numbers that are put in order at once.
const NUMBERS: usize = 1 << 20;

/// A document's title and its text are sequences of their own.
pub(crate) use inkstone_models::{DOCUMENT, END};
/// Stands for a word that is not kept.
const LEFT_OUT: u32 = u32::MAX - 2;

/// The tokens of a document that become numbers, and the treatment of words that are not kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WordReading<'a> {
    /// Numbers of the terms, title and text apart; words outside the vocabulary are left out.
    Terms,
    /// The same, after phrases have become words.
    Phrases(&'a PhraseParams),
    /// Every token of the whole. Of n kept words, n ends a document, and n + 1 stands for each word that is not kept; there are no
    /// other marks.
    Language,
}

/// A corpus as numbers of words.
pub(crate) struct Numbered {
    /// The kept words, the most frequent first; equal ones in the order of their characters.
    pub words: Vec<Box<str>>,
    pub counts: Vec<u64>,
    /// Occurrences of words that are not kept.
    pub left_out: u64,
    pub documents: u64,
    /// The last time of the documents.
    pub fitted_until: Option<NaiveDateTime>,
    map: Option<Mmap>,
}

impl Numbered {
    /// Numbers all lines; scratch files are made in the folder of `beside`. The report has `documents`, `tokens`, `vocabulary`,
    /// `kept_tokens`, `fitted_until`, and where they are joined `phrases`: how many different ones.
    pub(crate) fn read(
        lines: &mut Lines,
        cutter: &Cutter,
        reading: WordReading<'_>,
        kept: WordLimits,
        beside: &Path,
        ctx: &Ctx,
    ) -> Result<(Numbered, Report)> {
        let (mut all, mut report) = FirstPass::read(lines, beside, ctx, |chunk| {
            ctx.advance(chunk.len() as u64)?;
            Ok(NumberedChunk::new(chunk, cutter, reading))
        })?;
        if let WordReading::Phrases(params) = reading {
            let mut found = 0;
            for _ in 0..params.passes {
                let (joined, different) = all.joined(params, beside, ctx)?;
                (all, found) = (joined, found + different);
            }
            report.fact("phrases", found);
        }
        let numbered = all.kept(kept, reading, beside, ctx)?;
        report.fact("vocabulary", numbered.words.len());
        report.fact("kept_tokens", numbered.tokens());
        Ok((numbered, report))
    }

    /// The word vectors `[words, dim]` that a method has trained on this corpus.
    pub(crate) fn vectors(self, method: &str, params: Value, dim: usize, values: Vec<f32>) -> Result<WordVectors> {
        let (documents, fitted_until) = (self.documents, self.fitted_until);
        let training = Training { method: method.to_owned(), documents, fitted_until, params };
        WordVectors::new(self.words, self.counts, dim, values, training)
    }

    /// Occurrences of all kept words.
    pub(crate) fn tokens(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All numbers in the order of the corpus, with [`END`] after each sequence and [`DOCUMENT`] after each document.
    pub(crate) fn numbers(&self) -> &[u32] {
        disk::numbers(self.map.as_ref())
    }

    /// The sequences in order, those that lost all their words included.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = &[u32]> {
        let ended = self.numbers().split_inclusive(|&number| number == END);
        // Before a sequence's words stand the ends of the documents before it.
        ended.map(|sequence| {
            let start = sequence.iter().position(|&number| number != DOCUMENT).unwrap_or(sequence.len());
            sequence[start..].strip_suffix(&[END]).unwrap_or(&[])
        })
    }
}

/// Some documents as numbers of words of their own.
#[derive(Default)]
pub(crate) struct NumberedChunk {
    words: Vec<Box<str>>,
    pub(crate) numbers: Vec<u32>,
}

impl NumberedChunk {
    fn new(lines: &[Line<'_>], cutter: &Cutter, reading: WordReading<'_>) -> NumberedChunk {
        let mut chunk = NumberedChunk::default();
        let mut known: FxHashMap<Box<str>, u32> = FxHashMap::default();
        for line in lines {
            if matches!(reading, WordReading::Language) {
                cutter.tokens(&line.whole()).into_iter().for_each(|token| chunk.push(token, &mut known));
                chunk.numbers.push(END);
                continue;
            }
            for text in [&line.title, &line.text].into_iter().filter(|text| !text.is_empty()) {
                cutter.terms(text).iter().for_each(|term| chunk.push(term, &mut known));
                chunk.numbers.push(END);
            }
            chunk.numbers.push(DOCUMENT);
        }
        chunk
    }

    pub(crate) fn push(&mut self, word: &str, known: &mut FxHashMap<Box<str>, u32>) {
        let number = known.get(word).copied().unwrap_or_else(|| {
            self.words.push(word.into());
            known.insert(word.into(), self.words.len() as u32 - 1);
            self.words.len() as u32 - 1
        });
        self.numbers.push(number);
    }
}

/// The documents of all lines as numbers of words, in the order in which words came.
pub(crate) struct FirstPass {
    numbers: FxHashMap<Box<str>, u32>,
    pub(crate) counts: Vec<u64>,
    pub(crate) scratch: Scratch,
    pub(crate) documents: u64,
    pub(crate) last: Option<NaiveDateTime>,
}

impl FirstPass {
    /// Reads all lines; `number` makes numbers of a chunk of them. The report has `documents`, `tokens` and `fitted_until`.
    pub(crate) fn read(
        lines: &mut Lines,
        beside: &Path,
        ctx: &Ctx,
        number: impl Fn(&[Line<'_>]) -> Result<NumberedChunk> + Sync,
    ) -> Result<(FirstPass, Report)> {
        let scratch = Scratch::beside(beside)?;
        let mut pass =
            FirstPass { numbers: FxHashMap::default(), counts: Vec::new(), scratch, documents: 0, last: None };
        let chunk =
            |lines: &[Line<'_>]| Ok((number(lines)?, lines.len(), lines.iter().filter_map(|line| line.time).max()));
        lines.for_each_chunk(CHUNK, ctx, chunk, |(chunk, documents, last)| {
            pass.documents += documents as u64;
            pass.last = pass.last.max(last);
            pass.add(chunk)
        })?;
        let mut report = lines.finish()?;
        report.fact("documents", pass.documents);
        report.fact("tokens", pass.counts.iter().sum::<u64>());
        report.fact("fitted_until", pass.last);
        Ok((pass, report))
    }

    /// The word of each number.
    pub(crate) fn words(&self) -> Vec<Box<str>> {
        let mut words = vec![Box::default(); self.counts.len()];
        self.numbers.iter().for_each(|(word, number)| words[*number as usize] = word.clone());
        words
    }

    fn add(&mut self, chunk: NumberedChunk) -> Result<()> {
        let NumberedChunk { words, mut numbers } = chunk;
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
        for number in numbers.iter_mut().filter(|number| **number < LEFT_OUT) {
            *number = here[*number as usize];
            self.counts[*number as usize] += 1;
        }
        ensure!(
            self.counts.len() < LEFT_OUT as usize,
            "不同的词超过四十亿个",
            "there are more than four thousand million different words"
        );
        self.scratch.write(bytemuck::cast_slice(&numbers))
    }

    /// Chooses the words, and keeps the numbers of those.
    fn kept(self, rule: WordLimits, reading: WordReading<'_>, beside: &Path, ctx: &Ctx) -> Result<Numbered> {
        let mut kept: Vec<(Box<str>, u32)> =
            self.numbers.into_iter().filter(|(_, i)| self.counts[*i as usize] >= rule.min_count).collect();
        kept.par_sort_unstable_by(|a, b| {
            (Reverse(self.counts[a.1 as usize]), &a.0).cmp(&(Reverse(self.counts[b.1 as usize]), &b.0))
        });
        if rule.max_words > 0 {
            kept.truncate(rule.max_words);
        }
        if kept.len() < 2 {
            return Err(TooLittle(message!("{3} 篇文档的 {1} 个词中有 {0} 个出现至少 {2} 次，词向量需要两个：请降低 --min-count，或提供更多文本", "{} of {} words occur at least {} times in {} documents, and word vectors need two: lower --min-count, or give more text", kept.len(),
                self.counts.len(),
                rule.min_count,
                self.documents))
            .into());
        }
        let mut places = vec![LEFT_OUT; self.counts.len()];
        (0..).zip(&kept).for_each(|(place, (_, number))| places[*number as usize] = place);
        let counts: Vec<u64> = kept.iter().map(|(_, number)| self.counts[*number as usize]).collect();
        let left_out = self.counts.iter().sum::<u64>() - counts.iter().sum::<u64>();
        let marks = match reading {
            WordReading::Terms | WordReading::Phrases(_) => |number, _| number,
            WordReading::Language => |number, kept| if number == END { kept } else { kept + 1 },
        };
        let all = self.scratch.map()?;
        let mut scratch = Scratch::beside(beside)?;
        let mut out = Vec::with_capacity(NUMBERS);
        for numbers in disk::numbers::<u32>(all.as_ref()).chunks(NUMBERS) {
            ctx.check()?;
            out.clear();
            let placed = numbers.iter().map(|&n| if n < LEFT_OUT { places[n as usize] } else { n });
            let placed = placed.map(|n| if n < LEFT_OUT { n } else { marks(n, kept.len() as u32) });
            out.extend(placed.filter(|&n| n != LEFT_OUT));
            scratch.write(bytemuck::cast_slice(&out))?;
        }
        Ok(Numbered {
            words: kept.into_iter().map(|(word, _)| word).collect(),
            counts,
            left_out,
            documents: self.documents,
            fitted_until: self.last,
            map: scratch.map()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::standalone::{CutSpec, LineFormat};
    use inkstone_text::TokenizerParams;

    #[test]
    fn numbers_stand_for_the_kept_words_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(2, 1).unwrap();
        let text = "b a a c\n\na b rare\n";
        let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap();
        let read = |kept| {
            let mut lines = Lines::new(Cursor::new(text), LineFormat::Tokens);
            Numbered::read(&mut lines, &cutter, WordReading::Terms, kept, &dir.path().join("m"), &ctx)
        };
        let (numbered, report) = read(WordLimits { min_count: 2, max_words: 0 }).unwrap();
        assert_eq!(numbered.words, ["a", "b"].map(Box::from));
        assert_eq!((&numbered.counts[..], numbered.tokens(), numbered.documents), (&[3, 2][..], 5, 3));
        assert_eq!(numbered.numbers(), [1, 0, 0, END, DOCUMENT, DOCUMENT, 0, 1, END, DOCUMENT]);
        let sequences: Vec<&[u32]> = numbered.sequences().filter(|sequence| !sequence.is_empty()).collect();
        assert_eq!(sequences, [&[1, 0, 0][..], &[0, 1]]);
        assert_eq!(report.facts["tokens"].as_u64(), Some(7));
        let (numbered, _) = read(WordLimits { min_count: 1, max_words: 3 }).unwrap();
        assert_eq!(numbered.words, ["a", "b", "c"].map(Box::from));
        let mut lines = Lines::new(Cursor::new(text), LineFormat::Tokens);
        let kept = WordLimits { min_count: 2, max_words: 0 };
        let (numbered, _) =
            Numbered::read(&mut lines, &cutter, WordReading::Language, kept, &dir.path().join("m"), &ctx).unwrap();
        assert_eq!(numbered.numbers(), [1, 0, 0, 3, 2, 2, 0, 1, 3, 2]);
        assert_eq!((numbered.left_out, numbered.documents), (2, 3));
        let error = read(WordLimits { min_count: 3, max_words: 0 }).err().unwrap().to_string();
        assert!(error.contains("1 of 4 words occur at least 3 times") && error.contains("--min-count"), "{error}");
    }
}
