//! Flags of `trace`.

use chrono::NaiveDate;
use clap::Args;

#[derive(Debug, Args)]
pub struct Trace {
    /// Name of the factor.
    ///
    /// 因子的名称。
    pub factor: String,
    #[command(flatten)]
    pub project: super::Project,
    /// The date of the value (2024-03-15).
    ///
    /// 值的日期（2024-03-15）。
    #[arg(long, value_name = "DATE", required_unless_present = "quantile")]
    pub date: Option<NaiveDate>,
    /// Show only the securities of this quantile (1 has the lowest values); without --date, the dates on which it has any.
    ///
    /// 只显示该分层的证券（1 的值最低）；不写 --date 时，显示它有证券的日期。
    #[arg(long, value_name = "N", conflicts_with = "code")]
    pub quantile: Option<u16>,
    /// Show the documents behind the value of this security.
    ///
    /// 显示该证券的值背后的文档。
    #[arg(long, value_name = "CODE", requires = "date")]
    pub code: Option<String>,
    /// Show one of these documents with its sentences and the words that gave it its value.
    ///
    /// 显示其中一篇文档的句子，以及决定其值的词。
    #[arg(long, value_name = "ID", requires = "code")]
    pub document: Option<String>,
}
