//! Boilerplate learned from the corpus: sentences that recur across the documents of a publisher, or of many, in the order of time.
//!
//! Reports and announcements leave the hashes of their sentences in a scratch file, 8 bytes each; only first mentions count, so that a
//! story that is told again makes nothing boilerplate. Hashes that recur are found by sorting slices of that file, at most 32 MiB at
//! once; then the documents are gone through in the order of their times, and only those hashes are counted. A sentence is known from the
//! time of the document that made it pass ([`Params`]). Documents of one moment count together, and what follows later
//! changes nothing.
//!
//! A sentence that rules take for a legal note, a warning or furniture of the page needs only to recur. One that they take for text must
//! stand in a large share of the publisher's documents: analysts repeat themselves too, and then they repeat a view.
//!
//! Memory: 32 bytes a document, and some 100 bytes a sentence that recurs.

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Params, Section};
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;

/// A hash that tells as well whether the sentence is text or stands around it.
pub(super) fn told_apart(hash: u64, section: Section) -> u64 {
    let text =
        matches!(section, Section::Summary | Section::Body | Section::Forecast | Section::Title | Section::Rating);
    (hash & !1) | u64::from(text)
}

fn is_text(hash: u64) -> bool {
    hash & 1 == 1
}

/// Hashes that are sorted at once.
const SLICE: usize = 4 << 20;

/// A document whose sentences count.
struct CountedDocument {
    time: NaiveDateTime,
    part: u32,
    row: u32,
    publisher: u32,
    /// Number of its first hash in the scratch file.
    begin: u64,
}

/// The sentences of the corpus while they are gathered, part by part.
pub(super) struct Gathered {
    scratch: Scratch,
    hashes: u64,
    places: Vec<CountedDocument>,
    publishers: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Gathered {
    pub(super) fn new(scratch: Scratch) -> Gathered {
        Gathered { scratch, hashes: 0, places: Vec::new(), publishers: Vec::new(), numbers: FxHashMap::default() }
    }

    /// Adds a document, given the hashes of its sentences.
    pub(super) fn push(
        &mut self,
        publisher: &str,
        time: NaiveDateTime,
        (part, row): (u32, u32),
        mut hashes: Vec<u64>,
    ) -> Result<()> {
        let publisher = match self.numbers.get(publisher) {
            Some(&number) => number,
            None => {
                let number = self.publishers.len() as u32;
                self.publishers.push(publisher.to_owned());
                self.numbers.insert(publisher.to_owned(), number);
                number
            }
        };
        hashes.sort_unstable();
        hashes.dedup();
        self.places.push(CountedDocument { time, part, row, publisher, begin: self.hashes });
        self.hashes += hashes.len() as u64;
        self.scratch.write(bytemuck::cast_slice(&hashes))
    }

    pub(super) fn learn(self, params: &Params, ctx: &Ctx) -> Result<Learned> {
        let Gathered { scratch, hashes: total, places, publishers, numbers } = self;
        let map = scratch.map()?;
        let hashes: &[u64] = disk::numbers(map.as_ref());
        let least = params.min_documents.min(params.min_documents_across);
        let mut everybody: FxHashMap<u64, Everybody> = FxHashMap::default();
        for hash in recurring(hashes, least, ctx)? {
            everybody.insert(hash, Everybody::default());
        }
        let mut learned =
            Learned { own: FxHashMap::default(), everybody, documents: vec![0; publishers.len()], publishers, numbers };
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_by_key(|&i| (places[i as usize].time, i));
        let end_of = |i: usize| places.get(i + 1).map_or(total, |next| next.begin) as usize;
        let share = |hash| if is_text(hash) { params.min_share } else { 0.0 };
        let mut read = 0u32;
        let mut touched: Vec<(u64, u32)> = Vec::new();
        for moment in order.chunk_by(|&a, &b| places[a as usize].time == places[b as usize].time) {
            ctx.check()?;
            let time = places[moment[0] as usize].time;
            touched.clear();
            for &i in moment {
                let place = &places[i as usize];
                let of_publisher = learned.documents[place.publisher as usize];
                for hash in &hashes[place.begin as usize..end_of(i as usize)] {
                    let Some(all) = learned.everybody.get_mut(hash) else { continue };
                    let first = First { time, part: place.part, row: place.row };
                    let own = learned.own.entry((*hash, place.publisher));
                    let own = own.or_insert_with(|| {
                        all.publishers += 1;
                        RecurringSentence::new(first, of_publisher)
                    });
                    own.documents += 1;
                    all.entry.get_or_insert_with(|| RecurringSentence::new(first, read)).documents += 1;
                    touched.push((*hash, place.publisher));
                }
                learned.documents[place.publisher as usize] += 1;
                read += 1;
            }
            for &(hash, publisher) in &touched {
                if let Some(own) = learned.own.get_mut(&(hash, publisher)) {
                    own.weigh(params.min_documents, share(hash), learned.documents[publisher as usize], time);
                }
                if let Some(Everybody { entry: Some(entry), publishers }) = learned.everybody.get_mut(&hash)
                    && *publishers >= params.min_publishers
                {
                    entry.weigh(params.min_documents_across, share(hash), read, time);
                }
            }
        }
        learned.own.retain(|_, entry| entry.known.is_some());
        learned.everybody.retain(|_, all| all.entry.as_ref().is_some_and(|entry| entry.known.is_some()));
        Ok(learned)
    }
}

/// The hashes that stand at least `least` times in the list, found slice by slice of their values.
fn recurring(hashes: &[u64], least: u32, ctx: &Ctx) -> Result<Vec<u64>> {
    let slices = (hashes.len() / SLICE + 1).next_power_of_two();
    let shift = 64 - slices.trailing_zeros();
    let mut found = Vec::new();
    for slice in 0..slices as u64 {
        ctx.check()?;
        let of_slice = |hash: &u64| slices == 1 || hash >> shift == slice;
        let mut some: Vec<u64> = ctx.install(|| hashes.par_iter().copied().filter(of_slice).collect());
        ctx.install(|| some.par_sort_unstable());
        found.extend(some.chunk_by(|a, b| a == b).filter(|run| run.len() >= least as usize).map(|run| run[0]));
    }
    Ok(found)
}

/// First occurrence of a sentence among the documents that count.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    pub(super) time: NaiveDateTime,
    pub(super) part: u32,
    pub(super) row: u32,
}

/// A sentence that recurs.
#[derive(Clone, Debug)]
pub(super) struct RecurringSentence {
    pub(super) first: First,
    /// Documents that it stands in.
    pub(super) documents: u32,
    /// Documents before the first of them.
    before: u32,
    /// Since when it is known as boilerplate; always there once all is learned.
    known: Option<NaiveDateTime>,
    /// True if the user refused it.
    pub(super) refused: bool,
}

impl RecurringSentence {
    fn new(first: First, before: u32) -> RecurringSentence {
        RecurringSentence { first, documents: 0, before, known: None, refused: false }
    }

    /// Becomes known at `time` if it stands in enough of the `read` documents: in `least` of them, and in this share by two standard
    /// errors of the count, so that a run of luck among the first few makes nothing known.
    fn weigh(&mut self, least: u32, share: f64, read: u32, time: NaiveDateTime) {
        let documents = f64::from(self.documents);
        let surely = documents - 2.0 * documents.sqrt();
        let shared = share == 0.0 || surely >= share * f64::from(read - self.before);
        if self.known.is_none() && self.documents >= least && shared {
            self.known = Some(time);
        }
    }

    /// Since when it is known as boilerplate.
    pub(super) fn known_from(&self) -> NaiveDateTime {
        self.known.unwrap_or(self.first.time)
    }
}

/// A sentence at all its publishers.
#[derive(Default)]
pub(super) struct Everybody {
    pub(super) entry: Option<RecurringSentence>,
    publishers: u32,
}

/// The sentences that are boilerplate, by the hash of their form.
pub(super) struct Learned {
    /// By publisher.
    pub(super) own: FxHashMap<(u64, u32), RecurringSentence>,
    pub(super) everybody: FxHashMap<u64, Everybody>,
    /// Documents that count, by publisher.
    pub(super) documents: Vec<u32>,
    pub(super) publishers: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Learned {
    /// The number of a publisher, if any document of it counts.
    pub(super) fn publisher(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// True if a sentence of a document of this publisher and time was known as boilerplate before. What the user refused of
    /// a publisher is not marked in its documents even if it is boilerplate of all publishers.
    pub(super) fn marks(&self, hash: u64, publisher: Option<u32>, time: NaiveDateTime) -> bool {
        let own = publisher.and_then(|publisher| self.own.get(&(hash, publisher)));
        if own.is_some_and(|entry| entry.refused) {
            return false;
        }
        let all = self.everybody.get(&hash).and_then(|all| all.entry.as_ref());
        [own, all].into_iter().flatten().any(|entry| !entry.refused && entry.known_from() < time)
    }
}
