use serde_json::Value;

use super::*;
use crate::neural::check::check_gradients;
use crate::neural::fit::Network;
use crate::reference::read;
use crate::transformer::SECOND;
use crate::transformer::batches::TransformerPiece;
use crate::transformer::tests::parity::{near, write_folder};

const SCORES: [AttentionScore; 4] =
    [AttentionScore::Additive, AttentionScore::General, AttentionScore::Dot, AttentionScore::None];

fn shape(cell: Cell, score: AttentionScore) -> RnnShape {
    RnnShape { cell, score, vocabulary: 12, width: 4, places: 20, ends: [2, 3] }
}

fn params(epochs: usize) -> TransformerParams {
    TransformerParams {
        epochs,
        batch: 100,
        lr: 0.01,
        patience: epochs,
        held_out_share: 0.0,
        dropout: 0.0,
        warmup: 0.0,
        ..TransformerParams::default()
    }
}

/// Texts whose second parts are to be written.
fn pairs(sources: &[Vec<u32>], targets: &[Vec<u32>]) -> (Vec<u32>, Vec<Range<usize>>) {
    let (mut tokens, mut places) = (Vec::new(), Vec::new());
    for (source, target) in sources.iter().zip(targets) {
        let begin = tokens.len();
        tokens.extend(source.iter().copied().chain(target.iter().map(|token| token | SECOND)));
        places.push(begin..tokens.len());
    }
    (tokens, places)
}

/// All texts in one piece.
fn piece(tokens: &[u32], places: &[Range<usize>]) -> TransformerPiece {
    let numbers = (0..places.len()).collect();
    TransformerPiece { texts: places.to_vec(), tokens: tokens.to_vec(), numbers, draw: 5, ..Default::default() }
}

fn given<'a>(tokens: &'a [u32], places: &'a [Range<usize>]) -> TrainingTexts<'a> {
    TrainingTexts { texts: TokenTexts { tokens, frozen: None }, places, goals: Goals::Summaries }
}

#[test]
fn losses_gradients_and_steps_of_each_cell_and_score_are_those_of_pytorch() {
    let all: Value = serde_json::from_str(include_str!("../../../../../tests/reference/pytorch/rnn.json")).unwrap();
    let (tokens, places) = pairs(&read::<Vec<Vec<u32>>>(&all["sources"]), &read::<Vec<Vec<u32>>>(&all["targets"]));
    let given = given(&tokens, &places);
    for case in all["cases"].as_array().unwrap() {
        let dir = tempfile::tempdir().unwrap();
        write_folder(case, dir.path());
        let folder = RnnFolder::open(dir.path()).unwrap();
        let context = format!("{:?} {:?}", folder.shape.cell, folder.shape.score);
        let model = folder.read().unwrap();
        let params = TransformerParams { schedule: crate::neural::ScheduleKind::Linear, ..params(5) };
        let net = RnnNet::new(folder.shape, TextBatches::new(&given, &params).unwrap(), 1.0);
        let piece = piece(&tokens, &places);
        let count = net.size(&piece) as f64;
        assert_eq!(count, 10.0);
        let (loss, gradients) = net.differentiated(&net.ready_of(&model.values()), &piece, 1.0, 0.0);
        let theirs: f64 = read(&case["loss"]);
        assert!((loss / count - theirs).abs() < 1e-5 * theirs, "{context}: {} {theirs}", loss / count);
        // A folder with the gradients in the place of weights names them.
        let of_gradients = RnnSeq2Seq::of_values(folder.shape, gradients).unwrap();
        let written = tempfile::tempdir().unwrap();
        folder.write(written.path(), &of_gradients, None, &Value::Null).unwrap();
        let file = crate::TensorFile::read(&written.path().join("model.safetensors")).unwrap();
        let names = case["gradients"].as_object().unwrap();
        assert_eq!(names.len(), of_gradients.values().iter().filter(|values| !values.is_empty()).count());
        for (name, theirs) in names {
            let mean: Vec<f32> = file.numbers(name).unwrap().values.iter().map(|by| by / count as f32).collect();
            near(&format!("{context} {name}"), &mean, theirs, 1e-5);
        }
        let ctx = Ctx::new(2, 1).unwrap();
        let trained = model.train(given.texts, &places, 1.0, &params, None, &ctx).unwrap();
        let losses: Vec<f32> = trained.epochs().iter().map(|epoch| epoch.loss as f32).collect();
        near(&format!("{context} losses of the steps"), &losses, &case["losses"], 1e-4);
    }
}

#[test]
fn gradients_are_difference_quotients_with_dropout_and_own_tokens() {
    let sources = [vec![2, 5, 6, 7, 8, 3], vec![2, 9, 3], vec![2, 10, 11, 3]];
    let targets = [vec![2, 8, 7, 3], vec![2, 9, 9, 10, 6, 3], vec![2, 5, 3]];
    let (tokens, places) = pairs(&sources, &targets);
    let (given, params) = (given(&tokens, &places), params(1));
    for cell in [Cell::Gru, Cell::Lstm] {
        for score in SCORES {
            let shape = shape(cell, score);
            let net = RnnNet::new(shape, TextBatches::new(&given, &params).unwrap(), 0.5);
            let piece = piece(&tokens, &places);
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let drawn =
                |[rows, columns]: [usize; 2]| (0..rows * columns).map(|_| rng.random_range(-0.8..0.8)).collect();
            let values: Vec<Vec<f64>> = shape.shapes().into_iter().map(drawn).collect();
            check_gradients(&format!("{cell:?} {score:?}"), values, |values| {
                net.differentiated(&net.ready_of(values), &piece, 0.5, 0.1)
            });
        }
    }
}

#[test]
fn the_share_of_forced_tokens_falls_evenly() {
    let (tokens, places) = pairs(&[vec![2, 5, 3]], &[vec![2, 5, 3]]);
    let given = given(&tokens, &places);
    let forced = |epochs: usize, last: f64| {
        let params = params(epochs);
        let net = RnnNet::new(shape(Cell::Gru, AttentionScore::Dot), TextBatches::new(&given, &params).unwrap(), last);
        (1..=epochs).map(|epoch| net.forced_in(epoch)).collect::<Vec<f64>>()
    };
    assert_eq!(forced(5, 0.5), [1.0, 0.875, 0.75, 0.625, 0.5]);
    assert_eq!(forced(1, 0.25), [0.25]);
    assert_eq!(forced(3, 1.0), [1.0; 3]);
}

/// Sequences of three to five of seven tokens, each begun by 2 and ended by 3.
fn sequences(count: u32) -> Vec<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let one = |_| {
        let inner = (0..rng.random_range(3..6)).map(|_| rng.random_range(5..12)).collect::<Vec<u32>>();
        [&[2], inner.as_slice(), &[3]].concat()
    };
    (0..count).map(one).collect()
}

fn reversed(source: &[u32]) -> Vec<u32> {
    let inner = source[1..source.len() - 1].iter().rev().copied();
    [2].into_iter().chain(inner).chain([3]).collect()
}

/// The share of new sequences that are written without a mistake, behind a training on others.
fn exact(cell: Cell, score: AttentionScore, forced: f64, target: impl Fn(&[u32]) -> Vec<u32>) -> (RnnSeq2Seq, f64) {
    let all = sequences(1300);
    let (sources, others) = all.split_at(1200);
    let (tokens, places) = pairs(sources, &sources.iter().map(|source| target(source)).collect::<Vec<_>>());
    let shape = RnnShape { width: 32, ..shape(cell, score) };
    let params = TransformerParams { batch: 32, lr: 0.01, ..params(12) };
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let begun = RnnSeq2Seq::random(shape, 1).unwrap();
    let trained = begun.train(texts, &places, forced, &params, None, &Ctx::new(2, 1).unwrap()).unwrap();
    let right = others.iter().filter(|source| trained.write(source, 10).target == target(source)[1..]).count();
    let share = right as f64 / others.len() as f64;
    (trained, share)
}

#[test]
fn sequences_are_copied_and_reversed_where_the_decoder_looks() {
    let (copier, share) = exact(Cell::Gru, AttentionScore::Additive, 1.0, <[u32]>::to_vec);
    assert!(share >= 0.95, "copied {share}");
    let (reverser, share) = exact(Cell::Lstm, AttentionScore::General, 0.75, reversed);
    assert!(share >= 0.95, "reversed {share}");
    let (_, share) = exact(Cell::Gru, AttentionScore::Dot, 1.0, reversed);
    assert!(share >= 0.95, "reversed by dot {share}");
    // Each token of a copy is written behind its own, mostly, and of a reversed text behind that of the other end. An encoder's vector knows its
    // neighbours, so the place may lie beside the token.
    for (model, place) in [(&copier, [1, 2, 3, 4]), (&reverser, [4, 3, 2, 1])] {
        let source = [2, 7, 9, 6, 11, 3];
        let target: Vec<u32> = place.iter().map(|&place| source[place]).chain([3]).collect();
        let aligned = model.align(&source, &target).unwrap();
        assert_eq!(aligned, model.write(&source, 10));
        assert!(aligned.shares.iter().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5 && row.len() == 6));
        for (row, &place) in aligned.shares.iter().zip(&place) {
            let near: f32 = row[place - 1..=place + 1].iter().sum();
            assert!(near > 0.5, "{place} {:?}", aligned.shares);
        }
    }
}

#[test]
fn the_bytes_do_not_depend_on_the_threads_and_a_killed_training_goes_on() {
    let sources = sequences(200);
    let (tokens, places) = pairs(&sources, &sources.iter().map(|source| reversed(source)).collect::<Vec<_>>());
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let params = TransformerParams { batch: 100, held_out_share: 0.1, dropout: 0.1, ..params(12) };
    let begin =
        || RnnSeq2Seq::random(RnnShape { width: 16, ..shape(Cell::Lstm, AttentionScore::Additive) }, 1).unwrap();
    let train =
        |threads: usize| begin().train(texts, &places, 0.5, &params, None, &Ctx::new(threads, 1).unwrap()).unwrap();
    let uninterrupted = train(1);
    for threads in [2, 3, 8] {
        assert!(train(threads).values() == uninterrupted.values(), "{threads} threads");
    }
    let losses: Vec<f64> = uninterrupted.epochs().iter().filter_map(|epoch| epoch.held_out).collect();
    assert!(losses.len() == 12 && losses[11] < losses[0], "{losses:?}");
    // A training that is cancelled in the middle leaves a checkpoint; the same training goes on from it.
    let dir = tempfile::tempdir().unwrap();
    let checkpoint = || Checkpoint::new(&dir.path().join("m"), &Value::Null).unwrap().eager();
    let cancelled = Ctx::new(2, 1).unwrap();
    let stop = cancelled.clone();
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !dir.path().join("m.checkpoint").exists() {
                std::thread::yield_now();
            }
            stop.cancel();
        });
        let ended = begin().train(texts, &places, 0.5, &params, Some(&checkpoint()), &cancelled);
        watch.join().unwrap();
        assert!(ended.is_err() || ended.unwrap().values() == uninterrupted.values());
    });
    let resumed = begin().train(texts, &places, 0.5, &params, Some(&checkpoint()), &Ctx::new(2, 1).unwrap()).unwrap();
    assert!(resumed.values() == uninterrupted.values());
    assert_eq!(resumed.epochs(), uninterrupted.epochs());
}

#[test]
fn a_model_without_attention_learns_too_and_shows_no_alignment() {
    let (model, share) = exact(Cell::Gru, AttentionScore::None, 1.0, |source| vec![2, source[1], 3]);
    assert!(share >= 0.95, "{share}");
    let error = model.align(&[2, 5, 3], &[5, 3]).unwrap_err().to_string();
    assert!(error.contains("no attention") && error.contains("--attention none"), "{error}");
}

#[test]
fn bad_settings_are_told() {
    let shape = shape(Cell::Gru, AttentionScore::Dot);
    let error = |shape: RnnShape| RnnSeq2Seq::random(shape, 1).err().unwrap().to_string();
    assert!(error(RnnShape { width: 5, ..shape }).contains("give an even number (--hidden)"));
    assert!(error(RnnShape { ends: [2, 12], ..shape }).contains("beyond its 12 tokens"));
    let (tokens, places) = pairs(&[vec![2, 5, 3]], &[vec![2, 5, 3]]);
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let train = |forced: f64, params: &TransformerParams| {
        let begun = RnnSeq2Seq::random(shape, 1).unwrap();
        begun.train(texts, &places, forced, params, None, &Ctx::new(1, 1).unwrap()).err().unwrap().to_string()
    };
    assert!(train(1.5, &params(1)).contains("--teacher-forcing 1.5 must lie between 0 and 1"));
    let top = TransformerParams { train: TrainedLayers::Top(1), ..params(1) };
    assert!(train(1.0, &top).contains("leave --train"));
    let dir = tempfile::tempdir().unwrap();
    let folder = RnnFolder::create(dir.path(), shape, 0).unwrap();
    folder.write(dir.path(), &RnnSeq2Seq::random(shape, 1).unwrap(), None, &Value::Null).unwrap();
    assert!(RnnFolder::is_one(dir.path()) && RnnFolder::open(dir.path()).unwrap().read().is_ok());
    let config: Value = serde_json::from_slice(&std::fs::read(dir.path().join("config.json")).unwrap()).unwrap();
    for (name, value, words) in [
        ("cell", "elman".into(), "cell in config.json"),
        ("attention", Value::Null, "attention in config.json"),
        ("eos_token_id", 99.into(), "beyond its 12 tokens"),
        ("decoder_start_token_id", Value::Null, "does not say decoder_start_token_id"),
        ("hidden_size", 3.into(), "even number"),
    ] {
        let mut other = config.clone();
        other[name] = value;
        std::fs::write(dir.path().join("config.json"), other.to_string()).unwrap();
        let error = format!("{:#}", RnnFolder::open(dir.path()).err().unwrap());
        assert!(error.contains(words) && error.contains("cannot be used"), "{error}");
    }
}
