//! Settings of an experiment put over a feature, the features that it learns on, and the tokenizer that they read with.

use anyhow::{Context, Result};
use serde::Serialize;
use toml::{Table, Value};

use super::check::{Problem, read_table};
use inkstone_features::experiment::{Params, Settings, shown};
use inkstone_features::extract::{Feature, in_order_of_inputs};
use inkstone_text::TokenizerParams;

use inkstone_base::language::{Message, Word};
use inkstone_base::{ensure, message};

/// Where a path begins that leads into `[tokenizer]`.
const TOKENIZER: &str = "tokenizer.";

/// A feature under the settings of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct VariedFeature {
    pub feature: Feature,
    /// The features that it learns on and those that these learn on, each after its own inputs.
    pub inputs: Vec<Feature>,
    pub tokenizer: TokenizerParams,
}

impl VariedFeature {
    /// The features whose models read the text: the feature itself, unless it learns on others alone, and those that it learns on.
    pub fn readers(&self) -> impl Iterator<Item = &Feature> {
        std::iter::once(&self.feature).chain(&self.inputs).filter(|feature| feature.learns_on_words())
    }

    /// The first feature that reads the text: what it reads is shown of the cell.
    pub fn reader(&self) -> &Feature {
        self.readers().next().unwrap_or(&self.feature)
    }
}

/// Puts settings over a feature of a configuration and its inputs. Fails with every path that leads to no key and every value that its key
/// cannot have.
pub fn put_over(
    feature: &Feature,
    features: &[Feature],
    tokenizer: &TokenizerParams,
    settings: &Settings,
) -> Result<VariedFeature> {
    let mut of_tokenizer = table_of(tokenizer)?;
    // The table of each feature that has a setting of its own; the first is that of the feature.
    let mut tables = vec![(feature.name.as_str(), table_of(feature)?)];
    for (path, value) in settings {
        let value = Value::try_from(value)
            .with_context(|| message!("{path} = {} 不是 TOML 的值", "{path} = {} is no TOML value", shown(value)))?;
        match (path.strip_prefix(TOKENIZER), named_feature(path, features)) {
            (Some(key), _) => put(&mut of_tokenizer, key, value),
            (None, None) => put(&mut tables[0].1, path, value),
            (None, Some((named, key))) => {
                let at = match tables.iter().position(|(name, _)| *name == named.name) {
                    Some(at) => at,
                    None => {
                        tables.push((&named.name, table_of(named)?));
                        tables.len() - 1
                    }
                };
                put(&mut tables[at].1, key, value)
            }
        }
        .with_context(|| path.clone())?;
    }
    let (tokenizer, problems) = read_table::<TokenizerParams>("tokenizer", of_tokenizer);
    let mut messages: Vec<Message> = problems.iter().map(|problem| told(problem, "")).collect();
    let mut varied: Vec<Feature> = Vec::with_capacity(tables.len());
    for (name, table) in tables {
        let (read, wrong) = read_table::<Feature>("feature", table);
        let of_input = if name == feature.name { String::new() } else { format!("{name}.") };
        messages.extend(wrong.iter().map(|problem| told(problem, &of_input)));
        varied.push(read);
    }
    ensure!(messages.is_empty(), Message::joined(messages, Word("；", "; ")));
    let all: Vec<Feature> = features
        .iter()
        .map(|other| varied.iter().find(|varied| varied.name == other.name).unwrap_or(other).clone())
        .collect();
    let feature = varied.swap_remove(0);
    feature.check_embeddings(&all)?;
    let inputs = inputs_of(&feature, &all)?;
    Ok(VariedFeature { feature, inputs, tokenizer })
}

/// The features that a feature needs and those that these need, each after its own.
fn inputs_of(feature: &Feature, features: &[Feature]) -> Result<Vec<Feature>> {
    let mut needed: Vec<&str> = feature.needed_features().map(|input| input.feature).collect();
    if needed.is_empty() {
        return Ok(Vec::new());
    }
    let order = in_order_of_inputs(features)?;
    let mut inputs: Vec<Feature> = Vec::new();
    for other in order.into_iter().rev().filter(|other| other.name != feature.name) {
        if needed.contains(&other.name.as_str()) {
            needed.extend(other.needed_features().map(|input| input.feature));
            inputs.push(other.clone());
        }
    }
    inputs.reverse();
    Ok(inputs)
}

/// The feature that a path begins with, and the path in it; none where the path begins with a key of a feature.
fn named_feature<'f, 'p>(path: &'p str, features: &'f [Feature]) -> Option<(&'f Feature, &'p str)> {
    let (name, key) = path.split_once('.')?;
    let named = features.iter().find(|feature| feature.name == name)?;
    let probe = Table::from_iter([(name.to_owned(), Value::Boolean(true))]);
    let is_no_key = |problem: &Problem| problem.message.en.starts_with("unknown key");
    read_table::<Feature>("feature", probe).1.iter().any(is_no_key).then_some((named, key))
}

/// The settings of an experiment that do not fit one of its features, each value put over it alone: the path, and why not.
pub(super) fn problems(params: &Params, features: &[Feature], tokenizer: &TokenizerParams) -> Vec<(String, Message)> {
    let mut problems = Vec::new();
    let varied = params.varied().unwrap_or_default();
    for (path, values) in &varied {
        let judged = match named_feature(path, features) {
            Some((named, _)) => vec![named.name.as_str()],
            None => params.features.iter().map(String::as_str).collect(),
        };
        for value in values {
            let settings = Settings::from([((*path).to_owned(), value.clone())]);
            for name in &judged {
                let Some(feature) = features.iter().find(|feature| feature.name == *name) else { continue };
                if let Err(error) = put_over(feature, features, tokenizer, &settings) {
                    let (value, fault) = (shown(value), Message::of_error(&error));
                    let message = message!(
                        "实验 {:?}，特征 {name:?}，取值 {value}：{fault}",
                        "experiment {:?}, feature {name:?}, value {value}: {fault}",
                        params.name
                    );
                    problems.push(((*path).to_owned(), message));
                }
            }
        }
    }
    if !problems.is_empty() {
        return problems;
    }
    let reached = reached(params, &varied, features);
    for (path, _) in &varied {
        let named = named_feature(path, features).map(|(named, _)| &named.name);
        if let Some(name) = named.filter(|name| !reached.contains(name)) {
            let begins_with =
                |feature: &Feature| reached.contains(&&feature.name) && feature.embeddings.feature == *name;
            let message = match features.iter().any(begins_with) {
                true => message!(
                    "实验 {:?}：网络按配置中 {name:?} 的词向量开始，这一设置不起作用；请为每种设置各写一个特征，并变化 \"embeddings.feature\"",
                    "experiment {:?}: networks begin with the vectors of {name:?} as the configuration has them, so the setting changes \
                     nothing; write a feature for each setting and vary \"embeddings.feature\"",
                    params.name
                ),
                false => message!(
                    "实验 {:?}：{name:?} 既不在其特征中，也不在它们的输入中，这一设置不起作用；请把它加入其中之一",
                    "experiment {:?}: {name:?} is neither among its features nor among their inputs, so the setting changes nothing; \
                     add it to one of them",
                    params.name
                ),
            };
            problems.push(((*path).to_owned(), message));
        }
    }
    problems
}

/// The names of the features that an experiment computes in any cell.
fn reached<'n>(
    params: &'n Params,
    varied: &[(&str, Vec<serde_json::Value>)],
    features: &'n [Feature],
) -> Vec<&'n String> {
    let mut reached: Vec<&String> = Vec::new();
    let mut open: Vec<&Feature> = features.iter().filter(|feature| params.features.contains(&feature.name)).collect();
    while let Some(feature) = open.pop() {
        if reached.contains(&&feature.name) {
            continue;
        }
        reached.push(&feature.name);
        for other in features {
            let is_named = |input: &str| input.split('.').next() == Some(&other.name);
            let varies = |(path, values): &(&str, Vec<serde_json::Value>)| {
                let is_of_it = match named_feature(path, features) {
                    Some((named, key)) => key == "inputs" && named.name == feature.name,
                    None => *path == "inputs" && params.features.contains(&feature.name),
                };
                let entries = values.iter().filter_map(serde_json::Value::as_array).flatten();
                is_of_it && entries.filter_map(serde_json::Value::as_str).any(is_named)
            };
            let is_needed = feature.needed_features().any(|needed| needed.feature == other.name);
            if is_needed || varied.iter().any(varies) {
                open.push(other);
            }
        }
    }
    reached
}

/// A problem with the path as `vary` has it; `of_input` begins the path of a feature that is named.
fn told(problem: &Problem, of_input: &str) -> Message {
    let path = problem.path.strip_prefix("feature.").unwrap_or(&problem.path);
    let way_out = match problem.message.en.starts_with("unknown key") {
        true => Word(
            "（vary 可用 [[feature]] 的键，如 onnx.layers；[tokenizer] 的键，如 tokenizer.mode；以及输入的键，前面写其名称，如 bert.onnx.layers）",
            " (vary reaches the keys of [[feature]], as onnx.layers, those of [tokenizer], as tokenizer.mode, and those of an input by its \
             name, as bert.onnx.layers)",
        ),
        false => Word("", ""),
    };
    message!("{of_input}{path}：{}{way_out}", "{of_input}{path}: {}{way_out}", problem.message)
}

fn table_of(value: &impl Serialize) -> Result<Table> {
    Table::try_from(value).context(Word("设置无法写成 TOML", "the settings cannot be written as TOML"))
}

/// Puts a value at a path, whose tables are made where they are absent.
fn put(table: &mut Table, path: &str, value: Value) -> Result<()> {
    match path.split_once('.') {
        None => drop(table.insert(path.to_owned(), value)),
        Some((key, rest)) => {
            let inner = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
            put(inner.as_table_mut().with_context(|| message!("{key} 不是表", "{key} is no table"))?, rest, value)?;
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
        let features = [feature.clone(), head("tone_head", &["words", "bert"]), head("other", &["tone_head"])];
        put_over(&feature, &features, &TokenizerParams::default(), &serde_json::from_value(settings).unwrap())
    }

    fn head(name: &str, inputs: &[&str]) -> Feature {
        let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
        Feature { name: name.into(), model: Model::Ridge, inputs, ..Feature::default() }
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
        // A setting that the configuration does not write has a path too.
        assert_eq!(over(json!({"mask_names": true})).unwrap().feature.mask_names, Some(true));
    }

    #[test]
    fn a_feature_that_is_learned_on_is_reached_by_its_name() {
        let bert = Feature { name: "bert".into(), model: Model::Lsa, ..Feature::default() };
        let lexicon = Feature { name: "lexicon".into(), ..Feature::default() };
        let features = [head("top", &["words"]), bert.clone(), lexicon.clone(), head("middle", &["bert.c1"])];
        let over = |settings: serde_json::Value| {
            put_over(&features[0], &features, &TokenizerParams::default(), &serde_json::from_value(settings).unwrap())
        };
        let names = |varied: &VariedFeature| varied.inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>();
        // An input that the feature does not learn on changes nothing of it.
        assert_eq!(over(json!({"bert.lsa.dim": 3})).unwrap(), over(json!({})).unwrap());
        let varied = over(json!({"bert.lsa.dim": 3, "inputs": ["middle"], "middle.linear.alpha": 2.0})).unwrap();
        assert_eq!(names(&varied), ["bert", "middle"], "each after its own inputs");
        assert_eq!((varied.inputs[0].lsa.dim, varied.inputs[1].linear.alpha), (3, 2.0));
        assert_eq!((varied.feature.lsa.dim, varied.reader().name.as_str()), (bert.lsa.dim, "bert"));
        let both = over(json!({"inputs": ["words", "bert"]})).unwrap();
        assert_eq!((both.reader().name.as_str(), both.readers().count()), ("top", 2));
        // A key comes before a feature of its name.
        assert_eq!(over(json!({"lexicon.negation_window": 1})).unwrap().feature.lexicon.negation_window, 1);
        for (settings, words) in [
            (json!({"bert.lsa.dims": 3}), "bert.lsa.dims: unknown key; did you mean \"dim\"?"),
            (json!({"bert.lsa.dim": -1}), "bert.lsa.dim: -1 is out of bounds"),
            (json!({"inputs": ["bret"]}), "there is no feature \"bret\" (inputs, only)"),
            (json!({"inputs": ["middle"], "middle.inputs": ["top"]}), "in a circle: top → middle → top"),
        ] {
            let error = format!("{:#}", over(settings.clone()).unwrap_err());
            assert!(error.contains(words), "{settings}: {error}");
        }
        let params = |vary: serde_json::Value| Params {
            name: "x".into(),
            features: vec!["top".into()],
            vary: serde_json::from_value(vary).unwrap(),
            ..Params::default()
        };
        let found = |vary: serde_json::Value| problems(&params(vary), &features, &TokenizerParams::default());
        assert_eq!(found(json!({"bert.lsa.dim": [3, 4], "inputs": [["words"], ["middle"]]})), []);
        let word_vectors = |name: &str| Feature { name: name.into(), model: Model::Word2vec, ..Feature::default() };
        let mut network = Feature { name: "top".into(), model: Model::TextCnn, ..Feature::default() };
        network.embeddings.feature = "early".into();
        let with_vectors = [network, word_vectors("early"), word_vectors("late"), bert.clone()];
        let of_network = |vary: serde_json::Value| problems(&params(vary), &with_vectors, &TokenizerParams::default());
        assert_eq!(of_network(json!({"embeddings.feature": ["early", "late"]})), []);
        for (vary, words) in [
            (json!({"embeddings.feature": ["early", "bert"]}), "names no feature with model = word2vec"),
            (json!({"early.word2vec.dim": [3, 4]}), "vary \"embeddings.feature\""),
        ] {
            let found = of_network(vary);
            assert!(found.len() == 1 && found[0].1.contains(words), "{found:?}");
        }
        let unreached = found(json!({"bert.lsa.dim": [3, 4], "model": ["ridge", "svm"]}));
        assert!(
            unreached[0].1.contains("\"bert\" is neither among its features nor among their inputs"),
            "{unreached:?}"
        );
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
