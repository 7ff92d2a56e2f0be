//! Reading the table: which parts there are, and their columns, one part after the other on threads of their own.

use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::time::SystemTime;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use polars_core::prelude::DataFrame;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rustc_hash::FxHasher;

use super::catalogue::{Catalogue, CataloguePart, CatalogueRow, Gathering, PartSlot};
use crate::desk::Desk;
use crate::errand::Errand;
use crate::reading::chain;
use inkstone_base::code::Code;
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::{ensure, message};
use inkstone_corpus::link::{Link, codes_of, links_of_part};
use inkstone_tables::corpus;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// The column of a cleaned document's first mention.
pub(super) const FIRST: &str = "first_mention";

/// No part is wanted before the others.
const NONE: usize = usize::MAX;

/// A file of the corpus, as it was when it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub path: PathBuf,
    written: Option<SystemTime>,
    pub bytes: u64,
    /// Documents by its footer, or why that cannot be read.
    rows: Result<usize, Message>,
    /// The table of its links to securities, and when it was written; none before the documents are linked.
    links: Option<(PathBuf, Option<SystemTime>)>,
}

/// The files of the corpus.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CorpusIndex {
    pub files: Vec<File>,
    /// True if these are cleaned documents, with duplicates marked.
    pub cleaned: bool,
}

impl CorpusIndex {
    /// Lists the cleaned corpus when it is complete, else the corpus as ingested.
    pub(crate) fn list(project: &Project, ctx: &Ctx) -> Result<CorpusIndex> {
        let documents = project.documents().files()?;
        let clean = project.clean().files()?;
        let cleaned = !clean.is_empty() && clean.len() >= documents.len();
        let files = if cleaned { clean } else { documents };
        let links = project.links().files()?;
        let linked = cleaned && links.len() >= files.len();
        let file = |(part, path): (usize, PathBuf)| -> Result<File> {
            ctx.check()?;
            let about = path.metadata().ok();
            let written = written_at(&path);
            let rows = frames::rows_of_parquet(&path).map_err(|error| without_folder(chain(error), &path));
            let links = links.get(part).filter(|_| linked).map(|links| (links.clone(), written_at(links)));
            Ok(File { written, bytes: about.map_or(0, |about| about.len()), rows, links, path })
        };
        let files = ctx.install(|| files.into_par_iter().enumerate().map(file).collect::<Result<_>>())?;
        Ok(CorpusIndex { files, cleaned })
    }

    /// A catalogue of these files. Nothing is read yet; entries of unchanged files are taken from `old`.
    pub(crate) fn catalogue(&self, old: Option<(&CorpusIndex, &Catalogue)>) -> Catalogue {
        // A file that cannot be read has one line, which says so.
        let mut catalogue = Catalogue::new(self.files.iter().map(|file| *file.rows.as_ref().unwrap_or(&1)));
        let old = old.filter(|(index, _)| index.cleaned == self.cleaned);
        for (i, file) in self.files.iter().enumerate() {
            let kept = old.filter(|(index, _)| index.files.get(i) == Some(file)).map(|(_, old)| old.slot(i));
            match (&file.rows, kept) {
                (Err(fault), _) => catalogue.take(i, PartSlot::Damaged(fault.clone().into())),
                (Ok(_), Some(PartSlot::Read(part))) => catalogue.take(i, PartSlot::Read(part.clone())),
                (Ok(_), _) => {}
            }
        }
        catalogue
    }

    pub(crate) fn path(&self, part: usize) -> Result<&Path> {
        let file = self
            .files
            .get(part)
            .context(Word("列出之后语料变短了", "the corpus has become shorter since it was listed"))?;
        Ok(&file.path)
    }
}

/// Readings of parts on their way, in the order in which they come.
pub(crate) struct Loading<T> {
    parts: Receiver<(usize, T)>,
    /// The part to be read next, as it is in sight.
    wanted: Arc<AtomicUsize>,
    errand: Errand<()>,
}

impl<T: Send + 'static> Loading<T> {
    /// Reads the parts that are `left`, the wanted one first; without `all`, only parts that are wanted.
    pub(super) fn begin(
        desk: &Desk<'_>,
        name: &str,
        mut left: Vec<bool>,
        (wanted, all): (Option<usize>, bool),
        read: impl Fn(usize) -> T + Send + 'static,
    ) -> Loading<T> {
        let wanted = Arc::new(AtomicUsize::new(wanted.unwrap_or(NONE)));
        let asked = wanted.clone();
        let (parts, errand) = desk.errand_in_pieces(name, move |tell, ctx| {
            let mut first = 0;
            loop {
                ctx.check()?;
                let in_sight = asked.swap(NONE, Ordering::Relaxed);
                while left.get(first) == Some(&false) {
                    first += 1;
                }
                let part = match left.get(in_sight) {
                    Some(true) => in_sight,
                    _ if all => first,
                    _ => left.len(),
                };
                if part >= left.len() {
                    return Ok(());
                }
                left[part] = false;
                // Nobody is left to hear it when the page asks for another corpus.
                if !tell((part, read(part))) {
                    return Ok(());
                }
            }
        });
        Loading { parts, wanted, errand }
    }

    /// Asks for a part before the others.
    pub(super) fn want(&self, part: usize) {
        self.wanted.store(part, Ordering::Relaxed);
    }

    /// The answers that have come, and true once that is all.
    pub(super) fn take(&mut self) -> (Vec<(usize, T)>, bool) {
        // Ask first whether the thread has ended: all that it sent before is then there.
        self.errand.look();
        let ended = !self.errand.waiting();
        (self.parts.try_iter().collect(), ended)
    }
}

impl Loading<PartSlot> {
    /// Reads the parts that the catalogue is without.
    pub(super) fn start(index: Arc<CorpusIndex>, catalogue: &Catalogue, desk: &Desk<'_>) -> Loading<PartSlot> {
        let left = (0..catalogue.parts()).map(|part| matches!(catalogue.slot(part), PartSlot::Unread)).collect();
        Loading::begin(desk, "read the table", left, (None, true), move |part| match part_of(&index, part) {
            Ok(read) => PartSlot::Read(Arc::new(read)),
            Err(error) => {
                let path = index.path(part).unwrap_or(Path::new(""));
                PartSlot::Damaged(without_folder(chain(error), path).into())
            }
        })
    }

    /// Takes in the answers that have come; true once that is all.
    pub(crate) fn take_into(&mut self, catalogue: &mut Catalogue) -> bool {
        let (parts, ended) = self.take();
        for (part, slot) in parts {
            catalogue.take(part, slot);
        }
        if ended && !catalogue.is_complete() {
            let fault =
                self.errand.error().cloned().unwrap_or_else(|| {
                    Word("读取表格的线程已结束", "the thread that reads the table has ended").into()
                });
            for part in 0..catalogue.parts() {
                if matches!(catalogue.slot(part), PartSlot::Unread) {
                    catalogue.take(part, PartSlot::Damaged(fault.clone().into()));
                }
            }
        }
        ended
    }
}

/// A fault that names the file by its last two names alone: a line of the table has no room for more.
fn without_folder(fault: Message, path: &Path) -> Message {
    let folder = path.parent().and_then(Path::parent).map(|folder| format!("{}/", folder.display()));
    let Some(folder) = folder.filter(|folder| folder.len() > 1) else { return fault };
    let [zh, en] = [fault.zh, fault.en].map(|text| text.replace(&folder, ""));
    Message { zh, en }
}

/// The time of a file's last change.
fn written_at(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

fn part_of(index: &CorpusIndex, part: usize) -> Result<CataloguePart> {
    let path = index.path(part)?;
    let mut columns = vec!["doc_id", "published_at", "codes", "kind", "title"];
    columns.extend(index.cleaned.then_some(FIRST));
    let frame = frames::read_parquet(path, Some(&columns))?;
    // A damaged table of links is named by the run and by `store verify`; the list then has the given codes.
    let links = index.files[part].links.as_ref().and_then(|(links, _)| links_of_part(links).ok()).unwrap_or_default();
    columns_of(&frame, &links, index.cleaned).with_context(|| message!("在 {} 中", "in {}", path.display()))
}

fn columns_of(frame: &DataFrame, links: &[Link], cleaned: bool) -> Result<CataloguePart> {
    let text = |name: &str| Ok::<_, anyhow::Error>(corpus::column(frame, name)?.str()?.clone());
    let [ids, codes, kinds, titles] = [text("doc_id")?, text("codes")?, text("kind")?, text("title")?];
    let first = if cleaned { Some(text(FIRST)?) } else { None };
    let times = corpus::times_of(frame, "published_at")?;
    let mut gathering = Gathering::default();
    for (i, time) in times.into_iter().enumerate() {
        let id = ids.get(i).unwrap_or_default();
        let first = first.as_ref().and_then(|first| first.get(i)).filter(|first| *first != id);
        let linked = codes_of(links, i as u32).iter().map(Code::as_str).collect::<Vec<_>>().join(",");
        let row = CatalogueRow {
            time: time.unwrap_or_default().and_utc().timestamp_micros(),
            codes: if linked.is_empty() { codes.get(i).unwrap_or_default() } else { &linked },
            kind: kinds.get(i).and_then(Kind::parse).unwrap_or_default(),
            title: titles.get(i).unwrap_or_default(),
            repeats: first.is_some(),
        };
        ensure!(
            gathering.push(row, hash(id), first.map(hash)),
            "一份的标题超过 4 GiB",
            "the titles of one part are longer than 4 GiB"
        );
    }
    Ok(gathering.end())
}

/// The hash by which the table knows a document's id.
pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// A time of the catalogue.
pub(super) fn time_of(micros: i64) -> NaiveDateTime {
    chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default().naive_utc()
}
