//! The command line: commands and flags, as clap reads them. What they do is in `command` and the modules it calls.

mod audit;
mod capsule;
mod compare;
mod events;
mod generate;
pub mod help;
mod keywords;
mod ledger;
mod models;
mod onnx;
mod picture;
mod plan;
mod project;
mod read;
mod search;
mod stock;
mod text;
mod trace;
mod worker;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::bounds::flag;
use crate::train::Train;

pub use audit::Audit;
pub use capsule::{Diff, Replay};
pub use compare::Compare;
pub use events::Events;
pub use generate::Generate;
pub use keywords::{KeywordPreset, Keywords};
pub use ledger::{Ledger, LedgerAction};
pub use models::{Embed, Eval, Explain, Nearest, Projection, Reading, SampleFlags, Shift};
pub use onnx::{Convert, Doctor, Onnx, Place};
pub use picture::Picture;
pub use plan::{Plan, Work};
pub use project::{
    Backtest, Boilerplate, DEMO_FOLDER, Demo, Drift, Experiment, Project, Revisions, Run, Store, StoreAction,
};
pub use read::Read;
pub use search::Search;
pub use stock::Stock;
pub(crate) use text::time;
pub use text::{Corpus, CsvText, Tokenize, Tokenizer, WordCut};
pub use trace::Trace;
pub use worker::Worker;

/// 砚 Inkstone: research on Chinese finance text, from raw news and reports to a tested, exported factor.
#[derive(Debug, Parser)]
#[command(name = "inkstone", version, about, long_about = None)]
pub struct Cli {
    /// The command; without one the workbench opens.
    ///
    /// 命令；不写则打开工作台。
    #[command(subcommand)]
    pub command: Option<Command>,
    /// For the workbench: a configuration, or a folder that has or gets a workbench.toml (default: this folder).
    ///
    /// 工作台：配置文件，或含有（或将写入）workbench.toml 的文件夹（默认：当前文件夹）。
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// For the workbench: the configuration.
    ///
    /// 工作台：配置文件。
    #[arg(id = "opened", short = 'c', long = "config", value_name = "FILE", conflicts_with = "path")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub global: Global,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Run as a batch: progress on stderr, one JSON object on stdout (the default without a terminal).
    ///
    /// 批处理：进度写到标准错误，一个 JSON 对象写到标准输出（没有终端时即为默认）。
    #[arg(help_heading = "Every command", long, global = true)]
    pub headless: bool,
    /// Number of worker threads; 0 uses every core. Results do not depend on it.
    ///
    /// 工作线程数；0 为全部核心。结果与之无关。
    #[arg(help_heading = "Every command", long, global = true, value_name = "N", value_parser = flag::<usize>("project.threads"))]
    pub threads: Option<usize>,
    /// Seed of all random numbers.
    ///
    /// 全部随机数的种子。
    #[arg(help_heading = "Every command", long, global = true, value_name = "N", value_parser = flag::<u64>("--seed"))]
    pub seed: Option<u64>,
    /// Language of screens and messages: zh or en (default: the configuration, else INKSTONE_LANG or LANG).
    ///
    /// 界面与消息的语言：zh 或 en（默认：取配置，其次取 INKSTONE_LANG 或 LANG）。
    #[arg(help_heading = "Every command", long, global = true, value_name = "LANG")]
    pub lang: Option<String>,
    /// Load, in this run, the native library that `onnx.library` of the configuration names.
    ///
    /// 本次运行加载配置中 `onnx.library` 指定的本机代码库。
    #[arg(help_heading = "Every command", long, global = true)]
    pub trust: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Generate a synthetic market and run the whole pipeline on it.
    ///
    /// 生成合成市场，并在其上运行整条流水线。
    Demo(Demo),
    /// Run the whole pipeline, or one stage and what it needs.
    ///
    /// 运行整条流水线，或一个阶段及其所需。
    Run(Run),
    /// Read the sources into documents, prices and securities.
    ///
    /// 把各来源读成文档、行情与证券。
    Ingest(Project),
    /// Normalise the text and mark duplicates.
    ///
    /// 规范文本，标出重复。
    Clean(Project),
    /// Link documents to securities by code and name.
    ///
    /// 按代码与名称把文档关联到证券。
    Link(Project),
    /// Find sentences, sections and boilerplate, if the configuration or a feature asks for them.
    ///
    /// 在配置或特征需要时，找出句子、章节与套话。
    Structure(Project),
    /// List the boilerplate sentences that were found in the corpus; accept or refuse them.
    ///
    /// 列出语料中找到的套话；接受或拒绝它们。
    Boilerplate(Boilerplate),
    /// Let the models of a rewrite write a text of each document: summaries or other views, which features read.
    ///
    /// 由改写的模型为每篇文档写出摘要等文本，供特征阅读。
    Rewrite(Project),
    /// Compute the features of all documents.
    ///
    /// 计算全部文档的特征。
    Extract(Project),
    /// Plan the rows of a feature for many processes, on one machine or on a cluster.
    ///
    /// 把一个特征的计算分给多个进程，在一台机器或集群上。
    Plan(Plan),
    /// Compute the rows of tasks of a plan, or say which are done; `inkstone run` takes them up.
    ///
    /// 计算计划中各任务的行，或说明哪些已完成；由 `inkstone run` 收取。
    Work(Work),
    /// Aggregate features to factors: a value per date and security.
    ///
    /// 把特征汇总为因子：每个日期、每只证券一个值。
    Factor(Project),
    /// Backtest the factors, or any factor table given with --factor and --prices.
    ///
    /// 回测各因子，或 --factor 与 --prices 给出的任何因子表。
    Backtest(Backtest),
    /// Compare values of any settings of a feature, such as truncation, by the RankIC of a factor or by how well labels are predicted.
    ///
    /// 比较特征的任何设置（如截断），以因子的 RankIC 或标签预测的好坏衡量。
    Experiment(Experiment),
    /// Check the factors for look-ahead; each check gives a verdict and the number that decided it.
    ///
    /// 检查因子有无未来函数；每项检查给出结论与依据的数字。
    Lint(Project),
    /// Show what documents, prices and factor values said before a later run changed them.
    ///
    /// 显示文档、行情与因子值在后来的运行改动之前是怎样的。
    Revisions(Revisions),
    /// Audit anybody's factor table, predictions, Qlib recorder or frame of alphalens: what of the claim holds with what was known.
    ///
    /// The exit code is 1 if a fraud is named.
    ///
    /// 审查任何人的因子表、预测、Qlib recorder 或 alphalens 数据框：在当时所知之下，声明还剩多少成立。
    ///
    /// 发现作弊时退出码为 1。
    Audit(Audit),
    /// Trace the values of a factor: the securities of a date, their documents, sentences and words.
    ///
    /// 追溯因子的值：某日的证券、背后的文档、句子与词。
    Trace(Trace),
    /// Show one stock: its prices, its documents with the abnormal returns around them, and a factor's values.
    ///
    /// 显示一只股票：价格，各篇文档及其前后的超额收益，以及因子的值。
    Stock(Stock),
    /// Search the documents of a project by words, by meaning or by both, as of a time, with the sentences that were found.
    ///
    /// 检索项目的文档：按词、按语义或两者兼用，可以某一时刻为准，并给出命中的句子。
    Search(Search),
    /// List the events of documents and tables, each with its sentence and its numbers, and study the returns around them.
    ///
    /// 列出文档与事件表给出的事件，附所在句子与数字，并研究其前后的收益。
    Events(Events),
    /// Compare two factors date by date: correlation of their values and RankICs, and the overlap of their top layers.
    ///
    /// 逐日比较两个因子：值与 RankIC 的相关，顶层的重合。
    Compare(Compare),
    /// Write factor and backtest tables for other tools.
    ///
    /// 写出供其他工具使用的因子表与回测表。
    Export(Project),
    /// Write an HTML report on each factor, in Chinese and English, with charts.
    ///
    /// 为每个因子写中英双语、带图的 HTML 报告。
    Report(Project),
    /// Show the title, date and quality of the text read from PDF, HTML, DOCX and text files, and write the text.
    ///
    /// 显示从 PDF、HTML、DOCX 与文本文件读出的标题、日期与质量，并写出文本。
    Read(Read),
    /// Cut text into tokens, from stdin to stdout, one document per line.
    ///
    /// 把文本切成词元，从标准输入到标准输出，每行一篇文档。
    Tokenize(Tokenize),
    /// Train a model on a plain file with one document per line.
    ///
    /// 在每行一篇文档的普通文件上训练模型。
    #[command(subcommand)]
    Train(Train),
    /// Evaluate a model on other documents: perplexity, accuracy, coverage.
    ///
    /// 在其他文档上评估模型：困惑度、准确率、覆盖率。
    Eval(Eval),
    /// Write the vector or the scores that a model gives each document, one row per document.
    ///
    /// 写出模型给每篇文档的向量或分数，每篇一行。
    Embed(Embed),
    /// Give rows of an Arrow stream, or lines with tabs, the columns of a model and the time from which on they are known: from stdin to stdout.
    ///
    /// 为 Arrow 流的各行或以制表符分隔的行加上模型的列及其可知时间：从标准输入到标准输出。
    Worker(Worker),
    /// Show which tokens gave a document its score, with the formula and its numbers.
    ///
    /// 显示哪些词元使文档得到其得分，附公式与数字。
    Explain(Explain),
    /// Generate text with a contextual model: summaries of documents, or continuations.
    ///
    /// 用上下文模型写文本：文档的摘要，或续写。
    Generate(Generate),
    /// Sample text from a language model.
    ///
    /// 从语言模型抽取文本。
    Sample(SampleFlags),
    /// Find the words or documents nearest to others by cosine similarity.
    ///
    /// 按余弦相似度查找最近的词或文档。
    Nearest(Nearest),
    /// Project words of a model onto the plane by PCA or t-SNE, as a picture or a table.
    ///
    /// 用 PCA 或 t-SNE 把模型的词投影到平面，写成图或表。
    Projection(Projection),
    /// Measure how far the meaning of words moved between models of different times.
    ///
    /// 衡量词义在不同时期的模型之间变迁多少。
    Shift(Shift),
    /// Find the keywords and key sentences of each document.
    ///
    /// 找出每篇文档的关键词与关键句。
    Keywords(Keywords),
    /// Write a contextual model as a folder with an ONNX graph: as it is, in half precision (fp16) or in whole numbers (int8).
    ///
    /// 把上下文模型写成带 ONNX 图的文件夹：原样、半精度（fp16）或整数（int8）。
    Convert(Convert),
    /// Measure how much a smaller form of a contextual model changes a feature and the factors made of it.
    ///
    /// 衡量上下文模型的小型化使特征及其因子变化多少。
    Drift(Drift),
    /// Repeat the run of a manifest and compare every byte of the export.
    ///
    /// 重复清单的运行，逐字节比较导出。
    Replay(Replay),
    /// Compare two exports by their manifests: the first stage at which they differ, and why.
    ///
    /// 按清单比较两份导出：首先不同的阶段及原因。
    Diff(Diff),
    /// Report what this machine has, what is missing, and the command that installs it.
    ///
    /// The environment variable INKSTONE_SIMD (base, avx2 or avx512) limits the vector instructions: slower, with the same results.
    ///
    /// 报告本机有什么、缺什么，以及安装的命令。
    ///
    /// 环境变量 INKSTONE_SIMD（base、avx2 或 avx512）限制向量指令：较慢，结果相同。
    Doctor(Doctor),
    /// List every backtest that ran, with statistics corrected for the number of trials; deleted entries still count.
    ///
    /// 列出做过的每次回测，统计量按试验次数校正；删除的记录仍然计数。
    Ledger(Ledger),
    /// Check, repair, compact or measure the feature store; export its sets to files and import them.
    ///
    /// 检查、修复、压缩或度量特征库；把特征集导出为文件，或导入。
    Store(Store),
    /// Draw a page of the workbench without a terminal, after the given keys, as text, SVG or PNG.
    ///
    /// 不用终端，按给定按键之后的样子把工作台的一页画成文本、SVG 或 PNG。
    Picture(Picture),
    /// Print all keys of the workbench as Markdown.
    ///
    /// 以 Markdown 打印工作台的全部按键。
    Keys,
    /// Write a complete, commented workbench.toml to start from.
    ///
    /// 写出完整、带注释的 workbench.toml 作为起点。
    Init(Project),
    /// Print the completion script for a shell.
    ///
    /// 打印某种 shell 的补全脚本。
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        ///
        /// 可选 bash、zsh、fish、elvish 或 powershell。
        shell: clap_complete::Shell,
    },
    /// Print the manual page, for man: all commands and their flags.
    ///
    /// 打印手册页，供 man 使用：全部命令及其选项。
    Man,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn read(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("inkstone").chain(line.split(' ')))
    }

    #[test]
    fn the_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_workbench_takes_a_folder_or_a_configuration() {
        let opened = |line| read(line).map(|cli| (cli.command.is_some(), cli.path.or(cli.config)));
        assert_eq!(opened("mine/workbench.toml").unwrap(), (false, Some("mine/workbench.toml".into())));
        assert_eq!(opened("-c mine.toml --lang zh").unwrap(), (false, Some("mine.toml".into())));
        assert_eq!(opened("run -c mine.toml").unwrap(), (true, None));
        assert_eq!(opened("--threads 2 run").unwrap(), (true, None));
        opened("a -c b").unwrap_err();
    }

    #[test]
    fn the_later_of_two_opposite_flags_counts() {
        let no_hmm = |line| match read(line).unwrap().command {
            Some(Command::Tokenize(args)) => args.cut.words.no_hmm,
            other => panic!("{other:?}"),
        };
        assert_eq!(["tokenize", "tokenize --no-hmm", "tokenize --no-hmm --hmm"].map(no_hmm), [false, true, false]);
    }

    #[test]
    fn a_backtest_on_tables_needs_both_and_a_delay_may_be_negative() {
        let missing = read("backtest --factor f.csv").unwrap_err().to_string();
        assert!(missing.contains("--prices"), "{missing}");
        let missing = read("backtest --out tables").unwrap_err().to_string();
        assert!(missing.contains("--factor"), "{missing}");
        match read("backtest --delay -1 --horizons 1,5 --seed 3").unwrap() {
            Cli { command: Some(Command::Backtest(args)), global, .. } => {
                assert_eq!((args.delay, args.horizons, global.seed), (Some(-1), Some(vec![1, 5]), Some(3)));
            }
            other => panic!("{other:?}"),
        }
    }
}
