//! What lies behind the values of a factor, as the workbench asks for it.

use std::sync::Arc;

use crate::command::opened::OpenProject;
use crate::pipeline::{self, Tracer};
use inkstone_base::disk;
use inkstone_corpus::demo::{Planted, Truth};
use inkstone_lab::lint::Standing;
use inkstone_tui::{Judgement, JudgementOf, PlantedOf, PlantedTruth, Tracing};

/// The functions by which the workbench traces a factor.
pub(super) fn tracing(opened: &OpenProject) -> Tracing {
    let tracer = Arc::new(Tracer::new(&opened.config, &opened.base));
    let [prepare, days, names, documents, sentences] = [(); 5].map(|()| tracer.clone());
    Tracing {
        prepare: Arc::new(move |factor, ctx| prepare.prepare(factor, ctx)),
        days: Arc::new(move |factor, quantile, ctx| days.days(factor, quantile, ctx)),
        names: Arc::new(move |factor, date, ctx| names.names(factor, date, None, ctx)),
        documents: Arc::new(move |factor, date, code, ctx| documents.documents(factor, date, code, ctx)),
        sentences: Arc::new(move |factor, reading, document, ctx| sentences.sentences(factor, reading, document, ctx)),
    }
}

/// The effects that the demo's market was made with.
pub(super) fn planted(opened: &OpenProject) -> PlantedOf {
    let path = opened.base.join("data").join("truth.json");
    Arc::new(move |factor| {
        let truth: Truth = disk::read_unsealed_json(&path).ok()?;
        let figures = |planted: &Planted| [planted.mean, planted.low, planted.high];
        match factor {
            "placebo" => Some(PlantedTruth::default()),
            "tone" => {
                Some(PlantedTruth { rank_ic: vec![(1, figures(&truth.rank_ic_1)), (5, figures(&truth.rank_ic_5))] })
            }
            "customers" => Some(PlantedTruth { rank_ic: vec![(1, figures(&truth.customers_rank_ic_1))] }),
            _ => None,
        }
    })
}

/// The results of linter and ledger on a factor, as the workbench shows them.
pub(super) fn judgement(opened: &OpenProject) -> JudgementOf {
    let opened = opened.clone();
    Arc::new(move |factor| {
        let Some(result) = pipeline::factor_result(&opened.config, &opened.base, factor)? else { return Ok(None) };
        let count = |standing| result.verdicts.iter().filter(|verdict| verdict.standing == standing).count();
        let looks = result.looks.as_ref();
        Ok(Some(Judgement {
            checks: result.verdicts.len(),
            passed: count(Standing::Passed),
            warned: count(Standing::Warned),
            failed: count(Standing::Failed),
            trials: looks.map_or(0, |looks| looks.trials),
            deflated_sharpe: looks.map_or(f64::NAN, |looks| looks.deflated_sharpe),
            ledger_changed: looks.is_some_and(|looks| looks.problems > 0),
        }))
    })
}
