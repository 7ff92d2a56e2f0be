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
    ///
    /// 配置文件。
    #[arg(short, long, value_name = "FILE", default_value = "workbench.toml")]
    pub config: PathBuf,
}

/// Folder of the demo, where none is given.
pub const DEMO_FOLDER: &str = "inkstone-demo";

#[derive(Debug, Args)]
pub struct Demo {
    /// Size of the market: 1 is about 200 securities and 9,500 documents over two years.
    ///
    /// 市场的规模：1 约为 200 只证券、两年 9,500 篇文档。
    #[arg(long, default_value_t = 1.0, value_parser = flag::<f64>("--scale"))]
    pub scale: f64,
    /// Also train the models and run the experiments that the workbench shows; in the workbench this is always done.
    ///
    /// 同时训练工作台所展示的模型并运行实验；在工作台中总是如此。
    #[arg(long)]
    pub full: bool,
    /// Folder for the data, the configuration and the results.
    ///
    /// 数据、配置与结果的文件夹。
    #[arg(long, default_value = DEMO_FOLDER)]
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub project: Project,
    /// Stop after this stage.
    ///
    /// 在该阶段之后停止。
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<Stage>,
    /// Run the commands that the configuration names: those of its sources first, those that are told of events at the end.
    ///
    /// 运行配置中写的命令：先是各来源的，最后是接收事件的。
    #[arg(long)]
    pub commands: bool,
    /// Read the sealed period in this run, for this reason; the ledger keeps both for ever.
    ///
    /// 本次运行读取封存期，并写明理由；台账永久保存两者。
    #[arg(long, value_name = "REASON")]
    pub open_vault: Option<String>,
    /// Run nothing: say which stages would be kept, which would run and why, and how long each takes.
    ///
    /// 不运行：说明哪些阶段沿用、哪些要运行及原因、各需多久。
    #[arg(long)]
    pub plan: bool,
}

#[derive(Debug, Args)]
pub struct Revisions {
    #[command(flatten)]
    pub project: Project,
    /// Show this factor only.
    ///
    /// 只显示该因子。
    #[arg(long, value_name = "NAME")]
    pub factor: Option<String>,
    /// Number of revisions to show of documents and prices, and of each factor; the newest.
    ///
    /// 显示文档、行情与每个因子最近的修订条数。
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub count: usize,
}

#[derive(Debug, Args)]
pub struct Boilerplate {
    #[command(flatten)]
    pub project: Project,
    /// List only the boilerplate of this publisher; - lists what several publishers share.
    ///
    /// 只列出该机构的套话；- 列出各机构共有的。
    #[arg(long, value_name = "NAME")]
    pub publisher: Option<String>,
    /// Ids of sentences to accept. They stay marked as boilerplate from the time at which the corpus made them known.
    ///
    /// 要接受的句子编号。自语料使其可知之时起标为套话。
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub accept: Vec<String>,
    /// Ids of sentences to refuse. They are never marked as boilerplate.
    ///
    /// 要拒绝的句子编号。永不标为套话。
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub refuse: Vec<String>,
}

#[derive(Clone, Debug, Args)]
pub struct Backtest {
    #[command(flatten)]
    pub project: Project,
    /// A factor table (Parquet or CSV: date, code, value[, known_at]) to test without a project.
    ///
    /// 不用项目而检验的因子表（Parquet 或 CSV：date、code、value[、known_at]）。
    #[arg(long, value_name = "FILE", requires = "prices")]
    pub factor: Option<PathBuf>,
    /// A price table (Parquet or CSV: date, code, open, close, ...).
    ///
    /// 行情表（Parquet 或 CSV：date、code、open、close 等）。
    #[arg(long, value_name = "FILE", requires = "factor")]
    pub prices: Option<PathBuf>,
    /// Folder for the tables of the result.
    ///
    /// 结果各表的文件夹。
    #[arg(long, value_name = "DIR", requires = "factor")]
    pub out: Option<PathBuf>,
    /// Formats of the factor's tables (default: parquet).
    ///
    /// 因子表的格式（默认：parquet）。
    #[arg(long, value_name = "FORMAT,FORMAT", value_delimiter = ',', requires = "out")]
    pub formats: Option<Vec<Format>>,
    /// Shapes of the factor's tables (default: long,wide,alphalens,qlib).
    ///
    /// 因子表的形状（默认：long,wide,alphalens,qlib）。
    #[arg(long, value_name = "SHAPE,SHAPE", value_delimiter = ',', requires = "out")]
    pub shapes: Option<Vec<Shape>>,
    /// Begin CSV files with a byte-order mark, for Excel.
    ///
    /// CSV 以 BOM 开头，供 Excel 使用。
    #[arg(long, requires = "out")]
    pub bom: bool,
    /// Texts in CSV files that a spreadsheet would take for formulas: keep leaves them, quote puts an apostrophe in front.
    ///
    /// CSV 中会被电子表格当作公式的文本：keep 保持原样，quote 在前面加撇号。
    #[arg(long, value_name = "WHAT", requires = "out", default_value = "keep")]
    pub csv_formulas: Formulas,
    /// Folder of the research ledger (default: the one in .inkstone in the current folder).
    ///
    /// 研究台账的文件夹（默认：当前文件夹的 .inkstone 中）。
    #[arg(long, value_name = "DIR", requires = "factor")]
    pub ledger: Option<PathBuf>,
    /// Follow the conventions of this project or of another package.
    ///
    /// 采用本项目或其他软件包的惯例。
    #[arg(long)]
    pub preset: Option<Preset>,
    /// Holding periods in trading days.
    ///
    /// 持有期，交易日。
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = flag::<usize>("backtest.horizons"))]
    pub horizons: Option<Vec<usize>>,
    /// Number of quantile layers.
    ///
    /// 分层数。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.quantiles"))]
    pub quantiles: Option<usize>,
    /// Trading days from the factor's date to the trade; with 0 or less a value is paired with a return of its own day.
    ///
    /// 从因子日到交易的交易日数；不大于 0 时与当日的收益相配。
    #[arg(long, value_name = "DAYS", allow_hyphen_values = true, value_parser = flag::<i32>("backtest.delay"))]
    pub delay: Option<i32>,
    /// Price of the trades.
    ///
    /// 成交价。
    #[arg(long)]
    pub price: Option<Price>,
    /// Weights of the securities in a layer.
    ///
    /// 层内证券的权重。
    #[arg(long)]
    pub weights: Option<Weights>,
    /// Form the quantiles within each industry.
    ///
    /// 在行业内分层。
    #[arg(long)]
    pub within_industry: bool,
    /// Benchmark of the portfolios: universe (the mean of all securities that traded), none, or a code of the price table.
    ///
    /// 组合的基准：universe（全部可交易证券的均值）、none，或行情表中的代码。
    #[arg(long, value_name = "CODE")]
    pub benchmark: Option<String>,
    /// Number of securities in the portfolio of the highest values; 0: no such portfolio.
    ///
    /// 多头组合持有的证券数，取因子值最高者；0 为没有该组合。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.top"))]
    pub top: Option<usize>,
    /// Most securities of the --top portfolio that are replaced at a rebalancing.
    ///
    /// --top 组合每次调仓最多换出的证券数。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("backtest.drop"))]
    pub drop: Option<usize>,
    /// Slippage in basis points, on purchases and on sales.
    ///
    /// 买卖滑点，基点。
    #[arg(long, value_name = "BPS", value_parser = flag::<f64>("backtest.slippage_bps"))]
    pub slippage_bps: Option<f64>,
    /// Capital of a portfolio in CNY, with orders rounded to lots; 0: orders of any size.
    ///
    /// 组合资金（元），委托按手取整；0 为任意大小。
    #[arg(long, value_name = "CNY", value_parser = flag::<f64>("backtest.capital"))]
    pub capital: Option<f64>,
    /// Return assumed for a delisted holding after its last price (-0.5: half is lost).
    ///
    /// 退市股最后价格之后的假定收益（-0.5 即亏损一半）。
    #[arg(long, value_name = "RETURN", allow_hyphen_values = true, value_parser = flag::<f64>("backtest.delisting_return"))]
    pub delisting_return: Option<f64>,
    /// Trading days after its listing in which a security is not traded.
    ///
    /// 上市后不交易的交易日数。
    #[arg(long, value_name = "DAYS", value_parser = flag::<usize>("backtest.min_listed_days"))]
    pub min_listed_days: Option<usize>,
    /// Largest share of the values that may be left unused, for whatever reason (0.35 = 35 %).
    ///
    /// 因任何原因可不用的值的占比上限（0.35 即 35 %）。
    #[arg(long, value_name = "SHARE", value_parser = flag::<f64>("backtest.max_loss"))]
    pub max_loss: Option<f64>,
    /// Also use values that were not known before their return began. Every table of the result is marked as look-ahead.
    ///
    /// 也使用收益开始之前尚不可知的值。结果的各表都标为未来函数。
    #[arg(long)]
    pub allow_lookahead: bool,
}

#[derive(Debug, Args)]
pub struct Experiment {
    #[command(flatten)]
    pub project: Project,
    /// The experiment to run; without this flag, all experiments of the configuration.
    ///
    /// 要运行的实验；不写则为配置中的全部实验。
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Write a published comparison into the configuration, with the features that it needs, and run it.
    ///
    /// 把一个已发表的比较及其所需特征写入配置，并运行。
    #[arg(long, conflicts_with = "name")]
    pub preset: Option<crate::config::PublishedComparison>,
    /// Figure that judges the cells of a preset.
    ///
    /// 判断预设各单元的指标。
    #[arg(long, requires = "preset", default_value = "factor")]
    pub target: inkstone_features::experiment::Target,
}

#[derive(Debug, Args)]
pub struct Drift {
    #[command(flatten)]
    pub project: Project,
    /// The feature, which must have model = "onnx".
    ///
    /// 特征，须为 model = "onnx"。
    #[arg(long, value_name = "NAME")]
    pub feature: String,
    /// The other form of its model, in half precision or integers: an .onnx file, or its folder.
    ///
    /// 其模型的另一种形式，半精度或整数：.onnx 文件或其文件夹。
    #[arg(long, value_name = "MODEL")]
    pub against: PathBuf,
}

#[derive(Debug, Args)]
pub struct Store {
    /// Action on the store.
    ///
    /// 对特征库的操作。
    #[command(subcommand)]
    pub action: StoreAction,
    /// The configuration.
    ///
    /// 配置文件。
    #[arg(short, long, value_name = "FILE", default_value = "workbench.toml", global = true)]
    pub config: PathBuf,
}

/// Action on the store.
#[derive(Clone, Debug, Subcommand)]
pub enum StoreAction {
    /// Check every table, every file and every block of the project against its checksum.
    ///
    /// 按校验和检查项目的每个表、每个文件与每个块。
    Verify,
    /// Remove damaged files and rows and keep the rest; the next run makes them again.
    ///
    /// 去掉损坏的文件与行，保留其余；下次运行重新生成。
    Repair,
    /// Free the space of sets that the configuration no longer uses, and of overwritten rows.
    ///
    /// 释放配置不再使用的特征集与被覆盖的行所占的空间。
    Compact,
    /// Show the sizes of the files and of the sets in them.
    ///
    /// 显示各文件与其中特征集的大小。
    Stats,
    /// Write finished sets as Parquet files, for other tools and for import.
    ///
    /// 把完成的特征集写成 Parquet 文件，供其他工具或导入使用。
    #[command(group(ArgGroup::new("which").required(true).args(["set", "all", "documents"])))]
    Export {
        /// Name of the set, or its id if several sets have that name.
        ///
        /// 特征集的名称，同名有几个时写编号。
        #[arg(long, value_name = "NAME|ID")]
        set: Option<String>,
        /// Export all finished sets, one file each.
        ///
        /// 导出全部完成的特征集，每个一个文件。
        #[arg(long)]
        all: bool,
        /// Write the rows of this feature with the id of each document, its time of publication, and the time from which on its values are
        /// known: a table for other tools, not for import.
        ///
        /// 写出该特征的各行，附文档编号、发布时间与其值的可知时间：供其他工具使用的表，不供导入。
        #[arg(long, value_name = "FEATURE")]
        documents: Option<String>,
        /// File to write; with --all, the folder.
        ///
        /// 写出的文件；有 --all 时为文件夹。
        #[arg(long, value_name = "PATH")]
        out: PathBuf,
    },
    /// Import sets that export wrote, bit for bit. A damaged file is refused, and so is a set that exists with other rows.
    ///
    /// 导入 export 写的特征集，逐位相同。拒绝损坏的文件，也拒绝已有而行不同的特征集。
    Import {
        /// Files to import.
        ///
        /// 要导入的文件。
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}
