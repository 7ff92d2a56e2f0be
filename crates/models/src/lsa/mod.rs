//! Latent semantic analysis: documents and words as points in a space of few dimensions.
//!
//! Deerwester et al. (1990): the truncated singular value decomposition `U S V'` of the documents' weighted terms, `[documents,
//! terms]`, which is not centred (as scikit-learn's `TruncatedSVD`). A document is its row times `V`, whether it was among
//! those fitted on or not; a word is its row of `V S`, so that both lie in one space. Components are named `c1`, `c2`, ... in
//! the order of their singular values.

mod explain;
mod file;

use anyhow::Result;
use chrono::NaiveDateTime;

use super::svd::{project, truncated};
use super::{Analyzer, Fields, Row, SparseRows, SvdParams, Vectorizer};
use inkstone_base::bail;
use inkstone_base::job::Ctx;

#[derive(Clone, Debug)]
pub struct Lsa {
    vectorizer: Vectorizer,
    params: SvdParams,
    /// `V`, `[terms, dim]` row by row.
    right: Vec<f32>,
    singular_values: Vec<f64>,
    explained: Vec<f64>,
    error: f64,
}

impl Lsa {
    /// Decomposes the rows of the documents that a vectorizer was fitted on.
    pub fn fit(vectorizer: Vectorizer, rows: &SparseRows, params: &SvdParams, ctx: &Ctx) -> Result<Lsa> {
        if !vectorizer.params().learns() {
            bail!(
                "哈希后的词项没有可命名维度的词；请用 buckets = 0（不写 --buckets）",
                "hashed terms have no words to name a dimension by; use buckets = 0 (no --buckets)"
            );
        }
        rows.check(params.dim, "documents", "terms")?;
        let svd = truncated(rows, params, ctx)?;
        Ok(Lsa {
            vectorizer,
            params: params.clone(),
            right: svd.right,
            singular_values: svd.singular_values,
            explained: svd.explained,
            error: svd.error,
        })
    }

    /// The vectorizer that documents are weighed with.
    pub fn vectorizer(&self) -> &Vectorizer {
        &self.vectorizer
    }

    pub fn dim(&self) -> usize {
        self.params.dim
    }

    pub fn components(&self) -> Vec<String> {
        component_names(self.dim())
    }

    /// Singular values, the largest first.
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// Variance of the fitted documents on each dimension, as a share of the variance of their rows (scikit-learn's
    /// `explained_variance_ratio_`).
    pub fn explained_variance_ratio(&self) -> &[f64] {
        &self.explained
    }

    /// By how much, as a share, the singular values may be too small.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The last time of the documents that it was fitted on; none when they had no times.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.vectorizer.fitted_until()
    }

    /// The point of a document, `[dim]`; zeros when it has no known term.
    pub fn transform(&self, analyzer: &Analyzer, fields: Fields<'_>) -> Vec<f32> {
        let (indices, values): (Vec<u32>, Vec<f32>) = self.vectorizer.transform(analyzer, fields).into_iter().unzip();
        self.point(Row { indices: &indices, values: &values })
    }

    /// The point of a weighed row.
    pub fn point(&self, row: Row<'_>) -> Vec<f32> {
        let mut point = vec![0.0; self.dim()];
        project(row, &self.right, &mut point);
        point
    }

    /// The points of the words, `[terms, dim]` row by row.
    pub fn words(&self) -> Vec<f32> {
        let scales: Vec<f32> = self.singular_values.iter().map(|&s| s as f32).collect();
        let rows = self.right.chunks(self.dim());
        rows.flat_map(|row| row.iter().zip(&scales).map(|(v, scale)| v * scale)).collect()
    }

    /// The `n` terms with the largest loadings on a component (from 0), by absolute value, and their loadings.
    pub fn top_terms(&self, component: usize, n: usize) -> Vec<(&str, f32)> {
        let loading = |i: usize| self.right[i * self.dim() + component];
        let mut order: Vec<usize> = (0..self.vectorizer.width()).collect();
        order.sort_by(|&a, &b| loading(b).abs().total_cmp(&loading(a).abs()).then(a.cmp(&b)));
        order.truncate(n);
        order.into_iter().map(|i| (self.vectorizer.terms()[i].as_ref(), loading(i))).collect()
    }
}

/// Names of the dimensions of a model of so many.
pub fn component_names(dim: usize) -> Vec<String> {
    (1..=dim).map(|i| format!("c{i}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde::Deserialize;

    use super::*;
    use crate::{ModelFile, RowsWriter, TermCounts, VectorizerParams};
    use inkstone_text::DfLimit;

    #[derive(Deserialize)]
    struct Reference {
        docs: Vec<String>,
        singular_values: Vec<f64>,
        explained_variance_ratio: Vec<f64>,
        rows: Vec<Vec<f64>>,
    }

    fn fit(docs: &[String], dim: usize, threads: usize) -> Result<(Lsa, Analyzer)> {
        let params = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
        let analyzer = Analyzer::new(&params, None)?;
        let mut counts = TermCounts::new(&params);
        docs.iter().try_for_each(|doc| counts.add(&analyzer, Fields::body(doc), None))?;
        let vectorizer = Vectorizer::fit(&counts, &params)?;
        let mut rows = RowsWriter::new(vectorizer.width(), Path::new(""));
        for doc in docs {
            let (indices, values): (Vec<u32>, Vec<f32>) =
                vectorizer.transform(&analyzer, Fields::body(doc)).into_iter().unzip();
            rows.push(Row { indices: &indices, values: &values })?;
        }
        let svd = SvdParams { dim };
        Ok((Lsa::fit(vectorizer, &rows.finish()?, &svd, &Ctx::new(threads, 1)?)?, analyzer))
    }

    fn reference() -> Reference {
        serde_json::from_str(include_str!("../../../../tests/reference/sklearn/lsa.json")).unwrap()
    }

    #[test]
    fn documents_lie_where_scikit_learn_puts_them() {
        let reference = reference();
        let dim = reference.singular_values.len();
        let (model, analyzer) = fit(&reference.docs, dim, 2).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-5;
        assert!(model.singular_values().iter().zip(&reference.singular_values).all(|(a, b)| near(*a, *b)));
        let ratios = model.explained_variance_ratio().iter().zip(&reference.explained_variance_ratio);
        ratios.for_each(|(a, b)| assert!(near(*a, *b), "{a}, {b}"));
        for (doc, expected) in reference.docs.iter().zip(&reference.rows) {
            let point = model.transform(&analyzer, Fields::body(doc));
            for (a, b) in point.iter().zip(expected) {
                assert!(near(f64::from(*a), *b), "{doc}: {point:?}, {expected:?}");
            }
        }
        assert_eq!(model.components()[..2], ["c1", "c2"]);
        assert_eq!(model.transform(&analyzer, Fields::body("未见 之词")), vec![0.0; dim]);
    }

    #[test]
    fn the_contributions_to_a_component_sum_to_its_value() {
        let (model, analyzer) = fit(&reference().docs, 3, 1).unwrap();
        let fields = Fields::body("净利润 增长 增长 回购 未见");
        let point = model.transform(&analyzer, fields);
        for (i, name) in model.components().iter().enumerate() {
            let explained = model.explain(&analyzer, fields, Some(name)).unwrap();
            let sum: f64 = explained.terms.iter().map(|part| part.value).sum();
            assert!((explained.score - f64::from(point[i])).abs() < 1e-6 && (explained.score - sum).abs() < 1e-12);
            let part = &explained.terms[0];
            assert_eq!(part.value, part.detail[0].1 * part.detail[1].1, "weight times loading");
            assert_eq!(explained.of.as_deref(), Some(name.as_str()));
        }
        let parts = model.parts(&analyzer, fields);
        for i in 0..3 {
            let sum: f32 = parts.iter().map(|(_, part)| part[i]).sum();
            assert!((sum - point[i]).abs() < 1e-6, "{parts:?}");
        }
        // Without a name it is the component that the document lies farthest out on.
        let farthest = (0..3).max_by(|&a, &b| point[a].abs().total_cmp(&point[b].abs())).unwrap();
        let explained = model.explain(&analyzer, fields, None).unwrap();
        assert_eq!(explained.of, Some(format!("c{}", farthest + 1)));
        let error = model.explain(&analyzer, fields, Some("c4")).unwrap_err().to_string();
        assert!(error.contains("c4") && error.contains("c1 to c3"), "{error}");
        assert_eq!(model.top_terms(0, 2).len(), 2);
    }

    #[test]
    fn a_saved_model_gives_the_same_points_and_the_same_bytes_for_any_threads() {
        let dir = tempfile::tempdir().unwrap();
        let docs = reference().docs;
        let bytes = [1, 2, 8].map(|threads| {
            let path = dir.path().join(threads.to_string());
            fit(&docs, 3, threads).unwrap().0.save(&path, &"words").unwrap();
            std::fs::read(path).unwrap()
        });
        assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
        let (model, analyzer) = fit(&docs, 3, 1).unwrap();
        let again = Lsa::read(&ModelFile::open(&dir.path().join("1")).unwrap()).unwrap();
        for doc in &docs {
            assert_eq!(again.transform(&analyzer, Fields::body(doc)), model.transform(&analyzer, Fields::body(doc)));
        }
        assert_eq!((again.singular_values(), again.words()), (model.singular_values(), model.words()));
    }

    #[test]
    fn what_cannot_be_decomposed_says_why_and_what_to_do() {
        let error_of = |docs: &[&str], dim| {
            let docs: Vec<String> = docs.iter().map(|doc| doc.to_string()).collect();
            fit(&docs, dim, 1).map(|_| String::new()).unwrap_or_else(|error| format!("{error:#}"))
        };
        assert!(error_of(&[], 2).contains("no vocabulary"));
        let one = error_of(&["增长 回购"], 2);
        assert!(one.contains("1 documents with 2 terms") && one.contains("--dim from 1 to 1"), "{one}");
        let alike = error_of(&["增长 回购", "增长 回购", "减持"], 3);
        assert!(alike.contains("rank 2") && alike.contains("--dim from 1 to 2"), "{alike}");
    }
}
