//! Flags of `generate`.

use std::path::PathBuf;

use clap::Args;

use super::onnx::Place;
use crate::config::bounds::flag;
use inkstone_features::standalone::LineFormat;
use inkstone_onnx::{EarlyStopping, SearchParams};
use inkstone_text::Truncation;

#[derive(Debug, Args)]
pub struct Generate {
    /// The folder of an export: encoder_model.onnx and decoder_model.onnx, or a model.onnx that reads from left to right.
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    /// The documents, one per line; - reads standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: text or jsonl.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// File of the generated texts, one JSON line per document: id, text, score, and title, label, time and group of the input.
    #[arg(short, long, value_name = "FILE.jsonl")]
    pub output: PathBuf,
    /// The tokenizer (tokenizer.json, vocab.txt or a SentencePiece model), if it is not beside the model.
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Number of beams; 1 takes the likeliest token at each step.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--window"))]
    pub num_beams: usize,
    /// Most tokens to generate.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub max_new_tokens: usize,
    /// Fewest tokens to generate.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub min_new_tokens: usize,
    /// Exponent of the length by which the log-probability of a text is divided; above 1 favours longer texts.
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = flag::<f64>("--length-penalty"))]
    pub length_penalty: f64,
    /// When to stop a search that has found as many texts as it has beams.
    #[arg(long, value_name = "WHEN", default_value = "likely")]
    pub early_stopping: EarlyStopping,
    /// Never repeat a sequence of N tokens; 0 allows any repetition.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub no_repeat_ngram_size: usize,
    /// Repetition penalty: divides the logits of tokens that were generated before.
    #[arg(long, value_name = "R", default_value_t = 1.0, value_parser = flag::<f32>("--repetition-penalty"))]
    pub repetition_penalty: f32,
    /// Part of a text that is read, in tokens of the model.
    #[arg(long, value_name = "SPEC", default_value = "none")]
    pub truncation: Truncation,
    #[command(flatten)]
    pub place: Place,
}

impl Generate {
    /// The parameters of the search.
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
