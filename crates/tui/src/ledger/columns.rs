//! The columns of the list of trials.

use chrono::Local;

use super::shelf::Shelf;
use super::view::{called, kind, rules};
use super::words as w;
use crate::figures;
use crate::kit::{Cell, Column, TableKind, Value};
use inkstone_base::language::Language;
use inkstone_lab::backtest::IcSummary;
use inkstone_lab::ledger::{BookTrial, EntryKind};

/// A cell with a figure of a trial.
fn figure(
    of: fn(&BookTrial) -> f64,
    written: fn(f64) -> String,
) -> impl for<'a> Fn(&'a Shelf, usize, Language) -> Cell<'a> + Send + Sync {
    move |shelf, row, _| Cell::number(of(&shelf.book.trials[row]), written)
}

fn of_rank_ic(trial: &BookTrial, figure: fn(&IcSummary) -> f64) -> f64 {
    trial.rank_ic().map_or(f64::NAN, |(_, summary)| figure(summary))
}

pub(super) fn table() -> TableKind<Shelf> {
    let signed = |decimals: usize| match decimals {
        4 => |value| figures::signed(value, 4),
        _ => |value| figures::signed(value, 2),
    };
    let columns = vec![
        Column::number("number", w::NUMBER, 5, |shelf: &Shelf, row, _| {
            let number = shelf.book.trials[row].entry.number;
            Cell::of(Value::Number(number as f64)).shown(number.to_string())
        }),
        Column::text("when", w::WHEN, 16, |shelf: &Shelf, row, _| {
            Cell::of(Value::Time(shelf.book.trials[row].entry.when.with_timezone(&Local).naive_local()))
        })
        .narrow(10),
        Column::text("name", w::NAME, 0, |shelf: &Shelf, row, language| {
            let trial = &shelf.book.trials[row];
            Cell::text(listed_name(&called(language, trial), trial.entry.kind))
        }),
        Column::text("kind", w::KIND, 8, |shelf: &Shelf, row, language| {
            Cell::text(kind(shelf.book.trials[row].entry.kind).to(language))
        })
        .where_wide(),
        Column::text("rules", w::RULES, 12, |shelf: &Shelf, row, language| {
            Cell::text(rules(language, &shelf.book.trials[row]))
        }),
        Column::number("runs", w::RUNS, 4, |shelf: &Shelf, row, _| Cell::count(Some(shelf.book.trials[row].runs)))
            .where_wide(),
        Column::number("days", w::DAYS, 5, |shelf: &Shelf, row, _| {
            let trial = &shelf.book.trials[row];
            let moments = trial.entry.moments.map(|moments| moments.days);
            let days = moments.or(trial.rank_ic().map(|(_, summary)| summary.n));
            days.map_or_else(|| Cell::count(None), |days| Cell::of(Value::Number(days as f64)).shown(days.to_string()))
        }),
        Column::number("rank-ic", w::RANK_IC, 7, figure(|trial| of_rank_ic(trial, |ic| ic.mean), signed(4))),
        Column::number("icir", w::ICIR, 6, figure(|trial| of_rank_ic(trial, |ic| ic.icir), signed(2))).where_wide(),
        Column::number("t", w::T, 6, figure(|trial| of_rank_ic(trial, |ic| ic.t_nw), signed(2))),
        Column::number("sharpe", w::SHARPE, 7, figure(|trial| trial.looks.sharpe, signed(2))),
        Column::number("dsr", w::DSR, 5, figure(|trial| trial.looks.deflated_sharpe, |dsr| figures::number(dsr, 3))),
        Column::number("q", w::Q, 7, figure(|trial| trial.looks.q, |q| figures::number(q, 4))).where_wide(),
    ];
    TableKind { columns, key: |shelf, row| shelf.book.trials[row].entry.number.to_string() }
}

/// A name for the list. That of a cell begins with what tells the cell from others: `head:128 · tone · factor`.
fn listed_name(name: &str, kind: EntryKind) -> String {
    let parts: Vec<&str> = name.splitn(3, " · ").collect();
    match (kind, parts.as_slice()) {
        (EntryKind::Cell, [experiment, feature, settings]) => format!("{settings} · {feature} · {experiment}"),
        _ => name.to_owned(),
    }
}
