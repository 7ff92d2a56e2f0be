//! Flags of `ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Ledger {
    /// Action on the ledger (default: list).
    #[command(subcommand)]
    pub action: Option<LedgerAction>,
    /// Configuration of the project whose ledger is used. Without --config and --ledger: workbench.toml if it exists, else the ledger
    /// of the factor tables that were tested in this folder.
    #[arg(short, long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Folder of the ledger.
    #[arg(long, value_name = "DIR", global = true, conflicts_with = "config")]
    pub ledger: Option<PathBuf>,
}

/// Action on the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerAction {
    /// List every trial with its Sharpe ratio, its deflated Sharpe ratio (DSR), its p-value and the corrected p-value (q).
    List,
    /// Show everything that is kept of an entry.
    Show {
        /// Number of the entry.
        id: u64,
    },
    /// Delete the names, parameters and figures of entries. Their results and returns stay, and they still count as trials.
    Delete {
        /// Numbers of the entries.
        #[arg(required = true)]
        id: Vec<u64>,
        /// Reason of the deletion, which is kept in the ledger.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Report lines that were changed or removed by anything but this program.
    Verify,
}
