//! workbench.toml.
#[allow(dead_code)]
mod check;
