//! A graph in half precision whose inputs and outputs stay in single precision, as `convert_float_to_float16` with `keep_io_types` of
//! onnxruntime.transformers.float16 makes it.
//!
//! Every value of single precision keeps its name; its form in half precision has another one, and a `Cast` stands where an operation needs
//! the form that is not there. Half precision begins at matrices of weights and goes on from operation to operation. What is computed without
//! them, as masks and the angles of places, is computed in the form that is asked for: whole numbers above 2,048 would not be exact in half
//! precision. Operations of [`SINGLE`] and those that are not known stay in single precision.

use std::collections::{HashMap, HashSet};

use anyhow::Result;

use super::graph::{FLOAT, GraphNode, HALF, Initializer, ModelGraph};
use super::write::{NewGraph, NewNumbers, NewWeight, half_weight, int_attribute};
use super::{Counted, Names, without_unused};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Operations that work in half precision, and which of their inputs have the type of the output; the others are whole numbers or conditions.
const HALVES: [(&str, Typed); 50] = [
    ("Abs", Typed::All),
    ("Add", Typed::All),
    ("BiasGelu", Typed::All),
    ("Clip", Typed::All),
    ("Concat", Typed::All),
    ("Conv", Typed::All),
    ("Div", Typed::All),
    ("Einsum", Typed::All),
    ("Elu", Typed::All),
    ("Erf", Typed::All),
    ("Expand", Typed::First),
    ("FastGelu", Typed::All),
    ("Flatten", Typed::First),
    ("Gather", Typed::First),
    ("GatherElements", Typed::First),
    ("GatherND", Typed::First),
    ("Gelu", Typed::All),
    ("Gemm", Typed::All),
    ("HardSigmoid", Typed::All),
    ("HardSwish", Typed::All),
    ("Identity", Typed::All),
    ("LayerNormalization", Typed::All),
    ("LeakyRelu", Typed::All),
    ("MatMul", Typed::All),
    ("Max", Typed::All),
    ("Min", Typed::All),
    ("Mul", Typed::All),
    ("Neg", Typed::All),
    ("QuickGelu", Typed::All),
    ("Relu", Typed::All),
    ("Reshape", Typed::First),
    ("Selu", Typed::All),
    ("Sigmoid", Typed::All),
    ("SimplifiedLayerNormalization", Typed::All),
    ("SkipLayerNormalization", Typed::All),
    ("SkipSimplifiedLayerNormalization", Typed::All),
    ("Slice", Typed::First),
    ("Softmax", Typed::All),
    ("Split", Typed::First),
    ("Squeeze", Typed::First),
    ("Sub", Typed::All),
    ("Sum", Typed::All),
    ("Tanh", Typed::All),
    ("Tile", Typed::First),
    ("Transpose", Typed::All),
    ("Trilu", Typed::First),
    ("Unsqueeze", Typed::First),
    ("Where", Typed::Behind),
    ("ReduceMax", Typed::First),
    ("ReduceMin", Typed::First),
];

/// Operations that stay in single precision and give it out: sums and powers leave half's range, roots and angles its steps.
const SINGLE: [&str; 40] = [
    "Attention",
    "BatchNormalization",
    "Ceil",
    "Cos",
    "CumSum",
    "Dropout",
    "Exp",
    "Floor",
    "GRU",
    "GlobalAveragePool",
    "GroupNormalization",
    "InstanceNormalization",
    "LSTM",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "Mean",
    "Mod",
    "MultiHeadAttention",
    "PRelu",
    "Pad",
    "Pow",
    "RMSNormalization",
    "RNN",
    "Range",
    "Reciprocal",
    "ReduceL2",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Resize",
    "Round",
    "ScatterElements",
    "ScatterND",
    "Sign",
    "Sin",
    "Softplus",
    "Sqrt",
    "Tan",
];

/// Numbers from which a weight is not written in both precisions.
const LARGE: u64 = 4096;

/// Inputs with the type of the output.
#[derive(Clone, Copy, PartialEq)]
enum Typed {
    All,
    First,
    /// All but the first.
    Behind,
}

/// The form in which a value of single precision is computed.
#[derive(Clone, Copy, PartialEq)]
enum Computed {
    Single,
    Half,
    /// In each form that is asked for.
    Both,
}

struct Halver<'g> {
    names: Names,
    nodes: Vec<GraphNode>,
    weights: Vec<NewWeight>,
    values: HashMap<String, Computed>,
    /// Weights of values, also those that a `Cast` makes.
    sources: HashMap<String, Initializer>,
    /// Names of the forms in half precision that the graph has.
    halves: HashMap<String, String>,
    /// Values that are there in single precision.
    singles: HashSet<String>,
    /// Weights in other precisions.
    narrow: HashMap<&'g str, &'g Initializer>,
    /// Values that the graph says to be of single precision.
    stated: HashSet<&'g str>,
}

/// The graph in half precision, and what became of its operations.
pub(super) fn halve<'g>(old: &'g ModelGraph, ctx: &Ctx) -> Result<(NewGraph, Counted)> {
    let named = |weight: &'g Initializer| (weight.name.as_str(), weight);
    let mut halver = Halver {
        names: Names::new(old),
        nodes: Vec::new(),
        weights: Vec::new(),
        values: HashMap::new(),
        sources: HashMap::new(),
        halves: HashMap::new(),
        singles: HashSet::new(),
        narrow: old
            .initializers
            .iter()
            .filter(|weight| weight.data_type != FLOAT && weight.is_float())
            .map(named)
            .collect(),
        stated: old.values.iter().filter(|value| value.data_type == FLOAT).map(|value| value.name.as_str()).collect(),
    };
    for weight in &old.initializers {
        match weight.data_type {
            FLOAT if weight.is_float() => halver.source(&weight.name, weight.clone()),
            FLOAT => {
                halver.weights.push(NewWeight::same(weight));
                halver.values.insert(weight.name.clone(), Computed::Single);
                halver.singles.insert(weight.name.clone());
            }
            _ => halver.weights.push(NewWeight::same(weight)),
        }
    }
    for input in old.inputs.iter().filter(|input| input.data_type == FLOAT) {
        halver.singles.insert(input.name.clone());
        halver.values.insert(input.name.clone(), Computed::Both);
    }
    let mut counted = Counted::default();
    for node in &old.nodes {
        ctx.check()?;
        halver.node(node, &mut counted);
    }
    for output in &old.outputs {
        halver.as_single(output);
    }
    ensure!(
        !counted.converted.is_empty(),
        "它没有单精度权重矩阵的操作，不会变小",
        "it has no operation with matrices of weights in single precision, so nothing becomes smaller"
    );
    let Halver { nodes, weights, .. } = halver;
    Ok((without_unused(old, nodes, weights), counted))
}

impl Halver<'_> {
    /// Notes a weight in single precision, however it is stored.
    fn source(&mut self, name: &str, weight: Initializer) {
        let computed = if weight.is_matrix() { Computed::Half } else { Computed::Both };
        self.values.insert(name.to_owned(), computed);
        self.sources.insert(name.to_owned(), weight);
    }

    fn cast(&mut self, input: &str, output: &str, to: u64) {
        self.nodes.push(GraphNode {
            operator: "Cast".to_owned(),
            inputs: vec![input.to_owned()],
            outputs: vec![output.to_owned()],
            attributes: vec![int_attribute("to", to as i64)],
            ..GraphNode::default()
        });
    }

    /// Puts the form in single precision of a value there, under its own name.
    fn as_single(&mut self, name: &str) {
        if !self.values.contains_key(name) || !self.singles.insert(name.to_owned()) {
            return;
        }
        match self.sources.get(name) {
            // A large weight that is there in half precision is not written again.
            Some(weight) if weight.count() < LARGE || !self.halves.contains_key(name) => {
                let (data_type, dims) = (FLOAT, weight.dims.clone());
                let numbers = NewNumbers::Single(weight.clone());
                self.weights.push(NewWeight { name: name.to_owned(), data_type, dims, numbers });
            }
            _ => {
                let half = self.as_half(name);
                self.cast(&half, name, FLOAT);
            }
        }
    }

    /// The name of a value's form in half precision.
    fn as_half(&mut self, name: &str) -> String {
        if let Some(half) = self.halves.get(name) {
            return half.clone();
        }
        let half = self.names.fresh(&format!("{name}_half"));
        self.halves.insert(name.to_owned(), half.clone());
        match self.sources.get(name) {
            Some(weight) => self.weights.push(half_weight(half.clone(), weight)),
            None => self.cast(name, &half, HALF),
        }
        half
    }

    fn node(&mut self, node: &GraphNode, counted: &mut Counted) {
        if node.is("Cast") && node.int("to") == Some(FLOAT as i64) {
            match &node.inputs[..] {
                // From single precision to single precision.
                [input] if self.values.contains_key(input) => {
                    let identity =
                        GraphNode { operator: "Identity".to_owned(), attributes: Vec::new(), ..node.clone() };
                    self.node(&identity, counted);
                }
                _ => self.cast_node(node),
            }
            return;
        }
        if let [input] = &node.inputs[..]
            && (node.is("Shape") || node.is("Size"))
            && self.values.get(input) == Some(&Computed::Half)
        {
            let inputs = vec![self.as_half(input)];
            self.nodes.push(GraphNode { inputs, ..node.clone() });
            return;
        }
        let typed = typed_inputs(node);
        let computed: Option<Vec<Computed>> =
            typed.iter().map(|place| self.values.get(&node.inputs[*place]).copied()).collect();
        let computed = computed.filter(|computed| !computed.is_empty());
        match computed {
            Some(computed) if computed.contains(&Computed::Half) => {
                *counted.converted.entry(node.operator.clone()).or_default() += 1;
                self.in_half(node, &typed, Computed::Half);
            }
            Some(computed) if !computed.contains(&Computed::Single) => {
                self.in_single(node);
                self.in_half(node, &typed, Computed::Both);
            }
            computed => {
                if node.reads().any(|name| self.values.get(name) == Some(&Computed::Half)) {
                    *counted.left.entry(node.operator.clone()).or_default() += 1;
                }
                self.in_single(node);
                let first_is_float = node.inputs.first().is_some_and(|input| self.values.contains_key(input));
                let all = computed.is_some() || SINGLE.contains(&node.operator.as_str()) && first_is_float;
                // A tensor of one number, which is 0 in single precision where none is given.
                let filled = node.attribute("value").and_then(|attribute| attribute.tensor.as_ref());
                let all = all || node.is("ConstantOfShape") && filled.is_none_or(|tensor| tensor.data_type == FLOAT);
                for output in &node.outputs {
                    if all || self.stated.contains(output.as_str()) {
                        self.values.insert(output.clone(), Computed::Single);
                        self.singles.insert(output.clone());
                    }
                }
            }
        }
    }

    /// Adds an operation as it is.
    fn in_single(&mut self, node: &GraphNode) {
        node.reads().for_each(|name| self.as_single(name));
        self.nodes.push(node.clone());
    }

    /// Adds an operation in half precision.
    fn in_half(&mut self, node: &GraphNode, typed: &[usize], computed: Computed) {
        let mut inputs = node.inputs.clone();
        for place in typed {
            inputs[*place] = self.as_half(&node.inputs[*place]);
        }
        let mut outputs = node.outputs.clone();
        for output in outputs.iter_mut().filter(|output| !output.is_empty()) {
            let half = self.names.fresh(&format!("{output}_half"));
            self.values.insert(output.clone(), computed);
            if computed == Computed::Both {
                self.singles.insert(output.clone());
            }
            self.halves.insert(output.clone(), half.clone());
            *output = half;
        }
        // Two operations have the same name where both forms are computed.
        let name = if computed == Computed::Both { String::new() } else { node.name.clone() };
        self.nodes.push(GraphNode { name, inputs, outputs, ..node.clone() });
    }

    /// A `Cast` to single precision from another type.
    fn cast_node(&mut self, node: &GraphNode) {
        let ([input], [output]) = (&node.inputs[..], &node.outputs[..]) else {
            self.nodes.push(node.clone());
            return;
        };
        if let Some(weight) = self.narrow.get(input.as_str()) {
            self.source(output, (*weight).clone());
            return;
        }
        self.nodes.push(node.clone());
        self.values.insert(output.clone(), Computed::Both);
        self.singles.insert(output.clone());
        let half = self.names.fresh(&format!("{output}_half"));
        self.cast(input, &half, HALF);
        self.halves.insert(output.clone(), half);
    }
}

/// Places of the inputs that have the type of the output, for an operation that works in half precision.
fn typed_inputs(node: &GraphNode) -> Vec<usize> {
    let Some((_, typed)) = HALVES.iter().find(|(operator, _)| *operator == node.operator) else { return Vec::new() };
    // An operation of another domain may be a function of the graph, whose types are its own.
    let known_domain = matches!(node.domain.as_str(), "" | "ai.onnx" | "com.microsoft");
    // The mean and deviation of a norm have a type of their own.
    let of_norm = node.operator.ends_with("LayerNormalization")
        && node.outputs.iter().skip(1).take(2).any(|output| !output.is_empty());
    if of_norm || !known_domain || node.reads().count() > node.inputs.len() {
        return Vec::new();
    }
    let is_typed = |place: &usize| match typed {
        Typed::All => true,
        Typed::First => *place == 0,
        Typed::Behind => *place > 0,
    };
    (0..node.inputs.len()).filter(is_typed).filter(|place| !node.inputs[*place].is_empty()).collect()
}
