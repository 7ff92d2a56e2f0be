//! Rows of features in memory: one row a text, dense `[rows, dim] f32` or sparse in CSR form.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::data::Key;
use inkstone_base::ensure;

/// The shape of a feature set's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rows", rename_all = "lowercase")]
pub enum RowKind {
    /// Every row has `dim` values.
    Dense { dim: usize },
    /// A row has a value at some columns and zero elsewhere.
    Sparse,
}

/// The values of some rows.
#[derive(Clone, Debug)]
pub enum Values {
    /// Row-major, `[rows, dim]`. Every f32 is kept to the bit, NaN included.
    Dense { dim: usize, data: Vec<f32> },
    /// Compressed sparse rows: row `i` has `values[p]` at column `indices[p]` for `p` in `indptr[i]..indptr[i + 1]`.
    Sparse {
        /// `[rows + 1]`, begins with 0, never falls.
        indptr: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f32>,
    },
}

/// Rows of features with the key of the text that each came from.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Key of each row's text.
    pub keys: Vec<Key>,
    /// The values, in the same order.
    pub values: Values,
}

impl Rows {
    /// No rows yet, of this kind.
    pub fn empty(kind: RowKind) -> Rows {
        let values = match kind {
            RowKind::Dense { dim } => Values::Dense { dim, data: Vec::new() },
            RowKind::Sparse => Values::Sparse { indptr: vec![0], indices: Vec::new(), values: Vec::new() },
        };
        Rows { keys: Vec::new(), values }
    }

    /// Dense rows, `data` row-major `[keys, dim]`.
    pub fn dense(keys: Vec<Key>, dim: usize, data: Vec<f32>) -> Rows {
        Rows { keys, values: Values::Dense { dim, data } }
    }

    pub fn sparse(keys: Vec<Key>, indptr: Vec<usize>, indices: Vec<u32>, values: Vec<f32>) -> Rows {
        Rows { keys, values: Values::Sparse { indptr, indices, values } }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Columns and values of a sparse row; a dense one has none.
    pub fn sparse_row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> {
        let range = match &self.values {
            Values::Sparse { indptr, .. } => indptr[row]..indptr[row + 1],
            Values::Dense { .. } => 0..0,
        };
        let (indices, values) = match &self.values {
            Values::Sparse { indices, values, .. } => (indices.as_slice(), values.as_slice()),
            Values::Dense { .. } => (&[][..], &[][..]),
        };
        indices[range.clone()].iter().copied().zip(values[range].iter().copied())
    }

    pub fn kind(&self) -> RowKind {
        match &self.values {
            Values::Dense { dim, .. } => RowKind::Dense { dim: *dim },
            Values::Sparse { .. } => RowKind::Sparse,
        }
    }

    /// Fails where keys and values do not fit together, with both numbers.
    pub fn check(&self) -> Result<()> {
        let rows = self.len();
        match &self.values {
            Values::Dense { dim, data } => {
                ensure!(
                    data.len() == rows * dim,
                    "{} 个稠密值不能组成 {rows} 行 {dim} 列（每行一个键）",
                    "{} dense values do not make {rows} rows of {dim} (one key a row)",
                    data.len()
                );
            }
            Values::Sparse { indptr, indices, values } => {
                ensure!(
                    indptr.len() == rows + 1,
                    "{rows} 个稀疏行需要 {} 个行指针，现有 {} 个",
                    "{rows} sparse rows need {} row pointers, there are {}",
                    rows + 1,
                    indptr.len()
                );
                ensure!(
                    indices.len() == values.len(),
                    "{1} 个稀疏值，却有 {0} 个列号",
                    "{} columns for {} sparse values",
                    indices.len(),
                    values.len()
                );
                ensure!(
                    indptr[0] == 0 && indptr.windows(2).all(|w| w[0] <= w[1]) && indptr[rows] == values.len(),
                    "行指针不是从 0 到 {} 递增",
                    "the row pointers do not run from 0 to {} without falling",
                    values.len()
                );
            }
        }
        Ok(())
    }

    pub(super) fn append(&mut self, other: Rows) -> Result<()> {
        let kinds = (self.kind(), other.kind());
        match (&mut self.values, other.values) {
            (Values::Dense { data, .. }, Values::Dense { data: more, .. }) if kinds.0 == kinds.1 => data.extend(more),
            (
                Values::Sparse { indptr, indices, values },
                Values::Sparse { indptr: more_ptr, indices: more_indices, values: more_values },
            ) => {
                let base = values.len();
                indptr.extend(more_ptr.iter().skip(1).map(|p| base + p));
                indices.extend(more_indices);
                values.extend(more_values);
            }
            _ => inkstone_base::bail!(
                "{:?} 类的行混在 {:?} 类的行中",
                "rows of kind {:?} among rows of kind {:?}",
                kinds.1,
                kinds.0
            ),
        }
        self.keys.extend(other.keys);
        Ok(())
    }
}

/// Equal to the bit: NaN equals the same NaN, and 0 differs from -0.
impl PartialEq for Rows {
    fn eq(&self, other: &Rows) -> bool {
        let same =
            |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits());
        self.keys == other.keys
            && match (&self.values, &other.values) {
                (Values::Dense { dim: a, data: x }, Values::Dense { dim: b, data: y }) => a == b && same(x, y),
                (
                    Values::Sparse { indptr: p, indices: i, values: v },
                    Values::Sparse { indptr: q, indices: j, values: w },
                ) => p == q && i == j && same(v, w),
                _ => false,
            }
    }
}
