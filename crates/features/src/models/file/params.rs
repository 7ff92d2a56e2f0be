//! The settings of a feature whose model is a file.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};

use inkstone_models::ModelHeader;

/// The last second of a day, at which a date without a time is known.
const LAST: NaiveTime = NaiveTime::from_hms_opt(23, 59, 59).expect("23:59:59 is a time of day");

/// The file of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileParams {
    /// Relative to the configuration.
    pub path: PathBuf,
    /// The last day of the text that the model was trained on, for files that do not say it.
    pub fitted_until: Option<NaiveDate>,
    /// The encoder of a head, where it is not where the file says, relative to the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<PathBuf>,
}

impl FileParams {
    /// Fails where no file is named.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.path.as_os_str().is_empty(),
            "file.path is missing: name a model that `inkstone train` wrote, or a file in a format of KenLM, word2vec or fastText"
        );
        Ok(())
    }

    /// The encoder of a head, where its place is given here.
    pub(super) fn encoder_at(&self, base: &Path) -> Option<PathBuf> {
        self.encoder.as_ref().map(|encoder| base.join(encoder))
    }

    /// The last time of what the model saw: as the file says it, or the day that is stated here.
    pub(super) fn fitted_until(&self, header: &ModelHeader) -> Result<NaiveDateTime> {
        let shown = self.path.display();
        let stated = self.fitted_until.map(|day| day.and_time(LAST));
        // The labels of a head are known even where its encoder does not say what it saw.
        let labelled: Option<NaiveDateTime> =
            header.params.get("labelled_until").and_then(|time| serde_json::from_value(time.clone()).ok());
        let trained = header.fitted_until.or(labelled.filter(|_| stated.is_some()));
        match (trained, stated) {
            (None, None) => bail!(
                "{shown} does not say how far the text reaches that its model was trained on, and a value made of words of \
                 the future would be known before its time: set file.fitted_until to the last day of that text"
            ),
            (Some(trained), Some(stated)) if stated < trained => {
                bail!("file.fitted_until says {stated}, but {shown} was trained on text until {trained}: leave it out")
            }
            _ => Ok(trained.max(stated).unwrap_or_default()),
        }
    }
}
