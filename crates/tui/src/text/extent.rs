//! Where along a document a strategy keeps something, as a strip of cells.

use std::ops::Range;

use ratatui::style::{Color, Style};

use super::bench::About;
use crate::look;
use inkstone_corpus::structure::Section;

/// Cells of a strip.
pub(super) const CELLS: usize = 16;

/// The bytes of a document of this length that a cell stands for.
fn bytes(cell: usize, length: usize) -> Range<usize> {
    cell * length / CELLS..(cell + 1) * length / CELLS
}

/// A sign for each part of a document of this length: ▓ where the ranges, which ascend and do not meet, have nearly all of it, ▒ where they have
/// some, ░ where they have next to nothing.
pub(super) fn strip(kept: &[Range<usize>], length: usize) -> String {
    let sign = |cell: usize| {
        let part = bytes(cell, length);
        let shared = |range: &Range<usize>| range.end.min(part.end).saturating_sub(range.start.max(part.start));
        let share = kept.iter().map(shared).sum::<usize>() as f64 / part.len().max(1) as f64;
        match share {
            share if share > 0.75 => '▓',
            share if share >= 0.25 => '▒',
            _ => '░',
        }
    };
    (0..CELLS).map(sign).collect()
}

/// The colour of a cell: that of the section in its middle.
pub(super) fn colour(about: &About, cell: usize, length: usize) -> Style {
    let part = bytes(cell, length);
    let middle = part.start + part.len() / 2;
    let sentences = &about.sentences;
    let behind = sentences.partition_point(|sentence| sentence.range.start as usize <= middle);
    let section = behind.checked_sub(1).map(|at| sentences[at].section);
    section.map_or(look::PLAIN, of_section)
}

/// The colour of a section.
fn of_section(section: Section) -> Style {
    let colour = match section {
        Section::Title => Color::Cyan,
        Section::Header => Color::DarkGray,
        Section::Rating => Color::Yellow,
        Section::Summary => Color::Green,
        Section::Body => return look::PLAIN,
        Section::Forecast => Color::Blue,
        Section::Risk => Color::Red,
        Section::Disclaimer => Color::Magenta,
    };
    Style::new().fg(colour)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_corpus::structure::{Salience, Sentence};

    #[test]
    fn a_strip_tells_head_from_middle_and_tail() {
        assert_eq!(strip(std::slice::from_ref(&(0..400)), 1600), "▓▓▓▓░░░░░░░░░░░░");
        assert_eq!(strip(std::slice::from_ref(&(1200..1600)), 1600), "░░░░░░░░░░░░▓▓▓▓");
        assert_eq!(strip(&[0..150, 1550..1600], 1600), "▓▒░░░░░░░░░░░░░▒");
        assert_eq!(strip(std::slice::from_ref(&(0..7)), 7).chars().filter(|sign| *sign == '▓').count(), 7);
    }

    #[test]
    fn a_cell_has_the_colour_of_its_section() {
        let sentence = |range, section| Sentence { range, section, boilerplate: false, salience: Salience::NONE };
        let about = About {
            sentences: vec![sentence(0..800, Section::Summary), sentence(800..1600, Section::Risk)],
            ..About::default()
        };
        assert_eq!(colour(&about, 0, 1600), Style::new().fg(Color::Green));
        assert_eq!(colour(&about, 15, 1600), Style::new().fg(Color::Red));
        assert_eq!(colour(&About::default(), 3, 1600), look::PLAIN);
    }
}
