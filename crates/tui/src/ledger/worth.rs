//! The figures over all trials: their number, the Sharpe ratio that luck would give, and the histogram.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::shelf::Shelf;
use super::words as w;
use crate::context::PageContext;
use crate::{bars, figures, look, sentences, width};
use inkstone_lab::ledger::BookTrial;

use inkstone_base::language::Language;

/// Rate of false discoveries at which trials are counted.
const RATE: f64 = 0.05;

/// Lines of a histogram that are no bars: the axis, the marks and the words below.
const AROUND: u16 = 3;

/// A sentence on each figure, in lines of at most so many cells.
pub(super) fn lines(language: Language, shelf: &Shelf, selected: Option<&BookTrial>, cells: usize) -> Vec<String> {
    let totals = &shelf.book.totals;
    let counts = [totals.trials, totals.independent, totals.runs, totals.deleted, totals.missing].map(figures::count);
    let mut sentences =
        vec![w::counted(language, &counts), w::luck(language, &figures::number(totals.expected_best, 2))];
    if let Some(trial) = selected {
        let value = figures::number(trial.looks.deflated_sharpe, 3);
        sentences.push(w::deflated(language, trial.entry.number, &value));
    }
    let trials = figures::count(totals.overfitting_trials);
    sentences.push(w::overfitting(language, &figures::number(totals.overfitting, 3), &trials));
    let found = |q: fn(&BookTrial) -> f64| {
        figures::count(shelf.book.trials.iter().filter(|trial| q(trial) <= RATE).count() as u64)
    };
    sentences.push(w::discoveries(language, &found(|trial| trial.looks.q), &found(|trial| trial.looks.q_dependent)));
    let wrapped = |sentence: &String| {
        // The first line of each stands out, so that they are told apart without empty lines.
        let lines = sentences::wrap(sentence, cells.saturating_sub(2)).into_iter().enumerate();
        lines.map(|(at, line)| format!("{} {line}", if at == 0 { "•" } else { " " })).collect::<Vec<_>>()
    };
    sentences.iter().flat_map(wrapped).collect()
}

/// Bins of equal width, and where values lie among them.
struct Bins {
    low: f64,
    high: f64,
    counts: Vec<f64>,
}

impl Bins {
    /// So many bins over these values, and over 0 and what else has to be in sight.
    fn new(values: &[f64], also: &[f64], bins: usize) -> Bins {
        let all = || values.iter().chain(also).copied().filter(|value| value.is_finite()).chain([0.0]);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let mut found = Bins { low, high: if high > low { high } else { low + 1.0 }, counts: vec![0.0; bins] };
        for value in values {
            let bin = found.place(*value, bins);
            found.counts[bin] += 1.0;
        }
        found
    }

    /// Which of so many equal steps a value falls into.
    fn place(&self, value: f64, steps: usize) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        ((share * steps as f64).max(0.0) as usize).min(steps.saturating_sub(1))
    }
}

/// Draws how many trials have which Sharpe ratio, with the best that luck is expected to give and the selected one marked.
pub(super) fn draw_histogram(
    context: &PageContext<'_>,
    shelf: &Shelf,
    selected: Option<&BookTrial>,
    frame: &mut Frame<'_>,
    inner: Rect,
) {
    let sharpes = shelf.book.trials.iter().map(|trial| trial.looks.sharpe).filter(|sharpe| sharpe.is_finite());
    let sharpes: Vec<f64> = sharpes.collect();
    let rows = inner.height.saturating_sub(AROUND) as usize;
    if sharpes.is_empty() || rows == 0 {
        return sentences::draw([(context.say(w::NO_SHARPES), look::PLAIN)], frame, inner);
    }
    let luck = shelf.book.totals.expected_best;
    let step = 2;
    let cells = inner.width as usize / step * step;
    let bins = Bins::new(&sharpes, &[luck], (cells / step).max(1));
    let top = bins.counts.iter().copied().fold(1.0, f64::max);
    let drawn = bars::upright(&bins.counts, top, rows, step - 1, 1);
    let mut lines: Vec<Line<'_>> = drawn.into_iter().map(|bars| Line::styled(bars, look::KEY)).collect();
    let mut marks = vec![' '; cells];
    let mut mark = |value: f64, sign: char| {
        if value.is_finite() {
            // Two marks of one bar stand side by side.
            let place = bins.place(value, cells / step) * step;
            let free = if matches!(marks[place], ' ' | '0') { place } else { place + 1 };
            marks[free] = sign;
        }
    };
    mark(0.0, '0');
    mark(luck, '▲');
    mark(selected.map_or(f64::NAN, |trial| trial.looks.sharpe), '◆');
    lines.push(Line::styled(marks.into_iter().collect::<String>(), look::NOTE));
    let (low, high) = (figures::signed(bins.low, 2), figures::signed(bins.high, 2));
    let gap = cells.saturating_sub(low.len() + high.len());
    let middle = width::cut(context.say(w::ALL_SHARPES), gap.saturating_sub(2));
    let sides = gap - width::width(&middle);
    let axis = format!("{low}{}{middle}{}{high}", " ".repeat(sides / 2), " ".repeat(sides - sides / 2));
    lines.push(Line::styled(axis, look::DIM));
    let mut legend = format!("{} {}", context.say(w::MARK_LUCK), figures::number(luck, 2));
    if let Some(trial) = selected.filter(|trial| trial.looks.sharpe.is_finite()) {
        legend += &format!(" · ◆ #{} {}", trial.entry.number, figures::signed(trial.looks.sharpe, 2));
    }
    legend += &format!(" · {} {top}", context.say(w::TALLEST));
    lines.push(Line::from(Span::raw(width::cut(&legend, inner.width.into()))));
    frame.render_widget(Paragraph::new(lines), inner);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_all_values_and_what_has_to_be_in_sight() {
        let bins = Bins::new(&[-1.0, 0.5, 0.9, 3.0], &[4.0, f64::NAN], 5);
        assert_eq!((bins.low, bins.high), (-1.0, 4.0));
        assert_eq!(bins.counts, [1.0, 2.0, 0.0, 0.0, 1.0]);
        assert_eq!(bins.place(4.0, 5), 4);
        assert_eq!(Bins::new(&[0.0], &[], 3).counts, [1.0, 0.0, 0.0], "nothing is divided by nothing");
    }
}
