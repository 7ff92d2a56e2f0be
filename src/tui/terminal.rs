//! The real terminal: taken over and given back on every way out, and the loop that feeds the workbench.

use std::io::{Stdout, stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event as Input,
    MouseEventKind,
};
use crossterm::style::Print;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, event, execute};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

use super::app::App;
use super::event::Event;
use super::welcome::Welcome;
use super::{WelcomeBench, Workspace, view};

/// Time between two looks at the run.
const TICK: Duration = Duration::from_millis(80);

/// How long a stopped run may take to put away what it holds before the program ends all the same.
const PATIENCE: Duration = Duration::from_secs(10);

/// Shows the workbench until the user leaves.
pub(crate) fn show(workspace: Workspace) -> Result<()> {
    Stage::take(workspace.mouse)?.work(workspace)
}

/// Shows what can be done without a project, then the workbench on what the user chose.
pub(crate) fn welcome(bench: WelcomeBench) -> Result<()> {
    let mut stage = Stage::take(false)?;
    let mut welcome = Welcome::new(bench, stage.size()?, stage.sender.clone());
    stage.play(&mut welcome)?;
    match welcome.into_opened() {
        Some(workspace) => {
            if workspace.mouse {
                execute!(stdout(), EnableMouseCapture).context("cannot draw on this terminal")?;
            }
            stage.work(workspace)
        }
        None => Ok(()),
    }
}

/// What is played on the terminal.
pub(crate) trait Scene {
    /// Takes in an event; true when the picture may have changed.
    fn take(&mut self, event: Event) -> bool;
    /// Draws everything.
    fn draw(&self, frame: &mut Frame<'_>);
    /// Whether the user has left.
    fn is_over(&self) -> bool;
    /// Text to be handed to the clipboard, once.
    fn take_clipboard(&mut self) -> Option<String> {
        None
    }
}

impl Scene for App {
    fn take(&mut self, event: Event) -> bool {
        App::take(self, event)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        view::draw(self, frame);
    }

    fn is_over(&self) -> bool {
        self.has_quit()
    }

    fn take_clipboard(&mut self) -> Option<String> {
        App::take_clipboard(self)
    }
}

/// The terminal with what is drawn on it, and the one channel that everything arrives through.
struct Stage {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    sender: Sender<Event>,
    events: Receiver<Event>,
    // The thread for the keyboard ends before the terminal is given back.
    keys: Keys,
    screen: Screen,
}

impl Stage {
    fn take(mouse: bool) -> Result<Stage> {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
        refuse_other_than_utf8(locale.as_deref().unwrap_or_default())?;
        let (sender, events) = channel();
        let screen = Screen::take(mouse)?;
        let terminal =
            Terminal::new(CrosstermBackend::new(stdout())).context("cannot draw on this terminal (try --headless)")?;
        // Told to end by the system (a closed window, a kill): leave in good order. Where the program has its own handler
        // that one decides, and this changes nothing.
        let end = sender.clone();
        let _ = ctrlc::try_set_handler(move || drop(end.send(Event::End)));
        let keys = Keys::listen(sender.clone())?;
        Ok(Stage { terminal, sender, events, keys, screen })
    }

    fn size(&self) -> Result<(u16, u16)> {
        let size = self.terminal.size().context("cannot ask the terminal for its size")?;
        Ok((size.width, size.height))
    }

    /// The workbench, until the user leaves it.
    fn work(mut self, workspace: Workspace) -> Result<()> {
        let mut app = App::new(workspace, self.size()?, self.sender.clone())?;
        // Nothing of what was shown before may shine through.
        self.terminal.clear().context("cannot draw on this terminal")?;
        let result = self.play(&mut app);
        let Stage { keys, screen, .. } = self;
        drop(keys);
        drop(screen);
        app.leave(PATIENCE);
        result
    }

    fn play(&mut self, scene: &mut impl Scene) -> Result<()> {
        serve(scene, &mut self.terminal, &self.events)
    }
}

/// Fails on a terminal that draws GBK and its like, on which every Chinese character would be two wrong ones.
fn refuse_other_than_utf8(locale: &str) -> Result<()> {
    let set = locale.split(['.', '@']).nth(1).unwrap_or_default().to_ascii_lowercase().replace(['-', '_'], "");
    let named = match set.as_str() {
        "gbk" | "gb2312" | "gb18030" | "euccn" | "big5" | "big5hkscs" | "euctw" => set,
        _ => return Ok(()),
    };
    bail!(
        "this terminal is set to {named} ({locale}), and the workbench draws UTF-8: set the terminal's encoding to UTF-8 and \
         LANG=zh_CN.UTF-8, or run with --headless / 终端编码为 {named}，请改为 UTF-8 并设 LANG=zh_CN.UTF-8，或使用 --headless"
    );
}

fn serve(
    scene: &mut impl Scene,
    terminal: &mut Terminal<CrosstermBackend<Stdout>>,
    events: &Receiver<Event>,
) -> Result<()> {
    let mut draw = true;
    let mut looked = Instant::now();
    while !scene.is_over() {
        if draw {
            terminal.draw(|frame| scene.draw(frame)).context("cannot draw on this terminal")?;
        }
        draw = false;
        if let Some(text) = scene.take_clipboard() {
            execute!(stdout(), Print(clipboard(&text))).context("cannot write to this terminal")?;
        }
        match events.recv_timeout(TICK.saturating_sub(looked.elapsed())) {
            Ok(event) => draw |= scene.take(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        // Everything that has come meanwhile is taken in before the one drawing.
        for event in events.try_iter() {
            draw |= scene.take(event);
        }
        if looked.elapsed() >= TICK {
            draw |= scene.take(Event::Tick);
            looked = Instant::now();
        }
    }
    Ok(())
}

/// The sequence (OSC 52) by which a terminal, also one far away, puts a text into the clipboard.
fn clipboard(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text))
}

type PanicHook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The terminal in our hands; given back when dropped.
struct Screen {
    before: Arc<PanicHook>,
    taken: Arc<AtomicBool>,
}

impl Screen {
    fn take(mouse: bool) -> Result<Screen> {
        enable_raw_mode().context("this is no terminal to draw on (use --headless)")?;
        let before: Arc<PanicHook> = Arc::new(panic::take_hook());
        let taken = Arc::new(AtomicBool::new(true));
        let (hook, to_give_back) = (before.clone(), taken.clone());
        let owner = thread::current().id();
        // A panic of a worker is caught by its job and shown on the page: printing it would only spoil the picture.
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() == owner {
                give_back(&to_give_back);
                hook(info);
            }
        }));
        let screen = Screen { before, taken };
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste).context("cannot draw on this terminal")?;
        if mouse {
            execute!(stdout(), EnableMouseCapture).context("cannot draw on this terminal")?;
        }
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(&self.taken);
        // While a panic unwinds, the hook cannot be changed, and need not be.
        if !thread::panicking() {
            let before = self.before.clone();
            panic::set_hook(Box::new(move |info| before(info)));
        }
    }
}

/// Gives the terminal back, once: a second time would put the cursor over the message of a panic.
fn give_back(taken: &AtomicBool) {
    if !taken.swap(false, Ordering::Relaxed) {
        return;
    }
    // Nothing can be done about a terminal that does not even take this.
    let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// The thread that waits for keys; it stops looking when this is dropped.
///
/// Nobody waits for its end: on a terminal that was closed the library's read never returns.
struct Keys {
    stop: Arc<AtomicBool>,
}

impl Keys {
    fn listen(events: Sender<Event>) -> Result<Keys> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    // Without a terminal there is nobody left to serve.
                    let event = match next_input() {
                        Ok(None) => continue,
                        Ok(Some(event)) => event,
                        Err(_) => Event::End,
                    };
                    let end = matches!(event, Event::End);
                    if events.send(event).is_err() || end {
                        return;
                    }
                }
            })
            .context("cannot start a thread for the keyboard")?;
        Ok(Keys { stop })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn next_input() -> std::io::Result<Option<Event>> {
    if !event::poll(TICK)? {
        return Ok(None);
    }
    Ok(match event::read()? {
        Input::Key(key) => Some(Event::Key(key)),
        Input::Paste(text) => Some(Event::Paste(text)),
        // Moves of the mouse alone mean nothing here.
        Input::Mouse(mouse) if !matches!(mouse.kind, MouseEventKind::Moved | MouseEventKind::Drag(_)) => {
            Some(Event::Mouse(mouse))
        }
        Input::Resize(width, height) => Some(Event::Resize(width, height)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_of_other_encodings_are_refused_with_the_way_out() {
        for locale in ["zh_CN.GBK", "zh_CN.gb18030", "zh_CN.GB2312@pinyin", "zh_TW.Big5", "zh_CN.EUC-CN"] {
            let error = refuse_other_than_utf8(locale).unwrap_err().to_string();
            assert!(error.contains(locale) && error.contains("zh_CN.UTF-8") && error.contains("--headless"), "{error}");
        }
        for locale in ["", "C", "zh_CN.UTF-8", "en_US.utf8", "C.UTF-8", "zh_CN"] {
            refuse_other_than_utf8(locale).unwrap();
        }
    }
}
