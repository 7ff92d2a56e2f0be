//! The batch front: progress on stderr (bars on a terminal, plain lines otherwise), exactly one JSON object on stdout.
//!
//! Exit codes: 0 done, 1 done but some rows or runs failed, 2 could not run or could not say how it went; told to end by a signal,
//! 128 and its number (130 Ctrl-C, 131 Ctrl-\, 143 SIGTERM, 129 SIGHUP); 137 out of memory ([`crate::memory`]), as of a process that was killed.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{HumanCount, HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use crate::data::Report;
use crate::job::{Cancelled, Ctx, StageProgress, StageState};
use crate::remedy;
use crate::signals::{self, Ending, Hearing};
use crate::width;

/// How often the bars are drawn.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// How often a plain log gets a line of a long stage.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The exit code of a run that was cancelled, but by no signal.
const CANCELLED: u8 = 130;

/// What a command says at its end.
#[derive(Debug, Default)]
pub struct Summary {
    /// Whether some rows or runs failed (exit code 1).
    pub partial: bool,
    /// The fields of the JSON object.
    pub fields: Map<String, Value>,
}

impl Summary {
    /// Sets a field.
    pub fn set(&mut self, name: &str, value: impl serde::Serialize) {
        let value = serde_json::to_value(value).expect("results are plain data and always have a JSON form");
        self.fields.insert(name.to_owned(), value);
    }
}

/// Runs a command in front of nobody: shows progress, prints its summary, and gives the exit code.
pub fn run(command: &str, ctx: &Ctx, work: impl FnOnce(&Ctx) -> Result<Summary>) -> ExitCode {
    let began = Instant::now();
    let signal = Arc::new(AtomicU8::new(0));
    // Heard until the last word is out: a full pipe may take it late.
    let hearing = cancel_on_signal(ctx, signal.clone());
    let result = hearing.as_ref().map_err(|error| anyhow::anyhow!("{error:#}")).and_then(|_| watched(ctx, work));
    let mut object = Map::new();
    object.insert("command".into(), command.into());
    let (status, code) = match result {
        Ok(summary) => {
            let status = if summary.partial { ("partial", 1) } else { ("done", 0) };
            object.insert("status".into(), status.0.into());
            object.extend(summary.fields);
            status
        }
        Err(error) if error.is::<Cancelled>() => {
            object.insert("status".into(), "cancelled".into());
            let ending = Ending::of_code(signal.load(Ordering::Relaxed));
            if let Some(ending) = ending {
                object.insert("signal".into(), ending.name().into());
            }
            say(&Cancelled.to_string());
            ("cancelled", ending.map_or(CANCELLED, Ending::code))
        }
        Err(error) => {
            let told = remedy::told(&error);
            say(&format!("error: {told}"));
            object.insert("status".into(), "failed".into());
            object.insert("error".into(), told.into());
            ("failed", 2)
        }
    };
    object.insert("seconds".into(), json!((began.elapsed().as_secs_f64() * 1e3).round() / 1e3));
    if let Some(megabytes) = peak_memory_mb() {
        object.insert("peak_memory_mb".into(), json!(megabytes));
    }
    debug_assert!(code != 0 || status == "done");
    let line = serde_json::to_string_pretty(&Value::Object(object)).expect("a JSON object always has a text form");
    match print(&format!("{}\n", width::shown_json(&line))) {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            say(&format!("error: the result ({status}) could not be written to stdout: {}", remedy::told(&error)));
            ExitCode::from(code.max(2))
        }
    }
}

/// Writes to stdout. A reader that closed the pipe wants no more, which is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to stdout"),
        _ => Ok(()),
    }
}

/// The first signal to end asks the work to stop; the second ends the process at once, which loses only what no file shows yet.
///
/// The watcher says so, not the thread that hears signals: what it says may have to wait for a reader.
fn cancel_on_signal(ctx: &Ctx, signal: Arc<AtomicU8>) -> Result<Hearing> {
    let ctx = ctx.clone();
    signals::on_end(move |ending| {
        if ctx.is_cancelled() {
            signals::exit_at_once(ending.code());
        }
        signal.store(ending.code(), Ordering::Relaxed);
        ctx.cancel();
    })
}

fn watched<T>(ctx: &Ctx, work: impl FnOnce(&Ctx) -> Result<T>) -> Result<T> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = || {
            let mut view = View::new();
            let mut stopping = false;
            loop {
                let last = over.load(Ordering::Acquire);
                view.show(&ctx.progress().stages());
                if !stopping && ctx.is_cancelled() {
                    stopping = true;
                    view.say("stopping; press again to stop at once");
                }
                if last {
                    return;
                }
                thread::park_timeout(DRAW_EVERY);
            }
        };
        let watcher = thread::Builder::new().name("watcher".to_owned()).spawn_scoped(scope, watch);
        let watcher = watcher.context("cannot start a thread that shows the progress")?;
        let _told = Tell { over: &over, watcher: watcher.thread() };
        work(ctx)
    })
}

/// Tells the watcher that the work is over, also when it panicked: nobody waits for a watcher that was not told.
struct Tell<'a> {
    over: &'a AtomicBool,
    watcher: &'a Thread,
}

impl Drop for Tell<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// Runs a command as [`run`] does; where its context could not be made, the command fails with the reason.
pub fn run_under(command: &str, ctx: Result<Ctx>, work: impl FnOnce(&Ctx) -> Result<Summary>) -> ExitCode {
    let error = match ctx {
        Ok(ctx) => return run(command, &ctx, work),
        Err(error) => remedy::told(&error),
    };
    say(&format!("error: {error}"));
    let object = json!({"command": command, "status": "failed", "error": error});
    if let Err(error) = print(&format!("{}\n", width::shown_json(&format!("{object:#}")))) {
        say(&format!("error: the result (failed) could not be written to stdout: {}", remedy::told(&error)));
    }
    ExitCode::from(2)
}

/// The stages as they were last shown.
struct View {
    bars: Option<MultiProgress>,
    rows: Vec<Row>,
}

struct Row {
    bar: Option<ProgressBar>,
    ended: bool,
    last_line: Instant,
}

impl View {
    fn new() -> View {
        let bars = std::io::stderr()
            .is_terminal()
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        View { bars, rows: Vec::new() }
    }

    /// Says something beside the bars.
    fn say(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| say(text)),
            None => say(text),
        }
    }

    fn show(&mut self, stages: &[StageProgress]) {
        for (i, stage) in stages.iter().enumerate() {
            if i == self.rows.len() {
                let bar = self.bars.as_ref().map(|bars| bars.add(new_bar(stage)));
                self.rows.push(Row { bar, ended: false, last_line: Instant::now() });
            }
            let row = &mut self.rows[i];
            if row.ended {
                continue;
            }
            row.ended = !matches!(stage.state, StageState::Running);
            match &row.bar {
                Some(bar) if row.ended => bar.finish_with_message(width::shown(&line(stage)).into_owned()),
                Some(bar) => {
                    bar.set_position(stage.done);
                    bar.set_message(width::shown(&pace(stage)).into_owned());
                }
                None if row.ended || row.last_line.elapsed() >= LINE_EVERY => {
                    say(&format!("{:<10} {}", stage.name, line(stage)));
                    row.last_line = Instant::now();
                }
                None => {}
            }
        }
    }
}

fn new_bar(stage: &StageProgress) -> ProgressBar {
    let bar = ProgressBar::new(stage.total.unwrap_or(0));
    let template = match stage.total {
        Some(_) => "{prefix:<10} {bar:24} {percent:>3} %  {msg}",
        None => "{prefix:<10} {spinner} {msg}",
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(stage.name.clone());
    bar
}

fn line(stage: &StageProgress) -> String {
    match &stage.state {
        StageState::Running => pace(stage),
        StageState::Failed => "failed".into(),
        StageState::Done(report) => {
            let named = report.damaged().map(|damage| format!("\n{:<10} {damage}: made again", ""));
            std::iter::once(ended(report)).chain(named).collect()
        }
    }
}

fn pace(stage: &StageProgress) -> String {
    let mut text = format!("{} {}, {}/s", HumanCount(stage.done), stage.unit, HumanCount(stage.rate() as u64));
    if let Some(eta) = stage.eta() {
        text += &format!(", {} left", HumanDuration(eta));
    }
    if !stage.note.is_empty() {
        text += &format!(", {}", stage.note);
    }
    text
}

fn ended(report: &Report) -> String {
    if report.unchanged {
        return "unchanged, kept".into();
    }
    let mut text = format!("{} in, {} out", HumanCount(report.rows_in), HumanCount(report.rows_out));
    for (reason, n) in &report.dropped {
        text += &format!(", {} {reason}", HumanCount(*n));
    }
    text + &format!(", {:.2} s", report.seconds)
}

fn say(text: &str) {
    // Nobody reads a closed stderr; that is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{}", width::shown(text));
}

/// The most memory the process ever held, where the system tells (Linux).
fn peak_memory_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
