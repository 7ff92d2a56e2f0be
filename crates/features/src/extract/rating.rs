//! Ratings of brokers as numbers: 2 buy, 1 add, 0 hold, -1 reduce, -2 sell.
//!
//! Brokers use different words; each word has its rank on the scale of five that most Chinese brokers print. A rating that is a number
//! stays as it is. Unknown words give no value.

const SCALE: [(f64, &[&str]); 5] = [
    (2.0, &["强烈推荐", "强烈买入", "强推", "买入", "strong buy", "buy"]),
    (
        1.0,
        &[
            "增持",
            "推荐",
            "谨慎推荐",
            "审慎推荐",
            "谨慎增持",
            "审慎增持",
            "优于大市",
            "跑赢行业",
            "跑赢大市",
            "outperform",
            "overweight",
            "accumulate",
            "add",
        ],
    ),
    (0.0, &["中性", "持有", "观望", "同步大市", "hold", "neutral", "equal-weight", "market perform", "in-line"]),
    (-1.0, &["减持", "谨慎减持", "弱于大市", "跑输行业", "跑输大市", "回避", "reduce", "underperform", "underweight"]),
    (-2.0, &["卖出", "强烈卖出", "sell", "strong sell"]),
];

/// The number of a rating; NaN of words that are not known. Marks and brackets at its ends, and what stands in brackets behind it
/// (维持, 首次), are left out.
pub(crate) fn number(rating: &str) -> f64 {
    let quotes = |c: char| c.is_whitespace() || "“”\"'「」《》".contains(c);
    let bare = rating.trim_matches(quotes);
    let bare = bare.split(['(', '（', '-', '—', '/']).next().filter(|s| !s.is_empty()).unwrap_or(bare);
    let bare = bare.trim_matches(quotes).trim_end_matches("评级").trim_matches(quotes).to_lowercase();
    if let Ok(number) = rating.trim().parse::<f64>() {
        return if number.is_finite() { number } else { f64::NAN };
    }
    let full = rating.trim().to_lowercase();
    SCALE
        .iter()
        .find(|(_, words)| words.iter().any(|word| *word == bare || *word == full))
        .map_or(f64::NAN, |(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_of_different_houses_have_one_scale() {
        let ratings = [
            "买入",
            "“买入”评级",
            "增持（维持）",
            "Hold",
            "跑输行业",
            " 卖出 ",
            "strong sell",
            "equal-weight",
            "-1",
            "4",
        ];
        assert_eq!(ratings.map(number), [2.0, 2.0, 1.0, 0.0, -1.0, -2.0, -2.0, 0.0, -1.0, 4.0]);
        assert!(["", "未评级", "nan", "inf"].map(number).iter().all(|n| n.is_nan()));
    }
}
