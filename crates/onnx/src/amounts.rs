//! Numbers in texts: the one of an answer (`12.5亿元`, `下降35%`, `-3,200万`), and those of a written text that stand in its source.

use inkstone_text::{half_width, numbers};

/// Words before a number that turn its sign.
const FALLS: [&str; 10] = ["下降", "下滑", "减少", "降低", "回落", "下跌", "亏损", "缩减", "跌", "降"];

/// The first number of a text with its sign and unit: 万, 亿 and their likes are multiplied out, 35% and 35个百分点 are 0.35, and a number
/// behind a word as 下降 is negative. Numbers are written in digits, whole or half width; none where there is none.
pub(crate) fn amount(text: &str) -> Option<f64> {
    let number = numbers(text).into_iter().next()?;
    let before: String = text[..number.range.start].trim_end().chars().map(half_width).collect();
    let negative = before.ends_with(['-', '−', '负']) || FALLS.iter().any(|word| before.contains(word));
    number.value.map(|value| if negative { -value } else { value })
}

/// The share of the numbers of a written text that stand in its source, by value and without their sign: `3.2亿` stands where `320,000,000`
/// does. None where it has no number.
pub fn numbers_kept(source: &str, written: &str) -> Option<f64> {
    let values = |text: &str| numbers(text).into_iter().filter_map(|number| number.value).collect::<Vec<f64>>();
    let (known, written) = (values(source), values(written));
    let stands = |value: &&f64| known.iter().any(|other| (other - **value).abs() <= 1e-9 * value.abs());
    let count = written.iter().filter(stands).count();
    (!written.is_empty()).then(|| count as f64 / written.len() as f64)
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
