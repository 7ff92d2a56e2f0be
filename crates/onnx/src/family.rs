//! Differences between families of models that a graph alone does not show: read from `config.json` beside the model.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use inkstone_base::limits;
use inkstone_base::{ensure, message};

/// Places of a model whose files do not say how many it has: as many as BERT's.
const PLACES: usize = 512;

/// The most classes of a model.
const MOST_LABELS: usize = 1 << 20;

/// `config.json` of a Hugging Face export, as far as it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Config {
    pub model_type: String,
    architectures: Option<Vec<String>>,
    pub(crate) vocab_size: Option<usize>,
    max_position_embeddings: Option<i64>,
    n_positions: Option<i64>,
    n_ctx: Option<i64>,
    hidden_size: Option<usize>,
    n_embd: Option<usize>,
    d_model: Option<usize>,
    pub(crate) pad_token_id: Option<i64>,
    pub(crate) eos_token_id: Option<Numbers>,
    pub(crate) bos_token_id: Option<u32>,
    pub(crate) decoder_start_token_id: Option<u32>,
    pub(crate) forced_bos_token_id: Option<u32>,
    pub(crate) forced_eos_token_id: Option<u32>,
    pub(crate) id2label: BTreeMap<usize, String>,
    pub(crate) problem_type: Option<String>,
    /// Settings of sentence-transformers' CrossEncoder, and the older place of the one that is read.
    pub(crate) sentence_transformers: CrossEncoderConfig,
    #[serde(rename = "sbert_ce_default_activation_function")]
    pub(crate) activation: Option<String>,
}

/// The settings of a cross-encoder's folder on its logits.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CrossEncoderConfig {
    pub(crate) activation_fn: Option<String>,
}

/// One number or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Numbers {
    One(u32),
    Several(Vec<u32>),
}

impl Numbers {
    pub(crate) fn list(&self) -> Vec<u32> {
        match self {
            Numbers::One(number) => vec![*number],
            Numbers::Several(numbers) => numbers.clone(),
        }
    }
}

impl Config {
    /// Reads the configuration of a model's folder; missing entries are empty.
    pub(crate) fn read(folder: &Path) -> Result<Config> {
        let path = folder.join("config.json");
        if !path.exists() {
            return Ok(Config::default());
        }
        let text = limits::settings_file(&path)?;
        serde_json::from_slice(&text).with_context(|| {
            message!("{} 不是导出模型的 config.json", "{} is not the config.json of an export", path.display())
        })
    }

    /// The class of the model, as `BertForNextSentencePrediction`; empty where the file does not say it.
    pub(crate) fn class(&self) -> &str {
        self.architectures.iter().flatten().next().map_or("", String::as_str)
    }

    /// Values of a token's vector, for graphs that do not say it.
    pub(crate) fn hidden(&self) -> Option<usize> {
        self.hidden_size.or(self.n_embd).or(self.d_model)
    }

    /// Names of so many labels in order, or of as many as the file knows.
    pub(crate) fn labels(&self, count: Option<usize>) -> Result<Vec<String>> {
        let count = count.unwrap_or(self.id2label.len());
        ensure!(
            count <= MOST_LABELS,
            "图给出 {count} 个类别，最多为 {MOST_LABELS} 个",
            "the graph gives {count} classes, and {MOST_LABELS} are the most"
        );
        let name = |label: usize| self.id2label.get(&label).cloned().unwrap_or_else(|| format!("label_{label}"));
        Ok((0..count).map(name).collect())
    }
}

/// A family of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// `model_type` of config.json; empty where it is unknown.
    pub name: String,
    /// Rows are filled up at their beginning.
    pub left: bool,
    /// The classification token is the last.
    pub(crate) cls_last: bool,
    /// A token sees only those before it.
    pub(crate) causal: bool,
    /// Places, special tokens included; none where the model has no limit.
    pub limit: Option<usize>,
    /// The number that fills rows up.
    pub pad: i64,
    /// The segment of the tokens that fill rows up.
    pub(crate) pad_type: i64,
}

impl Family {
    /// The family of a model with this configuration.
    pub(crate) fn new(config: &Config, pad: Option<u32>) -> Family {
        let name = config.model_type.as_str();
        let pad = config.pad_token_id.or(pad.map(i64::from)).unwrap_or(0).max(0);
        let places = config.max_position_embeddings.or(config.n_positions).or(config.n_ctx);
        let stated = places.filter(|&places| places > 0).map(|places| places as usize);
        let limit = match name {
            // Their distances are relative, or they go on step by step.
            "t5" | "mt5" | "xlnet" | "transfo-xl" | "elmo" | "ulmfit" | "lstm" => None,
            // Places are counted from the number behind the filling one.
            "roberta" | "xlm-roberta" | "xlm-roberta-xl" | "camembert" | "mpnet" | "longformer" | "data2vec-text" => {
                stated.map(|places| places - (pad as usize + 1).min(places - 1))
            }
            _ => Some(stated.unwrap_or(PLACES)),
        };
        let xlnet = name == "xlnet";
        let writes = |class: &String| class.ends_with("ForCausalLM") || class.ends_with("LMHeadModel");
        let known = ["gpt2", "openai-gpt", "gpt_neo", "gptj", "gpt_neox", "opt", "bloom", "llama", "qwen2"];
        let causal = known.contains(&name) || config.architectures.iter().flatten().any(writes);
        Family {
            name: name.to_owned(),
            left: xlnet,
            cls_last: xlnet,
            causal,
            limit,
            pad,
            pad_type: if xlnet { 3 } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(config: &str) -> Family {
        Family::new(&serde_json::from_str(config).unwrap(), None)
    }

    #[test]
    fn places_and_filling_are_those_of_the_family() {
        assert_eq!(family(r#"{"model_type": "bert", "max_position_embeddings": 512}"#).limit, Some(512));
        let roberta = family(r#"{"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}"#);
        assert_eq!((roberta.limit, roberta.pad), (Some(512), 1));
        assert_eq!(family(r#"{"model_type": "gpt2", "n_positions": 1024}"#).limit, Some(1024));
        assert_eq!(family("{}").limit, Some(512));
        assert!(family(r#"{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}"#).causal);
        assert!(!family(r#"{"model_type": "bert", "architectures": null}"#).causal);
        let xlnet = family(r#"{"model_type": "xlnet", "max_position_embeddings": -1, "pad_token_id": 5}"#);
        assert_eq!((xlnet.limit, xlnet.left, xlnet.cls_last, xlnet.pad, xlnet.pad_type), (None, true, true, 5, 3));
    }

    #[test]
    fn a_graph_that_promises_too_many_classes_is_refused() {
        let config: Config = serde_json::from_str(r#"{"id2label": {"0": "bad", "1": "good"}}"#).unwrap();
        assert_eq!(config.labels(Some(3)).unwrap(), ["bad", "good", "label_2"]);
        assert_eq!(config.labels(None).unwrap(), ["bad", "good"]);
        assert!(config.labels(Some(1 << 40)).unwrap_err().to_string().contains("1099511627776 classes"));
    }

    #[test]
    fn a_configuration_that_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Config::read(folder.path()).unwrap().model_type, "");
        std::fs::write(folder.path().join("config.json"), "no json").unwrap();
        let error = format!("{:#}", Config::read(folder.path()).unwrap_err());
        assert!(error.contains("config.json"), "{error}");
    }
}
