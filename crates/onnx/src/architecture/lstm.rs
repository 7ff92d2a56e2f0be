//! LSTMs that this program trains: of one direction, or of both side by side (ELMo). The inputs of each layer but the first are added to its outputs.

use anyhow::Result;

use super::decoder::last_token;
use super::graph::{Attribute, GraphWriter, Value};
use super::settings::Settings;
use super::weights::Weights;
use super::{Wanted, body, first_token, give_classes, give_layers, give_logits, give_token_head, words};

use inkstone_base::ensure;

/// The gates in the order of ONNX (i, o, f, g) by their place in the weights (i, f, g, o).
const ORDER: [usize; 4] = [0, 3, 1, 2];

/// Vectors of texts that heads read.
struct Texts {
    /// `[batch, tokens, hidden]`.
    x: Value,
    /// The mask `[batch, tokens]`.
    seen: Value,
    hidden: usize,
    directions: usize,
}

pub(super) fn write(graph: &mut GraphWriter<'_>, weights: &Weights, settings: &Settings, wanted: Wanted) -> Result<()> {
    let prefix = body(weights, "lstm.");
    let (hidden, layers) = (settings.size("hidden_size")?, settings.layers("num_hidden_layers")?);
    let vocabulary = settings.size("vocab_size")?;
    let directions = if settings.flag("bidirectional") { 2 } else { 1 };
    ensure!(
        hidden.is_multiple_of(directions),
        "config.json 的 {hidden} 个值不能由两个方向均分",
        "config.json gives {hidden} values for two directions"
    );
    let units = hidden / directions;
    let (ids, seen) = (graph.input("input_ids"), graph.input("attention_mask"));
    let embeddings = format!("{prefix}embeddings.weight");
    let table = graph.weight(&embeddings, &[vocabulary, units])?;
    let vectors = graph.gather(table, ids, 0);
    let axis = graph.ints(&[1]);
    let lengths = graph.op("ReduceSum", &[seen, axis], &[Attribute::Int("keepdims", 0)]);
    let lengths = graph.cast_short(lengths);
    // Vectors `[tokens, batch, units]` of each direction.
    let vectors = graph.transpose(vectors, &[1, 0, 2]);
    let mut ahead = vec![vectors; directions];
    let mut states = vec![side_by_side(graph, &ahead)];
    for layer in 0..layers {
        for (x, name) in ahead.iter_mut().zip(["forward", "backward"]) {
            let at = format!("{prefix}layers.{layer}.{name}");
            let [input, state] =
                ["weight_ih", "weight_hh"].map(|weight| graph.weight(&format!("{at}.{weight}"), &[4 * units, units]));
            let bias = graph.weight(&format!("{at}.bias"), &[4 * units])?;
            let [input, state, bias] = [input?, state?, bias].map(|weight| in_order(graph, weight));
            let none = graph.floats("zeros for the bias of states", &vec![0.0; 4 * units]);
            let none = graph.unsqueeze(none, &[0]);
            let bias = graph.op("Concat", &[bias, none], &[Attribute::Int("axis", 1)]);
            let direction = if name == "forward" { "forward" } else { "reverse" };
            let sizes = [Attribute::Int("hidden_size", units as i64), Attribute::Text("direction", direction)];
            let out = graph.op("LSTM", &[*x, input, state, bias, lengths], &sizes);
            let axis = graph.ints(&[1]);
            let out = graph.op("Squeeze", &[out, axis], &[]);
            *x = if layer == 0 { out } else { graph.add(out, *x) };
        }
        states.push(side_by_side(graph, &ahead));
    }
    let x = states[layers];
    if wanted.vectors() {
        give_layers(graph, &states, hidden);
    }
    let class = settings.class();
    if class.ends_with("ForSequenceClassification") && wanted.vectors() {
        let classes = settings.labels()?;
        let pooled = pooled(graph, &Texts { x, seen, hidden, directions });
        let dense = graph.linear(pooled, "pooler.dense", 3 * hidden, hidden)?;
        let dense = graph.activation(dense, "relu")?;
        let logits = graph.linear(dense, "classifier", hidden, classes)?;
        give_classes(graph, logits, classes);
    } else if wanted.vectors() {
        give_token_head(graph, settings, x, hidden)?;
    }
    let writes = class.ends_with("LMHeadModel");
    if writes && wanted.words() {
        let last = if wanted == Wanted::Writing { graph.last_tokens(x) } else { x };
        let logits = words(graph, last, "lm_head.weight", &embeddings, [hidden, vocabulary])?;
        give_logits(graph, logits, vocabulary);
    }
    ensure!(
        writes || wanted.vectors(),
        "它的类 {class:?} 不给出词表上的 logits",
        "its class {class:?} gives no logits over the vocabulary"
    );
    Ok(())
}

/// Weights of the four gates `[4 x units, ..]`, in the order of ONNX, `[1, 4 x units, ..]`.
pub(super) fn in_order(graph: &mut GraphWriter<'_>, weight: Value) -> Value {
    let gates = graph.split("Split", &[weight], &[Attribute::Int("axis", 0), Attribute::Int("num_outputs", 4)], 4);
    let weight = graph.op("Concat", &ORDER.map(|gate| gates[gate]), &[Attribute::Int("axis", 0)]);
    graph.unsqueeze(weight, &[0])
}

/// Vectors of the directions by time `[tokens, batch, units]`, as `[batch, tokens, hidden]`.
fn side_by_side(graph: &mut GraphWriter<'_>, directions: &[Value]) -> Value {
    let all = match directions {
        [one] => *one,
        several => graph.op("Concat", several, &[Attribute::Int("axis", 2)]),
    };
    graph.transpose(all, &[1, 0, 2])
}

/// The last state of each direction, the greatest numbers and the means of each text, `[batch, 3 x hidden]`.
fn pooled(graph: &mut GraphWriter<'_>, texts: &Texts) -> Value {
    let Texts { x, seen, hidden, directions } = *texts;
    let mut last = last_token(graph, x, seen);
    if directions == 2 {
        let first = first_token(graph, x);
        let units = (hidden / 2) as i64;
        let (begin, middle, end, axis) =
            (graph.ints(&[0]), graph.ints(&[units]), graph.ints(&[2 * units]), graph.ints(&[1]));
        let ahead = graph.op("Slice", &[last, begin, middle, axis], &[]);
        let back = graph.op("Slice", &[first, middle, end, axis], &[]);
        last = graph.op("Concat", &[ahead, back], &[Attribute::Int("axis", 1)]);
    }
    let (mask, axis) = (graph.unsqueeze(seen, &[2]), graph.ints(&[1]));
    let (real, least) = (graph.cast_bool(mask), graph.float(f32::MIN));
    let only = graph.op("Where", &[real, x, least], &[]);
    let greatest = graph.op("ReduceMax", &[only, axis], &[Attribute::Int("keepdims", 0)]);
    let mask = graph.cast_float(mask);
    let only = graph.mul(x, mask);
    let [sum, count] = [only, mask].map(|x| graph.op("ReduceSum", &[x, axis], &[Attribute::Int("keepdims", 0)]));
    let mean = graph.op("Div", &[sum, count], &[]);
    graph.op("Concat", &[last, greatest, mean], &[Attribute::Int("axis", 1)])
}
