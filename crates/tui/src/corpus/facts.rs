//! Facts of documents that the list has no room for at first: who published them, how long they are, the first words of those without a
//! title, scores of features, and the user's notes. It is read when it is asked for, and comes part by part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;

use super::catalogue::CataloguePart;
use super::load::CorpusIndex;
use inkstone_base::{message, stats};
use inkstone_tables::{corpus, frames};

/// Characters of a body that stand in the place of a title.
const OPENING: usize = 60;

/// A fact that is a text, often the same in many documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TextFact {
    Org,
    Author,
    Source,
    Rating,
}

impl TextFact {
    pub(super) const ALL: [TextFact; 4] = [TextFact::Org, TextFact::Author, TextFact::Source, TextFact::Rating];

    /// The name of its column in the files, in filters and in sessions.
    pub(super) fn id(self) -> &'static str {
        match self {
            TextFact::Org => "org",
            TextFact::Author => "author",
            TextFact::Source => "source",
            TextFact::Rating => "rating",
        }
    }
}

/// Texts of a part, each once, and for each document the number of its own.
#[derive(Debug, Default)]
struct PartTexts {
    names: Vec<Box<str>>,
    numbers: Vec<u32>,
}

/// The facts of a part that its files hold; empty where they cannot be read.
#[derive(Debug, Default)]
pub(super) struct PartDetails {
    texts: [PartTexts; 4],
    /// Characters of each body.
    lengths: Vec<u32>,
    /// The first words of documents without a title, by row.
    openings: FxHashMap<u32, Box<str>>,
}

impl PartDetails {
    /// Reads the facts of the documents of a part.
    pub(super) fn read(index: &CorpusIndex, part: usize, listed: &CataloguePart) -> Result<PartDetails> {
        let path = index.path(part)?;
        let columns: Vec<&str> = TextFact::ALL.iter().map(|fact| fact.id()).chain(["body"]).collect();
        let frame = frames::read_parquet(path, Some(&columns))?;
        let text = |name: &str| {
            let column = corpus::column(&frame, name)?.str();
            column.with_context(|| message!("在 {} 中", "in {}", path.display()))
        };
        let mut details = PartDetails::default();
        for (fact, texts) in TextFact::ALL.into_iter().zip(&mut details.texts) {
            let mut known: FxHashMap<&str, u32> = FxHashMap::default();
            for value in text(fact.id())?.iter() {
                let value = value.unwrap_or_default();
                let next = known.len() as u32;
                texts.numbers.push(*known.entry(value).or_insert_with(|| {
                    texts.names.push(value.into());
                    next
                }));
            }
        }
        for (row, body) in text("body")?.iter().enumerate() {
            let body = body.unwrap_or_default();
            details.lengths.push(u32::try_from(body.chars().count()).unwrap_or(u32::MAX));
            if row < listed.len() && listed.title(row).is_empty() {
                details.openings.insert(row as u32, opening(body).into());
            }
        }
        Ok(details)
    }
}

/// The first words of a body on one line.
fn opening(body: &str) -> String {
    let mut opening = String::new();
    for word in body.split_whitespace() {
        if !opening.is_empty() {
            opening.push(' ');
        }
        opening.extend(word.chars().take(OPENING));
        if opening.chars().nth(OPENING).is_some() {
            break;
        }
    }
    opening.chars().take(OPENING).collect()
}

/// The values of a column of a feature, part by part; NaN where a document has none.
#[derive(Debug, Default)]
pub(super) struct Scores {
    parts: Vec<Vec<f32>>,
    /// A length that few values exceed: the 99th percentile of what they are without their sign.
    pub scale: f64,
}

impl Scores {
    pub(super) fn new(parts: Vec<Vec<f32>>) -> Scores {
        let all = parts.iter().flatten().filter(|value| value.is_finite());
        let mut sizes: Vec<f64> = all.map(|value| f64::from(value.abs())).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        Scores { parts, scale: stats::quantile(&sizes, 0.99) }
    }

    /// True if the parts have so many rows as these.
    pub(super) fn fits(&self, rows: impl ExactSizeIterator<Item = usize>) -> bool {
        rows.len() == self.parts.len() && rows.zip(&self.parts).all(|(rows, part)| part.len() == rows)
    }

    fn score(&self, (part, row): (usize, usize)) -> f64 {
        self.parts.get(part).and_then(|part| part.get(row)).map_or(f64::NAN, |value| f64::from(*value))
    }
}

/// Notes by the hash of the document's id.
pub(super) type Notes = FxHashMap<u64, String>;

/// All facts that have been read. Copies share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    details: BTreeMap<usize, Arc<PartDetails>>,
    scores: BTreeMap<Arc<str>, Arc<Scores>>,
    pub notes: Arc<Notes>,
    /// Hashes of the ids of marked documents.
    pub marks: Arc<BTreeSet<u64>>,
    /// Grows with each change: lists and ranks of an older version are made anew.
    pub version: u64,
}

impl Facts {
    pub(super) fn has_details(&self, part: usize) -> bool {
        self.details.contains_key(&part)
    }

    pub(super) fn parts_read(&self) -> usize {
        self.details.len()
    }

    pub(super) fn take_details(&mut self, part: usize, details: PartDetails) {
        self.details.insert(part, Arc::new(details));
    }

    pub(super) fn take_scores(&mut self, name: Arc<str>, scores: Scores) {
        self.scores.insert(name, Arc::new(scores));
        self.version += 1;
    }

    /// Forgets what belongs to an older corpus.
    pub(super) fn forget(&mut self) {
        (self.details, self.scores) = (BTreeMap::new(), BTreeMap::new());
        self.version += 1;
    }

    pub(super) fn scores(&self, name: &str) -> Option<&Scores> {
        self.scores.get(name).map(|scores| &**scores)
    }

    /// A text of the document at this part and row; empty where there is none.
    pub(super) fn text(&self, (part, row): (usize, usize), fact: TextFact) -> &str {
        let texts = self.details.get(&part).map(|details| &details.texts[fact as usize]);
        let text = texts.and_then(|texts| texts.names.get(*texts.numbers.get(row)? as usize));
        text.map_or("", |text| text)
    }

    /// Characters of its body.
    pub(super) fn length(&self, (part, row): (usize, usize)) -> Option<u32> {
        self.details.get(&part)?.lengths.get(row).copied()
    }

    /// The first words of the body, where the document has no title.
    pub(super) fn opening(&self, (part, row): (usize, usize)) -> Option<&str> {
        self.details.get(&part)?.openings.get(&u32::try_from(row).ok()?).map(|text| &**text)
    }

    /// The value of a feature; NaN where there is none.
    pub(super) fn score(&self, place: (usize, usize), name: &str) -> f64 {
        self.scores(name).map_or(f64::NAN, |scores| scores.score(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_the_first_words_on_one_line() {
        assert_eq!(opening("  第一段。\n\n第二段，\t后文"), "第一段。 第二段， 后文");
        assert_eq!(opening(&"长".repeat(500)).chars().count(), OPENING);
        assert_eq!((opening(""), opening(" \n ")), (String::new(), String::new()));
    }

    #[test]
    fn scores_are_of_documents_and_missing_ones_are_no_numbers() {
        let scores = Scores::new(vec![vec![0.5, f32::NAN], vec![-1.0]]);
        assert!(scores.fits([2, 1].into_iter()) && !scores.fits([2, 2].into_iter()) && !scores.fits([2].into_iter()));
        let mut facts = Facts::default();
        facts.take_scores("tone".into(), scores);
        assert_eq!(facts.score((1, 0), "tone"), -1.0);
        for (place, name) in [((0, 1), "tone"), ((0, 2), "tone"), ((2, 0), "tone"), ((0, 0), "other")] {
            assert!(facts.score(place, name).is_nan(), "{place:?} {name}");
        }
        assert!((facts.scores("tone").unwrap().scale - 0.995).abs() < 1e-9);
    }
}
