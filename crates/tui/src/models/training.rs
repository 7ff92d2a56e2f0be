//! Starts a training from the form and follows it.

use super::bench::ModelBench;
use super::course::{Course, End, KeptCurve};
use super::state::{Below, ModelsPage};
use super::{asked, words};
use crate::desk::{Desk, PageRequest, Work};

impl ModelsPage {
    /// Opens the form, or shows the training that is under way.
    pub(super) fn open_training(&mut self, desk: &Desk<'_>) {
        let Some(bench) = &desk.workspace.models else { return };
        if self.course.as_ref().is_some_and(|course| course.end.is_none()) {
            self.below = Below::Course;
            return;
        }
        self.below = Below::Form;
        self.form.propose(bench, &self.cards);
        self.check(desk);
    }

    /// Has the form looked through by the command line.
    pub(super) fn check(&mut self, desk: &Desk<'_>) {
        let Some(bench) = &desk.workspace.models else { return };
        let (check, args) = (bench.check.clone(), self.form.arguments(bench, desk.workspace.seed));
        self.form.checked = Some(desk.errand("check", move |_| Ok(check(&args))));
    }

    /// Another kind, or another choice of a setting.
    pub(super) fn choose(&mut self, forward: bool, desk: &Desk<'_>) {
        let Some(bench) = &desk.workspace.models else { return };
        if self.form.change(forward) {
            self.form.propose(bench, &self.cards);
            self.check(desk);
        }
    }

    /// Starts the training as soon as the form has been looked through.
    pub(super) fn start_when_checked(&mut self, desk: &Desk<'_>) {
        if desk.read_only {
            return desk.order(PageRequest::AskToWrite);
        }
        self.form.start = true;
        self.check(desk);
    }

    /// Takes in what was said of the form, and starts the training that waits for it.
    pub(super) fn look_at_form(&mut self, desk: &Desk<'_>) {
        let come = self.form.checked.as_mut().is_some_and(|checked| checked.look());
        let Some(bench) = desk.workspace.models.as_ref().filter(|_| come && self.form.start) else { return };
        self.form.start = false;
        if let Some(at) = self.form.first_fault(desk.language) {
            self.form.cursor.at = at;
            return desk.order(PageRequest::Say(desk.say(words::CANNOT_START).to_owned()));
        }
        if self.form.whole_fault().is_none() {
            self.start(bench, desk);
        }
    }

    fn start(&mut self, bench: &ModelBench, desk: &Desk<'_>) {
        let args = self.form.arguments(bench, desk.workspace.seed);
        let command = training_command(&args);
        let (kind, output) = (self.form.kind_name().to_owned(), self.form.output().trim().to_owned());
        let (course, run) = Course::new(kind.clone(), output.clone(), command.clone(), (bench.train)(args));
        let name = format!("{} {kind}", desk.say(words::TRAIN));
        desk.order(PageRequest::Start(Work { name, command, writes: true, run }));
        self.wanted = Some(output.into());
        self.course = Some(course);
        self.below = Below::Course;
    }

    /// Keeps the curve that is shown, or lets go the one that is kept.
    pub(super) fn keep_curve(&mut self) {
        let shown = self.course.as_ref().filter(|course| course.curve.len() > 1);
        let kept = shown.map(|course| KeptCurve {
            name: format!("{} → {}", course.kind, course.output),
            points: course.curve.clone(),
        });
        let again = self.kept.as_ref().zip(kept.as_ref()).is_some_and(|(old, new)| old.points == new.points);
        self.kept = kept.filter(|_| !again);
    }

    pub(crate) fn look_at_course(&mut self) {
        if let Some(course) = &mut self.course {
            course.look();
        }
    }

    /// Leaves a training that has ended: for its model, or for the form that asked for it.
    pub(super) fn leave_course(&mut self, desk: &Desk<'_>) {
        match self.course.as_ref().and_then(|course| course.end.as_ref()) {
            Some(End::Done) => {
                let written = self.course.as_ref().map(|course| course.output.clone()).unwrap_or_default();
                let at = self.cards.iter().position(|card| card.path.as_os_str() == written.as_str());
                self.cursor.at = at.unwrap_or(self.cursor.at);
                self.below = Below::Card;
            }
            Some(End::Failed(_) | End::Lost | End::Cancelled) => self.open_training(desk),
            None => {}
        }
    }

    /// The command of the form, or of the training shown.
    pub(super) fn training(&self, desk: &Desk<'_>) -> Option<String> {
        match (self.below, &self.course) {
            (Below::Form, _) => {
                let bench = desk.workspace.models.as_ref()?;
                Some(training_command(&self.form.arguments(bench, desk.workspace.seed)))
            }
            (Below::Course, Some(course)) => Some(course.command.clone()),
            _ => None,
        }
    }
}

fn training_command(args: &[String]) -> String {
    format!("inkstone train {}", asked::shell_line(args))
}
