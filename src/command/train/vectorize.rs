//! `train tfidf` and the other vectorizers, and `train lsa`.

use anyhow::{Result, bail};

use super::{open, trained};
use crate::cli::{Lsa, Terms, Vectorize};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::lsa::{self, LsaParams};
use inkstone_features::standalone::vectorize;
use inkstone_models::{Preset, VectorizerParams};

pub(super) fn run(preset: Preset, args: &Vectorize, ctx: &Ctx) -> Result<Summary> {
    let params = params(preset, &args.terms)?;
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let (model, report) = staged(ctx, "train", || {
        let Some(path) = &args.transform else {
            return vectorize::train(&mut lines, &cutter, &params, ctx);
        };
        let (model, rows, report) = vectorize::train_rows(&mut lines, &cutter, &params, path, ctx)?;
        rows.write(&model, path, ctx)?;
        Ok((model, report))
    })?;
    model.save(&args.files.output, cutter.spec())?;
    let mut summary = trained(params.name(), &args.files.output, report, &[]);
    if let Some(path) = &args.transform {
        summary.set("rows", path.display().to_string());
    }
    Ok(summary)
}

pub(super) fn lsa(args: &Lsa, ctx: &Ctx) -> Result<Summary> {
    let Vectorize { files, transform, terms } = &args.vectorize;
    let params = LsaParams { vectorizer: params(Preset::Tfidf, terms)?, svd: args.svd.clone() };
    let (mut lines, cutter) = open(&files.corpus)?;
    let points = transform.as_deref();
    let train = || lsa::train(&mut lines, &cutter, &params, &files.output, points, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&files.output, cutter.spec())?;
    let mut summary = trained(lsa::KIND, &files.output, report, &["dim", "explained_variance", "singular_value_error"]);
    if let Some(path) = points {
        summary.set("rows", path.display().to_string());
    }
    Ok(summary)
}

/// The parameters of the preset with the flags over them.
pub(super) fn params(preset: Preset, args: &Terms) -> Result<VectorizerParams> {
    let preset = VectorizerParams::preset(preset);
    let ngram_range = match args.ngram_range.as_deref() {
        None => preset.ngram_range,
        Some(&[both]) => (both, both),
        Some(&[shortest, longest]) => (shortest, longest),
        Some(more) => bail!("--ngram-range has {} numbers; write the shortest and the longest, as 1,2", more.len()),
    };
    Ok(VectorizerParams {
        analyzer: args.analyzer.unwrap_or(preset.analyzer),
        ngram_range,
        pos: args.pos.clone().unwrap_or(preset.pos),
        title_features: args.title_features.unwrap_or(preset.title_features),
        buckets: args.buckets.unwrap_or(preset.buckets),
        alternate_sign: preset.alternate_sign && !args.no_alternate_sign,
        formula: args.formula.unwrap_or(preset.formula),
        smooth_idf: preset.smooth_idf && !args.no_smooth_idf,
        min_df: args.min_df.unwrap_or(preset.min_df),
        max_df: args.max_df.unwrap_or(preset.max_df),
        max_features: args.max_features.unwrap_or(preset.max_features),
        sublinear_tf: preset.sublinear_tf || args.sublinear_tf,
        norm: args.norm.unwrap_or(preset.norm),
        k1: args.k1.unwrap_or(preset.k1),
        b: args.b.unwrap_or(preset.b),
    })
}
