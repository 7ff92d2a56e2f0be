//! Orders that could be filled on a day: suspensions and the exchanges' daily price limits.
//!
//! Explicit limit columns win over the table of rules. A name is locked only when the very price that a position is traded
//! at stands on the limit: a share that opens on its limit and falls back later could not be bought at the open, but at
//! the close. A day with one price alone, on the limit, is told apart, since nobody got in at any price (一字板).

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::{Board, Market, Panel, Price};

/// Half the smallest step of a price in CNY: the exchanges round limits to 0.01.
const HALF_TICK: f64 = 0.005;

/// The daily price limit of a board since some date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitRule {
    pub board: Board,
    /// First day of the rule.
    pub from: NaiveDate,
    /// Largest move from the last close, a share (0.1 = 10 %).
    pub limit: f64,
    /// The limit for names under special treatment.
    pub st: f64,
    /// Trading days without a limit after a listing that happened under this rule.
    pub free_days: usize,
}

impl LimitRule {
    /// The exchanges' rules.
    pub fn defaults() -> Vec<LimitRule> {
        let rule = |board, (y, m, d), limit, st, free_days| LimitRule {
            board,
            from: NaiveDate::from_ymd_opt(y, m, d).expect("a day of the calendar"),
            limit,
            st,
            free_days,
        };
        vec![
            rule(Board::Main, (1996, 12, 16), 0.10, 0.05, 0),
            // Registration-based listing reached the main boards; their newcomers have no limit for five days.
            rule(Board::Main, (2023, 4, 10), 0.10, 0.05, 5),
            // From then on names under special treatment have the limit of all others.
            rule(Board::Main, (2026, 7, 6), 0.10, 0.10, 5),
            rule(Board::Chinext, (2009, 10, 30), 0.10, 0.05, 0),
            rule(Board::Chinext, (2020, 8, 24), 0.20, 0.20, 5),
            rule(Board::Star, (2019, 7, 22), 0.20, 0.20, 5),
            rule(Board::Bse, (2021, 11, 15), 0.30, 0.30, 1),
        ]
    }
}

/// Orders in a name that could be filled at the traded price of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Free,
    /// Neither: suspended, not listed, or without the price in question.
    Shut,
    /// Only sell: locked at the upper limit.
    LockedUp,
    /// Only buy: locked at the lower limit.
    LockedDown,
    /// Only sell: every trade of the day was at the upper limit.
    OnePriceUp,
    /// Only buy: every trade of the day was at the lower limit.
    OnePriceDown,
    /// Neither: listed for too few days.
    New,
}

impl Gate {
    /// True if a buying order is filled.
    pub fn can_buy(self) -> bool {
        matches!(self, Gate::Free | Gate::LockedDown | Gate::OnePriceDown)
    }

    /// True if a selling order is filled.
    pub fn can_sell(self) -> bool {
        matches!(self, Gate::Free | Gate::LockedUp | Gate::OnePriceUp)
    }

    /// True if the day had one price alone, on a limit.
    pub fn is_one_price(self) -> bool {
        matches!(self, Gate::OnePriceUp | Gate::OnePriceDown)
    }
}

/// Gates and valuations of every name and day at one sort of price.
#[derive(Clone, Debug)]
pub struct Tradability {
    gates: Vec<Gate>,
    width: usize,
    marks: Panel,
}

impl Tradability {
    /// Works out gates and valuations at `price`. Without `rules` and limit columns nothing is ever locked.
    pub fn new(market: &Market, price: Price, rules: &[LimitRule]) -> anyhow::Result<Tradability> {
        let traded_price = market.price(price)?;
        let close = market.price(Price::Close)?;
        let (days, width) = (market.dates().len(), market.codes().len());
        let mut gates = Vec::with_capacity(days * width);
        let mut marks = Panel::empty(market.dates().clone(), market.codes().clone());
        let mut last_close = vec![LastClose { price: f64::NAN, day: 0 }; width];
        for t in 0..days {
            for (i, last) in last_close.iter_mut().enumerate() {
                let value = traded_price.at(t, i);
                let open_for_trade = market.traded(t, i) && !value.is_nan();
                marks.set(t, i, if value.is_nan() { last.price } else { value });
                gates.push(if open_for_trade { market.gate(t, i, value, *last, rules) } else { Gate::Shut });
                if !close.at(t, i).is_nan() {
                    *last = LastClose { price: close.at(t, i), day: t };
                }
            }
        }
        Ok(Tradability { gates, width, marks })
    }

    /// This tradability, but names are left alone in the first `days` trading days of their listing, the first day counted.
    pub fn without_newcomers(mut self, market: &Market, days: usize) -> Tradability {
        for i in 0..self.width {
            let Some(first) = market.first_traded(i).filter(|_| days > 0) else { continue };
            for t in first..(first + days).min(market.dates().len()) {
                let gate = &mut self.gates[t * self.width + i];
                if *gate != Gate::Shut {
                    *gate = Gate::New;
                }
            }
        }
        self
    }

    /// This tradability, but a delisted share is worth its last close x (1 + `delisting_return`) from the day on which it is gone.
    pub fn with_delistings(mut self, market: &Market, delisting_return: f64) -> Tradability {
        for i in 0..self.width {
            for t in market.delisted(i).into_iter().flat_map(|gone| gone..market.dates().len()) {
                let last = self.marks.at(t, i);
                self.marks.set(t, i, last * (1.0 + delisting_return));
            }
        }
        self
    }

    /// The gate of a name on a day.
    pub fn gate(&self, t: usize, i: usize) -> Gate {
        self.gates[t * self.width + i]
    }

    /// Value of a held share: the day's price, or the last close before where there is none. A delisted share
    /// keeps its last close, or what [`Tradability::with_delistings`] makes of it, so that a loss stays in the books.
    pub fn marks(&self) -> &Panel {
        &self.marks
    }
}

/// The last close of a name, and the number of its day.
#[derive(Clone, Copy)]
struct LastClose {
    price: f64,
    day: usize,
}

impl Market {
    fn gate(&self, t: usize, i: usize, price: f64, last: LastClose, rules: &[LimitRule]) -> Gate {
        let explicit = |panel: &Option<Panel>| panel.as_ref().map_or(f64::NAN, |p| p.at(t, i));
        let (mut up, mut down) = (explicit(&self.up_limit), explicit(&self.down_limit));
        // The one price of a day; an average over it may differ by rounding.
        let one_price = self.one_price(t, i);
        let price = if one_price { self.close_of(t, i) } else { price };
        let mut slack = HALF_TICK / 10.0;
        if up.is_nan() && down.is_nan() {
            let Some(limit) = self.limit(t, i, rules) else { return Gate::Free };
            // The rounded limit lies within half a tick of this product, and adjusted prices are not rounded at all.
            (up, down) = (last.price * (1.0 + limit), last.price * (1.0 - limit));
            slack = HALF_TICK + 1e-9;
            // No trade is beyond its limit: after days without a row the table has a hole, and this close is not the one
            // that the limit was counted from.
            if last.day + 1 < t && !(down - slack..=up + slack).contains(&price) {
                return Gate::Free;
            }
        }
        if price >= up - slack {
            if one_price { Gate::OnePriceUp } else { Gate::LockedUp }
        } else if price <= down + slack {
            if one_price { Gate::OnePriceDown } else { Gate::LockedDown }
        } else {
            Gate::Free
        }
    }

    /// The limit of a name on a day by the table of rules; `None` where none applies.
    fn limit(&self, t: usize, i: usize, rules: &[LimitRule]) -> Option<f64> {
        let (board, day) = (self.board(i)?, self.dates()[t]);
        let in_force =
            |day: NaiveDate| rules.iter().filter(move |r| r.board == board && r.from <= day).max_by_key(|r| r.from);
        if let Some(listed) = self.listed(i).filter(|listed| *listed >= self.dates()[0])
            && let Some(rule) = in_force(listed)
            && t < self.calendar().on_or_after(listed) + rule.free_days
        {
            return None;
        }
        in_force(day).map(|rule| if self.is_st(t, i) { rule.st } else { rule.limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Security;
    use inkstone_base::code::Code;

    fn security(code: &str, listed: Option<&str>, st: bool) -> Security {
        Security {
            code: Code::canonical(code),
            name: "某某".into(),
            from: None,
            to: None,
            industry: None,
            board: None,
            listed: listed.map(|d| d.parse().unwrap()),
            delisted: None,
            st,
            aliases: vec![],
        }
    }

    fn gates(prices: &str, securities: &[Security], price: Price) -> Vec<Gate> {
        let market = Market::of_text(prices, securities).unwrap();
        let tradability = Tradability::new(&market, price, &LimitRule::defaults()).unwrap();
        (0..market.dates().len()).map(|t| tradability.gate(t, 0)).collect()
    }

    #[test]
    fn limits_are_found_at_the_rounded_price_and_not_a_tick_below() {
        // 10 % of 10.05 ends at 11.055, rounded to 11.06; from 11.05 down to 9.945, rounded to 9.95.
        let up = "date,code,close\n2024-01-02,600001.SH,10.05\n2024-01-03,600001.SH,";
        assert_eq!(gates(&format!("{up}11.06\n"), &[], Price::Close)[1], Gate::LockedUp);
        assert_eq!(gates(&format!("{up}11.04\n"), &[], Price::Close)[1], Gate::Free);
        assert_eq!(gates(&format!("{up}9.04\n"), &[], Price::Close)[1], Gate::LockedDown);
        assert_eq!(gates(&format!("{up}9.06\n"), &[], Price::Close)[1], Gate::Free);
        let st = [security("600001.SH", None, true)];
        assert_eq!(gates(&format!("{up}10.55\n"), &st, Price::Close)[1], Gate::LockedUp);
        assert_eq!(gates(&format!("{up}10.53\n"), &st, Price::Close)[1], Gate::Free);
    }

    #[test]
    fn a_price_beyond_the_limit_of_a_close_before_a_hole_is_no_limit_price() {
        let after_a_hole = |price: &str| {
            let prices = format!(
                "date,code,close\n2024-01-02,600001.SH,10\n2024-01-03,600002.SH,1\n2024-01-04,600001.SH,{price}\n"
            );
            gates(&prices, &[], Price::Close)[2]
        };
        assert_eq!(after_a_hole("11.00"), Gate::LockedUp, "it resumed trading at its limit");
        assert_eq!(after_a_hole("9.00"), Gate::LockedDown);
        assert_eq!(after_a_hole("14.20"), Gate::Free, "it traded in between, unseen");
        assert_eq!(after_a_hole("5.10"), Gate::Free);
    }

    #[test]
    fn limits_depend_on_board_date_and_listing() {
        let chinext = "date,code,close\n2020-08-20,300001.SZ,10\n2020-08-21,300001.SZ,11\n2020-08-24,300001.SZ,12.1\n";
        assert_eq!(gates(chinext, &[], Price::Close), [Gate::Free, Gate::LockedUp, Gate::Free]);
        let tickers = "date,code,close\n2024-01-02,ABC,10\n2024-01-03,ABC,20\n";
        assert_eq!(gates(tickers, &[], Price::Close), [Gate::Free, Gate::Free]);
        // Special treatment on the main board: 5 % until July 2026.
        let treated = [security("600003.SH", None, true)];
        let up = |days: [&str; 2], close: f64| {
            let prices = format!("date,code,close\n{},600003.SH,10\n{},600003.SH,{close}\n", days[0], days[1]);
            gates(&prices, &treated, Price::Close)[1]
        };
        assert_eq!(up(["2026-07-02", "2026-07-03"], 10.5), Gate::LockedUp);
        assert_eq!(up(["2026-07-03", "2026-07-06"], 10.5), Gate::Free);
        assert_eq!(up(["2026-07-03", "2026-07-06"], 11.0), Gate::LockedUp);
        // A newcomer of the main board: no limit for five days, the sixth day has one.
        let mut prices = "date,code,close\n2024-01-02,600002.SH,1\n".to_owned();
        for (k, day) in ["03", "04", "05", "08", "09", "10"].iter().enumerate() {
            prices += &format!("2024-01-{day},600001.SH,{}\n", 10.0 * 1.5_f64.powi(k as i32));
        }
        let newcomer = [security("600001.SH", Some("2024-01-03"), false)];
        let gates = gates(&prices, &newcomer, Price::Close);
        assert_eq!(gates[0], Gate::Shut, "not listed yet");
        assert_eq!(gates[1..6], [Gate::Free; 5]);
        assert_eq!(gates[6], Gate::LockedUp);
    }

    #[test]
    fn a_day_of_one_price_at_its_limit_is_told_apart() {
        let day = |row: &str| {
            let header =
                "date,code,open,high,low,close,vwap\n2024-01-02,600001.SH,10,10,10,10,10\n2024-01-03,600001.SH,";
            gates(&format!("{header}{row}\n"), &[], Price::Vwap)[1]
        };
        assert_eq!(day("11,11,11,11,10.994"), Gate::OnePriceUp, "whatever the rounding of its average");
        assert_eq!(day("9,9,9,9,9"), Gate::OnePriceDown);
        assert_eq!(day("11,11,10.5,11,11"), Gate::LockedUp);
        assert_eq!(day("10.5,10.5,10.5,10.5,10.5"), Gate::Free, "quiet, but no limit");
        assert!(!Gate::OnePriceUp.can_buy() && Gate::OnePriceUp.can_sell() && Gate::OnePriceDown.can_buy());
    }

    #[test]
    fn newcomers_and_the_delisted_are_what_the_tables_say() {
        let prices = "date,code,close\n2024-01-02,600001.SH,10\n2024-01-02,600002.SH,8\n2024-01-03,600002.SH,4\n\
            2024-01-03,600001.SH,10\n2024-01-04,600001.SH,10\n2024-01-04,600003.SH,7\n2024-01-05,600001.SH,\n\
            2024-01-05,600003.SH,7\n2024-01-08,600003.SH,7\n2024-01-08,600001.SH,\n";
        let market = Market::of_text(prices, &[]).unwrap();
        assert_eq!([0, 1, 2].map(|i| market.delisted(i)), [None, Some(2), None], "a suspended name still has its rows");
        assert_eq!([0, 1, 2].map(|i| market.first_traded(i)), [None, None, Some(2)]);
        let tradability = Tradability::new(&market, Price::Close, &[]).unwrap();
        let tradability = tradability.without_newcomers(&market, 2).with_delistings(&market, -0.5);
        assert_eq!([2, 3, 4].map(|t| tradability.gate(t, 2)), [Gate::New, Gate::New, Gate::Free]);
        assert_eq!([0, 1, 2, 3, 4].map(|t| tradability.marks().at(t, 1)), [8.0, 4.0, 2.0, 2.0, 2.0]);
        let security = |date: &str| Security {
            delisted: Some(date.parse().unwrap()),
            ..Security::unnamed(Code::canonical("600001.SH"))
        };
        let delisted = |date| Market::of_text(prices, &[security(date)]).unwrap().delisted(0);
        assert_eq!([delisted("2024-01-08"), delisted("2024-01-03")], [Some(4), Some(3)], "never before its last close");
        assert_eq!(delisted("2025-01-01"), None);
    }

    #[test]
    fn explicit_limits_win_and_only_the_traded_price_counts() {
        let prices = "date,code,open,close,volume,up_limit,down_limit\n\
            2024-01-02,600001.SH,10,10,5,10.5,9.5\n2024-01-03,600001.SH,10.5,10.2,5,10.5,9.5\n\
            2024-01-04,600001.SH,9.5,9.5,5,10.7,9.5\n2024-01-05,600001.SH,9.5,9.5,0,10.7,9.5\n";
        assert_eq!(gates(prices, &[], Price::Open), [Gate::Free, Gate::LockedUp, Gate::LockedDown, Gate::Shut]);
        assert_eq!(gates(prices, &[], Price::Close)[1], Gate::Free, "it fell back before the close");
    }
}
