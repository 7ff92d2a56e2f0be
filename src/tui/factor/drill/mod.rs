//! From a date of a factor to its names, from a name to its documents, from a document to its sentences. Each level is asked for on a
//! thread of its own, which ends when the level is left.

mod documents;
mod names;
mod sentences;
mod view;

use std::sync::mpsc::Sender;

use chrono::NaiveDate;

pub(super) use view::draw;

use super::Tracing;
use crate::extract::ExplainedText;
use crate::factor::{TracedCell, TracedDate};
use crate::job::Job;
use crate::tui::Workspace;
use crate::tui::commands::Action;
use crate::tui::event::Event;
use crate::tui::reading;

/// What is asked for.
pub(crate) enum Question {
    /// Names of a date.
    Names(String, NaiveDate),
    /// Documents of a name.
    Documents(String, NaiveDate, String),
    /// Sentences of a document: reading and number.
    Sentences(String, usize, u32),
}

/// What came back.
pub(crate) enum Traced {
    /// To [`Question::Names`].
    Names(Result<TracedDate, String>),
    /// To [`Question::Documents`].
    Documents(Result<Vec<TracedCell>, String>),
    /// To [`Question::Sentences`].
    Sentences(Result<Vec<ExplainedText>, String>),
}

/// Something asked for: the thread that looks for it, and what it found.
struct Asked<T> {
    number: u64,
    /// Held so that dropping this ends the thread.
    _job: Option<Job<()>>,
    found: Option<Result<T, String>>,
}

impl<T> Asked<T> {
    fn ask(number: u64, question: Question, with: &Asking<'_>) -> Asked<T> {
        match reading::trace(number, question, with.tracing, with.workspace, with.events.clone()) {
            Ok(job) => Asked { number, _job: Some(job), found: None },
            Err(error) => Asked { number, _job: None, found: Some(Err(reading::chain(error))) },
        }
    }

    fn get(&self) -> Option<&T> {
        self.found.as_ref()?.as_ref().ok()
    }

    /// Takes in what was found, unless something else has been asked for since.
    fn take(&mut self, number: u64, found: Result<T, String>) {
        if self.number == number {
            self.found = Some(found);
        }
    }
}

/// What asking takes.
pub(super) struct Asking<'a> {
    pub(super) tracing: &'a Tracing,
    pub(super) workspace: &'a Workspace,
    pub(super) events: &'a Sender<Event>,
}

/// The way down, as far as it was gone.
pub(super) struct Drill {
    factor: String,
    /// The dates that have names, ascending, and which of them is shown.
    dates: Vec<NaiveDate>,
    date: usize,
    names: names::Names,
    documents: Option<documents::Documents>,
    sentences: Option<sentences::Sentences>,
    /// Number of the latest question.
    asked: u64,
}

impl Drill {
    /// The names of one of these dates, of which there is at least one.
    pub(super) fn open(factor: &str, dates: Vec<NaiveDate>, date: usize, asked: u64, with: &Asking<'_>) -> Drill {
        let asked = asked + 1;
        let question = Question::Names(factor.to_owned(), dates[date]);
        Drill {
            factor: factor.to_owned(),
            names: names::Names::of(Asked::ask(asked, question, with)),
            dates,
            date,
            documents: None,
            sentences: None,
            asked,
        }
    }

    /// Number of the latest question.
    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    /// The date that is shown.
    pub(super) fn day(&self) -> NaiveDate {
        self.dates[self.date]
    }

    /// Whether something asked for has not come yet.
    pub(super) fn waiting(&self) -> bool {
        self.names.asked.found.is_none()
            || self.documents.as_ref().is_some_and(|d| d.asked.found.is_none())
            || self.sentences.as_ref().is_some_and(|s| s.asked.found.is_none())
    }

    /// Whether names are listed, and nothing lies over them.
    pub(super) fn lists_names(&self) -> bool {
        self.documents.is_none()
    }

    /// Whether there is something below the marked line.
    pub(super) fn can_open(&self) -> bool {
        match (&self.documents, &self.sentences) {
            (_, Some(_)) => false,
            (Some(documents), None) => documents.marked().is_some(),
            (None, None) => self.names.marked().is_some(),
        }
    }

    /// Goes down to what is marked.
    pub(super) fn down(&mut self, with: &Asking<'_>) {
        self.asked += 1;
        match (&self.documents, &self.sentences) {
            (_, Some(_)) => {}
            (Some(documents), None) => {
                let Some((cell, document)) = documents.marked() else { return };
                let question = Question::Sentences(self.factor.clone(), cell.reading, document.number);
                let (kind, id) = (document.kind, document.doc_id.clone());
                self.sentences = Some(sentences::Sentences::of(kind, id, Asked::ask(self.asked, question, with)));
            }
            (None, None) => {
                let Some(name) = self.names.marked() else { return };
                let question = Question::Documents(self.factor.clone(), self.day(), name.code.clone());
                let (code, called) = (name.code.clone(), name.name.clone());
                self.documents = Some(documents::Documents::of(code, called, Asked::ask(self.asked, question, with)));
            }
        }
    }

    /// Goes up one level; whether there was one.
    pub(super) fn up(&mut self) -> bool {
        if self.sentences.take().is_some() {
            return true;
        }
        self.documents.take().is_some()
    }

    /// Goes to the date before or after, where names are listed; else to another column of the explanation.
    pub(super) fn aside(&mut self, on: bool, with: &Asking<'_>) {
        if let Some(sentences) = &mut self.sentences {
            return sentences.aside(on);
        }
        let to = if on { self.date + 1 } else { self.date.wrapping_sub(1) };
        if self.documents.is_none() && to < self.dates.len() {
            self.date = to;
            self.asked += 1;
            let question = Question::Names(self.factor.clone(), self.day());
            self.names.again(Asked::ask(self.asked, question, with));
        }
    }

    /// Does what changes this list alone.
    pub(super) fn act(&mut self, action: Action, horizon: usize, page: ratatui::layout::Rect) {
        let rows = view::rows(page).max(1);
        match (&mut self.sentences, &mut self.documents, action) {
            (Some(sentences), _, action) => sentences.step(action, page),
            (None, Some(documents), action) => documents.step(action, rows),
            (None, None, Action::Sort) => self.names.sort_by_next(horizon),
            (None, None, Action::Quantile) => self.names.next_quantile(horizon),
            (None, None, action) => self.names.step(action, rows),
        }
    }

    /// Puts the names in order anew, as another horizon counts.
    pub(super) fn sort(&mut self, horizon: usize) {
        self.names.sort(horizon);
    }

    /// Takes in an answer.
    pub(super) fn take(&mut self, number: u64, traced: Traced, horizon: usize) {
        match traced {
            Traced::Names(found) => {
                self.names.asked.take(number, found);
                self.names.sort(horizon);
            }
            Traced::Documents(found) => {
                if let Some(documents) = &mut self.documents {
                    documents.asked.take(number, found);
                }
            }
            Traced::Sentences(found) => {
                if let Some(sentences) = &mut self.sentences {
                    sentences.take(number, found);
                }
            }
        }
    }

    /// Brings what is marked into sight.
    pub(super) fn arrange(&mut self, page: ratatui::layout::Rect) {
        let rows = view::rows(page);
        self.names.arrange(rows);
        if let Some(documents) = &mut self.documents {
            documents.arrange(rows);
        }
        if let Some(sentences) = &mut self.sentences {
            sentences.arrange(page);
        }
    }
}

#[cfg(test)]
mod screens;
