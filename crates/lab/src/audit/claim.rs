//! The figures that somebody claims of a result, and how they say that it was traded.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use inkstone_base::{bail, ensure, message};
use inkstone_base::{bounds, limits};
use inkstone_market::Price;

/// Claimed figures; what is not claimed is none. Returns are shares (0.12 = 12 %) and annual, ratios are annual but for ICIR.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Claim {
    /// Mean Pearson correlation of value and return.
    pub ic: Option<f64>,
    /// Mean Spearman correlation of value and return.
    pub rank_ic: Option<f64>,
    /// Mean IC / standard deviation, not annualised.
    pub icir: Option<f64>,
    pub rank_icir: Option<f64>,
    /// t of the mean IC.
    pub t: Option<f64>,
    /// Annual return of the long-short portfolio.
    pub annual_return: Option<f64>,
    pub sharpe: Option<f64>,
    pub max_drawdown: Option<f64>,
    /// One-way turnover a day, share of the book.
    pub turnover: Option<f64>,
    /// Annual return of the best names over the mean of all.
    pub excess_return: Option<f64>,
    pub information_ratio: Option<f64>,
    /// Trading days from the value's date to the trade.
    pub delay: Option<i32>,
    /// Price of the trade.
    pub price: Option<Price>,
    /// Holding period in trading days.
    pub horizon: Option<usize>,
    /// Number of different results that were tried, this one included.
    pub trials: Option<u64>,
}

impl Claim {
    /// Reads claims as `ic=0.05,sharpe=2.1`.
    pub fn parse(text: &str) -> Result<Claim> {
        let mut fields = Map::new();
        for piece in text.split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
            let (name, value) = piece.split_once('=').with_context(|| {
                message!(
                    "--claim：{piece:?} 没有 \"=\"；请写成 ic=0.05,sharpe=2.1",
                    "--claim: {piece:?} has no \"=\"; write figures as ic=0.05,sharpe=2.1"
                )
            })?;
            let value = value.trim();
            let value = match value.parse::<i64>() {
                Ok(whole) => Value::from(whole),
                Err(_) => value.parse::<f64>().map_or_else(|_| Value::from(value), Value::from),
            };
            fields.insert(name.trim().to_owned(), value);
        }
        ensure!(
            !fields.is_empty(),
            "--claim 没有数字；请写成 ic=0.05,sharpe=2.1",
            "--claim has no figure; write figures as ic=0.05,sharpe=2.1"
        );
        let claim: Claim = serde_json::from_value(Value::Object(fields)).context("--claim")?;
        claim.checked("--claim")
    }

    /// Reads claims from a JSON object.
    pub fn read(path: &Path) -> Result<Claim> {
        let what = || message!("声明 {}", "the claims {}", path.display());
        let claim: Claim = serde_json::from_slice(&limits::settings_file(path)?).with_context(what)?;
        claim.checked(&path.display().to_string())
    }

    fn checked(self, origin: &str) -> Result<Claim> {
        for (key, value) in [("delay", self.delay.map(f64::from)), ("horizons", self.horizon.map(|h| h as f64))] {
            if let Some(value) = value {
                bounds::check("backtest", &BTreeMap::from([(key, value)])).with_context(|| origin.to_owned())?;
            }
        }
        if self.trials == Some(0) {
            bail!(
                "{origin}：trials 为 0；结果本身也算一次，请至少写 1",
                "{origin}: trials is 0; the result itself counts, so write at least 1"
            );
        }
        Ok(self)
    }

    /// This claim with the other one's figures where it has none.
    pub fn or(self, other: Claim) -> Claim {
        Claim {
            ic: self.ic.or(other.ic),
            rank_ic: self.rank_ic.or(other.rank_ic),
            icir: self.icir.or(other.icir),
            rank_icir: self.rank_icir.or(other.rank_icir),
            t: self.t.or(other.t),
            annual_return: self.annual_return.or(other.annual_return),
            sharpe: self.sharpe.or(other.sharpe),
            max_drawdown: self.max_drawdown.or(other.max_drawdown),
            turnover: self.turnover.or(other.turnover),
            excess_return: self.excess_return.or(other.excess_return),
            information_ratio: self.information_ratio.or(other.information_ratio),
            delay: self.delay.or(other.delay),
            price: self.price.or(other.price),
            horizon: self.horizon.or(other.horizon),
            trials: self.trials.or(other.trials),
        }
    }

    /// The claims that a recorder of Qlib keeps as files of `timestamp value step` lines in a folder.
    pub(super) fn of_metrics(folder: &Path) -> Result<Claim> {
        let metric = |name: &str| -> Result<Option<f64>> {
            let path = folder.join(name);
            if !path.is_file() {
                return Ok(None);
            }
            let bytes = limits::settings_file(&path)?;
            let text = String::from_utf8_lossy(&bytes);
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            let field = last.split_whitespace().nth(1).or(last.split_whitespace().next()).unwrap_or_default();
            let number = field.parse().with_context(|| {
                message!("{}：{last:?} 不是“时间 值 步”", "{}: {last:?} is not \"time value step\"", path.display())
            })?;
            Ok(Some(number))
        };
        let excess = |name: &str| metric(&format!("1day.excess_return_with_cost.{name}"));
        Ok(Claim {
            ic: metric("IC")?,
            icir: metric("ICIR")?,
            rank_ic: metric("Rank IC")?,
            rank_icir: metric("Rank ICIR")?,
            annual_return: metric("Long-Short Ann Return")?,
            sharpe: metric("Long-Short Ann Sharpe")?,
            excess_return: excess("annualized_return")?,
            information_ratio: excess("information_ratio")?,
            ..Claim::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_and_unknown_ones_are_refused_by_name() {
        let claim = Claim::parse("ic=0.05, sharpe=2,price=close,delay=-1").unwrap();
        assert_eq!(
            (claim.ic, claim.sharpe, claim.delay, claim.price),
            (Some(0.05), Some(2.0), Some(-1), Some(Price::Close))
        );
        let wrong = |text: &str| format!("{:#}", Claim::parse(text).unwrap_err());
        assert!(wrong("sharp=2").contains("unknown field `sharp`, expected one of `ic`"), "{}", wrong("sharp=2"));
        assert!(wrong("ic").contains("has no \"=\"") && wrong("").contains("no figure"));
        assert!(wrong("horizon=0").contains("out of bounds") && wrong("trials=0").contains("at least 1"));
    }
}
