//! `replay` and `diff`: repeat and compare runs by their manifests.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cli::{Diff, Global, Replay};
use crate::headless::{self, Summary};
use crate::pipeline;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::message;
use inkstone_base::width::shown;
use inkstone_lab::export::Manifest;

/// Repeats the run of a manifest with its seed.
pub(super) fn replay(args: &Replay, global: &Global) -> Result<ExitCode> {
    let seed = Manifest::read(&args.manifest).map_or(1, |manifest| manifest.provenance.seed);
    let ctx = Ctx::new(global.threads.unwrap_or(0), seed);
    Ok(headless::run_under("replay", ctx, |ctx| again(args, ctx)))
}

/// Any difference of bytes makes a partial success.
fn again(args: &Replay, ctx: &Ctx) -> Result<Summary> {
    let base = match &args.base {
        Some(base) => base.clone(),
        None => folder_above(&args.manifest)?,
    };
    let temporary = tempfile::tempdir()
        .context(Word("无法创建临时文件夹；请用 --dir 指定", "cannot make a temporary folder; name one with --dir"))?;
    let dir = args.dir.as_deref().unwrap_or(temporary.path());
    let (replayed, reports) = pipeline::replay(&args.manifest, &base, dir, ctx).with_context(|| {
        message!(
            "无法用 {1} 下的来源重复 {0} 的运行",
            "cannot repeat the run of {} on the sources below {}",
            args.manifest.display(),
            base.display()
        )
    })?;
    if let Some(library) = &replayed.library_ignored {
        let note = message!(
            "清单写有本机代码库 {library}，没有加载；用的是本机的代码库",
            "the manifest names the native library {library}, which was not loaded; the library of this machine was used"
        );
        let _ = writeln!(std::io::stderr(), "note: {}", shown(&note.to_string()));
    }
    let mut summary =
        Summary { partial: !replayed.difference.same_files() || !replayed.altered.is_empty(), ..Summary::default() };
    summary.set("same", replayed.difference.same_files());
    summary.set("replay", replayed);
    summary.set("stages", reports);
    Ok(summary)
}

/// The folder above the folder of a manifest.
fn folder_above(manifest: &Path) -> Result<PathBuf> {
    let full = std::path::absolute(manifest)
        .with_context(|| message!("{} 不是文件", "{} is not a file", manifest.display()))?;
    Ok(full.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned())
}

pub(super) fn diff(args: &Diff) -> Result<Summary> {
    let difference = pipeline::diff(&args.a, &args.b)?;
    let mut summary = Summary::default();
    summary.set("same", difference.same_files() && difference.first.is_none());
    summary.set("difference", difference);
    Ok(summary)
}
