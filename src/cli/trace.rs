//! Flags of `trace`.

use chrono::NaiveDate;
use clap::Args;

#[derive(Debug, Args)]
pub struct Trace {
    /// Name of the factor.
    pub factor: String,
    #[command(flatten)]
    pub project: super::Project,
    /// The date of the value (2024-03-15).
    #[arg(long, value_name = "DATE", required_unless_present = "quantile")]
    pub date: Option<NaiveDate>,
    /// Show only the securities of this quantile (1 has the lowest values); without --date, the dates on which it has any.
    #[arg(long, value_name = "N", conflicts_with = "code")]
    pub quantile: Option<u16>,
    /// Show the documents behind the value of this security.
    #[arg(long, value_name = "CODE", requires = "date")]
    pub code: Option<String>,
    /// Show one of these documents with its sentences and the words that gave it its value.
    #[arg(long, value_name = "ID", requires = "code")]
    pub document: Option<String>,
}
