//! Parameters of the linter: how often it draws, and what it holds its numbers against.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;
use inkstone_base::ensure;

/// Parameters of the linter (`[lint]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Draws in which values are moved to other dates (default 200; no more than there are ways to move them).
    pub date_draws: usize,
    /// Draws in which values are given to other documents, each of which builds the factor anew (default 20, so that p
    /// reaches 0.05 when none is as strong).
    pub text_draws: usize,
    /// Draws of the bootstrap (default 1000).
    pub bootstrap: usize,
    /// Confidence of intervals; what is called different has p of at most 1 less this (default 0.95).
    pub confidence: f64,
    /// Share of the RankIC that may remain when dates or texts are changed for others, and that may be lost when names
    /// are masked or late documents left out (default 0.5: more than half of it is then something else).
    pub max_share: f64,
    /// By how much the RankIC of the same day may exceed the RankIC of the trade (default 0.02, about what a text factor that
    /// is worth its while has: a gap as wide would make one of nothing if dates slipped by a day).
    pub same_day_gap: f64,
    /// Share of documents whose story also trained the model that scored them (default 0.05).
    pub max_overlap: f64,
    /// Share of the listed names that is delisted in a year (default 0.004: in A shares 0.16 % a year from 2010 to 2019
    /// and 0.64 % since 2020, Sinolink Securities, March 2024).
    pub delisting_rate: f64,
    /// True if contextual models and networks (onnx, textcnn, textrnn, finetune) are run once more with the names of companies masked, which
    /// takes as long as the first time (default no; other models always are).
    pub mask_contextual: bool,
    /// Natural days from publication to ingestion after which a document may have been written anew (default 7).
    pub restated_days: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            date_draws: 200,
            text_draws: 20,
            bootstrap: 1000,
            confidence: 0.95,
            max_share: 0.5,
            same_day_gap: 0.02,
            max_overlap: 0.05,
            delisting_rate: 0.004,
            mask_contextual: false,
            restated_days: 7,
        }
    }
}

impl Params {
    /// Fails on parameters that make no sense.
    pub fn validate(&self) -> Result<()> {
        bounds::check("lint", self)?;
        ensure!(
            self.confidence > 0.0 && self.confidence < 1.0,
            "lint.confidence：{} 等于完全确定；请写大于 0 小于 1 的数（0.95 即 95 %）",
            "lint.confidence: {} is a certainty; write a share above 0 and below 1 (0.95 = 95 %)",
            self.confidence
        );
        Ok(())
    }

    /// The p up to which something is called different from chance.
    pub(super) fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_out_of_range_are_refused_by_name() {
        let refused = |params: Params| params.validate().unwrap_err().to_string();
        assert!(refused(Params { text_draws: 0, ..Params::default() }).contains("lint.text_draws: 0 is out of bounds"));
        assert!(
            refused(Params { confidence: 95.0, ..Params::default() }).contains("lint.confidence: 95 is out of bounds")
        );
        assert!(refused(Params { confidence: 1.0, ..Params::default() }).contains("lint.confidence: 1 is a certainty"));
        assert!(
            refused(Params { max_share: f64::NAN, ..Params::default() })
                .contains("lint.max_share: NaN is not a finite number")
        );
        Params::default().validate().unwrap();
    }
}
