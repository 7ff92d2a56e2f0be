//! `train lexicon`, `tone` and `sestm`.

use std::path::Path;

use anyhow::Result;

use super::{open, trained};
use crate::cli::{Lexicon, LexiconMethod, Sestm, Tone};
use crate::command::{files, staged};
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{lexicon, sestm, tone};
use inkstone_models::{InduceParams, SeedParams, SestmParams, Tune};

pub(super) fn lexicon(args: &Lexicon, ctx: &Ctx) -> Result<Summary> {
    let (mut lines, cutter) = open(&args.corpus)?;
    let (fdr, max_words) = (args.fdr, args.max_words);
    let (found, report) = staged(ctx, "train", || match args.method {
        LexiconMethod::Returns => {
            let params = InduceParams { statistic: args.statistic, min_df: args.min_df, fdr, max_words };
            lexicon::from_returns(&mut lines, &cutter, args.label_form, &params, ctx)
        }
        LexiconMethod::Seeds => {
            let (positive, negative) = (args.positive.clone(), args.negative.clone());
            let (window, min_count) = (args.window, args.min_count);
            let params = SeedParams { positive, negative, window, min_count, fdr, max_words };
            lexicon::from_seeds(&mut lines, &cutter, &params, ctx)
        }
    })?;
    found.save(&args.output)?;
    Ok(trained("lexicon", &args.output, report, &[]))
}

pub(super) fn tone(args: &Tone, ctx: &Ctx) -> Result<Summary> {
    let tokenizer = files::tokenizer(&args.tokenizer, "builtin");
    let ((lexicon, cutter), report) = staged(ctx, "train", || {
        let (lexicon, cutter, report) = tone::gather(&args.params, tokenizer, Path::new(""))?;
        Ok(((lexicon, cutter), report))
    })?;
    lexicon.save(&args.output, cutter.spec())?;
    Ok(trained("tone", &args.output, report, &[]))
}

pub(super) fn sestm(args: &Sestm, ctx: &Ctx) -> Result<Summary> {
    let params = sestm_params(args);
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let (model, report) = staged(ctx, "train", || sestm::train(&mut lines, &cutter, &params, ctx))?;
    model.save(&args.files.output, cutter.spec())?;
    Ok(trained("sestm", &args.files.output, report, &[]))
}

/// One value is the value; several are to be chosen from.
fn sestm_params(args: &Sestm) -> SestmParams {
    fn one<T: Copy>(values: &[T], default: T) -> (T, Vec<T>) {
        match values {
            [] => (default, Vec::new()),
            [value] => (*value, Vec::new()),
            [first, ..] => (*first, values.to_vec()),
        }
    }
    let defaults = SestmParams::default();
    let (words, words_list) = one(&args.words, defaults.words);
    let (kappa, kappa_list) = one(&args.kappa, defaults.kappa);
    let (lambda, lambda_list) = one(&args.lambda, defaults.lambda);
    let validation = args.validation;
    let tune = Tune { words: words_list, kappa: kappa_list, lambda: lambda_list, validation, ..Tune::default() };
    SestmParams { words, alpha_plus: args.alpha_plus, alpha_minus: args.alpha_minus, kappa, lambda, tune }
}
