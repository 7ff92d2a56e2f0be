//! A result as it came: the rows of a factor table, of predictions, of a frame of alphalens, or of a recorder of Qlib.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::Column;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Claim;
use super::pickle;
use inkstone_base::code::Code;
use inkstone_base::disk;
use inkstone_base::{bail, ensure, message};
use inkstone_market::table::{CODE_NAMES, DATE_NAMES, DailyTable, RepeatedValues, codes, dates, numbers, times};

/// Names of a column that is the result's value.
const VALUE_NAMES: [&str; 6] = ["value", "factor", "score", "pred", "prediction", "signal"];
/// Names of a column of returns that a model was to predict.
const LABEL_NAMES: [&str; 8] = ["label", "labels", "label0", "target", "y", "ret", "return", "fwd_return"];
/// Names of a column that tells training rows from test rows.
const SPLIT_NAMES: [&str; 3] = ["split", "segment", "set"];
/// Names of a column with the last date of the training window of a row's model.
const TRAIN_END_NAMES: [&str; 3] = ["train_end", "trained_until", "fit_end"];
/// Columns that are no values.
const OTHER_NAMES: [&str; 13] = [
    "known_at",
    "raw",
    "documents",
    "fold",
    "factor_quantile",
    "group",
    "industry",
    "name",
    "weight",
    "index",
    "",
    "unnamed: 0",
    "__index_level_0__",
];

/// The kind of file that a result came as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultShape {
    FactorTable,
    Predictions,
    AlphalensFrame,
    QlibRecorder,
}

/// Use of a row of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleSplit {
    Train,
    Test,
}

/// Returns that the result itself has beside its values.
pub(super) struct StatedReturns {
    pub name: String,
    /// Holding period in trading days, where the name tells it.
    pub horizon: Option<usize>,
    pub values: Vec<f64>,
}

/// The rows of a result. All lists have one entry a row.
pub struct AuditedTable {
    pub name: String,
    pub shape: ResultShape,
    pub(super) dates: RepeatedValues<NaiveDate>,
    pub(super) codes: RepeatedValues<Code>,
    /// Columns of values by name, the audited one first.
    pub(super) scores: Vec<(String, Vec<f64>)>,
    /// True if the audited column was named, or is the only one.
    pub(super) is_named: bool,
    pub(super) returns: Vec<StatedReturns>,
    pub(super) known_at: Option<Vec<Option<NaiveDateTime>>>,
    pub(super) split: Option<Vec<SampleSplit>>,
    /// Last date of the training window; none for a row that states none.
    pub(super) train_end: Option<Vec<Option<NaiveDate>>>,
    /// Claims that stand beside the values.
    pub claim: Claim,
}

impl AuditedTable {
    /// Reads a result from a file, or from the folder of a recorder. `score` names the column to be audited.
    pub fn read(path: &Path, score: Option<&str>) -> Result<AuditedTable> {
        let read = || match path.is_dir() {
            true => recorder(path, score),
            false => {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("result");
                AuditedTable::of(&open(path)?, stem, score)
            }
        };
        read().with_context(|| message!("结果 {}", "the result {}", path.display()))
    }

    /// The rows of a table, with the audited column first.
    fn of(table: &DailyTable, name: &str, score: Option<&str>) -> Result<AuditedTable> {
        let mut read = AuditedTable::all_columns(table, name, score)?;
        read.choose(score, &table.names())?;
        Ok(read)
    }

    /// The rows of a table, which need have no values.
    fn all_columns(table: &DailyTable, name: &str, score: Option<&str>) -> Result<AuditedTable> {
        let date = table.require(&DATE_NAMES)?;
        let Some(code) = table.find(&CODE_NAMES)? else { return wide(table, &date, name, score) };
        let (dates, codes) = (dates(&date)?, codes(&code)?);
        ensure!(!dates.rows.is_empty(), "它没有行，没有可审查的", "it has no rows, so there is nothing to audit");
        let taken = [date.name().as_str(), code.name().as_str()];
        let mut returns = Vec::new();
        let mut scores: Vec<(String, Vec<f64>)> = Vec::new();
        for column in table.names().into_iter().filter(|column| !taken.contains(column)) {
            let bare = column.trim_start_matches('\u{feff}').to_lowercase();
            let is_among = |names: &[&str]| names.contains(&bare.as_str());
            if let Some(horizon) = days_of(&bare) {
                returns.push(StatedReturns {
                    name: column.to_owned(),
                    horizon: Some(horizon),
                    values: numbers(&table.require(&[column])?)?,
                });
            } else if is_among(&LABEL_NAMES) {
                returns.push(StatedReturns {
                    name: column.to_owned(),
                    horizon: None,
                    values: numbers(&table.require(&[column])?)?,
                });
            } else if score == Some(column) || is_among(&VALUE_NAMES) {
                scores.push((column.to_owned(), numbers(&table.require(&[column])?)?));
            } else if !is_among(&OTHER_NAMES) && !is_among(&SPLIT_NAMES) && !is_among(&TRAIN_END_NAMES)
                // A column of texts is none of values.
                && let Ok(values) = numbers(&table.require(&[column])?)
            {
                scores.push((column.to_owned(), values));
            }
        }
        let split = table.find(&SPLIT_NAMES)?.map(|column| splits(&column)).transpose()?;
        let train_end = table.find(&TRAIN_END_NAMES)?.map(|column| optional_dates(&column)).transpose()?;
        let known_at = table.find(&["known_at"])?.map(|column| times(&column)).transpose()?;
        let shape = match () {
            () if returns.iter().any(|column| column.horizon.is_some()) => ResultShape::AlphalensFrame,
            () if !returns.is_empty() || split.is_some() || train_end.is_some() || scores.len() > 1 => {
                ResultShape::Predictions
            }
            () => ResultShape::FactorTable,
        };
        let claim = Claim::default();
        Ok(AuditedTable {
            name: name.to_owned(),
            shape,
            dates,
            codes,
            scores,
            is_named: true,
            returns,
            known_at,
            split,
            train_end,
            claim,
        })
    }

    /// Puts the audited column first.
    fn choose(&mut self, score: Option<&str>, columns: &[&str]) -> Result<()> {
        let place = |name: &str| self.scores.iter().position(|(column, _)| column.eq_ignore_ascii_case(name));
        let place = match score {
            Some(score) => Some(place(score).with_context(|| {
                message!(
                    "--score：没有名为 {score:?} 的数值列；现有列：{columns:?}",
                    "--score: no column of numbers is named {score:?}; the columns are {columns:?}"
                )
            })?),
            None => VALUE_NAMES.into_iter().chain([self.name.as_str()]).find_map(place),
        };
        if self.scores.is_empty() {
            bail!(
                "没有一列是因子值；请命名为 \"value\" 或 \"score\"：现有列：{columns:?}",
                "no column holds values; name it \"value\" or \"score\": the columns are {columns:?}"
            );
        }
        self.is_named = place.is_some() || self.scores.len() == 1;
        self.scores.swap(0, place.unwrap_or(0));
        Ok(())
    }

    /// Adds the returns of another table by date and code.
    fn add_returns(&mut self, labels: AuditedTable) {
        let mut by_cell: FxHashMap<(NaiveDate, &Code), f64> = FxHashMap::default();
        let column =
            labels.returns.first().map(|returns| &returns.values).or(labels.scores.first().map(|(_, values)| values));
        let Some(column) = column else { return };
        for (row, value) in column.iter().enumerate() {
            by_cell.insert((*labels.dates.at(row), labels.codes.at(row)), *value);
        }
        let of_row = |row: usize| by_cell.get(&(*self.dates.at(row), self.codes.at(row))).copied().unwrap_or(f64::NAN);
        let values = (0..self.rows()).map(of_row).collect();
        self.returns.push(StatedReturns { name: "label".to_owned(), horizon: None, values });
    }

    pub fn rows(&self) -> usize {
        self.dates.rows.len()
    }

    /// True if the row counts: all rows do, unless some are said to be test rows.
    pub(super) fn is_tested(&self, row: usize) -> bool {
        self.split.as_ref().is_none_or(|split| split[row] == SampleSplit::Test)
    }
}

/// Opens a table; a pickle of a frame is read without being run.
fn open(path: &Path) -> Result<DailyTable> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "pkl" | "pickle" => Ok(DailyTable::Whole(pickle::read_frame(path)?)),
        _ => DailyTable::open(path),
    }
}

/// A recorder of Qlib: `artifacts/pred.pkl`, `artifacts/label.pkl` and files of `metrics/`; tables of the same names as Parquet or CSV
/// come first.
fn recorder(folder: &Path, score: Option<&str>) -> Result<AuditedTable> {
    let inner = folder.join("artifacts");
    let artifacts = if inner.is_dir() { inner.as_path() } else { folder };
    let table = |name: &str| {
        let files = ["parquet", "csv", "pkl"].map(|extension| artifacts.join(format!("{name}.{extension}")));
        files.into_iter().find(|file| file.is_file())
    };
    let pred = table("pred").with_context(|| {
        message!(
            "{} 不含 Qlib recorder 文件夹应有的 pred.pkl、pred.parquet 或 pred.csv；请指定文件",
            "{} holds no pred.pkl, pred.parquet or pred.csv, as the folder of a Qlib recorder does; name a file",
            artifacts.display()
        )
    })?;
    let in_file = |file: &Path| format!("{}", file.display());
    let mut read = AuditedTable::of(&open(&pred)?, "pred", score).with_context(|| in_file(&pred))?;
    read.shape = ResultShape::QlibRecorder;
    if let Some(file) = table("label") {
        read.add_returns(AuditedTable::all_columns(&open(&file)?, "label", None).with_context(|| in_file(&file))?);
    }
    let beside = [folder.join("metrics"), folder.parent().unwrap_or(folder).join("metrics")];
    if let Some(metrics) = beside.iter().find(|metrics| metrics.is_dir()) {
        read.claim = Claim::of_metrics(metrics)?;
    }
    // Qlib's label: bought at the close of the next day, sold at the close of the day after.
    read.claim.delay = Some(1);
    read.claim.price = Some(inkstone_market::Price::Close);
    Ok(read)
}

/// A table with a row a date and a column a name.
fn wide(table: &DailyTable, date: &Column, name: &str, score: Option<&str>) -> Result<AuditedTable> {
    let by_row = dates(date)?;
    let named = |column: &&str| Code::parse(column).is_some();
    let columns: Vec<&str> = table.names().into_iter().filter(|column| *column != date.name().as_str()).collect();
    let names: Vec<&str> = columns.iter().copied().filter(named).collect();
    ensure!(
        names.len() * 2 > columns.len() && score.is_none(),
        "没有名为 {} 的列，其他列也不是代码；现有列：{:?}",
        "no column is named {}, and the other columns are no codes; the columns are {:?}",
        CODE_NAMES.join(" or "),
        table.names()
    );
    ensure!(!by_row.rows.is_empty(), "它没有行，没有可审查的", "it has no rows, so there is nothing to audit");
    let (mut rows, mut code_rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (number, column) in names.iter().enumerate() {
        for (row, value) in numbers(&table.require(&[column])?)?.into_iter().enumerate().filter(|(_, v)| !v.is_nan()) {
            rows.push(by_row.rows[row]);
            code_rows.push(number as u32);
            values.push(value);
        }
    }
    Ok(AuditedTable {
        name: name.to_owned(),
        shape: ResultShape::FactorTable,
        dates: RepeatedValues { distinct: by_row.distinct, rows },
        codes: RepeatedValues { distinct: names.into_iter().filter_map(Code::parse).collect(), rows: code_rows },
        scores: vec![("value".to_owned(), values)],
        is_named: true,
        returns: Vec::new(),
        known_at: None,
        split: None,
        train_end: None,
        claim: Claim::default(),
    })
}

/// Trading days of a column that alphalens names by its period: `1D`, `5D`.
fn days_of(name: &str) -> Option<usize> {
    name.strip_suffix('d')?.parse().ok().filter(|days| *days > 0)
}

fn splits(column: &Column) -> Result<Vec<SampleSplit>> {
    let texts = column.cast(&polars_core::prelude::DataType::String)?;
    let split = |(row, text): (usize, Option<&str>)| match text.unwrap_or_default().trim().to_lowercase().as_str() {
        "train" | "training" | "valid" | "validation" | "in_sample" | "dev" => Ok(SampleSplit::Train),
        "test" | "testing" | "out_of_sample" | "oos" => Ok(SampleSplit::Test),
        other => bail!(
            "列 {1} 第 {0} 行：{other:?} 不是 train、valid 或 test",
            "row {} of column {}: {other:?} is neither train, valid nor test",
            row + 1,
            column.name()
        ),
    };
    texts.str()?.iter().enumerate().map(split).collect()
}

/// Dates of a column that may be empty.
fn optional_dates(column: &Column) -> Result<Vec<Option<NaiveDate>>> {
    let there = column.is_not_null();
    let read = dates(&column.filter(&there)?)?;
    let mut rows = 0..read.rows.len();
    Ok(there
        .iter()
        .map(|there| (there == Some(true)).then(|| rows.next()).flatten().map(|row| *read.at(row)))
        .collect())
}

/// A document of a name, by its time of publication.
pub type DocumentTime = (Code, NaiveDateTime);

/// Reads names and times of documents: JSON lines with `codes` (or `code`) and `published_at`, or a table with these columns. Gives also the number
/// of documents without a code.
pub fn read_documents(path: &Path) -> Result<(Vec<DocumentTime>, u64)> {
    let read = || {
        let extension =
            path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
        if ["jsonl", "ndjson", "json"].contains(&extension.as_str()) {
            return json_documents(&disk::snapshot(path)?);
        }
        let table = DailyTable::open(path)?;
        let times =
            times(&table.require(&["published_at", "publish_time", "pub_time", "time", "datetime", "date"])?)?;
        let codes = table.require(&["code", "codes", "asset", "instrument", "ticker", "symbol", "ts_code"])?;
        let codes = codes.cast(&polars_core::prelude::DataType::String)?;
        let mut documents = Documents::default();
        for (time, codes) in times.into_iter().zip(codes.str()?.iter()) {
            documents.add(codes.unwrap_or_default(), time);
        }
        Ok(documents)
    };
    let documents = read().with_context(|| message!("文档 {}", "the documents {}", path.display()))?;
    ensure!(
        !documents.times.is_empty(),
        "文档 {}：没有一篇既有代码又有发布时间",
        "the documents {}: none has a code and a time of publication",
        path.display()
    );
    Ok((documents.times, documents.without))
}

#[derive(Default)]
struct Documents {
    times: Vec<DocumentTime>,
    without: u64,
}

impl Documents {
    fn add(&mut self, codes: &str, time: Option<NaiveDateTime>) {
        let codes = Code::parse_list(codes).0;
        match time.filter(|_| !codes.is_empty()) {
            Some(time) => self.times.extend(codes.into_iter().map(|code| (code, time))),
            None => self.without += 1,
        }
    }
}

fn json_documents(bytes: &[u8]) -> Result<Documents> {
    let mut documents = Documents::default();
    for (number, line) in bytes.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let object: serde_json::Value = serde_json::from_slice(line)
            .with_context(|| message!("第 {} 行不是 JSON 对象", "line {} is not a JSON object", number + 1))?;
        let codes = object.get("codes").or(object.get("code")).map_or(String::new(), |codes| match codes {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let time = object.get("published_at").and_then(|time| time.as_str()).unwrap_or_default();
        let parse = |format: &&str| NaiveDateTime::parse_from_str(time, format).ok();
        let day = || time.parse::<NaiveDate>().ok().and_then(|day| day.and_hms_opt(23, 59, 59));
        documents.add(
            &codes,
            ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M"].iter().find_map(parse).or_else(day),
        );
    }
    Ok(documents)
}
