//! The segments of all parts of the clean corpus, brought up to date with the parts that are new or have changed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Serialize;

use super::segment::Segment;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Room};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::lock::{self, Attempt, Lock};
use inkstone_base::message;
use inkstone_tables::corpus::Parts;
use inkstone_tables::project::Project;
use inkstone_text::{Segmenter, TokenizerParams};

/// Version of the format. An index of another version is made anew.
const VERSION: u32 = 1;

const EXTENSION: &str = "index";

/// The inverted index of a project's clean corpus.
pub struct SearchIndex {
    pub(super) segments: Vec<Segment>,
    /// Number of the first document of each part.
    pub(super) starts: Vec<u32>,
    pub(super) segmenter: Segmenter,
    pub state: IndexState,
}

/// The sizes of an index, and the parts of it that were made now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexState {
    pub documents: u64,
    /// Parts whose segments were made now, those of damaged files included.
    pub parts_made: usize,
    pub parts_kept: usize,
    /// Parts whose files were damaged.
    pub parts_damaged: usize,
    /// Bytes of text that were read to make segments.
    pub text_bytes_read: u64,
    /// Bytes of all segments.
    pub index_bytes: u64,
    /// False where new segments are in memory alone: another process was writing, or the folder cannot be written.
    pub kept_on_disk: bool,
}

impl SearchIndex {
    /// Opens the index, and makes the segments that are missing, damaged, or of parts that have changed.
    pub fn open(project: &Project, tokenizer: &TokenizerParams, base: &Path, ctx: &Ctx) -> Result<SearchIndex> {
        let segmenter = Segmenter::new(tokenizer, base)?;
        let clean = project.clean();
        let parts = clean.files()?.len();
        ensure!(
            parts > 0,
            "还没有可检索的文档：请先运行 inkstone clean",
            "there are no documents to search yet: run inkstone clean first"
        );
        let folder = project.search();
        let made_of =
            |part: usize| anyhow::Ok(Key::of_json(&(VERSION, disk::key_of(&clean.path(part))?, segmenter.key())));
        let sources: Vec<Key> = (0..parts).map(made_of).collect::<Result<_>>()?;
        let open = |part: usize| Segment::open(&place(&folder, part), sources[part]);
        let mut found: Vec<Option<Result<Segment>>> = ctx.install(|| (0..parts).into_par_iter().map(open).collect());
        let mut state = IndexState { kept_on_disk: true, ..IndexState::default() };
        state.parts_damaged = found.iter().filter(|segment| matches!(segment, Some(Err(_)))).count();
        let lacking = |found: &[Option<Result<Segment>>]| -> Vec<usize> {
            (0..parts).filter(|part| !matches!(found[*part], Some(Ok(_)))).collect()
        };
        if !lacking(&found).is_empty() {
            let lock = writer(project)?;
            // Another process may have made them while this one waited.
            for part in lacking(&found) {
                found[part] = open(part);
            }
            let wanted = lacking(&found);
            state.parts_made = wanted.len();
            state.kept_on_disk = lock.is_some();
            for (part, segment) in make(&wanted, &clean, &sources, &segmenter, lock.is_some().then_some(&*folder), ctx)?
            {
                state.text_bytes_read += segment.text_bytes;
                found[part] = Some(Ok(segment));
            }
            if lock.is_some() {
                drop_others(&folder, parts)?;
            }
        }
        state.parts_kept = parts - state.parts_made;
        let segments: Vec<Segment> = found
            .into_iter()
            .map(|segment| segment.context(Word("每一份都应有索引", "every part has a segment"))?)
            .collect::<Result<_>>()?;
        let mut starts = vec![0u32];
        for segment in &segments {
            starts.push(starts.last().copied().unwrap_or_default() + segment.len() as u32);
            state.index_bytes += segment.all().len() as u64;
        }
        state.documents = starts.pop().unwrap_or_default().into();
        Ok(SearchIndex { segments, starts, segmenter, state })
    }

    /// Part and row of a document.
    pub(super) fn place(&self, number: u32) -> (usize, usize) {
        let part = self.starts.partition_point(|start| *start <= number) - 1;
        (part, (number - self.starts[part]) as usize)
    }
}

fn place(folder: &Path, part: usize) -> PathBuf {
    folder.join(format!("part-{part:05}.{EXTENSION}"))
}

/// The lock of those who write segments; none where another process has it, and where the project's folder is not ours or cannot be written.
fn writer(project: &Project) -> Result<Option<Lock>> {
    let folder = &*project.search();
    if !disk::is_ours(project.dir(), Room::Project).unwrap_or(false) || disk::make_dir(folder).is_err() {
        return Ok(None);
    }
    match lock::take(&folder.join("lock"), "search") {
        Ok(Attempt::Ours(lock)) => {
            disk::sweep(folder)?;
            Ok(Some(lock))
        }
        Ok(Attempt::Theirs(_)) | Err(_) => Ok(None),
    }
}

/// Makes the segments of some parts, and writes them to `folder`, if there is one. They stay in memory until they are written.
fn make(
    wanted: &[usize],
    clean: &Parts,
    sources: &[Key],
    segmenter: &Segmenter,
    folder: Option<&Path>,
    ctx: &Ctx,
) -> Result<Vec<(usize, Segment)>> {
    let one = |part: usize| -> Result<(usize, Segment)> {
        ctx.check()?;
        let segment = Segment::make(&clean.path(part), sources[part], segmenter)?;
        ctx.advance(segment.len() as u64)?;
        let Some(folder) = folder else { return Ok((part, segment)) };
        let path = place(folder, part);
        disk::write_atomic(&path, |out| Ok(std::io::Write::write_all(out, segment.all())?))
            .with_context(|| message!("无法写入检索索引 {}", "cannot write the search index {}", path.display()))?;
        drop(segment);
        let kept = Segment::open(&path, sources[part])
            .context(Word("刚写的一段应可读", "a written segment can be read"))??;
        Ok((part, kept))
    };
    ctx.install(|| wanted.par_iter().map(|part| one(*part)).collect())
}

/// Removes the segments of parts that are no more.
fn drop_others(folder: &Path, parts: usize) -> Result<()> {
    let first = place(folder, parts);
    disk::files_in(folder, EXTENSION)?
        .iter()
        .filter(|file| **file >= first)
        .try_for_each(|file| disk::remove_if_there(file))
}
