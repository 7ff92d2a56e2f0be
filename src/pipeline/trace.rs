//! Traces a value of a factor to the documents behind it, and a document to the sentences and words that gave it its value.
//!
//! Only the explanations of texts are computed anew: values, signals and feature sets are those of the last run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use chrono::NaiveDate;

use super::factor_builder::read_factor;
use super::market::{lazy_market, market_with, named_securities, relations};
use super::results::read_signals;
use super::stage::StageId;
use super::state::State;
use super::{CorpusParts, project, securities};
use crate::config::Config;
use inkstone_base::code::Code;
use inkstone_base::data::Kind;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::clean::clean_of_part;
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_features::extract::{self, ExplainedText, FeatureSets, Gate, Inputs, KeptRow, explain};
use inkstone_lab::backtest::{self, NamesTable};
use inkstone_lab::factor::{
    Aggregate, Contribution, GraphInputs, GraphTies, Plan, ReadingTrace, Signal, TracedCell, TracedDate, TracedDay,
    TracedDocument, TracedName, TracedNeighbour,
};
use inkstone_market::{Calendar, DaysAndNames, MarketAxes, Security};
use inkstone_store::Reader;
use inkstone_tables::corpus::{Parts, texts_of, times_of};
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// Traces the factors of a project. It keeps the tables that it has read until their files change.
pub struct Tracer {
    config: Config,
    base: PathBuf,
    project: Project,
    read: Mutex<Option<Arc<TracedFactor>>>,
    /// The names of dates that were read last.
    names: Mutex<Option<([FileTime; 3], Arc<NamesOfDates>)>>,
}

/// The names of all dates of a factor, and the days and codes of its market.
struct NamesOfDates {
    table: NamesTable,
    axes: MarketAxes,
}

/// The tables of a project that one factor needs.
struct TracedFactor {
    file_times: Vec<FileTime>,
    name: String,
    names: Arc<NamesOfDates>,
    plan: Plan,
    /// In the order of their codes.
    signals: Vec<Signal>,
    graphs: GraphTies,
    /// Securities with names for people ([`named_securities`]).
    named: Vec<Security>,
    /// Number of the first document of each part, and of all documents.
    starts: Vec<u32>,
}

/// A file and the time of its last change; no time if it does not exist.
pub(super) type FileTime = (PathBuf, Option<SystemTime>);

impl Tracer {
    /// Looks behind the factors of a configuration, whose paths are relative to `base`.
    pub fn new(config: &Config, base: &Path) -> Tracer {
        let project = project(config, base);
        Tracer {
            config: config.clone(),
            base: base.to_owned(),
            project,
            read: Mutex::default(),
            names: Mutex::default(),
        }
    }

    /// The dates on which a factor has values.
    pub fn dates(&self, factor: &str, ctx: &Ctx) -> Result<Vec<NaiveDate>> {
        Ok(self.names_of_dates(factor, ctx)?.table.dates().to_vec())
    }

    /// Reads what names and documents of a factor need, so that they are found at once when they are asked for.
    pub fn prepare(&self, factor: &str, ctx: &Ctx) -> Result<()> {
        self.open(factor, ctx).map(drop)
    }

    /// The securities for which a factor has a value on a date, the highest value first. If `quantile` is given (1 is the lowest), only
    /// those in it.
    pub fn names(&self, factor: &str, date: NaiveDate, quantile: Option<u16>, ctx: &Ctx) -> Result<TracedDate> {
        let params = &self.config.backtest;
        if let Some(quantile) = quantile {
            in_range(quantile, params)?;
        }
        let opened = self.open(factor, ctx)?;
        let table = &opened.names.table;
        let found = table.on(date)?.with_context(|| has_no_value(factor, table.dates(), date))?;
        let market = &opened.names.axes;
        let t = opened.date(date)?;
        let mut names: Vec<(TracedName, Option<u32>)> = Vec::new();
        for name in found.names {
            ctx.check()?;
            let code = opened.code(&name.code)?;
            let traced = opened.trace(t, code);
            let of_value = traced.iter().filter(|reading| !reading.control);
            let shares: Vec<_> = of_value.flat_map(|r| r.shares.iter().map(|share| (r.share, share))).collect();
            let documents: BTreeMap<u32, bool> =
                shares.iter().map(|(_, share)| (share.document, share.first)).collect();
            let size = |(part, share): &(f64, &Contribution)| (part * share.contribution).abs();
            let largest = shares.iter().filter(|(_, share)| !share.contribution.is_nan());
            let largest = largest.max_by(|a, b| size(a).total_cmp(&size(b)));
            let row = TracedName {
                code: market.codes()[code].to_string(),
                name: self.name_of(&opened, code, date),
                value: name.value,
                raw: name.raw,
                rank: 0,
                quantile: name.quantile,
                documents: documents.len(),
                first_mentions: documents.values().filter(|first| **first).count(),
                known_at: name.known_at,
                returns: name.returns,
                blocked: name.blocked,
                title: String::new(),
            };
            names.push((row, largest.or(shares.last()).map(|(_, share)| share.document)));
        }
        names.sort_by(|a, b| b.0.value.total_cmp(&a.0.value).then_with(|| a.0.code.cmp(&b.0.code)));
        for k in 0..names.len() {
            let tied = k > 0 && names[k].0.value == names[k - 1].0.value;
            names[k].0.rank = if tied { names[k - 1].0.rank } else { k + 1 };
        }
        names.retain(|(name, _)| quantile.is_none_or(|quantile| name.quantile == quantile));
        let wanted: BTreeSet<u32> = names.iter().filter_map(|(_, document)| *document).collect();
        let documents = documents_of(&self.project.clean(), &opened.starts, &wanted, true, ctx)?;
        let titled = |(mut name, document): (TracedName, Option<u32>)| {
            name.title =
                document.and_then(|number| Some(documents.get(&number)?.heading().to_owned())).unwrap_or_default();
            name
        };
        Ok(TracedDate {
            factor: factor.to_owned(),
            date,
            entry: found.entry,
            price: params.traded_price().name().to_owned(),
            delay: params.delay_days(),
            horizons: params.horizons.clone(),
            quantiles: params.quantiles,
            without_quantiles: found.left_out,
            names: names.into_iter().map(titled).collect(),
        })
    }

    /// The dates on which one quantile (from 1, the lowest) of a factor has names, ascending, with what these have in common.
    pub fn days(&self, factor: &str, quantile: u16, ctx: &Ctx) -> Result<Vec<TracedDay>> {
        in_range(quantile, &self.config.backtest)?;
        self.names_of_dates(factor, ctx)?.table.days(quantile, ctx)
    }

    /// The readings behind the value of a name on a date, with their documents.
    pub fn documents(&self, factor: &str, date: NaiveDate, code: &str, ctx: &Ctx) -> Result<Vec<TracedCell>> {
        let opened = self.open(factor, ctx)?;
        let (market, plan) = (&opened.names.axes, &opened.plan);
        let (t, i) = (opened.date(date)?, opened.code(code)?);
        let traced = opened.trace(t, i);
        let wanted: BTreeSet<u32> = traced.iter().flat_map(|r| &r.shares).map(|share| share.document).collect();
        let known = documents_of(&self.project.clean(), &opened.starts, &wanted, true, ctx)?;
        let cell = |reading: ReadingTrace| -> Result<TracedCell> {
            let mut documents = Vec::with_capacity(reading.shares.len());
            for share in &reading.shares {
                let document = known.get(&share.document).context(Word(
                    "因子的一篇文档已不在语料中：请运行 inkstone factor",
                    "a document of the factor is no longer in the corpus: run inkstone factor",
                ))?;
                documents.push(TracedDocument {
                    trade_date: market.dates()[share.date as usize],
                    known_at: share.known_at,
                    age: share.age,
                    first: share.first,
                    value: share.value,
                    weight: share.weight,
                    contribution: share.contribution,
                    ..document.clone()
                });
            }
            documents.sort_by(|a, b| {
                let size = |d: &TracedDocument| d.contribution.abs();
                // Documents without a contribution come last, and among equals the newest first.
                size(b).partial_cmp(&size(a)).unwrap_or(std::cmp::Ordering::Equal).then(b.known_at.cmp(&a.known_at))
            });
            let reads = plan.columns_of(reading.reading).into_iter().map(|(feature, column)| match column {
                Some(column) => format!("{feature}.{column}"),
                None => feature.to_owned(),
            });
            Ok(TracedCell {
                reading: reading.reading + 1,
                reads: reads.collect(),
                aggregate: serde_json::to_value(reading.aggregate)?.as_str().unwrap_or_default().to_owned(),
                date: market.dates()[reading.date],
                neighbour: (reading.name != i || reading.share < 1.0).then(|| TracedNeighbour {
                    code: market.codes()[reading.name].to_string(),
                    name: self.name_of(&opened, reading.name, date),
                    share: reading.share,
                }),
                control: reading.control,
                value: reading.value,
                adds_up: reading.aggregate != Aggregate::Std,
                documents,
            })
        };
        traced.into_iter().map(cell).collect()
    }

    /// The values of a document by the features that a reading (from 1) of a factor is made of, taken apart: one for each column,
    /// and after those of a model that learns on other features one for each of these.
    pub fn sentences(&self, factor: &str, reading: usize, document: u32, ctx: &Ctx) -> Result<Vec<ExplainedText>> {
        let opened = self.open(factor, ctx)?;
        let place = place(&opened.starts, document)?;
        let columns = opened.plan.columns_of(reading.wrapping_sub(1));
        let parts = CorpusParts::new(&self.config, &self.base, &self.project);
        let store = Reader::open(&self.project.store()).ok();
        let state = State::read(&self.project)?;
        let made = |feature: &extract::Feature| {
            Some((feature.name.clone(), state.made(&StageId::Extract(feature.name.clone()))?))
        };
        let ids = self.config.feature.iter().filter_map(made).collect();
        let sets = store.as_ref().map(|store| FeatureSets { store, ids: &ids });
        let market = lazy_market(&self.project);
        let inputs = Inputs { market: market.as_ref(), sets, ..parts.inputs(&self.config, &self.base) };
        let columns: Vec<_> = columns
            .into_iter()
            .map(|(name, column)| Ok((self.config.find_feature(name)?, column, self.kept(name, place))))
            .collect::<Result<_>>()?;
        let explain = |(feature, column, kept): &(&extract::Feature, Option<String>, Result<Option<KeptRow>>)| {
            let row = kept.as_ref().ok().and_then(Option::as_ref);
            let mut explained = explain(feature, column.as_deref(), &inputs, row, place, ctx)?;
            if let (Err(error), Some(first)) = (kept, explained.first_mut()) {
                let unreadable = message!(
                    "未能读取保存的特征：{}。",
                    " What is kept of the feature could not be read: {}.",
                    Message::of_error(error)
                );
                first.note.0 += &unreadable.zh;
                first.note.1 += &unreadable.en;
            }
            Ok(explained)
        };
        let explained: Vec<Vec<ExplainedText>> = columns.iter().map(explain).collect::<Result<_>>()?;
        Ok(explained.concat())
    }

    /// The row of a document in the set of a feature.
    fn kept(&self, feature: &str, place: (usize, usize)) -> Result<Option<KeptRow>> {
        let Some(made) = State::read(&self.project)?.made(&StageId::Extract(feature.to_owned())) else {
            return Ok(None);
        };
        let store = Reader::open(&self.project.store())?;
        store.set(&made)?.map(|set| KeptRow::read(&set, place)).transpose()
    }

    /// The number of the document with this id among those behind a value of a name, and the reading (from 1) that took it.
    pub fn find(
        &self,
        factor: &str,
        code: &str,
        cells: &[TracedCell],
        doc_id: &str,
        ctx: &Ctx,
    ) -> Result<(usize, u32)> {
        let all = || cells.iter().flat_map(|cell| cell.documents.iter().map(move |document| (cell, document)));
        let found = all().find(|(_, document)| document.doc_id == doc_id);
        let Some((cell, document)) = found else {
            let known: BTreeSet<&str> = all().map(|(_, document)| document.doc_id.as_str()).collect();
            let known: Vec<&str> = known.into_iter().take(10).collect();
            let left_out = self.left_out(factor, code, doc_id, ctx)?;
            let why =
                left_out.map_or(Message::default(), |reason| message!("（略过：{reason}）", " (left out: {reason})"));
            bail!(
                "文档 {doc_id:?} 没有进入这个值{why}；进入的文档有：{}",
                "document {doc_id:?} did not enter this value{why}; the documents that did are: {}",
                known.join(", ")
            );
        };
        Ok((cell.reading, document.number))
    }

    /// The reason for which the gate of a factor leaves out a document about a name; none if it does not.
    fn left_out(&self, factor: &str, code: &str, doc_id: &str, ctx: &Ctx) -> Result<Option<&'static str>> {
        let params = self.config.find_factor(factor)?;
        if params.within.is_none() && params.only.is_empty() {
            return Ok(None);
        }
        let opened = self.open(factor, ctx)?;
        let code = &opened.names.axes.codes()[opened.code(code)?];
        let (clean, links) = (self.project.clean(), self.project.links());
        for part in 0..clean.files()?.len() {
            ctx.check()?;
            let ids = frames::read_parquet(&clean.path(part), Some(&["doc_id"]))?;
            let Some(row) = texts_of(&ids, "doc_id")?.iter().position(|id| id == Some(doc_id)) else { continue };
            if !codes_of(&links_of_part(&links.path(part))?, row as u32).contains(code) {
                return Ok(None);
            }
            let gate = Gate::open(params.within.as_ref(), &params.only, &clean, &links, ctx)?;
            let document = &clean_of_part(&clean.path(part))?[row];
            return Ok(gate.admit(document, vec![code.clone()], (part, row)).err());
        }
        Ok(None)
    }

    /// The name of a security on a day; where none holds on that day, the first name of the security.
    fn name_of(&self, opened: &TracedFactor, code: usize, day: NaiveDate) -> String {
        let code = &opened.names.axes.codes()[code];
        let mut rows = opened.named.iter().filter(|row| row.code == *code);
        rows.clone()
            .find(|row| row.holds_on(day))
            .or_else(|| rows.next())
            .map(|row| row.name.clone())
            .unwrap_or_default()
    }

    /// The names of all dates, as the last backtest left them, or of a factor that is not tested yet; read anew if a file has changed.
    fn names_of_dates(&self, name: &str, ctx: &Ctx) -> Result<Arc<NamesOfDates>> {
        self.config.find_factor(name)?;
        let project = &self.project;
        let (names, axes) = (project.backtest_names(name), project.backtest_axes(name));
        ensure!(
            project.factor(name).exists() && project.signals(name).exists(),
            "因子 {name:?} 尚未计算，或由不保存信号的版本计算：请运行 inkstone factor",
            "factor {name:?} is not built yet, or was built by a version that kept no signals: run inkstone factor"
        );
        let file_times = [names.clone(), axes.clone(), project.factor(name)].map(file_time);
        let mut kept = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kept)) = kept.as_ref().filter(|(before, _)| *before == file_times) {
            return Ok(kept.clone());
        }
        *kept = None;
        let horizons = &self.config.backtest.horizons;
        let table = if names.exists() && axes.exists() { NamesTable::open(&names, horizons)? } else { None };
        let read = Arc::new(match table {
            Some(table) => NamesOfDates { table, axes: disk::read_json(&axes)? },
            None => self.untested(name, ctx)?,
        });
        *kept = Some((file_times, read.clone()));
        Ok(read)
    }

    /// The names of all dates of a factor that was built and not tested with the settings of now.
    fn untested(&self, name: &str, ctx: &Ctx) -> Result<NamesOfDates> {
        let market = market_with(&self.project, &securities(&self.project)?)?;
        let factor = read_factor(name, &self.project, &market)?;
        let documents = documents_by_date(&read_signals(name, &self.project)?);
        let params = &self.config.backtest;
        let counted = |date, code| count_documents(&documents, date, code);
        let frame = backtest::names_frame(&factor, &market, params, counted, ctx)?;
        Ok(NamesOfDates { table: NamesTable::of_frame(frame, &params.horizons)?, axes: MarketAxes::new(&market) })
    }

    /// The tables of a factor, read anew if a file has changed.
    fn open(&self, name: &str, ctx: &Ctx) -> Result<Arc<TracedFactor>> {
        let params = self.config.find_factor(name)?;
        let names = self.names_of_dates(name, ctx)?;
        let project = &self.project;
        let files = [project.securities(), project.names(), project.relations(), project.signals(name)];
        let file_times: Vec<FileTime> = files.into_iter().chain(project.clean().files()?).map(file_time).collect();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |opened: &&Arc<TracedFactor>| {
            opened.file_times == file_times && opened.name == name && Arc::ptr_eq(&opened.names, &names)
        };
        if let Some(opened) = read.as_ref().filter(same) {
            return Ok(opened.clone());
        }
        *read = None;
        let (plan, signals) = (Plan::new(params)?, by_code(read_signals(name, project)?));
        let relations = if plan.reads_relations() { relations(project)? } else { Vec::new() };
        let calendar = Calendar::new(names.axes.dates().to_vec())?;
        let days = (&calendar, self.config.market.cutoff);
        let index_of = |code: &str| names.axes.index_of(code);
        let inputs = GraphInputs { relations: &relations, rewired: None };
        let graphs = GraphTies::new(&plan, days, index_of, &signals, &inputs);
        let opened = Arc::new(TracedFactor {
            name: name.to_owned(),
            names,
            plan,
            signals,
            graphs,
            named: named_securities(project)?,
            starts: starts(&project.clean())?,
            file_times,
        });
        *read = Some(opened.clone());
        Ok(opened)
    }
}

/// The documents behind signals, by the number of their date and of their code, each once.
pub(super) fn documents_by_date(signals: &[Signal]) -> Vec<(u32, u32, u32)> {
    let mut documents: Vec<(u32, u32, u32)> =
        signals.iter().map(|signal| (signal.date, signal.code, signal.document)).collect();
    documents.sort_unstable();
    documents.dedup();
    documents
}

/// Documents of a date about a code among those of [`documents_by_date`].
pub(super) fn count_documents(documents: &[(u32, u32, u32)], date: usize, code: usize) -> u32 {
    let begin = documents.partition_point(|(day, code_of, _)| (*day as usize, *code_of as usize) < (date, code));
    let same = |(day, code_of, _): &&(u32, u32, u32)| (*day as usize, *code_of as usize) == (date, code);
    documents[begin..].iter().take_while(same).count() as u32
}

/// Says that a factor has no value on a date, and on which it has some.
fn has_no_value(factor: &str, with_values: &[NaiveDate], date: NaiveDate) -> Message {
    match (with_values.first(), with_values.last()) {
        (Some(first), Some(last)) => {
            let before = with_values.iter().rev().find(|day| **day <= date).unwrap_or(first);
            message!(
                "因子 {factor:?} 在 {date} 没有值；它的值从 {first} 到 {last}，之前最近的在 {before}",
                "factor {factor:?} has no value on {date}; it has some from {first} to {last}, the nearest before on {before}"
            )
        }
        _ => message!("因子 {factor:?} 在任何日期都没有值", "factor {factor:?} has no value on any date"),
    }
}

/// Fails on a quantile that dates are not cut into.
fn in_range(quantile: u16, params: &backtest::Params) -> Result<()> {
    ensure!(
        (1..=params.quantiles).contains(&usize::from(quantile)),
        "没有分层 {quantile}：[backtest] quantiles = {}，从 1 编号，1 的值最低",
        "there is no quantile {quantile}: with [backtest] quantiles = {} they are numbered from 1, which has the lowest values",
        params.quantiles
    );
    Ok(())
}

impl TracedFactor {
    /// The number of a date on which the factor has values.
    fn date(&self, date: NaiveDate) -> Result<usize> {
        let dates = self.names.table.dates();
        let t = self.names.axes.index_of_date(date).filter(|_| dates.binary_search(&date).is_ok());
        t.with_context(|| has_no_value(&self.name, dates, date))
    }

    /// The number of a code, however it is written.
    fn code(&self, code: &str) -> Result<usize> {
        let found = self.names.axes.index_of(code);
        let found = found.or_else(|| self.names.axes.index_of(Code::parse(code)?.as_str()));
        found.with_context(|| message!("{code} 不在行情表中", "{code} is not in the price table"))
    }

    /// The readings behind the value of a date and a code, by their numbers.
    fn trace(&self, t: usize, i: usize) -> Vec<ReadingTrace> {
        self.plan.trace(&self.signals, &self.graphs, &self.names.axes, t, i)
    }
}

/// Ids, titles and times of documents, by their number in the corpus; with `words` also the first words of those without a title.
pub(super) fn documents_of(
    clean: &Parts,
    starts: &[u32],
    wanted: &BTreeSet<u32>,
    words: bool,
    ctx: &Ctx,
) -> Result<BTreeMap<u32, TracedDocument>> {
    let mut found = BTreeMap::new();
    let mut by_part: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for &number in wanted {
        by_part.entry(place(starts, number)?.0).or_default().push(number);
    }
    for (part, numbers) in by_part {
        ctx.check()?;
        let wanted = ["doc_id", "kind", "title", "source", "published_at", "first_mention"];
        let frame = frames::read_parquet(&clean.path(part), Some(&wanted))?;
        let text = |name: &str| texts_of(&frame, name);
        let [ids, kinds, titles] = [text("doc_id")?, text("kind")?, text("title")?];
        let [sources, firsts] = [text("source")?, text("first_mention")?];
        let published = times_of(&frame, "published_at")?;
        let is_untitled = |number: &u32| titles.get((number - starts[part]) as usize).is_none_or(str::is_empty);
        // Bodies are many times as long as all else.
        let bodies = match words && numbers.iter().any(is_untitled) {
            true => Some(texts_of(&frames::read_parquet(&clean.path(part), Some(&["body"]))?, "body")?),
            false => None,
        };
        for number in numbers {
            let row = (number - starts[part]) as usize;
            let id = ids.get(row).with_context(|| {
                message!(
                    "语料第 {part} 份没有第 {row} 行：请重新运行",
                    "part {part} of the corpus has no row {row}: run again"
                )
            })?;
            let document = TracedDocument {
                number,
                doc_id: id.to_owned(),
                title: titles.get(row).unwrap_or_default().to_owned(),
                words: match &bodies {
                    Some(bodies) if is_untitled(&number) => first_words(bodies.get(row).unwrap_or_default()),
                    _ => String::new(),
                },
                kind: kinds.get(row).and_then(Kind::parse).unwrap_or_default(),
                source: sources.get(row).unwrap_or_default().to_owned(),
                published_at: published[row].unwrap_or_default(),
                repeats: firsts.get(row).filter(|first| *first != id).map(str::to_owned),
                ..TracedDocument::default()
            };
            found.insert(number, document);
        }
    }
    Ok(found)
}

/// The beginning of a body, on one line.
fn first_words(body: &str) -> String {
    const CHARACTERS: usize = 60;
    body.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(CHARACTERS).collect()
}

/// Part and row of a document, by the first numbers of the parts.
pub(super) fn place(starts: &[u32], number: u32) -> Result<(usize, usize)> {
    let part = starts.partition_point(|start| *start <= number).wrapping_sub(1);
    ensure!(
        part + 1 < starts.len(),
        "语料没有编号 {number} 的文档：请重新计算因子",
        "the corpus has no document number {number}: build the factor again"
    );
    Ok((part, (number - starts[part]) as usize))
}

fn by_code(mut signals: Vec<Signal>) -> Vec<Signal> {
    signals.sort_by_key(|signal| signal.code);
    signals
}

pub(super) fn file_time(path: PathBuf) -> FileTime {
    let written = path.metadata().and_then(|meta| meta.modified()).ok();
    (path, written)
}

/// Number of the first document of each part, then of all documents.
pub(super) fn starts(clean: &Parts) -> Result<Vec<u32>> {
    let mut starts = vec![0u32];
    for path in clean.files()? {
        starts.push(starts.last().copied().unwrap_or(0) + frames::rows_of_parquet(&path)? as u32);
    }
    Ok(starts)
}
