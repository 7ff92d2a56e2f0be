//! The Huffman tree over the words, by which hierarchical softmax predicts: a word is the product of the turns that lead to it.
//!
//! As in the C tool of word2vec, the two rarest nodes are joined until one is left, and at each inner node the rarer child is turn 0.
//! Inner nodes are numbered from the root (0), so that those that most words share come first.

/// Inner nodes and turns of every word.
pub(super) struct Huffman {
    /// Offset of the path of each word; one more than there are words.
    starts: Vec<usize>,
    /// Inner nodes from the root on.
    nodes: Vec<u32>,
    /// 1 where the turn is 0: what the logistic function is to say at that node.
    labels: Vec<f32>,
}

impl Huffman {
    /// The tree of at least two words, which come with the most frequent first.
    pub(super) fn new(counts: &[u64]) -> Huffman {
        let n = counts.len();
        // Leaves are numbered by word, inner nodes from `n` in the order in which they are made: the last is the root.
        let mut weights: Vec<u64> = counts.to_vec();
        let (mut parent, mut turn) = (vec![0u32; 2 * n - 1], vec![0u8; 2 * n - 1]);
        let (mut leaf, mut inner) = (n, n);
        for made in n..2 * n - 1 {
            let mut rarest = || {
                let take_leaf = leaf > 0 && (inner >= made || counts[leaf - 1] < weights[inner]);
                if take_leaf {
                    leaf -= 1;
                    leaf
                } else {
                    inner += 1;
                    inner - 1
                }
            };
            let (first, second) = (rarest(), rarest());
            weights.push(weights[first] + weights[second]);
            parent[first] = made as u32;
            parent[second] = made as u32;
            turn[second] = 1;
        }
        let root = 2 * n - 2;
        let mut tree = Huffman { starts: vec![0], nodes: Vec::new(), labels: Vec::new() };
        for word in 0..n {
            let (mut node, from) = (word, tree.nodes.len());
            while node != root {
                tree.labels.push(f32::from(1 - turn[node]));
                node = parent[node] as usize;
                tree.nodes.push((root - node) as u32);
            }
            tree.nodes[from..].reverse();
            tree.labels[from..].reverse();
            tree.starts.push(tree.nodes.len());
        }
        tree
    }

    /// The inner nodes that lead to a word, and what the logistic function is to say at each.
    #[inline(always)]
    pub(super) fn path(&self, word: u32) -> (&[u32], &[f32]) {
        let path = self.starts[word as usize]..self.starts[word as usize + 1];
        (&self.nodes[path.clone()], &self.labels[path])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_tree_drawn_by_hand() {
        // 2 + 3 = 5, 5 + 5 = 10 (the leaf was there first only if rarer: 5 is not below 5), 10 + 9 = 19.
        let tree = Huffman::new(&[9, 5, 3, 2]);
        assert_eq!(tree.path(0), (&[0][..], &[1.0][..]));
        assert_eq!(tree.path(1), (&[0, 1][..], &[0.0, 0.0][..]));
        assert_eq!(tree.path(2), (&[0, 1, 2][..], &[0.0, 1.0, 0.0][..]));
        assert_eq!(tree.path(3), (&[0, 1, 2][..], &[0.0, 1.0, 1.0][..]));
    }

    #[test]
    fn the_weighted_length_of_all_paths_is_least() {
        // Two turns for each word would be 2 x 27 = 54. Here it is 13 x 1 + 7 x 2 + (4 + 3) x 3 = 48.
        let counts = [13, 7, 4, 3];
        let tree = Huffman::new(&counts);
        let lengths = (0..4).map(|word| tree.path(word).0.len() as u64);
        assert_eq!(counts.iter().zip(lengths).map(|(count, length)| count * length).sum::<u64>(), 48);
    }

    #[test]
    fn the_mean_length_is_within_a_bit_of_the_entropy() {
        let counts: Vec<u64> = (1..=500u64).map(|rank| 100_000 / rank).collect();
        let total = counts.iter().sum::<u64>() as f64;
        let tree = Huffman::new(&counts);
        let mean = (0..500).map(|w| counts[w as usize] as f64 * tree.path(w).0.len() as f64).sum::<f64>() / total;
        let entropy = counts.iter().map(|&n| n as f64 / total).map(|p| -p * p.log2()).sum::<f64>();
        assert!((entropy..entropy + 1.0).contains(&mean), "{mean} against {entropy} bits");
        // Kraft's equality: the paths are a whole binary tree.
        assert_eq!((0..500).map(|w| 0.5f64.powi(tree.path(w).0.len() as i32)).sum::<f64>(), 1.0);
    }
}
