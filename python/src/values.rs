//! Arrays as Python's own values.

use polars_arrow::array::{
    Array, BooleanArray, Float32Array, Float64Array, Int32Array, ListArray, PrimitiveArray, StructArray, Utf8Array,
};
use polars_arrow::datatypes::{ArrowDataType, TimeUnit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The values of an array, with None for nulls; rows are dicts, and times are datetimes without a zone.
pub(crate) fn list<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Bound<'py, PyAny>> {
    let any = array.as_any();
    let values = if let Some(texts) = any.downcast_ref::<Utf8Array<i64>>() {
        PyList::new(py, texts.iter())?
    } else if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        PyList::new(py, numbers.iter())?
    } else if let Some(numbers) = any.downcast_ref::<Float32Array>() {
        PyList::new(py, numbers.iter())?
    } else if let Some(numbers) = any.downcast_ref::<Int32Array>() {
        PyList::new(py, numbers.iter())?
    } else if let Some(flags) = any.downcast_ref::<BooleanArray>() {
        PyList::new(py, flags.iter())?
    } else if let Some(lists) = any.downcast_ref::<ListArray<i64>>() {
        let inner = lists.iter().map(|inner| inner.map(|inner| list(py, &*inner)).transpose());
        PyList::new(py, inner.collect::<PyResult<Vec<_>>>()?)?
    } else if let Some(rows) = any.downcast_ref::<StructArray>() {
        let columns = rows.values().iter().map(|values| list(py, &**values)).collect::<PyResult<Vec<_>>>()?;
        let row = |place: usize| -> PyResult<Bound<'py, PyDict>> {
            let row = PyDict::new(py);
            for (field, values) in rows.fields().iter().zip(&columns) {
                row.set_item(field.name.as_str(), values.get_item(place)?)?;
            }
            Ok(row)
        };
        PyList::new(py, (0..rows.len()).map(row).collect::<PyResult<Vec<_>>>()?)?
    } else if let (ArrowDataType::Timestamp(TimeUnit::Microsecond, _), Some(ticks)) =
        (array.dtype(), any.downcast_ref::<PrimitiveArray<i64>>())
    {
        let time = |ticks: &i64| chrono::DateTime::from_timestamp_micros(*ticks).map(|time| time.naive_utc());
        PyList::new(py, ticks.iter().map(|ticks| ticks.and_then(time)))?
    } else {
        return Err(PyTypeError::new_err(format!("a column of {:?} has no list: use to_arrow()", array.dtype())));
    };
    Ok(values.into_any())
}
