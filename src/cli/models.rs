//! Flags of the commands that use a trained model: `eval`, `embed`, `explain`, ...

use std::path::PathBuf;

use clap::Args;

use super::{CsvText, Onnx};
use crate::config::bounds::flag;
use inkstone_features::models::onnx::{Examination, ExplainUnit};
use inkstone_features::standalone::{Judgements, LineFormat, Per, ProjectionMethod, SummaryTokens, WordDistance};

/// A model and the documents that it reads.
#[derive(Clone, Debug, Args)]
pub struct Reading {
    /// The model file, which records its kind and how text is cut; or the folder or .onnx file of a contextual model.
    ///
    /// 模型文件，记有其类型与切词方式；或上下文模型的文件夹或 .onnx 文件。
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// The documents, one per line; - reads standard input.
    ///
    /// 文档，每行一篇；- 为标准输入。
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: tokens, text or jsonl. Default: jsonl for a file with that ending, else as the model was
    /// trained.
    ///
    /// 行的格式：tokens、text 或 jsonl。默认：该扩展名的文件为 jsonl，否则同模型训练时。
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// The encoder of a head, where it is not where the head's file says.
    ///
    /// 分类头的编码器，不在分类头文件所记之处时写出。
    #[arg(long, value_name = "MODEL")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// Kind of the model, which is compared with the kind in its file; or `summaries`, which needs no model.
    ///
    /// 模型的类型，与其文件中的比较；或 `summaries`，不需要模型。
    #[arg(value_name = "MODEL")]
    pub kind: Option<String>,
    /// The model file, which records its kind and how text is cut; or the folder or .onnx file of a contextual model.
    ///
    /// 模型文件，记有其类型与切词方式；或上下文模型的文件夹或 .onnx 文件。
    #[arg(short, long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// The documents, one per line; - reads standard input.
    ///
    /// 文档，每行一篇；- 为标准输入。
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: tokens, text or jsonl. Default: jsonl for a file with that ending, else as the model was trained.
    ///
    /// 行的格式：tokens、text 或 jsonl。默认：该扩展名的文件为 jsonl，否则同模型训练时。
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// For summaries: the reference summaries, one for each line of --input in the same order, or with its id.
    ///
    /// 摘要：参考摘要，与 --input 各行同序，或带其编号。
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "words", "per", "task", "against"])]
    pub references: Option<PathBuf>,
    /// For summaries: what counts as a token (default: char).
    ///
    /// 摘要：以什么为词元（默认：char）。
    #[arg(long, value_name = "WHAT", requires = "references")]
    pub tokens: Option<SummaryTokens>,
    /// The encoder of a head, where it is not where the head's file says.
    ///
    /// 分类头的编码器，不在分类头文件所记之处时写出。
    #[arg(long, value_name = "MODEL")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
    /// Evaluate word vectors: --input is a file of human judgements of words instead of documents.
    ///
    /// 评估词向量：--input 是人对词的判断，而不是文档。
    #[arg(long, value_name = "WHAT", conflicts_with = "per")]
    pub words: Option<Judgements>,
    /// Also write a table to --output, with one row per document or per token.
    ///
    /// 另把一张表写到 --output，每篇文档或每个词元一行。
    #[arg(long, value_name = "UNIT", requires = "output")]
    pub per: Option<Per>,
    /// The task to evaluate. Contextual models have all tasks (default: by --read), other models have similarity and retrieval alone.
    ///
    /// 要评估的任务。上下文模型有全部任务（默认按 --read），其他模型只有 similarity 与 retrieval。
    #[arg(long, value_name = "WHAT")]
    pub task: Option<Examination>,
    /// Other models that are measured on the same lines in the same way, such as language models of several orders and kinds: their
    /// figures stand in `beside`.
    ///
    /// 在同样的行上以同样方式评估的其他模型，如各阶、各类的语言模型：其数值见 `beside`。
    #[arg(long, value_name = "FILE,FILE", value_delimiter = ',', requires = "model")]
    pub beside: Vec<PathBuf>,
    /// For contextual models: another form of the model (fp16, int8), whose rows are compared with those of --model.
    ///
    /// 上下文模型：另一种形式（fp16、int8），其行与 --model 的比较。
    #[arg(long, value_name = "MODEL")]
    pub against: Option<PathBuf>,
    /// File of the table of --per; its ending sets the format: .parquet or .csv.
    ///
    /// --per 表的文件；扩展名决定格式：.parquet 或 .csv。
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
    ///
    /// 各行的文件；扩展名决定格式：.npz、.npy、.parquet、.csv 或 .jsonl。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// With a labeller of train crf, or with --read entities: a row an entity (document, kind, text, start, end, score) instead of a row a document with their numbers.
    ///
    /// train crf 的标注器，或 --read entities 时：每个实体一行（document、kind、text、start、end、score），而不是每篇文档一行个数。
    #[arg(long)]
    pub list: bool,
    /// With --list: the table of securities of a project (.inkstone/securities.parquet). Each row has the codes that the entity's text names on
    /// the document's day. It needs lines with times.
    ///
    /// --list 时：项目的证券表（.inkstone/securities.parquet）。每行给出实体文本在文档当日对应的代码。须有带时间的行。
    #[arg(long, value_name = "FILE", requires = "list")]
    pub securities: Option<PathBuf>,
    #[command(flatten)]
    pub csv: CsvText,
}

#[derive(Debug, Args)]
pub struct Explain {
    /// The model file.
    ///
    /// 模型文件。
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// The documents, one per line; - reads standard input.
    ///
    /// 文档，每行一篇；- 为标准输入。
    #[arg(short, long, value_name = "FILE", required_unless_present = "text")]
    pub input: Option<PathBuf>,
    /// One document, written as a line of --input would be.
    ///
    /// 一篇文档，写法同 --input 的一行。
    #[arg(long, conflicts_with = "input")]
    pub text: Option<String>,
    /// Format of the lines: tokens, text or jsonl.
    ///
    /// 行的格式：tokens、text 或 jsonl。
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// Explain only these documents: ids, or line numbers if the lines have no ids.
    ///
    /// 只解释这些文档：编号，没有编号则为行号。
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', requires = "input")]
    pub ids: Vec<String>,
    /// The class or component to explain, where a model has several; default: the one that scored highest.
    ///
    /// 模型有多个类别或分量时，要解释的那个；默认：得分最高者。
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    /// Show the attention of a recurrent writer (train writer --net): where the decoder read in the text when it wrote each token. Attention does not
    /// show why the model wrote it.
    ///
    /// 显示循环写作模型（train writer --net）的注意力：解码器写每个词元时读了原文的何处。注意力不说明为何这样写。
    #[arg(long, conflicts_with_all = ["of", "encoder"])]
    pub alignment: bool,
    /// The text whose writing is aligned; default: what the model writes, the likeliest token in each step.
    ///
    /// 与之对齐的写出文本；默认：模型自己逐词元写出的最可能文本。
    #[arg(long, value_name = "TEXT", requires = "alignment")]
    pub target: Option<String>,
    /// For contextual models: the unit that is removed to see how the score changes.
    ///
    /// 上下文模型：逐个去掉以看得分变化的单位。
    #[arg(long, value_name = "UNIT", default_value = "sentence")]
    pub unit: ExplainUnit,
    /// The encoder of a head, where it is not where the head's file says.
    ///
    /// 分类头的编码器，不在分类头文件所记之处时写出。
    #[arg(long, value_name = "MODEL")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
    /// Show the N tokens with the largest contributions, and the sum of the rest; 0 shows all.
    ///
    /// 显示贡献最大的 N 个词元及其余之和；0 为全部。
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub top: usize,
}

#[derive(Debug, Args)]
pub struct SampleFlags {
    /// The language model: a model file (ngram, nnlm, lbl, rnnlm) or an ARPA file.
    ///
    /// 语言模型：模型文件（ngram、nnlm、lbl、rnnlm）或 ARPA 文件。
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Number of documents to sample.
    ///
    /// 抽取的文档数。
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = flag::<usize>("--count"))]
    pub n: usize,
    /// Temperature: below 1 likely words become likelier, above 1 less so.
    ///
    /// 温度：小于 1 时可能的词更可能，大于 1 则相反。
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = flag::<f64>("--weight"))]
    pub temperature: f64,
    /// Sample among the N most probable words only; 0: among all. With --after, list N words; 0: 10.
    ///
    /// 只在最可能的 N 个词中抽取；0 为全部。有 --after 时列出 N 个词；0 为 10。
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub top_k: usize,
    /// Largest number of tokens of a document.
    ///
    /// 一篇文档最多的词元。
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = flag::<usize>("--count"))]
    pub max_length: usize,
    /// Sample nothing, but list the words that most probably follow this text, which is cut as the model's text was.
    ///
    /// 不抽取，而列出最可能接在该文本之后的词；其切分同模型的文本。
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["n", "temperature", "max_length"])]
    pub after: Option<String>,
    /// Format of the text of --after: tokens or text. Default: as the model was trained, tokens for an ARPA file.
    ///
    /// --after 文本的格式：tokens 或 text。默认：同模型训练时，ARPA 文件为 tokens。
    #[arg(long, value_name = "FORMAT", requires = "after")]
    pub format: Option<LineFormat>,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("asked").required(true).multiple(true).args(["words", "text", "ids", "ratio"])))]
pub struct Nearest {
    /// The model file. For words: lsa, or any word vectors, also files of word2vec. For documents: any model of vectors or of weights of
    /// terms. For --ratio: the counts of train ppmi --counts.
    ///
    /// 模型文件。词：lsa 或任何词向量，也可为 word2vec 文件。文档：任何给出向量或词项权重的模型。--ratio：train ppmi --counts 写出的次数。
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Words to look up. A fastText model with character n-grams also knows words that it was not trained on.
    ///
    /// 要查的词。带字 n 元组的 fastText 模型也认识没训练过的词。
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', conflicts_with = "input")]
    pub words: Vec<String>,
    /// Words to subtract from the sum of --words, for one answer. The word that is to 跌 as 大涨 is to 涨:
    /// --words 大涨,跌 --minus 涨.
    ///
    /// 从 --words 之和减去的词，得一个答案。大涨之于涨，正如何词之于跌：--words 大涨,跌 --minus 涨。
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', requires = "words")]
    pub minus: Vec<String>,
    /// The measure of nearness: cosine, or Euclidean distance.
    ///
    /// 词的远近：cosine（余弦）或 euclidean（欧氏距离）。
    #[arg(long, value_name = "WHAT", default_value = "cosine", conflicts_with_all = ["input", "minus"])]
    pub by: WordDistance,
    /// Answer for each sense of --words that the model knows, as 回购|v and 苹果|ORG.
    ///
    /// 对 --words 中各词的每个义项（如 回购|v、苹果|ORG）作答。
    #[arg(long, requires = "words", conflicts_with = "minus")]
    pub senses: bool,
    /// Show the words that go with one word rather than with another, as ice,steam: P(word | ice) / P(word | steam), of --words, or of the K highest and
    /// lowest.
    ///
    /// 看哪些词伴随前一词而非后一词，如 ice,steam：P(词 | ice) / P(词 | steam)，取 --words，或最高、最低各 K 个。
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', conflicts_with_all = ["input", "minus", "senses", "by"])]
    pub ratio: Vec<String>,
    /// Find the documents of --input nearest to this one, which is written as a line of --input would be.
    ///
    /// 在 --input 中找与它最近的文档，写法同 --input 的一行。
    #[arg(long, requires = "input")]
    pub text: Option<String>,
    /// Find the documents nearest to these of --input: ids, or line numbers if the lines have no ids.
    ///
    /// 找与 --input 中这些文档最近的文档：编号，没有编号则为行号。
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', requires = "input", conflicts_with = "text")]
    pub ids: Vec<String>,
    /// The documents to search, one per line; - reads standard input.
    ///
    /// 要查找的文档，每行一篇；- 为标准输入。
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Format of the lines: tokens, text or jsonl.
    ///
    /// 行的格式：tokens、text 或 jsonl。
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    #[command(flatten)]
    pub onnx: Onnx,
    /// Put the nearest documents in the order of a cross-encoder, which reads each together with the document sought: its folder or .onnx file.
    ///
    /// 最近的文档再由交叉编码器排序，它把每篇与所查文档一起阅读：其文件夹或 .onnx 文件。
    #[arg(long, value_name = "MODEL", requires = "input")]
    pub rerank: Option<PathBuf>,
    /// Number of neighbours.
    ///
    /// 近邻的个数。
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = flag::<usize>("--count"))]
    pub k: usize,
}

#[derive(Debug, Args)]
pub struct Shift {
    /// Models of word vectors, from the earliest to the latest.
    ///
    /// 词向量模型，从最早到最晚。
    #[arg(long, value_name = "FILE,FILE", value_delimiter = ',', required = true)]
    pub models: Vec<PathBuf>,
    /// Words to follow; without this flag, all words of the first model.
    ///
    /// 要看的词；不写则为首个模型的全部词。
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',')]
    pub words: Vec<String>,
    /// File of the table: word, model, time, count, and distance moved.
    ///
    /// 表的文件：词、模型、时间、次数与移动距离。
    #[arg(short, long, value_name = "FILE.csv")]
    pub output: PathBuf,
    #[command(flatten)]
    pub csv: CsvText,
}

#[derive(Debug, Args)]
pub struct Projection {
    /// The model file: any word vectors, also those of lsa, fastText and neural language models, and files of word2vec.
    ///
    /// 模型文件：任何词向量，也包括 lsa、fastText 与神经语言模型的，以及 word2vec 文件。
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Show the first N words of the model, which are the most frequent if it has counts; 0 shows all.
    ///
    /// 显示模型的前 N 个词，有计数时即最常见者；0 为全部。
    #[arg(long, value_name = "N", default_value_t = 300, conflicts_with_all = ["words", "groups"], value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Show these words.
    ///
    /// 显示这些词。
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', conflicts_with = "groups")]
    pub words: Vec<String>,
    /// Show the words of a file: one per line and, after a tab or a space, the group that sets the colour.
    ///
    /// 显示文件中的词：每行一个，其后可用制表符或空格写决定颜色的组。
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,
    /// pca shows the two directions of greatest variance; tsne keeps neighbours together.
    ///
    /// pca 取方差最大的两个方向；tsne 使近邻相聚。
    #[arg(long, value_name = "METHOD", default_value = "pca")]
    pub method: ProjectionMethod,
    /// Perplexity of tsne, the effective number of neighbours; default: 30, or a third of the words if that is less.
    ///
    /// tsne 的困惑度，即有效近邻数；默认：30，词少时为词数的三分之一。
    #[arg(long, value_name = "N", value_parser = flag::<f32>("--count"))]
    pub perplexity: Option<f32>,
    /// Iterations of tsne.
    ///
    /// tsne 的迭代次数。
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = flag::<usize>("--epochs"))]
    pub epochs: usize,
    /// Colour words by N clusters of their vectors (k-means); words of a group keep theirs.
    ///
    /// 按词向量的 N 个聚类（k 均值）着色；已有组的词不变。
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub clusters: usize,
    /// A picture (.svg), or a table of word, group, x and y (.csv, .parquet).
    ///
    /// 图（.svg），或词、组、x、y 的表（.csv、.parquet）。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub csv: CsvText,
}
