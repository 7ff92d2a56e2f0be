//! Two trials beside one another: the settings that differ, then the figures and their differences.

use std::collections::BTreeMap;

use serde_json::Value;

use super::particulars::flatten;
use super::view::called;
use super::words as w;
use crate::words::Word;
use crate::{figures, sentences, width};
use inkstone_base::language::Language;
use inkstone_lab::ledger::BookTrial;

/// Cells of the name of a figure, and of a number.
const NAME: usize = 16;
const NUMBER: usize = 10;

/// A figure of both trials, and how it is written.
type Row = (String, [f64; 2], fn(f64) -> String);

/// The lines of text, each of at most so many cells: first the marked trial, then the selected one.
pub(super) fn lines(language: Language, marked: &BookTrial, selected: &BookTrial, cells: usize) -> Vec<String> {
    let say = |word: Word| word.to(language);
    let named = |trial: &BookTrial| format!("#{} {}", trial.entry.number, called(language, trial));
    let mut lines = vec![format!("{} → {}", named(marked), named(selected)), format!("{}:", say(w::OTHER_SETTINGS))];
    let both = [marked, selected].map(|trial| trial.entry.details.as_ref().map(|details| &details.parameters));
    match both {
        [Some(one), Some(other)] => {
            let differences = differences(one, other);
            if differences.is_empty() {
                lines.push(format!("  {}", say(w::SAME_SETTINGS)));
            }
            lines.extend(differences);
        }
        _ => lines.push(format!("  {}", say(w::DELETED_SETTINGS))),
    }
    let numbers = [marked.entry.number, selected.entry.number].map(|number| format!("#{number}"));
    let head = numbers.iter().map(String::as_str).chain([say(w::DIFFERENCE)]);
    let head: String = head.map(|title| format!(" {}", width::right(title, NUMBER))).collect();
    lines.push(format!("{}{head}", " ".repeat(NAME + 2)));
    for (name, [one, other], write) in rows(language, [marked, selected]) {
        let cells = [write(one), write(other), sign(other - one, write)];
        let cells: String = cells.iter().map(|cell| format!(" {}", width::right(cell, NUMBER))).collect();
        lines.push(format!("  {}{cells}", width::left(&name, NAME)));
    }
    lines.iter().flat_map(|line| sentences::wrap(line, cells)).collect()
}

/// A difference as its figure is written, with its sign.
fn sign(value: f64, write: fn(f64) -> String) -> String {
    if value > 0.0 { format!("+{}", write(value).trim_start_matches('+')) } else { write(value) }
}

/// The parameters that differ: `  backtest.quantiles: 5 → 10`.
fn differences(one: &Value, other: &Value) -> Vec<String> {
    let leaves = |parameters: &Value| -> BTreeMap<String, String> {
        let mut lines = Vec::new();
        flatten("", parameters, &mut lines);
        let split =
            |line: &String| line.trim().split_once(" = ").map(|(path, value)| (path.to_owned(), value.to_owned()));
        lines.iter().filter_map(split).collect()
    };
    let (one, other) = (leaves(one), leaves(other));
    let paths: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let value = |of: &BTreeMap<String, String>, path: &String| of.get(path).cloned().unwrap_or_else(|| "–".to_owned());
    let differing = paths.into_iter().filter(|path| one.get(*path) != other.get(*path));
    differing.map(|path| format!("  {path}: {} → {}", value(&one, path), value(&other, path))).collect()
}

fn rows(language: Language, trials: [&BookTrial; 2]) -> Vec<Row> {
    let say = |word: Word| word.to(language).to_owned();
    let mut rows: Vec<Row> = Vec::new();
    let kept = trials.map(|trial| trial.entry.details.as_ref().map(|details| &details.figures));
    if let [Some(one), Some(other)] = kept {
        for (horizon, summary) in &one.rank_ic {
            let Some(beside) = other.rank_ic.get(horizon) else { continue };
            rows.push((format!("{horizon}d RankIC"), [summary.mean, beside.mean], figures::rank_ic));
            rows.push((format!("{horizon}d ICIR"), [summary.icir, beside.icir], figures::ratio));
            rows.push((format!("{horizon}d t"), [summary.t_nw, beside.t_nw], figures::ratio));
        }
        let books = [&one.long_short, &other.long_short];
        rows.push((say(w::ANNUAL), books.map(|book| book.annual_return), figures::percent));
        rows.push((say(w::VOLATILITY), books.map(|book| book.volatility), figures::percent));
        rows.push((say(w::DRAWDOWN), books.map(|book| book.max_drawdown), figures::percent));
        rows.push((say(w::TURNOVER), [one.turnover, other.turnover], figures::percent));
    }
    rows.push((say(w::SHARPE), trials.map(|trial| trial.looks.sharpe), figures::ratio));
    rows.push((say(w::DSR), trials.map(|trial| trial.looks.deflated_sharpe), |p| figures::number(p, 3)));
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_that_differ_are_told_and_those_of_one_trial_alone() {
        let one = json!({"backtest": {"quantiles": 5, "costs": [1, 2]}, "factor": {"name": "tone"}});
        let other = json!({"backtest": {"quantiles": 10, "costs": [1, 2]}, "factor": {"name": "tone", "decay": 0.9}});
        assert_eq!(differences(&one, &other), ["  backtest.quantiles: 5 → 10", "  factor.decay: – → 0.9"]);
        assert!(differences(&one, &one).is_empty());
        assert_eq!([sign(0.25, figures::ratio), sign(-0.25, figures::ratio)], ["+0.25", "-0.25"]);
    }
}
