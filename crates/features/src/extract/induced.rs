//! Tone by an induced lexicon, walked forward over the corpus: the words of each fold come from the returns of the window before it.
//!
//! The words of every fold are kept in the set's meta under `words`, with the days that the fold was trained on and scored.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::regression::read_table;
use super::samples::some_fold_fitted;
use super::{Feature, Inputs, VERSION, finish};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::induce_walk;
use inkstone_store::{RowKind, SetSpec, Store};
use inkstone_text::Segmenter;

/// Words of each side that a report shows: those of the last fold.
const SHOWN: usize = 20;

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let table = read_table(feature, inputs, &segmenter, &mut report, ctx)?;
    let dates = inputs.market(feature)?.dates();
    let folds = feature.walk_forward.folds(dates.len())?.len() as u64;
    let names = table.words_by_id();
    let mut walked = None;
    ctx.stage(&format!("fit {}", feature.name), "folds", Some(folds), || {
        let (walk, form) = (&feature.walk_forward, feature.label_form);
        let (found, report) =
            induce_walk(&table.sampled.samples, &table.counts, &names, dates, walk, form, &feature.induce, ctx)?;
        walked = Some(found);
        Ok(report)
    })?;
    let walked = walked.context("a finished walk has tones")?;
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
    let row =
        |tone: inkstone_models::InducedTone| [tone.tone, tone.positive, tone.negative, tone.words].map(|v| v as f32);
    let rows: Vec<Option<[f32; 4]>> = walked.tones.iter().map(|tone| tone.map(row)).collect();
    let order = table.sampled.write(&writer, dim, |i| rows[i].as_ref().map(<[f32; 4]>::as_slice))?;
    let scored = rows.iter().flatten().count() as u64;
    report.rows_out = scored;
    report.drop_rows("before the first test window", table.sampled.samples.len() as u64 - scored);
    report.fact("words", table.words.len());
    report.fact("names_masked", feature.masks_names());
    report.fact("without_words", walked.tones.iter().flatten().filter(|tone| tone.words == 0.0).count());
    if let Some(last) = walked.models.iter().flatten().last() {
        for (side, sign) in [("positive", 1.0), ("negative", -1.0)] {
            let words = last.lexicon.words.iter().filter(|word| word.weight * sign > 0.0).take(SHOWN);
            report.fact(side, words.map(|word| (&*word.word, word.weight)).collect::<Vec<_>>());
        }
    }
    report.fact("folds", &walked.folds);
    let words: Vec<Value> = walked
        .models
        .iter()
        .zip(&walked.folds)
        .map(|(model, fold)| {
            model
                .as_ref()
                .map_or(Value::Null, |model| json!({"train": fold.train, "test": fold.test, "lexicon": model.lexicon}))
        })
        .collect();
    let meta = json!({"columns": feature.columns(), "folds": walked.folds, "words": words});
    Ok((finish(writer, &order, meta, &mut report)?, report))
}
