//! The actions of the table: columns, order, frequencies, marks and notes.

use std::sync::Arc;

use ratatui::layout::Rect;

use super::order::By;
use super::{CorpusFocus, CorpusPage, Typing, columns};
use crate::action::Action;
use crate::desk::{Desk, PageRequest};
use crate::field::Field;
use crate::kit::Step;

impl CorpusPage {
    /// Does an action of the table; false where it is none. `table` is the inside of its frame.
    pub(super) fn act_on_table(&mut self, action: Action, table: Rect, desk: &Desk<'_>) -> bool {
        let (columns, gutter) = (columns::columns(self), self.has_marks());
        match (self.table_head.act(action, &columns, gutter, desk.language, table), action) {
            (Step::Done, _) => {}
            (Step::Sort, _) => self.to_top = true,
            (Step::Only(column, group), _) => self.keep_group(&column, &group, desk),
            (Step::Count(column, frequencies), _) => {
                By::named(&column).into_iter().for_each(|by| self.count_column(by, frequencies));
            }
            (Step::Passed, Action::MarkRow) => self.mark(),
            (Step::Passed, Action::OnlyMarked) => {
                self.only_marked = !self.only_marked && self.has_marks();
                self.to_top = true;
            }
            (Step::Passed, _) => return false,
        }
        true
    }

    /// Shows or hides the repeats of the document at the cursor.
    pub(super) fn unfold(&mut self) {
        let Some(head) = self.head() else { return };
        if !self.open.remove(&head) {
            self.open.insert(head);
        } else if let Some(line) = self.listed.now.as_ref().and_then(|listing| listing.line_of(head)) {
            self.cursor.at = line;
        }
    }

    /// Opens the line for a note on the document at the cursor.
    pub(super) fn begin_note(&mut self, desk: &Desk<'_>) {
        if desk.read_only {
            return desk.order(PageRequest::AskToWrite);
        }
        if let Some(n) = self.number(self.cursor.at) {
            self.note = Field::new(self.catalogue.note(n));
            (self.focus, self.typing) = (CorpusFocus::Table, Some(Typing::Note));
        }
    }

    /// Marks the document at the cursor or takes its mark away, and goes to the next.
    fn mark(&mut self) {
        let Some(id) = self.number(self.cursor.at).and_then(|n| self.catalogue.id(n)) else { return };
        let marks = Arc::make_mut(&mut self.catalogue.facts.marks);
        if !marks.remove(&id) {
            marks.insert(id);
        }
        self.catalogue.facts.version += 1;
        self.only_marked &= self.has_marks();
        self.cursor.step(Action::Down, self.len(), 1);
    }
}
