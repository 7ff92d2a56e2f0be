//! Runs programs that the user's configuration names: with a time limit, ended with all that they started when the run is cancelled.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::job::Ctx;
use crate::language::Message;
use crate::{bail, message};

/// Bytes read of a program at a time.
const CHUNK: usize = 1 << 16;
/// Time between two looks at the clock and at the cancellation of the run.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Bytes of a program's stderr that are kept: its end.
pub const KEPT_STDERR: usize = 1 << 16;

/// A program with everything that it is given.
pub struct Program<'a> {
    /// The program and its arguments, without a shell. A name without a slash is looked for in `PATH`.
    pub command: &'a [String],
    pub folder: &'a Path,
    pub variables: &'a [(&'a str, &'a str)],
    /// Bytes of its stdin.
    pub input: &'a [u8],
    pub time_out: Duration,
}

/// The end of a program.
#[derive(Debug)]
pub struct ProgramEnd {
    /// The reason of a failure: the program cannot be started, took too long, or ended with another code than 0.
    pub failure: Option<Message>,
    /// The last [`KEPT_STDERR`] bytes that it wrote to stderr.
    pub stderr: Vec<u8>,
}

enum OutputChunk {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

impl Program<'_> {
    /// Runs the program to its end and hands what it writes to stdout to `take`, piece by piece. Fails if the run was cancelled or `take`
    /// fails; the program and its children are killed then.
    pub fn run(&self, mut take: impl FnMut(&[u8]) -> Result<()>, ctx: &Ctx) -> Result<ProgramEnd> {
        let Some((program, arguments)) = self.command.split_first() else { bail!("命令为空", "an empty command") };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder).envs(self.variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = match command.spawn() {
            Ok(child) => KilledChild(child),
            Err(error) => {
                let why = Message::of_error(&error.into());
                let failure = Some(message!("无法启动 {program:?}：{why}", "{program:?} cannot be started: {why}"));
                return Ok(ProgramEnd { failure, stderr: Vec::new() });
            }
        };
        let (sender, chunks) = sync_channel(4);
        forward(child.0.stdout.take(), sender.clone(), OutputChunk::Stdout);
        forward(child.0.stderr.take(), sender, OutputChunk::Stderr);
        if let Some(mut stdin) = child.0.stdin.take() {
            let input = self.input.to_vec();
            // A program that does not read its input closes it; that is no fault.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let mut stderr = Vec::new();
        let in_time = self.drain(&chunks, &mut take, &mut stderr, ctx)?;
        let status = in_time.then(|| child.wait(ctx)).transpose()?;
        let failure = match status {
            None => Some(message!(
                "运行超过 {} 秒，已终止",
                "it ran for more than {} s and was ended",
                self.time_out.as_secs()
            )),
            Some(status) if status.success() => None,
            Some(status) => Some(with_last_line(status, &stderr)),
        };
        Ok(ProgramEnd { failure, stderr })
    }

    /// Takes all that the program writes; false if it took too long.
    fn drain(
        &self,
        chunks: &Receiver<OutputChunk>,
        take: &mut impl FnMut(&[u8]) -> Result<()>,
        stderr: &mut Vec<u8>,
        ctx: &Ctx,
    ) -> Result<bool> {
        let began = Instant::now();
        loop {
            ctx.check()?;
            if began.elapsed() > self.time_out {
                return Ok(false);
            }
            match chunks.recv_timeout(LOOK_EVERY) {
                Ok(OutputChunk::Stdout(bytes)) => take(&bytes)?,
                Ok(OutputChunk::Stderr(bytes)) => {
                    stderr.extend(bytes);
                    let surplus = stderr.len().saturating_sub(KEPT_STDERR);
                    stderr.drain(..surplus);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(true),
            }
        }
    }
}

/// Sends what a program writes into one of its pipes, until that closes or nobody listens.
fn forward(
    pipe: Option<impl Read + Send + 'static>,
    sender: SyncSender<OutputChunk>,
    chunk: fn(Vec<u8>) -> OutputChunk,
) {
    let Some(mut pipe) = pipe else { return };
    thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            if sender.send(chunk(buffer[..read].to_vec())).is_err() {
                return;
            }
        }
    });
}

fn with_last_line(status: ExitStatus, stderr: &[u8]) -> Message {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map_or(message!("以 {status} 结束", "it ended with {status}"), |line| {
        message!("以 {status} 结束：{line}", "it ended with {status}: {line}")
    })
}

/// A child that does not outlive its owner.
struct KilledChild(Child);

impl KilledChild {
    /// Waits for a program that has closed its pipes.
    fn wait(&mut self, ctx: &Ctx) -> Result<ExitStatus> {
        loop {
            ctx.check()?;
            match self.0.try_wait()? {
                Some(status) => return Ok(status),
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for KilledChild {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        #[cfg(unix)]
        if let Some(group) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks the processes of a group to end.
#[cfg(unix)]
pub fn end_group(group: i32) -> std::io::Result<()> {
    let group = rustix::process::Pid::from_raw(group).ok_or(std::io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process_group(group, rustix::process::Signal::TERM)?)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, input: &[u8], time_out: Duration) -> (ProgramEnd, Vec<u8>) {
        let (command, ctx) = (["sh", "-c", script].map(str::to_owned), Ctx::new(1, 1).unwrap());
        let variables = [("INKSTONE_SINCE", "2024")];
        let program = Program { command: &command, folder: Path::new("/"), variables: &variables, input, time_out };
        let mut written = Vec::new();
        let take = |bytes: &[u8]| {
            written.extend_from_slice(bytes);
            Ok(())
        };
        let ended = program.run(take, &ctx);
        (ended.unwrap(), written)
    }

    #[test]
    fn a_program_gets_its_input_and_variables_and_its_failure_is_quoted() {
        let minute = Duration::from_secs(60);
        let (ended, written) = shell("cat; echo \" $INKSTONE_SINCE\"; pwd", "砚".as_bytes(), minute);
        assert_eq!((String::from_utf8(written).unwrap().as_str(), ended.failure), ("砚 2024\n/\n", None));
        let (ended, written) = shell("echo half; echo first >&2; echo 'no quota' >&2; exit 3", &[0; 1 << 20], minute);
        assert_eq!(written, b"half\n");
        assert_eq!(ended.failure.as_deref(), Some("it ended with exit status: 3: no quota"));
        assert_eq!(ended.stderr, b"first\nno quota\n");
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_its_children() {
        let began = Instant::now();
        let (ended, written) = shell("echo kept; sleep 60 & sleep 60", b"", Duration::from_millis(400));
        assert!(began.elapsed() < Duration::from_secs(30));
        assert_eq!(written, b"kept\n");
        assert!(ended.failure.is_some_and(|failure| failure.contains("was ended")));
    }

    #[test]
    fn a_program_that_is_not_there_is_told_and_a_cancelled_run_ends() {
        let (ctx, nothing) = (Ctx::new(1, 1).unwrap(), |_: &[u8]| Ok(()));
        let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let run = |command: &[String]| {
            let (folder, time_out) = (Path::new("/"), Duration::from_secs(60));
            Program { command, folder, variables: &[], input: b"", time_out }.run(nothing, &ctx)
        };
        let missing = run(&command(&["no-such-program"])).unwrap();
        assert!(missing.failure.is_some_and(|failure| failure.contains("cannot be started")));
        ctx.cancel();
        assert!(run(&command(&["sleep", "60"])).unwrap_err().is::<crate::job::Cancelled>());
    }
}
