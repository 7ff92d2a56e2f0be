//! `train fasttext` and `train fasttext-supervised`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::{FastText, FastTextFiles, FastTextSupervised, Files, VectorFiles};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::fasttext;
use inkstone_models as model;
use inkstone_models::{FastTextParams, Form, Training, VectorFormat, WordVectors};

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
