//! The documents of a corpus as models that are walked forward see them: those that can train or be tested, each with its target.
//!
//! A target may reach back before the document (Huatai's T-1 to T+1 is delay -1, close, horizon 2): it teaches what words meant, and
//! trains only folds that begin after it was known. A document about no security of the price table has no return, but it may have a
//! label; it then stands on the trading day that the cutoff gives it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::reading::{CorpusReader, ReadDocument};
use super::set::Batches;
use super::target::{TargetOf, TargetValues};
use super::{Feature, Inputs};
use crate::stage_result;
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::{bail, ensure, message};
use inkstone_market::{Cutoff, Market};
use inkstone_models::{FoldReport, Sample};
use inkstone_store::{SetSpec, Store, Writer};

/// The documents that can train or be tested, in the order of the parts.
#[derive(Default)]
pub(crate) struct SampledCorpus {
    /// Part and row of each sample.
    places: Vec<(usize, usize)>,
    pub(crate) samples: Vec<Sample>,
    batches: Batches,
}

impl SampledCorpus {
    /// Reads the corpus part by part: `cut` makes the model's input of a document, `keep` takes the input of each sample.
    pub(crate) fn read<T: Send>(
        reader: &CorpusReader<'_>,
        cut: impl Fn(&ReadDocument) -> T + Sync,
        mut keep: impl FnMut(T) -> Result<()>,
        report: &mut Report,
    ) -> Result<SampledCorpus> {
        let CorpusReader { feature, inputs, ctx, .. } = reader;
        let market = inputs.market(feature)?;
        let named = || format!("feature {:?}", feature.name);
        feature.target.check(feature).with_context(named)?;
        let sampler = Sampler {
            feature,
            market,
            cutoff: inputs.cutoff,
            values: TargetValues::new(feature, market).with_context(named)?,
        };
        let mut given = GivenTargets::default();
        let mut sampled = SampledCorpus::default();
        let mut groups: FxHashMap<Key, u64> = FxHashMap::default();
        let mut part = 0;
        reader.for_each_part(|documents| {
            let read: Vec<T> = ctx.install(|| documents.par_iter().map(&cut).collect());
            for (row, (document, read)) in documents.iter().zip(read).enumerate() {
                report.rows_in += 1;
                given.note(document.target.as_deref());
                let sample = match sampler.sample(document) {
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
        let with_target = sampled.samples.iter().filter(|sample| !sample.label.is_nan()).count();
        ensure!(with_target > 0 || !feature.target.of.is_of_documents(), given.lacking(feature));
        report.fact("target", feature.target.describe());
        report.fact("with_target", with_target);
        Ok(sampled)
    }

    /// Part and row of each sample.
    pub(crate) fn places(&self) -> &[(usize, usize)] {
        &self.places
    }

    /// The key of the batch of each part.
    pub(crate) fn batches(&self) -> Vec<Key> {
        self.batches.keys()
    }

    /// Keeps the samples for which `kept` is true. Returns the number of the others.
    pub(crate) fn retain(&mut self, kept: &[bool]) -> u64 {
        let before = self.samples.len();
        let mut number = 0..;
        self.places.retain(|_| number.next().is_some_and(|i: usize| kept[i]));
        let mut number = 0..;
        self.samples.retain(|_| number.next().is_some_and(|i: usize| kept[i]));
        (before - self.samples.len()) as u64
    }

    /// The number of the sample that stands in this part and row.
    pub(crate) fn number_of(&self, place: (usize, usize)) -> Option<usize> {
        self.places.binary_search(&place).ok()
    }

    /// Writes the rows of all parts, NaN where `row` gives none for a sample, and counts the others in the report. Returns the order of the
    /// batches.
    pub(crate) fn write<'r, 's>(
        &self,
        feature: &Feature,
        spec: &SetSpec,
        row: impl Fn(usize) -> Option<&'r [f32]>,
        store: &'s Store,
        report: &mut Report,
        ctx: &Ctx,
    ) -> Result<(Writer<'s>, Vec<Key>)> {
        let dim = feature.columns().len();
        let writer = store.writer(spec)?;
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

/// `[samples, columns]`: the score of each sample, and the probabilities of its classes where there are any.
pub(crate) fn score_rows(scores: &[f32], probabilities: &[f32]) -> Vec<f32> {
    let classes = probabilities.len() / scores.len().max(1);
    let row =
        |(i, score): (usize, &f32)| std::iter::once(*score).chain(probabilities[i * classes..][..classes].to_vec());
    scores.iter().enumerate().flat_map(row).collect()
}

/// Fits the folds of a feature as a stage of their own; `fit` gets the trading days.
pub(crate) fn fit_folds<T>(
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
pub(crate) fn some_fold_fitted(feature: &Feature, folds: &[FoldReport]) -> Result<()> {
    if folds.iter().any(|fold| fold.fitted_until.is_some()) {
        return Ok(());
    }
    let target = feature.target.of.name();
    let windows_without = |label: &String| folds.iter().filter(|fold| fold.missing.contains(label)).count();
    let ends = [feature.classes.labels.first(), feature.classes.labels.last()].into_iter().flatten();
    if let Some(label) = ends.max_by_key(|label| windows_without(label)).filter(|label| windows_without(label) > 0) {
        bail!(TooLittle(message!(
            "特征 {:?} 学不到任何东西：{} 个训练窗口中有 {} 个没有标签为 {label:?} 的文档，而得分是 classes.labels 的末项与首项之比；请延长 train_days，或写出实际存在的标签（classes.labels）",
            "feature {:?} learns nothing: of {} training windows {} have no document with the label {label:?}, and a score holds the last of classes.labels against the first; lengthen train_days, or name the labels that are there (classes.labels)",
            feature.name,
            folds.len(),
            windows_without(label)
        )));
    }
    let most = folds.iter().map(|fold| fold.train_rows).max().unwrap_or(0);
    let unlabelled: usize = folds.iter().map(|fold| fold.unlabelled).sum();
    bail!(TooLittle(message!(
        "特征 {:?} 学不到任何东西：{} 个训练窗口中没有一个达到 walk_forward.min_train_rows = {} 篇有 {target} 的文档，最多的为 {most} 篇（全部窗口中没有 {target} 的文档 {unlabelled} 篇）；请延长 train_days、降低 min_train_rows，或确认{}（target）",
        "feature {:?} learns nothing: of {} training windows none has walk_forward.min_train_rows = {} documents with a {target}, the fullest has {most} ({unlabelled} documents without a {target} over all windows); lengthen train_days, lower min_train_rows, or see that {} (target)",
        feature.name,
        folds.len(),
        feature.walk_forward.min_train_rows,
        if feature.target.of.is_of_documents() { "documents have one" } else { "prices reach around the documents" }
    )))
}

/// Makes samples of documents.
struct Sampler<'a> {
    feature: &'a Feature,
    market: &'a Market,
    cutoff: Cutoff,
    values: TargetValues<'a>,
}

impl Sampler<'_> {
    /// The sample of a document, or the reason for which it cannot be one.
    fn sample(&self, document: &ReadDocument) -> Result<Sample, &'static str> {
        let target = &self.feature.target;
        if document.text.is_none() {
            return Err(document.reason());
        }
        let codes: Vec<usize> = document.codes.iter().filter_map(|code| self.market.index_of(code.as_str())).collect();
        if codes.is_empty() && !target.of.is_of_documents() {
            return Err("about no security of the price table");
        }
        let calendar = self.market.calendar();
        let date = calendar.trade_date(document.published_at, self.cutoff).map_err(|off| off.reason())?;
        let label = self.values.value(document, date, &codes);
        let label_known = target.known_on(date, document.published_at, self.market);
        let group = match codes.first() {
            // Documents about one security on one day speak of one event.
            Some(first) => (*first as u64) << 32 | date as u64,
            None => WITHOUT_SECURITY | document.story(),
        };
        Ok(Sample { date, group, label, label_known, known_at: document.published_at })
    }
}

/// The bit of a group that no number of a security has.
const WITHOUT_SECURITY: u64 = 1 << 63;

/// The labels or ratings that documents carry, for the error where none can be learned.
#[derive(Default)]
struct GivenTargets {
    documents: u64,
    /// The first different ones, and how many documents have each.
    texts: BTreeMap<String, u64>,
}

impl GivenTargets {
    /// Different texts that are kept.
    const KEPT: usize = 12;

    fn note(&mut self, text: Option<&str>) {
        let Some(text) = text.map(str::trim) else { return };
        self.documents += 1;
        if let Some(count) = self.texts.get_mut(text) {
            *count += 1;
        } else if self.texts.len() < Self::KEPT {
            self.texts.insert(text.to_owned(), 1);
        }
    }

    /// Says why no document has the target, and the way out.
    fn lacking(&self, feature: &Feature) -> Message {
        let kind = feature.target.of;
        let field = if kind == TargetOf::Rating { "rating" } else { "label" };
        let (name, of) = (&feature.name, kind.name());
        if self.documents == 0 {
            return message!(
                "特征 {name:?} 学习 {of}（target.of），但没有文档有 {field}：请在文档的 [[source]] 中指定它的列，[source.columns] {field} = \"...\"，或换一个目标",
                "feature {name:?} learns a {of} (target.of), but no document has a {field}: name its column in the [[source]] of the documents, [source.columns] {field} = \"...\", or choose another target"
            );
        }
        let texts: Vec<String> = self.texts.iter().map(|(text, n)| format!("{text:?} ({n})")).collect();
        let wanted = match kind {
            TargetOf::Label => {
                message!("classes.labels = {:?} 之一", "one of classes.labels = {:?}", feature.classes.labels)
            }
            TargetOf::Number => {
                message!("数字（of = \"label\" 学习类别）", "a number (of = \"label\" learns classes)")
            }
            _ => message!("可识别的评级", "a rating that is known here"),
        };
        message!(
            "特征 {name:?} 学习 {of}（target.of），但 {} 篇有 {field} 的文档中，没有一篇在行情表的日期上是{wanted}；现有：{}",
            "feature {name:?} learns a {of} (target.of), but none of the {} documents with a {field} has {wanted} on a day of the price table; there are: {}",
            self.documents,
            texts.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Days, NaiveDateTime};

    use super::*;
    use crate::extract::{Excess, Target};
    use inkstone_base::code::Code;
    use inkstone_market::{CLOSE, Price, Security};

    const DAYS: u64 = 30;

    fn day(t: u64) -> NaiveDate {
        NaiveDate::from_ymd_opt(2024, 1, 2).unwrap() + Days::new(t)
    }

    /// Four names of two industries; prices and volumes move from day `torn` on as the last number says.
    fn market(torn: u64, by: u64) -> Market {
        let mut prices = "date,code,open,close,vwap,volume\n".to_owned();
        for t in 0..DAYS {
            for i in 1..=4u64 {
                let wave = |k: u64| (7 * t + 5 * i * k + t * t % 5 + if t >= torn { by * i * i } else { 0 }) % 11 + 20;
                prices += &format!("{},00000{i}.SZ,{},{},{},{}\n", day(t), wave(1), wave(2), wave(3), wave(4));
            }
        }
        let security = |i: u64| Security {
            industry: Some(["银行", "电力"][i as usize % 2].into()),
            ..Security::unnamed(Code::canonical(&format!("00000{i}.SZ")))
        };
        Market::of_text(&prices, &(1..=4).map(security).collect::<Vec<_>>()).unwrap()
    }

    fn reading(published_at: NaiveDateTime) -> ReadDocument {
        ReadDocument {
            key: Key::default(),
            text: Some("订单增加".into()),
            shut_out: None,
            title: 0,
            windows: Vec::new(),
            sentences: Vec::new(),
            draw: 0,
            published_at,
            first_mention: "甲".into(),
            doc_id: "甲".into(),
            codes: vec![Code::canonical("000002.SZ"), Code::canonical("000003.SZ")],
            target: Some("1.5".into()),
        }
    }

    /// Samples of texts in the morning, at the close and at night of each day.
    fn samples(market: &Market, cutoff: Cutoff, target: &Target) -> Vec<Sample> {
        let feature = Feature { target: target.clone(), ..Feature::default() };
        let values = TargetValues::new(&feature, market).unwrap();
        let sampler = Sampler { feature: &feature, market, cutoff, values };
        let times = market.dates().iter().flat_map(|day| {
            [(9, 0), (9, 15), (14, 59), (15, 0), (23, 59)].map(|(h, m)| day.and_hms_opt(h, m, 0).unwrap())
        });
        times.filter_map(|time| sampler.sample(&reading(time)).ok()).collect()
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

    /// Every target of prices in every alignment.
    fn every_alignment(check: impl Fn(Cutoff, &Target)) {
        let code = Excess::Code(Code::canonical("000001.SZ"));
        for of in [TargetOf::Return, TargetOf::Volatility, TargetOf::Volume] {
            let prices: &[Price] =
                if of == TargetOf::Volume { &[Price::Open] } else { &[Price::Open, Price::Close, Price::Vwap] };
            let horizons = if of == TargetOf::Volatility { 2..=4 } else { 1..=3 };
            for (&price, delay) in prices.iter().flat_map(|price| (-3..=3).map(move |delay| (price, delay))) {
                for excess in [Excess::None, Excess::Market, Excess::Industry, code.clone()] {
                    for (horizon, ranked_by_day) in horizons.clone().flat_map(|days| [(days, false), (days, true)]) {
                        let excess = excess.clone();
                        let target = Target { of, delay, price, horizon, excess, ranked_by_day, ..Target::default() };
                        [Cutoff::Close, Cutoff::NextOpen].iter().for_each(|cutoff| check(*cutoff, &target));
                    }
                }
            }
        }
    }

    #[test]
    fn a_target_depends_on_nothing_after_the_day_it_is_known() {
        let unchanged = market(99, 0);
        let torn: Vec<Market> = (0..DAYS).map(|later| market(later, 3)).collect();
        every_alignment(|cutoff, target| {
            let seen = samples(&unchanged, cutoff, target);
            let (mut labelled, mut moved) = (0, 0);
            for (later, torn) in torn.iter().enumerate() {
                // Other prices and volumes from day `later` on: targets known before are the same, and some other one is not.
                for (a, b) in seen.iter().zip(&samples(torn, cutoff, target)).filter(|(a, _)| !a.label.is_nan()) {
                    if a.label_known < later {
                        assert_eq!(a.label, b.label, "{cutoff:?} {target:?}: known on day {}", a.label_known);
                        labelled += 1;
                    } else {
                        moved += usize::from(a.label != b.label);
                    }
                }
            }
            assert!(labelled > 0 && moved > 0, "{target:?}: {labelled}, {moved}");
        });
    }

    /// The last moment of what trains a fold is before the first moment of what it tests, for each first day of a test.
    fn check_folds(market: &Market, cutoff: Cutoff, target: &Target, known: impl Fn(&Sample) -> NaiveDateTime) {
        let samples = samples(market, cutoff, target);
        for start in 1..market.dates().len() {
            let admitted = samples.iter().filter(|s| s.date < start && s.label_known < start && !s.label.is_nan());
            let fitted = admitted.map(|s| s.known_at.max(known(s))).max();
            let first = samples.iter().filter(|s| s.date >= start).map(|s| s.known_at).min();
            let (Some(fitted), Some(first)) = (fitted, first) else { continue };
            assert!(fitted <= first, "{cutoff:?} {target:?}: fitted until {fitted}, tests a text of {first}");
        }
    }

    #[test]
    fn what_trains_a_fold_is_known_before_any_text_that_it_tests() {
        let market = market(99, 0);
        every_alignment(|cutoff, target| {
            check_folds(&market, cutoff, target, |s| market.dates()[s.label_known].and_time(CLOSE));
        });
    }

    #[test]
    fn a_label_trains_from_the_day_after_its_latency() {
        let market = market(99, 0);
        for (of, cutoff) in [TargetOf::Number, TargetOf::Rating]
            .iter()
            .flat_map(|of| [Cutoff::Close, Cutoff::NextOpen].map(|cutoff| (*of, cutoff)))
        {
            for latency_days in [0, 1, 7, 40, 36_500] {
                let target = Target { of, latency_days, ..Target::default() };
                let known = |s: &Sample| s.known_at + Days::new(latency_days.into());
                check_folds(&market, cutoff, &target, known);
                for sample in samples(&market, cutoff, &target) {
                    assert_eq!(sample.label, 1.5);
                    match market.dates().get(sample.label_known) {
                        Some(day) => assert!(known(&sample) < day.and_time(CLOSE), "{cutoff:?} {latency_days}"),
                        // Never within the table.
                        None => assert!(known(&sample) >= day(DAYS - 1).and_time(CLOSE)),
                    }
                    let before = sample.label_known.checked_sub(1).filter(|before| *before >= sample.date);
                    let earlier = before.map(|before| market.dates()[before].and_time(CLOSE));
                    assert!(earlier.is_none_or(|earlier| earlier <= known(&sample)), "not later than it must be");
                }
            }
        }
    }

    #[test]
    fn a_document_without_securities_has_a_label_and_the_group_of_its_story() {
        let market = market(99, 0);
        let feature = |of| Feature { target: Target { of, ..Target::default() }, ..Feature::default() };
        let sample = |of, first_mention: &str| {
            let feature = feature(of);
            let values = TargetValues::new(&feature, &market).unwrap();
            let time = day(3).and_hms_opt(10, 0, 0).unwrap();
            let document = ReadDocument { codes: Vec::new(), first_mention: first_mention.into(), ..reading(time) };
            Sampler { feature: &feature, market: &market, cutoff: Cutoff::Close, values }.sample(&document)
        };
        assert_eq!(sample(TargetOf::Return, "甲").unwrap_err(), "about no security of the price table");
        let [one, same, other] = ["甲", "甲", "乙"].map(|story| sample(TargetOf::Number, story).unwrap());
        assert_eq!((one.date, one.label), (3, 1.5));
        assert!(one.group == same.group && one.group != other.group && one.group >= WITHOUT_SECURITY);
    }
}
