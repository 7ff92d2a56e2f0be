//! The test of a factor against later returns, without look-ahead.

mod outcome;
mod params;

pub use outcome::{
    Coverage, IcDecay, IcSeries, IcSummary, Layers, LongShort, Outcome, PortfolioFigures, Refusal, Stability,
    YearFigures,
};
pub use params::{Params, Preset};
