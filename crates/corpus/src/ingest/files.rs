//! Finds the files of the sources, in a fixed order, and tells which of them changed since the last run.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::ingest::log::FileEntry;
use crate::ingest::papers::PaperFile;
use crate::ingest::source::{Format, Source};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_tables::corpus::PART_ROWS;

/// A unit of reading: a file, or up to [`PART_ROWS`] files of one source that are one document each.
pub(super) struct ReadUnit<'a> {
    pub(super) source: &'a Source,
    /// Path relative to the base, with `/`.
    pub(super) path: String,
    pub(super) content: UnitFiles,
}

/// The files of a unit.
pub(super) enum UnitFiles {
    /// One file with many rows.
    Table(PathBuf),
    /// Files that are a row each.
    Papers(Vec<PaperFile>),
}

/// The content of a unit beside its entry in the log.
pub(super) struct Content {
    pub(super) size: u64,
    pub(super) hash: Key,
    /// True if the content that the log knows is the beginning of the content now.
    pub(super) grown: bool,
    /// Hashes of the files that are one document each.
    pub(super) members: Vec<Key>,
    /// The stamp of a table before it was read; none if the stamp would not show a change.
    stamp: Option<Stamp>,
}

/// The stamp of a file that others may change. Who sets back the time of a file (`rsync -t`, `touch -d`) sets another time of
/// its entry, and who puts another file in its place, another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: SystemTime,
    /// Time of the last change of its entry, in seconds and nanoseconds.
    entry_changed: (i64, i64),
    /// Numbers of its disk and of itself.
    number: (u64, u64),
}

/// A change within this time after another may leave the times as they are: so coarse are the clocks of some file systems.
const COARSE: Duration = Duration::from_secs(3);

impl Stamp {
    /// The stamp of a file; none where the system tells too little, and of a file that was changed a moment ago.
    #[cfg(unix)]
    fn read(path: &Path) -> Result<Option<Stamp>> {
        use std::os::unix::fs::MetadataExt;
        let file =
            std::fs::metadata(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
        let Ok(modified) = file.modified() else { return Ok(None) };
        let entry_changed = (file.ctime(), file.ctime_nsec());
        let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(entry_changed.0).unwrap_or(0));
        let age = SystemTime::now().duration_since(changed.max(modified)).unwrap_or_default();
        let stamp = Stamp { size: file.len(), modified, entry_changed, number: (file.dev(), file.ino()) };
        Ok(Some(stamp).filter(|_| age > COARSE))
    }

    #[cfg(not(unix))]
    fn read(_: &Path) -> Result<Option<Stamp>> {
        Ok(None)
    }
}

/// The units of all sources, in the order of the corpus, and the files of folders that are in no known format.
pub(super) fn find<'a>(sources: &'a [Source], base: &Path) -> Result<(Vec<ReadUnit<'a>>, Vec<String>)> {
    let (mut units, mut passed_over) = (Vec::new(), Vec::new());
    for source in sources {
        let (files, root, skipped) = files_of(source, base)?;
        passed_over.extend(skipped.iter().map(|path| shown(path, base)));
        let single = root.is_none();
        let (mut papers, mut others) = (Vec::new(), Vec::new());
        for path in files {
            match source.format_of(&path) {
                // A program that has the document open left this beside it.
                _ if !single && is_lock(&path) => passed_over.push(shown(&path, base)),
                Ok(format) if format.is_paper() => papers.push((path, format)),
                Ok(_) => others.push(path),
                Err(error) if single => return Err(error),
                Err(_) => passed_over.push(shown(&path, base)),
            }
        }
        if papers.is_empty() && others.is_empty() {
            bail!(
                "[[source]] {:?}：{:?} 处没有可读的文件{}",
                "[[source]] {:?}: no file to read at {:?}{}",
                source.name,
                source.path,
                hint(source)
            );
        }
        for path in others {
            units.push(ReadUnit { source, path: shown(&path, base), content: UnitFiles::Table(path) });
        }
        let root = root.unwrap_or_else(|| base.to_path_buf());
        let paper = |(path, format): &(PathBuf, Format)| {
            let below = if single { path.file_name().map(Path::new).unwrap_or(path) } else { path };
            // Files of other formats may share one name: a report as PDF and as DOCX.
            let id = if *format == Format::Txt { shown(&below.with_extension(""), &root) } else { shown(below, &root) };
            PaperFile { path: path.clone(), id, format: *format }
        };
        for (i, chunk) in papers.chunks(PART_ROWS).enumerate() {
            let files = chunk.iter().map(paper).collect();
            let path = format!("{} (documents {})", source.path, i + 1);
            units.push(ReadUnit { source, path, content: UnitFiles::Papers(files) });
        }
    }
    Ok((units, passed_over))
}

fn hint(source: &Source) -> Word {
    if source.format == Format::Auto {
        Word(
            "（可读 .csv .tsv .jsonl .json .parquet .xlsx .xls .txt .pdf .html .docx；其他名称请设置 `format`）",
            " (read are .csv .tsv .jsonl .json .parquet .xlsx .xls .txt .pdf .html .docx; for other names set `format`)",
        )
    } else {
        Word("", "")
    }
}

/// The files of a source, sorted, their folder when it is not one file alone, and the files that were passed over.
///
/// Symbolic links are followed, to wherever they lead; one that leads back to a folder above itself, or nowhere, is passed over,
/// as are pipes, sockets and devices.
fn files_of(source: &Source, base: &Path) -> Result<(Vec<PathBuf>, Option<PathBuf>, Vec<PathBuf>)> {
    let mut skipped = Vec::new();
    let path = base.join(&source.path);
    let at = || message!("[[source]] {:?}：path {:?}", "[[source]] {:?}: path {:?}", source.name, source.path);
    if path.is_dir() {
        let mut files = Vec::new();
        // Hidden folders are passed over too: a project's own artefacts may lie below its sources.
        let shown = |e: &walkdir::DirEntry| e.depth() == 0 || !e.file_name().to_string_lossy().starts_with('.');
        for entry in walkdir::WalkDir::new(&path).follow_links(true).sort_by_file_name().into_iter().filter_entry(shown)
        {
            match entry {
                Ok(entry) if entry.file_type().is_file() => files.push(entry.into_path()),
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => skipped.push(entry.into_path()),
                Err(error) => match error.path() {
                    Some(link) if link.is_symlink() && (error.loop_ancestor().is_some() || !link.exists()) => {
                        skipped.push(link.to_owned());
                    }
                    _ => return Err(error).with_context(at),
                },
            }
        }
        return Ok((files, Some(path), skipped));
    }
    if path.exists() {
        ensure!(
            path.is_file(),
            "{}：是管道、套接字或设备；来源须为文件，请先复制成文件",
            "{}: is a pipe, a socket or a device; a source is a file, so copy it into one",
            at()
        );
        return Ok((vec![path], None, skipped));
    }
    if !source.path.contains(['*', '?', '[']) {
        let way_out = if source.command.is_empty() {
            Word("", "")
        } else {
            Word(
                "；带 --commands 运行，由该来源的命令写入",
                "; run with --commands, and this source's command fills it",
            )
        };
        bail!(
            "{}：没有这个文件或文件夹（{}）{way_out}",
            "{}: there is no such file or folder ({}){way_out}",
            at(),
            path.display()
        );
    }
    let folder = base.to_str().with_context(|| {
        message!(
            "{}：通配路径须位于名称为有效 Unicode 的文件夹中",
            "{}: a pattern needs a folder in valid Unicode",
            at()
        )
    })?;
    let pattern = Path::new(&glob::Pattern::escape(folder)).join(&source.path);
    let mut files = Vec::new();
    for found in glob::glob(&pattern.to_string_lossy()).with_context(at)? {
        let found = found.with_context(at)?;
        if found.is_file() {
            files.push(found);
        } else if !found.is_dir() {
            skipped.push(found);
        }
    }
    files.sort();
    let fixed: PathBuf = path.iter().take_while(|part| !part.to_string_lossy().contains(['*', '?', '['])).collect();
    Ok((files, Some(fixed), skipped))
}

/// A path relative to `base` where it is below it, with `/` on every system.
pub(super) fn shown(path: &Path, base: &Path) -> String {
    let relative = path.strip_prefix(base).unwrap_or(path);
    relative
        .components()
        .map(|c| c.as_os_str().to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join("/")
        .replacen("//", "/", 1)
}

impl ReadUnit<'_> {
    /// The files that it is read from.
    pub(super) fn files(&self) -> Vec<&PathBuf> {
        match &self.content {
            UnitFiles::Papers(files) => files.iter().map(|file| &file.path).collect(),
            UnitFiles::Table(path) => vec![path],
        }
    }

    /// The file that a row stands in.
    pub(super) fn file_of(&self, row: u64, base: &Path) -> String {
        match &self.content {
            UnitFiles::Papers(files) => shown(&files[row as usize - 1].path, base),
            UnitFiles::Table(_) => self.path.clone(),
        }
    }

    /// Compares the content with the log's entry.
    pub(super) fn content(&self, known: Option<&FileEntry>, ctx: &Ctx) -> Result<Content> {
        let hash = |path: &Path, length: u64| hash_of(path, length, ctx);
        let mut size = 0;
        let path = match &self.content {
            UnitFiles::Papers(files) => {
                let mut hashes = Vec::new();
                for file in files {
                    size += length_of(&file.path)?;
                    hashes.push((file.id.as_str(), hash(&file.path, u64::MAX)?));
                }
                let members = hashes.iter().map(|(_, hash)| *hash).collect();
                return Ok(Content { size, hash: Key::of_json(&hashes), grown: false, members, stamp: None });
            }
            UnitFiles::Table(path) => path,
        };
        let stamp = Stamp::read(path)?;
        size += length_of(path)?;
        let grown = match known.filter(|k| k.size < size && k.resume().is_some()) {
            Some(known) => {
                hash(path, known.size)? == known.hash && (!known.is_ascii() || is_ascii_from(path, known.size)?)
            }
            None => false,
        };
        Ok(Content { size, hash: hash(path, size)?, grown, members: Vec::new(), stamp })
    }

    /// Fails when a table is no longer, or no longer begins with, what [`ReadUnit::content`] saw: its rows may be of both. One that has
    /// grown meanwhile is read on by the next run.
    pub(super) fn check_unchanged(&self, seen: &Content, ctx: &Ctx) -> Result<()> {
        let UnitFiles::Table(path) = &self.content else { return Ok(()) };
        if seen.stamp.is_some() && Stamp::read(path)? == seen.stamp {
            return Ok(());
        }
        ensure!(
            hash_of(path, seen.size, ctx)? == seen.hash,
            "{} 在读取期间被改动，未保留其任何内容：待其不再变动后重新运行",
            "{} was changed while it was read; nothing of it was kept: run again when it is at rest",
            path.display()
        );
        Ok(())
    }
}

/// The file by which office programs say that a document is open.
fn is_lock(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("~$"))
}

fn length_of(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?.len())
}

/// True if the bytes of a file from `offset` on are plain ASCII.
fn is_ascii_from(path: &Path, offset: u64) -> Result<bool> {
    let cannot = || message!("无法读取 {}", "cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    file.seek(SeekFrom::Start(offset)).with_context(cannot)?;
    let mut chunk = vec![0; 1 << 16];
    loop {
        match file.read(&mut chunk).with_context(cannot)? {
            0 => return Ok(true),
            n if !chunk[..n].is_ascii() => return Ok(false),
            _ => {}
        }
    }
}

/// The content hash of the first `length` bytes of a file.
fn hash_of(path: &Path, length: u64, ctx: &Ctx) -> Result<Key> {
    let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    let read = disk::hash_reader(&mut Watched { input: file.take(length), ctx });
    ctx.check()?;
    read.with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))
}

/// A reader that stops when the run is cancelled.
struct Watched<'a, R> {
    input: R,
    ctx: &'a Ctx,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.ctx.check().map_err(io::Error::other)?;
        self.input.read(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::tests::source;

    #[test]
    fn a_table_that_was_changed_under_the_same_time_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(1, 0).unwrap();
        let path = dir.path().join("news.csv");
        std::fs::write(&path, "id,body\n1,甲\n").unwrap();
        let opened = |path: &Path| File::options().write(true).open(path).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(86_400);
        opened(&path).set_modified(long_ago).unwrap();
        let source = source("news", "news.csv");
        let unit = ReadUnit { source: &source, path: "news.csv".into(), content: UnitFiles::Table(path.clone()) };
        let seen = unit.content(None, &ctx).unwrap();
        unit.check_unchanged(&seen, &ctx).unwrap();
        // As long, and as old, as before: `rsync -t` does this, and so does whoever writes twice within one tick of a coarse clock.
        std::fs::write(&path, "id,body\n1,乙\n").unwrap();
        opened(&path).set_modified(long_ago).unwrap();
        let refused = unit.check_unchanged(&seen, &ctx).unwrap_err().to_string();
        assert!(refused.contains("was changed while it was read"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_at_rest_is_known_by_its_stamp_and_one_that_was_just_changed_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("news.csv");
        std::fs::write(&path, "id").unwrap();
        assert_eq!(Stamp::read(&path).unwrap(), None);
        let at_rest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        let stamp = Stamp::read(&at_rest).unwrap();
        assert!(stamp.is_some() && stamp == Stamp::read(&at_rest).unwrap());
    }
}
