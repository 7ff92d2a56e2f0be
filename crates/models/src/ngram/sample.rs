//! Drawing text from a language model of any kind, word after word, until it draws `</s>`.
//!
//! An n-gram model lays the distribution after a context out over the whole vocabulary: single words first, then for each longer context what was
//! there times its back-off weight, and its own continuations over that. `<s>` and `<unk>` are never drawn.

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use super::index::{Index, State};
use super::lm::LanguageModel;
use super::words::{BEGIN, END, UNKNOWN};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Parameters of drawing text.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleParams {
    /// Documents. Default: 1.
    pub documents: usize,
    /// Probabilities are raised to 1 / temperature: below 1 the likely becomes likelier. Default: 1.
    pub temperature: f64,
    /// Only so many of the most probable words can be drawn; 0 (default): all.
    pub top_k: usize,
    /// Tokens after which a document is broken off. Default: 200.
    pub max_length: usize,
}

impl SampleParams {
    /// Fails when a setting cannot work.
    fn check(&self) -> Result<()> {
        ensure!(
            self.temperature > 0.0 && self.temperature.is_finite(),
            "--temperature {} 不是温度：须大于 0，1 即模型原样",
            "--temperature {} is no temperature: it is above 0, 1 for the model as it is",
            self.temperature
        );
        ensure!(self.max_length > 0, "--max-length 0 没有词的位置", "--max-length 0 leaves no room for a word");
        Ok(())
    }
}

impl Default for SampleParams {
    fn default() -> SampleParams {
        SampleParams { documents: 1, temperature: 1.0, top_k: 0, max_length: 200 }
    }
}

/// A document that was drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeneratedText {
    /// Tokens of the text, with spaces between them.
    pub tokens: String,
    /// log10 of its probability under the model as it is, its end included if it has one.
    pub log10_prob: f64,
    /// True if it was broken off.
    pub broken_off: bool,
}

/// The continuations of each context: n-grams by context.
struct Continuations {
    /// Context's place, word, log10 probability; in ascending order of the first two.
    grams: Vec<(u32, u32, f32)>,
}

impl Continuations {
    fn new(index: &Index<'_>) -> Continuations {
        let orders = 2..=index.order();
        let mut grams: Vec<(u32, u32, f32)> = orders
            .flat_map(|order| index.grams(order).map(|(context, word, place)| (context, word, index.log10(place))))
            .collect();
        grams.par_sort_unstable_by_key(|&(context, word, _)| (context, word));
        Continuations { grams }
    }

    fn after(&self, state: State) -> &[(u32, u32, f32)] {
        let start = self.grams.partition_point(|gram| gram.0 < state.place);
        let length = self.grams[start..].partition_point(|gram| gram.0 == state.place);
        &self.grams[start..start + length]
    }
}

impl Index<'_> {
    /// log10 of the probability of every word after a context, by id.
    fn distribution(&self, state: State, continuations: &Continuations) -> Vec<f32> {
        let mut contexts = Vec::new();
        let mut context = state;
        while context != State::EMPTY {
            let look = self.look(context, UNKNOWN);
            contexts.push((context, look.weight));
            context = self.shorter(context, look);
        }
        let mut log10: Vec<f32> = (0..self.sizes()[0] as u32).map(|word| self.log10(word)).collect();
        for (context, weight) in contexts.into_iter().rev() {
            if weight != 0.0 {
                log10.iter_mut().for_each(|p| *p += weight);
            }
            continuations.after(context).iter().for_each(|&(_, word, p)| log10[word as usize] = p);
        }
        log10
    }
}

impl LanguageModel {
    /// Draws documents; the same seed gives the same ones.
    pub fn sample(&self, params: &SampleParams, ctx: &Ctx) -> Result<Vec<GeneratedText>> {
        let view = self.view();
        let continuations = ctx.install(|| Continuations::new(&view.index));
        let next = |state: &mut State, words: &[u32]| {
            if let Some(&word) = words.last() {
                *state = view.index.step(*state, word).state;
            }
            view.index.distribution(*state, &continuations)
        };
        draw_documents(&view.begin(), next, |word| view.vocabulary.word(word), (END, &[BEGIN, UNKNOWN]), params, ctx)
    }
}

/// Draws documents from any model. `next` gives log10 of the probability of each word, by number, after the words of a document so far, of
/// which it is told after each; it keeps a state, which begins as `begin`. `end` is the word that ends a document; words of `never` are not
/// drawn. The same seed gives the same documents.
pub(crate) fn draw_documents<'m, S: Clone + Sync>(
    begin: &S,
    next: impl Fn(&mut S, &[u32]) -> Vec<f32> + Sync,
    name: impl Fn(u32) -> Result<&'m str> + Sync,
    (end, never): (u32, &[u32]),
    params: &SampleParams,
    ctx: &Ctx,
) -> Result<Vec<GeneratedText>> {
    params.check()?;
    let draw = |number: usize| {
        let mut random = ChaCha8Rng::seed_from_u64(ctx.seed());
        random.set_stream(number as u64);
        let mut state = begin.clone();
        let (mut words, mut names) = (Vec::new(), Vec::<&str>::new());
        let mut log10_prob = 0.0;
        while words.len() < params.max_length {
            ctx.advance(0)?;
            let log10 = next(&mut state, &words);
            let word = choose(&log10, never, params, &mut random);
            log10_prob += f64::from(log10[word as usize]);
            if word == end {
                return Ok(GeneratedText { tokens: names.join(" "), log10_prob, broken_off: false });
            }
            names.push(name(word)?);
            words.push(word);
        }
        Ok(GeneratedText { tokens: names.join(" "), log10_prob, broken_off: true })
    };
    ctx.install(|| (0..params.documents).into_par_iter().map(draw).collect())
}

fn choose(log10: &[f32], never: &[u32], params: &SampleParams, random: &mut ChaCha8Rng) -> u32 {
    let drawn = (0..log10.len() as u32).filter(|word| !never.contains(word));
    let mut words: Vec<u32> = drawn.collect();
    if params.top_k > 0 && params.top_k < words.len() {
        let most = |a: &u32, b: &u32| log10[*b as usize].total_cmp(&log10[*a as usize]).then(a.cmp(b));
        words.select_nth_unstable_by(params.top_k - 1, most);
        words.truncate(params.top_k);
        words.sort_unstable();
    }
    // Relative to the most probable, so that a low temperature does not make all of them 0.
    let best = words.iter().map(|&word| log10[word as usize]).fold(f32::NEG_INFINITY, f32::max);
    let weight = |word: u32| 10f64.powf(f64::from(log10[word as usize] - best) / params.temperature);
    let weights: Vec<f64> = words.iter().map(|&word| weight(word)).collect();
    let mut left = random.random::<f64>() * weights.iter().sum::<f64>();
    let found = words.iter().zip(&weights).find(|(_, weight)| {
        left -= **weight;
        left < 0.0
    });
    // Rounding may leave nothing at the end of the line.
    found.map_or(words[words.len() - 1], |(&word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ngram::params::NgramParams;
    use crate::ngram::smoothing::tests::trained;

    fn model() -> LanguageModel {
        let texts = ["订单 增长 。", "订单 下降 。", "订单 增长 。", "增长"];
        LanguageModel::new(&trained(&texts, &NgramParams::default()), &Ctx::new(2, 1).unwrap()).unwrap()
    }

    fn params(documents: usize) -> SampleParams {
        SampleParams { documents, max_length: 30, ..SampleParams::default() }
    }

    #[test]
    fn a_distribution_is_what_the_index_gives_word_by_word() {
        let model = model();
        let view = model.view();
        let continuations = Continuations::new(&view.index);
        let begun = view.index.step(view.begin(), view.vocabulary.id("订单".as_bytes())).state;
        for state in [State::EMPTY, view.begin(), begun] {
            let log10 = view.index.distribution(state, &continuations);
            assert!(log10.iter().zip(0..).all(|(p, word)| (p - view.index.step(state, word).log10).abs() < 1e-6));
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_documents_whatever_the_threads() {
        let draw = |threads, seed| model().sample(&params(20), &Ctx::new(threads, seed).unwrap()).unwrap();
        assert!(draw(1, 1) == draw(2, 1) && draw(2, 1) == draw(8, 1));
        assert_ne!(draw(2, 1), draw(2, 2));
        // A document that was drawn has the probability that it says.
        for sample in draw(2, 1).iter().filter(|sample| !sample.broken_off) {
            let score = model().score(sample.tokens.split_ascii_whitespace());
            assert!((score.log10() - sample.log10_prob).abs() < 1e-5);
        }
    }

    #[test]
    fn words_come_as_often_as_they_are_probable() {
        let (model, n) = (model(), 4000);
        let samples = model.sample(&params(n), &Ctx::new(2, 7).unwrap()).unwrap();
        let view = model.view();
        for word in ["订单", "增长", "。"] {
            let p = |word: &str| {
                10f64.powf(f64::from(view.index.step(view.begin(), view.vocabulary.id(word.as_bytes())).log10))
            };
            // Unknown words are not drawn: their share falls to the others.
            let expected = p(word) / (1.0 - p("未见"));
            let first = samples.iter().filter(|s| s.tokens.split(' ').next() == Some(word)).count() as f64 / n as f64;
            let error = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((first - expected).abs() < 4.0 * error, "{word}: {first}, not {expected}");
        }
    }

    #[test]
    fn the_most_probable_word_alone_gives_one_document() {
        let greedy = [SampleParams { top_k: 1, ..params(3) }, SampleParams { temperature: 1e-3, ..params(3) }];
        let [best, cold] = greedy.map(|params| model().sample(&params, &Ctx::new(1, 3).unwrap()).unwrap());
        assert!(best.iter().all(|sample| sample.tokens.starts_with("订单 增长") && *sample == best[0]));
        assert_eq!(best, cold);
        let short = model().sample(&SampleParams { max_length: 1, ..params(1) }, &Ctx::new(1, 3).unwrap()).unwrap();
        assert!(short[0].broken_off && !short[0].tokens.contains(' '), "{short:?}");
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let refused = |params: SampleParams| model().sample(&params, &Ctx::new(1, 1).unwrap()).unwrap_err().to_string();
        assert!(refused(SampleParams { temperature: 0.0, ..params(1) }).contains("--temperature 0"));
        assert!(refused(SampleParams { max_length: 0, ..params(1) }).contains("--max-length 0"));
    }
}
