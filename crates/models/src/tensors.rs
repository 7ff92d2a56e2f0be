//! Numbers of a file in the format safetensors.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use half::{bf16, f16};
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};
use safetensors::{Dtype, SafeTensors};

/// The tensors of a file, by name.
pub struct TensorFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// Shape and values of a tensor, row by row.
#[derive(Debug, PartialEq)]
pub struct Numbers {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

impl TensorFile {
    /// Reads a file whole. Fails where it is damaged.
    pub fn read(path: &Path) -> Result<TensorFile> {
        let bytes = std::fs::read(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
        let header = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
        limits::check_weights_header(path, header, bytes.len() as u64)?;
        let file = TensorFile { path: path.to_owned(), bytes };
        file.tensors()?;
        Ok(file)
    }

    fn tensors(&self) -> Result<SafeTensors<'_>> {
        let tensors = SafeTensors::deserialize(&self.bytes);
        tensors.with_context(|| message!("{} 已损坏：请重新获取", "{} is damaged: fetch it again", self.path.display()))
    }

    /// True if the file has a tensor of this name.
    pub fn has(&self, name: &str) -> Result<bool> {
        Ok(self.tensors()?.tensor(name).is_ok())
    }

    /// A tensor of floats or whole numbers, in single precision.
    pub fn numbers(&self, name: &str) -> Result<Numbers> {
        let tensors = self.tensors()?;
        let tensor = tensors
            .tensor(name)
            .with_context(|| message!("{} 没有 {name}", "{} holds no {name}", self.path.display()))?;
        let data = tensor.data();
        let values = match tensor.dtype() {
            Dtype::F32 => numbers(data, f32::from_le_bytes),
            Dtype::F64 => numbers(data, |bytes| f64::from_le_bytes(bytes) as f32),
            Dtype::F16 => numbers(data, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Dtype::BF16 => numbers(data, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            Dtype::I8 => numbers(data, |[byte]: [u8; 1]| f32::from(byte as i8)),
            other => bail!(
                "{} 中的 {name} 为 {other:?}；支持 F16、BF16、F32、F64 和 I8",
                "{} keeps {name} as {other:?}; F16, BF16, F32, F64 and I8 are read",
                self.path.display()
            ),
        };
        Ok(Numbers { shape: tensor.shape().to_vec(), values })
    }

    /// The values of a tensor that must have this shape, as `stated_in` says.
    pub fn shaped(&self, name: &str, shape: &[usize], stated_in: &str) -> Result<Vec<f32>> {
        let numbers = self.numbers(name)?;
        ensure!(
            numbers.shape == shape,
            "{} 中 {name} 的形状为 {:?}，而 {stated_in} 为 {shape:?}：它们不属于同一模型",
            "{} gives {name} the shape {:?}, and {stated_in} {shape:?}: they are not of one model",
            self.path.display(),
            numbers.shape
        );
        Ok(numbers.values)
    }

    /// A tensor of whole numbers from 0 on, each below `limit`.
    pub fn places(&self, name: &str, limit: usize) -> Result<Vec<u32>> {
        let tensors = self.tensors()?;
        let tensor = tensors
            .tensor(name)
            .with_context(|| message!("{} 没有 {name}", "{} holds no {name}", self.path.display()))?;
        let data = tensor.data();
        let places = match tensor.dtype() {
            Dtype::I64 => numbers(data, i64::from_le_bytes),
            Dtype::I32 => numbers(data, |bytes| i64::from(i32::from_le_bytes(bytes))),
            Dtype::I16 => numbers(data, |bytes| i64::from(i16::from_le_bytes(bytes))),
            other => bail!(
                "{} 中的 {name} 为 {other:?}；支持 I16、I32 和 I64",
                "{} keeps {name} as {other:?}; I16, I32 and I64 are read",
                self.path.display()
            ),
        };
        let place = |place: i64| {
            let place = u32::try_from(place).ok().filter(|&place| (place as usize) < limit);
            place.with_context(|| {
                message!(
                    "{} 的 {name} 指向 {limit} 之外的行",
                    "{name} of {} names a row that is not among {limit}",
                    self.path.display()
                )
            })
        };
        places.into_iter().map(place).collect()
    }
}

fn numbers<const N: usize, T>(data: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    data.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
}
