//! Models of two texts on plain files, against the reference of `tests/reference/pairs`.

use std::io::Cursor;

use serde_json::{Value, json};

use super::*;
use crate::standalone::{Named, Sought, embed, nearest_documents};
use inkstone_base::disk::Formulas;
use inkstone_corpus::link::EntityFinder;
use inkstone_onnx::testing::{graph, has_library, pair_model, section};

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

fn read(file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(pair_model(file)).unwrap()).unwrap()
}

fn using(params: OnnxParams) -> Contextual {
    Contextual { params: OnnxParams { batch_tokens: 64, ..params }, runtime: section(), ..Contextual::default() }
}

fn open(name: &str, using: &Contextual) -> FittedOnnx {
    FittedOnnx::open(&pair_model(name), using, LineFormat::Jsonl, &ctx()).unwrap()
}

fn lines(objects: &[Value]) -> Lines {
    let text: String = objects.iter().map(|object| format!("{object}\n")).collect();
    Lines::new(Cursor::new(text.into_bytes()), LineFormat::Jsonl)
}

fn measured(name: &str, task: Examination, objects: &[Value]) -> Result<Figures> {
    let using = Contextual { examination: Some(task), ..using(OnnxParams::default()) };
    Ok(open(name, &using).evaluate(&mut lines(objects), &EvalParams::default(), &ctx())?.0)
}

/// The pairs of the reference, with what `beside` says of each by its number.
fn pairs(beside: impl Fn(usize) -> Value) -> Vec<Value> {
    let expected = read("expected.json");
    let texts = |name: &str| expected[name].as_array().unwrap().clone();
    let both =
        texts("texts").into_iter().flat_map(|text| texts("others").into_iter().map(move |other| (text.clone(), other)));
    let object = |(number, (text, other)): (usize, (Value, Value))| {
        let mut object = json!({"id": number, "text": text, "pair": other});
        object.as_object_mut().unwrap().extend(beside(number).as_object().unwrap().clone());
        object
    };
    both.enumerate().map(object).collect()
}

#[test]
fn rows_of_lines_with_a_second_text_are_scores_of_both() {
    if !has_library() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("rows.jsonl");
    let model = open("reranker", &using(OnnxParams { output: Output::Scores, ..OnnxParams::default() }));
    embed(&model, &mut lines(&pairs(|_| json!({}))), &output, Formulas::default(), &ctx()).unwrap();
    let written = std::fs::read_to_string(&output).unwrap();
    let rows: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let scores = read("expected.json")["reranker"]["scores"].as_array().unwrap().clone();
    assert_eq!(rows.len(), scores.len());
    for (number, (row, score)) in rows.iter().zip(scores).enumerate() {
        assert_eq!((&row["id"], &row["label"]), (&json!(number.to_string()), &json!("LABEL_0")));
        assert!((row["LABEL_0"].as_f64().unwrap() - score.as_f64().unwrap()).abs() < 1e-5, "{row}");
    }
    let mut some = pairs(|_| json!({}));
    some[3].as_object_mut().unwrap().remove("pair");
    let error = embed(&model, &mut lines(&some), &output, Formulas::default(), &ctx()).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("line 4 has no text in the field pair"), "{error}");
}

#[test]
fn pairs_are_measured_by_label_or_value() {
    if !has_library() {
        return;
    }
    let expected = read("expected.json");
    let scores: Vec<f64> = serde_json::from_value(expected["reranker"]["scores"].clone()).unwrap();
    let found = measured("reranker", Examination::Pairs, &pairs(|number| json!({"value": scores[number] * 2.0 - 1.0})))
        .unwrap();
    assert_eq!((&found["pairs"], &found["scored"]), (&json!(9), &json!(9)));
    for figure in ["spearman", "pearson"] {
        assert!((found[figure].as_f64().unwrap() - 1.0).abs() < 1e-6, "{figure}: {}", found[figure]);
    }
    let probabilities: Vec<[f64; 2]> =
        serde_json::from_value(expected["next-sentence"]["probabilities"].clone()).unwrap();
    let likelier = |number: usize| usize::from(probabilities[number][1] > probabilities[number][0]);
    // The first line says the other class, by its name; the rest what the model calls, by number.
    let label = |number: usize| match number {
        0 => {
            let other = ["random", "next"][likelier(0)];
            json!({"label": other})
        }
        _ => json!({"label": likelier(number)}),
    };
    let found = measured("next-sentence", Examination::Nsp, &pairs(label)).unwrap();
    assert!((found["accuracy"].as_f64().unwrap() - 8.0 / 9.0).abs() < 1e-12, "{found:?}");
    // One score is yes above a half, and all of these are.
    let found =
        measured("reranker", Examination::Pairs, &pairs(|number| json!({"label": usize::from(number < 6)}))).unwrap();
    assert!((found["accuracy"].as_f64().unwrap() - 6.0 / 9.0).abs() < 1e-12, "{found:?}");
    let error = measured("next-sentence", Examination::Nsp, &pairs(|_| json!({"label": "yes"}))).unwrap_err();
    assert!(error.to_string().contains("the model knows next, random"), "{error}");
    let error = measured("next-sentence", Examination::Nsp, &pairs(|_| json!({}))).unwrap_err().to_string();
    assert!(error.contains("neither a label nor a value"), "{error}");
}

#[test]
fn tokens_that_no_piece_covers_are_unknown() {
    if !has_library() {
        return;
    }
    let found = measured("reranker", Examination::Coverage, &[json!({"text": "龘", "time": "2026-03-01"})]).unwrap();
    assert_eq!((&found["tokens"], &found["oov"], &found["oov_share"]), (&json!(1), &json!(1), &json!(1.0)));
    assert_eq!(found["by_month"]["2026-03"]["empty_documents"], json!(1));
    let found = measured("reranker", Examination::Coverage, &pairs(|_| json!({}))).unwrap();
    assert_eq!((&found["documents"], &found["empty_documents"]), (&json!(9), &json!(0)));
    assert!(found["oov"].as_u64() < found["tokens"].as_u64(), "{found:?}");
}

#[test]
fn the_choice_is_the_one_with_the_largest_score() {
    if !has_library() {
        return;
    }
    let expected = read("expected.json");
    let logits: Vec<f64> = serde_json::from_value(expected["choice"]["logits"][0].clone()).unwrap();
    let best = (0..3).fold(0, |best, i| if logits[i] > logits[best] { i } else { best });
    let object = |label: Value| json!({"text": expected["texts"][0], "choices": expected["others"], "label": label});
    let found = measured("choice", Examination::Choice, &[object(json!(best)), object(json!((best + 1) % 3))]).unwrap();
    assert_eq!((&found["accuracy"], &found["choices"][0]["choice"]), (&json!(0.5), &json!(best)));
    let named = object(expected["others"][best].clone());
    assert_eq!(measured("choice", Examination::Choice, &[named]).unwrap()["accuracy"], json!(1.0));
    let error = measured("choice", Examination::Choice, &[json!({"text": "订单"})]).unwrap_err().to_string();
    assert!(error.contains("line 1 has no choices"), "{error}");
}

#[test]
fn answers_are_written_and_measured() {
    if !has_library() {
        return;
    }
    let expected = read("answers.json");
    let params = OnnxParams {
        output: Output::Answer,
        stride: expected["stride"].as_u64().unwrap() as usize,
        max_answer: expected["max_answer"].as_u64().unwrap() as usize,
        ..OnnxParams::default()
    };
    let cases = expected["cases"].as_array().unwrap();
    let objects: Vec<Value> = cases
        .iter()
        .map(|case| json!({"text": case["context"], "question": expected["question"], "answers": [case["answer"]]}))
        .collect();
    let model = open("answers", &using(params.clone()));
    let (found, _) = model.evaluate(&mut lines(&objects), &EvalParams::default(), &ctx()).unwrap();
    assert_eq!(found["squad"], json!({"exact_match": 1.0, "f1": 1.0}));
    assert_eq!(found["measured"], json!(cases.len()));
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("answers.jsonl");
    embed(&model, &mut lines(&objects), &output, Formulas::default(), &ctx()).unwrap();
    let written = std::fs::read_to_string(&output).unwrap();
    for (line, case) in written.lines().zip(cases) {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["answer"], case["answer"]);
        let (from, to) = (row["start"].as_u64().unwrap() as usize, row["end"].as_u64().unwrap() as usize);
        assert_eq!(case["context"].as_str().unwrap()[from..to], *case["answer"].as_str().unwrap());
        assert!((row["null"].as_f64().unwrap() - case["null"].as_f64().unwrap()).abs() < 1e-5);
    }
    // A threshold below every null score leaves no answer.
    let none = open("answers", &using(OnnxParams { no_answer: Some(-100.0), ..params }));
    let (found, _) = none.evaluate(&mut lines(&objects), &EvalParams::default(), &ctx()).unwrap();
    assert_eq!((&found["squad"]["exact_match"], &found["answers"][0]["answer"]), (&json!(0.0), &Value::Null));
    let error = model.evaluate(&mut lines(&[json!({"text": "订单"})]), &EvalParams::default(), &ctx()).unwrap_err();
    assert!(error.to_string().contains("--question"), "{error}");
}

#[test]
fn the_nearest_are_put_in_the_order_of_a_cross_encoder() {
    if !has_library() {
        return;
    }
    let bert = FittedOnnx::open(&graph("bert"), &using(OnnxParams::default()), LineFormat::Jsonl, &ctx()).unwrap();
    let expected = read("expected.json");
    let objects: Vec<Value> =
        (0..3).map(|number| json!({"id": format!("d{number}"), "text": expected["others"][number]})).collect();
    let reranker = Reranker::open(&pair_model("reranker"), &section(), &ctx()).unwrap();
    let sought = Sought::Text(expected["texts"][0].as_str().unwrap());
    let found =
        |reranker| nearest_documents(&bert, &mut lines(&objects), &sought, 3, reranker, &ctx()).unwrap().0.remove(0);
    let plain = found(None).neighbours;
    assert!(plain.iter().all(|one| one.score.is_none()) && plain[0].similarity >= plain[2].similarity);
    let reranked = found(Some(&reranker)).neighbours;
    let scores: Vec<f64> = serde_json::from_value(expected["reranker"]["scores"].clone()).unwrap();
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    assert_eq!(reranked.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), order.map(|i| format!("d{i}")));
    for (one, place) in reranked.iter().zip(order) {
        assert!((f64::from(one.score.unwrap()) - scores[place]).abs() < 1e-5);
        let similarity = |all: &[Named]| all.iter().find(|other| other.name == one.name).unwrap().similarity;
        assert_eq!(similarity(&plain), one.similarity);
    }
    let error = Reranker::open(&pair_model("order"), &section(), &ctx()).map(|_| ());
    assert!(error.is_ok(), "the first of the two classes says that texts are in order");
    let error = format!("{:#}", Reranker::open(&graph("bert-classifier"), &section(), &ctx()).err().unwrap());
    assert!(error.contains("gives one value, or a class entailment"), "{error}");
}

#[test]
fn entities_are_listed_and_measured() {
    if !has_library() {
        return;
    }
    let using = using(OnnxParams { output: Output::Entities, ..OnnxParams::default() });
    let text = "公司拟回购股份，金额不超过3亿元。";
    let open = || FittedOnnx::open(&graph("bert-tokens"), &using, LineFormat::Jsonl, &ctx()).unwrap();
    let shown =
        open().evaluate(&mut lines(&[json!({"id": "a", "text": text})]), &EvalParams::default(), &ctx()).unwrap().0;
    let entities = shown["documents"][0]["entities"].as_array().unwrap().clone();
    assert!(!entities.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let list = |name: &str| {
        let output = folder.path().join(name);
        let input = &mut lines(&[json!({"id": "a", "text": text}), json!({"id": "b", "text": ""})]);
        let figures =
            list_entities(&graph("bert-tokens"), &using, input, None, &output, Formulas::default(), &ctx())?.0;
        assert_eq!(figures["entities"], json!(entities.len()));
        anyhow::Ok(output)
    };
    let csv = std::fs::read_to_string(list("entities.csv").unwrap()).unwrap();
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(rows.headers().unwrap().iter().collect::<Vec<_>>(), ["id", "kind", "text", "start", "end", "score"]);
    for (row, entity) in rows.records().zip(&entities) {
        let row = row.unwrap();
        assert_eq!(
            (&row[0], &row[1], &row[2]),
            ("a", entity["kind"].as_str().unwrap(), entity["text"].as_str().unwrap())
        );
        assert_eq!(row[3], entity["start"].to_string());
    }
    let frame = inkstone_tables::frames::read_parquet(&list("entities.parquet").unwrap(), None).unwrap();
    assert_eq!((frame.height(), frame.width()), (entities.len(), 6));
    let objects = std::fs::read_to_string(list("entities.jsonl").unwrap()).unwrap();
    assert_eq!(objects.lines().count(), entities.len());
    assert!(list("entities.npz").unwrap_err().to_string().contains(".parquet or .jsonl"));

    // Entities that name a security on the day.
    let name = entities[0]["text"].as_str().unwrap();
    let mut table = vec![inkstone_market::Security::unnamed(inkstone_base::code::Code::canonical("600001.SH"))];
    table[0].name = name.to_owned();
    let names = EntityFinder::new(&table, &inkstone_corpus::link::Params::default()).unwrap();
    let linked = |line: serde_json::Value| {
        let output = folder.path().join("linked.csv");
        let input = &mut lines(&[line]);
        let of_names = Some(&names);
        list_entities(&graph("bert-tokens"), &using, input, of_names, &output, Formulas::default(), &ctx()).map(
            |(figures, _)| (figures["entities_linked"].as_u64().unwrap(), std::fs::read_to_string(output).unwrap()),
        )
    };
    let (count, csv) = linked(json!({"id": "a", "text": text, "time": "2024-03-01 10:00:00"})).unwrap();
    assert!(
        count > 0 && csv.starts_with("id,kind,text,start,end,score,codes\n") && csv.contains(",600001.SH\n"),
        "{csv}"
    );
    let timeless = format!("{:#}", linked(json!({"id": "a", "text": text})).unwrap_err());
    assert!(timeless.contains("has no time"), "{timeless}");

    // All but one of the entities that it finds, and one of another kind.
    let mut right = entities.clone();
    right[0]["kind"] = json!("XYZ");
    let gold = json!({"id": "a", "text": text, "entities": right});
    let figures = open().evaluate(&mut lines(&[gold]), &EvalParams::default(), &ctx()).unwrap().0;
    let share = 1.0 - 1.0 / entities.len() as f64;
    assert!((figures["against"]["micro"]["f1"].as_f64().unwrap() - share).abs() < 1e-12, "{figures:?}");
    let wrong = json!({"text": text, "entities": [{"kind": "ORG", "start": 1, "end": 4}]});
    let error = open().evaluate(&mut lines(&[wrong]), &EvalParams::default(), &ctx()).unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("bytes 1..4"), "{error}");
}
