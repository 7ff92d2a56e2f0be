//! Flags of `train mix`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Onnx;
use crate::config::bounds::flag;
use inkstone_features::standalone::LineFormat;
use inkstone_onnx::MixParams;

/// Flags of `train mix`.
#[derive(Debug, Args)]
pub struct Mix {
    /// The folder of a contextual model that gives its hidden states.
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    /// Lines with a label; - is the standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// How lines are written; labels are in jsonl.
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub format: LineFormat,
    /// Also write the classifier that was learned with the weights: a head on the mixed layers, for eval, embed and explain.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Passes over the documents.
    #[arg(long, value_name = "N", default_value_t = MixParams::default().epochs, value_parser = flag::<usize>("--epochs"))]
    pub epochs: usize,
    /// Rate of learning.
    #[arg(long, value_name = "R", default_value_t = MixParams::default().lr, value_parser = flag::<f64>("--lr"))]
    pub lr: f64,
    /// Penalty on weights.
    #[arg(long, value_name = "L", default_value_t = MixParams::default().l2, value_parser = flag::<f64>("--weight"))]
    pub l2: f64,
    #[command(flatten)]
    pub onnx: Onnx,
}
