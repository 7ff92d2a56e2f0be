//! The cells of an experiment before they are computed: which feature each is, and in which order they are computed.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::ExperimentRun;
use crate::config::Config;
use crate::config::vary::{VariedFeature, put_over};
use crate::pipeline::stage::{derived_from, derived_name};
use inkstone_base::data::{Key, Kind};
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::truncate::Strategy;
use inkstone_features::experiment::{GridCell, Params, Settings, Target, setting_names, shown};
use inkstone_features::extract::{Feature, Model};
use inkstone_onnx::Output;
use inkstone_text::Mode;
use serde_json::Value;

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
    /// The inputs that are as the configuration has them, with all that they learn on.
    pub(super) fn configured_inputs(&self, config: &Config) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = BTreeSet::new();
        if self.varied.tokenizer == config.tokenizer {
            for input in &self.varied.inputs {
                let has_inputs = input.needed_features().all(|other| found.contains(other.feature));
                if has_inputs && config.feature.contains(input) {
                    found.insert(input.name.clone());
                }
            }
        }
        found
    }
}

/// The strategy by which the cost of a feature is counted. It counts words; characters for contextual models, whose tokens are their own,
/// and for a text without a limit where other cells limit characters, so that their costs can be compared.
pub(super) fn audited(feature: &Feature, limits_in_characters: bool) -> Strategy {
    let is_whole = feature.truncate.limit(0).is_none();
    match feature.model == Model::Onnx || (is_whole && limits_in_characters) {
        true => feature.truncate.in_characters(),
        false => feature.truncate.clone(),
    }
}

/// True if the truncation of some cell counts characters.
pub(super) fn limits_in_characters(plan: &[PlannedCell]) -> bool {
    plan.iter().flat_map(|cell| cell.varied.readers()).any(|feature| feature.truncate.characters)
}

/// The cells of an experiment in the order of features and combinations.
pub(super) fn plan(config: &Config, params: &Params) -> Result<Vec<PlannedCell>> {
    let combinations = params.combinations()?;
    let mut cells = Vec::with_capacity(params.features.len() * combinations.len());
    for name in &params.features {
        let feature = config.find_feature(name)?;
        for settings in &combinations {
            cells.push(
                planned(config, params, feature, settings)
                    .with_context(|| message!("特征 {name:?}", "feature {name:?}"))?,
            );
        }
    }
    Ok(cells)
}

fn planned(config: &Config, params: &Params, feature: &Feature, settings: &Settings) -> Result<PlannedCell> {
    let over = |settings: &Settings| {
        let mut varied = put_over(feature, &config.feature, &config.tokenizer, settings)?;
        // Cells that differ only in settings which their model or their cut does not read have the same rows, and one name.
        varied.feature = varied.feature.with_read_settings()?;
        if varied.tokenizer.mode != Mode::Wordpiece {
            varied.tokenizer.pieces = None;
        }
        if varied.tokenizer.mode != Mode::Crf {
            varied.tokenizer.labeller = None;
        }
        Ok::<_, anyhow::Error>(varied)
    };
    let mut varied = over(settings)?;
    let mut changes = Settings::new();
    for (path, value) in settings {
        let mut others = settings.clone();
        others.remove(path);
        // Without this setting another may not fit; then it changes something.
        if over(&others).is_ok_and(|without| without == varied) {
            continue;
        }
        changes.insert(path.clone(), value.clone());
    }
    varied.feature.kinds = kinds(params, feature);
    varied.feature.name = name_of(feature, &changes, &varied.feature.kinds)?;
    let cell = &varied.feature;
    let paths: Vec<String> = params.vary.keys().cloned().collect();
    let values = settings.values().map(shown).collect();
    let named = GridCell { stage: cell.name.clone(), ..GridCell::new(&feature.name, &paths, values) };
    // The rows of other features decide which documents a condition admits.
    let condition: Vec<Value> = if cell.only.features().is_empty() {
        Vec::new()
    } else {
        varied.inputs.iter().map(Feature::identity).collect()
    };
    let gate = (&cell.within, &cell.only, condition);
    let reading = (&cell.text, &cell.kinds, &cell.truncate, gate, cell.masks_names(), &cell.tfidf, &varied.tokenizer);
    let reading = Key::of_json(&reading);
    Ok(PlannedCell { of: feature.name.clone(), named, reading, varied })
}

/// The kinds of documents that the cells of a feature read.
pub(super) fn kinds(params: &Params, feature: &Feature) -> Vec<Kind> {
    if params.kinds.is_empty() { feature.kinds.clone() } else { params.kinds.clone() }
}

impl ExperimentRun<'_> {
    /// Fails if the settings of a cell fit no model, or its values cannot be tested against the target.
    pub(super) fn suits(&self, planned: &PlannedCell) -> Result<()> {
        let VariedFeature { feature: cell, inputs, .. } = &planned.varied;
        let model = cell.model;
        cell.check()?;
        for input in inputs {
            input.check().with_context(|| message!("特征 {:?}", "feature {:?}", input.name))?;
        }
        ensure!(
            cell.inputs.is_empty() || cell.estimator().is_some(),
            "inputs 用于 ridge、logistic、bayes、svm、boosted 和 mlp；该单元是另一种模型",
            "inputs are for ridge, logistic, bayes, svm, boosted and mlp; the cell has another model"
        );
        if let Some(vectors) = inputs.iter().find(|input| model == Model::Bayes && input.gives_vectors()) {
            bail!(
                "朴素贝叶斯对计数求和，而 {:?} 的列有正负；请用 logistic、svm、boosted 或 ridge",
                "naive Bayes adds up counts, and the columns of {:?} have a sign; take logistic, svm, boosted or ridge",
                vectors.name
            );
        }
        match self.params.target {
            Target::Factor => {
                ensure!(
                    model == Model::Onnx || (model != Model::Tfidf && !cell.gives_vectors()),
                    "该特征给出向量，不能构成因子；请用有得分的模型，或 target = \"label\"",
                    "the feature gives vectors, of which no factor can be made; take a model with a score, or target = \"label\""
                );
                ensure!(
                    model != Model::File || self.names_column(derived_from(&cell.name).unwrap_or(&cell.name))?,
                    "只有它的文件说明该特征有哪些列；请让 factor 指定表达式中写有其中一列的因子，或用 target = \"label\"",
                    "only its file says what columns the feature has; let factor name a factor whose expression names one of them, or take target = \"label\""
                );
                ensure!(
                    model != Model::Onnx || cell.onnx.output != Output::Embedding,
                    "onnx.output = \"embedding\" 给出向量，不能构成因子；请用 \"scores\"，或 target = \"label\"",
                    "onnx.output = \"embedding\" gives vectors, of which no factor can be made; take \"scores\", or target = \"label\""
                );
            }
            Target::Label | Target::Rating => {
                ensure!(
                    model.has_dense_rows() || model.weighs_words() || model.is_network(),
                    "该特征的值取决于收益；标签请用词的模型（tfidf、logistic、bayes、svm、boosted、mlp、textcnn、textrnn）、向量的模型（lsa、word2vec、glove、fasttext、file、onnx）、lexicon 或 surprise",
                    "the values of the feature depend on returns; for labels take a model of words (tfidf, logistic, bayes, svm, boosted, mlp, textcnn, textrnn), of vectors (lsa, word2vec, glove, fasttext, file, onnx), lexicon or surprise"
                );
                ensure!(
                    model != Model::Finetune,
                    "编码器不在标签的各折中训练：请用 inkstone train finetune 训练，并用 inkstone eval 在其未见过的文本上评估，或用 target = \"factor\"",
                    "encoders are not trained in the folds of labels: train one by inkstone train finetune and judge it by inkstone eval on texts that it has not seen, or take target = \"factor\""
                );
                ensure!(
                    model != Model::Ridge,
                    "ridge 学习数值，而标签与评级是类别；请用 logistic、bayes、svm、boosted 或 mlp",
                    "ridge learns numbers, and labels and ratings are classes; take logistic, bayes, svm, boosted or mlp"
                );
                ensure!(
                    cell.search.is_off(),
                    "search 在滚动训练的各训练窗口中选择设置，而标签分折评估：请直接变化设置，如 \"linear.alpha\"，或用 target = \"factor\"",
                    "search chooses settings in the training windows of a walk, and labels are judged in folds: vary the settings themselves, such as \"linear.alpha\", or take target = \"factor\""
                );
                if let Some(input) = inputs.iter().find(|input| input.learns()) {
                    bail!(
                        "输入 {:?} 本身是学来的，可能见过测试内容；请用词或向量的输入、lexicon 或 surprise",
                        "the input {:?} is learned itself, and may have seen what is tested; take inputs of words or vectors, lexicon or surprise",
                        input.name
                    );
                }
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

/// The name of a cell's feature: in what it differs from the configured one, so that cells with the same rows are called alike in all
/// experiments and find each other's rows in the store. A cell that differs in nothing is the configured feature.
fn name_of(feature: &Feature, changes: &Settings, kinds: &[Kind]) -> Result<String> {
    let (mut paths, mut values): (Vec<String>, Vec<String>) =
        changes.iter().map(|(path, value)| (path.clone(), shown(value))).unzip();
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
