//! The entries of a lexicon, and its built-in lists.
//!
//! A space inside an entry marks a phrase of several words: it matches as one, but is not given to the segmenter as a
//! word.

use std::collections::BTreeMap;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::{Extent, Kind, Role, shapes};
use inkstone_text::{DISCLAIMERS, WARNINGS};

use inkstone_base::ensure;

const POSITIVE: &str = include_str!("../../../../assets/lexicon/positive.txt");
const NEGATIVE: &str = include_str!("../../../../assets/lexicon/negative.txt");
const MOVEMENT: &str = include_str!("../../../../assets/lexicon/movement.txt");
const CHANGES: &str = include_str!("../../../../assets/lexicon/changes.txt");
const EVENTS: &str = include_str!("../../../../assets/lexicon/events.txt");
const REVERSALS: &str = include_str!("../../../../assets/lexicon/reversals.txt");
const RISKS: &str = include_str!("../../../../assets/lexicon/risks.txt");
const BURDENS: &str = include_str!("../../../../assets/lexicon/burdens.txt");
const DEGREES: &str = include_str!("../../../../assets/lexicon/degrees.txt");
const NEGATIONS: &str = include_str!("../../../../assets/lexicon/negations.txt");
const NEUTRAL: &str = include_str!("../../../../assets/lexicon/neutral.txt");

/// Entries while they are gathered, by their text; the flag tells whether an entry is one word.
#[derive(Default)]
pub(super) struct Entries(BTreeMap<String, (Role, bool)>);

impl Entries {
    /// Adds what belongs to no side: negations, degree words, burdens, risks, neutral words, boilerplate.
    pub(super) fn grammar(&mut self) -> Result<()> {
        self.read(NEGATIONS, "negations", |_| Role::Negation)?;
        self.read(DEGREES, "degrees", |weight| Role::Degree(weight.unwrap_or(1.0)))?;
        self.read(BURDENS, "burdens", |_| Role::Burden)?;
        self.read(NEUTRAL, "neutral", |_| Role::Neutral)?;
        self.read(RISKS, "risks", |_| Role::Risk)?;
        self.read(WARNINGS, "boilerplate", |_| Role::Boilerplate(Extent::Sentences))?;
        self.read(DISCLAIMERS, "disclaimers", |_| Role::Boilerplate(Extent::Line))
    }

    /// Adds the built-in tone words.
    pub(super) fn builtin_tone(&mut self) -> Result<()> {
        self.read(POSITIVE, "positive", |weight| tone(weight, 1.0))?;
        self.read(NEGATIVE, "negative", |weight| tone(weight, -1.0))?;
        for (text, name, kind) in [
            (MOVEMENT, "movement", Kind::Movement),
            (CHANGES, "changes", Kind::Change),
            (EVENTS, "events", Kind::Event),
            (REVERSALS, "reversals", Kind::Reversal),
        ] {
            self.read(text, name, |weight| Role::Tone { weight: weight.unwrap_or(1.0), kind })?;
        }
        Ok(())
    }

    /// Takes these entries, which win over those here.
    pub(super) fn replace_by(&mut self, other: impl Iterator<Item = (String, (Role, bool))>) {
        self.0.extend(other);
    }

    /// The entries, and those of them that are words of two characters or more, ascending.
    pub(super) fn finish(self) -> (FxHashMap<String, Role>, Vec<String>) {
        let words = self.0.iter().filter(|(word, (_, one))| *one && word.chars().nth(1).is_some());
        let words = words.map(|(word, _)| word.clone()).collect();
        (self.0.into_iter().map(|(word, (role, _))| (word, role)).collect(), words)
    }

    /// Reads a built-in list, every line of which must be sound; a word that already has another role, or stands twice with
    /// different weights, is an error.
    fn read(&mut self, text: &str, name: &str, role: impl Fn(Option<f32>) -> Role) -> Result<()> {
        let shaped = shapes::read(text)?;
        ensure!(
            shaped.refused.is_empty(),
            "{name}：以下各行无法使用：{:?}",
            "{name}: these lines cannot be used: {:?}",
            shaped.refused
        );
        for line in shaped.lines {
            let joined: String = line.word.split_whitespace().collect();
            let new = (role(line.weight), joined.len() == line.word.len());
            if let Some(old) = self.0.insert(joined, new) {
                ensure!(
                    old == new,
                    "{name}:{}：{:?} 出现两次，角色或权重不同；请只留一个",
                    "{name}:{}: {:?} stands twice, with different roles or weights; keep one",
                    line.number,
                    line.word
                );
            }
        }
        Ok(())
    }
}

/// A tone word of this sign.
fn tone(weight: Option<f32>, sign: f32) -> Role {
    Role::Tone { weight: sign * weight.unwrap_or(1.0).abs(), kind: Kind::Plain }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::lexicon::{Lexicon, LexiconParams};

    #[test]
    fn the_built_in_lists_agree_with_each_other() {
        let lexicon = Lexicon::new(&LexiconParams::default(), Path::new("")).unwrap();
        assert!(lexicon.size() > 1200, "{}", lexicon.size());
        let words: Vec<&str> = lexicon.words().collect();
        assert!(words.is_sorted() && words.contains(&"扭亏为盈"));
        assert!(
            !words.contains(&"不及预期") && !words.contains(&"不"),
            "phrases and characters are not for the segmenter"
        );
    }

    #[test]
    fn files_of_the_usual_shapes_replace_built_in_words() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("good.csv"), "\u{feff}word,weight\r\n\"放量\",0.5\r\n起飞,2 # 自拟\r\n")
            .unwrap();
        std::fs::write(dir.path().join("bad.txt"), "增长\t-3\n\n回调\n").unwrap();
        let params = LexiconParams {
            positive: vec!["good.csv".into()],
            negative: vec!["bad.txt".into()],
            ..LexiconParams::default()
        };
        let lexicon = Lexicon::new(&params, dir.path()).unwrap();
        let weight = |word: &str| lexicon.explain(&[word])[0].weight;
        assert_eq!([weight("放量"), weight("起飞"), weight("增长"), weight("回调")], [0.5, 2.0, -3.0, -1.0]);

        // The key follows what the files say, not where they lie.
        std::fs::rename(dir.path().join("bad.txt"), dir.path().join("moved.txt")).unwrap();
        let moved = LexiconParams { negative: vec!["moved.txt".into()], ..params };
        assert_eq!(Lexicon::new(&moved, dir.path()).unwrap().key(), lexicon.key());
        std::fs::write(dir.path().join("moved.txt"), "增长\t-2\n回调\n").unwrap();
        assert_ne!(Lexicon::new(&moved, dir.path()).unwrap().key(), lexicon.key());
    }

    #[test]
    fn a_bad_list_is_named_with_its_line() {
        let mut entries = Entries::default();
        entries.read("大涨\n", "mine.txt", |w| tone(w, 1.0)).unwrap();
        let message = entries.read("暴跌\n暴涨\t高\n", "mine.txt", |w| tone(w, 1.0)).unwrap_err().to_string();
        assert!(message.contains("mine.txt") && message.contains("(2, "), "{message}");
        let message = entries.read("大涨\n", "other.txt", |w| tone(w, -1.0)).unwrap_err().to_string();
        assert!(message.contains("other.txt:1") && message.contains("twice"), "{message}");
    }
}
