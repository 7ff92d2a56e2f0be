//! Settings of an experiment put over a feature and the tokenizer that it reads with.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use toml::{Table, Value};

use super::check::{Problem, read_table};
use inkstone_features::experiment::{Params, Settings, shown};
use inkstone_features::extract::Feature;
use inkstone_text::TokenizerParams;

/// Where a path begins that leads into `[tokenizer]`; all others lead into the `[[feature]]`.
const TOKENIZER: &str = "tokenizer.";

/// A feature under the settings of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct VariedFeature {
    pub feature: Feature,
    pub tokenizer: TokenizerParams,
}

/// Puts settings over a feature. Fails with every path that leads to no key and every value that its key cannot have.
pub fn put_over(feature: &Feature, tokenizer: &TokenizerParams, settings: &Settings) -> Result<VariedFeature> {
    let (mut of_feature, mut of_tokenizer) = (table_of(feature)?, table_of(tokenizer)?);
    for (path, value) in settings {
        let value = Value::try_from(value).with_context(|| format!("{path} = {} is no TOML value", shown(value)))?;
        match path.strip_prefix(TOKENIZER) {
            Some(key) => put(&mut of_tokenizer, key, value),
            None => put(&mut of_feature, path, value),
        }
        .with_context(|| path.clone())?;
    }
    let (feature, mut problems) = read_table::<Feature>("feature", of_feature);
    let (tokenizer, further) = read_table::<TokenizerParams>("tokenizer", of_tokenizer);
    problems.extend(further);
    if !problems.is_empty() {
        let messages: Vec<String> = problems.iter().map(told).collect();
        bail!("{}", messages.join("; "));
    }
    Ok(VariedFeature { feature, tokenizer })
}

/// The settings of an experiment that do not fit one of its features, each value put over it alone: the path, and why not.
pub(super) fn problems(params: &Params, features: &[Feature], tokenizer: &TokenizerParams) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for (path, values) in params.varied().unwrap_or_default() {
        for value in values {
            let settings = Settings::from([(path.to_owned(), value)]);
            for name in &params.features {
                let Some(feature) = features.iter().find(|feature| feature.name == *name) else { continue };
                if let Err(error) = put_over(feature, tokenizer, &settings) {
                    let value = shown(&settings[path]);
                    let message = format!("experiment {:?}, feature {name:?}, value {value}: {error:#}", params.name);
                    problems.push((path.to_owned(), message));
                }
            }
        }
    }
    problems
}

/// A problem with the path as `vary` has it.
fn told(problem: &Problem) -> String {
    let path = problem.path.strip_prefix("feature.").unwrap_or(&problem.path);
    let way_out = match problem.message.starts_with("unknown key") {
        true => " (vary reaches the keys of [[feature]], as onnx.layers, and those of [tokenizer], as tokenizer.mode)",
        false => "",
    };
    format!("{path}: {}{way_out}", problem.message)
}

fn table_of(value: &impl Serialize) -> Result<Table> {
    Table::try_from(value).context("the settings cannot be written as TOML")
}

/// Puts a value at a path, whose tables are made where they are absent.
fn put(table: &mut Table, path: &str, value: Value) -> Result<()> {
    match path.split_once('.') {
        None => drop(table.insert(path.to_owned(), value)),
        Some((key, rest)) => {
            let inner = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
            put(inner.as_table_mut().with_context(|| format!("{key} is no table"))?, rest, value)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use inkstone_features::extract::Model;

    fn over(settings: serde_json::Value) -> Result<VariedFeature> {
        let mut feature = Feature { name: "bert".into(), model: Model::Onnx, ..Feature::default() };
        feature.onnx.model = "model".into();
        put_over(&feature, &TokenizerParams::default(), &serde_json::from_value(settings).unwrap())
    }

    #[test]
    fn settings_change_what_they_name_and_nothing_else() {
        let plain = over(json!({})).unwrap();
        assert_eq!((plain.feature.model, plain.feature.onnx.model.to_str()), (Model::Onnx, Some("model")));
        let mut wanted = plain.clone();
        wanted.feature.onnx.layers = "last:4".parse().unwrap();
        wanted.feature.tfidf.ngram_range = (1, 2);
        wanted.feature.model = Model::Logistic;
        wanted.feature.truncate = "tail:64 -title".parse().unwrap();
        wanted.tokenizer.mode = inkstone_text::Mode::Char;
        let varied = over(json!({
            "onnx.layers": "last:4", "tfidf.ngram_range": [1, 2], "model": "logistic", "truncate": "tail:64 -title",
            "tokenizer.mode": "char",
        }));
        assert_eq!(varied.unwrap(), wanted);
        // What is not written in a configuration has a path too.
        assert_eq!(over(json!({"mask_names": true})).unwrap().feature.mask_names, Some(true));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (settings, words) in [
            (json!({"onnx.layerz": "last"}), "onnx.layerz: unknown key; did you mean \"layers\"?"),
            (json!({"backtest.delay": 1}), "vary reaches the keys of [[feature]]"),
            (json!({"tokenizer.mod": "char"}), "tokenizer.mod: unknown key; did you mean \"mode\"?"),
            (json!({"tokenizer.mode": "words"}), "tokenizer.mode: unknown variant"),
            (json!({"onnx.layers": "lots"}), "onnx"),
            (json!({"tfidf.min_df": -1}), "tfidf.min_df: -1 is out of bounds; write one from"),
            (json!({"linear.alpha": "much"}), "linear.alpha: invalid type"),
            (json!({"model.kind": "svm"}), "model is no table"),
            (json!({"truncate": "front:3"}), "front:3"),
        ] {
            let error = format!("{:#}", over(settings.clone()).unwrap_err());
            assert!(error.contains(words), "{settings}: {error}");
        }
    }
}
