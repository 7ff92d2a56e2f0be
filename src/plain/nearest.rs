//! Nearest words of a model with word vectors, and nearest documents of a file by any model with dense rows.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use serde::Serialize;

use super::{Block, Columns, Fitted, Line, Lines, Rows};
use crate::data::Report;
use crate::job::Ctx;
use crate::model::Nearest;

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 22;
/// Documents that one thread turns into rows before it looks whether the run was cancelled.
const CHUNK: usize = 64;
/// Known words that a message proposes for an unknown one.
const PROPOSED: usize = 5;

/// Vectors under their words.
pub struct WordRows<'m> {
    /// The words.
    pub words: &'m [Box<str>],
    /// `[words, dim]`, row by row.
    pub vectors: Cow<'m, [f32]>,
    /// Values of a vector.
    pub dim: usize,
}

/// What is near to one thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Near {
    /// The word or document that was asked for.
    pub of: String,
    /// The nearest first; itself is left out.
    pub neighbours: Vec<Named>,
}

/// A neighbour under its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Named {
    /// The word, or the document's id.
    pub name: String,
    /// Cosine of the angle between them.
    pub similarity: f32,
}

/// Which documents' neighbours are sought.
pub enum Sought<'s> {
    /// Those of this text, which is none of the file's.
    Text(&'s str),
    /// Those of the file's documents with these ids, or line numbers.
    Ids(&'s [String]),
}

/// A model's word vectors.
pub(super) fn words_of(model: &dyn Fitted) -> Result<WordRows<'_>> {
    model.words().with_context(|| {
        format!("a {} model has no word vectors; lsa, ppmi and glove models have (inkstone train glove)", model.name())
    })
}

/// The words' places.
fn places(vectors: &WordRows<'_>, words: &[String]) -> Result<Vec<usize>> {
    let place = |word: &String| {
        let place = vectors.words.iter().position(|known| known.as_ref() == word);
        place.with_context(|| unknown(word, vectors.words))
    };
    words.iter().map(place).collect()
}

/// The `k` words that are nearest to the sum of some words less some others, each at length 1: `b` and `c` less `a` answers what
/// is to `c` as `b` is to `a`. The words themselves are left out.
pub fn nearest_to_sum(model: &dyn Fitted, plus: &[String], minus: &[String], k: usize, ctx: &Ctx) -> Result<Near> {
    let vectors = words_of(model)?;
    let (added, taken) = (places(&vectors, plus)?, places(&vectors, minus)?);
    let nearest = ctx.install(|| Nearest::new(&*vectors.vectors, vectors.dim))?;
    let mut query = vec![0.0; vectors.dim];
    for (places, sign) in [(&added, 1.0), (&taken, -1.0)] {
        for unit in places.iter().map(|&place| nearest.unit(place)) {
            query.iter_mut().zip(unit).for_each(|(sum, v)| *sum += sign * v);
        }
    }
    let asked = added.len() + taken.len();
    let found = ctx.install(|| nearest.query(&query, k.saturating_add(asked)));
    let others = found.into_iter().filter(|n| !added.contains(&n.row) && !taken.contains(&n.row)).take(k);
    let neighbours =
        others.map(|n| Named { name: vectors.words[n.row].to_string(), similarity: n.similarity }).collect();
    let of = format!("{} - {}", plus.join(" + "), minus.join(" - "));
    Ok(Near { of, neighbours })
}

/// The `k` words that are nearest to each word.
pub fn nearest_words(model: &dyn Fitted, words: &[String], k: usize, ctx: &Ctx) -> Result<Vec<Near>> {
    let vectors = words_of(model)?;
    let places = places(&vectors, words)?;
    let nearest = ctx.install(|| Nearest::new(&*vectors.vectors, vectors.dim))?;
    let queries: Vec<f32> = places.iter().flat_map(|&place| nearest.row(place)).copied().collect();
    let found = ctx.install(|| nearest.query_all(&queries, k.saturating_add(1)));
    let near = |((word, place), found): ((&String, usize), Vec<crate::model::Neighbour>)| {
        let others = found.into_iter().filter(|n| n.row != place).take(k);
        let neighbours =
            others.map(|n| Named { name: vectors.words[n.row].to_string(), similarity: n.similarity }).collect();
        Near { of: word.clone(), neighbours }
    };
    Ok(words.iter().zip(places).zip(found).map(near).collect())
}

/// The `k` documents of the lines that are nearest to each of those sought. All rows are held in memory.
pub fn nearest_documents(
    model: &dyn Fitted,
    lines: &mut Lines,
    sought: &Sought<'_>,
    k: usize,
    ctx: &Ctx,
) -> Result<(Vec<Near>, Report)> {
    let Columns::Dense(names) = model.columns()? else {
        bail!(
            "a {} model gives no vectors of few values to compare documents by; train lsa on the same documents",
            model.header().kind
        );
    };
    let dim = names.len();
    let dense = |lines: &[Line<'_>]| match model.rows(lines)? {
        Rows::Dense(values) => Ok(values),
        _ => bail!("rows of another kind than their columns"),
    };
    let (mut ids, mut rows): (Vec<String>, Vec<f32>) = (Vec::new(), Vec::new());
    let mut block = Block::default();
    while lines.next_block(&mut block, BLOCK)? {
        let documents = lines.documents(&block);
        let chunks = ctx.install(|| {
            let chunks = documents.par_chunks(CHUNK).map(|chunk| {
                ctx.advance(chunk.len() as u64)?;
                dense(chunk)
            });
            chunks.collect::<Result<Vec<Vec<f32>>>>()
        })?;
        ids.extend(documents.iter().map(|line| line.name().into_owned()));
        chunks.into_iter().for_each(|chunk| rows.extend(chunk));
    }
    ensure!(!ids.is_empty(), "there are no documents to look among; is the input empty?");
    let (asked, queries, places): (Vec<String>, Vec<f32>, Vec<Option<usize>>) = match sought {
        Sought::Text(text) => {
            let line = Line { number: 1, text: (*text).into(), ..Line::default() };
            (vec![(*text).to_owned()], dense(&[line])?, vec![None])
        }
        Sought::Ids(wanted) => {
            let place = |id: &String| {
                let place = ids.iter().position(|known| known == id);
                place.with_context(|| format!("no document has the id {id}; ids are the field id, or numbers of lines"))
            };
            let places: Vec<usize> = wanted.iter().map(place).collect::<Result<_>>()?;
            let queries = places.iter().flat_map(|&place| &rows[place * dim..][..dim]).copied().collect();
            (wanted.to_vec(), queries, places.into_iter().map(Some).collect())
        }
    };
    let nearest = ctx.install(|| Nearest::new(rows, dim))?;
    let found = ctx.install(|| nearest.query_all(&queries, k.saturating_add(1)));
    let near = asked.into_iter().zip(places).zip(found).map(|((of, place), found)| {
        let others = found.into_iter().filter(|n| Some(n.row) != place).take(k);
        Near { of, neighbours: others.map(|n| Named { name: ids[n.row].clone(), similarity: n.similarity }).collect() }
    });
    Ok((near.collect(), lines.finish()?))
}

/// Proposes the known words that are written most alike.
fn unknown(word: &str, known: &[Box<str>]) -> String {
    let length = word.chars().count();
    let mut alike: Vec<(usize, usize, &str)> = known
        .iter()
        .enumerate()
        .map(|(i, known)| (strsim::osa_distance(word, known), i, known.as_ref()))
        .filter(|(distance, ..)| *distance < length)
        .collect();
    alike.sort_unstable();
    let alike: Vec<&str> = alike.into_iter().take(PROPOSED).map(|(.., known)| known).collect();
    let way_out = match alike.is_empty() {
        true => "train with a lower --min-df or --min-count, or on more text".to_owned(),
        false => format!("did you mean {}?", alike.join(", ")),
    };
    format!("the model knows no word {word:?}; {way_out}")
}
