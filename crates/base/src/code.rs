//! Security codes. The canonical form is Wind's and Tushare's: `600000.SH`, `000001.SZ`, `430047.BJ`.
//!
//! [`Code::parse`] reads every style in use as a *security*: index codes clash with stock codes (`000300`), so the table that a
//! code came from says what it is, never its digits.

use std::borrow::{Borrow, Cow};
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
    /// `609` and `609.0` are `000609.SZ`), `$浦发银行(SH600000)$`, `浦发银行(600000)`, `600000.SH|浦发`, `600000 CH Equity` (Bloomberg),
    /// `SSE:600000` (TradingView), `SHA:600000` (Google), `1.600000` and `0.000001` (Eastmoney's numbers of exchanges), Hong Kong's
    /// `00700.HK` (as `0700.HK`), and tickers in capitals. Short digits that begin with a zero (`00700`) are no code: they may be
    /// a Hong Kong stock, and a code that lost its zeros has none in front.
    pub fn parse(text: &str) -> Option<Code> {
        if is_canonical(text) {
            return Some(Code::canonical(text));
        }
        let text = narrow(text);
        let text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '$' | '#' | '"' | '\'' | '[' | ']'));
        if let Some(code) = parse_plain(text) {
            return Some(code);
        }
        let inner = text.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(inner, _)| inner.trim());
        let bracketed = inner.and_then(|inner| parse_plain(inner).or_else(|| parse_bloomberg(inner)));
        let or_bloomberg = bracketed.or_else(|| parse_bloomberg(text));
        or_bloomberg.or_else(|| text.split('|').find_map(|piece| parse_plain(piece.trim())))
    }

    /// Reads several codes from one field (`600000;000001`, `600000.SH|000001.SZ`, `600000 CH, 000001 CH`, JSON-like lists too), in their
    /// order and without repeats; also gives the pieces that are no codes.
    pub fn parse_list(text: &str) -> (Vec<Code>, Vec<String>) {
        let (mut codes, mut unread): (Vec<Code>, Vec<String>) = (Vec::new(), Vec::new());
        let mut add = |code: Code| {
            if !codes.contains(&code) {
                codes.push(code);
            }
        };
        for field in text.split([',', '，', ';', '；', '、', '\n', '\r', '\t']) {
            if let Some(code) = parse_bloomberg(&narrow(field)) {
                add(code);
                continue;
            }
            for piece in field.split(char::is_whitespace).filter(|piece| !is_absent(piece)) {
                // Behind a bar or a slash stands another code, or the name of the one before.
                let among: Vec<Code> = piece.split(['|', '｜', '/']).filter_map(Code::parse).collect();
                if among.is_empty() {
                    unread.push(piece.to_owned());
                }
                among.into_iter().for_each(&mut add);
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
    // Eastmoney numbers its markets: 1 is Shanghai, 0 is Shenzhen and Beijing.
    if let Some(number) = text.strip_prefix("1.").and_then(|rest| digits(rest).filter(|d| d.len() == 6)) {
        return Some(Code(format!("{number}.SH").into()));
    }
    if let Some(number) = text.strip_prefix("0.").and_then(|rest| digits(rest).filter(|d| d.len() == 6)) {
        let exchange = exchange_of(&number).filter(|exchange| *exchange == "BJ").unwrap_or("SZ");
        return Some(Code(format!("{number}.{exchange}").into()));
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

/// True for six digits and the exchange of the mainland behind a dot.
fn is_canonical(text: &str) -> bool {
    let Some((digits, exchange)) = text.as_bytes().split_at_checked(6) else { return false };
    digits.iter().all(u8::is_ascii_digit) && [b".SH", b".SZ", b".BJ"].iter().any(|known| exchange == *known)
}

/// A code as Bloomberg writes it: `600000 CH Equity`, `600000 C1`, `700 HK`.
fn parse_bloomberg(text: &str) -> Option<Code> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '[' | ']'));
    let mut words = text.split_ascii_whitespace();
    let (number, market, class) = (words.next()?, words.next()?.to_ascii_uppercase(), words.next());
    let is_share = class.is_none_or(|class| class.eq_ignore_ascii_case("equity")) && words.next().is_none();
    if !is_share || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match market.as_str() {
        "CH" if number.len() == 6 => parse_plain(number),
        "C1" | "CG" if number.len() == 6 => parse_plain(&format!("{number}.SH")),
        "C2" | "CS" if number.len() == 6 => parse_plain(&format!("{number}.SZ")),
        "HK" => parse_plain(&format!("{number}.HK")),
        _ => None,
    }
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

/// The exchange that a mark before or behind the digits names (`SH`, `XSHG`, `SSE`, ...), in capitals: `SH`, `SZ`, `BJ` or `HK`.
pub fn exchange_named(mark: &str) -> Option<&'static str> {
    match mark {
        "SH" | "SS" | "XSHG" | "SSE" | "SHSE" | "SHA" | "SHG" => Some("SH"),
        "SZ" | "XSHE" | "SZSE" | "SHE" => Some("SZ"),
        "BJ" | "XBSE" | "XBEI" | "BSE" | "BJSE" => Some("BJ"),
        "HK" | "XHKG" => Some("HK"),
        _ => None,
    }
}

/// Full-width letters, digits, brackets and bars made narrow.
fn narrow(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        c => c,
    };
    text.chars().map(narrow).collect::<String>().into()
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
            ("600519.sh", "600519.SH"),
            ("SHSE.600519", "600519.SH"),
            ("SZSE.000001", "000001.SZ"),
            ("600519.SSE", "600519.SH"),
            ("000001.SZSE", "000001.SZ"),
            ("SSE:600519", "600519.SH"),
            ("SHA:600519", "600519.SH"),
            ("SHE:000001", "000001.SZ"),
            ("XSHG:600519", "600519.SH"),
            ("600519.SHG", "600519.SH"),
            ("BJ430047", "430047.BJ"),
            ("bj.920002", "920002.BJ"),
            ("600519_SH", "600519.SH"),
            ("1.600519", "600519.SH"),
            ("1.000300", "000300.SH"),
            ("0.000001", "000001.SZ"),
            ("0.920002", "920002.BJ"),
            ("600519 CH Equity", "600519.SH"),
            ("000001 CH", "000001.SZ"),
            ("600519 C1 Equity", "600519.SH"),
            ("700 HK Equity", "0700.HK"),
            ("（600519.SH）", "600519.SH"),
            ("(SH:600519)", "600519.SH"),
            ("贵州茅台（ 600519.SH ）", "600519.SH"),
            ("$贵州茅台(SH600519)$", "600519.SH"),
            ("（６００５１９）", "600519.SH"),
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
            "1.5",
            "0.00001",
            "1A0519",
            "600519 US Equity",
            "600519 CH Corp",
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
        // No code of a list is lost, whatever parts them, and a name beside its code is no fault.
        assert_eq!(list("600519.SH|000858.SZ"), ("600519.SH,000858.SZ".into(), String::new()));
        assert_eq!(list("SH600519/SZ000858/0.920002"), ("600519.SH,000858.SZ,920002.BJ".into(), String::new()));
        assert_eq!(list("600000.SH|浦发;某公司|甲"), ("600000.SH".into(), "某公司|甲".into()));
        assert_eq!(list("600519 CH Equity, 700 HK"), ("600519.SH,0700.HK".into(), String::new()));
    }
}
