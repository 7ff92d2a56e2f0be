//! The state of the workbench, and how an intent changes it. Nothing here draws.

mod hands;
mod home;
mod palette;
mod work;

use std::cell::RefCell;
use std::sync::mpsc::Sender;
use std::time::Instant;

use anyhow::Result;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;

use super::action::Action;
use super::commands::{Command, Keymap, Palette, has_table};
use super::context::PageContext;
use super::corpus::CorpusPage;
use super::desk::{Desk, PageRequest};
use super::errand::Errand;
use super::event::Event;
use super::experiments::ExperimentsPage;
use super::factor::FactorPage;
use super::features::FeaturesPage;
use super::field::Field;
use super::forms::Template;
use super::graphics::Protocol;
use super::instance::Instance;
use super::intent::{Intent, intent};
use super::jobs::JobsPage;
use super::kit::Zoom;
use super::ledger::LedgerPage;
use super::models::ModelsPage;
use super::onnx::OnnxPage;
use super::outside::EditRequest;
use super::over::Overlays;
use super::page::{Chart, Page, Table};
use super::page_state::PageState;
use super::scene::ShownPicture;
use super::stock::StockPage;
use super::text::TextPage;
use super::theme::Theme;
use super::words::{self, Word};
use super::{DetachedRun, Language, Start, Workspace, copy, picture, view};

use inkstone_base::language::Message;

/// The box over the page.
#[derive(Clone, Debug)]
pub(crate) enum Dialog {
    /// All keys, from this line on.
    Help(usize),
    /// A question to answer with yes or no.
    Question(PendingQuestion),
    /// Commands by a few letters.
    Palette(Palette),
    Settings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingQuestion {
    Cancel(u64),
    /// Leave: stop all jobs, or let them go on behind?
    Quit,
    /// Load the library that the configuration names?
    Library,
}

/// Everything the picture is made from.
pub struct App {
    pub workspace: Workspace,
    pub(crate) keymap: Keymap,
    pub language: Language,
    pub theme: Theme,
    pub page: Page,
    pub size: Rect,
    pub(crate) dialog: Option<Dialog>,
    pub corpus: CorpusPage,
    pub text: TextPage,
    pub models: ModelsPage,
    pub onnx: OnnxPage,
    pub features: FeaturesPage,
    pub experiments: ExperimentsPage,
    pub factor: FactorPage,
    pub ledger: LedgerPage,
    pub jobs: JobsPage,
    pub stock: StockPage,
    /// True if this workbench may write.
    pub instance: Instance,
    /// The settings, the tour, and the workspace on its way.
    pub over: Overlays,
    /// The effect of the last key, if the screen does not show it otherwise.
    pub notice: Option<String>,
    /// Pictures on their way to files, and what to say of it.
    saving: Option<Errand<String>>,
    clipboard: Option<String>,
    /// The way in which the terminal is given pictures, if it shows them.
    pub(crate) graphics: Option<Protocol>,
    /// Charts that are being drawn as PNG.
    drawing: Option<Errand<Vec<String>>>,
    drawn: Vec<ShownPicture>,
    /// The editor that is asked for.
    wanted_edit: Option<EditRequest>,
    /// Commands that go on behind when the workbench is left.
    to_detach: Vec<String>,
    /// The detached run that a job of this number follows.
    attached: Option<(u64, DetachedRun)>,
    /// True if the factor is to be shown when the pipeline has ended.
    then_factor: bool,
    /// The session as it was last written, and when.
    remembered: (String, Instant),
    /// True if a key has changed the language.
    language_chosen: bool,
    /// The last fault of the scribe.
    fault: Option<Message>,
    quit: bool,
    pub(super) events: Sender<Event>,
}

/// The state of a page, borrowed from the app.
macro_rules! state_of {
    (& $($app:ident)+, $page:expr) => {
        match $page {
            Page::Corpus => &$($app)+.corpus,
            Page::Text => &$($app)+.text,
            Page::Models => &$($app)+.models,
            Page::Onnx => &$($app)+.onnx,
            Page::Features => &$($app)+.features,
            Page::Experiments => &$($app)+.experiments,
            Page::Factor => &$($app)+.factor,
            Page::Ledger => &$($app)+.ledger,
            Page::Jobs => &$($app)+.jobs,
            Page::Stock => &$($app)+.stock,
        }
    };
}

impl App {
    /// The workbench on a screen of this size; answers of its threads go to `events`. It neither remembers nor keeps anything.
    pub fn new(workspace: Workspace, size: (u16, u16), events: Sender<Event>) -> Result<App> {
        App::build(workspace, size, events, None)
    }

    /// The workbench where it was left. The first one on a project keeps its session and its log there; others only read.
    pub(crate) fn remembering(workspace: Workspace, size: (u16, u16), events: Sender<Event>) -> Result<App> {
        let instance = Instance::on(&workspace.project);
        App::build(workspace, size, events, Some(instance))
    }

    fn build(workspace: Workspace, size: (u16, u16), events: Sender<Event>, instance: Option<Instance>) -> Result<App> {
        let keymap = Keymap::new(&workspace.keys)?;
        let tested = workspace.factors.iter().position(|name| workspace.project.backtest(name).exists());
        let page = match (workspace.start, tested) {
            (Start::Run | Start::RunThenFactor | Start::FirstRun, _) => Page::Jobs,
            (Start::Browse, Some(_)) => Page::Factor,
            (Start::Browse, None) => Page::Corpus,
        };
        let mut app = App {
            keymap,
            language: workspace.language,
            theme: Theme::new(workspace.shade, workspace.depth, workspace.own_colours, |name| std::env::var(name).ok()),
            page,
            size: Rect::new(0, 0, size.0, size.1),
            dialog: None,
            corpus: CorpusPage::new(),
            text: TextPage::default(),
            models: ModelsPage::default(),
            onnx: OnnxPage::default(),
            features: FeaturesPage::default(),
            experiments: ExperimentsPage::default(),
            factor: FactorPage::at(tested.unwrap_or(0)),
            ledger: LedgerPage::new(),
            jobs: JobsPage::default(),
            stock: StockPage::default(),
            instance: Instance::default(),
            over: Overlays::new(&workspace, tested.is_some()),
            notice: None,
            saving: None,
            clipboard: None,
            graphics: Protocol::find(|name| std::env::var(name).ok()),
            drawing: None,
            drawn: Vec::new(),
            wanted_edit: None,
            to_detach: Vec::new(),
            attached: None,
            then_factor: matches!(workspace.start, Start::RunThenFactor | Start::FirstRun),
            remembered: (String::new(), Instant::now()),
            language_chosen: false,
            fault: None,
            quit: false,
            events,
            workspace,
        };
        if let Some(instance) = instance {
            app.come_back(instance)?;
        }
        app.reload();
        if app.workspace.start == Start::Browse {
            app.jobs.last = Some(app.at_desk(JobsPage::read_last_run));
        } else if app.workspace.unknown_library.is_none() {
            app.start();
        }
        app.ask_for_library();
        app.arrange();
        Ok(app)
    }

    pub fn say(&self, word: Word) -> &'static str {
        word.to(self.language)
    }

    pub(crate) fn has_quit(&self) -> bool {
        self.quit
    }

    pub(crate) fn take_clipboard(&mut self) -> Option<String> {
        self.clipboard.take()
    }

    /// The context of the pages.
    pub(crate) fn context(&self) -> PageContext<'_> {
        PageContext {
            workspace: &self.workspace,
            language: self.language,
            page: self.page,
            screen: self.size,
            keymap: &self.keymap,
            jobs: self.jobs.list(),
            read_only: self.instance.why(),
        }
    }

    /// True if a command of the page that is shown can be done now.
    pub(crate) fn can(&self, command: &Command) -> bool {
        let context = self.context();
        match command.action {
            Action::Start => !context.busy_from(Page::Jobs),
            Action::Pause => self.can_pause(),
            Action::Cancel => self.can_cancel(),
            Action::ZoomPane => self.state(self.page).zoom().is_some(),
            Action::Back => self.state(self.page).can_go_back() || self.is_zoomed(),
            Action::CopyTable | Action::CopyMarkdown => self.has_table(),
            Action::Settings | Action::EditConfiguration | Action::UndoChange => self.workspace.forms.is_some(),
            Action::OpenReport => !self.workspace.factors.is_empty(),
            Action::CopyText | Action::CopyId => self.state(self.page).document().is_some(),
            Action::AddTone | Action::AddRidge | Action::AddExperiment => self.is_bare(),
            Action::Watch => self.workspace.watch.is_some(),
            Action::Stock => self.workspace.stock.is_some(),
            _ if command.pages.len() == Page::ALL.len() => true,
            action => self.state(self.page).can(action, &context),
        }
    }

    pub fn state(&self, page: Page) -> &dyn PageState {
        state_of!(&self, page)
    }

    /// Lets a page work at its desk, and carries out what it orders.
    fn with<T>(&mut self, page: Page, work: impl FnOnce(&mut dyn PageState, &Desk<'_>) -> T) -> T {
        let orders = RefCell::new(Vec::new());
        let standing = self.standing();
        let desk = Desk::new(&self.workspace, self.language, &self.events, standing, &orders);
        let state: &mut dyn PageState = state_of!(&mut self, page);
        let made = work(state, &desk);
        for order in orders.into_inner() {
            self.obey(order, page);
        }
        made
    }

    /// The desk of a page that only looks.
    pub(crate) fn at_desk<T>(&self, work: impl FnOnce(&Desk<'_>) -> T) -> T {
        let orders = RefCell::new(Vec::new());
        work(&Desk::new(&self.workspace, self.language, &self.events, self.standing(), &orders))
    }

    /// True if a job has not ended; true if this workbench only reads.
    fn standing(&self) -> [bool; 2] {
        [self.jobs.busy(), self.instance.why().is_some()]
    }

    fn obey(&mut self, order: PageRequest, from: Page) {
        match order {
            PageRequest::Say(text) => self.notice = Some(text),
            PageRequest::Copy(text) => {
                let first = text.lines().next().unwrap_or_default();
                self.notice = Some(format!("{}: {first}", self.say(words::COPIED)));
                self.clipboard = Some(text);
            }
            PageRequest::Start(work) => {
                self.begin(work, from);
            }
            PageRequest::AskToWrite => {
                self.may_write();
            }
            PageRequest::Read(part, row, among) => {
                self.text.read(part, row, among);
                self.features.follow(part, row);
                self.page = Page::Text;
            }
            PageRequest::Show(page) => self.page = page,
            PageRequest::ReadInCorpus(number) => {
                self.corpus.go_to(number);
                self.page = Page::Corpus;
            }
        }
    }

    /// True if the pane with the focus has the whole page.
    fn is_zoomed(&self) -> bool {
        self.state(self.page).zoom().is_some_and(Zoom::is_on)
    }

    /// The field that keys go into, while there is one.
    pub fn field(&mut self) -> Option<&mut Field> {
        if let Some(Dialog::Palette(palette)) = &mut self.dialog {
            return Some(&mut palette.field);
        }
        let state: &mut dyn PageState = state_of!(&mut self, self.page);
        state.field()
    }

    /// True while keys are typed as text.
    pub(crate) fn typing(&self) -> bool {
        match self.dialog {
            Some(Dialog::Palette(_)) => true,
            Some(_) => false,
            None => self.state(self.page).is_typing(),
        }
    }

    /// True if the page lists something that can be copied.
    pub(crate) fn has_table(&self) -> bool {
        self.table().is_some_and(|table| !table.rows.is_empty())
    }

    fn table(&self) -> Option<Table> {
        self.at_desk(|desk| self.state(self.page).table(desk))
    }

    pub fn waiting(&self) -> bool {
        let draws = self.drawing.as_ref().is_some_and(Errand::waiting);
        draws
            || self.saving.is_some()
            || self.over.waiting()
            || Page::ALL.into_iter().any(|page| self.state(page).waiting())
    }

    /// Takes in an event; true when the picture may have changed.
    pub fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Tick => return self.look(),
            Event::End => self.quit = true,
            Event::Resize(width, height) => self.size = Rect::new(0, 0, width, height),
            Event::Back => {}
            Event::Key(key) if self.is_esc_before(&key) => {
                // A terminal sends Esc before a letter and Alt with it alike.
                self.take(Event::Key(KeyEvent::from(KeyCode::Esc)));
                self.take(Event::Key(KeyEvent { modifiers: key.modifiers - KeyModifiers::ALT, ..key }));
            }
            Event::Key(_) | Event::Paste(_) | Event::Mouse(_) => {
                let Some(intent) = intent(self, &event) else { return false };
                self.notice = None;
                self.then_factor = false;
                self.follow(intent);
            }
        }
        self.arrange();
        true
    }

    /// True for a key with Alt that means nothing: Esc was pressed, and the key straight after it.
    fn is_esc_before(&self, key: &KeyEvent) -> bool {
        key.kind != KeyEventKind::Release
            && key.modifiers.contains(KeyModifiers::ALT)
            && !key.modifiers.contains(KeyModifiers::CONTROL)
            && matches!(key.code, KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab)
            && self.keymap.command(self.page, key).is_none()
    }

    fn follow(&mut self, intent: Intent) {
        match intent {
            Intent::Do(action) => self.act(action),
            Intent::Answer(yes) => self.answer(yes),
            Intent::Detach => self.detach(),
            Intent::Close => self.dialog = None,
            Intent::Scroll(lines) => {
                if let Some(Dialog::Help(top)) = &mut self.dialog {
                    let last = view::help_lines(self.page).saturating_sub(view::help_room(self.size));
                    *top = top.saturating_add_signed(lines).min(last);
                }
            }
            Intent::Edit(key) => {
                if self.field().and_then(|field| field.key(&key)) == Some(true) {
                    self.typed();
                }
            }
            Intent::Insert(text) => {
                if let Some(field) = self.field() {
                    field.insert(&text);
                    self.typed();
                }
            }
            Intent::Begin(action, text) => {
                self.act(action);
                if let Some(field) = self.field() {
                    field.select_all();
                    field.insert(&text);
                    self.typed();
                }
            }
            Intent::Accept => self.with(self.page, |page, desk| page.accept(desk)),
            Intent::LeaveField => self.with(self.page, |page, desk| page.leave_field(desk)),
            Intent::Mark(action) => {
                let rows = view::palette_rows(self.size);
                if let Some(Dialog::Palette(palette)) = &mut self.dialog {
                    palette.cursor.step(action, palette.found.len(), rows);
                    palette.cursor.arrange(palette.found.len(), rows);
                }
            }
            Intent::Form(key) => self.form_key(&key),
            Intent::FormText(text) => self.form_text(&text),
            Intent::Tour(step) => self.tour(step),
            Intent::Choose => self.choose(),
            Intent::Click(at) => self.click(at),
            Intent::Wheel(at, down) => {
                let area = view::page_area(self.size);
                self.with(self.page, |page, desk| page.wheel(at, down, area, desk));
            }
            Intent::Interrupt => match self.dialog {
                Some(Dialog::Question(PendingQuestion::Library)) => self.answer(false),
                // The second Ctrl-C is a yes to what the first one asked.
                Some(Dialog::Question(_)) => self.answer(true),
                _ => match self.jobs.target(false).map(|job| job.id) {
                    Some(id) => self.dialog = Some(Dialog::Question(PendingQuestion::Cancel(id))),
                    None => self.quit = true,
                },
            },
        }
    }

    /// The text of the field has changed.
    fn typed(&mut self) {
        match self.dialog.take() {
            Some(Dialog::Palette(mut palette)) => {
                palette.search(self.page, &self.places(), |command| self.can(command));
                self.dialog = Some(Dialog::Palette(palette));
            }
            other => {
                self.dialog = other;
                self.with(self.page, |page, desk| page.typed(desk));
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Show(page) => self.page = page,
            Action::NextPage => self.page = self.page.further(1),
            Action::PreviousPage => self.page = self.page.further(Page::tabs().len() - 1),
            Action::Stock => self.show_stock(),
            Action::Start => self.start(),
            Action::Watch => self.watch(),
            Action::Cancel => self.cancel(),
            Action::Pause => self.pause(),
            Action::Copy => self.obey(PageRequest::Copy(self.command()), self.page),
            Action::CopyTable | Action::CopyMarkdown => {
                let Some(table) = self.table() else { return };
                let text = if action == Action::CopyTable {
                    copy::csv(&table, self.workspace.csv_formulas)
                } else {
                    copy::markdown(&table)
                };
                self.obey(PageRequest::Copy(text), self.page);
            }
            Action::ZoomPane => self.state(self.page).zoom().into_iter().for_each(|zoom| zoom.set(!zoom.is_on())),
            Action::Back if !self.state(self.page).can_go_back() => {
                self.state(self.page).zoom().into_iter().for_each(|zoom| zoom.set(false));
            }
            Action::Settings => self.open_settings(),
            Action::EditConfiguration => self.edit_configuration(),
            Action::UndoChange => self.undo_change(),
            Action::OpenReport => self.open_report(),
            Action::CopyText | Action::CopyId => self.copy_document(action),
            Action::HalfDown | Action::HalfUp => {
                let area = view::page_area(self.size);
                let step = if action == Action::HalfDown { Action::Down } else { Action::Up };
                let lines = (area.height / 2).max(1);
                self.with(self.page, |page, desk| (0..lines).for_each(|_| page.act(step, area, desk)));
            }
            Action::AddTone => self.add_template(Template::Tone),
            Action::AddRidge => self.add_template(Template::Ridge),
            Action::AddExperiment => self.add_template(Template::Experiment),
            Action::Tour => self.tour(Some(0)),
            Action::Save => self.save(),
            Action::DrawCharts => self.draw_charts(),
            Action::Palette => {
                let palette = Palette::open(self.page, &self.places(), |command| self.can(command));
                self.dialog = Some(Dialog::Palette(palette));
            }
            Action::Theme => {
                self.theme = self.theme.other();
                self.notice = Some(self.say(self.theme.name()).to_owned());
            }
            Action::Language => {
                self.language = if self.language == Language::Zh { Language::En } else { Language::Zh };
                self.language_chosen = true;
                self.language.use_for_messages();
            }
            Action::Help => self.dialog = Some(Dialog::Help(0)),
            Action::Quit if self.jobs.busy() && !self.only_follows() => {
                self.dialog = Some(Dialog::Question(PendingQuestion::Quit))
            }
            Action::Quit => self.quit = true,
            Action::MarkRow if !has_table(self.page) => self.act(Action::PageDown),
            _ => {
                let area = view::page_area(self.size);
                self.with(self.page, |page, desk| page.act(action, area, desk));
            }
        }
    }

    /// Shows a stock, with a factor's values if one is named.
    pub(crate) fn begin_with_stock(&mut self, code: &str, factor: Option<&str>) {
        self.stock.begin(code, factor);
        self.page = Page::Stock;
        self.arrange();
    }

    /// Shows the stock that the page is about, or else asks for one.
    fn show_stock(&mut self) {
        let wanted = self.state(self.page).stock();
        self.stock.open(wanted, self.page);
        self.page = Page::Stock;
    }

    /// Saves the charts of the page, or where it has none the screen itself.
    fn save(&mut self) {
        let mut charts = self.at_desk(|desk| self.state(self.page).charts(desk));
        if charts.is_empty() {
            match picture::screen(self.size.width, self.size.height, |frame| view::compose(self, frame)) {
                Ok(drawn) => charts.push(Chart {
                    name: self.page.name().to(Language::En).to_lowercase(),
                    svg: picture::svg(&drawn, self.theme),
                }),
                Err(error) => return self.notice = Some(format!("{error:#}")),
            }
        }
        let folder = self.workspace.pictures.clone();
        let saved = self.at_desk(|desk| desk.errand("save", move |_| picture::save(&charts, &folder)));
        self.saving = Some(saved);
    }

    /// The command that does without a screen what the page shows.
    pub fn command(&self) -> String {
        let of_page = self.at_desk(|desk| self.state(self.page).command(desk));
        of_page.unwrap_or_else(|| self.workspace.command.clone())
    }

    pub(super) fn reload(&mut self) {
        for page in Page::ALL {
            self.with(page, |page, desk| page.reload(desk));
        }
    }

    fn arrange(&mut self) {
        if self.saving.as_mut().is_some_and(Errand::look)
            && let Some(saved) = self.saving.take()
        {
            self.notice = Some(match saved.get() {
                Some(files) => format!("{} {files}", self.say(words::SAVED)),
                None => format!("{}: {}", self.say(words::SAVE_FAILED), saved.fault().unwrap_or_default()),
            });
        }
        self.take_drawing();
        self.arrange_over();
        let area = view::page_area(self.size);
        self.with(self.page, |page, desk| page.shown(desk));
        for page in Page::ALL {
            self.with(page, |page, desk| page.arrange(area, desk));
        }
    }
}
