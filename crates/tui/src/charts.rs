//! Bars above and below zero, and curves over dates in braille.

use chrono::NaiveDate;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};

use crate::{look, width};

/// Cells of the numbers at the left of the bars.
const SCALE: usize = 7;
/// Cells of the numbers at the left of curves, with the line beside them: the first date below takes as many.
const SCALE_OF_CURVES: u16 = 7;

/// Bars to draw, with what stands under each.
pub(crate) struct Bars<'a> {
    /// Heights; NaN draws nothing.
    pub values: &'a [f64],
    /// Labels under the bars; drawn where there is room.
    pub labels: &'a [String],
    pub marked: Option<usize>,
    /// The text of a height on the scale.
    pub scale: fn(f64) -> String,
    pub red_up: bool,
}

/// The number of bars that fit into a width with a scale beside them.
pub(crate) fn bars_that_fit(width: usize) -> usize {
    width.saturating_sub(SCALE + 1)
}

/// Draws bars in `area`, with a scale at the left and one line of labels below.
pub(crate) fn draw_bars(bars: &Bars<'_>, frame: &mut Frame<'_>, area: Rect) {
    let rows = area.height.saturating_sub(1) as usize;
    let n = bars.values.len();
    let Some(step) = step_of(n, area.width as usize).filter(|_| rows > 0) else { return };
    let thick = step - usize::from(step > 1);
    let finite = || bars.values.iter().copied().filter(|v| v.is_finite());
    let top = finite().fold(0.0, f64::max);
    let bottom = finite().fold(0.0, f64::min);
    let (above, below) = split_rows(rows, top, bottom);
    let columns: Vec<Vec<char>> = bars.values.iter().map(|v| column(*v, top, bottom, above, below)).collect();
    let mut lines = Vec::with_capacity(rows + 1);
    for row in 0..rows {
        let number = if row == 0 && above > 0 {
            (bars.scale)(top)
        } else if row + 1 == rows && below > 0 {
            (bars.scale)(bottom)
        } else if row == above.saturating_sub(1) && below > 0 && above > 1 || row + 1 == rows {
            "0".to_owned()
        } else {
            String::new()
        };
        let mut line = vec![Span::styled(format!("{}┤", width::right(&number, SCALE)), look::DIM)];
        for (i, column) in columns.iter().enumerate() {
            let mut style = look::of_sign(bars.values[i], bars.red_up);
            if bars.marked == Some(i) {
                style = style.patch(look::STRONG).patch(look::NOTE);
            }
            line.push(Span::styled(std::iter::repeat_n(column[row], thick).collect::<String>(), style));
            line.push(Span::raw(" ".repeat(step - thick)));
        }
        lines.push(Line::from(line));
    }
    lines.push(Line::styled(" ".repeat(SCALE + 1) + &label_line(bars.labels, step), look::DIM));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Rows above and below zero, in proportion; a side that has bars has a row.
fn split_rows(rows: usize, top: f64, bottom: f64) -> (usize, usize) {
    if top - bottom <= 0.0 {
        return (rows, 0);
    }
    let below = (rows as f64 * -bottom / (top - bottom)).round() as usize;
    let least = usize::from(bottom < 0.0);
    let most = rows - usize::from(top > 0.0 && rows > 1);
    let below = below.clamp(least.min(most), most);
    (rows - below, below)
}

/// One bar from the top row to the bottom row: in eighths upwards, in halves downwards, as the block characters have it.
fn column(value: f64, top: f64, bottom: f64, above: usize, below: usize) -> Vec<char> {
    const UP: [char; 8] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇'];
    let mut cells = vec![' '; above + below];
    if value > 0.0 && top > 0.0 {
        let eighths = ((value / top * (above * 8) as f64).round() as usize).max(1);
        for i in 0..above {
            let filled = eighths.saturating_sub(8 * i);
            cells[above - 1 - i] = if filled >= 8 { '█' } else { UP[filled] };
        }
    } else if value < 0.0 && bottom < 0.0 {
        let halves = ((value / bottom * (below * 2) as f64).round() as usize).max(1);
        for i in 0..below {
            cells[above + i] = match halves.saturating_sub(2 * i) {
                0 => ' ',
                1 => '▀',
                _ => '█',
            };
        }
    }
    cells
}

/// Labels under bars of `step` cells, each where the one before has ended.
fn label_line(labels: &[String], step: usize) -> String {
    let (mut line, mut used) = (String::new(), 0);
    for (i, label) in labels.iter().enumerate() {
        if i * step >= used && !label.is_empty() {
            line += &" ".repeat(i * step - used);
            line += label;
            line.push(' ');
            used = i * step + width::width(label) + 1;
        }
    }
    line
}

/// The bar that stands in a column of a label or at a place of an area, if there is one.
pub(crate) fn bar_at(column: u16, bars: usize, area: Rect) -> Option<usize> {
    let x = usize::from(column.checked_sub(area.x)?).checked_sub(SCALE + 1)?;
    let step = step_of(bars, area.width as usize)?;
    Some(x / step).filter(|bar| *bar < bars)
}

/// Cells from one bar to the next.
fn step_of(bars: usize, width: usize) -> Option<usize> {
    Some(bars_that_fit(width).checked_div(bars)?.clamp(1, 10))
}

/// A number as a bar in one line, to the left of the middle when negative: of `largest` it is half as many cells as there are.
pub(crate) fn signed_bar(value: f64, largest: f64, cells: usize) -> String {
    let half = cells.saturating_sub(1) / 2;
    if !value.is_finite() || largest <= 0.0 {
        return format!("{}│", " ".repeat(half));
    }
    let halves = ((value.abs() / largest).min(1.0) * (2 * half) as f64).round() as usize;
    let (whole, part) = (halves / 2, halves % 2);
    if value < 0.0 {
        let part = if part == 1 { "▐" } else { "" };
        format!("{}{part}{}│", " ".repeat(half - whole - part.chars().count()), "█".repeat(whole))
    } else {
        format!("{}│{}{}", " ".repeat(half), "█".repeat(whole), if part == 1 { "▌" } else { "" })
    }
}

/// A curve over dates.
pub(crate) struct Curve {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Day number and value.
    pub points: Vec<(f64, f64)>,
    pub style: Style,
}

/// A date as a number along the axis.
pub(crate) fn day_number(date: NaiveDate) -> f64 {
    f64::from(date.to_epoch_days())
}

/// The points of a series, without those that do not exist.
pub(crate) fn points(dates: &[NaiveDate], values: &[f64]) -> Vec<(f64, f64)> {
    dates.iter().zip(values).filter(|(_, v)| v.is_finite()).map(|(d, v)| (day_number(*d), *v)).collect()
}

/// The date at a place of an area that curves from `first` to `last` are drawn in, its scale left out of account.
pub(crate) fn date_at(column: u16, first: NaiveDate, last: NaiveDate, area: Rect) -> Option<NaiveDate> {
    let left = area.x + SCALE_OF_CURVES;
    let x = f64::from(column.checked_sub(left)?);
    let share = x / f64::from(area.right().saturating_sub(left + 1).max(1));
    let days = (share.min(1.0) * (last - first).num_days() as f64).round() as u64;
    first.checked_add_days(chrono::Days::new(days))
}

/// The axes of a chart of curves.
pub(crate) struct Axes {
    /// A height that must be in sight.
    pub base: f64,
    /// The text of a height.
    pub scale: fn(f64) -> String,
    /// True if the first and the last date stand below.
    pub dates: bool,
}

impl Axes {
    /// Heights with two decimals, and dates.
    pub(crate) fn plain(base: f64) -> Axes {
        Axes { base, scale: |value| format!("{value:.2}"), dates: true }
    }
}

/// Draws curves over dates with a vertical stroke at the date of the cursor.
pub(crate) fn draw_curves(
    curves: &[Curve],
    cursor: Option<NaiveDate>,
    axes: &Axes,
    block: Block<'_>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let all = || curves.iter().flat_map(|c| &c.points);
    let span = all().fold((f64::MAX, f64::MIN), |(lo, hi), p| (lo.min(p.0), hi.max(p.0)));
    draw_lines(curves, cursor.map(day_number), span, axes, block, frame, area);
}

/// Draws curves over the numbers of a span, with a vertical stroke at the cursor.
pub(crate) fn draw_lines(
    curves: &[Curve],
    cursor: Option<f64>,
    (first, last): (f64, f64),
    axes: &Axes,
    block: Block<'_>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let Axes { base, scale, dates } = *axes;
    let all = || curves.iter().flat_map(|c| &c.points);
    if first > last || all().next().is_none() {
        return frame.render_widget(block, area);
    }
    let (low, high) = all().fold((base, base), |(lo, hi), p| (lo.min(p.1), hi.max(p.1)));
    let high = if high > low { high } else { low + 1.0 };
    let stroke: Vec<(f64, f64)> = cursor.map_or_else(Vec::new, |x| {
        let x = x.clamp(first, last);
        vec![(x, low), (x, high)]
    });
    let ground = [(first, base), (last, base)];
    let line = |points| Dataset::default().marker(look::marker()).graph_type(GraphType::Line).data(points);
    let mut sets = vec![line(&ground).style(look::DIM), line(&stroke).style(look::DIM)];
    sets.extend(curves.iter().map(|c| line(&c.points).style(c.style)));
    let date =
        |x: f64| NaiveDate::from_epoch_days(x as i32).map_or_else(String::new, |d| d.format("%Y-%m").to_string());
    let mut x = Axis::default().bounds([first, last]).style(look::DIM);
    if dates {
        x = x.labels([date(first), date(last)]);
    }
    let middle = (low + high) / 2.0;
    let y = Axis::default().bounds([low, high]).labels([low, middle, high].map(scale)).style(look::DIM);
    let inner = block.inner(area);
    frame.render_widget(Chart::new(sets).block(block).x_axis(x).y_axis(y).legend_position(None), area);
    draw_names(curves, (low, high), Rect { height: inner.height.saturating_sub(1 + u16::from(dates)), ..inner }, frame);
}

/// Writes the names of curves where they end, for screens without colours: the highest and the lowest first, each on a row of its own.
fn draw_names(curves: &[Curve], (low, high): (f64, f64), graph: Rect, frame: &mut Frame<'_>) {
    let end = |curve: &Curve| curve.points.last().map(|point| point.1);
    let named = curves.iter().filter(|curve| !curve.name.is_empty());
    let mut ends: Vec<(&Curve, f64)> = named.filter_map(|curve| Some((curve, end(curve)?))).collect();
    ends.sort_by(|a, b| b.1.total_cmp(&a.1));
    if ends.len() > 1 {
        let lowest = ends.pop();
        ends.splice(1..1, lowest);
    }
    let mut taken = Vec::new();
    for (curve, value) in ends {
        let wide = width::width(&curve.name);
        let row = ((high - value) / (high - low) * f64::from(graph.height.saturating_sub(1))).round() as u16;
        if taken.contains(&row) || wide + 10 > graph.width as usize || row >= graph.height {
            continue;
        }
        taken.push(row);
        let area = Rect::new(graph.right() - wide as u16, graph.y + row, wide as u16, 1);
        frame.render_widget(Line::styled(curve.name.as_str(), curve.style), area);
    }
}

/// The lowest and the highest layer in the colours of loss and gain, those between in others.
pub(crate) fn layer_style(layer: usize, count: usize, red_up: bool) -> Style {
    const BETWEEN: [Color; 4] = [Color::Blue, Color::Cyan, Color::Yellow, Color::Magenta];
    match layer {
        0 => look::of_sign(-1.0, red_up),
        l if l + 1 == count => look::of_sign(1.0, red_up),
        l => Style::new().fg(BETWEEN[(l - 1) % BETWEEN.len()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_rise_in_eighths_and_fall_in_halves() {
        assert_eq!(column(0.5, 1.0, -1.0, 2, 2), [' ', '█', ' ', ' ']);
        assert_eq!(column(0.0625, 1.0, -1.0, 2, 2), [' ', '▁', ' ', ' ']);
        assert_eq!(column(-0.75, 1.0, -1.0, 2, 2), [' ', ' ', '█', '▀']);
        assert_eq!(column(f64::NAN, 1.0, -1.0, 1, 1), [' ', ' ']);
    }

    #[test]
    fn both_signs_have_a_row_whenever_they_have_a_bar() {
        assert_eq!(split_rows(6, 1.0, -1.0), (3, 3));
        assert_eq!(split_rows(6, 1.0, -0.01), (5, 1));
        assert_eq!(split_rows(6, 0.01, -1.0), (1, 5));
        assert_eq!(split_rows(6, 1.0, 0.0), (6, 0));
        assert_eq!(split_rows(6, 0.0, 0.0), (6, 0));
        assert_eq!(split_rows(1, 1.0, -1.0), (0, 1));
    }

    #[test]
    fn a_number_is_a_bar_to_either_side_of_the_middle() {
        assert_eq!(signed_bar(1.0, 1.0, 9), "    │████");
        assert_eq!(signed_bar(-0.6, 1.0, 9), " ▐██│");
        assert_eq!(signed_bar(-1.0, 1.0, 9), "████│");
        assert_eq!(signed_bar(0.13, 1.0, 9), "    │▌");
        assert_eq!(signed_bar(f64::NAN, 1.0, 9), "    │");
        assert_eq!(signed_bar(1.0, 0.0, 9), "    │");
    }

    #[test]
    fn a_place_on_a_chart_is_a_bar_or_a_date() {
        let area = Rect::new(10, 0, 28, 8);
        assert_eq!(bar_at(10, 4, area), None, "the scale is no bar");
        assert_eq!([18, 22, 23, 37].map(|column| bar_at(column, 4, area)), [Some(0), Some(0), Some(1), Some(3)]);
        assert_eq!(bar_at(9, 4, area), None);
        assert_eq!(bar_at(20, 0, area), None);
        let [first, last] = ["2024-01-01", "2024-01-21"].map(|day| day.parse().unwrap());
        assert_eq!(date_at(17, first, last, area), Some(first));
        assert_eq!(date_at(37, first, last, area), Some(last));
        assert_eq!(date_at(27, first, last, area), "2024-01-11".parse().ok());
        assert_eq!(date_at(12, first, last, area), None);
    }

    #[test]
    fn labels_give_way_to_the_one_before() {
        let labels = ["2023", "", "", "2024", "2025"].map(str::to_owned);
        assert_eq!(label_line(&labels, 2), "2023  2024 ");
    }
}
