//! Reads one stock of a project: prices, a factor's values, and the documents that are linked to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use super::market::named_securities;
use super::project;
use super::securities;
use super::trace::{FileTime, documents_of, file_time, starts};
use crate::config::Config;
use inkstone_base::code::Code;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_lab::backtest::events::{AbnormalReturns, Benchmark};
use inkstone_lab::stock::Stock;
use inkstone_market::table::DailyTable;
use inkstone_market::{Security, TableByName};
use inkstone_tables::frames::{self, ParquetColumns};
use inkstone_tables::project::Project;

/// The columns of the price table that a stock is read with.
const PRICES: [&str; 7] = ["open", "high", "low", "close", "volume", "up_limit", "down_limit"];

/// Reads the stocks of a project. It keeps the tables turned round, in files without a name, until their files change.
pub struct StockReader {
    config: Config,
    project: Project,
    prices: Kept<StockPrices>,
    links: Kept<LinkedDocuments>,
    factor: Kept<TableByName>,
}

/// A value made from files, and the times of those files.
pub(super) type Kept<T> = Mutex<Option<(Vec<FileTime>, Arc<T>)>>;

struct StockPrices {
    table: TableByName,
    benchmark: Benchmark,
    securities: Vec<Security>,
    /// Securities with names for people ([`named_securities`]).
    named: Vec<Security>,
}

/// Documents by code.
struct LinkedDocuments {
    /// Number of the first document of each part, and of all documents.
    starts: Vec<u32>,
    by_code: BTreeMap<Code, BTreeSet<u32>>,
}

impl StockReader {
    /// Reads the stocks of a configuration, whose paths are relative to `base`.
    pub fn new(config: &Config, base: &Path) -> StockReader {
        let (prices, links, factor) = Default::default();
        StockReader { config: config.clone(), project: project(config, base), prices, links, factor }
    }

    /// Reads what all stocks need, so that one is there at once when it is asked for.
    pub fn prepare(&self, factor: Option<&str>, ctx: &Ctx) -> Result<()> {
        self.prices(ctx)?;
        self.links(ctx)?;
        factor.map_or(Ok(()), |factor| self.factor(factor, ctx).map(drop))
    }

    /// The codes of the price table, ascending, each with its latest name, which is empty where none is known.
    pub fn list(&self, ctx: &Ctx) -> Result<Vec<(String, String)>> {
        let prices = self.prices(ctx)?;
        let mut names: BTreeMap<&Code, &Security> = BTreeMap::new();
        for security in &prices.named {
            let latest = names.entry(&security.code).or_insert(security);
            if security.from >= latest.from {
                *latest = security;
            }
        }
        let name = |code: &Code| names.get(code).map(|security| security.name.clone()).unwrap_or_default();
        Ok(prices.table.codes().iter().map(|code| (code.to_string(), name(code))).collect())
    }

    /// The codes that the document of this number is linked to and that have prices, ascending.
    pub fn of_document(&self, number: u32, ctx: &Ctx) -> Result<Vec<String>> {
        let (links, prices) = (self.links(ctx)?, self.prices(ctx)?);
        let with_prices = |code: &&Code| prices.table.index_of(code.as_str()).is_some();
        let of_document = links.by_code.iter().filter(|(_, numbers)| numbers.contains(&number)).map(|(code, _)| code);
        Ok(of_document.filter(with_prices).map(Code::to_string).collect())
    }

    /// A stock by its code, however written, or its name; with the values of a factor, where it is built.
    pub fn read(&self, stock: &str, factor: Option<&str>, ctx: &Ctx) -> Result<Stock> {
        let prices = self.prices(ctx)?;
        let named = || {
            let bears = |security: &&Security| security.name == stock || security.aliases.iter().any(|a| a == stock);
            prices.table.index_of(prices.named.iter().rfind(bears)?.code.as_str())
        };
        let code = prices.table.index_of(stock).or_else(named).with_context(|| {
            message!(
                "{stock} 不在行情表中：代码写作 600519、600519.SH 或 SH600519，或写证券简称",
                "{stock} is not in the price table: write a code as 600519, 600519.SH or SH600519, or the name of a security"
            )
        })?;
        let code_text = &prices.table.codes()[code];
        let of_code: Vec<Security> = prices.securities.iter().filter(|s| s.code == *code_text).cloned().collect();
        let named = prices.named.iter().filter(|s| s.code == *code_text);
        let name = named.max_by_key(|security| security.from).map(|security| security.name.clone());
        let market = prices.table.market(code, &of_code)?;
        let mut found = Stock::new(&market, name.unwrap_or_default(), &self.config.backtest.limits)?;
        if let Some(factor) = factor {
            self.config.find_factor(factor)?;
            if let Some(table) = self.factor(factor, ctx)? {
                found = found.with_factor(factor, &table, self.config.backtest.quantiles)?;
            }
        }
        let links = self.links(ctx)?;
        let none = BTreeSet::new();
        let numbers = links.by_code.get(code_text).unwrap_or(&none);
        let documents = documents_of(&self.project.clean(), &links.starts, numbers, true, ctx)?;
        let returns = AbnormalReturns::new(&market, &prices.benchmark, &self.config.events, ctx)?;
        let cutoff = self.config.market.cutoff;
        Ok(found.with_documents(documents.into_values().collect(), &market, &returns, cutoff))
    }

    fn prices(&self, ctx: &Ctx) -> Result<Arc<StockPrices>> {
        let project = &self.project;
        ensure!(
            project.prices().exists(),
            "还没有行情：请添加 table = \"prices\" 的 [[source]]，再运行 inkstone ingest",
            "there are no prices yet: add a [[source]] with table = \"prices\" and run inkstone ingest"
        );
        kept(&self.prices, [project.prices(), project.securities(), project.names()], || {
            let table = DailyTable::Parquet(ParquetColumns::ours(&project.prices())?);
            let table = TableByName::new(&table, &PRICES, project.dir(), ctx)?;
            let benchmark = Benchmark::new(&table, &self.config.events, ctx)?;
            Ok(StockPrices { table, benchmark, securities: securities(project)?, named: named_securities(project)? })
        })
    }

    fn links(&self, ctx: &Ctx) -> Result<Arc<LinkedDocuments>> {
        let (clean, links) = (self.project.clean(), self.project.links());
        let files = clean.files()?.into_iter().chain(links.files()?);
        kept(&self.links, files, || {
            let starts = starts(&clean)?;
            let mut by_code: BTreeMap<Code, BTreeSet<u32>> = BTreeMap::new();
            // Parts that are cleaned and not linked yet have no documents here.
            for part in (0..starts.len() - 1).filter(|part| links.path(*part).exists()) {
                ctx.check()?;
                let of_part = links_of_part(&links.path(part))?;
                for row in 0..starts[part + 1] - starts[part] {
                    for code in codes_of(&of_part, row) {
                        by_code.entry(code).or_default().insert(starts[part] + row);
                    }
                }
            }
            Ok(LinkedDocuments { starts, by_code })
        })
    }

    /// A factor's values and layers; values alone before its backtest, and none before it is built.
    fn factor(&self, name: &str, ctx: &Ctx) -> Result<Option<Arc<TableByName>>> {
        let (built, tested) = (self.project.factor(name), self.project.backtest_names(name));
        let path = if tested.exists() { &tested } else { &built };
        if !path.exists() || frames::rows_of_parquet(path)? == 0 {
            return Ok(None);
        }
        let read = || {
            let table = DailyTable::Parquet(ParquetColumns::ours(path)?);
            TableByName::new(&table, &["value", "quantile"], self.project.dir(), ctx)
        };
        kept(&self.factor, [built.clone(), tested.clone()], read).map(Some)
    }
}

/// The value that `read` makes from the files. `read` runs again when one of the files has changed.
pub(super) fn kept<T>(
    place: &Kept<T>,
    files: impl IntoIterator<Item = PathBuf>,
    read: impl FnOnce() -> Result<T>,
) -> Result<Arc<T>> {
    let times: Vec<FileTime> = files.into_iter().map(file_time).collect();
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, made)) = place.as_ref().filter(|(before, _)| *before == times) {
        return Ok(made.clone());
    }
    *place = None;
    let made = Arc::new(read()?);
    *place = Some((times, made.clone()));
    Ok(made)
}
