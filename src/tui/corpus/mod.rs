//! The corpus page: a table over any number of documents, and a reader beside it.
//!
//! The table knows the parts and their sizes only; rows are read a part at a time when they come into view and a few
//! parts are kept. A search gives the numbers of the documents found, and the table then shows those.

mod reader;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use ratatui::layout::Rect;
pub(crate) use reader::{ReaderLine, Sort, lay_out};
pub(crate) use view::draw;

use super::Cut;
use super::commands::Action;
use super::desk::Desk;
use super::event::Event;
use super::field::Field;
use super::page::PageState;
use super::reading::{self, Index, Request, Row, Selection, Text};
use crate::job::Job;

/// Parts whose rows are kept; with titles and codes alone a part is about half a megabyte.
const PARTS_KEPT: usize = 48;

/// State of the page.
#[derive(Default)]
pub(crate) struct Corpus {
    /// Number of the list of parts asked for last: answers to earlier ones speak of another corpus.
    list: u64,
    index: Option<Result<Arc<Index>, String>>,
    parts: BTreeMap<usize, Result<Vec<Row>, String>>,
    asked_parts: BTreeSet<usize>,
    search: Option<Search>,
    searches: u64,
    cursor: usize,
    top: usize,
    focus: Focus,
    cut: Option<Cut>,
    text: Option<Result<Box<Text>, String>>,
    asked_text: Option<((usize, usize), Option<Cut>)>,
    lines: Vec<ReaderLine>,
    laid_out: Option<usize>,
    scroll: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Focus {
    #[default]
    Table,
    Reader,
}

struct Search {
    query: Field,
    typing: bool,
    hits: Vec<u64>,
    job: Option<Job<()>>,
    fault: Option<String>,
}

impl Corpus {
    /// Whether there is anything to show.
    pub(crate) fn has_documents(&self) -> bool {
        self.index().is_some_and(|i| i.len() > 0)
    }

    /// Whether the selected document can be moved into.
    pub(crate) fn can_open(&self) -> bool {
        self.focus == Focus::Table && self.len() > 0
    }

    /// Documents listed: all, or those found.
    fn len(&self) -> usize {
        match &self.search {
            Some(search) if !search.query.text().is_empty() => search.hits.len(),
            _ => self.index().map_or(0, |i| i.len()),
        }
    }

    fn index(&self) -> Option<&Arc<Index>> {
        self.index.as_ref()?.as_ref().ok()
    }

    /// Part and row of the document at this line of the table.
    fn place(&self, line: usize) -> Option<(usize, usize)> {
        let n = match &self.search {
            Some(search) if !search.query.text().is_empty() => usize::try_from(*search.hits.get(line)?).ok()?,
            _ => line,
        };
        self.index()?.place(n)
    }

    fn open_search(&mut self) {
        self.focus = Focus::Table;
        match &mut self.search {
            Some(search) => search.typing = true,
            None => {
                self.search =
                    Some(Search { query: Field::default(), typing: true, hits: Vec::new(), job: None, fault: None });
            }
        }
    }

    /// Leaves the search, on the document where it ended.
    fn close_search(&mut self) {
        let found = self.search.as_ref().and_then(|s| s.hits.get(self.cursor)).copied();
        self.search = None;
        if let Some(found) = found.and_then(|n| usize::try_from(n).ok()) {
            self.cursor = found;
        }
    }

    /// Begins the search anew.
    fn search_anew(&mut self, events: &Sender<Event>) {
        let Some(index) = self.index().cloned() else { return };
        let Some(search) = &mut self.search else { return };
        search.hits.clear();
        // Dropping the search before it ends it.
        search.job = None;
        search.fault = None;
        self.searches += 1;
        self.cursor = 0;
        if !search.query.text().is_empty() {
            match reading::search(self.searches, search.query.text(), index, events.clone()) {
                Ok(job) => search.job = Some(job),
                Err(error) => search.fault = Some(reading::chain(error)),
            }
        }
    }

    /// Takes in the list of parts.
    pub(crate) fn take_index(&mut self, list: u64, index: Result<Index, String>) {
        if list == self.list {
            self.index = Some(index.map(Arc::new));
        }
    }

    /// Takes in the rows of a part.
    pub(crate) fn take_part(&mut self, list: u64, part: usize, rows: Result<Vec<Row>, String>) {
        if list == self.list && self.asked_parts.remove(&part) {
            self.parts.insert(part, rows);
        }
    }

    /// Takes in a document, unless another has been asked for since.
    pub(crate) fn take_text(&mut self, list: u64, text: Result<Box<Text>, String>) {
        let wanted = match &text {
            Ok(text) => self.asked_text == Some((text.place, text.cut)),
            Err(_) => self.asked_text.is_some(),
        };
        if list != self.list || !wanted {
            return;
        }
        let moved = match (&self.text, &text) {
            (Some(Ok(old)), Ok(new)) => old.place != new.place,
            _ => true,
        };
        if moved {
            self.scroll = 0;
        }
        self.text = Some(text);
        self.laid_out = None;
    }

    /// Takes in documents found.
    pub(crate) fn take_hits(&mut self, number: u64, hits: Vec<u64>) {
        if let Some(search) = &mut self.search
            && number == self.searches
        {
            search.hits.extend(hits);
        }
    }

    /// Takes in that a search ended.
    pub(crate) fn take_end(&mut self, number: u64, result: Result<(), String>) {
        if let Some(search) = &mut self.search
            && number == self.searches
        {
            search.job = None;
            search.fault = result.err();
        }
    }
}

impl PageState for Corpus {
    fn reload(&mut self, desk: &Desk<'_>) {
        let (cut, searches, cursor, list) = (self.cut, self.searches, self.cursor, self.list + 1);
        *self = Corpus { cut, searches, cursor, list, ..Corpus::default() };
        desk.reading.ask(Request::Index(list));
    }

    fn act(&mut self, action: Action, page: Rect, _desk: &Desk<'_>) {
        let [table, reader] = view::panes(page);
        let step = match self.focus {
            Focus::Table => table.height.saturating_sub(3).max(1),
            Focus::Reader => reader.height.saturating_sub(3 + view::HEAD).max(1),
        } as usize;
        let last = self.len().saturating_sub(1);
        let position = match self.focus {
            Focus::Table => &mut self.cursor,
            Focus::Reader => &mut self.scroll,
        };
        match action {
            Action::Down => *position += 1,
            Action::Up => *position = position.saturating_sub(1),
            Action::PageDown => *position += step,
            Action::PageUp => *position = position.saturating_sub(step),
            Action::First => *position = 0,
            Action::Last if self.focus == Focus::Table => self.cursor = last,
            Action::Last => self.scroll = self.lines.len(),
            Action::Open => self.focus = Focus::Reader,
            Action::Back if self.focus == Focus::Reader => self.focus = Focus::Table,
            Action::Back => self.close_search(),
            Action::Cut => {
                self.cut = match self.cut {
                    None => Some(Cut::Characters),
                    Some(Cut::Characters) => Some(Cut::Words),
                    Some(Cut::Words) => None,
                }
            }
            Action::Search => self.open_search(),
            _ => {}
        }
    }

    fn arrange(&mut self, page: Rect, desk: &Desk<'_>) {
        let reading = desk.reading;
        let [table, reader] = view::panes(page);
        let height = table.height.saturating_sub(3) as usize;
        self.cursor = self.cursor.min(self.len().saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height));
        let Some(index) = self.index().cloned() else { return };
        let visible: BTreeSet<usize> =
            (self.top..self.top + height).filter_map(|line| self.place(line)).map(|p| p.0).collect();
        if self.parts.len() > PARTS_KEPT {
            self.parts.retain(|part, _| visible.contains(part));
        }
        for part in visible {
            if !self.parts.contains_key(&part) && self.asked_parts.insert(part) {
                reading.ask(Request::Part(index.clone(), part));
            }
        }
        match self.place(self.cursor) {
            Some(place) if self.asked_text != Some((place, self.cut)) => {
                self.asked_text = Some((place, self.cut));
                // The old text stays in sight until the new one comes; an old error would be taken for the new one's.
                if matches!(self.text, Some(Err(_))) {
                    (self.text, self.laid_out) = (None, None);
                }
                reading.ask(Request::Text(Selection { index, place, cut: self.cut }));
            }
            Some(_) => {}
            None => (self.text, self.asked_text, self.laid_out) = (None, None, None),
        }
        let width = reader.width.saturating_sub(2) as usize;
        if self.laid_out != Some(width) {
            self.lines = match &self.text {
                Some(Ok(text)) => reader::lay_out(text, width),
                _ => Vec::new(),
            };
            self.laid_out = Some(width);
        }
        let inside = reader.height.saturating_sub(2 + view::HEAD) as usize;
        self.scroll = self.scroll.min(self.lines.len().saturating_sub(inside));
    }

    fn waiting(&self) -> bool {
        let text = match (&self.text, self.asked_text) {
            (Some(Ok(text)), Some(asked)) => (text.place, text.cut) != asked,
            (None, Some(_)) => true,
            _ => false,
        };
        let searching = self.search.as_ref().is_some_and(|s| s.job.is_some());
        self.index.is_none() || !self.asked_parts.is_empty() || text || searching
    }

    fn can_go_back(&self) -> bool {
        self.focus == Focus::Reader || self.search.is_some()
    }

    fn is_typing(&self) -> bool {
        self.search.as_ref().is_some_and(|s| s.typing)
    }

    fn field(&mut self) -> Option<&mut Field> {
        self.search.as_mut().filter(|s| s.typing).map(|s| &mut s.query)
    }

    fn typed(&mut self, desk: &Desk<'_>) {
        self.search_anew(desk.events);
    }

    fn accept(&mut self, _desk: &Desk<'_>) {
        match &mut self.search {
            Some(search) if !search.query.text().is_empty() => search.typing = false,
            _ => self.search = None,
        }
    }

    fn leave_field(&mut self, _desk: &Desk<'_>) {
        self.close_search();
    }
}
