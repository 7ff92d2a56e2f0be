//! A binary tree over the words, in place of the softmax: the hierarchical log-bilinear model (Mnih and Hinton 2009).
//!
//! Each inner node has a vector q and a bias b. At a node the right half is taken with probability sigmoid(q · r + b), where r are the
//! features of a context; the probability of a word is the product along its path. A prediction costs the length of a path, about log2 of
//! the number of words, and probabilities sum to 1 by themselves.
//!
//! The tree is made of word vectors by splitting them in two again and again, into halves of equal size: along the direction in which
//! they differ most, then by 2-means that keep the sizes equal. So the order of the leaves is the tree: the node between the leaves
//! `middle - 1` and `middle` has the number `middle - 1`.

use anyhow::Result;

use crate::neural::entropy::softplus;
use crate::neural::kernel::{Real, sigmoid};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Multiplications that find the direction of the largest variance, and rounds of 2-means.
const ROUNDS: [usize; 2] = [12, 6];
/// Words below which a split is not shared among threads.
const ALONE: usize = 256;

/// The words in the order of the leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct WordTree {
    order: Vec<u32>,
    /// The leaf of each word.
    leaves: Vec<u32>,
}

impl WordTree {
    /// A tree whose leaves have this order; every number from 0 stands in it once.
    pub(super) fn new(order: Vec<u32>) -> Result<WordTree> {
        let mut leaves = vec![u32::MAX; order.len()];
        for (&word, leaf) in order.iter().zip(0..) {
            if let Some(place) = leaves.get_mut(word as usize) {
                *place = leaf;
            }
        }
        ensure!(
            order.len() > 1 && !leaves.contains(&u32::MAX),
            "模型的词树已损坏；请重新训练",
            "the tree of words of the model is damaged; train it again"
        );
        Ok(WordTree { order, leaves })
    }

    /// Splits words by their vectors, `[words, dim]`.
    pub fn by_vectors(vectors: &[f32], dim: usize, ctx: &Ctx) -> Result<WordTree> {
        let mut order: Vec<u32> = (0..(vectors.len() / dim) as u32).collect();
        ctx.install(|| split(vectors, dim, &mut order, ctx))?;
        WordTree::new(order)
    }

    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The nodes from the root to a word, each with whether the right half is taken.
    pub(super) fn path(&self, word: u32) -> impl Iterator<Item = (u32, bool)> {
        let leaf = self.leaves[word as usize] as usize;
        let (mut first, mut end) = (0, self.order.len());
        std::iter::from_fn(move || {
            (end - first > 1).then(|| {
                let middle = usize::midpoint(first, end);
                let right = leaf >= middle;
                if right {
                    first = middle
                } else {
                    end = middle
                }
                (middle as u32 - 1, right)
            })
        })
    }

    /// ln of the probability of a word by features; `nodes` are `[words - 1, dim + 1]`, the bias last.
    pub(super) fn log_probability<T: Real>(&self, nodes: &[T], features: &[T], word: u32) -> f64 {
        let loss = |(node, right): (u32, bool)| {
            let (_, score) = score(nodes, features, node);
            softplus(if right { -score } else { score })
        };
        -self.path(word).map(loss).sum::<f64>()
    }

    /// ln of the probability of every word by features.
    pub(super) fn log_probabilities(&self, nodes: &[f32], features: &[f32]) -> Vec<f32> {
        let mut logs = vec![0.0; self.order.len()];
        let mut open = vec![(0, self.order.len(), 0.0)];
        while let Some((first, end, above)) = open.pop() {
            if end - first == 1 {
                logs[self.order[first] as usize] = above as f32;
                continue;
            }
            let middle = usize::midpoint(first, end);
            let (_, score) = score(nodes, features, middle as u32 - 1);
            open.push((first, middle, above - softplus(score)));
            open.push((middle, end, above - softplus(-score)));
        }
        logs
    }

    /// The loss of a word; adds its gradient by the features, and gives that by the weights of each node of the path to `to_node`.
    pub(super) fn loss<T: Real>(
        &self,
        nodes: &[T],
        features: &[T],
        word: u32,
        by_features: &mut [T],
        mut to_node: impl FnMut(u32, T),
    ) -> f64 {
        let mut loss = 0.0;
        for (node, right) in self.path(word) {
            let (row, score) = score(nodes, features, node);
            loss += softplus(if right { -score } else { score });
            let by = sigmoid(T::from_f64(score)) - T::from_f64(f64::from(u8::from(right)));
            by_features.iter_mut().zip(row).for_each(|(to, &q)| *to += by * q);
            to_node(node, by);
        }
        loss
    }
}

/// The weights of a node, and q · r + b.
fn score<'w, T: Real>(nodes: &'w [T], features: &[T], node: u32) -> (&'w [T], f64) {
    let dim = features.len();
    let row = &nodes[node as usize * (dim + 1)..][..dim + 1];
    let sum = features.iter().zip(row).fold(row[dim], |sum, (&x, &q)| x.fused(q, sum));
    (&row[..dim], sum.to_f64())
}

/// Puts words into the order of the leaves.
fn split(vectors: &[f32], dim: usize, words: &mut [u32], ctx: &Ctx) -> Result<()> {
    if words.len() < 2 {
        return Ok(());
    }
    ctx.check()?;
    let vector = |word: u32| &vectors[word as usize * dim..][..dim];
    let dot = |a: &[f64], word: u32| a.iter().zip(vector(word)).map(|(a, &b)| a * f64::from(b)).sum::<f64>();
    let mean = |words: &[u32]| {
        let mut sum = vec![0.0; dim];
        for &word in words {
            sum.iter_mut().zip(vector(word)).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        sum.iter_mut().for_each(|sum| *sum /= words.len() as f64);
        sum
    };
    let half = words.len() / 2;
    // Equal words stay in the order of their numbers.
    let sort = |words: &mut [u32], along: &[f64]| {
        let mut keyed: Vec<(f64, u32)> = words.iter().map(|&word| (dot(along, word), word)).collect();
        keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        words.iter_mut().zip(keyed).for_each(|(to, (_, word))| *to = word);
    };
    let middle = mean(words);
    // The direction from the mean to the word that lies farthest from it begins the search.
    let distance = |word: u32| vector(word).iter().zip(&middle).map(|(&v, m)| (f64::from(v) - m).powi(2)).sum::<f64>();
    let farthest = words.iter().copied().max_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(b.cmp(&a)));
    let from_mean = |word: u32| vector(word).iter().zip(&middle).map(|(&v, m)| f64::from(v) - m).collect::<Vec<f64>>();
    let mut along = farthest.map(from_mean).unwrap_or_default();
    // The spread of each value beside it, for the search never leaves a direction across that of the largest variance.
    let mut spread = vec![0.0; dim];
    for &word in &*words {
        spread.iter_mut().zip(from_mean(word)).for_each(|(sum, apart)| *sum += apart * apart);
    }
    along.iter_mut().zip(&spread).for_each(|(value, &sum): (&mut f64, &f64)| *value += sum.sqrt());
    for _ in 0..ROUNDS[0] {
        let length = along.iter().map(|value| value * value).sum::<f64>().sqrt();
        if length == 0.0 {
            break;
        }
        along.iter_mut().for_each(|value| *value /= length);
        let at_mean: f64 = along.iter().zip(&middle).map(|(a, m)| a * m).sum();
        let mut next = vec![0.0; dim];
        for &word in &*words {
            let share = dot(&along, word) - at_mean;
            next.iter_mut().zip(vector(word)).zip(&middle).for_each(|((to, &v), m)| *to += share * (f64::from(v) - m));
        }
        along = next;
    }
    sort(words, &along);
    for _ in 0..ROUNDS[1] {
        let (left, right) = (mean(&words[..half]), mean(&words[half..]));
        let before = words.to_vec();
        sort(words, &right.iter().zip(&left).map(|(right, left)| right - left).collect::<Vec<f64>>());
        if words == before {
            break;
        }
    }
    let (left, right) = words.split_at_mut(half);
    if left.len() < ALONE {
        split(vectors, dim, left, ctx)?;
        return split(vectors, dim, right, ctx);
    }
    let (left, right) = rayon::join(|| split(vectors, dim, left, ctx), || split(vectors, dim, right, ctx));
    left.and(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_words_share_their_path_and_probabilities_sum_to_1() {
        // Two groups of two, far apart, and one word between.
        let vectors = [5.0, 1.0, -5.0, 1.0, 5.0, 1.5, -5.0, 1.5, 0.0, 9.0];
        let tree = WordTree::by_vectors(&vectors, 2, &Ctx::new(2, 1).unwrap()).unwrap();
        let path = |word: u32| tree.path(word).collect::<Vec<(u32, bool)>>();
        assert_eq!(path(0)[0], path(2)[0]);
        assert_eq!(path(1)[0], path(3)[0]);
        assert_ne!(path(0)[0], path(1)[0]);
        let nodes: Vec<f32> = (0..4 * 3).map(|i| (i as f32 - 5.0) / 3.0).collect();
        let logs = tree.log_probabilities(&nodes, &[0.5, -2.0]);
        let sum: f64 = logs.iter().map(|&log| f64::from(log).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        for (word, &log) in (0..).zip(&logs) {
            assert!((tree.log_probability(&nodes, &[0.5f32, -2.0], word) - f64::from(log)).abs() < 1e-5);
        }
        // By hand: five leaves are split into 2 and 3.
        assert_eq!(tree.order().len(), 5);
        assert_eq!(path(tree.order()[0]), [(1, false), (0, false)]);
        assert_eq!(path(tree.order()[4]), [(1, true), (2, true), (3, true)]);
        assert!(WordTree::new(vec![0, 0, 1]).is_err());
    }

    #[test]
    fn the_tree_is_the_same_whatever_the_threads() {
        let vectors: Vec<f32> = (0..3000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as f32 / 9e4).collect();
        let tree = |threads| WordTree::by_vectors(&vectors, 3, &Ctx::new(threads, 1).unwrap()).unwrap();
        assert!(tree(1) == tree(2) && tree(2) == tree(8));
    }
}
