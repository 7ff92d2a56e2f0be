//! The first hour by keys alone: from an empty folder to the words behind a factor, in both languages and at two sizes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use chrono::{Datelike, Days, NaiveDate, Weekday};
use inkstone_base::width;
use pty_process::Size;
use pty_process::blocking::{Pty, open};

use crate::fronts::{Killed, inkstone, wait_until};

/// Trading days of the price table, of which all but the first stock lack the last ones.
const DAYS: usize = 48;

const DAYS_OF_ALL: usize = 30;

const STOCKS: usize = 12;

/// Longest wait for a text on the screen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A text in Chinese and in English.
type InBothLanguages = [&'static str; 2];

/// The cells of a terminal, as the escapes that the workbench writes fill them.
struct Screen {
    cells: Vec<Vec<String>>,
    row: usize,
    column: usize,
    /// Bytes of an incomplete escape or character.
    pending: Vec<u8>,
}

impl Screen {
    fn new(rows: usize, columns: usize) -> Screen {
        Screen { cells: vec![vec![" ".to_owned(); columns]; rows], row: 0, column: 0, pending: Vec::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(used) = self.take(at) {
            at += used;
        }
        self.pending.drain(..at);
    }

    /// Handles the escape or character at a byte, and returns its length; `None` if it is incomplete.
    fn take(&mut self, at: usize) -> Option<usize> {
        let rest = &self.pending[at..];
        let first = *rest.first()?;
        if first == 0x1b {
            if *rest.get(1)? != b'[' {
                return Some(2);
            }
            let end = 2 + rest[2..].iter().position(|byte| (0x40..0x7f).contains(byte))?;
            let (numbers, letter) = (String::from_utf8_lossy(&rest[2..end]).into_owned(), rest[end]);
            self.obey(&numbers, letter);
            return Some(end + 1);
        }
        let length = match first {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let text = String::from_utf8_lossy(rest.get(..length)?).into_owned();
        match first {
            b'\r' => self.column = 0,
            b'\n' => self.row += 1,
            0..0x20 => {}
            _ => self.put(text),
        }
        Some(length)
    }

    fn obey(&mut self, numbers: &str, letter: u8) {
        let mut given = numbers.split(';').map(|number| number.parse::<usize>().unwrap_or(1).max(1) - 1);
        match letter {
            b'H' => (self.row, self.column) = (given.next().unwrap_or(0), given.next().unwrap_or(0)),
            b'J' => self.cells.iter_mut().flatten().for_each(|cell| " ".clone_into(cell)),
            _ => {}
        }
    }

    fn put(&mut self, text: String) {
        let cells = width::width(&text);
        let Some(row) = self.cells.get_mut(self.row) else { return };
        if cells == 0 {
            if let Some(before) = self.column.checked_sub(1).and_then(|at| row.get_mut(at)) {
                before.push_str(&text);
            }
            return;
        }
        // Half of a wide character that is written over leaves a blank.
        if let Some(half) = row.get_mut(self.column + cells).filter(|half| half.is_empty()) {
            half.push(' ');
        }
        if let Some(half) = self.column.checked_sub(1).filter(|_| row.get(self.column).is_some_and(String::is_empty)) {
            " ".clone_into(&mut row[half]);
        }
        for (i, cell) in row.iter_mut().skip(self.column).take(cells).enumerate() {
            if i == 0 { cell.clone_from(&text) } else { cell.clear() }
        }
        self.column += cells;
    }

    fn text(&self) -> String {
        self.cells.iter().map(|row| row.concat() + "\n").collect()
    }
}

/// Types keys, and waits for texts on the screen.
struct Hand<'p> {
    pty: &'p Pty,
    screen: &'p Mutex<Screen>,
    language: usize,
    /// Texts of documents, files and columns, which may be in any language.
    given: &'p str,
    allowed: &'p BTreeSet<String>,
    child: Killed,
}

impl Hand<'_> {
    fn press(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until the screen has this text, and reads the screen for words of the other language.
    fn see(&self, text: InBothLanguages) -> String {
        self.see_same(text[self.language])
    }

    /// Waits for a text that is the same in both languages.
    fn see_same(&self, text: &str) -> String {
        let screen = self.wait_for(text);
        self.check_language(&screen);
        screen
    }

    /// Waits for a text on a form, which has keys and values of the configuration beside it.
    fn see_form(&self, text: InBothLanguages) {
        self.wait_for(text[self.language]);
    }

    fn wait_for(&self, text: &str) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen.lock().unwrap().text();
            if screen.contains(text) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "{text:?} does not come:\n{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn check_language(&self, screen: &str) {
        let is_han = |c: char| ('一'..='龥').contains(&c);
        // Paths and commands of the shell are in no language.
        for line in screen.lines().filter(|line| !line.contains("inkstone ") && !line.contains('/')) {
            let foreign: Vec<&str> = match self.language {
                0 => {
                    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-:=\"[]+~".contains(c);
                    let is_word = |word: &&str| word.len() > 2 && word.bytes().all(|b| b.is_ascii_alphabetic());
                    let known = |word: &&str| self.allowed.contains(*word) || self.given.contains(*word);
                    line.split(|c| !plain(c)).filter(is_word).filter(|word| !known(word)).collect()
                }
                _ => {
                    let is_run = |run: &&str| run.chars().count() > 1 && *run != "中文";
                    line.split(|c| !is_han(c)).filter(is_run).filter(|run| !self.given.contains(*run)).collect()
                }
            };
            assert!(foreign.is_empty(), "{foreign:?} in {line:?} of the screen\n{screen}");
        }
    }
}

fn trading_days() -> Vec<NaiveDate> {
    let first: NaiveDate = "2024-01-02".parse().unwrap();
    let days = (0..).map(|n| first.checked_add_days(Days::new(n)).unwrap());
    days.filter(|day| !matches!(day.weekday(), Weekday::Sat | Weekday::Sun)).take(DAYS).collect()
}

fn code(stock: usize) -> String {
    format!("6001{:02}.SH", stock + 1)
}

/// A note on each stock on each day, of which every third has no title; and prices that follow their tone.
fn write_data(folder: &Path) -> String {
    let mut news = String::from("id,title,body,codes,published_at\n");
    let mut prices = String::from("date,code,open,high,low,close,volume\n");
    let mut price = [10.0f64; STOCKS];
    for (d, day) in trading_days().into_iter().enumerate() {
        for (c, price) in price.iter_mut().enumerate() {
            let good = (d * 31 + c * 17) * (d + c * 3 + 1) % 23 < 11;
            let (title, body) = match good {
                true => ("季度业绩大幅增长", "公司公告，净利润大幅增长，盈利能力显著改善。"),
                false => ("季度业绩大幅下滑", "公司公告，净利润大幅下滑，由盈转亏。"),
            };
            // Chance characters, or the notes would be near duplicates of one another.
            let chance = |k: usize| char::from_u32(0x4e00 + ((d * 7919 + c * 104_729 + k * 1_299_709) % 3000) as u32);
            let body = format!("{body}{}", (0..40).filter_map(chance).collect::<String>());
            let title = if (d + c) % 3 == 0 { "" } else { title };
            if d < DAYS_OF_ALL {
                writeln!(news, "{d}-{c},{title},{body},{},{day} 10:00:{c:02}", code(c)).unwrap();
            }
            if d < DAYS_OF_ALL || c == 0 {
                *price *= 1.0 + if good { 0.01 } else { -0.008 };
                let (low, high) = (*price - 0.05, *price + 0.05);
                writeln!(prices, "{day},{},{price:.2},{high:.2},{low:.2},{price:.2},100000", code(c)).unwrap();
            }
        }
    }
    fs::write(folder.join("news.csv"), &news).unwrap();
    fs::write(folder.join("prices.csv"), &prices).unwrap();
    news + &prices
}

/// Goes the whole way with a factor that cannot be tested at first, since a holding period ends where prices do.
fn walk(hand: &mut Hand<'_>, vendor: &Path) {
    hand.see(["看演示", "See the demo"]);
    hand.press("o");
    hand.see(["按 Tab 输入路径", "Tab to type a path"]);
    hand.press("\t");
    hand.see(["路径", "path"]);
    hand.press(&format!("{}\r", vendor.join("news.csv").display()));
    hand.see_form(["✓ 接受 200", "✓ accepted 200"]);
    hand.press("s");
    hand.see(["选择日线价格表", "Choose the table of daily prices"]);
    hand.press("\r");
    // The chooser stands where the documents are, and says what it is for.
    hand.see(["选择数据文件 · 价格", "Choose a file of data · prices"]);
    hand.see_same("prices.csv");
    hand.press("/prices\r");
    hand.see_form(["✓ 接受 200", "✓ accepted 200"]);
    hand.press("s");
    hand.see(["选择证券表", "Choose the table of securities"]);
    hand.press("n");
    hand.see(["加一个情感词典特征", "Add a feature of tone"]);
    hand.press("\r");

    // The failure leads to the setting that it names.
    hand.see_form(["按 , 打开设置 backtest.horizons", "Press , for the setting backtest.horizons"]);
    hand.press(",");
    hand.see_form(["┌ backtest.horizons"; 2]);
    hand.press("\r");
    hand.see_form(["› [1, 5, 20]"; 2]);
    hand.press("\u{7f}\u{7f}\u{7f}\u{7f}\r");
    hand.see_form(["未保存", "unsaved"]);
    hand.press("s");
    hand.see_form(["│已保存", "│saved"]);
    hand.press("\u{1b}");
    hand.see_form(["Enter 进入", "Enter keys"]);
    hand.press("\u{1b}");
    hand.see_form(["按 , 打开设置", "Press , for the setting"]);
    hand.press("r");
    hand.see(["按 7 看因子", "Press 7 for the factor"]);

    hand.press("7");
    hand.see(["多空净值", "Long-short"]);
    hand.press("f\r");
    hand.see(["个日期 · 日期", "dates · "]);
    hand.press("\r");
    let names = hand.see(["贡献最大的文档", "top document"]);
    assert!(names.contains("Esc"), "the way back is said:\n{names}");
    hand.press("\r");
    // A document without a title shows its first words.
    hand.see(["读数 1", "reading 1"]);
    hand.see_same("公司公告");
    hand.press("\r");
    hand.see(["推动得分的词", "Words that moved the score"]);
    hand.see(["每个词贡献", "each word gives"]);
    hand.press("\r");
    hand.see(["权重合计", "weights sum to"]);
    hand.press("\u{1b}");
    hand.see(["推动得分的词", "Words that moved the score"]);
}

#[test]
fn the_first_hour_goes_by_keys_in_both_languages_at_both_sizes() {
    let vendor = tempfile::tempdir().unwrap();
    let given = write_data(vendor.path());
    let allowed = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/tui/src/languages.txt")).unwrap();
    let allowed: BTreeSet<String> = allowed.split_whitespace().map(str::to_owned).collect();
    let ways = [(0, (24, 80)), (1, (24, 80)), (0, (40, 120)), (1, (40, 120))];
    for (language, (rows, columns)) in ways {
        let folder = tempfile::tempdir().unwrap();
        let (pty, pts) = open().expect("the system gives a pseudo-terminal");
        pty.resize(Size::new(rows, columns)).unwrap();
        let flag = ["zh", "en"][language];
        let child = inkstone(folder.path(), &["--lang", flag]).spawn(pts).expect("the program starts");
        let screen = Mutex::new(Screen::new(rows.into(), columns.into()));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut piece = [0; 4096];
                while let Ok(n @ 1..) = (&pty).read(&mut piece) {
                    screen.lock().unwrap().feed(&piece[..n]);
                }
            });
            let mut hand =
                Hand { pty: &pty, screen: &screen, language, given: &given, allowed: &allowed, child: Killed(child) };
            walk(&mut hand, vendor.path());
            wait_until("the end of the program", || {
                hand.press("q");
                thread::sleep(Duration::from_millis(200));
                hand.child.0.try_wait().expect("the program can be waited for").is_some()
            });
        });
        assert!(folder.path().join("reports/tone").exists(), "{flag}, {columns} x {rows}");
    }
}
