//! The model of a file, of any kind, as a feature of a project.

pub(crate) mod project;

pub use project::{FileParams, check_file_columns};
