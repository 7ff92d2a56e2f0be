//! The summary of a column: rows, missing and distinct values, and, for numbers, mean, deviation and quantiles.

use super::column::Value;
use super::count::{Counting, Group, short};
use super::words as w;
use crate::words::Word;
use crate::{Language, figures};
use inkstone_base::stats;

/// Quantiles of the summary, in percent.
const QUANTILES: [usize; 7] = [1, 5, 25, 50, 75, 95, 99];

/// Statistics of a column, one on each line.
#[derive(Clone, Debug, PartialEq)]
enum Line {
    Count(Word, u64),
    Number(Word, f64),
    Quantile(usize, f64),
    Text(Word, String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary(Vec<Line>);

impl Summary {
    /// Summarises the values of rows; those of a row with several stand one after the other.
    pub(crate) fn of<'a>(rows: impl Iterator<Item = Vec<Value<'a>>>) -> Summary {
        let (mut counting, mut count, mut missing) = (Counting::default(), 0, 0);
        let (mut numbers, mut times) = (Vec::new(), Vec::new());
        for values in rows {
            count += 1;
            missing += u64::from(values.iter().all(|value| *value == Value::Missing));
            for value in &values {
                match value {
                    Value::Number(number) => numbers.push(*number),
                    Value::Time(time) => times.push(*time),
                    Value::Missing | Value::Text(_) => {}
                }
            }
            counting.row(values.into_iter().filter(|value| matches!(value, Value::Text(_))));
        }
        let mut lines = vec![Line::Count(w::ROWS, count), Line::Count(w::MISSING, missing)];
        let texts = counting.end();
        if let Some((Group::Text(first), n)) = texts.lines.first() {
            let others = texts.lines.iter().map(|(group, _)| if let Group::Others(n) = group { *n } else { 1 });
            lines.push(Line::Count(w::DISTINCT, others.sum::<usize>() as u64));
            lines.push(Line::Text(w::MOST_FREQUENT, format!("{first} ({})", figures::count(*n))));
        }
        if let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) {
            let written = |time: &chrono::NaiveDateTime| time.format("%Y-%m-%d %H:%M:%S").to_string();
            lines.extend([Line::Text(w::LEAST, written(first)), Line::Text(w::GREATEST, written(last))]);
            times.sort_unstable();
            lines.push(Line::Text(w::MEDIAN, written(&times[(times.len() - 1) / 2])));
            times.dedup();
            lines.insert(2, Line::Count(w::DISTINCT, times.len() as u64));
        }
        if !numbers.is_empty() {
            numbers.sort_unstable_by(f64::total_cmp);
            let quantile = |percent: usize| stats::quantile(&numbers, percent as f64 / 100.0);
            lines.push(Line::Count(w::DISTINCT, numbers.chunk_by(|a, b| a == b).count() as u64));
            lines.extend([
                Line::Number(w::LEAST, numbers[0]),
                Line::Number(w::MEAN, stats::mean(numbers.iter().copied())),
            ]);
            lines
                .extend([Line::Number(w::MEDIAN, quantile(50)), Line::Number(w::GREATEST, numbers[numbers.len() - 1])]);
            lines.push(Line::Number(w::DEVIATION, stats::std(&numbers)));
            lines.extend(QUANTILES.map(|share| Line::Quantile(share, quantile(share))));
        }
        Summary(lines)
    }

    /// Names and values, a pair a line.
    pub(super) fn lines(&self, language: Language) -> Vec<(String, String)> {
        let number = |value: f64| if value.is_finite() { short(value) } else { "–".to_owned() };
        let pair = |line: &Line| match line {
            Line::Count(word, n) => (word.to(language).to_owned(), figures::count(*n)),
            Line::Number(word, value) => (word.to(language).to_owned(), number(*value)),
            Line::Quantile(share, value) => (format!("{share} % {}", w::QUANTILE.to(language)), number(*value)),
            Line::Text(word, text) => (word.to(language).to_owned(), text.clone()),
        };
        self.0.iter().map(pair).collect()
    }
}
