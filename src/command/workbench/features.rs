//! What the page of features works with.

use crate::command::project::Opened;
use crate::tui::FeatureBench;

/// Made of a project's configuration.
pub(super) fn bench(_opened: &Opened) -> Option<FeatureBench> {
    None
}
