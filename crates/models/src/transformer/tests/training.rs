//! Trainings on small texts: encoders learn, the bytes do not depend on threads and interruptions, and settings that cannot work are refused.

use std::path::Path;

use serde_json::Value;

use super::parity::{params, reference, write_folder};
use super::*;
use crate::Goal;
use crate::transformer::encoder::{EmbeddingWeights, Encoder, EncoderInput};
use crate::transformer::head::Head;
use crate::transformer::train::{SMALLER, check_memory};
use inkstone_base::job::Ctx;

/// Texts with a token that names their class.
fn labelled(count: usize) -> (Vec<u32>, Vec<Range<usize>>, Goal) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let class: Vec<u32> = (0..count).map(|_| rng.random_range(0..2)).collect();
    let mut tokens = Vec::new();
    let mut places = Vec::new();
    for &class in &class {
        let length = rng.random_range(3..9);
        let mut text: Vec<u32> = (0..length).map(|_| rng.random_range(7..14)).collect();
        let place = rng.random_range(0..length);
        text[place] = 5 + class;
        places.push(tokens.len()..tokens.len() + length + 2);
        tokens.extend([2].into_iter().chain(text).chain([3]));
    }
    (tokens, places, Goal::Classes { class, names: vec!["差".into(), "好".into()] })
}

fn small() -> EncoderShape {
    let block = BlockShape {
        kind: BlockKind::Transformer,
        width: 16,
        heads: 2,
        between: 32,
        place: NormPlace::After,
        causal: false,
        activation: BlockActivation::Gelu,
        epsilon: 1e-12,
    };
    let (factor, layers, blocks) = (None, 2, 2);
    EncoderShape { vocabulary: 14, places: 12, first_place: 0, segments: 2, factor, layers, blocks, block }
}

const TEXT: HeadForm = HeadForm::Text { goal: TextGoal::Classes(2), pooled: PooledActivation::Tanh };

/// An encoder trained from nothing, or from the encoder of a base under a new head.
fn trained(
    base: Option<&Transformer>,
    layers: TrainedLayers,
    gradual: bool,
    dropout: f64,
    threads: usize,
) -> Transformer {
    let (tokens, places, goal) = labelled(300);
    let given = TrainingTexts {
        texts: TokenTexts { tokens: &tokens, frozen: None },
        places: &places,
        goals: Goals::Texts(goal),
    };
    let params = params(1.0, 5e-3, layers);
    let params = TransformerParams { epochs: 6, batch: 16, held_out_share: 0.2, gradual, dropout, ..params };
    let ctx = Ctx::new(threads, 1).unwrap();
    let begun = base.map_or_else(
        || Transformer::random(small(), TEXT, None, 1).unwrap(),
        |base| {
            let values = base.values()[..small().weights()].iter().map(|values| values.to_vec()).collect();
            Transformer::of_values(small(), TEXT, values, 1).unwrap()
        },
    );
    let dir = tempfile::tempdir().unwrap();
    let frozen = FrozenStates::compute(&begun, &params, &tokens, &places, dir.path(), &ctx).unwrap();
    assert_eq!(frozen.is_some(), matches!(layers, TrainedLayers::Top(_) | TrainedLayers::Head));
    let kept = TrainingTexts { texts: TokenTexts { frozen: frozen.as_ref(), ..given.texts }, ..given };
    begun.train(&kept, &params, None, &ctx).unwrap()
}

#[test]
fn each_part_learns_and_the_bytes_do_not_depend_on_the_threads() {
    let base = trained(None, TrainedLayers::All, false, 0.1, 2);
    let held_out = |trained: &Transformer| trained.epochs().last().unwrap().held_out.unwrap();
    assert!(held_out(&base) < 0.1, "{:?}", base.epochs());
    for (layers, gradual, dropout) in [
        (TrainedLayers::All, false, 0.1),
        (TrainedLayers::All, true, 0.0),
        (TrainedLayers::Top(1), false, 0.1),
        (TrainedLayers::Head, false, 0.0),
        (TrainedLayers::LowRank(4), false, 0.1),
    ] {
        let one = trained(Some(&base), layers, gradual, dropout, 1);
        for threads in [2, 8] {
            assert_eq!(one.values(), trained(Some(&base), layers, gradual, dropout, threads).values(), "{layers:?}");
        }
        assert!(held_out(&one) < 0.2, "{layers:?} {:?}", one.epochs());
        let changed: Vec<bool> = base.values().iter().zip(one.values()).map(|(a, b)| *a != b).collect();
        let (embeddings, blocks) = changed.split_at(EmbeddingWeights::COUNT);
        let (blocks, head) = blocks.split_at(2 * BlockWeights::COUNT);
        assert!(head.iter().all(|changed| *changed), "{layers:?}");
        assert_eq!(embeddings[0], layers == TrainedLayers::All, "{layers:?}");
        let expected = match layers {
            TrainedLayers::All | TrainedLayers::LowRank(_) => [true, true],
            TrainedLayers::Top(_) => [false, true],
            TrainedLayers::Head => [false, false],
        };
        assert_eq!([blocks[0], blocks[BlockWeights::COUNT]], expected, "{layers:?}");
    }
}

#[test]
fn names_that_took_the_place_of_others_are_learned_beside_the_words() {
    // A name follows from the token before it; half of the names are another.
    let text = |number: u32| {
        let (own, replaced) = (number % 4, number / 4 % 2 == 1);
        let name = if replaced { (9 + (own + 1 + number / 8 % 3) % 4) | REPLACED } else { 9 + own };
        [2, 5 + own, name | NAMED, 5 + (own + number / 3) % 4, 3]
    };
    let tokens: Vec<u32> = (0..600).flat_map(text).collect();
    let places: Vec<Range<usize>> = (0..600).map(|number| 5 * number..5 * number + 5).collect();
    let masking = Masking { share: 0.3, mask: 4, vocabulary: 14, separator: None, spans: false, shuffled: 0.0 };
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let given = TrainingTexts { texts, places: &places, goals: Goals::WordsAndNames(masking) };
    let words = HeadForm::Words { activation: BlockActivation::Gelu };
    let heads = HeadForms { main: words, beside: Some(HeadForm::Tokens { tags: 2 }) };
    let params = params(1.0, 5e-3, TrainedLayers::All);
    let params = TransformerParams { epochs: 40, batch: 16, held_out_share: 0.2, ..params };
    let trained = |threads: usize| {
        let begun = Transformer::random(small(), heads, None, 1).unwrap();
        begun.train(&given, &params, None, &Ctx::new(threads, 1).unwrap()).unwrap()
    };
    let one = trained(1);
    assert_eq!(one.values(), trained(2).values());
    let names = one.with_beside().unwrap().unwrap();
    let scores = names.scores(texts, &places[480..], &Ctx::new(1, 1).unwrap()).unwrap();
    let called = tokens[5 * 480..].iter().zip(scores.chunks(2)).filter(|(token, _)| **token & NAMED != 0);
    let right = called.filter(|(token, row)| (row[1] > row[0]) == (**token & REPLACED != 0)).count();
    assert!(right > 108, "{right} of 120");
}

#[test]
fn words_are_learned_beside_a_target_and_both_heads_are_kept() {
    let (tokens, places, goal) = labelled(300);
    let masking = Masking { share: 0.15, mask: 4, vocabulary: 14, separator: None, spans: false, shuffled: 0.0 };
    let heads = HeadForms { main: TEXT, beside: Some(HeadForm::Words { activation: BlockActivation::Gelu }) };
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let goals = Goals::TextsAndWords(goal, WordsBeside { weight: 0.5, masking: Some(masking) });
    let given = TrainingTexts { texts, places: &places, goals };
    let words = TrainingTexts { texts, places: &places, goals: Goals::Words(masking) };
    let ctx = Ctx::new(2, 1).unwrap();
    let loss_of_words = |model: &Transformer| model.with_beside().unwrap().unwrap().loss(&words, &ctx).unwrap();
    let begin = || Transformer::random(small(), heads, None, 1).unwrap();
    for layers in [TrainedLayers::All, TrainedLayers::Top(1), TrainedLayers::LowRank(4)] {
        let params =
            TransformerParams { epochs: 8, batch: 16, held_out_share: 0.2, dropout: 0.1, ..params(1.0, 5e-3, layers) };
        let trained = |threads: usize| begin().train(&given, &params, None, &Ctx::new(threads, 1).unwrap()).unwrap();
        let one = trained(1);
        assert_eq!(one.values(), trained(8).values(), "{layers:?}");
        assert_eq!(one.heads, heads);
        assert!(loss_of_words(&one) < loss_of_words(&begin()) - 0.1, "{layers:?}");
        let bound = if layers == TrainedLayers::All { 0.2 } else { 0.6 };
        assert!(one.epochs().last().unwrap().held_out.unwrap() < bound, "{layers:?} {:?}", one.epochs());
    }
}

/// Texts in which each token is followed by the one that is larger by one.
fn counting() -> (Vec<u32>, Vec<Range<usize>>) {
    let text = |first: u32| [2].into_iter().chain((0..8).map(move |i| 5 + (first + i) % 9)).chain([3]);
    let places = (0..200).map(|number| number * 10..number * 10 + 10).collect();
    ((0..200).flat_map(text).collect(), places)
}

#[test]
fn next_tokens_are_learned_from_those_before_alone() {
    let (tokens, places) = counting();
    let block =
        BlockShape { place: NormPlace::Before, causal: true, activation: BlockActivation::GeluTanh, ..small().block };
    let shape = EncoderShape { segments: 0, block, ..small() };
    let texts =
        TrainingTexts { texts: TokenTexts { tokens: &tokens, frozen: None }, places: &places, goals: Goals::Next };
    let params = params(1.0, 5e-3, TrainedLayers::All);
    let params = TransformerParams { epochs: 20, batch: 16, held_out_share: 0.2, dropout: 0.1, ..params };
    let trained = |threads: usize| {
        let begun = Transformer::random(shape, HeadForm::Next, None, 1).unwrap();
        begun.train(&texts, &params, None, &Ctx::new(threads, 1).unwrap()).unwrap()
    };
    let one = trained(1);
    for threads in [2, 8] {
        assert_eq!(trained(threads).values(), one.values(), "{threads} threads");
    }
    // The first token is one of nine, and the end of a text is known by its place; all others follow from the token before.
    let loss = one.epochs().last().unwrap().held_out.unwrap();
    let least = 9f64.ln() / 9.0;
    assert!(loss > 0.9 * least && loss < 1.5 * least, "{loss} {least}");
}

#[test]
fn a_discriminator_learns_which_tokens_were_replaced() {
    let (tokens, places) = counting();
    let masking = Masking { share: 0.15, mask: 4, vocabulary: 14, separator: None, spans: false, shuffled: 0.0 };
    let texts = TrainingTexts {
        texts: TokenTexts { tokens: &tokens, frozen: None },
        places: &places,
        goals: Goals::Words(masking),
    };
    let params = params(1.0, 5e-3, TrainedLayers::All);
    let params = TransformerParams { epochs: 80, batch: 16, held_out_share: 0.2, dropout: 0.0, ..params };
    let narrow = BlockShape { width: 8, between: 16, ..small().block };
    let generator = EncoderShape { factor: Some(16), layers: 1, blocks: 1, block: narrow, ..small() };
    let trained = |threads: usize| {
        let words = HeadForm::Words { activation: BlockActivation::Gelu };
        let pair = [(small(), HeadForm::Replaced), (generator, words)]
            .map(|(shape, form)| Transformer::random(shape, form, None, 1).unwrap());
        train_electra(pair, &texts, &params, None, &Ctx::new(threads, 1).unwrap()).unwrap()
    };
    let [discriminator, generator] = trained(1);
    for threads in [2, 8] {
        let [again, _] = trained(threads);
        assert_eq!(again.values(), discriminator.values(), "{threads} threads");
    }
    let losses: Vec<f64> = discriminator.epochs().iter().map(|epoch| epoch.held_out.unwrap()).collect();
    assert!(losses[79] < losses[0] / 2.0, "{losses:?}");
    assert_eq!(discriminator.values()[..5], generator.values()[..5]);
    // The discriminator finds a wrong token among right ones.
    let values = discriminator.values();
    let encoder = Encoder::new(small(), &values, 0..2, |_| None);
    let head = Head::new(HeadForm::Replaced, &values[small().weights()..], values[0], &small());
    let text = [2, 5, 6, 7, 12, 9, 10, 11, 12, 3];
    let input = EncoderInput { tokens: &text, texts: &[0..10] };
    let scores = head.scores(&encoder.run(encoder.embed(input), input.texts));
    let most = (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    assert_eq!(most, Some(4), "{scores:?}");
}

#[test]
fn masked_words_are_learned_and_a_killed_training_goes_on() {
    let (tokens, places) = counting();
    let masking = Masking { share: 0.15, mask: 4, vocabulary: 14, separator: None, spans: false, shuffled: 0.0 };
    let given = TrainingTexts {
        texts: TokenTexts { tokens: &tokens, frozen: None },
        places: &places,
        goals: Goals::Words(masking),
    };
    let form = HeadForm::Words { activation: BlockActivation::Gelu };
    let params = params(1.0, 5e-3, TrainedLayers::All);
    let params = TransformerParams { epochs: 40, batch: 16, held_out_share: 0.2, ..params };
    let begin = || Transformer::random(small(), form, None, 1).unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let uninterrupted = begin().train(&given, &params, None, &ctx).unwrap();
    let losses: Vec<f64> = uninterrupted.epochs().iter().map(|epoch| epoch.held_out.unwrap()).collect();
    assert!(losses[39] < losses[0] / 3.0, "{losses:?}");
    // A training that is cancelled in the middle of an epoch leaves a checkpoint; the same training goes on from it.
    let dir = tempfile::tempdir().unwrap();
    let checkpoint = || crate::checkpoint::Checkpoint::new(&dir.path().join("m"), &Value::Null).unwrap().eager();
    let cancelled = Ctx::new(2, 1).unwrap();
    let stop = cancelled.clone();
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !dir.path().join("m.checkpoint").exists() {
                std::thread::yield_now();
            }
            std::thread::sleep(std::time::Duration::from_millis(30));
            stop.cancel();
        });
        let ended = begin().train(&given, &params, Some(&checkpoint()), &cancelled);
        watch.join().unwrap();
        assert!(ended.is_err() || ended.unwrap().values() == uninterrupted.values());
    });
    let resumed = begin().train(&given, &params, Some(&checkpoint()), &ctx).unwrap();
    assert_eq!(resumed.values(), uninterrupted.values());
    assert_eq!(resumed.epochs(), uninterrupted.epochs());
}

#[test]
fn what_cannot_be_trained_is_told() {
    let all = reference();
    let dir = tempfile::tempdir().unwrap();
    let error = |dir: &Path| format!("{:#}", EncoderFolder::open(dir).err().unwrap());
    assert!(error(dir.path()).contains("no folder of a model with config.json and model.safetensors"));
    let mut case = all["cases"][0].clone();
    write_folder(&case, dir.path());
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    assert!(error(dir.path()).contains("safe_serialization=True"), "{}", error(dir.path()));
    for (name, value, words) in [
        ("model_type", "t5", "bert, ernie, roberta"),
        ("hidden_act", "swish", "gelu, gelu_new and relu"),
        ("position_embedding_type", "relative_key", "not absolute"),
    ] {
        let mut other = case.clone();
        other["config"][name] = value.into();
        write_folder(&other, dir.path());
        assert!(error(dir.path()).contains(words), "{}", error(dir.path()));
    }
    case["config"]["hidden_size"] = 10.into();
    write_folder(&case, dir.path());
    let form = HeadForm::Text { goal: TextGoal::Classes(3), pooled: PooledActivation::Tanh };
    let error = format!("{:#}", EncoderFolder::open(dir.path()).unwrap().read(form, 1).err().unwrap());
    assert!(error.contains("[14, 8]") && error.contains("config.json [14, 10]"), "{error}");
    let top = Transformer::random(small(), TEXT, None, 1).unwrap();
    let (tokens, places, goal) = labelled(20);
    let given = TrainingTexts {
        texts: TokenTexts { tokens: &tokens, frozen: None },
        places: &places,
        goals: Goals::Texts(goal),
    };
    let large = EncoderShape { vocabulary: 100_000, ..small() };
    let large = Transformer::random(large, TEXT, None, 1).unwrap();
    let error = check_memory(&large.weights, SMALLER, 2, Some(9)).unwrap_err().to_string();
    assert!(error.contains("about 67 MB of memory, and 9 MB are free: train a part (--train top:2"), "{error}");
    check_memory(&large.weights, SMALLER, 2, Some(70)).unwrap();
    let ctx = Ctx::new(1, 1).unwrap();
    let fast = TransformerParams { warmup: 0.0, ..params(1.0, 1e30, TrainedLayers::All) };
    let error = Transformer::random(small(), TEXT, None, 1).unwrap().train(&given, &fast, None, &ctx);
    let error = error.err().unwrap().to_string();
    assert!(error.contains("no longer a number: epoch 2") && error.contains("lower the learning rate"), "{error}");
    let error = top.train(&given, &params(1.0, 0.1, TrainedLayers::Top(3)), None, &ctx);
    assert!(error.err().unwrap().to_string().contains("the last 3 of 2 layers"));
}
