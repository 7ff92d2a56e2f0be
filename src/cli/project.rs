//! Flags of the commands that work on a project, and of the backtest on anybody's tables.

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

/// Flags of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Size: 1 is about 200 securities and 9,500 documents over two years.
    #[arg(long, default_value_t = 1.0, value_parser = flag::<f64>("--scale"))]
    pub scale: f64,
    /// Folder for the data, the configuration and the results.
    #[arg(long, default_value = DEMO_FOLDER)]
    pub dir: PathBuf,
}

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Which project.
    #[command(flatten)]
    pub project: Project,
    /// Stop after this stage.
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<Stage>,
}

/// Flags of `boilerplate`.
#[derive(Debug, Args)]
pub struct Boilerplate {
    /// Which project.
    #[command(flatten)]
    pub project: Project,
    /// List that of one publisher alone; - lists what is everybody's.
    #[arg(long, value_name = "NAME")]
    pub publisher: Option<String>,
    /// Ids of sentences that are boilerplate. They are marked from the time that the corpus made them known, as before.
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub accept: Vec<String>,
    /// Ids of sentences that are not, and are never marked.
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub refuse: Vec<String>,
}

/// Flags of `backtest`.
#[derive(Clone, Debug, Args)]
pub struct Backtest {
    /// Which project (without --factor).
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
    /// What is done about texts in CSV files that a spreadsheet would compute: quote puts an apostrophe in front.
    #[arg(long, value_name = "WHAT", requires = "out", default_value = "keep")]
    pub csv_formulas: Formulas,
    /// Folder of the research ledger (default: that of .inkstone in the current folder).
    #[arg(long, value_name = "DIR", requires = "factor")]
    pub ledger: Option<PathBuf>,
    /// Conventions to follow.
    #[arg(long)]
    pub preset: Option<Preset>,
    /// Holding periods in trading days.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = flag::<usize>("backtest.horizons"))]
    pub horizons: Option<Vec<usize>>,
    /// Number of layers.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.quantiles"))]
    pub quantiles: Option<usize>,
    /// Trading days from the factor's date to the trade; 0 and less pair it with returns of its own day.
    #[arg(long, value_name = "DAYS", allow_hyphen_values = true, value_parser = flag::<i32>("backtest.delay"))]
    pub delay: Option<i32>,
    /// Price of the trades.
    #[arg(long)]
    pub price: Option<Price>,
    /// Weights of the names of a layer.
    #[arg(long)]
    pub weights: Option<Weights>,
    /// Cut quantiles within each industry.
    #[arg(long)]
    pub within_industry: bool,
    /// What books are compared with: universe (the mean of what traded), none, or a code of the price table.
    #[arg(long, value_name = "CODE")]
    pub benchmark: Option<String>,
    /// Names of the book of the best ones; 0: none.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.top"))]
    pub top: Option<usize>,
    /// Names of it that are replaced at most at a rebalancing.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.drop"))]
    pub drop: Option<usize>,
    /// Slippage in basis points, of what is bought and of what is sold.
    #[arg(long, value_name = "BPS", value_parser = flag::<f64>("backtest.slippage_bps"))]
    pub slippage_bps: Option<f64>,
    /// Capital of a book in CNY, whose orders are rounded to lots; 0: no lots.
    #[arg(long, value_name = "CNY", value_parser = flag::<f64>("backtest.capital"))]
    pub capital: Option<f64>,
    /// Return assumed of a holding that is delisted, after its last price (-0.5: half is lost).
    #[arg(long, value_name = "RETURN", allow_hyphen_values = true, value_parser = flag::<f64>("backtest.delisting_return"))]
    pub delisting_return: Option<f64>,
    /// Trading days of a listing in which a name is left alone.
    #[arg(long, value_name = "DAYS", value_parser = flag::<usize>("backtest.min_listed_days"))]
    pub min_listed_days: Option<usize>,
    /// Largest share of values that may go unused, whatever the reason (0.35 = 35 %).
    #[arg(long, value_name = "SHARE", value_parser = flag::<f64>("backtest.max_loss"))]
    pub max_loss: Option<f64>,
    /// Use values that were not known before the return began. The result is marked as such everywhere.
    #[arg(long)]
    pub allow_lookahead: bool,
}

/// Flags of `experiment`.
#[derive(Debug, Args)]
pub struct Experiment {
    /// Which project.
    #[command(flatten)]
    pub project: Project,
    /// The experiment; without it all of the configuration.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Strategies and lengths as others have published them, instead of those of the configuration.
    #[arg(long)]
    pub preset: Option<inkstone_features::experiment::Preset>,
}

/// Flags of `drift`.
#[derive(Debug, Args)]
pub struct Drift {
    /// Which project.
    #[command(flatten)]
    pub project: Project,
    /// The feature, one with model = "onnx".
    #[arg(long, value_name = "NAME")]
    pub feature: String,
    /// The other form of its model: a file .onnx of half precision or integers, or the folder of one.
    #[arg(long, value_name = "MODEL")]
    pub against: PathBuf,
}

/// Flags of `store`.
#[derive(Debug, Args)]
pub struct Store {
    /// What to do with the store.
    #[command(subcommand)]
    pub action: StoreAction,
    /// The configuration.
    #[arg(short, long, value_name = "FILE", default_value = "workbench.toml", global = true)]
    pub config: PathBuf,
}

/// What to do with the store.
#[derive(Clone, Debug, Subcommand)]
pub enum StoreAction {
    /// Check every table, every file and every block of the project against its checksum.
    Verify,
    /// Remove what is damaged and keep what is sound; the next run makes the rest again.
    Repair,
    /// Give back the space of sets that the configuration no longer uses, and of what was overwritten.
    Compact,
    /// Sizes of the files and of the sets in them.
    Stats,
    /// Write finished sets as Parquet files, for other tools and for import.
    #[command(group(ArgGroup::new("which").required(true).args(["set", "all"])))]
    Export {
        /// The set: its name, or its id where several have that name.
        #[arg(long, value_name = "NAME|ID")]
        set: Option<String>,
        /// All finished sets, a file each.
        #[arg(long)]
        all: bool,
        /// The file; with --all the folder.
        #[arg(long, value_name = "PATH")]
        out: PathBuf,
    },
    /// Take in sets that export wrote, to the bit. What is damaged, or there already with other rows, is refused.
    Import {
        /// The files.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}
