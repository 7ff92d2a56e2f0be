//! TextRank (Mihalcea and Tarau 2004): PageRank on a weighted undirected graph of words or sentences.
//!
//! The rank of node `i` solves `r_i = (1 - d) + d x sum_j w_ij / s_j x r_j` with `s_j = sum_k w_jk` (Mihalcea and Tarau 2004,
//! equation 2): each neighbour hands on its rank in proportion to the weight of the edge. Solved by Gauss-Seidel sweeps in
//! the order of the nodes, so that equal graphs give equal bytes.
//!
//! [`rank_sentences`] ranks the sentences of a document by the words they share: the edge between two sentences weighs
//! `common words / (ln |a| + ln |b|)` (section 4.1). There is no edge where that divides by 0, between sentences of one word.

/// Rows of neighbours: node, weight. An edge between two nodes is in both rows.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    starts: Vec<usize>,
    edges: Vec<(u32, f64)>,
    /// Sum of each row's weights.
    strengths: Vec<f64>,
}

/// Share of a rank that comes from neighbours, as in the paper.
pub const DAMPING: f64 = 0.85;

/// Condition that ends the refinement of ranks.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// No rank moves by more than `tolerance` in a sweep; `most` sweeps at the most.
    Settled {
        tolerance: f64,
        most: usize,
    },
    Sweeps(usize),
}

impl Default for Until {
    fn default() -> Until {
        Until::Settled { tolerance: 1e-6, most: 100 }
    }
}

impl Graph {
    /// The graph of `nodes` nodes with these edges, each once, in any order; a node may be joined to itself.
    pub fn new(nodes: usize, edges: &[(u32, u32, f64)]) -> Graph {
        let mut starts = vec![0; nodes + 1];
        let mut ends = |node: u32| starts[node as usize + 1] += 1;
        for &(a, b, _) in edges {
            ends(a);
            if a != b {
                ends(b);
            }
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut rows = vec![(0, 0.0); starts[nodes]];
        let mut put = |from: u32, to: u32, weight: f64| {
            let place = &mut next[from as usize];
            rows[*place] = (to, weight);
            *place += 1;
        };
        for &(a, b, weight) in edges {
            put(a, b, weight);
            if a != b {
                put(b, a, weight);
            }
        }
        let strengths = starts.windows(2).map(|row| rows[row[0]..row[1]].iter().map(|edge| edge.1).sum()).collect();
        Graph { starts, edges: rows, strengths }
    }

    /// Neighbours of a node with the weights of their edges.
    pub fn neighbours(&self, node: usize) -> &[(u32, f64)] {
        &self.edges[self.starts[node]..self.starts[node + 1]]
    }

    /// Sum of the weights at a node.
    pub fn strength(&self, node: usize) -> f64 {
        self.strengths[node]
    }

    /// Ranks, refined from `first` by sweeps over the nodes in this order, and the number of sweeps.
    pub fn rank(&self, damping: f64, first: f64, order: &[u32], until: Until) -> (Vec<f64>, usize) {
        let mut ranks = vec![first; self.strengths.len()];
        let (tolerance, most) = match until {
            Until::Settled { tolerance, most } => (tolerance, most),
            Until::Sweeps(sweeps) => (-1.0, sweeps),
        };
        for sweep in 1..=most {
            let mut moved = 0.0f64;
            for &node in order {
                let handed: f64 = self
                    .neighbours(node as usize)
                    .iter()
                    .map(|&(other, weight)| weight / self.strengths[other as usize] * ranks[other as usize])
                    .sum();
                let rank = (1.0 - damping) + damping * handed;
                moved = moved.max((rank - ranks[node as usize]).abs());
                ranks[node as usize] = rank;
            }
            if moved <= tolerance {
                return (ranks, sweep);
            }
        }
        (ranks, most)
    }
}

/// Ranks of a document's sentences, each given as the numbers of its words, which are below `words`.
pub fn rank_sentences(sentences: Vec<Vec<u32>>, words: usize, damping: f64, until: Until) -> Vec<f64> {
    // The distinct words of each sentence, ascending, and the logarithm of its length.
    let sentences: Vec<(Vec<u32>, f64)> = sentences
        .into_iter()
        .map(|mut found| {
            let length = found.len() as f64;
            found.sort_unstable();
            found.dedup();
            (found, length.ln())
        })
        .collect();
    // The sentences with each word, from the last to the first, so that those behind a sentence come first.
    let mut with_word: Vec<Vec<u32>> = vec![Vec::new(); words];
    let mut common = vec![0u32; sentences.len()];
    let mut touched = Vec::new();
    let mut edges = Vec::new();
    for (i, (found, length)) in sentences.iter().enumerate().rev() {
        for &word in found {
            for &other in &with_word[word as usize] {
                if common[other as usize] == 0 {
                    touched.push(other);
                }
                common[other as usize] += 1;
            }
            with_word[word as usize].push(i as u32);
        }
        touched.sort_unstable();
        for other in touched.drain(..) {
            let shared = std::mem::take(&mut common[other as usize]);
            let lengths = length + sentences[other as usize].1;
            if lengths > 0.0 {
                edges.push((i as u32, other, f64::from(shared) / lengths));
            }
        }
    }
    let order: Vec<u32> = (0..sentences.len() as u32).collect();
    Graph::new(sentences.len(), &edges).rank(damping, 1.0, &order, until).0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLED: Until = Until::Settled { tolerance: 1e-13, most: 1000 };

    #[test]
    fn similarities_of_sentences_are_as_in_the_paper() {
        // Three sentences of 3, 2 and 2 words; the first shares one word with each of the others, which share none.
        let ranks = rank_sentences(vec![vec![0, 1, 2], vec![1, 3], vec![2, 4]], 5, DAMPING, SETTLED);
        // Equal weights 1 / (ln 3 + ln 2): the first is the hub of a star with two leaves.
        let hub = 0.15 * (1.0 + 1.7) / (1.0 - 0.7225);
        assert!((ranks[0] - hub).abs() < 1e-12, "{ranks:?}");
        assert!((ranks[1] - (0.15 + 0.85 * hub / 2.0)).abs() < 1e-12 && ranks[1] == ranks[2]);
    }

    #[test]
    fn sentences_that_share_nothing_or_are_one_word_stand_alone() {
        let sentences = vec![vec![0], vec![0], vec![], vec![1, 2]];
        assert_eq!(rank_sentences(sentences, 3, DAMPING, Until::default()), [1.0 - 0.85; 4]);
    }

    #[test]
    fn ranks_of_a_star_equal_the_solution_by_hand() {
        // Hub 0 with leaves 1, 2, 3: h = .15 + .85 x 3 l and l = .15 + .85 h / 3, so h = .15 (1 + 2.55) / (1 - .7225).
        let graph = Graph::new(4, &[(0, 1, 1.0), (0, 2, 1.0), (3, 0, 1.0)]);
        let (ranks, sweeps) = graph.rank(0.85, 1.0, &[0, 1, 2, 3], SETTLED);
        let hub = 0.15 * 3.55 / (1.0 - 0.7225);
        assert!((ranks[0] - hub).abs() < 1e-12, "{ranks:?}");
        assert!((ranks[1] - (0.15 + 0.85 * hub / 3.0)).abs() < 1e-12);
        assert!((1..1000).contains(&sweeps));
        assert_eq!(graph.strength(0), 3.0);
    }

    #[test]
    fn weights_divide_a_rank_and_a_lonely_node_keeps_the_rest() {
        // 0 - 1 with weight 1, 1 - 2 with weight 3, 3 alone.
        let graph = Graph::new(4, &[(0, 1, 1.0), (1, 2, 3.0)]);
        let (r, _) = graph.rank(0.85, 1.0, &[0, 1, 2, 3], SETTLED);
        assert!((r[0] - (0.15 + 0.85 * 0.25 * r[1])).abs() < 1e-12);
        assert!((r[2] - (0.15 + 0.85 * 0.75 * r[1])).abs() < 1e-12);
        assert!((r[1] - (0.15 + 0.85 * (r[0] + r[2]))).abs() < 1e-12);
        assert_eq!(r[3], 1.0 - 0.85);
        let (other, _) = graph.rank(0.85, 7.0, &[3, 1, 2, 0], SETTLED);
        assert!(r.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-11), "neither start nor order matters");
    }
}
