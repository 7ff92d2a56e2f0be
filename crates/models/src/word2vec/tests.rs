//! Training as a whole: threads, breaks, what it learns, what it refuses.

use serde_json::{Value, json};

use super::huffman::Huffman;
use super::plan::{END, Plan, Rules};
use super::*;
use crate::checkpoint::Checkpoint;
use crate::random::Random;
use inkstone_base::job::Ctx;

/// Sentences of a made language: the words of a subject stand together. Gives counts and numbers.
fn corpus(words: u32, sentences: usize) -> (Vec<u64>, Vec<u32>) {
    let mut random = Random::new([7, 7, 7]);
    let mut numbers = Vec::new();
    let mut counts = vec![0; words as usize];
    for _ in 0..sentences {
        let subject = random.below(words / 10);
        for _ in 0..12 {
            let word = subject + words / 10 * random.below(10);
            counts[word as usize] += 1;
            numbers.push(word);
        }
        numbers.extend([END, DOCUMENT]);
    }
    (counts, numbers)
}

/// Names of so many words.
fn words(n: usize) -> Vec<Box<str>> {
    (0..n).map(|i| format!("词{}", char::from_u32(0x4e00 + i as u32 % 50).unwrap()).repeat(1 + i / 50).into()).collect()
}

fn begin<'a>(
    words: &'a [Box<str>],
    (counts, numbers): (&'a [u64], &'a [u32]),
    params: &Word2vecParams,
    seed: u64,
) -> anyhow::Result<Word2vec<'a>> {
    let documents = numbers.iter().filter(|&&number| number == DOCUMENT).count() as u64;
    Word2vec::new(Corpus { words, counts, numbers, documents }, params, seed)
}

fn params((architecture, objective, characters): (Architecture, Objective, bool)) -> Word2vecParams {
    Word2vecParams { architecture, objective, characters, dim: 20, epochs: 2, ..Word2vecParams::default() }
}

const FORMS: [(Architecture, Objective, bool); 8] = [
    (Architecture::Cbow, Objective::Negative, false),
    (Architecture::SkipGram, Objective::Negative, false),
    (Architecture::Cbow, Objective::Hierarchical, false),
    (Architecture::SkipGram, Objective::Hierarchical, false),
    (Architecture::Cbow, Objective::Negative, true),
    (Architecture::Dm, Objective::Negative, false),
    (Architecture::Dbow, Objective::Negative, false),
    (Architecture::Dm, Objective::Hierarchical, false),
];

fn ctx(threads: usize) -> Ctx {
    Ctx::new(threads, 1).unwrap()
}

#[test]
fn one_two_and_eight_threads_and_a_break_give_the_same_bytes() {
    let (counts, numbers) = corpus(300, 2_000);
    let (names, dir) = (words(300), tempfile::tempdir().unwrap());
    let checkpoint = |what: &str| Checkpoint::new(&dir.path().join("m"), &json!(what)).unwrap();
    for (i, form) in FORMS.into_iter().enumerate() {
        let params = params(form);
        let begin = |params: &Word2vecParams| begin(&names, (&counts, &numbers), params, 5).unwrap();
        let mut uninterrupted = begin(&params);
        uninterrupted.finish(None, &ctx(1)).unwrap();
        assert!(
            uninterrupted.left() == 0 && uninterrupted.passes()[1].loss < uninterrupted.passes()[0].loss,
            "{:?}",
            uninterrupted.passes()
        );
        for threads in [2, 8] {
            let mut other = begin(&params);
            other.finish(None, &ctx(threads)).unwrap();
            assert!(other.weights == uninterrupted.weights, "{threads} threads");
        }
        // Stopped after the first of two passes.
        let keep = checkpoint(&format!("form {i}"));
        let mut stopped = begin(&params);
        stopped.pass(&ctx(2)).unwrap();
        stopped.keep(&keep).unwrap();
        let mut resumed = begin(&params);
        resumed.resume(&keep).unwrap();
        assert_eq!((resumed.left(), resumed.passes().len()), (1, 1));
        resumed.finish(Some(&keep), &ctx(2)).unwrap();
        assert!(resumed.weights == uninterrupted.weights && resumed.passes()[1].loss == uninterrupted.passes()[1].loss);
        let mut other = begin(&params);
        other.resume(&checkpoint("another corpus")).unwrap();
        assert_eq!(other.passes(), []);
    }
}

#[test]
fn words_of_a_subject_are_near_each_other() {
    let (counts, numbers) = corpus(100, 3_000);
    let names = words(100);
    for form in FORMS.into_iter().filter(|(architecture, ..)| *architecture != Architecture::Dbow) {
        let params = Word2vecParams { epochs: 5, sample: 0.0, ..params(form) };
        let mut model = begin(&names, (&counts, &numbers), &params, 1).unwrap();
        model.finish(None, &ctx(2)).unwrap();
        let values = model.vectors();
        let cosine = |a: usize, b: usize| {
            let (a, b) = (&values[a * 20..][..20], &values[b * 20..][..20]);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        let mut same = 0;
        for word in 0..100 {
            let mut others: Vec<usize> = (0..100).filter(|&other| other != word).collect();
            others.sort_by(|&a, &b| cosine(word, b).total_cmp(&cosine(word, a)));
            same += others[..9].iter().filter(|&&other| other % 10 == word % 10).count();
        }
        // Characters pull words together that are of different subjects, as these are named.
        let least = if params.characters { 600 } else { 890 };
        assert!(same >= least, "{form:?}: {same} of the 900 nearest are of the subject of their word");
    }
}

#[test]
fn a_rate_that_is_too_high_stops_with_epoch_and_rate() {
    let (counts, numbers) = corpus(30, 300);
    for form in FORMS {
        let params = Word2vecParams { lr: Some(1e30), ..params(form) };
        let names = words(30);
        let mut model = begin(&names, (&counts, &numbers), &params, 1).unwrap();
        let error = model.pass(&ctx(1)).unwrap_err().to_string();
        assert!(error.contains("epoch 1 of 2") && error.contains("--lr"), "{error}");
    }
}

#[test]
fn a_vocabulary_of_two_words_and_empty_sentences_are_trained() {
    let numbers = [END, 0, 1, 0, END, DOCUMENT, END, DOCUMENT, 1, END, DOCUMENT];
    for form in FORMS {
        let params = Word2vecParams { sample: 0.0, ..params(form) };
        let names = words(2);
        let mut model = begin(&names, (&[2, 2], &numbers), &params, 1).unwrap();
        model.pass(&ctx(2)).unwrap();
        assert!(model.passes()[0].loss > 0.0 && model.vectors().len() == 40);
    }
}

#[test]
fn words_are_halves_of_themselves_and_of_their_characters() {
    let names: Vec<Box<str>> = ["增长", "GDP"].map(Box::from).into();
    let params = Word2vecParams { characters: true, dim: 3, ..Word2vecParams::default() };
    let model = begin(&names, (&[2, 1], &[0, 1, 0, END]), &params, 1).unwrap();
    let rows = model.weights.inputs.to_values();
    let expected = |i: usize| 0.5 * rows[i] + 0.25 * rows[6 + i] + 0.25 * rows[9 + i];
    let vectors = model.vectors();
    assert!((0..3).all(|i| (vectors[i] - expected(i)).abs() < 1e-7) && vectors[3..] == rows[3..6]);
    let sg = Word2vecParams { architecture: Architecture::SkipGram, ..params };
    assert!(begin(&names, (&[2, 1], &[0, 1]), &sg, 1).err().unwrap().to_string().contains("--chars"));
}

#[test]
fn parameters_that_cannot_be_used_are_refused_by_their_flags() {
    let with = |change: Value| {
        let mut params = json!(Word2vecParams::default());
        params.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let params: Word2vecParams = serde_json::from_value(params).unwrap();
        begin(&words(2), (&[1, 1], &[0, 1]), &params, 1).err().unwrap().to_string()
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
    let one = begin(&words(1), (&[5], &[0, 0]), &Word2vecParams::default(), 1).err().unwrap().to_string();
    assert!(one.contains("a vocabulary of 1 words"), "{one}");
}

#[test]
fn sampling_and_paths_are_those_of_gensim() {
    let reference: Value =
        serde_json::from_str(include_str!("../../../../tests/reference/gensim/word2vec.json")).unwrap();
    let list = |name: &str| reference[name].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect::<Vec<_>>();
    let counts = list("counts");
    // The length of the tree is the least possible; which of equally rare words is joined first is not defined.
    let tree = Huffman::new(&counts);
    let length = |lengths: &mut dyn Iterator<Item = u64>| counts.iter().zip(lengths).map(|(n, l)| n * l).sum::<u64>();
    let ours = length(&mut (0..counts.len() as u32).map(|word| tree.path(word).0.len() as u64));
    assert_eq!(ours, length(&mut list("code_lengths").into_iter()));
    let params = Word2vecParams { sample: reference["sample"].as_f64().unwrap(), ..Word2vecParams::default() };
    let rules = Rules::new(&words(counts.len()), &counts, &params);
    for (ours, theirs) in rules.stays.iter().zip(list("sample_int")) {
        assert!(ours.abs_diff(theirs) <= 2, "{ours}, {theirs}");
    }
}

#[test]
fn windows_are_summed_and_words_drawn_as_the_parameters_say() {
    let counts = [900_u64, 90, 10];
    let numbers: Vec<u32> = (0..3000).map(|i| i % 2).collect();
    let plan = |params: &Word2vecParams| {
        let rules = Rules::new(&words(3), &counts, params);
        let mut plan = Plan::default();
        plan.draw(&numbers, 0, &rules, &mut Random::new([3, 1, 1]));
        plan
    };
    let usual = Word2vecParams { sample: 0.0, ..Word2vecParams::default() };
    assert!(plan(&usual).windows[1500].scale < 1.0);
    assert!(plan(&Word2vecParams { sum: true, ..usual.clone() }).windows.iter().all(|window| window.scale == 1.0));
    // The rarest word is never a target of its own: it is drawn for its share of the table.
    for (power, share) in
        [(0.75, 10f64.powf(0.75) / (900f64.powf(0.75) + 90f64.powf(0.75) + 10f64.powf(0.75))), (0.0, 1.0 / 3.0)]
    {
        let drawn = plan(&Word2vecParams { ns_exponent: power, ..usual.clone() });
        let found = drawn.rows.iter().filter(|&&row| row == 2).count() as f64 / (5.0 * drawn.windows.len() as f64);
        assert!((found - share).abs() < 0.02, "{power}: {found}, {share}");
    }
    let refused = |params: Word2vecParams| params.check().unwrap_err().to_string();
    assert!(
        refused(Word2vecParams { sum: true, architecture: Architecture::SkipGram, ..usual.clone() }).contains("--sum")
    );
    assert!(refused(Word2vecParams { ns_exponent: -1.0, ..usual }).contains("--ns-exponent"));
}
