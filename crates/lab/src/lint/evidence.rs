//! The documents behind a factor, for the linter.

use anyhow::Result;
use chrono::NaiveDateTime;

use crate::factor::{Factor, Signal};
use crate::lint::finding::CrawledColumn;
use inkstone_base::bail;
use inkstone_base::data::Kind;
use inkstone_market::{Cutoff, Market};

/// The documents behind a factor, and their signals.
pub struct Texts<'a> {
    /// All signals that the factor was built of.
    pub signals: &'a [Signal],
    /// The documents, in the order in which signals number them. Those without a signal count as text that models were trained on.
    pub documents: &'a [DocumentEvidence],
    /// The fitted models that gave the values; none where values come from fixed lists.
    pub models: &'a [FittedModel],
    pub cutoff: Cutoff,
    /// The readings of the factor, as signals number them.
    pub readings: &'a [TextReading],
    /// The fields that the factor reads and that were known when a page was crawled, not when it was published.
    pub crawled: &'a [CrawledColumn],
    /// Builds the factor of other signals, all else the same.
    pub rebuild: &'a (dyn Fn(&[Signal]) -> Result<Factor> + Sync),
}

/// One reading of the documents by the factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextReading {
    /// The features whose numbers it takes, by their places in [`DocumentEvidence::models`].
    pub features: Vec<usize>,
    /// True if the reading counts the first document of a story alone.
    pub first_only: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DocumentEvidence {
    /// The `doc_id`.
    pub id: String,
    pub kind: Kind,
    pub published_at: NaiveDateTime,
    pub ingested_at: Option<NaiveDateTime>,
    /// Number of its story: the same for near duplicates.
    pub story: u32,
    /// Number of the model that gave its value, feature by feature; none where no model was fitted.
    pub models: Vec<Option<u32>>,
}

/// A fitted model: one for a feature that was fitted once, one for each fold of a walk-forward feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FittedModel {
    /// Last moment of the data that the model was fitted on, labels included.
    pub fitted_until: NaiveDateTime,
    /// Publication of the first and the last document that it was trained on; none where its text is not of this corpus.
    pub trained_on: Option<(NaiveDateTime, NaiveDateTime)>,
}

impl Texts<'_> {
    /// The signals that the factor counts, each with its document.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&Signal, &DocumentEvidence)> {
        let both = self.signals.iter().map(|signal| (signal, &self.documents[signal.document as usize]));
        both.filter(|(signal, _)| {
            signal.value.is_finite() && (signal.first || !self.readings[signal.reading as usize].first_only)
        })
    }

    /// The models behind a signal: one for each fitted feature that its reading takes.
    pub(super) fn models<'t>(
        &'t self,
        signal: &Signal,
        document: &'t DocumentEvidence,
    ) -> impl Iterator<Item = &'t FittedModel> {
        let features = &self.readings[signal.reading as usize].features;
        let number = |feature: &usize| document.models.get(*feature).copied().flatten();
        features.iter().filter_map(number).map(|number| &self.models[number as usize])
    }

    pub(super) fn validate(&self, market: &Market) -> Result<()> {
        let (documents, models, days) = (self.documents.len(), self.models.len(), market.dates().len());
        if let Some(signal) = self.signals.iter().find(|signal| signal.document as usize >= documents) {
            bail!(
                "有信号属于文档 {}，而文档只有 {documents} 篇",
                "a signal is of document {}, but there are {documents} documents",
                signal.document
            );
        }
        let readings = self.readings.len();
        if let Some(signal) = self.signals.iter().find(|signal| signal.reading as usize >= readings) {
            bail!(
                "有信号属于读数 {}，而读数只有 {readings} 个",
                "a signal is of reading {}, but there are {readings} readings",
                signal.reading
            );
        }
        let beyond =
            |document: &&DocumentEvidence| document.models.iter().flatten().any(|model| *model as usize >= models);
        if let Some(document) = self.documents.iter().find(beyond) {
            bail!(
                "文档 {:?} 提到不存在的模型；模型有 {models} 个",
                "document {:?} names a model that is not there; {models} models are",
                document.id
            );
        }
        if let Some(signal) = self.signals.iter().find(|signal| signal.date as usize >= days) {
            bail!(
                "有信号位于第 {} 日，而市场只有 {days} 日",
                "a signal names date {}, but the market has {days} dates",
                signal.date
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    #[test]
    fn each_reading_answers_for_its_own_features_and_repeats() {
        let at = |day| NaiveDate::from_ymd_opt(2024, 1, day).unwrap().and_hms_opt(9, 0, 0).unwrap();
        let documents = [DocumentEvidence {
            id: "news/0".into(),
            kind: Kind::News,
            published_at: at(5),
            ingested_at: None,
            story: 0,
            models: vec![Some(0), Some(1), None],
        }];
        let models = [1, 9].map(|day| FittedModel { fitted_until: at(day), trained_on: None });
        let reading = |features: &[usize], first_only| TextReading { features: features.to_vec(), first_only };
        let readings = [reading(&[0, 2], true), reading(&[0, 1], false)];
        let repeat = Signal { first: false, ..Signal::of(0, 0, at(5), 1.0) };
        let signals = [repeat, Signal { reading: 1, ..repeat }];
        let (documents, signals, models) = (&documents[..], &signals[..], &models[..]);
        let rebuild = |_: &[Signal]| unreachable!("nothing is built here");
        let texts = Texts {
            signals,
            documents,
            models,
            cutoff: Cutoff::Close,
            readings: &readings,
            crawled: &[],
            rebuild: &rebuild,
        };
        let counted: Vec<u32> = texts.counted().map(|(signal, _)| signal.reading).collect();
        assert_eq!(counted, [1], "a repeat counts where the reading takes repeats");
        let latest = |signal: &Signal| texts.models(signal, &documents[0]).map(|model| model.fitted_until).max();
        assert_eq!(signals.iter().map(latest).collect::<Vec<_>>(), [Some(at(1)), Some(at(9))]);
    }
}
