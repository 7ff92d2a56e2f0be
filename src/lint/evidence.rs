//! What the linter knows of the documents behind a factor.

use anyhow::{Result, bail};
use chrono::NaiveDateTime;

use crate::data::Kind;
use crate::factor::{Factor, Signal};
use crate::market::{Cutoff, Market};

/// The documents behind a factor, and what each of them said.
pub struct Texts<'a> {
    /// What documents say of securities: all that the factor was built of.
    pub signals: &'a [Signal],
    /// The documents, in the order in which signals number them. Those without a signal count as text that models were trained on.
    pub documents: &'a [Document],
    /// The fitted models that gave the values; none where values come from fixed lists.
    pub models: &'a [Model],
    /// Until when a text counts for its day.
    pub cutoff: Cutoff,
    /// Whether the factor counts the first document of a story alone.
    pub first_only: bool,
    /// Builds the factor of other signals, all else the same.
    pub rebuild: &'a dyn Fn(&[Signal]) -> Result<Factor>,
}

/// One document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its `doc_id`.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// When it became public.
    pub published_at: NaiveDateTime,
    /// When it was received, if that is known.
    pub ingested_at: Option<NaiveDateTime>,
    /// Number of its story: the same for near duplicates.
    pub story: u32,
    /// Number of the model that gave its value; none where no model was fitted.
    pub model: Option<u32>,
}

/// A fitted model: one for a feature that was fitted once, one for each fold of a walk-forward feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Until when the data reached that it was fitted on, labels included.
    pub fitted_until: NaiveDateTime,
    /// Publication of the first and the last document that it was trained on; none where its text is not of this corpus.
    pub trained_on: Option<(NaiveDateTime, NaiveDateTime)>,
}

impl Texts<'_> {
    /// The signals that the factor counts, each with its document.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&Signal, &Document)> {
        let both = self.signals.iter().map(|signal| (signal, &self.documents[signal.document as usize]));
        both.filter(|(signal, _)| signal.value.is_finite() && (signal.first || !self.first_only))
    }

    /// The model that gave a document's value.
    pub(super) fn model(&self, document: &Document) -> Option<&Model> {
        document.model.map(|number| &self.models[number as usize])
    }

    pub(super) fn validate(&self, market: &Market) -> Result<()> {
        let (documents, models, days) = (self.documents.len(), self.models.len(), market.dates().len());
        if let Some(signal) = self.signals.iter().find(|signal| signal.document as usize >= documents) {
            bail!("a signal is of document {}, but there are {documents} documents", signal.document);
        }
        if let Some(document) = self.documents.iter().find(|d| d.model.is_some_and(|m| m as usize >= models)) {
            bail!("document {:?} names a model that is not there; {models} models are", document.id);
        }
        if let Some(signal) = self.signals.iter().find(|signal| signal.date as usize >= days) {
            bail!("a signal names date {}, but the market has {days} dates", signal.date);
        }
        Ok(())
    }
}
