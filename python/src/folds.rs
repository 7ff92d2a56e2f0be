//! Folds of cross-validation.

use anyhow::{Context, Result};
use chrono::TimeDelta;
use pyo3::prelude::*;

use inkstone_features::standalone::shanghai_times;
use inkstone_models::{FoldParams, FoldRows, FoldsBy, Goal, draw_folds};

use crate::arrow::column_from;
use crate::call::exception;

/// Stretches of time with the rows that train for each and the rows that test; see `inkstone.PurgedTimeSplit`.
#[pyfunction]
pub(crate) fn time_folds(
    times: &Bound<'_, PyAny>,
    folds: usize,
    label_days: u32,
    embargo_days: u32,
) -> PyResult<Vec<(Vec<usize>, Vec<usize>)>> {
    let times = column_from("times", times)?;
    let draw = || -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
        let spans = shanghai_times(&times)?.into_iter().enumerate().map(|(row, time)| {
            let time = time.with_context(|| format!("times[{row}] is no time that can be read"))?;
            Ok((time, time + TimeDelta::days(label_days.into())))
        });
        let rows = FoldRows { spans: spans.collect::<Result<_>>()?, groups: Vec::new() };
        let goal = Goal::Values(vec![0.0; times.len()]);
        let params = FoldParams { folds, by: FoldsBy::Time, embargo_days };
        Ok(draw_folds(&goal, &rows, &params, 1)?.into_iter().map(|split| (split.train, split.test)).collect())
    };
    draw().map_err(|error| exception(&error))
}
