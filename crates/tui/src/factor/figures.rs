//! The figures of the factor page: what the factor is, how it was tested, and the values at the cursor.

use chrono::NaiveDate;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::picture::{BacktestPicture, Horizon};
use super::words as own;
use super::{FactorPage, Judgement};
use crate::context::PageContext;
use crate::words::{self, Word};
use crate::{figures, look, width};

use inkstone_base::language::Language;

/// Names of factors in the title.
const NAMES: usize = 4;

/// The factors there are, the one shown bright.
pub(super) fn title<'a>(context: &PageContext<'_>, factor: &FactorPage, room: usize) -> Line<'a> {
    let factors = &context.workspace.factors;
    let mut spans = vec![Span::raw(format!(" {} ", context.say(words::FACTOR)))];
    if factors.len() > 1 {
        spans.push(Span::styled(format!("{}/{} ", factor.selected + 1, factors.len()), look::DIM));
    }
    let each = (room.saturating_sub(20) / factors.len().clamp(1, NAMES)).max(8);
    // With many factors the list begins before the one shown.
    let first = factor.selected.saturating_sub(1);
    for (i, name) in factors.iter().enumerate().skip(first).take(NAMES) {
        let style = if i == factor.selected { look::KEY.patch(look::STRONG) } else { look::DIM };
        spans.push(Span::styled(format!("{} ", width::cut(name, each)), style));
    }
    if first + NAMES < factors.len() {
        spans.push(Span::styled("… ", look::DIM));
    }
    Line::from(spans)
}

/// A figure after its name, coloured by its sign where a sign is good or bad.
fn figure<'a>(context: &PageContext<'_>, name: Word, value: String, sign: Option<f64>) -> [Span<'a>; 2] {
    let style = sign.map_or(look::STRONG, |v| look::of_sign(v, context.workspace.red_up).patch(look::STRONG));
    [Span::styled(format!("{} ", context.say(name)), look::DIM), Span::styled(format!("{value}  "), style)]
}

/// Figures in one line, as many as fit whole.
fn figure_line<'a>(figures: Vec<[Span<'a>; 2]>, columns: usize) -> Line<'a> {
    let mut spans = Vec::new();
    let mut used = 0;
    for figure in figures {
        let wide: usize = figure.iter().map(|s| width::width(s.content.trim_end())).sum::<usize>() + 1;
        if used + wide > columns {
            break;
        }
        used += wide + 2;
        spans.extend(figure);
    }
    Line::from(spans)
}

pub(super) fn draw_figures(
    context: &PageContext<'_>,
    factor: &FactorPage,
    picture: &BacktestPicture,
    frame: &mut Frame<'_>,
    [area, beside]: [Rect; 2],
) {
    let outcome = &picture.outcome;
    let total = &outcome.long_short.total;
    let wide = beside.width > 0;
    let horizon = picture.horizons.get(factor.horizon);
    let held = horizon.map(|horizon| format!("{}d", horizon.days)).unwrap_or_default();
    let mut ic = Vec::new();
    if let Some(horizon) = horizon {
        let s = &horizon.summary;
        if !wide {
            ic.push(figure(context, words::HORIZON, held.clone(), None));
        }
        ic.push(figure(context, words::RANK_IC, figures::rank_ic(s.mean), Some(s.mean)));
        ic.push(figure(context, words::ICIR, figures::ratio(s.icir), Some(s.icir)));
        ic.push(figure(context, words::T_NW, figures::ratio(s.t_nw), Some(s.t_nw)));
        ic.push(figure(context, words::POSITIVE, figures::percent(s.positive), None));
        ic.push(figure(context, words::DAYS, figures::count(s.n as u64), None));
    }
    let coverage = figure(context, words::COVERAGE, figures::percent(picture.coverage), None);
    let mut book = vec![
        figure(context, words::ANNUAL, figures::percent(total.annual_return), Some(total.annual_return)),
        figure(context, words::SHARPE, figures::ratio(total.sharpe), Some(total.sharpe)),
        figure(context, words::DRAWDOWN, figures::percent(total.max_drawdown), Some(total.max_drawdown)),
        figure(context, words::TURNOVER, figures::percent(outcome.long_short.mean_turnover()), None),
    ];
    let room = |area: Rect| area.width.saturating_sub(2) as usize;
    let alignment = words::alignment(context.language, outcome);
    let mut block = look::pane(title(context, factor, room(area)), false);
    if outcome.refused.values > 0 {
        let refused = format!(" {} {} ", context.say(words::REFUSED), figures::count(outcome.refused.values));
        block = block.title_bottom(Line::styled(refused, look::NOTE).right_aligned());
    }
    let judged = picture.judgement.as_ref().map(|judgement| judged(context, judgement));
    if wide {
        let span = match (picture.dates.first(), picture.dates.last()) {
            (Some(first), Some(last)) => format!("{first}..{last}"),
            _ => "–".to_owned(),
        };
        let dates = figure(context, own::KNOWN_FROM, span, None);
        let aligned = format!("{} {alignment}", context.say(own::ALIGNED));
        let lines = vec![figure_line(vec![dates, coverage], room(area)), Line::styled(aligned, look::DIM)];
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), area);
        let mut lines = vec![figure_line(ic, room(beside)), figure_line(book, room(beside))];
        lines.extend(judged.map(|judged| figure_line(judged, room(beside))));
        let title = format!(" {} · {} {held} ", context.say(own::TESTS), context.say(words::HORIZON));
        return frame.render_widget(Paragraph::new(lines).block(look::pane(title, false)), beside);
    }
    book.push(coverage);
    let alignment = Line::styled(width::cut(&alignment, room(area)), look::DIM);
    let mut lines = vec![alignment, figure_line(ic, room(area)), figure_line(book, room(area))];
    lines.extend(judged.map(|judged| figure_line(judged, room(area))));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The verdict of linter and ledger: `未来函数检查 9/10  已试验 17 → DSR 0.83`.
fn judged<'a>(context: &PageContext<'_>, judgement: &Judgement) -> Vec<[Span<'a>; 2]> {
    let mut facts = Vec::new();
    let plain = |name: Word| Span::styled(format!("{} ", context.say(name)), look::DIM);
    if judgement.checks > 0 {
        let (sign, style) = match judgement {
            Judgement { failed: 0, warned: 0, .. } => (" ✓".to_owned(), look::GOOD),
            Judgement { failed: 0, warned, .. } => (format!(" !{warned}"), look::NOTE),
            Judgement { failed, .. } => (format!(" ✗{failed}"), look::BAD),
        };
        let tally = format!("{}/{}{sign}  ", judgement.passed, judgement.checks);
        facts.push([plain(words::LOOK_AHEAD_CHECK), Span::styled(tally, style)]);
    } else {
        let undone = format!("{}  ", context.say(own::UNLINTED));
        facts.push([plain(words::LOOK_AHEAD_CHECK), Span::styled(undone, look::NOTE)]);
    }
    if judgement.trials > 0 {
        let tried = match context.language {
            Language::Zh => format!("{} 次", figures::count(judgement.trials)),
            Language::En => format!("{} times", figures::count(judgement.trials)),
        };
        let worth = format!("{tried} → DSR {}  ", figures::probability(judgement.deflated_sharpe));
        facts.push([plain(words::TRIED), Span::styled(worth, look::STRONG)]);
    }
    if judgement.ledger_changed {
        facts.push([Span::raw(""), Span::styled(context.say(words::LEDGER_CHANGED), look::BAD)]);
    }
    facts
}

/// The figures of the quantile whose bar is marked.
pub(super) fn bar_line<'a>(
    context: &PageContext<'_>,
    factor: &FactorPage,
    horizon: &Horizon,
    columns: usize,
) -> Line<'a> {
    let bar = factor.bar();
    let mean = 100.0 * value_at(&horizon.layers, bar);
    let mut figures = vec![
        [Span::raw(" "), Span::styled(format!("Q{}/{}  ", bar + 1, horizon.layers.len()), look::STRONG)],
        figure(context, own::MEAN_RETURN, format!("{} %", figures::signed(mean, 3)), Some(mean)),
    ];
    let error = 100.0 * value_at(&horizon.errors, bar);
    if error.is_finite() {
        figures.push(figure(context, own::STANDARD_ERROR, format!("{} %", figures::number(error, 3)), None));
    }
    figures.push([Span::raw(""), Span::styled(format!("{}  ", context.say(own::CHOOSE_BAR)), look::DIM)]);
    figure_line(figures, columns)
}

/// The values at the date of the cursor; before it was moved, how to move it.
pub(super) fn cursor_line<'a>(
    context: &PageContext<'_>,
    factor: &FactorPage,
    picture: &BacktestPicture,
    at: Option<NaiveDate>,
    columns: usize,
) -> Line<'a> {
    let Some(at) = at else {
        let span = match (picture.dates.first(), picture.dates.last()) {
            (Some(first), Some(last)) => format!(" {first}..{last}  "),
            _ => String::new(),
        };
        return Line::from(vec![Span::raw(span), Span::styled(context.say(words::MOVE_CURSOR), look::DIM)]);
    };
    let mut line = vec![[Span::raw(" "), Span::styled(format!("{at}  "), look::STRONG)]];
    if let Some(horizon) = picture.horizons.get(factor.horizon)
        && let Ok(i) = horizon.dates.binary_search(&at)
    {
        let rank_ic = value_at(&horizon.rank_ic, i);
        line.push(figure(context, words::RANK_IC, figures::signed(rank_ic, 3), Some(rank_ic)));
        line.push(figure(context, words::SUM, figures::signed(value_at(&horizon.sum, i), 2), None));
    }
    let book = &picture.outcome.long_short;
    if let Ok(i) = book.dates.binary_search(&at) {
        line.push(figure(context, words::NET, figures::number(value_at(&picture.wealth, i), 3), None));
        line.push(figure(context, words::FALL, figures::percent(value_at(&picture.drawdown, i)), None));
        let day = 100.0 * value_at(&book.net, i);
        line.push(figure(context, words::DAY_RETURN, format!("{} %", figures::signed(day, 2)), Some(day)));
    }
    let coverage = &picture.outcome.coverage;
    if let Ok(i) = coverage.dates.binary_search(&at) {
        let names = |counts: &[u32]| counts.get(i).map_or("–".to_owned(), |n| figures::count(u64::from(*n)));
        let value = format!("{}/{}", names(&coverage.names), names(&coverage.universe));
        line.push(figure(context, words::NAMES, value, None));
    }
    figure_line(line, columns)
}

/// A value of a series; NaN where a file has fewer values than dates.
fn value_at(values: &[f64], i: usize) -> f64 {
    values.get(i).copied().unwrap_or(f64::NAN)
}
