//! Key sentences: TextRank on sentences, which vouch for each other by the words they share.

use super::{Candidates, TextRankParams};
use inkstone_text::rank;

/// Scores of a document's sentences. `bounds` says where each ends, as the number of the document's places before its end.
pub fn rank_sentences(words: &Candidates<'_>, bounds: &[usize], params: &TextRankParams) -> Vec<f64> {
    let mut before = 0;
    let sentences = bounds.iter().map(|&bound| {
        let places = &words.places()[before..bound];
        before = bound;
        places.iter().flatten().copied().collect()
    });
    rank::rank_sentences(sentences.collect(), words.words().len(), params.damping, params.until())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_candidates_count_in_no_sentence() {
        let text = "增长 利润 的 订单|利润 回购|订单 分红";
        let mut bounds = Vec::new();
        let mut document = Vec::new();
        for sentence in text.split('|') {
            document.extend(sentence.split(' ').map(|word| (word != "的").then(|| (word.into(), "n"))));
            bounds.push(document.len());
        }
        let params = TextRankParams::default();
        let ranks = rank_sentences(&Candidates::new(document), &bounds, &params);
        let sentences = vec![vec![0, 1, 2], vec![1, 3], vec![2, 4]];
        assert_eq!(ranks, rank::rank_sentences(sentences, 5, params.damping, params.until()));
    }
}
