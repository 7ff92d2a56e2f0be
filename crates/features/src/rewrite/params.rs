//! One `[[rewrite]]`: the model, what it reads, and how it writes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use inkstone_base::bounds;
use inkstone_base::data::{Key, Kind};
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_onnx::{Generator, OnnxParams, Opening, PromptTemplate, SearchParams};
use inkstone_text::Truncation;

/// Changes whenever the same document would be rewritten differently.
const VERSION: u32 = 1;

/// One `[[rewrite]]`: a model that writes a text of each document, such as its summary. A feature with this name as its `text` reads these
/// texts in place of title and body.
///
/// Texts are searched for and not drawn, so that a text depends on its document alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rewrite {
    /// Name by which features refer to the texts.
    pub name: String,
    /// Folder of the model: an export (encoder_model.onnx and decoder_model.onnx, or a model.onnx that reads from left to right) or
    /// weights (GPT-2, BART, Qwen2, Qwen3, and models that are trained here); relative to the configuration.
    pub model: PathBuf,
    /// The tokenizer, where it is not beside the model.
    pub tokenizer: PathBuf,
    /// The last day of the text that the model was trained on, where its folder does not say it. A text is known from then on, or with its document if that is later.
    pub fitted_until: Option<NaiveDate>,
    /// Kinds of documents that are rewritten; empty: all.
    pub kinds: Vec<Kind>,
    /// True if company names and codes are hidden from the model.
    pub mask_names: bool,
    /// Text around each document with the fields `{title}`, `{body}` and `{text}` (both); empty: the document alone.
    pub prompt: String,
    /// True if each prompt is put into a chat by the tokenizer's template.
    pub chat: bool,
    /// The system message of each chat.
    pub system: String,
    /// Part of a document that the model reads, in tokens of the model.
    pub truncate: Truncation,
    /// Texts that are followed at the same time; 1 takes the likeliest token at each step, of many documents at once.
    pub beams: usize,
    pub max_new_tokens: usize,
    pub min_new_tokens: usize,
    /// Exponent of the length by which the logarithm of a text's probability is divided; above 1 favours longer texts.
    pub length_penalty: f64,
    /// No sequence of so many tokens comes twice; 0 allows all.
    pub no_repeat_ngram: usize,
    /// Factor by which tokens that were written become less likely.
    pub repetition_penalty: f32,
    /// A text ends behind the first of these.
    pub stop: Vec<String>,
    /// Least share of the numbers of a text that must stand in its document; a text with less is not read.
    pub min_numbers_kept: f64,
    /// Most tokens of the texts that are worked on at once; 0: 4096.
    pub batch_tokens: usize,
}

impl Default for Rewrite {
    fn default() -> Rewrite {
        Rewrite {
            name: String::new(),
            model: PathBuf::new(),
            tokenizer: PathBuf::new(),
            fitted_until: None,
            kinds: Vec::new(),
            mask_names: false,
            prompt: String::new(),
            chat: false,
            system: String::new(),
            truncate: Truncation::None,
            beams: 1,
            max_new_tokens: 128,
            min_new_tokens: 0,
            length_penalty: 1.0,
            no_repeat_ngram: 0,
            repetition_penalty: 1.0,
            stop: Vec::new(),
            min_numbers_kept: 0.0,
            batch_tokens: 0,
        }
    }
}

impl Rewrite {
    /// Fails where the settings make no sense, whatever the model.
    pub fn check(&self) -> Result<()> {
        bounds::check("rewrite", self)?;
        ensure!(
            !self.model.as_os_str().is_empty(),
            "缺少 model：请写出会写作的模型的文件夹",
            "model is missing: name the folder of a model that writes"
        );
        ensure!(
            self.chat || self.system.is_empty(),
            "system 是对话的第一条消息：请设置 chat = true",
            "system is the first message of a chat: set chat = true"
        );
        ensure!(
            self.min_new_tokens <= self.max_new_tokens,
            "min_new_tokens = {} 大于 max_new_tokens = {}",
            "min_new_tokens = {} is more than max_new_tokens = {}",
            self.min_new_tokens,
            self.max_new_tokens
        );
        self.template().map(drop)
    }

    /// The last second of the text that the model was trained on: as stated, or as its folder says it. Paths in the settings are relative to `base`.
    pub fn last_seen(&self, base: &Path) -> Result<NaiveDateTime> {
        let rewrite = || format!("rewrite {:?}", self.name);
        let seen = self.onnx().seen_until(base).with_context(rewrite)?;
        seen.context(Word("缺少 fitted_until：请写出模型训练文本的最后一天，其文本自那之后才算已知", "fitted_until is missing: name the last day of the text that the model was trained on, from which on its texts are known"))
        .with_context(rewrite)
    }

    /// The key by which the text of a document is kept: of the model, its settings, and the title and body that it reads.
    pub(super) fn source_key(&self, files: Key, title: &str, body: &str) -> Key {
        let mut settings = json!(self);
        let elsewhere =
            ["name", "model", "tokenizer", "fitted_until", "kinds", "mask_names", "min_numbers_kept", "batch_tokens"];
        if let Some(settings) = settings.as_object_mut() {
            settings.retain(|setting, _| !elsewhere.contains(&setting.as_str()));
        }
        let settings = Key::of_json(&(VERSION, settings, files));
        Key::of_parts([settings.0.as_slice(), title.as_bytes(), body.as_bytes()])
    }

    /// Key of the model and of all settings that change a text. Paths in the settings are relative to `base`.
    pub fn identity(&self, base: &Path) -> Result<Key> {
        let files = self.files_key(base)?;
        let mut settings = json!(self);
        for elsewhere in ["name", "model", "tokenizer", "batch_tokens"] {
            settings[elsewhere] = Value::Null;
        }
        Ok(Key::of_json(&(VERSION, settings, files)))
    }

    pub(super) fn files_key(&self, base: &Path) -> Result<Key> {
        Generator::files_key(&self.onnx(), base).with_context(|| message!("改写 {:?}", "rewrite {:?}", self.name))
    }

    fn onnx(&self) -> OnnxParams {
        OnnxParams {
            model: self.model.clone(),
            tokenizer: self.tokenizer.clone(),
            fitted_until: self.fitted_until,
            batch_tokens: self.batch_tokens,
            ..OnnxParams::default()
        }
    }

    fn template(&self) -> Result<Option<PromptTemplate>> {
        let given = Some(&self.prompt).filter(|prompt| !prompt.is_empty());
        given.map(|prompt| PromptTemplate::parse(prompt).context(Word("提示词", "prompt"))).transpose()
    }

    /// The model, ready to write.
    pub(super) fn open(&self, opening: &Opening<'_>) -> Result<Generator> {
        let search = SearchParams {
            beams: self.beams,
            max_new_tokens: self.max_new_tokens,
            min_new_tokens: self.min_new_tokens,
            length_penalty: self.length_penalty,
            no_repeat_ngram: self.no_repeat_ngram,
            repetition_penalty: self.repetition_penalty,
            stops: self.stop.clone(),
            ..SearchParams::default()
        };
        let mut writer = Generator::open(&self.onnx(), self.truncate, search, opening)?;
        if let Some(template) = self.template()? {
            writer.ask(template);
        }
        if self.chat {
            writer.chat(Some(self.system.clone()).filter(|system| !system.is_empty()))?;
        }
        Ok(writer)
    }
}
