//! The words of a sentence by what they gave.

use crate::action::Action;
use crate::desk::Desk;
use crate::factor::words;
use crate::list::Cursor;
use crate::page::{Table, exact};
use inkstone_features::extract::{ExplainedSentence, ExplainedWord};

pub(super) struct WordWeights {
    /// Places among the words of the sentence, the largest weight first, whatever its sign.
    pub(super) order: Vec<usize>,
    pub(super) cursor: Cursor,
}

impl WordWeights {
    pub(super) fn new(sentence: &ExplainedSentence) -> WordWeights {
        let mut order: Vec<usize> = (0..sentence.words.len()).collect();
        let size = |at: &usize| sentence.words[*at].value.abs();
        order.sort_by(|a, b| size(b).total_cmp(&size(a)));
        WordWeights { order, cursor: Cursor::default() }
    }

    pub(super) fn step(&mut self, action: Action, rows: usize) {
        self.cursor.step(action, self.order.len(), rows);
    }

    pub(super) fn table(&self, sentence: &ExplainedSentence, desk: &Desk<'_>) -> Option<Table> {
        let header = [words::WORD, words::WEIGHT_OF_WORD, words::SHARE, words::NEGATED, words::DEGREE, words::TIMES];
        let all = total(&sentence.words);
        let row = |word: &ExplainedWord| {
            vec![
                word.word.clone(),
                exact(word.value),
                exact(share(word, all)),
                word.negated.to_string(),
                word.degree.to_string(),
                word.places.len().to_string(),
            ]
        };
        let rows = self.order.iter().filter_map(|at| sentence.words.get(*at)).map(row).collect();
        Some(Table::new(desk.language, &header, rows))
    }
}

/// The sum of the absolute weights.
pub(super) fn total(words: &[ExplainedWord]) -> f64 {
    words.iter().map(|word| word.value.abs()).filter(|size| size.is_finite()).sum()
}

/// The share of one word in `total`.
pub(super) fn share(word: &ExplainedWord, total: f64) -> f64 {
    word.value.abs() / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_by_the_size_of_their_weight() {
        let word = |value| ExplainedWord { value, ..ExplainedWord::default() };
        let words = vec![word(0.25), word(-1.5), word(f64::NAN), word(0.25)];
        let sentence = ExplainedSentence { words, ..ExplainedSentence::default() };
        let order = WordWeights::new(&sentence).order;
        assert_eq!(&order[order.len() - 3..], [1, 0, 3], "equal ones stay as they were");
        assert_eq!(total(&sentence.words), 2.0);
        assert_eq!(share(&sentence.words[1], 2.0), 0.75);
    }
}
