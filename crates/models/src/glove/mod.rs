//! GloVe: vectors whose products give the logarithms of how often words stand near each other.
//!
//! Pennington, Socher and Manning (2014). Minimises the sum over all pairs of `f(x) (w_i . c_j + b_i + b~_j - ln x)^2 / 2` with
//! `f(x) = min(1, (x / x_max)^(3/4))` by AdaGrad, a step a pair; a word's vector is `w + c`. Counts are those of
//! [`super::Cooccurrence`] by 1/distance; initial values, clipping and accumulated squares are those of the authors' program.
//!
//! Words are dealt into [`PARTS`] parts, and pairs into as many blocks a side. Blocks that share neither a part of words nor one
//! of contexts are trained at once (Gemulla, Nijkamp, Haas and Sismanis 2011), so that the result does not depend on threads.

mod pairs;
mod train;

use anyhow::Result;

pub use pairs::Pairs;

use inkstone_base::ensure;

/// Exponent of the weights of rarer pairs, alpha of the paper.
const ALPHA: f64 = 0.75;
/// Parts of the words, and of the contexts.
const PARTS: usize = 8;

params! {
    /// Parameters of GloVe; the names are those of the authors' program.
    pub struct GloveParams {
        /// Values of a vector.
        ///
        /// 向量的维数。
        dim: usize = 100, number("N", "feature.glove.dim");
        /// Passes over all pairs.
        ///
        /// 遍历全部词对的轮数。
        epochs: usize = 15, number("N", "feature.glove.epochs");
        /// Initial rate of learning of AdaGrad.
        ///
        /// AdaGrad 的初始学习率。
        lr: f64 = 0.05, number("X", "feature.glove.lr");
        /// The count from which pairs weigh alike.
        ///
        /// 词对的权重不再增加的共现次数。
        x_max: f64 = 100.0, number("X", "--x-max");
    }
}

impl GloveParams {
    pub fn check(&self) -> Result<()> {
        ensure!(self.dim > 0, "dim = 0：向量至少一维（--dim）", "dim = 0: a vector needs a value (--dim)");
        ensure!(
            self.epochs > 0,
            "epochs = 0：什么也学不到（--epochs）",
            "epochs = 0: nothing would be learned (--epochs)"
        );
        ensure!(
            self.lr > 0.0 && self.lr.is_finite(),
            "lr = {} 须为大于 0 的数（--lr）",
            "lr = {} must be a number above 0 (--lr)",
            self.lr
        );
        ensure!(
            self.x_max > 0.0 && self.x_max.is_finite(),
            "x_max = {} 须为大于 0 的数",
            "x_max = {} must be a number above 0",
            self.x_max
        );
        Ok(())
    }

    /// The weight of a pair.
    fn weight(&self, count: f64) -> f64 {
        (count / self.x_max).min(1.0).powf(ALPHA)
    }
}
