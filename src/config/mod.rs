//! workbench.toml: the whole configuration, which only composes the parameters of the stages.
//!
//! Every section and key has a default; the commented file in the repository's root equals these defaults. Reading finds
//! all problems at once ([`Config::read`]).

pub mod bounds;
mod check;
pub mod edit;
mod hook;
pub mod outline;
mod preset;
mod validate;
pub mod vary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use check::Checker;
pub use check::Fault;
pub use hook::{Hook, HookEvent};
use inkstone_corpus::event::EventRule;
use inkstone_corpus::ingest::Source;
use inkstone_corpus::{clean, ingest, link, structure};
use inkstone_features::experiment;
use inkstone_features::extract::Feature;
use inkstone_features::rewrite::Rewrite;
use inkstone_lab::{backtest, export, factor, lint};
use inkstone_market::Cutoff;
use inkstone_onnx::RuntimeParams;
use inkstone_text::TokenizerParams;
use inkstone_tui::{Depth, Shade};
pub use preset::PublishedComparison;

use inkstone_base::language::{LINES, Message, Word};
use inkstone_base::{ensure, message};

/// The commented file of all settings, as `inkstone init` writes it.
pub const TEMPLATE: &str = include_str!("../../workbench.toml");

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    pub project: ProjectSection,
    pub source: Vec<Source>,
    pub ingest: ingest::Params,
    pub vault: VaultSection,
    pub clean: clean::Params,
    pub link: link::Params,
    pub structure: structure::Params,
    pub tokenizer: TokenizerParams,
    pub market: MarketSection,
    pub rewrite: Vec<Rewrite>,
    pub event: Vec<EventRule>,
    pub feature: Vec<Feature>,
    pub factor: Vec<factor::Params>,
    pub backtest: backtest::Params,
    pub events: backtest::events::Params,
    pub lint: lint::Params,
    pub experiment: Vec<experiment::Params>,
    pub export: export::Params,
    pub report: ReportSection,
    pub on: Vec<Hook>,
    pub onnx: RuntimeParams,
    pub ui: UiSection,
}

/// `[project]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectSection {
    /// Shown on every screen.
    pub name: String,
    /// Shown on every screen and in every result; for data that is not what it seems (the demo's is synthetic).
    pub note: String,
    /// Folder of the artefacts, relative to the configuration.
    pub dir: PathBuf,
    /// Folder of the exports, relative to the configuration.
    pub exports: PathBuf,
    /// Worker threads; 0 takes every core.
    pub threads: usize,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for ProjectSection {
    fn default() -> ProjectSection {
        ProjectSection {
            name: "inkstone".into(),
            note: String::new(),
            dir: ".inkstone".into(),
            exports: "exports".into(),
            threads: 0,
            seed: 1,
        }
    }
}

/// `[vault]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultSection {
    /// First day of the period that no stage reads; absent: no period is sealed.
    pub from: Option<NaiveDate>,
    /// True if this run may read it.
    #[serde(skip)]
    pub is_open: bool,
}

impl VaultSection {
    /// The first day that this run must not read.
    pub fn sealed_from(&self) -> Option<NaiveDate> {
        self.from.filter(|_| !self.is_open)
    }
}

/// `[market]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MarketSection {
    /// Until when a text counts for its day: `close` (15:00:00) or `next_open` (09:15:00 of the next trading day).
    pub cutoff: Cutoff,
}

/// `[report]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportSection {
    /// Folder of the reports, a folder for each factor, relative to the configuration.
    pub dir: PathBuf,
    /// Files of the charts, beside the page that has them all (default none).
    pub charts: Vec<ChartFormat>,
}

impl Default for ReportSection {
    fn default() -> ReportSection {
        ReportSection { dir: "reports".into(), charts: Vec::new() }
    }
}

/// A file format for charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ChartFormat {
    /// Vectors.
    Svg,
    /// Bitmaps, drawn with the fonts of the machine.
    Png,
}

/// `[ui]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UiSection {
    /// `zh`, `en`, or `auto`: by LANG.
    pub language: LanguageSetting,
    /// True if gains are red and losses green, the Chinese custom.
    pub red_up: bool,
    /// Dark or light background.
    pub theme: Shade,
    pub colours: Depth,
    /// A file of colours, relative to the configuration; none if empty.
    pub palette: String,
    pub ambiguous: Ambiguous,
    /// True if the mouse moves the cursor; marking text with it then takes Shift in most terminals.
    pub mouse: bool,
    /// `[ui.keys]`: keys instead of the usual ones, by the name of the command (`quit = ["ctrl-q"]`).
    pub keys: BTreeMap<String, Vec<String>>,
}

impl Default for UiSection {
    fn default() -> UiSection {
        UiSection {
            language: LanguageSetting::Auto,
            red_up: true,
            theme: Shade::Auto,
            colours: Depth::Auto,
            palette: String::new(),
            ambiguous: Ambiguous::Narrow,
            mouse: true,
            keys: BTreeMap::new(),
        }
    }
}

/// Width in cells of characters whose width Unicode calls ambiguous: frames, arrows, quotation marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ambiguous {
    /// In one cell, as most do.
    #[default]
    Narrow,
    /// In two, as some do with Chinese fonts: other characters are drawn instead.
    Wide,
}

/// The language of the screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LanguageSetting {
    /// By the environment: Chinese where LC_ALL, LC_MESSAGES or LANG begins with `zh`.
    #[default]
    Auto,
    /// 简体中文.
    Zh,
    /// English.
    En,
}

impl Config {
    /// Reads a configuration file; fails with all its problems at once, each with its line and the way out.
    pub fn read(path: &Path) -> Result<Config> {
        let text = std::fs::read_to_string(path).with_context(|| {
            message!(
                "无法读取配置 {}（inkstone init 可写出一份作为起点）",
                "cannot read the configuration {} (inkstone init writes one to start from)",
                path.display()
            )
        })?;
        Config::parse(&path.display().to_string(), &text)
    }

    /// Reads a configuration from its text; `file` is its name in messages.
    pub fn parse(file: &str, text: &str) -> Result<Config> {
        let mut checker = Checker::new(file, text)?;
        let config = Config::checked(&mut checker);
        checker.finish()?;
        Ok(config)
    }

    /// Fails with all problems of the values; for configurations that do not come from a file.
    pub fn check(&self) -> Result<()> {
        let mut problems = match toml::Value::try_from(self) {
            Ok(values) => bounds::problems("", &values),
            Err(error) => {
                vec![check::Problem::new(
                    "",
                    message!("无法写成 TOML：“{error}”", "cannot be written as TOML: {error}"),
                )]
            }
        };
        problems.extend(validate::problems(self));
        let line_of = |p: &check::Problem| message!("{}：{}", "{}: {}", p.path, p.message);
        let messages: Vec<Message> = problems.iter().map(line_of).collect();
        ensure!(messages.is_empty(), Message::joined(messages, LINES));
        Ok(())
    }

    /// All problems of the text of a configuration, in the order of its lines; none if it can be used.
    pub fn faults(text: &str) -> Vec<Fault> {
        let faults = check::syntax_faults(text);
        if !faults.is_empty() {
            return faults;
        }
        match Checker::new("", text) {
            Ok(mut checker) => {
                Config::checked(&mut checker);
                checker.faults()
            }
            Err(error) => vec![Fault { line: 1, path: String::new(), message: Message::of_error(&error) }],
        }
    }

    /// True if it names programs of the user: those that fill sources, and those that are told of events.
    pub fn has_commands(&self) -> bool {
        !self.on.is_empty() || self.source.iter().any(|source| !source.command.is_empty())
    }

    /// The parameters of ingest, which keeps the sealed period out.
    pub fn ingest_params(&self) -> ingest::Params {
        ingest::Params { sealed_from: self.vault.sealed_from(), ..self.ingest.clone() }
    }

    pub fn find_feature(&self, name: &str) -> Result<&Feature> {
        find(Word("特征", "feature"), &self.feature, name, |feature| &feature.name)
    }

    pub fn find_rewrite(&self, name: &str) -> Result<&Rewrite> {
        find(Word("改写", "rewrite"), &self.rewrite, name, |rewrite| &rewrite.name)
    }

    pub fn find_factor(&self, name: &str) -> Result<&factor::Params> {
        find(Word("因子", "factor"), &self.factor, name, |factor| &factor.name)
    }

    pub fn find_experiment(&self, name: &str) -> Result<&experiment::Params> {
        find(Word("实验", "experiment"), &self.experiment, name, |experiment| &experiment.name)
    }

    /// Reads the valid settings; the checker collects the problems of the others.
    fn checked(checker: &mut Checker<'_>) -> Config {
        let config = Config {
            project: checker.section("project"),
            source: checker.sections_of("source"),
            ingest: checker.section("ingest"),
            vault: checker.section("vault"),
            clean: checker.section("clean"),
            link: checker.section("link"),
            structure: checker.section("structure"),
            tokenizer: checker.section("tokenizer"),
            market: checker.section("market"),
            rewrite: checker.sections_of("rewrite"),
            event: checker.sections_of("event"),
            feature: checker.sections_of("feature"),
            factor: checker.sections_of("factor"),
            backtest: checker.section("backtest"),
            events: checker.section("events"),
            lint: checker.section("lint"),
            experiment: checker.sections_of("experiment"),
            export: checker.section("export"),
            report: checker.section("report"),
            on: checker.sections_of("on"),
            onnx: checker.section("onnx"),
            ui: checker.section("ui"),
        };
        checker.refuse_other_sections();
        for problem in validate::problems(&config) {
            checker.add(problem);
        }
        config
    }
}

/// The item of this name; the error lists all names.
fn find<'c, T>(what: Word, items: &'c [T], name: &str, name_of: impl Fn(&T) -> &str) -> Result<&'c T> {
    items.iter().find(|item| name_of(item) == name).with_context(|| {
        let known: Vec<&str> = items.iter().map(&name_of).collect();
        message!("没有{what} {name:?}；现有：{}", "there is no {what} {name:?}; there are: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removes the comment mark from the template's examples, which are written as `#: key = value`.
    fn with_examples(template: &str) -> String {
        template.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_template_equals_the_defaults() {
        assert_eq!(Config::parse("workbench.toml", TEMPLATE).unwrap(), Config::default());
    }

    #[test]
    fn the_template_shows_every_key() {
        let table: toml::Table = toml::from_str(&with_examples(TEMPLATE)).unwrap();
        let defaults = serde_json::to_value(Config {
            source: vec![Source::default()],
            rewrite: vec![Rewrite::default()],
            event: vec![EventRule::default()],
            feature: vec![Feature::default()],
            factor: vec![factor::Params::default()],
            on: vec![Hook::default()],
            experiment: vec![experiment::Params { factor: Some(String::new()), ..experiment::Params::default() }],
            ..Config::default()
        })
        .unwrap();
        let mut missing = Vec::new();
        for (section, keys) in defaults.as_object().unwrap() {
            let keys = keys.as_array().map_or(keys, |items| &items[0]);
            let written = table.get(section).map(|v| v.as_array().map_or(v, |items| &items[0]));
            for key in keys.as_object().unwrap().keys() {
                if written.and_then(|w| w.get(key)).is_none() {
                    missing.push(format!("{section}.{key}"));
                }
            }
        }
        assert!(missing.is_empty(), "workbench.toml does not show {missing:?}");
    }

    #[test]
    fn the_parameters_of_features_in_the_template_are_the_defaults() {
        let table: toml::Table = toml::from_str(&with_examples(TEMPLATE)).unwrap();
        let mut written: Feature = table["feature"][0].clone().try_into().unwrap();
        // Settings without a default, and those that a model chooses where they are absent.
        written.name.clear();
        written.file = Default::default();
        (written.onnx.model, written.onnx.fitted_until) = Default::default();
        (written.onnx.pooling, written.onnx.normalise, written.onnx.prompt) = Default::default();
        (written.onnx.pair, written.onnx.question, written.onnx.no_answer) = Default::default();
        written.embeddings.fitted_until = None;
        (written.finetune.base, written.finetune.fitted_until) = Default::default();
        (written.mask_names, written.fit_until, written.word2vec.lr) = (None, None, None);
        (written.target.form, written.search.measure) = (None, None);
        written.within = None;
        assert_eq!(written, Feature::default());
    }

    #[test]
    fn the_examples_of_the_template_are_valid() {
        let text = with_examples(TEMPLATE);
        // The one example of a feature shows the settings of all models.
        let faults = Config::faults(&text).into_iter().map(|fault| fault.message);
        let faults: Vec<Message> = faults.filter(|message| !message.en.contains("is not for model")).collect();
        assert!(faults.is_empty(), "{faults:?}");
        let table: toml::Table = toml::from_str(&text).unwrap();
        for section in ["source", "rewrite", "event", "feature", "factor", "on", "experiment"] {
            assert!(!table[section].as_array().unwrap().is_empty(), "{section}");
        }
    }
}
