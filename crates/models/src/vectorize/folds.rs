//! Rows of token counts whose terms and weights are fitted on training rows alone: for walks and for cross-validation.

use anyhow::Result;

use super::{VectorizerParams, Weighting};
use crate::design::{Design, FoldFeatures};
use crate::sparse::{Csr, Row};
use crate::validation::Split;
use inkstone_base::job::Ctx;
use inkstone_text::Frequency;

/// Rows between two looks at whether to stop.
const ROWS_PER_CHECK: usize = 1024;

/// Token counts, a row a document, in an id space of all documents: ids only name the tokens. A fold takes its terms and their
/// weights from the rows that train.
#[derive(Clone, Copy)]
pub struct FoldCounts<'a> {
    pub counts: &'a Csr,
    /// True for ids of words of titles, which are counted apart; empty: none.
    pub titles: &'a [bool],
    pub params: &'a VectorizerParams,
    pub ctx: &'a Ctx,
}

impl FoldFeatures for FoldCounts<'_> {
    fn count(&self) -> usize {
        self.counts.rows()
    }

    fn fold(&self, split: &Split) -> Result<(Design, Design)> {
        let (terms, weighting) = choose_terms(self.counts, self.titles, &split.train, self.params, self.ctx)?;
        let rows = |rows: &[usize]| weigh_rows(self.counts, rows, &terms, &weighting, self.ctx).map(Design::from);
        Ok((rows(&split.train)?, rows(&split.test)?))
    }
}

/// The token ids that become columns, ascending, and the weighting, from these rows alone.
pub(crate) fn choose_terms(
    counts: &Csr,
    titles: &[bool],
    train: &[usize],
    params: &VectorizerParams,
    ctx: &Ctx,
) -> Result<(Vec<u32>, Weighting)> {
    let mut terms = vec![Frequency::default(); counts.cols()];
    // Of equally frequent terms the earlier in the training rows is kept. The ids cannot decide that: they may have
    // been given in an order that depends on later texts.
    let mut first = vec![u32::MAX; counts.cols()];
    for (at, &i) in train.iter().enumerate() {
        if at.is_multiple_of(ROWS_PER_CHECK) {
            ctx.check()?;
        }
        for (id, count) in counts.row(i).iter() {
            let term = &mut terms[id as usize];
            term.documents += 1;
            term.count += count as u64;
            first[id as usize] = first[id as usize].min(at as u32);
        }
    }
    let documents = train.len() as u64;
    let is_title = |id: usize| titles.get(id).copied().unwrap_or(false);
    let kept = params.select(documents, &terms, is_title, |id| first[id])?;
    let length = terms.iter().map(|term| term.count).sum();
    let df = kept.iter().map(|&id| terms[id as usize].documents);
    let weighting = params.weighting(documents, length, df);
    Ok((kept, weighting))
}

/// Some rows of counts as weights of the terms chosen.
pub(crate) fn weigh_rows(counts: &Csr, rows: &[usize], terms: &[u32], weighting: &Weighting, ctx: &Ctx) -> Result<Csr> {
    let mut columns = vec![u32::MAX; counts.cols()];
    for (column, &id) in terms.iter().enumerate() {
        columns[id as usize] = column as u32;
    }
    let mut x = Csr::new(terms.len());
    for rows in rows.chunks(ROWS_PER_CHECK) {
        ctx.check()?;
        for &i in rows {
            let kept = counts.row(i).iter().map(|(id, count)| (columns[id as usize], count));
            x.push_row(weigh(weighting, kept.filter(|(column, _)| *column != u32::MAX).collect(), counts.row(i)));
        }
    }
    Ok(x)
}

/// Weighs the kept counts of a row; its length is the length of all its `counts`.
fn weigh(weighting: &Weighting, mut kept: Vec<(u32, f32)>, counts: Row<'_>) -> Vec<(u32, f32)> {
    weighting.apply(&mut kept, counts.values.iter().map(|&c| f64::from(c)).sum());
    kept
}
