//! The real terminal: taken over and given back on every way out, and the loop that feeds the workbench.

use std::io::{Stdout, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event as Input, KeyCode,
    KeyEvent, KeyModifiers, MouseEventKind,
};
use crossterm::style::Print;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, event, execute};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal};
#[cfg(unix)]
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::app::App;
use super::crash::{Hook, Recorder, Whereabouts};
use super::event::Event;
use super::graphics::Protocol;
use super::mending::{Mending, MendingBench};
use super::outside::{self, EditRequest};
use super::scene::{Scene, ShownPicture};
use super::suspend::{self, StopRequests};
use super::welcome::Welcome;
use super::{Language, WelcomeBench, Workspace, view};
use inkstone_base::bail;
#[cfg(unix)]
use inkstone_base::language::Word;
use inkstone_base::memory;
use inkstone_base::signals::{self, Hearing};

/// Time between two looks at the run.
const TICK: Duration = Duration::from_millis(80);

/// The time that a stopped run has to release what it holds before the program ends all the same.
const PATIENCE: Duration = Duration::from_secs(10);

/// Shows the workbench until the user leaves.
pub(crate) fn show(workspace: Workspace) -> Result<()> {
    OpenTerminal::take(workspace.mouse)?.work(workspace)
}

/// Shows what can be done without a project, then the workbench on what the user chose.
pub(crate) fn welcome(bench: WelcomeBench) -> Result<()> {
    let mut stage = OpenTerminal::take(false)?;
    let mut welcome = Welcome::new(bench, stage.size()?, stage.sender.clone());
    stage.play(&mut welcome)?;
    work_on(stage, welcome.into_opened())
}

/// Shows the settings of a configuration that cannot be read, then the workbench on it once it can.
pub(crate) fn mend(bench: MendingBench) -> Result<()> {
    let mut stage = OpenTerminal::take(false)?;
    let mut mending = Mending::new(bench, stage.size()?, stage.sender.clone());
    stage.play(&mut mending)?;
    work_on(stage, mending.into_opened())
}

/// The workbench on what was opened, if something was.
fn work_on(mut stage: OpenTerminal, opened: Option<Workspace>) -> Result<()> {
    match opened {
        Some(workspace) => {
            if workspace.mouse {
                stage.screen.mouse = true;
                execute!(stdout(), EnableMouseCapture)
                    .context(Word("无法在此终端上绘制", "cannot draw on this terminal"))?;
            }
            stage.work(workspace)
        }
        None => Ok(()),
    }
}

impl Scene for App {
    fn take(&mut self, event: Event) -> bool {
        App::take(self, event)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        view::draw(self, frame);
    }

    fn place(&self) -> Whereabouts {
        let page = self.page.name().to(Language::En);
        Whereabouts { page, size: (self.size.width, self.size.height), typing: self.typing() }
    }

    fn is_over(&self) -> bool {
        self.has_quit()
    }

    fn take_clipboard(&mut self) -> Option<String> {
        App::take_clipboard(self)
    }

    fn take_edit(&mut self) -> Option<EditRequest> {
        App::take_edit(self)
    }

    fn take_pictures(&mut self) -> Vec<ShownPicture> {
        App::take_pictures(self)
    }

    fn edited(&mut self, ended: Result<()>) {
        App::edited(self, ended);
    }
}

/// The terminal with what is drawn on it, and the one channel that everything arrives through.
struct OpenTerminal {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    sender: Sender<Event>,
    events: Receiver<Event>,
    // The thread for the keyboard ends before the terminal is given back.
    keys: Keys,
    screen: Screen,
    recorder: Recorder,
    asked: StopRequests,
    /// Signals to end are heard until all is put away.
    hearing: Hearing,
}

impl OpenTerminal {
    fn take(mouse: bool) -> Result<OpenTerminal> {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
        refuse_other_than_utf8(locale.as_deref().unwrap_or_default())?;
        let (sender, events) = channel();
        let recorder = Recorder::default();
        let screen = Screen::take(mouse, recorder.clone())?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))
            .context(Word("无法在此终端上绘制（可用 --headless）", "cannot draw on this terminal (try --headless)"))?;
        // Told to end by the system (a closed window, a kill): leave in good order.
        let end = sender.clone();
        let hearing = signals::on_end(move |_| drop(end.send(Event::End)))?;
        let asked = StopRequests::listen().context(Word("无法监听信号", "cannot listen to signals"))?;
        let keys = Keys::listen(sender.clone(), asked.clone())?;
        Ok(OpenTerminal { terminal, sender, events, keys, screen, recorder, asked, hearing })
    }

    fn size(&self) -> Result<(u16, u16)> {
        let size = self.terminal.size().context(Word("无法向终端询问尺寸", "cannot ask the terminal for its size"))?;
        Ok((size.width, size.height))
    }

    /// The workbench, until the user leaves it.
    fn work(mut self, workspace: Workspace) -> Result<()> {
        self.recorder.works_in(workspace.project.dir());
        let mut app = App::remembering(workspace, self.size()?, self.sender.clone())?;
        // Nothing of what was shown before may shine through. (To clear a terminal asks it where its cursor is, and not all answer.)
        let (width, height) = self.size()?;
        self.terminal
            .resize(Rect::new(0, 0, width, height))
            .context(Word("无法在此终端上绘制", "cannot draw on this terminal"))?;
        let played = catch_unwind(AssertUnwindSafe(|| self.play(&mut app)));
        let OpenTerminal { keys, screen, hearing: _hearing, .. } = self;
        drop(keys);
        drop(screen);
        let Ok(result) = played else {
            // The rest of the workbench may panic once more; the report is already written.
            let _ = catch_unwind(AssertUnwindSafe(|| app.abandon(PATIENCE)));
            bail!(
                "工作台因自身的错误而退出；任务已停止，已完成的部分都保留",
                "the workbench ended by an error of its own; its jobs were stopped, and what they had finished is kept"
            );
        };
        app.leave(PATIENCE);
        result
    }

    fn play(&mut self, scene: &mut impl Scene) -> Result<()> {
        let mut to_clipboard = |text: &str| {
            execute!(stdout(), Print(clipboard(text))).context(Word("无法写到此终端", "cannot write to this terminal"))
        };
        let pause = || {
            let stop = self.asked.take_stop();
            if stop {
                give_back(&self.screen.taken);
                suspend::stop().context(Word("无法暂时挂起", "cannot stop for a while"))?;
            }
            if stop | self.asked.take_went_on() {
                self.screen.take_again()?;
                return Ok(true);
            }
            Ok(false)
        };
        let edit = |request: &EditRequest| {
            let _hold = self.keys.hold();
            give_back(&self.screen.taken);
            let ended = outside::edit(request);
            self.screen.take_again()?;
            Ok(ended)
        };
        let print = |text: &str| {
            execute!(stdout(), cursor::Hide, Print(text))
                .context(Word("无法写到此终端", "cannot write to this terminal"))
        };
        let hands = Hands { to_clipboard: &mut to_clipboard, pause: &pause, edit: &edit, print: &print };
        serve(scene, &mut self.terminal, &self.events, &self.recorder, hands)
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
        "此终端设为 {named}（{locale}），而工作台用 UTF-8 绘制：请把终端编码设为 UTF-8 并设 LANG=zh_CN.UTF-8，或使用 --headless",
        "this terminal is set to {named} ({locale}), and the workbench draws UTF-8: set the terminal's encoding to UTF-8 and LANG=zh_CN.UTF-8, or run with --headless"
    );
}

/// The terminal's part of what a scene asks for.
struct Hands<'a> {
    to_clipboard: &'a mut dyn FnMut(&str) -> Result<()>,
    /// Stops the program where that was asked for; true when it went on.
    pause: &'a dyn Fn() -> Result<bool>,
    /// Lets the editor have the terminal, and says how the editor ended.
    edit: &'a dyn Fn(&EditRequest) -> Result<Result<()>>,
    /// Writes escape sequences.
    print: &'a dyn Fn(&str) -> Result<()>,
}

/// Draws and takes in events until the user leaves.
fn serve<S: Scene, B: Backend<Error: std::error::Error + Send + Sync + 'static>>(
    scene: &mut S,
    terminal: &mut Terminal<B>,
    events: &Receiver<Event>,
    recorder: &Recorder,
    Hands { to_clipboard, pause, edit, print }: Hands<'_>,
) -> Result<()> {
    let take = |scene: &mut S, event| {
        recorder.note(scene.place(), &event);
        scene.take(event)
    };
    let mut draw = true;
    let mut looked = Instant::now();
    while !scene.is_over() {
        let edited = scene.take_edit().map(|request| edit(&request)).transpose()?;
        let pictures = scene.take_pictures();
        let was_away = edited.is_some() || !pictures.is_empty();
        for picture in pictures {
            let size = terminal.size().context(Word("无法向终端询问尺寸", "cannot ask the terminal for its size"))?;
            print(&Protocol::screen(&picture.sequences, &picture.below, size.height))?;
            let key = events.iter().find_map(|event| match event {
                Event::Key(key) => Some(Some(key.code)),
                Event::End => {
                    take(scene, Event::End);
                    Some(None)
                }
                event => {
                    take(scene, event);
                    None
                }
            });
            print(picture.protocol.clear())?;
            if matches!(key, None | Some(None | Some(KeyCode::Esc | KeyCode::Char('q')))) {
                break;
            }
        }
        if let Some(ended) = edited {
            scene.edited(ended);
        }
        if pause()? || was_away {
            // Nothing is left of the picture, and the window may have another size.
            let size = terminal.size().context(Word("无法向终端询问尺寸", "cannot ask the terminal for its size"))?;
            terminal
                .resize(Rect::new(0, 0, size.width, size.height))
                .context(Word("无法在此终端上绘制", "cannot draw on this terminal"))?;
            draw |= take(scene, Event::Resize(size.width, size.height));
        }
        if draw {
            terminal
                .draw(|frame| scene.draw(frame))
                .context(Word("无法在此终端上绘制", "cannot draw on this terminal"))?;
        }
        draw = false;
        if let Some(text) = scene.take_clipboard() {
            to_clipboard(&text)?;
        }
        match events.recv_timeout(TICK.saturating_sub(looked.elapsed())) {
            Ok(event) => draw |= take(scene, event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        // Everything that has come meanwhile is taken in before the one drawing.
        for event in events.try_iter() {
            draw |= take(scene, event);
        }
        if looked.elapsed() >= TICK {
            draw |= take(scene, Event::Tick);
            looked = Instant::now();
        }
    }
    Ok(())
}

/// The sequence (OSC 52) by which a terminal, also one far away, puts a text into the clipboard.
fn clipboard(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text))
}

/// The terminal in our hands; given back when dropped.
struct Screen {
    taken: Arc<AtomicBool>,
    mouse: bool,
    _hook: Hook,
}

impl Screen {
    fn take(mouse: bool, recorder: Recorder) -> Result<Screen> {
        remember_modes();
        enable_raw_mode().context(Word(
            "没有可供绘制的终端（请用 --headless）",
            "this is no terminal to draw on (use --headless)",
        ))?;
        let taken = Arc::new(AtomicBool::new(true));
        let to_give_back = taken.clone();
        let screen = Screen { taken, mouse, _hook: Hook::set(recorder, move || give_back(&to_give_back)) };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes the terminal once more: after a stop its modes are those of the shell.
    fn take_again(&self) -> Result<()> {
        self.taken.store(true, Ordering::Relaxed);
        let _ = disable_raw_mode();
        enable_raw_mode().context(Word("终端已不能再绘制", "the terminal is no longer ours to draw on"))?;
        self.enter()
    }

    fn enter(&self) -> Result<()> {
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)
            .context(Word("无法在此终端上绘制", "cannot draw on this terminal"))?;
        if self.mouse {
            execute!(stdout(), EnableMouseCapture)
                .context(Word("无法在此终端上绘制", "cannot draw on this terminal"))?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(&self.taken);
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

/// The modes that the terminal had before it was taken, for a process that has no memory left to ask for them.
#[cfg(unix)]
static MODES: OnceLock<Termios> = OnceLock::new();

/// Escape sequences that leave the mouse, bracketed paste and the alternate screen, and show the
/// cursor.
#[cfg(unix)]
const LEAVE: &[u8] = b"\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// Sees to it that the terminal is given back also where memory has run out.
#[cfg(unix)]
fn remember_modes() {
    if let Ok(modes) = tcgetattr(rustix::stdio::stdin()) {
        let _ = MODES.set(modes);
        memory::before_last_words(|| {
            // Another program has the terminal while this one is stopped, but a stopped one asks for no memory.
            if let Some(modes) = MODES.get() {
                let _ = rustix::io::write(rustix::stdio::stdout(), LEAVE);
                let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, modes);
            }
        });
    }
}

#[cfg(not(unix))]
fn remember_modes() {}

/// The thread that waits for keys; it stops looking when this is dropped.
///
/// Nobody waits for its end: on a terminal that was closed the library's read never returns.
struct Keys {
    stop: Arc<AtomicBool>,
    /// True while another program has the keyboard, and true once the thread has let go of it.
    hold: Arc<[AtomicBool; 2]>,
}

/// The keyboard is another program's until this is dropped.
struct Hold(Arc<[AtomicBool; 2]>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0[0].store(false, Ordering::SeqCst);
    }
}

impl Keys {
    fn listen(events: Sender<Event>, asked: StopRequests) -> Result<Keys> {
        let (stop, hold) =
            (Arc::new(AtomicBool::new(false)), Arc::new([AtomicBool::new(false), AtomicBool::new(false)]));
        let (stopped, held) = (stop.clone(), hold.clone());
        thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    let is_held = held[0].load(Ordering::SeqCst);
                    held[1].store(is_held, Ordering::SeqCst);
                    if is_held {
                        thread::sleep(TICK);
                        continue;
                    }
                    // Without a terminal there is nobody left to serve.
                    let event = match next_input() {
                        Ok(None) => continue,
                        Ok(Some(Event::Key(key))) if is_ctrl_z(&key) => {
                            if suspend::has_shell() {
                                asked.ask();
                            }
                            continue;
                        }
                        Ok(Some(event)) => event,
                        Err(_) => Event::End,
                    };
                    let end = matches!(event, Event::End);
                    if events.send(event).is_err() || end {
                        return;
                    }
                }
            })
            .context(Word("无法启动读取键盘的线程", "cannot start a thread for the keyboard"))?;
        Ok(Keys { stop, hold })
    }

    /// Leaves the keyboard to another program, once the thread no longer waits for a key.
    fn hold(&self) -> Hold {
        self.hold[0].store(true, Ordering::SeqCst);
        let since = Instant::now();
        while !self.hold[1].load(Ordering::SeqCst) && since.elapsed() < 5 * TICK {
            thread::sleep(TICK / 8);
        }
        Hold(self.hold.clone())
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn is_ctrl_z(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL
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
    use ratatui::backend::{ClearType, TestBackend, WindowSize};
    use ratatui::buffer::Cell;
    use ratatui::layout::{Position, Size};

    use super::*;
    use crate::bench::{Bench, SMALL, filled};

    /// A terminal that panics as soon as something is drawn on it a second time.
    struct Panics {
        inner: TestBackend,
        drawn: usize,
    }

    impl Backend for Panics {
        type Error = <TestBackend as Backend>::Error;

        fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> Result<(), Self::Error> {
            self.drawn += 1;
            assert!(self.drawn < 2, "a cell outside of the screen");
            self.inner.draw(content)
        }

        fn hide_cursor(&mut self) -> Result<(), Self::Error> {
            self.inner.hide_cursor()
        }

        fn show_cursor(&mut self) -> Result<(), Self::Error> {
            self.inner.show_cursor()
        }

        fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
            self.inner.get_cursor_position()
        }

        fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
            self.inner.set_cursor_position(position)
        }

        fn clear(&mut self) -> Result<(), Self::Error> {
            self.inner.clear()
        }

        fn clear_region(&mut self, kind: ClearType) -> Result<(), Self::Error> {
            self.inner.clear_region(kind)
        }

        fn size(&self) -> Result<Size, Self::Error> {
            self.inner.size()
        }

        fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
            self.inner.window_size()
        }

        fn flush(&mut self) -> Result<(), Self::Error> {
            self.inner.flush()
        }
    }

    #[test]
    fn a_panic_while_drawing_gives_the_terminal_back_and_leaves_a_report() {
        let dir = filled();
        let mut bench = Bench::open(&dir, |_| ());
        let recorder = Recorder::default();
        recorder.works_in(dir.path());
        let given_back = Arc::new(AtomicBool::new(false));
        let back = given_back.clone();
        let hook = Hook::set(recorder.clone(), move || back.store(true, Ordering::Relaxed));
        let mut terminal = Terminal::new(Panics { inner: TestBackend::new(SMALL.0, SMALL.1), drawn: 0 }).unwrap();
        let (sender, events) = channel();
        for event in [Event::Resize(80, 24), Event::Key(crossterm::event::KeyEvent::from(event::KeyCode::Char('9')))] {
            sender.send(event).unwrap();
        }
        let served = catch_unwind(AssertUnwindSafe(|| {
            let hands = Hands {
                to_clipboard: &mut |_| Ok(()),
                pause: &|| Ok(false),
                edit: &|_| Ok(Ok(())),
                print: &|_| Ok(()),
            };
            serve(&mut bench.app, &mut terminal, &events, &recorder, hands)
        }));
        drop(hook);
        assert!(served.is_err() && given_back.load(Ordering::Relaxed));
        let crash = std::fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.path());
        let crash: Vec<_> = crash.filter(|path| path.to_string_lossy().contains("crash-")).collect();
        assert_eq!(crash.len(), 1);
        let text = std::fs::read_to_string(&crash[0]).unwrap();
        for part in ["a cell outside of the screen", "terminal.rs", "80 x 24", "Factor: key 9", "panic_fmt"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

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
