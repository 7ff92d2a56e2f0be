//! Security codes. The canonical form is Wind's and Tushare's: `600000.SH`, `000001.SZ`, `430047.BJ`.
//!
//! [`Code::parse`] reads every style in use as a *security*: index codes clash with stock codes (`000300`), so the table that a
//! code came from says what it is, never its digits.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A security code in canonical form; a ticker of another market (`AAPL`) stays as it is. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(Arc<str>);

impl Code {
    /// A code that is already in canonical form.
    pub fn canonical(text: &str) -> Code {
        Code(text.into())
    }

    /// Reads a code as a source wrote it; `None` for a text that is no code, or whose exchange is ambiguous.
    ///
    /// Read are `600000.SH`, `SH600000`, `sh.600000`, `600000.XSHG`, `600000.SS`, bare digits (lost leading zeros given back,
    /// `609` and `609.0` are `000609.SZ`), `$浦发银行(SH600000)$`, `浦发银行(600000)`, `600000.SH|浦发`, Hong Kong's `00700.HK`
    /// (as `0700.HK`), and tickers in capitals. Short digits that begin with a zero (`00700`) are no code: they may be
    /// a Hong Kong stock, and a code that lost its zeros has none in front.
    pub fn parse(text: &str) -> Option<Code> {
        let text = narrow(text);
        let text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '$' | '#' | '"' | '\'' | '[' | ']'));
        if let Some(code) = parse_plain(text) {
            return Some(code);
        }
        let inner = text.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(inner, _)| inner);
        inner.and_then(parse_plain).or_else(|| text.split('|').find_map(|piece| parse_plain(piece.trim())))
    }

    /// Reads several codes from one field (`600000;000001`, JSON-like lists too), in their order and without repeats;
    /// also gives the pieces that are no codes.
    pub fn parse_list(text: &str) -> (Vec<Code>, Vec<String>) {
        let (mut codes, mut unread) = (Vec::new(), Vec::new());
        let separators = |c: char| c.is_whitespace() || matches!(c, ',' | '，' | ';' | '；' | '、');
        for piece in text.split(separators) {
            if is_absent(piece) {
                continue;
            }
            match Code::parse(piece) {
                Some(code) if codes.contains(&code) => {}
                Some(code) => codes.push(code),
                None => unread.push(piece.to_owned()),
            }
        }
        (codes, unread)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for Code {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Nothing, or one of the words by which tables say so.
fn is_absent(piece: &str) -> bool {
    let bare = piece.trim_matches(|c: char| matches!(c, '"' | '\'' | '[' | ']' | '$'));
    bare.is_empty() || ["nan", "null", "none", "na", "n/a", "-", "--"].iter().any(|a| bare.eq_ignore_ascii_case(a))
}

fn parse_plain(text: &str) -> Option<Code> {
    if !text.is_ascii() || is_absent(text) {
        return None;
    }
    let digits =
        |s: &str| (!s.is_empty() && s.len() <= 6 && s.bytes().all(|b| b.is_ascii_digit())).then(|| s.to_owned());
    // A number that a spreadsheet or a data frame made floating.
    let unfloated = text.split_once('.').filter(|(_, f)| !f.is_empty() && f.bytes().all(|b| b == b'0'));
    if let Some(bare) = digits(unfloated.map_or(text, |(whole, _)| whole)) {
        let padded = pad(&bare)?;
        let exchange = exchange_of(&padded)?;
        return Some(Code(format!("{padded}.{exchange}").into()));
    }
    let Some(split) = text.find(|c: char| c.is_ascii_digit()) else { return ticker(text) };
    let upper = text.to_ascii_uppercase();
    let (front, rest) = upper.split_at(split);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, back) = rest.split_at(end);
    let mark = |s: &str| exchange_named(s.trim_matches(['.', '-', '_', ':']));
    let exchange = match (front.is_empty(), back.is_empty()) {
        (true, false) => mark(back),
        (false, true) => mark(front),
        _ => None,
    };
    match exchange {
        Some("HK") if number.len() <= 5 => {
            let number = number.trim_start_matches('0');
            (!number.is_empty()).then(|| Code(format!("{number:0>4}.HK").into()))
        }
        Some("HK") => None,
        Some(exchange) => {
            let number = if number.len() < 6 { pad(number)? } else { digits(number)? };
            Some(Code(format!("{number}.{exchange}").into()))
        }
        None => None,
    }
    .or_else(|| ticker(text))
}

/// A ticker of another market: capitals, digits, dots and hyphens, beginning with a capital.
fn ticker(text: &str) -> Option<Code> {
    let fits = text.len() <= 12
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'));
    fits.then(|| Code::canonical(text))
}

/// Gives lost leading zeros back.
fn pad(digits: &str) -> Option<String> {
    let lost_none = digits.len() == 6;
    (lost_none || !digits.starts_with('0')).then(|| format!("{digits:0>6}")).filter(|code| code != "000000")
}

/// The exchange of six digits, read as a security: shares, funds and convertible bonds.
fn exchange_of(digits: &str) -> Option<&'static str> {
    match digits.as_bytes() {
        [b'9', b'2', ..] | [b'4' | b'8', ..] => Some("BJ"),
        [b'6' | b'9' | b'5', ..] | [b'1', b'1', ..] => Some("SH"),
        [b'0' | b'2' | b'3', ..] | [b'1', b'2' | b'5' | b'6' | b'8', ..] => Some("SZ"),
        _ => None,
    }
}

fn exchange_named(mark: &str) -> Option<&'static str> {
    match mark {
        "SH" | "SS" | "XSHG" | "SSE" | "SHSE" => Some("SH"),
        "SZ" | "XSHE" | "SZSE" => Some("SZ"),
        "BJ" | "XBSE" | "XBEI" | "BSE" | "BJSE" => Some("BJ"),
        "HK" | "XHKG" => Some("HK"),
        _ => None,
    }
}

/// Full-width letters, digits, brackets and bars made narrow.
fn narrow(text: &str) -> String {
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        c => c,
    };
    text.chars().map(narrow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_gives_the_canonical_form() {
        for (text, code) in [
            ("600000.SH", "600000.SH"),
            ("600000", "600000.SH"),
            ("688981", "688981.SH"),
            ("900901", "900901.SH"),
            ("609", "000609.SZ"),
            ("609.0", "000609.SZ"),
            ("600000.0", "600000.SH"),
            ("1", "000001.SZ"),
            ("2594", "002594.SZ"),
            ("200011", "200011.SZ"),
            ("300750", "300750.SZ"),
            ("430047", "430047.BJ"),
            ("830799", "830799.BJ"),
            ("920002", "920002.BJ"),
            ("sh600000", "600000.SH"),
            ("SH600000", "600000.SH"),
            ("sh.600000", "600000.SH"),
            ("sz.000001", "000001.SZ"),
            ("600000.XSHG", "600000.SH"),
            ("000001.XSHE", "000001.SZ"),
            ("600000.SS", "600000.SH"),
            ("000300.SH", "000300.SH"),
            ("000001.sz", "000001.SZ"),
            ("609.SZ", "000609.SZ"),
            ("0700.HK", "0700.HK"),
            ("00700.HK", "0700.HK"),
            ("HK00700", "0700.HK"),
            ("$浦发银行(SH600000)$", "600000.SH"),
            ("浦发银行（600000）", "600000.SH"),
            ("600000.SH|浦发", "600000.SH"),
            ("'600000'", "600000.SH"),
            ("６０００００．ＳＨ", "600000.SH"),
            ("510300", "510300.SH"),
            ("159915", "159915.SZ"),
            ("BRK.B", "BRK.B"),
            ("AAPL", "AAPL"),
        ] {
            assert_eq!(Code::parse(text).as_ref().map(Code::as_str), Some(code), "{text}");
        }
    }

    #[test]
    fn what_is_no_code_is_not_guessed() {
        for text in [
            "",
            "nan",
            "None",
            "浦发银行",
            "00700",
            "0000000",
            "000000",
            "6000000",
            "aapl",
            "600000.XX1",
            "-",
            "700001",
            "6e5",
        ] {
            assert_eq!(Code::parse(text), None, "{text}");
        }
    }

    #[test]
    fn lists_keep_their_order_and_tell_what_they_left_out() {
        let list = |text: &str| {
            let (codes, unread) = Code::parse_list(text);
            (codes.iter().map(|c| c.as_str().to_owned()).collect::<Vec<_>>().join(","), unread.join(","))
        };
        assert_eq!(list("600000;000001"), ("600000.SH,000001.SZ".into(), String::new()));
        assert_eq!(list("['600000', '609']"), ("600000.SH,000609.SZ".into(), String::new()));
        assert_eq!(list("600000、某公司，000001 600000"), ("600000.SH,000001.SZ".into(), "某公司".into()));
        assert_eq!(list("nan"), (String::new(), String::new()));
    }
}
