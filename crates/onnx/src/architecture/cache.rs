//! Keys and values of the tokens before, so that a step reads its new tokens alone.

use super::attention::Heads;
use super::graph::{Attribute, Axis, GraphWriter, Value};

impl GraphWriter<'_> {
    /// Keys and values `[batch, shared, tokens, size]` of a layer behind those of the tokens before: `past_key_values.N.key` and `.value`
    /// are taken, and all together are given as `present.N.key` and `.value`.
    pub(super) fn remember(&mut self, layer: usize, parts: [Value; 2], heads: Heads) -> [Value; 2] {
        let shape =
            |tokens| [Axis::Named("batch"), Axis::Size(heads.shared), Axis::Named(tokens), Axis::Size(heads.size)];
        let mut all = parts;
        for (part, name) in all.iter_mut().zip(["key", "value"]) {
            let past = self.input_floats(&format!("past_key_values.{layer}.{name}"), &shape("past_sequence"));
            let present = format!("present.{layer}.{name}");
            *part = self.output_op(
                &present,
                "Concat",
                &[past, *part],
                &[Attribute::Int("axis", 2)],
                &shape("past_sequence + sequence"),
            );
        }
        all
    }

    /// The last tokens of vectors `[batch, tokens, hidden]`, as many as the input `num_logits_to_keep` `[1]` says.
    pub(super) fn last_tokens(&mut self, x: Value) -> Value {
        let count = self.input_numbers("num_logits_to_keep", &[Axis::Size(1)]);
        let begin = self.op("Neg", &[count], &[]);
        let (end, axis) = (self.ints(&[i64::MAX]), self.ints(&[1]));
        self.op("Slice", &[x, begin, end, axis], &[])
    }
}
