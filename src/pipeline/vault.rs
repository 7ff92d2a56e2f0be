//! The sealed period of a project.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::Utc;

use super::project;
use crate::config::Config;
use inkstone_lab::ledger::{Ledger, VaultOpening};

use inkstone_base::language::Word;

/// Notes in the ledger, with the reason, that the sealed period is read, and opens it for this configuration.
pub fn open_vault(config: &mut Config, base: &Path, reason: &str) -> Result<()> {
    let from = config.vault.from.context(Word(
        "没有可打开的封存期：未设置 [vault] from",
        "there is no sealed period to open: [vault] from is not set",
    ))?;
    let ledger = project(config, base).ledger();
    inkstone_lab::ledger::own(&ledger)?;
    Ledger::open(&ledger)?.note_opening(from, reason, Utc::now())?;
    config.vault.is_open = true;
    Ok(())
}

/// The openings of the sealed period that the ledger holds.
pub fn vault_openings(config: &Config, base: &Path) -> Result<Vec<VaultOpening>> {
    let ledger = project(config, base).ledger();
    if !Ledger::is_in(&ledger) {
        return Ok(Vec::new());
    }
    Ok(Ledger::read(&ledger)?.openings().to_vec())
}

/// The note of a project, with what is to be known of its sealed period.
pub(super) fn note_with_vault(config: &Config, base: &Path) -> Result<String> {
    let Some(from) = config.vault.from else { return Ok(config.project.note.clone()) };
    let openings = vault_openings(config, base)?.len();
    let state = match config.vault.is_open {
        true => "is read here 本页已读取",
        false => "is not read here 本页未读取",
    };
    let vault =
        format!("sealed period from {from} {state}; openings: {openings} 封存期自 {from} 起，已打开 {openings} 次");
    let note = &config.project.note;
    Ok(if note.is_empty() { vault } else { format!("{note} · {vault}") })
}
