//! The frontier as a picture: what each cell reads of a document, on a logarithmic scale, against its figure with its interval.

use anyhow::Result;
use plotters::chart::ChartBuilder;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::axis::Axis;
use super::finding::{baseline, distinct, features, label};
use super::legend::{Legend, Symbol};
use super::spread::spread;
use super::svg::{self, BASELINE, Canvas, DIM, GRID, INK, TYPE};
use super::words;
use inkstone_features::experiment::{Cell, Findings};

use inkstone_base::language::Language;

/// Pixels of the picture across, unless its legend needs more.
const ACROSS: i32 = 860;
/// Pixels of the plot down.
const DOWN: i32 = 340;
/// Pixels left of the plot, for the scale.
const LEFT: i32 = 66;
/// Pixels above the plot, for the name of the scale.
const TOP: i32 = 30;
/// Pixels below the plot, for the other scale and its name.
const BELOW: i32 = 50;
/// Pixels between points that cost the same.
const APART: f64 = 11.0;

/// A cell that has a figure.
pub(crate) struct Point<'a> {
    pub cell: &'a Cell,
    /// Tokens read of a document; at least one.
    pub cost: f64,
    /// The number of its family, in the order of the cells.
    pub family: usize,
    /// Number of the feature.
    pub feature: usize,
}

impl Point<'_> {
    /// The ends of its interval; the figure itself where there is none.
    pub(crate) fn ends(&self) -> [f64; 2] {
        let end = |end: f64| if end.is_finite() { end } else { self.cell.figure };
        [end(self.cell.interval.low), end(self.cell.interval.high)]
    }
}

/// Families of cells, in their order.
pub(crate) fn families(findings: &Findings) -> Vec<&str> {
    distinct(findings.cells.iter().map(|cell| cell.family.as_str()))
}

/// The cells that have a figure, the cheapest first.
pub(crate) fn points(findings: &Findings) -> Vec<Point<'_>> {
    let (families, features) = (families(findings), features(findings));
    let number = |names: &[&str], name: &str| names.iter().position(|n| *n == name).unwrap_or_default();
    let point = |cell| Point {
        cell,
        cost: cell.cost.tokens_a_document().max(1.0),
        family: number(&families, &cell.family),
        feature: number(&features, &cell.feature),
    };
    let mut points: Vec<Point<'_>> = findings.cells.iter().filter(|cell| cell.figure.is_finite()).map(point).collect();
    points.sort_by(|a, b| a.cost.total_cmp(&b.cost).then((a.family, a.feature).cmp(&(b.family, b.feature))));
    points
}

/// The range of costs with some room on both sides.
pub(crate) fn costs(points: &[Point<'_>]) -> (f64, f64) {
    let costs = || points.iter().map(|point| point.cost);
    let (low, high) = (costs().fold(f64::INFINITY, f64::min), costs().fold(0.0, f64::max));
    // Less than an octave would blow small differences up.
    let room = (high / low).powf(0.08).max(1.2);
    (low / room, high * room)
}

/// The range of figures and intervals with some room: a share of it below and above.
pub(crate) fn figures(points: &[Point<'_>], room: [f64; 2]) -> (f64, f64) {
    let ends = || points.iter().flat_map(Point::ends);
    let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
    let span = if high > low { high - low } else { low.abs().max(0.01) };
    (low - room[0] * span, high + room[1] * span)
}

/// The frontier as an SVG of its own; none where no cell has a figure.
///
/// Points that cost the same are set side by side; the frontier goes through its points as they stand there.
pub fn frontier_svg(findings: &Findings, language: Language) -> Result<Option<String>> {
    let points = points(findings);
    if points.is_empty() {
        return Ok(None);
    }
    let legend = Legend::new(entries(findings, language), ACROSS - LEFT - 20);
    let right = svg::width(words::BASELINE.to(language), TYPE).ceil() as i32 + 14;
    let across = ACROSS.max(LEFT + legend.width + 20);
    let down = TOP + DOWN + BELOW + legend.height() + 8;
    let name = format!("{}: {}", words::FRONTIER.to(language), findings.name);
    let drawn = svg::picture(&name, (across as u32, down as u32), |canvas| {
        draw(canvas, findings, &points, right, language)?;
        legend.draw(canvas, LEFT, TOP + DOWN + BELOW)
    });
    drawn.map(Some)
}

/// Entries of the legend: families, features, lines.
fn entries(findings: &Findings, language: Language) -> Vec<(Symbol, String)> {
    let mut entries: Vec<(Symbol, String)> = Vec::new();
    // Where features alone are compared, each is a family.
    let of_features = findings.vary.is_empty() && features(findings).len() > 1;
    for (i, family) in families(findings).into_iter().enumerate().filter(|_| !of_features) {
        entries.push((Symbol::Bar(svg::series(i)), family.to_owned()));
    }
    for (i, feature) in features(findings).into_iter().enumerate() {
        entries.push((Symbol::Mark(i), feature.to_owned()));
    }
    entries.push((Symbol::Line(INK), words::ON_FRONTIER.to(language).to_owned()));
    if let Some(cell) = baseline(findings) {
        entries.push((Symbol::Dashes(BASELINE), format!("{} {}", words::BASELINE.to(language), label(findings, cell))));
    }
    entries
}

fn draw(canvas: &Canvas<'_>, findings: &Findings, points: &[Point<'_>], right: i32, language: Language) -> Result<()> {
    let (low, high) = costs(points);
    let (bottom, top) = figures(points, [0.06, 0.14]);
    let (across, down) = (Axis::logarithmic(low, high, 10), Axis::linear(bottom, top, 7));
    let decimals = down.decimals();
    let (_, height) = canvas.dim_in_pixel();
    let mut chart = ChartBuilder::on(canvas)
        .margin_top(TOP)
        .margin_right(right)
        .margin_bottom(height as i32 - TOP - DOWN - 24)
        .x_label_area_size(24)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(across, down)
        .map_err(svg::failed)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID)
        .axis_style(DIM)
        .label_style(svg::style(TYPE, DIM, HPos::Center, VPos::Center))
        .x_label_formatter(&|tokens| inkstone_base::figures::count(tokens.round() as u64))
        .y_label_formatter(&|figure| format!("{figure:.decimals$}"))
        .draw()
        .map_err(svg::failed)?;
    let (plot, _) = chart.plotting_area().get_pixel_range();
    let small = |h| svg::style(TYPE, DIM, h, VPos::Center);
    svg::write(canvas, words::measure(findings, language), (8, TOP / 2), small(HPos::Left))?;
    svg::write(
        canvas,
        words::AXIS_COST.to(language),
        ((plot.start + plot.end) / 2, TOP + DOWN + 36),
        small(HPos::Center),
    )?;

    let place = |cost: f64, figure: f64| chart.backend_coord(&(cost, figure));
    if let Some(cell) = baseline(findings).filter(|cell| cell.figure.is_finite()) {
        let (_, y) = place(low, cell.figure);
        svg::dashes(canvas, y, [plot.start, plot.end], false, BASELINE)?;
        let style = svg::style(TYPE, BASELINE, HPos::Left, VPos::Center);
        svg::write(canvas, words::BASELINE.to(language), (plot.end + 6, y), style)?;
    }
    let wanted: Vec<f64> = points.iter().map(|point| f64::from(place(point.cost, bottom).0)).collect();
    let xs = spread(&wanted, APART, f64::from(plot.start + 8), f64::from(plot.end - 8));
    let xs: Vec<i32> = xs.iter().map(|x| x.round() as i32).collect();
    for (point, &x) in points.iter().zip(&xs) {
        let ends = point.ends().map(|end| place(point.cost, end).1);
        if ends[0] != ends[1] {
            svg::whisker(canvas, x, ends, true, svg::series(point.family).mix(0.55).stroke_width(1))?;
        }
    }
    let steps: Vec<(i32, i32)> = points
        .iter()
        .zip(&xs)
        .filter(|(p, _)| p.cell.on_frontier)
        .map(|(p, &x)| (x, place(p.cost, p.cell.figure).1))
        .collect();
    let stairs = steps.iter().enumerate().flat_map(|(i, &(x, y))| {
        // Up to the next point the figure is that of this one.
        [(x, y), (steps.get(i + 1).map_or(plot.end, |next| next.0), y)]
    });
    if !steps.is_empty() {
        svg::line(canvas, stairs.collect(), INK.stroke_width(2))?;
    }
    for (point, &x) in points.iter().zip(&xs) {
        svg::mark(canvas, point.feature, (x, place(point.cost, point.cell.figure).1), svg::series(point.family))?;
    }
    let mut taken: Vec<[i32; 4]> = Vec::new();
    for (point, &x) in points.iter().zip(&xs).filter(|(point, _)| point.cell.on_frontier) {
        let y = place(point.cost, point.ends()[1]).1;
        name_point(
            canvas,
            if point.cell.setting.is_empty() { &point.cell.feature } else { &point.cell.setting },
            (x, y - 10),
            plot.start..plot.end,
            svg::series(point.family),
            &mut taken,
        )?;
    }
    Ok(())
}

/// Writes a point's name above it, in the plot from side to side, and higher where another name stands.
fn name_point(
    canvas: &Canvas<'_>,
    name: &str,
    (x, y): (i32, i32),
    plot: std::ops::Range<i32>,
    color: RGBColor,
    taken: &mut Vec<[i32; 4]>,
) -> Result<()> {
    let wide = svg::width(name, TYPE).ceil() as i32;
    let left = (x - wide / 2).min(plot.end - wide - 2).max(plot.start + 2);
    let mut y = y.max(TOP + 8);
    let meets =
        |y: i32, other: &[i32; 4]| left < other[2] && other[0] < left + wide && y - 8 < other[3] && other[1] < y + 8;
    // Down where the top is reached: names never leave the picture.
    let step = if y - 16 * taken.len() as i32 >= TOP + 8 { -16 } else { 16 };
    while taken.iter().any(|other| meets(y, other)) {
        y += step;
    }
    taken.push([left, y - 8, left + wide, y + 8]);
    svg::write_over(canvas, name, left, y, color)
}

#[cfg(test)]
mod tests {
    use super::super::markup::texts;
    use super::super::testing::{findings, large, single};
    use super::*;

    #[test]
    fn the_picture_names_the_measure_the_baseline_and_the_frontier() {
        let svg = frontier_svg(&findings(), Language::En).unwrap().unwrap();
        let texts = texts(&svg);
        for text in [
            "RankIC",
            "128",
            "256",
            "head:128",
            "tail:512",
            "bert<&>",
            "baseline 语气 · head:512",
            "sections@rating,risk",
        ] {
            assert!(texts.iter().any(|t| t == text), "{text} is not in {texts:?}");
        }
        assert!(!texts.iter().any(|t| t == "middle:512"), "what is beaten has no name in the plot");
        // Five cells have a figure, and so an interval of one bar and two feet each.
        assert_eq!(svg.matches("opacity=\"0.55\"").count(), 15);
        assert_eq!(svg, frontier_svg(&findings(), Language::En).unwrap().unwrap());
    }

    #[test]
    fn grids_of_any_size_are_drawn_and_nothing_leaves_the_picture() {
        let mut flat = large();
        flat.cells.iter_mut().for_each(|cell| {
            cell.figure = 0.0;
            cell.interval = Default::default();
            cell.cost.tokens = 0;
        });
        for findings in [findings(), large(), single(), flat] {
            for language in Language::ALL {
                let svg = frontier_svg(&findings, language).unwrap().unwrap();
                texts(&svg);
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
                let size = |name: &str| -> i32 {
                    svg.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
                };
                let (width, height) = (size(" width"), size(" height"));
                for (key, limit) in
                    [("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("cy", height)]
                {
                    for value in svg.split(&format!(" {key}=\"")).skip(1) {
                        let value: i32 = value.split('"').next().unwrap().parse().unwrap();
                        assert!((0..=limit).contains(&value), "{key}={value} of {limit} in {}", findings.name);
                    }
                }
            }
        }
        assert_eq!(frontier_svg(&Findings::default(), Language::Zh).unwrap(), None);
    }

    #[test]
    fn points_that_cost_the_same_stand_side_by_side() {
        let svg = frontier_svg(&large(), Language::En).unwrap().unwrap();
        let mut centres: Vec<i32> =
            svg.split("<circle cx=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
        // The last circle is that of the legend.
        centres.pop();
        let all = centres.len();
        centres.sort();
        centres.dedup();
        assert_eq!((all, centres.len()), (60, 60));
    }
}
