//! Recurrent encoders with their decoders in folders, as [`ModelFolder`] has them. transformers knows no such class; `generate` writes their
//! graphs.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::{AttentionScore, RnnSeq2Seq, RnnShape, RnnWeights};
use crate::textnet::Cell;
use crate::transformer::family::{StoredWeight, Tensors, size};
use crate::transformer::folder::{CONFIG, ModelFolder};
use inkstone_base::message;

const CLASS: &str = "RnnForConditionalGeneration";
const MODEL_TYPE: &str = "rnn-seq2seq";
/// Names of the weights in files, in their order.
const NAMES: [&str; RnnWeights::COUNT] = [
    "shared.weight",
    "encoder.forward.weight_ih",
    "encoder.forward.weight_hh",
    "encoder.forward.bias",
    "encoder.backward.weight_ih",
    "encoder.backward.weight_hh",
    "encoder.backward.bias",
    "decoder.begin.weight",
    "decoder.begin.bias",
    "decoder.cell.weight_ih",
    "decoder.cell.weight_hh",
    "decoder.cell.bias",
    "decoder.read.weight",
    "decoder.read.bias",
    "decoder.words.bias",
    "decoder.attention.keys.weight",
    "decoder.attention.queries.weight",
    "decoder.attention.score.weight",
];

/// The folder of a recurrent encoder with its decoder.
pub struct RnnFolder {
    pub files: ModelFolder,
    pub shape: RnnShape,
}

impl RnnFolder {
    /// True if the model in a folder is of this kind.
    pub fn is_one(folder: &Path) -> bool {
        ModelFolder::open(folder).is_ok_and(|files| files.model_type() == MODEL_TYPE)
    }

    /// Reads the settings of a folder.
    pub fn open(folder: &Path) -> Result<RnnFolder> {
        let files = ModelFolder::open(folder)?;
        let settings = files.settings();
        let number = |name: &str| {
            let value = settings.get(name).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok());
            value.with_context(|| message!("{CONFIG} 没有写明 {name}", "{CONFIG} does not say {name}"))
        };
        let chosen = |name: &str| settings.get(name).cloned().unwrap_or_default();
        let shape = || {
            Ok::<RnnShape, anyhow::Error>(RnnShape {
                cell: serde_json::from_value::<Cell>(chosen("cell"))
                    .with_context(|| message!("{CONFIG} 中的 cell", "cell in {CONFIG}"))?,
                score: serde_json::from_value::<AttentionScore>(chosen("attention"))
                    .with_context(|| message!("{CONFIG} 中的 attention", "attention in {CONFIG}"))?,
                vocabulary: size(settings, "vocab_size")?,
                width: size(settings, "hidden_size")?,
                places: size(settings, "max_position_embeddings")?,
                ends: [number("decoder_start_token_id")?, number("eos_token_id")?],
            })
        };
        let shape = shape().and_then(|shape| shape.check().map(|()| shape));
        let shape = shape.with_context(|| message!("{} 不能使用", "{} cannot be used", folder.display()))?;
        Ok(RnnFolder { files, shape })
    }

    /// The folder of a new model. Nothing is written yet. `pad` is the token that fills texts up.
    pub fn create(folder: &Path, shape: RnnShape, pad: u32) -> Result<RnnFolder> {
        shape.check()?;
        let RnnShape { cell, score, vocabulary, width, places, ends: [start, end] } = shape;
        let settings = json!({
            "model_type": MODEL_TYPE, "is_encoder_decoder": true, "cell": cell, "attention": score, "vocab_size": vocabulary,
            "hidden_size": width, "max_position_embeddings": places, "tie_word_embeddings": true, "pad_token_id": pad,
            "bos_token_id": start, "eos_token_id": end, "decoder_start_token_id": start,
        });
        Ok(RnnFolder { files: ModelFolder::create(folder, serde_json::from_value(settings)?), shape })
    }

    /// The model.
    pub fn read(&self) -> Result<RnnSeq2Seq> {
        let file = self.files.weights()?;
        let values = self.stored().iter().map(|weight| weight.read(&file, "")).collect::<Result<Vec<Vec<f32>>>>()?;
        RnnSeq2Seq::of_values(self.shape, values)
    }

    /// Writes the folder of a trained model: settings last, so that a folder without them is none of a model.
    pub fn write(
        &self,
        output: &Path,
        trained: &RnnSeq2Seq,
        fitted_until: Option<NaiveDateTime>,
        training: &Value,
    ) -> Result<()> {
        let mut tensors = Tensors::new();
        let values = trained.values();
        self.stored().iter().zip(&values).for_each(|(weight, values)| weight.put("", values, &mut tensors));
        self.files.write(output, &tensors, CLASS, self.files.settings().clone(), fitted_until, training)
    }

    fn stored(&self) -> Vec<StoredWeight> {
        let named = NAMES.into_iter().zip(self.shape.shapes());
        named.map(|(name, size)| StoredWeight::plain(name.to_owned(), size)).collect()
    }
}
