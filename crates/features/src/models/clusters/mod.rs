//! Clusters of documents by the rows that another model gives them: themes, their names, and how new a document's theme is.
//!
//! On plain files the model of the rows is named by its place and content, as the encoder of a head is. In a project the rows are those of
//! other features (`inputs`), and the clusters are fitted again and again on the documents of the past.

mod fitted;
mod params;
mod plain;
pub(crate) mod project;

pub(crate) use fitted::FittedThemes;
pub use params::ClusterSettings;
pub use plain::{KIND, RowsOf, Themes, ThemesParams, train, write_merges};

/// Words by which a theme is named.
const NAMED: usize = 10;

/// Names of the columns of so many themes: `t1`, `t2`, ...
pub(crate) fn theme_names(k: usize) -> impl Iterator<Item = String> {
    (1..=k).map(|i| format!("t{i}"))
}

/// Membership of a document in each theme. With `softness` 0 it is 1 for the nearest theme, else that of fuzzy c-means (Bezdek 1981) with the
/// exponent m = 1 + softness: `1 / sum over j of (d / d_j)^(2 / (m - 1))`. `squares` are squared distances.
pub(crate) fn membership(squares: &[f64], softness: f64) -> Vec<f64> {
    let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
    let nearest = squares.iter().position(|square| *square == least).unwrap_or_default();
    if softness == 0.0 || least == 0.0 {
        return (0..squares.len()).map(|cluster| f64::from(u8::from(cluster == nearest))).collect();
    }
    let weights: Vec<f64> = squares.iter().map(|square| (least / square).powf(1.0 / softness)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_is_that_of_the_nearest_or_shared_as_in_fuzzy_c_means() {
        assert_eq!(membership(&[4.0, 1.0, 1.0], 0.0), [0.0, 1.0, 0.0]);
        // m = 2: weights 1/4 and 1, which sum to 1.
        assert_eq!(membership(&[4.0, 1.0], 1.0), [0.2, 0.8]);
        // m = 3/2: (1/4)^2.
        let shared = membership(&[4.0, 1.0], 0.5);
        assert!((shared[0] - 1.0 / 17.0).abs() < 1e-12, "{shared:?}");
        assert_eq!(membership(&[0.0, 1.0], 1.0), [1.0, 0.0]);
    }
}
