//! The clock of a run, and the clock by which documents count as known.

use std::collections::BTreeSet;

use chrono::{NaiveDateTime, TimeDelta, Timelike, Utc};

use crate::config::Config;
use inkstone_corpus::ingest::KnownAt;

/// The time of a run on the clock of Shanghai, to the second; that of `[ingest] latest` if it is set.
pub(super) fn clock(config: &Config) -> NaiveDateTime {
    let now = || (Utc::now() + TimeDelta::hours(8)).naive_utc();
    config.ingest.latest.unwrap_or_else(now).with_nanosecond(0).unwrap_or_default()
}

/// The sources whose documents count as known from their ingestion on.
pub(super) fn known_at_ingestion(config: &Config) -> BTreeSet<&str> {
    let sources = config.source.iter().filter(|source| source.known_at == KnownAt::Ingested);
    sources.map(|source| source.name.as_str()).collect()
}
