//! The days and codes of a market and which names count on which day, without its prices: what looking behind a factor needs.

use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::Market;
use inkstone_base::code::Code;

/// Days, and the names that count on each.
pub trait DaysAndNames {
    /// Trading days, ascending.
    fn dates(&self) -> &[NaiveDate];

    /// True if the name counts among those of a date, as [`Market::lives`] has it.
    fn lives(&self, t: usize, i: usize) -> bool;
}

impl DaysAndNames for Market {
    fn dates(&self) -> &[NaiveDate] {
        Market::dates(self)
    }

    fn lives(&self, t: usize, i: usize) -> bool {
        Market::lives(self, t, i)
    }
}

/// The axes of a market.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketAxes {
    dates: Vec<NaiveDate>,
    codes: Arc<[Code]>,
    /// By code: the spans of date numbers in which the name counts, ascending.
    alive: Vec<Vec<Range<u32>>>,
}

impl MarketAxes {
    pub fn new(market: &Market) -> MarketAxes {
        let days = market.dates().len();
        let spans = |i: usize| {
            let mut spans: Vec<Range<u32>> = Vec::new();
            for t in (0..days).filter(|t| market.lives(*t, i)) {
                match spans.last_mut() {
                    Some(span) if span.end as usize == t => span.end += 1,
                    _ => spans.push(t as u32..t as u32 + 1),
                }
            }
            spans
        };
        MarketAxes {
            dates: market.dates().to_vec(),
            codes: market.codes().clone(),
            alive: (0..market.codes().len()).map(spans).collect(),
        }
    }

    pub fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// The number of a trading date.
    pub fn index_of_date(&self, date: NaiveDate) -> Option<usize> {
        self.dates.binary_search(&date).ok()
    }

    /// The number of a code, as it stands in the market.
    pub fn index_of(&self, code: &str) -> Option<usize> {
        self.codes.binary_search_by(|other| other.as_str().cmp(code)).ok()
    }
}

impl DaysAndNames for MarketAxes {
    fn dates(&self) -> &[NaiveDate] {
        &self.dates
    }

    fn lives(&self, t: usize, i: usize) -> bool {
        let spans = &self.alive[i];
        let behind = spans.partition_point(|span| span.start as usize <= t);
        behind.checked_sub(1).is_some_and(|at| t < spans[at].end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_know_who_counts_when_as_the_market_does() {
        let mut text = String::from("date,code,close\n");
        let first = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
        for n in 0..70 {
            let day = first + chrono::Days::new(n);
            text += &format!("{day},600001.SH,10\n");
            if n == 3 || n == 50 {
                text += &format!("{day},000002.SZ,8\n");
            }
        }
        let market = Market::of_text(&text, &[]).unwrap();
        let axes = MarketAxes::new(&market);
        let kept: MarketAxes = serde_json::from_str(&serde_json::to_string(&axes).unwrap()).unwrap();
        assert_eq!(kept, axes);
        for (i, code) in market.codes().iter().enumerate() {
            assert_eq!(kept.index_of(code.as_str()), Some(i));
            assert!((0..70).all(|t| kept.lives(t, i) == market.lives(t, i)), "{code}");
        }
        assert_eq!((kept.index_of("600009.SH"), kept.index_of_date(first)), (None, Some(0)));
    }
}
