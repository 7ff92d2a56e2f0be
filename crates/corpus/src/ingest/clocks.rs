//! Times of publication and of ingestion of the whole corpus: documents by day, and how late each source delivers.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use serde_json::{Value, json};

use crate::ingest::source::{KnownAt, Source};
use inkstone_tables::{corpus, frames};

use inkstone_base::language::{Message, Word};
use inkstone_base::message;

/// Close of the exchanges in Shanghai and Shenzhen.
const CLOSE: NaiveTime = NaiveTime::from_hms_opt(15, 0, 0).expect("15:00:00 is a time of day");
/// Days within which all documents of a source are ingested when an archive is loaded at once: their delays tell nothing.
const LOAD_DAYS: i64 = 2;
/// Share of a source's documents that may be published before a close and ingested after it, before that is told as a warning.
const ACROSS_CLOSE: f64 = 0.01;

/// The clocks of all documents.
#[derive(Default)]
pub(super) struct Clocks {
    /// Documents by source and day of publication.
    pub(super) by_day: BTreeMap<String, BTreeMap<NaiveDate, u64>>,
    /// Time of the newest document of each source.
    pub(super) newest: BTreeMap<String, NaiveDateTime>,
    sources: BTreeMap<String, Delays>,
}

/// The delays of a source from publication to ingestion.
struct Delays {
    seconds: Vec<i64>,
    /// Documents that were published before a close and ingested after it.
    across_close: u64,
    published: (NaiveDateTime, NaiveDateTime),
    ingested: (NaiveDateTime, NaiveDateTime),
}

impl Delays {
    /// True if the documents of a longer time were ingested within [`LOAD_DAYS`].
    fn are_of_one_load(&self) -> bool {
        let (limit, length) =
            (TimeDelta::days(LOAD_DAYS), |(first, last): (NaiveDateTime, NaiveDateTime)| last - first);
        length(self.ingested) <= limit && length(self.published) > limit
    }
}

impl Clocks {
    /// Adds the documents of a part of the corpus.
    pub(super) fn add_part(&mut self, part: &Path) -> Result<()> {
        let frame = frames::read_parquet(part, Some(&["source", "published_at", "ingested_at"]))?;
        let sources = corpus::texts_of(&frame, "source")?;
        let (published, ingested) =
            (corpus::times_of(&frame, "published_at")?, corpus::times_of(&frame, "ingested_at")?);
        for (row, (published, ingested)) in published.into_iter().zip(ingested).enumerate() {
            let Some(published) = published else { continue };
            let Some(source) = sources.get(row) else { continue };
            if !self.newest.contains_key(source) {
                self.newest.insert(source.to_owned(), published);
                self.by_day.insert(source.to_owned(), BTreeMap::new());
            }
            if let (Some(newest), Some(days)) = (self.newest.get_mut(source), self.by_day.get_mut(source)) {
                *newest = published.max(*newest);
                *days.entry(published.date()).or_default() += 1;
            }
            if let Some(ingested) = ingested {
                self.add_delay(source, published, ingested);
            }
        }
        Ok(())
    }

    fn add_delay(&mut self, source: &str, published: NaiveDateTime, ingested: NaiveDateTime) {
        if !self.sources.contains_key(source) {
            let none = Delays {
                seconds: Vec::new(),
                across_close: 0,
                published: (published, published),
                ingested: (ingested, ingested),
            };
            self.sources.insert(source.to_owned(), none);
        }
        let Some(delays) = self.sources.get_mut(source) else { return };
        let close = published.date().and_time(CLOSE);
        let next_close = if published < close { close } else { close + TimeDelta::days(1) };
        delays.seconds.push((ingested - published).num_seconds());
        delays.across_close += u64::from(ingested >= next_close);
        for (span, time) in [(&mut delays.published, published), (&mut delays.ingested, ingested)] {
            *span = (span.0.min(time), span.1.max(time));
        }
    }

    /// The delays of each source that gives both times.
    pub(super) fn lateness(&mut self) -> Option<Value> {
        let of_source = |(source, delays): (&String, &mut Delays)| {
            delays.seconds.sort_unstable();
            let at = |share: f64| delays.seconds[((delays.seconds.len() - 1) as f64 * share).round() as usize];
            let figures = json!({
                "documents": delays.seconds.len(),
                "median_seconds": at(0.5),
                "p90_seconds": at(0.9),
                "largest_seconds": at(1.0),
                "across_a_close": delays.across_close,
                "one_load": delays.are_of_one_load(),
            });
            (source.clone(), figures)
        };
        let sources: serde_json::Map<String, Value> = self.sources.iter_mut().map(of_source).collect();
        (!sources.is_empty()).then_some(Value::Object(sources))
    }

    /// Warns of sources whose documents count as known before a close that they came after.
    pub(super) fn warning(&self, sources: &[&Source]) -> Option<Message> {
        let warn = |source: &&Source| {
            let delays = self.sources.get(&source.name).filter(|_| source.known_at == KnownAt::Published)?;
            let share = delays.across_close as f64 / delays.seconds.len() as f64;
            (share > ACROSS_CLOSE && !delays.are_of_one_load()).then(|| {
                message!("来源 {:?}：{:.1} % 的文档自称发布于 15:00 之前，却在其后入库，因而计入了它们赶不上的收盘；在其 [[source]] 中设 known_at = \"ingested\" 即自入库时起算", "source {:?}: {:.1} % of its documents were published before 15:00 by their own account and ingested after it, so they count for a close that they came after; known_at = \"ingested\" in its [[source]] counts them from their ingestion on",
                    source.name,
                    100.0 * share
                )
            })
        };
        let warnings: Vec<Message> = sources.iter().filter_map(warn).collect();
        (!warnings.is_empty()).then(|| Message::joined(warnings, Word("；", "; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    #[test]
    fn documents_that_came_after_the_close_they_claim_are_told_by_source() {
        let mut clocks = Clocks::default();
        for day in 1..=9 {
            let at = |clock: &str| time(&format!("2024-03-0{day}T{clock}"));
            clocks.add_delay("quick", at("14:59:50"), at("14:59:59"));
            clocks.add_delay("quick", at("15:00:00"), at("15:00:02"));
            clocks.add_delay("slow", at("14:00:00"), at("16:00:00"));
            clocks.add_delay("archive", at("14:00:00"), time("2024-06-01T00:00:00"));
        }
        let lateness = clocks.lateness().unwrap();
        assert_eq!(lateness["quick"]["median_seconds"], 9);
        assert_eq!(lateness["quick"]["across_a_close"], 0);
        assert_eq!((&lateness["slow"]["across_a_close"], &lateness["slow"]["p90_seconds"]), (&json!(9), &json!(7200)));
        assert_eq!(lateness["archive"]["one_load"], true);
        let source = |name: &str, known_at| Source { name: name.into(), known_at, ..Source::default() };
        let all = ["quick", "slow", "archive"].map(|name| source(name, KnownAt::Published));
        let warning = clocks.warning(&all.iter().collect::<Vec<_>>()).unwrap();
        assert!(warning.starts_with("source \"slow\": 100.0 %") && !warning.contains("archive"), "{warning}");
        assert_eq!(clocks.warning(&[&source("slow", KnownAt::Ingested)]), None);
    }
}
