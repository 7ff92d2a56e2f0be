//! Parameters of fastText models, under fastText's names and in the order of its file.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::ensure;

/// The task of a model. Numbers are those of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Words from the words around them, thrown together.
    Cbow = 1,
    /// The words around from each word.
    #[default]
    Skipgram = 2,
    /// Labels from the text.
    Supervised = 3,
}

/// The loss. Numbers are those of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Hierarchical softmax over a Huffman tree.
    Hs = 1,
    /// Negative sampling.
    #[default]
    Ns = 2,
    /// Softmax over all outputs.
    Softmax = 3,
    /// One versus all: a logistic regression a label, for several labels a text.
    Ova = 4,
}

params! {
    /// Parameters of a fastText model; the defaults and flags are fastText's for unsupervised vectors.
    pub struct FastTextParams {
        form: Form = Form::Skipgram, arg(skip);
        /// ns (negative sampling), hs (hierarchical softmax) or softmax.
        ///
        /// ns（负采样）、hs（层次 softmax）或 softmax。
        loss: Loss = Loss::Ns, choice(value_name = "LOSS");
        /// Dimensions.
        ///
        /// 维数。
        dim: usize = 100, number("N", "feature.fasttext.dim");
        /// Words on each side, at the most.
        ///
        /// 两侧各看的最多词数。
        window: usize = 5, number("N", "feature.fasttext.window", visible_alias = "ws");
        /// Passes over the text.
        ///
        /// 遍历文本的轮数。
        epochs: usize = 5, number("N", "feature.fasttext.epochs", visible_alias = "epoch");
        /// Leave out words that occur less often.
        ///
        /// 舍弃出现次数更少的词。
        min_count: u64 = 5, number("N", "feature.words.min_count");
        /// For supervised models: leave out labels that occur less often.
        min_count_label: u64 = 0, arg(skip);
        /// Words drawn against each right one.
        ///
        /// 每个正确的词对应的负样本数。
        negative: usize = 5, number("N", "feature.fasttext.negative", visible_alias = "neg");
        /// For supervised models: words in a row that are a feature together, at the most.
        word_ngrams: usize = 1, arg(skip = 1usize);
        /// Places that n-grams are hashed into.
        ///
        /// n 元字串哈希到的位置数。
        bucket: u32 = 2_000_000, number("N", "feature.fasttext.bucket");
        /// Shortest character n-gram; the bounds of a word count. For Chinese 1 or 2.
        ///
        /// 最短的字串；词的边界也计入。中文可取 1 或 2。
        minn: usize = 3, number("N", "feature.fasttext.minn");
        /// Longest character n-gram; 0: none. For Chinese 2 or 3.
        ///
        /// 最长的字串；0 为不用。中文可取 2 或 3。
        maxn: usize = 6, number("N", "feature.fasttext.maxn");
        /// Words more frequent than this share are passed over at times.
        ///
        /// 比这一占比更常见的词有时略过。
        sample: f64 = 1e-4, number("T", "feature.fasttext.sample", visible_alias = "t");
        /// Rate of learning at the start; it falls to 0.
        ///
        /// 起始学习率，逐步降到 0。
        lr: f32 = 0.05, number("R", "feature.fasttext.lr");
        /// Prefix of labels in files of tokens or text, and in fastText's file.
        label: String = "__label__".to_owned(), arg(skip = "__label__");
    }
}

impl FastTextParams {
    /// fastText's defaults for supervised models.
    pub fn supervised() -> FastTextParams {
        FastTextParams {
            form: Form::Supervised,
            loss: Loss::Softmax,
            min_count: 1,
            minn: 0,
            maxn: 0,
            lr: 0.1,
            ..FastTextParams::default()
        }
    }

    /// True if there are n-grams at all.
    pub(super) fn hashes(&self) -> bool {
        self.maxn > 0 || (self.form == Form::Supervised && self.word_ngrams > 1)
    }

    /// Fails when they cannot be used.
    pub fn check(&self) -> Result<()> {
        self.clone().checked().map(drop)
    }

    /// Checks them, and sets aside buckets that nothing would be hashed into, as fastText does.
    pub(super) fn checked(mut self) -> Result<FastTextParams> {
        ensure!(
            self.dim > 0 && self.dim <= 1 << 16,
            "向量须有 1 到 65536 维，而不是 {}（--dim）",
            "a vector has 1 to 65536 values, not {} (--dim)",
            self.dim
        );
        ensure!(
            self.epochs > 0 && self.epochs <= i32::MAX as usize,
            "{} 轮没有可做的（--epochs）",
            "there is nothing to do in {} epochs (--epochs)",
            self.epochs
        );
        ensure!(
            self.lr.is_finite() && self.lr > 0.0,
            "学习率须大于 0，而不是 {}（--lr）",
            "the rate of learning is above 0, not {} (--lr)",
            self.lr
        );
        ensure!(
            self.window > 0 && self.window <= 1000,
            "窗口须为 1 到 1000 个词，而不是 {}（--window）",
            "a window has 1 to 1000 words, not {} (--window)",
            self.window
        );
        ensure!(
            self.word_ngrams > 0 && self.word_ngrams <= 100,
            "n 元组须为 1 到 100 个词，而不是 {}（--word-ngrams）",
            "n-grams have 1 to 100 words, not {} (--word-ngrams)",
            self.word_ngrams
        );
        ensure!(
            self.maxn == 0 || (self.minn <= self.maxn && self.maxn <= 100),
            "字符 n 元组不能为 {} 到 {} 个字符：--minn 不超过 --maxn，后者不超过 100",
            "character n-grams of {} to {} characters cannot be: --minn is at most --maxn, and this at most 100",
            self.minn,
            self.maxn
        );
        ensure!(
            self.loss != Loss::Ova || self.form == Form::Supervised,
            "损失函数 ova 用于标签：请用 ns、hs 或 softmax",
            "the loss ova is for labels: take ns, hs or softmax"
        );
        ensure!(
            self.negative > 0 || self.loss != Loss::Ns,
            "负采样至少抽一个（--negative）",
            "negative sampling draws at least one (--negative)"
        );
        ensure!(
            self.sample > 0.0,
            "采样阈值须大于 0，而不是 {}（--sample）",
            "the threshold of sampling is above 0, not {} (--sample)",
            self.sample
        );
        ensure!(
            self.bucket <= 1 << 30,
            "桶最多 2^30 个，而不是 {}（--bucket）",
            "there are at most 2^30 buckets, not {} (--bucket)",
            self.bucket
        );
        ensure!(
            !self.label.is_empty(),
            "--label 不能为空：否则每个词都是标签",
            "--label must not be empty: every word would be a label"
        );
        ensure!(
            !self.hashes() || self.bucket > 0,
            "n 元组须哈希到桶中（--bucket）",
            "n-grams need buckets to be hashed into (--bucket)"
        );
        if !self.hashes() {
            self.bucket = 0;
        }
        Ok(self)
    }
}
