//! Documents with their sentences, as experiments read them beside features.

use std::ops::Range;

use anyhow::Result;
use rayon::prelude::*;

use super::Inputs;
use super::cost::Cost;
use super::reading::draw_of;
use inkstone_base::code::Code;
use inkstone_base::data::Kind;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_corpus::clean::{CleanDocument, clean_of_part};
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_corpus::structure::{Sentence, sentences_of_part};
use inkstone_corpus::truncate::{Layout, SectionCounts, SectionShare, Strategy, TokenView};
use inkstone_tables::corpus::Parts;
use inkstone_text::{Cut, Mode, Segmenter};

/// A document, its text and its sentences.
pub struct WholeDocument {
    pub clean: CleanDocument,
    pub codes: Vec<Code>,
    /// Title, a line break, body.
    pub text: String,
    pub sentences: Vec<Sentence>,
    /// Random number of the document, from which strategies of chance draw.
    pub draw: u64,
}

/// The documents of part `i`, in order.
pub fn read_whole(clean: &Parts, links: &Parts, sentences: &Parts, i: usize, seed: u64) -> Result<Vec<WholeDocument>> {
    let docs = clean_of_part(&clean.path(i))?;
    let links = links_of_part(&links.path(i))?;
    let sentences = sentences_of_part(&sentences.path(i))?;
    ensure!(
        sentences.len() == docs.len(),
        "第 {i} 份的句子与其文档不符：请重新运行",
        "the sentences of part {i} are not those of its documents: run again"
    );
    let document = |((row, clean), sentences): ((u32, CleanDocument), Vec<Sentence>)| {
        let text = format!("{}\n{}", clean.document.title, clean.document.body);
        let draw = draw_of(seed, &clean.document.doc_id);
        WholeDocument { codes: codes_of(&links, row), text, sentences, draw, clean }
    };
    Ok((0..).zip(docs).zip(sentences).map(document).collect())
}

impl WholeDocument {
    /// Applies a strategy, in tokens of `words`, or in characters where the strategy counts these. Returns the layout, its views, and
    /// the bytes of each token.
    pub fn views(&self, strategy: &Strategy, words: &Segmenter) -> (Layout, Vec<TokenView>, Vec<Range<usize>>) {
        let tokens: Vec<_> =
            strategy.counter(words).tokens(&self.text).iter().map(|token| token.start..token.end).collect();
        let layout = Layout::new(tokens.iter().map(|token| token.start), &self.sentences);
        let views = strategy.views(&layout, 0, self.draw);
        (layout, views, tokens)
    }
}

/// Applies strategies to the documents of some kinds, in words (or characters, where they count these). Returns cost and tokens by section.
/// Progress is counted in documents.
pub fn audit(
    strategies: &[Strategy],
    kinds: &[Kind],
    inputs: &Inputs<'_>,
    ctx: &Ctx,
) -> Result<Vec<(Cost, Vec<SectionShare>)>> {
    let words = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let words = words.recut(words.mode(), Cut::Precise);
    let characters = words.recut(Mode::Char, Cut::Precise);
    let mut all = vec![(Cost::default(), SectionCounts::default()); strategies.len()];
    for part in 0..inputs.clean.files()?.len() {
        let documents = read_whole(inputs.clean, inputs.links, inputs.sentences, part, ctx.seed())?;
        let read = |kind| kinds.is_empty() || kinds.contains(&kind);
        let one = |document: &WholeDocument| {
            let lay = |segmenter: &Segmenter| {
                let tokens = segmenter.tokens(&document.text);
                Layout::new(tokens.iter().map(|token| token.start), &document.sentences)
            };
            let [words, characters] = [lay(&words), lay(&characters)];
            let count = |strategy: &Strategy| {
                let layout = if strategy.characters { &characters } else { &words };
                let views = strategy.views(layout, 0, document.draw);
                let mut counts = SectionCounts::default();
                counts.add(layout, &views);
                (views.len() as u64, views.iter().map(|view| view.len() as u64).sum::<u64>(), counts)
            };
            strategies.iter().map(count).collect::<Vec<_>>()
        };
        let wanted: Vec<&WholeDocument> = documents.iter().filter(|d| read(d.clean.document.kind)).collect();
        let counted: Vec<Vec<(u64, u64, SectionCounts)>> =
            ctx.install(|| wanted.par_iter().map(|document| one(document)).collect());
        for (cell, (cost, sections)) in all.iter_mut().enumerate() {
            for (windows, tokens, counts) in counted.iter().map(|document| &document[cell]) {
                cost.documents += 1;
                cost.nothing_kept += u64::from(*windows == 0);
                cost.windows += windows;
                cost.tokens += tokens;
                sections.merge(counts);
            }
        }
        ctx.advance(documents.len() as u64)?;
    }
    Ok(all.into_iter().map(|(cost, sections)| (cost, sections.shares())).collect())
}
