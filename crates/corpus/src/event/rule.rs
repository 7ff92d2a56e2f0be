//! A `[[event]]` table of the configuration: the words that mark a kind of event, and those that rule it out.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::data::Kind;
use inkstone_base::{bail, ensure};
use inkstone_text::Quantity;

/// Words before a trigger that deny it.
const NEGATIONS: [&str; 19] = [
    "尚未",
    "并未",
    "从未",
    "未曾",
    "未能",
    "未有",
    "未实施",
    "没有",
    "并非",
    "否认",
    "不会",
    "不再",
    "不拟",
    "不存在",
    "不计划",
    "暂无",
    "尚无",
    "终止",
    "取消",
];

/// A kind of event (`[[event]]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventRule {
    /// Name of the kind, as expressions call it (`events = 回购`).
    pub name: String,
    /// Words of which one stands in the sentence. Parts with `*` between stand in it in this order: `拟*回购`.
    pub triggers: Vec<String>,
    /// A labeller of names, a model of `train crf --learn entities`: those of the kind that is called like this rule are triggers, too.
    pub labeller: Option<PathBuf>,
    /// Words that may not stand in the sentence (default none).
    pub without: Vec<String>,
    /// Words that deny a trigger which they stand before, at most eight characters away in the same clause.
    pub negations: Vec<String>,
    /// Kinds of documents that are read (default all).
    pub kinds: Vec<Kind>,
    /// The number that stands for a range, as 3亿元-5亿元 (default middle).
    pub range: RangeEnd,
}

impl Default for EventRule {
    fn default() -> EventRule {
        EventRule {
            name: String::new(),
            triggers: Vec::new(),
            labeller: None,
            without: Vec::new(),
            negations: NEGATIONS.map(str::to_owned).to_vec(),
            kinds: Vec::new(),
            range: RangeEnd::Middle,
        }
    }
}

/// The number that stands for a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RangeEnd {
    Low,
    #[default]
    Middle,
    High,
}

impl RangeEnd {
    pub(super) fn value_in(self, quantity: &Quantity) -> f64 {
        match self {
            RangeEnd::Low => quantity.low,
            RangeEnd::Middle => (quantity.low + quantity.high) / 2.0,
            RangeEnd::High => quantity.high,
        }
    }
}

impl EventRule {
    /// Fails on a kind that could never be found.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.triggers.is_empty() || self.labeller.is_some(),
            "缺少 triggers：请写出表明该事件的词，如 triggers = [\"拟*回购\"]，或用 labeller 指定学会标出它们的模型",
            "triggers is missing: write words that mark the event, as triggers = [\"拟*回购\"], or name a labeller that has learned to mark them"
        );
        for (key, words) in [("triggers", &self.triggers), ("without", &self.without), ("negations", &self.negations)] {
            let is_empty = |word: &String| match key {
                "triggers" => word.split('*').any(|part| part.trim().is_empty()),
                _ => word.trim().is_empty(),
            };
            if let Some(word) = words.iter().find(|word| is_empty(word)) {
                bail!(
                    "{key} 中的 {word:?} 有空的部分：请写出词，或词间以 * 相隔",
                    "{key} has {word:?}, a part of which is empty: write a word, or words with * between them"
                );
            }
        }
        Ok(())
    }
}
