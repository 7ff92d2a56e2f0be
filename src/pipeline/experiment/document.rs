//! Single documents of an experiment, for the page that shows which tokens each strategy keeps.

use anyhow::{Context, Result};

use crate::config::Config;
use inkstone_base::data::Key;
use inkstone_base::language::Word;
use inkstone_features::experiment::Params;
use inkstone_features::extract::{SetMeta, WholeDocument, read_whole};
use inkstone_store::{Reader, Values};
use inkstone_tables::project::Project;

/// A document of an experiment, and the place of its rows.
pub struct ExperimentDocument {
    pub document: WholeDocument,
    part: usize,
    /// Row in the part.
    row: usize,
    /// Number of documents that the experiment reads.
    pub documents: usize,
}

/// Document number `number` of those that an experiment reads, in the order of the corpus; none if there are fewer.
pub fn experiment_document(
    config: &Config,
    project: &Project,
    experiment: &Params,
    number: usize,
) -> Result<Option<ExperimentDocument>> {
    let kinds = match experiment.kinds.is_empty() {
        false => experiment.kinds.clone(),
        true => {
            let named = config.feature.iter().find(|feature| experiment.features.first() == Some(&feature.name));
            named.map(|feature| feature.kinds.clone()).unwrap_or_default()
        }
    };
    let (clean, links, sentences) = (project.clean(), project.links(), project.structure());
    let (mut found, mut documents) = (None, 0);
    for part in 0..clean.files()?.len() {
        let documents_of_part = read_whole(&clean, &links, &sentences, part, config.project.seed)?;
        for (row, document) in documents_of_part.into_iter().enumerate() {
            if !(kinds.is_empty() || kinds.contains(&document.clean.document.kind)) {
                continue;
            }
            if documents == number {
                found = Some((document, part, row));
            }
            documents += 1;
        }
    }
    Ok(found.map(|(document, part, row)| ExperimentDocument { document, part, row, documents }))
}

impl ExperimentDocument {
    /// Score of the document in a feature set, by [`score_of`].
    pub fn score(&self, store: &Reader, set: Key) -> Result<Option<f64>> {
        score_of(store, set, self.part, self.row)
    }
}

/// Score of a document in a feature set: its tone, or if the set has none its first value; none if that is missing.
pub fn score_of(store: &Reader, set: Key, part: usize, row: usize) -> Result<Option<f64>> {
    let Some(set) = store.set(&set)? else { return Ok(None) };
    let batch = set
        .header()
        .batches
        .get(part)
        .context(Word("特征集的份数少于语料", "the set has fewer parts than the corpus"))?
        .key;
    let Some(rows) = set.batch(&batch)? else { return Ok(None) };
    let Values::Dense { dim, data } = rows.values else { return Ok(None) };
    let column = SetMeta::read(set.header())?.columns.iter().position(|name| name == "tone").unwrap_or(0);
    let value = data.get(row * dim + column).copied().map(f64::from);
    Ok(value.filter(|value| value.is_finite()))
}
