//! The module `inkstone._native`: text and models in the process of Python. What it gives is wrapped by the Python files beside it.
//!
//! Every call that may take long runs on threads of its own (`call`), so that Ctrl-C is heard, other threads of Python go on, and a fork
//! between calls finds no thread of ours.

mod arrow;
mod call;
mod files;
mod folds;
mod model;
mod settings;
mod text;
mod values;

/// The module.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow::{Frame, ResultColumn};
    #[pymodule_export]
    use super::files::{read_setting, write_lines, write_parquet};
    #[pymodule_export]
    use super::folds::time_folds;
    #[pymodule_export]
    use super::model::{NativeMapper, NativeModel};
    #[pymodule_export]
    use super::text::{Tokenizer, keywords, normalise, sentences};
}
