//! Draws the content of a set: a summary, its columns, and the months that it covers.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::listing::FeatureSet;
use super::view::draw_outstanding;
use super::words as w;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::features::FeaturesPage;
use crate::kit::{Cell, ListSheet, SheetRow, number, text};
use crate::words::Word;
use crate::{bars, figures, look, sentences, width};
use inkstone_base::language::Language;
use inkstone_features::inspect::{Column, ColumnName, Health, Month};
use inkstone_store::RowKind;

/// Lines of the summary.
const SUMMARY: u16 = 2;
/// Cells of the scale beside the months.
const SCALE: usize = 8;
/// Columns from which quartiles are listed, and wider histograms.
const WIDE: u16 = 108;
/// Lines from which the months have taller bars.
const TALL: u16 = 18;

/// Summary, columns, months.
pub(super) fn areas(inner: Rect) -> [Rect; 3] {
    let months = if inner.height >= TALL { 5 } else { 3 };
    Layout::vertical([Constraint::Length(SUMMARY), Constraint::Min(0), Constraint::Length(months)]).areas(inner)
}

pub(super) fn draw(
    context: &PageContext<'_>,
    state: &FeaturesPage,
    set: &FeatureSet,
    frame: &mut Frame<'_>,
    inner: Rect,
) {
    let reading = state.health.as_ref().filter(|reading| Some(reading.set) == set.id);
    let Some(reading) = reading else {
        return sentences::draw([(context.say(w::ASK_HEALTH), look::PLAIN)], frame, inner);
    };
    if draw_outstanding(context, &set.name, reading, frame, inner) {
        return;
    }
    let Some(health) = reading.errand.get() else { return };
    let [summary, columns, months] = areas(inner);
    let lines = summary_lines(context, set, health, summary.width as usize);
    frame.render_widget(Paragraph::new(lines), summary);
    state.below.draw(frame, columns);
    draw_months(context, &health.months, frame, months);
}

fn summary_lines<'a>(context: &PageContext<'_>, set: &FeatureSet, health: &Health, room: usize) -> Vec<Line<'a>> {
    let count = figures::count;
    let share = figures::percent(health.filled as f64 / health.rows as f64);
    let rows = context.say(w::ROWS);
    let mut facts = vec![
        format!("{} {} / {} {rows}（{share}）", context.say(w::WITH_VALUE), count(health.filled), count(health.rows)),
        format!("{} {}", context.say(w::REPEATS), count(health.repeats)),
    ];
    if health.compared < health.filled {
        facts[1] += &format!("（{} {} {rows}）", context.say(w::AMONG_FIRST), count(health.compared));
    }
    if set.kind != Some(RowKind::Sparse) {
        facts.push(format!("{} {}", context.say(w::CONSTANT), count(health.constant)));
        facts.push(format!("{} {}", context.say(w::EMPTY_COLUMNS), count(health.empty)));
    }
    let mut first = facts.join(" · ");
    if context.language == Language::En {
        first = first.replace('（', " (").replace('）', ")");
    }
    let second = if health.strays > 0 {
        Line::styled(width::cut(&format!("⚠ {} {}", count(health.strays), context.say(w::STRAYS)), room), look::NOTE)
    } else {
        let basis = if health.sampled < health.rows {
            format!("{} {} / {}", context.say(w::SAMPLED), count(health.sampled), count(health.rows))
        } else {
            context.say(w::EXACT).to_owned()
        };
        let columns_shown = health.told.iter().filter(|column| matches!(column.name, ColumnName::Named(_))).count();
        let word = if set.kind == Some(RowKind::Sparse) { w::FULLEST } else { w::FIRST_COLUMNS };
        let part = format!(
            "{} {columns_shown}（{} {}）· ",
            context.say(word),
            context.say(w::OF_ALL),
            count(health.columns as u64)
        );
        let part = if columns_shown < health.columns { part } else { String::new() };
        Line::styled(width::cut(&(part + &basis), room), look::DIM)
    };
    vec![Line::raw(width::cut(&first, room)), second]
}

/// Lists the columns of the set, a row each.
pub(super) fn fill(sheet: &mut ListSheet, set: &FeatureSet, health: &Health, width: u16, desk: &Desk<'_>) {
    let bars = if width >= WIDE { 16 } else { 8 };
    sheet.fill((set.id.map(|id| id.hex()), health.rows, bars), desk.language, || {
        let rows_of =
            |id: &'static str, word: Word| number(id, desk.say(word).trim_end_matches('%').to_owned(), 8).on_paper();
        let columns = vec![
            text("column", w::COLUMN, 0).narrow(10),
            number("missing", w::MISSING_SHARE, 6).on_screen(),
            rows_of("missing-rows", w::MISSING_SHARE),
            number("zeros", w::ZERO_SHARE, 6).on_screen(),
            rows_of("zero-rows", w::ZERO_SHARE),
            number("mean", w::MEAN, 8),
            number("std", w::STD, 8),
            number("min", w::MIN, 8),
            number("first-quartile", w::FIRST_QUARTILE, 8).at_least(WIDE.into()),
            number("median", w::MEDIAN, 8),
            number("third-quartile", w::THIRD_QUARTILE, 8).at_least(WIDE.into()),
            number("max", w::MAX, 8),
            text("histogram", w::HISTOGRAM, bars).on_screen(),
        ];
        let row = |column: &Column| {
            let share =
                |count: u64| Cell::number(100.0 * count as f64 / health.rows as f64, |share| figures::number(share, 1));
            let [low, middle, high] = column.quartiles;
            let mut cells = vec![Cell::text(name(desk.language, column))];
            for count in [column.missing, column.zeros] {
                cells.extend([share(count), Cell::count(Some(count))]);
            }
            let values = [column.mean, column.std, column.min, low, middle, high, column.max];
            cells.extend(values.map(|value| Cell::number(value, short)));
            cells.push(Cell::text(bars::small(&column.bars, bars)));
            let odd = column.is_constant() || column.mean.is_nan();
            SheetRow { key: name(desk.language, column), style: if odd { look::NOTE } else { look::PLAIN }, cells }
        };
        (columns, health.told.iter().map(row).collect())
    });
}

fn name(language: Language, column: &Column) -> String {
    let name = match &column.name {
        ColumnName::Named(name) => name.as_str(),
        ColumnName::Entries => w::ENTRIES.to(language),
        ColumnName::Length => w::LENGTH.to(language),
    };
    if column.is_constant() { format!("= {name}") } else { name.to_owned() }
}

/// Bars of the share of each month's documents that have a value, the latest months where not all find room.
fn draw_months(context: &PageContext<'_>, months: &[Month], frame: &mut Frame<'_>, area: Rect) {
    let rows = area.height.saturating_sub(1) as usize;
    let room = (area.width as usize).saturating_sub(SCALE + 1);
    if rows == 0 || room == 0 || months.is_empty() {
        return;
    }
    let months = &months[months.len().saturating_sub(room)..];
    let step = (room / months.len()).clamp(1, 6);
    let (cells, gap) = if step > 1 { (step - 1, 1) } else { (1, 0) };
    let shares: Vec<f64> = months.iter().map(|month| month.filled as f64 / month.documents as f64).collect();
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut drawn = bars::upright(&shares, 1.0, rows, cells, gap);
    if let Some(lowest) = drawn.last_mut() {
        // A month without any value is told from one that the corpus does not have.
        let none = |at: usize| at.is_multiple_of(step) && shares.get(at / step) == Some(&0.0);
        *lowest = lowest.chars().enumerate().map(|(at, bar)| if none(at) { '·' } else { bar }).collect();
    }
    for (row, bars) in drawn.into_iter().enumerate() {
        let scale = match row {
            0 => "100 %",
            _ if row + 1 == rows => context.say(w::BY_MONTH),
            _ => "",
        };
        lines.push(Line::from(vec![
            Span::styled(format!("{}┤", width::right(scale, SCALE)), look::DIM),
            Span::styled(bars, look::KEY),
        ]));
    }
    let (mut labels, mut used) = (" ".repeat(SCALE + 1), 0);
    for (at, month) in months.iter().enumerate() {
        let label = format!("{}-{:02}", month.year, month.month);
        if (at == 0 || month.month == 1) && at * step >= used && at * step + label.len() <= room {
            labels += &" ".repeat(at * step - used);
            labels += &label;
            labels.push(' ');
            used = at * step + label.len() + 1;
        }
    }
    lines.push(Line::styled(labels, look::DIM));
    frame.render_widget(Paragraph::new(lines), area);
}

/// A number in at most eight cells, four significant digits of it.
fn short(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if !value.is_finite() => return "–".to_owned(),
        _ if size == 0.0 => return "0".to_owned(),
        _ if !(1e-4..1e6).contains(&size) => return format!("{value:.1e}"),
        _ if size >= 1000.0 => return format!("{value:.0}"),
        _ if size >= 100.0 => format!("{value:.1}"),
        _ if size >= 10.0 => format!("{value:.2}"),
        _ if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_keep_four_digits_and_find_room() {
        let values = [0.0, 1.0, -0.12345, 12.3456, 999.94, 123456.7, 1.5e9, -2.3e-7, f64::NAN];
        let texts = values.map(short);
        assert_eq!(texts, ["0", "1", "-0.1235", "12.35", "999.9", "123457", "1.5e9", "-2.3e-7", "–"]);
        assert!([-1.4e-45, f64::from(f32::MIN), -999999.9].map(short).iter().all(|text| text.chars().count() <= 8));
    }
}
