//! Repeats: which document was the first to tell what another tells.
//!
//! Documents are taken in the order of `published_at`, then `doc_id`. A document joins the earliest first mention
//! within the window that it matches, exactly (equal clean text) or nearly (sketches alike, see [`super::minhash`]);
//! otherwise it is a first mention itself. Documents are compared with first mentions only, so a chain of small edits
//! does not tie the last text to the first, and the mark of a document depends on earlier ones alone.
//!
//! Memory: about 300 bytes a document, and 500 more for each first mention inside the window.

use std::collections::VecDeque;

use anyhow::Result;
use rustc_hash::FxHashMap;

use crate::data::{Key, Report};
use crate::job::Ctx;

use super::Params;
use super::minhash::{BANDS, Sketch};

/// First mentions of one band that a document is compared with, newest first. More than that share a template, not a
/// text; the limit keeps a year of form letters from taking quadratic time.
const COMPARED_PER_BAND: usize = 256;
const NONE: u32 = u32::MAX;

/// What is kept of a document between the passes.
pub(super) struct Trace {
    /// Seconds of `published_at`.
    pub(super) at: i64,
    /// Key of the clean text.
    pub(super) text: Key,
    /// No text at all: repeats nothing.
    pub(super) empty: bool,
    /// `None` for a text shorter than a shingle.
    pub(super) sketch: Option<Sketch>,
}

/// All documents' traces, in the order of the parts.
#[derive(Default)]
pub(super) struct Corpus {
    traces: Vec<Trace>,
    /// All ids in one text, and where each ends: a third of what as many strings would take.
    ids: String,
    id_ends: Vec<usize>,
}

impl Corpus {
    pub(super) fn push(&mut self, doc_id: &str, trace: Trace) {
        self.ids.push_str(doc_id);
        self.id_ends.push(self.ids.len());
        self.traces.push(trace);
    }

    pub(super) fn doc_id(&self, i: u32) -> &str {
        let i = i as usize;
        let start = if i == 0 { 0 } else { self.id_ends[i - 1] };
        &self.ids[start..self.id_ends[i]]
    }

    fn trace(&self, i: u32) -> &Trace {
        &self.traces[i as usize]
    }
}

/// The verdict on a document: its first mention (a row of the corpus) and its similarity to that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) first: u32,
    pub(super) similarity: f32,
}

/// Marks every document of the corpus, in the order of its rows.
pub(super) fn mark(corpus: &Corpus, params: &Params, ctx: &Ctx) -> Result<Vec<Mark>> {
    let mut order: Vec<u32> = (0..corpus.traces.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let time = corpus.trace(a).at.cmp(&corpus.trace(b).at);
        time.then_with(|| corpus.doc_id(a).cmp(corpus.doc_id(b)))
    });
    let window = (params.window_days > 0).then(|| i64::from(params.window_days) * 86_400);
    let mut marks = vec![Mark { first: 0, similarity: 0.0 }; order.len()];
    let mut known = FirstMentions::default();
    for doc in order {
        ctx.check()?;
        let trace = corpus.trace(doc);
        if let Some(window) = window {
            known.forget(|first| corpus.trace(first).at + window < trace.at);
        }
        let mark = match known.find(corpus, trace, params) {
            Some(mark) => mark,
            None => {
                if !trace.empty {
                    known.add(doc, trace);
                }
                Mark { first: doc, similarity: 0.0 }
            }
        };
        marks[doc as usize] = mark;
    }
    Ok(marks)
}

/// Notes what was found in the stage's report.
pub(super) fn tell(corpus: &Corpus, marks: &[Mark], report: &mut Report) {
    let mut sizes: FxHashMap<u32, u64> = FxHashMap::default();
    let (mut exact, mut near) = (0u64, 0u64);
    for (doc, mark) in marks.iter().enumerate() {
        *sizes.entry(mark.first).or_default() += 1;
        if mark.first as usize != doc {
            let same = corpus.trace(mark.first).text == corpus.trace(doc as u32).text;
            *(if same { &mut exact } else { &mut near }) += 1;
        }
    }
    report.fact("first_mentions", sizes.len());
    report.fact("exact_duplicates", exact);
    report.fact("near_duplicates", near);
    report.fact("clusters", sizes.values().filter(|&&n| n > 1).count());
    let largest = sizes.iter().max_by_key(|&(&first, &n)| (n, std::cmp::Reverse(first)));
    if let Some((&first, &n)) = largest.filter(|&(_, &n)| n > 1) {
        report.fact("largest_cluster", n);
        report.fact("largest_cluster_first", corpus.doc_id(first));
    }
    report.fact("empty_texts", corpus.traces.iter().filter(|t| t.empty).count());
}

/// The first mentions inside the window, by exact text and by band.
#[derive(Default)]
struct FirstMentions {
    /// In the order of time; the front is forgotten first. Number `n` is at `n - forgotten`.
    entries: VecDeque<Entry>,
    forgotten: u32,
    /// How many were forgotten when the maps were last rid of them.
    swept: u32,
    by_text: FxHashMap<Key, u32>,
    /// By band hash, the newest number with it; [`Entry::older`] goes on from there.
    by_band: [FxHashMap<u32, u32>; BANDS],
}

struct Entry {
    doc: u32,
    older: [u32; BANDS],
}

impl FirstMentions {
    fn add(&mut self, doc: u32, trace: &Trace) {
        let number = self.forgotten + self.entries.len() as u32;
        self.by_text.insert(trace.text, number);
        let mut older = [NONE; BANDS];
        if let Some(sketch) = &trace.sketch {
            for (band, older) in older.iter_mut().enumerate() {
                *older = self.by_band[band].insert(sketch.band(band), number).unwrap_or(NONE);
            }
        }
        self.entries.push_back(Entry { doc, older });
    }

    /// Forgets from the front while `gone` holds; the maps follow when most of what they hold is gone.
    fn forget(&mut self, gone: impl Fn(u32) -> bool) {
        while self.entries.front().is_some_and(|e| gone(e.doc)) {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        let stale = (self.forgotten - self.swept) as usize;
        if stale > 1024 && stale > self.entries.len() {
            let oldest = self.forgotten;
            self.by_text.retain(|_, number| *number >= oldest);
            self.by_band.iter_mut().for_each(|band| band.retain(|_, number| *number >= oldest));
            self.swept = self.forgotten;
        }
    }

    fn find(&self, corpus: &Corpus, trace: &Trace, params: &Params) -> Option<Mark> {
        let exact = self.by_text.get(&trace.text).filter(|&&number| number >= self.forgotten);
        if let Some(&number) = exact {
            return Some(Mark { first: self.entry(number).doc, similarity: 1.0 });
        }
        let sketch = trace.sketch.as_ref()?;
        let mut alike: Vec<u32> = Vec::new();
        for band in 0..BANDS {
            let mut next = self.by_band[band].get(&sketch.band(band)).copied();
            for _ in 0..COMPARED_PER_BAND {
                // Numbers fall along the chain, so the first forgotten one ends it.
                let Some(number) = next.filter(|&n| n != NONE && n >= self.forgotten) else { break };
                alike.push(number);
                next = Some(self.entry(number).older[band]);
            }
        }
        alike.sort_unstable();
        alike.dedup();
        alike.into_iter().find_map(|number| {
            let first = self.entry(number).doc;
            let other = corpus.trace(first).sketch.as_ref()?;
            let similarity = sketch.similarity(other);
            let numbers = sketch.numbers_in_common(other).unwrap_or(1.0);
            let same = f64::from(similarity) >= params.threshold && numbers >= params.numbers_agree;
            same.then_some(Mark { first, similarity })
        })
    }

    fn entry(&self, number: u32) -> &Entry {
        &self.entries[(number - self.forgotten) as usize]
    }
}
