//! Tokens that a JSON schema allows next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory, token_bytes_from_tokenizer_json};
use serde_json::{Value, json};

use inkstone_base::language::Word;
use inkstone_base::{ensure, error};

/// Tokens of the largest vocabulary that is read.
const TOKENS: usize = 1 << 22;

/// A JSON schema over the tokens of a model. Values are written as Python's `json.dumps` writes them.
pub(crate) struct JsonSchema {
    start: Matcher,
    /// States of the grammar behind the texts of the step before and of this one.
    states: Mutex<HashMap<Vec<u32>, Matcher>>,
    vocabulary: usize,
}

impl JsonSchema {
    /// `tokenizer` is a tokenizer.json, `ends` are the tokens that end a text.
    pub(crate) fn new(schema: &Value, tokenizer: &Value, ends: &[u32]) -> Result<JsonSchema> {
        let bytes = token_bytes(tokenizer)?;
        let vocabulary = bytes.len();
        let ends: Vec<u32> = ends.iter().copied().filter(|end| (*end as usize) < vocabulary).collect();
        let first = *ends.first().context(Word(
            "模型没有指明结束文本的词元（config.json 中的 eos_token_id）",
            "the model names no token that ends a text (eos_token_id in config.json)",
        ))?;
        let tokens = TokTrie::from(&TokRxInfo::new(vocabulary as u32, first), &bytes).with_eos_tokens(&ends);
        let tokens: TokEnv = Arc::new(ApproximateTokEnv::new(tokens));
        let mut factory = ParserFactory::new_simple(&tokens)?;
        factory.quiet();
        let mut schema = schema.clone();
        let settings = schema.as_object_mut().context(Word(
            "JSON schema 须为对象，如 {\"type\": \"object\"}",
            "a JSON schema is an object, such as {\"type\": \"object\"}",
        ))?;
        settings.insert(
            "x-guidance".into(),
            json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": "}),
        );
        let parser = factory.create_parser(TopLevelGrammar::from_json_schema(schema));
        let start = Matcher::new(parser.map_err(|error| anyhow!("{}", first_line(&error.to_string()))));
        if let Some(error) = start.get_error() {
            return Err(anyhow!("{}", first_line(&error)));
        }
        Ok(JsonSchema { start, states: Mutex::default(), vocabulary })
    }

    /// Bans the tokens that may not follow what was written.
    pub(super) fn ban(&self, written: &[u32], scores: &mut [f32]) -> Result<()> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|text, _| text.len() + 1 >= written.len() && text.len() <= written.len());
        if !states.contains_key(written) {
            let parent = written.split_last().and_then(|(last, before)| Some((states.get(before)?, last)));
            let mut state = parent.as_ref().map_or(&self.start, |(state, _)| state).clone();
            match parent {
                Some((_, last)) => state.consume_token(*last),
                None => state.consume_tokens(written),
            }?;
            states.insert(written.to_vec(), state);
        }
        let state = states.get_mut(written).context(Word("文本的状态丢失", "the state of a text is lost"))?;
        let allowed = state.compute_mask_or_eos()?;
        for (token, score) in scores.iter_mut().enumerate() {
            if token >= self.vocabulary || !allowed.is_allowed(token as u32) {
                *score = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The bytes of each token, checked first: the library panics at a vocabulary that is not well formed.
fn token_bytes(tokenizer: &Value) -> Result<Vec<Vec<u8>>> {
    let numbers = tokenizer["model"]["vocab"].as_object().into_iter().flatten();
    for (name, number) in numbers.clone() {
        let is_byte = name.len() == 6 && name.ends_with('>') && u8::from_str_radix(&name[3..5], 16).is_ok();
        ensure!(
            !name.starts_with("<0x") || is_byte,
            "分词器的词元 {name:?} 不是字节",
            "the tokenizer has the token {name:?}, which is no byte"
        );
        ensure!(
            number.as_u64().is_some_and(|number| number < TOKENS as u64),
            "词元 {name:?} 的编号",
            "the number of the token {name:?}"
        );
    }
    for added in tokenizer["added_tokens"].as_array().into_iter().flatten() {
        ensure!(
            added["id"].as_u64().is_some_and(|number| number < TOKENS as u64),
            "所加词元的编号",
            "the number of an added token"
        );
    }
    token_bytes_from_tokenizer_json(tokenizer).map_err(|_| {
        error!("JSON schema 要求分词器的词元为字节：字节级 BPE（GPT-2、Qwen）或带字节的 SentencePiece（Llama）；WordPiece 等不行。--choices 适用于任何分词器", "a JSON schema needs a tokenizer whose tokens are bytes: byte-level BPE (GPT-2, Qwen) or SentencePiece with bytes (Llama); word pieces and others are none. --choices works with any")
    })
}
