//! Tone by an induced lexicon, walked forward over the corpus: the words of each fold come from the returns of the window before it.
//!
//! The words of every fold are kept in the set's meta under `words`, with the days that the fold was trained on and scored.

use anyhow::Result;
use serde_json::{Value, json};

use crate::extract::entry::{ColumnNames, Explainer, ModelEntry};
use crate::extract::reading::CorpusReader;
use crate::extract::samples::{fit_folds, some_fold_fitted};
use crate::extract::set::{SetMeta, SetParams, finish};
use crate::extract::{Feature, Inputs, SHOWN_WORDS};
use crate::models::estimators::project::CountedSamples;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{InducedTone, induce_walk};
use inkstone_store::Store;

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::Fixed(&["tone", "positive", "negative", "words"]),
    explained_by: Explainer::FoldWords,
    masks_names: true,
    settings: &["tfidf", "walk_forward", "target", "induce"],
    ..ModelEntry::of_target(run)
};

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let table = CountedSamples::read(&reader, &mut report)?;
    let names = table.words_by_id();
    let walked = fit_folds(feature, inputs, ctx, |dates| {
        let (walk, form) = (&feature.walk_forward, feature.target.form.unwrap_or_default());
        induce_walk(&table.sampled.samples, &table.counts, &names, dates, walk, form, &feature.induce, ctx)
    })?;
    some_fold_fitted(feature, &walked.folds)?;

    let row = |tone: InducedTone| [tone.tone, tone.positive, tone.negative, tone.words].map(|v| v as f32);
    let rows: Vec<Option<[f32; 4]>> = walked.tones.iter().map(|tone| tone.map(row)).collect();
    let row = |i: usize| rows[i].as_ref().map(<[f32; 4]>::as_slice);
    let params = SetParams::of_returns(&reader);
    let (writer, order) = table.sampled.write(feature, &params.dense(feature, None), row, store, &mut report, ctx)?;
    report.fact("words", table.words.len());
    report.fact("names_masked", feature.masks_names());
    report.fact("without_words", walked.tones.iter().flatten().filter(|tone| tone.words == 0.0).count());
    if let Some(last) = walked.models.iter().flatten().last() {
        for (side, sign) in [("positive", 1.0), ("negative", -1.0)] {
            let words = last.lexicon.words.iter().filter(|word| word.weight * sign > 0.0).take(SHOWN_WORDS);
            report.fact(side, words.map(|word| (&*word.word, word.weight)).collect::<Vec<_>>());
        }
    }
    report.fact("folds", &walked.folds);
    let fold_words = walked.models.iter().zip(&walked.folds).map(|(model, fold)| match model {
        Some(model) => json!({"train": fold.train, "test": fold.test, "lexicon": model.lexicon}),
        None => Value::Null,
    });
    let words = Some(fold_words.collect());
    let folds = Some(walked.folds);
    finish(writer, &order, &SetMeta { folds, words, ..SetMeta::of_columns(feature.columns()) }, report)
}
