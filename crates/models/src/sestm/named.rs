//! SESTM with its words: what a model file holds, and what scores tokens.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tune::{SestmTrial, choose};
use super::{SestmFit, SestmParams, SestmScore, Topics};
use crate::sparse::{Csr, Row};
use crate::{ModelFile, ModelHeader, pack_strings, write_model};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Documents with the returns around them.
pub struct Returns<'a> {
    /// Word counts, a row a document.
    pub counts: &'a Csr,
    /// The word of each column.
    pub words: &'a [Box<str>],
    /// The return of each document.
    pub labels: &'a [f64],
    /// When each became known; without the time of every document the rows stand in the order of time.
    pub times: &'a [Option<NaiveDateTime>],
    /// The group of each document: documents of one group never stand on both sides of a split.
    pub groups: &'a [u64],
}

/// A fitted SESTM that knows its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Sestm {
    /// Ascending by code points.
    words: Vec<Box<str>>,
    /// Columns are places in `words`.
    topics: Topics,
    params: SestmParams,
    fit: SestmFit,
    fitted_until: Option<NaiveDateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SestmWord {
    pub word: Box<str>,
    /// `(O+ - O-) / 2`: above 0 for a positive word.
    pub tone: f64,
    /// `(O+ + O-) / 2`: how frequent it is among screened words.
    pub frequency: f64,
    /// Share of its documents whose return is above 0.
    pub share: f64,
    pub documents: u32,
}

impl Topics {
    /// The tone of the `j`-th word: `(O+ - O-) / 2`.
    pub fn tone(&self, j: usize) -> f64 {
        (self.positive[j] - self.negative[j]) / 2.0
    }

    /// The places of the words, the most positive first; equal tones in the order of the columns.
    pub(crate) fn by_tone(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by(|&a, &b| self.tone(b).total_cmp(&self.tone(a)).then(a.cmp(&b)));
        order
    }

    /// The words, the most positive first; `name` gives the word of a column.
    pub fn words<'w>(&self, name: impl Fn(u32) -> &'w str) -> Vec<SestmWord> {
        let word = |&j: &usize| SestmWord {
            word: name(self.columns[j]).into(),
            tone: self.tone(j),
            frequency: (self.positive[j] + self.negative[j]) / 2.0,
            share: self.share[j],
            documents: self.documents[j],
        };
        self.by_tone().iter().map(word).collect()
    }
}

impl Sestm {
    /// Kind of its model files.
    pub const KIND: &str = "sestm";
    const VERSION: u32 = 1;

    /// Fits the model on all documents, after choosing among the values of `params.tune`, if there are any, on the latest.
    pub fn fit(data: &Returns<'_>, params: &SestmParams, ctx: &Ctx) -> Result<(Sestm, Vec<SestmTrial>)> {
        let Returns { counts, words, labels, times, groups } = *data;
        let n = counts.rows();
        ensure!(
            [labels.len(), times.len(), groups.len()] == [n; 3] && words.len() >= counts.cols(),
            "{n} 行计数须有同样多的收益、时间与分组，{} 列须有同样多的词",
            "{n} rows of counts need as many returns, times and groups, and {} columns as many words",
            counts.cols()
        );
        let rows: Vec<usize> = (0..n).collect();
        let (chosen, trials) = if params.tune.is_empty() {
            (params.clone(), Vec::new())
        } else {
            let (early, late) = split(times, groups, params.tune.validation);
            let labels_of = |rows: &[usize]| rows.iter().map(|&i| labels[i]).collect::<Vec<f64>>();
            choose(counts, (&early, &labels_of(&early)), (&late, &labels_of(&late)), params, ctx)?
        };
        let (topics, fit) = Topics::fit(counts, &rows, labels, &chosen, ctx)?;
        let fitted_until = times.iter().copied().max().flatten();
        Ok((Sestm::named(topics, words, chosen, fit, fitted_until), trials))
    }

    fn named(
        topics: Topics,
        words: &[Box<str>],
        params: SestmParams,
        fit: SestmFit,
        fitted_until: Option<NaiveDateTime>,
    ) -> Sestm {
        let word = |j: usize| &words[topics.columns[j] as usize];
        let mut order: Vec<usize> = (0..topics.columns.len()).collect();
        order.sort_by(|&a, &b| word(a).cmp(word(b)));
        let pick = |values: &[f64]| order.iter().map(|&j| values[j]).collect::<Vec<f64>>();
        Sestm {
            words: order.iter().map(|&j| word(j).clone()).collect(),
            topics: Topics {
                columns: (0..order.len() as u32).collect(),
                positive: pick(&topics.positive),
                negative: pick(&topics.negative),
                share: pick(&topics.share),
                documents: order.iter().map(|&j| topics.documents[j]).collect(),
                lambda: topics.lambda,
            },
            params,
            fit,
            fitted_until,
        }
    }

    /// A model of the screened words that [`Sestm::words`] gave, for scoring alone.
    pub fn of_words(screened: &[SestmWord], lambda: f64) -> Sestm {
        let words: Vec<Box<str>> = screened.iter().map(|word| word.word.clone()).collect();
        let topics = Topics {
            columns: (0..words.len() as u32).collect(),
            positive: screened.iter().map(|word| word.frequency + word.tone).collect(),
            negative: screened.iter().map(|word| word.frequency - word.tone).collect(),
            share: screened.iter().map(|word| word.share).collect(),
            documents: screened.iter().map(|word| word.documents).collect(),
            lambda,
        };
        let params = SestmParams { lambda, ..SestmParams::default() };
        Sestm::named(topics, &words, params, SestmFit::default(), None)
    }

    /// The tone of a document given as its terms.
    pub fn score<T: AsRef<str>>(&self, terms: &[T]) -> SestmScore {
        let (columns, counts) = self.counts(terms);
        self.topics.score(Row { indices: &columns, values: &counts })
    }

    /// The screened words, the most positive first.
    pub fn words(&self) -> Vec<SestmWord> {
        self.topics.words(|column| &self.words[column as usize])
    }

    /// The parameters that it was fitted with; of a tuned model, those that were chosen.
    pub fn params(&self) -> &SestmParams {
        &self.params
    }

    /// The data of the estimation.
    pub fn report(&self) -> &SestmFit {
        &self.fit
    }

    /// The last time of the documents that it was fitted on, where they all had one.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.fitted_until
    }

    pub(super) fn topics(&self) -> &Topics {
        &self.topics
    }

    pub(super) fn word(&self, j: usize) -> &str {
        &self.words[j]
    }

    /// Places and counts of the screened words among some terms, as a row.
    pub(super) fn counts<T: AsRef<str>>(&self, terms: &[T]) -> (Vec<u32>, Vec<f32>) {
        let place = |term: &T| self.words.binary_search_by(|word| (**word).cmp(term.as_ref())).ok();
        let mut places: Vec<u32> = terms.iter().filter_map(place).map(|j| j as u32).collect();
        places.sort_unstable();
        places.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32)).unzip()
    }

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let header = ModelHeader {
            kind: Sestm::KIND.to_owned(),
            version: Sestm::VERSION,
            fitted_until: self.fitted_until,
            documents: self.fit.documents as u64,
            params: json!({"cut": cut, "sestm": self.params, "fit": self.fit}),
        };
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        let Topics { positive, negative, share, documents, .. } = &self.topics;
        write_model(
            path,
            &header,
            &[
                ("words", &words),
                ("positive", bytemuck::cast_slice(positive)),
                ("negative", bytemuck::cast_slice(negative)),
                ("share", bytemuck::cast_slice(share)),
                ("documents", bytemuck::cast_slice(documents)),
            ],
        )
    }

    pub fn read(file: &ModelFile) -> Result<Sestm> {
        file.expect(Sestm::KIND, Sestm::VERSION)?;
        let params: SestmParams = file.param("sestm")?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let numbers = |name: &str| Ok::<_, anyhow::Error>(file.numbers::<f64>(name)?.to_vec());
        let topics = Topics {
            columns: (0..words.len() as u32).collect(),
            positive: numbers("positive")?,
            negative: numbers("negative")?,
            share: numbers("share")?,
            documents: file.numbers("documents")?.to_vec(),
            lambda: params.lambda,
        };
        let lengths = [topics.positive.len(), topics.negative.len(), topics.share.len(), topics.documents.len()];
        ensure!(
            lengths == [words.len(); 4],
            "模型有 {} 个词，各节长度为 {lengths:?}；请重新训练",
            "the model has {} words, and sections of {lengths:?}; train it again",
            words.len()
        );
        Ok(Sestm { words, topics, params, fit: file.param("fit")?, fitted_until: file.header().fitted_until })
    }
}

/// The documents before the judging ones, and these: the latest `share`, by time where all have one, else by row. Documents
/// whose group is judged are in neither.
fn split(times: &[Option<NaiveDateTime>], groups: &[u64], share: f64) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..times.len()).collect();
    if times.iter().all(Option::is_some) {
        order.sort_by_key(|&i| times[i]);
    }
    let mut late = order.split_off(((1.0 - share) * order.len() as f64) as usize);
    let judged: FxHashSet<u64> = late.iter().map(|&i| groups[i]).collect();
    order.retain(|&i| !judged.contains(&groups[i]));
    order.sort_unstable();
    late.sort_unstable();
    (order, late)
}
