//! The page of experiments: the cells of an experiment with their frontier, and one document as strategies cut it.

mod list;
mod page;
#[cfg(test)]
mod screens;
mod text;

use ratatui::layout::Rect;

pub(crate) use list::draw;

use super::commands::Action;
use super::desk::{Desk, Order, Work};
use super::page::PageState;
use super::reading::{Reading, Request};
use super::{Truncated, words};
use crate::experiment::Findings;
use crate::report::best_first;

/// State of the page.
#[derive(Default)]
pub(crate) struct Experiments {
    asked: bool,
    loaded: Option<Result<Vec<Findings>, String>>,
    /// The experiment shown.
    selected: usize,
    /// Numbers of its cells as listed, the best first.
    order: Vec<usize>,
    cursor: usize,
    top: usize,
    open: Option<Open>,
}

/// The document that is looked at.
#[derive(Default)]
struct Open {
    /// Its number in the experiment.
    number: usize,
    /// What was read of it; `None` inside: there is no such document.
    document: Option<Result<Option<Box<Truncated>>, String>>,
    /// The strategy looked at, by its place in the document's list; `None`: that of the cell selected.
    strategy: Option<usize>,
    /// Its text in lines of the columns' width.
    lines: Vec<text::TextLine>,
    /// The width for which it was laid out.
    laid_out: Option<usize>,
    scroll: usize,
}

impl Open {
    fn truncated(&self) -> Option<&Truncated> {
        self.document.as_ref()?.as_ref().ok()?.as_deref()
    }
}

impl Experiments {
    /// Takes in the findings.
    pub(crate) fn take(&mut self, findings: Result<Vec<Findings>, String>) {
        let name = self.findings().map(|findings| findings.name.clone());
        self.loaded = Some(findings);
        // The experiment that was shown stays the one shown.
        let all = self.all();
        self.selected = all.iter().position(|findings| Some(&findings.name) == name.as_ref()).unwrap_or(0);
        self.sort();
    }

    /// Takes in a document, unless another has been asked for since.
    pub(crate) fn take_document(
        &mut self,
        name: &str,
        number: usize,
        document: Result<Option<Box<Truncated>>, String>,
    ) {
        let shown = self.findings().is_some_and(|findings| findings.name == name);
        let wanted = self.order.get(self.cursor).copied();
        let order = self.order.clone();
        let Some(open) = self.open.as_mut().filter(|open| shown && open.number == number) else { return };
        open.document = Some(document.map(|found| {
            found.map(|mut truncated| {
                let place = |cell: usize| order.iter().position(|c| *c == cell).unwrap_or(usize::MAX);
                truncated.strategies.sort_by_key(|kept| place(kept.cell));
                truncated
            })
        }));
        let strategies = open.truncated().map_or(&[][..], |truncated| &truncated.strategies);
        let at = strategies.iter().position(|kept| Some(kept.cell) == wanted).unwrap_or(0);
        let last = strategies.len().saturating_sub(1);
        open.strategy = Some(open.strategy.map_or(at, |strategy| strategy.min(last)));
        (open.laid_out, open.scroll) = (None, 0);
    }

    fn all(&self) -> &[Findings] {
        self.loaded.as_ref().and_then(|loaded| loaded.as_ref().ok()).map_or(&[], Vec::as_slice)
    }

    /// The experiment shown.
    fn findings(&self) -> Option<&Findings> {
        self.all().get(self.selected)
    }

    fn sort(&mut self) {
        self.order = self.findings().map(best_first).unwrap_or_default();
        self.cursor = self.cursor.min(self.order.len().saturating_sub(1));
    }

    /// Whether the selected cell can be looked at in a document.
    pub(crate) fn can_open(&self) -> bool {
        self.open.is_none() && !self.order.is_empty()
    }

    /// Whether there is another experiment, or another document, to go to.
    pub(crate) fn has_next(&self) -> bool {
        match &self.open {
            Some(open) => open.truncated().is_some_and(|truncated| truncated.documents > 1),
            None => self.all().len() > 1,
        }
    }

    /// Asks for a document.
    fn show(&mut self, number: usize, strategy: Option<usize>, reading: &Reading) {
        let Some(name) = self.findings().map(|findings| findings.name.clone()) else { return };
        self.open = Some(Open { number, strategy, ..Open::default() });
        reading.ask(Request::Truncated(name, number));
    }

    fn step(&mut self, action: Action, page: Rect) {
        let rows = list::rows(page).max(1);
        self.cursor = match action {
            Action::Down => self.cursor + 1,
            Action::Up => self.cursor.saturating_sub(1),
            Action::PageDown => self.cursor + rows,
            Action::PageUp => self.cursor.saturating_sub(rows),
            Action::First => 0,
            Action::Last => usize::MAX,
            _ => self.cursor,
        }
        .min(self.order.len().saturating_sub(1));
    }
}

impl PageState for Experiments {
    fn reload(&mut self, desk: &Desk<'_>) {
        self.asked = desk.workspace.laboratory.is_some();
        if self.asked {
            desk.reading.ask(Request::Findings);
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        match (action, &mut self.open) {
            (Action::RunExperiments, _) => {
                let Some(laboratory) = &desk.workspace.laboratory else { return };
                let name = desk.say(words::EXPERIMENTS).to_owned();
                let run = laboratory.run.clone();
                let command = desk.workspace.command.clone();
                desk.order(Order::Start(Work { name, command, writes: true, run }));
            }
            (Action::OpenDocument, None) => self.show(0, None, desk.reading),
            (Action::Back, Some(_)) => self.open = None,
            (Action::Next | Action::Previous, Some(open)) => {
                let documents = open.truncated().map_or(0, |truncated| truncated.documents);
                let (number, strategy) = (open.number, open.strategy);
                let to = if action == Action::Next { number + 1 } else { number.wrapping_sub(1) };
                if to >= documents {
                    return desk.order(Order::Say(desk.say(words::NO_OTHER_DOCUMENT).to_owned()));
                }
                self.show(to, strategy, desk.reading);
            }
            (Action::Next | Action::Previous, None) => {
                let count = self.all().len().max(1);
                let step = if action == Action::Next { 1 } else { count - 1 };
                self.selected = (self.selected + step) % count;
                self.sort();
            }
            (_, Some(open)) => open.step(action, area),
            (_, None) => self.step(action, area),
        }
    }

    fn arrange(&mut self, area: Rect, _desk: &Desk<'_>) {
        let rows = list::rows(area).max(1);
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(rows), self.cursor);
        if let Some(open) = &mut self.open {
            open.arrange(area);
        }
    }

    fn waiting(&self) -> bool {
        self.asked && self.loaded.is_none() || self.open.as_ref().is_some_and(|open| open.document.is_none())
    }

    fn can_go_back(&self) -> bool {
        self.open.is_some()
    }
}

impl Open {
    fn step(&mut self, action: Action, page: Rect) {
        let rows = page::rows(page).max(1);
        let strategies = self.truncated().map_or(0, |truncated| truncated.strategies.len());
        match action {
            Action::Down => self.scroll += 1,
            Action::Up => self.scroll = self.scroll.saturating_sub(1),
            Action::PageDown => self.scroll += rows,
            Action::PageUp => self.scroll = self.scroll.saturating_sub(rows),
            Action::First => self.scroll = 0,
            Action::Last => self.scroll = self.lines.len(),
            Action::NextStrategy => self.strategy = self.strategy.map(|at| (at + 1).min(strategies.saturating_sub(1))),
            Action::PreviousStrategy => self.strategy = self.strategy.map(|at| at.saturating_sub(1)),
            _ => {}
        }
    }

    fn arrange(&mut self, page: Rect) {
        let Some(truncated) = self.truncated() else { return };
        let columns = page::columns(page.width, truncated.strategies.len());
        let width = page::text_width(page, columns);
        if self.laid_out != Some(width) {
            self.lines = text::lay_out(&truncated.text, width);
            self.laid_out = Some(width);
        }
        self.scroll = self.scroll.min(self.lines.len().saturating_sub(page::rows(page)));
    }
}
