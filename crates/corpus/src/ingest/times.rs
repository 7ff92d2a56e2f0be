//! Times as Chinese sources write them, read into Shanghai wall-clock times.
//!
//! A date without a time of day is 23:59:59 of that date: it was known for certain only after the close. A time with a
//! zone or an offset is converted to Shanghai time; one without is taken as Shanghai time. Numbers are read by their
//! length: `20240301`, `20240301150000`, Unix seconds (10 digits), milliseconds (13), microseconds (16), nanoseconds (19)
//! and Excel's day numbers (5 digits and a fraction, 1900 system).

use std::borrow::Cow;
use std::fmt;

use anyhow::Result;
use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime};

use crate::ingest::reason;

use inkstone_base::bail;

/// The last second of a day, the time of a date that came without one.
const DAY_END: NaiveTime = NaiveTime::from_hms_opt(23, 59, 59).expect("23:59:59 is a time of day");

/// Shanghai's offset, in seconds.
const SHANGHAI: i64 = 8 * 3600;

/// Form of a written time, as the log shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimeShape {
    date: &'static str,
    clock: &'static str,
    zone: &'static str,
}

impl fmt::Display for TimeShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.date, self.clock, self.zone)
    }
}

/// A time, and how it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) time: NaiveDateTime,
    pub(super) shape: TimeShape,
}

impl Moment {
    /// True if it is the last second of a day, as for a date without a time.
    pub(super) fn is_day_end(&self) -> bool {
        self.time.time() == DAY_END
    }

    fn new(time: NaiveDateTime, date: &'static str) -> Moment {
        Moment { time, shape: TimeShape { date, clock: "", zone: "" } }
    }
}

/// Why a text is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTime {
    /// It has not the form of a time.
    Unreadable,
    /// It has the form, but there is no such day or time of day (30 February).
    Impossible,
}

impl NoTime {
    pub(super) fn reason(self) -> &'static str {
        match self {
            NoTime::Unreadable => "not a time",
            NoTime::Impossible => reason::NO_SUCH_TIME,
        }
    }
}

/// Format of the times of a source.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TimeFormat {
    /// By their looks, value by value.
    Detect,
    Unix,
    UnixMillis,
    Excel,
    /// A `strftime` pattern, with or without a time of day.
    Pattern(String),
}

impl TimeFormat {
    /// The format that a configuration names.
    pub(super) fn from_setting(setting: Option<&str>) -> Result<TimeFormat> {
        Ok(match setting {
            None => TimeFormat::Detect,
            Some("unix") => TimeFormat::Unix,
            Some("unix_ms") => TimeFormat::UnixMillis,
            Some("excel") => TimeFormat::Excel,
            Some(pattern) => {
                let items = chrono::format::StrftimeItems::new(pattern);
                if !pattern.contains('%') || items.into_iter().any(|i| matches!(i, chrono::format::Item::Error)) {
                    bail!(
                        "time_format = {pattern:?} 既不是 unix、unix_ms、excel，也不是 %Y-%m-%d %H:%M:%S 这样的格式",
                        "time_format = {pattern:?} is neither unix, unix_ms, excel nor a pattern like %Y-%m-%d %H:%M:%S"
                    );
                }
                TimeFormat::Pattern(pattern.to_owned())
            }
        })
    }

    pub(super) fn parse(&self, text: &str) -> Result<Moment, NoTime> {
        let number = || text.trim().parse::<f64>().map_err(|_| NoTime::Unreadable);
        match self {
            TimeFormat::Detect => parse(text),
            TimeFormat::Unix => unix(number()? * 1e6, "unix seconds"),
            TimeFormat::UnixMillis => unix(number()? * 1e3, "unix milliseconds"),
            TimeFormat::Excel => excel(number()?),
            TimeFormat::Pattern(pattern) => {
                let text = text.trim();
                if let Ok(time) = DateTime::parse_from_str(text, pattern) {
                    return in_shanghai(time.naive_utc(), "time_format");
                }
                let time = NaiveDateTime::parse_from_str(text, pattern)
                    .or_else(|_| NaiveDate::parse_from_str(text, pattern).map(|date| date.and_time(DAY_END)));
                match time {
                    Ok(time) => Ok(Moment::new(time, "time_format")),
                    Err(error) if error.kind() == chrono::format::ParseErrorKind::OutOfRange => Err(NoTime::Impossible),
                    Err(error) if error.kind() == chrono::format::ParseErrorKind::Impossible => Err(NoTime::Impossible),
                    Err(_) => Err(NoTime::Unreadable),
                }
            }
        }
    }
}

/// Reads a time by its looks.
pub(super) fn parse(text: &str) -> Result<Moment, NoTime> {
    let text = narrow(text);
    let text = text.trim();
    if text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+')) {
        // Dotted dates (2024.3.1) are no numbers.
        if text.matches('.').count() < 2 {
            return number(text);
        }
    }
    let mut cursor = Cursor(text);
    let (date, style) = match cursor.date() {
        Ok(found) => found,
        Err(error) => return rfc2822(text).ok_or(error),
    };
    let mut moment = Moment::new(date.and_time(DAY_END), style);
    cursor.skip_weekday();
    cursor.skip(&[' ', 'T', 't', ',', '-', '_']);
    if cursor.0.is_empty() {
        return Ok(moment);
    }
    let (seconds, micros, clock) = cursor.clock()?;
    moment.time = date.and_time(NaiveTime::MIN) + Duration::seconds(seconds) + Duration::microseconds(micros);
    moment.shape.clock = clock;
    if let Some(offset) = cursor.zone()? {
        moment.time += Duration::seconds(SHANGHAI - offset);
        moment.shape.zone = "+zone";
    }
    if cursor.0.is_empty() { Ok(moment) } else { Err(NoTime::Unreadable) }
}

/// Reads a date and a time of day that stand in two columns.
pub(super) fn parse_two(date: &str, clock: &str) -> Result<Moment, NoTime> {
    let mut moment = parse(date)?;
    let clock = narrow(clock);
    let clock = clock.trim();
    if clock.is_empty() {
        return Ok(moment);
    }
    // A number has lost its leading zeros: 93000 is 09:30:00.
    let padded = match clock.strip_suffix(".0").unwrap_or(clock) {
        digits if digits.bytes().all(|b| b.is_ascii_digit()) && matches!(digits.len(), 3 | 5) => format!("0{digits}"),
        other => other.to_owned(),
    };
    let mut cursor = Cursor(&padded);
    let (seconds, micros, shape) = match cursor.clock() {
        Ok(read) if cursor.0.is_empty() => read,
        // The second column may hold the date once more.
        Ok(_) | Err(NoTime::Unreadable) => return parse(clock),
        Err(error) => return Err(error),
    };
    let day = moment.time.date().and_time(NaiveTime::MIN);
    moment.time = day + Duration::seconds(seconds) + Duration::microseconds(micros);
    moment.shape.clock = shape;
    Ok(moment)
}

fn number(text: &str) -> Result<Moment, NoTime> {
    let value: f64 = text.parse().map_err(|_| NoTime::Unreadable)?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if text.contains(['e', 'E']) {
        return match value {
            v if (1e9..1e10).contains(&v) => unix(v * 1e6, "unix seconds"),
            v if (1e12..1e13).contains(&v) => unix(v * 1e3, "unix milliseconds"),
            _ => Err(NoTime::Unreadable),
        };
    }
    let part = |from: usize, to: usize| whole[from..to].parse::<u32>().map_err(|_| NoTime::Unreadable);
    let compact = |clock: &'static str, style: &'static str| -> Result<Moment, NoTime> {
        let year = part(0, 4)? as i32;
        if !(1900..=2100).contains(&year) {
            return Err(NoTime::Unreadable);
        }
        let date = NaiveDate::from_ymd_opt(year, part(4, 6)?, part(6, 8)?).ok_or(NoTime::Impossible)?;
        let mut time = date.and_time(DAY_END);
        if whole.len() > 8 {
            let seconds = if whole.len() >= 14 { part(12, 14)? } else { 0 };
            let millis = if whole.len() == 17 { part(14, 17)? } else { 0 };
            let clock = NaiveTime::from_hms_milli_opt(part(8, 10)?, part(10, 12)?, seconds, millis);
            time = date.and_time(clock.ok_or(NoTime::Impossible)?);
        }
        Ok(Moment { time, shape: TimeShape { date: style, clock, zone: "" } })
    };
    match whole.len() {
        5 => excel(value),
        10 => unix(value * 1e6, "unix seconds"),
        _ if fraction.bytes().any(|b| b != b'0') => Err(NoTime::Unreadable),
        8 => compact("", "YYYYMMDD"),
        12 => compact("hhmm", "YYYYMMDD"),
        14 => compact("hhmmss", "YYYYMMDD"),
        17 => compact("hhmmssfff", "YYYYMMDD"),
        13 => unix(value * 1e3, "unix milliseconds"),
        16 => unix(value, "unix microseconds"),
        19 => unix(value / 1e3, "unix nanoseconds"),
        _ => Err(NoTime::Unreadable),
    }
}

fn unix(micros: f64, style: &'static str) -> Result<Moment, NoTime> {
    let time = DateTime::from_timestamp_micros(micros.round() as i64).ok_or(NoTime::Impossible)?;
    in_shanghai(time.naive_utc(), style)
}

/// A time in UTC as Shanghai's clocks showed it; the last hours that can be counted have none.
fn in_shanghai(utc: NaiveDateTime, style: &'static str) -> Result<Moment, NoTime> {
    let time = utc.checked_add_signed(Duration::seconds(SHANGHAI)).ok_or(NoTime::Impossible)?;
    Ok(Moment::new(time, style))
}

fn excel(days: f64) -> Result<Moment, NoTime> {
    if !(1.0..200_000.0).contains(&days) {
        return Err(NoTime::Impossible);
    }
    // Day 60 is Excel's 29 February 1900, which never was; counting from 30 December 1899 is right from day 61 on.
    let origin = NaiveDate::from_ymd_opt(1899, 12, 30).ok_or(NoTime::Impossible)?;
    let date = origin + Duration::days(days.trunc() as i64);
    if days.fract() == 0.0 {
        return Ok(Moment::new(date.and_time(DAY_END), "excel date"));
    }
    let seconds = (days.fract() * 86_400.0).round() as i64;
    Ok(Moment::new(date.and_time(NaiveTime::MIN) + Duration::seconds(seconds), "excel time"))
}

fn rfc2822(text: &str) -> Option<Moment> {
    let time = DateTime::parse_from_rfc2822(text).ok()?;
    in_shanghai(time.naive_utc(), "RFC 2822").ok().filter(|moment| (1900..=2100).contains(&moment.time.year()))
}

/// Full-width digits, letters, colons and spaces made narrow.
fn narrow(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    text.chars()
        .map(|c| match c {
            '\u{3000}' | '\u{a0}' => ' ',
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
            c => c,
        })
        .collect::<String>()
        .into()
}

/// The part of a text that is not read yet.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    /// A number of `min` to `max` digits.
    fn digits(&mut self, min: usize, max: usize) -> Result<u32, NoTime> {
        let count = self.0.bytes().take(max).take_while(u8::is_ascii_digit).count();
        if count < min {
            return Err(NoTime::Unreadable);
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        digits.parse().map_err(|_| NoTime::Unreadable)
    }

    fn eat(&mut self, choices: &[&'static str]) -> Option<&'static str> {
        let found = choices.iter().find(|c| self.0.starts_with(**c))?;
        self.0 = &self.0[found.len()..];
        Some(found)
    }

    fn skip(&mut self, chars: &[char]) {
        self.0 = self.0.trim_start_matches(chars);
    }

    /// `(星期五)` and its like.
    fn skip_weekday(&mut self) {
        let rest = self.0.trim_start().trim_start_matches('(');
        for mark in ["星期", "周"] {
            if let Some(day) = rest.strip_prefix(mark) {
                self.0 =
                    day.trim_start_matches(['一', '二', '三', '四', '五', '六', '日', '天']).trim_start_matches(')');
            }
        }
    }

    fn date(&mut self) -> Result<(NaiveDate, &'static str), NoTime> {
        let year = self.digits(4, 4)?;
        let separators = ["-", "/", ".", "年"];
        let (month, day, style) = match self.eat(&separators) {
            None => (self.digits(2, 2)?, self.digits(2, 2)?, "YYYYMMDD"),
            Some("年") => {
                self.skip(&[' ']);
                let month = self.digits(1, 2)?;
                self.eat(&["月"]).ok_or(NoTime::Unreadable)?;
                self.skip(&[' ']);
                let day = self.digits(1, 2)?;
                self.eat(&["日", "号"]).ok_or(NoTime::Unreadable)?;
                (month, day, "YYYY年M月D日")
            }
            Some(separator) => {
                let month = self.digits(1, 2)?;
                self.eat(&[separator]).ok_or(NoTime::Unreadable)?;
                let style = match separator {
                    "-" => "YYYY-MM-DD",
                    "/" => "YYYY/MM/DD",
                    _ => "YYYY.MM.DD",
                };
                (month, self.digits(1, 2)?, style)
            }
        };
        if !style.contains('年') && self.0.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(NoTime::Unreadable);
        }
        let date = NaiveDate::from_ymd_opt(year as i32, month, day).filter(|_| (1900..=2100).contains(&year));
        Ok((date.ok_or(NoTime::Impossible)?, style))
    }

    /// Seconds since midnight, microseconds, and the form.
    fn clock(&mut self) -> Result<(i64, i64, &'static str), NoTime> {
        let mut half = self.half_of_day();
        let compact = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (hour, minute, second, mut shape);
        if compact == 6 || compact == 4 {
            (hour, minute) = (self.digits(2, 2)?, self.digits(2, 2)?);
            second = if compact == 6 { self.digits(2, 2)? } else { 0 };
            shape = if compact == 6 { " hhmmss" } else { " hhmm" };
        } else {
            hour = self.digits(1, 2)?;
            let separator = self.eat(&[":", "时", "点"]).ok_or(NoTime::Unreadable)?;
            self.skip(&[' ']);
            let chinese = separator != ":";
            shape = if chinese { " h时m分" } else { " hh:mm" };
            minute = if chinese && !self.0.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { self.digits(1, 2)? };
            let more = self.eat(&[":", "分"]).is_some();
            self.skip(&[' ']);
            if more && self.0.starts_with(|c: char| c.is_ascii_digit()) {
                second = self.digits(1, 2)?;
                self.eat(&["秒"]);
                shape = if chinese { " h时m分s秒" } else { " hh:mm:ss" };
            } else {
                second = 0;
            }
        }
        let mut micros = 0;
        if self.eat(&[".", ","]).is_some() {
            let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
            let digits = &self.0[..count.min(6)];
            micros = digits.parse::<i64>().map_err(|_| NoTime::Unreadable)? * 10i64.pow(6 - digits.len() as u32);
            self.0 = &self.0[count..];
            shape = " hh:mm:ss.f";
        }
        self.skip(&[' ']);
        half = half.or_else(|| self.half_of_day());
        let hour = match half {
            Some(_) if hour > 23 => return Err(NoTime::Impossible),
            Some(Half::Morning) if hour == 12 => 0,
            Some(Half::Afternoon) if hour < 12 => hour + 12,
            _ => hour,
        };
        // 24:00 is the end of the day, which the day after calls 00:00.
        if hour > 24 || minute > 59 || second > 59 || (hour == 24 && (minute, second) != (0, 0)) {
            return Err(NoTime::Impossible);
        }
        Ok(((hour * 3600 + minute * 60 + second).into(), micros, shape))
    }

    fn half_of_day(&mut self) -> Option<Half> {
        let morning = ["上午", "早上", "凌晨", "AM", "am"];
        let afternoon = ["下午", "晚上", "晚间", "PM", "pm"];
        let half = if self.eat(&morning).is_some() {
            Some(Half::Morning)
        } else if self.eat(&afternoon).is_some() {
            Some(Half::Afternoon)
        } else {
            self.eat(&["中午"]).map(|_| Half::Noon)
        };
        self.skip(&[' ']);
        half
    }

    /// The offset from UTC in seconds, if one is written.
    fn zone(&mut self) -> Result<Option<i64>, NoTime> {
        self.skip(&[' ']);
        if self.eat(&["Z", "z", "UTC", "GMT"]).is_some() && self.0.is_empty() {
            return Ok(Some(0));
        }
        let sign = match self.eat(&["+", "-"]) {
            None => return Ok(None),
            Some(sign) => {
                if sign == "-" {
                    -1
                } else {
                    1
                }
            }
        };
        let hours = i64::from(self.digits(1, 2)?);
        self.eat(&[":"]);
        let minutes = if self.0.is_empty() { 0 } else { i64::from(self.digits(2, 2)?) };
        if hours > 14 || minutes > 59 {
            return Err(NoTime::Impossible);
        }
        Ok(Some(sign * (hours * 3600 + minutes * 60)))
    }
}

#[derive(Clone, Copy)]
enum Half {
    Morning,
    Noon,
    Afternoon,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, NoTime> {
        parse(text).map(|m| m.time.format("%Y-%m-%d %H:%M:%S%.f").to_string())
    }

    #[test]
    fn every_form_in_use_is_read_as_shanghai_time() {
        for (text, time) in [
            ("2024-03-01 15:00:00", "2024-03-01 15:00:00"),
            ("2024-03-01 15:00:00.123", "2024-03-01 15:00:00.123"),
            ("2024/3/1 9:05", "2024-03-01 09:05:00"),
            ("2024.3.1 9:05", "2024-03-01 09:05:00"),
            ("20240301", "2024-03-01 23:59:59"),
            ("20240301.0", "2024-03-01 23:59:59"),
            ("20240301 150000", "2024-03-01 15:00:00"),
            ("20240301 15:00", "2024-03-01 15:00:00"),
            ("20240301150000", "2024-03-01 15:00:00"),
            ("202403011500", "2024-03-01 15:00:00"),
            ("2024年3月1日 15时00分", "2024-03-01 15:00:00"),
            ("2024年03月01日15点", "2024-03-01 15:00:00"),
            ("2024年3月1日 15时00分08秒", "2024-03-01 15:00:08"),
            ("2024年3月1日", "2024-03-01 23:59:59"),
            ("2024-03-01 星期五 15:00", "2024-03-01 15:00:00"),
            ("2024-03-01T15:00:00+08:00", "2024-03-01 15:00:00"),
            ("2024-03-01T15:00:00Z", "2024-03-01 23:00:00"),
            ("2024-03-01T20:00:00.5Z", "2024-03-02 04:00:00.500"),
            ("2024-03-01 02:00:00 -0500", "2024-03-01 15:00:00"),
            ("1709276400", "2024-03-01 15:00:00"),
            ("1709276400000", "2024-03-01 15:00:00"),
            ("1.7092764e9", "2024-03-01 15:00:00"),
            ("45352", "2024-03-01 23:59:59"),
            ("45352.625", "2024-03-01 15:00:00"),
            ("2024-03-01 下午3:05", "2024-03-01 15:05:00"),
            ("2024-03-01 上午 12:05:00", "2024-03-01 00:05:00"),
            ("2024-03-01 03:05 PM", "2024-03-01 15:05:00"),
            ("2024-03-01 中午12:10", "2024-03-01 12:10:00"),
            ("２０２４－０３－０１　１５：００", "2024-03-01 15:00:00"),
            ("2024-03-01 24:00:00", "2024-03-02 00:00:00"),
            ("Fri, 01 Mar 2024 15:00:00 +0800", "2024-03-01 15:00:00"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(time), "{text}");
        }
    }

    #[test]
    fn impossible_and_unreadable_times_are_told_apart() {
        for text in [
            "2024-02-30",
            "20240230",
            "2023-02-29 10:00",
            "2024-13-01",
            "2024-03-01 25:00:00",
            "2024-03-01 12:60",
            "0024-03-01",
        ] {
            assert_eq!(read(text), Err(NoTime::Impossible), "{text}");
        }
        for text in ["", "昨天", "2024", "2024-03", "2024-03-01 abc", "24-03-01", "2024-03-011", "3.14", "123456"] {
            assert_eq!(read(text), Err(NoTime::Unreadable), "{text}");
        }
    }

    #[test]
    fn a_declared_format_wins_over_the_looks() {
        let read = |format: &str, text: &str| TimeFormat::from_setting(Some(format)).unwrap().parse(text).unwrap().time;
        let three = NaiveDate::from_ymd_opt(2024, 3, 1).unwrap().and_hms_opt(15, 0, 0).unwrap();
        assert_eq!(read("%d/%m/%Y %H:%M", "01/03/2024 15:00"), three);
        assert_eq!(read("%d/%m/%Y", "01/03/2024"), three.date().and_time(DAY_END));
        assert_eq!(read("unix", "1709276400"), three);
        assert_eq!(read("%Y-%m-%d 00:00:00", "2024-03-01 00:00:00"), three.date().and_time(DAY_END));
        assert!(TimeFormat::from_setting(Some("rfc")).is_err());
    }

    #[test]
    fn a_date_and_a_clock_in_two_columns_make_one_time() {
        let read = |date: &str, clock: &str| parse_two(date, clock).unwrap().time.to_string();
        assert_eq!(read("20240301", "93000"), "2024-03-01 09:30:00");
        assert_eq!(read("2024-03-01 00:00:00", "15:00"), "2024-03-01 15:00:00");
        assert_eq!(read("2024-03-01", ""), "2024-03-01 23:59:59");
    }
}
