//! The rows of a fold: those that train and those that test.

use anyhow::Result;

use super::Design;
use crate::sparse::Csr;
use crate::validation::Split;

/// Rows that training and test parts can be had of. What is fitted to make them, such as a vocabulary, is fitted on the
/// training part alone.
pub trait FoldFeatures: Sync {
    fn count(&self) -> usize;

    /// The rows that train and those that test, with the same columns. Called inside [`Ctx::install`](inkstone_base::job::Ctx::install).
    fn fold(&self, split: &Split) -> Result<(Design, Design)>;
}

impl FoldFeatures for Csr {
    fn count(&self) -> usize {
        self.rows()
    }

    fn fold(&self, split: &Split) -> Result<(Design, Design)> {
        let select = |rows: &[usize]| {
            let mut some = Csr::new(self.cols());
            rows.iter().for_each(|&i| some.push_row(self.row(i).iter()));
            Design::from(some)
        };
        Ok((select(&split.train), select(&split.test)))
    }
}

/// The dense part keeps the scaling of all rows.
impl FoldFeatures for Design {
    fn count(&self) -> usize {
        self.rows()
    }

    fn fold(&self, split: &Split) -> Result<(Design, Design)> {
        Ok((self.select(&split.train), self.select(&split.test)))
    }
}
