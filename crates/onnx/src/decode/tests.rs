//! Against transformers' `generate` over a table of logits (`tests/reference/transformers`), and against every text there is.

use serde_json::Value;

use super::*;

fn search(model: &mut impl NextToken, prompt: &[u32], params: &SearchParams) -> Result<Vec<FoundText>> {
    let mut found = super::search(model, &[prompt.to_vec()], params, None, &|_| String::new(), &mut |_, _| 0.0)?;
    Ok(found.remove(0))
}

/// A model whose logits depend on the last two tokens.
struct Table(Vec<Vec<Vec<f32>>>);

impl NextToken for Table {
    fn next(&mut self, prefixes: &[Vec<u32>], _: &[usize]) -> Result<Vec<Vec<f32>>> {
        let row = |prefix: &Vec<u32>| {
            let (last, rest) = prefix.split_last().unwrap();
            self.0[rest.last().map_or(0, |before| *before as usize)][*last as usize].clone()
        };
        Ok(prefixes.iter().map(row).collect())
    }
}

fn reference() -> (Table, Vec<Value>) {
    let mut reference: Value =
        serde_json::from_str(include_str!("../../../../tests/reference/transformers/search.json")).unwrap();
    let table = serde_json::from_value(reference["table"].take()).unwrap();
    (Table(table), serde_json::from_value(reference["cases"].take()).unwrap())
}

fn params(options: &Value) -> SearchParams {
    let count = |name: &str| options[name].as_u64().unwrap_or(0) as usize;
    let eos = match &options["eos_token_id"] {
        Value::Array(ends) => ends.iter().map(|end| end.as_u64().unwrap() as u32).collect(),
        end => end.as_u64().map(|end| end as u32).into_iter().collect(),
    };
    SearchParams {
        beams: count("num_beams"),
        max_new_tokens: count("max_new_tokens"),
        min_new_tokens: count("min_new_tokens"),
        length_penalty: options["length_penalty"].as_f64().unwrap_or(1.0),
        early_stopping: match &options["early_stopping"] {
            Value::Bool(true) => EarlyStopping::Always,
            Value::String(_) => EarlyStopping::Never,
            _ => EarlyStopping::Likely,
        },
        no_repeat_ngram: count("no_repeat_ngram_size"),
        repetition_penalty: options["repetition_penalty"].as_f64().unwrap_or(1.0) as f32,
        eos,
        forced_first: None,
        forced_last: options["forced_eos_token_id"].as_u64().map(|id| id as u32),
        ..SearchParams::default()
    }
}

#[test]
fn finds_what_transformers_finds() {
    let (mut table, cases) = reference();
    assert!(cases.len() > 90);
    for case in cases {
        let prompt: Vec<u32> = serde_json::from_value(case["prompt"].clone()).unwrap();
        let ids: Vec<Vec<u32>> = serde_json::from_value(case["ids"].clone()).unwrap();
        let found = search(&mut table, &prompt, &params(&case["options"])).unwrap();
        assert_eq!(found.iter().map(|found| found.ids.clone()).collect::<Vec<_>>(), ids, "{case}");
        for (found, score) in found.iter().zip(case["scores"].as_array().into_iter().flatten()) {
            let score = score.as_f64().unwrap() as f32;
            assert!(
                (found.score - score).abs() <= 2e-6 * score.abs().max(1.0),
                "{} is not {score}: {case}",
                found.score
            );
        }
    }
}

/// Every text of at most `left` tokens with the sum of its logarithms.
fn every(table: &mut Table, prefix: &mut Vec<u32>, sum: f64, left: usize, end: u32, all: &mut Vec<(Vec<u32>, f64)>) {
    let mut row = table.next(std::slice::from_ref(prefix), &[]).unwrap().remove(0);
    log_softmax(&mut row);
    for (token, log) in row.into_iter().enumerate() {
        prefix.push(token as u32);
        let sum = sum + f64::from(log);
        if token as u32 == end || left == 1 {
            all.push((prefix.clone(), sum));
        } else {
            every(table, prefix, sum, left - 1, end, all);
        }
        prefix.pop();
    }
}

#[test]
fn a_wide_beam_finds_the_best_text_of_all() {
    let (mut table, _) = reference();
    for penalty in [0.0, 1.0, 2.0] {
        let params = SearchParams {
            beams: 800,
            max_new_tokens: 4,
            length_penalty: penalty,
            early_stopping: EarlyStopping::Never,
            eos: vec![1],
            ..SearchParams::default()
        };
        let mut all = Vec::new();
        every(&mut table, &mut vec![4], 0.0, 4, 1, &mut all);
        let mut all: Vec<(Vec<u32>, f64)> = all
            .into_iter()
            .map(|(ids, sum)| (ids[1..].to_vec(), sum / ((ids.len() - 1) as f64).powf(penalty)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = search(&mut table, &[4], &params).unwrap();
        for (found, (ids, score)) in found.iter().zip(&all).take(20) {
            assert_eq!(found.ids, *ids);
            assert!((f64::from(found.score) - score).abs() < 1e-5);
        }
    }
}

/// A model that says the same whatever was written.
struct Same(Vec<f32>);

impl NextToken for Same {
    fn next(&mut self, prefixes: &[Vec<u32>], _: &[usize]) -> Result<Vec<Vec<f32>>> {
        Ok(vec![self.0.clone(); prefixes.len()])
    }
}

#[test]
fn scores_by_hand() {
    // Probabilities 1/2, 1/4, 1/4: the end is 0.
    let mut model = Same(vec![0.5f32.ln(), 0.25f32.ln(), 0.25f32.ln()]);
    let params =
        |beams| SearchParams { beams, max_new_tokens: 3, min_new_tokens: 1, eos: vec![0], ..SearchParams::default() };
    // The end is banned at first; of the equals 1 and 2 the lower comes first.
    let greedy = search(&mut model, &[2], &params(1)).unwrap();
    assert_eq!(greedy[0].ids, [1, 0]);
    // What is banned leaves 1/2 and 1/2 in greedy search; beam search does not make up for it.
    assert!((greedy[0].score - 0.25f32.ln() / 2.0).abs() < 1e-6);
    let beams = search(&mut model, &[2], &params(2)).unwrap();
    assert_eq!(beams[0].ids, [1, 0]);
    assert!((beams[0].score - 0.125f32.ln() / 2.0).abs() < 1e-6);
    assert_eq!(beams[1].ids, [2, 0]);
}

/// A model of the tokens A, B, C and the end (0 to 3), by what was written.
struct Steps;

impl NextToken for Steps {
    fn next(&mut self, prefixes: &[Vec<u32>], _: &[usize]) -> Result<Vec<Vec<f32>>> {
        let row = |prefix: &Vec<u32>| {
            let shares: [f32; 4] = match prefix[1..] {
                [] => [0.5, 0.2, 0.2, 0.1],
                [0] => [0.1, 0.4, 0.3, 0.2],
                [0, 1] => [0.2, 0.2, 0.4, 0.2],
                [0, 1, 2] => [0.1, 0.1, 0.2, 0.6],
                [0, 2] => [0.1, 0.6, 0.2, 0.1],
                [0, 2, 1] => [0.1, 0.2, 0.1, 0.6],
                _ => [0.25; 4],
            };
            shares.map(f32::ln).to_vec()
        };
        Ok(prefixes.iter().map(row).collect())
    }
}

#[test]
fn two_beams_find_a_better_text_than_greedy_search() {
    // Dive into Deep Learning, section 10.8: 0.5 x 0.4 x 0.4 x 0.6 = 0.048 and 0.5 x 0.3 x 0.6 x 0.6 = 0.054; scores over the length to 0.75.
    for (beams, ids, probability) in [(1, [0, 1, 2, 3], 0.048f32), (2, [0, 2, 1, 3], 0.054)] {
        let params =
            SearchParams { beams, max_new_tokens: 4, length_penalty: 0.75, eos: vec![3], ..SearchParams::default() };
        let found = search(&mut Steps, &[3], &params).unwrap();
        assert_eq!(found[0].ids, ids, "{beams}");
        assert!((found[0].score - probability.ln() / 4f32.powf(0.75)).abs() < 1e-6, "{}", found[0].score);
    }
}

#[test]
fn first_and_last_tokens_can_be_forced() {
    let mut model = Same(vec![0.0, 3.0, 2.0, 1.0]);
    let params = SearchParams {
        beams: 1,
        max_new_tokens: 4,
        eos: vec![0],
        forced_first: Some(3),
        forced_last: Some(0),
        ..SearchParams::default()
    };
    assert_eq!(search(&mut model, &[2], &params).unwrap()[0].ids, [3, 1, 1, 0]);
    assert_eq!(search(&mut model, &[2], &SearchParams { beams: 2, ..params.clone() }).unwrap()[0].ids, [3, 1, 1, 0]);
    // A longer prompt has its first token.
    assert_eq!(search(&mut model, &[2, 2], &params).unwrap()[0].ids, [1, 1, 1, 0]);
}

#[test]
fn a_search_that_can_go_nowhere_ends() {
    let mut model = Same(vec![1.0, 0.5]);
    for beams in [1, 3] {
        let params = SearchParams { beams, max_new_tokens: 9, no_repeat_ngram: 1, ..SearchParams::default() };
        let found = search(&mut model, &[0], &params).unwrap();
        assert_eq!(found[0].ids, [1], "{beams}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let say = |model: Vec<f32>, prompt: &[u32], params: &SearchParams| {
        search(&mut Same(model), prompt, params).unwrap_err().to_string()
    };
    let params = SearchParams::default();
    assert!(say(vec![f32::NAN, 1.0], &[0], &params).contains("a logit that is not a number"));
    assert!(say(vec![], &[0], &params).contains("rows of logits for 1 texts"));
    assert!(say(vec![1.0], &[], &params).contains("begins with at least one token"));
    assert!(say(vec![1.0], &[0], &SearchParams { beams: 0, ..params.clone() }).contains("set `beams` to 1 or more"));
    assert!(say(vec![1.0], &[0], &SearchParams { max_new_tokens: 0, ..params }).contains("`max_new_tokens`"));
}
