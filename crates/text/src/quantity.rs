//! Numbers in Chinese text: those of digits with the unit behind them, quantities that have a kind (money, price, share of a whole, number of
//! shares), and dates.
//!
//! Digits may be whole or half width, with commas between thousands, and stand before 万, 亿 and their likes, which are multiplied out;
//! 1亿2000万 is one number. Numerals (三亿, 两千五百万) are read where 万, 亿 or 百分之 stands with them.
//!
//! Useful for: arguments of events, numbers of answers. Not for: tables, whose units stand in their heads.

use std::ops::Range;

use chrono::{Datelike, NaiveDate};

/// Words behind a number that multiply it, longer ones first.
const MAGNITUDES: [(&str, f64); 10] = [
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
];
/// Units behind a number that divide it.
const SHARES_OF_A_WHOLE: [(&str, f64); 4] = [("个百分点", 100.0), ("百分点", 100.0), ("%", 100.0), ("‰", 1000.0)];
/// Words before a number that make it a lower or an upper bound.
const LOWER: [&str; 6] = ["不低于", "不少于", "不小于", "至少", "下限", "最低"];
const UPPER: [&str; 7] = ["不超过", "不高于", "不多于", "不超", "上限", "最高", "最多"];
/// Most characters between a lower bound and the upper bound that belongs to it.
const BETWEEN_BOUNDS: usize = 16;

/// A number in digits.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenNumber {
    /// Bytes of the digits.
    pub range: Range<usize>,
    /// The number with its unit: 3.2亿 is 320000000, 35% and 35个百分点 are 0.35; none for such as 1.2.3.
    pub value: Option<f64>,
}

/// Kinds of quantities, which their units say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuantityKind {
    /// Yuan.
    Amount,
    /// Yuan a share.
    Price,
    /// 35% is 0.35.
    Percent,
    /// Number of shares of a company.
    Shares,
}

/// A quantity, or a range of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub kind: QuantityKind,
    /// Equal to `high` unless both ends are written: 3亿元-5亿元, 不低于3亿元且不超过5亿元.
    pub low: f64,
    pub high: f64,
    /// Bytes from its first digit to the end of its unit.
    pub range: Range<usize>,
}

/// All numbers of a text that are written in digits.
pub fn numbers(text: &str) -> Vec<WrittenNumber> {
    let line = HalfWidthText::new(text);
    let (mut found, mut i) = (Vec::new(), 0);
    while i < line.len() {
        let Some((end, value)) = line.digits(i) else {
            i += 1;
            continue;
        };
        let unit = line.behind_spaces(end);
        let times = line.first_of(unit, &MAGNITUDES).map(|(_, factor)| factor);
        let over = line.first_of(unit, &SHARES_OF_A_WHOLE).map(|(_, factor)| factor);
        let value = value.map(|value| over.map_or(value * times.unwrap_or(1.0), |over| value / over));
        found.push(WrittenNumber { range: line.bytes(i..end), value });
        i = end;
    }
    found
}

/// The quantities of a sentence, in its order. Other currencies, prices of goods (元/吨) and what is paid on ten shares are none.
pub fn quantities(text: &str) -> Vec<Quantity> {
    let line = HalfWidthText::new(text);
    let mut found: Vec<(Quantity, BoundSide, Range<usize>)> = Vec::new();
    let mut i = 0;
    while i < line.len() {
        let Some((read, end)) = line.quantity_or_range(i) else {
            let digits = line.digits(i).map(|(end, _)| end);
            i = line.number(i).map(|number| number.end).or(digits).unwrap_or(i + 1);
            continue;
        };
        let bound = line.bound_before(i);
        let pair = match (found.last_mut(), bound) {
            (Some((lower, BoundSide::Lower, place)), BoundSide::Upper)
                if i - place.end <= BETWEEN_BOUNDS
                    && joined(lower.kind, read.kind).is_some()
                    && lower.high <= read.high
                    && !line.chars[place.end..i].contains(&'。') =>
            {
                Some((lower, place))
            }
            _ => None,
        };
        match pair {
            Some((lower, place)) => {
                lower.kind = joined(lower.kind, read.kind).unwrap_or(read.kind);
                (lower.high, lower.range.end) = (read.high, line.at[end]);
                *place = place.start..end;
            }
            None => {
                let range = line.bytes(i..end);
                found.push((Quantity { kind: read.kind, low: read.low, high: read.high, range }, bound, i..end));
            }
        }
        i = end;
    }
    found.into_iter().map(|(quantity, ..)| quantity).collect()
}

/// The dates of a text with their bytes: 2024年3月5日, 2024-03-05, and 3月5日 in the year in which it lies nearest to the day `near`.
pub fn dates(text: &str, near: NaiveDate) -> Vec<(Range<usize>, NaiveDate)> {
    let line = HalfWidthText::new(text);
    let (mut found, mut i) = (Vec::new(), 0);
    while i < line.len() {
        match line.date(i, near) {
            Some((date, end)) => {
                found.push((line.bytes(i..end), date));
                i = end;
            }
            None => i = line.digits(i).map_or(i + 1, |(end, _)| end),
        }
    }
    found
}

/// The kind of a range whose ends have these kinds; none if they are no range. 10元-12元/股 is a range of prices.
fn joined(first: QuantityKind, second: QuantityKind) -> Option<QuantityKind> {
    use QuantityKind::{Amount, Price};
    match (first, second) {
        (a, b) if a == b => Some(b),
        (Amount, Price) | (Price, Amount) => Some(Price),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundSide {
    Lower,
    Upper,
    Neither,
}

/// A number with the words that multiply it.
struct ScaledNumber {
    value: f64,
    /// Product of the words that multiply it; 1 if there is none.
    magnitude: f64,
    /// True if it is written in numerals.
    in_words: bool,
    end: usize,
}

struct ReadQuantity {
    kind: QuantityKind,
    low: f64,
    high: f64,
}

/// Characters of a text at half width, and where they begin in it.
struct HalfWidthText {
    chars: Vec<char>,
    /// Byte of each character, and the length of the text.
    at: Vec<usize>,
}

impl HalfWidthText {
    fn new(text: &str) -> HalfWidthText {
        let chars = text.chars().map(half_width).collect();
        HalfWidthText { chars, at: text.char_indices().map(|(at, _)| at).chain([text.len()]).collect() }
    }

    fn len(&self) -> usize {
        self.chars.len()
    }

    fn bytes(&self, chars: Range<usize>) -> Range<usize> {
        self.at[chars.start]..self.at[chars.end]
    }

    fn is(&self, i: usize, fits: impl Fn(char) -> bool) -> bool {
        self.chars.get(i).is_some_and(|c| fits(*c))
    }

    fn starts(&self, i: usize, word: &str) -> bool {
        let mut place = i;
        word.chars().all(|c| {
            place += 1;
            self.is(place - 1, |own| own == c)
        })
    }

    /// The first of these words that stands at a place: its characters and its factor.
    fn first_of(&self, i: usize, words: &[(&str, f64)]) -> Option<(usize, f64)> {
        words.iter().find(|(word, _)| self.starts(i, word)).map(|(word, factor)| (word.chars().count(), *factor))
    }

    fn behind_spaces(&self, mut i: usize) -> usize {
        while self.is(i, char::is_whitespace) {
            i += 1;
        }
        i
    }

    /// The digits at a place: their end and value, none for such as 1.2.3.
    fn digits(&self, begin: usize) -> Option<(usize, Option<f64>)> {
        let digit = |i: usize| self.is(i, |c| c.is_ascii_digit());
        if !digit(begin) {
            return None;
        }
        let mut end = begin;
        loop {
            if digit(end) || (self.is(end, |c| c == '.') && digit(end + 1)) {
                end += 1;
            } else if self.is(end, |c| c == ',') && (1..=3).all(|k| digit(end + k)) && !digit(end + 4) {
                end += 4;
            } else {
                break;
            }
        }
        let written: String = self.chars[begin..end].iter().filter(|c| **c != ',').collect();
        Some((end, written.parse().ok()))
    }

    /// The numerals at a place below 万: their end and value.
    fn numerals(&self, begin: usize) -> Option<(usize, f64)> {
        let (mut sum, mut digit, mut end) = (0.0, None, begin);
        while let Some(&c) = self.chars.get(end) {
            if let Some(value) = "零一二三四五六七八九".chars().position(|known| known == c) {
                digit = Some(value as f64);
            } else if c == '〇' {
                digit = Some(0.0);
            } else if c == '两' {
                digit = Some(2.0);
            } else if let Some(unit) =
                [('十', 10.0), ('百', 100.0), ('千', 1000.0)].iter().find(|(known, _)| *known == c)
            {
                // 十 may begin a number, 百 and 千 may not.
                if digit.is_none() && c != '十' {
                    break;
                }
                sum += digit.take().unwrap_or(1.0) * unit.1;
            } else {
                break;
            }
            end += 1;
        }
        (end > begin).then(|| (end, sum + digit.unwrap_or(0.0)))
    }

    /// The number at a place, in digits or numerals, with the words that multiply it.
    fn number(&self, begin: usize) -> Option<ScaledNumber> {
        let mut number = self.part_of_number(begin)?;
        // 1亿2000万 is one number.
        let mut last = number.magnitude;
        while last >= 1e8
            && let Some(part) = self.part_of_number(number.end)
            && (1e4..last).contains(&part.magnitude)
        {
            (number.value, number.end, last) = (number.value + part.value, part.end, part.magnitude);
        }
        Some(number)
    }

    fn part_of_number(&self, begin: usize) -> Option<ScaledNumber> {
        let (end, value, in_words) = match self.digits(begin) {
            Some((end, value)) => (end, value?, false),
            None => self.numerals(begin).map(|(end, value)| (end, value, true))?,
        };
        let unit = self.behind_spaces(end);
        let (end, magnitude) = match self.first_of(unit, &MAGNITUDES) {
            Some((length, factor)) => (unit + length, factor),
            None => (end, 1.0),
        };
        Some(ScaledNumber { value: value * magnitude, magnitude, in_words, end })
    }

    /// The quantity at a place: its kind, its value and its end.
    fn quantity(&self, begin: usize) -> Option<(QuantityKind, ScaledNumber)> {
        if self.starts(begin, "百分之") {
            let number = self.part_of_number(begin + 3).filter(|number| number.magnitude == 1.0)?;
            return Some((QuantityKind::Percent, ScaledNumber { value: number.value / 100.0, ..number }));
        }
        let number = self.number(begin)?;
        let unit = self.behind_spaces(number.end);
        let before = self.before(begin, 8);
        let each = |word: &str| before.rfind(word).map(|place| &before[place..]);
        let of_ten = each("每").is_some_and(|words| words.contains(|c: char| c.is_ascii_digit() || c == '十'));
        let in_words_alone = number.in_words && number.magnitude == 1.0;
        let found = |kind, length: usize| Some((kind, ScaledNumber { end: unit + length, ..number }));
        match *self.chars.get(unit)? {
            _ if in_words_alone || of_ten => None,
            '元' if self.starts(unit, "元/股") => found(QuantityKind::Price, 3),
            '元' if self.starts(unit, "元每股") => found(QuantityKind::Price, 3),
            '元' if self.is(unit + 1, |c| c == '/') => None,
            '元' if each("每股").is_some_and(|words| !words.contains([',', '，', '、', '。'])) => {
                found(QuantityKind::Price, 1)
            }
            '元' => found(QuantityKind::Amount, 1),
            '股' if each("每").is_some_and(|words| words == "每") => None,
            '股' if number.magnitude == 1.0 && self.is(unit + 1, |c| "东权票民市价指".contains(c)) => None,
            '股' => found(QuantityKind::Shares, 1),
            '%' => {
                let value = number.value / 100.0;
                Some((QuantityKind::Percent, ScaledNumber { value, end: unit + 1, ..number }))
            }
            _ => None,
        }
    }

    /// The quantity at a place, or the range that begins there, with its end.
    fn quantity_or_range(&self, begin: usize) -> Option<(ReadQuantity, usize)> {
        let first = self.quantity(begin);
        if let Some(behind) = self.behind_dash(first.as_ref().map(|(_, number)| number.end), begin)
            && let Some((kind, second)) = self.quantity(behind)
        {
            let range = |kind, low: f64| {
                (low <= second.value).then_some((ReadQuantity { kind, low, high: second.value }, second.end))
            };
            let made = match &first {
                Some((own, number)) => joined(*own, kind).and_then(|kind| range(kind, number.value)),
                // 3.2-5亿元, 5000万-1亿元, 3-5%.
                None => self.number(begin).filter(|number| !number.in_words).and_then(|number| {
                    let low = match (kind, number.magnitude) {
                        (QuantityKind::Percent, _) => number.value / 100.0,
                        (_, 1.0) => number.value * second.magnitude,
                        _ => number.value,
                    };
                    range(kind, low)
                }),
            };
            if made.is_some() {
                return made;
            }
        }
        let (kind, number) = first?;
        Some((ReadQuantity { kind, low: number.value, high: number.value }, number.end))
    }

    /// The place behind the dash, 至 or 到 that follows the quantity, or the bare number, at `begin`.
    fn behind_dash(&self, end_of_quantity: Option<usize>, begin: usize) -> Option<usize> {
        let mut i = match end_of_quantity {
            Some(end) => end,
            None => self.number(begin)?.end,
        };
        i = self.behind_spaces(i);
        // 5000万元(含)-1亿元(含)
        if self.starts(i, "(含")
            && let Some(close) = (i..(i + 8).min(self.len())).find(|&k| self.chars[k] == ')')
        {
            i = close + 1;
        }
        let dash = |c: char| "-—–−~至到".contains(c);
        let behind = (i..self.len()).take(2).take_while(|&k| dash(self.chars[k])).count();
        (behind > 0).then(|| self.behind_spaces(i + behind))
    }

    /// Up to so many characters before a place.
    fn before(&self, i: usize, most: usize) -> String {
        self.chars[i.saturating_sub(most)..i].iter().collect()
    }

    fn bound_before(&self, i: usize) -> BoundSide {
        let before = self.before(i, 10);
        let before = before.trim_end_matches(|c: char| c.is_whitespace() || "为是人民币约达:(".contains(c));
        if LOWER.iter().any(|word| before.ends_with(word)) {
            BoundSide::Lower
        } else if UPPER.iter().any(|word| before.ends_with(word)) {
            BoundSide::Upper
        } else {
            BoundSide::Neither
        }
    }

    /// The date at a place, and its end.
    fn date(&self, begin: usize, near: NaiveDate) -> Option<(NaiveDate, usize)> {
        let number_at = |i: usize| {
            let end = (i..self.len()).take_while(|&k| self.chars[k].is_ascii_digit()).last()? + 1;
            let number: u32 = self.chars[i..end].iter().collect::<String>().parse().ok().filter(|_| end - i <= 4)?;
            Some((number, end))
        };
        if begin > 0 && self.is(begin - 1, |c| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let (first, end) = number_at(begin)?;
        let mark = *self.chars.get(end)?;
        let (year, (month, end)) = match mark {
            '年' | '-' | '/' if end - begin == 4 => (Some(first as i32), number_at(end + 1)?),
            '月' => (None, (first, end)),
            _ => return None,
        };
        let parted = if matches!(mark, '年' | '月') { '月' } else { mark };
        if !self.is(end, |c| c == parted) {
            return None;
        }
        let (day, end) = number_at(end + 1)?;
        if parted == '月' && !self.is(end, |c| c == '日') {
            return None;
        }
        let end = if parted == '月' { end + 1 } else { end };
        let date = match year {
            Some(year) => NaiveDate::from_ymd_opt(year, month, day),
            None => (near.year() - 1..=near.year() + 1)
                .filter_map(|year| NaiveDate::from_ymd_opt(year, month, day))
                .min_by_key(|date| (*date - near).num_days().abs()),
        };
        date.map(|date| (date, end))
    }
}

/// A character at half width.
pub fn half_width(c: char) -> char {
    match c {
        '！'..='～' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |quantity: Quantity| {
            let kind = match quantity.kind {
                QuantityKind::Amount => "¥",
                QuantityKind::Price => "¥/",
                QuantityKind::Percent => "%",
                QuantityKind::Shares => "#",
            };
            let ends =
                if quantity.low == quantity.high { vec![quantity.low] } else { vec![quantity.low, quantity.high] };
            let ends: Vec<String> = ends.iter().map(|end| format!("{end}")).collect();
            format!("{kind}{} {}", ends.join("~"), &text[quantity.range])
        };
        quantities(text).into_iter().map(show).collect()
    }

    #[test]
    fn quantities_have_the_kind_that_their_unit_says() {
        let cases: [(&str, &[&str]); 22] = [
            ("拟以不超过5亿元回购", &["¥500000000 5亿元"]),
            ("耗资约1,234.5万元回购300万股", &["¥12345000 1,234.5万元", "#3000000 300万股"]),
            ("回购价格不超过20.5元/股，占总股本的２．３５％", &["¥/20.5 20.5元/股", "%0.0235 ２．３５％"]),
            ("减持128,212,200股，即3%", &["#128212200 128,212,200股", "%0.03 3%"]),
            ("每股不超过15元，合计逾3000元", &["¥/15 15元", "¥3000 3000元"]),
            ("三亿元，两千五百万股，百分之五", &["¥300000000 三亿元", "#25000000 两千五百万股", "%0.05 百分之五"]),
            ("一亿五千万元与1亿2000万元", &["¥150000000 一亿五千万元", "¥120000000 1亿2000万元"]),
            ("3.2亿元-5亿元", &["¥320000000~500000000 3.2亿元-5亿元"]),
            ("3.2-5亿元", &["¥320000000~500000000 3.2-5亿元"]),
            ("5000万-1亿元", &["¥50000000~100000000 5000万-1亿元"]),
            ("5000万元（含）至1亿元（含）", &["¥50000000~100000000 5000万元（含）至1亿元"]),
            ("不低于人民币6000万元，且不超过人民币1.2亿元", &["¥60000000~120000000 6000万元，且不超过人民币1.2亿元"]),
            ("不低于3%。不超过5%", &["%0.03 3%", "%0.05 5%"]),
            ("10元-12元/股", &["¥/10~12 10元-12元/股"]),
            ("增长54.76%-65.25%", &["%0.5476~0.6525 54.76%-65.25%"]),
            ("增长3-5%", &["%0.03~0.05 3-5%"]),
            ("5亿元-3亿元", &["¥500000000 5亿元", "¥300000000 3亿元"]),
            ("1.8亿港元、2亿美元、每吨300元/吨、每10股派5元", &[]),
            ("2024年12月5日的第2名股东，三元股份，一元化，3股东", &[]),
            ("下降3个百分点，用户达3.2亿", &[]),
            ("1.2.3万元", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn dates_without_a_year_lie_near_the_day_on_which_they_are_told() {
        let near = |day: &str| day.parse().unwrap();
        let found = |text: &str, day: &str| {
            dates(text, near(day))
                .into_iter()
                .map(|(range, date)| format!("{date} {}", &text[range]))
                .collect::<Vec<_>>()
        };
        let expected = ["2024-03-05 2024年3月5日", "2024-06-30 2024-06-30"];
        assert_eq!(found("自2024年3月5日起，截至2024-06-30", "2024-03-01"), expected);
        assert_eq!(found("12月30日", "2024-01-02"), ["2023-12-30 12月30日"]);
        assert_eq!(found("1月3日", "2023-12-30"), ["2024-01-03 1月3日"]);
        assert!(found("2月30日，3月，2024年，12.5月6日，13月1日", "2024-01-02").is_empty());
    }

    #[test]
    fn any_text_is_read_and_ranges_lie_in_it() {
        let pieces = [
            "5",
            "，",
            "亿",
            "元",
            "-",
            "不低于",
            "％",
            "百分之",
            "十",
            "股",
            "每",
            "1月2日",
            "(含",
            ")",
            ".",
            " ",
            "２",
        ];
        let mut state = 7_u64;
        for _ in 0..3000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text += pieces[(state >> 33) as usize % pieces.len()];
            }
            for quantity in quantities(&text) {
                assert!(
                    quantity.low <= quantity.high && text.get(quantity.range).is_some_and(|t| !t.is_empty()),
                    "{text}"
                );
            }
            for number in numbers(&text) {
                assert!(text.get(number.range).is_some(), "{text}");
            }
            dates(&text, NaiveDate::default()).iter().for_each(|(range, _)| assert!(text.get(range.clone()).is_some()));
        }
    }
}
