//! The stages that a run is expected to come to, weighted by their seconds: what its bar is made of.

use std::path::Path;

use super::forecast::{Forecast, forecast, forecast_of_rows, rows_a_second};
use super::stage::{Stage, StageId};
use crate::config::Config;
use inkstone_base::expected::ExpectedStage;
use inkstone_base::job::Ctx;
use inkstone_features::extract::Feature;

/// Documents whose truncation is counted in a second.
const AUDITED_A_SECOND: f64 = 25_000.0;

/// Time of a cell as a share of that of its feature on all documents.
const CELL_SHARE: f64 = 0.5;

/// Expects the stages up to and including `last`. A run whose stages cannot be foreseen goes on without a bar of the whole.
pub(super) fn expect_stages(config: &Config, base: &Path, last: Stage, ctx: &Ctx) {
    if let Ok(stages) = forecast(config, base, last, ctx) {
        ctx.expect(expected(&stages));
    }
}

/// The stages of a run on files that are still to be made, with so many documents and rows of prices.
pub fn expected_of_rows(config: &Config, base: &Path, documents: u64, prices: u64, ctx: &Ctx) -> Vec<ExpectedStage> {
    forecast_of_rows(config, base, documents, prices, ctx).map(|stages| expected(&stages)).unwrap_or_default()
}

/// Expects the stages of experiments: those that the corpus needs, then the cells, each under the name of its stage, with its feature.
pub(super) fn expect_cells<'a>(
    config: &Config,
    base: &Path,
    experiments: impl Iterator<Item = (&'a str, Vec<&'a Feature>)>,
    ctx: &Ctx,
) {
    let Ok(before) = forecast(config, base, Stage::Structure, ctx) else { return };
    let documents = before.iter().find(|stage| stage.stage == StageId::Clean).map_or(0, |stage| stage.rows);
    let cells = experiments.flat_map(|(name, cells)| expected_cells(name, &cells, documents));
    ctx.expect(expected(&before).into_iter().chain(cells).collect());
}

/// The stages of one experiment on so many documents.
pub(super) fn expected_cells(experiment: &str, cells: &[&Feature], documents: u64) -> Vec<ExpectedStage> {
    let stage = |name: &str, seconds: f64| ExpectedStage { name: name.to_owned(), seconds, units: 0 };
    // Cells mostly read a part of the corpus, and share what they count.
    let seconds = |cell: &Feature| CELL_SHARE * documents as f64 / rows_a_second(cell.model);
    let cells = cells.iter().map(|cell| stage(&cell.name, seconds(cell)));
    let audit = stage(&format!("audit of {experiment}"), documents as f64 / AUDITED_A_SECOND);
    [audit].into_iter().chain(cells).chain([stage(&format!("experiment {experiment}"), 0.1)]).collect()
}

/// Forecasts as the bar of a run takes them.
pub(super) fn expected(stages: &[Forecast]) -> Vec<ExpectedStage> {
    let expected = |stage: &Forecast| {
        // Stages of factors count other units than the rows of the forecast.
        let units = if stage.stage.reads_rows() { stage.rows } else { 0 };
        ExpectedStage { name: stage.stage.to_string(), seconds: stage.seconds, units }
    };
    stages.iter().map(expected).collect()
}
