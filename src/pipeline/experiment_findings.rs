//! Findings of the experiments that have run, as their files have them.

use anyhow::Result;

use crate::config::Config;
use inkstone_base::disk;
use inkstone_features::experiment::{Findings, Params};
use inkstone_tables::project::Project;

/// The findings that a project has, in the order of the configuration. Damaged ones are left out: the experiment makes them again.
pub fn findings(config: &Config, project: &Project) -> Result<Vec<Findings>> {
    let read =
        |params: &Params| disk::read_json_if_whole(&project.experiment(&params.name).join("findings.json")).transpose();
    config.experiment.iter().filter_map(read).collect()
}
