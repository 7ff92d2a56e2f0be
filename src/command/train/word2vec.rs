//! `train word2vec`, `train doc2vec`, `train vintages`.

use anyhow::Result;

use super::{exported, open, trained};
use crate::cli::{Doc2vec, Prediction, Vintages, Word2vec, WordForm};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::PhraseParams;
use inkstone_features::standalone::word2vec::WordParams;
use inkstone_features::standalone::{doc2vec, vintages, word2vec};
use inkstone_models::{Architecture, Objective, Word2vecParams};

pub(super) fn words(args: &Word2vec, ctx: &Ctx) -> Result<Summary> {
    let (words, params) = of_words(args.form, &args.prediction);
    let (mut lines, cutter) = open(&args.corpus)?;
    let train = || word2vec::train(&mut lines, &cutter, &words, &params, &args.output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    let mut summary = trained(word2vec::METHOD, &args.output, report, &["dim", "phrases", "resumed", "passes"]);
    exported(&model, args.vectors.as_deref(), &mut summary)?;
    Ok(summary)
}

pub(super) fn documents(args: &Doc2vec, ctx: &Ctx) -> Result<Summary> {
    let architecture = if args.dbow { Architecture::Dbow } else { Architecture::Dm };
    let (words, params) = params(architecture, false, &args.prediction);
    let (mut lines, cutter) = open(&args.corpus)?;
    let train = || Ok(((), doc2vec::train(&mut lines, &cutter, &words, &params, &args.output, ctx)?));
    let ((), report) = staged(ctx, "train", train)?;
    Ok(trained(doc2vec::METHOD, &args.output, report, &["dim", "phrases", "resumed", "passes"]))
}

pub(super) fn vintages(args: &Vintages, ctx: &Ctx) -> Result<Summary> {
    let (words, params) = of_words(args.form, &args.prediction);
    let (mut lines, cutter) = open(&args.corpus)?;
    let train = || vintages::train(&mut lines, &cutter, args.by, &words, &params, &args.output, ctx);
    let (vintages, report) = staged(ctx, "train", train)?;
    let mut summary = trained(vintages::METHOD, &args.output, report, &["vintages"]);
    summary.partial |= vintages.iter().any(|vintage| vintage.output.is_none());
    Ok(summary)
}

fn of_words(form: WordForm, args: &Prediction) -> (WordParams, Word2vecParams) {
    params(if form.sg { Architecture::SkipGram } else { Architecture::Cbow }, form.chars, args)
}

fn params(architecture: Architecture, characters: bool, args: &Prediction) -> (WordParams, Word2vecParams) {
    let phrases = PhraseParams { passes: args.phrases, threshold: args.phrase_threshold, ..PhraseParams::default() };
    let words = WordParams { min_count: args.min_count, max_words: args.max_words, phrases };
    let params = Word2vecParams {
        architecture,
        objective: if args.hs { Objective::Hierarchical } else { Objective::Negative },
        dim: args.dim,
        window: args.window,
        negative: args.negative,
        sample: args.sample,
        epochs: args.epochs.unwrap_or(if architecture.of_documents() { 10 } else { 5 }),
        lr: args.lr,
        min_lr: args.min_lr,
        characters,
    };
    (words, params)
}
