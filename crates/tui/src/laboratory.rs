//! The functions and values behind the page of experiments: findings, grids, and documents as strategies cut them.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;

use super::Runner;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_corpus::truncate::{Layout, SectionCounts, SectionShare, TokenView};
use inkstone_features::experiment::{Findings, Grid};

/// The findings of all experiments, in the order of the configuration; those that were not run yet are left out.
pub(crate) type AllFindings = Arc<dyn Fn() -> Result<Vec<Findings>> + Send + Sync>;

/// The progress of the experiments, in the order of the configuration; those that never ran are left out. Called again and again
/// while a job runs, so it has to be quick.
pub(crate) type AllGrids = Arc<dyn Fn() -> Result<Vec<Grid>> + Send + Sync>;

/// Document number so and so of an experiment, cut by its strategies; none when the experiment has no such document.
pub(crate) type Truncator = Arc<dyn Fn(&str, usize) -> Result<Option<Truncated>> + Send + Sync>;

/// The documents of an experiment by how far two feature sets score them apart, the farthest first: their numbers, and the scores of the one
/// less those of the other.
pub(crate) type Differing = Arc<dyn Fn(&str, [Key; 2], &Ctx) -> Result<Vec<(usize, f64)>> + Send + Sync>;

/// The experiments as the workbench opens them. The functions are called on threads of their own.
#[derive(Clone)]
pub struct Laboratory {
    pub findings: AllFindings,
    pub grids: AllGrids,
    /// A document under the strategies of an experiment.
    pub document: Truncator,
    /// The documents that two cells score farthest apart.
    pub differing: Differing,
    /// Names of the experiments and the number of their cells, as they would run.
    pub planned: Vec<(String, usize)>,
    /// Runs the experiments; called on a thread of its own each time the user asks for it.
    pub run: Runner,
}

/// A document of an experiment, cut by each strategy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truncated {
    pub title: String,
    /// The text that models read. All ranges are bytes of it.
    pub text: String,
    /// Documents of the experiment.
    pub documents: usize,
    /// The part that each cell of the experiment keeps of it.
    pub strategies: Vec<Kept>,
    /// The reason why there are no scores, where the store that has them could not be opened.
    pub without_scores: Option<String>,
}

/// The part of a document that one cell keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// The number of the cell among those of the findings.
    pub cell: usize,
    /// Bytes kept: half-open, ascending, apart, on character boundaries. What several windows hold stands once.
    pub ranges: Vec<Range<usize>>,
    /// Tokens kept, each counted once.
    pub kept: usize,
    /// Tokens of the document.
    pub all: usize,
    /// Windows that it is read in.
    pub windows: usize,
    pub sections: Vec<SectionShare>,
    /// The score of the cell's model; none if it was not asked or gave none.
    pub score: Option<f64>,
}

impl Kept {
    /// The part of a document that the views of a cell's strategy keep; `tokens` are the bytes of each token of the layout.
    pub fn new(cell: usize, layout: &Layout, views: &[TokenView], tokens: &[Range<usize>]) -> Kept {
        let kept = TokenView::union(views);
        let mut sections = SectionCounts::default();
        sections.add(layout, views);
        Kept {
            cell,
            kept: kept.iter().map(ExactSizeIterator::len).sum(),
            ranges: kept.iter().map(|range| tokens[range.start].start..tokens[range.end - 1].end).collect(),
            all: tokens.len(),
            windows: views.len(),
            sections: sections.shares(),
            score: None,
        }
    }
}
