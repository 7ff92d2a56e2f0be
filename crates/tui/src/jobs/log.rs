//! The log: what happened in this session and in those before, kept as events and written out in the language of the screen.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{Local, NaiveDateTime, SubsecRound};
use ratatui::style::Style;
use serde::{Deserialize, Serialize};

use super::words;
use crate::action::Action;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::field::Field;
use crate::list::Cursor;
use crate::scribe::{LOG_BYTES, LOG_FILES, Scribe};
use crate::words as common;
use crate::{Language, figures, look};
use inkstone_base::data::Report;
use inkstone_base::language::Message;
use inkstone_base::message;
use inkstone_base::terms::{self, term};

/// Lines that are kept in sight; those before are left out.
const LINES: usize = 20_000;

/// Characters of a text that a line keeps: an error may bring a whole file along.
const LONGEST: usize = 2000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogLine {
    /// On the clock of this machine.
    pub at: NaiveDateTime,
    #[serde(flatten)]
    pub event: Happening,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Happening {
    Opened {
        version: String,
        read_only: bool,
    },
    Closed,
    Queued {
        job: String,
    },
    Removed {
        job: String,
    },
    Started {
        job: String,
        command: String,
    },
    Paused {
        job: String,
    },
    WentOn {
        job: String,
    },
    /// A stage ended well.
    Stage(Box<StageFigures>),
    Done {
        job: String,
        seconds: f64,
        stages: usize,
    },
    Failed {
        job: String,
        seconds: f64,
        error: Message,
    },
    Cancelled {
        job: String,
        seconds: f64,
    },
    /// Something that the user should know.
    Warning {
        text: String,
    },
}

/// A stage that ended well: its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageFigures {
    pub job: String,
    pub stage: String,
    pub rows_in: u64,
    pub rows_out: u64,
    /// Rows by the reason why they went no further.
    pub dropped: BTreeMap<String, u64>,
    pub seconds: f64,
    pub unchanged: bool,
    pub note: String,
}

impl StageFigures {
    pub fn new(job: &str, report: &Report, note: String) -> StageFigures {
        StageFigures {
            job: job.to_owned(),
            stage: report.stage.clone(),
            rows_in: report.rows_in,
            rows_out: report.rows_out,
            dropped: report.dropped.clone(),
            seconds: report.seconds,
            unchanged: report.unchanged,
            note,
        }
    }

    fn text(&self, language: Language) -> String {
        let mut text = format!("{} · {}", self.job, term(&self.stage).to(language));
        if self.unchanged {
            text += &format!(" · {}", common::UNCHANGED.to(language));
        } else {
            let dropped: u64 = self.dropped.values().sum();
            let figures = [(common::IN, self.rows_in), (common::OUT, self.rows_out), (common::DROPPED, dropped)];
            text += " ·";
            for (word, n) in figures {
                text += &format!(" {} {}", word.to(language), figures::count(n));
            }
            let mut reasons: Vec<(&String, &u64)> = self.dropped.iter().collect();
            reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
            let reasons: Vec<String> = reasons
                .iter()
                .map(|(reason, n)| format!("{} {}", term(reason).to(language), figures::count(**n)))
                .collect();
            if !reasons.is_empty() {
                text += &format!(" ({})", reasons.join(", "));
            }
            text += &format!(" · {}", span(self.seconds));
        }
        if !self.note.is_empty() {
            text += &format!(" · {}", terms::note(&self.note).to(language));
        }
        text
    }
}

fn span(seconds: f64) -> String {
    figures::span(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

impl Happening {
    /// A sign for screens without colours, and the colour.
    pub fn sign(&self) -> (&'static str, Style) {
        match self {
            Happening::Opened { .. } | Happening::Closed => ("─", look::DIM),
            Happening::Queued { .. } | Happening::Removed { .. } => ("·", look::DIM),
            Happening::Started { .. } => (">", look::KEY),
            Happening::Paused { .. } | Happening::WentOn { .. } => ("‖", look::NOTE),
            Happening::Stage(_) => ("·", look::PLAIN),
            Happening::Done { .. } => ("✓", look::GOOD),
            Happening::Failed { .. } => ("✗", look::BAD),
            Happening::Cancelled { .. } => ("■", look::NOTE),
            Happening::Warning { .. } => ("!", look::NOTE),
        }
    }

    pub fn text(&self, language: Language) -> String {
        let say = |word: common::Word| word.to(language);
        match self {
            Happening::Opened { version, read_only } => {
                let word = if *read_only { words::OPENED_READ_ONLY } else { words::OPENED };
                format!("{} {version}", say(word))
            }
            Happening::Closed => say(words::CLOSED).to_owned(),
            Happening::Queued { job } => format!("{job} · {}", say(words::ENTERED_QUEUE)),
            Happening::Removed { job } => format!("{job} · {}", say(words::TAKEN_OUT)),
            Happening::Started { job, command } => format!("{job} · {} · {command}", say(words::STARTED)),
            Happening::Paused { job } => format!("{job} · {}", say(words::PAUSED_NOW)),
            Happening::WentOn { job } => format!("{job} · {}", say(words::WENT_ON)),
            Happening::Stage(stage) => stage.text(language),
            Happening::Done { job, seconds, stages } => {
                format!("{job} · {} · {stages} {} · {}", say(common::DONE), say(words::STAGES), span(*seconds))
            }
            Happening::Failed { job, seconds, error } => {
                format!("{job} · {} · {} · {}", say(common::FAILED), span(*seconds), error.to(language))
            }
            Happening::Cancelled { job, seconds } => format!("{job} · {} · {}", say(words::STOPPED), span(*seconds)),
            Happening::Warning { text } => text.clone(),
        }
    }

    fn shortened(mut self) -> Happening {
        let shorten = |text: &mut String| {
            if let Some((end, _)) = text.char_indices().nth(LONGEST) {
                text.truncate(end);
                text.push('…');
            }
        };
        match &mut self {
            Happening::Failed { error, .. } => [&mut error.zh, &mut error.en].into_iter().for_each(shorten),
            Happening::Warning { text } => shorten(text),
            Happening::Stage(stage) => shorten(&mut stage.note),
            _ => {}
        }
        self
    }
}

/// The log as the page shows it.
#[derive(Default)]
pub struct JobLog {
    lines: Vec<LogLine>,
    /// Lines of earlier sessions, on their way.
    earlier: Option<Errand<Vec<LogLine>>>,
    pub(super) fault: Option<Message>,
    /// Lines that are listed, in order: those that hold the text sought.
    pub(super) listed: Vec<usize>,
    /// The line marked; `None` is the newest, which moves on as lines come.
    at: Option<usize>,
    pub(super) top: usize,
    pub(super) search: Option<Field>,
    pub(super) typing: bool,
    /// The language that the search looked through.
    language: Option<Language>,
    scribe: Option<Scribe>,
}

impl JobLog {
    /// Writes what comes into the project's folder as well.
    pub fn keep(&mut self, scribe: Scribe) {
        self.scribe = Some(scribe);
    }

    pub(crate) fn scribe(&self) -> Option<&Scribe> {
        self.scribe.as_ref()
    }

    /// Ends the writing.
    pub(crate) fn take_scribe(&mut self) -> Option<Scribe> {
        self.scribe.take()
    }

    pub fn note(&mut self, event: Happening) {
        let line = LogLine { at: Local::now().naive_local().trunc_subsecs(0), event: event.shortened() };
        if let Some(scribe) = &self.scribe {
            // Plain data always has a JSON form.
            scribe.line(serde_json::to_string(&line).unwrap_or_default());
        }
        self.add(line);
    }

    fn add(&mut self, line: LogLine) {
        if self.lines.len() >= LINES {
            self.lines.drain(..LINES / 10);
            (self.at, self.top) = (None, 0);
        }
        self.lines.push(line);
        self.language = None;
    }

    /// Asks for the lines of earlier sessions, once.
    pub(super) fn read_earlier(&mut self, desk: &Desk<'_>) {
        if self.earlier.is_none() {
            let folder = desk.workspace.project.log();
            self.earlier = Some(desk.errand("log", move |_| read(&folder)));
        }
    }

    pub(super) fn waiting(&self) -> bool {
        self.earlier.as_ref().is_some_and(Errand::waiting)
    }

    /// Takes in earlier lines, and lists what is to be seen in this language in so many rows.
    pub(super) fn arrange(&mut self, language: Language, rows: usize) {
        if let Some(errand) = &mut self.earlier
            && errand.look()
        {
            self.fault = errand.error().cloned();
            let mut all = errand.get_mut().map(std::mem::take).unwrap_or_default();
            // Lines of this session may be at the end of the file by now.
            while all.last().is_some_and(|line| self.lines.contains(line)) {
                all.pop();
            }
            all.append(&mut self.lines);
            self.lines = all;
            self.language = None;
        }
        if self.language != Some(language) {
            self.seek(language);
        }
        let mut cursor = self.cursor();
        cursor.arrange(self.listed.len(), rows);
        self.top = cursor.top;
        self.at = self.at.map(|at| at.min(self.listed.len().saturating_sub(1)));
    }

    /// Lists the lines that hold the text sought, in letters of either case.
    fn seek(&mut self, language: Language) {
        let sought = self.search.as_ref().map(|field| field.text().to_lowercase()).unwrap_or_default();
        let holds = |line: &LogLine| {
            sought.is_empty()
                || line.event.text(language).to_lowercase().contains(&sought)
                || when(line).contains(&sought)
        };
        self.listed = (0..self.lines.len()).filter(|at| holds(&self.lines[*at])).collect();
        self.language = Some(language);
    }

    /// The text sought has changed.
    pub(super) fn seek_anew(&mut self) {
        (self.language, self.at, self.top) = (None, None, 0);
    }

    pub(super) fn step(&mut self, action: Action, rows: usize) {
        let mut cursor = self.cursor();
        cursor.step(action, self.listed.len(), rows.max(1));
        self.mark(cursor.at);
    }

    pub(super) fn mark(&mut self, at: usize) {
        self.at = Some(at).filter(|at| at + 1 < self.listed.len());
    }

    pub(super) fn cursor(&self) -> Cursor {
        Cursor { at: self.at.unwrap_or(self.listed.len().saturating_sub(1)), top: self.top }
    }

    /// The number of lines, listed or not.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line(&self, at: usize) -> Option<&LogLine> {
        self.lines.get(*self.listed.get(at)?)
    }

    /// Lines that a test wants to see in the place of others.
    #[cfg(test)]
    pub(crate) fn pose(&mut self, lines: Vec<LogLine>) {
        self.lines = lines;
        self.seek_anew();
    }

    #[cfg(test)]
    pub(crate) fn lines(&self) -> &[LogLine] {
        &self.lines
    }
}

/// Month, day and time of a line.
pub(super) fn when(line: &LogLine) -> String {
    line.at.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The lines that are kept in this folder, the oldest first. Lines of another version are left out.
fn read(folder: &Path) -> Result<Vec<LogLine>> {
    let mut lines = Vec::new();
    for name in LOG_FILES {
        let path = folder.join(name);
        let mut bytes = Vec::new();
        match File::open(&path) {
            // A file that another program has swollen is not read whole.
            Ok(file) => file.take(2 * LOG_BYTES).read_to_end(&mut bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => Err(error),
        }
        .with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        lines.extend(text.lines().filter_map(|line| serde_json::from_str(line).ok()));
    }
    let first = lines.len().saturating_sub(LINES / 2);
    Ok(lines.split_off(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_back_as_they_were_written_and_broken_lines_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let at = chrono::NaiveDate::from_ymd_opt(2024, 3, 12).unwrap().and_hms_opt(20, 31, 7).unwrap();
        let mut report = Report { rows_in: 9520, rows_out: 9500, seconds: 4.0, ..Report::new("ingest") };
        report.drop_rows("no such date", 20);
        let events = [
            Happening::Opened { version: "0.1.0".to_owned(), read_only: true },
            Happening::Stage(Box::new(StageFigures::new("流水线", &report, String::new()))),
            Happening::Failed { job: "流水线".to_owned(), seconds: 6.5, error: Message::same("no space 𠮷") },
            Happening::Closed,
        ];
        let lines: Vec<LogLine> = events.into_iter().map(|event| LogLine { at, event }).collect();
        let text: String = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        std::fs::write(dir.path().join(LOG_FILES[0]), text.replacen('\n', "\n{\"at\":\nnothing\n", 1)).unwrap();
        assert_eq!(read(dir.path()).unwrap(), lines);
        assert_eq!(read(&dir.path().join("none")).unwrap(), Vec::new());
        assert_eq!(
            lines[1].event.text(Language::En),
            "流水线 · ingest · in 9,520 out 9,500 dropped 20 (no such date 20) · 4.0s"
        );
        assert_eq!(lines[2].event.text(Language::Zh), "流水线 · 失败 · 6.5s · no space 𠮷");
    }
}
