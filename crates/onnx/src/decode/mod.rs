//! Text from a language model: greedy search, beam search and drawn texts over the logits of the next token.
//!
//! All follow `generate` of the transformers library (version 5), so that a model writes here what it writes there, given the same random
//! numbers for drawn texts:
//! sums of f32 natural logarithms, the score of a text its sum over `length ^ length_penalty`, where the length counts what was
//! written and its end; twice as many candidates as beams (one more time for each further end), of which only the first `beams` may
//! finish; penalties and bans change the logarithms in beam search and the logits in greedy search. Equal scores go to the earlier
//! beam and the lower token. Candidates that are impossible (a logit of minus infinity) are dropped, where the library would go on with
//! them.

mod bans;
mod beam;
mod draw;
mod ends;
mod greedy;
mod likelihood;
mod schema;
#[cfg(test)]
mod tests;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use bans::Bans;
pub use draw::Drawing;
pub(crate) use draw::Uniforms;
use ends::Ends;
pub(crate) use ends::{Decode, cut_behind};
pub use likelihood::Likelihood;
pub(crate) use likelihood::likelihoods;
pub(crate) use schema::JsonSchema;

use inkstone_base::{bail, ensure};

/// A model that says what may come next.
pub(crate) trait NextToken {
    /// The logits of the next token after each of some texts: a row of one number a token for each. `parents` has for each text the number
    /// of the text of the call before that it continues by its last token; it is empty in the first call of a search.
    fn next(&mut self, prefixes: &[Vec<u32>], parents: &[usize]) -> Result<Vec<Vec<f32>>>;
}

/// When a beam search that has found as many texts as it has beams may still go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum EarlyStopping {
    /// Never: it ends with them.
    Always,
    /// While the best text in work would, at its present length, be better than the worst of them.
    #[default]
    Likely,
    /// While a text in work could become better than the worst of them at any length.
    Never,
}

/// Parameters of the search for a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchParams {
    /// Texts that are followed at the same time; 1 is greedy search. Default 4.
    pub beams: usize,
    /// The most tokens to write, the end included. Default 64.
    pub max_new_tokens: usize,
    /// The least tokens to write before the end. Default 0.
    pub min_new_tokens: usize,
    /// The score is the sum of logarithms over the length to this power: above 0 favours long texts, as sums are negative. Default 1.
    pub length_penalty: f64,
    /// Rule that ends the search. Default `likely`.
    pub early_stopping: EarlyStopping,
    /// No sequence of so many tokens comes twice; 0 allows all. Default 0.
    pub no_repeat_ngram: usize,
    /// Factor by which tokens that were written become less likely (Keskar et al. 2019, CTRL); 1 changes nothing. Default 1.
    pub repetition_penalty: f32,
    /// Tokens that end a text.
    pub eos: Vec<u32>,
    /// The token that a text begins with after a single token (BART's language), if any.
    pub forced_first: Option<u32>,
    /// The token that the last place of the longest text holds, if any.
    pub forced_last: Option<u32>,
    /// Texts are drawn instead of searched for, and `beams` is not used.
    pub drawing: Option<Drawing>,
    /// A text ends behind the first of these.
    pub stops: Vec<String>,
    /// Tokens of the only texts that may be written; any may, where there are none.
    pub choices: Vec<Vec<u32>>,
}

impl Default for SearchParams {
    fn default() -> SearchParams {
        SearchParams {
            beams: 4,
            max_new_tokens: 64,
            min_new_tokens: 0,
            length_penalty: 1.0,
            early_stopping: EarlyStopping::default(),
            no_repeat_ngram: 0,
            repetition_penalty: 1.0,
            eos: Vec::new(),
            forced_first: None,
            forced_last: None,
            drawing: None,
            stops: Vec::new(),
            choices: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundText {
    /// Tokens after the prompt, with the end if there is one.
    pub(super) ids: Vec<u32>,
    /// The sum of the natural logarithms of its probabilities over `length ^ length_penalty`.
    pub(super) score: f32,
}

/// Searches for what comes after each prompt: at most `beams` texts, the best first, at least one; or draws texts by random numbers.
pub(super) fn search(
    model: &mut impl NextToken,
    prompts: &[Vec<u32>],
    params: &SearchParams,
    schema: Option<&JsonSchema>,
    decode: Decode<'_>,
    uniforms: Uniforms<'_>,
) -> Result<Vec<Vec<FoundText>>> {
    params.check()?;
    ensure!(
        prompts.iter().all(|prompt| !prompt.is_empty()),
        "搜索至少从一个词元开始：提示词，或解码器的首个词元",
        "a search begins with at least one token: the prompt, or the decoder's first token"
    );
    let (bans, ends) = (Bans::new(params, schema), Ends::new(params, decode));
    if params.steps_together() {
        greedy::search(model, prompts, params, &bans, &ends, uniforms)
    } else {
        prompts.iter().map(|prompt| beam::search(model, prompt, params, &bans, &ends)).collect()
    }
}

impl SearchParams {
    /// True if several prompts are worked on at once.
    pub(crate) fn steps_together(&self) -> bool {
        self.beams == 1 || self.drawing.is_some()
    }

    fn check(&self) -> Result<()> {
        ensure!(
            self.beams > 0,
            "搜索至少要一个 beam；请把 `beams` 设为 1 或更大",
            "a search needs at least one beam; set `beams` to 1 or more"
        );
        ensure!(
            self.max_new_tokens > 0,
            "搜索至少写一个词元；请把 `max_new_tokens` 设为 1 或更大",
            "a search must write at least one token; set `max_new_tokens` to 1 or more"
        );
        ensure!(
            self.repetition_penalty > 0.0,
            "`repetition_penalty` 是大于 0 的系数，不能是 {}",
            "`repetition_penalty` is a factor above 0, not {}",
            self.repetition_penalty
        );
        if let Some(drawing) = &self.drawing {
            ensure!(
                drawing.texts > 0,
                "至少抽取一段文本；请把 `samples` 设为 1 或更大",
                "at least one text is drawn; set `samples` to 1 or more"
            );
            ensure!(
                drawing.temperature > 0.0,
                "`temperature` 须大于 0，不能是 {}",
                "`temperature` is above 0, not {}",
                drawing.temperature
            );
            ensure!(
                drawing.top_p > 0.0 && drawing.top_p <= 1.0,
                "`top_p` 须大于 0 且不超过 1，不能是 {}",
                "`top_p` is a share above 0 and at most 1, not {}",
                drawing.top_p
            );
        }
        Ok(())
    }
}

/// The logits after some prefixes, checked: a row each, all rows of one length, no number that is none.
fn logits(model: &mut impl NextToken, prefixes: &[Vec<u32>], parents: &[usize]) -> Result<Vec<Vec<f32>>> {
    let rows = model.next(prefixes, parents)?;
    ensure!(
        rows.len() == prefixes.len() && rows.iter().all(|row| row.len() == rows[0].len() && !row.is_empty()),
        "模型为 {1} 段文本给出 {0} 行 logits，或各行长度不同",
        "the model gives {} rows of logits for {} texts, or rows of different lengths",
        rows.len(),
        prefixes.len()
    );
    if rows.iter().flatten().any(|logit| logit.is_nan() || *logit == f32::INFINITY) {
        bail!(
            "模型给出的 logit 不是数；请用单精度（fp32）再试",
            "the model gives a logit that is not a number; try it in single precision (fp32)"
        );
    }
    Ok(rows)
}

fn log_softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - largest).exp()).sum();
    let log = sum.ln() as f32;
    for logit in logits {
        *logit = *logit - largest - log;
    }
}

/// The score of a text of some length.
fn score(sum: f32, length: usize, params: &SearchParams) -> f32 {
    sum / (length as f64).powf(params.length_penalty) as f32
}
