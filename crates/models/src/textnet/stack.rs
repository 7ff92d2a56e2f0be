//! Recurrent layers one above the other, and the features of texts by their states.

use super::{Pool, TextNetParams};
use crate::neural::kernel::Real;
use crate::neural::recurrent::{Direction, DirectionGradient, PackedTexts, States};
use inkstone_base::simd::wide;

/// The layers, from the words up; each reads in one direction or both.
pub(crate) struct Stack<T>(pub(crate) Vec<Vec<Direction<T>>>);

/// Values of the layers on the tokens of a piece.
pub(crate) struct StackPass<T> {
    /// The input of each layer but the first, the states of the layer below side by side.
    inputs: Vec<Vec<T>>,
    states: Vec<Vec<States<T>>>,
    /// With max pooling the row of each feature.
    chosen: Vec<usize>,
}

impl<T: Real> Stack<T> {
    /// The features of each text, `[texts, directions x hidden]`, of the last layer.
    pub(crate) fn forward(&self, params: &TextNetParams, x: &[T], reading: &PackedTexts) -> (Vec<T>, StackPass<T>) {
        let (mut inputs, mut states) = (Vec::new(), Vec::<Vec<States<T>>>::new());
        for layer in &self.0 {
            if let Some(below) = states.last() {
                inputs.push(side_by_side(below, params.hidden));
            }
            let x = inputs.last().map_or(x, Vec::as_slice);
            states.push(layer.iter().map(|direction| direction.forward(x, &reading.times)).collect());
        }
        let last = states.last().map_or(&[][..], Vec::as_slice);
        let (features, chosen) = pooled(params, last, reading);
        (features, StackPass { inputs, states, chosen })
    }

    /// Goes back from the gradient by the features; adds to that by the words, `dx`, where one is wanted. Gives the gradients of all
    /// directions, from the first layer on.
    pub(crate) fn backward(
        &self,
        params: &TextNetParams,
        x: &[T],
        reading: &PackedTexts,
        done: &StackPass<T>,
        above: &[T],
        mut dx: Option<&mut [T]>,
    ) -> Vec<DirectionGradient<T>> {
        let (hidden, rows) = (params.hidden, reading.times.rows());
        let mut all = Vec::new();
        let mut above = spread(params, self.0.last().map_or(0, Vec::len), reading, done, above);
        for (number, layer) in self.0.iter().enumerate().rev() {
            let below = number.checked_sub(1).map(|below| self.0[below].len() * hidden);
            let input = if number == 0 { x } else { &done.inputs[number - 1] };
            let mut by_input = below.map(|columns| vec![T::default(); rows * columns]);
            let mut gradients = Vec::with_capacity(layer.len());
            for ((direction, states), above) in layer.iter().zip(&done.states[number]).zip(above) {
                let to = by_input.as_deref_mut().or(dx.as_deref_mut());
                gradients.push(direction.backward(input, &reading.times, states, above, to));
            }
            above = match (by_input, below) {
                (Some(by_input), Some(columns)) => apart(&by_input, columns, hidden),
                _ => Vec::new(),
            };
            all.splice(0..0, gradients);
        }
        all
    }
}

/// `[rows, directions x hidden]`.
fn side_by_side<T: Real>(states: &[States<T>], hidden: usize) -> Vec<T> {
    let rows = states.first().map_or(0, |states| states.states.len() / hidden);
    let row = |row: usize| states.iter().flat_map(move |states| &states.states[row * hidden..][..hidden]).copied();
    (0..rows).flat_map(row).collect()
}

/// The columns of each direction.
fn apart<T: Real>(values: &[T], columns: usize, hidden: usize) -> Vec<Vec<T>> {
    let direction = |first: usize| values.chunks(columns).flat_map(|row| &row[first..][..hidden]).copied().collect();
    (0..columns).step_by(hidden).map(direction).collect()
}

/// The time at which a direction ends to read a text.
fn end(length: usize, backward: bool) -> usize {
    if backward { 0 } else { length - 1 }
}

fn pooled<T: Real>(params: &TextNetParams, states: &[States<T>], reading: &PackedTexts) -> (Vec<T>, Vec<usize>) {
    let hidden = params.hidden;
    let columns = states.len() * hidden;
    let mut features = vec![T::default(); reading.texts.len() * columns];
    let mut chosen = vec![0; if params.pool == Pool::Max { features.len() } else { 0 }];
    for (text, &(length, _)) in reading.texts.iter().enumerate() {
        for (direction, states) in states.iter().enumerate() {
            let first = text * columns + direction * hidden;
            let features = &mut features[first..][..hidden];
            let state = |time: usize| &states.states[reading.row(text, time) * hidden..][..hidden];
            match params.pool {
                // States lie above -1.
                Pool::Max if length == 0 => features.fill(T::from_f64(-1.0)),
                Pool::Max => {
                    let chosen = &mut chosen[first..][..hidden];
                    features.copy_from_slice(state(0));
                    chosen.fill(reading.row(text, 0));
                    for time in 1..length {
                        let row = reading.row(text, time);
                        for ((best, chosen), &value) in features.iter_mut().zip(&mut *chosen).zip(state(time)) {
                            if value > *best {
                                (*best, *chosen) = (value, row);
                            }
                        }
                    }
                }
                Pool::Mean => wide(
                    #[inline(always)]
                    || {
                        let share = T::from_f64(1.0 / length.max(1) as f64);
                        for time in 0..length {
                            features.iter_mut().zip(state(time)).for_each(|(sum, &value)| *sum += value * share);
                        }
                    },
                ),
                Pool::Last if length == 0 => {}
                Pool::Last => features.copy_from_slice(state(end(length, direction == 1))),
            }
        }
    }
    (features, chosen)
}

/// The gradient by the states of each direction of the last layer, `[rows, hidden]`.
fn spread<T: Real>(
    params: &TextNetParams,
    directions: usize,
    reading: &PackedTexts,
    done: &StackPass<T>,
    above: &[T],
) -> Vec<Vec<T>> {
    let hidden = params.hidden;
    let columns = directions * hidden;
    let spread = |direction: usize| {
        let mut by_states = vec![T::default(); reading.times.rows() * hidden];
        for (text, &(length, _)) in reading.texts.iter().enumerate().filter(|(_, (length, _))| *length > 0) {
            let first = text * columns + direction * hidden;
            let above = &above[first..][..hidden];
            match params.pool {
                Pool::Max => {
                    for (j, (&row, &by)) in done.chosen[first..][..hidden].iter().zip(above).enumerate() {
                        by_states[row * hidden + j] += by;
                    }
                }
                Pool::Mean => {
                    let share = T::from_f64(1.0 / length as f64);
                    for time in 0..length {
                        let row = &mut by_states[reading.row(text, time) * hidden..][..hidden];
                        row.iter_mut().zip(above).for_each(|(to, &by)| *to += by * share);
                    }
                }
                Pool::Last => {
                    let row = reading.row(text, end(length, direction == 1)) * hidden;
                    by_states[row..][..hidden].copy_from_slice(above);
                }
            }
        }
        by_states
    };
    (0..directions).map(spread).collect()
}
