//! How likely a model finds each of some labels after a prompt.

use anyhow::Result;

use super::{NextToken, log_softmax, logits};

/// How likely a label is after a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Likelihood {
    /// Sum of the natural logarithms of the probabilities of its tokens.
    pub sum: f32,
    /// The same over their number.
    pub mean: f32,
    /// Softmax of the sums of all labels.
    pub by_sum: f32,
    /// Softmax of their means.
    pub by_mean: f32,
}

/// Likelihoods of labels after each prompt. A prompt is read once; its labels go on from there side by side.
pub(crate) fn likelihoods(
    model: &mut impl NextToken,
    prompts: &[Vec<u32>],
    labels: &[Vec<u32>],
) -> Result<Vec<Vec<Likelihood>>> {
    let mut sums = vec![vec![0.0f32; labels.len()]; prompts.len()];
    let mut rows = logits(model, prompts, &[])?;
    // Which row of the step before each label goes on from, by prompt and label.
    let mut running: Vec<(usize, usize, usize)> =
        (0..prompts.len()).flat_map(|prompt| (0..labels.len()).map(move |label| (prompt, label, prompt))).collect();
    for place in 0.. {
        rows.iter_mut().for_each(|row| log_softmax(row));
        for (prompt, label, row) in &running {
            sums[*prompt][*label] +=
                rows[*row].get(labels[*label][place] as usize).copied().unwrap_or(f32::NEG_INFINITY);
        }
        running.retain(|(_, label, _)| labels[*label].len() > place + 1);
        if running.is_empty() {
            break;
        }
        let prefixes: Vec<Vec<u32>> =
            running.iter().map(|(prompt, label, _)| [&prompts[*prompt], &labels[*label][..=place]].concat()).collect();
        let parents: Vec<usize> = running.iter().map(|(.., row)| *row).collect();
        rows = logits(model, &prefixes, &parents)?;
        running.iter_mut().enumerate().for_each(|(row, running)| running.2 = row);
    }
    let of_prompt = |sums: Vec<f32>| {
        let means: Vec<f32> = sums.iter().zip(labels).map(|(sum, label)| sum / label.len() as f32).collect();
        let (mut by_sum, mut by_mean) = (sums.clone(), means.clone());
        for values in [&mut by_sum, &mut by_mean] {
            log_softmax(values);
            values.iter_mut().for_each(|value| *value = value.exp());
        }
        let one = |label: usize| Likelihood {
            sum: sums[label],
            mean: means[label],
            by_sum: by_sum[label],
            by_mean: by_mean[label],
        };
        (0..labels.len()).map(one).collect()
    };
    Ok(sums.into_iter().map(of_prompt).collect())
}
