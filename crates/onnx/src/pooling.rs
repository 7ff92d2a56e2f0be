//! From the vectors of a window's tokens to one vector: which layers, and what of the tokens.
//!
//! `layers` is written `last`, `first+last` (their mean: the first layer above the embeddings and the last; Su et al. 2021,
//! Whitening Sentence Representations), `last:4` (the mean of the last four), `last:4:concat` (side by side; Devlin et al. 2019,
//! section 5.3), `each` (all side by side, the embeddings first) or `mix:0.2,0.3,0.5` (one weight a layer from the embeddings on, as ELMo mixes its layers with s_j; Peters et al.
//! 2018; a scale gamma may follow: `mix:0.2,0.3,0.5*1.5`).
//!
//! `pooling` is one of `cls`, `pooler`, `mean`, `mean-text`, `mean-sqrt`, `weighted-mean`, `max`, `last`, `sep`, or several of them joined by
//! `+`, side by side in that order: `last+max+mean` is the concat pooling of ULMFiT (Howard & Ruder 2018). Sums go over real tokens in
//! single precision, in the order of the text.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use inkstone_base::{bail, ensure, message};

/// A vector of the vectors of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The vector of the classification token: the first, or the last where the family puts it there.
    Cls,
    /// The first token's vector, through the model's own pooler.
    Pooler,
    /// The mean over real tokens, special ones included.
    Mean,
    /// The mean over the tokens of the text alone; over all where a window has none.
    MeanText,
    /// The sum over real tokens, over the square root of their number.
    MeanSqrt,
    /// The mean over real tokens, the first weighing 1, the second 2, and so on (SGPT; Muennighoff 2022).
    WeightedMean,
    /// The largest value over real tokens.
    Max,
    Last,
    /// The token that ends the text: `[SEP]`, `</s>`.
    Sep,
}

const NAMES: [(&str, Pool); 9] = [
    ("cls", Pool::Cls),
    ("pooler", Pool::Pooler),
    ("mean", Pool::Mean),
    ("mean-text", Pool::MeanText),
    ("mean-sqrt", Pool::MeanSqrt),
    ("weighted-mean", Pool::WeightedMean),
    ("max", Pool::Max),
    ("last", Pool::Last),
    ("sep", Pool::Sep),
];

/// Vectors of the vectors of tokens, side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pooling(pub Vec<Pool>);

impl Default for Pooling {
    fn default() -> Pooling {
        Pooling(vec![Pool::Mean])
    }
}

impl Pooling {
    /// Number of vectors side by side.
    pub fn parts(&self) -> usize {
        self.0.len()
    }

    /// True if the vector of mixed layers is the mix of the vectors of the layers.
    pub fn is_linear(&self) -> bool {
        !self.0.iter().any(|pool| matches!(pool, Pool::Max | Pool::Pooler))
    }
}

impl FromStr for Pooling {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Pooling> {
        let one = |part: &str| {
            let found = NAMES.iter().find(|(name, _)| *name == part.trim()).map(|(_, take)| *take);
            found.with_context(|| {
                let names = NAMES.map(|(name, _)| name).join(", ");
                message!(
                    "{text:?} 不是池化方式：可用 {names}，或以 + 连接几种",
                    "{text:?} is no pooling: one of {names}, or several joined by +"
                )
            })
        };
        Ok(Pooling(text.split('+').map(one).collect::<Result<_>>()?))
    }
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |take: &Pool| NAMES.iter().find(|(_, other)| other == take).map_or("", |(name, _)| *name);
        f.write_str(&self.0.iter().map(name).collect::<Vec<_>>().join("+"))
    }
}

inkstone_base::as_text!(Pooling);

/// Which layers the vectors of tokens come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Layers {
    #[default]
    Last,
    /// The mean of the first above the embeddings and the last.
    FirstLast,
    /// The mean of so many last ones.
    Mean(usize),
    /// So many last ones side by side, from the earliest to the last.
    Concat(usize),
    /// All side by side, the embeddings first.
    Each,
    /// A weight for each layer from the embeddings on, and the scale of the sum.
    Mix(Vec<f32>, f32),
}

impl FromStr for Layers {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Layers> {
        let read = || -> Result<Layers> {
            let count = |text: &str| -> Result<usize> {
                let count =
                    text.parse().with_context(|| message!("{text:?} 不是整数", "{text:?} is not a whole number"))?;
                ensure!(count > 0, "没有指定层", "no layer is asked for");
                Ok(count)
            };
            let number = |text: &str| -> Result<f32> {
                let value: f32 =
                    text.trim().parse().with_context(|| message!("{text:?} 不是数字", "{text:?} is not a number"))?;
                ensure!(value.is_finite(), "{text} 不是权重", "{text} is not a weight");
                Ok(value)
            };
            match text.trim().split(':').collect::<Vec<_>>()[..] {
                ["last"] => Ok(Layers::Last),
                ["first+last"] => Ok(Layers::FirstLast),
                ["each"] => Ok(Layers::Each),
                ["last", layers] => Ok(Layers::Mean(count(layers)?)),
                ["last", layers, "concat"] => Ok(Layers::Concat(count(layers)?)),
                ["mix", mix] => {
                    let (weights, gamma) = mix.split_once('*').unwrap_or((mix, "1"));
                    Ok(Layers::Mix(weights.split(',').map(number).collect::<Result<_>>()?, number(gamma)?))
                }
                _ => bail!("没有这种形式", "there is no such form"),
            }
        };
        read().with_context(|| {
            message!(
                "{text:?} 不是层的写法：可用 last、first+last、last:4、last:4:concat、each 或 mix:0.2,0.3,0.5*1.0",
                "{text:?} names no layers: last, first+last, last:4, last:4:concat, each or mix:0.2,0.3,0.5*1.0"
            )
        })
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layers::Last => f.write_str("last"),
            Layers::FirstLast => f.write_str("first+last"),
            Layers::Each => f.write_str("each"),
            Layers::Mean(count) => write!(f, "last:{count}"),
            Layers::Concat(count) => write!(f, "last:{count}:concat"),
            Layers::Mix(weights, gamma) => {
                let weights: Vec<String> = weights.iter().map(f32::to_string).collect();
                write!(f, "mix:{}*{gamma}", weights.join(","))
            }
        }
    }
}

inkstone_base::as_text!(Layers);

impl Layers {
    /// The weights of the layers that are read, of so many that there are; one list for each that stands side by side.
    pub fn weights(&self, layers: usize) -> Result<Vec<Vec<(usize, f32)>>> {
        let enough = |wanted: usize| {
            ensure!(
                wanted <= layers,
                "layers = {self} 需要词嵌入之上的 {} 层，而图给出 {} 层：请导出时把隐藏状态作为输出 hidden_states.0、hidden_states.1……，或用 layers = last",
                "layers = {self} needs {} layers above the embeddings, and the graph gives {}: export it with its hidden states as outputs hidden_states.0, hidden_states.1, ..., or take layers = last",
                wanted - 1,
                layers - 1
            );
            Ok(())
        };
        Ok(match self {
            Layers::Last => vec![vec![(layers - 1, 1.0)]],
            Layers::FirstLast => {
                enough(3)?;
                vec![vec![(1, 0.5), (layers - 1, 0.5)]]
            }
            Layers::Mean(count) => {
                enough(count + 1)?;
                vec![(layers - count..layers).map(|layer| (layer, 1.0 / *count as f32)).collect()]
            }
            Layers::Concat(count) => {
                enough(count + 1)?;
                (layers - count..layers).map(|layer| vec![(layer, 1.0)]).collect()
            }
            Layers::Each => (0..layers).map(|layer| vec![(layer, 1.0)]).collect(),
            Layers::Mix(weights, gamma) => {
                enough(weights.len())?;
                ensure!(
                    weights.len() == layers,
                    "layers = {self} 有 {} 个权重，而图给出 {layers} 层（含词嵌入）",
                    "layers = {self} has {} weights, and the graph gives {layers} layers, the embeddings among them",
                    weights.len()
                );
                vec![weights.iter().map(|weight| weight * gamma).enumerate().collect()]
            }
        })
    }
}

/// Which places of a window's row are what. The row may begin or end with filling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Real tokens.
    pub real: Range<usize>,
    /// Tokens that are pooled: all real ones, or those behind a prompt.
    pub pooled: Range<usize>,
    /// Tokens of the text among them.
    pub text: Range<usize>,
    pub cls: usize,
    /// The token that ends the text; the last real one where the tokenizer adds none.
    pub sep: usize,
}

/// Appends the pooled vectors of one window's vectors `[tokens, hidden]` to `row`; `pooler` is the model's own.
pub(crate) fn pool(
    taken: &Pooling,
    vectors: &[f32],
    hidden: usize,
    places: &Places,
    pooler: &[f32],
    row: &mut Vec<f32>,
) {
    let token = |place: usize| &vectors[place * hidden..(place + 1) * hidden];
    for take in &taken.0 {
        match take {
            Pool::Cls => row.extend_from_slice(token(places.cls)),
            Pool::Pooler => row.extend_from_slice(pooler),
            Pool::Last => row.extend_from_slice(token(places.real.end - 1)),
            Pool::Sep => row.extend_from_slice(token(places.sep)),
            Pool::Mean => mean(places.pooled.clone().map(token), hidden, row),
            Pool::MeanText if places.text.is_empty() => mean(places.pooled.clone().map(token), hidden, row),
            Pool::MeanText => mean(places.text.clone().map(token), hidden, row),
            Pool::MeanSqrt => {
                let begin = row.len();
                mean(places.pooled.clone().map(token), hidden, row);
                let root = (places.pooled.len() as f32).sqrt();
                row[begin..].iter_mut().for_each(|value| *value *= root);
            }
            Pool::WeightedMean => {
                let begin = row.len();
                row.resize(begin + hidden, 0.0);
                let mut weights = 0.0;
                for place in places.pooled.clone() {
                    // The tokens of the prompt are counted, though they are not pooled.
                    let weight = (place - places.real.start + 1) as f32;
                    row[begin..].iter_mut().zip(token(place)).for_each(|(sum, value)| *sum += weight * value);
                    weights += weight;
                }
                row[begin..].iter_mut().for_each(|sum| *sum /= weights);
            }
            Pool::Max => {
                let begin = row.len();
                row.extend_from_slice(token(places.pooled.start));
                for vector in places.pooled.clone().skip(1).map(token) {
                    // NaN stays NaN, so that it is seen.
                    row[begin..].iter_mut().zip(vector).for_each(|(most, &value)| {
                        if value > *most || value.is_nan() {
                            *most = value;
                        }
                    });
                }
            }
        }
    }
}

fn mean<'v>(vectors: impl ExactSizeIterator<Item = &'v [f32]>, hidden: usize, row: &mut Vec<f32>) {
    let (begin, count) = (row.len(), vectors.len() as f32);
    row.resize(begin + hidden, 0.0);
    for vector in vectors {
        row[begin..].iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
    }
    row[begin..].iter_mut().for_each(|sum| *sum /= count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_they_are_read() {
        for text in ["cls", "mean-text", "last+max+mean", "mean-sqrt+weighted-mean"] {
            assert_eq!(text.parse::<Pooling>().unwrap().to_string(), text);
        }
        for text in ["last", "first+last", "each", "last:4", "last:4:concat", "mix:0.5,0.25,0.25*2"] {
            assert_eq!(text.parse::<Layers>().unwrap().to_string(), text);
        }
        let error = "average".parse::<Pooling>().unwrap_err().to_string();
        assert!(error.contains("average") && error.contains("mean-text"), "{error}");
        for text in ["last:0", "first", "mix:a,b", "mix:0.5,inf"] {
            let error = format!("{:#}", text.parse::<Layers>().unwrap_err());
            assert!(error.contains(text) && error.contains("last:4:concat"), "{error}");
        }
    }

    #[test]
    fn pools_equal_those_by_hand() {
        // Three real tokens behind one that fills up, the middle one of the text.
        let vectors = [9.0, 9.0, 1.0, -2.0, 3.0, 0.0, 2.0, 5.0];
        let places = Places { real: 1..4, pooled: 1..4, text: 2..3, cls: 3, sep: 1 };
        let pooled = |text: &str| {
            let mut row = Vec::new();
            pool(&text.parse().unwrap(), &vectors, 2, &places, &[7.0, 8.0], &mut row);
            row
        };
        assert_eq!(pooled("mean"), [2.0, 1.0]);
        assert_eq!(pooled("mean-text"), [3.0, 0.0]);
        assert_eq!(pooled("cls+pooler"), [2.0, 5.0, 7.0, 8.0]);
        assert_eq!(pooled("last+max+sep"), [2.0, 5.0, 3.0, 5.0, 1.0, -2.0]);
        let root = 3f32.sqrt();
        assert_eq!(pooled("mean-sqrt"), [2.0 * root, root]);
        assert_eq!(pooled("weighted-mean"), [13.0 / 6.0, 13.0 / 6.0]);
        let behind = Places { pooled: 2..4, ..places.clone() };
        let mut row = Vec::new();
        pool(&"mean+max+weighted-mean".parse().unwrap(), &vectors, 2, &behind, &[], &mut row);
        assert_eq!(row, [2.5, 2.5, 3.0, 5.0, 12.0 / 5.0, 3.0]);
    }

    #[test]
    fn layers_are_weighed_and_must_be_there() {
        let weights = |text: &str, layers| text.parse::<Layers>().unwrap().weights(layers);
        assert_eq!(weights("first+last", 3).unwrap(), [[(1, 0.5), (2, 0.5)]]);
        assert_eq!(weights("last:2", 3).unwrap(), [[(1, 0.5), (2, 0.5)]]);
        assert_eq!(weights("last:2:concat", 3).unwrap(), [[(1, 1.0)], [(2, 1.0)]]);
        assert_eq!(weights("mix:1,2,3*0.5", 3).unwrap(), [[(0, 0.5), (1, 1.0), (2, 1.5)]]);
        for (text, layers) in [("first+last", 1), ("last:4", 4), ("mix:1,2", 3), ("mix:1,2", 1)] {
            let error = weights(text, layers).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("layers"), "{error}");
        }
    }
}
