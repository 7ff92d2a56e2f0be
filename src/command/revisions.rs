//! `revisions`: what documents, prices and factor values said before a later run changed them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::cli::Revisions;
use crate::config::Config;
use crate::headless::Summary;
use crate::pipeline;
use inkstone_corpus::ingest::revisions;
use inkstone_lab::factor::{History, revised_values};

pub(super) fn run(args: &Revisions) -> Result<Summary> {
    let path = &args.project.config;
    let config = Config::read(path)?;
    let project = pipeline::project(&config, path.parent().unwrap_or(Path::new("")));
    let mut summary = Summary::default();
    if let Some(name) = &args.factor {
        config.find_factor(name)?;
    } else {
        let mut all = revisions::read(&project.revisions())?;
        for table in ["documents", "prices"] {
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            for revision in all.iter().filter(|revision| revision.table == table) {
                *counts.entry(&revision.change).or_default() += u64::from(revision.rows);
            }
            summary.set(table, counts);
        }
        summary.set("newest", newest(&mut all, args.count));
        summary.set("file", project.revisions());
    }
    let mut factors = Map::new();
    for factor in config.factor.iter().filter(|factor| args.factor.as_ref().is_none_or(|name| *name == factor.name)) {
        let files = pipeline::history_files(&project, &factor.name);
        let Some(history) = History::read(&files)? else { continue };
        let mut values = revised_values(&files.revisions)?;
        let found = json!({
            "runs": history.runs, "revised": values.len(), "newest": newest(&mut values, args.count), "file": files.revisions,
        });
        factors.insert(factor.name.clone(), found);
    }
    summary.set("factors", Value::Object(factors));
    Ok(summary)
}

/// The last of these, the newest first.
fn newest<T>(all: &mut Vec<T>, count: usize) -> &[T] {
    all.reverse();
    all.truncate(count);
    all
}
