//! The state of the workbench, and how an intent changes it. Nothing here draws.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::layout::Rect;

use super::commands::Action;
use super::corpus::Corpus;
use super::event::{Event, Intent, intent};
use super::experiments::Experiments;
use super::factor::Factor;
use super::reading::{Answer, Reading, Request};
use super::run::{Phase, Run};
use super::words::{self, Word};
use super::{Language, Runner, Start, Workspace, view};
use crate::job::{Ctx, Job};

/// The pages, in the order of their tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Corpus,
    Run,
    Factor,
    Experiments,
}

impl Page {
    /// All of them.
    pub(crate) const ALL: [Page; 4] = [Page::Corpus, Page::Run, Page::Factor, Page::Experiments];

    /// What its tab says.
    pub(crate) fn name(self) -> Word {
        match self {
            Page::Corpus => words::CORPUS,
            Page::Run => words::RUN,
            Page::Factor => words::FACTOR,
            Page::Experiments => words::EXPERIMENTS,
        }
    }

    fn next(self) -> Page {
        let at = Page::ALL.iter().position(|p| *p == self).unwrap_or(0);
        Page::ALL[(at + 1) % Page::ALL.len()]
    }
}

/// What lies over the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialog {
    /// All keys, from this line on.
    Help(usize),
    /// A question to answer with yes or no.
    Question(Question),
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Stop the run?
    Cancel,
    /// Stop the run and leave?
    Quit,
}

/// Everything the picture is made from.
pub(crate) struct App {
    pub(crate) workspace: Workspace,
    pub(crate) language: Language,
    pub(crate) page: Page,
    pub(crate) size: Rect,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) corpus: Corpus,
    pub(crate) run: Run,
    pub(crate) factor: Factor,
    pub(crate) experiments: Experiments,
    /// What the last key did, where the picture does not show it.
    pub(crate) notice: Option<Word>,
    /// Text on its way to the clipboard.
    clipboard: Option<String>,
    /// Whether the factor is to be shown when the run has ended.
    then_factor: bool,
    quit: bool,
    reading: Reading,
    events: Sender<Event>,
}

impl App {
    /// The workbench on a screen of this size; answers of its threads go to `events`.
    pub(crate) fn new(workspace: Workspace, size: (u16, u16), events: Sender<Event>) -> Result<App> {
        let reading = Reading::start(&workspace, events.clone())?;
        let tested = workspace.factors.iter().position(|name| workspace.project.backtest(name).exists());
        let page = match (workspace.start, tested) {
            (Start::Run | Start::RunThenFactor, _) => Page::Run,
            (Start::Browse, Some(_)) => Page::Factor,
            (Start::Browse, None) => Page::Corpus,
        };
        let mut app = App {
            language: workspace.language,
            page,
            size: Rect::new(0, 0, size.0, size.1),
            dialog: None,
            corpus: Corpus::default(),
            run: Run::default(),
            factor: Factor::at(tested.unwrap_or(0)),
            experiments: Experiments::default(),
            notice: None,
            clipboard: None,
            then_factor: workspace.start == Start::RunThenFactor,
            quit: false,
            reading,
            events,
            workspace,
        };
        app.reload();
        if app.workspace.start == Start::Browse {
            app.reading.ask(Request::Reports);
        } else {
            app.start();
        }
        app.arrange();
        Ok(app)
    }

    /// The text in the language of the screen.
    pub(crate) fn say(&self, word: Word) -> &'static str {
        word.to(self.language)
    }

    /// Whether the user has left.
    pub(crate) fn has_quit(&self) -> bool {
        self.quit
    }

    /// Text to be handed to the clipboard, once.
    pub(crate) fn take_clipboard(&mut self) -> Option<String> {
        self.clipboard.take()
    }

    /// Whether keys are text.
    pub(crate) fn typing(&self) -> bool {
        self.page == Page::Corpus && self.corpus.typing()
    }

    /// Whether there is something on this page to go back from.
    pub(crate) fn can_go_back(&self) -> bool {
        match self.page {
            Page::Corpus => self.corpus.can_go_back(),
            Page::Run => self.run.can_go_back(),
            Page::Factor => self.factor.can_go_back(),
            Page::Experiments => self.experiments.can_go_back(),
        }
    }

    /// Whether something asked for has not come yet.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> bool {
        self.corpus.waiting() || self.factor.waiting() || self.run.waiting() || self.experiments.waiting()
    }

    /// Takes in an event; true when the picture may have changed.
    pub(crate) fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Tick => return self.look(),
            Event::End => self.quit = true,
            Event::Resize(width, height) => self.size = Rect::new(0, 0, width, height),
            Event::Answer(answer) => self.learn(*answer),
            Event::Key(_) | Event::Paste(_) => {
                let Some(intent) = intent(self, &event) else { return false };
                self.notice = None;
                self.then_factor = false;
                self.follow(intent);
            }
        }
        self.arrange();
        true
    }

    fn follow(&mut self, intent: Intent) {
        match intent {
            Intent::Do(action) => self.act(action),
            Intent::Answer(yes) => self.answer(yes),
            Intent::Close if self.dialog.is_some() => self.dialog = None,
            Intent::Close => self.corpus.close_search(),
            Intent::Scroll(lines) => {
                if let Some(Dialog::Help(top)) = &mut self.dialog {
                    let last = view::help_lines(self.page).saturating_sub(view::help_room(self.size));
                    *top = top.saturating_add_signed(lines).min(last);
                }
            }
            Intent::Type(text) => self.corpus.edit_search(|query| query.push_str(&text), &self.events),
            Intent::Erase => self
                .corpus
                .edit_search(|query| query.truncate(query.char_indices().next_back().map_or(0, |c| c.0)), &self.events),
            Intent::EraseAll => self.corpus.edit_search(String::clear, &self.events),
            Intent::Accept => self.corpus.accept_search(),
            Intent::Interrupt => match self.dialog {
                // The second Ctrl-C is a yes to what the first one asked.
                Some(Dialog::Question(_)) => self.answer(true),
                _ if self.run.busy() => self.dialog = Some(Dialog::Question(Question::Cancel)),
                _ => self.quit = true,
            },
        }
    }

    fn act(&mut self, action: Action) {
        let page = view::page_area(self.size);
        match action {
            Action::Show(page) => self.page = page,
            Action::NextPage => self.page = self.page.next(),
            Action::Start => self.start(),
            Action::RunExperiments => self.experiment(),
            Action::Cancel => self.dialog = Some(Dialog::Question(Question::Cancel)),
            Action::Copy => {
                self.clipboard = Some(self.workspace.command.clone());
                self.notice = Some(words::COPIED);
            }
            Action::Language => {
                self.language = if self.language == Language::Zh { Language::En } else { Language::Zh };
            }
            Action::Help => self.dialog = Some(Dialog::Help(0)),
            Action::Quit if self.run.busy() => self.dialog = Some(Dialog::Question(Question::Quit)),
            Action::Quit => self.quit = true,
            _ => match self.page {
                Page::Corpus => self.corpus.act(action, page),
                Page::Run => self.run.act(action, &self.reading),
                Page::Factor => self.factor.act(action, page, &self.workspace, &self.reading, &self.events),
                Page::Experiments => self.notice = self.experiments.act(action, page, &self.reading),
            },
        }
    }

    fn answer(&mut self, yes: bool) {
        let Some(Dialog::Question(question)) = self.dialog.take() else { return };
        if yes {
            self.run.cancel();
            self.quit = question == Question::Quit;
        }
    }

    fn start(&mut self) {
        self.follow_run(self.workspace.run.clone());
        self.experiments.runs_here = false;
        self.page = Page::Run;
    }

    /// Runs the experiments; their page says how far they have come.
    fn experiment(&mut self) {
        if let Some(laboratory) = &self.workspace.laboratory {
            self.follow_run(laboratory.run.clone());
            self.experiments.runs_here = true;
        }
    }

    fn follow_run(&mut self, run: Runner) {
        let ctx = Ctx::new(self.workspace.threads, self.workspace.seed);
        self.run.follow(ctx.and_then(|ctx| Job::spawn("run", ctx, move |ctx| run(ctx))));
    }

    /// Looks at the run; true when there is something new to see.
    fn look(&mut self) -> bool {
        let busy = self.run.busy();
        if self.run.look() {
            // A question about a run that has ended meanwhile needs no answer.
            self.dialog = self.dialog.filter(|d| !matches!(d, Dialog::Question(_)));
            self.reload();
            if self.then_factor && self.run.phase == Phase::Done && !self.workspace.factors.is_empty() {
                self.page = Page::Factor;
            }
            self.arrange();
        }
        busy
    }

    /// Stops a run that is still under way and waits for it to put away what it holds, at most so long.
    pub(crate) fn leave(mut self, patience: Duration) {
        self.run.cancel();
        let until = Instant::now() + patience;
        while self.run.busy() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            self.run.look();
        }
    }

    fn reload(&mut self) {
        self.corpus.reload(&self.reading);
        self.factor.reload(&self.workspace.factors, &self.reading);
        self.experiments.reload(self.workspace.laboratory.is_some(), &self.reading);
    }

    fn learn(&mut self, answer: Answer) {
        match answer {
            Answer::Index(list, index) => self.corpus.take_index(list, index),
            Answer::Part(list, part, rows) => self.corpus.take_part(list, part, rows),
            Answer::Text(list, text) => self.corpus.take_text(list, text),
            Answer::Rejects(rejects) => self.run.take_rejects(rejects),
            Answer::Reports(reports) => self.run.take_reports(reports),
            Answer::Factor(name, picture) => self.factor.take(&name, picture),
            Answer::Traced(number, traced) => self.factor.take_traced(number, traced),
            Answer::Findings(findings) => self.experiments.take(findings),
            Answer::Truncated(name, number, document) => self.experiments.take_document(&name, number, document),
            Answer::Hits(number, hits) => self.corpus.take_hits(number, hits),
            Answer::Searched(number, result) => self.corpus.take_end(number, result),
        }
    }

    fn arrange(&mut self) {
        let page = view::page_area(self.size);
        self.corpus.arrange(page, &self.reading);
        self.run.arrange(page.height);
        self.factor.arrange(page);
        self.experiments.arrange(page);
    }
}
