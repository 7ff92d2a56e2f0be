//! Keys and values of the tokens before, so that a step reads its new tokens alone.

use super::attention::Heads;
use super::graph::{Attribute, Axis, GraphWriter, Value};

/// Axes of keys or values.
fn shape(heads: Heads, tokens: &'static str) -> [Axis; 4] {
    [Axis::Named("batch"), Axis::Size(heads.shared), Axis::Named(tokens), Axis::Size(heads.size)]
}

impl GraphWriter<'_> {
    /// Keys and values `[batch, shared, tokens, size]` of a layer behind those of the tokens before: `past_key_values.LAYER.key` and `.value`
    /// are taken, and all together are given as `present.LAYER.key` and `.value`.
    pub(super) fn remember(&mut self, layer: &str, parts: [Value; 2], heads: Heads) -> [Value; 2] {
        let mut all = parts;
        let past = self.take_parts(layer, heads, "past_sequence");
        for ((part, past), name) in all.iter_mut().zip(past).zip(["key", "value"]) {
            *part = self.output_op(
                &format!("present.{layer}.{name}"),
                "Concat",
                &[past, *part],
                &[Attribute::Int("axis", 2)],
                &shape(heads, "past_sequence + sequence"),
            );
        }
        all
    }

    /// Takes keys and values of a layer.
    pub(super) fn take_parts(&mut self, layer: &str, heads: Heads, tokens: &'static str) -> [Value; 2] {
        ["key", "value"]
            .map(|name| self.input_floats(&format!("past_key_values.{layer}.{name}"), &shape(heads, tokens)))
    }

    /// Gives keys and values of a layer out, too.
    pub(super) fn give_parts(
        &mut self,
        layer: &str,
        parts: [Value; 2],
        heads: Heads,
        tokens: &'static str,
    ) -> [Value; 2] {
        for (part, name) in parts.into_iter().zip(["key", "value"]) {
            self.output(&format!("present.{layer}.{name}"), part, &shape(heads, tokens));
        }
        parts
    }

    /// The last tokens of vectors `[batch, tokens, hidden]`, as many as the input `num_logits_to_keep` `[1]` says.
    pub(super) fn last_tokens(&mut self, x: Value) -> Value {
        let count = self.input_numbers("num_logits_to_keep", &[Axis::Size(1)]);
        let begin = self.op("Neg", &[count], &[]);
        let (end, axis) = (self.ints(&[i64::MAX]), self.ints(&[1]));
        self.op("Slice", &[x, begin, end, axis], &[])
    }
}
