//! Weights in safetensors: names, types and places, without the numbers themselves, which ONNX Runtime reads where they lie.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use serde::Deserialize;

use inkstone_base::{bail, ensure, message};
use inkstone_base::{disk, limits};

/// A tensor in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    /// The file, within the folder of the weights.
    pub file: String,
    /// `TensorProto.DataType` of ONNX.
    pub data_type: i64,
    pub shape: Vec<usize>,
    /// Bytes from the beginning of the file.
    pub offset: u64,
    pub length: u64,
}

/// The weights of a model by name.
pub(super) struct Weights {
    tensors: BTreeMap<String, Tensor>,
    shown: String,
    /// Names of the files in the folder of the model.
    pub(super) files: BTreeSet<PathBuf>,
    /// The folder where the files lie. Caches of model hubs hold links; ONNX Runtime reads nothing behind a link, so these are followed.
    pub(super) folder: PathBuf,
}

/// `model.safetensors.index.json`: which file holds a tensor.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Weights {
    /// Reads the headers of a file, or of all files that an index names.
    pub(super) fn read(path: &Path) -> Result<Weights> {
        let shown = path.display().to_string();
        if path.extension().is_some_and(|end| end == "safetensors") {
            let (folder, file) = lies_at(path)?;
            let files = path.file_name().map(PathBuf::from).into_iter().collect();
            return Ok(Weights { tensors: header(path, &file)?, shown, files, folder });
        }
        let text = limits::settings_file(path)?;
        let index: Index = serde_json::from_slice(&text).with_context(|| {
            message!(
                "{shown} 不是 safetensors 的索引：没有 weight_map",
                "{shown} is not an index of safetensors: it has no weight_map"
            )
        })?;
        let (mut tensors, mut folders) = (BTreeMap::new(), BTreeSet::new());
        let files: BTreeSet<PathBuf> = index.weight_map.values().map(PathBuf::from).collect();
        for file in &files {
            let plain = file.file_name().is_some_and(|name| name == file.as_os_str());
            ensure!(
                plain,
                "{shown} 提到另一文件夹中的文件 {file:?}；请重新获取模型",
                "{shown} names the file {file:?}, which lies in another folder; fetch the model again"
            );
            let part = disk::folder_of(path).join(file);
            let (folder, file) = lies_at(&part)?;
            tensors.extend(header(&part, &file)?);
            folders.insert(folder);
        }
        let folder = folders
            .pop_first()
            .with_context(|| message!("{shown} 没有提到权重文件", "{shown} names no file of weights"))?;
        ensure!(
            folders.is_empty(),
            "{shown} 的各部分链接到多个文件夹；请复制到同一个",
            "the parts of {shown} are links into several folders; copy them into one"
        );
        Ok(Weights { tensors, shown, files, folder })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    pub(super) fn any_begins(&self, prefix: &str) -> bool {
        self.tensors.range(prefix.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(prefix))
    }

    pub(super) fn get(&self, name: &str) -> Result<&Tensor> {
        let Some(tensor) = self.tensors.get(name) else {
            let some: Vec<&str> = self.tensors.keys().take(4).map(String::as_str).collect();
            bail!(
                "{} 没有其结构所需的权重 {name}；它有 {} ……；config.json 属于另一模型吗？",
                "{} has no weights {name}, which its architecture needs; it has {} ...; is config.json of another model?",
                self.shown,
                some.join(", ")
            );
        };
        Ok(tensor)
    }

    /// The weights of a name, which must have this shape.
    pub(super) fn shaped(&self, name: &str, shape: &[usize]) -> Result<&Tensor> {
        let tensor = self.get(name)?;
        ensure!(
            tensor.shape == shape,
            "{} 中 {name} 的形状为 {:?}，而 config.json 为 {shape:?}；它属于另一模型吗？",
            "{} has {name} with the shape {:?}, and config.json says {shape:?}; is it of another model?",
            self.shown,
            tensor.shape
        );
        Ok(tensor)
    }
}

/// The folder and the name of a file; for a link those of the file behind it.
fn lies_at(path: &Path) -> Result<(PathBuf, String)> {
    let target = match path.is_symlink() {
        true => path
            .canonicalize()
            .with_context(|| message!("无法跟随链接 {}", "cannot follow the link {}", path.display()))?,
        false => path.to_owned(),
    };
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((disk::folder_of(&target).to_owned(), name))
}

/// The tensors of a file.
fn header(path: &Path, file: &str) -> Result<BTreeMap<String, Tensor>> {
    let damaged = || {
        message!(
            "{} 不是 safetensors 文件，或已损坏：请重新获取",
            "{} is no file of safetensors, or a damaged one: fetch it again",
            path.display()
        )
    };
    let mut reader = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    let bytes = reader.metadata()?.len();
    let mut length = [0; 8];
    reader.read_exact(&mut length).with_context(damaged)?;
    let length = u64::from_le_bytes(length);
    ensure!(length <= bytes - 8, damaged());
    limits::check_weights_header(path, length, bytes)?;
    let mut text = vec![0; length as usize];
    reader.read_exact(&mut text).with_context(damaged)?;
    let metadata: Metadata = serde_json::from_slice(&text).with_context(damaged)?;
    let begin = 8 + length;
    let stated = begin.checked_add(metadata.data_len() as u64);
    ensure!(
        stated == Some(bytes),
        "{}：头部说有 {} 字节权重，实际有 {} 字节",
        "{}: its header speaks of {} bytes of weights, and {} are there",
        damaged(),
        metadata.data_len(),
        bytes - begin
    );
    let mut tensors = BTreeMap::new();
    for (name, info) in metadata.tensors() {
        let data_type = match info.dtype {
            Dtype::F32 => 1,
            Dtype::F16 => 10,
            Dtype::BF16 => 16,
            Dtype::F64 => 11,
            // Such as the numbers of places, which some files keep.
            _ => continue,
        };
        let (from, to) = info.data_offsets;
        let tensor = Tensor {
            file: file.to_owned(),
            data_type,
            shape: info.shape.clone(),
            offset: begin + from as u64,
            length: (to - from) as u64,
        };
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}
