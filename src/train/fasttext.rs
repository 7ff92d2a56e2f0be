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
    #[arg(long, value_name = "FILE")]
    pub bin: Option<PathBuf>,
}

/// Flags of `train fasttext`.
#[derive(Debug, Args)]
pub struct FastText {
    #[command(flatten)]
    pub files: FastTextFiles,
    /// Learn words from the words around them (CBOW), not the other way round (skip-gram).
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
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().dim, value_parser = flag::<usize>("feature.fasttext.dim"))]
    pub dim: usize,
    /// Passes over the text.
    #[arg(long, visible_alias = "epoch", value_name = "N", default_value_t = FastTextParams::supervised().epochs, value_parser = flag::<usize>("feature.fasttext.epochs"))]
    pub epochs: usize,
    /// Rate of learning at the start; it falls to 0.
    #[arg(long, value_name = "R", default_value_t = FastTextParams::supervised().lr, value_parser = flag::<f32>("feature.fasttext.lr"))]
    pub lr: f32,
    /// softmax, hs (hierarchical softmax), ns (negative sampling) or ova (one versus all, for several labels a text).
    #[arg(long, value_name = "LOSS", value_enum, default_value_t = FastTextParams::supervised().loss)]
    pub loss: Loss,
    /// Labels drawn against each right one, with ns.
    #[arg(long, visible_alias = "neg", value_name = "N", default_value_t = FastTextParams::supervised().negative, value_parser = flag::<usize>("feature.fasttext.negative"))]
    pub negative: usize,
    /// Words in a row that are a feature together, at the most.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().word_ngrams, value_parser = flag::<usize>("--max-len"))]
    pub word_ngrams: usize,
    /// Leave out words that occur less often; their n-grams stay.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().min_count, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Leave out labels that occur less often.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().min_count_label, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count_label: u64,
    /// Shortest character n-gram; the bounds of a word count.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().minn, value_parser = flag::<usize>("feature.fasttext.minn"))]
    pub minn: usize,
    /// Longest character n-gram; 0: none.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().maxn, value_parser = flag::<usize>("feature.fasttext.maxn"))]
    pub maxn: usize,
    /// Places that n-grams are hashed into.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().bucket, value_parser = flag::<u32>("feature.fasttext.bucket"))]
    pub bucket: u32,
    /// Prefix of labels in files of tokens or text, and in fastText's file.
    #[arg(long, value_name = "PREFIX", default_value_t = FastTextParams::supervised().label)]
    pub label: String,
    /// Begin with these vectors of words, in a format of word2vec; words that only they have are known then too.
    #[arg(long, value_name = "FILE")]
    pub pretrained_vectors: Option<PathBuf>,
    /// Quantise the model: a tenth of the size or less, and nearly as good.
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
