//! Documents as points among the word vectors of a file: a model of this program, or a file in a format of word2vec or fastText.
//!
//! Every row has seen the text that the vectors were trained on: all values are known from the last time of the vectors' text on. A file
//! that does not say it needs a `fitted_until` in the configuration. The weights of words and the common part that documents are pooled
//! with come from the documents until then, or until `fit_until`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::documents::NumberedCorpus;
use super::super::models::place_columns;
use super::super::reading::CorpusReader;
use super::super::set::{SetMeta, SetParams, finish};
use super::super::{Feature, Inputs};
use super::rows::WaitingRows;
use super::window::WindowText;
use super::{pool, terms};
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_models::{Fields, ModelFile, Pooling, WordLimits, WordVectors, is_fasttext, is_vectors};
use inkstone_store::{RowKind, Store};
use inkstone_text::Segmenter;

/// The last second of a day, at which a date without a time is known.
const LAST: NaiveTime = NaiveTime::from_hms_opt(23, 59, 59).expect("23:59:59 is a time of day");

/// The file of word vectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VectorsParams {
    /// Relative to the configuration.
    pub file: PathBuf,
    /// The last day of the text that the vectors were trained on, for files that do not say it.
    pub fitted_until: Option<NaiveDate>,
}

impl VectorsParams {
    /// Fails where no file is named.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.file.as_os_str().is_empty(), "vectors.file is missing: name the file of the word vectors");
        Ok(())
    }

    /// The vectors, and the last time of their training text.
    fn open(&self, segmenter: &Segmenter, base: &Path) -> Result<(WordVectors, NaiveDateTime)> {
        self.check()?;
        let path = &base.join(&self.file);
        let shown = path.display();
        if !is_vectors(path)? && !is_fasttext(path)? {
            let file = ModelFile::open(path)?;
            let cut: Option<Key> = serde_json::from_value(file.header().params["cut"]["key"].clone())?;
            ensure!(
                cut.is_none_or(|cut| cut == segmenter.key()),
                "{shown} was trained on words cut otherwise than [tokenizer] cuts them: set [tokenizer] as it was trained, or \
                 train it again with these settings"
            );
        }
        let vectors = WordVectors::open(path)?;
        let trained_until = vectors.training().fitted_until;
        let stated = self.fitted_until.map(|day| day.and_time(LAST));
        match (trained_until, stated) {
            (None, None) => bail!(
                "{shown} does not say how far the text reaches that its vectors were trained on, and a value made of words of \
                 the future would be known before its time: set vectors.fitted_until to the last day of that text"
            ),
            (Some(trained), Some(stated)) if stated < trained => {
                bail!(
                    "vectors.fitted_until says {stated}, but {shown} was trained on text until {trained}: leave it out"
                )
            }
            _ => Ok((vectors, trained_until.max(stated).unwrap_or_default())),
        }
    }
}

pub(in super::super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let named = || format!("feature {:?}", feature.name);
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let (vectors, seen) = feature.vectors.open(&reader.segmenter, inputs.base).with_context(named)?;
    feature.pooling.check(vectors.dim()).with_context(named)?;
    let cut = |_: &str, fields: Fields<'_>| terms(&reader.segmenter, fields);
    let corpus = NumberedCorpus::read(&reader, cut, &mut report)?;
    let (dim, folder) = (vectors.dim(), inputs.clean.folder());

    let until = feature.fit_until.map_or(seen, |day| day.and_time(LAST));
    let end = if feature.pooling.learns() { corpus.places.partition_point(|place| place.time <= until) } else { 0 };
    let window = &corpus.places[..end];
    ensure!(
        !feature.pooling.learns() || !window.is_empty(),
        "{}: no document is known by {until} that pooling.form = {} could be fitted on: set fit_until to a later day, or take \
         pooling.form = \"mean\"",
        named(),
        json!(feature.pooling.form)
    );
    let fitted_until = window.last().map_or(seen, |place| place.time.max(seen));
    let text = WindowText::read(&corpus, window, &WordLimits { min_count: 1, max_words: 0 }, folder, ctx)?;
    let places: Vec<Option<u32>> = text.words.iter().map(|word| vectors.number(word)).collect();
    let pooled = text.pooled(|word| places[word as usize]);
    let known: Vec<Option<u32>> = corpus.words.iter().map(|word| vectors.number(word)).collect();
    let pooling = Pooling::fit(vectors, &pooled, Some(fitted_until), &feature.pooling, ctx)?;
    let mut rows = WaitingRows::new(&corpus, dim + 1, folder)?;
    pool(&corpus, &corpus.places, &pooling, |number| known[number as usize], &mut rows, ctx)?;

    let vectors = disk::hash_file(&inputs.base.join(&feature.vectors.file))?;
    let params = SetParams::of_corpus(&reader).with("vectors", vectors);
    let writer = store.writer(&params.spec(feature, RowKind::Dense { dim: dim + 1 }, Some(fitted_until)))?;
    report.rows_out = rows.len();
    report.fact("words", corpus.words.len());
    report.fact("known_words", known.iter().flatten().count());
    report.fact("fitted_until", fitted_until);
    let order = rows.write(&corpus, &writer, ctx)?;
    ctx.advance(report.rows_in - report.rows_in / 2)?;
    finish(writer, &order, &SetMeta::of_columns(place_columns(dim)), report)
}
