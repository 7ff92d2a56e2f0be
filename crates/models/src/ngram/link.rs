//! Finding suffixes: where `w2 ... wn` is, for each `w1 ... wn`.
//!
//! The continuations of a context are all continuations of its suffix too, and both lists are sorted by word. So each context walks
//! through the list of its suffix once, in leaps where that is the longer one.

use std::ops::Range;

use rayon::prelude::*;

use super::trie::Trie;
use inkstone_base::job::{Cancelled, Ctx};

/// Entries of one task. (Few in tests, so that they cross its border.)
const SPAN: usize = if cfg!(test) { 1 << 4 } else { 1 << 15 };

/// Fills in the suffixes of all levels.
pub(super) fn link(trie: &mut Trie, ctx: &Ctx) -> Result<(), Cancelled> {
    for n in 1..trie.levels.len() {
        let (lower, upper) = trie.levels.split_at_mut(n);
        if n == 1 {
            // A word's entry on level 0 is its id.
            upper[0].suffix = upper[0].word.clone();
            continue;
        }
        let (contexts, suffixes) = (&lower[n - 1], &lower[n - 2]);
        let level = &mut upper[0];
        level.suffix = vec![0; level.word.len()];
        let spans = spans(&contexts.first_child);
        let outs = cut(&mut level.suffix, spans.iter().map(|span| contexts.first_child[span.end] as usize));
        let words = &level.word;
        spans.into_par_iter().zip(outs).try_for_each(|(span, out)| {
            ctx.check()?;
            let base = contexts.first_child[span.start] as usize;
            for context in span {
                let children = contexts.children(context as u32);
                if children.is_empty() {
                    continue;
                }
                let mut place = suffixes.children(contexts.suffix[context]);
                for child in children {
                    place.start += leap(&contexts.word[place.clone()], words[child]);
                    out[child - base] = place.start as u32;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The position of the first word of `sorted` that is not below `word`: steps that double, then halves.
fn leap(sorted: &[u32], word: u32) -> usize {
    let mut step = 1;
    while step < sorted.len() && sorted[step] < word {
        step *= 2;
    }
    let start = step / 2;
    start + sorted[start..sorted.len().min(step + 1)].partition_point(|&other| other < word)
}

/// Cuts contexts into spans with about as many continuations each.
pub(super) fn spans(first_child: &[u32]) -> Vec<Range<usize>> {
    let contexts = first_child.len() - 1;
    let mut spans = Vec::new();
    let mut start = 0;
    while start < contexts {
        let most = first_child[start] as usize + SPAN;
        // Contexts without continuations count too, so that a span is never long.
        let within = start + first_child[start + 1..=contexts].partition_point(|&child| child as usize <= most);
        let end = within.clamp(start + 1, (start + SPAN).min(contexts));
        spans.push(start..end);
        start = end;
    }
    spans
}

/// Cuts a slice at ascending `ends`.
pub(super) fn cut<T>(mut slice: &mut [T], ends: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut done = 0;
    ends.map(|end| {
        let (piece, rest) = std::mem::take(&mut slice).split_at_mut(end - done);
        (slice, done) = (rest, end);
        piece
    })
    .collect()
}
