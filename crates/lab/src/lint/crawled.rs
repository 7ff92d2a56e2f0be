//! Fields of documents that were known when a page was crawled, not when it was published.
//!
//! Readers so far, comments, or the change of the price that day, which a crawler writes beside the text, grow after the time of publication.
//! They are known by the names of their columns. The number is how many of them the factor reads; any warns.

use crate::lint::finding::CrawledFields;
use crate::lint::{Check, Finding, Standing, Subject, Verdict, no_documents};

pub(super) fn check(subject: &Subject<'_>) -> Verdict {
    let Some(texts) = &subject.texts else { return no_documents(Check::Crawled, subject) };
    let fields = texts.crawled.to_vec();
    let standing = if fields.is_empty() { Standing::Passed } else { Standing::Warned };
    let number = fields.len() as f64;
    Verdict::new(Check::Crawled, standing, number, Some(0.0), Finding::Crawled(CrawledFields { fields }))
}
