//! One cell of an experiment: a feature with settings put over it, and its observations.

use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result};
use chrono::Utc;
use rustc_hash::FxHashMap;
use serde_json::json;

use super::plan::PlannedCell;
use super::{ExperimentRun, read_or_make};
use crate::pipeline::factor_builder::FactorBuilder;
use crate::pipeline::market::needed;
use crate::pipeline::stage::derived_name;
use crate::pipeline::version;
use inkstone_base::data::{Key, Report};
use inkstone_base::language::Word;
use inkstone_corpus::structure::sentences_of_part;
use inkstone_features::experiment::{Called, Labelled, Observed, Target};

use inkstone_features::extract::{self, Cost, Counts, Feature, FeatureSets, InputColumns, Inputs, Model};
use inkstone_features::models::textnet::{self, FoldedClasses};
use inkstone_lab::factor::Expression;
use inkstone_lab::ledger::Trial;
use inkstone_lab::{backtest, factor, ledger};
use inkstone_models::{Csr, EstimatorParams, FoldCounts, Method, Split, StackedRows};
use inkstone_store::{RowKind, Rows, SetSpec};

/// The name under which a head reads the rows of its cell's own feature.
const OWN_ROWS: &str = "rows";

impl ExperimentRun<'_> {
    /// The observations of one cell, and the reports of the stages that ran for it.
    pub(super) fn cell(
        &self,
        planned: &PlannedCell,
        inputs: &Inputs<'_>,
        labels: Option<(&Labelled, &[Split])>,
    ) -> Result<(Observed, Vec<Report>)> {
        let ExperimentRun { run, params, .. } = self;
        let (config, varied) = (run.config, &planned.varied);
        let cell = &varied.feature;
        let rules = match params.target {
            Target::Factor => {
                let versions = [version::FACTOR, version::BACKTEST];
                let factor = self.factor_params()?;
                json!([versions, factor, params.horizon, config.backtest, config.market, run.prices, params.kinds])
            }
            Target::Label | Target::Rating => json!([labels.map(|(l, s)| label_key(l, s))]),
        };
        let files = run.files_named_in(cell, &varied.inputs, inputs.tokenizer)?;
        let key = Key::of_json(&(
            (version::EXPERIMENT, version::EXTRACT),
            "cell",
            (cell, run.input_keys(cell, &varied.inputs, inputs.tokenizer)?),
            rules,
            inputs.tokenizer,
            run.corpus_of(cell)?,
            run.structure,
            files,
            run.ctx.seed(),
        ));
        let mut reports = Vec::new();
        let path = self.folder().join("cells").join(format!("{}.json", key.hex()));
        let observed = read_or_make(&path, key, || match labels {
            None => self.factor_cell(planned, inputs, &mut reports),
            Some((labelled, splits)) => self.label_cell(planned, inputs, labelled, splits, &mut reports),
        })?;
        Ok((observed, reports))
    }

    fn factor_cell(&self, planned: &PlannedCell, inputs: &Inputs<'_>, reports: &mut Vec<Report>) -> Result<Observed> {
        let (run, cell) = (self.run, &planned.varied.feature);
        let market = needed(&run.market)?;
        let learned_on = self.input_sets(planned, inputs, reports)?;
        let sets = Some(FeatureSets { store: self.store, ids: &learned_on.ids });
        let (set, cost) = self.set_of(cell, planned, &Inputs { sets, ..*inputs }, reports)?;
        let cost = sum(&learned_on.cost, &cost);
        let rules = self.factor_params()?;
        // A factor that reads the cell's feature reads the cell in its place; of any other only the rules are used. If it reads a
        // contextual model and names no column, the tone is meant.
        let bare = cell.model == Model::Onnx && matches!(rules.expression.only_feature(), Some((_, None)));
        let names = rules.expression.features().into_iter().map(|(name, _)| name.to_owned());
        let read = names.filter(|_| !bare).find(|name| *name == planned.of);
        let mut sets = run.sets.clone();
        let expression = match &read {
            Some(_) => rules.expression.clone(),
            None => Expression::of_feature("cell", (cell.model == Model::Onnx).then_some("tone")),
        };
        sets.insert(read.unwrap_or_else(|| "cell".to_owned()), set);
        let rules = factor::Params { name: cell.name.clone(), kinds: cell.kinds.clone(), expression, ..rules };
        let builder =
            FactorBuilder { store: self.store, market, project: &run.project, config: run.config, base: run.base };
        let factor = builder.build(&rules, &sets, run.ctx)?;
        let (outcome, _) = backtest::run(&factor, market, &run.config.backtest, run.ctx)?;
        let inputs = [("factor".to_owned(), Key::of_json(&(set, &rules))), ("prices".to_owned(), run.prices)];
        let chosen = json!({"backtest": run.config.backtest, "factor": rules, "experiment": self.params.name});
        let mut trial = Trial::cell(&outcome, self.params.horizon, chosen, inputs.into());
        trial.details.factor = format!("{} · {}", self.params.name, planned.named.name());
        ledger::record_once(&run.project.ledger(), &trial, Utc::now())?;
        let series = outcome.ic.iter().find(|series| series.horizon == self.params.horizon);
        let series = series.context(Word("回测应有该持有期", "the backtest has the horizon"))?;
        let (ic, rank_ic) = (&series.ic_summary, &series.rank_ic_summary);
        let figures = [
            ("ic", ic.mean),
            ("icir", ic.icir),
            ("rank_ic", rank_ic.mean),
            ("rank_icir", rank_ic.icir),
            ("rank_ic_t", rank_ic.t_nw),
        ];
        let finite = |(name, value): (&str, f64)| value.is_finite().then(|| (name.to_owned(), value));
        let pairs = series.dates.iter().copied().zip(series.rank_ic.iter().copied());
        Ok(Observed {
            figures: figures.into_iter().filter_map(finite).collect(),
            cost,
            set: Some(set),
            rank_ic: pairs.filter(|(_, ic)| ic.is_finite()).collect(),
            called: Vec::new(),
        })
    }

    fn label_cell(
        &self,
        planned: &PlannedCell,
        inputs: &Inputs<'_>,
        labelled: &Labelled,
        splits: &[Split],
        reports: &mut Vec<Report>,
    ) -> Result<Observed> {
        let (ctx, cell) = (self.run.ctx, &planned.varied.feature);
        if cell.model.is_network() {
            return self.network_cell(planned, inputs, labelled, splits, reports);
        }
        let needed = self.input_sets(planned, inputs, reports)?;
        let inputs = &Inputs { sets: Some(FeatureSets { store: self.store, ids: &needed.ids }), ..*inputs };
        let (mut head, mut own, mut cost) = (cell.clone(), None, needed.cost.clone());
        if cell.model.has_dense_rows() {
            // The feature's own rows are all that the head learns on.
            let (set, cost_of_set) = self.set_of(cell, planned, inputs, reports)?;
            head.inputs = vec![OWN_ROWS.to_owned()];
            own = Some([(OWN_ROWS.to_owned(), set)].into());
            cost = sum(&cost, &cost_of_set);
        }
        let sets = Some(FeatureSets { store: self.store, ids: own.as_ref().unwrap_or(&needed.ids) });
        let columns = InputColumns::read(&head, &Inputs { sets, ..*inputs }, &labelled.places, ctx)?;
        let (mut of_labelled, mut titles) = (Csr::default(), Rc::default());
        if head.learns_on_words() {
            let started = Instant::now();
            let counts = self.counts(planned, inputs, reports)?;
            of_labelled = Csr::new(counts.counts.cols());
            labelled.documents.iter().for_each(|&document| of_labelled.push_row(counts.counts.row(document).iter()));
            titles = counts;
            cost = sum(&cost, &native_cost(&self.cost_of(cell, planned), started.elapsed().as_secs_f64()));
        }
        let counted = FoldCounts { counts: &of_labelled, titles: &titles.titles, params: &cell.tfidf, ctx };
        let rows = StackedRows {
            counts: head.learns_on_words().then_some(counted),
            sparse: columns.sparse.iter().collect(),
            dense: columns.dense.as_ref(),
        };
        let estimator = cell.estimator().unwrap_or(EstimatorParams {
            method: Method::Logistic,
            linear: cell.linear.clone(),
            class_weight: cell.class_weight,
            ..EstimatorParams::default()
        });
        let called = labelled.call(&rows, splits, &estimator, ctx)?;
        self.keep_scores(cell, called, labelled, splits, cost)
    }

    /// A network learns words and their order in each fold, so it has no rows that a head could learn on.
    fn network_cell(
        &self,
        planned: &PlannedCell,
        inputs: &Inputs<'_>,
        labelled: &Labelled,
        splits: &[Split],
        reports: &mut Vec<Report>,
    ) -> Result<Observed> {
        let (ctx, cell) = (self.run.ctx, &planned.varied.feature);
        let needed = self.input_sets(planned, inputs, reports)?;
        let inputs = &Inputs { sets: Some(FeatureSets { store: self.store, ids: &needed.ids }), ..*inputs };
        let goal = labelled.goal();
        let folded = FoldedClasses { places: &labelled.places, times: &labelled.times, goal: &goal, splits };
        let (scores, report) = ctx.stage(&cell.name, "docs", self.run.documents, || {
            let scores = textnet::scores_in_folds(cell, inputs, folded, ctx)?;
            let rows = labelled.places.len() as u64;
            Ok((scores, Report { rows_in: rows, rows_out: rows, ..Report::new(&cell.name) }))
        })?;
        let cost = native_cost(&self.cost_of(cell, planned), report.seconds);
        reports.push(report);
        self.keep_scores(cell, labelled.called(&scores), labelled, splits, cost)
    }

    /// The token counts of a cell. Counts of the cell before are used again where both read the same text in the same way.
    fn counts(&self, planned: &PlannedCell, inputs: &Inputs<'_>, reports: &mut Vec<Report>) -> Result<Rc<Counts>> {
        let (ctx, cell) = (self.run.ctx, &planned.varied.feature);
        if let Some((reading, counts)) = &*self.counted.borrow()
            && *reading == planned.reading
        {
            return Ok(counts.clone());
        }
        // Data that is not needed any more gives its memory back first.
        self.counted.replace(None);
        let (counts, report) = ctx.stage(&cell.name, "docs", self.run.documents, || {
            let counts = extract::counts(cell, inputs, ctx)?;
            let read = counts.read.iter().filter(|read| **read).count() as u64;
            let mut report = Report { rows_in: counts.read.len() as u64, rows_out: read, ..Report::new(&cell.name) };
            report.drop_rows("not read, or nothing kept", report.rows_in - read);
            Ok((counts, report))
        })?;
        reports.push(report);
        let counts = Rc::new(counts);
        self.counted.replace(Some((planned.reading, counts.clone())));
        Ok(counts)
    }

    /// Keeps the scores of the called documents in the store.
    fn keep_scores(
        &self,
        cell: &Feature,
        called: Called,
        labelled: &Labelled,
        splits: &[Split],
        cost: Cost,
    ) -> Result<Observed> {
        let spec = SetSpec {
            name: derived_name(&cell.name, "scores"),
            kind: RowKind::Dense { dim: 1 },
            params: json!([
                version::EXPERIMENT,
                "scores",
                self.params.name,
                cell,
                label_key(labelled, splits),
                self.run.corpus
            ]),
            fitted_until: None,
        };
        let mut of_document: FxHashMap<usize, f32> = FxHashMap::default();
        of_document.extend(labelled.documents.iter().copied().zip(called.scores.iter().copied()));
        let writer = self.store.writer(&spec)?;
        let (mut order, mut first) = (Vec::new(), 0);
        for part in 0..self.run.project.clean().files()?.len() {
            let rows = sentences_of_part(&self.run.project.structure().path(part))?.len();
            let scores = (first..first + rows).map(|at| of_document.get(&at).copied().unwrap_or(f32::NAN)).collect();
            let key = Key::of_json(&(part, rows));
            writer.put(key, &Rows::dense(vec![key; rows], 1, scores))?;
            order.push(key);
            first += rows;
        }
        let set = writer.finish(&order, json!({"columns": ["score"]}))?.id();
        Ok(Observed { figures: called.figures, cost, set: Some(set), rank_ic: Vec::new(), called: called.called })
    }
}

/// The cost of computing a feature, by the report of its stage; `read` are the tokens that it reads of the documents.
pub(super) fn cost_of_report(report: &Report, read: &Cost) -> Result<Cost> {
    match report.facts.get("cost") {
        Some(cost) => Ok(serde_json::from_value(cost.clone())?),
        None => Ok(native_cost(read, report.seconds)),
    }
}

/// The cost of a native model: the words or characters that the strategy keeps, and the time that it took.
fn native_cost(kept: &Cost, seconds: f64) -> Cost {
    Cost { tokens_read: kept.tokens, seconds, device: "cpu".to_owned(), ..kept.clone() }
}

/// The cost of two features that read the same documents.
pub(super) fn sum(a: &Cost, b: &Cost) -> Cost {
    // A feature that reads no text of its own has counted no documents.
    let nothing_kept = if a.documents == 0 || b.documents == 0 { u64::max } else { u64::min };
    let device = if matches!(a.device.as_str(), "" | "cpu") && !b.device.is_empty() { &b.device } else { &a.device };
    Cost {
        documents: a.documents.max(b.documents),
        nothing_kept: nothing_kept(a.nothing_kept, b.nothing_kept),
        windows: a.windows + b.windows,
        tokens: a.tokens + b.tokens,
        tokens_read: a.tokens_read + b.tokens_read,
        seconds: a.seconds + b.seconds,
        device: device.clone(),
    }
}

fn label_key(labelled: &Labelled, splits: &[Split]) -> Key {
    let splits: Vec<_> = splits.iter().map(|split| (&split.train, &split.test)).collect();
    Key::of_json(&(&labelled.documents, &labelled.class, &labelled.names, splits))
}
