//! Versions of the stages' code, each a part of the key of its stage: raising one makes the stage run again, and then what reads from it.
//!
//! Stages that keep parts or rows from run to run have their version in their module, where it also keeps them from using old ones.
//! Ingest has no key, and its version in its log.

use inkstone_corpus::{clean, link};
use inkstone_features::extract;
use inkstone_models::TONE_VERSION;
use inkstone_text::CODE_VERSION;

/// All stages once had one common version, 3, while the modules with a version of their own were at 1. The difference is still added, so
/// that the keys of the corpus, and the ids of the feature sets that depend on them, stay the same.
const COMMON: u32 = 2;

pub(super) const CLEAN: u32 = COMMON + clean::VERSION;
pub(super) const LINK: u32 = COMMON + link::VERSION;
pub(super) const STRUCTURE: u32 = 3;
/// Versions of the stage, of cutting text and of the tone of lexicons.
pub(super) const EXTRACT: (u32, &str, u32) = (COMMON + extract::VERSION, CODE_VERSION, TONE_VERSION);
pub(super) const FACTOR: u32 = 3;
pub(super) const BACKTEST: u32 = 3;
pub(super) const EVENTS: u32 = 3;
pub(super) const LINT: u32 = 5;
pub(super) const EXPORT: u32 = 3;
pub(super) const REPORT: u32 = 3;
/// Version of the cells of experiments.
pub(super) const EXPERIMENT: u32 = 4;
