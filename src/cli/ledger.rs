//! Flags of `ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Flags of `ledger`.
#[derive(Debug, Args)]
pub struct Ledger {
    /// What to do with the ledger; list, if nothing is said.
    #[command(subcommand)]
    pub action: Option<LedgerAction>,
    /// The configuration of the project whose ledger it is. Without it and --ledger: workbench.toml if it is there, else the ledger of
    /// tables that were tested in this folder.
    #[arg(short, long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The folder of a ledger.
    #[arg(long, value_name = "DIR", global = true, conflicts_with = "config")]
    pub ledger: Option<PathBuf>,
}

/// What to do with the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerAction {
    /// Every trial with its Sharpe ratio, deflated, and its p, corrected.
    List,
    /// Everything that is kept of an entry.
    Show {
        /// Its number.
        id: u64,
    },
    /// Delete names, parameters and figures of entries. That they ran, and with what result and returns, stays and counts.
    Delete {
        /// Their numbers.
        #[arg(required = true)]
        id: Vec<u64>,
        /// Why; it stands in the ledger.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Say what was changed or taken away behind the program's back.
    Verify,
}
