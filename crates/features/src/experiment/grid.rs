//! Progress of an experiment: every cell of its grid, written anew whenever one of them has changed, so that a screen can show
//! the grid as it fills.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use inkstone_base::disk;
use inkstone_corpus::truncate::Strategy;

/// The cells of an experiment, while it runs and after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    pub name: String,
    /// The figure of its cells: `rank_ic` or `macro_f1`.
    pub measure: String,
    /// Cells in the order of features and strategies, in which they are read.
    pub cells: Vec<GridCell>,
}

/// One strategy, read by one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridCell {
    pub feature: String,
    pub strategy: String,
    pub state: CellState,
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
    Skipped(String),
}

impl Grid {
    /// A grid of which nothing has been read.
    pub fn new(name: &str, measure: &str, features: &[String], strategies: &[Strategy]) -> Grid {
        let cell = |feature: &String, strategy: &Strategy| GridCell {
            feature: feature.clone(),
            strategy: strategy.to_string(),
            state: CellState::Waiting,
        };
        let cells = features.iter().flat_map(|feature| strategies.iter().map(move |strategy| cell(feature, strategy)));
        Grid { name: name.to_owned(), measure: measure.to_owned(), cells: cells.collect() }
    }

    /// Notes where the cell of this number stands, and writes the grid to the folder of the experiment.
    pub fn note(&mut self, number: usize, state: CellState, folder: &Path) -> Result<()> {
        self.cells.get_mut(number).context("the grid has the cell")?.state = state;
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
        let strategies = ["head:128", "tail:128"].map(|text| text.parse::<Strategy>().unwrap());
        let features = ["tone".to_owned(), "bert".to_owned()];
        let mut grid = Grid::new("long", "rank_ic", &features, &strategies);
        grid.note(1, CellState::Done(Some(0.25)), dir.path()).unwrap();
        grid.note(2, CellState::Skipped("too long".to_owned()), dir.path()).unwrap();
        assert!(grid.note(4, CellState::Running, dir.path()).is_err());
        assert_eq!(Grid::read(dir.path()).unwrap(), Some(grid.clone()));
        let states: Vec<&CellState> = grid.cells.iter().map(|cell| &cell.state).collect();
        assert_eq!(states[0], &CellState::Waiting);
        assert_eq!((grid.cells[1].feature.as_str(), grid.cells[1].strategy.as_str()), ("tone", "tail:128"));
        assert_eq!((grid.cells[2].feature.as_str(), grid.cells[2].strategy.as_str()), ("bert", "head:128"));
    }
}
