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
}

impl RowFault {
    pub(super) fn new(column: impl Into<String>, reason: impl Into<String>, value: &str) -> RowFault {
        // The value is there to be recognised; the whole row is kept beside it.
        RowFault { column: column.into(), reason: reason.into(), value: value.chars().take(200).collect(), until: None }
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
