//! Differences to the baseline as bars with their intervals, the largest first.

use anyhow::Result;
use plotters::chart::ChartBuilder;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::axis::Axis;
use super::finding::{CellStanding, DECIMALS, label, standing};
use super::legend::{Legend, Symbol};
use super::svg::{self, ABOVE, BELOW, DIM, GRID, INK, NOT_SHOWN, TYPE};
use super::words;
use inkstone_base::bootstrap::Comparison;
use inkstone_base::figures::probability;
use inkstone_base::figures::signed;
use inkstone_base::language::Language;
use inkstone_features::experiment::{Cell, Findings};

/// Pixels of the plot across.
const PLOT: i32 = 420;
/// Pixels of a row.
const ROW: i32 = 22;
/// Pixels above the rows, for the heads of the columns.
const TOP: i32 = 30;
/// Pixels below the rows, for the scale.
const SCALE: i32 = 30;

/// A cell with its difference to the baseline.
pub(crate) type Compared<'a> = (&'a Cell, Comparison);

/// The cells that differ from the baseline by a number, the best first.
pub(crate) fn compared(findings: &Findings) -> Vec<Compared<'_>> {
    let mut rows: Vec<Compared<'_>> = findings
        .cells
        .iter()
        .filter_map(|cell| cell.against.map(|comparison| (cell, comparison)))
        .filter(|(_, c)| c.difference.is_finite())
        .collect();
    rows.sort_by(|a, b| b.1.difference.total_cmp(&a.1.difference));
    rows
}

/// Differences to the baseline as an SVG of its own; none where nothing can be compared.
pub(crate) fn differences_svg(findings: &Findings, language: Language) -> Result<Option<String>> {
    let rows = compared(findings);
    if rows.is_empty() {
        return Ok(None);
    }
    let entries = [(ABOVE, words::STANDS_ABOVE), (BELOW, words::STANDS_BELOW), (NOT_SHOWN, words::NOT_SHOWN)];
    let legend = entries.map(|(color, word)| (Symbol::Bar(color), word.to(language).to_owned())).to_vec();
    let heads = [words::DIFFERENCE, words::P_ADJUSTED].map(|word| word.to(language));
    let wide = |texts: &mut dyn Iterator<Item = String>, head: &str| -> i32 {
        texts.map(|text| svg::width(&text, TYPE)).fold(svg::width(head, TYPE), f64::max).ceil() as i32 + 12
    };
    let left = wide(&mut rows.iter().map(|(cell, _)| label(findings, cell)), words::CELL.to(language));
    let middle = wide(&mut rows.iter().map(|(_, c)| signed(c.difference, DECIMALS)), heads[0]);
    let right = wide(&mut rows.iter().map(|(_, c)| probability(c.p_adjusted)), heads[1]);
    let legend = Legend::new(legend, left + PLOT + middle + right - 16);
    let across = (left + PLOT + middle + right + 16).max(legend.width + 16);
    let down = TOP + ROW * rows.len() as i32 + SCALE;
    let name = format!("{}: {}", words::DIFFERENCES.to(language), findings.name);
    let drawn = svg::picture(&name, (across as u32, (down + legend.height() + 8) as u32), |canvas| {
        let small = |h| svg::style(TYPE, DIM, h, VPos::Center);
        svg::write(canvas, words::CELL.to(language), (8, TOP / 2), small(HPos::Left))?;
        let columns = [left + PLOT + middle, left + PLOT + middle + right];
        for (head, x) in heads.into_iter().zip(columns) {
            svg::write(canvas, head, (x, TOP / 2), small(HPos::Right))?;
        }
        let (low, high) = range(&rows);
        let axis = Axis::linear(low, high, 6);
        let decimals = axis.decimals();
        let (across, height) = canvas.dim_in_pixel();
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(TOP)
            .margin_left(left)
            .margin_right(across as i32 - left - PLOT)
            .margin_bottom(height as i32 - down + SCALE - 22)
            .x_label_area_size(22)
            .build_cartesian_2d(axis, 0.0..rows.len() as f64)
            .map_err(svg::failed)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .max_light_lines(0)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .label_style(svg::style(TYPE, DIM, HPos::Center, VPos::Center))
            .x_label_formatter(&|difference| format!("{difference:.decimals$}"))
            .draw()
            .map_err(svg::failed)?;
        let place = |difference: f64| chart.backend_coord(&(difference, 0.0)).0;
        for (i, (cell, comparison)) in rows.iter().enumerate() {
            let y = TOP + ROW * i as i32 + ROW / 2;
            let color = color(findings, cell);
            let (zero, end) = (place(0.0), place(comparison.difference));
            svg::block(canvas, (zero.min(end), y - 5), (zero.max(end), y + 5), color)?;
            let ends = [comparison.interval.low, comparison.interval.high];
            if ends.iter().all(|end| end.is_finite()) {
                svg::whisker(canvas, y, ends.map(place), false, INK.mix(0.7).stroke_width(1))?;
            }
            let text = |h| svg::style(TYPE, INK, h, VPos::Center);
            svg::write(canvas, &label(findings, cell), (8, y), text(HPos::Left))?;
            svg::write(canvas, &signed(comparison.difference, DECIMALS), (columns[0], y), text(HPos::Right))?;
            svg::write(canvas, &probability(comparison.p_adjusted), (columns[1], y), text(HPos::Right))?;
        }
        let zero = place(0.0);
        svg::line(canvas, vec![(zero, TOP), (zero, down - SCALE)], DIM.stroke_width(1))?;
        legend.draw(canvas, 8, down)
    });
    drawn.map(Some)
}

fn color(findings: &Findings, cell: &Cell) -> RGBColor {
    match standing(findings, cell) {
        CellStanding::Above => ABOVE,
        CellStanding::Below => BELOW,
        CellStanding::Baseline | CellStanding::NotShown => NOT_SHOWN,
    }
}

/// From the lowest end of an interval to the highest; zero is within.
fn range(rows: &[Compared<'_>]) -> (f64, f64) {
    let ends =
        || rows.iter().flat_map(|(_, c)| [c.difference, c.interval.low, c.interval.high]).filter(|v| v.is_finite());
    let (low, high) = (ends().fold(0.0, f64::min), ends().fold(0.0, f64::max));
    let room = if high > low { 0.04 * (high - low) } else { 0.01 };
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::super::markup::texts;
    use super::super::testing::{findings, large, single};
    use super::*;

    #[test]
    fn cells_are_sorted_by_difference_and_coloured_by_what_stands() {
        let findings = findings();
        let names: Vec<String> = compared(&findings).iter().map(|(cell, _)| cell.setting.clone()).collect();
        assert_eq!(names, ["tail:512", "sections:512@rating,risk", "head:128", "middle:512"]);
        let svg = differences_svg(&findings, Language::En).unwrap().unwrap();
        let texts = texts(&svg);
        for text in ["语气 · tail:512", "+0.0220", "0.004", "bert<&> · sections:512@rating,risk", "may be chance"] {
            assert!(texts.iter().any(|t| t == text), "{text} is not in {texts:?}");
        }
        // One bar each stands above and below, beside that of the legend.
        assert_eq!([svg.matches("fill=\"#1D6FB8\"").count(), svg.matches("fill=\"#C26A1B\"").count()], [2, 2]);
        assert_eq!(svg.matches("fill=\"#9AA3AF\"").count(), 3);
    }

    #[test]
    fn a_row_a_cell_and_none_without_a_comparison() {
        let svg = differences_svg(&large(), Language::Zh).unwrap().unwrap();
        assert_eq!(texts(&svg).iter().filter(|text| text.contains(':')).count(), 59);
        assert_eq!(differences_svg(&single(), Language::Zh).unwrap(), None);
        assert_eq!(differences_svg(&Findings::default(), Language::En).unwrap(), None);
    }
}
