//! Changes to the text of a configuration that leave everything else as it was written: comments, order, spacing.
//!
//! An existing value is replaced at its bytes; a new key is put in by toml_edit. Places are key paths as the
//! problems of [`Config::faults`] have them: `backtest.delay`, `source[0].columns.title`.
//!
//! [`Config::faults`]: super::Config::faults

use std::ops::Range;

use anyhow::{Context, Result};
use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table, Value};

use inkstone_corpus::ingest::{Format, Source};

use inkstone_base::{bail, ensure, message};

/// Marks a line of the template that is an example: it has no effect.
const EXAMPLE: &str = "#: ";

/// A key of a path, and the number of the table among those of that name.
type PathStep<'p> = (&'p str, Option<usize>);

/// Puts `value`, a TOML value, at `path`. Tables on the way are made.
pub fn set(text: &str, path: &str, value: &str) -> Result<String> {
    let value = &lines_as_in(text, value.trim().replace('\r', ""));
    // The parser would skip a byte order mark, which no later value of a file may have.
    let parsed = value.parse::<Value>().ok().filter(|_| !value.starts_with('\u{feff}'));
    let parsed = parsed.with_context(|| message!("{value:?} 不是 TOML 的值", "{value:?} is not a TOML value"))?;
    let steps = steps(path)?;
    if let Some(span) = Written::read(text)?.span(path)? {
        return checked(format!("{}{value}{}", &text[..span.start], &text[span.end..]));
    }
    let Some(((key, None), way)) = steps.split_last() else {
        bail!("{path}：没有这样的表", "{path}: there is no such table")
    };
    let mut document = document(text)?;
    let mut at = document.as_item_mut();
    for (name, number) in way {
        let table = at
            .as_table_like_mut()
            .with_context(|| message!("{path}：{name} 不是表", "{path}: {name} is not a table"))?;
        at = match number {
            None => table.entry(name).or_insert_with(|| Item::Table(Table::new())),
            Some(number) => {
                let found = table.get_mut(name).and_then(|item| item.get_mut(*number));
                found.with_context(|| {
                    message!("{path}：没有 {name}[{number}]", "{path}: there is no {name}[{number}]")
                })?
            }
        };
    }
    let table = at.as_table_like_mut().with_context(|| message!("{path} 不在表中", "{path} is not in a table"))?;
    table.insert(key, Item::Value(parsed));
    checked(lines_as_in(text, document.to_string()))
}

/// Takes the key at `path` out of effect: its lines become an example, so that what is written beside it stays readable.
pub fn unset(text: &str, path: &str) -> Result<String> {
    let Some(span) = Written::read(text)?.span(path)? else { return Ok(text.to_owned()) };
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let (_, key) = path.rsplit_once('.').unwrap_or(("", path));
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at);
    let begins_line = text[start..span.start].trim_end().strip_suffix('=').is_some_and(|name| name.trim() == key);
    let behind = text[span.end..end].trim_start_matches(',').trim();
    if !(begins_line && (behind.is_empty() || behind.starts_with('#'))) {
        // Inside an inline table a comment has no place.
        let (table, key) =
            path.rsplit_once('.').with_context(|| message!("{path} 不是表的键", "{path} is not a key of a table"))?;
        let mut document = document(text)?;
        let mut at = document.as_item_mut();
        for (name, number) in steps(table)? {
            at = at.get_mut(name).with_context(|| message!("{path}：没有 {name}", "{path}: there is no {name}"))?;
            if let Some(number) = number {
                at = at.get_mut(number).with_context(|| {
                    message!("{path}：没有 {name}[{number}]", "{path}: there is no {name}[{number}]")
                })?;
            }
        }
        at.as_table_like_mut()
            .with_context(|| message!("{path}：{table} 不是表", "{path}: {table} is not a table"))?
            .remove(key);
        return checked(lines_as_in(text, document.to_string()));
    }
    let mut lines = String::new();
    for line in text[start..end].split_inclusive('\n') {
        lines += EXAMPLE;
        lines += line;
    }
    checked(format!("{}{lines}{}", &text[..start], &text[end..]))
}

/// Adds a table to `[[section]]`: behind the last one, else at the example of the template, else at the end.
pub fn add(text: &str, section: &str, block: &str) -> Result<String> {
    let mut document = document(text)?;
    if let Some(item) = document.get_mut(section) {
        let name = format!("[[{section}]]");
        let tables = item.as_array_of_tables_mut();
        let tables = tables.with_context(|| {
            message!("{section} 是列表；请逐个写成 {name}", "{section} is written as a list; write each one as {name}")
        })?;
        let mut added: DocumentMut = block
            .parse()
            .with_context(|| message!("这不是 {name} 一节：\n{block}", "this is not a {name} section:\n{block}"))?;
        let added = added.get_mut(section).and_then(Item::as_array_of_tables_mut);
        let mut table = added
            .and_then(|added| added.get(0).cloned())
            .with_context(|| message!("这不是 {name} 一节", "this is not a {name} section"))?;
        without_place(&mut table);
        table.decor_mut().set_prefix("\n");
        tables.push(table);
        return checked(lines_as_in(text, document.to_string()));
    }
    let mark = format!("{EXAMPLE}[[{section}]]");
    let at = text.match_indices(&mark).map(|found| found.0).find(|at| *at == 0 || text[..*at].ends_with('\n'));
    let block = block.trim_end();
    let written = match at {
        Some(at) => format!("{}{block}\n\n{}", &text[..at], &text[at..]),
        None if text.trim().is_empty() => format!("{block}\n"),
        None => format!("{}\n\n{block}\n", text.trim_end()),
    };
    checked(lines_as_in(text, written))
}

/// Takes a table of `[[section]]` away, with the comments above it.
pub fn remove(text: &str, section: &str, number: usize) -> Result<String> {
    let mut document = document(text)?;
    let tables = document.get_mut(section).and_then(Item::as_array_of_tables_mut);
    let tables: &mut ArrayOfTables =
        tables.with_context(|| message!("没有 [[{section}]]", "there is no [[{section}]]"))?;
    ensure!(number < tables.len(), "没有 {section}[{number}]", "there is no {section}[{number}]");
    tables.remove(number);
    if tables.is_empty() {
        document.remove(section);
    }
    checked(lines_as_in(text, document.to_string()))
}

/// The values of a configuration as they are written.
pub struct Written<'t> {
    text: &'t str,
    document: Document<&'t str>,
}

impl<'t> Written<'t> {
    /// Reads a text; fails if it is not TOML.
    pub fn read(text: &'t str) -> Result<Written<'t>> {
        let document = Document::parse(text).map_err(|error: toml_edit::TomlError| {
            inkstone_base::error!("这不是 TOML：“{error}”", "this is not TOML: {error}")
        })?;
        Ok(Written { text, document })
    }

    /// The value at `path`, if there is one.
    pub fn get(&self, path: &str) -> Option<&'t str> {
        self.text.get(self.span(path).ok().flatten()?)
    }

    /// Range of bytes of the value at `path`, without spaces and comments.
    fn span(&self, path: &str) -> Result<Option<Range<usize>>> {
        let mut at = Some(self.document.as_item());
        for (name, number) in steps(path)? {
            at = at.and_then(|item| item.get(name));
            if let Some(number) = number {
                at = at.and_then(|item| item.get(number));
            }
        }
        Ok(at.and_then(Item::as_value).and_then(Value::span))
    }
}

/// A text as a value of TOML.
pub fn quoted(text: &str) -> String {
    let value = Value::from(text).to_string();
    if !value.contains('\n') {
        return value;
    }
    // The value must fit into one line. JSON writes strings as TOML does, except for one character.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// A `[[source]]` as it is written: what differs from the defaults.
pub fn source_block(source: &Source) -> String {
    let mut block = String::from("[[source]]\n");
    let mut line = |key: &str, value: &str| block += &format!("{key} = {}\n", quoted(value));
    line("name", &source.name);
    line("path", &source.path);
    let default = Source::default();
    if source.table != default.table {
        line("table", source.table.name());
    }
    if source.format != Format::Auto {
        line("format", &plain(&source.format));
    }
    if source.kind != default.kind {
        line("kind", &plain(&source.kind));
    }
    let optional = [
        ("encoding", &source.encoding),
        ("delimiter", &source.delimiter),
        ("sheet", &source.sheet),
        ("time_format", &source.time_format),
        ("published_at_default", &source.published_at_default),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            line(key, value);
        }
    }
    if !source.command.is_empty() {
        block += &format!("command = {}\n", toml::Value::from(source.command.clone()));
    }
    if source.time_out != default.time_out {
        block += &format!("time_out = {}\n", source.time_out);
    }
    if source.known_at != default.known_at {
        block += &format!("known_at = {}\n", quoted(&plain(&source.known_at)));
    }
    if !source.columns.is_empty() {
        block += "[source.columns]\n";
        for (field, column) in &source.columns {
            let value = toml::Value::try_from(column).map_or_else(|_| quoted(""), |value| value.to_string());
            block += &format!("{field} = {value}\n");
        }
    }
    block
}

/// The name of a choice in the configuration.
fn plain(choice: &impl serde::Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

fn document(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        inkstone_base::error!("这不是 TOML：“{error}”", "this is not TOML: {error}")
    })
}

/// No change may leave a text that cannot be read.
fn checked(text: String) -> Result<String> {
    document(&text)?;
    Ok(text)
}

fn steps(path: &str) -> Result<Vec<PathStep<'_>>> {
    let step = |step: &'_ str| -> Option<(usize, Option<usize>)> {
        let end = step.find('[').unwrap_or(step.len());
        let number = match &step[end..] {
            "" => None,
            number => Some(number[1..].strip_suffix(']')?.parse().ok()?),
        };
        (end > 0 && !step[..end].contains(']')).then_some((end, number))
    };
    let read = |part| step(part).map(|(end, number)| (&part[..end], number));
    path.split('.')
        .map(read)
        .collect::<Option<_>>()
        .with_context(|| message!("{path:?} 不是键的路径", "{path:?} is not a path of keys"))
}

/// A table added belongs behind its sisters, wherever it stood before.
fn without_place(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        if let Some(table) = item.as_table_mut() {
            without_place(table);
        }
    }
}

/// The line ends of `text` in what toml_edit has written.
fn lines_as_in(text: &str, written: String) -> String {
    if !text.contains("\r\n") {
        return written;
    }
    written.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, TEMPLATE};
    use inkstone_base::data::Kind;
    use inkstone_corpus::ingest::{Column, Table as SourceTable};

    fn get<'t>(text: &'t str, path: &str) -> Option<&'t str> {
        Written::read(text).unwrap().get(path)
    }

    #[test]
    fn a_changed_value_leaves_every_other_byte_alone() {
        let text =
            "# 砚 \u{20bb7}\r\n[project]   # here\r\nname =   'old'\t# 名称  \r\n\r\n[clean]\r\nwindow_days=30#x\r\n";
        let changed = set(text, "project.name", &quoted("新 \"名\"")).unwrap();
        assert_eq!(changed, text.replace("'old'", "'新 \"名\"'"));
        assert_eq!(set(text, "clean.window_days", " 7 ").unwrap(), text.replace("30#x", "7#x"));
        assert_eq!(get(&changed, "project.name"), Some("'新 \"名\"'"));
        let changed = set(TEMPLATE, "backtest.limits[2].limit", "0.3").unwrap();
        let differing = TEMPLATE.lines().zip(changed.lines()).filter(|(a, b)| a != b).count();
        assert_eq!((differing, TEMPLATE.len()), (1, changed.len()));
    }

    #[test]
    fn an_absent_key_is_put_into_its_table_and_comments_stay() {
        let changed = set(TEMPLATE, "ingest.latest", "\"2025-12-31T23:59:59\"").unwrap();
        let at = changed.find("latest = \"2025-12-31T23:59:59\"\n").unwrap();
        assert!(changed[at..].contains("[clean]") && !changed[at..].contains("[ingest]"), "{changed}");
        assert_eq!(changed.replacen("latest = \"2025-12-31T23:59:59\"\n", "", 1), TEMPLATE);
        assert!(Config::parse("w", &changed).unwrap().ingest.latest.is_some());
        let made = set("[ui]\nred_up = false # 绿涨\n", "onnx.device", "\"cpu\"").unwrap();
        assert!(
            made.starts_with("[ui]\nred_up = false # 绿涨\n") && made.contains("[onnx]\ndevice = \"cpu\"\n"),
            "{made}"
        );
        let inline =
            set("[[source]]\nname = \"a\" # 一\ncolumns = { title = \"t\" } # 二\n", "source[0].columns.body", "\"b\"");
        assert_eq!(inline.unwrap(), "[[source]]\nname = \"a\" # 一\ncolumns = { title = \"t\" , body = \"b\" } # 二\n");
        assert!(set(TEMPLATE, "source[0].name", "\"a\"").unwrap_err().to_string().contains("there is no source"));
        assert!(set(TEMPLATE, "project.threads", "abc").unwrap_err().to_string().contains("is not a TOML value"));
        assert!(set(TEMPLATE, "project.threads", "1\nseed = 2").is_err(), "one value is one value");
    }

    #[test]
    fn a_key_taken_out_of_effect_stays_as_an_example() {
        let text = "[ui]\nred_up = false # 绿涨\n[ui.keys]\nquit = [\n  \"x\",\n]\n";
        assert_eq!(unset(text, "ui.red_up").unwrap(), text.replace("red_up", "#: red_up"));
        let out = unset(text, "ui.keys.quit").unwrap();
        assert!(out.ends_with("#: quit = [\n#:   \"x\",\n#: ]\n"), "{out}");
        let inline = unset("a = { b = 1, c = 2 } # 一\n", "a.b").unwrap();
        assert_eq!(get(&inline, "a.b"), None);
        assert!(inline.ends_with("} # 一\n") && get(&inline, "a.c") == Some("2"), "{inline}");
        assert_eq!(unset(text, "ui.language").unwrap(), text);
    }

    #[test]
    fn a_source_goes_to_its_example_and_the_next_one_behind_it() {
        let mut source =
            Source { name: "公告".into(), path: "data/a.csv".into(), kind: Kind::Announcement, ..Source::default() };
        source.columns.insert("title".into(), Column::Name("标 题".into()));
        source.columns.insert("published_at".into(), Column::DateTime { date: "日".into(), time: "时".into() });
        let one = add(TEMPLATE, "source", &source_block(&source)).unwrap();
        let (before, after) = one.split_once("[[source]]\nname = \"公告\"").unwrap();
        assert!(TEMPLATE.starts_with(before) && after.contains("\n#: [[source]]\n"), "{one}");
        let prices =
            Source { name: "prices".into(), path: "p.parquet".into(), table: SourceTable::Prices, ..Source::default() };
        let two = add(&one, "source", &source_block(&prices)).unwrap();
        let config = Config::parse("w", &two).unwrap();
        assert_eq!(config.source, [source, prices]);
        assert!(
            two.find("\"公告\"") < two.find("name = \"prices\"") && two.find("name = \"prices\"") < two.find("[clean]")
        );
        let back = remove(&remove(&two, "source", 1).unwrap(), "source", 0).unwrap();
        assert_eq!(Config::parse("w", &back).unwrap(), Config::default());
        assert!(remove(&back, "source", 0).is_err());
    }

    #[test]
    fn a_section_without_an_example_goes_to_the_end() {
        let text = "[ui]\r\nred_up = true\r\n";
        let added = add(text, "factor", "[[factor]]\nname = \"tone\"\n").unwrap();
        assert_eq!(added, "[ui]\r\nred_up = true\r\n\r\n[[factor]]\r\nname = \"tone\"\r\n");
        assert!(add("factor = []\n", "factor", "[[factor]]\n").unwrap_err().to_string().contains("written as a list"));
        assert!(set("[ui", "ui.red_up", "true").unwrap_err().to_string().contains("not TOML"));
    }
}
