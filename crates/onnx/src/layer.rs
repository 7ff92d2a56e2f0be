//! Layers behind a pooling, as sentence-transformers keeps them: a dense layer with its activation, a layer norm, a vector of length 1.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use statrs::function::erf::erf;

use inkstone_base::limits;
use inkstone_base::{ensure, message};
use inkstone_models::TensorFile;

/// The weights of a module.
const WEIGHTS: &str = "model.safetensors";
/// The file that states the shapes of these weights.
const STATED: &str = "config.json beside it";
/// Added to a variance (torch.nn.LayerNorm).
const NORM_EPSILON: f64 = 1e-5;
/// The least length that a vector is divided by (torch.nn.functional.normalize).
const LEAST_LENGTH: f64 = 1e-12;

#[derive(Debug, PartialEq)]
pub(crate) enum Layer {
    Dense(Dense),
    /// Scales and offsets of a layer norm.
    Norm(Vec<f32>, Vec<f32>),
    /// The vector at length 1.
    Unit,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Dense {
    /// `[outputs, inputs]`.
    weights: Vec<f32>,
    bias: Option<Vec<f32>>,
    inputs: usize,
    activation: LayerActivation,
    residual: Residual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayerActivation {
    Identity,
    Tanh,
    Relu,
    Gelu,
    Silu,
    Sigmoid,
}

/// How a layer adds its input to its output.
#[derive(Debug, PartialEq)]
enum Residual {
    None,
    Input,
    /// The input through weights `[outputs, inputs]`.
    Projected(Vec<f32>),
}

#[derive(Deserialize)]
struct DenseSettings {
    in_features: usize,
    out_features: usize,
    #[serde(default = "yes")]
    bias: bool,
    activation_function: Option<String>,
    module_input_name: Option<String>,
    module_output_name: Option<String>,
    #[serde(default)]
    use_residual: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct NormSettings {
    dimension: usize,
}

impl Layer {
    /// Reads the module of this name from its folder `path` in `folder`.
    pub(crate) fn read(name: &str, folder: &Path, path: &str) -> Result<Layer> {
        let module = folder.join(path);
        let file = module.join("config.json");
        let settings = || -> Result<Vec<u8>> {
            limits::settings_file(&file).with_context(|| {
                message!(
                    "无法读取 modules.json 所需的 {}：请取得整个文件夹",
                    "cannot read {}, which modules.json needs: fetch the whole folder",
                    file.display()
                )
            })
        };
        let wrong = || {
            message!(
                "{} 不是模块 {name} 的 config.json",
                "{} is not the config.json of a module {name}",
                file.display()
            )
        };
        match name {
            "Normalize" => Ok(Layer::Unit),
            "LayerNorm" => {
                let settings: NormSettings = serde_json::from_slice(&settings()?).with_context(wrong)?;
                let weights = weights(&module)?;
                let shape = [settings.dimension];
                Ok(Layer::Norm(
                    weights.shaped("norm.weight", &shape, STATED)?,
                    weights.shaped("norm.bias", &shape, STATED)?,
                ))
            }
            _ => {
                let settings: DenseSettings = serde_json::from_slice(&settings()?).with_context(wrong)?;
                Ok(Layer::Dense(
                    Dense::read(settings, &module)
                        .with_context(|| message!("{} 中的层", "the layer in {}", module.display()))?,
                ))
            }
        }
    }

    /// Length of the output for an input of this length; an error in words where it does not fit.
    pub(crate) fn size(&self, inputs: usize) -> Result<usize> {
        let wanted = match self {
            Layer::Unit => inputs,
            Layer::Norm(scales, _) => scales.len(),
            Layer::Dense(dense) => dense.inputs,
        };
        ensure!(
            wanted == inputs,
            "它接受 {wanted} 维向量，而前面给出 {inputs} 维",
            "it takes vectors of {wanted} values, and what comes before it gives {inputs}"
        );
        Ok(if let Layer::Dense(dense) = self { dense.weights.len() / dense.inputs } else { inputs })
    }

    /// The output for a vector.
    pub(crate) fn apply(&self, vector: &[f32]) -> Vec<f32> {
        match self {
            Layer::Unit => {
                let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt().max(LEAST_LENGTH);
                vector.iter().map(|value| (f64::from(*value) / length) as f32).collect()
            }
            Layer::Norm(scales, offsets) => {
                let count = vector.len() as f64;
                let mean = vector.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
                let variance = vector.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
                let deviation = (variance + NORM_EPSILON).sqrt();
                let scaled = vector.iter().zip(scales).zip(offsets);
                scaled
                    .map(|((value, scale), offset)| {
                        ((f64::from(*value) - mean) / deviation * f64::from(*scale) + f64::from(*offset)) as f32
                    })
                    .collect()
            }
            Layer::Dense(dense) => dense.apply(vector),
        }
    }
}

impl Dense {
    fn read(settings: DenseSettings, module: &Path) -> Result<Dense> {
        let DenseSettings { in_features: inputs, out_features: outputs, .. } = settings;
        ensure!(
            inputs > 0 && outputs > 0,
            "config.json 说输入 {inputs} 维、输出 {outputs} 维",
            "config.json says {inputs} values in and {outputs} out"
        );
        for name in [&settings.module_input_name, &settings.module_output_name].into_iter().flatten() {
            ensure!(
                name == "sentence_embedding",
                "config.json 说它读取或给出 {name:?}；这里只读取 sentence_embedding 到 sentence_embedding 的层",
                "config.json says that it reads or gives {name:?}; only layers from sentence_embedding to sentence_embedding are read here"
            );
        }
        let name = settings.activation_function.as_deref().unwrap_or("torch.nn.Tanh");
        let activation = match name.rsplit('.').next().unwrap_or_default() {
            "Identity" => LayerActivation::Identity,
            "Tanh" => LayerActivation::Tanh,
            "ReLU" => LayerActivation::Relu,
            "GELU" => LayerActivation::Gelu,
            "SiLU" => LayerActivation::Silu,
            "Sigmoid" => LayerActivation::Sigmoid,
            _ => inkstone_base::bail!(
                "config.json 的激活函数为 {name:?}；支持 torch.nn 的 Identity、Tanh、ReLU、GELU、SiLU 和 Sigmoid",
                "config.json names the activation {name:?}; known are Identity, Tanh, ReLU, GELU, SiLU and Sigmoid of torch.nn"
            ),
        };
        let weights = weights(module)?;
        let shape = [outputs, inputs];
        Ok(Dense {
            weights: weights.shaped("linear.weight", &shape, STATED)?,
            bias: settings.bias.then(|| weights.shaped("linear.bias", &[outputs], STATED)).transpose()?,
            inputs,
            activation,
            residual: match settings.use_residual {
                false => Residual::None,
                true if inputs == outputs => Residual::Input,
                true => Residual::Projected(weights.shaped("residual.weight", &shape, STATED)?),
            },
        })
    }

    fn apply(&self, vector: &[f32]) -> Vec<f32> {
        let product = |row: &[f32]| row.iter().zip(vector).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let output = |(at, row): (usize, &[f32])| {
            let bias = self.bias.as_ref().map_or(0.0, |bias| f64::from(bias[at]));
            let added = match &self.residual {
                Residual::None => 0.0,
                Residual::Input => f64::from(vector[at]),
                Residual::Projected(weights) => product(&weights[at * self.inputs..(at + 1) * self.inputs]),
            };
            (self.activation.of(product(row) + bias) + added) as f32
        };
        self.weights.chunks(self.inputs).enumerate().map(output).collect()
    }
}

impl LayerActivation {
    fn of(self, value: f64) -> f64 {
        let sigmoid = || 1.0 / (1.0 + (-value).exp());
        match self {
            LayerActivation::Identity => value,
            LayerActivation::Tanh => value.tanh(),
            // NaN stays NaN.
            LayerActivation::Relu => {
                if value < 0.0 {
                    0.0
                } else {
                    value
                }
            }
            LayerActivation::Gelu => 0.5 * value * (1.0 + erf(value / std::f64::consts::SQRT_2)),
            LayerActivation::Silu => value * sigmoid(),
            LayerActivation::Sigmoid => sigmoid(),
        }
    }
}

/// The weights of a module.
fn weights(module: &Path) -> Result<TensorFile> {
    let file = module.join(WEIGHTS);
    ensure!(
        file.is_file(),
        "{} 没有 {WEIGHTS}{}",
        "there is no {WEIGHTS} in {}{}",
        module.display(),
        match module.join("pytorch_model.bin").is_file() {
            true =>
                ": its pytorch_model.bin holds a program of Python, which is not run here. In Python, \
                     SentenceTransformer(FOLDER).save(NEW) writes it anew",
            false => ": fetch the whole folder",
        }
    );
    TensorFile::read(&file)
}
