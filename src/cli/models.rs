//! Flags of the commands that use a trained model: `eval`, `embed`, `explain`, ...

use std::path::PathBuf;

use clap::Args;

use super::{CsvText, Onnx};
use crate::config::bounds::flag;
use inkstone_features::models::onnx::{Examination, ExplainUnit};
use inkstone_features::standalone::{Judgements, LineFormat, Per, ProjectionMethod, SummaryTokens};

/// A model and the documents that it reads.
#[derive(Clone, Debug, Args)]
pub struct Reading {
    /// The model file, which records its kind and how text is cut; or the folder or .onnx file of a contextual model.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// The documents, one per line; - reads standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: tokens, text or jsonl. Default: jsonl for a file with that ending, else as the model was
    /// trained.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// The encoder of a head, where it is not where the head's file says.
    #[arg(long, value_name = "MODEL")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// Kind of the model, which is compared with the kind in its file; or `summaries`, which needs no model.
    #[arg(value_name = "MODEL")]
    pub kind: Option<String>,
    /// The model file, which records its kind and how text is cut; or the folder or .onnx file of a contextual model.
    #[arg(short, long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// The documents, one per line; - reads standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: tokens, text or jsonl. Default: jsonl for a file with that ending, else as the model was trained.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// For summaries: the reference summaries, one for each line of --input in the same order, or with its id.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "words", "per", "task", "against"])]
    pub references: Option<PathBuf>,
    /// For summaries: what counts as a token (default: char).
    #[arg(long, value_name = "WHAT", requires = "references")]
    pub tokens: Option<SummaryTokens>,
    /// The encoder of a head, where it is not where the head's file says.
    #[arg(long, value_name = "MODEL")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
    /// Evaluate word vectors: --input is a file of human judgements of words instead of documents.
    #[arg(long, value_name = "WHAT", conflicts_with = "per")]
    pub words: Option<Judgements>,
    /// Also write a table to --output, with one row per document or per token.
    #[arg(long, value_name = "UNIT", requires = "output")]
    pub per: Option<Per>,
    /// The task to evaluate. Contextual models have all tasks (default: by --read), other models have similarity alone.
    #[arg(long, value_name = "WHAT")]
    pub task: Option<Examination>,
    /// For contextual models: another form of the model (fp16, int8), whose rows are compared with those of --model.
    #[arg(long, value_name = "MODEL")]
    pub against: Option<PathBuf>,
    /// File of the table of --per; its ending sets the format: .parquet or .csv.
    #[arg(short, long, value_name = "FILE", requires = "per")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub csv: CsvText,
}

#[derive(Debug, Args)]
pub struct Embed {
    #[command(flatten)]
    pub reading: Reading,
    /// File of the rows; its ending sets the format: .npz, .npy, .parquet, .csv or .jsonl.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// With --read entities: a row an entity (document, kind, text, start, end, score) instead of a row a document with their numbers.
    #[arg(long)]
    pub list: bool,
    /// With --list: the table of securities of a project (.inkstone/securities.parquet). Each row has the codes that the entity's text names on
    /// the document's day. It needs lines with times.
    #[arg(long, value_name = "FILE", requires = "list")]
    pub securities: Option<PathBuf>,
    #[command(flatten)]
    pub csv: CsvText,
}

#[derive(Debug, Args)]
pub struct Explain {
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// The documents, one per line; - reads standard input.
    #[arg(short, long, value_name = "FILE", required_unless_present = "text")]
    pub input: Option<PathBuf>,
    /// One document, written as a line of --input would be.
    #[arg(long, conflicts_with = "input")]
    pub text: Option<String>,
    /// Format of the lines: tokens, text or jsonl.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// Explain only these documents: ids, or line numbers if the lines have no ids.
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', requires = "input")]
    pub ids: Vec<String>,
    /// The class or component to explain, where a model has several; default: the one that scored highest.
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    /// For contextual models: the unit that is removed to see how the score changes.
    #[arg(long, value_name = "UNIT", default_value = "sentence")]
    pub unit: ExplainUnit,
    /// The encoder of a head, where it is not where the head's file says.
    #[arg(long, value_name = "MODEL")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
    /// Show the N tokens with the largest contributions, and the sum of the rest; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub top: usize,
}

#[derive(Debug, Args)]
pub struct SampleFlags {
    /// The language model: a model file or an ARPA file.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Number of documents to sample.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = flag::<usize>("--count"))]
    pub n: usize,
    /// Temperature: below 1 likely words become likelier, above 1 less so.
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = flag::<f64>("--weight"))]
    pub temperature: f64,
    /// Sample among the N most probable words only; 0: among all. With --after, list N words; 0: 10.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub top_k: usize,
    /// Largest number of tokens of a document.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = flag::<usize>("--count"))]
    pub max_length: usize,
    /// Sample nothing, but list the words that most probably follow this text, which is cut as the model's text was.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["n", "temperature", "max_length"])]
    pub after: Option<String>,
    /// Format of the text of --after: tokens or text. Default: as the model was trained, tokens for an ARPA file.
    #[arg(long, value_name = "FORMAT", requires = "after")]
    pub format: Option<LineFormat>,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("asked").required(true).args(["words", "text", "ids"])))]
pub struct Nearest {
    /// The model file. For words: lsa, or any word vectors, also files of word2vec. For documents: any model with dense rows.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Words to look up. A fastText model with character n-grams also knows words that it was not trained on.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', conflicts_with = "input")]
    pub words: Vec<String>,
    /// Words to subtract from the sum of --words, for one answer. The word that is to 跌 as 大涨 is to 涨:
    /// --words 大涨,跌 --minus 涨.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', requires = "words")]
    pub minus: Vec<String>,
    /// Find the documents of --input nearest to this one, which is written as a line of --input would be.
    #[arg(long, requires = "input")]
    pub text: Option<String>,
    /// Find the documents nearest to these of --input: ids, or line numbers if the lines have no ids.
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', requires = "input")]
    pub ids: Vec<String>,
    /// The documents to search, one per line; - reads standard input.
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Format of the lines: tokens, text or jsonl.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    #[command(flatten)]
    pub onnx: Onnx,
    /// Put the nearest documents in the order of a cross-encoder, which reads each together with the document sought: its folder or .onnx file.
    #[arg(long, value_name = "MODEL", requires = "input")]
    pub rerank: Option<PathBuf>,
    /// Number of neighbours.
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = flag::<usize>("--count"))]
    pub k: usize,
}

#[derive(Debug, Args)]
pub struct Shift {
    /// Models of word vectors, from the earliest to the latest.
    #[arg(long, value_name = "FILE,FILE", value_delimiter = ',', required = true)]
    pub models: Vec<PathBuf>,
    /// Words to follow; without this flag, all words of the first model.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',')]
    pub words: Vec<String>,
    /// File of the table: word, model, time, count, and distance moved.
    #[arg(short, long, value_name = "FILE.csv")]
    pub output: PathBuf,
    #[command(flatten)]
    pub csv: CsvText,
}

#[derive(Debug, Args)]
pub struct Projection {
    /// The model file: any word vectors, also those of lsa, fastText and neural language models, and files of word2vec.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Show the first N words of the model, which are the most frequent if it has counts; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 300, conflicts_with_all = ["words", "groups"], value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Show these words.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', conflicts_with = "groups")]
    pub words: Vec<String>,
    /// Show the words of a file: one per line and, after a tab or a space, the group that sets the colour.
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,
    /// pca shows the two directions of greatest variance; tsne keeps neighbours together.
    #[arg(long, value_name = "METHOD", default_value = "pca")]
    pub method: ProjectionMethod,
    /// Perplexity of tsne, the effective number of neighbours; default: 30, or a third of the words if that is less.
    #[arg(long, value_name = "N", value_parser = flag::<f32>("--count"))]
    pub perplexity: Option<f32>,
    /// Iterations of tsne.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = flag::<usize>("--epochs"))]
    pub epochs: usize,
    /// A picture (.svg), or a table of word, group, x and y (.csv, .parquet).
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub csv: CsvText,
}
