//! `events`: the events of a project, each with its sentence, and the returns around them.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::is_batch;
use super::opened::OpenProject;
use super::project::batch_on;
use crate::cli::{Events as Args, Global};
use crate::headless::{self, Summary};
use crate::pipeline::{self, EventQuery, ListedEvent, ListedEvents, ListedKind};
use inkstone_base::code::Code;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::message;
use inkstone_base::width::{left, right, shown};
use inkstone_lab::backtest::events::EventTest;
use inkstone_market::EventArguments;

/// The test that the table shows: it allows for events that share days and names.
const TEST: &str = "clustered";

/// Prints the events as JSON, and on a terminal as tables.
pub(super) fn run(args: &Args, global: &Global) -> Result<ExitCode> {
    let opened = OpenProject::read(&args.project.config, "events", global);
    let work = |opened: &OpenProject, ctx: &Ctx| {
        let code = args.code.as_deref().map(|code| {
            Code::parse(code).with_context(|| message!("{code:?} 不是证券代码", "{code:?} is no code of a security"))
        });
        let code = code.transpose()?;
        let query = EventQuery {
            kinds: &args.kinds,
            code: code.as_ref(),
            most: args.top,
            sample: args.sample,
            study: args.study,
        };
        pipeline::list_events(&opened.config, &opened.base, &query, ctx)
    };
    if !is_batch(global) {
        let opened = opened?;
        let listed = work(&opened, &opened.ctx()?)?;
        headless::print(&shown(&tables(&listed)))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(batch_on("events", opened, |opened, ctx| {
        let ListedEvents { kinds, sentences_without_security, sentences_denied, events } = work(&opened, ctx)?;
        let mut summary = Summary::default();
        summary.set_note(&opened.config.project.note);
        summary.set("kinds", kinds);
        summary.set("sentences_without_security", sentences_without_security);
        summary.set("sentences_denied", sentences_denied);
        summary.set("events", events);
        Ok(summary)
    }))
}

/// A line a kind, the study where there is one, and two lines an event.
fn tables(listed: &ListedEvents) -> String {
    let mut text = String::new();
    let heads = [
        Word("事件", "events"),
        Word("转载", "repeats"),
        Word("证券", "securities"),
        Word("金额", "amount"),
        Word("价格", "price"),
        Word("比例", "percent"),
        Word("股数", "shares"),
        Word("日期", "date"),
    ];
    let _ = write!(text, "{}", left(&Word("类型", "kind").to_string(), 16));
    heads.iter().for_each(|head| text += &right(&head.to_string(), 12));
    text.push('\n');
    for kind in &listed.kinds {
        let with = ["amount", "price", "percent", "shares", "date"].map(|name| kind.with[name]);
        let _ = write!(text, "{}", left(&kind.kind, 16));
        for count in [kind.events, kind.repeats, kind.securities].into_iter().chain(with) {
            text += &right(&count.to_string(), 12);
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{}",
        message!(
            "未计入：{} 句主体不明，{} 句被否定",
            "not counted: {} sentences of no certain security, {} that are denied",
            listed.sentences_without_security,
            listed.sentences_denied
        )
    );
    studies(&listed.kinds, &mut text);
    for ListedEvent { event, name, repeat, place } in &listed.events {
        let mark = if *repeat { Word("（转载）", " (repeat)").to_string() } else { String::new() };
        let _ = writeln!(
            text,
            "\n{}  {} {name}  {}{mark}  {}",
            event.known_at.format("%Y-%m-%d %H:%M"),
            event.code,
            event.kind,
            arguments(&event.arguments)
        );
        if let Some(place) = place {
            let _ = writeln!(
                text,
                "    {}  {}",
                place.doc_id,
                place.sentence.replacen(&place.trigger, &format!("【{}】", place.trigger), 1)
            );
        }
    }
    text
}

/// A line a kind: its events, and for each part of the window the mean abnormal return with its t.
fn studies(kinds: &[ListedKind], text: &mut String) {
    let tests = |kind: &ListedKind| -> Vec<EventTest> {
        let group = kind.study.as_ref().and_then(|study| study.groups.first());
        group.iter().flat_map(|group| &group.tests).filter(|test| test.test == TEST).cloned().collect()
    };
    if let Some(first) = kinds.iter().map(tests).find(|tests| !tests.is_empty()) {
        let title = message!(
            "事件前后的异常收益（t 按日期与证券聚类）",
            "abnormal returns around events (t clustered by day and code)"
        );
        let _ = writeln!(text, "\n{title}");
        let _ = write!(text, "{}{}", left("", 16), right(&Word("事件", "events").to_string(), 10));
        first.iter().for_each(|test| *text += &right(&format!("{}..{}", test.days.0, test.days.1), 20));
        text.push('\n');
    }
    for kind in kinds {
        if let Some(reason) = &kind.without_study {
            let _ = writeln!(text, "{}{reason}", left(&kind.kind, 16));
        }
        let Some(group) = kind.study.as_ref().and_then(|study| study.groups.first()) else { continue };
        let _ = write!(text, "{}{}", left(&kind.kind, 16), right(&group.events.to_string(), 10));
        for test in tests(kind) {
            *text += &right(&format!("{:+.2}% ({:.1})", test.mean * 100.0, test.statistic), 20);
        }
        text.push('\n');
    }
}

/// The arguments that are given, with their units.
fn arguments(arguments: &EventArguments) -> String {
    let EventArguments { amount, price, percent, shares, date } = arguments;
    let money = |yuan: f64| {
        let (hundred_million, ten_thousand, million) = (yuan / 1e8, yuan / 1e4, yuan / 1e6);
        match yuan {
            big if big >= 1e8 => message!("{hundred_million:.4} 亿元", "CNY {million:.2} million"),
            big if big >= 1e4 => message!("{ten_thousand:.4} 万元", "CNY {million:.4} million"),
            _ => message!("{yuan} 元", "CNY {yuan}"),
        }
    };
    let parts = [
        amount.map(|amount| money(amount).to_string()),
        price.map(|price| message!("每股 {price} 元", "CNY {price} a share").to_string()),
        percent.map(|percent| format!("{:.4}%", percent * 100.0)),
        shares.map(|shares| message!("{shares:.0} 股", "{shares:.0} shares").to_string()),
        date.map(|date| date.to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}
