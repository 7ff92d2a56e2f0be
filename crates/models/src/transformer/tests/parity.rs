//! Encoders with heads against transformers' classes, by folders that these could have written.

use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::Value;

use super::*;
use crate::Goal;
use crate::neural::fit::Network;
use crate::neural::{Schedule, ScheduleKind};
use crate::transformer::adapt::LowRank;
use crate::transformer::batches::TransformerPiece;
use crate::transformer::dropout::Dropout;
use crate::transformer::encoder::{Encoder, EncoderInput, TrainedPart};
use crate::transformer::head::{Head, Targets};
use crate::transformer::net::TransformerNet;
use inkstone_base::job::Ctx;

pub(super) const STEPS: usize = 50;

pub(super) fn reference() -> Value {
    serde_json::from_str(include_str!("../../../../../tests/reference/pytorch/encoder.json")).unwrap()
}

pub(super) fn texts(all: &Value) -> (Vec<u32>, Vec<Range<usize>>) {
    let texts: Vec<Vec<u32>> = read(&all["texts"]);
    let places = texts.iter().scan(0, |end, text| {
        *end += text.len();
        Some(*end - text.len()..*end)
    });
    (texts.concat(), places.collect())
}

/// Writes config.json and model.safetensors of a case.
pub(in crate::transformer) fn write_folder(case: &Value, folder: &Path) {
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
fn goal(case: &Value, folder: &EncoderFolder) -> (Goals, HeadForms) {
    let names = |count: usize| (0..count).map(|name| name.to_string()).collect::<Vec<String>>();
    let masking = Masking { share: 0.15, mask: 4, vocabulary: 14, separator: None, spans: false, shuffled: 0.0 };
    let (goals, main) = match case["class"].as_str().unwrap() {
        "GPT2LMHeadModel" => (Goals::Next, folder.words().unwrap()),
        "LstmLMHeadModel" | "LstmForPreTraining" => return (Goals::Next, folder.words_of_text().unwrap()),
        "BertForQuestionAnswering" => (Goals::Spans(read(&case["labels"])), folder.of_spans().unwrap()),
        "BertForTokenClassification" => {
            // Rows are filled up to the longest text.
            let rows: Vec<Vec<i64>> = read(&case["labels"]);
            let tags = rows.iter().zip([5, 3, 7, 4]).flat_map(|(row, length)| &row[..length]);
            let tags = tags.map(|&tag| u32::try_from(tag).unwrap_or(UNTAGGED));
            (Goals::Tags(tags.collect()), folder.of_tokens(3).unwrap())
        }
        "BertForMaskedLM" | "AlbertForMaskedLM" | "ElectraForMaskedLM" => {
            (Goals::Words(masking), folder.words().unwrap())
        }
        "RobertaForSequenceClassification" => {
            let rows: Vec<Vec<f64>> = read(&case["labels"]);
            let on = |row: &Vec<f64>| (0..).zip(row).filter(|(_, on)| **on == 1.0).map(|(label, _)| label).collect();
            let goal = Goal::Labels { labels: rows.iter().map(on).collect(), names: names(2) };
            (Goals::Texts(goal), folder.of_texts(TextGoal::Labels(2)))
        }
        "ElectraForSequenceClassification" => {
            (Goals::Texts(Goal::Values(read(&case["labels"]))), folder.of_texts(TextGoal::Value))
        }
        _ if !case["teacher"].is_null() => {
            let taught = TaughtClasses { scores: read(&case["teacher"]), classes: 3, temperature: 3.0 };
            (Goals::Taught(taught), folder.of_texts(TextGoal::Classes(3)))
        }
        _ => {
            let goal = Goal::Classes { class: read(&case["labels"]), names: names(3) };
            let weight = case["words"].as_f64().unwrap_or_default();
            if weight > 0.0 {
                let words = WordsBeside { weight, masking: (!folder.is_causal()).then_some(masking) };
                return (Goals::TextsAndWords(goal, words), folder.texts_and_words(TextGoal::Classes(3)).unwrap());
            }
            (Goals::Texts(goal), folder.of_texts(TextGoal::Classes(3)))
        }
    };
    (goals, main.into())
}

/// The encoder of a case with all weights of its head.
fn opened(case: &Value, folder: &EncoderFolder, heads: HeadForms) -> Transformer {
    let mut opened = folder.read(heads, 1).unwrap();
    let names = ["classifier.out_proj.weight", "classifier.weight", "score.weight", "qa_outputs.weight"];
    if let Some((outputs, bias)) = heads.main.outputs() {
        let first = folder.shape.weights();
        let name = names.into_iter().find(|name| case["weights"].get(name).is_some()).unwrap();
        opened.weights.all[first + outputs].values = read(&case["weights"][name]);
        if let Some(bias) = bias {
            opened.weights.all[first + bias].values = read(&case["weights"][name.replace("weight", "bias")]);
        }
    }
    opened
}

pub(super) fn params(discriminative: f64, rate: f64, layers: TrainedLayers) -> TransformerParams {
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

pub(in crate::transformer) fn near(name: &str, ours: &[f32], theirs: &Value, bound: f64) {
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
fn losses_gradients_and_steps_are_those_of_transformers_and_of_pytorchs_lstm() {
    let all = reference();
    let lstm: Value = serde_json::from_str(include_str!("../../../../../tests/reference/pytorch/lstm.json")).unwrap();
    let (tokens, places) = texts(&all);
    assert_eq!((tokens.clone(), places.clone()), texts(&lstm));
    for case in all["cases"].as_array().unwrap().iter().chain(lstm["cases"].as_array().unwrap()) {
        let dir = tempfile::tempdir().unwrap();
        write_folder(case, dir.path());
        let folder = EncoderFolder::open(dir.path()).unwrap();
        let (goals, heads) = goal(case, &folder);
        let begun = opened(case, &folder, heads);
        let given = TrainingTexts { texts: TokenTexts { tokens: &tokens, frozen: None }, places: &places, goals };
        let params = params(read(&case["discriminative"]), read(&all["rate"]), TrainedLayers::All);
        let net = TransformerNet::new(&begun, &given, &params).unwrap();
        let mut piece = net.whole_piece();
        if given.goals.masking().is_some() {
            // Places 2 of the first text, and 1 and 5 of the third.
            piece.masked = vec![(2, 4), (9, 8), (13, 12)];
        }
        let count = net.size(&piece) as f64;
        let everything = TrainedPart { from_layer: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
        let (loss, gradients) = differentiated(&net, begun.values(), &piece, everything);
        let class = case["class"].as_str().unwrap();
        let theirs: f64 = read(&case["loss"]);
        assert!((loss / count - theirs).abs() < 1e-5 * theirs.max(1.0), "{class}: {} {theirs}", loss / count);
        let gradients = folder.tensors(heads, &gradients.iter().map(Vec::as_slice).collect::<Vec<&[f32]>>());
        for (name, (_, gradient)) in &gradients {
            let Some(theirs) = case["gradients"].get(name) else {
                assert!(gradient.iter().all(|by| *by == 0.0), "{class} {name}");
                continue;
            };
            let mean: Vec<f32> = gradient.iter().map(|by| by / count as f32).collect();
            near(&format!("{class} {name}"), &mean, theirs, 1e-5);
        }
        let names = case["gradients"].as_object().unwrap().keys();
        assert!(names.into_iter().all(|name| gradients.contains_key(name)), "{class}: {:?}", gradients.keys());
        let ctx = Ctx::new(2, 1).unwrap();
        if heads.main.goal().is_some() && !matches!(heads.main, HeadForm::Tokens { .. }) {
            near(class, &begun.scores(given.texts, &places, &ctx).unwrap(), &case["scores"], 1e-5);
        }
        if given.goals.masking().is_some() {
            continue;
        }
        let trained = begun.train(&given, &params, None, &ctx).unwrap();
        let losses: Vec<f32> = trained.epochs().iter().map(|epoch| epoch.loss as f32).collect();
        near(&format!("{class}, losses of the steps"), &losses, &case["losses"], 1e-4);
    }
}

#[test]
fn words_and_the_order_of_segments_have_the_losses_and_gradients_of_transformers() {
    let all = reference();
    let (tokens, places) = texts(&all);
    let segmented = places.iter().flat_map(|place| {
        let second = place.start + place.len() / 2;
        place
            .clone()
            .zip(&tokens[place.clone()])
            .map(move |(at, token)| if at < second { *token } else { token | SECOND })
    });
    let segmented: Vec<u32> = segmented.collect();
    for case in all["ordered"].as_array().unwrap() {
        let dir = tempfile::tempdir().unwrap();
        write_folder(case, dir.path());
        let folder = EncoderFolder::open(dir.path()).unwrap();
        let begun = folder.read(folder.words_and_order(2).unwrap(), 1).unwrap();
        let masking = Masking { share: 0.15, mask: 4, vocabulary: 14, separator: None, spans: false, shuffled: 0.0 };
        let given = TrainingTexts {
            texts: TokenTexts { tokens: &segmented, frozen: None },
            places: &places,
            goals: Goals::WordsAndOrder(masking, read(&case["orders"])),
        };
        let params = params(1.0, read(&all["rate"]), TrainedLayers::All);
        let net = TransformerNet::new(&begun, &given, &params).unwrap();
        let mut piece = net.whole_piece();
        piece.masked = vec![(2, 4), (9, 8), (13, 12)];
        let everything = TrainedPart { from_layer: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
        let (loss, gradients) = differentiated(&net, begun.values(), &piece, everything);
        let theirs: f64 = read(&case["loss"]);
        assert!((loss / 3.0 - theirs).abs() < 1e-5 * theirs, "{} {theirs}", loss / 3.0);
        let gradients = gradients.iter().map(Vec::as_slice).collect::<Vec<&[f32]>>();
        let gradients = folder.tensors(begun.heads, &gradients);
        let theirs = case["gradients"].as_object().unwrap();
        assert_eq!(gradients.len(), theirs.len());
        for (name, (_, gradient)) in &gradients {
            let mean: Vec<f32> = gradient.iter().map(|by| by / 3.0).collect();
            near(name, &mean, &theirs[name], 1e-5);
        }
    }
}

#[test]
fn the_discriminator_has_the_losses_and_gradients_of_transformers() {
    let all = reference();
    let (tokens, places) = texts(&all);
    let case = &all["discriminator"];
    let dir = tempfile::tempdir().unwrap();
    write_folder(case, dir.path());
    let folder = EncoderFolder::open(dir.path()).unwrap();
    let read_weights = folder.read(HeadForm::Replaced, 1).unwrap();
    let (shape, values) = (folder.shape, read_weights.values());
    let encoder = Encoder::new(shape, &values, 0..2, |_| None);
    let head = Head::new(HeadForm::Replaced, &values[shape.weights()..], values[0], &shape);
    let input = EncoderInput { tokens: &tokens, texts: &places };
    let (x, passed) = encoder.forward(input, None, 0.0, &mut ChaCha8Rng::seed_from_u64(1));
    let rows: Vec<Vec<u32>> = read(&case["labels"]);
    let of_text = |(row, place): (&Vec<u32>, &Range<usize>)| row[..place.len()].to_vec();
    let labels: Vec<u32> = rows.iter().zip(&places).flat_map(of_text).collect();
    let labels: Vec<Vec<u32>> = labels.iter().map(|&on| if on == 1 { vec![0] } else { Vec::new() }).collect();
    let found = head.gradients(&x, &Targets::Labels(&labels), &Dropout::none());
    let (count, theirs) = (tokens.len() as f64, read::<f64>(&case["loss"]));
    assert!((found.loss / count - theirs).abs() < 1e-5, "{} {theirs}", found.loss / count);
    let everything = TrainedPart { from_layer: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
    let mut by_tokens = vec![0.0; values[0].len()];
    let mut gradients = encoder.back(&passed, input, found.rows, &everything, |token, by| {
        by_tokens[token as usize * by.len()..].iter_mut().zip(by).for_each(|(to, by)| *to += by);
    });
    gradients[0] = by_tokens;
    gradients.extend(found.weights);
    let gradients = gradients.iter().map(Vec::as_slice).collect::<Vec<&[f32]>>();
    let gradients = folder.tensors(HeadForm::Replaced.into(), &gradients);
    assert_eq!(gradients.len(), case["gradients"].as_object().unwrap().len());
    for (name, (_, gradient)) in &gradients {
        let mean: Vec<f32> = gradient.iter().map(|by| by / count as f32).collect();
        near(name, &mean, &case["gradients"][name], 1e-5);
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
        let written = opened(&case, &again, encoder.heads).scores(texts, &places, &ctx).unwrap();
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
    let part = TrainedPart { from_layer: 0, embeddings: false, of_block: LowRank::wanted() };
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
    assert!(trained.epochs()[STEPS - 1].loss < 0.96 * trained.epochs()[0].loss, "{:?}", trained.epochs());
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
