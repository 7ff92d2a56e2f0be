//! What a piece of the corpus is to be trained on, before any number is touched: which words stay, their windows, and what is
//! predicted.
//!
//! Definitions are those of the C tool. A word of count `n` among `N` stays with probability `sqrt(t/f) + t/f`, `f = n / N` and
//! `t` the sampling threshold. Windows reach a uniform 1 to `window` words, and over words that went. Negative samples come in
//! proportion to `n^0.75`; one that equals the predicted word is left away. They are drawn once a window.

use super::alias::Alias;
use super::huffman::Huffman;
use super::random::Random;
use super::slots::Slots;

/// How a word is predicted.
pub(super) enum Outputs {
    /// By telling it from this many words drawn at random.
    Negative(Alias, usize),
    /// By the turns of its path.
    Hierarchical(Huffman),
}

/// What does not change from piece to piece.
pub(super) struct Rules {
    pub(super) outputs: Outputs,
    /// A word stays when 32 random bits are below this.
    pub(super) stays: Vec<u64>,
    /// Words on each side at the most.
    pub(super) window: u32,
}

/// One prediction.
pub(super) struct Window {
    /// The word that is predicted, by its place among those that stayed.
    pub(super) centre: u32,
    /// The window, its centre included, likewise.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Where its outputs end in [`Plan::rows`].
    pub(super) end: u32,
}

/// All predictions of a piece. Rows are numbered by the first time that the piece needs them.
#[derive(Default)]
pub(super) struct Plan {
    /// Row of the inputs, of each word that stayed.
    pub(super) inputs: Vec<u32>,
    pub(super) windows: Vec<Window>,
    /// Rows of the outputs, window by window.
    pub(super) rows: Vec<u32>,
    /// What each is to be: 1 or 0.
    pub(super) labels: Vec<f32>,
    words: Vec<u32>,
}

impl Plan {
    /// Plans `numbers`, in which numbers from `words` on end a sequence.
    pub(super) fn draw(
        &mut self,
        numbers: &[u32],
        rules: &Rules,
        random: &mut Random,
        inputs: &mut Slots,
        outputs: &mut Slots,
    ) {
        self.inputs.clear();
        self.windows.clear();
        self.rows.clear();
        self.labels.clear();
        for sequence in numbers.split(|&number| number as usize >= rules.stays.len()) {
            let first = self.inputs.len() as u32;
            self.words.clear();
            for &word in sequence {
                if (random.next() & 0xffff_ffff) < rules.stays[word as usize] {
                    self.words.push(word);
                }
            }
            let length = self.words.len() as u32;
            if length < 2 {
                continue;
            }
            self.inputs.extend(self.words.iter().map(|&word| inputs.of(word)));
            for (at, &word) in (0..).zip(&self.words) {
                let reach = 1 + random.below(rules.window);
                match &rules.outputs {
                    Outputs::Negative(alias, samples) => {
                        self.rows.push(outputs.of(word));
                        self.labels.push(1.0);
                        for _ in 0..*samples {
                            let drawn = alias.draw(random);
                            if drawn != word {
                                self.rows.push(outputs.of(drawn));
                                self.labels.push(0.0);
                            }
                        }
                    }
                    Outputs::Hierarchical(tree) => {
                        let (nodes, labels) = tree.path(word);
                        self.rows.extend(nodes.iter().map(|&node| outputs.of(node)));
                        self.labels.extend_from_slice(labels);
                    }
                }
                self.windows.push(Window {
                    centre: first + at,
                    from: first + at.saturating_sub(reach),
                    to: first + (at + reach + 1).min(length),
                    end: self.rows.len() as u32,
                });
            }
        }
    }
}
