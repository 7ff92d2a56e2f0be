//! One stock over time: its prices, the value and layer of a factor, and the documents about it with the returns around them.

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};

use crate::backtest::events::{AbnormalReturns, ReturnsAround};
use crate::factor::TracedDocument;
use inkstone_base::data::Kind;
use inkstone_market::{Cutoff, Gate, LimitRule, Market, Price, TableByName, Tradability};

/// Trading days after a document up to which returns are summed.
pub const AFTER: [usize; 4] = [1, 3, 5, 10];

/// How a stock traded on a day, told at the close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayState {
    /// Before its first close or after its last.
    Absent,
    /// No close or no volume between others.
    Suspended,
    Traded,
    /// It closed at the upper limit.
    UpLimit,
    /// It closed at the lower limit.
    DownLimit,
}

/// A stock, by trading date.
#[derive(Clone, Debug)]
pub struct Stock {
    pub code: String,
    /// The latest name in the table of securities; empty without one.
    pub name: String,
    pub dates: Vec<NaiveDate>,
    /// Closes as the source adjusts them; NaN where there is none.
    pub close: Vec<f64>,
    /// Shares; NaN where unknown.
    pub volume: Vec<f64>,
    pub states: Vec<DayState>,
    pub factor: Option<StockFactor>,
    /// Documents, by publication.
    pub documents: Vec<StockDocument>,
}

/// A factor's values for one stock, by the dates of the stock.
#[derive(Clone, Debug)]
pub struct StockFactor {
    pub name: String,
    pub values: Vec<f64>,
    /// Layers from 1, the lowest; 0 for none.
    pub layers: Vec<u16>,
    /// Layers that the backtest cuts a date into.
    pub count: usize,
}

/// A document about the stock.
#[derive(Clone, Debug)]
pub struct StockDocument {
    /// Number of the document in the corpus, from 0.
    pub number: u32,
    pub doc_id: String,
    pub title: String,
    /// The first words of its body, where it has no title.
    pub words: String,
    pub kind: Kind,
    pub source: String,
    pub published_at: NaiveDateTime,
    /// True if an earlier document said the same.
    pub repeats: bool,
    /// Number of the trading date that it counts for, day 0; none outside of the price table.
    pub day: Option<usize>,
    /// The first date on which it can be traded on; none where the table ends before.
    pub tradable: Option<NaiveDate>,
    /// Abnormal returns of day 0 and after it, up to each of [`AFTER`].
    pub returns: ReturnsAround,
}

impl Stock {
    /// The stock that is alone in a market, without factor and documents.
    pub fn new(market: &Market, name: String, limits: &[LimitRule]) -> Result<Stock> {
        let close = market.price(Price::Close)?;
        let tradability = Tradability::new(market, Price::Close, limits)?;
        let (first, last) = market.life(0).unwrap_or((usize::MAX, 0));
        let state = |t: usize| match tradability.gate(t, 0) {
            _ if t < first || t > last => DayState::Absent,
            Gate::Shut => DayState::Suspended,
            Gate::LockedUp | Gate::OnePriceUp => DayState::UpLimit,
            Gate::LockedDown | Gate::OnePriceDown => DayState::DownLimit,
            Gate::Free | Gate::New => DayState::Traded,
        };
        let days = 0..market.dates().len();
        Ok(Stock {
            code: market.codes()[0].to_string(),
            name,
            dates: market.dates().to_vec(),
            close: days.clone().map(|t| close.at(t, 0)).collect(),
            volume: days.clone().map(|t| market.volume(t, 0)).collect(),
            states: days.map(state).collect(),
            factor: None,
            documents: Vec::new(),
        })
    }

    /// Adds a factor's values, whose table has the columns `value` and, once tested, `quantile`.
    pub fn with_factor(mut self, name: &str, table: &TableByName, count: usize) -> Result<Stock> {
        let mut factor = StockFactor {
            name: name.to_owned(),
            values: vec![f64::NAN; self.dates.len()],
            layers: vec![0; self.dates.len()],
            count,
        };
        if let Some(code) = table.index_of(&self.code) {
            let (values, layers) = (table.column("value", code)?, table.column("quantile", code)?);
            for (date, (value, layer)) in table.calendar().dates().iter().zip(values.into_iter().zip(layers)) {
                if let Ok(t) = self.dates.binary_search(date) {
                    // A layer that is not known is cast to 0.
                    (factor.values[t], factor.layers[t]) = (value, layer as u16);
                }
            }
        }
        self.factor = Some(factor);
        Ok(self)
    }

    /// Adds documents, in any order, with the returns around them.
    pub fn with_documents(
        mut self,
        documents: Vec<TracedDocument>,
        market: &Market,
        returns: &AbnormalReturns<'_>,
        cutoff: Cutoff,
    ) -> Stock {
        let calendar = market.calendar();
        self.documents = documents
            .into_iter()
            .map(|document| {
                let day = calendar.trade_date(document.published_at, cutoff).ok();
                let nothing = || ReturnsAround { day: f64::NAN, after: vec![f64::NAN; AFTER.len()] };
                StockDocument {
                    number: document.number,
                    doc_id: document.doc_id,
                    title: document.title,
                    words: document.words,
                    kind: document.kind,
                    source: document.source,
                    published_at: document.published_at,
                    repeats: document.repeats.is_some(),
                    day,
                    tradable: calendar.tradable_from(document.published_at, cutoff).ok(),
                    returns: day.map_or_else(nothing, |day| returns.around(day, &AFTER)),
                }
            })
            .collect();
        self.documents.sort_by_key(|document| (document.published_at, document.number));
        self
    }

    /// Value and layer of the factor on the trading day before the one that a document counts for, and on that day.
    pub fn factor_around(&self, document: &StockDocument) -> Option<[(f64, u16); 2]> {
        let (factor, day) = self.factor.as_ref().zip(document.day)?;
        let at = |t: Option<usize>| t.map_or((f64::NAN, 0), |t| (factor.values[t], factor.layers[t]));
        Some([at(day.checked_sub(1)), at(Some(day))])
    }

    /// Days in a state.
    pub fn days(&self, state: DayState) -> usize {
        self.states.iter().filter(|other| **other == state).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backtest::events::{Benchmark, Params};
    use inkstone_base::job::Ctx;
    use inkstone_market::table::DailyTable;

    fn table(text: &str) -> (tempfile::TempDir, TableByName) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        let columns = ["close", "volume", "value", "quantile"];
        let ctx = Ctx::new(1, 1).unwrap();
        let table = TableByName::new(&DailyTable::open(&path).unwrap(), &columns, dir.path(), &ctx).unwrap();
        (dir, table)
    }

    fn document(number: u32, time: &str) -> TracedDocument {
        let published_at = NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M").unwrap();
        TracedDocument { number, published_at, ..TracedDocument::default() }
    }

    #[test]
    fn a_stock_has_states_values_and_returns_by_day() {
        let (_dir, prices) = table(
            "date,code,close,volume\n2024-01-02,600002.SH,5,1\n2024-01-03,600001.SH,10,100\n2024-01-04,600001.SH,11,100\n\
             2024-01-05,600001.SH,11,0\n2024-01-08,600001.SH,9.9,100\n2024-01-08,600002.SH,5,1\n2024-01-09,600002.SH,5,1\n",
        );
        let (_other, factor) = table(
            "date,code,value,quantile\n2024-01-03,600001.SH,-0.5,1\n2024-01-04,600001.SH,0.25,5\n2024-02-01,600001.SH,1,5\n",
        );
        let code = prices.index_of("600001").unwrap();
        let market = prices.market(code, &[]).unwrap();
        let (params, ctx) = (Params::default(), Ctx::new(1, 1).unwrap());
        let benchmark = Benchmark::new(&prices, &params, &ctx).unwrap();
        let returns = AbnormalReturns::new(&market, &benchmark, &params, &ctx).unwrap();
        let documents =
            vec![document(7, "2024-01-04 15:00"), document(3, "2024-01-04 09:00"), document(9, "2024-03-01 09:00")];
        let stock = Stock::new(&market, String::new(), &LimitRule::defaults())
            .unwrap()
            .with_factor("tone", &factor, 5)
            .unwrap()
            .with_documents(documents, &market, &returns, Cutoff::Close);
        use DayState::{Absent, DownLimit, Suspended, Traded, UpLimit};
        assert_eq!(stock.states, [Absent, Traded, UpLimit, Suspended, DownLimit, Absent]);
        assert_eq!((stock.days(Absent), stock.days(UpLimit)), (2, 1));
        let [first, second, third] = &stock.documents[..] else { panic!("{:?}", stock.documents) };
        assert_eq!((first.number, first.day, second.day, third.day), (3, Some(2), Some(3), None));
        assert_eq!(stock.factor_around(first), Some([(-0.5, 1), (0.25, 5)]));
        assert!(stock.factor_around(second).unwrap()[1].0.is_nan() && stock.factor_around(third).is_none());
        assert_eq!(second.tradable, "2024-01-05".parse().ok());
        // The other name stands still, so that the mean of all is half of the first day's rise; on resumption the index stood still.
        assert!((first.returns.day - 0.0).abs() < 1e-12, "{:?}", first.returns);
        assert!(second.returns.day.is_nan() && (second.returns.after[0] + 0.1).abs() < 1e-12, "{:?}", second.returns);
        assert!(third.returns.after.iter().all(|after| after.is_nan()));
    }
}
