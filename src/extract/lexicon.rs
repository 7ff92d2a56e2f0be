//! Tone by a lexicon. A document's row depends on its own words alone, so finished parts are never computed again.

use anyhow::Result;
use serde_json::json;

use super::reading::{dense_rows, key_of, read_part};
use super::{Feature, Inputs, VERSION};
use crate::data::{Key, Report};
use crate::job::Ctx;
use crate::model::Lexicon;
use crate::store::{RowKind, SetSpec, Store};
use crate::text::{Entry, Segmenter};

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let lexicon = Lexicon::new(&feature.lexicon, inputs.base)?;
    // A tone word that the dictionary lacks would be cut in two and never found.
    let words: Vec<Entry> = lexicon.words().map(Entry::word).collect();
    let segmenter = Segmenter::with_words(inputs.tokenizer, inputs.base, &words)?;
    let dim = feature.columns().len();
    let spec = SetSpec {
        name: feature.name.clone(),
        kind: RowKind::Dense { dim },
        params: json!({
            "version": VERSION, "feature": feature, "segmenter": segmenter.key(), "lexicon": lexicon.key(),
        }),
        fitted_until: None,
    };
    let writer = store.writer(&spec)?;
    let mut order = Vec::new();
    let mut kept = 0u64;
    for i in 0..inputs.clean.files()?.len() {
        let readings = read_part(inputs.clean, inputs.links, i, feature, &segmenter, ctx)?;
        let key = key_of(&readings);
        if writer.has(key)? {
            kept += readings.len() as u64;
        } else {
            let tone = |text: &str, row: &mut [f32]| {
                let tone = lexicon.tone(&Lexicon::tokens(text, &segmenter));
                row.copy_from_slice(&[tone.tone, tone.positive, tone.negative, tone.tokens as f32]);
            };
            writer.put(key, &dense_rows(&readings, dim, tone, ctx))?;
        }
        order.push(key);
        report.rows_in += readings.len() as u64;
        ctx.advance(readings.len() as u64)?;
    }
    report.rows_out = report.rows_in;
    report.fact("lexicon_words", lexicon.size());
    report.fact("kept_from_before", kept);
    let header = writer.finish(&order, json!({"columns": feature.columns()}))?;
    Ok((header.id(), report))
}
