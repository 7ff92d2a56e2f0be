//! Losses, gradients and steps against PyTorch and finite differences, known answers, threads, interruption and bad input.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::batches::SentenceBatches;
use super::net::SentenceNet;
use super::*;
use crate::ModelFile;
use crate::neural::check::check_gradients;
use crate::neural::fit::Network;
use crate::neural::weights::RowGradient;

const METHODS: [SentenceMethod; 3] =
    [SentenceMethod::QuickThoughts, SentenceMethod::SkipThoughts, SentenceMethod::InferSent];

#[derive(Deserialize)]
struct SentenceReference {
    words: usize,
    dim: usize,
    hidden: usize,
    classes: usize,
    rate: f32,
    sentences: Vec<Vec<u32>>,
    pairs: Vec<[u32; 2]>,
    labels: Vec<u32>,
    cases: Vec<SentenceCase>,
}

#[derive(Deserialize)]
struct SentenceCase {
    method: SentenceMethod,
    weights: BTreeMap<String, Vec<f32>>,
    rows: Vec<f64>,
    loss: f64,
    gradients: BTreeMap<String, Vec<f64>>,
    stepped: BTreeMap<String, Vec<f64>>,
}

fn params(method: SentenceMethod) -> SentenceParams {
    let fit = FitParams { epochs: 3, batch: 16, lr: 0.02, held_out_share: 0.0, ..FitParams::default() };
    SentenceParams { method, dim: 3, hidden: 2, candidates: 8, fit, ..SentenceParams::default() }
}

fn near(ours: &[f32], theirs: &[f64], within: f64, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((f64::from(*ours) - theirs).abs() < within, "{what}: {ours} and {theirs}");
    }
}

#[test]
fn losses_gradients_and_steps_are_those_of_pytorch() {
    let text = include_str!("../../../../tests/reference/pytorch/sentences.json");
    let reference: SentenceReference = serde_json::from_str(text).unwrap();
    assert_eq!(reference.cases.iter().map(|case| case.method).collect::<Vec<_>>(), METHODS);
    for case in &reference.cases {
        let params = SentenceParams { dim: reference.dim, hidden: reference.hidden, ..params(case.method) };
        let examples = SentencePairs {
            sentences: reference.sentences.clone(),
            pairs: reference.pairs.clone(),
            documents: vec![0; reference.pairs.len()],
            classes: reference.labels.clone(),
            names: (0..reference.classes).map(|class| class.to_string()).collect(),
        };
        let mut weights = start(&params, reference.words, reference.classes, 1);
        for weight in &mut weights.all {
            weight.values.clone_from(&case.weights[weight.name]);
        }
        assert_eq!(weights.all.len(), case.weights.len());
        let batches = SentenceBatches::new(&params, &examples, reference.words);
        let all: Vec<u32> = (0..batches.trains_on() as u32).collect();
        let piece = batches.piece(&all);
        let size = batches.size(&piece) as f64;
        let read = [piece];
        let rows = batches.reads(&read);
        let (loss, gradients) = {
            let ready = batches.ready(&weights, &rows);
            let found = batches.gradients(&ready, &read[0]);
            let scaled = |by: Vec<f32>| by.into_iter().map(|g| g / size as f32).collect::<Vec<f32>>();
            (found.loss / size, found.by_weight.into_iter().map(scaled).collect::<Vec<_>>())
        };
        let what = format!("{:?}", case.method);
        assert!((loss - case.loss).abs() < 1e-5, "{what}: {loss} and {}", case.loss);
        for (weight, gradient) in weights.all.iter().zip(&gradients) {
            near(gradient, &case.gradients[weight.name], 1e-5, &format!("{what} {}", weight.name));
        }
        let words = (0..reference.words).map(|word| word.to_string().into()).collect();
        let encoder = SentenceEncoder::from_parts(params, words, examples.names.clone(), weights.clone(), Vec::new());
        near(&encoder.rows(&examples.sentences), &case.rows, 1e-5, &what);
        weights.step(&rows, &gradients, reference.rate);
        for weight in &weights.all {
            // The first step of Adam is the sign of the gradient, but for what is next to nothing.
            near(&weight.values, &case.stepped[weight.name], 1e-4, &format!("{what} {} stepped", weight.name));
        }
    }
}

/// Documents of two sentences that share a word of their subject, 0 to 7, and nothing else. Of labelled pairs every second document's second
/// sentence is of another subject.
fn planted(documents: u32, classes: bool) -> SentencePairs {
    let mut examples = SentencePairs::default();
    for document in 0..documents {
        let topic = document % 8;
        let class = document / 8 % 2;
        let first = examples.sentences.len() as u32;
        let other = if classes && class == 1 { (topic + 1 + document / 16 % 7) % 8 } else { topic };
        examples.sentences.extend([vec![topic, 8 + document / 8 % 2], vec![10 + document / 16 % 2, other, 12]]);
        examples.pairs.push([first, first + 1]);
        examples.documents.push(document);
        if classes {
            examples.classes.push(class);
        }
    }
    if classes {
        examples.names = ["like", "other"].map(str::to_owned).into();
    }
    examples
}

fn words() -> Vec<Box<str>> {
    (0..13).map(|word| format!("w{word}").into()).collect()
}

fn trained(examples: &SentencePairs, params: &SentenceParams, threads: usize) -> Result<SentenceEncoder> {
    SentenceEncoder::train(examples, words(), params, None, &Ctx::new(threads, 7).unwrap())
}

#[test]
fn gradients_are_the_difference_quotients() {
    for method in METHODS {
        let params = params(method);
        let examples = planted(6, method == SentenceMethod::InferSent);
        let batches = SentenceBatches::new(&params, &examples, 13);
        let all: Vec<u32> = (0..batches.trains_on() as u32).collect();
        let piece = batches.piece(&all);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let shapes = params.shapes(13, examples.names.len());
        let values = shapes.iter().map(|(_, rows, dim)| (0..rows * dim).map(|_| rng.random_range(-0.8..0.8)).collect());
        check_gradients(&format!("{method:?}"), values.collect(), |values| {
            let net = SentenceNet::<f64>::new(&params, values);
            net.differentiated(values[VECTORS], &piece, RowGradient::new(None, 14, params.dim))
        });
    }
}

#[test]
fn what_stands_beside_a_sentence_is_learned() {
    for method in METHODS {
        let examples = planted(160, method == SentenceMethod::InferSent);
        let base = params(method);
        let fit = FitParams { epochs: 60, ..base.fit.clone() };
        let params = SentenceParams { dim: 12, hidden: 12, fit, ..base };
        let encoder = trained(&examples, &params, 2).unwrap();
        let (first, last) = (encoder.epochs()[0].loss, encoder.epochs().last().unwrap().loss);
        assert!(last < 0.6 * first, "{method:?}: {first} became {last}");
        if method != SentenceMethod::QuickThoughts {
            continue;
        }
        // By f of first sentences and g of second ones, the largest product is that of the same subject.
        let rows = encoder.rows(&(0..8).flat_map(|topic| [vec![topic, 8], vec![11, topic, 12]]).collect::<Vec<_>>());
        let (dim, half) = (encoder.dim(), params.features());
        let product = |topic: usize, other: usize| -> f32 {
            let (f, g) = (&rows[2 * topic * dim..][..half], &rows[(2 * other + 1) * dim + half..][..half]);
            f.iter().zip(g).map(|(f, g)| f * g).sum()
        };
        for topic in 0..8 {
            let best = (0..8).max_by(|&a, &b| product(topic, a).total_cmp(&product(topic, b)));
            assert_eq!(best, Some(topic));
        }
    }
}

#[test]
fn the_bytes_are_the_same_whatever_the_threads_and_after_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    for method in METHODS {
        let examples = planted(100, method == SentenceMethod::InferSent);
        let base = params(method);
        let fit = FitParams { batch: 40, held_out_share: 0.2, ..base.fit.clone() };
        let params = SentenceParams { fit, ..base };
        let file = |name: &str, threads: usize, epochs: &[usize]| {
            let path = dir.path().join(name);
            let checkpoint = Checkpoint::new(&path, &serde_json::json!("one")).unwrap().eager();
            let mut model = None;
            for &epochs in epochs {
                let params = SentenceParams { fit: FitParams { epochs, ..params.fit.clone() }, ..params.clone() };
                let ctx = Ctx::new(threads, 7).unwrap();
                model = Some(SentenceEncoder::train(&examples, words(), &params, Some(&checkpoint), &ctx).unwrap());
            }
            checkpoint.remove().unwrap();
            model.unwrap().save(&path, &"tokens", 100, None).unwrap();
            std::fs::read(path).unwrap()
        };
        let one = file("m1", 1, &[3]);
        for threads in [2, 3, 8] {
            assert!(one == file("other", threads, &[3]), "{method:?} with {threads} threads");
        }
        // One epoch, then the same again from its checkpoint.
        assert!(one == file("resumed", 2, &[1, 3]), "{method:?}");
        let read = SentenceEncoder::read(&ModelFile::open(&dir.path().join("m1")).unwrap()).unwrap();
        read.save(&dir.path().join("again"), &"tokens", 100, None).unwrap();
        assert!(std::fs::read(dir.path().join("again")).unwrap() == one);
        // A row has the same bits whatever it is computed beside, and none for a text without words.
        let texts = vec![vec![1, 2, 3], vec![], vec![4], vec![5, 6, 7, 8, 9, 13]];
        let together = read.rows(&texts);
        let alone: Vec<f32> = texts.iter().flat_map(|text| read.rows(std::slice::from_ref(text))).collect();
        assert!(together == alone && together[read.dim()..2 * read.dim()].iter().all(|&value| value == 0.0));
        let (score, parts) = read.reasons(&texts[0], 1);
        assert_eq!((score, parts.len()), (f64::from(together[1]), 3));
    }
}

#[test]
fn settings_and_texts_that_cannot_work_are_told() {
    let examples = planted(20, false);
    let refused =
        |params: SentenceParams, examples: &SentencePairs| trained(examples, &params, 1).err().unwrap().to_string();
    let base = || params(SentenceMethod::QuickThoughts);
    assert!(refused(SentenceParams { dim: 0, ..base() }, &examples).contains("--dim 0"));
    assert!(refused(SentenceParams { hidden: 0, ..base() }, &examples).contains("--hidden 0"));
    assert!(refused(SentenceParams { max_tokens: 0, ..base() }, &examples).contains("--max-tokens 0"));
    assert!(refused(SentenceParams { candidates: 1, ..base() }, &examples).contains("--candidates 1"));
    assert!(refused(params(SentenceMethod::InferSent), &examples).contains("two or more"));
    assert!(refused(base(), &SentencePairs::default()).contains("0 pairs of sentences are too few"));
}
