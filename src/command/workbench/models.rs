//! What the page of models works with.

use crate::command::project::Opened;
use crate::tui::ModelBench;

/// Made of a project's configuration.
pub(super) fn bench(_opened: &Opened) -> Option<ModelBench> {
    None
}
