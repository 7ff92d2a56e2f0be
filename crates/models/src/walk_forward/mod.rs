//! Walk-forward fitting: a model is fitted on a window of trading days, scores the window after it, and both move on.
//!
//! Windows are ranges of indices into an ascending calendar of trading days, half-open. A sample trains a fold only if
//! its label was known before the fold's first test day, with an embargo (Lopez de Prado 2018, ch. 7, purging), and if
//! no sample of its group is tested there, since several reports share one event. Vocabulary, document frequencies,
//! label cuts and weights come from the admitted training samples alone.

mod fit;
mod nets;
mod text;
mod walk;

use std::ops::Range;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::data::TooLittle;
use inkstone_base::{bail, ensure, message};

pub use fit::{TextModel, WalkedParts, fit_fold, fit_predict};
pub use nets::{
    FoldNetworks, NetFold, NetWalk, NetWalkInput, TestFold, TestedFold, UntestedFold, lead, net_of_fold, net_walk,
};
pub use text::{ChosenSettings, ClassParams, FoldReport, LabelForm, Predictions, Sample, TextRegression};
pub(super) use walk::{Walked, walk_folds};

defaults! {
    /// Rolling windows of training and test days.
    pub struct WalkForward {
        /// Trading days of a training window; of the first one if `expanding`.
        train_days: usize = 240,
        /// Trading days of a test window.
        test_days: usize = 20,
        /// Trading days from one test window to the next; 0 (default) means `test_days`, so that each day is tested once.
        /// Where windows overlap, the score of the newest model is kept.
        step_days: usize = 0,
        /// Trading days that must lie between the day a training label was known and the first test day. Default 0: a label
        /// known at the close before the first test day may train.
        embargo_days: usize = 0,
        /// Training samples below which a fold is passed over, its days left without scores.
        min_train_rows: usize = 200,
        /// True if training always starts at the first day.
        expanding: bool = false,
    }
}

/// One step of a walk: the training days and the test days, as indices of trading days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// Days whose samples may train.
    pub train: Range<usize>,
    /// Days whose samples are scored; they begin where `train` ends.
    pub test: Range<usize>,
}

impl WalkForward {
    /// The folds over `days` trading days. The last test window may be shorter than the others.
    pub fn folds(&self, days: usize) -> Result<Vec<Fold>> {
        ensure!(
            self.train_days > 0 && self.test_days > 0,
            "train_days 与 test_days 须不小于 1",
            "train_days and test_days must be at least 1"
        );
        if days <= self.train_days {
            bail!(TooLittle(message!(
                "滚动训练需要的交易日多于 train_days = {}，而日历只有 {days} 天；请缩短 train_days",
                "a walk-forward fit needs more trading days than train_days = {}, but the calendar has {days}; shorten train_days",
                self.train_days
            )));
        }
        let step = if self.step_days == 0 { self.test_days } else { self.step_days };
        let fold = |start: usize| Fold {
            train: if self.expanding { 0 } else { start - self.train_days }..start,
            test: start..(start + self.test_days).min(days),
        };
        Ok((self.train_days..days).step_by(step).map(fold).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn walk(train_days: usize, test_days: usize, step_days: usize, expanding: bool) -> WalkForward {
        WalkForward { train_days, test_days, step_days, expanding, ..WalkForward::default() }
    }

    #[test]
    fn windows_roll_or_grow_and_the_last_is_cut_at_the_end() {
        let rolling = walk(4, 3, 0, false).folds(9).unwrap();
        assert_eq!(rolling, [Fold { train: 0..4, test: 4..7 }, Fold { train: 3..7, test: 7..9 }]);
        let expanding = walk(4, 3, 0, true).folds(9).unwrap();
        assert_eq!(expanding[1], Fold { train: 0..7, test: 7..9 });
        let message = walk(9, 3, 0, false).folds(9).unwrap_err().to_string();
        assert!(message.contains("train_days = 9") && message.contains("has 9"), "{message}");
    }

    proptest! {
        #[test]
        fn each_day_after_the_first_window_is_tested_exactly_once(
            train in 1usize..20, test in 1usize..9, expanding: bool, days in 21usize..90
        ) {
            let mut tested = vec![0; days];
            for fold in walk(train, test, 0, expanding).folds(days).unwrap() {
                prop_assert_eq!(fold.train.end, fold.test.start);
                fold.test.for_each(|day| tested[day] += 1);
            }
            prop_assert!(tested[..train].iter().all(|&n| n == 0) && tested[train..].iter().all(|&n| n == 1));
        }
    }
}
