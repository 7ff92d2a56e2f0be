//! Every family equals PyTorch, alone and in a batch.

use serde_json::Value;

use super::testing::{encoder, graph, params};
use super::*;
use crate::job::Ctx;

/// What PyTorch said of a reference graph.
fn expected(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(graph(name).join("expected.json")).unwrap()).unwrap()
}

fn texts(expected: &Value) -> Vec<&str> {
    expected["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// The rows of all texts in one call, and that each alone gives the same.
fn rows(params: &OnnxParams, texts: &[&str]) -> Vec<Vec<f32>> {
    let ctx = Ctx::new(2, 1).unwrap();
    let mut encoder = encoder(params).unwrap();
    let dim = encoder.columns().len();
    let (all, seen) = encoder.rows(texts, &ctx, |_| Ok(())).unwrap();
    assert_eq!(seen.texts as usize, texts.len());
    for (text, row) in texts.iter().zip(all.chunks(dim)) {
        let (alone, _) = encoder.rows(&[text], &ctx, |_| Ok(())).unwrap();
        close(&alone, row, 1e-5, text);
    }
    all.chunks(dim).map(<[f32]>::to_vec).collect()
}

/// Equal up to a tolerance of the largest value; what is no number must be none in both.
fn close(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let most = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * most || (a.is_nan() && b.is_nan()), "{what}: {found:?} {expected:?}");
    }
}

fn row(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32).collect()
}

/// Every pooling of a family that has been written down.
fn poolings_equal(family: &str) {
    let expected = expected(family);
    let texts = texts(&expected);
    for (name, want) in expected["pooled"].as_object().unwrap() {
        let (pooling, layers) = match name.as_str() {
            "first+last" => ("mean", "first+last"),
            "last-2-mean" => ("mean", "last:2"),
            "last-2-concat" => ("mean", "last:2:concat"),
            pooling => (pooling, "last"),
        };
        let params =
            OnnxParams { pooling: pooling.parse().unwrap(), layers: layers.parse().unwrap(), ..params(family) };
        let mut compared = 0;
        for ((text, found), want) in texts.iter().zip(rows(&params, &texts)).zip(want.as_array().unwrap()) {
            // An empty text has no row here, whatever the special tokens alone would give.
            if text.is_empty() {
                assert!(found.iter().all(|value| value.is_nan()), "{family} {name}");
            } else if !want.is_null() {
                close(&found, &row(want), 1e-4, &format!("{family} {name} {text}"));
                compared += 1;
            }
        }
        assert!(compared >= 4, "{family} {name}: {compared} texts were compared");
    }
}

#[test]
fn bert_and_its_kin() {
    ["bert", "albert", "electra", "roberta", "deberta"].into_iter().for_each(poolings_equal);
}

#[test]
fn unilm_sees_pairs() {
    poolings_equal("unilm");
}

#[test]
fn xlnet_is_filled_up_at_the_left() {
    poolings_equal("xlnet");
}

#[test]
fn gpt_reads_from_left_to_right() {
    ["gpt2", "openai-gpt"].into_iter().for_each(poolings_equal);
}

#[test]
fn encoders_of_encoder_decoders() {
    ["bart", "t5", "mass"].into_iter().for_each(poolings_equal);
}

#[test]
fn lstm_by_concat_pooling() {
    poolings_equal("ulmfit");
}

#[test]
fn xlnet_remembers_the_segment_before() {
    let expected = expected("xlnet-mems");
    let texts = texts(&expected);
    for pooling in ["last", "mean"] {
        let params =
            OnnxParams { pooling: pooling.parse().unwrap(), max_tokens: 16, over_windows: Over::Max, ..params("xlnet-mems") };
        let segments: Vec<Vec<f32>> = expected[pooling].as_array().unwrap()[..2].iter().map(row).collect();
        let first = OnnxParams { over_windows: Over::First, ..params.clone() };
        close(&rows(&first, &texts)[0], &segments[0], 1e-4, "the first segment");
        let most: Vec<f32> = segments[0].iter().zip(&segments[1]).map(|(a, b)| a.max(*b)).collect();
        let ctx = Ctx::new(1, 1).unwrap();
        let mut encoder = encoder(&params).unwrap();
        let windows = encoder.windows(&texts, &ctx).unwrap();
        let numbers: Vec<&[u32]> = windows.windows.iter().map(|window| windows.numbers(window)).collect();
        let ids: Vec<Vec<u32>> = serde_json::from_value(expected["segments"].clone()).unwrap();
        assert_eq!(numbers[..2], ids[..2]);
        // The reference has two segments; what follows them is not in it.
        let batch = super::batch::Batch { windows: vec![0, 1], rows: 1, width: 0 };
        let found = encoder.run(&windows, &batch, &ctx).unwrap();
        let both: Vec<f32> = found[..16].iter().zip(&found[16..]).map(|(a, b)| a.max(*b)).collect();
        close(&both, &most, 1e-4, "both segments");
        close(&found[16..], &segments[1], 1e-4, "the second segment");
    }
}

#[test]
fn elmo_mixes_its_layers() {
    for family in ["elmo-words", "elmo-chars"] {
        let expected = expected(family);
        let texts = texts(&expected);
        let check = |layers: &str, want: &Value, value: &dyn Fn(&Value) -> Value| {
            let params = OnnxParams { layers: layers.parse().unwrap(), ..params(family) };
            for ((text, found), want) in texts.iter().zip(rows(&params, &texts)).zip(want.as_array().unwrap()) {
                if !text.is_empty() {
                    close(&found, &row(&value(want)), 1e-4, &format!("{family} {layers} {text}"));
                }
            }
        };
        check("last:2", &expected["layers"], &|layers| {
            let layers: Vec<Vec<f32>> = layers.as_array().unwrap().iter().map(row).collect();
            serde_json::json!((0..16).map(|i| (layers[1][i] + layers[2][i]) / 2.0).collect::<Vec<f32>>())
        });
        check("mix:1,1,1*0.33333334", &expected["average"], &Value::clone);
        for mix in expected["mixes"].as_array().unwrap() {
            let weights: Vec<f64> = row(&mix["s"]).iter().map(|&s| f64::from(s).exp()).collect();
            let sum: f64 = weights.iter().sum();
            let weights: Vec<String> = weights.iter().map(|weight| (weight / sum).to_string()).collect();
            check(&format!("mix:{}*{}", weights.join(","), mix["gamma"]), &mix["mean"], &Value::clone);
        }
    }
}

#[test]
fn heads_give_the_probabilities_of_pytorch() {
    for (family, columns) in [("bert-classifier", 3), ("bert-multilabel", 4)] {
        let expected = expected(family);
        let texts = texts(&expected);
        let params = OnnxParams { output: Output::Scores, ..params(family) };
        let names = encoder(&params).unwrap().columns();
        let labels = names.iter().filter(|name| *name != "tone").count();
        assert_eq!(labels, columns, "{names:?}");
        for ((text, found), want) in texts.iter().zip(rows(&params, &texts)).zip(expected["probabilities"].as_array().unwrap()) {
            if !text.is_empty() {
                close(&found[found.len() - columns..], &row(want), 1e-5, text);
            }
        }
    }
}

#[test]
fn surprise_is_that_of_pytorch() {
    for family in ["gpt2", "openai-gpt"] {
        let expected = expected(family);
        let texts = texts(&expected);
        let params = OnnxParams { output: Output::Surprise, ..params(family) };
        for ((text, found), want) in texts.iter().zip(rows(&params, &texts)).zip(expected["surprise"].as_array().unwrap()) {
            let want = want.as_array().map(|_| row(want)).unwrap_or_default();
            if !text.is_empty() && !want.is_empty() {
                let mean = want.iter().sum::<f32>() / want.len() as f32;
                close(&found, &[mean, want.len() as f32], 1e-4, text);
            }
        }
    }
}

#[test]
fn half_precision_and_integers_are_near() {
    let texts = texts(&expected("bert")).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let texts: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    let of = |file: &str| rows(&OnnxParams { model: graph("bert").join(file), ..params("bert") }, &texts);
    let full = of("model.onnx");
    for (file, least) in [("model_fp16.onnx", 0.99999), ("model_int8.onnx", 0.98)] {
        for (a, b) in full.iter().zip(of(file)) {
            let cosine = crate::model::cosine(a, &b);
            assert!(cosine > least, "{file}: {cosine}");
        }
    }
}
