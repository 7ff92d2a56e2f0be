//! From a strategy and a text to the bytes that a model sees.

use std::ops::Range;

use super::{Layout, Strategy};
use crate::structure::Sentence;
use inkstone_text::{Cut, Mode, Segmenter, truncate_text};

/// The part of a text that a model sees at once.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptText {
    /// Bytes kept: half-open, ascending, apart, on character boundaries.
    pub bytes: Vec<Range<usize>>,
    /// Weight of the part among the windows of its text, as [`TokenView::weight`](super::TokenView::weight).
    pub weight: f64,
}

impl Strategy {
    /// The segmenter whose tokens limits count: characters, or the tokens of `segmenter` without overlaps.
    pub fn counter(&self, segmenter: &Segmenter) -> Segmenter {
        let mode = if self.characters { Mode::Char } else { segmenter.mode() };
        segmenter.recut(mode, Cut::Precise)
    }

    /// The parts of a text that are kept for a model without special tokens: one, or one for each window; none where nothing is left.
    ///
    /// Strategies by place ([`Strategy::place`]) count the tokens of `segmenter`, overlapping ones one by one, and always give one
    /// part, which may be empty. All others count the tokens of [`Strategy::counter`].
    pub fn keep(&self, text: &str, segmenter: &Segmenter, sentences: &[Sentence], draw: u64) -> Vec<KeptText> {
        if let Some(truncation) = self.place() {
            return vec![KeptText { bytes: truncate_text(text, segmenter, &truncation, 0), weight: 1.0 }];
        }
        let counter = self.counter(segmenter);
        let tokens: Vec<Range<usize>> = counter.tokens(text).iter().map(|token| token.start..token.end).collect();
        let layout = Layout::new(tokens.iter().map(|token| token.start), sentences);
        let views = self.views(&layout, 0, draw);
        views.iter().map(|view| KeptText { bytes: view.bytes(&tokens), weight: view.weight }).collect()
    }
}
