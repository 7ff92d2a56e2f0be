//! Documents that were ingested long after their publication.
//!
//! What a vendor delivered weeks later may have been written, corrected or chosen with what had happened since. Late is
//! more than `restated_days` natural days from publication to ingestion. The factor is built anew without late
//! documents, and the number is the share of the mean RankIC that goes with them, over the dates that both have; above
//! `max_share`, where the bootstrap does not call it chance, the check warns. When all documents came within two days
//! (one load of an archive) their times say nothing of when each was there, and the check cannot be done.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};

use crate::factor::Signal;
use crate::lint::power::{Mean, Power, lost};
use crate::lint::{Check, Document, Params, Standing, Subject, Verdict, no_documents, nothing_to_break};
use inkstone_base::job::Ctx;

/// Days within which all documents came when an archive was loaded at once.
const LOAD_DAYS: i64 = 2;

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let Some(texts) = &subject.texts else { return Ok(no_documents(Check::Restated)) };
    let limit = TimeDelta::days(i64::from(params.restated_days));
    let is_late = |document: &Document| document.ingested_at.is_some_and(|at| at - document.published_at > limit);
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
    let share_late = late as f64 / known.max(1) as f64;
    let largest = loads.values().copied().max().unwrap_or(0) as f64 / known.max(1) as f64;
    let figures = |verdict: Verdict| {
        verdict
            .with("signals", signals)
            .with("without_ingestion_time", signals - known)
            .with("late", late)
            .with("share_late", share_late)
            .with("largest_load", largest)
    };
    if known == 0 {
        let finding = (
            "文档没有入库时间（ingested_at），无从得知是否事后补录；请在 [source.columns] 指定该列。".into(),
            "No document says when it was ingested (ingested_at), so later versions cannot be told; name the column \
             in [source.columns]."
                .into(),
        );
        return Ok(figures(Verdict::skipped(Check::Restated, finding)));
    }
    if length(ingested) <= TimeDelta::days(LOAD_DAYS) && length(published) > limit {
        let finding = (
            format!(
                "全部 {known} 条记录在 {LOAD_DAYS} 日之内一次性入库，入库时间说明不了当时是否已有这些文本，\
                 此项无从判断；请向来源索取当时的版本。"
            ),
            format!(
                "All {known} signals came with one load within {LOAD_DAYS} days, so times of ingestion do not say \
                 what was there when, and this cannot be told; ask the vendor for point-in-time versions."
            ),
        );
        return Ok(figures(Verdict::skipped(Check::Restated, finding)));
    }
    let (days, percent) = (params.restated_days, 100.0 * share_late);
    if late == 0 {
        let finding = (
            format!("{known} 条记录均在发布后 {days} 日之内入库，没有事后补录。"),
            format!(
                "All {known} signals were ingested within {days} days of their publication: none was delivered later."
            ),
        );
        return Ok(figures(Verdict::of(Check::Restated, Standing::Passed, 0.0, Some(params.max_share), finding)));
    }
    if !power.is_there(params) {
        return Ok(figures(nothing_to_break(Check::Restated, power)));
    }
    let on_time = |signal: &&Signal| !is_late(&texts.documents[signal.document as usize]);
    let signals_left: Vec<Signal> = texts.signals.iter().filter(on_time).copied().collect();
    let factor = (texts.rebuild)(&signals_left).context("cannot build the factor without late documents")?;
    let (losses, whole) = lost(&power.series, &power.of(&factor, ctx)?);
    let loss = Mean::of(&losses, power.overlap, params, ctx)?;
    let share = loss.mean / whole.abs();
    if loss.n < 2 || share.is_nan() {
        let finding = (
            format!(
                "{percent:.1} % 的记录在发布 {days} 日之后才入库，去掉它们便没有可算 RankIC 的日期：\
                 结果全靠事后入库的文本。请索取当时的版本。"
            ),
            format!(
                "{percent:.1} % of the signals were ingested more than {days} days after publication, and without \
                 them no date has a RankIC: the result rests on texts that came later. Ask for point-in-time versions."
            ),
        );
        return Ok(figures(Verdict::of(Check::Restated, Standing::Warned, f64::NAN, Some(params.max_share), finding)));
    }
    let hangs = share > params.max_share && loss.p <= params.alpha();
    let standing = if hangs { Standing::Warned } else { Standing::Passed };
    let left = whole - loss.mean * whole.signum();
    let meaning = match hangs {
        true => (
            "。结果依赖这些可能事后改写或挑选过的文本；请索取当时的版本，或将其剔除。",
            ". The result hangs on texts that may have been rewritten or chosen afterwards: ask for point-in-time \
             versions, or leave them out.",
        ),
        false => ("，结果并不依赖它们。", ", so the result does not hang on them."),
    };
    let finding = (
        format!(
            "{percent:.1} % 的记录在发布 {days} 日之后才入库；去掉它们，RankIC 从 {whole:+.4} 变为 {left:+.4}（p = {:.3}）{}",
            loss.p, meaning.0
        ),
        format!(
            "{percent:.1} % of the signals were ingested more than {days} days after publication; without them the \
             RankIC goes from {whole:+.4} to {left:+.4} (p = {:.3}){}",
            loss.p, meaning.1
        ),
    );
    Ok(figures(Verdict::of(Check::Restated, standing, share, Some(params.max_share), finding))
        .with("rank_ic", whole)
        .with("rank_ic_without", left)
        .with("low", loss.interval.low)
        .with("high", loss.interval.high)
        .with("p", loss.p)
        .with("dates", loss.n))
}
