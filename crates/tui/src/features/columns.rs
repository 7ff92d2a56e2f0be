//! The columns of the list of sets.

use super::listing::{FeatureListing, FeatureState};
use super::view::bytes;
use super::words as w;
use crate::figures;
use crate::kit::{Cell, Column, TableKind, Value};
use crate::words::Word;
use inkstone_store::RowKind;

pub(super) fn table() -> TableKind<FeatureListing> {
    let columns = vec![
        Column::text("name", w::NAME, 0, |listing: &FeatureListing, row, _| Cell::text(&*listing.sets[row].name)),
        Column::text("model", w::MODEL, 8, |listing: &FeatureListing, row, _| Cell::text(&*listing.sets[row].model)),
        Column::number("columns", w::COLUMNS, 6, |listing: &FeatureListing, row, language| {
            match listing.sets[row].kind {
                Some(RowKind::Dense { dim }) => Cell::count(Some(dim as u64)),
                Some(RowKind::Sparse) => Cell::text(w::SPARSE.to(language)),
                None => Cell::count(None),
            }
        }),
        Column::number("rows", w::ROWS, 10, |listing: &FeatureListing, row, _| Cell::count(listing.sets[row].rows)),
        Column::number("coverage", w::COVERAGE, 6, |listing: &FeatureListing, row, _| {
            let filled = listing.sets[row].filled.or(listing.sets[row].rows);
            let share = filled.map_or(f64::NAN, |filled| 100.0 * filled as f64 / listing.documents as f64);
            Cell::number(share, |share| figures::number(share, 1))
        }),
        Column::number("size", w::SIZE, 9, |listing: &FeatureListing, row, _| {
            let size = listing.sets[row].bytes;
            size.map_or_else(|| Cell::count(None), |size| Cell::count(Some(size)).shown(bytes(size)))
        }),
        Column::text("state", w::STATE, 10, |listing: &FeatureListing, row, language| {
            Cell::text(state_word(listing.sets[row].state).to(language))
        }),
        Column::text("seen", w::SEEN, 10, |listing: &FeatureListing, row, _| {
            listing.sets[row].fitted_until.map_or_else(|| Cell::count(None), |time| Cell::of(Value::Time(time)))
        }),
        Column::number("folds", w::FOLDS, 6, |listing: &FeatureListing, row, _| {
            Cell::count(Some(listing.sets[row].folds as u64).filter(|folds| *folds > 0))
        })
        .where_wide(),
        Column::text("key", w::KEY, 8, |listing: &FeatureListing, row, _| {
            listing.sets[row].id.map_or_else(|| Cell::count(None), |id| Cell::text(id.hex()).shown(&id.hex()[..8]))
        })
        .where_wide(),
        Column::number("filled", w::WITH_VALUE, 10, |listing: &FeatureListing, row, _| {
            Cell::count(listing.sets[row].filled.or(listing.sets[row].rows))
        })
        .hidden(),
    ];
    TableKind { columns, key: |listing, row| listing.sets[row].name.clone() }
}

fn state_word(state: FeatureState) -> Word {
    match state {
        FeatureState::Current => w::CURRENT,
        FeatureState::Stale => w::STALE,
        FeatureState::Missing => w::MISSING,
        FeatureState::OfChecks => w::OF_CHECKS,
        FeatureState::Unused => w::UNUSED,
    }
}
