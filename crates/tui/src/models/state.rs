//! The state of the page.

use std::path::PathBuf;

use ratatui::layout::Rect;
use serde_json::Value;

use super::asked::{self, LONGEST};
use super::bench::{Answer, AskModel, ModelBench, ModelCard, Plane, PlaneMethod, Question, Tool};
use super::course::{Course, KeptCurve};
use super::form::Form;
use super::plane::PlaneView;
use super::{view, words};
use crate::desk::{Desk, PageRequest};
use crate::errand::Errand;
use crate::field::Field;
use crate::kit::Zoom;
use crate::list::Cursor;

/// The pane below the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Below {
    #[default]
    Card,
    Tool(Tool),
    Form,
    /// The training under way, or how it ended.
    Course,
}

/// A question on its way, and the model that it goes to.
pub(super) struct Asked {
    path: PathBuf,
    pub(super) question: Question,
    answer: Errand<ModelAnswer>,
}

/// A model ready for the next question, and its answer.
struct ModelAnswer {
    model: AskModel,
    answer: Answer,
}

#[derive(Default)]
pub struct ModelsPage {
    pub(super) list: Option<Errand<Vec<ModelCard>>>,
    /// The files as last listed: they stay while a new list is on its way.
    pub(super) cards: Vec<ModelCard>,
    pub(super) cursor: Cursor,
    pub(super) below: Below,
    pub(super) zoom: Zoom,
    /// The text typed for each tool.
    fields: [Field; 5],
    pub(super) typing: bool,
    pub(super) asked: Option<Asked>,
    /// The model that was asked last, and its file.
    opened: Option<(PathBuf, AskModel)>,
    /// The line of the answer that is marked, or the first one seen.
    pub(super) result: Cursor,
    /// The way words are laid into the plane.
    pub(super) plane_by: PlaneMethod,
    pub(super) plane_view: PlaneView,
    pub(super) form: Form,
    pub(super) course: Option<Course>,
    /// The curve of an earlier training, to see another one beside it.
    pub(super) kept: Option<KeptCurve>,
    /// The file to mark when the list comes.
    pub(super) wanted: Option<PathBuf>,
}

impl ModelsPage {
    pub(super) fn card(&self) -> Option<&ModelCard> {
        self.cards.get(self.cursor.at)
    }

    pub(super) fn tool(&self) -> Option<Tool> {
        match self.below {
            Below::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// True if the marked model can be asked so; not from within a form, whose keys should not lead out of it.
    pub(crate) fn offers(&self, tool: Tool) -> bool {
        let asks = matches!(self.below, Below::Card | Below::Tool(_));
        asks && self.card().is_some_and(|card| card.tools.contains(&tool))
    }

    pub(crate) fn can_go(&self) -> bool {
        match self.below {
            Below::Card => self.card().is_some_and(|card| !card.tools.is_empty()),
            Below::Tool(_) => self.marked_word().is_some() || self.answer().is_none(),
            Below::Form => true,
            Below::Course => self.course.as_ref().is_some_and(|course| course.end.is_some()),
        }
    }

    pub(crate) fn can_type(&self) -> bool {
        match self.below {
            Below::Card => self.card().is_some_and(|card| !card.tools.is_empty()),
            Below::Tool(_) => true,
            Below::Form => self.form.types(self.form.row()),
            Below::Course => false,
        }
    }

    /// The plane, where it is shown.
    pub(super) fn shown_plane(&self) -> Option<&Plane> {
        match self.answer() {
            Some(Answer::Plane(plane)) => Some(plane),
            _ => None,
        }
    }

    pub(super) fn text(&self, tool: Tool) -> &Field {
        &self.fields[tool as usize]
    }

    pub(super) fn text_mut(&mut self, tool: Tool) -> &mut Field {
        &mut self.fields[tool as usize]
    }

    /// The answer to the present question, once it is there.
    pub(super) fn answer(&self) -> Option<&Answer> {
        let asked = self.asked.as_ref().filter(|_| self.tool().is_some())?;
        asked.answer.get().map(|answered| &answered.answer)
    }

    pub(super) fn fault(&self) -> Option<&str> {
        self.asked.as_ref()?.answer.fault()
    }

    pub(super) fn is_asking(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.answer.waiting())
    }

    /// Words of the answer that can be marked, to be asked for or gone on with.
    fn words(&self) -> Vec<&str> {
        match self.answer() {
            Some(Answer::Near { words, .. }) => words.iter().map(|(word, _)| word.as_str()).collect(),
            Some(Answer::Unknown(_, alike)) => alike.iter().map(String::as_str).collect(),
            Some(Answer::Following { next, .. }) => next.iter().map(|(word, _)| word.as_str()).collect(),
            Some(Answer::Plane(plane)) => plane.points.iter().map(|(word, _)| word.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// The word that is marked among the answers.
    pub(super) fn marked_word(&self) -> Option<String> {
        self.words().get(self.result.at).map(|word| (*word).to_owned())
    }

    /// Lines of the answer: of words, or of a text in a pane so wide.
    pub(super) fn lines(&self, area: Rect) -> usize {
        match self.answer() {
            Some(Answer::Surprise(tokens)) => view::heat_rows(tokens, area).saturating_sub(view::heat_room(area)) + 1,
            _ => self.words().len(),
        }
    }

    /// Shows a tool; it is asked at once if something is typed for it, or nothing is needed. Its line opens with the old text selected; the
    /// plane has words without any text, and its line stays closed.
    pub(super) fn show(&mut self, tool: Tool, desk: &Desk<'_>) {
        if self.offers(tool) {
            if tool == Tool::Plane && self.tool() == Some(Tool::Plane) {
                self.plane_by = match self.plane_by {
                    PlaneMethod::Pca => PlaneMethod::Tsne,
                    PlaneMethod::Tsne => PlaneMethod::Pca,
                };
            }
            self.below = Below::Tool(tool);
            self.asked = None;
            self.ask(desk);
            self.text_mut(tool).select_all();
            self.typing = tool != Tool::Plane;
        }
    }

    /// Asks the marked model what is typed.
    pub(super) fn ask(&mut self, desk: &Desk<'_>) {
        let (Some(tool), Some(bench)) = (self.tool(), &desk.workspace.models) else { return };
        let Some(card) = self.card().filter(|card| card.tools.contains(&tool)) else {
            self.asked = None;
            return;
        };
        let question = match asked::question(tool, self.text(tool).text(), self.plane_by) {
            Ok(Some(question)) => question,
            Ok(None) => {
                self.asked = None;
                return;
            }
            Err(why) => return desk.order(PageRequest::Say(desk.say(why).to_owned())),
        };
        let path = card.path.clone();
        let known = self.opened.as_ref().filter(|(of, _)| *of == path).map(|(_, model)| model.clone());
        if known.is_none() {
            // One model at a time: the old one goes before the new one comes.
            self.opened = None;
        }
        let (open, file, put) = (bench.open.clone(), path.clone(), question.clone());
        let answer = desk.errand("model", move |ctx| {
            let model = match known {
                Some(model) => model,
                None => open(&file, ctx)?,
            };
            let answer = model(&put, ctx)?;
            Ok(ModelAnswer { model, answer })
        });
        self.asked = Some(Asked { path, question, answer });
        self.result = Cursor::default();
    }

    pub(super) fn take(&mut self) {
        let marked = self.card().map(|card| card.path.clone());
        if let Some(list) = &mut self.list
            && list.look()
            && let Some(cards) = list.get()
        {
            self.cards.clone_from(cards);
            let at = |path: PathBuf| self.cards.iter().position(|card| card.path == path);
            self.cursor.at = self.wanted.take().and_then(at).or_else(|| at(marked?)).unwrap_or(0);
        }
        if let Some(asked) = &mut self.asked
            && asked.answer.look()
            && let Some(answered) = asked.answer.get()
        {
            self.opened = Some((asked.path.clone(), answered.model.clone()));
        }
    }

    pub(super) fn list_anew(&mut self, bench: &ModelBench, desk: &Desk<'_>) {
        let list = bench.list.clone();
        self.list = Some(desk.errand("models", move |ctx| list(ctx)));
        // A file may have been written anew.
        self.opened = None;
    }

    /// Keeps a text within what a model is asked.
    pub(super) fn shorten(&mut self, desk: &Desk<'_>) {
        let Some(tool) = self.tool() else { return };
        let field = self.text_mut(tool);
        if let Some((end, _)) = field.text().char_indices().nth(LONGEST) {
            *field = Field::new(&field.text()[..end]);
            desk.order(PageRequest::Say(desk.say(words::TOO_LONG).to_owned()));
        }
    }

    pub(super) fn memory(&self) -> Value {
        let texts: Vec<&str> = self.fields.iter().map(Field::text).collect();
        serde_json::json!({"model": self.card().map(|card| &card.path), "texts": texts})
    }

    /// Restores the place of an earlier session.
    pub(super) fn begin_with(&mut self, memory: &Value) {
        self.wanted = memory["model"].as_str().map(PathBuf::from);
        let texts = memory["texts"].as_array().map_or(&[][..], Vec::as_slice);
        for (field, text) in self.fields.iter_mut().zip(texts) {
            *field = Field::new(text.as_str().unwrap_or_default().replace(char::is_control, " "));
        }
    }
}

#[cfg(test)]
impl ModelsPage {
    /// Losses that the training told so far.
    pub(crate) fn losses_seen(&self) -> usize {
        self.course.as_ref().map_or(0, |course| course.curve.len())
    }

    /// True if a curve waits for another one to be compared with.
    pub(crate) fn keeps_curve(&self) -> bool {
        self.kept.is_some()
    }
}
