//! The command line: commands and flags, as clap reads them. What they do is in `main` and the modules it calls.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::backtest::Preset;
use crate::market::Price;
use crate::pipeline::Stage;
use crate::text::{Cut, Mode, Truncation};

/// 砚 Inkstone: research on Chinese finance text, from raw news and reports to a tested, exported factor.
#[derive(Debug, Parser)]
#[command(name = "inkstone", version, about, long_about = None)]
pub struct Cli {
    /// What to do; without a command the workbench opens on ./workbench.toml.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Run as a batch: progress on stderr, one JSON object on stdout (the default without a terminal).
    #[arg(long, global = true)]
    pub headless: bool,
    /// Worker threads; 0 takes every core. Results do not depend on it.
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Seed of all random draws.
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Language of the screens: zh or en (default: the configuration, else LANG).
    #[arg(long, global = true, value_name = "LANG")]
    pub lang: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Generate the synthetic market and run everything on it.
    Demo(Demo),
    /// Run the whole pipeline, or one stage and what it needs.
    Run(Run),
    /// Read the sources into documents, prices and securities.
    Ingest(Project),
    /// Normalise the text and mark duplicates.
    Clean(Project),
    /// Tie documents to securities by code and name.
    Link(Project),
    /// Compute the features of all documents.
    Extract(Project),
    /// Gather features to a value per date and code.
    Factor(Project),
    /// Test the factors, or anybody's factor table with --factor and --prices.
    Backtest(Backtest),
    /// Write factor and backtest tables for other tools.
    Export(Project),
    /// Cut text into tokens, a line a document, from stdin to stdout.
    Tokenize(Tokenize),
    /// Check, repair, compact or measure the feature store.
    Store(Store),
    /// Write a complete, commented workbench.toml to start from.
    Init(Project),
    /// Print the completion script of a shell.
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        shell: clap_complete::Shell,
    },
}

/// Which project a command works on.
#[derive(Clone, Debug, Args)]
pub struct Project {
    /// The configuration.
    #[arg(short, long, value_name = "FILE", default_value = "workbench.toml")]
    pub config: PathBuf,
}

/// Flags of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Size: 1 is about 200 securities and 9,500 documents over two years.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Folder for the data, the configuration and the results.
    #[arg(long, default_value = "inkstone-demo")]
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

/// Flags of `backtest`.
#[derive(Debug, Args)]
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
    /// Conventions to follow.
    #[arg(long)]
    pub preset: Option<Preset>,
    /// Holding periods in trading days.
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub horizons: Option<Vec<usize>>,
    /// Number of layers.
    #[arg(long, value_name = "N")]
    pub quantiles: Option<usize>,
    /// Trading days from the factor's date to the trade; 0 and less pair it with returns of its own day.
    #[arg(long, value_name = "DAYS", allow_hyphen_values = true)]
    pub delay: Option<i32>,
    /// Price of the trades.
    #[arg(long)]
    pub price: Option<Price>,
    /// Largest share of values that may go unused, whatever the reason (0.35 = 35 %).
    #[arg(long, value_name = "SHARE")]
    pub max_loss: Option<f64>,
    /// Use values that were not known before the return began. The result is marked as such everywhere.
    #[arg(long)]
    pub allow_lookahead: bool,
}

/// Flags of `tokenize`.
#[derive(Debug, Args)]
pub struct Tokenize {
    /// Characters or jieba words.
    #[arg(long, default_value = "jieba")]
    pub mode: Mode,
    /// How jieba cuts: precise, full or search.
    #[arg(long, default_value = "precise")]
    pub cut: Cut,
    /// Find words that no dictionary has (the default; takes back --no-hmm).
    #[arg(long, overrides_with = "no_hmm")]
    pub hmm: bool,
    /// Cut by the dictionaries alone.
    #[arg(long)]
    pub no_hmm: bool,
    /// A user dictionary: word, optional frequency, optional tag. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub dict: Vec<PathBuf>,
    /// Leave out stopwords, marks and numbers: none (keep all), builtin or a file.
    #[arg(long, default_value = "none", value_name = "LIST")]
    pub stopwords: String,
    /// Write each word with its part of speech, as 回购/v; with jieba's precise cut.
    #[arg(long)]
    pub tags: bool,
    /// Keep a part of each line: head:512, tail:512, head+tail:128+382.
    #[arg(long, value_name = "SPEC")]
    pub truncate: Option<Truncation>,
    /// Special tokens of the model, such as CLS and SEP, that count towards the limit.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub specials: usize,
    /// What stands between tokens.
    #[arg(long, default_value = " ", value_name = "TEXT")]
    pub separator: String,
    /// Also count the words written, into a table: word, count, lines with it.
    #[arg(long, value_name = "FILE")]
    pub vocabulary: Option<PathBuf>,
}

/// Flags of `store`.
#[derive(Debug, Args)]
pub struct Store {
    /// What to do with the store.
    pub action: StoreAction,
    /// Which project.
    #[command(flatten)]
    pub project: Project,
}

/// What to do with the store.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StoreAction {
    /// Check every block against its checksum.
    Verify,
    /// Drop what is damaged; the next run computes that again.
    Repair,
    /// Rewrite the live sets into fresh files, giving back the space of the rest.
    Compact,
    /// Sizes and rows by set.
    Stats,
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
    fn the_later_of_two_opposite_flags_counts() {
        let no_hmm = |line| match read(line).unwrap().command {
            Some(Command::Tokenize(args)) => args.no_hmm,
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
            Cli { command: Some(Command::Backtest(args)), global } => {
                assert_eq!((args.delay, args.horizons, global.seed), (Some(-1), Some(vec![1, 5]), Some(3)));
            }
            other => panic!("{other:?}"),
        }
    }
}
