//! New words: strings of characters that keep together and stand in many surroundings, and that no dictionary has.
//!
//! After "Matrix67" (2012): a word is frequent; no way of cutting it in two explains how often it occurs (pointwise mutual
//! information, PMI, of its weakest cut, `ln(count x places / (count of a x count of b))`); and its neighbours on both sides
//! vary (entropies, nats). Then what the dictionary knows, what begins or ends with a function word, numerals, and fragments
//! of longer words are left out. Counts are exact: text is cut to places ([`Places`]), sorted in buckets, and spilled to
//! disk where memory does not suffice ([`GramCounter`]).

mod buckets;
mod count;
mod grams;
mod rules;
mod select;

use anyhow::Result;

pub use count::{GramCounter, Grams, Places};
pub use select::{NewWord, Selection, select};

use inkstone_base::ensure;

params! {
    /// Parameters of new-word discovery.
    pub struct NewWordParams {
        /// Characters of the longest word, 2 to 6.
        ///
        /// 最长的词的字数，2 至 6。
        max_len: usize = 5, number("N", "--max-len");
        /// Leave out words that occur less often.
        ///
        /// 舍弃出现次数更少的词。
        min_count: u64 = 10, number("N", "--count");
        /// Leave out words in fewer documents.
        ///
        /// 舍弃文档数更少的词。
        min_documents: u64 = 3, number("N", "--count");
        /// Least pointwise mutual information of a word's weakest cut, in nats.
        ///
        /// 词的最弱切分处的最小点互信息（奈特）。
        min_pmi: f64 = 4.0, number("NATS", "--threshold");
        /// Least entropy of the characters on either side of a word, in nats.
        ///
        /// 词两侧相邻字的最小熵（奈特）。
        min_entropy: f64 = 1.0, number("NATS", "--threshold");
        /// Keep compounds of dictionary words (业绩预告) as well.
        compounds: bool = false, arg(long);
        /// Keep at the most this many words, those with the highest score; 0 keeps all.
        ///
        /// 最多保留这么多词，取得分最高者；0 为全部。
        top: usize = 0, number("N", "--count");
        /// Memory for counting in MiB; what exceeds it goes to the disk.
        ///
        /// 计数用的内存（MiB）；超出的写到磁盘。
        memory_mb: usize = 1024, number("MIB", "--memory", long = "memory");
    }
}

impl NewWordParams {
    /// A counter for these parameters.
    pub fn counter(&self) -> Result<GramCounter> {
        ensure!(
            self.min_entropy >= 0.0,
            "--min-entropy {} 小于 0，而熵不会为负",
            "--min-entropy {} is below 0, which no entropy is",
            self.min_entropy
        );
        ensure!(
            self.memory_mb > 0,
            "--memory 0 没有计数的空间；请写 64 或更大（MiB）",
            "--memory 0 leaves no room to count; write 64 or more (MiB)"
        );
        GramCounter::new(self.max_len, self.min_count, self.memory_mb << 20)
    }
}
