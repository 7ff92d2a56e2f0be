//! Single documents of an experiment, for whoever wants to see what strategies do to them.

use anyhow::{Context, Result};

use crate::config::Config;
use inkstone_base::data::Key;
use inkstone_features::experiment::Params;
use inkstone_features::extract::{SetMeta, WholeDocument, read_whole};
use inkstone_store::{Reader, Values};
use inkstone_tables::project::Project;

/// A document of an experiment, and where its rows are.
pub struct Looked {
    /// The document.
    pub document: WholeDocument,
    /// Its part.
    pub part: usize,
    /// Its row in the part.
    pub row: usize,
    /// Documents of the experiment.
    pub documents: usize,
}

/// Document number `number` of those that an experiment reads, in the order of the corpus; none when there are not so many.
pub fn look_at(config: &Config, project: &Project, experiment: &Params, number: usize) -> Result<Option<Looked>> {
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
        let whole = read_whole(&clean, &links, &sentences, part, config.project.seed)?;
        for (row, document) in whole.into_iter().enumerate() {
            if !(kinds.is_empty() || kinds.contains(&document.clean.document.kind)) {
                continue;
            }
            if documents == number {
                found = Some((document, part, row));
            }
            documents += 1;
        }
    }
    Ok(found.map(|(document, part, row)| Looked { document, part, row, documents }))
}

impl Looked {
    /// What a set has of the document: its first value; none where it has none.
    pub fn score(&self, store: &Reader, set: Key) -> Result<Option<f64>> {
        score_of(store, set, self.part, self.row)
    }
}

/// What a set has of the document at a part and row: its tone, or else its first value; none where it has none.
pub fn score_of(store: &Reader, set: Key, part: usize, row: usize) -> Result<Option<f64>> {
    let Some(set) = store.set(&set)? else { return Ok(None) };
    let batch = set.header().batches.get(part).context("the set has fewer parts than the corpus")?.key;
    let Some(rows) = set.batch(&batch)? else { return Ok(None) };
    let Values::Dense { dim, data } = rows.values else { return Ok(None) };
    let column = SetMeta::read(set.header())?.columns.iter().position(|name| name == "tone").unwrap_or(0);
    let value = data.get(row * dim + column).copied().map(f64::from);
    Ok(value.filter(|value| value.is_finite()))
}
