//! The names of one date in a backtest: quantiles, returns, and reasons for names that are left out.

use anyhow::Result;
use chrono::NaiveDate;

use crate::backtest::Params;
use crate::backtest::cross::{Prices, blocked, pair_date};
use crate::factor::Factor;
use inkstone_market::{Market, Tradability};

/// The names of one date that have a value, as a backtest sees them.
#[derive(Clone, Debug)]
pub struct DateNames {
    /// The day on which they are traded; none where the calendar ends before.
    pub entry: Option<NaiveDate>,
    /// Reason for which the date has no quantiles; none if it has.
    pub left_out: Option<&'static str>,
    /// The names, by the number of their code.
    pub names: Vec<DateName>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DateName {
    /// Number of the code in the market.
    pub code: usize,
    /// Quantile from 1 (lowest); 0 for none.
    pub quantile: u16,
    /// Return at each horizon of the parameters; NaN if the name could not be bought or has no later price.
    pub returns: Vec<f64>,
    /// Reason for which the value was not used, or could not be traded on; none if it could.
    pub blocked: Option<&'static str>,
}

impl Params {
    /// Tradability of a market by these parameters.
    pub fn tradability(&self, market: &Market) -> Result<Tradability> {
        let tradability = Tradability::new(market, self.traded_price(), &self.limits)?;
        if !self.rules().gated {
            return Ok(tradability);
        }
        let tradability = tradability.without_newcomers(market, self.min_listed_days);
        Ok(tradability.with_delistings(market, self.delisting_return))
    }
}

/// A factor beside its market, to be looked at date after date.
pub struct Dates<'a> {
    factor: &'a Factor,
    market: &'a Market,
    params: &'a Params,
    prices: Prices<'a>,
}

impl<'a> Dates<'a> {
    /// Fails where the factor is not on the axes of the market. `tradability` is made of the parameters.
    pub fn new(
        factor: &'a Factor,
        market: &'a Market,
        tradability: &'a Tradability,
        params: &'a Params,
    ) -> Result<Dates<'a>> {
        params.validate()?;
        factor.check_axes(market)?;
        Ok(Dates { factor, market, params, prices: Prices::new(factor, market, tradability, params)? })
    }

    /// The names of date `t` as [`crate::backtest::run`] takes them.
    pub fn on(&self, t: usize) -> DateNames {
        names_of(self, t)
    }
}

/// The names of date `t` as [`crate::backtest::run`] takes them. `tradability` is made of the parameters.
pub fn names_on(
    factor: &Factor,
    market: &Market,
    tradability: &Tradability,
    params: &Params,
    t: usize,
) -> Result<DateNames> {
    Ok(Dates::new(factor, market, tradability, params)?.on(t))
}

fn names_of(dates: &Dates<'_>, t: usize) -> DateNames {
    let Dates { factor, market, params, prices } = dates;
    let (cross, tally) = pair_date(factor, market, prices, params, t);
    let entry = params.entry(t, market.dates().len());
    let there = factor.values.row(t).iter().enumerate().filter(|(_, value)| !value.is_nan());
    let names = there.map(|(code, _)| {
        let mut name = DateName { code, quantile: 0, returns: vec![f64::NAN; params.horizons.len()], blocked: None };
        let Some(entry) = entry else {
            name.blocked = Some("no trading day to enter on");
            return name;
        };
        let gate = prices.gate(entry, code);
        if gate.can_buy() {
            name.returns = params.horizons.iter().map(|&horizon| prices.forward(code, entry, horizon)).collect();
        }
        let late = factor.known_at(t, code).is_none_or(|known_at| known_at >= params.begins(market, entry));
        name.blocked = if prices.benchmark == Some(code) {
            Some("value of the benchmark")
        } else if late && !params.uses_late_values() {
            Some("not known before the return begins")
        } else if let Some(reason) = blocked(gate) {
            Some(reason)
        } else if name.returns.iter().all(|r| r.is_nan()) {
            Some("no later price at a horizon")
        } else {
            None
        };
        if let Some(cross) = &cross
            && let Ok(place) = cross.names.binary_search(&(code as u32))
        {
            name.quantile = cross.quantiles[place];
        }
        name
    });
    // No reason for dropping single values drops the date.
    let reasons =
        ["no trading day to enter on", "date with too few names", "date whose quantiles have no distinct edges"];
    let left_out = match cross {
        Some(_) => None,
        None => Some(
            reasons
                .into_iter()
                .find(|reason| tally.dropped.contains_key(reason))
                .unwrap_or("no value that could be used"),
        ),
    };
    DateNames { entry: entry.map(|entry| market.dates()[entry]), left_out, names: names.collect() }
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDateTime;

    use super::*;
    use inkstone_market::Price;

    fn known(text: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap()
    }

    #[test]
    fn names_have_their_quantile_their_return_or_the_reason_for_neither() {
        let mut prices = "date,code,open,close,volume\n".to_owned();
        for (day, step) in [("02", 0.0), ("03", 1.0), ("04", 3.0)] {
            for code in 1..=5u32 {
                // The fourth is suspended on the day of entry.
                let volume = if code == 4 && day == "03" { 0 } else { 100 };
                let price = 100.0 + step * f64::from(code);
                prices += &format!("2024-01-{day},60000{code}.SH,{price},{price},{volume}\n");
            }
        }
        let market = Market::of_text(&prices, &[]).unwrap();
        let mut factor = Factor::empty("f", &market);
        for code in 0..5 {
            // The last was known after the auction of the day of entry had begun.
            let at = if code == 4 { "2024-01-03 09:20" } else { "2024-01-02 20:00" };
            factor.put(0, code, 4.0 - code as f64, known(at), 1);
        }
        let params = Params {
            horizons: vec![1, 2],
            quantiles: 2,
            min_names: 2,
            price: Some(Price::Open),
            limits: Vec::new(),
            ..Params::default()
        };
        let tradability = params.tradability(&market).unwrap();
        let names_on = |t, params: &Params| names_on(&factor, &market, &tradability, params, t).unwrap();
        let found = names_on(0, &params);
        assert_eq!((found.entry.unwrap().to_string().as_str(), found.left_out), ("2024-01-03", None));
        let quantiles: Vec<u16> = found.names.iter().map(|name| name.quantile).collect();
        assert_eq!(quantiles, [2, 2, 1, 1, 0]);
        assert!((found.names[0].returns[0] - (103.0 / 101.0 - 1.0)).abs() < 1e-12);
        assert!(found.names[0].returns[1].is_nan() && found.names[3].returns[0].is_nan());
        assert_eq!(found.names[0].blocked, None);
        assert_eq!(found.names[3].blocked, Some("not traded on the day of entry"));
        assert_eq!(found.names[4].blocked, Some("not known before the return begins"));
        let few = names_on(0, &Params { min_names: 10, ..params.clone() });
        assert_eq!((few.left_out, few.names[0].quantile), (Some("date with too few names"), 0));
        assert!(names_on(1, &params).names.is_empty());
    }
}
