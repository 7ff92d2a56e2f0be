//! The page of one stock: prices, volume, documents and a factor on one axis of time, and the returns around each document. Other pages open
//! it; Esc leads back to them.

mod axis;
#[cfg(test)]
mod screens;
mod view;
mod words;

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
use super::list::Cursor;
use super::page::{Page, Table, WantedStock};
use super::page_state::PageState;
use super::pinyin;
use inkstone_base::job::Ctx;
use inkstone_base::shell::quoted;
use inkstone_lab::stock::{DayState, Stock};

/// All codes with prices, ascending, each with its name, which may be empty.
type Stocks = Vec<(String, String)>;

/// The functions behind the page. They are called on threads of their own.
#[derive(Clone)]
pub struct StockBench {
    pub list: Arc<dyn Fn(&Ctx) -> Result<Stocks> + Send + Sync>,
    /// Reads a stock by its code, with the values of a factor.
    pub read: Arc<dyn Fn(&str, Option<&str>, &Ctx) -> Result<Stock> + Send + Sync>,
    /// The codes of the stocks that a document of this number is linked to.
    pub of_document: Arc<dyn Fn(u32, &Ctx) -> Result<Vec<String>> + Send + Sync>,
}

/// Trading days on the axis, from the widest to the narrowest; 0 shows all.
const ZOOMS: [usize; 5] = [0, 250, 120, 60, 30];

#[derive(Default)]
pub struct StockPage {
    wanted: WantedStock,
    /// The page that led here.
    from: Option<Page>,
    factor: Option<String>,
    loaded: Option<Errand<Stock>>,
    coming: Option<Errand<Stock>>,
    /// True if what is loaded is not what is wanted.
    stale: bool,
    cursor: Cursor,
    zoom: usize,
    typing: Option<Field>,
    /// True if the first stock that the text means is to be shown without being asked for.
    sought: bool,
    list: Option<Errand<Stocks>>,
    /// The codes of the document that led here, on their way.
    linked: Option<Errand<Vec<String>>>,
}

impl StockPage {
    /// Comes from a page with the stocks that it lists; without any the last one is shown, or one is asked for.
    pub(crate) fn open(&mut self, wanted: Option<WantedStock>, from: Page) {
        if from != Page::Stock {
            self.from = Some(from);
        }
        match wanted {
            Some(wanted) => self.show(wanted),
            None if self.code().is_none() || from == Page::Stock => self.typing = Some(Field::default()),
            None => {}
        }
    }

    /// Shows the first stock that the text may mean, as soon as the list of all is there.
    pub(crate) fn find(&mut self, text: &str, from: Page) {
        self.open(None, from);
        (self.typing, self.sought) = (Some(Field::new(text)), true);
    }

    /// Shows the first stock that was found.
    fn show_first(&mut self) {
        if let Some((code, _)) = self.found().first() {
            let codes = vec![code.clone()];
            self.show(WantedStock { codes, at: 0, document: None });
        }
    }

    /// Shows one stock, with a factor's values if one is named.
    pub(crate) fn begin(&mut self, code: &str, factor: Option<&str>) {
        self.show(WantedStock { codes: vec![code.to_owned()], at: 0, document: None });
        self.factor = factor.map(str::to_owned).or(self.factor.take());
    }

    fn show(&mut self, wanted: WantedStock) {
        if wanted.codes.is_empty() || wanted.codes.get(wanted.at) != self.code() {
            (self.loaded, self.coming, self.cursor) = (None, None, Cursor::default());
        }
        (self.wanted, self.stale, self.typing) = (wanted, true, None);
    }

    fn code(&self) -> Option<&String> {
        self.wanted.codes.get(self.wanted.at)
    }

    fn shown_stock(&self) -> Option<&Stock> {
        self.loaded.as_ref()?.get()
    }

    /// The stocks that the typed text may mean, the nearest first: codes that begin with it, names and codes that have it, pinyin initials.
    fn found(&self) -> Vec<&(String, String)> {
        let (Some(field), Some(all)) = (&self.typing, self.list.as_ref().and_then(Errand::get)) else {
            return Vec::new();
        };
        let typed = field.text().trim().to_uppercase();
        let rank = |(code, name): &&(String, String)| match () {
            _ if typed.is_empty() => None,
            _ if code.starts_with(&typed) || name.to_uppercase() == typed => Some(0),
            _ if code.contains(&typed) || name.to_uppercase().contains(&typed) => Some(1),
            _ if pinyin::matches(name, &typed.to_lowercase()) => Some(2),
            _ => None,
        };
        let mut found: Vec<(usize, &(String, String))> =
            all.iter().filter_map(|one| Some((rank(&one)?, one))).collect();
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, one)| one).collect()
    }

    /// The trading days on the axis: those of the zoom around the marked document, or the last ones.
    fn window(&self, stock: &Stock) -> std::ops::Range<usize> {
        let there = |t: &usize| stock.states[*t] != DayState::Absent;
        let days = 0..stock.dates.len();
        let Some((first, last)) = days.clone().find(there).zip(days.clone().rfind(there)) else { return days };
        let (all, wide) = (first..last + 1, ZOOMS[self.zoom]);
        if wide == 0 || wide >= all.len() {
            return all;
        }
        let centre = stock.documents.get(self.cursor.at).and_then(|document| document.day).unwrap_or(last);
        let start = centre.saturating_sub(wide / 2).clamp(all.start, all.end - wide);
        start..start + wide
    }

    /// Goes to another stock of the list that led here.
    fn beside(&mut self, on: bool) {
        let count = self.wanted.codes.len();
        let at = if on { self.wanted.at + 1 } else { self.wanted.at + count.saturating_sub(1) } % count.max(1);
        self.show(WantedStock { codes: self.wanted.codes.clone(), at, document: None });
    }

    /// Shows the first stock that the document is linked to; goes back, and says so, where there is none.
    fn take_linked(&mut self, desk: &Desk<'_>) {
        let Some(found) = Errand::arrived(&mut self.linked) else { return };
        let WantedStock { document, .. } = self.wanted;
        let none = desk.say(words::NOT_LINKED).to_owned();
        let why = match found {
            Ok(codes) if !codes.is_empty() => {
                self.show(WantedStock { codes, at: 0, document });
                return self.shown(desk);
            }
            Ok(_) => none,
            Err(error) => error.to_string(),
        };
        self.wanted = WantedStock::default();
        desk.order(PageRequest::Show(self.from.unwrap_or(Page::Corpus)));
        desk.order(PageRequest::Say(why));
    }

    fn take(&mut self) {
        if let Some(list) = &mut self.list {
            list.look();
        }
        if !self.coming.as_mut().is_some_and(Errand::look) {
            return;
        }
        self.loaded = self.coming.take();
        let number = self.wanted.document.take();
        let Some(stock) = self.shown_stock() else { return };
        let wanted = number.and_then(|number| stock.documents.iter().position(|document| document.number == number));
        // A stock that was not shown before begins with its latest document.
        let last = stock.documents.len().saturating_sub(1);
        self.cursor.at = wanted.unwrap_or(if self.cursor == Cursor::default() { last } else { self.cursor.at });
    }
}

impl PageState for StockPage {
    fn reload(&mut self, _desk: &Desk<'_>) {
        (self.stale, self.list) = (true, None);
    }

    fn shown(&mut self, desk: &Desk<'_>) {
        let Some(bench) = &desk.workspace.stock else { return };
        if self.typing.is_some() && self.list.is_none() {
            let list = bench.list.clone();
            self.list = Some(desk.errand("stocks", move |ctx| list(ctx)));
        }
        if !std::mem::take(&mut self.stale) {
            return;
        }
        if let Some(number) = self.wanted.document.filter(|_| self.wanted.codes.is_empty()) {
            let find = bench.of_document.clone();
            self.linked = Some(desk.errand("stocks of a document", move |ctx| find(number, ctx)));
            return;
        }
        let factors = &desk.workspace.factors;
        self.factor = self.factor.take().filter(|name| factors.contains(name)).or_else(|| factors.first().cloned());
        let (read, factor) = (bench.read.clone(), self.factor.clone());
        let code = self.code().cloned();
        self.coming = code.map(|code| desk.errand("a stock", move |ctx| read(&code, factor.as_deref(), ctx)));
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, context: &PageContext<'_>) -> bool {
        let documents = self.shown_stock().map_or(0, |stock| stock.documents.len());
        match action {
            Action::ReadDocument => documents > 0,
            Action::EarlierDocument | Action::LaterDocument => documents > 1,
            Action::ZoomIn => self.shown_stock().is_some() && self.zoom + 1 < ZOOMS.len(),
            Action::ZoomOut => self.shown_stock().is_some() && self.zoom > 0,
            Action::OtherFactor => context.workspace.factors.len() > 1 && self.code().is_some(),
            Action::NextStock | Action::PreviousStock => self.wanted.codes.len() > 1,
            _ => true,
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        let count = self.shown_stock().map_or(0, |stock| stock.documents.len());
        match action {
            Action::Back => desk.order(PageRequest::Show(self.from.unwrap_or(Page::Corpus))),
            Action::ReadDocument => {
                if let Some(document) = self.shown_stock().and_then(|stock| stock.documents.get(self.cursor.at)) {
                    desk.order(PageRequest::ReadInCorpus(document.number));
                }
            }
            Action::EarlierDocument => self.cursor.step(Action::Up, count, 1),
            Action::LaterDocument => self.cursor.step(Action::Down, count, 1),
            Action::ZoomIn => self.zoom = (self.zoom + 1).min(ZOOMS.len() - 1),
            Action::ZoomOut => self.zoom = self.zoom.saturating_sub(1),
            Action::OtherFactor => {
                let factors = &desk.workspace.factors;
                let at = factors.iter().position(|name| Some(name) == self.factor.as_ref()).map_or(0, |at| at + 1);
                (self.factor, self.stale) = (factors.get(at % factors.len().max(1)).cloned(), true);
            }
            Action::FindStock => self.typing = Some(Field::default()),
            Action::NextStock | Action::PreviousStock => self.beside(action == Action::NextStock),
            _ => self.cursor.step(action, count, view::rows(area)),
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        self.take();
        self.take_linked(desk);
        if self.sought && self.list.as_ref().is_some_and(|list| !list.waiting()) {
            self.sought = false;
            self.show_first();
            self.shown(desk);
        }
        let count = self.shown_stock().map_or(0, |stock| stock.documents.len());
        self.cursor.arrange(count, view::rows(area));
    }

    fn waiting(&self) -> bool {
        self.coming.is_some() || self.linked.is_some() || self.list.as_ref().is_some_and(Errand::waiting)
    }

    fn is_typing(&self) -> bool {
        self.typing.is_some()
    }

    fn field(&mut self) -> Option<&mut Field> {
        self.typing.as_mut()
    }

    fn accept(&mut self, _desk: &Desk<'_>) {
        self.show_first();
    }

    fn leave_field(&mut self, desk: &Desk<'_>) {
        self.typing = None;
        if self.code().is_none() {
            desk.order(PageRequest::Show(self.from.unwrap_or(Page::Corpus)));
        }
    }

    fn can_go_back(&self) -> bool {
        true
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        let Some(stock) = self.shown_stock() else { return };
        let count = stock.documents.len();
        if let Some(t) = view::day_at(self, stock, at, area) {
            // The document whose day is nearest to the place on the axis.
            let off = |day: Option<usize>| day.map_or(usize::MAX, |day| day.abs_diff(t));
            let nearest = (0..count).min_by_key(|place| off(stock.documents[*place].day));
            self.cursor.at = nearest.unwrap_or(self.cursor.at);
        } else {
            self.cursor.click(at, view::list_area(area), count);
        }
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        Some(view::table(self.shown_stock()?, desk))
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        let factor = self.factor.as_ref().map(|factor| format!("--factor {}", quoted(factor))).unwrap_or_default();
        Some(desk.headless(&format!("stock {}", quoted(self.code()?)), &factor))
    }

    fn remember(&self) -> Value {
        let document = self.shown_stock().and_then(|stock| Some(stock.documents.get(self.cursor.at)?.number));
        let from = self.from.and_then(|from| Page::ALL.iter().position(|page| *page == from));
        match self.code() {
            Some(_) => json!({
                "codes": self.wanted.codes, "at": self.wanted.at, "document": document.or(self.wanted.document),
                "factor": self.factor, "zoom": ZOOMS[self.zoom], "from": from,
            }),
            None => Value::Null,
        }
    }

    fn recall(&mut self, memory: &Value) {
        let number = |name: &str| memory[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let codes: Vec<String> = serde_json::from_value(memory["codes"].clone()).unwrap_or_default();
        let document = number("document").and_then(|number| u32::try_from(number).ok());
        self.wanted = WantedStock { at: number("at").unwrap_or(0).min(codes.len().saturating_sub(1)), codes, document };
        self.factor = memory["factor"].as_str().map(str::to_owned);
        self.zoom = ZOOMS.iter().position(|zoom| Some(*zoom) == number("zoom")).unwrap_or(0);
        self.from = number("from").and_then(|from| Page::tabs().get(from)).copied();
    }
}
