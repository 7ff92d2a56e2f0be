//! The texts that features read: those of the documents, and those that models wrote of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::stage::StageId;
use super::state::PlannedStage;
use super::{PipelineRun, linkable, reason_to_leave_out};
use crate::config::Config;
use inkstone_base::data::Key;
use inkstone_corpus::link::read_names;
use inkstone_corpus::structure;
use inkstone_corpus::truncate::Needs;
use inkstone_features::extract::{Feature, Fits, Inputs, RewrittenCorpus};
use inkstone_features::rewrite::{self, Rewrite, RewriteSources};
use inkstone_tables::corpus::Parts;
use inkstone_tables::project::Project;

impl PipelineRun<'_> {
    /// Has the models of `[[rewrite]]` write their texts.
    pub(super) fn rewrite_all(&mut self) -> Result<()> {
        for rewrite in &self.config.rewrite {
            match self.rewrite(rewrite) {
                Ok(texts) => drop(self.rewritten.insert(rewrite.name.clone(), texts)),
                Err(error) => self.leave_out(&StageId::Rewrite(rewrite.name.clone()), reason_to_leave_out(error)?)?,
            }
        }
        Ok(())
    }

    fn rewrite(&mut self, rewrite: &Rewrite) -> Result<RewrittenCorpus> {
        let (config, project, base) = (self.config, &self.project, self.base);
        let texts = self.rewritten_by(rewrite)?;
        let (clean, links, written) = (project.clean(), project.links(), project.written());
        let work = || {
            let sources = RewriteSources {
                clean: &clean,
                links: &links,
                written: &written,
                securities: &linkable(project)?,
                learned: &read_names(&project.names())?,
                link: &config.link,
                normal_form: &config.clean,
                onnx: &config.onnx,
                base,
            };
            Ok((None, rewrite::run(rewrite, &sources, &texts, self.ctx)?))
        };
        // Each document is written and linked.
        let total = self.documents.map(|documents| 2 * documents);
        let id = StageId::Rewrite(rewrite.name.clone());
        let stage = PlannedStage { total, ..self.plan(id, texts.corpus, "docs") };
        let (_, report) = self.state.run(stage, self.ctx, work)?;
        self.reports.push(report);
        Ok(texts)
    }

    /// Where the texts of a rewrite of the linked corpus are, with their key.
    pub(super) fn rewritten_by(&self, rewrite: &Rewrite) -> Result<RewrittenCorpus> {
        let identity = rewrite.identity(self.base)?;
        let corpus = Key::of_json(&("rewrite", identity, self.corpus));
        Ok(RewrittenCorpus { corpus, identity, ..texts_of(rewrite, &self.project, self.base)? })
    }

    /// Key of the linked corpus with the texts that a feature reads.
    pub(super) fn corpus_of(&self, feature: &Feature) -> Result<Key> {
        if feature.text.is_empty() {
            return Ok(self.corpus);
        }
        match self.rewritten.get(&feature.text) {
            Some(texts) => Ok(texts.corpus),
            None => Ok(self.rewritten_by(self.config.find_rewrite(&feature.text)?)?.corpus),
        }
    }
}

/// The parts of a corpus that features are computed from.
pub(super) struct CorpusParts {
    clean: Parts,
    links: Parts,
    sentences: Parts,
    /// The texts of rewrites, by name, without keys.
    rewritten: BTreeMap<String, RewrittenCorpus>,
}

impl CorpusParts {
    pub(super) fn new(config: &Config, base: &Path, project: &Project) -> CorpusParts {
        let texts = |rewrite: &Rewrite| Some((rewrite.name.clone(), texts_of(rewrite, project, base).ok()?));
        let rewritten = config.rewrite.iter().filter_map(texts).collect();
        CorpusParts { clean: project.clean(), links: project.links(), sentences: project.structure(), rewritten }
    }

    /// Inputs of the extract stage, without a market and with zero keys.
    pub(super) fn inputs<'a>(&'a self, config: &'a Config, base: &'a Path) -> Inputs<'a> {
        Inputs {
            clean: &self.clean,
            links: &self.links,
            sentences: &self.sentences,
            corpus: Key::default(),
            market: None,
            prices: Key::default(),
            cutoff: config.market.cutoff,
            tokenizer: &config.tokenizer,
            onnx: &config.onnx,
            base,
            sets: None,
            rewritten: &self.rewritten,
            rewrite: None,
            features: &config.feature,
            fits: Fits::here(),
            shared: None,
        }
    }
}

/// Where the texts of a rewrite are, without keys.
fn texts_of(rewrite: &Rewrite, project: &Project, base: &Path) -> Result<RewrittenCorpus> {
    Ok(RewrittenCorpus {
        clean: project.rewritten(&rewrite.name),
        links: project.rewritten_links(&rewrite.name),
        corpus: Key::default(),
        identity: Key::default(),
        fitted_until: rewrite.last_seen(base)?,
    })
}

/// The output of the structure stage that the configuration needs: sentences, if features or the user want them, and measures of salience.
/// The measures that experiments need are always among these, so that an experiment makes no feature compute again.
pub(super) fn needs_structure(config: &Config) -> Needs {
    let asked =
        Needs { sentences: config.structure.enabled, salience: config.structure.salience.iter().copied().collect() };
    let strategies = config.experiment.iter().flat_map(|experiment| experiment.strategies().unwrap_or_default());
    let salience_of_experiments = strategies.map(|strategy| Needs { sentences: false, ..strategy.needs() });
    config.feature.iter().map(Feature::needs).chain(salience_of_experiments).fold(asked, Needs::and)
}

/// The parameters of the structure stage, with all measures of salience that the configuration needs.
pub(super) fn structure_params(config: &Config) -> structure::Params {
    structure::Params { salience: needs_structure(config).salience.into_iter().collect(), ..config.structure.clone() }
}
