//! The sections of a report.

use std::fmt;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bail;

/// Purpose of a part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    Title,
    /// Matter around the text: codes, dates, analysts with their addresses, sources of figures, rows of tables.
    Header,
    /// The author's advice: a recommendation, kept or changed, or a target price.
    Rating,
    /// The view in brief: 核心观点, 投资要点.
    Summary,
    /// All else.
    Body,
    /// Expected earnings and valuation.
    Forecast,
    /// Risks of the view.
    Risk,
    /// Legal notes, promises of the analyst, definitions of ratings.
    Disclaimer,
}

impl Section {
    /// All sections, in the order in which reports tend to have them.
    pub const ALL: [Section; 8] = [
        Section::Title,
        Section::Header,
        Section::Rating,
        Section::Summary,
        Section::Body,
        Section::Forecast,
        Section::Risk,
        Section::Disclaimer,
    ];

    /// The name used in configuration files, specifications and tables.
    pub fn name(self) -> &'static str {
        match self {
            Section::Title => "title",
            Section::Header => "header",
            Section::Rating => "rating",
            Section::Summary => "summary",
            Section::Body => "body",
            Section::Forecast => "forecast",
            Section::Risk => "risk",
            Section::Disclaimer => "disclaimer",
        }
    }

    /// The section of this name; fails with the names there are.
    pub fn parse(name: &str) -> Result<Section> {
        match Section::ALL.into_iter().find(|section| section.name() == name) {
            Some(section) => Ok(section),
            None => bail!(
                "{name:?} 不是章节；可用：{}",
                "{name:?} is no section; there are {}",
                Section::ALL.map(Section::name).join(", ")
            ),
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_strangers_are_told_the_names() {
        for section in Section::ALL {
            assert_eq!(Section::parse(section.name()).unwrap(), section);
            assert_eq!(serde_json::to_string(&section).unwrap(), format!("\"{section}\""));
        }
        let error = Section::parse("footer").unwrap_err().to_string();
        assert!(error.contains("\"footer\"") && error.contains("title, header"), "{error}");
    }
}
