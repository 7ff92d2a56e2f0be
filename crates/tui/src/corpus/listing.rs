//! Which documents the table lists, in which order: filtered, found, sorted, and repeats folded into what they repeat.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rustc_hash::{FxHashMap, FxHashSet};

use super::catalogue::{Catalogue, PartSlot};
use super::filter::Filter;
use super::order::{Ranks, SortOrder};
use inkstone_base::job::Ctx;

#[derive(Clone, Debug, Default)]
pub(crate) struct Recipe {
    pub filter: Filter,
    /// Documents found by the search, ascending; none without one.
    pub found: Option<Arc<Vec<u32>>>,
    /// Documents of a ranking, the best first, which goes before the order.
    pub ranked: Option<Arc<Vec<u32>>>,
    pub order: SortOrder,
    /// True if repeats are folded into what they repeat.
    pub folded: bool,
    /// The documents whose repeats are unfolded.
    pub open: BTreeSet<u32>,
    /// True if marked documents alone are listed.
    pub only_marked: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Numbers of the documents, in the order of the table.
    pub rows: Vec<u32>,
    /// Number of documents that a document stands for, itself among them, if there are more and repeats are folded.
    pub counts: FxHashMap<u32, u32>,
    /// Documents that stand below the one that stands for them.
    pub below: FxHashSet<u32>,
}

impl Listing {
    /// Makes the list of the documents that have been read.
    pub(super) fn make(catalogue: &Catalogue, recipe: &Recipe, ranks: &Ranks, ctx: &Ctx) -> Result<Listing> {
        ctx.install(|| {
            let rows = passing(catalogue, recipe, ctx)?;
            ctx.check()?;
            let damaged = damaged(catalogue, recipe);
            if !recipe.folded {
                let rows = [damaged, sorted(rows, recipe, ranks, catalogue)].concat();
                return Ok(Listing { rows, ..Listing::default() });
            }
            let mut folds = Folds::new(rows, ranks.first_mentions(catalogue));
            ctx.check()?;
            let rows = sorted(std::mem::take(&mut folds.heads), recipe, ranks, catalogue);
            Ok(folds.open([damaged, rows].concat(), &recipe.open))
        })
    }

    pub(super) fn line_of(&self, row: u32) -> Option<usize> {
        self.rows.iter().position(|listed| *listed == row)
    }
}

/// Documents by a ranking, else in the order of the recipe.
fn sorted(mut rows: Vec<u32>, recipe: &Recipe, ranks: &Ranks, catalogue: &Catalogue) -> Vec<u32> {
    let Some(ranked) = &recipe.ranked else { return ranks.sort(rows, &recipe.order, catalogue) };
    let places: FxHashMap<u32, usize> = ranked.iter().enumerate().map(|(place, row)| (*row, place)).collect();
    rows.sort_by_key(|row| (places.get(row).copied().unwrap_or(usize::MAX), *row));
    rows
}

/// The first document of each part that cannot be read: its line says why, above a list of all that can.
fn damaged(catalogue: &Catalogue, recipe: &Recipe) -> Vec<u32> {
    let all = recipe.filter.is_empty() && recipe.found.is_none() && !recipe.only_marked;
    let is_damaged = |part: &usize| matches!(catalogue.slot(*part), PartSlot::Damaged(_));
    let parts = (0..catalogue.parts()).filter(is_damaged).filter(|_| all);
    parts.map(|part| catalogue.start(part)).collect()
}

/// The documents that pass the filter and were found, ascending.
fn passing(catalogue: &Catalogue, recipe: &Recipe, ctx: &Ctx) -> Result<Vec<u32>> {
    let found = recipe.found.as_ref().map(|found| found.as_slice());
    let of_part = |i: usize| -> Result<Vec<u32>> {
        ctx.check()?;
        let PartSlot::Read(part) = catalogue.slot(i) else { return Ok(Vec::new()) };
        let start = catalogue.start(i);
        let numbers = start..start + part.len() as u32;
        let found = found.map(|found| {
            let [from, to] = [numbers.start, numbers.end].map(|end| found.partition_point(|row| *row < end));
            &found[from..to]
        });
        if found.is_some_and(<[_]>::is_empty) {
            return Ok(Vec::new());
        }
        if recipe.filter.is_empty() && !recipe.only_marked {
            return Ok(found.map_or_else(|| numbers.collect(), <[_]>::to_vec));
        }
        let passes = recipe.filter.passing(catalogue, i, part);
        let marked = |row: usize| !recipe.only_marked || catalogue.facts.marks.contains(&part.ids()[row]);
        let passes = |row: &u32| passes[(row - start) as usize] && marked((row - start) as usize);
        Ok(match found {
            Some(found) => found.iter().copied().filter(passes).collect(),
            None => numbers.filter(passes).collect(),
        })
    };
    let parts: Vec<Vec<u32>> = (0..catalogue.parts()).into_par_iter().map(of_part).collect::<Result<_>>()?;
    Ok(parts.concat())
}

/// Documents gathered under those that stand for them.
struct Folds {
    /// Documents that stand for themselves or for several, ascending.
    heads: Vec<u32>,
    others: FxHashMap<u32, Vec<u32>>,
}

impl Folds {
    /// The first mention stands for what repeats it; where the list is without it, the first of the others does.
    fn new(rows: Vec<u32>, first_mentions: &FxHashMap<u32, u32>) -> Folds {
        let repeated: FxHashSet<u32> = first_mentions.values().copied().collect();
        let listed: FxHashSet<u32> = rows.iter().copied().filter(|row| repeated.contains(row)).collect();
        let mut stands_for: FxHashMap<u32, u32> = FxHashMap::default();
        let mut folds = Folds { heads: Vec::with_capacity(rows.len()), others: FxHashMap::default() };
        for row in rows {
            let head = match first_mentions.get(&row) {
                None => row,
                Some(first) if listed.contains(first) => *first,
                Some(first) => *stands_for.entry(*first).or_insert(row),
            };
            if head == row {
                folds.heads.push(row);
            } else {
                folds.others.entry(head).or_default().push(row);
            }
        }
        folds
    }

    /// The list of the sorted heads, with the others of some below them.
    fn open(self, heads: Vec<u32>, open: &BTreeSet<u32>) -> Listing {
        let counts = self.others.iter().map(|(head, others)| (*head, others.len() as u32 + 1)).collect();
        let unfolded = || open.iter().filter_map(|head| self.others.get(head));
        let below: FxHashSet<u32> = unfolded().flatten().copied().collect();
        if below.is_empty() {
            return Listing { rows: heads, counts, below };
        }
        let mut rows = Vec::with_capacity(heads.len() + below.len());
        for head in heads {
            rows.push(head);
            if open.contains(&head) {
                rows.extend(self.others.get(&head).into_iter().flatten());
            }
        }
        Listing { rows, counts, below }
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::tests::catalogue;
    use super::super::order::By;
    use super::*;
    use inkstone_base::data::Kind;

    fn listed(recipe: &Recipe) -> Listing {
        let catalogue = catalogue(&[
            &[(30, "a", Kind::News, "一", None), (20, "b", Kind::News, "二", Some(3))],
            &[(10, "c", Kind::Post, "三", Some(3)), (40, "d", Kind::Report, "四", None)],
        ]);
        Listing::make(&catalogue, recipe, &Ranks::default(), &Ctx::new(1, 0).unwrap()).unwrap()
    }

    #[test]
    fn filter_search_and_order_work_together() {
        let order = SortOrder { by: By::Time, descending: false };
        assert_eq!(listed(&Recipe { order: order.clone(), ..Recipe::default() }).rows, [2, 1, 0, 3]);
        let filter = Filter::parse("kind:news", &[]).unwrap();
        assert_eq!(listed(&Recipe { order: order.clone(), filter: filter.clone(), ..Recipe::default() }).rows, [1, 0]);
        let found = Some(Arc::new(vec![0, 2, 3]));
        assert_eq!(listed(&Recipe { order, filter, found: found.clone(), ..Recipe::default() }).rows, [0]);
        assert_eq!(listed(&Recipe { found: found.clone(), ..Recipe::default() }).rows, [0, 2, 3]);
        let ranked = Some(Arc::new(vec![3, 0, 2]));
        let by_rank = Recipe { found: found.clone(), ranked, ..Recipe::default() };
        assert_eq!(listed(&by_rank).rows, [3, 0, 2], "the ranking goes before the order");
        assert!(listed(&Recipe { found: Some(Arc::default()), ..Recipe::default() }).rows.is_empty());
    }

    #[test]
    fn repeats_are_folded_into_their_first_mention_and_unfold_below_it() {
        let folded = Recipe { folded: true, ..Recipe::default() };
        let listing = listed(&folded);
        assert_eq!(listing.rows, [0, 3], "the first mention stands in a later part than what repeats it");
        assert_eq!(listing.counts.into_iter().collect::<Vec<_>>(), [(3, 3)]);
        let order = SortOrder { by: By::Time, descending: true };
        let listing = listed(&Recipe { order, open: BTreeSet::from([3]), ..folded.clone() });
        assert_eq!(listing.rows, [3, 1, 2, 0]);
        assert_eq!((listing.line_of(2), listing.below.len()), (Some(2), 2));
        let listing = listed(&Recipe { filter: Filter::parse("-kind:report", &[]).unwrap(), ..folded });
        assert_eq!(listing.rows, [0, 1], "without the first mention the first of the others stands for them");
        assert_eq!(listing.counts[&1], 2);
    }
}
