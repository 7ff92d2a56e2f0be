//! Strategies of truncation on the text that is shown: which ones, and what each keeps of it.

use std::sync::Arc;

use anyhow::Result;

use super::bench::{About, Score, ScoresOf, TextStrategy, TextSubject, Tokens};
use crate::Kept;
use inkstone_base::job::Ctx;
use inkstone_corpus::structure::{Measure, Sentence};
use inkstone_corpus::truncate::{Layout, Strategy};

/// Limits that strategies without one of their own are given in turn, in tokens.
pub(super) const BUDGETS: [usize; 4] = [128, 256, 512, 1024];

/// Strategies tried on every text. Salience is measured for the corpus alone, and only on request.
const USUAL: [&str; 6] = ["head", "tail", "head+tail@0.25", "middle", "head -boilerplate", "sections"];
const SALIENT: [(&str, Measure); 3] =
    [("tfidf", Measure::Tfidf), ("textrank", Measure::Textrank), ("novelty", Measure::Novelty)];

/// The origin of a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// It is tried on every text.
    Usual,
    /// A feature or an experiment has it.
    Configured,
    /// The user typed it: which of his.
    Own(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedStrategy {
    pub(super) strategy: Strategy,
    pub(super) from: From,
}

/// The part of the text that a strategy keeps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StrategyRow {
    /// None where the strategy needs salience and there is none.
    pub(super) kept: Option<Kept>,
    pub(super) score: Option<Score>,
}

/// Reads a strategy as the user types it; without a limit it is given one.
pub(super) fn parse(text: &str, budget: usize) -> Result<Strategy> {
    let mut all = Strategy::at_lengths(text.trim(), &[budget], false)?;
    Ok(all.remove(0))
}

/// The strategies to try on a text, each once: the usual ones, the user's, those of the configuration.
pub(super) fn listed(about: &About, own: &[String], configured: &[TextStrategy], budget: usize) -> Vec<ListedStrategy> {
    let salient = SALIENT.iter().filter(|(_, measure)| is_measured(&about.sentences, *measure)).map(|(text, _)| *text);
    let usual = USUAL.into_iter().chain(salient).map(|text| (text, false, From::Usual));
    let own = own.iter().enumerate().map(|(number, text)| (text.as_str(), false, From::Own(number)));
    let configured = configured.iter().map(|strategy| (strategy.text.as_str(), strategy.characters, From::Configured));
    let mut listed: Vec<ListedStrategy> = Vec::new();
    for (text, characters, from) in usual.chain(own).chain(configured) {
        // The configuration was checked when it was read, and what the user types when he types it.
        let strategies = Strategy::at_lengths(text, &[budget], characters).unwrap_or_default();
        for strategy in strategies {
            if listed.iter().all(|other| other.strategy != strategy) {
                listed.push(ListedStrategy { strategy, from });
            }
        }
    }
    listed
}

fn is_measured(sentences: &[Sentence], by: Measure) -> bool {
    sentences.iter().any(|sentence| sentence.salience.by(by).is_finite())
}

/// The input of [`keep`].
pub(super) struct Trial {
    pub(super) subject: Arc<TextSubject>,
    pub(super) about: Arc<About>,
    /// The tokens that limits count, and the characters for those that count characters.
    pub(super) tokens: Arc<Tokens>,
    pub(super) characters: Arc<Tokens>,
    pub(super) strategies: Vec<Strategy>,
    pub(super) scores: ScoresOf,
}

/// The part of the text that each strategy keeps. Scores that cannot be read are left out: the rest
/// is still worth showing.
pub(super) fn keep(trial: &Trial, ctx: &Ctx) -> Result<Vec<StrategyRow>> {
    let Trial { subject, about, strategies, .. } = trial;
    let lay = |tokens: &Tokens| Layout::new(tokens.ranges.iter().map(|range| range.start), &about.sentences);
    let [words, characters] = [lay(&trial.tokens), lay(&trial.characters)];
    let scores = subject.place.and_then(|place| (trial.scores)(place, strategies).ok()).unwrap_or_default();
    let mut rows = Vec::with_capacity(strategies.len());
    for (cell, strategy) in strategies.iter().enumerate() {
        ctx.check()?;
        let (tokens, layout, specials) = match strategy.characters {
            true => (&trial.characters, &characters, 0),
            false => (&trial.tokens, &words, trial.tokens.specials),
        };
        let measured = strategy.needs().salience.iter().all(|measure| is_measured(&about.sentences, *measure));
        let kept = measured.then(|| {
            let views = strategy.views(layout, specials, about.draw);
            Kept::new(cell, layout, &views, &tokens.ranges)
        });
        rows.push(StrategyRow { kept, score: scores.get(cell).cloned().flatten() });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(about: &About, own: &[&str], budget: usize) -> Vec<String> {
        let own: Vec<String> = own.iter().map(|text| (*text).to_owned()).collect();
        let strategy = |text: &str| TextStrategy { text: text.to_owned(), characters: true };
        let all = listed(about, &own, &[strategy("head"), strategy("tail:64")], budget);
        all.iter().map(|listed| listed.strategy.to_string()).collect()
    }

    #[test]
    fn strategies_without_a_limit_take_the_budget_and_none_stands_twice() {
        let usual = ["head:256", "tail:256", "head+tail:256@0.25", "middle:256", "head:256 -boilerplate"];
        let names = names(&About::default(), &["tail", "head:100+", "random"], 256);
        assert_eq!(names[..5], usual);
        assert!(names[5].starts_with("sections:256@"), "{}", names[5]);
        assert_eq!(names[6..], ["random:256", "head:256c", "tail:64"]);
        let error = format!("{:#}", parse("hed:5", 256).unwrap_err());
        assert!(error.contains("there is no strategy \"hed\"") && error.contains("head+tail:128+382"), "{error}");
    }

    #[test]
    fn what_is_kept_is_counted_in_the_tokens_that_are_shown() {
        let subject = TextSubject { text: "公司拟回购股份".to_owned(), ..TextSubject::default() };
        let tokens =
            |ranges: Vec<std::ops::Range<usize>>, specials| Arc::new(Tokens { ranges, ids: Vec::new(), specials });
        let trial = Trial {
            subject: Arc::new(subject),
            about: Arc::default(),
            tokens: tokens(vec![0..6, 6..9, 9..15, 15..21], 1),
            characters: tokens((0..7).map(|i| 3 * i..3 * i + 3).collect(), 0),
            strategies: ["head:3", "tail:2c", "tfidf:3"].map(|text| text.parse().unwrap()).to_vec(),
            scores: Arc::new(|_, _| panic!("a text that is not of the corpus has no scores")),
        };
        let rows = keep(&trial, &Ctx::new(1, 1).unwrap()).unwrap();
        let kept = rows[0].kept.as_ref().unwrap();
        assert_eq!((kept.kept, kept.all, kept.ranges.clone()), (2, 4, vec![0..9]), "a special token counts");
        let kept = rows[1].kept.as_ref().unwrap();
        assert_eq!((kept.kept, kept.all, kept.ranges.clone()), (2, 7, vec![15..21]));
        assert_eq!(rows[2].kept, None, "salience was not measured");
    }
}
