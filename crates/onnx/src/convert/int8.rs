//! Weights in whole numbers of a byte, and the inputs of their products quantised as they come: `quantize_dynamic` of onnxruntime with
//! `reduce_range`.
//!
//! A product with a constant matrix becomes `DynamicQuantizeLinear`, `MatMulInteger`, `Cast` and `Mul`, which ONNX Runtime joins to one
//! operation. A weight w of a matrix becomes round(w / s) from -64 to 64, with s = max |w| / 64 for each column (`per_channel`): one large
//! weight would otherwise set the step of all columns, and a scale costs five bytes a column and no time. Seven bits, as a processor with
//! AVX2 and without VNNI adds two products of bytes in 16 bits, which overflow with eight: 2 x 255 x 127 > 32,767. A table of embeddings
//! becomes whole numbers from 0 to 255 with one scale, and its rows become numbers again right behind `Gather`.

use std::collections::HashMap;

use anyhow::Result;

use super::graph::{FLOAT, GraphNode, INT8, Initializer, ModelGraph, UINT8};
use super::write::{NewGraph, NewNumbers, NewWeight, Scales, int_attribute, scale_weight};
use super::{Counted, Names, without_unused};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// The greatest whole number of a weight of a matrix.
const MOST_STEPS: f32 = 64.0;

/// Parts of the names of operations that quantised graphs have.
const SIGNS: [&str; 10] = [
    "ConvInteger",
    "DequantizeLinear",
    "DynamicQuantize",
    "GatherBlockQuantized",
    "MatMulInteger",
    "MatMulNBits",
    "QAttention",
    "QGemm",
    "QLinear",
    "QuantizeLinear",
];

/// A constant matrix or table, as an operation reads it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Constant {
    /// Place among the weights.
    weight: usize,
    transposed: bool,
}

/// Names of a weight in whole numbers, of its scales and of its zeros.
type Quantised = [String; 3];

struct Quantiser<'g> {
    old: &'g ModelGraph,
    constants: HashMap<&'g str, Constant>,
    names: Names,
    weights: Vec<NewWeight>,
    /// By constant, and whether each column has a scale.
    known: HashMap<(Constant, bool), Quantised>,
    inputs: HashMap<String, Quantised>,
    nodes: Vec<GraphNode>,
}

/// The graph with its products and tables in whole numbers, and what became of its operations.
pub(super) fn quantise(old: &ModelGraph, ctx: &Ctx) -> Result<(NewGraph, Counted)> {
    let mut quantiser = Quantiser {
        old,
        constants: constants(old),
        names: Names::new(old),
        weights: Vec::new(),
        known: HashMap::new(),
        inputs: HashMap::new(),
        nodes: Vec::new(),
    };
    let mut counted = Counted::default();
    for node in &old.nodes {
        ctx.check()?;
        match quantiser.node(node)? {
            true => *counted.converted.entry(node.operator.clone()).or_default() += 1,
            false => {
                if quantiser.reads_matrix(node) {
                    *counted.left.entry(node.operator.clone()).or_default() += 1;
                }
                quantiser.nodes.push(node.clone());
            }
        }
    }
    ensure!(
        !counted.converted.is_empty(),
        "它没有与单精度常数矩阵的乘积，也没有这样的表，不会变小",
        "it has no product with a constant matrix in single precision and no table of such numbers, so nothing becomes smaller"
    );
    let mut weights = quantiser.weights;
    weights.extend(old.initializers.iter().map(NewWeight::same));
    Ok((without_unused(old, quantiser.nodes, weights), counted))
}

/// Values that are weights in single precision, or made of them by `Cast`, `Identity` and the exchange of two axes.
fn constants(old: &ModelGraph) -> HashMap<&str, Constant> {
    let mut constants = HashMap::new();
    let mut narrow: HashMap<&str, usize> = HashMap::new();
    for (place, weight) in old.initializers.iter().enumerate().filter(|(_, weight)| weight.is_float()) {
        if weight.data_type == FLOAT {
            constants.insert(weight.name.as_str(), Constant { weight: place, transposed: false });
        } else {
            narrow.insert(weight.name.as_str(), place);
        }
    }
    for node in &old.nodes {
        let ([input, ..], [output]) = (&node.inputs[..], &node.outputs[..]) else { continue };
        let known = constants.get(input.as_str()).copied();
        let constant = if node.is("Cast") && node.int("to") == Some(FLOAT as i64) {
            let narrow = narrow.get(input.as_str());
            known.or(narrow.map(|weight| Constant { weight: *weight, transposed: false }))
        } else if node.is("Identity") {
            known
        } else if node.is("Transpose") {
            let axes = node.attribute("perm").map_or(&[][..], |attribute| &attribute.ints);
            let is_matrix = |constant: &Constant| old.initializers[constant.weight].dims.len() == 2;
            let known = known.filter(is_matrix);
            match axes {
                [0, 1] => known,
                [1, 0] | [] => known.map(|constant| Constant { transposed: !constant.transposed, ..constant }),
                _ => None,
            }
        } else {
            None
        };
        if let Some(constant) = constant {
            constants.insert(output.as_str(), constant);
        }
    }
    constants
}

impl Quantiser<'_> {
    /// Adds the operation in whole numbers; false where it stays as it is.
    fn node(&mut self, node: &GraphNode) -> Result<bool> {
        let ([first, second, ..], [output]) = (&node.inputs[..], &node.outputs[..]) else { return Ok(false) };
        if node.is("Gather") {
            let Some(table) = self.constant(first) else { return Ok(false) };
            self.gather(node, first, table, output)?;
            return Ok(true);
        }
        let Some(matrix) = self.constant(second).filter(|constant| self.weight(*constant).dims.len() == 2) else {
            return Ok(false);
        };
        if node.is("MatMul") {
            self.product(node, [first, second], matrix, output)?;
            return Ok(true);
        }
        // A product of matrices and a sum; its numbers are 1 where none are given.
        let plain = |name: &str| node.attribute(name).is_none_or(|attribute| attribute.float == Some(1.0));
        if !node.is("Gemm") || !plain("alpha") || !plain("beta") || node.int("transA").unwrap_or(0) != 0 {
            return Ok(false);
        }
        let transposed = matrix.transposed ^ (node.int("transB").unwrap_or(0) != 0);
        let matrix = Constant { transposed, ..matrix };
        match node.inputs.get(2).filter(|name| !name.is_empty()) {
            None => self.product(node, [first, second], matrix, output)?,
            Some(sum) => {
                let product = self.names.fresh(&format!("{output}_MatMul"));
                self.product(node, [first, second], matrix, &product)?;
                self.add("Add", vec![product, sum.clone()], output.clone());
            }
        }
        Ok(true)
    }

    fn constant(&self, name: &str) -> Option<Constant> {
        let constant = self.constants.get(name).copied();
        constant.filter(|constant| self.weight(*constant).count() > 0)
    }

    fn weight(&self, constant: Constant) -> &Initializer {
        &self.old.initializers[constant.weight]
    }

    /// True if an operation computes with a matrix of weights.
    fn reads_matrix(&self, node: &GraphNode) -> bool {
        let passes_on = ["Transpose", "Cast", "Identity"].iter().any(|operator| node.is(operator));
        let matrix = |name: &String| self.constant(name).is_some_and(|constant| self.weight(constant).is_matrix());
        !passes_on && node.inputs.iter().any(matrix)
    }

    fn add(&mut self, operator: &str, inputs: Vec<String>, output: String) {
        self.nodes.push(GraphNode {
            operator: operator.to_owned(),
            inputs,
            outputs: vec![output],
            ..GraphNode::default()
        });
    }

    fn gather(&mut self, node: &GraphNode, name: &str, table: Constant, output: &str) -> Result<()> {
        let [table, scale, zero] = self.quantised(name, table, false)?;
        let rows = self.names.fresh(&format!("{output}_quantized"));
        let mut inputs = node.inputs.clone();
        inputs[0] = table;
        self.nodes.push(GraphNode { inputs, outputs: vec![rows.clone()], ..node.clone() });
        self.add("DequantizeLinear", vec![rows, scale, zero], output.to_owned());
        Ok(())
    }

    fn product(&mut self, node: &GraphNode, [input, name]: [&str; 2], matrix: Constant, output: &str) -> Result<()> {
        let [matrix, scales, zeros] = self.quantised(name, matrix, true)?;
        let [input, scale, zero] = self.quantised_input(input);
        let [integers, floats, product] = ["_output_quantized", "_output_quantized_cast", "_scales"]
            .map(|end| self.names.fresh(&format!("{output}{end}")));
        self.add("MatMulInteger", vec![input, matrix, zero, zeros], integers.clone());
        if !node.name.is_empty()
            && let Some(added) = self.nodes.last_mut()
        {
            added.name = format!("{}_quant", node.name);
        }
        self.nodes.push(GraphNode {
            operator: "Cast".to_owned(),
            inputs: vec![integers],
            outputs: vec![floats.clone()],
            attributes: vec![int_attribute("to", FLOAT as i64)],
            ..GraphNode::default()
        });
        self.add("Mul", vec![scale, scales], product.clone());
        self.add("Mul", vec![floats, product], output.to_owned());
        Ok(())
    }

    /// An input in whole numbers, its scale and its zero.
    fn quantised_input(&mut self, name: &str) -> Quantised {
        if let Some(known) = self.inputs.get(name) {
            return known.clone();
        }
        let quantised = ["_quantized", "_scale", "_zero_point"].map(|end| self.names.fresh(&format!("{name}{end}")));
        self.nodes.push(GraphNode {
            operator: "DynamicQuantizeLinear".to_owned(),
            inputs: vec![name.to_owned()],
            outputs: quantised.to_vec(),
            ..GraphNode::default()
        });
        self.inputs.insert(name.to_owned(), quantised.clone());
        quantised
    }

    /// A constant in whole numbers, its scales and its zeros.
    fn quantised(&mut self, name: &str, constant: Constant, by_column: bool) -> Result<Quantised> {
        if let Some(known) = self.known.get(&(constant, by_column)) {
            return Ok(known.clone());
        }
        let weight = self.weight(constant).clone();
        let mut dims = weight.dims.clone();
        if constant.transposed {
            dims.reverse();
        }
        let numbers = self.old.floats(&weight)?;
        let scales = match by_column {
            true => column_scales(&numbers, &dims, constant.transposed),
            false => table_scale(&numbers, constant.transposed),
        };
        ensure!(
            scales.scales.iter().all(|scale| scale.is_finite()),
            "权重 {:?} 含有非有限的数",
            "the weights {:?} hold numbers that are not finite",
            weight.name
        );
        let quantised = ["_quantized", "_scale", "_zero_point"].map(|end| self.names.fresh(&format!("{name}{end}")));
        let [quantised_name, scale_name, zero_name] = quantised.clone();
        let data_type = if by_column { INT8 } else { UINT8 };
        let columns = if by_column { vec![dims[1]] } else { Vec::new() };
        let zeros = NewNumbers::Bytes(vec![scales.zero.unwrap_or(0); scales.scales.len()]);
        self.weights.push(scale_weight(scale_name, &scales.scales, columns.clone()));
        self.weights.push(NewWeight { name: zero_name, data_type, dims: columns, numbers: zeros });
        let numbers = NewNumbers::Int8(weight, scales);
        self.weights.push(NewWeight { name: quantised_name, data_type, dims, numbers });
        self.known.insert((constant, by_column), quantised.clone());
        Ok(quantised)
    }
}

/// The scale of each column of a matrix of these sizes, whose numbers may be stored with rows and columns exchanged.
fn column_scales(numbers: &[f32], dims: &[u64], transposed: bool) -> Scales {
    let largest = |largest: f32, number: &f32| if number.is_nan() { f32::INFINITY } else { largest.max(number.abs()) };
    let [rows, columns] = [dims[0] as usize, dims[1] as usize];
    let most: Vec<f32> = if transposed {
        numbers.chunks(rows).map(|column| column.iter().fold(0.0, largest)).collect()
    } else {
        let mut most = vec![0.0; columns];
        for row in numbers.chunks(columns) {
            most.iter_mut().zip(row).for_each(|(most, number)| *most = largest(*most, number));
        }
        most
    };
    let steps = f64::from(MOST_STEPS);
    let scales = most.iter().map(|most| scale(f64::from(*most) / steps).1).collect();
    Scales { scales, zero: None, transposed }
}

/// The scale of a table, from its least number, or 0, to its greatest.
fn table_scale(numbers: &[f32], transposed: bool) -> Scales {
    let (mut least, mut most) = (0.0f32, 0.0f32);
    for number in numbers {
        most = if number.is_nan() { f32::INFINITY } else { most.max(*number) };
        least = least.min(*number);
    }
    let (exact, rounded) = scale((f64::from(most) - f64::from(least)) / 255.0);
    let zero = (-f64::from(least) / exact).round_ties_even() as u8;
    Scales { scales: vec![rounded], zero: Some(zero), transposed }
}

/// A scale as it is and as it is written; 1 where it would be too small to divide by.
fn scale(scale: f64) -> (f64, f32) {
    if scale < f64::from(f32::MIN_POSITIVE) { (1.0, 1.0) } else { (scale, scale as f32) }
}

/// The numbers of a weight of these sizes in whole numbers, halves rounded to even.
pub(super) fn quantised(numbers: &[f32], dims: &[u64], scales: &Scales) -> Vec<u8> {
    let quantise = |number: f32, scale: f32| {
        let steps = (number / scale).round_ties_even();
        match scales.zero {
            Some(zero) => (steps + f32::from(zero)).clamp(0.0, 255.0) as u8,
            None => steps.clamp(-MOST_STEPS, MOST_STEPS) as i8 as u8,
        }
    };
    let scale_of = |column: usize| scales.scales[column.min(scales.scales.len() - 1)];
    if scales.transposed {
        let [rows, columns] = [dims[0] as usize, dims[1] as usize];
        let mut written = vec![0; numbers.len()];
        for (column, stored) in numbers.chunks(rows).enumerate() {
            let scale = scale_of(column);
            for (row, number) in stored.iter().enumerate() {
                written[row * columns + column] = quantise(*number, scale);
            }
        }
        return written;
    }
    let columns = dims.last().map_or(1, |columns| *columns as usize);
    let rows = numbers.chunks(columns);
    rows.flat_map(|row| row.iter().enumerate().map(|(column, number)| quantise(*number, scale_of(column)))).collect()
}

/// True if a graph has operations on whole numbers in place of products.
pub(super) fn is_quantised(old: &ModelGraph) -> bool {
    old.nodes.iter().any(|node| SIGNS.iter().any(|sign| node.operator.contains(sign)))
}
