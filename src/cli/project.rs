//! Flags of the commands that work on a project, and of the backtest of any tables.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use crate::config::bounds::flag;
use crate::pipeline::Stage;
use inkstone_base::disk::Formulas;
use inkstone_lab::backtest::{Preset, Weights};
use inkstone_lab::export::{Format, Shape};
use inkstone_market::Price;

/// Which project a command works on.
#[derive(Clone, Debug, Args)]
pub struct Project {
    /// The configuration.
    #[arg(short, long, value_name = "FILE", default_value = "workbench.toml")]
    pub config: PathBuf,
}

/// Folder of the demo, where none is given.
pub const DEMO_FOLDER: &str = "inkstone-demo";

#[derive(Debug, Args)]
pub struct Demo {
    /// Size of the market: 1 is about 200 securities and 9,500 documents over two years.
    #[arg(long, default_value_t = 1.0, value_parser = flag::<f64>("--scale"))]
    pub scale: f64,
    /// Also train the models and run the experiments that the workbench shows; in the workbench this is always done.
    #[arg(long)]
    pub full: bool,
    /// Folder for the data, the configuration and the results.
    #[arg(long, default_value = DEMO_FOLDER)]
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub project: Project,
    /// Stop after this stage.
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<Stage>,
    /// Run the commands that the configuration names: those of its sources first, those that are told of events at the end.
    #[arg(long)]
    pub commands: bool,
    /// Read the sealed period in this run, for this reason; the ledger keeps both for ever.
    #[arg(long, value_name = "REASON")]
    pub open_vault: Option<String>,
    /// Run nothing: say which stages would be kept, which would run and why, and how long each takes.
    #[arg(long)]
    pub plan: bool,
}

#[derive(Debug, Args)]
pub struct Revisions {
    #[command(flatten)]
    pub project: Project,
    /// Show this factor only.
    #[arg(long, value_name = "NAME")]
    pub factor: Option<String>,
    /// Number of revisions to show of documents and prices, and of each factor; the newest.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub count: usize,
}

#[derive(Debug, Args)]
pub struct Boilerplate {
    #[command(flatten)]
    pub project: Project,
    /// List only the boilerplate of this publisher; - lists what several publishers share.
    #[arg(long, value_name = "NAME")]
    pub publisher: Option<String>,
    /// Ids of sentences to accept. They stay marked as boilerplate from the time at which the corpus made them known.
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub accept: Vec<String>,
    /// Ids of sentences to refuse. They are never marked as boilerplate.
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub refuse: Vec<String>,
}

#[derive(Clone, Debug, Args)]
pub struct Backtest {
    #[command(flatten)]
    pub project: Project,
    /// A factor table (Parquet or CSV: date, code, value[, known_at]) to test without a project.
    #[arg(long, value_name = "FILE", requires = "prices")]
    pub factor: Option<PathBuf>,
    /// A price table (Parquet or CSV: date, code, open, close, ...).
    #[arg(long, value_name = "FILE", requires = "factor")]
    pub prices: Option<PathBuf>,
    /// Folder for the tables of the result.
    #[arg(long, value_name = "DIR", requires = "factor")]
    pub out: Option<PathBuf>,
    /// Formats of the factor's tables (default: parquet).
    #[arg(long, value_name = "FORMAT,FORMAT", value_delimiter = ',', requires = "out")]
    pub formats: Option<Vec<Format>>,
    /// Shapes of the factor's tables (default: long,wide,alphalens,qlib).
    #[arg(long, value_name = "SHAPE,SHAPE", value_delimiter = ',', requires = "out")]
    pub shapes: Option<Vec<Shape>>,
    /// Begin CSV files with a byte-order mark, for Excel.
    #[arg(long, requires = "out")]
    pub bom: bool,
    /// Texts in CSV files that a spreadsheet would take for formulas: keep leaves them, quote puts an apostrophe in front.
    #[arg(long, value_name = "WHAT", requires = "out", default_value = "keep")]
    pub csv_formulas: Formulas,
    /// Folder of the research ledger (default: the one in .inkstone in the current folder).
    #[arg(long, value_name = "DIR", requires = "factor")]
    pub ledger: Option<PathBuf>,
    /// Follow the conventions of this project or of another package.
    #[arg(long)]
    pub preset: Option<Preset>,
    /// Holding periods in trading days.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = flag::<usize>("backtest.horizons"))]
    pub horizons: Option<Vec<usize>>,
    /// Number of quantile layers.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.quantiles"))]
    pub quantiles: Option<usize>,
    /// Trading days from the factor's date to the trade; with 0 or less a value is paired with a return of its own day.
    #[arg(long, value_name = "DAYS", allow_hyphen_values = true, value_parser = flag::<i32>("backtest.delay"))]
    pub delay: Option<i32>,
    /// Price of the trades.
    #[arg(long)]
    pub price: Option<Price>,
    /// Weights of the securities in a layer.
    #[arg(long)]
    pub weights: Option<Weights>,
    /// Form the quantiles within each industry.
    #[arg(long)]
    pub within_industry: bool,
    /// Benchmark of the portfolios: universe (the mean of all securities that traded), none, or a code of the price table.
    #[arg(long, value_name = "CODE")]
    pub benchmark: Option<String>,
    /// Number of securities in the portfolio of the highest values; 0: no such portfolio.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.top"))]
    pub top: Option<usize>,
    /// Most securities of the --top portfolio that are replaced at a rebalancing.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.drop"))]
    pub drop: Option<usize>,
    /// Slippage in basis points, on purchases and on sales.
    #[arg(long, value_name = "BPS", value_parser = flag::<f64>("backtest.slippage_bps"))]
    pub slippage_bps: Option<f64>,
    /// Capital of a portfolio in CNY, with orders rounded to lots; 0: orders of any size.
    #[arg(long, value_name = "CNY", value_parser = flag::<f64>("backtest.capital"))]
    pub capital: Option<f64>,
    /// Return assumed for a delisted holding after its last price (-0.5: half is lost).
    #[arg(long, value_name = "RETURN", allow_hyphen_values = true, value_parser = flag::<f64>("backtest.delisting_return"))]
    pub delisting_return: Option<f64>,
    /// Trading days after its listing in which a security is not traded.
    #[arg(long, value_name = "DAYS", value_parser = flag::<usize>("backtest.min_listed_days"))]
    pub min_listed_days: Option<usize>,
    /// Largest share of the values that may be left unused, for whatever reason (0.35 = 35 %).
    #[arg(long, value_name = "SHARE", value_parser = flag::<f64>("backtest.max_loss"))]
    pub max_loss: Option<f64>,
    /// Also use values that were not known before their return began. Every table of the result is marked as look-ahead.
    #[arg(long)]
    pub allow_lookahead: bool,
}

#[derive(Debug, Args)]
pub struct Experiment {
    #[command(flatten)]
    pub project: Project,
    /// The experiment to run; without this flag, all experiments of the configuration.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Write a published comparison into the configuration, with the features that it needs, and run it.
    #[arg(long, conflicts_with = "name")]
    pub preset: Option<crate::config::PublishedComparison>,
    /// Figure that judges the cells of a preset.
    #[arg(long, requires = "preset", default_value = "factor")]
    pub target: inkstone_features::experiment::Target,
}

#[derive(Debug, Args)]
pub struct Drift {
    #[command(flatten)]
    pub project: Project,
    /// The feature, which must have model = "onnx".
    #[arg(long, value_name = "NAME")]
    pub feature: String,
    /// The other form of its model, in half precision or integers: an .onnx file, or its folder.
    #[arg(long, value_name = "MODEL")]
    pub against: PathBuf,
}

#[derive(Debug, Args)]
pub struct Store {
    /// Action on the store.
    #[command(subcommand)]
    pub action: StoreAction,
    /// The configuration.
    #[arg(short, long, value_name = "FILE", default_value = "workbench.toml", global = true)]
    pub config: PathBuf,
}

/// Action on the store.
#[derive(Clone, Debug, Subcommand)]
pub enum StoreAction {
    /// Check every table, every file and every block of the project against its checksum.
    Verify,
    /// Remove damaged files and rows and keep the rest; the next run makes them again.
    Repair,
    /// Free the space of sets that the configuration no longer uses, and of overwritten rows.
    Compact,
    /// Show the sizes of the files and of the sets in them.
    Stats,
    /// Write finished sets as Parquet files, for other tools and for import.
    #[command(group(ArgGroup::new("which").required(true).args(["set", "all", "documents"])))]
    Export {
        /// Name of the set, or its id if several sets have that name.
        #[arg(long, value_name = "NAME|ID")]
        set: Option<String>,
        /// Export all finished sets, one file each.
        #[arg(long)]
        all: bool,
        /// Write the rows of this feature with the id of each document, its time of publication, and the time from which on its values are
        /// known: a table for other tools, not for import.
        #[arg(long, value_name = "FEATURE")]
        documents: Option<String>,
        /// File to write; with --all, the folder.
        #[arg(long, value_name = "PATH")]
        out: PathBuf,
    },
    /// Import sets that export wrote, bit for bit. A damaged file is refused, and so is a set that exists with other rows.
    Import {
        /// Files to import.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}
