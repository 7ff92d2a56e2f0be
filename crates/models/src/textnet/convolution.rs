//! Filters over windows of words (Kim 2014), forward and backward.
//!
//! A window of w words is w x dim numbers in a row, for the vectors of a text lie one after the other; a text that is shorter than the
//! window is followed by zeros. With max pooling the gradient of a filter comes from one window a text alone, so going back costs little
//! beside going forward.

use super::{Pool, TextNetParams};
use crate::neural::kernel::{Left, Packed, Real, add_product, add_scaled};
use inkstone_base::simd::wide;

/// The filters of one width.
pub(super) struct Filters<T> {
    /// Words of a window.
    width: usize,
    /// Values of a word.
    dim: usize,
    maps: usize,
    /// `[maps, width x dim]`.
    values: Vec<T>,
    /// The transpose.
    packed: Packed<T>,
    bias: Vec<T>,
}

impl<T: Real> Filters<T> {
    pub(super) fn new(width: usize, dim: usize, values: &[T], bias: &[T]) -> Filters<T> {
        let packed = Packed::transposed(values, width * dim);
        Filters { width, dim, maps: bias.len(), values: values.to_vec(), packed, bias: bias.to_vec() }
    }
}

/// Windows of a text.
fn windows(length: usize, width: usize) -> usize {
    if length == 0 { 0 } else { length.saturating_sub(width) + 1 }
}

/// Values of the filters on the texts of a piece.
pub(super) struct Maps<T> {
    /// First row and number of tokens of each text.
    texts: Vec<(usize, usize)>,
    /// For each width the values of all windows, `[windows, maps]`, never below 0.
    values: Vec<Vec<T>>,
    /// With max pooling for each feature the number of its window in the text.
    chosen: Vec<u32>,
}

/// The features of each text, `[texts, widths x maps]`: the largest of each filter over all windows, or the mean. `texts` are the first row
/// and the number of tokens of each.
pub(super) fn forward<T: Real>(
    params: &TextNetParams,
    all: &[Filters<T>],
    x: &[T],
    texts: Vec<(usize, usize)>,
) -> (Vec<T>, Maps<T>) {
    let columns = params.features();
    let mut features = vec![T::default(); texts.len() * columns];
    let mut chosen = vec![0u32; features.len()];
    let mut values = Vec::with_capacity(all.len());
    for (number, Filters { width, dim, maps, packed, bias, .. }) in all.iter().enumerate() {
        let starts: Vec<usize> =
            texts.iter().flat_map(|&(row, length)| (0..windows(length, *width)).map(move |at| row + at)).collect();
        let mut sums = bias.repeat(starts.len());
        let left = Left { values: x, rows: starts.len(), at: |i: usize| starts[i] * dim, step: 1 };
        add_product(&left, packed, &mut sums, *maps);
        let mut rest = &mut sums[..];
        for (text, &(_, length)) in texts.iter().enumerate() {
            let (here, after) = rest.split_at_mut(windows(length, *width) * maps);
            rest = after;
            let features = &mut features[text * columns + number * maps..][..*maps];
            let chosen = &mut chosen[text * columns + number * maps..][..*maps];
            wide(
                #[inline(always)]
                || {
                    here.iter_mut().for_each(|value| *value = relu(*value));
                    match params.pool {
                        Pool::Mean => mean(here, features),
                        Pool::Max | Pool::Last => largest(here, features, chosen),
                    }
                },
            );
        }
        values.push(sums);
    }
    (features, Maps { texts, values, chosen })
}

/// The larger of a number and 0. NaN stays NaN, so that training that has diverged is seen.
#[inline(always)]
fn relu<T: Real>(x: T) -> T {
    if x < T::default() { T::default() } else { x }
}

#[inline(always)]
fn mean<T: Real>(windows: &[T], features: &mut [T]) {
    let count = windows.len() / features.len();
    for window in windows.chunks(features.len()) {
        features.iter_mut().zip(window).for_each(|(sum, &value)| *sum += value);
    }
    features.iter_mut().for_each(|sum| *sum = *sum / T::from_f64(count.max(1) as f64));
}

/// The first of the largest; one that is no number counts as the largest.
#[inline(always)]
fn largest<T: Real>(windows: &[T], features: &mut [T], chosen: &mut [u32]) {
    for (at, window) in (0..).zip(windows.chunks(features.len())) {
        for ((best, chosen), &value) in features.iter_mut().zip(&mut *chosen).zip(window) {
            let better = value > *best || is_none(value);
            *best = if better { value } else { *best };
            *chosen = if better { at } else { *chosen };
        }
    }
}

#[inline(always)]
fn is_none<T: Real>(value: T) -> bool {
    value.partial_cmp(&value).is_none()
}

/// The gradients of filters.
pub(super) struct FilterGradients<T> {
    /// Filters of each width, `[maps, width x dim]`.
    pub(super) filters: Vec<Vec<T>>,
    /// `[widths, maps]`.
    pub(super) bias: Vec<T>,
}

/// Goes back from the gradient by the features; adds to that by the vectors, `dx`, where one is wanted.
pub(super) fn backward<T: Real>(
    params: &TextNetParams,
    all: &[Filters<T>],
    x: &[T],
    done: &Maps<T>,
    above: &[T],
    mut dx: Option<&mut [T]>,
) -> FilterGradients<T> {
    let columns = params.features();
    let mut by_bias = vec![T::default(); columns];
    let mut by_filters = Vec::with_capacity(all.len());
    for (number, filters) in all.iter().enumerate() {
        let (dim, maps) = (filters.dim, filters.maps);
        let span = filters.width * dim;
        let mut gradient = vec![T::default(); filters.values.len()];
        let mut first = 0;
        for (text, &(row, length)) in done.texts.iter().enumerate() {
            let count = windows(length, filters.width);
            let above = &above[text * columns + number * maps..][..maps];
            let chosen = &done.chosen[text * columns + number * maps..][..maps];
            let values = &done.values[number][first * maps..][..count * maps];
            first += count;
            wide(
                #[inline(always)]
                || {
                    for map in 0..maps {
                        let (ats, by) = match params.pool {
                            Pool::Mean => (0..count, above[map] * T::from_f64(1.0 / count.max(1) as f64)),
                            Pool::Max | Pool::Last => {
                                let at = chosen[map] as usize;
                                (at..count.min(at + 1), above[map])
                            }
                        };
                        for at in ats.filter(|at| values[at * maps + map] > T::default() && by != T::default()) {
                            let place = (row + at) * dim;
                            by_bias[number * maps + map] += by;
                            add_scaled(&mut gradient[map * span..][..span], &x[place..][..span], by);
                            if let Some(dx) = &mut dx {
                                add_scaled(&mut dx[place..][..span], &filters.values[map * span..][..span], by);
                            }
                        }
                    }
                },
            );
        }
        by_filters.push(gradient);
    }
    FilterGradients { filters: by_filters, bias: by_bias }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of one filter over two words in all windows of a text, and the largest.
    fn filtered(dim: usize, filter: &[f64], text: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let params = TextNetParams { widths: vec![2], maps: 1, dim, ..TextNetParams::default() };
        let filters = [Filters::new(2, dim, filter, &[0.0])];
        let (largest, maps) = forward(&params, &filters, text, vec![(0, text.len() / dim)]);
        (maps.values[0].clone(), largest)
    }

    #[test]
    fn filters_give_the_values_worked_by_hand() {
        // Dive into Deep Learning, section 16.3: a filter over one channel, and one over three, whose sums are added.
        let text: Vec<f64> = (0..7u32).map(f64::from).collect();
        assert_eq!(filtered(1, &[1.0, 2.0], &text), (vec![2.0, 5.0, 8.0, 11.0, 14.0, 17.0], vec![17.0]));
        let text: Vec<f64> = (0..7u32).flat_map(|word| [word, word + 1, word + 2]).map(f64::from).collect();
        let filter = [1.0, 3.0, -1.0, 2.0, 4.0, -3.0];
        assert_eq!(filtered(3, &filter, &text), (vec![2.0, 8.0, 14.0, 20.0, 26.0, 32.0], vec![32.0]));
        assert_eq!([2, 3, 4].map(|width| windows(11, width)), [10, 9, 8]);
    }
}
