//! Flags of `train sestm`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_text::DfLimit;

/// Flags of `train sestm`. Where several values are given, the best is chosen on the latest documents.
#[derive(Debug, Args)]
pub struct Sestm {
    /// What it is fitted on: JSON lines with "value", the return around the text; "time" and "group" if there are.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Words that each side keeps, those farthest from the base rate; 0: by --alpha-plus and --alpha-minus.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "100", value_parser = flag::<usize>("feature.sestm.words"))]
    pub words: Vec<usize>,
    /// With --words 0: how far above the base rate the share of positive returns of a word must be.
    #[arg(long, value_name = "A", default_value_t = 0.05, value_parser = flag::<f64>("feature.sestm.alpha_plus"))]
    pub alpha_plus: f64,
    /// With --words 0: how far below.
    #[arg(long, value_name = "A", default_value_t = 0.05, value_parser = flag::<f64>("feature.sestm.alpha_minus"))]
    pub alpha_minus: f64,
    /// Documents that a word must be in: a count, or a share with a point.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "0.01")]
    pub kappa: Vec<DfLimit>,
    /// Strength of the penalty that draws a score to the middle, above 0.
    #[arg(long, value_name = "L,L", value_delimiter = ',', default_value = "1.0", value_parser = flag::<f64>("feature.sestm.lambda"))]
    pub lambda: Vec<f64>,
    /// Share of the documents, the latest, on which the best of several values is chosen.
    #[arg(long, value_name = "S", default_value_t = 0.25, value_parser = flag::<f64>("feature.sestm.tune.validation"))]
    pub validation: f64,
}
