//! Settings of a feature that depend on its model: the settings that the model reads, their checks, the columns of its rows, and the
//! identity of its set.

use anyhow::Result;
use serde_json::{Value, json};

use super::feature::{Feature, Model, name_keys};
use super::vintages::WordVectorTrainer;
use crate::extract::entry::{ColumnNames, EVERY_MODEL, EXPERIMENT_HEAD, place_columns};
use inkstone_base::bounds::bound_of;
use inkstone_base::{bail, ensure, error};
use inkstone_corpus::truncate::Needs;
use inkstone_models::{EstimatorParams, GoalKind, Search, component_names};
use inkstone_onnx::Output;

impl Feature {
    /// The columns of a dense row, in order; none for the sparse rows of `tfidf`, nor for `file` and `onnx`, whose files say them.
    pub fn columns(&self) -> Vec<String> {
        match self.model.entry().columns {
            ColumnNames::Sparse | ColumnNames::InFile(_) => Vec::new(),
            ColumnNames::Fixed(names) => {
                let labels = if self.learns() { self.classes.with_probabilities() } else { &[] };
                names.iter().map(|name| name.to_string()).chain(labels.iter().cloned()).collect()
            }
            ColumnNames::Components(dim) => component_names(dim(self)),
            ColumnNames::Named(names) => names(self),
            ColumnNames::Vectors => self.trainer().map_or_else(Vec::new, |trainer| place_columns(trainer.dim())),
        }
    }

    /// Fails where the parameters do not suit the feature's model; the message begins with their section.
    pub fn check(&self) -> Result<()> {
        if let Some(trainer) = self.trainer() {
            self.vintages.check()?;
            trainer.check().map_err(|error| name_keys(trainer.name(), &error))?;
            self.pooling.check(trainer.dim()).map_err(|error| name_keys("pooling", &error))?;
        }
        ensure!(
            self.truncate.over().is_none() || self.model.entry().combines_windows,
            "truncate = {:?}：只有 lexicon、file 和 onnx 会合并各窗口的行；其他模型整篇读取",
            "truncate = {:?}: rows of windows are put together for lexicon, file and onnx alone; other models read all of a text as it is",
            self.truncate.to_string()
        );
        ensure!(
            self.text.is_empty() || self.needs() == Needs::default(),
            "text = {:?}：章节、显著性与整句须从原文档中找，不能用于模型写出的文本；请换一种 truncate，并去掉 onnx.compose",
            "text = {:?}: sections, salience and whole sentences are found in documents, not in texts that a model wrote; take another truncate, and no onnx.compose",
            self.text
        );
        if self.learns() {
            self.classes.check().map_err(|error| name_keys("classes", &error))?;
            self.target.check(self)?;
        }
        if let Some(estimator) = self.estimator() {
            self.check_search(&estimator).map_err(|error| error!("search：{error:#}", "search: {error:#}"))?;
        }
        (self.model.entry().check)(self)
    }

    /// Fails where the feature's networks begin with vectors of a feature that is not among these, or that reads other texts.
    pub fn check_embeddings(&self, features: &[Feature]) -> Result<()> {
        if let Some(vectors) = self.embeddings.feature_among(features)? {
            ensure!(
                vectors.text == self.text,
                "{:?} 的词向量来自另一种文本（text = {:?}），与网络所读（text = {:?}）不同",
                "the vectors of {:?} are of other texts (text = {:?}) than those that the networks read (text = {:?})",
                vectors.name,
                vectors.text,
                self.text
            );
        }
        Ok(())
    }

    /// Fails where the search has a setting or a value that the model cannot have, or a measure of another target.
    fn check_search(&self, estimator: &EstimatorParams) -> Result<()> {
        let search = &self.search;
        ensure!(
            !search.is_off() || *search == Search::default(),
            "grid 为空，没有可搜索的；请写出候选值，如 grid = {{ {} }}，或去掉 search",
            "grid is empty, so nothing is searched; write the values to choose among, as grid = {{ {} }}, or leave the search out",
            estimator.method.example_grid()
        );
        search.check(estimator, !estimator.method.learns(GoalKind::Classes) || self.target.form.is_some())?;
        let table = estimator.method.tables()[0];
        for (name, values) in &search.grid {
            let Some(bound) = bound_of(&format!("feature.{table}.{name}")) else { continue };
            let refused = values.iter().find_map(|value| bound.refuses(*value, &value.to_string()));
            if let Some(refused) = refused {
                bail!("grid.{name}：{refused}", "grid.{name}: {refused}");
            }
        }
        Ok(())
    }

    /// Fails where a setting is given that the model does not read. Cells of experiments may have some: those of the model that they vary.
    pub fn check_settings(&self) -> Result<()> {
        let entry = self.model.entry();
        ensure!(
            self.inputs.is_empty() || entry.method.is_some() || entry.settings.contains(&"inputs"),
            "inputs 用于 ridge、logistic、bayes、svm、boosted、mlp 和 clusters；model = {} 的特征请去掉它",
            "inputs are for ridge, logistic, bayes, svm, boosted, mlp and clusters; leave them out of a feature of model = {}",
            json!(self.model)
        );
        let (given, defaults) = (json!(self), json!(Feature::default()));
        let read = self.read_settings();
        let settings = given.as_object().into_iter().flatten();
        for (setting, _) in settings.filter(|(setting, value)| **value != defaults[*setting]) {
            ensure!(
                read.contains(&setting.as_str()),
                "{setting} 不适用于 model = {}，该模型读取 {}：请去掉，或换用读取它的模型",
                "{setting} is not for model = {}, which reads {}: leave it out, or choose a model that reads it",
                json!(self.model),
                entry.settings().join(", ")
            );
        }
        Ok(())
    }

    /// The feature without the settings that its model does not read.
    pub fn with_read_settings(&self) -> Result<Feature> {
        let mut settings = json!(self);
        let read = self.read_settings();
        if let Some(settings) = settings.as_object_mut() {
            settings.retain(|setting, _| read.contains(&setting.as_str()));
        }
        Ok(serde_json::from_value(settings)?)
    }

    /// The settings that the model, or the head of an experiment on its rows, reads.
    fn read_settings(&self) -> Vec<&'static str> {
        let entry = self.model.entry();
        let mut read = vec!["name", "inputs"];
        read.extend(EVERY_MODEL);
        read.extend(entry.settings());
        if !entry.learns_from_returns {
            read.extend(EXPERIMENT_HEAD);
        }
        read
    }

    /// The settings that determine the rows, of which the identity of the feature's set is made. A new name changes nothing of it, nor
    /// does a setting of another model. The sets of `inputs` are added where they are known.
    pub fn identity(&self) -> Value {
        let mut settings = json!(self);
        let read = self.model.entry().settings();
        if let Some(settings) = settings.as_object_mut() {
            settings.retain(|setting, _| EVERY_MODEL.contains(&setting.as_str()) || read.contains(&setting.as_str()));
            settings["mask_names"] = json!(self.masks_names());
            // The set's `rewrite` is the key of the rewrite, so the name of the rewrite is left out.
            settings.remove("text");
            // The set's `embeddings` hold what the feature of the word vectors reads, so its name is left out.
            if let Some(name) = settings.get_mut("embeddings").and_then(|embeddings| embeddings.get_mut("feature")) {
                *name = json!("");
            }
            // These came later: sets that were made without them keep their identity.
            if self.search.is_off() {
                settings.remove("search");
            }
            if let Some(onnx) = settings.get_mut("onnx").and_then(Value::as_object_mut) {
                // The settings that a model's folder states are part of the model's key.
                for (setting, before) in [("pooling", json!("mean")), ("normalise", json!(false))] {
                    let value = onnx.entry(setting).or_insert(Value::Null);
                    if value.is_null() {
                        *value = before;
                    }
                }
                let question_is_null = onnx.get("question").is_none_or(Value::is_null);
                onnx.retain(|setting, value| match setting.as_str() {
                    "prompt" => !value.is_null(),
                    "pair" | "question" | "no_answer" => !value.is_null(),
                    "pair_first" => *value != json!(false),
                    "labels" => *value != json!({}),
                    "max_answer" => !question_is_null,
                    "dim" => *value != json!(0),
                    _ => true,
                });
            }
            if let Some(target) = settings.get_mut("target").and_then(Value::as_object_mut)
                && !self.target.ranked_by_day
            {
                target.remove("ranked_by_day");
            }
        }
        settings
    }

    /// True if a row has this column, as far as that can be said without the files that the feature reads.
    pub fn has_column(&self, name: &str) -> bool {
        match self.model.entry().columns {
            ColumnNames::InFile(possible) => possible(self, name),
            _ => self.columns().iter().any(|column| column == name),
        }
    }

    /// True if the model trains vintages of word vectors, which networks can begin with.
    pub(crate) fn has_vintages(&self) -> bool {
        self.trainer().is_some()
    }

    /// The trainer of a model that has vintages of word vectors.
    pub(crate) fn trainer(&self) -> Option<Box<dyn WordVectorTrainer>> {
        self.model.entry().trainer.map(|make| make(self))
    }

    /// True if rows are vectors, whose values have a sign.
    pub fn gives_vectors(&self) -> bool {
        let embedding = self.model == Model::Onnx && self.onnx.output == Output::Embedding;
        embedding || matches!(self.model.entry().columns, ColumnNames::Components(_) | ColumnNames::Vectors)
    }

    /// True if the model is walked forward on a target.
    pub fn learns(&self) -> bool {
        self.model.entry().learns_from_returns
    }

    /// True if company names and codes are hidden from the model.
    pub fn masks_names(&self) -> bool {
        self.mask_names.unwrap_or(self.model.entry().masks_names)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use inkstone_base::data::Key;

    /// A feature a line, at least one of each model, with the key of the feature's identity.
    const IDENTITIES: &str = include_str!("identities.jsonl");

    #[test]
    fn sets_of_earlier_versions_keep_their_identity() {
        let (mut models, mut identities) = (BTreeSet::new(), String::new());
        for line in IDENTITIES.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let feature: Feature = serde_json::from_value(line["feature"].clone()).unwrap();
            let identity = feature.identity();
            identities += &format!("{}\n", json!({"feature": line["feature"], "identity": Key::of_json(&identity)}));
            models.insert(line["feature"]["model"].as_str().unwrap().to_owned());
            let renamed = Feature { name: "other".to_owned(), ..feature };
            assert_eq!(renamed.identity(), identity);
        }
        assert_eq!(models.len(), 19, "a model is not among them: {models:?}");
        assert!(
            identities == IDENTITIES,
            "stored sets would be computed again. Where their rows are the same, leave a new setting out of the identity while it has its \
             default; else write identities.jsonl anew:\n{identities}"
        );
    }
}
