//! Induction walked forward: a document's tone by the words of the window before it.

use anyhow::Result;
use chrono::NaiveDate;

use super::{InduceParams, InducedLexicon, induce};
use crate::LabelForm;
use crate::metrics::rank_correlation;
use crate::sparse::{Csr, Row};
use crate::walk_forward::{FoldReport, Sample, WalkForward, Walked, walk_folds};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Words shown at each end of a fold's lexicon.
const SHOWN_WORDS: usize = 20;

/// The tone of a document by an induced lexicon.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InducedTone {
    /// `(P - N) / (P + N)`; 0 without words of the lexicon.
    pub tone: f64,
    /// Sum of the weights of good words, repeats included: `P`.
    pub positive: f64,
    /// The same of bad words, as a number above 0: `N`.
    pub negative: f64,
    /// Words of the lexicon in the document, repeats included.
    pub words: f64,
}

/// The lexicon of one fold, its words named by the columns of the counts.
#[derive(Clone, Debug, PartialEq)]
pub struct InducedFold {
    /// Column and weight of each word, by column.
    weights: Vec<(u32, f64)>,
    /// The words, and what they were found in.
    pub lexicon: InducedLexicon,
}

impl InducedFold {
    /// The tone of a row of counts.
    pub fn tone(&self, counts: Row<'_>) -> InducedTone {
        let mut tone = InducedTone::default();
        for (column, count) in counts.iter() {
            let Ok(at) = self.weights.binary_search_by_key(&column, |(column, _)| *column) else { continue };
            let (count, weight) = (f64::from(count), self.weights[at].1);
            tone.words += count;
            if weight > 0.0 {
                tone.positive += count * weight;
            } else {
                tone.negative -= count * weight;
            }
        }
        let both = tone.positive + tone.negative;
        tone.tone = if both > 0.0 { (tone.positive - tone.negative) / both } else { 0.0 };
        tone
    }
}

/// The tones of a walk, sample by sample, and the lexicons that gave them.
#[derive(Clone, Debug)]
pub struct InduceWalk {
    /// The tone of each sample; `None` where no fold tests it.
    pub tones: Vec<Option<InducedTone>>,
    /// The lexicons; `None` for a fold that had too few samples. One in which no word passed is empty.
    pub models: Vec<Option<InducedFold>>,
    /// The report of each fold. In sample and out of it: rank correlation of tone and label.
    pub folds: Vec<FoldReport>,
}

/// Induces a lexicon from the returns of each training window and reads the test window with it. Row `i` of `counts` holds the
/// token counts of sample `i`; `words` gives the word of each column.
#[expect(clippy::too_many_arguments, reason = "what is walked, how the walk goes, and what each step does")]
pub fn induce_walk<W: AsRef<str> + Sync>(
    samples: &[Sample],
    counts: &Csr,
    words: &[W],
    dates: &[NaiveDate],
    walk: &WalkForward,
    form: LabelForm,
    params: &InduceParams,
    ctx: &Ctx,
) -> Result<(InduceWalk, Report)> {
    ensure!(
        samples.len() == counts.rows() && words.len() >= counts.cols(),
        "{} 个样本与 {} 个词，而计数有 {} 行、{} 个词",
        "{} samples and {} words, but {} rows of counts over {} words",
        samples.len(),
        words.len(),
        counts.rows(),
        counts.cols()
    );
    let mut order: Vec<u32> = (0..words.len() as u32).collect();
    order.sort_unstable_by_key(|&id| words[id as usize].as_ref());
    let column = |word: &str| {
        let at = order.binary_search_by_key(&word, |&id| words[id as usize].as_ref());
        at.map(|at| order[at])
    };
    let mut tones = vec![None; samples.len()];
    let (walked, report) = walk_folds(samples, dates, walk, ctx, |step, report| {
        let labels: Vec<f64> = step.train.iter().map(|&i| samples[i].label).collect();
        let mut lexicon = induce(counts, &step.train, &labels, words, form, params, ctx)?;
        lexicon.fitted_until = Some(step.fitted_until);
        let weight = |word: &super::InducedWord| Some((column(&word.word).ok()?, word.weight));
        let mut weights: Vec<(u32, f64)> = lexicon.words.iter().filter_map(weight).collect();
        weights.sort_unstable_by_key(|(column, _)| *column);
        let fold = InducedFold { weights, lexicon };

        let correlation = |rows: &[usize]| {
            let known = rows.iter().filter(|&&i| !samples[i].label.is_nan());
            let (tones, labels): (Vec<f64>, Vec<f64>) =
                known.map(|&i| (fold.tone(counts.row(i)).tone, samples[i].label)).unzip();
            rank_correlation(&tones, &labels)
        };
        report.in_sample = correlation(&step.train);
        report.out_of_sample = correlation(&step.test);
        report.test_rows = step.test.len();
        report.vocabulary = fold.weights.len();
        let mut by_weight = fold.weights.clone();
        by_weight.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let shown = |&(column, weight): &(u32, f64)| (column, weight as f32);
        report.top = by_weight.iter().take_while(|word| word.1 > 0.0).take(SHOWN_WORDS).map(shown).collect();
        report.bottom = by_weight.iter().rev().take_while(|word| word.1 < 0.0).take(SHOWN_WORDS).map(shown).collect();
        for &i in &step.test {
            let tone = fold.tone(counts.row(i));
            report.unseen += usize::from(tone.words == 0.0);
            tones[i] = Some(tone);
        }
        Ok(Some(fold))
    })?;
    let Walked { models, folds, .. } = walked;
    Ok((InduceWalk { tones, models, folds }, report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sestm::tests::market;
    use inkstone_text::DfLimit;

    type Market = (Vec<Sample>, Csr, Vec<NaiveDate>);

    fn walked((samples, counts, dates): &Market, threads: usize) -> InduceWalk {
        let walk = WalkForward { train_days: 25, test_days: 10, min_train_rows: 50, ..WalkForward::default() };
        let params = InduceParams { min_df: DfLimit::Count(10), ..InduceParams::default() };
        // The names run against the columns, so that an order by name would be told from one by column.
        let words: Vec<String> = (0..60).map(|j| format!("词{:02}", 59 - j)).collect();
        let ctx = Ctx::new(threads, 1).unwrap();
        induce_walk(samples, counts, &words, dates, &walk, LabelForm::Ranked, &params, &ctx).unwrap().0
    }

    #[test]
    fn a_walk_finds_the_words_that_move_returns() {
        let walk = walked(&market(3), 2);
        for (fold, model) in walk.folds.iter().zip(&walk.models) {
            assert!(fold.out_of_sample.unwrap() > 0.5, "{fold:?}");
            let model = model.as_ref().unwrap();
            let right = model
                .weights
                .iter()
                .filter(|(id, weight)| (*id < 10 && *weight > 0.0) || ((10..20).contains(id) && *weight < 0.0));
            assert!(right.count() as f64 > 0.8 * model.weights.len() as f64, "{:?}", model.weights);
            assert_eq!(model.lexicon.fitted_until, fold.fitted_until);
        }
        let fold = InducedFold { weights: vec![(2, 0.5), (7, -1.0)], lexicon: InducedLexicon::default() };
        let tone = fold.tone(Row { indices: &[1, 2, 7], values: &[4.0, 3.0, 1.0] });
        assert_eq!(tone, InducedTone { tone: 0.2, positive: 1.5, negative: 1.0, words: 4.0 });
        assert_eq!(fold.tone(Row { indices: &[1], values: &[4.0] }), InducedTone::default());
    }

    #[test]
    fn nothing_at_or_after_the_test_window_changes_its_tones() {
        let mut market = market(4);
        let before = walked(&market, 2);
        market.0.iter_mut().filter(|s| s.date >= 23).for_each(|s| s.label = -3.0 * s.label + 1.0);
        let after = walked(&market, 2);
        assert_eq!(before.tones[..35 * 12], after.tones[..35 * 12]);
        assert_eq!(before.models[0], after.models[0]);
        assert_ne!(before.tones[35 * 12..], after.tones[35 * 12..]);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let market = market(5);
        let one = walked(&market, 1);
        for threads in [2, 8] {
            let other = walked(&market, threads);
            assert_eq!((&one.tones, &one.models), (&other.tones, &other.models));
        }
    }
}
