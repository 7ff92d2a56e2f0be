//! Flags of `generate`.

use std::path::PathBuf;

use clap::Args;

use super::onnx::Place;
use crate::config::bounds::flag;
use inkstone_features::standalone::LineFormat;
use inkstone_onnx::{Drawing, EarlyStopping, SearchParams};
use inkstone_text::Truncation;

#[derive(Debug, Args)]
pub struct Generate {
    /// The folder of an export (encoder_model.onnx and decoder_model.onnx, or a model.onnx that reads from left to right) or of weights
    /// (GPT-2, Qwen2, Qwen3).
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    /// The documents, one per line; - reads standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: text or jsonl.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// File of the generated texts, one JSON line per text: id, text, score, numbers_kept (the share of its numbers that stand in
    /// the document), and label, time and group of the input; with --samples also the
    /// number of the sample; with --labels the answer and, for each label, its share and likelihoods.
    #[arg(short, long, value_name = "FILE.jsonl")]
    pub output: PathBuf,
    /// The tokenizer (tokenizer.json, vocab.txt or a SentencePiece model), if it is not beside the model.
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Number of beams; 1 takes the likeliest token at each step, of many texts at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--window"))]
    pub num_beams: usize,
    /// Draw N texts for each document by their probabilities, instead of a search; --seed fixes them.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--window"), conflicts_with = "num_beams")]
    pub samples: Option<usize>,
    /// Temperature of drawn texts: below 1 likely tokens become likelier.
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = flag::<f32>("--repetition-penalty"), requires = "samples")]
    pub temperature: f32,
    /// Draw only among the K likeliest tokens; 0: all.
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = flag::<usize>("--count"), requires = "samples")]
    pub top_k: usize,
    /// Draw only among the likeliest tokens that together have this probability.
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = flag::<f32>("--share"), requires = "samples")]
    pub top_p: f32,
    /// End a text behind this word, which is kept; may be given several times.
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// File of a prompt around each document, with the fields {title}, {body} and {text} (title and body); {{ and }} are braces.
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Put each prompt into a chat by the tokenizer's own template (chat_template).
    #[arg(long)]
    pub chat: bool,
    /// The system message of each chat.
    #[arg(long, value_name = "TEXT", requires = "chat")]
    pub system: Option<String>,
    /// Write no text, but how likely each of these labels, separated by commas, is behind each document.
    #[arg(long, value_name = "LABELS", value_delimiter = ',', conflicts_with_all = ["choices", "samples", "num_beams", "stop"])]
    pub labels: Vec<String>,
    /// Write one of these texts, separated by commas, and nothing else.
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', conflicts_with = "max_new_tokens")]
    pub choices: Vec<String>,
    /// Write only JSON that the schema in this file allows. Each line has the value as `json` too, null where --max-new-tokens came first.
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["choices", "labels", "stop"])]
    pub json_schema: Option<PathBuf>,
    /// Most tokens of the texts that are worked on at once, written ones included; 0: 4096.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.batch_tokens"))]
    pub batch_tokens: usize,
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
        // Labels and choices say themselves how long they are.
        let asked = self.labels.is_empty() && self.choices.is_empty();
        SearchParams {
            beams: self.num_beams,
            max_new_tokens: if asked { self.max_new_tokens } else { 1 },
            min_new_tokens: self.min_new_tokens,
            length_penalty: self.length_penalty,
            early_stopping: self.early_stopping,
            no_repeat_ngram: self.no_repeat_ngram_size,
            repetition_penalty: self.repetition_penalty,
            stops: self.stop.clone(),
            drawing: self.samples.map(|texts| Drawing {
                texts,
                temperature: self.temperature,
                top_k: self.top_k,
                top_p: self.top_p,
            }),
            ..SearchParams::default()
        }
    }
}
