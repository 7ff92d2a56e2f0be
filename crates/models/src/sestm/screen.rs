//! Screening: which words say anything about the sign of the return.

use anyhow::Result;

use super::SestmParams;
use crate::sparse::Csr;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure};

/// Rows counted between two looks at whether to stop.
const ROWS_PER_CHECK: usize = 4096;

/// Counts of words in documents with positive returns.
pub(super) struct ReturnCounts {
    /// Documents with each word.
    documents: Vec<u32>,
    /// Documents whose return is above 0.
    positive: Vec<u32>,
    /// Documents in all.
    rows: usize,
    /// Documents in all whose return is above 0.
    positive_rows: usize,
}

/// A word that passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Screened {
    pub(super) id: u32,
    pub(super) documents: u32,
    /// Share of these whose return is above 0: `f_j`.
    pub(super) share: f64,
}

impl ReturnCounts {
    /// Counts the words of some rows; `labels` go with `rows`.
    pub(super) fn new(counts: &Csr, rows: &[usize], labels: &[f64], ctx: &Ctx) -> Result<ReturnCounts> {
        let (mut documents, mut positive) = (vec![0; counts.cols()], vec![0; counts.cols()]);
        for (at, (&i, &label)) in rows.iter().zip(labels).enumerate() {
            if at % ROWS_PER_CHECK == 0 {
                ctx.check()?;
            }
            let up = u32::from(label > 0.0);
            for &id in counts.row(i).indices {
                documents[id as usize] += 1;
                positive[id as usize] += up;
            }
        }
        let positive_rows = labels.iter().filter(|y| **y > 0.0).count();
        Ok(ReturnCounts { documents, positive, rows: rows.len(), positive_rows })
    }

    /// The share of returns above 0.
    pub(super) fn base_rate(&self) -> f64 {
        self.positive_rows as f64 / self.rows as f64
    }

    /// The words that pass, by id.
    pub(super) fn screen(&self, params: &SestmParams) -> Result<Vec<Screened>> {
        let base = self.base_rate();
        ensure!(
            0 < self.positive_rows && self.positive_rows < self.rows,
            "全部 {} 个收益都{}：SESTM 需要正负两种收益；请减去市场均值（异常收益），或用更长的窗口训练",
            "all {} returns are {}: SESTM needs returns of both signs; take the market's mean out of them (abnormal returns), or train on a longer window",
            self.rows,
            if self.positive_rows > 0 { "above 0" } else { "0 or below" }
        );
        let least = params.kappa.documents(self.rows as u64, "kappa")?.max(1.0);
        let seen = self.documents.iter().filter(|n| **n > 0).count();
        let frequent = |id: u32| f64::from(self.documents[id as usize]) >= least;
        let words: Vec<Screened> =
            (0..self.documents.len() as u32).filter(|&id| frequent(id)).map(|id| self.word(id)).collect();
        if words.is_empty() {
            let most = self.documents.iter().max().copied().unwrap_or(0);
            bail!(
                "{seen} 个词中没有一个出现于 {} 篇文档中的至少 {least} 篇（kappa）；最多的出现于 {most} 篇：请降低 kappa",
                "no word of {seen} is in at least {least} of {} documents (kappa); the most frequent is in {most}: lower kappa",
                self.rows
            );
        }
        let count = words.len();
        let (high, low): (Vec<Screened>, Vec<Screened>) =
            words.into_iter().filter(|w| w.share != base).partition(|w| w.share > base);
        let mut kept = match params.words {
            0 => {
                let high = high.into_iter().filter(|w| w.share >= base + params.alpha_plus);
                high.chain(low.into_iter().filter(|w| w.share <= base - params.alpha_minus)).collect()
            }
            n => {
                let mut kept = farthest(high, base, n);
                kept.extend(farthest(low, base, n));
                kept
            }
        };
        kept.sort_unstable_by_key(|w: &Screened| w.id);
        for (side, found) in
            [("above", kept.iter().any(|w| w.share > base)), ("below", kept.iter().any(|w| w.share < base))]
        {
            ensure!(
                found,
                "{count} 个出现于至少 {least} 篇文档（kappa）的词中，没有一个正收益比例{side}基准 {base:.4}{}；请降低 kappa{}",
                "of {count} words in at least {least} documents (kappa) none has a share of positive returns {side} the base rate {base:.4}{}; lower kappa{}",
                if params.words == 0 { " by alpha" } else { "" },
                if params.words == 0 { " or the alphas, or set words" } else { "" }
            );
        }
        Ok(kept)
    }

    fn word(&self, id: u32) -> Screened {
        let documents = self.documents[id as usize];
        Screened { id, documents, share: f64::from(self.positive[id as usize]) / f64::from(documents) }
    }
}

/// The `n` words whose shares lie farthest from the base rate, the more frequent of equal ones first. All that tie for the
/// last place stay: ids cannot decide, since they may have been given in an order that depends on later texts.
fn farthest(mut words: Vec<Screened>, base: f64, n: usize) -> Vec<Screened> {
    let place = |w: &Screened| ((w.share - base).abs(), w.documents);
    words.sort_by(|a, b| place(b).0.total_cmp(&place(a).0).then(b.documents.cmp(&a.documents)));
    if let Some(last) = words.get(n - 1).map(place) {
        let end = words.iter().rposition(|w| place(w) == last).map_or(n, |i| i + 1);
        words.truncate(end);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_text::DfLimit;

    /// Words 0..5 in eight documents, of which the first five rise.
    fn counts() -> ReturnCounts {
        let mut x = Csr::new(5);
        for words in [&[0, 2, 4][..], &[0, 2], &[0, 2], &[0, 1], &[1, 2], &[1, 2], &[1, 3], &[3]] {
            x.push_row(words.iter().map(|&j| (j, 1.0)));
        }
        let labels = [0.1, 0.2, 0.3, 0.1, 0.1, -0.1, -0.2, 0.0];
        ReturnCounts::new(&x, &[0, 1, 2, 3, 4, 5, 6, 7], &labels, &Ctx::new(1, 1).unwrap()).unwrap()
    }

    fn kept(params: SestmParams) -> Vec<(u32, u32, f64)> {
        counts().screen(&params).unwrap().into_iter().map(|w| (w.id, w.documents, w.share)).collect()
    }

    #[test]
    fn words_are_kept_by_their_distance_from_the_base_rate() {
        assert_eq!(counts().base_rate(), 0.625);
        let by = |alpha_plus, alpha_minus, kappa| SestmParams {
            words: 0,
            alpha_plus,
            alpha_minus,
            kappa: DfLimit::Count(kappa),
            ..SestmParams::default()
        };
        // Shares: 4/4, 2/4, 4/5, 0/2, 1/1 in 4, 4, 5, 2 and 1 documents.
        assert_eq!(kept(by(0.2, 0.2, 2)), [(0, 4, 1.0), (3, 2, 0.0)]);
        assert_eq!(kept(by(0.1, 0.125, 2)), [(0, 4, 1.0), (1, 4, 0.5), (2, 5, 0.8), (3, 2, 0.0)]);
        assert_eq!(kept(by(0.2, 0.2, 1)), [(0, 4, 1.0), (3, 2, 0.0), (4, 1, 1.0)]);
    }

    #[test]
    fn a_number_of_words_keeps_the_farthest_and_all_that_tie() {
        let by = |words, kappa| SestmParams { words, kappa: DfLimit::Count(kappa), ..SestmParams::default() };
        assert_eq!(kept(by(1, 1)), [(0, 4, 1.0), (3, 2, 0.0)], "of two words of share 1 the one in more documents");
        assert_eq!(kept(by(2, 2)).len(), 4);
        let word = |id, documents| Screened { id, documents, share: 1.0 };
        let tied = vec![word(7, 3), word(2, 3), word(4, 5), word(9, 3), word(1, 2)];
        let ids: Vec<u32> = farthest(tied, 0.5, 2).iter().map(|w| w.id).collect();
        assert_eq!(ids, [4, 7, 2, 9]);
    }

    #[test]
    fn what_leaves_nothing_is_named_with_its_way_out() {
        let error_of = |params: SestmParams| counts().screen(&params).unwrap_err().to_string();
        let kappa = error_of(SestmParams { kappa: DfLimit::Count(6), ..SestmParams::default() });
        assert!(
            kappa.contains("no word of 5 is in at least 6 of 8 documents (kappa)") && kappa.contains("lower kappa"),
            "{kappa}"
        );
        let alpha =
            error_of(SestmParams { words: 0, alpha_minus: 0.7, kappa: DfLimit::Count(1), ..SestmParams::default() });
        assert!(alpha.contains("below the base rate 0.6250 by alpha") && alpha.contains("set words"), "{alpha}");
        let one =
            ReturnCounts { positive_rows: 8, ..counts() }.screen(&SestmParams::default()).unwrap_err().to_string();
        assert!(one.contains("all 8 returns are above 0") && one.contains("abnormal returns"), "{one}");
    }
}
