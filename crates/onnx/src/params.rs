//! Parameters of a model: `[feature.onnx]`, and the flags of the commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::encoder::ENCODERS;
use super::files::{Files, folder_of_graph};
use super::pooling::{Layers, Pooling};
use super::published::Published;
use inkstone_base::data::Key;
use inkstone_base::limits;
use inkstone_base::{ensure, message};

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
    /// How improbable it is to a language model: mean -log10 probability of a token given those before it; to a masked model, given all
    /// others, each hidden in turn (a run of the model for each token).
    Surprise,
    /// The weight of each token that it reads, for lexical matching (bge-m3): sparse rows, a column a token of the vocabulary.
    Weights,
    /// The answer that it has to a question, by a question answering head: its probability and the number in it.
    Answer,
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
    /// As config.json says: the function of a cross-encoder (sentence-transformers), sigmoid for `multi_label_classification` and for one
    /// label, else softmax.
    #[default]
    Auto,
    /// They sum to 1.
    Softmax,
    /// Each for itself.
    Sigmoid,
    /// The logits themselves.
    Identity,
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
    /// The last day of the text that the model was trained on; what it says is known from then on. Not needed where the folder of the model
    /// says it.
    pub fitted_until: Option<NaiveDate>,
    /// `embedding`, `scores`, `entities`, `surprise`, `weights` or `answer`.
    pub output: Output,
    /// Vector of a window: `mean`, `mean-text`, `mean-sqrt`, `weighted-mean`, `cls`, `pooler`, `max`, `last`, `sep`, or several joined by
    /// `+`; none: as the folder of the model says (1_Pooling/config.json), else `mean`.
    pub pooling: Option<Pooling>,
    /// `last`, `first+last`, `last:4`, `last:4:concat`, `each` or `mix:0.2,0.3,0.5*1.0`.
    pub layers: Layers,
    /// For `scores`: `auto`, `softmax`, `sigmoid` or `identity`.
    pub activation: Activation,
    /// True if a vector is scaled to length 1; none: as the folder of the model says (modules.json), else not.
    pub normalise: Option<bool>,
    /// Values that are kept of a vector, the first ones (Matryoshka; Kusupati et al. 2022), before it is scaled; 0: all, or as the folder
    /// of the model says (truncate_dim).
    pub dim: usize,
    /// Text before each text: the name of a prompt of the folder (`query`, `document`), a text, or `none`; none: the folder's default
    /// (config_sentence_transformers.json).
    pub prompt: Option<String>,
    /// For `scores`: a text beside each document in one input, as a hypothesis or a query.
    pub pair: Option<String>,
    /// The text of `pair` stands before the document, as a query before a passage; else behind it.
    pub pair_first: bool,
    /// For `scores` by a model of entailment: labels with the hypothesis that says each.
    pub labels: BTreeMap<String, String>,
    /// For `answer`: the question.
    pub question: Option<String>,
    /// Tokens of an answer at most.
    pub max_answer: usize,
    /// A document has no answer where the score of no answer is higher than that of the best by more than this; none: the best is given.
    pub no_answer: Option<f64>,
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
            pair: None,
            pair_first: false,
            labels: BTreeMap::new(),
            question: None,
            max_answer: 30,
            no_answer: None,
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

    /// The last second of the text that the model was trained on: as it is stated, or as its folder says it, which `train bert` and `train finetune`
    /// write. None where neither is known.
    pub fn seen_until(&self, base: &Path) -> Result<Option<NaiveDateTime>> {
        let config = base.join(&self.model).join("config.json");
        let in_folder = if config.is_file() { limits::settings_file(&config)? } else { Vec::new() };
        // What is wrong with the file is said by those who open the model.
        let in_folder = serde_json::from_slice::<Value>(&in_folder).unwrap_or_default();
        let in_folder = match &in_folder["fitted_until"] {
            Value::Null => None,
            said => Some(NaiveDateTime::deserialize(said).with_context(|| {
                message!("{} 中的 fitted_until 不是时间", "fitted_until in {} is no time", config.display())
            })?),
        };
        let stated = self.last_seen();
        if let (Some(stated), Some(in_folder)) = (stated, in_folder) {
            ensure!(
                in_folder <= stated,
                "fitted_until 写的是 {stated}，但 {} 的训练文本截至 {in_folder}：请去掉该设置",
                "fitted_until says {stated}, but {} was trained on text until {in_folder}: leave it out",
                self.model.display()
            );
        }
        Ok(stated.or(in_folder))
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
        ensure!(
            !self.model.as_os_str().is_empty(),
            "缺少 onnx.model：请指定导出模型的文件夹",
            "onnx.model is missing: name the folder of an exported model"
        );
        ensure!(
            self.output == Output::Embedding || (self.prompt.is_none() && self.dim == 0),
            "onnx.prompt 与 onnx.dim 用于向量（output = \"embedding\"）",
            "onnx.prompt and onnx.dim are for vectors (output = \"embedding\")"
        );
        ensure!(
            self.output == Output::Scores || (self.pair.is_none() && self.labels.is_empty()),
            "onnx.pair 与 onnx.labels 用于两段文本的分数（output = \"scores\"）",
            "onnx.pair and onnx.labels are for scores of two texts (output = \"scores\")"
        );
        ensure!(
            self.pair.is_none() || self.labels.is_empty(),
            "onnx.pair 与 onnx.labels 不能同时写：标签的假设句与文档并列",
            "onnx.pair and onnx.labels exclude each other: the hypotheses of the labels stand beside the document"
        );
        ensure!(
            self.output == Output::Answer || self.question.is_none(),
            "onnx.question 用于答案（output = \"answer\"）",
            "onnx.question is for answers (output = \"answer\")"
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
