//! Clusters on plain files.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{NAMED, theme_names};
use crate::extract::documents::WordNumbers;
use crate::fitted::{Columns, Fitted, Rows};
use crate::lines::{Cutter, Line, Lines};
use crate::models::head::EncoderRecord;
use crate::models::tfidf::plain::fields;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_models::{
    Analyzer, Centres, ClusterParams, ClusterRows, Csr, DenseRows, Linkage, Merge, ModelFile, ModelHeader, SpilledCsr,
    SpilledDense, ThemeWords, VectorizerParams, cluster, cut, linkage, write_model,
};

pub const KIND: &str = "clusters";
const VERSION: u32 = 1;

/// Bytes of lines that are in memory at once.
const BLOCK: usize = 1 << 22;

/// Parameters of the clusters of documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThemesParams {
    pub clusters: ClusterParams,
    /// Clusters by merging, cut where `clusters.k` are left; none: k-means.
    pub linkage: Option<Linkage>,
}

/// A model whose rows are clustered: any model of a file or folder with dense or sparse rows.
pub struct RowsOf {
    pub(super) model: Box<dyn Fitted>,
    pub(super) record: EncoderRecord,
    pub(super) columns: Columns,
}

impl RowsOf {
    pub(crate) fn new(model: Box<dyn Fitted>, record: EncoderRecord, path: &Path) -> Result<RowsOf> {
        let columns = model.columns()?;
        if let Columns::Table { .. } = columns {
            bail!(
                "{} 给出分数，不能聚类；请用给出向量或词项权重的模型，如 train lsa、tfidf",
                "{} gives scores, which make no clusters; take a model of vectors or of weights of terms, as of train lsa or tfidf",
                path.display()
            );
        }
        Ok(RowsOf { model, record, columns })
    }

    pub(super) fn width(&self) -> usize {
        match &self.columns {
            Columns::Dense(names) => names.len(),
            Columns::Sparse { width, .. } => *width,
            Columns::Table { .. } => 0,
        }
    }
}

/// Themes with their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Themes {
    pub(super) centres: Centres,
    /// The words of each theme with their c-TF-IDF, the largest first.
    pub(super) names: Vec<Vec<(String, f64)>>,
    /// Documents of each theme.
    pub(super) sizes: Vec<u64>,
    inertia: f64,
    params: ThemesParams,
    rows: EncoderRecord,
    fitted_until: Option<NaiveDateTime>,
    /// The merges of a hierarchy.
    pub merges: Vec<Merge>,
}

impl Themes {
    /// Writes the model file, at the place that the model of the rows was opened for.
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = ModelHeader {
            kind: KIND.to_owned(),
            version: VERSION,
            fitted_until: self.fitted_until,
            documents: self.sizes.iter().sum(),
            params: json!({
                "encoder": self.rows, "themes": self.params, "k": self.centres.k, "dim": self.centres.dim,
                "unit": self.centres.unit, "names": self.names, "sizes": self.sizes, "inertia": self.inertia,
            }),
        };
        write_model(path, &header, &[("centres", bytemuck::cast_slice(&self.centres.values))])
    }

    pub(crate) fn read(file: &ModelFile) -> Result<Themes> {
        file.expect(KIND, VERSION)?;
        let values = file.numbers::<f64>("centres")?.to_vec();
        let centres = Centres { k: file.param("k")?, dim: file.param("dim")?, unit: file.param("unit")?, values };
        ensure!(
            centres.values.len() == centres.k * centres.dim,
            "聚类模型有 {} 个值，与 {} 类、{} 列不符；请重新训练",
            "the model of clusters has {} values for {} clusters of {} columns; train it again",
            centres.values.len(),
            centres.k,
            centres.dim
        );
        Ok(Themes {
            centres,
            names: file.param("names")?,
            sizes: file.param("sizes")?,
            inertia: file.param("inertia")?,
            params: file.param("themes")?,
            rows: file.param("encoder")?,
            fitted_until: file.header().fitted_until,
            merges: Vec::new(),
        })
    }

    /// The themes as a JSON array: column, documents, words.
    pub(super) fn described(&self) -> serde_json::Value {
        described(&self.sizes, &self.names)
    }
}

/// Themes as a JSON array: column, documents, words with their weights.
pub(super) fn described(sizes: &[u64], names: &[Vec<(String, f64)>]) -> serde_json::Value {
    let theme = |(column, (documents, words)): (String, (&u64, &Vec<(String, f64)>))| {
        let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
        json!({"theme": column, "documents": documents, "words": words})
    };
    theme_names(sizes.len()).zip(sizes.iter().zip(names)).map(theme).collect()
}

/// The rows of the lines, in scratch files.
enum SpilledRows {
    Dense(SpilledDense),
    Sparse(SpilledCsr),
}

pub(super) enum KeptRows {
    Dense(DenseRows),
    Sparse(Csr),
}

impl KeptRows {
    pub(super) fn rows(&self) -> ClusterRows<'_> {
        match self {
            KeptRows::Dense(rows) => ClusterRows::Dense(rows),
            KeptRows::Sparse(rows) => ClusterRows::Sparse(rows),
        }
    }
}

/// Puts the documents of all lines into clusters. Scratch files lie in `folder`. The report has `documents`, `without_row`, `k`, `inertia`,
/// `rounds`, `fitted_until` and `themes`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    base: &RowsOf,
    params: &ThemesParams,
    folder: &Path,
    ctx: &Ctx,
) -> Result<(Themes, Report)> {
    let words = VectorizerParams::default();
    let analyzer = Analyzer::new(&words, cutter.segmenter().cloned())?;
    let mut spilled = match base.columns {
        Columns::Sparse { .. } => SpilledRows::Sparse(SpilledCsr::within(folder)?),
        _ => SpilledRows::Dense(SpilledDense::within(folder)?),
    };
    let (mut terms, mut numbers) = (SpilledCsr::within(folder)?, WordNumbers::default());
    let mut last: Option<NaiveDateTime> = None;
    let mut timed = true;
    lines.for_each_block(BLOCK, |documents: Vec<Line<'_>>| {
        for line in &documents {
            timed &= line.time.is_some();
            last = last.max(line.time);
        }
        for (_, rows) in base.model.many(&documents, ctx)? {
            match (&mut spilled, rows) {
                (SpilledRows::Dense(all), Rows::Dense(rows)) => all.push_rows(base.width(), &rows)?,
                (SpilledRows::Sparse(all), Rows::Sparse(rows)) => {
                    (0..rows.rows()).try_for_each(|i| all.push_row(rows.row(i).iter()))?;
                }
                _ => bail!("行的种类与列不符", "rows of another kind than their columns"),
            }
        }
        let cut = |line: &Line<'_>| {
            let mut found = Vec::new();
            analyzer.for_each_term(fields(line), &words, |term, _| found.push(term.to_owned()));
            found
        };
        let found: Vec<Vec<String>> = ctx.install(|| documents.par_iter().map(cut).collect());
        found.into_iter().try_for_each(|found| terms.push_counts(&mut numbers.number(found)))
    })?;
    let kept = match spilled {
        SpilledRows::Dense(rows) => KeptRows::Dense(rows.finish()?),
        SpilledRows::Sparse(rows) => KeptRows::Sparse(rows.finish()?),
    };
    let (rows, terms) = (kept.rows(), terms.finish()?);
    let wanted = rows.with_direction(0..rows.len() as u32);
    let without_row = rows.len() - wanted.len();
    let k = params.clusters.k;
    let (centres, labels, inertia, rounds, merges) = match params.linkage {
        None => {
            let found = cluster(rows, &wanted, &params.clusters, None, ctx)?;
            (found.centres, found.labels, found.inertia, Some(found.rounds), Vec::new())
        }
        Some(by) => {
            let ClusterRows::Dense(dense) = rows else {
                bail!(
                    "层次聚类需要稠密的行；请先 train lsa 再用其模型，或用 --method kmeans",
                    "a hierarchy needs dense rows; train lsa first and take its model, or use --method kmeans"
                )
            };
            ensure!(
                wanted.len() >= k,
                "{} 篇文档不能分成 {k} 类；请减小 -k",
                "{} documents do not make {k} clusters; choose a smaller -k",
                wanted.len()
            );
            let unit = !params.clusters.as_is;
            let points: Vec<f64> = wanted
                .iter()
                .flat_map(|row| {
                    let row = dense.row(*row as usize);
                    let length = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
                    row.iter().map(move |value| f64::from(*value) / if unit { length } else { 1.0 })
                })
                .collect();
            let merges = linkage(&points, dense.dim(), by, ctx)?;
            let labels = cut(&merges, wanted.len(), k);
            let centres = Centres::of_labels(&points, dense.dim(), &labels, unit);
            let distance = |(row, label): (&[f64], &u32)| {
                row.iter().zip(centres.row(*label as usize)).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
            };
            let inertia = points.chunks(dense.dim()).zip(&labels).map(distance).sum();
            (centres, labels, inertia, None, merges)
        }
    };
    let words = numbers.into_words();
    let (mut counted, mut sizes) = (ThemeWords::new(k), vec![0u64; k]);
    for (row, label) in wanted.iter().zip(&labels) {
        sizes[*label as usize] += 1;
        terms.row(*row as usize).iter().for_each(|(word, _)| counted.add(*label as usize, &words[word as usize]));
    }
    let of_rows = base.model.header().fitted_until;
    let fitted_until = if timed { last.zip(of_rows).map(|(last, rows)| last.max(rows)) } else { None };
    let themes = Themes {
        centres,
        names: counted.names(NAMED),
        sizes,
        inertia,
        params: params.clone(),
        rows: base.record.clone(),
        fitted_until,
        merges,
    };
    let mut report = lines.finish()?;
    report.fact("documents", wanted.len());
    report.fact("without_row", without_row);
    report.fact("k", k);
    report.fact("inertia", inertia);
    if let Some(rounds) = rounds {
        report.fact("rounds", rounds);
    }
    report.fact("fitted_until", fitted_until);
    report.fact("themes", themes.described());
    Ok((themes, report))
}

/// Writes the merges of a hierarchy as CSV: the two clusters, their distance, and the documents of the new one.
pub fn write_merges(merges: &[Merge], path: &Path) -> Result<()> {
    inkstone_base::disk::write_atomic(path, |out| {
        use std::io::Write;
        writeln!(out, "a,b,distance,documents")?;
        merges
            .iter()
            .try_for_each(|merge| writeln!(out, "{},{},{},{}", merge.a, merge.b, merge.distance, merge.rows))?;
        Ok(())
    })
    .with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))
}

/// Error of a text whose row has no direction.
pub(super) const NO_ROW: Word = Word(
    "这篇文档没有行：它是空的，或没有已知的词",
    "the document has no row: it is empty, or none of its words is known",
);
