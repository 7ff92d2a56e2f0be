//! A feature of a project as a table for other tools.

use std::path::Path;

use anyhow::{Context, Result};

use crate::config::Config;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_features::extract;
use inkstone_store::Reader;

/// Writes the rows that the last run made of a feature as a table of documents ([`extract::write_document_table`]).
pub fn write_document_table(config: &Config, base: &Path, feature: &str, out: &Path, ctx: &Ctx) -> Result<Report> {
    let project = super::project(config, base);
    let known = || config.feature.iter().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", ");
    ensure!(
        config.feature.iter().any(|known| known.name == feature),
        "没有特征 {feature:?}；现有特征：{}",
        "there is no feature {feature:?}; the features are {}",
        known()
    );
    let absent = || {
        message!(
            "没有特征 {feature:?} 的行：请运行 inkstone extract",
            "the rows of feature {feature:?} are not there: run inkstone extract"
        )
    };
    let id = super::feature_set(&project, feature).with_context(absent)?;
    let store = Reader::open(&project.store())?;
    let set = store.set(&id)?.with_context(absent)?;
    let has_prices = project.prices().exists();
    let market = if has_prices { Some(super::market_with(&project, &super::securities(&project)?)?) } else { None };
    let days = market.as_ref().map(|market| (market.calendar(), config.market.cutoff));
    extract::write_document_table(&set, &project.clean(), days, out, ctx)
}
