//! Rows of documents in memory, dense or sparse, and the cosines between them.

use anyhow::Result;
use rayon::prelude::*;

use super::{Columns, Fitted, Rows};
use inkstone_models::{Csr, Nearest, Neighbour, cosine, sparse_cosine};

use inkstone_base::bail;

/// The rows that a model gives documents.
pub(crate) enum DocumentRows {
    /// `[documents, dim]`.
    Dense {
        dim: usize,
        values: Vec<f32>,
    },
    Sparse(Csr),
}

impl DocumentRows {
    /// No rows yet, of the kind that the model gives. Fails for a model that gives scores or texts.
    pub(crate) fn of_model(model: &dyn Fitted) -> Result<DocumentRows> {
        match model.columns()? {
            Columns::Dense(names) => Ok(DocumentRows::Dense { dim: names.len(), values: Vec::new() }),
            Columns::Sparse { width, .. } => Ok(DocumentRows::Sparse(Csr::new(width))),
            Columns::Table { .. } => bail!(
                "{} 模型给出分数，而文档须按向量或词权重比较；请在相同文档上训练 tfidf、bm25 或 lsa",
                "a {} model gives scores, and documents are compared by vectors or weights of terms; train tfidf, bm25 or lsa on the same documents",
                model.header().kind
            ),
        }
    }

    pub(crate) fn push(&mut self, rows: Rows) -> Result<()> {
        match (self, rows) {
            (DocumentRows::Dense { values, .. }, Rows::Dense(more)) => values.extend(more),
            (DocumentRows::Sparse(all), Rows::Sparse(more)) => {
                (0..more.rows()).for_each(|i| all.push_row(more.row(i).iter()));
            }
            _ => bail!("行的种类与列不符", "rows of another kind than their columns"),
        }
        Ok(())
    }

    /// The rows at these places.
    pub(crate) fn part(&self, places: &[usize]) -> DocumentRows {
        match self {
            DocumentRows::Dense { dim, values } => {
                let values = places.iter().flat_map(|&place| &values[place * dim..][..*dim]).copied().collect();
                DocumentRows::Dense { dim: *dim, values }
            }
            DocumentRows::Sparse(all) => {
                let mut part = Csr::new(all.cols());
                places.iter().for_each(|&place| part.push_row(all.row(place).iter()));
                DocumentRows::Sparse(part)
            }
        }
    }

    /// The `k` rows that are nearest to each query, the nearest first; a query is a row of the same model. Sparse rows without a common column
    /// are left out.
    pub(crate) fn nearest_to(self, queries: &DocumentRows, k: usize) -> Result<Vec<Vec<Neighbour>>> {
        match (self, queries) {
            (DocumentRows::Dense { dim, values }, DocumentRows::Dense { values: queries, .. }) => {
                Ok(Nearest::new(values, dim)?.query_all(queries, k))
            }
            (DocumentRows::Sparse(rows), DocumentRows::Sparse(queries)) => {
                let near = |query: usize| {
                    let neighbour =
                        |row| Neighbour { row, similarity: sparse_cosine(queries.row(query), rows.row(row)) };
                    let all = (0..rows.rows()).into_par_iter().map(neighbour);
                    let mut near: Vec<Neighbour> = all.filter(|near| near.similarity != 0.0).collect();
                    near.sort_unstable();
                    near.truncate(k);
                    near
                };
                Ok((0..queries.rows()).map(near).collect())
            }
            _ => bail!("查询与各行种类不同", "queries of another kind than the rows"),
        }
    }

    /// The cosine of the angle between two rows; 0 where one has no direction.
    pub(crate) fn cosine(&self, a: usize, b: usize) -> f32 {
        match self {
            DocumentRows::Dense { dim, values } => cosine(&values[a * dim..][..*dim], &values[b * dim..][..*dim]),
            DocumentRows::Sparse(all) => sparse_cosine(all.row(a), all.row(b)),
        }
    }
}
