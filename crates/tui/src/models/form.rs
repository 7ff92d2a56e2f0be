//! The form that a training is asked for with: a kind of model, what it reads and writes, and its settings.

use chrono::{NaiveDate, NaiveDateTime};

use super::bench::{ArgumentFault, ModelBench, ModelCard};
use super::settings::{KINDS, ModelKind, ModelSetting, Takes};
use super::words;
use crate::errand::Errand;
use crate::field::Field;
use crate::list::Cursor;

use inkstone_base::language::{Language, Word};

/// The formats of lines; the first one follows the name of the file.
const FORMATS: [Option<&str>; 4] = [None, Some("tokens"), Some("text"), Some("jsonl")];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormRow {
    Kind,
    Input,
    /// The format of the input's lines.
    Format,
    Until,
    Setting(usize),
    Output,
}

#[derive(Default)]
pub(super) struct Form {
    kind: usize,
    input: Field,
    /// Index of the chosen format in `FORMATS`.
    format: usize,
    until: Field,
    output: Field,
    /// True if the output was typed, not proposed.
    named: bool,
    /// The values of the settings of each kind.
    values: Vec<Vec<Field>>,
    pub(super) cursor: Cursor,
    /// The line as it was before the user began to type.
    before: Option<Field>,
    pub(super) typing: bool,
    /// The faults that the command line found.
    pub(super) checked: Option<Errand<Vec<ArgumentFault>>>,
    /// True if the training starts as soon as the form has been checked.
    pub(super) start: bool,
}

impl Form {
    pub(super) fn kind(&self) -> &'static ModelKind {
        &KINDS[self.kind.min(KINDS.len() - 1)]
    }

    pub(super) fn output(&self) -> &str {
        self.output.text()
    }

    /// The lines in order.
    pub(super) fn rows(&self) -> Vec<FormRow> {
        let settings = (0..self.kind().settings.len()).map(FormRow::Setting);
        [FormRow::Kind, FormRow::Input, FormRow::Format, FormRow::Until]
            .into_iter()
            .chain(settings)
            .chain([FormRow::Output])
            .collect()
    }

    pub(super) fn row(&self) -> FormRow {
        let rows = self.rows();
        rows[self.cursor.at.min(rows.len() - 1)]
    }

    /// Fills in what is still empty: settings, the project's corpus, a name that no model has.
    pub(super) fn propose(&mut self, bench: &ModelBench, cards: &[ModelCard]) {
        if self.values.is_empty() {
            let value = |kind: &ModelKind, setting: &ModelSetting| match (setting.proposed, setting.takes) {
                (Some(proposed), _) => proposed.to_owned(),
                (None, Takes::Switch([without, _])) => without.to_owned(),
                (None, _) => (bench.default)(kind.name, setting.flag),
            };
            let values =
                |kind: &ModelKind| kind.settings.iter().map(|setting| Field::new(value(kind, setting))).collect();
            self.values = KINDS.iter().map(values).collect();
        }
        if self.input.text().is_empty() {
            self.input = Field::new(&*bench.corpus);
        }
        if !self.named {
            let taken = |name: &str| cards.iter().any(|card| card.path.as_os_str() == name);
            let names = (1..).map(|n: usize| {
                let number = if n == 1 { String::new() } else { format!("-{n}") };
                format!("{}/{}{number}.model", bench.folder, self.kind().name)
            });
            self.output = Field::new(names.into_iter().find(|name| !taken(name)).unwrap_or_default());
        }
    }

    /// Takes the next or the previous of the choices of the marked line; true when it has some.
    pub(super) fn change(&mut self, forward: bool) -> bool {
        let turned = |at: usize, count: usize| (at + if forward { 1 } else { count - 1 }) % count;
        match self.row() {
            FormRow::Kind => {
                self.kind = turned(self.kind, KINDS.len());
                true
            }
            FormRow::Setting(number) => {
                let choices: &[&str] = match &self.kind().settings[number].takes {
                    Takes::One(choices) => choices,
                    Takes::Switch(choices) => choices,
                    _ => return false,
                };
                let Some(field) = self.values.get_mut(self.kind).and_then(|values| values.get_mut(number)) else {
                    return false;
                };
                let at = choices.iter().position(|choice| *choice == field.text()).unwrap_or(0);
                *field = Field::new(choices[turned(at, choices.len())]);
                true
            }
            FormRow::Format => {
                self.format = turned(self.format, FORMATS.len());
                true
            }
            FormRow::Input | FormRow::Until | FormRow::Output => false,
        }
    }

    /// The format of the input's lines; none if it follows from the name of the file.
    pub(super) fn format(&self) -> Option<&'static str> {
        FORMATS[self.format.min(FORMATS.len() - 1)]
    }

    /// The text of a line, if it has one to type.
    pub(super) fn field(&mut self, row: FormRow) -> Option<&mut Field> {
        match row {
            FormRow::Kind | FormRow::Format => None,
            FormRow::Input => Some(&mut self.input),
            FormRow::Until => Some(&mut self.until),
            FormRow::Output => Some(&mut self.output),
            FormRow::Setting(number) => match self.kind().settings[number].takes {
                Takes::One(_) | Takes::Switch(_) => None,
                _ => self.values.get_mut(self.kind)?.get_mut(number),
            },
        }
    }

    /// Starts editing the marked line; false where it has no text.
    pub(super) fn type_in(&mut self) -> bool {
        let row = self.row();
        self.before = self.field(row).map(|field| field.clone());
        self.typing = self.before.is_some();
        self.typing
    }

    /// Ends the typing: the line stays as typed, or becomes what it was.
    pub(super) fn end_typing(&mut self, keep: bool) {
        self.typing = false;
        let (row, before) = (self.row(), self.before.take());
        if let (Some(field), Some(before)) = (self.field(row), before) {
            if !keep {
                *field = before;
            } else if row == FormRow::Output && *field != before {
                self.named = true;
            }
        }
        if self.output.text().is_empty() {
            self.named = false;
        }
    }

    /// The name of a line, what it means, and what it holds.
    pub(super) fn line(&self, row: FormRow) -> (&'static str, Word, &Field) {
        match row {
            FormRow::Kind => ("", words::MODEL, &NOTHING),
            FormRow::Input => ("input", words::INPUT, &self.input),
            FormRow::Format => ("format", words::W_FORMAT, &NOTHING),
            FormRow::Until => ("until", words::UNTIL_FIELD, &self.until),
            FormRow::Output => ("output", words::OUTPUT, &self.output),
            FormRow::Setting(number) => {
                let ModelSetting { flag, about, .. } = &self.kind().settings[number];
                (flag, *about, self.value(number))
            }
        }
    }

    fn value(&self, number: usize) -> &Field {
        self.values.get(self.kind).and_then(|values| values.get(number)).unwrap_or(&NOTHING)
    }

    /// True if a line is changed by choosing.
    pub(super) fn chooses(&self, row: FormRow) -> bool {
        match row {
            FormRow::Kind | FormRow::Format => true,
            FormRow::Setting(number) => {
                matches!(self.kind().settings[number].takes, Takes::One(_) | Takes::Switch(_))
            }
            _ => false,
        }
    }

    /// The fault of a line: of its value first, then those that the command line found.
    pub(super) fn fault(&self, row: FormRow, language: Language) -> Option<String> {
        let (flag, _, field) = self.line(row);
        let text = field.text().trim();
        let own = match row {
            FormRow::Kind | FormRow::Format => None,
            FormRow::Input | FormRow::Output => text.is_empty().then(|| words::A_PATH.to(language).to_owned()),
            FormRow::Until => (!text.is_empty() && !is_time(text)).then(|| words::A_TIME.to(language).to_owned()),
            FormRow::Setting(number) => self.kind().settings[number].fault(text, language).or_else(|| {
                let longest = self.kind().settings.iter().position(|setting| setting.flag == "maxn")?;
                let above = text.parse::<u64>().ok()? > self.value(longest).text().trim().parse::<u64>().ok()?;
                (flag == "minn" && above).then(|| words::SHORT_ABOVE_LONG.to(language).to_owned())
            }),
        };
        own.or_else(|| {
            let faults = self.checked.as_ref()?.get()?;
            faults.iter().find(|fault| fault.flag == flag).map(|fault| fault.why.to(language).to_owned())
        })
    }

    pub(super) fn whole_fault(&self) -> Option<&str> {
        let checked = self.checked.as_ref()?;
        let rows = self.rows();
        let of_none =
            |fault: &&ArgumentFault| rows.iter().all(|row| self.line(*row).0 != fault.flag || *row == FormRow::Kind);
        checked.fault().or_else(|| checked.get()?.iter().find(of_none).map(|fault| &*fault.why))
    }

    /// The first line that is wrong.
    pub(super) fn first_fault(&self, language: Language) -> Option<usize> {
        self.rows().iter().position(|row| self.fault(*row, language).is_some())
    }

    /// The arguments behind `inkstone train`; settings that are as the command has them are left out.
    pub(super) fn arguments(&self, bench: &ModelBench, seed: u64) -> Vec<String> {
        let mut args = vec![self.kind().name.to_owned()];
        let mut pair = |flag: &str, value: &str| args.extend([format!("--{flag}"), value.to_owned()]);
        pair("input", self.input.text().trim());
        if let Some(format) = self.format() {
            pair("format", format);
        }
        if !self.until.text().trim().is_empty() {
            pair("until", self.until.text().trim());
        }
        pair("output", self.output.text().trim());
        let mut switches = Vec::new();
        for (number, ModelSetting { flag, takes, .. }) in self.kind().settings.iter().enumerate() {
            let value = self.value(number).text().trim();
            match takes {
                Takes::Switch([_, given]) if value == *given => switches.push(format!("--{flag}")),
                Takes::Switch(_) => {}
                _ if value == (bench.default)(self.kind().name, flag) => {}
                _ => pair(flag, value),
            }
        }
        if seed != 1 {
            pair("seed", &seed.to_string());
        }
        args.extend(switches);
        if self.input.text() == bench.corpus {
            args.extend(bench.cutting.iter().cloned());
        }
        args
    }
}

/// A field of nothing, for lines that have none.
static NOTHING: std::sync::LazyLock<Field> = std::sync::LazyLock::new(Field::default);

fn is_time(text: &str) -> bool {
    text.parse::<NaiveDate>().is_ok()
        || ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"].iter().any(|form| NaiveDateTime::parse_from_str(text, form).is_ok())
}
