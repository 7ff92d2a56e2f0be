//! Numbers in texts: the one of an answer (`12.5亿元`, `下降35%`, `-3,200万`), and those of a written text that stand in its source.

use std::ops::Range;

/// Units behind a number, longer ones first.
const UNITS: [(&str, f64); 14] = [
    ("万亿", 1e12),
    ("千亿", 1e11),
    ("百亿", 1e10),
    ("十亿", 1e9),
    ("亿", 1e8),
    ("千万", 1e7),
    ("百万", 1e6),
    ("十万", 1e5),
    ("万", 1e4),
    ("千", 1e3),
    ("个百分点", 0.01),
    ("百分点", 0.01),
    ("%", 0.01),
    ("‰", 0.001),
];

/// Words before a number that turn its sign.
const FALLS: [&str; 10] = ["下降", "下滑", "减少", "降低", "回落", "下跌", "亏损", "缩减", "跌", "降"];

/// The first number of a text with its sign and unit: 万, 亿 and their likes are multiplied out, 35% and 35个百分点 are 0.35, and a number
/// behind a word as 下降 is negative. Numbers are written in digits, whole or half width; none where there is none.
pub(crate) fn amount(text: &str) -> Option<f64> {
    let plain: String = text.chars().map(half_width).collect();
    let (place, value) = next_number(&plain, 0)?;
    let before = plain[..place.start].trim_end();
    let negative = before.ends_with(['-', '−', '负']) || FALLS.iter().any(|word| before.contains(word));
    value.map(|value| if negative { -value } else { value })
}

/// The share of the numbers of a written text that stand in its source, by value and without their sign: `3.2亿` stands where `320,000,000`
/// does. None where it has no number.
pub fn numbers_kept(source: &str, written: &str) -> Option<f64> {
    let (known, written) = (numbers(source), numbers(written));
    let stands = |value: &&f64| known.iter().any(|other| (other - **value).abs() <= 1e-9 * value.abs());
    let count = written.iter().filter(stands).count();
    (!written.is_empty()).then(|| count as f64 / written.len() as f64)
}

/// All numbers of a text, units multiplied out.
fn numbers(text: &str) -> Vec<f64> {
    let plain: String = text.chars().map(half_width).collect();
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some((place, value)) = next_number(&plain, from) {
        found.extend(value);
        from = place.end;
    }
    found
}

/// The place of the next digits, and their value with the unit behind them; none for such as `1.2.3`.
fn next_number(plain: &str, from: usize) -> Option<(Range<usize>, Option<f64>)> {
    let begin = from + plain[from..].find(|c: char| c.is_ascii_digit())?;
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let end = plain[begin..].find(|c| !is_part(c)).map_or(plain.len(), |len| begin + len);
    let digits: String = plain[begin..end].chars().filter(|c| *c != ',').collect();
    let unit = plain[end..].trim_start();
    let factor = UNITS.iter().find(|(name, _)| unit.starts_with(name)).map_or(1.0, |(_, factor)| *factor);
    let value = digits.trim_end_matches('.').parse().ok();
    let value = value.map(|value: f64| if factor < 1.0 { value / (1.0 / factor).round() } else { value * factor });
    Some((begin..end, value))
}

fn half_width(c: char) -> char {
    match c {
        '！'..='～' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_sign_and_unit() {
        for (text, value) in [
            ("12.5亿元", Some(1.25e9)),
            ("3,200万", Some(3.2e7)),
            ("同比增长35%", Some(0.35)),
            ("下降１２．５％", Some(-0.125)),
            ("-0.3元", Some(-0.3)),
            ("亏损2.1 亿元", Some(-2.1e8)),
            ("1.2万亿", Some(1.2e12)),
            ("提高3个百分点", Some(0.03)),
            ("5千万美元", Some(5e7)),
            ("2024.", Some(2024.0)),
            ("1.2.3", None),
            ("没有", None),
            ("", None),
        ] {
            assert_eq!(amount(text), value, "{text}");
        }
    }

    #[test]
    fn numbers_that_are_kept_are_found_by_their_value() {
        let source = "2024年3月5日，公司净利润3.2亿元，同比下降12.5%，拟每10股派1,500万元。";
        for (written, share) in [
            ("净利润320,000,000元，降幅１２.５％。", Some(1.0)),
            ("净利润3.2亿元，派息1500万元，增长15%。", Some(2.0 / 3.0)),
            ("净利润3.2万元。", Some(0.0)),
            ("日期为2024年3月6日。", Some(2.0 / 3.0)),
            ("{\"profit\": 320000000, \"day\": 5}", Some(1.0)),
            ("净利润下降。", None),
        ] {
            assert_eq!(numbers_kept(source, written), share, "{written}");
        }
        assert_eq!(numbers_kept("", "3"), Some(0.0));
    }
}
