//! The text of each document as a feature's model reads it: title and body, names masked and cut as the feature says.

use std::ops::Range;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;

use super::set::row_keys;
use super::{Feature, Gate, Inputs, Model, VERSION};
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Key};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_corpus::clean::{CleanDocument, clean_of_part};
use inkstone_corpus::link::{Link, TextField, codes_of, links_of_part, mask, name_spans};
use inkstone_corpus::structure::{Sentence, sentences_of_part};
use inkstone_corpus::truncate::{Pick, combine};
use inkstone_models::Fields;
use inkstone_store::Rows;
use inkstone_text::Segmenter;

/// Stands where a name was masked. Not a word of any text, and cut as one token by every mode.
pub(crate) const MASKED: &str = "\u{25cc}";

/// One document as a model reads it.
#[derive(Clone, Default)]
pub(crate) struct ReadDocument {
    /// Key of `text`, and of everything that gate, windows, sentences and draws add to it.
    pub(crate) key: Key,
    /// `None` for a document that the feature does not read, and where truncation keeps nothing.
    pub(crate) text: Option<String>,
    /// The reason for which the feature's gate does not admit the document.
    pub(crate) shut_out: Option<&'static str>,
    /// Bytes of `text` that are the title, the line break behind it not included.
    pub(crate) title: usize,
    /// The text and weight of each window, where a strategy has windows; `text` is then the whole.
    pub(crate) windows: Vec<(String, f64)>,
    /// The sentences of `text`, for contextual models, which count their own tokens.
    pub(crate) sentences: Vec<Sentence>,
    /// Random number of the document, from which strategies of chance draw.
    pub(crate) draw: u64,
    pub(crate) published_at: NaiveDateTime,
    /// Id of the first mention of its story; its own id where it is the first.
    pub(crate) first_mention: String,
    pub(crate) doc_id: String,
    pub(crate) codes: Vec<Code>,
    /// The label or rating that the feature's model learns, as it was written.
    pub(crate) target: Option<String>,
}

impl ReadDocument {
    /// The reason why a document without text is not read.
    pub(crate) fn reason(&self) -> &'static str {
        self.shut_out.unwrap_or("of a kind that is not read")
    }

    /// Title and body; `None` as for `text`.
    pub(crate) fn fields(&self) -> Option<Fields<'_>> {
        let (title, body) = self.text.as_deref()?.split_at(self.title);
        Some(Fields { title, body })
    }

    /// The number of its story, below 2^63.
    pub(crate) fn story(&self) -> u64 {
        u64::from_le_bytes(Key::of(self.first_mention.as_bytes()).0[..8].try_into().expect("eight of sixteen bytes"))
            >> 1
    }
}

/// Reads the documents of a corpus as a feature's model reads them.
pub(crate) struct CorpusReader<'a> {
    pub(crate) feature: &'a Feature,
    /// With the texts that the feature reads.
    pub(crate) inputs: Inputs<'a>,
    pub(crate) segmenter: Segmenter,
    pub(crate) gate: Gate,
    pub(crate) ctx: &'a Ctx,
}

impl<'a> CorpusReader<'a> {
    /// A reader with the segmenter that `[tokenizer]` names.
    pub(crate) fn new(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<CorpusReader<'a>> {
        let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
        CorpusReader::with_segmenter(feature, inputs, segmenter, ctx)
    }

    /// A reader with a segmenter of the feature's own.
    pub(crate) fn with_segmenter(
        feature: &'a Feature,
        inputs: &'a Inputs<'a>,
        segmenter: Segmenter,
        ctx: &'a Ctx,
    ) -> Result<CorpusReader<'a>> {
        ensure!(
            !segmenter.is_undated(),
            "[tokenizer] labeller 没有说明训练文本截至何时，用它切出的词算出的值会显得过早已知：请重新训练，给出带时间的行，或 --fitted-until",
            "[tokenizer] labeller does not say how far the text reaches that it was trained on, and a value made of its words would be known before its time: train it again on lines with times, or with --fitted-until"
        );
        let inputs = inputs.read_by(feature)?;
        let gate = Gate::of_feature(feature, &inputs, ctx)
            .with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
        Ok(CorpusReader { feature, inputs, segmenter, gate, ctx })
    }

    /// The documents of part `i`, in order.
    pub(crate) fn part(&self, i: usize) -> Result<Vec<ReadDocument>> {
        let (reader, docs) = self.open_part(i)?;
        let read = |(row, (doc, sentences))| reader.read(doc, row as u32, sentences);
        Ok(self.ctx.install(|| docs.into_par_iter().enumerate().map(read).collect()))
    }

    /// Gives the documents of each part to `work`, part after part.
    pub(crate) fn for_each_part(&self, mut work: impl FnMut(&[ReadDocument]) -> Result<()>) -> Result<()> {
        (0..self.inputs.clean.files()?.len()).try_for_each(|i| work(&self.part(i)?))
    }

    /// Key of everything that the documents of part `i` are read from. `None` where that is more than the files of the part: the features
    /// of a gate's condition, or rewritten texts.
    pub(crate) fn source_of(&self, i: usize) -> Result<Option<Key>> {
        if !self.gate.is_open() || self.inputs.rewrite.is_some() {
            return Ok(None);
        }
        let needs_sentences = self.feature.needs().sentences;
        let sentences = needs_sentences.then(|| disk::key_of(&self.inputs.sentences.path(i))).transpose()?;
        let files = (disk::key_of(&self.inputs.clean.path(i))?, disk::key_of(&self.inputs.links.path(i))?, sentences);
        let settings = (VERSION, self.feature.identity(), self.segmenter.key(), self.ctx.seed());
        Ok(Some(Key::of_json(&(files, settings))))
    }

    /// The document in this part and row.
    pub(crate) fn document(&self, (part, row): (usize, usize)) -> Result<ReadDocument> {
        let (reader, docs) = self.open_part(part)?;
        let document = docs.into_iter().nth(row);
        let (doc, sentences) = document.with_context(|| {
            message!("语料第 {part} 份没有第 {row} 行", "part {part} of the corpus has no row {row}")
        })?;
        Ok(reader.read(doc, row as u32, sentences))
    }

    /// The documents of part `i`, each with its sentences where the feature needs them.
    fn open_part(&self, i: usize) -> Result<(PartReader<'_>, Vec<(CleanDocument, Vec<Sentence>)>)> {
        let docs = clean_of_part(&self.inputs.clean.path(i))?;
        let links = links_of_part(&self.inputs.links.path(i))?;
        let sentences = match self.feature.needs().sentences {
            true => sentences_of_part(&self.inputs.sentences.path(i))?,
            false => vec![Vec::new(); docs.len()],
        };
        ensure!(
            sentences.len() == docs.len(),
            "第 {i} 份的句子属于 {} 篇文档，而该份有 {} 篇：请重新运行",
            "the sentences of part {i} are of {} documents, the part has {}: run again",
            sentences.len(),
            docs.len()
        );
        let reader = PartReader { corpus: self, part: i, links };
        Ok((reader, docs.into_iter().zip(sentences).collect()))
    }
}

/// Dense rows of a part; `row` gives the values of a text, which are NaN for a document that is not read.
pub(crate) fn dense_rows(
    reader: &CorpusReader<'_>,
    documents: &[ReadDocument],
    dim: usize,
    row: impl Fn(&str, &mut [f32]) + Sync,
) -> Rows {
    let over = reader.feature.truncate.over().unwrap_or_default();
    let mut data = vec![f32::NAN; documents.len() * dim];
    reader.ctx.install(|| {
        data.par_chunks_mut(dim).zip(documents).for_each(|(out, document)| match &document.text {
            Some(text) if document.windows.is_empty() => row(text, out),
            Some(_) => {
                let mut rows = vec![f32::NAN; document.windows.len() * dim];
                rows.chunks_mut(dim).zip(&document.windows).for_each(|(out, (text, _))| row(text, out));
                let weights = document.windows.iter().map(|window| window.1);
                let windows: Vec<(&[f32], f64)> = rows.chunks(dim).zip(weights).collect();
                combine(over, &windows, out);
            }
            None => {}
        });
    });
    Rows::dense(row_keys(documents), dim, data)
}

/// Reads the documents of a part.
struct PartReader<'a> {
    corpus: &'a CorpusReader<'a>,
    /// Number of the part.
    part: usize,
    links: Vec<Link>,
}

impl PartReader<'_> {
    fn read(&self, doc: CleanDocument, row: u32, sentences: Vec<Sentence>) -> ReadDocument {
        let document = &doc.document;
        let CorpusReader { feature, gate, .. } = self.corpus;
        let codes = codes_of(&self.links, row);
        let lacks_text = self.corpus.inputs.rewrite.is_some() && document.body.is_empty();
        let shut_out = match gate.is_open() || !feature.reads(document.kind) {
            true => None,
            false => gate.admit(&doc, codes.clone(), (self.part, row as usize)).err(),
        };
        let shut_out = shut_out.or((lacks_text && feature.reads(document.kind)).then_some("without a rewritten text"));
        let mut read = ReadDocument {
            key: Key::default(),
            text: None,
            shut_out,
            title: 0,
            windows: Vec::new(),
            sentences,
            draw: draw_of(self.corpus.ctx.seed(), &document.doc_id),
            published_at: document.published_at,
            codes,
            first_mention: doc.first_mention.clone(),
            doc_id: document.doc_id.clone(),
            target: feature.target.text_of(document).map(str::to_owned),
        };
        if feature.reads(document.kind) && shut_out.is_none() {
            let names = [TextField::Title, TextField::Body].map(|field| name_spans(&self.links, row, field));
            let names = [&names[0][..], &names[1][..]];
            if feature.masks_names() {
                shift(&mut read.sentences, document.title.len(), names);
            }
            self.cut(&mut read, masked_text(document, names, feature));
        }
        read.key = self.key(&read);
        read
    }

    /// Key of the text, of whether the gate admits it and, where the model itself applies the strategy, of everything that the strategy
    /// chooses by.
    fn key(&self, read: &ReadDocument) -> Key {
        let text = read.text.as_deref().unwrap_or_default().as_bytes();
        let mut chosen_by: Vec<u8> = Vec::new();
        for (text, weight) in &read.windows {
            chosen_by.extend_from_slice(Key::of(text.as_bytes()).0.as_slice());
            chosen_by.extend_from_slice(&weight.to_le_bytes());
        }
        if read.text.is_some() {
            for Sentence { range, section, boilerplate, salience } in &read.sentences {
                let numbers = [range.start, range.end, *section as u32, u32::from(*boilerplate)];
                let salience = [salience.tfidf, salience.textrank, salience.novelty].map(f32::to_bits);
                chosen_by.extend(numbers.iter().chain(&salience).flat_map(|number| number.to_le_bytes()));
            }
        }
        if matches!(self.corpus.feature.truncate.pick, Pick::Random(_)) && self.corpus.feature.model == Model::Onnx {
            chosen_by.extend_from_slice(&read.draw.to_le_bytes());
        }
        // A document without text has another row if it is read.
        if read.shut_out.is_some() {
            chosen_by.extend_from_slice(b"shut out");
        }
        if chosen_by.is_empty() { Key::of(text) } else { Key::of_parts([text, &chosen_by]) }
    }

    /// Cuts a text as the feature's strategy says.
    fn cut(&self, read: &mut ReadDocument, whole: String) {
        let strategy = &self.corpus.feature.truncate;
        let title_end = whole.find('\n').unwrap_or(0);
        // A contextual model cuts its own tokens.
        if self.corpus.feature.model == Model::Onnx {
            read.title = title_end;
            read.text = Some(whole);
            return;
        }
        let kept = strategy.keep(&whole, &self.corpus.segmenter, &read.sentences, read.draw);
        if strategy.over().is_some() {
            read.windows = kept.iter().map(|window| (join(&whole, &window.bytes), window.weight)).collect();
            read.title = title_end;
            // Where nothing is kept nothing is read.
            read.text = (!read.windows.is_empty() || whole.trim().is_empty()).then_some(whole);
        } else if let Some(kept) = kept.first() {
            read.title = title_length(&kept.bytes, title_end);
            read.text = Some(join(&whole, &kept.bytes));
        } else if whole.trim().is_empty() {
            read.text = Some(String::new());
        }
        read.sentences = Vec::new();
    }
}

/// Random number of a document: a hash of seed and id.
pub fn draw_of(seed: u64, doc_id: &str) -> u64 {
    let key = Key::of_parts([seed.to_le_bytes().as_slice(), doc_id.as_bytes()]);
    u64::from_le_bytes(key.0[..8].try_into().expect("eight of sixteen bytes"))
}

/// Moves sentences to their places in the masked text. `title` = bytes of the title before masking.
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
pub(crate) fn masked_text(document: &Document, names: [&[Range<usize>]; 2], feature: &Feature) -> String {
    let part = |text: &str, names: &[Range<usize>]| {
        if feature.masks_names() { mask(text, names, MASKED) } else { text.to_owned() }
    };
    part(&document.title, names[0]) + "\n" + &part(&document.body, names[1])
}

/// Bytes of the joined parts that lie before `end` of the whole text, where its title ends.
fn title_length(kept: &[Range<usize>], end: usize) -> usize {
    let within = kept.iter().filter(|range| range.start < end).map(|range| range.end.min(end) - range.start);
    // A line break joins the parts.
    within.reduce(|title, part| title + 1 + part).unwrap_or(0)
}

/// The parts of the text that a truncation keeps, joined by a line break so that no token spans the gap.
pub(crate) fn join(text: &str, kept: &[Range<usize>]) -> String {
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
            assert_eq!(&join(text, &kept)[..title_length(&kept, 4)], title, "{kept:?}");
        }
    }
}
