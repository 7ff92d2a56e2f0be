//! Static encoders of model2vec and sentence-transformers: a vector for each token of a subword tokenizer, and a document is their mean.
//!
//! A folder has `tokenizer.json`, `model.safetensors` and, of model2vec (Tulkens and van Dongen 2024), `config.json`, or, of
//! sentence-transformers, `modules.json` with a StaticEmbedding. model2vec drops unknown tokens and reads so many tokens as `max_length`
//! says; a smaller vocabulary has `mapping` (token to row) and `weights` (of tokens).

mod distil;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Explanation, Part};
use crate::tensors::TensorFile;
use inkstone_base::data::Key;
use inkstone_base::{bail, ensure, message};
use inkstone_base::{disk, limits};
use inkstone_text::subword::Subword;

/// Tokens that model2vec reads of a text where its folder does not say it.
const LONGEST: usize = 512;
/// The folder of a module of sentence-transformers, where the files do not lie at the top.
const NESTED: &str = "0_StaticEmbedding";
/// Added to the length of a vector that is scaled to length 1, as model2vec does.
const LEAST_LENGTH: f64 = 1e-32;

pub use distil::{Distilled, DistilledFigures, LEAST_DOCUMENTS, Teacher, distil};

/// The tokens of a text that an encoder counts.
pub struct CountedTokens {
    tokenizer: Subword,
    /// True if unknown tokens are left out.
    drops_unknown: bool,
    /// Tokens that are read of a text, unknown ones included, and the characters among which they are looked for.
    longest: Option<[usize; 2]>,
}

/// A static encoder, read from its folder.
pub struct StaticEncoder {
    tokens: CountedTokens,
    /// The last time of the text that it has seen, where the folder says it.
    fitted_until: Option<NaiveDateTime>,
    /// `[rows, dim]`, row by row.
    vectors: Vec<f32>,
    dim: usize,
    /// Row of each token; none where a token's number is its row.
    places: Option<Vec<u32>>,
    /// Weight of each token; none where all weigh 1.
    weights: Option<Vec<f32>>,
    /// True if a document's vector is scaled to length 1.
    normalise: bool,
}

/// `config.json` of model2vec.
#[derive(Deserialize)]
struct Settings {
    /// Of `train static`: the last time of the text that the encoder has seen.
    #[serde(default)]
    fitted_until: Option<NaiveDateTime>,
    #[serde(default)]
    model_type: String,
    #[serde(default)]
    architectures: Vec<String>,
    #[serde(default)]
    normalize: bool,
    /// Null where a text is read whole.
    #[serde(default = "longest")]
    max_length: Option<usize>,
}

fn longest() -> Option<usize> {
    Some(LONGEST)
}

impl Settings {
    fn is_model2vec(&self) -> bool {
        self.model_type == "model2vec" || self.architectures.iter().any(|name| name == "StaticModel")
    }
}

/// An entry of `modules.json`.
#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    class: String,
}

impl Module {
    fn name(&self) -> &str {
        self.class.rsplit('.').next().unwrap_or_default()
    }
}

/// A JSON file of a folder; none where it is not there or holds something else.
fn json<T: for<'de> Deserialize<'de>>(folder: &Path, name: &str) -> Option<T> {
    serde_json::from_slice(&limits::settings_file(&folder.join(name)).ok()?).ok()
}

/// The settings of model2vec in a folder, if it is one of model2vec.
fn settings(folder: &Path) -> Option<Settings> {
    json(folder, "config.json").filter(Settings::is_model2vec)
}

/// The modules of a folder of sentence-transformers that begins with a static embedding.
fn modules(folder: &Path) -> Option<Vec<Module>> {
    json(folder, "modules.json")
        .filter(|modules: &Vec<Module>| modules.first().is_some_and(|first| first.name() == "StaticEmbedding"))
}

impl CountedTokens {
    fn new(tokenizer: Subword, drops_unknown: bool, max_length: Option<usize>) -> CountedTokens {
        let characters = median_length(&tokenizer);
        let longest = max_length.map(|tokens| [tokens, tokens.saturating_mul(characters)]);
        CountedTokens { tokenizer, drops_unknown, longest }
    }

    /// Numbers of the tokens that are read of a text, and whether the vocabulary knows each.
    fn read(&self, text: &str) -> Result<Vec<(u32, bool)>> {
        let pieces = match self.longest {
            None => self.tokenizer.encode(text)?,
            Some([tokens, characters]) => {
                let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
                self.tokenizer.encode_head(&text[..end], tokens)?
            }
        };
        let unknown = self.tokenizer.unk_id();
        Ok(pieces.ids.into_iter().map(|id| (id, Some(id) != unknown)).collect())
    }

    /// The tokens of a text that count.
    pub fn counted(&self, text: &str) -> Result<Vec<u32>> {
        let tokens = self.read(text)?.into_iter();
        Ok(tokens.filter(|(_, known)| *known || !self.drops_unknown).map(|(id, _)| id).collect())
    }
}

impl StaticEncoder {
    pub const KIND: &'static str = "static";

    /// True if a path is the folder of a static encoder.
    pub fn is_at(folder: &Path) -> bool {
        folder.is_dir() && (settings(folder).is_some() || modules(folder).is_some())
    }

    /// The hash of all files that its vectors depend on.
    pub fn key(folder: &Path) -> Result<Key> {
        let within = files_folder(folder);
        let fixed = [folder.join("config.json"), folder.join("modules.json")];
        let needed = ["model.safetensors", "tokenizer.json"].map(|name| within.join(name));
        let fixed = fixed.into_iter().filter(|path| path.is_file());
        let keys = fixed.chain(needed).map(|path| disk::hash_file(&path)).collect::<Result<Vec<Key>>>()?;
        Ok(Key::of_json(&keys))
    }

    /// Reads the folder of an encoder.
    pub fn open(folder: &Path) -> Result<StaticEncoder> {
        let within = files_folder(folder);
        let tokenizer = Subword::open(&within.join("tokenizer.json"))?;
        let fitted_until = settings(folder).and_then(|settings| settings.fitted_until);
        let file = TensorFile::read(&within.join("model.safetensors"))?;
        let (name, normalise, drops_unknown, max_length) = match settings(folder) {
            Some(settings) => ("embeddings", settings.normalize, true, settings.max_length),
            None => {
                let modules = modules(folder).with_context(|| {
                    message!(
                        "{} 不是 model2vec 或 sentence-transformers 的静态编码器文件夹",
                        "{} is not the folder of a static encoder of model2vec or sentence-transformers",
                        folder.display()
                    )
                })?;
                let other = modules.iter().skip(1).find(|module| module.name() != "Normalize");
                if let Some(module) = other {
                    bail!(
                        "{} 中的 modules.json 写有模块 {}；静态词嵌入之后只读取 Normalize",
                        "modules.json in {} names the module {}; behind a static embedding only Normalize is read",
                        folder.display(),
                        module.class
                    );
                }
                ("embedding.weight", modules.len() > 1, false, None)
            }
        };
        let table = file.numbers(name)?;
        let [rows, dim] = table.shape[..] else {
            bail!(
                "{} 中的 {name} 形状为 {:?}，而不是 [词元, 维]",
                "{name} in {} has the shape {:?}, not [tokens, values]",
                within.display(),
                table.shape
            )
        };
        ensure!(dim > 0, "{} 中的向量没有值", "the vectors in {} have no values", within.display());
        let places = file.has("mapping")?.then(|| file.places("mapping", rows)).transpose()?;
        let weights = file.has("weights")?.then(|| file.numbers("weights")).transpose()?.map(|read| read.values);
        let known = places.as_ref().map_or(rows, Vec::len).min(weights.as_ref().map_or(usize::MAX, Vec::len));
        ensure!(
            tokenizer.size() <= known,
            "{} 中的分词器认识 {} 个词元，而 model.safetensors 有 {known} 个向量：它们不属于同一模型",
            "the tokenizer in {} knows {} tokens, and model.safetensors has vectors for {known}: they are not of one model",
            within.display(),
            tokenizer.size()
        );
        let tokens = CountedTokens::new(tokenizer, drops_unknown, max_length);
        Ok(StaticEncoder { tokens, fitted_until, vectors: table.values, dim, places, weights, normalise })
    }

    /// Writes the tokenizer of a new encoder into its folder, which is none of an encoder until [`StaticEncoder::write`] has ended.
    pub fn write_tokenizer(folder: &Path, definition: &Value) -> Result<CountedTokens> {
        disk::remove_if_there(&folder.join("config.json"))?;
        let file = folder.join("tokenizer.json");
        disk::write_atomic(&file, |out| Ok(serde_json::to_writer(out, definition)?))?;
        Ok(CountedTokens::new(Subword::open(&file)?, true, longest()))
    }

    /// Writes what else an encoder in the form of model2vec has: vectors `[tokens, dim]` whose means are scaled to length 1, and the last time
    /// of the text that they have seen.
    pub fn write(folder: &Path, vectors: &[f32], dim: usize, sif: f64, fitted_until: NaiveDateTime) -> Result<()> {
        let config = json!({
            "model_type": "model2vec", "architectures": ["StaticModel"], "apply_pca": dim, "sif_coefficient": sif, "hidden_dim": dim,
            "seq_length": 1_000_000, "normalize": true, "pooling": "mean", "fitted_until": fitted_until,
        });
        let bytes: &[u8] = bytemuck::cast_slice(vectors);
        let table = TensorView::new(Dtype::F32, vec![vectors.len() / dim, dim], bytes)?;
        let tensors = safetensors::serialize([("embeddings", table)], None)?;
        let put = |name: &str, bytes: &[u8]| disk::write_atomic(&folder.join(name), |out| Ok(out.write_all(bytes)?));
        put("model.safetensors", &tensors)?;
        put("config.json", &serde_json::to_vec_pretty(&config)?)
    }

    /// The last time of the text that it has seen, where its folder says it.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.fitted_until
    }

    /// Values of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Tokens of a text, and those that the vocabulary knows.
    pub fn coverage(&self, text: &str) -> Result<(usize, usize)> {
        let tokens = self.tokens.read(text)?;
        Ok((tokens.len(), tokens.iter().filter(|(_, known)| *known).count()))
    }

    fn weight(&self, token: u32) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[token as usize]))
    }

    fn vector(&self, token: u32) -> &[f32] {
        let row = self.places.as_ref().map_or(token, |places| places[token as usize]) as usize;
        &self.vectors[row * self.dim..(row + 1) * self.dim]
    }

    /// The sum of the tokens' vectors, and the number by which it is divided.
    fn sum(&self, tokens: &[u32]) -> (Vec<f64>, f64) {
        let mut sum = vec![0.0f64; self.dim];
        for &token in tokens {
            let weight = self.weight(token);
            sum.iter_mut().zip(self.vector(token)).for_each(|(sum, &value)| *sum += weight * f64::from(value));
        }
        let mut divisor = tokens.len().max(1) as f64;
        if self.normalise {
            let length = sum.iter().map(|value| (value / divisor).powi(2)).sum::<f64>().sqrt();
            divisor *= length + LEAST_LENGTH;
        }
        (sum, divisor)
    }

    /// The vector of a text, `[dim]`; zeros where no token counts.
    pub fn row(&self, text: &str) -> Result<Vec<f32>> {
        let (sum, divisor) = self.sum(&self.tokens.counted(text)?);
        Ok(sum.into_iter().map(|value| (value / divisor) as f32).collect())
    }

    /// The part of each different token in the vector of a text, `[dim]`; they sum to it.
    pub fn parts(&self, text: &str) -> Result<Vec<(String, Vec<f32>)>> {
        let (runs, divisor) = self.runs(text)?;
        let part = |(token, count): (u32, f64)| {
            let share = count * self.weight(token) / divisor;
            let part = self.vector(token).iter().map(|&value| (share * f64::from(value)) as f32).collect();
            (self.shown(token), part)
        };
        Ok(runs.into_iter().map(part).collect())
    }

    /// The different tokens of a text with their counts, by number, and the number by which their sum is divided.
    fn runs(&self, text: &str) -> Result<(Vec<(u32, f64)>, f64)> {
        let mut tokens = self.tokens.counted(text)?;
        let divisor = self.sum(&tokens).1;
        tokens.sort_unstable();
        Ok((tokens.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f64)).collect(), divisor))
    }

    fn shown(&self, token: u32) -> String {
        self.tokens.tokenizer.token(token).unwrap_or_default()
    }

    /// The contribution of each token to a component (from 0; default: the one that the document lies farthest out on), the largest first.
    pub fn explain(&self, text: &str, of: Option<usize>) -> Result<Explanation> {
        let row = self.row(text)?;
        let farthest = || (0..row.len()).rev().max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs())).unwrap_or(0);
        let component = of.unwrap_or_else(farthest);
        let (runs, divisor) = self.runs(text)?;
        let part = |(token, count): (u32, f64)| {
            let (weight, coordinate) = (self.weight(token), f64::from(self.vector(token)[component]));
            let detail = vec![("count", count), ("weight", weight), ("coordinate", coordinate)];
            Part { token: self.shown(token), value: count * weight * coordinate / divisor, detail }
        };
        let explanation = Explanation {
            of: Some(format!("c{}", component + 1)),
            formula: message!(
                "各词 count x weight x coordinate / {divisor:.4} 之和",
                "sum of count x weight x coordinate / {divisor:.4}"
            ),
            score: f64::from(row[component]),
            terms: runs.into_iter().map(part).collect(),
            ..Explanation::default()
        };
        Ok(explanation.largest_first())
    }
}

/// The folder with weights and tokenizer.
fn files_folder(folder: &Path) -> PathBuf {
    let nested = folder.join(NESTED);
    if !folder.join("model.safetensors").is_file() && nested.is_dir() { nested } else { folder.to_owned() }
}

/// The median length of a token in characters, as model2vec has it.
fn median_length(tokenizer: &Subword) -> usize {
    let tokens = (0..tokenizer.size() as u32).filter_map(|id| tokenizer.token(id));
    let mut lengths: Vec<usize> = tokens.map(|token| token.chars().count()).collect();
    lengths.sort_unstable();
    let middle = lengths.len() / 2;
    if lengths.len() % 2 == 1 { lengths[middle] } else { (lengths[middle - 1] + lengths[middle]) / 2 }
}
