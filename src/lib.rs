//! Inkstone (砚): a workbench for research on Chinese finance text, from raw news and reports to a tested factor.
//!
//! The modules are listed in the order of the data; ARCHITECTURE.md is the map.

pub mod data;
pub mod disk;
mod figures;
pub mod job;
mod language;
pub mod lock;
pub mod memory;
pub mod project;
mod remedy;
mod shell;
mod signals;
mod simd;
mod stats;
mod width;

pub mod demo;

pub mod corpus;
pub mod ingest;
mod made;
pub mod market;

pub mod clean;
pub mod link;

pub mod text;

pub mod model;

pub mod structure;
pub mod truncate;

pub mod plain;

pub mod extract;
pub mod inspect;
pub mod store;

pub mod factor;

pub mod backtest;
pub mod experiment;
pub mod ledger;
pub mod lint;

pub mod export;
pub mod report;

pub mod config;
pub mod pipeline;

pub mod cli;
pub mod command;
pub mod headless;
pub mod tui;

#[cfg(test)]
#[path = "../tests/common/not_tried.rs"]
mod not_tried;
