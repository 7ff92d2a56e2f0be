//! The columns of the list of sets.

use super::listing::{FeatureListing, FeatureSet, FeatureState};
use super::view::{bytes, style_of};
use super::words as w;
use crate::desk::Desk;
use crate::figures;
use crate::kit::{Cell, ListSheet, SheetRow, Value, number, text};
use crate::words::Word;
use inkstone_store::RowKind;

/// Lists the sets.
pub(super) fn fill(sheet: &mut ListSheet, listing: &FeatureListing, desk: &Desk<'_>) {
    sheet.fill((), desk.language, || {
        let columns = vec![
            text("name", w::NAME, 0),
            text("model", w::MODEL, 8),
            number("columns", w::COLUMNS, 6),
            number("rows", w::ROWS, 10),
            number("coverage", w::COVERAGE, 6),
            number("size", w::SIZE, 9),
            text("state", w::STATE, 10),
            text("seen", w::SEEN, 10),
            number("folds", w::FOLDS, 6).where_wide(),
            text("key", w::KEY, 8).where_wide(),
            number("filled", w::WITH_VALUE, 10).hidden(),
        ];
        let row = |set: &FeatureSet| {
            let filled = set.filled.or(set.rows);
            let coverage = filled.map_or(f64::NAN, |filled| 100.0 * filled as f64 / listing.documents as f64);
            let cells = vec![
                Cell::text(set.name.clone()),
                Cell::text(set.model.clone()),
                match set.kind {
                    Some(RowKind::Dense { dim }) => Cell::count(Some(dim as u64)),
                    Some(RowKind::Sparse) => Cell::text(desk.say(w::SPARSE)),
                    None => Cell::count(None),
                },
                Cell::count(set.rows),
                Cell::number(coverage, |share| figures::number(share, 1)),
                set.bytes.map_or_else(|| Cell::count(None), |size| Cell::count(Some(size)).shown(bytes(size))),
                Cell::text(desk.say(state_word(set.state))),
                set.fitted_until.map_or_else(|| Cell::count(None), |time| Cell::of(Value::Time(time))),
                Cell::count(Some(set.folds as u64).filter(|folds| *folds > 0)),
                set.id.map_or_else(|| Cell::count(None), |id| Cell::text(id.hex()).shown(&id.hex()[..8])),
                Cell::count(filled),
            ];
            SheetRow { key: set.name.clone(), style: style_of(set.state), cells }
        };
        (columns, listing.sets.iter().map(row).collect())
    });
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
