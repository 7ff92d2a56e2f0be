//! Flags of contextual models: what `eval`, `embed`, `explain` and `nearest` share when their model is an export in the ONNX format, and
//! those of `doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::config::bounds::flag;
use inkstone_features::models::onnx::Contextual;
use inkstone_onnx::{Activation, Device, Layers, OnnxParams, Output, Over, Pooling, Precision, RuntimeParams};
use inkstone_text::Truncation;

use inkstone_base::language::Word;

/// Heading of these flags in every help text.
const CONTEXTUAL: &str = "Contextual models (ONNX)";

/// How a contextual model is used.
#[derive(Clone, Debug, Args)]
pub struct Onnx {
    /// The tokenizer (tokenizer.json, vocab.txt or a SentencePiece model), if it is not beside the model.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Output of the model that is used.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "WHAT", default_value = "embedding")]
    pub read: Output,
    /// How token vectors become one: cls, pooler, mean, mean-text (without special tokens), mean-sqrt, weighted-mean, max, last or sep; several
    /// joined by +. Without this flag as the model's folder says (1_Pooling/config.json), else mean.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "POOLING")]
    pub pooling: Option<Pooling>,
    /// Layers: last, first+last, last:4 (their mean), last:4:concat, each (side by side), or mix:0.2,0.3,0.5 with a weight per layer.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "LAYERS", default_value = "last")]
    pub layers: Layers,
    /// How logits become probabilities; auto follows config.json.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FORM", default_value = "auto")]
    pub activation: Activation,
    /// Scale vectors to length 1, or with --normalise=false do not. Without this flag as the model's folder says (modules.json), else not.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub normalise: Option<bool>,
    /// Values kept of a vector, the first ones (Matryoshka); 0: all, or as the model's folder says.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub dim: usize,
    /// Text put before each text: the name of a prompt of the model's folder (query, document, ...), none, or the prompt itself, as "query: ".
    /// Without this flag the folder's default.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// With --read scores: a text beside each document in one input, as a hypothesis. Lines of jsonl may have one of their own (field pair).
    #[arg(help_heading = CONTEXTUAL, long, value_name = "TEXT")]
    pub pair: Option<String>,
    /// The text of --pair stands before the document, as a query before a passage.
    #[arg(help_heading = CONTEXTUAL, long, requires = "pair")]
    pub pair_first: bool,
    /// With --read scores, for a model of entailment: a label and the hypothesis that says it, as 利好=该消息利好公司股价。 May be given several
    /// times. --activation sigmoid lets each label stand for itself.
    #[arg(help_heading = CONTEXTUAL, long = "hypothesis", value_name = "LABEL=TEXT", value_parser = hypothesis, conflicts_with = "pair")]
    pub hypotheses: Vec<(String, String)>,
    /// With --read answer: the question. Lines of jsonl may have one of their own (field question).
    #[arg(help_heading = CONTEXTUAL, long, value_name = "TEXT")]
    pub question: Option<String>,
    /// Most tokens of an answer.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 30, value_parser = flag::<usize>("feature.onnx.max_answer"))]
    pub max_answer: usize,
    /// A document has no answer where the score of none is higher than that of the best by more than this; without this flag, always one.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "SCORE", allow_negative_numbers = true, value_parser = flag::<f64>("feature.onnx.no_answer"))]
    pub no_answer: Option<f64>,
    /// Part of a text that is read, in tokens of the model: head:512, tail:512, head+tail:128+382.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "SPEC", default_value = "none")]
    pub truncation: Truncation,
    /// Most tokens of a window, special tokens included; 0: as the model's folder says, else as many as the model has positions.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub max_len: usize,
    /// Tokens from the start of a window to the start of the next; 0: one window per document.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub stride: usize,
    /// How the windows of a document become one row.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FORM", default_value = "mean")]
    pub over_windows: Over,
    /// Most tokens of a batch, padding included; 0: 2048 on a CPU, 32768 on a CUDA device.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub batch_tokens: usize,
    #[command(flatten)]
    pub place: Place,
}

/// A label and its hypothesis.
fn hypothesis(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((label, hypothesis)) if !label.trim().is_empty() && !hypothesis.trim().is_empty() => {
            Ok((label.trim().to_owned(), hypothesis.trim().to_owned()))
        }
        _ => Err(Word(
            "请写标签与表达它的假设句，如 利好=该消息利好公司股价。",
            "write a label and the hypothesis that says it, as 利好=该消息利好公司股价。",
        )
        .to_string()),
    }
}

/// Where contextual models run.
#[derive(Clone, Debug, Args)]
pub struct Place {
    /// Device: auto, cpu or cuda:0; the result names the one that auto chose.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "DEVICE", default_value = "auto")]
    pub device: Device,
    /// The ONNX Runtime library; without this flag it is searched for.
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}

impl Place {
    /// The settings of `[onnx]`; a library that the user names by a flag is trusted.
    pub fn params(&self) -> RuntimeParams {
        RuntimeParams { library: self.library.clone(), device: self.device, trusted: true }
    }
}

impl Onnx {
    /// The flags as parameters.
    pub fn contextual(&self) -> Contextual {
        Contextual {
            params: OnnxParams {
                tokenizer: self.tokenizer.clone().unwrap_or_default(),
                output: self.read,
                pooling: self.pooling.clone(),
                layers: self.layers.clone(),
                activation: self.activation,
                normalise: self.normalise,
                dim: self.dim,
                prompt: self.prompt.clone(),
                pair: self.pair.clone(),
                pair_first: self.pair_first,
                labels: self.hypotheses.iter().cloned().collect(),
                question: self.question.clone(),
                max_answer: self.max_answer,
                no_answer: self.no_answer,
                max_tokens: self.max_len,
                stride: self.stride,
                over_windows: self.over_windows,
                batch_tokens: self.batch_tokens,
                ..OnnxParams::default()
            },
            truncation: self.truncation,
            runtime: self.place.params(),
            ..Contextual::default()
        }
    }
}

#[derive(Debug, Args)]
pub struct Convert {
    /// The contextual model: its folder, as published, with a graph (.onnx) or config.json and model.safetensors; or the file of a graph.
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,
    /// Folder of the new model: model.onnx and all files that say how text is read. It must be new, empty, or of an earlier conversion.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Precision of the large weights: fp16 or int8. Without this flag they stay as they are.
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<Precision>,
    /// Also keep the logits over the vocabulary of a folder of weights, by which a model fills masks or writes; vectors then cost more.
    #[arg(long)]
    pub words: bool,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Install what is missing, with uv or pip, into the user's runtime folder.
    #[arg(long)]
    pub fix: bool,
    /// Look for, and with --fix install, the library for NVIDIA devices with CUDA and cuDNN (some gigabytes).
    #[arg(long)]
    pub cuda: bool,
    /// The ONNX Runtime library to check; without this flag it is searched for.
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}
