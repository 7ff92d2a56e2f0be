//! The words of highest probability after a text.

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;

use super::lm::LanguageModel;
use super::words::{BEGIN, UNKNOWN};

/// A word that may follow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Likely {
    /// The word; `</s>` is the end of the document.
    pub word: String,
    /// log10 of its probability.
    pub log10_prob: f64,
}

/// Continuations of a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Following {
    /// The tokens of the text, from the beginning of a document on.
    pub after: Vec<String>,
    /// Words that the model does not know, once each.
    pub unknown: Vec<String>,
    /// The next words, the most probable first.
    pub next: Vec<Likely>,
}

impl LanguageModel {
    /// The `k` words that most probably follow some tokens at the beginning of a document; equal ones in the order of the
    /// vocabulary. Every word is asked for. Call inside `Ctx::install`.
    pub fn following(&self, tokens: &[&str], k: usize) -> Result<Following> {
        let view = self.view();
        let mut unknown: Vec<String> = Vec::new();
        let mut state = view.begin();
        for token in tokens {
            let id = view.vocabulary.id(token.as_bytes());
            if id == UNKNOWN && unknown.iter().all(|known| known != token) {
                unknown.push((*token).to_owned());
            }
            state = view.index.step(state, id).state;
        }
        let words = u32::try_from(view.index.sizes()[0]).unwrap_or(u32::MAX);
        let likely = (0..words)
            .into_par_iter()
            .filter(|word| ![BEGIN, UNKNOWN].contains(word))
            .map(|word| (view.index.step(state, word).log10, word))
            .collect();
        let word = |(log10, id): (f32, u32)| {
            Ok(Likely { word: view.vocabulary.word(id)?.to_owned(), log10_prob: f64::from(log10) })
        };
        let next = likeliest(likely, k).into_iter().map(word).collect::<Result<_>>()?;
        Ok(Following { after: tokens.iter().map(|&token| token.to_owned()).collect(), unknown, next })
    }
}

/// The `k` words of highest log10 probability, the most probable first; equal ones by number.
pub(crate) fn likeliest(mut words: Vec<(f32, u32)>, k: usize) -> Vec<(f32, u32)> {
    let most = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if k < words.len() {
        words.select_nth_unstable_by(k, most);
        words.truncate(k);
    }
    words.sort_unstable_by(most);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ngram::params::NgramParams;
    use crate::ngram::smoothing::tests::trained;
    use inkstone_base::job::Ctx;

    #[test]
    fn what_follows_most_often_stands_first_and_all_of_it_is_certain() {
        let texts = ["订单 增长 。", "订单 下降 。", "订单 增长 。", "增长"];
        let model = LanguageModel::new(&trained(&texts, &NgramParams::default()), &Ctx::new(2, 1).unwrap()).unwrap();
        let following = model.following(&["订单", "订单"], 2).unwrap();
        assert_eq!(following.next.len(), 2);
        let following = model.following(&["订单"], 99).unwrap();
        assert_eq!(following.next[0].word, "增长");
        // All words, the end among them, and the unknown one, which is not told, share one.
        let sum: f64 = following.next.iter().map(|likely| 10f64.powf(likely.log10_prob)).sum();
        assert!(sum < 1.0 && sum > 0.7, "{sum}");
        assert_eq!(model.following(&["未见", "未见"], 1).unwrap().unknown, ["未见"]);
        for likely in &following.next {
            let asked = model.explain(&["订单", &likely.word]).terms[1].value;
            assert!(likely.word == "</s>" || (asked - likely.log10_prob).abs() < 1e-6);
        }
    }
}
