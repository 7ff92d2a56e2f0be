//! The corpus page: a table over any number of documents, and a reader beside it.
//!
//! The table is a catalogue in memory that is read part by part on a thread; whatever is in sight is read first. A filter, a search
//! through the bodies, an order and folding make a list of it, on a thread as well. More facts of documents, such as lengths and scores of
//! features, come after the table, when a column, a filter or an order asks for them. The reader has one document, laid out on a thread.

mod act;
mod arrange;
mod ask;
mod beside;
mod catalogue;
mod columns;
mod conditions;
mod document;
mod facts;
mod filter;
mod layout;
mod listed;
mod listing;
mod load;
mod memory;
mod notes;
mod order;
mod reader;
mod reader_view;
#[cfg(test)]
mod screens;
mod search;
mod view;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::Value;

pub use ask::ScoredFeature;
pub(crate) use document::DocumentText;
pub use filter::read_filter;
pub(crate) use layout::lay_out;
pub(crate) use layout::{PieceKind, line};
pub(crate) use load::CorpusIndex;

use self::ask::Asked;
use self::beside::DocumentsBeside;
use self::catalogue::{Catalogue, PartSlot};
pub(crate) use self::document::Shelf;
use self::filter::{Filter, FilterFault};
use self::listed::{DocumentList, ListState, Wish};
use self::listing::Recipe;
use self::load::Loading;
use self::order::{By, SortOrder};
use self::reader::DocumentReader;
use self::search::{CorpusSearch, Pattern};
use super::TokenUnit;
use super::action::Action;
use super::context::PageContext;
use super::desk::{self, Desk};
use super::errand::Errand;
use super::field::Field;
use super::kit::{Step, TableHead, Zoom};
use super::list::{Cursor, moved};
use super::look;
use super::page::{Table, WantedStock};
use super::page_state::{PageState, WHEEL_LINES};

use inkstone_base::language::Message;

#[derive(Default)]
pub struct CorpusPage {
    /// Number of the list of files: what speaks of an earlier one speaks of another corpus.
    list: u64,
    index: Option<Result<Arc<CorpusIndex>, Message>>,
    listing_files: Option<Errand<CorpusIndex>>,
    catalogue: Catalogue,
    loading: Option<Loading<PartSlot>>,
    /// Columns of features whose values can be columns of the table.
    features: Vec<ScoredFeature>,
    /// Facts of documents on their way.
    asked: Asked,
    /// True once the page has been shown.
    on_screen: bool,
    red_up: bool,

    filter: Field,
    /// The filter, or the last one that could be read.
    filtering: Filter,
    /// The text that `filtering` was read from.
    filtering_by: String,
    filter_fault: Option<FilterFault>,
    query: Field,
    query_fault: Option<(usize, String)>,
    search: Option<CorpusSearch>,
    /// Number of the search, or of the last one.
    searches: u64,
    typing: Option<Typing>,
    /// The note as it is typed.
    note: Field,
    /// The filter of an earlier session, until the features are known that it may speak of.
    recalled: Option<String>,

    table_head: TableHead,
    only_marked: bool,
    folded: bool,
    open: BTreeSet<u32>,
    listed: DocumentList,
    cursor: Cursor,
    /// True if the list is to be seen from its top while it grows, not where the document at the cursor is in it.
    to_top: bool,
    /// Part and row to go to once the files are listed.
    go_to: Option<(usize, usize)>,
    /// The document to go to once it is listed.
    anchor: Option<usize>,
    /// The number of the document to go to as soon as it is listed.
    sought: Option<u32>,

    focus: CorpusFocus,
    zoom: Zoom,
    cut: Option<TokenUnit>,
    reader: DocumentReader,
    shelf: Shelf,
    /// The number of the document that another one is to be compared with, and that comparison.
    marked: Option<usize>,
    beside: Option<DocumentsBeside>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CorpusFocus {
    #[default]
    Table,
    Reader,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Typing {
    /// The filter, and what it was before.
    Filter(String),
    Search,
    /// A note on the document at the cursor.
    Note,
}

impl CorpusPage {
    pub(crate) fn new() -> CorpusPage {
        // The newest first, from the top.
        let table_head = TableHead::sorted_by(&By::Time.id(), true);
        CorpusPage { table_head, to_top: true, ..CorpusPage::default() }
    }

    pub(crate) fn has_documents(&self) -> bool {
        self.catalogue.len() > 0
    }

    pub(crate) fn can_open(&self) -> bool {
        self.focus == CorpusFocus::Table && self.len() > 0
    }

    /// Goes to the document of this number in the reader; a filter or a search that hides it is ended.
    pub(crate) fn go_to(&mut self, number: u32) {
        (self.sought, self.focus, self.typing) = (Some(number), CorpusFocus::Reader, None);
    }

    /// Lists the documents that a filter lets through.
    pub(crate) fn filter_by(&mut self, text: &str, desk: &Desk<'_>) {
        (self.filter, self.typing) = (Field::new(text), None);
        self.filter_anew(desk);
    }

    fn len(&self) -> usize {
        self.listed.now.as_ref().map_or(self.catalogue.len(), |listing| listing.rows.len())
    }

    /// Number of the document on a line of the table.
    fn number(&self, line: usize) -> Option<usize> {
        match &self.listed.now {
            Some(listing) => listing.rows.get(line).map(|row| *row as usize),
            None => Some(line).filter(|line| *line < self.catalogue.len()),
        }
    }

    /// The document that stands for the one at the cursor and for others.
    fn head(&self) -> Option<u32> {
        let listing = self.listed.now.as_ref()?;
        let above = listing.rows.get(..=self.cursor.at)?;
        let head = above.iter().rev().find(|row| !listing.below.contains(row))?;
        listing.counts.contains_key(head).then_some(*head)
    }

    fn index(&self) -> Option<&Arc<CorpusIndex>> {
        self.index.as_ref()?.as_ref().ok()
    }

    /// The reason why the part of the document at the cursor cannot be read.
    fn fault_here(&self) -> Option<&str> {
        let place = self.number(self.cursor.at).and_then(|n| self.catalogue.place(n))?;
        match self.catalogue.slot(place.0) {
            PartSlot::Damaged(fault) => Some(fault),
            _ => None,
        }
    }

    fn order(&self) -> SortOrder {
        let order =
            |sort: &super::kit::Sorting| Some(SortOrder { by: By::named(&sort.column)?, descending: sort.descending });
        self.table_head.layout.sort.as_ref().and_then(order).unwrap_or_default()
    }

    /// Number of documents that a document stands for, where repeats are folded.
    fn count_of(&self, number: usize) -> Option<u32> {
        self.listed.now.as_ref()?.counts.get(&u32::try_from(number).ok()?).copied()
    }

    /// True if a document stands below the one that stands for it.
    fn is_below(&self, number: usize) -> bool {
        let listing = self.listed.now.as_ref();
        listing.zip(u32::try_from(number).ok()).is_some_and(|(listing, number)| listing.below.contains(&number))
    }

    fn is_marked(&self, number: usize) -> bool {
        self.catalogue.id(number).is_some_and(|id| self.catalogue.facts.marks.contains(&id))
    }

    /// True if documents are marked: the table then has room for their signs.
    fn has_marks(&self) -> bool {
        !self.catalogue.facts.marks.is_empty()
    }

    /// The state that the list of this moment needs.
    fn list_state(&self) -> ListState {
        let order = self.order();
        let facts = self.filtering.needs().facts || order.by.is_fact() || self.only_marked;
        ListState {
            facts: if facts { self.catalogue.facts.version } else { 0 },
            wish: Wish {
                list: self.list,
                filter: self.filtering_by.clone(),
                search: self.search.as_ref().map(|_| self.searches),
                order,
                folded: self.folded,
                open: self.open.clone(),
                only_marked: self.only_marked,
            },
            read: self.catalogue.parts_read(),
            found: self.search.as_ref().map_or(0, |search| search.hits.len()),
            complete: self.catalogue.is_complete(),
        }
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            filter: self.filtering.clone(),
            found: self.search.as_ref().map(|search| search.hits.clone()),
            ranked: self.ranking(),
            order: self.order(),
            folded: self.folded,
            open: self.open.clone(),
            only_marked: self.only_marked,
        }
    }

    /// Reads the filter as it is typed; one that cannot be read changes nothing yet.
    fn filter_anew(&mut self, desk: &Desk<'_>) {
        let features: Vec<Arc<str>> = self.features.iter().map(|feature| feature.name.clone()).collect();
        match Filter::parse(self.filter.text(), &features) {
            Err(fault) => self.filter_fault = Some(fault),
            Ok(filter) => {
                (self.filter_fault, self.filtering, self.to_top) = (None, filter, true);
                self.filtering_by = self.filter.text().to_owned();
                // The search has not read parts of which nothing passed the old filter.
                if self.search.is_some() {
                    self.search_anew(desk);
                }
            }
        }
    }

    /// Starts a new search; dropping the search before it ends it.
    fn search_anew(&mut self, desk: &Desk<'_>) {
        let pattern = match Pattern::parse(self.query.text()) {
            Ok(pattern) => pattern,
            // An expression that cannot be read changes nothing yet.
            Err(fault) => return self.query_fault = Some(fault),
        };
        (self.search, self.query_fault, self.to_top) = (None, None, true);
        if let Some((pattern, index)) = pattern.zip(self.index().cloned()) {
            self.searches += 1;
            let (filter, catalogue) = (self.filtering.clone(), self.catalogue.clone());
            self.search =
                Some(CorpusSearch::start(pattern, filter, index, catalogue, self.table_head.layout.sort.clone(), desk));
        }
    }

    fn end_search(&mut self) {
        (self.search, self.query_fault, self.query) = (None, None, Field::default());
    }
}

impl PageState for CorpusPage {
    fn reload(&mut self, desk: &Desk<'_>) {
        let project = desk.workspace.project.clone();
        self.listing_files = Some(desk.errand("list the corpus", move |ctx| CorpusIndex::list(&project, ctx)));
        self.red_up = desk.workspace.red_up;
        self.ask_anew(desk);
    }

    fn shown(&mut self, _desk: &Desk<'_>) {
        self.on_screen = true;
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, _: &PageContext<'_>) -> bool {
        match action {
            Action::Open => self.can_open(),
            Action::Unfold => self.head().is_some(),
            Action::NextHit | Action::PreviousHit => self.search.is_some() && self.reader.hits().1 > 0,
            Action::OnTextPage => self.number(self.cursor.at).is_some_and(|n| self.catalogue.row(n).is_some()),
            _ if action.is_of_table() => self.has_documents() && self.focus == CorpusFocus::Table,
            _ => self.has_documents(),
        }
    }

    fn act(&mut self, action: Action, page: Rect, desk: &Desk<'_>) {
        let [table, reader] = view::panes(self, page);
        let (rows, lines) = (view::rows(table), reader_view::room(reader));
        if let Some(beside) = &mut self.beside {
            match action {
                Action::Back | Action::CompareDocuments => self.beside = None,
                _ => beside.step(action, page),
            }
            return;
        }
        (self.to_top, self.anchor) = (false, None);
        if self.focus == CorpusFocus::Table && self.act_on_table(action, look::inside(table), desk) {
            return;
        }
        match action {
            Action::CompareDocuments => self.compare(desk),
            Action::Open => self.focus = CorpusFocus::Reader,
            Action::Back if self.focus == CorpusFocus::Reader => self.focus = CorpusFocus::Table,
            Action::Back if self.only_marked => self.only_marked = false,
            Action::Back if self.search.is_some() || self.query_fault.is_some() => self.end_search(),
            Action::Back => {
                self.filter = Field::default();
                self.filter_anew(desk);
                self.to_top = false;
            }
            Action::Cut => {
                self.cut = match self.cut {
                    None => Some(TokenUnit::Characters),
                    Some(TokenUnit::Characters) => Some(TokenUnit::Words),
                    Some(TokenUnit::Words) => None,
                }
            }
            Action::Search => (self.focus, self.typing) = (CorpusFocus::Table, Some(Typing::Search)),
            Action::Filter => {
                (self.focus, self.typing) = (CorpusFocus::Table, Some(Typing::Filter(self.filter.text().to_owned())));
            }
            Action::AddNote => self.begin_note(desk),
            Action::Fold => {
                self.folded = !self.folded;
                self.open.clear();
            }
            Action::Unfold => self.unfold(),
            Action::NextHit | Action::PreviousHit if !self.reader.jump(action == Action::NextHit, lines) => {
                desk.order(desk::PageRequest::Say(desk.say(words::NO_HIT).to_owned()));
            }
            Action::OnTextPage => {
                if let Some((part, row)) = self.number(self.cursor.at).and_then(|n| self.catalogue.place(n)) {
                    let among = self.listed.now.as_ref().map(|listing| listing.rows.as_slice().into());
                    desk.order(desk::PageRequest::Read(part, row, among));
                }
            }
            _ if self.focus == CorpusFocus::Table => self.cursor.step(action, self.len(), rows),
            _ => {
                let action = if action == Action::MarkRow { Action::PageDown } else { action };
                let page = lines.saturating_sub(1).max(1);
                self.reader.scroll = moved(self.reader.scroll, action, self.reader.lines(), page);
            }
        }
    }

    fn arrange(&mut self, page: Rect, desk: &Desk<'_>) {
        let [table, reader] = view::panes(self, page);
        self.take_files(desk);
        if let Some(beside) = &mut self.beside {
            beside.asked.look();
        }
        if let Some(loading) = &mut self.loading
            && loading.take_into(&mut self.catalogue)
        {
            self.loading = None;
        }
        if let Some(search) = &mut self.search {
            search.look();
        }
        self.take_facts(desk);
        self.arrange_list(desk);
        let rows = view::rows(table);
        self.cursor.arrange(self.len(), rows);
        self.want_what_is_in_sight(rows);
        self.ask_for_facts(rows, desk);
        let columns = columns::columns(self);
        self.table_head.arrange(&columns, desk.language, look::inside(table));
        // Out of sight, the document is read all the same: it can be copied.
        self.arrange_reader(if reader.is_empty() { page } else { reader }, desk);
    }

    fn waiting(&self) -> bool {
        let searching = self.search.as_ref().is_some_and(CorpusSearch::is_under_way);
        self.listing_files.is_some()
            || self.beside.as_ref().is_some_and(|beside| beside.asked.waiting())
            || self.loading.is_some()
            || searching
            || self.listed.waiting()
            || self.asked.waiting()
            || self.reader.waiting()
    }

    fn can_go_back(&self) -> bool {
        let asked = self.search.is_some() || self.query_fault.is_some() || !self.filter.text().is_empty();
        let over = self.table_head.over.is_some() || self.beside.is_some();
        self.focus == CorpusFocus::Reader || asked || over || self.only_marked
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom)
    }

    fn is_typing(&self) -> bool {
        self.typing.is_some()
    }

    fn field(&mut self) -> Option<&mut Field> {
        match self.typing.as_ref()? {
            Typing::Filter(_) => Some(&mut self.filter),
            Typing::Search => Some(&mut self.query),
            Typing::Note => Some(&mut self.note),
        }
    }

    fn typed(&mut self, desk: &Desk<'_>) {
        match self.typing {
            Some(Typing::Filter(_)) => self.filter_anew(desk),
            Some(Typing::Search) => self.search_anew(desk),
            Some(Typing::Note) | None => {}
        }
    }

    fn accept(&mut self, desk: &Desk<'_>) {
        if self.typing == Some(Typing::Note) {
            self.write_note(desk);
        }
        // A line with a fault stays open: what is listed is not what it asks for.
        match self.typing {
            Some(Typing::Filter(_)) if self.filter_fault.is_some() => {}
            Some(Typing::Search) if self.query_fault.is_some() => {}
            _ => self.typing = None,
        }
    }

    fn leave_field(&mut self, desk: &Desk<'_>) {
        match self.typing.take() {
            Some(Typing::Filter(before)) => {
                self.filter = Field::new(before);
                self.filter_anew(desk);
                self.to_top = false;
            }
            Some(Typing::Search) => self.end_search(),
            Some(Typing::Note) | None => {}
        }
    }

    fn click(&mut self, at: Position, page: Rect, desk: &Desk<'_>) {
        let [table, reader] = view::panes(self, page);
        (self.to_top, self.anchor) = (false, None);
        if reader.contains(at) && self.len() > 0 {
            self.focus = CorpusFocus::Reader;
        } else if table.contains(at) {
            self.focus = CorpusFocus::Table;
            let (columns, inside, gutter) = (columns::columns(self), look::inside(table), self.has_marks());
            match self.table_head.click(at, &columns, gutter, desk.language, inside) {
                Step::Sort => self.to_top = true,
                Step::Passed => drop(self.cursor.click(at, inside, self.len())),
                _ => {}
            }
        }
    }

    fn wheel(&mut self, at: Position, down: bool, page: Rect, desk: &Desk<'_>) {
        let [table, reader] = view::panes(self, page);
        let step = if down { Action::Down } else { Action::Up };
        (self.to_top, self.anchor) = (false, None);
        for _ in 0..WHEEL_LINES {
            if reader.contains(at) {
                let room = reader_view::room(reader).saturating_sub(1).max(1);
                self.reader.scroll = moved(self.reader.scroll, step, self.reader.lines(), room);
            } else if !self.act_on_table(step, look::inside(table), desk) {
                self.cursor.step(step, self.len(), view::rows(table));
            }
        }
    }

    fn document(&self) -> Option<(String, String)> {
        let document = &self.reader.shown()?.text.document;
        Some((format!("{}\n{}", document.title, document.body), document.doc_id.clone()))
    }

    fn stock(&self) -> Option<WantedStock> {
        let number = self.number(self.cursor.at)?;
        let given = self.catalogue.row(number)?.codes.split(',').filter(|code| !code.is_empty());
        let codes = given.map(str::to_owned).collect();
        Some(WantedStock { codes, at: 0, document: u32::try_from(number).ok() })
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        Some(view::table(self, desk)).filter(|table| !table.rows.is_empty())
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        // Cleaning makes what the page lists; the rest of the pipeline goes on from there.
        Some(desk.headless("clean", ""))
    }

    fn remember(&self) -> Value {
        memory::kept(self)
    }

    fn recall(&mut self, memory: &Value) {
        memory::recall(self, memory);
    }
}
