//! The training of a transformer as the training loop sees it: the losses and gradients of pieces.

use std::ops::Range;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::adapt::LowRank;
use super::batches::{TextBatches, TransformerPiece};
use super::block::{BlockWeights, add};
use super::dropout::Dropout;
use super::encoder::{
    EmbeddingWeights, Encoder, EncoderInput, EncoderShape, NAMED, REPLACED, SECOND, TrainedPart, token_number,
};
use super::head::{Head, HeadForm, HeadForms, HeadGradients, Targets, losses};
use super::params::{TrainedLayers, TransformerParams};
use super::reading::Reading;
use super::train::{Goals, TrainingTexts, Transformer, UNTAGGED, group_of, row_of};
use crate::Goal;
use crate::neural::fit::{Network, PieceGradients, Schedule};
use crate::neural::kernel::Real;
use crate::neural::weights::{RowGradient, Weights, distinct};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// The inputs and settings of one training.
pub(super) struct TransformerNet<'a> {
    shape: EncoderShape,
    heads: HeadForms,
    batches: TextBatches<'a>,
    pub(super) adapted: Option<LowRank>,
    /// The first layer that is trained in any epoch.
    pub(super) lowest: usize,
}

/// The weights as pieces are computed with them.
pub(super) struct ReadyTransformer<'w, T> {
    encoder: Encoder<'w, T>,
    head: Head<T>,
    beside: Option<Head<T>>,
    part: TrainedPart,
    /// By weight the rows that gradients are wanted of; none for all.
    rows: &'w [Option<Vec<u32>>],
    values: Vec<&'w [T]>,
}

impl<'a> TransformerNet<'a> {
    pub(super) fn new(
        begun: &Transformer,
        texts: &'a TrainingTexts<'a>,
        params: &'a TransformerParams,
    ) -> Result<TransformerNet<'a>> {
        let Transformer { shape, heads, .. } = *begun;
        let batches = TextBatches::new(texts, params)?;
        let adapted = match params.train {
            TrainedLayers::LowRank(rank) => Some(LowRank::new(rank, shape)?),
            _ => None,
        };
        let lowest = params.lowest(&shape)?;
        let states = texts.texts.frozen;
        ensure!(
            states.is_none_or(|frozen| frozen.first_layer <= lowest && texts.goals.masking().is_none()),
            "保存的向量位于要训练的层之后",
            "the vectors that were kept stand behind layers that are trained"
        );
        ensure!(
            heads.beside.is_some()
                == (heads.beside == Some(HeadForm::Before)
                    || matches!(
                        texts.goals,
                        Goals::WordsAndOrder(..) | Goals::WordsAndNames(_) | Goals::TextsAndWords(..)
                    )),
            "两个目标应由两个头学习",
            "two goals are learned by two heads"
        );
        Ok(TransformerNet { shape, heads, batches, adapted, lowest })
    }

    /// The mean loss of texts, of each predicted token or of each text.
    pub(super) fn loss(model: &Transformer, texts: &TrainingTexts<'_>, ctx: &Ctx) -> Result<f64> {
        let params = TransformerParams { held_out_share: 0.0, ..TransformerParams::default() };
        let net = TransformerNet::new(model, texts, &params)?;
        let rows = vec![None; model.weights.all.len()];
        let ready = net.ready(&model.weights, &rows);
        net.batches.mean_loss(0..texts.places.len(), |piece| net.loss_of(&ready, piece), ctx)
    }

    /// The sum of the losses of a piece, and their number.
    fn loss_of(&self, ready: &ReadyTransformer<'_, f32>, piece: &TransformerPiece) -> (f64, usize) {
        let x = match self.states_of(piece) {
            Some(states) => states,
            None => ready.encoder.embed(EncoderInput { tokens: &piece.tokens, texts: &piece.texts }),
        };
        let x = ready.encoder.finish(ready.encoder.run(x, &piece.texts));
        let rows = self.read_rows(piece);
        let read = Reading::new(self.heads.main, &self.shape).read(&x, &rows, &piece.texts);
        let mut scores = ready.head.scores(&read);
        let outputs = scores.len() / rows.len().max(1);
        let loss = self.with_targets(piece, |targets| losses(&mut scores, outputs.max(1), targets));
        (loss, self.count(piece, &rows))
    }

    /// All texts in one piece, with no masked word.
    #[cfg(test)]
    pub(super) fn whole_piece(&self) -> TransformerPiece {
        let (tokens, places) = (self.batches.texts.texts.tokens.to_vec(), self.batches.texts.places.to_vec());
        let numbers = (0..places.len()).collect();
        TransformerPiece { texts: places.clone(), tokens, places, numbers, masked: Vec::new(), draw: 0 }
    }

    /// The first tokens of the texts of a piece, or its masked tokens.
    pub(super) fn read_rows(&self, piece: &TransformerPiece) -> Vec<usize> {
        match self.heads.main {
            HeadForm::Words { .. } => piece.masked.iter().map(|(at, _)| *at).collect(),
            HeadForm::Next => self.rows_of_next(piece).collect(),
            HeadForm::Replaced | HeadForm::Spans => (0..piece.tokens.len()).collect(),
            HeadForm::Tokens { .. } => self.tags_of(piece).map(|(row, _)| row).collect(),
            form => piece.texts.iter().map(|text| row_of(form, text)).collect(),
        }
    }

    /// The number of losses of a piece whose main head reads these rows.
    fn count(&self, piece: &TransformerPiece, rows: &[usize]) -> usize {
        if self.heads.main == HeadForm::Spans { piece.texts.len() } else { rows.len() }
    }

    /// The tokens of a piece whose next token is learned.
    fn rows_of_next(&self, piece: &TransformerPiece) -> impl Iterator<Item = usize> {
        let all = !matches!(self.batches.texts.goals, Goals::Summaries);
        rows_before(&piece.texts).filter(move |row| all || piece.tokens[row + 1] & SECOND != 0)
    }

    /// The tokens of a piece that have tags, with these.
    fn tags_of(&self, piece: &TransformerPiece) -> impl Iterator<Item = (usize, u32)> {
        let tags: &[u32] = if let Goals::Tags(tags) = &self.batches.texts.goals { tags } else { &[] };
        let tags = piece.places.iter().flat_map(|place| tags.get(place.clone()).unwrap_or_default());
        tags.copied().enumerate().filter(|(_, tag)| *tag != UNTAGGED)
    }

    /// Gives `work` the targets of a piece.
    fn with_targets<R>(&self, piece: &TransformerPiece, work: impl FnOnce(&Targets<'_>) -> R) -> R {
        match &self.batches.texts.goals {
            Goals::Words(_) | Goals::WordsAndOrder(..) | Goals::WordsAndNames(_) => {
                work(&Targets::Words(&piece.masked.iter().map(|(_, right)| *right).collect::<Vec<u32>>()))
            }
            Goals::Tags(_) => work(&Targets::Classes(&self.tags_of(piece).map(|(_, tag)| tag).collect::<Vec<u32>>())),
            Goals::Spans(spans) => {
                let right = piece.numbers.iter().map(|number| spans[*number]).collect();
                work(&Targets::Spans(&piece.texts, right))
            }
            Goals::Next | Goals::Summaries => work(&Targets::Words(&tokens_behind(piece, self.rows_of_next(piece)))),
            Goals::Taught(taught) => {
                let rows = piece.numbers.iter().flat_map(|&n| &taught.scores[n * taught.classes..][..taught.classes]);
                work(&Targets::Taught(&rows.copied().collect::<Vec<f32>>(), taught.temperature))
            }
            Goals::Texts(goal) | Goals::TextsAndWords(goal, _) => match goal.select(&piece.numbers) {
                Goal::Classes { class, .. } => work(&Targets::Classes(&class)),
                Goal::Labels { labels, .. } => work(&Targets::Labels(&labels)),
                Goal::Values(values) => work(&Targets::Values(&values)),
            },
        }
    }

    /// The part of the weights that are not fixed.
    fn part(&self, weights: &Weights) -> TrainedPart {
        let layers = self.shape.layers;
        let is_trained = |layer: &usize| {
            let first = EncoderShape::of_block(self.shape.block_of(*layer), BlockWeights::Query);
            weights.all[first..first + BlockWeights::COUNT].iter().any(|weight| !weight.fixed)
        };
        let mut of_block = [true; BlockWeights::COUNT];
        let mut from_layer = (0..layers).find(is_trained).unwrap_or(layers);
        if self.adapted.is_some() {
            of_block = LowRank::wanted();
            from_layer = 0;
        }
        TrainedPart { from_layer, embeddings: !weights.all[0].fixed, of_block }
    }

    pub(super) fn ready_of<'w, T: Real>(
        &self,
        values: Vec<&'w [T]>,
        part: TrainedPart,
        rows: &'w [Option<Vec<u32>>],
    ) -> ReadyTransformer<'w, T> {
        let first = self.batches.texts.texts.frozen.map_or(0, |frozen| frozen.first_layer);
        let adapted = |number: usize| self.adapted.as_ref()?.adapted(number, &values);
        let encoder = Encoder::new(self.shape, &values, first..self.shape.layers, adapted);
        let tokens = values[EmbeddingWeights::Tokens as usize];
        let behind = values.len() - self.adapted.as_ref().map_or(0, LowRank::count);
        let of_main = self.heads.main.shapes(&self.shape).len();
        let (main, beside) = values[self.shape.weights()..behind].split_at(of_main);
        let head = Head::new(self.heads.main, main, tokens, &self.shape);
        let beside = self.heads.beside.map(|form| Head::new(form, beside, tokens, &self.shape));
        ReadyTransformer { encoder, head, beside, part, rows, values }
    }

    /// The gradients of the second head, whose rows of the vectors `x` are given with them. A step divides all losses by the number of rows that the
    /// main head reads.
    fn beside<T: Real>(
        &self,
        head: &Head<T>,
        x: &[T],
        piece: &TransformerPiece,
        rate: f64,
        rng: &mut ChaCha8Rng,
    ) -> (Vec<usize>, HeadGradients<T>) {
        let classes: Option<(Vec<usize>, Vec<u32>)> = match &self.batches.texts.goals {
            Goals::WordsAndOrder(_, orders) => {
                let orders = piece.texts.iter().zip(&piece.numbers).map(|(text, number)| (text.start, orders[*number]));
                Some(orders.filter(|(_, order)| *order != UNTAGGED).unzip())
            }
            Goals::WordsAndNames(_) => {
                let named = piece.tokens.iter().enumerate().filter(|(_, token)| **token & NAMED != 0);
                Some(named.map(|(row, token)| (row, u32::from(token & REPLACED != 0))).unzip())
            }
            _ => None,
        };
        let read = |rows: &[usize]| Reading::new(head.form(), &self.shape).read(x, rows, &piece.texts);
        if let Some((rows, right)) = classes {
            let read = read(&rows);
            let dropped = Dropout::draw(read.len(), rate, rng);
            // So many times the mean loss of these classes becomes that mean.
            let share = piece.masked.len() as f64 / rows.len().max(1) as f64;
            let gradients = head.gradients(&read, &Targets::Classes(&right), &dropped).scaled(share);
            return (rows, gradients);
        }
        if head.form() == HeadForm::Before {
            let rows: Vec<usize> = rows_before(&piece.texts).map(|row| row + 1).collect();
            let right: Vec<u32> = rows.iter().map(|row| token_number(piece.tokens[row - 1])).collect();
            let gradients = head.gradients(&read(&rows), &Targets::Words(&right), &Dropout::none());
            return (rows, gradients);
        }
        let (rows, right): (Vec<usize>, Vec<u32>) = match self.heads.beside {
            Some(HeadForm::Next) => {
                let rows: Vec<usize> = rows_before(&piece.texts).collect();
                let right = tokens_behind(piece, rows.iter().copied());
                (rows, right)
            }
            _ => piece.masked.iter().copied().unzip(),
        };
        let weight = self.batches.texts.goals.words_beside().map_or(0.0, |words| words.weight);
        // A text's mean over its words.
        let mean = |text: &Range<usize>| {
            let words = rows.partition_point(|row| *row < text.end) - rows.partition_point(|row| *row < text.start);
            std::iter::repeat_n(weight / words as f64, words)
        };
        let weights: Vec<f64> = piece.texts.iter().flat_map(mean).collect();
        let targets = Targets::WeighedWords(&right, &weights);
        let gradients = head.gradients(&read(&rows), &targets, &Dropout::none());
        (rows, gradients)
    }

    /// The loss of a piece and its gradients by weight.
    pub(super) fn differentiated<T: Real>(
        &self,
        ready: &ReadyTransformer<'_, T>,
        piece: &TransformerPiece,
        rate: f64,
    ) -> (f64, Vec<Vec<T>>) {
        let mut rng = ChaCha8Rng::seed_from_u64(piece.draw);
        let input = EncoderInput { tokens: &piece.tokens, texts: &piece.texts };
        let states = self.states_of(piece);
        let (x, passed) = ready.encoder.forward(input, states.as_deref(), rate, &mut rng);
        let rows = self.read_rows(piece);
        let reading = Reading::new(self.heads.main, &self.shape);
        let read = reading.read(&x, &rows, &piece.texts);
        let dropped = match self.heads.main.goal() {
            Some(_) => Dropout::draw(ready.head.before_outputs(read.len()), rate, &mut rng),
            None => Dropout::none(),
        };
        let head = self.with_targets(piece, |targets| ready.head.gradients(&read, targets, &dropped));
        let mut by = vec![T::default(); x.len()];
        reading.add_back(&mut by, &x, &rows, &piece.texts, &head.rows);
        let tokens = EmbeddingWeights::Tokens as usize;
        let mut by_tokens =
            RowGradient::new(ready.rows[tokens].as_deref(), self.shape.vocabulary, self.shape.embedded());
        let mut by_table = head.tokens;
        let mut loss = head.loss;
        let mut by_head = head.weights;
        if let Some(beside) = &ready.beside {
            let reading = Reading::new(beside.form(), &self.shape);
            let (rows, beside) = self.beside(beside, &x, piece, rate, &mut rng);
            reading.add_back(&mut by, &x, &rows, &piece.texts, &beside.rows);
            match by_table.is_empty() {
                true => by_table = beside.tokens,
                false => add(&mut by_table, &beside.tokens),
            }
            by_head.extend(beside.weights);
            loss += beside.loss;
        }
        if !by_table.is_empty() && ready.part.embeddings {
            by_tokens.values = by_table;
        }
        let add = |token: u32, by: &[T]| by_tokens.add(&[token], by);
        let mut gradients = ready.encoder.back(&passed, input, by, &ready.part, add);
        if ready.part.embeddings {
            gradients[tokens] = by_tokens.values;
        }
        gradients.extend(by_head);
        if let Some(adapted) = &self.adapted {
            adapted.take_gradients(&mut gradients, &ready.values);
        }
        (loss, gradients)
    }

    /// The vectors of a piece's tokens before the first trained layer.
    fn states_of<T: Real>(&self, piece: &TransformerPiece) -> Option<Vec<T>> {
        let frozen = self.batches.texts.texts.frozen?;
        let numbers = piece.places.iter().flat_map(|place| frozen.of(place));
        Some(numbers.map(|&number| T::from_f64(f64::from(number))).collect())
    }
}

/// The places of all tokens but the last of each text.
fn rows_before(texts: &[Range<usize>]) -> impl Iterator<Item = usize> {
    texts.iter().flat_map(|text| text.start..text.end.saturating_sub(1))
}

/// The tokens behind those of some rows.
fn tokens_behind(piece: &TransformerPiece, rows: impl Iterator<Item = usize>) -> Vec<u32> {
    rows.map(|row| token_number(piece.tokens[row + 1])).collect()
}

impl Network for TransformerNet<'_> {
    type Piece = TransformerPiece;
    type Ready<'w>
        = ReadyTransformer<'w, f32>
    where
        Self: 'w;

    fn batches(&self) -> usize {
        self.batches.count()
    }

    fn examples(&self) -> (u64, &'static str) {
        self.batches.examples()
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        self.batches.order(rng)
    }

    fn batch(&self, order: &[u32], number: usize, _: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<TransformerPiece> {
        self.batches.batch(order, number, rng)
    }

    fn reads(&self, pieces: &[TransformerPiece]) -> Vec<Option<Vec<u32>>> {
        let mut rows = vec![None; self.shape.weights() + self.heads.shapes(&self.shape).len()];
        rows.extend(self.adapted.iter().flat_map(|adapted| vec![None; adapted.count()]));
        if !self.heads.predicts_words() {
            rows[EmbeddingWeights::Tokens as usize] =
                Some(distinct(pieces.iter().flat_map(|piece| piece.tokens.iter().map(|token| token_number(*token)))));
        }
        rows
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> ReadyTransformer<'w, f32> {
        self.ready_of(weights.values(), self.part(weights), rows)
    }

    fn gradients(&self, ready: &ReadyTransformer<'_, f32>, piece: &TransformerPiece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece, self.batches.params.dropout);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    /// The predicted tokens, or the texts.
    fn size(&self, piece: &TransformerPiece) -> usize {
        self.count(piece, &self.read_rows(piece))
    }

    fn progress(&self, piece: &TransformerPiece) -> usize {
        piece.texts.len()
    }

    fn schedule(&self) -> Option<Schedule> {
        self.batches.schedule()
    }

    fn begin_epoch(&self, epoch: usize, weights: &mut Weights) {
        if !self.batches.params.gradual {
            return;
        }
        let (blocks, lowest) = (self.shape.blocks, self.lowest);
        for (number, weight) in weights.all.iter_mut().enumerate() {
            let group = group_of(number, &self.shape);
            // The groups above this one are trained; of all layers the embeddings come with the last.
            let open = blocks + 2 - epoch.min(blocks + 2);
            let trained = if group == 0 { self.batches.params.train == TrainedLayers::All } else { group > lowest };
            weight.fixed = !(trained && group >= open);
        }
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        let rows = vec![None; weights.all.len()];
        let ready = self.ready(weights, &rows);
        self.batches.held_out_loss(|piece| self.loss_of(&ready, piece), ctx)
    }
}
