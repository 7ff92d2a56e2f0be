//! The functions of the page of the ledger.

use std::sync::Arc;

use chrono::Utc;

use crate::command::opened::OpenProject;
use inkstone_lab::ledger::{Book, Ledger};
use inkstone_tui::LedgerBench;

/// The functions of the page, made of the configuration of a project.
pub(super) fn bench(opened: &OpenProject) -> Option<LedgerBench> {
    let path = opened.project().ledger();
    let read = path.clone();
    Some(LedgerBench {
        // Where there is no ledger none is made.
        read: Arc::new(
            move |_| if Ledger::is_in(&read) { Book::new(&Ledger::read(&read)?).map(Some) } else { Ok(None) },
        ),
        delete: Arc::new(move |number, reason| {
            let mut ledger = Ledger::open(&path)?;
            ledger.delete(&[number], reason, Utc::now())?;
            Book::new(&ledger)
        }),
        config: opened.config_flags(),
    })
}
