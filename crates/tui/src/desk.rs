//! The means of a page: the workspace, the threads that read, and orders to the workbench as a whole.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::Result;

use super::errand::Errand;
use super::event::Event;
use super::page::Page;
use super::{Language, Runner, Workspace};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;

/// A request of a page to the workbench.
pub enum PageRequest {
    /// Say this on the line of status until the next key.
    Say(String),
    /// Put this text into the clipboard, and say so.
    Copy(String),
    /// Start a job, or put it into the queue.
    Start(Work),
    /// Ask once more whether this workbench may write, and say what came of it.
    AskToWrite,
    /// Read this document (part and row of the corpus) on the text page; keys to the next and the one before go along these documents (by
    /// their number), if there are any, else along the corpus.
    Read(usize, usize, Option<Arc<[u32]>>),
    /// Show this page.
    Show(Page),
    /// Read the document of this number in the reader of the corpus.
    ReadInCorpus(u32),
}

/// A job to start.
pub struct Work {
    /// The name in the list of jobs.
    pub name: String,
    /// The command that does the same without a screen.
    pub command: String,
    /// True if it writes the project. Jobs that do run one at a time, and not where another process has the project.
    pub writes: bool,
    pub run: Runner,
}

/// The functions that a page works with while it does a command.
pub struct Desk<'a> {
    pub workspace: &'a Workspace,
    pub language: Language,
    /// The channel on which finished errands report.
    pub events: &'a Sender<Event>,
    /// True if a job is under way or waits.
    pub busy: bool,
    /// True if this workbench only reads: what writes is not to be begun.
    pub read_only: bool,
    orders: &'a RefCell<Vec<PageRequest>>,
}

impl<'a> Desk<'a> {
    pub fn new(
        workspace: &'a Workspace,
        language: Language,
        events: &'a Sender<Event>,
        [busy, read_only]: [bool; 2],
        orders: &'a RefCell<Vec<PageRequest>>,
    ) -> Desk<'a> {
        Desk { workspace, language, events, busy, read_only, orders }
    }

    /// Asks something of the workbench; it is done as soon as the page has ended what it does.
    pub fn order(&self, order: PageRequest) {
        self.orders.borrow_mut().push(order);
    }

    pub fn say(&self, word: Word) -> &'static str {
        word.to(self.language)
    }

    /// A command on this project, with further flags: `inkstone lint -c demo/workbench.toml --headless`.
    pub fn headless(&self, words: &str, flags: &str) -> String {
        let parts = ["inkstone", words, &self.workspace.flags, flags, "--headless"];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Does something on a thread of its own; the page is arranged anew when it has ended.
    pub(crate) fn errand<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static,
    ) -> Errand<T> {
        Errand::begin(name, Ctx::new(self.workspace.threads, self.workspace.seed), self.events, work)
    }

    /// Runs work that sends pieces of its answer before it ends; each piece has the page arranged anew. The sender returns false when
    /// nobody receives the pieces any more; then the work may end.
    pub(crate) fn errand_in_pieces<P: Send + 'static, T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&dyn Fn(P) -> bool, &Ctx) -> Result<T> + Send + 'static,
    ) -> (Receiver<P>, Errand<T>) {
        let ((sender, pieces), events) = (channel(), self.events.clone());
        let send = move |piece| sender.send(piece).is_ok() && events.send(Event::Back).is_ok();
        (pieces, self.errand(name, move |ctx| work(&send, ctx)))
    }
}
