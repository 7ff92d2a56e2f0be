//! A recurrent decoder, forward and backward.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::attention::{AttendedSource, AttentionPass, SourceAttention, SourceGradients};
use super::{RnnShape, RnnWeights};
use crate::neural::affine::{Affine, gather};
use crate::neural::entropy::cross_entropy;
use crate::neural::kernel::{Real, apply, tanh, through_tanh};
use crate::neural::recurrent::{Direction, PackedTexts, StepGradient, StepPass};
use crate::transformer::block::add;
use crate::transformer::dropout::Dropout;

/// A decoder with its weights ready for products.
pub(super) struct RnnDecoder<'w, T> {
    width: usize,
    tokens: &'w [T],
    begin: Affine<T>,
    cell: Direction<T>,
    pub(super) attention: SourceAttention<T>,
    read: Affine<T>,
    words: Affine<T>,
}

/// One step of some texts.
pub(super) struct RnnStep<T> {
    /// The inputs of the cell, `[texts, 2 x width]`.
    x: Vec<T>,
    pub(super) attended: AttentionPass<T>,
    pub(super) passed: StepPass<T>,
    /// The inputs of the layer before the words, `[texts, 3 x width]`.
    joined: Vec<T>,
}

/// A piece of texts that were written.
pub(super) struct RnnPass<T> {
    packed: PackedTexts,
    /// The text at each place of a time.
    places: Vec<usize>,
    /// The states that texts begin with, by place `[texts, width]`.
    begun: Vec<T>,
    steps: Vec<RnnStep<T>>,
    /// The token before each row, and the right one.
    tokens: Vec<u32>,
    right: Vec<u32>,
    /// Dropout of the vectors of tokens, and of the rows that words are predicted from.
    dropped: [Dropout<T>; 2],
}

/// The loss of a piece with its gradients: by the source, by the table of tokens, and by the weights of the decoder from that of its beginning on.
pub(super) struct RnnGradients<T> {
    pub(super) loss: f64,
    pub(super) source: SourceGradients<T>,
    pub(super) tokens: Vec<T>,
    pub(super) weights: Vec<Vec<T>>,
}

impl<T> RnnPass<T> {
    /// The shares of the source at each step of the first text.
    pub(super) fn shares(self) -> impl Iterator<Item = Vec<T>> {
        self.steps.into_iter().filter_map(|step| step.attended.shares.into_iter().next())
    }
}

impl<'w, T: Real> RnnDecoder<'w, T> {
    pub(super) fn new(shape: &RnnShape, values: &[&'w [T]]) -> RnnDecoder<'w, T> {
        let value = |weight: RnnWeights| values[weight as usize];
        let layer = |weight: RnnWeights, bias: RnnWeights| Affine::of(value(weight), value(bias));
        let [words, state, bias] = [RnnWeights::Cell, RnnWeights::CellState, RnnWeights::CellBias].map(value);
        RnnDecoder {
            width: shape.width,
            tokens: value(RnnWeights::Tokens),
            begin: layer(RnnWeights::Begin, RnnWeights::BeginBias),
            cell: Direction::new(shape.cell, false, 2 * shape.width, words, state, bias),
            attention: SourceAttention::new(shape, values),
            read: layer(RnnWeights::Read, RnnWeights::ReadBias),
            words: layer(RnnWeights::Tokens, RnnWeights::WordBias),
        }
    }

    /// The states that texts begin with, `[texts, width]`.
    pub(super) fn begun(&self, last: &[T]) -> Vec<T> {
        let mut states = self.begin.forward(last);
        apply(&mut states, tanh);
        states
    }

    /// Reads a token of each text behind the states and cells before; `y` are the tokens' vectors.
    pub(super) fn step(
        &self,
        source: &AttendedSource<'_, T>,
        texts: &[usize],
        before: [&[T]; 2],
        y: &[T],
    ) -> RnnStep<T> {
        let width = self.width;
        let attended = self.attention.attend(source, texts, before[0]);
        let x = side_by_side(&[y, &attended.contexts], width);
        let passed = self.cell.step(&x, before);
        let joined = side_by_side(&[&passed.states, &attended.contexts, y], width);
        RnnStep { x, attended, passed, joined }
    }

    /// The vectors of tokens.
    pub(super) fn vectors(&self, tokens: &[u32]) -> Vec<T> {
        gather(self.tokens, self.width, tokens)
    }

    /// The rows that words are predicted from, made of joined rows.
    fn rows(&self, joined: &[T]) -> Vec<T> {
        let mut rows = self.read.forward(joined);
        apply(&mut rows, tanh);
        rows
    }

    /// The likeliest tokens behind a step of these texts, by their number within the step.
    pub(super) fn likeliest(&self, step: &RnnStep<T>, texts: &[usize]) -> Vec<u32> {
        let joined: Vec<T> =
            texts.iter().flat_map(|text| &step.joined[text * 3 * self.width..][..3 * self.width]).copied().collect();
        let scores = self.words.forward(&self.rows(&joined));
        let best = |row: &[T]| (1..row.len()).fold(0, |best, word| if row[word] > row[best] { word } else { best });
        scores.chunks(self.words.outputs()).map(|row| best(row) as u32).collect()
    }

    /// Writes `targets`, which begin with the token that begins all texts, each token behind the right one before it by a chance of `forced` and
    /// else behind the likeliest one.
    pub(super) fn forward(
        &self,
        source: &AttendedSource<'_, T>,
        targets: &[&[u32]],
        forced: f64,
        rate: f64,
        rng: &mut ChaCha8Rng,
    ) -> RnnPass<T> {
        let width = self.width;
        let lengths: Vec<usize> = targets.iter().map(|target| target.len() - 1).collect();
        let packed = PackedTexts::new(&lengths);
        let mut places = vec![0; targets.len()];
        packed.texts.iter().enumerate().for_each(|(text, (_, place))| places[*place] = text);
        let begun = self.begun(source.last);
        let begun: Vec<T> = places.iter().flat_map(|text| &begun[text * width..][..width]).copied().collect();
        let numbers = packed.times.rows() * width;
        let dropped = [(); 2].map(|()| Dropout::draw(numbers, rate, rng));
        let (mut steps, mut tokens, mut right) = (Vec::<RnnStep<T>>::new(), Vec::new(), Vec::new());
        for time in 0..packed.times.count() {
            let active = packed.times.active(time);
            let texts = &places[..active];
            let mut before: Vec<u32> = texts.iter().map(|text| targets[*text][time]).collect();
            right.extend(texts.iter().map(|text| targets[*text][time + 1]));
            if let Some(step) = steps.last().filter(|_| forced < 1.0) {
                let own: Vec<usize> = (0..active).filter(|_| rng.random::<f64>() >= forced).collect();
                let likeliest = self.likeliest(step, &own);
                own.iter().zip(likeliest).for_each(|(place, token)| before[*place] = token);
            }
            let mut y = self.vectors(&before);
            dropped[0].apply_from(&mut y, tokens.len() * width);
            tokens.extend(before);
            let step = self.step(source, texts, states_before(&begun, &steps, active * width), &y);
            steps.push(step);
        }
        RnnPass { packed, places, begun, steps, tokens, right, dropped }
    }

    /// The loss of a pass, the sum over the tokens that are written, and its gradients.
    pub(super) fn back(&self, source: &AttendedSource<'_, T>, pass: &RnnPass<T>) -> RnnGradients<T> {
        let (width, times) = (self.width, &pass.packed.times);
        let joined: Vec<T> = pass.steps.iter().flat_map(|step| &step.joined).copied().collect();
        let rows = self.rows(&joined);
        let mut read = rows.clone();
        pass.dropped[1].apply(&mut read);
        let mut by_scores = self.words.forward(&read);
        let scores = by_scores.chunks_mut(self.words.outputs()).zip(&pass.right);
        let loss = scores.map(|(row, &right)| cross_entropy(row, right as usize)).sum();
        let mut by_rows = vec![T::default(); rows.len()];
        self.words.add_back(&by_scores, &mut by_rows);
        let [mut by_tokens, by_words] = self.words.gradients(&read, &by_scores);
        pass.dropped[1].apply(&mut by_rows);
        through_tanh(&mut by_rows, &rows);
        let [by_read, by_read_bias] = self.read.gradients(&joined, &by_rows);
        let mut by_joined = vec![T::default(); joined.len()];
        self.read.add_back(&by_rows, &mut by_joined);

        let mut to = self.attention.begin_back(source);
        let mut slopes = vec![T::default(); times.rows() * 4 * width];
        let (mut by_states, mut by_cells) = (Vec::new(), Vec::new());
        for (time, step) in pass.steps.iter().enumerate().rev() {
            let (active, start) = (times.active(time), times.start(time));
            let texts = &pass.places[..active];
            let before = states_before(&pass.begun, &pass.steps[..time], active * width);
            let mut parts = apart(&by_joined[start * 3 * width..][..active * 3 * width], width, 3).into_iter();
            let [mut above, mut by_context, mut by_y] = [(); 3].map(|()| parts.next().unwrap_or_default());
            // Texts that end here have no later step.
            let length = by_states.len();
            add(&mut above[..length], &by_states);
            by_cells.resize(step.passed.cells.len(), T::default());
            let StepGradient { slopes: here, states, cells } =
                self.cell.step_back(&step.passed.gates, &step.passed.cells, before, [&above, &by_cells]);
            let mut by_x = vec![T::default(); step.x.len()];
            self.cell.add_by_inputs(&here, &mut by_x);
            for ((by, y), context) in
                by_x.chunks(2 * width).zip(by_y.chunks_mut(width)).zip(by_context.chunks_mut(width))
            {
                add(y, &by[..width]);
                add(context, &by[width..]);
            }
            slopes[start * 4 * width..][..here.len()].copy_from_slice(&here);
            (by_states, by_cells) = (states, cells);
            self.attention.back(source, (texts, before[0], &step.attended), &by_context, &mut to, &mut by_states);
            pass.dropped[0].apply_from(&mut by_y, start * width);
            for (token, by) in pass.tokens[start..].iter().zip(by_y.chunks(width)) {
                add(&mut by_tokens[*token as usize * width..][..width], by);
            }
        }
        let x: Vec<T> = pass.steps.iter().flat_map(|step| &step.x).copied().collect();
        let before: Vec<&[T]> = pass.before(width).collect();
        let by_cell = self.cell.gradients(&slopes, &x, |row| before[row]);

        // An LSTM's cells begin with the states.
        by_cells.iter().zip(&mut by_states).for_each(|(&by, to)| *to += by);
        through_tanh(&mut by_states, &pass.begun);
        let mut by_begun = vec![T::default(); by_states.len()];
        for (text, by) in pass.places.iter().zip(by_states.chunks(width)) {
            by_begun[text * width..][..width].copy_from_slice(by);
        }
        let [by_begin, by_begin_bias] = self.begin.gradients(source.last, &by_begun);
        self.begin.add_back(&by_begun, &mut to.last);
        let attention = self.attention.end_back(source, &mut to);
        let weights =
            [by_begin, by_begin_bias, by_cell.words, by_cell.state, by_cell.bias, by_read, by_read_bias, by_words];
        let weights = weights.into_iter().chain(attention).collect();
        RnnGradients { loss, source: to, tokens: by_tokens, weights }
    }
}

impl<T: Real> RnnPass<T> {
    /// The state before each row.
    fn before(&self, width: usize) -> impl Iterator<Item = &[T]> {
        (0..self.steps.len()).flat_map(move |time| {
            let numbers = self.packed.times.active(time) * width;
            states_before(&self.begun, &self.steps[..time], numbers)[0].chunks(width)
        })
    }
}

/// The states and the cells of the first texts, so many numbers, behind these steps; those that texts begin with before the first step.
fn states_before<'s, T: Real>(begun: &'s [T], steps: &'s [RnnStep<T>], numbers: usize) -> [&'s [T]; 2] {
    match steps.last() {
        None => [&begun[..numbers]; 2],
        Some(RnnStep { passed, .. }) => [&passed.states[..numbers], passed.cells.get(..numbers).unwrap_or_default()],
    }
}

/// Rows of several parts `[rows, width]`, one beside the other.
fn side_by_side<T: Real>(parts: &[&[T]], width: usize) -> Vec<T> {
    let rows = parts[0].len() / width;
    (0..rows).flat_map(|row| parts.iter().flat_map(move |part| &part[row * width..][..width])).copied().collect()
}

/// The parts of rows, `[rows, width]` each.
fn apart<T: Real>(rows: &[T], width: usize, parts: usize) -> Vec<Vec<T>> {
    let part =
        |part: usize| rows.chunks(parts * width).flat_map(|row| &row[part * width..][..width]).copied().collect();
    (0..parts).map(part).collect()
}
