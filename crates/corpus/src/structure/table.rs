//! Sentences on disk: one row for each, part by part as the clean documents.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};

use super::{Measure, Section};
use inkstone_tables::corpus::{column, texts_column, texts_of};
use inkstone_tables::frames;

use inkstone_base::{ensure, message};

/// A sentence of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    /// Bytes of the clean title, a line break, and the clean body; half-open, on character boundaries.
    pub range: Range<u32>,
    pub section: Section,
    /// True if it was known as boilerplate strictly before the document was published, and the user has not refused that.
    pub boilerplate: bool,
    pub salience: Salience,
}

/// Salience of a sentence against its document and the documents published strictly before. NaN for a measure that was not asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Salience {
    /// Mean over the sentence's terms of `ln((1 + n) / (1 + df)) + 1`, of the `n` documents published before; 0 without a term.
    pub tfidf: f32,
    /// TextRank among the document's sentences.
    pub textrank: f32,
    /// Share of the sentence's shingles of characters that no document of the days before had, 0 to 1.
    pub novelty: f32,
}

impl Salience {
    /// Salience of a sentence that was not measured.
    pub const NONE: Salience = Salience { tfidf: f32::NAN, textrank: f32::NAN, novelty: f32::NAN };

    pub fn by(&self, measure: Measure) -> f32 {
        match measure {
            Measure::Tfidf => self.tfidf,
            Measure::Textrank => self.textrank,
            Measure::Novelty => self.novelty,
        }
    }
}

/// Sentences as a frame: `row start end section boilerplate tfidf textrank novelty`, by document and place.
///
/// A document without a sentence has one row from 0 to 0, so that the table covers every document of the part.
pub(super) fn sentences_to_frame(documents: &[Vec<Sentence>]) -> Result<DataFrame> {
    let none = Sentence { range: 0..0, section: Section::Body, boilerplate: false, salience: Salience::NONE };
    let mut rows: Vec<(u32, &Sentence)> = Vec::new();
    for (row, sentences) in (0..).zip(documents) {
        rows.extend(sentences.iter().map(|sentence| (row, sentence)));
        if sentences.is_empty() {
            rows.push((row, &none));
        }
    }
    let numbers = |name: &str, get: &dyn Fn(&(u32, &Sentence)) -> u32| -> Column {
        Series::new(name.into(), rows.iter().map(get).collect::<Vec<u32>>()).into_column()
    };
    let scores = |name: &str, get: &dyn Fn(&Salience) -> f32| -> Column {
        Series::new(name.into(), rows.iter().map(|(_, s)| get(&s.salience)).collect::<Vec<f32>>()).into_column()
    };
    let boilerplate: Vec<bool> = rows.iter().map(|(_, s)| s.boilerplate).collect();
    frames::frame(vec![
        numbers("row", &|r| r.0),
        numbers("start", &|r| r.1.range.start),
        numbers("end", &|r| r.1.range.end),
        texts_column("section", rows.iter().map(|(_, s)| Some(s.section.name()))),
        Series::new("boilerplate".into(), boilerplate).into_column(),
        scores("tfidf", &|s| s.tfidf),
        scores("textrank", &|s| s.textrank),
        scores("novelty", &|s| s.novelty),
    ])
}

fn sentences_from_frame(frame: &DataFrame) -> Result<Vec<Vec<Sentence>>> {
    let number = |name: &str| -> Result<_> { Ok(column(frame, name)?.u32()?.clone()) };
    let score = |name: &str| -> Result<_> { Ok(column(frame, name)?.f32()?.clone()) };
    let [row, start, end] = [number("row")?, number("start")?, number("end")?];
    let [tfidf, textrank, novelty] = [score("tfidf")?, score("textrank")?, score("novelty")?];
    let section = texts_of(frame, "section")?;
    let boilerplate = column(frame, "boilerplate")?.bool()?;
    let mut documents: Vec<Vec<Sentence>> = Vec::new();
    for i in 0..frame.height() {
        let complete = || {
            let salience = Salience { tfidf: tfidf.get(i)?, textrank: textrank.get(i)?, novelty: novelty.get(i)? };
            Some((row.get(i)?, start.get(i)?..end.get(i)?, section.get(i)?, boilerplate.get(i)?, salience))
        };
        let found = complete()
            .with_context(|| message!("句子表第 {i} 行不完整", "row {i} of the table of sentences is incomplete"))?;
        let (row, range, section, boilerplate, salience) = found;
        let opens = row as usize == documents.len();
        ensure!(
            opens || row as usize + 1 == documents.len(),
            "句子表第 {i} 行属于文档 {row}，却排在文档 {} 之后",
            "row {i} of the table of sentences is of document {row}, behind one of document {}",
            documents.len().wrapping_sub(1)
        );
        if opens {
            documents.push(Vec::new());
        }
        if range.start < range.end {
            let sentence = Sentence { range, section: Section::parse(section)?, boilerplate, salience };
            documents[row as usize].push(sentence);
        }
    }
    Ok(documents)
}

/// The sentences of one part: a list for each document of the part, in order.
pub fn sentences_of_part(path: &Path) -> Result<Vec<Vec<Sentence>>> {
    sentences_from_frame(&frames::read_parquet(path, None)?)
        .with_context(|| message!("在 {} 中", "in {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_survive_the_way_to_disk_and_back_and_empty_documents_keep_their_place() {
        let sentence = |range: Range<u32>, section, boilerplate, novelty| Sentence {
            range,
            section,
            boilerplate,
            salience: Salience { tfidf: 1.5, textrank: 0.25, novelty },
        };
        let documents = vec![
            vec![],
            vec![sentence(0..12, Section::Title, false, 1.0), sentence(13..40, Section::Disclaimer, true, 0.0)],
            vec![],
            vec![sentence(1..4, Section::Body, false, 0.5)],
            vec![],
        ];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("part.parquet");
        frames::write_parquet(&path, &mut sentences_to_frame(&documents).unwrap()).unwrap();
        assert_eq!(sentences_of_part(&path).unwrap(), documents);
        frames::write_parquet(&path, &mut sentences_to_frame(&[]).unwrap()).unwrap();
        assert_eq!(sentences_of_part(&path).unwrap(), Vec::<Vec<Sentence>>::new());
    }

    #[test]
    fn a_table_out_of_order_is_refused() {
        let one = vec![Sentence { range: 0..3, section: Section::Body, boilerplate: false, salience: Salience::NONE }];
        let frame = sentences_to_frame(&[one.clone(), one.clone(), one]).unwrap();
        let error = sentences_from_frame(&frame.tail(Some(1))).unwrap_err().to_string();
        assert!(error.contains("document 2"), "{error}");
    }
}
