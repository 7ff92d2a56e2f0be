//! The page of the ledger.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::app::App;
use super::commands::Action;
use super::desk::Desk;
use super::look;
use super::page::PageState;

/// What the page works with, as the front hands it in.
#[derive(Clone)]
pub struct LedgerBench {}

/// State of the page.
#[derive(Default)]
pub(crate) struct Ledger {}

impl Ledger {
    pub(crate) fn has_trials(&self) -> bool { false }
    pub(crate) fn can_delete(&self) -> bool { false }
}

impl PageState for Ledger {
    fn reload(&mut self, _desk: &Desk<'_>) {}

    fn act(&mut self, _action: Action, _area: Rect, _desk: &Desk<'_>) {}

    fn arrange(&mut self, _area: Rect, _desk: &Desk<'_>) {}

    fn waiting(&self) -> bool {
        false
    }
}

/// Draws the page.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, page: Rect) {
    frame.render_widget(look::pane(format!(" {} ", app.say(app.page.name())), true), page);
}
