//! What a model reads of each document: title and body, names masked and cut as the feature says.

use std::ops::Range;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;

use crate::clean::{CleanDocument, clean_from_frame};
use crate::corpus::Parts;
use crate::data::{Document, Key};
use crate::disk;
use crate::extract::{Feature, Model};
use crate::job::Ctx;
use crate::link::{Field, Link, codes_of, links_of_part, mask, name_spans};
use crate::market::Code;
use crate::model::Fields;
use crate::store::Rows;
use crate::text::{Segmenter, Truncation, truncate_text};

/// What stands where a name was. Not a word of any text, and cut as one token by every mode.
pub(super) const MASKED: &str = "\u{25cc}";

/// One document as a model reads it.
pub(super) struct Reading {
    /// Key of `text`.
    pub(super) key: Key,
    /// What is read; `None` for a document of a kind that the feature does not read.
    pub(super) text: Option<String>,
    /// Bytes of `text` that are the title, the line break behind it not included.
    pub(super) title: usize,
    /// When it became public.
    pub(super) published_at: NaiveDateTime,
    /// Id of the first mention of its story; its own when it is one.
    pub(super) first_mention: String,
    /// Its own id.
    pub(super) doc_id: String,
    /// The securities that it speaks of.
    pub(super) codes: Vec<Code>,
}

impl Reading {
    /// What is read of title and body; `None` as for `text`.
    pub(super) fn fields(&self) -> Option<Fields<'_>> {
        let (title, body) = self.text.as_deref()?.split_at(self.title);
        Some(Fields { title, body })
    }
}

/// The documents of part `i`, in order.
pub(super) fn read_part(
    clean: &Parts,
    links: &Parts,
    i: usize,
    feature: &Feature,
    segmenter: &Segmenter,
    ctx: &Ctx,
) -> Result<Vec<Reading>> {
    let docs = clean_from_frame(&disk::read_parquet(&clean.path(i), None)?)
        .with_context(|| format!("cannot use {}", clean.path(i).display()))?;
    let links = links_of_part(&links.path(i))?;
    let one = |(row, doc): (usize, CleanDocument)| reading(doc, row as u32, &links, feature, segmenter);
    Ok(ctx.install(|| docs.into_par_iter().enumerate().map(one).collect()))
}

/// The key under which the rows of a part are stored: which documents, and what is read of each.
pub(super) fn key_of(readings: &[Reading]) -> Key {
    Key::of_parts(readings.iter().flat_map(|r| [r.doc_id.as_bytes(), r.key.0.as_slice()]))
}

/// Dense rows of a part; `row` gives the values of a text, which are NaN for a document that is not read.
pub(super) fn dense_rows(readings: &[Reading], dim: usize, row: impl Fn(&str, &mut [f32]) + Sync, ctx: &Ctx) -> Rows {
    let mut data = vec![f32::NAN; readings.len() * dim];
    ctx.install(|| {
        data.par_chunks_mut(dim).zip(readings).for_each(|(out, reading)| {
            if let Some(text) = &reading.text {
                row(text, out);
            }
        });
    });
    Rows::dense(readings.iter().map(|r| r.key).collect(), dim, data)
}

fn reading(doc: CleanDocument, row: u32, links: &[Link], feature: &Feature, segmenter: &Segmenter) -> Reading {
    let mut title = 0;
    let text = feature.reads(doc.document.kind).then(|| {
        let names = [Field::Title, Field::Body].map(|field| name_spans(links, row, field));
        let whole = whole(&doc.document, [&names[0], &names[1]], feature);
        // A contextual model cuts its own tokens.
        let truncation = if feature.model == Model::Onnx { Truncation::None } else { feature.truncate };
        let kept = truncate_text(&whole, segmenter, &truncation, 0);
        title = title_of(&kept, whole.find('\n').unwrap_or(0));
        join(&whole, &kept)
    });
    Reading {
        key: Key::of(text.as_deref().unwrap_or_default().as_bytes()),
        text,
        title,
        published_at: doc.document.published_at,
        codes: codes_of(links, row),
        first_mention: doc.first_mention,
        doc_id: doc.document.doc_id,
    }
}

/// Title and body, a line each, names masked as the feature says; `names` are the spans in each.
pub(super) fn whole(document: &Document, names: [&[Range<usize>]; 2], feature: &Feature) -> String {
    let part = |text: &str, names: &[Range<usize>]| {
        if feature.masks_names() { mask(text, names, MASKED) } else { text.to_owned() }
    };
    part(&document.title, names[0]) + "\n" + &part(&document.body, names[1])
}

/// Bytes of the joined parts that lie before `end` of the whole text, where its title ends.
fn title_of(kept: &[Range<usize>], end: usize) -> usize {
    let within = kept.iter().filter(|range| range.start < end).map(|range| range.end.min(end) - range.start);
    // A line break joins the parts.
    within.reduce(|title, part| title + 1 + part).unwrap_or(0)
}

/// The parts of the text that a truncation keeps, joined by a line break so that no token spans the gap.
pub(super) fn join(text: &str, kept: &[Range<usize>]) -> String {
    kept.iter().map(|r| &text[r.clone()]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_ends_where_it_ends_in_what_is_kept() {
        let text = "abcd\nrest of it";
        for (kept, title) in [
            (vec![0..15], "abcd"),
            (vec![0..2, 10..15], "ab"),
            (vec![2..15], "cd"),
            (vec![6..15], ""),
            (vec![0..1, 2..3, 8..9], "a\nc"),
            (vec![], ""),
        ] {
            assert_eq!(&join(text, &kept)[..title_of(&kept, 4)], title, "{kept:?}");
        }
    }
}
