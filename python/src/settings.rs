//! Settings as Python's keyword arguments give them: JSON, with the names of `workbench.toml`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

/// Reads the settings of a `function`. A name that it has not is a TypeError, as for any argument of Python.
pub(crate) fn read<T: DeserializeOwned>(function: &str, json: &str) -> PyResult<T> {
    let mut unknown = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(json);
    let settings = serde_ignored::deserialize(&mut reader, |path| unknown.push(path.to_string()));
    let settings = settings.map_err(|error| PyValueError::new_err(format!("{function}: {error}")))?;
    match unknown.first().and_then(|path| path.rsplit('.').next()) {
        Some(name) => Err(PyTypeError::new_err(format!("{function}() has no setting {name:?}"))),
        None => Ok(settings),
    }
}
