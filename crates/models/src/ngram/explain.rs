//! Why a document has its probability: each token's n-gram and the contexts that were backed off from.

use super::lm::LanguageModel;
use super::words::{END, MARKS, UNKNOWN};
use crate::{Explanation, Part};
use inkstone_base::language::Word;

/// Names of the weights of contexts by their order.
const WEIGHTS: [&str; 7] = ["backoff_0", "backoff_1", "backoff_2", "backoff_3", "backoff_4", "backoff_5", "backoff_6"];

impl LanguageModel {
    /// Takes the log10 probability of a document apart, token by token, `</s>` last.
    pub fn explain(&self, tokens: &[&str]) -> Explanation {
        let view = self.view();
        let mut state = view.begin();
        let mut score = 0.0;
        let ids = tokens.iter().map(|token| view.vocabulary.id(token.as_bytes()));
        let words = tokens.iter().copied().chain([MARKS[END as usize]]).zip(ids.chain([END]));
        let mut part = |(token, id): (&str, u32)| {
            let mut detail = Vec::new();
            let step = view.index.step_by(state, id, |context, weight| {
                detail.push((WEIGHTS[(context.order as usize).min(WEIGHTS.len() - 1)], f64::from(weight)));
            });
            detail.insert(0, ("log10_ngram", f64::from(step.own_log10)));
            detail.insert(0, ("order", f64::from(step.order)));
            detail.push(("oov", f64::from(u32::from(id == UNKNOWN))));
            state = step.state;
            score += f64::from(step.log10);
            Part { token: token.to_owned(), value: f64::from(step.log10), detail }
        };
        let terms = words.map(&mut part).collect();
        Explanation {
            formula: Word(
                "log10 p(document) = 对各词与 </s> 求和：以该词结尾的最长已知 n-gram（`order` 个词）的 log10_ngram + 它未接续的每个更长已知上文（n 个词）的 backoff_n",
                "log10 p(document) = sum over tokens and </s> of log10_ngram of the longest known n-gram that ends in the \
                      token (of `order` words) + backoff_n of each longer known context, of n words, that it does not follow",
            )
            .into(),
            score,
            terms,
            ..Explanation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ngram::LanguageModel;
    use crate::ngram::params::NgramParams;
    use crate::ngram::smoothing::tests::trained;
    use inkstone_base::job::Ctx;

    #[test]
    fn parts_sum_to_the_score_and_details_to_the_parts() {
        let texts = ["订单 增长 超出 预期", "订单 下降 。", "增长 超出 预期 。"];
        let model = LanguageModel::new(&trained(&texts, &NgramParams::default()), &Ctx::new(1, 1).unwrap()).unwrap();
        let tokens = ["订单", "增长", "未见", "超出", "下降"];
        let explained = model.explain(&tokens);
        assert_eq!(
            explained.terms.iter().map(|part| &*part.token).collect::<Vec<_>>(),
            [&tokens[..], &["</s>"]].concat()
        );
        let sum: f64 = explained.terms.iter().map(|part| part.value).sum();
        assert!((sum - explained.score).abs() < 1e-9 && (model.score(tokens).log10() - sum).abs() < 1e-9);
        for part in &explained.terms {
            let detail =
                |name: &str| part.detail.iter().filter(|(n, _)| n.starts_with(name)).map(|(_, v)| v).sum::<f64>();
            assert!((detail("log10_ngram") + detail("backoff_") - part.value).abs() < 1e-6, "{part:?}");
        }
        // 增长 stands after <s> 订单, which the model knows; 下降 after 超出, which nothing but 预期 followed.
        assert_eq!(explained.terms[1].detail[0], ("order", 3.0));
        let last = &explained.terms[4].detail;
        assert_eq!((last[0], last.iter().any(|(name, _)| *name == "backoff_1")), (("order", 1.0), true));
        assert_eq!(explained.terms[2].detail.last(), Some(&("oov", 1.0)));
    }
}
