//! Flags of `train lsa`.

use clap::Args;

use super::Vectorize;

/// Flags of `train lsa`: those of `train tfidf`, whose rows are decomposed, and the decomposition's own.
#[derive(Debug, Args)]
pub struct Lsa {
    /// The rows, the corpus and the model file.
    #[command(flatten)]
    pub vectorize: Vectorize,
    /// Dimensions.
    #[arg(long, value_name = "N", visible_alias = "n-components", default_value_t = 100)]
    pub dim: usize,
    /// By how much, as a share, a singular value may be too small.
    #[arg(long, value_name = "X", default_value_t = 0.001)]
    pub tolerance: f64,
}
