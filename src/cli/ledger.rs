//! Flags of `ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Ledger {
    /// Action on the ledger (default: list).
    ///
    /// 对台账的操作（默认：list）。
    #[command(subcommand)]
    pub action: Option<LedgerAction>,
    /// Configuration of the project whose ledger is used. Without --config and --ledger: workbench.toml if it exists, else the ledger
    /// of the factor tables that were tested in this folder.
    ///
    /// 所用台账的项目配置。不写 --config 与 --ledger 时：有 workbench.toml 则用它，否则用本文件夹中检验过的因子表的台账。
    #[arg(short, long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Folder of the ledger.
    ///
    /// 台账的文件夹。
    #[arg(long, value_name = "DIR", global = true, conflicts_with = "config")]
    pub ledger: Option<PathBuf>,
}

/// Action on the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerAction {
    /// List every trial with its Sharpe ratio, its deflated Sharpe ratio (DSR), its p-value and the corrected p-value (q).
    ///
    /// 列出每次试验及其夏普比率、去膨胀夏普（DSR）、p 值与校正后的 p 值（q）。
    List,
    /// Show everything that is kept of an entry.
    ///
    /// 显示一条记录保存的全部内容。
    Show {
        /// Number of the entry.
        ///
        /// 记录的编号。
        id: u64,
    },
    /// Delete the names, parameters and figures of entries. Their results and returns stay, and they still count as trials.
    ///
    /// 删除记录的名称、参数与数字。结果与收益保留，仍计入试验次数。
    Delete {
        /// Numbers of the entries.
        ///
        /// 记录的编号。
        #[arg(required = true)]
        id: Vec<u64>,
        /// Reason of the deletion, which is kept in the ledger.
        ///
        /// 删除的理由，保存在台账中。
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Report lines that were changed or removed by anything but this program.
    ///
    /// 报告被本程序以外改动或取走的行。
    Verify,
}
