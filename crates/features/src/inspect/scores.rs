//! The values of a column of a set.

use anyhow::Result;

use inkstone_base::bail;
use inkstone_base::job::Ctx;
use inkstone_store::{Set, Values};

/// The value of each document in this column, part by part of the corpus; NaN where a document has none. Fails for sparse rows, and where
/// the set has no such column.
pub fn scores(set: &Set<'_>, column: usize, ctx: &Ctx) -> Result<Vec<Vec<f32>>> {
    let mut parts = Vec::new();
    for rows in set.batches() {
        ctx.check()?;
        match rows?.values {
            Values::Dense { dim, data } if column < dim => {
                parts.push(data.into_iter().skip(column).step_by(dim).collect());
            }
            _ => bail!(
                "特征集 {:?} 没有第 {} 列",
                "feature set {:?} has no column {}",
                set.header().spec.name,
                column + 1
            ),
        }
    }
    Ok(parts)
}
