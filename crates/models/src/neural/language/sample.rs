//! Text from a neural language model: the likeliest next words, and drawn documents.

use anyhow::Result;

use super::{LanguageScorer, WORDS};
use crate::ngram::{Following, GeneratedText, Likely, MARKS, SampleParams, draw_documents, likeliest};
use inkstone_base::job::Ctx;

impl LanguageScorer {
    /// log10 of the probability of every word, by number, after the words of a document so far; see [`super::score::ScoringNet::after`].
    fn next(&self, state: &mut Vec<f32>, before: &[u32]) -> Vec<f32> {
        let mut logs = self.net.after(&self.model.weights.all[WORDS].values, before, state);
        logs.iter_mut().for_each(|ln| *ln *= std::f32::consts::LOG10_E);
        logs
    }

    /// The word, or the mark `</s>` or `<unk>`, of this number.
    fn name(&self, word: u32) -> &str {
        let words = self.model.words();
        let mark = if word == words.end() { crate::ngram::END } else { crate::ngram::UNKNOWN };
        words.words.get(word as usize).map_or(MARKS[mark as usize], |word| &**word)
    }

    /// Draws documents; the same seed gives the same ones. `<unk>` is never drawn.
    pub fn sample(&self, params: &SampleParams, ctx: &Ctx) -> Result<Vec<GeneratedText>> {
        let words = self.model.words();
        let next = |state: &mut Vec<f32>, before: &[u32]| self.next(state, before);
        let marks = (words.end(), &[words.unknown()][..]);
        draw_documents(&Vec::new(), next, |word| Ok(self.name(word)), marks, params, ctx)
    }

    /// The `k` words that most probably follow some tokens at the beginning of a document; `<unk>` is left out.
    pub fn following(&self, tokens: &[&str], k: usize) -> Following {
        let words = self.model.words();
        let mut document = words.document(tokens.iter().copied());
        document.pop();
        let mut unknown: Vec<String> = Vec::new();
        for (token, &number) in tokens.iter().zip(&document) {
            if number == words.unknown() && unknown.iter().all(|known| known != token) {
                unknown.push((*token).to_owned());
            }
        }
        // A recurrent model takes up word after word.
        let mut state = Vec::new();
        let mut log10 = self.next(&mut state, &[]);
        for read in 1..=document.len() {
            log10 = self.next(&mut state, &document[..read]);
        }
        let all = log10.into_iter().zip(0..).filter(|&(_, word)| word != words.unknown()).collect();
        let likely = |(log10, word)| Likely { word: self.name(word).to_owned(), log10_prob: f64::from(log10) };
        let next = likeliest(all, k).into_iter().map(likely).collect();
        Following { after: tokens.iter().map(|&token| token.to_owned()).collect(), unknown, next }
    }
}
