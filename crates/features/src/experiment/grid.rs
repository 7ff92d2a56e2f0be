//! Progress of an experiment: every cell of its grid, written anew whenever one of them has changed, so that a screen can show
//! the grid as it fills.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::names::{cell_name, setting_names};
use inkstone_base::disk;
use inkstone_base::language::{Message, Word};

/// The cells of an experiment, while it runs and after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    pub name: String,
    /// The figure of its cells: `rank_ic` or `macro_f1`.
    pub measure: String,
    /// Paths of the settings that vary, in order.
    pub vary: Vec<String>,
    /// Cells in the order of features and combinations of settings.
    pub cells: Vec<GridCell>,
}

/// One combination of settings, put over one feature.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridCell {
    pub feature: String,
    /// Settings of the cell in one line: `layers=last:4 · pooling=cls`.
    pub setting: String,
    /// The value of each setting of [`Grid::vary`].
    pub values: Vec<String>,
    /// The name that its stage has.
    pub stage: String,
    pub state: CellState,
}

impl GridCell {
    /// A cell that waits; `values` are those of the settings at `paths`.
    pub fn new(feature: &str, paths: &[String], values: Vec<String>) -> GridCell {
        let setting = setting_names(paths, &values);
        let stage = cell_name(feature, &setting);
        GridCell { feature: feature.to_owned(), setting, values, stage, state: CellState::Waiting }
    }

    /// Feature and settings of the cell.
    pub fn name(&self) -> String {
        cell_name(&self.feature, &self.setting)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellState {
    #[default]
    Waiting,
    Running,
    /// The figure is of all dates or documents of the cell, before cells are compared on those that all have; none where
    /// there is none.
    Done(Option<f64>),
    /// The reason for which it could not be computed.
    Skipped(Message),
}

impl Grid {
    /// Notes where the cell of this number stands, and writes the grid to the folder of the experiment.
    pub fn note(&mut self, number: usize, state: CellState, folder: &Path) -> Result<()> {
        self.cells.get_mut(number).context(Word("网格应有该单元", "the grid has the cell"))?.state = state;
        disk::write_json(&Grid::path(folder), self)
    }

    /// The grid of an experiment; none where it never ran.
    pub fn read(folder: &Path) -> Result<Option<Grid>> {
        let path = Grid::path(folder);
        path.exists().then(|| disk::read_json(&path)).transpose()
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join("grid.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_read_back_as_it_was_noted() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Grid::read(dir.path()).unwrap(), None);
        let vary = vec!["truncate".to_owned()];
        let cells = ["tone", "bert"].into_iter().flat_map(|feature| {
            let cell = |strategy: &str| GridCell::new(feature, &["truncate".to_owned()], vec![strategy.to_owned()]);
            ["head:128", "tail:128"].map(cell)
        });
        let mut grid = Grid { name: "long".into(), measure: "rank_ic".into(), cells: cells.collect(), vary };
        grid.note(1, CellState::Done(Some(0.25)), dir.path()).unwrap();
        grid.note(2, CellState::Skipped(Message::same("too long")), dir.path()).unwrap();
        assert!(grid.note(4, CellState::Running, dir.path()).is_err());
        assert_eq!(Grid::read(dir.path()).unwrap(), Some(grid.clone()));
        let states: Vec<&CellState> = grid.cells.iter().map(|cell| &cell.state).collect();
        assert_eq!(states[0], &CellState::Waiting);
        assert_eq!((grid.cells[1].name(), grid.cells[2].name()), ("tone · tail:128".into(), "bert · head:128".into()));
    }
}
