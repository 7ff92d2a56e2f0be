use rand::RngExt;
use serde_json::Value;

use super::*;
use crate::neural::check::check_gradients;
use crate::neural::fit::Network;
use crate::reference::read;
use crate::transformer::block::{BlockActivation, BlockKind, NormPlace};
use crate::transformer::tests::parity::{near, write_folder};
use crate::transformer::{BEGINS, SECOND};

fn block(causal: bool) -> BlockShape {
    let (place, activation) = (NormPlace::After, BlockActivation::Gelu);
    BlockShape {
        kind: BlockKind::Transformer,
        width: 4,
        heads: 2,
        between: 6,
        place,
        causal,
        activation,
        epsilon: 1e-5,
    }
}

fn shape() -> Seq2SeqShape {
    Seq2SeqShape { layers: 2, ..Seq2SeqShape::bart(12, 10, 1, block(false), 3) }
}

fn params(epochs: usize) -> TransformerParams {
    TransformerParams {
        epochs,
        batch: 100,
        lr: 0.003,
        patience: epochs,
        held_out_share: 0.0,
        dropout: 0.0,
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
fn whole(tokens: &[u32], places: &[Range<usize>]) -> crate::transformer::batches::TransformerPiece {
    crate::transformer::batches::TransformerPiece {
        texts: places.to_vec(),
        tokens: tokens.to_vec(),
        numbers: (0..places.len()).collect(),
        ..Default::default()
    }
}

#[test]
fn losses_gradients_and_steps_are_those_of_transformers() {
    let all: Value = serde_json::from_str(include_str!("../../../../../tests/reference/pytorch/seq2seq.json")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    write_folder(&all, dir.path());
    let folder = Seq2SeqFolder::open(dir.path()).unwrap();
    let model = folder.read().unwrap();
    let (tokens, places) = pairs(&read::<Vec<Vec<u32>>>(&all["sources"]), &read::<Vec<Vec<u32>>>(&all["targets"]));
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let given = TrainingTexts { texts, places: &places, goals: Goals::Summaries };
    let params = params(50);
    let net = Seq2SeqNet { shape: folder.shape, batches: TextBatches::new(&given, &params).unwrap(), noising: None };
    let piece = whole(&tokens, &places);
    let count = net.size(&piece) as f64;
    let (loss, gradients) = net.differentiated(&net.ready_of(&model.values()), &piece, 0.0);
    let theirs: f64 = read(&all["loss"]);
    assert!((loss / count - theirs).abs() < 1e-5 * theirs, "{} {theirs}", loss / count);
    // A folder with the gradients in the place of weights names them as transformers does.
    let of_gradients = Seq2Seq::of_values(folder.shape, gradients).unwrap();
    let written = tempfile::tempdir().unwrap();
    folder.write(written.path(), &of_gradients, None, &Value::Null).unwrap();
    let file = crate::TensorFile::read(&written.path().join("model.safetensors")).unwrap();
    let names = all["gradients"].as_object().unwrap();
    assert_eq!(names.len(), of_gradients.values().iter().filter(|values| !values.is_empty()).count());
    for (name, theirs) in names {
        let mean: Vec<f32> = file.numbers(name).unwrap().values.iter().map(|by| by / count as f32).collect();
        near(name, &mean, theirs, 1e-5);
    }
    let ctx = Ctx::new(2, 1).unwrap();
    let trained = model.train(texts, &places, None, &params, None, &ctx).unwrap();
    let losses: Vec<f32> = trained.epochs().iter().map(|epoch| epoch.loss as f32).collect();
    near("losses of the steps", &losses, &all["losses"], 1e-4);
}

#[test]
fn gradients_are_difference_quotients_in_training_to_restore_texts() {
    let shape = shape();
    let tokens = [2, 5 | BEGINS, 6, 7 | BEGINS, 8, 3, 2, 9, 10, 3];
    let places = [0..6, 6..10];
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let given = TrainingTexts { texts, places: &places, goals: Goals::Summaries };
    let params = params(1);
    let noising = Noising { noises: vec![Noise::Sentences, Noise::Infilling], share: 0.3, mask: 4 };
    let batches = TextBatches::new(&given, &params).unwrap();
    let net = Seq2SeqNet { shape, batches, noising: Some(&noising) };
    let piece = whole(&tokens, &places);
    assert_eq!(net.size(&piece), 10);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let drawn = |[rows, columns]: [usize; 2]| (0..rows * columns).map(|_| rng.random_range(-0.8..0.8)).collect();
    check_gradients("restored texts", shape.shapes().into_iter().map(drawn).collect(), |values| {
        net.differentiated(&net.ready_of(values), &piece, 0.1)
    });
}

#[test]
fn a_model_learns_to_turn_texts_around_with_the_same_bytes_by_any_threads() {
    let source = |i: u32| vec![2, 5 + i % 7, 5 + i / 7 % 7, 5 + i / 3 % 7, 3];
    let turned = |source: &Vec<u32>| vec![2, source[3], source[2], source[1], 3];
    let sources: Vec<Vec<u32>> = (0..60).map(source).collect();
    let (tokens, places) = pairs(&sources, &sources.iter().map(turned).collect::<Vec<_>>());
    let texts = TokenTexts { tokens: &tokens, frozen: None };
    let wide = |block: BlockShape| BlockShape { width: 16, between: 32, ..block };
    let encoder = EncoderShape { block: wide(block(false)), ..shape().encoder };
    let shape = Seq2SeqShape { encoder, block: wide(block(true)), ..shape() };
    let params = TransformerParams { batch: 10, lr: 0.01, held_out_share: 0.1, dropout: 0.1, ..params(40) };
    let trained = [1, 2, 8].map(|threads| {
        let ctx = Ctx::new(threads, 1).unwrap();
        Seq2Seq::random(shape, 1).unwrap().train(texts, &places, None, &params, None, &ctx).unwrap()
    });
    assert!(trained[1..].iter().all(|other| other.values() == trained[0].values()));
    let losses: Vec<f64> = trained[0].epochs().iter().filter_map(|epoch| epoch.held_out).collect();
    // A model that knows nothing of the source has a loss of 3/5 ln 7.
    assert!(losses[0] > 1.0 && losses.iter().any(|loss| *loss < 0.3), "{losses:?}");
}

#[test]
fn a_folder_that_cannot_be_trained_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Seq2SeqFolder::create(dir.path(), &shape(), [0, 2, 3]).unwrap();
    folder.write(dir.path(), &Seq2Seq::random(shape(), 1).unwrap(), None, &Value::Null).unwrap();
    assert!(Seq2SeqFolder::has_decoder(dir.path()) && Seq2SeqFolder::open(dir.path()).is_ok());
    let config: Value = serde_json::from_slice(&std::fs::read(dir.path().join("config.json")).unwrap()).unwrap();
    let error = |name: &str, value: Value| {
        let mut other = config.clone();
        other[name] = value;
        std::fs::write(dir.path().join("config.json"), other.to_string()).unwrap();
        format!("{:#}", Seq2SeqFolder::open(dir.path()).err().unwrap())
    };
    for (name, value, words) in [
        ("model_type", "t5".into(), "model_type is \"t5\""),
        ("scale_embedding", true.into(), "has scale_embedding"),
        ("tie_word_embeddings", false.into(), "tie_word_embeddings"),
        ("activation_function", "swish".into(), "\"swish\""),
        ("decoder_start_token_id", 99.into(), "beyond its 12 tokens"),
        ("d_model", 5.into(), "cannot be shared by 2 heads"),
    ] {
        let error = error(name, value);
        assert!(error.contains(words) && error.contains("cannot be trained"), "{error}");
    }
    let model = Seq2Seq::random(shape(), 1).unwrap();
    let texts = TokenTexts { tokens: &[2, 5, 3, 2 | SECOND, 6 | SECOND, 3 | SECOND], frozen: None };
    let top = TransformerParams { train: TrainedLayers::Top(1), ..params(1) };
    let error = model.train(texts, &[0..6], None, &top, None, &Ctx::new(1, 1).unwrap());
    assert!(error.err().unwrap().to_string().contains("leave --train"));
}
