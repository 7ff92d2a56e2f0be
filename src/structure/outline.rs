//! The sections of a document, by headings and by what sentences say themselves.
//!
//! Rules, in the order in which they win:
//!
//! 1. The title is the title.
//! 2. A heading that is all of its line opens a section, itself included, until the next heading. A summary ends with the paragraph of
//!    forecast, rating or risk in it as well, and no section goes on for longer than reports write it ([`Section`] by section, in
//!    characters: summary 1,500, forecast 1,200, rating 600, risk 800). Legal notes go on until two lines in a row say nothing
//!    of the law.
//! 3. A heading before its text (风险提示：...) makes its section of the line, or of the rest of it.
//! 4. Sentences with cues of their own are Header, Disclaimer or Rating wherever they stand, but in legal notes, where 买入 is
//!    explained, not said; and Risk stays Risk unless law interrupts it.
//! 5. Up to two sentences between two that are of the law by their words are of it as well.
//! 6. All else is Body.

use std::ops::Range;

use super::Section;
use super::cues::{cues, says_law, told};
use super::headings::{Stands, heading, is_chapter};
use crate::text::sentences;

/// Lines in a row that must say nothing of the law before legal notes have ended.
const LAWLESS: usize = 2;

/// Sentences between two of the law that belong to it though they do not say so.
const GAP: usize = 2;

/// The sections of a text whose first `title` bytes are its title: stretches of whole sentences in order, apart from each other,
/// neighbours of different sections. White space between sentences is in the stretch around it or in none.
pub fn outline(text: &str, title: usize) -> Vec<(Range<usize>, Section)> {
    let mut stretches: Vec<(Range<usize>, Section)> = Vec::new();
    for (range, section) in outlined(text, title) {
        match stretches.last_mut() {
            Some((last, same)) if *same == section => last.end = range.end,
            _ => stretches.push((range, section)),
        }
    }
    stretches
}

/// The sentences of a text and the section of each.
pub(super) fn outlined(text: &str, title: usize) -> Vec<(Range<usize>, Section)> {
    let sentences = sentences(text);
    let cues = cues(text);
    let mut found = Vec::with_capacity(sentences.len());
    let mut state = State::default();
    let (mut at, mut cue) = (0, 0);
    while at < sentences.len() {
        let first = sentences[at].start;
        let line_end = text[first..].find('\n').map_or(text.len(), |length| first + length);
        let end = at + sentences[at..].iter().take_while(|range| range.start < line_end).count();
        let line: Vec<(Range<usize>, u16)> = sentences[at..end]
            .iter()
            .map(|range| {
                let begin = cue + cues[cue..].iter().take_while(|c| c.0 < range.start).count();
                cue = begin + cues[begin..].iter().take_while(|c| c.0 < range.end).count();
                (range.clone(), cues[begin..cue].iter().fold(0, |bits, c| bits | c.1))
            })
            .collect();
        if first < title {
            found.extend(line.into_iter().map(|(range, _)| (range, Section::Title)));
        } else {
            state.line(text, &line, &mut found);
        }
        at = end;
    }
    close_gaps(&mut found, &state.lawful);
    found
}

/// Makes what stands between two sentences of the law a part of it, if that is short; `lawful` are the places of such sentences.
fn close_gaps(found: &mut [(Range<usize>, Section)], lawful: &[usize]) {
    for pair in lawful.windows(2) {
        if pair[1] - pair[0] <= GAP + 1 {
            let between = found[pair[0] + 1..pair[1]].iter_mut();
            between
                .filter(|(_, section)| *section != Section::Rating)
                .for_each(|(_, section)| *section = Section::Disclaimer);
        }
    }
}

/// Where the text stands between two lines.
#[derive(Default)]
struct State {
    /// The section that a heading opened, and the characters left to it.
    open: Option<(Section, usize)>,
    /// Lines in a row that said nothing of the law, and where the first of their sentences is among those found.
    lawless: usize,
    since: usize,
    /// Places of the sentences that are of the law by their own words.
    lawful: Vec<usize>,
}

impl State {
    /// Tells the sections of a line, given its sentences and their cues.
    fn line(&mut self, text: &str, line: &[(Range<usize>, u16)], found: &mut Vec<(Range<usize>, Section)>) {
        let begin = found.len();
        let Some((first, last)) = line.first().zip(line.last()) else { return };
        let whole = &text[first.0.start..last.0.end];
        let opening = heading(whole, true);
        match opening {
            Some((section, Stands::Alone)) => self.opens(section, whole, begin),
            Some((Section::Summary, Stands::Before)) => self.opens(Section::Summary, whole, begin),
            Some((_, Stands::Before)) => self.open = None,
            None if is_chapter(whole) && !matches!(self.open, Some((Section::Risk | Section::Disclaimer, _))) => {
                self.open = None;
            }
            None => self.spend(whole),
        }
        let base = self.open.map_or(Section::Body, |(section, _)| section);
        let mut inline = opening.map(|(section, _)| section).filter(|_| base != Section::Header);
        let alone = line.len() == 1;
        for (i, (range, bits)) in line.iter().enumerate() {
            let sentence = &text[range.clone()];
            if i > 0
                && let Some((section, _)) = heading(sentence, false)
            {
                inline = Some(section);
            }
            let here = inline.unwrap_or(base);
            let own = told(sentence, *bits, alone);
            if says_law(*bits) {
                self.lawful.push(found.len());
            }
            let section = match (here, own) {
                (Section::Disclaimer, _) => Section::Disclaimer,
                (Section::Risk, Some(Section::Rating)) => Section::Risk,
                (_, Some(own)) => own,
                // Beside tables stands the text of the report again.
                (Section::Header, None) if i > 0 || sentence.ends_with('。') => Section::Body,
                (here, None) => here,
            };
            found.push((range.clone(), section));
        }
        if base == Section::Header && found[begin..].iter().any(|(_, section)| *section != Section::Header) {
            self.open = None;
        }
        let ends = |section| matches!(section, Section::Forecast | Section::Rating | Section::Risk);
        if base == Section::Summary && inline.is_some_and(ends) {
            self.open = None;
        }
        if base == Section::Disclaimer {
            self.weigh_law(text, line, opening.is_some(), begin, found);
        }
    }

    /// A heading opens a section.
    fn opens(&mut self, section: Section, line: &str, sentence: usize) {
        let room = match section {
            Section::Summary => 1500,
            Section::Forecast => 1200,
            Section::Rating => 600,
            Section::Risk => 800,
            Section::Title | Section::Header | Section::Body | Section::Disclaimer => usize::MAX,
        };
        self.open = Some((section, room.max(line.len())));
        (self.lawless, self.since) = (0, sentence);
    }

    /// Takes a line off what is left to the open section.
    fn spend(&mut self, line: &str) {
        if let Some((_, room)) = &mut self.open {
            match room.checked_sub(line.chars().count()) {
                Some(left) => *room = left,
                None => self.open = None,
            }
        }
    }

    /// Ends legal notes when lines say nothing of the law; those lines are Body after all.
    fn weigh_law(
        &mut self,
        text: &str,
        line: &[(Range<usize>, u16)],
        heading: bool,
        begin: usize,
        found: &mut [(Range<usize>, Section)],
    ) {
        let lawful = |(range, bits): &(Range<usize>, u16)| {
            matches!(told(&text[range.clone()], *bits, false), Some(Section::Disclaimer | Section::Header))
        };
        if heading || line.iter().any(lawful) {
            self.lawless = 0;
            return;
        }
        if self.lawless == 0 {
            self.since = begin;
        }
        self.lawless += 1;
        if self.lawless >= LAWLESS {
            found[self.since..].iter_mut().for_each(|(_, section)| *section = Section::Body);
            self.open = None;
        }
    }
}
