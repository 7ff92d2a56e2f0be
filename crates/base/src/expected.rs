//! The share of a run that is done: its stages weighted by the seconds that each is expected to take.

use std::time::Duration;

use crate::job::{StageProgress, StageState};

/// Seconds that a stage weighs at the least, so that a stage that is kept counts among the others.
const LEAST_SECONDS: f64 = 0.02;

/// The largest share of a run that has not ended.
const MOST: f64 = 0.99;

/// The share of a stage whose end is not in sight, at the most.
const MOST_OF_STAGE: f64 = 0.95;

/// Seconds over which the speed of this run takes the place of the expectation.
const PRIOR_SECONDS: f64 = 2.0;

/// A stage that a run is expected to come to.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedStage {
    /// Name of the stage, as in its report.
    pub name: String,
    pub seconds: f64,
    /// Units that it is expected to take; 0 if unknown.
    pub units: u64,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunShare {
    /// From 0 to 0.99 until the run has ended; it never falls.
    pub done: f64,
    /// Number of the stage under way, from 1.
    pub stage: usize,
    /// Number of all stages.
    pub stages: usize,
    /// Time left; none before there is a first stage.
    pub left: Option<Duration>,
}

/// The stages that a run is expected to come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    stages: Vec<ExpectedStage>,
    /// Stages that are expected once those are over.
    later: Vec<ExpectedStage>,
    /// Stages that had begun, and the time at work, when this was expected.
    begun: usize,
    since: Duration,
    /// Expected stages that were passed before, and the share that was done.
    passed: usize,
    before: f64,
    highest: f64,
}

impl Course {
    /// Expects these stages from now on. The share that is done stays; those stages share the rest.
    pub(crate) fn expect(&mut self, stages: Vec<ExpectedStage>, begun: &[StageProgress], worked: Duration) {
        let now = self.share(begun, worked);
        self.passed += now.map_or(0, |_| self.place(begun).map_or(0, |place| place.over));
        self.before = now.map_or(0.0, |share| share.done);
        self.stages = stages.into_iter().chain(std::mem::take(&mut self.later)).collect();
        (self.begun, self.since) = (begun.len(), worked);
    }

    /// Expects these stages once those are over that are expected next.
    pub(crate) fn expect_later(&mut self, stages: Vec<ExpectedStage>) {
        self.later = stages;
    }

    /// The share that is done; none where nothing is expected.
    pub(crate) fn share(&mut self, stages: &[StageProgress], worked: Duration) -> Option<RunShare> {
        if self.stages.is_empty() {
            return None;
        }
        let weight = |stage: &ExpectedStage| stage.seconds.max(LEAST_SECONDS);
        let total: f64 = self.stages.iter().map(weight).sum();
        let place = self.place(stages);
        let at = place.as_ref().map_or(0, |place| place.at);
        let part = place.as_ref().map_or(0.0, |place| place.part);
        let passed: f64 = self.stages[..at].iter().map(weight).sum::<f64>() + part * weight(&self.stages[at]);
        let done = self.before + (1.0 - self.before) * passed / total;
        self.highest = self.highest.max(done.min(MOST));
        let elapsed = worked.saturating_sub(self.since).as_secs_f64();
        let slowness = ((elapsed + PRIOR_SECONDS) / (passed + PRIOR_SECONDS)).clamp(0.05, 50.0);
        let rest_of_stage = match place.as_ref().and_then(|place| place.left) {
            Some(left) => left.as_secs_f64(),
            None => (1.0 - part) * weight(&self.stages[at]) * slowness,
        };
        let later: f64 = self.stages[at + 1..].iter().map(weight).sum();
        let left = rest_of_stage + later * slowness;
        Some(RunShare {
            done: self.highest,
            stage: self.passed + at + 1,
            stages: self.passed + self.stages.len() + self.later.len(),
            left: place.and(Duration::try_from_secs_f64(left).ok()),
        })
    }

    /// The expected stage that the run is at; none before the first.
    fn place(&self, stages: &[StageProgress]) -> Option<Place> {
        let mut place: Option<Place> = None;
        for stage in &stages[self.begun.min(stages.len())..] {
            let from = place.as_ref().map_or(0, |place| place.over);
            // A stage may be expected more than once, and stages inside others are not expected at all.
            let found = self.stages[from..].iter().position(|expected| expected.name == stage.name);
            let Some(at) = found.map(|further| from + further) else { continue };
            let over = !matches!(stage.state, StageState::Running);
            let part = if over { 1.0 } else { part_of(stage, &self.stages[at]) };
            let left = if over { Some(Duration::ZERO) } else { stage.eta() };
            place = Some(Place { at, part, left, over: if over { at + 1 } else { at } });
        }
        place
    }
}

struct Place {
    /// Number of the expected stage.
    at: usize,
    /// Share of the stage that is done.
    part: f64,
    left: Option<Duration>,
    /// Expected stages that are over.
    over: usize,
}

/// The share of a stage at work: by its units, else by its time.
fn part_of(stage: &StageProgress, expected: &ExpectedStage) -> f64 {
    if let Some(share) = stage.share {
        return share;
    }
    if expected.units > 0 {
        return (stage.done as f64 / expected.units as f64).min(MOST_OF_STAGE);
    }
    let elapsed = stage.elapsed.as_secs_f64();
    (elapsed / (elapsed + expected.seconds.max(LEAST_SECONDS))).min(MOST_OF_STAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Report;

    fn expected(name: &str, seconds: f64) -> ExpectedStage {
        ExpectedStage { name: name.to_owned(), seconds, units: 0 }
    }

    fn stage(name: &str, done: u64, total: Option<u64>, over: bool) -> StageProgress {
        let state = if over { StageState::Done(Box::new(Report::new(name))) } else { StageState::Running };
        let (name, note, elapsed) = (name.to_owned(), String::new(), Duration::from_secs(1));
        let share = total.map(|total| done as f64 / total as f64);
        StageProgress { name, unit: "docs", done, total, share, note, elapsed, state }
    }

    #[test]
    fn stages_weigh_what_they_take_and_stages_inside_others_nothing() {
        let mut course = Course::default();
        assert_eq!(course.share(&[], Duration::ZERO), None);
        course.expect(vec![expected("a", 1.0), expected("b", 8.0), expected("c", 1.0)], &[], Duration::ZERO);
        let first = course.share(&[], Duration::ZERO).unwrap();
        assert_eq!((first.done, first.stage, first.stages, first.left), (0.0, 1, 3, None));
        let mut stages =
            vec![stage("a", 5, Some(5), true), stage("b", 1, Some(4), false), stage("fit", 9, Some(9), true)];
        let second = course.share(&stages, Duration::from_secs(3)).unwrap();
        assert!((second.done - 0.3).abs() < 1e-9, "{second:?}");
        assert_eq!((second.stage, second.stages), (2, 3));
        stages[1] = stage("b", 0, Some(4), false);
        assert_eq!(course.share(&stages, Duration::from_secs(3)).unwrap().done, second.done, "it never goes back");
        stages[1] = stage("b", 4, Some(4), true);
        stages.push(stage("c", 0, None, false));
        let third = course.share(&stages, Duration::from_secs(9)).unwrap();
        assert!(third.done > 0.9 && third.done <= MOST && third.stage == 3, "{third:?}");
        assert!(third.left.unwrap() < Duration::from_secs(2));
    }

    #[test]
    fn a_new_expectation_shares_the_rest_and_goes_on_counting() {
        let mut course = Course::default();
        course.expect_later(vec![expected("last", 2.0)]);
        course.expect(vec![expected("generate", 2.0)], &[], Duration::ZERO);
        let stages = vec![stage("generate", 0, None, true)];
        let half = course.share(&stages, Duration::from_secs(2)).unwrap();
        assert_eq!((half.done, half.stage, half.stages), (0.5, 1, 2));
        course.expect(vec![expected("ingest", 1.0), expected("clean", 1.0)], &stages, Duration::from_secs(2));
        let same = course.share(&stages, Duration::from_secs(2)).unwrap();
        assert_eq!((same.done, same.stage, same.stages), (0.5, 2, 3));
        let stages = [&stages[..], &[stage("ingest", 3, Some(3), true)]].concat();
        assert_eq!(course.share(&stages, Duration::from_secs(3)).unwrap().done, 0.75);
    }

    #[test]
    fn time_left_follows_the_speed_of_the_run() {
        let mut course = Course::default();
        course.expect(vec![expected("a", 10.0), expected("b", 10.0)], &[], Duration::ZERO);
        let stages = [stage("a", 1, Some(1), true)];
        let left =
            |seconds| course.clone().share(&stages, Duration::from_secs(seconds)).unwrap().left.unwrap().as_secs_f64();
        assert!((left(10) - 10.0).abs() < 1e-9);
        assert!(left(40) > 30.0 && left(1) < 3.0, "{} {}", left(40), left(1));
    }
}
