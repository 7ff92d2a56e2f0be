//! Experiments as the workbench runs and shows them.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::dictionary::Dictionary;
use crate::command::opened::OpenProject;
use crate::config::Config;
use crate::config::vary::{VariedFeature, put_over};
use crate::pipeline;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_features::experiment::{Cell, Findings, Params, Settings, shown};
use inkstone_features::extract::Model;
use inkstone_report::experiment_html;
use inkstone_store::Reader;
use inkstone_text::{Segmenter, TokenizerParams};
use inkstone_tui::{Kept, Laboratory, Truncated};

/// Documents that two cells score apart, listed at the most.
const MOST_DIFFERING: usize = 1000;

/// Runs experiments and writes the page of each among the exports. Returns reports, findings and the paths of the pages.
pub(in crate::command) fn experiments(
    opened: &OpenProject,
    name: Option<&str>,
    ctx: &Ctx,
) -> Result<(Vec<Report>, Vec<Findings>, Vec<String>)> {
    let config = &opened.config;
    disk::is_ours(&opened.base.join(&config.project.exports), Room::Exports)?;
    let (reports, findings) = pipeline::experiments(config, &opened.base, name, ctx)?;
    let mut pages = Vec::new();
    let exports = opened.base.join(&config.project.exports);
    disk::own_folder(&exports, Room::Exports)?;
    for found in &findings {
        let path = exports.join("experiments").join(format!("{}.html", found.name));
        let page = experiment_html(found, &config.project.note)?;
        disk::write_atomic(&path, |out| Ok(out.write_all(page.as_bytes())?))
            .with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))?;
        pages.push(path.display().to_string());
    }
    Ok((reports, findings, pages))
}

/// The functions of the page of experiments; none if the configuration has no experiments.
pub(super) fn laboratory(opened: &OpenProject, dictionary: Arc<Dictionary>) -> Option<Laboratory> {
    if opened.config.experiment.is_empty() {
        return None;
    }
    let [of_run, of_findings, of_grids, of_document, of_differences] = [(); 5].map(|()| opened.clone());
    Some(Laboratory {
        planned: pipeline::planned_cells(&opened.config),
        findings: Arc::new(move || pipeline::findings(&of_findings.config, &of_findings.project())),
        grids: Arc::new(move || Ok(pipeline::grids(&of_grids.config, &of_grids.project()))),
        document: Arc::new(move |name, number| {
            let opened = &of_document;
            let words = dictionary.segmenter()?;
            truncated(opened, opened.config.find_experiment(name)?, number, words)
        }),
        differing: Arc::new(move |name, sets, ctx| {
            let (config, project) = (&of_differences.config, of_differences.project());
            let params = config.find_experiment(name)?;
            pipeline::experiment_differences(config, &project, params, sets, MOST_DIFFERING, ctx)
        }),
        run: Arc::new(move |ctx: &Ctx| Ok(experiments(&of_run.again()?, None, ctx)?.0)),
    })
}

/// A document as the cells of an experiment read it. Tokens are words, or characters if strategies count these or if a contextual
/// model has tokens of its own.
fn truncated(opened: &OpenProject, params: &Params, number: usize, words: &Segmenter) -> Result<Option<Truncated>> {
    let config = &opened.config;
    let project = opened.project();
    let found = pipeline::findings(config, &project)?.into_iter().find(|found| found.name == params.name);
    let Some(found) = found else { return Ok(None) };
    let Some(document) = pipeline::experiment_document(config, &project, params, number)? else { return Ok(None) };
    let (store, without_scores) = match Reader::open(&project.store()) {
        Ok(store) => (Some(store), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let mut strategies = Vec::with_capacity(found.cells.len());
    let mut cuts: Vec<(TokenizerParams, Segmenter)> = vec![(config.tokenizer.clone(), words.clone())];
    for (number, cell) in found.cells.iter().enumerate() {
        // Settings that the configuration has lost since are not shown.
        let Some(varied) = varied(config, params, cell) else { continue };
        let strategy = match varied.reader().model {
            Model::Onnx => cell.strategy.in_characters(),
            _ => cell.strategy.clone(),
        };
        let at = match cuts.iter().position(|(tokenizer, _)| *tokenizer == varied.tokenizer) {
            Some(at) => at,
            None => {
                cuts.push((varied.tokenizer.clone(), Segmenter::new(&varied.tokenizer, &opened.base)?));
                cuts.len() - 1
            }
        };
        let words = &cuts[at].1;
        let (layout, views, tokens) = document.document.views(&strategy, words);
        let score = match (&store, cell.set) {
            (Some(store), Some(set)) => document.score(store, set)?,
            _ => None,
        };
        strategies.push(Kept { score, ..Kept::new(number, &layout, &views, &tokens) });
    }
    Ok(Some(Truncated {
        title: document.document.clean.document.title.clone(),
        text: document.document.text,
        documents: document.documents,
        strategies,
        without_scores,
    }))
}

/// A cell's feature and tokenizer by the configuration as it is now; none where it does not have the cell any more.
fn varied(config: &Config, params: &Params, cell: &Cell) -> Option<VariedFeature> {
    let feature = config.find_feature(&cell.feature).ok()?;
    let values_of = |settings: &Settings| settings.values().map(shown).collect::<Vec<String>>();
    let settings = params.combinations().ok()?.into_iter().find(|settings| values_of(settings) == cell.values)?;
    put_over(feature, &config.feature, &config.tokenizer, &settings).ok()
}
