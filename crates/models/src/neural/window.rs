//! Word vectors by the ranking of windows (Collobert and Weston 2008).
//!
//! A window of words x is scored by f(x) = s · tanh(d + H x). The loss of a window is max(0, 1 - f(x) + f(x')), where the middle word
//! of x' is any other, all equally likely. What stands beyond the ends of a sequence has a vector of its own.

use anyhow::Result;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::affine::{Affine, gather};
use super::fit::{EpochFigures, FitParams, Network, PieceGradients, fit};
use super::kernel::{Real, apply, tanh, through_tanh};
use super::weights::{RowGradient, Weight, Weights, distinct};
use crate::checkpoint::Checkpoint;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

const VECTORS: usize = 0;
const HIDDEN: usize = 1;
const BIAS: usize = 2;
const SCORE: usize = 3;
/// Windows of a piece.
const PIECE: usize = 128;
/// Bound of the vectors that training begins with.
const START: f32 = 0.1;

params! {
    /// Parameters of the ranking of windows.
    pub struct WindowParams {
        /// Values of a word vector.
        ///
        /// 词向量的维数。
        dim: usize = 50, number("N", "--dim");
        /// Words on each side of the middle one.
        ///
        /// 中间的词两侧各看的词数。
        window: usize = 5, number("N", "--window");
        /// Units of the hidden layer.
        ///
        /// 隐藏层的单元数。
        hidden: usize = 100, number("N", "--dim");
        /// Training. Nothing is held out.
        fit: FitParams = FitParams { batch: 1024, held_out_share: 0.0, ..FitParams::default() }, arg(skip);
    }
}

impl WindowParams {
    /// Fails when a setting cannot work.
    pub fn check(&self) -> Result<()> {
        ensure!(self.dim > 0, "--dim 0 没有词向量；请写 1 或更大", "--dim 0 leaves no word vector; give 1 or more");
        ensure!(
            (1..=20).contains(&self.window),
            "--window {} 须为 1 到 20",
            "--window {} must be 1 to 20",
            self.window
        );
        ensure!(
            self.hidden > 0,
            "--hidden 0 没有隐藏层；请写 1 或更大",
            "--hidden 0 leaves no hidden layer; give 1 or more"
        );
        self.fit.check()
    }

    fn width(&self) -> usize {
        2 * self.window + 1
    }
}

/// Trains on numbers of `words` words, any higher number standing between sequences. Gives the vectors, `[words, dim]` row by row.
pub fn rank_windows(
    numbers: &[u32],
    words: usize,
    params: &WindowParams,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<(Vec<f32>, Vec<EpochFigures>)> {
    params.check()?;
    ensure!(
        words > 1,
        "只有一个词，而窗口须与换了词的窗口区分：请提供更多文本",
        "there is one word, and a window is told from one with another word: give more text"
    );
    let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
    let weights = Weights::new(vec![
        Weight::uniform("vectors", words + 1, params.dim, START, &mut rng),
        Weight::glorot("hidden", params.hidden, params.width() * params.dim, &mut rng),
        Weight::zeros("hidden_bias", 1, params.hidden),
        Weight::glorot("score", 1, params.hidden, &mut rng),
    ]);
    let net = Windows { params, numbers, words: words as u32 };
    let (weights, epochs) = fit(&net, weights, &params.fit, checkpoint, ctx)?;
    Ok((weights.all[VECTORS].values[..words * params.dim].to_vec(), epochs))
}

struct Windows<'a> {
    params: &'a WindowParams,
    numbers: &'a [u32],
    words: u32,
}

/// Some windows, then the same with another middle word: `[2, windows, width]`.
struct WindowPiece {
    words: Vec<u32>,
}

impl Windows<'_> {
    /// Numbers of each of the streams that a batch has one window of.
    fn length(&self) -> usize {
        self.numbers.len().div_ceil(self.params.fit.batch)
    }

    /// The window around a place; beyond the ends of the sequence stands the number after the last word.
    fn window(&self, place: usize, out: &mut Vec<u32>) {
        let sides = self.params.window;
        let before = self.numbers[..place].iter().rev().take(sides).take_while(|&&word| word < self.words).count();
        let after = self.numbers[place + 1..].iter().take(sides).take_while(|&&word| word < self.words).count();
        out.extend(std::iter::repeat_n(self.words, sides - before));
        out.extend(&self.numbers[place - before..=place + after]);
        out.extend(std::iter::repeat_n(self.words, sides - after));
    }
}

/// The weights as pieces are computed with them.
struct ReadyWindows<'w, T> {
    vectors: &'w [T],
    /// The words that gradients are wanted of.
    words: Option<&'w [u32]>,
    hidden: Affine<T>,
    score: &'w [T],
}

impl Windows<'_> {
    fn ready_of<'w, T: Real>(&self, values: &[&'w [T]], rows: &'w [Option<Vec<u32>>]) -> ReadyWindows<'w, T> {
        let hidden = Affine::of(values[HIDDEN], values[BIAS]);
        ReadyWindows { vectors: values[VECTORS], words: rows[VECTORS].as_deref(), hidden, score: values[SCORE] }
    }

    /// The sum of the losses of a piece, and its gradients by weight.
    fn differentiated<T: Real>(&self, ready: &ReadyWindows<'_, T>, piece: &WindowPiece) -> (f64, Vec<Vec<T>>) {
        let (n, zero, one) = (self.size(piece), T::default(), T::from_f64(1.0));
        let x = gather(ready.vectors, self.params.dim, &piece.words);
        let mut inner = ready.hidden.forward(&x);
        apply(&mut inner, tanh);
        let score = Affine::of(ready.score, &[zero]);
        let scores = score.forward(&inner);
        let (right, other) = scores.split_at(n);
        let losses: Vec<T> = right.iter().zip(other).map(|(&right, &other)| one - right + other).collect();
        // Only what is below 0 becomes 0: what is no number stays none, so that training that went astray is seen.
        let loss = losses.iter().map(|&loss| if loss < zero { 0.0 } else { loss.to_f64() }).sum();
        let slopes = || losses.iter().map(|&loss| if loss > zero { one } else { zero });
        let by_scores: Vec<T> = slopes().map(|slope| zero - slope).chain(slopes()).collect();
        let [by_score, _] = score.gradients(&inner, &by_scores);
        let mut by_inner = vec![zero; inner.len()];
        score.add_back(&by_scores, &mut by_inner);
        through_tanh(&mut by_inner, &inner);
        let mut by_x = vec![zero; x.len()];
        ready.hidden.add_back(&by_inner, &mut by_x);
        let mut by_words = RowGradient::new(ready.words, self.words as usize + 1, self.params.dim);
        by_words.add(&piece.words, &by_x);
        let [by_hidden, by_bias] = ready.hidden.gradients(&x, &by_inner);
        (loss, vec![by_words.values, by_hidden, by_bias, by_score])
    }
}

impl Network for Windows<'_> {
    type Piece = WindowPiece;
    type Ready<'w>
        = ReadyWindows<'w, f32>
    where
        Self: 'w;

    fn batches(&self) -> usize {
        self.length()
    }

    fn examples(&self) -> (u64, &'static str) {
        (self.numbers.iter().filter(|&&word| word < self.words).count() as u64, "words")
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.length() as u32).collect();
        order.shuffle(rng);
        order
    }

    fn batch(&self, order: &[u32], number: usize, _: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<WindowPiece> {
        let places = (0..self.params.fit.batch).map(|stream| stream * self.length() + order[number] as usize);
        let places: Vec<usize> =
            places.filter(|&p| self.numbers.get(p).is_some_and(|&word| word < self.words)).collect();
        let width = self.params.width();
        let piece = |places: &[usize]| {
            let mut words = Vec::with_capacity(2 * places.len() * width);
            places.iter().for_each(|&place| self.window(place, &mut words));
            let mut other = words.clone();
            for middle in other.iter_mut().skip(self.params.window).step_by(width) {
                // Any word but this one.
                let drawn = rng.random_range(0..self.words - 1);
                *middle = drawn + u32::from(drawn >= *middle);
            }
            words.extend(other);
            WindowPiece { words }
        };
        places.chunks(PIECE).map(piece).collect()
    }

    fn reads(&self, pieces: &[WindowPiece]) -> Vec<Option<Vec<u32>>> {
        vec![Some(distinct(pieces.iter().flat_map(|piece| piece.words.iter().copied()))), None, None, None]
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> ReadyWindows<'w, f32> {
        self.ready_of(&weights.values(), rows)
    }

    fn gradients(&self, ready: &ReadyWindows<'_, f32>, piece: &WindowPiece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    fn size(&self, piece: &WindowPiece) -> usize {
        piece.words.len() / self.params.width() / 2
    }

    fn held_out(&self, _: &Weights, _: &Ctx) -> Result<Option<f64>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neural::check::check_gradients;

    const END: u32 = u32::MAX;

    fn params() -> WindowParams {
        let fit = FitParams { batch: 64, epochs: 20, lr: 0.01, held_out_share: 0.0, ..FitParams::default() };
        WindowParams { dim: 4, window: 1, hidden: 6, fit }
    }

    /// 0 and 1 stand in the same places, and so do 2 and 3; 4 is before, 5 after.
    fn text() -> Vec<u32> {
        (0..400).flat_map(|i| [4, i % 2, 5, END, 5, 2 + i % 2, 4, END]).collect()
    }

    #[test]
    fn gradients_are_the_difference_quotients() {
        let (params, text) = (params(), [0, 1, 2, END, 3, END, 2, 2]);
        let net = Windows { params: &params, numbers: &text, words: 4 };
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random_range(-0.6..0.6)).collect() };
        let values = [20, 72, 6, 6].map(&mut draw).to_vec();
        let mut window = Vec::new();
        net.window(4, &mut window);
        assert_eq!(window, [4, 3, 4], "a sequence of one word");
        let pieces = net.batch(&[0], 0, Vec::new(), &mut rng);
        assert_eq!(net.size(&pieces[0]), 6);
        let (right, other) = pieces[0].words.split_at(18);
        let differ: Vec<usize> = (0..18).filter(|&i| right[i] != other[i]).collect();
        assert_eq!(differ, [1, 4, 7, 10, 13, 16], "only the middle words, and all of them");
        let rows = net.reads(&pieces);
        assert_eq!(rows[VECTORS].as_deref().unwrap(), [0, 1, 2, 3, 4]);
        check_gradients("windows", values, |values| net.differentiated(&net.ready_of(values, &rows), &pieces[0]));
    }

    #[test]
    fn words_of_the_same_places_come_together_whatever_the_threads() {
        let found =
            [1, 2, 8].map(|threads| rank_windows(&text(), 6, &params(), None, &Ctx::new(threads, 5).unwrap()).unwrap());
        assert!(found[0] == found[1] && found[1] == found[2]);
        let (vectors, epochs) = &found[0];
        assert!(epochs.last().unwrap().loss < 0.6 * epochs[0].loss, "{epochs:?}");
        let row = |word: usize| &vectors[word * 4..][..4];
        let cosine = |a: usize, b: usize| {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            dot(row(a), row(b)) / (dot(row(a), row(a)) * dot(row(b), row(b))).sqrt()
        };
        assert!(cosine(0, 1) > 0.8 && cosine(2, 3) > 0.8, "{} {}", cosine(0, 1), cosine(2, 3));
        assert!(cosine(0, 2) < 0.5, "{}", cosine(0, 2));
    }

    #[test]
    fn what_cannot_work_is_told() {
        let refused = |params: WindowParams, words| {
            rank_windows(&text(), words, &params, None, &Ctx::new(1, 1).unwrap()).err().unwrap().to_string()
        };
        assert!(refused(params(), 1).contains("there is one word"));
        assert!(refused(WindowParams { window: 0, ..params() }, 6).contains("--window 0"));
        let fit = FitParams { lr: 1e38, clip: 0.0, ..params().fit };
        assert!(refused(WindowParams { fit, ..params() }, 6).contains("lower the learning rate"));
    }
}
