//! The ledger as the page has it: in the order and with the filter of the user.

use std::cmp::Ordering;

use super::words as w;
use crate::page::turns;
use crate::words::Word;
use inkstone_lab::ledger::{Book, BookTrial};

turns! {
    /// The order of trials.
    pub(super) enum By {
        /// The latest first.
        #[default]
        Time = "time",
        /// By Sharpe ratio, the greatest first.
        Sharpe = "sharpe",
        /// By deflated Sharpe ratio.
        Deflated = "dsr",
        RankIc = "rank-ic",
        /// By t of RankIC.
        T = "t",
        Name = "name",
    }
}

impl By {
    pub(super) fn word(self) -> Word {
        match self {
            By::Time => w::BY_TIME,
            By::Sharpe => w::BY_SHARPE,
            By::Deflated => w::BY_DSR,
            By::RankIc => w::BY_RANK_IC,
            By::T => w::BY_T,
            By::Name => w::BY_NAME,
        }
    }

    fn figure(self, trial: &BookTrial) -> f64 {
        let rank_ic = trial.rank_ic().map(|(_, summary)| summary);
        match self {
            By::Sharpe => trial.looks.sharpe,
            By::Deflated => trial.looks.deflated_sharpe,
            By::RankIc => rank_ic.map_or(f64::NAN, |summary| summary.mean),
            By::T => rank_ic.map_or(f64::NAN, |summary| summary.t_nw),
            By::Time | By::Name => f64::NAN,
        }
    }
}

/// A ledger, and what is searched of each of its trials.
#[derive(Default)]
pub(super) struct Shelf {
    pub(super) book: Book,
    texts: Vec<String>,
}

impl Shelf {
    /// Makes a ledger ready to be searched.
    pub(super) fn new(book: Book) -> Shelf {
        let text = |trial: &BookTrial| {
            let entry = &trial.entry;
            let mut text = format!("#{}", entry.number);
            if let Some(details) = &entry.details {
                text += &format!(" {} {}", details.factor, details.parameters);
            }
            if let Some(deletion) = &entry.deleted {
                text += &format!(" {}", deletion.reason);
            }
            text.to_lowercase()
        };
        Shelf { texts: book.trials.iter().map(text).collect(), book }
    }

    /// Numbers of the trials that hold a text, in this order. Figures that do not exist come last, and equal ones by their time.
    pub(super) fn rows(&self, by: By, filter: &str) -> Vec<usize> {
        let filter = filter.trim().to_lowercase();
        let trials = &self.book.trials;
        let mut rows: Vec<usize> = (0..trials.len()).filter(|row| self.texts[*row].contains(&filter)).collect();
        let name = |row: usize| trials[row].entry.details.as_ref().map(|details| details.factor.as_str());
        let order = |a: usize, b: usize| -> Ordering {
            match by {
                By::Time => Ordering::Equal,
                By::Name => (name(a).is_none(), name(a)).cmp(&(name(b).is_none(), name(b))),
                _ => {
                    let (a, b) = (by.figure(&trials[a]), by.figure(&trials[b]));
                    a.is_nan().cmp(&b.is_nan()).then(b.total_cmp(&a))
                }
            }
        };
        rows.sort_by(|a, b| order(*a, *b).then(trials[*b].entry.number.cmp(&trials[*a].entry.number)));
        rows
    }
}
