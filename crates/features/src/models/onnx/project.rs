//! Rows of a contextual model. A document's row depends on its own text alone, so finished parts are never computed again, and a run that
//! was killed goes on with the batch that it was in.
//!
//! While a part is under way, the rows of its windows are kept in a set of their own, batch by batch. Batches are made of the
//! part's windows alone, so a run that goes on makes the same ones, and ends with the same bytes. What is kept is on disk at
//! the latest a quarter of a second later: at most that much work is lost.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde_json::json;

use super::pieces::{Pieces, pieces};
use super::weights;
use crate::extract::cost::Cost;
use crate::extract::entry::{ColumnNames, Explainer, ModelEntry, RowModel};
use crate::extract::part_model::{PartModel, RowsOfPart};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::set::{SetMeta, SetParams, finish, key_of, row_keys};
use crate::extract::text_rows::TextRows;
use crate::extract::{Feature, Inputs, VERSION};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_onnx::{Encoder, Opening, Output, WindowCounts, WordCutter};
use inkstone_store::{RowKind, Rows, SetSpec, Store, Values, Writer};
use inkstone_text::Truncation;

/// Longest time that finished rows wait until they are on disk.
pub(super) const WAIT: Duration = Duration::from_millis(250);
/// Documents without a number that are named in the report.
const NAMED: usize = 10;

/// A part as the model reads it.
struct ReadPart {
    documents: Vec<ReadDocument>,
    key: Key,
    /// Number of the first document of each different text.
    texts: Vec<usize>,
    /// Number of each document's text in `texts`; none where it is not read.
    text_of: Vec<Option<usize>>,
}

impl ReadPart {
    fn new(documents: Vec<ReadDocument>) -> ReadPart {
        let mut known: FxHashMap<Key, usize> = FxHashMap::default();
        let mut texts = Vec::new();
        let number = |(place, document): (usize, &ReadDocument)| {
            document.text.as_ref()?;
            Some(*known.entry(document.key).or_insert_with(|| {
                texts.push(place);
                texts.len() - 1
            }))
        };
        let text_of = documents.iter().enumerate().map(number).collect();
        ReadPart { key: key_of(&documents), documents, texts, text_of }
    }

    /// The rows of the documents `[documents, dim]`, of the rows of the pieces of the different texts; NaN where a document is not read.
    fn composed(&self, cut: &Pieces<'_>, rows: &[f32], feature: &Feature, dim: usize) -> Vec<f32> {
        let mut data = vec![f32::NAN; self.documents.len() * dim];
        for (text, row) in self.text_of.iter().zip(data.chunks_mut(dim)) {
            if let Some(text) = *text {
                cut.compose(text, rows, feature.truncate.over().unwrap_or_default(), row);
            }
        }
        data
    }

    /// The first document of each different text.
    fn different(&self) -> impl Iterator<Item = &ReadDocument> {
        self.texts.iter().map(|&place| &self.documents[place])
    }
}

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::InFile(|feature, name| match feature.onnx.output {
        Output::Weights => false,
        Output::Embedding => is_component(name),
        Output::Scores | Output::Entities | Output::Surprise | Output::Answer => true,
    }),
    explained_by: Explainer::Rows,
    opened: RowModel::Refit(|reader, _| Ok(Some(Box::new(open(reader)?)))),
    part_model: Some(part_model),
    combines_windows: true,
    settings: &["onnx"],
    check,
    ..ModelEntry::of_texts(run)
};

fn is_component(name: &str) -> bool {
    let number = || name.strip_prefix('c')?.parse::<usize>().ok();
    number().is_some_and(|number| number > 0)
}

/// The model of a feature, and the set that its rows belong to.
struct OpenEncoder<'a> {
    reader: CorpusReader<'a>,
    encoder: Encoder,
    spec: SetSpec,
    meta: SetMeta,
}

impl<'a> OpenEncoder<'a> {
    fn new(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<OpenEncoder<'a>> {
        let reader = CorpusReader::new(feature, inputs, ctx)?;
        let encoder = open(&reader).with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
        let ran = Some(serde_json::to_value(encoder.ran())?);
        let columns = encoder.columns();
        let (kind, meta) = match encoder.is_sparse() {
            true => {
                let vocabulary = columns.into_iter().map(String::into_boxed_str).collect();
                (RowKind::Sparse, SetMeta { ran, vocabulary: Some(vocabulary), ..SetMeta::default() })
            }
            false => (RowKind::Dense { dim: columns.len() }, SetMeta { ran, ..SetMeta::of_columns(columns) }),
        };
        // The model's key says how many tokens run at once, too: that moves the last digits.
        let params = SetParams::new(&reader).with("model", encoder.key());
        let spec = params.spec(feature, kind, Some(seen_until(feature, inputs.base)?));
        Ok(OpenEncoder { reader, encoder, spec, meta })
    }
}

fn part_model<'a>(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<PartModel<'a>> {
    let OpenEncoder { reader, encoder, spec, meta } = OpenEncoder::new(feature, inputs, ctx)?;
    // A stride puts windows over the whole text.
    let limit = encoder.limit().filter(|_| feature.onnx.stride == 0);
    Ok(PartModel { reader, spec, meta, facts: Vec::new(), limit, rows: Box::new(encoder) })
}

impl RowsOfPart for Encoder {
    fn rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Rows> {
        if self.is_sparse() {
            return weights::part_rows(documents, reader, self, None);
        }
        let CorpusReader { feature, segmenter, ctx, .. } = reader;
        let part = ReadPart::new(documents.to_vec());
        let cut = pieces(part.different(), feature, self, segmenter, ctx)?;
        let dim = self.columns().len();
        let (key, cost) = (part.key, &mut Cost::default());
        let mut work = PartWork { encoder: self, kept: None, ctx, key, resumed: 0, cost };
        let (rows, _) = work.rows(&cut, documents.len() as u64)?;
        Ok(Rows::dense(row_keys(documents), dim, part.composed(&cut, &rows, feature, dim)))
    }
}

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let named = || format!("feature {:?}", feature.name);
    let params = &feature.onnx;
    let mut report = Report::new(&feature.name);
    let OpenEncoder { reader, mut encoder, spec, meta } = OpenEncoder::new(feature, inputs, ctx)?;
    let reader = &reader;
    if encoder.is_sparse() {
        return weights::run(reader, &mut encoder, &spec, &meta, store);
    }
    // Another device has other batches, and other last digits.
    let device = encoder.ran().device.clone();
    let composed = params.compose > 0;
    let own = match composed {
        true => json!([VERSION, encoder.key(), params, feature.masks_names(), device]),
        false => json!([spec.params, device]),
    };
    let name = if composed { params.model.display().to_string() } else { feature.name.clone() };
    let windows = SetSpec { name: format!("{name} (windows)"), params: own, ..spec.clone() };
    let (writer, kept_windows) = (store.writer(&spec)?, store.writer(&windows)?);

    let (mut order, mut seen, mut nameless) = (Vec::new(), WindowCounts::default(), Vec::new());
    let (mut kept, mut resumed) = (0u64, 0u64);
    let mut cost = Cost { device: device.clone(), ..Cost::default() };
    let parts = inputs.clean.files()?.len();
    std::thread::scope(|scope| -> Result<()> {
        let (sender, read) = sync_channel(1);
        scope.spawn(move || {
            for part in 0..parts {
                // Nobody takes it once the run has failed.
                if sender.send(reader.part(part).map(ReadPart::new)).is_err() {
                    break;
                }
            }
        });
        for part in read {
            let part = part?;
            let documents = part.documents.len() as u64;
            report.rows_in += documents;
            for (document, _) in part.documents.iter().zip(&part.text_of).filter(|(_, text)| text.is_none()) {
                report.drop_rows(document.reason(), 1);
            }
            order.push(part.key);
            let dim = meta.columns.len();
            let cut = pieces(part.different(), feature, &encoder, &reader.segmenter, ctx)?;
            cut.add_cost(&part.text_of, &mut cost);
            let data = match writer.rows(part.key)? {
                Some(Rows { values: Values::Dense { data, .. }, .. }) => {
                    kept += documents;
                    ctx.advance(documents)?;
                    data
                }
                _ => {
                    let key = if composed { cut.key() } else { part.key };
                    let encoder = &mut encoder;
                    let kept = Some(&kept_windows);
                    let mut work = PartWork { encoder, kept, ctx, key, resumed: 0, cost: &mut cost };
                    let (rows, met) = work.rows(&cut, documents)?;
                    resumed += work.resumed;
                    seen.add(&met);
                    let data = part.composed(&cut, &rows, feature, dim);
                    writer.put(part.key, &Rows::dense(row_keys(&part.documents), dim, data.clone()))?;
                    writer.flush()?;
                    if !composed {
                        forget(&kept_windows, part.key)?;
                    }
                    data
                }
            };
            for ((document, text), row) in part.documents.iter().zip(&part.text_of).zip(data.chunks(dim)) {
                match document.text.as_deref() {
                    Some(text) if row[0].is_nan() && text.trim().is_empty() => report.drop_rows("without text", 1),
                    Some(_) if text.is_some_and(|text| cut.keeps_nothing(text)) => {
                        report.drop_rows("of which truncation keeps nothing", 1);
                    }
                    Some(_) if row[0].is_nan() => {
                        report.drop_rows("for which the model gave values that are no numbers", 1);
                        nameless.push(document.doc_id.clone());
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    })?;
    report.rows_out = report.rows_in - report.dropped_rows();
    ensure!(
        nameless.is_empty() || report.rows_out > 0,
        "{}：{} 对所有文档都没有给出数值，首先是 {}：请用 `inkstone eval onnx` 查看",
        "{}: {} gave no number for any document, {} first: look at it with `inkstone eval onnx`",
        named(),
        params.model.display(),
        nameless[0]
    );
    report.fact("ran", encoder.ran());
    for (name, count) in [
        ("kept_from_before", kept),
        ("windows", seen.windows),
        ("windows_kept_from_before", resumed),
        ("tokens", seen.tokens),
        ("unknown_tokens", seen.unknown),
        ("cut_documents", seen.cut),
    ] {
        report.fact(name, count);
    }
    report.fact("limit", encoder.limit());
    report.fact("cost", &cost);
    if !nameless.is_empty() {
        nameless.truncate(NAMED);
        report.fact("without_numbers", nameless);
    }
    let (set, report) = finish(writer, &order, &meta, report)?;
    match inputs.shared {
        // Another feature may be put together from the same windows.
        Some(shared) if composed => shared.lock().unwrap_or_else(PoisonError::into_inner).push(windows.id()),
        _ => {
            store.remove(&windows.id())?;
        }
    }
    Ok((set, report))
}

/// The model of a feature.
pub(crate) fn open(reader: &CorpusReader<'_>) -> Result<Encoder> {
    let CorpusReader { feature, inputs, segmenter, ctx, .. } = reader;
    let runtime = inputs.onnx.load(inputs.base)?;
    let words = || Ok(WordCutter::Segmenter(Box::new(segmenter.clone())));
    let opening = Opening { runtime, device: inputs.onnx.device, threads: ctx.threads(), base: inputs.base };
    let strategy = &feature.truncate;
    let truncation = match (strategy.place(), strategy.characters) {
        (Some(truncation), _) if feature.onnx.compose == 0 => truncation,
        // Pieces are cut before; a seam between what is kept may make a token more.
        (_, false) if feature.onnx.compose == 0 => strategy.limit(0).map_or(Truncation::None, Truncation::Head),
        _ => Truncation::None,
    };
    Encoder::open(&feature.onnx, truncation, &words, &opening)
}

/// The windows of a part under way.
struct PartWork<'a, 's> {
    encoder: &'a mut Encoder,
    /// Where the rows of the batches are kept while the part is under way; none: nowhere.
    kept: Option<&'a Writer<'s>>,
    ctx: &'a Ctx,
    /// Key that the keys of the batches are made of.
    key: Key,
    /// Windows whose rows an earlier run had computed.
    resumed: u64,
    cost: &'a mut Cost,
}

impl PartWork<'_, '_> {
    /// The rows of a part's pieces `[pieces, columns]`; the part has so many documents.
    fn rows(&mut self, pieces: &Pieces<'_>, documents: u64) -> Result<(Vec<f32>, WindowCounts)> {
        let windows = self.encoder.windows(&pieces.texts(), self.ctx)?;
        let (dim, count) = (self.encoder.columns().len(), windows.windows.len());
        let mut rows = vec![f32::NAN; count * dim];
        let (mut advanced, mut done) = (0, 0);
        let (began, mut flushed) = (Instant::now(), Instant::now());
        for (number, batch) in self.encoder.batches(&windows).iter().enumerate() {
            let key = batch_key(self.key, number);
            let found = match self.kept.map(|kept| kept.rows(key)).transpose()?.flatten() {
                Some(Rows { values: Values::Dense { data, .. }, .. }) => {
                    self.resumed += batch.windows.len() as u64;
                    data
                }
                _ => {
                    let started = Instant::now();
                    let found = self.encoder.run(&windows, batch, self.ctx)?;
                    self.cost.seconds += started.elapsed().as_secs_f64();
                    self.cost.tokens_read +=
                        batch.windows.iter().map(|&window| windows.windows[window].len() as u64).sum::<u64>();
                    if let Some(kept) = self.kept {
                        kept.put(key, &Rows::dense(vec![self.key; batch.windows.len()], dim, found.clone()))?;
                        if flushed.elapsed() >= WAIT {
                            kept.flush()?;
                            flushed = Instant::now();
                        }
                    }
                    found
                }
            };
            for (&window, row) in batch.windows.iter().zip(found.chunks(dim)) {
                rows[window * dim..(window + 1) * dim].copy_from_slice(row);
            }
            done += batch.windows.len();
            let due = documents * done as u64 / count as u64;
            self.ctx.advance(due - advanced)?;
            advanced = due;
            let speed = done as f64 / began.elapsed().as_secs_f64().max(1e-3);
            self.ctx.note(format!("{} · {speed:.0} windows/s", self.encoder.ran().device));
        }
        self.ctx.advance(documents - advanced)?;
        Ok(self.encoder.combine(&windows, &rows))
    }
}

/// Discards the rows of the windows of a finished part.
pub(super) fn forget(windows: &Writer<'_>, part: Key) -> Result<()> {
    for number in 0.. {
        let key = batch_key(part, number);
        if !windows.has(key)? {
            break;
        }
        windows.discard(key)?;
    }
    Ok(())
}

pub(super) fn batch_key(part: Key, number: usize) -> Key {
    Key::of_parts([part.0.as_slice(), &number.to_le_bytes()])
}

/// The last second of the text that the model of a feature was trained on.
fn seen_until(feature: &Feature, base: &Path) -> Result<NaiveDateTime> {
    let seen = feature.onnx.seen_until(base).with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
    seen.with_context(|| {
        message!("特征 {:?}：缺少 onnx.fitted_until：模型知道其训练文本的内容，所以它的值自那之后才算数。请设为模型作者所说训练文本的最后一天", "feature {:?}: onnx.fitted_until is missing: a model knows what stood in the text that it was trained on, so its values count from then on. Set it to the last day of that text, as the model's authors give it", feature.name)
    })
}

/// Fails where the settings do not suit a contextual model of a feature.
pub(crate) fn check(feature: &Feature) -> Result<()> {
    let params = &feature.onnx;
    params.check()?;
    ensure!(
        params.output != Output::Answer || params.question.is_some(),
        "缺少 onnx.question：output = \"answer\" 须有向每篇文档提的问题",
        "onnx.question is missing: output = \"answer\" needs the question that each document is asked"
    );
    ensure!(
        params.output != Output::Weights || params.compose == 0,
        "onnx.compose 由窗口合成向量与分数；词元权重没有窗口：请保持为 0",
        "onnx.compose puts vectors and scores together from windows; weights of tokens have none: leave it at 0"
    );
    ensure!(
        params.output != Output::Answer || params.compose == 0,
        "onnx.compose 由窗口合成向量与分数，而答案只在一个窗口里：请保持为 0",
        "onnx.compose puts vectors and scores together from windows, and an answer stands in one: leave it at 0"
    );
    Ok(())
}

impl TextRows for Encoder {
    fn column_names(&self, _: &Feature) -> Vec<String> {
        self.columns()
    }

    fn document_rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Vec<f32>> {
        let CorpusReader { feature, ctx, .. } = reader;
        let dim = self.columns().len();
        let cut = pieces(documents.iter(), feature, self, &reader.segmenter, ctx)?;
        let (pieced, _) = self.rows(&cut.texts(), ctx, |_| Ok(ctx.check()?))?;
        let mut rows = vec![f32::NAN; documents.len() * dim];
        for (document, row) in rows.chunks_mut(dim).enumerate() {
            cut.compose(document, &pieced, feature.truncate.over().unwrap_or_default(), row);
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests;
