//! The Huffman tree of hierarchical softmax, built as fastText builds it, so that its models are read rightly.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use anyhow::Result;

use super::predict::likelier;
use inkstone_base::ensure;

/// The count that fastText gives a node that is not made yet.
const UNMADE: i64 = 1_000_000_000_000_000;

/// By so much at the most a score rises at a node, as fastText takes the logarithm of a probability and 0.00001.
const MOST_RISE: f32 = 2e-5;

/// Nodes from the root down to each output: inner nodes are rows of the output matrix; turning right is 1.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Left and right child of each inner node; below `leaves` it is an output.
    children: Vec<[u32; 2]>,
    leaves: usize,
    /// From each output up to the root: inner nodes, and whether the way to it turns right there.
    paths: Vec<Vec<(u32, bool)>>,
    /// Nodes of the longest path.
    longest: usize,
}

impl Tree {
    /// The tree of outputs whose counts a file has. Without a count an output would lie as deep as there are outputs, and with too
    /// many nothing could be told from a node that is not made.
    pub(super) fn of_file(counts: &[u64]) -> Result<Tree> {
        let sum = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
        ensure!(
            !counts.contains(&0) && sum.is_some_and(|sum| sum < UNMADE as u64),
            "分层 softmax 要求各输出出现 1 到 10^15 次，而计数不是",
            "hierarchical softmax needs outputs that occur 1 to 10^15 times, and its counts are others"
        );
        Ok(Tree::new(counts))
    }

    /// The tree of outputs with these counts, the most frequent first.
    pub(super) fn new(counts: &[u64]) -> Tree {
        let leaves = counts.len();
        let nodes = (2 * leaves).saturating_sub(1);
        let mut size = vec![UNMADE; nodes];
        size.iter_mut().zip(counts).for_each(|(size, &count)| *size = count as i64);
        let mut parents = vec![(0, false); nodes];
        let mut children = Vec::with_capacity(leaves.saturating_sub(1));
        let (mut leaf, mut node) = (leaves, leaves);
        for made in leaves..nodes {
            let pair = [false, true].map(|right| {
                let least = if leaf > 0 && size[leaf - 1] < size[node] {
                    leaf -= 1;
                    leaf
                } else {
                    node += 1;
                    node - 1
                };
                parents[least] = (made, right);
                least
            });
            size[made] = size[pair[0]] + size[pair[1]];
            children.push(pair.map(|child| child as u32));
        }
        let path = |mut at: usize| {
            let mut path = Vec::new();
            while at + 1 < nodes {
                let (parent, right) = parents[at];
                path.push(((parent - leaves) as u32, right));
                at = parent;
            }
            path
        };
        let paths: Vec<_> = (0..leaves).map(path).collect();
        let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
        Tree { children, leaves, paths, longest }
    }

    /// From an output up to the root.
    pub(super) fn path(&self, output: u32) -> &[(u32, bool)] {
        &self.paths[output as usize]
    }

    /// The logarithm of each output's probability, as fastText sums it; `right` is the probability of turning right at a node.
    pub(super) fn log_probabilities(&self, right: impl Fn(u32) -> f32) -> Vec<f32> {
        let mut found = vec![0.0; self.leaves];
        let mut open = vec![(2 * self.leaves as u32).saturating_sub(2)];
        let mut scores = vec![0.0];
        while let (Some(node), Some(score)) = (open.pop(), scores.pop()) {
            let Some(inner) = (node as usize).checked_sub(self.leaves) else {
                found[node as usize] = score;
                continue;
            };
            let p = right(inner as u32);
            let [left, to_right] = self.children[inner];
            open.extend([left, to_right]);
            scores.extend([score + super::log(1.0 - p), score + super::log(p)]);
        }
        found
    }

    /// The `most` likeliest outputs with the logarithms of their probabilities, the likeliest first; `right` is as above. The likeliest
    /// branch is gone down first, and the search ends where no branch can hold one of them, so that few of many nodes are seen.
    pub(super) fn likeliest(&self, most: usize, right: impl Fn(u32) -> f32) -> Vec<(u32, f32)> {
        let rise = MOST_RISE * self.longest as f32;
        let mut found: Vec<(u32, f32)> = Vec::new();
        let mut open = BinaryHeap::from([Branch { score: 0.0, node: (2 * self.leaves as u32).saturating_sub(2) }]);
        while let Some(Branch { score, node }) = open.pop() {
            if found.len() == most && found.last().is_none_or(|least| score + rise < least.1) {
                break;
            }
            let Some(inner) = (node as usize).checked_sub(self.leaves) else {
                let output = (node, score);
                found.insert(found.partition_point(|other| likelier(other, &output).is_lt()), output);
                found.truncate(most);
                continue;
            };
            let p = right(inner as u32);
            let [left, to_right] = self.children[inner];
            open.push(Branch { score: score + super::log(1.0 - p), node: left });
            open.push(Branch { score: score + super::log(p), node: to_right });
        }
        found
    }
}

/// A node of the tree and the logarithm of the probability of the way to it. The likelier one is the greater.
#[derive(Clone, Copy, Debug)]
struct Branch {
    score: f32,
    node: u32,
}

impl Ord for Branch {
    fn cmp(&self, other: &Branch) -> Ordering {
        self.score.total_cmp(&other.score).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Branch {
    fn partial_cmp(&self, other: &Branch) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Branch {
    fn eq(&self, other: &Branch) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Branch {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_outputs_have_short_ways() {
        let tree = Tree::new(&[10, 4, 3, 1]);
        let lengths: Vec<usize> = (0..4).map(|i| tree.path(i).len()).collect();
        assert_eq!(lengths, [1, 2, 3, 3]);
        assert_eq!(tree.path(3), [(0, false), (1, false), (2, false)]);
        let p = tree.log_probabilities(|_| 0.5);
        let expected = [1, 2, 3, 3].map(|n| n as f32 * (0.5f64 + 1e-5).ln() as f32);
        assert!(p.iter().zip(expected).all(|(p, e)| (p - e).abs() < 1e-6), "{p:?}");
        assert!(Tree::new(&[5]).path(0).is_empty());
    }

    #[test]
    fn a_search_of_the_tree_finds_the_likeliest_outputs_and_passes_most_nodes_over() {
        let counts: Vec<u64> = (1..=2000).rev().map(|count| count / 7 + 1).collect();
        let tree = Tree::new(&counts);
        for seed in 0..20u64 {
            // Probabilities as of a trained model, mostly near 0 and 1; some are exactly that, so that outputs are equal.
            let right = |node: u32| {
                let x = crate::random::Random::new([seed, u64::from(node), 0]).unit();
                1.0 / (1.0 + (-24.0 * (x - 0.5)).exp())
            };
            let mut all: Vec<(u32, f32)> = (0..).zip(tree.log_probabilities(right)).collect();
            all.sort_unstable_by(likelier);
            for most in [0, 1, 5, 100, 2000] {
                let seen = std::cell::Cell::new(0);
                let found = tree.likeliest(most, |node| {
                    seen.set(seen.get() + 1);
                    right(node)
                });
                assert_eq!(found, all[..most], "{seed} {most}");
                assert!(most > 5 || seen.get() < 400, "{seed} {most}: {} nodes", seen.get());
            }
        }
        assert_eq!(Tree::new(&[5]).likeliest(3, |_| 0.5), [(0, 0.0)]);
    }
}
