//! The command line: commands and flags, as clap reads them. What they do is in `command` and the modules it calls.

mod capsule;
mod generate;
mod keywords;
mod ledger;
mod models;
mod onnx;
mod picture;
mod project;
mod read;
mod text;
mod trace;
mod train;

use clap::{Args, Parser, Subcommand};

use crate::config::bounds::flag;
use inkstone_base::disk::Formulas;

pub use capsule::{Diff, Replay};
pub use generate::Generate;
pub use keywords::{KeywordPreset, Keywords};
pub use ledger::{Ledger, LedgerAction};
pub use models::{Embed, Eval, Explain, Nearest, Projection, Reading, Sample, Shift};
pub use onnx::{Doctor, Onnx, Place};
pub use picture::Picture;
pub use project::{Backtest, Boilerplate, DEMO_FOLDER, Demo, Drift, Experiment, Project, Run, Store, StoreAction};
pub use read::Read;
pub use text::{Corpus, LineMode, Tokenize, Tokenizer, WordCut};
pub use trace::Trace;
pub use train::{
    Bayes, Boosted, Cw, Doc2vec, FastText, FastTextFiles, FastTextSupervised, Fitting, Glove, Language, Lbl, Learner,
    Lexicon, Logistic, Lsa, Method, Mix, NetClasses, Newwords, Ngram, Nnlm, Pooling, Ppmi, Prediction, Ridge, Rnnlm,
    Sestm, Svm, Terms, TextCnn, TextRnn, Tone, Train, Vectorize, Vintages, Word2vec, WordForm,
};

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
    #[arg(help_heading = "Every command", long, global = true)]
    pub headless: bool,
    /// Worker threads; 0 takes every core. Results do not depend on it.
    #[arg(help_heading = "Every command", long, global = true, value_name = "N", value_parser = flag::<usize>("project.threads"))]
    pub threads: Option<usize>,
    /// Seed of all random draws.
    #[arg(help_heading = "Every command", long, global = true, value_name = "N", value_parser = flag::<u64>("--seed"))]
    pub seed: Option<u64>,
    /// Language of the screens: zh or en (default: the configuration, else LANG).
    #[arg(help_heading = "Every command", long, global = true, value_name = "LANG")]
    pub lang: Option<String>,
    /// Load the library of native code that `onnx.library` of the configuration names, in this run.
    #[arg(help_heading = "Every command", long, global = true)]
    pub trust: bool,
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
    /// Find sentences, sections and boilerplate, if the configuration or a feature asks for them.
    Structure(Project),
    /// List the boilerplate that the corpus taught; accept or refuse it.
    Boilerplate(Boilerplate),
    /// Compute the features of all documents.
    Extract(Project),
    /// Gather features to a value per date and code.
    Factor(Project),
    /// Test the factors, or anybody's factor table with --factor and --prices.
    Backtest(Backtest),
    /// Compare strategies of truncation by what comes of them: a factor's RankIC, or labels.
    Experiment(Experiment),
    /// Try to find look-ahead in the factors: a verdict for each check, with the number behind it.
    Lint(Project),
    /// Show what is behind a value of a factor: names of a date, their documents, sentences and words.
    Trace(Trace),
    /// Write factor and backtest tables for other tools.
    Export(Project),
    /// Write a page on each factor, in Chinese and English, with charts.
    Report(Project),
    /// Show what is read of PDF, HTML, DOCX and text files: title, date, quality; write their text.
    Read(Read),
    /// Cut text into tokens, a line a document, from stdin to stdout.
    Tokenize(Tokenize),
    /// Fit a model on a plain file, a document a line.
    #[command(subcommand)]
    Train(Train),
    /// Measure a model on other documents: perplexity, accuracy, coverage.
    Eval(Eval),
    /// Write what a model makes of each document, a row a document.
    Embed(Embed),
    /// Show which tokens gave a document its score, with the formula and its numbers.
    Explain(Explain),
    /// Write text by a contextual model: summaries of documents, or what goes on from them.
    Generate(Generate),
    /// Draw text from a language model.
    Sample(Sample),
    /// Find the words or documents that lie nearest to others, by cosine.
    Nearest(Nearest),
    /// Show words of a model in the plane, by PCA or t-SNE: a picture or a table.
    Projection(Projection),
    /// Follow words through models of different times: how far their meaning moved.
    Shift(Shift),
    /// Find the keywords and key sentences of each document.
    Keywords(Keywords),
    /// Show what a smaller form of a contextual model changes in a feature and in the factors made of it.
    Drift(Drift),
    /// Run once more what a manifest tells of, and compare every byte.
    Replay(Replay),
    /// Compare two exports by their manifests: the first stage at which they part, and why.
    Diff(Diff),
    /// Say what this machine has, what is missing, and the command that mends it.
    ///
    /// INKSTONE_SIMD=base, avx2 or avx512 in the environment forces narrower vectors on inner loops: slower, with the same bytes.
    Doctor(Doctor),
    /// Show every backtest that ran and what it is worth among all; delete entries, which go on counting.
    Ledger(Ledger),
    /// Check, repair, compact or measure the feature store; carry its sets to files and back.
    Store(Store),
    /// Draw a page of the workbench without a terminal, after these keys: as text, SVG or PNG.
    Picture(Picture),
    /// Print every key of the workbench as Markdown.
    Keys,
    /// Write a complete, commented workbench.toml to start from.
    Init(Project),
    /// Print the completion script of a shell.
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        shell: clap_complete::Shell,
    },
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
            Some(Command::Tokenize(args)) => args.words.no_hmm,
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

/// Flags of commands that write CSV with texts of others.
#[derive(Clone, Copy, Debug, Args)]
pub struct CsvText {
    /// What is done about texts in a .csv that a spreadsheet would compute: quote puts an apostrophe in front.
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    pub csv_formulas: Formulas,
}
