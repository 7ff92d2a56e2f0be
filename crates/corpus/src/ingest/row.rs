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

/// The cells of a row, one for each column of its file, as one text with the place of each cell in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cells {
    text: String,
    places: Vec<Option<(usize, usize)>>,
}

impl Cells {
    pub(super) fn with_capacity(cells: usize, bytes: usize) -> Cells {
        Cells { text: String::with_capacity(bytes), places: Vec::with_capacity(cells) }
    }

    pub(super) fn push(&mut self, cell: Option<&str>) {
        let start = self.text.len();
        self.text.push_str(cell.unwrap_or_default());
        self.places.push(cell.map(|_| (start, self.text.len())));
    }

    pub(super) fn get(&self, column: usize) -> Option<&str> {
        let (start, end) = (*self.places.get(column)?)?;
        Some(&self.text[start..end])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.places.len()).map(|column| self.get(column))
    }
}

impl<T: AsRef<str>> FromIterator<Option<T>> for Cells {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(cells: I) -> Cells {
        let mut all = Cells::default();
        cells.into_iter().for_each(|cell| all.push(cell.as_ref().map(AsRef::as_ref)));
        all
    }
}

/// One row: its number from 1, its cells or its fault, and the bytes it was cut from (none for Excel and files of one
/// document but text; of Parquet the beginning of a row that is too long).
#[derive(Debug)]
pub(super) struct SourceRow {
    pub(super) number: u64,
    pub(super) cells: Result<Cells, RowFault>,
    pub(super) bytes: Vec<u8>,
}
