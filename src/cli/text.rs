//! Flags of reading and cutting text: what `tokenize` and every model on plain files share.

use std::path::PathBuf;

use chrono::NaiveDateTime;
use clap::Args;
use clap::builder::ArgPredicate;

use crate::config::bounds::flag;
use inkstone_base::disk::Formulas;
use inkstone_base::language::Message;
use inkstone_base::message;
use inkstone_corpus::ingest::read_time;
use inkstone_features::standalone::LineFormat;
use inkstone_text::{Cut, Mode, TokenizerParams, Truncation};

/// Heading of these flags in every help text.
const CUTTING: &str = "Cutting text";

/// How text is cut.
#[derive(Clone, Debug, Args)]
pub struct Tokenizer {
    /// Unit: characters, words of jieba, the pieces that a contextual model reads, or the words of a labeller (crf).
    ///
    /// 单位：字、jieba 的词、上下文模型的子词，或标注器切出的词（crf）。
    #[arg(
        help_heading = CUTTING,
        long,
        default_value = "jieba",
        default_value_ifs([
            ("pieces", ArgPredicate::IsPresent, "wordpiece"),
            ("labeller", ArgPredicate::IsPresent, "crf"),
        ])
    )]
    pub mode: Mode,
    /// The tokenizer of a contextual model: tokenizer.json, vocab.txt, a SentencePiece model, or the folder of an export that holds one. With
    /// it the mode is wordpiece.
    ///
    /// 上下文模型的分词器：tokenizer.json、vocab.txt、SentencePiece 模型，或含有它的导出文件夹。此时模式为 wordpiece。
    #[arg(help_heading = CUTTING, long, value_name = "FILE", required_if_eq("mode", "wordpiece"))]
    pub pieces: Option<PathBuf>,
    /// A labeller that cuts words: a model of train crf --learn words. With it the mode is crf.
    ///
    /// 切词的标注器：train crf --learn words 的模型。此时模式为 crf。
    #[arg(help_heading = CUTTING, long, value_name = "FILE", required_if_eq("mode", "crf"))]
    pub labeller: Option<PathBuf>,
    #[command(flatten)]
    pub words: WordCut,
}

impl Tokenizer {
    /// The flags of cutting as parameters; `stopwords` is the default of that flag.
    pub(crate) fn params(&self, stopwords: &str) -> TokenizerParams {
        let words = &self.words;
        TokenizerParams {
            mode: self.mode,
            pieces: self.pieces.clone(),
            labeller: self.labeller.clone(),
            cut: words.cut,
            hmm: !words.no_hmm,
            tags: words.tags,
            dictionaries: words.dict.clone(),
            stopwords: words.stopwords.clone().unwrap_or_else(|| stopwords.to_owned()).into(),
            ..TokenizerParams::default()
        }
    }
}

/// How words are found and which are left out.
#[derive(Clone, Debug, Default, Args)]
pub struct WordCut {
    /// How jieba cuts: precise, full or search.
    ///
    /// jieba 的切分模式：precise（精确）、full（全）或 search（搜索）。
    #[arg(help_heading = CUTTING, long, default_value = "precise")]
    pub cut: Cut,
    /// Find words that are in no dictionary (the default; cancels --no-hmm).
    ///
    /// 发现词典之外的词（默认；抵消 --no-hmm）。
    #[arg(help_heading = CUTTING, long, overrides_with = "no_hmm")]
    pub hmm: bool,
    /// Cut by the dictionaries alone.
    ///
    /// 只按词典切分。
    #[arg(help_heading = CUTTING, long)]
    pub no_hmm: bool,
    /// A user dictionary: word, optional frequency, optional tag. May be given several times.
    ///
    /// 用户词典：词，可带频率与词性。可写多次。
    #[arg(help_heading = CUTTING, long, value_name = "FILE")]
    pub dict: Vec<PathBuf>,
    /// Append its part of speech to each word, as in 回购|v, to keep its senses apart; needs jieba's precise cut.
    ///
    /// 在每个词后附词性，如 回购|v，以区分词义；须用 jieba 的精确模式。
    #[arg(help_heading = CUTTING, long)]
    pub tags: bool,
    /// Leave out stopwords, punctuation and numbers: none (keep all), builtin or a file. Default: none for tokenize, builtin
    /// for models that count words; language models read every token.
    ///
    /// 去掉停用词、标点与数字：none（全部保留）、builtin（自带）或文件。默认：tokenize 为 none，统计词的模型为 builtin；语言模型读取全部词元。
    #[arg(help_heading = CUTTING, long, value_name = "LIST")]
    pub stopwords: Option<String>,
}

/// Documents that a model is fitted on.
#[derive(Clone, Debug, Args)]
pub struct Corpus {
    /// The documents, one per line; - reads standard input. A folder of a project's documents, such as .inkstone/clean, is read as jsonl.
    ///
    /// 文档，每行一篇；- 为标准输入。项目的文档文件夹（如 .inkstone/clean）按 jsonl 读取。
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: tokens (separated by spaces), text, or jsonl ({"text"} and, where known, id, title,
    /// label, value, time, group). Default: jsonl for a file with that ending, else text.
    ///
    /// 行的格式：tokens（以空格分隔）、text，或 jsonl（{"text"}，以及已知的 id、title、label、value、time、group）。默认：该扩展名的文件为 jsonl，否则为 text。
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// Read only the documents known at this time (2023-12-31, or with a time of day), so that nothing is learned from later
    /// ones. It needs documents with times: jsonl, or the documents of a project.
    ///
    /// 只读此时（2023-12-31，或带时刻）已知的文档，不从更晚的学习。须有带时间的文档：jsonl，或项目的文档。
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<NaiveDateTime>,
    #[command(flatten)]
    pub tokenizer: Tokenizer,
}

pub(crate) fn time(text: &str) -> Result<NaiveDateTime, Message> {
    read_time(text).ok_or_else(|| {
        message!(
            "{text:?} 不是时间；请写 2023-12-31 或 2023-12-31 15:00:00",
            "{text:?} is not a time; write 2023-12-31 or 2023-12-31 15:00:00"
        )
    })
}

#[derive(Debug, Args)]
pub struct Tokenize {
    #[command(flatten)]
    pub cut: Tokenizer,
    /// Make each name that this labeller finds one token with its kind, as 苹果|ORG: a model of train crf --learn entities. Word vectors of such
    /// text tell the senses of a word apart.
    ///
    /// 把该标注器（train crf --learn entities 的模型）找到的每个名称作为带类别的一个词元，如 苹果|ORG。由此训练的词向量区分词的义项。
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pieces", "tags"])]
    pub names: Option<PathBuf>,
    /// Keep a part of each line: head:512, tail:512, head+tail:128+382.
    ///
    /// 保留每行的一部分：head:512、tail:512、head+tail:128+382。
    #[arg(long, value_name = "SPEC")]
    pub truncate: Option<Truncation>,
    /// Special tokens of the model, such as CLS and SEP, that count towards the limit. Default: 2; in the mode wordpiece those that the
    /// tokenizer adds.
    ///
    /// 计入长度的模型特殊词元，如 CLS 与 SEP。默认：2；wordpiece 模式为分词器所加的个数。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--count"))]
    pub specials: Option<usize>,
    /// Separator between tokens.
    ///
    /// 词元之间的分隔符。
    #[arg(long, default_value = " ", value_name = "TEXT")]
    pub separator: String,
    /// Also write a table of the words: word, count, number of lines with it.
    ///
    /// 另写一张词表：词、次数、出现的行数。
    #[arg(long, value_name = "FILE")]
    pub vocabulary: Option<PathBuf>,
}

/// Flags of commands that write CSV files with texts of the input.
#[derive(Clone, Copy, Debug, Args)]
pub struct CsvText {
    /// Texts in a .csv that a spreadsheet would take for formulas: keep leaves them, quote puts an apostrophe in front.
    ///
    /// .csv 中会被电子表格当作公式的文本：keep 保持原样，quote 在前面加撇号。
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    pub csv_formulas: Formulas,
}
