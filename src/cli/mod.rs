//! The command line: commands and flags, as clap reads them. What they do is in `command` and the modules it calls.

mod audit;
mod capsule;
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
mod text;
mod trace;
mod worker;

use clap::{Args, Parser, Subcommand};

use crate::config::bounds::flag;
use crate::train::Train;

pub use audit::Audit;
pub use capsule::{Diff, Replay};
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
pub use text::{Corpus, CsvText, Tokenize, Tokenizer, WordCut};
pub use trace::Trace;
pub use worker::Worker;

/// 砚 Inkstone: research on Chinese finance text, from raw news and reports to a tested, exported factor.
#[derive(Debug, Parser)]
#[command(name = "inkstone", version, about, long_about = None)]
pub struct Cli {
    /// The command; without one the workbench opens on ./workbench.toml.
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub global: Global,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Run as a batch: progress on stderr, one JSON object on stdout (the default without a terminal).
    #[arg(help_heading = "Every command", long, global = true)]
    pub headless: bool,
    /// Number of worker threads; 0 uses every core. Results do not depend on it.
    #[arg(help_heading = "Every command", long, global = true, value_name = "N", value_parser = flag::<usize>("project.threads"))]
    pub threads: Option<usize>,
    /// Seed of all random numbers.
    #[arg(help_heading = "Every command", long, global = true, value_name = "N", value_parser = flag::<u64>("--seed"))]
    pub seed: Option<u64>,
    /// Language of the screens: zh or en (default: the configuration, else LANG).
    #[arg(help_heading = "Every command", long, global = true, value_name = "LANG")]
    pub lang: Option<String>,
    /// Load, in this run, the native library that `onnx.library` of the configuration names.
    #[arg(help_heading = "Every command", long, global = true)]
    pub trust: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Generate a synthetic market and run the whole pipeline on it.
    Demo(Demo),
    /// Run the whole pipeline, or one stage and what it needs.
    Run(Run),
    /// Read the sources into documents, prices and securities.
    Ingest(Project),
    /// Normalise the text and mark duplicates.
    Clean(Project),
    /// Link documents to securities by code and name.
    Link(Project),
    /// Find sentences, sections and boilerplate, if the configuration or a feature asks for them.
    Structure(Project),
    /// List the boilerplate sentences that were found in the corpus; accept or refuse them.
    Boilerplate(Boilerplate),
    /// Let the models of a rewrite write a text of each document: summaries or other views, which features read.
    Rewrite(Project),
    /// Compute the features of all documents.
    Extract(Project),
    /// Plan the rows of a feature for many processes, on one machine or on a cluster.
    Plan(Plan),
    /// Compute the rows of tasks of a plan, or say which are done; `inkstone run` takes them up.
    Work(Work),
    /// Aggregate features to factors: a value per date and security.
    Factor(Project),
    /// Backtest the factors, or any factor table given with --factor and --prices.
    Backtest(Backtest),
    /// Compare values of any settings of a feature, such as truncation, by the RankIC of a factor or by how well labels are predicted.
    Experiment(Experiment),
    /// Check the factors for look-ahead; each check gives a verdict and the number that decided it.
    Lint(Project),
    /// Show what documents, prices and factor values said before a later run changed them.
    Revisions(Revisions),
    /// Audit anybody's factor table, predictions, Qlib recorder or frame of alphalens: what of the claim holds with what was known.
    ///
    /// The exit code is 1 if a fraud is named.
    Audit(Audit),
    /// Trace the values of a factor: the securities of a date, their documents, sentences and words.
    Trace(Trace),
    /// Write factor and backtest tables for other tools.
    Export(Project),
    /// Write an HTML report on each factor, in Chinese and English, with charts.
    Report(Project),
    /// Show the title, date and quality of the text read from PDF, HTML, DOCX and text files, and write the text.
    Read(Read),
    /// Cut text into tokens, from stdin to stdout, one document per line.
    Tokenize(Tokenize),
    /// Train a model on a plain file with one document per line.
    #[command(subcommand)]
    Train(Train),
    /// Evaluate a model on other documents: perplexity, accuracy, coverage.
    Eval(Eval),
    /// Write the vector or the scores that a model gives each document, one row per document.
    Embed(Embed),
    /// Give rows of an Arrow stream, or lines with tabs, the columns of a model and the time from which on they are known: from stdin to stdout.
    Worker(Worker),
    /// Show which tokens gave a document its score, with the formula and its numbers.
    Explain(Explain),
    /// Generate text with a contextual model: summaries of documents, or continuations.
    Generate(Generate),
    /// Sample text from a language model.
    Sample(SampleFlags),
    /// Find the words or documents nearest to others by cosine similarity.
    Nearest(Nearest),
    /// Project words of a model onto the plane by PCA or t-SNE, as a picture or a table.
    Projection(Projection),
    /// Measure how far the meaning of words moved between models of different times.
    Shift(Shift),
    /// Find the keywords and key sentences of each document.
    Keywords(Keywords),
    /// Write a contextual model as a folder with an ONNX graph: as it is, in half precision (fp16) or in whole numbers (int8).
    Convert(Convert),
    /// Measure how much a smaller form of a contextual model changes a feature and the factors made of it.
    Drift(Drift),
    /// Repeat the run of a manifest and compare every byte of the export.
    Replay(Replay),
    /// Compare two exports by their manifests: the first stage at which they differ, and why.
    Diff(Diff),
    /// Report what this machine has, what is missing, and the command that installs it.
    ///
    /// The environment variable INKSTONE_SIMD (base, avx2 or avx512) limits the vector instructions: slower, with the same results.
    Doctor(Doctor),
    /// List every backtest that ran, with statistics corrected for the number of trials; deleted entries still count.
    Ledger(Ledger),
    /// Check, repair, compact or measure the feature store; export its sets to files and import them.
    Store(Store),
    /// Draw a page of the workbench without a terminal, after the given keys, as text, SVG or PNG.
    Picture(Picture),
    /// Print all keys of the workbench as Markdown.
    Keys,
    /// Write a complete, commented workbench.toml to start from.
    Init(Project),
    /// Print the completion script for a shell.
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, for man: all commands and their flags.
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
            Cli { command: Some(Command::Backtest(args)), global } => {
                assert_eq!((args.delay, args.horizons, global.seed), (Some(-1), Some(vec![1, 5]), Some(3)));
            }
            other => panic!("{other:?}"),
        }
    }
}
