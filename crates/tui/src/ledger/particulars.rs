//! Everything that the ledger keeps of one trial, and the wealth of its portfolio.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Axis, Block, Borders, Chart, Dataset, GraphType};
use serde_json::Value;

use super::view::{called, kind, rules};
use super::words as w;
use crate::context::PageContext;
use crate::{figures, look, sentences};
use inkstone_lab::ledger::{BookTrial, Series};

use inkstone_base::language::Language;

/// Lines from which the curve stands below the text; with fewer it stands beside it.
const TALL: u16 = 16;

/// The text and the curve; the latter is empty where no returns are kept.
pub(super) fn areas(inner: Rect, trial: &BookTrial) -> [Rect; 2] {
    let kept = returns(trial).is_some();
    if inner.height >= TALL {
        let curve = Constraint::Length(if kept { (inner.height / 2).min(8) } else { 0 });
        return Layout::vertical([Constraint::Min(0), curve]).areas(inner);
    }
    let curve = Constraint::Length(if kept { inner.width * 2 / 5 } else { 0 });
    Layout::horizontal([Constraint::Min(0), curve]).areas(inner)
}

fn returns(trial: &BookTrial) -> Option<&Series> {
    trial.entry.details.as_ref()?.returns.as_ref()
}

/// The lines of text, each of at most so many cells.
pub(super) fn lines(language: Language, trial: &BookTrial, cells: usize) -> Vec<String> {
    let say = |word: crate::words::Word| word.to(language);
    let entry = &trial.entry;
    let mut lines = vec![format!("#{} {}", entry.number, called(language, trial))];
    let when = entry.when.format("%Y-%m-%d %H:%M:%S");
    lines.push(format!("{} · {when} UTC · {}", say(kind(entry.kind)), rules(language, trial)));
    let (runs, kept) = (figures::count(trial.runs), figures::count(trial.kept));
    lines.push(format!("{} {runs} · {} {kept}", say(w::RAN), say(w::KEPT)));
    if entry.group != entry.number {
        lines.push(format!("{} #{}", say(w::GROUP), entry.group));
    }
    if let Some(deletion) = &entry.deleted {
        let day = deletion.when.format("%Y-%m-%d %H:%M");
        lines.push(format!("✗ {} {day}: {}", say(w::DELETED), deletion.reason));
        lines.push(say(w::ONLY_FIGURES).to_owned());
    }
    let looks = &trial.looks;
    if let Some(details) = &entry.details {
        if details.figures.lookahead {
            lines.push(say(w::LOOKAHEAD).to_owned());
        }
        for (horizon, summary) in &details.figures.rank_ic {
            lines.push(format!(
                "{horizon}d RankIC {} ICIR {} t {} n {}",
                figures::rank_ic(summary.mean),
                figures::ratio(summary.icir),
                figures::ratio(summary.t_nw),
                summary.n
            ));
        }
        let book = &details.figures.long_short;
        let [annual, volatility, fall, turnover] =
            [book.annual_return, book.volatility, book.max_drawdown, details.figures.turnover].map(figures::percent);
        lines.push(format!("{} {annual}  {} {volatility}", say(w::ANNUAL), say(w::VOLATILITY)));
        lines.push(format!("{} {fall}  {} {turnover}", say(w::DRAWDOWN), say(w::TURNOVER)));
    }
    let (sharpe, luck) = (figures::ratio(looks.sharpe), figures::ratio(looks.expected_best));
    lines.push(format!("{} {sharpe}  {} {luck}", say(w::SHARPE), say(w::LUCK)));
    let (sure, deflated) =
        (figures::probability(looks.probabilistic_sharpe), figures::probability(looks.deflated_sharpe));
    // Days after which a ratio stands are whole and positive; more than a century says no more than that.
    let needed =
        if looks.days_needed.is_finite() { figures::count(looks.days_needed.ceil() as u64) } else { "–".to_owned() };
    lines.push(format!("{} {sure}  {} {deflated}  {} {needed}", say(w::PSR), say(w::DSR), say(w::NEEDED)));
    lines.push(format!("p {}  q(BH) {}  q(BY) {}", small(looks.p), small(looks.q), small(looks.q_dependent)));
    if let Some(details) = &entry.details {
        if details.returns.is_none() {
            lines.push(say(w::NO_RETURNS).to_owned());
        }
        lines.extend(details.inputs.iter().map(|(name, key)| format!("{} {name} {}", say(w::INPUTS), key.hex())));
        lines.push(format!("{} {}", say(w::VERSION), details.version));
    }
    lines.push(format!("{} {}", say(w::TRIAL), entry.trial.hex()));
    lines.push(format!("{} {}", say(w::SEAL), entry.seal.hex()));
    if let Some(details) = &entry.details {
        lines.push(format!("{}:", say(w::PARAMETERS)));
        flatten("", &details.parameters, &mut lines);
    }
    lines.iter().flat_map(|line| sentences::wrap(line, cells)).collect()
}

/// A p or q: with four decimals, or its size where it has none of them.
fn small(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 { format!("{value:.1e}") } else { figures::number(value, 4) }
}

/// The leaves of parameters, a line each: `  backtest.quantiles = 5`.
pub(super) fn flatten(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, lines);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            for (at, value) in values.iter().enumerate() {
                flatten(&format!("{path}[{at}]"), value, lines);
            }
        }
        _ => lines.push(format!("  {path} = {value}")),
    }
}

/// Draws the wealth of the portfolio beside or below the text, in braille: 1 that grows by the daily returns.
pub(super) fn draw_wealth(context: &PageContext<'_>, trial: &BookTrial, frame: &mut Frame<'_>, inner: Rect) {
    let Some(series) = returns(trial) else { return };
    let [_, area] = areas(inner, trial);
    let mut wealth = 1.0;
    let mut points = vec![(0.0, 1.0)];
    for (day, change) in series.values.iter().enumerate() {
        wealth *= 1.0 + f64::from(*change);
        points.push(((day + 1) as f64, wealth));
    }
    let (low, high) = points.iter().fold((1.0f64, 1.0f64), |(low, high), point| (low.min(point.1), high.max(point.1)));
    let high = if high > low { high } else { low + 1.0 };
    let last = series.values.len() as f64;
    let date = |day: Option<&chrono::NaiveDate>| day.map(|day| day.format("%Y-%m-%d").to_string()).unwrap_or_default();
    let ground = [(0.0, 1.0), (last, 1.0)];
    let line = |points| Dataset::default().marker(look::marker()).graph_type(GraphType::Line).data(points);
    let sets = vec![line(&ground).style(look::DIM), line(&points).style(look::KEY)];
    let x = Axis::default().bounds([0.0, last]).style(look::DIM);
    let x = x.labels([date(series.dates.first()), date(series.dates.last())]);
    let y = Axis::default().bounds([low, high]).style(look::DIM).labels([low, high].map(|v| format!("{v:.2}")));
    let title = format!(" {} {wealth:.2} ", context.say(w::WEALTH));
    let block = Block::new().borders(Borders::TOP).border_style(look::DIM).title(title);
    frame.render_widget(Chart::new(sets).block(block).x_axis(x).y_axis(y).legend_position(None), area);
}
