//! Draws the strategies: what each keeps of the text, as numbers and as a bar.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::shown::ShownText;
use super::strategies::{BUDGETS, StrategyRow};
use super::{TextFocus, TextPage, Typing, TypingFor, extent, words};
use crate::context::PageContext;
use crate::errand::Errand;
use crate::field;
use crate::list::{self, ListColumn};
use crate::words as shared;
use crate::{Kept, figures, look, width};
use inkstone_report as report;

/// Columns of a pane from which names of strategies have more room.
const WIDE: u16 = 100;

pub(super) fn rows(pane: Rect) -> usize {
    list::rows(look::inside(pane))
}

pub(super) fn draw(context: &PageContext<'_>, page: &TextPage, shown: &ShownText, frame: &mut Frame<'_>, pane: Rect) {
    let counted = context.workspace.text.as_ref().and_then(|bench| bench.tokenisers.get(page.tokeniser));
    let counted = counted.map_or("", |tokeniser| &tokeniser.name);
    let place = format!("{}/{}", page.strategy.at + 1, shown.listed.len());
    let budget = figures::count(BUDGETS[page.budget] as u64);
    let title = format!(
        " {} {place} · {} · {} {budget} ",
        context.say(words::TRUNCATION),
        width::cut(counted, 20),
        context.say(words::BUDGET)
    );
    let rows = shown.kept.as_ref().and_then(Errand::get);
    let mut block = look::pane(title, page.focus == TextFocus::Strategies);
    if let Some(parts) = rows.and_then(|rows| rows.get(page.strategy.at)).and_then(|row| selected(context, row)) {
        block = block.title_bottom(Line::styled(width::cut(&parts, pane.width.saturating_sub(4) as usize), look::DIM));
    }
    let inner = look::framed(block, frame, pane);
    if let Some(typing) = page.typing.as_ref().filter(|typing| typing.what == TypingFor::Strategy) {
        return draw_field(context, typing, frame, inner);
    }
    let fault = shown.kept.as_ref().and_then(Errand::fault);
    // Limits count the tokens in focus, or characters, which the first tokeniser cuts into.
    let not_cut = [page.tokeniser, 0].into_iter().filter_map(|tokeniser| shown.cuts.get(tokeniser)?.fault()).next();
    let fault = fault.or(not_cut.map(|_| context.say(words::NOT_CUT)));
    let scored = rows.is_some_and(|rows| rows.iter().any(|row| row.score.is_some()));
    let (name, tokens) = if pane.width >= WIDE { (36, 12) } else { (22, 9) };
    let mut columns = vec![
        ListColumn::text(context.say(shared::STRATEGY), name),
        ListColumn::number(context.say(shared::TOKENS), tokens),
        ListColumn::number("%", 5),
        ListColumn::text(context.say(words::WHERE), extent::CELLS),
    ];
    if scored {
        columns.push(ListColumn::number(context.say(shared::SCORE), 7));
    }
    columns.push(ListColumn::text(context.say(words::SECTIONS), 0));
    let cells = |at: usize| {
        let mut cells = vec![shown.listed[at].strategy.to_string()];
        match (rows.and_then(|rows| rows.get(at)), fault) {
            (Some(StrategyRow { kept: Some(kept), score }), _) => {
                let count = |n: usize| figures::count(n as u64);
                let share = kept.kept as f64 / kept.all.max(1) as f64;
                cells.push(format!("{}/{}", count(kept.kept), count(kept.all)));
                cells.push(format!("{:.0}", 100.0 * share));
                cells.push(extent::strip(&kept.ranges, shown.text().len()));
                let score = score.as_ref().map_or_else(|| "–".to_owned(), |score| figures::signed(score.value, 3));
                cells.extend(scored.then_some(score));
                cells.push(sections(context, kept));
            }
            (Some(StrategyRow { kept: None, .. }), _) => {
                cells.extend(["–".to_owned(), "–".to_owned(), String::new()]);
                cells.extend(scored.then(|| "–".to_owned()));
                cells.push(context.say(words::NOT_MEASURED).to_owned());
            }
            (None, Some(fault)) => {
                cells.extend(["–".to_owned(), String::new(), String::new()]);
                cells.push(fault.to_owned());
            }
            (None, None) => cells.push("…".to_owned()),
        }
        (cells, look::PLAIN)
    };
    list::draw(&columns, shown.listed.len(), page.strategy, cells, frame, inner);
    // The strips stand behind the first three columns, and have colours of their own.
    let left = (columns[..3].iter().map(|column| column.cells + 1).sum::<usize>()) as u16;
    for (y, at) in (inner.y + 1..inner.bottom()).zip(page.strategy.top..shown.listed.len()) {
        let has_strip = rows.and_then(|rows| rows.get(at)).is_some_and(|row| row.kept.is_some());
        for cell in (0..extent::CELLS).filter(|_| has_strip) {
            let place = Rect::new(inner.x + left + cell as u16, y, 1, 1).intersection(inner);
            frame.buffer_mut().set_style(place, extent::colour(&shown.about, cell, shown.text().len()));
        }
    }
}

/// The line below the list on the selected strategy: its windows, and the model of its score.
fn selected(context: &PageContext<'_>, row: &StrategyRow) -> Option<String> {
    let windows = row.kept.as_ref().map(|kept| kept.windows).filter(|windows| *windows > 1);
    let windows = windows.map(|windows| format!("{} {}", figures::count(windows as u64), context.say(words::WINDOWS)));
    let score = row.score.as_ref().map(|score| format!("{} {}", context.say(words::SCORE_OF), score.feature));
    let parts: Vec<String> = windows.into_iter().chain(score).collect();
    (!parts.is_empty()).then(|| format!(" {} ", parts.join(" · ")))
}

/// The sections that are kept; one that is kept in part with its share.
fn sections(context: &PageContext<'_>, kept: &Kept) -> String {
    let kept_sections = kept.sections.iter().filter(|share| share.kept > 0).map(|share| {
        let name = context.say(report::section(share.section));
        match share.kept == share.tokens {
            true => name.to_owned(),
            // Neither the kept part nor the dropped part is empty.
            false => format!("{name} {}%", (100 * share.kept / share.tokens.max(1)).clamp(1, 99)),
        }
    });
    kept_sections.collect::<Vec<_>>().join(" ")
}

/// Draws the line of a strategy that is typed, and what is wrong with it.
fn draw_field(context: &PageContext<'_>, typing: &Typing, frame: &mut Frame<'_>, area: Rect) {
    let [head, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    field::draw(Span::styled(context.say(words::STRATEGY_PROMPT), look::KEY), &typing.field, look::PLAIN, frame, head);
    let lines = match &typing.fault {
        Some((reason, known)) => {
            vec![Line::styled(width::cut(reason, area.width as usize), look::BAD), Line::styled(&**known, look::DIM)]
        }
        None => vec![Line::styled(context.say(words::STRATEGY_HINT), look::DIM)],
    };
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), below);
}
