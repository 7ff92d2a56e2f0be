//! Documents that were ingested long after their publication.
//!
//! A text that a vendor delivered weeks later may have been written, corrected or chosen with what had happened since. Late is
//! more than `restated_days` natural days from publication to ingestion. The factor is built anew without late
//! documents, and the number is the share of the mean RankIC that goes with them, over the dates that both have; above
//! `max_share`, where the bootstrap does not call it chance, the check warns. When all documents came within two days
//! (one load of an archive) their times say nothing of when each was there, and the check cannot be done.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};

use crate::factor::Signal;
use crate::lint::finding::{Ingestion, IngestionDays, LateWithoutPower, Restated};
use crate::lint::power::Power;
use crate::lint::{Check, DocumentEvidence, Finding, Params, Standing, Subject, Verdict, no_documents};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;

/// Days within which all documents are ingested when an archive is loaded at once.
const LOAD_DAYS: i64 = 2;

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let Some(texts) = &subject.texts else { return Ok(no_documents(Check::Restated, subject)) };
    let limit = TimeDelta::days(i64::from(params.restated_days));
    let is_late =
        |document: &DocumentEvidence| document.ingested_at.is_some_and(|at| at - document.published_at > limit);
    let (mut signals, mut known, mut late) = (0u64, 0u64, 0u64);
    let mut loads: BTreeMap<NaiveDate, u64> = BTreeMap::new();
    let (mut published, mut ingested): (Option<(_, _)>, Option<(_, _)>) = (None, None);
    let widen = |span: Option<(NaiveDateTime, NaiveDateTime)>, time: NaiveDateTime| {
        Some(span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))))
    };
    for (_, document) in texts.counted() {
        signals += 1;
        let Some(at) = document.ingested_at else { continue };
        known += 1;
        late += u64::from(is_late(document));
        *loads.entry(at.date()).or_default() += 1;
        (published, ingested) = (widen(published, document.published_at), widen(ingested, at));
    }
    let length =
        |span: Option<(NaiveDateTime, NaiveDateTime)>| span.map_or(TimeDelta::zero(), |(first, last)| last - first);
    let finding = Ingestion {
        signals,
        without_ingestion_time: signals - known,
        late,
        share_late: late as f64 / known.max(1) as f64,
        largest_load: loads.values().copied().max().unwrap_or(0) as f64 / known.max(1) as f64,
        context: IngestionDays { restated: params.restated_days, load: LOAD_DAYS, ranked: power.mean.n },
    };
    let judged =
        |standing, share, finding| Ok(Verdict::new(Check::Restated, standing, share, Some(params.max_share), finding));
    if known == 0 {
        return Ok(Verdict::skipped(Check::Restated, Finding::NoIngestionTimes(finding)));
    }
    if length(ingested) <= TimeDelta::days(LOAD_DAYS) && length(published) > limit {
        return Ok(Verdict::skipped(Check::Restated, Finding::LoadedAtOnce(finding)));
    }
    if late == 0 {
        return judged(Standing::Passed, 0.0, Finding::NoneLate(finding));
    }
    if !power.is_there(params) {
        let (rank_ic, p) = (power.mean.mean, power.mean.p);
        let finding = Finding::LateWithoutPower(LateWithoutPower { ingestion: finding, rank_ic, p });
        return Ok(Verdict::skipped(Check::Restated, finding));
    }
    let on_time = |signal: &&Signal| !is_late(&texts.documents[signal.document as usize]);
    let signals_left: Vec<Signal> = texts.signals.iter().filter(on_time).copied().collect();
    let factor = (texts.rebuild)(&signals_left)
        .context(Word("无法计算去掉晚到文档的因子", "cannot build the factor without late documents"))?;
    let Some(lost) = power.lost_by(&power.series_of(&factor, ctx)?, params, ctx)? else {
        return judged(Standing::Warned, f64::NAN, Finding::NoneInTime(finding));
    };
    let warned = lost.share > params.max_share && !lost.chance;
    let standing = if warned { Standing::Warned } else { Standing::Passed };
    let finding = Restated { ingestion: finding, rank_ic_without: lost.left, loss: lost.figures };
    judged(standing, lost.share, Finding::Restated(finding))
}
