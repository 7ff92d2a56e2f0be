//! Flags of the commands on manifests: repeat a run, compare two.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct Replay {
    /// The manifest.json of an export.
    ///
    /// 导出的 manifest.json。
    pub manifest: PathBuf,
    /// Folder that the paths of its sources are relative to (default: the folder above the export).
    ///
    /// 来源路径所相对的文件夹（默认：导出的上级文件夹）。
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Empty folder for the run, which is kept (default: a temporary folder, which is removed).
    ///
    /// 运行所用的空文件夹，运行后保留（默认：临时文件夹，运行后删除）。
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// The manifest.json of an export.
    ///
    /// 导出的 manifest.json。
    pub a: PathBuf,
    /// The manifest.json of another export.
    ///
    /// 另一份导出的 manifest.json。
    pub b: PathBuf,
}
