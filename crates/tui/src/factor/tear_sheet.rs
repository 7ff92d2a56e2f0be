//! The tear sheet of a factor: months, falls, rolling figures and styles, as a text that is scrolled.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::picture::BacktestPicture;
use super::words as own;
use crate::action::Action;
use crate::charts::signed_bar;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::list::moved;
use crate::page::{Table, exact};
use crate::words::{self, Word};
use crate::{figures, look, width};
use inkstone_lab::backtest::{
    MonthReturn, Outcome, ROLLING_DATES, ROLLING_DAYS, Styles, compound, drawdowns, months, rolling_mean,
    rolling_sharpe,
};
use inkstone_report::style_name;

use inkstone_base::language::Language;

/// Falls that are listed.
const FALLS: usize = 5;
/// Cells of a month, and of a bar.
const MONTH: usize = 6;
const BAR: usize = 25;

/// The sheet, while it is open.
#[derive(Default)]
pub(super) struct TearSheet {
    /// First line in sight.
    top: usize,
}

impl TearSheet {
    pub(super) fn step(&mut self, action: Action, outcome: &Outcome, page: Rect, desk: &Desk<'_>) {
        let rows = look::inside(page).height as usize;
        let count = lines(outcome, desk.language, desk.workspace.red_up).len();
        self.top = moved(self.top, action, count.saturating_sub(rows) + 1, rows);
    }
}

/// The industries of which the top layer has most more or less than its share, the greatest difference first.
fn industries(styles: &Styles) -> Vec<(&str, f64)> {
    let mut all: Vec<(&str, f64)> = styles.industries.iter().map(|i| (i.name.as_str(), i.top - i.share)).collect();
    all.retain(|(_, more)| more.is_finite());
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    all.truncate(8);
    all
}

/// The months, for copying.
pub(super) fn table(outcome: &Outcome, desk: &Desk<'_>) -> Table {
    let book = &outcome.long_short;
    let row = |month: MonthReturn| vec![format!("{}-{:02}", month.year, month.month), exact(month.growth)];
    Table::new(desk.language, &[own::MONTH, own::RETURN], months(&book.dates, &book.net).into_iter().map(row).collect())
}

pub(super) fn draw(
    context: &PageContext<'_>,
    sheet: &TearSheet,
    picture: &BacktestPicture,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let title = format!(" {} · {} ", picture.outcome.factor, context.say(own::TEAR_SHEET));
    let inner = look::framed(look::pane(title, true), frame, page);
    let lines = lines(&picture.outcome, context.language, context.workspace.red_up);
    let top = sheet.top.min(lines.len().saturating_sub(inner.height as usize));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(top).take(inner.height as usize).collect();
    frame.render_widget(Paragraph::new(shown), inner);
}

fn lines(outcome: &Outcome, language: Language, red_up: bool) -> Vec<Line<'static>> {
    let say = |word: Word| word.to(language);
    let heading = |word| Line::styled(format!(" {}", say(word)), look::STRONG);
    let signed = |value: f64, text: String| Span::styled(text, look::of_sign(value, red_up));
    let book = &outcome.long_short;
    let mut lines = Vec::new();
    if outcome.lookahead {
        lines.push(Line::styled(say(words::LOOKAHEAD), look::BAD));
    }
    lines.push(heading(own::MONTHS));
    let months = months(&book.dates, &book.net);
    let head: String = (1..=12).map(|month| width::right(&month.to_string(), MONTH)).collect();
    let year_head = width::right(say(own::WHOLE_YEAR), MONTH + 2);
    lines.push(Line::styled(format!("     {head}{year_head}"), look::DIM));
    let shown = |growth: f64| figures::number(100.0 * growth, 1);
    for year in months.chunk_by(|a, b| a.year == b.year) {
        let mut line = vec![Span::styled(format!(" {}", year[0].year), look::DIM)];
        for number in 1..=12 {
            line.push(match year.iter().find(|month| month.month == number) {
                Some(month) => signed(month.growth, width::right(&shown(month.growth), MONTH)),
                None => Span::raw(" ".repeat(MONTH)),
            });
        }
        let annual = compound(year);
        line.push(signed(annual, width::right(&shown(annual), MONTH + 2)));
        lines.push(Line::from(line));
    }
    lines.extend([Line::default(), heading(own::FALLS)]);
    for fall in drawdowns(&book.dates, &book.net, FALLS) {
        let last = fall.last.map_or_else(|| say(own::NOT_RECOVERED).to_owned(), |last| last.to_string());
        let depth = signed(fall.depth, width::right(&figures::percent(fall.depth), 9));
        let days = format!("  {} → {} → {last}  {} {}", fall.first, fall.lowest, fall.days, say(own::DAYS_BELOW));
        lines.push(Line::from(vec![depth, Span::raw(days)]));
    }
    lines.extend([Line::default(), heading(own::ROLLING)]);
    let last = |values: Vec<f64>| values.last().copied().unwrap_or(f64::NAN);
    let rank_ic = outcome.ic.first().map_or(f64::NAN, |series| last(rolling_mean(&series.rank_ic, ROLLING_DATES)));
    let sharpe = last(rolling_sharpe(&book.net, ROLLING_DAYS, outcome.days_per_year));
    lines.push(Line::from(vec![
        Span::raw(format!(" {} ", say(own::LAST_RANK_IC))),
        signed(rank_ic, figures::rank_ic(rank_ic)),
        Span::raw(format!("   {} ", say(own::LAST_SHARPE))),
        signed(sharpe, figures::ratio(sharpe)),
    ]));
    if let Some(styles) = &outcome.styles {
        lines.extend([Line::default(), heading(own::STYLES)]);
        let bar = |value: f64, largest: f64| signed(value, signed_bar(value, largest, BAR));
        let largest = styles.styles.iter().map(|s| s.correlation.abs()).filter(|c| c.is_finite()).fold(0.1, f64::max);
        for style in &styles.styles {
            let name = width::left(style_name(&style.name, language), 16);
            let value = width::right(&figures::signed(style.correlation, 3), 8);
            lines.push(Line::from(vec![Span::raw(format!(" {name}{value} ")), bar(style.correlation, largest)]));
        }
        for (word, summary) in [(own::BEFORE_STYLES, &styles.rank_ic), (own::AFTER_STYLES, &styles.residual)] {
            let name = width::left(say(word), 24);
            let figure = format!("RankIC {}  t {}", figures::rank_ic(summary.mean), figures::ratio(summary.t_nw));
            lines.push(Line::from(vec![Span::raw(format!(" {name}")), signed(summary.mean, figure)]));
        }
        let industries = industries(styles);
        if !industries.is_empty() {
            lines.push(heading(own::INDUSTRIES));
        }
        let largest = industries.iter().map(|(_, more)| more.abs()).fold(0.0, f64::max);
        for (name, more) in industries {
            let value = width::right(&figures::signed(100.0 * more, 2), 8);
            lines.push(Line::from(vec![Span::raw(format!(" {}{value} ", width::left(name, 16))), bar(more, largest)]));
        }
    }
    lines
}
