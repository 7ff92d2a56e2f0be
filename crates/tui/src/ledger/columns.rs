//! The columns of the list of trials.

use chrono::Local;

use super::shelf::Shelf;
use super::view::{called, kind, rules};
use super::words as w;
use crate::kit::{Cell, ListSheet, SheetRow, Value, number, text};
use crate::{figures, look};
use inkstone_base::language::Language;
use inkstone_lab::backtest::IcSummary;
use inkstone_lab::ledger::{BookTrial, EntryKind};

/// Lists the trials that hold a text.
pub(super) fn fill(sheet: &mut ListSheet, shelf: &Shelf, filter: &str, language: Language) {
    sheet.fill(filter, language, || {
        let columns = vec![
            number("number", w::NUMBER, 5),
            text("when", w::WHEN, 16).narrow(10),
            text("name", w::NAME, 0),
            text("kind", w::KIND, 8).where_wide(),
            text("rules", w::RULES, 12),
            number("runs", w::RUNS, 4).where_wide(),
            number("days", w::DAYS, 5),
            number("rank-ic", w::RANK_IC, 7),
            number("icir", w::ICIR, 6).where_wide(),
            number("t", w::T, 6),
            number("sharpe", w::SHARPE, 7),
            number("dsr", w::DSR, 5),
            number("q", w::Q, 7).where_wide(),
        ];
        (columns, shelf.trials(filter).into_iter().map(|trial| row(trial, language)).collect())
    });
}

fn row(trial: &BookTrial, language: Language) -> SheetRow {
    let entry = &trial.entry;
    let rank_ic = |figure: fn(&IcSummary) -> f64| trial.rank_ic().map_or(f64::NAN, |(_, summary)| figure(summary));
    let signed = |value: f64, decimals: usize| Cell::number(value, |value| figures::signed(value, decimals));
    let unsigned = |value: f64, decimals: usize| Cell::number(value, |value| figures::number(value, decimals));
    // Numbers of entries and of days stand without separators.
    let digits = |number: u64| Cell::of(Value::Number(number as f64)).shown(number.to_string());
    let days = entry.moments.map(|moments| moments.days).or(trial.rank_ic().map(|(_, summary)| summary.n));
    let cells = vec![
        digits(entry.number),
        Cell::of(Value::Time(entry.when.with_timezone(&Local).naive_local())),
        Cell::text(listed_name(&called(language, trial), entry.kind)),
        Cell::text(kind(entry.kind).to(language)),
        Cell::text(rules(language, trial)),
        Cell::count(Some(trial.runs)),
        days.map_or_else(|| Cell::count(None), |days| digits(days as u64)),
        signed(rank_ic(|ic| ic.mean), 4),
        signed(rank_ic(|ic| ic.icir), 2),
        signed(rank_ic(|ic| ic.t_nw), 2),
        signed(trial.looks.sharpe, 2),
        unsigned(trial.looks.deflated_sharpe, 3),
        unsigned(trial.looks.q, 4),
    ];
    let style = match &entry.details {
        None => look::DIM,
        Some(details) if details.figures.lookahead => look::BAD,
        Some(_) => look::PLAIN,
    };
    SheetRow { key: entry.number.to_string(), style, cells }
}

/// A name for the list. That of a cell begins with what tells the cell from others: `head:128 · tone · factor`.
fn listed_name(name: &str, kind: EntryKind) -> String {
    let parts: Vec<&str> = name.splitn(3, " · ").collect();
    match (kind, parts.as_slice()) {
        (EntryKind::Cell, [experiment, feature, settings]) => format!("{settings} · {feature} · {experiment}"),
        _ => name.to_owned(),
    }
}
