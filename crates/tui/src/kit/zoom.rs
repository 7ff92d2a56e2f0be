//! The switch that gives the whole page to the pane with the focus.

use std::cell::Cell;

use ratatui::layout::Rect;

/// On while the pane with the focus is alone on its page. The workbench turns it and keeps it in the session.
#[derive(Debug, Default)]
pub struct Zoom(Cell<bool>);

impl Zoom {
    pub(crate) fn is_on(&self) -> bool {
        self.0.get()
    }

    pub(crate) fn set(&self, on: bool) {
        self.0.set(on);
    }

    /// The areas of the panes of a page: while on, the pane with the focus has all of it, and the others are empty.
    pub(crate) fn areas<const N: usize>(&self, areas: [Rect; N], focus: usize, page: Rect) -> [Rect; N] {
        if !self.is_on() {
            return areas;
        }
        std::array::from_fn(|at| if at == focus { page } else { Rect { width: 0, height: 0, ..page } })
    }
}
