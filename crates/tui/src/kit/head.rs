//! The columns of a table as the user has them, and what lies over the table. Actions on both are the same on all tables.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::column::Column;
use super::count::Group;
use super::layout::{TableLayout, cells_of_gutter};
use super::overlay::{Content, Overlay};
use crate::Language;
use crate::action::Action;

#[derive(Default)]
pub(crate) struct TableHead {
    pub layout: TableLayout,
    pub over: Option<Overlay>,
}

/// A change of the rows that an action at the columns asks for.
pub(crate) enum Step {
    /// Nothing: it is no action of columns, or none of this moment.
    Passed,
    Done,
    /// Rows are to be sorted anew.
    Sort,
    /// Only the rows of this group of a column are to be listed.
    Only(String, Group),
    /// The values of this column are to be counted, or, if false, summarised.
    Count(String, bool),
}

impl TableHead {
    pub(crate) fn sorted_by(column: &str, descending: bool) -> TableHead {
        TableHead { layout: TableLayout::sorted_by(column, descending), over: None }
    }

    /// Does an action; `gutter` if the table has room for the signs of marked rows.
    pub(crate) fn act<S: ?Sized>(
        &mut self,
        action: Action,
        columns: &[Column<S>],
        gutter: bool,
        language: Language,
        area: Rect,
    ) -> Step {
        if let Some(over) = &mut self.over {
            match over.act(action, columns, &mut self.layout, language, area) {
                Some(Step::Passed) => {}
                Some(step) => return step,
                None => {
                    self.over = None;
                    return Step::Done;
                }
            }
        }
        let total = usize::from(area.width).saturating_sub(cells_of_gutter(gutter));
        let marked = self.layout.marked(columns, total);
        match action {
            Action::ColumnLeft | Action::ColumnRight => {
                self.layout.step(columns, total, action == Action::ColumnRight);
            }
            Action::ChooseColumns => self.over = Some(Overlay::new(Content::Columns)),
            Action::HideColumn => {
                if let Some(column) = marked {
                    self.layout.toggle(columns, column, total);
                }
            }
            Action::Frequencies | Action::Summary => {
                let counted = self.over.as_ref().and_then(|over| match &over.content {
                    Content::Frequencies { column, .. } | Content::Summary { column, .. } => Some(column.clone()),
                    Content::Columns => None,
                });
                let column = counted.or_else(|| Some(marked?.id.clone().into_owned()));
                return column.map_or(Step::Done, |column| Step::Count(column, action == Action::Frequencies));
            }
            Action::SortTable | Action::TurnOrder => {
                match marked.filter(|_| action == Action::SortTable) {
                    Some(column) => self.layout.sort_by(column),
                    None => self.layout.turn(),
                }
                return Step::Sort;
            }
            _ => return Step::Passed,
        }
        Step::Done
    }

    pub(crate) fn arrange<S: ?Sized>(&mut self, columns: &[Column<S>], language: Language, area: Rect) {
        if let Some(over) = &mut self.over {
            over.arrange(columns, language, area);
        }
    }

    /// The mouse was pressed: on a title it sorts.
    pub(crate) fn click<S: ?Sized>(
        &mut self,
        at: Position,
        columns: &[Column<S>],
        gutter: bool,
        language: Language,
        area: Rect,
    ) -> Step {
        if let Some(over) = &mut self.over {
            over.click(at, columns, language, area);
            return Step::Done;
        }
        let Some(column) = self.layout.column_at(columns, area, gutter, at) else { return Step::Passed };
        self.layout.sort_by(column);
        Step::Sort
    }

    /// Draws what lies over the table; false where nothing does.
    pub(crate) fn draw_over<S: ?Sized>(
        &self,
        columns: &[Column<S>],
        language: Language,
        frame: &mut Frame<'_>,
        area: Rect,
    ) -> bool {
        if let Some(over) = &self.over {
            over.draw(columns, &self.layout, language, frame, area);
        }
        self.over.is_some()
    }
}
