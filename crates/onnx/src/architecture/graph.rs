//! A graph of ONNX while it is written: operations of opset 20 over inputs, constants and weights that lie in other files.

use std::collections::BTreeMap;

use anyhow::Result;

use super::proto::Message;
use super::weights::{Tensor, Weights};

use inkstone_base::ensure;

/// Version of the operators, and of the file format that has it.
const OPSET: i64 = 20;
const FORMAT: i64 = 9;

/// `TensorProto.DataType`.
const FLOAT: i64 = 1;
const INT64: i64 = 7;
const BOOL: i64 = 9;
const INT32: i64 = 6;

/// A tensor that the graph computes or is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(usize);

/// An attribute of an operation.
pub(super) enum Attribute {
    Int(&'static str, i64),
    Ints(&'static str, Vec<i64>),
    Float(&'static str, f32),
    Text(&'static str, &'static str),
}

/// An axis of an input or output.
pub(super) enum Axis {
    Named(&'static str),
    Size(usize),
}

pub(super) struct GraphWriter<'w> {
    weights: &'w Weights,
    graph: Message,
    names: Vec<String>,
    /// Weights and constants that the graph has already.
    known: BTreeMap<String, Value>,
}

impl GraphWriter<'_> {
    pub(super) fn new(weights: &Weights) -> GraphWriter<'_> {
        GraphWriter {
            weights,
            graph: Message::default().text(2, "inkstone"),
            names: Vec::new(),
            known: BTreeMap::new(),
        }
    }

    /// The file: a `ModelProto`.
    pub(super) fn finish(self) -> Vec<u8> {
        let opset = Message::default().text(1, "").number(2, OPSET);
        let model = Message::default().number(1, FORMAT).text(2, "inkstone").text(3, env!("CARGO_PKG_VERSION"));
        model.message(7, &self.graph).message(8, &opset).into_bytes()
    }

    fn named(&mut self, name: String) -> Value {
        self.names.push(name);
        Value(self.names.len() - 1)
    }

    fn append(&mut self, field: u64, message: &Message) {
        self.graph = std::mem::take(&mut self.graph).message(field, message);
    }

    /// An input of whole numbers `[batch, sequence]`.
    pub(super) fn input(&mut self, name: &str) -> Value {
        self.input_numbers(name, &[Axis::Named("batch"), Axis::Named("sequence")])
    }

    /// An input of whole numbers of this shape.
    pub(super) fn input_numbers(&mut self, name: &str, shape: &[Axis]) -> Value {
        self.append(11, &port(name, INT64, shape));
        self.named(name.to_owned())
    }

    /// An input of single precision.
    pub(super) fn input_floats(&mut self, name: &str, shape: &[Axis]) -> Value {
        self.append(11, &port(name, FLOAT, shape));
        self.named(name.to_owned())
    }

    /// Gives a value out under this name.
    pub(super) fn output(&mut self, name: &str, value: Value, shape: &[Axis]) {
        let node = Message::default().text(1, &self.names[value.0]).text(2, name).text(4, "Identity");
        self.append(1, &node);
        self.append(12, &port(name, FLOAT, shape));
    }

    pub(super) fn op(&mut self, operator: &str, inputs: &[Value], attributes: &[Attribute]) -> Value {
        self.split(operator, inputs, attributes, 1)[0]
    }

    /// An operation whose output is given out under this name, and can be used further.
    pub(super) fn output_op(
        &mut self,
        name: &str,
        operator: &str,
        inputs: &[Value],
        attributes: &[Attribute],
        shape: &[Axis],
    ) -> Value {
        self.append(12, &port(name, FLOAT, shape));
        self.node(operator, inputs, attributes, vec![name.to_owned()])[0]
    }

    /// An operation with several outputs.
    pub(super) fn split(
        &mut self,
        operator: &str,
        inputs: &[Value],
        attributes: &[Attribute],
        count: usize,
    ) -> Vec<Value> {
        let first = self.names.len();
        let outputs = (first..first + count).map(|number| format!("{operator}_{number}")).collect();
        self.node(operator, inputs, attributes, outputs)
    }

    fn node(&mut self, operator: &str, inputs: &[Value], attributes: &[Attribute], names: Vec<String>) -> Vec<Value> {
        let mut node = Message::default();
        for input in inputs {
            node = node.text(1, &self.names[input.0]);
        }
        let mut outputs = Vec::new();
        for name in names {
            node = node.text(2, &name);
            outputs.push(self.named(name));
        }
        node = node.text(4, operator);
        for attribute in attributes {
            let message = Message::default();
            let message = match attribute {
                Attribute::Int(name, value) => message.text(1, name).number(3, *value).number(20, 2),
                Attribute::Float(name, value) => message.text(1, name).float(2, *value).number(20, 1),
                Attribute::Text(name, value) => message.text(1, name).text(4, value).number(20, 3),
                Attribute::Ints(name, values) => {
                    values.iter().fold(message.text(1, name), |message, value| message.number(8, *value)).number(20, 7)
                }
            };
            node = node.message(5, &message);
        }
        self.append(1, &node);
        outputs
    }

    fn constant(&mut self, name: String, data_type: i64, shape: &[usize], bytes: &[u8]) -> Value {
        if let Some(known) = self.known.get(&name) {
            return *known;
        }
        let tensor = tensor(&name, data_type, shape).bytes(9, bytes);
        self.append(5, &tensor);
        let value = self.named(name.clone());
        self.known.insert(name, value);
        value
    }

    /// Whole numbers `[n]`.
    pub(super) fn ints(&mut self, values: &[i64]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(format!("ints {values:?}"), INT64, &[values.len()], &bytes)
    }

    /// A whole number without axes.
    pub(super) fn int(&mut self, value: i64) -> Value {
        self.constant(format!("int {value}"), INT64, &[], &value.to_le_bytes())
    }

    /// A number without axes.
    pub(super) fn float(&mut self, value: f32) -> Value {
        self.constant(format!("float {value:e}"), FLOAT, &[], &value.to_le_bytes())
    }

    /// Numbers `[n]` under a name of their own.
    pub(super) fn floats(&mut self, name: &str, values: &[f32]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name.to_owned(), FLOAT, &[values.len()], &bytes)
    }

    /// Stands for an input of an operation that is left out.
    pub(super) fn nothing(&mut self) -> Value {
        self.named(String::new())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.weights.has(name)
    }

    /// Rows of weights, where there are any of this name.
    pub(super) fn rows(&self, name: &str) -> Option<usize> {
        self.weights.get(name).ok().and_then(|stored| stored.shape.first().copied())
    }

    /// Weights of this shape, as single precision.
    pub(super) fn weight(&mut self, name: &str, shape: &[usize]) -> Result<Value> {
        let stored = self.weights.shaped(name, shape)?;
        Ok(self.placed(name, stored))
    }

    /// A table of vectors `[rows, width]` of this width, with its rows.
    pub(super) fn table(&mut self, name: &str, width: usize) -> Result<(Value, usize)> {
        let stored = self.weights.get(name)?;
        ensure!(
            matches!(stored.shape[..], [rows, wide] if rows > 0 && wide == width),
            "{name} 的形状为 {:?}，而 config.json 说向量为 {width} 维；它属于另一模型吗？",
            "{name} has the shape {:?}, and config.json says vectors of {width} values; is it of another model?",
            stored.shape
        );
        Ok((self.placed(name, stored), stored.shape[0]))
    }

    fn placed(&mut self, name: &str, stored: &Tensor) -> Value {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let mut message = tensor(name, stored.data_type, &stored.shape);
        for (key, value) in [
            ("location", stored.file.clone()),
            ("offset", stored.offset.to_string()),
            ("length", stored.length.to_string()),
        ] {
            message = message.message(13, &Message::default().text(1, key).text(2, &value));
        }
        self.append(5, &message.number(14, 1));
        let value = self.named(name.to_owned());
        let value = if stored.data_type == FLOAT { value } else { self.cast(value, FLOAT) };
        self.known.insert(name.to_owned(), value);
        value
    }

    fn cast(&mut self, value: Value, data_type: i64) -> Value {
        self.op("Cast", &[value], &[Attribute::Int("to", data_type)])
    }

    pub(super) fn cast_float(&mut self, value: Value) -> Value {
        self.cast(value, FLOAT)
    }

    pub(super) fn cast_int(&mut self, value: Value) -> Value {
        self.cast(value, INT64)
    }

    /// Whole numbers of 32 bits.
    pub(super) fn cast_short(&mut self, value: Value) -> Value {
        self.cast(value, INT32)
    }

    pub(super) fn cast_bool(&mut self, value: Value) -> Value {
        self.cast(value, BOOL)
    }

    pub(super) fn add(&mut self, a: Value, b: Value) -> Value {
        self.op("Add", &[a, b], &[])
    }

    pub(super) fn mul(&mut self, a: Value, b: Value) -> Value {
        self.op("Mul", &[a, b], &[])
    }

    pub(super) fn matmul(&mut self, a: Value, b: Value) -> Value {
        self.op("MatMul", &[a, b], &[])
    }

    pub(super) fn transpose(&mut self, value: Value, axes: &[i64]) -> Value {
        self.op("Transpose", &[value], &[Attribute::Ints("perm", axes.to_vec())])
    }

    pub(super) fn reshape(&mut self, value: Value, shape: &[i64]) -> Value {
        let shape = self.ints(shape);
        self.op("Reshape", &[value, shape], &[])
    }

    pub(super) fn unsqueeze(&mut self, value: Value, axes: &[i64]) -> Value {
        let axes = self.ints(axes);
        self.op("Unsqueeze", &[value, axes], &[])
    }

    pub(super) fn gather(&mut self, table: Value, indices: Value, axis: i64) -> Value {
        self.op("Gather", &[table, indices], &[Attribute::Int("axis", axis)])
    }

    /// The size of an axis, a whole number without axes.
    pub(super) fn size(&mut self, value: Value, axis: i64) -> Value {
        let shape = self.op("Shape", &[value], &[]);
        let axis = self.int(axis);
        self.gather(shape, axis, 0)
    }

    /// 0, 1, ... `[count]`.
    pub(super) fn range(&mut self, count: Value) -> Value {
        let (zero, one) = (self.int(0), self.int(1));
        self.op("Range", &[zero, count, one], &[])
    }

    /// `torch.nn.Linear`: weights `[outputs, inputs]` and, where there is one, a bias.
    pub(super) fn linear(&mut self, x: Value, name: &str, inputs: usize, outputs: usize) -> Result<Value> {
        let weights = self.weight(&format!("{name}.weight"), &[outputs, inputs])?;
        let weights = self.transpose(weights, &[1, 0]);
        let x = self.matmul(x, weights);
        self.bias(x, &format!("{name}.bias"), outputs)
    }

    /// Adds weights `[size]` where there are any of this name.
    pub(super) fn bias(&mut self, x: Value, name: &str, size: usize) -> Result<Value> {
        if !self.has(name) {
            return Ok(x);
        }
        let bias = self.weight(name, &[size])?;
        Ok(self.add(x, bias))
    }

    /// `torch.nn.LayerNorm` over the last axis; its bias may be absent. Old files call weights and bias gamma and beta.
    pub(super) fn layer_norm(&mut self, x: Value, name: &str, size: usize, epsilon: f32) -> Result<Value> {
        let old = self.has(&format!("{name}.gamma"));
        let (scale, offset) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        let mut inputs = vec![x, self.weight(&format!("{name}.{scale}"), &[size])?];
        let offset = format!("{name}.{offset}");
        if self.has(&offset) {
            inputs.push(self.weight(&offset, &[size])?);
        }
        Ok(self.op("LayerNormalization", &inputs, &[Attribute::Int("axis", -1), Attribute::Float("epsilon", epsilon)]))
    }

    /// `torch.nn.RMSNorm` over the last axis.
    pub(super) fn rms_norm(&mut self, x: Value, name: &str, size: usize, epsilon: f32) -> Result<Value> {
        let (two, epsilon, axes) = (self.float(2.0), self.float(epsilon), self.ints(&[-1]));
        let squares = self.op("Pow", &[x, two], &[]);
        let mean = self.op("ReduceMean", &[squares, axes], &[Attribute::Int("keepdims", 1)]);
        let mean = self.add(mean, epsilon);
        let root = self.op("Sqrt", &[mean], &[]);
        let x = self.op("Div", &[x, root], &[]);
        let scale = self.weight(&format!("{name}.weight"), &[size])?;
        Ok(self.mul(x, scale))
    }

    /// The function of a name of transformers' `ACT2FN`.
    pub(super) fn activation(&mut self, x: Value, name: &str) -> Result<Value> {
        Ok(match name {
            "gelu" => self.op("Gelu", &[x], &[]),
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => {
                self.op("Gelu", &[x], &[Attribute::Text("approximate", "tanh")])
            }
            "relu" => self.op("Relu", &[x], &[]),
            "tanh" => self.op("Tanh", &[x], &[]),
            "silu" | "swish" => {
                let gate = self.op("Sigmoid", &[x], &[]);
                self.mul(x, gate)
            }
            _ => inkstone_base::bail!(
                "config.json 的激活函数为 {name:?}，这里不认识",
                "config.json names the activation {name:?}, which is not known here"
            ),
        })
    }
}

/// A `TensorProto` without its numbers.
fn tensor(name: &str, data_type: i64, shape: &[usize]) -> Message {
    let sizes = shape.iter().fold(Message::default(), |message, size| message.number(1, *size as i64));
    sizes.number(2, data_type).text(8, name)
}

/// A `ValueInfoProto`.
fn port(name: &str, data_type: i64, shape: &[Axis]) -> Message {
    let sizes = shape.iter().fold(Message::default(), |sizes, axis| {
        let size = Message::default();
        sizes.message(
            1,
            &match axis {
                Axis::Named(name) => size.text(2, name),
                Axis::Size(number) => size.number(1, *number as i64),
            },
        )
    });
    let tensor = Message::default().number(1, data_type).message(2, &sizes);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}
