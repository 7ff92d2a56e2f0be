//! Flags of `train lsa`.

use clap::Args;

use super::Vectorize;
use crate::config::bounds::flag;

/// Flags of `train lsa`: those of `train tfidf`, whose rows are decomposed, and the decomposition's own.
#[derive(Debug, Args)]
pub struct Lsa {
    /// The rows, the corpus and the model file.
    #[command(flatten)]
    pub vectorize: Vectorize,
    /// Dimensions.
    #[arg(long, value_name = "N", visible_alias = "n-components", default_value_t = 100, value_parser = flag::<usize>("feature.lsa.dim"))]
    pub dim: usize,
    /// By how much, as a share, a singular value may be too small.
    #[arg(long, value_name = "X", default_value_t = 0.001, value_parser = flag::<f64>("feature.lsa.tolerance"))]
    pub tolerance: f64,
}
