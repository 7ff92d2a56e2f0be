//! The words nearest to a word by a model of word vectors, and the documents of a file nearest to a text by any model of vectors or of
//! weights of terms.

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Serialize;

use super::document_rows::DocumentRows;
use super::words::VectorWords;
use super::{Fitted, Line, Lines};
use crate::lines::BLOCK;
use crate::models::onnx::Reranker;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_models::{Neighbour, cosine, unit};

/// The neighbours of a word or document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Near {
    pub of: String,
    /// The nearest first; the word or document itself is left out.
    pub neighbours: Vec<Named>,
}

/// A neighbour under its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Named {
    /// Word, or id of the document.
    pub name: String,
    /// Cosine of the angle between them.
    pub similarity: f32,
    /// Euclidean distance between them, where neighbours are sought by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f32>,
    /// Score of a cross-encoder that read both together, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

/// The measure by which words are near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum WordDistance {
    /// The cosine of the angle between their vectors.
    #[default]
    Cosine,
    /// The Euclidean distance between their vectors.
    Euclidean,
}

/// The documents whose neighbours are sought.
pub enum Sought<'s> {
    /// This text, which is not in the file.
    Text(&'s str),
    /// Documents of the file with these ids, or line numbers.
    Ids(&'s [String]),
}

/// The `k` words that are nearest to the sum of some words less some others, each at length 1: `b` and `c` less `a` answers what
/// is to `c` as `b` is to `a`. The words themselves are left out.
pub fn nearest_to_sum(model: &dyn Fitted, plus: &[String], minus: &[String], k: usize, ctx: &Ctx) -> Result<Near> {
    let words = VectorWords::new(model, ctx)?;
    let (mut query, mut asked) = (vec![0.0; words.dim], Vec::new());
    for (added, sign) in [(plus, 1.0), (minus, -1.0)] {
        for word in added {
            let found = words.get(word)?;
            query.iter_mut().zip(unit(&found.vector)).for_each(|(sum, v)| *sum += sign * v);
            asked.extend(found.place);
        }
    }
    let found = ctx.install(|| words.nearest.query(&query, k.saturating_add(asked.len())));
    let question = format!("{} - {}", plus.join(" + "), minus.join(" - "));
    Ok(Near { of: question, neighbours: others(&words, found, &asked, k) })
}

/// The words of the model that are senses of a word: those that begin with it and a bar, as 回购|v or 苹果|ORG.
pub fn senses(model: &dyn Fitted, word: &str, ctx: &Ctx) -> Result<Vec<String>> {
    let words = VectorWords::new(model, ctx)?;
    let is_sense = |known: &&str| known.strip_prefix(word).is_some_and(|rest| rest.starts_with('|'));
    let senses: Vec<String> = words.all.iter().map(AsRef::as_ref).filter(is_sense).map(str::to_owned).collect();
    ensure!(
        !senses.is_empty(),
        "模型没有 {word:?} 的义项：词须带词性（--tags）或实体类别（tokenize --names 的输出）训练",
        "the model has no senses of {word:?}: train it on words with parts of speech (--tags) or with kinds of names (what tokenize --names writes)"
    );
    Ok(senses)
}

/// The `k` words at the least Euclidean distance from each word; equally far ones in the order of the model.
pub fn words_by_distance(model: &dyn Fitted, asked: &[String], k: usize, ctx: &Ctx) -> Result<Vec<Near>> {
    let words = VectorWords::new(model, ctx)?;
    let near = |word: &String| {
        ctx.check()?;
        let found = words.get(word)?;
        let distance = |row: usize| {
            let pairs = words.nearest.row(row).iter().zip(&*found.vector);
            pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>()
        };
        let mut far: Vec<(f64, usize)> =
            ctx.install(|| (0..words.all.len()).into_par_iter().map(|row| (distance(row), row)).collect());
        far.retain(|(distance, row)| Some(*row) != found.place && !distance.is_nan());
        far.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let named = |&(distance, row): &(f64, usize)| Named {
            name: words.all[row].to_string(),
            similarity: cosine(&found.vector, words.nearest.row(row)),
            distance: Some(distance.sqrt() as f32),
            score: None,
        };
        Ok(Near { of: word.clone(), neighbours: far.iter().take(k).map(named).collect() })
    };
    asked.iter().map(near).collect()
}

/// The `k` words that are nearest to each word. Those that the model does not know, but makes a vector for, are answered too.
pub fn nearest_words(model: &dyn Fitted, asked: &[String], k: usize, ctx: &Ctx) -> Result<Vec<Near>> {
    let words = VectorWords::new(model, ctx)?;
    let (mut queries, mut places) = (Vec::new(), Vec::new());
    for word in asked {
        let found = words.get(word)?;
        queries.extend_from_slice(&found.vector);
        places.push(found.place);
    }
    let found = ctx.install(|| words.nearest.query_all(&queries, k.saturating_add(1)));
    let near = |((word, place), found): ((&String, Option<usize>), Vec<Neighbour>)| {
        let itself = place.map(|place| vec![place]).unwrap_or_default();
        Near { of: word.clone(), neighbours: others(&words, found, &itself, k) }
    };
    Ok(asked.iter().zip(places).zip(found).map(near).collect())
}

/// The first `k` words of those found, without those in some places.
fn others(words: &VectorWords<'_>, found: Vec<Neighbour>, left_out: &[usize], k: usize) -> Vec<Named> {
    let others = found.into_iter().filter(|neighbour| !left_out.contains(&neighbour.row)).take(k);
    others
        .map(|n| Named { name: words.all[n.row].to_string(), similarity: n.similarity, distance: None, score: None })
        .collect()
}

/// The `k` documents of the lines that are nearest to each of those sought, in the order of a reranker if there is one. All rows are held
/// in memory, and for a reranker all texts.
pub fn nearest_documents(
    model: &dyn Fitted,
    lines: &mut Lines,
    sought: &Sought<'_>,
    k: usize,
    reranker: Option<&Reranker>,
    ctx: &Ctx,
) -> Result<(Vec<Near>, Report)> {
    let mut ids: Vec<String> = Vec::new();
    let mut rows = DocumentRows::of_model(model)?;
    let mut texts: Vec<String> = Vec::new();
    lines.for_each_block(BLOCK, |documents| {
        ids.extend(documents.iter().map(|line| line.name().into_owned()));
        if reranker.is_some() {
            texts.extend(documents.iter().map(|line| line.whole().into_owned()));
        }
        for (_, chunk) in model.many(&documents, ctx)? {
            rows.push(chunk)?;
        }
        Ok(())
    })?;
    ensure!(
        !ids.is_empty(),
        "没有可供查找的文档；输入是空的吗？",
        "there are no documents to look among; is the input empty?"
    );
    let (asked, queries, places): (Vec<String>, DocumentRows, Vec<Option<usize>>) = match sought {
        Sought::Text(text) => {
            let line = Line { number: 1, text: (*text).into(), ..Line::default() };
            let mut queries = DocumentRows::of_model(model)?;
            queries.push(model.rows(&[line])?)?;
            (vec![(*text).to_owned()], queries, vec![None])
        }
        Sought::Ids(wanted) => {
            let place = |id: &String| {
                let place = ids.iter().position(|known| known == id);
                place.with_context(|| {
                    message!(
                        "没有编号为 {id} 的文档；编号取字段 id，或行号",
                        "no document has the id {id}; ids are the field id, or numbers of lines"
                    )
                })
            };
            let places: Vec<usize> = wanted.iter().map(place).collect::<Result<_>>()?;
            (wanted.to_vec(), rows.part(&places), places.into_iter().map(Some).collect())
        }
    };
    let found = ctx.install(|| rows.nearest_to(&queries, k.saturating_add(1)))?;
    let mut near = Vec::with_capacity(asked.len());
    for ((of, place), found) in asked.into_iter().zip(places).zip(found) {
        let others: Vec<Neighbour> = found.into_iter().filter(|n| Some(n.row) != place).take(k).collect();
        let named =
            |n: &Neighbour, score| Named { name: ids[n.row].clone(), similarity: n.similarity, distance: None, score };
        let neighbours = match reranker {
            None => others.iter().map(|n| named(n, None)).collect(),
            Some(reranker) => {
                let sought = place.map_or(of.as_str(), |place| &texts[place]);
                let pairs: Vec<[&str; 2]> = others.iter().map(|n| [sought, texts[n.row].as_str()]).collect();
                let scores = reranker.scores(&pairs, ctx)?;
                let mut scored: Vec<Named> =
                    others.iter().zip(scores).map(|(n, score)| named(n, Some(score))).collect();
                // Texts without a token have no score, and come last.
                let value = |one: &Named| one.score.filter(|score| !score.is_nan()).unwrap_or(f32::NEG_INFINITY);
                scored.sort_by(|a, b| value(b).total_cmp(&value(a)));
                scored
            }
        };
        near.push(Near { of, neighbours });
    }
    Ok((near, lines.finish()?))
}
