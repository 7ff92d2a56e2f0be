//! Tokens that may not come next, or are less likely because they came before; in the order of the transformers library.

use anyhow::Result;

use super::SearchParams;
use super::schema::JsonSchema;

/// The rules of a search.
pub(super) struct Bans<'p> {
    params: &'p SearchParams,
    schema: Option<&'p JsonSchema>,
}

impl<'p> Bans<'p> {
    pub(super) fn new(params: &'p SearchParams, schema: Option<&'p JsonSchema>) -> Bans<'p> {
        Bans { params, schema }
    }

    /// Changes the scores of the tokens that may follow `prefix`, whose first `prompt` tokens are the prompt.
    pub(super) fn apply(&self, prefix: &[u32], prompt: usize, scores: &mut [f32]) -> Result<()> {
        let written = prefix.len() - prompt;
        if self.params.repetition_penalty != 1.0 {
            self.repetition(prefix, scores);
        }
        if self.params.no_repeat_ngram > 0 {
            repeats(prefix, self.params.no_repeat_ngram, scores);
        }
        if written < self.params.min_new_tokens {
            for end in &self.params.eos {
                ban(scores, *end);
            }
        }
        if !self.params.choices.is_empty() {
            self.choose(&prefix[prompt..], scores);
        }
        if let Some(schema) = self.schema {
            schema.ban(&prefix[prompt..], scores)?;
        }
        if let Some(first) = self.params.forced_first.filter(|_| prefix.len() == 1) {
            force(scores, first);
        }
        if let Some(last) = self.params.forced_last.filter(|_| written + 1 == self.params.max_new_tokens) {
            force(scores, last);
        }
        Ok(())
    }

    /// Bans what begins none of the choices, and goes on with none of those that were begun; behind a whole choice comes the end.
    fn choose(&self, written: &[u32], scores: &mut [f32]) {
        let mut kept = Vec::new();
        for choice in self.params.choices.iter().filter(|choice| choice.starts_with(written)) {
            match choice.get(written.len()) {
                Some(next) => kept.push(*next),
                None => kept.extend(&self.params.eos),
            }
        }
        for (token, score) in scores.iter_mut().enumerate() {
            if !kept.contains(&(token as u32)) {
                *score = f32::NEG_INFINITY;
            }
        }
    }

    fn repetition(&self, prefix: &[u32], scores: &mut [f32]) {
        let mut seen = prefix.to_vec();
        seen.sort_unstable();
        seen.dedup();
        let factor = self.params.repetition_penalty;
        for token in seen {
            if let Some(score) = scores.get_mut(token as usize) {
                *score = if *score < 0.0 { *score * factor } else { *score / factor };
            }
        }
    }
}

/// Bans what would complete a sequence of `length` tokens that is in the prefix already.
fn repeats(prefix: &[u32], length: usize, scores: &mut [f32]) {
    if prefix.len() + 1 < length {
        return;
    }
    let end = &prefix[prefix.len() + 1 - length..];
    for sequence in prefix.windows(length) {
        if sequence.starts_with(end) {
            ban(scores, sequence[length - 1]);
        }
    }
}

fn ban(scores: &mut [f32], token: u32) {
    if let Some(score) = scores.get_mut(token as usize) {
        *score = f32::NEG_INFINITY;
    }
}

fn force(scores: &mut [f32], token: u32) {
    scores.fill(f32::NEG_INFINITY);
    if let Some(score) = scores.get_mut(token as usize) {
        *score = 0.0;
    }
}
