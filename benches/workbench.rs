//! The corpus page over a large corpus: the real program on a pseudo-terminal, from its start to the answers to keys.
//!
//! `cargo bench --bench workbench [-- N]` makes a project of N cleaned documents (1,000,000 unless told otherwise) of invented text in
//! a temporary folder, in parts of 4,096 rows, opens the workbench on it and presses keys. A time is from the key to the last
//! that is drawn because of it, as it comes out of the terminal; for `key`, a hundred keys that scroll, to the end of the first picture.
//! Memory is the most that was resident. Figures are of a machine that does nothing else.
//!
//! `cargo bench --bench workbench -- project` makes the files of a whole project instead, 140,000 flashes and 4.2 million rows of prices, runs
//! it, and measures the first text, the next document of the text page, the way from a layer to its dates, names and documents, and the
//! stock page.

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
    use inkstone_base::code::Code;
    use inkstone_base::data::{Document, Key, Kind};
    use inkstone_tables::corpus::{PART_ROWS, documents_to_frame};
    use inkstone_tables::project::Project;
    use polars_core::prelude::{Column, IntoColumn, NamedFrom, Series};
    use pty_process::Size;
    use pty_process::blocking::{Command, Pty, open};
    use rand::prelude::IndexedRandom;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use regex::Regex;
    use unicode_width::UnicodeWidthStr;

    /// How long an answer may take before the bench gives up.
    const PATIENCE: Duration = Duration::from_secs(300);

    /// Keys that the table is scrolled with.
    const SCROLLED: usize = 100;

    /// Silence after which a picture is taken for whole, and after which nothing more is taken to come.
    const PICTURE: Duration = Duration::from_millis(4);
    const STILL: Duration = Duration::from_millis(2500);

    /// Cells of the terminal.
    const COLUMNS: usize = 120;
    const ROWS: usize = 40;

    pub(super) fn main() -> Result<()> {
        // Cargo adds `--bench` to what the user gives.
        let count = std::env::args().skip(1).find(|arg| arg != "--bench");
        if count.as_deref() == Some("project") {
            return whole_project();
        }
        let count: usize = count.map_or(Ok(1_000_000), |count| count.parse()).context("N is a number of documents")?;
        ensure!(count > 0, "there are no documents");
        let dir = tempfile::tempdir()?;
        let began = Instant::now();
        let bytes = make(dir.path(), count)?;
        println!("{count} documents, {:.0} MB on disk, made in {:.0?}", bytes as f64 / 1e6, began.elapsed());

        let began = Instant::now();
        let mut screen = Screen::open(dir.path())?;
        screen.until(|seen| seen.contains("Corpus"))?;
        told("first frame", began.elapsed());
        screen.until(|seen| seen.contains(".SH"))?;
        told("first rows", began.elapsed());
        // While it is read the title says how far it is; then it does not.
        let first_row = format!("1 / {} · cleaned ─", grouped(count));
        screen.until(|seen| seen.contains(&first_row))?;
        told("complete catalogue", began.elapsed());
        screen.press("", STILL)?;

        let mut keys = Vec::with_capacity(SCROLLED);
        for i in 0..SCROLLED {
            // Pages, lines, and both ends, so that parts far apart come into sight.
            keys.push(screen.press([" ", "j", "G", "b", "k", "g"][i % 6], PICTURE)?);
        }
        keys.sort();
        told("key, median", keys[SCROLLED / 2]);
        told("key, longest", keys[SCROLLED - 1]);
        screen.press("", STILL)?;

        for column in ["published", "code", "kind", "repeats", "title"] {
            told(&format!("sort by {column}"), screen.press("s", STILL)?);
        }
        told("turn the order", screen.press("o", STILL)?);
        screen.press("so", STILL)?;
        told("fold", screen.press("z", STILL)?);
        screen.press("z", STILL)?;

        for filter in ["kind:report", "2024-01..2024-06", "hggf", "-repeats", "减持"] {
            // All but the last letter first, so that what is measured is one list.
            let last = filter.char_indices().next_back().map_or(0, |last| last.0);
            screen.press("f", STILL)?;
            screen.press(&filter[..last], STILL)?;
            told(&format!("filter {filter}"), screen.press(&filter[last..], STILL)?);
            screen.press("\x1b", STILL)?;
        }

        screen.press("/", STILL)?;
        let began = Instant::now();
        let some = Regex::new("parts · [1-9]|  [1-9][0-9,]* found")?;
        screen.type_in("商誉减值")?;
        screen.until(|seen| some.is_match(seen))?;
        told("first hits of a search", began.elapsed());
        screen.until(|seen| seen.contains("商誉减值") && !seen.contains("parts · "))?;
        told("search of all bodies", began.elapsed());
        println!("{:>28} {:>8} MB", "memory at the most", screen.memory()? / 1024);
        screen.leave()
    }

    /// Flashes, and rows of prices: days and codes of the table.
    const FLASHES: usize = 140_000;
    const DAYS: usize = 2_100;
    const CODES: usize = 2_000;

    /// Documents that are gone through on the text page.
    const TURNED: usize = 20;

    /// Runs a project of made files, and measures the pages that a reader of its factor goes to.
    fn whole_project() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let began = Instant::now();
        make_files(dir.path())?;
        println!("{FLASHES} flashes and {} rows of prices, made in {:.0?}", DAYS * CODES, began.elapsed());
        let began = Instant::now();
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_inkstone"))
            .args(["run", "--headless"])
            .current_dir(dir.path())
            .output()?;
        ensure!(ran.status.code() == Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
        told("the whole run", began.elapsed());

        let began = Instant::now();
        let mut screen = Screen::open(dir.path())?;
        screen.until(|seen| seen.contains("RankIC"))?;
        told("first frame, the factor", began.elapsed());
        screen.press("", STILL)?;
        screen.press("f", STILL)?;
        told("layer to its dates", screen.press("\r", STILL)?);
        told("date to its names", screen.press("\r", STILL)?);
        told("name to its documents", screen.press("\r", STILL)?);
        told("document to its sentences", screen.press("\r", STILL)?);
        screen.press("\x1b", STILL)?;
        let began = Instant::now();
        screen.type_in("1")?;
        screen.until(|seen| seen.contains("公告称"))?;
        told("first text of the reader", began.elapsed());
        screen.press("", STILL)?;
        told("text page", screen.press("v", STILL)?);
        let mut turns = (0..TURNED).map(|_| screen.press("]", PICTURE)).collect::<Result<Vec<_>>>()?;
        turns.sort();
        told("next document, median", turns[TURNED / 2]);
        told("next document, longest", turns[TURNED - 1]);
        for page in 1..=9 {
            screen.press(&page.to_string(), STILL)?;
            println!("{:>28} {:>8} MB", format!("memory up to page {page}"), screen.memory()? / 1024);
        }
        screen.press("1", STILL)?;
        told("stock page", screen.press("K", STILL)?);
        println!("{:>28} {:>8} MB", "memory with the stock page", screen.memory()? / 1024);
        screen.leave()
    }

    /// Writes a configuration, flashes as JSON lines, and a table of prices.
    fn make_files(folder: &Path) -> Result<()> {
        const CONFIG: &str = "[project]\nname = \"bench\"\n\n[[source]]\nname = \"flashes\"\npath = \"flashes.jsonl\"\nkind = \"news\"\n\n\
            [[source]]\nname = \"prices\"\npath = \"prices.csv\"\ntable = \"prices\"\n\n[[feature]]\nname = \"tone\"\nmodel = \"lexicon\"\n\n\
            [[factor]]\nname = \"tone\"\nexpression = \"tone\"\n";
        const SAID: [&str; 6] = [
            "净利润大幅增长，业绩超预期",
            "净利润下滑，出现亏损",
            "拟回购公司股份",
            "股东减持计划实施完毕",
            "签订重大合同，订单饱满",
            "收到监管函，存在违规风险",
        ];
        std::fs::write(folder.join("workbench.toml"), CONFIG)?;
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let first: NaiveDateTime = "2017-01-02T08:00:00".parse()?;
        let day = |t: usize| (first + chrono::Duration::days((t + t / 5 * 2) as i64)).date();
        let mut prices = std::io::BufWriter::new(std::fs::File::create(folder.join("prices.csv"))?);
        writeln!(prices, "date,code,open,close,volume")?;
        let mut last = vec![10.0f64; CODES];
        for t in 0..DAYS {
            for (i, close) in last.iter_mut().enumerate() {
                let open = *close * (1.0 + random.random_range(-0.01..0.01));
                *close = (open * (1.0 + random.random_range(-0.03..0.03))).clamp(2.0, 200.0);
                writeln!(prices, "{},{:06}.SH,{open:.2},{close:.2},{}", day(t), 600_000 + i, 100_000 + i)?;
            }
        }
        prices.flush()?;
        let mut flashes = std::io::BufWriter::new(std::fs::File::create(folder.join("flashes.jsonl"))?);
        for i in 0..FLASHES {
            let code = 600_000 + random.random_range(0..CODES);
            let sentence = SAID.choose(&mut random).copied().unwrap_or_default();
            // The flashes lie in the last four hundred days, as those of a young archive do.
            let at = day(DAYS - 400 + i * 390 / FLASHES).and_hms_opt((i % 14) as u32 + 8, (i % 60) as u32, 0);
            let at = at.context("a time of day")?;
            let body =
                format!("公告称，公司（{code:06}.SH）{sentence}。本期收入 {}.{} 亿元，第 {i} 号。", i % 97, i % 10);
            let line = serde_json::json!({
                "id": i, "time": at.to_string(), "title": format!("{sentence}（{i}）"), "content": body, "codes": format!("{code:06}.SH"),
            });
            writeln!(flashes, "{line}")?;
        }
        flashes.flush()?;
        Ok(())
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

    /// The program on a terminal.
    struct Screen {
        pty: Arc<Pty>,
        child: Killed,
        pieces: Receiver<Vec<u8>>,
        /// Output whose end has not come: a piece may end within a character or an escape sequence.
        rest: Vec<u8>,
        cells: Vec<Vec<String>>,
        cursor: (usize, usize),
        /// Characters drawn since the start.
        drawn: u64,
        sequence: Regex,
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
            pty.resize(Size::new(ROWS as u16, COLUMNS as u16))?;
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
            // A sequence that sets the cursor, colours and so on; a title and the like; a character.
            let sequence =
                Regex::new("^(?s:\x1b\\[([0-9;?>]*)([a-zA-Z])|\x1b\\][^\x07]*\x07|\x1b[()=>78][0-9A-B]?|([^\x1b]))")?;
            let (rest, cells) = (Vec::new(), vec![vec![" ".to_owned(); COLUMNS]; ROWS]);
            Ok(Screen { pty, child: Killed(child), pieces, rest, cells, cursor: (0, 0), drawn: 0, sequence })
        }

        fn type_in(&self, keys: &str) -> Result<()> {
            (&*self.pty).write_all(keys.as_bytes()).context("the terminal takes keys")
        }

        /// Presses keys and waits until something was drawn and then nothing more for a time; the time to the last that was drawn.
        fn press(&mut self, keys: &str, silence: Duration) -> Result<Duration> {
            let began = Instant::now();
            self.type_in(keys)?;
            let mut last = Duration::ZERO;
            // A key that changes nothing draws nothing.
            let mut patience = STILL;
            let mut drawn = self.drawn;
            while self.take(patience)? {
                patience = silence;
                // When it looks for changed files, the program ends a picture without a cell.
                if self.drawn > drawn {
                    (last, drawn) = (began.elapsed(), self.drawn);
                }
            }
            Ok(last)
        }

        /// Waits until the screen looks so.
        fn until(&mut self, so: impl Fn(&str) -> bool) -> Result<()> {
            let began = Instant::now();
            loop {
                let seen: Vec<String> = self.cells.iter().map(|row| row.concat()).collect();
                let seen = seen.join("\n");
                if so(&seen) {
                    return Ok(());
                }
                ensure!(began.elapsed() < PATIENCE, "waited in vain; what is on the screen:\n{seen}");
                self.take(Duration::from_millis(100))?;
            }
        }

        /// Takes in what is drawn; false when nothing comes within the time.
        fn take(&mut self, within: Duration) -> Result<bool> {
            match self.pieces.recv_timeout(within) {
                Ok(piece) => self.rest.extend(piece),
                Err(RecvTimeoutError::Timeout) => return Ok(false),
                Err(RecvTimeoutError::Disconnected) => bail!("the program has ended"),
            }
            let valid = match std::str::from_utf8(&self.rest) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            let text = String::from_utf8_lossy(&self.rest[..valid]).into_owned();
            let mut left = text.as_str();
            while let Some(found) = self.sequence.captures(left) {
                left = &left[found[0].len()..];
                match (found.get(2).map(|end| end.as_str()), found.get(3)) {
                    (Some("H"), _) => {
                        let mut numbers = found[1].split(';').map(|number| number.parse().unwrap_or(1));
                        let mut next = || numbers.next().unwrap_or(1usize).saturating_sub(1);
                        self.cursor = (next().min(ROWS - 1), next());
                    }
                    (Some("J"), _) => self.cells.iter_mut().flatten().for_each(|cell| *cell = " ".to_owned()),
                    (None, Some(one)) => self.put(one.as_str()),
                    _ => {}
                }
            }
            self.rest.drain(..valid - left.len());
            Ok(true)
        }

        fn put(&mut self, one: &str) {
            let (row, column) = self.cursor;
            let wide = one.width();
            for (i, cell) in self.cells[row].iter_mut().skip(column).take(wide).enumerate() {
                *cell = if i == 0 { one.to_owned() } else { String::new() };
            }
            self.cursor.1 += wide;
            self.drawn += 1;
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
                let phrase = SAID.choose(&mut random).copied().unwrap_or_default();
                let title = format!("{}：{phrase}（{}）", names[company], random.random_range(1..1000));
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
