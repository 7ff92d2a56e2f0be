//! The settings and the tour over the pages, and the workspace, opened anew when the
//! configuration has changed.

use std::time::{Duration, Instant, SystemTime};

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::app::{App, Dialog};
use super::commands::Keymap;
use super::desk::Work;
use super::errand::{Errand, Messenger};
use super::forms::{FormOutcome, SettingsForm, Template, has_prices, words as form_words};
use super::page::Page;
use super::{Language, Start, Workspace, tour, view, words as common};
use inkstone_base::data::Key;
use inkstone_base::language::Message;
use inkstone_base::{bail, message};

/// Time between two looks at the configuration.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Time between two looks at the files of the sources.
const LOOK_FOR_NEWS_EVERY: Duration = Duration::from_secs(5);

/// State of what lies over the pages.
#[derive(Default)]
pub struct Overlays {
    settings: Option<SettingsForm>,
    /// The workspace of a configuration that may have changed; none in it where it has not.
    reopening: Option<Errand<Option<Workspace>>>,
    /// The time of the configuration's last change, and when it was looked at.
    looked: Option<(Option<SystemTime>, Instant)>,
    /// A look for what is new in the sources, and when the last one began.
    news: Option<Errand<Option<Message>>>,
    news_looked: Option<Instant>,
    /// Sections on their way into the configuration; true in it once they are there, false where prices come first.
    adding: Option<Errand<bool>>,
    /// The job to start when the workspace has been opened anew.
    then_run: Option<Template>,
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
        self.reopening.is_some() || self.adding.is_some() || self.settings.as_ref().is_some_and(SettingsForm::waiting)
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
        let settings = SettingsForm::open(forms, self.messenger(), self.instance.is_kept_out());
        // After a failure the setting that its error names is the one to change.
        let named = (self.page == Page::Jobs).then(|| self.jobs.selected()?.setting()).flatten();
        self.over.settings = Some(match named {
            Some(path) => settings.at_key(path),
            None => settings,
        });
        self.dialog = Some(Dialog::Settings);
    }

    /// True if the page that is shown has nothing because the configuration has nothing for it.
    pub(crate) fn is_bare(&self) -> bool {
        let bare = match self.page {
            Page::Features => self.features.is_bare(),
            Page::Factor => self.workspace.factors.is_empty(),
            Page::Experiments => self.workspace.laboratory.is_none(),
            _ => false,
        };
        bare && self.workspace.forms.is_some() && self.over.adding.is_none()
    }

    /// Adds sections to the configuration and runs them. Where they need prices that are not there, the way to a source of prices opens.
    pub(crate) fn add_template(&mut self, template: Template) {
        let Some(forms) = self.workspace.forms.clone().filter(|_| self.may_write()) else { return };
        let with_prices = template != Template::Tone || self.page != Page::Features;
        self.over.then_run = Some(template);
        self.over.adding = Some(self.messenger().send("add to the configuration", move |_| {
            let mut sheet = (forms.read)()?;
            if with_prices && !has_prices(&sheet) {
                return Ok(false);
            }
            for change in template.changes(&sheet) {
                sheet = (forms.change)(&sheet, &change)?;
            }
            if let Some(fault) = sheet.faults.first() {
                bail!("{}：{}", "{}: {}", fault.path, fault.message);
            }
            (forms.save)(&sheet)?;
            Ok(true)
        }));
    }

    /// Takes in what has become of an addition to the configuration.
    fn arrange_addition(&mut self) {
        match Errand::arrived(&mut self.over.adding) {
            None => {}
            Some(Ok(true)) => self.reopen(),
            Some(Ok(false)) => {
                self.over.then_run = None;
                self.open_settings();
                if let Some(settings) = &mut self.over.settings {
                    settings.choose_source();
                }
                self.notice = Some(self.say(form_words::NEEDS_PRICES).to_owned());
            }
            Some(Err(fault)) => {
                self.over.then_run = None;
                self.notice = Some(fault.to(self.language).to_owned());
            }
        }
    }

    /// Starts what was added to the configuration.
    fn run_addition(&mut self) {
        let Some(template) = self.over.then_run.take() else { return };
        match (template, self.workspace.laboratory.clone()) {
            (Template::Experiment, Some(laboratory)) => {
                let name = self.say(common::EXPERIMENTS).to_owned();
                let command = self.at_desk(|desk| desk.headless("experiment", ""));
                self.begin(Work { name, command, writes: true, run: laboratory.run }, Page::Experiments);
            }
            _ => self.start(),
        }
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

    /// Opens the workspace anew when an editor has changed the configuration; looks at the file now and then, and not while jobs run.
    pub(crate) fn look_at_configuration(&mut self) {
        let Some(forms) = &self.workspace.forms else { return };
        if self.over.looked.is_some_and(|(_, when)| when.elapsed() < LOOK_EVERY) || self.busy() {
            return;
        }
        let written = std::fs::metadata(&forms.file).and_then(|about| about.modified()).ok();
        let before = self.over.looked.replace((written, Instant::now()));
        let is_free = self.over.reopening.is_none() && self.over.settings.is_none() && self.over.adding.is_none();
        if before.is_some_and(|(before, _)| before != written) && is_free {
            self.reopen();
        }
    }

    /// Looks now and then whether the sources have something new, and says so; not while jobs run, and not where others write.
    pub(crate) fn look_for_news(&mut self) -> bool {
        if let Some(Ok(Some(news))) = Errand::arrived(&mut self.over.news) {
            self.notice = Some(news.to(self.language).to_owned());
            return true;
        }
        let is_due = self.over.news_looked.is_none_or(|when| when.elapsed() >= LOOK_FOR_NEWS_EVERY);
        let Some(look) = self.workspace.news.clone().filter(|_| is_due && self.instance.keeps_session()) else {
            return false;
        };
        if self.over.news.is_none() && !self.busy() {
            self.over.news_looked = Some(Instant::now());
            self.over.news = Some(self.messenger().send("look at the sources", move |ctx| look(ctx)));
        }
        false
    }

    /// Opens the workspace anew, if the configuration is other than the one it was made of.
    pub(crate) fn reopen(&mut self) {
        let (Some(reopen), Some(forms)) = (self.workspace.reopen.clone(), &self.workspace.forms) else { return };
        let (file, stood) = (forms.file.clone(), forms.stood);
        self.over.reopening = Some(self.messenger().send("open the configuration", move |_| {
            let now = std::fs::read(&file).ok().map(|bytes| Key::of(&bytes));
            if now == stood { Ok(None) } else { reopen().map(Some) }
        }));
    }

    pub(crate) fn arrange_over(&mut self) {
        self.arrange_addition();
        let area = view::settings_area(self.size);
        if self.over.settings.as_mut().is_some_and(|settings| settings.arrange(area)) {
            self.reopen();
        }
        let fault = match Errand::arrived(&mut self.over.reopening) {
            None | Some(Ok(None)) => return,
            Some(Ok(Some(workspace))) => match self.swap(workspace) {
                Ok(()) => {
                    self.notice = Some(self.say(form_words::REOPENED).to_owned());
                    return self.run_addition();
                }
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
        if let (Some(forms), Some(before)) = (&workspace.forms, &self.workspace.forms) {
            forms.history.take_over(&before.history);
        }
        (self.keymap, self.workspace) = (keymap, workspace);
        self.reload();
        self.ask_for_library();
        Ok(())
    }
}
