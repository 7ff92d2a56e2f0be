//! A block of BERT-base forward and backward, against PyTorch: same weights' sizes, same texts.
//!
//! `PYTHON=path/to/python cargo bench --bench transformer` takes 16 texts of 128 tokens, and 16 of 16 to 256 tokens, which PyTorch pads. Both sides work
//! on two threads, in turn within each round; times are medians over the rounds. Operations are those of the products alone, so a share of the speed of
//! a plain product says what all else costs.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::ops::Range;
use std::time::Instant;

use anyhow::{Result, ensure};
use inkstone_models::transformer::{BlockActivation, BlockKind, BlockShape, EncoderBlock, NormPlace, WantedGradients};
use peer::Peer;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

mod peer;

const ROUNDS: usize = 5;
const THREADS: usize = 2;
/// Texts that one thread computes at once.
const PIECE: usize = 4;
const SHAPE: BlockShape = BlockShape {
    kind: BlockKind::Transformer,
    width: 768,
    heads: 12,
    between: 3072,
    place: NormPlace::After,
    causal: false,
    activation: BlockActivation::Gelu,
    epsilon: 1e-12,
};

/// Computes the texts whose lengths each line names; answers with the seconds.
const PEER: &str = "
import sys, time
import torch
from torch import nn
torch.set_num_threads(2)
print('ready', flush=True)
layer = nn.TransformerEncoderLayer(768, 12, 3072, 0.0, 'gelu', 1e-12, batch_first=True)
for line in sys.stdin:
    lengths = torch.tensor([int(length) for length in line.split()])
    x = torch.randn(len(lengths), int(lengths.max()), 768, requires_grad=True)
    mask = torch.arange(x.shape[1])[None] >= lengths[:, None]
    mask = mask if mask.any() else None
    began = time.perf_counter()
    out = layer(x, src_key_padding_mask=mask)
    out.backward(torch.ones_like(out))
    seconds = time.perf_counter() - began
    layer.zero_grad()
    print(seconds, flush=True)
";

/// Operations of the products of a block, forward and backward.
fn operations(lengths: &[usize]) -> f64 {
    let tokens: usize = lengths.iter().sum();
    let squares: usize = lengths.iter().map(|length| length * length).sum();
    let layers = 2 * tokens * SHAPE.width * (4 * SHAPE.width + 2 * SHAPE.between);
    3.0 * (layers + 2 * 2 * squares * SHAPE.width) as f64
}

/// The gradients of a block on texts of these lengths.
fn gradients(weights: &[&[f32]], lengths: &[usize], x: &[f32]) -> Vec<Vec<f32>> {
    let block = EncoderBlock::new(SHAPE, weights);
    let mut begin = 0;
    let pieces: Vec<(usize, Vec<Range<usize>>)> = lengths
        .chunks(PIECE)
        .map(|lengths| {
            let first = begin;
            let texts = lengths.iter().scan(0, |end, length| {
                *end += length;
                Some(*end - length..*end)
            });
            let texts: Vec<Range<usize>> = texts.collect();
            begin += lengths.iter().sum::<usize>();
            (first, texts)
        })
        .collect();
    let back = |(first, texts): &(usize, Vec<Range<usize>>)| {
        let tokens = texts.last().map_or(0, |text| text.end);
        let (out, passed) = block.forward(&x[first * SHAPE.width..][..tokens * SHAPE.width], texts, None);
        block.back(&passed, texts, &vec![1.0; out.len()], &WantedGradients::ALL).1
    };
    let gradients: Vec<Vec<Vec<f32>>> = pieces.par_iter().map(back).collect();
    let add = |mut sums: Vec<Vec<f32>>, gradients: Vec<Vec<f32>>| {
        let add = |(sum, by): (&mut Vec<f32>, Vec<f32>)| sum.iter_mut().zip(by).for_each(|(sum, by)| *sum += by);
        sums.par_iter_mut().zip(gradients).for_each(add);
        sums
    };
    gradients.into_iter().reduce(add).unwrap_or_default()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut drawn = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.random_range(-0.05..0.05)).collect() };
    let weights = SHAPE.sizes().map(&mut drawn);
    let weights: Vec<&[f32]> = weights.iter().map(Vec::as_slice).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    let first = drawn(9 * 16 * SHAPE.width);
    let by_threads = [1, 2, 8].map(|threads| -> Result<Vec<Vec<f32>>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(pool.install(|| gradients(&weights, &[16; 9], &first)))
    });
    let [one, two, eight] = by_threads;
    let one = one?;
    ensure!(one == two? && one == eight?, "gradients depend on the number of threads");
    let mut peer = std::env::var("PYTHON").ok().map(|python| Peer::start(&python, PEER, &[])).transpose()?;
    for lengths in [vec![128; 16], (1..=16).map(|n| n * 16).collect::<Vec<usize>>()] {
        let tokens: usize = lengths.iter().sum();
        let x = drawn(tokens * SHAPE.width);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let line = lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        for round in 0..=ROUNDS {
            let began = Instant::now();
            pool.install(|| gradients(&weights, &lengths, &x));
            let own = began.elapsed().as_secs_f64();
            let other = peer.as_mut().map(|peer| peer.ask(&line)).transpose()?;
            if round > 0 {
                ours.push(own);
                theirs.extend(other.map(|(seconds, _)| seconds));
            }
        }
        let ours = median(ours);
        let speed = operations(&lengths) / ours / 1e9;
        print!("{tokens} tokens in {} texts: {:.0} ms, {speed:.0} GFLOP/s", lengths.len(), ours * 1e3);
        match theirs.is_empty() {
            true => println!(" (no PyTorch)"),
            false => {
                let theirs = median(theirs);
                println!("; PyTorch {:.0} ms, {:.2} times as long", theirs * 1e3, theirs / ours);
            }
        }
    }
    Ok(())
}
