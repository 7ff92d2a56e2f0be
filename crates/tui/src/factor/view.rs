//! Draws the factor page: its figures, its charts, and the values at the cursor.

use chrono::{Datelike, NaiveDate};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::figures::{bar_line, cursor_line, draw_figures, title};
use super::picture::{BacktestPicture, CalendarStep, Horizon, fitting_means};
use super::words as own;
use super::{FactorFocus, FactorPage, LayerChart, PlantedTruth, checks, compare, drill, tear_sheet};
use crate::charts::{Axes, Bars, Curve, bar_at, bars_that_fit, date_at, draw_bars, draw_curves, layer_style, points};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::page::{Table, exact};
use crate::words::{self, Word};
use crate::{figures, look, width};

/// Height from which the figures by year have room.
const TALL: u16 = 32;
/// Width from which what the factor is and how it was tested stand side by side.
const WIDE: u16 = 100;
/// Height from which the fall of the long-short portfolio has a chart of its own below it, and rows of that.
const WITH_FALL: u16 = 12;
const FALL: u16 = 5;

struct Regions {
    warning: Rect,
    /// The line of the planted effect.
    planted: Rect,
    /// The factor, and beside it, where there is room, its test.
    head: [Rect; 2],
    /// RankIC, its sum, layers, long-short.
    charts: [Rect; 4],
    years: Rect,
    cursor: Rect,
}

fn regions(factor: &FactorPage, picture: &BacktestPicture, page: Rect) -> Regions {
    if factor.zoom.is_on() {
        let [chart, cursor] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(page);
        let none = Rect { width: 0, height: 0, ..page };
        let charts = factor.zoom.areas([none; 4], factor.chart_at, chart);
        return Regions { warning: none, planted: none, head: [none; 2], charts, years: none, cursor };
    }
    let years = if page.height >= TALL { picture.outcome.long_short.by_year.len().min(6) as u16 + 3 } else { 0 };
    let wide = page.width >= WIDE;
    let [warning, head, planted, charts, years, cursor] = Layout::vertical([
        Constraint::Length(u16::from(picture.outcome.lookahead)),
        Constraint::Length(if picture.judgement.is_some() && !wide { 6 } else { 5 }),
        Constraint::Length(u16::from(picture.planted.is_some())),
        Constraint::Min(0),
        Constraint::Length(years),
        Constraint::Length(1),
    ])
    .areas(page);
    let beside = |area: Rect, share: u16| -> [Rect; 2] {
        Layout::horizontal([Constraint::Percentage(share), Constraint::Min(0)]).areas(area)
    };
    let [upper, lower] = Layout::vertical([Constraint::Percentage(50), Constraint::Min(0)]).areas(charts);
    let ([bars, sum], [layers, spread]) = (beside(upper, 50), beside(lower, 50));
    let head = beside(head, if wide { 45 } else { 100 });
    Regions { warning, planted, head, charts: [bars, sum, layers, spread], years, cursor }
}

pub(super) enum ClickedFactor {
    /// A date of a curve, or the first one of a bar.
    Date(NaiveDate),
    /// The bar of a quantile, from 0.
    Bar(usize),
}

/// The chart at a place of the page, and what was pressed on it.
pub(super) fn place(
    factor: &FactorPage,
    picture: &BacktestPicture,
    horizon: &Horizon,
    at: Position,
    page: Rect,
) -> Option<(usize, ClickedFactor)> {
    let charts = regions(factor, picture, page).charts.map(look::inside);
    let chart = charts.iter().position(|chart| chart.contains(at))?;
    Some((chart, pressed(factor.chart, picture, horizon, at, charts)?))
}

fn pressed(
    chart: LayerChart,
    picture: &BacktestPicture,
    horizon: &Horizon,
    at: Position,
    [bars, sum, layers, spread]: [Rect; 4],
) -> Option<ClickedFactor> {
    let along =
        |dates: &[NaiveDate], area| date_at(at.x, *dates.first()?, *dates.last()?, area).map(ClickedFactor::Date);
    if bars.contains(at) {
        let means = fitting_means(&horizon.dates, &horizon.rank_ic, bars_that_fit(bars.width as usize)).1;
        return bar_at(at.x, means.len(), bars).map(|bar| ClickedFactor::Date(means[bar].0));
    }
    if sum.contains(at) {
        return along(&horizon.dates, sum);
    }
    if spread.contains(at) {
        return along(&picture.outcome.long_short.dates, spread);
    }
    match chart {
        _ if !layers.contains(at) => None,
        LayerChart::Wealth => along(&picture.outcome.layers.dates, layers),
        LayerChart::Means => bar_at(at.x, horizon.layers.len(), layers).map(ClickedFactor::Bar),
        LayerChart::Decay => None,
    }
}

pub(crate) fn draw(context: &PageContext<'_>, factor: &FactorPage, frame: &mut Frame<'_>, page: Rect) {
    if let Some(matrix) = &factor.matrix {
        return compare::draw(context, matrix, frame, page);
    }
    if let Some(drill) = &factor.drill {
        return drill::draw(context, drill, factor.zoom.is_on(), frame, page);
    }
    let Some(picture) = factor.picture() else {
        let line = match &factor.loaded {
            _ if factor.name.is_none() => Line::raw(context.say(words::NO_FACTOR)),
            Some(loaded) => match loaded.fault() {
                Some(error) => Line::styled(error.to_owned(), look::BAD),
                None => Line::raw(context.say(words::NO_BACKTEST)),
            },
            None => Line::styled(context.say(words::READING), look::DIM),
        };
        return look::message(line, look::pane(title(context, factor, page.width as usize), true), frame, page);
    };
    if let Some(listed) = &factor.checks {
        return checks::draw(context, listed, picture, frame, page);
    }
    if let Some(sheet) = &factor.sheet {
        return tear_sheet::draw(context, sheet, picture, frame, page);
    }
    let regions = regions(factor, picture, page);
    if picture.outcome.lookahead {
        let line = width::left(context.say(words::LOOKAHEAD), regions.warning.width as usize);
        frame.render_widget(Line::styled(line, look::BAD.patch(look::SELECTED)), regions.warning);
    }
    if !regions.head[0].is_empty() {
        draw_figures(context, factor, picture, frame, regions.head);
    }
    if let Some((planted, horizon)) = picture.planted.as_ref().zip(picture.horizons.get(factor.horizon)) {
        frame.render_widget(planted_line(context, planted, horizon, page.width as usize), regions.planted);
    }
    let [bars, sum, layers, spread] = regions.charts;
    let at = factor.cursor.and_then(|i| picture.dates.get(i)).copied();
    if let Some(horizon) = picture.horizons.get(factor.horizon) {
        if !bars.is_empty() {
            draw_rank_ic(context, factor, horizon, at, frame, bars);
        }
        if !sum.is_empty() {
            draw_sum(context, horizon, at, frame, sum);
        }
        if !layers.is_empty() {
            draw_layers(context, factor, picture, horizon, at, frame, layers);
        }
    }
    if !spread.is_empty() {
        draw_spread(context, picture, at, frame, spread);
    }
    if regions.years.height > 0 {
        draw_years(context, picture, frame, regions.years);
    }
    let line = match picture.horizons.get(factor.horizon) {
        Some(horizon) if factor.focus == FactorFocus::Layers => bar_line(context, factor, horizon, page.width as usize),
        _ => cursor_line(context, factor, picture, at, page.width as usize),
    };
    frame.render_widget(line, regions.cursor);
}

/// The planted effect beside the measured one: `植入真值 RankIC 1d +0.041（0.030..0.052）· 测得 +0.040 ✓ 在区间内`.
fn planted_line<'a>(context: &PageContext<'_>, planted: &PlantedTruth, horizon: &Horizon, columns: usize) -> Line<'a> {
    let summary = &horizon.summary;
    let measured = format!("{} {}", context.say(own::MEASURED), figures::rank_ic(summary.mean));
    let (text, good) = if planted.rank_ic.is_empty() {
        let good = summary.p > 0.05;
        let p = format!("{measured} (p {})", figures::number(summary.p, 2));
        let verdict = if good { own::FOUND_NOTHING } else { own::FOUND_SOMETHING };
        (format!("{} · {p} {}", context.say(own::PLANTED_NOTHING), context.say(verdict)), good)
    } else {
        let Some((days, [mean, low, high])) = planted.rank_ic.iter().find(|(days, _)| *days == horizon.days) else {
            let known: Vec<String> = planted.rank_ic.iter().map(|(days, _)| format!("{days}d")).collect();
            let text = format!(" {} {}", context.say(own::PLANTED_AT), known.join(" "));
            return Line::styled(width::cut(&text, columns), look::DIM);
        };
        let good = (*low..=*high).contains(&summary.mean);
        let interval = format!("{}..{}", figures::rank_ic(*low), figures::rank_ic(*high));
        let truth = format!("{} RankIC {days}d {} ({interval})", context.say(own::PLANTED), figures::rank_ic(*mean));
        let verdict = if good { own::INSIDE } else { own::OUTSIDE };
        (format!("{truth} · {measured} {}", context.say(verdict)), good)
    };
    Line::styled(width::cut(&format!(" {text}"), columns), if good { look::GOOD } else { look::NOTE })
}

fn draw_rank_ic(
    context: &PageContext<'_>,
    factor: &FactorPage,
    horizon: &Horizon,
    at: Option<NaiveDate>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let (step, means) = fitting_means(&horizon.dates, &horizon.rank_ic, bars_that_fit(area.width as usize - 2));
    let by = context.say(match step {
        CalendarStep::Week => words::BY_WEEK,
        CalendarStep::Month => words::BY_MONTH,
        CalendarStep::Quarter => words::BY_QUARTER,
        CalendarStep::Year => words::BY_YEAR,
    });
    let title = format!(" RankIC · {by} · {}d ", horizon.days);
    let block = look::pane(title, factor.focus == FactorFocus::Dates);
    let inner = look::framed(block, frame, area);
    let values: Vec<f64> = means.iter().map(|m| m.1).collect();
    let labels = labels(step, &means);
    let marked = at.and_then(|at| means.iter().rposition(|m| m.0 <= at));
    let scale = |v| figures::number(v, 3);
    draw_bars(
        &Bars { values: &values, labels: &labels, marked, scale, red_up: context.workspace.red_up },
        frame,
        inner,
    );
}

/// A year stands under its first bar; where bars are few, each month does.
fn labels(step: CalendarStep, means: &[(NaiveDate, f64)]) -> Vec<String> {
    let by_month = step == CalendarStep::Week || step == CalendarStep::Month && means.len() <= 12;
    let mut before = None;
    let mut label = |date: NaiveDate| {
        let (last, now) = (before, (date.year(), if by_month { date.month() } else { 1 }));
        before = Some(now);
        match last {
            Some(last) if last == now => String::new(),
            Some((year, _)) if year == now.0 => date.format("%m").to_string(),
            None if by_month => date.format("%Y-%m").to_string(),
            _ => date.format("%Y").to_string(),
        }
    };
    means.iter().map(|mean| label(mean.0)).collect()
}

fn draw_sum(context: &PageContext<'_>, horizon: &Horizon, at: Option<NaiveDate>, frame: &mut Frame<'_>, area: Rect) {
    let curve = Curve { name: String::new(), points: points(&horizon.dates, &horizon.sum), style: look::KEY };
    let last = horizon.sum.last().copied().unwrap_or(f64::NAN);
    let block = look::pane(format!(" {} {} ", context.say(words::SUM_OF_IC), figures::signed(last, 2)), false);
    draw_curves(&[curve], at, &Axes::plain(0.0), block, frame, area);
}

fn draw_layers(
    context: &PageContext<'_>,
    factor: &FactorPage,
    picture: &BacktestPicture,
    horizon: &Horizon,
    at: Option<NaiveDate>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let layers = &picture.outcome.layers;
    let percent: fn(f64) -> String = |v| format!("{:.2}%", 100.0 * v);
    let third: fn(f64) -> String = |v| figures::number(v, 3);
    let focused = factor.focus == FactorFocus::Layers;
    match factor.chart {
        LayerChart::Wealth => {}
        LayerChart::Means => {
            let demeaned = if layers.demeaned { format!("{} ", context.say(words::DEMEANED)) } else { String::new() };
            let title = format!(" {} {}d {demeaned}", context.say(words::LAYER_MEANS), horizon.days);
            let marked = Some(factor.bar()).filter(|_| focused);
            let label = |q: usize| format!("{}Q{}", if marked == Some(q) { "▲" } else { "" }, q + 1);
            let labels: Vec<String> = (0..horizon.layers.len()).map(label).collect();
            let red_up = context.workspace.red_up;
            let bars = Bars { values: &horizon.layers, labels: &labels, marked, scale: percent, red_up };
            return draw_labelled(look::pane(title, focused), &bars, frame, area);
        }
        LayerChart::Decay => {
            let decay = &picture.outcome.decay;
            let half_life = figures::number(decay.half_life, 1);
            let (decayed, half) = (context.say(words::DECAY), context.say(words::HALF_LIFE));
            let title = format!(" {decayed} · {half} {half_life} ");
            let below = Line::styled(format!(" {} ", context.say(own::AFTER_TRADE)), look::DIM).right_aligned();
            let labels: Vec<String> = decay.lags.iter().map(usize::to_string).collect();
            let red_up = context.workspace.red_up;
            let bars = Bars { values: &decay.rank_ic, labels: &labels, marked: None, scale: third, red_up };
            return draw_labelled(look::pane(title, false).title_bottom(below), &bars, frame, area);
        }
    }
    let mut title = vec![Span::raw(format!(" {} ", context.say(words::LAYER_WEALTH)))];
    let count = layers.wealth.len();
    let curves: Vec<Curve> = layers
        .wealth
        .iter()
        .enumerate()
        .map(|(q, wealth)| Curve {
            name: format!("Q{}", q + 1),
            points: points(&layers.dates, wealth),
            style: layer_style(q, count, context.workspace.red_up),
        })
        .collect();
    title.extend(curves.iter().map(|c| Span::styled(format!("{} ", c.name), c.style)));
    title.push(Span::styled(format!("{} ", context.say(own::OF_ONE)), look::DIM));
    draw_curves(&curves, at, &Axes::plain(1.0), look::pane(Line::from(title), false), frame, area);
}

fn draw_labelled(block: Block<'_>, bars: &Bars<'_>, frame: &mut Frame<'_>, area: Rect) {
    let inner = look::framed(block, frame, area);
    draw_bars(bars, frame, inner);
}

fn draw_spread(
    context: &PageContext<'_>,
    picture: &BacktestPicture,
    at: Option<NaiveDate>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let book = &picture.outcome.long_short;
    let end = picture.wealth.last().copied().unwrap_or(f64::NAN);
    let fall = format!("{} {}", context.say(words::DRAWDOWN), figures::percent(book.total.max_drawdown));
    let net = format!("{} {}", context.say(words::LONG_SHORT), figures::number(end, 3));
    let below = Line::styled(format!(" {} · {} ", context.say(own::OF_ONE), context.say(own::AFTER_COSTS)), look::DIM);
    let curve = |values: &[f64], style| Curve { name: String::new(), points: points(&book.dates, values), style };
    let grown = curve(&picture.wealth, look::of_sign(end - 1.0, context.workspace.red_up));
    let block = look::pane(format!(" {net} · {fall} "), false).title_bottom(below.right_aligned());
    if area.height < WITH_FALL {
        return draw_curves(&[grown], at, &Axes::plain(1.0), block, frame, area);
    }
    let inner = look::framed(block, frame, area);
    let [upper, lower] = Layout::vertical([Constraint::Min(0), Constraint::Length(FALL)]).areas(inner);
    // Numbers as wide as the first date below them, so that both charts begin in one column.
    let above = Axes { base: 1.0, scale: |value| format!("{value:<6.2}"), dates: false };
    draw_curves(&[grown], at, &above, Block::new(), frame, upper);
    let fallen = curve(&picture.drawdown, look::of_sign(-1.0, context.workspace.red_up));
    let below = Axes { base: 0.0, scale: |value| format!("{:.1}%", 100.0 * value), dates: true };
    draw_curves(&[fallen], at, &below, Block::new(), frame, lower);
}

/// Columns of the figures by year.
const YEARS: [Word; 7] =
    [words::YEAR, words::ANNUAL, words::VOLATILITY, words::SHARPE, words::DRAWDOWN, words::CALMAR, words::HIT_RATE];

fn draw_years(context: &PageContext<'_>, picture: &BacktestPicture, frame: &mut Frame<'_>, area: Rect) {
    let line = |cells: [String; 7]| cells.map(|cell| width::right(&cell, 12)).join(" ");
    let mut lines = vec![Line::styled(line(YEARS.map(|name| context.say(name).to_owned())), look::DIM)];
    let years = &picture.outcome.long_short.by_year;
    for year in years.iter().skip(years.len().saturating_sub(6)) {
        let f = &year.figures;
        let [annual, volatility, drawdown, hits] =
            [f.annual_return, f.volatility, f.max_drawdown, f.hit_rate].map(figures::percent);
        let [sharpe, calmar] = [f.sharpe, f.calmar].map(|v| figures::number(v, 2));
        let cells = [year.year.to_string(), annual, volatility, sharpe, drawdown, calmar, hits];
        lines.push(Line::styled(line(cells), look::of_sign(f.annual_return, context.workspace.red_up)));
    }
    frame.render_widget(
        Paragraph::new(lines).block(look::pane(format!(" {} ", context.say(words::BY_CALENDAR_YEAR)), false)),
        area,
    );
}

/// The figures of the years, as they are copied.
pub(super) fn years(picture: &BacktestPicture, desk: &Desk<'_>) -> Table {
    let book = &picture.outcome.long_short;
    let row = |name: String, f: &inkstone_lab::backtest::PortfolioFigures| {
        let figures = [f.annual_return, f.volatility, f.sharpe, f.max_drawdown, f.calmar, f.hit_rate];
        std::iter::once(name).chain(figures.map(exact)).collect()
    };
    let mut rows: Vec<Vec<String>> =
        book.by_year.iter().map(|year| row(year.year.to_string(), &year.figures)).collect();
    rows.push(row(desk.say(own::ALL_YEARS).to_owned(), &book.total));
    Table::new(desk.language, &YEARS, rows)
}
