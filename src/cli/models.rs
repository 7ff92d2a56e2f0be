//! Flags of the commands that use a trained model: `eval`, `embed`, `explain`, ...

use std::path::PathBuf;

use clap::Args;

use super::{CsvText, Onnx};
use crate::config::bounds::flag;
use inkstone_features::standalone::onnx::{Examination, Unit};
use inkstone_features::standalone::{Judgements, LineFormat, Per, ProjectionMethod, SummaryTokens};

/// A model and the documents that it reads.
#[derive(Clone, Debug, Args)]
pub struct Reading {
    /// The model file, which knows its kind and how its text was cut; or the folder or file .onnx of a contextual model.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// A document a line; - is the standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// How lines are written: tokens, text or jsonl. Default: jsonl for a file of that name, else as the model was
    /// trained.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// For contextual models.
    #[command(flatten)]
    pub onnx: Onnx,
}

/// Flags of `eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// The kind that the model must be of; the file itself says it, so this is only checked. Or `summaries`, which need no model.
    #[arg(value_name = "MODEL")]
    pub kind: Option<String>,
    /// The model file, which knows its kind and how its text was cut; or the folder or file .onnx of a contextual model.
    #[arg(short, long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// A document a line; - is the standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// How lines are written: tokens, text or jsonl. Default: jsonl for a file of that name, else as the model was trained.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// For summaries: what should have been written, a line for each of --input, or by its id.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "words", "per", "task", "against"])]
    pub references: Option<PathBuf>,
    /// For summaries: what counts as a token. Default: char.
    #[arg(long, value_name = "WHAT", requires = "references")]
    pub tokens: Option<SummaryTokens>,
    /// For contextual models.
    #[command(flatten)]
    pub onnx: Onnx,
    /// The input is no corpus but a file of human judgements of words, to measure word vectors by.
    #[arg(long, value_name = "WHAT", conflicts_with = "per")]
    pub words: Option<Judgements>,
    /// Also write a table, a row a document or a token, to --output.
    #[arg(long, value_name = "UNIT", requires = "output")]
    pub per: Option<Per>,
    /// For contextual models: what is looked at. Default: what goes with --read.
    #[arg(long, value_name = "WHAT")]
    pub task: Option<Examination>,
    /// For contextual models: another form of the model (fp16, int8), whose rows are compared with those of the first.
    #[arg(long, value_name = "MODEL")]
    pub against: Option<PathBuf>,
    /// The table of --per; its name says which: .csv
    #[arg(short, long, value_name = "FILE", requires = "per")]
    pub output: Option<PathBuf>,
    /// Texts in a .csv.
    #[command(flatten)]
    pub csv: CsvText,
}

/// Flags of `embed`.
#[derive(Debug, Args)]
pub struct Embed {
    /// Model and documents.
    #[command(flatten)]
    pub reading: Reading,
    /// The rows, one a document; its name says how: .csv
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Texts in a .csv.
    #[command(flatten)]
    pub csv: CsvText,
}

/// Flags of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Documents, a line each; - is the standard input.
    #[arg(short, long, value_name = "FILE", required_unless_present = "text")]
    pub input: Option<PathBuf>,
    /// One document, as it would stand on a line.
    #[arg(long, conflicts_with = "input")]
    pub text: Option<String>,
    /// How lines are written: tokens, text or jsonl.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// Only these documents: ids, or line numbers where there are none.
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', requires = "input")]
    pub ids: Vec<String>,
    /// The class or component to explain, where a model has several; default: the one that scored highest.
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    /// For contextual models: what is taken out to see what the score loses.
    #[arg(long, value_name = "UNIT", default_value = "sentence")]
    pub unit: Unit,
    /// For contextual models.
    #[command(flatten)]
    pub onnx: Onnx,
    /// Show the tokens with the largest parts, and the sum of the rest; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub top: usize,
}

/// Flags of `sample`.
#[derive(Debug, Args)]
pub struct Sample {
    /// The language model: a model file or an ARPA file.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Documents to draw.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = flag::<usize>("--count"))]
    pub n: usize,
    /// Below 1 the likely becomes likelier, above 1 less so.
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = flag::<f64>("--weight"))]
    pub temperature: f64,
    /// Draw among the N most probable words only; 0: among all. With --after: list so many; 0: 10.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub top_k: usize,
    /// Tokens after which a document is broken off.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = flag::<usize>("--count"))]
    pub max_length: usize,
    /// Draw nothing, but list the words that most probably follow this text, which is cut as the model's was.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["n", "temperature", "max_length"])]
    pub after: Option<String>,
    /// How the text of --after is written: tokens or text. Default: as the model was trained, tokens for an ARPA file.
    #[arg(long, value_name = "FORMAT", requires = "after")]
    pub format: Option<LineFormat>,
}

/// Flags of `nearest`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("asked").required(true).args(["words", "text", "ids"])))]
pub struct Nearest {
    /// The model file: lsa and all word vectors have words, files of word2vec among them; documents go with every model of dense rows.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Words of the model; fastText's that know characters answer for words that they never met, too.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', conflicts_with = "input")]
    pub words: Vec<String>,
    /// Words to take off the sum of --words, for one answer: what is to 跌 as 大涨 is to 涨 is asked by
    /// --words 大涨,跌 --minus 涨.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', requires = "words")]
    pub minus: Vec<String>,
    /// A document, as it would stand on a line, whose neighbours among those of --input are wanted.
    #[arg(long, requires = "input")]
    pub text: Option<String>,
    /// Documents of --input whose neighbours among the others are wanted: ids, or line numbers where there are none.
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', requires = "input")]
    pub ids: Vec<String>,
    /// The documents to look among, a line each; - is the standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// How lines are written: tokens, text or jsonl.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// For contextual models.
    #[command(flatten)]
    pub onnx: Onnx,
    /// How many are wanted.
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = flag::<usize>("--count"))]
    pub k: usize,
}

/// Flags of `shift`.
#[derive(Debug, Args)]
pub struct Shift {
    /// Models of word vectors, from the earliest to the latest.
    #[arg(long, value_name = "FILE,FILE", value_delimiter = ',', required = true)]
    pub models: Vec<PathBuf>,
    /// Words to follow; without it all of the first model.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',')]
    pub words: Vec<String>,
    /// The series: word, model, time, count, and how far it moved.
    #[arg(short, long, value_name = "FILE.csv")]
    pub output: PathBuf,
    /// Texts in a .csv.
    #[command(flatten)]
    pub csv: CsvText,
}

/// Flags of `projection`.
#[derive(Debug, Args)]
pub struct Projection {
    /// The model file: all word vectors, those of lsa, fastText and neural language models among them, and files of word2vec.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Show the first N words of the model, which are the most frequent where it knows; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 300, conflicts_with_all = ["words", "groups"], value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Show these words.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', conflicts_with = "groups")]
    pub words: Vec<String>,
    /// Show the words of a file, one a line, and after a tab or a space the group that gives the colour.
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,
    /// pca shows the two directions of greatest variance; tsne keeps neighbours together.
    #[arg(long, value_name = "METHOD", default_value = "pca")]
    pub method: ProjectionMethod,
    /// How many neighbours count for tsne, in effect; default: 30, or a third of the words where these are fewer.
    #[arg(long, value_name = "N", value_parser = flag::<f32>("--count"))]
    pub perplexity: Option<f32>,
    /// Steps of tsne.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = flag::<usize>("--epochs"))]
    pub epochs: usize,
    /// A picture (.svg), or a table of word, group, x and y (.csv, .parquet).
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Texts in a .csv.
    #[command(flatten)]
    pub csv: CsvText,
}
