//! A training under way: the loss as it falls, and how fast the text goes through.
//!
//! The job tells its progress through its own context, so that what is seen here is this training's, whatever else runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Runner;
use inkstone_base::job::{Cancelled, Progress, StageProgress, StageState};
use inkstone_base::language::Message;

/// Points of the curve at the most; when there are more, every second one goes.
const POINTS: usize = 1024;

/// The end of a training that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Done,
    Failed(Message),
    /// The thread never started, or ended without a report.
    Lost,
    Cancelled,
}

/// The state shared by the job and the page.
#[derive(Default)]
struct Shared {
    progress: Option<Progress>,
    end: Option<End>,
}

/// The curve of a training that was kept, to be compared with.
pub(super) struct KeptCurve {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// A training that was started here.
pub(super) struct Course {
    pub(super) kind: String,
    pub(super) output: String,
    /// The command that does the same without a screen.
    pub(super) command: String,
    shared: Arc<Mutex<Shared>>,
    /// Units done and the loss then.
    pub(super) curve: Vec<(f64, f64)>,
    /// The stage that the curve belongs to.
    of: Option<String>,
    /// The stage that trains, or that reads the text before, as it was last seen.
    pub(super) stage: Option<StageProgress>,
    pub(super) end: Option<End>,
}

impl Course {
    /// A training, and the work to start for it.
    pub(super) fn new(kind: String, output: String, command: String, work: Runner) -> (Course, Runner) {
        let shared: Arc<Mutex<Shared>> = Arc::default();
        let job_side = shared.clone();
        let run: Runner = Arc::new(move |ctx| {
            lock(&job_side).progress = Some(ctx.progress().clone());
            let result = work(ctx);
            lock(&job_side).end = Some(match &result {
                Ok(_) => End::Done,
                Err(error) if error.is::<Cancelled>() => End::Cancelled,
                Err(error) => End::Failed(Message::of_error(error)),
            });
            result
        });
        (Course { kind, output, command, shared, curve: Vec::new(), of: None, stage: None, end: None }, run)
    }

    /// Takes over progress and end of the work from its thread.
    pub(super) fn look(&mut self) {
        if self.end.is_some() {
            return;
        }
        // The thread stores the end before it drops its reference, so references are counted before the end is read.
        let left = Arc::strong_count(&self.shared) == 1;
        let (progress, end) = {
            let shared = lock(&self.shared);
            (shared.progress.clone(), shared.end.clone())
        };
        self.end = end.or_else(|| left.then_some(End::Lost));
        let Some(stages) = progress.map(|progress| progress.stages()) else { return };
        let running = |stage: &&StageProgress| matches!(stage.state, StageState::Running);
        let has_loss = |stage: &&StageProgress| loss_of(&stage.note).is_some();
        // The innermost stage trains; once all have ended, the last one with a loss is shown.
        let now = stages.iter().rfind(running).or_else(|| stages.iter().rfind(has_loss)).or(stages.last());
        let Some(now) = now.cloned() else { return };
        if let Some(loss) = loss_of(&now.note) {
            if self.of.as_ref() != Some(&now.name) {
                self.curve.clear();
                self.of = Some(now.name.clone());
            }
            let point = (now.done as f64, loss);
            if self.curve.last() != Some(&point) {
                self.curve.push(point);
            }
            if self.curve.len() > POINTS {
                let mut number = 0;
                self.curve.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
            }
        }
        self.stage = Some(now);
    }

    /// The pass that the note of the stage tells, from 1.
    pub(super) fn epoch(&self) -> Option<u64> {
        after(&self.stage.as_ref()?.note, "epoch ")?.parse().ok()
    }
}

/// The loss that a training notes of itself: `epoch 2, loss 0.2413, lr 0.02100`. The one place that reads it.
fn loss_of(note: &str) -> Option<f64> {
    after(note, "loss ")?.parse().ok().filter(|loss: &f64| loss.is_finite())
}

/// The text after a word of a note, up to the next mark or space.
fn after<'n>(note: &'n str, word: &str) -> Option<&'n str> {
    let (_, rest) = note.split_once(word)?;
    rest.split([',', ' ']).next()
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_base::data::Report;
    use inkstone_base::job::Ctx;

    #[test]
    fn a_loss_is_read_of_a_note_as_trainers_write_it() {
        assert_eq!(loss_of("epoch 2, loss 0.2413, lr 0.02100"), Some(0.2413));
        assert_eq!(loss_of("epoch 1 · loss 1.5"), Some(1.5));
        assert_eq!(loss_of("epoch 1, loss NaN, lr 1"), None);
        assert_eq!(loss_of("512 windows/s"), None);
        assert_eq!(after("epoch 2, loss 0.2", "epoch "), Some("2"));
    }

    #[test]
    fn the_curve_follows_the_stage_that_trains_and_stays_bounded() {
        let ctx = Ctx::new(1, 1).unwrap();
        let (mut course, run) =
            Course::new("word2vec".to_owned(), String::new(), String::new(), Arc::new(|_| Ok(Vec::new())));
        lock(&course.shared).progress = Some(ctx.progress().clone());
        let stage = |name: &str, course: &mut Course, steps: usize| {
            let trained = ctx.stage(name, "words", Some(steps as u64), || {
                for step in 0..steps {
                    ctx.note(format!("epoch 1, loss {:.4}, lr 0.1", 1.0 / (step + 1) as f64));
                    ctx.advance(1)?;
                    course.look();
                }
                Ok(Report::new(name))
            });
            trained.unwrap();
        };
        stage("first", &mut course, 3);
        assert_eq!(course.curve, [(1.0, 1.0), (2.0, 0.5), (3.0, 0.3333)]);
        stage("second", &mut course, 3000);
        assert!(course.curve.len() <= POINTS && course.curve[0].0 == 1.0, "{}", course.curve.len());
        assert_eq!(course.epoch(), Some(1));
        drop(run);
        course.look();
        assert_eq!(course.end, Some(End::Lost));
    }
}
