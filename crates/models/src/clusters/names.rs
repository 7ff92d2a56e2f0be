//! Names of clusters: the words that are frequent in one and rare in the others.

use rustc_hash::FxHashMap;

/// Counts of words by cluster.
#[derive(Clone, Debug)]
pub struct ThemeWords {
    /// Counts of a word in each cluster.
    counts: FxHashMap<Box<str>, Vec<u32>>,
    totals: Vec<u64>,
}

impl ThemeWords {
    pub fn new(k: usize) -> ThemeWords {
        ThemeWords { counts: FxHashMap::default(), totals: vec![0; k] }
    }

    /// Counts a word of a document of a cluster.
    pub fn add(&mut self, cluster: usize, word: &str) {
        self.totals[cluster] += 1;
        match self.counts.get_mut(word) {
            Some(counts) => counts[cluster] += 1,
            None => {
                let mut counts = vec![0; self.totals.len()];
                counts[cluster] = 1;
                self.counts.insert(word.into(), counts);
            }
        }
    }

    /// The `most` words of each cluster with the largest c-TF-IDF, which is `share of the word in the cluster x ln(1 + A / f)`: `A` = words of
    /// a cluster on average, `f` = occurrences of the word in all clusters. Equal ones in the order of their characters.
    pub fn names(&self, most: usize) -> Vec<Vec<(String, f64)>> {
        let mean = self.totals.iter().sum::<u64>() as f64 / self.totals.len().max(1) as f64;
        let mut names: Vec<Vec<(String, f64)>> = vec![Vec::new(); self.totals.len()];
        for (word, counts) in &self.counts {
            let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
            let rarity = (1.0 + mean / all as f64).ln();
            for (cluster, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let weight = f64::from(*count) / self.totals[cluster] as f64 * rarity;
                names[cluster].push((word.to_string(), weight));
            }
        }
        for words in &mut names {
            words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            words.truncate(most);
        }
        names
    }
}
