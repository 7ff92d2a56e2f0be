//! Columns and frames of Python as files that the program reads.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use polars_core::prelude::{Column, DataType};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde::Serialize;

use inkstone_base::disk;
use inkstone_features::standalone::shanghai_times;
use inkstone_tables::frames;

use crate::arrow::{column_from, frame_from};
use crate::call;

/// A line of a file of documents.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
}

/// Writes documents as JSON lines; nulls of texts are empty texts. `values` are floats.
#[pyfunction]
#[pyo3(signature = (path, texts, titles=None, times=None, labels=None, values=None))]
pub(crate) fn write_lines(
    py: Python<'_>,
    path: PathBuf,
    texts: &Bound<'_, PyAny>,
    titles: Option<&Bound<'_, PyAny>>,
    times: Option<&Bound<'_, PyAny>>,
    labels: Option<&Bound<'_, PyAny>>,
    values: Option<Vec<f64>>,
) -> PyResult<()> {
    let column = |name, given: Option<&Bound<'_, PyAny>>| given.map(|given| column_from(name, given)).transpose();
    let texts = column_from("texts", texts)?;
    let (titles, times, labels) = (column("titles", titles)?, column("times", times)?, column("labels", labels)?);
    let rows = texts.len();
    let lengths = [&titles, &times, &labels].map(|column| column.as_ref().map_or(rows, Column::len));
    if lengths != [rows; 3] || values.as_ref().is_some_and(|values| values.len() != rows) {
        return Err(PyTypeError::new_err(format!(
            "there are {rows} texts, and another number of titles, times, labels or values"
        )));
    }
    call::run(py, rows, 0, move |_| {
        let times = times.as_ref().map(shanghai_times).transpose()?;
        let strings = |column: &Option<Column>| -> Result<Vec<Option<String>>> {
            let Some(column) = column else { return Ok(vec![None; rows]) };
            Ok(column.cast(&DataType::String)?.str()?.iter().map(|text| text.map(str::to_owned)).collect())
        };
        let (titles, labels) = (strings(&titles)?, strings(&labels)?);
        disk::write_atomic(&path, |out| {
            for (row, text) in texts.str().context("texts are no texts")?.iter().enumerate() {
                let line = Line {
                    title: titles[row].as_deref(),
                    text: text.unwrap_or_default(),
                    time: times
                        .as_ref()
                        .and_then(|times| times[row])
                        .map(|time| time.format("%Y-%m-%d %H:%M:%S").to_string()),
                    label: labels[row].as_deref(),
                    value: values.as_ref().map(|values| values[row]).filter(|value| !value.is_nan()),
                };
                serde_json::to_writer(&mut *out, &line)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })
    })
}

/// Writes a frame as Parquet. Times with a zone become those of Shanghai without one.
#[pyfunction]
pub(crate) fn write_parquet(py: Python<'_>, path: PathBuf, frame: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut frame = frame_from(frame)?;
    call::run(py, 1, 0, move |_| {
        for column in frame.columns().to_vec() {
            if matches!(column.dtype(), DataType::Datetime(_, Some(_))) {
                let times = shanghai_times(&column)?;
                frame.with_column(inkstone_tables::corpus::times_column(column.name(), times.into_iter())?)?;
            }
        }
        frames::write_parquet(&path, &mut frame)
    })
}

/// A text of a configuration, `[section] name`; none where it is not there.
#[pyfunction]
pub(crate) fn read_setting(path: PathBuf, section: &str, name: &str) -> PyResult<Option<String>> {
    let read = || -> Result<Option<String>> {
        let shown = || format!("cannot read {}", path.display());
        let text = std::fs::read_to_string(&path).with_context(shown)?;
        let settings: toml::Table = toml::from_str(text.trim_start_matches('\u{feff}')).with_context(shown)?;
        let setting = settings.get(section).and_then(|section| section.get(name));
        Ok(setting.and_then(toml::Value::as_str).map(str::to_owned))
    };
    read().map_err(|error| call::exception(&error))
}
