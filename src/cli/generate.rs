//! Flags of `generate`.

use std::path::PathBuf;

use clap::Args;

use super::onnx::Place;
use crate::config::bounds::flag;
use inkstone_features::standalone::LineFormat;
use inkstone_onnx::{EarlyStopping, SearchParams};
use inkstone_text::Truncation;

/// Flags of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The folder of an export: encoder_model.onnx and decoder_model.onnx, or a model.onnx that reads from left to right.
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    /// A document a line; - is the standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// How lines are written: text or jsonl.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// What was written, a JSON line a document: id, text, score, and title, label, time and group as they came.
    #[arg(short, long, value_name = "FILE.jsonl")]
    pub output: PathBuf,
    /// tokenizer.json, vocab.txt or a SentencePiece model, where it is not beside the model.
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Texts that are followed at once; 1 takes the likeliest token each time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--window"))]
    pub num_beams: usize,
    /// Tokens written at most.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub max_new_tokens: usize,
    /// Tokens written at least.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub min_new_tokens: usize,
    /// Exponent of the length that a sum of logarithms is divided by; above 1 longer texts do better.
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = flag::<f64>("--length-penalty"))]
    pub length_penalty: f64,
    /// When a search that has found as many texts as beams may go on.
    #[arg(long, value_name = "WHEN", default_value = "likely")]
    pub early_stopping: EarlyStopping,
    /// No N tokens come twice in the same order; 0: they may.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub no_repeat_ngram_size: usize,
    /// Logits of tokens that were written are divided by this.
    #[arg(long, value_name = "R", default_value_t = 1.0, value_parser = flag::<f32>("--repetition-penalty"))]
    pub repetition_penalty: f32,
    /// What of a text is read, in tokens of the model.
    #[arg(long, value_name = "SPEC", default_value = "none")]
    pub truncation: Truncation,
    /// Where it runs.
    #[command(flatten)]
    pub place: Place,
}

impl Generate {
    /// What is looked for.
    pub fn search(&self) -> SearchParams {
        SearchParams {
            beams: self.num_beams,
            max_new_tokens: self.max_new_tokens,
            min_new_tokens: self.min_new_tokens,
            length_penalty: self.length_penalty,
            early_stopping: self.early_stopping,
            no_repeat_ngram: self.no_repeat_ngram_size,
            repetition_penalty: self.repetition_penalty,
            ..SearchParams::default()
        }
    }
}
