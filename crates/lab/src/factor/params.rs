//! Parameters of a factor. Rules with a number are written as in `"mad:3"` or `"exponential:0.95"`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::expression::{Expression, Plan};
use super::gate::Within;
use inkstone_base::bounds;
use inkstone_base::data::Kind;

/// Parameters of a factor (`[[factor]]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    pub name: String,
    /// Value of the factor: a feature, a column of it, or a whole [`Expression`].
    pub expression: Expression,
    /// Kinds of documents that count (default all).
    pub kinds: Vec<Kind>,
    /// If given, a document counts for a security only near an event of it (default absent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Condition of fields of a document, as `document.revised`: documents for which it is above 0 count (default all).
    #[serde(skip_serializing_if = "Expression::is_empty")]
    pub only: Expression,
    /// Aggregate of several documents (default mean).
    pub aggregate: Aggregate,
    /// Days that a document counts for, the first included (default 5).
    pub lookback: usize,
    /// Unit of `lookback` and of the age in `decay` (default trading days).
    pub lookback_unit: LookbackUnit,
    /// Weight by age (default none).
    pub decay: Decay,
    /// True if only the first document of a story counts (default yes).
    pub first_only: bool,
    /// Weight of a document in means, sums, counts and deviations, for instance `document.novelty` (default 1).
    #[serde(skip_serializing_if = "Expression::is_empty")]
    pub weight: Expression,
    /// Value of `document.source_weight` by source (default 1 for each).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub source_weights: BTreeMap<String, f64>,
    /// Treatment of outliers (default `mad:3`).
    pub winsorise: Winsorise,
    /// Value of names that traded and have none (default nothing: no news is no value).
    pub fill: Fill,
    /// Controls that are regressed out (default none).
    pub neutralise: Vec<Control>,
    /// The scale of the values (default `zscore:1`).
    pub standardise: Standardise,
    /// Names that a date needs; with fewer it has no processed values (default 5).
    pub min_names: usize,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            name: String::new(),
            expression: Expression::default(),
            kinds: Vec::new(),
            within: None,
            only: Expression::default(),
            aggregate: Aggregate::Mean,
            lookback: 5,
            lookback_unit: LookbackUnit::Trading,
            decay: Decay::None,
            first_only: true,
            weight: Expression::default(),
            source_weights: BTreeMap::new(),
            winsorise: Winsorise::Mad(3.0),
            fill: Fill::None,
            neutralise: Vec::new(),
            standardise: Standardise::Zscore { ddof: 1 },
            min_names: 5,
        }
    }
}

impl Params {
    /// Every expression in the parameters.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let controls = self.neutralise.iter().filter_map(|control| match control {
            Control::Expression(expression) => Some(expression),
            Control::Industry | Control::Size => None,
        });
        [&self.expression, &self.weight].into_iter().chain(controls)
    }

    /// True if the factor reads the feature.
    pub fn reads(&self, feature: &str) -> bool {
        self.expressions().any(|expression| expression.features().iter().any(|(name, _)| *name == feature))
    }

    /// True if a value depends on the other values of its date.
    pub(super) fn looks_across(&self) -> bool {
        self.winsorise != Winsorise::None
            || self.fill != Fill::None
            || !self.neutralise.is_empty()
            || self.standardise != Standardise::None
    }

    /// Fails on parameters that make no sense together.
    pub fn validate(&self) -> Result<()> {
        let name = &self.name;
        bounds::check("factor", self).with_context(|| format!("factor {name:?}"))?;
        ensure!(
            self.decay == Decay::None || self.aggregate.weighs(),
            "factor {name:?}: decay weighs sums, means, counts and deviations; aggregate = max, min or last takes one document"
        );
        let plan = Plan::new(self).with_context(|| format!("factor {name:?}"))?;
        ensure!(
            !plan.weighs_first_mentions_by_novelty(),
            "factor {name:?}: document.novelty is 1 for every first document of a story, and first_only counts no others; set \
             first_only = false, or leave novelty out of the weight"
        );
        Ok(())
    }
}

/// Aggregate of the documents of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    #[default]
    Mean,
    Sum,
    /// Sum of the weights: the number of documents when nothing decays.
    Count,
    Max,
    Min,
    /// The value known last; the mean of those known at the same second.
    Last,
    /// Weighted standard deviation (ddof 1 of equal weights); none of fewer than two.
    Std,
}

impl Aggregate {
    /// True if all values of the look-back enter, so that weights have an effect.
    pub(super) fn weighs(self) -> bool {
        !matches!(self, Aggregate::Max | Aggregate::Min | Aggregate::Last)
    }
}

/// Unit of look-back and age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LookbackUnit {
    #[default]
    Trading,
    /// Natural days between trading dates.
    Natural,
}

/// Weight of a document by its age in days; the newest weighs 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Decay {
    /// Every document of the look-back weighs 1.
    #[default]
    None,
    /// `rate ^ age`.
    Exponential(f64),
    /// `1 - age / lookback`.
    Linear,
}

/// Treatment of outliers, per date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Winsorise {
    #[default]
    None,
    /// To median ± k × 1.4826 × MAD.
    Mad(f64),
    /// To median ± k × MAD without the factor of the normal distribution (Huatai: 5).
    RawMad(f64),
    /// To the quantiles q and 1 - q (linear interpolation).
    Quantile(f64),
}

/// Value of names that traded on a date and have none, per date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// No value: no news is no value.
    #[default]
    None,
    Zero,
    /// The median of the date.
    Median,
    /// The median of the industry on the date; of the date where none of the industry has a value.
    Industry,
}

/// A control that is regressed out, per date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Control {
    /// Industry dummies; names without an industry form one of their own.
    Industry,
    /// Natural logarithm of the market capitalisation.
    Size,
    /// Any other number of days: another factor, a mean rating, a count of reports. Names without it have no residual.
    Expression(Expression),
}

/// The scale of the values, per date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Standardise {
    #[default]
    None,
    /// (x - mean) / standard deviation with this ddof.
    Zscore {
        /// 0 divides by n, 1 by n - 1.
        ddof: u8,
    },
    /// Average ranks, spread evenly over [-1, 1].
    Rank,
}

impl FromStr for Decay {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Decay> {
        match split(text) {
            ("none", None) => Ok(Decay::None),
            ("linear", None) => Ok(Decay::Linear),
            ("exponential", rate) => {
                Ok(Decay::Exponential(number(text, rate.unwrap_or("0.95"), |r| r > 0.0 && r <= 1.0)?))
            }
            _ => bail!("unknown decay {text:?}; write \"none\", \"linear\" or \"exponential:0.95\" (rate a day)"),
        }
    }
}

impl fmt::Display for Decay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decay::None => f.write_str("none"),
            Decay::Linear => f.write_str("linear"),
            Decay::Exponential(rate) => write!(f, "exponential:{rate}"),
        }
    }
}

impl FromStr for Control {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Control> {
        match text.trim() {
            "industry" => Ok(Control::Industry),
            "size" => Ok(Control::Size),
            "" => bail!("a control is \"industry\", \"size\" or an expression such as \"factor.heat\""),
            other => Ok(Control::Expression(other.parse()?)),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Control::Industry => f.write_str("industry"),
            Control::Size => f.write_str("size"),
            Control::Expression(expression) => expression.fmt(f),
        }
    }
}

impl FromStr for Winsorise {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Winsorise> {
        match split(text) {
            ("none", None) => Ok(Winsorise::None),
            ("mad", k) => Ok(Winsorise::Mad(number(text, k.unwrap_or("3"), |k| k > 0.0)?)),
            ("raw_mad", k) => Ok(Winsorise::RawMad(number(text, k.unwrap_or("5"), |k| k > 0.0)?)),
            ("quantile", q) => Ok(Winsorise::Quantile(number(text, q.unwrap_or("0.01"), |q| q > 0.0 && q < 0.5)?)),
            _ => bail!("unknown winsorise {text:?}; write \"none\", \"mad:3\", \"raw_mad:5\" or \"quantile:0.01\""),
        }
    }
}

impl fmt::Display for Winsorise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Winsorise::None => f.write_str("none"),
            Winsorise::Mad(k) => write!(f, "mad:{k}"),
            Winsorise::RawMad(k) => write!(f, "raw_mad:{k}"),
            Winsorise::Quantile(q) => write!(f, "quantile:{q}"),
        }
    }
}

impl FromStr for Standardise {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Standardise> {
        match split(text) {
            ("none", None) => Ok(Standardise::None),
            ("rank", None) => Ok(Standardise::Rank),
            ("zscore", None | Some("1")) => Ok(Standardise::Zscore { ddof: 1 }),
            ("zscore", Some("0")) => Ok(Standardise::Zscore { ddof: 0 }),
            _ => bail!("unknown standardise {text:?}; write \"none\", \"zscore:1\" (ddof 1), \"zscore:0\" or \"rank\""),
        }
    }
}

impl fmt::Display for Standardise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Standardise::None => f.write_str("none"),
            Standardise::Zscore { ddof } => write!(f, "zscore:{ddof}"),
            Standardise::Rank => f.write_str("rank"),
        }
    }
}

inkstone_base::as_text!(Control, Decay, Winsorise, Standardise);

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((rule, number)) => (rule.trim(), Some(number.trim())),
        None => (text.trim(), None),
    }
}

fn number(text: &str, number: &str, fits: impl Fn(f64) -> bool) -> Result<f64> {
    let value: f64 = number.parse().with_context(|| format!("{number:?} in {text:?} is not a number"))?;
    if !fits(value) {
        bail!("{number} in {text:?} is out of range");
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_text_and_read_back() {
        let params: Params = toml::from_str(
            "aggregate = \"sum\"\ndecay = \"exponential:0.7\"\nwinsorise = \"raw_mad:5\"\nneutralise = [\"industry\", \"size\"]\nstandardise = \"rank\"",
        )
        .unwrap();
        assert_eq!(params.decay, Decay::Exponential(0.7));
        assert_eq!(params.winsorise, Winsorise::RawMad(5.0));
        assert_eq!(params.neutralise, [Control::Industry, Control::Size]);
        let text = toml::to_string(&params).unwrap();
        assert_eq!(toml::from_str::<Params>(&text).unwrap(), params);
    }

    #[test]
    fn a_wrong_rule_is_told_what_could_stand_there() {
        let error = toml::from_str::<Params>("decay = \"halflife:3\"").unwrap_err().to_string();
        assert!(error.contains("exponential:0.95"), "{error}");
        let error = "exponential:1.5".parse::<Decay>().unwrap_err().to_string();
        assert!(error.contains("out of range"), "{error}");
        let params = Params { aggregate: Aggregate::Max, decay: Decay::Linear, ..Params::default() };
        assert!(params.validate().unwrap_err().to_string().contains("one document"));
        let by_novelty = |first_only| Params {
            expression: "tone".parse().unwrap(),
            weight: "document.novelty".parse().unwrap(),
            first_only,
            ..Params::default()
        };
        assert!(by_novelty(true).validate().unwrap_err().to_string().contains("set first_only = false"));
        assert!(by_novelty(false).validate().is_ok());
        let error = toml::from_str::<Params>("neutralise = [\"mean(\"]").unwrap_err().to_string();
        assert!(error.contains("the end at character 6"), "{error}");
    }
}
