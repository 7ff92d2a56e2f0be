//! Retrieval of texts by their titles: the rank of a title's own text among the texts of all documents.

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;

use super::document_rows::DocumentRows;
use super::{Figures, Fitted, Line, Lines};
use crate::fitted::figures;
use crate::lines::BLOCK;
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Measures a model of vectors or of weights of terms on documents with a title and a text. A title's rank is that of its text by cosine
/// among all texts; an equally near text counts half.
///
/// The figures are `documents`, `mrr` (mean of 1 / rank), `hits_at_1`, `hits_at_10` (shares of ranks up to 1 and 10), `median_rank`, and
/// `left_out`, the lines without a title or text. Fails below two documents.
pub fn retrieval(model: &dyn Fitted, lines: &mut Lines, ctx: &Ctx) -> Result<(Figures, Report)> {
    let mut rows = DocumentRows::of_model(model)?;
    let (mut count, mut left_out) = (0, 0);
    lines.for_each_block(BLOCK, |documents| {
        let mut texts = Vec::with_capacity(2 * documents.len());
        for line in &documents {
            if line.title.trim().is_empty() || line.text.trim().is_empty() {
                left_out += 1;
                continue;
            }
            count += 1;
            let both = [&line.title, &line.text];
            texts.extend(both.map(|text| Line { number: line.number, text: text.clone(), ..Line::default() }));
        }
        for (_, chunk) in model.many(&texts, ctx)? {
            rows.push(chunk)?;
        }
        Ok(())
    })?;
    ensure!(
        count > 1,
        "有标题和正文的文档有 {count} 篇，须有两篇以上；JSON 行的字段为 title 与 text",
        "{count} documents have a title and a text, and two are needed; JSON lines have them in the fields title and text"
    );
    let rank = |title: usize| -> Result<f64> {
        ctx.check()?;
        let own = rows.cosine(2 * title, 2 * title + 1);
        let others = (0..count).filter(|&text| text != title).map(|text| rows.cosine(2 * title, 2 * text + 1));
        let (nearer, equal) = others.fold((0usize, 0usize), |(nearer, equal), cosine| {
            (nearer + usize::from(cosine > own), equal + usize::from(cosine == own))
        });
        Ok(1.0 + nearer as f64 + equal as f64 / 2.0)
    };
    let mut ranks = ctx.install(|| (0..count).into_par_iter().map(rank).collect::<Result<Vec<f64>>>())?;
    let n = count as f64;
    let within = |most: f64| ranks.iter().filter(|&&rank| rank <= most).count() as f64 / n;
    let (first, ten) = (within(1.0), within(10.0));
    let mrr = ranks.iter().map(|rank| 1.0 / rank).sum::<f64>() / n;
    ranks.sort_unstable_by(f64::total_cmp);
    let found = figures(json!({
        "documents": count, "mrr": mrr, "hits_at_1": first, "hits_at_10": ten, "median_rank": ranks[count / 2],
        "left_out": left_out,
    }));
    Ok((found, lines.finish()?))
}
