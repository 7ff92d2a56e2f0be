//! Long work: the context that a stage runs under (progress, cancellation, threads, seed) and jobs on their own thread.
//!
//! A stage calls [`Ctx::stage`] once, then [`Ctx::advance`] at least every 100 ms; a front reads [`Progress::stages`]
//! whenever it draws. Nothing is pushed, so a slow screen never slows the work.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::data::Report;
use crate::expected::{Course, ExpectedStage, RunShare};
use crate::language::Word;
use crate::{error, message};

/// Time between two checks of paused work.
const PAUSE: Duration = Duration::from_millis(20);

/// The user asked to stop. Travels inside [`anyhow::Error`]; the fronts turn it into exit code 130.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Word(
            "已取消；已完成的部分都已保留，下次运行从该处继续",
            "cancelled; what was finished is kept, and the next run goes on from there",
        )
        .fmt(f)
    }
}

impl std::error::Error for Cancelled {}

#[derive(Clone, Debug)]
pub struct StageProgress {
    /// Stage name, as in its report.
    pub name: String,
    /// Name of the units: "docs", "rows", "dates".
    pub unit: &'static str,
    pub done: u64,
    /// Total of units, if known.
    pub total: Option<u64>,
    /// Share of the work that is done, from 0 to 1: by units, or by bytes of input where the total of units is unknown.
    pub share: Option<f64>,
    /// Newest note of the work, such as a loss or a learning rate. Often empty.
    pub note: String,
    /// Time at work since the stage began, without pauses; fixed once it has ended.
    pub elapsed: Duration,
    pub state: StageState,
}

#[derive(Clone, Debug)]
pub enum StageState {
    Running,
    /// Ended without an error.
    Done(Box<Report>),
    Failed,
}

impl StageProgress {
    /// Units per second so far; 0 before the first unit.
    pub fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.done as f64 / seconds } else { 0.0 }
    }

    /// Time left at the speed so far, where the share that is done is known.
    pub fn eta(&self) -> Option<Duration> {
        let share = self.share.filter(|share| *share > 0.0)?;
        Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * (1.0 - share) / share).ok()
    }
}

/// Counts and note of a stage at work.
#[derive(Default)]
struct Meter {
    done: AtomicU64,
    /// Bytes of input that are read, and their total; both are 0 for work that reads no files.
    read: AtomicU64,
    input: AtomicU64,
    note: Mutex<String>,
}

impl Meter {
    fn share(&self, total: Option<u64>) -> Option<f64> {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (done, total) = match total {
            Some(total) => (load(&self.done), total),
            None => (load(&self.read), load(&self.input)),
        };
        (total > 0).then(|| (done as f64 / total as f64).min(1.0))
    }

    fn note(&self) -> MutexGuard<'_, String> {
        self.note.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct JobStage {
    name: String,
    unit: &'static str,
    total: Option<u64>,
    meter: Arc<Meter>,
    /// Time at work of the run when the stage began.
    began: Duration,
    ended: Option<Duration>,
    state: StageState,
}

/// Time at work, which stands still while the work is paused.
struct Clock {
    made: Instant,
    held: Duration,
    since: Option<Instant>,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { made: Instant::now(), held: Duration::ZERO, since: None }
    }
}

impl Clock {
    fn worked(&self) -> Duration {
        let now = self.since.unwrap_or_else(Instant::now);
        now.duration_since(self.made).saturating_sub(self.held)
    }

    fn hold(&mut self, held: bool) {
        match (held, self.since) {
            (true, None) => self.since = Some(Instant::now()),
            (false, Some(since)) => {
                self.held += since.elapsed();
                self.since = None;
            }
            _ => {}
        }
    }
}

/// The progress of a run, shared between the work and the front that shows it.
#[derive(Clone, Default)]
pub struct Progress {
    stages: Arc<Mutex<Vec<JobStage>>>,
    clock: Arc<Mutex<Clock>>,
    course: Arc<Mutex<Course>>,
}

impl Progress {
    /// All stages so far, in the order they began.
    pub fn stages(&self) -> Vec<StageProgress> {
        let worked = self.worked();
        let snapshot = |s: &JobStage| StageProgress {
            name: s.name.clone(),
            unit: s.unit,
            done: s.meter.done.load(Ordering::Relaxed),
            total: s.total,
            share: s.meter.share(s.total),
            note: s.meter.note().clone(),
            elapsed: s.ended.unwrap_or_else(|| worked.saturating_sub(s.began)),
            state: s.state.clone(),
        };
        self.lock().iter().map(snapshot).collect()
    }

    /// Time at work since the context was made: pauses are left out.
    pub fn worked(&self) -> Duration {
        self.clock().worked()
    }

    /// The share of the run that is done; none where its stages are not known beforehand ([`Ctx::expect`]).
    pub fn share(&self) -> Option<RunShare> {
        let (stages, worked) = (self.stages(), self.worked());
        self.course().share(&stages, worked)
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JobStage>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, name: &str, unit: &'static str, total: Option<u64>) -> Arc<Meter> {
        let meter = Arc::new(Meter::default());
        let state = StageState::Running;
        let stage = JobStage {
            name: name.to_owned(),
            unit,
            total,
            meter: meter.clone(),
            began: self.worked(),
            ended: None,
            state,
        };
        self.lock().push(stage);
        meter
    }

    /// Ends the newest running stage of that name.
    fn end(&self, name: &str, state: StageState) {
        let worked = self.worked();
        let mut stages = self.lock();
        let open = stages.iter_mut().rev().find(|s| s.name == name && matches!(s.state, StageState::Running));
        if let Some(stage) = open {
            stage.ended = Some(worked.saturating_sub(stage.began));
            stage.state = state;
        }
    }
}

/// The result of a stage, which has a report.
pub trait Reported {
    /// The report of the stage.
    fn report_mut(&mut self) -> &mut Report;
}

impl Reported for Report {
    fn report_mut(&mut self) -> &mut Report {
        self
    }
}

impl<T> Reported for (T, Report) {
    fn report_mut(&mut self) -> &mut Report {
        &mut self.1
    }
}

/// Context of a stage: progress, cancellation, threads and seed. Cheap to clone; clones share all of it.
#[derive(Clone)]
pub struct Ctx {
    progress: Progress,
    meter: Arc<Mutex<Arc<Meter>>>,
    cancel: Arc<AtomicBool>,
    pause: Arc<AtomicBool>,
    pool: Arc<rayon::ThreadPool>,
    seed: u64,
}

impl Ctx {
    /// A context with its own thread pool; `threads` 0 takes every core.
    pub fn new(threads: usize, seed: u64) -> Result<Ctx> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("inkstone-{i}"))
            .build()
            .context(Word("无法启动工作线程", "cannot start the worker threads"))?;
        Ok(Ctx {
            progress: Progress::default(),
            meter: Arc::default(),
            cancel: Arc::default(),
            pause: Arc::default(),
            pool: Arc::new(pool),
            seed,
        })
    }

    /// Runs `work` as a stage: announces it, and records its report or its failure. `work` returns a report, alone or with what it made.
    ///
    /// `total` is in `unit`s; `None` when it is not known beforehand.
    pub fn stage<T: Reported>(
        &self,
        name: &str,
        unit: &'static str,
        total: Option<u64>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.check()?;
        let began = self.progress.worked();
        let outer = std::mem::replace(&mut *self.current(), self.progress.begin(name, unit, total));
        let mut result = catch_unwind(AssertUnwindSafe(work));
        *self.current() = outer;
        let state = match &mut result {
            Ok(Ok(made)) => {
                let report = made.report_mut();
                report.seconds = self.progress.worked().saturating_sub(began).as_secs_f64();
                StageState::Done(Box::new(report.clone()))
            }
            Ok(Err(_)) | Err(_) => StageState::Failed,
        };
        self.progress.end(name, state);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Records the report of a stage that is left out: in place of its failure, if it had begun.
    pub fn leave_out(&self, name: &str, unit: &'static str, report: Report) {
        let has_failed = |stage: &&mut JobStage| stage.name == name && matches!(stage.state, StageState::Failed);
        let state = StageState::Done(Box::new(report));
        if let Some(stage) = self.progress.lock().iter_mut().rev().find(has_failed) {
            stage.state = state;
            return;
        }
        self.progress.begin(name, unit, None);
        self.progress.end(name, state);
    }

    /// Expects these stages from now on; they share what is left of the run.
    pub fn expect(&self, stages: Vec<ExpectedStage>) {
        let (begun, worked) = (self.progress.stages(), self.progress.worked());
        self.progress.course().expect(stages, &begun, worked);
    }

    /// Expects these stages behind those of the next call of [`Ctx::expect`].
    pub fn expect_later(&self, stages: Vec<ExpectedStage>) {
        self.progress.course().expect_later(stages);
    }

    /// Counts `n` more units done; fails when the run was cancelled.
    pub fn advance(&self, n: u64) -> Result<(), Cancelled> {
        self.current().done.fetch_add(n, Ordering::Relaxed);
        self.check()
    }

    /// Starts the count of input bytes; `bytes` is their total. A stage without a total of units takes the share of bytes as its share.
    pub fn expect_input(&self, bytes: u64) {
        let meter = self.current();
        meter.input.store(bytes, Ordering::Relaxed);
        meter.read.store(0, Ordering::Relaxed);
    }

    /// Counts `bytes` more of the input as read.
    pub fn read_input(&self, bytes: u64) {
        self.current().read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Sets the note that is shown beside the count.
    pub fn note(&self, text: String) {
        *self.current().note() = text;
    }

    /// Fails when the run was cancelled, and waits while it is paused.
    pub fn check(&self) -> Result<(), Cancelled> {
        while self.pause.load(Ordering::Relaxed) && !self.is_cancelled() {
            std::thread::sleep(PAUSE);
        }
        if self.cancel.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }

    /// Asks all work under this context to stop at its next [`Ctx::advance`] or [`Ctx::check`].
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Pauses all work under this context at its next [`Ctx::advance`] or [`Ctx::check`], or lets it go on. Pauses do not count in times
    /// and rates.
    pub fn pause(&self, paused: bool) {
        self.progress.clock().hold(paused);
        self.pause.store(paused, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Runs `work` inside the thread pool, so that rayon's iterators in it use this context's threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// Number of worker threads. Results never depend on it.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The progress of all work under this context.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn current(&self) -> MutexGuard<'_, Arc<Meter>> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub enum JobState<T> {
    Running,
    Done(T),
    /// Ended with an error (a panic included).
    Failed(anyhow::Error),
    /// Stopped by the user.
    Cancelled,
}

/// Work on its own thread. It ends in exactly one final state, also when it panics; dropping the handle cancels it.
pub struct Job<T> {
    ctx: Ctx,
    end: Receiver<Result<T>>,
}

impl<T: Send + 'static> Job<T> {
    /// Starts `work` on a new thread.
    pub fn spawn(name: &str, ctx: Ctx, work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static) -> Result<Job<T>> {
        Job::spawn_then(name, ctx, work, || ())
    }

    /// Starts `work` on a new thread, which calls `then` once [`Job::poll`] can give the final state.
    pub fn spawn_then(
        name: &str,
        ctx: Ctx,
        work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<Job<T>> {
        let (sender, end) = channel();
        let inner = ctx.clone();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| work(&inner))).unwrap_or_else(|panic| {
                    Err(error!("内部错误：{}", "internal error: {}", panic_text(panic.as_ref())))
                });
                // The receiver is gone only when nobody waits for the result any more.
                let _ = sender.send(result);
                then();
            })
            .with_context(|| message!("无法为 {name} 启动线程", "cannot start a thread for {name}"))?;
        Ok(Job { ctx, end })
    }

    /// The state now. The final state is given once; ask no more after it.
    pub fn poll(&self) -> JobState<T> {
        match self.end.try_recv() {
            Err(TryRecvError::Empty) => JobState::Running,
            Err(TryRecvError::Disconnected) => {
                JobState::Failed(error!("任务线程结束时没有给出结果", "the job's thread ended without a result"))
            }
            Ok(result) => final_state(result),
        }
    }

    /// Waits for the final state, at most `timeout`.
    pub fn wait(&self, timeout: Duration) -> JobState<T> {
        self.end.recv_timeout(timeout).map_or(JobState::Running, final_state)
    }

    /// Asks the job to stop.
    pub fn cancel(&self) {
        self.ctx.cancel();
    }

    /// The context that the job runs under.
    pub fn ctx(&self) -> &Ctx {
        &self.ctx
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.ctx.cancel();
    }
}

fn final_state<T>(result: Result<T>) -> JobState<T> {
    match result {
        Ok(value) => JobState::Done(value),
        Err(error) if error.is::<Cancelled>() => JobState::Cancelled,
        Err(error) => JobState::Failed(error),
    }
}

thread_local! {
    /// True if a panic on this thread is expected and caught by its caller.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on untrusted input and catches its panic without printing it.
///
/// `work` must do all of its work on the calling thread.
pub fn contained<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CONTAINED.get() {
                before(info);
            }
        }));
    });
    let outer = CONTAINED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    result
}

/// True if a panic on this thread is expected and caught by its caller.
pub fn is_contained() -> bool {
    CONTAINED.get()
}

pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).map(str::to_owned);
    text.unwrap_or_else(|| Word("没有说明的内部错误", "a panic without a message").to_string())
}

#[cfg(test)]
mod tests;
