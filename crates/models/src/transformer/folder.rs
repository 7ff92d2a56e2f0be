//! Encoders in folders of Hugging Face: config.json, model.safetensors, and the files of a tokenizer.
//!
//! Names of weights follow the classes of transformers (`transformers/models/*/modeling_*.py`).

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use chrono::NaiveDateTime;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Map, Value, json};

use super::block::{BlockActivation, BlockShape, NormPlace, add};
use super::encoder::{EmbeddingWeights, EncoderShape};
use super::head::{HeadForm, PooledActivation, TextGoal};
use super::train::Transformer;
use crate::TensorFile;
use inkstone_base::{disk, limits};

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
/// The setting that says how far the text reaches that a model was trained on.
const FITTED_UNTIL: &str = "fitted_until";
/// The setting of ERNIE that says whether there is a table of tasks.
const TASKS: &str = "use_task_id";
/// Files of tokenizers.
const TOKENIZER: [&str; 6] =
    ["tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json", "vocab.json", "merges.txt"];

/// Families of encoders with the layers of BERT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Bert,
    Ernie,
    Roberta,
    Electra,
}

impl Family {
    fn named(model_type: &str) -> Option<Family> {
        match model_type {
            "bert" => Some(Family::Bert),
            "ernie" => Some(Family::Ernie),
            "roberta" | "xlm-roberta" | "camembert" => Some(Family::Roberta),
            "electra" => Some(Family::Electra),
            _ => None,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Family::Bert => "bert.",
            Family::Ernie => "ernie.",
            Family::Roberta => "roberta.",
            Family::Electra => "electra.",
        }
    }

    fn pooled(self) -> PooledActivation {
        if self == Family::Electra { PooledActivation::Gelu } else { PooledActivation::Tanh }
    }

    /// Names of the weights of an encoder, in the order of its shape, without the prefix.
    fn encoder_names(layers: usize) -> Vec<String> {
        let embeddings = [
            "word_embeddings.weight",
            "position_embeddings.weight",
            "token_type_embeddings.weight",
            "LayerNorm.weight",
            "LayerNorm.bias",
        ];
        let block = [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
            "attention.output.LayerNorm",
            "intermediate.dense",
            "output.dense",
            "output.LayerNorm",
        ];
        let of_block = |layer: usize| {
            let name = move |part: &str, kind: &str| format!("encoder.layer.{layer}.{part}.{kind}");
            block.into_iter().flat_map(move |part| ["weight", "bias"].map(|kind| name(part, kind)))
        };
        embeddings.iter().map(|name| format!("embeddings.{name}")).chain((0..layers).flat_map(of_block)).collect()
    }

    /// Names of the weights of a head.
    fn head_names(self, form: HeadForm) -> Vec<String> {
        let pair = |name: String| ["weight", "bias"].map(|kind| format!("{name}.{kind}"));
        let names: Vec<String> = match (form, self) {
            (HeadForm::Words { .. }, Family::Roberta) => vec!["lm_head.dense".into(), "lm_head.layer_norm".into()],
            (HeadForm::Words { .. }, _) => {
                ["dense", "LayerNorm"].map(|part| format!("cls.predictions.transform.{part}")).into()
            }
            (HeadForm::Text { .. }, Family::Bert | Family::Ernie) => {
                vec![format!("{}pooler.dense", self.prefix()), "classifier".into()]
            }
            (HeadForm::Text { .. }, _) => vec!["classifier.dense".into(), "classifier.out_proj".into()],
        };
        let bias = match (form, self) {
            (HeadForm::Words { .. }, Family::Roberta) => Some("lm_head.bias".to_owned()),
            (HeadForm::Words { .. }, _) => Some("cls.predictions.bias".to_owned()),
            _ => None,
        };
        names.into_iter().flat_map(pair).chain(bias).collect()
    }

    /// The class of transformers with a head.
    fn class(self, model_type: &str, form: HeadForm) -> String {
        let name = match model_type {
            "xlm-roberta" => "XLMRoberta",
            "camembert" => "Camembert",
            _ => match self {
                Family::Bert => "Bert",
                Family::Ernie => "Ernie",
                Family::Roberta => "Roberta",
                Family::Electra => "Electra",
            },
        };
        let head = if matches!(form, HeadForm::Words { .. }) { "ForMaskedLM" } else { "ForSequenceClassification" };
        format!("{name}{head}")
    }
}

/// The shape of a weight in a file: biases and the weights of norms are lists.
fn shape_of(name: &str, [rows, columns]: [usize; 2]) -> Vec<usize> {
    let is_list = name.ends_with("bias") || name.contains("LayerNorm") || name.contains("layer_norm");
    if is_list { vec![columns] } else { vec![rows, columns] }
}

/// The folder of an encoder.
pub struct EncoderFolder {
    folder: PathBuf,
    settings: Map<String, Value>,
    model_type: String,
    family: Family,
    pub shape: EncoderShape,
}

impl EncoderFolder {
    /// Reads the settings of a folder. Fails where its architecture cannot be trained.
    pub fn open(folder: &Path) -> Result<EncoderFolder> {
        let path = folder.join(CONFIG);
        let settings = limits::settings_file(&path).with_context(|| {
            format!(
                "{} is no folder of a model with config.json and model.safetensors: fetch the whole folder",
                folder.display()
            )
        })?;
        let settings: Map<String, Value> = serde_json::from_slice(&settings)
            .with_context(|| format!("{} is not JSON with settings", path.display()))?;
        let weights = folder.join(WEIGHTS);
        ensure!(
            weights.is_file(),
            "{} is missing: weights are read from it. A folder that holds a graph alone (.onnx) or weights as pickle is written anew from \
             Python: AutoModel.from_pretrained(...).save_pretrained({:?}, safe_serialization=True)",
            weights.display(),
            folder.display().to_string()
        );
        EncoderFolder::of_settings(folder, settings).with_context(|| format!("{} cannot be trained", folder.display()))
    }

    /// The folder of a new encoder of BERT's architecture; nothing is written yet.
    pub fn create(folder: &Path, shape: EncoderShape, pad: u32) -> Result<EncoderFolder> {
        let settings = json!({
            "model_type": "bert", "vocab_size": shape.vocabulary, "hidden_size": shape.block.width, "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.block.heads, "intermediate_size": shape.block.between, "hidden_act": "gelu",
            "max_position_embeddings": shape.places, "type_vocab_size": shape.segments, "layer_norm_eps": shape.block.epsilon,
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02, "pad_token_id": pad,
            "position_embedding_type": "absolute",
        });
        EncoderFolder::of_settings(folder, serde_json::from_value(settings)?)
    }

    fn of_settings(folder: &Path, settings: Map<String, Value>) -> Result<EncoderFolder> {
        let text = |name: &str, other: &str| settings.get(name).and_then(Value::as_str).unwrap_or(other).to_owned();
        let size = |name: &str| {
            let value = settings.get(name).and_then(Value::as_u64).filter(|size| (1..=1 << 24).contains(size));
            value.map(|size| size as usize).with_context(|| format!("{CONFIG} has no {name} from 1 on"))
        };
        let model_type = text("model_type", "");
        let Some(family) = Family::named(&model_type) else {
            bail!(
                "its model_type is {model_type:?}, and bert, ernie, roberta, xlm-roberta, camembert and electra are trained here"
            );
        };
        ensure!(text("position_embedding_type", "absolute") == "absolute", "its places are not absolute");
        let width = size("hidden_size")?;
        let embedded = settings.get("embedding_size").and_then(Value::as_u64).unwrap_or(width as u64);
        ensure!(
            embedded as usize == width,
            "its tables are {embedded} wide and its layers {width} (embedding_size, hidden_size): only equal widths are trained here"
        );
        let activation = match text("hidden_act", "gelu").as_str() {
            "gelu" => BlockActivation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => BlockActivation::GeluTanh,
            "relu" => BlockActivation::Relu,
            other => bail!("its hidden_act is {other:?}, and gelu, gelu_new and relu are trained here"),
        };
        let layers = size("num_hidden_layers")?;
        ensure!(layers <= limits::LAYERS, "{CONFIG} has {layers} layers");
        let pad = settings.get("pad_token_id").and_then(Value::as_u64).unwrap_or(1) as usize;
        let shape = EncoderShape {
            vocabulary: size("vocab_size")?,
            places: size("max_position_embeddings")?,
            first_place: if family == Family::Roberta { pad.saturating_add(1) } else { 0 },
            segments: settings.get("type_vocab_size").and_then(Value::as_u64).unwrap_or(0) as usize,
            layers,
            block: BlockShape {
                width,
                heads: size("num_attention_heads")?,
                between: size("intermediate_size")?,
                place: NormPlace::After,
                activation,
                epsilon: settings.get("layer_norm_eps").and_then(Value::as_f64).unwrap_or(1e-12),
            },
        };
        super::encoder::check(&shape)?;
        Ok(EncoderFolder { folder: folder.to_owned(), settings, model_type, family, shape })
    }

    /// The last time of the text that the model was trained on, where its folder says it.
    pub fn fitted_until(&self) -> Result<Option<NaiveDateTime>> {
        let stated = self.settings.get(FITTED_UNTIL).filter(|value| !value.is_null()).cloned();
        stated
            .map(|value| {
                serde_json::from_value(value).with_context(|| format!("{FITTED_UNTIL} in {CONFIG} is no time"))
            })
            .transpose()
    }

    /// Tokens of a text at most, special tokens included.
    pub fn most_tokens(&self) -> usize {
        self.shape.places.saturating_sub(self.shape.first_place)
    }

    /// The head that predicts masked words.
    pub fn words(&self) -> Result<HeadForm> {
        ensure!(
            self.family != Family::Electra,
            "{} is a discriminator, which has no head that tells words: train on from a model of another family",
            self.folder.display()
        );
        let fixed = self.family == Family::Roberta;
        Ok(HeadForm::Words { activation: if fixed { BlockActivation::Gelu } else { self.shape.block.activation } })
    }

    /// The head that predicts classes, labels or a value.
    pub fn of_texts(&self, goal: TextGoal) -> HeadForm {
        HeadForm::Text { goal, pooled: self.family.pooled() }
    }

    /// The encoder with this head. Weights of the head that the folder has are taken, but for the outputs of a text's head; the others are
    /// drawn.
    pub fn read(&self, form: HeadForm, seed: u64) -> Result<Transformer> {
        let file = TensorFile::read(&self.folder.join(WEIGHTS))?;
        let names = Family::encoder_names(self.shape.layers);
        let prefix =
            if file.has(&format!("{}{}", self.family.prefix(), names[0]))? { self.family.prefix() } else { "" };
        let values = names.iter().zip(self.shape.shapes()).map(|(name, size)| match size {
            [0, _] => Ok(Vec::new()),
            size => file.shaped(&format!("{prefix}{name}"), &shape_of(name, size), CONFIG),
        });
        let mut values = values.collect::<Result<Vec<Vec<f32>>>>()?;
        if self.settings.get(TASKS) == Some(&Value::Bool(true)) {
            // All texts are of task 0, whose vector is added to each token, as that of the segment is.
            let tasks = file.numbers(&format!("{prefix}embeddings.task_type_embeddings.weight"))?;
            let task = tasks.values.get(..self.shape.block.width).context("the table of tasks is too small")?;
            let segments = &mut values[EmbeddingWeights::Segments as usize];
            segments.chunks_mut(task.len()).for_each(|segment| add(segment, task));
        }
        let mut read = Transformer::of_values(self.shape, form, values, seed)?;
        let known = if matches!(form, HeadForm::Words { .. }) { 5 } else { 2 };
        let first = self.shape.weights();
        for (at, name) in self.family.head_names(form).iter().take(known).enumerate() {
            let weight = &mut read.weights.all[first + at];
            if file.has(name)? {
                let numbers = file.numbers(name)?;
                ensure!(
                    numbers.values.len() == weight.values.len(),
                    "{name} has the shape {:?}, which does not suit {CONFIG}",
                    numbers.shape
                );
                weight.values = numbers.values;
            }
        }
        Ok(read)
    }

    /// Writes the folder of a trained encoder: settings last, so that a folder without them is none of a model. `names` are those of the
    /// classes or labels; none for a value and for words.
    pub fn write(
        &self,
        output: &Path,
        trained: &Transformer,
        names: &[String],
        fitted_until: Option<NaiveDateTime>,
        training: &Value,
    ) -> Result<()> {
        let all = self.names(trained.form);
        let shapes =
            self.shape.shapes().into_iter().chain(trained.form.shapes(self.shape.block.width, self.shape.vocabulary));
        let mut tensors = Vec::new();
        for ((name, values), size) in all.iter().zip(trained.values()).zip(shapes) {
            if values.is_empty() {
                continue;
            }
            tensors.push((name, TensorView::new(Dtype::F32, shape_of(name, size), bytemuck::cast_slice(values))?));
        }
        let mut settings = self.settings.clone();
        settings.insert("architectures".into(), json!([self.family.class(&self.model_type, trained.form)]));
        settings.insert("torch_dtype".into(), "float32".into());
        settings.insert("training".into(), training.clone());
        settings.insert(FITTED_UNTIL.into(), json!(fitted_until));
        // The vector of the task is part of the segments' vectors.
        settings.remove(TASKS);
        for name in ["id2label", "label2id", "num_labels", "problem_type"] {
            settings.remove(name);
        }
        if let HeadForm::Text { goal, .. } = trained.form {
            let (names, problem) = match goal {
                TextGoal::Classes(_) => (names.to_vec(), "single_label_classification"),
                TextGoal::Labels(_) => (names.to_vec(), "multi_label_classification"),
                TextGoal::Value => (vec!["value".to_owned()], "regression"),
            };
            let by_id: Map<String, Value> =
                names.iter().enumerate().map(|(id, name)| (id.to_string(), json!(name))).collect();
            let ids: Map<String, Value> =
                names.iter().enumerate().map(|(id, name)| (name.clone(), json!(id))).collect();
            settings.insert("id2label".into(), by_id.into());
            settings.insert("label2id".into(), ids.into());
            settings.insert("problem_type".into(), problem.into());
        }
        let metadata = std::collections::HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let bytes = safetensors::serialize(tensors, Some(metadata))?;
        disk::write_atomic(&output.join(WEIGHTS), |out| Ok(out.write_all(&bytes)?))?;
        disk::write_atomic(&output.join(CONFIG), |out| Ok(serde_json::to_writer_pretty(out, &settings)?))
    }

    /// Names of all weights, in their order.
    pub(super) fn names(&self, form: HeadForm) -> Vec<String> {
        let prefix = self.family.prefix();
        let encoder = Family::encoder_names(self.shape.layers).into_iter().map(|name| format!("{prefix}{name}"));
        encoder.chain(self.family.head_names(form)).collect()
    }

    /// Copies the tokenizer to another folder.
    pub fn copy_tokenizer(&self, output: &Path) -> Result<()> {
        for name in TOKENIZER {
            let from = self.folder.join(name);
            if from.is_file() {
                let bytes = std::fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
                disk::write_atomic(&output.join(name), |out| Ok(out.write_all(&bytes)?))?;
            }
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }
}
