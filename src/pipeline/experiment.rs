//! Experiments: the same documents by every strategy of truncation, through the stages that features and factors go through.
//!
//! A cell is a feature that is truncated by the cell's strategy. What was observed of it is kept in a file of its own, so that an
//! experiment that was stopped goes on with the cell that it was in. Contextual models that put rows together from windows read
//! each window once for all cells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Run, VERSION, compute, securities};
use crate::clean::repeats;
use crate::config::Config;
use crate::data::{Document, Key, Report};
use crate::experiment::{
    Cell, DenseRows, Findings, Labelled, Observed, Overlap, OverlapRule, Params, Skipped, Target, conclude,
};
use crate::extract::{self, Cost, Feature, Inputs, Model, WholeDocument, read_whole};
use crate::job::Ctx;
use crate::market::Market;
use crate::model::onnx::Output;
use crate::model::{EstimatorParams, FoldCounts, FoldFeatures, Method, Split};
use crate::store::{RowKind, Rows, SetSpec, Store, Values};
use crate::truncate::{SectionShare, Strategy};
use crate::{backtest, disk, factor};

/// Runs the experiments of a configuration, or the one of this name, and gives the reports of the stages and the findings.
pub fn experiments(
    config: &Config,
    base: &Path,
    name: Option<&str>,
    ctx: &Ctx,
) -> Result<(Vec<Report>, Vec<Findings>)> {
    let chosen: Vec<&Params> = config.experiment.iter().filter(|p| name.is_none_or(|name| p.name == name)).collect();
    let known: Vec<&str> = config.experiment.iter().map(|params| params.name.as_str()).collect();
    ensure!(!known.is_empty(), "there is no [[experiment]] in the configuration: say what is to be compared");
    ensure!(
        !chosen.is_empty(),
        "there is no experiment {:?}; there are: {}",
        name.unwrap_or_default(),
        known.join(", ")
    );
    let mut run = Run::begin(config, base, ctx)?;
    run.ingest()?;
    run.clean()?;
    run.link()?;
    run.structure()?;
    if run.project.prices().exists() {
        run.market = Some(Market::read(&run.project.prices(), &securities(&run.project)?)?);
    }
    let store = Store::open(&run.project.store())?;
    let mut findings = Vec::new();
    for params in chosen {
        let shared = Mutex::new(Vec::new());
        let laboratory = Laboratory { run: &run, params, store: &store, shared: &shared };
        let (found, reports) = laboratory.run().with_context(|| format!("experiment {:?}", params.name))?;
        for windows in shared.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            store.remove(windows)?;
        }
        disk::write_json(&run.project.experiment(&params.name).join("findings.json"), &found)?;
        findings.push(found);
        run.reports.extend(reports);
    }
    Ok((run.reports, findings))
}

/// The findings that a project has, in the order of the configuration.
pub fn findings(config: &Config, project: &crate::project::Project) -> Vec<Findings> {
    let read = |params: &Params| disk::read_json(&project.experiment(&params.name).join("findings.json")).ok();
    config.experiment.iter().filter_map(read).collect()
}

/// What was made under a key, kept in a file.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    key: Key,
    made: T,
}

/// What of the file stands for this key, or what `make` makes.
fn kept<T: Serialize + DeserializeOwned>(path: &Path, key: Key, make: impl FnOnce() -> Result<T>) -> Result<T> {
    if let Ok(kept) = disk::read_json::<Kept<T>>(path)
        && kept.key == key
    {
        return Ok(kept.made);
    }
    let made = make()?;
    let kept = Kept { key, made };
    disk::write_json(path, &kept)?;
    Ok(kept.made)
}

/// One experiment under way.
struct Laboratory<'a> {
    run: &'a Run<'a>,
    params: &'a Params,
    store: &'a Store,
    shared: &'a Mutex<Vec<Key>>,
}

impl Laboratory<'_> {
    fn run(&self) -> Result<(Findings, Vec<Report>)> {
        let Laboratory { run, params, .. } = self;
        let (config, ctx) = (run.config, run.ctx);
        let sentences = run.project.structure();
        let (clean, links) = (run.project.clean(), run.project.links());
        let inputs = Inputs {
            clean: &clean,
            links: &links,
            sentences: &sentences,
            corpus: run.corpus,
            market: run.market.as_ref(),
            prices: run.prices,
            cutoff: config.market.cutoff,
            tokenizer: &config.tokenizer,
            onnx: &config.onnx,
            base: run.base,
            shared: Some(self.shared),
        };
        let grid = params.grid()?;
        let mut reports = Vec::new();
        let audit = self.audit(&grid, &inputs, &mut reports)?;
        let mut findings = Findings {
            name: params.name.clone(),
            target: params.target,
            documents: audit.first().map_or(0, |(cost, _)| cost.documents),
            ..Findings::default()
        };
        ensure!(findings.documents > 0, "no document is of the kinds that are read ({:?})", params.kinds);
        let labelled = match params.target {
            Target::Factor => {
                let (factor, horizon) = (self.factor_params()?, params.horizon);
                ensure!(
                    config.backtest.horizons.contains(&horizon),
                    "horizon = {horizon} is none of [backtest] horizons = {:?}; add it there",
                    config.backtest.horizons
                );
                findings.measure = "rank_ic".to_owned();
                findings.factor = Some((factor.name.clone(), horizon));
                None
            }
            Target::Label | Target::Rating => {
                let (labelled, overlap) = self.labelled(&inputs, &mut findings)?;
                findings.measure = "macro_f1".to_owned();
                findings.overlap = overlap;
                Some(labelled)
            }
        };
        let mut report = Report::new(&format!("experiment {}", params.name));
        let splits = match &labelled {
            Some(labelled) => labelled.splits(params, ctx.seed(), &mut report)?,
            None => Vec::new(),
        };
        let mut observed = Vec::new();
        for name in &params.features {
            let feature = self.feature(name)?;
            for (strategy, (cost, sections)) in grid.iter().zip(&audit) {
                let cell = Feature {
                    name: format!("{name} · {strategy}"),
                    truncate: strategy.clone(),
                    kinds: self.kinds(feature),
                    ..feature.clone()
                };
                if let Err(error) = cell.check().and_then(|()| self.suits(&cell)) {
                    ensure!(
                        !findings.cells.is_empty() || strategy != &grid[0],
                        "the baseline {strategy} cannot be read by {name:?}: {error:#}"
                    );
                    let reason = format!("{error:#}");
                    findings.skipped.push(Skipped { feature: name.clone(), strategy: strategy.to_string(), reason });
                    continue;
                }
                let labels = labelled.as_ref().map(|labelled| (labelled, splits.as_slice()));
                let (made, stage) = self.cell(&cell, cost, &inputs, labels)?;
                reports.extend(stage);
                findings.cells.push(Cell {
                    feature: name.clone(),
                    strategy: strategy.clone(),
                    family: strategy.family(),
                    limit: strategy.limit(0),
                    figures: made.figures.clone(),
                    cost: made.cost.clone(),
                    kept: sections.clone(),
                    ..Cell::default()
                });
                observed.push(made);
            }
        }
        ensure!(observed.len() > 1, "there is nothing to compare: {:?}", findings.skipped);
        let done = ctx.stage(&report.stage.clone(), "cells", Some(observed.len() as u64), || {
            conclude(&mut findings, &observed, labelled.as_ref(), params, ctx)?;
            ctx.advance(observed.len() as u64)?;
            report.rows_in = (findings.cells.len() + findings.skipped.len()) as u64;
            report.rows_out = findings.cells.len() as u64;
            report.drop_rows("cannot be read so", findings.skipped.len() as u64);
            report.fact("observations", findings.observations);
            Ok(report)
        })?;
        reports.push(done);
        Ok((findings, reports))
    }

    fn folder(&self) -> PathBuf {
        self.run.project.experiment(&self.params.name)
    }

    fn feature(&self, name: &str) -> Result<&Feature> {
        let features = &self.run.config.feature;
        let known = || features.iter().map(|feature| feature.name.as_str()).collect::<Vec<_>>().join(", ");
        features
            .iter()
            .find(|feature| feature.name == *name)
            .with_context(|| format!("there is no [[feature]] {name:?}; there are: {}", known()))
    }

    fn kinds(&self, feature: &Feature) -> Vec<crate::data::Kind> {
        if self.params.kinds.is_empty() { feature.kinds.clone() } else { self.params.kinds.clone() }
    }

    /// What all strategies keep of the documents.
    fn audit(
        &self,
        grid: &[Strategy],
        inputs: &Inputs<'_>,
        reports: &mut Vec<Report>,
    ) -> Result<Vec<(Cost, Vec<SectionShare>)>> {
        let Laboratory { run, params, .. } = self;
        let kinds = self.kinds(self.feature(&params.features[0])?);
        let key = Key::of_json(&(VERSION, "audit", grid, &kinds, &run.config.tokenizer, run.structure, run.ctx.seed()));
        kept(&self.folder().join("audit.json"), key, || {
            let mut audit = Vec::new();
            let name = format!("strategies of {}", params.name);
            reports.push(run.ctx.stage(&name, "docs", run.documents, || {
                audit = extract::audit(grid, &kinds, inputs, run.ctx)?;
                let documents = audit.first().map_or(0, |(cost, _)| cost.documents);
                Ok(Report { rows_in: documents, rows_out: documents, ..Report::new(&name) })
            })?);
            Ok(audit)
        })
    }

    /// The factor whose rules are used.
    fn factor_params(&self) -> Result<factor::Params> {
        let factors = &self.run.config.factor;
        if let Some(name) = &self.params.factor {
            let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
            let found = factors.iter().find(|factor| factor.name == *name);
            return found.cloned().with_context(|| {
                format!("there is no [[factor]] {name:?} whose rules could be used; there are: {}", known.join(", "))
            });
        }
        let of_feature = |factor: &&factor::Params| self.params.features.iter().any(|name| factor.source().0 == name);
        let found = factors.iter().find(of_feature).cloned();
        Ok(found.unwrap_or_else(|| factor::Params { name: "default".to_owned(), ..factor::Params::default() }))
    }

    /// Fails where a feature gives nothing that the target could be judged by.
    fn suits(&self, cell: &Feature) -> Result<()> {
        let model = cell.model;
        match self.params.target {
            Target::Factor => {
                ensure!(
                    !matches!(
                        model,
                        Model::Tfidf | Model::Lsa | Model::Vectors | Model::Word2vec | Model::Glove | Model::FastText
                    ),
                    "its rows are vectors, of which no factor is made; take a model with a score, or target = \"label\""
                );
                ensure!(
                    model != Model::Onnx || cell.onnx.output != Output::Embedding,
                    "onnx.output = \"embedding\" gives vectors, of which no factor is made; take \"scores\", or target = \"label\""
                );
            }
            Target::Label | Target::Rating => ensure!(
                dense(model) || counted(model),
                "its values hang on returns or on the past; labels are told from words (tfidf, logistic, bayes, svm, boosted, ridge), \
                 lexicon and onnx"
            ),
        }
        Ok(())
    }

    /// What is observed of one cell, and the reports of the stages that ran for it.
    fn cell(
        &self,
        cell: &Feature,
        cost: &Cost,
        inputs: &Inputs<'_>,
        labels: Option<(&Labelled, &[Split])>,
    ) -> Result<(Observed, Vec<Report>)> {
        let Laboratory { run, params, .. } = self;
        let config = run.config;
        let rules = match params.target {
            Target::Factor => {
                json!([self.factor_params()?, params.horizon, config.backtest, config.market, run.prices, params.kinds])
            }
            Target::Label | Target::Rating => json!([labels.map(|(l, s)| label_key(l, s))]),
        };
        let files = run.files_named_in(cell)?;
        let key = Key::of_json(&(
            VERSION,
            "cell",
            cell,
            rules,
            &config.tokenizer,
            run.corpus,
            run.structure,
            files,
            run.ctx.seed(),
        ));
        let mut reports = Vec::new();
        let path = self.folder().join("cells").join(format!("{}.json", key.hex()));
        let observed = kept(&path, key, || match labels {
            None => self.factor_cell(cell, cost, inputs, &mut reports),
            Some((labelled, splits)) => self.label_cell(cell, cost, inputs, labelled, splits, &mut reports),
        })?;
        Ok((observed, reports))
    }

    /// The rows of a cell's feature, and what they cost.
    fn extracted(
        &self,
        cell: &Feature,
        cost: &Cost,
        inputs: &Inputs<'_>,
        reports: &mut Vec<Report>,
    ) -> Result<(Key, Cost)> {
        let run = self.run;
        let (mut set, started) = (Key::default(), Instant::now());
        reports.push(run.ctx.stage(&cell.name, "docs", run.documents, || {
            let (id, report) = extract::run(cell, inputs, self.store, run.ctx)?;
            set = id;
            Ok(report)
        })?);
        let of_model = reports.last().and_then(|report| report.facts.get("cost").cloned());
        let cost = match of_model {
            Some(cost) => serde_json::from_value(cost)?,
            None => native(cost, started),
        };
        Ok((set, cost))
    }

    fn factor_cell(
        &self,
        cell: &Feature,
        cost: &Cost,
        inputs: &Inputs<'_>,
        reports: &mut Vec<Report>,
    ) -> Result<Observed> {
        let run = self.run;
        let market = inputs.market.context("factors need prices: add a [[source]] with table = \"prices\"")?;
        let (set, cost) = self.extracted(cell, cost, inputs, reports)?;
        let rules = self.factor_params()?;
        let column = match rules.source() {
            (name, Some(column)) if cell.name.starts_with(&format!("{name} · ")) => Some(column.to_owned()),
            _ if cell.model == Model::Onnx => Some("tone".to_owned()),
            _ => None,
        };
        let source = column.map_or_else(String::new, |column| format!("{}.{column}", cell.name.replace('.', " ")));
        let rules = factor::Params {
            name: cell.name.clone(),
            kinds: cell.kinds.clone(),
            feature: if source.is_empty() { "cell".to_owned() } else { source },
            ..rules
        };
        let (factor, _) = compute(&rules, set, self.store, market, &run.project, run.config, run.ctx)?;
        let (outcome, _) = backtest::run(&factor, market, &run.config.backtest, run.ctx)?;
        let series = outcome.ic.iter().find(|series| series.horizon == self.params.horizon);
        let series = series.context("the backtest has the horizon")?;
        let (ic, rank_ic) = (&series.ic_summary, &series.rank_ic_summary);
        let figures = [
            ("ic", ic.mean),
            ("icir", ic.icir),
            ("rank_ic", rank_ic.mean),
            ("rank_icir", rank_ic.icir),
            ("rank_ic_t", rank_ic.t_nw),
        ];
        let there = |(name, value): (&str, f64)| value.is_finite().then(|| (name.to_owned(), value));
        let pairs = series.dates.iter().copied().zip(series.rank_ic.iter().copied());
        Ok(Observed {
            figures: figures.into_iter().filter_map(there).collect(),
            cost,
            set: Some(set),
            rank_ic: pairs.filter(|(_, ic)| ic.is_finite()).collect(),
            called: Vec::new(),
        })
    }

    fn label_cell(
        &self,
        cell: &Feature,
        cost: &Cost,
        inputs: &Inputs<'_>,
        labelled: &Labelled,
        splits: &[Split],
        reports: &mut Vec<Report>,
    ) -> Result<Observed> {
        let ctx = self.run.ctx;
        if dense(cell.model) {
            let (set, cost) = self.extracted(cell, cost, inputs, reports)?;
            let rows = self.rows(set, labelled)?;
            let observed = self.called(cell, &rows, labelled, splits, cost)?;
            self.store.remove(&set)?;
            return Ok(observed);
        }
        let started = Instant::now();
        let mut counts = None;
        reports.push(ctx.stage(&cell.name, "docs", self.run.documents, || {
            let found = extract::counts(cell, inputs, ctx)?;
            let read = found.read.iter().filter(|read| **read).count() as u64;
            let mut report = Report { rows_in: found.read.len() as u64, rows_out: read, ..Report::new(&cell.name) };
            report.drop_rows("not read, or nothing kept", report.rows_in - read);
            counts = Some(found);
            Ok(report)
        })?);
        let counts = counts.context("a finished stage has counts")?;
        let mut of_labelled = crate::model::Csr::new(counts.counts.cols());
        labelled.documents.iter().for_each(|&document| of_labelled.push_row(counts.counts.row(document).iter()));
        let rows = FoldCounts { counts: &of_labelled, titles: &counts.titles, params: &cell.tfidf, ctx };
        self.called(cell, &rows, labelled, splits, native(cost, started))
    }

    /// Calls the labels, and keeps the scores in the store.
    fn called(
        &self,
        cell: &Feature,
        rows: &impl FoldFeatures,
        labelled: &Labelled,
        splits: &[Split],
        cost: Cost,
    ) -> Result<Observed> {
        let estimator = cell.estimator().filter(|estimator| estimator.method != Method::Ridge);
        let estimator = estimator.unwrap_or(EstimatorParams {
            method: Method::Logistic,
            linear: cell.linear.clone(),
            class_weight: cell.class_weight,
            ..EstimatorParams::default()
        });
        let called = labelled.call(rows, splits, &estimator, self.run.ctx)?;
        let spec = SetSpec {
            name: cell.name.clone(),
            kind: RowKind::Dense { dim: 1 },
            params: json!([VERSION, "scores", self.params.name, cell, label_key(labelled, splits), self.run.corpus]),
            fitted_until: None,
        };
        let mut of_document: FxHashMap<usize, f32> = FxHashMap::default();
        of_document.extend(labelled.documents.iter().copied().zip(called.scores.iter().copied()));
        let writer = self.store.writer(&spec)?;
        let (mut order, mut first) = (Vec::new(), 0);
        for part in 0..self.run.project.clean().files()?.len() {
            let rows = crate::structure::sentences_of_part(&self.run.project.structure().path(part))?.len();
            let scores = (first..first + rows).map(|at| of_document.get(&at).copied().unwrap_or(f32::NAN)).collect();
            let key = Key::of_json(&(part, rows));
            writer.put(key, &Rows::dense(vec![key; rows], 1, scores))?;
            order.push(key);
            first += rows;
        }
        let set = writer.finish(&order, json!({"columns": ["score"]}))?.id();
        Ok(Observed { figures: called.figures, cost, set: Some(set), rank_ic: Vec::new(), called: called.called })
    }

    /// The rows of the labelled documents.
    fn rows(&self, set: Key, labelled: &Labelled) -> Result<DenseRows> {
        let set = self.store.set(&set)?.context("the rows that were just made are gone from the store")?;
        let (mut all, mut width) = (Vec::new(), 0);
        for rows in set.batches() {
            let Values::Dense { dim, data } = rows?.values else { bail!("rows of a cell are dense") };
            width = dim;
            all.extend(data);
        }
        let of = labelled.documents.iter().flat_map(|&at| all[at * width..(at + 1) * width].iter().copied());
        Ok(DenseRows { dim: width, data: of.collect() })
    }

    /// The documents with a label, and what their texts share.
    fn labelled(&self, inputs: &Inputs<'_>, findings: &mut Findings) -> Result<(Labelled, Overlap)> {
        let Laboratory { run, params, .. } = self;
        let ctx = run.ctx;
        let kinds = self.kinds(self.feature(&params.features[0])?);
        let (mut found, mut number): (Vec<(usize, WholeDocument, String)>, usize) = (Vec::new(), 0);
        for part in 0..inputs.clean.files()?.len() {
            for document in read_whole(inputs, part, ctx)? {
                let at = number;
                number += 1;
                let clean = &document.clean.document;
                if !(kinds.is_empty() || kinds.contains(&clean.kind)) {
                    continue;
                }
                let label = match params.target {
                    Target::Rating => clean.rating.as_deref(),
                    _ => clean.label.as_deref(),
                };
                match label.map(str::trim).filter(|label| !label.is_empty()) {
                    Some(label) => {
                        let label = label.to_owned();
                        found.push((at, document, label));
                    }
                    None => *findings.dropped.entry("without a label".to_owned()).or_default() += 1,
                }
            }
        }
        let what = if params.target == Target::Rating { "rating" } else { "label" };
        ensure!(!found.is_empty(), "no document that is read has a {what}; name its column in [source.columns]");
        found.sort_by(|a, b| {
            let time = |of: &(usize, WholeDocument, String)| of.1.clean.document.published_at;
            time(a).cmp(&time(b)).then(a.0.cmp(&b.0))
        });
        let class_of = |label: &str| match params.positive.is_empty() {
            true => label.to_owned(),
            false if params.positive.iter().any(|positive| positive == label) => params.positive.join("|"),
            false => "other".to_owned(),
        };
        let names: BTreeSet<String> = found.iter().map(|(_, _, label)| class_of(label)).collect();
        ensure!(
            names.len() > 1,
            "all {} documents have the {what} {:?}: there is nothing to tell apart",
            found.len(),
            names.first().cloned().unwrap_or_default()
        );
        // The other class first, so that scores are of the positive one.
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_by_key(|name| (*name == params.positive.join("|"), name.clone()));
        let place: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let class: Vec<u32> = found.iter().map(|(_, _, label)| place[class_of(label).as_str()]).collect();
        for &c in &class {
            *findings.classes.entry(names[c as usize].clone()).or_default() += 1;
        }
        let documents: Vec<&Document> = found.iter().map(|(_, document, _)| &document.clean.document).collect();
        let stories = repeats(documents.iter().copied(), &run.config.clean, ctx)?;
        let test = (!params.test_sources.is_empty())
            .then(|| documents.iter().map(|d| params.test_sources.contains(&d.source)).collect::<Vec<bool>>());
        let (overlap, removed) = overlap(&stories, test.as_deref(), params)?;
        let labelled = Labelled {
            documents: found.iter().map(|(at, _, _)| *at).collect(),
            groups: groups(&found, &stories),
            times: documents.iter().map(|document| document.published_at).collect(),
            class,
            names,
            test,
            removed,
        };
        Ok((labelled, overlap))
    }
}

/// The cost of a native model: what strategies keep, in words or characters, and the time that it took.
fn native(kept: &Cost, started: Instant) -> Cost {
    Cost {
        tokens_read: kept.tokens,
        seconds: started.elapsed().as_secs_f64(),
        device: "cpu".to_owned(),
        ..kept.clone()
    }
}

/// Whether a model's rows are dense and hang on their own document alone.
fn dense(model: Model) -> bool {
    matches!(model, Model::Lexicon | Model::Onnx)
}

/// Whether a model weighs words.
fn counted(model: Model) -> bool {
    matches!(model, Model::Tfidf | Model::Ridge | Model::Logistic | Model::Bayes | Model::Svm | Model::Boosted)
}

fn label_key(labelled: &Labelled, splits: &[Split]) -> Key {
    let splits: Vec<_> = splits.iter().map(|split| (&split.train, &split.test)).collect();
    Key::of_json(&(&labelled.documents, &labelled.class, &labelled.names, splits))
}

/// Documents that repeat each other, or are about one security on one day, are of one group: a repeat is of its first mention's.
fn groups(found: &[(usize, WholeDocument, String)], stories: &[(usize, f32)]) -> Vec<u64> {
    let mut events: FxHashMap<Key, u64> = FxHashMap::default();
    let event = |(_, document, _): &(usize, WholeDocument, String)| {
        let code = document.codes.first().map_or("", |code| code.as_str());
        let own = document.clean.document.doc_id.as_str();
        // Without a security a document is an event of its own.
        let name = if code.is_empty() { own } else { code };
        let day = document.clean.document.published_at.date().to_string();
        Key::of_parts([name.as_bytes(), day.as_bytes()])
    };
    let of_event: Vec<u64> = found
        .iter()
        .map(|document| {
            let next = events.len() as u64;
            *events.entry(event(document)).or_insert(next)
        })
        .collect();
    stories.iter().map(|&(first, _)| of_event[first]).collect()
}

/// Texts of the test that also train, and which documents may not train for it.
fn overlap(stories: &[(usize, f32)], test: Option<&[bool]>, params: &Params) -> Result<(Overlap, Vec<bool>)> {
    let mut removed = vec![false; stories.len()];
    let Some(test) = test else {
        // Folds keep repeats on one side; how many there are is told all the same.
        let repeats = |near: bool| {
            stories.iter().enumerate().filter(|(at, story)| story.0 != *at && (story.1 < 1.0) == near).count() as u64
        };
        let (exact, near, n) = (repeats(false), repeats(true), stories.len() as u64);
        let share = (exact + near) as f64 / n.max(1) as f64;
        return Ok((Overlap { test_documents: n, exact, near, share, rule: params.overlap, removed: 0 }, removed));
    };
    let of = |wanted: bool| -> FxHashMap<usize, bool> {
        let mut trained = FxHashMap::default();
        for (at, &(first, similarity)) in stories.iter().enumerate().filter(|(at, _)| test[*at] == wanted) {
            *trained.entry(first).or_insert(false) |= first == at || similarity >= 1.0;
        }
        trained
    };
    let (trains, tests) = (of(false), of(true));
    let (mut exact, mut near) = (0, 0);
    for (at, (first, similarity)) in stories.iter().enumerate().filter(|(at, _)| test[*at]) {
        match trains.get(first) {
            Some(true) if *first == at || *similarity >= 1.0 => exact += 1,
            Some(_) => near += 1,
            None => {}
        }
    }
    let n = test.iter().filter(|test| **test).count() as u64;
    let share = (exact + near) as f64 / n.max(1) as f64;
    if params.overlap == OverlapRule::Remove {
        for (at, (first, _)) in stories.iter().enumerate().filter(|(at, _)| !test[*at]) {
            removed[at] = tests.contains_key(first);
        }
    }
    ensure!(
        params.overlap != OverlapRule::Refuse || share <= params.max_overlap,
        "{:.1} % of the {n} test documents have a text that also trains ({exact} exactly, {near} nearly), more than max_overlap = {}: \
         what is measured would be memory. overlap = \"remove\" takes them out of the training, \"report\" lets them stand",
        100.0 * share,
        params.max_overlap
    );
    let count = removed.iter().filter(|removed| **removed).count() as u64;
    Ok((Overlap { test_documents: n, exact, near, share, rule: params.overlap, removed: count }, removed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_that_tests_on_what_it_trains_is_refused() {
        // Of four test documents one is the same as a training one, one nearly.
        let stories = [(0, 0.0), (1, 0.0), (2, 0.0), (0, 1.0), (1, 0.9), (5, 0.0), (6, 0.0)];
        let test = [false, false, false, true, true, true, true];
        let refuse = Params::default();
        let error = overlap(&stories, Some(&test), &refuse).unwrap_err().to_string();
        assert!(error.contains("50.0 % of the 4") && error.contains("1 exactly, 1 nearly"), "{error}");
        let remove = Params { overlap: OverlapRule::Remove, ..Params::default() };
        let (found, removed) = overlap(&stories, Some(&test), &remove).unwrap();
        assert_eq!((found.exact, found.near, found.removed), (1, 1, 2));
        assert_eq!(removed, [true, true, false, false, false, false, false]);
        let report = Params { overlap: OverlapRule::Report, ..Params::default() };
        let (found, removed) = overlap(&stories, Some(&test), &report).unwrap();
        assert_eq!((found.share, removed.iter().any(|r| *r)), (0.5, false));
        // In folds repeats stay together.
        assert_eq!(overlap(&stories, None, &refuse).unwrap().0.exact, 1);
    }

    #[test]
    fn a_test_text_that_came_first_counts_for_its_later_copy_in_the_training() {
        let stories = [(0, 0.0), (0, 1.0), (0, 0.85)];
        let report = Params { overlap: OverlapRule::Report, ..Params::default() };
        let (found, _) = overlap(&stories, Some(&[true, false, false]), &report).unwrap();
        assert_eq!((found.exact, found.near), (1, 0));
        let (found, _) = overlap(&stories, Some(&[true, true, false]), &report).unwrap();
        assert_eq!((found.exact, found.near), (0, 2));
    }
}
