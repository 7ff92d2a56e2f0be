//! Versions of the stages' code, each a part of the key of its stage: raising one makes the stage run again, and then what reads from it.
//!
//! Stages that keep parts or rows from run to run have their version in their module, where it also keeps them from using old ones.
//! Ingest has no key, and its version in its log.

use inkstone_corpus::{clean, link};
use inkstone_features::extract;
use inkstone_models::TONE_VERSION;
use inkstone_text::CODE_VERSION;

pub(super) const CLEAN: u32 = clean::VERSION;
pub(super) const LINK: u32 = link::VERSION;
pub(super) const STRUCTURE: u32 = 3;
/// Versions of the stage, of cutting text and of the tone of lexicons.
pub(super) const EXTRACT: (u32, &str, u32) = (extract::VERSION, CODE_VERSION, TONE_VERSION);
pub(super) const FACTOR: u32 = 5;
pub(super) const BACKTEST: u32 = 6;
pub(super) const EVENTS: u32 = 5;
pub(super) const LINT: u32 = 7;
pub(super) const EXPORT: u32 = 3;
pub(super) const REPORT: u32 = 5;
/// Version of the cells of experiments.
pub(super) const EXPERIMENT: u32 = 4;
