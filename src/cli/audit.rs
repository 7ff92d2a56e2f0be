//! Flags of `audit`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct Audit {
    /// A factor table or predictions (Parquet or CSV: date, code, value), a frame of alphalens, a pickle of a frame, or the folder of a Qlib recorder.
    ///
    /// 因子表或预测（Parquet 或 CSV：date、code、value）、alphalens 数据框、数据框的 pickle，或 Qlib recorder 的文件夹。
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// A price table (Parquet or CSV: date, code, open, close, ...).
    ///
    /// 行情表（Parquet 或 CSV：date、code、open、close 等）。
    #[arg(long, value_name = "FILE")]
    pub prices: PathBuf,
    /// Documents behind the values: JSON lines, Parquet or CSV with code and published_at.
    ///
    /// 这些值背后的文档：JSON 行、Parquet 或 CSV，含 code 与 published_at。
    #[arg(long, value_name = "FILE")]
    pub documents: Option<PathBuf>,
    /// Claimed figures: ic, rank_ic, icir, rank_icir, t, annual_return, sharpe, max_drawdown, turnover, excess_return, information_ratio; and how it was
    /// traded: delay, price, horizon, trials.
    ///
    /// 声明的数字：ic、rank_ic、icir、rank_icir、t、annual_return、sharpe、max_drawdown、turnover、excess_return、information_ratio；以及交易方式：delay、price、horizon、trials。
    #[arg(long, value_name = "NAME=VALUE,...", allow_hyphen_values = true)]
    pub claim: Option<String>,
    /// A JSON file with the same names and values as --claim.
    ///
    /// JSON 文件，名称与取值同 --claim。
    #[arg(long, value_name = "FILE", conflicts_with = "claim")]
    pub claimed: Option<PathBuf>,
    /// The same result as it was made at an earlier day; values of common dates are compared.
    ///
    /// 较早一天做出的同一结果；比较共同日期的值。
    #[arg(long, value_name = "RESULT")]
    pub earlier: Option<PathBuf>,
    /// Number of results that were tried, or a folder with the tables of the others.
    ///
    /// 试过的结果个数，或存放其他各表的文件夹。
    #[arg(long, value_name = "N|DIR")]
    pub tried: Option<String>,
    /// Column of the result that is audited (default: value, factor, score, pred, prediction or signal, else the best).
    ///
    /// 审查结果的哪一列（默认：value、factor、score、pred、prediction 或 signal，否则取最好的）。
    #[arg(long, value_name = "COLUMN")]
    pub score: Option<String>,
    /// Write the page audit.html and audit.json into this folder.
    ///
    /// 把页面 audit.html 与 audit.json 写入该文件夹。
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the JSON object on a terminal too.
    ///
    /// 在终端上也打印 JSON 对象。
    #[arg(long)]
    pub json: bool,
}
