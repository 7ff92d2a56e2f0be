//! Why a document has its value: the sentences and words that moved it, by the model that gave it.
//!
//! | models | how |
//! |---|---|
//! | `lexicon` | the tone words where they stand, exactly |
//! | `induced`, `sestm` | the words of the fold that scored the document, which the set keeps: exactly |
//! | `ridge`, `logistic`, `bayes`, `svm`, `boosted` | that fold is fitted once more, which reads the corpus once: exactly, as far as a score is a sum |
//! | `onnx` | each sentence is left out and the rest is scored: what the score loses |
//! | all others | not at all, and that is said |
//!
//! What is explained is the text as the model read it: names masked, cut by the feature's strategy. Where the score that was
//! found differs from the one that is kept, the note says so.

mod occlusion;
mod words;

use std::ops::Range;

use anyhow::{Context, Result};
use serde::{Serialize, Serializer};

use super::reading::{MASKED, Reading, read_one};
use super::{Feature, Inputs, Model, lexicon};
use inkstone_base::job::Ctx;
use inkstone_store::{Set, Values};
use inkstone_text::{Segmenter, sentences};

/// How far two scores may lie apart that ought to be the same: rows are kept in single precision.
const SAME: f64 = 1e-4;

/// How a value was taken apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplainedBy {
    /// By its words.
    Words,
    /// By leaving out each sentence.
    Omission,
    /// Not at all.
    #[default]
    Nothing,
}

/// The value of a document by one column of a feature, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplainedText {
    /// The feature.
    pub feature: String,
    /// Its column.
    pub column: String,
    /// Its model, as the configuration names it.
    pub model: String,
    /// How the value was taken apart.
    pub by: ExplainedBy,
    /// What was done, and what this does not tell: Chinese, English.
    pub note: (String, String),
    /// How the score comes about; empty where nothing was taken apart.
    pub formula: String,
    /// The value as it was found now; NaN where the model was not asked.
    #[serde(serialize_with = "number")]
    pub score: f64,
    /// The value that the feature set keeps; NaN where it has none or cannot be read.
    #[serde(serialize_with = "number")]
    pub kept: f64,
    /// What is there without any word.
    pub intercept: f64,
    /// What no sentence gave: `score - intercept - sum of the sentences`. NaN where sentences were left out: a model reads them
    /// together, and what they gave does not add up.
    #[serde(serialize_with = "number")]
    pub rest: f64,
    /// The sentences of the text that was read, the title first.
    pub sentences: Vec<ExplainedSentence>,
}

/// A sentence and what it gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplainedSentence {
    /// Its text.
    pub text: String,
    /// Whether it is of the title.
    pub title: bool,
    /// What it gave to the score; NaN where that is not known.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// Its words that gave something, the largest first.
    pub words: Vec<ExplainedWord>,
}

/// A word and what it gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplainedWord {
    /// The word, or the run of words or characters that the model takes as one.
    pub word: String,
    /// What it gave to the score.
    pub value: f64,
    /// Where it stands: bytes of the sentence, half-open. None where it cannot be pointed at.
    #[serde(serialize_with = "pairs")]
    pub places: Vec<Range<usize>>,
    /// Whether a negation turned its sign.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub negated: bool,
    /// The factor of its degree word; 1 without one.
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

/// Takes apart the value that column `column` (none: the first) of a feature has for the document in this part and row. `kept` is what
/// the feature's set has of it; without it only what needs no kept fold is explained.
pub fn explain(
    feature: &Feature,
    column: Option<&str>,
    inputs: &Inputs<'_>,
    kept: Option<&KeptRow>,
    place: (usize, usize),
    ctx: &Ctx,
) -> Result<ExplainedText> {
    let columns = kept.map_or_else(|| feature.columns(), |kept| kept.columns.clone());
    let column = column.map_or_else(|| columns.first().cloned().unwrap_or_default(), str::to_owned);
    let tones = match feature.model {
        Model::Lexicon => Some(lexicon::open(feature, inputs.tokenizer, inputs.base)?),
        _ => None,
    };
    let segmenter = match &tones {
        Some((_, segmenter)) => segmenter.clone(),
        None => Segmenter::new(inputs.tokenizer, inputs.base)?,
    };
    let reading = read_one(inputs, place, feature, &segmenter, ctx)?;
    let mut explained = ExplainedText {
        feature: feature.name.clone(),
        model: serde_json::to_value(feature.model)?.as_str().unwrap_or_default().to_owned(),
        score: f64::NAN,
        kept: kept.map_or(f64::NAN, |kept| kept.value(&column)),
        column,
        ..ExplainedText::default()
    };
    let Some(text) = reading.text.as_deref() else {
        explained.note = (
            "这篇文档不在该特征读取的类型之内，或截断后没有内容。".into(),
            "The feature does not read documents of this kind, or its strategy keeps nothing of this one.".into(),
        );
        return Ok(explained);
    };
    let texts = Texts { text, title: reading.title, ranges: sentences(text) };
    explained.sentences = texts.plain();
    match feature.model {
        Model::Lexicon => {
            let (lexicon, segmenter) = tones.as_ref().context("a lexicon was opened")?;
            words::lexicon(feature, &reading, &texts, (lexicon, segmenter), &mut explained);
        }
        Model::Induced | Model::Sestm => {
            words::of_fold(
                feature,
                inputs,
                kept.map(|kept| &kept.words),
                &reading,
                &texts,
                &segmenter,
                &mut explained,
            )?;
        }
        Model::Ridge | Model::Logistic | Model::Bayes | Model::Svm | Model::Boosted => {
            words::refitted(feature, inputs, place, &reading, &texts, &segmenter, &mut explained, ctx)?;
        }
        Model::Onnx => occlusion::run(feature, inputs, &reading, &texts, &segmenter, &mut explained, ctx)?,
        _ => {
            explained.note = (
                format!("模型 {} 没有逐词解释：只能看到文档这一层。", explained.model),
                format!(
                    "There is no explanation by words for the model {}: documents are as far as it goes.",
                    explained.model
                ),
            );
        }
    }
    if text.contains(MASKED) {
        explained.note.0 += &format!("{MASKED} 处是遮盖的公司名。");
        explained.note.1 += &format!(" {MASKED} stands where a company's name is masked.");
    }
    explained.check();
    Ok(explained)
}

/// What a feature set keeps of one document, so that the store need not stay open while a text is explained.
pub struct KeptRow {
    columns: Vec<String>,
    row: Vec<f32>,
    /// The words of each fold, where the set has them.
    words: serde_json::Value,
}

impl KeptRow {
    /// The row of the document in this part and row of the corpus.
    pub fn of(set: &Set<'_>, (part, row): (usize, usize)) -> Result<KeptRow> {
        let meta = &set.header().meta;
        let batch = set.header().batches.get(part).context("the set has fewer parts than the corpus: run again")?.key;
        let values = match set.batch(&batch)?.map(|rows| rows.values) {
            Some(Values::Dense { dim, data }) => data.get(row * dim..(row + 1) * dim).unwrap_or_default().to_vec(),
            _ => Vec::new(),
        };
        Ok(KeptRow {
            columns: serde_json::from_value(meta["columns"].clone()).unwrap_or_default(),
            row: values,
            words: meta["words"].clone(),
        })
    }

    fn value(&self, column: &str) -> f64 {
        let place = self.columns.iter().position(|known| known == column).unwrap_or(0);
        self.row.get(place).copied().map_or(f64::NAN, f64::from)
    }
}

impl ExplainedText {
    /// Notes what no sentence gave, and a score that is not the one that is kept.
    fn check(&mut self) {
        if self.by == ExplainedBy::Nothing {
            return;
        }
        let given: f64 = self.sentences.iter().map(|s| s.value).filter(|value| value.is_finite()).sum();
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

/// A text as a model read it, in sentences.
struct Texts<'t> {
    text: &'t str,
    /// Bytes of the title.
    title: usize,
    ranges: Vec<Range<usize>>,
}

impl Texts<'_> {
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

    /// Sets the words of each sentence, the largest first, and what they sum to.
    fn fill(&self, words: Vec<Vec<ExplainedWord>>, explained: &mut ExplainedText) {
        for (sentence, mut words) in explained.sentences.iter_mut().zip(words) {
            words.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
            sentence.value = words.iter().fold(0.0, |sum, word| sum + word.value);
            sentence.words = words;
        }
    }
}

/// A reading of which one sentence is left out.
fn without(reading: &Reading, range: &Range<usize>) -> Reading {
    let text = reading.text.as_deref().unwrap_or_default();
    let cut = format!("{}{}", &text[..range.start], &text[range.end..]);
    let moved = |at: u32| match at as usize {
        at if at >= range.end => at - range.len(),
        at => at.min(range.start),
    };
    let inside = |s: &inkstone_corpus::structure::Sentence| {
        s.range.start as usize >= range.start && s.range.end as usize <= range.end
    };
    let sentences = reading.sentences.iter().filter(|s| !inside(s)).cloned().map(|mut sentence| {
        sentence.range = moved(sentence.range.start) as u32..moved(sentence.range.end) as u32;
        sentence
    });
    Reading {
        key: reading.key,
        title: moved(reading.title as u32),
        text: Some(cut),
        windows: Vec::new(),
        sentences: sentences.collect(),
        draw: reading.draw,
        published_at: reading.published_at,
        first_mention: reading.first_mention.clone(),
        doc_id: reading.doc_id.clone(),
        codes: reading.codes.clone(),
    }
}

#[cfg(test)]
mod tests;
