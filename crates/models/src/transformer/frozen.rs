//! Layers that stay as they are run once: the vectors before the first trained layer, in a scratch file.

use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use memmap2::Mmap;
use rayon::prelude::*;

use super::encoder::{Encoder, EncoderInput};
use super::params::TransformerParams;
use super::train::Transformer;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Texts that are computed between two writes.
const TOGETHER: usize = 256;

/// The vectors of all tokens of some texts before a layer.
pub struct FrozenStates {
    /// The layer before which they stand.
    pub(super) first_layer: usize,
    width: usize,
    map: Option<Mmap>,
}

impl FrozenStates {
    /// Computes the vectors of texts that stand one behind the other among the tokens; none where the first layer or the embeddings are
    /// trained. The scratch file is made in a folder.
    pub fn compute(
        base: &Transformer,
        params: &TransformerParams,
        tokens: &[u32],
        places: &[Range<usize>],
        folder: &Path,
        ctx: &Ctx,
    ) -> Result<Option<FrozenStates>> {
        let (shape, first_layer) = (base.shape, params.lowest(&base.shape)?);
        if first_layer == 0 {
            return Ok(None);
        }
        let ends = places.iter().map(|place| place.end);
        let follow = places.iter().map(|place| place.start).eq(std::iter::once(0).chain(ends).take(places.len()));
        ensure!(follow, "向量已保存的文本应依次排列", "texts whose vectors are kept stand one behind the other");
        let values = base.values();
        let encoder = Encoder::new(shape, &values, 0..first_layer, |_| None);
        let mut scratch = Scratch::within(folder)?;
        ctx.stage("read", "texts", Some(places.len() as u64), || {
            for places in places.chunks(TOGETHER) {
                let one = |place: &Range<usize>| {
                    ctx.check()?;
                    let (tokens, text) = (&tokens[place.clone()], [0..place.len()]);
                    let x = encoder.embed(EncoderInput { tokens, texts: &text });
                    ctx.advance(1)?;
                    Ok(encoder.run(x, &text))
                };
                let found = ctx.install(|| places.par_iter().map(one).collect::<Result<Vec<Vec<f32>>>>())?;
                found.iter().try_for_each(|x| scratch.write(bytemuck::cast_slice(x)))?;
            }
            Ok(Report::new("read"))
        })?;
        Ok(Some(FrozenStates { first_layer, width: shape.block.width, map: scratch.map()? }))
    }

    /// The vectors of a text, `[tokens, width]`.
    pub(super) fn of(&self, place: &Range<usize>) -> &[f32] {
        &disk::numbers(self.map.as_ref())[place.start * self.width..place.end * self.width]
    }
}
