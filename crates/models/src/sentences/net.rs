//! From words of sentences to rows, and from rows to the losses of the three methods, forward and backward.

use super::batches::SentencePiece;
use super::{SentenceMethod, SentenceParams, VECTORS};
use crate::neural::affine::Affine;
use crate::neural::entropy::cross_entropy;
use crate::neural::kernel::Real;
use crate::neural::recurrent::{Direction, DirectionGradient, PackedTexts};
use crate::neural::weights::RowGradient;
use crate::textnet::stack::{Stack, StackPass};
use crate::textnet::{Cell, TextNetParams};

/// The score of a candidate that is left out.
const NEVER: f64 = -1e9;

/// The weights of the encoders and of the layers that train them, ready to be used.
pub(super) struct SentenceNet<T> {
    params: SentenceParams,
    layers: TextNetParams,
    encoders: Vec<Stack<T>>,
    /// The decoders of the sentence before and of the sentence behind; empty but for skip-thoughts.
    decoders: Vec<Direction<T>>,
    /// The output of the decoders, or the classes of pairs.
    last: Option<Affine<T>>,
}

/// Sentences as they were read.
pub(super) struct EncodedSentences<T> {
    /// Sentence after sentence.
    tokens: Vec<u32>,
    /// The row of each token.
    rows: Vec<usize>,
    packed: PackedTexts,
    /// The vectors of the tokens, `[rows, dim]`.
    x: Vec<T>,
    passes: Vec<StackPass<T>>,
    /// By encoder, `[sentences, features]`.
    pub(super) features: Vec<Vec<T>>,
}

/// The loss of a piece and its gradients.
pub(super) struct Losses<T> {
    pub(super) loss: f64,
    /// By each encoder's features.
    by_features: Vec<Vec<T>>,
    /// By the weights behind the encoders.
    behind: Vec<Vec<T>>,
}

fn layer<T: Real>(cell: Cell, backward: bool, inputs: usize, weights: &[&[T]]) -> Direction<T> {
    Direction::new(cell, backward, inputs, weights[0], weights[1], weights[2])
}

/// The order of reading texts of these lengths, and the row of each token, text after text.
fn packed(lengths: &[usize]) -> (PackedTexts, Vec<usize>) {
    let packed = PackedTexts::new(lengths);
    let texts = lengths.iter().enumerate();
    let rows = texts.flat_map(|(text, &length)| (0..length).map(move |time| (text, time)));
    let rows = rows.map(|(text, time)| packed.row(text, time)).collect();
    (packed, rows)
}

impl<T: Real> SentenceNet<T> {
    /// `values` are the weights by number; word vectors are not looked at.
    pub(super) fn new(params: &SentenceParams, values: &[&[T]]) -> SentenceNet<T> {
        let layers = params.layers();
        let mut weights = values[VECTORS + 1..].chunks(3);
        let mut encoder = || {
            let both = [false, true].into_iter().zip(weights.by_ref());
            Stack(vec![both.map(|(back, weights)| layer(layers.cell, back, params.dim, weights)).collect()])
        };
        let encoders = (0..params.encoders()).map(|_| encoder()).collect();
        let decoders = match params.method {
            SentenceMethod::SkipThoughts => {
                let inputs = params.dim + params.features();
                weights.by_ref().take(2).map(|weights| layer(Cell::Gru, false, inputs, weights)).collect()
            }
            _ => Vec::new(),
        };
        let last = match params.method {
            SentenceMethod::QuickThoughts => None,
            SentenceMethod::SkipThoughts => Some(Affine::with_bias(values[values.len() - 1], params.hidden)),
            SentenceMethod::InferSent => Some(Affine::with_bias(values[values.len() - 1], 4 * params.features())),
        };
        SentenceNet { params: params.clone(), layers, encoders, decoders, last }
    }

    /// Reads sentences, none of them empty.
    pub(super) fn encode<'t>(&self, vectors: &[T], sentences: impl Iterator<Item = &'t [u32]>) -> EncodedSentences<T> {
        let (mut tokens, mut lengths) = (Vec::new(), Vec::new());
        for sentence in sentences {
            tokens.extend_from_slice(sentence);
            lengths.push(sentence.len());
        }
        let (packed, rows) = packed(&lengths);
        let dim = self.params.dim;
        let mut x = vec![T::default(); rows.len() * dim];
        for (&word, &row) in tokens.iter().zip(&rows) {
            x[row * dim..][..dim].copy_from_slice(&vectors[word as usize * dim..][..dim]);
        }
        let (features, passes) = self.encoders.iter().map(|encoder| encoder.forward(&self.layers, &x, &packed)).unzip();
        EncodedSentences { tokens, rows, packed, x, passes, features }
    }

    /// Goes back through the encoders: gives the gradients by the vectors of the tokens, `[rows, dim]`, and by the encoders' weights.
    fn encoders_back(&self, encoded: &EncodedSentences<T>, by_features: &[Vec<T>]) -> (Vec<T>, Vec<Vec<T>>) {
        let mut by_x = vec![T::default(); encoded.x.len()];
        let mut weights = Vec::new();
        for ((encoder, pass), by) in self.encoders.iter().zip(&encoded.passes).zip(by_features) {
            let back = encoder.backward(&self.layers, &encoded.x, &encoded.packed, pass, by, Some(&mut by_x));
            weights.extend(back.into_iter().flat_map(in_order));
        }
        (by_x, weights)
    }

    /// For each token its vector times the gradient by it.
    pub(super) fn parts(&self, encoded: &EncodedSentences<T>, by_features: &[Vec<T>]) -> Vec<f64> {
        let (by_x, _) = self.encoders_back(encoded, by_features);
        let dim = self.params.dim;
        let part = |&row: &usize| {
            let numbers = by_x[row * dim..][..dim].iter().zip(&encoded.x[row * dim..]);
            numbers.map(|(&by, &x)| by.to_f64() * x.to_f64()).sum()
        };
        encoded.rows.iter().map(part).collect()
    }

    /// The sum of the losses of a piece.
    pub(super) fn loss(&self, vectors: &[T], piece: &SentencePiece) -> f64 {
        let encoded = self.encode(vectors, piece.sentences.iter().map(Vec::as_slice));
        self.losses(vectors, &encoded, piece, &mut RowGradient::new(None, 0, self.params.dim), false).loss
    }

    /// The sum of the losses of a piece, and its gradients by weight; of word vectors those of the rows of `to_words`.
    pub(super) fn differentiated(
        &self,
        vectors: &[T],
        piece: &SentencePiece,
        mut to_words: RowGradient<'_, T>,
    ) -> (f64, Vec<Vec<T>>) {
        let encoded = self.encode(vectors, piece.sentences.iter().map(Vec::as_slice));
        let Losses { loss, by_features, behind } = self.losses(vectors, &encoded, piece, &mut to_words, true);
        let (by_x, encoders) = self.encoders_back(&encoded, &by_features);
        let dim = self.params.dim;
        for (&word, &row) in encoded.tokens.iter().zip(&encoded.rows) {
            to_words.add(&[word], &by_x[row * dim..][..dim]);
        }
        (loss, std::iter::once(to_words.values).chain(encoders).chain(behind).collect())
    }

    fn losses(
        &self,
        vectors: &[T],
        encoded: &EncodedSentences<T>,
        piece: &SentencePiece,
        to_words: &mut RowGradient<'_, T>,
        back: bool,
    ) -> Losses<T> {
        match (self.params.method, &self.last) {
            (SentenceMethod::InferSent, Some(classes)) => self.classes(classes, &encoded.features[0], piece),
            (SentenceMethod::SkipThoughts, Some(output)) => {
                self.written(output, vectors, &encoded.features[0], piece, to_words, back)
            }
            _ => self.neighbours(&encoded.features, piece),
        }
    }

    /// Quick-thoughts: the sentences of a piece are first those that stand before, then in the same order those that stand behind.
    fn neighbours(&self, features: &[Vec<T>], piece: &SentencePiece) -> Losses<T> {
        let columns = self.params.features();
        let half = piece.sentences.len() / 2;
        let (before, behind) = piece.sentences.split_at(half);
        let mut by: Vec<Vec<T>> = features.iter().map(|features| vec![T::default(); features.len()]).collect();
        let middle = half * columns;
        let mut loss = 0.0;
        for (asked, candidates, names) in [(0, middle, behind), (middle, 0, before)] {
            let left = &features[0][asked..asked + middle];
            let right = Affine::of(&features[1][candidates..candidates + middle], &vec![T::default(); half]);
            let mut by_scores = right.forward(left);
            for (pair, scores) in by_scores.chunks_mut(half).enumerate() {
                // The same sentence beside another one is no wrong answer.
                for (other, score) in scores.iter_mut().enumerate() {
                    if other != pair && names[other] == names[pair] {
                        *score = T::from_f64(NEVER);
                    }
                }
                loss += cross_entropy(scores, pair);
            }
            right.add_back(&by_scores, &mut by[0][asked..asked + middle]);
            right.add_by_weights(left, &by_scores, &mut by[1][candidates..candidates + middle], columns);
        }
        Losses { loss, by_features: by, behind: Vec::new() }
    }

    /// InferSent: the sentences of a piece are first all u, then in the same order all v.
    fn classes(&self, classes: &Affine<T>, features: &[T], piece: &SentencePiece) -> Losses<T> {
        let columns = self.params.features();
        let (u, v) = features.split_at(features.len() / 2);
        let apart = |(&u, &v): (&T, &T)| if u < v { v - u } else { u - v };
        let mut joint = Vec::with_capacity(4 * u.len());
        for (u, v) in u.chunks(columns).zip(v.chunks(columns)) {
            joint.extend_from_slice(u);
            joint.extend_from_slice(v);
            joint.extend(u.iter().zip(v).map(apart));
            joint.extend(u.iter().zip(v).map(|(&u, &v)| u * v));
        }
        let mut by_scores = classes.forward(&joint);
        let rows = by_scores.chunks_mut(classes.outputs()).zip(&piece.right);
        let loss = rows.map(|(scores, &right)| cross_entropy(scores, right as usize)).sum();
        let mut by_joint = vec![T::default(); joint.len()];
        classes.add_back(&by_scores, &mut by_joint);
        let mut by = vec![T::default(); features.len()];
        let (by_u, by_v) = by.split_at_mut(features.len() / 2);
        for (pair, by_joint) in by_joint.chunks(4 * columns).enumerate() {
            for j in 0..columns {
                let at = pair * columns + j;
                let (x, y, zero) = (u[at], v[at], T::default());
                let by_apart = by_joint[2 * columns + j];
                let sign = if x > y { by_apart } else { zero } - if x < y { by_apart } else { zero };
                by_u[at] = by_joint[j] + sign + y * by_joint[3 * columns + j];
                by_v[at] = by_joint[columns + j] - sign + x * by_joint[3 * columns + j];
            }
        }
        let behind = vec![classes.gradient_with_bias(&joint, &by_scores)];
        Losses { loss, by_features: vec![by], behind }
    }

    /// Skip-thoughts: each decoder writes its sentences word by word to the end; it reads the row of the neighbouring sentence at every word.
    fn written(
        &self,
        output: &Affine<T>,
        vectors: &[T],
        features: &[T],
        piece: &SentencePiece,
        to_words: &mut RowGradient<'_, T>,
        back: bool,
    ) -> Losses<T> {
        let (dim, columns) = (self.params.dim, self.params.features());
        let inputs = dim + columns;
        let end = output.outputs() as u32 - 1;
        let mut by_features = vec![T::default(); features.len()];
        let mut behind = Vec::new();
        let mut by_output = vec![T::default(); output.outputs() * (output.inputs() + 1)];
        let mut loss = 0.0;
        for (decoder, targets) in self.decoders.iter().zip(&piece.targets) {
            if targets.is_empty() {
                let h = self.params.hidden;
                behind.extend([3 * h * inputs, 3 * h * h, 4 * h].map(|numbers| vec![T::default(); numbers]));
                continue;
            }
            let lengths: Vec<usize> = targets.iter().map(|(_, words)| words.len() + 1).collect();
            let (packed, rows) = packed(&lengths);
            // What is read, and what is written after it.
            let read = || targets.iter().flat_map(|(_, words)| std::iter::once(None).chain(words.iter().map(Some)));
            let sentences = || targets.iter().flat_map(|(beside, words)| std::iter::repeat_n(*beside, words.len() + 1));
            let mut x = vec![T::default(); rows.len() * inputs];
            for ((word, sentence), &row) in read().zip(sentences()).zip(&rows) {
                let to = &mut x[row * inputs..][..inputs];
                if let Some(&word) = word {
                    to[..dim].copy_from_slice(&vectors[word as usize * dim..][..dim]);
                }
                to[dim..].copy_from_slice(&features[sentence as usize * columns..][..columns]);
            }
            let mut right = vec![end; rows.len()];
            let words = targets.iter().flat_map(|(_, words)| words.iter().copied().chain([end]));
            words.zip(&rows).for_each(|(word, &row)| right[row] = word);
            let done = decoder.forward(&x, &packed.times);
            let mut by_scores = output.forward(&done.states);
            for (scores, &right) in by_scores.chunks_mut(output.outputs()).zip(&right) {
                loss += cross_entropy(scores, right as usize);
            }
            if !back {
                continue;
            }
            let gradient = output.gradient_with_bias(&done.states, &by_scores);
            by_output.iter_mut().zip(gradient).for_each(|(to, by)| *to += by);
            let mut above = vec![T::default(); done.states.len()];
            output.add_back(&by_scores, &mut above);
            let mut by_x = vec![T::default(); x.len()];
            let gradient = decoder.backward(&x, &packed.times, &done, above, Some(&mut by_x));
            behind.extend(in_order(gradient));
            for ((word, sentence), &row) in read().zip(sentences()).zip(&rows) {
                let by = &by_x[row * inputs..][..inputs];
                if let Some(&word) = word {
                    to_words.add(&[word], &by[..dim]);
                }
                let to = &mut by_features[sentence as usize * columns..][..columns];
                to.iter_mut().zip(&by[dim..]).for_each(|(to, &by)| *to += by);
            }
        }
        behind.push(by_output);
        Losses { loss, by_features: vec![by_features], behind }
    }
}

/// The gradients of a layer in the order of its weights.
fn in_order<T>(gradient: DirectionGradient<T>) -> [Vec<T>; 3] {
    [gradient.words, gradient.state, gradient.bias]
}
