//! `train nnlm`, `lbl`, `rnnlm`, `cw`, `textcnn` and `textrnn`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{Files, VectorFiles, exported, open, trained, trained_with_figures};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::estimators::Learn;
use inkstone_features::models::neural::train_language;
use inkstone_features::models::textnet;
use inkstone_features::standalone::windows;
use inkstone_models::neural::{FitParams, LanguageKind, LanguageParams, WindowParams};
use inkstone_models::textnet::{Cell, Channels, Pool, Reads, TextNetKind, TextNetParams};
use inkstone_models::{WordLimits, WordVectors};

/// Flags that all neural language models take.
#[derive(Clone, Debug, Args)]
pub struct Language {
    #[command(flatten)]
    pub files: VectorFiles,
    /// Words that occur less often count as one unknown word.
    ///
    /// 出现更少的词合为一个未知词。
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Know at the most this many words, the most frequent; 0 knows all.
    ///
    /// 最多认识这么多词，取最常见者；0 为全部。
    #[arg(long, value_name = "N", default_value_t = 10000, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Words drawn by chance that each prediction is trained against (importance sampling); 0: all words.
    ///
    /// 每次预测随机抽取的对照词（重要性采样）；0 为全部词。
    #[arg(long, value_name = "N", default_value_t = LanguageParams::default().samples, value_parser = flag::<usize>("--count"))]
    pub samples: usize,
    #[command(flatten)]
    pub fit: FitParams,
}

/// Flags of `train nnlm`.
#[derive(Debug, Args)]
pub struct Nnlm {
    #[command(flatten)]
    pub language: Language,
    /// Words of an n-gram, the predicted one among them.
    ///
    /// n 元组的词数，含被预测的词。
    #[arg(long, value_name = "N", default_value_t = LanguageParams::default().order, value_parser = flag::<usize>("--order"))]
    pub order: usize,
    /// Values of a word vector.
    ///
    /// 词向量的维数。
    #[arg(long, value_name = "N", default_value_t = LanguageParams::default().dim, value_parser = flag::<usize>("--dim"))]
    pub dim: usize,
    /// Units of the hidden layer.
    ///
    /// 隐藏层的单元数。
    #[arg(long, value_name = "N", default_value_t = LanguageParams::default().hidden, value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Connect the word vectors to the output directly, too.
    ///
    /// 词向量另外直接连到输出。
    #[arg(long)]
    pub direct: bool,
}

/// Flags of `train lbl`.
#[derive(Debug, Args)]
pub struct Lbl {
    #[command(flatten)]
    pub language: Language,
    /// Words of an n-gram, the predicted one among them.
    ///
    /// n 元组的词数，含被预测的词。
    #[arg(long, value_name = "N", default_value_t = LanguageParams::default().order, value_parser = flag::<usize>("--order"))]
    pub order: usize,
    /// Values of a word vector.
    ///
    /// 词向量的维数。
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("--dim"))]
    pub dim: usize,
    /// The hierarchical model (Mnih and Hinton 2009): a binary tree of words in the place of the softmax, made by splitting these word
    /// vectors in two again and again: a model of this program, or word2vec's text or binary format.
    ///
    /// 层次模型（Mnih 与 Hinton 2009）：以二叉词树代替 softmax，把这些词向量一再一分为二而成：本程序的模型，或 word2vec 的文本或二进制格式。
    #[arg(long, value_name = "FILE", conflicts_with = "samples")]
    pub tree: Option<PathBuf>,
}

/// Flags of `train rnnlm`.
#[derive(Debug, Args)]
pub struct Rnnlm {
    #[command(flatten)]
    pub language: Language,
    /// Units of the hidden layer, and values of a word vector.
    ///
    /// 隐藏层的单元数，也是词向量的维数。
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Steps that gradients go back.
    ///
    /// 梯度回传的步数。
    #[arg(long, value_name = "N", default_value_t = LanguageParams::default().bptt, value_parser = flag::<usize>("--window"))]
    pub bptt: usize,
}

/// Flags of `train cw`.
#[derive(Debug, Args)]
pub struct Cw {
    #[command(flatten)]
    pub files: VectorFiles,
    #[command(flatten)]
    pub words: WordLimits,
    #[command(flatten)]
    pub params: WindowParams,
    /// Passes over the text.
    ///
    /// 遍历文本的轮数。
    #[arg(long, value_name = "N", default_value_t = WindowParams::default().fit.epochs, value_parser = flag::<usize>("--epochs"))]
    pub epochs: usize,
    /// Windows a step.
    ///
    /// 每步的窗口数。
    #[arg(long, value_name = "N", default_value_t = WindowParams::default().fit.batch, value_parser = flag::<usize>("feature.textnet.fit.batch"))]
    pub batch: usize,
    /// Rate of learning, of Adam's steps.
    ///
    /// 学习率（Adam）。
    #[arg(long, value_name = "X", default_value_t = WindowParams::default().fit.lr, value_parser = flag::<f64>("--lr"))]
    pub lr: f64,
}

/// Flags of `train textcnn` and `textrnn`, which take JSON lines with "label" or "labels".
#[derive(Clone, Debug, Args)]
#[command(mut_arg("batch", |arg| arg.default_value("50")))]
pub struct NetClasses {
    #[command(flatten)]
    pub files: Files,
    /// Target: label (one class) or labels (any number; parts of a label between | count as such).
    /// Default: the first of labels, label that a line has.
    ///
    /// 学习目标：label（一个类别）或 labels（任意个；标签以 | 分隔的各部分即是）。默认：各行所有的 labels、label 中的第一个。
    #[arg(long, value_name = "FIELD")]
    pub learn: Option<Learn>,
    /// Word vectors to begin with: a model of this program, or word2vec's text or binary format.
    ///
    /// 起始词向量：本程序的模型，或 word2vec 的文本或二进制格式。
    #[arg(long, value_name = "FILE")]
    pub pretrained: Option<PathBuf>,
    /// Treatment of the pretrained vectors in training: tuned (changes them), static (keeps them) or both (two vectors a word, one of each).
    ///
    /// 预训练向量在训练中的处理：tuned（微调）、static（保持不变）或 both（每词两个向量，各一）。
    #[arg(long, value_enum, default_value_t)]
    pub channels: Channels,
    /// Values of a word vector. Default: those of the pretrained vectors, else 100.
    ///
    /// 词向量的维数。默认：预训练向量的维数，否则 100。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("feature.textnet.dim"))]
    pub dim: Option<usize>,
    /// Words that occur less often count as one unknown word.
    ///
    /// 出现更少的词合为一个未知词。
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Know at the most this many words, the most frequent; 0 knows all.
    ///
    /// 最多认识这么多词，取最常见者；0 为全部。
    #[arg(long, value_name = "N", default_value_t = 50000, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Tokens read of a text at the most, the first ones.
    ///
    /// 最多读取的词元数，取文首。
    #[arg(long, value_name = "N", default_value_t = TextNetParams::default().max_tokens, value_parser = flag::<usize>("feature.textnet.max_tokens"))]
    pub max_tokens: usize,
    /// Share of the features that is dropped in training.
    ///
    /// 训练中丢弃的特征占比。
    #[arg(long, value_name = "SHARE", default_value_t = TextNetParams::default().dropout, value_parser = flag::<f64>("feature.textnet.dropout"))]
    pub dropout: f64,
    /// L2 penalty of all weights but word vectors.
    ///
    /// 词向量以外权重的 L2 惩罚。
    #[arg(long, value_name = "X", default_value_t = TextNetParams::default().l2, value_parser = flag::<f64>("feature.textnet.l2"))]
    pub l2: f64,
    #[command(flatten)]
    pub fit: FitParams,
}

/// Flags of `train textcnn`.
#[derive(Debug, Args)]
pub struct TextCnn {
    #[command(flatten)]
    pub classes: NetClasses,
    /// Words of a window, one for each kind of filter.
    ///
    /// 窗口的词数，每种卷积核一个。
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "3,4,5", value_parser = flag::<usize>("feature.textnet.widths"))]
    pub widths: Vec<usize>,
    /// Filters of each width.
    ///
    /// 每种宽度的卷积核数。
    #[arg(long, value_name = "N", default_value_t = TextNetParams::default().maps, value_parser = flag::<usize>("feature.textnet.maps"))]
    pub maps: usize,
    /// Pooling of a filter over the text: max (its largest value over the text) or mean.
    ///
    /// 卷积在文本上的池化：max（最大值）或 mean（均值）。
    #[arg(long, value_enum, default_value_t)]
    pub pool: Pool,
}

/// Flags of `train textrnn`.
#[derive(Debug, Args)]
pub struct TextRnn {
    #[command(flatten)]
    pub classes: NetClasses,
    /// Unit of the layers: lstm or gru.
    ///
    /// 层的单元：lstm 或 gru。
    #[arg(long, value_enum, default_value_t)]
    pub cell: Cell,
    /// How each layer reads, from the words up: both (directions) or forward; one to three layers.
    ///
    /// 自下而上各层的阅读方向：both（双向）或 forward（单向）；一到三层。
    #[arg(long, value_name = "READS,READS", value_delimiter = ',', default_value = "both")]
    pub layers: Vec<Reads>,
    /// Units of each direction of a layer.
    ///
    /// 每层每个方向的单元数。
    #[arg(long, value_name = "N", default_value_t = TextNetParams::default().hidden, value_parser = flag::<usize>("feature.textnet.hidden"))]
    pub hidden: usize,
    /// Part of the last layer's states that tells the class: max (the largest of each unit over the text), mean or last.
    ///
    /// 用末层状态的哪部分分类：max（各单元的最大值）、mean（均值）或 last（末状态）。
    #[arg(long, value_enum, default_value_t)]
    pub pool: Pool,
}

pub(super) fn nnlm(args: &Nnlm, ctx: &Ctx) -> Result<Summary> {
    let (order, dim, hidden, direct) = (args.order, args.dim, args.hidden, args.direct);
    let params =
        LanguageParams { kind: LanguageKind::Nnlm, order, dim, hidden, direct, ..language_params(&args.language) };
    language(&args.language, None, &params, ctx)
}

pub(super) fn lbl(args: &Lbl, ctx: &Ctx) -> Result<Summary> {
    let (order, dim) = (args.order, args.dim);
    let params = LanguageParams { kind: LanguageKind::Lbl, order, dim, ..language_params(&args.language) };
    let tree = args.tree.as_deref().map(WordVectors::open).transpose()?;
    language(&args.language, tree.as_ref(), &params, ctx)
}

pub(super) fn rnnlm(args: &Rnnlm, ctx: &Ctx) -> Result<Summary> {
    let (hidden, bptt) = (args.hidden, args.bptt);
    let params = LanguageParams { kind: LanguageKind::Rnnlm, hidden, bptt, ..language_params(&args.language) };
    language(&args.language, None, &params, ctx)
}

fn language_params(args: &Language) -> LanguageParams {
    LanguageParams { samples: args.samples, fit: args.fit.clone(), ..LanguageParams::default() }
}

fn language(args: &Language, tree: Option<&WordVectors>, params: &LanguageParams, ctx: &Ctx) -> Result<Summary> {
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let words = WordLimits { min_count: args.min_count, max_words: args.max_words };
    let train = || train_language(&mut lines, &cutter, words, tree, params, &files.output, ctx);
    let (vectors, report) = staged(ctx, "train", train)?;
    let facts = ["unknown_tokens", "words_in_tree", "parameters", "epochs", "perplexity"];
    let mut summary = trained(params.kind.name(), &files.output, report, &facts);
    exported(&vectors, &args.files, &mut summary)?;
    Ok(summary)
}

pub(super) fn cw(args: &Cw, ctx: &Ctx) -> Result<Summary> {
    let fit = FitParams { epochs: args.epochs, batch: args.batch, lr: args.lr, ..WindowParams::default().fit };
    let params = WindowParams { fit, ..args.params.clone() };
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let train = || windows::train(&mut lines, &cutter, args.words, &params, &files.output, ctx);
    let (vectors, report) = staged(ctx, "train", train)?;
    let mut summary = trained(windows::METHOD, &files.output, report, &["epochs"]);
    exported(&vectors, &args.files, &mut summary)?;
    Ok(summary)
}

pub(super) fn textcnn(args: &TextCnn, ctx: &Ctx) -> Result<Summary> {
    let params = TextNetParams {
        kind: TextNetKind::TextCnn,
        widths: args.widths.clone(),
        maps: args.maps,
        pool: args.pool,
        ..TextNetParams::default()
    };
    classes(&args.classes, params, ctx)
}

pub(super) fn textrnn(args: &TextRnn, ctx: &Ctx) -> Result<Summary> {
    let params = TextNetParams {
        kind: TextNetKind::TextRnn,
        cell: args.cell,
        layers: args.layers.clone(),
        hidden: args.hidden,
        pool: args.pool,
        ..TextNetParams::default()
    };
    classes(&args.classes, params, ctx)
}

fn classes(args: &NetClasses, params: TextNetParams, ctx: &Ctx) -> Result<Summary> {
    let pretrained = args.pretrained.as_deref().map(WordVectors::open).transpose()?;
    let given = pretrained.as_ref().map(|vectors| vectors.dim());
    let params = TextNetParams {
        dim: args.dim.or(given).unwrap_or(params.dim),
        dropout: args.dropout,
        max_tokens: args.max_tokens,
        l2: args.l2,
        channels: args.channels,
        fit: args.fit.clone(),
        ..params
    };
    let words = WordLimits { min_count: args.min_count, max_words: args.max_words };
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let (kind, output) = (params.kind.name(), &args.files.output);
    let train = || {
        let pretrained = pretrained.as_ref();
        textnet::train(&mut lines, &cutter, args.learn, words, &params, pretrained, output, ctx).map(|r| ((), r))
    };
    let ((), report) = staged(ctx, "train", train)?;
    Ok(trained_with_figures(kind, output, report))
}
