//! The mapping form: what a file is, which column feeds which field, and what its first rows would give.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use serde::Deserialize;

use super::{FormBench, PAGE, alike, mapping_view, motion, words};
use crate::errand::{Errand, Messenger};
use crate::field::Field;
use crate::list::Cursor;
use inkstone_base::data::Kind;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_corpus::ingest::{Column, Format, Preview, Source, Table};

const TABLES: [Table; 5] = [Table::Documents, Table::Prices, Table::Securities, Table::Relations, Table::Events];
const KINDS: [Kind; 4] = [Kind::News, Kind::Report, Kind::Announcement, Kind::Post];
const FORMATS: [Format; 11] = [
    Format::Auto,
    Format::Csv,
    Format::Tsv,
    Format::Jsonl,
    Format::Json,
    Format::Parquet,
    Format::Xlsx,
    Format::Txt,
    Format::Pdf,
    Format::Html,
    Format::Docx,
];
const ENCODINGS: [&str; 6] = ["utf-8", "gbk", "gb18030", "big5", "utf-16le", "utf-16be"];
const DELIMITERS: [&str; 4] = [",", "\t", ";", "|"];
const TIMES: [&str; 7] = ["%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y年%m月%d日", "%Y%m%d", "unix", "unix_ms", "excel"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormPart {
    Name,
    Path,
    Table,
    Kind,
    Format,
    Encoding,
    Delimiter,
    Sheet,
    TimeFormat,
    DefaultTime,
    /// A field of the table, by its number in the preview.
    Field(usize),
}

pub(super) enum Mapped {
    Stay,
    Leave,
    Done(Box<Source>),
}

pub(super) struct Mapping {
    bench: FormBench,
    messenger: Messenger,
    pub(super) taken: Vec<String>,
    pub(super) draft: Source,
    /// The reading asked for last.
    asked: Errand<(Source, Preview)>,
    /// The preview that came last; it stays until the next one comes.
    pub(super) seen: Option<Preview>,
    /// The reason why the file cannot be looked at.
    pub(super) fault: Option<Message>,
    /// The faults of the last action.
    pub(super) problems: Vec<Message>,
    pub(super) cursor: Cursor,
    pub(super) editing: Option<Field>,
    /// True if the source cannot be taken yet, and the user has tried.
    pub(super) refused: Option<Word>,
    /// True if the file stands for those beside it that have the same columns.
    pub(super) widened: bool,
}

impl Mapping {
    /// Describes the file at `path`, which is relative to the configuration's folder.
    pub(super) fn open(path: &str, taken: &[String], bench: &FormBench, messenger: &Messenger) -> Mapping {
        let draft =
            Source { name: name_of(path, taken), path: path.to_owned(), kind: kind_of(path), ..Source::default() };
        let (mut first, preview, folder) = (draft.clone(), bench.preview.clone(), bench.folder.clone());
        let asked = messenger.send("look at a file", move |ctx| {
            if let Some((pattern, _)) = alike::pattern(&folder, &first.path) {
                first.path = pattern;
            }
            let seen = preview(&first, ctx)?;
            // A file that lacks what documents have may be the prices or the securities.
            for table in [Table::Prices, Table::Securities] {
                let other = Source { table, kind: Kind::default(), ..first.clone() };
                if let (false, Ok(better)) = (seen.missing.is_empty(), preview(&other, ctx))
                    && better.missing.is_empty()
                {
                    return Ok((other, better));
                }
            }
            Ok((first, seen))
        });
        Mapping {
            bench: bench.clone(),
            messenger: messenger.clone(),
            taken: taken.to_vec(),
            draft,
            asked,
            seen: None,
            fault: None,
            problems: Vec::new(),
            cursor: Cursor::default(),
            editing: None,
            refused: None,
            widened: false,
        }
    }

    pub(super) fn waiting(&self) -> bool {
        self.asked.waiting()
    }

    fn ask(&mut self) {
        let (draft, preview) = (self.draft.clone(), self.bench.preview.clone());
        self.refused = None;
        self.asked = self.messenger.send("try a source", move |ctx| {
            let seen = preview(&draft, ctx)?;
            Ok((draft, seen))
        });
    }

    /// Takes in the answers that have come, and puts the marked line into sight.
    pub(super) fn arrange(&mut self, area: Rect) {
        if self.asked.look() {
            match self.asked.get_mut() {
                Some((source, seen)) => {
                    self.widened |= source.path != self.draft.path;
                    self.draft.clone_from(source);
                    (self.seen, self.fault) = (Some(std::mem::take(seen)), None);
                }
                None => self.fault = self.asked.error().cloned(),
            }
        }
        self.cursor.arrange(self.parts().len(), mapping_view::form_rows(area));
    }

    /// The lines of the form: what does not apply to the file is not asked.
    pub(super) fn parts(&self) -> Vec<FormPart> {
        let seen = self.seen.as_ref();
        let format = seen.map_or(self.draft.format, |seen| seen.format);
        let documents = self.draft.table == Table::Documents;
        let text = !matches!(format, Format::Parquet | Format::Xlsx | Format::Pdf | Format::Docx);
        let cells = matches!(format, Format::Csv | Format::Tsv);
        let always =
            [(FormPart::Name, true), (FormPart::Path, true), (FormPart::Table, true), (FormPart::Kind, documents)];
        let of_file = [
            (FormPart::Format, true),
            (FormPart::Encoding, text),
            (FormPart::Delimiter, cells),
            (FormPart::Sheet, format == Format::Xlsx),
            (FormPart::TimeFormat, true),
            (FormPart::DefaultTime, documents),
        ];
        let asked = always.into_iter().chain(of_file).filter(|part| part.1).map(|part| part.0);
        asked.chain((0..seen.map_or(0, |seen| seen.fields.len())).map(FormPart::Field)).collect()
    }

    pub(super) fn part(&self) -> FormPart {
        self.parts().get(self.cursor.at).copied().unwrap_or(FormPart::Name)
    }

    pub(super) fn field_name(&self, part: FormPart) -> Option<&'static str> {
        let FormPart::Field(number) = part else { return None };
        Some(self.seen.as_ref()?.fields.get(number)?.name)
    }

    /// The value given at a line, as typed; none if the file decides.
    pub(super) fn given(&self, part: FormPart) -> Option<String> {
        let draft = &self.draft;
        match part {
            FormPart::Name => Some(draft.name.clone()),
            FormPart::Path => Some(draft.path.clone()),
            FormPart::Table => Some(draft.table.name().to_owned()),
            FormPart::Kind => Some(plain(&draft.kind)),
            FormPart::Format => (draft.format != Format::Auto).then(|| plain(&draft.format)),
            FormPart::Encoding => draft.encoding.clone(),
            FormPart::Delimiter => draft.delimiter.as_deref().map(|text| text.replace('\t', "tab")),
            FormPart::Sheet => draft.sheet.clone(),
            FormPart::TimeFormat => draft.time_format.clone(),
            FormPart::DefaultTime => draft.published_at_default.clone(),
            FormPart::Field(_) => draft.columns.get(self.field_name(part)?).map(|column| match column {
                Column::Name(name) => name.clone(),
                other => toml::Value::try_from(other).map(|value| value.to_string()).unwrap_or_default(),
            }),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(field) = &mut self.editing {
            field.insert(text);
        }
    }

    pub(super) fn key(&mut self, key: &KeyEvent) -> Mapped {
        let part = self.part();
        if let Some(field) = &mut self.editing {
            match key.code {
                KeyCode::Esc => (self.editing, self.problems) = (None, Vec::new()),
                KeyCode::Enter => {
                    let text = field.text().trim().to_owned();
                    self.give(part, &text);
                }
                _ => drop(field.key(key)),
            }
            return Mapped::Stay;
        }
        if let Some(action) = motion(key.code) {
            let count = self.parts().len();
            self.cursor.step(action, count, PAGE);
            return Mapped::Stay;
        }
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return Mapped::Leave,
            KeyCode::Right | KeyCode::Char('l' | ' ') => self.turn(part, 1),
            KeyCode::Left | KeyCode::Char('h') => self.turn(part, -1),
            KeyCode::Enter => {
                self.problems.clear();
                self.editing = Some(Field::new(self.given(part).unwrap_or_default()));
            }
            KeyCode::Char('s') => return self.take(),
            _ => {}
        }
        Mapped::Stay
    }

    /// The source, when its rows can be read.
    fn take(&mut self) -> Mapped {
        self.problems = self.draft.problems();
        if self.taken.contains(&self.draft.name) {
            self.problems.push(message!(
                "[[source]] {:?}：另一来源已用此名称",
                "[[source]] {:?}: another source has this name",
                self.draft.name
            ));
        }
        let lacking = self.seen.as_ref().is_none_or(|seen| !seen.missing.is_empty());
        self.refused = match () {
            () if self.asked.waiting() => Some(words::STILL_TRYING),
            () if self.fault.is_some() || lacking => Some(words::SEE_RESULT),
            () if !self.problems.is_empty() => Some(words::NOT_YET),
            () => return Mapped::Done(Box::new(self.draft.clone())),
        };
        Mapped::Stay
    }

    /// The next or the previous of the values that a line may have.
    fn turn(&mut self, part: FormPart, by: isize) {
        let draft = &mut self.draft;
        match part {
            FormPart::Name | FormPart::Path | FormPart::DefaultTime | FormPart::Sheet => return,
            FormPart::Table => {
                draft.table = turned(&TABLES, draft.table, by);
                draft.columns.clear();
                if draft.table != Table::Documents {
                    (draft.kind, draft.published_at_default) = (Kind::default(), None);
                }
            }
            FormPart::Kind => draft.kind = turned(&KINDS, draft.kind, by),
            FormPart::Format => draft.format = turned(&FORMATS, draft.format, by),
            FormPart::Encoding => draft.encoding = turned_text(&ENCODINGS, draft.encoding.as_deref(), by),
            FormPart::Delimiter => draft.delimiter = turned_text(&DELIMITERS, draft.delimiter.as_deref(), by),
            FormPart::TimeFormat => draft.time_format = turned_text(&TIMES, draft.time_format.as_deref(), by),
            FormPart::Field(_) => {
                let (Some(field), Some(seen)) = (self.field_name(part), &self.seen) else { return };
                let columns: Vec<&str> = seen.columns.iter().map(String::as_str).collect();
                let now = match self.draft.columns.get(field) {
                    Some(Column::Name(name)) => Some(name.as_str()),
                    _ => None,
                };
                match turned_text(&columns, now, by) {
                    Some(name) => drop(self.draft.columns.insert(field.to_owned(), Column::Name(name))),
                    None => drop(self.draft.columns.remove(field)),
                }
            }
        }
        self.problems.clear();
        self.ask();
    }

    /// Takes the text typed at a line. If it is refused, the reason is shown and the field stays.
    fn give(&mut self, part: FormPart, text: &str) {
        let optional = || (!text.is_empty()).then(|| text.to_owned());
        let mut draft = self.draft.clone();
        let mut known = true;
        let mut fault = None;
        match part {
            FormPart::Name => draft.name = text.to_owned(),
            FormPart::Path => draft.path = text.to_owned(),
            FormPart::Table => known = put(&TABLES, text, &mut draft.table),
            FormPart::Kind => known = put(&KINDS, text, &mut draft.kind),
            FormPart::Format if text.is_empty() => draft.format = Format::Auto,
            FormPart::Format => known = put(&FORMATS, text, &mut draft.format),
            FormPart::Encoding => draft.encoding = optional(),
            FormPart::Delimiter if text == "tab" => draft.delimiter = Some("\t".to_owned()),
            FormPart::Delimiter => draft.delimiter = optional(),
            FormPart::Sheet => draft.sheet = optional(),
            FormPart::TimeFormat => draft.time_format = optional(),
            FormPart::DefaultTime => draft.published_at_default = optional(),
            FormPart::Field(_) => match (self.column(text), self.field_name(part)) {
                (Ok(Some(column)), Some(field)) => drop(draft.columns.insert(field.to_owned(), column)),
                (Ok(None), Some(field)) => drop(draft.columns.remove(field)),
                (Ok(_), None) => {}
                (Err(why), _) => fault = Some(Message::same(why)),
            },
        }
        if !known {
            fault = Some(Message::same(format!("{text:?}: {}", choices(part).join(", "))));
        }
        let problems = fault.map_or_else(|| draft.problems(), |fault| vec![fault]);
        // An error that stood before this line was typed is no reason to refuse the line.
        let known = self.draft.problems();
        self.problems = problems.into_iter().filter(|problem| !known.contains(problem)).collect();
        if self.problems.is_empty() {
            (self.draft, self.editing) = (draft, None);
            self.ask();
        }
    }

    /// A column as typed: a name, the beginning of one, or a table of TOML with the keys of
    /// `columns`.
    fn column(&self, text: &str) -> Result<Option<Column>, String> {
        #[derive(Deserialize)]
        struct One {
            column: Column,
        }
        if text.is_empty() {
            return Ok(None);
        }
        if text.starts_with('{') {
            let one: Result<One, _> = toml::from_str(&format!("column = {text}"));
            return one.map(|one| Some(one.column)).map_err(|error| error.message().to_owned());
        }
        let columns = self.seen.as_ref().map_or(&[][..], |seen| seen.columns.as_slice());
        let exact = columns.iter().find(|column| *column == text);
        let lower = text.to_lowercase();
        let found = exact.or_else(|| columns.iter().find(|column| column.to_lowercase().starts_with(&lower)));
        match found {
            Some(column) => Ok(Some(Column::Name(column.clone()))),
            None => Err(format!("{text:?}: {}", columns.join(", "))),
        }
    }
}

/// A choice as the configuration writes it.
pub(super) fn plain(choice: &impl serde::Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

fn choices(part: FormPart) -> Vec<String> {
    match part {
        FormPart::Table => TABLES.iter().map(plain).collect(),
        FormPart::Kind => KINDS.iter().map(plain).collect(),
        FormPart::Format => FORMATS.iter().map(plain).collect(),
        _ => Vec::new(),
    }
}

/// Puts the choice of this name into its place; false where there is none.
fn put<T: Copy + serde::Serialize>(all: &[T], name: &str, into: &mut T) -> bool {
    let found = all.iter().find(|choice| plain(*choice) == name);
    found.map(|choice| *into = *choice).is_some()
}

fn turned<T: Copy + PartialEq>(all: &[T], now: T, by: isize) -> T {
    let at = all.iter().position(|one| *one == now).unwrap_or(0);
    all[(at + all.len()).saturating_add_signed(by) % all.len()]
}

/// One of some texts, or none of them, which stands before the first.
fn turned_text(all: &[&str], now: Option<&str>, by: isize) -> Option<String> {
    let places = all.len() + 1;
    let at = now.and_then(|now| all.iter().position(|one| *one == now)).map_or(0, |at| at + 1);
    let next = (at + places).saturating_add_signed(by) % places;
    next.checked_sub(1).map(|at| all[at].to_owned())
}

/// A name that no other source has, made of the name of the file.
fn name_of(path: &str, taken: &[String]) -> String {
    let file = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let harmless = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = stem.chars().map(harmless).collect();
    let name = if name.is_empty() { "source".to_owned() } else { name };
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name)
}

/// The kind of documents that a path speaks of.
fn kind_of(path: &str) -> Kind {
    let path = path.to_lowercase();
    let speaks = |words: [&str; 2]| words.iter().any(|word| path.contains(word));
    match () {
        () if speaks(["研报", "report"]) => Kind::Report,
        () if speaks(["公告", "announce"]) => Kind::Announcement,
        () if speaks(["帖", "post"]) => Kind::Post,
        () => Kind::News,
    }
}
