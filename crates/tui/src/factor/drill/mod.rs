//! From a quantile of a factor to its dates, from a date to its names, from a name to its documents, from a document to its sentences,
//! from a sentence to its words. Each level is asked for on a thread of its own, which ends when the level is left.

mod days;
mod documents;
mod lists;
mod names;
#[cfg(test)]
mod screens;
mod sentences;
mod text;
mod tokens;
mod view;
mod way;

use chrono::NaiveDate;
use ratatui::layout::{Position, Rect};

pub(super) use lists::HoldingPeriod;
pub(super) use view::{draw, mark};
pub(super) use way::Way;

use crate::action::Action;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::page::{Table, WantedStock};
use days::Days;
use documents::Documents;
use inkstone_base::shell::quoted;
use names::Names;
use sentences::Sentences;
use tokens::WordWeights;

/// The way down, as far as it was gone. It begins at the dates of a quantile or at the names of a date.
pub(super) struct Drill {
    factor: String,
    days: Option<Days>,
    names: Option<Names>,
    documents: Option<Documents>,
    sentences: Option<Sentences>,
    tokens: Option<WordWeights>,
    /// The part of an earlier session's way that is still to be gone.
    way: Option<Way>,
}

/// The level reached on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrillLevel {
    Days,
    Names,
    Documents,
    Sentences,
    Tokens,
}

impl Drill {
    fn new(factor: &str) -> Drill {
        let factor = factor.to_owned();
        Drill { factor, days: None, names: None, documents: None, sentences: None, tokens: None, way: None }
    }

    /// The dates of a quantile, from 1, the lowest. None where there is no way to them.
    pub(super) fn of_quantile(factor: &str, quantile: u16, desk: &Desk<'_>) -> Option<Drill> {
        let find = desk.workspace.tracing.as_ref()?.days.clone();
        let name = factor.to_owned();
        let asked = desk.errand("dates of a quantile", move |ctx| find(&name, quantile, ctx));
        Some(Drill { days: Some(Days::new(quantile, asked)), ..Drill::new(factor) })
    }

    /// The names of one of these dates, of which there is at least one. None where there is no way to them.
    pub(super) fn of_date(factor: &str, dates: Vec<NaiveDate>, date: usize, desk: &Desk<'_>) -> Option<Drill> {
        let mut drill = Drill::new(factor);
        let asked = drill.ask_names(*dates.get(date)?, desk)?;
        drill.names = Some(Names::new(dates, date, 0, asked));
        Some(drill)
    }

    /// The way that an earlier session went, to be gone step by step as the answers come.
    pub(super) fn along(self, way: Way) -> Drill {
        Drill { way: Some(way), ..self }
    }

    pub(super) fn level(&self) -> DrillLevel {
        match self {
            Drill { tokens: Some(_), .. } => DrillLevel::Tokens,
            Drill { sentences: Some(_), .. } => DrillLevel::Sentences,
            Drill { documents: Some(_), .. } => DrillLevel::Documents,
            Drill { names: Some(_), .. } => DrillLevel::Names,
            _ => DrillLevel::Days,
        }
    }

    /// The date whose names, or whose documents, are shown.
    pub(super) fn day(&self) -> Option<NaiveDate> {
        self.names.as_ref().map(Names::day)
    }

    /// The quantile that the way began at; none where it began at a date.
    pub(super) fn quantile(&self) -> Option<u16> {
        self.days.as_ref().map(|days| days.quantile)
    }

    /// The way for the memory of a session.
    pub(super) fn way(&self) -> Way {
        let code = self.documents.as_ref().map(|documents| documents.code.clone());
        Way { quantile: self.quantile(), date: self.day(), code }
    }

    pub(super) fn waiting(&self) -> bool {
        self.days.as_ref().is_some_and(|days| days.asked.waiting())
            || self.names.as_ref().is_some_and(|names| names.asked.waiting())
            || self.documents.as_ref().is_some_and(|documents| documents.asked.waiting())
            || self.sentences.as_ref().is_some_and(|sentences| sentences.asked.waiting())
    }

    /// True if a holding period makes a difference to what is shown, and the list can be put in another order.
    pub(super) fn lists_returns(&self) -> bool {
        matches!(self.level(), DrillLevel::Days | DrillLevel::Names)
    }

    /// True if the stocks can be limited to one quantile: those of a quantile already are.
    pub(super) fn can_filter(&self) -> bool {
        self.level() == DrillLevel::Names && self.days.is_none()
    }

    /// True if there is another date, or another column of the explanation, beside what is shown.
    pub(super) fn has_beside(&self) -> bool {
        matches!(self.level(), DrillLevel::Names | DrillLevel::Sentences)
    }

    pub(super) fn can_open(&self) -> bool {
        match self.level() {
            DrillLevel::Days => self.days.as_ref().is_some_and(|days| days.marked().is_some()),
            DrillLevel::Names => self.names.as_ref().is_some_and(|names| names.marked().is_some()),
            DrillLevel::Documents => self.documents.as_ref().is_some_and(|documents| documents.marked().is_some()),
            DrillLevel::Sentences => self.sentences.as_ref().is_some_and(|sentences| sentences.sentence().is_some()),
            DrillLevel::Tokens => false,
        }
    }

    pub(super) fn down(&mut self, desk: &Desk<'_>) {
        match self.level() {
            DrillLevel::Days => {
                let Some((days, day)) = self.days.as_ref().and_then(|days| Some((days, days.marked()?))) else {
                    return;
                };
                let (dates, quantile) = (days.dates(), days.quantile);
                let at = dates.binary_search(&day.date).unwrap_or(0);
                let Some(asked) = self.ask_names(day.date, desk) else { return };
                self.names = Some(Names::new(dates, at, quantile, asked));
            }
            DrillLevel::Names => {
                let Some((names, name)) = self.names.as_ref().and_then(|names| Some((names, names.marked()?))) else {
                    return;
                };
                let Some(tracing) = &desk.workspace.tracing else { return };
                let (find, factor, date) = (tracing.documents.clone(), self.factor.clone(), names.day());
                let (code, called) = (name.code.clone(), name.name.clone());
                let wanted = code.clone();
                let asked = desk.errand("documents of a name", move |ctx| find(&factor, date, &wanted, ctx));
                self.documents = Some(Documents::new(code, called, asked));
            }
            DrillLevel::Documents => {
                let marked = self.documents.as_ref().and_then(Documents::marked);
                let Some(((cell, document), tracing)) = marked.zip(desk.workspace.tracing.as_ref()) else { return };
                let (find, factor) = (tracing.sentences.clone(), self.factor.clone());
                let (reading, number) = (cell.reading, document.number);
                let (kind, id) = (document.kind, document.doc_id.clone());
                let asked = desk.errand("sentences of a document", move |ctx| find(&factor, reading, number, ctx));
                self.sentences = Some(Sentences::new(kind, id, asked));
            }
            DrillLevel::Sentences => {
                let sentence = self.sentences.as_ref().and_then(Sentences::sentence);
                self.tokens = sentence.map(WordWeights::new);
            }
            DrillLevel::Tokens => {}
        }
    }

    /// Goes up one level; whether there was one.
    pub(super) fn up(&mut self) -> bool {
        self.way = None;
        match self.level() {
            DrillLevel::Tokens => self.tokens = None,
            DrillLevel::Sentences => self.sentences = None,
            DrillLevel::Documents => self.documents = None,
            DrillLevel::Names => {
                let Some((days, names)) = self.days.as_mut().zip(self.names.take()) else { return false };
                days.mark(names.day());
            }
            DrillLevel::Days => return false,
        }
        true
    }

    /// Goes to the date before or after, where names are listed; else to another column of the explanation.
    pub(super) fn aside(&mut self, on: bool, desk: &Desk<'_>) {
        self.way = None;
        match self.level() {
            DrillLevel::Sentences => self.sentences.iter_mut().for_each(|sentences| sentences.aside(on)),
            DrillLevel::Names => {
                let beside = self.names.as_ref().and_then(|names| names.beside(on));
                let Some((at, date)) = beside else { return };
                let asked = self.ask_names(date, desk);
                if let Some((names, asked)) = self.names.as_mut().zip(asked) {
                    names.again(at, asked);
                }
            }
            _ => {}
        }
    }

    /// Does a command that changes this list alone.
    pub(super) fn act(&mut self, action: Action, horizon: usize, page: Rect) {
        self.way = None;
        let rows = view::rows(page).max(1);
        match (self.level(), action) {
            (DrillLevel::Days, Action::Sort) => self.days.iter_mut().for_each(|days| days.sort_by_next(horizon)),
            (DrillLevel::Names, Action::Sort) => self.names.iter_mut().for_each(|names| names.sort_by_next(horizon)),
            (DrillLevel::Names, Action::Quantile) if self.days.is_none() => {
                self.names.iter_mut().for_each(|names| names.next_quantile(horizon));
            }
            (DrillLevel::Days, action) => self.days.iter_mut().for_each(|days| days.step(action, rows)),
            (DrillLevel::Names, action) => self.names.iter_mut().for_each(|names| names.step(action, rows)),
            (DrillLevel::Documents, action) => self.documents.iter_mut().for_each(|all| all.step(action, rows)),
            (DrillLevel::Sentences, action) => self.sentences.iter_mut().for_each(|all| all.step(action, page)),
            (DrillLevel::Tokens, action) => self.tokens.iter_mut().for_each(|tokens| tokens.step(action, rows)),
        }
    }

    pub(super) fn click(&mut self, at: Position, page: Rect) {
        self.way = None;
        if self.level() == DrillLevel::Sentences {
            return self.sentences.iter_mut().for_each(|sentences| sentences.click(at, page));
        }
        let (cursor, count) = match self {
            Drill { tokens: Some(tokens), .. } => (&mut tokens.cursor, tokens.order.len()),
            Drill { documents: Some(documents), .. } => {
                let count = documents.all().count();
                (&mut documents.cursor, count)
            }
            Drill { names: Some(names), .. } => (&mut names.cursor, names.listed.len()),
            Drill { days: Some(days), .. } => (&mut days.cursor, days.listed.len()),
            _ => return,
        };
        cursor.click(at, view::list_area(page), count);
    }

    /// Puts the lists in order anew, as another horizon counts.
    pub(super) fn sort(&mut self, horizon: usize) {
        self.days.iter_mut().for_each(|days| days.sort(horizon));
        self.names.iter_mut().for_each(|names| names.sort(horizon));
    }

    /// Takes in the answers that have come, brings what is marked into sight, and goes on along the way of an earlier session.
    pub(super) fn arrange(&mut self, page: Rect, horizon: usize, desk: &Desk<'_>) {
        let rows = view::rows(page);
        if let Some(days) = &mut self.days {
            if days.asked.look() {
                days.sort(horizon);
            }
            days.cursor.arrange(days.listed.len(), rows);
        }
        if let Some(names) = &mut self.names {
            if names.asked.look() {
                names.sort(horizon);
            }
            names.cursor.arrange(names.listed.len(), rows);
        }
        if let Some(documents) = &mut self.documents {
            documents.asked.look();
            let count = documents.all().count();
            documents.cursor.arrange(count, rows);
        }
        if let Some(sentences) = &mut self.sentences {
            sentences.arrange(page);
        }
        if let Some(tokens) = &mut self.tokens {
            tokens.cursor.arrange(tokens.order.len(), rows);
        }
        self.go_on(desk);
    }

    /// Goes the next step of the way of an earlier session, once the list that it leads through is there.
    fn go_on(&mut self, desk: &Desk<'_>) {
        if self.waiting() {
            return;
        }
        let Some(way) = self.way.take() else { return };
        let found = match (self.level(), &mut self.days, &mut self.names) {
            (DrillLevel::Days, Some(days), _) => way.date.is_some_and(|date| days.mark(date)),
            (DrillLevel::Names, _, Some(names)) => way.code.as_ref().is_some_and(|code| names.mark(code)),
            _ => false,
        };
        if found {
            self.down(desk);
            self.way = Some(way);
        }
    }

    /// The list of the level, for copying.
    pub(super) fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        match self.level() {
            DrillLevel::Days => self.days.as_ref()?.table(desk),
            DrillLevel::Names => self.names.as_ref()?.table(desk),
            DrillLevel::Documents => self.documents.as_ref()?.table(desk),
            DrillLevel::Sentences => self.sentences.as_ref()?.table(desk),
            DrillLevel::Tokens => self.tokens.as_ref()?.table(self.sentences.as_ref()?.sentence()?, desk),
        }
    }

    /// The stocks of the date that is listed, or the one whose documents are; none among dates.
    pub(super) fn stock(&self) -> Option<WantedStock> {
        if let Some(documents) = &self.documents {
            let document = documents.marked().map(|(_, document)| document.number);
            return Some(WantedStock { codes: vec![documents.code.clone()], at: 0, document });
        }
        let names = self.names.as_ref()?;
        let date = names.asked.get()?;
        let codes: Vec<String> = names.listed.iter().map(|place| date.names[*place].code.clone()).collect();
        Some(WantedStock { codes, at: names.cursor.at, document: None }).filter(|wanted| !wanted.codes.is_empty())
    }

    /// The flags of `inkstone trace` that show the same.
    pub(super) fn flags(&self) -> String {
        let Some(date) = self.day() else {
            return self.quantile().map(|quantile| format!("--quantile {quantile}")).unwrap_or_default();
        };
        let mut flags = format!("--date {date}");
        match &self.documents {
            Some(documents) => flags += &format!(" --code {}", quoted(&documents.code)),
            None => {
                let of_names = self.names.as_ref().map(|names| names.quantile).filter(|quantile| *quantile > 0);
                flags += &of_names.or(self.quantile()).map(|q| format!(" --quantile {q}")).unwrap_or_default();
            }
        }
        if let Some(sentences) = &self.sentences {
            flags += &format!(" --document {}", quoted(&sentences.doc_id));
        }
        flags
    }

    fn ask_names(&self, date: NaiveDate, desk: &Desk<'_>) -> Option<Errand<inkstone_lab::factor::TracedDate>> {
        let find = desk.workspace.tracing.as_ref()?.names.clone();
        let factor = self.factor.clone();
        Some(desk.errand("names of a date", move |ctx| find(&factor, date, ctx)))
    }
}
