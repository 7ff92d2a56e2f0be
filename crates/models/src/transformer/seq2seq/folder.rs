//! Encoders with their decoders in folders of Hugging Face: BART.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::{FIRST_PLACE, Seq2Seq, Seq2SeqShape};
use crate::transformer::block::{BlockActivation, BlockKind, BlockShape, NormPlace};
use crate::transformer::family::{StoredWeight, Tensors, size};
use crate::transformer::folder::{CONFIG, ModelFolder};
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};

/// The class of transformers that writes.
const CLASS: &str = "BartForConditionalGeneration";
const MODEL_TYPE: &str = "bart";
/// Weights that each score of a word has added; those of all published models are 0.
const BIAS: &str = "final_logits_bias";

/// The folder of an encoder with its decoder.
pub struct Seq2SeqFolder {
    pub files: ModelFolder,
    pub shape: Seq2SeqShape,
}

impl Seq2SeqFolder {
    /// True if the model in a folder has an encoder and a decoder.
    pub fn has_decoder(folder: &Path) -> bool {
        ModelFolder::open(folder).is_ok_and(|files| files.model_type() == MODEL_TYPE)
    }

    /// Reads the settings of a folder. Fails where its architecture cannot be trained.
    pub fn open(folder: &Path) -> Result<Seq2SeqFolder> {
        let files = ModelFolder::open(folder)?;
        Seq2SeqFolder::of_files(files)
            .with_context(|| message!("{} 不能训练", "{} cannot be trained", folder.display()))
    }

    /// The folder of a new model. Nothing is written yet. `specials` are the tokens that fill up, begin and end a text.
    pub fn create(folder: &Path, shape: &Seq2SeqShape, [pad, begin, end]: [u32; 3]) -> Result<Seq2SeqFolder> {
        let Seq2SeqShape { encoder, layers, block, start } = shape;
        let settings = json!({
            "model_type": MODEL_TYPE, "is_encoder_decoder": true, "vocab_size": encoder.vocabulary, "d_model": block.width,
            "encoder_layers": encoder.layers, "decoder_layers": layers, "encoder_attention_heads": encoder.block.heads,
            "decoder_attention_heads": block.heads, "encoder_ffn_dim": encoder.block.between, "decoder_ffn_dim": block.between,
            "activation_function": "gelu", "max_position_embeddings": encoder.places - FIRST_PLACE, "dropout": 0.1,
            "attention_dropout": 0.1, "init_std": 0.02, "scale_embedding": false, "tie_word_embeddings": true, "pad_token_id": pad,
            "bos_token_id": begin, "eos_token_id": end, "decoder_start_token_id": start,
        });
        Seq2SeqFolder::of_files(ModelFolder::create(folder, serde_json::from_value(settings)?))
    }

    fn of_files(files: ModelFolder) -> Result<Seq2SeqFolder> {
        let settings = files.settings();
        ensure!(
            files.model_type() == MODEL_TYPE,
            "它的 model_type 为 {:?}，这里可训练的编码器加解码器是 {MODEL_TYPE}",
            "its model_type is {:?}, and {MODEL_TYPE} is the one with an encoder and a decoder that is trained here",
            files.model_type()
        );
        let flag = |name: &str| settings.get(name).and_then(Value::as_bool).unwrap_or(false);
        for name in ["scale_embedding", "normalize_before", "add_final_layer_norm"] {
            ensure!(!flag(name), "{CONFIG} 有这里不认识的 {name}", "{CONFIG} has {name}, which is not known here");
        }
        ensure!(
            settings.get("tie_word_embeddings") != Some(&Value::Bool(false)),
            "它用词表之外的权重预测词（tie_word_embeddings），这里不能训练",
            "it predicts words by other weights than its table of tokens (tie_word_embeddings), which is not trained here"
        );
        let activation = match settings.get("activation_function").and_then(Value::as_str).unwrap_or("gelu") {
            "gelu" => BlockActivation::Gelu,
            "gelu_new" => BlockActivation::GeluTanh,
            "relu" => BlockActivation::Relu,
            other => bail!(
                "它的 activation_function 为 {other:?}，这里可训练 gelu、gelu_new 和 relu",
                "its activation_function is {other:?}, and gelu, gelu_new and relu are trained here"
            ),
        };
        let width = size(settings, "d_model")?;
        let layers = |name: &str| {
            let layers = size(settings, name)?;
            ensure!(
                layers <= limits::LAYERS,
                "{CONFIG} 有 {layers} 层（{name}）",
                "{CONFIG} has {layers} layers ({name})"
            );
            Ok(layers)
        };
        let block = |side: &str, causal: bool| {
            let heads = size(settings, &format!("{side}_attention_heads"))?;
            ensure!(
                width.is_multiple_of(heads),
                "它的宽度 {width} 不能由 {heads} 个头均分",
                "its width of {width} cannot be shared by {heads} heads"
            );
            let between = size(settings, &format!("{side}_ffn_dim"))?;
            let place = NormPlace::After;
            Ok(BlockShape {
                kind: BlockKind::Transformer,
                width,
                heads,
                between,
                place,
                causal,
                activation,
                epsilon: 1e-5,
            })
        };
        let start = settings.get("decoder_start_token_id").or(settings.get("eos_token_id")).and_then(Value::as_u64);
        let start = start.with_context(|| {
            message!(
                "{CONFIG} 没有写明解码器以哪个词元开始（decoder_start_token_id）",
                "{CONFIG} does not say which token a decoder begins with (decoder_start_token_id)"
            )
        })?;
        let vocabulary = size(settings, "vocab_size")?;
        ensure!(
            (start as usize) < vocabulary,
            "decoder_start_token_id {start} 超出 {vocabulary} 个词元",
            "decoder_start_token_id {start} is beyond its {vocabulary} tokens"
        );
        let tokens = size(settings, "max_position_embeddings")?;
        let both =
            Seq2SeqShape::bart(vocabulary, tokens, layers("encoder_layers")?, block("encoder", false)?, start as u32);
        let shape = Seq2SeqShape { layers: layers("decoder_layers")?, block: block("decoder", true)?, ..both };
        Ok(Seq2SeqFolder { files, shape })
    }

    /// Tokens of a text at most, special tokens included.
    pub fn most_tokens(&self) -> usize {
        self.shape.encoder.places - FIRST_PLACE
    }

    /// The model.
    pub fn read(&self) -> Result<Seq2Seq> {
        let file = self.files.weights()?;
        let stored = self.stored();
        // The body may have been saved alone.
        let prefix = if file.has(&stored[0].name)? { "" } else { "model." };
        let read = |weight: &StoredWeight| {
            let name = weight.name.strip_prefix(prefix).unwrap_or(&weight.name);
            StoredWeight::plain(name.to_owned(), weight.size).read(&file, "")
        };
        let values = stored.iter().map(read).collect::<Result<Vec<Vec<f32>>>>()?;
        if file.has(BIAS)? {
            ensure!(
                file.numbers(BIAS)?.values.iter().all(|value| *value == 0.0),
                "它的 {BIAS} 不为 0",
                "its {BIAS} is not 0"
            );
        }
        Seq2Seq::of_values(self.shape, values)
    }

    /// Writes the folder of a trained model: settings last, so that a folder without them is none of a model.
    pub fn write(
        &self,
        output: &Path,
        trained: &Seq2Seq,
        fitted_until: Option<NaiveDateTime>,
        training: &Value,
    ) -> Result<()> {
        let mut tensors = Tensors::new();
        let values = trained.values();
        self.stored().iter().zip(&values).for_each(|(weight, values)| weight.put("", values, &mut tensors));
        let vocabulary = self.shape.encoder.vocabulary;
        tensors.insert(BIAS.to_owned(), (vec![1, vocabulary], vec![0.0; vocabulary]));
        self.files.write(output, &tensors, CLASS, self.files.settings().clone(), fitted_until, training)
    }

    /// The places of all weights in a file, in the order of the shape.
    fn stored(&self) -> Vec<StoredWeight> {
        let pair = |name: String| ["weight", "bias"].map(|kind| format!("{name}.{kind}"));
        let attention = |name: &str| {
            let layers = ["q_proj", "k_proj", "v_proj", "out_proj"].map(|layer| format!("{name}.{layer}"));
            layers.into_iter().chain([format!("{name}_layer_norm")]).flat_map(pair).collect::<Vec<String>>()
        };
        let feed_forward = || ["fc1", "fc2", "final_layer_norm"].map(str::to_owned).into_iter().flat_map(pair);
        let side = |side: &str, layers: usize, of_block: Vec<String>| {
            let around = [
                format!("model.{side}.embed_positions.weight"),
                format!("model.{side}.layernorm_embedding.weight"),
                format!("model.{side}.layernorm_embedding.bias"),
            ];
            let blocks = (0..layers).flat_map(move |layer| {
                of_block.iter().map(|name| format!("model.{side}.layers.{layer}.{name}")).collect::<Vec<String>>()
            });
            (around, blocks.collect::<Vec<String>>())
        };
        let of_encoder = attention("self_attn").into_iter().chain(feed_forward()).collect();
        let of_decoder =
            attention("self_attn").into_iter().chain(attention("encoder_attn")).chain(feed_forward()).collect();
        let ([places, scale, shift], encoder) = side("encoder", self.shape.encoder.layers, of_encoder);
        let (around, decoder) = side("decoder", self.shape.layers, of_decoder);
        // There are no segments, and no layer behind the tables.
        let embeddings =
            ["model.shared.weight".into(), places, String::new(), scale, shift, String::new(), String::new()];
        let names = embeddings.into_iter().chain(encoder).chain(around).chain(decoder);
        names.zip(self.shape.shapes()).map(|(name, size)| StoredWeight::plain(name, size)).collect()
    }
}
