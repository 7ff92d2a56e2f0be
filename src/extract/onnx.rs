//! Rows of a contextual model. A document's row depends on its own text alone, so finished parts are never computed again, and a run that
//! was killed goes on with the batch that it was in.
//!
//! While a part is under way, the rows of its windows are kept in a set of their own, batch by batch. Batches are made of the
//! part's windows alone, so a run that goes on makes the same ones, and ends with the same bytes. What is kept is on disk at
//! the latest a quarter of a second later: at most that much work is lost.

use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustc_hash::FxHashMap;
use serde_json::json;

use super::reading::{Reading, key_of, read_part};
use super::{Feature, Inputs, VERSION};
use crate::data::{Key, Report};
use crate::job::Ctx;
use crate::model::onnx::{Encoder, OnnxParams, Opening, Runtime, Seen, Words};
use crate::store::{RowKind, Rows, SetSpec, Store, Values, Writer};
use crate::text::Segmenter;

/// How long finished rows may wait until they are on disk.
const WAIT: Duration = Duration::from_millis(250);
/// Documents without a number that are named in the report.
const NAMED: usize = 10;

/// A part as the model reads it.
struct Part {
    readings: Vec<Reading>,
    key: Key,
    /// Its different texts: the document that has each first.
    texts: Vec<usize>,
    /// The text of each document, none where it is not read.
    text_of: Vec<Option<usize>>,
}

impl Part {
    fn of(readings: Vec<Reading>) -> Part {
        let mut known: FxHashMap<Key, usize> = FxHashMap::default();
        let mut texts = Vec::new();
        let number = |(document, reading): (usize, &Reading)| {
            reading.text.as_ref()?;
            Some(*known.entry(reading.key).or_insert_with(|| {
                texts.push(document);
                texts.len() - 1
            }))
        };
        let text_of = readings.iter().enumerate().map(number).collect();
        Part { key: key_of(&readings), readings, texts, text_of }
    }

    fn texts(&self) -> Vec<&str> {
        self.texts.iter().filter_map(|&document| self.readings[document].text.as_deref()).collect()
    }
}

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let named = || format!("feature {:?}", feature.name);
    let params = &feature.onnx;
    let mut report = Report::new(&feature.name);
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let mut encoder = open(feature, inputs, ctx).with_context(named)?;
    let columns = encoder.columns();
    let kind = RowKind::Dense { dim: columns.len() };
    // How many tokens run at once is in the key too: it moves the last digits.
    let shared = json!({"version": VERSION, "feature": feature, "model": encoder.key()});
    let fitted_until = params.last_seen();
    let spec = SetSpec { name: feature.name.clone(), kind, params: shared, fitted_until };
    let windows = SetSpec { name: format!("{} (windows)", feature.name), ..spec.clone() };
    let (writer, kept_windows) = (store.writer(&spec)?, store.writer(&windows)?);

    let (mut order, mut seen, mut nameless) = (Vec::new(), Seen::default(), Vec::new());
    let (mut kept, mut resumed) = (0u64, 0u64);
    let parts = inputs.clean.files()?.len();
    std::thread::scope(|scope| -> Result<()> {
        let (sender, read) = sync_channel(1);
        let segmenter = &segmenter;
        scope.spawn(move || {
            for part in 0..parts {
                let readings = read_part(inputs.clean, inputs.links, part, feature, segmenter, ctx);
                // Nobody takes it once the run has failed.
                if sender.send(readings.map(Part::of)).is_err() {
                    break;
                }
            }
        });
        for part in read {
            let part = part?;
            let documents = part.readings.len() as u64;
            report.rows_in += documents;
            report.drop_rows("of a kind that is not read", part.text_of.iter().filter(|text| text.is_none()).count() as u64);
            order.push(part.key);
            if writer.has(part.key)? {
                kept += documents;
                ctx.advance(documents)?;
                continue;
            }
            let mut work = Work { encoder: &mut encoder, kept: &kept_windows, ctx, resumed: 0 };
            let (rows, met) = work.rows(&part)?;
            resumed += work.resumed;
            seen.add(&met);
            let dim = columns.len();
            let mut data = vec![f32::NAN; part.readings.len() * dim];
            for (document, row) in data.chunks_mut(dim).enumerate() {
                let Some(text) = part.text_of[document] else { continue };
                row.copy_from_slice(&rows[text * dim..(text + 1) * dim]);
                let reading = &part.readings[document];
                let empty = reading.text.as_deref().is_none_or(|text| text.trim().is_empty());
                if row[0].is_nan() && empty {
                    report.drop_rows("without text", 1);
                } else if row[0].is_nan() {
                    report.drop_rows("for which the model gave values that are no numbers", 1);
                    nameless.push(reading.doc_id.clone());
                }
            }
            let keys = part.readings.iter().map(|reading| reading.key).collect();
            writer.put(part.key, &Rows::dense(keys, dim, data))?;
            writer.flush()?;
            work.forget(&part)?;
        }
        Ok(())
    })?;
    report.rows_out = report.rows_in - report.dropped_rows();
    ensure!(
        nameless.is_empty() || report.rows_out > 0,
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
    if !nameless.is_empty() {
        nameless.truncate(NAMED);
        report.fact("without_numbers", nameless);
    }
    let header = writer.finish(&order, json!({"columns": columns, "ran": encoder.ran()}))?;
    store.remove(&windows.id())?;
    Ok((header.id(), report))
}

/// The model of a feature.
pub(super) fn open(feature: &Feature, inputs: &Inputs<'_>, ctx: &Ctx) -> Result<Encoder> {
    let runtime = Runtime::load(inputs.onnx.library.as_deref().map(|library| inputs.base.join(library)).as_deref())?;
    let words = Words::Segmenter(Box::new(Segmenter::new(inputs.tokenizer, inputs.base)?));
    let opening = Opening { runtime, device: inputs.onnx.device, threads: ctx.threads(), base: inputs.base };
    Encoder::open(&feature.onnx, feature.truncate, words, &opening)
}

/// The windows of a part under way.
struct Work<'a, 's> {
    encoder: &'a mut Encoder,
    kept: &'a Writer<'s>,
    ctx: &'a Ctx,
    /// Windows whose rows an earlier run had computed.
    resumed: u64,
}

impl Work<'_, '_> {
    /// The rows of a part's texts `[texts, columns]`.
    fn rows(&mut self, part: &Part) -> Result<(Vec<f32>, Seen)> {
        let windows = self.encoder.windows(&part.texts(), self.ctx)?;
        let (dim, count) = (self.encoder.columns().len(), windows.windows.len());
        let mut rows = vec![f32::NAN; count * dim];
        let (documents, mut told, mut done) = (part.readings.len() as u64, 0, 0);
        let (began, mut flushed) = (Instant::now(), Instant::now());
        for (number, batch) in self.encoder.batches(&windows).iter().enumerate() {
            let key = batch_key(part.key, number);
            let found = match self.kept.rows(key)? {
                Some(Rows { values: Values::Dense { data, .. }, .. }) => {
                    self.resumed += batch.windows.len() as u64;
                    data
                }
                _ => {
                    let found = self.encoder.run(&windows, batch, self.ctx)?;
                    self.kept.put(key, &Rows::dense(vec![part.key; batch.windows.len()], dim, found.clone()))?;
                    if flushed.elapsed() >= WAIT {
                        self.kept.flush()?;
                        flushed = Instant::now();
                    }
                    found
                }
            };
            for (&window, row) in batch.windows.iter().zip(found.chunks(dim)) {
                rows[window * dim..(window + 1) * dim].copy_from_slice(row);
            }
            done += batch.windows.len();
            let tell = documents * done as u64 / count as u64;
            self.ctx.advance(tell - told)?;
            told = tell;
            let speed = done as f64 / began.elapsed().as_secs_f64().max(1e-3);
            self.ctx.note(format!("{} · {speed:.0} windows/s", self.encoder.ran().device));
        }
        self.ctx.advance(documents - told)?;
        Ok(self.encoder.combine(&windows, &rows))
    }

    /// Lets go of the rows of a finished part's windows.
    fn forget(&self, part: &Part) -> Result<()> {
        for number in 0.. {
            let key = batch_key(part.key, number);
            if !self.kept.has(key)? {
                break;
            }
            self.kept.discard(key)?;
        }
        Ok(())
    }
}

fn batch_key(part: Key, number: usize) -> Key {
    Key::of_parts([part.0.as_slice(), &number.to_le_bytes()])
}

/// Fails where a feature's settings make no sense for a contextual model.
pub(super) fn check(params: &OnnxParams) -> Result<()> {
    params.check()?;
    ensure!(
        params.fitted_until.is_some(),
        "onnx.fitted_until is missing: a model knows what stood in the text that it was trained on, so its values count from then on. \
         Set it to the last day of that text, as the model's authors give it"
    );
    Ok(())
}
