//! The trait that all pages implement.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::Value;

use super::action::Action;
use super::context::PageContext;
use super::desk::Desk;
use super::field::Field;
use super::kit::Zoom;
use super::page::{Chart, Table, WantedStock};

/// Lines by which one step of the wheel moves what is under it.
pub(crate) const WHEEL_LINES: usize = 3;

/// A page of the workbench: it draws its state, and changes its state by actions and events.
pub trait PageState {
    /// Reads anew what the page shows: when the workbench opens, whenever a job has ended, and when a stage has that the page shows.
    fn reload(&mut self, desk: &Desk<'_>);

    /// The page is on the screen: asks for what is needed there alone, and costs too much for a page that nobody looks at. Called before
    /// [`PageState::arrange`].
    fn shown(&mut self, _desk: &Desk<'_>) {}

    /// Draws the page, and changes nothing.
    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect);

    /// True if the page can do this action now. The key of an action works, and the bottom line shows the key, only then.
    fn can(&self, action: Action, context: &PageContext<'_>) -> bool;

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>);

    /// Puts the state in order after each event, also of other pages: takes in what errands have brought, puts positions inside their
    /// lists, and asks for what comes into view.
    fn arrange(&mut self, area: Rect, desk: &Desk<'_>);

    /// True if something asked for has not come yet.
    fn waiting(&self) -> bool;

    /// True if keys go into [`PageState::field`].
    fn is_typing(&self) -> bool {
        false
    }

    /// The text field that keys go into, while there is one.
    fn field(&mut self) -> Option<&mut Field> {
        None
    }

    /// The text of the field has changed.
    fn typed(&mut self, _desk: &Desk<'_>) {}

    /// Enter in the field.
    fn accept(&mut self, _desk: &Desk<'_>) {}

    fn leave_field(&mut self, _desk: &Desk<'_>) {}

    fn can_go_back(&self) -> bool {
        false
    }

    /// The switch that gives the whole page to the pane with the focus; none where the page has one pane.
    fn zoom(&self) -> Option<&Zoom> {
        None
    }

    /// The mouse was pressed on the page.
    fn click(&mut self, _at: Position, _area: Rect, _desk: &Desk<'_>) {}

    /// The wheel was turned over the page: what is under it moves by [`WHEEL_LINES`] lines.
    fn wheel(&mut self, _at: Position, down: bool, area: Rect, desk: &Desk<'_>) {
        for _ in 0..WHEEL_LINES {
            self.act(if down { Action::Down } else { Action::Up }, area, desk);
        }
    }

    /// The stocks that the page lists and which of them is marked; none where it is about no stock.
    fn stock(&self) -> Option<WantedStock> {
        None
    }

    /// The list of the page, for copying.
    fn table(&self, _desk: &Desk<'_>) -> Option<Table> {
        None
    }

    /// Title and body of the document at the cursor, and its id.
    fn document(&self) -> Option<(String, String)> {
        None
    }

    /// The section of the configuration that the page is about, and the name of what it shows: `("feature", "tone")`.
    fn section(&self, _desk: &Desk<'_>) -> Option<(&'static str, String)> {
        None
    }

    /// The charts of the page, to be saved; without any the screen itself is saved.
    fn charts(&self, _desk: &Desk<'_>) -> Vec<Chart> {
        Vec::new()
    }

    /// The command that does without a screen what the page shows; none where the command of the project does.
    fn command(&self, _desk: &Desk<'_>) -> Option<String> {
        None
    }

    /// Position, filters and what is open, for the next session.
    fn remember(&self) -> Value {
        Value::Null
    }

    /// Restores the place of an earlier session; called once, before the first [`PageState::reload`]. Values that no longer fit are left out.
    fn recall(&mut self, _memory: &Value) {}
}
