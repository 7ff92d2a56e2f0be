//! Tables that are described by their columns.
//!
//! A page gives a [`TableKind`]: its columns, each with a title, a width and the cell of a row, and a key that tells rows apart. The table
//! brings the rest: sorting by any column, columns that are chosen, hidden, moved and scrolled, the frequencies and the summary of a
//! column, marked rows, copies, and the memory of all that. [`TableView`] keeps a list in memory; a page whose list is made on a thread
//! uses [`TableLayout`], [`Overlay`] and [`Counting`] and [`Summary`] alone. A [`ListSheet`] owns its rows, whose cells are made once.
//!
//! [`Zoom`] is the switch by which the pane with the focus has the whole page.

mod column;
mod count;
mod layout;
mod overlay;
mod sheet;
mod summary;
#[cfg(test)]
mod tests;
mod view;
mod words;
mod zoom;

pub(crate) use column::{Cell, Column, TableKind, Title, Value};
pub(crate) use count::{Counting, Group};
pub(crate) use layout::{Sorting, TableLayout, TableRow};
pub(crate) use overlay::{Answer, Content, Overlay};
pub(crate) use sheet::{ListSheet, SheetRow, number, text};
pub(crate) use summary::Summary;
pub(crate) use view::TableView;
pub(crate) use zoom::Zoom;
