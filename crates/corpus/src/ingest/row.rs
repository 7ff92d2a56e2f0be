//! Rows as every format gives them.

use chrono::NaiveDateTime;

/// Bytes of a batch, roughly, at the most.
pub(super) const BATCH_BYTES: usize = 8 << 20;

/// Why a row cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowFault {
    pub(super) column: String,
    pub(super) reason: String,
    pub(super) value: String,
    /// Time at which a fault that lies in a time of the future ends.
    pub(super) until: Option<NaiveDateTime>,
    /// True if the row is of the sealed period: it is counted, and nothing of it is kept.
    pub(super) is_sealed: bool,
}

impl RowFault {
    pub(super) fn new(column: impl Into<String>, reason: impl Into<String>, value: &str) -> RowFault {
        // The value is there to be recognised; the whole row is kept beside it.
        let value = value.chars().take(200).collect();
        RowFault { column: column.into(), reason: reason.into(), value, until: None, is_sealed: false }
    }

    /// A row of the sealed period.
    pub(super) fn sealed() -> RowFault {
        RowFault { is_sealed: true, ..RowFault::new("", "sealed", "") }
    }
}

pub(super) type Cells = Vec<Option<String>>;

/// One row: its number from 1, its cells or its fault, and the bytes it was cut from (none for Excel and files of one
/// document but text; of Parquet the beginning of a row that is too long).
#[derive(Debug)]
pub(super) struct SourceRow {
    pub(super) number: u64,
    pub(super) cells: Result<Cells, RowFault>,
    pub(super) bytes: Vec<u8>,
}
