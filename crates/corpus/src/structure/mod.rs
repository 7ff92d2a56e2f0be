//! Structure: the sentences of every document with their section, boilerplate and salience.
//!
//! The stage stands between linking and extraction; part `i` has the documents of part `i` of the clean corpus. Offsets are bytes into the
//! clean title, a line break and the clean body, half-open, on character boundaries: the text that features read and truncation cuts.
//!
//! Boilerplate is a sentence that recurs in a publisher's documents (`learn.rs`), in one normal form (`form.rs`). Only sentences known as such
//! strictly before a document was published are marked in it, and measures of salience know only documents published strictly before; so
//! that later documents change nothing, in whatever order the parts have them.
//!
//! A title is never boilerplate, nor is a rating: a house that writes 维持“买入”评级 in the same words each time still says it.
//!
//! Useful for: choosing what of a long document a model reads. Not for: the meaning of a sentence.

mod cues;
mod decisions;
mod form;
mod headings;
mod learn;
mod list;
mod mark;
mod outline;
mod params;
mod past;
mod section;
mod table;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

use crate::clean::{CleanDocument, clean_of_part};
use inkstone_base::data::{Document, Report};
use inkstone_base::disk::Scratch;
use inkstone_base::job::Ctx;
use inkstone_tables::corpus::Parts;
use inkstone_tables::project::boilerplate_of;
use inkstone_text::TokenizerParams;

use form::{Former, names_of};
use learn::{Gathered, told_apart};
use mark::{Marked, Marker};
use outline::outlined;
use past::{Measurer, SentenceRecords};

pub use decisions::Decisions;
pub use list::{Boilerplate, Status, decide, read_list};
pub use mark::ids_of;
pub use outline::outline;
pub use params::{Measure, Params};
pub use section::Section;
pub use table::{Salience, Sentence, sentences_of_part};

/// Publishers whose share of boilerplate the report names.
const NAMED: usize = 10;

/// Finds the structure of the documents of `clean`; part `i` of `out` has a list of sentences for each document of part `i`, and the list
/// of boilerplate is written beside the parts. Paths in the parameters are relative to `base`.
///
/// Two passes over the parts: the first gathers the sentences in scratch files beside the parts; the second marks and writes.
pub fn run(
    clean: &Parts,
    out: &Parts,
    params: &Params,
    tokenizer: &TokenizerParams,
    base: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    params.check()?;
    let decisions = match &params.decisions {
        Some(path) => Decisions::read(&base.join(path))?,
        None => Decisions::default(),
    };
    let files = clean.files()?;
    let scratch = || Scratch::within(out.folder());
    let mut gathered = Gathered::new(scratch()?);
    let mut records = match Measurer::new(params, tokenizer, base)? {
        Some(measurer) => Some(SentenceRecords::new(measurer, scratch()?)),
        None => None,
    };
    for (part, file) in (0..).zip(&files) {
        let docs = clean_of_part(file)?;
        let measurer = records.as_ref().map(SentenceRecords::measurer);
        let found = each(&docs, 0, ctx, |_, doc| Ok(gather(doc, params, measurer)))?;
        for (row, (doc, (hashes, record))) in (0..).zip(docs.iter().zip(found)) {
            let time = doc.document.published_at;
            if let Some(hashes) = hashes {
                gathered.push(publisher_of(&doc.document), time, (part, row), hashes)?;
            }
            if let Some(records) = &mut records {
                records.push(time, &record)?;
            }
        }
    }
    let learned = gathered.learn(params, ctx)?;
    let measured = match records {
        Some(records) => Some(records.measure(scratch()?, ctx)?),
        None => None,
    };
    let mut marker = Marker::new(learned, decisions, params);
    let mut counts = StructureCounts::default();
    for (part, file) in (0..).zip(&files) {
        let docs = clean_of_part(file)?;
        let first = counts.documents as usize;
        let marked = each(&docs, 1, ctx, |row, doc| {
            let mut marked = marker.mark(doc, (part, row as u32))?;
            if let Some(measured) = &measured {
                let figures =
                    |(i, sentence): (usize, &mut Sentence)| sentence.salience = measured.salience(first + row, i);
                marked.sentences.iter_mut().enumerate().for_each(figures);
            }
            Ok(marked)
        })?;
        let mut sentences = Vec::with_capacity(docs.len());
        for (doc, Marked { sentences: of_document, firsts }) in docs.iter().zip(marked) {
            counts.add(publisher_of(&doc.document), &of_document);
            marker.note(firsts);
            sentences.push(of_document);
        }
        out.write(part as usize, &mut table::sentences_to_frame(&sentences)?)?;
    }
    out.truncate(files.len())?;
    let mut list = marker.list();
    list::write(&boilerplate_of(out), &mut list)?;
    let mut report = Report::new("structure");
    counts.tell(&mut report);
    marker.tell(&list, &mut report);
    if let Some(collisions) = measured.and_then(|measured| measured.collisions) {
        report.fact("novelty_collisions", collisions);
    }
    Ok(report)
}

/// Gives what `find` finds of each document of a part. Each document is read in two passes; the first counts the even rows as done, the
/// second the odd ones.
fn each<T: Send>(
    docs: &[CleanDocument],
    pass: usize,
    ctx: &Ctx,
    find: impl Fn(usize, &CleanDocument) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    ctx.install(|| {
        let one = |(row, doc): (usize, &CleanDocument)| {
            ctx.advance(u64::from(row % 2 == pass))?;
            find(row, doc)
        };
        docs.par_iter().enumerate().map(one).collect()
    })
}

/// Title and body as sentences are cut from them.
fn full_text(doc: &CleanDocument) -> String {
    [doc.document.title.as_str(), doc.document.body.as_str()].join("\n")
}

/// Publisher of a document: the organisation, or the source where none is named.
fn publisher_of(doc: &Document) -> &str {
    let org = doc.org.as_deref().map(str::trim).filter(|org| !org.is_empty());
    org.unwrap_or(&doc.source)
}

/// True if a sentence of this section can be boilerplate.
fn can_be_boilerplate(section: Section) -> bool {
    !matches!(section, Section::Title | Section::Rating)
}

/// The hashes of the sentences of a document that counts, and its record for the measures.
fn gather(doc: &CleanDocument, params: &Params, measurer: Option<&Measurer>) -> (Option<Vec<u64>>, Vec<u32>) {
    let text = full_text(doc);
    let sentences = outlined(&text, doc.document.title.len());
    let counts = doc.is_first() && params.learns(doc.document.kind);
    let hashes = counts.then(|| {
        let (names, mut former) = (names_of(&doc.document), Former::default());
        let some = sentences.iter().filter(|(_, section)| can_be_boilerplate(*section));
        let hash = |(range, section): &(Range<usize>, Section)| {
            Some(told_apart(former.hash(&text[range.clone()], &names, params.min_chars)?, *section))
        };
        some.filter_map(hash).collect()
    });
    let record = measurer.map(|measurer| {
        let sentences: Vec<&str> = sentences.iter().map(|(range, _)| &text[range.clone()]).collect();
        measurer.cut(&sentences)
    });
    (hashes, record.unwrap_or_default())
}

/// Numbers of the stage's report.
#[derive(Default)]
struct StructureCounts {
    documents: u64,
    sections: BTreeMap<Section, u64>,
    /// Sentences and boilerplate by publisher.
    publishers: BTreeMap<String, (u64, u64)>,
}

impl StructureCounts {
    fn add(&mut self, publisher: &str, sentences: &[Sentence]) {
        self.documents += 1;
        if !self.publishers.contains_key(publisher) {
            self.publishers.insert(publisher.to_owned(), (0, 0));
        }
        let of_publisher = self.publishers.get_mut(publisher).expect("it was put there");
        for sentence in sentences {
            *self.sections.entry(sentence.section).or_default() += 1;
            of_publisher.0 += 1;
            of_publisher.1 += u64::from(sentence.boilerplate);
        }
    }

    fn tell(&self, report: &mut Report) {
        (report.rows_in, report.rows_out) = (self.documents, self.documents);
        let sentences: u64 = self.sections.values().sum();
        report.fact("sentences", sentences);
        for section in Section::ALL {
            report.fact(&format!("sentences_{section}"), self.sections.get(&section).unwrap_or(&0));
        }
        let marked: u64 = self.publishers.values().map(|counts| counts.1).sum();
        report.fact("boilerplate_sentences", marked);
        report.fact("boilerplate_share", marked as f64 / sentences.max(1) as f64);
        let mut most: Vec<_> = self.publishers.iter().filter(|(_, counts)| counts.1 > 0).collect();
        most.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.1));
        let most = most.into_iter().take(NAMED).map(|(name, &(all, marked))| (name, marked as f64 / all as f64));
        report.fact("boilerplate_share_by_publisher", most.collect::<Vec<_>>());
    }
}
