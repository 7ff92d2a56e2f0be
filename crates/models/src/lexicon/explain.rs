//! A tone taken apart into its words.

use super::{Lexicon, ToneScale};
use crate::{Explanation, Part};
use inkstone_base::language::Word;

impl Lexicon {
    /// The contribution of each tone word of a document to its tone, in the order of the text.
    pub fn explanation(&self, tokens: &[&str]) -> Explanation {
        let (tone, hits) = (self.tone(tokens), self.explain(tokens));
        let (by, formula) = match self.params.scale {
            ToneScale::Balance => (
                f64::from(tone.positive + tone.negative),
                Word(
                    "(P - N) / (P + N)：每个词为 weight / (P + N)；weight = 词表权重 x degree，遇否定与负担词变号",
                    "(P - N) / (P + N): each word gives weight / (P + N); weight = the list's x degree, turned by negation and by a burden",
                ),
            ),
            ToneScale::PerToken => (
                f64::from(tone.tokens),
                Word(
                    "(P - N) / tokens：每个词为 weight / tokens；weight = 词表权重 x degree，遇否定与负担词变号",
                    "(P - N) / tokens: each word gives weight / tokens; weight = the list's x degree, turned by negation and by a burden",
                ),
            ),
        };
        let part = |hit: super::Hit| Part {
            value: f64::from(hit.weight) / by,
            detail: vec![
                ("weight", f64::from(hit.weight)),
                ("degree", f64::from(hit.degree)),
                ("negated", f64::from(u8::from(hit.negated))),
                ("burden", f64::from(u8::from(hit.burden))),
                ("by", by),
                ("at_token", hit.token as f64),
            ],
            token: hit.word,
        };
        let terms = hits.into_iter().map(part).collect();
        Explanation { formula: formula.into(), score: f64::from(tone.tone), terms, ..Explanation::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Lexicon, LexiconParams, ToneScale};

    #[test]
    fn the_parts_sum_to_the_tone() {
        let tokens = ["利润", "大幅", "增长", "，", "现金流", "没有", "改善", "，", "前景", "下滑"];
        for scale in [ToneScale::Balance, ToneScale::PerToken] {
            let lexicon = Lexicon::new(&LexiconParams { scale, ..LexiconParams::default() }, Path::new("")).unwrap();
            let explained = lexicon.explanation(&tokens);
            let sum: f64 = explained.terms.iter().map(|part| part.value).sum();
            assert!((sum - explained.score).abs() < 1e-6 && explained.terms.len() == 3, "{explained:?}");
            assert_eq!(explained.terms[0].token, "增长");
            assert_eq!(explained.terms[0].detail[..2], [("weight", 1.5), ("degree", 1.5)]);
            assert!(explained.terms[1].value < 0.0 && explained.terms[1].detail[2] == ("negated", 1.0));
        }
    }
}
