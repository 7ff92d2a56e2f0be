//! Reads workbench.toml and finds all problems at once: syntax, unknown keys, wrong types.
//!
//! Each problem names its line, its key path and, for an unknown key, the nearest known one.

use std::fmt;

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::bounds;

use inkstone_base::language::{LINES, Language, Message, Word};
use inkstone_base::{bail, message};

/// A problem of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    /// Key path: `source[0].columns.title`.
    pub(crate) path: String,
    /// The problem and the way out.
    pub(crate) message: Message,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, message: Message) -> Problem {
        Problem { path: path.into(), message }
    }
}

/// A problem and its line in the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Line of the text, from 1.
    pub line: usize,
    /// Key path: `source[0].columns.title`; empty if the text is not TOML.
    pub path: String,
    /// The problem and the way out.
    pub message: Message,
}

/// All errors of syntax.
pub(crate) fn syntax_faults(text: &str) -> Vec<Fault> {
    let (_, errors) = DeTable::parse_recoverable(text);
    let fault = |error: toml::de::Error| Fault {
        line: error.span().map_or(1, |span| line_of(text, span.start)),
        path: String::new(),
        message: message!("TOML 语法错误：“{}”", "{}", error.message()),
    };
    errors.into_iter().map(fault).collect()
}

/// The text of a configuration, its values, and the problems found so far.
pub(crate) struct Checker<'t> {
    file: String,
    text: &'t str,
    spans: DeTable<'t>,
    table: Table,
    /// Names of the sections that were read.
    sections: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl<'t> Checker<'t> {
    /// Parses the text; fails on errors of syntax, naming every one.
    pub(crate) fn new(file: &str, text: &'t str) -> Result<Checker<'t>> {
        let faults = syntax_faults(text);
        if !faults.is_empty() {
            let line_of_fault = |f: &Fault| message!("  第 {} 行：{}", "  line {}: {}", f.line, f.message);
            let list = Message::joined(faults.iter().map(line_of_fault), LINES);
            bail!("{file} 不是有效的 TOML：\n{list}", "{file} is not valid TOML:\n{list}");
        }
        let (spans, _) = DeTable::parse_recoverable(text);
        let table = toml::from_str(text)?;
        let (file, spans) = (file.to_owned(), spans.into_inner());
        Ok(Checker { file, text, spans, table, sections: Vec::new(), problems: Vec::new() })
    }

    /// Adds a problem for each section other than those that were read.
    pub(crate) fn refuse_other_sections(&mut self) {
        for key in self.table.keys().filter(|key| !self.sections.contains(&key.as_str())) {
            let message = unknown_key(key, self.sections.iter().copied(), Word("节", "section"));
            self.problems.push(Problem::new(key, message));
        }
    }

    /// Reads the section `[name]`; its defaults when it is absent.
    pub(crate) fn section<T: DeserializeOwned + Serialize + Default>(&mut self, name: &'static str) -> T {
        self.sections.push(name);
        match self.table.get(name).cloned() {
            None => T::default(),
            Some(Value::Table(table)) => self.table_as(name, table),
            Some(other) => {
                let message =
                    message!("是{}；请写成一节 [{name}]", "is {}; write it as a section [{name}]", kind(&other));
                self.problems.push(Problem::new(name, message));
                T::default()
            }
        }
    }

    /// Reads the repeated section `[[name]]`.
    pub(crate) fn sections_of<T: DeserializeOwned + Serialize + Default>(&mut self, name: &'static str) -> Vec<T> {
        self.sections.push(name);
        let items = match self.table.get(name).cloned() {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                let message = message!(
                    "是{}；请逐个写成 [[{name}]]",
                    "is {}; write each one as a section [[{name}]]",
                    kind(&other)
                );
                self.problems.push(Problem::new(name, message));
                return Vec::new();
            }
        };
        let mut read = Vec::new();
        for (i, item) in items.into_iter().enumerate() {
            let path = format!("{name}[{i}]");
            match item {
                Value::Table(table) => read.push(self.table_as(&path, table)),
                other => self
                    .problems
                    .push(Problem::new(path, message!("是{}，而不是表", "is {}, not a table", kind(&other)))),
            }
        }
        read
    }

    /// Adds a problem of meaning, unless the key has a problem of form already.
    pub(crate) fn add(&mut self, problem: Problem) {
        if !self.problems.iter().any(|p| p.path == problem.path) {
            self.problems.push(problem);
        }
    }

    /// All problems, in the order of their lines.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let fault = |p: &Problem| Fault { line: self.line(&p.path), path: p.path.clone(), message: p.message.clone() };
        let mut faults: Vec<Fault> = self.problems.iter().map(fault).collect();
        faults.sort();
        faults
    }

    /// Fails when there was any problem, with all of them in the order of their lines.
    pub(crate) fn finish(self) -> Result<()> {
        let faults = self.faults();
        if faults.is_empty() {
            return Ok(());
        }
        let (file, count) = (&self.file, faults.len());
        let line = |f: &Fault| message!("  {file}:{}：{}：{}", "  {file}:{}: {}: {}", f.line, f.path, f.message);
        let lines = Message::joined(faults.iter().map(line), LINES);
        let problems = Word("个问题", if count == 1 { "problem" } else { "problems" });
        bail!("{file} 有 {count} {problems}：\n{lines}", "{count} {problems} in {file}:\n{lines}");
    }

    fn table_as<T: DeserializeOwned + Serialize + Default>(&mut self, path: &str, table: Table) -> T {
        let (read, problems) = read_table(path, table);
        self.problems.extend(problems);
        read
    }

    /// The line of a key path, or of the deepest part of it that the text has.
    fn line(&self, path: &str) -> usize {
        let mut offset = 0;
        let mut table = &self.spans;
        for step in path.split('.') {
            let (key, index) = match step.split_once('[') {
                Some((key, rest)) => (key, rest.trim_end_matches(']').parse::<usize>().ok()),
                None => (step, None),
            };
            let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref().as_ref() == key) else { break };
            offset = name.span().start;
            let value = match (index, value.get_ref()) {
                (Some(i), DeValue::Array(items)) => match items.get(i) {
                    Some(item) => {
                        offset = item.span().start;
                        item
                    }
                    None => break,
                },
                _ => value,
            };
            match value.get_ref() {
                DeValue::Table(inner) => table = inner,
                _ => break,
            }
        }
        line_of(self.text, offset)
    }
}

/// Reads the table at `path`, with everything that is wrong in it. Every key is read on its own, so that one of a wrong type does not hide
/// the next.
pub(super) fn read_table<T: DeserializeOwned + Serialize + Default>(path: &str, table: Table) -> (T, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut sound = Table::new();
    let schema = serde_json::to_value(T::default()).unwrap_or_default();
    for (key, value) in &table {
        // A value out of bounds is judged no further.
        let outside = bounds::problems(&format!("{path}.{key}"), value);
        if !outside.is_empty() {
            problems.extend(outside);
            continue;
        }
        let mut single = Table::new();
        single.insert(key.clone(), value.clone());
        let mut ignored = Vec::new();
        // A message of ours within serde's is in the language of the thread.
        let mut read = |language: Language| -> Result<T, _> {
            let _guard = language.on_this_thread();
            ignored.clear();
            // A table that may be absent adds a step `?` to the path.
            let mut note = |p: serde_ignored::Path<'_>| ignored.push(p.to_string().replace(".?.", "."));
            let inner = Value::Table(single.clone());
            serde_path_to_error::deserialize(serde_ignored::Deserializer::new(inner, &mut note))
        };
        let (english, read) = (read(Language::En).err(), read(Language::Zh));
        for unknown in ignored {
            let at = format!("{path}.{unknown}");
            let message = match renamed(&at) {
                Some(message) => message.into(),
                None => unknown_key(last_key(&unknown), keys_at(&schema, &unknown).into_iter(), Word("键", "key")),
            };
            problems.push(Problem::new(at, message));
        }
        match read {
            Ok(_) => drop(sound.insert(key.clone(), value.clone())),
            Err(error) => {
                let inner = error.path().to_string();
                let at = if inner == "." { key.clone() } else { inner };
                let [zh, en] =
                    [Some(&error), english.as_ref()].map(|error| error.map(|e| first_line(&e.inner().to_string())));
                problems.push(Problem::new(
                    format!("{path}.{at}"),
                    wrong_type(zh.unwrap_or_default(), en.unwrap_or_default()),
                ));
            }
        }
    }
    // Sound settings are kept, so that the checks of meaning do not complain of their absence.
    match Value::Table(sound).try_into() {
        Ok(read) => (read, problems),
        Err(error) => {
            let error: toml::de::Error = error;
            let text = first_line(error.message());
            problems.push(Problem::new(path, wrong_type(text.clone(), text)));
            (T::default(), problems)
        }
    }
}

impl fmt::Debug for Checker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("file", &self.file).field("problems", &self.problems).finish()
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count()
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// A message of serde about a value of a wrong type, whose Chinese text holds messages of ours in Chinese and all else in English.
fn wrong_type(zh: String, en: String) -> Message {
    const TERMS: [(&str, &str); 22] = [
        ("invalid type: ", "类型不符："),
        ("invalid value: ", "取值不符："),
        ("invalid length ", "长度不符："),
        ("unknown variant ", "没有这个取值 "),
        ("missing field ", "缺少字段 "),
        (", expected one of ", "；可用："),
        (", expected ", "；应为"),
        ("floating point ", "小数 "),
        ("integer ", "整数 "),
        ("string ", "文本 "),
        ("boolean ", "布尔值 "),
        ("a sequence", "列表"),
        ("sequence", "列表"),
        ("a boolean", "true 或 false"),
        ("a string", "文本"),
        ("path string", "路径"),
        ("a map", "表"),
        ("map", "表"),
        ("a tuple of size ", "列表，项数为 "),
        ("an array of length ", "列表，项数为 "),
        ("unit value", "空值"),
        (" or ", " 或 "),
    ];
    // Of a message of ours the Chinese text differs already.
    if zh != en {
        return Message { zh, en };
    }
    let mut zh = zh;
    for (english, chinese) in TERMS {
        zh = zh.replace(english, chinese);
    }
    for numbers in ["usize", "u64", "u32", "u16", "u8", "i64", "i32", "i16", "i8"] {
        zh = zh.replace(&format!("应为{numbers}"), "应为整数");
    }
    zh = zh.replace("应为f64", "应为数字").replace("应为f32", "应为数字").replace("应为struct ", "应为表 ");
    zh = zh.replace("应为true", "应为 true");
    if zh == en { message!("无法读取这个值：{en}", "{en}") } else { Message { zh, en } }
}

fn last_key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// The keys that a table of defaults has beside the last key of `path`.
fn keys_at<'s>(schema: &'s serde_json::Value, path: &str) -> Vec<&'s str> {
    let steps: Vec<&str> = path.split('.').collect();
    let mut at = schema;
    for step in &steps[..steps.len() - 1] {
        at = at.get(step).unwrap_or(&serde_json::Value::Null);
    }
    at.as_object().map(|o| o.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The message for a key of an earlier version: its new name.
fn renamed(path: &str) -> Option<Word> {
    match path.strip_prefix("feature[")?.split_once("].")?.1 {
        "label" => Some(Word(
            "现名 target：请写 [feature.target]，或 target = { delay = 1, price = \"open\", horizon = 5 }",
            "is now called target: write [feature.target], or target = { delay = 1, price = \"open\", horizon = 5 }",
        )),
        "label_form" => Some(Word(
            "现为 [feature.target] 的 form：请写 target = { form = \"ranked\" }",
            "is now form in [feature.target]: write target = { form = \"ranked\" }",
        )),
        _ => None,
    }
}

fn unknown_key<'k>(key: &str, known: impl Iterator<Item = &'k str>, what: Word) -> Message {
    let known: Vec<&str> = known.collect();
    let nearest = known
        .iter()
        .map(|k| (strsim::osa_distance(key, k), *k))
        .filter(|(distance, k)| *distance <= 1 + k.chars().count() / 3)
        .min();
    match nearest {
        Some((_, near)) => message!("未知的{what}；是不是 {near:?}？", "unknown {what}; did you mean {near:?}?"),
        None if known.is_empty() => message!("未知的{what}", "unknown {what}"),
        None => message!("未知的{what}；可用：{}", "unknown {what}; there are: {}", known.join(", ")),
    }
}

fn kind(value: &Value) -> Word {
    match value {
        Value::String(_) => Word("文本", "a string"),
        Value::Integer(_) => Word("整数", "a whole number"),
        Value::Float(_) => Word("数字", "a number"),
        Value::Boolean(_) => Word("true 或 false", "true or false"),
        Value::Datetime(_) => Word("日期", "a date"),
        Value::Array(_) => Word("列表", "a list"),
        Value::Table(_) => Word("表", "a table"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Inner {
        depth: u32,
        label: Option<String>,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Section {
        quantiles: usize,
        inner: Inner,
    }

    #[test]
    fn all_problems_come_at_once_with_their_lines() {
        let text = "[section]\nquantile = 5\nquantiles = \"five\"\n[section.inner]\ndepht = 3\n\n[[item]]\ndepth = -1\n[other]\n";
        let mut checker = Checker::new("w.toml", text).unwrap();
        let _: Section = checker.section("section");
        let _: Vec<Inner> = checker.sections_of("item");
        checker.refuse_other_sections();
        let message = checker.finish().unwrap_err().to_string();
        let expected = ["5 problems in w.toml", "w.toml:2: section.quantile: unknown key; did you mean \"quantiles\"?"];
        for part in expected.iter().chain(&[
            "w.toml:3: section.quantiles: invalid type",
            "w.toml:5: section.inner.depht: unknown key; did you mean \"depth\"?",
            "w.toml:8: item[0].depth: ",
            "w.toml:9: other: unknown section; there are: section, item",
        ]) {
            assert!(message.contains(part), "{part:?} is not in\n{message}");
        }
    }

    #[test]
    fn a_good_file_is_read_and_absent_sections_are_defaults() {
        let mut checker = Checker::new("w.toml", "[section]\nquantiles = 5\ninner = { label = \"短\" }\n").unwrap();
        let section: Section = checker.section("section");
        let items: Vec<Inner> = checker.sections_of("item");
        assert_eq!(section, Section { quantiles: 5, inner: Inner { depth: 0, label: Some("短".into()) } });
        assert!(items.is_empty());
        checker.finish().unwrap();
    }

    #[test]
    fn errors_of_syntax_name_their_lines() {
        let message = Checker::new("w.toml", "[a]\nb = \nc = 1\nd = [1,\n").unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
    }
}
