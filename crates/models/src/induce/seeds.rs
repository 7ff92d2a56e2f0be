//! Tone words from seeds: which words stand near good seeds more than near bad ones.

use anyhow::Result;
use chrono::NaiveDateTime;
use rustc_hash::{FxHashMap, FxHashSet};
use statrs::distribution::{ContinuousCDF, Normal};

use super::{InducedLexicon, InducedWord, fdr};

use inkstone_base::ensure;

/// Added to each count, so that a word which is near one side only has a finite weight (Turney and Littman).
const SMOOTHING: f64 = 0.01;

defaults! {
    /// The seeds of a lexicon, and the rules for words that enter it.
    pub struct SeedParams {
        positive: Vec<String> = Vec::new(),
        negative: Vec<String> = Vec::new(),
        /// Terms to each side of a seed that are near it.
        window: usize = 10,
        /// Times that a word must stand near seeds.
        min_count: u64 = 10,
        /// Share of the kept words that may be there by chance.
        fdr: f64 = 0.1,
        /// Words kept on each side at the most, the most certain; 0 (default) keeps all that pass.
        max_words: usize = 0,
    }
}

impl SeedParams {
    /// Complains about values that make no sense.
    pub fn check(&self) -> Result<()> {
        fdr::check(self.fdr)?;
        ensure!(
            self.window > 0,
            "window = 0 使种子词没有邻词；通常为 10",
            "window = 0 puts no word near a seed; 10 is usual"
        );
        for (name, side) in [("positive", &self.positive), ("negative", &self.negative)] {
            ensure!(
                !side.is_empty(),
                "没有 {name} 种子词：请给出一些正面与负面的词",
                "there are no {name} seeds: give some good and some bad words"
            );
        }
        let both: Vec<&String> = self.positive.iter().filter(|word| self.negative.contains(word)).collect();
        ensure!(
            both.is_empty(),
            "{both:?} 同时在正面与负面种子词中；请只留在一边",
            "{both:?} stand among the positive and the negative seeds; keep each on one side"
        );
        Ok(())
    }
}

/// Counts of the words near seeds, over a stream of documents. Counters of parts of a corpus merge in any order.
#[derive(Clone, Default)]
pub struct Seeds {
    /// Times near a good and near a bad seed.
    near: FxHashMap<Box<str>, [u64; 2]>,
    met: FxHashSet<Box<str>>,
    documents: u64,
    last_seen: Option<NaiveDateTime>,
}

impl Seeds {
    /// Counts a document given as its terms, in order.
    pub fn add<T: AsRef<str>>(&mut self, terms: &[T], time: Option<NaiveDateTime>, params: &SeedParams) {
        self.documents += 1;
        self.last_seen = self.last_seen.max(time);
        let side_of = |term: &str| {
            let among = |side: &[String]| side.iter().any(|seed| seed == term);
            if among(&params.positive) { Some(0) } else { among(&params.negative).then_some(1) }
        };
        for (i, term) in terms.iter().enumerate() {
            let Some(side) = side_of(term.as_ref()) else { continue };
            if !self.met.contains(term.as_ref()) {
                self.met.insert(term.as_ref().into());
            }
            let first = i.saturating_sub(params.window);
            let near = terms.iter().enumerate().skip(first).take(i + params.window + 1 - first);
            for (_, other) in near.filter(|(j, _)| *j != i) {
                let other = other.as_ref();
                // Looked up before it is owned: nearly every word is an old one.
                match self.near.get_mut(other) {
                    Some(counts) => counts[side] += 1,
                    None => self.near.entry(other.into()).or_default()[side] += 1,
                }
            }
        }
    }

    /// Takes in the counts of other documents.
    pub fn merge(&mut self, other: Seeds) {
        for (word, theirs) in other.near {
            let ours = self.near.entry(word).or_default();
            (0..2).for_each(|side| ours[side] += theirs[side]);
        }
        self.met.extend(other.met);
        self.documents += other.documents;
        self.last_seen = self.last_seen.max(other.last_seen);
    }

    /// The lexicon: seeds, with the weight of the strongest word of their side, and the words that pass. A word's weight is its PMI
    /// with the good seeds less that with the bad ones, in bits; it is tested against the chance that its neighbours fall on the two
    /// sides as all neighbours do (normal approximation of the binomial).
    pub fn lexicon(&self, params: &SeedParams) -> Result<InducedLexicon> {
        params.check()?;
        ensure!(self.documents > 0, "没有可供找词的文档", "there are no documents to find words in");
        let met = |side: &[String]| side.iter().any(|seed| self.met.contains(seed.as_str()));
        for (name, side) in [("positive", &params.positive), ("negative", &params.negative)] {
            ensure!(
                met(side),
                "{} 个 {name} 种子词（{} ……）没有一个是 {} 篇文档中的词：请按分词器的切法给出（用 inkstone tokenize 查看），或多给一些",
                "none of the {} {name} seeds ({} ...) is a word of the {} documents: give words as the tokenizer cuts them (inkstone tokenize shows how), or more of them",
                side.len(),
                side[0],
                self.documents
            );
        }
        let mut totals = [0u64; 2];
        self.near.values().for_each(|near| (0..2).for_each(|side| totals[side] += near[side]));
        let chance = totals[0] as f64 / (totals[0] + totals[1]) as f64;
        ensure!(
            0.0 < chance && chance < 1.0,
            "一边的种子词没有邻词：请加长各行，或多给种子词",
            "seeds of one side have no neighbours: lengthen the lines or give more seeds"
        );
        let is_seed = |word: &str| params.positive.iter().chain(&params.negative).any(|seed| seed == word);
        let candidates =
            self.near.iter().filter(|(word, near)| near[0] + near[1] >= params.min_count && !is_seed(word));
        let normal = Normal::standard();
        let tested: Vec<InducedWord> = candidates
            .map(|(word, near)| {
                let [good, bad] = near.map(|n| n as f64);
                let weight = ((good + SMOOTHING) * totals[1] as f64 / ((bad + SMOOTHING) * totals[0] as f64)).log2();
                let n = good + bad;
                let z = (good - n * chance) / (n * chance * (1.0 - chance)).sqrt();
                let p = 2.0 * normal.cdf(-z.abs());
                InducedWord { word: word.clone(), weight, statistic: z, p, count: near[0] + near[1] }
            })
            .collect();
        let tests = tested.len();
        // The order of the map is gone from here: words are put in order of certainty and name.
        let found = fdr::keep(tested, params.fdr, params.max_words);
        let mut words = Vec::with_capacity(found.len() + params.positive.len() + params.negative.len());
        for (side, sign) in [(&params.positive, 1.0), (&params.negative, -1.0)] {
            let strongest = found.iter().map(|word| sign * word.weight).fold(0.0, f64::max);
            let weight = sign * if strongest > 0.0 { strongest } else { 1.0 };
            words.extend(side.iter().map(|seed| InducedWord {
                word: seed.as_str().into(),
                weight,
                ..Default::default()
            }));
        }
        words.extend(found);
        Ok(InducedLexicon {
            words,
            tested: tests,
            documents: self.documents,
            fitted_until: self.last_seen,
            method: format!(
                "induced from {} + {} seeds: SO-PMI in bits within {} terms, false discovery rate {}",
                params.positive.len(),
                params.negative.len(),
                params.window,
                params.fdr
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> SeedParams {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        SeedParams {
            positive: owned(&["增长", "回升"]),
            negative: owned(&["下滑"]),
            window: 2,
            min_count: 1,
            fdr: 1.0,
            max_words: 0,
        }
    }

    const TEXTS: [&str; 4] =
        ["订单 饱满 增长 强劲 公司", "公司 订单 回升 强劲", "公司 亏损 下滑 严重", "亏损 下滑 公司 订单 远处"];

    fn seeds(texts: &[&str]) -> Seeds {
        let mut seeds = Seeds::default();
        texts.iter().for_each(|text| seeds.add(&text.split(' ').collect::<Vec<_>>(), None, &params()));
        seeds
    }

    #[test]
    fn weights_are_differences_of_mutual_information() {
        let lexicon = seeds(&TEXTS).lexicon(&params()).unwrap();
        // Near good seeds: 订单 2, 饱满 1, 强劲 2, 公司 2 (7). Near the bad one: 公司 2, 亏损 2, 严重 1, 订单 1 (6).
        let weight = |name: &str| lexicon.words.iter().find(|word| &*word.word == name).unwrap().weight;
        assert!((weight("强劲") - (2.01 * 6.0 / (0.01 * 7.0f64)).log2()).abs() < 1e-12);
        assert!((weight("亏损") - (0.01 * 6.0 / (2.01 * 7.0f64)).log2()).abs() < 1e-12);
        assert!((weight("订单") - (2.01 * 6.0 / (1.01 * 7.0f64)).log2()).abs() < 1e-12);
        assert!(lexicon.words.iter().all(|word| &*word.word != "远处"), "it stands too far away");
        assert_eq!((lexicon.tested, lexicon.documents), (6, 4));
        // Seeds come first, as strong as the strongest word of their side.
        assert_eq!((&*lexicon.words[0].word, weight("增长"), weight("下滑")), ("增长", weight("强劲"), weight("亏损")));
    }

    #[test]
    fn counts_of_parts_merge_in_any_order() {
        let all_seeds = seeds(&TEXTS).lexicon(&params()).unwrap();
        for (first, second) in [(&TEXTS[..1], &TEXTS[1..]), (&TEXTS[2..], &TEXTS[..2])] {
            let mut parts = seeds(first);
            parts.merge(seeds(second));
            assert_eq!(parts.lexicon(&params()).unwrap(), all_seeds);
        }
    }

    #[test]
    fn seeds_that_lead_nowhere_are_named() {
        let error_of = |params: SeedParams| seeds(&TEXTS).lexicon(&params).unwrap_err().to_string();
        let absent = error_of(SeedParams { negative: vec!["暴雷".into()], ..params() });
        assert!(absent.contains("none of the 1 negative seeds (暴雷 ...)") && absent.contains("tokenize"), "{absent}");
        assert!(error_of(SeedParams { negative: Vec::new(), ..params() }).contains("no negative seeds"));
        assert!(error_of(SeedParams { negative: vec!["增长".into()], ..params() }).contains("keep each on one side"));
        assert!(error_of(SeedParams { window: 0, ..params() }).contains("window = 0"));
        assert!(Seeds::default().lexicon(&params()).unwrap_err().to_string().contains("no documents"));
    }
}
