//! GloVe of a window.

use std::path::Path;

use anyhow::Result;

use super::WindowGlove;
use crate::extract::entry::ModelEntry;
use crate::extract::vintages;
use crate::extract::vintages::trainer::WordVectorTrainer;
use crate::extract::vintages::window::WindowText;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{CooccurrenceParams, GloveParams, PairCounter, PairWeighting, Pairs};

/// The count from which all pairs have the same weight: 10, as the demo of the authors' program takes for 100 MB of text. Their 100 is for
/// billions of words.
const X_MAX: f64 = 10.0;

impl WindowGlove {
    fn params(&self) -> GloveParams {
        let WindowGlove { dim, epochs, lr, .. } = *self;
        GloveParams { dim, epochs, lr, x_max: X_MAX }
    }
}

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    settings: &["words", "vintages", "pooling", "glove"],
    ..vintages::entry(|feature| Box::new(feature.glove.clone()))
};

impl WordVectorTrainer for WindowGlove {
    fn name(&self) -> &'static str {
        "glove"
    }

    fn check(&self) -> Result<()> {
        ensure!(
            (1..=1000).contains(&self.window),
            "--window 为 {}；须在 1 到 1000 之间",
            "--window is {}; it lies from 1 to 1000",
            self.window
        );
        self.params().check()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn unit(&self) -> &'static str {
        "pairs"
    }

    fn passes(&self) -> Option<u64> {
        None
    }

    fn train(&self, text: &WindowText, folder: &Path, ctx: &Ctx) -> Result<Vec<f32>> {
        let counting = CooccurrenceParams {
            window: self.window,
            weighting: PairWeighting::Harmonic,
            ..CooccurrenceParams::default()
        };
        let counts = PairCounter::count(text.words.len(), text.sequences(), &counting, folder, ctx)?;
        let params = &self.params();
        Ok(Pairs::new(&counts, params, folder, ctx)?.train(params, None, ctx)?.values)
    }
}
