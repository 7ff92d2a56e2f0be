//! The document that is looked at, as strategies cut it: which one, which strategy, and how far it is scrolled.

use ratatui::layout::Rect;

use super::{page, text};
use crate::Truncated;
use crate::action::Action;
use crate::errand::Errand;
use crate::list::moved;

/// The document that is looked at.
pub(super) struct Open {
    pub(super) number: usize,
    /// The document; `None` inside if the experiment has no such document.
    pub(super) document: Errand<Option<Box<Truncated>>>,
    /// The strategy looked at, by its place in the document's list; `None`: the strategy of the selected cell.
    pub(super) strategy: Option<usize>,
    /// Text of the experiment, wrapped to the width of the columns.
    pub(super) lines: Vec<text::TextLine>,
    /// The width for which it was laid out.
    laid_out: Option<usize>,
    pub(super) scroll: usize,
}

impl Open {
    pub(super) fn new(number: usize, document: Errand<Option<Box<Truncated>>>, strategy: Option<usize>) -> Open {
        Open { number, document, strategy, lines: Vec::new(), laid_out: None, scroll: 0 }
    }

    pub(super) fn truncated(&self) -> Option<&Truncated> {
        self.document.get()?.as_deref()
    }

    /// Takes in the document: strategies in the order of the list, the one that was looked at, or that of the cell, selected.
    pub(super) fn take(&mut self, order: &[usize], wanted: Option<usize>) {
        if let Some(Some(truncated)) = self.document.get_mut() {
            let place = |cell: usize| order.iter().position(|c| *c == cell).unwrap_or(usize::MAX);
            truncated.strategies.sort_by_key(|kept| place(kept.cell));
        }
        let strategies = self.truncated().map_or(&[][..], |truncated| &truncated.strategies);
        let at = strategies.iter().position(|kept| Some(kept.cell) == wanted).unwrap_or(0);
        let last = strategies.len().saturating_sub(1);
        self.strategy = Some(self.strategy.map_or(at, |strategy| strategy.min(last)));
        (self.laid_out, self.scroll) = (None, 0);
    }

    pub(super) fn step(&mut self, action: Action, page: Rect) {
        let rows = page::rows(page).max(1);
        let strategies = self.truncated().map_or(0, |truncated| truncated.strategies.len());
        match action {
            Action::NextStrategy => self.strategy = self.strategy.map(|at| (at + 1).min(strategies.saturating_sub(1))),
            Action::PreviousStrategy => self.strategy = self.strategy.map(|at| at.saturating_sub(1)),
            _ => self.scroll = moved(self.scroll, action, self.lines.len() + 1, rows),
        }
    }

    pub(super) fn arrange(&mut self, page: Rect) {
        let Some(truncated) = self.truncated() else { return };
        let columns = page::columns(page.width, truncated.strategies.len());
        let width = page::text_width(page, columns);
        if self.laid_out != Some(width) {
            self.lines = text::lay_out(&truncated.text, width);
            self.laid_out = Some(width);
        }
        self.scroll = self.scroll.min(self.lines.len().saturating_sub(page::rows(page)));
    }
}
