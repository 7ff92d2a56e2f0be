//! `train fasttext` and `train fasttext-supervised`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::{FastText, FastTextFiles, FastTextSupervised};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::fasttext;
use inkstone_models as model;
use inkstone_models::{FastTextParams, Form, QuantiseParams, Training, VectorFormat, WordVectors};

pub(super) fn words(args: &FastText, ctx: &Ctx) -> Result<Summary> {
    let params = FastTextParams {
        form: if args.cbow { Form::Cbow } else { Form::Skipgram },
        loss: args.loss,
        dim: args.dim,
        window: args.window,
        epochs: args.epochs,
        lr: args.lr,
        negative: args.negative,
        sample: args.sample,
        min_count: args.min_count,
        minn: args.minn,
        maxn: args.maxn,
        bucket: args.bucket,
        ..FastTextParams::default()
    };
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let train = || fasttext::train_words(&mut lines, &cutter, &params, &args.files.output, ctx);
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
    let quantise = QuantiseParams { cutoff: args.cutoff, dsub: args.dsub, qnorm: args.qnorm, qout: args.qout };
    let quantise = args.quantize.then_some(quantise);
    let pretrained = args.pretrained_vectors.as_deref().map(WordVectors::open).transpose()?;
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let output = &args.files.output;
    let train = || {
        let pretrained = pretrained.as_ref();
        fasttext::train_supervised(&mut lines, &cutter, &params, pretrained, quantise.as_ref(), output, ctx)
    };
    let ((model, training), report) = staged(ctx, "train", train)?;
    exported(&args.files, &model, &training, report)
}

/// Writes the files for other tools, and says what was trained.
fn exported(files: &FastTextFiles, model: &model::FastText, training: &Training, report: Report) -> Result<Summary> {
    if let Some(path) = &files.bin {
        model.save(path)?;
    }
    if let Some(path) = &files.vectors {
        model.vectors(training.clone())?.export(path, VectorFormat::by_name(path))?;
    }
    let mut summary =
        trained(&training.method, &files.output, report, &["labels", "labels_of_one_document", "rows", "loss"]);
    for (name, path) in [("bin", &files.bin), ("vectors", &files.vectors)] {
        if let Some(path) = path {
            summary.set(name, path.display().to_string());
        }
    }
    Ok(summary)
}
