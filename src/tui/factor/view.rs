//! The picture of the factor page.

use chrono::NaiveDate;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::charts::{Bars, Curve, bars_that_fit, draw_bars, draw_curves, points};
use super::picture::{Horizon, Picture, Step, fitting_means};
use super::{Factor, Judgement, LayerChart, drill};
use crate::tui::app::App;
use crate::tui::words::{self, Word};
use crate::tui::{figures, look, width};

/// Height from which the figures by year have room.
const TALL: u16 = 32;

/// Draws the page.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, page: Rect) {
    let factor = &app.factor;
    if let Some(drill) = &factor.drill {
        return drill::draw(app, drill, frame, page);
    }
    let picture = match &factor.loaded {
        Some(Ok(Some(picture))) => picture,
        Some(Err(error)) => return draw_message(app, Line::styled(error.as_str(), look::BAD), frame, page),
        Some(Ok(None)) => return draw_message(app, Line::raw(app.say(words::NO_BACKTEST)), frame, page),
        None if factor.asked.is_some() => {
            return draw_message(app, Line::styled(app.say(words::READING), look::DIM), frame, page);
        }
        None => return draw_message(app, Line::raw(app.say(words::NO_FACTOR)), frame, page),
    };
    let years = if page.height >= TALL { picture.outcome.long_short.by_year.len().min(6) as u16 + 3 } else { 0 };
    let banner = u16::from(picture.outcome.lookahead);
    let [warning, figures, charts, by_year, cursor] = Layout::vertical([
        Constraint::Length(banner),
        Constraint::Length(if picture.judgement.is_some() { 6 } else { 5 }),
        Constraint::Min(0),
        Constraint::Length(years),
        Constraint::Length(1),
    ])
    .areas(page);
    if picture.outcome.lookahead {
        let line = width::left(app.say(words::LOOKAHEAD), warning.width as usize);
        frame.render_widget(Line::styled(line, look::BAD.patch(look::SELECTED)), warning);
    }
    draw_figures(app, factor, picture, frame, figures);
    let [upper, lower] = Layout::vertical([Constraint::Percentage(50), Constraint::Min(0)]).areas(charts);
    let [bars, sum] = Layout::horizontal([Constraint::Percentage(50), Constraint::Min(0)]).areas(upper);
    let [layers, spread] = Layout::horizontal([Constraint::Percentage(50), Constraint::Min(0)]).areas(lower);
    let at = factor.cursor.and_then(|i| picture.dates.get(i)).copied();
    if let Some(horizon) = picture.horizons.get(factor.horizon) {
        draw_rank_ic(app, horizon, at, frame, bars);
        draw_sum(app, horizon, at, frame, sum);
        draw_layers(app, factor, picture, horizon, at, frame, layers);
    }
    draw_spread(app, picture, at, frame, spread);
    if years > 0 {
        draw_years(app, picture, frame, by_year);
    }
    frame.render_widget(cursor_line(app, factor, picture, at, page.width as usize), cursor);
}

fn draw_message(app: &App, line: Line<'_>, frame: &mut Frame<'_>, page: Rect) {
    let block = look::pane(title(app, page.width as usize), true);
    frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }).block(block), page);
}

/// The factors there are, the one shown bright.
fn title<'a>(app: &App, room: usize) -> Line<'a> {
    let factors = &app.workspace.factors;
    let mut spans = vec![Span::raw(format!(" {} ", app.say(words::FACTOR)))];
    if factors.len() > 1 {
        spans.push(Span::styled(format!("{}/{} ", app.factor.selected + 1, factors.len()), look::DIM));
    }
    let each = (room.saturating_sub(20) / factors.len().clamp(1, 4)).max(8);
    // With many factors the list begins at the one shown.
    for (i, name) in factors.iter().enumerate().skip(app.factor.selected.saturating_sub(1)).take(4) {
        let style = if i == app.factor.selected { look::KEY.patch(look::STRONG) } else { look::DIM };
        spans.push(Span::styled(format!("{} ", width::cut(name, each)), style));
    }
    Line::from(spans)
}

/// A figure after its name, coloured by its sign where a sign is good or bad.
fn figure<'a>(app: &App, name: Word, value: String, sign: Option<f64>) -> [Span<'a>; 2] {
    let style = sign.map_or(look::STRONG, |v| look::of_sign(v, app.workspace.red_up).patch(look::STRONG));
    [Span::styled(format!("{} ", app.say(name)), look::DIM), Span::styled(format!("{value}  "), style)]
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

fn draw_figures(app: &App, factor: &Factor, picture: &Picture, frame: &mut Frame<'_>, area: Rect) {
    let outcome = &picture.outcome;
    let total = &outcome.long_short.total;
    let mut ic = Vec::new();
    if let Some(horizon) = picture.horizons.get(factor.horizon) {
        let s = &horizon.summary;
        ic.push(figure(app, words::HORIZON, format!("{}d", horizon.days), None));
        ic.push(figure(app, words::RANK_IC, figures::number(s.mean, 4), Some(s.mean)));
        ic.push(figure(app, words::ICIR, figures::number(s.icir, 2), Some(s.icir)));
        ic.push(figure(app, words::T_NW, figures::number(s.t_nw, 2), Some(s.t_nw)));
        ic.push(figure(app, words::POSITIVE, figures::percent(s.positive), None));
        ic.push(figure(app, words::DAYS, figures::count(s.n as u64), None));
    }
    let book = vec![
        figure(app, words::ANNUAL, figures::percent(total.annual_return), Some(total.annual_return)),
        figure(app, words::SHARPE, figures::number(total.sharpe, 2), Some(total.sharpe)),
        figure(app, words::DRAWDOWN, figures::percent(total.max_drawdown), Some(total.max_drawdown)),
        figure(app, words::TURNOVER, figures::percent(outcome.turnover), None),
        figure(app, words::COVERAGE, figures::percent(picture.coverage), None),
    ];
    let room = area.width.saturating_sub(2) as usize;
    let alignment = Line::styled(width::cut(&words::alignment(app.language, outcome), room), look::DIM);
    let mut block = look::pane(title(app, room), true);
    if outcome.refused.values > 0 {
        let refused = format!(" {} {} ", app.say(words::REFUSED), figures::count(outcome.refused.values));
        block = block.title_bottom(Line::styled(refused, look::NOTE).right_aligned());
    }
    let mut lines = vec![alignment, figure_line(ic, room), figure_line(book, room)];
    lines.extend(picture.judgement.as_ref().map(|judgement| figure_line(judged(app, judgement), room)));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// What linter and ledger say: `未来函数检查 9/10  已尝试 17 → DSR 0.83`.
fn judged<'a>(app: &App, judgement: &Judgement) -> Vec<[Span<'a>; 2]> {
    let mut said = Vec::new();
    let plain = |name: Word| Span::styled(format!("{} ", app.say(name)), look::DIM);
    if judgement.checks > 0 {
        let (sign, style) = match judgement {
            Judgement { failed: 0, warned: 0, .. } => (" ✓".to_owned(), look::GOOD),
            Judgement { failed: 0, warned, .. } => (format!(" !{warned}"), look::NOTE),
            Judgement { failed, .. } => (format!(" ✗{failed}"), look::BAD),
        };
        let tally = format!("{}/{}{sign}  ", judgement.passed, judgement.checks);
        said.push([plain(words::LOOK_AHEAD_CHECK), Span::styled(tally, style)]);
    }
    if judgement.trials > 0 {
        let tried = figures::count(judgement.trials);
        let worth = format!("{tried} → DSR {}  ", figures::number(judgement.deflated_sharpe, 2));
        said.push([plain(words::TRIED), Span::styled(worth, look::STRONG)]);
    }
    if judgement.ledger_changed {
        said.push([Span::raw(""), Span::styled(app.say(words::LEDGER_CHANGED), look::BAD)]);
    }
    said
}

fn draw_rank_ic(app: &App, horizon: &Horizon, at: Option<NaiveDate>, frame: &mut Frame<'_>, area: Rect) {
    let (step, means) = fitting_means(&horizon.dates, &horizon.rank_ic, bars_that_fit(area.width as usize - 2));
    let by = app.say(match step {
        Step::Month => words::BY_MONTH,
        Step::Quarter => words::BY_QUARTER,
        Step::Year => words::BY_YEAR,
    });
    let block = look::pane(format!(" RankIC · {by} "), false);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let values: Vec<f64> = means.iter().map(|m| m.1).collect();
    // A year stands under its first bar.
    let year = |date: &NaiveDate| date.format("%Y").to_string();
    let mut labels: Vec<String> = means.iter().map(|m| year(&m.0)).collect();
    for i in (1..labels.len()).rev() {
        if labels[i] == labels[i - 1] {
            labels[i].clear();
        }
    }
    let marked = at.and_then(|at| means.iter().rposition(|m| m.0 <= at));
    let scale = |v| figures::number(v, 3);
    draw_bars(&Bars { values: &values, labels: &labels, marked, scale, red_up: app.workspace.red_up }, frame, inner);
}

fn draw_sum(app: &App, horizon: &Horizon, at: Option<NaiveDate>, frame: &mut Frame<'_>, area: Rect) {
    let curve = Curve { name: String::new(), points: points(&horizon.dates, &horizon.sum), style: look::KEY };
    let last = horizon.sum.last().copied().unwrap_or(f64::NAN);
    let block = look::pane(format!(" {} {} ", app.say(words::SUM_OF_IC), figures::signed(last, 2)), false);
    draw_curves(&[curve], at, 0.0, block, frame, area);
}

fn draw_layers(
    app: &App,
    factor: &Factor,
    picture: &Picture,
    horizon: &Horizon,
    at: Option<NaiveDate>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let layers = &picture.outcome.layers;
    let percent: fn(f64) -> String = |v| format!("{:.2}%", 100.0 * v);
    let plain: fn(f64) -> String = |v| figures::number(v, 3);
    match factor.chart {
        LayerChart::Wealth => {}
        LayerChart::Means => {
            let demeaned = if layers.demeaned { app.say(words::DEMEANED) } else { "" };
            let title = format!(" {} {}d {demeaned} ", app.say(words::LAYER_MEANS), horizon.days);
            let labels = (1..=horizon.layers.len()).map(|q| format!("Q{q}")).collect();
            return draw_labelled(app, title, &horizon.layers, labels, percent, frame, area);
        }
        LayerChart::Decay => {
            let decay = &picture.outcome.decay;
            let half_life = figures::number(decay.half_life, 1);
            let title = format!(" {} · {} {half_life} ", app.say(words::DECAY), app.say(words::HALF_LIFE));
            let labels = decay.lags.iter().map(usize::to_string).collect();
            return draw_labelled(app, title, &decay.rank_ic, labels, plain, frame, area);
        }
    }
    let mut title = vec![Span::raw(format!(" {} ", app.say(words::LAYER_WEALTH)))];
    let count = layers.wealth.len();
    let curves: Vec<Curve> = layers
        .wealth
        .iter()
        .enumerate()
        .map(|(q, wealth)| Curve {
            name: format!("Q{}", q + 1),
            points: points(&layers.dates, wealth),
            style: layer_style(q, count, app.workspace.red_up),
        })
        .collect();
    title.extend(curves.iter().map(|c| Span::styled(format!("{} ", c.name), c.style)));
    draw_curves(&curves, at, 1.0, look::pane(Line::from(title), false), frame, area);
}

fn draw_labelled(
    app: &App,
    title: String,
    values: &[f64],
    labels: Vec<String>,
    scale: fn(f64) -> String,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let block = look::pane(title, false);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let bars = Bars { values, labels: &labels, marked: None, scale, red_up: app.workspace.red_up };
    draw_bars(&bars, frame, inner);
}

/// The lowest and the highest layer in the colours of loss and gain, those between in others.
fn layer_style(layer: usize, count: usize, red_up: bool) -> Style {
    const BETWEEN: [Color; 4] = [Color::Blue, Color::Cyan, Color::Yellow, Color::Magenta];
    match layer {
        0 => look::of_sign(-1.0, red_up),
        l if l + 1 == count => look::of_sign(1.0, red_up),
        l => Style::new().fg(BETWEEN[(l - 1) % BETWEEN.len()]),
    }
}

fn draw_spread(app: &App, picture: &Picture, at: Option<NaiveDate>, frame: &mut Frame<'_>, area: Rect) {
    let book = &picture.outcome.long_short;
    let end = picture.wealth.last().copied().unwrap_or(f64::NAN);
    let title = format!(
        " {} {} · {} {} ",
        app.say(words::LONG_SHORT),
        figures::number(end, 3),
        app.say(words::DRAWDOWN),
        figures::percent(book.total.max_drawdown)
    );
    let curve = Curve {
        name: String::new(),
        points: points(&book.dates, &picture.wealth),
        style: look::of_sign(end - 1.0, app.workspace.red_up),
    };
    draw_curves(&[curve], at, 1.0, look::pane(title, false), frame, area);
}

fn draw_years(app: &App, picture: &Picture, frame: &mut Frame<'_>, area: Rect) {
    let names =
        [words::YEAR, words::ANNUAL, words::VOLATILITY, words::SHARPE, words::DRAWDOWN, words::CALMAR, words::HIT_RATE];
    let line = |cells: [String; 7]| cells.map(|cell| width::right(&cell, 12)).join(" ");
    let mut lines = vec![Line::styled(line(names.map(|n| app.say(n).to_owned())), look::DIM)];
    let years = &picture.outcome.long_short.by_year;
    for year in years.iter().skip(years.len().saturating_sub(6)) {
        let f = &year.figures;
        let [annual, volatility, drawdown, hits] =
            [f.annual_return, f.volatility, f.max_drawdown, f.hit_rate].map(figures::percent);
        let [sharpe, calmar] = [f.sharpe, f.calmar].map(|v| figures::number(v, 2));
        let cells = [year.year.to_string(), annual, volatility, sharpe, drawdown, calmar, hits];
        lines.push(Line::styled(line(cells), look::of_sign(f.annual_return, app.workspace.red_up)));
    }
    frame.render_widget(
        Paragraph::new(lines).block(look::pane(format!(" {} ", app.say(words::BY_CALENDAR_YEAR)), false)),
        area,
    );
}

/// The values at the date of the cursor; before it was moved, how to move it.
fn cursor_line<'a>(app: &App, factor: &Factor, picture: &Picture, at: Option<NaiveDate>, columns: usize) -> Line<'a> {
    let Some(at) = at else {
        let span = match (picture.dates.first(), picture.dates.last()) {
            (Some(first), Some(last)) => format!(" {first}..{last}  "),
            _ => String::new(),
        };
        return Line::from(vec![Span::raw(span), Span::styled(app.say(words::MOVE_CURSOR), look::DIM)]);
    };
    let mut line = vec![[Span::raw(" "), Span::styled(format!("{at}  "), look::STRONG)]];
    if let Some(horizon) = picture.horizons.get(factor.horizon)
        && let Ok(i) = horizon.dates.binary_search(&at)
    {
        let rank_ic = value_at(&horizon.rank_ic, i);
        line.push(figure(app, words::RANK_IC, figures::signed(rank_ic, 3), Some(rank_ic)));
        line.push(figure(app, words::SUM, figures::signed(value_at(&horizon.sum, i), 2), None));
    }
    let book = &picture.outcome.long_short;
    if let Ok(i) = book.dates.binary_search(&at) {
        line.push(figure(app, words::NET, figures::number(value_at(&picture.wealth, i), 3), None));
        line.push(figure(app, words::FALL, figures::percent(value_at(&picture.drawdown, i)), None));
        let day = 100.0 * value_at(&book.net, i);
        line.push(figure(app, words::DAY_RETURN, format!("{} %", figures::signed(day, 2)), Some(day)));
    }
    let coverage = &picture.outcome.coverage;
    if let Ok(i) = coverage.dates.binary_search(&at) {
        let names = |counts: &[u32]| counts.get(i).map_or("–".to_owned(), |n| figures::count(u64::from(*n)));
        let value = format!("{}/{}", names(&coverage.names), names(&coverage.universe));
        line.push(figure(app, words::NAMES, value, None));
    }
    figure_line(line, columns)
}

/// A value of a series; NaN where a file has fewer values than dates.
fn value_at(values: &[f64], i: usize) -> f64 {
    values.get(i).copied().unwrap_or(f64::NAN)
}
