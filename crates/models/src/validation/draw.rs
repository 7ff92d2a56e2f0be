//! The three ways in which folds are drawn.

use anyhow::Result;
use chrono::{Days, NaiveDateTime};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{FoldParams, FoldRows, Split};

use inkstone_base::ensure;

/// Rows of each class are shuffled and dealt out in turn, one class after the other, so that folds differ by one row at the
/// most in each class and in all.
pub(super) fn by_class(class: &[u32], folds: usize, seed: u64) -> Vec<Split> {
    let mut order: Vec<usize> = (0..class.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order.sort_by_key(|&i| class[i]);
    let mut fold = vec![0; class.len()];
    order.iter().enumerate().for_each(|(at, &i)| fold[i] = at % folds);
    (0..folds).map(|f| split(&fold, f)).collect()
}

/// Whole groups, the largest first, each to the fold where it leaves the classes most evenly spread.
pub(super) fn by_group(class: &[u32], groups: &[u64], folds: usize, seed: u64) -> Result<Vec<Split>> {
    let classes = class.iter().max().map_or(0, |&c| c as usize + 1);
    let mut number: FxHashMap<u64, usize> = FxHashMap::default();
    let mut counts: Vec<Vec<f64>> = Vec::new();
    let mut group_of = Vec::with_capacity(groups.len());
    for (group, &c) in groups.iter().zip(class) {
        let at = *number.entry(*group).or_insert(counts.len());
        if at == counts.len() {
            counts.push(vec![0.0; classes]);
        }
        counts[at][c as usize] += 1.0;
        group_of.push(at);
    }
    ensure!(
        counts.len() >= folds,
        "{} 组不能分到 {folds} 折，因为一组不能拆开；请减少折数",
        "{} groups cannot be spread over {folds} folds, since a group is never split; use fewer folds",
        counts.len()
    );
    let total: Vec<f64> = (0..classes).map(|c| counts.iter().map(|g| g[c]).sum::<f64>().max(1.0)).collect();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order.sort_by(|&a, &b| counts[b].iter().sum::<f64>().total_cmp(&counts[a].iter().sum::<f64>()));
    let mut filled = vec![vec![0.0; classes]; folds];
    let mut rows = vec![0.0f64; folds];
    let mut fold_of_group = vec![0; counts.len()];
    for group in order {
        // The rise of the sum of squared shares; of equals the fold with fewer rows, so that none stays empty.
        let rise = |f: usize| -> f64 {
            (0..classes)
                .map(|c| counts[group][c] * (2.0 * filled[f][c] + counts[group][c]) / (total[c] * total[c]))
                .sum()
        };
        let best = (0..folds)
            .min_by(|&a, &b| rise(a).total_cmp(&rise(b)).then(rows[a].total_cmp(&rows[b])))
            .expect("there are at least two folds");
        fold_of_group[group] = best;
        filled[best].iter_mut().zip(&counts[group]).for_each(|(all, n)| *all += n);
        rows[best] += counts[group].iter().sum::<f64>();
    }
    let fold: Vec<usize> = group_of.iter().map(|&group| fold_of_group[group]).collect();
    Ok((0..folds).map(|f| split(&fold, f)).collect())
}

/// Stretches of time with about as many rows each; rows of one moment are never parted.
pub(super) fn by_time(rows: &FoldRows, params: &FoldParams) -> Result<Vec<Split>> {
    let n = rows.spans.len();
    if let Some(i) = rows.spans.iter().position(|(start, end)| end < start) {
        let (start, end) = rows.spans[i];
        inkstone_base::bail!(
            "第 {i} 行始于 {start}，在其标签已知（{end}）之后",
            "row {i} begins {start}, after its label was known ({end})"
        );
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| (rows.spans[i].0, i));
    let mut fold = vec![0; n];
    let (mut at, mut done) = (0, 0);
    for moment in order.chunk_by(|&a, &b| rows.spans[a].0 == rows.spans[b].0) {
        // The next fold begins when this one has its share.
        while at + 1 < params.folds && done * params.folds >= (at + 1) * n {
            at += 1;
        }
        moment.iter().for_each(|&i| fold[i] = at);
        done += moment.len();
    }
    let embargo = Days::new(u64::from(params.embargo_days));
    let purge = |f: usize| {
        let mut split = split(&fold, f);
        let spans = || split.test.iter().map(|&i| rows.spans[i]);
        let (Some(first), Some(last)) = (spans().map(|s| s.0).min(), spans().map(|s| s.1).max()) else { return split };
        // An embargo beyond the calendar never ends.
        let free_after = last.checked_add_days(embargo).unwrap_or(NaiveDateTime::MAX);
        let tested: FxHashSet<u64> = split.test.iter().filter_map(|&i| rows.groups.get(i).copied()).collect();
        let (mut purged, mut grouped) = (0, 0);
        split.train.retain(|&i| {
            let (start, end) = rows.spans[i];
            let apart = end < first || start > free_after;
            let strange = rows.groups.get(i).is_none_or(|group| !tested.contains(group));
            purged += usize::from(!apart);
            grouped += usize::from(apart && !strange);
            apart && strange
        });
        Split { purged, grouped, ..split }
    };
    Ok((0..params.folds).map(purge).collect())
}

fn split(fold: &[usize], f: usize) -> Split {
    let (test, train) = (0..fold.len()).partition(|&i| fold[i] == f);
    Split { train, test, ..Split::default() }
}
