//! Walks over the fields of one delimited row, byte by byte, as RFC 4180 quotes them.
//!
//! In encodings with two-byte characters, second bytes are skipped ([`step`]): they may look like a delimiter.

use std::borrow::Cow;

use memchr::memchr2;

use inkstone_base::limits::COLUMNS;

/// State of the walk over a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkState {
    FieldStart,
    Bare,
    Quoted,
    /// Behind a quote inside quotes: the closing one, or the first half of a doubled one.
    Quote,
}

/// Result of a walk over a row.
pub(super) struct Walked {
    pub(super) at: WalkState,
    /// True if nothing followed a closing quote but a delimiter or the line's end.
    pub(super) strict: bool,
    /// True if a quote stands in the middle of a field that is not quoted.
    pub(super) bare_quote: bool,
    /// Bytes of the row with its line end, once that was reached.
    pub(super) end: Option<usize>,
}

/// Bytes that a character takes here: two when its second byte may look like ASCII.
pub(super) fn step(bytes: &[u8], i: usize, wide: bool) -> usize {
    let leads = wide && (0x81..=0xfe).contains(&bytes[i]);
    if leads && bytes.get(i + 1).is_some_and(|b| *b >= 0x30) { 2 } else { 1 }
}

/// Bytes of a row with its line end, where no quote stands in it.
pub(super) fn plain_row(bytes: &[u8]) -> Option<usize> {
    memchr2(b'"', b'\n', bytes).filter(|&at| bytes[at] == b'\n').map(|at| at + 1)
}

/// Walks over a row; `field` is called with each byte that belongs to a field and at each delimiter (`None`).
pub(super) fn walk(bytes: &[u8], delimiter: u8, wide: bool, mut field: impl FnMut(Option<&[u8]>)) -> Walked {
    let (mut at, mut strict, mut bare_quote) = (WalkState::FieldStart, true, false);
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        let n = step(bytes, i, wide).min(bytes.len() - i);
        match (at, b) {
            (WalkState::Quoted, b'"') => at = WalkState::Quote,
            (WalkState::Quoted, _) => field(Some(&bytes[i..i + n])),
            (WalkState::Quote, b'"') => {
                field(Some(b"\""));
                at = WalkState::Quoted;
            }
            (WalkState::FieldStart, b'"') => at = WalkState::Quoted,
            (_, b'\n') => return Walked { at, strict, bare_quote, end: Some(i + 1) },
            (_, b) if b == delimiter => {
                field(None);
                at = WalkState::FieldStart;
            }
            _ => {
                bare_quote |= b == b'"';
                strict &= at != WalkState::Quote || b == b'\r';
                field(Some(&bytes[i..i + n]));
                at = WalkState::Bare;
            }
        }
        i += n;
    }
    Walked { at, strict, bare_quote, end: None }
}

pub(super) fn ends_in_quotes(bytes: &[u8], delimiter: u8, wide: bool) -> bool {
    walk(bytes, delimiter, wide, |_| {}).at == WalkState::Quoted
}

/// The fields of a row, unquoted; of more than any table has, the last holds all that follows.
pub(super) fn split_row(bytes: &[u8], delimiter: u8, wide: bool) -> Vec<Cow<'_, [u8]>> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if !wide && memchr2(b'"', b'\n', bytes).is_none() {
        return bytes.splitn(COLUMNS + 1, |b| *b == delimiter).map(Cow::Borrowed).collect();
    }
    let mut fields = vec![Vec::new()];
    walk(bytes, delimiter, wide, |piece| match piece {
        None if fields.len() > COLUMNS => {}
        None => fields.push(Vec::new()),
        Some(piece) => fields.last_mut().into_iter().for_each(|f| f.extend_from_slice(piece)),
    });
    fields.into_iter().map(Cow::Owned).collect()
}

/// Length of the first line, its line end included.
pub(super) fn line_end(bytes: &[u8]) -> usize {
    bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| i + 1)
}
