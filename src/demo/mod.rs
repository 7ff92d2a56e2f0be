//! The demo: a synthetic market of Chinese companies, news and reports whose truth is known, written as vendors deliver.
//!
//! Nothing in it is real but the calendar. Each document has a *tone* in [-1, 1], (P - N) / (P + N) over the positive
//! and negative phrases that were written into it (after negation); the tones move the prices, and [`Truth`] records
//! how. So a reader of the text can be held to account: the RankIC that it finds is known beforehand.
//!
//! Documents are made day by day and written at once; memory holds a day of them and the date x code panels, however
//! large the corpus. Equal [`Params`] give equal bytes, whatever the thread count.

mod calendar;
mod companies;
mod grammar;
mod rng;
mod truth;

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::data::Report;
use crate::job::Ctx;
pub use truth::{Effect, Planted, SecurityCounts, SourceTruth, Truth};

/// What to generate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Size: 1 is 200 securities, 8,000 news items and 1,500 reports over two years; each of the three grows with it
    /// (securities up to 4,000). From 0.05.
    pub scale: f64,
    /// Seed of everything drawn.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params { scale: 1.0, seed: 7 }
    }
}
