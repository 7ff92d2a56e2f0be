//! `train fasttext` and `train fasttext-supervised`.

use std::path::PathBuf;

use ::inkstone_models as model;
use anyhow::Result;
use clap::Args;

use super::{Files, VectorFiles, open, trained};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_features::models::fasttext;
use inkstone_models::{FastTextParams, Form, Loss, QuantiseParams, Training, VectorFormat, WordVectors};

/// Files of both.
#[derive(Debug, Args)]
pub struct FastTextFiles {
    #[command(flatten)]
    pub files: VectorFiles,
    /// Also write the model as fastText's own file, with all its buckets: .bin, or .ftz when it is quantised.
    ///
    /// 另存为 fastText 自己的文件，含全部哈希桶：.bin，量化后为 .ftz。
    #[arg(long, value_name = "FILE")]
    pub bin: Option<PathBuf>,
}

/// Flags of `train fasttext`.
#[derive(Debug, Args)]
pub struct FastText {
    #[command(flatten)]
    pub files: FastTextFiles,
    /// Learn words from the words around them (CBOW), not the other way round (skip-gram).
    ///
    /// 由周围的词学习词（CBOW），而不是相反（skip-gram）。
    #[arg(long)]
    pub cbow: bool,
    #[command(flatten)]
    pub params: FastTextParams,
}

/// Flags of `train fasttext-supervised`.
#[derive(Debug, Args)]
pub struct FastTextSupervised {
    #[command(flatten)]
    pub files: FastTextFiles,
    /// Dimensions.
    ///
    /// 维数。
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().dim, value_parser = flag::<usize>("feature.fasttext.dim"))]
    pub dim: usize,
    /// Passes over the text.
    ///
    /// 遍历文本的轮数。
    #[arg(long, visible_alias = "epoch", value_name = "N", default_value_t = FastTextParams::supervised().epochs, value_parser = flag::<usize>("feature.fasttext.epochs"))]
    pub epochs: usize,
    /// Rate of learning at the start; it falls to 0.
    ///
    /// 起始学习率，逐渐降到 0。
    #[arg(long, value_name = "R", default_value_t = FastTextParams::supervised().lr, value_parser = flag::<f32>("feature.fasttext.lr"))]
    pub lr: f32,
    /// softmax, hs (hierarchical softmax), ns (negative sampling) or ova (one versus all, for several labels a text).
    ///
    /// 损失函数：softmax、hs（分层 softmax）、ns（负采样）或 ova（一对多，适合多标签）。
    #[arg(long, value_name = "LOSS", value_enum, default_value_t = FastTextParams::supervised().loss)]
    pub loss: Loss,
    /// Labels drawn against each right one, with ns.
    ///
    /// ns 时每个正确标签抽取的负标签数。
    #[arg(long, visible_alias = "neg", value_name = "N", default_value_t = FastTextParams::supervised().negative, value_parser = flag::<usize>("feature.fasttext.negative"))]
    pub negative: usize,
    /// Words in a row that are a feature together, at the most.
    ///
    /// 连续几个词合为一个特征，最多的个数。
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().word_ngrams, value_parser = flag::<usize>("--max-len"))]
    pub word_ngrams: usize,
    /// Leave out words that occur less often; their n-grams stay.
    ///
    /// 舍弃出现更少的词；其 n 元组保留。
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().min_count, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Leave out labels that occur less often.
    ///
    /// 舍弃出现更少的标签。
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().min_count_label, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count_label: u64,
    /// Shortest character n-gram; the bounds of a word count.
    ///
    /// 最短的字 n 元组，词的边界计入。
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().minn, value_parser = flag::<usize>("feature.fasttext.minn"))]
    pub minn: usize,
    /// Longest character n-gram; 0: none.
    ///
    /// 最长的字 n 元组；0 为不用。
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().maxn, value_parser = flag::<usize>("feature.fasttext.maxn"))]
    pub maxn: usize,
    /// Places that n-grams are hashed into.
    ///
    /// n 元组的哈希桶数。
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().bucket, value_parser = flag::<u32>("feature.fasttext.bucket"))]
    pub bucket: u32,
    /// Prefix of labels in files of tokens or text, and in fastText's file.
    ///
    /// 词元或文本文件以及 fastText 文件中标签的前缀。
    #[arg(long, value_name = "PREFIX", default_value_t = FastTextParams::supervised().label)]
    pub label: String,
    /// Begin with these vectors of words, in a format of word2vec; words that only they have are known then too.
    ///
    /// 以 word2vec 格式的这些词向量开始；只在其中的词也算已知。
    #[arg(long, value_name = "FILE")]
    pub pretrained_vectors: Option<PathBuf>,
    /// Quantise the model: a tenth of the size or less, and nearly as good.
    ///
    /// 量化模型：大小不到十分之一，效果相近。
    #[arg(help_heading = "Quantisation", long)]
    pub quantize: bool,
    #[command(flatten)]
    pub quantisation: QuantiseParams,
}

pub(super) fn words(args: &FastText, ctx: &Ctx) -> Result<Summary> {
    let form = if args.cbow { Form::Cbow } else { Form::Skipgram };
    let params = FastTextParams { form, ..args.params.clone() };
    let VectorFiles { files, .. } = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let train = || fasttext::train_words(&mut lines, &cutter, &params, &files.output, ctx);
    let ((model, training), report) = staged(ctx, "train", train)?;
    exported(&args.files, &model, &training, report)
}

pub(super) fn supervised(args: &FastTextSupervised, ctx: &Ctx) -> Result<Summary> {
    let params = FastTextParams {
        loss: args.loss,
        dim: args.dim,
        epochs: args.epochs,
        lr: args.lr,
        negative: args.negative,
        word_ngrams: args.word_ngrams,
        min_count: args.min_count,
        min_count_label: args.min_count_label,
        minn: args.minn,
        maxn: args.maxn,
        bucket: args.bucket,
        label: args.label.clone(),
        ..FastTextParams::supervised()
    };
    let quantise = args.quantize.then_some(&args.quantisation);
    let pretrained = args.pretrained_vectors.as_deref().map(WordVectors::open).transpose()?;
    let Files { corpus, output } = &args.files.files.files;
    let (mut lines, cutter) = open(corpus)?;
    let train = || fasttext::train_supervised(&mut lines, &cutter, &params, pretrained.as_ref(), quantise, output, ctx);
    let ((model, training), report) = staged(ctx, "train", train)?;
    exported(&args.files, &model, &training, report)
}

/// Writes the files for other tools, and says what was trained.
fn exported(files: &FastTextFiles, model: &model::FastText, training: &Training, report: Report) -> Result<Summary> {
    let FastTextFiles { files: VectorFiles { files, vectors }, bin } = files;
    if let Some(path) = bin {
        model.save(path)?;
    }
    if let Some(path) = vectors {
        model.vectors(training.clone())?.export(path, VectorFormat::by_name(path))?;
    }
    let facts = ["labels", "labels_of_one_document", "rows", "loss"];
    let mut summary = trained(&training.method, &files.output, report, &facts);
    for (name, path) in [("bin", bin), ("vectors", vectors)] {
        if let Some(path) = path {
            summary.set(name, path.display().to_string());
        }
    }
    Ok(summary)
}
