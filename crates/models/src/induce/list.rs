//! An induced lexicon as a list of words.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use inkstone_base::disk;

/// A word that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InducedWord {
    pub word: Box<str>,
    /// Above 0 for a good word, below 0 for a bad one; what it measures is the method's.
    pub weight: f64,
    /// The test statistic: t or z.
    pub statistic: f64,
    /// Two-sided p value.
    pub p: f64,
    /// Documents with the word; for seeds, how often it stands near one. 0 for a seed itself.
    pub count: u64,
}

/// Words found in a corpus, and what the corpus was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InducedLexicon {
    /// The words, the most certain first.
    pub words: Vec<InducedWord>,
    /// Words that were tested.
    pub tested: usize,
    pub documents: u64,
    /// The last time of these, where they had times.
    pub fitted_until: Option<NaiveDateTime>,
    /// A description of how the words were found.
    pub method: String,
}

impl InducedLexicon {
    /// Good and bad words.
    pub fn sides(&self) -> [usize; 2] {
        let good = self.words.iter().filter(|word| word.weight > 0.0).count();
        [good, self.words.len() - good]
    }

    /// Writes the words: a table of both sides with signed weights (for `signed` of `[feature.lexicon]`) at `path` when that has
    /// an extension, else a folder of `positive.txt` and `negative.txt` (for `positive` and `negative`). All of them say what they were
    /// fitted on, which the lexicon heeds.
    pub fn save(&self, path: &Path) -> Result<()> {
        if path.extension().is_some() {
            return self.write(path, |_| true, |weight| weight);
        }
        self.write(&path.join("positive.txt"), |word| word.weight > 0.0, |weight| weight)?;
        self.write(&path.join("negative.txt"), |word| word.weight < 0.0, |weight| -weight)
    }

    fn write(&self, path: &Path, take: impl Fn(&InducedWord) -> bool, shown: impl Fn(f64) -> f64) -> Result<()> {
        disk::write_atomic(path, |out| {
            writeln!(out, "# {}", self.method)?;
            writeln!(out, "# documents: {}", self.documents)?;
            if let Some(time) = self.fitted_until {
                writeln!(out, "# fitted_until: {}", time.format("%Y-%m-%d %H:%M:%S"))?;
            }
            writeln!(out, "word\tweight\tstatistic\tp\tcount")?;
            for word in self.words.iter().filter(|word| take(word)) {
                let InducedWord { word, weight, statistic, p, count } = word;
                writeln!(out, "{word}\t{:.6}\t{statistic:.4}\t{p:.6e}\t{count}", shown(*weight))?;
            }
            Ok(())
        })
    }
}
