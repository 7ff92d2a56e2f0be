//! `train ppmi`, `glove`, `word2vec`, `doc2vec`, `vintages` and `pooling`.

use anyhow::Result;

use super::{exported, open, trained};
use crate::cli::{Doc2vec, Glove, Pooling, Ppmi, Prediction, Vintages, Word2vec, WordForm};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{doc2vec, glove, pooling, ppmi, vintages, word2vec};
use inkstone_models::{Architecture, CooccurrenceParams, Objective, PairWeighting, Word2vecParams, WordVectors};

pub(super) fn ppmi(args: &Ppmi, ctx: &Ctx) -> Result<Summary> {
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let matrix = args.matrix.as_deref();
    let train = || ppmi::train(&mut lines, &cutter, &args.counting, &args.params, &files.output, matrix, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&files.output, cutter.spec())?;
    let mut summary = trained(ppmi::METHOD, &files.output, report, &["pairs", "cells", "dim", "singular_value_error"]);
    exported(&model, &args.files, &mut summary)?;
    if let Some(path) = matrix {
        summary.set("matrix", path.display().to_string());
    }
    Ok(summary)
}

pub(super) fn glove(args: &Glove, ctx: &Ctx) -> Result<Summary> {
    let counting = CooccurrenceParams {
        window: args.window,
        weighting: PairWeighting::Harmonic,
        min_count: args.words.min_count,
        max_words: args.words.max_words,
        memory: args.memory,
    };
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let train = || glove::train(&mut lines, &cutter, &counting, &args.params, &files.output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    let mut summary = trained(glove::METHOD, &files.output, report, &["pairs", "dim", "losses", "pairs_per_second"]);
    exported(&model, &args.files, &mut summary)?;
    Ok(summary)
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

pub(super) fn pooling(args: &Pooling, ctx: &Ctx) -> Result<Summary> {
    let output = &args.files.output;
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let vectors = WordVectors::open(&args.vectors)?;
    let train = || pooling::train(&mut lines, &cutter, vectors, &args.params, output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(output, cutter.spec())?;
    Ok(trained(pooling::KIND, output, report, &["known_tokens", "dim"]))
}
