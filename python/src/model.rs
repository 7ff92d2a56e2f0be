//! Models of any kind, from their files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use chrono::NaiveDate;
use polars_core::prelude::{Column, DataFrame};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use serde::Deserialize;

use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_features::models;
use inkstone_features::models::head::model_key;
use inkstone_features::models::onnx::Contextual;
use inkstone_features::standalone::{
    Columns, Fitted, FrameDocuments, FrameMapper, Line, NightWatch, Rows, model_columns, nearest_words,
};
use inkstone_onnx::{OnnxParams, RuntimeParams};
use inkstone_text::Truncation;

use crate::arrow::{Frame, ResultColumn, column_from};
use crate::call::{self, exception};
use crate::settings;

/// The settings that open a model.
#[derive(Deserialize)]
struct Opening {
    /// For contextual models, and `fitted_until` for all.
    onnx: OnnxParams,
    runtime: RuntimeParams,
    truncation: Truncation,
    encoder: Option<PathBuf>,
}

/// A model of any kind, ready for texts. Threads may share it; a forked child may not.
#[pyclass(frozen, module = "inkstone._native")]
pub(crate) struct NativeModel {
    model: Arc<dyn Fitted>,
    columns: Columns,
    fitted_until: Option<NaiveDate>,
    key: Key,
    process: u32,
}

impl Drop for NativeModel {
    fn drop(&mut self) {
        // In a forked child the model's threads are gone, and to wait for their end would take for ever.
        if self.process != std::process::id() {
            std::mem::forget(self.model.clone());
        }
    }
}

/// Rows of a model as Python's wrapper takes them.
#[derive(IntoPyObject)]
enum NativeRows<'py> {
    /// Bytes of float32 `[texts, columns]`, and the number of columns.
    Dense(Bound<'py, PyByteArray>, usize),
    /// Bytes of the parts of a CSR matrix, which are values (float32), indices (int32) and row ends (int64), and the number of columns.
    Sparse(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, usize),
    Table(Frame),
}

/// Rows of the texts of a column.
struct ColumnRows {
    /// False for nulls, which have no row.
    read: Vec<bool>,
    chunks: Vec<(usize, Rows)>,
}

impl NativeModel {
    /// The rows of a column of texts.
    fn text_rows(&self, titles: Option<&Column>, texts: &Column, ctx: &Ctx) -> Result<ColumnRows> {
        let titles = titles.map(|titles| titles.str()).transpose()?;
        let texts = texts.str()?;
        let title = |row| titles.and_then(|titles| titles.get(row)).unwrap_or_default();
        let mut lines: Vec<Line<'_>> = Vec::new();
        for (row, text) in texts.iter().enumerate() {
            lines.extend(text.map(|text| Line {
                number: row as u64 + 1,
                title: title(row).into(),
                text: text.into(),
                ..Line::default()
            }));
        }
        let read = texts.iter().map(|text| text.is_some()).collect();
        let chunks = if lines.is_empty() { Vec::new() } else { self.model.many(&lines, ctx)? };
        Ok(ColumnRows { read, chunks })
    }
}

#[pymethods]
impl NativeModel {
    /// Opens the model of a file or folder. `settings` is the JSON of an [`Opening`].
    #[new]
    #[pyo3(signature = (path, settings, threads=0))]
    fn new(py: Python<'_>, path: PathBuf, settings: &str, threads: usize) -> PyResult<NativeModel> {
        let Opening { onnx: params, runtime, truncation, encoder } = settings::read("open_model", settings)?;
        let fitted_until = params.fitted_until;
        // Whoever passes a library to a function has chosen it.
        let runtime = RuntimeParams { trusted: true, ..runtime };
        let using = Contextual { params, truncation, runtime, encoder, ..Contextual::default() };
        call::run(py, 1, 1, move |_| {
            // Some models keep the context that they are opened in, and that of a call is cancelled at its end.
            let ctx = Ctx::new(threads, 1)?;
            let (model, _) = models::open_with(&path, None, None, Path::new(""), &using, &ctx)?;
            let key = model_key(&path, &using.params)?;
            let process = std::process::id();
            Ok(NativeModel { columns: model.columns()?, model: model.into(), fitted_until, key, process })
        })
    }

    /// The kind of the model, as in `inkstone train`.
    #[getter]
    fn kind(&self) -> &str {
        self.model.name()
    }

    /// The digest of the model's files.
    #[getter]
    fn key(&self) -> String {
        self.key.to_string()
    }

    /// The process that opened the model.
    #[getter]
    fn process(&self) -> u32 {
        self.process
    }

    /// The names of the columns of rows; none for sparse rows without names.
    #[getter]
    fn columns(&self) -> Vec<String> {
        match &self.columns {
            Columns::Sparse { names, .. } | Columns::Dense(names) => names.clone(),
            Columns::Table { text, numbers } => text.iter().chain(numbers).cloned().collect(),
        }
    }

    /// The last time of the data that the model was fitted on; None where neither the model nor the user says it.
    #[getter]
    fn fitted_until(&self) -> Option<chrono::NaiveDateTime> {
        self.frame_mapper(1.0).ok().map(|mapper| mapper.fitted_until())
    }

    /// The rows of texts.
    #[pyo3(signature = (texts, titles=None, threads=0))]
    fn rows<'py>(
        slf: Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        titles: Option<&Bound<'py, PyAny>>,
        threads: usize,
    ) -> PyResult<NativeRows<'py>> {
        let (py, column) = (slf.py(), column_from("texts", texts)?);
        let titles = titles.map(|titles| column_from("titles", titles)).transpose()?;
        let model = slf.unbind();
        let (documents, shared) = (column.len(), model.clone_ref(py));
        let rows = call::run(py, documents, threads, move |ctx| shared.get().text_rows(titles.as_ref(), &column, ctx))?;
        let made = match &model.get().columns {
            Columns::Dense(names) => dense(py, &rows, names.len()),
            Columns::Sparse { width, .. } => sparse(py, &rows, *width),
            columns @ Columns::Table { .. } => table(columns, &rows),
        };
        made.map_err(|error| exception(&error))
    }

    /// The time from which on rows of documents of these times are known.
    fn known_at(&self, times: &Bound<'_, PyAny>) -> PyResult<ResultColumn> {
        let times = column_from("times", times)?;
        let known = self.frame_mapper(1.0).and_then(|mapper| mapper.known_at(&times));
        Ok(ResultColumn::of(&known.map_err(|error| exception(&error))?))
    }

    /// The columns that a mapper gives before `known_at`: each with `text`, `number`, `vector` or `indices`.
    #[getter]
    fn map_columns(&self) -> Vec<(String, &'static str)> {
        match &self.columns {
            Columns::Dense(_) => vec![("vector".to_owned(), "vector")],
            Columns::Sparse { .. } => vec![("indices".to_owned(), "indices"), ("values".to_owned(), "vector")],
            Columns::Table { text, numbers } => {
                let numbers = numbers.iter().map(|name| (name.clone(), "number"));
                text.iter().map(|name| (name.clone(), "text")).chain(numbers).collect()
            }
        }
    }

    /// The model as a mapper of documents.
    fn mapper(&self, allow_night: f64) -> PyResult<NativeMapper> {
        let mapper = self.frame_mapper(allow_night).map_err(|error| exception(&error))?;
        Ok(NativeMapper { mapper: Mutex::new(mapper), process: self.process })
    }

    /// The score of a text taken apart, as JSON.
    #[pyo3(signature = (text, of, top))]
    fn explain(slf: Bound<'_, Self>, text: String, of: Option<String>, top: usize) -> PyResult<String> {
        let py = slf.py();
        let model = slf.unbind();
        call::run(py, 1, 0, move |_| {
            let line = Line { number: 1, text: text.into(), ..Line::default() };
            Ok(serde_json::to_string(&model.get().model.explain(&line, of.as_deref())?.keep(top))?)
        })
    }

    /// The words nearest to others, as JSON.
    fn nearest(slf: Bound<'_, Self>, words: Vec<String>, k: usize) -> PyResult<String> {
        let py = slf.py();
        let model = slf.unbind();
        call::run(py, usize::MAX, 0, move |ctx| {
            Ok(serde_json::to_string(&nearest_words(&*model.get().model, &words, k, ctx)?)?)
        })
    }
}

impl NativeModel {
    fn frame_mapper(&self, allow_night: f64) -> Result<FrameMapper> {
        FrameMapper::new(self.model.clone(), self.fitted_until, "fitted_until", NightWatch::new(allow_night))
    }
}

/// A model on documents, batch after batch.
#[pyclass(frozen, module = "inkstone._native")]
pub(crate) struct NativeMapper {
    mapper: Mutex<FrameMapper>,
    process: u32,
}

#[pymethods]
impl NativeMapper {
    /// The process of the model.
    #[getter]
    fn process(&self) -> u32 {
        self.process
    }

    /// The columns of documents and `known_at`.
    #[pyo3(signature = (texts, times, titles=None, threads=0))]
    fn map<'py>(
        slf: Bound<'py, Self>,
        texts: &Bound<'py, PyAny>,
        times: &Bound<'py, PyAny>,
        titles: Option<&Bound<'py, PyAny>>,
        threads: usize,
    ) -> PyResult<Frame> {
        let (texts, times) = (column_from("texts", texts)?, column_from("times", times)?);
        let titles = titles.map(|titles| column_from("titles", titles)).transpose()?;
        let py = slf.py();
        let mapper = slf.unbind();
        let frame = call::run(py, texts.len(), threads, move |ctx| {
            let documents = FrameDocuments { titles: titles.as_ref(), texts: &texts, times: &times };
            mapper.get().mapper.lock().unwrap_or_else(PoisonError::into_inner).map(&documents, ctx)
        })?;
        Ok(Frame::new(frame))
    }
}

const OTHER_KIND: &str = "rows of another kind than their columns";

/// Vectors; NaN for a null.
fn dense<'py>(py: Python<'py>, rows: &ColumnRows, width: usize) -> Result<NativeRows<'py>> {
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(rows.read.len() * width * size_of::<f32>())?;
    let mut given = rows.chunks.iter().flat_map(|(count, rows)| (0..*count).map(move |row| (rows, row)));
    let missing = vec![f32::NAN; width];
    for read in &rows.read {
        let vector = match read.then(|| given.next()).flatten() {
            Some((Rows::Dense(values), row)) => &values[row * width..][..width],
            Some(_) => bail!(OTHER_KIND),
            None => &missing,
        };
        bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
    }
    Ok(NativeRows::Dense(PyByteArray::new(py, &bytes), width))
}

/// Sparse rows; an empty one for a null.
fn sparse<'py>(py: Python<'py>, rows: &ColumnRows, width: usize) -> Result<NativeRows<'py>> {
    let (mut values, mut indices, mut ends) = (Vec::new(), Vec::new(), 0_i64.to_le_bytes().to_vec());
    let mut given = rows.chunks.iter().flat_map(|(count, rows)| (0..*count).map(move |row| (rows, row)));
    let mut end = 0_i64;
    for read in &rows.read {
        match read.then(|| given.next()).flatten() {
            Some((Rows::Sparse(rows), row)) => {
                let row = rows.row(row);
                values.extend(row.values.iter().flat_map(|value| value.to_le_bytes()));
                indices.extend(row.indices.iter().flat_map(|index| index.to_le_bytes()));
                end += row.values.len() as i64;
            }
            Some(_) => bail!(OTHER_KIND),
            None => {}
        }
        ends.extend(end.to_le_bytes());
    }
    let bytes = |bytes: &[u8]| PyByteArray::new(py, bytes);
    Ok(NativeRows::Sparse(bytes(&values), bytes(&indices), bytes(&ends), width))
}

/// Figures; nulls for a null.
fn table<'py>(columns: &Columns, rows: &ColumnRows) -> Result<NativeRows<'py>> {
    let made = model_columns(columns, &rows.chunks, &rows.read)?;
    Ok(NativeRows::Table(Frame::new(DataFrame::new(rows.read.len(), made)?)))
}
