//! Salience of a sentence, measured against its document and the documents published strictly before.
//!
//! Parts need not lie in the order of time. So the terms and shingles of all sentences go to a scratch file as they are read (4 bytes each:
//! about as much as the text itself for novelty, two thirds of it for TF-IDF), then the documents are gone through in the order
//! of their times, and the figures go to a second file from which each part takes its own. Documents of one moment do not see each other.
//!
//! Both memories of the past are tables of fixed size:
//!
//! - **Document frequencies**: 2^20 counters of hashed terms, 4 MiB. A term shares its counter with another of a vocabulary of 100,000
//!   with probability 0.09, which can only make it look more common.
//! - **Shingles**: the day on which each was read last, 2 bytes by hash in 2^16 to 2^26 places, twice the corpus's shingles where that
//!   fits (128 MiB at the most). A new shingle falls on one that was read within the days with a probability that is the share of
//!   such places; the report has it at the end of the corpus (`novelty_collisions`).

use std::hash::Hasher;
use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use memmap2::Mmap;
use rustc_hash::{FxHashMap, FxHasher};

use super::form::is_letter;
use super::params::{Measure, Params};
use super::table::Salience;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;
use inkstone_text::rank::{DAMPING, Until, rank_sentences};
use inkstone_text::{Segmenter, TokenizerParams};

/// Counters of terms, as a power of 2.
const TERM_BITS: u32 = 20;
/// Places of shingles, at least and at the most, as powers of 2.
const LEAST_BITS: u32 = 16;
const MOST_BITS: u32 = 26;
/// Characters of a shingle.
const SHINGLE: usize = 4;
/// Sentences that are ranked together: every pair of them may share a word.
const RANKED: usize = 512;

/// Cuts sentences into terms and shingles, and ranks them.
pub(super) struct Measurer {
    tfidf: bool,
    textrank: bool,
    novelty: bool,
    novelty_days: u16,
    segmenter: Option<Segmenter>,
}

impl Measurer {
    /// A measurer of the measures that the parameters ask for; `None` without any.
    pub(super) fn new(params: &Params, tokenizer: &TokenizerParams, base: &Path) -> Result<Option<Measurer>> {
        let [tfidf, textrank, novelty] =
            [Measure::Tfidf, Measure::Textrank, Measure::Novelty].map(|m| params.measures(m));
        let segmenter = if tfidf || textrank { Some(Segmenter::new(tokenizer, base)?) } else { None };
        let measurer = Measurer { tfidf, textrank, novelty, novelty_days: params.novelty_days, segmenter };
        Ok((tfidf || textrank || novelty).then_some(measurer))
    }

    /// The record of a document: for each sentence its rank as bits, the number of terms, the terms, the number of shingles, the
    /// shingles.
    pub(super) fn cut(&self, sentences: &[&str]) -> Vec<u32> {
        let mut terms: Vec<Vec<u32>> = vec![Vec::new(); sentences.len()];
        let mut ranks = vec![f32::NAN; sentences.len()];
        if let Some(segmenter) = &self.segmenter {
            for (chunk, block) in sentences.chunks(RANKED).enumerate() {
                let mut numbers = FxHashMap::default();
                let mut words: Vec<Vec<u32>> = vec![Vec::new(); block.len()];
                for (i, sentence) in block.iter().enumerate() {
                    segmenter.for_each_term(sentence, |term| {
                        if self.tfidf {
                            terms[chunk * RANKED + i].push(hash_of_term(&term));
                        }
                        if self.textrank {
                            let next = numbers.len() as u32;
                            words[i].push(*numbers.entry(term).or_insert(next));
                        }
                    });
                }
                if self.textrank {
                    let scores = rank_sentences(words, numbers.len(), DAMPING, Until::default());
                    let ranks = &mut ranks[chunk * RANKED..];
                    ranks.iter_mut().zip(scores).for_each(|(rank, score)| *rank = score as f32);
                }
            }
        }
        let mut record = Vec::new();
        for ((sentence, terms), rank) in sentences.iter().zip(terms).zip(ranks) {
            record.push(rank.to_bits());
            record.push(terms.len() as u32);
            record.extend(terms);
            let count = record.len();
            record.push(0);
            if self.novelty {
                shingles(sentence, |shingle| record.push(shingle));
            }
            record[count] = (record.len() - count - 1) as u32;
        }
        record
    }
}

fn hash_of_term(term: &str) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(term.as_bytes());
    mixed(hasher.finish())
}

/// Gives the hash of each run of [`SHINGLE`] letters, digits or Chinese characters, marks left out; a shorter sentence is one.
fn shingles(sentence: &str, mut give: impl FnMut(u32)) {
    let mut last = [0u64; SHINGLE];
    let mut count = 0;
    let hash = |last: &[u64; SHINGLE], count: usize| {
        mixed((0..SHINGLE).fold(0, |hash: u64, i| {
            (hash ^ last[(count + i) % SHINGLE]).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
        }))
    };
    for c in sentence.chars().filter(|&c| is_letter(c)) {
        last[count % SHINGLE] = u64::from(u32::from(c));
        count += 1;
        if count >= SHINGLE {
            give(hash(&last, count));
        }
    }
    if (1..SHINGLE).contains(&count) {
        give(hash(&last, count));
    }
}

/// The finaliser of SplitMix64, its upper half.
fn mixed(mut hash: u64) -> u32 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((hash ^ (hash >> 31)) >> 32) as u32
}

/// The records of the corpus while they are gathered, in the order of the parts.
pub(super) struct SentenceRecords {
    measurer: Measurer,
    scratch: Scratch,
    /// Time of each document, and the offset of its record.
    places: Vec<(NaiveDateTime, u64)>,
    written: u64,
    shingles: u64,
}

impl SentenceRecords {
    pub(super) fn new(measurer: Measurer, scratch: Scratch) -> SentenceRecords {
        SentenceRecords { measurer, scratch, places: Vec::new(), written: 0, shingles: 0 }
    }

    pub(super) fn measurer(&self) -> &Measurer {
        &self.measurer
    }

    /// Adds a document, given its record.
    pub(super) fn push(&mut self, time: NaiveDateTime, record: &[u32]) -> Result<()> {
        self.places.push((time, self.written));
        self.written += record.len() as u64;
        self.shingles += RecordedSentences(record).map(|sentence| sentence.shingles.len() as u64).sum::<u64>();
        self.scratch.write(bytemuck::cast_slice(record))
    }

    /// Measures all documents in the order of their times. `results` takes 12 bytes a sentence.
    pub(super) fn measure(self, mut results: Scratch, ctx: &Ctx) -> Result<MeasuredSentences> {
        let SentenceRecords { measurer, scratch, places, written, shingles, .. } = self;
        let map = scratch.map()?;
        let records: &[u32] = disk::numbers(map.as_ref());
        let record = |i: usize| {
            let end = places.get(i + 1).map_or(written, |next| next.1);
            &records[places[i].1 as usize..end as usize]
        };
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_by_key(|&i| (places[i as usize].0, i));
        let mut begins = vec![0u64; places.len()];
        let mut given = 0u64;
        let mut past = Past::new(&measurer, shingles, order.first().map(|&i| places[i as usize].0));
        for moment in order.chunk_by(|&a, &b| places[a as usize].0 == places[b as usize].0) {
            let day = past.day(places[moment[0] as usize].0);
            for &i in moment {
                ctx.check()?;
                begins[i as usize] = given;
                for sentence in RecordedSentences(record(i as usize)) {
                    let found = past.measure(&sentence, day, &measurer);
                    results.write(bytemuck::cast_slice(&[found.tfidf, found.textrank, found.novelty]))?;
                    given += 1;
                }
            }
            for &i in moment {
                past.add(record(i as usize), day);
            }
        }
        let collisions = measurer.novelty.then(|| past.occupied(measurer.novelty_days));
        Ok(MeasuredSentences { results: results.map()?, begins, collisions })
    }
}

/// The figures of all sentences.
pub(super) struct MeasuredSentences {
    results: Option<Mmap>,
    begins: Vec<u64>,
    /// Probability at the end of the corpus that a new shingle is taken for a known one.
    pub(super) collisions: Option<f64>,
}

impl MeasuredSentences {
    /// The figures of a document, which is known by its number in the order of the parts.
    pub(super) fn salience(&self, document: usize, sentence: usize) -> Salience {
        let all: &[[f32; 3]] = disk::numbers(self.results.as_ref());
        let [tfidf, textrank, novelty] = all[self.begins[document] as usize + sentence];
        Salience { tfidf, textrank, novelty }
    }
}

/// A sentence of a record.
struct Recorded<'r> {
    rank: f32,
    terms: &'r [u32],
    shingles: &'r [u32],
}

/// The sentences of a record.
struct RecordedSentences<'r>(&'r [u32]);

impl<'r> Iterator for RecordedSentences<'r> {
    type Item = Recorded<'r>;

    fn next(&mut self) -> Option<Recorded<'r>> {
        let (&[rank, terms], rest) = self.0.split_first_chunk()?;
        let (terms, rest) = rest.split_at(terms as usize);
        let (&shingles, rest) = rest.split_first()?;
        let (shingles, rest) = rest.split_at(shingles as usize);
        self.0 = rest;
        Some(Recorded { rank: f32::from_bits(rank), terms, shingles })
    }
}

/// The documents read so far.
struct Past {
    documents: u32,
    frequencies: Vec<u32>,
    /// The day on which a shingle was read last, from 1; 0: never.
    days: Vec<u16>,
    first_day: i64,
    last_day: u16,
    seen: Vec<u32>,
}

impl Past {
    fn new(measurer: &Measurer, shingles: u64, first: Option<NaiveDateTime>) -> Past {
        let bits = (2 * shingles).next_power_of_two().trailing_zeros().clamp(LEAST_BITS, MOST_BITS);
        Past {
            documents: 0,
            frequencies: vec![0; if measurer.tfidf { 1 << TERM_BITS } else { 0 }],
            days: vec![0; if measurer.novelty { 1 << bits } else { 0 }],
            first_day: first.map_or(0, number_of_day),
            last_day: 0,
            seen: Vec::new(),
        }
    }

    fn day(&self, time: NaiveDateTime) -> u16 {
        // 179 years; what is later is of the last day.
        u16::try_from(number_of_day(time) - self.first_day + 1).unwrap_or(u16::MAX)
    }

    fn measure(&self, sentence: &Recorded<'_>, day: u16, measurer: &Measurer) -> Salience {
        let n = f64::from(1 + self.documents);
        let idf = |&term: &u32| (n / f64::from(1 + self.frequencies[counter(term)])).ln() + 1.0;
        let known = |shingle: u32| {
            let read = self.days[place(shingle, self.days.len())];
            read > 0 && day - read <= measurer.novelty_days
        };
        let tfidf = sentence.terms.iter().map(idf).sum::<f64>() / sentence.terms.len().max(1) as f64;
        let new = sentence.shingles.iter().filter(|&&shingle| !known(shingle)).count();
        let novelty = new as f64 / sentence.shingles.len().max(1) as f64;
        Salience {
            tfidf: if measurer.tfidf { tfidf as f32 } else { f32::NAN },
            textrank: sentence.rank,
            novelty: if measurer.novelty { novelty as f32 } else { f32::NAN },
        }
    }

    fn add(&mut self, record: &[u32], day: u16) {
        self.documents += 1;
        self.last_day = day;
        self.seen.clear();
        for sentence in RecordedSentences(record) {
            self.seen.extend(sentence.terms.iter().map(|&term| counter(term) as u32));
            for &shingle in sentence.shingles {
                let place = place(shingle, self.days.len());
                self.days[place] = day;
            }
        }
        self.seen.sort_unstable();
        self.seen.dedup();
        for &counter in &self.seen {
            self.frequencies[counter as usize] += 1;
        }
    }

    /// Share of the places that were read within these days of the last.
    fn occupied(&self, days: u16) -> f64 {
        let known = self.days.iter().filter(|&&read| read > 0 && self.last_day - read <= days).count();
        known as f64 / self.days.len().max(1) as f64
    }
}

fn counter(term: u32) -> usize {
    (term >> (32 - TERM_BITS)) as usize
}

/// The place of a shingle in a table whose length is a power of 2.
fn place(shingle: u32, places: usize) -> usize {
    shingle as usize & (places - 1)
}

fn number_of_day(time: NaiveDateTime) -> i64 {
    time.and_utc().timestamp().div_euclid(86_400)
}
