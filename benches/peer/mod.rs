//! A peer in a process of its own, which answers a line with a line, so that it and ours can take turns.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A running Python.
pub(crate) struct Peer {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Runs a script; its first line says that it is ready.
    pub(crate) fn start(python: &str, script: &str, args: &[&OsStr]) -> Result<Peer> {
        let mut process = Command::new(python)
            .args(["-W", "ignore", "-c", script])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {python}"))?;
        let answers = BufReader::new(process.stdout.take().context("its output is piped")?);
        let mut peer = Peer { process, answers };
        peer.line()?;
        Ok(peer)
    }

    /// Sends a line; gives the numbers of the answer, the first by itself.
    pub(crate) fn ask(&mut self, what: &str) -> Result<(f64, Vec<f64>)> {
        writeln!(self.process.stdin.as_mut().context("its input is piped")?, "{what}")?;
        let line = self.line()?;
        let numbers: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let (seconds, rest) = numbers.split_first().context("the peer gave no number")?;
        Ok((*seconds, rest.to_vec()))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the peer stopped; are its packages installed for this PYTHON?");
        Ok(line)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends when its input does.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
