//! Options of aggregations: which documents or days count, and how much.

use anyhow::{Context, Result};

use super::{Reading, RollingWindow};
use crate::factor::expression::{NamedArgument, OptionValue, whole_number};
use crate::factor::rules::{Aggregate, Decay, LookbackUnit};
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

impl Reading {
    /// Takes an option on the documents that count in; false where it is another one.
    pub(super) fn set_documents(&mut self, option: &NamedArgument) -> Result<bool> {
        match (option.name.as_str(), &option.value) {
            ("kinds", OptionValue::Words(words)) => {
                let kind = |word: &String| {
                    serde_json::from_value(serde_json::Value::String(word.clone())).with_context(|| {
                        message!(
                            "{word:?} 不是文档类型；可用：news report announcement post",
                            "{word:?} is no kind; there are: news report announcement post"
                        )
                    })
                };
                self.kinds = words.iter().map(kind).collect::<Result<_>>()?;
            }
            ("first", OptionValue::Words(words)) if matches!(words[0].as_str(), "true" | "false") => {
                self.first_only = words[0] == "true";
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Takes an option of the look-back in; false where it is another one.
pub(super) fn set_window(window: &mut RollingWindow, option: &NamedArgument) -> Result<bool> {
    match (option.name.as_str(), &option.value) {
        ("days", OptionValue::Number(days)) => {
            (window.days, window.unit) = (whole_number(*days, Word("days", "days"))?, LookbackUnit::Trading);
        }
        ("natural_days", OptionValue::Number(days)) => {
            (window.days, window.unit) =
                (whole_number(*days, Word("natural_days", "natural_days"))?, LookbackUnit::Natural);
        }
        ("decay", OptionValue::Number(rate)) => {
            ensure!(
                *rate > 0.0 && *rate <= 1.0,
                "decay = {rate}：每日衰减率须大于 0 且不超过 1",
                "decay = {rate}: a rate a day lies above 0 and is at most 1"
            );
            window.decay = Decay::Exponential(*rate);
        }
        ("decay", OptionValue::Words(words)) if words == &["linear"] => window.decay = Decay::Linear,
        ("decay", OptionValue::Words(words)) if words == &["none"] => window.decay = Decay::None,
        _ => return Ok(false),
    }
    Ok(true)
}

pub(super) fn check_decay(aggregate: Aggregate, decay: Decay) -> Result<()> {
    ensure!(
        decay == Decay::None || aggregate.weighs(),
        "decay 用于均值、求和、计数与标准差；max、min 和 last 只取一个值",
        "decay weighs means, sums, counts and deviations; max, min and last take one value"
    );
    Ok(())
}
