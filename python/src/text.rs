//! Text without a model: cutting, truncation, sentences, normal form, keywords.

use std::path::Path;

use anyhow::{Context, Result};
use polars_arrow::array::{Array, Float64Array, ListArray, StructArray, Utf8Array};
use polars_arrow::bitmap::Bitmap;
use polars_arrow::datatypes::{ArrowDataType, Field};
use polars_arrow::offset::OffsetsBuffer;
use polars_core::prelude::Column;
use pyo3::prelude::*;
use rayon::prelude::*;

use inkstone_base::job::Ctx;
use inkstone_corpus::clean;
use inkstone_features::standalone::keywords::{Extractor, KeywordParams};
use inkstone_features::standalone::{CutSpec, LineFormat};
use inkstone_text::subword::Subword;
use inkstone_text::{Mode, PieceCutter, Segmenter, TokenizerParams, Truncation, truncate_text};

use crate::arrow::{ResultColumn, column_from};
use crate::call::{self, exception};
use crate::settings;

/// Documents of a thread between two checks for Ctrl-C.
const CHUNK: usize = 64;

/// The texts of a column; fails where it holds something else.
fn texts_of(column: &Column) -> Result<Vec<Option<&str>>> {
    let texts = column.str().with_context(|| format!("{} are no texts", column.name()))?;
    Ok(texts.iter().collect())
}

/// Texts that one document became: their lengths in bytes, and the bytes.
#[derive(Default)]
struct Pieces {
    /// Number of pieces of each document; none for a null.
    counts: Vec<Option<usize>>,
    lengths: Vec<usize>,
    bytes: String,
}

impl Pieces {
    fn push(&mut self, piece: &str) {
        self.lengths.push(piece.len());
        self.bytes.push_str(piece);
    }
}

/// Gives each text to `cut`, which pushes its pieces, on all threads.
fn pieces(
    texts: &[Option<&str>],
    ctx: &Ctx,
    cut: impl Fn(&str, &mut Pieces) -> Result<()> + Sync,
) -> Result<Vec<Pieces>> {
    let chunk = |texts: &[Option<&str>]| {
        ctx.advance(texts.len() as u64)?;
        let mut made = Pieces::default();
        for text in texts {
            let before = made.lengths.len();
            if let Some(text) = text {
                cut(text, &mut made)?;
            }
            made.counts.push(text.map(|_| made.lengths.len() - before));
        }
        Ok(made)
    };
    ctx.install(|| texts.par_chunks(CHUNK).map(chunk).collect())
}

fn nulls(present: impl Iterator<Item = bool>) -> Option<Bitmap> {
    let present: Bitmap = present.collect();
    (present.unset_bits() > 0).then_some(present)
}

fn strings(chunks: &[Pieces], validity: Option<Bitmap>) -> Result<Utf8Array<i64>> {
    let lengths = chunks.iter().flat_map(|chunk| chunk.lengths.iter().copied());
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(chunks.iter().map(|chunk| chunk.bytes.len()).sum())?;
    chunks.iter().for_each(|chunk| bytes.extend_from_slice(chunk.bytes.as_bytes()));
    Ok(Utf8Array::try_new(ArrowDataType::LargeUtf8, offsets(lengths)?, bytes.into(), validity)?)
}

fn offsets(lengths: impl Iterator<Item = usize>) -> Result<OffsetsBuffer<i64>> {
    let mut end = 0;
    let ends = lengths.map(|length| {
        end += length as i64;
        end
    });
    Ok(OffsetsBuffer::try_from(std::iter::once(0).chain(ends).collect::<Vec<i64>>())?)
}

/// A list of values a document.
fn lists(chunks: &[Pieces], values: Box<dyn Array>) -> Result<Box<dyn Array>> {
    let counts = || chunks.iter().flat_map(|chunk| chunk.counts.iter().copied());
    let dtype = ListArray::<i64>::default_datatype(values.dtype().clone());
    let validity = nulls(counts().map(|count| count.is_some()));
    Ok(ListArray::try_new(dtype, offsets(counts().map(Option::unwrap_or_default))?, values, validity)?.boxed())
}

/// A text a document; `chunks` have one piece for each that is not null.
fn one_each(chunks: &[Pieces]) -> Result<Box<dyn Array>> {
    let counts = || chunks.iter().flat_map(|chunk| chunk.counts.iter().copied());
    let mut lengths = chunks.iter().flat_map(|chunk| chunk.lengths.iter().copied());
    let ends = offsets(counts().map(|count| count.and_then(|_| lengths.next()).unwrap_or_default()))?;
    let texts = strings(chunks, None)?;
    let validity = nulls(counts().map(|count| count.is_some()));
    Ok(Utf8Array::try_new(ArrowDataType::LargeUtf8, ends, texts.values().clone(), validity)?.boxed())
}

enum Cutter {
    Words(Segmenter),
    Pieces(Box<PieceCutter>),
}

/// Cuts text as `[tokenizer]` of a configuration does, with the same settings.
#[pyclass(frozen, module = "inkstone")]
pub(crate) struct Tokenizer {
    cutter: std::sync::Arc<Cutter>,
}

#[pymethods]
impl Tokenizer {
    /// `settings` is JSON.
    #[new]
    fn new(py: Python<'_>, settings: &str) -> PyResult<Tokenizer> {
        let params: TokenizerParams = settings::read("tokenize", settings)?;
        let open = move || -> Result<Cutter> {
            Ok(match params.mode {
                Mode::Wordpiece => {
                    let path = params.pieces.as_deref().context("the mode wordpiece needs pieces = a tokenizer")?;
                    Cutter::Pieces(Box::new(PieceCutter::new(Subword::open(path)?)))
                }
                Mode::Char | Mode::Jieba | Mode::Crf => Cutter::Words(Segmenter::new(&params, Path::new(""))?),
            })
        };
        let cutter = py.detach(open).map_err(|error| exception(&error))?;
        Ok(Tokenizer { cutter: cutter.into() })
    }

    /// The tokens of each text; with `terms` its terms.
    #[pyo3(signature = (texts, terms, threads=0))]
    fn tokens(&self, py: Python<'_>, texts: &Bound<'_, PyAny>, terms: bool, threads: usize) -> PyResult<ResultColumn> {
        let (column, cutter) = (column_from("texts", texts)?, self.cutter.clone());
        let tokens = call::run(py, column.len(), threads, move |ctx| {
            let cut = |text: &str, made: &mut Pieces| {
                match &*cutter {
                    Cutter::Words(segmenter) if terms => segmenter.for_each_term(text, |term| made.push(&term)),
                    Cutter::Words(segmenter) => segmenter.for_each_token(text, |token| made.push(token.text)),
                    Cutter::Pieces(pieces) => pieces.pieces(text)?.into_iter().for_each(|piece| made.push(piece)),
                }
                Ok(())
            };
            let chunks = pieces(&texts_of(&column)?, ctx, cut)?;
            lists(&chunks, strings(&chunks, None)?.boxed())
        })?;
        Ok(ResultColumn::new("tokens", tokens))
    }

    /// The part of each text that truncation leaves; the parts of a head and a tail stand one after the other.
    #[pyo3(signature = (texts, truncation, specials, threads=0))]
    fn truncate(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        truncation: &str,
        specials: Option<usize>,
        threads: usize,
    ) -> PyResult<ResultColumn> {
        let truncation: Truncation = truncation.parse().map_err(|error| exception(&error))?;
        let (column, cutter) = (column_from("texts", texts)?, self.cutter.clone());
        let kept = call::run(py, column.len(), threads, move |ctx| {
            let cut = |text: &str, made: &mut Pieces| {
                let parts = match &*cutter {
                    Cutter::Words(segmenter) => truncate_text(text, segmenter, &truncation, specials.unwrap_or(2)),
                    Cutter::Pieces(pieces) => pieces.truncate(text, &truncation, specials)?,
                };
                made.push(&parts.into_iter().map(|part| &text[part]).collect::<String>());
                Ok(())
            };
            one_each(&pieces(&texts_of(&column)?, ctx, cut)?)
        })?;
        Ok(ResultColumn::new("text", kept))
    }
}

/// The normal form of each text, as the stage clean writes it. `settings` is JSON.
#[pyfunction]
#[pyo3(signature = (texts, settings, threads=0))]
pub(crate) fn normalise(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    settings: &str,
    threads: usize,
) -> PyResult<ResultColumn> {
    let params: clean::Params = settings::read("normalise", settings)?;
    let column = column_from("texts", texts)?;
    let made = call::run(py, column.len(), threads, move |ctx| {
        let cut = |text: &str, made: &mut Pieces| {
            made.push(&clean::normalise(text, &params));
            Ok(())
        };
        one_each(&pieces(&texts_of(&column)?, ctx, cut)?)
    })?;
    Ok(ResultColumn::new("text", made))
}

/// The sentences of each text.
#[pyfunction]
#[pyo3(signature = (texts, threads=0))]
pub(crate) fn sentences(py: Python<'_>, texts: &Bound<'_, PyAny>, threads: usize) -> PyResult<ResultColumn> {
    let column = column_from("texts", texts)?;
    let made = call::run(py, column.len(), threads, move |ctx| {
        let cut = |text: &str, made: &mut Pieces| {
            inkstone_text::sentences(text).into_iter().for_each(|range| made.push(&text[range]));
            Ok(())
        };
        let chunks = pieces(&texts_of(&column)?, ctx, cut)?;
        lists(&chunks, strings(&chunks, None)?.boxed())
    })?;
    Ok(ResultColumn::new("sentences", made))
}

/// The keywords of each text with their scores, the best first. `settings` is JSON.
#[pyfunction]
#[pyo3(signature = (texts, settings, threads=0))]
pub(crate) fn keywords(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    settings: &str,
    threads: usize,
) -> PyResult<ResultColumn> {
    let params: KeywordParams = settings::read("keywords", settings)?;
    let column = column_from("texts", texts)?;
    let made = call::run(py, column.len(), threads, move |ctx| {
        let texts = texts_of(&column)?;
        let cut = CutSpec::new(LineFormat::Text, TokenizerParams::default());
        let mut extractor = Extractor::new(&cut, params, None, Path::new(""))?;
        if extractor.wants_counts() {
            extractor.count_texts(texts.iter().flatten().copied())?;
        }
        let found = |text: &Option<&str>| {
            ctx.advance(1)?;
            Ok(text.map(|text| extractor.keywords(text)))
        };
        let found = ctx.install(|| texts.par_iter().map(found).collect::<Result<Vec<Option<Vec<(String, f64)>>>>>())?;
        let mut all = Pieces::default();
        let mut scores = Vec::new();
        for words in found {
            all.counts.push(words.as_ref().map(Vec::len));
            for (word, score) in words.into_iter().flatten() {
                all.push(&word);
                scores.push(score);
            }
        }
        let chunks = [all];
        let words = strings(&chunks, None)?;
        let fields = vec![
            Field::new("word".into(), ArrowDataType::LargeUtf8, false),
            Field::new("score".into(), ArrowDataType::Float64, false),
        ];
        let (length, scores) = (scores.len(), Float64Array::from_vec(scores));
        let rows = StructArray::new(ArrowDataType::Struct(fields), length, vec![words.boxed(), scores.boxed()], None);
        lists(&chunks, rows.boxed())
    })?;
    Ok(ResultColumn::new("keywords", made))
}
