//! Phrases: neighbours that come together more often than by chance become one word, as the C tool word2phrase makes them.
//!
//! Words `a` and `b` that stand side by side score `(count(ab) - discount) / (count(a) count(b)) x words of the corpus`;
//! above the threshold they become `a_b`. A joined word is not joined to the word after it in the same pass. Words
//! that occur less often than the discount take no part.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{DOCUMENT, FirstPass, NUMBERS, Path};
use anyhow::Result;
use inkstone_base::bounds::flag;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Between the parts of a phrase.
const JOINT: char = '_';
/// Pairs that are counted at once; when there are more, the rarest are forgotten.
const PAIRS: usize = 1 << 24;

/// Which neighbours are joined to phrases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default)]
pub struct PhraseParams {
    /// Join neighbours that come together more often than by chance, as word2phrase; a second pass joins up to four words.
    ///
    /// 把共同出现多于偶然的相邻词连成短语，同 word2phrase；第二遍可连到四个词。
    #[arg(id = "phrases", long = "phrases", value_name = "PASSES", default_value_t = PhraseParams::default().passes, value_parser = flag::<usize>("--phrases"))]
    pub passes: usize,
    /// How many times more often than by chance.
    ///
    /// 须多于偶然的倍数。
    #[arg(long = "phrase-threshold", value_name = "X", default_value_t = PhraseParams::default().threshold, requires = "phrases", value_parser = flag::<f64>("--weight"))]
    pub threshold: f64,
    /// Number taken off the count of each pair, so that rare pairs are not joined.
    #[arg(skip = PhraseParams::default().discount)]
    pub discount: u64,
}

impl Default for PhraseParams {
    fn default() -> PhraseParams {
        PhraseParams { passes: 0, threshold: 100.0, discount: 5 }
    }
}

impl FirstPass {
    /// Joins phrases once; gives the corpus with them, and how many different ones there are.
    pub(crate) fn joined(self, params: &PhraseParams, beside: &Path, ctx: &Ctx) -> Result<(FirstPass, u64)> {
        ensure!(
            params.threshold > 0.0,
            "短语阈值为 {}：--phrase-threshold 须大于 0",
            "a threshold of phrases of {}: --phrase-threshold is above 0",
            params.threshold
        );
        let names = self.words();
        let FirstPass { numbers: mut words, mut counts, scratch, documents, last } = self;
        let map = scratch.map()?;
        let numbers: &[u32] = disk::numbers(map.as_ref());
        let pairs = count(numbers, &counts, params, PAIRS, ctx)?;
        let total = counts.iter().sum::<u64>() as f64;
        let single = counts.clone();
        let score = |a: u32, b: u32| {
            let both = pairs.get(&pair(a, b)).copied().unwrap_or(0).saturating_sub(params.discount);
            both as f64 / single[a as usize] as f64 / single[b as usize] as f64 * total
        };
        let mut phrases: FxHashMap<u64, u32> = FxHashMap::default();
        let (mut out, mut joined) = (Vec::with_capacity(NUMBERS), Scratch::beside(beside)?);
        let mut at = 0;
        while at < numbers.len() {
            let a = numbers[at];
            let next = numbers
                .get(at + 1)
                .copied()
                .filter(|&b| a < DOCUMENT && b < DOCUMENT && score(a, b) > params.threshold);
            if let Some(b) = next {
                let number = *phrases.entry(pair(a, b)).or_insert_with(|| {
                    let phrase = format!("{}{JOINT}{}", names[a as usize], names[b as usize]).into_boxed_str();
                    // The text may have such a word already.
                    *words.entry(phrase).or_insert_with(|| {
                        counts.push(0);
                        counts.len() as u32 - 1
                    })
                });
                counts[number as usize] += 1;
                counts[a as usize] -= 1;
                counts[b as usize] -= 1;
                out.push(number);
                at += 2;
            } else {
                out.push(a);
                at += 1;
            }
            if out.len() >= NUMBERS {
                ctx.check()?;
                joined.write(bytemuck::cast_slice(&out))?;
                out.clear();
            }
        }
        joined.write(bytemuck::cast_slice(&out))?;
        let different = phrases.len() as u64;
        Ok((FirstPass { numbers: words, counts, scratch: joined, documents, last }, different))
    }
}

fn pair(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

/// Counts pairs of neighbours that are both frequent enough.
fn count(
    numbers: &[u32],
    counts: &[u64],
    params: &PhraseParams,
    most: usize,
    ctx: &Ctx,
) -> Result<FxHashMap<u64, u64>> {
    let mut pairs: FxHashMap<u64, u64> = FxHashMap::default();
    let mut least = 1;
    let frequent = |number: u32| number < DOCUMENT && counts[number as usize] >= params.discount.max(1);
    for (at, two) in numbers.windows(2).enumerate() {
        if at % NUMBERS == 0 {
            ctx.check()?;
        }
        if frequent(two[0]) && frequent(two[1]) {
            *pairs.entry(pair(two[0], two[1])).or_default() += 1;
            if pairs.len() > most {
                pairs.retain(|_, count| *count > least);
                least += 1;
            }
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::{Numbered, WordLimits, WordReading};
    use super::*;
    use crate::standalone::{CutSpec, Cutter, LineFormat, Lines};
    use inkstone_text::TokenizerParams;

    fn read(text: &str, params: &PhraseParams) -> (Vec<(String, u64)>, u64) {
        let dir = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(2, 1).unwrap();
        let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap();
        let mut lines = Lines::new(Cursor::new(text.to_owned()), LineFormat::Tokens);
        let kept = WordLimits { min_count: 1, max_words: 0 };
        let (read, report) =
            Numbered::read(&mut lines, &cutter, WordReading::Phrases(params), kept, &dir.path().join("m"), &ctx)
                .unwrap();
        let words = read.words.iter().map(|word| word.to_string()).zip(read.counts.iter().copied()).collect();
        assert_eq!(read.sequences().map(<[u32]>::len).sum::<usize>() as u64, read.tokens());
        (words, report.facts["phrases"].as_u64().unwrap())
    }

    #[test]
    fn pairs_above_the_threshold_are_joined_and_longer_ones_pass_by_pass() {
        // 5 words a line, 4 lines: 科 创 and 板 always stand together; (4 - 1) / (4 x 4) x 20 = 3.75.
        let text = "科 创 板 甲 乙\n丙 科 创 板 丁\n戊 己 科 创 板\n庚 科 创 板 辛\n";
        let params = PhraseParams { passes: 1, threshold: 3.7, discount: 1 };
        let (words, phrases) = read(text, &params);
        assert_eq!(words[..2], [("板".to_owned(), 4), ("科_创".to_owned(), 4)]);
        assert_eq!(phrases, 1);
        // The second pass: (4 - 1) / (4 x 4) x 16 = 3.
        let (words, phrases) = read(text, &PhraseParams { passes: 2, threshold: 2.9, ..params.clone() });
        assert_eq!((&words[0], phrases), (&("科_创_板".to_owned(), 4), 2));
        let (words, phrases) = read(text, &PhraseParams { threshold: 3.75, ..params });
        assert_eq!((words.len(), phrases), (11, 0));
    }

    #[test]
    fn no_phrase_reaches_over_the_end_of_a_line_and_rare_pairs_are_forgotten() {
        let params = PhraseParams { passes: 1, threshold: 0.1, discount: 0 };
        let (words, _) = read("甲\n乙\n甲\n乙\n", &params);
        assert_eq!(words, [("乙".to_owned(), 2), ("甲".to_owned(), 2)]);
        let ctx = Ctx::new(1, 1).unwrap();
        let numbers = [0, 1, 0, 1, 2, 3, 0, 1];
        let pairs = count(&numbers, &[3, 3, 1, 1], &params, 3, &ctx).unwrap();
        assert_eq!(pairs.get(&pair(0, 1)), Some(&3));
        assert!(pairs.len() <= 3, "{pairs:?}");
    }
}
