//! Drift: the distance of a smaller form of a model (half precision, integers) from the first, by their rows.

use serde::Serialize;

use inkstone_base::stats::spearman;
use inkstone_models::cosine;

/// Two forms of the same rows, as they come.
pub struct Drift {
    dim: usize,
    own: Vec<f32>,
    others: Vec<f32>,
    unlike: u64,
}

/// Distances between two forms of the same rows.
#[derive(Clone, Debug, Serialize)]
pub struct DriftFigures {
    documents: usize,
    /// Documents for which only one form gave numbers.
    only_one: u64,
    mean_cosine: f64,
    least_cosine: f64,
    mean_difference: f64,
    most_difference: f64,
    /// Rank correlation of each column, the first ones.
    spearman: Vec<(String, f64)>,
}

/// Columns whose rank correlation is reported.
const RANKED: usize = 10;

impl Drift {
    pub fn new(dim: usize) -> Drift {
        Drift { dim, own: Vec::new(), others: Vec::new(), unlike: 0 }
    }

    /// Adds a document's row in both forms; one that neither has counts for nothing.
    pub fn add(&mut self, own: &[f32], other: &[f32]) {
        match (own[0].is_nan(), other[0].is_nan()) {
            (false, false) => {
                self.own.extend_from_slice(own);
                self.others.extend_from_slice(other);
            }
            (true, true) => {}
            _ => self.unlike += 1,
        }
    }

    pub fn figures(&self, columns: &[String]) -> DriftFigures {
        let rows = || self.own.chunks(self.dim).zip(self.others.chunks(self.dim));
        let cosines: Vec<f64> = rows().map(|(a, b)| f64::from(cosine(a, b))).collect();
        let differences = || self.own.iter().zip(&self.others).map(|(a, b)| f64::from((a - b).abs()));
        let column =
            |values: &[f32], i: usize| -> Vec<f64> { values.chunks(self.dim).map(|row| f64::from(row[i])).collect() };
        let ranked = columns.iter().take(RANKED).enumerate();
        DriftFigures {
            documents: cosines.len(),
            only_one: self.unlike,
            mean_cosine: cosines.iter().sum::<f64>() / cosines.len() as f64,
            least_cosine: cosines.iter().copied().fold(f64::NAN, f64::min),
            mean_difference: differences().sum::<f64>() / self.own.len() as f64,
            most_difference: differences().fold(0.0, f64::max),
            spearman: ranked
                .map(|(i, name)| (name.clone(), spearman(&column(&self.own, i), &column(&self.others, i))))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_equal_those_by_hand() {
        let mut drift = Drift::new(2);
        drift.add(&[1.0, 0.0], &[1.0, 0.0]);
        drift.add(&[0.0, 2.0], &[2.0, 0.0]);
        drift.add(&[3.0, 1.0], &[3.0, 1.5]);
        drift.add(&[f32::NAN; 2], &[1.0, 1.0]);
        drift.add(&[f32::NAN; 2], &[f32::NAN; 2]);
        let figures = drift.figures(&["a".into(), "b".into()]);
        assert_eq!((figures.documents, figures.only_one, figures.most_difference), (3, 1, 2.0));
        assert!((figures.mean_difference - 4.5 / 6.0).abs() < 1e-12 && figures.least_cosine == 0.0);
        assert!((figures.spearman[0].1 - 0.5).abs() < 1e-12 && figures.spearman[1].1.abs() < 1e-12, "{figures:?}");
    }
}
