//! The strategies themselves: from passages to the tokens that are kept.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Layout, Passage, Pick, Strategy};
use crate::structure::{Measure, Section};
use inkstone_text::Truncation;

/// What a model sees at once of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Numbers of the tokens kept: ranges that ascend and do not touch.
    pub tokens: Vec<Range<usize>>,
    /// How salient its sentences are in all, by TF-IDF and number of tokens.
    pub weight: f64,
}

impl View {
    /// Tokens kept.
    pub fn len(&self) -> usize {
        self.tokens.iter().map(ExactSizeIterator::len).sum()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }
}

impl Strategy {
    /// What it keeps of a document: one view, or one a window; none where nothing is left. `specials` = special tokens that the model
    /// adds to each view, `draw` = the number that chance hangs on, of seed and document.
    pub fn views(&self, layout: &Layout, specials: usize, draw: u64) -> Vec<View> {
        let is_title = |passage: &&Passage| passage.section == Section::Title;
        let dropped = |passage: &&Passage| {
            self.drop_boilerplate && passage.is_boilerplate() || self.drop_title && is_title(passage)
        };
        let passages: Vec<&Passage> = layout.passages().iter().filter(|passage| !dropped(passage)).collect();
        let (title, rest): (Vec<&Passage>, Vec<&Passage>) =
            if self.title { passages.into_iter().partition(is_title) } else { (Vec::new(), passages) };
        let room = self.limit(specials).map_or(usize::MAX, |limit| limit.saturating_sub(specials));
        let title = part(&tokens_of(&title), 0..room);
        let room = room - count(&title);
        let tokens = tokens_of(&rest);
        let picked: Vec<Vec<Range<usize>>> = match &self.pick {
            Pick::Place(truncation) => {
                let len = count(&tokens);
                let [head, tail] = reduced(truncation, room, count(&title)).apply(len, 0);
                vec![[part(&tokens, head), part(&tokens, tail)].concat()]
            }
            Pick::Middle(_) => {
                let spare = count(&tokens).saturating_sub(room);
                vec![stretch(&tokens, spare / 2, room)]
            }
            Pick::Random(_) => {
                let spare = count(&tokens).saturating_sub(room);
                let begin = ChaCha8Rng::seed_from_u64(draw).random_range(0..=spare);
                vec![stretch(&tokens, begin, room)]
            }
            Pick::Sections { order, .. } => {
                let rank = |passage: &Passage| order.iter().position(|section| *section == passage.section);
                vec![fill(&rest, |passage| rank(passage).unwrap_or(order.len()) as f64, room)]
            }
            Pick::Salient { by, .. } => vec![fill(&rest, |passage| -salience(passage, *by), room)],
            Pick::Windows { stride, .. } => windows(&tokens, room, *stride),
            Pick::Sentences { .. } => pack(&rest, room),
        };
        let whole = |mut tokens: Vec<Range<usize>>| {
            tokens.extend_from_slice(&title);
            let tokens = joined(tokens);
            View { weight: weight(layout, &tokens), tokens }
        };
        let mut views: Vec<View> = picked.into_iter().map(whole).filter(|view| !view.is_empty()).collect();
        if views.is_empty() && !title.is_empty() {
            views.push(whole(Vec::new()));
        }
        views
    }
}

/// A strategy by place for what is left of its limit once a title of so many tokens stands before.
fn reduced(truncation: &Truncation, room: usize, title: usize) -> Truncation {
    match *truncation {
        Truncation::None => Truncation::None,
        Truncation::Head(_) => Truncation::Head(room),
        Truncation::Tail(_) => Truncation::Tail(room),
        Truncation::Share { head, .. } => Truncation::Share { limit: room, head },
        // The title is part of the head.
        Truncation::HeadTail { head, tail } => {
            Truncation::HeadTail { head: head.saturating_sub(title), tail: tail.min(room) }
        }
    }
}

fn salience(passage: &Passage, by: Measure) -> f64 {
    let salience = &passage.salience;
    let value = match by {
        Measure::Tfidf => salience.tfidf,
        Measure::Textrank => salience.textrank,
        Measure::Novelty => salience.novelty,
    };
    // What has no value comes last.
    if value.is_nan() { f64::NEG_INFINITY } else { f64::from(value) }
}

fn tokens_of(passages: &[&Passage]) -> Vec<Range<usize>> {
    joined(passages.iter().map(|passage| passage.tokens.clone()).collect())
}

fn count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// Ranges in order, those that touch joined.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut whole: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match whole.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => whole.push(range),
        }
    }
    whole
}

/// The tokens `wanted` among those of the ranges, counted from the first.
fn part(ranges: &[Range<usize>], wanted: Range<usize>) -> Vec<Range<usize>> {
    let mut before = 0;
    let of = |range: &Range<usize>| {
        let begin = wanted.start.clamp(before, before + range.len()) - before;
        let end = wanted.end.clamp(before, before + range.len()) - before;
        before += range.len();
        range.start + begin..range.start + end
    };
    ranges.iter().map(of).filter(|range| !range.is_empty()).collect()
}

fn stretch(ranges: &[Range<usize>], begin: usize, length: usize) -> Vec<Range<usize>> {
    part(ranges, begin..begin.saturating_add(length))
}

/// Passages with the least `rank` first, the earlier of equals, until the room is full; the last is cut to fit.
fn fill(passages: &[&Passage], rank: impl Fn(&Passage) -> f64, room: usize) -> Vec<Range<usize>> {
    let mut order: Vec<&&Passage> = passages.iter().collect();
    order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let mut left = room;
    let take = |passage: &&Passage| {
        let taken = passage.tokens.len().min(left);
        left -= taken;
        passage.tokens.start..passage.tokens.start + taken
    };
    order.into_iter().map(take).filter(|range| !range.is_empty()).collect()
}

/// Windows of `room` tokens, `stride` apart, to the end of the text.
fn windows(ranges: &[Range<usize>], room: usize, stride: usize) -> Vec<Vec<Range<usize>>> {
    let (len, mut begin, mut windows) = (count(ranges), 0, Vec::new());
    if room == 0 {
        return windows;
    }
    while begin < len {
        windows.push(stretch(ranges, begin, room));
        if len - begin <= room {
            break;
        }
        begin += stride.clamp(1, room);
    }
    windows
}

/// Windows of whole passages, as many in each as fit; a passage that fits in none is cut into several.
fn pack(passages: &[&Passage], room: usize) -> Vec<Vec<Range<usize>>> {
    let mut windows: Vec<Vec<Range<usize>>> = Vec::new();
    if room == 0 {
        return windows;
    }
    let mut left = 0;
    for passage in passages {
        let mut tokens = passage.tokens.clone();
        if tokens.len() > left {
            windows.push(Vec::new());
            left = room;
        }
        while tokens.len() > left {
            let cut = tokens.start + left;
            windows.last_mut().expect("a window was opened").push(tokens.start..cut);
            tokens.start = cut;
            windows.push(Vec::new());
            left = room;
        }
        left -= tokens.len();
        windows.last_mut().expect("a window was opened").push(tokens);
    }
    windows
}

/// The salience of some tokens in all.
fn weight(layout: &Layout, kept: &[Range<usize>]) -> f64 {
    let mut sum = 0.0;
    for passage in layout.passages() {
        let tfidf = f64::from(passage.salience.tfidf);
        if tfidf.is_nan() || tfidf == 0.0 {
            continue;
        }
        let overlap = |range: &Range<usize>| {
            range.end.min(passage.tokens.end).saturating_sub(range.start.max(passage.tokens.start))
        };
        sum += tfidf * kept.iter().map(overlap).sum::<usize>() as f64;
    }
    sum
}
