//! Training of classifiers.

use std::ops::Range;

use anyhow::Result;
use serde_json::json;

use super::kernels::{WeightTable, add, add_scaled, scale};
use super::loss::LossOutput;
use super::matrix::Matrix;
use super::{Dictionary, FastText, FastTextParams, Form, Loss};
use crate::WordVectors;
use crate::checkpoint::Checkpoint;
use crate::random::Random;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::simd::wide;

/// Documents learned between two looks at whether the run was cancelled.
const BLOCK: usize = 256;

/// Documents as numbers: each has the number of its labels, these, and the rows of its features.
pub struct Samples<'a> {
    numbers: &'a [u32],
    /// The offset of each sample, and the end of the last.
    starts: &'a [usize],
}

impl<'a> Samples<'a> {
    /// `starts` are where the documents begin in `numbers`, and where the last ends.
    pub fn new(numbers: &'a [u32], starts: &'a [usize]) -> Samples<'a> {
        Samples { numbers, starts }
    }

    pub fn numbers(&self) -> &'a [u32] {
        self.numbers
    }

    fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Labels and features of a document.
    fn get(&self, i: usize) -> (&'a [u32], &'a [u32]) {
        let all = &self.numbers[self.starts[i]..self.starts[i + 1]];
        all[1..].split_at(all[0] as usize)
    }
}

/// Learns labels of documents, which have at least one label and one feature each. They are read in their order, as fastText
/// does; a file that is sorted by label teaches badly. Words begin as `pretrained`, if it has them. Gives the mean loss of each
/// epoch too.
pub fn train_supervised(
    dictionary: Dictionary,
    samples: &Samples<'_>,
    params: &FastTextParams,
    pretrained: Option<&WordVectors>,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<(FastText, Vec<f64>)> {
    let params = params.clone().checked()?;
    let mut input = begin(&dictionary, &params, pretrained, ctx)?;
    let (output, losses) = learn(&mut input, dictionary.label_counts(), samples, &params, checkpoint, ctx)?;
    Ok((finished(params, dictionary, &input, &output)?, losses))
}

/// Learns labels from rows as they stand.
pub(super) fn learn(
    input: &mut WeightTable,
    counts: &[u64],
    samples: &Samples<'_>,
    params: &FastTextParams,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<(LossOutput, Vec<f64>)> {
    ensure!(
        samples.len() > 0,
        "没有文档同时有保留下来的标签和词：请降低 --min-count 或 --min-count-label",
        "no document has a label and a word that are kept: lower --min-count or --min-count-label"
    );
    let mut output = LossOutput::new(counts, params);
    let mut losses = resumed(checkpoint, input, &mut output)?;
    ctx.advance((losses.len() * samples.len()) as u64)?;
    let total = (samples.len() * params.epochs) as f64;
    for epoch in losses.len()..params.epochs {
        let mut draw = Random::new([ctx.seed(), epoch as u64, 0]);
        let mut loss = 0.0;
        for from in (0..samples.len()).step_by(BLOCK) {
            let documents = from..samples.len().min(from + BLOCK);
            let done = epoch * samples.len() + from;
            let lr = params.lr * (1.0 - done as f64 / total) as f32;
            let here = block_of(input, &mut output, samples, documents.clone(), params, lr, &mut draw);
            check_loss(here, epoch, params, lr)?;
            loss += here;
            ctx.advance(documents.len() as u64)?;
        }
        losses.push(loss / samples.len() as f64);
        passed(checkpoint, input, &output, &losses, params, ctx)?;
    }
    Ok((output, losses))
}

/// Learns some documents; gives the sum of their losses.
fn block_of(
    input: &mut WeightTable,
    output: &mut LossOutput,
    samples: &Samples<'_>,
    documents: Range<usize>,
    params: &FastTextParams,
    lr: f32,
    draw: &mut Random,
) -> f64 {
    let blank = WeightTable::zeros(2, params.dim);
    let (mut hidden, mut grad) = (blank.row(0).to_vec(), blank.row(1).to_vec());
    wide(
        #[inline(always)]
        || {
            let mut loss = 0.0;
            for document in documents {
                let (labels, features) = samples.get(document);
                hidden.copy_from_slice(blank.row(0));
                grad.copy_from_slice(blank.row(1));
                for &row in features {
                    add(&mut hidden, input.row(row));
                }
                let by = 1.0 / features.len() as f32;
                scale(&mut hidden, by);
                let target = labels[if labels.len() > 1 { draw.below(labels.len() as u32) as usize } else { 0 }];
                loss += f64::from(output.step(target, labels, &hidden, &mut grad, lr, draw));
                for &row in features {
                    add_scaled(input.row_mut(row), by, &grad);
                }
            }
            loss
        },
    )
}

/// The state that an interrupted training of the same left: the losses of its epochs, and its tables.
pub(super) fn resumed(
    checkpoint: Option<&Checkpoint>,
    input: &mut WeightTable,
    output: &mut LossOutput,
) -> Result<Vec<f64>> {
    let Some(file) = checkpoint.map(Checkpoint::read).transpose()?.flatten() else { return Ok(Vec::new()) };
    input.fill(file.numbers("input")?)?;
    output.weights.fill(file.numbers("output")?)?;
    file.param("state")
}

/// An epoch has ended: says so, and keeps the state.
pub(super) fn passed(
    checkpoint: Option<&Checkpoint>,
    input: &WeightTable,
    output: &LossOutput,
    losses: &[f64],
    params: &FastTextParams,
    ctx: &Ctx,
) -> Result<()> {
    let lr = f64::from(params.lr) * (1.0 - losses.len() as f64 / params.epochs as f64);
    ctx.note(format!("epoch {}, loss {:.4}, lr {lr:.4}", losses.len(), losses.last().copied().unwrap_or_default()));
    let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.is_due()) else { return Ok(()) };
    let (input, output) = (input.values(), output.weights.values());
    let sections = [("input", bytemuck::cast_slice(&input)), ("output", bytemuck::cast_slice(&output))];
    checkpoint.write(json!(losses), &sections)
}

/// Fails when the loss is no finite number.
pub(super) fn check_loss(loss: f64, epoch: usize, params: &FastTextParams, lr: f32) -> Result<()> {
    ensure!(
        loss.is_finite(),
        "训练在第 {} 轮（共 {} 轮）发散，学习率 {lr}：损失为 {loss}；请降低 --lr（现为 {}）",
        "training diverged in epoch {} of {} at a learning rate of {lr}: the loss is {loss}; lower --lr (now {})",
        epoch + 1,
        params.epochs,
        params.lr
    );
    Ok(())
}

/// The input matrix before training: small random values, whatever order rows are in; the last row of met buckets is zero.
pub(super) fn begin(
    dictionary: &Dictionary,
    params: &FastTextParams,
    pretrained: Option<&WordVectors>,
    ctx: &Ctx,
) -> Result<WeightTable> {
    if let Some(vectors) = pretrained {
        ensure!(
            vectors.dim() == params.dim,
            "预训练向量为 {} 维，模型为 {} 维：请设置 --dim {0}，或换用其他向量",
            "the pretrained vectors have {} values and the model {}: set --dim {0}, or take other vectors",
            vectors.dim(),
            params.dim
        );
    }
    let mut input = WeightTable::zeros(dictionary.rows(), params.dim);
    let bound = 1.0 / params.dim as f32;
    for row in 0..dictionary.trained_rows() as u32 {
        let known = dictionary.words().get(row as usize).and_then(|word| pretrained?.vector(word));
        match known {
            Some(vector) => input.set(row, vector.iter().copied()),
            None => {
                let mut draw = Random::new([ctx.seed(), u64::MAX, u64::from(row)]);
                input.set(row, (0..params.dim).map(|_| (2.0 * draw.unit() - 1.0) * bound));
            }
        }
        if row % (1 << 16) == 0 {
            ctx.check()?;
        }
    }
    Ok(input)
}

/// The model of trained tables.
pub(super) fn finished(
    params: FastTextParams,
    dictionary: Dictionary,
    input: &WeightTable,
    output: &LossOutput,
) -> Result<FastText> {
    let dense = |table: &WeightTable| Matrix::Dense { rows: table.rows(), dim: params.dim, values: table.values() };
    let (input, output) = (dense(input), dense(&output.weights));
    debug_assert!(params.form == Form::Supervised || params.loss != Loss::Ova);
    FastText::from_parts(params, dictionary, input, output)
}
