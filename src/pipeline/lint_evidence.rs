//! The evidence on the documents behind a factor that the linter reads: when each was published and received, which story it repeats,
//! and which model gave its value.

use std::collections::HashMap;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};

use inkstone_base::data::Kind;
use inkstone_base::message;
use inkstone_corpus::ingest::{self, CrawledField};
use inkstone_features::extract::{Feature, SetMeta, TargetOf};
use inkstone_lab::factor::{DocumentField, Plan};
use inkstone_lab::lint::finding::CrawledColumn;
use inkstone_lab::lint::{DocumentEvidence, FittedModel};
use inkstone_market::{AUCTION, CLOSE, Cutoff, Market};
use inkstone_models::FoldReport;
use inkstone_store::Set;
use inkstone_tables::corpus::{Parts, texts_of, times_of};
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// The evidence on a feature of a factor.
pub(super) struct FeatureEvidence<'a> {
    /// Kinds of documents that it reads; none for all.
    pub(super) kinds: &'a [Kind],
    /// Rows of the feature, with the models that gave them; none if it has not been computed.
    pub(super) set: Option<Set<'a>>,
    /// True if the model that all rows share learned from other texts than the corpus.
    pub(super) external: bool,
}

/// The documents of a corpus in its order, and the models that gave their values.
pub(super) struct LintEvidence {
    pub(super) documents: Vec<DocumentEvidence>,
    pub(super) models: Vec<FittedModel>,
}

impl LintEvidence {
    /// Reads the evidence on all documents, without their texts. A document of a kind that no feature of the factor reads counts as a
    /// story of its own, as it trained nothing.
    pub(super) fn read(
        clean: &Parts,
        features: &[FeatureEvidence<'_>],
        market: (&Market, Cutoff),
    ) -> Result<LintEvidence> {
        let reads =
            |kind| features.is_empty() || features.iter().any(|f| f.kinds.is_empty() || f.kinds.contains(&kind));
        let mut documents = Vec::new();
        let mut stories: HashMap<String, u32> = HashMap::new();
        for part in 0..clean.files()?.len() {
            let wanted = ["doc_id", "kind", "published_at", "ingested_at", "first_mention"];
            let frame = frames::read_parquet(&clean.path(part), Some(&wanted))?;
            let text = |name: &str| texts_of(&frame, name);
            let [ids, names, firsts] = [text("doc_id")?, text("kind")?, text("first_mention")?];
            let (published, ingested) = (times_of(&frame, "published_at")?, times_of(&frame, "ingested_at")?);
            for row in 0..frame.height() {
                let unreadable = || {
                    message!("{} 的第 {row} 行无法读取", "row {row} of {} is unreadable", clean.path(part).display())
                };
                let id = ids.get(row).with_context(unreadable)?;
                let kind = names.get(row).and_then(Kind::parse).with_context(unreadable)?;
                let story = if reads(kind) { firsts.get(row).unwrap_or(id).to_owned() } else { format!("\0{id}") };
                let next = stories.len() as u32;
                documents.push(DocumentEvidence {
                    id: id.to_owned(),
                    kind,
                    published_at: published[row].with_context(unreadable)?,
                    ingested_at: ingested[row],
                    story: *stories.entry(story).or_insert(next),
                    models: vec![None; features.len()],
                });
            }
        }
        let mut evidence = LintEvidence { documents, models: Vec::new() };
        for (number, feature) in features.iter().enumerate() {
            evidence.note_models(number, feature, market)?;
        }
        Ok(evidence)
    }

    /// Notes which model gave each document its value: the newest fold that tests its day, or the one model of all documents.
    fn note_models(
        &mut self,
        number_of_feature: usize,
        feature: &FeatureEvidence<'_>,
        (market, cutoff): (&Market, Cutoff),
    ) -> Result<()> {
        let Some(set) = &feature.set else { return Ok(()) };
        let header = set.header();
        let folds = SetMeta::read(header)?.folds.unwrap_or_default();
        // Times of publication of the texts that fall on the days of a span.
        let dates = market.dates();
        let shared_until = header.spec.fitted_until;
        let span = |(from, to): (NaiveDate, NaiveDate)| {
            let (begins, ends) = (market.calendar().on_or_after(from), market.calendar().on_or_after(to));
            let second = TimeDelta::seconds(1);
            match cutoff {
                Cutoff::Close => {
                    let before = begins.checked_sub(1).map_or(NaiveDateTime::MIN, |t| dates[t].and_time(CLOSE));
                    (before, to.and_time(CLOSE) - second)
                }
                Cutoff::NextOpen => {
                    let next = dates.get(ends + 1).copied().or(to.succ_opt()).unwrap_or(to);
                    (from.and_time(AUCTION), next.and_time(AUCTION) - second)
                }
            }
        };
        if let Some(fitted_until) = shared_until {
            let first = self.documents.iter().map(|document| document.published_at).min();
            let trained_on =
                first.filter(|first| !feature.external && *first <= fitted_until).map(|first| (first, fitted_until));
            let number = self.models.len() as u32;
            self.models.push(FittedModel { fitted_until, trained_on });
            self.documents.iter_mut().for_each(|document| document.models[number_of_feature] = Some(number));
        }
        let offset = self.models.len();
        let fitted: Vec<(FoldReport, FittedModel)> = folds
            .into_iter()
            .filter_map(|fold| {
                // What all rows share, as the word vectors of a file, every fold has seen too.
                let fitted_until = fold.fitted_until.max(shared_until.filter(|_| fold.fitted_until.is_some()))?;
                let model = FittedModel { fitted_until, trained_on: Some(span(fold.train)) };
                Some((fold, model))
            })
            .collect();
        for document in &mut self.documents {
            let Ok(t) = market.calendar().trade_date(document.published_at, cutoff) else { continue };
            let day = market.dates()[t];
            let tests = |(fold, _): &(FoldReport, FittedModel)| fold.test.0 <= day && day <= fold.test.1;
            if let Some(number) = fitted.iter().rposition(tests) {
                document.models[number_of_feature] = Some((offset + number) as u32);
            }
        }
        self.models.extend(fitted.into_iter().map(|(_, model)| model));
        Ok(())
    }
}

/// The fields of documents that a factor reads, by itself or by a target that it takes for known at once, and that were known when a page was
/// crawled.
pub(super) fn crawled_columns(plan: &Plan, features: &[&Feature], project: &Project) -> Result<Vec<CrawledColumn>> {
    let learns = |targets: &[TargetOf]| {
        let at_once = |feature: &&Feature| targets.contains(&feature.target.of) && feature.target.latency_days == 0;
        features.iter().any(at_once)
    };
    let is_read = |field: &str| match field {
        "label" => learns(&[TargetOf::Label, TargetOf::Number]),
        "rating" => plan.reads_field(DocumentField::Rating) || learns(&[TargetOf::Rating]),
        _ => plan.reads_field(DocumentField::Revised),
    };
    let fields = ingest::crawled_fields(project)?.into_iter().filter(|crawled| is_read(&crawled.field));
    Ok(fields.map(|CrawledField { field, source, column }| CrawledColumn { field, source, column }).collect())
}
