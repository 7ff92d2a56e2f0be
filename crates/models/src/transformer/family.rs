//! Families of encoders: their settings in config.json, and the names and shapes of their weights.
//!
//! Names follow the classes of transformers (`transformers/models/*/modeling_*.py`).

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::block::{BlockActivation, BlockKind, BlockShape, BlockWeights, NormPlace};
use super::encoder::{EmbeddingWeights, EncoderShape};
use super::folder::CONFIG;
use super::head::{HeadForm, HeadForms, PooledActivation, TextGoal};
use crate::TensorFile;
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Bert,
    Ernie,
    Roberta,
    Electra,
    Albert,
    Gpt2,
    Lstm,
}

/// The settings of a config.json.
pub(super) type Settings = Map<String, Value>;

fn text<'s>(settings: &'s Settings, name: &str, other: &'s str) -> &'s str {
    settings.get(name).and_then(Value::as_str).unwrap_or(other)
}

/// A size that settings state.
pub(super) fn size(settings: &Settings, name: &str) -> Result<usize> {
    let value = settings.get(name).and_then(Value::as_u64).filter(|size| (1..=1 << 24).contains(size));
    value
        .map(|size| size as usize)
        .with_context(|| message!("{CONFIG} 没有不小于 1 的 {name}", "{CONFIG} has no {name} from 1 on"))
}

fn size_or(settings: &Settings, name: &str, other: usize) -> Result<usize> {
    if settings.get(name).is_none_or(Value::is_null) { Ok(other) } else { size(settings, name) }
}

impl Family {
    pub(super) fn named(model_type: &str) -> Result<Family> {
        Ok(match model_type {
            "bert" => Family::Bert,
            "ernie" => Family::Ernie,
            "roberta" | "xlm-roberta" | "camembert" => Family::Roberta,
            "electra" => Family::Electra,
            "albert" => Family::Albert,
            "gpt2" => Family::Gpt2,
            "lstm" => Family::Lstm,
            _ => bail!(
                "它的 model_type 为 {model_type:?}，这里可训练 bert、ernie、roberta、xlm-roberta、camembert、electra、albert、gpt2 和 lstm；bart 请用 train bart 与 train writer",
                "its model_type is {model_type:?}, and bert, ernie, roberta, xlm-roberta, camembert, electra, albert, gpt2 and lstm are trained here; bart by train bart and train writer"
            ),
        })
    }

    pub(super) fn prefix(self) -> &'static str {
        match self {
            Family::Bert => "bert.",
            Family::Ernie => "ernie.",
            Family::Roberta => "roberta.",
            Family::Electra => "electra.",
            Family::Albert => "albert.",
            Family::Gpt2 => "transformer.",
            Family::Lstm => "lstm.",
        }
    }

    /// The class of transformers with these heads.
    pub(super) fn class(self, model_type: &str, heads: HeadForms) -> String {
        let name = match model_type {
            "xlm-roberta" => "XLMRoberta",
            "camembert" => "Camembert",
            _ => match self {
                Family::Bert => "Bert",
                Family::Ernie => "Ernie",
                Family::Roberta => "Roberta",
                Family::Electra => "Electra",
                Family::Albert => "Albert",
                Family::Gpt2 => "GPT2",
                Family::Lstm => "Lstm",
            },
        };
        let head = match heads.main {
            HeadForm::Words { .. } if matches!(heads.beside, Some(HeadForm::Text { .. })) => "ForPreTraining",
            HeadForm::Words { .. } => "ForMaskedLM",
            HeadForm::Next if heads.beside == Some(HeadForm::Before) => "ForPreTraining",
            HeadForm::Next | HeadForm::Before => "LMHeadModel",
            HeadForm::Replaced => "ForPreTraining",
            HeadForm::Text { .. } | HeadForm::Pooled { .. } | HeadForm::Last { .. } => "ForSequenceClassification",
            HeadForm::Tokens { .. } => "ForTokenClassification",
            HeadForm::Spans => "ForQuestionAnswering",
        };
        format!("{name}{head}")
    }

    /// The head that predicts classes, labels or a value of a text.
    pub(super) fn of_texts(self, goal: TextGoal) -> HeadForm {
        match self {
            Family::Gpt2 => HeadForm::Last { goal },
            Family::Lstm => HeadForm::Pooled { goal },
            Family::Electra => HeadForm::Text { goal, pooled: PooledActivation::Gelu },
            _ => HeadForm::Text { goal, pooled: PooledActivation::Tanh },
        }
    }

    /// The sizes and forms that settings state.
    pub(super) fn shape(self, settings: &Settings) -> Result<EncoderShape> {
        ensure!(
            text(settings, "position_embedding_type", "absolute") == "absolute",
            "它的位置编码不是绝对的（position_embedding_type）",
            "its places are not absolute (position_embedding_type)"
        );
        if self == Family::Lstm {
            return lstm_shape(settings);
        }
        let gpt2 = self == Family::Gpt2;
        let [width, layers, heads, between, places, activation, epsilon] = if gpt2 {
            ["n_embd", "n_layer", "n_head", "n_inner", "n_positions", "activation_function", "layer_norm_epsilon"]
        } else {
            [
                "hidden_size",
                "num_hidden_layers",
                "num_attention_heads",
                "intermediate_size",
                "max_position_embeddings",
                "hidden_act",
                "layer_norm_eps",
            ]
        };
        for setting in ["scale_attn_by_inverse_layer_idx", "add_cross_attention"] {
            let stated = settings.get(setting).and_then(Value::as_bool).unwrap_or(false);
            ensure!(!stated, "{CONFIG} 有这里不认识的 {setting}", "{CONFIG} has {setting}, which is not known here");
        }
        let usual = if gpt2 || self == Family::Albert { "gelu_new" } else { "gelu" };
        let activation = match text(settings, activation, usual) {
            "gelu" => BlockActivation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => BlockActivation::GeluTanh,
            "relu" => BlockActivation::Relu,
            other => bail!(
                "它的 {activation} 为 {other:?}，这里可训练 gelu、gelu_new 和 relu",
                "its {activation} is {other:?}, and gelu, gelu_new and relu are trained here"
            ),
        };
        let (width, layers) = (size(settings, width)?, size(settings, layers)?);
        ensure!(layers <= limits::LAYERS, "{CONFIG} 有 {layers} 层", "{CONFIG} has {layers} layers");
        let between = if gpt2 { size_or(settings, between, 4 * width)? } else { size(settings, between)? };
        let embedded = size_or(settings, "embedding_size", if self == Family::Albert { 128 } else { width })?;
        let factor = match self {
            Family::Albert => Some(embedded),
            Family::Electra => (embedded != width).then_some(embedded),
            _ => {
                ensure!(
                    embedded == width,
                    "它的词表宽 {embedded}，各层宽 {width}（embedding_size）",
                    "its tables are {embedded} wide and its layers {width} (embedding_size)"
                );
                None
            }
        };
        let mut blocks = layers;
        if self == Family::Albert {
            let inner = size_or(settings, "inner_group_num", 1)?;
            ensure!(
                inner == 1,
                "{CONFIG} 的 inner_group_num = {inner}，这里只认识 1",
                "{CONFIG} has inner_group_num = {inner}, and only 1 is known here"
            );
            blocks = size_or(settings, "num_hidden_groups", 1)?;
            ensure!(
                blocks <= layers,
                "{CONFIG} 有 {blocks} 组（num_hidden_groups），而有 {layers} 层",
                "{CONFIG} has {blocks} groups (num_hidden_groups) for {layers} layers"
            );
        }
        let pad = settings.get("pad_token_id").and_then(Value::as_u64).unwrap_or(1) as usize;
        let segments = settings.get("type_vocab_size").and_then(Value::as_u64).unwrap_or(0) as usize;
        let shape = EncoderShape {
            vocabulary: size(settings, "vocab_size")?,
            places: size(settings, places)?,
            first_place: if self == Family::Roberta { pad.saturating_add(1) } else { 0 },
            segments: if gpt2 { 0 } else { segments },
            factor,
            layers,
            blocks,
            block: BlockShape {
                kind: BlockKind::Transformer,
                width,
                heads: size(settings, heads)?,
                between,
                place: if gpt2 { NormPlace::Before } else { NormPlace::After },
                causal: gpt2,
                activation,
                epsilon: settings.get(epsilon).and_then(Value::as_f64).unwrap_or(if gpt2 { 1e-5 } else { 1e-12 }),
            },
        };
        super::encoder::check(&shape)?;
        Ok(shape)
    }

    /// The settings of a new encoder of this shape. `pad`, `begin` and `end` are the special tokens.
    pub(super) fn settings(model_type: &str, shape: &EncoderShape, [pad, begin, end]: [u32; 3]) -> Value {
        let EncoderShape { vocabulary, places, layers, block, .. } = shape;
        if model_type == "lstm" {
            return json!({
                "model_type": "lstm", "vocab_size": vocabulary, "hidden_size": block.width, "num_hidden_layers": layers,
                "bidirectional": !block.causal, "max_position_embeddings": places, "pad_token_id": pad, "bos_token_id": begin,
                "eos_token_id": end, "tie_word_embeddings": true,
            });
        }
        if model_type == "gpt2" {
            return json!({
                "model_type": "gpt2", "vocab_size": vocabulary, "n_embd": block.width, "n_layer": layers, "n_head": block.heads,
                "n_inner": block.between, "n_positions": places, "activation_function": "gelu_new", "layer_norm_epsilon": block.epsilon,
                "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "initializer_range": 0.02, "pad_token_id": pad,
                "bos_token_id": begin, "eos_token_id": end, "tie_word_embeddings": true,
            });
        }
        json!({
            "model_type": model_type, "vocab_size": vocabulary, "hidden_size": block.width, "num_hidden_layers": layers,
            "embedding_size": shape.embedded(), "num_attention_heads": block.heads, "intermediate_size": block.between, "hidden_act": "gelu",
            "max_position_embeddings": places, "type_vocab_size": shape.segments, "layer_norm_eps": block.epsilon,
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02, "pad_token_id": pad,
            "position_embedding_type": "absolute",
        })
    }

    /// The places in a file of the weights of an encoder, in the order of its shape. Names are without the prefix.
    pub(super) fn encoder_weights(self, shape: &EncoderShape) -> Vec<StoredWeight> {
        if self == Family::Lstm {
            return lstm_weights(shape);
        }
        let around = match self {
            Family::Gpt2 => ["wte.weight", "wpe.weight", "", "ln_f.weight", "ln_f.bias", "", ""],
            _ => {
                let [widen, bias] = match self {
                    Family::Albert => {
                        ["encoder.embedding_hidden_mapping_in.weight", "encoder.embedding_hidden_mapping_in.bias"]
                    }
                    _ => ["embeddings_project.weight", "embeddings_project.bias"],
                };
                [
                    "embeddings.word_embeddings.weight",
                    "embeddings.position_embeddings.weight",
                    "embeddings.token_type_embeddings.weight",
                    "embeddings.LayerNorm.weight",
                    "embeddings.LayerNorm.bias",
                    widen,
                    bias,
                ]
            }
        };
        let parts = match self {
            Family::Gpt2 => {
                ["attn.c_attn", "attn.c_attn", "attn.c_attn", "attn.c_proj", "ln_1", "mlp.c_fc", "mlp.c_proj", "ln_2"]
            }
            Family::Albert => [
                "attention.query",
                "attention.key",
                "attention.value",
                "attention.dense",
                "attention.LayerNorm",
                "ffn",
                "ffn_output",
                "full_layer_layer_norm",
            ],
            _ => [
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
                "attention.output.dense",
                "attention.output.LayerNorm",
                "intermediate.dense",
                "output.dense",
                "output.LayerNorm",
            ],
        };
        let layer = |block: usize| match self {
            Family::Gpt2 => format!("h.{block}"),
            Family::Albert => format!("encoder.albert_layer_groups.{block}.albert_layers.0"),
            _ => format!("encoder.layer.{block}"),
        };
        let in_block = |block: usize| {
            let layer = layer(block);
            parts.into_iter().enumerate().flat_map(move |(part, name)| {
                let third = (self == Family::Gpt2 && part < 3).then_some(part);
                let layer = layer.clone();
                ["weight", "bias"].map(move |kind| (format!("{layer}.{name}.{kind}"), third))
            })
        };
        let names = around.iter().map(|name| ((*name).to_owned(), None)).chain((0..shape.blocks).flat_map(in_block));
        let stored = names.zip(shape.shapes()).enumerate().map(|(number, ((name, third), size))| {
            let is_table = number < around.len();
            StoredWeight { name, size, turned: self == Family::Gpt2 && !is_table, third }
        });
        stored.collect()
    }

    /// The places in a file of the weights of heads.
    pub(super) fn head_weights(self, heads: HeadForms, shape: &EncoderShape) -> Vec<StoredWeight> {
        let of_order = matches!(heads.main, HeadForm::Words { .. });
        let names = heads.each().enumerate().flat_map(|(number, form)| self.head_names(form, number == 1 && of_order));
        let stored = |(name, size): (String, [usize; 2])| StoredWeight::plain(name, size);
        names.zip(heads.shapes(shape)).map(stored).collect()
    }

    /// The names of the weights of a head. That of the order of two segments is a head of texts under other names.
    fn head_names(self, form: HeadForm, of_order: bool) -> Vec<String> {
        let pair = |name: &str| ["weight", "bias"].map(|kind| format!("{name}.{kind}"));
        let words = |dense: &str, norm: &str, bias: &str| {
            pair(dense).into_iter().chain(pair(norm)).chain([bias.to_owned()]).collect()
        };
        match (form, self) {
            (HeadForm::Next | HeadForm::Before, _) => Vec::new(),
            (HeadForm::Pooled { .. }, _) => pair("pooler.dense").into_iter().chain(pair("classifier")).collect(),
            (HeadForm::Replaced, _) => {
                let names = ["discriminator_predictions.dense", "discriminator_predictions.dense_prediction"];
                names.into_iter().flat_map(pair).collect()
            }
            (HeadForm::Last { .. }, _) => vec!["score.weight".into()],
            (HeadForm::Tokens { .. }, _) => pair("classifier").into(),
            (HeadForm::Spans, _) => pair("qa_outputs").into(),
            (HeadForm::Words { .. }, Family::Roberta) => words("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
            (HeadForm::Words { .. }, Family::Albert) => {
                words("predictions.dense", "predictions.LayerNorm", "predictions.bias")
            }
            (HeadForm::Words { .. }, Family::Electra) => {
                words("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias")
            }
            (HeadForm::Words { .. }, _) => {
                words("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias")
            }
            (HeadForm::Text { .. }, Family::Bert | Family::Ernie | Family::Albert) => {
                let pooler = if self == Family::Albert { "pooler" } else { "pooler.dense" };
                let outputs = match (of_order, self) {
                    (false, _) => "classifier",
                    (true, Family::Albert) => "sop_classifier.classifier",
                    (true, _) => "cls.seq_relationship",
                };
                pair(&format!("{}{pooler}", self.prefix())).into_iter().chain(pair(outputs)).collect()
            }
            (HeadForm::Text { .. }, _) => {
                pair("classifier.dense").into_iter().chain(pair("classifier.out_proj")).collect()
            }
        }
    }
}

fn lstm_shape(settings: &Settings) -> Result<EncoderShape> {
    let (layers, both) = (size(settings, "num_hidden_layers")?, settings.get("bidirectional") == Some(&json!(true)));
    ensure!(layers <= limits::LAYERS, "{CONFIG} 有 {layers} 层", "{CONFIG} has {layers} layers");
    let shape = EncoderShape {
        vocabulary: size(settings, "vocab_size")?,
        places: size(settings, "max_position_embeddings")?,
        first_place: 0,
        segments: 0,
        factor: None,
        layers,
        blocks: layers,
        block: BlockShape::lstm(size(settings, "hidden_size")?, both),
    };
    super::encoder::check(&shape)?;
    Ok(shape)
}

/// The table of tokens, and of each layer and direction the weights from the input and from the state before, and their bias.
fn lstm_weights(shape: &EncoderShape) -> Vec<StoredWeight> {
    let mut names = vec!["embeddings.weight".to_owned()];
    names.resize(EmbeddingWeights::COUNT, String::new());
    for layer in 0..shape.blocks {
        let begin = names.len();
        for direction in ["forward", "backward"].into_iter().take(shape.block.directions()) {
            names.extend(["weight_ih", "weight_hh", "bias"].map(|name| format!("layers.{layer}.{direction}.{name}")));
        }
        names.resize(begin + BlockWeights::COUNT, String::new());
    }
    names.into_iter().zip(shape.shapes()).map(|(name, size)| StoredWeight::plain(name, size)).collect()
}

/// The place of a weight in a file.
pub(super) struct StoredWeight {
    pub(super) name: String,
    /// Rows and columns here.
    pub(super) size: [usize; 2],
    /// True if the file has `[inputs, outputs]` (`Conv1D` of GPT-2).
    turned: bool,
    /// The weight is this third of the outputs in the file.
    third: Option<usize>,
}

impl StoredWeight {
    /// A weight that a file has under this name, with rows and columns as here.
    pub(super) fn plain(name: String, size: [usize; 2]) -> StoredWeight {
        StoredWeight { name, size, turned: false, third: None }
    }

    pub(super) fn count(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Shape in the file: biases and the weights of norms are lists.
    fn shape(&self) -> Vec<usize> {
        let name = &self.name;
        let is_norm = ["LayerNorm.", "layer_norm.", "layernorm_", "ln_"].iter().any(|part| name.contains(part));
        let ([rows, columns], parts) = (self.size, if self.third.is_some() { 3 } else { 1 });
        match (name.ends_with("bias") || is_norm, self.turned) {
            (true, _) => vec![parts * columns],
            (false, true) => vec![columns, parts * rows],
            (false, false) => vec![rows, columns],
        }
    }

    /// The place in the file's tensor of a number of the weight.
    fn place(&self, number: usize) -> usize {
        let [rows, columns] = self.size;
        let (parts, third) = self.third.map_or((1, 0), |third| (3, third));
        if rows == 1 || !self.turned {
            return third * rows * columns + number;
        }
        let (row, column) = (number / columns, number % columns);
        column * parts * rows + third * rows + row
    }

    /// Reads the weight; empty where its family has none.
    pub(super) fn read(&self, file: &TensorFile, prefix: &str) -> Result<Vec<f32>> {
        let count = self.count();
        if count == 0 {
            return Ok(Vec::new());
        }
        let all = file.shaped(&format!("{prefix}{}", self.name), &self.shape(), CONFIG)?;
        Ok((0..count).map(|number| all[self.place(number)]).collect())
    }

    /// Puts values of the weight into the tensors of a file.
    pub(super) fn put(&self, prefix: &str, values: &[f32], tensors: &mut Tensors) {
        if values.is_empty() {
            return;
        }
        let shape = self.shape();
        let count = shape.iter().product();
        let (_, tensor) = tensors.entry(format!("{prefix}{}", self.name)).or_insert_with(|| (shape, vec![0.0; count]));
        values.iter().enumerate().for_each(|(number, value)| tensor[self.place(number)] = *value);
    }
}

/// Shapes and values by name.
pub(super) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;
