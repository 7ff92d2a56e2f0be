//! Inkstone (砚): a workbench for research on Chinese finance text, from raw news and reports to a tested factor.
//!
//! The modules are listed in the order of the data; ARCHITECTURE.md is the map.

pub mod config;
pub mod pipeline;

pub mod cli;
pub mod command;
pub mod headless;
pub mod train;
