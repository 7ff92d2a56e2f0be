//! The parameters of an experiment (`[[experiment]]`), and the grid of cells that they ask for.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::names::{cuts_text, shown};

use inkstone_base::bounds;
use inkstone_base::data::Kind;
use inkstone_base::language::Message;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::truncate::Strategy;

/// Most cells of an experiment.
pub(crate) const MOST_CELLS: usize = 500;

/// A value for each setting that varies, by the path of the setting.
pub type Settings = BTreeMap<String, Value>;

/// The figure that judges cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The RankIC of the factor that is made of what the model reads.
    #[default]
    Factor,
    /// How well the documents' labels are told, in cross-validation.
    Label,
    /// How well the reports' ratings are told.
    Rating,
}

/// Treatment of texts that training and test share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum OverlapRule {
    /// More of them than `max_overlap` is an error.
    #[default]
    Refuse,
    /// They do not train.
    Remove,
    /// They are counted alone.
    Report,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LengthUnit {
    /// Tokens of the model, special ones included.
    #[default]
    Tokens,
    /// Characters; a run of letters or digits counts as one.
    Characters,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    pub name: String,
    /// `factor` (default), `label` or `rating`.
    pub target: Target,
    /// Names of the features that the settings are put over.
    pub features: Vec<String>,
    /// Kinds of documents that are read; empty: those of each feature.
    pub kinds: Vec<Kind>,
    /// Settings with the values that each takes: paths of a feature's table (`onnx.layers`, `truncate`, `model`), the same of a feature
    /// that it learns on behind its name (`bert.onnx.layers`), or `tokenizer.mode` and its like. Every combination, put over every
    /// feature, is a cell.
    pub vary: BTreeMap<String, Vec<Value>>,
    /// Lengths of strategies of truncation that have no limit of their own: `truncate = ["head"]` stands for one at each length.
    pub lengths: Vec<usize>,
    /// Unit of lengths: `tokens` (default), those of the model with its special ones (of native models words), or
    /// `characters`, which are the same for all models.
    pub unit: LengthUnit,
    /// The cell of the first feature that all others are compared with: a value for each setting that is named, the first value of the
    /// others. A strategy without a limit is meant at the longest length.
    pub baseline: Settings,
    /// For `factor`: the factor whose rules make values of documents (aggregation, decay, processing). Absent: the first one
    /// that is made of one of the features, else the default rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<String>,
    /// For `factor`: trading days that a return lasts, one of `[backtest] horizons`. Default 5.
    pub horizon: usize,
    /// For `label` and `rating`: values that make one class, all others being the other; empty: each value is a class.
    pub positive: Vec<String>,
    /// Folds of the cross-validation. Each is a stretch of time; documents that repeat each other or are about one security on one
    /// day are never on both sides. Default 5.
    pub folds: usize,
    /// Natural days until a label is known: documents whose label was not known when a fold begins do not train it. Default 0, as
    /// a rating is known at once.
    pub label_days: u32,
    /// Natural days behind a fold in which no training document may lie. Default 5.
    pub embargo_days: u32,
    /// Sources whose documents are the test, all others training; empty: folds.
    pub test_sources: Vec<String>,
    /// Treatment of texts that training and test share: `refuse` (default), `remove` or `report`.
    pub overlap: OverlapRule,
    /// For `refuse`: the largest share of test documents whose text trains, exactly or nearly. Default 0.05.
    pub max_overlap: f64,
    /// Draws of the bootstrap. Default 2000.
    pub draws: usize,
    /// Neighbours drawn at once; 0 (default): the cube root of their number, and at least the horizon.
    pub block: usize,
    /// Share of the draws that intervals hold. Default 0.95.
    pub confidence: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            name: String::new(),
            target: Target::Factor,
            features: Vec::new(),
            kinds: Vec::new(),
            vary: BTreeMap::new(),
            lengths: vec![128, 256, 512],
            unit: LengthUnit::Tokens,
            baseline: Settings::new(),
            factor: None,
            horizon: 5,
            positive: Vec::new(),
            folds: 5,
            label_days: 0,
            embargo_days: 5,
            test_sources: Vec::new(),
            overlap: OverlapRule::Refuse,
            max_overlap: 0.05,
            draws: 2000,
            block: 0,
            confidence: 0.95,
        }
    }
}

impl Params {
    /// The settings that vary with their values, in the order of their paths; each strategy of truncation with its limit.
    pub fn varied(&self) -> Result<Vec<(&str, Vec<Value>)>> {
        let values = |(path, values): (&'_ String, &Vec<Value>)| match path.as_str() {
            path if cuts_text(path) => self.with_limits(values, &self.lengths),
            _ => Ok(values.clone()),
        };
        self.vary.iter().map(|setting| Ok((setting.0.as_str(), values(setting)?))).collect()
    }

    /// The settings of each cell of a feature: every combination of the values; the value of the last setting changes first.
    pub fn combinations(&self) -> Result<Vec<Settings>> {
        let mut all = vec![Settings::new()];
        for (path, values) in self.varied()? {
            ensure!(all.len().saturating_mul(values.len()) <= MOST_CELLS, self.too_many());
            let with = |before: &Settings, value: &Value| {
                let mut settings = before.clone();
                settings.insert(path.to_owned(), value.clone());
                settings
            };
            all = all.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
        }
        Ok(all)
    }

    /// The number of the combination that all cells are compared with, in the first feature.
    pub fn baseline(&self) -> Result<usize> {
        let mut number = 0;
        for (path, values) in self.varied()? {
            let at = match self.baseline.get(path) {
                None => 0,
                Some(value) => {
                    let value = match path {
                        path if cuts_text(path) => {
                            self.with_limits(std::slice::from_ref(value), self.longest())?.swap_remove(0)
                        }
                        _ => value.clone(),
                    };
                    values.iter().position(|other| *other == value).with_context(|| {
                        let known: Vec<String> = values.iter().map(shown).collect();
                        message!(
                            "baseline：{path} = {} 不在其取值之中：{}",
                            "baseline: {path} = {} is not among its values: {}",
                            shown(&value),
                            known.join(", ")
                        )
                    })?
                }
            };
            number = number * values.len() + at;
        }
        Ok(number)
    }

    /// The strategies of truncation that are compared, of features and their inputs; none where `truncate` does not vary.
    pub fn strategies(&self) -> Result<Vec<Strategy>> {
        let varied = self.varied()?.into_iter().filter(|(path, _)| cuts_text(path));
        varied.flat_map(|(_, values)| values).map(|value| shown(&value).parse()).collect()
    }

    fn longest(&self) -> &[usize] {
        let longest = (0..self.lengths.len()).max_by_key(|&at| self.lengths[at]);
        longest.map_or(&[], |at| &self.lengths[at..=at])
    }

    /// Strategies of truncation as they are written in full, those without a limit at each of these lengths.
    fn with_limits(&self, strategies: &[Value], lengths: &[usize]) -> Result<Vec<Value>> {
        let mut full = Vec::new();
        for strategy in strategies {
            let text = strategy
                .as_str()
                .with_context(|| message!("truncate = {strategy} 不是文本", "truncate = {strategy} is no text"))?;
            let at_lengths = Strategy::at_lengths(text, lengths, self.unit == LengthUnit::Characters)?;
            full.extend(at_lengths.iter().map(|strategy| Value::String(strategy.to_string())));
        }
        Ok(full)
    }

    fn too_many(&self) -> Message {
        message!(
            "超过 {MOST_CELLS} 个单元：各设置的取值两两组合。请每次少变几项设置，或把取值分到几个 [[experiment]]",
            "more than {MOST_CELLS} cells: every value of every setting is combined with all others. Vary fewer settings at a time, or share the values out to several [[experiment]]s"
        )
    }

    /// Fails on parameters that make no sense, naming the key.
    pub fn check(&self) -> Result<()> {
        let name = &self.name;
        ensure!(!name.is_empty(), "有 [[experiment]] 没有 name", "an [[experiment]] has no name");
        ensure!(
            !name.contains(['/', '\\']) && !name.starts_with('.'),
            "实验 {name:?}：名称要用作文件名，不能含斜线或以点开头",
            "experiment {name:?}: its name is that of a file, and must not have a slash or begin with a point"
        );
        ensure!(
            !self.features.is_empty(),
            "实验 {name:?}：features 为空；请写出要比较的 [[feature]]",
            "experiment {name:?}: features is empty; name the [[feature]]s that are compared"
        );
        self.check_grid().with_context(|| message!("实验 {name:?}", "experiment {name:?}"))?;
        bounds::check("experiment", self).with_context(|| message!("实验 {name:?}", "experiment {name:?}"))?;
        ensure!(
            self.confidence > 0.0 && self.confidence < 1.0,
            "实验 {name:?}：confidence = {} 等于完全确定；请写大于 0 小于 1 的数",
            "experiment {name:?}: confidence = {} is a certainty; write a share above 0 and below 1",
            self.confidence
        );
        Ok(())
    }

    /// Fails where the settings make no grid.
    fn check_grid(&self) -> Result<()> {
        let paths: Vec<&String> = self.vary.keys().collect();
        for path in &paths {
            ensure!(
                !matches!(path.as_str(), "name" | "kinds") && !path.ends_with(".name"),
                "vary 不能改变 {path}：特征须保持名称，且各单元读取相同的文档（由实验的 kinds = [...] 指定）",
                "vary cannot change {path}: features keep their names, and all cells read the same documents (kinds = [...] of the experiment says which)"
            );
            let below = format!("{path}.");
            if let Some(inner) = paths.iter().find(|other| other.starts_with(&below)) {
                bail!(
                    "vary 同时有 {path} 与属于它的 {inner}：请只写一个",
                    "vary has {path} and {inner}, which is a part of it: name one of them"
                );
            }
        }
        if let Some(twice) = (1..self.features.len()).find(|&at| self.features[..at].contains(&self.features[at])) {
            bail!("features 中 {:?} 写了两次", "features has {:?} twice", self.features[twice]);
        }
        for (path, values) in self.varied()? {
            ensure!(!values.is_empty(), "vary：{path} 没有取值", "vary: {path} has no values");
            if let Some(twice) = (1..values.len()).find(|&at| values[..at].contains(&values[at])) {
                bail!("vary：{path} 的取值 {} 写了两次", "vary: {path} has the value {} twice", shown(&values[twice]));
            }
        }
        if let Some(path) = self.baseline.keys().find(|path| !self.vary.contains_key(*path)) {
            bail!("baseline 有 {path}，但它并不变化", "baseline has {path}, which does not vary");
        }
        self.baseline()?;
        let cells = self.combinations()?.len() * self.features.len();
        ensure!(
            cells > 1,
            "只有一个单元，无从比较：请在 vary 中给出某项设置的两个取值，或写两个特征",
            "there is one cell, and nothing to compare it with: name two values of a setting in vary, or two features"
        );
        ensure!(cells <= MOST_CELLS, self.too_many());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn varying(settings: Value) -> Params {
        let vary = serde_json::from_value(settings).unwrap();
        Params { name: "long".into(), features: vec!["tone".into()], vary, ..Params::default() }
    }

    #[test]
    fn every_combination_is_a_cell_and_the_last_setting_changes_first() {
        let mut params = varying(json!({"onnx.pooling": ["cls", "mean"], "onnx.layers": ["last", "last:4"]}));
        let cells: Vec<String> = params.combinations().unwrap().iter().map(|cell| json!(cell).to_string()).collect();
        assert_eq!(
            cells,
            [
                r#"{"onnx.layers":"last","onnx.pooling":"cls"}"#,
                r#"{"onnx.layers":"last","onnx.pooling":"mean"}"#,
                r#"{"onnx.layers":"last:4","onnx.pooling":"cls"}"#,
                r#"{"onnx.layers":"last:4","onnx.pooling":"mean"}"#,
            ]
        );
        assert_eq!(params.baseline().unwrap(), 0);
        params.baseline = serde_json::from_value(json!({"onnx.pooling": "mean"})).unwrap();
        assert_eq!(params.baseline().unwrap(), 1);
        params.baseline.insert("onnx.layers".into(), json!("last:4"));
        assert_eq!(params.baseline().unwrap(), 3);
        params.check().unwrap();
        // Features alone are a grid too.
        let alone = Params { features: vec!["tone".into(), "bert".into()], ..varying(json!({})) };
        alone.check().unwrap();
        assert_eq!(alone.combinations().unwrap(), [Settings::new()]);
    }

    #[test]
    fn a_strategy_without_a_limit_stands_for_one_at_each_length() {
        let mut params = varying(json!({"truncate": ["tail", "head", "head:64"]}));
        let grid: Vec<String> = params.strategies().unwrap().iter().map(Strategy::to_string).collect();
        assert_eq!(grid, ["tail:128", "tail:256", "tail:512", "head:128", "head:256", "head:512", "head:64"]);
        params.baseline = serde_json::from_value(json!({"truncate": "head"})).unwrap();
        assert_eq!(params.baseline().unwrap(), 5, "the longest length");
        assert_eq!(varying(json!({"model": ["svm"]})).strategies().unwrap(), []);
        let of_input = varying(json!({"bert.truncate": ["tail", "head:64"]})).strategies().unwrap();
        assert_eq!(of_input.len(), 4, "those of an input too");
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let sound = varying(json!({"truncate": ["head:64", "tail:64"]}));
        sound.check().unwrap();
        let many = json!({"a": (0..30).collect::<Vec<_>>(), "b": (0..30).collect::<Vec<_>>()});
        let cases: [(&str, Params); 18] = [
            ("no name", Params { name: String::new(), ..sound.clone() }),
            ("slash", Params { name: "a/b".into(), ..sound.clone() }),
            ("features is empty", Params { features: Vec::new(), ..sound.clone() }),
            ("nothing to compare", varying(json!({}))),
            ("nothing to compare", varying(json!({"truncate": ["head:512"]}))),
            ("tone\" twice", Params { features: vec!["tone".into(), "tone".into()], ..sound.clone() }),
            ("model has no values", varying(json!({"model": []}))),
            ("model has the value svm twice", varying(json!({"model": ["svm", "bayes", "svm"]}))),
            ("truncate has the value head:512 twice", varying(json!({"truncate": ["head", "head:512"]}))),
            ("cannot change kinds", varying(json!({"kinds": [["news"], ["report"]]}))),
            ("cannot change bert.name", varying(json!({"bert.name": ["a", "b"]}))),
            ("onnx and onnx.layers", varying(json!({"onnx": [{}], "onnx.layers": ["last", "last:4"]}))),
            ("more than 500 cells", varying(many)),
            ("front", varying(json!({"truncate": ["front", "head"]}))),
            ("truncate = 5 is no text", varying(json!({"truncate": [5]}))),
            ("experiment.folds: 1 is out of bounds", Params { folds: 1, ..sound.clone() }),
            ("experiment.draws: 9 is out of bounds", Params { draws: 9, ..sound.clone() }),
            ("confidence = 1", Params { confidence: 1.0, ..sound.clone() }),
        ];
        for (words, params) in cases {
            let error = format!("{:#}", params.check().unwrap_err());
            assert!(error.contains(words), "{words}: {error}");
        }
        for (baseline, words) in [
            (json!({"model": "svm"}), "model, which does not vary"),
            (json!({"truncate": "tail:8"}), "tail:8 is not among its values: head:64, tail:64"),
        ] {
            let params = Params { baseline: serde_json::from_value(baseline).unwrap(), ..sound.clone() };
            let error = format!("{:#}", params.check().unwrap_err());
            assert!(error.contains("\"long\"") && error.contains(words), "{error}");
        }
    }
}
