//! The text that is shown: its tokens, its lines, the cursor in it, and what strategies keep of it.

use std::ops::Range;
use std::sync::Arc;

use super::bench::{About, Described, TextBench, TextSubject, Tokens};
use super::source::FoundText;
use super::strategies::{self, ListedStrategy, StrategyRow, Trial};
use super::{cuts, lines};
use crate::action::Action;
use crate::desk::Desk;
use crate::errand::Errand;
use inkstone_corpus::structure::Sentence;

use inkstone_base::language::Message;

/// Bytes of a text that is wrapped at once; a longer one is wrapped on a thread of its own.
const SHORT: usize = 32 << 10;

pub(super) struct ShownText {
    pub(super) subject: Arc<TextSubject>,
    pub(super) about: Arc<About>,
    pub(super) fault: Option<Message>,
    pub(super) place: Option<(usize, usize)>,
    pub(super) number: usize,
    pub(super) count: usize,
    /// Characters of the text, a title's with them.
    pub(super) characters: usize,
    /// The tokens of each tokeniser; none before they were asked for.
    pub(super) cuts: Vec<Errand<Arc<Tokens>>>,
    /// Bytes of each line, and the cells for which they were laid out.
    pub(super) lines: Option<Errand<Vec<Range<usize>>>>,
    laid_out: usize,
    /// A byte of the text: the cursor.
    pub(super) at: usize,
    /// The first line in sight.
    pub(super) top: usize,
    pub(super) under: Option<Under>,
    pub(super) listed: Vec<ListedStrategy>,
    pub(super) kept: Option<Errand<Vec<StrategyRow>>>,
    /// The tokeniser whose tokens were counted.
    counted: Option<usize>,
}

/// The token under the cursor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Under {
    tokeniser: usize,
    at: usize,
    /// Number among the tokens, from 0.
    pub(super) token: usize,
    pub(super) bytes: Range<usize>,
    pub(super) characters: Range<usize>,
    pub(super) id: Option<u32>,
    pub(super) described: Described,
    /// The number of its occurrences in the text.
    pub(super) times: usize,
}

impl ShownText {
    pub(super) fn new(found: FoundText, at: usize) -> ShownText {
        let FoundText { subject, about, fault, place, number, count } = found;
        let subject = Arc::new(subject);
        ShownText {
            characters: subject.text.chars().count() - usize::from(place.is_some()),
            cuts: Vec::new(),
            at: subject.text.floor_char_boundary(at),
            about: Arc::new(about),
            subject,
            fault,
            place,
            number,
            count,
            lines: None,
            laid_out: 0,
            top: 0,
            under: None,
            listed: Vec::new(),
            kept: None,
            counted: None,
        }
    }

    /// Has the tokenisers cut the text, each on a thread of its own; once.
    pub(super) fn cut(&mut self, bench: &TextBench, desk: &Desk<'_>) {
        if self.cuts.is_empty() {
            let cut = |tokeniser: &super::bench::TextCut| {
                let (cut, subject) = (tokeniser.cut.clone(), self.subject.clone());
                desk.errand("cut a text", move |ctx| Ok(Arc::new(cut(&subject.text, ctx)?)))
            };
            self.cuts = bench.tokenisers.iter().map(cut).collect();
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.subject.text
    }

    pub(super) fn tokens(&self, tokeniser: usize) -> Option<&Arc<Tokens>> {
        self.cuts.get(tokeniser)?.get()
    }

    pub(super) fn lines(&self) -> &[Range<usize>] {
        self.lines.as_ref().and_then(Errand::get).map_or(&[], Vec::as_slice)
    }

    /// The bytes under the cursor: those of its token, or of its character while there are no tokens.
    pub(super) fn cursor(&self) -> Range<usize> {
        match &self.under {
            Some(under) => under.bytes.clone(),
            None => self.at..self.text().ceil_char_boundary((self.at + 1).min(self.text().len())),
        }
    }

    /// The sentence, or stretch of a section, at a byte.
    pub(super) fn sentence_at(&self, at: usize) -> Option<&Sentence> {
        let sentences = &self.about.sentences;
        let behind = sentences.partition_point(|sentence| sentence.range.start as usize <= at);
        sentences.get(behind.checked_sub(1)?).filter(|sentence| at < sentence.range.end as usize)
    }

    /// Documents that have the boilerplate at a byte, where that is known.
    pub(super) fn documents_with(&self, at: usize) -> Option<u32> {
        self.about.boilerplate.iter().find(|(range, _)| range.contains(&at)).map(|found| found.1)
    }

    /// Moves the cursor by tokens.
    pub(super) fn step(&mut self, forward: bool, tokeniser: usize) {
        let Some(tokens) = self.tokens(tokeniser) else { return };
        let Some(token) = cuts::token_at(&tokens.ranges, self.at) else { return };
        let to = if forward { cuts::next(&tokens.ranges, token) } else { cuts::previous(&tokens.ranges, token) };
        // Where there is no other, the cursor goes to the beginning of the one it is in.
        self.at = tokens.ranges[to.unwrap_or(token)].start;
    }

    /// Moves the cursor by lines, of which a page has so many, and stays in its column.
    pub(super) fn scroll(&mut self, action: Action, page: usize) {
        let lines = self.lines();
        let Some(last) = lines.len().checked_sub(1) else { return };
        let line = lines::line_of(lines, self.at);
        let to = match action {
            Action::Down => line + 1,
            Action::Up => line.saturating_sub(1),
            Action::PageDown => line + page.max(1),
            Action::PageUp => line.saturating_sub(page.max(1)),
            Action::First => return self.at = 0,
            Action::Last => return self.at = self.text().floor_char_boundary(self.text().len().saturating_sub(1)),
            _ => line,
        };
        let cell = lines::cell_of(self.text(), &lines[line], self.at);
        if to.min(last) != line {
            self.at = lines::byte_at(self.text(), &lines[to.min(last)], cell);
        }
    }

    /// Puts the cursor on the character at a line and a cell of it.
    pub(super) fn point(&mut self, line: usize, cell: usize) {
        if let Some(range) = self.lines().get(line) {
            self.at = lines::byte_at(self.text(), range, cell);
        }
    }

    /// Takes in the answers that have come, and asks for what is missing. `width` and `rows` are those of the text.
    pub(super) fn arrange(
        &mut self,
        tokeniser: usize,
        (width, rows): (usize, usize),
        bench: &TextBench,
        desk: &Desk<'_>,
    ) {
        for cut in &mut self.cuts {
            cut.look();
        }
        if self.laid_out != width || self.lines.is_none() {
            self.laid_out = width;
            let subject = self.subject.clone();
            self.lines = Some(match subject.text.len() <= SHORT {
                true => Errand::done(lines::lay_out(&subject.text, width)),
                false => desk.errand("wrap a text", move |_| Ok(lines::lay_out(&subject.text, width))),
            });
        }
        if let Some(lines) = &mut self.lines {
            lines.look();
        }
        self.look_under(tokeniser, bench);
        let at = lines::line_of(self.lines(), self.cursor().start);
        let last = self.lines().len().saturating_sub(rows);
        self.top = self.top.clamp((at + 1).saturating_sub(rows.max(1)), at).min(last);
        if let Some(kept) = &mut self.kept {
            kept.look();
        }
    }

    fn look_under(&mut self, tokeniser: usize, bench: &TextBench) {
        let same = |under: &Under| under.tokeniser == tokeniser && under.at == self.at;
        if self.under.as_ref().is_some_and(same) {
            return;
        }
        let text = self.text();
        let found = self.tokens(tokeniser).zip(bench.tokenisers.get(tokeniser)).and_then(|(tokens, of)| {
            let token = cuts::token_at(&tokens.ranges, self.at)?;
            let bytes = tokens.ranges[token].clone();
            let written = &text[bytes.clone()];
            let before = text[..bytes.start].chars().count();
            let id = tokens.ids.get(token).copied();
            let same = |range: &&Range<usize>| range.len() == bytes.len() && text[(*range).clone()] == *written;
            Some(Under {
                tokeniser,
                at: self.at,
                token,
                characters: before..before + written.chars().count(),
                id,
                described: (of.describe)(written, id),
                times: tokens.ranges.iter().filter(same).count(),
                bytes,
            })
        });
        self.under = found;
    }

    /// Asks what these strategies keep, unless that was asked already. True when the list is another one.
    pub(super) fn try_out(
        &mut self,
        listed: Vec<ListedStrategy>,
        tokeniser: usize,
        bench: &TextBench,
        desk: &Desk<'_>,
    ) -> bool {
        let other = self.listed != listed;
        if other || self.counted != Some(tokeniser) {
            (self.listed, self.kept, self.counted) = (listed, None, Some(tokeniser));
        }
        if self.kept.is_none()
            && let (Some(tokens), Some(characters)) = (self.tokens(tokeniser), self.tokens(0))
        {
            let trial = Trial {
                subject: self.subject.clone(),
                about: self.about.clone(),
                tokens: tokens.clone(),
                characters: characters.clone(),
                strategies: self.listed.iter().map(|listed| listed.strategy.clone()).collect(),
                scores: bench.scores.clone(),
            };
            self.kept = Some(desk.errand("truncate a text", move |ctx| strategies::keep(&trial, ctx)));
        }
        other
    }

    pub(super) fn waiting(&self, tokeniser: usize) -> bool {
        let fails = |tokeniser: usize| self.cuts.get(tokeniser).is_none_or(|cut| cut.fault().is_some());
        let counting = match &self.kept {
            Some(kept) => kept.waiting(),
            None => self.cuts.is_empty() || !fails(tokeniser) && !fails(0),
        };
        let lines = self.lines.as_ref().is_none_or(Errand::waiting);
        counting || lines || self.cuts.iter().any(Errand::waiting)
    }
}
