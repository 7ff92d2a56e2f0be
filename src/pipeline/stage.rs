//! The stages of a run: where it can stop, and the id of each stage.

use std::fmt;

use anyhow::{Error, Result};
use serde::{Deserialize, Serialize};

use inkstone_base::data::Report;
use inkstone_base::{bail, ensure};

/// Separator between the name of a configured feature and the change that was made to it: `tone · masked`. No configured name has it.
const CHANGED: &str = " · ";

/// The stages that a run can stop after, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Stage {
    /// Files to documents, prices and securities.
    Ingest,
    /// Normalised text, duplicates marked.
    Clean,
    /// Codes and name spans.
    Link,
    /// Sentences, sections and boilerplate, if anything needs them.
    Structure,
    /// Texts that models write of the documents.
    Rewrite,
    /// Features.
    Extract,
    /// A value per date and code.
    Factor,
    /// IC, layers, portfolios, events; noted in the research ledger.
    Backtest,
    /// Checks for look-ahead.
    Lint,
    /// Tables for other tools.
    Export,
    /// A page and charts for people.
    Report,
}

/// One stage of a project, with the feature or factor that it works on. Written as in reports: `clean`, `extract tone`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum StageId {
    Ingest,
    Clean,
    Link,
    Structure,
    /// The texts of the rewrite of this name.
    Rewrite(String),
    /// Extraction of the feature of this name.
    Extract(String),
    /// Values of the factor of this name. All later stages but the export have a factor too.
    Factor(String),
    Backtest(String),
    Events(String),
    Lint(String),
    Export,
    Report(String),
}

impl StageId {
    /// True if a report is of this stage.
    pub fn is_of(&self, report: &Report) -> bool {
        report.stage == self.to_string()
    }

    /// True if the units of the stage are the rows or documents that it reads.
    pub(super) fn reads_rows(&self) -> bool {
        matches!(
            self,
            StageId::Ingest
                | StageId::Clean
                | StageId::Link
                | StageId::Structure
                | StageId::Rewrite(_)
                | StageId::Extract(_)
        )
    }
}

impl fmt::Display for StageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StageId::Ingest => f.write_str("ingest"),
            StageId::Clean => f.write_str("clean"),
            StageId::Link => f.write_str("link"),
            StageId::Structure => f.write_str("structure"),
            StageId::Rewrite(rewrite) => write!(f, "rewrite {rewrite}"),
            StageId::Extract(feature) => write!(f, "extract {feature}"),
            StageId::Factor(factor) => write!(f, "factor {factor}"),
            StageId::Backtest(factor) => write!(f, "backtest {factor}"),
            StageId::Events(factor) => write!(f, "events {factor}"),
            StageId::Lint(factor) => write!(f, "lint {factor}"),
            StageId::Export => f.write_str("export"),
            StageId::Report(factor) => write!(f, "report {factor}"),
        }
    }
}

impl From<StageId> for String {
    fn from(id: StageId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for StageId {
    type Error = Error;

    fn try_from(text: String) -> Result<StageId> {
        let (stage, name) = text.split_once(' ').unwrap_or((&text, ""));
        let name = name.to_owned();
        let id = match stage {
            "ingest" => StageId::Ingest,
            "clean" => StageId::Clean,
            "link" => StageId::Link,
            "structure" => StageId::Structure,
            "rewrite" => StageId::Rewrite(name),
            "extract" => StageId::Extract(name),
            "factor" => StageId::Factor(name),
            "backtest" => StageId::Backtest(name),
            "events" => StageId::Events(name),
            "lint" => StageId::Lint(name),
            "export" => StageId::Export,
            "report" => StageId::Report(name),
            _ => bail!("没有阶段 {text:?}", "there is no stage {text:?}"),
        };
        // A name is missing, or is one too many.
        ensure!(id.to_string() == text, "没有阶段 {text:?}", "there is no stage {text:?}");
        Ok(id)
    }
}

/// Name of a feature that a check or an experiment makes of a configured one.
pub(super) fn derived_name(feature: &str, change: impl fmt::Display) -> String {
    format!("{feature}{CHANGED}{change}")
}

/// The configured feature that a feature of this name was made of; none if it is configured itself.
pub fn derived_from(name: &str) -> Option<&str> {
    name.split_once(CHANGED).map(|(feature, _)| feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_stage_is_read_as_it_is_written() {
        let name = || "语气 · masked".to_owned();
        let named = [
            StageId::Rewrite,
            StageId::Extract,
            StageId::Factor,
            StageId::Backtest,
            StageId::Events,
            StageId::Lint,
            StageId::Report,
        ];
        let single = [StageId::Ingest, StageId::Clean, StageId::Link, StageId::Structure, StageId::Export];
        for id in named.map(|of_name| of_name(name())).into_iter().chain(single) {
            let written = serde_json::to_string(&id).unwrap();
            assert_eq!(written, format!("\"{id}\""));
            assert_eq!(serde_json::from_str::<StageId>(&written).unwrap(), id);
        }
        assert_eq!(StageId::Extract(name()).to_string(), "extract 语气 · masked");
        assert!(serde_json::from_str::<StageId>("\"extract\"").unwrap_err().to_string().contains("no stage"));
    }

    #[test]
    fn a_derived_feature_names_the_one_that_it_was_made_of() {
        assert_eq!(derived_from(&derived_name("tone", "head:64 -title")), Some("tone"));
        assert_eq!(derived_from("tone"), None);
    }
}
