//! The target: what a model that is walked forward learns of a document.
//!
//! | `of` | value | known |
//! |---|---|---|
//! | `return` | the return from `delay` trading days after the document's day, held `horizon` days | at the close of the last day |
//! | `volatility` | the standard deviation (n - 1) of the daily log returns over the same days | at the close of the last day |
//! | `volume` | ln of the mean volume of `horizon` days, the first of them `delay` days after the document's day, over the mean of 20 days | at the close of the last of the days |
//! | `label` | the place of the document's label among `classes.labels` | `latency_days` after the document |
//! | `number` | the document's label, read as a number | `latency_days` after the document |
//! | `rating` | the document's rating: 2 buy, 1 add, 0 hold, -1 reduce, -2 sell | `latency_days` after the document |
//!
//! A return, volatility or volume is that of the document's securities, on average, less what `excess` says; with `ranked_by_day` its rank
//! among all securities of the day, whose values are known at the same close. The 20 days of a volume are the trading days before the
//! document's day, or before the window where that begins earlier, so that the document moves none of them.
//! Classes are named in the configuration: if they were looked for in the corpus, a later document could change what an earlier score means.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use anyhow::Result;
use chrono::{Days, NaiveDateTime};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::reading::ReadDocument;
use super::{Feature, Model, rating};
use inkstone_base::code::Code;
use inkstone_base::data::Document;
use inkstone_base::language::Message;
use inkstone_base::stats::{average_ranks, mean, std};
use inkstone_base::{bail, ensure, message};
use inkstone_market::{Cutoff, Market, Panel, Price};
use inkstone_models::{CalibrationForm, GoalKind, LabelForm};

/// Trading days that the volume is compared with.
const VOLUME_DAYS: usize = 20;

/// `[feature.target]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Target {
    /// `return` (default), `volatility`, `volume`, `label`, `number` or `rating`.
    pub of: TargetOf,
    /// Trading days from the document's day to the day on which return, volatility or volume begins.
    pub delay: i32,
    /// Price of returns and of the daily returns of a volatility.
    pub price: Price,
    /// Trading days that return, volatility or volume lasts, at least 1; 2 for a volatility.
    pub horizon: usize,
    /// Value that is subtracted from a return, volatility or volume.
    pub excess: Excess,
    /// True if a return, volatility or volume, less the excess, is replaced by its rank among the securities of the day: with n of them
    /// (rank - 0.5) / n - 0.5, ties at their average rank.
    pub ranked_by_day: bool,
    /// The form in which `ridge`, `induced`, `boosted` and `mlp` learn values. Absent: winsorised; `boosted` and `mlp` learn classes.
    pub form: Option<LabelForm>,
    /// For `label`, `number` and `rating`: natural days after the document's publication until its label was known.
    pub latency_days: u32,
}

impl Default for Target {
    fn default() -> Target {
        Target {
            of: TargetOf::Return,
            delay: 1,
            price: Price::Open,
            horizon: 5,
            excess: Excess::Market,
            ranked_by_day: false,
            form: None,
            latency_days: 0,
        }
    }
}

/// Where the target comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetOf {
    #[default]
    Return,
    Volatility,
    Volume,
    /// The document's label, as a class.
    Label,
    /// The document's label, as a number.
    Number,
    /// The document's rating, as a number of its scale.
    Rating,
}

impl TargetOf {
    /// The name in settings, and what a document has or lacks.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TargetOf::Return => "return",
            TargetOf::Volatility => "volatility",
            TargetOf::Volume => "volume",
            TargetOf::Label => "label",
            TargetOf::Number => "number",
            TargetOf::Rating => "rating",
        }
    }

    /// True if documents carry the target themselves; else prices do.
    pub(crate) fn is_of_documents(self) -> bool {
        matches!(self, TargetOf::Label | TargetOf::Number | TargetOf::Rating)
    }
}

/// Value that is subtracted from the target of a security.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Excess {
    None,
    /// The mean over all securities of the day.
    #[default]
    Market,
    /// The mean over the securities of the same industry on the document's day.
    Industry,
    /// The value of this code of the price table, such as an index.
    Code(Code),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Excess::None => "none",
            Excess::Market => "market",
            Excess::Industry => "industry",
            Excess::Code(code) => code.as_str(),
        })
    }
}

impl FromStr for Excess {
    type Err = Message;

    fn from_str(text: &str) -> Result<Excess, Message> {
        match text {
            "none" => Ok(Excess::None),
            "market" => Ok(Excess::Market),
            "industry" => Ok(Excess::Industry),
            code => Code::parse(code).map(Excess::Code).ok_or_else(|| {
                message!("{text:?} 不是 none、market 或 industry，也不是证券或指数代码，如 \"000300.SH\"", "{text:?} is none of none, market and industry, and no code of a security or index, as \"000300.SH\"")
            }),
        }
    }
}

impl TryFrom<String> for Excess {
    type Error = Message;

    fn try_from(text: String) -> Result<Excess, Message> {
        text.parse()
    }
}

impl From<Excess> for String {
    fn from(excess: Excess) -> String {
        excess.to_string()
    }
}

impl Target {
    /// Fails where the feature's model cannot learn the target, or a setting is of another target.
    pub(crate) fn check(&self, feature: &Feature) -> Result<()> {
        let (of, model, classes) = (self.of.name(), feature.model, &feature.classes);
        let named = json!(model);
        ensure!(
            self.of == TargetOf::Return || !matches!(model, Model::Sestm | Model::Induced),
            "target.of = {of:?}：model = {named} 只从收益学习；请用 logistic、bayes、svm、boosted、mlp、textcnn、textrnn 或 ridge",
            "target.of = {of:?}: model = {named} learns from returns alone; take logistic, bayes, svm, boosted, mlp, textcnn, textrnn or ridge"
        );
        ensure!(
            self.of != TargetOf::Label || model != Model::Ridge,
            "target.of = \"label\"：model = {named} 学习数值，而标签是类别；请用 logistic、bayes、svm、boosted、mlp、textcnn 或 textrnn；若标签是数字，用 of = \"number\"",
            "target.of = \"label\": model = {named} learns numbers, and labels are classes; take logistic, bayes, svm, boosted, mlp, textcnn or textrnn, or of = \"number\" if the labels are numbers"
        );
        ensure!(
            self.of != TargetOf::Label || classes.labels.len() > 1,
            "target.of = \"label\" 须写出要区分的标签，从低到高：classes = {{ labels = [\"利空\", \"中性\", \"利好\"] }}",
            "target.of = \"label\" needs the labels to be told apart, the lowest first: classes = {{ labels = [\"利空\", \"中性\", \"利好\"] }}"
        );
        ensure!(
            self.of == TargetOf::Label || classes.labels.is_empty(),
            "classes.labels 用于 target.of = \"label\"，而 of 为 {of:?}；请去掉",
            "classes.labels is for target.of = \"label\", and of is {of:?}; leave it out"
        );
        ensure!(
            !classes.with_probabilities().iter().any(|label| label == "score"),
            "classes.labels 中的 \"score\" 与第一列同名；请给该标签改名",
            "classes.labels has \"score\", which is the name of the first column; give that label another name"
        );
        ensure!(
            model != Model::Svm
                || classes.with_probabilities().is_empty()
                || classes.calibrate != CalibrationForm::None,
            "model = {named} 未经校准没有 {} 个标签的概率；请设置 classes.calibrate = \"sigmoid\" 或 \"isotonic\"",
            "model = {named} has no probabilities of {} labels before calibration; set classes.calibrate = \"sigmoid\" or \"isotonic\"",
            classes.labels.len()
        );
        let learns_values = model.method().map_or(model == Model::Induced, |method| method.learns(GoalKind::Values))
            && self.of != TargetOf::Label;
        ensure!(
            self.form.is_none() || learns_values,
            "target.form 用于学习数值的 ridge、induced、boosted 和 mlp；model = {named} 在这里学习类别；请去掉",
            "target.form is for ridge, induced, boosted and mlp where they learn values; model = {named} learns classes here; leave it out"
        );
        if self.of.is_of_documents() {
            let default = Target::default();
            for (key, given) in [
                ("delay", self.delay != default.delay),
                ("price", self.price != default.price),
                ("horizon", self.horizon != default.horizon),
                ("excess", self.excess != default.excess),
                ("ranked_by_day", self.ranked_by_day),
            ] {
                ensure!(
                    !given,
                    "target.{key} 用于 return、volatility 和 volume，而 of 为 {of:?}；请去掉",
                    "target.{key} is for return, volatility and volume, and of is {of:?}; leave it out"
                );
            }
            return Ok(());
        }
        ensure!(
            self.latency_days == 0,
            "target.latency_days 用于 label、number 和 rating；{of} 在其期末已知",
            "target.latency_days is for label, number and rating; a {of} is known at the end of its days"
        );
        let least = if self.of == TargetOf::Volatility { 2 } else { 1 };
        ensure!(
            self.horizon >= least,
            "target.horizon = {}：{of} 至少持续 {least} 个交易日",
            "target.horizon = {}: a {of} lasts {least} or more trading days",
            self.horizon
        );
        ensure!(
            self.of != TargetOf::Volume || self.price == Price::default(),
            "target.price 用于 return 和 volatility，而 of 为 \"volume\"；请去掉",
            "target.price is for return and volatility, and of is \"volume\"; leave it out"
        );
        Ok(())
    }

    /// Trading days by which the target begins before the document's day.
    pub(crate) fn lead(&self) -> usize {
        if self.of.is_of_documents() { 0 } else { self.delay.min(0).unsigned_abs() as usize }
    }

    /// The target in words, for reports.
    pub(crate) fn describe(&self) -> String {
        if self.of.is_of_documents() {
            let days = if self.latency_days == 1 { "day" } else { "days" };
            return format!("{}, known {} {days} after the document", self.of.name(), self.latency_days);
        }
        let from = match self.of {
            TargetOf::Volume => String::new(),
            _ => format!("the {} of ", self.price.name()),
        };
        let days = if self.horizon == 1 { "day" } else { "days" };
        let less = match &self.excess {
            Excess::None => String::new(),
            Excess::Market => ", less the mean of the market".to_owned(),
            Excess::Industry => ", less the mean of the industry".to_owned(),
            Excess::Code(code) => format!(", less that of {code}"),
        };
        let ranked = if self.ranked_by_day { ", ranked within the day" } else { "" };
        let (of, horizon, delay) = (self.of.name(), self.horizon, self.delay);
        format!("{of} over {horizon} trading {days} from {from}day {delay:+}{less}{ranked}")
    }

    /// The text of a document that says its target; none if prices say it.
    pub(crate) fn text_of<'d>(&self, document: &'d Document) -> Option<&'d str> {
        match self.of {
            TargetOf::Label | TargetOf::Number => document.label.as_deref(),
            TargetOf::Rating => document.rating.as_deref(),
            _ => None,
        }
    }

    /// The trading day at whose close the target of a document of day `date` is known, as an index into the calendar: the day after the
    /// last one where that is later.
    pub(crate) fn known_on(&self, date: usize, published_at: NaiveDateTime, market: &Market) -> usize {
        if self.of.is_of_documents() {
            let known = published_at.checked_add_days(Days::new(u64::from(self.latency_days)));
            let day = known.and_then(|time| market.calendar().trade_date(time, Cutoff::Close).ok());
            // What was published long before the first day of the calendar has no day of its own either.
            return day.unwrap_or(market.dates().len()).max(date);
        }
        let last = date as i64 + i64::from(self.delay) + self.horizon as i64 - i64::from(self.of == TargetOf::Volume);
        date.max(last.max(0) as usize)
    }
}

/// The targets of the documents of a corpus.
pub(crate) enum TargetValues<'a> {
    /// By trading day and security.
    Market(Panel),
    /// Labels of the documents, with the names of the classes where labels are classes.
    Labels(&'a [String]),
    Numbers,
    Ratings,
}

impl<'a> TargetValues<'a> {
    pub(crate) fn new(feature: &'a Feature, market: &Market) -> Result<TargetValues<'a>> {
        Ok(match feature.target.of {
            TargetOf::Label => TargetValues::Labels(&feature.classes.labels),
            TargetOf::Number => TargetValues::Numbers,
            TargetOf::Rating => TargetValues::Ratings,
            _ => TargetValues::Market(market_values(&feature.target, market)?),
        })
    }

    /// The target of a document of day `date` about these securities; NaN if it has none.
    pub(crate) fn value(&self, document: &ReadDocument, date: usize, securities: &[usize]) -> f64 {
        let text = document.target.as_deref().map(str::trim);
        match self {
            TargetValues::Market(panel) => {
                mean(securities.iter().map(|&i| panel.at(date, i)).filter(|value| value.is_finite()))
            }
            TargetValues::Labels(names) => {
                text.and_then(|text| names.iter().position(|name| name == text)).map_or(f64::NAN, |class| class as f64)
            }
            TargetValues::Numbers => {
                text.and_then(|text| text.parse().ok()).filter(|number: &f64| number.is_finite()).unwrap_or(f64::NAN)
            }
            TargetValues::Ratings => text.map_or(f64::NAN, rating::number),
        }
    }
}

/// Return, volatility or volume by trading day and security, less the excess; NaN where a name did not trade.
fn market_values(target: &Target, market: &Market) -> Result<Panel> {
    let measure = TargetMeasure::new(target, market)?;
    let less = Less::new(&target.excess, market)?;
    let mut values = Panel::empty(market.dates().clone(), market.codes().clone());
    let days = market.dates().len();
    for t in 0..days {
        let first = t as i64 + i64::from(target.delay);
        let Ok(first) = usize::try_from(first) else { continue };
        let window = first..first + target.horizon;
        for i in 0..market.codes().len() {
            let value = measure.value(market, t, window.clone(), i);
            if value.is_finite() {
                values.set(t, i, value);
            }
        }
        less.take(market, t, values.row_mut(t));
        if target.ranked_by_day {
            rank(values.row_mut(t));
        }
    }
    Ok(values)
}

/// Puts their ranks in the place of the values of a day, spread evenly over -0.5 to 0.5; a security without a value has no rank.
fn rank(values: &mut [f64]) {
    let there: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
    let ranks = average_ranks(&there.iter().map(|&i| values[i]).collect::<Vec<f64>>());
    let n = there.len() as f64;
    there.iter().zip(ranks).for_each(|(&i, rank)| values[i] = (rank - 0.5) / n - 0.5);
}

/// The measure of a security over a window of trading days.
enum TargetMeasure<'m> {
    Return(&'m Panel),
    Volatility(&'m Panel),
    Volume,
}

impl<'m> TargetMeasure<'m> {
    fn new(target: &Target, market: &'m Market) -> Result<TargetMeasure<'m>> {
        match target.of {
            TargetOf::Volume => {
                ensure!(
                    market.has_volume(),
                    "target.of = \"volume\"，但行情表没有 volume 列；请添加，或换一个目标",
                    "target.of = \"volume\", but the price table has no column volume; add it, or choose another target"
                );
                Ok(TargetMeasure::Volume)
            }
            TargetOf::Volatility => Ok(TargetMeasure::Volatility(price(target, market)?)),
            _ => Ok(TargetMeasure::Return(price(target, market)?)),
        }
    }

    /// The measure of security `i` over `window`, for a document of day `t`. Prices are held from the first day of the window to the day
    /// after its last; volumes are those of its days.
    fn value(&self, market: &Market, t: usize, window: Range<usize>, i: usize) -> f64 {
        let days = market.dates().len();
        match self {
            TargetMeasure::Return(prices) => {
                let (bought, sold) = (window.start, window.end);
                if sold >= days || !market.traded(bought, i) || !market.traded(sold, i) {
                    return f64::NAN;
                }
                prices.at(sold, i) / prices.at(bought, i) - 1.0
            }
            TargetMeasure::Volatility(prices) => {
                if window.end >= days || !(window.start..=window.end).all(|day| market.traded(day, i)) {
                    return f64::NAN;
                }
                let returns: Vec<f64> = window.map(|day| (prices.at(day + 1, i) / prices.at(day, i)).ln()).collect();
                if returns.iter().all(|r| r.is_finite()) { std(&returns) } else { f64::NAN }
            }
            TargetMeasure::Volume => {
                let Some(before) = t.min(window.start).checked_sub(VOLUME_DAYS) else { return f64::NAN };
                if window.end > days || !window.clone().all(|day| market.traded(day, i)) {
                    return f64::NAN;
                }
                let volumes = |days: Range<usize>| -> Vec<f64> {
                    days.map(|day| market.volume(day, i)).filter(|volume| *volume > 0.0).collect()
                };
                let (usual, here) = (volumes(before..before + VOLUME_DAYS), volumes(window.clone()));
                // A name that hardly traded before has no usual volume.
                if 2 * usual.len() < VOLUME_DAYS || here.len() < window.len() {
                    return f64::NAN;
                }
                (mean(here.into_iter()) / mean(usual.into_iter())).ln()
            }
        }
    }
}

fn price<'m>(target: &Target, market: &'m Market) -> Result<&'m Panel> {
    market.price(target.price).map_err(|_| {
        let name = target.price.name();
        inkstone_base::error!(
            "行情表没有 target.price 指定的列 {name:?}；请添加，或换一种价格",
            "the price table has no column {name:?}, which target.price names; add it, or choose another price"
        )
    })
}

/// Values that are subtracted from the targets of a day.
enum Less {
    Nothing,
    MarketMean,
    /// Mean of this number of industries.
    IndustryMean(usize),
    /// The number of the code.
    Code(usize),
}

impl Less {
    fn new(excess: &Excess, market: &Market) -> Result<Less> {
        Ok(match excess {
            Excess::None => Less::Nothing,
            Excess::Market => Less::MarketMean,
            Excess::Industry => {
                ensure!(
                    !market.industries().is_empty(),
                    "target.excess = \"industry\"，但没有证券有行业；请添加 table = \"securities\" 且有 industry 列的 [[source]]，或用 excess = \"market\"",
                    "target.excess = \"industry\", but no security has an industry; add a [[source]] with table = \"securities\" and a column industry, or take excess = \"market\""
                );
                Less::IndustryMean(market.industries().len())
            }
            Excess::Code(code) => match market.index_of(code.as_str()) {
                Some(i) => Less::Code(i),
                None => bail!(
                    "target.excess 为 {:?}，行情表没有它的价格；请添加，或用 excess = \"market\"（全部证券的均值）或 \"industry\"",
                    "target.excess is {:?}, of which the price table has no prices; add them, or take excess = \"market\" (the mean of all securities) or \"industry\"",
                    code.as_str()
                ),
            },
        })
    }

    /// Takes it off the values of the securities on day `t`. A name without an industry, or the only one of its industry with a value,
    /// has no excess.
    fn take(&self, market: &Market, t: usize, values: &mut [f64]) {
        let off = match self {
            Less::Nothing => return,
            Less::MarketMean => mean(values.iter().copied()),
            Less::Code(i) => values[*i],
            Less::IndustryMean(industries) => {
                let mut sums = vec![(0.0, 0usize); *industries];
                for (i, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                    if let Some(industry) = market.industry(t, i) {
                        let sum = &mut sums[industry as usize];
                        *sum = (sum.0 + value, sum.1 + 1);
                    }
                }
                for (i, value) in values.iter_mut().enumerate() {
                    let sum = market.industry(t, i).map(|industry| sums[industry as usize]);
                    *value -= sum.filter(|(_, n)| *n > 1).map_or(f64::NAN, |(sum, n)| sum / n as f64);
                }
                return;
            }
        };
        values.iter_mut().for_each(|value| *value -= off);
    }
}

#[cfg(test)]
mod tests;
