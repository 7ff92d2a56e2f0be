//! Encoders in folders of Hugging Face: config.json, model.safetensors, and the files of a tokenizer.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Map, Value, json};

use super::block::{BlockActivation, add};
use super::encoder::{EmbeddingWeights, EncoderShape};
use super::family::{Family, Settings, Tensors};
use super::head::{HeadForm, HeadForms, TextGoal, order};
use super::train::Transformer;
use crate::TensorFile;
use inkstone_base::data::Key;
use inkstone_base::language::Word;
use inkstone_base::{disk, limits};
use inkstone_base::{ensure, message};

pub(super) const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
/// The setting that says how far the text reaches that a model was trained on.
const FITTED_UNTIL: &str = "fitted_until";
/// The setting of ERNIE that says whether there is a table of tasks.
const TASKS: &str = "use_task_id";
/// Files of tokenizers.
const TOKENIZER: [&str; 6] =
    ["tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json", "vocab.json", "merges.txt"];

/// A folder with the settings and the weights of a model.
pub struct ModelFolder {
    folder: PathBuf,
    settings: Settings,
}

impl ModelFolder {
    /// Reads the settings of a folder.
    pub fn open(folder: &Path) -> Result<ModelFolder> {
        let path = folder.join(CONFIG);
        let settings = limits::settings_file(&path).with_context(|| {
            message!(
                "{} 不是含 config.json 与 model.safetensors 的模型文件夹：请取得整个文件夹",
                "{} is no folder of a model with config.json and model.safetensors: fetch the whole folder",
                folder.display()
            )
        })?;
        let settings: Settings = serde_json::from_slice(&settings)
            .with_context(|| message!("{} 不是设置的 JSON", "{} is not JSON with settings", path.display()))?;
        let weights = folder.join(WEIGHTS);
        ensure!(
            weights.is_file(),
            "缺少 {}：权重由它读取。只有图（.onnx）或 pickle 权重的文件夹，可在 Python 中重写：AutoModel.from_pretrained(...).save_pretrained({:?}, safe_serialization=True)",
            "{} is missing: weights are read from it. A folder that holds a graph alone (.onnx) or weights as pickle is written anew from Python: AutoModel.from_pretrained(...).save_pretrained({:?}, safe_serialization=True)",
            weights.display(),
            folder.display().to_string()
        );
        Ok(ModelFolder::create(folder, settings))
    }

    /// The folder of a new model. Nothing is written yet.
    pub(super) fn create(folder: &Path, settings: Settings) -> ModelFolder {
        ModelFolder { folder: folder.to_owned(), settings }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn model_type(&self) -> &str {
        self.settings.get("model_type").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    pub(super) fn weights(&self) -> Result<TensorFile> {
        TensorFile::read(&self.folder.join(WEIGHTS))
    }

    /// The last time of the text that the model was trained on, where its folder says it.
    pub fn fitted_until(&self) -> Result<Option<NaiveDateTime>> {
        let stated = self.settings.get(FITTED_UNTIL).filter(|value| !value.is_null()).cloned();
        stated
            .map(|value| {
                serde_json::from_value(value).with_context(|| {
                    message!("{CONFIG} 中的 {FITTED_UNTIL} 不是时间", "{FITTED_UNTIL} in {CONFIG} is no time")
                })
            })
            .transpose()
    }

    /// The figures of the training that wrote the folder, as config.json states them; none where that training has another key.
    pub fn training_with(&self, key: Key) -> Option<Value> {
        let training = self.settings.get("training").filter(|training| training["key"] == json!(key))?;
        Some(training.clone())
    }

    /// Copies the tokenizer to another folder.
    pub fn copy_tokenizer(&self, output: &Path) -> Result<()> {
        for name in TOKENIZER {
            let from = self.folder.join(name);
            if from.is_file() {
                let bytes =
                    std::fs::read(&from).with_context(|| message!("无法读取 {}", "cannot read {}", from.display()))?;
                disk::write_atomic(&output.join(name), |out| Ok(out.write_all(&bytes)?))?;
            }
        }
        Ok(())
    }

    /// Writes tensors, and these settings with the figures of the training; settings last, so that a folder without them is none of a model.
    pub(super) fn write(
        &self,
        output: &Path,
        tensors: &Tensors,
        class: &str,
        mut settings: Settings,
        fitted_until: Option<NaiveDateTime>,
        training: &Value,
    ) -> Result<()> {
        let views = tensors.iter().map(|(name, (shape, values))| {
            Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytemuck::cast_slice(values))?))
        });
        let views = views.collect::<Result<Vec<_>>>()?;
        settings.insert("architectures".into(), json!([class]));
        settings.insert("torch_dtype".into(), "float32".into());
        settings.insert("training".into(), training.clone());
        settings.insert(FITTED_UNTIL.into(), json!(fitted_until));
        let metadata = std::collections::HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let bytes = safetensors::serialize(views, Some(metadata))?;
        disk::write_atomic(&output.join(WEIGHTS), |out| Ok(out.write_all(&bytes)?))?;
        disk::write_atomic(&output.join(CONFIG), |out| Ok(serde_json::to_writer_pretty(out, &settings)?))
    }
}

/// The folder of an encoder.
pub struct EncoderFolder {
    pub files: ModelFolder,
    family: Family,
    pub shape: EncoderShape,
}

impl EncoderFolder {
    /// Reads the settings of a folder. Fails where its architecture cannot be trained.
    pub fn open(folder: &Path) -> Result<EncoderFolder> {
        EncoderFolder::of_files(ModelFolder::open(folder)?)
            .with_context(|| message!("{} 不能训练", "{} cannot be trained", folder.display()))
    }

    /// The folder of a new encoder of a `model_type`: bert, electra, gpt2 or lstm. Nothing is written yet. `specials` are the tokens that fill up, begin
    /// and end a text.
    pub fn create(folder: &Path, model_type: &str, shape: &EncoderShape, specials: [u32; 3]) -> Result<EncoderFolder> {
        let settings = serde_json::from_value(Family::settings(model_type, shape, specials))?;
        EncoderFolder::of_files(ModelFolder::create(folder, settings))
    }

    fn of_files(files: ModelFolder) -> Result<EncoderFolder> {
        let family = Family::named(files.model_type())?;
        let shape = family.shape(files.settings())?;
        Ok(EncoderFolder { files, family, shape })
    }

    /// Tokens of a text at most, special tokens included.
    pub fn most_tokens(&self) -> usize {
        self.shape.places.saturating_sub(self.shape.first_place)
    }

    /// True if the encoder learns the words that follow, and not masked ones.
    pub fn predicts_next(&self) -> bool {
        matches!(self.family, Family::Gpt2 | Family::Lstm)
    }

    /// True if the encoder reads from left to right.
    pub fn is_causal(&self) -> bool {
        self.shape.block.causal
    }

    /// The method of `inkstone train` by which the encoder is trained on.
    pub fn method(&self) -> &'static str {
        match self.family {
            Family::Gpt2 => "gpt",
            Family::Electra => "electra",
            Family::Lstm => {
                if self.is_causal() {
                    "lstm"
                } else {
                    "elmo"
                }
            }
            _ => "bert",
        }
    }

    /// The head that predicts the words of a new encoder.
    pub fn words_of_new(&self) -> HeadForm {
        match self.family {
            Family::Gpt2 | Family::Lstm => HeadForm::Next,
            Family::Electra | Family::Roberta => HeadForm::Words { activation: BlockActivation::Gelu },
            _ => HeadForm::Words { activation: self.shape.block.activation },
        }
    }

    /// The heads that predict masked words, and which of so many relations two segments have.
    pub fn words_and_order(&self, relations: usize) -> Result<HeadForms> {
        ensure!(
            matches!(self.family, Family::Bert | Family::Ernie | Family::Albert),
            "{} 没有判断句子次序的头：请去掉 --sentences",
            "{} has no head for the order of sentences: leave --sentences out",
            self.path().display()
        );
        let main = HeadForm::Words { activation: self.shape.block.activation };
        Ok(HeadForms { main, beside: Some(order(relations)) })
    }

    /// The head that predicts masked words, or the next words where the encoder reads from left to right.
    pub fn words(&self) -> Result<HeadForm> {
        let stated = |setting: &str| self.files.settings.get(setting);
        ensure!(
            stated("tie_word_embeddings") != Some(&Value::Bool(false)),
            "{} 用词表之外的权重预测词（tie_word_embeddings），这里不能训练",
            "{} predicts words by other weights than its table of tokens (tie_word_embeddings), which is not trained here",
            self.path().display()
        );
        ensure!(
            self.family != Family::Electra || stated("architectures") == Some(&json!(["ElectraForMaskedLM"])),
            "{} 是判别器，没有预测词的头",
            "{} is a discriminator, which has no head that predicts words",
            self.path().display()
        );
        Ok(self.words_of_new())
    }

    /// The head that predicts classes, labels or a value.
    pub fn of_texts(&self, goal: TextGoal) -> HeadForm {
        self.family.of_texts(goal)
    }

    /// The heads that predict the words of a model that is trained on text: those that follow, of an LSTM of both directions also those before.
    pub fn words_of_text(&self) -> Result<HeadForms> {
        let beside = (self.family == Family::Lstm && !self.is_causal()).then_some(HeadForm::Before);
        Ok(HeadForms { main: self.words()?, beside })
    }

    /// The heads that predict masked words, and which names took the place of others.
    pub fn words_and_names(&self) -> Result<HeadForms> {
        Ok(HeadForms { main: self.words()?, beside: Some(HeadForm::Tokens { tags: 2 }) })
    }

    /// The heads that predict the target of a text, and its words.
    pub fn texts_and_words(&self, goal: TextGoal) -> Result<HeadForms> {
        Ok(HeadForms { main: self.of_texts(goal), beside: Some(self.words()?) })
    }

    /// The head that gives each token a tag.
    pub fn of_tokens(&self, tags: usize) -> Result<HeadForm> {
        self.check_both_directions()?;
        Ok(HeadForm::Tokens { tags })
    }

    /// The head that finds the first and the last token of an answer.
    pub fn of_spans(&self) -> Result<HeadForm> {
        self.check_both_directions()?;
        Ok(HeadForm::Spans)
    }

    /// Fails where a token knows nothing of the tokens behind it.
    fn check_both_directions(&self) -> Result<()> {
        ensure!(
            !self.shape.block.causal,
            "{} 从左到右阅读，词元看不到后文：请用 BERT 之类的编码器",
            "{} reads from left to right, so a token would not know what follows: take an encoder such as BERT",
            self.path().display()
        );
        Ok(())
    }

    /// The encoder with these heads. Weights of the heads that the folder has are taken, but for the outputs of the main head of texts or tokens;
    /// the others are drawn.
    pub fn read(&self, heads: impl Into<HeadForms>, seed: u64) -> Result<Transformer> {
        let heads = heads.into();
        let file = self.files.weights()?;
        let weights = self.family.encoder_weights(&self.shape);
        let prefix = self.family.prefix();
        let prefix = if file.has(&format!("{prefix}{}", weights[0].name))? { prefix } else { "" };
        let mut values = weights.iter().map(|weight| weight.read(&file, prefix)).collect::<Result<Vec<Vec<f32>>>>()?;
        if self.files.settings.get(TASKS) == Some(&Value::Bool(true)) {
            // All texts are of task 0, whose vector is added to each token, as that of the segment is.
            let tasks = file.numbers(&format!("{prefix}embeddings.task_type_embeddings.weight"))?;
            let task = tasks
                .values
                .get(..self.shape.block.width)
                .context(Word("任务表太小", "the table of tasks is too small"))?;
            let segments = &mut values[EmbeddingWeights::Segments as usize];
            segments.chunks_mut(task.len()).for_each(|segment| add(segment, task));
        }
        let mut read = Transformer::of_values(self.shape, heads, values, seed)?;
        let first = self.shape.weights();
        let is_output =
            |at: usize| heads.main.outputs().is_some_and(|(outputs, bias)| at == outputs || Some(at) == bias);
        for (at, stored) in self.family.head_weights(heads, &self.shape).iter().enumerate() {
            // A head of another relation of segments may have more classes or fewer.
            let of_main = at < heads.main.shapes(&self.shape).len();
            let fits = |shape: Vec<usize>| of_main || shape.iter().product::<usize>() == stored.count();
            if !is_output(at) && file.has(&stored.name)? && fits(file.numbers(&stored.name)?.shape) {
                read.weights.all[first + at].values = stored.read(&file, "")?;
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
        let tensors = self.tensors(trained.heads, &trained.values());
        let mut settings = self.files.settings.clone();
        let class = self.family.class(self.files.model_type(), trained.heads);
        // The vector of the task is part of the segments' vectors.
        settings.remove(TASKS);
        for name in ["id2label", "label2id", "num_labels", "problem_type"] {
            settings.remove(name);
        }
        if let Some(goal) = trained.heads.main.goal() {
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
            if !matches!(trained.heads.main, HeadForm::Tokens { .. }) {
                settings.insert("problem_type".into(), problem.into());
            }
        }
        self.files.write(output, &tensors, &class, settings, fitted_until, training)
    }

    /// The tensors of a file, from the values of all weights.
    pub(super) fn tensors(&self, heads: HeadForms, values: &[&[f32]]) -> Tensors {
        let encoder = self.family.encoder_weights(&self.shape);
        let (of_encoder, of_heads) = values.split_at(encoder.len());
        let mut tensors = Tensors::new();
        encoder.iter().zip(of_encoder).for_each(|(w, values)| w.put(self.family.prefix(), values, &mut tensors));
        let stored = self.family.head_weights(heads, &self.shape);
        stored.iter().zip(of_heads).for_each(|(weight, values)| weight.put("", values, &mut tensors));
        tensors
    }

    pub fn path(&self) -> &Path {
        self.files.path()
    }
}
