//! Parameters of a model: `[feature.onnx]`, and the flags of the commands.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::encoder::ENCODERS;
use super::files::{Files, folder_of_graph};
use super::pooling::{Layers, Pooling};
use super::published::Published;
use inkstone_base::data::Key;

/// Output of a model for a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", value(rename_all = "lowercase"))]
pub enum Output {
    /// A vector.
    #[default]
    Embedding,
    /// The probability of each label, by a classification head.
    Scores,
    /// How many entities of each kind it names, by a token classification head.
    Entities,
    /// How improbable it is to a language model: mean -log10 probability of a token given those before it.
    Surprise,
}

/// How windows of one document become one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", value(rename_all = "lowercase"))]
pub enum Over {
    /// Their mean, each counting alike.
    #[default]
    Mean,
    /// The largest of each value.
    Max,
    /// The first alone.
    First,
}

/// How logits become probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", value(rename_all = "lowercase"))]
pub enum Activation {
    /// As config.json says: sigmoid for `multi_label_classification`, else softmax.
    #[default]
    Auto,
    /// They sum to 1.
    Softmax,
    /// Each for itself.
    Sigmoid,
}

/// A contextual model as a feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OnnxParams {
    /// The model: a folder of an export (model.onnx or onnx/model.onnx, config.json, tokenizer.json), or a file .onnx; relative to the
    /// configuration.
    pub model: PathBuf,
    /// The tokenizer, where it is not beside the model.
    pub tokenizer: PathBuf,
    /// The last day of the text that the model was trained on. What it says is known from then on.
    pub fitted_until: Option<NaiveDate>,
    /// `embedding`, `scores`, `entities` or `surprise`.
    pub output: Output,
    /// Vector of a window: `mean`, `mean-text`, `mean-sqrt`, `weighted-mean`, `cls`, `pooler`, `max`, `last`, `sep`, or several joined by
    /// `+`; none: as the folder of the model says (1_Pooling/config.json), else `mean`.
    pub pooling: Option<Pooling>,
    /// `last`, `first+last`, `last:4`, `last:4:concat`, `each` or `mix:0.2,0.3,0.5*1.0`.
    pub layers: Layers,
    /// For `scores`: `auto`, `softmax` or `sigmoid`.
    pub activation: Activation,
    /// True if a vector is scaled to length 1; none: as the folder of the model says (modules.json), else not.
    pub normalise: Option<bool>,
    /// Values that are kept of a vector, the first ones (Matryoshka; Kusupati et al. 2022), before it is scaled; 0: all, or as the folder
    /// of the model says (truncate_dim).
    pub dim: usize,
    /// Text before each text: the name of a prompt of the folder (`query`, `document`), a text, or `none`; none: the folder's default
    /// (config_sentence_transformers.json).
    pub prompt: Option<String>,
    /// Tokens of a window at most, special ones included; 0: as the folder of the model says (sentence_bert_config.json), else as many as the
    /// model has places.
    pub max_tokens: usize,
    /// Tokens from the beginning of a window to that of the next; 0: a document has one window.
    pub stride: usize,
    /// Rule by which windows become one row: `mean`, `max` or `first`.
    pub over_windows: Over,
    /// 0: what truncation keeps is read in one go. Else it is put together from windows of whole sentences of at most so many
    /// tokens, each weighing as many as are kept of it: windows are read once, however many strategies there are.
    pub compose: usize,
    /// Tokens that run at once, filling included; 0: 2,048 on a processor, where more costs memory and is no faster, 32,768 on a CUDA device.
    pub batch_tokens: usize,
}

impl Default for OnnxParams {
    fn default() -> OnnxParams {
        OnnxParams {
            model: PathBuf::new(),
            tokenizer: PathBuf::new(),
            fitted_until: None,
            output: Output::default(),
            pooling: None,
            layers: Layers::default(),
            activation: Activation::default(),
            normalise: None,
            dim: 0,
            prompt: None,
            max_tokens: 0,
            stride: 0,
            over_windows: Over::default(),
            compose: 0,
            batch_tokens: 0,
        }
    }
}

impl OnnxParams {
    /// The last second of the text that the model was trained on, where that is known.
    pub fn last_seen(&self) -> Option<NaiveDateTime> {
        self.fitted_until.and_then(|day| day.and_hms_opt(23, 59, 59))
    }

    /// Path of the tokenizer: the file or folder named, else the folder of the model.
    pub fn tokenizer_path(&self, base: &Path) -> PathBuf {
        if !self.tokenizer.as_os_str().is_empty() {
            return base.join(&self.tokenizer);
        }
        let model = base.join(&self.model);
        if model.is_dir() { model } else { folder_of_graph(&model) }
    }

    /// The content of all files that the model's rows depend on.
    pub fn files_key(&self, base: &Path) -> Result<Key> {
        Files::new(self, base, &ENCODERS)?.key()
    }

    /// Fails where the settings make no sense, whatever the model.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.model.as_os_str().is_empty(), "onnx.model is missing: name the folder of an exported model");
        ensure!(
            self.output == Output::Embedding || (self.prompt.is_none() && self.dim == 0),
            "onnx.prompt and onnx.dim are for vectors (output = \"embedding\")"
        );
        Ok(())
    }

    /// The pooling that is used: as it is set, else as the folder of the model says, else the mean.
    pub fn settled_pooling(&self, base: &Path) -> Result<Pooling> {
        if let Some(pooling) = &self.pooling {
            return Ok(pooling.clone());
        }
        let published = Published::read(&Files::new(self, base, &ENCODERS)?.folder)?;
        Ok(published.and_then(|folder| folder.pooling).map(|stated| stated.value).unwrap_or_default())
    }
}
