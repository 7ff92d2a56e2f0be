//! The stack machine of Python's pickles (protocols 0 to 5), without anything that it could call.
//!
//! A pickle is a program that names functions and calls them. Here a call stays a note of the function's name and its arguments, which
//! `frame` understands for frames of pandas. A name that frames do not use is refused where it stands, whether it would be called or not.

use std::borrow::Cow;
use std::cell::Cell;

use anyhow::{Context, Result};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Number of a node.
pub(super) type NodeId = usize;

/// A value of a pickle. Parts are numbers of other nodes, which may lie in several places.
#[derive(Clone, Debug)]
pub(super) enum Node<'a> {
    None,
    Bool(bool),
    Int(i64),
    /// A floating number, which frames have in places without meaning alone.
    Float,
    Text(String),
    Bytes(Cow<'a, [u8]>),
    /// A tuple or a list.
    List(Vec<NodeId>),
    Dict(Vec<(NodeId, NodeId)>),
    /// A function or a class, by module and name.
    Global(String),
    Call {
        function: NodeId,
        arguments: NodeId,
        state: Option<NodeId>,
    },
}

/// Modules whose names frames use, each with the names.
const KNOWN: &[(&str, &[&str])] = &[
    ("pandas", &["DataFrame", "Series", "Index", "MultiIndex", "DatetimeIndex", "RangeIndex", "StringDtype"]),
    ("pandas.core.frame", &["DataFrame"]),
    ("pandas.core.series", &["Series"]),
    ("pandas.core.internals.managers", &["BlockManager", "SingleBlockManager"]),
    ("pandas.core.internals.blocks", &["new_block"]),
    ("pandas._libs.internals", &["_unpickle_block", "BlockManager"]),
    ("pandas.core.indexes.base", &["_new_Index", "Index"]),
    ("pandas.core.indexes.multi", &["MultiIndex"]),
    ("pandas.core.indexes.range", &["RangeIndex"]),
    ("pandas.core.indexes.numeric", &["Int64Index", "Float64Index"]),
    ("pandas.core.indexes.datetimes", &["_new_DatetimeIndex", "DatetimeIndex"]),
    ("pandas.core.indexes.frozen", &["FrozenList"]),
    ("pandas.core.arrays.datetimes", &["DatetimeArray"]),
    ("pandas.core.arrays.string_", &["StringDtype", "StringArray"]),
    ("pandas.core.arrays.string_arrow", &["ArrowStringArray"]),
    ("pandas.arrays", &["DatetimeArray", "ArrowStringArray", "StringArray"]),
    ("pandas._libs.arrays", &["__pyx_unpickle_NDArrayBacked"]),
    ("pandas._libs.tslibs.offsets", &["Day", "BusinessDay", "BDay"]),
    ("pandas.core.dtypes.dtypes", &["DatetimeTZDtype"]),
    ("pyarrow.lib", &["_restore_array", "type_for_alias", "py_buffer", "chunked_array", "large_string", "string"]),
    ("numpy", &["ndarray", "dtype"]),
    ("numpy.core.multiarray", &["_reconstruct", "scalar"]),
    ("numpy._core.multiarray", &["_reconstruct", "scalar"]),
    ("numpy.core.numeric", &["_frombuffer"]),
    ("numpy._core.numeric", &["_frombuffer"]),
    ("builtins", &["slice", "bytearray"]),
    ("__builtin__", &["slice", "bytearray"]),
    ("copyreg", &["_reconstructor"]),
    ("copy_reg", &["_reconstructor"]),
    ("_codecs", &["encode"]),
];

/// Objects of a pickle that may be looked at; a frame has fewer by far.
const MOST_LOOKS: usize = 100_000;
/// Objects inside one another.
const MOST_DEEP: usize = 64;

/// Nodes of a pickle.
pub(super) struct Nodes<'a> {
    nodes: Vec<Node<'a>>,
    /// Bytes of the file.
    pub size: usize,
    looks: Cell<usize>,
}

impl<'a> Nodes<'a> {
    fn add(&mut self, node: Node<'a>) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id]
    }

    /// The bytes of `_codecs.encode(text, 'latin1')` and of `bytearray(bytes)`, which protocols before 3 and 5 write for bytes.
    fn encoded(&self, function: NodeId, arguments: NodeId) -> Option<Vec<u8>> {
        let (Node::Global(name), Node::List(arguments)) = (self.node(function), self.node(arguments)) else {
            return None;
        };
        match (name.as_str(), self.node(*arguments.first()?)) {
            ("_codecs.encode", Node::Text(text)) => text.chars().map(|c| u8::try_from(c).ok()).collect(),
            ("builtins.bytearray" | "__builtin__.bytearray", Node::Bytes(bytes)) => Some(bytes.to_vec()),
            _ => None,
        }
    }

    /// Counts an object that is looked at: parts that lie in many places could be looked at without end.
    pub(super) fn look(&self) -> Result<()> {
        self.looks.set(self.looks.get() + 1);
        ensure!(
            self.looks.get() <= MOST_LOOKS,
            "pickle 的对象过多，不像数据框",
            "the pickle has too many objects for a frame"
        );
        Ok(())
    }

    /// Fails if an object lies within itself, or too deep within others.
    fn check_depth(&self, top: NodeId) -> Result<()> {
        let parts = |id: NodeId| match &self.nodes[id] {
            Node::List(items) => items.clone(),
            Node::Dict(items) => items.iter().flat_map(|(key, value)| [*key, *value]).collect(),
            Node::Call { function, arguments, state } => [*function, *arguments].into_iter().chain(*state).collect(),
            _ => Vec::new(),
        };
        let mut is_done = vec![false; self.nodes.len()];
        let mut open: Vec<(NodeId, Vec<NodeId>)> = vec![(top, parts(top))];
        while let Some((id, rest)) = open.last_mut() {
            match rest.pop() {
                Some(part) if is_done[part] => {}
                Some(part) => {
                    open.push((part, parts(part)));
                    ensure!(
                        open.len() <= MOST_DEEP,
                        "pickle 的对象无限嵌套",
                        "objects of the pickle lie within one another without end"
                    );
                }
                None => {
                    is_done[*id] = true;
                    open.pop();
                }
            }
        }
        Ok(())
    }
}

/// Runs the program up to its end; gives the nodes and the number of the last.
pub(super) fn unpickled(bytes: &[u8]) -> Result<(Nodes<'_>, NodeId)> {
    let mut reader = PickleReader { bytes, at: 0 };
    let mut nodes = Nodes { nodes: Vec::new(), size: bytes.len(), looks: Cell::new(0) };
    let mut stack: Vec<NodeId> = Vec::new();
    let mut marks: Vec<usize> = Vec::new();
    let mut memo: Vec<NodeId> = Vec::new();
    let empty = Word("pickle 已损坏：从空栈取值", "the pickle is damaged: it takes from an empty stack");
    loop {
        let place = reader.at;
        let code = reader.byte()?;
        let pop = |stack: &mut Vec<NodeId>| stack.pop().context(empty);
        let node = match code {
            0x80 => {
                reader.take(1)?;
                continue;
            }
            0x95 => {
                reader.take(8)?;
                continue;
            }
            b'.' => {
                let top = pop(&mut stack)?;
                nodes.check_depth(top)?;
                return Ok((nodes, top));
            }
            b'(' => {
                marks.push(stack.len());
                continue;
            }
            b'0' => {
                pop(&mut stack)?;
                continue;
            }
            b'1' => {
                stack.truncate(marks.pop().context(empty)?);
                continue;
            }
            b'N' => Node::None,
            0x88 => Node::Bool(true),
            0x89 => Node::Bool(false),
            b'K' => Node::Int(reader.number(1)? as i64),
            b'M' => Node::Int(reader.number(2)? as i64),
            b'J' => Node::Int(i64::from(reader.number(4)? as u32 as i32)),
            0x8a => {
                let length = reader.number(1)? as usize;
                ensure!(
                    length <= 8,
                    "{length} 字节的整数不会出现在数据框里",
                    "a whole number of {length} bytes is none of a frame"
                );
                let value = reader.number(length)?;
                let shift = 64 - 8 * length as u32;
                Node::Int(if length == 0 { 0 } else { ((value << shift) as i64) >> shift })
            }
            b'I' => match reader.line()? {
                "00" => Node::Bool(false),
                "01" => Node::Bool(true),
                digits => Node::Int(digits.parse()?),
            },
            b'L' => Node::Int(reader.line()?.trim_end_matches('L').parse()?),
            b'F' => {
                reader.line()?;
                Node::Float
            }
            b'G' => {
                reader.take(8)?;
                Node::Float
            }
            b'X' => Node::Text(reader.text(4)?),
            0x8c => Node::Text(reader.text(1)?),
            0x8d => Node::Text(reader.text(8)?),
            b'V' => Node::Text(reader.line()?.to_owned()),
            b'B' | b'T' => Node::Bytes(reader.counted(4)?.into()),
            b'C' | b'U' => Node::Bytes(reader.counted(1)?.into()),
            0x8e | 0x96 => Node::Bytes(reader.counted(8)?.into()),
            b')' | b']' => Node::List(Vec::new()),
            b'}' => Node::Dict(Vec::new()),
            0x85..=0x87 => {
                let first = stack.len().checked_sub(usize::from(code - 0x84)).context(empty)?;
                Node::List(stack.split_off(first))
            }
            b't' | b'l' => Node::List(stack.split_off(marks.pop().context(empty)?.min(stack.len()))),
            b'd' => Node::Dict(pairs(&stack.split_off(marks.pop().context(empty)?.min(stack.len())))),
            b'a' | b'e' => {
                let first = if code == b'e' { marks.pop().context(empty)? } else { stack.len().saturating_sub(1) };
                let items = stack.split_off(first.min(stack.len()));
                let Some(Node::List(list)) = stack.last().map(|top| &mut nodes.nodes[*top]) else {
                    bail!("pickle 已损坏：向不是列表的对象添加", "the pickle is damaged: it adds to what is no list");
                };
                list.extend(items);
                continue;
            }
            b's' | b'u' => {
                let first = if code == b'u' { marks.pop().context(empty)? } else { stack.len().saturating_sub(2) };
                let items = stack.split_off(first.min(stack.len()));
                let Some(Node::Dict(dict)) = stack.last().map(|top| &mut nodes.nodes[*top]) else {
                    bail!(
                        "pickle 已损坏：向不是字典的对象添加",
                        "the pickle is damaged: it adds to what is no dictionary"
                    );
                };
                dict.extend(pairs(&items));
                continue;
            }
            b'c' => {
                let (module, name) = (reader.line()?.to_owned(), reader.line()?);
                global(&module, name)?
            }
            0x93 => {
                let (name, module) = (pop(&mut stack)?, pop(&mut stack)?);
                match (&nodes.nodes[module], &nodes.nodes[name]) {
                    (Node::Text(module), Node::Text(name)) => global(module, name)?,
                    _ => bail!("pickle 已损坏：名称不是文本", "the pickle is damaged: a name is no text"),
                }
            }
            b'R' | 0x81 => {
                let (arguments, function) = (pop(&mut stack)?, pop(&mut stack)?);
                match nodes.encoded(function, arguments) {
                    Some(bytes) => Node::Bytes(bytes.into()),
                    None => Node::Call { function, arguments, state: None },
                }
            }
            b'b' => {
                let given = pop(&mut stack)?;
                let Some(Node::Call { state, .. }) = stack.last().map(|top| &mut nodes.nodes[*top]) else {
                    bail!("pickle 已损坏：要构造的不是对象", "the pickle is damaged: it builds what is no object");
                };
                *state = Some(given);
                continue;
            }
            b'q' | b'r' | b'p' | 0x94 => {
                let top = *stack.last().context(empty)?;
                let at = match code {
                    b'q' => reader.number(1)? as usize,
                    b'r' => reader.number(4)? as usize,
                    b'p' => reader.line()?.parse()?,
                    _ => memo.len(),
                };
                ensure!(
                    at <= bytes.len(),
                    "pickle 已损坏：在 {} 字节中记下第 {at} 个值",
                    "the pickle is damaged: it notes value {at} of {} bytes",
                    bytes.len()
                );
                memo.resize(memo.len().max(at + 1), usize::MAX);
                memo[at] = top;
                continue;
            }
            b'h' | b'j' | b'g' => {
                let at = match code {
                    b'h' => reader.number(1)? as usize,
                    b'j' => reader.number(4)? as usize,
                    _ => reader.line()?.parse()?,
                };
                let noted = memo.get(at).filter(|noted| **noted != usize::MAX);
                stack.push(*noted.context(Word(
                    "pickle 已损坏：取用未曾记下的值",
                    "the pickle is damaged: it takes a value that it has not noted",
                ))?);
                continue;
            }
            other => bail!(
                "pickle 第 {place} 字节是数据框不用的操作 {other:#04x}",
                "byte {place} of the pickle is the operation {other:#04x}, which frames do not use"
            ),
        };
        stack.push(nodes.add(node));
    }
}

/// A function or class, if frames use it.
fn global<'a>(module: &str, name: &str) -> Result<Node<'a>> {
    ensure!(
        KNOWN.iter().any(|(known, names)| *known == module && names.contains(&name)),
        "pickle 提到 {module}.{name}，它不属于数值数据框；没有运行它。若信任该文件，可在 Python 中用 pandas.read_pickle(FILE).reset_index().to_parquet(OTHER) 写成可读的表",
        "the pickle names {module}.{name}, which is no part of a frame of numbers; it was not run. In Python, pandas.read_pickle(FILE).reset_index().to_parquet(OTHER) writes a table that can be read, if you trust the file"
    );
    Ok(Node::Global(format!("{module}.{name}")))
}

fn pairs(items: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    items.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// The bytes that are not read yet.
struct PickleReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> PickleReader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.bytes.len());
        let end = end.with_context(|| {
            message!(
                "pickle 在 {} 字节后中断，值不完整",
                "the pickle ends after {} bytes, in the middle of a value",
                self.bytes.len()
            )
        })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// A little-endian number of so many bytes, at most eight.
    fn number(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Bytes after their number, which takes so many bytes.
    fn counted(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let length = usize::try_from(self.number(bytes)?)?;
        self.take(length)
    }

    fn text(&mut self, bytes: usize) -> Result<String> {
        Ok(std::str::from_utf8(self.counted(bytes)?)
            .context(Word("pickle 中有文本不是 UTF-8", "a text of the pickle is not UTF-8"))?
            .to_owned())
    }

    fn line(&mut self) -> Result<&'a str> {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .context(Word("pickle 在一行中间结束", "the pickle ends in the middle of a line"))?;
        self.at += length + 1;
        Ok(std::str::from_utf8(&rest[..length])?.trim_end_matches('\r'))
    }
}
