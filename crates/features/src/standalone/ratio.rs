//! Ratios of co-occurrence, which tell the words that go with one word from those that go with another (Pennington, Socher and Manning 2014, table 1).

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use inkstone_base::message;
use inkstone_models::read_named_npz;

/// The co-occurrence of a word with two others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CooccurrenceRatio {
    pub word: String,
    /// Share of the word among all words near the first one, `P(word | first)`.
    pub first: f64,
    /// `P(word | second)`.
    pub second: f64,
    /// `P(word | first) / P(word | second)`; none where the second one never stands near it.
    pub ratio: Option<f64>,
}

/// The ratios of `words` by the counts of `train ppmi --counts`; of the `k` highest and the `k` lowest of all that stand near both, the highest
/// first, if no words are named.
pub fn cooccurrence_ratios(
    counts: &Path,
    pair: [&str; 2],
    words: &[String],
    k: usize,
) -> Result<Vec<CooccurrenceRatio>> {
    let (matrix, names) = read_named_npz(counts)?;
    let place = |word: &str| {
        names
            .iter()
            .position(|name| name == word)
            .with_context(|| message!("{} 中没有词 {word:?}", "{} has no word {word:?}", counts.display()))
    };
    let of_word = |word: &str| -> Result<(Vec<f64>, f64)> {
        let mut row = vec![0.0; matrix.cols()];
        matrix.row(place(word)?).iter().for_each(|(column, count)| row[column as usize] = f64::from(count));
        let sum = row.iter().sum();
        Ok((row, sum))
    };
    let ((first, of_first), (second, of_second)) = (of_word(pair[0])?, of_word(pair[1])?);
    let ratio = |column: usize| {
        let share = |count: f64, sum: f64| if sum > 0.0 { count / sum } else { 0.0 };
        let (a, b) = (share(first[column], of_first), share(second[column], of_second));
        CooccurrenceRatio { word: names[column].clone(), first: a, second: b, ratio: (b > 0.0).then(|| a / b) }
    };
    if !words.is_empty() {
        return words.iter().map(|word| Ok(ratio(place(word)?))).collect();
    }
    let both = (0..names.len().min(matrix.cols())).filter(|&column| first[column] > 0.0 && second[column] > 0.0);
    let mut all: Vec<CooccurrenceRatio> = both.map(ratio).collect();
    all.sort_by(|a, b| b.ratio.unwrap_or_default().total_cmp(&a.ratio.unwrap_or_default()));
    if all.len() > 2 * k {
        all.drain(k..all.len() - k);
    }
    Ok(all)
}
