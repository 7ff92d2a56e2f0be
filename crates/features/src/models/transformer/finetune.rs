//! An encoder trained on from a base to tell classes, labels or a value of a text.

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::forgotten::BaseText;
use super::texts::{TextWriter, inputs, pair_input, room};
use super::tuning::Tuning;
use super::{heads_of, seen_by, seen_by_new, tokenizer_of, words_beside};
use crate::lines::Lines;
use crate::models::estimators::Learn;
use crate::models::estimators::plain::corpus::LabelledCorpus;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_models::transformer::{EncoderFolder, Goals, TextGoal, TransformerParams};
use inkstone_models::{ClassReport, Fields, Goal, LabelReport, ValueReport, largest};

/// Settings of `train finetune`.
#[derive(Clone, Debug)]
pub struct FinetuneParams {
    pub base: PathBuf,
    /// The field that is learned; none: the first of labels, label and value that a line has.
    pub learn: Option<Learn>,
    /// Tokens that are read of a text at most, special tokens included, the first ones; 0: as many as the base has places.
    pub max_tokens: usize,
    /// Days after a document until its label is known.
    pub label_days: u32,
    /// The last time of the base's text, where its folder does not say it, and of lines without a time.
    pub fitted_until: Option<NaiveDateTime>,
    /// Weight of the texts' own words beside their targets; 0: they are not learned.
    pub words: f64,
    pub training: TransformerParams,
}

/// Trains on all lines with what is to be learned and writes the folder of the new model. A line's second text (`pair`) is read behind its first. Lines with times are put in their order, and the
/// last ones are held out. An interrupted training leaves a checkpoint beside the folder, from which the same training goes on. The report has
/// `documents`, `fitted_until`, `classes` (documents of each), `parameters`, `trained_parameters`, `epochs`, the figures of the `held_out`
/// documents, and of lines of the base's own text the `base_perplexity` before and after.
pub fn finetune(
    lines: &mut Lines,
    base_text: Option<Lines>,
    params: &FinetuneParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    let base = EncoderFolder::open(&params.base)?;
    let seen = seen_by(&base.files, params.fitted_until)?;
    disk::is_ours(output, Room::Converted)?;
    let base_text = base_text.map(|mut lines| BaseText::read(&mut lines, &base, output, ctx)).transpose()?;
    let subword = tokenizer_of(&base.files, base.shape.vocabulary)?;
    let room = room(&subword, params.max_tokens, base.most_tokens())?;
    let corpus = LabelledCorpus::read(lines, params.learn, false, None, ctx)?;
    corpus.goal.check()?;
    let order = corpus.order_of_time();
    let goal = corpus.goal.select(&order);

    let mut writer = TextWriter::new(output)?;
    let fields = corpus.fields();
    for &document in &order {
        ctx.check()?;
        let Fields { title, body } = fields[document];
        let text = if title.is_empty() { body.to_owned() } else { format!("{title}\n{body}") };
        match corpus.pair(document) {
            Some(pair) => writer.push(&pair_input(&subword, [&text, pair], room + subword.specials())?)?,
            None => {
                let read = inputs(&subword, &text, room, None)?.into_iter().next();
                // A text without tokens is read as its special tokens alone.
                writer.push(&read.unwrap_or_else(|| subword.wrap(&[]).ids))?;
            }
        }
    }
    let tokens = writer.finish()?;
    let words = words_beside(&base, &subword, params.words)?;
    let text_goal = match &goal {
        Goal::Classes { names, .. } => TextGoal::Classes(names.len()),
        Goal::Labels { names, .. } => TextGoal::Labels(names.len()),
        Goal::Values(_) => TextGoal::Value,
    };
    let heads = heads_of(&base, text_goal, words)?;
    let tuning = Tuning { base: &base, heads, texts: &tokens, params: &params.training, output };
    let trained_documents = tuning.first_held_out();
    let scale = ValueScale::of(&goal, trained_documents);
    let goals = match words {
        Some(words) => Goals::TextsAndWords(scale.scaled(&goal), words),
        None => Goals::Texts(scale.scaled(&goal)),
    };
    let mut tuned = tuning.train(goals, &json!([goal, params.words]), ctx)?;
    if matches!(goal, Goal::Values(_)) {
        tuned.model.rescale_outputs(scale.deviation as f32, scale.mean as f32);
    }
    let fitted_until = seen_by_new(Some(seen), corpus.labelled_until(params.label_days), params.fitted_until);
    let scores = tuning.held_out_scores(&tuned, ctx)?;
    let figures = held_out_figures(&scores, &goal.select(&(trained_documents..order.len()).collect::<Vec<usize>>()));
    let forgotten = base_text.map(|text| text.forgotten(&tuned.model, ctx)).transpose()?;
    let training = json!({
        "base": params.base, "documents": corpus.len(), "epochs": tuned.model.epochs(), "held_out": figures,
        "program": env!("CARGO_PKG_VERSION"),
    });
    tuning.write(&tuned, goal.names(), fitted_until, &training)?;
    let mut report = lines.report();
    report.fact("documents", corpus.len());
    report.fact("fitted_until", fitted_until);
    let sizes = goal.names().iter().cloned().zip(goal.sizes().into_iter().map(Value::from));
    report.fact("classes", sizes.collect::<serde_json::Map<String, Value>>());
    report.fact("parameters", tuned.model.values().iter().map(|values| values.len()).sum::<usize>());
    report.fact("epochs", tuned.model.epochs());
    report.fact("held_out", figures);
    if let Some(forgotten) = forgotten {
        report.fact("base_perplexity", forgotten);
    }
    Ok(report)
}

/// Mean and standard deviation of the values of the training documents; 0 and 1 where classes or labels are learned.
struct ValueScale {
    mean: f64,
    deviation: f64,
}

impl ValueScale {
    fn of(goal: &Goal, trained: usize) -> ValueScale {
        let Goal::Values(values) = goal else { return ValueScale { mean: 0.0, deviation: 1.0 } };
        let values = &values[..trained];
        let mean = values.iter().sum::<f64>() / trained as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / trained as f64;
        ValueScale { mean, deviation: if variance > 0.0 { variance.sqrt() } else { 1.0 } }
    }

    fn scaled(&self, goal: &Goal) -> Goal {
        match goal {
            Goal::Values(values) => {
                Goal::Values(values.iter().map(|value| (value - self.mean) / self.deviation).collect())
            }
            other => other.clone(),
        }
    }
}

/// The figures of documents, of their scores and goals; null where there are none.
fn held_out_figures(scores: &[f32], goal: &Goal) -> Value {
    if scores.is_empty() {
        return Value::Null;
    }
    let outputs = scores.len() / goal.rows();
    match goal {
        Goal::Classes { class, names } => {
            let called: Vec<u32> = scores.chunks(outputs).map(|row| largest(row) as u32).collect();
            json!(ClassReport::new(class, &called, names))
        }
        Goal::Labels { labels, names } => {
            let called =
                |row: &[f32]| (0..).zip(row).filter(|(_, score)| **score > 0.0).map(|(label, _)| label).collect();
            json!(LabelReport::new(labels, &scores.chunks(outputs).map(called).collect::<Vec<Vec<u32>>>(), names))
        }
        Goal::Values(values) => {
            let scores: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
            json!(ValueReport::new(values, &scores))
        }
    }
}
