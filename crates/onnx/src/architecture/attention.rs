//! Attention with several heads, its masks, and places as rotations (RoPE).

use anyhow::Result;

use super::graph::{Attribute, GraphWriter, Value};

use inkstone_base::ensure;

/// Added to the scores of what a token does not see.
const UNSEEN: f32 = f32::MIN;

/// Sizes of an attention.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub count: usize,
    /// Heads of keys and values, each of which serves `count / shared` heads of queries.
    pub shared: usize,
    /// Values of a head.
    pub size: usize,
}

impl Heads {
    /// Heads that divide a vector of `hidden` values.
    pub(super) fn new(hidden: usize, count: usize) -> Result<Heads> {
        ensure!(
            count > 0 && hidden.is_multiple_of(count),
            "config.json 的 {count} 个头不能均分 {hidden} 个值",
            "config.json gives {count} heads, which do not divide {hidden} values"
        );
        Ok(Heads { count, shared: count, size: hidden / count })
    }
}

/// Cosines and sines of the places, `[batch, 1, tokens, size]`.
#[derive(Clone, Copy)]
pub(super) struct Rotation {
    cosines: Value,
    sines: Value,
}

impl GraphWriter<'_> {
    /// The mask that is added to scores `[batch, heads, tokens, tokens]`: 0 where the mask `[batch, tokens]` has 1, else the least number.
    pub(super) fn mask_all(&mut self, mask: Value) -> Value {
        let mask = self.unsqueeze(mask, &[1, 2]);
        let mask = self.cast_float(mask);
        let (one, unseen) = (self.float(1.0), self.float(UNSEEN));
        let hidden = self.op("Sub", &[one, mask], &[]);
        self.mul(hidden, unseen)
    }

    /// As [`GraphWriter::mask_all`], for tokens that see only themselves and those before them: scores `[batch, heads, tokens, all]` of the
    /// tokens `[batch, tokens]`, which are the last of those that the mask `[batch, all]` speaks of.
    pub(super) fn mask_causal(&mut self, mask: Value, tokens: Value) -> Value {
        let distance = self.distances(mask, tokens);
        let zero = self.int(0);
        let seen = self.op("GreaterOrEqual", &[distance, zero], &[]);
        self.mask_where(mask, seen)
    }

    /// As [`GraphWriter::mask_all`], for tokens that see others at most so far away.
    pub(super) fn mask_near(&mut self, mask: Value, farthest: usize) -> Value {
        let distance = self.distances(mask, mask);
        let (distance, farthest) = (self.op("Abs", &[distance], &[]), self.int(farthest as i64));
        let seen = self.op("LessOrEqual", &[distance, farthest], &[]);
        self.mask_where(mask, seen)
    }

    /// How far before one of the last tokens each token stands, `[tokens, all]`.
    fn distances(&mut self, mask: Value, tokens: Value) -> Value {
        let (one, all, tokens) = (self.int(1), self.size(mask, 1), self.size(tokens, 1));
        let before = self.op("Sub", &[all, tokens], &[]);
        let (last, places) = (self.op("Range", &[before, all, one], &[]), self.range(all));
        let (from, to) = (self.unsqueeze(last, &[1]), self.unsqueeze(places, &[0]));
        self.op("Sub", &[from, to], &[])
    }

    fn mask_where(&mut self, mask: Value, seen: Value) -> Value {
        let mask = self.unsqueeze(mask, &[1, 2]);
        let mask = self.cast_bool(mask);
        let seen = self.op("And", &[mask, seen], &[]);
        let (zero, unseen) = (self.float(0.0), self.float(UNSEEN));
        self.op("Where", &[seen, zero, unseen], &[])
    }

    /// Rotations of places `[batch or 1, tokens]`; `name` tells tables of several bases apart.
    pub(super) fn rotation(&mut self, places: Value, size: usize, base: f64, name: &str) -> Rotation {
        let frequencies: Vec<f32> =
            (0..size / 2).map(|pair| (1.0 / base.powf((2 * pair) as f64 / size as f64)) as f32).collect();
        let frequencies = self.floats(name, &frequencies);
        let places = self.unsqueeze(places, &[1, 3]);
        let places = self.cast_float(places);
        let angles = self.mul(places, frequencies);
        let angles = self.op("Concat", &[angles, angles], &[Attribute::Int("axis", -1)]);
        Rotation { cosines: self.op("Cos", &[angles], &[]), sines: self.op("Sin", &[angles], &[]) }
    }

    /// Turns heads `[batch, heads, tokens, size]`: the first half of a head is paired with its second half.
    pub(super) fn rotate(&mut self, x: Value, rotation: Rotation) -> Value {
        let halves = self.split("Split", &[x], &[Attribute::Int("axis", -1), Attribute::Int("num_outputs", 2)], 2);
        let negative = self.op("Neg", &[halves[1]], &[]);
        let turned = self.op("Concat", &[negative, halves[0]], &[Attribute::Int("axis", -1)]);
        let (kept, turned) = (self.mul(x, rotation.cosines), self.mul(turned, rotation.sines));
        self.add(kept, turned)
    }

    /// From `[batch, tokens, heads * size]` to `[batch, heads, tokens, size]`.
    pub(super) fn divide_heads(&mut self, x: Value, count: usize, size: usize) -> Value {
        let x = self.reshape(x, &[0, 0, count as i64, size as i64]);
        self.transpose(x, &[0, 2, 1, 3])
    }

    /// Attention of queries `[batch, count, tokens, size]` to keys and values `[batch, shared, tokens, size]`, as
    /// `[batch, tokens, count * size]`; `mask` is added to the scores.
    pub(super) fn attend(&mut self, [queries, keys, values]: [Value; 3], heads: Heads, mask: Value) -> Value {
        let (keys, values) = (self.for_all_heads(keys, heads), self.for_all_heads(values, heads));
        let keys = self.transpose(keys, &[0, 1, 3, 2]);
        let scores = self.matmul(queries, keys);
        let root = self.float((heads.size as f32).sqrt());
        let scores = self.op("Div", &[scores, root], &[]);
        let scores = self.add(scores, mask);
        let weights = self.op("Softmax", &[scores], &[Attribute::Int("axis", -1)]);
        let x = self.matmul(weights, values);
        let x = self.transpose(x, &[0, 2, 1, 3]);
        self.reshape(x, &[0, 0, (heads.count * heads.size) as i64])
    }

    /// Repeats the heads of keys or values for the heads of queries that share them.
    fn for_all_heads(&mut self, x: Value, heads: Heads) -> Value {
        if heads.shared == heads.count {
            return x;
        }
        let repeats = heads.count / heads.shared;
        let x = self.unsqueeze(x, &[2]);
        let shape = self.ints(&[1, 1, repeats as i64, 1, 1]);
        let x = self.op("Expand", &[x, shape], &[]);
        // Sizes of batch and tokens are open, so the shape is made of those of the tensor.
        let (batch, tokens) = (self.size(x, 0), self.size(x, 3));
        let (batch, tokens) = (self.unsqueeze(batch, &[0]), self.unsqueeze(tokens, &[0]));
        let (count, size) = (self.ints(&[heads.count as i64]), self.ints(&[heads.size as i64]));
        let shape = self.op("Concat", &[batch, count, tokens, size], &[Attribute::Int("axis", 0)]);
        self.op("Reshape", &[x, shape], &[])
    }
}
