//! Cosines of pairs of texts by a model of vectors or of weights of terms. Benchmarks such as STS-B give each pair a score.

use anyhow::Result;
use serde_json::json;

use super::document_rows::DocumentRows;
use super::{Figures, Fitted, Line, Lines};
use crate::fitted::figures;
use crate::lines::{BLOCK, fields, pair_of, score_of_pair};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{pearson, spearman};

/// Measures a model on pairs of texts: a line has two texts and, if the pairs have scores, a score, with tabs between them; or it is JSON
/// with `text`, `pair` and `value`.
///
/// The figures are `pairs` (their number), `cosines`, and with scores the correlations of the cosines with them, `spearman` and `pearson`.
/// Fails if only some of the pairs have a score.
pub fn similarity(model: &dyn Fitted, lines: &mut Lines, ctx: &Ctx) -> Result<(Figures, Report)> {
    let (mut cosines, mut scores): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    lines.for_each_block(BLOCK, |documents| {
        let mut texts = Vec::with_capacity(2 * documents.len());
        for line in &documents {
            let both = pair_of(line, &fields(line)?)?;
            texts.extend(both.map(|text| Line { number: line.number, text: text.into(), ..Line::default() }));
            scores.extend(score_of_pair(line)?);
        }
        let mut rows = DocumentRows::of_model(model)?;
        for (_, chunk) in model.many(&texts, ctx)? {
            rows.push(chunk)?;
        }
        cosines.extend((0..documents.len()).map(|pair| f64::from(rows.cosine(2 * pair, 2 * pair + 1))));
        Ok(())
    })?;
    ensure!(!cosines.is_empty(), "没有文本对；输入是空的吗？", "there are no pairs; is the input empty?");
    let mut found = figures(json!({"pairs": cosines.len(), "cosines": cosines}));
    if !scores.is_empty() {
        ensure!(
            scores.len() == cosines.len(),
            "{1} 个文本对中有 {0} 个有分数",
            "{} of {} pairs have a score",
            scores.len(),
            cosines.len()
        );
        found.insert("spearman".into(), json!(spearman(&cosines, &scores)));
        found.insert("pearson".into(), json!(pearson(&cosines, &scores)));
    }
    Ok((found, lines.finish()?))
}
