//! Whether the features of a configuration stand as they are configured, without running anything.

use std::path::Path;

use anyhow::Result;

use super::{Run, needs_structure};
use crate::config::Config;
use crate::data::{Key, Report};
use crate::disk;
use crate::job::Ctx;
use crate::structure;

/// How a configured feature stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Name of the feature.
    pub feature: String,
    /// The set that the last run made of it.
    pub made: Option<Key>,
    /// Whether the next run would keep that set, as long as it ingests nothing new.
    pub current: bool,
    /// What the last run said of it.
    pub report: Option<Report>,
}

/// How the features of a configuration stand, in its order. Files that a feature names and that are not there make it stale.
pub fn standings(config: &Config, base: &Path, ctx: &Ctx) -> Result<Vec<Standing>> {
    let mut run = Run::new(config, base, ctx);
    let ingested = run.project.ingest_log().exists();
    if ingested {
        run.corpus = disk::hash_file(&run.project.ingest_log())?;
        run.prices = super::hash_if_there(&run.project.prices())?;
        run.corpus = run.clean_key();
        run.corpus = run.link_key()?;
        let needs = needs_structure(config);
        if needs.sentences {
            let salience = needs.salience.into_iter().collect();
            run.structure = run.structure_key(&structure::Params { salience, ..config.structure.clone() }).ok();
        }
    }
    let standing = |feature: &crate::extract::Feature| {
        let name = format!("extract {}", feature.name);
        let before = run.state.key_of(&name);
        Standing {
            feature: feature.name.clone(),
            made: before.and_then(|(_, made)| made),
            current: ingested && before.is_some_and(|(key, _)| run.extract_key(feature).is_ok_and(|now| now == key)),
            report: run.state.report(&name).cloned(),
        }
    };
    Ok(config.feature.iter().map(standing).collect())
}
