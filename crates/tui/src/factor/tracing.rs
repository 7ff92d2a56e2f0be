//! The functions behind the way from a factor to its documents and words.

use std::sync::Arc;

use anyhow::Result;
use chrono::NaiveDate;

use inkstone_base::job::Ctx;
use inkstone_features::extract::ExplainedText;
use inkstone_lab::factor::{TracedCell, TracedDate, TracedDay};

/// The dates of a quantile (from 1, the lowest) of a factor, ascending, with what its names have in common.
pub(crate) type DaysOf = Arc<dyn Fn(&str, u16, &Ctx) -> Result<Vec<TracedDay>> + Send + Sync>;

pub(crate) type NamesOf = Arc<dyn Fn(&str, NaiveDate, &Ctx) -> Result<TracedDate> + Send + Sync>;

/// The readings and documents behind the value of a code on a date of a factor.
pub(crate) type DocumentsOf = Arc<dyn Fn(&str, NaiveDate, &str, &Ctx) -> Result<Vec<TracedCell>> + Send + Sync>;

/// The sentences of a document of this number, by each column that a reading (from 1) of a factor is made of.
pub(crate) type SentencesOf = Arc<dyn Fn(&str, usize, u32, &Ctx) -> Result<Vec<ExplainedText>> + Send + Sync>;

/// Reads the verdict of linter and ledger on a factor; none if they have not looked at it.
pub type JudgementOf = Arc<dyn Fn(&str) -> Result<Option<Judgement>> + Send + Sync>;

/// Reads the effect of a factor that was planted in made data; none where nobody planted anything.
pub type PlantedOf = Arc<dyn Fn(&str) -> Option<PlantedTruth> + Send + Sync>;

/// The effect that was planted in made data, as a factor should find it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlantedTruth {
    /// By holding period in days: mean RankIC, and the ends of its 95 % interval. Empty: the factor must find nothing.
    pub rank_ic: Vec<(usize, [f64; 3])>,
}

/// Reads what the lower levels of a factor need, so that they come at once.
pub(crate) type PrepareFactor = Arc<dyn Fn(&str, &Ctx) -> Result<()> + Send + Sync>;

/// The way from a factor to its words as the workbench opens it. The functions are called on threads of their own, and stop where
/// their context is cancelled.
#[derive(Clone)]
pub struct Tracing {
    /// Called behind as soon as a factor is shown.
    pub prepare: PrepareFactor,
    /// Dates of a quantile.
    pub days: DaysOf,
    pub names: NamesOf,
    pub documents: DocumentsOf,
    pub sentences: SentencesOf,
}

/// The verdict of linter and ledger on a factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Checks of the linter; 0 where it did not run.
    pub checks: usize,
    /// Checks that found nothing.
    pub passed: usize,
    /// Checks that found something to look at.
    pub warned: usize,
    /// Checks that found look-ahead.
    pub failed: usize,
    /// Different things that were tried on this market; 0 where the ledger does not know the factor.
    pub trials: u64,
    /// Deflated Sharpe ratio after so many; NaN without one.
    pub deflated_sharpe: f64,
    /// True if something other than this program changed the ledger.
    pub ledger_changed: bool,
}
