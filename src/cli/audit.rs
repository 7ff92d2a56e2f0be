//! Flags of `audit`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct Audit {
    /// A factor table or predictions (Parquet or CSV: date, code, value), a frame of alphalens, a pickle of a frame, or the folder of a Qlib recorder.
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// A price table (Parquet or CSV: date, code, open, close, ...).
    #[arg(long, value_name = "FILE")]
    pub prices: PathBuf,
    /// Documents behind the values: JSON lines, Parquet or CSV with code and published_at.
    #[arg(long, value_name = "FILE")]
    pub documents: Option<PathBuf>,
    /// Claimed figures: ic, rank_ic, icir, rank_icir, t, annual_return, sharpe, max_drawdown, turnover, excess_return, information_ratio; and how it was
    /// traded: delay, price, horizon, trials.
    #[arg(long, value_name = "NAME=VALUE,...", allow_hyphen_values = true)]
    pub claim: Option<String>,
    /// A JSON file with the same names and values as --claim.
    #[arg(long, value_name = "FILE", conflicts_with = "claim")]
    pub claimed: Option<PathBuf>,
    /// The same result as it was made at an earlier day; values of common dates are compared.
    #[arg(long, value_name = "RESULT")]
    pub earlier: Option<PathBuf>,
    /// Number of results that were tried, or a folder with the tables of the others.
    #[arg(long, value_name = "N|DIR")]
    pub tried: Option<String>,
    /// Column of the result that is audited (default: value, factor, score, pred, prediction or signal, else the best).
    #[arg(long, value_name = "COLUMN")]
    pub score: Option<String>,
    /// Write the page audit.html and audit.json into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the JSON object on a terminal too.
    #[arg(long)]
    pub json: bool,
}
