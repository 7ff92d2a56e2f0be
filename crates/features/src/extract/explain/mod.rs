//! Explanations: the sentences and words that moved a value, by the model that gave it.
//!
//! | models | how |
//! |---|---|
//! | `lexicon` | the tone words where they stand, exactly |
//! | `induced`, `sestm` | the words of the fold that scored the document, which the set keeps: exactly |
//! | `ridge`, `logistic`, `bayes`, `svm`, `boosted`, `mlp` | that fold is fitted once more, which reads the corpus once: exactly, where a score is a sum |
//! | `file` | as `inkstone explain` takes its score apart: exactly, where a score is a sum; heads on encoders as `onnx` |
//! | `lsa`, `word2vec`, `glove`, `fasttext`, `surprise` | the model is fitted once more: each word's part of the column, exactly, where it is a sum |
//! | `onnx`, `textcnn`, `textrnn` | each sentence is left out and the rest is scored, then each word of the strongest sentence: what the score loses |
//!
//! A probability of a class is taken apart as it is, from 0 to 1: its parts are integrated gradients over the scores of the classes, and sum
//! to it. Of a model that learns on the rows of other features the texts of these features are taken apart, too (`inputs`).
//!
//! The explanation is of the text as the model read it: names masked, cut by the feature's strategy. Where the score that was
//! found differs from the one that is kept, the note says so.

mod inputs;
mod occlusion;
mod rows;
mod words;

use std::ops::Range;

use anyhow::{Context, Result};
use serde::{Serialize, Serializer};

use super::gate::NO_EVENT;
use super::reading::{CorpusReader, MASKED, ReadDocument};
use super::{Feature, Inputs, Model, SetMeta};
use crate::extract::entry::Explainer;
use crate::models::{file, lexicon};
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word, in_language};
use inkstone_corpus::structure::Sentence;
use inkstone_lab::factor::Within;
use inkstone_models::FoldReport;
use inkstone_store::{Set, Values};
use inkstone_text::{Segmenter, sentences};

/// Largest relative difference of two equal scores: rows are kept in single precision.
const SAME: f64 = 1e-4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplainedBy {
    Words,
    Omission,
    #[default]
    Nothing,
}

/// The value of a document by one column of a feature, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplainedText {
    pub feature: String,
    /// Empty for the text of an input.
    pub column: String,
    /// For the text of a feature that another one learns on: `feature.column` of that other, whose score is taken apart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Name of the model in the configuration.
    pub model: String,
    /// How the value was taken apart.
    pub by: ExplainedBy,
    /// The method and its limits: Chinese, English.
    pub note: (String, String),
    /// Formula of the score; empty where nothing was taken apart.
    #[serde(serialize_with = "in_language")]
    pub formula: Message,
    /// The value as it was computed now; NaN where the model was not run.
    #[serde(serialize_with = "number")]
    pub score: f64,
    /// The value that the feature set keeps; NaN where it has none or cannot be read.
    #[serde(serialize_with = "number")]
    pub kept: f64,
    /// Score of a text without words.
    pub intercept: f64,
    /// `score - intercept - sum of the sentences and inputs`. NaN where sentences were left out: a model reads them
    /// together, and their parts do not add up.
    #[serde(serialize_with = "number")]
    pub rest: f64,
    /// The sentences of the text that was read, the title first.
    pub sentences: Vec<ExplainedSentence>,
    /// For models that learn on the rows of other features: what these gave, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<ExplainedInput>,
}

/// A column of another feature and its part of the score.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplainedInput {
    /// `feature.column`; a feature of sparse rows as a whole.
    pub input: String,
    pub value: f64,
}

/// A sentence and its part of the score.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplainedSentence {
    pub text: String,
    /// True if the sentence is of the title.
    pub title: bool,
    /// Part of the score; NaN where that is not known.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// The words with a part of the score, the largest first.
    pub words: Vec<ExplainedWord>,
}

/// A word and its part of the score.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplainedWord {
    /// The word, or the run of words or characters that the model takes as one.
    pub word: String,
    /// Part of the score.
    pub value: f64,
    /// Positions: bytes of the sentence, half-open. Empty where they are not known.
    #[serde(serialize_with = "pairs")]
    pub places: Vec<Range<usize>>,
    /// True if a negation turned the sign.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub negated: bool,
    /// Factor of the degree word before it; 1 without one.
    #[serde(skip_serializing_if = "is_one")]
    pub degree: f32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_one(degree: &f32) -> bool {
    *degree == 1.0
}

fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

/// Places as `[start, end]`.
fn pairs<S: Serializer>(places: &[Range<usize>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(places.iter().map(|place| [place.start, place.end]))
}

/// Takes apart the value that column `column` (none: the first) of a feature has for the document in this part and row. `kept` is
/// its row in the feature's set; without it only models that need no kept fold are explained. After the feature's own text come those of
/// the features that it learns on.
pub fn explain(
    feature: &Feature,
    column: Option<&str>,
    inputs: &Inputs<'_>,
    kept: Option<&KeptRow>,
    place: (usize, usize),
    ctx: &Ctx,
) -> Result<Vec<ExplainedText>> {
    let columns = kept.map_or_else(|| feature.columns(), |kept| kept.columns.clone());
    let column = column.map_or_else(|| columns.first().cloned().unwrap_or_default(), str::to_owned);
    let explainer = feature.model.entry().explained_by;
    let (mut lexicon, mut model) = (None, None);
    let segmenter = match explainer {
        Explainer::ToneWords => {
            let (opened, segmenter) = lexicon::project::open(feature, inputs.tokenizer, inputs.base)?;
            lexicon = Some(opened);
            segmenter
        }
        Explainer::WordsOfFile => {
            let opened = file::project::open(feature, inputs, ctx)?;
            model = Some(opened.model);
            opened.segmenter
        }
        _ => segmenter_of(feature, inputs)?,
    };
    let reader = CorpusReader::with_segmenter(feature, inputs, segmenter, ctx)?;
    let document = reader.document(place)?;
    let mut explained = ExplainedText {
        kept: kept.map_or(f64::NAN, |kept| kept.value(&column)),
        column,
        ..ExplainedText::new(feature)
    };
    let Some(texts) = explained.read(&document, feature) else { return Ok(vec![explained]) };
    let mut below = Vec::new();
    match explainer {
        Explainer::ToneWords => {
            let lexicon = lexicon.context(Word("词典应已打开", "a lexicon was opened"))?;
            words::tone_words(&reader, &document, &texts, &lexicon, &mut explained);
        }
        Explainer::FoldWords => {
            words::fold_words(&reader, kept.map(|kept| &kept.words), &document, &texts, &mut explained)?;
        }
        Explainer::WordsOfFile => {
            let model = model.context(Word("模型应已打开", "a model was opened"))?;
            words::file_words(&reader, &document, &texts, &*model, &mut explained)?;
        }
        Explainer::RefittedFold => {
            let folds = kept.map_or(&[][..], |kept| &kept.folds);
            below = words::refitted(&reader, place, folds, &document, &texts, &mut explained)?;
        }
        Explainer::Rows => rows::run(&reader, place, &document, &texts, &mut explained)?,
        Explainer::None => {
            explained.note = (
                format!("模型 {} 没有逐词解释：只能看到文档这一层。", explained.model),
                format!(
                    "There is no explanation by words for the model {}: documents are as far as it goes.",
                    explained.model
                ),
            );
        }
    }
    explained.note_mask(texts.text);
    explained.check();
    below.insert(0, explained);
    Ok(below)
}

/// The segmenter that cuts the text of a feature.
fn segmenter_of(feature: &Feature, inputs: &Inputs<'_>) -> Result<Segmenter> {
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    Ok(if feature.model == Model::Surprise { feature.surprise.segmenter(segmenter) } else { segmenter })
}

/// Why the gate of a feature does not admit a document: Chinese, English.
fn shut_out(reason: &str, feature: &Feature) -> (String, String) {
    match &feature.within {
        Some(Within { source, days }) if reason == NO_EVENT => (
            format!("该特征不读这篇文档：发布前 {days} 个自然日内，来源 {source} 没有同一证券的事件（within）。"),
            format!(
                "The feature does not read this document: source {source} has no event of its securities in the {days} natural days \
                 before it (within)."
            ),
        ),
        _ => (
            format!("该特征不读这篇文档：不满足条件 {}（only）。", feature.only),
            format!("The feature does not read this document: it does not meet the condition {} (only).", feature.only),
        ),
    }
}

/// One document's row of a feature set, so that the store need not stay open while a text is explained.
pub struct KeptRow {
    columns: Vec<String>,
    row: Vec<f32>,
    /// The words of each fold, where the set has them.
    words: serde_json::Value,
    /// Report of each fold; empty for models that are not walked forward.
    folds: Vec<FoldReport>,
}

impl KeptRow {
    /// The row of the document in this part and row of the corpus.
    pub fn read(set: &Set<'_>, (part, row): (usize, usize)) -> Result<KeptRow> {
        let batch = set
            .header()
            .batches
            .get(part)
            .context(Word("特征集的份数少于语料：请重新运行", "the set has fewer parts than the corpus: run again"))?
            .key;
        let values = match set.batch(&batch)?.map(|rows| rows.values) {
            Some(Values::Dense { dim, data }) => data.get(row * dim..(row + 1) * dim).unwrap_or_default().to_vec(),
            _ => Vec::new(),
        };
        let SetMeta { columns, words, folds, .. } = SetMeta::read(set.header())?;
        Ok(KeptRow { columns, row: values, words: words.unwrap_or_default(), folds: folds.unwrap_or_default() })
    }

    fn value(&self, column: &str) -> f64 {
        let place = self.columns.iter().position(|known| known == column).unwrap_or(0);
        self.row.get(place).copied().map_or(f64::NAN, f64::from)
    }
}

impl ExplainedText {
    /// The text of a feature before anything of it is explained.
    fn new(feature: &Feature) -> ExplainedText {
        let model = serde_json::to_value(feature.model).ok();
        ExplainedText {
            feature: feature.name.clone(),
            model: model.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned(),
            score: f64::NAN,
            kept: f64::NAN,
            ..ExplainedText::default()
        }
    }

    /// Takes the sentences of the document as the feature reads it; where it does not read it, notes why.
    fn read<'t>(&mut self, document: &'t ReadDocument, feature: &Feature) -> Option<SplitText<'t>> {
        let Some(text) = document.text.as_deref() else {
            self.note = match document.shut_out {
                Some(reason) => shut_out(reason, feature),
                None => (
                    "这篇文档不在该特征读取的类型之内，或截断后没有内容。".into(),
                    "The feature does not read documents of this kind, or its strategy keeps nothing of this one."
                        .into(),
                ),
            };
            return None;
        };
        let texts = SplitText { text, title: document.title, ranges: sentences(text) };
        self.sentences = texts.plain();
        Some(texts)
    }

    fn note_mask(&mut self, text: &str) {
        if text.contains(MASKED) {
            self.note.0 += &format!("{MASKED} 处是遮盖的公司名。");
            self.note.1 += &format!(" {MASKED} stands where a company's name is masked.");
        }
    }

    /// Computes the rest, and notes a score that differs from the kept one.
    fn check(&mut self) {
        if self.by == ExplainedBy::Nothing {
            return;
        }
        let given = self.sentences.iter().map(|s| s.value).chain(self.inputs.iter().map(|input| input.value));
        let given: f64 = given.filter(|value| value.is_finite()).sum();
        self.rest = match self.by {
            ExplainedBy::Omission => f64::NAN,
            _ => self.score - self.intercept - given,
        };
        let apart = (self.score - self.kept).abs();
        if apart > SAME * self.kept.abs().max(1.0) {
            self.note.0 += &format!(
                "注意：重新算出的得分 {:.6} 与保存的 {:.6} 不同，语料或设置已变；请重新运行。",
                self.score, self.kept
            );
            self.note.1 += &format!(
                " Note: the score found now, {:.6}, is not the one that is kept, {:.6}: the corpus or the settings have changed; run again.",
                self.score, self.kept
            );
        }
    }
}

/// A text as a model read it, split into sentences.
struct SplitText<'t> {
    text: &'t str,
    /// Bytes of the title.
    title: usize,
    ranges: Vec<Range<usize>>,
}

impl SplitText<'_> {
    /// The sentences without a value.
    fn plain(&self) -> Vec<ExplainedSentence> {
        let sentence = |range: &Range<usize>| ExplainedSentence {
            text: self.text[range.clone()].to_owned(),
            title: self.is_title(range),
            value: f64::NAN,
            words: Vec::new(),
        };
        self.ranges.iter().map(sentence).collect()
    }

    fn is_title(&self, range: &Range<usize>) -> bool {
        range.start < self.title
    }

    /// Sets the words of each sentence, the largest first, and their sum.
    fn fill(&self, words: Vec<Vec<ExplainedWord>>, explained: &mut ExplainedText) {
        for (sentence, mut words) in explained.sentences.iter_mut().zip(words) {
            words.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
            sentence.value = words.iter().fold(0.0, |sum, word| sum + word.value);
            sentence.words = words;
        }
    }
}

/// The document without one of its sentences.
fn without(document: &ReadDocument, range: &Range<usize>) -> ReadDocument {
    let text = document.text.as_deref().unwrap_or_default();
    let cut = format!("{}{}", &text[..range.start], &text[range.end..]);
    let moved = |at: u32| match at as usize {
        at if at >= range.end => at - range.len(),
        at => at.min(range.start),
    };
    let inside = |s: &Sentence| s.range.start as usize >= range.start && s.range.end as usize <= range.end;
    let sentences = document.sentences.iter().filter(|s| !inside(s)).cloned().map(|mut sentence| {
        sentence.range = moved(sentence.range.start) as u32..moved(sentence.range.end) as u32;
        sentence
    });
    ReadDocument {
        title: moved(document.title as u32),
        text: Some(cut),
        windows: Vec::new(),
        sentences: sentences.collect(),
        ..document.clone()
    }
}

#[cfg(test)]
mod tests;
