//! The corpus page over a large corpus: the real program on a pseudo-terminal, from its start to the answers to keys.
//!
//! `cargo bench --bench workbench [-- N]` makes a project of N cleaned documents (1,000,000 unless told otherwise) of invented text in
//! a temporary folder, in parts of 4,096 rows, opens the workbench on it and presses keys. A time is from the key to the last byte of the
//! first picture that answers it, as it comes out of the terminal; `key` is the median and the longest of a hundred. Memory is the most
//! that was resident. Figures are of a machine that does nothing else.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

#[cfg(unix)]
fn main() -> anyhow::Result<()> {
    terminal::main()
}

#[cfg(not(unix))]
fn main() {
    println!("there are no pseudo-terminals here");
}

#[cfg(unix)]
mod terminal {
    use std::io::{Read, Write};
    use std::path::Path;
    use std::process::Child;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
    use std::time::{Duration, Instant};

    use anyhow::{Context, Result, bail, ensure};
    use chrono::NaiveDateTime;
    use inkstone::corpus::{PART_ROWS, documents_to_frame};
    use inkstone::data::{Document, Key, Kind};
    use inkstone::market::Code;
    use inkstone::project::Project;
    use polars::prelude::{Column, IntoColumn, NamedFrom, Series};
    use pty_process::Size;
    use pty_process::blocking::{Command, Pty, open};
    use rand::prelude::IndexedRandom;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use regex::Regex;

    /// How long an answer may take before the bench gives up.
    const PATIENCE: Duration = Duration::from_secs(300);

    /// Keys that the table is scrolled with.
    const SCROLLED: usize = 100;

    /// Silence after which a picture is taken for whole.
    const QUIET: Duration = Duration::from_millis(4);

    pub(super) fn main() -> Result<()> {
        // Cargo adds `--bench` to what the user gives.
        let count = std::env::args().skip(1).find(|arg| arg != "--bench");
        let count: usize = count.map_or(Ok(1_000_000), |count| count.parse()).context("N is a number of documents")?;
        ensure!(count > 0, "there are no documents");
        let dir = tempfile::tempdir()?;
        let began = Instant::now();
        let bytes = make(dir.path(), count)?;
        println!("{count} documents, {:.0} MB on disk, made in {:.0?}", bytes as f64 / 1e6, began.elapsed());

        let began = Instant::now();
        let mut screen = Screen::open(dir.path())?;
        screen.until("Corpus")?;
        told("first frame", began.elapsed());
        screen.until("600")?;
        told("first rows", began.elapsed());
        // While it is read the title says how far it is; then it does not.
        screen.until_without(&format!("Corpus · 1 / {}", grouped(count)), "read ")?;
        told("complete catalogue", began.elapsed());

        let mut keys = Vec::with_capacity(SCROLLED);
        for i in 0..SCROLLED {
            // Pages, lines, and both ends, so that parts far apart come into sight.
            let key = [" ", "j", "G", "b", "k", "g"][i % 6];
            keys.push(screen.key(key)?);
        }
        keys.sort();
        told("key, median", keys[SCROLLED / 2]);
        told("key, longest", keys[SCROLLED - 1]);

        for column in ["published", "code", "kind", "repeats", "title"] {
            told(&format!("sort by {column}"), screen.answer("s", &format!("{column}↑"))?);
        }
        told("turn the order", screen.answer("o", "title↓")?);
        screen.answer("so", "as in the files↓")?;
        screen.answer("o", "cleaned ")?;
        told("fold", screen.answer("z", "repeats folded")?);
        screen.answer("z", &format!("/ {} · cleaned", grouped(count)))?;

        screen.key("f")?;
        for filter in ["kind:report", " 2024-01..2024-06", " hggf", " -repeats"] {
            // All but the last letter first, so that what is measured is one list.
            let (most, last) = filter.split_at(filter.len() - 1);
            screen.key(most)?;
            screen.rest()?;
            told(&format!("filter{filter:>18}"), screen.answer(last, &format!("({})", grouped(count)))?);
        }
        screen.key("\x1b")?;
        screen.rest()?;

        screen.key("/")?;
        screen.rest()?;
        told("first hits of a search", screen.answer("商誉减值", "parts · ")?);
        let began = Instant::now();
        screen.until_without("商誉减值", "parts · ")?;
        told("search of all bodies", began.elapsed());
        println!("{:>28} {:>8} MB", "memory at the most", screen.memory()? / 1024);
        screen.leave()
    }

    fn told(what: &str, time: Duration) {
        println!("{what:>28} {:>8.1} ms", time.as_secs_f64() * 1e3);
    }

    /// A number as the screen writes it: 1,000,000.
    fn grouped(n: usize) -> String {
        let digits = n.to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
        groups.join(",")
    }

    /// The program on a terminal of 120 x 40 cells.
    struct Screen {
        pty: Arc<Pty>,
        child: Killed,
        pieces: Receiver<Vec<u8>>,
        /// All that was drawn since the last key, without the escape sequences.
        drawn: String,
        escapes: Regex,
    }

    /// The program; a bench that fails does not leave it running.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    impl Screen {
        fn open(folder: &Path) -> Result<Screen> {
            let (pty, pts) = open().context("the system gives no pseudo-terminal")?;
            pty.resize(Size::new(40, 120))?;
            let command = Command::new(env!("CARGO_BIN_EXE_inkstone"));
            let child = command.args(["--lang", "en"]).current_dir(folder).env("TERM", "xterm").spawn(pts)?;
            let pty = Arc::new(pty);
            let (sender, pieces) = channel();
            let reader = pty.clone();
            std::thread::spawn(move || {
                let mut piece = [0; 1 << 16];
                // The end of the program is the end of the file, or on Linux an error.
                while let Ok(n @ 1..) = (&*reader).read(&mut piece) {
                    if sender.send(piece[..n].to_vec()).is_err() {
                        break;
                    }
                }
            });
            let escapes = Regex::new("\x1b\\[[0-9;?]*[a-zA-Z]")?;
            Ok(Screen { pty, child: Killed(child), pieces, drawn: String::new(), escapes })
        }

        /// Presses keys and waits until something is drawn and then nothing more; the time to the last of it.
        fn key(&mut self, keys: &str) -> Result<Duration> {
            self.drawn.clear();
            let began = Instant::now();
            (&*self.pty).write_all(keys.as_bytes())?;
            // A key that changes nothing draws nothing.
            let first = self.take(Duration::from_millis(500))?;
            let mut last = began.elapsed();
            while first && self.take(QUIET)? {
                last = began.elapsed();
            }
            Ok(if first { last } else { Duration::ZERO })
        }

        /// Presses keys and waits until a text is drawn; the time to that.
        fn answer(&mut self, keys: &str, text: &str) -> Result<Duration> {
            self.drawn.clear();
            let began = Instant::now();
            (&*self.pty).write_all(keys.as_bytes())?;
            self.until(text)?;
            let took = began.elapsed();
            self.rest()?;
            Ok(took)
        }

        /// Waits until nothing is drawn any more.
        fn rest(&mut self) -> Result<()> {
            while self.take(Duration::from_millis(300))? {}
            Ok(())
        }

        /// Waits until a text is drawn.
        fn until(&mut self, text: &str) -> Result<()> {
            let began = Instant::now();
            while !self.drawn.contains(text) {
                self.take(Duration::from_millis(100))?;
                ensure!(
                    began.elapsed() < PATIENCE,
                    "waited in vain for {text:?}; the last that was drawn: {}",
                    self.drawn
                );
            }
            Ok(())
        }

        /// Waits until a text stands on the whole screen and another does not. Only what changes is drawn, so the screen is asked for anew.
        fn until_without(&mut self, text: &str, without: &str) -> Result<()> {
            let began = Instant::now();
            let mut size = 120;
            loop {
                // Another width makes the program draw everything.
                size = if size == 120 { 121 } else { 120 };
                self.drawn.clear();
                self.pty.resize(Size::new(40, size))?;
                while self.take(Duration::from_millis(30))? {}
                if self.drawn.contains(text) && !self.drawn.contains(without) {
                    return Ok(());
                }
                ensure!(began.elapsed() < PATIENCE, "waited in vain for {text:?} without {without:?}: {}", self.drawn);
            }
        }

        /// Takes in what is drawn; false when nothing comes within the time.
        fn take(&mut self, within: Duration) -> Result<bool> {
            match self.pieces.recv_timeout(within) {
                Ok(piece) => {
                    let piece = String::from_utf8_lossy(&piece);
                    self.drawn += &self.escapes.replace_all(&piece, "");
                    Ok(true)
                }
                Err(RecvTimeoutError::Timeout) => Ok(false),
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the program has ended; the last that was drawn: {}", self.drawn)
                }
            }
        }

        /// The most memory that was resident, in KiB.
        fn memory(&self) -> Result<u64> {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.0.id()))
                .context("the system tells nothing of the memory of programs")?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("there is no VmHWM")?;
            line.trim().trim_end_matches(" kB").parse().context("VmHWM is a number")
        }

        fn leave(mut self) -> Result<()> {
            let began = Instant::now();
            while self.child.0.try_wait()?.is_none() {
                // Esc leaves the search before q is a key again.
                let _ = (&*self.pty).write_all(b"\x1b");
                std::thread::sleep(Duration::from_millis(200));
                let _ = (&*self.pty).write_all(b"q");
                std::thread::sleep(Duration::from_millis(200));
                ensure!(began.elapsed() < PATIENCE, "the program does not end");
            }
            Ok(())
        }
    }

    /// Writes a configuration and a cleaned corpus of invented documents; the bytes of the corpus.
    fn make(folder: &Path, count: usize) -> Result<u64> {
        const SAID: [&str; 8] = [
            "关于回购公司股份进展的公告",
            "年度业绩预告：净利润同比增长",
            "接待机构调研，介绍新产线爬坡情况",
            "股东减持计划实施完毕",
            "签订重大合同，在手订单饱满",
            "毛利率环比下降，主要因原材料涨价",
            "深度研究：下游需求恢复好于预期",
            "快讯：盘中拉升，成交放大",
        ];
        const SYLLABLES: [&str; 16] =
            ["瑞", "禾", "启", "澜", "辰", "光", "松", "岭", "安", "远", "华", "泽", "鼎", "信", "云", "川"];
        std::fs::write(folder.join("workbench.toml"), "[project]\nname = \"bench\"\n")?;
        let project = Project::new(folder.join(".inkstone"));
        let first: NaiveDateTime = "2019-01-02T08:00:00".parse()?;
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let names: Vec<String> =
            (0..5000).map(|_| (0..4).filter_map(|_| SYLLABLES.choose(&mut random).copied()).collect()).collect();
        let mut bytes = 0;
        for (part, start) in (0..count).step_by(PART_ROWS).enumerate() {
            let numbers = start..(start + PART_ROWS).min(count);
            let mut document = |i: usize| {
                let company = random.random_range(0..names.len());
                let said = SAID.choose(&mut random).copied().unwrap_or_default();
                let title = format!("{}：{said}（{}）", names[company], random.random_range(1..1000));
                let mut body = format!("{title}。公告称，本期收入 {}.{} 亿元。", i % 97, i % 10);
                for _ in 0..random.random_range(2..8) {
                    body += SAID.choose(&mut random).copied().unwrap_or_default();
                    body += "。";
                }
                // A phrase that few have, for the search to look for.
                if i % 5003 == 4999 {
                    body += "公司计提商誉减值准备。";
                }
                Document {
                    doc_id: format!("bench/{i}"),
                    kind: [Kind::News, Kind::Report, Kind::Announcement, Kind::Post][i % 4],
                    codes: vec![Code::canonical(&format!("{:06}.SH", 600_000 + company))],
                    title,
                    body,
                    source: "bench".to_owned(),
                    // Two documents a minute in five years and more, in no order within a part.
                    published_at: first + chrono::Duration::seconds((i as i64 ^ 1023) * 180),
                    ..Document::default()
                }
            };
            let documents: Vec<Document> = numbers.clone().map(&mut document).collect();
            let texts: Vec<String> = documents.iter().map(|document| Key::of(document.body.as_bytes()).hex()).collect();
            // Every eighth repeats one before it.
            let mentions = numbers.map(|i| format!("bench/{}", if i % 8 == 7 { i - 1 - i % 3 } else { i }));
            let mut frame = documents_to_frame(&documents)?;
            let strings =
                |name: &str, values: Vec<String>| -> Column { Series::new(name.into(), values).into_column() };
            frame.hstack_mut(&[
                strings("text", texts),
                strings("first_mention", mentions.collect()),
                Series::new("similarity".into(), vec![1.0f32; documents.len()]).into_column(),
            ])?;
            project.clean().write(part, &mut frame)?;
            bytes += std::fs::metadata(project.clean().path(part))?.len();
        }
        Ok(bytes)
    }
}
