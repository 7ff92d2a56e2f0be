//! `train static`.

use std::path::PathBuf;

use anyhow::Result;
use chrono::NaiveDate;
use clap::Args;

use super::{open, trained};
use crate::cli::{Corpus, Onnx};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_features::models::onnx::Contextual;
use inkstone_features::models::static_encoder;
use inkstone_features::models::static_encoder::StaticParams;
use inkstone_onnx::OnnxParams;

/// Flags of `train static`.
#[derive(Debug, Args)]
pub struct Static {
    /// The teacher: the folder or .onnx file of a contextual model.
    ///
    /// 教师模型：上下文模型的文件夹或 .onnx 文件。
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    #[command(flatten)]
    pub corpus: Corpus,
    /// Folder of the new encoder, in the form of model2vec. It must be new, empty, or of an earlier training.
    ///
    /// 新编码器的文件夹，采用 model2vec 的形式。须为新的、空的，或先前训练所用。
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Last day of the text that the teacher was trained on, and of lines without a time: the encoder is known from then on.
    ///
    /// 教师模型训练文本的最后一天，没有时间的行也按此计：编码器自那之后才算已知。
    #[arg(long, value_name = "DATE")]
    pub fitted_until: NaiveDate,
    /// Values of a vector, along the directions in which the teacher's vectors vary most.
    ///
    /// 向量的维数，取教师向量变化最大的方向。
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = flag::<usize>("--dim"))]
    pub components: usize,
    /// Words of the text that become tokens beside those of the teacher, the most frequent first, at the most.
    ///
    /// 除教师的词元外，另把文本中最常见的词作为词元的最多个数。
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = flag::<usize>("--count"))]
    pub words: usize,
    /// Fewest times that such a word occurs.
    ///
    /// 这样的词至少出现的次数。
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("--count"))]
    pub min_count: u64,
    /// Documents that the teacher reads, spread evenly over all: the vectors of tokens are fitted to its vectors of these.
    ///
    /// 教师所读的文档数，均匀取自全部：词元向量据它对这些文档的向量拟合。
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = flag::<usize>("--count"))]
    pub documents: usize,
    /// The a of the weights a / (a + p) that tokens begin with, p being the share of all tokens that a token is.
    ///
    /// 词元起始权重 a / (a + p) 中的 a，p 为该词元的占比。
    #[arg(long, value_name = "A", default_value_t = 1e-3, value_parser = flag::<f64>("--share"))]
    pub sif: f64,
    #[command(flatten)]
    pub onnx: Onnx,
}

pub(super) fn run(args: &Static, ctx: &Ctx) -> Result<Summary> {
    ensure!(
        args.corpus.input.as_os_str() != "-",
        "各行要读两遍：请用 --input 指定文件",
        "the lines are read twice: name a file with --input"
    );
    let using = args.onnx.contextual();
    let using = Contextual { params: OnnxParams { model: args.model.clone(), ..using.params.clone() }, ..using };
    let params = StaticParams {
        components: args.components,
        words: args.words,
        min_count: args.min_count,
        documents: args.documents,
        sif: args.sif,
        fitted_until: args.fitted_until.and_hms_opt(23, 59, 59).expect("23:59:59 is a time of every day"),
    };
    let (_, cutter) = open(&args.corpus)?;
    let lines = || super::lines(&args.corpus.input, &args.corpus);
    let train = || static_encoder::train(&using, &lines, &cutter, &params, &args.output, ctx);
    let (figures, report) = staged(ctx, "train", train)?;
    let mut summary = trained("static", &args.output, report, &["documents_taught", "words_added", "ran"]);
    summary.set("teacher", args.model.display().to_string());
    summary.set("distilled", figures);
    Ok(summary)
}
