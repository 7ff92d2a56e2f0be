//! `train sestm`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::Sestm;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::sestm;
use inkstone_models::{SestmParams, Tune};

pub(super) fn run(args: &Sestm, ctx: &Ctx) -> Result<Summary> {
    let params = params(args);
    let (mut lines, cutter) = open(&args.corpus)?;
    let (model, report) = staged(ctx, "train", || sestm::train(&mut lines, &cutter, &params, ctx))?;
    model.save(&args.output, cutter.spec())?;
    Ok(trained("sestm", &args.output, report, &[]))
}

/// One value is the value; several are to be chosen from.
fn params(args: &Sestm) -> SestmParams {
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
    let tune = Tune {
        words: words_list,
        kappa: kappa_list,
        lambda: lambda_list,
        validation: args.validation,
        ..Tune::default()
    };
    SestmParams { words, alpha_plus: args.alpha_plus, alpha_minus: args.alpha_minus, kappa, lambda, tune }
}
