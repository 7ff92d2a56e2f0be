//! One direction of a recurrent layer, forward and backward: an LSTM (Hochreiter and Schmidhuber 1997) or a GRU (Cho et al. 2014, in
//! the form of cuDNN and PyTorch, whose reset gate acts after the product with the state).
//!
//! Tokens lie by time, and within a time by the length of their texts, longest first: the texts that are still read are the first ones,
//! and nothing is computed beyond the end of a text. With x the input of a token and h, c what the token before has left:
//!
//! | cell | gates | state |
//! |---|---|---|
//! | LSTM | i, f, o = sigmoid(W x + U h + b), g = tanh(W x + U h + b) | c' = f c + i g, h' = o tanh(c') |
//! | GRU | r, z = sigmoid(W x + U h + b), q = U h + b, n = tanh(W x + b + r q) | h' = (1 - z) n + z h |
//!
//! The gates of a token are `4 x hidden` numbers: i, f, g, o, or n, r, z, q. W leads to all of an LSTM's, U too; of a GRU's, W leads to the
//! first three and U to the last three, and their rows are in this order.

use super::kernel::{Left, Packed, Real, add_product, sigmoid, tanh};
use crate::textnet::Cell;
use inkstone_base::simd::wide;

/// Stands for no row.
const NONE: usize = usize::MAX;

/// The rows of tokens by time.
pub(crate) struct Times {
    /// First row of each time, and the number of rows.
    starts: Vec<usize>,
}

impl Times {
    /// `counts` = the number of texts that have a token at each time, descending.
    pub(crate) fn new(counts: impl Iterator<Item = usize>) -> Times {
        let mut starts = vec![0];
        counts.for_each(|count| starts.push(starts[starts.len() - 1] + count));
        Times { starts }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn rows(&self) -> usize {
        self.starts[self.count()]
    }

    /// First row of a time.
    pub(crate) fn start(&self, time: usize) -> usize {
        self.starts[time]
    }

    /// Texts that have a token at a time.
    pub(crate) fn active(&self, time: usize) -> usize {
        self.starts[time + 1] - self.starts[time]
    }

    /// The times in the order of reading, each with the one read before it.
    fn order(&self, backward: bool) -> impl DoubleEndedIterator<Item = (usize, Option<usize>)> {
        let last = self.count();
        (0..last).map(move |step| match backward {
            false => (step, step.checked_sub(1)),
            true => (last - 1 - step, (step > 0).then(|| last - step)),
        })
    }

    /// The texts that have a token at both times.
    fn both(&self, time: usize, before: Option<usize>) -> usize {
        before.map_or(0, |before| self.active(time).min(self.active(before)))
    }
}

/// Where the texts of a piece are read: the number of tokens and the place within each time.
pub(crate) struct PackedTexts {
    pub(crate) times: Times,
    pub(crate) texts: Vec<(usize, usize)>,
}

impl PackedTexts {
    pub(crate) fn new(lengths: &[usize]) -> PackedTexts {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&text| std::cmp::Reverse(lengths[text]));
        let mut texts: Vec<(usize, usize)> = lengths.iter().map(|&length| (length, 0)).collect();
        order.iter().enumerate().for_each(|(place, &text)| texts[text].1 = place);
        let longest = order.first().map_or(0, |&text| lengths[text]);
        let count = |time: usize| order.partition_point(|&text| lengths[text] > time);
        PackedTexts { times: Times::new((0..longest).map(count)), texts }
    }

    /// The row of a token.
    pub(crate) fn row(&self, text: usize, time: usize) -> usize {
        self.times.start(time) + self.texts[text].1
    }
}

/// The weights of one direction.
pub(crate) struct Direction<T> {
    cell: Cell,
    hidden: usize,
    inputs: usize,
    backward: bool,
    /// W and U transposed, then as they are.
    words: [Packed<T>; 2],
    state: PackedState<T>,
    bias: Vec<T>,
}

/// U transposed, then as it is.
pub(crate) type PackedState<T> = [Packed<T>; 2];

/// Gates and states of one direction on the tokens of a piece.
pub(crate) struct States<T> {
    /// `[rows, hidden]`.
    pub(crate) states: Vec<T>,
    /// `[rows, 4 x hidden]`.
    gates: Vec<T>,
    /// c of an LSTM, `[rows, hidden]`; empty for a GRU.
    cells: Vec<T>,
    /// The U of this pass, where the pass was given one.
    state: Option<PackedState<T>>,
}

/// The gradients of W, U and b.
pub(crate) struct DirectionGradient<T> {
    pub(crate) words: Vec<T>,
    pub(crate) state: Vec<T>,
    pub(crate) bias: Vec<T>,
}

impl<T: Real> Direction<T> {
    /// `words` is W, `[gates x hidden, inputs]`, `state` is U, `[gates x hidden, hidden]`, `bias` b, `[4 x hidden]`.
    pub(crate) fn new(cell: Cell, backward: bool, inputs: usize, words: &[T], state: &[T], bias: &[T]) -> Direction<T> {
        let hidden = bias.len() / 4;
        let words = [Packed::transposed(words, inputs), Packed::of(words, inputs)];
        let state = packed_state(state, hidden);
        Direction { cell, hidden, inputs, backward, words, state, bias: bias.to_vec() }
    }

    /// First of the gates that U leads to.
    fn first(&self) -> usize {
        match self.cell {
            Cell::Lstm => 0,
            Cell::Gru => self.hidden,
        }
    }

    /// Reads tokens, `[rows, inputs]`.
    pub(crate) fn forward(&self, x: &[T], times: &Times) -> States<T> {
        self.forward_by(x, times, None)
    }

    /// Reads tokens, `[rows, inputs]`; a U that is given takes the place of the direction's own.
    pub(crate) fn forward_by(&self, x: &[T], times: &Times, other: Option<PackedState<T>>) -> States<T> {
        let (hidden, rows, wide_row) = (self.hidden, times.rows(), 4 * self.hidden);
        let state = other.as_ref().unwrap_or(&self.state);
        let mut gates = self.bias.repeat(rows);
        let left = Left { values: x, rows, at: |i| i * self.inputs, step: 1 };
        add_product(&left, &self.words[0], &mut gates, wide_row);
        let mut states = vec![T::default(); rows * hidden];
        let mut cells = if self.cell == Cell::Lstm { states.clone() } else { Vec::new() };
        let mut before_here = vec![T::default(); hidden];
        for (time, before) in times.order(self.backward) {
            let (start, both) = (times.start(time), times.both(time, before));
            let begin = before.map_or(0, |before| times.start(before));
            let left = Left { values: &states, rows: both, at: |i| (begin + i) * hidden, step: 1 };
            add_product(&left, &state[0], &mut gates[start * wide_row + self.first()..], wide_row);
            for i in 0..times.active(time) {
                let memory = if self.cell == Cell::Lstm { &cells } else { &states };
                match i < both {
                    true => before_here.copy_from_slice(&memory[(begin + i) * hidden..][..hidden]),
                    false => before_here.fill(T::default()),
                }
                let gates = &mut gates[(start + i) * wide_row..][..wide_row];
                let state = &mut states[(start + i) * hidden..][..hidden];
                match self.cell {
                    Cell::Lstm => lstm(gates, &before_here, &mut cells[(start + i) * hidden..][..hidden], state),
                    Cell::Gru => gru(gates, &before_here, state),
                }
            }
        }
        States { states, gates, cells, state: other }
    }

    /// Goes back through tokens: `above` is the gradient by the states, `[rows, hidden]`, which that by later states is added to. Adds the
    /// gradient by the tokens to `dx`, `[rows, inputs]`, where one is wanted.
    pub(crate) fn backward(
        &self,
        x: &[T],
        times: &Times,
        done: &States<T>,
        mut above: Vec<T>,
        dx: Option<&mut [T]>,
    ) -> DirectionGradient<T> {
        let (hidden, rows, wide_row) = (self.hidden, times.rows(), 4 * self.hidden);
        let States { states, gates, cells, state: other } = done;
        let packed = other.as_ref().unwrap_or(&self.state);
        let mut slopes = vec![T::default(); rows * wide_row];
        let mut memory_above = vec![T::default(); cells.len()];
        let mut previous = vec![NONE; rows];
        let zeros = vec![T::default(); hidden];
        let mut passed = vec![T::default(); hidden];
        for (time, before) in times.order(self.backward).rev() {
            let (start, both) = (times.start(time), times.both(time, before));
            let begin = before.map_or(0, |before| times.start(before));
            for i in 0..times.active(time) {
                let row = start + i;
                let memory = if self.cell == Cell::Lstm { cells } else { states };
                let left = if i < both { &memory[(begin + i) * hidden..][..hidden] } else { &zeros };
                let gates = &gates[row * wide_row..][..wide_row];
                let slopes = &mut slopes[row * wide_row..][..wide_row];
                let above_here = &above[row * hidden..][..hidden];
                match self.cell {
                    Cell::Lstm => {
                        let (cell, above_cell) =
                            (&cells[row * hidden..][..hidden], &memory_above[row * hidden..][..hidden]);
                        lstm_slopes(gates, left, cell, above_here, above_cell, slopes, &mut passed);
                    }
                    Cell::Gru => gru_slopes(gates, left, above_here, slopes, &mut passed),
                }
                if i < both {
                    previous[row] = begin + i;
                    let to = if self.cell == Cell::Lstm { &mut memory_above } else { &mut above };
                    to[(begin + i) * hidden..][..hidden].iter_mut().zip(&passed).for_each(|(to, &by)| *to += by);
                }
            }
            let first = start * wide_row + self.first();
            let left = Left { values: &slopes, rows: both, at: |i| first + i * wide_row, step: 1 };
            add_product(&left, &packed[1], &mut above[begin * hidden..], hidden);
        }
        let before = |row: usize| match previous[row] {
            NONE => &zeros[..],
            row => &states[row * hidden..],
        };
        if let Some(dx) = dx {
            self.add_by_inputs(&slopes, dx);
        }
        self.gradients(&slopes, x, before)
    }

    /// Adds the gradient by the inputs, `[rows, inputs]`, of that by the sums of the gates.
    pub(crate) fn add_by_inputs(&self, slopes: &[T], to: &mut [T]) {
        let wide_row = 4 * self.hidden;
        let left = Left { values: slopes, rows: slopes.len() / wide_row, at: |i| i * wide_row, step: 1 };
        add_product(&left, &self.words[1], to, self.inputs);
    }

    /// The gradients by the weights of that by the sums of the gates, `[rows, 4 x hidden]`. `before` gives the state before a row.
    pub(crate) fn gradients<'s>(
        &self,
        slopes: &[T],
        x: &[T],
        before: impl Fn(usize) -> &'s [T] + Sync,
    ) -> DirectionGradient<T>
    where
        T: 's,
    {
        let (hidden, wide_row) = (self.hidden, 4 * self.hidden);
        let down = |first: usize, count: usize, right: &Packed<T>, columns: usize| {
            let mut gradient = vec![T::default(); count * columns];
            let left = Left { values: slopes, rows: count, at: |i| first + i, step: wide_row };
            add_product(&left, right, &mut gradient, columns);
            gradient
        };
        let gates_of = wide_row - self.first();
        let words = down(0, gates_of, &Packed::of(x, self.inputs), self.inputs);
        let rows = slopes.len() / wide_row;
        let state = down(self.first(), gates_of, &Packed::of_rows(rows, hidden, before), hidden);
        let mut bias = vec![T::default(); wide_row];
        for slopes in slopes.chunks(wide_row) {
            bias.iter_mut().zip(slopes).for_each(|(sum, &slope)| *sum += slope);
        }
        DirectionGradient { words, state, bias }
    }

    /// Reads a token of each text, `[texts, inputs]`, behind the states before and, of an LSTM, the cells before, `[texts, hidden]` each.
    pub(crate) fn step(&self, x: &[T], [before, cells_before]: [&[T]; 2]) -> StepPass<T> {
        let (hidden, rows, wide_row) = (self.hidden, x.len() / self.inputs, 4 * self.hidden);
        let mut gates = self.bias.repeat(rows);
        let left = Left { values: x, rows, at: |i| i * self.inputs, step: 1 };
        add_product(&left, &self.words[0], &mut gates, wide_row);
        let left = Left { values: before, rows, at: |i| i * hidden, step: 1 };
        add_product(&left, &self.state[0], &mut gates[self.first()..], wide_row);
        let mut states = vec![T::default(); rows * hidden];
        let mut cells = vec![T::default(); if self.cell == Cell::Lstm { rows * hidden } else { 0 }];
        for (i, (gates, state)) in gates.chunks_mut(wide_row).zip(states.chunks_mut(hidden)).enumerate() {
            let here = i * hidden..(i + 1) * hidden;
            match self.cell {
                Cell::Lstm => lstm(gates, &cells_before[here.clone()], &mut cells[here], state),
                Cell::Gru => gru(gates, &before[here], state),
            }
        }
        StepPass { gates, states, cells }
    }

    /// Goes back through a step: `above` is the gradient by its states and, of an LSTM, by its cells.
    pub(crate) fn step_back(
        &self,
        gates: &[T],
        cells: &[T],
        [before, cells_before]: [&[T]; 2],
        [above, above_cells]: [&[T]; 2],
    ) -> StepGradient<T> {
        let (hidden, wide_row) = (self.hidden, 4 * self.hidden);
        let mut slopes = vec![T::default(); gates.len()];
        let mut passed = vec![T::default(); above.len()];
        for (i, (gates, slopes)) in gates.chunks(wide_row).zip(slopes.chunks_mut(wide_row)).enumerate() {
            let here = i * hidden..(i + 1) * hidden;
            let (above, passed) = (&above[here.clone()], &mut passed[here.clone()]);
            match self.cell {
                Cell::Lstm => {
                    let (before, cell) = (&cells_before[here.clone()], &cells[here.clone()]);
                    lstm_slopes(gates, before, cell, above, &above_cells[here], slopes, passed);
                }
                Cell::Gru => gru_slopes(gates, &before[here], above, slopes, passed),
            }
        }
        let (mut states, cells) = match self.cell {
            Cell::Lstm => (vec![T::default(); passed.len()], passed),
            Cell::Gru => (passed, Vec::new()),
        };
        let left = Left { values: &slopes, rows: gates.len() / wide_row, at: |i| self.first() + i * wide_row, step: 1 };
        add_product(&left, &self.state[1], &mut states, hidden);
        StepGradient { slopes, states, cells }
    }
}

/// Gates, states and, of an LSTM, cells of one step.
pub(crate) struct StepPass<T> {
    pub(crate) gates: Vec<T>,
    pub(crate) states: Vec<T>,
    pub(crate) cells: Vec<T>,
}

/// The gradients of one step.
pub(crate) struct StepGradient<T> {
    /// By the sums of the gates, `[texts, 4 x hidden]`.
    pub(crate) slopes: Vec<T>,
    /// By the states before, `[texts, hidden]`.
    pub(crate) states: Vec<T>,
    /// By the cells before; empty for a GRU.
    pub(crate) cells: Vec<T>,
}

/// U, `[gates x hidden, hidden]`, ready for products.
pub(crate) fn packed_state<T: Real>(state: &[T], hidden: usize) -> PackedState<T> {
    [Packed::transposed(state, hidden), Packed::of(state, hidden)]
}

/// Splits the gates of a token.
#[inline(always)]
fn parts<T>(gates: &[T], hidden: usize) -> [&[T]; 4] {
    [0, 1, 2, 3].map(|gate| &gates[gate * hidden..][..hidden])
}

#[inline(always)]
fn parts_mut<T>(gates: &mut [T], hidden: usize) -> [&mut [T]; 4] {
    let (left, right) = gates.split_at_mut(2 * hidden);
    let ((a, b), (c, d)) = (left.split_at_mut(hidden), right.split_at_mut(hidden));
    // Loops over slices whose lengths are plainly alike become vector instructions.
    [&mut a[..hidden], &mut b[..hidden], &mut c[..hidden], &mut d[..hidden]]
}

/// Makes the sums of a token its gates, and its cell and state of those.
fn lstm<T: Real>(gates: &mut [T], before: &[T], cell: &mut [T], state: &mut [T]) {
    wide(
        #[inline(always)]
        || {
            let hidden = state.len();
            let (before, cell) = (&before[..hidden], &mut cell[..hidden]);
            let [enter, keep, new, show] = parts_mut(gates, hidden);
            for j in 0..hidden {
                (enter[j], keep[j], show[j]) = (sigmoid(enter[j]), sigmoid(keep[j]), sigmoid(show[j]));
                new[j] = tanh(new[j]);
                cell[j] = keep[j] * before[j] + enter[j] * new[j];
                state[j] = show[j] * tanh(cell[j]);
            }
        },
    );
}

fn gru<T: Real>(gates: &mut [T], before: &[T], state: &mut [T]) {
    wide(
        #[inline(always)]
        || {
            let hidden = state.len();
            let before = &before[..hidden];
            let [new, reset, keep, inner] = parts_mut(gates, hidden);
            for j in 0..hidden {
                (reset[j], keep[j]) = (sigmoid(reset[j]), sigmoid(keep[j]));
                new[j] = tanh(new[j] + reset[j] * inner[j]);
                state[j] = new[j] + keep[j] * (before[j] - new[j]);
            }
        },
    );
}

/// The gradients of a token's sums, and in `passed` that of the cell before.
fn lstm_slopes<T: Real>(
    gates: &[T],
    before: &[T],
    cell: &[T],
    above: &[T],
    above_cell: &[T],
    slopes: &mut [T],
    passed: &mut [T],
) {
    wide(
        #[inline(always)]
        || {
            let hidden = passed.len();
            let one = T::from_f64(1.0);
            let [enter, keep, new, show] = parts(gates, hidden);
            let [to_enter, to_keep, to_new, to_show] = parts_mut(slopes, hidden);
            let (before, cell, above, above_cell) =
                (&before[..hidden], &cell[..hidden], &above[..hidden], &above_cell[..hidden]);
            for j in 0..hidden {
                let shown = tanh(cell[j]);
                to_show[j] = above[j] * shown * show[j] * (one - show[j]);
                let by_cell = above_cell[j] + above[j] * show[j] * (one - shown * shown);
                to_enter[j] = by_cell * new[j] * enter[j] * (one - enter[j]);
                to_keep[j] = by_cell * before[j] * keep[j] * (one - keep[j]);
                to_new[j] = by_cell * enter[j] * (one - new[j] * new[j]);
                passed[j] = by_cell * keep[j];
            }
        },
    );
}

/// The gradients of a token's sums, and in `passed` that of the state before as far as the gate z lets it through.
fn gru_slopes<T: Real>(gates: &[T], before: &[T], above: &[T], slopes: &mut [T], passed: &mut [T]) {
    wide(
        #[inline(always)]
        || {
            let hidden = passed.len();
            let one = T::from_f64(1.0);
            let [new, reset, keep, inner] = parts(gates, hidden);
            let [to_new, to_reset, to_keep, to_inner] = parts_mut(slopes, hidden);
            let (before, above) = (&before[..hidden], &above[..hidden]);
            for j in 0..hidden {
                to_keep[j] = above[j] * (before[j] - new[j]) * keep[j] * (one - keep[j]);
                to_new[j] = above[j] * (one - keep[j]) * (one - new[j] * new[j]);
                to_reset[j] = to_new[j] * inner[j] * reset[j] * (one - reset[j]);
                to_inner[j] = to_new[j] * reset[j];
                passed[j] = above[j] * keep[j];
            }
        },
    );
}
