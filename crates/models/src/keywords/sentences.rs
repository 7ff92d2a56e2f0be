//! Key sentences: TextRank on sentences, which vouch for each other by the words they share.
//!
//! The edge between two sentences weighs `common words / (ln |a| + ln |b|)` (Mihalcea and Tarau 2004, section 4.1) with the lengths in
//! candidates; no edge where that divides by 0, between sentences of one word.

use super::graph::Graph;
use super::{Candidates, TextRankParams};

/// Scores of a document's sentences. `bounds` says where each ends, as the number of the document's places before its end.
pub fn rank_sentences(words: &Candidates<'_>, bounds: &[usize], params: &TextRankParams) -> Vec<f64> {
    let mut rest = words.places();
    let mut before = 0;
    // The distinct words of each sentence, ascending, and the logarithm of its length.
    let sentences: Vec<(Vec<u32>, f64)> = bounds
        .iter()
        .map(|&bound| {
            let (sentence, after) = rest.split_at(bound - before);
            (rest, before) = (after, bound);
            let mut found: Vec<u32> = sentence.iter().flatten().copied().collect();
            let length = found.len() as f64;
            found.sort_unstable();
            found.dedup();
            (found, length.ln())
        })
        .collect();
    // The sentences with each word, from the last to the first, so that those behind a sentence come first.
    let mut with_word: Vec<Vec<u32>> = vec![Vec::new(); words.words().len()];
    let mut common = vec![0u32; sentences.len()];
    let mut touched = Vec::new();
    let mut edges = Vec::new();
    for (i, (found, length)) in sentences.iter().enumerate().rev() {
        for &word in found {
            for &other in &with_word[word as usize] {
                if common[other as usize] == 0 {
                    touched.push(other);
                }
                common[other as usize] += 1;
            }
            with_word[word as usize].push(i as u32);
        }
        touched.sort_unstable();
        for other in touched.drain(..) {
            let shared = std::mem::take(&mut common[other as usize]);
            let lengths = length + sentences[other as usize].1;
            if lengths > 0.0 {
                edges.push((i as u32, other, f64::from(shared) / lengths));
            }
        }
    }
    let order: Vec<u32> = (0..sentences.len() as u32).collect();
    Graph::new(sentences.len(), &edges).rank(params.damping, 1.0, &order, params.until()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_as_in_the_paper() {
        // Three sentences of 3, 2 and 2 words; the first shares one word with each of the others, which share none.
        let text = "增长 利润 的 订单|利润 回购|订单 分红";
        let mut bounds = Vec::new();
        let mut document = Vec::new();
        for sentence in text.split('|') {
            document.extend(sentence.split(' ').map(|word| (word != "的").then(|| (word.into(), "n"))));
            bounds.push(document.len());
        }
        let words = Candidates::new(document);
        let params = TextRankParams { tolerance: 1e-13, max_iterations: 1000, ..TextRankParams::default() };
        let ranks = rank_sentences(&words, &bounds, &params);
        // Equal weights 1 / (ln 3 + ln 2): the first is the hub of a star with two leaves.
        let hub = 0.15 * (1.0 + 1.7) / (1.0 - 0.7225);
        assert!((ranks[0] - hub).abs() < 1e-12, "{ranks:?}");
        assert!((ranks[1] - (0.15 + 0.85 * hub / 2.0)).abs() < 1e-12 && ranks[1] == ranks[2]);
    }

    #[test]
    fn sentences_that_share_nothing_or_are_one_word_stand_alone() {
        let words = Candidates::new(["增长", "增长", "回购", "分红"].map(|word| Some((word.into(), "n"))));
        let ranks = rank_sentences(&words, &[1, 2, 2, 4], &TextRankParams::default());
        assert_eq!(ranks, [1.0 - 0.85; 4]);
    }
}
