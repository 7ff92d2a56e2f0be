//! Counting: every n-gram that is frequent enough, how often it occurs, and how freely it is used.
//!
//! Freedom is the entropy of the characters on either side, `H = -sum p ln p` in nats. The end of a run is a different neighbour each
//! time, since what often stands between marks is used freely; but all digits are one.

use anyhow::Result;
use rayon::prelude::*;

use super::buckets::{PlaceBuckets, bucket_of};
use super::grams::{self, DIGIT, LONGEST, Place, before, character, is_letter, prefix};
use inkstone_base::ensure;
use inkstone_base::job::{Cancelled, Ctx};

/// A frequent n-gram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gram {
    /// Characters of the word, with zeros after them.
    pub(super) key: Place,
    pub(super) count: u64,
    /// Entropy of the characters before it; NaN for one that ends within a run of letters.
    pub(super) left: f32,
    /// Entropy of the characters after it.
    pub(super) right: f32,
}

impl Gram {
    /// Characters of the word.
    pub(super) fn len(&self) -> usize {
        LONGEST.min((Place::BITS - self.key.trailing_zeros()).div_ceil(16) as usize)
    }
}

/// Takes in text and counts its n-grams.
pub struct GramCounter {
    buckets: PlaceBuckets,
    max_len: usize,
    min_count: u64,
}

/// The places of some text, to be added to a counter.
#[derive(Default)]
pub struct Places {
    run: Vec<u16>,
    places: Vec<Place>,
}

impl Places {
    pub fn read(&mut self, text: &str) {
        grams::places(text, &mut self.run, &mut self.places);
    }
}

impl GramCounter {
    /// Counts n-grams of 2 to `max_len` characters that occur at least `min_count` times, with about `memory` bytes for
    /// places; the rest goes to the disk.
    pub fn new(max_len: usize, min_count: u64, memory: usize) -> Result<GramCounter> {
        ensure!(
            (2..=LONGEST).contains(&max_len),
            "不能查找长达 {max_len} 字的词：--max-len 为 2 到 {LONGEST}",
            "words of up to {max_len} characters cannot be looked for: --max-len is 2 to {LONGEST}"
        );
        ensure!(
            min_count >= 2,
            "词须重复出现：--min-count 至少为 2",
            "a word is something that comes back: --min-count is 2 at the least"
        );
        Ok(GramCounter { buckets: PlaceBuckets::new(memory / size_of::<Place>()), max_len, min_count })
    }

    /// Adds text in any order: the counts are the same.
    pub fn add(&mut self, places: &Places) -> Result<()> {
        self.buckets.add(&places.places)
    }

    /// Counts. Each thread has one bucket in its hands at a time.
    pub fn finish(self, ctx: &Ctx) -> Result<Grams> {
        let filled = self.buckets.finish()?;
        let spilled = filled.spilled_bytes();
        let frequent = ctx.install(|| {
            let buckets = (0..filled.len()).into_par_iter().map_init(
                || Scan::new(self.max_len, self.min_count as usize),
                |scan, bucket| {
                    ctx.check()?;
                    let places = filled.sorted(bucket);
                    for group in places.chunk_by(|a, b| prefix(*a, 2) == prefix(*b, 2)) {
                        if group.len() >= scan.min_count {
                            scan.visit(group, 2);
                        }
                    }
                    Ok(std::mem::take(&mut scan.found))
                },
            );
            buckets.collect::<Result<Vec<Vec<Gram>>, Cancelled>>()
        })?;
        Ok(Grams { buckets: frequent, characters: filled.characters, places: filled.places, spilled })
    }
}

/// The frequent n-grams of a corpus.
pub struct Grams {
    pub(super) buckets: Vec<Vec<Gram>>,
    characters: Vec<u64>,
    /// Places in all.
    pub(super) places: u64,
    /// Bytes that went to the disk.
    pub(super) spilled: usize,
}

impl Grams {
    /// The count of the first `len` characters of `key`; 0 for what is not frequent.
    pub(super) fn count(&self, key: Place, len: usize) -> u64 {
        if len == 1 {
            return self.characters[usize::from(character(key, 0))];
        }
        let bucket = &self.buckets[bucket_of(key)];
        bucket.binary_search_by_key(&key, |gram| gram.key).map_or(0, |i| bucket[i].count)
    }

    /// N-grams that are frequent.
    pub(super) fn len(&self) -> usize {
        self.buckets.iter().map(Vec::len).sum()
    }
}

struct Scan {
    max_len: usize,
    min_count: usize,
    /// Counts by neighbour, zero between calls, and which are not.
    neighbours: Vec<u32>,
    touched: Vec<u16>,
    found: Vec<Gram>,
}

impl Scan {
    fn new(max_len: usize, min_count: usize) -> Scan {
        Scan { max_len, min_count, neighbours: vec![0; 1 << 16], touched: Vec::new(), found: Vec::new() }
    }

    /// Notes the n-gram of `len` characters that all these places begin with, and the frequent ones that go on from it.
    fn visit(&mut self, places: &[Place], len: usize) {
        let slot = self.found.len();
        let key = prefix(places[0], len);
        self.found.push(Gram { key, count: places.len() as u64, left: f32::NAN, right: f32::NAN });
        let last = character(key, len - 1);
        let mut ends_in_letters = false;
        let mut after = Spread::default();
        for group in places.chunk_by(|a, b| prefix(*a, len + 1) == prefix(*b, len + 1)) {
            let next = character(group[0], len);
            if next == 0 {
                continue;
            }
            after.add(group.len());
            ends_in_letters |= is_letter(last) && is_letter(next);
            if next > DIGIT && len < self.max_len && group.len() >= self.min_count {
                self.visit(group, len + 1);
            }
        }
        if ends_in_letters {
            return;
        }
        for &place in places {
            let before = before(place);
            if before != 0 {
                let count = &mut self.neighbours[usize::from(before)];
                if *count == 0 {
                    self.touched.push(before);
                }
                *count += 1;
            }
        }
        let mut left = Spread::default();
        for neighbour in self.touched.drain(..) {
            left.add(std::mem::take(&mut self.neighbours[usize::from(neighbour)]) as usize);
        }
        self.found[slot].left = left.entropy(places.len());
        self.found[slot].right = after.entropy(places.len());
    }
}

/// Gathers `sum n ln n` over neighbours; what occurs once adds nothing, and so do the ends of runs.
#[derive(Default)]
struct Spread(f64);

impl Spread {
    fn add(&mut self, count: usize) {
        if count > 1 {
            self.0 += count as f64 * (count as f64).ln();
        }
    }

    /// `-sum p ln p = ln N - sum n ln n / N`.
    fn entropy(&self, all: usize) -> f32 {
        ((all as f64).ln() - self.0 / all as f64).max(0.0) as f32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn grams(lines: &[&str], max_len: usize, min_count: u64, memory: usize, threads: usize) -> Grams {
        let mut counter = GramCounter::new(max_len, min_count, memory).unwrap();
        for line in lines {
            let mut places = Places::default();
            places.read(line);
            counter.add(&places).unwrap();
        }
        counter.finish(&Ctx::new(threads, 1).unwrap()).unwrap()
    }

    /// Word, count, left and right entropy, counted the plain way.
    fn plainly(lines: &[&str], max_len: usize, min_count: u64) -> BTreeMap<String, (u64, f64, f64)> {
        type Sides = (u64, BTreeMap<String, u64>, BTreeMap<String, u64>);
        let mut found: BTreeMap<String, Sides> = BTreeMap::new();
        let mut ends = 0;
        for line in lines {
            for run in line.split(|c: char| !('\u{4E00}'..='\u{9FFF}').contains(&c)) {
                let run: Vec<char> = run.chars().collect();
                for from in 0..run.len() {
                    for to in from + 2..=run.len().min(from + max_len) {
                        let entry = found.entry(run[from..to].iter().collect()).or_default();
                        let mut side = |c: Option<&char>| {
                            ends += 1;
                            c.map_or_else(|| format!("end {ends}"), char::to_string)
                        };
                        let before = from.checked_sub(1).and_then(|i| run.get(i));
                        *entry.1.entry(side(before)).or_default() += 1;
                        *entry.2.entry(side(run.get(to))).or_default() += 1;
                        entry.0 += 1;
                    }
                }
            }
        }
        let entropy = |counts: &BTreeMap<String, u64>| {
            let all = counts.values().sum::<u64>() as f64;
            counts.values().map(|&n| -(n as f64 / all) * (n as f64 / all).ln()).sum::<f64>()
        };
        let frequent = found.into_iter().filter(|(_, (count, ..))| *count >= min_count);
        frequent.map(|(word, (count, left, right))| (word, (count, entropy(&left), entropy(&right)))).collect()
    }

    fn assert_same(found: &Grams, expected: &BTreeMap<String, (u64, f64, f64)>) {
        assert_eq!(found.len(), expected.len());
        for gram in found.buckets.iter().flatten() {
            let word = grams::text(gram.key, gram.len());
            let (count, left, right) = expected[&word];
            assert_eq!(gram.count, count, "{word}");
            assert_eq!(found.count(gram.key, gram.len()), count);
            assert!((f64::from(gram.left) - left).abs() < 1e-6, "{word}: {} {left}", gram.left);
            assert!((f64::from(gram.right) - right).abs() < 1e-6, "{word}: {} {right}", gram.right);
        }
    }

    #[test]
    fn entropies_are_as_by_hand() {
        let found = grams(&["买云启股", "卖云启股", "买云启价", "云启"], 2, 2, 1 << 20, 1);
        let gram = found.buckets.iter().flatten().find(|gram| grams::text(gram.key, 2) == "云启").unwrap();
        // Before: 买 买 卖 and one end of its own; after: 股 股 价 and one end.
        let entropy = 0.5 * 2f64.ln() + 0.5 * 4f64.ln();
        assert_eq!(gram.count, 4);
        assert!((f64::from(gram.left) - entropy).abs() < 1e-6 && (f64::from(gram.right) - entropy).abs() < 1e-6);
        assert_eq!((found.places, found.count(gram.key, 1)), (14, 4));
    }

    #[test]
    fn digits_are_one_neighbour() {
        let found = grams(&["3个月内", "12个月内，", "6个月内"], 3, 2, 1 << 20, 1);
        let gram = found.buckets.iter().flatten().find(|gram| grams::text(gram.key, gram.len()) == "个月内").unwrap();
        assert_eq!((gram.count, gram.left), (3, 0.0));
        assert!((f64::from(gram.right) - 3f64.ln()).abs() < 1e-6);
        let found = grams(&["上证50，", "上证180"], 3, 2, 1 << 20, 1);
        assert_eq!((found.len(), found.buckets.iter().flatten().next().unwrap().right), (1, 0.0));
    }

    #[test]
    fn what_ends_within_letters_is_no_word() {
        let found = grams(&["买宽基ETF了", "卖宽基ETF了"], 5, 2, 1 << 20, 1);
        let free = |word: &str| {
            let gram = found.buckets.iter().flatten().find(|gram| grams::text(gram.key, gram.len()) == word);
            gram.map(|gram| !gram.left.is_nan())
        };
        assert_eq!((free("宽基E"), free("宽基ET"), free("宽基ETF")), (Some(false), Some(false), Some(true)));
        assert_eq!((free("TF"), free("F了")), (None, None));
    }

    #[test]
    fn limits_without_meaning_are_refused() {
        let error = |len, count| GramCounter::new(len, count, 1).err().unwrap().to_string();
        assert!(error(7, 5).contains("--max-len is 2 to 6") && error(1, 5).contains("--max-len"));
        assert!(error(4, 1).contains("--min-count is 2"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn counts_equal_plain_ones_whatever_is_spilled(
            lines in prop::collection::vec("[云启智联，]{0,30}", 1..12), max_len in 2usize..=6, min_count in 2u64..5
        ) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let expected = plainly(&lines, max_len, min_count);
            for (memory, threads) in [(1 << 20, 1), (16 * 40, 2), (1, 8)] {
                let found = grams(&lines, max_len, min_count, memory, threads);
                // Places that another character follows, in runs between commas, are what is held.
                let held: usize =
                    lines.iter().flat_map(|line| line.split('，')).map(|run| run.chars().count().saturating_sub(1)).sum();
                let room = (memory / size_of::<Place>()).max(1);
                prop_assert_eq!(found.spilled > 0, held >= room);
                assert_same(&found, &expected);
            }
        }
    }
}
