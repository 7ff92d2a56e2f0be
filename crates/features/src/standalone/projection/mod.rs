//! Projection of a model's words to the plane, as a table or a picture.
//!
//! Words are compared by angle, as everywhere here, so their vectors are taken at length 1. A table has
//! `word`, `group` (empty where there is none), `x` and `y`; `picture` draws.

mod picture;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context, Result};
use polars_core::prelude::{Column, IntoColumn, NamedFrom, Series};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::Fitted;
use super::words::VectorWords;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_models::{ClusterParams, ClusterRows, Nearest, Tsne, cluster, neighbours_kept, pca, tsne, unit};
use inkstone_tables::frames;

/// Words that a plane needs.
const FEWEST: usize = 4;
/// Default perplexity, where there are enough words.
const PERPLEXITY: f32 = 30.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ProjectionMethod {
    /// Principal components: distances and directions mean something, but only those of the two axes.
    Pca,
    /// t-SNE: neighbourhoods mean something, distances between far words do not.
    Tsne,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectionParams {
    pub method: ProjectionMethod,
    /// Effective number of neighbours of t-SNE; none: 30, or a third of the words where these are fewer.
    pub perplexity: Option<f32>,
    pub epochs: usize,
    /// Clusters that words without a group are put into, by k-means of their vectors; a cluster is a group named by its number from 1, the largest
    /// first. 0: none.
    pub clusters: usize,
}

impl Default for ProjectionParams {
    fn default() -> ProjectionParams {
        ProjectionParams { method: ProjectionMethod::Pca, perplexity: None, epochs: 1000, clusters: 0 }
    }
}

/// The words that are shown.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'s> {
    /// The first of the model, which are the most frequent where it knows; 0: all.
    Top(usize),
    Words(&'s [String]),
    /// The words of a file, one a line; the text after a tab or a space is the group that gives the colour.
    Groups(&'s Path),
}

/// A word in the plane.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlacedWord {
    pub word: Box<str>,
    /// Empty where it has none.
    pub group: Box<str>,
    pub point: [f64; 2],
}

/// Words in the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    words: Vec<PlacedWord>,
    /// A line that describes the picture.
    caption: String,
}

/// Brings words of a model into the plane. The report has `words`, `neighbours_kept` (the share of each word's ten nearest that
/// are among its ten nearest points), and `explained` (shares of the variance of both axes) or `perplexity`. Words of a file that
/// the model does not know are dropped with that reason.
pub fn project(
    model: &dyn Fitted,
    shown: Shown<'_>,
    params: &ProjectionParams,
    ctx: &Ctx,
) -> Result<(Projection, Report)> {
    let words = VectorWords::new(model, ctx)?;
    let mut report = Report::new("projection");
    let (mut named, rows) = rows(&words, shown, &mut report)?;
    ensure!(
        named.len() >= FEWEST,
        "有向量的词只有 {} 个，至少 {FEWEST} 个才能成图：请多写一些（--words、--groups、--top）",
        "{} words with a vector are too few to show, {FEWEST} are the least: name more (--words, --groups, --top)",
        named.len()
    );
    let perplexity = perplexity(params, named.len())?;
    if params.clusters > 0 {
        group_by_clusters(&mut named, &rows, words.dim, params.clusters, ctx)?;
    }
    let nearest = ctx.install(|| Nearest::new(&rows[..], words.dim))?;
    let (mut points, explained) = pca(&rows, words.dim, ctx)?;
    report.fact("words", named.len());
    let how = match params.method {
        ProjectionMethod::Pca => {
            report.fact("explained", explained);
            let [x, y] = explained.map(|share| 100.0 * share);
            format!("PCA, {x:.1} % and {y:.1} % of the variance")
        }
        ProjectionMethod::Tsne => {
            points = tsne(&nearest, &points, Tsne { perplexity, epochs: params.epochs }, ctx)?;
            report.fact("perplexity", perplexity);
            format!("t-SNE, perplexity {perplexity}")
        }
    };
    let kept = neighbours_kept(&nearest, &points, ctx)?;
    report.fact("neighbours_kept", kept);
    let until = model.header().fitted_until.map_or_else(String::new, |time| format!(" · fitted until {time}"));
    let caption =
        format!("{} · {how} · {} words, {:.0} % of their nearest kept{until}", model.name(), named.len(), 100.0 * kept);
    let words = named.into_iter().zip(points).map(|((word, group), point)| PlacedWord { word, group, point }).collect();
    Ok((Projection { words, caption }, report))
}

/// Words and their groups.
type Named = Vec<(Box<str>, Box<str>)>;

/// The words that are shown, and their vectors at length 1, `[words, dim]`.
fn rows(words: &VectorWords<'_>, shown: Shown<'_>, report: &mut Report) -> Result<(Named, Vec<f32>)> {
    let all: Named = match shown {
        Shown::Top(0) => words.all.iter().map(|word| (word.clone(), Box::default())).collect(),
        Shown::Top(n) => words.all.iter().take(n).map(|word| (word.clone(), Box::default())).collect(),
        Shown::Words(named) => named.iter().map(|word| (word.as_str().into(), Box::default())).collect(),
        Shown::Groups(path) => grouped(path)?,
    };
    let (mut named, mut rows, mut met) = (Vec::with_capacity(all.len()), Vec::new(), FxHashSet::default());
    for (word, group) in all {
        report.rows_in += 1;
        if !met.insert(word.clone()) {
            report.drop_rows("named before", 1);
            continue;
        }
        let found = if matches!(shown, Shown::Groups(_)) { words.find(&word) } else { Some(words.get(&word)?) };
        let Some(found) = found else {
            report.drop_rows("the model does not know the word", 1);
            continue;
        };
        let row = unit(&found.vector);
        if row.iter().all(|&v| v == 0.0) {
            report.drop_rows("a vector of zeros", 1);
            continue;
        }
        report.rows_out += 1;
        rows.extend(row);
        named.push((word, group));
    }
    Ok((named, rows))
}

/// Makes clusters the groups of the words that have none.
fn group_by_clusters(named: &mut Named, rows: &[f32], dim: usize, k: usize, ctx: &Ctx) -> Result<()> {
    let wanted: Vec<u32> = (0..named.len() as u32).filter(|at| named[*at as usize].1.is_empty()).collect();
    let params = ClusterParams { k, ..ClusterParams::default() };
    let labels = cluster(ClusterRows::Plain(rows, dim), &wanted, &params, None, ctx)?.labels;
    let mut sizes = vec![0usize; k];
    labels.iter().for_each(|label| sizes[*label as usize] += 1);
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by_key(|cluster| std::cmp::Reverse(sizes[*cluster]));
    for (at, label) in wanted.into_iter().zip(labels) {
        let place = order.iter().position(|cluster| *cluster == label as usize).unwrap_or_default();
        named[at as usize].1 = (place + 1).to_string().into();
    }
    Ok(())
}

/// The words of a file and their groups.
fn grouped(path: &Path) -> Result<Named> {
    let bytes = std::fs::read(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    let text = std::str::from_utf8(&bytes)
        .ok()
        .with_context(|| message!("{} 不是 UTF-8", "{} is not UTF-8", path.display()))?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines
        .map(|line| {
            let at = line.find('\t').or_else(|| line.find(char::is_whitespace)).unwrap_or(line.len());
            (line[..at].into(), line[at..].trim().into())
        })
        .collect())
}

fn perplexity(params: &ProjectionParams, words: usize) -> Result<f32> {
    let most = Tsne::most(words);
    let perplexity = params.perplexity.unwrap_or(PERPLEXITY.min(most));
    if params.method == ProjectionMethod::Tsne {
        ensure!(
            perplexity >= 1.0 && perplexity <= most,
            "困惑度 {perplexity} 不适合 {words} 个词：这么多词时 --perplexity 为 1 到 {most}；要更大请多写一些词",
            "a perplexity of {perplexity} does not suit {words} words: --perplexity is from 1 to {most} for so many; name more words for a larger one"
        );
        ensure!(
            params.epochs > 0,
            "不迭代的 t-SNE 没有结果：--epochs 须不小于 1",
            "t-SNE of no steps shows nothing: --epochs is 1 or more"
        );
    }
    Ok(perplexity)
}

impl Projection {
    pub fn points(&self) -> impl Iterator<Item = (&str, [f64; 2])> {
        self.words.iter().map(|placed| (&*placed.word, placed.point))
    }

    /// The groups of the words, empty where a word has none.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|placed| &*placed.group)
    }

    /// A line that describes the picture.
    pub fn caption(&self) -> &str {
        &self.caption
    }

    /// The picture, as [`Projection::write`] writes it.
    pub fn svg(&self) -> Result<String> {
        let mut bytes = Vec::new();
        picture::draw(self, &mut bytes)?;
        String::from_utf8(bytes).context(Word("图应为文本", "a picture is text"))
    }

    /// Fails when there is no such output.
    pub fn check_output(path: &Path) -> Result<()> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv" | "parquet" | "svg") => Ok(()),
            _ => bail!(
                "{}：输出文件名决定种类；请写成 .svg、.csv 或 .parquet",
                "{}: the name of the output says what it is; write .svg, .csv or .parquet",
                path.display()
            ),
        }
    }

    /// Writes a picture (.svg) or a table (.csv, .parquet).
    pub fn write(&self, path: &Path, formulas: Formulas) -> Result<()> {
        Projection::check_output(path)?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => disk::write_atomic(path, |out| picture::draw(self, out)),
            Some("csv") => disk::write_atomic(path, |out| {
                let mut table = csv::Writer::from_writer(out);
                table.write_record(["word", "group", "x", "y"])?;
                for PlacedWord { word, group, point: [x, y] } in &self.words {
                    let texts = [formulas.field(word), formulas.field(group)];
                    table.write_record([&*texts[0], &*texts[1], &*x.to_string(), &*y.to_string()])?;
                }
                Ok(table.flush()?)
            }),
            _ => {
                let text = |name: &str, field: fn(&PlacedWord) -> &str| -> Column {
                    Series::new(name.into(), self.words.iter().map(field).collect::<Vec<&str>>()).into_column()
                };
                let axis = |name: &str, axis: usize| -> Column {
                    let values: Vec<f64> = self.words.iter().map(|placed| placed.point[axis]).collect();
                    Series::new(name.into(), values).into_column()
                };
                let words = text("word", |placed| &placed.word);
                let columns = vec![words, text("group", |placed| &placed.group), axis("x", 0), axis("y", 1)];
                frames::write_parquet(path, &mut frames::frame(columns)?)
            }
        }
    }
}
