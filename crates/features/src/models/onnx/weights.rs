//! Weights of the tokens of each document: sparse rows, a column a token of the model's vocabulary. Several windows of a document give a
//! token the largest of its weights. Finished parts and batches are kept as those of dense rows are.

use std::time::Instant;

use anyhow::Result;
use serde_json::json;

use super::pieces::pieces;
use super::project::{WAIT, batch_key, forget};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::set::{SetMeta, finish, key_of, row_keys};
use inkstone_base::data::{Key, Report};
use inkstone_onnx::{Encoder, TokenWeights, largest_weights};
use inkstone_store::{Rows, SetSpec, Store, Writer};

pub(super) fn run(
    reader: &CorpusReader<'_>,
    encoder: &mut Encoder,
    spec: &SetSpec,
    meta: &SetMeta,
    store: &Store,
) -> Result<(Key, Report)> {
    let (feature, ctx) = (reader.feature, reader.ctx);
    let mut report = Report::new(&feature.name);
    // Another device has other batches, and other last digits.
    let own = json!([spec.params, encoder.ran().device]);
    let windows = SetSpec { name: format!("{} (windows)", feature.name), params: own, ..spec.clone() };
    let (writer, batches) = (store.writer(spec)?, store.writer(&windows)?);
    let (mut order, mut kept) = (Vec::new(), 0u64);
    reader.for_each_part(|documents| {
        let (key, count) = (key_of(documents), documents.len() as u64);
        order.push(key);
        report.rows_in += count;
        for document in documents.iter().filter(|document| document.text.is_none()) {
            report.drop_rows(document.reason(), 1);
        }
        if writer.has(key)? {
            kept += count;
        } else {
            writer.put(key, &part_rows(documents, reader, encoder, Some(&batches))?)?;
            writer.flush()?;
            forget(&batches, key)?;
        }
        Ok(ctx.advance(count)?)
    })?;
    report.rows_out = report.rows_in - report.dropped_rows();
    report.fact("ran", encoder.ran());
    report.fact("kept_from_before", kept);
    report.fact("limit", encoder.limit());
    let finished = finish(writer, &order, meta, report)?;
    store.remove(&windows.id())?;
    Ok(finished)
}

/// The rows of the documents of a part, empty for those without text; `batches` keeps what is done of the part.
pub(super) fn part_rows(
    documents: &[ReadDocument],
    reader: &CorpusReader<'_>,
    encoder: &mut Encoder,
    batches: Option<&Writer<'_>>,
) -> Result<Rows> {
    let (ctx, part) = (reader.ctx, key_of(documents));
    let read = || documents.iter().filter(|document| document.text.is_some());
    let cut = pieces(read(), reader.feature, encoder, &reader.segmenter, ctx)?;
    let windows = encoder.windows(&cut.texts(), ctx)?;
    let mut of_pieces: Vec<Vec<TokenWeights>> = vec![Vec::new(); cut.texts().len()];
    let mut flushed = Instant::now();
    for (number, batch) in encoder.batches(&windows).iter().enumerate() {
        ctx.check()?;
        let key = batch_key(part, number);
        let weights: Vec<TokenWeights> = match batches.map(|batches| batches.rows(key)).transpose()?.flatten() {
            Some(rows) => (0..rows.len()).map(|row| rows.sparse_row(row).collect()).collect(),
            None => {
                let weights = encoder.window_weights(&windows, batch, ctx)?;
                if let Some(batches) = batches {
                    batches.put(key, &sparse_rows(vec![part; weights.len()], &weights))?;
                    if flushed.elapsed() >= WAIT {
                        batches.flush()?;
                        flushed = Instant::now();
                    }
                }
                weights
            }
        };
        for (&window, weights) in batch.windows.iter().zip(weights) {
            of_pieces[windows.windows[window].text].push(weights);
        }
    }
    let mut of_read = (0..read().count())
        .map(|document| largest_weights(cut.of_document(document).flat_map(|piece| &of_pieces[piece])));
    let weights = |document: &ReadDocument| match document.text {
        Some(_) => of_read.next().unwrap_or_default(),
        None => TokenWeights::new(),
    };
    let weights: Vec<TokenWeights> = documents.iter().map(weights).collect();
    Ok(sparse_rows(row_keys(documents), &weights))
}

fn sparse_rows(keys: Vec<Key>, weights: &[TokenWeights]) -> Rows {
    let ends = weights.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    });
    let indptr = std::iter::once(0).chain(ends).collect();
    let (indices, values) = weights.iter().flatten().copied().unzip();
    Rows::sparse(keys, indptr, indices, values)
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;
    use crate::extract::tests::Corpus;
    use crate::extract::{Feature, Model};
    use inkstone_base::data::Kind;
    use inkstone_base::job::{Cancelled, Ctx};
    use inkstone_onnx::testing::{graph, has_library};
    use inkstone_onnx::{OnnxParams, Output};

    #[test]
    fn weights_are_a_sparse_set_that_is_not_computed_again() {
        if !has_library() {
            return;
        }
        let day = |day| NaiveDate::from_ymd_opt(2024, 1, day).unwrap().and_hms_opt(10, 0, 0).unwrap();
        let texts = [
            (day(1), Kind::News, "", "公司订单增长。"),
            (day(2), Kind::Post, "", "公司净利润下降。"),
            (day(3), Kind::News, "", ""),
        ];
        let onnx = OnnxParams {
            model: graph("bge-m3"),
            output: Output::Weights,
            fitted_until: NaiveDate::from_ymd_opt(2023, 12, 31),
            ..OnnxParams::default()
        };
        let feature =
            Feature { name: "m3".into(), model: Model::Onnx, onnx, kinds: vec![Kind::News], ..Feature::default() };
        let corpus = Corpus::new(0);
        corpus.put(&texts, 4);
        corpus.ctx.cancel();
        assert!(corpus.try_run(&feature).unwrap_err().is::<Cancelled>());
        let corpus = Corpus { ctx: Ctx::new(2, 1).unwrap(), ..corpus };
        let (id, report) = corpus.run(&feature);
        assert_eq!((report.rows_in, report.rows_out), (3, 2));
        let set = corpus.store.set(&id).unwrap().unwrap();
        let vocabulary = SetMeta::read(set.header()).unwrap().vocabulary.unwrap();
        let rows = set.batches().next().unwrap().unwrap();
        let row: Vec<(&str, f32)> =
            rows.sparse_row(0).map(|(token, weight)| (&*vocabulary[token as usize], weight)).collect();
        assert!(row.len() > 3 && row.iter().all(|(_, weight)| *weight > 0.0), "{row:?}");
        assert!(row.iter().all(|(token, _)| "公司订单增长。".contains(token)), "{row:?}");
        assert_eq!((rows.sparse_row(1).count(), rows.sparse_row(2).count()), (0, 0));
        let (again, report) = corpus.run(&feature);
        assert_eq!((again, &report.facts["kept_from_before"]), (id, &3.into()));
        assert_eq!(corpus.store.stats().unwrap().other_bytes, 0);
    }
}
