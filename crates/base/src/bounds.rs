//! The bounds of every number that a user can set: one table for workbench.toml, its form, its template, the parameters of models
//! and the flags.
//!
//! A bound says which values the program can compute with, not which are wise. Rules between keys (a window that ends after it begins) stand
//! with the parameters of each stage.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde::Serialize;
use toml::Value;

use crate::language::{LINES, Message, Word};
use crate::{ensure, message};

/// The least and the greatest value of a setting, both allowed.
#[derive(Debug, PartialEq)]
pub struct Bound {
    /// Key path without the numbers of lists: `backtest.horizons`, `source.columns.title`; a flag without a key is `--flag`.
    pub key: &'static str,
    pub least: f64,
    pub most: f64,
}

const fn bound(key: &'static str, least: f64, most: f64) -> Bound {
    Bound { key, least, most }
}

/// A hundred years: no text or price is older, and dates stay within the calendar.
const DAYS: f64 = 36_500.0;
/// Counts of documents, rows, words and tokens: more than any machine holds.
const COUNT: f64 = 1e9;
/// Values of a vector and units of a layer: what a matrix of them takes still fits into memory.
const DIM: f64 = 10_000.0;
/// Passes over the data, and draws at random: more would not end.
const PASSES: f64 = 100_000.0;
/// Words around a word.
const WORDS: f64 = 1_000.0;
/// Weights, penalties and exponents.
const WEIGHT: f64 = 1e9;
/// Basis points of a cost: all of the amount.
const BPS: f64 = 10_000.0;
/// Memory in MB: a TB.
const MEMORY: f64 = 1_000_000.0;
/// The largest whole number that TOML can hold.
const WHOLE: f64 = i64::MAX as f64;

/// All bounds, in the order of the template; flags that no key stands for come last.
pub const BOUNDS: &[Bound] = &[
    bound("project.threads", 0.0, 1_024.0),
    bound("project.seed", 0.0, WHOLE),
    bound("source.time_out", 1.0, 86_400.0),
    bound("ingest.max_loss", 0.0, 1.0),
    bound("ingest.max_pages", 0.0, 1_000_000.0),
    bound("ingest.max_garbled", 0.0, 1.0),
    bound("clean.threshold", 0.6, 1.0),
    bound("clean.window_days", 0.0, DAYS),
    bound("link.former_name_days", 0.0, DAYS),
    bound("structure.min_documents", 2.0, COUNT),
    bound("structure.min_share", 0.0, 1.0),
    bound("structure.min_publishers", 2.0, COUNT),
    bound("structure.min_documents_across", 2.0, COUNT),
    bound("structure.min_chars", 1.0, 1_000_000.0),
    bound("structure.novelty_days", 1.0, DAYS),
    bound("rewrite.beams", 1.0, WORDS),
    bound("rewrite.max_new_tokens", 1.0, 1_000_000.0),
    bound("rewrite.min_new_tokens", 0.0, 1_000_000.0),
    bound("rewrite.length_penalty", -100.0, 100.0),
    bound("rewrite.no_repeat_ngram", 0.0, 1_000_000.0),
    bound("rewrite.repetition_penalty", 0.0, 100.0),
    bound("rewrite.min_numbers_kept", 0.0, 1.0),
    bound("rewrite.batch_tokens", 0.0, 10_000_000.0),
    bound("feature.within.days", 1.0, DAYS),
    bound("feature.lexicon.negation_window", 0.0, WORDS),
    bound("feature.lexicon.degree_window", 0.0, WORDS),
    bound("feature.tfidf.ngram_range", 1.0, 20.0),
    bound("feature.tfidf.title_features", 0.0, 1e8),
    bound("feature.tfidf.buckets", 0.0, 1e9),
    bound("feature.tfidf.min_df", 0.0, COUNT),
    bound("feature.tfidf.max_df", 0.0, COUNT),
    bound("feature.tfidf.max_features", 0.0, COUNT),
    bound("feature.tfidf.k1", 0.0, 1_000.0),
    bound("feature.tfidf.b", 0.0, 1.0),
    bound("feature.lsa.dim", 1.0, DIM),
    bound("feature.walk_forward.train_days", 1.0, DAYS),
    bound("feature.walk_forward.test_days", 1.0, DAYS),
    bound("feature.walk_forward.step_days", 0.0, DAYS),
    bound("feature.walk_forward.embargo_days", 0.0, DAYS),
    bound("feature.walk_forward.min_train_rows", 1.0, COUNT),
    bound("feature.target.delay", -250.0, 250.0),
    bound("feature.target.horizon", 1.0, 2_500.0),
    bound("feature.target.latency_days", 0.0, DAYS),
    bound("feature.sestm.words", 0.0, COUNT),
    bound("feature.sestm.alpha_plus", 0.0, 1.0),
    bound("feature.sestm.alpha_minus", 0.0, 1.0),
    bound("feature.sestm.kappa", 0.0, COUNT),
    bound("feature.sestm.lambda", 0.0, WEIGHT),
    bound("feature.sestm.tune.words", 0.0, COUNT),
    bound("feature.sestm.tune.alpha", 0.0, 1.0),
    bound("feature.sestm.tune.kappa", 0.0, COUNT),
    bound("feature.sestm.tune.lambda", 0.0, WEIGHT),
    bound("feature.sestm.tune.validation", 0.0, 1.0),
    bound("feature.induce.min_df", 0.0, COUNT),
    bound("feature.induce.fdr", 0.0, 1.0),
    bound("feature.induce.max_words", 0.0, COUNT),
    bound("feature.clusters.k", 2.0, 10_000.0),
    bound("feature.clusters.starts", 1.0, 1_000.0),
    bound("feature.clusters.rounds", 1.0, 1_000_000.0),
    bound("feature.clusters.tolerance", 0.0, 1.0),
    bound("feature.clusters.softness", 0.0, 10.0),
    bound("feature.clusters.window_days", 0.0, DAYS),
    bound("feature.clusters.refit_days", 1.0, DAYS),
    bound("feature.clusters.min_train_documents", 1.0, COUNT),
    bound("feature.clusters.share_days", 1.0, DAYS),
    bound("feature.surprise.window_days", 1.0, DAYS),
    bound("feature.surprise.refit_days", 1.0, DAYS),
    bound("feature.surprise.min_train_documents", 1.0, COUNT),
    bound("feature.surprise.order", 1.0, 6.0),
    bound("feature.words.min_count", 0.0, COUNT),
    bound("feature.words.max_words", 0.0, COUNT),
    bound("feature.vintages.window_days", 0.0, DAYS),
    bound("feature.vintages.refit_days", 1.0, DAYS),
    bound("feature.vintages.min_train_documents", 1.0, COUNT),
    bound("feature.word2vec.dim", 1.0, DIM),
    bound("feature.word2vec.window", 1.0, WORDS),
    bound("feature.word2vec.negative", 0.0, WORDS),
    bound("feature.word2vec.sample", 0.0, 1.0),
    bound("feature.word2vec.epochs", 1.0, PASSES),
    bound("feature.word2vec.lr", 0.0, 10.0),
    bound("feature.word2vec.min_lr", 0.0, 10.0),
    bound("feature.word2vec.ns_exponent", 0.0, 10.0),
    bound("feature.glove.window", 1.0, WORDS),
    bound("feature.glove.dim", 1.0, DIM),
    bound("feature.glove.epochs", 1.0, PASSES),
    bound("feature.glove.lr", 0.0, 10.0),
    bound("feature.fasttext.dim", 1.0, DIM),
    bound("feature.fasttext.window", 1.0, WORDS),
    bound("feature.fasttext.epochs", 1.0, PASSES),
    bound("feature.fasttext.negative", 0.0, WORDS),
    bound("feature.fasttext.sample", 0.0, 1.0),
    bound("feature.fasttext.lr", 0.0, 10.0),
    bound("feature.fasttext.bucket", 0.0, 50_000_000.0),
    bound("feature.fasttext.minn", 0.0, 50.0),
    bound("feature.fasttext.maxn", 0.0, 50.0),
    bound("feature.onnx.dim", 0.0, 1_000_000.0),
    bound("feature.onnx.max_answer", 1.0, 10_000.0),
    bound("feature.onnx.no_answer", -1000.0, 1000.0),
    bound("feature.onnx.max_tokens", 0.0, 1_000_000.0),
    bound("feature.onnx.stride", 0.0, 1_000_000.0),
    bound("feature.onnx.compose", 0.0, 1_000_000.0),
    bound("feature.onnx.batch_tokens", 0.0, 10_000_000.0),
    bound("feature.pooling.a", 0.0, 1.0),
    bound("feature.pooling.components", 0.0, DIM),
    bound("feature.linear.alpha", 0.0, WEIGHT),
    bound("feature.linear.l1_ratio", 0.0, 1.0),
    bound("feature.linear.tolerance", 0.0, 1.0),
    bound("feature.linear.max_iterations", 1.0, 10_000_000.0),
    bound("feature.classes.tail", 0.0, 0.5),
    bound("feature.classes.calibration_folds", 2.0, 1_000.0),
    bound("feature.bayes.smoothing", 0.0, WEIGHT),
    bound("feature.boosted.trees", 1.0, PASSES),
    bound("feature.boosted.learning_rate", 0.0, 10.0),
    bound("feature.boosted.max_depth", 1.0, 30.0),
    bound("feature.boosted.min_leaf_weight", 0.0, WEIGHT),
    bound("feature.boosted.l2", 0.0, WEIGHT),
    bound("feature.boosted.max_features", 0.0, COUNT),
    bound("feature.boosted.memory_mb", 1.0, MEMORY),
    bound("feature.search.grid.*", 0.0, WEIGHT),
    bound("feature.search.folds", 2.0, 1_000.0),
    bound("feature.mlp.hidden", 1.0, DIM),
    bound("feature.mlp.dropout", 0.0, 1.0),
    bound("feature.mlp.l2", 0.0, WEIGHT),
    bound("feature.mlp.learning_rate", 0.0, 10.0),
    bound("feature.mlp.batch", 1.0, 1_000_000.0),
    bound("feature.mlp.epochs", 1.0, PASSES),
    bound("feature.mlp.memory_mb", 1.0, MEMORY),
    bound("feature.finetune.max_tokens", 0.0, 1_000_000.0),
    bound("feature.finetune.words", 0.0, 1_000.0),
    bound("feature.finetune.training.epochs", 1.0, PASSES),
    bound("feature.finetune.training.batch", 1.0, 1_000_000.0),
    bound("feature.finetune.training.lr", 0.0, 10.0),
    bound("feature.finetune.training.warmup", 0.0, 1.0),
    bound("feature.finetune.training.discriminative", 1.0, 1_000.0),
    bound("feature.finetune.training.weight_decay", 0.0, WEIGHT),
    bound("feature.finetune.training.dropout", 0.0, 1.0),
    bound("feature.finetune.training.clip", 0.0, WEIGHT),
    bound("feature.finetune.training.patience", 0.0, PASSES),
    bound("feature.finetune.training.held_out_share", 0.0, 1.0),
    bound("feature.textnet.dim", 1.0, DIM),
    bound("feature.textnet.widths", 1.0, 1_000.0),
    bound("feature.textnet.maps", 1.0, DIM),
    bound("feature.textnet.hidden", 1.0, DIM),
    bound("feature.textnet.dropout", 0.0, 1.0),
    bound("feature.textnet.l2", 0.0, WEIGHT),
    bound("feature.textnet.max_tokens", 1.0, 1_000_000.0),
    bound("feature.textnet.fit.epochs", 1.0, PASSES),
    bound("feature.textnet.fit.batch", 1.0, 1_000_000.0),
    bound("feature.textnet.fit.lr", 0.0, 10.0),
    bound("feature.textnet.fit.clip", 0.0, WEIGHT),
    bound("feature.textnet.fit.patience", 0.0, PASSES),
    bound("feature.textnet.fit.held_out_share", 0.0, 1.0),
    bound("factor.within.days", 1.0, DAYS),
    bound("factor.lookback", 1.0, DAYS),
    bound("factor.source_weights.*", 0.0, WEIGHT),
    bound("factor.min_names", 0.0, 1_000_000.0),
    bound("backtest.delay", -250.0, 250.0),
    bound("backtest.horizons", 1.0, 2_500.0),
    bound("backtest.quantiles", 2.0, 1_000.0),
    bound("backtest.rebalance", 1.0, 2_500.0),
    bound("backtest.top", 0.0, 1_000_000.0),
    bound("backtest.drop", 0.0, 1_000_000.0),
    bound("backtest.open_bps", 0.0, BPS),
    bound("backtest.close_bps", 0.0, BPS),
    bound("backtest.slippage_bps", 0.0, BPS),
    bound("backtest.capital", 0.0, 1e15),
    bound("backtest.delisting_return", -1.0, 100.0),
    bound("backtest.min_listed_days", 0.0, DAYS),
    bound("backtest.volume_share", 0.0, 1.0),
    bound("backtest.days_per_year", 1.0, 366.0),
    bound("backtest.min_names", 0.0, 1_000_000.0),
    bound("backtest.max_loss", 0.0, 1.0),
    bound("backtest.max_refused", 0.0, 1.0),
    bound("backtest.limits.limit", 0.0, 10.0),
    bound("backtest.limits.st", 0.0, 10.0),
    bound("backtest.limits.free_days", 0.0, DAYS),
    bound("events.window", -2_500.0, 2_500.0),
    bound("events.estimation", -2_500.0, 2_500.0),
    bound("events.min_returns", 3.0, 5_000.0),
    bound("events.parts", -2_500.0, 2_500.0),
    bound("events.groups", 1.0, 100.0),
    bound("events.gap", 0.0, DAYS),
    bound("events.max_events", 1.0, 1e9),
    bound("lint.date_draws", 1.0, PASSES),
    bound("lint.text_draws", 1.0, PASSES),
    bound("lint.bootstrap", 1.0, 1_000_000.0),
    bound("lint.confidence", 0.0, 1.0),
    bound("lint.max_share", 0.0, 1.0),
    bound("lint.same_day_gap", 0.0, 1.0),
    bound("lint.max_overlap", 0.0, 1.0),
    bound("lint.delisting_rate", 0.0, 1.0),
    bound("lint.restated_days", 0.0, DAYS),
    bound("experiment.lengths", 1.0, 10_000_000.0),
    bound("experiment.horizon", 1.0, 2_500.0),
    bound("experiment.folds", 2.0, 1_000.0),
    bound("experiment.label_days", 0.0, DAYS),
    bound("experiment.embargo_days", 0.0, DAYS),
    bound("experiment.max_overlap", 0.0, 1.0),
    bound("experiment.draws", 100.0, 1_000_000.0),
    bound("experiment.block", 0.0, 1_000_000.0),
    bound("experiment.confidence", 0.0, 1.0),
    bound("on.days", 1.0, DAYS),
    bound("on.below", 0.0, 1.0),
    bound("on.time_out", 1.0, 86_400.0),
    bound("--scale", 0.01, 1_000.0),
    bound("--count", 0.0, COUNT),
    bound("--dim", 1.0, DIM),
    bound("--epochs", 1.0, PASSES),
    bound("--window", 1.0, WORDS),
    bound("--lr", 0.0, 10.0),
    bound("--memory", 1.0, MEMORY),
    bound("--share", 0.0, 1.0),
    bound("--weight", 0.0, WEIGHT),
    bound("--x-max", 0.0, WEIGHT),
    bound("--order", 1.0, 50.0),
    bound("--max-len", 1.0, 50.0),
    bound("--phrases", 0.0, 10.0),
    bound("--seed", 0.0, u64::MAX as f64),
    bound("--length-penalty", -100.0, 100.0),
    bound("--repetition-penalty", 0.0, 100.0),
    bound("--threshold", -1_000.0, 1_000.0),
];

/// The bound of a setting by its key path, list numbers in it or not.
pub fn bound_of(path: &str) -> Option<&'static Bound> {
    let mut key = String::with_capacity(path.len());
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            c if !inside => key.push(c),
            _ => {}
        }
    }
    let named = |key: &str| BOUNDS.iter().find(|bound| bound.key == key);
    // Keys below a key with `.*` are names of any form.
    let above = |bound: &&Bound| bound.key.strip_suffix('*').is_some_and(|above| key.starts_with(above));
    named(&key).or_else(|| BOUNDS.iter().find(above))
}

/// Every number of a value, of a section or of a whole configuration, that lies outside its bound: its key path and the refusal.
pub fn refusals(path: &str, value: &Value) -> Vec<(String, Message)> {
    let outside = |number: f64, shown: String| {
        let message = bound_of(path).and_then(|bound| bound.refuses(number, &shown));
        message.map(|message| (path.to_owned(), message)).into_iter().collect()
    };
    match value {
        Value::Integer(number) => outside(*number as f64, number.to_string()),
        Value::Float(number) => outside(*number, number.to_string()),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(i, item)| refusals(&format!("{path}[{i}]"), item)).collect()
        }
        Value::Table(table) => table
            .iter()
            .flat_map(|(key, value)| {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                refusals(&below, value)
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Fails on numbers of the parameters of a section that lie outside their bounds; the message names each key and its bound.
pub fn check(section: &str, params: &impl Serialize) -> Result<()> {
    let values = Value::try_from(params)
        .with_context(|| message!("{section} 无法写成 TOML", "{section} cannot be written as TOML"))?;
    let refused =
        refusals(section, &values).into_iter().map(|(key, message)| message!("{key}：{message}", "{key}: {message}"));
    let refused: Vec<Message> = refused.collect();
    ensure!(refused.is_empty(), Message::joined(refused, LINES));
    Ok(())
}

/// A parser of a flag that sets the same thing as this key, within the same bound.
pub fn flag<T>(key: &'static str) -> impl Fn(&str) -> std::result::Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr,
    T::Err: fmt::Display,
{
    move |text| {
        let value = text.parse::<T>();
        if let (Some(bound), Ok(number)) = (bound_of(key), text.parse::<f64>())
            && let Some(message) = bound.refuses(number, text)
        {
            return Err(message.to_string());
        }
        value.map_err(|error| error.to_string())
    }
}

impl Bound {
    /// Says why a number cannot stand; nothing where it can.
    pub fn refuses(&self, number: f64, shown: &str) -> Option<Message> {
        if !number.is_finite() {
            return Some(message!(
                "{shown} 不是有限的数；请写 {self} 之间的数",
                "{shown} is not a finite number; write one from {self}"
            ));
        }
        (!(self.least..=self.most).contains(&number)).then(|| {
            message!("{shown} 超出范围；请写 {self} 之间的数", "{shown} is out of bounds; write one from {self}")
        })
    }
}

/// `0 to 36500`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = if self.most == WHOLE { i64::MAX.to_string() } else { self.most.to_string() };
        write!(f, "{}{}{most}", self.least, Word(" 到 ", " to "))
    }
}
