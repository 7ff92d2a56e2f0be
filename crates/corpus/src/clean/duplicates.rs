//! Repeats: the first document of each story, by exact or near duplicates.
//!
//! Documents are taken in the order of `published_at`, then `doc_id`. A document joins the earliest first mention
//! within the window that it matches, exactly (the same letters, see [`super::minhash`]) or nearly (sketches alike);
//! otherwise it is a first mention itself. Documents are compared with first mentions only, so a chain of small edits
//! does not tie the last text to the first, and the mark of a document depends on earlier ones alone.
//!
//! Memory: about 330 bytes a document, and 500 more for each first mention inside the window.

use std::collections::VecDeque;

use anyhow::Result;
use rustc_hash::FxHashMap;

use inkstone_base::data::{Document, Key, Report};
use inkstone_base::job::Ctx;

use super::Params;
use super::minhash::{self, BANDS, ComparedText, Dateline, Sketch, Sketcher};

/// First mentions of one band that a document is compared with, newest first. More than that share a template, not a
/// text; the limit keeps a year of form letters from taking quadratic time.
const COMPARED_PER_BAND: usize = 256;
/// Least share of its numbers that a near duplicate has in common with its first mention (of the one with fewer). Keeps flashes and daily
/// reports apart that differ by their figures alone.
const NUMBERS_AGREE: f64 = 0.75;
/// The longest time between a text with a dateline and its copy without one.
const DATELINE_SECONDS: i64 = 2 * 86_400;
const NONE: u32 = u32::MAX;

/// Fingerprint of a document, kept in memory between the passes.
pub(super) struct Trace {
    /// Seconds of `published_at`.
    pub(super) at: i64,
    /// Key of the clean text.
    pub(super) text: Key,
    /// Key of the characters by which texts are compared.
    pub(super) letters: Key,
    /// The date of the dateline; letters and sketch are those of the text without it.
    pub(super) dateline: Option<Dateline>,
    /// No text at all: repeats nothing.
    pub(super) empty: bool,
    /// `None` for a text that is compared exactly.
    pub(super) sketch: Option<Sketch>,
}

// The memory that the module promises rests on this.
const _: () = assert!(size_of::<Trace>() <= 280);

impl Trace {
    /// True if a text may repeat another. An agency's report in the words of another day is none: a figure of each day is news each day.
    fn may_repeat(&self, first: &Trace) -> bool {
        match (self.dateline, first.dateline) {
            (Some(own), Some(other)) => own.agrees(other),
            (None, None) => true,
            _ => (self.at - first.at).abs() <= DATELINE_SECONDS,
        }
    }

    /// The trace of a document whose mark is settled and that no later document can repeat.
    pub(super) fn settled(at: i64, text: Key) -> Trace {
        let empty = text == key_of_text(&Document::default());
        Trace { at, text, letters: text, dateline: None, empty, sketch: None }
    }

    /// The trace of a clean document.
    pub(super) fn new(doc: &Document, sketcher: &Sketcher) -> Trace {
        let text = key_of_text(doc);
        let compared = ComparedText::new(&doc.title, &doc.body);
        let letters = minhash::letters(&compared);
        Trace {
            at: doc.published_at.and_utc().timestamp(),
            text,
            // Texts of punctuation alone (？？？) are told apart by it.
            letters: if letters.is_empty() { text } else { minhash::key_of_letters(&letters) },
            dateline: compared.dateline,
            empty: doc.title.is_empty() && doc.body.is_empty(),
            sketch: sketcher.sketch(&compared, &letters),
        }
    }
}

/// The key of a clean document's title and body.
pub(super) fn key_of_text(doc: &Document) -> Key {
    Key::of_parts([doc.title.as_bytes(), doc.body.as_bytes()])
}

/// All documents' traces, in the order of the parts.
#[derive(Default)]
pub(super) struct Traces {
    traces: Vec<Trace>,
    /// All ids in one text, and the end of each: a third of the memory of as many strings.
    ids: String,
    id_ends: Vec<usize>,
}

impl Traces {
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

    pub(super) fn len(&self) -> usize {
        self.traces.len()
    }

    /// The rows of all documents, by id.
    pub(super) fn rows(&self) -> FxHashMap<&str, u32> {
        (0..self.traces.len() as u32).map(|i| (self.doc_id(i), i)).collect()
    }

    pub(super) fn at(&self, i: u32) -> i64 {
        self.trace(i).at
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

/// Marks of an earlier run that stand: those of documents of before `from`, which nothing that changed precedes.
#[derive(Default)]
pub(super) struct SettledMarks {
    pub(super) from: i64,
    /// By row; none for a document that is to be marked.
    pub(super) marks: FxHashMap<u32, Mark>,
}

/// Seconds after which a first mention is forgotten; none if it never is.
pub(super) fn window(params: &Params) -> Option<i64> {
    (params.window_days > 0).then(|| i64::from(params.window_days) * 86_400)
}

/// Marks every document of the corpus, in the order of its rows.
pub(super) fn mark(corpus: &Traces, settled: &SettledMarks, params: &Params, ctx: &Ctx) -> Result<Vec<Mark>> {
    let mut order: Vec<u32> = (0..corpus.traces.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let time = corpus.trace(a).at.cmp(&corpus.trace(b).at);
        time.then_with(|| corpus.doc_id(a).cmp(corpus.doc_id(b)))
    });
    let window = window(params);
    let mut marks = vec![Mark { first: 0, similarity: 0.0 }; order.len()];
    let mut known = FirstMentions::default();
    for doc in order {
        ctx.check()?;
        let trace = corpus.trace(doc);
        if let Some(&mark) = settled.marks.get(&doc) {
            let can_be_repeated = window.is_none_or(|window| trace.at + window >= settled.from);
            if mark.first == doc && !trace.empty && can_be_repeated {
                known.add(doc, trace);
            }
            marks[doc as usize] = mark;
            continue;
        }
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

/// Writes the counts of repeats into the stage's report.
pub(super) fn tell(corpus: &Traces, marks: &[Mark], report: &mut Report) {
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

/// The first mentions inside the window, by letters and by band.
#[derive(Default)]
struct FirstMentions {
    /// In the order of time; the front is forgotten first. Number `n` is at `n - forgotten`.
    entries: VecDeque<FirstMention>,
    forgotten: u32,
    /// Number of forgotten documents when the maps were last rid of them.
    swept: u32,
    by_letters: FxHashMap<Key, u32>,
    /// By band hash, the newest number with it; [`FirstMention::older`] goes on from there.
    by_band: [FxHashMap<u32, u32>; BANDS],
}

struct FirstMention {
    doc: u32,
    older: [u32; BANDS],
}

impl FirstMentions {
    fn add(&mut self, doc: u32, trace: &Trace) {
        let number = self.forgotten + self.entries.len() as u32;
        self.by_letters.insert(trace.letters, number);
        let mut older = [NONE; BANDS];
        if let Some(sketch) = &trace.sketch {
            for (band, older) in older.iter_mut().enumerate() {
                *older = self.by_band[band].insert(sketch.band(band), number).unwrap_or(NONE);
            }
        }
        self.entries.push_back(FirstMention { doc, older });
    }

    /// Forgets from the front while `gone` holds; the maps follow when most of their entries are gone.
    fn forget(&mut self, gone: impl Fn(u32) -> bool) {
        while self.entries.front().is_some_and(|e| gone(e.doc)) {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        let stale = (self.forgotten - self.swept) as usize;
        if stale > 1024 && stale > self.entries.len() {
            let oldest = self.forgotten;
            self.by_letters.retain(|_, number| *number >= oldest);
            self.by_band.iter_mut().for_each(|band| band.retain(|_, number| *number >= oldest));
            self.swept = self.forgotten;
        }
    }

    fn find(&self, corpus: &Traces, trace: &Trace, params: &Params) -> Option<Mark> {
        let exact = self.by_letters.get(&trace.letters).filter(|&&number| number >= self.forgotten);
        let exact = exact.map(|&number| self.entry(number).doc).filter(|&first| trace.may_repeat(corpus.trace(first)));
        if let Some(first) = exact {
            return Some(Mark { first, similarity: 1.0 });
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
            let other = corpus.trace(first);
            if !trace.may_repeat(other) {
                return None;
            }
            let other = other.sketch.as_ref()?;
            let similarity = sketch.similarity(other);
            let numbers = sketch.numbers_in_common(other).unwrap_or(1.0);
            let same = f64::from(similarity) >= params.threshold && numbers >= NUMBERS_AGREE;
            same.then_some(Mark { first, similarity })
        })
    }

    fn entry(&self, number: u32) -> &FirstMention {
        &self.entries[(number - self.forgotten) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rustc_hash::FxHashSet;

    const HOUR: i64 = 3600;

    fn corpus(texts: &[(i64, String)]) -> Traces {
        let sketcher = Sketcher::new(5);
        let mut corpus = Traces::default();
        for (i, (at, text)) in texts.iter().enumerate() {
            let published_at = DateTime::from_timestamp(*at, 0).unwrap().naive_utc();
            let document = Document { body: text.clone(), published_at, ..Document::default() };
            corpus.push(&format!("d{i:05}"), Trace::new(&document, &sketcher));
        }
        corpus
    }

    fn marks(texts: &[(i64, String)], params: &Params) -> Vec<Mark> {
        mark(&corpus(texts), &SettledMarks::default(), params, &Ctx::new(1, 0).unwrap()).unwrap()
    }

    fn letters(rng: &mut ChaCha8Rng, n: usize) -> Vec<char> {
        (0..n).map(|_| char::from_u32(0x4E00 + rng.random_range(0..3000)).unwrap()).collect()
    }

    /// Stories of 60 to 400 characters, each told again up to three times with a few edits, shuffled in time.
    fn told_again(seed: u64, stories: usize) -> Vec<(i64, String)> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut texts = Vec::new();
        for story in 0..stories {
            let len = rng.random_range(60..400);
            let text = letters(&mut rng, len);
            texts.push((story as i64 * HOUR, text.iter().collect()));
            for again in 1..rng.random_range(1..5) {
                let mut edited = text.clone();
                for _ in 0..rng.random_range(0..8) {
                    let place = rng.random_range(0..edited.len());
                    edited[place] = '改';
                }
                let head = rng.random_range(0..12);
                let head: String = letters(&mut rng, head).into_iter().collect();
                texts.push((story as i64 * HOUR + again * HOUR / 2 + 1, head + &edited.iter().collect::<String>()));
            }
        }
        texts
    }

    #[test]
    fn a_copy_under_another_dateline_is_a_repeat_and_the_same_words_of_another_day_are_none() {
        let news = "公司公告，拟以自有资金回购股份，金额不低于1.5亿元，价格不超过12.8元，用于员工持股计划";
        let daily = "截至目前，南向资金净买入额达30亿港元。";
        let texts = [
            (0, format!("财联社6月17日电，{news}")),
            (HOUR, format!("【回购】新华社北京6月17日电 {news}")),
            (2 * HOUR, news.to_owned()),
            (3 * HOUR, format!("财联社6月17日电，{daily}")),
            (27 * HOUR, format!("财联社6月18日电，{daily}")),
            (28 * HOUR, format!("新华社6月18日电，{daily}")),
            (200 * HOUR, news.to_owned()),
        ];
        let firsts: Vec<u32> = marks(&texts, &Params::default()).iter().map(|mark| mark.first).collect();
        assert_eq!(firsts, [0, 0, 0, 3, 4, 4, 6]);
    }

    #[test]
    fn marks_agree_with_exact_jaccard_similarities() {
        let texts = told_again(7, 400);
        let params = Params::default();
        let found = marks(&texts, &params);
        let shingles_of = |text: &str| -> FxHashSet<[char; 5]> {
            let chars: Vec<char> = text.chars().collect();
            chars.windows(5).map(|w| [w[0], w[1], w[2], w[3], w[4]]).collect()
        };
        let shingles: Vec<_> = texts.iter().map(|(_, text)| shingles_of(text)).collect();
        let jaccard = |a: usize, b: usize| {
            let shared = shingles[a].intersection(&shingles[b]).count();
            shared as f64 / (shingles[a].len() + shingles[b].len() - shared) as f64
        };
        // A pair within two standard errors (0.04 each) of the threshold may fall on either side.
        let (mut clear, mut missed, mut marked, mut wrong) = (0, 0, 0, 0);
        for (i, mark) in found.iter().enumerate() {
            let first = mark.first as usize;
            if first != i {
                marked += 1;
                wrong += usize::from(jaccard(i, first) < params.threshold - 0.08);
                assert!((jaccard(i, first) - f64::from(mark.similarity)).abs() < 0.2);
            }
            // Stories do not overlap, so the nearest earlier first mention is the one that counts.
            let earlier = (0..texts.len()).filter(|&j| texts[j].0 < texts[i].0 && found[j].first as usize == j);
            let nearest = earlier.map(|j| jaccard(i, j)).fold(0.0, f64::max);
            if nearest >= params.threshold + 0.08 {
                clear += 1;
                missed += usize::from(first == i);
            }
        }
        assert!(clear > 200 && marked > 300, "{clear} clear pairs, {marked} marks: the sample is too easy");
        assert!(missed as f64 <= 0.01 * clear as f64, "{missed} of {clear} clear repeats missed");
        assert!(wrong as f64 <= 0.01 * marked as f64, "{wrong} of {marked} marks wrong");
    }

    #[test]
    fn later_documents_never_change_earlier_marks() {
        let texts = told_again(11, 150);
        let mut by_time = texts.clone();
        by_time.sort();
        let all = marks(&by_time, &Params::default());
        for known in [1, 50, 200] {
            assert_eq!(marks(&by_time[..known], &Params::default()), all[..known]);
        }
    }

    #[test]
    fn a_first_mention_is_forgotten_after_the_window_and_never_without_one() {
        let story: String = letters(&mut ChaCha8Rng::seed_from_u64(3), 80).into_iter().collect();
        let text = |hours: i64| (hours * HOUR, story.clone());
        let texts = [text(0), text(30 * 24), text(30 * 24 + 1), text(31 * 24)];
        let firsts = |params: &Params| marks(&texts, params).iter().map(|m| m.first).collect::<Vec<_>>();
        assert_eq!(firsts(&Params::default()), [0, 0, 2, 2]);
        assert_eq!(firsts(&Params { window_days: 0, ..Params::default() }), [0, 0, 0, 0]);
    }

    #[test]
    fn forgetting_many_leaves_the_later_ones_findable() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        // 4,000 stories over 400 days, each told again the day after.
        let mut texts: Vec<(i64, String)> = Vec::new();
        for i in 0..4000 {
            let text: String = letters(&mut rng, 30).into_iter().collect();
            texts.push((i * 864 * 10, text.clone()));
            texts.push((i * 864 * 10 + 86_400, text));
        }
        let found = marks(&texts, &Params { window_days: 2, ..Params::default() });
        assert!(found.chunks(2).enumerate().all(|(i, pair)| pair.iter().all(|m| m.first as usize == 2 * i)));
    }

    #[test]
    fn daily_reports_that_differ_by_their_figures_are_not_repeats() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let form: String = letters(&mut rng, 600).into_iter().collect();
        let names = ["融资余额", "融券余量", "净买入额", "成交总额", "占比"];
        let daily = |rng: &mut ChaCha8Rng, form: &str| {
            let figures = names.iter().map(|name| format!("{name}{}元，", rng.next_u32() % 1_000_000));
            figures.collect::<String>() + form
        };
        let texts: Vec<(i64, String)> = (0..5).map(|day| (day * 24 * HOUR, daily(&mut rng, &form))).collect();
        let repeats =
            |texts: &[(i64, String)]| marks(texts, &Params::default()).iter().filter(|m| m.first == 0).count();
        assert_eq!(repeats(&texts), 1);
        let spelt = |text: &String| -> String {
            text.chars()
                .map(|c| c.to_digit(10).map_or(c, |d| "零一二三四五六七八九".chars().nth(d as usize).unwrap()))
                .collect()
        };
        let texts: Vec<(i64, String)> = texts.iter().map(|(time, text)| (*time, spelt(text))).collect();
        assert_eq!(repeats(&texts), 5, "other words in the same places are a repeat");
    }
}
