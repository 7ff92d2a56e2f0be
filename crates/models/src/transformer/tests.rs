use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::neural::check::check_gradients;
use crate::reference::read;

const TEXTS: [Range<usize>; 3] = [0..3, 3..4, 4..9];

fn shape(place: NormPlace, activation: BlockActivation) -> BlockShape {
    BlockShape { width: 6, heads: 2, between: 8, place, activation, epsilon: 1e-12 }
}

fn drawn(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..count).map(|_| rng.random_range(-0.8..0.8)).collect()
}

#[test]
fn gradients_by_inputs_and_weights_are_difference_quotients() {
    for place in [NormPlace::After, NormPlace::Before] {
        for activation in [BlockActivation::Gelu, BlockActivation::GeluTanh, BlockActivation::Relu] {
            let shape = shape(place, activation);
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let mut values: Vec<Vec<f64>> = shape.sizes().map(|count| drawn(count, &mut rng)).to_vec();
            values.push(drawn(9 * shape.width, &mut rng));
            let wanted = drawn(9 * shape.width, &mut rng);
            check_gradients(&format!("{place:?} {activation:?}"), values, |values| {
                let (weights, x) = (&values[..BlockWeights::COUNT], values[BlockWeights::COUNT]);
                let block = EncoderBlock::new(shape, weights);
                let (out, passed) = block.forward(x, &TEXTS, None);
                // The loss is a weighted sum of the outputs.
                let loss = out.iter().zip(&wanted).map(|(out, wanted)| out * wanted).sum();
                let (by_inputs, mut gradients) = block.back(&passed, &TEXTS, &wanted, &WantedGradients::ALL);
                gradients.push(by_inputs);
                (loss, gradients)
            });
        }
    }
}

#[test]
fn a_text_has_the_same_bits_whatever_it_stands_beside() {
    let shape = shape(NormPlace::After, BlockActivation::Gelu);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<f32>>();
    let weights: Vec<Vec<f32>> = shape.sizes().map(|count| narrow(drawn(count, &mut rng))).to_vec();
    let weights: Vec<&[f32]> = weights.iter().map(Vec::as_slice).collect();
    let x = narrow(drawn(9 * shape.width, &mut rng));
    let block = EncoderBlock::new(shape, &weights);
    let together = block.forward(&x, &TEXTS, None).0;
    for text in TEXTS {
        let place = text.start * shape.width..text.end * shape.width;
        let alone = block.forward(&x[place.clone()], &[0..text.len()], None).0;
        assert_eq!(alone, together[place]);
    }
}

#[test]
fn outputs_and_gradients_are_those_of_pytorch() {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/reference/pytorch/transformer.json")).unwrap();
    let lengths: Vec<usize> = read(&all["lengths"]);
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    let texts: Vec<Range<usize>> = ends.zip(&lengths).map(|(end, length)| end - length..end).collect();
    for case in all["cases"].as_array().unwrap() {
        let shape = BlockShape {
            width: read(&all["width"]),
            heads: read(&all["heads"]),
            between: read(&all["between"]),
            place: if case["place"] == "after" { NormPlace::After } else { NormPlace::Before },
            activation: match case["activation"].as_str().unwrap() {
                "gelu" => BlockActivation::Gelu,
                "gelu_tanh" => BlockActivation::GeluTanh,
                _ => BlockActivation::Relu,
            },
            epsilon: 1e-12,
        };
        let weights: Vec<Vec<f32>> = read(&case["weights"]);
        let weights: Vec<&[f32]> = weights.iter().map(Vec::as_slice).collect();
        let (x, wanted): (Vec<f32>, Vec<f32>) = (read(&case["x"]), read(&case["wanted"]));
        let block = EncoderBlock::new(shape, &weights);
        let (out, passed) = block.forward(&x, &texts, None);
        let (by_x, by_weights) = block.back(&passed, &texts, &wanted, &WantedGradients::ALL);
        let near = |name: &str, ours: &[f32], theirs: &[f64]| {
            assert_eq!(ours.len(), theirs.len(), "{name}");
            let size = theirs.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert!(
                    (f64::from(*ours) - theirs).abs() < 1e-5 * size,
                    "{name} of {}: {ours} {theirs}",
                    case["place"]
                );
            }
        };
        near("outputs", &out, &read::<Vec<f64>>(&case["out"]));
        near("inputs", &by_x, &read::<Vec<f64>>(&case["by_x"]));
        let theirs: Vec<Vec<f64>> = read(&case["by_weights"]);
        by_weights
            .iter()
            .zip(&theirs)
            .zip(0..)
            .for_each(|((ours, theirs), n)| near(&format!("weight {n}"), ours, theirs));
    }
}

mod encoder {
    //! Encoders with heads against transformers' classes, by folders that these could have written.

    use std::path::Path;

    use safetensors::Dtype;
    use safetensors::tensor::TensorView;
    use serde_json::Value;

    use super::super::adapt::LowRank;
    use super::super::encoder::TrainedPart;
    use super::super::train::{TransformerNet, TransformerPiece};
    use super::*;
    use crate::Goal;
    use crate::neural::{Schedule, ScheduleKind};
    use inkstone_base::job::Ctx;

    const STEPS: usize = 50;

    fn reference() -> Value {
        serde_json::from_str(include_str!("../../../../tests/reference/pytorch/encoder.json")).unwrap()
    }

    fn texts(all: &Value) -> (Vec<u32>, Vec<Range<usize>>) {
        let texts: Vec<Vec<u32>> = read(&all["texts"]);
        let places = texts.iter().scan(0, |end, text| {
            *end += text.len();
            Some(*end - text.len()..*end)
        });
        (texts.concat(), places.collect())
    }

    /// Writes config.json and model.safetensors of a case.
    fn write_folder(case: &Value, folder: &Path) {
        std::fs::write(folder.join("config.json"), case["config"].to_string()).unwrap();
        let named = |(name, shape): (&String, &Value)| {
            let values: Vec<f32> = read(&case["weights"][name]);
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            (name.clone(), read::<Vec<usize>>(shape), bytes)
        };
        let all: Vec<(String, Vec<usize>, Vec<u8>)> = case["shapes"].as_object().unwrap().iter().map(named).collect();
        let views = all
            .iter()
            .map(|(name, shape, bytes)| (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
        std::fs::write(folder.join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    }

    /// The goal of a case, and its head.
    fn goal(case: &Value, folder: &EncoderFolder) -> (Goals, HeadForm) {
        let names = |count: usize| (0..count).map(|name| name.to_string()).collect::<Vec<String>>();
        match case["class"].as_str().unwrap() {
            "BertForMaskedLM" => {
                let masking = Masking { share: 0.15, mask: 4, vocabulary: 14 };
                (Goals::Words(masking), folder.words().unwrap())
            }
            "RobertaForSequenceClassification" => {
                let rows: Vec<Vec<f64>> = read(&case["labels"]);
                let on =
                    |row: &Vec<f64>| (0..).zip(row).filter(|(_, on)| **on == 1.0).map(|(label, _)| label).collect();
                let goal = Goal::Labels { labels: rows.iter().map(on).collect(), names: names(2) };
                (Goals::Texts(goal), folder.of_texts(TextGoal::Labels(2)))
            }
            "ElectraForSequenceClassification" => {
                (Goals::Texts(Goal::Values(read(&case["labels"]))), folder.of_texts(TextGoal::Value))
            }
            _ => {
                let goal = Goal::Classes { class: read(&case["labels"]), names: names(3) };
                (Goals::Texts(goal), folder.of_texts(TextGoal::Classes(3)))
            }
        }
    }

    /// The encoder of a case with all weights of its head.
    fn opened(case: &Value, folder: &EncoderFolder, form: HeadForm) -> Transformer {
        let mut opened = folder.read(form, 1).unwrap();
        if let HeadForm::Text { .. } = form {
            let names = ["classifier.out_proj", "classifier"];
            let name = names.into_iter().find(|name| case["weights"].get(format!("{name}.weight")).is_some()).unwrap();
            for (at, kind) in [(2, "weight"), (3, "bias")] {
                opened.weights.all[folder.shape.weights() + at].values =
                    read(&case["weights"][format!("{name}.{kind}")]);
            }
        }
        opened
    }

    fn params(discriminative: f64, rate: f64, layers: TrainedLayers) -> TransformerParams {
        TransformerParams {
            epochs: STEPS,
            batch: 100,
            lr: rate,
            patience: STEPS,
            held_out_share: 0.0,
            train: layers,
            discriminative,
            dropout: 0.0,
            ..TransformerParams::default()
        }
    }

    fn near(name: &str, ours: &[f32], theirs: &Value, bound: f64) {
        let theirs: Vec<f64> = read(theirs);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let size = theirs.iter().fold(1.0, |size: f64, value| size.max(value.abs()));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((f64::from(*ours) - theirs).abs() < bound * size, "{name}: {ours} {theirs}");
        }
    }

    /// The loss of all texts, and its gradients by weight.
    fn differentiated(
        net: &TransformerNet<'_>,
        values: Vec<&[f32]>,
        piece: &TransformerPiece,
        part: TrainedPart,
    ) -> (f64, Vec<Vec<f32>>) {
        let rows = vec![None; values.len()];
        let ready = net.ready_of(values, part, &rows);
        net.differentiated(&ready, piece, 0.0)
    }

    #[test]
    fn losses_gradients_and_steps_are_those_of_transformers() {
        let all = reference();
        let (tokens, places) = texts(&all);
        for case in all["cases"].as_array().unwrap() {
            let dir = tempfile::tempdir().unwrap();
            write_folder(case, dir.path());
            let folder = EncoderFolder::open(dir.path()).unwrap();
            let (goals, form) = goal(case, &folder);
            let begun = opened(case, &folder, form);
            let given = TrainingTexts { texts: TokenTexts { tokens: &tokens, frozen: None }, places: &places, goals };
            let params = params(read(&case["discriminative"]), read(&all["rate"]), TrainedLayers::All);
            let net = TransformerNet::new(&begun, &given, &params).unwrap();
            let mut piece = net.whole_piece();
            if matches!(given.goals, Goals::Words(_)) {
                // Places 2 of the first text, and 1 and 5 of the third.
                piece.mask(vec![(2, 4), (9, 8), (13, 12)]);
            }
            let count = net.read_rows(&piece).len() as f64;
            let everything = TrainedPart { from_block: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
            let (loss, gradients) = differentiated(&net, begun.values(), &piece, everything);
            let class = case["class"].as_str().unwrap();
            let theirs: f64 = read(&case["loss"]);
            assert!((loss / count - theirs).abs() < 1e-5 * theirs.max(1.0), "{class}: {} {theirs}", loss / count);
            for (name, gradient) in folder.names(form).iter().zip(&gradients) {
                let Some(theirs) = case["gradients"].get(name) else {
                    assert!(gradient.iter().all(|by| *by == 0.0), "{class} {name}");
                    continue;
                };
                let mean: Vec<f32> = gradient.iter().map(|by| by / count as f32).collect();
                near(&format!("{class} {name}"), &mean, theirs, 1e-5);
            }
            if matches!(given.goals, Goals::Words(_)) {
                continue;
            }
            let ctx = Ctx::new(2, 1).unwrap();
            near(class, &begun.scores(given.texts, &places, &ctx).unwrap(), &case["scores"], 1e-5);
            let trained = begun.train(&given, &params, None, &ctx).unwrap();
            let losses: Vec<f32> = trained.epochs().iter().map(|epoch| epoch.loss as f32).collect();
            near(&format!("{class}, losses of the steps"), &losses, &case["losses"], 1e-4);
        }
    }

    #[test]
    fn the_vector_of_ernies_task_is_added_to_all_tokens() {
        let all = reference();
        let (tokens, places) = texts(&all);
        let task: Vec<f32> = (0..8).map(|i| (i as f32 - 3.0) / 16.0).collect();
        let named = |with_task: bool| {
            let mut case: Value =
                serde_json::from_str(&all["cases"][0].to_string().replace("\"bert.", "\"ernie.")).unwrap();
            case["config"]["model_type"] = "ernie".into();
            if with_task {
                case["config"]["use_task_id"] = true.into();
                let name = "ernie.embeddings.task_type_embeddings.weight";
                case["shapes"][name] = serde_json::json!([3, 8]);
                case["weights"][name] = serde_json::json!([task.clone(), vec![9.0; 16]].concat());
            } else {
                let segments = &mut case["weights"]["ernie.embeddings.token_type_embeddings.weight"];
                let sums: Vec<f32> = read(segments);
                let sums: Vec<f32> = sums.iter().zip(task.iter().cycle()).map(|(a, b)| a + b).collect();
                *segments = serde_json::json!(sums);
            }
            case
        };
        let ctx = Ctx::new(1, 1).unwrap();
        let scores = [true, false].map(|with_task| {
            let (case, dir) = (named(with_task), tempfile::tempdir().unwrap());
            write_folder(&case, dir.path());
            let folder = EncoderFolder::open(dir.path()).unwrap();
            let encoder = opened(&case, &folder, goal(&case, &folder).1);
            let out = tempfile::tempdir().unwrap();
            folder.write(out.path(), &encoder, &["0".into(), "1".into(), "2".into()], None, &Value::Null).unwrap();
            let again = EncoderFolder::open(out.path()).unwrap();
            let texts = TokenTexts { tokens: &tokens, frozen: None };
            let written = opened(&case, &again, encoder.form).scores(texts, &places, &ctx).unwrap();
            assert_eq!(written, encoder.scores(texts, &places, &ctx).unwrap(), "the table of tasks is written once");
            written
        });
        assert_eq!(scores[0], scores[1]);
    }

    #[test]
    fn matrices_of_low_rank_have_the_gradients_of_peft_and_are_merged() {
        let all = reference();
        let (tokens, places) = texts(&all);
        let case = &all["low_rank"];
        let mut named = case.clone();
        named["class"] = "BertForSequenceClassification".into();
        let dir = tempfile::tempdir().unwrap();
        write_folder(case, dir.path());
        let folder = EncoderFolder::open(dir.path()).unwrap();
        let (goals, form) = goal(&named, &folder);
        let begun = opened(case, &folder, form);
        let given = TrainingTexts { texts: TokenTexts { tokens: &tokens, frozen: None }, places: &places, goals };
        let params = params(1.0, 0.01, TrainedLayers::LowRank(2));
        let net = TransformerNet::new(&begun, &given, &params).unwrap();
        let matrices: Vec<Vec<f32>> = read(&case["matrices"]);
        let values: Vec<&[f32]> = begun.values().into_iter().chain(matrices.iter().map(Vec::as_slice)).collect();
        let part = TrainedPart { from_block: 0, embeddings: false, of_block: LowRank::wanted() };
        let piece = net.whole_piece();
        let (loss, gradients) = differentiated(&net, values, &piece, part);
        let theirs: f64 = read(&case["loss"]);
        assert!((loss / 4.0 - theirs).abs() < 1e-5, "{} {theirs}", loss / 4.0);
        let own = &gradients[gradients.len() - matrices.len()..];
        for (gradient, theirs) in own.iter().zip(case["gradients"].as_array().unwrap()) {
            let mean: Vec<f32> = gradient.iter().map(|by| by / 4.0).collect();
            near("matrix", &mean, theirs, 1e-5);
        }
        // The merged weights give the same scores as the weights with the matrices beside them.
        let ctx = Ctx::new(2, 1).unwrap();
        let before = begun.values().iter().map(|values| values.to_vec()).collect::<Vec<_>>();
        let trained = begun.train(&given, &params, None, &ctx).unwrap();
        assert!(trained.epochs()[STEPS - 1].loss < 0.9 * trained.epochs()[0].loss, "{:?}", trained.epochs());
        let adapted = [BlockWeights::Query, BlockWeights::Value];
        for (number, (before, after)) in before.iter().zip(trained.values()).enumerate() {
            let changes = number >= folder.shape.weights()
                || (0..2).any(|layer| adapted.iter().any(|weight| EncoderShape::of_block(layer, *weight) == number));
            assert_eq!(before != after, changes, "weight {number}");
        }
    }

    #[test]
    fn rates_rise_and_fall_as_in_the_papers() {
        let all = reference();
        for (name, kind) in [
            ("linear", ScheduleKind::Linear),
            ("cosine", ScheduleKind::Cosine),
            ("constant", ScheduleKind::Constant),
            ("stlr", ScheduleKind::Stlr),
        ] {
            let schedule = Schedule { kind, warmup: 0.1 };
            let ours: Vec<f32> = (1..=20).map(|step| schedule.factor(step, 20) as f32).collect();
            near(name, &ours, &all["schedules"][name], 1e-6);
        }
    }

    /// Texts whose class is told by one of their tokens.
    fn told(count: usize) -> (Vec<u32>, Vec<Range<usize>>, Goal) {
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
            width: 16,
            heads: 2,
            between: 32,
            place: NormPlace::After,
            activation: BlockActivation::Gelu,
            epsilon: 1e-12,
        };
        EncoderShape { vocabulary: 14, places: 12, first_place: 0, segments: 2, layers: 2, block }
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
        let (tokens, places, goal) = told(300);
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
                assert_eq!(
                    one.values(),
                    trained(Some(&base), layers, gradual, dropout, threads).values(),
                    "{layers:?}"
                );
            }
            assert!(held_out(&one) < 0.2, "{layers:?} {:?}", one.epochs());
            let changed: Vec<bool> = base.values().iter().zip(one.values()).map(|(a, b)| *a != b).collect();
            let (embeddings, blocks) = changed.split_at(5);
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
    fn masked_words_are_learned_and_a_killed_training_goes_on() {
        // Each token is followed by the one that is larger by one: a masked token stands between its neighbours.
        let text = |first: u32| [2].into_iter().chain((0..8).map(move |i| 5 + (first + i) % 9)).chain([3]);
        let tokens: Vec<u32> = (0..200).flat_map(text).collect();
        let places: Vec<Range<usize>> = (0..200).map(|number| number * 10..number * 10 + 10).collect();
        let masking = Masking { share: 0.15, mask: 4, vocabulary: 14 };
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
            ("model_type", "albert", "bert, ernie, roberta"),
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
        let (tokens, places, goal) = told(20);
        let given = TrainingTexts {
            texts: TokenTexts { tokens: &tokens, frozen: None },
            places: &places,
            goals: Goals::Texts(goal),
        };
        let large = EncoderShape { vocabulary: 100_000, ..small() };
        let large = Transformer::random(large, TEXT, None, 1).unwrap();
        let error = large.check_memory(2, Some(9)).unwrap_err().to_string();
        assert!(error.contains("about 67 MB of memory, and 9 MB are free: train a part (--train top:2"), "{error}");
        large.check_memory(2, Some(70)).unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        let fast = TransformerParams { warmup: 0.0, ..params(1.0, 1e30, TrainedLayers::All) };
        let error = Transformer::random(small(), TEXT, None, 1).unwrap().train(&given, &fast, None, &ctx);
        let error = error.err().unwrap().to_string();
        assert!(error.contains("no longer a number: epoch 2") && error.contains("lower the learning rate"), "{error}");
        let error = top.train(&given, &params(1.0, 0.1, TrainedLayers::Top(3)), None, &ctx);
        assert!(error.err().unwrap().to_string().contains("the last 3 of 2 layers"));
    }
}
