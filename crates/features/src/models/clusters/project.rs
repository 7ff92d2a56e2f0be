//! Themes of a project's documents, fitted on the documents of the past.
//!
//! Windows and steps are those of [`crate::extract::steps`]. The first fit begins from seeds, each later one from the centres before it, so
//! that a column stays with its theme and the past does not change when documents are added.
//!
//! Columns: `t1`, `t2`, ..., the membership in each theme; `distance` to the nearest centre, which is the novelty of what a document is about;
//! `share` of its theme among the documents of the days before it, which were published strictly before. Memory holds the rows of the inputs
//! in scratch files, the vocabulary, and some bytes a document.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use chrono::{Days, NaiveDateTime};
use rustc_hash::FxHashSet;

use super::plain::described;
use super::{ClusterSettings, NAMED, membership, theme_names};
use crate::extract::documents::{DocumentPlace, NumberedCorpus};
use crate::extract::entry::{ColumnNames, ModelEntry};
use crate::extract::inputs::InputRows;
use crate::extract::reading::CorpusReader;
use crate::extract::set::{SetMeta, SetParams, finish};
use crate::extract::steps::{Step, StepReport, Steps};
use crate::extract::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_models::{Centres, ClusterRows, Fields, ThemeWords, cluster};
use inkstone_store::{RowKind, Store};

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::Named(|feature| columns(&feature.clusters)),
    settings: &["inputs", "clusters"],
    check,
    ..ModelEntry::of_texts(run)
};

fn columns(settings: &ClusterSettings) -> Vec<String> {
    theme_names(settings.k).chain(["distance", "share"].map(str::to_owned)).collect()
}

fn check(feature: &Feature) -> Result<()> {
    feature.clusters.check()?;
    ensure!(
        !feature.inputs.is_empty() && !feature.inputs.iter().any(|input| input == "words"),
        "inputs：请写出一个或几个特征，按它们的行聚类，如 inputs = [\"lsa\"]；按词聚类请用 tfidf 特征",
        "inputs: name one feature or several whose rows are clustered, as inputs = [\"lsa\"]; for words take a feature of tfidf"
    );
    Ok(())
}

impl ClusterSettings {
    fn steps(&self) -> Steps {
        let ClusterSettings { window_days, refit_days, min_train_documents, .. } = *self;
        Steps { window_days, refit_days, min_train_documents }
    }
}

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    check(feature).with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
    let settings = &feature.clusters;
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let terms = |text: &str, _: Fields<'_>| {
        let terms = reader.segmenter.terms(text).into_iter().map(|term| term.into_owned()).collect();
        [Vec::new(), terms]
    };
    let corpus = NumberedCorpus::read(&reader, terms, &mut report)?;
    // Rows of inputs are read in the order of the corpus, documents are walked in that of their times.
    let mut order: Vec<usize> = (0..corpus.places.len()).collect();
    order.sort_by_key(|place| (corpus.places[*place].part, corpus.places[*place].row));
    let ascending: Vec<(usize, usize)> =
        order.iter().map(|place| (corpus.places[*place].part, corpus.places[*place].row)).collect();
    let (learned, _) = InputRows::read(feature, inputs, &ascending, false, ctx)?;
    let rows = match (&learned.dense, &learned.sparse[..]) {
        (Some(rows), []) => ClusterRows::Dense(rows),
        (None, [(_, rows)]) => ClusterRows::Sparse(rows),
        _ => bail!(
            "特征 {:?}：inputs 须为给出稠密行的特征，或一个 tfidf 特征",
            "feature {:?}: inputs are features of dense rows, or one feature of tfidf",
            feature.name
        ),
    };
    let mut row_of = vec![0u32; corpus.places.len()];
    order.iter().enumerate().for_each(|(row, place)| row_of[*place] = row as u32);
    let has = has_rows(rows);
    let has_row = row_of.iter().map(|row| has[*row as usize]).collect();
    let documents = ThemeDocuments { has_row, row_of, rows, corpus: &corpus };

    let dim = settings.k + 2;
    let mut values = corpus.batches.empty_rows(dim);
    let (mut windows, mut centres, mut themes) = (Vec::new(), None, serde_json::Value::Null);
    let steps = settings.steps();
    let mut scored = 0;
    for Step { begin, window, documents: step } in steps.over(&corpus.places) {
        ctx.check()?;
        let mut found = StepReport { from: begin, fitted_until: None, train_documents: 0, scored: 0 };
        // Both are runs of the documents in the order of their times.
        let first = corpus.places.partition_point(|place| place.time < step[0].time);
        let numbers: Vec<usize> = (first - window.len()..first).filter(|number| documents.has_row[*number]).collect();
        debug_assert!(window.is_empty() || std::ptr::eq(&corpus.places[first - window.len()], &window[0]));
        found.train_documents = numbers.len();
        if steps.suffice(numbers.len()) && numbers.len() >= settings.k {
            let wanted: Vec<u32> = numbers.iter().map(|number| documents.row_of[*number]).collect();
            let fitted = cluster(rows, &wanted, &settings.params(), centres.as_ref(), ctx)?;
            themes = documents.named(&numbers, &fitted.labels, settings.k);
            found.fitted_until = numbers.last().map(|number| corpus.places[*number].time);
            documents.value(first..first + step.len(), &fitted.centres, settings, ctx, |place, row| {
                values[place.part][dim * place.row..][..dim].copy_from_slice(&row);
                found.scored += 1;
            });
            centres = Some(fitted.centres);
        }
        scored += found.scored;
        windows.push(found);
        ctx.advance(step.len() as u64 / 2)?;
    }

    let sets: Vec<(Option<&str>, Key)> =
        feature.input_features().map(|input| input.column).zip(learned.inputs.iter().map(|input| input.set)).collect();
    let fitted_until = learned.fitted_until();
    let spec = SetParams::of_corpus(&reader).with("seed", ctx.seed()).with("inputs", sets);
    let writer = store.writer(&spec.spec(feature, RowKind::Dense { dim }, fitted_until))?;
    let batches = corpus.batches.write(&writer, dim, |part| std::mem::take(&mut values[part]), ctx)?;
    report.rows_out = scored as u64;
    let without = corpus.places.len() - scored;
    let without_row = documents.has_row.iter().filter(|has| !**has).count().min(without);
    report.drop_rows("without a row of any input", without_row as u64);
    report.drop_rows(
        "with too few documents in the window before (clusters.min_train_documents)",
        (without - without_row) as u64,
    );
    report.fact("models", windows.iter().filter(|window| window.scored > 0).count());
    report.fact("themes", &themes);
    let meta = SetMeta {
        windows: Some(windows),
        themes: Some(themes),
        inputs: Some(learned.inputs.clone()),
        ..SetMeta::of_columns(feature.columns())
    };
    finish(writer, &batches, &meta, report)
}

/// True, by row, for rows with a direction.
fn has_rows(rows: ClusterRows<'_>) -> Vec<bool> {
    let mut has = vec![false; rows.len()];
    rows.with_direction(0..rows.len() as u32).into_iter().for_each(|row| has[row as usize] = true);
    has
}

/// The documents in the order of their times, and their rows.
struct ThemeDocuments<'d> {
    corpus: &'d NumberedCorpus,
    rows: ClusterRows<'d>,
    row_of: Vec<u32>,
    /// True, by document, for documents whose row has a direction.
    has_row: Vec<bool>,
}

impl ThemeDocuments<'_> {
    /// The themes of some documents with their words, each counted once a document.
    fn named(&self, numbers: &[usize], labels: &[u32], k: usize) -> serde_json::Value {
        let (mut words, mut sizes) = (ThemeWords::new(k), vec![0u64; k]);
        for (number, label) in numbers.iter().zip(labels) {
            sizes[*label as usize] += 1;
            let different: FxHashSet<&str> = self.corpus.tokens(&self.corpus.places[*number]).collect();
            different.into_iter().for_each(|word| words.add(*label as usize, word));
        }
        described(&sizes, &words.names(NAMED))
    }

    /// Gives the row of each document of a step that has one.
    fn value(
        &self,
        step: std::ops::Range<usize>,
        centres: &Centres,
        settings: &ClusterSettings,
        ctx: &Ctx,
        mut give: impl FnMut(&DocumentPlace, Vec<f32>),
    ) {
        let places = &self.corpus.places;
        let earliest = |time: NaiveDateTime| time.checked_sub_days(Days::new(settings.share_days.into()));
        let from = earliest(places[step.start].time).unwrap_or(NaiveDateTime::MIN);
        let first = places.partition_point(|place| place.time < from);
        let known: Vec<usize> = (first..step.end).filter(|number| self.has_row[*number]).collect();
        let wanted: Vec<u32> = known.iter().map(|number| self.row_of[*number]).collect();
        let distances = ctx.install(|| centres.all_distances(self.rows, &wanted));
        // Documents of the days before the one at hand, and the number of each theme among them.
        let (mut recent, mut counts) = (VecDeque::<(NaiveDateTime, usize)>::new(), vec![0usize; settings.k]);
        let mut waiting: Vec<(NaiveDateTime, usize)> = Vec::new();
        for (number, distances) in known.iter().zip(distances) {
            let (place, Some(distances)) = (&places[*number], distances) else { continue };
            let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
            let theme = distances.iter().position(|distance| *distance == least).unwrap_or_default();
            // Documents of the same moment do not count for one another.
            if waiting.first().is_some_and(|(time, _)| *time < place.time) {
                for (time, theme) in waiting.drain(..) {
                    counts[theme] += 1;
                    recent.push_back((time, theme));
                }
            }
            let from = earliest(place.time).unwrap_or(NaiveDateTime::MIN);
            while let Some((_, theme)) = recent.pop_front_if(|(time, _)| *time < from) {
                counts[theme] -= 1;
            }
            if *number >= step.start {
                let share = if recent.is_empty() { f64::NAN } else { counts[theme] as f64 / recent.len() as f64 };
                let mut row: Vec<f32> =
                    membership(&distances, settings.softness).into_iter().map(|share| share as f32).collect();
                row.extend([least.sqrt() as f32, share as f32]);
                give(place, row);
            }
            waiting.push((place.time, theme));
        }
    }
}

#[cfg(test)]
mod tests;
