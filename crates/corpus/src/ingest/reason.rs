//! Why rows are set aside, in the words of the rejects file, the log and every report.
//!
//! Other reasons exist (a price that is not positive, a number that is none); these are the ones that more than one module,
//! or the truth of the demo market, has to word in the same way.

/// A document with neither title nor body.
pub(crate) const EMPTY_TEXT: &str = "empty title and body";
/// An earlier document of the project has the same id.
pub(crate) const DUPLICATE_ID: &str = "duplicate id";
/// A document without the time from which its source's documents count as known.
pub(crate) const NO_INGESTION: &str = "no time of ingestion (known_at = \"ingested\")";
/// A day or a time of day that the calendar does not have.
pub(crate) const NO_SUCH_TIME: &str = "no such date or time";
/// Later than anything that can have been read.
pub(crate) const FUTURE_TIME: &str = "time in the future";
/// More or fewer fields than the header has columns.
pub(crate) const FIELD_COUNT: &str = "wrong number of fields";
/// A JSON text that ends too early.
pub(crate) const JSON_CUT_SHORT: &str = "not JSON: cut short";
/// A JSON text in which more is nested than its reader follows.
pub(crate) const JSON_TOO_DEEP: &str = "not JSON: nested more than 127 deep";
/// A text that is no JSON for another reason.
pub(crate) const JSON_SYNTAX: &str = "not JSON: syntax";

/// A price of a date and code that a source before has: it is neither lost nor among the rejects.
pub const REPEATED_PRICE: &str = "price that a source before has";

/// A row, line or element, or a text or HTML file, that is longer than any.
pub const RECORD_TOO_LONG: &str = "record over 8 MB";

/// Beginning of the reasons of [`not_in`].
pub(crate) const NOT_IN: &str = "bytes that are not ";

/// Bytes that the file's encoding, by its name, does not have.
pub(crate) fn not_in(encoding: &str) -> String {
    format!("{NOT_IN}{encoding}")
}

/// A file that only opens with a password.
pub(crate) const ENCRYPTED: &str = "encrypted: needs a password";
/// A PDF without text, or with next to none beside its pictures.
pub const NEEDS_OCR: &str = "no text (a scan?): needs OCR";
/// A PDF whose pages cannot be found or drawn.
pub const DAMAGED_PDF: &str = "damaged or unsupported PDF";
/// A document that is no Office Open XML.
pub(crate) const DAMAGED_DOCX: &str = "damaged or unsupported DOCX";
/// A DOCX whose elements stand in one another without measure.
pub(crate) const XML_TOO_DEEP: &str = "nested more than 1000 deep";
/// A packed file whose content has no measure.
pub const UNPACKS_TOO_LARGE: &str = "unpacks to more than 96 MB beyond its own size";
/// A file that holds one document and is larger than any document.
pub(crate) const FILE_TOO_LARGE: &str = "file over 256 MB";

/// A document with more pages than the setting allows.
pub(crate) fn too_many_pages(limit: usize) -> String {
    format!("more than {limit} pages ([ingest] max_pages)")
}

/// A document of whose glyphs or characters a larger share is unreadable than the setting (0 to 1) allows.
pub(crate) fn too_garbled(limit: f64) -> String {
    format!("more than {} % unmapped or garbled ([ingest] max_garbled)", 100.0 * limit)
}
