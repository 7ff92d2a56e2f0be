//! Header of a model file, read without the library and without the weights: those are stepped over, so a file of gigabytes
//! takes as long as a small one.
//!
//! The file is a message of protocol buffers, `ModelProto` of onnx/onnx.proto; the numbers of its fields below are from there.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::architecture::{self, Wanted};
use super::session::{Element, Port};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
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
    pub name: String,
    /// The type of its numbers: `fp32`, `int64`.
    pub element: &'static str,
    /// Sizes in order.
    pub shape: Vec<Size>,
}

impl TensorInfo {
    /// The input or output as a session tells it.
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

/// Content of a model file beside its weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The program that wrote it, with its version.
    pub producer: String,
    /// Version of the operators of ONNX itself.
    pub opset: Option<u64>,
    /// Operations of the graph.
    pub nodes: u64,
    pub inputs: Vec<TensorInfo>,
    pub outputs: Vec<TensorInfo>,
    /// Numbers among its weights, by type.
    pub weights: BTreeMap<&'static str, u64>,
    /// Files that hold weights, relative to the folder of this one.
    pub beside: BTreeSet<PathBuf>,
}

impl Header {
    /// Reads the header of a graph's file; for a file of weights that of the graph that is written for them.
    pub fn read(path: &Path) -> Result<Header> {
        if architecture::is_weights(path) {
            let graph = architecture::graph(path, Wanted::All)?;
            let end = graph.bytes.len() as u64;
            let header = Header::parse(path, Box::new(Cursor::new(graph.bytes)), end)?;
            return Ok(Header { beside: graph.files, ..header });
        }
        let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
        let end = file.metadata().with_context(|| message!("无法查看 {}", "cannot look at {}", path.display()))?.len();
        Header::parse(path, Box::new(file), end)
    }

    fn parse(path: &Path, file: Box<dyn ReadSeek>, end: u64) -> Result<Header> {
        let mut header = Header::default();
        let mut skim = Skim::new(file);
        header.model(&mut skim, end).with_context(|| {
            message!(
                "{} 不是 ONNX 模型，或已损坏：请重新导出模型",
                "{} is not an ONNX model, or a damaged one: export the model again",
                path.display()
            )
        })?;
        ensure!(
            !header.outputs.is_empty(),
            "{} 不是 ONNX 模型：其中没有给出任何输出的图",
            "{} is not an ONNX model: it holds no graph that gives anything",
            path.display()
        );
        Ok(header)
    }

    /// Types that hold a tenth of the weights' numbers or more, the most frequent first.
    pub fn precision(&self) -> String {
        let all: u128 = self.weights.values().map(|count| u128::from(*count)).sum();
        let mut types: Vec<_> = self.weights.iter().filter(|(_, count)| u128::from(**count) * 10 >= all).collect();
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
                // A function, whose nodes are its field 7.
                (25, Value::Bytes(end)) => {
                    while let Some((field, value)) = skim.next(end)? {
                        match (field, value) {
                            (7, Value::Bytes(end)) => self.node(skim, end, 0)?,
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                }
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
        let mut weights = HashSet::new();
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (1, Value::Bytes(end)) => {
                    self.nodes += 1;
                    self.node(skim, end, 0)?;
                }
                (5, Value::Bytes(end)) => {
                    let (name, element, count) = self.tensor(skim, end)?;
                    let sum = self.weights.entry(element).or_default();
                    *sum = sum.saturating_add(count);
                    weights.insert(name);
                    ensure!(
                        weights.len() <= MOST_WEIGHTS,
                        "它的权重超过 {MOST_WEIGHTS} 个",
                        "it has more than {MOST_WEIGHTS} weights"
                    );
                }
                (15, Value::Bytes(end)) => self.sparse(skim, end)?,
                (11, Value::Bytes(end)) => self.inputs.push(port(skim, end)?),
                (12, Value::Bytes(end)) => self.outputs.push(port(skim, end)?),
                (_, value) => skim.pass(&value)?,
            }
            let ports = self.inputs.len().max(self.outputs.len());
            ensure!(
                ports <= MOST_WEIGHTS,
                "它的输入或输出超过 {MOST_WEIGHTS} 个",
                "it has more than {MOST_WEIGHTS} inputs or outputs"
            );
        }
        // Old files list their weights among the inputs.
        self.inputs.retain(|input| !weights.contains(&input.name));
        Ok(())
    }

    /// Notes the files of the weights that an operation holds itself, as constants or in graphs of its own: those of loops and branches.
    fn node(&mut self, skim: &mut Skim, end: u64, depth: usize) -> Result<()> {
        ensure!(depth <= DEEPEST, "其中的图嵌套超过 {DEEPEST} 层", "graphs in it are nested more than {DEEPEST} deep");
        while let Some((field, value)) = skim.next(end)? {
            let (5, Value::Bytes(end)) = (field, &value) else {
                skim.pass(&value)?;
                continue;
            };
            while let Some((field, value)) = skim.next(*end)? {
                match (field, value) {
                    (5 | 10, Value::Bytes(end)) => drop(self.tensor(skim, end)?),
                    (6 | 11, Value::Bytes(end)) => self.nested(skim, end, depth + 1)?,
                    (22 | 23, Value::Bytes(end)) => self.sparse(skim, end)?,
                    (_, value) => skim.pass(&value)?,
                }
            }
        }
        Ok(())
    }

    fn nested(&mut self, skim: &mut Skim, end: u64, depth: usize) -> Result<()> {
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (1, Value::Bytes(end)) => self.node(skim, end, depth)?,
                (5, Value::Bytes(end)) => drop(self.tensor(skim, end)?),
                (15, Value::Bytes(end)) => self.sparse(skim, end)?,
                (_, value) => skim.pass(&value)?,
            }
        }
        Ok(())
    }

    /// A `SparseTensorProto`: its values and their places are tensors.
    fn sparse(&mut self, skim: &mut Skim, end: u64) -> Result<()> {
        while let Some((field, value)) = skim.next(end)? {
            match (field, value) {
                (1 | 2, Value::Bytes(end)) => drop(self.tensor(skim, end)?),
                (_, value) => skim.pass(&value)?,
            }
        }
        Ok(())
    }

    /// A `TensorProto`: its name, the type of its numbers and how many there are. The file that holds them is noted.
    fn tensor(&mut self, skim: &mut Skim, end: u64) -> Result<(String, &'static str, u64)> {
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
                    let (mut key, mut entry) = (String::new(), String::new());
                    while let Some((field, value)) = skim.next(end)? {
                        match (field, value) {
                            (1, Value::Bytes(end)) => key = skim.text(end)?,
                            (2, Value::Bytes(end)) => entry = skim.text(end)?,
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                    if key == "location" {
                        self.beside.insert(entry.into());
                    }
                }
                (_, value) => skim.pass(&value)?,
            }
        }
        Ok((name, element_name(element), count))
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
                    ensure!(
                        info.shape.len() <= MOST_AXES,
                        "其中有张量超过 {MOST_AXES} 维",
                        "a tensor in it has more than {MOST_AXES} axes"
                    );
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
pub(crate) enum Value {
    Number(u64),
    Bytes(u64),
    /// So many bytes of a number that is not wanted.
    Wide(u64),
}

/// The most weights, and the most inputs or outputs, of a graph that is read: each is held in memory, however few bytes it has in the file.
pub(crate) const MOST_WEIGHTS: usize = 1 << 18;
pub(crate) const MOST_AXES: usize = 64;
/// The deepest that graphs of loops and branches are nested.
pub(crate) const DEEPEST: usize = 32;
/// Longest name that is read.
const LONGEST: u64 = 1 << 16;

/// A file, or bytes in memory.
pub(crate) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// A file of protocol buffers, read from front to back.
pub(crate) struct Skim {
    reader: BufReader<Box<dyn ReadSeek>>,
    /// Bytes from the beginning of the file.
    pub at: u64,
}

impl Skim {
    pub(crate) fn new(file: Box<dyn ReadSeek>) -> Skim {
        Skim { reader: BufReader::new(file), at: 0 }
    }

    /// The next field of a message that ends at `end`.
    pub(crate) fn next(&mut self, end: u64) -> Result<Option<(u64, Value)>> {
        ensure!(self.at <= end, "其中一部分比整体还长", "a part of it is longer than the whole");
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
                Value::Bytes(inner.context(Word(
                    "其中一部分比整体还长：文件不完整",
                    "a part of it is longer than the whole: it was cut off",
                ))?)
            }
            5 => Value::Wide(4),
            kind => bail!("它有未知种类 {kind} 的字段", "it has a field of the unknown kind {kind}"),
        };
        Ok(Some((tag >> 3, value)))
    }

    /// Steps over a value.
    pub(crate) fn pass(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Number(_) => Ok(()),
            Value::Bytes(end) => self.go(*end),
            Value::Wide(bytes) => self.go(self.at + bytes),
        }
    }

    fn go(&mut self, to: u64) -> Result<()> {
        let step =
            i64::try_from(to.saturating_sub(self.at)).context(Word("其中一部分过长", "a part of it is too long"))?;
        self.reader.seek_relative(step)?;
        self.at = to;
        Ok(())
    }

    pub(crate) fn text(&mut self, end: u64) -> Result<String> {
        let length = end - self.at;
        ensure!(length <= LONGEST, "其中有名称长 {length} 字节", "a name in it is {length} bytes long");
        let mut bytes = Vec::new();
        self.reader.by_ref().take(length).read_to_end(&mut bytes)?;
        self.at = end;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A number of single precision.
    pub(crate) fn float(&mut self) -> Result<f32> {
        let mut bytes = [0; 4];
        self.reader.read_exact(&mut bytes)?;
        self.at += 4;
        Ok(f32::from_le_bytes(bytes))
    }

    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.reader.fill_buf()?.first().context(Word("文件不完整", "it was cut off"))?;
            self.reader.consume(1);
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        bail!("其中有数没有结尾", "a number in it has no end")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::super::session::Session;
    use super::super::testing::{field, graph, has_library, opening};
    use super::*;

    #[test]
    fn what_the_file_says_is_what_the_library_makes_of_it() {
        if !has_library() {
            return;
        }
        for name in ["bert", "bert-mlm", "bert-classifier", "gpt2", "xlnet-mems", "elmo-chars", "ulmfit"] {
            let path = graph(name).join("model.onnx");
            let header = Header::read(&path).unwrap();
            let session = Session::open(&path, Wanted::Vectors, opening().runtime, Device::Cpu, 1).unwrap();
            let ports = |infos: &[TensorInfo]| infos.iter().map(TensorInfo::port).collect::<Vec<_>>();
            assert_eq!(ports(&header.inputs), session.inputs(), "{name}");
            assert_eq!(ports(&header.outputs), session.outputs(), "{name}");
            assert!(header.nodes > 3 && header.opset > Some(10), "{name}: {header:?}");
        }
    }

    #[test]
    fn sizes_have_the_names_of_the_graph_and_weights_their_types() {
        let demo = Header::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/model/model.onnx")).unwrap();
        let ids = demo.inputs.iter().find(|input| input.name == "input_ids").unwrap();
        assert_eq!(
            (ids.element, &*ids.shape),
            ("int64", &[Size::Named("batch".into()), Size::Named("sequence".into())][..])
        );
        let logits = demo.outputs.iter().find(|output| output.name == "logits").unwrap();
        assert_eq!(logits.shape[1], Size::Fixed(3));
        // The numbers are those of its README.
        assert_eq!(demo.weights["fp32"], 545_278);
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
        let intact = std::fs::read(graph("bert").join("model.onnx")).unwrap();
        for bytes in [&b""[..], b"not a model", &[0xff; 40], &intact[..intact.len() / 2], &intact[..7]] {
            std::fs::write(&file, bytes).unwrap();
            let error = format!("{:#}", Header::read(&file).unwrap_err());
            assert!(error.contains("model.onnx is not an ONNX model"), "{error}");
        }
        let error = format!("{:#}", Header::read(&graph("broken").join("not_onnx.onnx")).unwrap_err());
        assert!(error.contains("not_onnx.onnx"), "{error}");
    }

    fn read(model: &[u8]) -> Result<Header> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("model.onnx");
        std::fs::write(&file, model).unwrap();
        Header::read(&file)
    }

    /// A graph with an output and these fields.
    fn model(fields: &[Vec<u8>]) -> Vec<u8> {
        field(7, &[field(12, &field(1, b"y")), fields.concat()].concat())
    }

    #[test]
    fn weights_of_absurd_sizes_are_counted_up_to_the_largest_number() {
        // Two weights of one type, each of u64::MAX numbers.
        let most = [&[0xff; 9][..], &[1]].concat();
        let weight = |name: &[u8]| field(5, &[field(1, &most), vec![2 << 3, 1], field(8, name)].concat());
        let header = read(&model(&[weight(b"a"), weight(b"b")])).unwrap();
        assert_eq!((header.weights["fp32"], header.precision().as_str()), (u64::MAX, "fp32"));
    }

    #[test]
    fn weights_in_files_are_found_wherever_a_graph_holds_them() {
        let tensor = |location: &str| field(13, &[field(1, b"location"), field(2, location.as_bytes())].concat());
        let node = |attribute: Vec<u8>| field(1, &field(5, &attribute));
        let nested = field(6, &[node(field(5, &tensor("loop/constant"))), field(5, &tensor("loop/weight"))].concat());
        let found = read(
            &[
                model(&[
                    field(5, &tensor("weights.bin")),
                    field(15, &field(1, &tensor("sparse"))),
                    node(field(5, &tensor("constant"))),
                    node(field(10, &tensor("one of several"))),
                    node(nested),
                ]),
                field(25, &field(7, &field(5, &field(5, &tensor("function"))))),
            ]
            .concat(),
        );
        let found: Vec<String> = found.unwrap().beside.iter().map(|path| path.display().to_string()).collect();
        let wanted =
            ["constant", "function", "loop/constant", "loop/weight", "one of several", "sparse", "weights.bin"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_small_file_takes_neither_the_stack_nor_the_memory() {
        let mut deep = field(1, b"");
        for _ in 0..10_000 {
            deep = field(1, &field(5, &field(6, &deep)));
        }
        let error = format!("{:#}", read(&model(&[deep])).unwrap_err());
        assert!(error.contains("nested more than 32 deep"), "{error}");
        let many = field(11, b"").repeat(MOST_WEIGHTS + 1);
        let error = format!("{:#}", read(&model(&[many])).unwrap_err());
        assert!(error.contains("more than 262144 inputs"), "{error}");
        let axes = field(2, &field(1, b"").repeat(65));
        let error = format!("{:#}", read(&model(&[field(11, &field(2, &field(1, &axes)))])).unwrap_err());
        assert!(error.contains("more than 64 axes"), "{error}");
    }
}
