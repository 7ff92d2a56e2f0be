//! The user's decisions on boilerplate: a TOML file beside the configuration.
//!
//! ```toml
//! accepted = ["0f3a9c21d4"]          # ids of the list
//! refused = ["77b0e2c9aa"]
//!
//! [[add]]
//! text = "本栏目由某某独家赞助播出"     # a sentence; or pattern = "a regular expression"
//! from = 2024-01-01                   # a date counts from 23:59:59
//! publisher = "某某证券"               # absent: of all publishers
//! ```
//!
//! Writing a decision replaces the two lists and leaves all else in the file as it stands.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use regex::Regex;
use serde::Deserialize;
use toml::de::DeTable;

use super::list::Status;
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DecisionFile {
    accepted: BTreeSet<String>,
    refused: BTreeSet<String>,
    add: Vec<WrittenAdd>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAdd {
    text: Option<String>,
    pattern: Option<String>,
    from: toml::Value,
    publisher: Option<String>,
}

#[derive(Debug, Default)]
pub struct Decisions {
    /// Ids of accepted sentences. They are marked as proposed ones are, from the time that the corpus made them known.
    pub accepted: BTreeSet<String>,
    /// Ids of refused sentences, which are never marked.
    pub refused: BTreeSet<String>,
    /// Boilerplate that the user added.
    pub(super) added: Vec<Added>,
}

/// A sentence or pattern that the user added.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) what: What,
    /// Documents published after this are marked.
    pub(super) from: NaiveDateTime,
    /// The publisher whose documents it is for; none for all.
    pub(super) publisher: Option<String>,
}

#[derive(Debug)]
pub(super) enum What {
    /// Sentences of the same normal form.
    Text(String),
    /// Sentences in which this is found.
    Pattern(Box<Regex>),
}

impl Decisions {
    /// Reads a file of decisions; an absent file is none.
    pub fn read(path: &Path) -> Result<Decisions> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Decisions::default()),
            Err(error) => return Err(error).with_context(|| message!("无法读取 {}", "cannot read {}", path.display())),
        };
        Decisions::parse(&text).with_context(|| {
            message!(
                "无法使用 {}（[structure] decisions）",
                "{} ([structure] decisions) cannot be used",
                path.display()
            )
        })
    }

    /// The decision on a sentence of the list.
    pub fn status(&self, id: &str) -> Status {
        match (self.refused.contains(id), self.accepted.contains(id)) {
            (true, _) => Status::Refused,
            (false, true) => Status::Accepted,
            (false, false) => Status::Proposed,
        }
    }

    /// Number of sentences and patterns that the user added.
    pub fn added(&self) -> usize {
        self.added.len()
    }

    fn parse(text: &str) -> Result<Decisions> {
        let written: DecisionFile = toml::from_str(text)?;
        if let Some(both) = written.accepted.intersection(&written.refused).next() {
            bail!(
                "{both:?} 同时被接受和拒绝：请从其中一个列表移除",
                "{both:?} is both accepted and refused: take it out of one list"
            );
        }
        let added =
            written.add.into_iter().enumerate().map(|(i, add)| {
                added(add).with_context(|| message!("第 {} 个 [[add]]", "in [[add]] number {}", i + 1))
            });
        Ok(Decisions { added: added.collect::<Result<_>>()?, accepted: written.accepted, refused: written.refused })
    }

    /// Writes the accepted and refused ids into the file; `told` gives the comment that stands behind an id.
    pub fn write(&self, path: &Path, told: impl Fn(&str) -> Option<String>) -> Result<()> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| message!("无法读取 {}", "cannot read {}", path.display())),
        };
        let list = |ids: &BTreeSet<String>| {
            let mut list = String::from("[\n");
            for id in ids {
                let comment = told(id).map(|text| format!(" # {}", text.replace(char::is_control, " ")));
                let _ = writeln!(list, "    {id:?},{}", comment.unwrap_or_default());
            }
            list + "]"
        };
        let new = replaced(&text, &[("accepted", list(&self.accepted)), ("refused", list(&self.refused))])?;
        Decisions::parse(&new)
            .with_context(|| message!("无法把决定写入 {}", "cannot write decisions into {}", path.display()))?;
        disk::write_atomic(path, |out| Ok(out.write_all(new.as_bytes())?))
    }
}

/// The text with the values of these keys of its top replaced, or put before all else.
fn replaced(text: &str, values: &[(&str, String)]) -> Result<String> {
    let table = DeTable::parse(text)
        .context(Word("决定文件不是有效的 TOML", "the file of decisions is not valid TOML"))?
        .into_inner();
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    for (key, value) in values {
        match table.iter().find(|(name, _)| name.get_ref().as_ref() == *key) {
            Some((_, old)) => changes.push((old.span(), value.clone())),
            None => changes.push((0..0, format!("{key} = {value}\n"))),
        }
    }
    changes.sort_by_key(|(span, _)| span.start);
    let mut new = String::new();
    let mut done = 0;
    for (span, value) in changes {
        new += &text[done..span.start];
        new += &value;
        done = span.end;
    }
    Ok(new + &text[done..])
}

fn added(add: WrittenAdd) -> Result<Added> {
    let what = match (add.text, add.pattern) {
        (Some(text), None) => {
            ensure!(text.chars().any(char::is_alphanumeric), "text 没有文字", "text has no letter");
            What::Text(text)
        }
        (None, Some(pattern)) => {
            let regex = limits::pattern(&pattern).with_context(|| {
                message!(
                    "pattern {pattern:?} 不能作为正则表达式",
                    "pattern {pattern:?} cannot be used as a regular expression"
                )
            })?;
            ensure!(
                !regex.is_match(""),
                "pattern {pattern:?} 与每个句子都匹配",
                "pattern {pattern:?} is found in every sentence"
            );
            What::Pattern(Box::new(regex))
        }
        _ => bail!("text 与 pattern 只写其一", "write either text or pattern"),
    };
    let written = match &add.from {
        toml::Value::String(text) => text.clone(),
        toml::Value::Datetime(time) => time.to_string(),
        other => bail!(
            "from = {other} 不是时间；请写 from = 2024-01-31 或 2024-01-31T15:00:00",
            "from = {other} is no time; write from = 2024-01-31, or 2024-01-31T15:00:00"
        ),
    };
    let day = || NaiveDate::parse_from_str(&written, "%Y-%m-%d").ok()?.and_hms_opt(23, 59, 59);
    let time = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"];
    let from = time.iter().find_map(|form| NaiveDateTime::parse_from_str(&written, form).ok()).or_else(day);
    let from = from.with_context(|| {
        message!(
            "from = {written} 不是时间；请写 from = 2024-01-31 或 2024-01-31T15:00:00（上海时间）",
            "from = {written} is no time; write from = 2024-01-31, or 2024-01-31T15:00:00 (Shanghai time)"
        )
    })?;
    Ok(Added { what, from, publisher: add.publisher })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# 我的决定\nrefused = [\"bb\"] # 保留\n\n[[add]]\ntext = \"本栏目由远山赞助播出\" # 广告\nfrom = 2024-01-02\n\n\
                        [[add]]\npattern = \"^扫码\"\nfrom = \"2024-01-02 09:30:00\"\npublisher = \"远山证券\"\n";

    #[test]
    fn decisions_are_read_and_written_without_losing_what_the_user_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boilerplate.toml");
        assert!(Decisions::read(&path).unwrap().refused.is_empty());
        std::fs::write(&path, FILE).unwrap();
        let mut decisions = Decisions::read(&path).unwrap();
        assert_eq!(decisions.added[0].from.to_string(), "2024-01-02 23:59:59");
        assert_eq!(decisions.added[1].from.to_string(), "2024-01-02 09:30:00");
        assert_eq!(decisions.added[1].publisher.as_deref(), Some("远山证券"));
        decisions.accepted.insert("aa".into());
        decisions.refused = ["cc".to_owned()].into();
        decisions.write(&path, |id| (id == "cc").then(|| "某句\n话".into())).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for kept in ["# 我的决定", "# 保留", "# 广告", "\"cc\", # 某句 话"] {
            assert!(text.contains(kept), "{kept} is not in\n{text}");
        }
        let read = Decisions::read(&path).unwrap();
        assert_eq!((read.accepted, read.refused, read.added.len()), (decisions.accepted, decisions.refused, 2));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (text, told) in [
            ("accepted = [\"a\"]\nrefused = [\"a\"]", "both accepted and refused"),
            ("[[add]]\ntext = \"某句话\"\nfrom = 3", "from = 3 is no time"),
            ("[[add]]\ntext = \"某句话\"", "from"),
            ("[[add]]\nfrom = 2024-01-01", "either text or pattern"),
            ("[[add]]\npattern = \"(\"\nfrom = 2024-01-01", "cannot be used as a regular expression"),
            ("[[add]]\npattern = \".{0,99999}\"\nfrom = 2024-01-01", "size limit"),
            ("[[add]]\npattern = \"x*\"\nfrom = 2024-01-01", "every sentence"),
            ("refuse = []", "refuse"),
        ] {
            let error = format!("{:#}", Decisions::parse(text).unwrap_err());
            assert!(error.contains(told), "{told:?} is not in {error}");
        }
    }
}
