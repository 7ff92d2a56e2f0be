//! Flags of `stock`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct Stock {
    /// The code (600519, 600519.SH, SH600519) or the name of a security.
    ///
    /// 证券的代码（600519、600519.SH、SH600519）或简称。
    pub code: String,
    #[command(flatten)]
    pub project: super::Project,
    /// The factor whose values stand beside the documents (default: the first one).
    ///
    /// 与文档并列的因子（默认：第一个）。
    #[arg(long, value_name = "NAME")]
    pub factor: Option<String>,
    /// Also draw the page of the workbench as SVG.
    ///
    /// 另把工作台的个股页画成 SVG。
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Also draw the page of the workbench as PNG.
    ///
    /// 另把工作台的个股页画成 PNG。
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}
