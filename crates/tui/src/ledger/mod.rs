//! The page of the ledger: every backtest that ran, what each is worth among all, and deleting, which hides nothing.

mod against;
mod columns;
mod particulars;
mod shelf;
mod view;
mod words;
mod worth;

#[cfg(test)]
mod screens;

use std::sync::Arc;

use anyhow::Result;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::{Value, json};

use super::action::Action;
use super::context::PageContext;
use super::desk::{Desk, PageRequest};
use super::errand::Errand;
use super::field::Field;
use super::kit::{ListSheet, Zoom};
use super::list;
use super::page::{Table, turns};
use super::page_state::PageState;
use inkstone_base::figures;
use inkstone_base::job::Ctx;
use inkstone_lab::ledger::{Book, BookTrial};
use shelf::Shelf;
use words as w;

/// Reads the ledger; none where there is none yet.
type LedgerReading = Arc<dyn Fn(&Ctx) -> Result<Option<Book>> + Send + Sync>;

/// Deletes an entry, with the reason, and reads the ledger anew.
type LedgerDeletion = Arc<dyn Fn(u64, &str) -> Result<Book> + Send + Sync>;

/// The functions behind the page, supplied by the program. The ledger is open only meanwhile.
#[derive(Clone)]
pub struct LedgerBench {
    pub read: LedgerReading,
    pub delete: LedgerDeletion,
    /// The flags that name the configuration on the command line: `-c workbench.toml`.
    pub config: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LedgerFocus {
    #[default]
    List,
    Below,
}

turns! {
    enum LedgerView {
        #[default]
        Particulars = "particulars",
        Worth = "worth",
        Histogram = "histogram",
    }
}

/// An entry that is about to be deleted.
struct Deletion {
    entry: u64,
    name: String,
    /// Other runs of the trial that are there in full.
    others: u64,
    reason: Field,
    /// The deletion under way, or why it failed.
    errand: Option<Errand<Shelf>>,
}

#[derive(Default)]
pub struct LedgerPage {
    asked: Option<Errand<Option<Shelf>>>,
    /// The ledger as it was last read; it stands while it is read anew. None inside: there is none.
    shelf: Option<Option<Shelf>>,
    filter: Field,
    /// True if keys go into the filter.
    filtering: bool,
    /// The trials of the book.
    table: ListSheet,
    /// The entry to go to as soon as there is a list.
    wanted: Option<u64>,
    focus: LedgerFocus,
    zoom: Zoom,
    view: LedgerView,
    /// First line seen of the pane below.
    scroll: usize,
    deletion: Option<Deletion>,
    /// The entry that others are compared with.
    marked: Option<u64>,
}

impl LedgerPage {
    pub(crate) fn new() -> LedgerPage {
        // The latest first.
        LedgerPage { table: ListSheet::sorted_by("number", true), ..LedgerPage::default() }
    }

    pub(crate) fn has_trials(&self) -> bool {
        self.shelf().is_some_and(|shelf| !shelf.book.trials.is_empty())
    }

    /// True if the selected entry can be deleted.
    pub(crate) fn can_delete(&self) -> bool {
        self.deletion.is_none() && self.selected().is_some_and(|trial| trial.entry.details.is_some())
    }

    fn shelf(&self) -> Option<&Shelf> {
        self.shelf.as_ref()?.as_ref()
    }

    fn selected(&self) -> Option<&BookTrial> {
        self.trial(self.table.selected_key()?.parse().ok()?)
    }

    fn trial(&self, number: u64) -> Option<&BookTrial> {
        self.shelf()?.book.trials.iter().find(|trial| trial.entry.number == number)
    }

    /// The trial that the selected one is compared with; none where that is itself.
    fn marked(&self) -> Option<&BookTrial> {
        let number = self.marked.filter(|number| self.selected().is_some_and(|trial| trial.entry.number != *number))?;
        self.trial(number)
    }

    /// Marks the selected trial, to compare others with it, or takes the mark away.
    fn mark(&mut self, desk: &Desk<'_>) {
        let number = self.selected().map(|trial| trial.entry.number);
        self.marked = number.filter(|_| self.marked != number);
        (self.view, self.scroll) = (LedgerView::Particulars, 0);
        if let Some(number) = self.marked {
            desk.order(PageRequest::Say(format!("#{number} {}", desk.say(w::IS_MARKED))));
        }
    }

    /// Takes in what a reading brought.
    fn take(&mut self, shelf: Option<Shelf>) {
        // The row of what was marked, for a deletion may leave another run of the trial, with another number.
        let trial = self.selected().map(|trial| trial.entry.trial);
        let same = shelf.iter().flat_map(|shelf| &shelf.book.trials).find(|other| Some(other.entry.trial) == trial);
        self.wanted = self.wanted.or(same.map(|trial| trial.entry.number));
        self.shelf = Some(shelf);
        self.table.renew();
    }

    fn ask_for_reason(&mut self) {
        let Some(trial) = self.selected() else { return };
        self.deletion = Some(Deletion {
            entry: trial.entry.number,
            name: trial.entry.details.as_ref().map(|details| details.factor.clone()).unwrap_or_default(),
            others: trial.kept.saturating_sub(1),
            reason: Field::default(),
            errand: None,
        });
    }

    fn delete(&mut self, desk: &Desk<'_>) {
        if desk.read_only {
            return desk.order(PageRequest::AskToWrite);
        }
        let (Some(bench), Some(deletion)) = (desk.workspace.ledger.clone(), &mut self.deletion) else { return };
        let reason = deletion.reason.text().trim().to_owned();
        if reason.is_empty() {
            return desk.order(PageRequest::Say(desk.say(w::NEEDS_REASON).to_owned()));
        }
        let entry = deletion.entry;
        deletion.errand =
            Some(desk.errand("delete an entry", move |_| Ok(Shelf::new((bench.delete)(entry, &reason)?))));
    }

    /// Takes in what came of a deletion, and says that it hides nothing.
    fn look_at_deletion(&mut self, desk: &Desk<'_>) {
        let Some(deletion) = &mut self.deletion else { return };
        let Some(shelf) = Errand::take_new(&mut deletion.errand) else { return };
        let (entry, trials) = (deletion.entry, figures::count(shelf.book.totals.trials));
        desk.order(PageRequest::Say(format!("#{entry} {} {trials} {}", desk.say(w::IS_DELETED), desk.say(w::TRIALS))));
        self.deletion = None;
        self.take(Some(shelf));
    }
}

impl PageState for LedgerPage {
    fn reload(&mut self, desk: &Desk<'_>) {
        let Some(bench) = desk.workspace.ledger.clone() else { return };
        self.asked = Some(desk.errand("ledger", move |ctx| Ok((bench.read)(ctx)?.map(Shelf::new))));
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, _: &PageContext<'_>) -> bool {
        match action {
            Action::LedgerDelete => self.can_delete(),
            Action::LedgerReread => true,
            _ if action.is_of_table() => self.has_trials() && self.focus == LedgerFocus::List,
            _ => self.has_trials(),
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        if self.focus == LedgerFocus::List && self.deletion.is_none() {
            let before = self.table.selected();
            let done = self.table.act(action);
            self.scroll = if self.table.selected() == before { self.scroll } else { 0 };
            if done {
                return;
            }
        }
        match action {
            Action::LedgerReread => self.reload(desk),
            Action::MarkTrial => self.mark(desk),
            Action::LedgerOpen => self.focus = LedgerFocus::Below,
            Action::LedgerView => (self.view, self.scroll) = (self.view.next(), 0),
            Action::LedgerFilter => (self.filtering, self.focus) = (true, LedgerFocus::List),
            // The ledger of a project that another process has is not this workbench's to change.
            Action::LedgerDelete if desk.read_only => desk.order(PageRequest::AskToWrite),
            Action::LedgerDelete => self.ask_for_reason(),
            Action::Back if self.deletion.is_some() => self.deletion = None,
            Action::Back if self.focus == LedgerFocus::Below => self.focus = LedgerFocus::List,
            Action::Back => self.filter = Field::default(),
            _ => self.scroll = list::moved(self.scroll, action, usize::MAX, usize::from(area.height / 3)),
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        if let Some(shelf) = Errand::take_new(&mut self.asked) {
            self.take(shelf);
        }
        self.look_at_deletion(desk);
        if let Some(Some(shelf)) = &self.shelf {
            columns::fill(&mut self.table, shelf, self.filter.text(), desk.language);
            if let Some(number) = self.wanted.take() {
                self.table.go_to(&number.to_string());
            }
        }
        self.table.arrange(view::list_area(self, area));
        self.scroll = self.scroll.min(view::last_scroll(self, area, desk));
    }

    fn waiting(&self) -> bool {
        let deletes = self.deletion.as_ref().and_then(|deletion| deletion.errand.as_ref());
        self.asked.as_ref().is_some_and(Errand::waiting) || deletes.is_some_and(Errand::waiting)
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom)
    }

    fn is_typing(&self) -> bool {
        self.filtering || self.deletion.as_ref().is_some_and(|deletion| deletion.errand.is_none())
    }

    fn field(&mut self) -> Option<&mut Field> {
        match &mut self.deletion {
            Some(deletion) if deletion.errand.is_none() => Some(&mut deletion.reason),
            _ => self.filtering.then_some(&mut self.filter),
        }
    }

    fn accept(&mut self, desk: &Desk<'_>) {
        match self.deletion {
            Some(_) => self.delete(desk),
            None => self.filtering = false,
        }
    }

    fn leave_field(&mut self, _desk: &Desk<'_>) {
        if self.deletion.take().is_none() {
            (self.filtering, self.filter) = (false, Field::default());
        }
    }

    fn can_go_back(&self) -> bool {
        let inside = self.deletion.is_some() || self.focus == LedgerFocus::Below || self.table.is_open();
        inside || !self.filter.text().is_empty()
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        if let Some(view) = view::view_at(self, at, area) {
            (self.focus, self.view) = (LedgerFocus::Below, view);
        } else {
            self.focus = LedgerFocus::List;
            self.table.click(at);
        }
    }

    fn table(&self, _desk: &Desk<'_>) -> Option<Table> {
        self.shelf().map(|_| self.table.copied())
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        let config = &desk.workspace.ledger.as_ref()?.config;
        if let Some(Deletion { entry, reason, .. }) = &self.deletion {
            let reason = reason.text().replace('\'', r"'\''");
            return Some(format!("inkstone ledger delete {entry} --reason '{reason}' {config} --headless"));
        }
        let show = self.selected().filter(|_| self.focus == LedgerFocus::Below && self.view == LedgerView::Particulars);
        Some(match show {
            Some(trial) => format!("inkstone ledger show {} {config} --headless", trial.entry.number),
            None => format!("inkstone ledger list {config} --headless"),
        })
    }

    fn remember(&self) -> Value {
        let entry = self.selected().map(|trial| trial.entry.number);
        json!({"entry": entry, "table": self.table.remember(), "filter": self.filter.text(), "view": self.view})
    }

    fn recall(&mut self, memory: &Value) {
        self.wanted = memory["entry"].as_u64();
        self.table.recall(&memory["table"]);
        self.filter = Field::new(memory["filter"].as_str().unwrap_or_default());
        self.view = serde_json::from_value(memory["view"].clone()).unwrap_or(self.view);
    }
}
