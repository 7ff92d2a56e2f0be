//! Inkstone (砚): a workbench for research on Chinese finance text, from raw news and reports to a tested factor.
//!
//! The modules are listed in the order of the data; ARCHITECTURE.md is the map.

pub mod data;
pub mod disk;
pub mod job;

pub mod market;
pub mod project;

pub mod corpus;

pub mod backtest;

pub mod tui;
