//! The settings and the tour over the pages, and the workspace, opened anew when the
//! configuration has changed.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::app::{App, Dialog};
use super::commands::Keymap;
use super::errand::{Errand, Messenger};
use super::forms::{FormOutcome, SettingsForm, words as form_words};
use super::reading::ReadingThread;
use super::{Language, Start, Workspace, tour, view};
use inkstone_base::data::Key;
use inkstone_base::language::Message;
use inkstone_base::message;

/// State of what lies over the pages.
#[derive(Default)]
pub struct Overlays {
    settings: Option<SettingsForm>,
    /// The workspace of a configuration that may have changed; none in it where it has not.
    reopening: Option<Errand<Option<Workspace>>>,
    pub(crate) tour: Option<usize>,
    /// True if the tour is to be offered when the run has ended.
    offer: bool,
}

impl Overlays {
    /// Nothing lies over the pages; the tour is offered after the first run of the demo.
    pub fn new(workspace: &Workspace, tested: bool) -> Overlays {
        Overlays { offer: workspace.start == Start::RunThenFactor && !tested, ..Overlays::default() }
    }

    pub fn waiting(&self) -> bool {
        self.reopening.is_some() || self.settings.as_ref().is_some_and(SettingsForm::waiting)
    }
}

impl App {
    fn messenger(&self) -> Messenger {
        Messenger::new(self.workspace.threads, self.workspace.seed, self.events.clone())
    }

    pub(crate) fn open_settings(&mut self) {
        if self.instance.is_kept_out() {
            self.may_write();
        }
        let Some(forms) = &self.workspace.forms else { return };
        self.over.settings = Some(SettingsForm::open(forms, self.messenger(), self.instance.is_kept_out()));
        self.dialog = Some(Dialog::Settings);
    }

    pub(crate) fn form_key(&mut self, key: &KeyEvent) {
        let Some(settings) = &mut self.over.settings else { return };
        match settings.key(key) {
            FormOutcome::Stay => {}
            FormOutcome::Leave => (self.over.settings, self.dialog) = (None, None),
            FormOutcome::Language => {
                self.language = if self.language == Language::Zh { Language::En } else { Language::Zh };
            }
        }
    }

    pub(crate) fn form_text(&mut self, text: &str) {
        if let Some(settings) = &mut self.over.settings {
            settings.paste(text);
        }
    }

    pub(crate) fn draw_settings(&self, frame: &mut Frame<'_>, area: Rect) {
        if let Some(settings) = &self.over.settings {
            settings.draw(self.language, frame, area);
        }
    }

    /// Shows a step of the tour on its page, or ends it.
    pub(crate) fn tour(&mut self, step: Option<usize>) {
        self.over.tour = step.filter(|step| *step < tour::STEPS.len());
        if let Some(step) = self.over.tour {
            self.page = tour::STEPS[step].page;
        }
    }

    /// The follow-up of a job that has ended; `done` is true if it was the pipeline and ended well.
    pub(crate) fn job_has_ended(&mut self, done: bool) {
        self.reopen();
        if std::mem::take(&mut self.over.offer) && done {
            self.notice = Some(self.say(tour::OFFER).to_owned());
        }
    }

    /// Opens the workspace anew, if the configuration is other than the one it was made of.
    fn reopen(&mut self) {
        let (Some(reopen), Some(forms)) = (self.workspace.reopen.clone(), &self.workspace.forms) else { return };
        let (file, stood) = (forms.file.clone(), forms.stood);
        self.over.reopening = Some(self.messenger().send("open the configuration", move |_| {
            let now = std::fs::read(&file).ok().map(|bytes| Key::of(&bytes));
            if now == stood { Ok(None) } else { reopen().map(Some) }
        }));
    }

    pub(crate) fn arrange_over(&mut self) {
        let area = view::settings_area(self.size);
        if self.over.settings.as_mut().is_some_and(|settings| settings.arrange(area)) {
            self.reopen();
        }
        let fault = match Errand::arrived(&mut self.over.reopening) {
            None | Some(Ok(None)) => return,
            Some(Ok(Some(workspace))) => match self.swap(workspace) {
                Ok(()) => return self.notice = Some(self.say(form_words::REOPENED).to_owned()),
                Err(error) => Message::of_error(&error),
            },
            Some(Err(fault)) => fault,
        };
        let fault = message!("{}：{fault}", "{}: {fault}", form_words::NOT_REOPENED);
        match &mut self.over.settings {
            Some(settings) => settings.tell(fault),
            None => self.notice = Some(fault.to(self.language).to_owned()),
        }
    }

    /// Works with another workspace from now on; page and language stay, and so does a run that is under way.
    fn swap(&mut self, workspace: Workspace) -> anyhow::Result<()> {
        let keymap = Keymap::new(&workspace.keys)?;
        let reading = ReadingThread::start(&workspace, self.events.clone())?;
        (self.keymap, self.reading, self.workspace) = (keymap, reading, workspace);
        self.reload();
        self.ask_for_library();
        Ok(())
    }
}
