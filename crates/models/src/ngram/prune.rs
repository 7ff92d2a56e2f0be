//! Leaving out n-grams that were seen too rarely, as `lmplz --prune` does.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::trie::{Level, Trie};

use inkstone_base::ensure;

/// The n-grams that are left out.
///
/// One limit for each length, the last standing for all longer ones: n-grams seen that often or less are left out (`0,0,1`: those of
/// three and more words that were seen once). Limits never fall from one length to the next, so an n-gram that stays keeps
/// its beginning and its end; single words always stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pruning(pub Vec<u32>);

impl Pruning {
    /// The limit of each length up to `order`.
    pub(super) fn limits(&self, order: usize) -> Result<Vec<u32>> {
        let limits = &self.0;
        let written = || limits.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        ensure!(
            limits.len() <= order,
            "--prune {} 有 {} 个长度的下限，而 --order 为 {order}：最多写 {order} 个",
            "--prune {} has limits for {} lengths of n-grams, and --order is {order}: write at most {order}",
            written(),
            limits.len()
        );
        ensure!(
            limits.first().is_none_or(|&first| first == 0),
            "--prune {} 会去掉单个词，而模型不能没有它们：请以 0 开头",
            "--prune {} would leave out single words, which a model cannot do without: begin with 0",
            written()
        );
        ensure!(
            limits.is_sorted(),
            "--prune {} 随长度下降：长的 n 元组不能没有它的开头，请写递增的下限",
            "--prune {} falls from one length to the next: a longer n-gram cannot stay without its beginning, so write limits that rise",
            written()
        );
        let last = limits.last().copied().unwrap_or(0);
        Ok((0..order).map(|n| limits.get(n).copied().unwrap_or(last)).collect())
    }
}

/// The trie without what is `pruned`, and the values of what stays. What loses all continuations is no context any more: it weighs 1.
pub(super) fn prune(trie: Trie, log10: &mut [Vec<f32>], backoff: &mut [Vec<f32>], pruned: &[Vec<bool>]) -> Trie {
    let mut levels: Vec<Level> = Vec::with_capacity(trie.order());
    // For each old entry of the level below, how many before it stayed: its new entry, if it did.
    let mut below: Vec<u32> = Vec::new();
    for (n, level) in trie.levels.into_iter().enumerate() {
        let gone = &pruned[n];
        let mut before = vec![0];
        before.extend(gone.iter().scan(0, |stayed, &gone| {
            *stayed += u32::from(!gone);
            Some(*stayed)
        }));
        if let Some(shorter) = levels.last_mut() {
            // Entries that stay on the level below still name old entries of this level.
            shorter.first_child.iter_mut().for_each(|child| *child = before[*child as usize]);
        }
        log10[n] = kept(&log10[n], gone);
        if let Some(weights) = backoff.get_mut(n) {
            *weights = kept(weights, gone);
        }
        let mut first_child = kept(&level.first_child, gone);
        first_child.extend(level.first_child.last());
        let suffix = kept(&level.suffix, gone).into_iter().map(|entry| below[entry as usize]).collect();
        levels.push(Level { word: kept(&level.word, gone), first_child, suffix });
        below = before;
    }
    Trie { levels }
}

fn kept<T: Copy>(values: &[T], gone: &[bool]) -> Vec<T> {
    values.iter().zip(gone).filter(|(_, gone)| !**gone).map(|(&value, _)| value).collect()
}
