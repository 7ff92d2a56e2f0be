//! LSTM layers in the place of blocks: in one direction (ULMFiT, Howard and Ruder 2018), or in both side by side, which know nothing of each other
//! (ELMo, Peters and others 2018). Weights from state to state are dropped in training (DropConnect, AWD-LSTM: Merity and others 2018), and of
//! the outputs the same numbers for all tokens of a text.

use std::ops::Range;

use super::block::{BlockShape, Dropping, add};
use super::dropout::Dropout;
use crate::neural::kernel::Real;
use crate::neural::recurrent::{Direction, PackedTexts, States, packed_state};
use crate::textnet::Cell;

/// Weights of a direction: `[4 x units, inputs]` from the input to i, f, g and o, `[4 x units, units]` from the state before, and their bias.
pub(super) const LSTM_WEIGHTS: usize = 3;

/// A layer, with its weights ready for products.
pub(super) struct LstmBlock<T> {
    directions: Vec<LstmDirection<T>>,
    units: usize,
    /// True if the inputs are added to the outputs.
    residual: bool,
}

struct LstmDirection<T> {
    direction: Direction<T>,
    /// Weights from state to state.
    state: Vec<T>,
}

/// The values of a forward pass that the backward pass reads, by direction.
pub(super) struct LstmPass<T>(Vec<DirectionPass<T>>);

struct DirectionPass<T> {
    /// The inputs by time.
    read: Vec<T>,
    states: States<T>,
    /// Dropout of the weights from state to state, and of the outputs.
    dropped: [Dropout<T>; 2],
}

/// The rows of tokens by time.
pub(super) struct TimeRows {
    pub(super) packed: PackedTexts,
    /// The row of each token, text after text.
    rows: Vec<usize>,
}

impl TimeRows {
    pub(super) fn new(texts: &[Range<usize>]) -> TimeRows {
        let lengths: Vec<usize> = texts.iter().map(Range::len).collect();
        let packed = PackedTexts::new(&lengths);
        let row = |(text, &length): (usize, &usize)| (0..length).map(move |time| (text, time));
        let places = lengths.iter().enumerate().flat_map(row);
        let rows = places.map(|(text, time)| packed.row(text, time)).collect();
        TimeRows { packed, rows }
    }

    /// Some columns of a matrix of tokens `[tokens, width]`, by time.
    pub(super) fn gather<T: Real>(&self, x: &[T], width: usize, columns: &Range<usize>) -> Vec<T> {
        let mut by_time = vec![T::default(); self.rows.len() * columns.len()];
        for (from, &row) in x.chunks_exact(width).zip(&self.rows) {
            by_time[row * columns.len()..][..columns.len()].copy_from_slice(&from[columns.clone()]);
        }
        by_time
    }

    /// The rows by time as rows of tokens.
    pub(super) fn scatter<T: Real>(&self, by_time: &[T], units: usize) -> Vec<T> {
        self.rows.iter().flat_map(|&row| &by_time[row * units..][..units]).copied().collect()
    }
}

/// Adds values `[rows, columns]` to some columns of rows `[rows, width]`.
pub(super) fn add_columns<T: Real>(to: &mut [T], width: usize, columns: &Range<usize>, values: &[T]) {
    let rows = to.chunks_exact_mut(width).zip(values.chunks_exact(columns.len()));
    rows.for_each(|(to, values)| add(&mut to[columns.clone()], values));
}

impl<T: Real> LstmBlock<T> {
    /// `weights` are those of each direction; the first layer's inputs are not added to its outputs.
    pub(super) fn new(shape: BlockShape, weights: &[&[T]], is_first: bool) -> LstmBlock<T> {
        let units = shape.units();
        let of_direction = |(backward, weights): (bool, &[&[T]])| LstmDirection {
            direction: Direction::new(Cell::Lstm, backward, units, weights[0], weights[1], weights[2]),
            state: weights[1].to_vec(),
        };
        let directions = [false, true].into_iter().take(shape.directions()).zip(weights.chunks(LSTM_WEIGHTS));
        LstmBlock { directions: directions.map(of_direction).collect(), units, residual: !is_first }
    }

    fn width(&self) -> usize {
        self.units * self.directions.len()
    }

    /// The columns of each direction.
    fn columns(&self) -> impl Iterator<Item = (&LstmDirection<T>, Range<usize>)> {
        let units = self.units;
        self.directions.iter().enumerate().map(move |(number, one)| (one, number * units..(number + 1) * units))
    }

    /// The outputs `[tokens, width]` of inputs of that shape; `texts` are the tokens of each text.
    pub(super) fn forward(
        &self,
        x: &[T],
        texts: &[Range<usize>],
        mut dropping: Option<&mut Dropping<'_>>,
    ) -> (Vec<T>, LstmPass<T>) {
        let (times, width, units) = (TimeRows::new(texts), self.width(), self.units);
        let mut out = if self.residual { x.to_vec() } else { vec![T::default(); x.len()] };
        let mut passed = Vec::with_capacity(self.directions.len());
        for (LstmDirection { direction, state }, columns) in self.columns() {
            let read = times.gather(x, width, &columns);
            let (mut other, mut dropped) = (None, [Dropout::none(), Dropout::none()]);
            if let Some(Dropping { rate, rng }) = dropping.as_deref_mut() {
                dropped = [Dropout::draw(state.len(), *rate, rng), Dropout::draw_shared(texts, units, *rate, rng)];
                let mut kept = state.clone();
                dropped[0].apply(&mut kept);
                other = Some(packed_state(&kept, units));
            }
            let states = direction.forward_by(&read, &times.packed.times, other);
            let mut values = times.scatter(&states.states, units);
            dropped[1].apply(&mut values);
            add_columns(&mut out, width, &columns, &values);
            passed.push(DirectionPass { read, states, dropped });
        }
        (out, LstmPass(passed))
    }

    /// Takes the gradient by the outputs; gives the gradient by the inputs, and those by the weights.
    pub(super) fn back(&self, passed: &LstmPass<T>, texts: &[Range<usize>], by: &[T]) -> (Vec<T>, Vec<Vec<T>>) {
        let (times, width, units) = (TimeRows::new(texts), self.width(), self.units);
        let mut by_inputs = if self.residual { by.to_vec() } else { vec![T::default(); by.len()] };
        let mut weights = Vec::with_capacity(LSTM_WEIGHTS * self.directions.len());
        for ((LstmDirection { direction, .. }, columns), passed) in self.columns().zip(&passed.0) {
            let mut above: Vec<T> = by.chunks_exact(width).flat_map(|row| &row[columns.clone()]).copied().collect();
            passed.dropped[1].apply(&mut above);
            let above = times.gather(&above, units, &(0..units));
            let mut by_read = vec![T::default(); passed.read.len()];
            let mut found =
                direction.backward(&passed.read, &times.packed.times, &passed.states, above, Some(&mut by_read));
            passed.dropped[0].apply(&mut found.state);
            add_columns(&mut by_inputs, width, &columns, &times.scatter(&by_read, units));
            weights.extend([found.words, found.state, found.bias]);
        }
        (by_inputs, weights)
    }
}
