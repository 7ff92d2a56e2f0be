//! The batch front: progress on stderr (bars on a terminal, plain lines otherwise), exactly one JSON object on stdout.
//!
//! Exit codes: 0 done, 1 done but some rows or runs failed, 2 could not run or could not print the result; ended by a signal, 128 plus
//! its number (130 Ctrl-C, 131 Ctrl-\, 143 SIGTERM, 129 SIGHUP); 137 out of memory ([`inkstone_base::memory`]), as if the process had
//! been killed.

use std::backtrace::Backtrace;
use std::fmt;
use std::io::{ErrorKind, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{HumanCount, HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use inkstone_base::data::{Report, for_machines, message_of};
use inkstone_base::expected::RunShare;
use inkstone_base::job::{self, Cancelled, Ctx, StageProgress, StageState};
use inkstone_base::language::{Language, Message, Word};
use inkstone_base::memory;
use inkstone_base::message;
use inkstone_base::remedy;
use inkstone_base::signals::{self, Ending, Hearing};
use inkstone_base::terms::{self, term};
use inkstone_base::width;
use inkstone_tui::crash::Recorder;

/// Time between two drawings of the bars.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Time between two lines of a long stage in a plain log.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The exit code of a run that was cancelled, but by no signal.
const CANCELLED: u8 = 130;

/// The result of a command.
#[derive(Debug, Default)]
pub struct Summary {
    /// True if some rows or runs failed (exit code 1).
    pub partial: bool,
    /// The fields of the JSON object.
    pub fields: Map<String, Value>,
}

impl Summary {
    pub fn set(&mut self, name: &str, value: impl serde::Serialize) {
        let value = serde_json::to_value(value).expect("results are plain data and always have a JSON form");
        self.fields.insert(name.to_owned(), value);
    }

    /// Sets the note of a project, if it has one.
    pub fn set_note(&mut self, note: &str) {
        if !note.is_empty() {
            self.set("note", note);
        }
    }
}

/// Runs a command as a batch: shows progress, prints its summary, and returns the exit code.
pub fn run(command: &str, ctx: &Ctx, work: impl FnOnce(&Ctx) -> Result<Summary>) -> ExitCode {
    let began = Instant::now();
    let signal = Arc::new(AtomicU8::new(0));
    // Signals are handled until the result is printed: a full pipe may take it late.
    let hearing = cancel_on_signal(ctx, signal.clone());
    let result = hearing.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"));
    let result = result.and_then(|_| guarded(|| watched(ctx, work)));
    let (mut object, status, code) = concluded(command, result, Ending::of_code(signal.load(Ordering::Relaxed)));
    object.insert("seconds".into(), json!((began.elapsed().as_secs_f64() * 1e3).round() / 1e3));
    if let Some(megabytes) = memory::peak_mb() {
        object.insert("peak_memory_mb".into(), json!(megabytes));
    }
    print_result(object, status, code)
}

/// Prints the JSON object of a command and returns the exit code.
fn print_result(object: Map<String, Value>, status: &str, code: u8) -> ExitCode {
    debug_assert!(code != 0 || status == "done");
    let line = serde_json::to_string_pretty(&Value::Object(object)).expect("a JSON object always has a text form");
    match print(&format!("{}\n", width::shown_json(&line))) {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            let why = remedy::with_remedy(&error);
            say(&message!(
                "错误：结果（{status}）无法写到标准输出：{why}",
                "error: the result ({status}) could not be written to stdout: {why}"
            ));
            ExitCode::from(code.max(2))
        }
    }
}

/// Runs a command as a batch, or fails with the reason why its context could not be made.
pub fn run_under(command: &str, ctx: Result<Ctx>, work: impl FnOnce(&Ctx) -> Result<Summary>) -> ExitCode {
    match ctx {
        Ok(ctx) => run(command, &ctx, work),
        Err(error) => {
            let (object, status, code) = concluded(command, Err(error), None);
            print_result(object, status, code)
        }
    }
}

/// Prints the error of a command on stderr, and returns its JSON object, its status and its exit code.
fn concluded(command: &str, result: Result<Summary>, ending: Option<Ending>) -> (Map<String, Value>, &'static str, u8) {
    let mut object = Map::new();
    object.insert("command".into(), command.into());
    let (status, code) = match result {
        Ok(summary) => {
            let status = if summary.partial { ("partial", 1) } else { ("done", 0) };
            object.insert("status".into(), status.0.into());
            object.extend(summary.fields.into_iter().map(|(name, value)| (name, for_machines(value))));
            status
        }
        Err(error) if error.is::<Cancelled>() => {
            object.insert("status".into(), "cancelled".into());
            if let Some(ending) = ending {
                object.insert("signal".into(), ending.name().into());
            }
            say(&Cancelled.to_string());
            ("cancelled", ending.map_or(CANCELLED, Ending::code))
        }
        Err(error) => {
            let message = remedy::with_remedy(&error);
            say(&format!("{ERROR}{message}"));
            object.insert("status".into(), "failed".into());
            let _guard = Language::En.on_this_thread();
            object.insert("error".into(), remedy::with_remedy(&error).into());
            if let Some(crash) = error.downcast_ref::<Crash>() {
                object.insert("report".into(), crash.report.as_ref().map(|path| path.display().to_string()).into());
            }
            ("failed", 2)
        }
    };
    (object, status, code)
}

/// A panic of the program, on whichever thread.
#[derive(Debug)]
struct Crash {
    /// The message of the panic.
    message: String,
    /// The file with the message and the backtrace; none where it could not be written.
    report: Option<PathBuf>,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = match &self.report {
            Some(path) => message!(
                "请把报告 {} 发给 Inkstone 的作者",
                "please send the report {} to the makers of Inkstone",
                path.display()
            ),
            None => message!("报告无法写入", "a report could not be written"),
        };
        let text = message!(
            "程序因自身的错误而终止：{}；已完成的部分都已保留，重新运行同一命令即从该处继续；{report}",
            "the program ended by an error of its own: {}; what was finished is kept, and the same command goes on from there; {report}",
            self.message
        );
        text.fmt(f)
    }
}

impl std::error::Error for Crash {}

/// A panic and where it came from, noted by the hook; a worker's panic reaches the caller without its backtrace.
static PANICS: Mutex<Vec<(String, Backtrace)>> = Mutex::new(Vec::new());
/// Number of commands that are guarded now.
static GUARDED: AtomicUsize = AtomicUsize::new(0);

/// Runs the work and turns a panic on any of its threads into an error. The panic is not printed; a report says where it was.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDED.load(Ordering::Acquire) == 0 {
                before(info);
            } else if !job::is_contained() {
                let backtrace = Backtrace::force_capture();
                PANICS.lock().unwrap_or_else(PoisonError::into_inner).push((info.to_string(), backtrace));
            }
        }));
    });
    GUARDED.fetch_add(1, Ordering::AcqRel);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.fetch_sub(1, Ordering::AcqRel);
    result.unwrap_or_else(|panic| {
        let message = job::panic_text(panic.as_ref()).to_owned();
        let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
        let at = panics.iter().rposition(|(noted, _)| noted.contains(&message));
        let (noted, backtrace) = match at {
            Some(at) => panics.swap_remove(at),
            None => (message.clone(), Backtrace::disabled()),
        };
        let report = Recorder::default().report(&noted, &backtrace).ok();
        Err(Crash { message, report }.into())
    })
}

/// Writes to stdout. A reader that closed the pipe wants no more, which is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context(Word("无法写到标准输出", "cannot write to stdout"))
        }
        _ => Ok(()),
    }
}

/// The first signal to end asks the work to stop; the second ends the process at once, which loses only what no file shows yet.
///
/// The watcher prints the message, not the thread that hears signals: printing may have to wait for a reader of the pipe.
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
            let mut view = ProgressView::new();
            let mut stopping = false;
            loop {
                let last = over.load(Ordering::Acquire);
                view.show(&ctx.progress().stages());
                view.show_share(ctx.progress().share(), last);
                if !stopping && ctx.is_cancelled() {
                    stopping = true;
                    view.say(
                        Word("正在停止；再按一次立即停止", "stopping; press again to stop at once")
                            .to(Language::of_messages()),
                    );
                }
                if last {
                    return;
                }
                thread::park_timeout(DRAW_EVERY);
            }
        };
        let watcher = thread::Builder::new().name("watcher".to_owned()).spawn_scoped(scope, watch);
        let watcher =
            watcher.context(Word("无法启动显示进度的线程", "cannot start a thread that shows the progress"))?;
        let _notice = EndNotice { over: &over, watcher: watcher.thread() };
        work(ctx)
    })
}

/// Tells the watcher when it is dropped that the work is over, also after a panic; else the scope would wait for the watcher forever.
struct EndNotice<'a> {
    over: &'a AtomicBool,
    watcher: &'a Thread,
}

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// The stages as they were last shown.
struct ProgressView {
    bars: Option<MultiProgress>,
    /// The bar of the whole run, below those of the stages.
    share: Option<ProgressBar>,
    last_share: Instant,
    lines: Vec<StageLine>,
}

struct StageLine {
    bar: Option<ProgressBar>,
    ended: bool,
    last_line: Instant,
}

impl ProgressView {
    fn new() -> ProgressView {
        let bars = std::io::stderr()
            .is_terminal()
            .then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        ProgressView { bars, share: None, last_share: Instant::now(), lines: Vec::new() }
    }

    /// Shows how far the whole run is: as the last bar, or in a plain log as a line now and then.
    fn show_share(&mut self, share: Option<RunShare>, over: bool) {
        let Some(share) = share else { return };
        match &self.bars {
            Some(bars) => {
                let bar = self.share.get_or_insert_with(|| bars.add(whole_bar()));
                if over {
                    return bar.finish_and_clear();
                }
                bar.set_position((share.done * WHOLE as f64) as u64);
                bar.set_message(of_stages(&share).to_string());
            }
            None if !over && self.last_share.elapsed() >= LINE_EVERY => {
                say(&message!(
                    "{} {:.0} %，{}",
                    "{} {:.0} %, {}",
                    column(RUN.to(Language::of_messages())),
                    100.0 * share.done,
                    of_stages(&share)
                ));
                self.last_share = Instant::now();
            }
            None => {}
        }
    }

    /// Prints a line without disturbing the bars.
    fn say(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| say(text)),
            None => say(text),
        }
    }

    fn show(&mut self, stages: &[StageProgress]) {
        for (i, stage) in stages.iter().enumerate() {
            if i == self.lines.len() {
                let add = |bars: &MultiProgress| match &self.share {
                    Some(whole) => bars.insert_before(whole, new_bar(stage)),
                    None => bars.add(new_bar(stage)),
                };
                let bar = self.bars.as_ref().map(add);
                self.lines.push(StageLine { bar, ended: false, last_line: Instant::now() });
            }
            let shown = &mut self.lines[i];
            if shown.ended {
                continue;
            }
            shown.ended = !matches!(stage.state, StageState::Running);
            match &shown.bar {
                Some(bar) if shown.ended => bar.finish_with_message(width::shown(&line(stage)).into_owned()),
                Some(bar) => {
                    bar.set_position(stage.done);
                    bar.set_message(width::shown(&pace(stage)).into_owned());
                }
                None if shown.ended || shown.last_line.elapsed() >= LINE_EVERY => {
                    say(&format!("{} {}", column(&term(&stage.name)), line(stage)));
                    shown.last_line = Instant::now();
                }
                None => {}
            }
        }
    }
}

/// Stands before an error on stderr.
pub(crate) const ERROR: Word = Word("错误：", "error: ");

/// Name of the bar of the whole run.
const RUN: Word = Word("全程", "run");

/// Columns of the names of stages; a longer name is not cut.
const NAME: usize = 10;

fn column(name: &str) -> String {
    name.to_owned() + &" ".repeat(NAME.saturating_sub(width::width(name)))
}

/// Length of the bar of the whole run.
const WHOLE: u64 = 1000;

fn whole_bar() -> ProgressBar {
    let bar = ProgressBar::new(WHOLE);
    let style = ProgressStyle::with_template("{prefix:<10} {bar:24} {percent:>3} %  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(column(RUN.to(Language::of_messages())));
    bar
}

/// `stage 9 of 35, 2 minutes left`.
fn of_stages(share: &RunShare) -> Message {
    let left = share.left.map_or_else(Message::default, |left| Message {
        zh: format!("，剩余 {} 秒", left.as_secs()),
        en: format!(", {} left", HumanDuration(left)),
    });
    message!("第 {}/{} 步{left}", "stage {} of {}{left}", share.stage, share.stages)
}

fn new_bar(stage: &StageProgress) -> ProgressBar {
    let bar = ProgressBar::new(stage.total.unwrap_or(0));
    let template = match stage.total {
        Some(_) => "{prefix:<10} {bar:24} {percent:>3} %  {msg}",
        None => "{prefix:<10} {spinner} {msg}",
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(column(&term(&stage.name)));
    bar
}

fn line(stage: &StageProgress) -> String {
    match &stage.state {
        StageState::Running => pace(stage),
        StageState::Failed => Word("失败", "failed").to_string(),
        StageState::Done(report) => {
            if let Some(reason) = report.left_out() {
                return message!("略过：{reason}", "left out: {reason}").to_string();
            }
            let named = report.damaged().map(|damage| {
                message!("\n{:<10} {damage}：已重新生成", "\n{:<10} {damage}: made again", "").to_string()
            });
            let warnings = report.facts.iter().filter(|(name, _)| name.starts_with("warning_") && !report.unchanged);
            let warned = warnings.filter_map(|(_, text)| {
                let text = message_of(text)?;
                Some(message!("\n{:<10} 警告：{text}", "\n{:<10} warning: {text}", "").to_string())
            });
            std::iter::once(ended(report)).chain(named).chain(warned).collect()
        }
    }
}

fn pace(stage: &StageProgress) -> String {
    let (done, rate, unit) = (HumanCount(stage.done), HumanCount(stage.rate() as u64), term(stage.unit));
    let mut text = message!("{done} {unit}，{rate}/秒", "{done} {unit}, {rate}/s").to_string();
    if let Some(share) = stage.share.filter(|_| stage.total.is_none()) {
        text = format!("{:.0} %  {text}", 100.0 * share);
    }
    if let Some(eta) = stage.eta() {
        text += &match Language::of_messages() {
            Language::Zh => format!("，剩余 {} 秒", eta.as_secs()),
            Language::En => format!(", {} left", HumanDuration(eta)),
        };
    }
    if !stage.note.is_empty() {
        let note = terms::note(&stage.note);
        text += &message!("，{note}", ", {note}");
    }
    text
}

fn ended(report: &Report) -> String {
    if report.unchanged {
        return Word("无变化，沿用", "unchanged, kept").to_string();
    }
    let (rows_in, out) = (HumanCount(report.rows_in), HumanCount(report.rows_out));
    let mut text = message!("输入 {rows_in}，输出 {out}", "{rows_in} in, {out} out").to_string();
    for (reason, n) in &report.dropped {
        let (n, reason) = (HumanCount(*n), term(reason));
        text += &message!("，{reason} {n}", ", {n} {reason}");
    }
    text + &message!("，{:.2} 秒", ", {:.2} s", report.seconds)
}

pub(crate) fn say(text: &str) {
    // Nobody reads a closed stderr; that is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{}", width::shown(text));
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn a_panic_on_any_thread_is_a_failed_command_with_a_report() {
        let ctx = Ctx::new(2, 1).unwrap();
        let row = |n: usize| if n == 70 { panic!("no row {n}") } else { n };
        let here = |_: &Ctx| -> Result<Summary> { panic!("no row 70") };
        let worker = |ctx: &Ctx| -> Result<Summary> {
            let sum: usize = ctx.install(|| (0..100).into_par_iter().map(row).sum());
            anyhow::bail!("{sum} rows")
        };
        let thread = |_: &Ctx| -> Result<Summary> {
            let end = thread::scope(|scope| scope.spawn(|| row(70)).join());
            end.map(|_| Summary::default()).map_err(|panic| panic::resume_unwind(panic))
        };
        let stage = |ctx: &Ctx| -> Result<Summary> {
            ctx.stage("rows", "rows", None, || -> Result<Report> { panic!("no row {}", 70) })
                .map(|_| Summary::default())
        };
        type Work<'w> = &'w dyn Fn(&Ctx) -> Result<Summary>;
        for work in [&here as Work<'_>, &worker, &thread, &stage] {
            let result = guarded(|| watched(&ctx, work));
            let (object, status, code) = concluded("run", result, None);
            assert_eq!((status, code, &object["status"]), ("failed", 2, &json!("failed")));
            let error = object["error"].as_str().unwrap();
            assert!(error.contains("error of its own: no row 70; what was finished is kept"), "{error}");
            let path = object["report"].as_str().unwrap();
            assert!(error.contains(path), "{error}");
            let report = std::fs::read_to_string(path).unwrap();
            assert!(report.contains("no row 70") && report.contains("headless.rs"), "{report}");
            std::fs::remove_file(path).unwrap();
        }
        let fine = guarded(|| watched(&ctx, |_| Ok(Summary::default())));
        assert_eq!(concluded("run", fine, None).2, 0);
    }

    #[test]
    fn a_crash_without_a_report_is_told_all_the_same() {
        let crash = anyhow::Error::new(Crash { message: "no row".to_owned(), report: None });
        assert!(Language::En.error(&crash).ends_with("a report could not be written"));
        assert!(Language::Zh.error(&crash).contains("报告无法写入"));
        let (object, ..) = concluded("run", Err(crash), None);
        assert_eq!(object["report"], Value::Null);
    }
}
