//! The form that a training is asked for with: a kind of model, what it reads and writes, and its flags, all as the command line describes
//! them.

use chrono::{NaiveDate, NaiveDateTime};

use super::bench::{ArgumentFault, FlagTakes, ModelBench, ModelCard, TrainableModel, TrainingFlag};
use super::words;
use crate::errand::Errand;
use crate::field::Field;
use crate::list::Cursor;

use inkstone_base::language::Language;

/// The formats of lines; the first one follows the name of the file.
const FORMATS: [Option<&str>; 4] = [None, Some("tokens"), Some("text"), Some("jsonl")];

/// The values of a switch, as words show them.
const SWITCH: [&str; 2] = ["off", "on"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormRow {
    Kind,
    Input,
    /// The format of the input's lines.
    Format,
    Until,
    /// A flag of the kind, by its place.
    Flag(usize),
    Output,
}

#[derive(Default)]
pub(super) struct Form {
    kinds: Vec<TrainableModel>,
    kind: usize,
    /// The letters typed to find a kind.
    wanted_kind: Field,
    input: Field,
    /// Index of the chosen format in `FORMATS`.
    format: usize,
    until: Field,
    output: Field,
    /// True if the output was typed, not proposed.
    named: bool,
    /// The values of the flags of each kind.
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
    /// The chosen kind; none before the first proposal.
    pub(super) fn kind(&self) -> Option<&TrainableModel> {
        self.kinds.get(self.kind)
    }

    /// Name of the chosen kind after `inkstone train`.
    pub(super) fn kind_name(&self) -> &str {
        self.kind().map_or("", |kind| &kind.name)
    }

    fn flags(&self) -> &[TrainingFlag] {
        self.kind().map_or(&[], |kind| &kind.flags)
    }

    pub(super) fn output(&self) -> &str {
        self.output.text()
    }

    /// The lines in order.
    pub(super) fn rows(&self) -> Vec<FormRow> {
        let flags = (0..self.flags().len()).map(FormRow::Flag);
        [FormRow::Kind, FormRow::Input, FormRow::Format, FormRow::Until]
            .into_iter()
            .chain(flags)
            .chain([FormRow::Output])
            .collect()
    }

    pub(super) fn row(&self) -> FormRow {
        let rows = self.rows();
        rows[self.cursor.at.min(rows.len() - 1)]
    }

    /// Fills in what is still empty: flags, the project's corpus, a name that no model has.
    pub(super) fn propose(&mut self, bench: &ModelBench, cards: &[ModelCard]) {
        if self.kinds.is_empty() {
            self.kinds = (bench.kinds)();
            let values = |kind: &TrainableModel| kind.flags.iter().map(|flag| Field::new(&*flag.proposed)).collect();
            self.values = self.kinds.iter().map(values).collect();
        }
        if self.input.text().is_empty() {
            self.input = Field::new(&*bench.corpus);
        }
        if !self.named {
            let taken = |name: &str| cards.iter().any(|card| card.path.as_os_str() == name);
            let ending = if self.kind().is_some_and(|kind| kind.is_folder) { "" } else { ".model" };
            let names = (1..).map(|n: usize| {
                let number = if n == 1 { String::new() } else { format!("-{n}") };
                format!("{}/{}{number}{ending}", bench.folder, self.kind_name())
            });
            let mut names = names.take(1 + cards.len());
            self.output = Field::new(names.find(|name| !taken(name)).unwrap_or_default());
        }
    }

    /// Takes the next or the previous of the choices of the marked line; true when it has some.
    pub(super) fn change(&mut self, forward: bool) -> bool {
        let turned = |at: usize, count: usize| (at + if forward { 1 } else { count - 1 }) % count.max(1);
        match self.row() {
            FormRow::Kind => {
                self.kind = turned(self.kind, self.kinds.len());
                true
            }
            FormRow::Flag(number) => {
                let choices = choices(&self.flags()[number]);
                let Some(field) = self.values.get_mut(self.kind).and_then(|values| values.get_mut(number)) else {
                    return false;
                };
                let at = choices.iter().position(|choice| *choice == field.text()).unwrap_or(0);
                let Some(choice) = choices.get(turned(at, choices.len())) else { return false };
                *field = Field::new(&**choice);
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
            FormRow::Kind => Some(&mut self.wanted_kind),
            FormRow::Format => None,
            FormRow::Input => Some(&mut self.input),
            FormRow::Until => Some(&mut self.until),
            FormRow::Output => Some(&mut self.output),
            FormRow::Flag(number) => match self.flags()[number].takes {
                FlagTakes::Text => self.values.get_mut(self.kind)?.get_mut(number),
                FlagTakes::One(_) | FlagTakes::Switch => None,
            },
        }
    }

    /// Starts editing the marked line; false where it has no text.
    pub(super) fn type_in(&mut self) -> bool {
        let row = self.row();
        if row == FormRow::Kind {
            self.wanted_kind = Field::default();
        }
        self.before = self.field(row).map(|field| field.clone());
        self.typing = self.before.is_some();
        self.typing
    }

    /// Ends the typing: the line stays as typed, or becomes what it was. Of the kinds, the first whose name begins so is taken, or else
    /// the first that holds the letters.
    pub(super) fn end_typing(&mut self, keep: bool) {
        self.typing = false;
        let (row, before) = (self.row(), self.before.take());
        if row == FormRow::Kind {
            let wanted = std::mem::take(&mut self.wanted_kind);
            let wanted = wanted.text().trim().to_lowercase();
            let begins = self.kinds.iter().position(|kind| kind.name.starts_with(&wanted));
            let found = begins.or_else(|| self.kinds.iter().position(|kind| kind.name.contains(&wanted)));
            self.kind = found.filter(|_| keep && !wanted.is_empty()).unwrap_or(self.kind);
        } else if let (Some(field), Some(before)) = (self.field(row), before) {
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

    /// The flag of a line without dashes; empty for the kind.
    pub(super) fn flag(&self, row: FormRow) -> &str {
        match row {
            FormRow::Kind => "",
            FormRow::Input => "input",
            FormRow::Format => "format",
            FormRow::Until => "until",
            FormRow::Output => "output",
            FormRow::Flag(number) => &self.flags()[number].name,
        }
    }

    /// The meaning of a line.
    pub(super) fn about(&self, row: FormRow, language: Language) -> &str {
        match row {
            FormRow::Kind => self.kind().map_or("", |kind| kind.about.to(language)),
            FormRow::Input => words::INPUT.to(language),
            FormRow::Format => words::W_FORMAT.to(language),
            FormRow::Until => words::UNTIL_FIELD.to(language),
            FormRow::Output => words::OUTPUT.to(language),
            FormRow::Flag(number) => self.flags()[number].about.to(language),
        }
    }

    /// The text that a line holds.
    pub(super) fn held(&self, row: FormRow) -> &Field {
        match row {
            FormRow::Kind => &self.wanted_kind,
            FormRow::Format => &NOTHING,
            FormRow::Input => &self.input,
            FormRow::Until => &self.until,
            FormRow::Output => &self.output,
            FormRow::Flag(number) => {
                self.values.get(self.kind).and_then(|values| values.get(number)).unwrap_or(&NOTHING)
            }
        }
    }

    /// True if a line is changed by choosing.
    pub(super) fn chooses(&self, row: FormRow) -> bool {
        match row {
            FormRow::Kind | FormRow::Format => true,
            FormRow::Flag(number) => self.flags()[number].takes != FlagTakes::Text,
            _ => false,
        }
    }

    /// True if a line can be typed in.
    pub(super) fn types(&self, row: FormRow) -> bool {
        row == FormRow::Kind || !self.chooses(row)
    }

    /// The fault of a line: of its value first, then those that the command line found.
    pub(super) fn fault(&self, row: FormRow, language: Language) -> Option<String> {
        let text = self.held(row).text().trim();
        let own = match row {
            FormRow::Input | FormRow::Output => text.is_empty().then(|| words::A_PATH.to(language).to_owned()),
            FormRow::Until => (!text.is_empty() && !is_time(text)).then(|| words::A_TIME.to(language).to_owned()),
            FormRow::Flag(number) => {
                let missing = self.flags()[number].is_required && text.is_empty();
                missing.then(|| words::NEEDED.to(language).to_owned())
            }
            FormRow::Kind | FormRow::Format => None,
        };
        own.or_else(|| {
            let faults = self.checked.as_ref()?.get()?;
            let flag = self.flag(row);
            faults.iter().find(|fault| fault.flag == flag).map(|fault| fault.why.to(language).to_owned())
        })
    }

    pub(super) fn whole_fault(&self) -> Option<&str> {
        let checked = self.checked.as_ref()?;
        let rows = self.rows();
        let of_none =
            |fault: &&ArgumentFault| rows.iter().all(|row| self.flag(*row) != fault.flag || *row == FormRow::Kind);
        checked.fault().or_else(|| checked.get()?.iter().find(of_none).map(|fault| &*fault.why))
    }

    /// The first line that is wrong.
    pub(super) fn first_fault(&self, language: Language) -> Option<usize> {
        self.rows().iter().position(|row| self.fault(*row, language).is_some())
    }

    /// The arguments behind `inkstone train`; flags that are as the command has them are left out.
    pub(super) fn arguments(&self, bench: &ModelBench, seed: u64) -> Vec<String> {
        let mut args = vec![self.kind_name().to_owned()];
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
        for (number, TrainingFlag { name, takes, default, .. }) in self.flags().iter().enumerate() {
            let value = self.held(FormRow::Flag(number)).text().trim();
            match takes {
                FlagTakes::Switch if value == SWITCH[1] => switches.push(format!("--{name}")),
                FlagTakes::Switch => {}
                _ if value == *default || value.is_empty() => {}
                _ => pair(name, value),
            }
        }
        if seed != 1 {
            pair("seed", &seed.to_string());
        }
        args.extend(switches);
        if self.input.text() == bench.corpus && self.kind().is_some_and(|kind| kind.cuts) {
            args.extend(bench.cutting.iter().cloned());
        }
        args
    }
}

/// The values that a line goes through; none where it is typed.
fn choices(flag: &TrainingFlag) -> Vec<String> {
    match &flag.takes {
        FlagTakes::One(choices) if flag.default.is_empty() => {
            [String::new()].into_iter().chain(choices.iter().cloned()).collect()
        }
        FlagTakes::One(choices) => choices.clone(),
        FlagTakes::Switch => SWITCH.map(str::to_owned).to_vec(),
        FlagTakes::Text => Vec::new(),
    }
}

/// A field of nothing, for lines that have none.
static NOTHING: std::sync::LazyLock<Field> = std::sync::LazyLock::new(Field::default);

fn is_time(text: &str) -> bool {
    text.parse::<NaiveDate>().is_ok()
        || ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"].iter().any(|form| NaiveDateTime::parse_from_str(text, form).is_ok())
}
