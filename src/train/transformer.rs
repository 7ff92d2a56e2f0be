//! `train bert`, `gpt`, `lstm`, `elmo`, `electra`, `bart`, `finetune`, `entities`, `answers`, `writer` and `student`.

use std::path::PathBuf;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use clap::Args;
use clap::builder::ArgPredicate;

use super::{lines, open, trained, trained_with_figures};
use crate::cli::{Corpus, Onnx};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_features::models::estimators::Learn;
use inkstone_features::models::onnx::Contextual;
use inkstone_features::models::transformer::{
    self, BesideWords, FinetuneParams, LanguageModel, MaskedUnit, NewEncoder, NewWriter, Objective, PretrainParams,
    SentenceTask, StudentParams, WriterParams,
};
use inkstone_features::standalone::vintages::Period;
use inkstone_models::textnet::Cell;
use inkstone_models::transformer::{AttentionScore, Noise, TransformerParams};
use inkstone_onnx::OnnxParams;

/// Flags of `train bert`.
#[derive(Debug, Args)]
pub struct Bert {
    #[command(flatten)]
    pub masked: Masked,
    /// Share of the tokens that stand in another order, three in a row, and are predicted in their own (StructBERT: 0.05).
    ///
    /// 打乱次序（每次三个连续）并预测原次序的词元占比（StructBERT：0.05）。
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = flag::<f64>("--share"))]
    pub shuffle_share: f64,
    /// Also learn a relation of two halves of a text. order: they are swapped half of the time (ALBERT); next: the second one is another text's half of
    /// the time (BERT); three: they are swapped or the second one is another text's, a third of the time each (StructBERT).
    ///
    /// 同时学习文本两半的关系。order：一半情况互换（ALBERT）；next：一半情况后半来自另一文本（BERT）；three：互换或来自另一文本，各占三分之一（StructBERT）。
    #[arg(long, value_name = "TASK")]
    pub sentences: Option<SentenceTask>,
    /// Also learn which names of companies took the place of others: in each document with a time half of the companies bear the name and the code of
    /// another one of their industry that day (WKLM). A table of securities, as a project's .inkstone/securities.parquet.
    ///
    /// 同时学习哪些公司名被替换：带时间的文档中，一半公司换成当日同业另一公司的名称与代码（WKLM）。给出证券表，如项目的 .inkstone/securities.parquet。
    #[arg(long, value_name = "FILE", conflicts_with = "sentences")]
    pub replace_names: Option<PathBuf>,
}

/// Flags of `train electra`.
#[derive(Debug, Args)]
pub struct Electra {
    #[command(flatten)]
    pub masked: Masked,
}

/// Sizes of the layers of transformers.
#[derive(Clone, Copy, Debug, Args)]
pub struct AttentionSizes {
    /// Heads of attention; they share the values of a vector.
    ///
    /// 注意力头数，均分向量的各维。
    #[arg(long, value_name = "N", default_value_t = 4, conflicts_with = "base", value_parser = flag::<usize>("--count"))]
    pub heads: usize,
    /// Units of the feed-forward layers. Default: four times the values of a vector.
    ///
    /// 前馈层的单元数。默认：向量维数的四倍。
    #[arg(long, value_name = "N", conflicts_with = "base", value_parser = flag::<usize>("--dim"))]
    pub between: Option<usize>,
}

/// Flags of the trainings on masked words.
#[derive(Debug, Args)]
pub struct Masked {
    #[command(flatten)]
    pub encoder: Pretrained,
    #[command(flatten)]
    pub sizes: AttentionSizes,
    /// Share of the tokens that are masked.
    ///
    /// 遮盖的词元占比。
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, value_parser = flag::<f64>("--share"))]
    pub mask_share: f64,
    /// Units that are masked: words (all tokens of a word), tokens (each for itself) or spans (up to ten words in a row, as SpanBERT).
    ///
    /// 遮盖的单位：words（整词的词元）、tokens（逐个词元）或 spans（最多连续十词，同 SpanBERT）。
    #[arg(long, value_enum, default_value_t)]
    pub mask: MaskedUnit,
}

/// Flags of `train gpt`.
#[derive(Debug, Args)]
pub struct Gpt {
    #[command(flatten)]
    pub encoder: Pretrained,
    #[command(flatten)]
    pub sizes: AttentionSizes,
}

/// Flags of `train lstm` and `train elmo`.
#[derive(Debug, Args)]
#[command(mut_arg("layers", |arg| arg.default_value("2")), mut_arg("batch", |arg| arg.default_value("8")), mut_arg("lr", |arg| arg.default_value("0.01")))]
pub struct Lstm {
    #[command(flatten)]
    pub encoder: Pretrained,
}

/// Flags of `train bart`.
#[derive(Debug, Args)]
pub struct Bart {
    #[command(flatten)]
    pub encoder: Pretrained,
    #[command(flatten)]
    pub sizes: AttentionSizes,
    /// Ways to damage texts: sentences (in another order), rotation (a text begins within), infilling (spans of words become one mask each), masking
    /// (words become masks) and deletion (words are left out).
    ///
    /// 损坏文本的方式：sentences（打乱句子）、rotation（从中间开始）、infilling（一段词变为一个掩码）、masking（词变为掩码）和 deletion（删词）。
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sentences,infilling", value_name = "NOISES")]
    pub noise: Vec<Noise>,
    /// Share of a text's tokens that infilling, masking and deletion damage.
    ///
    /// infilling、masking 与 deletion 损坏的词元占比。
    #[arg(long, value_name = "SHARE", default_value_t = 0.3, value_parser = flag::<f64>("--share"))]
    pub mask_share: f64,
    /// Units that are damaged: words (all tokens of a word) or tokens (each for itself).
    ///
    /// 损坏的单位：words（整词的词元）或 tokens（逐个词元）。
    #[arg(long, value_enum, default_value_t)]
    pub mask: MaskedUnit,
}

/// Flags of the trainings of encoders on text alone.
#[derive(Debug, Args)]
#[command(mut_arg("batch", |arg| arg.default_value("32")), mut_arg("lr", |arg| arg.default_value("0.0005")), mut_arg("epochs", |arg| arg.default_value("10")), mut_arg("held_out_share", |arg| arg.default_value("0.05")))]
pub struct Pretrained {
    #[command(flatten)]
    pub corpus: Corpus,
    /// Folder of the new encoder. It must be new, empty, or of an earlier training.
    ///
    /// 新编码器的文件夹。须为新的、空的，或先前训练所用。
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Encoder to train on from: a folder with config.json, model.safetensors and a tokenizer. Without it an encoder and its vocabulary are
    /// trained from nothing.
    ///
    /// 作为基础继续训练的编码器：含 config.json、model.safetensors 与分词器的文件夹。不写则从头训练编码器及其词表。
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["layers", "hidden", "vocabulary", "min_count"])]
    pub base: Option<PathBuf>,
    /// Lines of the text that the base was trained on, or text like it: the report says their perplexity before and after (base_perplexity).
    ///
    /// 基础模型训练文本的行，或类似文本：报告给出训练前后的困惑度（base_perplexity）。
    #[arg(long, value_name = "FILE", requires = "base")]
    pub base_text: Option<PathBuf>,
    /// Train an encoder for each window of time, on from that of the window before: folders WINDOW in the output. Of documents with a time.
    ///
    /// 按时间窗口逐个训练编码器，每个在前一个上继续：输出中以窗口为名的文件夹。使用带时间的文档。
    #[arg(long, value_name = "PERIOD", conflicts_with = "base")]
    pub vintages: Option<Period>,
    /// Last day of the text that the base was trained on, where its folder does not say it, and of lines without a time.
    ///
    /// 基础模型训练文本的最后一天，其文件夹未注明时写出，没有时间的行也按此计。
    #[arg(long, value_name = "DATE", conflicts_with = "vintages")]
    pub fitted_until: Option<NaiveDate>,
    /// Layers: each of attention and a feed-forward layer, or an LSTM.
    ///
    /// 层数：每层为注意力加前馈，或一个 LSTM。
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--count"))]
    pub layers: usize,
    /// Values of the vector of a token.
    ///
    /// 词元向量的维数。
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Tokens of the vocabulary at most: characters, and pieces of words of other scripts.
    ///
    /// 词表最多的词元：字，以及其他文字的子词。
    #[arg(long, value_name = "N", default_value_t = 8000, value_parser = flag::<usize>("--count"))]
    pub vocabulary: usize,
    /// Fewest times that a character or a piece of a word occurs.
    ///
    /// 字或子词至少出现的次数。
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("--count"))]
    pub min_count: u64,
    /// Tokens of an input at most; longer documents are several inputs. Default: 128, of a base as many as it has places.
    ///
    /// 一个输入最多的词元；更长的文档分为几个输入。默认：128，有基础模型时为其位置数。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--count"))]
    pub max_tokens: Option<usize>,
    #[command(flatten)]
    pub training: TransformerParams,
}

/// Flags of `train finetune`, which takes JSON lines with "label", "labels" or "value", and perhaps "pair", a second text.
#[derive(Debug, Args)]
pub struct Finetune {
    #[command(flatten)]
    pub on: TrainedOn,
    /// Target: label (one class), labels (any number) or value (a number).
    /// Default: the first of labels, label and value that a line has.
    ///
    /// 学习目标：label（一个类别）、labels（任意个）或 value（数字）。默认：各行所有的 labels、label、value 中的第一个。
    #[arg(long, value_name = "FIELD")]
    pub learn: Option<Learn>,
    /// Also learn the texts' own words, with this weight beside their targets: masked words; of a base that reads from left to right the next words
    /// (GPT's lambda). The folder keeps the head that predicts them.
    ///
    /// 同时以此权重学习文本自身的词：掩码词；从左到右阅读的基础模型为下一个词（GPT 的 lambda）。文件夹保留预测它们的头。
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = flag::<f64>("feature.finetune.words"))]
    pub words: f64,
    /// Lines of the text that the base was trained on, or text like it: the report says their perplexity before and after (base_perplexity).
    ///
    /// 基础模型训练文本的行，或类似文本：报告给出训练前后的困惑度（base_perplexity）。
    #[arg(long, value_name = "FILE")]
    pub base_text: Option<PathBuf>,
}

/// Flags of `train entities`, which takes JSON lines with "entities": kind, start and end (bytes of the text) of each name.
#[derive(Debug, Args)]
pub struct Entities {
    #[command(flatten)]
    pub on: TrainedOn,
}

/// Flags of `train answers`, which takes JSON lines with "question" and "answers", a list of parts of the text.
#[derive(Debug, Args)]
pub struct Answers {
    #[command(flatten)]
    pub on: TrainedOn,
}

/// Flags of `train writer`, which takes JSON lines with "text" and "summary", or "title".
#[derive(Debug, Args)]
#[command(
    mut_arg("epochs", |arg| arg.default_value_if("net", ArgPredicate::IsPresent, "20")),
    mut_arg("batch", |arg| arg.default_value_if("net", ArgPredicate::IsPresent, "32")),
    mut_arg("lr", |arg| arg.default_value_if("net", ArgPredicate::IsPresent, "0.002")),
)]
pub struct Writer {
    /// Model to train on from: a folder with config.json, model.safetensors and a tokenizer.
    ///
    /// 作为基础继续训练的模型：含 config.json、model.safetensors 与分词器的文件夹。
    #[arg(long, value_name = "FOLDER", conflicts_with = "net")]
    pub base: Option<PathBuf>,
    /// Cell of a new recurrent encoder and decoder: gru or lstm. Its defaults are 20 epochs, 32 texts a step and a rate of 0.002.
    ///
    /// 新的循环编码器与解码器的单元：gru 或 lstm。其默认为 20 轮、每步 32 篇、学习率 0.002。
    #[arg(long, value_name = "CELL")]
    pub net: Option<Cell>,
    /// Attention of its decoder to the source: additive (Bahdanau), general or dot (Luong), or none (the encoder's last states alone).
    ///
    /// 其解码器对原文的注意力：additive（Bahdanau）、general 或 dot（Luong），或 none（只用编码器的最后状态）。
    #[arg(long, value_name = "SCORE", default_value = "additive", requires = "net")]
    pub attention: AttentionScore,
    /// Values of its states and of the vector of a token, an even number.
    ///
    /// 其状态与词元向量的维数，须为偶数。
    #[arg(long, value_name = "N", default_value_t = 256, requires = "net", value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Tokens of its vocabulary at most: characters, and pieces of words of other scripts.
    ///
    /// 其词表最多的词元：字，以及其他文字的子词。
    #[arg(long, value_name = "N", default_value_t = 8000, requires = "net", value_parser = flag::<usize>("--count"))]
    pub vocabulary: usize,
    /// Fewest times that a character or a piece of a word occurs.
    ///
    /// 字或子词至少出现的次数。
    #[arg(long, value_name = "N", default_value_t = 5, requires = "net", value_parser = flag::<u64>("--count"))]
    pub min_count: u64,
    /// Share of tokens that a recurrent decoder learns to write behind the right token before; the others follow the token that it finds likeliest itself
    /// (scheduled sampling). The share falls evenly from 1 in the first epoch to this in the last.
    ///
    /// 循环解码器学习时，前一词元取正确词元的占比；其余取模型自己认为最可能的词元（计划采样）。占比从第一轮的 1 均匀降到最后一轮的此值。
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = flag::<f64>("--share"))]
    pub teacher_forcing: f64,
    #[command(flatten)]
    pub tuned: Tuned,
    /// Tokens of a text and its summary together at most, of an encoder with a decoder of each; of a longer text the first ones are read. Default: as many
    /// as the base has places; 256 for a new model.
    ///
    /// 文本与其摘要合计最多的词元，编码器加解码器则为各自最多的词元；更长的文本取文首。默认：基础模型的位置数；新模型为 256。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--count"))]
    pub max_tokens: Option<usize>,
}

/// Flags of the trainings that go on from a base for the labels of lines.
#[derive(Debug, Args)]
pub struct TrainedOn {
    #[command(flatten)]
    pub base: FromBase,
    /// Days after a document until its label is known: the model is known from then on.
    ///
    /// 标签在文档之后多少天可知：模型自那之后才算已知。
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    pub label_days: u32,
    /// Tokens that are read of a text at most, the first ones. Default: as many as the base has places.
    ///
    /// 最多读取的词元，取文首。默认：基础模型的位置数。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--count"))]
    pub max_tokens: Option<usize>,
}

/// Flags of the trainings that go on from a base.
#[derive(Debug, Args)]
pub struct FromBase {
    /// Encoder to train on from: a folder with config.json, model.safetensors and a tokenizer.
    ///
    /// 作为基础继续训练的编码器：含 config.json、model.safetensors 与分词器的文件夹。
    #[arg(long, value_name = "FOLDER")]
    pub base: PathBuf,
    #[command(flatten)]
    pub tuned: Tuned,
}

/// Flags of the trainings whose text, new folder and settings are alike.
#[derive(Debug, Args)]
pub struct Tuned {
    #[command(flatten)]
    pub corpus: Corpus,
    /// Folder of the new model. It must be new, empty, or of an earlier training.
    ///
    /// 新模型的文件夹。须为新的、空的，或先前训练所用。
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Last day of the text that the base (and a teacher) was trained on, where its folder does not say it, and of lines without a time.
    ///
    /// 基础模型（与教师模型）训练文本的最后一天，其文件夹未注明时写出，没有时间的行也按此计。
    #[arg(long, value_name = "DATE")]
    pub fitted_until: Option<NaiveDate>,
    #[command(flatten)]
    pub training: TransformerParams,
}

/// Flags of `train student`. The base is a small encoder, which becomes the student.
#[derive(Debug, Args)]
pub struct Student {
    /// The teacher: the folder or .onnx file of a contextual model that gives the probabilities of classes.
    ///
    /// 教师模型：给出类别概率的上下文模型的文件夹或 .onnx 文件。
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    #[command(flatten)]
    pub base: FromBase,
    /// Both models' scores are divided by it before they become probabilities: above 1 the less probable classes count more.
    ///
    /// 两个模型的得分除以它再变为概率：大于 1 时较小的概率更受重视。
    #[arg(long, value_name = "X", default_value_t = 2.0)]
    pub temperature: f64,
    /// Tokens that the student reads of a text at most, the first ones. Default: as many as the base has places.
    ///
    /// 学生模型最多读取的词元，取文首。默认：基础模型的位置数。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--count"))]
    pub student_tokens: Option<usize>,
    #[command(flatten)]
    pub onnx: Onnx,
}

/// Runs a training as a stage with progress.
fn reported(ctx: &Ctx, train: impl FnOnce() -> Result<Report>) -> Result<Report> {
    let ((), report) = staged(ctx, "train", || train().map(|report| ((), report)))?;
    Ok(report)
}

fn last_second(day: Option<NaiveDate>) -> Option<NaiveDateTime> {
    day.and_then(|day| day.and_hms_opt(23, 59, 59))
}

pub(super) fn bert(args: &Bert, ctx: &Ctx) -> Result<Summary> {
    let Masked { encoder, sizes, mask_share, mask } = &args.masked;
    let names = args.replace_names.as_ref().map(|_| BesideWords::Names);
    let beside = args.sentences.map(BesideWords::Sentences).or(names);
    let objective = Objective::Masked { share: *mask_share, shuffled: args.shuffle_share, unit: *mask, beside };
    pretrain("bert", (encoder, Some(sizes)), objective, Vec::new(), args.replace_names.clone(), ctx)
}

pub(super) fn electra(args: &Electra, ctx: &Ctx) -> Result<Summary> {
    let Masked { encoder, sizes, mask_share, mask } = &args.masked;
    pretrain(
        "electra",
        (encoder, Some(sizes)),
        Objective::Replaced { share: *mask_share, unit: *mask },
        Vec::new(),
        None,
        ctx,
    )
}

pub(super) fn gpt(args: &Gpt, ctx: &Ctx) -> Result<Summary> {
    pretrain("gpt", (&args.encoder, Some(&args.sizes)), Objective::Next(LanguageModel::Gpt), Vec::new(), None, ctx)
}

pub(super) fn lstm(args: &Lstm, ctx: &Ctx) -> Result<Summary> {
    pretrain("lstm", (&args.encoder, None), Objective::Next(LanguageModel::Lstm), Vec::new(), None, ctx)
}

pub(super) fn elmo(args: &Lstm, ctx: &Ctx) -> Result<Summary> {
    pretrain("elmo", (&args.encoder, None), Objective::Next(LanguageModel::Elmo), Vec::new(), None, ctx)
}

pub(super) fn bart(args: &Bart, ctx: &Ctx) -> Result<Summary> {
    ensure!(
        args.encoder.base_text.is_none(),
        "--base-text 用于预测词的模型：请去掉",
        "--base-text is for models that predict words: leave it out"
    );
    ensure!(
        args.mask != MaskedUnit::Spans,
        "填空训练自定片段：请写 --mask words 或 tokens",
        "infilling has spans of its own: give --mask words or tokens"
    );
    let mut noises = args.noise.clone();
    noises.sort_unstable();
    noises.dedup();
    let objective = Objective::Restored { share: args.mask_share, unit: args.mask };
    pretrain("bart", (&args.encoder, Some(&args.sizes)), objective, noises, None, ctx)
}

fn pretrain(
    method: &str,
    (args, sizes): (&Pretrained, Option<&AttentionSizes>),
    objective: Objective,
    noises: Vec<Noise>,
    securities: Option<PathBuf>,
    ctx: &Ctx,
) -> Result<Summary> {
    ensure!(
        args.corpus.input.as_os_str() != "-" || args.base.is_some() || args.vintages.is_some(),
        "各行要读两遍，首先为词表：请用 --input 指定文件",
        "the lines are read twice, first for the vocabulary: name a file with --input"
    );
    let new = NewEncoder {
        layers: args.layers,
        width: args.hidden,
        heads: sizes.map_or(1, |sizes| sizes.heads),
        between: sizes.and_then(|sizes| sizes.between).unwrap_or(4 * args.hidden),
        vocabulary: args.vocabulary,
        min_count: args.min_count,
    };
    let params = PretrainParams {
        new,
        max_tokens: args.max_tokens.unwrap_or(if args.base.is_some() { 0 } else { 128 }),
        objective,
        noises,
        securities,
        fitted_until: last_second(args.fitted_until),
        training: args.training.clone(),
    };
    let (mut read, cutter) = open(&args.corpus)?;
    if let Some(period) = args.vintages {
        let report =
            reported(ctx, || transformer::pretrain_vintages(&mut read, &cutter, period, &params, &args.output, ctx))?;
        return Ok(trained(method, &args.output, report, &["vintages"]));
    }
    let open = || lines(&args.corpus.input, &args.corpus);
    let report = reported(ctx, || {
        let base_text = args.base_text.as_ref().map(|path| lines(path, &args.corpus)).transpose()?;
        transformer::pretrain(&open, &cutter, args.base.as_deref(), base_text, &params, &args.output, ctx)
    })?;
    Ok(trained(
        method,
        &args.output,
        report,
        &["inputs", "parameters", "epochs", "loss", "perplexity", "order_accuracy", "name_accuracy", "base_perplexity"],
    ))
}

impl TrainedOn {
    fn params(&self, learn: Option<Learn>, words: f64) -> FinetuneParams {
        FinetuneParams {
            base: self.base.base.clone(),
            learn,
            max_tokens: self.max_tokens.unwrap_or(0),
            label_days: self.label_days,
            fitted_until: last_second(self.base.tuned.fitted_until),
            words,
            training: self.base.tuned.training.clone(),
        }
    }
}

pub(super) fn finetune(args: &Finetune, ctx: &Ctx) -> Result<Summary> {
    let Tuned { corpus, output, .. } = &args.on.base.tuned;
    let (mut lines, _) = open(corpus)?;
    let report = reported(ctx, || {
        let base_text = args.base_text.as_ref().map(|path| super::lines(path, corpus)).transpose()?;
        transformer::finetune(&mut lines, base_text, &args.on.params(args.learn, args.words), output, ctx)
    })?;
    Ok(trained_with_figures("finetune", output, report))
}

pub(super) fn entities(args: &Entities, ctx: &Ctx) -> Result<Summary> {
    let Tuned { corpus, output, .. } = &args.on.base.tuned;
    let (mut lines, _) = open(corpus)?;
    let report = reported(ctx, || transformer::train_entities(&mut lines, &args.on.params(None, 0.0), output, ctx))?;
    Ok(trained("entities", output, report, &["kinds", "parameters", "epochs", "held_out"]))
}

pub(super) fn answers(args: &Answers, ctx: &Ctx) -> Result<Summary> {
    let Tuned { corpus, output, .. } = &args.on.base.tuned;
    let (mut lines, _) = open(corpus)?;
    let report = reported(ctx, || transformer::train_answers(&mut lines, &args.on.params(None, 0.0), output, ctx))?;
    Ok(trained("answers", output, report, &["inputs", "parameters", "epochs", "held_out"]))
}

pub(super) fn writer(args: &Writer, ctx: &Ctx) -> Result<Summary> {
    let Tuned { corpus, output, fitted_until, training } = &args.tuned;
    ensure!(
        args.base.is_some() || args.net.is_some(),
        "请用 --base 给出基础模型，或用 --net 给出新模型的单元（gru 或 lstm）",
        "name a model to train on from with --base, or the cell of a new one (gru or lstm) with --net"
    );
    ensure!(
        args.net.is_none() || corpus.input.as_os_str() != "-",
        "各行要读两遍，首先为词表：请用 --input 指定文件",
        "the lines are read twice, first for the vocabulary: name a file with --input"
    );
    let new = NewWriter {
        cell: args.net.unwrap_or_default(),
        score: args.attention,
        width: args.hidden,
        vocabulary: args.vocabulary,
        min_count: args.min_count,
    };
    let params = WriterParams {
        base: args.base.clone(),
        new,
        max_tokens: args.max_tokens.unwrap_or(0),
        fitted_until: last_second(*fitted_until),
        forced: args.teacher_forcing,
        training: training.clone(),
    };
    let open = || lines(&corpus.input, corpus);
    let report = reported(ctx, || transformer::train_writer(&open, &params, output, ctx))?;
    Ok(trained("writer", output, report, &["parameters", "epochs", "perplexity"]))
}

pub(super) fn student(args: &Student, ctx: &Ctx) -> Result<Summary> {
    let using = args.onnx.contextual();
    let using = Contextual { params: OnnxParams { model: args.model.clone(), ..using.params.clone() }, ..using };
    let FromBase { base, tuned: Tuned { corpus, output, fitted_until, training } } = &args.base;
    let params = StudentParams {
        base: base.clone(),
        max_tokens: args.student_tokens.unwrap_or(0),
        temperature: args.temperature,
        fitted_until: last_second(*fitted_until),
        training: training.clone(),
    };
    let (mut lines, _) = open(corpus)?;
    let report = reported(ctx, || transformer::student(&mut lines, &using, &params, output, ctx))?;
    let mut summary = trained("student", output, report, &["classes", "parameters", "epochs", "agreement", "ran"]);
    summary.set("teacher", args.model.display().to_string());
    Ok(summary)
}
