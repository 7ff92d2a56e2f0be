//! Published comparisons, written into a configuration as an `[[experiment]]` with the features that it needs.

use anyhow::{Context, Result};
use toml_edit::DocumentMut;

use super::{Config, edit};
use inkstone_features::experiment::Target;
use inkstone_features::extract::{Feature, Model};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// A comparison that papers have published, as settings of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PublishedComparison {
    /// Which part of a text is read: head, tail, both, and segments.
    Print,
    /// Layers and pooling of the first feature with model = "onnx".
    Layers,
    /// Words, characters, and n-grams of both; the pieces of a contextual model's tokenizer where a feature has model = "onnx".
    Granularity,
    /// One-hot, TF-IDF, LSA, word2vec, GloVe, fastText, TextCNN, and BERT by CLS and by mean where a feature has model = "onnx", each at
    /// three penalties; as factors without LSA.
    Eras,
}

impl PublishedComparison {
    /// The name of its experiment.
    pub fn name(self) -> &'static str {
        match self {
            PublishedComparison::Print => "print",
            PublishedComparison::Layers => "layers",
            PublishedComparison::Granularity => "granularity",
            PublishedComparison::Eras => "eras",
        }
    }

    /// The text of a configuration with the comparison added to it; none if it has an experiment of that name.
    pub fn added_to(self, text: &str, config: &Config, target: Target) -> Result<Option<String>> {
        if config.find_experiment(self.name()).is_ok() {
            return Ok(None);
        }
        let tables = self.tables(config, target)?;
        let mut text = text.to_owned();
        for section in ["feature", "experiment"] {
            for table in tables_of(&tables, section)? {
                text = edit::add(&text, section, &table)?;
            }
        }
        let faults = Config::faults(&text);
        ensure!(
            faults.is_empty(),
            "预设 {} 不适合此配置：{}",
            "the preset {} does not fit this configuration: {}",
            self.name(),
            faults.iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect::<Vec<_>>().join("; ")
        );
        Ok(Some(text))
    }

    /// Tables of the preset as TOML, for a project and a target.
    fn tables(self, config: &Config, target: Target) -> Result<String> {
        let factor = target == Target::Factor;
        let target = serde_json::to_value(target)?;
        let fill = |text: &str, feature: &str| {
            let target = target.as_str().unwrap_or_default();
            let head = if factor { "logistic" } else { "tfidf" };
            text.replace("{target}", target).replace("{head}", head).replace("{feature}", feature)
        };
        Ok(match self {
            PublishedComparison::Print => {
                let reads_windows = |feature: &&Feature| matches!(feature.model, Model::Onnx | Model::Lexicon);
                let feature = config.feature.iter().find(reads_windows);
                let feature = feature.context(Word(
                    "print 为 model = \"onnx\" 或 \"lexicon\" 的特征截断文本；请添加一个",
                    "print cuts texts for a feature with model = \"onnx\" or \"lexicon\"; add one",
                ))?;
                fill(include_str!("../../assets/presets/print.toml"), &feature.name)
            }
            PublishedComparison::Layers => {
                let feature = contextual(config).context(Word(
                    "layers 改变 model = \"onnx\" 的特征；请添加一个",
                    "layers varies a feature with model = \"onnx\"; add one",
                ))?;
                fill(include_str!("../../assets/presets/layers.toml"), &feature.name)
            }
            PublishedComparison::Granularity => {
                let text = fill(include_str!("../../assets/presets/granularity.toml"), "");
                match contextual(config) {
                    Some(feature) => with_pieces(&text, feature)?,
                    None => text,
                }
            }
            PublishedComparison::Eras => {
                let text = match factor {
                    true => include_str!("../../assets/presets/eras_factor.toml").to_owned(),
                    false => fill(include_str!("../../assets/presets/eras.toml"), ""),
                };
                match contextual(config) {
                    Some(feature) => with_bert(&text, feature, factor)?,
                    None => text,
                }
            }
        })
    }
}

/// The first contextual model of a project.
fn contextual(config: &Config) -> Option<&Feature> {
    config.feature.iter().find(|feature| feature.model == Model::Onnx)
}

/// The search of each head of the eras that makes a factor.
const SEARCH: &str = "search = { grid = { C = [1.0, 10.0, 100.0] } }";

/// The eras with a contextual model at their end, by the vector of its first token and by the mean of all; learned by a head of their own
/// if they are to make factors.
fn with_bert(text: &str, feature: &Feature, factor: bool) -> Result<String> {
    let mut eras: DocumentMut = text.parse()?;
    let model = edit::quoted(&feature.onnx.model.display().to_string());
    let until = feature.onnx.fitted_until.map(|day| format!(", fitted_until = \"{day}\"")).unwrap_or_default();
    let mut bert = String::new();
    for (name, pooling) in [("era_bert_cls", "cls"), ("era_bert_mean", "mean-text")] {
        let rows = if factor { format!("{name}_rows") } else { name.to_owned() };
        if factor {
            bert +=
                &format!("[[feature]]\nname = \"{name}\"\nmodel = \"logistic\"\ninputs = [\"{rows}\"]\n{SEARCH}\n\n");
        }
        bert += &format!(
            "[[feature]]\nname = \"{rows}\"\nmodel = \"onnx\"\ntruncate = {}\nonnx = {{ model = {model}{until}, pooling = \"{pooling}\" }}\n\n",
            edit::quoted(&feature.truncate.to_string()),
        );
        let experiment =
            eras.get_mut("experiment").and_then(|item| item.get_mut(0)?.get_mut("features")?.as_array_mut());
        experiment.context(Word("eras 应为实验", "the eras are an experiment"))?.push(name);
    }
    Ok(bert + &eras.to_string())
}

/// The granularities with the pieces that a contextual model reads.
fn with_pieces(text: &str, feature: &Feature) -> Result<String> {
    let mut granularity: DocumentMut = text.parse()?;
    let vary =
        granularity.get_mut("experiment").and_then(|item| item.get_mut(0)?.get_mut("vary")?.as_inline_table_mut());
    let vary = vary.context(Word("实验应改变设置", "an experiment varies settings"))?;
    let modes = vary.get_mut("tokenizer.mode").and_then(|modes| modes.as_array_mut());
    modes.context(Word("granularity 应改变分词模式", "granularity varies the tokenizer's mode"))?.push("wordpiece");
    let (model, tokenizer) = (&feature.onnx.model, &feature.onnx.tokenizer);
    let names_a_graph = model.extension().is_some_and(|extension| extension == "onnx");
    let folder = model.parent().filter(|_| names_a_graph).unwrap_or(model);
    let pieces = if tokenizer.as_os_str().is_empty() { folder } else { tokenizer };
    vary.insert("tokenizer.pieces", toml_edit::Array::from_iter([pieces.display().to_string()]).into());
    Ok(granularity.to_string())
}

/// The tables of a section, each as a text of its own.
fn tables_of(text: &str, section: &str) -> Result<Vec<String>> {
    let document: DocumentMut = text.parse()?;
    let Some(item) = document.get(section) else { return Ok(Vec::new()) };
    let Some(tables) = item.as_array_of_tables() else {
        bail!("{section} 应写作 [[{section}]]", "{section} is written as [[{section}]]")
    };
    Ok(tables.iter().map(|table| format!("[[{section}]]\n{}", table.to_string().trim_start())).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PROJECT: &str = "# mine\n[[feature]]\nname = \"bert\"\nmodel = \"onnx\"\ntruncate = \"head:64\"\n\
        onnx = { model = \"model\", fitted_until = \"2022-12-31\", output = \"scores\" }\n";

    fn added(preset: PublishedComparison, target: Target) -> Result<Config> {
        let config = Config::parse("w", PROJECT)?;
        let text = preset.added_to(PROJECT, &config, target)?.context("it is not there yet")?;
        assert!(text.starts_with("# mine\n"));
        let config = Config::parse("w", &text)?;
        assert_eq!(preset.added_to(&text, &config, target)?, None, "it is added once");
        Ok(config)
    }

    #[test]
    fn each_preset_is_written_as_an_experiment_with_its_features() {
        let eras = added(PublishedComparison::Eras, Target::Rating).unwrap();
        let experiment = eras.find_experiment("eras").unwrap();
        assert_eq!((experiment.target, experiment.features.len()), (Target::Rating, 9));
        assert_eq!(eras.find_feature("era_bert_mean").unwrap().truncate.to_string(), "head:64");
        assert!(eras.find_feature("era_bert_cls").unwrap().onnx.fitted_until.is_some());
        let of_factor = added(PublishedComparison::Eras, Target::Factor).unwrap();
        let experiment = of_factor.find_experiment("eras").unwrap();
        let heads = experiment.features.iter().map(|name| of_factor.find_feature(name).unwrap());
        assert!(heads.clone().all(Feature::learns) && heads.clone().count() == 8);
        let searched = heads.filter_map(|head| head.estimator().map(|_| head.search.grid["C"].as_slice()));
        assert_eq!(searched.collect::<Vec<_>>(), [&[1.0, 10.0, 100.0][..]; 7], "all heads choose among the same");
        assert_eq!(of_factor.find_feature("era_bert_cls").unwrap().inputs, ["era_bert_cls_rows"]);
        let layers = added(PublishedComparison::Layers, Target::Label).unwrap();
        let experiment = layers.find_experiment("layers").unwrap();
        assert_eq!(
            (experiment.features.as_slice(), experiment.combinations().unwrap().len()),
            (&["layers".to_owned()][..], 12)
        );
        assert_eq!(layers.find_feature("layers").unwrap().inputs, ["bert"]);
        assert_eq!(
            added(PublishedComparison::Layers, Target::Factor).unwrap().find_experiment("layers").unwrap().vary.len(),
            3
        );
        let print = added(PublishedComparison::Print, Target::Factor).unwrap();
        let experiment = print.find_experiment("print").unwrap();
        let strategies: Vec<String> = experiment.strategies().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            strategies,
            [
                "head:256",
                "head:512",
                "tail:256",
                "tail:512",
                "head+tail:256@0.25",
                "head+tail:512@0.25",
                "head:500c",
                "windows:500/500c@mean",
                "windows:200/200c@mean"
            ]
        );
        assert_eq!(experiment.baseline().unwrap(), 1);
        // 510 tokens beside two special ones: 128 and 382.
        assert_eq!(experiment.strategies().unwrap()[5].place().unwrap().apply(900, 2), [0..128, 518..900]);
        let granularity = added(PublishedComparison::Granularity, Target::Factor).unwrap();
        assert_eq!(granularity.find_feature("granularity").unwrap().model, Model::Logistic);
        let experiment = granularity.find_experiment("granularity").unwrap();
        assert_eq!(experiment.combinations().unwrap().len(), 9);
        assert_eq!(json!(experiment.vary["tokenizer.pieces"]), json!(["model"]));
        let bare = PublishedComparison::Granularity.added_to("", &Config::default(), Target::Label).unwrap().unwrap();
        let bare = Config::parse("w", &bare).unwrap();
        assert_eq!(bare.find_experiment("granularity").unwrap().combinations().unwrap().len(), 6);
    }

    #[test]
    fn what_a_preset_lacks_is_named() {
        let bare = Config::default();
        let error = PublishedComparison::Layers.added_to("", &bare, Target::Label).unwrap_err().to_string();
        assert!(error.contains("model = \"onnx\"; add one"), "{error}");
        let eras = PublishedComparison::Eras.added_to("", &bare, Target::Label).unwrap().unwrap();
        assert_eq!(Config::parse("w", &eras).unwrap().find_experiment("eras").unwrap().features.len(), 7);
    }
}
