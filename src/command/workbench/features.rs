//! What the page of features works with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde_json::Value;

use crate::command::project::Opened;
use crate::pipeline::{self, Standing};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_features::inspect;
use inkstone_store::{Header, Reader, Set, Stats};
use inkstone_tables::project::Project;
use inkstone_tui::{FeatureBench, FeatureListing, FeatureSet, FeatureState};

/// Made of a project's configuration.
pub(super) fn bench(opened: &Opened) -> Option<FeatureBench> {
    let project = pipeline::project(&opened.config, &opened.base);
    let (of_listing, of_health, of_neighbours) = (project.clone(), project.clone(), project);
    let configured = opened.clone();
    Some(FeatureBench {
        listing: Arc::new(move |ctx| listing(&configured, &of_listing, ctx)),
        health: Arc::new(move |id, progress, ctx| {
            with(&of_health, id, |set| inspect::health(set, &of_health.clean(), progress, ctx))
        }),
        neighbours: Arc::new(move |id, query, progress, ctx| {
            let clean = of_neighbours.clean();
            with(&of_neighbours, id, |set| inspect::neighbours(set, &clean, query, progress, ctx))
        }),
        config: opened.config_flags(),
    })
}

/// Reads a set of a project's store.
fn with<T>(project: &Project, id: &Key, work: impl FnOnce(&Set<'_>) -> Result<T>) -> Result<T> {
    let store = Reader::open(&project.store())?;
    let set = store.set(id)?;
    work(&set.context("the set is no longer in the store: a run has replaced it")?)
}

/// The sets of the store, and the error if it could not be read.
#[derive(Default)]
struct Held {
    headers: BTreeMap<Key, Header>,
    stats: Option<Stats>,
    fault: Option<String>,
}

fn listing(opened: &Opened, project: &Project, ctx: &Ctx) -> Result<FeatureListing> {
    let standings = pipeline::standings(&opened.config, &opened.base, ctx)?;
    let mut held = Held::default();
    if project.store().exists() {
        let read = Reader::open(&project.store()).and_then(|store| {
            let headers = store.sets()?.into_iter().map(|header| (header.id(), header)).collect();
            Ok(Held { headers, stats: Some(store.stats()?), fault: None })
        });
        held = read.unwrap_or_else(|error| Held { fault: Some(format!("{error:#}")), ..Held::default() });
    }
    let used = pipeline::feature_sets(&opened.config, project)?;
    let mut sets: Vec<FeatureSet> = Vec::new();
    for (standing, feature) in standings.iter().zip(&opened.config.feature) {
        let model = serde_json::to_value(feature.model).ok();
        sets.push(configured(standing, model.as_ref().and_then(Value::as_str).unwrap_or_default(), &held));
    }
    let listed: BTreeSet<Key> = sets.iter().filter_map(|set| set.id).collect();
    let others = held.headers.iter().filter(|(id, _)| !listed.contains(id)).map(|(id, header)| {
        // The linter and experiments name their sets after the feature and what they did to it; a feature that is no longer configured
        // is kept in mind by the last run, but nothing reads it.
        let of_checks = used.contains(id) && header.spec.name.contains(" · ");
        let state = if of_checks { FeatureState::OfChecks } else { FeatureState::Unused };
        let model = header.spec.params["feature"]["model"].as_str().unwrap_or("–");
        of_header(empty(&header.spec.name, model, state), header)
    });
    let mut others: Vec<FeatureSet> = others.collect();
    others.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    sets.extend(others);
    let reports = pipeline::last_reports(project);
    Ok(FeatureListing {
        sets,
        documents: reports.iter().find(|report| report.stage == "clean").map_or(0, |report| report.rows_out),
        stats: held.stats,
        fault: held.fault,
    })
}

/// A configured feature with what the last run said of it, and the set where there is one.
fn configured(standing: &Standing, model: &str, held: &Held) -> FeatureSet {
    let header = standing.made.and_then(|id| held.headers.get(&id));
    let gone = standing.made.is_none() || header.is_none() && held.fault.is_none();
    let state = match standing.current {
        _ if gone => FeatureState::Missing,
        true => FeatureState::Current,
        false => FeatureState::Stale,
    };
    let mut set = empty(&standing.feature, model, state);
    if gone {
        return set;
    }
    set.id = standing.made;
    if let Some(report) = &standing.report {
        set.rows = Some(report.rows_in);
        set.filled = Some(report.rows_out);
        set.seconds = Some(report.seconds);
        set.dropped = report.dropped.iter().map(|(reason, count)| (reason.clone(), *count)).collect();
    }
    match header {
        Some(header) => of_header(set, header),
        None => set,
    }
}

fn empty(name: &str, model: &str, state: FeatureState) -> FeatureSet {
    FeatureSet {
        name: name.to_owned(),
        model: model.to_owned(),
        state,
        id: None,
        kind: None,
        rows: None,
        filled: None,
        bytes: None,
        fitted_until: None,
        folds: 0,
        batches: Vec::new(),
        seconds: None,
        dropped: Vec::new(),
    }
}

fn of_header(set: FeatureSet, header: &Header) -> FeatureSet {
    // Walk-forward models note each fold, vintages of word vectors each window.
    let list = |name: &str| header.meta.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let fitted = [list("folds"), list("windows")].concat();
    let until = |fold: &Value| fold.get("fitted_until")?.as_str()?.parse::<NaiveDateTime>().ok();
    FeatureSet {
        id: Some(header.id()),
        kind: Some(header.spec.kind),
        rows: Some(header.rows),
        bytes: Some(header.bytes()),
        fitted_until: fitted.iter().filter_map(until).chain(header.spec.fitted_until).max(),
        folds: fitted.len(),
        batches: header.batches.clone(),
        ..set
    }
}
