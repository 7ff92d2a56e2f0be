//! A small project that meets every room of the pipeline, and how it looks from outside.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::linux::{files_below, folder, inkstone};

const CONFIG: &str = r#"[project]
name = "small"
seed = 1

[[source]]
name = "news"
path = "news.csv"
kind = "report"

[[source]]
name = "prices"
path = "prices.csv"
table = "prices"

[structure]
enabled = true

[[feature]]
name = "tone"
model = "lexicon"

[[feature]]
name = "terms"
model = "tfidf"
tfidf = { min_df = 2 }

[[feature]]
name = "known"
model = "file"
file = { path = "known.model", fitted_until = "2023-12-31" }

[[feature]]
name = "head"
model = "ridge"
inputs = ["words", "tone", "known"]
target = { horizon = 1 }
walk_forward = { train_days = 4, test_days = 2, min_train_rows = 2 }

[[factor]]
name = "tone"
expression = "tone"
min_names = 2

[backtest]
horizons = [1]
quantiles = 2
min_names = 2

[[experiment]]
name = "read"
target = "rating"
positive = ["买入"]
features = ["tone"]
unit = "characters"
vary = { truncate = ["head:16", "tail:16"] }
draws = 100

[export]
formats = ["csv"]

[report]
charts = ["svg"]
"#;

const CODES: [&str; 4] = ["600101.SH", "600102.SH", "000103.SZ", "300104.SZ"];
const DAYS: [&str; 11] = [
    "2024-03-04",
    "2024-03-05",
    "2024-03-06",
    "2024-03-07",
    "2024-03-08",
    "2024-03-11",
    "2024-03-12",
    "2024-03-13",
    "2024-03-14",
    "2024-03-15",
    "2024-03-18",
];

/// The run that every command is followed by.
pub(crate) const RUN: &[&str] = &["run", "--headless", "--threads", "2"];

/// A command, and whether the user adds news before it.
pub(crate) struct Step {
    pub(crate) args: &'static [&'static str],
    pub(crate) has_news: bool,
}

/// The work of a user on the project, one command after the other.
pub(crate) const STEPS: [Step; 7] = [
    Step { args: TRAIN, has_news: false },
    Step { args: RUN, has_news: false },
    Step { args: &["store", "compact", "--headless"], has_news: false },
    Step { args: &["ledger", "delete", "1", "--reason", "a slip", "--headless"], has_news: false },
    Step { args: RUN, has_news: true },
    Step { args: &["experiment", "--headless", "--threads", "2"], has_news: false },
    Step { args: &["export", "--headless", "--threads", "2"], has_news: false },
];

/// The deletion among them.
pub(crate) const DELETES: usize = 3;

/// Trains the model that the feature `known` reads.
const TRAIN: &[&str] = &[
    "train",
    "tfidf",
    "--input",
    "known.txt",
    "--output",
    "known.model",
    "--min-df",
    "1",
    "--headless",
    "--threads",
    "2",
];

const KNOWN: &str = "公司 净利润 大幅 增长\n公司 净利润 大幅 下滑\n业绩 增长\n业绩 下滑\n";

/// A new project that nothing has run in.
pub(crate) fn new() -> TempDir {
    let folder = folder();
    let files = [
        ("workbench.toml", CONFIG.to_owned()),
        ("news.csv", news(8)),
        ("prices.csv", prices()),
        ("known.txt", KNOWN.to_owned()),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the project can be written");
    }
    folder
}

/// Adds the news of another day, and a note of the user among the exports.
pub(crate) fn add_news(folder: &Path) {
    fs::write(folder.join(NEWS), news(9)).expect("the news can be written");
    fs::write(folder.join(NOTE), "mine").expect("the note can be written");
}

pub(crate) const NOTE: &str = "exports/notes.txt";

/// The place of the note while an export is between two states.
pub(crate) const NOTE_BESIDE: &str = ".exports.partial/notes.txt";

pub(crate) const NEWS: &str = "news.csv";

/// A note on each name, good and bad in turn, on each of the first days.
fn news(days: usize) -> String {
    let mut text = String::from("id,title,body,codes,published_at,org,rating\n");
    for (d, day) in DAYS[..days].iter().enumerate() {
        for (c, code) in CODES.iter().enumerate() {
            let (title, body, rating) = match (d + c) % 2 {
                0 => ("季度业绩大幅增长", "公司公告，净利润大幅增长，盈利能力显著改善，毛利率创新高。", "买入"),
                _ => ("季度业绩大幅下滑", "公司公告，净利润大幅下滑，由盈转亏，存在退市风险。", "减持"),
            };
            let body = format!("第{d}日第{c}家：{body}本报告仅供参考，不构成投资建议。");
            let _ = writeln!(text, "{d}-{c},{title}{d}{c},{body},{code},{day} 10:{d:02}:{c:02},一家证券,{rating}");
        }
    }
    // A row that is set aside.
    text.push_str("x,没有日期,公司公告。,600101.SH,某日,一家证券,\n");
    text
}

fn prices() -> String {
    let mut text = String::from("date,code,open,high,low,close,volume\n");
    for (d, day) in DAYS.iter().enumerate() {
        for (c, code) in CODES.iter().enumerate() {
            let open = 10.0 + 0.01 * ((d * (c + 3)) % 7) as f64;
            let _ = writeln!(text, "{day},{code},{open:.2},{:.2},{:.2},{open:.2},100000", open + 0.05, open - 0.05);
        }
    }
    text
}

/// The end of a command that nobody traced.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) json: Value,
    pub(crate) stderr: String,
}

impl Ran {
    /// Fails unless the command came to its end, be it with rows set aside.
    pub(crate) fn finished(self, what: &str) -> Result<Value, String> {
        match self.code {
            Some(0 | 1) => Ok(self.json),
            code => Err(format!("{what} ends with {code:?}: {}{}", self.json, self.stderr)),
        }
    }
}

/// Runs a command to its end; one that hangs is killed.
pub(crate) fn ran(folder: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new("timeout");
    let program = inkstone(folder, args);
    command
        .args(["--signal=KILL", "120"])
        .arg(program.get_program())
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null());
    for (name, _) in program.get_envs() {
        command.env_remove(name);
    }
    let output = command.output().expect("the program can be started");
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    Ran { code: output.status.code(), json, stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
}

/// Tells files of a database, whose bytes depend on the order of writing, and files that name who is at work.
pub(crate) fn is_inner(path: &str) -> bool {
    let path = path.strip_prefix(".inkstone/").unwrap_or(path);
    let is_lock = ["lock", "desk.lock", "features.sled/lock", "ledger/lock"].contains(&path);
    let mut parts = path.split('/');
    let is_database = matches!((parts.next(), parts.next()), (Some("features.sled" | "ledger"), Some(part)) if part.starts_with("db"));
    is_lock || is_database
}

/// The files that must be equal however the project came to its state: all but the layout of the store and the ledger, the seconds
/// that stages and the cells of experiments took, and who was at work.
pub(crate) fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = files_below(folder);
    let left_out = ["lock", "desk.lock", "state.json", "features.sled/", "ledger/", "log/"];
    files.retain(|path, _| {
        let inner = path.strip_prefix(".inkstone/");
        // The history of a factor and the values that a run changed say when that was.
        let of_runs = |path: &str| path.ends_with(".history.json") || path.ends_with("revisions.parquet");
        !inner.is_some_and(|path| of_runs(path) || left_out.iter().any(|left_out| path.starts_with(left_out)))
    });
    for (path, bytes) in &mut files {
        if path.starts_with(".inkstone/experiments/") {
            let mut json: Value = serde_json::from_slice(bytes).unwrap_or_default();
            without_seconds(&mut json);
            *bytes = json.to_string().into_bytes();
        } else if path.starts_with("exports/experiments/") && bytes.ends_with(b"</html>\n") {
            bytes.clear();
        }
    }
    files
}

/// Takes the seconds out of a JSON file, and the seal, which depends on them.
fn without_seconds(json: &mut Value) {
    match json {
        Value::Object(members) => {
            members.retain(|name, _| name != "seconds" && name != "seal");
            members.values_mut().for_each(without_seconds);
        }
        Value::Array(members) => members.iter_mut().for_each(without_seconds),
        _ => {}
    }
}

/// The names of files that differ between two sets of them, and how.
pub(crate) fn difference(usual: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let missing = usual.keys().filter(|path| !other.contains_key(*path)).map(|path| format!("{path} is missing"));
    let more = other.keys().filter(|path| !usual.contains_key(*path)).map(|path| format!("{path} is new"));
    let differ = usual.iter().filter(|(path, bytes)| other.get(*path).is_some_and(|own| own != *bytes));
    missing.chain(more).chain(differ.map(|(path, _)| format!("{path} differs"))).collect()
}

/// A trial of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    number: u64,
    factor: Value,
    runs: u64,
    deleted: Value,
}

impl Trial {
    /// Looks for this trial in a ledger that may have gone on since; `may_be_deleted` allows that its details were deleted.
    pub(crate) fn is_in(&self, ledger: &[Trial], may_be_deleted: bool) -> bool {
        ledger.iter().any(|other| {
            let is_kept = other.factor == self.factor && other.deleted == self.deleted;
            other.number == self.number && other.runs >= self.runs && (is_kept || may_be_deleted)
        })
    }
}

/// The trials of a ledger; none where there is no ledger.
pub(crate) fn trials(folder: &Path) -> Result<Vec<Trial>, String> {
    if !folder.join(".inkstone/ledger").exists() {
        return Ok(Vec::new());
    }
    let list = ran(folder, &["ledger", "list", "--headless"]);
    // Also where the folder of the ledger is all that there is of it.
    if list.json["error"].as_str().is_some_and(|error| error.starts_with("there is no ledger")) {
        return Ok(Vec::new());
    }
    let json = list.finished("ledger list")?;
    let trials = json["trials"].as_array().ok_or_else(|| format!("a list without trials: {json}"))?;
    let trial = |trial: &Value| Trial {
        number: trial["id"].as_u64().unwrap_or_default(),
        factor: trial["factor"].clone(),
        runs: trial["runs"].as_u64().unwrap_or_default(),
        deleted: trial["deleted"].clone(),
    };
    Ok(trials.iter().map(trial).collect())
}
