//! The number in a short text, as an answer: `12.5亿元`, `下降35%`, `-3,200万`.

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
    let begin = plain.find(|c: char| c.is_ascii_digit())?;
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let end = plain[begin..].find(|c| !is_part(c)).map_or(plain.len(), |len| begin + len);
    let digits: String = plain[begin..end].chars().filter(|c| *c != ',').collect();
    let value: f64 = digits.trim_end_matches('.').parse().ok()?;
    let before = plain[..begin].trim_end();
    let negative = before.ends_with(['-', '−', '负']) || FALLS.iter().any(|word| before.contains(word));
    let unit = plain[end..].trim_start();
    let factor = UNITS.iter().find(|(name, _)| unit.starts_with(name)).map_or(1.0, |(_, factor)| *factor);
    let value = if factor < 1.0 { value / (1.0 / factor).round() } else { value * factor };
    Some(if negative { -value } else { value })
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
}
