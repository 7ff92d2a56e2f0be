//! An experiment as text: the frontier as a chart of characters, and its cells as a table.
//!
//! Lines are pieces with a tone; who shows them gives tones their colours, or none. Widths are cells of a terminal, of which a Chinese
//! character takes two.

use std::fmt;

use super::axis::Axis;
use super::differences::compared;
use super::finding::{
    CellStanding, DECIMALS, baseline, effect_label, features, finding, interval, label, standing, tokens,
};
use super::frontier::{self, Point, families, points};
use super::spread::spread;
use super::words;
use inkstone_base::figures::probability;
use inkstone_base::figures::{count, number, percent, signed};
use inkstone_base::language::{Language, Word};
use inkstone_base::width::{self, Glyph};
use inkstone_features::experiment::{Cell, Effect, Findings, cell_name};

/// Cells of the numbers left of the chart.
const SCALE: usize = 8;
/// Rows of the chart in [`experiment_lines`].
const ROWS: usize = 18;
/// Marks of series, the features and families in their order; more than these share the last.
const MARKS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ•";

/// Role of a piece of text, by which it gets a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextTone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Scales, intervals, units.
    Dim,
    /// Heads and what is best.
    Strong,
    /// The frontier.
    Frontier,
    /// The baseline.
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

/// The experiment as a terminal of this width shows it: what was asked, the finding, the frontier, the cells, and what was set aside.
pub fn experiment_lines(findings: &Findings, width: usize, language: Language) -> Vec<StyledLine> {
    let width = width.max(40);
    let say = |word: Word| word.to(language);
    let mut lines = vec![StyledLine::new(
        width::cut(&format!("{} {}", say(words::EXPERIMENT), findings.name), width),
        TextTone::Strong,
    )];
    let mut asked = vec![
        say(words::target(findings.target)).to_owned(),
        words::measure(findings, language).to_owned(),
        format!("{} {}", say(words::DOCUMENTS), count(findings.documents)),
        format!("{} {}", say(words::TRIED), findings.cells.len()),
        format!("{} {}", say(words::DRAWS), count(findings.draws as u64)),
        format!("{} {}", say(words::CONFIDENCE), percent(findings.confidence)),
    ];
    if let Some((factor, horizon)) = &findings.factor {
        asked.insert(1, format!("{} {factor} · {} {horizon}", say(words::FACTOR), say(words::HORIZON)));
    }
    lines.extend(wrapped(&asked.join(" · "), width, TextTone::Dim));
    lines.push(StyledLine::default());
    lines.extend(wrapped(&finding(findings, language), width, TextTone::Plain));
    let chart = frontier_chart(findings, width, ROWS, language);
    if !chart.is_empty() {
        lines.push(StyledLine::default());
        lines.extend(chart);
        lines.extend(frontier_legend(findings, width, language));
    }
    if !findings.cells.is_empty() {
        lines.push(StyledLine::default());
        lines.extend(table(findings, width, language));
    }
    if !findings.effects.is_empty() {
        lines.push(StyledLine::default());
        lines.extend(effects(findings, width, language));
    }
    let mut aside: Vec<String> = Vec::new();
    if findings.overlap.test_documents > 0 {
        aside.push(format!("{} {}", say(words::OVERLAP), percent(findings.overlap.share)));
    }
    if !findings.dropped.is_empty() {
        aside.push(format!("{} {}", say(words::DROPPED), count(findings.dropped.values().sum())));
    }
    if !aside.is_empty() {
        lines.push(StyledLine::default());
        lines.extend(wrapped(&aside.join(" · "), width, TextTone::Dim));
    }
    for cell in &findings.skipped {
        let name = cell_name(&cell.feature, &cell.setting);
        let text = format!("{}: {name}: {}", say(words::SKIPPED), cell.reason);
        lines.extend(wrapped(&text, width, TextTone::Dim));
    }
    lines
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

/// A column of the table: its head, cells across, and what stands in it.
struct TableColumn {
    head: Word,
    wide: usize,
    text: fn(&Cell) -> String,
}

/// Columns in the order in which they are given up where there is no room for them, the dearest first.
const COLUMNS: [TableColumn; 7] = [
    TableColumn {
        head: words::DIFFERENCE,
        wide: 8,
        text: |cell| cell.against.map_or("–".to_owned(), |c| signed(c.difference, DECIMALS)),
    },
    TableColumn { head: words::TOKENS, wide: 10, text: tokens },
    TableColumn {
        head: words::P_ADJUSTED,
        wide: 10,
        text: |cell| cell.against.map_or("–".to_owned(), |c| probability(c.p_adjusted)),
    },
    TableColumn {
        head: words::INTERVAL,
        wide: 19,
        text: |cell| cell.against.map_or("–".to_owned(), |c| interval(c.interval)),
    },
    TableColumn { head: words::SECONDS, wide: 8, text: |cell| number(cell.cost.seconds, 1) },
    TableColumn { head: words::P, wide: 7, text: |cell| cell.against.map_or("–".to_owned(), |c| probability(c.p)) },
    TableColumn { head: words::DEVICE, wide: 8, text: |cell| cell.cost.device.clone() },
];

/// Numbers of the cells, that of the highest figure first; those without a figure last.
pub fn best_first(findings: &Findings) -> Vec<usize> {
    let order =
        |number: usize| Some(findings.cells[number].figure).filter(|f| f.is_finite()).unwrap_or(f64::NEG_INFINITY);
    let mut numbers: Vec<usize> = (0..findings.cells.len()).collect();
    numbers.sort_by(|&a, &b| order(b).total_cmp(&order(a)));
    numbers
}

/// The cells as a table, the highest figure first; cells without a figure come last.
fn table(findings: &Findings, width: usize, language: Language) -> Vec<StyledLine> {
    let measure = words::measure(findings, language);
    let figure = width::width(measure).max(7);
    let longest = findings.cells.iter().map(|cell| width::width(&label(findings, cell))).max().unwrap_or(0);
    // Beside the name stand its mark, the figure and the sign of the frontier.
    let least = longest.min(28).min(width.saturating_sub(5 + figure));
    let mut room = width.saturating_sub(least + 5 + figure);
    let mut columns: Vec<&TableColumn> = Vec::new();
    for column in &COLUMNS {
        let wide = column.wide.max(width::width(column.head.to(language))) + 1;
        if wide > room {
            break;
        }
        room -= wide;
        columns.push(column);
    }
    let name = least + room.min(longest.saturating_sub(least));
    let wide = |column: &TableColumn| column.wide.max(width::width(column.head.to(language)));
    let mut head = format!("  {} {}", width::left(words::CELL.to(language), name), width::right(measure, figure));
    for column in &columns {
        head = head + " " + &width::right(column.head.to(language), wide(column));
    }
    let mut lines = vec![StyledLine::new(head, TextTone::Dim)];
    for cell in best_first(findings).into_iter().map(|number| &findings.cells[number]) {
        let standing = standing(findings, cell);
        let tone = match standing {
            CellStanding::Baseline => TextTone::Baseline,
            CellStanding::Above => TextTone::Above,
            CellStanding::Below => TextTone::Below,
            CellStanding::NotShown => TextTone::Plain,
        };
        let mut line = StyledLine::default();
        let (mark, series) = mark_of(findings, cell);
        line.push(mark, series);
        line.push(" ", TextTone::Plain);
        line.push(width::left(&label(findings, cell), name), tone);
        line.push(" ", TextTone::Plain);
        line.push(width::right(&number(cell.figure, DECIMALS), figure), tone);
        for column in &columns {
            let tone = if column.head == words::DIFFERENCE { tone } else { TextTone::Plain };
            line.push(" ", TextTone::Plain);
            line.push(width::right(&(column.text)(cell), wide(column)), tone);
        }
        if cell.on_frontier {
            line.push(" ─", TextTone::Frontier);
        }
        lines.push(line);
    }
    if compared(findings).is_empty() {
        lines.push(StyledLine::new(width::cut(words::NO_DIFFERENCES.to(language), width), TextTone::Dim));
    }
    lines
}

/// Effects of settings on the figure, one line for each value.
fn effects(findings: &Findings, width: usize, language: Language) -> Vec<StyledLine> {
    let named = findings.effects.iter().map(|effect| width::width(&effect_label(findings, effect))).max().unwrap_or(0);
    let named = named.min(width.saturating_sub(40).max(8));
    let line = |effect: &Effect| {
        let mut text = width::left(&effect_label(findings, effect), named);
        text += &format!(" {}", width::right(&number(effect.figure, DECIMALS), 8));
        if let Some(against) = effect.against {
            text += &format!(" {}", width::right(&signed(against.difference, DECIMALS), 8));
            text += &format!(" {} {}", interval(against.interval), probability(against.p_adjusted));
        }
        StyledLine::new(width::cut(&text, width), TextTone::Plain)
    };
    let head = StyledLine::new(width::cut(words::EFFECTS.to(language), width), TextTone::Dim);
    std::iter::once(head).chain(findings.effects.iter().map(line)).collect()
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
    fn the_table_has_the_columns_that_fit() {
        let wide = text(&table(&findings(), 120, Language::En));
        assert!(wide.contains("[0.0120, 0.0320]") && wide.contains("seconds") && wide.contains("CPU"), "{wide}");
        let narrow = text(&table(&findings(), 60, Language::Zh));
        assert!(narrow.contains("+0.0220") && !narrow.contains("[0.0120"), "{narrow}");
        let first = narrow.lines().nth(1).unwrap();
        assert!(
            first.contains("语气 · tail:512") && first.ends_with('─'),
            "the best comes first, on the frontier: {first}"
        );
        assert!(narrow.lines().last().unwrap().contains('–'), "what has no figure comes last");
    }

    #[test]
    fn everything_is_told_and_what_is_not_there_is_not_drawn() {
        let lines = text(&experiment_lines(&findings(), 100, Language::En));
        for wanted in ["长文 <截断>", "is better than the baseline", "512 positions", "documents set aside 15", "1.5 %"]
        {
            assert!(lines.to_lowercase().contains(&wanted.to_lowercase()), "{wanted} is not in {lines}");
        }
        let lines = text(&experiment_lines(&grid(), 100, Language::En));
        let effect = lines.lines().find(|line| line.starts_with("layers=last:4 ")).unwrap();
        assert!(effect.contains("0.3450  +0.0400 [0.0300, 0.0500] 0.003"), "{effect}");
        assert!(frontier_chart(&Findings::default(), 80, 20, Language::Zh).is_empty());
        let lines = text(&experiment_lines(&Findings::default(), 80, Language::En));
        assert!(lines.contains("No cell has a figure"), "{lines}");
        let lines = text(&experiment_lines(&single(), 80, Language::Zh));
        assert!(lines.contains("没有可与基线比较的单元"), "{lines}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(columns in 40usize..200, rows in 0usize..40, which in 0usize..4, zh: bool) {
            let findings = [findings, large, single, grid][which]();
            let language = if zh { Language::Zh } else { Language::En };
            let chart = frontier_chart(&findings, columns, rows, language);
            for line in chart.iter().chain(&experiment_lines(&findings, columns, language)) {
                prop_assert!(width::width(&line.to_string()) <= columns, "{columns}: {line}");
            }
        }
    }
}
