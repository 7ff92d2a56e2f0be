//! Single documents of an experiment, for the page that shows which tokens each strategy keeps.

use anyhow::{Context, Result};

use crate::config::Config;
use inkstone_base::data::{Key, Kind};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_features::experiment::Params;
use inkstone_features::extract::{SetMeta, WholeDocument, read_whole};
use inkstone_store::{Reader, Set, Values};
use inkstone_tables::corpus::texts_of;
use inkstone_tables::frames;
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
    let kinds = kinds(config, experiment);
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

/// The kinds of documents that an experiment reads; empty for all.
fn kinds(config: &Config, experiment: &Params) -> Vec<Kind> {
    match experiment.kinds.is_empty() {
        false => experiment.kinds.clone(),
        true => {
            let named = config.feature.iter().find(|feature| experiment.features.first() == Some(&feature.name));
            named.map(|feature| feature.kinds.clone()).unwrap_or_default()
        }
    }
}

/// The documents of an experiment by how far two feature sets score them apart, the farthest first, at most so many: their numbers in the order of
/// [`experiment_document`], and the scores of the one less those of the other.
pub fn experiment_differences(
    config: &Config,
    project: &Project,
    experiment: &Params,
    sets: [Key; 2],
    most: usize,
    ctx: &Ctx,
) -> Result<Vec<(usize, f64)>> {
    let (kinds, clean) = (kinds(config, experiment), project.clean());
    let store = Reader::open(&project.store())?;
    let (mut found, mut number): (Vec<(usize, f64)>, usize) = (Vec::new(), 0);
    for part in 0..clean.files()?.len() {
        ctx.check()?;
        let frame = frames::read_parquet(&clean.path(part), Some(&["kind"]))?;
        let of_rows: Vec<Kind> =
            texts_of(&frame, "kind")?.iter().map(|kind| kind.and_then(Kind::parse).unwrap_or_default()).collect();
        let mut scores = Vec::with_capacity(2);
        for set in sets {
            scores.push(scores_of(&store, set, part)?);
        }
        for (row, _) in of_rows.iter().enumerate().filter(|(_, kind)| kinds.is_empty() || kinds.contains(kind)) {
            let [one, other] = [0, 1].map(|set| scores[set].get(row).copied().unwrap_or(f64::NAN));
            if (one - other).is_finite() && one != other {
                found.push((number, one - other));
            }
            number += 1;
        }
    }
    found.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    found.truncate(most);
    Ok(found)
}

/// Scores of the documents of a part, by row: NaN where there is none; nothing where the set has no numbers.
fn scores_of(store: &Reader, set: Key, part: usize) -> Result<Vec<f64>> {
    let Some(set) = store.set(&set)? else { return Ok(Vec::new()) };
    let Some(batch) = set.header().batches.get(part) else { return Ok(Vec::new()) };
    let Some(rows) = set.batch(&batch.key)? else { return Ok(Vec::new()) };
    let Values::Dense { dim, data } = rows.values else { return Ok(Vec::new()) };
    let column = tone_column(&set)?;
    Ok(data.chunks(dim).map(|row| row.get(column).copied().map_or(f64::NAN, f64::from)).collect())
}

/// The column of a set that is its score: the tone, or else the first one.
fn tone_column(set: &Set<'_>) -> Result<usize> {
    Ok(SetMeta::read(set.header())?.columns.iter().position(|name| name == "tone").unwrap_or(0))
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
    let column = tone_column(&set)?;
    let value = data.get(row * dim + column).copied().map(f64::from);
    Ok(value.filter(|value| value.is_finite()))
}
