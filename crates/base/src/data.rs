//! The terms that every stage shares: documents, their keys, and the report a stage gives of its work.
//!
//! Times are Shanghai wall-clock times with seconds ([`chrono::NaiveDateTime`]): China has kept one zone without
//! daylight saving since 1991, so a zone on every value would carry no information. Hashes are BLAKE3.

use std::collections::BTreeMap;
use std::fmt;

use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::language::{Message, Word};
use crate::{message, terms};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A news item or flash.
    #[default]
    News,
    Report,
    Announcement,
    /// A post in a forum.
    Post,
}

impl Kind {
    /// Name in configuration files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::News => "news",
            Kind::Report => "report",
            Kind::Announcement => "announcement",
            Kind::Post => "post",
        }
    }

    /// The kind of this name, if there is one.
    pub fn parse(name: &str) -> Option<Kind> {
        [Kind::News, Kind::Report, Kind::Announcement, Kind::Post].into_iter().find(|k| k.name() == name)
    }
}

/// A document as its source gave it: decoded and typed, the text not yet cleaned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Unique in the project: `source/id`, with the id that the source gave or else its row (`source/file#row`).
    pub doc_id: String,
    pub kind: Kind,
    /// Codes that the source gave, canonical (`600000.SH`); linking by name comes later.
    pub codes: Vec<Code>,
    /// Title; empty when the source has none.
    pub title: String,
    pub body: String,
    /// Name of the `[[source]]` that the document came from.
    pub source: String,
    /// Author or analyst.
    pub author: Option<String>,
    /// Publishing organisation (broker, newspaper).
    pub org: Option<String>,
    /// A report's rating as printed.
    pub rating: Option<String>,
    /// Mark of a report that changes what its analysts said before (rating, target, forecast), as the source writes it.
    pub revised: Option<String>,
    /// A label that came with the data.
    pub label: Option<String>,
    /// Time of the event that the document tells of, if the source gives it.
    pub event_at: Option<NaiveDateTime>,
    /// Time at which the document became public. A date without a time is 23:59:59 of that date.
    pub published_at: NaiveDateTime,
    /// Time at which the vendor received it, if the source gives it.
    pub ingested_at: Option<NaiveDateTime>,
}

/// A BLAKE3 hash cut to 128 bits: the key of a text, of a set of parameters, of an artefact.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The key of some bytes.
    pub fn of(bytes: &[u8]) -> Key {
        Key::cut(blake3::hash(bytes))
    }

    /// The key of several parts; the parts' lengths count, so `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Key::cut(hasher.finalize())
    }

    /// The key of a value's JSON form (parameters; maps must be ordered).
    pub fn of_json(value: &impl Serialize) -> Key {
        Key::of(&serde_json::to_vec(value).expect("parameters are plain data and always have a JSON form"))
    }

    /// The key written as 32 hexadecimal digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }

    pub fn from_hex(text: &str) -> Option<Key> {
        let mut key = [0u8; 16];
        if text.len() != 32 || !text.is_ascii() {
            return None;
        }
        for (i, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Key(key))
    }

    /// True if a text has the form that [`Key::hex`] gives.
    pub fn is_hex(text: &str) -> bool {
        text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// The first half of a hash.
    pub fn cut(hash: blake3::Hash) -> Key {
        let mut key = [0u8; 16];
        key.copy_from_slice(&hash.as_bytes()[..16]);
        Key(key)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.hex())
    }
}

impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        let text = String::deserialize(deserializer)?;
        Key::from_hex(&text)
            .ok_or_else(|| serde::de::Error::custom(Word("键须为 32 位十六进制数", "a key is 32 hexadecimal digits")))
    }
}

/// There is too little data for the task. Where a part of the data, a cell of an experiment, a feature or a factor fails with this error, it
/// is left out with this reason, and the others go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLittle(pub Message);

impl std::fmt::Display for TooLittle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for TooLittle {}

/// The fact of a report that gives the reason why a feature or a factor was left out.
const LEFT_OUT: &str = "left_out";

/// The fact of a report that names the files which were made again because they were damaged.
pub const DAMAGED: &str = "damaged";

/// Report of a stage: rows in, rows out, rows dropped by reason, facts to show, and time.
///
/// `rows_in == rows_out + sum(dropped)` holds for every stage that maps rows to rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub stage: String,
    pub rows_in: u64,
    pub rows_out: u64,
    /// Rows set aside, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Figures and findings of this stage, in the order they were noted.
    pub facts: serde_json::Map<String, serde_json::Value>,
    /// Time at work in seconds; pauses are left out.
    pub seconds: f64,
    /// True if the stage was skipped because nothing that it depends on had changed.
    pub unchanged: bool,
}

impl Report {
    /// An empty report of the stage.
    pub fn new(stage: &str) -> Report {
        Report { stage: stage.to_owned(), ..Report::default() }
    }

    /// Counts `n` rows set aside for this reason.
    pub fn drop_rows(&mut self, reason: &str, n: u64) {
        if n > 0 {
            *self.dropped.entry(reason.to_owned()).or_default() += n;
        }
    }

    /// Notes a figure or finding under a name.
    pub fn fact(&mut self, name: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).expect("facts are plain data and always have a JSON form");
        self.facts.insert(name.to_owned(), value);
    }

    /// Names files that were damaged, beside those that are named already.
    pub fn name_damage(&mut self, files: impl IntoIterator<Item = String>) {
        let known = self.damaged().map(str::to_owned).collect::<Vec<_>>();
        let files: Vec<String> = known.into_iter().chain(files).collect();
        if !files.is_empty() {
            self.fact(DAMAGED, files);
        }
    }

    /// The files that were damaged and have been made again, each with its flaw.
    pub fn damaged(&self) -> impl Iterator<Item = &str> {
        let files = self.facts.get(DAMAGED).and_then(serde_json::Value::as_array);
        files.into_iter().flatten().filter_map(serde_json::Value::as_str)
    }

    /// The report of a feature or a factor that was left out for this reason; it would have read `rows` documents.
    pub fn of_left_out(stage: &str, rows: u64, reason: Message) -> Report {
        let mut report = Report { rows_in: rows, ..Report::new(stage) };
        report.drop_rows("left out", rows);
        report.fact(LEFT_OUT, reason);
        report
    }

    /// The reason why the feature or factor of this stage was left out, if it was.
    pub fn left_out(&self) -> Option<Message> {
        self.facts.get(LEFT_OUT).and_then(message_of)
    }

    pub fn dropped_rows(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Fails when more than `max_loss` (a share, 0.35 = 35 %) of the rows was set aside, naming the reasons that ate them.
    pub fn check_loss(&self, max_loss: f64, setting: &str) -> anyhow::Result<()> {
        let lost = self.dropped_rows();
        if self.rows_in == 0 || lost as f64 <= max_loss * self.rows_in as f64 {
            return Ok(());
        }
        let mut reasons: Vec<_> = self.dropped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let reason = |(reason, n): &(&String, &u64)| message!("{n} × {}", "{n} × {}", terms::term(reason));
        let reasons = Message::joined(reasons.iter().map(reason), Word("；", "; "));
        crate::bail!(
            "{} 的 {1} 行中剔除了 {lost} 行（{2:.1} %），超过上限 {3:.1} %（{setting}）：{4}",
            "{} lost {lost} of {} rows ({:.1} %), more than the limit of {:.1} % ({setting}): {}",
            terms::term(&self.stage),
            self.rows_in,
            100.0 * lost as f64 / self.rows_in as f64,
            100.0 * max_loss,
            reasons
        );
    }
}

/// The message that a fact holds; a text counts as the same in both languages.
pub fn message_of(fact: &serde_json::Value) -> Option<Message> {
    serde_json::from_value(fact.clone()).ok()
}

/// Facts as machines read them: a message is its English text.
pub fn for_machines(fact: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match fact {
        Value::Object(map) if map.len() == 2 && map.contains_key("zh") && map["en"].is_string() => map["en"].clone(),
        Value::Object(map) => Value::Object(map.into_iter().map(|(name, fact)| (name, for_machines(fact))).collect()),
        Value::Array(facts) => Value::Array(facts.into_iter().map(for_machines).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_parts_depend_on_the_boundaries() {
        let ab_c = Key::of_parts([b"ab".as_slice(), b"c"]);
        let a_bc = Key::of_parts([b"a".as_slice(), b"bc"]);
        assert_ne!(ab_c, a_bc);
        assert_eq!(Key::from_hex(&ab_c.hex()), Some(ab_c));
        assert_eq!(Key::from_hex("短"), None);
    }

    #[test]
    fn a_loss_over_the_limit_names_the_largest_reason_first() {
        let mut report = Report::new("ingest");
        report.rows_in = 10;
        report.drop_rows("bad time", 1);
        report.drop_rows("empty body", 4);
        assert!(report.check_loss(0.5, "[ingest] max_loss").is_ok());
        let error = report.check_loss(0.35, "[ingest] max_loss").unwrap_err().to_string();
        assert!(error.contains("5 of 10 rows (50.0 %)"), "{error}");
        assert!(error.contains("4 × empty body; 1 × bad time"), "{error}");
    }
}
