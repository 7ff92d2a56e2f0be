//! What a model file says of itself, read without the library and without its weights: those are stepped over, so a file of gigabytes
//! takes as long as a small one.
//!
//! The file is a message of protocol buffers, `ModelProto` of onnx/onnx.proto; the numbers of its fields below are from there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::session::{Element, Port};

/// A size of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// Always this.
    Fixed(i64),
    /// Open, with the name that the graph gives it: `batch`, `sequence`.
    Named(String),
    /// Open, without a name.
    Open,
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Size::Fixed(size) => write!(f, "{size}"),
            Size::Named(name) => f.write_str(name),
            Size::Open => f.write_str("?"),
        }
    }
}

/// An input or output of a graph, as its file writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// The type of its numbers: `fp32`, `int64`.
    pub element: &'static str,
    /// Its sizes in order.
    pub shape: Vec<Size>,
}

impl TensorInfo {
    /// As a session would tell it.
    pub(crate) fn port(&self) -> Port {
        let element = match self.element {
            "int64" => Element::I64,
            "int32" => Element::I32,
            "bool" => Element::Bool,
            "fp32" => Element::F32,
            "fp16" => Element::F16,
            _ => Element::Other,
        };
        let shape = self.shape.iter().map(|size| if let Size::Fixed(size) = size { *size } else { -1 }).collect();
        Port { name: self.name.clone(), element, shape }
    }
}

/// What stands in a model file beside its weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The program that wrote it, with its version.
    pub producer: String,
    /// Version of the operators of ONNX itself.
    pub opset: Option<u64>,
    /// Operations of the graph.
    pub nodes: u64,
    /// What it takes.
    pub inputs: Vec<TensorInfo>,
    /// What it gives.
    pub outputs: Vec<TensorInfo>,
    /// Numbers among its weights, by type.
    pub weights: BTreeMap<&'static str, u64>,
    /// Files beside it that hold weights.
    pub beside: Vec<PathBuf>,
}

impl Header {
    /// Reads it from a file.
    pub fn read(path: &Path) -> Result<Header> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let end = file.metadata().with_context(|| format!("cannot look at {}", path.display()))?.len();
        let mut header = Header::default();
        let mut skim = Skim { reader: BufReader::new(file), at: 0 };
        header.model(&mut skim, end).with_context(|| {
            format!("{} is no ONNX model, or a damaged one: export the model again", path.display())
        })?;
        ensure!(
            !header.outputs.is_empty(),
            "{} is no ONNX model: it holds no graph that gives anything",
            path.display()
        );
        Ok(header)
    }

    /// How exact the weights are: the types that hold a tenth of their numbers or more, the most frequent first.
    pub fn precision(&self) -> String {
        let all: u64 = self.weights.values().sum();
        let mut types: Vec<_> = self.weights.iter().filter(|(_, count)| **count * 10 >= all).collect();
        types.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
        types.into_iter().map(|(name, _)| *name).collect::<Vec<_>>().join("+")
    }

    fn model(&mut self, skim: &mut Skim, end: u64) -> Result<()> {
        let (mut name, mut version) = (String::new(), String::new());
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (2, Value::Bytes(end)) => name = skim.text(end)?,
                (3, Value::Bytes(end)) => version = skim.text(end)?,
                (7, Value::Bytes(end)) => self.graph(skim, end)?,
                (8, Value::Bytes(end)) => {
                    let (mut domain, mut opset) = (String::new(), None);
                    while let Some((field, value)) = skim.next(end)? {
                        match (field, value) {
                            (1, Value::Bytes(end)) => domain = skim.text(end)?,
                            (2, Value::Number(number)) => opset = Some(number),
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                    if domain.is_empty() || domain == "ai.onnx" {
                        self.opset = opset;
                    }
                }
                (_, value) => skim.pass(&value)?,
            }
        }
        self.producer = [name, version].join(" ").trim().to_owned();
        Ok(())
    }

    fn graph(&mut self, skim: &mut Skim, end: u64) -> Result<()> {
        let mut weights = Vec::new();
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (1, Value::Bytes(end)) => {
                    self.nodes += 1;
                    skim.go(end)?;
                }
                (5, Value::Bytes(end)) => weights.push(self.weight(skim, end)?),
                (11, Value::Bytes(end)) => self.inputs.push(port(skim, end)?),
                (12, Value::Bytes(end)) => self.outputs.push(port(skim, end)?),
                (_, value) => skim.pass(&value)?,
            }
        }
        // Old files list their weights among the inputs.
        self.inputs.retain(|input| !weights.contains(&input.name));
        self.beside.sort();
        self.beside.dedup();
        Ok(())
    }

    /// Counts the numbers of a weight, and says its name.
    fn weight(&mut self, skim: &mut Skim, end: u64) -> Result<String> {
        let (mut name, mut element, mut count) = (String::new(), 0, 1u64);
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (1, Value::Number(size)) => count = count.saturating_mul(size),
                (1, Value::Bytes(end)) => {
                    while skim.at < end {
                        count = count.saturating_mul(skim.varint()?);
                    }
                }
                (2, Value::Number(number)) => element = number,
                (8, Value::Bytes(end)) => name = skim.text(end)?,
                (13, Value::Bytes(end)) => {
                    let (mut key, mut said) = (String::new(), String::new());
                    while let Some((field, value)) = skim.next(end)? {
                        match (field, value) {
                            (1, Value::Bytes(end)) => key = skim.text(end)?,
                            (2, Value::Bytes(end)) => said = skim.text(end)?,
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                    if key == "location" {
                        self.beside.push(said.into());
                    }
                }
                (_, value) => skim.pass(&value)?,
            }
        }
        *self.weights.entry(element_name(element)).or_default() += count;
        Ok(name)
    }
}

/// A `ValueInfoProto`: a name, and behind `type.tensor_type` its type and sizes.
fn port(skim: &mut Skim, end: u64) -> Result<TensorInfo> {
    let mut info = TensorInfo { element: "?", ..TensorInfo::default() };
    while let Some((field, value)) = skim.next(end)? {
        match (field, value) {
            (1, Value::Bytes(end)) => info.name = skim.text(end)?,
            (2, Value::Bytes(end)) => {
                while let Some((field, value)) = skim.next(end)? {
                    match (field, value) {
                        (1, Value::Bytes(end)) => tensor(skim, end, &mut info)?,
                        (_, value) => skim.pass(&value)?,
                    }
                }
            }
            (_, value) => skim.pass(&value)?,
        }
    }
    Ok(info)
}

fn tensor(skim: &mut Skim, end: u64, info: &mut TensorInfo) -> Result<()> {
    while let Some((field, value)) = skim.next(end)? {
        match (field, value) {
            (1, Value::Number(number)) => info.element = element_name(number),
            (2, Value::Bytes(end)) => {
                while let Some((field, value)) = skim.next(end)? {
                    let (1, Value::Bytes(end)) = (field, &value) else {
                        skim.pass(&value)?;
                        continue;
                    };
                    let mut size = Size::Open;
                    while let Some((field, value)) = skim.next(*end)? {
                        match (field, value) {
                            (1, Value::Number(number)) => {
                                size = i64::try_from(number).map_or(Size::Open, Size::Fixed);
                            }
                            (2, Value::Bytes(end)) => size = Size::Named(skim.text(end)?),
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                    info.shape.push(size);
                }
            }
            (_, value) => skim.pass(&value)?,
        }
    }
    Ok(())
}

/// `TensorProto.DataType`.
fn element_name(number: u64) -> &'static str {
    match number {
        1 => "fp32",
        2 => "uint8",
        3 => "int8",
        4 => "uint16",
        5 => "int16",
        6 => "int32",
        7 => "int64",
        8 => "text",
        9 => "bool",
        10 => "fp16",
        11 => "fp64",
        12 => "uint32",
        13 => "uint64",
        16 => "bf16",
        17..=20 => "fp8",
        21 => "uint4",
        22 => "int4",
        _ => "?",
    }
}

/// The value of a field: a number, or the place where its bytes end.
enum Value {
    Number(u64),
    Bytes(u64),
    /// So many bytes of a number that is not wanted.
    Wide(u64),
}

/// Longest name that is read.
const LONGEST: u64 = 1 << 16;

/// A file of protocol buffers, read from front to back.
struct Skim {
    reader: BufReader<File>,
    at: u64,
}

impl Skim {
    /// The next field of a message that ends at `end`.
    fn next(&mut self, end: u64) -> Result<Option<(u64, Value)>> {
        ensure!(self.at <= end, "a part of it is longer than the whole");
        if self.at == end {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Wide(8),
            2 => {
                let length = self.varint()?;
                let inner = self.at.checked_add(length).filter(|inner| *inner <= end);
                Value::Bytes(inner.context("a part of it is longer than the whole: it was cut off")?)
            }
            5 => Value::Wide(4),
            kind => bail!("it has a field of the unknown kind {kind}"),
        };
        Ok(Some((tag >> 3, value)))
    }

    /// Steps over a value.
    fn pass(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Number(_) => Ok(()),
            Value::Bytes(end) => self.go(*end),
            Value::Wide(bytes) => self.go(self.at + bytes),
        }
    }

    fn go(&mut self, to: u64) -> Result<()> {
        let step = i64::try_from(to.saturating_sub(self.at)).context("a part of it is too long")?;
        self.reader.seek_relative(step)?;
        self.at = to;
        Ok(())
    }

    fn text(&mut self, end: u64) -> Result<String> {
        let length = end - self.at;
        ensure!(length <= LONGEST, "a name in it is {length} bytes long");
        let mut bytes = Vec::new();
        self.reader.by_ref().take(length).read_to_end(&mut bytes)?;
        self.at = end;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.reader.fill_buf()?.first().context("it was cut off")?;
            self.reader.consume(1);
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        bail!("a number in it has no end")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::super::session::Session;
    use super::super::testing::{graph, opening};
    use super::*;

    #[test]
    fn what_the_file_says_is_what_the_library_makes_of_it() {
        for name in ["bert", "bert-mlm", "bert-classifier", "gpt2", "xlnet-mems", "elmo-chars", "ulmfit"] {
            let path = graph(name).join("model.onnx");
            let header = Header::read(&path).unwrap();
            let session = Session::open(&path, opening().runtime, Device::Cpu, 1).unwrap();
            let ports = |infos: &[TensorInfo]| infos.iter().map(TensorInfo::port).collect::<Vec<_>>();
            assert_eq!(ports(&header.inputs), session.inputs(), "{name}");
            assert_eq!(ports(&header.outputs), session.outputs(), "{name}");
            assert!(header.nodes > 3 && header.opset > Some(10), "{name}: {header:?}");
        }
    }

    #[test]
    fn sizes_have_the_names_of_the_graph_and_weights_their_types() {
        let demo = Header::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/model/model.onnx")).unwrap();
        let ids = demo.inputs.iter().find(|input| input.name == "input_ids").unwrap();
        assert_eq!(
            (ids.element, &*ids.shape),
            ("int64", &[Size::Named("batch".into()), Size::Named("sequence".into())][..])
        );
        let logits = demo.outputs.iter().find(|output| output.name == "logits").unwrap();
        assert_eq!(logits.shape[1], Size::Fixed(3));
        // As its README says.
        assert_eq!(demo.weights["fp32"], 531_859);
        assert_eq!(demo.precision(), "fp32");
        let precision = |name: &str| Header::read(&graph("bert").join(name)).unwrap().precision();
        assert_eq!((precision("model_fp16.onnx").as_str(), precision("model.onnx").as_str()), ("fp16", "fp32"));
        assert!(precision("model_int8.onnx").contains("int8"), "{}", precision("model_int8.onnx"));
    }

    #[test]
    fn a_damaged_file_is_told_and_weights_beside_it_are_named() {
        let external = Header::read(&graph("broken").join("external.onnx")).unwrap();
        assert!(!external.beside.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("model.onnx");
        let whole = std::fs::read(graph("bert").join("model.onnx")).unwrap();
        for bytes in [&b""[..], b"not a model", &[0xff; 40], &whole[..whole.len() / 2], &whole[..7]] {
            std::fs::write(&file, bytes).unwrap();
            let error = format!("{:#}", Header::read(&file).unwrap_err());
            assert!(error.contains("model.onnx is no ONNX model"), "{error}");
        }
        let error = format!("{:#}", Header::read(&graph("broken").join("not_onnx.onnx")).unwrap_err());
        assert!(error.contains("not_onnx.onnx"), "{error}");
    }
}
