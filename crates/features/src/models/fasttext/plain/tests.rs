//! Training from lines, the files, figures as official fastText gives them, and bad input.

use std::io::Cursor;
use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::fitted::EvalParams;
use crate::lines::{CutSpec, LineFormat};
use crate::models::open_model;
use crate::standalone::{Judgements, evaluate_words, nearest_to_sum, nearest_words};
use inkstone_models::{ModelFile, is_fasttext};
use inkstone_text::TokenizerParams;

fn reference() -> Value {
    serde_json::from_str(include_str!("../../../../../../tests/reference/fasttext/fasttext.json")).unwrap()
}

fn text(of: &str) -> String {
    let lines = reference();
    lines[of].as_array().unwrap().iter().map(|line| format!("{}\n", line.as_str().unwrap())).collect()
}

fn cutter() -> Cutter {
    Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap()
}

fn small() -> FastTextParams {
    FastTextParams { dim: 6, epochs: 20, lr: 0.3, word_ngrams: 2, bucket: 500, ..FastTextParams::supervised() }
}

fn supervised(text: String, format: LineFormat, params: &FastTextParams, threads: usize) -> Result<(Trained, Report)> {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(threads, 1).unwrap();
    train_supervised(
        &mut Lines::new(Cursor::new(text), format),
        &cutter(),
        params,
        None,
        None,
        &dir.path().join("m"),
        &ctx,
    )
}

fn refusal(text: &str, params: &FastTextParams) -> String {
    format!("{:#}", supervised(text.to_owned(), LineFormat::Tokens, params, 2).err().unwrap())
}

#[test]
fn labels_are_learned_and_bytes_do_not_depend_on_threads() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    for loss in [
        inkstone_models::Loss::Softmax,
        inkstone_models::Loss::Hs,
        inkstone_models::Loss::Ns,
        inkstone_models::Loss::Ova,
    ] {
        let params = FastTextParams { loss, minn: 1, maxn: 2, ..small() };
        let mut first: Option<Vec<Vec<u8>>> = None;
        for threads in [1, 2, 8] {
            let ((model, training), report) = supervised(text("train"), LineFormat::Tokens, &params, threads).unwrap();
            let losses: Vec<f64> = serde_json::from_value(report.facts["loss"].clone()).unwrap();
            assert!(losses[19] < 0.5 * losses[0], "{loss:?}: {losses:?}");
            model.save_model(&dir.path().join("m"), cutter().spec(), &training).unwrap();
            model.save(&dir.path().join("m.bin")).unwrap();
            let bytes = ["m", "m.bin"].map(|name| std::fs::read(dir.path().join(name)).unwrap()).to_vec();
            assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{loss:?}: others with {threads} threads");
        }
        // Both files say the same, of n-grams that training never met too.
        let figures = ["m", "m.bin"].map(|name| {
            let open = |format| open_model(&dir.path().join(name), Some(format), None, Path::new(""), &ctx);
            let (fitted, _) = open(LineFormat::Tokens).unwrap();
            let mut lines = Lines::new(Cursor::new(text("test_lines")), LineFormat::Tokens);
            fitted.evaluate(&mut lines, &EvalParams::default(), &ctx).unwrap().0
        });
        assert_eq!(figures[0], figures[1]);
        assert!(figures[0]["precision_at_1"].as_f64().unwrap() > 0.9, "{loss:?}: {:?}", figures[0]);
    }
    assert!(is_fasttext(&dir.path().join("m.bin")).unwrap() && !is_fasttext(&dir.path().join("m")).unwrap());
    assert_eq!(ModelFile::open(&dir.path().join("m")).unwrap().header().documents, 90);
}

#[test]
fn precision_and_recall_are_those_of_fasttext() {
    let ctx = Ctx::new(2, 1).unwrap();
    let reference = reference();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/fasttext");
    for (name, expected) in
        reference["models"].as_object().unwrap().iter().filter(|(_, model)| model["test"].is_array())
    {
        let path = folder.join(expected["file"].as_str().unwrap());
        let (fitted, _) = open_model(&path, None, None, Path::new(""), &ctx).unwrap();
        assert_eq!(fitted.name(), "fasttext-supervised");
        let mut lines = Lines::new(Cursor::new(text("test_lines")), LineFormat::Tokens);
        let (figures, _) = fitted.evaluate(&mut lines, &EvalParams::default(), &ctx).unwrap();
        for (test, k) in [("test", 1), ("test2", 2)] {
            let figure = |name: &str| figures[&format!("{name}_at_{k}")].as_f64().unwrap();
            let theirs = &expected[test];
            assert_eq!(figures["examples"], theirs[0], "{name}");
            assert!((figure("precision") - theirs[1].as_f64().unwrap()).abs() < 1e-12, "{name} {k}");
            assert!((figure("recall") - theirs[2].as_f64().unwrap()).abs() < 1e-12, "{name} {k}");
        }
    }
}

#[test]
fn an_explanation_adds_up() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let path = dir.path().join("m");
    let ((model, training), _) = supervised(text("train"), LineFormat::Tokens, &small(), 2).unwrap();
    model.save_model(&path, cutter().spec(), &training).unwrap();
    let (fitted, _) = open_model(&path, None, None, Path::new(""), &ctx).unwrap();
    let line = crate::standalone::Line { text: "大盘 上涨 央行".into(), ..Default::default() };
    let explained = fitted.explain(&line, None).unwrap();
    let tokens = ["大盘", "上涨", "央行"];
    let ranked = model.likeliest(&tokens, 2).unwrap();
    let odds = f64::from(ranked[0].1 / ranked[1].1).ln();
    assert!((explained.score - odds).abs() < 1e-2 * odds.abs(), "{} is not {odds}", explained.score);
    let sum: f64 = explained.terms.iter().map(|part| part.value).sum();
    assert!((sum - explained.score).abs() < 1e-9);
    assert!(explained.terms.iter().any(|part| part.token == "大盘 上涨"));
    assert!(fitted.explain(&line, Some("期货")).unwrap_err().to_string().contains("股票"));
}

#[test]
fn json_lines_give_labels_by_their_fields() {
    let lines = "{\"text\": \"大盘 上涨\", \"label\": \"股\"}\n{\"text\": \"国债 下行\", \"labels\": [\"债\", \"宏观\"]}\n\
                 {\"text\": \"无 标签\"}\n{\"text\": \"大盘 收红\", \"label\": \"股\"}\n";
    let params = FastTextParams { word_ngrams: 1, ..small() };
    let ((model, _), report) = supervised(lines.to_owned(), LineFormat::Jsonl, &params, 2).unwrap();
    assert_eq!(model.label_names(), ["股", "债", "宏观"]);
    assert_eq!(report.facts["documents_without_label"], 1);
    assert_eq!(report.facts["labels_of_one_document"].as_array().unwrap().len(), 2);
    assert_eq!(report.facts["labels"], 3);
}

#[test]
fn bad_input_is_refused_with_the_way_out() {
    let message = refusal("大盘 上涨\n国债 下行\n", &small());
    assert!(message.contains("no line has a label") && message.contains("__label__"), "{message}");
    let message = refusal("__label__a 大盘\n__label__a 国债\n", &small());
    assert!(message.contains("1 of 1 labels") && message.contains("--min-count-label"), "{message}");
    let rare = FastTextParams { min_count: 10, ..small() };
    let message = refusal("__label__a 大盘\n__label__b 国债\n", &rare);
    assert!(
        message.contains("none of 2 words occurs at least 10 times") && message.contains("--min-count"),
        "{message}"
    );
    // The one word that is kept stands where no label is.
    let rare = FastTextParams { min_count: 4, ..small() };
    let message = refusal("__label__a\n__label__b\n涨 涨 涨 涨\n", &rare);
    assert!(message.contains("no document has a label and a word") && message.contains("--min-count"), "{message}");
    let message = refusal(&text("train"), &FastTextParams { lr: 1e30, ..small() });
    assert!(message.contains("diverged in epoch 1 of 20") && message.contains("--lr"), "{message}");
    for (params, flag) in [
        (FastTextParams { dim: 0, ..small() }, "--dim"),
        (FastTextParams { epochs: 0, ..small() }, "--epochs"),
        (FastTextParams { minn: 3, maxn: 2, ..small() }, "--minn"),
        (FastTextParams { bucket: 0, ..small() }, "--bucket"),
        (FastTextParams { lr: f32::NAN, ..small() }, "--lr"),
    ] {
        let message = refusal(&text("train"), &params);
        assert!(message.contains(flag), "{flag}: {message}");
    }
}

#[test]
fn one_word_a_long_line_and_bytes_that_are_no_text() {
    // One word besides the end of the line is enough to learn from.
    supervised("__label__a 涨\n__label__b\n".to_owned(), LineFormat::Tokens, &small(), 2).unwrap();
    let long = format!("__label__a {}\n__label__b 跌\n", "涨 ".repeat(2_500_000));
    let ((model, _), report) =
        supervised(long, LineFormat::Tokens, &FastTextParams { epochs: 1, ..small() }, 2).unwrap();
    assert_eq!((report.facts["tokens"].as_u64(), model.label_names().len()), (Some(2_500_003), 2));
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let bytes = [text("train").as_bytes(), b"__label__x \xff\xfe\n"].concat();
    let mut lines = Lines::new(Cursor::new(bytes), LineFormat::Tokens);
    let (_, report) =
        train_supervised(&mut lines, &cutter(), &small(), None, None, &dir.path().join("m"), &ctx).unwrap();
    assert_eq!(report.dropped_rows(), 1);
}

#[test]
fn training_begins_with_vectors_of_the_same_dimension() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let train = |dim: usize| {
        let words = ["大盘", "陌生"].map(Box::from).to_vec();
        let vectors = WordVectors::new(words, vec![2, 1], dim, vec![0.25; 2 * dim], Training::default()).unwrap();
        let mut lines = Lines::new(Cursor::new(text("train")), LineFormat::Tokens);
        train_supervised(&mut lines, &cutter(), &small(), Some(&vectors), None, &dir.path().join("m"), &ctx)
    };
    let message = train(5).err().unwrap().to_string();
    assert!(message.contains("5 values and the model 6") && message.contains("--dim 5"), "{message}");
    let ((model, _), _) = train(6).unwrap();
    // A word that training never met keeps its vector.
    assert_eq!(model.word_vector("陌生"), [0.25; 6]);
    assert_ne!(model.word_vector("大盘"), [0.25; 6]);
}

#[test]
fn words_of_one_topic_come_to_lie_together() {
    let dir = tempfile::tempdir().unwrap();
    let plain: String = text("train").lines().map(|line| format!("{}\n", line.split_once(' ').unwrap().1)).collect();
    for form in [inkstone_models::Form::Skipgram, inkstone_models::Form::Cbow] {
        let params = FastTextParams {
            form,
            dim: 8,
            epochs: 200,
            lr: 0.1,
            min_count: 2,
            minn: 1,
            maxn: 2,
            bucket: 5000,
            sample: 1.0,
            ..FastTextParams::default()
        };
        let mut first: Option<Vec<f32>> = None;
        for threads in [1, 2, 8] {
            let ctx = Ctx::new(threads, 1).unwrap();
            let mut lines = Lines::new(Cursor::new(plain.clone()), LineFormat::Tokens);
            let ((model, _), _) = train_words(&mut lines, &cutter(), &params, &dir.path().join("m"), &ctx).unwrap();
            let values = model.word_vectors();
            assert!(*first.get_or_insert_with(|| values.clone()) == values, "others with {threads} threads");
            let cosine = |a: &str, b: &str| {
                let (a, b) = (model.word_vector(a), model.word_vector(b));
                let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
                dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
            };
            assert!(
                cosine("大盘", "券商") > cosine("大盘", "央行") + 0.05,
                "{form:?}: {} {}",
                cosine("大盘", "券商"),
                cosine("大盘", "央行")
            );
            // A word never met lies by those that share its characters.
            assert!(cosine("央行的", "央行") > 0.3, "{form:?}: {}", cosine("央行的", "央行"));
        }
    }
    let mut lines = Lines::new(Cursor::new("涨\n涨\n"), LineFormat::Tokens);
    let ctx = Ctx::new(1, 1).unwrap();
    let params = FastTextParams { min_count: 1, ..FastTextParams::default() };
    let message = train_words(&mut lines, &cutter(), &params, &dir.path().join("m"), &ctx).err().unwrap().to_string();
    assert!(message.contains("1 of 1 words") && message.contains("--min-count"), "{message}");
}

#[test]
fn words_that_were_never_met_have_the_neighbours_that_fasttext_gives_them() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/fasttext");
    let (fitted, _) = open_model(&folder.join("words.bin"), None, None, Path::new(""), &ctx).unwrap();
    let text = std::fs::read_to_string(folder.join("nearest.json")).unwrap();
    let expected: std::collections::BTreeMap<String, Vec<(f32, String)>> = serde_json::from_str(&text).unwrap();
    let asked: Vec<String> = expected.keys().cloned().collect();
    assert!(
        asked.iter().filter(|word| fitted.words().unwrap().words.iter().all(|known| **known != ***word)).count() > 2
    );
    for (near, expected) in nearest_words(fitted.as_ref(), &asked, 5, &ctx).unwrap().iter().zip(expected.values()) {
        for (ours, (similarity, word)) in near.neighbours.iter().zip(expected) {
            assert_eq!(ours.name, *word, "{}: {near:?}", near.of);
            assert!((ours.similarity - similarity).abs() < 1e-5, "{}: {near:?}", near.of);
        }
    }
    let sum = nearest_to_sum(fitted.as_ref(), &["国债券".to_owned()], &["从未".to_owned()], 3, &ctx).unwrap();
    assert_eq!(sum.neighbours.len(), 3);
    // Judgements of words that were never met count, and are counted.
    let path = dir.path().join("judged");
    std::fs::write(&path, "大盘 国债 3\n国债券 国债 9\n大盘 央行逆回购 1\n").unwrap();
    let (figures, _) = evaluate_words(fitted.as_ref(), &path, Judgements::Similarity, &ctx).unwrap();
    assert_eq!((&figures["known_pairs"], &figures["made_pairs"]), (&json!(3), &json!(2)));
    std::fs::write(&path, "大盘 国债券 国债 上涨\n大盘 国债 国债券 从未\n").unwrap();
    let (figures, _) = evaluate_words(fitted.as_ref(), &path, Judgements::Analogy, &ctx).unwrap();
    assert_eq!((&figures["known_questions"], &figures["made_questions"]), (&json!(1), &json!(1)));
    // Of a model that knows no characters, the word is unknown as ever.
    let (fitted, _) = open_model(&folder.join("softmax.bin"), None, None, Path::new(""), &ctx).unwrap();
    let error = nearest_words(fitted.as_ref(), &asked, 5, &ctx).unwrap_err().to_string();
    assert!(error.contains("fasttext-supervised") && error.contains("nnlm") && error.contains("word2vec"), "{error}");
}
