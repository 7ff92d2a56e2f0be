//! Settings in the files beside a tokenizer: names of special tokens, options, the kind of model.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use inkstone_base::limits;
use inkstone_base::message;

/// Role of a special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecialRole {
    Unknown,
    Pad,
    Mask,
    End,
    Classify,
    Separate,
}

impl SpecialRole {
    /// Key in `special_tokens_map.json` and `tokenizer_config.json`.
    fn key(self) -> &'static str {
        match self {
            SpecialRole::Unknown => "unk_token",
            SpecialRole::Pad => "pad_token",
            SpecialRole::Mask => "mask_token",
            SpecialRole::End => "eos_token",
            SpecialRole::Classify => "cls_token",
            SpecialRole::Separate => "sep_token",
        }
    }

    /// Spellings in usual vocabularies.
    fn usual(self) -> &'static [&'static str] {
        match self {
            SpecialRole::Unknown => &["[UNK]", "<unk>", "<UNK>"],
            SpecialRole::Pad => &["[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|endoftext|>"],
            SpecialRole::Mask => &["[MASK]", "<mask>", "<MASK>"],
            SpecialRole::End => &["</s>", "<|endoftext|>", "<eos>", "[EOS]", "</S>", "<eod>", "[SEP]"],
            SpecialRole::Classify => &["[CLS]", "<cls>", "<s>"],
            SpecialRole::Separate => &["[SEP]", "<sep>", "</s>"],
        }
    }
}

/// Content of the files beside a tokenizer; null for an absent file.
#[derive(Clone, Debug, Default)]
pub(super) struct SideFiles {
    specials: Value,
    tokenizer: Value,
    model: Value,
}

impl SideFiles {
    /// Reads the files in a folder.
    pub(super) fn read(folder: &Path) -> Result<SideFiles> {
        Ok(SideFiles {
            specials: read(folder, "special_tokens_map.json")?,
            tokenizer: read(folder, "tokenizer_config.json")?,
            model: read(folder, "config.json")?,
        })
    }

    /// Name of a special token in the files, if they have one.
    pub(super) fn name(&self, role: SpecialRole) -> Option<&str> {
        [&self.specials, &self.tokenizer].into_iter().find_map(|file| {
            let token = &file[role.key()];
            token.as_str().or_else(|| token["content"].as_str())
        })
    }

    /// The number of a special token: as the files name it, or as it is usually written.
    pub(super) fn token(&self, role: SpecialRole, id: impl Fn(&str) -> Option<u32>) -> Option<u32> {
        self.name(role).and_then(&id).or_else(|| role.usual().iter().find_map(|name| id(name)))
    }

    /// The special token as the files name it, or as it is usually written, if the vocabulary has it.
    pub(super) fn token_name(&self, role: SpecialRole, has: impl Fn(&str) -> bool) -> Option<&str> {
        self.name(role).filter(|name| has(name)).or_else(|| role.usual().iter().copied().find(|name| has(name)))
    }

    /// A setting of the tokenizer that is a word.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.tokenizer[name].as_str()
    }

    /// A setting that is true or false.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        [&self.tokenizer, &self.model].into_iter().find_map(|file| file[name].as_bool())
    }

    /// A setting that is a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        [&self.tokenizer, &self.model].into_iter().find_map(|file| file[name].as_u64())
    }

    /// The kind of model, in lower case as `config.json` writes it: `xlnet`, `t5`.
    pub(super) fn family(&self) -> Option<String> {
        if let Some(family) = self.model["model_type"].as_str() {
            return Some(family.to_owned());
        }
        let class = self.tokenizer["tokenizer_class"].as_str()?;
        let class = class.trim_end_matches("Fast").trim_end_matches("Tokenizer").to_lowercase();
        Some(match class.as_str() {
            "xlmroberta" => "xlm-roberta".to_owned(),
            "debertav2" => "deberta-v2".to_owned(),
            _ => class,
        })
    }
}

fn read(folder: &Path, name: &str) -> Result<Value> {
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(Value::Null);
    }
    let bytes = limits::settings_file(&path)?;
    serde_json::from_slice(&bytes).with_context(|| {
        message!(
            "{} 不是 JSON；请改正，或在分词器不需要它时删除",
            "{} is not JSON; fix it, or remove it if the tokenizer needs nothing of it",
            path.display()
        )
    })
}
