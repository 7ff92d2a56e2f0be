//! The documents whose rows are near to the row of one, on request only among those published before it.
//!
//! Every row is looked at. Cosines are those of [`Nearest`]; equal ones stand in the order of the corpus. A row without a direction or with
//! a value that is no number is near to nothing.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use polars_core::prelude::{DataFrame, StringChunked};

use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::{Nearest, Row as SparseRow};
use inkstone_store::{Rows, Set, Values};
use inkstone_tables::corpus::{self, Parts};
use inkstone_tables::frames;

/// Error of a set whose rows are no longer those of the corpus.
const OUTGROWN: Word =
    Word("特征集生成后语料有变：请运行流水线", "the corpus has changed since the set was made: run the pipeline");

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NearMeasure {
    /// Cosine of the angle between two rows; the greatest is the nearest.
    #[default]
    Cosine,
    /// Euclidean distance; the least is the nearest.
    Euclid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Part and row of the document; none: the latest one that has a row.
    pub place: Option<(usize, usize)>,
    pub measure: NearMeasure,
    /// True if only documents count that were published strictly before it.
    pub past_only: bool,
    /// Neighbours at the most.
    pub most: usize,
}

/// A document as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedDocument {
    /// Part and row in the corpus.
    pub place: (usize, usize),
    pub doc_id: String,
    pub title: String,
    /// Codes joined by commas.
    pub codes: String,
    pub published_at: NaiveDateTime,
    /// The first document of its story; itself if it is the first.
    pub first_mention: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    pub document: ListedDocument,
    /// Cosine or distance.
    pub value: f32,
    /// True if it is of the same story as the document asked for.
    pub repeats: bool,
}

/// Reason for which there are no neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// No document of the set has a row with values.
    NoRows,
    /// The document has no row with values.
    NoRow,
    /// No other document that counts has one.
    Alone,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// The document asked for; none where no row has values.
    pub query: Option<ListedDocument>,
    /// The nearest first.
    pub found: Vec<Near>,
    pub compared: u64,
    /// Rows left out because their documents came later, or at the same time.
    pub later: u64,
    pub nothing: Option<Nothing>,
}

/// Documents in whose title, id or codes a text occurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The first of the documents.
    pub documents: Vec<ListedDocument>,
    /// Number of all such documents.
    pub total: u64,
}

/// Finds the rows of a set that are nearest to the row of a document. `progress` gets the number of rows read so far.
pub fn neighbours(
    set: &Set<'_>,
    clean: &Parts,
    query: &Query,
    progress: &dyn Fn(u64),
    ctx: &Ctx,
) -> Result<Neighbours> {
    let mut answer = Neighbours { query: None, found: Vec::new(), compared: 0, later: 0, nothing: None };
    let Some((place, row)) = asked(set, clean, query.place, ctx)? else {
        answer.nothing = Some(if query.place.is_some() { Nothing::NoRow } else { Nothing::NoRows });
        answer.query =
            query.place.map(|place| documents(clean, &[place])).transpose()?.and_then(|mut found| found.pop());
        return Ok(answer);
    };
    let own = documents(clean, &[place])?
        .pop()
        .context(Word("所问的文档应在语料中", "the document asked for is in the corpus"))?;
    let (mut best, mut read) = (Vec::new(), 0);
    for (part, rows) in set.batches().enumerate() {
        ctx.check()?;
        let rows = rows?;
        let times = times(clean, part)?.filter(|times| times.len() == rows.len());
        let times = times.context(OUTGROWN)?;
        let counts = |i: usize| !query.past_only || times[i].is_some_and(|time| time < own.published_at);
        let allowed: Vec<usize> = (0..rows.len()).filter(|i| (part, *i) != place && counts(*i)).collect();
        answer.compared += allowed.len() as u64;
        answer.later += (rows.len() - allowed.len()) as u64 - u64::from(part == place.0);
        let found = nearest(&rows, &allowed, &row, query, ctx)?;
        best.extend(found.into_iter().map(|(i, value)| ((part, i), value)));
        best.sort_by(|a, b| order(query.measure, a.1, b.1).then(a.0.cmp(&b.0)));
        best.truncate(query.most);
        read += rows.len() as u64;
        progress(read);
    }
    let places: Vec<(usize, usize)> = best.iter().map(|found| found.0).collect();
    let near = |(document, (_, value)): (ListedDocument, ((usize, usize), f32))| {
        let repeats = document.first_mention == own.first_mention;
        Near { document, value, repeats }
    };
    answer.found = documents(clean, &places)?.into_iter().zip(best).map(near).collect();
    answer.nothing = answer.found.is_empty().then_some(Nothing::Alone);
    answer.query = Some(own);
    Ok(answer)
}

/// The rows of a set, as part and row, that are nearest to a vector by cosine among the documents published at `until` or before; the
/// nearest first.
pub fn nearest_to_vector(
    set: &Set<'_>,
    clean: &Parts,
    vector: &[f32],
    until: Option<NaiveDateTime>,
    most: usize,
    ctx: &Ctx,
) -> Result<Vec<((usize, usize), f32)>> {
    let query = Query { place: None, measure: NearMeasure::Cosine, past_only: false, most };
    let vector = Row::Dense(vector.to_vec());
    let mut best = Vec::new();
    for (part, rows) in set.batches().enumerate() {
        ctx.check()?;
        let rows = rows?;
        let times = times(clean, part)?.filter(|times| times.len() == rows.len()).context(OUTGROWN)?;
        let is_known = |i: &usize| until.is_none_or(|until| times[*i].is_some_and(|time| time <= until));
        let allowed: Vec<usize> = (0..rows.len()).filter(is_known).collect();
        best.extend(nearest(&rows, &allowed, &vector, &query, ctx)?.into_iter().map(|(i, value)| ((part, i), value)));
        best.sort_by(|a, b| order(query.measure, a.1, b.1).then(a.0.cmp(&b.0)));
        best.truncate(most);
    }
    Ok(best)
}

/// Documents in whose title, id or codes this text occurs, small and capital letters alike; the first `most` of them.
pub fn find(clean: &Parts, text: &str, most: usize, ctx: &Ctx) -> Result<Found> {
    let text = text.to_lowercase();
    let mut found = Found::default();
    for part in 0..clean.files()?.len() {
        ctx.check()?;
        let frame = frames::read_parquet(&clean.path(part), Some(&COLUMNS))?;
        let columns = [&strings(&frame, "title")?, &strings(&frame, "doc_id")?, &strings(&frame, "codes")?];
        let has = |row: &usize| columns.iter().any(|c| c.get(*row).is_some_and(|v| v.to_lowercase().contains(&text)));
        let rows: Vec<usize> = (0..frame.height()).filter(has).collect();
        found.total += rows.len() as u64;
        let room = most.saturating_sub(found.documents.len());
        found.documents.extend(of_part(&frame, part, &rows[..rows.len().min(room)])?);
    }
    Ok(found)
}

/// Times of publication of a part; none where there is no such part.
pub(super) fn times(clean: &Parts, part: usize) -> Result<Option<Vec<Option<NaiveDateTime>>>> {
    let path = clean.path(part);
    if !path.exists() {
        return Ok(None);
    }
    corpus::times_of(&frames::read_parquet(&path, Some(&["published_at"]))?, "published_at").map(Some)
}

fn order(measure: NearMeasure, a: f32, b: f32) -> Ordering {
    match measure {
        NearMeasure::Cosine => b.total_cmp(&a),
        NearMeasure::Euclid => a.total_cmp(&b),
    }
}

/// A row taken out of its batch.
enum Row {
    Dense(Vec<f32>),
    Sparse { indices: Vec<u32>, values: Vec<f32> },
}

impl Row {
    /// None where it has no value at all.
    fn of(rows: &Rows, i: usize) -> Option<Row> {
        match &rows.values {
            Values::Dense { dim, data } => {
                let row = &data[i * dim..(i + 1) * dim];
                (!row.is_empty() && row.iter().all(|value| value.is_finite())).then(|| Row::Dense(row.to_vec()))
            }
            Values::Sparse { indptr, indices, values } => {
                let places = indptr[i]..indptr[i + 1];
                let (indices, values) = (indices[places.clone()].to_vec(), values[places].to_vec());
                (!indices.is_empty()).then_some(Row::Sparse { indices, values })
            }
        }
    }
}

/// The row of the document asked for, or of the latest document that has values.
fn asked(
    set: &Set<'_>,
    clean: &Parts,
    place: Option<(usize, usize)>,
    ctx: &Ctx,
) -> Result<Option<((usize, usize), Row)>> {
    let batches = &set.header().batches;
    let read = |part: usize| -> Result<Rows> {
        ctx.check()?;
        set.batch(&batches.get(part).context(OUTGROWN)?.key)?
            .context(Word("特征集头部所列的批次应在集内", "a batch of the set's header is in the set"))
    };
    if let Some((part, row)) = place {
        let rows = read(part)?;
        ensure!(row < rows.len(), OUTGROWN);
        return Ok(Row::of(&rows, row).map(|found| ((part, row), found)));
    }
    // Parts by their latest document: as soon as one has a row that is later than all of the next, that is it.
    let mut parts = Vec::new();
    for part in 0..batches.len() {
        let times = times(clean, part)?.context(OUTGROWN)?;
        parts.push((times.iter().flatten().max().copied(), part, times));
    }
    parts.sort_by_key(|(latest, part, _)| (std::cmp::Reverse(*latest), *part));
    let mut best: Option<(Option<NaiveDateTime>, (usize, usize), Row)> = None;
    for (latest, part, times) in parts {
        if best.as_ref().is_some_and(|(time, ..)| *time >= latest) {
            break;
        }
        let rows = read(part)?;
        ensure!(rows.is_empty() || rows.len() == times.len(), OUTGROWN);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|row| (std::cmp::Reverse(times[*row]), *row));
        let found = order.into_iter().find_map(|row| Some((times[row], (part, row), Row::of(&rows, row)?)));
        if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| found.0 > best.0)) {
            best = Some(found);
        }
    }
    Ok(best.map(|(_, place, row)| (place, row)))
}

/// The nearest of the allowed rows of a batch, each with its cosine or distance.
fn nearest(rows: &Rows, allowed: &[usize], own: &Row, query: &Query, ctx: &Ctx) -> Result<Vec<(usize, f32)>> {
    let mut found: Vec<(usize, f32)> = match (&rows.values, own) {
        (Values::Dense { dim, data }, Row::Dense(own)) if *dim == own.len() => {
            let row_at = |i: usize| &data[i * dim..(i + 1) * dim];
            match query.measure {
                NearMeasure::Cosine => {
                    let gathered: Vec<f32> = allowed.iter().flat_map(|i| row_at(*i)).copied().collect();
                    let near = ctx.install(|| anyhow::Ok(Nearest::new(gathered, *dim)?.query(own, query.most)))?;
                    near.into_iter().map(|near| (allowed[near.row], near.similarity)).collect()
                }
                NearMeasure::Euclid => {
                    let distance = |row: &[f32]| {
                        row.iter().zip(own).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
                    };
                    allowed.iter().map(|i| (*i, distance(row_at(*i)) as f32)).collect()
                }
            }
        }
        (Values::Sparse { indptr, indices, values }, Row::Sparse { indices: own_indices, values: own_values }) => {
            let own = SparseRow { indices: own_indices, values: own_values };
            let length = own.product(&own);
            let value = |i: usize| {
                let places = indptr[i]..indptr[i + 1];
                let row = SparseRow { indices: &indices[places.clone()], values: &values[places] };
                let (both, other) = (row.product(&own), row.product(&row));
                match query.measure {
                    NearMeasure::Cosine => (both / (length * other).sqrt()) as f32,
                    // A row of zeros says nothing, which does not make it near.
                    NearMeasure::Euclid if other == 0.0 => f32::NAN,
                    NearMeasure::Euclid => (length + other - 2.0 * both).max(0.0).sqrt() as f32,
                }
            };
            allowed.iter().map(|i| (*i, value(*i))).collect()
        }
        _ => {
            inkstone_base::bail!(
                "特征集各批次的列不同：inkstone store repair 会去掉损坏的部分",
                "the batches of the set differ in their columns: inkstone store repair drops what is damaged"
            )
        }
    };
    found.retain(|(_, value)| value.is_finite());
    found.sort_by(|a, b| order(query.measure, a.1, b.1).then(a.0.cmp(&b.0)));
    found.truncate(query.most);
    Ok(found)
}

/// The columns that lists show.
const COLUMNS: [&str; 5] = ["doc_id", "title", "codes", "published_at", "first_mention"];

fn strings(frame: &DataFrame, name: &str) -> Result<StringChunked> {
    Ok(corpus::column(frame, name)?.str()?.clone())
}

/// The documents at these places, in this order.
fn documents(clean: &Parts, places: &[(usize, usize)]) -> Result<Vec<ListedDocument>> {
    let mut by_part: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (part, row) in places {
        by_part.entry(*part).or_default().push(*row);
    }
    let mut found = BTreeMap::new();
    for (part, rows) in by_part {
        let frame = frames::read_parquet(&clean.path(part), Some(&COLUMNS))?;
        found.extend(of_part(&frame, part, &rows)?.into_iter().map(|document| (document.place, document)));
    }
    let document = |place| {
        found
            .get(place)
            .cloned()
            .context(Word("语料变短了：请运行流水线", "the corpus has become shorter: run the pipeline"))
    };
    places.iter().map(document).collect()
}

fn of_part(frame: &DataFrame, part: usize, rows: &[usize]) -> Result<Vec<ListedDocument>> {
    let [ids, titles, codes] = [strings(frame, "doc_id")?, strings(frame, "title")?, strings(frame, "codes")?];
    let firsts = strings(frame, "first_mention")?;
    let times = corpus::times_of(frame, "published_at")?;
    let document = |row: &usize| ListedDocument {
        place: (part, *row),
        doc_id: ids.get(*row).unwrap_or_default().to_owned(),
        title: titles.get(*row).unwrap_or_default().to_owned(),
        codes: codes.get(*row).unwrap_or_default().to_owned(),
        published_at: times.get(*row).copied().flatten().unwrap_or_default(),
        first_mention: firsts.get(*row).or_else(|| ids.get(*row)).unwrap_or_default().to_owned(),
    };
    Ok(rows.iter().filter(|row| **row < frame.height()).map(document).collect())
}
