//! A converted graph written to its file: one weight at a time is in memory.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Result;

use super::graph::{AttributeBody, ByteRange, FLOAT, GraphNode, HALF, Initializer, ModelGraph, NodeAttribute, Numbers};
use super::int8::quantised;
use crate::architecture::proto::Message;
use inkstone_base::disk;
use inkstone_base::job::Ctx;

/// Version of the file format from which weights need not be inputs.
const LEAST_FORMAT: i64 = 4;
/// Bytes of a weight from which it is kept beside a graph that is too large for one file.
const BESIDE: u64 = 1024;
/// Weights in a file of their own begin at multiples of so many bytes, so that they can be mapped.
const ALIGNED: u64 = 4096;

/// The numbers of a weight as they are written.
pub(super) enum NewNumbers {
    Bytes(Vec<u8>),
    Copied(ByteRange),
    /// A whole `TensorProto`.
    Message(ByteRange),
    Single(Initializer),
    Half(Initializer),
    Int8(Initializer, Scales),
}

/// Scales of a weight in whole numbers.
#[derive(Clone)]
pub(super) struct Scales {
    /// One, or one for each column of the weight as it is written.
    pub scales: Vec<f32>,
    /// The whole number that stands for 0 where numbers are from 0 to 255; else they are from -128 to 127, and 0 is 0.
    pub zero: Option<u8>,
    /// The weight is written with rows and columns exchanged.
    pub transposed: bool,
}

/// A weight that is written.
pub(super) struct NewWeight {
    pub name: String,
    pub data_type: u64,
    pub dims: Vec<u64>,
    pub numbers: NewNumbers,
}

impl NewWeight {
    /// The weight as it is.
    pub(super) fn same(weight: &Initializer) -> NewWeight {
        let numbers = match weight.numbers {
            Numbers::Plain(range) => NewNumbers::Copied(range),
            Numbers::Message(range) => NewNumbers::Message(range),
        };
        NewWeight { name: weight.name.clone(), data_type: weight.data_type, dims: weight.dims.clone(), numbers }
    }

    fn length(&self) -> u64 {
        let count: u64 = self.dims.iter().product();
        match &self.numbers {
            NewNumbers::Bytes(bytes) => bytes.len() as u64,
            NewNumbers::Copied(range) | NewNumbers::Message(range) => range.length,
            NewNumbers::Single(_) => 4 * count,
            NewNumbers::Half(_) => 2 * count,
            NewNumbers::Int8(..) => count,
        }
    }
}

/// A graph that is written in place of another, of which it copies what it does not change.
pub(super) struct NewGraph {
    pub nodes: Vec<GraphNode>,
    pub weights: Vec<NewWeight>,
}

/// Numbers and weights that changed while a graph was written.
#[derive(Default)]
pub(super) struct Written {
    /// Numbers that half precision cannot hold.
    pub clamped: u64,
}

/// A part of a file.
enum FilePart {
    Bytes(Vec<u8>),
    Range(ByteRange),
    /// The numbers of a weight, by its place.
    Weight(usize),
}

/// A message in parts, whose length is known before it is written.
#[derive(Default)]
struct FileParts {
    parts: Vec<FilePart>,
    length: u64,
}

impl FileParts {
    fn message(&mut self, message: Message) {
        self.length += message.len();
        self.parts.push(FilePart::Bytes(message.into_bytes()));
    }

    fn range(&mut self, range: ByteRange) {
        self.length += range.length;
        self.parts.push(FilePart::Range(range));
    }

    fn nested(&mut self, field: u64, inner: FileParts) {
        self.message(Message::default().head(field, inner.length));
        self.length += inner.length;
        self.parts.extend(inner.parts);
    }
}

/// Writes a graph to `file`, and its weights to a file beside it where one file would have more than `most` bytes.
pub(super) fn write(old: &ModelGraph, new: &NewGraph, file: &Path, most: u64, ctx: &Ctx) -> Result<Written> {
    let mut written = Written::default();
    let mut parts = model(old, new, None);
    if parts.length > most {
        let mut name = file.file_name().unwrap_or_default().to_os_string();
        name.push("_data");
        let offsets = offsets(new);
        parts = model(old, new, Some((&name.to_string_lossy(), &offsets)));
        disk::write_atomic(&file.with_file_name(&name), |out| {
            for (weight, offset) in new.weights.iter().zip(&offsets) {
                let Some(offset) = offset else { continue };
                out.seek(SeekFrom::Start(*offset))?;
                write_numbers(old, weight, out, &mut written, ctx)?;
            }
            Ok(())
        })?;
    }
    disk::write_atomic(file, |out| {
        for part in &parts.parts {
            match part {
                FilePart::Bytes(bytes) => out.write_all(bytes)?,
                FilePart::Range(range) => out.write_all(&old.bytes(*range)?)?,
                FilePart::Weight(place) => write_numbers(old, &new.weights[*place], out, &mut written, ctx)?,
            }
        }
        Ok(())
    })?;
    Ok(written)
}

/// All bytes of weights, by which progress is counted.
pub(super) fn total(new: &NewGraph) -> u64 {
    new.weights.iter().map(NewWeight::length).sum()
}

fn write_numbers(
    old: &ModelGraph,
    weight: &NewWeight,
    out: &mut impl Write,
    written: &mut Written,
    ctx: &Ctx,
) -> Result<()> {
    ctx.check()?;
    match &weight.numbers {
        NewNumbers::Bytes(bytes) => out.write_all(bytes)?,
        NewNumbers::Copied(range) | NewNumbers::Message(range) => out.write_all(&old.bytes(*range)?)?,
        NewNumbers::Single(source) => {
            let bytes: Vec<u8> = old.floats(source)?.into_iter().flat_map(f32::to_le_bytes).collect();
            out.write_all(&bytes)?;
        }
        NewNumbers::Half(source) => out.write_all(&halves(&old.floats(source)?, &mut written.clamped))?,
        NewNumbers::Int8(source, scales) => out.write_all(&quantised(&old.floats(source)?, &weight.dims, scales))?,
    }
    ctx.advance(weight.length())?;
    Ok(())
}

/// Numbers in half precision, as `onnxruntime.transformers.float16` converts them: those beyond its range become its largest, and none but 0
/// becomes 0. `clamped` counts the former.
fn halves(numbers: &[f32], clamped: &mut u64) -> Vec<u8> {
    let largest = half::f16::MAX.to_f32();
    let least = half::f16::from_bits(1).to_f32();
    let convert = |number: &f32| {
        let half = if number.is_finite() && number.abs() > largest {
            *clamped += 1;
            half::f16::from_f32(largest.copysign(*number))
        } else if *number != 0.0 && number.abs() < least {
            half::f16::from_f32(least.copysign(*number))
        } else {
            half::f16::from_f32(*number)
        };
        half.to_le_bytes()
    };
    numbers.iter().flat_map(convert).collect()
}

/// Places of weights in a file of their own; none for those that stay in the graph.
fn offsets(new: &NewGraph) -> Vec<Option<u64>> {
    let mut at = 0u64;
    let place = |weight: &NewWeight| {
        let length = weight.length();
        if length < BESIDE || matches!(weight.numbers, NewNumbers::Message(_)) {
            return None;
        }
        let offset = at.next_multiple_of(ALIGNED);
        at = offset + length;
        Some(offset)
    };
    new.weights.iter().map(place).collect()
}

/// The file: a `ModelProto`.
fn model(old: &ModelGraph, new: &NewGraph, beside: Option<(&str, &[Option<u64>])>) -> FileParts {
    let mut graph = FileParts::default();
    for node in &new.nodes {
        graph.nested(1, node_parts(node));
    }
    for (place, weight) in new.weights.iter().enumerate() {
        let offset = beside.and_then(|(name, offsets)| Some((name, offsets[place]?)));
        graph.nested(5, weight_parts(weight, place, offset));
    }
    for input in &old.inputs {
        graph.range(input.range);
    }
    for field in &old.graph_fields {
        graph.range(*field);
    }
    let mut model = FileParts::default();
    let format = (old.format as i64).max(LEAST_FORMAT);
    model.message(Message::default().number(1, format).text(2, "inkstone").text(3, env!("CARGO_PKG_VERSION")));
    model.nested(7, graph);
    for field in &old.model_fields {
        model.range(*field);
    }
    model
}

/// A `NodeProto`.
fn node_parts(node: &GraphNode) -> FileParts {
    let mut parts = FileParts::default();
    let inputs = node.inputs.iter().fold(Message::default(), |message, name| message.text(1, name));
    let message = node.outputs.iter().fold(inputs, |message, name| message.text(2, name));
    parts.message(message.text(3, &node.name).text(4, &node.operator));
    for attribute in &node.attributes {
        let mut body = FileParts::default();
        match &attribute.body {
            AttributeBody::Range(range) => body.range(*range),
            AttributeBody::Written(bytes) => {
                body.length = bytes.len() as u64;
                body.parts.push(FilePart::Bytes(bytes.clone()));
            }
        }
        parts.nested(5, body);
    }
    if !node.domain.is_empty() {
        parts.message(Message::default().text(7, &node.domain));
    }
    for field in &node.others {
        parts.range(*field);
    }
    parts
}

/// A `TensorProto`.
fn weight_parts(weight: &NewWeight, place: usize, beside: Option<(&str, u64)>) -> FileParts {
    let mut parts = FileParts::default();
    let length = weight.length();
    if matches!(weight.numbers, NewNumbers::Message(_)) {
        parts.length = length;
        parts.parts.push(FilePart::Weight(place));
        return parts;
    }
    let sizes = weight.dims.iter().fold(Message::default(), |message, size| message.number(1, *size as i64));
    let message = sizes.number(2, weight.data_type as i64).text(8, &weight.name);
    match beside {
        None => {
            parts.message(message.head(9, length));
            parts.length += length;
            parts.parts.push(FilePart::Weight(place));
        }
        Some((file, offset)) => {
            let entries =
                [("location", file.to_owned()), ("offset", offset.to_string()), ("length", length.to_string())];
            let entries = entries.iter().fold(message, |message, (key, value)| {
                message.message(13, &Message::default().text(1, key).text(2, value))
            });
            parts.message(entries.number(14, 1));
        }
    }
    parts
}

/// An attribute with a whole number.
pub(super) fn int_attribute(name: &str, value: i64) -> NodeAttribute {
    NodeAttribute {
        name: name.to_owned(),
        int: Some(value),
        float: None,
        ints: Vec::new(),
        tensor: None,
        captured: Vec::new(),
        body: AttributeBody::Written(Message::default().text(1, name).number(3, value).number(20, 2).into_bytes()),
    }
}

/// A weight that is made of scales: without axes, or `[n]`.
pub(super) fn scale_weight(name: String, scales: &[f32], dims: Vec<u64>) -> NewWeight {
    let bytes = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
    NewWeight { name, data_type: FLOAT, dims, numbers: NewNumbers::Bytes(bytes) }
}

/// A weight in half precision.
pub(super) fn half_weight(name: String, source: &Initializer) -> NewWeight {
    NewWeight { name, data_type: HALF, dims: source.dims.clone(), numbers: NewNumbers::Half(source.clone()) }
}
