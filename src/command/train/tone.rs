//! `train tone`.

use std::path::Path;

use anyhow::Result;

use super::trained;
use crate::cli::Tone;
use crate::command::{files, staged};
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::tone;
use inkstone_models::LexiconParams;

pub(super) fn run(args: &Tone, ctx: &Ctx) -> Result<Summary> {
    let params = LexiconParams {
        builtin: !args.no_builtin,
        positive: args.positive.clone(),
        negative: args.negative.clone(),
        signed: args.signed.clone(),
        negation_window: args.negation_window,
        degree_window: args.degree_window,
        scale: args.scale,
        ..LexiconParams::default()
    };
    let tokenizer = files::tokenizer(&args.tokenizer, "builtin");
    let ((lexicon, cutter), report) = staged(ctx, "train", || {
        let (lexicon, cutter, report) = tone::gather(&params, tokenizer, Path::new(""))?;
        Ok(((lexicon, cutter), report))
    })?;
    lexicon.save(&args.output, cutter.spec())?;
    Ok(trained("tone", &args.output, report, &[]))
}
