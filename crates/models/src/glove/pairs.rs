//! The counted pairs on disk, block by block, each block in a random order.

use std::path::Path;

use anyhow::Result;
use memmap2::Mmap;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::{GloveParams, PARTS};
use crate::Cooccurrence;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;

/// Pairs of a block that are held before they are written.
const HELD: usize = 1 << 12;

/// A pair: places of word and context in their parts, the logarithm of its count, and its weight (bits of f32).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) word: u32,
    pub(super) context: u32,
    pub(super) log: f32,
    pub(super) weight: f32,
}

/// A pair as it lies in the file.
type StoredPair = [u32; 4];

/// All pairs in shuffled blocks.
pub struct Pairs {
    words: usize,
    map: Option<Mmap>,
    /// The offset of each block, `[PARTS, PARTS]`, and the end of the last.
    starts: Vec<usize>,
}

impl Pairs {
    /// Deals counted pairs into blocks; scratch files are made in `folder`.
    pub fn new(counts: &Cooccurrence, params: &GloveParams, folder: &Path, ctx: &Ctx) -> Result<Pairs> {
        let mut dealt: Vec<(Scratch, Vec<StoredPair>)> = (0..PARTS * PARTS)
            .map(|_| Ok((Scratch::within(folder)?, Vec::with_capacity(HELD))))
            .collect::<Result<_>>()?;
        let (mut word, rows) = (0, counts.rows());
        for i in 0..rows.blocks() {
            ctx.check()?;
            for row in rows.block(i) {
                for (context, count) in row.iter() {
                    let (w, c) = (word as usize % PARTS, context as usize % PARTS);
                    let (scratch, held) = &mut dealt[w * PARTS + c];
                    let count = f64::from(count);
                    let (log, weight) = (count.ln() as f32, params.weight(count) as f32);
                    let parts = PARTS as u32;
                    held.push([word / parts, context / parts, log.to_bits(), weight.to_bits()]);
                    if held.len() == HELD {
                        scratch.write(bytemuck::cast_slice(held))?;
                        held.clear();
                    }
                }
                word += 1;
            }
        }
        let mut all = Scratch::within(folder)?;
        let mut starts = vec![0];
        for (stream, (mut scratch, held)) in (0..).zip(dealt) {
            ctx.check()?;
            scratch.write(bytemuck::cast_slice(&held))?;
            let map = scratch.map()?;
            let mut block: Vec<StoredPair> = disk::numbers(map.as_ref()).to_vec();
            let mut random = ChaCha8Rng::seed_from_u64(ctx.seed());
            random.set_stream(stream);
            block.shuffle(&mut random);
            all.write(bytemuck::cast_slice(&block))?;
            starts.push(starts.last().copied().unwrap_or(0) + block.len());
        }
        Ok(Pairs { words: word as usize, map: all.map()?, starts })
    }

    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Pairs of all blocks.
    pub fn count(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The pairs of a part of the words with a part of the contexts.
    pub(super) fn block(&self, words: usize, contexts: usize) -> impl Iterator<Item = Pair> {
        let block = words * PARTS + contexts;
        let all: &[StoredPair] = disk::numbers(self.map.as_ref());
        all[self.starts[block]..self.starts[block + 1]].iter().map(|&[word, context, log, weight]| Pair {
            word,
            context,
            log: f32::from_bits(log),
            weight: f32::from_bits(weight),
        })
    }
}
