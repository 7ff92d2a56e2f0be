//! Time of publication of a document from its own text, its file name and its properties.
//!
//! A document must never count as known earlier than it was. Of the dates that are stated, on a line of their own on the
//! first page or in the file's name, the latest counts, and a date without a time is the end of its day. The moment at
//! which the file was made counts when nothing is stated, or when it lies within [`MADE_AFTER`] days behind what is stated:
//! a file that was made later than that is a copy. Dates whose label says that they are of something to come do not count.

use std::sync::LazyLock;

use chrono::{Duration, NaiveDate, NaiveDateTime};
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::ingest::times;

/// Days within which the making of a file belongs to its publication.
const MADE_AFTER: i64 = 31;

/// Place at which a time of publication was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A head line of a text file.
    Head,
    /// A line of the document.
    Text,
    FileName,
    /// The document's record: the making of a PDF or DOCX file, the `meta` and `time` elements of a page.
    Metadata,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::Head => "head",
            Origin::Text => "text",
            Origin::FileName => "file_name",
            Origin::Metadata => "metadata",
        }
    }
}

/// A time of publication and where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dated {
    /// Shanghai time; a date alone is its last second.
    pub time: NaiveDateTime,
    pub origin: Origin,
}

/// A date as a line of its own, perhaps behind a label and before a time of day.
static STATED: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"^(?:[^\d，。；]{0,14}[：:]?\s*)?((?:19|20)\d{2}\s*(?:年|[-/.])\s*\d{1,2}\s*(?:月|[-/.])\s*\d{1,2}\s*日?)(?:\s*[（(]?(?:星期|周)[一二三四五六日天][）)]?)?(?:\s+(\d{1,2}:\d{2}(?::\d{2})?))?\s*$";
    Regex::new(form).expect("a valid expression")
});
/// A date in a file's name, where no further figure touches it.
static IN_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"(?:^|\D)((?:19|20)\d{2})(?:([-_.年])(\d{1,2})[-_.月](\d{1,2})|(\d{2})(\d{2}))(?:\D|$)";
    Regex::new(form).expect("a valid expression")
});

/// The date in a file's name; the latest of several.
pub(super) fn in_name(name: &str) -> Option<NaiveDateTime> {
    let (mut latest, mut at) = (None, 0);
    // The character behind one date may stand before the next.
    while let Some(found) = name.get(at..).and_then(|rest| IN_NAME.captures(rest)) {
        let number = |i: usize| found.get(i).and_then(|m| m.as_str().parse::<u32>().ok());
        let date = number(1).zip(number(3).or(number(5))).zip(number(4).or(number(6)));
        let date = date.and_then(|((y, m), d)| NaiveDate::from_ymd_opt(y as i32, m, d)).and_then(day_end);
        latest = latest.max(date);
        at += found.get(1).map_or(name.len(), |m| m.end());
    }
    latest
}

/// Labels of dates on which something is to happen.
const TO_COME: [&str; 6] = ["到期", "兑付", "截止", "有效期", "解禁", "目标"];

/// The latest date that lines state by themselves.
fn in_lines(lines: &[&str]) -> Option<NaiveDateTime> {
    let read = |line: &&str| {
        if TO_COME.iter().any(|label| line.contains(label)) {
            return None;
        }
        let found = STATED.captures(line.trim())?;
        let date: String = found[1].chars().filter(|c| !c.is_whitespace()).collect();
        let text = found.get(2).map_or(date.clone(), |clock| format!("{date} {}", clock.as_str()));
        times::parse(&text).ok().map(|moment| moment.time)
    };
    lines.iter().filter_map(read).max()
}

/// The time of publication by the file's name, by the lines of its first page and by the moments at which it was made and
/// then changed; of these, the first counts beside what is stated, and the latest when nothing is.
pub(super) fn published_at(name: &str, lines: &[&str], made_at: &[String]) -> Option<Dated> {
    let moments = || made_at.iter().filter_map(|text| times::parse(text).ok()).map(|moment| moment.time);
    let made = moments().next();
    let within = Duration::days(MADE_AFTER);
    let dated = |origin: Origin| move |time: NaiveDateTime| Dated { time, origin };
    let stated = [in_lines(lines).map(dated(Origin::Text)), in_name(name).map(dated(Origin::FileName))];
    // The first of equal times is named.
    let stated = stated.into_iter().flatten().rev().max_by_key(|d| d.time);
    match (stated, made.map(dated(Origin::Metadata))) {
        (Some(stated), Some(made)) if made.time > stated.time && made.time <= stated.time + within => Some(made),
        (Some(stated), _) => Some(stated),
        (None, _) => moments().max().map(dated(Origin::Metadata)),
    }
}

fn day_end(date: NaiveDate) -> Option<NaiveDateTime> {
    date.and_hms_opt(23, 59, 59)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, lines: &[&str], made: Option<&str>) -> Option<(String, Origin)> {
        let made: Vec<String> = made.into_iter().map(str::to_owned).collect();
        published_at(name, lines, &made).map(|d| (d.time.to_string(), d.origin))
    }

    fn is(time: &str, origin: Origin) -> Option<(String, Origin)> {
        Some((time.to_owned(), origin))
    }

    #[test]
    fn names_have_dates_and_other_figures() {
        let date = |name: &str| in_name(name).map(|time| time.date().to_string());
        assert_eq!(date("某某证券-20220315-点评"), Some("2022-03-15".into()));
        assert_eq!(date("2022-03-15"), Some("2022-03-15".into()));
        assert_eq!(date("2022年3月5日_点评"), Some("2022-03-05".into()));
        assert_eq!(date("20220315_20220317"), Some("2022-03-17".into()));
        for none in ["600000", "120220315", "202203155", "20221315", "2022Q1", ""] {
            assert_eq!(date(none), None, "{none}");
        }
    }

    #[test]
    fn a_stated_date_is_the_end_of_its_day_and_the_latest_counts() {
        let lines = ["净利润 2023-12-31 为", "报告日期：2024 年 03 月 01 日", "2023.08.27", "发布 2024-03-01 15:30"];
        assert_eq!(found("a", &lines, None), is("2024-03-01 23:59:59", Origin::Text));
        assert_eq!(found("20240302", &lines, None), is("2024-03-02 23:59:59", Origin::FileName));
        assert_eq!(found("20240301", &lines, None), is("2024-03-01 23:59:59", Origin::Text));
        assert_eq!(found("a", &["发布 2024-03-01 15:30"], None), is("2024-03-01 15:30:00", Origin::Text));
        assert_eq!(found("a", &["上年 2024"], None), None);
    }

    #[test]
    fn the_making_of_a_file_counts_when_it_is_near() {
        let lines = ["2024年3月1日"];
        let made = |at: &str| found("a", &lines, Some(at));
        assert_eq!(made("2024-02-29T18:00:00+08:00"), is("2024-03-01 23:59:59", Origin::Text));
        assert_eq!(made("2024-03-04T01:00:00+00:00"), is("2024-03-04 09:00:00", Origin::Metadata));
        assert_eq!(made("2025-03-04T01:00:00+08:00"), is("2024-03-01 23:59:59", Origin::Text));
        assert_eq!(found("a", &[], Some("2024-03-04T09:00:00+08:00")), is("2024-03-04 09:00:00", Origin::Metadata));
        // The clock of the machine that made the file was wrong: an earlier time never counts.
        assert_eq!(made("2000-01-01T00:00:00+08:00"), is("2024-03-01 23:59:59", Origin::Text));
        // A maturity date on a line of its own.
        assert_eq!(
            found("a", &["到期日：2034-03-01"], Some("2024-03-04T09:00:00+08:00")),
            is("2024-03-04 09:00:00", Origin::Metadata)
        );
    }
}
