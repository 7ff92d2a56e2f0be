//! `train ngram` and `newwords`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::{format, lines, open, trained};
use crate::cli::{Corpus, CsvText};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_features::models::ngram::{HeldOut, train_ngram};
use inkstone_features::standalone::{LineFormat, Source, newwords};
use inkstone_models::NewWordParams;
use inkstone_models::ngram::{LanguageModel, NgramParams, Pruning, Room};

/// Flags of `train ngram`.
#[derive(Debug, Args)]
pub struct Ngram {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model: an ARPA file by the name .arpa, else a file that is mapped into memory.
    ///
    /// 模型：名称以 .arpa 结尾为 ARPA 文件，否则为内存映射文件。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub params: NgramParams,
    /// Leave out n-grams seen that often or less: a limit for each length, such as 0,0,1.
    ///
    /// 舍弃出现这么多次或更少的 n 元组：每个长度一个下限，如 0,0,1。
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = flag::<u32>("--count"))]
    pub prune: Vec<u32>,
    /// For jelinek-mercer: a file of documents to fit its weights on.
    ///
    /// jelinek-mercer：拟合其权重所用的文档文件。
    #[arg(long, value_name = "FILE")]
    pub held_out: Option<PathBuf>,
    /// Memory for counting, in MB; beyond it, sorted runs go to files.
    ///
    /// 统计可用的内存（MB）；超出时排序后写到文件。
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
    /// Folder of those files. Default: the folder of the output.
    ///
    /// 这些文件的文件夹。默认：输出所在的文件夹。
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
}

/// Flags of `train newwords`. Words of the tokenizer's dictionaries are not new.
#[derive(Debug, Args)]
pub struct Newwords {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The dictionary, as jieba reads it: word, frequency, tag a line.
    ///
    /// 词典，jieba 的格式：每行为词、频率、词性。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write each word's figures: count, documents, PMI, entropies, first_seen, fitted_until.
    ///
    /// 另写各词的数值：次数、文档数、PMI、熵、first_seen、fitted_until。
    #[arg(long, value_name = "CSV")]
    pub table: Option<PathBuf>,
    #[command(flatten)]
    pub params: NewWordParams,
    #[command(flatten)]
    pub csv: CsvText,
}

pub(super) fn ngram(args: &Ngram, ctx: &Ctx) -> Result<Summary> {
    let params = NgramParams { prune: Pruning(args.prune.clone()), ..args.params.clone() };
    // The system's folder for temporary files often lies in memory, which is what runs are there to spare.
    let folder = args.temp.as_deref().unwrap_or_else(|| disk::folder_of(&args.output));
    let room = Room { memory_mb: args.memory, folder: folder.to_owned() };
    let (mut read, cutter) = open(&args.corpus)?;
    let held_out = match &args.held_out {
        Some(path) => HeldOut::Lines(lines(path, &args.corpus)?),
        None => HeldOut::Share,
    };
    let (model, report) = staged(ctx, "train", || train_ngram(&mut read, held_out, &cutter, &params, &room, ctx))?;
    if args.output.extension().is_some_and(|extension| extension == "arpa") {
        model.write_arpa(&args.output, ctx)?;
    } else {
        LanguageModel::new(&model, ctx)?.save(&args.output, cutter.spec(), &params)?;
    }
    Ok(trained("ngram", &args.output, report, &[]))
}

pub(super) fn newwords(args: &Newwords, ctx: &Ctx) -> Result<Summary> {
    let corpus = &args.corpus;
    let format = format(&corpus.input, corpus);
    ensure!(
        format != LineFormat::Tokens,
        "新词要在未切分的文本中查找；请用 --format text 或 jsonl",
        "new words are found in text that has not been cut; give --format text or jsonl"
    );
    let source = Source::open(&corpus.input, format, ctx)?;
    let tokenizer = corpus.tokenizer.params("builtin");
    let (found, report) = staged(ctx, "train", || {
        newwords::find(|| source.lines(), &args.params, corpus.until, &tokenizer, Path::new(""), ctx)
    })?;
    found.save_dictionary(&args.output)?;
    if let Some(table) = &args.table {
        found.save_table(table, args.csv.csv_formulas)?;
    }
    let words = report.facts["words"].clone();
    let mut summary = trained("newwords", &args.output, report, &[]);
    summary.set("words", words);
    if let Some(table) = &args.table {
        summary.set("table", table.display().to_string());
    }
    Ok(summary)
}
