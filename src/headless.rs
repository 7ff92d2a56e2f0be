//! The batch front: progress on stderr (bars on a terminal, plain lines otherwise), exactly one JSON object on stdout.
//!
//! Exit codes: 0 done, 1 done but some rows or runs failed, 2 could not run, 130 cancelled.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{HumanCount, HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use crate::data::Report;
use crate::job::{Cancelled, Ctx, StageProgress, StageState};
use crate::width;

/// How often the bars are drawn.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// How often a plain log gets a line of a long stage.
const LINE_EVERY: Duration = Duration::from_secs(10);

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
    cancel_on_signal(ctx);
    let began = Instant::now();
    let result = watched(ctx, work);
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
            say(&Cancelled.to_string());
            ("cancelled", 130)
        }
        Err(error) => {
            object.insert("status".into(), "failed".into());
            object.insert("error".into(), format!("{error:#}").into());
            say(&format!("error: {error:#}"));
            ("failed", 2)
        }
    };
    object.insert("seconds".into(), json!((began.elapsed().as_secs_f64() * 1e3).round() / 1e3));
    if let Some(megabytes) = peak_memory_mb() {
        object.insert("peak_memory_mb".into(), json!(megabytes));
    }
    let line = serde_json::to_string_pretty(&Value::Object(object)).expect("a JSON object always has a text form");
    let line = width::shown_json(&line);
    // A reader that closed the pipe wants no more; the exit code still tells how it went.
    let _ = writeln!(std::io::stdout(), "{line}");
    debug_assert!(code != 0 || status == "done");
    ExitCode::from(code)
}

/// The first Ctrl-C (or SIGTERM, SIGHUP) asks the work to stop; the second ends the process, which loses only what
/// no file shows yet.
fn cancel_on_signal(ctx: &Ctx) {
    let ctx = ctx.clone();
    let handler = move || {
        if ctx.is_cancelled() {
            std::process::exit(130);
        }
        say("stopping; press again to stop at once");
        ctx.cancel();
    };
    // A handler can be set once per process; a second command in one process keeps the first handler.
    let _ = ctrlc::set_handler(handler);
}

fn watched<T>(ctx: &Ctx, work: impl FnOnce(&Ctx) -> Result<T>) -> Result<T> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut view = View::new();
            loop {
                let last = over.load(Ordering::Acquire);
                view.show(&ctx.progress().stages());
                if last {
                    return;
                }
                std::thread::park_timeout(DRAW_EVERY);
            }
        });
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
