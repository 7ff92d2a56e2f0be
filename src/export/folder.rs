//! The folder of an export: filled beside its place, then swapped in.
//!
//! For `out/` the new content grows in `.out.partial/`. When it is complete and on disk, the two folders exchange their
//! names in one step; where the file system has no such step, the old folder is first moved to `.out.previous/`, and
//! the next export puts that back if a kill fell in between.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use polars::prelude::{Column, CsvWriter, DataFrame, IntoColumn, NamedFrom, SerWriter, Series};
use walkdir::WalkDir;

use super::{FileEntry, Format, Manifest, arrow};
use crate::disk::{self, Damage, Formulas};

const MANIFEST: &str = "manifest.json";

/// An export under way. Dropped before [`Folder::finish`], it leaves nothing behind.
pub(super) struct Folder {
    out: PathBuf,
    partial: PathBuf,
    bom: bool,
    formulas: Formulas,
    files: Vec<FileEntry>,
}

impl Folder {
    /// Begins an export to `out`, which must be absent, empty, or an export.
    pub(super) fn begin(out: &Path, bom: bool, formulas: Formulas) -> Result<Folder> {
        let out = std::path::absolute(out).with_context(|| format!("{} is no folder", out.display()))?;
        // A link stays a link: what it points to is replaced.
        let out = out.canonicalize().unwrap_or(out);
        let (Some(parent), Some(name)) = (out.parent(), out.file_name()) else {
            bail!("{} cannot be replaced by an export; choose a folder below it", out.display());
        };
        disk::make_dir(parent)?;
        let beside = |suffix: &str| parent.join(format!(".{}.{suffix}", name.to_string_lossy()));
        let previous = beside("previous");
        if previous.exists() && !out.exists() {
            rename(&previous, &out)?;
        }
        check_replaceable(&out)?;
        let partial = beside("partial");
        for leftover in [&previous, &partial] {
            if leftover.exists() {
                remove(leftover)?;
            }
        }
        disk::make_dir(&partial)?;
        Ok(Folder { out, partial, bom, formulas, files: Vec::new() })
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
            Format::Csv => self.file(&format!("{path}.csv"), rows, |out| {
                let mut writer = CsvWriter::new(out).include_bom(bom).with_datetime_format(Some("%Y-%m-%d".into()));
                match formulas {
                    Formulas::Keep => Ok(writer.finish(table)?),
                    Formulas::Quote => Ok(writer.finish(&mut quoted(table)?)?),
                }
            }),
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
        let cannot = || format!("cannot write {}", full.display());
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
        sync_all(&self.partial)?;
        if !self.out.exists() {
            rename(&self.partial, &self.out)?;
        } else if !exchange(&self.partial, &self.out)? {
            let previous = self.partial.with_extension("previous");
            rename(&self.out, &previous)?;
            rename(&self.partial, &self.out)?;
            sync(disk::folder_of(&self.out))?;
            remove(&previous)?;
        }
        let parent = disk::folder_of(&self.out).to_owned();
        sync(&parent)?;
        // The old export goes when the new one is on the disk in its place, and does not come back.
        drop(self);
        sync(&parent)?;
        Ok(manifest)
    }

    fn note(&mut self, path: String, rows: u64) -> Result<()> {
        let full = self.partial.join(&path);
        let cannot = || format!("cannot read back {}", full.display());
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(&full).with_context(cannot)?).with_context(cannot)?;
        let blake3 = hasher.finalize().to_hex().to_string();
        self.files.push(FileEntry { path, rows, bytes: hasher.count(), blake3 });
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is there now is a failed export or the old one after the exchange. If it stays, the next export removes it.
        let _ = std::fs::remove_dir_all(&self.partial);
    }
}

/// A table whose texts and names of columns no spreadsheet computes.
fn quoted(table: &DataFrame) -> Result<DataFrame> {
    let quote = |column: &Column| -> Result<Column> {
        let mut column = column.clone();
        if let Ok(texts) = column.str() {
            let texts: Vec<_> =
                texts.iter().map(|text| text.map(|text| Formulas::Quote.field(text).into_owned())).collect();
            column = Series::new(column.name().clone(), texts).into_column();
        }
        let name = Formulas::Quote.field(column.name()).into_owned();
        column.rename(name.into());
        Ok(column)
    };
    disk::frame(table.columns().iter().map(quote).collect::<Result<_>>()?)
}

/// Refuses to replace a folder that holds anything which no export wrote.
fn check_replaceable(out: &Path) -> Result<()> {
    if !out.exists() {
        return Ok(());
    }
    let known: BTreeSet<String> = match disk::read_unsealed_json::<Manifest>(&out.join(MANIFEST)) {
        Ok(manifest) => manifest.files.into_iter().map(|f| f.path).chain([MANIFEST.to_owned()]).collect(),
        // Without it nobody can tell which files are the export's.
        Err(error) if error.is::<Damage>() => {
            bail!("{error:#}; nothing was written: remove the folder {}, or choose another", out.display())
        }
        Err(_) => BTreeSet::new(),
    };
    for entry in WalkDir::new(out).sort_by_file_name() {
        let entry = entry.with_context(|| format!("cannot list {}", out.display()))?;
        let path = entry.path().strip_prefix(out).unwrap_or(entry.path());
        let path = path.to_string_lossy().replace('\\', "/");
        if !entry.file_type().is_dir() && !known.contains(&path) {
            bail!(
                "{} holds {path:?}, which is not part of an export; nothing was written: choose another folder, or \
                 move that file away",
                out.display()
            );
        }
    }
    Ok(())
}

/// Exchanges two folders in one step; `false` where the file system cannot.
fn exchange(a: &Path, b: &Path) -> Result<bool> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
            Err(error) => Err(error).with_context(|| format!("cannot replace {}", b.display())),
        }
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    {
        let _ = (a, b);
        Ok(false)
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).with_context(|| format!("cannot rename {} to {}", from.display(), to.display()))
}

fn remove(folder: &Path) -> Result<()> {
    std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Waits until all below a folder is on disk. Qlib's layout has thousands of small files; where the system can force a
/// whole file system at once, that takes a second instead of a minute.
fn sync_all(folder: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        let opened = File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?;
        rustix::fs::syncfs(&opened).with_context(|| format!("cannot write {}", folder.display()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        for entry in walkdir::WalkDir::new(folder) {
            sync(entry.with_context(|| format!("cannot list {}", folder.display()))?.path())?;
        }
        Ok(())
    }
}

/// Waits until a file or folder is on disk. Some file systems refuse to open folders for that.
fn sync(path: &Path) -> Result<()> {
    match File::open(path) {
        Ok(file) if path.is_file() => file.sync_all().with_context(|| format!("cannot write {}", path.display())),
        Ok(folder) => {
            let _ = folder.sync_all();
            Ok(())
        }
        Err(error) if path.is_file() => Err(error).with_context(|| format!("cannot open {}", path.display())),
        Err(_) => Ok(()),
    }
}
