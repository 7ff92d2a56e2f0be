//! Clusters of a file as `eval`, `embed` and `explain` use them.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::plain::{KIND, NO_ROW, RowsOf, Themes};
use super::{membership, theme_names};
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, figures, place_of_class};
use crate::lines::{Line, Lines};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, message};
use inkstone_models::{ClusterRows, Explanation, ModelFile, ModelHeader, Part};

/// Bytes of lines that are in memory at once.
const BLOCK: usize = 1 << 22;

pub(crate) struct FittedThemes {
    header: ModelHeader,
    themes: Themes,
    rows: RowsOf,
}

impl FittedThemes {
    /// The clusters of a file at `path`, on the rows of the model that it names.
    pub(crate) fn open(file: &ModelFile, path: &Path, rows: RowsOf) -> Result<FittedThemes> {
        let themes = Themes::read(file)?;
        // Sparse rows end with the last term that a document had.
        if themes.centres.dim > rows.width() {
            bail!(
                "{} 读取 {} 列，而其模型给出 {} 列；请重新训练聚类",
                "{} reads {} columns, and its model gives {}; train the clusters again",
                path.display(),
                themes.centres.dim,
                rows.width()
            );
        }
        Ok(FittedThemes { header: file.header().clone(), themes, rows })
    }

    /// Squared distances of each row to all centres; none for one without a direction.
    fn distances(&self, rows: &Rows) -> Result<Vec<Option<Vec<f64>>>> {
        let centres = &self.themes.centres;
        let (rows, count) = match rows {
            Rows::Dense(values) => (ClusterRows::Plain(values, centres.dim), values.len() / centres.dim.max(1)),
            Rows::Sparse(rows) => (ClusterRows::Sparse(rows), rows.rows()),
            Rows::Table { .. } => bail!("行的种类与列不符", "rows of another kind than their columns"),
        };
        Ok(centres.all_distances(rows, &(0..count as u32).collect::<Vec<_>>()))
    }

    fn memberships(&self, rows: &Rows) -> Result<Rows> {
        let k = self.themes.centres.k;
        let distances = self.distances(rows)?;
        let mut values = Vec::with_capacity(distances.len() * (k + 1));
        for distances in distances {
            match distances {
                None => values.extend(std::iter::repeat_n(f32::NAN, k + 1)),
                Some(distances) => {
                    values.extend(membership(&distances, 0.0).iter().map(|share| *share as f32));
                    values.push(distances.iter().copied().fold(f64::INFINITY, f64::min).sqrt() as f32);
                }
            }
        }
        Ok(Rows::Dense(values))
    }
}

impl Fitted for FittedThemes {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(theme_names(self.themes.centres.k).chain(["distance".to_owned()]).collect()))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        self.memberships(&self.rows.model.rows(lines)?)
    }

    fn many(&self, lines: &[Line<'_>], ctx: &Ctx) -> Result<Vec<(usize, Rows)>> {
        let rows = self.rows.model.many(lines, ctx)?;
        rows.into_iter().map(|(count, rows)| Ok((count, ctx.install(|| self.memberships(&rows))?))).collect()
    }

    /// The cosine with a theme, by default the nearest, as a sum over words: of sparse rows, and of dense ones that are sums over words.
    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let row = self.rows.model.rows(std::slice::from_ref(line))?;
        let distances = self.distances(&row)?.pop().flatten().context(NO_ROW)?;
        let names: Vec<String> = theme_names(self.themes.centres.k).collect();
        let theme = match of {
            Some(name) => place_of_class(&names, name)?,
            None => (0..distances.len()).min_by(|a, b| distances[*a].total_cmp(&distances[*b])).unwrap_or_default(),
        };
        let centre = self.themes.centres.row(theme);
        let words: Vec<(String, f64)> = match (&row, &self.rows.columns) {
            (Rows::Sparse(rows), Columns::Sparse { names, .. }) if !names.is_empty() => {
                let product = |(j, value): (u32, f32)| {
                    let weight = centre.get(j as usize).copied().unwrap_or_default();
                    (names[j as usize].clone(), f64::from(value) * weight)
                };
                rows.row(0).iter().map(product).collect()
            }
            _ => {
                let parts = self.rows.model.word_parts(line);
                let Some(parts) = parts else {
                    bail!(
                        "{KIND} 所用的行不是词的和，不能逐词解释；inkstone eval 列出各主题的词",
                        "the rows that these {KIND} are of are no sums over words; inkstone eval lists the words of the themes"
                    )
                };
                let product = |part: &[f32]| part.iter().zip(centre).map(|(a, b)| f64::from(*a) * b).sum();
                parts.into_iter().map(|(word, part)| (word, product(&part))).collect()
            }
        };
        let square = match &row {
            Rows::Dense(values) => values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>(),
            Rows::Sparse(rows) => rows.row(0).iter().map(|(_, v)| f64::from(v).powi(2)).sum(),
            Rows::Table { .. } => 0.0,
        };
        let length = (square * centre.iter().map(|v| v * v).sum::<f64>()).sqrt();
        let part = |(token, product): (String, f64)| Part { token, value: product / length, detail: Vec::new() };
        let terms: Vec<Part> = words.into_iter().map(part).collect();
        let named: Vec<&str> = self.themes.names[theme].iter().map(|(word, _)| word.as_str()).collect();
        let explanation = Explanation {
            of: Some(names[theme].clone()),
            formula: message!(
                "与 {} 中心的余弦（{}）",
                "cosine with the centre of {} ({})",
                names[theme],
                named.join(" ")
            ),
            score: terms.iter().map(|part| part.value).sum(),
            terms,
            ..Explanation::default()
        };
        Ok(explanation.largest_first())
    }

    /// `mean_distance` and the documents of each theme, beside those of training.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(KIND)?;
        let (mut documents, mut without_row, mut inertia) = (0u64, 0u64, 0.0);
        let mut sizes = vec![0u64; self.themes.centres.k];
        lines.for_each_block(BLOCK, |lines| {
            for (_, rows) in self.rows.model.many(&lines, ctx)? {
                for distances in ctx.install(|| self.distances(&rows))? {
                    documents += 1;
                    let Some(distances) = distances else {
                        without_row += 1;
                        continue;
                    };
                    let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
                    inertia += least;
                    sizes[distances.iter().position(|distance| *distance == least).unwrap_or_default()] += 1;
                }
            }
            Ok(())
        })?;
        let found = (documents - without_row).max(1) as f64;
        let mut themes = self.themes.described();
        for (theme, (size, trained)) in
            themes.as_array_mut().into_iter().flatten().zip(sizes.iter().zip(&self.themes.sizes))
        {
            theme["documents"] = json!(size);
            theme["trained_on"] = json!(trained);
        }
        let figures = figures(json!({
            "documents": documents, "without_row": without_row, "inertia": inertia,
            "mean_squared_distance": inertia / found, "themes": themes,
        }));
        Ok((figures, lines.finish()?))
    }
}
