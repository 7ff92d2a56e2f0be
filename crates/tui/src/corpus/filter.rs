//! The line that filters the table: `kind:report code:600517 2024-01..2024-03 -repeats 回购`.
//!
//! Conditions stand side by side and all must hold; a `-` before one turns it round. `name:` before values is a condition on a column:
//! texts that hold one of the values, with `=` are one of them; numbers that are one of them or in a range `a..b`. Numbers and times also
//! stand before `>`, `>=`, `<` and `<=`: `length>500 tone<-0.5`. `has:note` asks for a value at all. A word is looked for in titles and
//! codes, and one of Latin letters also in the pinyin initials of titles. Quotes hold a word with spaces together. Everything may be
//! written in Chinese.

use std::ops::Range;
use std::sync::Arc;

use chrono::{Datelike, Days, Months, NaiveDate, NaiveTime};
use regex::{Regex, RegexBuilder};

use super::catalogue::{Catalogue, CataloguePart};
use super::conditions::{Interval, Test};
use super::facts::TextFact;
use super::order::By;
use crate::Language;
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
    /// There is no column of this name; these features are columns beside the others.
    NoCondition(String, Vec<Arc<str>>),
    /// This is no number, nor a range of numbers.
    NoNumber(String),
    /// The column of this name has texts, which are not less or more than others.
    NoOrder(String),
    /// Nothing stands after the colon.
    NoValue(String),
    /// There is no kind of this name.
    NoKind(String),
    /// This is no date, month or year.
    NoTime(String),
    /// The time ends before it begins.
    EmptyTime(String),
}

/// The columns that conditions are about, with their names in English and Chinese.
const NAMES: [(By, &[&str]); 12] = [
    (By::Kind, &["kind", "类型", "类别"]),
    (By::Code, &["code", "代码"]),
    (By::Time, &["time", "date", "时间", "日期", "发布时间"]),
    (By::Title, &["title", "标题"]),
    (By::Text(TextFact::Org), &["org", "organisation", "机构"]),
    (By::Text(TextFact::Author), &["author", "作者"]),
    (By::Text(TextFact::Source), &["source", "来源"]),
    (By::Text(TextFact::Rating), &["rating", "评级"]),
    (By::Length, &["length", "长度", "字数"]),
    (By::Codes, &["codes", "代码数"]),
    (By::Note, &["note", "笔记"]),
    (By::Repeats, &["repeats", "重复"]),
];

/// The name of the condition that a document has a value.
pub(super) const HAS: [&str; 2] = ["has", "有"];

/// Stand between the name of a column and a number, the longer ones first.
const COMPARISONS: [(&str, &str); 8] =
    [(">=", ">="), ("<=", "<="), ("≥", ">="), ("≤", "<="), (">", ">"), ("<", "<"), ("＞", ">"), ("＜", "<")];

/// Reads a line as the corpus page does; where it cannot, gives the character, counted from 1, that is wrong.
pub fn read_filter(line: &str) -> Result<(), usize> {
    Filter::parse(line, &[]).map(drop).map_err(|fault| fault.at)
}

/// The name of a column in filters, in a language; none where a filter knows no such column.
pub(super) fn name(by: &By, language: Language) -> Option<String> {
    if let By::Score(name) = by {
        return Some(name.to_string());
    }
    let (_, names) = NAMES.iter().find(|(other, _)| other == by)?;
    Some(in_language(names, language).to_owned())
}

/// The names of all columns but features.
pub(super) fn names(language: Language) -> impl Iterator<Item = String> {
    NAMES.iter().map(move |(_, names)| in_language(names, language).to_owned())
}

fn in_language(names: &[&'static str], language: Language) -> &'static str {
    let fits = |name: &&&str| name.is_ascii() == (language == Language::En);
    names.iter().find(fits).map_or("", |name| name)
}

/// The facts of documents that a filter needs beside the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    pub details: bool,
    /// Names of features.
    pub scores: Vec<Arc<str>>,
    /// True if it reads any fact, notes and marks among them.
    pub facts: bool,
}

impl Filter {
    /// Reads a line; `features` are the names of columns of features.
    pub(super) fn parse(line: &str, features: &[Arc<str>]) -> Result<Filter, FilterFault> {
        let conditions = words(line).into_iter().map(|word| condition(word, features)).collect::<Result<_, _>>()?;
        Ok(Filter { conditions })
    }

    pub(super) fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for condition in &self.conditions {
            let columns = match &condition.what {
                Test::Facts(by, _) | Test::Numbers(by, _) => std::slice::from_ref(by),
                Test::Has(columns) => columns,
                Test::Marked => {
                    needs.facts = true;
                    continue;
                }
                _ => continue,
            };
            for by in columns {
                needs.details |= by.is_detail();
                needs.facts |= by.is_fact();
                if let By::Score(name) = by {
                    needs.scores.push(name.clone());
                }
            }
        }
        needs
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// For each document of a part, which has this number, whether it passes.
    pub(crate) fn passing(&self, catalogue: &Catalogue, number: usize, part: &CataloguePart) -> Vec<bool> {
        let mut passing = vec![true; part.len()];
        let mut holds = Vec::new();
        for condition in &self.conditions {
            holds.clear();
            holds.resize(part.len(), false);
            condition.what.mark(catalogue, number, part, &mut holds);
            passing.iter_mut().zip(&holds).for_each(|(pass, holds)| *pass &= *holds != condition.negated);
        }
        passing
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

fn condition(word: FilterWord, features: &[Arc<str>]) -> Result<Condition, FilterFault> {
    let fault = |skipped: usize, what| Err(FilterFault { at: word.at + skipped, what });
    let negated = word.plain > 0 && word.text.len() > 1 && word.text.starts_with('-');
    let skipped = usize::from(negated);
    let text = &word.text[skipped..];
    let plain = &text[..word.plain.saturating_sub(skipped).min(text.len())];
    let done = |what| Ok(Condition { negated, what });
    if let Some((at, sign)) = sign_in(plain) {
        let (name, rest) = text.split_at(at);
        let value = rest.strip_prefix(sign).unwrap_or(rest);
        let value = if matches!(sign, ":" | "：") { value.trim_start_matches([':', '：']) } else { value };
        let lower = name.to_lowercase();
        let known = column_named(&lower, name, features);
        let asks = HAS.contains(&lower.as_str());
        if known.is_none() && !asks {
            // Titles have such colons, and addresses no space after theirs.
            return match sign {
                "：" => done(free(text)),
                _ => fault(skipped, Complaint::NoCondition(name.to_owned(), features.to_vec())),
            };
        }
        let after = skipped + name.chars().count() + sign.chars().count();
        if value.is_empty() {
            return fault(skipped, Complaint::NoValue(name.to_owned()));
        }
        let what = match known {
            Some(by) => test(by, name, sign, value),
            None => columns(value, features),
        };
        return what.map_or_else(
            |what| {
                fault(if matches!(what, Complaint::NoOrder(_) | Complaint::NoValue(_)) { skipped } else { after }, what)
            },
            done,
        );
    }
    if plain.len() == text.len() {
        match text {
            "repeats" | "重复" | "转载" => return done(Test::Repeats),
            "marked" | "标记" => return done(Test::Marked),
            _ if looks_like_time(text) => {
                return time(text).map_or_else(|what| fault(skipped, what), |time| done(Test::Times(vec![time])));
            }
            _ => {}
        }
    }
    done(free(text))
}

/// The first sign between the name of a column and a value, and where it stands.
fn sign_in(plain: &str) -> Option<(usize, &'static str)> {
    let signs = [":", "：", "=", "＝"].into_iter().chain(COMPARISONS.map(|(sign, _)| sign));
    // Of two signs that begin at one place the longer one stands there.
    let found = signs.filter_map(|sign| Some((plain.find(sign)?, sign)));
    found.filter(|(at, _)| *at > 0).min_by_key(|(at, sign)| (*at, usize::MAX - sign.len()))
}

/// The column of a name; that of a feature is written as the feature is.
fn column_named(lower: &str, name: &str, features: &[Arc<str>]) -> Option<By> {
    let known = NAMES.iter().find(|(_, names)| names.contains(&lower)).map(|(by, _)| by.clone());
    known.or_else(|| features.iter().find(|feature| ***feature == *name).map(|feature| By::Score(feature.clone())))
}

fn columns(value: &str, features: &[Arc<str>]) -> Result<Test, Complaint> {
    let column = |name: &str| {
        let found = column_named(&name.to_lowercase(), name, features);
        found.ok_or_else(|| Complaint::NoCondition(name.to_owned(), features.to_vec()))
    };
    values(value, "has").and_then(|names| names.into_iter().map(column).collect()).map(Test::Has)
}

fn values<'v>(value: &'v str, name: &str) -> Result<Vec<&'v str>, Complaint> {
    let values: Vec<&str> = value.split([',', '，', '、', '|']).filter(|value| !value.is_empty()).collect();
    if values.is_empty() { Err(Complaint::NoValue(name.to_owned())) } else { Ok(values) }
}

/// The test that a column stands in this relation to a value.
fn test(by: By, name: &str, sign: &str, value: &str) -> Result<Test, Complaint> {
    let comparison = COMPARISONS.iter().find(|(other, _)| *other == sign).map(|(_, meaning)| *meaning);
    let equal = matches!(sign, "=" | "＝");
    if let Some(comparison) = comparison {
        return match by {
            By::Time => period_after(comparison, value).map(|time| Test::Times(vec![time])),
            By::Length | By::Codes | By::Score(_) => {
                let number = stored(&by, number(value)?);
                let interval = match comparison {
                    ">" => Interval { from: (number, false), to: (f64::INFINITY, true) },
                    ">=" => Interval { from: (number, true), to: (f64::INFINITY, true) },
                    "<" => Interval { from: (f64::NEG_INFINITY, true), to: (number, false) },
                    _ => Interval { from: (f64::NEG_INFINITY, true), to: (number, true) },
                };
                Ok(Test::Numbers(by, vec![interval]))
            }
            _ => Err(Complaint::NoOrder(name.to_owned())),
        };
    }
    let one_of = if equal { Ok(vec![value]) } else { values(value, name) };
    let several = one_of?;
    let regexes = |exact: fn(&str) -> Regex| {
        several.iter().map(|value| if equal { exact(value) } else { literal(value) }).collect()
    };
    match by {
        By::Kind => {
            let kinds = several.iter().map(|value| kind(value).ok_or_else(|| Complaint::NoKind((*value).to_owned())));
            kinds.collect::<Result<_, _>>().map(Test::Kinds)
        }
        By::Time => several.iter().map(|value| time(value)).collect::<Result<_, _>>().map(Test::Times),
        By::Code => Ok(Test::Codes(regexes(|code| expression(&format!("(?:^|,){}(?:,|$)", regex::escape(code)))))),
        By::Title => Ok(Test::Titles(regexes(|title| expression(&format!("^{}$", regex::escape(title)))))),
        By::Length | By::Codes | By::Score(_) => several
            .iter()
            .map(|value| interval(&by, value))
            .collect::<Result<_, _>>()
            .map(|found| Test::Numbers(by, found)),
        _ => {
            let found = regexes(|text| expression(&format!("^{}$", regex::escape(text))));
            Ok(Test::Facts(by, found))
        }
    }
}

/// A number as the column has it: values of features are kept in single precision.
fn stored(by: &By, number: f64) -> f64 {
    if matches!(by, By::Score(_)) { f64::from(number as f32) } else { number }
}

fn number(text: &str) -> Result<f64, Complaint> {
    let number: Option<f64> = text.trim_start_matches('+').parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| Complaint::NoNumber(text.to_owned()))
}

/// `3`, or a range `a..b`, both ends included; one may be left out.
fn interval(by: &By, text: &str) -> Result<Interval, Complaint> {
    let Some((from, to)) = text.split_once("..") else {
        let number = stored(by, number(text)?);
        return Ok(Interval { from: (number, true), to: (number, true) });
    };
    let end = |text: &str, open: f64| if text.is_empty() { Ok(open) } else { Ok(stored(by, number(text)?)) };
    let (from, to) = (end(from, f64::NEG_INFINITY)?, end(to, f64::INFINITY)?);
    Ok(Interval { from: (from, true), to: (to, true) })
}

/// The times that stand in this relation to a year, month or day.
fn period_after(comparison: &str, text: &str) -> Result<Range<i64>, Complaint> {
    let period = time(text)?;
    Ok(match comparison {
        ">" => period.end..i64::MAX,
        ">=" => period.start..i64::MAX,
        "<" => i64::MIN..period.start,
        _ => i64::MIN..period.end,
    })
}

fn free(text: &str) -> Test {
    let initials = text.bytes().any(|b| b.is_ascii_alphabetic()).then(|| Initials::new(text)).flatten().map(Box::new);
    Test::Word(literal(text), initials)
}

/// Looks for a text as it is, in capitals or not.
fn literal(text: &str) -> Regex {
    expression(&regex::escape(text))
}

fn expression(source: &str) -> Regex {
    let built = RegexBuilder::new(source).case_insensitive(true).multi_line(true).size_limit(1 << 28).build();
    // Only a text of megabytes is too long, and no title has such a one.
    built.unwrap_or_else(|_| Regex::new("[^\\s\\S]").expect("nothing matches it, and it is well formed"))
}

/// The kind of this name, English or Chinese; the beginning of an English one will do.
fn kind(name: &str) -> Option<Kind> {
    let name = name.to_lowercase();
    let kinds = [
        (Kind::News, ["新闻", "快讯"]),
        (Kind::Report, ["研报", "报告"]),
        (Kind::Announcement, ["公告", "notice"]),
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

    fn features() -> [Arc<str>; 2] {
        ["tone".into(), "情绪".into()]
    }

    /// The documents of a small corpus that pass, by number.
    fn passing(line: &str) -> Vec<usize> {
        let mut catalogue = catalogue(&[&[
            (at("2023-12-31"), "600517.SH", Kind::Report, "瑞禾电气年报点评：储能放量", None),
            (at("2024-01-01"), "300731.SZ", Kind::Announcement, "启澜生物：拟回购股份", None),
            (at("2024-03-31"), "600517.SH,300731.SZ", Kind::News, "ETF 与储能", None),
            (at("2024-04-01"), "", Kind::Post, "怎么看 600517", None),
            (at("2024-04-02"), "688001.SH", Kind::News, "", Some(1)),
        ]]);
        let scores = vec![vec![0.5, -0.5, f32::NAN, 0.0, 0.25]];
        catalogue.facts.take_scores("tone".into(), super::super::facts::Scores::new(scores));
        catalogue.facts.notes = Arc::new([(3, "再看 估值".to_owned())].into_iter().collect());
        catalogue.facts.marks = Arc::new([0, 3].into_iter().collect());
        let PartSlot::Read(part) = catalogue.slot(0) else { panic!("it was read") };
        let filter = Filter::parse(line, &features()).unwrap();
        filter
            .passing(&catalogue, 0, part)
            .into_iter()
            .enumerate()
            .filter_map(|(i, passes)| passes.then_some(i))
            .collect()
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
            ("time>2024-01", &[2, 3, 4]),
            ("时间<=2024-01", &[0, 1]),
            ("codes>1", &[2]),
            ("代码数:0", &[3]),
            ("代码数：1..", &[0, 1, 2, 4]),
            ("tone<-0.25", &[1]),
            ("tone>=0", &[0, 3, 4]),
            ("tone:-0.5..0", &[1, 3]),
            ("tone≤0 -tone:0", &[1]),
            ("-tone>0", &[1, 2, 3]),
            ("情绪>0", &[]),
            ("has:tone", &[0, 1, 3, 4]),
            ("-有:tone,代码", &[]),
            ("笔记:估值", &[3]),
            ("note=\"再看 估值\"", &[3]),
            ("note=估值", &[]),
            ("有:笔记", &[3]),
            ("-has:note marked", &[0]),
            ("code=600517.SH", &[0, 2]),
            ("title=\"ETF 与储能\"", &[2]),
            ("title=储能", &[]),
            ("\"a>b\"", &[]),
            (">5", &[]),
        ] {
            assert_eq!(passing(line), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        let fault = |line: &str| Filter::parse(line, &features()).unwrap_err();
        let text = |text: &str| text.to_owned();
        let none = |name: &str| Complaint::NoCondition(text(name), features().to_vec());
        assert_eq!(fault("回购 knd:report"), FilterFault { at: 4, what: none("knd") });
        assert_eq!(fault("回购 tonne<-1"), FilterFault { at: 4, what: none("tonne") });
        assert_eq!(fault("-has:note,x"), FilterFault { at: 6, what: none("x") });
        assert_eq!(fault("tone>好"), FilterFault { at: 6, what: Complaint::NoNumber(text("好")) });
        assert_eq!(fault("length:1..x"), FilterFault { at: 8, what: Complaint::NoNumber(text("x")) });
        assert_eq!(fault("-org>5"), FilterFault { at: 2, what: Complaint::NoOrder(text("org")) });
        assert_eq!(fault("tone>="), FilterFault { at: 1, what: Complaint::NoValue(text("tone")) });
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
            ">",
            "＝",
            "tone",
            "has",
        ];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    let line = format!("{a}{b}{c}");
                    if Filter::parse(&line, &features()).is_ok() {
                        passing(&line);
                    }
                }
            }
        }
    }
}
