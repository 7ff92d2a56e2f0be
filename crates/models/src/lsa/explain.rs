//! The terms that put a document where it lies.

use anyhow::{Context, Result};

use super::Lsa;
use crate::{Analyzer, Explanation, Fields, Part};

use inkstone_base::message;

/// Terms by which the formula names a component.
const NAMED: usize = 8;

impl Lsa {
    /// The contribution of each term to the document's place on a component (`c1`, ...; default: the one that it lies farthest out
    /// on), the largest first.
    pub fn explain(&self, analyzer: &Analyzer, fields: Fields<'_>, of: Option<&str>) -> Result<Explanation> {
        let row = self.vectorizer.transform(analyzer, fields);
        let point = self.transform(analyzer, fields);
        let component = match of {
            Some(name) => self.component(name)?,
            None => (0..self.dim()).rev().max_by(|&a, &b| point[a].abs().total_cmp(&point[b].abs())).unwrap_or(0),
        };
        let part = |&(column, weight): &(u32, f32)| {
            let loading = f64::from(self.right[column as usize * self.dim() + component]);
            let weight = f64::from(weight);
            let token = self.vectorizer.terms()[column as usize].to_string();
            Part { token, value: weight * loading, detail: vec![("weight", weight), ("loading", loading)] }
        };
        let terms: Vec<Part> = row.iter().map(part).collect();
        let leading: Vec<String> = self
            .top_terms(component, NAMED)
            .into_iter()
            .map(|(term, loading)| format!("{term} {loading:.3}"))
            .collect();
        let explanation = Explanation {
            of: Some(format!("c{}", component + 1)),
            formula: message!(
                "各词 weight x 在 c{} 上的载荷之和，该分量载荷最大的词为 {}；weight = {}",
                "sum of weight x loading on c{}, whose largest loadings are {}; weight = {}",
                component + 1,
                leading.join(", "),
                self.vectorizer.formula()
            ),
            score: terms.iter().map(|part| part.value).sum(),
            terms,
            ..Explanation::default()
        };
        Ok(explanation.largest_first())
    }

    /// The part of each term in a document's point, `[dim]`: they sum to the point.
    pub fn parts(&self, analyzer: &Analyzer, fields: Fields<'_>) -> Vec<(&str, Vec<f32>)> {
        let part = |(column, weight): (u32, f32)| {
            let loadings = &self.right[column as usize * self.dim()..][..self.dim()];
            (&*self.vectorizer.terms()[column as usize], loadings.iter().map(|loading| weight * loading).collect())
        };
        self.vectorizer.transform(analyzer, fields).into_iter().map(part).collect()
    }

    fn component(&self, name: &str) -> Result<usize> {
        let number = name.strip_prefix('c').unwrap_or(name).parse::<usize>().ok();
        number.filter(|number| (1..=self.dim()).contains(number)).map(|number| number - 1).with_context(|| {
            message!(
                "模型没有分量 {name}；有 c1 到 c{}",
                "the model has no component {name}; there are c1 to c{}",
                self.dim()
            )
        })
    }
}
