//! The trait of the trainers of word vectors: word2vec, GloVe and fastText, each in its own file.

use std::path::Path;

use anyhow::Result;

use super::window::WindowText;
use inkstone_base::job::Ctx;

/// A trainer of word vectors, with the parameters of a window.
pub(crate) trait WordVectorTrainer: Sync {
    /// Name of the model and of its section in the configuration.
    fn name(&self) -> &'static str;

    /// Fails on parameters out of range; the message names flags.
    fn check(&self) -> Result<()>;

    /// Values of a vector.
    fn dim(&self) -> usize;

    /// Unit of the progress.
    fn unit(&self) -> &'static str {
        "words"
    }

    /// Number of times that the progress counts each word of a window, where that is known.
    fn passes(&self) -> Option<u64>;

    /// The vectors of a window's kept words, one after the other; scratch files are made in `folder`.
    fn train(&self, text: &WindowText, folder: &Path, ctx: &Ctx) -> Result<Vec<f32>>;
}
