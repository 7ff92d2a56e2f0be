//! From the passages of a document to the tokens that a strategy keeps.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Layout, Passage, Pick, Strategy};
use crate::structure::Section;
use inkstone_text::Truncation;

/// The tokens of a document that a model sees at once.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenView {
    /// Ranges of numbers of tokens, which ascend and do not touch.
    pub tokens: Vec<Range<usize>>,
    /// Sum over the tokens of the TF-IDF salience of their sentences.
    pub weight: f64,
}

impl TokenView {
    pub fn len(&self) -> usize {
        self.tokens.iter().map(ExactSizeIterator::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Bytes of the tokens kept, given the bytes of each token of the document.
    pub fn bytes(&self, tokens: &[Range<usize>]) -> Vec<Range<usize>> {
        self.tokens.iter().map(|range| tokens[range.start].start..tokens[range.end - 1].end).collect()
    }

    /// Ranges of numbers of the tokens that any of the views keeps, which ascend and do not touch.
    pub fn union(views: &[TokenView]) -> Vec<Range<usize>> {
        joined(views.iter().flat_map(|view| view.tokens.clone()).collect())
    }
}

impl Strategy {
    /// The views of a document: one, or one for each window; none where nothing is left. `specials` = special tokens that the model adds
    /// to each view, `draw` = the random number of seed and document.
    pub fn views(&self, layout: &Layout, specials: usize, draw: u64) -> Vec<TokenView> {
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
            Pick::Salient { by, .. } => vec![fill(&rest, |passage| -salience(passage.salience.by(*by)), room)],
            Pick::Windows { stride, .. } => windows(&tokens, room, *stride),
            Pick::Sentences { .. } => pack(&rest, room),
        };
        let view = |mut tokens: Vec<Range<usize>>| {
            tokens.extend_from_slice(&title);
            let tokens = joined(tokens);
            TokenView { weight: weight(layout, &tokens), tokens }
        };
        let mut views: Vec<TokenView> = picked.into_iter().map(view).filter(|view| !view.is_empty()).collect();
        if views.is_empty() && !title.is_empty() {
            views.push(view(Vec::new()));
        }
        views
    }
}

/// A truncation by place for the `room` that a title of `title` tokens leaves of its limit.
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

/// Salience to sort by: sentences without a value come last.
fn salience(value: f32) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { f64::from(value) }
}

fn tokens_of(passages: &[&Passage]) -> Vec<Range<usize>> {
    joined(passages.iter().map(|passage| passage.tokens.clone()).collect())
}

fn count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// Ranges in order; ranges that touch become one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => apart.push(range),
        }
    }
    apart
}

/// The tokens `wanted` among those of the ranges, counted from the first.
fn part(ranges: &[Range<usize>], wanted: Range<usize>) -> Vec<Range<usize>> {
    let mut before = 0;
    let within = |range: &Range<usize>| {
        let begin = wanted.start.clamp(before, before + range.len()) - before;
        let end = wanted.end.clamp(before, before + range.len()) - before;
        before += range.len();
        range.start + begin..range.start + end
    };
    ranges.iter().map(within).filter(|range| !range.is_empty()).collect()
}

fn stretch(ranges: &[Range<usize>], begin: usize, length: usize) -> Vec<Range<usize>> {
    part(ranges, begin..begin.saturating_add(length))
}

/// Tokens of the passages with the least `rank`, the earlier of equals, until the room is full; the last passage is cut to fit.
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

/// Sum over the kept tokens of the TF-IDF salience of their sentences.
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
