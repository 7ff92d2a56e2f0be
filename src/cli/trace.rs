//! Flags of `trace`.

use chrono::NaiveDate;
use clap::Args;

/// Flags of `trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// The factor.
    pub factor: String,
    /// Which project.
    #[command(flatten)]
    pub project: super::Project,
    /// The date of the value (2024-03-15).
    #[arg(long, value_name = "DATE", required_unless_present = "quantile")]
    pub date: Option<NaiveDate>,
    /// The names of one quantile alone, 1 for the lowest values; without a date the dates on which it has names.
    #[arg(long, value_name = "N", conflicts_with = "code")]
    pub quantile: Option<u16>,
    /// The documents behind the value of this name.
    #[arg(long, value_name = "CODE", requires = "date")]
    pub code: Option<String>,
    /// Of these documents one, with its sentences and the words that moved its value.
    #[arg(long, value_name = "ID", requires = "code")]
    pub document: Option<String>,
}
