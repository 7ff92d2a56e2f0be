//! The vintages of a feature as another one takes them: the word vectors that were trained before a day.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use super::super::documents::NumberedCorpus;
use super::super::reading::CorpusReader;
use super::super::{Feature, Inputs};
use super::terms;
use super::trainer::WordVectorTrainer;
use super::window::WindowText;
use crate::stage_result;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_models::Fields;
use inkstone_models::textnet::GivenVectors;

/// The vintages of a feature, each trained when it is asked for.
pub(crate) struct EarlierVintages<'a> {
    feature: &'a Feature,
    trainer: Box<dyn WordVectorTrainer>,
    corpus: NumberedCorpus,
    /// Folder of scratch files.
    folder: &'a Path,
    ctx: &'a Ctx,
    /// By first midnight of the step; none where too little text is before it.
    trained: Mutex<BTreeMap<NaiveDateTime, Option<GivenVectors>>>,
}

impl<'a> EarlierVintages<'a> {
    /// Reads the corpus as the feature reads it.
    pub(crate) fn new(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<EarlierVintages<'a>> {
        let named = || format!("feature {:?}", feature.name);
        let trainer =
            feature.trainer().with_context(|| message!("{} 不训练词向量", "{} trains no word vectors", named()))?;
        feature.check().with_context(named)?;
        let reader = CorpusReader::new(feature, inputs, ctx)?;
        let corpus = stage_result(ctx, &format!("read {}", feature.name), "docs", None, || {
            let mut report = Report::new("read");
            let cut = |_: &str, fields: Fields<'_>| terms(&reader.segmenter, fields);
            let corpus = NumberedCorpus::read(&reader, cut, &mut report)?;
            report.rows_out = corpus.places.len() as u64;
            Ok((corpus, report))
        })?;
        let folder = inputs.clean.folder();
        Ok(EarlierVintages { feature, trainer, corpus, folder, ctx, trained: Mutex::default() })
    }

    /// Values of a vector.
    pub(crate) fn dim(&self) -> usize {
        self.trainer.dim()
    }

    /// The vectors of the vintage that values the documents of a day, which were trained on earlier days alone.
    pub(crate) fn before(&self, day: NaiveDate) -> Result<Option<GivenVectors>> {
        let steps = self.feature.vintages.steps();
        let (begin, window) = steps.window_before(&self.corpus.places, day.and_time(NaiveTime::MIN));
        let mut trained = self.trained.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = trained.get(&begin) {
            return Ok(known.clone());
        }
        let mut made = None;
        if let Some(last) = window.last().filter(|_| steps.suffice(window.len())) {
            let text = WindowText::read(&self.corpus, window, &self.feature.words, self.folder, self.ctx)?;
            if text.suffices(&*self.trainer) {
                let passes = self.trainer.passes();
                let total = passes.map(|passes| text.kept_tokens() * passes);
                let name = format!("train {}", self.feature.name);
                let vectors = stage_result(self.ctx, &name, self.trainer.unit(), total, || {
                    let mut report = Report::new("train");
                    report.rows_in = window.len() as u64;
                    report.rows_out = report.rows_in;
                    Ok((text.train(&*self.trainer, self.folder, self.ctx)?, report))
                });
                let vectors = vectors.with_context(|| {
                    message!(
                        "{1:?} 的 {0} 这一期词向量",
                        "the vintage of {} of feature {:?}",
                        begin.date(),
                        self.feature.name
                    )
                })?;
                made = Some(GivenVectors { vectors: Arc::new(vectors), seen_until: last.time });
            }
        }
        trained.insert(begin, made.clone());
        Ok(made)
    }
}
