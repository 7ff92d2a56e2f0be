//! Looks whether the sources have rows that no run has read.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use crate::command::opened::OpenProject;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::message;
use inkstone_corpus::ingest;
use inkstone_tui as tui;

/// Tells what is new in the sources; none where nothing is, or nothing has changed since it was told. Files are read only if their lengths
/// or times have changed.
pub(super) fn news(opened: &OpenProject) -> Option<tui::LookForNews> {
    let (config, base, project) = (opened.config.clone(), opened.base.clone(), opened.project());
    if config.source.is_empty() {
        return None;
    }
    let seen: Mutex<Option<Key>> = Mutex::default();
    Some(Arc::new(move |ctx: &Ctx| -> Result<Option<Message>> {
        let now = ingest::state_of_files(&config.source, &base)?;
        let before = seen.lock().unwrap_or_else(PoisonError::into_inner).replace(now);
        if before == Some(now) || !project.ingest_log().exists() {
            return Ok(None);
        }
        let due = ingest::due(&config.source, &config.ingest_params(), &base, &project, ctx)?;
        let (new, grown, gone) = (due.new_files, due.grown_files, due.gone_files);
        Ok((!due.is_nothing()).then(|| {
            message!(
                "来源有变化：新文件 {new} 个，增长 {grown} 个，消失 {gone} 个；按 r 运行",
                "the sources have changed: {new} new files, {grown} grown, {gone} gone; press r to run"
            )
        }))
    }))
}
