//! From frequent n-grams to words: cohesion, freedom, rules, and no fragments.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::count::Gram;
use super::grams::{self, Place, character, is_letter, prefix, suffix};
use super::rules::{refuse_parts, refuse_text};
use super::{Grams, NewWordParams};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_text::Segmenter;

/// A word is a fragment when at least this share of its occurrences is within one longer word.
const WITHIN: f64 = 0.8;

/// A new word and its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewWord {
    pub word: String,
    pub count: u64,
    pub documents: u64,
    /// PMI of its weakest cut, nats.
    pub pmi: f64,
    /// The weakest cut, with a space between.
    pub weakest_cut: String,
    /// Counts of the two sides of that cut.
    pub counts_of_parts: [u64; 2],
    /// Entropy of the characters before it, nats.
    pub left_entropy: f64,
    /// Entropy of the characters after it, nats.
    pub right_entropy: f64,
    /// The score that orders words: `(pmi + 2 x the lower entropy) x log10(count)`.
    pub score: f64,
    /// The pieces into which the tokenizer cuts the word without knowing it, with spaces between.
    pub cut_now: String,
    /// Frequency on the scale of jieba's dictionary with which it is cut whole.
    pub frequency: usize,
    /// First time of the documents with it; none when they have no times.
    pub first_seen: Option<NaiveDateTime>,
}

/// The words chosen, and how many strings went why.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Highest score first.
    pub words: Vec<NewWord>,
    /// Frequent n-grams that were looked at.
    pub frequent: usize,
    /// Candidates left out, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Places of the corpus.
    pub places: u64,
    /// Bytes of places that went to the disk.
    pub spilled_bytes: usize,
}

/// A string whose figures are those of a word.
struct StringCandidate {
    gram: Gram,
    pmi: f64,
    /// Characters of the first side of the weakest cut.
    cut: usize,
}

/// Chooses the new words among the frequent n-grams. Documents and times are for the caller to fill in.
pub fn select(grams: &Grams, params: &NewWordParams, segmenter: &Segmenter, ctx: &Ctx) -> Result<Selection> {
    ensure!(grams.places > 0, "文件没有中文，找不到词", "the file has no Chinese text, so no words can be found in it");
    ensure!(
        grams.len() > 0,
        "没有字串在 {1} 个位置中出现 {0} 次；请降低 --min-count，或提供更多文本",
        "no string of characters occurs {} times in {} places; lower --min-count, or give more text",
        params.min_count,
        grams.places
    );
    let mut selection =
        Selection { frequent: grams.len(), places: grams.places, spilled_bytes: grams.spilled, ..Selection::default() };
    let measured = ctx.install(|| {
        let buckets = grams.buckets.par_iter().map(|bucket| {
            ctx.check()?;
            Ok(bucket.iter().map(|gram| measure(grams, gram, params)).collect())
        });
        buckets.collect::<Result<Vec<Vec<Result<StringCandidate, &'static str>>>>>()
    })?;
    let mut candidates = Vec::new();
    for measured in measured.into_iter().flatten() {
        match measured {
            Ok(candidate) => candidates.push(candidate),
            Err(reason) => *selection.refused.entry(reason).or_default() += 1,
        }
    }
    let fragments = fragments(grams, &candidates, segmenter, ctx)?;
    let judged = ctx.install(|| {
        let judged = candidates.par_iter().zip(&fragments).map(|(candidate, &fragment)| {
            ctx.check()?;
            Ok(judge(grams, candidate, fragment, params, segmenter))
        });
        judged.collect::<Result<Vec<Result<NewWord, &'static str>>>>()
    })?;
    for judged in judged {
        match judged {
            Ok(word) => selection.words.push(word),
            Err(reason) => *selection.refused.entry(reason).or_default() += 1,
        }
    }
    if !params.compounds {
        leave_out_phrases(&mut selection, segmenter);
    }
    selection.words.sort_by(by_score);
    Ok(selection)
}

/// Leaves out what is one of the new words with a known word before or behind it (公司瀚海微, 瀚海微公告), unless the new word
/// mostly occurs so: then that is its full name (康美药业).
fn leave_out_phrases(selection: &mut Selection, segmenter: &Segmenter) {
    let new: FxHashMap<String, u64> = selection.words.iter().map(|word| (word.word.clone(), word.count)).collect();
    let phrase = |word: &NewWord| {
        let rarer_than_half = |part: &str| new.get(part).is_some_and(|&count| 2 * word.count < count);
        // Places after the second character and before the last but one: both sides are words of two characters or more.
        let cuts = word.word.char_indices().map(|(at, _)| at).skip(2);
        cuts.filter(|&at| word.word[at..].chars().nth(1).is_some()).any(|at| {
            let (a, b) = word.word.split_at(at);
            rarer_than_half(a) && segmenter.knows(b) || segmenter.knows(a) && rarer_than_half(b)
        })
    };
    let before = selection.words.len();
    selection.words.retain(|word| !phrase(word));
    let left_out = before - selection.words.len();
    if left_out > 0 {
        selection.refused.insert("new word with a known word", left_out as u64);
    }
}

fn by_score(a: &NewWord, b: &NewWord) -> Ordering {
    b.score.total_cmp(&a.score).then(b.count.cmp(&a.count)).then_with(|| a.word.cmp(&b.word))
}

/// Cohesion and freedom of an n-gram against their limits.
fn measure(grams: &Grams, gram: &Gram, params: &NewWordParams) -> Result<StringCandidate, &'static str> {
    if gram.left.is_nan() {
        return Err("ends within letters");
    }
    if f64::from(gram.left.min(gram.right)) < params.min_entropy {
        return Err("too few neighbours");
    }
    let (pmi, cut) = weakest_cut(grams, gram);
    if pmi < params.min_pmi { Err("loose") } else { Ok(StringCandidate { gram: *gram, pmi, cut }) }
}

/// The lowest PMI over the ways of cutting an n-gram in two, and where that cut is. Runs of letters are not cut; one that is
/// nothing else holds together without limit.
fn weakest_cut(grams: &Grams, gram: &Gram) -> (f64, usize) {
    let len = gram.len();
    let mut weakest = (f64::INFINITY, len);
    for cut in 1..len {
        if is_letter(character(gram.key, cut - 1)) && is_letter(character(gram.key, cut)) {
            continue;
        }
        let (a, b) = sides(grams, gram, cut);
        let pmi = (gram.count as f64 * grams.places as f64 / (a as f64 * b as f64)).ln();
        if pmi < weakest.0 {
            weakest = (pmi, cut);
        }
    }
    weakest
}

/// Counts of the two sides of a cut. Both are at least that of the whole word, so both are known.
fn sides(grams: &Grams, gram: &Gram, cut: usize) -> (u64, u64) {
    let len = gram.len();
    (grams.count(prefix(gram.key, cut), cut), grams.count(suffix(gram.key, cut, len), len - cut))
}

/// True if each candidate is mostly a fragment of a longer candidate or of a longer word of the dictionary.
fn fragments(grams: &Grams, candidates: &[StringCandidate], segmenter: &Segmenter, ctx: &Ctx) -> Result<Vec<bool>> {
    let numbers: FxHashMap<Place, usize> = candidates.iter().enumerate().map(|(i, c)| (c.gram.key, i)).collect();
    let wholes = ctx.install(|| {
        let buckets = grams.buckets.par_iter().map(|bucket| {
            ctx.check()?;
            let is_word = |gram: &&Gram| {
                let len = gram.len();
                len > 2 && (numbers.contains_key(&gram.key) || segmenter.knows(&grams::text(gram.key, len)))
            };
            let mut within = Vec::new();
            for gram in bucket.iter().filter(is_word) {
                let len = gram.len();
                for (from, to) in (0..len).flat_map(|from| (from + 2..=len).map(move |to| (from, to))) {
                    let part = prefix(suffix(gram.key, from, len), to - from);
                    if to - from < len
                        && let Some(&number) = numbers.get(&part)
                        && gram.count as f64 >= WITHIN * candidates[number].gram.count as f64
                    {
                        within.push(number);
                    }
                }
            }
            Ok(within)
        });
        buckets.collect::<Result<Vec<Vec<usize>>>>()
    })?;
    let mut fragments = vec![false; candidates.len()];
    wholes.into_iter().flatten().for_each(|number| fragments[number] = true);
    Ok(fragments)
}

/// Applies the rules to a candidate.
fn judge(
    grams: &Grams,
    candidate: &StringCandidate,
    fragment: bool,
    params: &NewWordParams,
    segmenter: &Segmenter,
) -> Result<NewWord, &'static str> {
    let StringCandidate { gram, pmi, cut } = candidate;
    let len = gram.len();
    let word = grams::text(gram.key, len);
    let known = |part: &str| segmenter.knows(part);
    if known(&word) {
        return Err("known");
    }
    if fragment {
        return Err("fragment of a longer word");
    }
    if let Some(reason) = refuse_text(&word) {
        return Err(reason);
    }
    let parts = segmenter.tagged(&word);
    if let Some(reason) = refuse_parts(&parts, known, params.compounds) {
        return Err(reason);
    }
    let cut_now: Vec<&str> = parts.iter().map(|part| part.token.text).collect();
    let cut_now = cut_now.join(" ");
    let (a, b) = sides(grams, gram, *cut);
    let (left, right) = (f64::from(gram.left), f64::from(gram.right));
    Ok(NewWord {
        count: gram.count,
        documents: 0,
        pmi: *pmi,
        weakest_cut: format!("{} {}", grams::text(gram.key, *cut), grams::text(suffix(gram.key, *cut, len), len - cut)),
        counts_of_parts: [a, b],
        left_entropy: left,
        right_entropy: right,
        score: (pmi + 2.0 * left.min(right)) * (gram.count as f64).log10(),
        cut_now,
        frequency: segmenter.frequency_for(&word),
        first_seen: None,
        word,
    })
}
