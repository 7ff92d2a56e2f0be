//! SESTM walked forward over the corpus: a document's tone by words and topics of the windows before it.
//!
//! The words of every fold are kept in the set's meta under `words`, with the days that the fold was trained on and scored,
//! and the last moment of what it saw.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::regression::read_table;
use super::samples::some_fold_fitted;
use super::{Feature, Inputs, VERSION, finish};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{SestmWalk, SestmWord, sestm_walk};
use inkstone_store::{RowKind, SetSpec, Store};
use inkstone_text::Segmenter;

/// Words of each side that a report shows.
const SHOWN: usize = 20;

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    feature.sestm.check().with_context(|| format!("feature {:?}", feature.name))?;
    let mut report = Report::new(&feature.name);
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let table = read_table(feature, inputs, &segmenter, &mut report, ctx)?;
    let dates = inputs.market(feature)?.dates();
    let folds = feature.walk_forward.folds(dates.len())?.len() as u64;
    let mut walked = None;
    ctx.stage(&format!("fit {}", feature.name), "folds", Some(folds), || {
        let walk = &feature.walk_forward;
        let (found, report) = sestm_walk(&table.sampled.samples, &table.counts, dates, walk, &feature.sestm, ctx)?;
        walked = Some(found);
        Ok(report)
    })?;
    let walked = walked.context("a finished walk has scores")?;
    some_fold_fitted(feature, &walked.folds)?;

    let dim = feature.columns().len();
    let spec = SetSpec {
        name: feature.name.clone(),
        kind: RowKind::Dense { dim },
        params: json!({
            "version": VERSION, "feature": feature, "segmenter": segmenter.key(), "corpus": inputs.corpus,
            "prices": inputs.prices, "cutoff": inputs.cutoff,
        }),
        fitted_until: None,
    };
    let writer = store.writer(&spec)?;
    let rows: Vec<Option<[f32; 2]>> =
        walked.scores.iter().map(|score| score.map(|score| [score.score() as f32, score.words as f32])).collect();
    let order = table.sampled.write(&writer, dim, |i| rows[i].as_ref().map(<[f32; 2]>::as_slice))?;
    let scored = rows.iter().flatten().count() as u64;
    report.rows_out = scored;
    report.drop_rows("before the first test window", table.sampled.samples.len() as u64 - scored);
    report.fact("words", table.words.len());
    report.fact("names_masked", feature.masks_names());
    report.fact("without_words", walked.scores.iter().flatten().filter(|score| score.words == 0.0).count());
    let names = table.words_by_id();
    if let Some(last) = walked.models.iter().flatten().last() {
        let words = last.topics.words(|id| names[id as usize]);
        report.fact("positive", shown(words.iter().filter(|word| word.tone > 0.0)));
        report.fact("negative", shown(words.iter().rev().filter(|word| word.tone < 0.0)));
    }
    report.fact("folds", &walked.folds);
    let meta = json!({"columns": feature.columns(), "folds": walked.folds, "words": words_of(&names, &walked)});
    Ok((finish(writer, &order, meta, &mut report)?, report))
}

/// The first words of a side, for the report: those of the last fold.
fn shown<'w>(words: impl Iterator<Item = &'w SestmWord>) -> Vec<(&'w str, f64)> {
    words.take(SHOWN).map(|word| (&*word.word, word.tone)).collect()
}

/// The words of each fold, the most positive first, with what the fold saw; null for a fold that was passed over.
fn words_of(names: &[&str], walked: &SestmWalk) -> Vec<Value> {
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
