//! From files of others to a corpus: ingest, cleaning, links to securities, the structure of documents, truncation strategies, and the
//! demo that makes a corpus of its own.

pub mod clean;
pub mod demo;
pub mod ingest;
pub mod link;
pub mod structure;
pub mod truncate;
