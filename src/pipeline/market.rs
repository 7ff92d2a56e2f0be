//! The market of a project: its securities and its prices.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::PipelineRun;
use inkstone_base::code::Code;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_features::plan::Plan;
use inkstone_market::table::Table;
use inkstone_market::{Market, Security, securities_from_frame};
use inkstone_tables::frames::{self, ParquetColumns};
use inkstone_tables::project::Project;

impl PipelineRun<'_> {
    /// Reads the market, if there are prices.
    pub(super) fn read_market(&mut self) -> Result<()> {
        if self.project.prices().exists() {
            self.market = Some(market_with(&self.project, &securities(&self.project)?)?);
        }
        Ok(())
    }
}

/// The market that a worker on a plan needs, if any, and the key of its prices.
pub fn market_of(plan: &Plan) -> Result<(Option<Market>, Key)> {
    let project = plan.project();
    if !plan.needs_prices() || !project.prices().exists() {
        return Ok((None, Key::default()));
    }
    Ok((Some(market_with(&project, &securities(&project)?)?), disk::hash_file(&project.prices())?))
}

/// The table of securities of a project; empty where there is none.
pub(super) fn securities(project: &Project) -> Result<Vec<Security>> {
    if !project.securities().exists() {
        return Ok(Vec::new());
    }
    securities_from_frame(&frames::read_parquet(&project.securities(), None)?)
}

/// The market of a project's own table of prices.
pub(super) fn market_with(project: &Project, securities: &[Security]) -> Result<Market> {
    let path = project.prices();
    let table = Table::Parquet(ParquetColumns::ours(&path)?);
    Market::from_table(&table, securities).with_context(|| format!("the price table {}", path.display()))
}

/// The securities that texts are linked to; without a table of them, the codes of the price table, which have no names.
pub(super) fn linkable(project: &Project) -> Result<Vec<Security>> {
    let table = securities(project)?;
    if !table.is_empty() || !project.prices().exists() {
        return Ok(table);
    }
    let prices = frames::read_parquet(&project.prices(), Some(&["code"]))?;
    let codes: BTreeSet<&str> = prices.column("code")?.str()?.iter().flatten().collect();
    Ok(codes.into_iter().map(|code| Security::unnamed(Code::canonical(code))).collect())
}
