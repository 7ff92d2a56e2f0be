//! Counting the n-grams of a corpus of any size, all lengths at once.
//!
//! Documents become ids (`<s> words </s>`, four bytes a word). Where a sequence of up to `order` words is taken at each position
//! and all are sorted, every n-gram of every length is a run of neighbours with the same beginning: one sort
//! counts all lengths and gives the trie its order. The sort is cut into shares by first word, which threads take one by one.
//!
//! When the ids outgrow the memory allowed, what is there is sorted, equal sequences are joined, and the rest is written as a
//! run to an unnamed file, which the system removes whatever happens; in the end the runs are merged, again by shares. The result is
//! the same, byte by byte, whatever the memory and the number of threads.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rayon::prelude::*;

use super::intern::{Coded, Coder, Interner, Tally};
use super::link::link;
use super::model::Counts;
use super::run::{self, SortedRun};
use super::share::{MAX_SHARE, Share, Sorter, shares};
use super::trie::{Level, Trie};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// The longest n-grams that are counted.
pub(crate) const MAX_ORDER: usize = 6;
/// Bytes that counting takes for a word of the text: its id, room for the ids to grow, and a share of the keys being sorted.
const BYTES_A_WORD: usize = 12;
/// Words that are sorted at once at the least, however little memory is allowed.
const LEAST_WORDS: usize = 1 << 10;
/// Shares that are worked on, for each thread, before they are joined to what is done.
const SHARES_A_THREAD: usize = 4;

/// The memory and the folder that counting may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// Memory for the ids of words and for sorting them, in megabytes (10^6 bytes); the vocabulary and the counts come on top.
    pub memory_mb: usize,
    /// Folder for sorted runs when that is not enough.
    pub folder: PathBuf,
}

impl Room {
    /// The usual amount of memory, and this folder.
    pub fn in_folder(folder: &Path) -> Room {
        Room { memory_mb: 1024, folder: folder.to_owned() }
    }
}

/// Takes documents and counts their n-grams.
pub struct Counter {
    order: usize,
    /// Words kept in memory before they become a run.
    most_words: usize,
    scratch: PathBuf,
    interner: Interner,
    ids: Vec<u32>,
    /// Count of each word in the runs.
    words_in_runs: Vec<u64>,
    runs: Vec<SortedRun>,
    tally: Tally,
}

impl Counter {
    /// Counts n-grams of 1 to `order` words, 6 at the most.
    pub fn new(order: usize, room: &Room) -> Result<Counter> {
        ensure!(
            (1..=MAX_ORDER).contains(&order),
            "无法统计 {order} 元组：支持 1 到 {MAX_ORDER}",
            "n-grams of {order} words cannot be counted: 1 to {MAX_ORDER} can"
        );
        let memory_mb = room.memory_mb;
        ensure!(
            memory_mb > 0,
            "--memory 0 没有计数的空间：至少 1 MB",
            "--memory 0 leaves no room to count in: allow at least 1 MB"
        );
        let most_words = (memory_mb.saturating_mul(1_000_000) / BYTES_A_WORD).clamp(LEAST_WORDS, u32::MAX as usize);
        Ok(Counter {
            order,
            most_words,
            scratch: room.folder.clone(),
            interner: Interner::default(),
            ids: Vec::new(),
            words_in_runs: Vec::new(),
            runs: Vec::new(),
            tally: Tally::default(),
        })
    }

    /// A new block of documents; blocks can be coded side by side.
    pub fn coder(&self) -> Coder<'_> {
        Coder::new(&self.interner)
    }

    /// Takes coded documents in; the order in which it is given blocks is the order of the text.
    pub fn take(&mut self, coded: &Coded, ctx: &Ctx) -> Result<()> {
        if !self.ids.is_empty() && self.ids.len() + coded.len() > self.most_words {
            self.spill(ctx)?;
        }
        self.tally.add(coded.tally);
        self.interner.take_in(coded, &mut self.ids);
        ensure!(
            self.interner.len() <= 1 << 30,
            "不同的词超过 {} 个：请把文本切成更小的单位",
            "more than {} different words: cut the text into smaller units",
            1u32 << 30
        );
        Ok(())
    }

    /// The state of reading.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Runs written to files so far; where there are any, the rest becomes one in the end.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    pub fn finish(mut self, ctx: &Ctx) -> Result<Counts> {
        let tally = self.tally;
        ensure!(tally.documents > 0, "没有可统计的文档：输入为空", "there is no document to count: the input is empty");
        ensure!(
            tally.tokens > 0,
            "{} 篇文档没有词（略去了 {} 个写得像标记的词）：请检查 --format 与分词设置",
            "there is no word in {} documents ({} words written like marks were left out): check --format and the tokenizer's settings",
            tally.documents,
            tally.marks
        );
        // `<s>` and `</s>` stand around the words.
        let longest = tally.longest as usize + 2;
        ensure!(
            self.order <= longest,
            "没有 {} 元组：{} 篇文档中最长的有 {} 个词，连同 <s> 与 </s> 为 {longest}；请选 --order {longest} 或更低",
            "there are no n-grams of {} words: the longest of {} documents has {} words, {longest} with <s> and </s>; choose --order {longest} or lower",
            self.order,
            tally.documents,
            tally.longest
        );
        let mut joined = Joined::new(self.order, self.interner.len());
        if self.runs.is_empty() {
            let sorter = Sorter::new(&self.ids, self.interner.len(), self.order, ctx)?;
            joined.words(sorter.seen());
            if self.order > 1 {
                sorter.each(self.most_keys(), ctx, |sorted| sorted.share(), |share| joined.append(share))?;
            }
        } else {
            self.spill(ctx)?;
            let seen = std::mem::take(&mut self.words_in_runs);
            joined.words(&seen);
            let runs = self.runs.iter().map(SortedRun::records).collect::<Result<Vec<_>>>()?;
            let plan = if self.order > 1 { shares(&seen, MAX_SHARE) } else { Vec::new() };
            for wave in plan.chunks(SHARES_A_THREAD * ctx.threads()) {
                let merge = |range: &Range<u32>| ctx.check().map(|()| run::merge(&runs, range.clone(), self.order));
                let made: Vec<Share> = ctx.install(|| wave.par_iter().map(merge).collect::<Result<_, _>>())?;
                made.into_iter().try_for_each(|share| joined.append(share))?;
            }
        }
        let (mut trie, counts) = joined.finish();
        // The largest pieces of memory go before the suffixes take theirs.
        drop((self.ids, self.runs));
        ctx.install(|| link(&mut trie, ctx))?;
        Ok(Counts {
            words: self.interner.into_words(),
            trie,
            counts,
            fitted_until: tally.last_time,
            documents: tally.documents,
        })
    }

    /// Keys sorted at once: they take half as much memory as the ids.
    fn most_keys(&self) -> usize {
        self.most_words / 8
    }

    /// Makes a run of what is in memory.
    fn spill(&mut self, ctx: &Ctx) -> Result<()> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let sorter = Sorter::new(&self.ids, self.interner.len(), self.order, ctx)?;
        self.words_in_runs.resize(self.interner.len(), 0);
        self.words_in_runs.iter_mut().zip(sorter.seen()).for_each(|(all, &here)| *all += here);
        let mut run = run::Writer::new(&self.scratch, self.order)?;
        if self.order > 1 {
            sorter.each(self.most_keys(), ctx, |sorted| sorted.records(), |records| run.write(&records))?;
        }
        self.runs.push(run.finish()?);
        self.ids.clear();
        Ok(())
    }
}

/// The shares joined so far.
struct Joined {
    levels: Vec<Level>,
    counts: Vec<Vec<u32>>,
}

impl Joined {
    fn new(order: usize, words: usize) -> Joined {
        let mut levels = vec![Level::default(); order];
        levels[0].word = (0..words as u32).collect();
        Joined { levels, counts: vec![Vec::new(); order] }
    }

    /// Count of each word.
    fn words(&mut self, seen: &[u64]) {
        self.counts[0] = seen.iter().map(|&n| n.min(u64::from(u32::MAX)) as u32).collect();
    }

    fn append(&mut self, share: Share) -> Result<()> {
        let base = self.levels[1].grams() as u32;
        self.levels[0].first_child.extend(share.first_child.iter().map(|&child| base + child));
        for (n, part) in (1..).zip(share.levels) {
            ensure!(
                self.levels[n].grams() + part.word.len() <= u32::MAX as usize,
                "{1} 元组超过 {0} 个：请选更低的 --order",
                "more than {} n-grams of {} words: choose a lower --order",
                u32::MAX,
                n + 1
            );
            self.levels[n].word.extend_from_slice(&part.word);
            self.counts[n].extend_from_slice(&part.count);
            if let Some(longer) = self.levels.get(n + 1) {
                let base = longer.grams() as u32;
                self.levels[n].first_child.extend(part.first_child.iter().map(|&child| base + child));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> (Trie, Vec<Vec<u32>>) {
        for n in 1..self.levels.len() {
            let end = self.levels[n].grams() as u32;
            self.levels[n - 1].first_child.push(end);
            self.levels[n].word.shrink_to_fit();
            self.counts[n].shrink_to_fit();
        }
        (Trie { levels: self.levels }, self.counts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn count(documents: &[&str], order: usize, block: usize, most_words: usize, threads: usize) -> Result<Counts> {
        let ctx = Ctx::new(threads, 1)?;
        let folder = tempfile::tempdir()?;
        let mut counter = Counter::new(order, &Room::in_folder(folder.path()))?;
        counter.most_words = most_words;
        for block in documents.chunks(block) {
            let mut coder = counter.coder();
            block.iter().for_each(|text| coder.document(text.split_whitespace(), None));
            let coded = coder.finish();
            counter.take(&coded, &ctx)?;
        }
        let counts = counter.finish(&ctx);
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0, "runs have no names");
        counts
    }

    /// Every n-gram with its count, by its words.
    fn listed(counts: &Counts) -> BTreeMap<String, u32> {
        let mut listed = BTreeMap::new();
        let mut grams: Vec<Vec<u32>> = (0..counts.words.len() as u32).map(|word| vec![word]).collect();
        for (n, level) in counts.trie.levels.iter().enumerate() {
            assert!(grams.is_sorted() && grams.len() == level.grams());
            for (gram, &count) in grams.iter().zip(&counts.counts[n]) {
                let words: Vec<&str> = gram.iter().map(|&id| counts.words.get(id)).collect();
                listed.insert(words.join(" "), count);
                assert_eq!(counts.count(gram), count);
            }
            if let Some(next) = counts.trie.levels.get(n + 1) {
                let children = |entry: u32| level.children(entry).map(|child| next.word[child]);
                let grown = (0..).zip(&grams).flat_map(|(entry, gram)| {
                    children(entry).map(|word| [&gram[..], &[word]].concat()).collect::<Vec<_>>()
                });
                grams = grown.collect();
                for (gram, &suffix) in grams.iter().zip(&next.suffix) {
                    assert_eq!(counts.trie.find(&gram[1..]), Some(suffix));
                }
            }
        }
        listed
    }

    /// The same by a map.
    fn naive(documents: &[&str], order: usize) -> BTreeMap<String, u32> {
        let mut listed = BTreeMap::from([("<unk>".to_owned(), 0)]);
        for text in documents {
            let words: Vec<&str> = ["<s>"].into_iter().chain(text.split_whitespace()).chain(["</s>"]).collect();
            for length in 1..=order {
                words.windows(length).for_each(|gram| *listed.entry(gram.join(" ")).or_default() += 1);
            }
        }
        listed
    }

    #[test]
    fn all_lengths_are_counted_at_once() {
        let counts = listed(&count(&["增长 增长 放缓", "", "增长 放缓"], 3, 9, 1 << 20, 1).unwrap());
        let expected = [
            ("<unk>", 0),
            ("<s>", 3),
            ("</s>", 3),
            ("增长", 3),
            ("放缓", 2),
            ("<s> </s>", 1),
            ("<s> 增长", 2),
            ("增长 增长", 1),
            ("增长 放缓", 2),
            ("放缓 </s>", 2),
            ("<s> 增长 增长", 1),
            ("<s> 增长 放缓", 1),
            ("增长 增长 放缓", 1),
            ("增长 放缓 </s>", 2),
        ];
        assert_eq!(counts, expected.map(|(gram, count)| (gram.to_owned(), count)).into());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Blocks, memory (runs of a few words, or none), and threads change nothing.
        #[test]
        fn counts_are_those_of_a_map_however_they_were_made(
            documents in prop::collection::vec("([甲乙丙丁子丑寅卯辰巳] ){0,9}", 2..90),
            order in 1..=MAX_ORDER,
            block in 1usize..8,
            most_words in 1usize..200,
        ) {
            let mut documents: Vec<&str> = documents.iter().map(String::as_str).collect();
            documents.push("甲 乙 丙 丁");
            let in_memory = count(&documents, order, 1000, 1 << 20, 1).unwrap();
            prop_assert_eq!(listed(&in_memory), naive(&documents, order));
            for (threads, most_words) in [(1, most_words), (2, most_words), (8, most_words), (8, 1 << 20)] {
                prop_assert_eq!(&count(&documents, order, block, most_words, threads).unwrap(), &in_memory);
            }
        }
    }

    #[test]
    fn what_cannot_be_counted_is_told_with_the_way_out() {
        let message = |documents: &[&str], order| count(documents, order, 9, 1 << 20, 1).unwrap_err().to_string();
        assert!(message(&[], 3).contains("the input is empty"));
        let none = message(&["", "<s> </s>"], 3);
        assert!(
            none.contains("no word in 2 documents (2 words written like marks") && none.contains("--format"),
            "{none}"
        );
        let long = message(&["增长", "回购 股份"], 5);
        assert!(
            long.contains("the longest of 2 documents has 2 words, 4 with <s> and </s>; choose --order 4"),
            "{long}"
        );
        assert!(message(&["增长"], 7).contains("1 to 6"));
        let no_room = Room { memory_mb: 0, ..Room::in_folder(Path::new("")) };
        assert!(Counter::new(3, &no_room).err().unwrap().to_string().contains("--memory 0"));
    }

    #[test]
    fn one_document_is_enough_and_cancelling_stops_the_count() {
        let one = count(&["利润 增长"], 4, 1, 1 << 20, 2).unwrap();
        assert_eq!((one.trie.sizes(), one.documents), (vec![5, 3, 2, 1], 1));
        let ctx = Ctx::new(2, 1).unwrap();
        let mut counter = Counter::new(2, &Room::in_folder(Path::new(""))).unwrap();
        let mut coder = counter.coder();
        coder.document(["利润"], None);
        let coded = coder.finish();
        counter.take(&coded, &ctx).unwrap();
        ctx.cancel();
        assert!(counter.finish(&ctx).unwrap_err().is::<inkstone_base::job::Cancelled>());
    }
}
