//! Flags of `compare`.

use clap::Args;

#[derive(Debug, Args)]
pub struct Compare {
    /// The first factor.
    ///
    /// 第一个因子。
    #[arg(value_name = "FACTOR")]
    pub a: String,
    /// The second factor.
    ///
    /// 第二个因子。
    #[arg(value_name = "FACTOR")]
    pub b: String,
    #[command(flatten)]
    pub project: super::Project,
}
