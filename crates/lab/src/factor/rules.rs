//! The rules of a factor. Rules with a number are written as in `"mad:3"` or `"exponential:0.95"`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use inkstone_base::{bail, message};

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

/// Treatment of values whose documents lie over days that the archive lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gaps {
    /// They are counted in the report.
    #[default]
    Keep,
    /// There is no value: what was published then is not known.
    Drop,
}

impl Gaps {
    pub(super) fn is_kept(&self) -> bool {
        *self == Gaps::Keep
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
            _ => bail!(
                "未知的 decay {text:?}；请写 \"none\"、\"linear\" 或 \"exponential:0.95\"（每日衰减率）",
                "unknown decay {text:?}; write \"none\", \"linear\" or \"exponential:0.95\" (rate a day)"
            ),
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

impl FromStr for Winsorise {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Winsorise> {
        match split(text) {
            ("none", None) => Ok(Winsorise::None),
            ("mad", k) => Ok(Winsorise::Mad(number(text, k.unwrap_or("3"), |k| k > 0.0)?)),
            ("raw_mad", k) => Ok(Winsorise::RawMad(number(text, k.unwrap_or("5"), |k| k > 0.0)?)),
            ("quantile", q) => Ok(Winsorise::Quantile(number(text, q.unwrap_or("0.01"), |q| q > 0.0 && q < 0.5)?)),
            _ => bail!(
                "未知的 winsorise {text:?}；请写 \"none\"、\"mad:3\"、\"raw_mad:5\" 或 \"quantile:0.01\"",
                "unknown winsorise {text:?}; write \"none\", \"mad:3\", \"raw_mad:5\" or \"quantile:0.01\""
            ),
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
            _ => bail!(
                "未知的 standardise {text:?}；请写 \"none\"、\"zscore:1\"（自由度修正 1）、\"zscore:0\" 或 \"rank\"",
                "unknown standardise {text:?}; write \"none\", \"zscore:1\" (ddof 1), \"zscore:0\" or \"rank\""
            ),
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

inkstone_base::as_text!(Decay, Winsorise, Standardise);

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((rule, number)) => (rule.trim(), Some(number.trim())),
        None => (text.trim(), None),
    }
}

fn number(text: &str, number: &str, fits: impl Fn(f64) -> bool) -> Result<f64> {
    let value: f64 = number
        .parse()
        .with_context(|| message!("{text:?} 中的 {number:?} 不是数字", "{number:?} in {text:?} is not a number"))?;
    if !fits(value) {
        bail!("{text:?} 中的 {number} 超出范围", "{number} in {text:?} is out of range");
    }
    Ok(value)
}
