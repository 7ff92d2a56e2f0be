//! Numbers as the screen writes them. A value that does not exist is a dash.

use std::time::Duration;

/// A count with thousands separated: `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with that many decimals.
pub fn number(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "–".to_owned() }
}

/// A number with its sign, also when positive.
pub fn signed(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:+.decimals$}") } else { "–".to_owned() }
}

/// A share as a percentage: 0.0412 is `4.1 %`.
pub fn percent(value: f64) -> String {
    if value.is_finite() { format!("{:.1} %", 100.0 * value) } else { "–".to_owned() }
}

/// A mean RankIC, on every screen and page.
pub fn rank_ic(mean: f64) -> String {
    signed(mean, 4)
}

/// An ICIR, a t or a Sharpe ratio, on every screen and page.
pub fn ratio(value: f64) -> String {
    number(value, 2)
}

/// A p, a q or a deflated Sharpe ratio, on every screen and page; below a thousandth it only says so.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { number(p, 3) }
}

/// Units per second: `8.2k/s`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if !r.is_finite() || r <= 0.0 => "–".to_owned(),
        r if r >= 1e6 => format!("{:.1}M/s", r / 1e6),
        r if r >= 1e3 => format!("{:.1}k/s", r / 1e3),
        r => format!("{r:.0}/s"),
    }
}

/// A time span: `0.4s`, `12.0s`, `3m05s`, `2h07m`.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1}s", time.as_secs_f64()),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_the_tables_expect_them() {
        assert_eq!([count(7), count(999), count(1000), count(1234567)], ["7", "999", "1,000", "1,234,567"]);
        assert_eq!([percent(-0.0731), percent(f64::NAN)], ["-7.3 %", "–"]);
        assert_eq!([number(1.606, 2), signed(0.05, 2)], ["1.61", "+0.05"]);
        assert_eq!([rate(8234.0), rate(0.0), rate(12.0)], ["8.2k/s", "–", "12/s"]);
        let spans = [420, 12_000, 185_000, 7_620_000].map(|ms| span(Duration::from_millis(ms)));
        assert_eq!(spans, ["0.4s", "12.0s", "3m05s", "2h07m"]);
    }
}
