//! Number of tokens of each section that strategies keep.

use serde::{Deserialize, Serialize};

use super::{Layout, TokenView};
use crate::structure::Section;

/// Tokens of a section, in all and kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SectionShare {
    pub section: Section,
    /// Tokens in all documents.
    pub tokens: u64,
    /// Tokens that the strategy keeps.
    pub kept: u64,
}

#[derive(Clone, Debug, Default)]
pub struct SectionCounts {
    /// By section, in the order of [`Section::ALL`]: tokens, and tokens kept.
    counts: [(u64, u64); Section::ALL.len()],
}

impl SectionCounts {
    /// Counts a document. Tokens of several windows count once.
    pub fn add(&mut self, layout: &Layout, views: &[TokenView]) {
        let ranges = TokenView::union(views);
        for passage in layout.passages() {
            let at = Section::ALL.iter().position(|section| *section == passage.section).unwrap_or_default();
            let (start, end) = (passage.tokens.start, passage.tokens.end);
            let kept: usize = ranges.iter().map(|r| r.end.min(end).saturating_sub(r.start.max(start))).sum();
            self.counts[at].0 += passage.tokens.len() as u64;
            self.counts[at].1 += kept as u64;
        }
    }

    pub fn merge(&mut self, other: &SectionCounts) {
        for (here, there) in self.counts.iter_mut().zip(&other.counts) {
            here.0 += there.0;
            here.1 += there.1;
        }
    }

    /// The sections that have tokens.
    pub fn shares(&self) -> Vec<SectionShare> {
        let share = |(section, &(tokens, kept)): (Section, &(u64, u64))| SectionShare { section, tokens, kept };
        Section::ALL.into_iter().zip(&self.counts).filter(|(_, counts)| counts.0 > 0).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::{Salience, Sentence};
    use crate::truncate::Strategy;

    #[test]
    fn tokens_are_counted_once_by_section() {
        let sentence =
            |start, end, section| Sentence { range: start..end, section, boilerplate: false, salience: Salience::NONE };
        let sentences =
            [sentence(0, 10, Section::Title), sentence(10, 30, Section::Body), sentence(30, 40, Section::Risk)];
        let layout = Layout::new(0..40, &sentences);
        let mut counts = SectionCounts::default();
        let strategy: Strategy = "windows:16/8".parse().unwrap();
        counts.add(&layout, &strategy.views(&layout, 0, 0)[..2]);
        let mut all = SectionCounts::default();
        all.merge(&counts);
        all.merge(&counts);
        let shares: Vec<_> = all.shares().iter().map(|s| (s.section, s.tokens, s.kept)).collect();
        assert_eq!(shares, [(Section::Title, 20, 20), (Section::Body, 40, 28), (Section::Risk, 20, 0)]);
    }
}
