//! Flags of the commands on manifests: repeat a run, compare two.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct Replay {
    /// The manifest.json of an export.
    pub manifest: PathBuf,
    /// Folder that the paths of its sources are relative to (default: the folder above the export).
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Empty folder for the run, which is kept (default: a temporary folder, which is removed).
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// The manifest.json of an export.
    pub a: PathBuf,
    /// The manifest.json of another export.
    pub b: PathBuf,
}
