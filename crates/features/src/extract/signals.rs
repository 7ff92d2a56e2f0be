//! Documents to signals: the rows of feature sets, tied to the securities and the trading day of their documents, and the number that
//! each reading of a plan makes of them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;

use super::times::ModelTimes;
use super::{Gate, fields};
use inkstone_base::code::Code;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::clean::{CleanDocument, clean_of_part, clean_of_part_without_text};
use inkstone_corpus::event::{EventFinder, FoundEvent, FoundInDocument};
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_lab::factor::{DocumentField, DocumentNode, Plan, Reading, Signal};
use inkstone_market::{Cutoff, EventArguments, Market};
use inkstone_store::{RowKind, Rows, Set, Values};
use inkstone_tables::corpus::Parts;

/// Sources of the numbers that the readings of a plan take.
pub struct SignalSources<'a> {
    /// The sets of the plan's features, in its order.
    pub sets: &'a [Set<'a>],
    pub clean: &'a Parts,
    /// The links of the cleaned corpus.
    pub links: &'a Parts,
    /// The gate of the factor.
    pub gate: &'a Gate,
    /// Finds the events that readings of the plan take.
    pub events: &'a EventFinder,
    /// Rule that gives a document its trading date.
    pub cutoff: Cutoff,
    /// Weights of sources; one that is not here weighs 1.
    pub source_weights: &'a BTreeMap<String, f64>,
}

/// Reads the corpus once for all readings of a plan and gives the signals of all. Documents of which no reading takes anything are
/// counted by the reason of the first.
pub fn signals(plan: &Plan, sources: &SignalSources<'_>, market: &Market, ctx: &Ctx) -> Result<(Vec<Signal>, Report)> {
    let mut report = Report::new("signals");
    let mut signals = Vec::new();
    if !plan.reads_documents() {
        return Ok((signals, report));
    }
    ensure!(
        sources.sets.len() == plan.features.len(),
        "计划读取 {} 个特征，却有 {} 个特征集",
        "the plan reads {} features, but {} sets are there",
        plan.features.len(),
        sources.sets.len()
    );
    let columns = ReadingColumns::new(plan, sources.sets)?;
    let times: Vec<ModelTimes> =
        sources.sets.iter().map(|set| ModelTimes::read(set.header())).collect::<Result<_>>()?;
    // Texts are most of the bytes of a part, and read only to count their characters.
    let length = |node: &DocumentNode| node.has_field(DocumentField::Length);
    let reads_text = plan.reads_events()
        || sources.gate.reads_text()
        || plan.readings.iter().any(|r| length(&r.value) || length(&r.weight));
    let read = if reads_text { clean_of_part } else { clean_of_part_without_text };
    let used: Vec<Vec<usize>> = plan.readings.iter().map(features_of).collect();
    let parts = sources.clean.files()?.len();
    for set in sources.sets {
        ensure!(
            parts == set.header().batches.len(),
            "特征集有 {} 份，语料有 {parts} 份：请重新计算特征（inkstone extract）",
            "the feature set has {} parts, the corpus {parts}: compute the features again (inkstone extract)",
            set.header().batches.len()
        );
    }
    let mut batches: Vec<_> = sources.sets.iter().map(Set::batches).collect();
    let mut number = 0;
    let (mut events, mut without_security, mut denied) = (0, 0, 0);
    for part in 0..parts {
        let docs = read(&sources.clean.path(part))?;
        let mut rows = Vec::with_capacity(batches.len());
        for batch in &mut batches {
            let batch = batch.next().context(Word("特征集比语料短", "a feature set ends before the corpus"))??;
            ensure!(
                docs.len() == batch.len(),
                "第 {part} 份有 {} 篇文档，却有 {} 行",
                "part {part} has {} documents but {} rows",
                docs.len(),
                batch.len()
            );
            rows.push(batch);
        }
        let links = links_of_part(&sources.links.path(part))?;
        let found: Vec<FoundInDocument> = match plan.reads_events() {
            true => ctx.install(|| {
                let find = |(row, doc): (usize, &CleanDocument)| sources.events.find(doc, &links, row as u32);
                docs.par_iter().enumerate().map(find).collect()
            }),
            false => vec![FoundInDocument::default(); docs.len()],
        };
        for found in &found {
            events += found.events.len();
            without_security += found.without_security;
            denied += found.denied;
        }
        for (row, doc) in docs.iter().enumerate() {
            report.rows_in += 1;
            let document = number;
            number += 1;
            let published_at = doc.document.published_at;
            let date = match market.calendar().trade_date(published_at, sources.cutoff) {
                Ok(date) => date,
                Err(off) => {
                    report.drop_rows(off.reason(), 1);
                    continue;
                }
            };
            let mut codes = codes_of(&links, row as u32);
            codes.retain(|code| market.index_of(code.as_str()).is_some());
            if codes.is_empty() {
                report.drop_rows("about no security of the price table", 1);
                continue;
            }
            let codes = match sources.gate.admit(doc, codes, (part, row)) {
                Ok(codes) => codes,
                Err(reason) => {
                    report.drop_rows(reason, 1);
                    continue;
                }
            };
            let scored =
                ScoredDocument { rows: &rows, row, doc, columns: &columns, source_weights: sources.source_weights };
            let own = DocumentEvents { finder: sources.events, events: &found[row].events };
            let mut refused = None;
            let mut taken = false;
            for (number, (reading, used)) in plan.readings.iter().zip(&used).enumerate() {
                let values = match scored.values(reading, &codes, &own) {
                    Ok(values) => values,
                    Err(reason) => {
                        refused = refused.or(Some(reason));
                        continue;
                    }
                };
                let day = market.dates()[date];
                let known_at = used
                    .iter()
                    .map(|&feature| times[feature].known_at(published_at, day))
                    .max()
                    .unwrap_or(published_at);
                let first = doc.is_first();
                let (date, reading) = (date as u32, number as u32);
                let signal = |taken: TakenValue<'_>| {
                    let TakenValue { code, value, weight, known_at: event_known_at } = taken;
                    let (code, known_at) = (market.index_of(code.as_str())? as u32, known_at.max(event_known_at));
                    Some(Signal { code, date, known_at, value, weight, first, document, reading })
                };
                signals.extend(values.into_iter().filter_map(signal));
                taken = true;
            }
            match (taken, refused) {
                (false, Some(reason)) => report.drop_rows(reason, 1),
                _ => report.rows_out += 1,
            }
        }
        ctx.advance(docs.len() as u64)?;
    }
    report.fact("signals", signals.len());
    if let Some(events) = sources.gate.events() {
        report.fact("events", events);
    }
    if plan.reads_events() {
        report.fact("events_found", events);
        report.fact("event_sentences_without_security", without_security);
        report.fact("event_sentences_denied", denied);
    }
    Ok((signals, report))
}

/// Numbers of the features that a reading looks at.
fn features_of(reading: &Reading) -> Vec<usize> {
    let mut features = Vec::new();
    let mut see = |feature: usize, _: Option<&str>| features.push(feature);
    reading.value.each_column(&mut see);
    reading.weight.each_column(&mut see);
    features.sort_unstable();
    features.dedup();
    features
}

/// The columns that readings take: feature, name (none: the first), place in the rows of the feature's set.
struct ReadingColumns(Vec<(usize, Option<String>, usize)>);

impl ReadingColumns {
    fn new(plan: &Plan, sets: &[Set<'_>]) -> Result<ReadingColumns> {
        let mut wanted: Vec<(usize, Option<String>)> = Vec::new();
        let mut see = |feature: usize, column: Option<&str>| {
            let column = (feature, column.map(str::to_owned));
            if !wanted.contains(&column) {
                wanted.push(column);
            }
        };
        for reading in &plan.readings {
            reading.value.each_column(&mut see);
            reading.weight.each_column(&mut see);
        }
        let place = |(feature, column): (usize, Option<String>)| {
            let place = column_of(&sets[feature], column.as_deref())?;
            Ok((feature, column, place))
        };
        Ok(ReadingColumns(wanted.into_iter().map(place).collect::<Result<_>>()?))
    }

    fn place(&self, feature: usize, column: Option<&str>) -> usize {
        let found = self.0.iter().find(|(number, name, _)| *number == feature && name.as_deref() == column);
        found.map_or(0, |(.., place)| *place)
    }
}

/// One document with the rows of all features.
struct ScoredDocument<'a> {
    rows: &'a [Rows],
    row: usize,
    doc: &'a CleanDocument,
    columns: &'a ReadingColumns,
    source_weights: &'a BTreeMap<String, f64>,
}

/// The events of a document, and the finder that knows the names of their rules.
struct DocumentEvents<'a> {
    finder: &'a EventFinder,
    events: &'a [FoundEvent],
}

/// A number that a reading takes of a document or of an event in it.
struct TakenValue<'a> {
    code: &'a Code,
    value: f64,
    weight: f64,
    /// When the document or the event was known.
    known_at: NaiveDateTime,
}

impl ScoredDocument<'_> {
    /// The values that a reading takes of the document: one for each of these securities, or one for each event of these securities; or the
    /// reason why there is none.
    fn values<'c>(
        &self,
        reading: &Reading,
        codes: &'c [Code],
        own: &DocumentEvents<'c>,
    ) -> Result<Vec<TakenValue<'c>>, &'static str> {
        if !(reading.kinds.is_empty() || reading.kinds.contains(&self.doc.document.kind)) {
            return Err("of a kind that is not counted");
        }
        if reading.events.is_empty() {
            let (value, weight) = self.take(reading, None)?;
            let known_at = self.doc.document.published_at;
            return Ok(codes.iter().map(|code| TakenValue { code, value, weight, known_at }).collect());
        }
        let is_read = |event: &&FoundEvent| {
            codes.contains(&event.code) && reading.events.iter().any(|kind| kind == own.finder.name(event.rule))
        };
        let (mut values, mut refused) = (Vec::new(), "without an event of the kinds");
        for event in own.events.iter().filter(is_read) {
            match self.take(reading, Some(&event.arguments)) {
                Ok((value, weight)) => {
                    values.push(TakenValue { code: &event.code, value, weight, known_at: event.known_at });
                }
                Err(reason) => refused = reason,
            }
        }
        if values.is_empty() { Err(refused) } else { Ok(values) }
    }

    /// Value and weight of the document, or of an event in it, or the reason why a reading does not take it.
    fn take(&self, reading: &Reading, event: Option<&EventArguments>) -> Result<(f64, f64), &'static str> {
        let column = |feature: usize, column: Option<&str>| self.column(feature, column);
        let field = |field| match (field, event) {
            (DocumentField::Event(field), Some(arguments)) => field.number(arguments),
            (field, _) => fields::number(self.doc, field, self.source_weights),
        };
        let value = reading.value.value(&column, &field);
        if !value.is_finite() {
            return Err("without a value");
        }
        let weight = reading.weight.value(&column, &field);
        if !weight.is_finite() || weight < 0.0 {
            return Err("without a weight of 0 or more");
        }
        Ok((value, weight))
    }

    fn column(&self, feature: usize, column: Option<&str>) -> f64 {
        let Values::Dense { dim, data } = &self.rows[feature].values else { return f64::NAN };
        f64::from(data[self.row * dim + self.columns.place(feature, column)])
    }
}

fn column_of(set: &Set<'_>, name: Option<&str>) -> Result<usize> {
    let header = set.header();
    if header.spec.kind == RowKind::Sparse {
        bail!(
            "因子需要定长的行；{:?} 是稀疏的",
            "a factor needs rows of a fixed size; {:?} is sparse",
            header.spec.name
        );
    }
    let Some(name) = name else { return Ok(0) };
    let columns = header.meta["columns"].as_array().cloned().unwrap_or_default();
    columns.iter().position(|c| c == name).with_context(|| {
        let known: Vec<&str> = columns.iter().filter_map(|c| c.as_str()).collect();
        message!(
            "特征 {:?} 没有列 {name:?}；它有 {}",
            "feature {:?} has no column {name:?}; it has {}",
            header.spec.name,
            known.join(", ")
        )
    })
}
