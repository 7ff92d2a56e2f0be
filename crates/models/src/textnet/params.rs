//! The settings of a classifier of texts, and the shapes of its weights.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::super::neural::FitParams;

use inkstone_base::ensure;

/// Names of the filters of each width, as many as there can be.
const FILTERS: [&str; 6] = ["filters1", "filters2", "filters3", "filters4", "filters5", "filters6"];
/// Names of the weights of each recurrent layer, as many as there can be, forward and backward.
const LAYERS: [[[&str; 3]; 2]; 3] = [
    [["forward_words", "forward_state", "forward_bias"], ["backward_words", "backward_state", "backward_bias"]],
    [["forward2_words", "forward2_state", "forward2_bias"], ["backward2_words", "backward2_state", "backward2_bias"]],
    [["forward3_words", "forward3_state", "forward3_bias"], ["backward3_words", "backward3_state", "backward3_bias"]],
];
/// Name of the given word vectors that stay as they are, where others are tuned beside them.
pub(super) const STATIC: &str = "static_vectors";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextNetKind {
    /// Filters over windows of words.
    #[default]
    TextCnn,
    TextRnn,
}

impl TextNetKind {
    pub const ALL: [TextNetKind; 2] = [TextNetKind::TextCnn, TextNetKind::TextRnn];

    /// The name in `train` and in model files.
    pub fn name(self) -> &'static str {
        match self {
            TextNetKind::TextCnn => "textcnn",
            TextNetKind::TextRnn => "textrnn",
        }
    }
}

/// The part of a network's values that becomes the features of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// The largest value of each filter or unit over the text.
    #[default]
    Max,
    /// The mean of each filter or unit over the text.
    Mean,
    /// The last state of each direction of a recurrent layer.
    Last,
}

/// The unit of a recurrent layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    #[default]
    Lstm,
    Gru,
}

/// How a recurrent layer reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// From both ends, each direction with weights of its own.
    #[default]
    Both,
    /// From the first word to the last.
    Forward,
}

impl Reads {
    pub(super) fn directions(self) -> usize {
        match self {
            Reads::Both => 2,
            Reads::Forward => 1,
        }
    }
}

/// Treatment of given word vectors in training (Kim 2014: non-static, static, multichannel).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Channels {
    /// It changes them.
    #[default]
    Tuned,
    /// It leaves them as they are.
    Static,
    /// Two vectors a word side by side, one of each form.
    Both,
}

impl Channels {
    fn count(self) -> usize {
        if self == Channels::Both { 2 } else { 1 }
    }
}

defaults! {
    /// Parameters of a classifier of texts.
    pub struct TextNetParams {
        kind: TextNetKind = TextNetKind::TextCnn,
        /// Values of a word vector.
        dim: usize = 100,
        /// For `textcnn`: words of a window, one for each kind of filter.
        widths: Vec<usize> = vec![3, 4, 5],
        /// For `textcnn`: filters of each width.
        maps: usize = 100,
        /// For `textrnn`: `lstm` or `gru`.
        cell: Cell = Cell::Lstm,
        /// For `textrnn`: how each layer reads, from the words up: `both` or `forward`.
        layers: Vec<Reads> = vec![Reads::Both],
        /// For `textrnn`: units of each direction of a layer.
        hidden: usize = 100,
        /// Pooling over the text: `max`, `mean`, or for `textrnn` `last`.
        pool: Pool = Pool::Max,
        /// Share of the features that is dropped in training.
        dropout: f64 = 0.5,
        /// L2 penalty of all weights but word vectors, added to their gradients as PyTorch's Adam does.
        l2: f64 = 0.0,
        /// Tokens read of a text at the most, the first ones.
        max_tokens: usize = 256,
        /// Treatment of given word vectors in training: `tuned`, `static` or `both`.
        channels: Channels = Channels::Tuned,
        /// Training. The held-out documents are evenly spread over the text.
        fit: FitParams = FitParams { epochs: 10, batch: 50, held_out_share: 0.1, ..FitParams::default() },
    }
}

impl TextNetParams {
    /// Fails when a setting cannot work.
    pub fn check(&self) -> Result<()> {
        ensure!(self.dim > 0, "--dim 0 没有词向量；请写 1 或更大", "--dim 0 leaves no word vector; give 1 or more");
        let (widths, layers) = (&self.widths, self.layers.len());
        ensure!(
            (1..=FILTERS.len()).contains(&widths.len()) && widths.iter().all(|width| (1..=20).contains(width)),
            "--widths {widths:?} 须为一到 {} 个 1 到 20 的数",
            "--widths {widths:?} must be one to {} numbers from 1 to 20",
            FILTERS.len()
        );
        ensure!(
            (1..=LAYERS.len()).contains(&layers),
            "--layers 写了 {layers} 层；请写一到 {} 层，每层为 both 或 forward",
            "--layers names {layers} layers; name one to {}, each as both or forward",
            LAYERS.len()
        );
        ensure!(
            self.maps > 0 && self.hidden > 0,
            "--maps 0 与 --hidden 0 没有特征；请写 1 或更大",
            "--maps 0 and --hidden 0 leave no features; give 1 or more"
        );
        ensure!(
            self.kind == TextNetKind::TextRnn || self.pool != Pool::Last,
            "--pool last 取 textrnn 的末状态；textcnn 没有：请用 max 或 mean",
            "--pool last takes the last state of a textrnn; a textcnn has none: take max or mean"
        );
        ensure!(
            (0.0..1.0).contains(&self.dropout),
            "--dropout {} 须不小于 0 且小于 1",
            "--dropout {} must be 0 or more and below 1",
            self.dropout
        );
        ensure!(
            self.l2 >= 0.0 && self.l2.is_finite(),
            "--l2 {} 不是惩罚；请写 0 或更大",
            "--l2 {} is no penalty; give 0 or more",
            self.l2
        );
        ensure!(
            self.max_tokens > 0,
            "--max-tokens 0 没有文本；请写 1 或更大",
            "--max-tokens 0 leaves no text; give 1 or more"
        );
        self.fit.check()
    }

    /// Values of a word as the network reads it, all channels together.
    pub(super) fn inputs(&self) -> usize {
        self.channels.count() * self.dim
    }

    pub(super) fn features(&self) -> usize {
        match self.kind {
            TextNetKind::TextCnn => self.widths.len() * self.maps,
            TextNetKind::TextRnn => self.layers.last().map_or(0, |reads| reads.directions() * self.hidden),
        }
    }

    /// Tokens that a text has room for, so that each filter has a window.
    pub(super) fn least(&self) -> usize {
        self.widths.iter().copied().max().unwrap_or(1)
    }

    /// Names and shapes of the weights.
    pub(super) fn shapes(&self, words: usize, outputs: usize) -> Vec<(&'static str, usize, usize)> {
        let (h, mut inputs) = (self.hidden, self.inputs());
        let mut shapes = vec![("vectors", words + 1, self.dim), ("classes", outputs, self.features() + 1)];
        match self.kind {
            TextNetKind::TextCnn => {
                shapes.extend(self.widths.iter().zip(FILTERS).map(|(width, name)| (name, self.maps, width * inputs)));
                shapes.push(("filter_bias", self.widths.len(), self.maps));
            }
            TextNetKind::TextRnn => {
                let gates = match self.cell {
                    Cell::Lstm => 4,
                    Cell::Gru => 3,
                };
                for (reads, names) in self.layers.iter().zip(LAYERS) {
                    for [words, state, bias] in names.into_iter().take(reads.directions()) {
                        shapes.extend([(words, gates * h, inputs), (state, gates * h, h), (bias, 1, 4 * h)]);
                    }
                    inputs = reads.directions() * h;
                }
            }
        }
        if self.channels == Channels::Both {
            shapes.push((STATIC, words + 1, self.dim));
        }
        shapes
    }
}
