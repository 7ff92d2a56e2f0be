//! The frontier of an experiment as a chart of characters.
//!
//! Lines are pieces with a tone; the screen gives tones their colours. Widths are cells of a terminal; a Chinese character takes two.

use std::fmt;

use super::axis::Axis;
use super::finding::{DECIMALS, baseline, features, label};
use super::frontier::{self, Point, families, points};
use super::spread::spread;
use super::words;
use inkstone_base::figures::{count, number};
use inkstone_base::language::Language;
use inkstone_base::width::{self, Glyph};
use inkstone_features::experiment::{Cell, Findings};

/// Cells of the numbers left of the chart.
const SCALE: usize = 8;
/// Marks of series, the features and families in their order; more than these share the last.
const MARKS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ•";

/// Role of a piece of text, by which it gets a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextTone {
    #[default]
    Plain,
    /// Scales, intervals, units.
    Dim,
    /// Heads and what is best.
    Strong,
    Frontier,
    Baseline,
    /// Better than the baseline, not by chance.
    Above,
    /// Worse than the baseline, not by chance.
    Below,
    /// A family of strategies by its number.
    Series(usize),
}

/// Some text of one tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledText {
    /// The text, without line breaks and control characters.
    pub text: String,
    pub tone: TextTone,
}

/// A line of text; shown (`Display`) without its tones and without spaces at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine(pub Vec<StyledText>);

impl StyledLine {
    fn push(&mut self, text: impl Into<String>, tone: TextTone) {
        let text = text.into();
        match self.0.last_mut().filter(|last| last.tone == tone) {
            Some(last) => last.text += &text,
            None => self.0.push(StyledText { text, tone }),
        }
    }

    fn new(text: impl Into<String>, tone: TextTone) -> StyledLine {
        StyledLine(vec![StyledText { text: text.into(), tone }])
    }
}

impl fmt::Display for StyledLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.0.iter().map(|piece| piece.text.as_str()).collect();
        f.write_str(text.trim_end())
    }
}

/// A text in lines of at most this many cells.
pub fn wrapped(text: &str, width: usize, tone: TextTone) -> Vec<StyledLine> {
    let glyphs: Vec<Glyph<'_>> = width::glyphs(text).collect();
    let line = |range: std::ops::Range<usize>| glyphs[range].iter().map(|glyph| &*glyph.text).collect::<String>();
    // A space that was between two words is none at the beginning of a line.
    width::wrap(&glyphs, width).into_iter().map(|range| StyledLine::new(line(range).trim_start(), tone)).collect()
}

/// Mark of a series.
fn mark(findings: &Findings, feature: usize, family: usize) -> char {
    let marks = MARKS.chars().count();
    let number = feature * families(findings).len() + family;
    MARKS.chars().nth(number.min(marks - 1)).unwrap_or('•')
}

/// Mark of a cell on the chart, and the tone of its family.
pub fn mark_of(findings: &Findings, cell: &Cell) -> (char, TextTone) {
    let number = |names: &[&str], name: &str| names.iter().position(|n| *n == name).unwrap_or_default();
    let (feature, family) = (number(&features(findings), &cell.feature), number(&families(findings), &cell.family));
    (mark(findings, feature, family), TextTone::Series(family))
}

/// The frontier as a chart of `rows` rows with its scales. Empty where no cell has a figure or there is no room.
pub fn frontier_chart(findings: &Findings, width: usize, rows: usize, language: Language) -> Vec<StyledLine> {
    let points = points(findings);
    if points.is_empty() || width < SCALE + 12 || rows < 5 {
        return Vec::new();
    }
    let mut lines = vec![StyledLine::new(width::cut(words::measure(findings, language), width), TextTone::Dim)];
    let plot = CharacterPlot::new(&points, width - SCALE - 1, rows - 3);
    let cells = plot.cells(findings, &points);
    let (ticks, decimals) = (plot.figures.ticks(), plot.figures.decimals());
    let at_rows: Vec<usize> = ticks.iter().map(|tick| plot.row(*tick)).collect();
    for (row, cells) in cells.into_iter().enumerate() {
        let mut line = StyledLine::default();
        match at_rows.iter().position(|at| *at == row) {
            Some(at) => line.push(width::right(&format!("{:.decimals$}", ticks[at]), SCALE) + "┤", TextTone::Dim),
            None => line.push(" ".repeat(SCALE) + "│", TextTone::Dim),
        }
        for (c, tone) in cells {
            line.push(c, tone);
        }
        lines.push(line);
    }
    lines.extend(plot.cost_axis(width, language));
    lines
}

/// A field of characters on which figures go up and the logarithm of costs goes to the right.
struct CharacterPlot {
    costs: Axis,
    figures: Axis,
    columns: usize,
    rows: usize,
}

impl CharacterPlot {
    fn new(points: &[Point<'_>], columns: usize, rows: usize) -> CharacterPlot {
        let (low, high) = frontier::costs(points);
        let (bottom, top) = frontier::figures(points, [0.03, 0.03]);
        let costs = Axis::logarithmic(low, high, (columns / 10).max(2));
        CharacterPlot { costs, figures: Axis::linear(bottom, top, (rows / 3).clamp(2, 8)), columns, rows }
    }

    fn row(&self, figure: f64) -> usize {
        let share = 1.0 - self.figures.share(figure);
        ((share * (self.rows - 1) as f64).round().max(0.0) as usize).min(self.rows - 1)
    }

    fn column(&self, cost: f64) -> f64 {
        self.costs.share(cost) * (self.columns - 1) as f64
    }

    /// The field, row by row.
    fn cells(&self, findings: &Findings, points: &[Point<'_>]) -> Vec<Vec<(char, TextTone)>> {
        let mut field = vec![vec![(' ', TextTone::Plain); self.columns]; self.rows];
        if let Some(cell) = baseline(findings).filter(|cell| cell.figure.is_finite()) {
            field[self.row(cell.figure)].fill(('┄', TextTone::Baseline));
        }
        let wanted: Vec<f64> = points.iter().map(|point| self.column(point.cost)).collect();
        let columns = spread(&wanted, 2.0, 0.0, (self.columns - 1) as f64);
        let columns: Vec<usize> = columns.iter().map(|column| column.round() as usize).collect();
        for (point, &x) in points.iter().zip(&columns) {
            let [low, high] = point.ends().map(|end| self.row(end));
            for row in high..=low {
                field[row][x] = (
                    if row == high {
                        '┬'
                    } else if row == low {
                        '┴'
                    } else {
                        '│'
                    },
                    TextTone::Dim,
                );
            }
        }
        let on: Vec<(usize, usize)> = points
            .iter()
            .zip(&columns)
            .filter(|(point, _)| point.cell.on_frontier)
            .map(|(point, &x)| (x, self.row(point.cell.figure)))
            .collect();
        for (i, &(x, y)) in on.iter().enumerate() {
            let (end, above) = on.get(i + 1).copied().unwrap_or((self.columns, y));
            field[y][x..end].fill(('─', TextTone::Frontier));
            if end < self.columns && above < y {
                field[y][end] = ('╯', TextTone::Frontier);
                field[above..y].iter_mut().for_each(|row| row[end] = ('│', TextTone::Frontier));
            }
        }
        // Marks of the frontier last, so that no other covers them where there is little room.
        for wanted in [false, true] {
            for (point, &x) in points.iter().zip(&columns).filter(|(point, _)| point.cell.on_frontier == wanted) {
                let mark = mark(findings, point.feature, point.family);
                field[self.row(point.cell.figure)][x] = (mark, TextTone::Series(point.family));
            }
        }
        field
    }

    /// The line below the field, its numbers, and what they are.
    fn cost_axis(&self, width: usize, language: Language) -> [StyledLine; 2] {
        let mut axis: Vec<char> = vec!['─'; self.columns];
        let mut numbers = String::new();
        for tick in self.costs.ticks() {
            let column = (self.column(*tick).round().max(0.0) as usize).min(self.columns - 1);
            axis[column] = '┴';
            let text = count(tick.round() as u64);
            let left = (SCALE + 1 + column).saturating_sub(text.len() / 2);
            if left > numbers.len() && left + text.len() <= width || numbers.is_empty() {
                numbers += &" ".repeat(left.saturating_sub(numbers.len()));
                numbers += &text;
            }
        }
        let name = words::AXIS_COST.to(language);
        if numbers.len() + 2 + width::width(name) <= width {
            numbers += "  ";
            numbers += name;
        }
        let axis: String = axis.into_iter().collect();
        [
            StyledLine::new(format!("{}└{axis}", " ".repeat(SCALE)), TextTone::Dim),
            StyledLine::new(width::cut(&numbers, width), TextTone::Dim),
        ]
    }
}

/// Meaning of the marks and lines of the chart, in as many lines as it takes.
pub fn frontier_legend(findings: &Findings, width: usize, language: Language) -> Vec<StyledLine> {
    let (families, features) = (families(findings), features(findings));
    let mut entries: Vec<(char, TextTone, String)> =
        vec![('─', TextTone::Frontier, words::ON_FRONTIER.to(language).to_owned())];
    if let Some(cell) = baseline(findings) {
        let text =
            format!("{} {} {}", words::BASELINE.to(language), label(findings, cell), number(cell.figure, DECIMALS));
        entries.push(('┄', TextTone::Baseline, text));
    }
    for (f, feature) in features.iter().enumerate() {
        for (i, family) in families.iter().enumerate() {
            if findings
                .cells
                .iter()
                .any(|cell| cell.family == *family && cell.feature == *feature && cell.figure.is_finite())
            {
                let several = features.len() > 1 && family != feature;
                let text = if several { format!("{feature} · {family}") } else { (*family).to_owned() };
                entries.push((mark(findings, f, i), TextTone::Series(i), text));
            }
        }
    }
    let mut lines = vec![StyledLine::default()];
    let mut used = 0;
    for (mark, tone, text) in entries {
        let text = width::cut(&text, width.saturating_sub(4));
        let wide = width::width(&text) + 2;
        if used > 0 && used + 3 + wide > width {
            lines.push(StyledLine::default());
            used = 0;
        }
        let line = lines.last_mut().expect("there is a line from the beginning");
        if used > 0 {
            line.push("   ", TextTone::Plain);
            used += 3;
        }
        line.push(mark, tone);
        line.push(format!(" {text}"), TextTone::Plain);
        used += wide;
    }
    lines
}

/// Indices of the cells, from the highest figure to the lowest; cells without a figure come last.
pub fn best_first(findings: &Findings) -> Vec<usize> {
    let order =
        |number: usize| Some(findings.cells[number].figure).filter(|f| f.is_finite()).unwrap_or(f64::NEG_INFINITY);
    let mut numbers: Vec<usize> = (0..findings.cells.len()).collect();
    numbers.sort_by(|&a, &b| order(b).total_cmp(&order(a)));
    numbers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{findings, grid, large, single};
    use super::*;

    fn text(lines: &[StyledLine]) -> String {
        lines.iter().map(|line| line.to_string() + "\n").collect()
    }

    #[test]
    fn the_chart_is_as_drawn_by_hand() {
        let mut lines = frontier_chart(&findings(), 60, 14, Language::En);
        lines.extend(frontier_legend(&findings(), 60, Language::En));
        insta::assert_snapshot!("frontier", text(&lines));
    }

    #[test]
    fn an_experiment_without_figures_has_no_chart() {
        assert!(frontier_chart(&Findings::default(), 80, 20, Language::Zh).is_empty());
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(columns in 40usize..200, rows in 0usize..40, which in 0usize..4, zh: bool) {
            let findings = [findings, large, single, grid][which]();
            let language = if zh { Language::Zh } else { Language::En };
            for line in frontier_chart(&findings, columns, rows, language) {
                prop_assert!(width::width(&line.to_string()) <= columns, "{columns}: {line}");
            }
        }
    }
}
