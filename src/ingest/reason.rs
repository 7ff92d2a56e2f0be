//! Why rows are set aside, in the words of the rejects file, the log and every report.
//!
//! Other reasons exist (a price that is not positive, a number that is none); these are the ones that more than one module,
//! or the truth of the demo market, has to word in the same way.

/// A document with neither title nor body.
pub const EMPTY_TEXT: &str = "empty title and body";
/// The id is that of an earlier document of the project.
pub const DUPLICATE_ID: &str = "duplicate id";
/// A day or a time of day that the calendar does not have.
pub const NO_SUCH_TIME: &str = "no such date or time";
/// Later than anything that can have been read.
pub const FUTURE_TIME: &str = "time in the future";
/// More or fewer fields than the header has columns.
pub const FIELD_COUNT: &str = "wrong number of fields";
/// A JSON text that ends too early.
pub const JSON_CUT_SHORT: &str = "not JSON: cut short";
/// A text that is no JSON for another reason.
pub const JSON_SYNTAX: &str = "not JSON: syntax";

/// Bytes that the file's encoding, by its name, does not have.
pub fn not_in(encoding: &str) -> String {
    format!("bytes that are not {encoding}")
}
