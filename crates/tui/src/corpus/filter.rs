//! The line that filters the table: `kind:report code:600517 2024-01..2024-03 -repeats 回购`.
//!
//! Conditions stand side by side and all must hold; a `-` before one turns it round. `kind:`, `code:`, `time:` and `title:` take several
//! values with commas between them; one must hold. A word is looked for in titles and codes, and one of Latin letters also in
//! the pinyin initials of titles. Quotes hold a word with spaces together. Everything may be written in Chinese.

use std::ops::Range;

use chrono::{Datelike, Days, Months, NaiveDate, NaiveTime};
use regex::{Regex, RegexBuilder};

use super::catalogue::CataloguePart;
use crate::pinyin::Initials;
use inkstone_base::data::Kind;

/// Conditions on a document.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Condition {
    negated: bool,
    what: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Kinds(Vec<Kind>),
    Codes(Vec<Regex>),
    Titles(Vec<Regex>),
    /// Published in one of these times: microseconds since 1970.
    Times(Vec<Range<i64>>),
    Repeats,
    Word(Regex, Option<Box<Initials>>),
}

/// The reasons why a filter cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilterFault {
    /// The character where it stands, counted from 1.
    pub at: usize,
    pub what: Complaint,
}

/// The fault of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Complaint {
    /// There is no condition of this name.
    NoCondition(String),
    /// Nothing stands after the colon.
    NoValue(String),
    /// There is no kind of this name.
    NoKind(String),
    /// This is no date, month or year.
    NoTime(String),
    /// The time ends before it begins.
    EmptyTime(String),
}

/// The names of conditions that take values, with the Chinese ones.
const NAMES: [(&str, &[&str]); 4] =
    [("kind", &["类型", "类别"]), ("code", &["代码"]), ("time", &["时间", "日期", "date"]), ("title", &["标题"])];

/// Reads a line as the corpus page does; where it cannot, gives the character, counted from 1, that is wrong.
pub fn read_filter(line: &str) -> Result<(), usize> {
    Filter::parse(line).map(drop).map_err(|fault| fault.at)
}

impl Filter {
    pub(super) fn parse(line: &str) -> Result<Filter, FilterFault> {
        let conditions = words(line).into_iter().map(condition).collect::<Result<_, _>>()?;
        Ok(Filter { conditions })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// For each document of a part whether it passes.
    pub(crate) fn passing(&self, part: &CataloguePart) -> Vec<bool> {
        let mut passing = vec![true; part.len()];
        let mut holds = Vec::new();
        for condition in &self.conditions {
            holds.clear();
            holds.resize(part.len(), false);
            condition.what.mark(part, &mut holds);
            passing.iter_mut().zip(&holds).for_each(|(pass, holds)| *pass &= *holds != condition.negated);
        }
        passing
    }
}

impl Test {
    /// Marks the documents for which it holds.
    fn mark(&self, part: &CataloguePart, holds: &mut [bool]) {
        match self {
            Test::Kinds(kinds) => {
                holds.iter_mut().zip(part.kinds()).for_each(|(hold, kind)| *hold = kinds.contains(kind));
            }
            Test::Codes(codes) => codes.iter().for_each(|code| mark_codes(code, part, holds)),
            Test::Titles(titles) => titles.iter().for_each(|title| mark_titles(title, part, holds)),
            Test::Times(times) => {
                let within = |time| times.iter().any(|range| range.contains(time));
                holds.iter_mut().zip(part.times()).for_each(|(hold, time)| *hold = within(time));
            }
            Test::Repeats => part.repeating().for_each(|row| holds[row] = true),
            Test::Word(word, initials) => {
                mark_codes(word, part, holds);
                mark_titles(word, part, holds);
                if let Some(initials) = initials {
                    for (row, hold) in holds.iter_mut().enumerate().filter(|(_, hold)| !**hold) {
                        *hold = initials.are_in(&part.titles()[part.title(row)]);
                    }
                }
            }
        }
    }
}

fn mark_codes(code: &Regex, part: &CataloguePart, holds: &mut [bool]) {
    let (names, codes) = part.codes();
    let found: Vec<bool> = names.iter().map(|name| code.is_match(name)).collect();
    holds.iter_mut().zip(codes).for_each(|(hold, code)| *hold |= found[*code as usize]);
}

/// Titles stand behind each other with line breaks between them, which no word has: all are searched at once.
fn mark_titles(word: &Regex, part: &CataloguePart, holds: &mut [bool]) {
    let mut at = 0;
    while let Some(found) = word.find_at(part.titles(), at) {
        let row = part.row_at(found.start());
        holds[row] = true;
        at = part.title(row).end + 1;
    }
}

/// A word of the line.
struct FilterWord {
    text: String,
    /// The character where it begins, counted from 1.
    at: usize,
    /// Bytes of the text before the first quote; what is quoted means nothing but itself.
    plain: usize,
}

fn words(line: &str) -> Vec<FilterWord> {
    let mut words: Vec<FilterWord> = Vec::new();
    let (mut within, mut quoted) = (false, false);
    for (at, one) in line.chars().enumerate() {
        if one.is_whitespace() && !quoted {
            within = false;
            continue;
        }
        if !within {
            words.push(FilterWord { text: String::new(), at: at + 1, plain: usize::MAX });
            within = true;
        }
        let Some(word) = words.last_mut() else { continue };
        if one == '"' {
            quoted = !quoted;
            word.plain = word.plain.min(word.text.len());
        } else {
            word.text.push(one);
        }
    }
    words.retain(|word| !word.text.is_empty());
    words
}

fn condition(word: FilterWord) -> Result<Condition, FilterFault> {
    let fault = |skipped: usize, what| Err(FilterFault { at: word.at + skipped, what });
    let negated = word.plain > 0 && word.text.len() > 1 && word.text.starts_with('-');
    let skipped = usize::from(negated);
    let text = &word.text[skipped..];
    let plain = &text[..word.plain.saturating_sub(skipped).min(text.len())];
    let done = |what| Ok(Condition { negated, what });
    if let Some(colon) = plain.find([':', '：']) {
        let (name, rest) = text.split_at(colon);
        let value = rest.trim_start_matches([':', '：']);
        let lower = name.to_lowercase();
        let known = NAMES.iter().find(|(english, others)| *english == lower || others.contains(&lower.as_str()));
        let Some((known, _)) = known else {
            // Titles have such colons, and addresses no space after theirs.
            if rest.starts_with('：') {
                return done(free(text));
            }
            return fault(skipped, Complaint::NoCondition(name.to_owned()));
        };
        let values: Vec<&str> = value.split([',', '，', '、', '|']).filter(|value| !value.is_empty()).collect();
        let after = skipped + name.chars().count() + 1;
        if values.is_empty() {
            return fault(skipped, Complaint::NoValue(name.to_owned()));
        }
        return match *known {
            "kind" => match values.iter().map(|value| kind(value).ok_or(*value)).collect() {
                Ok(kinds) => done(Test::Kinds(kinds)),
                Err(value) => fault(after, Complaint::NoKind(value.to_owned())),
            },
            "time" => match values.iter().map(|value| time(value)).collect() {
                Ok(times) => done(Test::Times(times)),
                Err(what) => fault(after, what),
            },
            "code" => done(Test::Codes(values.into_iter().map(literal).collect())),
            _ => done(Test::Titles(values.into_iter().map(literal).collect())),
        };
    }
    if matches!(plain, "repeats" | "重复" | "转载") && plain.len() == text.len() {
        return done(Test::Repeats);
    }
    if plain.len() == text.len() && looks_like_time(text) {
        return time(text).map_or_else(|what| fault(skipped, what), |time| done(Test::Times(vec![time])));
    }
    done(free(text))
}

fn free(text: &str) -> Test {
    let initials = text.bytes().any(|b| b.is_ascii_alphabetic()).then(|| Initials::new(text)).flatten().map(Box::new);
    Test::Word(literal(text), initials)
}

/// Looks for a text as it is, in capitals or not.
fn literal(text: &str) -> Regex {
    let built = RegexBuilder::new(&regex::escape(text)).case_insensitive(true).size_limit(1 << 28).build();
    // Only a text of megabytes is too long, and no title has such a one.
    built.unwrap_or_else(|_| Regex::new("[^\\s\\S]").expect("nothing matches it, and it is well formed"))
}

/// The kind of this name, English or Chinese; the beginning of an English one will do.
fn kind(name: &str) -> Option<Kind> {
    let name = name.to_lowercase();
    let kinds = [
        (Kind::News, ["新闻", "快讯"]),
        (Kind::Report, ["研报", "报告"]),
        (Kind::Announcement, ["公告", "annc"]),
        (Kind::Post, ["帖子", "股吧"]),
    ];
    let matches =
        |(kind, others): &(Kind, [&str; 2])| kind.name().starts_with(&name) || others.contains(&name.as_str());
    kinds.iter().find(|known| matches(known)).map(|known| known.0)
}

/// True if a word without a name before it is a time: a date, a month, or a range of them. A bare number may be part of a code.
fn looks_like_time(text: &str) -> bool {
    let of_time = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'/' | b'.'));
    let month = text.len() >= 6 && text.as_bytes().get(4).is_some_and(|b| matches!(b, b'-' | b'/'));
    of_time && text.bytes().any(|b| b.is_ascii_digit()) && (text.contains("..") || month && !text.contains('.'))
}

/// `2024`, `2024-03`, `2024-03-08`, or a range `a..b`, both ends included; one may be left out.
fn time(text: &str) -> Result<Range<i64>, Complaint> {
    let span = |text: &str| period(text).ok_or_else(|| Complaint::NoTime(text.to_owned()));
    let micros = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc().timestamp_micros();
    let (from, to) = match text.split_once("..") {
        None => span(text).map(|(from, to)| (micros(from), micros(to)))?,
        Some((from, to)) => {
            let to = to.trim_start_matches('.');
            let start = if from.is_empty() { i64::MIN } else { micros(span(from)?.0) };
            (start, if to.is_empty() { i64::MAX } else { micros(span(to)?.1) })
        }
    };
    if from >= to { Err(Complaint::EmptyTime(text.to_owned())) } else { Ok(from..to) }
}

/// The first day of a year, month or day, and the first day after it.
fn period(text: &str) -> Option<(NaiveDate, NaiveDate)> {
    let numbers: Vec<u32> = text
        .split(['-', '/'])
        .map(|piece| piece.bytes().all(|b| b.is_ascii_digit()).then(|| piece.parse().ok()).flatten())
        .collect::<Option<_>>()?;
    let date = |year: u32, month, day| NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day);
    match numbers[..] {
        [year @ 1000..=9999] => Some((date(year, 1, 1)?, date(year + 1, 1, 1)?)),
        [whole] if whole >= 10_000_101 => {
            let day = date(whole / 10_000, whole / 100 % 100, whole % 100)?;
            Some((day, day.checked_add_days(Days::new(1))?)).filter(|_| day.year() <= 9999)
        }
        [year @ 1000..=9999, month] => {
            let first = date(year, month, 1)?;
            Some((first, first.checked_add_months(Months::new(1))?))
        }
        [year @ 1000..=9999, month, day] => {
            let day = date(year, month, day)?;
            Some((day, day.checked_add_days(Days::new(1))?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{PartSlot, tests::catalogue};
    use super::*;

    fn at(day: &str) -> i64 {
        day.parse::<NaiveDate>().unwrap().and_hms_opt(9, 30, 0).unwrap().and_utc().timestamp_micros()
    }

    /// The documents of a small corpus that pass, by number.
    fn passing(line: &str) -> Vec<usize> {
        let catalogue = catalogue(&[&[
            (at("2023-12-31"), "600517.SH", Kind::Report, "瑞禾电气年报点评：储能放量", None),
            (at("2024-01-01"), "300731.SZ", Kind::Announcement, "启澜生物：拟回购股份", None),
            (at("2024-03-31"), "600517.SH,300731.SZ", Kind::News, "ETF 与储能", None),
            (at("2024-04-01"), "", Kind::Post, "怎么看 600517", None),
            (at("2024-04-02"), "688001.SH", Kind::News, "", Some(1)),
        ]]);
        let PartSlot::Read(part) = catalogue.slot(0) else { panic!("it was read") };
        let filter = Filter::parse(line).unwrap();
        filter.passing(part).into_iter().enumerate().filter_map(|(i, passes)| passes.then_some(i)).collect()
    }

    #[test]
    fn each_condition_holds_where_it_should() {
        for (line, expected) in [
            ("", &[0, 1, 2, 3, 4][..]),
            ("kind:report", &[0]),
            ("类型：研报,公告", &[0, 1]),
            ("kind:rep|帖子", &[0, 3]),
            ("-kind:news", &[0, 1, 3]),
            ("code:600517", &[0, 2]),
            ("代码:600517.sh，688001", &[0, 2, 4]),
            ("title:600517", &[3]),
            ("600517", &[0, 2, 3]),
            ("储能", &[0, 2]),
            ("-储能", &[1, 3, 4]),
            ("etf", &[2]),
            ("hggf", &[1]),
            ("\"etf 与\"", &[2]),
            ("储能 kind:news", &[2]),
            ("repeats", &[4]),
            ("-重复", &[0, 1, 2, 3]),
            ("点评：储能", &[0]),
            ("\"-储能\"", &[]),
            ("2024-01..2024-03", &[1, 2]),
            ("2024-04", &[3, 4]),
            ("2024-04-01", &[3]),
            ("..2023-12-31", &[0]),
            ("2024/4/2..", &[4]),
            ("time:2024", &[1, 2, 3, 4]),
            ("time:20240401,2023", &[0, 3]),
            ("-2024-04 -time:2023", &[1, 2]),
        ] {
            assert_eq!(passing(line), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        let fault = |line: &str| Filter::parse(line).unwrap_err();
        let text = |text: &str| text.to_owned();
        assert_eq!(fault("回购 knd:report"), FilterFault { at: 4, what: Complaint::NoCondition(text("knd")) });
        assert_eq!(fault("回购 -kind:"), FilterFault { at: 5, what: Complaint::NoValue(text("kind")) });
        assert_eq!(fault("kind:news,x"), FilterFault { at: 6, what: Complaint::NoKind(text("x")) });
        assert_eq!(fault("2024-13"), FilterFault { at: 1, what: Complaint::NoTime(text("2024-13")) });
        assert_eq!(fault("time:yesterday"), FilterFault { at: 6, what: Complaint::NoTime(text("yesterday")) });
        assert_eq!(
            fault("2024-03..2024-01"),
            FilterFault { at: 1, what: Complaint::EmptyTime(text("2024-03..2024-01")) }
        );
    }

    #[test]
    fn nothing_that_is_typed_breaks_it() {
        let pieces = [
            "-",
            "\"",
            ":",
            "：",
            "kind",
            "2024-",
            "..",
            "9999-12-31",
            "99999999",
            "\u{20bb7}",
            "😀",
            "\u{1b}",
            " ",
            "(",
            "99991231..",
        ];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    let line = format!("{a}{b}{c}");
                    if Filter::parse(&line).is_ok() {
                        passing(&line);
                    }
                }
            }
        }
    }
}
