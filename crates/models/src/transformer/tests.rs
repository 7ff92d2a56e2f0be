use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::neural::check::check_gradients;
use crate::reference::read;

const TEXTS: [Range<usize>; 3] = [0..3, 3..4, 4..9];

fn shape(place: NormPlace, activation: BlockActivation) -> BlockShape {
    let causal = place == NormPlace::Before;
    BlockShape {
        kind: BlockKind::Transformer,
        width: 6,
        heads: 2,
        between: 8,
        place,
        causal,
        activation,
        epsilon: 1e-12,
    }
}

fn drawn(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..count).map(|_| rng.random_range(-0.8..0.8)).collect()
}

#[test]
fn gradients_by_inputs_and_weights_are_difference_quotients() {
    for place in [NormPlace::After, NormPlace::Before] {
        for activation in [BlockActivation::Gelu, BlockActivation::GeluTanh, BlockActivation::Relu] {
            let shape = shape(place, activation);
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let mut values: Vec<Vec<f64>> = shape.sizes().map(|count| drawn(count, &mut rng)).to_vec();
            values.push(drawn(9 * shape.width, &mut rng));
            let wanted = drawn(9 * shape.width, &mut rng);
            check_gradients(&format!("{place:?} {activation:?}"), values, |values| {
                let (weights, x) = (&values[..BlockWeights::COUNT], values[BlockWeights::COUNT]);
                let block = EncoderBlock::new(shape, weights);
                let (out, passed) = block.forward(x, &TEXTS, None);
                // The loss is a weighted sum of the outputs.
                let loss = out.iter().zip(&wanted).map(|(out, wanted)| out * wanted).sum();
                let (by_inputs, mut gradients) = block.back(&passed, &TEXTS, &wanted, &WantedGradients::ALL);
                gradients.push(by_inputs);
                (loss, gradients)
            });
        }
    }
}

#[test]
fn a_text_has_the_same_bits_whatever_it_stands_beside() {
    let shape = shape(NormPlace::After, BlockActivation::Gelu);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<f32>>();
    let weights: Vec<Vec<f32>> = shape.sizes().map(|count| narrow(drawn(count, &mut rng))).to_vec();
    let weights: Vec<&[f32]> = weights.iter().map(Vec::as_slice).collect();
    let x = narrow(drawn(9 * shape.width, &mut rng));
    let block = EncoderBlock::new(shape, &weights);
    let together = block.forward(&x, &TEXTS, None).0;
    for text in TEXTS {
        let place = text.start * shape.width..text.end * shape.width;
        let alone = block.forward(&x[place.clone()], &[0..text.len()], None).0;
        assert_eq!(alone, together[place]);
    }
}

#[test]
fn outputs_and_gradients_are_those_of_pytorch() {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/reference/pytorch/transformer.json")).unwrap();
    let lengths: Vec<usize> = read(&all["lengths"]);
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    let texts: Vec<Range<usize>> = ends.zip(&lengths).map(|(end, length)| end - length..end).collect();
    for case in all["cases"].as_array().unwrap() {
        let shape = BlockShape {
            kind: BlockKind::Transformer,
            width: read(&all["width"]),
            heads: read(&all["heads"]),
            between: read(&all["between"]),
            place: if case["place"] == "after" { NormPlace::After } else { NormPlace::Before },
            causal: false,
            activation: match case["activation"].as_str().unwrap() {
                "gelu" => BlockActivation::Gelu,
                "gelu_tanh" => BlockActivation::GeluTanh,
                _ => BlockActivation::Relu,
            },
            epsilon: 1e-12,
        };
        let weights: Vec<Vec<f32>> = read(&case["weights"]);
        let weights: Vec<&[f32]> = weights.iter().map(Vec::as_slice).collect();
        let (x, wanted): (Vec<f32>, Vec<f32>) = (read(&case["x"]), read(&case["wanted"]));
        let block = EncoderBlock::new(shape, &weights);
        let (out, passed) = block.forward(&x, &texts, None);
        let (by_x, by_weights) = block.back(&passed, &texts, &wanted, &WantedGradients::ALL);
        let near = |name: &str, ours: &[f32], theirs: &[f64]| {
            assert_eq!(ours.len(), theirs.len(), "{name}");
            let size = theirs.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert!(
                    (f64::from(*ours) - theirs).abs() < 1e-5 * size,
                    "{name} of {}: {ours} {theirs}",
                    case["place"]
                );
            }
        };
        near("outputs", &out, &read::<Vec<f64>>(&case["out"]));
        near("inputs", &by_x, &read::<Vec<f64>>(&case["by_x"]));
        let theirs: Vec<Vec<f64>> = read(&case["by_weights"]);
        by_weights
            .iter()
            .zip(&theirs)
            .zip(0..)
            .for_each(|((ours, theirs), n)| near(&format!("weight {n}"), ours, theirs));
    }
}

pub(super) mod parity;
mod training;
