//! Recurrent encoders with recurrent decoders that this program trains: three graphs, as BART's. The decoder's state lies where other models have
//! keys and values: its state and an LSTM's cell `[batch, 1, 1, hidden]` under `decoder`, and the encoder's vectors `[batch, 1, tokens, hidden]`, with
//! their products that scores read, under `encoder`. A graph of the decoder reads one token of each text.

use anyhow::Result;

use super::decoder::last_token;
use super::graph::{Attribute, Axis, GraphWriter, Value};
use super::lstm::in_order;
use super::settings::Settings;
use super::weights::Weights;
use super::{Wanted, first_token, give_layers, give_logits};

use inkstone_base::{bail, ensure};

/// The gates of a GRU in the order of ONNX (z, r, n) by their place in the weights of the inputs (n, r, z) and of the state (r, z, n).
const GATES_OF_INPUTS: [usize; 3] = [2, 1, 0];
const GATES_OF_STATE: [usize; 3] = [1, 0, 2];
/// Names of the values that a decoder keeps from step to step.
const KEYS: &str = "encoder.key";
const ROWS: &str = "encoder.value";
const STATE: &str = "decoder.key";
const CELL: &str = "decoder.value";

/// Sizes of a model.
struct Recurrent<'s> {
    lstm: bool,
    score: &'s str,
    vocabulary: usize,
    hidden: usize,
}

/// The source as a decoder reads it: vectors, and what scores are computed of, `[batch, tokens, hidden]`; without attention the last states
/// `[batch, 1, hidden]`.
#[derive(Clone, Copy)]
struct SourceValues {
    rows: Value,
    keys: Value,
}

pub(super) fn write(graph: &mut GraphWriter<'_>, _: &Weights, settings: &Settings, wanted: Wanted) -> Result<()> {
    let cell = settings.text("cell").unwrap_or_default();
    ensure!(
        ["gru", "lstm"].contains(&cell),
        "config.json 的 cell 为 {cell:?}，这里认识 gru 和 lstm",
        "config.json has cell {cell:?}, and gru and lstm are known here"
    );
    let score = settings.text("attention").unwrap_or_default();
    ensure!(
        ["additive", "general", "dot", "none"].contains(&score),
        "config.json 的 attention 为 {score:?}，这里认识 additive、general、dot 和 none",
        "config.json has attention {score:?}, and additive, general, dot and none are known here"
    );
    let (vocabulary, hidden) = (settings.size("vocab_size")?, settings.size("hidden_size")?);
    ensure!(
        hidden.is_multiple_of(2),
        "config.json 的 {hidden} 个值不能由两个方向均分",
        "config.json gives {hidden} values for two directions"
    );
    let model = Recurrent { lstm: cell == "lstm", score, vocabulary, hidden };
    match wanted {
        Wanted::Words => bail!("带解码器的编码器不能填空", "an encoder with a decoder fills no masks"),
        Wanted::FirstStep => model.decoder(graph, true),
        Wanted::LaterStep => model.decoder(graph, false),
        Wanted::Vectors | Wanted::Writing | Wanted::All => model.encoder(graph),
    }
}

impl Recurrent<'_> {
    /// Vectors of tokens `[batch, tokens, hidden]`.
    fn embed(&self, graph: &mut GraphWriter<'_>, ids: Value) -> Result<Value> {
        let table = graph.weight("shared.weight", &[self.vocabulary, self.hidden])?;
        Ok(graph.gather(table, ids, 0))
    }

    /// The weights and the bias of a cell as ONNX has them.
    fn cell(&self, graph: &mut GraphWriter<'_>, name: &str, inputs: usize, units: usize) -> Result<[Value; 3]> {
        let gates = if self.lstm { 4 } else { 3 };
        let words = graph.weight(&format!("{name}.weight_ih"), &[gates * units, inputs])?;
        let state = graph.weight(&format!("{name}.weight_hh"), &[gates * units, units])?;
        let bias = graph.weight(&format!("{name}.bias"), &[4 * units])?;
        let join = |graph: &mut GraphWriter<'_>, parts: &[Value]| {
            let joined = graph.op("Concat", parts, &[Attribute::Int("axis", 0)]);
            graph.unsqueeze(joined, &[0])
        };
        let split = |graph: &mut GraphWriter<'_>, value: Value, count: usize| {
            let into = [Attribute::Int("axis", 0), Attribute::Int("num_outputs", count as i64)];
            graph.split("Split", &[value], &into, count)
        };
        if self.lstm {
            let [words, state, bias] = [words, state, bias].map(|weight| in_order(graph, weight));
            let none = graph.floats(&format!("{} zeros", 4 * units), &vec![0.0; 4 * units]);
            let none = graph.unsqueeze(none, &[0]);
            return Ok([words, state, graph.op("Concat", &[bias, none], &[Attribute::Int("axis", 1)])]);
        }
        let none = graph.floats(&format!("{units} zeros"), &vec![0.0; units]);
        let (words, state, bias) = (split(graph, words, 3), split(graph, state, 3), split(graph, bias, 4));
        let words = join(graph, &GATES_OF_INPUTS.map(|gate| words[gate]));
        let state = join(graph, &GATES_OF_STATE.map(|gate| state[gate]));
        let bias = join(graph, &[bias[2], bias[1], bias[0], none, none, bias[3]]);
        Ok([words, state, bias])
    }

    /// Runs a cell over inputs by time `[tokens, batch, ..]`: all its outputs.
    fn run(&self, graph: &mut GraphWriter<'_>, inputs: &[Value], units: usize, direction: &'static str) -> Vec<Value> {
        let mut sizes = vec![Attribute::Int("hidden_size", units as i64), Attribute::Text("direction", direction)];
        if self.lstm {
            return graph.split("LSTM", inputs, &sizes, 3);
        }
        sizes.push(Attribute::Int("linear_before_reset", 1));
        graph.split("GRU", inputs, &sizes, 2)
    }

    fn encoder(&self, graph: &mut GraphWriter<'_>) -> Result<()> {
        let units = self.hidden / 2;
        let (ids, seen) = (graph.input("input_ids"), graph.input("attention_mask"));
        let x = self.embed(graph, ids)?;
        let axis = graph.ints(&[1]);
        let lengths = graph.op("ReduceSum", &[seen, axis], &[Attribute::Int("keepdims", 0)]);
        let lengths = graph.cast_short(lengths);
        let by_time = graph.transpose(x, &[1, 0, 2]);
        let mut sides = Vec::new();
        for (name, direction) in [("forward", "forward"), ("backward", "reverse")] {
            let [words, state, bias] = self.cell(graph, &format!("encoder.{name}"), self.hidden, units)?;
            let out = self.run(graph, &[by_time, words, state, bias, lengths], units, direction)[0];
            sides.push(graph.op("Squeeze", &[out, axis], &[]));
        }
        let both = graph.op("Concat", &sides, &[Attribute::Int("axis", 2)]);
        let rows = graph.transpose(both, &[1, 0, 2]);
        give_layers(graph, &[x, rows], self.hidden);
        Ok(())
    }

    fn shape(&self, tokens: &'static str) -> [Axis; 4] {
        [Axis::Named("batch"), Axis::Size(1), Axis::Named(tokens), Axis::Size(self.hidden)]
    }

    /// Gives `[batch, tokens, hidden]` out to be remembered.
    fn give(&self, graph: &mut GraphWriter<'_>, name: &str, value: Value, tokens: &'static str) {
        let value = graph.unsqueeze(value, &[1]);
        graph.output(&format!("present.0.{name}"), value, &self.shape(tokens));
    }

    /// Takes what was remembered, `[batch, tokens, hidden]`.
    fn take(&self, graph: &mut GraphWriter<'_>, name: &str, tokens: &'static str) -> Value {
        let value = graph.input_floats(&format!("past_key_values.0.{name}"), &self.shape(tokens));
        let axis = graph.ints(&[1]);
        graph.op("Squeeze", &[value, axis], &[])
    }

    /// The last states of both directions, `[batch, 1, hidden]`.
    fn last(&self, graph: &mut GraphWriter<'_>, rows: Value, seen: Value) -> Value {
        let (ahead, back) = (last_token(graph, rows, seen), first_token(graph, rows));
        let units = (self.hidden / 2) as i64;
        let (begin, middle, end, axis) =
            (graph.ints(&[0]), graph.ints(&[units]), graph.ints(&[2 * units]), graph.ints(&[1]));
        let ahead = graph.op("Slice", &[ahead, begin, middle, axis], &[]);
        let back = graph.op("Slice", &[back, middle, end, axis], &[]);
        let last = graph.op("Concat", &[ahead, back], &[Attribute::Int("axis", 1)]);
        graph.unsqueeze(last, &[1])
    }

    /// `x W^T` without a bias.
    fn product(&self, graph: &mut GraphWriter<'_>, x: Value, name: &str) -> Result<Value> {
        let weight = graph.weight(&format!("decoder.attention.{name}.weight"), &[self.hidden, self.hidden])?;
        let weight = graph.transpose(weight, &[1, 0]);
        Ok(graph.matmul(x, weight))
    }

    /// Logits behind one token of each text, with what is remembered.
    fn decoder(&self, graph: &mut GraphWriter<'_>, is_first: bool) -> Result<()> {
        let ids = graph.input_numbers("input_ids", &[Axis::Named("batch"), Axis::Size(1)]);
        let source_axes = [Axis::Named("batch"), Axis::Named("encoder_sequence")];
        let seen = graph.input_numbers("encoder_attention_mask", &source_axes);
        let looks = self.score != "none";
        let has_keys = ["additive", "general"].contains(&self.score);
        let tokens = if looks { "encoder_sequence" } else { "one" };
        let (source, state, cell) = if is_first {
            let axes = [Axis::Named("batch"), Axis::Named("encoder_sequence"), Axis::Size(self.hidden)];
            let rows = graph.input_floats("encoder_hidden_states", &axes);
            let last = self.last(graph, rows, seen);
            let begun = graph.linear(last, "decoder.begin", self.hidden, self.hidden)?;
            let state = graph.op("Tanh", &[begun], &[]);
            let keys = if has_keys { self.product(graph, rows, "keys")? } else { rows };
            let source = if looks { SourceValues { rows, keys } } else { SourceValues { rows: last, keys: last } };
            (source, state, state)
        } else {
            let rows = self.take(graph, ROWS, tokens);
            let keys = if has_keys { self.take(graph, KEYS, tokens) } else { rows };
            let state = self.take(graph, STATE, "one");
            let cell = if self.lstm { self.take(graph, CELL, "one") } else { state };
            (SourceValues { rows, keys }, state, cell)
        };
        let context = if looks { self.look(graph, source, state, seen)? } else { source.rows };
        let y = self.embed(graph, ids)?;
        let beside = [Attribute::Int("axis", 2)];
        let x = graph.op("Concat", &[y, context], &beside);
        let [x, state, cell] = [x, state, cell].map(|value| graph.transpose(value, &[1, 0, 2]));
        let [words, weights, bias] = self.cell(graph, "decoder.cell", 2 * self.hidden, self.hidden)?;
        let nothing = graph.nothing();
        let mut inputs = vec![x, words, weights, bias, nothing, state];
        if self.lstm {
            inputs.push(cell);
        }
        let out = self.run(graph, &inputs, self.hidden, "forward");
        let after: Vec<Value> = out[1..].iter().map(|value| graph.transpose(*value, &[1, 0, 2])).collect();
        let joined = graph.op("Concat", &[after[0], context, y], &beside);
        let read = graph.linear(joined, "decoder.read", 3 * self.hidden, self.hidden)?;
        let read = graph.op("Tanh", &[read], &[]);
        let table = graph.weight("shared.weight", &[self.vocabulary, self.hidden])?;
        let table = graph.transpose(table, &[1, 0]);
        let logits = graph.matmul(read, table);
        let logits = graph.bias(logits, "decoder.words.bias", self.vocabulary)?;
        give_logits(graph, logits, self.vocabulary);
        after.into_iter().zip([STATE, CELL]).for_each(|(value, name)| self.give(graph, name, value, "one"));
        if is_first {
            self.give(graph, ROWS, source.rows, tokens);
            if has_keys {
                self.give(graph, KEYS, source.keys, tokens);
            }
        }
        Ok(())
    }

    /// The mean of the source's vectors that the attention chooses by the state, `[batch, 1, hidden]`.
    fn look(&self, graph: &mut GraphWriter<'_>, source: SourceValues, state: Value, seen: Value) -> Result<Value> {
        let scores = if self.score == "additive" {
            let query = self.product(graph, state, "queries")?;
            let sum = graph.add(query, source.keys);
            let hidden = graph.op("Tanh", &[sum], &[]);
            let vector = graph.weight("decoder.attention.score.weight", &[1, self.hidden])?;
            let vector = graph.transpose(vector, &[1, 0]);
            let scores = graph.matmul(hidden, vector);
            graph.transpose(scores, &[0, 2, 1])
        } else {
            let keys = graph.transpose(source.keys, &[0, 2, 1]);
            graph.matmul(state, keys)
        };
        let (real, least) = (graph.unsqueeze(seen, &[1]), graph.float(f32::MIN));
        let real = graph.cast_bool(real);
        let scores = graph.op("Where", &[real, scores, least], &[]);
        let shares = graph.op("Softmax", &[scores], &[Attribute::Int("axis", -1)]);
        Ok(graph.matmul(shares, source.rows))
    }
}
