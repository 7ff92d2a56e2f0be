//! Settings of the training of an encoder.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::encoder::EncoderShape;
use crate::neural::fit::{FitParams, ScheduleKind};

use inkstone_base::{ensure, message};

/// The part of a model that is trained; written `all`, `head`, `top:2`, `lora:8`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TrainedLayers {
    #[default]
    All,
    /// The head alone.
    Head,
    /// The last blocks, and the head.
    Top(usize),
    /// Matrices of this rank beside those of queries and values (Hu and others 2022), and the head.
    LowRank(usize),
}

impl FromStr for TrainedLayers {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<TrainedLayers> {
        let number = |number: &str| number.parse::<usize>().ok().filter(|number| *number > 0);
        let layers = match text.split_once(':') {
            None if text == "all" => Some(TrainedLayers::All),
            None if text == "head" => Some(TrainedLayers::Head),
            Some(("top", layers)) => number(layers).map(TrainedLayers::Top),
            Some(("lora", rank)) => number(rank).map(TrainedLayers::LowRank),
            _ => None,
        };
        layers.with_context(|| {
            message!("{text:?} 不是模型的一部分：请写 all、head、top:N（末 N 层）或 lora:R（秩为 R 的矩阵）", "{text:?} is no part of a model: give all, head, top:N (the last N layers) or lora:R (matrices of rank R)")
        })
    }
}

impl fmt::Display for TrainedLayers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainedLayers::All => f.write_str("all"),
            TrainedLayers::Head => f.write_str("head"),
            TrainedLayers::Top(layers) => write!(f, "top:{layers}"),
            TrainedLayers::LowRank(rank) => write!(f, "lora:{rank}"),
        }
    }
}

impl TryFrom<String> for TrainedLayers {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<TrainedLayers> {
        text.parse()
    }
}

impl From<TrainedLayers> for String {
    fn from(layers: TrainedLayers) -> String {
        layers.to_string()
    }
}

params! {
    /// Settings of the training of an encoder.
    pub struct TransformerParams {
        /// The part that is trained: all, head, top:N (the last N layers and the head) or lora:R (matrices of rank R beside those of
        /// queries and values, and the head).
        ///
        /// 训练的部分：all（全部）、head（只训练头）、top:N（最后 N 层与头）或 lora:R。
        train: TrainedLayers = TrainedLayers::All, arg(long, value_name = "PART", default_value_t = TrainedLayers::All, help_heading = "Training");
        /// Passes over the texts at the most.
        ///
        /// 遍历文本的最多轮数。
        epochs: usize = 3, number("N", "feature.finetune.training.epochs", help_heading = "Training");
        /// Texts a step.
        ///
        /// 每步的文本数。
        batch: usize = 16, number("N", "feature.finetune.training.batch", help_heading = "Training");
        /// Rate of learning, of AdamW's steps, at its highest.
        ///
        /// AdamW 的最高学习率。
        lr: f64 = 5e-5, number("X", "feature.finetune.training.lr", help_heading = "Training");
        /// Course of the rate after it has risen: constant, linear (falls to 0), cosine, or stlr (ULMFiT's slanted triangle).
        ///
        /// 学习率升到最高后的走势：constant（不变）、linear（降到 0）、cosine 或 stlr。
        schedule: ScheduleKind = ScheduleKind::Linear, choice(help_heading = "Training");
        /// Share of all steps in which the rate rises.
        ///
        /// 学习率上升阶段占全部步数的比例。
        warmup: f64 = 0.1, number("SHARE", "feature.finetune.training.warmup", help_heading = "Training");
        /// Factor by which the rate of a layer is lower than that of the layer above it (ULMFiT: 2.6); 1 for none.
        ///
        /// 下一层的学习率比上一层低的倍数（ULMFiT 为 2.6）；1 为各层相同。
        discriminative: f64 = 1.0, number("X", "feature.finetune.training.discriminative", help_heading = "Training");
        /// True if the first epoch trains the head alone, and each one after it a layer more from the top (ULMFiT).
        ///
        /// 第一轮只训练分类头，之后每轮自顶向下多训练一层（ULMFiT）。
        gradual: bool = false, arg(long, help_heading = "Training");
        /// Share of the matrices that a step at a rate of 1 takes off them.
        ///
        /// 学习率为 1 时，一步从各矩阵减去的份额。
        weight_decay: f64 = 0.01, number("X", "feature.finetune.training.weight_decay", help_heading = "Training");
        /// Share of the numbers that is dropped in training.
        ///
        /// 训练中随机置零的数的占比。
        dropout: f64 = 0.1, number("SHARE", "feature.finetune.training.dropout", help_heading = "Training");
        /// Length that the gradient of a step is shortened to; 0 never.
        ///
        /// 一步的梯度缩短到的长度；0 为不缩短。
        clip: f64 = 1.0, number("X", "feature.finetune.training.clip", help_heading = "Training");
        /// Epochs in a row without a better loss on held-out texts that end the training.
        ///
        /// 留出文本的损失连续多少轮没有改进就结束训练。
        patience: usize = 2, number("N", "feature.finetune.training.patience", help_heading = "Training");
        /// Share of the texts, the last ones, held out to see which epoch was best; 0 keeps the last one.
        ///
        /// 留出最后多大占比的文本，以判断哪一轮最好；0 为保留最后一轮。
        held_out_share: f64 = 0.1, number("SHARE", "feature.finetune.training.held_out_share", help_heading = "Training");
    }
}

impl TransformerParams {
    /// Fails when a setting cannot work.
    pub fn check(&self) -> Result<()> {
        ensure!(
            (0.0..1.0).contains(&self.dropout),
            "--dropout {} 须在 0 到 1 之间",
            "--dropout {} must lie between 0 and 1",
            self.dropout
        );
        ensure!(
            (0.0..=1.0).contains(&self.warmup),
            "--warmup {} 须在 0 到 1 之间",
            "--warmup {} must lie between 0 and 1",
            self.warmup
        );
        ensure!(
            self.discriminative >= 1.0,
            "--discriminative {} 须不小于 1",
            "--discriminative {} must be 1 or more",
            self.discriminative
        );
        ensure!(
            self.weight_decay >= 0.0,
            "--weight-decay {} 须不小于 0",
            "--weight-decay {} must be 0 or more",
            self.weight_decay
        );
        self.fit().check()
    }

    /// The number of the first text of so many that is held out; their number where none is.
    pub fn first_held_out(&self, texts: usize) -> usize {
        texts - (texts as f64 * self.held_out_share) as usize
    }

    pub(super) fn fit(&self) -> FitParams {
        let TransformerParams { epochs, batch, lr, clip, patience, held_out_share, .. } = *self;
        FitParams { epochs, batch, lr, clip, patience, held_out_share }
    }

    /// The first layer that is trained; the number of layers where none is.
    pub(super) fn lowest(&self, shape: &EncoderShape) -> Result<usize> {
        let layers = shape.layers;
        match self.train {
            TrainedLayers::All | TrainedLayers::LowRank(_) => Ok(0),
            TrainedLayers::Head => Ok(layers),
            TrainedLayers::Top(top) => {
                ensure!(
                    (1..=layers).contains(&top),
                    "{layers} 层中不能训练末 {top} 层：请写 1 到 {layers}",
                    "the last {top} of {layers} layers cannot be trained: give 1 to {layers}"
                );
                ensure!(
                    shape.blocks == layers,
                    "该基础模型各层共享权重（ALBERT），不能只训练末几层：请用 all、head 或 lora:R",
                    "the layers of this base share their weights (ALBERT), so the last ones cannot be trained alone: give all, head or lora:R"
                );
                Ok(layers - top)
            }
        }
    }
}
