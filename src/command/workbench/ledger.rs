//! What the page of the ledger works with.

use crate::command::project::Opened;
use crate::tui::LedgerBench;

/// Made of a project's configuration.
pub(super) fn bench(_opened: &Opened) -> Option<LedgerBench> {
    None
}
