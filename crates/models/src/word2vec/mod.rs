//! word2vec: word vectors that predict their neighbours (Mikolov, Chen, Corrado and Dean 2013, Efficient Estimation of Word
//! Representations in Vector Space; Mikolov, Sutskever, Chen, Corrado and Dean 2013, Distributed Representations of Words and
//! Phrases and their Compositionality); and what was built on it: vectors of documents that predict their words (Le and Mikolov
//! 2014, Distributed Representations of Sentences and Documents) and words that are made of their characters (Chen, Xu, Liu,
//! Sun and Luan 2015, Joint Learning of Character and Word Embeddings).
//!
//! Takes a corpus as numbers of words, gives `[words, dim] f32`. `train` passes over the corpus in stretches, one step after the
//! other, while other threads `plan` the next, from an alias table or a `huffman` tree; `kernel` is the step of one prediction;
//! `characters` are rows that words share; `document` infers the vector of a text. Definitions are those of the C tool, but
//! that the inputs of a window share their negative samples, that stretches come in a random order, and that the logistic
//! function is computed and not looked up.

mod characters;
mod document;
mod huffman;
mod kernel;
mod matrix;
mod plan;
#[cfg(test)]
mod tests;
mod train;

use anyhow::Result;
use serde::{Deserialize, Serialize};

pub use document::Doc2vec;
pub use plan::{DOCUMENT, END};
pub use train::{Corpus, Word2vec};

use inkstone_base::ensure;

/// The form of a model: what predicts what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// The mean of a window predicts its centre.
    #[default]
    Cbow,
    /// Each word of a window predicts its centre.
    SkipGram,
    /// The mean of a window and its document predicts its centre: distributed memory.
    Dm,
    /// The document predicts each of its words: distributed bag of words.
    Dbow,
}

impl Architecture {
    /// True if documents have vectors.
    pub fn of_documents(self) -> bool {
        matches!(self, Architecture::Dm | Architecture::Dbow)
    }
}

/// The objective of a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// It is told from words drawn at random.
    #[default]
    Negative,
    /// By its path in a Huffman tree.
    Hierarchical,
}

/// The exponent of the C tool's table.
const USUAL_POWER: f64 = 0.75;

fn is_usual_power(power: &f64) -> bool {
    *power == USUAL_POWER
}

params! {
    /// Parameters of training. Defaults are those of the C tool for words.
    pub struct Word2vecParams {
        architecture: Architecture = Architecture::Cbow, arg(skip);
        objective: Objective = Objective::Negative, arg(skip);
        /// Dimensions.
        ///
        /// 维数。
        dim: usize = 100, number("N", "feature.word2vec.dim");
        /// Words on each side at the most; each window is 1 to N.
        ///
        /// 两侧各看的最多词数；每个窗口为 1 至 N。
        window: usize = 5, number("N", "feature.word2vec.window");
        /// Words drawn at random that each prediction is told from.
        ///
        /// 每次预测时随机抽取的负样本数。
        negative: usize = 5, number("N", "feature.word2vec.negative");
        /// Thin out words of a higher share of the text; 0 keeps all.
        ///
        /// 对占比更高的词降采样；0 为全部保留。
        sample: f64 = 1e-3, number("X", "feature.word2vec.sample");
        /// Passes over the text.
        ///
        /// 遍历文本的轮数。
        epochs: usize = 5, number("N", "feature.word2vec.epochs");
        /// Rate of learning at the beginning. Default: 0.05 for CBOW, else 0.025.
        ///
        /// 起始学习率。默认：CBOW 为 0.05，其他为 0.025。
        lr: Option<f64> = None,
            arg(long, value_name = "X", value_parser = inkstone_base::bounds::flag::<f64>("feature.word2vec.lr"));
        /// Rate of learning at the end.
        ///
        /// 结束时的学习率。
        min_lr: f64 = 1e-4, number("X", "feature.word2vec.min_lr");
        /// Exponent of the counts of words in the table from which negative samples are drawn; 0 draws all words alike.
        ///
        /// 负采样表中词频的指数；0 为各词同样抽取。
        #[serde(skip_serializing_if = "is_usual_power")]
        ns_exponent: f64 = USUAL_POWER, number("X", "feature.word2vec.ns_exponent");
        /// With CBOW and distributed memory: the sum of the window predicts, not its mean.
        ///
        /// 用于 CBOW 与分布式记忆：由窗口之和预测，而不是均值。
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        sum: bool = false, arg(long);
        /// With CBOW: half of a Chinese word's vector is the mean of those of its characters (CWE).
        characters: bool = false, arg(skip);
    }
}

impl Word2vecParams {
    /// The rate of learning at the beginning.
    pub fn rate(&self) -> f64 {
        self.lr.unwrap_or(match self.architecture {
            Architecture::Cbow => 0.05,
            _ => 0.025,
        })
    }

    /// Fails when they cannot be used; the message names the flag.
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("--dim", self.dim, 1..=100_000),
            ("--window", self.window, 1..=10_000),
            ("--epochs", self.epochs, 1..=1_000_000),
            ("--negative", self.negative, 1..=10_000),
        ];
        for (flag, value, range) in counts {
            ensure!(
                range.contains(&value),
                "{flag} 为 {value}；须在 {} 到 {} 之间",
                "{flag} is {value}; it lies from {} to {}",
                range.start(),
                range.end()
            );
        }
        ensure!(
            !self.sum || matches!(self.architecture, Architecture::Cbow | Architecture::Dm),
            "--sum 取窗口之和，而这种结构由单个词或文档预测：请去掉 --sum",
            "--sum adds up a window, and this architecture predicts by single words or by the document: leave --sum out"
        );
        ensure!(
            self.ns_exponent.is_finite() && self.ns_exponent >= 0.0,
            "--ns-exponent 为 {}；须不小于 0",
            "--ns-exponent is {}; it is 0 or above",
            self.ns_exponent
        );
        ensure!(
            !self.characters || self.architecture == Architecture::Cbow,
            "--chars 由字构成词并训练词的均值：须与 CBOW 同用",
            "--chars makes words of their characters while a mean of words is trained: it goes with CBOW"
        );
        ensure!(
            self.sample.is_finite() && self.sample >= 0.0,
            "--sample 为 {}；须不小于 0",
            "--sample is {}; it is 0 or above",
            self.sample
        );
        let (lr, least) = (self.rate(), self.min_lr);
        ensure!(
            least > 0.0 && least <= lr && lr.is_finite(),
            "学习率由 --lr {lr} 降到 --min-lr {least}；须递减且大于 0",
            "the rate of learning goes from --lr {lr} to --min-lr {least}; it must fall, to above 0"
        );
        Ok(())
    }
}
