//! Flags of the commands on manifests: repeat a run, compare two.

use std::path::PathBuf;

use clap::Args;

/// Flags of `replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// The manifest.json of an export.
    pub manifest: PathBuf,
    /// Folder that the paths of its sources are relative to (default: the one above the export's).
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Empty folder to run in and to keep (default: a temporary one, which is removed).
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Flags of `diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// The manifest.json of an export.
    pub a: PathBuf,
    /// Another one.
    pub b: PathBuf,
}
