//! The plan of a stretch of the corpus, made before any number is touched: which words stay, their windows, and what is
//! predicted.
//!
//! Definitions are those of the C tool. A word of count `n` among `N` stays with probability `sqrt(t/f) + t/f`, `f = n / N` and
//! `t` the sampling threshold. Windows reach a uniform 1 to `window` words, and over words that went. Negative samples come in
//! proportion to `n^0.75`; one that equals the predicted word is left away. They are drawn once a window.

use super::characters::Characters;
use super::huffman::Huffman;
use crate::alias::Alias;
use crate::random::Random;

/// Ends a sequence in a corpus of numbers, as does every number that is no word's: no window reaches over it.
pub const END: u32 = u32::MAX;
/// Ends a document, after the end of its last sequence.
pub const DOCUMENT: u32 = u32::MAX - 1;

/// The outputs of a prediction.
pub(super) enum Outputs {
    /// By telling it from this many words drawn at random.
    Negative(Alias, usize),
    /// By the turns of its path.
    Hierarchical(Huffman),
}

/// The inputs of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    /// The mean of the words of the window, and of the document if it has a row.
    Mean,
    /// Each word of the window.
    Each,
    /// The document alone.
    Document,
}

/// All that does not change from stretch to stretch.
pub(super) struct Rules {
    pub(super) outputs: Outputs,
    /// A word stays when 32 random bits are below this.
    pub(super) stays: Vec<u64>,
    /// Words on each side at the most.
    pub(super) window: u32,
    pub(super) predictor: Predictor,
    /// True if the sum of a window predicts, and not its mean.
    pub(super) sums: bool,
    pub(super) characters: Option<Characters>,
    /// Row of the first document, if documents have rows.
    pub(super) documents: Option<u32>,
}

impl Rules {
    /// Gives each row of a word, with its share of the word.
    #[inline(always)]
    pub(super) fn rows(&self, word: u32, mut take: impl FnMut(Input)) {
        match self.characters.as_ref().map(|characters| characters.rows(word)) {
            Some(rows) if !rows.is_empty() => {
                take(Input { row: word, share: 0.5 });
                let share = 0.5 / rows.len() as f32;
                rows.iter().for_each(|&row| take(Input { row, share }));
            }
            _ => take(Input { row: word, share: 1.0 }),
        }
    }
}

/// A row that predicts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) row: u32,
    /// Share of the word that it stands for.
    pub(super) share: f32,
}

#[derive(Clone, Copy)]
pub(super) struct Window {
    /// End of its inputs in [`Plan::inputs`].
    pub(super) inputs: u32,
    /// End of its outputs in [`Plan::rows`].
    pub(super) outputs: u32,
    /// 1 / words of the mean; 1 for a sum.
    pub(super) scale: f32,
}

/// All predictions of a stretch, or of a document.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) windows: Vec<Window>,
    pub(super) inputs: Vec<Input>,
    /// Rows of the outputs, window by window.
    pub(super) rows: Vec<u32>,
    /// The target of each output: 1 or 0.
    pub(super) labels: Vec<f32>,
    words: Vec<u32>,
}

impl Plan {
    /// Plans `numbers`, in which numbers from those of the words on end a sequence; the first is of this document.
    pub(super) fn draw(&mut self, numbers: &[u32], mut document: u32, rules: &Rules, random: &mut Random) {
        self.windows.clear();
        self.inputs.clear();
        self.rows.clear();
        self.labels.clear();
        for sequence in numbers.split_inclusive(|&number| number as usize >= rules.stays.len()) {
            self.words.clear();
            for &word in sequence {
                if rules.stays.get(word as usize).is_some_and(|&stays| (random.next() & 0xffff_ffff) < stays) {
                    self.words.push(word);
                }
            }
            for at in 0..self.words.len() {
                self.window(at, document, rules, random);
            }
            document += u32::from(sequence.last() == Some(&DOCUMENT));
        }
    }

    #[inline(always)]
    fn window(&mut self, at: usize, document: u32, rules: &Rules, random: &mut Random) {
        let reach = 1 + random.below(rules.window) as usize;
        let word = self.words[at];
        let mut words = 0;
        if rules.predictor != Predictor::Document {
            let (from, to) = (at.saturating_sub(reach), (at + reach + 1).min(self.words.len()));
            words += to - from - 1;
            for place in (from..at).chain(at + 1..to) {
                rules.rows(self.words[place], |input| self.inputs.push(input));
            }
        }
        if let Some(first) = rules.documents {
            self.inputs.push(Input { row: first + document, share: 1.0 });
            words += 1;
        }
        if words == 0 {
            return;
        }
        match &rules.outputs {
            Outputs::Negative(alias, samples) => {
                self.rows.push(word);
                self.labels.push(1.0);
                for _ in 0..*samples {
                    let drawn = alias.draw(random);
                    if drawn != word {
                        self.rows.push(drawn);
                        self.labels.push(0.0);
                    }
                }
            }
            Outputs::Hierarchical(tree) => {
                let (nodes, labels) = tree.path(word);
                self.rows.extend_from_slice(nodes);
                self.labels.extend_from_slice(labels);
            }
        }
        self.windows.push(Window {
            inputs: self.inputs.len() as u32,
            outputs: self.rows.len() as u32,
            scale: if rules.sums { 1.0 } else { 1.0 / words as f32 },
        });
    }
}
