//! The terminal workbench: the corpus, the run, the factor and the experiments of one project, on a screen of 60 x 16 cells or more.
//!
//! An event becomes an intent (`intent`, pure), an intent changes the state (`app`), the state becomes a picture
//! (`view`, which changes nothing). Keys, ticks and finished work arrive through one channel; whatever reads files
//! runs on a thread of its own (`errand`), so no key ever waits. Every key is a row of `commands::COMMANDS`.
//!
//! Useful for: looking at artefacts and starting a run. Not for: deciding anything. The pipeline is handed in as a
//! [`Runner`], cutting and marking as functions, so this module knows no stage and no configuration.

mod action;
mod app;
mod bars;
mod bench;
mod charts;
mod commands;
mod context;
mod copy;
mod corpus;
pub mod crash;
mod desk;
mod errand;
mod event;
mod experiments;
mod factor;
mod features;
mod field;
mod forms;
mod graphics;
#[cfg(test)]
mod hostile;
mod instance;
mod intent;
mod jobs;
mod kit;
mod laboratory;
#[cfg(test)]
mod languages;
mod ledger;
mod list;
mod look;
mod mending;
mod models;
mod narrow;
mod onnx;
mod outside;
mod over;
mod page;
mod page_state;
mod picture;
mod pinyin;
mod reading;
mod scene;
#[cfg(test)]
mod screens;
mod scribe;
mod sentences;
mod session;
#[cfg(test)]
mod states;
mod stock;
mod suspend;
mod terminal;
#[doc(hidden)]
pub mod testing;
mod text;
mod theme;
mod tour;
mod view;
mod welcome;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::Result;

use inkstone_base::data::{Document, Report};
use inkstone_base::disk::Formulas;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::{figures, width};
use inkstone_tables::project::Project;

pub use corpus::{ScoredFeature, read_filter};
pub use factor::{Judgement, JudgementOf, PlantedOf, PlantedTruth, Tracing};
pub use features::{FeatureBench, FeatureListing, FeatureSet, FeatureState, SearchSummary};
pub use forms::{Change, ChangeHistory, FormBench, SettingEntry, SettingFault, SettingGroup, Sheet, Template};
pub use inkstone_base::language::Language;
pub use laboratory::{Kept, Laboratory, Truncated};
pub use ledger::LedgerBench;
pub use mending::MendingBench;
pub use models::{
    Answer, ArgumentFault, AskModel, FlagTakes, ModelBench, ModelCard, Plane, PlaneMethod, Question, Surprised, Tool,
    TrainableModel, TrainingFlag,
};
pub use onnx::OnnxBench;
pub use session::read_session;
pub use stock::StockBench;
pub use text::{About, Described, Score, TextBench, TextCut, TextStrategy, TextSubject, Tokens, Tradable};
pub use theme::{Colours, Depth, Shade};
pub use welcome::{Begin, WelcomeBench};

/// Runs the pipeline; called on a thread of its own each time the user starts a run.
pub type Runner = Arc<dyn Fn(&Ctx) -> Result<Vec<Report>> + Send + Sync>;

/// Runs the pipeline up to and including the stage with the name of this command; called on a thread of its own.
pub type StageRunner = Arc<dyn Fn(&str, &Ctx) -> Result<Vec<Report>> + Send + Sync>;

/// Cuts a text into tokens: byte ranges into it, half-open, ascending, on character boundaries. Fails where its dictionary cannot be read.
pub type Tokeniser = Arc<dyn Fn(&str, TokenUnit) -> Result<Vec<Range<usize>>> + Send + Sync>;

/// Marks passages of a cleaned document's body. Takes the part, the row in that part, and the document there.
pub type Marker = Arc<dyn Fn(usize, usize, &Document) -> Result<Vec<Mark>> + Send + Sync>;

/// Starts commands in a process of its own.
pub type Detach = Arc<dyn Fn(&[String]) -> Result<()> + Send + Sync>;

/// Looks for a detached run that is at work.
pub type FindDetached = Arc<dyn Fn() -> Option<DetachedRun> + Send + Sync>;

/// A run that goes on in another process.
#[derive(Clone)]
pub struct DetachedRun {
    /// The file that its progress goes to.
    pub log: PathBuf,
    /// Shows its progress until it ends.
    pub follow: Runner,
    /// Tells it to end.
    pub stop: Arc<dyn Fn() -> Result<()> + Send + Sync>,
}

/// Tells what is new in the sources, once.
pub type LookForNews = Arc<dyn Fn(&Ctx) -> Result<Option<Message>> + Send + Sync>;

/// Opens the project again.
pub type Reopen = Arc<dyn Fn() -> Result<Workspace> + Send + Sync>;

/// Reports of the stages as they last ran, in order.
pub type LastReports = Arc<dyn Fn() -> Vec<Report> + Send + Sync>;

/// A project and the functions that work on it, for [`open`].
#[derive(Clone)]
pub struct Workspace {
    /// Name of the project, as the first line shows it.
    pub title: String,
    /// The folder of the artefacts.
    pub project: Project,
    /// Names of the factors, in the order of the configuration.
    pub factors: Vec<String>,
    pub run: Runner,
    /// The pipeline up to a stage; none where there is no project behind it.
    pub stages: Option<StageRunner>,
    /// Looks on while other processes work on the plans of the project; none where there is no project behind it.
    pub watch: Option<Runner>,
    /// The page or the run to begin with.
    pub start: Start,
    /// Worker threads of a run; 0 takes every core.
    pub threads: usize,
    pub seed: u64,
    pub tokeniser: Tokeniser,
    /// Names, tone words and boilerplate to mark in the reader.
    pub marker: Option<Marker>,
    /// The reports of an earlier run.
    pub reports: LastReports,
    pub text: Option<TextBench>,
    pub models: Option<ModelBench>,
    pub onnx: Option<OnnxBench>,
    /// The library of native code that the configuration names, where the user has not agreed to it yet.
    pub unknown_library: Option<UnknownLibrary>,
    pub features: Option<FeatureBench>,
    pub ledger: Option<LedgerBench>,
    /// The experiments; none where the configuration has no experiments.
    pub laboratory: Option<Laboratory>,
    /// The way from a factor to its documents and their words; none where there is no project behind it.
    pub tracing: Option<Tracing>,
    /// The verdict of linter and ledger on a factor.
    pub judgement: Option<JudgementOf>,
    /// The planted effects, where the data is made.
    pub planted: Option<PlantedOf>,
    /// Single stocks; none where there is no project behind the workbench.
    pub stock: Option<StockBench>,
    /// Language to begin with; a key changes it.
    pub language: Language,
    /// True if the user has asked for that language now, so that the one of an earlier session does not count.
    pub language_given: bool,
    /// Said on every screen, for instance that the data is synthetic.
    pub note: Option<String>,
    /// The command that does the same without a screen.
    pub command: String,
    /// The flags that name the project on the command line: `-c demo/workbench.toml`.
    pub flags: String,
    /// True if gains are red and losses green (the Chinese custom); otherwise the other way round.
    pub red_up: bool,
    /// The treatment of cells that a spreadsheet would compute, in copies as CSV.
    pub csv_formulas: Formulas,
    /// The folder of the reports, a folder for each factor.
    pub reports_folder: PathBuf,
    /// Runs the commands of jobs one after the other in a process of its own, which goes on when the workbench is left; none where the
    /// system has no such processes.
    pub detach: Option<Detach>,
    /// The run that was detached, while it goes on; none where there is no project behind it.
    pub detached: Option<FindDetached>,
    /// Folder into which pictures are saved.
    pub pictures: PathBuf,
    pub shade: Shade,
    pub depth: Depth,
    /// The user's own colours.
    pub own_colours: Option<Colours>,
    /// True if the terminal draws characters of ambiguous width in two cells.
    pub wide_ambiguous: bool,
    /// True if the workbench handles the mouse.
    pub mouse: bool,
    /// Looks whether the sources have rows that no run has read; none where there are no sources.
    pub news: Option<LookForNews>,
    /// The functions behind the settings; none where there is no configuration behind the workbench.
    pub forms: Option<FormBench>,
    /// Makes all of this anew, of the configuration as it is now.
    pub reopen: Option<Reopen>,
    /// Keys that the user wants instead of the table's, by the name of the command.
    pub keys: BTreeMap<String, Vec<String>>,
}

impl Workspace {
    /// The first page of the report on a factor.
    pub(crate) fn report_of(&self, factor: &str) -> PathBuf {
        self.reports_folder.join(factor).join("index.html")
    }
}

/// A library of native code that is loaded only after the user has said yes.
#[derive(Clone)]
pub struct UnknownLibrary {
    pub file: PathBuf,
    /// True if the user agreed to the library when it had other content.
    pub changed: bool,
    /// Keeps the yes.
    pub agree: Arc<dyn Fn() -> Result<()> + Send + Sync>,
}

/// The page or the run that the workbench begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With what there is: the factor when there is one, else the corpus.
    Browse,
    /// With a run, started at once.
    Run,
    /// With a run, started at once, and its factor as soon as it has ended well, unless the user went about meanwhile.
    RunThenFactor,
    /// The same in the first project of the user's own, where no tour is offered.
    FirstRun,
}

/// The unit of tokens in the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUnit {
    Characters,
    /// Words by jieba.
    Words,
}

/// A passage of a body that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the body, half-open, on character boundaries.
    pub range: Range<usize>,
    pub meaning: Meaning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It names a company.
    Name,
    /// A word of good tone.
    Positive,
    /// A word of bad tone.
    Negative,
    /// A sentence that its publisher always writes.
    Boilerplate,
}

/// Shows on this terminal what can be done where there is no project, and opens the workbench on what the user chose.
pub fn welcome(bench: WelcomeBench) -> Result<()> {
    terminal::welcome(bench)
}

/// Shows the settings of a configuration that cannot be read, and opens the workbench once it is saved without a fault.
pub fn mend(bench: MendingBench) -> Result<()> {
    terminal::mend(bench)
}

/// Opens the workbench on this terminal and returns when the user leaves it. Fails when there is no terminal.
pub fn open(workspace: Workspace) -> Result<()> {
    workspace.language.use_for_messages();
    terminal::show(workspace)
}

/// Every key of the workbench, page by page, as Markdown.
pub fn keys(language: Language) -> String {
    commands::markdown(language)
}

/// A page of the workbench as it would be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Letters of the screen, one line for each row.
    pub text: String,
    /// The same in the colours of the theme.
    pub svg: String,
}

/// Draws the workbench without a terminal: on a screen of so many columns and rows, after these keys (`7<enter>`), once everything that
/// was asked for has come. Fails where a key is none, and where something has not come within `patience`.
pub fn picture(workspace: Workspace, size: (u16, u16), keys: &str, patience: Duration) -> Result<Picture> {
    picture_from(workspace, size, |_| (), keys, patience)
}

/// Draws the page of one stock as [`picture()`] does, with a factor's values.
pub fn picture_of_stock(
    workspace: Workspace,
    size: (u16, u16),
    code: &str,
    factor: Option<&str>,
    patience: Duration,
) -> Result<Picture> {
    let begin = |app: &mut app::App| app.begin_with_stock(code, factor);
    picture_from(workspace, size, begin, "", patience)
}

fn picture_from(
    workspace: Workspace,
    size: (u16, u16),
    begin: impl FnOnce(&mut app::App),
    keys: &str,
    patience: Duration,
) -> Result<Picture> {
    let (sender, events) = channel();
    let mut app = app::App::new(workspace, size, sender)?;
    begin(&mut app);
    let until = Instant::now() + patience;
    let settle = |app: &mut app::App| {
        while app.waiting() || app.busy() {
            ensure!(
                Instant::now() < until,
                "{} 秒后页面仍未完成",
                "the page was not complete after {} s",
                patience.as_secs()
            );
            let event = events.recv_timeout(Duration::from_millis(20)).unwrap_or(event::Event::Tick);
            app.take(event);
        }
        Ok(())
    };
    settle(&mut app)?;
    for key in commands::sequence(keys)? {
        app.take(event::Event::Key(key));
        settle(&mut app)?;
    }
    let drawn = picture::screen(size.0, size.1, |frame| view::compose(&app, frame))?;
    Ok(Picture { text: picture::text(&drawn), svg: picture::svg(&drawn, app.theme) })
}
