//! Columns and frames of other libraries, through Arrow's capsules (the Arrow PyCapsule interface) or as Python's own values.

use std::ffi::CStr;

use anyhow::{Context, Result, bail};
use polars_arrow::array::{Array, StructArray};
use polars_arrow::datatypes::{ArrowDataType, Field};
use polars_arrow::ffi;
use polars_core::prelude::{
    Column, CompatLevel, DataFrame, DataType, IntoColumn, IntoSeries, PlSmallStr, SchemaExt, Series,
    StringChunkedBuilder,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
/// Number of values after which Ctrl-C is looked for again.
const HEAR_EVERY: usize = 4096;

/// Reads a column of `name`: an object with `__arrow_c_stream__` or `__arrow_c_array__`, or an iterable of str, None, and things with an
/// `isoformat` such as datetimes.
pub(crate) fn column_from(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Column> {
    if given.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("{name} is one str: give a list of them, or a column")));
    }
    let chunks = if given.hasattr("__arrow_c_stream__")? {
        stream(&given.call_method0("__arrow_c_stream__")?)?
    } else if given.hasattr("__arrow_c_array__")? {
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            given.call_method0("__arrow_c_array__")?.extract()?;
        vec![single(&schema, &array)?]
    } else {
        return values(name, given);
    };
    column_of(name, chunks).map_err(|error| PyTypeError::new_err(format!("{name}: {error:#}")))
}

/// Reads a frame: an object with `__arrow_c_stream__`.
pub(crate) fn frame_from(given: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
    if !given.hasattr("__arrow_c_stream__")? {
        let given = given.get_type();
        return Err(PyTypeError::new_err(format!(
            "a {} is no frame: give one of polars, pyarrow or pandas",
            given.name()?
        )));
    }
    let chunks = stream(&given.call_method0("__arrow_c_stream__")?)?;
    frame_of(chunks).map_err(|error| PyTypeError::new_err(format!("this frame cannot be read: {error:#}")))
}

fn frame_of(chunks: Vec<Box<dyn Array>>) -> Result<DataFrame> {
    let mut columns: Vec<(String, Vec<Box<dyn Array>>)> = Vec::new();
    let mut height = 0;
    for chunk in &chunks {
        let rows = chunk.as_any().downcast_ref::<StructArray>().context("it is a column, and no frame")?;
        height += rows.len();
        for (place, (field, values)) in rows.fields().iter().zip(rows.values()).enumerate() {
            match columns.get_mut(place) {
                Some((_, chunks)) => chunks.push(values.clone()),
                None => columns.push((field.name.to_string(), vec![values.clone()])),
            }
        }
    }
    let columns =
        columns.into_iter().map(|(name, chunks)| column_of(&name, chunks)).collect::<Result<Vec<Column>>>()?;
    Ok(DataFrame::new(height, columns)?)
}

fn column_of(name: &str, chunks: Vec<Box<dyn Array>>) -> Result<Column> {
    if let Some(ArrowDataType::Struct(fields)) = chunks.first().map(|chunk| chunk.dtype()) {
        bail!("this is a frame of {} columns: give one column of it", fields.len());
    }
    if chunks.is_empty() {
        return Ok(Series::new_empty(name.into(), &DataType::String).into_column());
    }
    let series = Series::try_from((PlSmallStr::from(name), chunks)).context("this column cannot be read")?;
    // Dictionaries hold texts, and a column of nothing may be one of texts.
    let as_texts = matches!(series.dtype(), DataType::Categorical(..) | DataType::Enum(..) | DataType::Null);
    Ok(if as_texts { series.cast(&DataType::String)? } else { series }.into_column())
}

/// Python's own values as a column of texts.
fn values(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Column> {
    let mut texts = StringChunkedBuilder::new(name.into(), 0);
    for (number, value) in given.try_iter()?.enumerate() {
        let value = value?;
        if number % HEAR_EVERY == 0 {
            given.py().check_signals()?;
        }
        if value.is_none() || value.ne(&value)? {
            texts.append_null();
        } else if let Ok(text) = value.cast::<PyString>() {
            texts.append_value(text.to_cow()?);
        } else if value.hasattr("isoformat")? {
            texts.append_value(value.call_method0("isoformat")?.extract::<String>()?);
        } else {
            return Err(PyTypeError::new_err(format!(
                "{name}[{number}] is a {}, and neither text nor time",
                value.get_type().name()?
            )));
        }
    }
    Ok(texts.finish().into_series().into_column())
}

/// The arrays of a stream.
#[allow(unsafe_code)]
fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<Box<dyn Array>>> {
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds an ArrowArrayStream (the Arrow PyCapsule interface), which is moved out of it: an empty one, which
    // the capsule has nothing to release of, stays behind.
    let stream = unsafe { pointer.cast::<ffi::ArrowArrayStream>().as_ptr().replace(ffi::ArrowArrayStream::empty()) };
    let broken = |error| PyValueError::new_err(format!("an Arrow stream cannot be read: {error}"));
    // SAFETY: the stream and its arrays fulfil Arrow's C interfaces, which their maker promises by the capsule's name.
    let mut reader = unsafe { ffi::ArrowArrayStreamReader::try_new(Box::new(stream)) }.map_err(broken)?;
    let mut chunks = Vec::new();
    // SAFETY: as above.
    while let Some(chunk) = unsafe { reader.next() } {
        chunks.push(chunk.map_err(broken)?);
    }
    Ok(chunks)
}

/// The array of the two capsules that `__arrow_c_array__` returns.
#[allow(unsafe_code)]
fn single(schema: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<Box<dyn Array>> {
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
    let broken = |error| PyValueError::new_err(format!("an Arrow array cannot be read: {error}"));
    // SAFETY: capsules of these names hold an ArrowSchema, which is only read, and an ArrowArray, which is moved out and replaced by an
    // empty one.
    let array = unsafe {
        let field = ffi::import_field_from_c(schema.cast::<ffi::ArrowSchema>().as_ref()).map_err(broken)?;
        let array = array.cast::<ffi::ArrowArray>().as_ptr().replace(ffi::ArrowArray::empty());
        ffi::import_array_from_c(array, field.dtype)
    };
    array.map_err(broken)
}

fn capsule<'py>(py: Python<'py>, field: Field, chunks: Vec<Box<dyn Array>>) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, ffi::export_iterator(Box::new(chunks.into_iter().map(Ok)), field), STREAM)
}

/// A column of results. Any library that takes Arrow streams reads it: `polars.Series(column)`, `pyarrow.chunked_array(column)`,
/// `pandas.Series(column.to_arrow())`.
#[pyclass(frozen, name = "Column", module = "inkstone")]
pub(crate) struct ResultColumn {
    name: String,
    array: Box<dyn Array>,
}

impl ResultColumn {
    pub(crate) fn new(name: &str, array: Box<dyn Array>) -> ResultColumn {
        ResultColumn { name: name.to_owned(), array }
    }

    pub(crate) fn of(column: &Column) -> ResultColumn {
        let series = column.as_materialized_series().rechunk();
        ResultColumn::new(column.name(), series.to_arrow(0, CompatLevel::oldest()))
    }
}

#[pymethods]
impl ResultColumn {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!("inkstone.Column({:?}, {} rows)", self.name, self.array.len())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the request.
        let _ = requested_schema;
        let field = Field::new(self.name.as_str().into(), self.array.dtype().clone(), true);
        capsule(py, field, vec![self.array.clone()])
    }

    /// A pyarrow.ChunkedArray.
    fn to_arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("chunked_array", (slf,))
    }

    /// A polars.Series.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let name = slf.get().name.clone();
        slf.py().import("polars")?.call_method1("Series", (name, slf))
    }

    /// A pandas.Series. Needs pyarrow.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let name = slf.get().name.clone();
        let series = ResultColumn::to_arrow(slf)?.call_method0("to_pandas")?;
        series.setattr("name", name)?;
        Ok(series)
    }

    /// Python's own values.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::values::list(py, &*self.array)
    }
}

/// A table of results. Any library that takes Arrow streams reads it: `polars.DataFrame(frame)`, `pyarrow.table(frame)`,
/// `pandas.DataFrame.from_arrow(frame)`.
#[pyclass(frozen, module = "inkstone")]
pub(crate) struct Frame {
    frame: DataFrame,
}

impl Frame {
    pub(crate) fn new(frame: DataFrame) -> Frame {
        Frame { frame }
    }
}

#[pymethods]
impl Frame {
    fn __len__(&self) -> usize {
        self.frame.height()
    }

    fn __repr__(&self) -> String {
        format!("inkstone.Frame({} rows of {})", self.frame.height(), self.columns().join(", "))
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.frame.get_column_names().into_iter().map(|name| name.to_string()).collect()
    }

    fn __getitem__(&self, name: &str) -> PyResult<ResultColumn> {
        let column = self.frame.column(name);
        column.map(ResultColumn::of).map_err(|_| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let level = CompatLevel::oldest();
        let fields: Vec<Field> = self.frame.schema().to_arrow(level).iter_values().cloned().collect();
        let dtype = ArrowDataType::Struct(fields);
        let chunks = self.frame.iter_chunks(level, false);
        let chunks =
            chunks.map(|chunk| StructArray::new(dtype.clone(), chunk.len(), chunk.into_arrays(), None).boxed());
        capsule(py, Field::new("".into(), dtype.clone(), false), chunks.collect())
    }

    /// A pyarrow.Table.
    fn to_arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// A polars.DataFrame.
    fn to_polars<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// A pandas.DataFrame. Needs pyarrow.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Frame::to_arrow(slf)?.call_method0("to_pandas")
    }
}
