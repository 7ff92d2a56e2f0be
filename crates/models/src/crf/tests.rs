use serde_json::{Value, json};

use super::*;
use crate::checkpoint::Checkpoint;
use crate::reference::read;
use inkstone_base::job::Cancelled;
use inkstone_text::labeller::{Chain, Pass, Scheme};

fn ctx(threads: usize) -> Ctx {
    Ctx::new(threads, 1).unwrap()
}

/// The characters of words with their labels.
fn labelled(words: &[&str]) -> LabelledText {
    let scheme = Scheme::new(&Scheme::of_words()).unwrap();
    let mut at = 0;
    let spans: Vec<_> = words
        .iter()
        .map(|word| {
            let first = at;
            at += word.chars().count();
            (0, first..at)
        })
        .collect();
    LabelledText { text: words.concat().into(), labels: scheme.labels(at, &spans).unwrap() }
}

/// Made text in which the words follow from the characters.
fn corpus() -> Vec<LabelledText> {
    let subjects = ["公司", "贵州茅台", "北向资金", "券商", "它"];
    let verbs = ["拟", "大幅", "减持", "回购"];
    let objects = ["股份", "净利润", "3亿元", "债"];
    let texts = (0..60).map(|i| labelled(&[subjects[i % 5], verbs[i / 5 % 4], verbs[i % 3], objects[i / 3 % 4], "。"]));
    texts.collect()
}

fn train(texts: &[LabelledText], params: &CrfParams, checkpoint: Option<&Checkpoint>, ctx: &Ctx) -> Result<TrainedCrf> {
    train_crf(texts, Scheme::of_words(), Templates::usual(false), None, None, params, checkpoint, ctx)
}

#[test]
fn the_gradient_is_that_of_finite_differences_and_the_loss_that_over_all_sequences() {
    let texts = [labelled(&["净利润", "增"]), labelled(&["大", "增"]), labelled(&["利润"])];
    let templates: Templates = "c0,c-1c0,t1".parse().unwrap();
    let examples = Examples::new(&texts, 4, &templates, None, 1, &ctx(1)).unwrap();
    let mut objective = Objective::new(&examples, 0.3);
    let count = objective.len();
    let weights: Vec<f64> = (0..count).map(|i| ((i * 7919) % 101) as f64 / 50.0 - 1.0).collect();
    let (mut gradient, mut room) = (vec![0.0; count], vec![0.0; count]);
    let loss = objective.evaluate(&weights, &mut gradient, &ctx(1)).unwrap();

    let states = examples.features.len() * 4;
    let chain = Chain::new(4, weights[states..].to_vec());
    let mut expected = 0.3 * weights.iter().map(|weight| weight * weight).sum::<f64>();
    for (text, places) in texts.iter().zip(examples.texts.windows(2)) {
        let mut scores = Vec::new();
        for place in places[0]..places[1] {
            scores.extend(
                (0..4).map(|label| examples.seen_at(place).map(|feature| weights[feature * 4 + label]).sum::<f64>()),
            );
        }
        let length = text.labels.len() as u32;
        let all = (0..4_usize.pow(length))
            .map(|number| -> Vec<u8> { (0..length).map(|at| (number / 4_usize.pow(at) % 4) as u8).collect() });
        let z: f64 = all.map(|labels| chain.score(&scores, &labels).exp()).sum();
        expected += z.ln() - chain.score(&scores, &text.labels);
    }
    assert!((loss - expected).abs() < 1e-10, "{loss} {expected}");
    for number in 0..count {
        let mut at = |change: f64| {
            let mut moved = weights.clone();
            moved[number] += change;
            objective.evaluate(&moved, &mut room, &ctx(1)).unwrap()
        };
        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((difference - gradient[number]).abs() < 1e-7, "{number}: {difference} {}", gradient[number]);
    }
}

#[test]
fn weights_and_probabilities_are_those_of_crfsuite() {
    let reference: Value = serde_json::from_str(include_str!("../../../../tests/reference/crf/crf.json")).unwrap();
    let words: Vec<Vec<String>> = read(&reference["train"]);
    let texts: Vec<LabelledText> =
        words.iter().map(|words| labelled(&words.iter().map(String::as_str).collect::<Vec<_>>())).collect();
    let params =
        CrfParams { c2: reference["c2"].as_f64().unwrap(), epochs: 2000, tolerance: 1e-15, ..CrfParams::default() };
    let templates = reference["templates"].as_str().unwrap().parse().unwrap();
    let trained = train_crf(&texts, read(&reference["labels"]), templates, None, None, &params, None, &ctx(2)).unwrap();
    let model = trained.labeller;
    let pairs: Vec<f64> = read::<Vec<Vec<f64>>>(&reference["pairs"]).concat();
    let near = |found: &[f64], wanted: &[f64], what: &str| {
        assert_eq!(found.len(), wanted.len());
        let farthest = found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(farthest < 1e-5, "{what}: {farthest}");
    };
    near(model.pairs(), &pairs, "pairs");
    let chain = Chain::new(4, model.pairs().to_vec());
    for test in reference["test"].as_array().unwrap() {
        let text = test["text"].as_str().unwrap();
        let scores = model.scores(text);
        near(&scores, &read::<Vec<Vec<f64>>>(&test["scores"]).concat(), text);
        let mut pass = Pass::default();
        chain.pass(&scores, &mut pass);
        near(&pass.marginals().collect::<Vec<_>>(), &read::<Vec<Vec<f64>>>(&test["marginals"]).concat(), text);
        let found: Vec<&str> = model.label(text).iter().map(|&label| &*model.labels()[usize::from(label)]).collect();
        assert_eq!(found, read::<Vec<String>>(&test["labels"]), "{text}");
    }
}

#[test]
fn words_are_learned_with_the_same_bytes_for_any_threads_and_after_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("words.crf");
    let params = CrfParams::default();
    let bytes = |trained: &TrainedCrf| {
        trained.labeller.save(&path, 60, json!({})).unwrap();
        std::fs::read(&path).unwrap()
    };
    let one = train(&corpus(), &params, None, &ctx(1)).unwrap();
    assert!(one.settled && !one.resumed && one.losses.windows(2).all(|pair| pair[1] < pair[0]));
    let expected = bytes(&one);
    assert!(expected == bytes(&train(&corpus(), &params, None, &ctx(3)).unwrap()));
    let again = Labeller::open(&path).unwrap();
    let text = "贵州茅台拟回购净利润。";
    assert_eq!(again.label(text), labelled(&["贵州茅台", "拟", "回购", "净利润", "。"]).labels);
    assert_eq!(again.scores(text), one.labeller.scores(text));

    let checkpoint = Checkpoint::new(&path, &json!(1)).unwrap().eager();
    let few = CrfParams { epochs: 7, ..params.clone() };
    assert!(!train(&corpus(), &few, Some(&checkpoint), &ctx(2)).unwrap().settled);
    let on = train(&corpus(), &params, Some(&checkpoint), &ctx(2)).unwrap();
    assert!(on.resumed && on.losses == one.losses);
    assert!(expected == bytes(&on));
}

#[test]
fn a_stopped_training_ends_and_what_teaches_nothing_is_refused() {
    let stopped = ctx(1);
    stopped.cancel();
    assert!(train(&corpus(), &CrfParams::default(), None, &stopped).err().unwrap().is::<Cancelled>());
    let error =
        |texts: &[LabelledText], params: &CrfParams| train(texts, params, None, &ctx(1)).err().unwrap().to_string();
    assert!(error(&[], &CrfParams::default()).contains("no character to learn from"));
    let params = CrfParams { min_count: 1000, ..CrfParams::default() };
    assert!(error(&corpus(), &params).contains("lower --min-count"));
    assert!(error(&corpus(), &CrfParams { c2: f64::NAN, ..CrfParams::default() }).contains("--c2"));
    let wrong = LabelledText { text: "净利".into(), labels: vec![0] };
    assert!(error(&[wrong], &CrfParams::default()).contains("2 characters and 1 labels"));
}

#[test]
fn a_dictionary_tells_words_that_the_text_does_not_have() {
    let list =
        || WordList::new(["贵州茅台", "净利润", "北向资金", "公司", "回购", "减持", "毛利率"].map(Box::from)).unwrap();
    let templates = Templates::usual(true);
    let params = CrfParams { c2: 0.1, ..CrfParams::default() };
    let trained =
        train_crf(&corpus(), Scheme::of_words(), templates, Some(list()), None, &params, None, &ctx(1)).unwrap();
    let with = trained.labeller;
    let without = train(&corpus(), &params, None, &ctx(1)).unwrap().labeller;
    let right = labelled(&["券商", "拟", "毛利率", "。"]);
    let probability = |model: &Labeller| {
        let mut pass = Pass::default();
        let chain = Chain::new(4, model.pairs().to_vec());
        chain.pass(&model.scores(&right.text), &mut pass);
        chain.probability(&pass, 0, &right.labels)
    };
    assert_eq!(with.label(&right.text), right.labels);
    let (with, without) = (probability(&with), probability(&without));
    assert!(with > 1.2 * without, "{with} {without}");
}
