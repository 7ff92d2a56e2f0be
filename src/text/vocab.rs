//! Vocabularies: words with their counts, counted in a stream, cut as scikit-learn cuts them, and kept as a file.
//!
//! A [`Counter`] takes documents one by one, on any number of threads (merge the counters in any order: the result is the
//! same). [`Counter::build`] chooses the words and gives them ids from 0, the most frequent first, equal counts in the
//! order of the words' bytes, so the same documents give the same ids whatever their order.
//!
//! The file is tab-separated: a first line `#vocabulary 1 documents=.. tokens=.. last_seen=..`, then `word count documents`
//! in the order of the ids.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::disk;

/// Which words a vocabulary keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VocabularyParams {
    /// Documents that a word is in, at the least. Default: 2.
    pub min_df: u64,
    /// Share of the documents that a word is in, at the most, 0 to 1. Default: 1.0.
    pub max_df: f64,
    /// Words kept, the most frequent first, after `min_df` and `max_df`; 0 = all. Default: 0.
    pub max_features: usize,
}

impl Default for VocabularyParams {
    fn default() -> VocabularyParams {
        VocabularyParams { min_df: 2, max_df: 1.0, max_features: 0 }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    documents: u64,
    /// Number of the last document counted, from 1, so that a document counts once.
    last: u64,
}

/// Counts of words over a stream of documents.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    words: FxHashMap<Box<str>, Tally>,
    documents: u64,
    tokens: u64,
    last_seen: Option<NaiveDateTime>,
}

impl Counter {
    /// Counts a document that became known at `time`.
    pub fn add<T: AsRef<str>>(&mut self, tokens: impl IntoIterator<Item = T>, time: NaiveDateTime) {
        self.documents += 1;
        self.last_seen = self.last_seen.max(Some(time));
        for token in tokens {
            let token = token.as_ref();
            self.tokens += 1;
            // Looked up before it is owned: nearly every token is an old one.
            let tally = match self.words.get_mut(token) {
                Some(tally) => tally,
                None => self.words.entry(token.into()).or_default(),
            };
            tally.count += 1;
            if tally.last != self.documents {
                tally.last = self.documents;
                tally.documents += 1;
            }
        }
    }

    /// Takes in the counts of other documents.
    pub fn merge(&mut self, other: Counter) {
        for (word, theirs) in other.words {
            let ours = self.words.entry(word).or_default();
            ours.count += theirs.count;
            ours.documents += theirs.documents;
        }
        self.documents += other.documents;
        self.tokens += other.tokens;
        self.last_seen = self.last_seen.max(other.last_seen);
    }

    /// Documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Chooses the words.
    pub fn build(&self, params: &VocabularyParams) -> Result<Vocabulary> {
        ensure!(
            (0.0..=1.0).contains(&params.max_df),
            "max_df is a share of the documents between 0 and 1, not {}",
            params.max_df
        );
        let last_seen = self.last_seen.context("a vocabulary needs at least one document")?;
        let most = params.max_df * self.documents as f64;
        let mut words: Vec<(&str, Tally)> = self.words.iter().map(|(word, &tally)| (word.as_ref(), tally)).collect();
        words.retain(|(_, tally)| tally.documents >= params.min_df && tally.documents as f64 <= most);
        words.sort_unstable_by(|a, b| b.1.count.cmp(&a.1.count).then(a.0.cmp(b.0)));
        if params.max_features > 0 {
            words.truncate(params.max_features);
        }
        ensure!(
            !words.is_empty(),
            "no word is left of {} in {} documents (min_df {}, max_df {}): lower min_df or raise max_df",
            self.words.len(),
            self.documents,
            params.min_df,
            params.max_df
        );
        let rows = words.iter().map(|&(word, tally)| (word.into(), tally.count, tally.documents));
        Vocabulary::of(rows.collect(), self.documents, self.tokens, last_seen)
    }
}

/// Words with ids from 0, their counts, and the last time of the documents they were counted in.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    words: Vec<Box<str>>,
    counts: Vec<u64>,
    document_counts: Vec<u64>,
    ids: FxHashMap<Box<str>, u32>,
    documents: u64,
    tokens: u64,
    last_seen: NaiveDateTime,
}

impl Vocabulary {
    fn of(
        rows: Vec<(Box<str>, u64, u64)>,
        documents: u64,
        tokens: u64,
        last_seen: NaiveDateTime,
    ) -> Result<Vocabulary> {
        let mut vocabulary = Vocabulary {
            words: Vec::with_capacity(rows.len()),
            counts: Vec::with_capacity(rows.len()),
            document_counts: Vec::with_capacity(rows.len()),
            ids: FxHashMap::default(),
            documents,
            tokens,
            last_seen,
        };
        for (id, (word, count, document_count)) in rows.into_iter().enumerate() {
            let id = u32::try_from(id).context("a vocabulary has at most 4,294,967,296 words")?;
            ensure!(vocabulary.ids.insert(word.clone(), id).is_none(), "the word {word:?} is there twice");
            vocabulary.words.push(word);
            vocabulary.counts.push(count);
            vocabulary.document_counts.push(document_count);
        }
        Ok(vocabulary)
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The id of a word.
    pub fn id(&self, word: &str) -> Option<u32> {
        self.ids.get(word).copied()
    }

    /// The word of an id.
    pub fn word(&self, id: u32) -> Option<&str> {
        self.words.get(id as usize).map(AsRef::as_ref)
    }

    /// The words in the order of their ids.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words.iter().map(AsRef::as_ref)
    }

    /// Occurrences of each word.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Documents that each word is in.
    pub fn document_counts(&self) -> &[u64] {
        &self.document_counts
    }

    /// Documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Tokens counted, those of words left out included.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The last time of the documents counted: nothing made with this vocabulary is known before it.
    pub fn last_seen(&self) -> NaiveDateTime {
        self.last_seen
    }

    /// Writes the file.
    pub fn save(&self, path: &Path) -> Result<()> {
        disk::write_atomic(path, |out| {
            let last_seen = self.last_seen.format(TIME);
            writeln!(out, "{HEAD} documents={} tokens={} last_seen={last_seen}", self.documents, self.tokens)?;
            let mut rows = csv::WriterBuilder::new().delimiter(b'\t').from_writer(out);
            for ((word, count), documents) in self.words.iter().zip(&self.counts).zip(&self.document_counts) {
                rows.serialize((word, count, documents))?;
            }
            Ok(rows.flush()?)
        })
    }

    /// Reads back [`Vocabulary::save`].
    pub fn load(path: &Path) -> Result<Vocabulary> {
        let file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        read(BufReader::new(file)).with_context(|| format!("{} is not a vocabulary of this version", path.display()))
    }
}

const HEAD: &str = "#vocabulary 1";
const TIME: &str = "%Y-%m-%dT%H:%M:%S%.f";

fn read(mut file: impl BufRead) -> Result<Vocabulary> {
    let mut head = String::new();
    file.read_line(&mut head)?;
    let fields: Vec<&str> = head.trim_end().strip_prefix(HEAD).context("the first line differs")?.split(' ').collect();
    let field = |name: &str| {
        let found = fields.iter().find_map(|f| f.strip_prefix(name)?.strip_prefix('='));
        found.with_context(|| format!("the first line has no {name}"))
    };
    let (documents, tokens) = (field("documents")?.parse()?, field("tokens")?.parse()?);
    let last_seen = NaiveDateTime::parse_from_str(field("last_seen")?, TIME)?;
    let rows = csv::ReaderBuilder::new().delimiter(b'\t').has_headers(false).from_reader(file);
    let rows = rows.into_deserialize().collect::<Result<Vec<(Box<str>, u64, u64)>, _>>()?;
    if rows.is_empty() {
        bail!("there are no words");
    }
    Vocabulary::of(rows, documents, tokens, last_seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(day: u32) -> NaiveDateTime {
        chrono::NaiveDate::from_ymd_opt(2024, 3, day).unwrap().and_hms_opt(15, 0, 1).unwrap()
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

    #[test]
    fn ids_follow_counts_then_words_and_the_last_time_is_kept() {
        let vocabulary = counted().build(&VocabularyParams { min_df: 1, ..Default::default() }).unwrap();
        // 利润 and 增长 both occur three times; 利 (U+5229) comes before 增 (U+589E).
        assert_eq!(vocabulary.words().collect::<Vec<_>>(), ["利润", "增长", "回购", "下滑"]);
        assert_eq!(vocabulary.counts(), [3, 3, 2, 1]);
        assert_eq!(vocabulary.document_counts(), [3, 2, 2, 1]);
        assert_eq!((vocabulary.documents(), vocabulary.tokens()), (4, 9));
        assert_eq!(vocabulary.last_seen(), time(9));
        assert_eq!((vocabulary.id("回购"), vocabulary.word(2), vocabulary.id("亏损")), (Some(2), Some("回购"), None));
    }

    #[test]
    fn limits_cut_as_in_scikit_learn() {
        let words = |min_df, max_df, max_features| -> Vec<String> {
            let vocabulary = counted().build(&VocabularyParams { min_df, max_df, max_features }).unwrap();
            vocabulary.words().map(str::to_owned).collect()
        };
        // CountVectorizer(min_df=2), (min_df=1, max_df=.5), (min_df=1, max_df=.75, max_features=2) keep these words.
        assert_eq!(words(2, 1.0, 0), ["利润", "增长", "回购"]);
        assert_eq!(words(1, 0.5, 0), ["增长", "回购", "下滑"]);
        assert_eq!(words(1, 0.75, 2), ["利润", "增长"]);
        let error = counted().build(&VocabularyParams { min_df: 4, ..Default::default() }).unwrap_err().to_string();
        assert!(error.contains("no word is left of 4 in 4 documents") && error.contains("lower min_df"), "{error}");
    }

    #[test]
    fn counters_merge_in_any_order_to_the_same_vocabulary() {
        let params = VocabularyParams { min_df: 1, ..Default::default() };
        let parts = |order: [usize; 4]| {
            let mut all = Counter::default();
            for i in order {
                let mut one = Counter::default();
                one.add(DOCS[i].0, time(DOCS[i].1));
                all.merge(one);
            }
            all
        };
        let whole = counted().build(&params).unwrap();
        assert_eq!(parts([0, 1, 2, 3]).build(&params).unwrap(), whole);
        assert_eq!(parts([3, 1, 0, 2]).build(&params).unwrap(), whole);
        // A document after a merge still counts each of its words once.
        let mut more = parts([0, 1, 2, 3]);
        more.add(["利润", "利润"], time(2));
        assert_eq!(more.build(&params).unwrap().document_counts()[0], 4);
    }

    #[test]
    fn a_vocabulary_survives_the_file_with_odd_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words.tsv");
        let mut counter = Counter::default();
        counter.add(["#", "\"", "a\tb", "c\nd", "利润"], time(1));
        let vocabulary = counter.build(&VocabularyParams { min_df: 1, ..Default::default() }).unwrap();
        vocabulary.save(&path).unwrap();
        assert_eq!(Vocabulary::load(&path).unwrap(), vocabulary);
        std::fs::write(&path, "利润 3 3\n").unwrap();
        let error = format!("{:#}", Vocabulary::load(&path).unwrap_err());
        assert!(error.contains("words.tsv is not a vocabulary"), "{error}");
    }
}
