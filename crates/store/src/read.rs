//! Reading finished feature sets, one batch in memory at a time, while others write.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;

use super::files::RowFiles;
use super::generations::is_there;
use super::headers::Headers;
use super::layout::{BatchEntry, Header, SetSpec};
use super::{Rows, WAY_OUT, block};
use inkstone_base::data::Key;
use inkstone_base::{bail, ensure, message};

/// The finished sets of a store. A reader takes no lock.
pub struct Reader {
    root: PathBuf,
    pub(super) files: RowFiles,
    pub(super) headers: Headers,
}

/// The size of a store and of what it holds.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Stats {
    pub sets: u64,
    /// Rows of the finished sets.
    pub rows: u64,
    /// Bytes of their rows.
    pub live_bytes: u64,
    /// Bytes of files of rows that belong to no finished set: work under way, or what a kill left.
    pub other_bytes: u64,
    /// Bytes of the files on disk.
    pub file_bytes: u64,
}

impl Reader {
    /// Opens the store in `path`, which need not exist, for reading, and writes nothing. Fails for a store of another format.
    pub fn open(path: &Path) -> Result<Reader> {
        is_there(path)?;
        Ok(Reader::new(path))
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn new(root: &Path) -> Reader {
        Reader { root: root.to_owned(), files: RowFiles::new(root), headers: Headers::new(root) }
    }

    pub fn set(&self, id: &Key) -> Result<Option<Set<'_>>> {
        Ok(self.headers.read(*id)?.map(|header| Set { reader: self, header }))
    }

    /// The finished set of this name or id; the error says which there are.
    pub fn find(&self, name: &str) -> Result<Header> {
        let sets = self.sets()?;
        let of_name: Vec<&Header> = sets.iter().filter(|header| header.spec.name == name).collect();
        let found = sets.iter().find(|header| header.id().hex() == name);
        match (found, of_name.as_slice()) {
            (Some(header), _) => Ok(header.clone()),
            (None, [header]) => Ok((*header).clone()),
            (None, []) => {
                let names: Vec<&str> = sets.iter().map(|header| header.spec.name.as_str()).collect();
                bail!(
                    "特征库没有已完成的特征集 {name:?}；现有：{}",
                    "the store has no finished set {name:?}; there are: {}",
                    names.join(", ")
                )
            }
            (None, several) => {
                let ids: Vec<String> = several.iter().map(|header| header.id().hex()).collect();
                bail!(
                    "特征库有 {} 个特征集 {name:?}；请用编号指明：{}",
                    "the store has {} sets {name:?}; say which by its id: {}",
                    several.len(),
                    ids.join(", ")
                )
            }
        }
    }

    /// The headers of all finished sets, by name, then id.
    pub fn sets(&self) -> Result<Vec<Header>> {
        let mut headers = Vec::new();
        for set in self.headers.sets()? {
            headers.extend(self.headers.read(set)?);
        }
        headers.sort_by_cached_key(|h| (h.spec.name.clone(), h.id()));
        Ok(headers)
    }

    /// Sizes of the store. Reads no rows.
    pub fn stats(&self) -> Result<Stats> {
        let files = self.files.list()?;
        let mut others: FxHashMap<_, u64> = files.iter().map(|f| ((f.set, f.batch, f.digest), f.bytes)).collect();
        let mut stats = Stats { file_bytes: self.file_bytes(), ..Stats::default() };
        for header in self.sets()? {
            let set = header.id();
            stats.sets += 1;
            stats.rows += header.rows;
            for batch in &header.batches {
                // A batch may come more than once, and is there once.
                if others.remove(&(set, batch.key, batch.record.digest)).is_some() {
                    stats.live_bytes += batch.record.bytes;
                }
            }
        }
        stats.other_bytes = others.values().sum();
        Ok(stats)
    }

    pub(super) fn file_bytes(&self) -> u64 {
        // Others may remove a file before its turn comes.
        let entries = walkdir::WalkDir::new(&self.root).into_iter().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).filter(|found| found.is_file()).map(|found| found.len()).sum()
    }
}

pub struct Set<'s> {
    reader: &'s Reader,
    header: Header,
}

impl Set<'_> {
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The batches in the order of the corpus, each read when it is asked for.
    pub fn batches(&self) -> impl Iterator<Item = Result<Rows>> + '_ {
        self.header.batches.iter().map(|entry| self.read(entry))
    }

    /// One batch; `None` when the set has none of this key.
    pub fn batch(&self, key: &Key) -> Result<Option<Rows>> {
        let entry = self.header.batches.iter().find(|b| b.key == *key);
        entry.map(|entry| self.read(entry)).transpose()
    }

    fn read(&self, entry: &BatchEntry) -> Result<Rows> {
        let set = self.header.id();
        read_rows(&self.reader.files, set, &self.header.spec, entry).or_else(|error| {
            let name = &self.header.spec.name;
            match self.reader.headers.read(set)? {
                Some(header) if header == self.header => Err(error),
                _ => bail!(
                    "另一个运行替换或删除了特征集 {name:?}（{set}）；请重新读取",
                    "another run has replaced feature set {name:?} ({set}) or removed it; read it again"
                ),
            }
        })
    }
}

/// The rows of one batch of a set.
pub(super) fn read_rows(files: &RowFiles, set: Key, spec: &SetSpec, entry: &BatchEntry) -> Result<Rows> {
    let name =
        || message!("特征集 {1:?}（{set}）第 {0} 批", "batch {} of feature set {:?} ({set})", entry.key, spec.name);
    let mut rows = Rows::empty(spec.kind);
    let contents = files.read(set, entry, |number, content| {
        let (first, more) = block::unpack(content)?;
        ensure!(
            first == rows.len(),
            "块 {number} 始于第 {first} 行，而不是第 {} 行",
            "block {number} begins with row {first}, not {}",
            rows.len()
        );
        rows.append(more)
    });
    contents.with_context(|| format!("{} {WAY_OUT}", name()))?;
    ensure!(
        rows.len() as u64 == entry.record.rows,
        "{} {WAY_OUT}：它有 {} 行，而不是 {} 行",
        "{} {WAY_OUT}: it has {} rows and not {}",
        name(),
        rows.len(),
        entry.record.rows
    );
    Ok(rows)
}
