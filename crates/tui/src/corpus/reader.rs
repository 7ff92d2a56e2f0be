//! The reader: the document that is shown, what is asked for, and which of its lines are in sight.

use std::ops::Range;

use super::document::{Library, ShownDocument, Wanted};
use super::layout::{self, BodyLine};
use crate::desk::Desk;
use crate::errand::Errand;

use inkstone_base::language::Message;

#[derive(Default)]
pub(super) struct DocumentReader {
    /// The document, or what it could not be read for.
    shown: Option<Result<ShownDocument, (Wanted, Message)>>,
    asked: Option<Errand<ShownDocument>>,
    asked_for: Option<Wanted>,
    /// True once a text was asked for with its marks.
    has_marked: bool,
    /// The first line in sight.
    pub scroll: usize,
    /// Which of the passages found was jumped to.
    hit: Option<usize>,
}

impl DocumentReader {
    /// The document, as long as it is not known to be another one.
    pub(super) fn shown(&self) -> Option<&ShownDocument> {
        self.shown.as_ref()?.as_ref().ok()
    }

    pub(super) fn fault(&self) -> Option<&str> {
        self.shown.as_ref()?.as_ref().err().map(|(_, fault)| &**fault)
    }

    pub(super) fn waiting(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn lines(&self) -> usize {
        self.shown().map_or(0, |shown| shown.layout.len())
    }

    pub(super) fn line(&self, at: usize) -> Option<BodyLine> {
        let shown = self.shown()?;
        Some(layout::line(&shown.text, shown.layout.line(at)?, &shown.hits, self.hit))
    }

    /// Passages found in the body, and which of them was jumped to, from 1.
    pub(super) fn hits(&self) -> (Option<usize>, usize) {
        (self.hit.map(|hit| hit + 1), self.shown().map_or(0, |shown| shown.hits.len()))
    }

    /// Goes to the passage found next, or the one before, round and round; false when there is none.
    pub(super) fn jump(&mut self, forward: bool, height: usize) -> bool {
        let count = self.hits().1;
        if count == 0 {
            return false;
        }
        let next = match (self.hit, forward) {
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(hit), true) => (hit + 1) % count,
            (Some(hit), false) => (hit + count - 1) % count,
        };
        self.hit = Some(next);
        self.bring_into_sight(height);
        true
    }

    /// Takes in the answers that have come, and asks for what is wanted; `height` lines are in sight.
    pub(crate) fn arrange(
        &mut self,
        wanted: Option<Wanted>,
        library: impl FnOnce() -> Option<Library>,
        height: usize,
        desk: &Desk<'_>,
    ) {
        let Some(wanted) = wanted else {
            *self = DocumentReader::default();
            return;
        };
        if let Some(errand) = &mut self.asked
            && errand.look()
        {
            let found = errand.get().cloned();
            let fault = errand.error().cloned().unwrap_or_default();
            self.asked = None;
            match (found, self.asked_for.take()) {
                (Some(shown), _) => self.take(shown, height),
                (None, Some(asked)) => self.shown = Some(Err((asked, fault))),
                (None, None) => {}
            }
        }
        let there = match &self.shown {
            Some(Ok(shown)) => shown.wanted == wanted,
            Some(Err((asked, _))) => *asked == wanted,
            None => false,
        };
        // One at a time: who runs through documents waits for the one on the way, and then gets the one where he has arrived.
        if !there && self.asked.is_none() {
            // The old text stays in sight until the new one comes; an old fault would be taken for the new one's.
            self.shown.take_if(|shown| shown.is_err());
            let old = self.shown().cloned();
            if let Some(library) = library() {
                // The first text is shown as it is, and once more when the dictionary is there that cuts and marks it.
                let wanted = match self.has_marked {
                    true => wanted,
                    false => Wanted { cut: None, unmarked: true, ..wanted },
                };
                self.has_marked = true;
                self.asked_for = Some(wanted.clone());
                self.asked = Some(desk.errand("read a document", move |ctx| library.read(wanted, old, ctx)));
            }
        }
        self.scroll = self.scroll.min(self.lines().saturating_sub(height));
    }

    fn take(&mut self, shown: ShownDocument, height: usize) {
        let document = |wanted: &Wanted| (wanted.list, wanted.place);
        let old = self.shown().filter(|old| document(&old.wanted) == document(&shown.wanted));
        let searched_anew = old.is_none_or(|old| old.wanted.pattern != shown.wanted.pattern);
        // The first line in sight stays so, however wide the lines are now.
        let top: Option<Range<usize>> = old.and_then(|old| old.layout.line(self.scroll));
        self.scroll = top.map_or(0, |top| shown.layout.line_of(top.start));
        self.shown = Some(Ok(shown));
        if searched_anew {
            self.hit = None;
            self.jump(true, height);
        }
    }

    fn bring_into_sight(&mut self, height: usize) {
        let Some(shown) = self.shown() else { return };
        let Some(hit) = self.hit.and_then(|hit| shown.hits.get(hit)) else { return };
        let line = shown.layout.line_of(hit.start);
        if !(self.scroll..self.scroll + height.max(1)).contains(&line) {
            self.scroll = line.saturating_sub(height / 3);
        }
    }
}
