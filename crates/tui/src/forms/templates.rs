//! Sections that a key adds to a configuration: a first feature with its factor, a model that learns, an experiment.

use super::{Change, Sheet};

/// A group of sections that are added together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// The tone of texts by the built-in lexicon, and its factor.
    Tone,
    /// TF-IDF rows, ridge regression on the returns that followed, and its factor.
    Ridge,
    /// Strategies of truncation compared by the factor of the tone.
    Experiment,
}

/// A section: its name in the configuration, the name that it gives itself, and its text.
type Block = (&'static str, &'static str, &'static str);

const TONE: Block = ("feature", "tone", "[[feature]]\nname = \"tone\"\nmodel = \"lexicon\"\n");
const TONE_FACTOR: Block =
    ("factor", "tone", "[[factor]]\nname = \"tone\"\nexpression = \"tone\"\ndecay = \"exponential:0.7\"\n");
const WORDS: Block = ("feature", "words", "[[feature]]\nname = \"words\"\nmodel = \"tfidf\"\ntfidf = { min_df = 5 }\n");
const LEARNED: Block = (
    "feature",
    "learned",
    "[[feature]]\nname = \"learned\"\nmodel = \"ridge\"\nmask_names = true\ntfidf = { min_df = 5 }\n",
);
const LEARNED_FACTOR: Block =
    ("factor", "learned", "[[factor]]\nname = \"learned\"\nexpression = \"learned\"\ndecay = \"exponential:0.7\"\n");
const TRUNCATION: Block = (
    "experiment",
    "truncation",
    "[[experiment]]\nname = \"truncation\"\ntarget = \"factor\"\nfeatures = [\"tone\"]\nfactor = \"tone\"\nunit = \"characters\"\n\
     vary = { truncate = [\"head\", \"tail\", \"head+tail@0.5\", \"middle\"] }\nbaseline = { truncate = \"head\" }\nlengths = [64, 128]\n",
);

impl Template {
    /// The changes that add what the configuration does not have yet; factors are left out where there are no prices.
    pub fn changes(self, sheet: &Sheet) -> Vec<Change> {
        let blocks: &[Block] = match self {
            Template::Tone => &[TONE, TONE_FACTOR],
            Template::Ridge => &[WORDS, LEARNED, LEARNED_FACTOR],
            Template::Experiment => &[TONE, TONE_FACTOR, TRUNCATION],
        };
        let wanted = |block: &&Block| has_prices(sheet) || block.0 == "feature";
        let missing = |(section, name, _): &&Block| !has(sheet, section, name);
        let change = |(section, _, text): &Block| Change::Block((*section).to_owned(), (*text).to_owned());
        blocks.iter().filter(wanted).filter(missing).map(change).collect()
    }
}

/// True if the configuration has a section of this name that calls itself so.
fn has(sheet: &Sheet, section: &str, name: &str) -> bool {
    let of_section = |path: &str| path.split('[').next() == Some(section);
    sheet.groups.iter().any(|group| of_section(&group.path) && group.name.as_deref() == Some(name))
}

/// True if a source of the configuration is a table of prices.
pub(crate) fn has_prices(sheet: &Sheet) -> bool {
    let is_prices = |group: &super::SettingGroup| {
        group.entries.iter().any(|entry| entry.key == "table" && entry.value.as_deref() == Some("\"prices\""))
    };
    sheet.groups.iter().any(|group| group.path.starts_with("source[") && is_prices(group))
}
