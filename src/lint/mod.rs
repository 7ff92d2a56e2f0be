//! The linter for look-ahead: proves from known-at times that each value was known before its trade, then tries to break the factor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Each value was known before the return that it is paired with began.
    KnownBefore,
    /// The value of a date counts for the trading day that its time of publication gives.
    TradeDate,
    /// The predictive power of the same day against that of the next.
    SameDayGap,
    /// What remains when each code's values are moved to other dates of the code.
    ShuffledDates,
    /// What remains when what texts say is given to other texts.
    ShuffledText,
    /// Models and vocabularies were fitted on text of the past alone.
    FutureVocabulary,
    /// What remains when names of companies are masked.
    MaskedNames,
    /// Texts that training and test share.
    Overlap,
    /// The price table has names that were delisted.
    Survivors,
    /// Documents that were ingested long after their publication.
    Restated,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Nothing was found.
    Passed,
    /// Something to look at.
    Warned,
    /// The factor looks ahead, or what it rests on is not what it seems.
    Failed,
    /// Could not be done; the finding says why.
    Skipped,
}

/// What a check found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The check.
    pub check: Check,
    /// How it ended.
    pub standing: Standing,
    /// The number that decided, in the unit that `finding` names; none for a check that could not be done.
    pub number: Option<f64>,
    /// What `number` is held against.
    pub limit: Option<f64>,
    /// What was found, why it matters and the way out: Chinese, English.
    pub finding: (String, String),
    /// Further figures.
    pub figures: BTreeMap<String, serde_json::Value>,
}
