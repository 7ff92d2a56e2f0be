//! Builds factors from the rows of the store, the corpus and its links, the market, and factors built before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};

use super::market::{company_events, relations};
use super::over_gaps;
use crate::config::Config;
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::event::{self, EventFinder, EventRule};
use inkstone_corpus::ingest;
use inkstone_features::extract::{self, Gate, SignalSources};
use inkstone_lab::factor::{self, Factor, GraphInputs, Inputs, Plan, Signal};
use inkstone_market::table::DailyTable;
use inkstone_market::{CompanyEvent, Market};
use inkstone_store::Reader;
use inkstone_tables::frames::ParquetColumns;
use inkstone_tables::project::Project;

/// Builds the factors of a project.
pub(super) struct FactorBuilder<'a> {
    pub(super) store: &'a Reader,
    pub(super) market: &'a Market,
    pub(super) project: &'a Project,
    pub(super) config: &'a Config,
    /// Folder that paths of the configuration are relative to.
    pub(super) base: &'a Path,
}

impl FactorBuilder<'_> {
    /// The factor by the rows of these sets, which are named by their features.
    pub(super) fn build(&self, params: &factor::Params, sets: &BTreeMap<String, Key>, ctx: &Ctx) -> Result<Factor> {
        let plan = Plan::new(params)?;
        let (signals, _) = self.signals(params, &plan, sets, ctx)?;
        Ok(self.build_from_signals(params, &plan, &signals, None, ctx)?.0)
    }

    /// The signals of the documents in the readings of the plan.
    pub(super) fn signals(
        &self,
        params: &factor::Params,
        plan: &Plan,
        sets: &BTreeMap<String, Key>,
        ctx: &Ctx,
    ) -> Result<(Vec<Signal>, Report)> {
        let set = |name: &String| {
            let key = sets.get(name).with_context(|| {
                message!(
                    "因子 {:?} 读取尚未计算的特征 {name:?}：请运行 inkstone extract",
                    "factor {:?} reads feature {name:?}, which is not computed yet: run inkstone extract",
                    params.name
                )
            })?;
            self.store.set(key)?.context(Word(
                "该特征的行已不在特征库中；重新运行即可计算",
                "the rows of the feature are gone from the store; run again to compute them",
            ))
        };
        let sets: Vec<_> = plan.features().iter().map(set).collect::<Result<_>>()?;
        let (clean, links) = (self.project.clean(), self.project.links());
        let cutoff = self.config.market.cutoff;
        let source_weights = &params.source_weights;
        let gate = Gate::open(params.within.as_ref(), &params.only, &clean, &links, ctx)
            .with_context(|| message!("因子 {:?}", "factor {:?}", params.name))?;
        let events = &EventFinder::new(&event_rules(self.config, plan), self.base)?;
        let sources =
            SignalSources { sets: &sets, clean: &clean, links: &links, gate: &gate, events, cutoff, source_weights };
        let (signals, report) = extract::signals(plan, &sources, self.market, ctx)?;
        let of_tables = self.events_of_tables(plan)?;
        if plan.reads_documents() && report.rows_out == 0 && of_tables.is_empty() {
            let reasons: Vec<String> = report.dropped.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
            bail!(TooLittle(message!(
                "因子 {:?} 没有值，因为它的 {} 篇文档{}",
                "factor {:?} has no values, because of its {} documents {}",
                params.name,
                report.rows_in,
                if reasons.is_empty() { "none is linked to a security".to_owned() } else { reasons.join(", ") }
            )));
        }
        Ok((signals, report))
    }

    /// The factor of these signals and of the factors that were built before; with a seed, its graphs are rewired by it.
    pub(super) fn build_from_signals(
        &self,
        params: &factor::Params,
        plan: &Plan,
        signals: &[Signal],
        rewired: Option<u64>,
        ctx: &Ctx,
    ) -> Result<(Factor, Report)> {
        let others: Vec<Factor> =
            plan.factors().iter().map(|name| read_factor(name, self.project, self.market)).collect::<Result<_>>()?;
        let factors: Vec<&Factor> = others.iter().collect();
        let relations = if plan.reads_relations() { relations(self.project)? } else { Vec::new() };
        let graphs = GraphInputs { relations: &relations, rewired };
        let (cutoff, events) = (self.config.market.cutoff, &self.events_of_tables(plan)?);
        let inputs = Inputs { market: self.market, cutoff, signals, factors: &factors, graphs, events };
        let (mut factor, mut report) = factor::build(plan, &inputs, params, ctx)?;
        let gaps = ingest::gaps(self.project)?;
        over_gaps::look(&mut factor, plan, self.market, &gaps, params.gaps, &mut report);
        Ok((factor, report))
    }

    /// The rows of tables of events that a plan reads. Fails if a kind is neither in a table nor one of the configuration.
    fn events_of_tables(&self, plan: &Plan) -> Result<Vec<CompanyEvent>> {
        if !plan.reads_events() {
            return Ok(Vec::new());
        }
        let mut events = company_events(self.project)?;
        let known = |kind: &str| self.config.event.iter().any(|rule| rule.name == kind);
        for kind in plan.events() {
            if !known(kind) && events.iter().all(|event| event.kind != kind) {
                let rules = self.config.event.iter().map(|rule| rule.name.as_str());
                let kinds: BTreeSet<&str> = events.iter().map(|event| event.kind.as_str()).chain(rules).collect();
                let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
                bail!(TooLittle(message!(
                    "没有类型为 {kind:?} 的事件：配置的 [[event]] 与事件表中有 {kinds}",
                    "there are no events of kind {kind:?}: [[event]] of the configuration and the tables of events have {kinds}"
                )));
            }
        }
        events.retain(|event| plan.events().contains(&event.kind.as_str()));
        Ok(events)
    }
}

/// The rules of the kinds of events that a plan reads.
fn event_rules(config: &Config, plan: &Plan) -> Vec<EventRule> {
    config.event.iter().filter(|rule| plan.events().contains(&rule.name.as_str())).cloned().collect()
}

/// Key of the kinds of events that a plan reads: their rules and the files of their labellers.
pub(super) fn event_key(config: &Config, base: &Path, plan: &Plan) -> Result<Key> {
    let rules = event_rules(config, plan);
    let file = |rule: &EventRule| {
        let key = disk::hash_file(&base.join(rule.labeller.as_ref()?));
        let trained_by = "inkstone train crf --learn entities";
        Some(key.with_context(|| {
            message!(
                "事件 {:?} 的标注器（由 {trained_by} 训练）",
                "the labeller of the event {:?} (trained by {trained_by})",
                rule.name
            )
        }))
    };
    let files: Vec<Key> = rules.iter().filter_map(file).collect::<Result<_>>()?;
    Ok(Key::of_json(&(event::VERSION, rules, files)))
}

/// A factor of a project, as it was built last.
pub(super) fn read_factor(name: &str, project: &Project, market: &Market) -> Result<Factor> {
    let path = project.factor(name);
    ensure!(
        path.exists(),
        "因子 {name:?} 尚未计算：请运行 inkstone factor",
        "factor {name:?} is not built yet: run inkstone factor"
    );
    let (factor, _) = Factor::from_table(&DailyTable::Parquet(ParquetColumns::ours(&path)?), name, market)
        .with_context(|| message!("因子表 {}", "the factor table {}", path.display()))?;
    Ok(factor)
}
