//! `store`: checks the feature store and all else that a project keeps, mends it, gives back space, and carries sets to files and back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::staged::counted;
use crate::cli::{Store as Args, StoreAction};
use crate::config::Config;
use crate::headless::Summary;
use crate::pipeline;
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::disk::Room;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_store::{Header, Reader, RowKind, Store, export, file_name, import};

/// Looks after the feature store.
pub(super) fn run(args: &Args, ctx: &Ctx) -> Result<Summary> {
    let config = Config::read(&args.config)?;
    let base = args.config.parent().unwrap_or(Path::new(""));
    let project = pipeline::project(&config, base);
    let path = project.store();
    let needed = match args.action {
        StoreAction::Import { .. } => false,
        // A project that has run has more to look at than features.
        StoreAction::Verify | StoreAction::Repair => !project.dir().exists(),
        _ => true,
    };
    ensure!(
        path.exists() || !needed,
        "{} 不存在：该项目还没有特征",
        "{} does not exist: this project has no features yet",
        path.display()
    );
    // A command that changes the store keeps runs from it, also while none of them has it open.
    let writing = |name: &str| project.lock_for(&format!("store {name}"));
    let counting = |name: &str, total| (format!("store {name}"), total);
    let mut summary = Summary::default();
    match &args.action {
        StoreAction::Verify => {
            let of_files = pipeline::check(&config, base, ctx)?;
            let of_store = match path.exists() {
                true => staged(ctx, counting("verify", None), || Reader::open(&path)?.verify(ctx))?,
                false => Vec::new(),
            };
            let problems = [texts(&of_files), texts(&of_store)].concat();
            summary.partial = !problems.is_empty();
            summary.set("problems", problems);
        }
        StoreAction::Repair => {
            let _held = writing("repair")?;
            let of_files = pipeline::repair(&config, base, ctx)?;
            let of_store = match path.exists() {
                true => staged(ctx, counting("repair", None), || Store::repair(&path, ctx))?,
                false => Vec::new(),
            };
            summary.set("dropped", [texts(&of_files), texts(&of_store)].concat());
        }
        StoreAction::Compact => {
            let _held = writing("compact")?;
            let used = pipeline::feature_sets(&config, &project)?;
            let mut store = Store::open(&path)?;
            let compact = || store.compact(|header| used.contains(&header.id()), ctx);
            summary.set("compaction", staged(ctx, counting("compact", None), compact)?);
        }
        StoreAction::Stats => {
            let store = Reader::open(&path)?;
            summary.set("stats", store.stats()?);
            summary.set("sets", store.sets()?.iter().map(set_json).collect::<Vec<_>>());
        }
        StoreAction::Export { documents: Some(feature), out, .. } => {
            let write = || pipeline::write_document_table(&config, base, feature, out, ctx);
            let ((), report) = counted(ctx, ("store export", "docs", None), || Ok(((), write()?)))?;
            summary.set("written", out);
            summary.set("documents", report.rows_out);
        }
        StoreAction::Export { set, out, .. } => {
            let store = Reader::open(&path)?;
            if set.is_none() {
                disk::own_folder(out, Room::Sets)?;
            }
            let wanted: Vec<(Header, PathBuf)> = match set {
                Some(name) => vec![(store.find(name)?, out.clone())],
                None => store.sets()?.into_iter().map(|set| (set.clone(), out.join(file_name(&set)))).collect(),
            };
            let batches = wanted.iter().map(|(set, _)| set.batches.len() as u64).sum();
            let exported = staged(ctx, counting("export", Some(batches)), || {
                wanted.iter().map(|(set, file)| export(&store, &set.id(), file, ctx)).collect::<Result<Vec<_>>>()
            })?;
            summary.set("exported", exported);
        }
        StoreAction::Import { files } => {
            let _held = writing("import")?;
            let store = Store::open(&path)?;
            let imported = staged(ctx, counting("import", None), || {
                files.iter().map(|file| import(&store, file, ctx)).collect::<Result<Vec<_>>>()
            })?;
            summary.set("imported", imported);
        }
    }
    Ok(summary)
}

/// Runs work that counts batches.
fn staged<T>(ctx: &Ctx, (name, total): (String, Option<u64>), work: impl FnOnce() -> Result<T>) -> Result<T> {
    Ok(counted(ctx, (&name, "batches", total), || Ok((work()?, Report::new(&name))))?.0)
}

fn texts(problems: &[impl ToString]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn set_json(header: &Header) -> serde_json::Value {
    let dim = match header.spec.kind {
        RowKind::Dense { dim } => Some(dim),
        RowKind::Sparse => None,
    };
    let batches: BTreeSet<_> = header.batches.iter().map(|batch| batch.key).collect();
    json!({
        "name": header.spec.name, "id": header.id(), "rows": header.rows, "dim": dim, "batches": batches.len(),
        "bytes": header.bytes(),
    })
}
