//! Weights of layers, and a classifier on the layers that are so mixed, learned on lines with a label.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;

use super::Contextual;
use super::eval::each_block;
use crate::lines::{LineFormat, Lines};
use crate::stage_result;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_models::Estimator;
use inkstone_onnx::{Layered, Layers, Mix, MixParams, OnnxParams, learn_mix};

/// Learned weights of the layers of a model.
pub struct LearnedMix {
    /// The weights, as a setting.
    pub layers: Layers,
    pub mix: Mix,
    /// The regression on the mixed vectors.
    pub estimator: Estimator,
    pub documents: u64,
    /// The last time of the documents, if they have times.
    pub labelled_until: Option<NaiveDateTime>,
}

/// Learns the weights of a model's layers, and a classifier on the mixed vectors, from lines with a label. All vectors are held in memory:
/// documents x layers x 4 bytes a value.
pub fn train_mix(
    using: &Contextual,
    lines: &mut Lines,
    format: LineFormat,
    params: &MixParams,
    ctx: &Ctx,
) -> Result<(LearnedMix, Report)> {
    let onnx = OnnxParams { layers: Layers::Each, ..using.params.clone() };
    let each = Contextual { params: onnx, ..using.clone() };
    let mut encoder = each.encoder(&using.params.model, format, ctx)?;
    let layers = encoder.layers().context(Word(
        "权重用于向量的各层；请用 --read embedding",
        "weights are for layers of vectors; take --read embedding",
    ))?;
    ensure!(
        layers > 1,
        "图只给出一层：请导出时把隐藏状态作为输出 hidden_states.0、……",
        "the graph gives one layer alone: export it with its hidden states as outputs hidden_states.0, ..."
    );
    ensure!(
        !encoder.ran().used.iter().any(|one| matches!(one.setting, "layer" | "dim")),
        "各层按词元的完整向量加权：请用 modules.json 中没有全连接层的文件夹，并去掉 --dim",
        "layers are weighed by whole vectors of tokens: name a folder whose modules.json has no dense layers, and no --dim"
    );
    let width = encoder.columns().len();
    let (mut values, mut labels, mut names): (Vec<f32>, Vec<u32>, Vec<String>) = Default::default();
    let mut labelled_until = None;
    each_block(lines, |documents, texts| {
        let (rows, _) = encoder.rows(texts, ctx, |done| Ok(ctx.advance(done)?))?;
        for (line, row) in documents.iter().zip(rows.chunks(width)) {
            let label = line
                .label
                .as_deref()
                .with_context(|| message!("第 {} 行没有标签", "line {} has no label", line.number))?;
            if row[0].is_nan() {
                continue;
            }
            let number = names.iter().position(|name| name == label).unwrap_or_else(|| {
                names.push(label.to_owned());
                names.len() - 1
            });
            labels.push(number as u32);
            values.extend_from_slice(row);
            labelled_until = labelled_until.max(line.time);
        }
        Ok(())
    })?;
    let mut report = lines.finish()?;
    // The pooled vectors of the layers stand side by side: the same values of every layer belong together.
    let parts = using.params.settled_pooling(Path::new(""))?.parts();
    let values = by_layer(values, width, layers, parts);
    let dim = width / layers;
    let data = Layered { values: &values, layers, dim, labels: &labels, classes: names.len() };
    let mix = stage_result(ctx, "weigh layers", "epochs", Some(params.epochs as u64), || {
        Ok((learn_mix(&data, params, ctx)?, Report::new("weigh layers")))
    })?;
    let weights = mix.weights.iter().map(|weight| *weight as f32).collect();
    report.fact("documents", labels.len());
    report.fact("labels", &names);
    let column = |j: usize| mix.regression.chunks(dim + 1).map(move |class| class[j]);
    let estimator = Estimator::of_softmax(names, (0..dim).flat_map(column).collect(), column(dim).collect())?;
    let layers = Layers::Mix(weights, mix.gamma as f32);
    Ok((LearnedMix { layers, mix, estimator, documents: labels.len() as u64, labelled_until }, report))
}

/// Rows `[parts, layers, values]` as `[layers, parts, values]`.
fn by_layer(rows: Vec<f32>, width: usize, layers: usize, parts: usize) -> Vec<f32> {
    let size = width / layers / parts;
    let one = |row: &[f32]| -> Vec<f32> {
        let part = |layer: usize, part: usize| row[(part * layers + layer) * size..][..size].to_vec();
        (0..layers).flat_map(|layer| (0..parts).flat_map(move |at| part(layer, at))).collect()
    };
    rows.chunks(width).flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_onnx::testing::{graph, has_library, section};

    #[test]
    fn values_of_a_layer_are_put_together() {
        let row = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(by_layer(row, 8, 2, 2), [1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0]);
    }

    #[test]
    fn weights_are_learned_and_are_a_setting() {
        if !has_library() {
            return;
        }
        let using = Contextual {
            params: OnnxParams {
                model: graph("bert"),
                pooling: Some("mean+max".parse().unwrap()),
                ..OnnxParams::default()
            },
            runtime: section(),
            ..Contextual::default()
        };
        let line = |i: usize| {
            let (text, label) = [("净利润同比增长", "好"), ("毛利率下降，订单下滑", "差")][i % 2];
            format!("{{\"text\":\"{text}{i}\",\"label\":\"{label}\"}}\n")
        };
        let text: String = (0..20).map(line).collect();
        let mut lines = Lines::new(std::io::Cursor::new(text), LineFormat::Jsonl);
        let ctx = Ctx::new(1, 1).unwrap();
        let params = MixParams { epochs: 100, ..MixParams::default() };
        let (LearnedMix { layers, mix, .. }, report) =
            train_mix(&using, &mut lines, LineFormat::Jsonl, &params, &ctx).unwrap();
        assert_eq!((mix.weights.len(), report.facts["documents"].as_u64()), (3, Some(20)));
        assert!(mix.accuracy > 0.9, "{mix:?}");
        assert_eq!(layers.to_string().parse::<Layers>().unwrap(), layers);
    }
}
