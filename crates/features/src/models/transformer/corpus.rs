//! The inputs of an encoder that is trained on text alone.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use clap::ValueEnum;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::texts::{TextWriter, TokenizedTexts, halves, inputs, named_inputs, sentence_inputs, wrap_halves};
use crate::extract::draw_of;
use crate::lines::{Cutter, Line, Lines};
use crate::stage_result;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_corpus::link::{Companies, RenamedText};
use inkstone_models::transformer::{NAMED, UNTAGGED, token_number};
use inkstone_text::subword::Subword;

/// Documents that a thread takes at once.
pub(super) const CHUNK: usize = 64;
/// Number of second halves that are kept; a document gets one of them in the place of its own.
const OTHERS: usize = 1000;

/// A relation of two halves of a text that an encoder is trained to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SentenceTask {
    /// The halves stand in their order, or they are swapped (ALBERT).
    Order,
    /// The second half follows the first, or it is of another text (BERT).
    Next,
    /// The second half follows the first, stands before it, or is of another text (StructBERT).
    Three,
}

impl SentenceTask {
    /// Number of relations; 0 is that of a second half that follows the first.
    pub(super) fn relations(self) -> usize {
        if self == SentenceTask::Three { 3 } else { 2 }
    }
}

/// How documents become inputs.
pub(super) struct InputForm<'a> {
    pub(super) subword: &'a Subword,
    /// Tokens of an input at most, special tokens not included.
    pub(super) room: usize,
    /// Cuts the words that are masked as a whole.
    pub(super) words: Option<&'a Cutter>,
    pub(super) sentences: Option<SentenceTask>,
    /// True if the tokens that begin a sentence are marked.
    pub(super) sentence_begins: bool,
    /// The companies of which half bear other names in each document with a time.
    pub(super) companies: Option<&'a Companies>,
}

/// The inputs of a corpus, and its figures.
pub(super) struct PretrainCorpus {
    pub(super) texts: TokenizedTexts,
    /// The order of each input, as `Goals::WordsAndOrder` has it; empty where no relation is learned.
    pub(super) orders: Vec<u32>,
    /// Occurrences of each token.
    pub(super) counts: Vec<u64>,
    pub(super) documents: u64,
    /// Tokens of names of companies.
    pub(super) named: u64,
    pub(super) last_time: Option<NaiveDateTime>,
}

/// An input, or its two halves.
type Halves = (Vec<u32>, Option<Vec<u32>>);

impl InputForm<'_> {
    fn cut(&self, line: &Line<'_>, seed: u64) -> Result<Vec<Halves>> {
        let text = line.whole();
        if self.sentences.is_some() {
            return halves(self.subword, &text, self.room, self.words);
        }
        let cut = match (self.companies, line.time) {
            (Some(companies), Some(time)) => {
                // A text is renamed alike wherever it stands.
                let mut rng = ChaCha8Rng::seed_from_u64(draw_of(seed, &text));
                let RenamedText { text, names } = companies.renamed(&text, time, &mut rng);
                named_inputs(self.subword, &text, self.room, self.words, &names)?
            }
            _ if self.sentence_begins => sentence_inputs(self.subword, &text, self.room, self.words)?,
            _ => inputs(self.subword, &text, self.room, self.words)?,
        };
        Ok(cut.into_iter().map(|ids| (ids, None)).collect())
    }
}

impl PretrainCorpus {
    /// Reads lines. The scratch file of the tokens is made in the folder of `output`.
    pub(super) fn read(lines: &mut Lines, form: &InputForm<'_>, output: &Path, ctx: &Ctx) -> Result<PretrainCorpus> {
        let mut writer = TextWriter::new(output)?;
        let mut pairs = PairMaker::new(form, ctx.seed());
        let (mut orders, mut counts) = (Vec::new(), vec![0; form.subword.size()]);
        let (mut documents, mut named, mut last_time) = (0, 0, None);
        stage_result(ctx, "cut", "docs", None, || {
            lines.for_each_chunk(
                CHUNK,
                ctx,
                |lines| {
                    ctx.advance(lines.len() as u64)?;
                    let cut = lines.iter().map(|line| form.cut(line, ctx.seed()));
                    let last = lines.iter().filter_map(|line| line.time).max();
                    Ok((cut.collect::<Result<Vec<Vec<Halves>>>>()?, last))
                },
                |(cut, last)| {
                    documents += cut.len() as u64;
                    last_time = last_time.max(last);
                    for input in cut.into_iter().flatten() {
                        let tokens = match form.sentences {
                            None => input.0,
                            Some(task) => {
                                let (tokens, order) = pairs.input(input, task)?;
                                orders.push(order);
                                tokens
                            }
                        };
                        tokens.iter().for_each(|token| counts[token_number(*token) as usize] += 1);
                        named += tokens.iter().filter(|token| **token & NAMED != 0).count() as u64;
                        writer.push(&tokens)?;
                    }
                    Ok(())
                },
            )?;
            Ok(((), Report::new("cut")))
        })?;
        Ok(PretrainCorpus { texts: writer.finish()?, orders, counts, documents, named, last_time })
    }
}

/// Puts the halves of inputs together: as they stand, in another order, or with another second half, each as often.
struct PairMaker<'a> {
    subword: &'a Subword,
    rng: ChaCha8Rng,
    /// Second halves of the last inputs.
    others: Vec<Vec<u32>>,
    next: usize,
}

impl<'a> PairMaker<'a> {
    fn new(form: &InputForm<'a>, seed: u64) -> PairMaker<'a> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(3);
        PairMaker { subword: form.subword, rng, others: Vec::new(), next: 0 }
    }

    /// The tokens of an input with special tokens, and its order.
    fn input(&mut self, (first, second): Halves, task: SentenceTask) -> Result<(Vec<u32>, u32)> {
        let Some(second) = second else { return Ok((self.subword.wrap(&first).ids, UNTAGGED)) };
        let drawn = self.rng.random_range(0..task.relations() as u32);
        match task {
            SentenceTask::Order | SentenceTask::Three if drawn == 1 => {
                Ok((wrap_halves(self.subword, &second, &first)?, 1))
            }
            SentenceTask::Order => Ok((wrap_halves(self.subword, &first, &second)?, 0)),
            SentenceTask::Next | SentenceTask::Three => {
                let other = self.others.choose(&mut self.rng).filter(|_| drawn > 0);
                let order = if other.is_some() { drawn } else { 0 };
                // Another half may be longer than the room of this one.
                let most = other.map(|other| &other[..other.len().min(second.len())]);
                let tokens = wrap_halves(self.subword, &first, most.unwrap_or(&second))?;
                if self.others.len() < OTHERS {
                    self.others.push(second);
                } else {
                    self.others[self.next] = second;
                    self.next = (self.next + 1) % OTHERS;
                }
                Ok((tokens, order))
            }
        }
    }
}
