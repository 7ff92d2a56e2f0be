//! What the page of contextual models works with.

use crate::command::project::Opened;
use crate::tui::OnnxBench;

/// Made of a project's configuration.
pub(super) fn bench(_opened: &Opened) -> Option<OnnxBench> {
    None
}
