//! Text from a language model: greedy and beam search over the logits of the next token.
//!
//! Both follow `generate` of the transformers library (version 5, without sampling), so that a model writes here what it writes there:
//! sums of f32 natural logarithms, the score of a text its sum over `length ^ length_penalty`, where the length counts what was
//! written and its end; twice as many candidates as beams (one more time for each further end), of which only the first `beams` may
//! finish; penalties and bans change the logarithms in beam search and the logits in greedy search. Equal scores go to the earlier
//! beam and the lower token. Candidates that are impossible (a logit of minus infinity) are dropped, where the library would go on with
//! them.

mod bans;
mod beam;
mod greedy;
#[cfg(test)]
mod tests;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use bans::Bans;

/// A model that says what may come next.
pub(super) trait NextToken {
    /// The logits of the next token after each of some texts of equal length: a row of one number a token for each.
    fn next(&mut self, prefixes: &[Vec<u32>]) -> Result<Vec<Vec<f32>>>;
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

/// Searches for what comes after a prompt: at most `beams` texts, the best first, at least one.
pub(super) fn search(model: &mut impl NextToken, prompt: &[u32], params: &SearchParams) -> Result<Vec<FoundText>> {
    ensure!(params.beams > 0, "a search needs at least one beam; set `beams` to 1 or more");
    ensure!(params.max_new_tokens > 0, "a search must write at least one token; set `max_new_tokens` to 1 or more");
    ensure!(!prompt.is_empty(), "a search begins with at least one token: the prompt, or the decoder's first token");
    ensure!(
        params.repetition_penalty > 0.0,
        "`repetition_penalty` is a factor above 0, not {}",
        params.repetition_penalty
    );
    let bans = Bans::new(params, prompt.len());
    if params.beams == 1 {
        Ok(vec![greedy::search(model, prompt, params, &bans)?])
    } else {
        beam::search(model, prompt, params, &bans)
    }
}

/// The logits after some prefixes, checked: a row each, all of one length, no number that is none.
fn logits(model: &mut impl NextToken, prefixes: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
    let rows = model.next(prefixes)?;
    ensure!(
        rows.len() == prefixes.len() && rows.iter().all(|row| row.len() == rows[0].len() && !row.is_empty()),
        "the model gives {} rows of logits for {} texts, or rows of different lengths",
        rows.len(),
        prefixes.len()
    );
    if rows.iter().flatten().any(|logit| logit.is_nan() || *logit == f32::INFINITY) {
        bail!("the model gives a logit that is not a number; try it in single precision (fp32)");
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
