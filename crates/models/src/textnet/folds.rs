//! Networks judged in folds: the words and weights of each fold come from its training documents alone.

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::walk::{KnownWords, NumberedTexts};
use super::{Examples, TextNet, TextNetParams};
use crate::words::WordLimits;
use crate::{Goal, Split, WordVectors};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};

/// Scores of the tested documents by a network that was trained on the others of its fold: ln(p / (1 - p)) of the second of two classes, or
/// of each of more; NaN for documents that no fold tests. `vectors` are given ones to begin with. Shape: `[documents, 1 or classes]`, as of
/// [`out_of_fold`](crate::out_of_fold).
pub fn net_out_of_fold(
    texts: &NumberedTexts<'_>,
    goal: &Goal,
    splits: &[Split],
    limits: &WordLimits,
    params: &TextNetParams,
    vectors: Option<&WordVectors>,
    ctx: &Ctx,
) -> Result<Vec<f64>> {
    params.check()?;
    let Goal::Classes { class, names } = goal else {
        bail!("分折评估的网络须区分类别", "a network judged in folds tells classes apart")
    };
    ensure!(
        class.len() == texts.places.len(),
        "{} 个类别，却有 {} 篇文本",
        "{} classes, but {} texts",
        class.len(),
        texts.places.len()
    );
    let outputs = if names.len() == 2 { 1 } else { names.len() };
    let mut scores = vec![f64::NAN; class.len() * outputs];
    for (at, split) in splits.iter().enumerate() {
        let fold = || message!("第 {} 折（共 {} 折）", "fold {} of {}", at + 1, splits.len());
        let known = KnownWords::new(texts, &split.train, limits, ctx).with_context(fold)?;
        let document = |&i: &usize| known.document(texts.text(i), params.max_tokens);
        let examples = Examples {
            documents: split.train.iter().map(document).collect(),
            goal: Goal::Classes { class: split.train.iter().map(|&i| class[i]).collect(), names: names.clone() },
        };
        let net = TextNet::train(&examples, known.words.clone(), vectors, params, None, ctx).with_context(fold)?;
        // A text is scored alone: what it is computed beside would show in the last bits.
        let tested = ctx.install(|| {
            let one = |i: &usize| {
                ctx.check()?;
                net.probabilities(&[document(i)])
            };
            split.test.par_iter().map(one).collect::<Result<Vec<Vec<f64>>>>()
        })?;
        for (&i, probabilities) in split.test.iter().zip(tested) {
            let shown = &probabilities[names.len() - outputs..];
            scores[i * outputs..][..outputs].iter_mut().zip(shown).for_each(|(score, p)| *score = log_odds(*p));
        }
    }
    Ok(scores)
}

fn log_odds(p: f64) -> f64 {
    p.max(f64::MIN_POSITIVE).ln() - (1.0 - p).max(f64::MIN_POSITIVE).ln()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::neural::FitParams;

    const WORDS: [&str; 6] = ["没有", "订单", "增加", "减少", "今天", "明天"];

    /// Texts of three words, of which the second says the class.
    fn texts(n: usize) -> (Vec<u32>, Vec<Range<usize>>, Vec<u32>) {
        let numbers = (0..n as u32).flat_map(|i| [i % 2, 2 + (i * 7 / 5) % 3, 5]).collect();
        (numbers, (0..n).map(|i| 3 * i..3 * i + 3).collect(), (0..n as u32).map(|i| (i * 7 / 5) % 3).collect())
    }

    fn scores(numbers: &[u32], places: &[Range<usize>], class: &[u32], classes: usize, threads: usize) -> Vec<f64> {
        let words: Vec<String> = WORDS.iter().map(|word| (*word).to_owned()).collect();
        let texts = NumberedTexts { numbers, places, words: &words };
        let names = (0..classes).map(|class| class.to_string()).collect();
        let goal = Goal::Classes { class: class.iter().map(|class| class % classes as u32).collect(), names };
        let half = class.len() / 2;
        let split = |train: Range<usize>, test: Range<usize>| Split {
            train: train.collect(),
            test: test.collect(),
            purged: 0,
            grouped: 0,
        };
        // The last document is in no fold.
        let splits = [split(half..class.len() - 1, 0..half), split(0..half, half..class.len() - 1)];
        let fit = FitParams { epochs: 30, batch: 10, lr: 0.02, held_out_share: 0.0, ..FitParams::default() };
        let params = TextNetParams { widths: vec![1], dim: 8, maps: 16, dropout: 0.0, fit, ..TextNetParams::default() };
        let limits = WordLimits { min_count: 1, max_words: 0 };
        let ctx = Ctx::new(threads, 1).unwrap();
        net_out_of_fold(&texts, &goal, &splits, &limits, &params, None, &ctx).unwrap()
    }

    #[test]
    fn each_document_is_scored_by_a_network_that_did_not_see_its_fold() {
        let (numbers, places, class) = texts(81);
        let found = scores(&numbers, &places, &class, 3, 2);
        assert_eq!(found.len(), 81 * 3);
        assert!(found[240..].iter().all(|score| score.is_nan()), "no fold tests the last document");
        let called = |row: &[f64]| (0..3u32).max_by(|&a, &b| row[a as usize].total_cmp(&row[b as usize])).unwrap();
        let right = found.chunks(3).zip(&class).take(80).filter(|(row, class)| called(row) == **class).count();
        assert!(right >= 78, "{right} of 80");
        assert_eq!(found[..240], scores(&numbers, &places, &class, 3, 1)[..240]);
        // Another class of one document changes the scores of the other fold alone.
        let mut other = class.clone();
        other[5] = (other[5] + 1) % 3;
        let changed = scores(&numbers, &places, &other, 3, 2);
        assert_eq!(found[..120], changed[..120]);
        assert_ne!(found[120..240], changed[120..240]);
    }

    #[test]
    fn of_two_classes_the_second_has_a_score() {
        let (numbers, places, class) = texts(81);
        let found = scores(&numbers, &places, &class, 2, 2);
        assert_eq!(found.len(), 81);
        let right = found.iter().zip(&class).take(80).filter(|(score, class)| (**score > 0.0) == (*class % 2 == 1));
        assert!(right.count() >= 78, "{found:?}");
    }
}
