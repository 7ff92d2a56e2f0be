//! TextRank on words (Mihalcea and Tarau 2004): candidates that stand near each other vouch for each other.
//!
//! Nodes are the candidates, an edge weighs how often its two words stand less than `window` places apart in the document, and
//! scores are the ranks of [`Graph`]. The rule `jieba` follows `jieba.analyse.textrank` step by step: a word next to itself is an edge too,
//! ten sweeps in the order of code points from 1/n, words without an edge left out, and scores scaled to
//! `(r - min / 10) / (max - min / 10)`.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::Candidates;
use crate::{Explanation, Part};
use inkstone_base::message;
use inkstone_text::rank::{DAMPING, Graph, Until};

/// Whose TextRank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The paper's, with co-occurrences counted: refined until it settles, unscaled.
    #[default]
    Paper,
    /// `jieba.analyse.textrank`'s.
    Jieba,
}

defaults! {
    pub struct TextRankParams {
        /// `paper` (default) or `jieba`.
        rule: Rule = Rule::Paper,
        /// Words fewer than so many places apart are neighbours: with 5, four words on either side. No effect on sentences.
        window: usize = 5,
        /// Share of a score that comes from neighbours, 0 to 1 exclusive.
        damping: f64 = DAMPING,
        /// Scores are refined until none moves by more.
        tolerance: f64 = 1e-6,
        /// Sweeps at the most.
        max_iterations: usize = 100,
    }
}

impl TextRankParams {
    /// Refuses what has no meaning.
    pub fn validate(&self) -> anyhow::Result<()> {
        inkstone_base::ensure!(
            self.window >= 2,
            "窗口 {} 不能连接词；请写 --window 2 或更大（通常为 5）",
            "a window of {} joins no words; write --window 2 or more (5 is usual)",
            self.window
        );
        inkstone_base::ensure!(
            self.damping > 0.0 && self.damping < 1.0,
            "阻尼 {} 不在 0 到 1 之间；请写 --damping 0.85",
            "damping {} is not between 0 and 1; write --damping 0.85",
            self.damping
        );
        inkstone_base::ensure!(
            self.max_iterations > 0,
            "排序至少迭代一次（max_iterations）",
            "ranks need at least one sweep (max_iterations)"
        );
        Ok(())
    }

    pub(super) fn until(&self) -> Until {
        Until::Settled { tolerance: self.tolerance, most: self.max_iterations }
    }
}

/// The ranked candidates of a document, with the graph that ranked them.
#[derive(Clone, Debug)]
pub struct Ranking {
    graph: Graph,
    damping: f64,
    rule: Rule,
    /// By candidate; a negative number for one that has no place in the ranking.
    ranks: Vec<f64>,
    /// The number that is taken from a rank, and the divisor of the difference.
    scale: (f64, f64),
}

/// Ranks the candidates of a document.
pub fn textrank(words: &Candidates<'_>, params: &TextRankParams) -> Ranking {
    let own = params.rule == Rule::Jieba;
    let mut pairs: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let places = words.places();
    for (i, &a) in places.iter().enumerate() {
        let Some(a) = a else { continue };
        let near = &places[i + 1..places.len().min(i + params.window)];
        for &b in near.iter().flatten() {
            if a != b {
                *pairs.entry((a.min(b), a.max(b))).or_default() += 1;
            } else if own {
                // jieba lists such an edge at both of its ends, which are one word.
                *pairs.entry((a, a)).or_default() += 2;
            }
        }
    }
    let mut edges: Vec<(u32, u32, f64)> = pairs.into_iter().map(|((a, b), n)| (a, b, f64::from(n))).collect();
    edges.sort_unstable_by_key(|&(a, b, _)| (a, b));
    let nodes = words.words().len();
    let graph = Graph::new(nodes, &edges);
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    let (ranks, scale) = match params.rule {
        Rule::Paper => (graph.rank(params.damping, 1.0, &order, params.until()).0, (0.0, 1.0)),
        Rule::Jieba => {
            order.retain(|&node| graph.strength(node as usize) > 0.0);
            order.sort_unstable_by_key(|&node| &*words.words()[node as usize]);
            let (mut ranks, _) = graph.rank(params.damping, 1.0 / order.len().max(1) as f64, &order, Until::Sweeps(10));
            let ranked = || order.iter().map(|&node| ranks[node as usize]);
            let (least, most) = (ranked().fold(f64::MAX, f64::min), ranked().fold(f64::MIN_POSITIVE, f64::max));
            let lonely = (0..nodes).filter(|&node| graph.strength(node) == 0.0);
            lonely.for_each(|node| ranks[node] = -1.0);
            (ranks, (least / 10.0, most - least / 10.0))
        }
    };
    Ranking { graph, damping: params.damping, rule: params.rule, ranks, scale }
}

impl Ranking {
    /// Scores by candidate; negative infinity for one that is not ranked.
    pub fn scores(&self) -> Vec<f64> {
        self.ranks.iter().map(|&rank| if rank < 0.0 { f64::NEG_INFINITY } else { self.scaled(rank) }).collect()
    }

    fn scaled(&self, rank: f64) -> f64 {
        (rank - self.scale.0) / self.scale.1
    }

    /// The neighbours that gave a word its score; none when it is no candidate or not ranked.
    pub fn explain(&self, words: &Candidates<'_>, word: &str) -> Option<Explanation> {
        let node = words.number(word).filter(|&node| self.ranks[node] >= 0.0)?;
        let score = self.scaled(self.ranks[node]);
        let part = |&(other, weight): &(u32, f64)| {
            let (rank, strength) = (self.ranks[other as usize], self.graph.strength(other as usize));
            Part {
                token: words.words()[other as usize].to_string(),
                value: self.damping * weight / strength * rank / self.scale.1,
                detail: vec![("weight", weight), ("strength", strength), ("rank", rank)],
            }
        };
        let terms: Vec<Part> = self.graph.neighbours(node).iter().map(part).collect();
        let intercept = self.scaled(1.0 - self.damping);
        let rest = score - intercept - terms.iter().map(|part| part.value).sum::<f64>();
        let (damping, base) = (self.damping, 1.0 - self.damping);
        let formula = match self.rule {
            Rule::Paper => message!(
                "score = {base:.4} + 对各邻词求和：{damping} x weight / strength x rank；rest：再扫一遍会移动的量",
                "score = {base:.4} + sum over neighbours of {damping} x weight / strength x rank; rest: what a further sweep would move"
            ),
            Rule::Jieba => message!(
                "score = (r - {:.6}) / {:.6}，r = {base:.4} + 对各邻词求和：{damping} x weight / strength x rank；rest：第十一遍会移动的量",
                "score = (r - {:.6}) / {:.6} with r = {base:.4} + sum over neighbours of {damping} x weight / strength x rank; rest: \
                 what an eleventh sweep would move",
                self.scale.0,
                self.scale.1
            ),
        };
        let of = Some(word.to_owned());
        Some(Explanation { of, formula, score, intercept, terms, rest, ..Explanation::default() }.largest_first())
    }
}
