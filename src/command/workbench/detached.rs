//! Jobs that go on in a process of their own when the workbench is left, and the way back to them.
//!
//! That process and its children hold a lock on the file that their progress goes to, so the file tells whether they are still at work.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::command::opened::OpenProject;
use inkstone_base::bail;
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::message;
#[cfg(unix)]
use inkstone_base::program;
use inkstone_tui as tui;

/// Name of the stage that stands for the whole of a detached run.
const STAGE: &str = "detached run";

/// Time between two looks at the progress.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Bytes of the progress that one look reads at most.
const MOST: u64 = 1 << 20;

fn log_of(opened: &OpenProject) -> PathBuf {
    opened.project().dir().join("detached.log")
}

/// Starts jobs that the workbench leaves behind.
#[cfg(unix)]
pub(super) fn detach(opened: &OpenProject) -> Option<tui::Detach> {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    let (project, path) = (opened.project(), log_of(opened));
    Some(Arc::new(move |commands: &[String]| {
        project.own()?;
        let program =
            std::env::current_exe().context(Word("找不到本程序的文件", "cannot find the file of this program"))?;
        let program = inkstone_base::shell::quoted(&program.display().to_string());
        let own = |command: &String| match command.strip_prefix("inkstone ") {
            Some(rest) => format!("{program} {rest}"),
            None => command.clone(),
        };
        let script = commands.iter().map(own).collect::<Vec<_>>().join(" && ");
        let log = disk::open_plain(File::options().create(true).truncate(false).read(true).write(true), &path)?;
        log.try_lock().map_err(|_| {
            message!("已有一个后台运行；等它结束再脱离", "another detached run is at work; wait until it has ended")
        })?;
        log.set_len(0)?;
        // The shell writes its process group first, by which the run can be stopped.
        let started = Command::new("sh")
            .arg("-c")
            .arg(format!("echo \"group $$\" >&2; {script}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn();
        started.context(Word("无法在后台启动", "cannot start the run behind"))?;
        Ok(())
    }))
}

#[cfg(not(unix))]
pub(super) fn detach(_: &OpenProject) -> Option<tui::Detach> {
    None
}

/// Looks for a detached run that is still at work.
pub(super) fn find(opened: &OpenProject) -> tui::FindDetached {
    let path = log_of(opened);
    Arc::new(move || {
        if !is_at_work(&path) {
            return None;
        }
        let (to_follow, to_stop) = (path.clone(), path.clone());
        Some(tui::DetachedRun {
            log: path.clone(),
            follow: Arc::new(move |ctx| follow(&to_follow, ctx)),
            stop: Arc::new(move || stop(&to_stop)),
        })
    })
}

/// True while a process holds the lock on the progress.
fn is_at_work(log: &Path) -> bool {
    let Ok(file) = disk::open_plain(File::options().read(true), log) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Shows the progress of a detached run until it ends; fails as the run fails.
fn follow(log: &Path, ctx: &Ctx) -> Result<Vec<Report>> {
    let report = ctx.stage(STAGE, "%", Some(100), || {
        let (mut read, mut done, mut last) = (0, 0, String::new());
        loop {
            ctx.check()?;
            // Asked before reading, so that the last lines of a run that ends now are read as well.
            let goes_on = is_at_work(log);
            for line in lines_from(log, &mut read)?.lines().filter(|line| !line.trim().is_empty()) {
                if let Some(share) = share_in(line).filter(|share| *share > done) {
                    ctx.advance(share - done)?;
                    done = share;
                }
                last = line.to_owned();
                ctx.note(last.clone());
            }
            if !goes_on {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let why = last.strip_prefix("error: ").or_else(|| last.strip_prefix("错误："));
        if let Some(why) = why {
            bail!("后台运行失败：{why}", "the detached run failed: {why}");
        }
        Ok(Report::new(STAGE))
    })?;
    Ok(vec![report])
}

/// The whole lines behind a place of the file, which moves behind them.
fn lines_from(log: &Path, place: &mut u64) -> Result<String> {
    let cannot = || message!("无法读取 {}", "cannot read {}", log.display());
    let mut file = File::open(log).with_context(cannot)?;
    file.seek(SeekFrom::Start(*place)).with_context(cannot)?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).with_context(cannot)?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    *place += end as u64;
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The percentage of the whole run that a line of progress tells: `run        43 %, stage 5 of 5`.
fn share_in(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|word| ["run", "运行"].contains(word));
    name.and(words.next())?.parse().ok().filter(|share| *share <= 100)
}

/// Tells the processes of a detached run to end; what they have finished is kept.
#[cfg(unix)]
fn stop(log: &Path) -> Result<()> {
    let text = fs::read_to_string(log).with_context(|| message!("无法读取 {}", "cannot read {}", log.display()))?;
    let group = text.lines().next().and_then(|line| line.strip_prefix("group ")?.trim().parse().ok());
    let group = group.filter(|group: &i32| *group > 1 && is_at_work(log));
    let group = group.context(Word("后台运行已经结束", "the detached run has ended"))?;
    program::end_group(group).context(Word("无法停止后台运行", "cannot stop the detached run"))?;
    Ok(())
}

#[cfg(not(unix))]
fn stop(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_run_is_read_from_its_progress() {
        assert_eq!(share_in("run        43 %, stage 5 of 5, 13 seconds left"), Some(43));
        assert_eq!(share_in("运行       7 %，第 1/5 步"), Some(7));
        assert_eq!(share_in("extract    43 documents"), None);
        assert_eq!(share_in("run        x"), None);
    }

    #[test]
    fn lines_are_read_once_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::write(&log, "group 7\nrun 4").unwrap();
        let mut place = 0;
        assert_eq!(lines_from(&log, &mut place).unwrap(), "group 7\n");
        fs::write(&log, "group 7\nrun 40 %\n").unwrap();
        assert_eq!(lines_from(&log, &mut place).unwrap(), "run 40 %\n");
        assert_eq!(lines_from(&log, &mut place).unwrap(), "");
    }

    #[cfg(unix)]
    #[test]
    fn a_detached_run_is_found_followed_and_stopped() {
        use crate::cli::Global;

        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("workbench.toml");
        fs::write(&config, "[project]\nname = \"t\"\n").unwrap();
        let global = Global { headless: true, threads: Some(1), seed: None, lang: None, trust: false };
        let opened = OpenProject::read(&config, "run", &global).unwrap();
        let start = |script: &str| detach(&opened).unwrap()(&[script.to_owned()]).unwrap();
        assert!(find(&opened)().is_none());
        start("echo 'run 40 %' >&2; sleep 0.3; echo 'run 90 %' >&2");
        let run = find(&opened)().expect("it is at work");
        let ctx = Ctx::new(1, 1).unwrap();
        (run.follow)(&ctx).unwrap();
        assert_eq!(ctx.progress().stages()[0].done, 90);
        assert!(find(&opened)().is_none(), "it has ended");
        start("echo 'error: no prices' >&2; sleep 0.1");
        let failed = follow(&log_of(&opened), &ctx).unwrap_err();
        assert!(failed.to_string().contains("no prices"), "{failed}");
        start("sleep 60");
        let run = find(&opened)().expect("it is at work");
        while !fs::read_to_string(&run.log).unwrap().contains("group ") {
            std::thread::sleep(LOOK_EVERY);
        }
        (run.stop)().unwrap();
        follow(&log_of(&opened), &ctx).unwrap();
    }
}
