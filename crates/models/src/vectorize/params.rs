//! The parameters of a vectorizer, and the usual sets of them.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::analysis::LONGEST;
use inkstone_base::bounds;
use inkstone_base::data::TooLittle;
use inkstone_base::{ensure, message};
use inkstone_text::{DfLimit, Frequency, VocabularyParams};

/// The units of n-grams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Words; an n-gram is written with spaces between them.
    #[default]
    Word,
    /// Characters, marks and spaces included; an n-gram is written without anything between them.
    Char,
}

/// The formula by which a count becomes a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// `count x (ln((1 + n) / (1 + df)) + 1)`, scikit-learn's smooth formula.
    #[default]
    Sklearn,
    /// `count / terms of the document x ln(n / (df + 1))`, as in course notes. A term in nearly all documents weighs 0
    /// or less.
    Textbook,
    /// Okapi BM25 (Robertson and Zaragoza 2009) with the document frequency of Lucene, which is never negative:
    /// `ln(1 + (n - df + 0.5) / (df + 0.5)) x count x (k1 + 1) / (count + k1 x (1 - b + b x length / mean length))`. The sum over the
    /// terms of a query is the document's score.
    Bm25,
    /// `ln(1 + count)`, no document frequency: the features of Huatai's event factors.
    LogCount,
    /// The count.
    Count,
    /// 1 where the term occurs.
    Binary,
}

/// The norm that a row is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The norm of the formula as printed: `l2` for scikit-learn's, none for the others.
    #[default]
    Formula,
    /// The square root of the sum of squares.
    L2,
    /// The sum of absolute values.
    L1,
    /// Nothing.
    None,
}

defaults! {
    pub struct VectorizerParams {
        /// `word` (default) or `char`.
        analyzer: Unit = Unit::Word,
        /// Shortest and longest n-gram in units. Default `[1, 1]`; the longest is at most 8.
        ngram_range: (usize, usize) = (1, 1),
        /// Parts of speech (jieba's tags: `n`, `v`, `a`, ...) of the words that count; empty (default): all.
        pos: Vec<String> = Vec::new(),
        /// Columns for the words of titles, the most frequent so many, written `title:增长`, with `max_features` for the body alone; 0
        /// (default): a word is one column wherever it stands.
        title_features: usize = 0,
        /// Columns that terms are hashed into, with no vocabulary; 0 (default): a column a term.
        buckets: usize = 0,
        /// With `buckets`: whether half of the terms count downwards, so that collisions cancel out on average.
        alternate_sign: bool = true,
        /// `sklearn` (default), `textbook`, `bm25`, `log-count`, `count` or `binary`.
        formula: Formula = Formula::Sklearn,
        /// For `sklearn`: whether 1 is added to both document counts. Default true; false is `ln(n / df) + 1`.
        smooth_idf: bool = true,
        /// Terms in fewer documents are left out: a count (default 2) or a share.
        min_df: DfLimit = DfLimit::Count(2),
        /// Terms in more documents are left out: a share (default 1.0 = none) or a count.
        max_df: DfLimit = DfLimit::Share(1.0),
        /// Terms kept at the most, those with the highest count; 0 keeps all.
        max_features: usize = 0,
        /// For `sklearn` and `textbook`: whether a count enters as `1 + ln(count)`.
        sublinear_tf: bool = false,
        /// `formula` (default: l2 with sklearn, none otherwise), `l2`, `l1` or `none`.
        norm: Norm = Norm::Formula,
        /// For `bm25`: how soon further occurrences add nothing.
        k1: f64 = 1.2,
        /// For `bm25`: how much a long document is held against its terms, 0 to 1.
        b: f64 = 0.75,
    }
}

/// A usual set of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// scikit-learn's TfidfVectorizer.
    Tfidf,
    /// Counts: scikit-learn's CountVectorizer.
    Bow,
    /// 1 for each word of the vocabulary that occurs.
    Onehot,
    Bm25,
    /// scikit-learn's HashingVectorizer: signed counts in 2^20 columns, l2.
    Hashing,
    /// Sets of five characters in a row in 2^20 columns: for what is nearly the same text.
    Shingles,
    /// Huatai's event factors (2021): ln(1 + count) of the 100 words of titles and 500 of bodies that are most frequent
    /// among nouns, verbs and adjectives.
    EventWords,
}

/// Columns of scikit-learn's HashingVectorizer.
const BUCKETS: usize = 1 << 20;

/// Parts of speech of Huatai's event factors.
const EVENT_POS: [&str; 7] = ["n", "nz", "v", "vd", "vn", "a", "d"];

impl VectorizerParams {
    /// The parameters of a usual set.
    pub fn preset(preset: Preset) -> VectorizerParams {
        let default = VectorizerParams::default();
        match preset {
            Preset::Tfidf => default,
            Preset::Bow => VectorizerParams { formula: Formula::Count, ..default },
            Preset::Onehot => VectorizerParams { formula: Formula::Binary, ..default },
            Preset::Bm25 => VectorizerParams { formula: Formula::Bm25, ..default },
            Preset::Hashing => {
                VectorizerParams { formula: Formula::Count, norm: Norm::L2, buckets: BUCKETS, ..default }
            }
            Preset::Shingles => VectorizerParams {
                analyzer: Unit::Char,
                ngram_range: (5, 5),
                formula: Formula::Binary,
                buckets: BUCKETS,
                ..default
            },
            Preset::EventWords => VectorizerParams {
                pos: EVENT_POS.map(str::to_owned).into(),
                title_features: 100,
                max_features: 500,
                formula: Formula::LogCount,
                ..default
            },
        }
    }

    /// The name of the usual set that these are nearest to, as `train` calls it.
    pub fn name(&self) -> &'static str {
        match self.formula {
            Formula::Binary if self.buckets > 0 => "shingles",
            _ if self.buckets > 0 => "hashing",
            _ if self.title_features > 0 => "event-words",
            Formula::Sklearn | Formula::Textbook | Formula::LogCount => "tfidf",
            Formula::Bm25 => "bm25",
            Formula::Count => "bow",
            Formula::Binary => "onehot",
        }
    }

    /// Fails when the parameters cannot be meant together.
    pub fn check(&self) -> Result<()> {
        let (shortest, longest) = self.ngram_range;
        ensure!(
            0 < shortest && shortest <= longest && longest <= LONGEST,
            "ngram_range = [{shortest}, {longest}]：请写最短与最长的 n 元组，从 1 到 {LONGEST}",
            "ngram_range = [{shortest}, {longest}]: write the shortest and the longest n-gram, from 1 to {LONGEST}"
        );
        bounds::check("feature.tfidf", self)?;
        if self.buckets > 0 {
            ensure!(
                !self.has_idf(),
                "哈希的词项（buckets = {}）没有文档频数：请用公式 count、binary 或 log-count，或 buckets = 0",
                "terms that are hashed (buckets = {}) have no document frequency: use the formula count, binary or log-count, or buckets = 0",
                self.buckets
            );
            ensure!(
                self.title_features == 0,
                "title_features 在标题的词中选择，而哈希的词项（buckets = {}）不能选择；请用 buckets = 0",
                "title_features chooses among the words of titles, and hashed terms (buckets = {}) are not chosen; use buckets = 0",
                self.buckets
            );
        }
        Ok(())
    }

    /// True if documents have to be counted before one can be weighed.
    pub fn learns(&self) -> bool {
        self.buckets == 0
    }

    /// True if the formula has a document frequency.
    pub(crate) fn has_idf(&self) -> bool {
        matches!(self.formula, Formula::Sklearn | Formula::Textbook | Formula::Bm25)
    }

    /// The separator between the units of an n-gram.
    pub(super) fn joint(&self) -> &'static str {
        match self.analyzer {
            Unit::Word => " ",
            Unit::Char => "",
        }
    }

    /// The terms that become columns, as ascending positions in `terms`: those of titles, where they are counted apart, and
    /// the others each by their own number of features. Of terms with equal counts those with the lower `tie` stay.
    pub fn select<K: Ord>(
        &self,
        documents: u64,
        terms: &[Frequency],
        is_title: impl Fn(usize) -> bool,
        tie: impl Fn(usize) -> K,
    ) -> Result<Vec<u32>> {
        ensure!(
            terms.iter().any(|term| term.documents > 0),
            TooLittle(message!(
                "{documents} 篇文档中没有可选的词：它们为空、短于 n 元组，或词都被去掉（stopwords、pos）",
                "there are no words to choose from in {documents} documents: they are empty, too short for the n-grams, or all their words are left out (stopwords, pos)"
            ))
        );
        let &VectorizerParams { min_df, max_df, max_features, title_features, .. } = self;
        let bodies = VocabularyParams { min_df, max_df, max_features };
        if title_features == 0 {
            return bodies.select(documents, terms, tie);
        }
        let mut kept = Vec::new();
        for (of_titles, params) in
            [(true, VocabularyParams { max_features: title_features, ..bodies }), (false, bodies)]
        {
            let here =
                |(i, term): (usize, &Frequency)| if is_title(i) == of_titles { *term } else { Frequency::default() };
            let here: Vec<Frequency> = terms.iter().enumerate().map(here).collect();
            // A corpus may be without titles, or without anything else.
            if here.iter().any(|term| term.documents > 0) {
                let side = if of_titles { "titles" } else { "bodies" };
                kept.extend(
                    params
                        .select(documents, &here, &tie)
                        .with_context(|| message!("{side}的词中", "among the words of {side}"))?,
                );
            }
        }
        kept.sort_unstable();
        Ok(kept)
    }
}
