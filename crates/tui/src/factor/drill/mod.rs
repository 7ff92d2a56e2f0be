//! From a quantile of a factor to its dates, from a date to its names, from a name to its documents, from a document to its sentences,
//! from a sentence to its words. Each level is asked for on a thread of its own, which ends when the level is left.

mod ahead;
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
use serde_json::{Value as Json, json};

pub(super) use lists::HoldingPeriod;
pub(super) use view::draw;
pub(super) use way::Way;

use crate::action::Action;
use crate::corpus::Shelf;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::kit::ListSheet;
use crate::look;
use crate::page::{Table, WantedStock};
use ahead::Ahead;
use days::Days;
use documents::Documents;
use inkstone_base::shell::quoted;
use names::Names;
use sentences::Sentences;

/// The way down, as far as it was gone. It begins at the dates of a quantile or at the names of a date.
pub(super) struct Drill {
    factor: String,
    days: Option<Days>,
    names: Option<Names>,
    documents: Option<Documents>,
    sentences: Option<Sentences>,
    /// The words of a sentence.
    words: Option<ListSheet>,
    /// The next level of the marked line, shown beside the list where there is room.
    ahead: Option<Ahead>,
    shelf: Shelf,
    /// Columns and orders of the lists, as the user has them, by the name of the level.
    tables: Json,
    /// The part of an earlier session's way that is still to be gone.
    way: Option<Way>,
}

/// Width from which the next level of the marked line is shown beside a list.
const AHEAD: u16 = 120;

/// The level reached on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrillLevel {
    Days,
    Names,
    Documents,
    Sentences,
    Tokens,
}

impl DrillLevel {
    /// The name in a session.
    fn id(self) -> &'static str {
        match self {
            DrillLevel::Days => "days",
            DrillLevel::Names => "names",
            DrillLevel::Documents => "documents",
            DrillLevel::Sentences => "sentences",
            DrillLevel::Tokens => "words",
        }
    }
}

impl Drill {
    fn new(factor: &str, tables: &Json) -> Drill {
        Drill {
            factor: factor.to_owned(),
            days: None,
            names: None,
            documents: None,
            sentences: None,
            words: None,
            ahead: None,
            shelf: Shelf::default(),
            tables: tables.clone(),
            way: None,
        }
    }

    /// The list of a level, empty, with the columns and the order that the user gave it.
    fn new_sheet(&self, level: DrillLevel) -> ListSheet {
        let mut sheet = match level {
            DrillLevel::Days => ListSheet::sorted_by("date", true),
            DrillLevel::Names => ListSheet::sorted_by("value", true),
            _ => ListSheet::default(),
        };
        sheet.recall(&self.tables[level.id()]);
        sheet
    }

    /// Columns and orders of the lists, as the user has them.
    pub(super) fn tables(&self) -> Json {
        let mut tables = self.tables.as_object().cloned().unwrap_or_default();
        let lists = [
            (DrillLevel::Days, self.days.as_ref().map(|days| &days.sheet)),
            (DrillLevel::Names, self.names.as_ref().map(|names| &names.sheet)),
            (DrillLevel::Documents, self.documents.as_ref().map(|documents| &documents.sheet)),
            (DrillLevel::Tokens, self.words.as_ref()),
        ];
        for (level, sheet) in lists {
            if let Some(sheet) = sheet {
                tables.insert(level.id().to_owned(), sheet.remember());
            }
        }
        json!(tables)
    }

    /// The list of the level; none among sentences.
    fn sheet(&self) -> Option<&ListSheet> {
        match self.level() {
            DrillLevel::Days => self.days.as_ref().map(|days| &days.sheet),
            DrillLevel::Names => self.names.as_ref().map(|names| &names.sheet),
            DrillLevel::Documents => self.documents.as_ref().map(|documents| &documents.sheet),
            DrillLevel::Sentences => None,
            DrillLevel::Tokens => self.words.as_ref(),
        }
    }

    fn sheet_mut(&mut self) -> Option<&mut ListSheet> {
        match self.level() {
            DrillLevel::Days => self.days.as_mut().map(|days| &mut days.sheet),
            DrillLevel::Names => self.names.as_mut().map(|names| &mut names.sheet),
            DrillLevel::Documents => self.documents.as_mut().map(|documents| &mut documents.sheet),
            DrillLevel::Sentences => None,
            DrillLevel::Tokens => self.words.as_mut(),
        }
    }

    /// True if the level is a list of the kit, with columns to sort by.
    pub(super) fn is_list(&self) -> bool {
        self.sheet().is_some()
    }

    /// True if something lies over the list, or only some of its rows are listed.
    pub(super) fn is_open(&self) -> bool {
        self.sheet().is_some_and(ListSheet::is_open)
    }

    /// True if the next level of the marked line is shown beside the list.
    fn looks_ahead(&self, page: Rect, zoomed: bool) -> bool {
        let is_above = matches!(self.level(), DrillLevel::Names | DrillLevel::Documents);
        is_above && page.width >= AHEAD && !zoomed
    }

    /// The list with its line of titles.
    fn list_area(&self, page: Rect, zoomed: bool) -> Rect {
        look::inside(view::split(self.looks_ahead(page, zoomed), view::panes(page)[1])[0])
    }

    /// The dates of a quantile, from 1, the lowest. None where there is no way to them.
    pub(super) fn of_quantile(factor: &str, tables: &Json, quantile: u16, desk: &Desk<'_>) -> Option<Drill> {
        let find = desk.workspace.tracing.as_ref()?.days.clone();
        let name = factor.to_owned();
        let asked = desk.errand("dates of a quantile", move |ctx| find(&name, quantile, ctx));
        let mut drill = Drill::new(factor, tables);
        let sheet = drill.new_sheet(DrillLevel::Days);
        drill.days = Some(Days { quantile, asked, sheet });
        Some(drill)
    }

    /// The names of one of these dates, of which there is at least one. None where there is no way to them.
    pub(super) fn of_date(
        factor: &str,
        tables: &Json,
        dates: Vec<NaiveDate>,
        date: usize,
        desk: &Desk<'_>,
    ) -> Option<Drill> {
        let mut drill = Drill::new(factor, tables);
        let asked = drill.ask_names(*dates.get(date)?, desk)?;
        drill.names = Some(Names::new(dates, date, 0, asked, drill.new_sheet(DrillLevel::Names)));
        Some(drill)
    }

    /// The way that an earlier session went, to be gone step by step as the answers come.
    pub(super) fn along(self, way: Way) -> Drill {
        Drill { way: Some(way), ..self }
    }

    pub(super) fn level(&self) -> DrillLevel {
        match self {
            Drill { words: Some(_), .. } => DrillLevel::Tokens,
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
            || self.ahead.as_ref().is_some_and(Ahead::waiting)
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
    pub(super) fn goes_aside(&self) -> bool {
        matches!(self.level(), DrillLevel::Names | DrillLevel::Sentences) && !self.is_open()
    }

    /// True if keys to the left and right have something to do: columns of a list, dates, or columns of the explanation.
    pub(super) fn has_beside(&self) -> bool {
        self.goes_aside() || self.is_list()
    }

    /// True if the level is a list that has rows.
    pub(super) fn has_rows(&self) -> bool {
        self.sheet().is_some_and(|sheet| sheet.is_open() || sheet.selected().is_some())
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
                self.names = Some(Names::new(dates, at, quantile, asked, self.new_sheet(DrillLevel::Names)));
            }
            DrillLevel::Names => {
                let wanted = self.name_key();
                self.documents = match self.ahead.take() {
                    Some(Ahead::Documents(key, documents)) if Some(&key) == wanted.as_ref() => Some(*documents),
                    _ => self.ask_documents(desk),
                };
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
                let has_sentence = self.sentences.as_ref().is_some_and(|sentences| sentences.sentence().is_some());
                self.words = has_sentence.then(|| self.new_sheet(DrillLevel::Tokens));
            }
            DrillLevel::Tokens => {}
        }
    }

    /// Goes up one level; whether there was one.
    pub(super) fn up(&mut self) -> bool {
        (self.way, self.ahead, self.tables) = (None, None, self.tables());
        match self.level() {
            DrillLevel::Tokens => self.words = None,
            DrillLevel::Sentences => self.sentences = None,
            DrillLevel::Documents => self.documents = None,
            DrillLevel::Names => {
                let Some((days, names)) = self.days.as_mut().zip(self.names.take()) else { return false };
                days.sheet.go_to(&names.day().to_string());
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

    /// Does a command that changes this list alone; false where it is none of the list.
    pub(super) fn act(&mut self, action: Action, page: Rect) -> bool {
        let (level, chooses_layer) = (self.level(), self.can_filter());
        self.way = None;
        let Some(sheet) = self.sheet_mut() else {
            let action = if action == Action::MarkRow { Action::PageDown } else { action };
            self.sentences.iter_mut().for_each(|all| all.step(action, page));
            return action != Action::Back;
        };
        let is_date = level == DrillLevel::Names && !sheet.is_open();
        let action = match action {
            Action::Left if !is_date => Action::ColumnLeft,
            Action::Right if !is_date => Action::ColumnRight,
            Action::Sort if sheet.is_open() => Action::SortTable,
            other => other,
        };
        match (level, action) {
            (DrillLevel::Days, Action::Sort) => sheet.sort_by_next(&days::ORDERS),
            (DrillLevel::Names, Action::Sort) => sheet.sort_by_next(&names::ORDERS),
            (_, Action::Sort) => return sheet.act(Action::SortTable),
            (DrillLevel::Names, Action::Quantile) if chooses_layer => {
                self.names.iter_mut().for_each(Names::next_quantile);
            }
            _ => return sheet.act(action),
        }
        true
    }

    pub(super) fn click(&mut self, at: Position, page: Rect) {
        self.way = None;
        match self.sheet_mut() {
            Some(sheet) => drop(sheet.click(at)),
            None => self.sentences.iter_mut().for_each(|sentences| sentences.click(at, page)),
        }
    }

    /// Takes in the answers that have come, brings what is marked into sight, and goes on along the way of an earlier session.
    pub(super) fn arrange(&mut self, page: Rect, held: HoldingPeriod, zoomed: bool, desk: &Desk<'_>) {
        let area = self.list_area(page, zoomed);
        if let Some(days) = &mut self.days {
            days.asked.look();
            days.fill(held, area.width, desk);
        }
        if let Some(names) = &mut self.names {
            names.asked.look();
            names.fill(held, desk);
        }
        if let Some(documents) = &mut self.documents {
            documents.asked.look();
            documents.fill(desk);
        }
        if let Some(sentences) = &mut self.sentences {
            sentences.arrange(page);
        }
        if let Some((sentence, words)) = self.sentences.as_ref().and_then(Sentences::sentence).zip(self.words.as_mut())
        {
            tokens::fill(words, sentence, area.width, desk);
        }
        if let Some(sheet) = self.sheet_mut() {
            sheet.arrange(area);
        }
        self.go_on(desk);
        self.look_ahead(page, zoomed, desk);
    }

    /// Reads the next level of the marked line ahead, if it is shown: one line at a time, so that moving down a list does not wait.
    fn look_ahead(&mut self, page: Rect, zoomed: bool, desk: &Desk<'_>) {
        if !self.looks_ahead(page, zoomed) {
            self.ahead = None;
            return;
        }
        if !self.ahead.as_ref().is_some_and(Ahead::waiting) {
            if self.level() == DrillLevel::Names {
                let key = self.name_key();
                let is_there = matches!(&self.ahead, Some(Ahead::Documents(of, _)) if Some(of) == key.as_ref());
                if !is_there {
                    self.ahead =
                        key.zip(self.ask_documents(desk)).map(|(key, found)| Ahead::Documents(key, Box::new(found)));
                }
            } else {
                let marked = self.documents.as_ref().and_then(Documents::marked).map(|(_, document)| document);
                let is_there = matches!(&self.ahead, Some(Ahead::Text { number, .. })
                    if Some(*number) == marked.map(|document| document.number));
                if !is_there {
                    let asked =
                        marked.map(|document| Ahead::text(document.number, &document.doc_id, &self.shelf, desk));
                    self.ahead = asked;
                }
            }
        }
        let beside = look::inside(view::split(true, view::panes(page)[1])[1]);
        if let Some(ahead) = &mut self.ahead {
            ahead.arrange(usize::from(beside.width), usize::from(beside.height), desk);
        }
    }

    /// The key of the marked name: date and code.
    fn name_key(&self) -> Option<String> {
        let names = self.names.as_ref()?;
        Some(format!("{} {}", names.day(), names.marked()?.code))
    }

    fn ask_documents(&self, desk: &Desk<'_>) -> Option<Documents> {
        let (names, tracing) = (self.names.as_ref()?, desk.workspace.tracing.as_ref()?);
        let name = names.marked()?;
        let (find, factor, date) = (tracing.documents.clone(), self.factor.clone(), names.day());
        let (code, called) = (name.code.clone(), name.name.clone());
        let wanted = code.clone();
        let asked = desk.errand("documents of a name", move |ctx| find(&factor, date, &wanted, ctx));
        Some(Documents { code, name: called, asked, sheet: self.new_sheet(DrillLevel::Documents) })
    }

    /// Goes the next step of the way of an earlier session, once the list that it leads through is there.
    fn go_on(&mut self, desk: &Desk<'_>) {
        if self.waiting() {
            return;
        }
        let Some(way) = self.way.take() else { return };
        let found = match (self.level(), &mut self.days, &mut self.names) {
            (DrillLevel::Days, Some(days), _) => way.date.is_some_and(|date| days.sheet.go_to(&date.to_string())),
            (DrillLevel::Names, _, Some(names)) => way.code.as_ref().is_some_and(|code| names.sheet.go_to(code)),
            _ => false,
        };
        if found {
            self.down(desk);
            self.way = Some(way);
        }
    }

    /// The list of the level, for copying.
    pub(super) fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        match self.sheet() {
            Some(sheet) => Some(sheet.copied()),
            None => self.sentences.as_ref()?.table(desk),
        }
    }

    /// The stocks of the date that is listed, or the one whose documents are; none among dates.
    pub(super) fn stock(&self) -> Option<WantedStock> {
        if let Some(documents) = &self.documents {
            let document = documents.marked().map(|(_, document)| document.number);
            return Some(WantedStock { codes: vec![documents.code.clone()], at: 0, document });
        }
        let names = self.names.as_ref()?;
        let wanted = WantedStock { codes: names.codes(), at: names.sheet.line(), document: None };
        Some(wanted).filter(|wanted| !wanted.codes.is_empty())
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
