//! Parameters of a factor. Rules with a number are written as in `"mad:3"` or `"exponential:0.95"`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::control::Control;
use super::expression::Expression;
use super::gate::Within;
use super::plan::Plan;
use super::rules::{Aggregate, Decay, Fill, Gaps, LookbackUnit, Standardise, Winsorise};
use inkstone_base::bounds;
use inkstone_base::data::Kind;
use inkstone_base::{ensure, message};

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
    /// Values whose documents lie over days that the archive lacks (default keep).
    #[serde(skip_serializing_if = "Gaps::is_kept")]
    pub gaps: Gaps,
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
            gaps: Gaps::Keep,
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
        bounds::check("factor", self).with_context(|| message!("因子 {name:?}", "factor {name:?}"))?;
        ensure!(
            self.decay == Decay::None || self.aggregate.weighs(),
            "因子 {name:?}：衰减用于求和、均值、计数与标准差；aggregate = max、min 或 last 只取一篇文档",
            "factor {name:?}: decay weighs sums, means, counts and deviations; aggregate = max, min or last takes one document"
        );
        let plan = Plan::new(self).with_context(|| message!("因子 {name:?}", "factor {name:?}"))?;
        ensure!(
            !plan.weighs_first_mentions_by_novelty(),
            "因子 {name:?}：每个报道的首篇 document.novelty 都是 1，而 first_only 只计首篇；请设置 first_only = false，或从 weight 去掉 novelty",
            "factor {name:?}: document.novelty is 1 for every first document of a story, and first_only counts no others; set first_only = false, or leave novelty out of the weight"
        );
        Ok(())
    }
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
