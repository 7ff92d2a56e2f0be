//! The parameters of an experiment (`[[experiment]]`).

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use inkstone_base::data::Kind;
use inkstone_corpus::truncate::Strategy;

/// The figure that judges strategies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The RankIC of the factor that is made of what the model reads.
    #[default]
    Factor,
    /// How well the documents' labels are told, in cross-validation.
    Label,
    /// How well the reports' ratings are told.
    Rating,
}

/// Published grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The strategies and lengths as given.
    #[default]
    None,
    /// Head, tail and head+tail (a quarter and three quarters, 128+382 of 512) at 256 and 512 tokens, as Sun et al. 2019 (How to
    /// Fine-Tune BERT for Text Classification); the first 500 characters against segments of 500 and of 200, as Huatai's
    /// reports on text factors.
    Print,
}

/// Treatment of texts that training and test share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum OverlapRule {
    /// More of them than `max_overlap` is an error.
    #[default]
    Refuse,
    /// They do not train.
    Remove,
    /// They are counted alone.
    Report,
}

/// Unit of lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LengthUnit {
    /// Tokens of the model, special ones included.
    #[default]
    Tokens,
    /// Characters; a run of letters or digits counts as one.
    Characters,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    pub name: String,
    /// `factor` (default), `label` or `rating`.
    pub target: Target,
    /// Names of the features whose models read what the strategies keep. Their own `truncate` is set aside.
    pub features: Vec<String>,
    /// Kinds of documents that are read; empty: all.
    pub kinds: Vec<Kind>,
    /// `none` (default) or `print`.
    pub preset: Preset,
    /// Strategies. One with a limit (`head:512`) stands for itself, one without (`head`) is tried at all lengths.
    pub strategies: Vec<String>,
    /// Lengths of strategies that have no limit of their own.
    pub lengths: Vec<usize>,
    /// Unit of lengths: `tokens` (default), those of the model with its special ones (of native models words), or
    /// `characters`, which are the same for all models.
    pub unit: LengthUnit,
    /// The strategy that all others are compared with, read by the first feature; without a limit at the longest length. Default
    /// `head`.
    pub baseline: String,
    /// For `factor`: the factor whose rules make values of documents (aggregation, decay, processing). Absent: the first one
    /// that is made of one of the features, else the default rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<String>,
    /// For `factor`: trading days that a return lasts, one of `[backtest] horizons`. Default 5.
    pub horizon: usize,
    /// For `label` and `rating`: values that make one class, all others being the other; empty: each value is a class.
    pub positive: Vec<String>,
    /// Folds of the cross-validation. Each is a stretch of time; documents that repeat each other or are about one security on one
    /// day are never on both sides. Default 5.
    pub folds: usize,
    /// Natural days until a label is known: documents whose label was not known when a fold begins do not train it. Default 0, as
    /// a rating is known at once.
    pub label_days: u32,
    /// Natural days behind a fold in which no training document may lie. Default 5.
    pub embargo_days: u32,
    /// Sources whose documents are the test, all others training; empty: folds.
    pub test_sources: Vec<String>,
    /// Treatment of texts that training and test share: `refuse` (default), `remove` or `report`.
    pub overlap: OverlapRule,
    /// For `refuse`: the largest share of test documents whose text trains, exactly or nearly. Default 0.05.
    pub max_overlap: f64,
    /// Draws of the bootstrap. Default 2000.
    pub draws: usize,
    /// Neighbours drawn at once; 0 (default): the cube root of their number, and at least the horizon.
    pub block: usize,
    /// Share of the draws that intervals hold. Default 0.95.
    pub confidence: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            name: String::new(),
            target: Target::Factor,
            features: Vec::new(),
            kinds: Vec::new(),
            preset: Preset::None,
            strategies: [
                "head",
                "tail",
                "head+tail@0.25",
                "middle",
                "random",
                "head -boilerplate",
                "sections",
                "tfidf",
            ]
            .map(str::to_owned)
            .to_vec(),
            lengths: vec![128, 256, 512],
            unit: LengthUnit::Tokens,
            baseline: "head".to_owned(),
            factor: None,
            horizon: 5,
            positive: Vec::new(),
            folds: 5,
            label_days: 0,
            embargo_days: 5,
            test_sources: Vec::new(),
            overlap: OverlapRule::Refuse,
            max_overlap: 0.05,
            draws: 2000,
            block: 0,
            confidence: 0.95,
        }
    }
}

impl Params {
    /// The strategies of the grid, the baseline first.
    pub fn grid(&self) -> Result<Vec<Strategy>> {
        let longest = match self.preset {
            Preset::None => self.lengths.iter().copied().max().into_iter().collect(),
            Preset::Print => vec![512],
        };
        let mut grid = Strategy::at_lengths(&self.baseline, &longest, self.unit == LengthUnit::Characters)?;
        let given = |texts: &[String], lengths: &[usize], grid: &mut Vec<Strategy>| -> Result<()> {
            for text in texts {
                for strategy in Strategy::at_lengths(text, lengths, self.unit == LengthUnit::Characters)? {
                    if !grid.contains(&strategy) {
                        grid.push(strategy);
                    }
                }
            }
            Ok(())
        };
        match self.preset {
            Preset::None => given(&self.strategies, &self.lengths, &mut grid)?,
            Preset::Print => {
                given(&["head", "tail", "head+tail@0.25"].map(str::to_owned), &[256, 512], &mut grid)?;
                given(&["head:500c", "windows:500/500c", "windows:200/200c"].map(str::to_owned), &[], &mut grid)?;
            }
        }
        Ok(grid)
    }

    /// Fails on parameters that make no sense, naming the key.
    pub fn check(&self) -> Result<()> {
        let name = &self.name;
        ensure!(!name.is_empty(), "an [[experiment]] has no name");
        ensure!(
            !name.contains(['/', '\\']) && !name.starts_with('.'),
            "experiment {name:?}: its name is that of a file, and must not have a slash or begin with a point"
        );
        ensure!(
            !self.features.is_empty(),
            "experiment {name:?}: features is empty; name the [[feature]]s whose models read"
        );
        ensure!(
            self.grid()?.len() > 1,
            "experiment {name:?}: there is nothing to compare with the baseline; name strategies"
        );
        ensure!(self.folds >= 2, "experiment {name:?}: folds = {}; cross-validation needs at least 2", self.folds);
        ensure!(self.draws >= 100, "experiment {name:?}: draws = {}; intervals need at least 100", self.draws);
        ensure!(self.horizon > 0, "experiment {name:?}: horizon is 0 trading days; it is at least 1");
        for (key, share) in [("max_overlap", self.max_overlap), ("confidence", self.confidence)] {
            if !(0.0..=1.0).contains(&share) || (key == "confidence" && (share == 0.0 || share == 1.0)) {
                bail!("experiment {name:?}: {key} = {share} is no share between 0 and 1");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preset_is_the_comparison_in_print() {
        let params = Params { preset: Preset::Print, ..Params::default() };
        let grid: Vec<String> = params.grid().unwrap().iter().map(Strategy::to_string).collect();
        assert_eq!(
            grid,
            [
                "head:512",
                "head:256",
                "tail:256",
                "tail:512",
                "head+tail:256@0.25",
                "head+tail:512@0.25",
                "head:500c",
                "windows:500/500c@mean",
                "windows:200/200c@mean"
            ]
        );
        // 510 tokens beside two special ones: 128 and 382.
        let strategy = &params.grid().unwrap()[5];
        assert_eq!(strategy.place().unwrap().apply(900, 2), [0..128, 518..900]);
    }

    #[test]
    fn a_grid_has_each_strategy_once_and_the_baseline_first() {
        let params = Params { strategies: vec!["tail".into(), "head".into(), "head:64".into()], ..Params::default() };
        let grid: Vec<String> = params.grid().unwrap().iter().map(Strategy::to_string).collect();
        assert_eq!(grid, ["head:512", "tail:128", "tail:256", "tail:512", "head:128", "head:256", "head:64"]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let sound = Params { name: "long".into(), features: vec!["tone".into()], ..Params::default() };
        sound.check().unwrap();
        let cases: [(&str, fn(&mut Params)); 8] = [
            ("no name", |p| p.name.clear()),
            ("slash", |p| p.name = "a/b".into()),
            ("features is empty", |p| p.features.clear()),
            ("nothing to compare", |p| p.strategies = vec!["head:512".into()]),
            ("folds = 1", |p| p.folds = 1),
            ("draws = 9", |p| p.draws = 9),
            ("confidence = 1", |p| p.confidence = 1.0),
            ("front", |p| p.strategies = vec!["front".into()]),
        ];
        for (words, spoil) in cases {
            let mut params = sound.clone();
            spoil(&mut params);
            let error = format!("{:#}", params.check().unwrap_err());
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
