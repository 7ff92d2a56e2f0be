//! Zero-shot labels by a model of entailment: each label is a hypothesis beside the document, and the logit of its entailment says how well
//! it fits (Yin et al. 2019; the zero-shot-classification pipeline of transformers).

use anyhow::Result;

use super::family::Config;
use super::heads;
use super::params::{Activation, OnnxParams, Over};
use super::session::Session;

use inkstone_base::ensure;

/// Stands in the row of a window where another hypothesis is read; a model never gives it.
const OTHER: f32 = f32::NEG_INFINITY;

/// Labels by entailment.
pub(crate) struct Entailment {
    pub logits: String,
    /// Classes of the model.
    pub classes: usize,
    entailment: usize,
    contradiction: usize,
    /// Each label holds or not by itself (entailment against contradiction); else one of them holds.
    pub alone: bool,
    pub labels: Vec<String>,
    pub tone: Option<[usize; 2]>,
}

impl Entailment {
    /// `classes` = names of the model's classes, `logits` = its output.
    pub(crate) fn new(
        session: &Session,
        params: &OnnxParams,
        logits: &str,
        classes: &[String],
        tone: Option<[usize; 2]>,
    ) -> Result<Entailment> {
        let place = |starts: [&str; 3]| {
            classes.iter().position(|class| starts.iter().any(|start| class.to_lowercase().starts_with(start)))
        };
        let entailment = place(["entail", "蕴含", "蕴涵"]);
        ensure!(
            entailment.is_some() && classes.len() > 1,
            "onnx.labels 用于蕴含模型，而 {} 的类别为 {}：请在 config.json 的 id2label 中写明，如 {{\"0\": \"contradiction\", \"1\": \"neutral\", \"2\": \"entailment\"}}",
            "onnx.labels are for a model of entailment, and the classes of {} are {}: say in config.json under id2label which one it is, as {{\"0\": \"contradiction\", \"1\": \"neutral\", \"2\": \"entailment\"}}",
            session.path().display(),
            classes.join(", ")
        );
        let entailment = entailment.unwrap_or_default();
        // Without the name, the pipeline takes the class at the other end.
        let contradiction =
            place(["contradict", "矛盾", "not_entail"]).unwrap_or(if entailment == 0 { classes.len() - 1 } else { 0 });
        let labels: Vec<String> = params.labels.keys().cloned().collect();
        let alone = params.activation == Activation::Sigmoid || labels.len() == 1;
        Ok(Entailment {
            logits: logits.to_owned(),
            classes: classes.len(),
            entailment,
            contradiction,
            alone,
            labels,
            tone,
        })
    }

    /// The row of a window that reads one of the hypotheses, by the model's logits.
    pub(crate) fn row(&self, logits: &[f32], hypothesis: usize, rows: &mut Vec<f32>) {
        let begin = rows.len() + self.tone.iter().len();
        rows.resize(begin + self.labels.len(), OTHER);
        let against = if self.alone { logits[self.contradiction] } else { 0.0 };
        rows[begin + hypothesis] = logits[self.entailment] - against;
    }

    /// The probabilities of a document by the rows of its windows.
    pub(crate) fn combine(&self, windows: &[&[f32]], over: Over, row: &mut [f32]) {
        let begin = self.tone.iter().len();
        for (label, value) in row[begin..].iter_mut().enumerate() {
            let mut read = windows.iter().map(|window| window[begin + label]).filter(|value| *value != OTHER);
            *value = match over {
                Over::First => read.next().unwrap_or(f32::NAN),
                Over::Mean => {
                    let (sum, count) = read.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
                    sum / count
                }
                Over::Max => read.fold(f32::NAN, |most, value| if value <= most { most } else { value }),
            };
        }
        if self.alone {
            heads::sigmoid(&mut row[begin..]);
        } else {
            heads::softmax(&mut row[begin..]);
        }
        if let Some([good, bad]) = self.tone {
            row[0] = row[begin + good] - row[begin + bad];
        }
    }
}

/// The function that a cross-encoder's folder names for its logits (sentence-transformers), where it names one.
pub(crate) fn stated_activation(config: &Config) -> Option<Activation> {
    let name = config.activation.as_deref().or(config.sentence_transformers.activation_fn.as_deref())?;
    [("Identity", Activation::Identity), ("Sigmoid", Activation::Sigmoid), ("Softmax", Activation::Softmax)]
        .into_iter()
        .find(|(end, _)| name.ends_with(end))
        .map(|(_, activation)| activation)
}
