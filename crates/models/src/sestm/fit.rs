//! Estimation: screened words, their two topics, and what they make of a row of counts.

use anyhow::Result;
use rayon::prelude::*;

use super::SestmParams;
use super::score::{SestmScore, solve};
use super::screen::{ReturnCounts, Screened};
use crate::sparse::{Csr, Row};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::stats::average_ranks;

/// The two topics over the screened words, which are named by the columns of the counts that they were estimated from.
#[derive(Clone, Debug, PartialEq)]
pub struct Topics {
    /// The column of each screened word, ascending.
    pub columns: Vec<u32>,
    /// The positive topic, `O+`: each word's share of the screened words in a text of `p = 1`. Sums to 1.
    pub positive: Vec<f64>,
    /// The negative topic, `O-`: the same for `p = 0`.
    pub negative: Vec<f64>,
    /// Share of each word's documents whose return is above 0, `f_j`.
    pub share: Vec<f64>,
    /// Documents of the training window with each word.
    pub documents: Vec<u32>,
    /// Strength of the penalty.
    pub lambda: f64,
}

/// The data of an estimation.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SestmFit {
    pub documents: usize,
    /// Documents without a screened word: they count in the ranks and in the base rate only.
    pub without_words: usize,
    /// Share of returns above 0, from which the words' shares are measured.
    pub base_rate: f64,
    /// Words above the base rate.
    pub positive_words: usize,
    /// Words below it.
    pub negative_words: usize,
    /// The least distance of a kept word above the base rate: the `alpha_plus` that would keep the same words.
    pub alpha_plus: f64,
    /// The same from below.
    pub alpha_minus: f64,
}

impl Topics {
    /// Screens the words of the training rows and estimates their topics. `labels` are the returns of `rows`; each must be a number.
    pub fn fit(
        counts: &Csr,
        rows: &[usize],
        labels: &[f64],
        params: &SestmParams,
        ctx: &Ctx,
    ) -> Result<(Topics, SestmFit)> {
        params.check()?;
        ensure!(
            rows.len() == labels.len(),
            "{} 篇文档，却有 {} 个收益：须一一对应",
            "{} documents, but {} returns: one each is needed",
            rows.len(),
            labels.len()
        );
        ensure!(!rows.is_empty(), "SESTM 没有带收益的文档可学", "SESTM has no document with a return to learn from");
        if let Some(at) = labels.iter().position(|y| !y.is_finite()) {
            inkstone_base::bail!(
                "第 {} 篇文档的收益为 {}：训练之前请去掉没有收益的文档",
                "the return of document {} is {}: leave out documents without a return before training",
                rows[at],
                labels[at]
            );
        }
        let counted = ReturnCounts::new(counts, rows, labels, ctx)?;
        let kept = counted.screen(params)?;
        let ranks: Vec<f64> = average_ranks(labels).into_iter().map(|rank| rank / labels.len() as f64).collect();
        let (sides, without_words) = regress(counts, rows, &ranks, &kept, ctx)?;

        let base_rate = counted.base_rate();
        let nearest = |side: f64| {
            let distances = kept.iter().map(|w| side * (w.share - base_rate)).filter(|d| *d > 0.0);
            distances.fold(f64::INFINITY, f64::min)
        };
        let report = SestmFit {
            documents: rows.len(),
            without_words,
            base_rate,
            positive_words: kept.iter().filter(|w| w.share > base_rate).count(),
            negative_words: kept.iter().filter(|w| w.share < base_rate).count(),
            alpha_plus: nearest(1.0),
            alpha_minus: nearest(-1.0),
        };
        let [positive, negative] = sides;
        // A word that neither topic has (its regression came out at or below 0 on both sides) would make every text that
        // holds it impossible.
        let alive: Vec<usize> = (0..kept.len()).filter(|&j| positive[j] + negative[j] > 0.0).collect();
        let topics = Topics {
            columns: alive.iter().map(|&j| kept[j].id).collect(),
            positive: alive.iter().map(|&j| positive[j]).collect(),
            negative: alive.iter().map(|&j| negative[j]).collect(),
            share: alive.iter().map(|&j| kept[j].share).collect(),
            documents: alive.iter().map(|&j| kept[j].documents).collect(),
            lambda: params.lambda,
        };
        Ok((topics, report))
    }

    /// The tone of a row of counts over the same columns.
    pub fn score(&self, counts: Row<'_>) -> SestmScore {
        let found = self.found(counts);
        let words: f64 = found.iter().map(|(_, count)| count).sum();
        if words <= 0.0 {
            return SestmScore { p: 0.5, words: 0.0 };
        }
        SestmScore { p: solve(&self.terms(&found, words), self.lambda), words }
    }

    /// The screened words of a row, by their place among them, with their counts.
    pub(super) fn found(&self, counts: Row<'_>) -> Vec<(usize, f64)> {
        let place = |column: u32| self.columns.binary_search(&column).ok();
        counts.iter().filter_map(|(column, count)| Some((place(column)?, f64::from(count)))).collect()
    }

    /// Weight and the two topics' shares of each found word.
    pub(super) fn terms(&self, found: &[(usize, f64)], words: f64) -> Vec<(f64, f64, f64)> {
        found.iter().map(|&(j, count)| (count / words, self.positive[j], self.negative[j])).collect()
    }

    /// The tone of many rows, in order. Call inside `Ctx::install`.
    pub(super) fn scores(&self, counts: &Csr, rows: &[usize]) -> Vec<SestmScore> {
        rows.par_iter().map(|&i| self.score(counts.row(i))).collect()
    }
}

/// Regresses the words' shares in each document on its rank: `O+` and `O-`, and the number of documents without any of the words.
fn regress(
    counts: &Csr,
    rows: &[usize],
    ranks: &[f64],
    kept: &[Screened],
    ctx: &Ctx,
) -> Result<([Vec<f64>; 2], usize)> {
    let mut place = vec![u32::MAX; counts.cols()];
    for (j, word) in kept.iter().enumerate() {
        place[word.id as usize] = j as u32;
    }
    // Rows of counts over the kept words, of the documents that have any; their lengths and ranks.
    let mut held = Csr::new(kept.len());
    let (mut lengths, mut p) = (Vec::new(), Vec::new());
    for (&i, &rank) in rows.iter().zip(ranks) {
        let row: Vec<(u32, f32)> =
            counts.row(i).iter().map(|(id, n)| (place[id as usize], n)).filter(|(j, _)| *j != u32::MAX).collect();
        let length: f64 = row.iter().map(|(_, n)| f64::from(*n)).sum();
        if length > 0.0 {
            held.push_row(row);
            lengths.push(length);
            p.push(rank);
        }
    }
    let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
    for &p in &p {
        let q = 1.0 - p;
        aa += p * p;
        ab += p * q;
        bb += q * q;
    }
    let determinant = aa * bb - ab * ab;
    ensure!(
        determinant > 1e-12 * aa.max(bb).powi(2),
        "含筛选词的 {} 篇文档收益的秩都相同：无法区分两个主题；请用更长的窗口训练",
        "the {} documents with screened words all have returns of one rank: two topics cannot be told apart; train on a longer window",
        p.len()
    );
    ctx.check()?;
    let by_word = held.transpose();
    // Each word's sum runs over the documents in order, on one thread.
    let sums = |j: usize| {
        by_word.row(j).iter().fold((0.0, 0.0), |(a, b), (i, count)| {
            let share = f64::from(count) / lengths[i as usize];
            (a + share * p[i as usize], b + share * (1.0 - p[i as usize]))
        })
    };
    let coefficients: Vec<(f64, f64)> = ctx.install(|| {
        let solved = (0..kept.len()).into_par_iter().map(|j| {
            let (a, b) = sums(j);
            ((bb * a - ab * b) / determinant, (aa * b - ab * a) / determinant)
        });
        solved.collect()
    });
    let column = |side: fn(&(f64, f64)) -> f64| {
        let clipped: Vec<f64> = coefficients.iter().map(|c| side(c).max(0.0)).collect();
        // The shares of a document sum to 1 and so do the coefficients of a side before they are clipped: the sum is not 0.
        let sum: f64 = clipped.iter().sum();
        clipped.into_iter().map(|c| c / sum).collect::<Vec<f64>>()
    };
    Ok(([column(|c| c.0), column(|c| c.1)], rows.len() - p.len()))
}
