//! The market of a project: its securities and its prices.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::PipelineRun;
use inkstone_base::code::Code;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_corpus::ingest;
use inkstone_corpus::link::{LearnedName, read_names};
use inkstone_features::plan::Plan;
use inkstone_market::table::DailyTable;
use inkstone_market::{
    CompanyEvent, LazyMarket, Market, Relation, Security, events_from_frame, relations_from_frame,
    securities_from_frame,
};
use inkstone_tables::frames::{self, ParquetColumns};
use inkstone_tables::project::Project;

impl PipelineRun<'_> {
    /// The market of the project, read when a stage needs it; none without prices.
    pub(super) fn open_market(&mut self) {
        self.market = lazy_market(&self.project);
    }
}

/// The market, which factors cannot do without.
pub(super) fn needed(market: &Option<LazyMarket>) -> Result<&Market> {
    market
        .as_ref()
        .context(Word(
            "因子需要行情：请添加 table = \"prices\" 的 [[source]]",
            "factors need prices: add a [[source]] with table = \"prices\"",
        ))?
        .get()
}

/// The market that a worker on a plan needs, if any, and the key of its prices.
pub fn market_of(plan: &Plan) -> Result<(Option<LazyMarket>, Key)> {
    let project = plan.project();
    if !plan.needs_prices() || !project.prices().exists() {
        return Ok((None, Key::default()));
    }
    Ok((lazy_market(&project), disk::hash_file(&project.prices())?))
}

/// The market of a project; none without prices.
pub(super) fn lazy_market(project: &Project) -> Option<LazyMarket> {
    let project = project.clone();
    project.prices().exists().then(|| LazyMarket::new(move || market_with(&project, &securities(&project)?)))
}

/// The table of securities of a project; empty where there is none.
pub(super) fn securities(project: &Project) -> Result<Vec<Security>> {
    if !project.securities().exists() {
        return Ok(Vec::new());
    }
    securities_from_frame(&frames::read_parquet(&project.securities(), None)?)
}

/// The securities with names for people: the table of securities, and for each other code the name that most documents showed beside it.
/// No computation uses the names of documents, as they say nothing on when a name holds.
pub(super) fn named_securities(project: &Project) -> Result<Vec<Security>> {
    let mut named = securities(project)?;
    let in_table: BTreeSet<Code> = named.iter().map(|security| security.code.clone()).collect();
    let mut shown: BTreeMap<Code, LearnedName> = BTreeMap::new();
    for learned in read_names(&project.names())?.into_iter().filter(|learned| !in_table.contains(&learned.code)) {
        let most = shown.entry(learned.code.clone()).or_insert_with(|| learned.clone());
        if learned.showings > most.showings {
            *most = learned;
        }
    }
    named.extend(shown.into_values().map(|learned| Security { name: learned.name, ..Security::unnamed(learned.code) }));
    Ok(named)
}

/// The table of relations of a project, which factors that spread numbers over it cannot do without.
pub(super) fn relations(project: &Project) -> Result<Vec<Relation>> {
    let path = project.relations();
    ensure!(
        path.exists(),
        "graph = relations 需要关系表：请添加 table = \"relations\" 的 [[source]]",
        "graph = relations needs a table of relations: add a [[source]] with table = \"relations\""
    );
    relations_from_frame(&frames::read_parquet(&path, None)?)
        .with_context(|| message!("关系表 {}", "the table of relations {}", path.display()))
}

/// The table of events of a project; empty where there is none.
pub(super) fn company_events(project: &Project) -> Result<Vec<CompanyEvent>> {
    let path = project.company_events();
    if !path.exists() {
        return Ok(Vec::new());
    }
    events_from_frame(&frames::read_parquet(&path, None)?)
        .with_context(|| message!("事件表 {}", "the table of events {}", path.display()))
}

/// The market of a project's own table of prices.
pub(super) fn market_with(project: &Project, securities: &[Security]) -> Result<Market> {
    let path = project.prices();
    let table = DailyTable::Parquet(ParquetColumns::ours(&path)?);
    Market::from_table(&table, securities).with_context(|| message!("行情表 {}", "the price table {}", path.display()))
}

/// The securities that texts are linked to; without a table of them, the codes of the price table, which have no names.
pub(super) fn linkable(project: &Project) -> Result<Vec<Security>> {
    let table = securities(project)?;
    if !table.is_empty() || !project.prices().exists() {
        return Ok(table);
    }
    let codes = ingest::price_codes(project)?;
    Ok(codes.iter().map(|code| Security::unnamed(Code::canonical(code))).collect())
}
