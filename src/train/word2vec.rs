//! `train word2vec`, `doc2vec` and `vintages`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{Files, VectorFiles, exported, open, trained};
use crate::cli::Corpus;
use crate::command::staged::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::word2vec::WordParams;
use inkstone_features::models::{doc2vec, word2vec};
use inkstone_features::standalone::vintages;
use inkstone_features::standalone::vintages::Period;
use inkstone_models::{Architecture, Objective, Word2vecParams};

/// Flags of `train word2vec`, with the names that the C tool and gensim give them.
#[derive(Debug, Args)]
pub struct Word2vec {
    #[command(flatten)]
    pub files: VectorFiles,
    #[command(flatten)]
    pub form: WordForm,
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of `train doc2vec`.
#[derive(Debug, Args)]
#[command(mut_arg("epochs", |arg| arg.default_value("10")))]
pub struct Doc2vec {
    #[command(flatten)]
    pub files: Files,
    /// Distributed bag of words: the document alone predicts its words. Without it, distributed memory: with the words around.
    ///
    /// 分布式词袋：只由文档预测其词。不写则为分布式记忆：连同周围的词。
    #[arg(long)]
    pub dbow: bool,
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of `train vintages`, which takes JSON lines with "time".
#[derive(Debug, Args)]
pub struct Vintages {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The folder of the model files, each named by its window.
    ///
    /// 模型文件的文件夹，各以其窗口命名。
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// The window of a model.
    ///
    /// 每个模型的窗口。
    #[arg(long, value_name = "PERIOD", default_value = "year")]
    pub by: Period,
    #[command(flatten)]
    pub form: WordForm,
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of forms of word vectors.
#[derive(Clone, Copy, Debug, Args)]
pub struct WordForm {
    /// Skip-gram: each word of a window predicts its centre. Without it, CBOW: their mean does.
    ///
    /// skip-gram：窗口中的每个词预测中心词。不写则为 CBOW：由均值预测。
    #[arg(long)]
    pub sg: bool,
    /// Half of a Chinese word's vector is the mean of those of its characters (CWE).
    ///
    /// 中文词向量的一半取其各字向量的均值（CWE）。
    #[arg(long, conflicts_with = "sg")]
    pub chars: bool,
}

/// Flags of vectors that are trained to predict words.
#[derive(Clone, Debug, Args)]
pub struct Prediction {
    /// Hierarchical softmax over a Huffman tree in place of negative samples.
    ///
    /// 以霍夫曼树上的分层 softmax 代替负采样。
    #[arg(long, conflicts_with = "negative")]
    pub hs: bool,
    #[command(flatten)]
    pub params: Word2vecParams,
    #[command(flatten)]
    pub words: WordParams,
}

pub(super) fn word2vec(args: &Word2vec, ctx: &Ctx) -> Result<Summary> {
    let params = word_params(args.form, &args.prediction);
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let train = || word2vec::train(&mut lines, &cutter, &args.prediction.words, &params, &files.output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    let mut summary = trained(word2vec::METHOD, &files.output, report, &["dim", "phrases", "resumed", "passes"]);
    exported(&model, &args.files, &mut summary)?;
    Ok(summary)
}

pub(super) fn doc2vec(args: &Doc2vec, ctx: &Ctx) -> Result<Summary> {
    let params = params(if args.dbow { Architecture::Dbow } else { Architecture::Dm }, &args.prediction);
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let output = &args.files.output;
    let train = || Ok(((), doc2vec::train(&mut lines, &cutter, &args.prediction.words, &params, output, ctx)?));
    let ((), report) = staged(ctx, "train", train)?;
    Ok(trained(doc2vec::METHOD, output, report, &["dim", "phrases", "resumed", "passes"]))
}

pub(super) fn vintages(args: &Vintages, ctx: &Ctx) -> Result<Summary> {
    let params = word_params(args.form, &args.prediction);
    let (mut lines, cutter) = open(&args.corpus)?;
    let words = &args.prediction.words;
    let train = || vintages::train(&mut lines, &cutter, args.by, words, &params, &args.output, ctx);
    let (vintages, report) = staged(ctx, "train", train)?;
    let mut summary = trained(vintages::METHOD, &args.output, report, &["vintages"]);
    summary.partial |= vintages.iter().any(|vintage| vintage.output.is_none());
    Ok(summary)
}

fn word_params(form: WordForm, args: &Prediction) -> Word2vecParams {
    let architecture = if form.sg { Architecture::SkipGram } else { Architecture::Cbow };
    Word2vecParams { characters: form.chars, ..params(architecture, args) }
}

fn params(architecture: Architecture, args: &Prediction) -> Word2vecParams {
    let objective = if args.hs { Objective::Hierarchical } else { Objective::Negative };
    Word2vecParams { architecture, objective, ..args.params.clone() }
}
