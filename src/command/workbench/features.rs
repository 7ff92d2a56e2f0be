//! The functions of the page of features.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command::opened::OpenProject;
use crate::pipeline::{self, FeatureStatus, StageId, derived_from};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_features::extract::SetMeta;
use inkstone_features::inspect;
use inkstone_models::FoldReport;
use inkstone_store::{Header, Reader, RowKind, Set, Stats};
use inkstone_tables::project::Project;
use inkstone_tui::{FeatureBench, FeatureListing, FeatureSet, FeatureState, ScoredFeature, SearchSummary};

/// The functions of the page, made of the configuration of a project.
pub(super) fn bench(opened: &OpenProject) -> Option<FeatureBench> {
    let project = opened.project();
    let (of_listing, of_health, of_neighbours) = (project.clone(), project.clone(), project.clone());
    let (of_scored, of_scores) = (project.clone(), project);
    let (configured, scored_of, ranked_of) = (opened.clone(), opened.clone(), opened.clone());
    let index = pipeline::KeptIndex::default();
    Some(FeatureBench {
        listing: Arc::new(move |ctx| listing(&configured, &of_listing, ctx)),
        health: Arc::new(move |id, progress, ctx| {
            with(&of_health, id, |set| inspect::health(set, &of_health.clean(), progress, ctx))
        }),
        neighbours: Arc::new(move |id, query, progress, ctx| {
            let clean = of_neighbours.clean();
            with(&of_neighbours, id, |set| inspect::neighbours(set, &clean, query, progress, ctx))
        }),
        scored: Arc::new(move |_| scored(&scored_of, &of_scored)),
        scores: Arc::new(move |id, column, ctx| with(&of_scores, id, |set| inspect::scores(set, column, ctx))),
        ranked: Arc::new(move |words, ctx| index.ranked(&ranked_of.config, &ranked_of.base, words, ctx)),
        config: opened.config_flags(),
    })
}

/// Columns of a set that are scores on the page of the corpus; sets of more are vectors.
const SCORES: usize = 8;

/// The columns of features that a person can read, one a name: those of configured features, then what else the store holds but for checks.
/// The first column bears the name of the feature, others `tone.positive`.
fn scored(opened: &OpenProject, project: &Project) -> Result<Vec<ScoredFeature>> {
    if !project.store().exists() {
        return Ok(Vec::new());
    }
    let headers = Reader::open(&project.store())?.sets()?;
    let made = |name: &str| pipeline::feature_set(project, name);
    let configured =
        opened.config.feature.iter().filter_map(|feature| Some((feature.name.clone(), made(&feature.name)?)));
    let others = headers.iter().filter(|header| derived_from(&header.spec.name).is_none());
    let others = others.map(|header| (header.spec.name.clone(), header.id()));
    let mut found: Vec<ScoredFeature> = Vec::new();
    for (feature, id) in configured.chain(others) {
        let header = headers.iter().find(|header| header.id() == id);
        let Some(Header { spec, .. }) = header else { continue };
        let RowKind::Dense { dim: dim @ 1..=SCORES } = spec.kind else { continue };
        if found.iter().any(|other| *other.name == *feature) {
            continue;
        }
        let names = header.and_then(|header| SetMeta::read(header).ok()).map(|meta| meta.columns).unwrap_or_default();
        for column in 0..dim {
            let name = match (column, names.get(column)) {
                (0, _) => feature.clone(),
                (_, Some(name)) => format!("{feature}.{name}"),
                (_, None) => format!("{feature}.{}", column + 1),
            };
            found.push(ScoredFeature { name: name.into(), id, column });
        }
    }
    Ok(found)
}

/// Reads a set of a project's store.
fn with<T>(project: &Project, id: &Key, work: impl FnOnce(&Set<'_>) -> Result<T>) -> Result<T> {
    let store = Reader::open(&project.store())?;
    let set = store.set(id)?;
    work(&set.context(Word(
        "该特征集已不在特征库中：有运行替换了它",
        "the set is no longer in the store: a run has replaced it",
    ))?)
}

/// The contents of the store, or the reason why it could not be read.
#[derive(Default)]
struct StoreContents {
    headers: BTreeMap<Key, Header>,
    stats: Option<Stats>,
    fault: Option<Message>,
}

fn listing(opened: &OpenProject, project: &Project, ctx: &Ctx) -> Result<FeatureListing> {
    let statuses = pipeline::feature_statuses(&opened.config, &opened.base, ctx)?;
    let mut contents = StoreContents::default();
    if project.store().exists() {
        let read = Reader::open(&project.store()).and_then(|store| {
            let headers = store.sets()?.into_iter().map(|header| (header.id(), header)).collect();
            Ok(StoreContents { headers, stats: Some(store.stats()?), fault: None })
        });
        contents = read.unwrap_or_else(|error| StoreContents {
            fault: Some(Message::of_error(&error)),
            ..StoreContents::default()
        });
    }
    let used = pipeline::feature_sets(&opened.config, project)?;
    let mut sets: Vec<FeatureSet> = Vec::new();
    for (status, feature) in statuses.iter().zip(&opened.config.feature) {
        let model = serde_json::to_value(feature.model).ok();
        sets.push(configured(status, model.as_ref().and_then(Value::as_str).unwrap_or_default(), &contents));
    }
    let listed: BTreeSet<Key> = sets.iter().filter_map(|set| set.id).collect();
    let others = contents.headers.iter().filter(|(id, _)| !listed.contains(id)).map(|(id, header)| {
        // The linter and experiments name their sets after the feature and what they did to it; a feature that is no longer configured
        // is kept in mind by the last run, but nothing reads it.
        let is_derived = used.contains(id) && derived_from(&header.spec.name).is_some();
        let state = if is_derived { FeatureState::OfChecks } else { FeatureState::Unused };
        let model = header.spec.params["feature"]["model"].as_str().unwrap_or("–");
        with_header(empty(&header.spec.name, model, state), header)
    });
    let mut others: Vec<FeatureSet> = others.collect();
    others.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    sets.extend(others);
    let reports = pipeline::last_reports(project);
    Ok(FeatureListing {
        sets,
        documents: reports.iter().find(|report| StageId::Clean.is_of(report)).map_or(0, |report| report.rows_out),
        stats: contents.stats,
        fault: contents.fault,
    })
}

/// A configured feature with the report of the last run, and its set if there is one.
fn configured(status: &FeatureStatus, model: &str, contents: &StoreContents) -> FeatureSet {
    let header = status.made.and_then(|id| contents.headers.get(&id));
    let gone = status.made.is_none() || header.is_none() && contents.fault.is_none();
    let state = match status.current {
        _ if gone => FeatureState::Missing,
        true => FeatureState::Current,
        false => FeatureState::Stale,
    };
    let mut set = empty(&status.feature, model, state);
    if gone {
        return set;
    }
    set.id = status.made;
    if let Some(report) = &status.report {
        set.rows = Some(report.rows_in);
        set.filled = Some(report.rows_out);
        set.seconds = Some(report.seconds);
        set.dropped = report.dropped.iter().map(|(reason, count)| (reason.clone(), *count)).collect();
    }
    match header {
        Some(header) => with_header(set, header),
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
        search: None,
        batches: Vec::new(),
        seconds: None,
        dropped: Vec::new(),
    }
}

fn with_header(set: FeatureSet, header: &Header) -> FeatureSet {
    // Models that are walked forward note each fold, models of past documents each step.
    let SetMeta { folds, windows, .. } = SetMeta::read(header).unwrap_or_default();
    let search = searched(folds.iter().flatten());
    let folds = folds.into_iter().flatten().map(|fold| fold.fitted_until);
    let fits: Vec<_> = folds.chain(windows.into_iter().flatten().map(|step| step.fitted_until)).collect();
    FeatureSet {
        id: Some(header.id()),
        kind: Some(header.spec.kind),
        rows: Some(header.rows),
        bytes: Some(header.bytes()),
        fitted_until: fits.iter().flatten().copied().chain(header.spec.fitted_until).max(),
        folds: fits.len(),
        search,
        batches: header.batches.clone(),
        ..set
    }
}

/// Choices of the searches in the folds of a set; none where no fold searched.
fn searched<'f>(folds: impl Iterator<Item = &'f FoldReport>) -> Option<SearchSummary> {
    let searches: Vec<_> = folds.filter_map(|fold| fold.search.as_ref()).collect();
    let first = searches.first()?;
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for search in &searches {
        let settings: Vec<String> = search.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        *counted.entry(settings.join(", ")).or_default() += 1;
    }
    let mut chosen: Vec<(String, usize)> = counted.into_iter().collect();
    chosen.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    let mean = inkstone_base::stats::mean(searches.iter().map(|search| search.mean));
    Some(SearchSummary { chosen, measure: first.measure.name(), mean, tried: first.tried })
}
