//! The documents of a corpus as models that learn from returns see them: those that can train or be tested, each with its label.
//!
//! The label of a document is the mean over its securities of the return from `delay` days after its trading day, held
//! `horizon` days, less that day's mean over all securities. It is known at the close of the day the holding ends. A label
//! may reach back before the document (Huatai's T-1 to T+1 is delay -1, close, horizon 2): it teaches what words meant, and
//! trains only folds that begin after it was known.

use anyhow::{Result, bail, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::reading::{CorpusReader, ReadDocument};
use super::set::{Batches, SetParams};
use super::{Feature, Inputs};
use crate::stage_result;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::stats::mean;
use inkstone_market::{Cutoff, Market, Panel, Price};
use inkstone_models::{FoldReport, Sample};
use inkstone_store::{RowKind, Store, Writer};

/// The return that a model learns to foresee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Label {
    /// Trading days from the document's day to the day the return begins.
    pub delay: i32,
    /// Price at which it begins and ends.
    pub price: Price,
    /// Trading days that it lasts, at least 1.
    pub horizon: usize,
}

impl Default for Label {
    fn default() -> Label {
        Label { delay: 1, price: Price::Open, horizon: 5 }
    }
}

/// The documents that can train or be tested, in the order of the parts.
#[derive(Default)]
pub(super) struct SampledCorpus {
    /// Part and row of each sample.
    places: Vec<(usize, usize)>,
    pub(super) samples: Vec<Sample>,
    batches: Batches,
}

impl SampledCorpus {
    /// Reads the corpus part by part: `cut` makes the model's input of a document, `keep` takes the input of each sample.
    pub(super) fn read<T: Send>(
        reader: &CorpusReader<'_>,
        cut: impl Fn(&ReadDocument) -> T + Sync,
        mut keep: impl FnMut(T) -> Result<()>,
        report: &mut Report,
    ) -> Result<SampledCorpus> {
        let CorpusReader { feature, inputs, ctx, .. } = reader;
        let market = inputs.market(feature)?;
        ensure!(feature.label.horizon > 0, "feature {:?}: label.horizon is 0 days; it is at least 1", feature.name);
        let labels = &abnormal_returns(market, &feature.label)?;
        let mut sampled = SampledCorpus::default();
        let mut groups: FxHashMap<Key, u64> = FxHashMap::default();
        let mut part = 0;
        reader.for_each_part(|documents| {
            let read: Vec<T> = ctx.install(|| documents.par_iter().map(&cut).collect());
            for (row, (document, read)) in documents.iter().zip(read).enumerate() {
                report.rows_in += 1;
                let sample = match sample(document, market, inputs.cutoff, labels, &feature.label) {
                    Ok(sample) => sample,
                    Err(reason) => {
                        report.drop_rows(reason, 1);
                        continue;
                    }
                };
                // A repost learns and is tested together with the story that it repeats.
                let story = Key::of(document.first_mention.as_bytes());
                let group = *groups.entry(story).or_insert(sample.group);
                keep(read)?;
                sampled.places.push((part, row));
                sampled.samples.push(Sample { group, ..sample });
            }
            sampled.batches.push(documents);
            part += 1;
            Ok(ctx.advance(documents.len() as u64)?)
        })?;
        Ok(sampled)
    }

    /// The number of the sample that stands in this part and row.
    pub(super) fn number_of(&self, place: (usize, usize)) -> Option<usize> {
        self.places.binary_search(&place).ok()
    }

    /// Writes the rows of all parts, NaN where `row` gives none for a sample, and counts the others in the report. Returns the order of the
    /// batches.
    #[allow(clippy::too_many_arguments, reason = "what identifies a set, its rows, and where they go")]
    pub(super) fn write<'r, 's>(
        &self,
        feature: &Feature,
        params: SetParams,
        fitted_until: Option<NaiveDateTime>,
        row: impl Fn(usize) -> Option<&'r [f32]>,
        store: &'s Store,
        report: &mut Report,
        ctx: &Ctx,
    ) -> Result<(Writer<'s>, Vec<Key>)> {
        let dim = feature.columns().len();
        let writer = store.writer(&params.spec(feature, RowKind::Dense { dim }, fitted_until))?;
        let mut rows = self.batches.empty_rows(dim);
        for (i, &(part, at)) in self.places.iter().enumerate() {
            if let Some(values) = row(i) {
                rows[part][dim * at..][..dim].copy_from_slice(values);
                report.rows_out += 1;
            }
        }
        report.drop_rows("before the first test window", self.samples.len() as u64 - report.rows_out);
        let order = self.batches.write(&writer, dim, |part| std::mem::take(&mut rows[part]), ctx)?;
        Ok((writer, order))
    }
}

/// Fits the folds of a feature as a stage of their own; `fit` gets the trading days.
pub(super) fn fit_folds<T>(
    feature: &Feature,
    inputs: &Inputs<'_>,
    ctx: &Ctx,
    fit: impl FnOnce(&[NaiveDate]) -> Result<(T, Report)>,
) -> Result<T> {
    let dates = inputs.market(feature)?.dates();
    let folds = feature.walk_forward.folds(dates.len())?.len() as u64;
    stage_result(ctx, &format!("fit {}", feature.name), "folds", Some(folds), || fit(dates))
}

/// Fails if no fold had enough samples, as there would be no value on any day.
pub(super) fn some_fold_fitted(feature: &Feature, folds: &[FoldReport]) -> Result<()> {
    if folds.iter().any(|fold| fold.fitted_until.is_some()) {
        return Ok(());
    }
    let most = folds.iter().map(|fold| fold.train_rows).max().unwrap_or(0);
    let unlabelled: usize = folds.iter().map(|fold| fold.unlabelled).sum();
    bail!(
        "feature {:?} learns nothing: of {} training windows none has walk_forward.min_train_rows = {} documents with a return, the \
         fullest has {most} ({unlabelled} documents without a return over all windows); lengthen train_days, lower \
         min_train_rows, or see that prices reach around the documents (label)",
        feature.name,
        folds.len(),
        feature.walk_forward.min_train_rows
    )
}

/// The sample of a document, or the reason for which it cannot be one.
fn sample(
    document: &ReadDocument,
    market: &Market,
    cutoff: Cutoff,
    labels: &Panel,
    definition: &Label,
) -> Result<Sample, &'static str> {
    if document.text.is_none() {
        return Err("of a kind that is not read");
    }
    let codes: Vec<usize> = document.codes.iter().filter_map(|c| market.index_of(c.as_str())).collect();
    let Some(first) = codes.first() else { return Err("about no security of the price table") };
    let date = market.calendar().trade_date(document.published_at, cutoff).map_err(|off| off.reason())?;
    let label = mean(codes.iter().map(|&i| labels.at(date, i)).filter(|r| r.is_finite()));
    let end = date as i64 + i64::from(definition.delay) + definition.horizon as i64;
    let label_known = date.max(end.max(0) as usize);
    // Documents about one security on one day speak of one event.
    let group = (*first as u64) << 32 | date as u64;
    Ok(Sample { date, group, label, label_known, known_at: document.published_at })
}

/// Returns of the label's horizon by trading day, less their mean over the securities of the day; NaN where either end
/// did not trade.
fn abnormal_returns(market: &Market, label: &Label) -> Result<Panel> {
    let prices = market.price(label.price)?;
    let mut returns = Panel::empty(market.dates().clone(), market.codes().clone());
    let days = market.dates().len() as i64;
    for t in 0..days {
        let bought = t + i64::from(label.delay);
        let sold = bought + label.horizon as i64;
        if bought < 0 || sold >= days {
            continue;
        }
        let (bought, sold) = (bought as usize, sold as usize);
        let mut known = Vec::new();
        for i in 0..market.codes().len() {
            let held = prices.at(sold, i) / prices.at(bought, i) - 1.0;
            if held.is_finite() && market.traded(bought, i) && market.traded(sold, i) {
                returns.set(t as usize, i, held);
                known.push(held);
            }
        }
        let mean = mean(known.into_iter());
        returns.row_mut(t as usize).iter_mut().for_each(|r| *r -= mean);
    }
    Ok(returns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_base::code::Code;
    use inkstone_market::CLOSE;

    const DAYS: [u32; 8] = [2, 3, 4, 5, 8, 9, 10, 11];

    /// Four names over eight days of January 2024; prices move from day `torn` on as the last number says.
    fn market(torn: usize, by: u32) -> Market {
        let mut prices = "date,code,open,close,vwap\n".to_owned();
        for (t, day) in DAYS.iter().enumerate() {
            for i in 1..=4u32 {
                let wave =
                    |k: u32| f64::from((7 * t as u32 + 5 * i * k + if t >= torn { by * i * i } else { 0 }) % 11 + 20);
                prices += &format!("2024-01-{day:02},00000{i}.SZ,{},{},{}\n", wave(1), wave(2), wave(3));
            }
        }
        Market::of_text(&prices, &[]).unwrap()
    }

    fn reading(published_at: NaiveDateTime) -> ReadDocument {
        ReadDocument {
            key: Key::default(),
            text: Some("订单增加".into()),
            title: 0,
            windows: Vec::new(),
            sentences: Vec::new(),
            draw: 0,
            published_at,
            first_mention: "甲".into(),
            doc_id: "甲".into(),
            codes: vec![Code::canonical("000002.SZ"), Code::canonical("000003.SZ")],
        }
    }

    /// Samples of texts in the morning, at the close and at night of each day.
    fn samples(market: &Market, cutoff: Cutoff, label: &Label) -> Vec<Sample> {
        let labels = abnormal_returns(market, label).unwrap();
        let times = market.dates().iter().flat_map(|day| {
            [(9, 0), (9, 15), (14, 59), (15, 0), (23, 59)].map(|(h, m)| day.and_hms_opt(h, m, 0).unwrap())
        });
        times.filter_map(|time| sample(&reading(time), market, cutoff, &labels, label).ok()).collect()
    }

    #[test]
    fn windows_without_a_label_say_so() {
        let feature = Feature { name: "tone".into(), ..Feature::default() };
        let fold = FoldReport { train_rows: 12, unlabelled: 30, ..FoldReport::default() };
        let error = some_fold_fitted(&feature, &[fold.clone(), fold.clone()]).unwrap_err().to_string();
        for words in
            ["\"tone\" learns nothing", "min_train_rows = 200", "fullest has 12", "60 documents without a return"]
        {
            assert!(error.contains(words), "{error}");
        }
        let fitted = FoldReport { fitted_until: Some(NaiveDateTime::default()), ..fold.clone() };
        some_fold_fitted(&feature, &[fold, fitted]).unwrap();
    }

    fn every_alignment(check: impl Fn(Cutoff, &Label)) {
        for cutoff in [Cutoff::Close, Cutoff::NextOpen] {
            for price in [Price::Open, Price::Close, Price::Vwap] {
                for delay in -3..=3 {
                    (1..=3).for_each(|horizon| check(cutoff, &Label { delay, price, horizon }));
                }
            }
        }
    }

    #[test]
    fn a_label_depends_on_nothing_after_the_day_it_is_known() {
        every_alignment(|cutoff, label| {
            let seen = samples(&market(99, 0), cutoff, label);
            let mut labelled = 0;
            for later in 1..DAYS.len() {
                // Other prices from day `later` on: labels known before are the same, and some other label is not.
                let torn = samples(&market(later, 3), cutoff, label);
                for (a, b) in seen.iter().zip(&torn).filter(|(a, _)| a.label_known < later && !a.label.is_nan()) {
                    assert_eq!(a.label, b.label, "{cutoff:?} {label:?}: known on day {}", a.label_known);
                    labelled += 1;
                }
            }
            let torn = samples(&market(0, 3), cutoff, label);
            assert!(seen.iter().zip(&torn).any(|(a, b)| a.label != b.label && !a.label.is_nan()));
            assert!(labelled > 0, "{label:?}");
        });
    }

    #[test]
    fn what_trains_a_fold_is_known_before_any_text_that_it_tests() {
        every_alignment(|cutoff, label| {
            let market = market(99, 0);
            let samples = samples(&market, cutoff, label);
            for start in 1..DAYS.len() {
                let admitted = samples.iter().filter(|s| s.date < start && s.label_known < start && !s.label.is_nan());
                let fitted = admitted.map(|s| s.known_at.max(market.dates()[s.label_known].and_time(CLOSE))).max();
                let first = samples.iter().filter(|s| s.date >= start).map(|s| s.known_at).min();
                let (Some(fitted), Some(first)) = (fitted, first) else { continue };
                assert!(fitted <= first, "{cutoff:?} {label:?}: fitted until {fitted}, tests a text of {first}");
            }
        });
    }
}
