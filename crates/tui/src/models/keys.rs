//! The commands of the page.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::Value;

use super::asked;
use super::bench::Tool;
use super::form::FormRow;
use super::plane;
use super::state::{Below, ModelsPage};
use super::view::{self, ModelPanes};
use crate::action::Action;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::field::Field;
use crate::kit::Zoom;
use crate::look;
use crate::page::{Chart, Table};
use crate::page_state::PageState;

/// The token for the end of a text.
pub(super) const END: &str = "</s>";

impl ModelsPage {
    /// Enter: the next step of whatever is below the list.
    fn go(&mut self, desk: &Desk<'_>) {
        match self.below {
            Below::Card => {
                if let Some(tool) = self.card().and_then(|card| card.tools.first().copied()) {
                    self.show(tool, desk);
                }
            }
            Below::Tool(tool) => match self.marked_word() {
                Some(word) if tool == Tool::Following => {
                    let spaced = self.card().is_some_and(|card| card.spaced);
                    let before = self.text(tool).text().trim_end();
                    let gap = if spaced && !before.is_empty() { " " } else { "" };
                    // After the end there is nothing to go on with.
                    if word != END {
                        *self.text_mut(tool) = Field::new(format!("{before}{gap}{word}"));
                        self.ask(desk);
                    }
                }
                Some(word) => {
                    *self.text_mut(Tool::Nearest) = Field::new(word);
                    self.below = Below::Tool(Tool::Nearest);
                    self.ask(desk);
                }
                None => self.typing = true,
            },
            Below::Form => self.start_when_checked(desk),
            Below::Course => self.leave_course(desk),
        }
    }

    fn begin_typing(&mut self, desk: &Desk<'_>) {
        match self.below {
            Below::Form => self.typing = self.form.type_in(),
            Below::Tool(tool) => {
                self.text_mut(tool).go_to_end();
                self.typing = true;
            }
            Below::Card => {
                if let Some(tool) = self.card().and_then(|card| card.tools.first().copied()) {
                    self.show(tool, desk);
                    self.typing = true;
                }
            }
            Below::Course => {}
        }
    }

    /// Goes to another model, and asks it the same if it can be asked.
    fn turn(&mut self, forward: bool, desk: &Desk<'_>) {
        let count = self.cards.len().max(1);
        self.cursor.at = (self.cursor.at + if forward { 1 } else { count - 1 }) % count;
        match self.tool() {
            Some(tool) if self.offers(tool) => self.ask(desk),
            Some(_) => self.below = Below::Card,
            None => {}
        }
    }

    fn step(&mut self, action: Action, area: Rect) {
        let ModelPanes { list, below } = view::panes(area, self.below, &self.zoom);
        match self.below {
            Below::Card => self.cursor.step(action, self.cards.len(), view::list_rows(list)),
            Below::Tool(_) => match self.shown_plane() {
                Some(plane) => {
                    let next = plane::next_word(plane, self.result.at, action, look::inside(below));
                    self.result.at = next.unwrap_or(self.result.at);
                }
                None => self.result.step(action, self.lines(below), view::result_rows(below)),
            },
            Below::Form => self.form.cursor.step(action, self.form.rows().len(), view::form_rows(below)),
            Below::Course => {}
        }
    }
}

impl PageState for ModelsPage {
    fn reload(&mut self, desk: &Desk<'_>) {
        self.look_at_course();
        if let Some(bench) = &desk.workspace.models {
            self.list_anew(bench, desk);
        }
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, context: &PageContext<'_>) -> bool {
        match action {
            Action::AskModel => self.can_go(),
            Action::Type => self.can_type(),
            Action::Train => context.workspace.models.is_some(),
            Action::Nearest => self.offers(Tool::Nearest),
            Action::Analogy => self.offers(Tool::Analogy),
            Action::Plane => self.offers(Tool::Plane),
            Action::Following => self.offers(Tool::Following),
            Action::Surprise => self.offers(Tool::Surprise),
            Action::NextChoice | Action::PreviousChoice => {
                let chooses = self.below == Below::Form && self.form.chooses(self.form.row());
                chooses || self.shown_plane().is_some()
            }
            Action::ZoomIn => self.shown_plane().is_some() && self.plane_view.can_zoom(true),
            Action::ZoomOut => self.shown_plane().is_some() && self.plane_view.can_zoom(false),
            Action::ColourPlane => self.shown_plane().is_some(),
            Action::KeepCurve => {
                self.below == Below::Course && self.course.as_ref().is_some_and(|course| course.curve.len() > 1)
            }
            _ => self.cards.len() > 1 && matches!(self.below, Below::Card | Below::Tool(_)),
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        match action {
            Action::KeepCurve => self.keep_curve(),
            Action::AskModel => self.go(desk),
            Action::Type => self.begin_typing(desk),
            Action::Train => self.open_training(desk),
            Action::Nearest => self.show(Tool::Nearest, desk),
            Action::Analogy => self.show(Tool::Analogy, desk),
            Action::Plane => self.show(Tool::Plane, desk),
            Action::Following => self.show(Tool::Following, desk),
            Action::Surprise => self.show(Tool::Surprise, desk),
            Action::ZoomIn | Action::ZoomOut => self.plane_view.zoom(action == Action::ZoomIn),
            Action::ColourPlane => self.plane_view.colours = self.plane_view.colours.next(),
            Action::NextChoice | Action::PreviousChoice if self.shown_plane().is_some() => self.step(action, area),
            Action::NextChoice => self.choose(true, desk),
            Action::PreviousChoice => self.choose(false, desk),
            Action::NextModel => self.turn(true, desk),
            Action::PreviousModel => self.turn(false, desk),
            Action::Back => {
                self.below = Below::Card;
                self.asked = None;
            }
            _ => self.step(action, area),
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        self.take();
        self.look_at_form(desk);
        self.look_at_course();
        let ModelPanes { list, below } = view::panes(area, self.below, &self.zoom);
        self.cursor.arrange(self.cards.len(), view::list_rows(list));
        self.result.arrange(self.lines(below), view::result_rows(below));
        self.form.cursor.arrange(self.form.rows().len(), view::form_rows(below));
    }

    fn waiting(&self) -> bool {
        let listing = self.list.as_ref().is_some_and(Errand::waiting);
        listing || self.is_asking() || self.form.checked.as_ref().is_some_and(Errand::waiting)
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom)
    }

    fn is_typing(&self) -> bool {
        self.typing
    }

    fn field(&mut self) -> Option<&mut Field> {
        match self.below {
            _ if !self.typing => None,
            Below::Tool(tool) => Some(self.text_mut(tool)),
            Below::Form => {
                let row = self.form.row();
                self.form.field(row)
            }
            Below::Card | Below::Course => None,
        }
    }

    fn typed(&mut self, desk: &Desk<'_>) {
        self.shorten(desk);
    }

    fn accept(&mut self, desk: &Desk<'_>) {
        self.typing = false;
        match self.below {
            Below::Form => {
                self.form.end_typing(true);
                if let Some(bench) = &desk.workspace.models {
                    self.form.propose(bench, &self.cards);
                }
                self.check(desk);
                // A form that is filled in line by line goes on with the next line.
                if self.form.row() != FormRow::Output {
                    self.form.cursor.at += 1;
                }
            }
            _ => self.ask(desk),
        }
    }

    fn leave_field(&mut self, desk: &Desk<'_>) {
        self.typing = false;
        if self.below == Below::Form {
            self.form.end_typing(false);
            self.check(desk);
        }
    }

    fn can_go_back(&self) -> bool {
        self.below != Below::Card
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        let ModelPanes { list, below } = view::panes(area, self.below, &self.zoom);
        if list.contains(at) {
            if self.cursor.click(at, look::inside(list), self.cards.len()) {
                self.below = Below::Card;
                self.typing = false;
            }
        } else if below.contains(at) && !self.typing {
            let inner = look::inside(below);
            match self.below {
                Below::Form => {
                    // The form has no line of titles.
                    let lines = Rect { y: inner.y.saturating_sub(1), height: inner.height + 1, ..inner };
                    let count = self.form.rows().len();
                    self.form.cursor.click(at, lines, count);
                }
                Below::Tool(_) if self.marked_word().is_some() && self.shown_plane().is_none() => {
                    let above = view::ABOVE_RESULTS;
                    let lines = Rect { y: inner.y + above, height: inner.height.saturating_sub(above), ..inner };
                    let count = self.lines(below);
                    self.result.click(at, lines, count);
                }
                Below::Card | Below::Course | Below::Tool(_) => {}
            }
        }
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        match self.answer() {
            Some(answer) => Some(asked::table(answer, desk.language)),
            None => (!self.cards.is_empty()).then(|| view::list_table(&self.cards, desk.language)),
        }
    }

    fn charts(&self, _desk: &Desk<'_>) -> Vec<Chart> {
        match self.answer() {
            Some(super::Answer::Plane(plane)) => {
                vec![Chart { name: "projection".to_owned(), svg: plane.svg.clone() }]
            }
            _ => Vec::new(),
        }
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        self.training(desk).or_else(|| {
            let (asked, card) = (self.asked.as_ref().filter(|_| self.tool().is_some())?, self.card()?);
            Some(asked::command(card, &asked.question, self.answer()))
        })
    }

    fn remember(&self) -> Value {
        self.memory()
    }

    fn recall(&mut self, memory: &Value) {
        self.begin_with(memory);
    }
}
