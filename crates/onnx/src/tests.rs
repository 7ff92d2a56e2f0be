//! Every family equals PyTorch, alone and in a batch.

use serde_json::Value;

use super::testing::{encoder, graph, has_library, params};
use super::*;
use inkstone_base::job::Ctx;

/// Output of PyTorch for a reference graph.
pub(crate) fn expected(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(graph(name).join("expected.json")).unwrap()).unwrap()
}

pub(crate) fn texts(expected: &Value) -> Vec<&str> {
    expected["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// The rows of all texts in one call, and that each alone gives the same.
pub(crate) fn rows(params: &OnnxParams, texts: &[&str]) -> Vec<Vec<f32>> {
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
pub(crate) fn close(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let most = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * most || (a.is_nan() && b.is_nan()), "{what}: {found:?} {expected:?}");
    }
}

pub(crate) fn row(value: &Value) -> Vec<f32> {
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
            OnnxParams { pooling: Some(pooling.parse().unwrap()), layers: layers.parse().unwrap(), ..params(family) };
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
    if !has_library() {
        return;
    }
    ["bert", "albert", "electra", "roberta", "deberta"].into_iter().for_each(poolings_equal);
}

#[test]
fn unilm_sees_pairs() {
    if !has_library() {
        return;
    }
    poolings_equal("unilm");
}

#[test]
fn xlnet_is_filled_up_at_the_left() {
    if !has_library() {
        return;
    }
    poolings_equal("xlnet");
}

#[test]
fn gpt_reads_from_left_to_right() {
    if !has_library() {
        return;
    }
    ["gpt2", "openai-gpt"].into_iter().for_each(poolings_equal);
}

#[test]
fn encoders_of_encoder_decoders() {
    if !has_library() {
        return;
    }
    ["bart", "t5", "mass"].into_iter().for_each(poolings_equal);
}

#[test]
fn lstm_by_concat_pooling() {
    if !has_library() {
        return;
    }
    poolings_equal("ulmfit");
}

#[test]
fn xlnet_remembers_the_segment_before() {
    if !has_library() {
        return;
    }
    let expected = expected("xlnet-mems");
    let texts = texts(&expected);
    for pooling in ["last", "mean"] {
        let params = OnnxParams {
            pooling: Some(pooling.parse().unwrap()),
            max_tokens: 16,
            over_windows: Over::Max,
            ..params("xlnet-mems")
        };
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
    if !has_library() {
        return;
    }
    for family in ["elmo-words", "elmo-chars"] {
        let expected = expected(family);
        let texts = texts(&expected);
        let check = |layers: &str, want: &Value, value: &dyn Fn(&Value) -> Value| {
            let params = OnnxParams { layers: layers.parse().unwrap(), ..params(family) };
            let mut compared = 0;
            for ((text, found), want) in texts.iter().zip(rows(&params, &texts)).zip(want.as_array().unwrap()) {
                if !text.is_empty() {
                    close(&found, &row(&value(want)), 1e-4, &format!("{family} {layers} {text}"));
                    compared += 1;
                }
            }
            assert!(compared >= 4, "{family} {layers}: {compared} texts were compared");
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
    if !has_library() {
        return;
    }
    for (family, columns) in [("bert-classifier", 3), ("bert-multilabel", 4)] {
        let expected = expected(family);
        let texts = texts(&expected);
        let params = OnnxParams { output: Output::Scores, ..params(family) };
        let names = encoder(&params).unwrap().columns();
        let labels = names.iter().filter(|name| *name != "tone").count();
        assert_eq!(labels, columns, "{names:?}");
        let mut compared = 0;
        for ((text, found), want) in
            texts.iter().zip(rows(&params, &texts)).zip(expected["probabilities"].as_array().unwrap())
        {
            if !text.is_empty() {
                close(&found[found.len() - columns..], &row(want), 1e-5, text);
                compared += 1;
            }
        }
        assert!(compared >= 4, "{family}: {compared} texts were compared");
    }
}

#[test]
fn entities_are_named_where_pytorch_names_them() {
    if !has_library() {
        return;
    }
    let expected = expected("bert-tokens");
    let texts = texts(&expected);
    let ctx = Ctx::new(2, 1).unwrap();
    let entities_and_counts = |params: OnnxParams| {
        let mut encoder = encoder(&OnnxParams { output: Output::Entities, ..params }).unwrap();
        let counts = encoder.rows(&texts, &ctx, |_| Ok(())).unwrap().0;
        (encoder.entities(&texts, &ctx).unwrap(), counts)
    };
    let (found, counts) = entities_and_counts(params("bert-tokens"));
    let mut pieces = 0;
    for (text, (found, want)) in texts.iter().zip(found.iter().zip(expected["entities"].as_array().unwrap())) {
        let want = want.as_array().unwrap();
        let spans: Vec<Value> = found
            .iter()
            .map(|e| serde_json::json!({"type": e.label, "start": e.range.start, "end": e.range.end, "text": text[e.range.clone()]}))
            .collect();
        assert_eq!(&spans, want, "{text}");
        assert!(found.iter().all(|entity| entity.score > 0.2 && entity.score < 1.0), "{found:?}");
        pieces += spans.iter().filter(|span| span["text"] == "Q3").count();
    }
    assert_eq!(pieces, 1, "a word of two pieces is one name");
    for (row, found) in counts.chunks(2).zip(&found).filter(|(row, _)| row[0].is_finite()) {
        let count = |kind: &str| found.iter().filter(|entity| entity.label == kind).count() as f32;
        assert_eq!(row, [count("ORG"), count("PROD")]);
    }
    // Windows that overlap say nothing twice.
    let (windows, counts) = entities_and_counts(OnnxParams { max_tokens: 14, stride: 4, ..params("bert-tokens") });
    for (found, row) in windows.iter().zip(counts.chunks(2)) {
        assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start), "{found:?}");
        assert!(row[0].is_nan() || row[0] + row[1] == found.len() as f32, "{row:?} {found:?}");
    }
    assert!(
        encoder(&params("bert")).unwrap().entities(&texts, &ctx).unwrap_err().to_string().contains("reads no entities")
    );
}

#[test]
fn surprise_is_that_of_pytorch() {
    if !has_library() {
        return;
    }
    for family in ["gpt2", "openai-gpt"] {
        let expected = expected(family);
        let texts = texts(&expected);
        let params = OnnxParams { output: Output::Surprise, ..params(family) };
        let mut compared = 0;
        for ((text, found), want) in
            texts.iter().zip(rows(&params, &texts)).zip(expected["surprise"].as_array().unwrap())
        {
            let want = want.as_array().map(|_| row(want)).unwrap_or_default();
            if !text.is_empty() && !want.is_empty() {
                let mean = want.iter().sum::<f32>() / want.len() as f32;
                close(&found, &[mean, want.len() as f32], 1e-4, text);
                compared += 1;
            }
        }
        assert!(compared >= 4, "{family}: {compared} texts were compared");
    }
}

#[test]
fn surprise_of_a_discriminator_is_how_unlikely_its_tokens_are_the_original_ones() {
    if !has_library() {
        return;
    }
    let expected = expected("electra-discriminator");
    let texts = texts(&expected);
    let found = rows(&OnnxParams { output: Output::Surprise, ..params("electra-discriminator") }, &texts);
    let mut compared = 0;
    for ((text, found), want) in texts.iter().zip(&found).zip(expected["surprise"].as_array().unwrap()) {
        if text.is_empty() {
            assert!(found[0].is_nan());
            continue;
        }
        let want = row(want);
        let mean = want.iter().sum::<f32>() / want.len() as f32;
        close(found, &[mean, want.len() as f32], 1e-5, text);
        compared += 1;
    }
    assert_eq!(compared, 5);
}

#[test]
fn surprise_of_a_masked_model_is_that_of_each_token_hidden_alone() {
    if !has_library() {
        return;
    }
    let expected = expected("bert-mlm");
    let texts = texts(&expected);
    let found = rows(&OnnxParams { output: Output::Surprise, ..params("bert-mlm") }, &texts);
    let mut compared = 0;
    for ((text, found), want) in texts.iter().zip(&found).zip(expected["surprise"].as_array().unwrap()) {
        let want = row(want);
        if text.is_empty() {
            assert!(found[0].is_nan());
            continue;
        }
        let mean = want.iter().sum::<f32>() / want.len() as f32;
        close(found, &[mean, want.len() as f32], 1e-4, text);
        compared += 1;
    }
    assert_eq!(compared, 5);
    let error = refused(&OnnxParams { output: Output::Surprise, ..params("bert-tokens") });
    assert!(error.contains("it is no language model"), "{error}");
}

#[test]
fn half_precision_and_integers_are_near() {
    if !has_library() {
        return;
    }
    let texts = texts(&expected("bert")).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let texts: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    let rows_of_file = |file: &str| rows(&OnnxParams { model: graph("bert").join(file), ..params("bert") }, &texts);
    let full = rows_of_file("model.onnx");
    for (file, least) in [("model_fp16.onnx", 0.99999), ("model_int8.onnx", 0.98)] {
        for (a, b) in full.iter().zip(rows_of_file(file)) {
            let cosine = inkstone_models::cosine(a, &b);
            assert!(cosine > least, "{file}: {cosine}");
        }
    }
}

#[test]
fn what_is_written_is_what_transformers_write() {
    if !has_library() {
        return;
    }
    let ctx = Ctx::new(2, 1).unwrap();
    for family in ["bart", "t5", "gpt2"] {
        let expected = expected(family);
        let generation = &expected["generation"];
        let write = |search: SearchParams, check: &dyn Fn(usize, Vec<Written>)| {
            let search = SearchParams { max_new_tokens: 12, ..search };
            let none = inkstone_text::Truncation::None;
            let mut generator = Generator::open(&params(family), none, search, &testing::opening()).unwrap();
            for i in 0..generation["prompts"].as_array().unwrap().len() {
                let prompt: Vec<u32> = serde_json::from_value(generation["prompts"][i].clone()).unwrap();
                let of_prompt =
                    |case: &&Value| serde_json::from_value::<Vec<u32>>(case["ids"].clone()).unwrap() == prompt;
                let found = match expected["cases"].as_array().unwrap().iter().find(of_prompt) {
                    Some(case) => generator.write(texts(&expected)[case["text"].as_u64().unwrap() as usize], &ctx),
                    None => generator.follow(&prompt, &ctx),
                };
                check(i, found.unwrap());
            }
        };
        write(SearchParams { beams: 1, ..SearchParams::default() }, &|i, found| {
            let want: Vec<u32> = serde_json::from_value(generation["greedy"][i].clone()).unwrap();
            assert_eq!(found[0].ids, want, "{family}");
        });
        for length_penalty in [1.0, 2.0] {
            write(SearchParams { beams: 4, length_penalty, ..SearchParams::default() }, &|i, found| {
                let want = &generation["beams"][format!("{length_penalty:.1}")][i];
                let ids: Vec<Vec<u32>> = serde_json::from_value(want["ids"].clone()).unwrap();
                let found_ids: Vec<Vec<u32>> = found.iter().map(|found| found.ids.clone()).collect();
                assert_eq!(found_ids, ids, "{family} {length_penalty}");
                let scores: Vec<f32> = found.iter().map(|found| found.score).collect();
                close(&scores, &row(&want["scores"]), 1e-4, family);
            });
        }
    }
}

/// The message of a model that cannot be opened.
pub(crate) fn refused(params: &OnnxParams) -> String {
    format!("{:#}", encoder(params).err().unwrap())
}

#[test]
fn files_that_are_no_models_say_what_to_do() {
    if !has_library() {
        return;
    }
    let broken = |file: &str| OnnxParams {
        model: graph("broken").join(file),
        tokenizer: graph("bert").join("tokenizer.json"),
        ..OnnxParams::default()
    };
    for (file, expected) in [
        ("not_onnx.onnx", ["is not an ONNX model", "export the model again"]),
        ("future_opset.onnx", ["a version of ONNX that this library does not know", "opset 17"]),
        ("external.onnx", ["keeps its weights in a file of their own", "copy all files"]),
        ("wrong_inputs.onnx", ["takes an input pixel_values", "it knows input_ids"]),
        ("absent.onnx", ["there is no model", "absent.onnx"]),
    ] {
        let error = refused(&broken(file));
        assert!(expected.iter().all(|part| error.contains(part)) && error.contains(file), "{file}: {error}");
    }
    let error = refused(&OnnxParams { model: graph("broken"), ..OnnxParams::default() });
    assert!(error.contains("holds no model.onnx"), "{error}");
}

#[test]
fn what_a_model_does_not_give_is_told_with_what_it_gives() {
    if !has_library() {
        return;
    }
    let error = refused(&OnnxParams { output: Output::Scores, ..params("bert") });
    assert!(error.contains("gives no logits") && error.contains("last_hidden_state F32"), "{error}");
    let error = refused(&OnnxParams { pooling: Some("pooler".parse().unwrap()), ..params("electra") });
    assert!(error.contains("gives no pooler_output"), "{error}");
    let error = refused(&OnnxParams { output: Output::Surprise, ..params("bert-classifier") });
    assert!(error.contains("no logits [documents, tokens, vocabulary] of a language model"), "{error}");
    let error = refused(&params("bert-classifier"));
    assert!(error.contains("gives no vectors of tokens"), "{error}");
    let error = refused(&OnnxParams { layers: "last:3".parse().unwrap(), ..params("bert") });
    assert!(error.contains("needs 3 layers above the embeddings") && error.contains("hidden_states.0"), "{error}");
    let decoder = OnnxParams { model: graph("bart").join("decoder_model.onnx"), ..OnnxParams::default() };
    assert!(refused(&decoder).contains("is a decoder"));
}

#[test]
fn a_tokenizer_of_another_model_is_refused() {
    if !has_library() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(graph("bert").join(file), folder.path().join(file)).unwrap();
    }
    std::fs::write(folder.path().join("config.json"), r#"{"model_type": "bert", "vocab_size": 50}"#).unwrap();
    let error = refused(&OnnxParams { model: folder.path().to_owned(), ..OnnxParams::default() });
    assert!(error.contains("knows 115 tokens") && error.contains("vectors for 50"), "{error}");
    std::fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    let error = refused(&OnnxParams { model: folder.path().to_owned(), ..OnnxParams::default() });
    assert!(error.contains("tokenizer.json") && error.contains("vocab.txt"), "{error}");
}

#[test]
fn a_device_runs_as_the_processor_does_or_is_refused_with_what_is_missing() {
    if !has_library() {
        return;
    }
    let open = |device| {
        let opening = Opening { device, ..testing::opening() };
        Encoder::open(&params("bert"), inkstone_text::Truncation::None, &|| Ok(WordCutter::Spaces), &opening)
    };
    if runtime::cuda_lacks(&testing::runtime().library).is_empty() {
        let expected = expected("bert");
        let texts = texts(&expected);
        let ctx = Ctx::new(1, 1).unwrap();
        for device in [Device::Cuda(0), Device::Auto] {
            let mut chosen = open(device).unwrap();
            assert_eq!(chosen.ran().device, "cuda:0", "{:?}", chosen.ran());
            let found = chosen.rows(&texts, &ctx, |_| Ok(())).unwrap().0;
            let there = encoder(&params("bert")).unwrap().rows(&texts, &ctx, |_| Ok(())).unwrap().0;
            close(&found, &there, 1e-3, "cuda:0 and the processor");
        }
        return testing::not_tried("this machine has all of CUDA, so no refusal of a device was seen");
    }
    testing::not_tried("this machine lacks CUDA, so no model ran on a device");
    let error = format!("{:#}", open(Device::Cuda(0)).err().unwrap());
    assert!(
        error.contains("cuda:0 cannot be used") && error.contains("lib") && error.contains("doctor --fix --cuda"),
        "{error}"
    );
    let chosen = open(Device::Auto).unwrap();
    assert_eq!(chosen.ran().device, "cpu");
    assert!(chosen.ran().why.as_deref().unwrap().contains("missing"), "{:?}", chosen.ran());
    assert!(chosen.ran().placement.nodes["CPUExecutionProvider"] > 10, "{:?}", chosen.ran());
}

#[test]
fn long_texts_are_cut_and_counted_or_read_in_windows() {
    if !has_library() {
        return;
    }
    let long = "公司营业收入同比增长。".repeat(20);
    let ctx = Ctx::new(2, 1).unwrap();
    let seen = |params: &OnnxParams| encoder(params).unwrap().rows(&[&long, "增长", " "], &ctx, |_| Ok(())).unwrap().1;
    let one = seen(&params("bert"));
    assert_eq!((one.texts, one.cut, one.empty, one.windows, one.tokens), (3, 1, 1, 2, 38 + 2));
    let several = seen(&OnnxParams { stride: 19, ..params("bert") });
    assert_eq!((several.cut, several.windows), (0, 1 + (220 - 38usize).div_ceil(19) as u64 + 1));
}

#[test]
fn windows_become_one_row() {
    if !has_library() {
        return;
    }
    let long = "公司营业收入同比增长。".repeat(6);
    let ctx = Ctx::new(2, 1).unwrap();
    let rows_over = |over_windows| {
        let params = OnnxParams { stride: 30, over_windows, ..params("bert") };
        encoder(&params).unwrap().rows(&[&long], &ctx, |_| Ok(())).unwrap().0
    };
    let (mean, most, first) = (rows_over(Over::Mean), rows_over(Over::Max), rows_over(Over::First));
    let head = encoder(&params("bert")).unwrap().rows(&[&long], &ctx, |_| Ok(())).unwrap().0;
    close(&first, &head, 1e-5, "the first window is the head");
    assert!(most.iter().zip(&mean).all(|(most, mean)| most >= mean) && mean != first);
    let unit = OnnxParams { normalise: Some(true), ..params("bert") };
    let unit = encoder(&unit).unwrap().rows(&[&long], &ctx, |_| Ok(())).unwrap().0;
    assert!((unit.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn threads_and_neighbours_change_no_bit_of_a_batch() {
    if !has_library() {
        return;
    }
    let expected = expected("bert");
    let texts = texts(&expected);
    let rows_on = |threads| {
        let opening = Opening { threads, ..testing::opening() };
        let mut encoder =
            Encoder::open(&params("bert"), inkstone_text::Truncation::None, &|| Ok(WordCutter::Spaces), &opening)
                .unwrap();
        encoder.rows(&texts, &Ctx::new(threads, 1).unwrap(), |_| Ok(())).unwrap().0
    };
    let bits = |rows: Vec<f32>| rows.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    assert_eq!(bits(rows_on(1)), bits(rows_on(2)));
}

#[test]
fn a_cancelled_run_ends() {
    if !has_library() {
        return;
    }
    let ctx = Ctx::new(1, 1).unwrap();
    ctx.cancel();
    let error = encoder(&params("bert")).unwrap().rows(&["增长"], &ctx, |_| Ok(())).unwrap_err();
    assert!(error.is::<inkstone_base::job::Cancelled>(), "{error:#}");
}

#[test]
fn masks_are_filled_in_as_by_pytorch() {
    if !has_library() {
        return;
    }
    let expected = expected("bert-mlm");
    let mut model = MaskedModel::open(&params("bert-mlm"), &testing::opening()).unwrap();
    let ctx = Ctx::new(1, 1).unwrap();
    let masked = expected["masked"]["text"].as_str().unwrap();
    let found = model.fill(masked, 5, &ctx).unwrap();
    assert_eq!(found.len(), 1);
    for (guess, want) in found[0].iter().zip(expected["masked"]["top"].as_array().unwrap()) {
        let (token, p) = (want["token"].as_str().unwrap(), want["probability"].as_f64().unwrap());
        assert!(guess.token == token && (guess.p - p).abs() < 1e-6, "{found:?} {want}");
    }
    let error = model.fill("没有空格", 5, &ctx).unwrap_err().to_string();
    assert!(error.contains("no [MASK] stands in the text"), "{error}");
}

#[test]
fn a_place_that_the_model_does_not_have_is_told_with_the_way_out() {
    if !has_library() {
        return;
    }
    // Without config.json nothing says that there are 40 places.
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(graph("bert").join(file), folder.path().join(file)).unwrap();
    }
    let params = OnnxParams { model: folder.path().to_owned(), ..OnnxParams::default() };
    let (long, ctx) = ("公司营业收入同比增长。".repeat(20), Ctx::new(1, 1).unwrap());
    let error = format!("{:#}", encoder(&params).unwrap().rows(&[&long], &ctx, |_| Ok(())).unwrap_err());
    assert!(error.contains("windows are longer than the model has places (onnx.max_tokens)"), "{error}");
    let params = OnnxParams { max_tokens: 40, ..params };
    assert!(encoder(&params).unwrap().rows(&[&long], &ctx, |_| Ok(())).is_ok());
}
