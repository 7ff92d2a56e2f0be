//! The workbench on a pseudo-terminal: the same pipeline under another front, and the terminal given back.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use inkstone_base::lock::{self, Attempt};
use inkstone_tables::project::Project;
use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use tempfile::TempDir;

use crate::desk::Desk;
use crate::{assert_nothing_half_written, assert_same_files, copy_folder, demo, results, run, stage};

/// How long a step of the workbench may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(300);

/// Leaves the alternate screen; shows the cursor again.
const GIVEN_BACK: [&str; 2] = ["\x1b[?1049l", "\x1b[?25h"];

/// Starts the program on a terminal of 100 x 30 cells, lets `play` have the keys, and returns all that was drawn, with the exit
/// code.
fn on_a_terminal(folder: &Path, args: &[&str], play: impl FnOnce(&mut Keys<'_>)) -> (String, Option<i32>) {
    drawn_by(inkstone(folder, args), play)
}

/// The program as [`on_a_terminal`] starts it.
pub(crate) fn inkstone(folder: &Path, args: &[&str]) -> Command {
    Command::new(env!("CARGO_BIN_EXE_inkstone"))
        .args(args)
        .current_dir(folder)
        .env("TERM", "xterm")
        .env("ORT_DYLIB_PATH", crate::library())
}

/// Starts a command on a terminal of 100 x 30 cells, lets `play` have the keys, and returns all that was drawn, with the exit code.
pub(crate) fn drawn_by(command: Command, play: impl FnOnce(&mut Keys<'_>)) -> (String, Option<i32>) {
    let (pty, pts) = open().expect("the system gives a pseudo-terminal");
    pty.resize(Size::new(30, 100)).unwrap();
    let child = command.spawn(pts).expect("the program starts");
    let drawn = Mutex::new(Vec::new());
    let code = thread::scope(|scope| {
        scope.spawn(|| {
            let mut piece = [0; 4096];
            // The end of the program is the end of the file, or on Linux an error.
            while let Ok(n @ 1..) = (&pty).read(&mut piece) {
                drawn.lock().unwrap().extend_from_slice(&piece[..n]);
            }
        });
        let mut keys = Keys { pty: &pty, drawn: &drawn, child: Killed(child) };
        play(&mut keys);
        keys.press_until_it_ends()
    });
    (String::from_utf8_lossy(&drawn.into_inner().unwrap()).into_owned(), code)
}

/// The program; a test that fails does not leave it running, or nobody would close the terminal.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) struct Keys<'p> {
    pty: &'p Pty,
    drawn: &'p Mutex<Vec<u8>>,
    child: Killed,
}

impl Keys<'_> {
    pub(crate) fn press(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this has been drawn, whatever colours it is in and however the cursor went.
    pub(crate) fn see(&self, text: &str) {
        let escapes = regex::Regex::new("\x1b\\[[0-9;?]*[a-zA-Z]").unwrap();
        wait_until(&format!("{text:?} on the screen"), || {
            escapes.replace_all(&String::from_utf8_lossy(&self.drawn.lock().unwrap()), "").contains(text)
        });
    }

    /// Leaves the workbench. A run that has just ended may still ask whether to leave, so the key is given again.
    fn press_until_it_ends(&mut self) -> Option<i32> {
        let mut code = None;
        wait_until("the end of the program", || {
            if let Some(status) = self.child.0.try_wait().expect("the program can be waited for") {
                code = Some(status.code());
                return true;
            }
            let _ = self.pty.write_all(b"q");
            thread::sleep(Duration::from_millis(500));
            false
        });
        code.flatten()
    }
}

pub(crate) fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The sources of the demo and its configuration, of which nothing is run yet.
fn sources() -> TempDir {
    let (source, folder) = (demo::small().copy(), tempfile::tempdir().unwrap());
    std::fs::copy(source.path().join("workbench.toml"), folder.path().join("workbench.toml")).unwrap();
    for part in ["data", "model"] {
        std::fs::create_dir(folder.path().join(part)).unwrap();
        copy_folder(&source.path().join(part), &folder.path().join(part));
    }
    folder
}

#[test]
fn both_fronts_write_the_same_bytes() {
    let folders = [sources(), sources()];
    let [seen, unseen] = &folders;
    run(unseen.path(), &["run", "--headless"]).finished();

    let state = seen.path().join(".inkstone/state.json");
    let (drawn, code) = on_a_terminal(seen.path(), &["run", "-c", "workbench.toml", "--lang", "en"], |_| {
        wait_until("the export", || std::fs::read_to_string(&state).is_ok_and(|text| text.contains("\"export\"")));
    });
    assert_eq!(code, Some(0), "{drawn}");
    for mark in GIVEN_BACK {
        assert!(drawn.contains(mark), "the terminal was not given back: no {mark:?}");
    }
    assert!(drawn.contains("synthetic"), "the screens say what the data is");
    assert_same_files(&results(unseen.path()), &results(seen.path()));
}

#[test]
fn the_workbench_opens_on_a_project_and_answers_keys() {
    let desk = Desk::new();
    desk.run().finished();
    let before = results(desk.folder());
    let (drawn, code) = on_a_terminal(desk.folder(), &["--lang", "zh"], |keys| {
        keys.press("1");
        keys.see("季度业绩大幅增长");
        keys.press("?");
        keys.see("全部按键");
    });
    assert_eq!(code, Some(0), "{drawn}");
    assert!(GIVEN_BACK.iter().all(|mark| drawn.contains(mark)));
    assert_same_files(&before, &results(desk.folder()));
}

/// Starts the program on a terminal, and closes that once this is drawn and `then` is there. Returns when the program has ended.
fn close_terminal(folder: &Path, args: &[&str], text: &str, mut then: impl FnMut() -> bool) {
    let (pty, pts) = open().expect("the system gives a pseudo-terminal");
    pty.resize(Size::new(30, 100)).unwrap();
    let mut child = Killed(inkstone(folder, args).spawn(pts).expect("the program starts"));
    let mut drawn = Vec::new();
    let mut piece = [0; 4096];
    while !(String::from_utf8_lossy(&drawn).contains(text) && then()) {
        let n = (&pty).read(&mut piece).expect("the program draws");
        drawn.extend_from_slice(&piece[..n]);
    }
    drop(pty);
    wait_until("the end of the program", || child.0.try_wait().expect("the program can be waited for").is_some());
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let desk = Desk::new();
    desk.run().finished();
    close_terminal(desk.folder(), &[], "Inkstone", || true);
    assert!(Project::new(desk.folder().join(".inkstone")).session().exists(), "the session is lost");
}

#[test]
fn a_terminal_closed_in_the_middle_of_a_run_loses_nothing_that_was_finished() {
    let folder = sources();
    let state = folder.path().join(".inkstone/state.json");
    close_terminal(folder.path(), &["run", "-c", "workbench.toml"], "Inkstone", || {
        std::fs::read_to_string(&state).is_ok_and(|text| text.contains("\"ingest\""))
    });
    assert!(!std::fs::read_to_string(&state).unwrap().contains("\"export\""), "the run was over");
    assert_nothing_half_written(folder.path());
    let again = run(folder.path(), &["run", "--headless"]).finished();
    assert_eq!(stage(&again, "ingest")["unchanged"], true);
    assert_same_files(&demo::small().results(), &results(folder.path()));
}

#[cfg(unix)]
#[test]
fn a_run_that_is_left_behind_goes_on_and_the_next_workbench_follows_it() {
    let folder = sources();
    let project = Project::new(folder.path().join(".inkstone"));
    let has = |stage: &str| std::fs::read_to_string(project.state()).is_ok_and(|text| text.contains(stage));
    let (drawn, code) = on_a_terminal(folder.path(), &["run", "-c", "workbench.toml", "--lang", "en"], |keys| {
        wait_until("the documents", || has("\"ingest\""));
        keys.press("q");
        keys.see("d background");
        keys.press("d");
    });
    assert_eq!(code, Some(0), "{drawn}");
    assert!(drawn.contains("the jobs go on in the background"), "{drawn}");
    assert!(!has("\"export\""), "the run was over");
    let (drawn, code) = on_a_terminal(folder.path(), &["-c", "workbench.toml", "--lang", "en"], |keys| {
        keys.see("following the background run");
        wait_until("the export", || has("\"export\""));
        wait_until("the end of the run", || matches!(lock::take(&project.lock(), "test"), Ok(Attempt::Ours(_))));
    });
    assert_eq!(code, Some(0), "{drawn}");
    assert_nothing_half_written(folder.path());
    assert_same_files(&demo::small().results(), &results(folder.path()));
}

#[cfg(unix)]
#[test]
fn the_editor_has_the_terminal_and_its_change_is_read() {
    use std::os::unix::fs::PermissionsExt;

    let desk = Desk::new();
    desk.run().finished();
    let (file, editor) = (desk.folder().join("workbench.toml"), desk.folder().join("editor.sh"));
    std::fs::write(&editor, "#!/bin/sh\necho \"edits $1\"\nprintf '\\n# from the editor\\n' >> \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = inkstone(desk.folder(), &["--lang", "en"]).env("EDITOR", &editor).env_remove("VISUAL");
    let (drawn, code) = drawn_by(command, |keys| {
        keys.see("Inkstone");
        keys.press("E");
        keys.see("edits workbench.toml");
        keys.see("opened with the new configuration");
        keys.press("?");
        keys.see("All keys");
    });
    assert_eq!(code, Some(0), "{drawn}");
    assert!(std::fs::read_to_string(file).unwrap().ends_with("# from the editor\n"));
}

#[test]
fn a_second_workbench_says_that_it_only_reads() {
    let desk = Desk::new();
    desk.run().finished();
    let project = Project::new(desk.folder().join(".inkstone"));
    let held = lock::take(&project.desk_lock(), "workbench").unwrap();
    assert!(matches!(held, Attempt::Ours(_)), "{held:?}");
    let (drawn, code) = on_a_terminal(desk.folder(), &["--lang", "zh"], |keys| {
        keys.see(&format!("只读: 另一实例 pid {}", std::process::id()));
        keys.press("1");
        keys.see("季度业绩大幅增长");
    });
    assert_eq!(code, Some(0), "{drawn}");
    assert!(!project.session().exists(), "the session is not its own to write");
}

#[test]
fn told_to_end_the_workbench_remembers_where_it_was() {
    let desk = Desk::new();
    desk.run().finished();
    let session = Project::new(desk.folder().join(".inkstone")).session();
    let (drawn, _) = on_a_terminal(desk.folder(), &["--lang", "zh"], |keys| {
        keys.press("9");
        keys.see("切换视图");
        let signalled = std::process::Command::new("kill").arg(keys.child.0.id().to_string()).status().unwrap();
        assert!(signalled.success());
    });
    assert!(GIVEN_BACK.iter().all(|mark| drawn.contains(mark)), "{drawn}");
    let text = std::fs::read_to_string(&session).unwrap();
    assert!(text.contains("\"page\": \"jobs\""), "{text}");
    let (_, code) = on_a_terminal(desk.folder(), &["--lang", "zh"], |keys| keys.see("切换视图"));
    assert_eq!(code, Some(0));
}

#[test]
fn stopped_for_a_while_the_terminal_is_given_back_and_drawn_anew_afterwards() {
    let desk = Desk::new();
    desk.run().finished();
    let (drawn, code) = on_a_terminal(desk.folder(), &["--lang", "zh"], |keys| {
        keys.press("9");
        keys.see("切换视图");
        let tell = |signal: &str| {
            let signalled = std::process::Command::new("kill").args([signal, &keys.child.0.id().to_string()]).status();
            assert!(signalled.unwrap().success());
        };
        let times = |mark: &str| String::from_utf8_lossy(&keys.drawn.lock().unwrap()).matches(mark).count();
        tell("-TSTP");
        wait_until("the terminal to be given back", || GIVEN_BACK.iter().all(|mark| times(mark) >= 1));
        // The program may be about to stop still; what it is told before that does not wake it.
        wait_until("the terminal to be taken again", || {
            tell("-CONT");
            times("\x1b[?1049h") >= 2
        });
        keys.press("?");
        keys.see("全部按键");
    });
    assert_eq!(code, Some(0), "{drawn}");
}

#[test]
fn without_a_project_a_terminal_shows_how_to_begin() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("news.csv"), "title,body,date\n瑞禾电气业绩预增,正文。,2024-03-01 18:00\n")
        .unwrap();
    let (drawn, code) = on_a_terminal(folder.path(), &["--lang", "zh"], |keys| {
        keys.see("看演示");
        keys.press("o");
        keys.see("news.csv");
        keys.press("/news\r");
        keys.see("接受");
        keys.press("s");
        keys.see("选择日线价格表");
        keys.press("n");
        keys.see("上市日期");
        keys.press("n");
        keys.see("还没有语料");
    });
    assert_eq!(code, Some(0), "{drawn}");
    assert!(GIVEN_BACK.iter().all(|mark| drawn.contains(mark)));
    let written = std::fs::read_to_string(folder.path().join("workbench.toml")).unwrap();
    assert!(written.contains("path = \"news.csv\""), "{written}");
}

/// From an empty folder to an exported factor, by keys alone.
#[test]
fn the_whole_way_from_the_first_screen_to_an_exported_factor_goes_by_keys() {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("inkstone-demo");
    let (drawn, code) = on_a_terminal(folder.path(), &["--lang", "zh"], |keys| {
        keys.see("看演示");
        keys.press("d");
        keys.see("整条流水线");
        // The factor is shown as soon as all has been run.
        keys.see("演示已就绪");
        keys.see("多空净值");
        // From a bar of the layers down to the words.
        keys.press("f\r");
        keys.see("个日期 · 日期");
        keys.press("\r");
        keys.see("贡献最大");
        keys.press("\r");
        // The documents stand there with the reading that they entered.
        keys.see("读数 1");
        keys.press("\r");
        keys.see("推动得分的词");
        // A command found by its name.
        keys.press(":台账\r");
        keys.see("校验完好");
        // And the export, over one that is no longer there.
        std::fs::remove_dir_all(demo.join("exports")).unwrap();
        keys.press("7e");
        wait_until("the export", || demo.join("exports/manifest.json").exists());
    });
    assert_eq!(code, Some(0), "{drawn}");
    assert!(GIVEN_BACK.iter().all(|mark| drawn.contains(mark)));
    assert!(std::fs::read_dir(demo.join("exports/long")).unwrap().count() > 0);
}

#[test]
fn without_a_project_a_pipe_is_told_how_to_begin() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("inkstone demo") && ran.stderr.contains("inkstone init"), "{}", ran.stderr);
    assert_eq!(ran.text(), "", "no screen is taken for a message");
}

#[test]
fn a_run_reads_what_an_editor_has_written_meanwhile() {
    let desk = Desk::new();
    desk.run().finished();
    let file = desk.folder().join("workbench.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    let (drawn, code) = on_a_terminal(desk.folder(), &["--lang", "en"], |keys| {
        keys.see("Inkstone");
        std::fs::write(&file, format!("{good}\n[lint]\nconfidense = 0.9\nmax_share = \"half\"\n")).unwrap();
        keys.press("9r");
        keys.see("confidense");
        keys.see("max_share");
        std::fs::write(&file, &good).unwrap();
        keys.press("r");
        keys.see("unchanged");
    });
    assert_eq!(code, Some(0), "{drawn}");
}
