//! The page of one text: several tokenisers side by side, their offsets in step, and what strategies of truncation keep of it.
//!
//! The cursor is a byte of the text. The tokeniser in focus says which token it is in; all others show the tokens that share its bytes.
//! Limits of strategies count the tokens of the tokeniser in focus.

mod bench;
mod cuts;
mod extent;
mod lines;
mod list;
mod memory;
#[cfg(test)]
mod screens;
mod shown;
mod source;
mod strategies;
mod strips;
mod table;
mod view;
mod words;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::Value;

pub use bench::{About, Described, Score, TextBench, TextCut, TextStrategy, TextSubject, Tokens, Tradable};

use self::shown::ShownText;
use self::source::{FoundText, Goal};
use self::strategies::{BUDGETS, From, ListedStrategy};
use super::action::Action;
use super::context::PageContext;
use super::corpus::Shelf;
use super::desk::{Desk, PageRequest};
use super::errand::Errand;
use super::field::Field;
use super::kit::Zoom;
use super::list::Cursor;
use super::look;
use super::page::{Table, WantedStock, turns};
use super::page_state::{PageState, WHEEL_LINES};
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};

#[derive(Default)]
pub struct TextPage {
    goal: Goal,
    /// The content shown again when the user's own text is left.
    before: Option<Goal>,
    /// True if the goal is still to be read.
    stale: bool,
    asked: Option<Errand<Option<FoundText>>>,
    shown: Option<ShownText>,
    /// Tokens of texts that were left before they had come. Nothing new is cut before these have ended, so that however fast somebody
    /// goes through a corpus, no more threads are at work than there are tokenisers.
    left: Vec<Errand<Arc<Tokens>>>,
    /// The byte at which the cursor starts in the text asked for.
    at: usize,
    focus: TextFocus,
    zoom: Zoom,
    tokeniser: usize,
    /// The line of the list of strategies.
    strategy: Cursor,
    /// Numbers of the documents that page 1 listed, in its order; none where it listed the corpus as it is.
    among: Option<Arc<[u32]>>,
    /// Documents that were read lately, with their part.
    shelf: Shelf,
    /// Which of [`BUDGETS`].
    budget: usize,
    /// Strategies of the user's own, as he typed them.
    own: Vec<String>,
    typing: Option<Typing>,
    /// The strategy to be selected as soon as it is listed.
    wanted: Option<String>,
}

turns! {
    enum TextFocus {
        #[default]
        Text = "text",
        Cuts = "cuts",
        Strategies = "strategies",
    }
}

struct Typing {
    field: Field,
    what: TypingFor,
    /// Fault of the setting: the reason, and the values that are allowed.
    fault: Option<(Message, Message)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypingFor {
    /// Text to be cut in place of a document.
    Text,
    Strategy,
}

impl TextPage {
    /// Reads this document of the corpus: part and row. The keys to other documents go along `among`, if it is given.
    pub fn read(&mut self, part: usize, row: usize, among: Option<Arc<[u32]>>) {
        self.go(Goal::Place(part, row));
        (self.before, self.among) = (None, among);
    }

    fn go(&mut self, goal: Goal) {
        (self.goal, self.stale, self.at) = (goal, true, 0);
    }

    fn selected(&self) -> Option<&ListedStrategy> {
        self.shown.as_ref()?.listed.get(self.strategy.at)
    }

    fn turn(&mut self, forward: bool, desk: &Desk<'_>) {
        let Some(shown) = &self.shown else { return };
        // While a document is being read, the way goes on from there.
        let from = if let Goal::Number(number) = self.goal { number } else { shown.number };
        let step = |at: usize| if forward { at.checked_add(1) } else { at.checked_sub(1) };
        let to = match self.list_with(from) {
            Some((list, at)) => step(at).and_then(|at| Some(*list.get(at)? as usize)),
            None => step(from),
        };
        match to.filter(|to| *to < shown.count) {
            Some(to) => self.go(Goal::Number(to)),
            None => desk.order(PageRequest::Say(desk.say(super::words::NO_OTHER_DOCUMENT).to_owned())),
        }
    }

    /// The documents that page 1 listed, and the place of a document in them; none where it is not among them.
    fn list_with(&self, number: usize) -> Option<(&[u32], usize)> {
        let list = self.among.as_deref()?;
        Some((list, list.iter().position(|other| *other as usize == number)?))
    }

    fn open_field(&mut self, what: TypingFor) {
        let field = match (what, &self.goal) {
            (TypingFor::Text, Goal::Own(text)) => Field::of_lines(text),
            (TypingFor::Text, _) => Field::of_lines(""),
            (TypingFor::Strategy, _) => Field::default(),
        };
        self.typing = Some(Typing { field, what, fault: None });
        self.focus = if what == TypingFor::Strategy { TextFocus::Strategies } else { self.focus };
    }

    fn add_strategy(&mut self, text: &str, desk: &Desk<'_>) {
        let Ok(strategy) = strategies::parse(text, BUDGETS[self.budget]) else { return };
        let listed = self.shown.as_ref().map_or(&[][..], |shown| &shown.listed);
        match listed.iter().position(|listed| listed.strategy == strategy) {
            Some(there) => {
                self.strategy.at = there;
                desk.order(PageRequest::Say(format!("{strategy}: {}", desk.say(words::ALREADY))));
            }
            None => {
                self.own.push(text.trim().to_owned());
                self.wanted = Some(strategy.to_string());
            }
        }
        self.typing = None;
    }

    fn drop_strategy(&mut self) {
        let Some(From::Own(number)) = self.selected().map(|listed| listed.from) else { return };
        self.own.remove(number);
    }

    /// Lists the strategies anew; the one selected stays the one selected.
    fn try_out(&mut self, bench: &TextBench, desk: &Desk<'_>) {
        let Some(shown) = &mut self.shown else { return };
        let listed = strategies::listed(&shown.about, &self.own, &bench.strategies, BUDGETS[self.budget]);
        shown.try_out(listed, self.tokeniser, bench, desk);
        if let Some(name) = self.wanted.take()
            && let Some(at) = shown.listed.iter().position(|listed| listed.strategy.to_string() == name)
        {
            self.strategy.at = at;
        }
        self.strategy.at = self.strategy.at.min(shown.listed.len().saturating_sub(1));
    }
}

impl PageState for TextPage {
    fn reload(&mut self, _desk: &Desk<'_>) {
        self.at = self.shown.as_ref().map_or(self.at, |shown| shown.at);
        self.stale = true;
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, context: &PageContext<'_>) -> bool {
        let tokens = self.shown.as_ref().and_then(|shown| shown.tokens(self.tokeniser));
        match action {
            Action::NextToken | Action::PreviousToken => tokens.is_some_and(|tokens| !tokens.ranges.is_empty()),
            Action::DocumentAfter | Action::DocumentBefore => self.shown.as_ref().is_some_and(|shown| shown.count > 1),
            Action::OwnText => context.workspace.text.is_some(),
            Action::DropStrategy => self.selected().is_some_and(|listed| matches!(listed.from, From::Own(_))),
            _ => self.shown.is_some(),
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        let [text, _, list] = view::panes(area, self);
        match action {
            Action::DocumentAfter => self.turn(true, desk),
            Action::DocumentBefore => self.turn(false, desk),
            Action::OwnText => self.open_field(TypingFor::Text),
            Action::AddStrategy => self.open_field(TypingFor::Strategy),
            Action::DropStrategy => self.drop_strategy(),
            Action::Focus => self.focus = self.focus.next(),
            Action::Tokeniser => {
                let count = desk.workspace.text.as_ref().map_or(1, |bench| bench.tokenisers.len().max(1));
                self.tokeniser = (self.tokeniser + 1) % count;
            }
            Action::Budget => self.budget = (self.budget + 1) % BUDGETS.len(),
            Action::Back => match self.before.take() {
                Some(goal) => self.go(goal),
                None => self.focus = TextFocus::Text,
            },
            Action::NextToken | Action::PreviousToken => {
                if let Some(shown) = &mut self.shown {
                    shown.step(action == Action::NextToken, self.tokeniser);
                }
            }
            _ if self.focus == TextFocus::Strategies => {
                let count = self.shown.as_ref().map_or(0, |shown| shown.listed.len());
                self.strategy.step(action, count, list::rows(list));
            }
            _ => {
                if let Some(shown) = &mut self.shown {
                    shown.scroll(action, view::text_rows(text));
                }
            }
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        let Some(bench) = &desk.workspace.text else { return };
        self.tokeniser = self.tokeniser.min(bench.tokenisers.len().saturating_sub(1));
        // One text is read at a time; what was passed over meanwhile is never read.
        if self.asked.as_mut().is_some_and(Errand::look) {
            // The text of before stays in sight until the new one comes; an old error would be taken for the new one's.
            let found = self.asked.as_mut().and_then(|asked| asked.get_mut()).and_then(Option::take);
            let shown = found.map(|found| ShownText::new(found, self.at));
            if let Some(before) = std::mem::replace(&mut self.shown, shown) {
                self.left.extend(before.cuts);
            }
        }
        if self.stale && !self.asked.as_ref().is_some_and(Errand::waiting) {
            self.stale = false;
            let (goal, workspace, bench) = (self.goal.clone(), desk.workspace.clone(), bench.clone());
            let shelf = self.shelf.clone();
            let find = move |ctx: &Ctx| source::find(&goal, &workspace, &bench, &shelf, ctx);
            self.asked = Some(desk.errand("read a text", find));
        }
        self.left.retain_mut(|cut| !cut.look() && cut.waiting());
        let passing = self.asked.as_ref().is_some_and(Errand::waiting);
        if let Some(shown) = self.shown.as_mut().filter(|_| self.left.is_empty() && !passing) {
            shown.cut(bench, desk);
        }
        self.try_out(bench, desk);
        let [text, _, list] = view::panes(area, self);
        self.strategy.arrange(self.shown.as_ref().map_or(0, |shown| shown.listed.len()), list::rows(list));
        let seen = if text.is_empty() { area } else { text };
        let size = (view::text_width(seen), view::text_rows(seen));
        if let Some(shown) = &mut self.shown {
            shown.arrange(self.tokeniser, size, bench, desk);
            // Tokens that have just come are counted at once.
            self.try_out(bench, desk);
        }
    }

    fn waiting(&self) -> bool {
        let reading = self.asked.as_ref().is_some_and(Errand::waiting);
        reading || !self.left.is_empty() || self.shown.as_ref().is_some_and(|shown| shown.waiting(self.tokeniser))
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom)
    }

    fn is_typing(&self) -> bool {
        self.typing.is_some()
    }

    fn field(&mut self) -> Option<&mut Field> {
        self.typing.as_mut().map(|typing| &mut typing.field)
    }

    fn typed(&mut self, _desk: &Desk<'_>) {
        let Some(typing) = self.typing.as_mut().filter(|typing| typing.what == TypingFor::Strategy) else { return };
        let text = typing.field.text().trim();
        let read = if text.is_empty() { Ok(()) } else { strategies::parse(text, BUDGETS[self.budget]).map(drop) };
        typing.fault = read.err().map(|error| {
            let mut causes = Message::causes_of(&error).into_iter();
            let known = causes.next().unwrap_or_default();
            (Message::joined(causes, Word("：", ": ")), known)
        });
    }

    fn accept(&mut self, desk: &Desk<'_>) {
        let Some(typing) = &self.typing else { return };
        let text = typing.field.lines();
        match typing.what {
            _ if text.trim().is_empty() => self.typing = None,
            TypingFor::Text => {
                if !matches!(self.goal, Goal::Own(_)) {
                    let place = self.shown.as_ref().and_then(|shown| shown.place);
                    self.before = Some(place.map_or(self.goal.clone(), |(part, row)| Goal::Place(part, row)));
                }
                self.typing = None;
                self.go(Goal::Own(text));
            }
            // The error already stands below the field.
            TypingFor::Strategy => self.add_strategy(&text, desk),
        }
    }

    fn leave_field(&mut self, _desk: &Desk<'_>) {
        self.typing = None;
    }

    fn can_go_back(&self) -> bool {
        self.before.is_some() || self.focus != TextFocus::Text
    }

    fn click(&mut self, at: Position, area: Rect, desk: &Desk<'_>) {
        let [text, cuts, list] = view::panes(area, self);
        let Some(shown) = &mut self.shown else { return };
        if list.contains(at) {
            self.focus = TextFocus::Strategies;
            self.strategy.click(at, look::inside(list), shown.listed.len());
        } else if cuts.contains(at) {
            self.focus = TextFocus::Cuts;
            let count = desk.workspace.text.as_ref().map_or(0, |bench| bench.tokenisers.len());
            if let Some(tokeniser) = strips::strip_at(cuts, self.tokeniser, count, at) {
                self.tokeniser = tokeniser;
            }
        } else if text.contains(at) {
            self.focus = TextFocus::Text;
            let body = look::inside(text);
            if body.contains(at) {
                let cell = (at.x - body.x) as usize;
                shown.point(shown.top + (at.y - body.y) as usize, cell.saturating_sub(lines::GUTTER));
            }
        }
    }

    fn wheel(&mut self, at: Position, down: bool, area: Rect, _desk: &Desk<'_>) {
        let [text, _, list] = view::panes(area, self);
        let step = if down { Action::Down } else { Action::Up };
        let Some(shown) = &mut self.shown else { return };
        for _ in 0..WHEEL_LINES {
            if list.contains(at) {
                self.strategy.step(step, shown.listed.len(), list::rows(list));
            } else {
                shown.scroll(step, view::text_rows(text));
            }
        }
    }

    fn document(&self) -> Option<(String, String)> {
        let subject = &self.shown.as_ref()?.subject;
        Some((subject.text.clone(), subject.document.doc_id.clone()))
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        let shown = self.shown.as_ref()?;
        match self.focus {
            TextFocus::Strategies => table::of_strategies(shown, desk),
            TextFocus::Text | TextFocus::Cuts => table::of_tokens(shown, self.tokeniser, desk),
        }
    }

    fn stock(&self) -> Option<WantedStock> {
        let shown = self.shown.as_ref().filter(|shown| shown.place.is_some())?;
        let codes: Vec<String> = shown.subject.document.codes.iter().map(|code| code.to_string()).collect();
        Some(WantedStock { codes, at: 0, document: u32::try_from(shown.number).ok() })
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        let tokeniser = desk.workspace.text.as_ref()?.tokenisers.get(self.tokeniser)?;
        let mut command = format!("inkstone tokenize {}", tokeniser.flags);
        // Sections, windows and salience need a project; a line of text is cut by places alone.
        if let Some(place) = self.selected().and_then(|listed| listed.strategy.place()) {
            command += &format!(" --truncate {place}");
            let specials = self.shown.as_ref().and_then(|shown| shown.tokens(self.tokeniser));
            if let Some(tokens) = specials {
                command += &format!(" --specials {}", tokens.specials);
            }
        }
        Some(command)
    }

    fn remember(&self) -> Value {
        memory::kept(self)
    }

    fn recall(&mut self, memory: &Value) {
        memory::put_back(self, memory);
    }
}
