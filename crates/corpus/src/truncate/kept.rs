//! How much of each section strategies keep.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Layout, View};
use crate::structure::Section;

/// How much of a section is kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SectionShare {
    /// The section.
    pub section: Section,
    /// Its tokens in all documents.
    pub tokens: u64,
    /// Those of them that the strategy keeps.
    pub kept: u64,
}

/// Counts tokens by section.
#[derive(Clone, Debug, Default)]
pub struct SectionCounts {
    /// By section, in the order of [`Section::ALL`]: tokens, and tokens kept.
    counts: [(u64, u64); Section::ALL.len()],
}

impl SectionCounts {
    /// Counts a document. What several windows hold counts once.
    pub fn add(&mut self, layout: &Layout, views: &[View]) {
        let mut ranges: Vec<Range<usize>> = views.iter().flat_map(|view| view.tokens.clone()).collect();
        ranges.sort_by_key(|range| range.start);
        for passage in layout.passages() {
            let at = Section::ALL.iter().position(|section| *section == passage.section).unwrap_or_default();
            let (mut kept, mut counted) = (0, passage.tokens.start);
            for range in &ranges {
                let (start, end) = (range.start.max(counted), range.end.min(passage.tokens.end));
                if start < end {
                    kept += end - start;
                    counted = end;
                }
            }
            self.counts[at].0 += passage.tokens.len() as u64;
            self.counts[at].1 += kept as u64;
        }
    }

    /// Adds what another part counted.
    pub fn merge(&mut self, other: &SectionCounts) {
        for (here, there) in self.counts.iter_mut().zip(&other.counts) {
            here.0 += there.0;
            here.1 += there.1;
        }
    }

    /// The sections that there are.
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
