//! The page of contextual models: the library and the devices, the models of the project, and three views of the one that is marked:
//! its tensors, its speed by batch size, and its answer to a sentence.

mod ask;
mod headless;
#[cfg(test)]
mod invented;
mod machine;
mod meters;
mod models;
#[cfg(test)]
mod screens;
mod tensors;
mod view;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::{Value, json};

use super::action::Action;
use super::context::PageContext;
use super::desk::Desk;
use super::errand::Errand;
use super::field::Field;
use super::kit::{ListSheet, Zoom};
use super::list::{self, Cursor};
use super::page::{Table, turns};
use super::page_state::PageState;
use ask::Asked;
use inkstone_base::job::Ctx;
use inkstone_onnx::runtime::Machine;
use inkstone_onnx::{Answered, Head, Listed, Metered, Question, Round, RuntimeParams};
use meters::{LENGTHS, MeasuredModel};

/// Tells what this machine has for models.
pub(crate) type MachineOf = Arc<dyn Fn() -> Machine + Send + Sync>;

pub(crate) type ModelsOf = Arc<dyn Fn(&Ctx) -> Result<Vec<Listed>> + Send + Sync>;

/// The BLAKE3 of a file, 64 hexadecimal digits.
pub(crate) type HashOf = Arc<dyn Fn(&Path) -> Result<String> + Send + Sync>;

pub(crate) type AskContextual = Arc<dyn Fn(&Listed, &Question, &Ctx) -> Result<Answered> + Send + Sync>;

/// Measures a model on text of so many tokens, or on texts of the corpus; tells each round when it is over.
pub(crate) type MeasureModel =
    Arc<dyn Fn(&Listed, Option<usize>, &Ctx, &mut dyn FnMut(&Round)) -> Result<Metered> + Send + Sync>;

/// The functions behind the page, supplied by the program.
#[derive(Clone)]
pub struct OnnxBench {
    pub machine: MachineOf,
    pub models: ModelsOf,
    pub hash: HashOf,
    pub ask: AskContextual,
    pub measure: MeasureModel,
    /// The device and library that the configuration asks for.
    pub place: RuntimeParams,
}

turns! {
    /// The content shown of the marked model.
    enum Pane {
        #[default]
        Tensors = "tensors",
        Meters = "meters",
        Ask = "ask",
    }
}

#[derive(Default)]
pub struct OnnxPage {
    /// True if the models have to be listed, or listed again.
    stale: bool,
    machine: Option<Errand<Machine>>,
    models: Option<Errand<Vec<Listed>>>,
    /// The models looked for anew, while those of before are still shown.
    coming: Option<Errand<Vec<Listed>>>,
    hashes: Option<Errand<BTreeMap<PathBuf, String>>>,
    table: ListSheet,
    /// True if keys go to the view instead of the list.
    inside: bool,
    zoom: Zoom,
    pane: Pane,
    /// First line that is seen of the view.
    scroll: Cursor,
    /// Which text is measured with.
    length: usize,
    /// Measurements by the file of the model.
    measured: BTreeMap<PathBuf, MeasuredModel>,
    asked: Option<Asked>,
    field: Option<Field>,
    typed: String,
    /// The model that an earlier session had marked.
    wanted: Option<String>,
}

impl OnnxPage {
    fn models(&self) -> &[Listed] {
        self.models.as_ref().and_then(Errand::get).map_or(&[], Vec::as_slice)
    }

    fn marked(&self) -> Option<&Listed> {
        self.models().get(self.table.selected()?)
    }

    fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref().and_then(Errand::get)
    }

    fn hash(&self, listed: &Listed) -> Option<&str> {
        self.hashes.as_ref()?.get()?.get(&listed.file).map(String::as_str)
    }

    fn measuring(&self) -> bool {
        self.measured.values().any(MeasuredModel::waiting)
    }

    fn lacks_library(&self) -> bool {
        self.machine().is_some_and(|machine| machine.library.is_err())
    }

    pub(crate) fn has_model(&self) -> bool {
        self.marked().is_some_and(|listed| listed.found.is_ok())
    }

    pub(crate) fn can_run(&self) -> bool {
        let writes = |listed: &Listed| listed.found.as_ref().is_ok_and(|found| found.heads.contains(&Head::Writes));
        self.has_model() && !self.lacks_library() && !self.marked().is_some_and(writes)
    }

    fn count(&self) -> usize {
        match self.pane {
            Pane::Tensors => tensors::count(self),
            Pane::Meters => 0,
            Pane::Ask => ask::count(self),
        }
    }

    /// Number of lines of the pane, and of those that fit.
    fn lines(&self, area: Rect) -> (usize, usize) {
        (self.count(), list::rows(view::inner(self, area)))
    }

    fn start_asking(&mut self, desk: &Desk<'_>) {
        let Some((bench, listed)) = desk.workspace.onnx.clone().zip(self.marked().cloned()) else { return };
        let Ok(found) = &listed.found else { return };
        let question = ask::question(&self.typed, found);
        let reply = question.clone().map(|question| {
            let model = listed.clone();
            desk.errand("ask", move |ctx| (bench.ask)(&model, &question, ctx))
        });
        let unmasked = ask::is_masked(&self.typed, found) && !found.heads.contains(&Head::Masks);
        self.asked =
            Some(Asked { file: listed.file, text: self.typed.clone(), unmasked, question: question.ok(), reply });
        self.scroll = Cursor::default();
    }

    fn take_models(&mut self, desk: &Desk<'_>) {
        self.table.renew();
        let Some(bench) = desk.workspace.onnx.clone() else { return };
        let readable = self.models().iter().filter(|listed| listed.found.is_ok());
        let files: Vec<PathBuf> = readable.map(|listed| listed.file.clone()).collect();
        self.hashes = Some(desk.errand("hash", move |ctx| {
            let mut hashes = BTreeMap::new();
            for file in files {
                ctx.check()?;
                hashes.insert(file.clone(), (bench.hash)(&file)?);
            }
            Ok(hashes)
        }));
    }
}

impl PageState for OnnxPage {
    fn reload(&mut self, _desk: &Desk<'_>) {
        self.stale = true;
    }

    fn shown(&mut self, desk: &Desk<'_>) {
        // The library takes memory and models take reading: neither is looked for before somebody wants to see it.
        let Some(bench) = desk.workspace.onnx.clone().filter(|_| std::mem::take(&mut self.stale)) else { return };
        // A library, once loaded, stays.
        if self.machine().is_none_or(|machine| machine.library.is_err()) {
            let machine = bench.machine.clone();
            self.machine = Some(desk.errand("machine", move |_| Ok(machine())));
        }
        let models = desk.errand("models", move |ctx| (bench.models)(ctx));
        match &self.models {
            Some(shown) if shown.get().is_some() => self.coming = Some(models),
            _ => self.models = Some(models),
        }
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, _: &PageContext<'_>) -> bool {
        match action {
            Action::EnterModel => !self.inside && self.has_model(),
            Action::OtherPane => self.has_model(),
            _ if action.is_of_table() => !self.inside && !self.models().is_empty(),
            _ => self.can_run(),
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        if !self.inside {
            let before = self.table.selected();
            let done = self.table.act(action);
            if self.table.selected() != before {
                self.scroll = Cursor::default();
            }
            if done {
                return;
            }
        }
        match action {
            Action::EnterModel => self.inside = true,
            Action::OtherPane => (self.pane, self.scroll) = (self.pane.next(), Cursor::default()),
            Action::Measure => self.start_measuring(desk),
            Action::MeasureWith => {
                self.length = (self.length + 1) % LENGTHS.len();
                self.pane = Pane::Meters;
            }
            Action::Ask => {
                (self.pane, self.inside) = (Pane::Ask, true);
                self.field = Some(Field::new(self.typed.clone()));
            }
            Action::Back if self.measuring() => self.measured.values_mut().for_each(MeasuredModel::stop),
            Action::Back => self.inside = false,
            _ => {
                let action = if action == Action::MarkRow { Action::PageDown } else { action };
                let (count, room) = self.lines(area);
                self.scroll.top = list::moved(self.scroll.top, action, count.saturating_sub(room) + 1, room);
            }
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        if let Some(machine) = &mut self.machine {
            machine.look();
        }
        let mut came = self.models.as_mut().is_some_and(Errand::look);
        if let Some(mut coming) = self.coming.take() {
            if coming.look() {
                self.models = Some(coming);
                came = true;
            } else {
                self.coming = Some(coming);
            }
        }
        if came {
            self.take_models(desk);
        }
        if let Some(hashes) = &mut self.hashes {
            hashes.look();
        }
        self.measured.values_mut().for_each(MeasuredModel::look);
        if let Some(Ok(reply)) = self.asked.as_mut().map(|asked| &mut asked.reply) {
            reply.look();
        }
        if let Some(models) = self.models.as_ref().and_then(Errand::get) {
            models::fill(&mut self.table, models, self.hashes.as_ref().and_then(Errand::get), desk.language);
            if let Some(shown) = self.wanted.take() {
                self.table.go_to(&shown);
            }
        }
        self.table.arrange(view::list_area(self, area));
        let (count, room) = self.lines(area);
        self.scroll.top = self.scroll.top.min(count.saturating_sub(room));
        // Only what is seen is drawn as marked, and in a view nothing is.
        self.scroll.at = usize::MAX;
    }

    fn waiting(&self) -> bool {
        self.machine.as_ref().is_some_and(Errand::waiting)
            || self.models.as_ref().is_some_and(Errand::waiting)
            || self.coming.is_some()
            || self.hashes.as_ref().is_some_and(Errand::waiting)
            || self.measuring()
            || self.asked.as_ref().is_some_and(Asked::waiting)
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom)
    }

    fn is_typing(&self) -> bool {
        self.field.is_some()
    }

    fn field(&mut self) -> Option<&mut Field> {
        self.field.as_mut()
    }

    fn accept(&mut self, desk: &Desk<'_>) {
        if let Some(field) = self.field.take() {
            self.typed = field.text().to_owned();
            self.start_asking(desk);
        }
    }

    fn leave_field(&mut self, _desk: &Desk<'_>) {
        self.field = None;
    }

    fn can_go_back(&self) -> bool {
        self.inside || self.measuring() || self.table.is_open()
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        let (list, pane) = view::panes(self, area);
        if list.contains(at) {
            self.inside = false;
            if self.table.click(at) {
                self.scroll = Cursor::default();
            }
        } else if pane.contains(at) {
            self.inside = self.has_model();
        }
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        if !self.inside {
            return Some(self.table.copied()).filter(|table| !table.rows.is_empty());
        }
        match self.pane {
            Pane::Tensors => tensors::table(self, desk),
            Pane::Meters => meters::table(self, desk),
            Pane::Ask => ask::table(self, desk),
        }
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        let bench = desk.workspace.onnx.as_ref()?;
        Some(headless::command(self, bench))
    }

    fn remember(&self) -> Value {
        let model = self.marked().map(|listed| listed.shown.as_str()).or(self.wanted.as_deref());
        json!({"model": model, "table": self.table.remember(), "view": self.pane, "length": self.length, "text": self.typed})
    }

    fn recall(&mut self, memory: &Value) {
        let text = |name: &str| memory[name].as_str().map(str::to_owned);
        self.wanted = text("model");
        self.table.recall(&memory["table"]);
        self.typed = text("text").unwrap_or_default();
        self.pane = serde_json::from_value(memory["view"].clone()).unwrap_or_default();
        let length = memory["length"].as_u64().and_then(|length| usize::try_from(length).ok());
        self.length = length.filter(|length| *length < LENGTHS.len()).unwrap_or_default();
    }
}
