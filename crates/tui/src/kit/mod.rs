//! Tables that are described by their columns.
//!
//! A page describes the columns of a [`ListSheet`], each with a title and a width, and makes a cell for each row and column. The sheet
//! brings the rest: sorting by any column, columns that are chosen, hidden, moved and scrolled, the frequencies and the summary of a
//! column, marked rows, copies, and the memory of all that. A page whose rows are too many to be made at once, and are listed on a
//! thread, uses [`TableHead`], [`Counting`] and [`Summary`] alone.
//!
//! [`Zoom`] is the switch by which the pane with the focus has the whole page.

mod column;
mod count;
mod head;
mod layout;
mod overlay;
mod sheet;
mod summary;
#[cfg(test)]
mod tests;
mod words;
mod zoom;

pub(crate) use column::{Cell, Column, Title, Value};
pub(crate) use count::{Counting, Group};
pub(crate) use head::{Step, TableHead};
pub(crate) use layout::{Sorting, TableRow};
pub(crate) use overlay::{Content, Overlay};
pub(crate) use sheet::{ListSheet, SheetColumn, SheetRow, number, text};
pub(crate) use summary::Summary;
pub(crate) use zoom::Zoom;
