//! Vocabularies: words with their counts, counted in a stream, cut as scikit-learn cuts them, and written as a table.
//!
//! A [`Counter`] takes documents one by one, on any number of threads (merge the counters in any order: the result is the
//! same). [`Counter::build`] chooses the words and orders them, the most frequent first, equal counts in the order of the
//! words' bytes, so the same documents give the same vocabulary whatever their order.

use std::cmp::Reverse;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use inkstone_base::data::TooLittle;
use inkstone_base::disk;
use inkstone_base::{bail, ensure, message};

/// A limit on document frequency: a whole number counts documents, a number with a point is a share of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DfLimit {
    Count(u64),
    /// Share of all documents, 0.0 to 1.0.
    Share(f64),
}

impl FromStr for DfLimit {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<DfLimit> {
        if let Ok(count) = text.parse() {
            return Ok(DfLimit::Count(count));
        }
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        share.map(DfLimit::Share).with_context(|| {
            message!(
                "{text:?} 既不是个数（如 2），也不是 0.0 到 1.0 的比例（如 0.5）",
                "{text:?} is no count (2) and no share of 0.0 to 1.0 (0.5)"
            )
        })
    }
}

impl fmt::Display for DfLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DfLimit::Count(count) => write!(f, "{count}"),
            // Debug keeps the point of 1.0, by which it is a share.
            DfLimit::Share(share) => write!(f, "{share:?}"),
        }
    }
}

impl DfLimit {
    pub fn documents(self, n: u64, setting: &str) -> Result<f64> {
        match self {
            DfLimit::Count(count) => Ok(count as f64),
            DfLimit::Share(share) if (0.0..=1.0).contains(&share) => Ok(share * n as f64),
            DfLimit::Share(share) => bail!(
                "{setting} = {share} 不是比例；请写 0.0 到 1.0，或整数",
                "{setting} = {share} is not a share; write 0.0 to 1.0, or a whole number"
            ),
        }
    }
}

/// Which words a vocabulary keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VocabularyParams {
    /// Words in fewer documents are left out.
    pub min_df: DfLimit,
    /// Words in more documents are left out.
    pub max_df: DfLimit,
    /// Words kept at the most, those with the highest count; 0 keeps all.
    pub max_features: usize,
}

impl VocabularyParams {
    pub const ALL: VocabularyParams =
        VocabularyParams { min_df: DfLimit::Count(1), max_df: DfLimit::Share(1.0), max_features: 0 };

    /// The words to keep, as ascending positions in `words`; of words with equal counts at the border of `max_features`
    /// those with the lower `tie` stay.
    pub fn select<K: Ord>(&self, documents: u64, words: &[Frequency], tie: impl Fn(usize) -> K) -> Result<Vec<u32>> {
        let (least, most) = (self.min_df.documents(documents, "min_df")?, self.max_df.documents(documents, "max_df")?);
        ensure!(
            least <= most,
            TooLittle(message!(
                "max_df（{documents} 篇文档中的 {most} 篇）小于 min_df（{least}）：没有词能在其间；请降低 min_df 或提高 max_df",
                "max_df ({most} of {documents} documents) is below min_df ({least}): no word can be in between; lower min_df or raise max_df"
            ))
        );
        let within = |f: &Frequency| f.documents > 0 && (least..=most).contains(&(f.documents as f64));
        let mut kept: Vec<u32> = (0..words.len() as u32).filter(|&i| within(&words[i as usize])).collect();
        if self.max_features > 0 && kept.len() > self.max_features {
            let count = |i: u32| words[i as usize].count;
            let mut counts: Vec<u64> = kept.iter().map(|&i| count(i)).collect();
            let border = *counts.select_nth_unstable_by(self.max_features - 1, |a, b| b.cmp(a)).1;
            // Only words at the border are ordered by `tie`, which may be costly.
            let mut equal: Vec<u32> = kept.iter().copied().filter(|&i| count(i) == border).collect();
            kept.retain(|&i| count(i) > border);
            equal.sort_by_cached_key(|&i| tie(i as usize));
            equal.truncate(self.max_features - kept.len());
            kept.extend(equal);
            kept.sort_unstable();
        }
        ensure!(
            !kept.is_empty(),
            TooLittle(message!(
                "{documents} 篇文档的 {} 个词没有一个留下：每个词所在的文档都少于 {least}（min_df）或多于 {most}（max_df）；请降低 min_df 或提高 max_df",
                "no word is left of {} in {documents} documents: each is in fewer than {least} (min_df) or more than {most} (max_df) of them; lower min_df or raise max_df",
                words.len()
            ))
        );
        Ok(kept)
    }
}

/// Counts of a word in the documents counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frequency {
    pub count: u64,
    /// Documents with the word.
    pub documents: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct WordTally {
    frequency: Frequency,
    /// Number of the last document counted, from 1, so that a document counts once.
    last: u64,
}

/// Counts of words over a stream of documents, which are not kept.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    words: FxHashMap<Box<str>, WordTally>,
    documents: u64,
    last_seen: Option<NaiveDateTime>,
}

impl Counter {
    /// Counts a document that became known at `time`; `None` when it has no time.
    pub fn add<T: AsRef<str>>(&mut self, tokens: impl IntoIterator<Item = T>, time: Option<NaiveDateTime>) {
        self.documents += 1;
        self.last_seen = self.last_seen.max(time);
        for token in tokens {
            let token = token.as_ref();
            // Looked up before it is owned: nearly every token is an old one.
            let tally = match self.words.get_mut(token) {
                Some(tally) => tally,
                None => self.words.entry(token.into()).or_default(),
            };
            tally.frequency.count += 1;
            if tally.last != self.documents {
                tally.last = self.documents;
                tally.frequency.documents += 1;
            }
        }
    }

    /// True if no word was counted.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Takes in the counts of other documents.
    pub fn merge(&mut self, other: Counter) {
        for (word, theirs) in other.words {
            let ours = &mut self.words.entry(word).or_default().frequency;
            ours.count += theirs.frequency.count;
            ours.documents += theirs.frequency.documents;
        }
        self.documents += other.documents;
        self.last_seen = self.last_seen.max(other.last_seen);
    }

    pub fn build(&self, params: &VocabularyParams) -> Result<Vocabulary> {
        ensure!(
            !self.words.is_empty(),
            "{} 篇文档中没有可选的词",
            "there are no words to choose from in {} documents",
            self.documents
        );
        let mut words: Vec<(&str, Frequency)> =
            self.words.iter().map(|(word, tally)| (word.as_ref(), tally.frequency)).collect();
        words.sort_unstable_by_key(|&(word, frequency)| (Reverse(frequency.count), word));
        let frequencies: Vec<Frequency> = words.iter().map(|(_, frequency)| *frequency).collect();
        let kept = params.select(self.documents, &frequencies, |i| i)?;
        let words = kept.into_iter().map(|i| words[i as usize]).map(|(word, frequency)| (word.into(), frequency));
        Ok(Vocabulary { words: words.collect(), documents: self.documents, last_seen: self.last_seen })
    }
}

/// Words with their frequencies, the most frequent first.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    pub words: Vec<(Box<str>, Frequency)>,
    pub documents: u64,
    /// The last time of the documents counted: nothing made with this vocabulary is known before it.
    pub last_seen: Option<NaiveDateTime>,
}

impl Vocabulary {
    /// Writes the table, tab-separated: `word count documents`.
    pub fn save(&self, path: &Path) -> Result<()> {
        disk::write_atomic(path, |out| {
            let mut rows = csv::WriterBuilder::new().delimiter(b'\t').from_writer(out);
            rows.serialize(("word", "count", "documents"))?;
            for (word, frequency) in &self.words {
                rows.serialize((word, frequency.count, frequency.documents))?;
            }
            Ok(rows.flush()?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(day: u32) -> Option<NaiveDateTime> {
        chrono::NaiveDate::from_ymd_opt(2024, 3, day).unwrap().and_hms_opt(15, 0, 1)
    }

    const DOCS: [(&[&str], u32); 4] =
        [(&["利润", "增长", "增长"], 4), (&["利润", "下滑"], 9), (&["利润", "增长", "回购"], 7), (&["回购"], 1)];

    fn counted() -> Counter {
        let mut counter = Counter::default();
        for (tokens, day) in DOCS {
            counter.add(tokens, time(day));
        }
        counter
    }

    fn words(vocabulary: &Vocabulary) -> Vec<(&str, u64, u64)> {
        vocabulary.words.iter().map(|(word, f)| (word.as_ref(), f.count, f.documents)).collect()
    }

    #[test]
    fn words_stand_by_count_then_bytes_and_the_last_time_is_kept() {
        let vocabulary = counted().build(&VocabularyParams::ALL).unwrap();
        // 利润 and 增长 both occur three times; 利 (U+5229) comes before 增 (U+589E).
        assert_eq!(words(&vocabulary), [("利润", 3, 3), ("增长", 3, 2), ("回购", 2, 2), ("下滑", 1, 1)]);
        assert_eq!((vocabulary.documents, vocabulary.last_seen), (4, time(9)));
    }

    #[test]
    fn limits_cut_as_in_scikit_learn() {
        let kept = |min_df, max_df, max_features| -> Vec<String> {
            let params = VocabularyParams { min_df, max_df, max_features };
            let vocabulary = counted().build(&params).unwrap();
            vocabulary.words.iter().map(|(word, _)| word.to_string()).collect()
        };
        // CountVectorizer(min_df=2), (min_df=1, max_df=.5), (min_df=1, max_df=.75, max_features=2) keep these words.
        assert_eq!(kept(DfLimit::Count(2), DfLimit::Share(1.0), 0), ["利润", "增长", "回购"]);
        assert_eq!(kept(DfLimit::Count(1), DfLimit::Share(0.5), 0), ["增长", "回购", "下滑"]);
        assert_eq!(kept(DfLimit::Count(1), DfLimit::Share(0.75), 2), ["利润", "增长"]);
    }

    #[test]
    fn limits_that_leave_nothing_are_named() {
        let message = |min_df, max_df| {
            let params = VocabularyParams { min_df, max_df, ..VocabularyParams::ALL };
            counted().build(&params).unwrap_err().to_string()
        };
        let none = message(DfLimit::Count(4), DfLimit::Share(1.0));
        assert!(none.contains("no word is left of 4 in 4 documents") && none.contains("lower min_df"), "{none}");
        let crossed = message(DfLimit::Count(3), DfLimit::Share(0.5));
        assert!(crossed.contains("max_df (2 of 4 documents) is below min_df (3)"), "{crossed}");
        assert!(message(DfLimit::Share(1.5), DfLimit::Share(1.0)).contains("min_df = 1.5"));
        let nothing = Counter::default().build(&VocabularyParams::ALL).unwrap_err().to_string();
        assert!(nothing.contains("no words to choose from in 0 documents"), "{nothing}");
    }

    #[test]
    fn a_limit_is_typed_as_it_is_written() {
        assert_eq!("3".parse::<DfLimit>().unwrap(), DfLimit::Count(3));
        assert_eq!("0.5".parse::<DfLimit>().unwrap(), DfLimit::Share(0.5));
        assert_eq!("1.0".parse::<DfLimit>().unwrap(), DfLimit::Share(1.0));
        for bad in ["-1", "1.5", "nan", "x"] {
            assert!(bad.parse::<DfLimit>().unwrap_err().to_string().contains("no count"), "{bad}");
        }
    }

    #[test]
    fn counters_merge_in_any_order_to_the_same_vocabulary() {
        let parts = |order: [usize; 4]| {
            let mut all = Counter::default();
            for i in order {
                let mut one = Counter::default();
                one.add(DOCS[i].0, time(DOCS[i].1));
                all.merge(one);
            }
            all
        };
        let all_counted = counted().build(&VocabularyParams::ALL).unwrap();
        assert_eq!(parts([0, 1, 2, 3]).build(&VocabularyParams::ALL).unwrap(), all_counted);
        assert_eq!(parts([3, 1, 0, 2]).build(&VocabularyParams::ALL).unwrap(), all_counted);
        // A document after a merge still counts each of its words once.
        let mut more = parts([0, 1, 2, 3]);
        more.add(["利润", "利润"], time(2));
        assert_eq!(words(&more.build(&VocabularyParams::ALL).unwrap())[0], ("利润", 5, 4));
    }

    #[test]
    fn the_table_keeps_odd_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words.tsv");
        let mut counter = Counter::default();
        counter.add(["#", "\"", "利润", "利润"], None);
        counter.build(&VocabularyParams::ALL).unwrap().save(&path).unwrap();
        let table = std::fs::read_to_string(&path).unwrap();
        assert_eq!(table, "word\tcount\tdocuments\n利润\t2\t1\n\"\"\"\"\t1\t1\n#\t1\t1\n");
    }
}
