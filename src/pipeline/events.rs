//! The events of a project: those that the rules of the configuration find in documents, and those of tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;

use super::market::{company_events, lazy_market, named_securities, needed};
use super::project;
use crate::config::Config;
use inkstone_base::code::Code;
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::{bail, ensure};
use inkstone_corpus::clean::{CleanDocument, clean_of_part};
use inkstone_corpus::event::{EventFinder, EventRule, FoundInDocument};
use inkstone_corpus::link::{TextField, links_of_part};
use inkstone_lab::backtest::events::{self, EventStudy, Grouping, events_of_signals};
use inkstone_lab::factor::Signal;
use inkstone_market::{CompanyEvent, EventArguments, Market};
use inkstone_tables::project::Project;

/// A selection of the events of a project.
#[derive(Clone, Copy, Debug)]
pub struct EventQuery<'a> {
    /// Kinds; empty: all.
    pub kinds: &'a [String],
    pub code: Option<&'a Code>,
    /// Events that are listed at the most.
    pub most: usize,
    /// True if these are drawn by the seed; else they are the latest.
    pub sample: bool,
    /// True if the returns around the events of each kind are studied.
    pub study: bool,
}

/// The events of a project.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ListedEvents {
    pub kinds: Vec<ListedKind>,
    /// Sentences with a trigger that name no security for sure.
    pub sentences_without_security: u64,
    /// Sentences whose trigger is denied.
    pub sentences_denied: u64,
    pub events: Vec<ListedEvent>,
}

/// The events of one kind in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct ListedKind {
    pub kind: String,
    pub events: usize,
    /// Events of documents that repeat an earlier one.
    pub repeats: usize,
    pub securities: usize,
    /// Events with each argument.
    pub with: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<EventStudy>,
    /// The reason why there is no study, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_study: Option<Message>,
}

/// An event with its place.
#[derive(Clone, Debug, Serialize)]
pub struct ListedEvent {
    #[serde(flatten)]
    pub event: CompanyEvent,
    /// Name of the security; empty if none is known.
    pub name: String,
    /// True if it is of a document that repeats an earlier one.
    pub repeat: bool,
    /// The place of the event in its document; none for rows of tables.
    #[serde(flatten)]
    pub place: Option<EventPlace>,
}

/// The sentence of an event.
#[derive(Clone, Debug, Serialize)]
pub struct EventPlace {
    pub doc_id: String,
    pub field: TextField,
    pub sentence: String,
    /// First byte of the sentence in the clean field.
    pub start: usize,
    /// Byte after the sentence.
    pub end: usize,
    pub trigger: String,
}

/// The events of the clean and linked corpus of a configuration, whose paths are relative to `base`, and of its tables.
pub fn list_events(config: &Config, base: &Path, query: &EventQuery<'_>, ctx: &Ctx) -> Result<ListedEvents> {
    let project = project(config, base);
    let of_tables = company_events(&project)?;
    let rules: Vec<EventRule> = config
        .event
        .iter()
        .filter(|rule| query.kinds.is_empty() || query.kinds.contains(&rule.name))
        .cloned()
        .collect();
    check_kinds(config, &of_tables, query.kinds)?;
    let mut listed = ListedEvents::default();
    let mut all = Vec::new();
    ctx.stage("event-list", "docs", None, || {
        let mut report = Report::new("event-list");
        let finder = EventFinder::new(&rules, base)?;
        if !rules.is_empty() {
            read_corpus(&project, &finder, &mut listed, &mut all, &mut report, ctx)?;
        }
        report.fact("events_found", all.len());
        Ok(report)
    })?;
    let asked = of_tables.into_iter().filter(|event| query.kinds.is_empty() || query.kinds.contains(&event.kind));
    all.extend(asked.map(|event| ListedEvent { event, name: String::new(), repeat: false, place: None }));
    all.retain(|listed| query.code.is_none_or(|code| listed.event.code == *code));
    let market = if query.study { lazy_market(&project) } else { None };
    let market = if query.study { Some(needed(&market)?) } else { None };
    let kinds: BTreeSet<String> =
        rules.into_iter().map(|rule| rule.name).chain(all.iter().map(|listed| listed.event.kind.clone())).collect();
    for kind in kinds {
        let own: Vec<&ListedEvent> = all.iter().filter(|listed| listed.event.kind == kind).collect();
        let mut counted = counts(kind, &own);
        if let Some(market) = market {
            match study(&own, market, config, ctx) {
                Ok(study) => counted.study = Some(study),
                Err(error) if error.is::<TooLittle>() => counted.without_study = Some(Message::of_error(&error)),
                Err(error) => return Err(error),
            }
        }
        listed.kinds.push(counted);
    }
    let document = |listed: &ListedEvent| listed.place.as_ref().map(|place| place.doc_id.clone());
    if query.sample {
        let seed = config.project.seed;
        all.sort_by_cached_key(|listed| Key::of_json(&(seed, &listed.event, document(listed))));
    } else {
        all.sort_by_cached_key(|listed| {
            let event = &listed.event;
            (std::cmp::Reverse(event.known_at), event.code.clone(), event.kind.clone(), document(listed))
        });
    }
    all.truncate(query.most);
    let names: BTreeMap<Code, String> =
        named_securities(&project)?.into_iter().map(|security| (security.code, security.name)).collect();
    for listed in &mut all {
        listed.name = names.get(&listed.event.code).cloned().unwrap_or_default();
    }
    listed.events = all;
    Ok(listed)
}

fn check_kinds(config: &Config, of_tables: &[CompanyEvent], kinds: &[String]) -> Result<()> {
    let known: BTreeSet<&str> = (config.event.iter().map(|rule| rule.name.as_str()))
        .chain(of_tables.iter().map(|event| event.kind.as_str()))
        .collect();
    ensure!(
        !known.is_empty(),
        "没有事件：请在配置中写 [[event]] 及其 triggers，或添加 table = \"events\" 的 [[source]]",
        "there are no events: write an [[event]] with its triggers in the configuration, or add a [[source]] with table = \"events\""
    );
    if let Some(kind) = kinds.iter().find(|kind| !known.contains(kind.as_str())) {
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        bail!("没有类型为 {kind:?} 的事件；现有：{known}", "there are no events of kind {kind:?}; there are: {known}");
    }
    Ok(())
}

fn read_corpus(
    project: &Project,
    finder: &EventFinder,
    listed: &mut ListedEvents,
    all: &mut Vec<ListedEvent>,
    report: &mut Report,
    ctx: &Ctx,
) -> Result<()> {
    let (clean, links) = (project.clean(), project.links());
    let parts = links.files()?.len();
    ensure!(
        parts > 0 && parts == clean.files()?.len(),
        "文档尚未关联到证券：请运行 inkstone link",
        "the documents are not linked to securities yet: run inkstone link"
    );
    for part in 0..parts {
        let docs = clean_of_part(&clean.path(part))?;
        let links = links_of_part(&links.path(part))?;
        let found: Vec<FoundInDocument> = ctx.install(|| {
            let find = |(row, doc): (usize, &CleanDocument)| finder.find(doc, &links, row as u32);
            docs.par_iter().enumerate().map(find).collect()
        });
        for (doc, found) in docs.iter().zip(found) {
            let document = &doc.document;
            listed.sentences_without_security += found.without_security;
            listed.sentences_denied += found.denied;
            for event in found.events {
                let text = if event.field == TextField::Title { &document.title } else { &document.body };
                let place = EventPlace {
                    doc_id: document.doc_id.clone(),
                    field: event.field,
                    sentence: text[event.sentence.clone()].to_owned(),
                    start: event.sentence.start,
                    end: event.sentence.end,
                    trigger: text[event.trigger].to_owned(),
                };
                let kind = finder.name(event.rule).to_owned();
                let (code, known_at, arguments) = (event.code, event.known_at, event.arguments);
                let event = CompanyEvent { code, kind, known_at, arguments };
                all.push(ListedEvent { event, name: String::new(), repeat: !doc.is_first(), place: Some(place) });
            }
        }
        report.rows_in += docs.len() as u64;
        ctx.advance(docs.len() as u64)?;
    }
    report.rows_out = report.rows_in;
    Ok(())
}

fn counts(kind: String, own: &[&ListedEvent]) -> ListedKind {
    let with = |has_argument: fn(&EventArguments) -> bool| {
        own.iter().filter(|listed| has_argument(&listed.event.arguments)).count()
    };
    ListedKind {
        kind,
        events: own.len(),
        repeats: own.iter().filter(|listed| listed.repeat).count(),
        securities: own.iter().map(|listed| &listed.event.code).collect::<BTreeSet<_>>().len(),
        with: BTreeMap::from([
            ("amount", with(|arguments| arguments.amount.is_some())),
            ("price", with(|arguments| arguments.price.is_some())),
            ("percent", with(|arguments| arguments.percent.is_some())),
            ("shares", with(|arguments| arguments.shares.is_some())),
            ("date", with(|arguments| arguments.date.is_some())),
        ]),
        study: None,
        without_study: None,
    }
}

/// Returns around the events of one kind, which are one group.
fn study(own: &[&ListedEvent], market: &Market, config: &Config, ctx: &Ctx) -> Result<EventStudy> {
    let signal = |listed: &&ListedEvent| {
        let CompanyEvent { code, known_at, .. } = &listed.event;
        let date = market.calendar().trade_date(*known_at, config.market.cutoff).ok()? as u32;
        let code = market.index_of(code.as_str())? as u32;
        let (known_at, first) = (*known_at, !listed.repeat);
        Some(Signal { code, date, known_at, value: 1.0, weight: 1.0, first, document: 0, reading: 0 })
    };
    let signals: Vec<Signal> = own.iter().filter_map(signal).collect();
    let params = events::Params { by: Grouping::Quantile, groups: 1, ..config.events.clone() };
    let (found, _) = events_of_signals(&signals, market, params.first_only);
    Ok(events::run(&found, market, &params, ctx)?.0)
}
