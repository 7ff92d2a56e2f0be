//! The test of a factor against later returns, without look-ahead.

mod outcome;

pub use outcome::{Coverage, IcSeries, IcSummary, Layers, LongShort, Outcome, PortfolioFigures, Refusal, YearFigures};
