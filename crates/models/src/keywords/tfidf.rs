//! Keywords by TF-IDF: `score = count / candidates of the document x idf`, as `jieba.analyse.extract_tags` has it.

use std::path::Path;

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;

use super::Candidates;
use crate::{Explanation, Part, Vectorizer};
use inkstone_text::{Counter, VocabularyParams};

use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// Inverse document frequencies of words, natural logarithms.
#[derive(Clone, Debug)]
pub struct Idf {
    by_word: FxHashMap<Box<str>, f64>,
    unknown: f64,
}

impl Idf {
    /// The frequencies of a fitted model; a word outside its vocabulary counts as one that is in no document.
    pub fn of_model(model: &Vectorizer) -> Result<Idf> {
        ensure!(
            model.params().has_idf(),
            "{} 模型不含词的稀有程度；请给 train tfidf 的模型",
            "a {} model does not say how rare words are; give one of train tfidf",
            model.params().name()
        );
        let by_word = (0..).zip(model.terms()).map(|(column, term)| (term.clone(), model.idf(column)));
        Ok(Idf { by_word: by_word.collect(), unknown: model.idf_of_unknown() })
    }

    /// The frequencies of counted documents by the smooth formula, `ln((1 + n) / (1 + df)) + 1`.
    pub fn of_counts(counter: &Counter) -> Result<Idf> {
        let vocabulary = counter.build(&VocabularyParams::ALL)?;
        ensure!(
            vocabulary.documents > 1,
            "一篇文档看不出哪些词稀有；请给出 --model（train tfidf 的模型）或 --idf，或选 --method textrank",
            "one document says nothing about which words are rare; give --model (of train tfidf) or --idf, or choose --method textrank"
        );
        let n = vocabulary.documents as f64;
        let idf = |df: u64| ((1.0 + n) / (1.0 + df as f64)).ln() + 1.0;
        let by_word = vocabulary.words.into_iter().map(|(word, frequency)| (word, idf(frequency.documents))).collect();
        Ok(Idf { by_word, unknown: idf(0) })
    }

    /// A table in jieba's form, `word idf` a line; a word that it lacks counts as its median word.
    pub fn of_table(text: &str, file: &Path) -> Result<Idf> {
        let mut by_word: FxHashMap<Box<str>, f64> = FxHashMap::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let mut fields = line.split_whitespace();
            let row = (fields.next(), fields.next().and_then(|idf| idf.parse::<f64>().ok()), fields.next());
            let (Some(word), Some(idf), None) = row else {
                inkstone_base::bail!(
                    "{}:{number}：{line:?} 不是以空格隔开的词与 idf",
                    "{}:{number}: {line:?} is no word and its idf with a space between",
                    file.display()
                );
            };
            ensure!(
                idf.is_finite(),
                "{}:{number}：{line:?}：idf 须为有限的数",
                "{}:{number}: {line:?}: an idf is a finite number",
                file.display()
            );
            by_word.insert(word.into(), idf);
        }
        let mut sorted: Vec<f64> = by_word.values().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let unknown =
            sorted.get(sorted.len() / 2).with_context(|| message!("{} 没有词", "{} has no words", file.display()))?;
        Ok(Idf { unknown: *unknown, by_word })
    }

    fn get(&self, word: &str) -> f64 {
        self.by_word.get(word).copied().unwrap_or(self.unknown)
    }

    /// The score of each candidate of a document.
    pub fn scores(&self, words: &Candidates<'_>) -> Vec<f64> {
        let all = words.counts().iter().sum::<u64>() as f64;
        let scores = words.words().iter().zip(words.counts());
        scores.map(|(word, &count)| count as f64 * (self.get(word) / all)).collect()
    }

    /// The explanation of a candidate's score; none when the word is no candidate.
    pub fn explain(&self, words: &Candidates<'_>, word: &str) -> Option<Explanation> {
        let number = words.number(word)?;
        let score = self.scores(words)[number];
        let detail = vec![
            ("count", words.counts()[number] as f64),
            ("candidates", words.counts().iter().sum::<u64>() as f64),
            ("idf", self.get(word)),
        ];
        let known = match self.by_word.contains_key(word) {
            true => Word("", ""),
            false => Word("；该词未知，取未知词的 idf", "; the word is unknown and has the idf of such words"),
        };
        Some(Explanation {
            of: Some(word.to_owned()),
            formula: message!("score = count / candidates x idf{known}", "score = count / candidates x idf{known}"),
            score,
            terms: vec![Part { token: word.to_owned(), value: score, detail }],
            ..Explanation::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analyzer, Fields, TermCounts, VectorizerParams};
    use inkstone_text::DfLimit;

    fn words(text: &str) -> Candidates<'_> {
        Candidates::new(text.split(' ').map(|word| Some((word.into(), "n"))))
    }

    fn counted(documents: &[&str]) -> Counter {
        let mut counter = Counter::default();
        documents.iter().for_each(|text| counter.add(text.split(' '), None));
        counter
    }

    #[test]
    fn frequent_here_and_rare_elsewhere_scores_high() {
        let counts = counted(&["公司 增长", "公司 回购", "公司 分红"]);
        let idf = Idf::of_counts(&counts).unwrap();
        let document = words("公司 回购 公司 回购 注销");
        let scores = idf.scores(&document);
        // ln(4 / 4) + 1, ln(4 / 2) + 1 and ln(4 / 1) + 1 for a word that is in no document.
        let expected = [0.4, 0.4 * (2f64.ln() + 1.0), 0.2 * (4f64.ln() + 1.0)];
        assert!(scores.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{scores:?}");
        let best = document.best(&scores, 2);
        assert_eq!(best.iter().map(|k| (k.word, k.count)).collect::<Vec<_>>(), [("回购", 2), ("注销", 1)]);
        let explained = idf.explain(&document, "回购").unwrap();
        assert_eq!(explained.score, scores[1]);
        assert_eq!(explained.terms[0].detail, [("count", 2.0), ("candidates", 5.0), ("idf", 2f64.ln() + 1.0)]);
        assert!(idf.explain(&document, "注销").unwrap().formula.en.contains("unknown"));
        assert!(idf.explain(&document, "增长").is_none());
        let params = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
        let analyzer = Analyzer::new(&params, None).unwrap();
        let mut terms = TermCounts::new(&params);
        let texts = ["公司 增长", "公司 回购", "公司 分红"];
        texts.iter().for_each(|text| terms.add(&analyzer, Fields::body(text), None).unwrap());
        let model = Idf::of_model(&Vectorizer::fit(&terms, &params).unwrap()).unwrap();
        assert_eq!(model.scores(&document), scores, "a model of the same documents says the same");
    }

    #[test]
    fn one_document_and_broken_tables_are_refused_with_the_way_out() {
        let one = Idf::of_counts(&counted(&["公司 增长"])).unwrap_err().to_string();
        assert!(one.contains("one document") && one.contains("--method textrank"), "{one}");
        let table = |text| Idf::of_table(text, Path::new("idf.txt"));
        assert_eq!(table("\u{feff}增长 1\n回购 5\r\n\n注销 3\n").unwrap().unknown, 3.0);
        let error = |text| table(text).unwrap_err().to_string();
        assert!(error("增长 1\n回购\n").starts_with("idf.txt:2: \"回购\""));
        assert!(error("增长 nan\n").contains("finite"));
        assert!(error("\n").contains("idf.txt has no words"));
    }
}
