//! Clusters of rows: k-means, and hierarchies by merging.
//!
//! | method | follows |
//! |---|---|
//! | k-means | Lloyd (1982), seeds by k-means++ (Arthur and Vassilvitskii 2007) with several candidates a seed, stopping rule and treatment of empty clusters of scikit-learn's `KMeans` |
//! | hierarchy | merges of Ward (1963), average, complete and single linkage by chains of nearest neighbours (Müllner 2011), as SciPy's `linkage` |
//! | names | words by c-TF-IDF (Grootendorst 2022) |
//!
//! Sums run in the order of the rows, so that results do not depend on threads.

mod hierarchy;
mod kmeans;
mod names;
#[cfg(test)]
mod tests;

pub use hierarchy::{Linkage, Merge, cut, linkage};
pub use kmeans::{Centres, ClusterParams, ClusterRows, Clustering, cluster};
pub use names::ThemeWords;
