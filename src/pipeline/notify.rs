//! Tells the programs of `[[on]]` what a run found. Each is told once of a day; one that fails is told again after the next run.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use serde_json::{Value, json};

use super::clocks::clock;
use super::project;
use crate::config::{Config, Hook, HookEvent};
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_base::program::Program;
use inkstone_base::stats::quantile;
use inkstone_corpus::ingest::{self, Table};
use inkstone_lab::backtest::top_layer;
use inkstone_market::dates_of;
use inkstone_tables::corpus::{column, texts_of, times_of};
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// The name of the stage in its report.
pub const NOTIFY: &str = "notify";

/// Days whose median number of values is the usual coverage of a factor.
const USUAL_DAYS: usize = 20;

/// The last values of a factor.
struct LastDays {
    /// Values by day, oldest first; at most [`USUAL_DAYS`] and the last one.
    counts: Vec<(NaiveDate, usize)>,
    /// Values of the last day and of the one before, by code.
    last: BTreeMap<String, f64>,
    before: BTreeMap<String, f64>,
    known_at: Option<NaiveDateTime>,
}

/// Runs the programs whose events happened. `left_out` are factors that have no table of this run.
pub fn notify(config: &Config, base: &Path, left_out: &[String], ctx: &Ctx) -> Result<Report> {
    let project = project(config, base);
    let path = project.notified();
    let mut notified: BTreeMap<String, String> = disk::read_json_if_whole(&path)?.unwrap_or_default();
    let mut report = Report::new(NOTIFY);
    let (mut ran, mut failed) = (Vec::new(), Vec::new());
    let factors = config.factor.iter().filter(|factor| !left_out.contains(&factor.name));
    let factors: Vec<(&str, LastDays)> = factors
        .filter_map(|factor| Some((factor.name.as_str(), last_days(&project, &factor.name).transpose()?)))
        .map(|(name, days)| Ok((name, days?)))
        .collect::<Result<_>>()?;
    for hook in &config.on {
        let events = match hook.event {
            HookEvent::Silence => silent_sources(hook, config, &project)?,
            _ => factors
                .iter()
                .filter(|(name, _)| hook.is_for(name))
                .filter_map(|(name, days)| event_of(hook, config, &project, name, days))
                .collect(),
        };
        for (name, day, mut event) in events {
            let key = Key::of_json(&(hook.event, &hook.run, &name)).hex();
            if notified.get(&key) == Some(&day) {
                continue;
            }
            event["event"] = json!(hook.event);
            event["project"] = json!(config.project.name);
            let input = serde_json::to_vec(&event)?;
            let (command, time_out) = (&hook.run, Duration::from_secs(hook.time_out));
            let ended =
                Program { command, folder: base, variables: &[], input: &input, time_out }.run(|_| Ok(()), ctx)?;
            report.rows_in += 1;
            match ended.failure {
                None => {
                    ran.push(json!({"event": hook.event, "of": name, "day": day}));
                    report.rows_out += 1;
                    notified.insert(key, day);
                    disk::write_json(&path, &notified)?;
                }
                Some(failure) => {
                    report.drop_rows("program failed", 1);
                    failed.push(message!(
                        "{name} 的 {}：{:?}：{failure}",
                        "{} of {name}: {:?}: {failure}",
                        hook.event,
                        hook.run.join(" ")
                    ));
                }
            }
        }
    }
    report.fact("told", ran);
    if !failed.is_empty() {
        report.fact("failed", failed);
    }
    Ok(report)
}

/// The event of a hook on a factor: the factor, the day, and what is told.
fn event_of(
    hook: &Hook,
    config: &Config,
    project: &Project,
    name: &str,
    days: &LastDays,
) -> Option<(String, String, Value)> {
    let ((day, values), earlier) = days.counts.split_last()?;
    let mut event = json!({
        "factor": name, "date": day, "known_at": days.known_at, "values": values, "table": project.factor(name),
    });
    match hook.event {
        HookEvent::Factor => event["rows"] = json!(days.last),
        HookEvent::Coverage => {
            let mut counts: Vec<f64> = earlier.iter().map(|(_, values)| *values as f64).collect();
            counts.sort_unstable_by(f64::total_cmp);
            let usual = quantile(&counts, 0.5);
            event["usual"] = json!(usual);
            let is_low = !counts.is_empty() && (*values as f64) < hook.below * usual;
            is_low.then_some(())?;
        }
        HookEvent::Entered => {
            let [now, before] = [&days.last, &days.before].map(|rows| top_of(rows, config.backtest.quantiles));
            let new = |ours: &[&str], theirs: &[&str]| {
                ours.iter().filter(|code| !theirs.contains(code)).map(|code| (*code).to_owned()).collect::<Vec<_>>()
            };
            let (entered, left) = (new(&now, &before), new(&before, &now));
            (!entered.is_empty()).then_some(())?;
            event["entered"] = json!(entered);
            event["left"] = json!(left);
        }
        HookEvent::Silence => return None,
    }
    Some((name.to_owned(), day.to_string(), event))
}

/// The names of the top layer of a day.
fn top_of(rows: &BTreeMap<String, f64>, quantiles: usize) -> Vec<&str> {
    let values: Vec<f64> = rows.values().copied().collect();
    rows.keys().zip(top_layer(&values, quantiles)).filter(|(_, top)| *top).map(|(code, _)| code.as_str()).collect()
}

/// The last days of a factor; none if it has no table or no value.
fn last_days(project: &Project, name: &str) -> Result<Option<LastDays>> {
    let path = project.factor(name);
    if !path.exists() {
        return Ok(None);
    }
    let frame = frames::read_parquet(&path, Some(&["date", "code", "value", "known_at"]))?;
    let (dates, codes) = (dates_of(&frame, "date")?, texts_of(&frame, "code")?);
    let (values, known) = (column(&frame, "value")?.f64()?, times_of(&frame, "known_at")?);
    let mut days = LastDays { counts: Vec::new(), last: BTreeMap::new(), before: BTreeMap::new(), known_at: None };
    let rows = (0..frame.height()).filter_map(|row| Some((dates[row]?, codes.get(row)?, values.get(row)?, known[row])));
    for (date, code, value, known) in rows {
        if days.counts.last().is_none_or(|(last, _)| *last != date) {
            days.before = std::mem::take(&mut days.last);
            days.known_at = None;
            days.counts.push((date, 0));
        }
        if let Some((_, count)) = days.counts.last_mut() {
            *count += 1;
        }
        days.last.insert(code.to_owned(), value);
        days.known_at = days.known_at.max(known);
    }
    let surplus = days.counts.len().saturating_sub(USUAL_DAYS + 1);
    days.counts.drain(..surplus);
    Ok((!days.counts.is_empty()).then_some(days))
}

/// The sources of a hook that have given nothing for its days, each told once for its last document or price.
fn silent_sources(hook: &Hook, config: &Config, project: &Project) -> Result<Vec<(String, String, Value)>> {
    let now = clock(config);
    let newest = ingest::newest(project)?;
    let close = newest.prices.and_then(|date| date.and_hms_opt(15, 0, 0));
    let of_prices = config.source.iter().filter(|source| source.table == Table::Prices);
    let mut last = newest.documents;
    last.extend(of_prices.filter_map(|source| Some((source.name.clone(), close?))));
    let silent = last
        .into_iter()
        .filter(|(source, last)| hook.is_for(source) && now - *last > TimeDelta::days(i64::from(hook.days)));
    let event = |(source, last): (String, NaiveDateTime)| {
        let event = json!({"source": source, "last": last, "now": now, "days": (now - last).num_days()});
        (source, last.to_string(), event)
    };
    Ok(silent.map(event).collect())
}
