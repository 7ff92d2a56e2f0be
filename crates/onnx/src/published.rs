//! A folder as sentence-transformers publishes it, and what its files say of how vectors are made.
//!
//! | file | says |
//! |---|---|
//! | `modules.json` | the modules behind the encoder, in order, each with its folder |
//! | `1_Pooling/config.json` | how the vectors of tokens become one, and whether the tokens of a prompt count |
//! | `2_Dense/config.json` and `model.safetensors` | a layer that the vector goes through; so `2_LayerNorm` |
//! | `2_Normalize` | vectors of length 1 |
//! | `sentence_bert_config.json` | tokens of a text at most; whether text is read in lower case |
//! | `config_sentence_transformers.json` | prompts by name, the default one, and how many values of a vector are kept |
//!
//! A module or setting that is not known is refused: it would give vectors, but other ones than its authors mean.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::layer::Layer;
use super::pooling::{Pool, Pooling};
use inkstone_base::language::Word;
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};

const MODULES: &str = "modules.json";
const PROMPTS: &str = "config_sentence_transformers.json";
/// Names of the settings of the encoder in the order in which sentence-transformers looks for them.
const ENCODER: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];
/// Lengths beyond this stand for none in tokenizer_config.json.
const NO_LENGTH: f64 = 1e9;

/// A value and the file that states it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stated<T> {
    pub value: T,
    pub file: String,
}

/// How a folder says its vectors are made.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// None where modules.json names no module that pools.
    pub pooling: Option<Stated<Pooling>>,
    /// Values of a token's vector that the pooling is for.
    pub pooled_size: Option<usize>,
    /// The tokens of a prompt are left out of the pooling.
    pub skips_prompt: bool,
    /// Layers behind the pooling with their folders. A vector of length 1 at the very end is `normalise`.
    pub layers: Vec<(String, Layer)>,
    pub normalise: Stated<bool>,
    /// Tokens of a text at most, special ones included.
    pub max_tokens: Option<Stated<usize>>,
    pub prompts: BTreeMap<String, String>,
    pub default_prompt: Option<String>,
    /// Values that are kept of a vector.
    pub dim: Option<Stated<usize>>,
}

impl Default for Stated<bool> {
    fn default() -> Stated<bool> {
        Stated { value: false, file: MODULES.to_owned() }
    }
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Module {
    /// `Pooling` of `sentence_transformers.models.Pooling`.
    fn name(&self) -> &str {
        self.kind.rsplit('.').next().unwrap_or_default()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EncoderSettings {
    max_seq_length: Option<usize>,
    do_lower_case: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenizerSettings {
    model_max_length: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptSettings {
    prompts: Option<BTreeMap<String, Option<String>>>,
    default_prompt_name: Option<String>,
    truncate_dim: Option<usize>,
}

/// A file of JSON in a folder; none where it is not there.
fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>> {
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = limits::settings_file(&path)?;
    let read = serde_json::from_slice(&bytes);
    read.map(Some).with_context(|| {
        message!(
            "{} 不是 sentence-transformers 所写的格式",
            "{} is not what sentence-transformers writes",
            path.display()
        )
    })
}

/// True if a folder says how its vectors are made.
pub(crate) fn is_published(folder: &Path) -> bool {
    folder.join(MODULES).is_file()
}

/// True if a folder says that text is read in lower case, whatever its tokenizer does.
pub(crate) fn lower_case(folder: &Path) -> Result<bool> {
    Ok(is_published(folder)
        && encoder_settings(folder)?.is_some_and(|(_, settings)| settings.do_lower_case == Some(true)))
}

fn encoder_settings(folder: &Path) -> Result<Option<(&'static str, EncoderSettings)>> {
    for name in ENCODER {
        if let Some(settings) = read(folder, name)? {
            return Ok(Some((name, settings)));
        }
    }
    Ok(None)
}

/// The folders of modules that a folder names, `/` between names.
pub(crate) fn module_folders(folder: &Path) -> Result<Vec<String>> {
    let modules: Vec<Module> = read(folder, MODULES)?.unwrap_or_default();
    let mut folders: Vec<String> =
        modules.into_iter().map(|module| module.path).filter(|path| !path.is_empty()).collect();
    folders.dedup();
    folders.iter().try_for_each(|path| is_below(folder, path))?;
    Ok(folders)
}

/// Fails for a folder of a module that does not lie in the folder of the model.
fn is_below(folder: &Path, path: &str) -> Result<()> {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    ensure!(
        plain,
        "{} 提到不在其下的文件夹 {path:?}",
        "{} names the folder {path:?}, which does not lie below it",
        folder.join(MODULES).display()
    );
    Ok(())
}

impl Published {
    /// Reads a folder; none where it has no modules.json.
    pub(crate) fn read(folder: &Path) -> Result<Option<Published>> {
        let Some(modules) = read::<Vec<Module>>(folder, MODULES)? else { return Ok(None) };
        let mut published = Published::default();
        let mut encoders = 0;
        for module in &modules {
            is_below(folder, &module.path)?;
            let here = || format!("{} names {:?}", folder.join(MODULES).display(), module.kind);
            let behind = published.pooling.is_some() || !published.layers.is_empty();
            match module.name() {
                "Transformer" => {
                    ensure!(
                        module.path.is_empty(),
                        "{}，其编码器在文件夹 {:?} 中：请把该文件夹作为模型，模块放在它的图旁边",
                        "{}, which keeps its encoder in the folder {:?}: name that folder as the model, with the modules beside its graph",
                        here(),
                        module.path
                    );
                    encoders += 1;
                }
                "Pooling" => {
                    ensure!(
                        !behind,
                        "{} 位于其他模块之后，这里只读取紧接编码器的第一个",
                        "{} behind other modules, and is read as the first behind the encoder alone",
                        here()
                    );
                    published.read_pooling(folder, &module.path)?;
                }
                "Dropout" => {}
                name @ ("Dense" | "LayerNorm" | "Normalize") => {
                    ensure!(
                        published.pooling.is_some(),
                        "{} 位于池化之前，对每个词元作向量：这里不读取",
                        "{} before a pooling, where it makes a vector of every token: such vectors are not read here",
                        here()
                    );
                    published.layers.push((module.path.clone(), Layer::read(name, folder, &module.path)?));
                }
                _ => bail!(
                    "{}，这里读取的模块为 Transformer、Pooling、Dense、LayerNorm、Normalize 和 Dropout。去掉 modules.json 的副本给出其编码器的向量，按你的设置池化",
                    "{}, and the modules that are read here are Transformer, Pooling, Dense, LayerNorm, Normalize and Dropout. A copy of the folder without modules.json gives the vectors of its encoder, pooled as you say",
                    here()
                ),
            }
        }
        ensure!(
            encoders == 1,
            "{} 提到 {encoders} 个编码器（Transformer），而不是一个",
            "{} names {encoders} encoders (Transformer), not one",
            folder.join(MODULES).display()
        );
        while let Some((path, _)) = published.layers.pop_if(|(_, layer)| matches!(layer, Layer::Unit)) {
            published.normalise = Stated { value: true, file: format!("{MODULES} ({path})") };
        }
        published.read_settings(folder)?;
        Ok(Some(published))
    }

    fn read_pooling(&mut self, folder: &Path, path: &str) -> Result<()> {
        let file = format!("{path}/config.json");
        let shown = folder.join(&file);
        let settings: serde_json::Map<String, serde_json::Value> = read(folder, &file)?.with_context(|| {
            message!(
                "没有说明词元如何池化的 {}：请取得整个文件夹",
                "there is no {}, which says how tokens are pooled: fetch the whole folder",
                shown.display()
            )
        })?;
        let modes: Vec<String> = match settings.get("pooling_mode") {
            Some(serde_json::Value::String(mode)) => vec![mode.clone()],
            Some(serde_json::Value::Array(modes)) => {
                modes.iter().map(|mode| mode.as_str().unwrap_or_default().to_owned()).collect()
            }
            _ => flagged_modes(&settings),
        };
        let pool = |mode: &String| {
            let known = POOLINGS.iter().find(|(name, ..)| name == mode).map(|(.., pool)| *pool);
            known.with_context(|| {
                let names: Vec<&str> = POOLINGS.iter().map(|(name, ..)| *name).collect();
                message!(
                    "{} 的池化方式为 {mode:?}；支持 {}",
                    "{} names the pooling {mode:?}; known are {}",
                    shown.display(),
                    names.join(", ")
                )
            })
        };
        let mut pools = modes.iter().map(pool).collect::<Result<Vec<Pool>>>()?;
        if pools.is_empty() {
            pools.push(Pool::Mean);
        }
        let size = |name: &str| settings.get(name).and_then(serde_json::Value::as_u64);
        self.pooled_size = size("embedding_dimension").or(size("word_embedding_dimension")).map(|size| size as usize);
        self.skips_prompt = settings.get("include_prompt").and_then(serde_json::Value::as_bool) == Some(false);
        self.pooling = Some(Stated { value: Pooling(pools), file });
        Ok(())
    }

    fn read_settings(&mut self, folder: &Path) -> Result<()> {
        let length = encoder_settings(folder)?.and_then(|(file, settings)| Some((settings.max_seq_length?, file)));
        let of_tokenizer = || -> Result<Option<(usize, &'static str)>> {
            let settings: Option<TokenizerSettings> = read(folder, "tokenizer_config.json")?;
            let length = settings.and_then(|settings| settings.model_max_length);
            Ok(length
                .filter(|&length| (1.0..NO_LENGTH).contains(&length))
                .map(|length| (length as usize, "tokenizer_config.json")))
        };
        let length = if length.is_some() { length } else { of_tokenizer()? };
        self.max_tokens = length.map(|(value, file)| Stated { value, file: file.to_owned() });
        let settings: PromptSettings = read(folder, PROMPTS)?.unwrap_or_default();
        let prompts = settings.prompts.unwrap_or_default().into_iter();
        self.prompts = prompts.map(|(name, prompt)| (name, prompt.unwrap_or_default())).collect();
        self.default_prompt = settings.default_prompt_name;
        self.dim = settings.truncate_dim.filter(|&dim| dim > 0).map(|value| Stated { value, file: PROMPTS.to_owned() });
        if let Some(name) = self.default_prompt.as_ref().filter(|name| !self.prompts.contains_key(*name)) {
            bail!(
                "{} 的默认提示词 {name:?} 不在其提示词之中",
                "{} has the default prompt {name:?}, which is not among its prompts",
                folder.join(PROMPTS).display()
            );
        }
        Ok(())
    }

    /// The text of the prompt that is asked for, and where it is from: a name of the folder's, `none`, or a text as it is; with nothing
    /// asked for, the folder's default.
    pub(crate) fn prompt(&self, asked: Option<&str>) -> Result<Option<Stated<String>>> {
        let named = |name: &str| {
            self.prompts.get(name).map(|text| Stated { value: text.clone(), file: format!("{PROMPTS} ({name})") })
        };
        let Some(asked) = asked else { return Ok(self.default_prompt.as_deref().and_then(named).filter(is_there)) };
        // Names that models give to the prompt of a text that is searched.
        let documents =
            || ["passage", "corpus"].into_iter().find_map(named).or((!self.prompts.is_empty()).then(Stated::default));
        let found = match asked {
            "none" => Some(Stated::default()),
            "document" => named(asked).or_else(documents),
            name => named(name),
        };
        let literal = || (!is_name(asked)).then(|| Stated { value: asked.to_owned(), ..Stated::default() });
        let found = found.or_else(literal).with_context(|| {
            let names: Vec<&str> = self.prompts.keys().map(String::as_str).collect();
            let known = if names.is_empty() { Word("它没有提示词", "it names none").into() } else { message!("它有 {}", "it names {}", names.join(", ")) };
            message!("文件夹没有提示词 {asked:?}：{known}（{PROMPTS}）。请写其中之一、\"none\"，或写出提示词本身及其全部标点，如 \"query: \"", "the folder has no prompt {asked:?}: {known} ({PROMPTS}). Name one of these, \"none\", or write the prompt itself with all its marks, as \"query: \""
            )
        })?;
        Ok(Some(found).filter(is_there))
    }
}

fn is_there(prompt: &Stated<String>) -> bool {
    !prompt.value.is_empty()
}

impl Default for Stated<String> {
    fn default() -> Stated<String> {
        Stated { value: String::new(), file: String::new() }
    }
}

/// True for what can be the name of a prompt and is no prompt itself: letters and digits of ASCII, `-`, `_`, `.`.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Poolings by the names of new and old folders, in the order in which old ones stand side by side.
const POOLINGS: [(&str, &str, Pool); 6] = [
    ("cls", "pooling_mode_cls_token", Pool::Cls),
    ("max", "pooling_mode_max_tokens", Pool::Max),
    ("mean", "pooling_mode_mean_tokens", Pool::Mean),
    ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pool::MeanSqrt),
    ("weightedmean", "pooling_mode_weightedmean_tokens", Pool::WeightedMean),
    ("lasttoken", "pooling_mode_lasttoken", Pool::Last),
];

/// The poolings that an old folder has set to true, by their names in new ones; unknown names are kept unchanged.
fn flagged_modes(settings: &serde_json::Map<String, serde_json::Value>) -> Vec<String> {
    let is_set = |name: &str| settings.get(name).and_then(serde_json::Value::as_bool) == Some(true);
    let known = POOLINGS.iter().filter(|(_, flag, _)| is_set(flag)).map(|(name, ..)| (*name).to_owned());
    let unknown = settings.keys().filter(|name| name.starts_with("pooling_mode_") && is_set(name));
    let unknown = unknown.filter(|name| !POOLINGS.iter().any(|(_, flag, _)| flag == name)).cloned();
    known.chain(unknown).collect()
}

#[cfg(test)]
mod tests;
