//! The actions of the table: columns, order, frequencies, marks and notes.

use std::sync::Arc;

use ratatui::layout::Rect;

use super::order::By;
use super::{CorpusFocus, CorpusPage, Typing, columns};
use crate::action::Action;
use crate::desk::{Desk, PageRequest};
use crate::field::Field;
use crate::kit::{Answer, Content, Overlay};

impl CorpusPage {
    /// Does an action of the table; false where it is none. `table` is the inside of its frame.
    pub(super) fn act_on_table(&mut self, action: Action, table: Rect, desk: &Desk<'_>) -> bool {
        let columns = columns::columns(self);
        let total = usize::from(table.width).saturating_sub(if self.has_marks() { 2 } else { 0 });
        let counted = self.over.as_ref().and_then(|over| match &over.content {
            Content::Frequencies { column, .. } | Content::Summary { column, .. } => By::named(column),
            Content::Columns => None,
        });
        if let Some(over) = &mut self.over {
            match over.act(action, &columns, &mut self.layout, desk.language, table) {
                Answer::Passed => {}
                Answer::Done => return true,
                Answer::Close => {
                    self.over = None;
                    return true;
                }
                Answer::Sort => {
                    self.to_top = true;
                    return true;
                }
                Answer::Only(column, group) => {
                    self.keep_group(&column, &group, desk);
                    return true;
                }
            }
        }
        let marked = self.layout.marked(&columns, total);
        match action {
            Action::ColumnLeft | Action::ColumnRight => {
                self.layout.step(&columns, total, action == Action::ColumnRight);
            }
            Action::ChooseColumns => self.over = Some(Overlay::new(Content::Columns)),
            Action::HideColumn => {
                if let Some(column) = marked {
                    self.layout.toggle(&columns, column, total);
                }
            }
            Action::Frequencies | Action::Summary => {
                let by = counted.or_else(|| By::named(&marked?.id));
                if let Some(by) = by {
                    self.count_column(by, action == Action::Frequencies);
                }
            }
            Action::MarkRow => self.mark(),
            Action::OnlyMarked => {
                self.only_marked = !self.only_marked && self.has_marks();
                self.to_top = true;
            }
            Action::SortTable | Action::TurnOrder => {
                match marked.filter(|_| action == Action::SortTable) {
                    Some(column) => self.layout.sort_by(column),
                    None => self.layout.turn(),
                }
                self.to_top = true;
            }
            _ => return false,
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
