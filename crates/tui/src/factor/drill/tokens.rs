//! The words of a sentence by the weights that they gave.

use super::lists::bar_cells;
use crate::charts::signed_bar;
use crate::desk::Desk;
use crate::factor::words as own;
use crate::kit::{Cell, ListSheet, SheetRow, number, text};
use crate::{figures, look};
use inkstone_features::extract::{ExplainedSentence, ExplainedWord};

/// Lists the words, the largest weight first, whatever its sign.
pub(super) fn fill(sheet: &mut ListSheet, sentence: &ExplainedSentence, width: u16, desk: &Desk<'_>) {
    let room = bar_cells(width, 60, 12);
    sheet.fill((&sentence.text, sentence.words.len(), room), desk.language, || {
        let columns = vec![
            text("word", own::WORD, 16),
            number("weight", own::WEIGHT_OF_WORD, 9),
            number("share", format!("{} %", desk.say(own::SHARE)), 8),
            text("negated", own::NEGATED, 7),
            number("degree", own::DEGREE, 6),
            number("times", own::TIMES, 5),
            text("bar", String::new(), 0).on_screen(),
        ];
        let mut words: Vec<&ExplainedWord> = sentence.words.iter().collect();
        words.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
        let sizes = || words.iter().map(|word| word.value.abs()).filter(|size| size.is_finite());
        let (largest, total) = (sizes().fold(0.0, f64::max), sizes().sum::<f64>());
        let row = |word: &&ExplainedWord| {
            let negated = if word.negated { desk.say(crate::words::YES) } else { "" };
            let degree = f64::from(word.degree);
            let degree_shown = if degree == 1.0 { String::new() } else { format!("×{}", figures::number(degree, 1)) };
            let cells = vec![
                Cell::text(word.word.clone()),
                Cell::number(word.value, |value| figures::signed(value, 4)),
                Cell::number(100.0 * word.value.abs() / total, |share| figures::number(share, 1)),
                Cell::text(negated).copied(word.negated.to_string()),
                Cell::number(degree, |_| String::new()).shown(degree_shown),
                Cell::count(Some(word.places.len() as u64)),
                Cell::number(word.value, |_| String::new()).shown(signed_bar(word.value, largest, room)),
            ];
            SheetRow { key: word.word.clone(), style: look::of_sign(word.value, desk.workspace.red_up), cells }
        };
        (columns, words.iter().map(row).collect())
    });
}
