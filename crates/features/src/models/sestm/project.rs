//! SESTM walked forward over the corpus: a document's tone by words and topics of the windows before it.
//!
//! The words of every fold are kept in the set's meta under `words`, with the days that the fold was trained on and scored,
//! and the last moment of what it saw.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::extract::entry::{ColumnNames, Explainer, ModelEntry};
use crate::extract::reading::CorpusReader;
use crate::extract::samples::{fit_folds, some_fold_fitted};
use crate::extract::set::{SetMeta, SetParams, finish};
use crate::extract::{Feature, Inputs, SHOWN_WORDS};
use crate::models::estimators::project::CountedSamples;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_models::{SestmWalk, SestmWord, sestm_walk};
use inkstone_store::Store;

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::Fixed(&["score", "words"]),
    explained_by: Explainer::FoldWords,
    masks_names: true,
    settings: &["tfidf", "walk_forward", "target", "sestm"],
    ..ModelEntry::of_target(run)
};

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    feature.sestm.check().with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let table = CountedSamples::read(&reader, &mut report)?;
    let walked = fit_folds(feature, inputs, ctx, |dates| {
        sestm_walk(&table.sampled.samples, &table.counts, dates, &feature.walk_forward, &feature.sestm, ctx)
    })?;
    some_fold_fitted(feature, &walked.folds)?;

    let rows: Vec<Option<[f32; 2]>> =
        walked.scores.iter().map(|score| score.map(|score| [score.score() as f32, score.words as f32])).collect();
    let row = |i: usize| rows[i].as_ref().map(<[f32; 2]>::as_slice);
    let params = SetParams::of_returns(&reader);
    let (writer, order) = table.sampled.write(feature, &params.dense(feature, None), row, store, &mut report, ctx)?;
    report.fact("words", table.words.len());
    report.fact("names_masked", feature.masks_names());
    report.fact("without_words", walked.scores.iter().flatten().filter(|score| score.words == 0.0).count());
    let names = table.words_by_id();
    if let Some(last) = walked.models.iter().flatten().last() {
        let words = last.topics.words(|id| names[id as usize]);
        report.fact("positive", first_words(words.iter().filter(|word| word.tone > 0.0)));
        report.fact("negative", first_words(words.iter().rev().filter(|word| word.tone < 0.0)));
    }
    report.fact("folds", &walked.folds);
    let words = Some(fold_words(&names, &walked));
    let folds = Some(walked.folds);
    finish(writer, &order, &SetMeta { folds, words, ..SetMeta::of_columns(feature.columns()) }, report)
}

/// The first words of a side of the last fold, for the report.
fn first_words<'w>(words: impl Iterator<Item = &'w SestmWord>) -> Vec<(&'w str, f64)> {
    words.take(SHOWN_WORDS).map(|word| (&*word.word, word.tone)).collect()
}

/// The words of each fold, the most positive first, with what the fold saw; null for a fold that was passed over.
fn fold_words(names: &[&str], walked: &SestmWalk) -> Value {
    let folds = walked.models.iter().zip(&walked.folds).map(|(model, fold)| {
        model.as_ref().map_or(Value::Null, |model| {
            json!({
                "train": fold.train, "test": fold.test, "fitted_until": fold.fitted_until, "fit": model.fit,
                "lambda": model.topics.lambda, "trials": model.trials,
                "words": model.topics.words(|id| names[id as usize]),
            })
        })
    });
    folds.collect()
}
