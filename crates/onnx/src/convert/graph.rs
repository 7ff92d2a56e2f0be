//! A graph of ONNX as it is read to be written again: operations, and the places of weights, whose numbers stay in their files.
//!
//! The numbers of fields are those of onnx/onnx.proto. Attributes and other parts that are not looked at are copied by their place.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::fields::{entry, range, value_info, width};
use crate::architecture::{self, Wanted};
use crate::header::{DEEPEST, MOST_AXES, MOST_WEIGHTS, ReadSeek, Skim, Value};
use inkstone_base::disk;
use inkstone_base::{bail, ensure, message};

/// `TensorProto.DataType`.
pub(super) const FLOAT: u64 = 1;
pub(super) const UINT8: u64 = 2;
pub(super) const INT8: u64 = 3;
pub(super) const HALF: u64 = 10;
pub(super) const BFLOAT16: u64 = 16;

/// Most operations of a graph that is converted.
const MOST_NODES: usize = 1 << 20;

/// A file that holds parts of a model.
pub(super) enum ModelFile {
    Path(PathBuf),
    /// A graph that was written for weights.
    Memory(Vec<u8>),
}

/// Bytes of a file of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ByteRange {
    /// Place of the file among [`ModelGraph::files`].
    pub file: usize,
    pub offset: u64,
    pub length: u64,
}

/// The numbers of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Numbers {
    /// Numbers of the type, little-endian, one after the other.
    Plain(ByteRange),
    /// A `TensorProto` that writes its numbers in another way.
    Message(ByteRange),
}

/// A weight or constant.
#[derive(Clone, Debug)]
pub(super) struct Initializer {
    pub name: String,
    /// `TensorProto.DataType` of its numbers in the file.
    pub data_type: u64,
    pub dims: Vec<u64>,
    pub numbers: Numbers,
}

impl Initializer {
    /// How many numbers it has.
    pub(super) fn count(&self) -> u64 {
        self.dims.iter().product()
    }

    /// True if it has numbers along several axes.
    pub(super) fn is_matrix(&self) -> bool {
        self.dims.iter().filter(|size| **size > 1).count() > 1
    }

    /// Fails where its numbers lie in another file than the operation that holds it.
    fn held_within(&self) -> Result<()> {
        let beside = matches!(self.numbers, Numbers::Plain(ByteRange { file: 1.., .. }));
        ensure!(
            !beside,
            "其中有操作把权重 {:?} 放在另一文件：请重新导出模型",
            "an operation in it keeps the weights {:?} in another file: export the model again",
            self.name
        );
        Ok(())
    }

    /// True if its numbers can be read in single precision.
    pub(super) fn is_float(&self) -> bool {
        matches!(self.data_type, FLOAT | HALF | BFLOAT16) && matches!(self.numbers, Numbers::Plain(_))
    }
}

/// An attribute of an operation.
#[derive(Clone, Debug)]
pub(super) struct NodeAttribute {
    pub name: String,
    pub int: Option<i64>,
    pub float: Option<f32>,
    pub ints: Vec<i64>,
    pub tensor: Option<Initializer>,
    /// Names that graphs in it use.
    pub captured: Vec<String>,
    /// The `AttributeProto`.
    pub body: AttributeBody,
}

#[derive(Clone, Debug)]
pub(super) enum AttributeBody {
    Range(ByteRange),
    Written(Vec<u8>),
}

/// An operation.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphNode {
    pub name: String,
    pub operator: String,
    pub domain: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attributes: Vec<NodeAttribute>,
    /// Other fields, with their heads.
    pub others: Vec<ByteRange>,
}

impl GraphNode {
    /// True for an operation of ONNX itself by this name.
    pub(super) fn is(&self, operator: &str) -> bool {
        self.operator == operator && matches!(self.domain.as_str(), "" | "ai.onnx")
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&NodeAttribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name).and_then(|attribute| attribute.int)
    }

    /// All names that it reads, those in its own graphs included.
    pub(super) fn reads(&self) -> impl Iterator<Item = &String> {
        self.inputs.iter().chain(self.attributes.iter().flat_map(|attribute| &attribute.captured))
    }
}

/// A value that the graph is given, or describes.
pub(super) struct ValueInfo {
    pub name: String,
    pub data_type: u64,
    /// The field with its head.
    pub range: ByteRange,
}

#[derive(Default)]
pub(super) struct ModelGraph {
    pub files: Vec<ModelFile>,
    pub format: u64,
    pub opset: u64,
    /// Fields of the model that are copied, with their heads.
    pub model_fields: Vec<ByteRange>,
    /// Fields of the graph that are copied, with their heads: outputs, descriptions of values and the like.
    pub graph_fields: Vec<ByteRange>,
    pub nodes: Vec<GraphNode>,
    pub initializers: Vec<Initializer>,
    pub inputs: Vec<ValueInfo>,
    pub outputs: Vec<String>,
    /// Values within the graph whose type it states.
    pub values: Vec<ValueInfo>,
    folder: PathBuf,
}

impl ModelGraph {
    /// Reads a graph, or writes the one for a file of weights, with these outputs.
    pub(super) fn read(path: &Path, wanted: Wanted) -> Result<ModelGraph> {
        let mut graph = ModelGraph { folder: disk::folder_of(path).to_owned(), ..ModelGraph::default() };
        let (reader, end): (Box<dyn ReadSeek>, u64) = if architecture::is_weights(path) {
            let written = architecture::graph(path, wanted)?;
            let end = written.bytes.len() as u64;
            graph.folder = written.folder;
            graph.files.push(ModelFile::Memory(written.bytes.clone()));
            (Box::new(Cursor::new(written.bytes)), end)
        } else {
            let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
            let end =
                file.metadata().with_context(|| message!("无法查看 {}", "cannot look at {}", path.display()))?.len();
            graph.files.push(ModelFile::Path(path.to_owned()));
            (Box::new(file), end)
        };
        graph
            .model(&mut Skim::new(reader), end)
            .with_context(|| message!("{} 无法转换", "{} cannot be converted", path.display()))?;
        ensure!(
            !graph.outputs.is_empty(),
            "{} 不是 ONNX 模型：其中没有给出任何输出的图",
            "{} is not an ONNX model: it holds no graph that gives anything",
            path.display()
        );
        graph.constants_to_weights();
        let mut tensors = graph.nodes.iter().flat_map(|node| &node.attributes).filter_map(|held| held.tensor.as_ref());
        tensors
            .try_for_each(Initializer::held_within)
            .with_context(|| message!("{} 无法转换", "{} cannot be converted", path.display()))?;
        Ok(graph)
    }

    /// All names of values.
    pub(super) fn names(&self) -> HashSet<String> {
        let mut names: HashSet<String> = self.initializers.iter().map(|weight| weight.name.clone()).collect();
        names.extend(self.inputs.iter().map(|input| input.name.clone()));
        for node in &self.nodes {
            names.extend(node.reads().chain(&node.outputs).cloned());
        }
        names
    }

    /// The bytes of a range.
    pub(super) fn bytes(&self, range: ByteRange) -> Result<Vec<u8>> {
        match &self.files[range.file] {
            ModelFile::Memory(bytes) => {
                let (begin, length) = (range.offset as usize, range.length as usize);
                Ok(bytes[begin..begin + length].to_vec())
            }
            ModelFile::Path(path) => {
                let mut bytes = vec![0; range.length as usize];
                let mut read = || -> std::io::Result<()> {
                    let mut file = File::open(path)?;
                    file.seek(SeekFrom::Start(range.offset))?;
                    file.read_exact(&mut bytes)
                };
                read().with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
                Ok(bytes)
            }
        }
    }

    /// The numbers of a weight in single precision.
    pub(super) fn floats(&self, weight: &Initializer) -> Result<Vec<f32>> {
        let Numbers::Plain(range) = weight.numbers else {
            bail!("{} 的数值不是平铺存放的", "the numbers of {} are not plain", weight.name)
        };
        let bytes = self.bytes(range)?;
        let halves = || bytes.as_chunks::<2>().0.iter();
        Ok(match weight.data_type {
            HALF => halves().map(|bytes| half::f16::from_le_bytes(*bytes).to_f32()).collect(),
            BFLOAT16 => halves().map(|bytes| half::bf16::from_le_bytes(*bytes).to_f32()).collect(),
            _ => bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        })
    }

    fn model(&mut self, skim: &mut Skim, end: u64) -> Result<()> {
        let mut graphs = 0;
        loop {
            let begin = skim.at;
            let Some((field, value)) = skim.next(end)? else { break };
            match (field, value) {
                (1, Value::Number(format)) => self.format = format,
                // The program that wrote it.
                (2 | 3, value) => skim.pass(&value)?,
                (7, Value::Bytes(end)) => {
                    graphs += 1;
                    ensure!(graphs == 1, "它有多个图", "it holds several graphs");
                    self.graph(skim, end)?;
                }
                (8, Value::Bytes(inner)) => {
                    let (mut domain, mut version) = (String::new(), 0);
                    while let Some((field, value)) = skim.next(inner)? {
                        match (field, value) {
                            (1, Value::Bytes(end)) => domain = skim.text(end)?,
                            (2, Value::Number(number)) => version = number,
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                    if matches!(domain.as_str(), "" | "ai.onnx") {
                        self.opset = version;
                    }
                    self.model_fields.push(range(begin, skim.at));
                }
                // A function.
                (25, Value::Bytes(inner)) => {
                    self.nested(skim, inner, 7, 0, &mut Vec::new())?;
                    self.model_fields.push(range(begin, skim.at));
                }
                (_, value) => {
                    skim.pass(&value)?;
                    self.model_fields.push(range(begin, skim.at));
                }
            }
        }
        Ok(())
    }

    fn graph(&mut self, skim: &mut Skim, end: u64) -> Result<()> {
        loop {
            let begin = skim.at;
            let Some((field, value)) = skim.next(end)? else { break };
            match (field, value) {
                (1, Value::Bytes(end)) => {
                    let node = self.node(skim, end)?;
                    self.nodes.push(node);
                    ensure!(
                        self.nodes.len() <= MOST_NODES,
                        "它的操作超过 {MOST_NODES} 个",
                        "it has more than {MOST_NODES} operations"
                    );
                }
                (5, Value::Bytes(end)) => {
                    let weight = self.tensor(skim, end)?;
                    self.initializers.push(weight);
                    ensure!(
                        self.initializers.len() <= MOST_WEIGHTS,
                        "它的权重超过 {MOST_WEIGHTS} 个",
                        "it has more than {MOST_WEIGHTS} weights"
                    );
                }
                (15, Value::Bytes(_)) => {
                    bail!("它有稀疏权重，这里不读取", "it has sparse weights, which are not read here")
                }
                (11..=13, Value::Bytes(end)) => {
                    let (name, data_type) = value_info(skim, end)?;
                    let range = range(begin, end);
                    let info = ValueInfo { name, data_type, range };
                    match field {
                        11 => self.inputs.push(info),
                        12 => {
                            self.outputs.push(info.name);
                            self.graph_fields.push(range);
                        }
                        _ => {
                            self.values.push(info);
                            self.graph_fields.push(range);
                        }
                    }
                    let most = self.inputs.len().max(self.outputs.len()).max(self.values.len());
                    ensure!(
                        most <= MOST_NODES,
                        "它描述的值超过 {MOST_NODES} 个",
                        "it describes more than {MOST_NODES} values"
                    );
                }
                (_, value) => {
                    skim.pass(&value)?;
                    self.graph_fields.push(range(begin, skim.at));
                }
            }
        }
        // Old files list their weights among the inputs.
        let weights: HashSet<&str> = self.initializers.iter().map(|weight| weight.name.as_str()).collect();
        self.inputs.retain(|input| !weights.contains(input.name.as_str()));
        Ok(())
    }

    fn node(&mut self, skim: &mut Skim, end: u64) -> Result<GraphNode> {
        let mut node = GraphNode::default();
        loop {
            let begin = skim.at;
            let Some((field, value)) = skim.next(end)? else { break };
            match (field, value) {
                (1, Value::Bytes(end)) => node.inputs.push(skim.text(end)?),
                (2, Value::Bytes(end)) => node.outputs.push(skim.text(end)?),
                (3, Value::Bytes(end)) => node.name = skim.text(end)?,
                (4, Value::Bytes(end)) => node.operator = skim.text(end)?,
                (5, Value::Bytes(end)) => {
                    let attribute = self.attribute(skim, end)?;
                    node.attributes.push(attribute);
                }
                (7, Value::Bytes(end)) => node.domain = skim.text(end)?,
                (_, value) => {
                    skim.pass(&value)?;
                    node.others.push(range(begin, skim.at));
                }
            }
        }
        Ok(node)
    }

    fn attribute(&mut self, skim: &mut Skim, end: u64) -> Result<NodeAttribute> {
        let mut attribute = NodeAttribute {
            name: String::new(),
            int: None,
            float: None,
            ints: Vec::new(),
            tensor: None,
            captured: Vec::new(),
            body: AttributeBody::Range(range(skim.at, end)),
        };
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (1, Value::Bytes(end)) => attribute.name = skim.text(end)?,
                (2, Value::Wide(4)) => attribute.float = Some(skim.float()?),
                (3, Value::Number(number)) => attribute.int = Some(number as i64),
                (5, Value::Bytes(end)) => attribute.tensor = Some(self.tensor(skim, end)?),
                (6 | 11, Value::Bytes(end)) => self.nested(skim, end, 1, 1, &mut attribute.captured)?,
                (8, Value::Number(number)) => attribute.ints.push(number as i64),
                (8, Value::Bytes(end)) => {
                    while skim.at < end {
                        attribute.ints.push(skim.varint()? as i64);
                    }
                }
                (10, Value::Bytes(end)) => self.held_within(skim, end)?,
                (22 | 23, Value::Bytes(_)) => {
                    bail!("它有稀疏权重，这里不读取", "it has sparse weights, which are not read here")
                }
                (_, value) => skim.pass(&value)?,
            }
        }
        Ok(attribute)
    }

    /// Notes the names that a graph or function within the graph uses. Its operations are the field `nodes`.
    fn nested(
        &mut self,
        skim: &mut Skim,
        end: u64,
        nodes: u64,
        depth: usize,
        captured: &mut Vec<String>,
    ) -> Result<()> {
        ensure!(depth <= DEEPEST, "其中的图嵌套超过 {DEEPEST} 层", "graphs in it are nested more than {DEEPEST} deep");
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (field, Value::Bytes(end)) if field == nodes => {
                    while let Some((field, value)) = skim.next(end)? {
                        match (field, value) {
                            (1, Value::Bytes(end)) => captured.push(skim.text(end)?),
                            (5, Value::Bytes(end)) => {
                                while let Some((field, value)) = skim.next(end)? {
                                    match (field, value) {
                                        (5 | 10, Value::Bytes(end)) => self.held_within(skim, end)?,
                                        (6 | 11, Value::Bytes(end)) => {
                                            self.nested(skim, end, 1, depth + 1, captured)?;
                                        }
                                        (_, value) => skim.pass(&value)?,
                                    }
                                }
                            }
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                }
                // An output of a graph may be a value of the graph around it.
                (12, Value::Bytes(end)) if nodes == 1 => captured.push(value_info(skim, end)?.0),
                (5, Value::Bytes(end)) if nodes == 1 => self.held_within(skim, end)?,
                (_, value) => skim.pass(&value)?,
            }
        }
        Ok(())
    }

    /// Reads a tensor that is copied with the operation that holds it.
    fn held_within(&mut self, skim: &mut Skim, end: u64) -> Result<()> {
        self.tensor(skim, end)?.held_within()
    }

    fn tensor(&mut self, skim: &mut Skim, end: u64) -> Result<Initializer> {
        let message = range(skim.at, end);
        let (mut name, mut data_type, mut dims) = (String::new(), 0, Vec::new());
        let (mut plain, mut others, mut outside) = (None, false, false);
        let (mut location, mut offset, mut length) = (String::new(), 0, None);
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (1, Value::Number(size)) => dims.push(size),
                (1, Value::Bytes(end)) => {
                    while skim.at < end {
                        dims.push(skim.varint()?);
                        ensure!(
                            dims.len() <= MOST_AXES,
                            "其中有张量超过 {MOST_AXES} 维",
                            "a tensor in it has more than {MOST_AXES} axes"
                        );
                    }
                }
                (2, Value::Number(number)) => data_type = number,
                (8, Value::Bytes(end)) => name = skim.text(end)?,
                // Numbers of single precision stand one after the other as in raw_data.
                (field @ (4 | 9), Value::Bytes(end)) => {
                    others |= field == 4 && data_type != FLOAT || plain.is_some();
                    plain = Some(range(skim.at, end));
                    skim.pass(&Value::Bytes(end))?;
                }
                (3..=7 | 10 | 11, value) => {
                    others = true;
                    skim.pass(&value)?;
                }
                (13, Value::Bytes(end)) => {
                    let (key, entry) = entry(skim, end)?;
                    match key.as_str() {
                        "location" => location = entry,
                        "offset" => {
                            offset = entry.parse().with_context(|| {
                                message!("{name} 的偏移为 {entry:?}", "{name} has the offset {entry:?}")
                            })?
                        }
                        "length" => {
                            length = Some(entry.parse().with_context(|| {
                                message!("{name} 的长度为 {entry:?}", "{name} has the length {entry:?}")
                            })?);
                        }
                        _ => {}
                    }
                }
                (14, Value::Number(number)) => outside = number == 1,
                (_, value) => skim.pass(&value)?,
            }
            ensure!(
                dims.len() <= MOST_AXES,
                "其中有张量超过 {MOST_AXES} 维",
                "a tensor in it has more than {MOST_AXES} axes"
            );
        }
        let count = dims.iter().try_fold(1u64, |count, size| count.checked_mul(*size));
        let count = count.with_context(|| {
            message!("权重 {name:?} 的尺寸为 {dims:?}", "the weights {name:?} have the sizes {dims:?}")
        })?;
        let numbers = match (outside, plain, others) {
            (true, ..) => {
                ensure!(
                    !location.is_empty(),
                    "权重 {name:?} 在另一文件中，却没有说是哪个",
                    "the weights {name:?} lie in another file, and it is not said in which"
                );
                let (file, size) = self.beside(&location)?;
                let length = length.unwrap_or(size.saturating_sub(offset));
                ensure!(
                    offset.checked_add(length).is_some_and(|end| end <= size),
                    "文件 {location} 有 {size} 字节，在权重 {name:?} 之前结束：它不完整，请复制模型的全部文件",
                    "the file {location} has {size} bytes and ends before the weights {name:?} do: it was cut off, copy all files of the model"
                );
                Numbers::Plain(ByteRange { file, offset, length })
            }
            (false, Some(plain), false) => Numbers::Plain(plain),
            (false, None, false) if count == 0 => Numbers::Plain(ByteRange { length: 0, ..message }),
            _ => Numbers::Message(message),
        };
        if let (Numbers::Plain(range), Some(width)) = (numbers, width(data_type)) {
            ensure!(
                count.checked_mul(width) == Some(range.length),
                "权重 {name:?} 的尺寸为 {dims:?}，却有 {} 字节",
                "the weights {name:?} have the sizes {dims:?} and {} bytes",
                range.length
            );
        }
        Ok(Initializer { name, data_type, dims, numbers })
    }

    /// The place among the files, and the size, of one beside the graph.
    fn beside(&mut self, location: &str) -> Result<(usize, u64)> {
        let plain = Path::new(location).components().all(|part| matches!(part, Component::Normal(_)));
        ensure!(
            plain,
            "权重在 {location:?}，不在模型的文件夹里",
            "weights lie in {location:?}, which is not in the folder of the model"
        );
        let path = self.folder.join(location);
        let size = std::fs::metadata(&path)
            .with_context(|| message!("无法查看 {}", "cannot look at {}", path.display()))?
            .len();
        let known = self.files.iter().position(|file| matches!(file, ModelFile::Path(known) if *known == path));
        let file = known.unwrap_or_else(|| {
            self.files.push(ModelFile::Path(path));
            self.files.len() - 1
        });
        // The file of the graph itself is never one of weights.
        ensure!(file > 0, "权重就在图自身的文件里", "weights lie in the file of the graph itself");
        Ok((file, size))
    }

    /// Makes operations that give a constant tensor to weights.
    fn constants_to_weights(&mut self) {
        let initializers = &mut self.initializers;
        self.nodes.retain(|node| {
            let [name] = &node.outputs[..] else { return true };
            let tensor = node.attribute("value").and_then(|attribute| attribute.tensor.as_ref());
            let plain = tensor.filter(|tensor| matches!(tensor.numbers, Numbers::Plain(_)) && node.is("Constant"));
            let Some(tensor) = plain else { return true };
            initializers.push(Initializer { name: name.clone(), ..tensor.clone() });
            false
        });
    }
}
