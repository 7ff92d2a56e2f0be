//! The text of each document as a model reads it: title and body, with names masked and the text cut as the feature says.

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use chrono::NaiveDateTime;
use rayon::prelude::*;

use crate::extract::{Feature, Inputs, Model};
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Key};
use inkstone_base::job::Ctx;
use inkstone_corpus::clean::{CleanDocument, clean_of_part};
use inkstone_corpus::link::{Field, Link, codes_of, links_of_part, mask, name_spans};
use inkstone_corpus::structure::{Sentence, sentences_of_part};
use inkstone_corpus::truncate::{Pick, combine};
use inkstone_models::Fields;
use inkstone_store::Rows;
use inkstone_text::Segmenter;

/// What stands where a name was. Not a word of any text, and cut as one token by every mode.
pub(super) const MASKED: &str = "\u{25cc}";

/// One document as a model reads it.
pub(super) struct Reading {
    /// Key of what is read.
    pub(super) key: Key,
    /// What is read; `None` for a document of a kind that the feature does not read, and where truncation keeps nothing.
    pub(super) text: Option<String>,
    /// Bytes of `text` that are the title, the line break behind it not included.
    pub(super) title: usize,
    /// Where a strategy has windows, their texts, each with its weight; then `text` is the whole.
    pub(super) windows: Vec<(String, f64)>,
    /// The sentences of `text`, for contextual models, which count their own tokens.
    pub(super) sentences: Vec<Sentence>,
    /// The number that chance hangs on.
    pub(super) draw: u64,
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
    inputs: &Inputs<'_>,
    i: usize,
    feature: &Feature,
    segmenter: &Segmenter,
    ctx: &Ctx,
) -> Result<Vec<Reading>> {
    let docs = clean_of_part(&inputs.clean.path(i))?;
    let links = links_of_part(&inputs.links.path(i))?;
    let mut sentences = match feature.needs().sentences {
        true => sentences_of_part(&inputs.sentences.path(i))?,
        false => vec![Vec::new(); docs.len()],
    };
    ensure!(
        sentences.len() == docs.len(),
        "the sentences of part {i} are of {} documents, the part has {}: run again",
        sentences.len(),
        docs.len()
    );
    let reader = PartReader { links, feature, segmenter, seed: ctx.seed() };
    let one = |((row, doc), sentences): ((usize, CleanDocument), &mut Vec<Sentence>)| {
        reader.read(doc, row as u32, std::mem::take(sentences))
    };
    Ok(ctx.install(|| docs.into_par_iter().enumerate().zip(&mut sentences).map(one).collect()))
}

/// One document, by its part and row.
pub(super) fn read_one(
    inputs: &Inputs<'_>,
    (part, row): (usize, usize),
    feature: &Feature,
    segmenter: &Segmenter,
    ctx: &Ctx,
) -> Result<Reading> {
    let docs = clean_of_part(&inputs.clean.path(part))?;
    let links = links_of_part(&inputs.links.path(part))?;
    let mut sentences = match feature.needs().sentences {
        true => sentences_of_part(&inputs.sentences.path(part))?,
        false => Vec::new(),
    };
    let sentences = sentences.get_mut(row).map(std::mem::take).unwrap_or_default();
    let doc = docs.into_iter().nth(row).with_context(|| format!("part {part} of the corpus has no row {row}"))?;
    let reader = PartReader { links, feature, segmenter, seed: ctx.seed() };
    Ok(reader.read(doc, row as u32, sentences))
}

/// The key under which the rows of a part are stored: which documents, and what is read of each.
pub(super) fn key_of(readings: &[Reading]) -> Key {
    Key::of_parts(readings.iter().flat_map(|r| [r.doc_id.as_bytes(), r.key.0.as_slice()]))
}

/// Dense rows of a part; `row` gives the values of a text, which are NaN for a document that is not read.
pub(super) fn dense_rows(
    feature: &Feature,
    readings: &[Reading],
    dim: usize,
    row: impl Fn(&str, &mut [f32]) + Sync,
    ctx: &Ctx,
) -> Rows {
    let over = feature.truncate.over().unwrap_or_default();
    let mut data = vec![f32::NAN; readings.len() * dim];
    ctx.install(|| {
        data.par_chunks_mut(dim).zip(readings).for_each(|(out, reading)| match &reading.text {
            Some(text) if reading.windows.is_empty() => row(text, out),
            Some(_) => {
                let mut rows = vec![f32::NAN; reading.windows.len() * dim];
                rows.chunks_mut(dim).zip(&reading.windows).for_each(|(out, (text, _))| row(text, out));
                let weights = reading.windows.iter().map(|window| window.1);
                let windows: Vec<(&[f32], f64)> = rows.chunks(dim).zip(weights).collect();
                combine(over, &windows, out);
            }
            None => {}
        });
    });
    Rows::dense(readings.iter().map(|r| r.key).collect(), dim, data)
}

/// Reads the documents of a part.
struct PartReader<'a> {
    links: Vec<Link>,
    feature: &'a Feature,
    segmenter: &'a Segmenter,
    seed: u64,
}

impl PartReader<'_> {
    fn read(&self, doc: CleanDocument, row: u32, sentences: Vec<Sentence>) -> Reading {
        let document = &doc.document;
        let draw = draw_of(self.seed, &document.doc_id);
        let mut reading = Reading {
            key: Key::default(),
            text: None,
            title: 0,
            windows: Vec::new(),
            sentences,
            draw,
            published_at: document.published_at,
            codes: codes_of(&self.links, row),
            first_mention: doc.first_mention.clone(),
            doc_id: document.doc_id.clone(),
        };
        if self.feature.reads(document.kind) {
            let names = [Field::Title, Field::Body].map(|field| name_spans(&self.links, row, field));
            let names = [&names[0][..], &names[1][..]];
            if self.feature.masks_names() {
                shift(&mut reading.sentences, document.title.len(), names);
            }
            self.cut(&mut reading, whole(document, names, self.feature));
        }
        reading.key = self.key(&reading);
        reading
    }

    /// The key of what is read: of the text, or of all that a strategy chooses by where that is left to the model.
    fn key(&self, reading: &Reading) -> Key {
        let text = reading.text.as_deref().unwrap_or_default().as_bytes();
        let mut chosen_by: Vec<u8> = Vec::new();
        for (text, weight) in &reading.windows {
            chosen_by.extend_from_slice(Key::of(text.as_bytes()).0.as_slice());
            chosen_by.extend_from_slice(&weight.to_le_bytes());
        }
        if reading.text.is_some() {
            for Sentence { range, section, boilerplate, salience } in &reading.sentences {
                let numbers = [range.start, range.end, *section as u32, u32::from(*boilerplate)];
                let salience = [salience.tfidf, salience.textrank, salience.novelty].map(f32::to_bits);
                chosen_by.extend(numbers.iter().chain(&salience).flat_map(|number| number.to_le_bytes()));
            }
        }
        if matches!(self.feature.truncate.pick, Pick::Random(_)) && self.feature.model == Model::Onnx {
            chosen_by.extend_from_slice(&reading.draw.to_le_bytes());
        }
        if chosen_by.is_empty() { Key::of(text) } else { Key::of_parts([text, &chosen_by]) }
    }

    /// Keeps of a text what the feature's strategy does.
    fn cut(&self, reading: &mut Reading, whole: String) {
        let strategy = &self.feature.truncate;
        let title_end = whole.find('\n').unwrap_or(0);
        // A contextual model cuts its own tokens.
        if self.feature.model == Model::Onnx {
            reading.title = title_end;
            reading.text = Some(whole);
            return;
        }
        let kept = strategy.keep(&whole, self.segmenter, &reading.sentences, reading.draw);
        if strategy.over().is_some() {
            reading.windows = kept.iter().map(|window| (join(&whole, &window.bytes), window.weight)).collect();
            reading.title = title_end;
            // Where nothing is kept nothing is read.
            reading.text = (!reading.windows.is_empty() || whole.trim().is_empty()).then_some(whole);
        } else if let Some(kept) = kept.first() {
            reading.title = title_of(&kept.bytes, title_end);
            reading.text = Some(join(&whole, &kept.bytes));
        } else if whole.trim().is_empty() {
            reading.text = Some(String::new());
        }
        reading.sentences = Vec::new();
    }
}

/// The number that chance hangs on for a document.
pub fn draw_of(seed: u64, doc_id: &str) -> u64 {
    let key = Key::of_parts([seed.to_le_bytes().as_slice(), doc_id.as_bytes()]);
    u64::from_le_bytes(key.0[..8].try_into().expect("eight of sixteen bytes"))
}

/// Moves sentences to where they are once names are masked. `title` = bytes of the title before.
fn shift(sentences: &mut [Sentence], title: usize, names: [&[Range<usize>]; 2]) {
    let spans: Vec<Range<usize>> =
        names[0].iter().cloned().chain(names[1].iter().map(|s| s.start + title + 1..s.end + title + 1)).collect();
    let (mut next, mut moved) = (0, 0isize);
    let mut place = |at: u32| {
        while let Some(span) = spans.get(next).filter(|span| span.end <= at as usize) {
            moved += MASKED.len() as isize - span.len() as isize;
            next += 1;
        }
        // A border within a name is one before it.
        let at = spans.get(next).filter(|span| span.start < at as usize).map_or(at as usize, |span| span.start);
        (at as isize + moved) as u32
    };
    for sentence in sentences {
        let start = place(sentence.range.start);
        sentence.range = start..place(sentence.range.end);
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
    fn sentences_stay_where_they_are_when_names_are_masked() {
        use inkstone_corpus::structure::{Salience, Section};
        let (title, body) = ("瑞禾电气点评", "瑞禾电气订单增加。我们看好瑞禾电气。风险。");
        let names =
            |text: &str| text.match_indices("瑞禾电气").map(|(at, name)| at..at + name.len()).collect::<Vec<_>>();
        let names = [names(title), names(body)];
        let text = format!("{title}\n{body}");
        let mut at = 0;
        let mut sentences: Vec<Sentence> = ["瑞禾电气点评", "瑞禾电气订单增加。", "我们看好瑞禾电气。", "风险。"]
            .iter()
            .map(|sentence| {
                let start = at + text[at..].find(sentence).unwrap();
                at = start + sentence.len();
                let range = start as u32..at as u32;
                Sentence { range, section: Section::Body, boilerplate: false, salience: Salience::NONE }
            })
            .collect();
        shift(&mut sentences, title.len(), [&names[0], &names[1]]);
        let masked = mask(title, &names[0], MASKED) + "\n" + &mask(body, &names[1], MASKED);
        let found: Vec<&str> =
            sentences.iter().map(|s| &masked[s.range.start as usize..s.range.end as usize]).collect();
        assert_eq!(found, ["\u{25cc}点评", "\u{25cc}订单增加。", "我们看好\u{25cc}。", "风险。"]);
    }

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
