//! What the page of one document works with.

use crate::command::project::Opened;
use crate::tui::TextBench;

/// Made of a project's configuration.
pub(super) fn bench(_opened: &Opened) -> Option<TextBench> {
    None
}
