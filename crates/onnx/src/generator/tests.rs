//! Against transformers (`tests/reference/generation`), with keys and values of earlier tokens and without.

use std::path::Path;

use serde_json::Value;

use super::super::decode::Drawing;
use super::super::testing::{has_library, opening, params};
use super::super::tests as reference_tests;
use super::*;

const FOLDERS: [&str; 6] = ["gpt2", "gpt2-past", "qwen3", "bart-merged", "bart", "t5-past"];

fn expected() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/generation/expected.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn open(name: &str, search: SearchParams) -> Generator {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/generation").join(name);
    let params = OnnxParams { model, ..OnnxParams::default() };
    Generator::open(&params, Truncation::None, SearchParams { max_new_tokens: 12, ..search }, &opening()).unwrap()
}

fn strings(value: &Value) -> Vec<String> {
    serde_json::from_value(value.clone()).unwrap()
}

fn ids(value: &Value) -> Vec<Vec<u32>> {
    serde_json::from_value(value.clone()).unwrap()
}

fn greedy() -> SearchParams {
    SearchParams { beams: 1, ..SearchParams::default() }
}

#[test]
fn a_batch_goes_on_when_its_longest_text_has_ended() {
    if !has_library() {
        return;
    }
    let (expected, ctx) = (expected(), Ctx::new(2, 1).unwrap());
    for name in ["gpt2", "gpt2-past", "qwen3"] {
        let texts = strings(&expected[name]["texts"]);
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        texts.sort_by_key(|text| text.chars().count());
        let longest = texts[texts.len() - 1];
        let first = open(name, greedy()).write(longest, &ctx).unwrap()[0].ids[0];
        // The first token of the longest text ends it.
        let ended = || open(name, SearchParams { eos: vec![first], ..greedy() });
        let together: Vec<Vec<u32>> =
            ended().write_all(&texts, 0, &ctx).unwrap().into_iter().map(|written| written[0].ids.clone()).collect();
        let alone = |text: &&str| ended().write(text, &ctx).unwrap()[0].ids.clone();
        assert_eq!(together, texts.iter().map(alone).collect::<Vec<Vec<u32>>>(), "{name}");
        assert!(together[..texts.len() - 1].iter().any(|ids| ids.len() > 1), "{name}: {together:?}");
    }
}

#[test]
fn what_is_remembered_changes_nothing_that_is_written() {
    if !has_library() {
        return;
    }
    let (expected, ctx) = (expected(), Ctx::new(2, 1).unwrap());
    for name in FOLDERS {
        let wanted = &expected[name];
        let texts = strings(&wanted["texts"]);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let both = |search: SearchParams| {
            let mut generator = open(name, search.clone());
            assert!(generator.remembers(), "{name}");
            let found = generator.write_all(&texts, 0, &ctx).unwrap();
            let mut generator = open(name, search);
            generator.forget();
            let again: Vec<Vec<Written>> = texts.iter().map(|text| generator.write(text, &ctx).unwrap()).collect();
            for (one, other) in found.iter().flatten().zip(again.iter().flatten()) {
                assert_eq!((&one.ids, &one.text), (&other.ids, &other.text), "{name}");
                assert!((one.score - other.score).abs() < 1e-4, "{name}: {} {}", one.score, other.score);
            }
            found
        };
        let found: Vec<Vec<u32>> = both(greedy()).into_iter().map(|found| found[0].ids.clone()).collect();
        assert_eq!(found, ids(&wanted["greedy"]), "{name}");
        let found = both(SearchParams { beams: 4, ..SearchParams::default() });
        for (found, wanted) in found.iter().zip(wanted["beams"].as_array().unwrap()) {
            let written: Vec<Vec<u32>> = found.iter().map(|found| found.ids.clone()).collect();
            assert_eq!(written, ids(&wanted["ids"]), "{name}");
            let scores: Vec<f32> = serde_json::from_value(wanted["scores"].clone()).unwrap();
            let near = |(found, score): (&Written, &f32)| (found.score - score).abs() < 1e-4;
            assert!(found.iter().zip(&scores).all(near), "{name}: {found:?} {scores:?}");
        }
    }
}

#[test]
fn drawn_texts_are_those_of_transformers_given_the_same_random_numbers() {
    if !has_library() {
        return;
    }
    let (expected, ctx) = (expected(), Ctx::new(2, 1).unwrap());
    let texts = strings(&expected["gpt2"]["texts"]);
    let cases = expected["gpt2"]["drawn"].as_array().unwrap();
    assert!(cases.len() >= 18);
    for case in cases {
        let number = |name: &str| case[name].as_f64().unwrap() as f32;
        let drawing = Drawing {
            texts: 1,
            temperature: number("temperature"),
            top_k: number("top_k") as usize,
            top_p: number("top_p"),
        };
        let search = SearchParams {
            drawing: Some(drawing),
            repetition_penalty: number("repetition_penalty"),
            ..SearchParams::default()
        };
        let uniforms: Vec<f64> = serde_json::from_value(case["uniforms"].clone()).unwrap();
        let mut next = uniforms.iter();
        let text = texts[case["text"].as_u64().unwrap() as usize].as_str();
        let found = open("gpt2", search).write_by(&[text], &mut |_, _| *next.next().unwrap(), &ctx).unwrap();
        let wanted: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        assert_eq!(found[0][0].ids, wanted, "{case}");
    }
}

#[test]
fn drawn_texts_hang_on_their_number_and_the_seed_alone() {
    if !has_library() {
        return;
    }
    let texts = strings(&expected()["gpt2"]["texts"]);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let drawing = Some(Drawing { texts: 3, temperature: 1.5, ..Drawing::default() });
    let search = SearchParams { drawing, ..SearchParams::default() };
    let written = |threads: usize, seed: u64| {
        open("gpt2", search.clone()).write_all(&texts, 0, &Ctx::new(threads, seed).unwrap()).unwrap()
    };
    let ids = |found: &[Vec<Written>]| -> Vec<Vec<u32>> { found.iter().flatten().map(|one| one.ids.clone()).collect() };
    let all = written(2, 5);
    assert_eq!(ids(&all), ids(&written(1, 5)));
    assert_ne!(ids(&all), ids(&written(2, 6)));
    assert!(all.iter().all(|found| found.len() == 3 && found[0].ids != found[1].ids), "{all:?}");
    // One by one, and with another number of the first text.
    let ctx = Ctx::new(2, 5).unwrap();
    let mut generator = open("gpt2", search.clone());
    for (number, text) in texts.iter().enumerate() {
        let one = generator.write_all(&[text], number as u64, &ctx).unwrap();
        assert_eq!(ids(&one), ids(&all[number..=number]));
    }
    assert_ne!(ids(&generator.write_all(&texts[..1], 1, &ctx).unwrap()), ids(&all[..1]));
}

#[test]
fn labels_are_as_likely_as_pytorch_says() {
    if !has_library() {
        return;
    }
    let (expected, ctx) = (expected(), Ctx::new(2, 1).unwrap());
    let texts = strings(&expected["gpt2"]["texts"]);
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.insert(1, "");
    let labels = strings(&expected["label_texts"]);
    let wanted: Vec<Vec<f32>> = serde_json::from_value(expected["gpt2"]["labels"].clone()).unwrap();
    for forget in [false, true] {
        let mut generator = open("gpt2", greedy());
        if forget {
            generator.forget();
        }
        let mut found = generator.label(&texts, &labels, &ctx).unwrap();
        assert!(found.remove(1).is_none(), "an empty text");
        for (found, wanted) in found.iter().flatten().zip(&wanted) {
            assert!(found.iter().zip(wanted).all(|(one, sum)| (one.sum - sum).abs() < 1e-3), "{found:?} {wanted:?}");
            assert!(found.iter().all(|one| one.mean > one.sum && one.by_sum <= 1.0));
            let share = 1.0 / (1.0 + (wanted[1] - wanted[0]).exp());
            assert!((found[0].by_sum - share).abs() < 1e-3, "{found:?}");
            assert!((found.iter().map(|one| one.by_mean).sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn only_the_choices_are_written() {
    if !has_library() {
        return;
    }
    let (expected, ctx) = (expected(), Ctx::new(2, 1).unwrap());
    let texts = strings(&expected["gpt2"]["texts"]);
    let choices = strings(&expected["choice_texts"]);
    let wanted = &expected["gpt2"]["choices"];
    for (beams, key) in [(1, "greedy"), (2, "beams")] {
        let mut generator = open("gpt2", SearchParams { beams, ..SearchParams::default() });
        generator.choose(&choices).unwrap();
        for (number, text) in texts.iter().enumerate() {
            let found = generator.write(text, &ctx).unwrap();
            assert!(found.iter().all(|found| choices.contains(&found.text)), "{found:?}");
            let found: Vec<Vec<u32>> = found.into_iter().map(|found| found.ids).collect();
            let wanted = if beams == 1 { vec![ids(&wanted[key])[number].clone()] } else { ids(&wanted[key][number]) };
            assert_eq!(found, wanted, "{text}");
        }
    }
    let drawing = Some(Drawing { texts: 8, temperature: 3.0, ..Drawing::default() });
    let mut generator = open("gpt2", SearchParams { drawing, ..SearchParams::default() });
    generator.choose(&choices).unwrap();
    let drawn = generator.write(&texts[0], &ctx).unwrap();
    assert!(drawn.len() == 8 && drawn.iter().all(|found| choices.contains(&found.text)), "{drawn:?}");
    let error = format!("{:#}", generator.choose(&[String::new()]).unwrap_err());
    assert!(error.contains("no token"), "{error}");
}

#[test]
fn a_text_ends_behind_a_stop_word() {
    if !has_library() {
        return;
    }
    let ctx = Ctx::new(2, 1).unwrap();
    for beams in [1, 3] {
        let search = SearchParams { beams, ..SearchParams::default() };
        let all_at_once = open("gpt2", search.clone()).write("净利润同比增长", &ctx).unwrap().remove(0);
        let stop = all_at_once.text.chars().skip(1).find(char::is_ascii).unwrap().to_string();
        let search = SearchParams { stops: vec!["不会出现的".into(), stop.clone()], ..search };
        let found = open("gpt2", search).write("净利润同比增长", &ctx).unwrap();
        for found in &found {
            let at = found.text.find(&stop).map(|at| at + stop.len());
            assert!(at.is_none_or(|at| at == found.text.len()), "{found:?}");
        }
        if beams == 1 {
            let end = all_at_once.text.find(&stop).unwrap() + stop.len();
            assert_eq!(found[0].text, all_at_once.text[..end]);
            assert!(found[0].ids.len() < all_at_once.ids.len());
        }
    }
}

#[test]
fn a_long_document_is_cut_within_its_prompt() {
    if !has_library() {
        return;
    }
    let mut generator = open("gpt2", greedy());
    generator.ask(PromptTemplate::parse("{text}\n利好还是利空？").unwrap());
    let long = "公司拟回购股份。".repeat(40);
    let fields = PromptFields { whole: &long, ..PromptFields::default() };
    let prompt = generator.prompt_of(fields).unwrap();
    let tokens = generator.subword().unwrap().encode(&prompt).unwrap().ids.len();
    assert!(prompt.ends_with("\n利好还是利空？") && prompt.starts_with("公司拟回购股份"), "{prompt}");
    assert!(tokens <= 64 - 12 && tokens > 44, "{tokens}");
    let short = PromptFields { whole: "净利润", ..PromptFields::default() };
    assert_eq!(generator.prompt_of(short).unwrap(), "净利润\n利好还是利空？");
    assert_eq!(generator.write(&prompt, &Ctx::new(2, 1).unwrap()).unwrap().len(), 1);
}

#[test]
fn json_under_a_schema_is_that_of_transformers_where_all_allowed_values_are_listed() {
    if !has_library() {
        return;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/generation/schema.json");
    let expected: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let (texts, ctx) = (strings(&expected["texts"]), Ctx::new(2, 1).unwrap());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for model in ["gpt2", "gpt2-past"] {
        for (beams, wanted) in [(1, &expected["greedy"]), (3, &expected["beams"])] {
            let mut generator = open(model, SearchParams { beams, ..SearchParams::default() });
            generator.make_room(50).unwrap();
            generator.keep_to_schema(&expected["schema"]).unwrap();
            let written = generator.write_all(&texts, 0, &ctx).unwrap();
            for (text, written) in written.iter().enumerate() {
                let found: Vec<Vec<u32>> = written.iter().map(|written| written.ids.clone()).collect();
                let wanted = if beams == 1 { vec![ids(wanted)[text].clone()] } else { ids(&wanted[text]) };
                assert_eq!(found, wanted, "{model}, {beams} beams, text {text}");
                if beams == 1 {
                    let value: Value = serde_json::from_str(&written[0].text).unwrap();
                    assert_eq!(value, expected["values"][text]);
                }
            }
        }
    }
}

#[test]
fn a_schema_is_refused_with_the_reason() {
    if !has_library() {
        return;
    }
    let refused =
        |model: &str, schema: Value| format!("{:#}", open(model, greedy()).keep_to_schema(&schema).unwrap_err());
    let object = serde_json::json!({"type": "object"});
    assert!(refused("bart-merged", object.clone()).contains("--choices"), "word pieces are no bytes");
    assert!(refused("t5-past", object).contains("--choices"), "nor are pieces without a byte of their own");
    assert!(refused("gpt2", serde_json::json!([1])).contains("is an object"));
    assert!(refused("gpt2", serde_json::json!({"type": "colour"})).contains("colour"));
    let wrong = serde_json::json!({"type": "object", "unevaluatedProperties": false});
    assert!(refused("gpt2", wrong).contains("unevaluatedProperties"));
}

#[test]
fn mass_and_unilm_write_what_pytorch_writes() {
    if !has_library() {
        return;
    }
    let ctx = Ctx::new(2, 1).unwrap();
    for family in ["mass", "unilm-writer"] {
        let expected = reference_tests::expected(family);
        let written = &expected["generation"];
        let numbers = |value: &Value| serde_json::from_value::<Vec<Vec<u32>>>(value.clone()).unwrap();
        let sources = numbers(&written["prompts"]).into_iter().map(|prompt| {
            let cases = expected["cases"].as_array().unwrap();
            let case = cases.iter().find(|case| numbers(&serde_json::json!([case["ids"]]))[0] == prompt).unwrap();
            reference_tests::texts(&expected)[case["text"].as_u64().unwrap() as usize]
        });
        let sources: Vec<&str> = sources.collect();
        let search = SearchParams { beams: 1, max_new_tokens: 12, ..SearchParams::default() };
        let none = Truncation::None;
        let mut generator = Generator::open(&params(family), none, search, &opening()).unwrap();
        let found = generator.write_all(&sources, 0, &ctx).unwrap();
        let ids: Vec<Vec<u32>> = found.iter().map(|found| found[0].ids.clone()).collect();
        assert_eq!(ids, numbers(&written["greedy"]), "{family}");
        let scores: Vec<f32> = found.iter().map(|found| found[0].score).collect();
        reference_tests::close(&scores, &reference_tests::row(&written["scores"]), 1e-5, family);
    }
}
