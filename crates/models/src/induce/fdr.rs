//! Benjamini and Hochberg's control of false discoveries.

use anyhow::Result;

use super::InducedWord;

use inkstone_base::ensure;

/// Complains about a rate that is none.
pub(super) fn check(fdr: f64) -> Result<()> {
    ensure!(
        0.0 < fdr && fdr <= 1.0,
        "fdr = {fdr} 不是错误发现率；须大于 0 且不超过 1（通常为 0.1；1 表示全部保留）",
        "fdr = {fdr} is no rate; it is above 0 and at most 1 (0.1 is usual; 1 keeps all)"
    );
    Ok(())
}

/// The tested words that hold the rate, at most `most` on each side (0: all), the most certain first.
pub(super) fn keep(mut words: Vec<InducedWord>, fdr: f64, most: usize) -> Vec<InducedWord> {
    let tests = words.len() as f64;
    words.sort_by(|a, b| a.p.total_cmp(&b.p).then_with(|| a.word.cmp(&b.word)));
    let passes = |(i, word): (usize, &InducedWord)| word.p <= (i + 1) as f64 / tests * fdr;
    let last = words.iter().enumerate().rev().find(|&(i, word)| passes((i, word)));
    let limit = last.map_or(f64::NEG_INFINITY, |(_, word)| word.p);
    let mut room = if most == 0 { [usize::MAX; 2] } else { [most; 2] };
    words.retain(|word| {
        let left = &mut room[usize::from(word.weight < 0.0)];
        let kept = word.p <= limit && word.weight != 0.0 && *left > 0;
        *left -= usize::from(kept);
        kept
    });
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(p: &[f64]) -> Vec<InducedWord> {
        let word = |(i, &p): (usize, &f64)| InducedWord {
            word: format!("词{i}").into(),
            weight: if i % 2 == 0 { 1.0 } else { -1.0 },
            p,
            ..InducedWord::default()
        };
        p.iter().enumerate().map(word).collect()
    }

    fn kept(p: &[f64], fdr: f64, most: usize) -> Vec<f64> {
        keep(words(p), fdr, most).into_iter().map(|word| word.p).collect()
    }

    #[test]
    fn the_step_up_rule_keeps_what_its_paper_keeps() {
        // The example of Benjamini and Hochberg (1995), section 3.2: 15 tests at 0.05 reject the four smallest.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        assert_eq!(kept(&p, 0.05, 0), p[..4]);
        // A later p that passes takes the earlier ones with it, though they fail by themselves.
        assert_eq!(kept(&[0.04, 0.045, 0.05], 0.05, 0), [0.04, 0.045, 0.05]);
        assert_eq!(kept(&[0.9, 0.8], 0.05, 0), [0.0; 0]);
        assert_eq!(kept(&[0.001, 0.002, 0.003, 0.004], 0.05, 1), [0.001, 0.002], "one on each side");
    }
}
