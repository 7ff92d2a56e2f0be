//! The goal of an estimator: one class a row, a set of labels a row, or a value a row.

use anyhow::Result;
use serde::Serialize;

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Goal {
    /// One class a row.
    Classes {
        /// By row, a number of `names`.
        class: Vec<u32>,
        /// The classes, in the order of their outputs.
        names: Vec<String>,
    },
    /// Any number of labels a row.
    Labels {
        /// By row, ascending numbers of `names`.
        labels: Vec<Vec<u32>>,
        /// The labels, in the order of their outputs.
        names: Vec<String>,
    },
    /// A value a row.
    Values(Vec<f64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalKind {
    Values,
    Classes,
    Labels,
}

impl Goal {
    pub fn kind(&self) -> GoalKind {
        match self {
            Goal::Values(_) => GoalKind::Values,
            Goal::Classes { .. } => GoalKind::Classes,
            Goal::Labels { .. } => GoalKind::Labels,
        }
    }

    pub fn rows(&self) -> usize {
        match self {
            Goal::Classes { class, .. } => class.len(),
            Goal::Labels { labels, .. } => labels.len(),
            Goal::Values(values) => values.len(),
        }
    }

    /// Names of classes or labels; none for values.
    pub fn names(&self) -> &[String] {
        match self {
            Goal::Classes { names, .. } | Goal::Labels { names, .. } => names,
            Goal::Values(_) => &[],
        }
    }

    /// The goals of some rows.
    pub fn select(&self, rows: &[usize]) -> Goal {
        match self {
            Goal::Classes { class, names } => {
                Goal::Classes { class: rows.iter().map(|&i| class[i]).collect(), names: names.clone() }
            }
            Goal::Labels { labels, names } => {
                Goal::Labels { labels: rows.iter().map(|&i| labels[i].clone()).collect(), names: names.clone() }
            }
            Goal::Values(values) => Goal::Values(rows.iter().map(|&i| values[i]).collect()),
        }
    }

    /// The classes by which folds are balanced: the class; the rarest label of a row; none for values.
    pub(crate) fn strata(&self) -> Vec<u32> {
        match self {
            Goal::Classes { class, .. } => class.clone(),
            Goal::Labels { labels, names } => {
                let sizes = self.sizes();
                let rarest = |labels: &Vec<u32>| labels.iter().copied().min_by_key(|&l| (sizes[l as usize], l));
                labels.iter().map(|row| rarest(row).unwrap_or(names.len() as u32)).collect()
            }
            Goal::Values(values) => vec![0; values.len()],
        }
    }

    /// Rows of each class or label.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.names().len()];
        match self {
            Goal::Classes { class, .. } => class.iter().for_each(|&c| sizes[c as usize] += 1),
            Goal::Labels { labels, .. } => labels.iter().flatten().for_each(|&l| sizes[l as usize] += 1),
            Goal::Values(_) => {}
        }
        sizes
    }

    /// Fails when a class has fewer rows than it needs to `purpose`, naming it. Labels may be rare: one that no row has
    /// is simply never called.
    pub(crate) fn check_members(&self, least: usize, purpose: Word) -> Result<()> {
        let Goal::Classes { names, .. } = self else { return Ok(()) };
        if let Some((name, n)) = names.iter().zip(self.sizes()).find(|(_, n)| *n < least) {
            let rows = Word("行", if n == 1 { "row" } else { "rows" });
            bail!(
                "类别 {name:?} 有 {n} {rows}，{purpose}需要 {least}",
                "class {name:?} has {n} {rows}, and needs {least} to {purpose}"
            );
        }
        Ok(())
    }

    /// Fails when nothing can be learned: no rows, one class, values that are no numbers.
    pub fn check(&self) -> Result<()> {
        ensure!(self.rows() > 0, "没有可学习的行", "there are no rows to learn from");
        match self {
            Goal::Classes { names, .. } => {
                ensure!(
                    names.len() > 1,
                    "所有行同属一类（{:?}）：分类器需要两类以上",
                    "all rows are of one class ({:?}): a classifier needs two or more",
                    names.first().map_or("", String::as_str)
                );
                self.check_members(1, Word("学习", "learn from: leave it out"))
            }
            Goal::Labels { names, labels } => {
                ensure!(!names.is_empty(), "没有一行有标签", "no row has a label");
                let full = self.sizes().iter().all(|&n| n == labels.len());
                ensure!(
                    !full,
                    "每一行都有全部标签：没有可区分的",
                    "every row has every label: there is nothing to tell apart"
                );
                Ok(())
            }
            Goal::Values(values) => match values.iter().position(|v| !v.is_finite()) {
                Some(i) => bail!(
                    "第 {i} 行的值为 {}：请去掉没有有限值的行",
                    "row {i} has the value {}: leave out rows without a finite value",
                    values[i]
                ),
                None => Ok(()),
            },
        }
    }
}
