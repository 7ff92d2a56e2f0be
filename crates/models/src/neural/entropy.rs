//! Cross-entropy of a softmax over many classes, with its gradient.
//!
//! The loss of a row of scores s is ln(sum of e^s) - s of the right class, in nats; its gradient is softmax(s), less 1 at the right
//! class. Sums are made in sixteen columns whatever the processor.

use super::kernel::Real;
use inkstone_base::simd::wide;

const LANES: usize = 16;

/// The loss of a row of scores, which become its gradient.
pub(crate) fn cross_entropy<T: Real>(scores: &mut [T], right: usize) -> f64 {
    let right_score = scores[right];
    let most = largest(scores);
    let sum = wide(
        #[inline(always)]
        || {
            scores.iter_mut().for_each(|s| *s = (*s - most).exp());
            let sum = sum_of(scores, |e| e);
            let scale = T::from_f64(1.0) / sum;
            scores.iter_mut().for_each(|s| *s = *s * scale);
            sum
        },
    );
    scores[right] = scores[right] - T::from_f64(1.0);
    sum.to_f64().ln() + (most - right_score).to_f64()
}

/// ln(1 + e^x), without overflow.
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// ln of the probability of a class.
pub(crate) fn log_probability<T: Real>(scores: &[T], class: usize) -> f64 {
    let most = largest(scores);
    let sum = wide(
        #[inline(always)]
        || sum_of(scores, |s| (s - most).exp()),
    );
    (scores[class] - most).to_f64() - sum.to_f64().ln()
}

/// The largest number; what is no number is passed over.
fn largest<T: Real>(scores: &[T]) -> T {
    let larger = |most: T, score: T| if score > most { score } else { most };
    wide(
        #[inline(always)]
        || {
            let (parts, rest) = scores.as_chunks::<LANES>();
            let mut most = [T::from_f64(f64::NEG_INFINITY); LANES];
            parts.iter().for_each(|part| (0..LANES).for_each(|i| most[i] = larger(most[i], part[i])));
            most.iter().chain(rest).copied().fold(most[0], larger)
        },
    )
}

#[inline(always)]
fn sum_of<T: Real>(scores: &[T], value: impl Fn(T) -> T) -> T {
    let (parts, rest) = scores.as_chunks::<LANES>();
    let mut sums = [T::default(); LANES];
    parts.iter().for_each(|part| (0..LANES).for_each(|i| sums[i] += value(part[i])));
    sums.into_iter().chain(rest.iter().map(|&s| value(s))).fold(T::default(), |sum, s| sum + s)
}

/// e^x for x up to 88, to a unit or two of the last place, without a branch so that loops over it become vector instructions:
/// 2^n e^r with |r| at most ln 2 / 2, and the polynomial of Cephes for e^r. NaN stays NaN; below e^-87 it is as if e^-87.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // `clamp` keeps NaN.
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E).round_ties_even();
    // ln 2 in two parts, of which the first has few digits, so that n times it is exact.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_6e-1;
    let p = p * r + 0.5;
    let e = p * r * r + r + 1.0;
    // Checks of overflow would keep the loop around this from using vectors.
    e * f32::from_bits(((n as i32).wrapping_add(127) as u32) << 23)
}

/// The error function, by 1 - t e^(-x^2 + p(t)) with t = 1 / (1 + |x| / 2) (Press and others, Numerical Recipes, erfcc).
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.5 * size);
    let p = 0.170_872_77;
    let p = p * t - 0.822_152_2;
    let p = p * t + 1.488_515_9;
    let p = p * t - 1.135_204;
    let p = p * t + 0.278_868_07;
    let p = p * t - 0.186_288_06;
    let p = p * t + 0.096_784_18;
    let p = p * t + 0.374_091_96;
    let p = p * t + 1.000_023_7;
    let p = p * t - 1.265_512_2;
    (1.0 - t * exp(p - size * size)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_is_right_to_the_last_places() {
        for i in -600..=600 {
            let x = i as f32 / 100.0;
            let (ours, right) = (f64::from(erf(x)), statrs::function::erf::erf(f64::from(x)));
            assert!((ours - right).abs() < 4e-7, "{x} {ours} {right}");
        }
    }

    #[test]
    fn powers_are_right_to_the_last_places() {
        for i in -8700..=8800 {
            let x = i as f32 / 100.0;
            let (ours, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / right - 1.0).abs() < 3e-7, "{x} {ours} {right}");
        }
        assert!(exp(f32::NAN).is_nan() && exp(-1e9) < 1e-37);
    }

    #[test]
    fn losses_and_gradients_are_those_of_the_definition() {
        let scores: Vec<f32> = (0..120).map(|i| ((i * 37 % 101) as f32 - 50.0) / 9.0).collect();
        for (row, right) in scores.chunks(40).zip([0, 39, 7]) {
            let sum: f64 = row.iter().map(|&s| f64::from(s).exp()).sum();
            let (mut by, mut exact) = (row.to_vec(), row.iter().map(|&s| f64::from(s)).collect::<Vec<f64>>());
            let expected = sum.ln() - exact[right];
            assert!((log_probability(row, right) + expected).abs() < 1e-5);
            assert!((cross_entropy(&mut by, right) - expected).abs() < 1e-5);
            assert!((cross_entropy(&mut exact, right) - expected).abs() < 1e-12);
            for (class, (&by, exact)) in by.iter().zip(exact).enumerate() {
                let expected = f64::from(row[class]).exp() / sum - f64::from(u8::from(class == right));
                assert!((f64::from(by) - expected).abs() < 1e-6 && (exact - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_score_that_is_no_number_makes_the_loss_none() {
        let mut scores = [0f32, f32::NAN, 1.0];
        assert!(log_probability(&scores, 0).is_nan());
        assert!(cross_entropy(&mut scores, 0).is_nan());
    }
}
