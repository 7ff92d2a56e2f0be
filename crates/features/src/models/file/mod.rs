//! The model of a file, of any kind, as a feature of a project.

pub(crate) mod params;
pub(crate) mod project;

pub use params::FileParams;
pub use project::check_file_columns;
