//! Labelled lines as numbers of labels and features.
//!
//! Lines are read once. All their tokens wait as numbers in a scratch file until it is known which are kept; a second has, for
//! each document, the number of its labels, these, and the rows of its features.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use memmap2::Mmap;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::lines::{Cutter, Line, Lines};
use crate::models::word_vectors::last_seen;
use crate::standalone::numbered::{END, FirstPass, NumberedChunk};
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Dictionary, FastTextParams, Samples, WordVectors};

/// Documents whose features are found at once.
const DOCUMENTS: usize = 1 << 13;
/// Labels named in the report at the most.
const NAMED: usize = 20;

/// Labels and features of each document.
pub(crate) struct Stored {
    map: Option<Mmap>,
    starts: Vec<usize>,
}

impl Stored {
    pub(crate) fn samples(&self) -> Samples<'_> {
        Samples::new(disk::numbers(self.map.as_ref()), &self.starts)
    }
}

/// Labelled documents, ready to be learned.
pub(crate) struct FastTextCorpus {
    pub(crate) dictionary: Dictionary,
    pub(crate) samples: Stored,
    pub(crate) documents: u64,
    pub(crate) fitted_until: Option<NaiveDateTime>,
    pub(crate) report: Report,
}

/// The labels of a line with their prefix, and its text without them.
pub(crate) fn parted<'l>(line: &'l Line<'_>, prefix: &str) -> (Vec<Cow<'l, str>>, Cow<'l, str>) {
    let fields = line.label.iter().chain(&line.labels).map(|label| label.trim()).filter(|label| !label.is_empty());
    let mut labels: Vec<Cow<'l, str>> = fields
        .map(|label| if label.starts_with(prefix) { label.into() } else { format!("{prefix}{label}").into() })
        .collect();
    let mut text = line.whole();
    if text.contains(prefix) {
        let (mut own, mut rest) = (Vec::new(), Vec::new());
        for word in text.split_ascii_whitespace() {
            let to = if word.starts_with(prefix) { &mut own } else { &mut rest };
            to.push(word);
        }
        labels.extend(own.into_iter().map(|label| Cow::Owned(label.to_owned())));
        text = Cow::Owned(rest.join(" "));
    }
    (labels, text)
}

impl FastTextCorpus {
    pub(crate) fn read(
        lines: &mut Lines,
        cutter: &Cutter,
        params: &FastTextParams,
        pretrained: Option<&WordVectors>,
        beside: &Path,
        ctx: &Ctx,
    ) -> Result<FastTextCorpus> {
        let (all, mut report) = FirstPass::read(lines, beside, ctx, |chunk| {
            ctx.check()?;
            Ok(number(chunk, cutter, &params.label))
        })?;
        let (documents, fitted_until) = (all.documents, last_seen(all.last, pretrained));
        report.fact("fitted_until", fitted_until);
        let names = all.words();
        let mut dictionary = dictionary(&names, &all, params, pretrained)?;
        let once = dictionary.labels().iter().zip(dictionary.label_counts()).filter(|(_, count)| **count == 1);
        let once: Vec<&str> = once.map(|(label, _)| &**label).take(NAMED).collect();
        report.fact("vocabulary", dictionary.words().len());
        report.fact("labels", dictionary.labels().len());
        if !once.is_empty() {
            report.fact("labels_of_one_document", once);
        }
        let (samples, unlabelled) = samples(all, &names, &mut dictionary, params, beside, ctx)?;
        report.fact("documents_without_label", unlabelled);
        Ok(FastTextCorpus { dictionary, samples, documents, fitted_until, report })
    }
}

/// Labels and terms of some documents as numbers, each document followed by [`END`].
fn number(lines: &[Line<'_>], cutter: &Cutter, prefix: &str) -> NumberedChunk {
    let mut chunk = NumberedChunk::default();
    let mut known: FxHashMap<Box<str>, u32> = FxHashMap::default();
    for line in lines {
        let (labels, text) = parted(line, prefix);
        labels.iter().chain(&cutter.terms(&text)).for_each(|name| chunk.push(name, &mut known));
        chunk.numbers.push(END);
    }
    chunk
}

/// The words and labels that are kept, and the words that only pretrained vectors have.
fn dictionary(
    names: &[Box<str>],
    all: &FirstPass,
    params: &FastTextParams,
    pretrained: Option<&WordVectors>,
) -> Result<Dictionary> {
    let counted = names.iter().cloned().zip(all.counts.iter().copied());
    let (labels, mut words): (Vec<_>, Vec<_>) = counted.partition(|(name, _)| name.starts_with(&*params.label));
    let met = (labels.len(), words.len());
    // Every line has an end, which is a word.
    words.push((inkstone_models::END_OF_LINE.into(), all.documents));
    words.retain(|(_, count)| *count >= params.min_count);
    let labels: Vec<_> = labels.into_iter().filter(|(_, count)| *count >= params.min_count_label).collect();
    ensure!(
        met.0 > 0,
        "没有一行有标签：请以 {} 开头的词元作标签，或在 JSON 行中写 \"label\" 或 \"labels\"（--format jsonl）",
        "no line has a label: begin tokens with {}, or give JSON lines a \"label\" or \"labels\" (--format jsonl)",
        params.label
    );
    ensure!(
        labels.len() > 1,
        "{1} 个标签中有 {0} 个出现至少 {2} 次，至少要两个才有可学的：请降低 --min-count-label，或提供其他文本",
        "{} of {} labels occur at least {} times, and there is something to learn from two on: lower --min-count-label, or give other text",
        labels.len(),
        met.0,
        params.min_count_label
    );
    let own = |word: &(Box<str>, u64)| &*word.0 != inkstone_models::END_OF_LINE;
    ensure!(
        words.iter().any(own),
        "{2} 篇文档的 {0} 个词中没有一个出现至少 {1} 次：请降低 --min-count，或提供更多文本",
        "none of {} words occurs at least {} times in {} documents: lower --min-count, or give more text",
        met.1,
        params.min_count,
        all.documents
    );
    if let Some(vectors) = pretrained {
        let known: rustc_hash::FxHashSet<&str> = words.iter().map(|(word, _)| &**word).collect();
        let more: Vec<_> =
            vectors.words().iter().filter(|word| !known.contains(&***word)).map(|word| (word.clone(), 0)).collect();
        words.extend(more);
    }
    Dictionary::new(words, labels, all.counts.iter().sum::<u64>() + all.documents, params)
}

/// The labels and features of each document; also the number of documents without a label that is kept.
fn samples(
    all: FirstPass,
    names: &[Box<str>],
    dictionary: &mut Dictionary,
    params: &FastTextParams,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(Stored, u64)> {
    let map = all.scratch.map()?;
    let numbers: &[u32] = disk::numbers(map.as_ref());
    // After the last END there is no document.
    let mut rest = numbers.split(|&number| number == END).take(all.documents as usize);
    let mut scratch = Scratch::beside(beside)?;
    let (mut starts, mut unlabelled) = (vec![0], 0);
    loop {
        let documents: Vec<&[u32]> = rest.by_ref().take(DOCUMENTS).collect();
        if documents.is_empty() {
            return Ok((Stored { map: scratch.map()?, starts }, unlabelled));
        }
        let known: &Dictionary = dictionary;
        let found: Vec<(usize, Vec<u32>)> = ctx.install(|| {
            let found = documents.par_iter().map(|document| {
                let (labels, words): (Vec<&str>, Vec<&str>) = document
                    .iter()
                    .map(|&number| &*names[number as usize])
                    .partition(|name| name.starts_with(&*params.label));
                let mut sample = vec![0];
                sample.extend(labels.into_iter().filter_map(|label| known.label(label)));
                let labels = sample.len() - 1;
                sample[0] = labels as u32;
                known.numbers_of(&words, &mut sample);
                (labels, sample)
            });
            found.collect()
        });
        for (labels, mut sample) in found {
            if labels == 0 || sample.len() == labels + 1 {
                unlabelled += u64::from(labels == 0);
                continue;
            }
            dictionary.meet(&mut sample[1 + labels..]);
            scratch.write(bytemuck::cast_slice(&sample))?;
            starts.push(starts[starts.len() - 1] + sample.len());
        }
        ctx.check()?;
    }
}
