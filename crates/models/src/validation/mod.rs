//! Cross-validation: which rows train and which test, so that nothing of a test fold is known to what it tests.
//!
//! Folds are drawn by class (each fold has its share), by group (a group is never on both sides), or by time: stretches of time
//! with the training rows purged whose label interval overlaps the fold's, and those that begin within the embargo after it
//! (Lopez de Prado 2018, ch. 7). Groups are kept whole whatever the folds are drawn by.

mod draw;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::goal::Goal;

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// The rule by which folds are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum FoldsBy {
    /// Each fold has its share of each class; rows are shuffled by the seed.
    #[default]
    Class,
    /// Groups are kept whole and spread so that each fold has about its share of each class.
    Group,
    /// Each fold is a stretch of time.
    Time,
}

defaults! {
    pub struct FoldParams {
        /// Folds, at least 2.
        folds: usize = 5,
        /// `class` (default), `group` or `time`.
        by: FoldsBy = FoldsBy::Class,
        /// By time: natural days after a test fold in which no training row may begin.
        embargo_days: u32 = 0,
    }
}

/// Groups and times of the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoldRows {
    /// The group of each row; empty: each row is its own.
    pub groups: Vec<u64>,
    /// When each row begins and when its label is known; empty: unknown.
    pub spans: Vec<(NaiveDateTime, NaiveDateTime)>,
}

impl FoldRows {
    /// Groups and spans of some rows.
    pub(crate) fn select(&self, rows: &[usize]) -> FoldRows {
        FoldRows {
            groups: if self.groups.is_empty() { Vec::new() } else { rows.iter().map(|&i| self.groups[i]).collect() },
            spans: if self.spans.is_empty() { Vec::new() } else { rows.iter().map(|&i| self.spans[i]).collect() },
        }
    }
}

/// One fold: the rows that train and those that test, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    pub train: Vec<usize>,
    /// Rows that test; each row tests once.
    pub test: Vec<usize>,
    /// Rows left out because their label overlaps the fold or the embargo.
    pub purged: usize,
    /// Rows left out because their group is tested.
    pub grouped: usize,
}

/// Draws the folds. Every class must be in each training part, or the message says which is not.
pub fn draw_folds(goal: &Goal, rows: &FoldRows, params: &FoldParams, seed: u64) -> Result<Vec<Split>> {
    let n = goal.rows();
    ensure!(
        params.folds >= 2,
        "{} 折：交叉验证至少需要 2 折",
        "{} folds: cross-validation needs at least 2",
        params.folds
    );
    ensure!(
        n >= params.folds,
        "{n} 行不能分成 {} 折；请减少折数",
        "{n} rows cannot be cut into {} folds; use fewer folds",
        params.folds
    );
    ensure!(
        rows.groups.is_empty() || rows.groups.len() == n,
        "{n} 行，却有 {} 个分组",
        "{} groups for {n} rows",
        rows.groups.len()
    );
    let class = goal.strata();
    let splits = match params.by {
        FoldsBy::Class if rows.groups.is_empty() => {
            goal.check_members(
                2,
                Word(
                    "使训练与测试都有它",
                    "be in training and test: leave it out, join it with another, or do without folds",
                ),
            )?;
            draw::by_class(&class, params.folds, seed)
        }
        FoldsBy::Class | FoldsBy::Group => {
            ensure!(!rows.groups.is_empty(), "按组分折须有每一行的分组", "folds by group need the group of each row");
            draw::by_group(&class, &rows.groups, params.folds, seed)?
        }
        FoldsBy::Time => {
            ensure!(
                rows.spans.len() == n,
                "按时间分折须有每一行的时间；{n} 行中有 {} 行有时间",
                "folds by time need the time of each row; {} of {n} have one",
                rows.spans.len()
            );
            draw::by_time(rows, params)?
        }
    };
    for (at, split) in splits.iter().enumerate() {
        if split.train.is_empty() || split.test.is_empty() {
            bail!(
                "第 {} 折（共 {} 折）有 {} 行训练、{} 行测试（{} 行因重叠剔除，{} 行与测试同组）：请减少折数，或缩短禁区或标签期",
                "fold {} of {} has {} rows to train and {} to test ({} purged, {} of a tested group): use fewer folds, a shorter embargo or shorter labels",
                at + 1,
                splits.len(),
                split.train.len(),
                split.test.len(),
                split.purged,
                split.grouped
            );
        }
        goal.select(&split.train)
            .check_members(
                1,
                Word("训练这一折", "train this fold: use fewer folds, draw them otherwise, or leave it out"),
            )
            .map_err(|error| error.context(message!("第 {} 折（共 {} 折）", "fold {} of {}", at + 1, splits.len())))?;
    }
    Ok(splits)
}

/// The part of the rows that [`hold_out`] leaves to test: one in so many.
const HELD_OUT: usize = 10;

/// Holds out rows on which a training sees when to stop: the last tenth in time, with the rows purged whose label was not known before it
/// begins; a tenth of the groups, or of each class, where there are no times or too few that differ.
pub(crate) fn hold_out(goal: &Goal, rows: &FoldRows, seed: u64) -> Result<Split> {
    let class = goal.strata();
    let n = class.len();
    ensure!(
        n >= HELD_OUT,
        "{n} 行太少，留不出十分之一供判断何时停止训练",
        "{n} rows are too few to hold a tenth of them out, on which the training sees when to stop"
    );
    let by_time = (rows.spans.len() == n).then(|| {
        let params = FoldParams { folds: HELD_OUT, by: FoldsBy::Time, embargo_days: 0 };
        draw::by_time(rows, &params).map(|mut folds| folds.pop())
    });
    let by_time = by_time.transpose()?.flatten();
    if let Some(split) = by_time.filter(|split| !split.train.is_empty() && !split.test.is_empty()) {
        return Ok(split);
    }
    let groups = rows.groups.iter().collect::<FxHashSet<_>>().len();
    let mut folds = match groups >= HELD_OUT {
        true => draw::by_group(&class, &rows.groups, HELD_OUT, seed)?,
        false => draw::by_class(&class, HELD_OUT, seed),
    };
    folds.pop().context(Word("应有分折", "there are folds"))
}

#[cfg(test)]
mod tests;
