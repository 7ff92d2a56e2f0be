//! The cells of an experiment before they are computed: which feature each is, and in which order they are computed.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use super::ExperimentRun;
use crate::config::vary::{VariedFeature, put_over};
use crate::pipeline::stage::{derived_from, derived_name};
use inkstone_base::data::{Key, Kind};
use inkstone_corpus::truncate::Strategy;
use inkstone_features::experiment::{GridCell, Settings, Target, setting_names, shown};
use inkstone_features::extract::{Feature, Model};
use inkstone_onnx::Output;

use super::cells::{counted, dense};

/// A cell before it is computed.
pub(super) struct PlannedCell {
    /// The configured feature.
    pub(super) of: String,
    /// It under the settings of the cell; its name says in what it differs from the configured one.
    pub(super) varied: VariedFeature,
    /// How progress and findings call it.
    pub(super) named: GridCell,
    /// Key of what decides which words its model counts: cells of one key share their counts.
    pub(super) reading: Key,
}

impl PlannedCell {
    /// The strategy by which its cost is counted: in words, and for contextual models, whose tokens are their own, in characters.
    pub(super) fn audited(&self) -> Strategy {
        let feature = &self.varied.feature;
        if feature.model == Model::Onnx { feature.truncate.in_characters() } else { feature.truncate.clone() }
    }
}

impl ExperimentRun<'_> {
    /// The cells in the order of features and combinations.
    pub(super) fn plan(&self) -> Result<Vec<PlannedCell>> {
        let combinations = self.params.combinations()?;
        let mut cells = Vec::with_capacity(self.params.features.len() * combinations.len());
        for name in &self.params.features {
            let feature = self.run.config.find_feature(name)?;
            let changes = self.changes(feature)?;
            for settings in &combinations {
                cells.push(self.planned(feature, settings, &changes).with_context(|| format!("feature {name:?}"))?);
            }
        }
        Ok(cells)
    }

    fn planned(&self, feature: &Feature, settings: &Settings, changes: &Changes) -> Result<PlannedCell> {
        let mut varied = put_over(feature, &self.run.config.tokenizer, settings)?;
        varied.feature.kinds = self.kinds(feature);
        let values = settings.values().map(shown).collect();
        varied.feature.name = name_of(feature, settings, changes, &varied.feature.kinds)?;
        let cell = &varied.feature;
        let named = GridCell { stage: cell.name.clone(), ..GridCell::new(&feature.name, &self.paths(), values) };
        let gate = (&cell.within, &cell.only);
        let reading = (&cell.kinds, &cell.truncate, gate, cell.masks_names(), &cell.tfidf, &varied.tokenizer);
        let reading = Key::of_json(&reading);
        Ok(PlannedCell { of: feature.name.clone(), named, reading, varied })
    }

    /// Paths of the settings that vary.
    pub(super) fn paths(&self) -> Vec<String> {
        self.params.vary.keys().cloned().collect()
    }

    /// The settings that are others than those of the configured feature.
    fn changes(&self, feature: &Feature) -> Result<Changes> {
        let tokenizer = &self.run.config.tokenizer;
        let mut changes = Changes::new();
        for (path, values) in self.params.varied()? {
            for value in values {
                let name = (path.to_owned(), shown(&value));
                let alone = put_over(feature, tokenizer, &Settings::from([(path.to_owned(), value)]))?;
                if alone.feature != *feature || alone.tokenizer != *tokenizer {
                    changes.insert(name);
                }
            }
        }
        Ok(changes)
    }

    pub(super) fn kinds(&self, feature: &Feature) -> Vec<Kind> {
        if self.params.kinds.is_empty() { feature.kinds.clone() } else { self.params.kinds.clone() }
    }

    /// Fails if the values of a feature cannot be tested against the target.
    pub(super) fn suits(&self, cell: &Feature) -> Result<()> {
        let model = cell.model;
        match self.params.target {
            Target::Factor => {
                ensure!(
                    !matches!(model, Model::Tfidf | Model::Lsa | Model::Word2vec | Model::Glove | Model::FastText),
                    "the feature gives vectors, of which no factor can be made; take a model with a score, or target = \"label\""
                );
                ensure!(
                    model != Model::File || self.names_column(derived_from(&cell.name).unwrap_or(&cell.name))?,
                    "only its file says what columns the feature has; let factor name a factor whose expression names one of them, \
                     or take target = \"label\""
                );
                ensure!(
                    model != Model::Onnx || cell.onnx.output != Output::Embedding,
                    "onnx.output = \"embedding\" gives vectors, of which no factor can be made; take \"scores\", or target = \"label\""
                );
            }
            Target::Label | Target::Rating => {
                ensure!(
                    dense(model) || counted(model),
                    "the values of the feature depend on returns; for labels take a model of words (tfidf, logistic, bayes, svm, \
                     boosted, mlp, ridge), of vectors (lsa, word2vec, glove, fasttext, file, onnx), lexicon or surprise"
                );
                ensure!(
                    cell.inputs.is_empty(),
                    "labels are learned on the rows of a feature itself: name {} in features, or take target = \"factor\"",
                    cell.inputs.join(", ")
                );
            }
        }
        Ok(())
    }

    /// True if the expression of the factor whose rules are used names a column of a feature.
    fn names_column(&self, feature: &str) -> Result<bool> {
        let expression = self.factor_params()?.expression;
        Ok(expression.features().into_iter().any(|(name, column)| name == feature && column.is_some()))
    }
}

/// Paths of settings with the values, as they are shown, by which a feature becomes another.
type Changes = BTreeSet<(String, String)>;

/// The name of a cell's feature: in what it differs from the configured one, so that cells with the same rows are called alike in all
/// experiments and find each other's rows in the store. A cell that differs in nothing is the configured feature.
fn name_of(feature: &Feature, settings: &Settings, changes: &Changes, kinds: &[Kind]) -> Result<String> {
    let all = settings.iter().map(|(path, value)| (path.clone(), shown(value)));
    let (mut paths, mut values): (Vec<String>, Vec<String>) = all.filter(|setting| changes.contains(setting)).unzip();
    if feature.kinds != kinds {
        let kinds = kinds.iter().map(|kind| Ok(shown(&serde_json::to_value(kind)?)));
        paths.push("kinds".to_owned());
        values.push(kinds.collect::<Result<Vec<String>>>()?.join("+"));
    }
    match paths.is_empty() {
        true => Ok(feature.name.clone()),
        false => Ok(derived_name(&feature.name, setting_names(&paths, &values))),
    }
}
