//! `[[on]]`: programs that are told of what a run found.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An event of which a program is told, once for each day on which it happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookEvent {
    /// A factor has values of a day that it had none of when the program was told last.
    #[default]
    Factor,
    /// Names are in a factor's top layer (of `[backtest] quantiles`) on its last day, and were not on the day before.
    Entered,
    /// A factor has fewer values on its last day than usual.
    Coverage,
    /// A source has given nothing for days.
    Silence,
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HookEvent::Factor => "factor",
            HookEvent::Entered => "entered",
            HookEvent::Coverage => "coverage",
            HookEvent::Silence => "silence",
        })
    }
}

/// A program that is run with one JSON object on its stdin when an event happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    pub event: HookEvent,
    /// The program and its arguments, run in the configuration's folder.
    pub run: Vec<String>,
    /// Names of factors, of sources if the event is silence; empty: all.
    pub of: Vec<String>,
    /// Natural days without a document or price after which a source is silent.
    pub days: u32,
    /// Share of the median number of values of the 20 days before, below which coverage is low.
    pub below: f64,
    /// Seconds after which the program is ended.
    pub time_out: u64,
}

impl Default for Hook {
    fn default() -> Hook {
        Hook { event: HookEvent::Factor, run: Vec::new(), of: Vec::new(), days: 4, below: 0.5, time_out: 60 }
    }
}

impl Hook {
    pub fn is_for(&self, name: &str) -> bool {
        self.of.is_empty() || self.of.iter().any(|other| other == name)
    }
}
