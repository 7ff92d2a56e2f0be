//! Lexicon induction on plain files: words from the returns that go with texts, or from seeds.

use std::borrow::Cow;

use anyhow::Result;

use crate::lines::{Cutter, Line, Lines};
use crate::standalone::returns::read_returns;
use inkstone_base::bail;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_models::{InduceParams, InducedLexicon, LabelForm, SeedParams, Seeds, induce};

/// Documents that one thread counts before counts are joined.
const CHUNK: usize = 256;
/// Words of each side that a report shows.
const SHOWN: usize = 20;

/// Finds the words whose documents have other returns than the rest: JSON lines with a `value`.
pub fn from_returns(
    lines: &mut Lines,
    cutter: &Cutter,
    form: LabelForm,
    params: &InduceParams,
    ctx: &Ctx,
) -> Result<(InducedLexicon, Report)> {
    let (read, mut report) = read_returns(lines, cutter, ctx)?;
    let rows: Vec<usize> = (0..read.labels.len()).collect();
    let mut lexicon = induce(&read.counts, &rows, &read.labels, &read.words, form, params, ctx)?;
    lexicon.fitted_until = read.times.iter().copied().max().flatten();
    if lexicon.words.is_empty() {
        bail!(
            "检验的 {} 个词中没有一个达到错误发现率 {}：请提高 fdr、用更多文档学习；只有确知词在其中时才降低 min_df",
            "none of {} words tested holds the false discovery rate {}: raise fdr, learn from more documents, or lower min_df only if the words are known to be there",
            lexicon.tested,
            params.fdr
        );
    }
    describe(&lexicon, &mut report);
    Ok((lexicon, report))
}

/// Finds the words that stand near good seeds more than near bad ones, or the other way. Memory is bounded by the vocabulary.
pub fn from_seeds(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &SeedParams,
    ctx: &Ctx,
) -> Result<(InducedLexicon, Report)> {
    params.check()?;
    let mut seeds = Seeds::default();
    let mut tokens = 0u64;
    let count = |chunk: &[Line<'_>]| {
        let (mut seeds, mut tokens) = (Seeds::default(), 0);
        for line in chunk {
            let text = line.whole();
            let terms: Vec<Cow<'_, str>> = cutter.terms(&text);
            tokens += terms.len() as u64;
            seeds.add(&terms, line.time, params);
        }
        ctx.advance(chunk.len() as u64)?;
        Ok((seeds, tokens))
    };
    lines.for_each_chunk(CHUNK, ctx, count, |(more, n)| {
        seeds.merge(more);
        tokens += n;
        Ok(())
    })?;
    let mut report = lines.finish()?;
    let lexicon = seeds.lexicon(params)?;
    report.fact("documents", lexicon.documents);
    report.fact("tokens", tokens);
    describe(&lexicon, &mut report);
    Ok((lexicon, report))
}

fn describe(lexicon: &InducedLexicon, report: &mut Report) {
    let [positive, negative] = lexicon.sides();
    report.fact("vocabulary", lexicon.words.len());
    report.fact("fitted_until", lexicon.fitted_until);
    report.fact("method", &lexicon.method);
    report.fact("tested", lexicon.tested);
    report.fact("positive_words", positive);
    report.fact("negative_words", negative);
    for (name, sign) in [("positive", 1.0), ("negative", -1.0)] {
        let side = lexicon.words.iter().filter(|word| word.weight * sign > 0.0).take(SHOWN);
        report.fact(name, side.map(|word| (word.word.clone(), word.weight)).collect::<Vec<_>>());
    }
}
