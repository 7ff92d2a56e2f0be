//! Traces a value of a factor to the documents behind it, and a document to the sentences and words that gave it its value.
//!
//! Only the explanations of texts are computed anew: values, signals and feature sets are those of the last run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use rayon::prelude::*;

use super::factor_builder::read_factor;
use super::results::read_signals;
use super::stage::StageId;
use super::state::State;
use super::{CorpusParts, project, securities};
use crate::config::Config;
use inkstone_base::code::Code;
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::stats::mean;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::clean::clean_of_part;
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_features::extract::{self, ExplainedText, FeatureSets, Gate, Inputs, KeptRow, explain};
use inkstone_lab::backtest;
use inkstone_lab::factor::{
    Aggregate, Factor, Plan, Signal, TracedCell, TracedDate, TracedDay, TracedDocument, TracedName,
};
use inkstone_market::{LazyMarket, Market, Security, Tradability};
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
}

/// The tables of a project that one factor needs.
struct TracedFactor {
    file_times: Vec<FileTime>,
    factor: Factor,
    plan: Plan,
    signals: Vec<Signal>,
    market: Arc<Market>,
    tradability: Tradability,
    securities: Vec<Security>,
    /// Number of the first document of each part, and of all documents.
    starts: Vec<u32>,
}

/// A file and the time of its last change; no time if it does not exist.
type FileTime = (PathBuf, Option<SystemTime>);

impl Tracer {
    /// Looks behind the factors of a configuration, whose paths are relative to `base`.
    pub fn new(config: &Config, base: &Path) -> Tracer {
        let project = project(config, base);
        Tracer { config: config.clone(), base: base.to_owned(), project, read: Mutex::default() }
    }

    /// The dates on which a factor has values.
    pub fn dates(&self, factor: &str) -> Result<Vec<NaiveDate>> {
        let opened = self.open(factor)?;
        let dates = opened.market.dates();
        Ok((0..dates.len()).filter(|t| opened.has_values(*t)).map(|t| dates[t]).collect())
    }

    /// The securities for which a factor has a value on a date, the highest value first. If `quantile` is given (1 is the lowest), only
    /// those in it.
    pub fn names(&self, factor: &str, date: NaiveDate, quantile: Option<u16>, ctx: &Ctx) -> Result<TracedDate> {
        let opened = self.open(factor)?;
        let TracedFactor { market, factor: values, plan, .. } = &*opened;
        let params = &self.config.backtest;
        if let Some(quantile) = quantile {
            in_range(quantile, params)?;
        }
        let t = opened.date(date)?;
        ctx.check()?;
        let found = backtest::names_on(values, market, &opened.tradability, params, t)?;
        let mut names: Vec<(TracedName, Option<u32>)> = Vec::new();
        for name in &found.names {
            let code = name.code;
            let traced = plan.trace(&opened.signals_of(code), market, t, code);
            let shares: Vec<_> = traced.iter().filter(|r| !r.control).flat_map(|r| &r.shares).collect();
            let documents: BTreeMap<u32, bool> = shares.iter().map(|share| (share.document, share.first)).collect();
            let largest = shares.iter().filter(|s| !s.contribution.is_nan());
            let largest = largest.max_by(|a, b| a.contribution.abs().total_cmp(&b.contribution.abs()));
            let row = TracedName {
                code: market.codes()[code].to_string(),
                name: self.name_of(&opened, code, date),
                value: values.values.at(t, code),
                raw: values.raw.at(t, code),
                rank: 0,
                quantile: name.quantile,
                documents: documents.len(),
                first_mentions: documents.values().filter(|first| **first).count(),
                known_at: values.known_at(t, code),
                returns: name.returns.clone(),
                blocked: name.blocked.map(str::to_owned),
                title: String::new(),
            };
            names.push((row, largest.or(shares.last()).map(|share| share.document)));
        }
        names.sort_by(|a, b| b.0.value.total_cmp(&a.0.value).then_with(|| a.0.code.cmp(&b.0.code)));
        for k in 0..names.len() {
            let tied = k > 0 && names[k].0.value == names[k - 1].0.value;
            names[k].0.rank = if tied { names[k - 1].0.rank } else { k + 1 };
        }
        names.retain(|(name, _)| quantile.is_none_or(|quantile| name.quantile == quantile));
        let wanted: BTreeSet<u32> = names.iter().filter_map(|(_, document)| *document).collect();
        let documents = self.documents_of(&opened, &wanted, ctx)?;
        let titled = |(mut name, document): (TracedName, Option<u32>)| {
            name.title = document.and_then(|number| Some(documents.get(&number)?.title.clone())).unwrap_or_default();
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
            without_quantiles: found.left_out.map(str::to_owned),
            names: names.into_iter().map(titled).collect(),
        })
    }

    /// The dates on which one quantile (from 1, the lowest) of a factor has names, ascending, with what these have in common.
    pub fn days(&self, factor: &str, quantile: u16, ctx: &Ctx) -> Result<Vec<TracedDay>> {
        let params = &self.config.backtest;
        in_range(quantile, params)?;
        let opened = self.open(factor)?;
        let TracedFactor { market, factor: values, tradability, .. } = &*opened;
        let mut documents: Vec<(u32, u32, u32)> =
            opened.signals.iter().map(|signal| (signal.date, signal.code, signal.document)).collect();
        documents.sort_unstable();
        documents.dedup();
        let count_documents = |t: usize, code: usize| {
            let begin = documents.partition_point(|(date, code_of, _)| (*date as usize, *code_of as usize) < (t, code));
            let same = |(date, code_of, _): &&(u32, u32, u32)| (*date as usize, *code_of as usize) == (t, code);
            documents[begin..].iter().take_while(same).count()
        };
        let dates = backtest::Dates::new(values, market, tradability, params)?;
        let day = |t: usize| -> Result<Option<TracedDay>> {
            ctx.check()?;
            let found = dates.on(t);
            let names: Vec<_> = found.names.iter().filter(|name| name.quantile == quantile).collect();
            let returns = |h: usize| names.iter().map(move |name| name.returns[h]).filter(|earned| !earned.is_nan());
            let horizons = 0..params.horizons.len();
            Ok((!names.is_empty()).then(|| TracedDay {
                date: market.dates()[t],
                names: names.len(),
                value: mean(names.iter().map(|name| values.values.at(t, name.code))),
                returns: horizons.clone().map(|h| mean(returns(h))).collect(),
                hits: horizons.map(|h| mean(returns(h).map(|earned| f64::from(u8::from(earned > 0.0))))).collect(),
                documents: names.iter().map(|name| count_documents(t, name.code)).sum(),
            }))
        };
        let days: Vec<Option<TracedDay>> =
            ctx.install(|| (0..market.dates().len()).into_par_iter().map(day).collect::<Result<_>>())?;
        Ok(days.into_iter().flatten().collect())
    }

    /// The readings behind the value of a name on a date, with their documents.
    pub fn documents(&self, factor: &str, date: NaiveDate, code: &str, ctx: &Ctx) -> Result<Vec<TracedCell>> {
        let opened = self.open(factor)?;
        let TracedFactor { market, plan, .. } = &*opened;
        let (t, i) = (opened.date(date)?, opened.code(code)?);
        let traced = plan.trace(&opened.signals_of(i), market, t, i);
        let wanted: BTreeSet<u32> = traced.iter().flat_map(|r| &r.shares).map(|share| share.document).collect();
        let known = self.documents_of(&opened, &wanted, ctx)?;
        let cell = |reading: inkstone_lab::factor::ReadingTrace| -> Result<TracedCell> {
            let mut documents = Vec::with_capacity(reading.shares.len());
            for share in &reading.shares {
                let document = known.get(&share.document).context(message!(
                    "因子的一篇文档已不在语料中：请运行 inkstone factor",
                    "a document of the factor is no longer in the corpus: run inkstone factor"
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
        let opened = self.open(factor)?;
        let place = opened.place(document)?;
        let columns = opened.plan.columns_of(reading.wrapping_sub(1));
        let parts = CorpusParts::new(&self.config, &self.base, &self.project);
        let store = Reader::open(&self.project.store()).ok();
        let state = State::read(&self.project)?;
        let made = |feature: &extract::Feature| {
            Some((feature.name.clone(), state.made(&StageId::Extract(feature.name.clone()))?))
        };
        let ids = self.config.feature.iter().filter_map(made).collect();
        let sets = store.as_ref().map(|store| FeatureSets { store, ids: &ids });
        let market = LazyMarket::given(opened.market.clone());
        let inputs = Inputs { market: Some(&market), sets, ..parts.inputs(&self.config, &self.base) };
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
        let opened = self.open(factor)?;
        let code = &opened.market.codes()[opened.code(code)?];
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

    /// The name of a security on a day; if the table has none for it, the first name of the security.
    fn name_of(&self, opened: &TracedFactor, code: usize, day: NaiveDate) -> String {
        let code = &opened.market.codes()[code];
        let mut rows = opened.securities.iter().filter(|row| row.code == *code);
        rows.clone()
            .find(|row| row.holds_on(day))
            .or_else(|| rows.next())
            .map(|row| row.name.clone())
            .unwrap_or_default()
    }

    /// Ids, titles and times of documents, by their number in the corpus.
    fn documents_of(
        &self,
        opened: &TracedFactor,
        wanted: &BTreeSet<u32>,
        ctx: &Ctx,
    ) -> Result<BTreeMap<u32, TracedDocument>> {
        let clean = self.project.clean();
        let mut found = BTreeMap::new();
        let mut by_part: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for &number in wanted {
            by_part.entry(opened.place(number)?.0).or_default().push(number);
        }
        for (part, numbers) in by_part {
            ctx.check()?;
            let wanted = ["doc_id", "kind", "title", "source", "published_at", "first_mention"];
            let frame = frames::read_parquet(&clean.path(part), Some(&wanted))?;
            let text = |name: &str| texts_of(&frame, name);
            let [ids, kinds, titles] = [text("doc_id")?, text("kind")?, text("title")?];
            let [sources, firsts] = [text("source")?, text("first_mention")?];
            let published = times_of(&frame, "published_at")?;
            for number in numbers {
                let row = (number - opened.starts[part]) as usize;
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

    /// The tables of a factor, read anew if a file has changed.
    fn open(&self, name: &str) -> Result<Arc<TracedFactor>> {
        let params = self.config.find_factor(name)?;
        let project = &self.project;
        let files = [project.prices(), project.securities(), project.factor(name), project.signals(name)];
        let file_times: Vec<FileTime> = files.into_iter().chain(project.clean().files()?).map(file_time).collect();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) =
            read.as_ref().filter(|opened| opened.file_times == file_times && opened.factor.name == name)
        {
            return Ok(opened.clone());
        }
        *read = None;
        ensure!(
            project.factor(name).exists() && project.signals(name).exists(),
            "因子 {name:?} 尚未计算，或由不保存信号的版本计算：请运行 inkstone factor",
            "factor {name:?} is not built yet, or was built by a version that kept no signals: run inkstone factor"
        );
        let securities = securities(project)?;
        let market = Arc::new(super::market_with(project, &securities)?);
        let opened = Arc::new(TracedFactor {
            factor: read_factor(name, project, &market)?,
            plan: Plan::new(params)?,
            signals: by_code(read_signals(name, project)?),
            tradability: self.config.backtest.tradability(&market)?,
            market,
            securities,
            starts: starts(&project.clean())?,
            file_times,
        });
        *read = Some(opened.clone());
        Ok(opened)
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
    /// True if the factor has a value on the date of this number.
    fn has_values(&self, t: usize) -> bool {
        self.factor.values.row(t).iter().any(|value| !value.is_nan())
    }

    /// The number of a date on which the factor has values.
    fn date(&self, date: NaiveDate) -> Result<usize> {
        let dates = self.market.dates();
        let t = self.market.calendar().index_of(date);
        t.filter(|t| self.has_values(*t)).with_context(|| {
            let with_values: Vec<usize> = (0..dates.len()).filter(|t| self.has_values(*t)).collect();
            match (with_values.first(), with_values.last()) {
                (Some(&first), Some(&last)) => {
                    let before = with_values.iter().rev().find(|t| dates[**t] <= date).unwrap_or(&first);
                    message!(
                        "因子 {:?} 在 {date} 没有值；它的值从 {} 到 {}，之前最近的在 {}",
                        "factor {:?} has no value on {date}; it has some from {} to {}, the nearest before on {}",
                        self.factor.name,
                        dates[first],
                        dates[last],
                        dates[*before]
                    )
                }
                _ => message!("因子 {:?} 在任何日期都没有值", "factor {:?} has no value on any date", self.factor.name),
            }
        })
    }

    /// The number of a code, however it is written.
    fn code(&self, code: &str) -> Result<usize> {
        let found = self.market.index_of(code);
        let found = found.or_else(|| self.market.index_of(Code::parse(code)?.as_str()));
        found.with_context(|| message!("{code} 不在行情表中", "{code} is not in the price table"))
    }

    /// The signals of a code.
    fn signals_of(&self, code: usize) -> Vec<Signal> {
        let begin = self.signals.partition_point(|signal| (signal.code as usize) < code);
        self.signals[begin..].iter().take_while(|signal| signal.code as usize == code).copied().collect()
    }

    /// Part and row of a document.
    fn place(&self, number: u32) -> Result<(usize, usize)> {
        let part = self.starts.partition_point(|start| *start <= number).wrapping_sub(1);
        ensure!(
            part + 1 < self.starts.len(),
            "语料没有编号 {number} 的文档：请重新计算因子",
            "the corpus has no document number {number}: build the factor again"
        );
        Ok((part, (number - self.starts[part]) as usize))
    }
}

fn by_code(mut signals: Vec<Signal>) -> Vec<Signal> {
    signals.sort_by_key(|signal| signal.code);
    signals
}

fn file_time(path: PathBuf) -> FileTime {
    let written = path.metadata().and_then(|meta| meta.modified()).ok();
    (path, written)
}

/// Number of the first document of each part, then of all documents.
fn starts(clean: &Parts) -> Result<Vec<u32>> {
    let mut starts = vec![0u32];
    for path in clean.files()? {
        starts.push(starts.last().copied().unwrap_or(0) + frames::rows_of_parquet(&path)? as u32);
    }
    Ok(starts)
}
