//! Training as a whole: threads, breaks, what it learns, what it refuses.

use serde_json::{Value, json};

use super::huffman::Huffman;
use super::random::Random;
use super::*;
use crate::data::Key;
use crate::job::Ctx;

const END: u32 = u32::MAX;

/// Sentences of a made language: the words of a subject stand together. Gives counts and numbers.
fn corpus(words: u32, sentences: usize) -> (Vec<u64>, Vec<u32>) {
    let mut random = Random::of([7, 7, 7]);
    let mut numbers = Vec::new();
    let mut counts = vec![0; words as usize];
    for _ in 0..sentences {
        let subject = random.below(words / 10);
        for _ in 0..12 {
            let word = subject + words / 10 * random.below(10);
            counts[word as usize] += 1;
            numbers.push(word);
        }
        numbers.push(END);
    }
    (counts, numbers)
}

fn params(architecture: Architecture, objective: Objective) -> Word2vecParams {
    Word2vecParams { architecture, objective, dim: 20, epochs: 2, ..Word2vecParams::default() }
}

const FORMS: [(Architecture, Objective); 4] = [
    (Architecture::Cbow, Objective::Negative),
    (Architecture::SkipGram, Objective::Negative),
    (Architecture::Cbow, Objective::Hierarchical),
    (Architecture::SkipGram, Objective::Hierarchical),
];

fn ctx(threads: usize) -> Ctx {
    Ctx::new(threads, 1).unwrap()
}

#[test]
fn one_two_and_eight_threads_and_a_break_give_the_same_bytes() {
    // Enough for blocks of four pieces.
    let (counts, numbers) = corpus(300, 21_000);
    let dir = tempfile::tempdir().unwrap();
    for (architecture, objective) in FORMS {
        let params = params(architecture, objective);
        let begin = || Word2vec::new(&counts, &numbers, &params, 5).unwrap();
        let mut whole = begin();
        whole.pass(&ctx(1)).unwrap();
        let path = dir.path().join("state");
        whole.save(&path, Key::default(), 1).unwrap();
        whole.pass(&ctx(1)).unwrap();
        assert_eq!(whole.left(), 0);
        assert!(whole.passes()[1].loss < whole.passes()[0].loss, "{:?}", whole.passes());
        for threads in [2, 8] {
            let mut other = begin();
            (0..2).for_each(|_| other.pass(&ctx(threads)).unwrap());
            assert!(other.weights == whole.weights, "{threads} threads");
        }
        let mut resumed = begin();
        resumed.resume(&path, Key::default()).unwrap();
        assert_eq!((resumed.left(), resumed.passes().len()), (1, 1));
        resumed.pass(&ctx(2)).unwrap();
        assert!(resumed.weights == whole.weights && resumed.passes()[1].loss == whole.passes()[1].loss);
    }
}

#[test]
fn words_of_a_subject_are_near_each_other() {
    let (counts, numbers) = corpus(100, 3_000);
    for (architecture, objective) in FORMS {
        let params = Word2vecParams { epochs: 5, sample: 0.0, ..params(architecture, objective) };
        let mut model = Word2vec::new(&counts, &numbers, &params, 1).unwrap();
        (0..5).for_each(|_| model.pass(&ctx(2)).unwrap());
        let values = model.vectors();
        let cosine = |a: usize, b: usize| {
            let (a, b) = (&values[a * 20..][..20], &values[b * 20..][..20]);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        for word in 0..100 {
            let mut others: Vec<usize> = (0..100).filter(|&other| other != word).collect();
            others.sort_by(|&a, &b| cosine(word, b).total_cmp(&cosine(word, a)));
            let same = others[..9].iter().filter(|&&other| other % 10 == word % 10).count();
            assert!(same == 9, "{architecture:?} {objective:?}: {same} of the 9 nearest of {word} are of its subject");
        }
    }
}

#[test]
fn a_rate_that_is_too_high_stops_with_epoch_and_rate() {
    let (counts, numbers) = corpus(30, 300);
    for (architecture, objective) in FORMS {
        let params = Word2vecParams { lr: Some(1e30), ..params(architecture, objective) };
        let mut model = Word2vec::new(&counts, &numbers, &params, 1).unwrap();
        let error = model.pass(&ctx(1)).unwrap_err().to_string();
        assert!(error.contains("epoch 1 of 2") && error.contains("--lr"), "{error}");
    }
}

#[test]
fn a_vocabulary_of_two_words_and_empty_sentences_are_trained() {
    let numbers = [END, 0, 1, 0, END, END, 1, END];
    for (architecture, objective) in FORMS {
        let params = Word2vecParams { sample: 0.0, ..params(architecture, objective) };
        let mut model = Word2vec::new(&[2, 2], &numbers, &params, 1).unwrap();
        model.pass(&ctx(2)).unwrap();
        assert!(model.passes()[0].loss > 0.0 && model.vectors().len() == 40);
    }
}

#[test]
fn a_state_of_another_corpus_or_of_other_parameters_is_refused() {
    let (counts, numbers) = corpus(30, 300);
    let ours = params(Architecture::Cbow, Objective::Negative);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state");
    Word2vec::new(&counts, &numbers, &ours, 1).unwrap().save(&path, Key::default(), 1).unwrap();
    let refused = |numbers: &[u32], params: &Word2vecParams, seed, key: Key| {
        let mut model = Word2vec::new(&counts, numbers, params, seed).unwrap();
        model.resume(&path, key).unwrap_err().to_string()
    };
    assert!(refused(&numbers[13..], &ours, 1, Key::default()).contains("another corpus"));
    assert!(refused(&numbers, &ours, 1, Key::of(b"other words")).contains("another corpus"));
    let wider = Word2vecParams { window: 7, ..ours.clone() };
    let error = refused(&numbers, &wider, 1, Key::default());
    assert!(error.contains("window 5, not 7") && error.contains("--resume"), "{error}");
    assert!(refused(&numbers, &ours, 2, Key::default()).contains("seed 1, not 2"));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 70;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(refused(&numbers, &ours, 1, Key::default()).contains("damaged"));
}

#[test]
fn parameters_that_cannot_be_used_are_refused_by_their_flags() {
    let with = |change: Value| {
        let mut params = json!(Word2vecParams::default());
        params.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let params: Word2vecParams = serde_json::from_value(params).unwrap();
        Word2vec::new(&[1, 1], &[0, 1], &params, 1).err().unwrap().to_string()
    };
    for (change, words) in [
        (json!({"dim": 0}), "--dim is 0"),
        (json!({"window": 0}), "--window is 0"),
        (json!({"negative": 0}), "--negative is 0"),
        (json!({"epochs": 0}), "--epochs is 0"),
        (json!({"sample": -1.0}), "--sample is -1"),
        (json!({"lr": 1e-5}), "--lr 0.00001 to --min-lr 0.0001"),
    ] {
        let error = with(change);
        assert!(error.contains(words), "{error}");
    }
    let one = Word2vec::new(&[5], &[0, 0], &Word2vecParams::default(), 1).err().unwrap().to_string();
    assert!(one.contains("a vocabulary of 1 words"), "{one}");
}

#[test]
fn sampling_and_paths_are_those_of_gensim() {
    let reference: Value = serde_json::from_str(include_str!("../../../tests/reference/gensim/word2vec.json")).unwrap();
    let list = |name: &str| reference[name].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect::<Vec<_>>();
    let counts = list("counts");
    // The length of the tree is the least possible; which of equally rare words is joined first is not defined.
    let tree = Huffman::new(&counts);
    let length = |lengths: &mut dyn Iterator<Item = u64>| counts.iter().zip(lengths).map(|(n, l)| n * l).sum::<u64>();
    let ours = length(&mut (0..counts.len() as u32).map(|word| tree.path(word).0.len() as u64));
    assert_eq!(ours, length(&mut list("code_lengths").into_iter()));
    let params = Word2vecParams { sample: reference["sample"].as_f64().unwrap(), ..Word2vecParams::default() };
    let model = Word2vec::new(&counts, &[], &params, 1).unwrap();
    for (ours, theirs) in model.stays().iter().zip(list("sample_int")) {
        assert!(ours.abs_diff(theirs) <= 2, "{ours}, {theirs}");
    }
}
