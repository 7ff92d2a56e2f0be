//! The folder of an export: filled beside its place, then swapped in.
//!
//! For `out/` the new content grows in `.out.partial/`. When it is complete and on disk, the two folders exchange their
//! names in one step; where the file system has no such step, the old folder is first moved to `.out.previous/`, and
//! the next export puts that back if a kill fell in between. Files in `out/` that no export wrote (pages of experiments, notes of the
//! user) are then moved from the old folder to the new one; after a kill the next export moves the rest.
//!
//! The folder that is being filled has the marker of [`Room::Partial`], a complete one the marker of [`Room::Exports`], so a leftover tells
//! whether files of others may be in it. Two exports into one folder are kept apart by a lock beside it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use polars_core::prelude::DataFrame;
use walkdir::WalkDir;

use super::{FileEntry, Format, Manifest, arrow, csv};
use inkstone_base::disk::{self, Damage, Formulas, MARKER, Room};
use inkstone_base::language::Message;
use inkstone_base::lock::{self, Attempt, Lock};
use inkstone_base::{bail, message};

const MANIFEST: &str = "manifest.json";

/// An export under way. Dropped before [`Folder::finish`], it leaves nothing behind.
pub(super) struct Folder {
    out: PathBuf,
    partial: PathBuf,
    /// The files of the export that is there.
    known: BTreeSet<String>,
    bom: bool,
    formulas: Formulas,
    files: Vec<FileEntry>,
    /// Says that [`Folder::partial`] is the export of before, with files of others in it.
    swapped: bool,
    _turn: Turn,
}

impl Folder {
    /// Starts an export to `out`: an absent or empty folder, or a folder of exports. Fails while another process exports to it.
    pub(super) fn begin(out: &Path, bom: bool, formulas: Formulas) -> Result<Folder> {
        let out =
            std::path::absolute(out).with_context(|| message!("{} 不是文件夹", "{} is no folder", out.display()))?;
        // A link stays a link: what it points to is replaced.
        let out = out.canonicalize().unwrap_or(out);
        let (Some(parent), Some(name)) = (out.parent(), out.file_name()) else {
            bail!(
                "{} 不能由导出替换；请选它下面的文件夹",
                "{} cannot be replaced by an export; choose a folder below it",
                out.display()
            );
        };
        let [previous, partial, lock] = ["previous", "partial", "lock"].map(|suffix| beside(parent, name, suffix));
        disk::make_dir(parent)?;
        let turn = Turn::take(&lock, &out)?;
        if !out.exists() && disk::marked_for(&previous)? == Some(Room::Exports) {
            rename(&previous, &out)?;
        }
        if out.exists() {
            disk::own_folder(&out, Room::Exports)?;
        }
        for leftover in [&previous, &partial] {
            clear(leftover, &out)?;
        }
        let known = written_files(&out)?;
        disk::own_folder(&partial, Room::Partial)?;
        Ok(Folder { out, partial, known, bom, formulas, files: Vec::new(), swapped: false, _turn: turn })
    }

    /// Writes a table as `path` with the format's extension. Its first `index` columns are what pandas indexes by.
    pub(super) fn table(&mut self, path: &str, format: Format, table: &mut DataFrame, index: usize) -> Result<()> {
        let rows = table.height() as u64;
        let (bom, formulas) = (self.bom, self.formulas);
        match format {
            Format::Parquet => self.file(&format!("{path}.parquet"), rows, |out| {
                disk::seal_parquet(out, |out| arrow::write_parquet(out, table, index))
            }),
            Format::Arrow => self.file(&format!("{path}.arrow"), rows, |out| arrow::write_arrow(out, table, index)),
            Format::Csv => self.file(&format!("{path}.csv"), rows, |out| csv::write(out, table, bom, formulas)),
        }
    }

    /// Writes a file of so many rows. It is forced to disk by [`Folder::finish`], all files at once.
    pub(super) fn file(
        &mut self,
        path: &str,
        rows: u64,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
    ) -> Result<()> {
        let full = self.partial.join(path);
        disk::make_dir(full.parent().unwrap_or(&self.partial))?;
        let cannot = || message!("无法写入 {}", "cannot write {}", full.display());
        let mut out = BufWriter::new(File::create_new(&full).with_context(cannot)?);
        write(&mut out).with_context(cannot)?;
        out.flush().with_context(cannot)?;
        self.note(path.to_owned(), rows)
    }

    /// Writes the manifest and puts the export in its place.
    pub(super) fn finish(mut self, mut manifest: Manifest) -> Result<Manifest> {
        manifest.files = std::mem::take(&mut self.files);
        manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
        disk::write_json(&self.partial.join(MANIFEST), &manifest)?;
        disk::write_marker(&self.partial, Room::Exports)?;
        sync_all(&self.partial)?;
        self.check_room(&manifest)?;
        let parent = disk::folder_of(&self.out);
        if !self.out.exists() {
            rename(&self.partial, &self.out)?;
        } else {
            let previous = self.partial.with_extension("previous");
            self.swapped = true;
            let old = match disk::exchange(&self.partial, &self.out)? {
                true => &self.partial,
                false => {
                    rename(&self.out, &previous)?;
                    rename(&self.partial, &self.out)?;
                    &previous
                }
            };
            carry(old, &self.out, Path::new(""), &self.known)?;
            // The files of others and the new export are on the disk before the old export goes, which does not come back.
            sync_all(&self.out)?;
            sync(parent)?;
            discard(old)?;
        }
        sync(parent)?;
        Ok(manifest)
    }

    /// Fails where a file that no export wrote lies in the place of one that this export writes.
    fn check_room(&self, manifest: &Manifest) -> Result<()> {
        let new: BTreeSet<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
        for theirs in files_of_others(&self.out, &self.known)? {
            let is_above = |path: &&&str| path.strip_prefix(theirs.as_str()).is_some_and(|rest| rest.starts_with('/'));
            let folders = theirs.match_indices('/').map(|(at, _)| &theirs[..at]);
            if new.contains(theirs.as_str())
                || new.iter().any(|path| is_above(&path))
                || folders.clone().any(|f| new.contains(f))
            {
                bail!(
                    "{} 中的 {theirs:?} 不是导出写的，而本次导出会替换它；什么也没有改动：请移走该文件，或另选文件夹",
                    "{} holds {theirs:?}, which no export wrote and which this one would replace; nothing was changed: move that file away, or choose another folder",
                    self.out.display()
                );
            }
        }
        Ok(())
    }

    fn note(&mut self, path: String, rows: u64) -> Result<()> {
        let full = self.partial.join(&path);
        let cannot = || message!("无法读回 {}", "cannot read back {}", full.display());
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(&full).with_context(cannot)?).with_context(cannot)?;
        let blake3 = hasher.finalize().to_hex().to_string();
        self.files.push(FileEntry { path, rows, bytes: hasher.count(), blake3 });
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failed export. If it stays, the next export removes it. The export of before is left to the next one, which carries over what
        // others put into it.
        if !self.swapped {
            let _ = discard(&self.partial);
        }
    }
}

/// The turn of one process to export to a folder: a lock beside the folder, whose file goes when the turn is over.
struct Turn {
    path: PathBuf,
    _lock: Lock,
}

impl Turn {
    fn take(path: &Path, out: &Path) -> Result<Turn> {
        match lock::take(path, "export")? {
            Attempt::Ours(lock) => Ok(Turn { path: path.to_owned(), _lock: lock }),
            Attempt::Theirs(holder) => bail!(
                "另一次导出正在写入 {}（{}）；请等它结束，或另选文件夹",
                "another export is being written to {} ({}); wait until it has ended, or choose another folder",
                out.display(),
                holder.in_words()
            ),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes the lock that a killed export left beside a folder; one that an export holds stays.
pub fn remove_stale_lock(out: &Path) -> Result<()> {
    let out = out.canonicalize().unwrap_or(out.to_owned());
    let (Some(parent), Some(name)) = (out.parent(), out.file_name()) else { return Ok(()) };
    let lock = beside(parent, name, "lock");
    if lock.exists() {
        drop(Turn::take(&lock, &out));
    }
    Ok(())
}

/// Path beside the folder `name`, for a thing of an export to that folder.
fn beside(parent: &Path, name: &OsStr, suffix: &str) -> PathBuf {
    parent.join(format!(".{}.{suffix}", name.to_string_lossy()))
}

/// Removes what a killed export left in its hidden folder, and moves files of others that are in it back to `out`.
fn clear(leftover: &Path, out: &Path) -> Result<()> {
    if !leftover.exists() {
        return Ok(());
    }
    match disk::marked_for(leftover)? {
        Some(Room::Exports) => carry(leftover, out, Path::new(""), &written_files(leftover)?)?,
        _ => drop(disk::is_ours(leftover, Room::Partial)?),
    }
    discard(leftover)
}

/// The files that the export in a folder wrote, by their path with `/`; none where there is no export.
fn written_files(folder: &Path) -> Result<BTreeSet<String>> {
    let manifest = folder.join(MANIFEST);
    if !manifest.exists() {
        return Ok(BTreeSet::from([MARKER.to_owned()]));
    }
    match disk::read_unsealed_json::<Manifest>(&manifest) {
        Ok(read) => {
            let own = [MANIFEST.to_owned(), MARKER.to_owned()];
            Ok(read.files.into_iter().map(|file| file.path).chain(own).collect())
        }
        // Without it nobody can tell which files are the export's.
        Err(error) if error.is::<Damage>() => {
            bail!(
                "{}；什么也没有写：请删除文件夹 {}，或另选一个",
                "{}; nothing was written: remove the folder {}, or choose another",
                Message::of_error(&error),
                folder.display()
            )
        }
        Err(_) => bail!(
            "{} 不是本版本的导出写的；什么也没有改动：请另选文件夹，或移走该文件",
            "{} was not written by an export of this version; nothing was changed: choose another folder, or move that file away",
            manifest.display()
        ),
    }
}

/// The files below a folder that are not `known`, by their path with `/`.
fn files_of_others(folder: &Path, known: &BTreeSet<String>) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().filter(|_| folder.exists()) {
        let entry = entry.with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?;
        let path = path_in_export(entry.path().strip_prefix(folder).unwrap_or(entry.path()));
        if !entry.file_type().is_dir() && !known.contains(&path) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Moves what is not `known` in the folder `below` of an export to the same place in another: files one by one, folders that hold
/// nothing of the export as they are.
fn carry(from: &Path, to: &Path, below: &Path, known: &BTreeSet<String>) -> Result<()> {
    let folder = from.join(below);
    let cannot = || message!("无法列出 {}", "cannot list {}", folder.display());
    for entry in std::fs::read_dir(&folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let path = below.join(entry.file_name());
        let name = path_in_export(&path);
        let target = to.join(&path);
        if entry.file_type().with_context(cannot)?.is_dir() {
            let within = format!("{name}/");
            if target.is_dir() || known.range(within.clone()..).next().is_some_and(|next| next.starts_with(&within)) {
                carry(from, to, &path, known)?;
                continue;
            }
        } else if known.contains(&name) {
            continue;
        }
        if target.symlink_metadata().is_ok() {
            bail!(
                "{} 与 {} 同时存在：请移走其一后重新导出",
                "{} and {} are both there: move one of them away, and export again",
                from.join(&path).display(),
                target.display()
            );
        }
        disk::make_dir(&to.join(below))?;
        rename(&from.join(&path), &target)?;
    }
    Ok(())
}

/// A path below an export as the manifest has it.
fn path_in_export(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to)
        .with_context(|| message!("无法把 {} 改名为 {}", "cannot rename {} to {}", from.display(), to.display()))
}

/// Removes a folder without files of others. Until the last step its marker says so, or the rest of an interrupted removal would be taken
/// for files of others.
fn discard(folder: &Path) -> Result<()> {
    disk::write_marker(folder, Room::Partial)?;
    let remove = || -> std::io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else if entry.file_name() != MARKER {
                std::fs::remove_file(entry.path())?;
            }
        }
        std::fs::remove_file(folder.join(MARKER))?;
        std::fs::remove_dir(folder)
    };
    remove().with_context(|| message!("无法删除 {}", "cannot remove {}", folder.display()))
}

/// Waits until all below a folder is on disk. Qlib's layout has thousands of small files; where the system can force a
/// whole file system at once, that takes a second instead of a minute.
fn sync_all(folder: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        let opened = File::open(folder).with_context(|| message!("无法打开 {}", "cannot open {}", folder.display()))?;
        rustix::fs::syncfs(&opened).with_context(|| message!("无法写入 {}", "cannot write {}", folder.display()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        for entry in walkdir::WalkDir::new(folder) {
            sync(entry.with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?.path())?;
        }
        Ok(())
    }
}

/// Waits until a file or folder is on disk. Some file systems refuse to open folders for that.
fn sync(path: &Path) -> Result<()> {
    match File::open(path) {
        Ok(file) if path.is_file() => {
            file.sync_all().with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))
        }
        Ok(folder) => {
            let _ = folder.sync_all();
            Ok(())
        }
        Err(error) if path.is_file() => {
            Err(error).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))
        }
        Err(_) => Ok(()),
    }
}
