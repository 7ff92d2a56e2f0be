use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::super::decode::NextToken;
use super::super::describe::{Head, models};
use super::super::graph::{Role, roles};
use super::super::runtime::Device;
use super::super::session::{Feed, Session};
use super::super::steps::{Sources, StepGraph, StepModel};
use super::super::testing::{encoder, graph as onnx_graph, has_library, opening, with_weights_in_files};
use super::super::{OnnxParams, header::Header};
use super::*;
use inkstone_base::job::Ctx;
use inkstone_base::limits;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/architectures").join(name)
}

fn weights_of(name: &str) -> PathBuf {
    folder(name).join("model.safetensors")
}

/// A copy of a model whose config.json has other settings.
fn with(name: &str, settings: &[(&str, Json)]) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    fs::copy(weights_of(name), copy.path().join("model.safetensors")).unwrap();
    let text = fs::read(folder(name).join("config.json")).unwrap();
    let mut config: Json = serde_json::from_slice(&text).unwrap();
    for (setting, value) in settings {
        config[setting] = value.clone();
    }
    fs::write(copy.path().join("config.json"), config.to_string()).unwrap();
    copy
}

fn refusal(folder: &Path) -> String {
    format!("{:#}", graph(&folder.join("model.safetensors"), Wanted::Vectors).err().unwrap())
}

#[test]
fn every_architecture_gives_what_transformers_gives() {
    if !has_library() {
        return;
    }
    let expected: Json = serde_json::from_slice(&fs::read(folder("expected.json")).unwrap()).unwrap();
    let tokens: Vec<Vec<i64>> = serde_json::from_value(expected["tokens"].clone()).unwrap();
    let pad = expected["pad"].as_i64().unwrap();
    let width = tokens.iter().map(Vec::len).max().unwrap();
    let shape = || vec![tokens.len(), width];
    let filled = |fill: i64, value: &dyn Fn(usize, i64) -> i64| -> Vec<i64> {
        let row = |row: &Vec<i64>| -> Vec<i64> {
            let mut values: Vec<i64> = row.iter().enumerate().map(|(place, id)| value(place, *id)).collect();
            values.resize(width, fill);
            values
        };
        tokens.iter().flat_map(row).collect()
    };
    let ctx = Ctx::new(1, 1).unwrap();
    let mut worst: f64 = 0.0;
    for (name, wanted) in expected["models"].as_object().unwrap() {
        let path = weights_of(name);
        let mut session = Session::open(&path, Wanted::All, opening().runtime, Device::Cpu, 1).unwrap();
        let feeds = roles(&path, session.inputs()).unwrap().into_iter().map(|role| {
            let values = match role {
                Role::Ids => filled(pad, &|_, id| id),
                Role::Mask => filled(0, &|_, _| 1),
                Role::Types | Role::Tasks => filled(0, &|_, _| 0),
                Role::Positions => filled(0, &|place, _| place as i64),
                role => panic!("{name}: {role:?}"),
            };
            Feed::Integers(shape(), values)
        });
        let feeds = feeds.collect();
        let layers: Vec<Vec<f64>> = serde_json::from_value(wanted["layers"].clone()).unwrap();
        let mut outputs: Vec<String> = (0..layers.len()).map(|layer| format!("hidden_states.{layer}")).collect();
        let mut numbers = layers;
        if let Some(logits) = wanted.get("logits") {
            outputs.push("logits".into());
            numbers.push(serde_json::from_value(logits.clone()).unwrap());
        }
        let asked: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let found = session.run(feeds, &asked, &ctx, |given| {
            asked.iter().map(|output| Ok(given.get(output)?.kept())).collect::<anyhow::Result<Vec<_>>>()
        });
        for ((output, given), numbers) in outputs.iter().zip(found.unwrap()).zip(numbers) {
            let values: Vec<f64> = match given.shape[..] {
                [_, _, size] => {
                    let rows = given.values.chunks(width * size).zip(&tokens);
                    rows.flat_map(|(row, tokens)| row[..tokens.len() * size].iter().map(|v| f64::from(*v))).collect()
                }
                _ => given.values.iter().map(|value| f64::from(*value)).collect(),
            };
            assert_eq!(values.len(), numbers.len(), "{name}: {output}");
            for (value, number) in values.iter().zip(&numbers) {
                let difference = (value - number).abs() / number.abs().max(1.0);
                assert!(difference < 1e-5, "{name}: {output} has {value}, and transformers {number}");
                worst = worst.max(difference);
            }
        }
    }
    assert!(worst > 0.0, "the numbers are those of another program");
}

/// A folder with the weights of a case of PyTorch's.
fn with_weights_of(case: &Json, config: &Json) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    let tensor = |(name, shape): (&String, &Json)| {
        let values: Vec<f32> = serde_json::from_value(case["weights"][name].clone()).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        (name.clone(), serde_json::from_value::<Vec<usize>>(shape.clone()).unwrap(), bytes)
    };
    let tensors: Vec<_> = case["shapes"].as_object().unwrap().iter().map(tensor).collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (name, safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap())
    });
    fs::write(folder.path().join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    folder
}

#[test]
fn recurrent_decoders_give_the_scores_of_pytorch_step_by_step() {
    if !has_library() {
        return;
    }
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/pytorch/rnn.json");
    let all: Json = serde_json::from_slice(&fs::read(reference).unwrap()).unwrap();
    let sources: Vec<Vec<i64>> = serde_json::from_value(all["sources"].clone()).unwrap();
    let targets: Vec<Vec<u32>> = serde_json::from_value(all["targets"].clone()).unwrap();
    let width = sources.iter().map(Vec::len).max().unwrap();
    let filled = |value: &dyn Fn(i64) -> i64| {
        let row = |text: &Vec<i64>| (0..width).map(|at| text.get(at).map_or(0, |id| value(*id))).collect::<Vec<i64>>();
        Feed::Integers(vec![sources.len(), width], sources.iter().flat_map(row).collect())
    };
    let ctx = Ctx::new(1, 1).unwrap();
    for case in all["cases"].as_array().unwrap() {
        let folder = with_weights_of(case, &case["config"]);
        let path = folder.path().join("model.safetensors");
        assert!(has_decoder(&path).unwrap());
        let open = |wanted| Session::open(&path, wanted, opening().runtime, Device::Cpu, 1).unwrap();
        let states = open(Wanted::Writing)
            .run(vec![filled(&|id| id), filled(&|_| 1)], &["last_hidden_state"], &ctx, |given| {
                Ok(given.get("last_hidden_state")?.kept())
            })
            .unwrap();
        let graph = |wanted| {
            let session = open(wanted);
            let roles = roles(&path, session.inputs()).unwrap();
            StepGraph { session, roles }
        };
        let mut model = StepModel::new(graph(Wanted::FirstStep), Some(graph(Wanted::LaterStep)), 0, None).unwrap();
        assert!(model.remembers());
        let lengths = sources.iter().map(Vec::len).collect();
        let mut steps = model.steps(Some(Sources { states, lengths }), &ctx).unwrap();
        let logits: Vec<Vec<Vec<f64>>> = serde_json::from_value(case["logits"].clone()).unwrap();
        let mut seen = 0;
        // In the third step the rows stand in another order, as those of a beam do.
        let order: [&[usize]; 5] = [&[], &[0, 1, 2], &[2, 1, 0], &[0, 1, 2], &[0, 1, 2]];
        for (step, parents) in order.into_iter().enumerate() {
            let texts = if step < 2 { [0, 1, 2] } else { [2, 1, 0] };
            // Texts that have ended go on with any token.
            let token = |text: usize, place: usize| targets[text].get(place).copied().unwrap_or(5);
            let prefixes = texts.map(|text| (0..=step).map(|place| token(text, place)).collect::<Vec<u32>>());
            let rows = steps.next(&prefixes, parents).unwrap();
            for (text, row) in texts.into_iter().zip(rows) {
                for (ours, theirs) in row.iter().zip(logits[text].get(step).into_iter().flatten()) {
                    let near = (f64::from(*ours) - theirs).abs() < 1e-5 * theirs.abs().max(1.0);
                    assert!(near, "{}: text {text}, step {step}: {ours} {theirs}", case["config"]);
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, 10 * 14);
    }
}

#[test]
fn lstms_give_the_scores_and_losses_of_pytorch() {
    if !has_library() {
        return;
    }
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/pytorch/lstm.json");
    let all: Json = serde_json::from_slice(&fs::read(reference).unwrap()).unwrap();
    let texts: Vec<Vec<i64>> = serde_json::from_value(all["texts"].clone()).unwrap();
    let width = texts.iter().map(Vec::len).max().unwrap();
    let filled = |value: &dyn Fn(i64) -> i64| {
        let row = |text: &Vec<i64>| (0..width).map(|at| text.get(at).map_or(0, |id| value(*id))).collect::<Vec<i64>>();
        Feed::Integers(vec![texts.len(), width], texts.iter().flat_map(row).collect())
    };
    let near =
        |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-5 * theirs.abs().max(1.0), "{ours} {theirs}");
    let ctx = Ctx::new(1, 1).unwrap();
    for case in all["cases"].as_array().unwrap() {
        let mut config = case["config"].clone();
        config["architectures"] = serde_json::json!([case["class"]]);
        config["num_labels"] = 3.into();
        let folder = with_weights_of(case, &config);
        let path = folder.path().join("model.safetensors");
        let mut session = Session::open(&path, Wanted::All, opening().runtime, Device::Cpu, 1).unwrap();
        let mut outputs = |output: &str| {
            let feeds = vec![filled(&|id| id), filled(&|_| 1)];
            session.run(feeds, &[output], &ctx, |given| Ok(given.get(output)?.kept())).unwrap()
        };
        let scores: Vec<f64> = serde_json::from_value(case["scores"].clone()).unwrap();
        if !scores.is_empty() {
            let logits = outputs("logits");
            assert_eq!(logits.shape, [4, 3]);
            logits.values.iter().zip(scores).for_each(|(ours, theirs)| near(f64::from(*ours), theirs));
            continue;
        }
        // The vectors times the table of tokens are the scores of the next words, and by the other direction of those before.
        let table: Vec<f64> = serde_json::from_value(case["weights"]["lstm.embeddings.weight"].clone()).unwrap();
        let units = table.len() / 14;
        let states = outputs("last_hidden_state");
        let loss = |row: usize, at: usize, direction: usize, right: i64| {
            let begin = (row * width + at) * 6 + direction * units;
            let state = &states.values[begin..begin + units];
            let score = |token: &[f64]| token.iter().zip(state).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
            let scores: Vec<f64> = table.chunks(units).map(score).collect();
            scores.iter().map(|score| score.exp()).sum::<f64>().ln() - scores[right as usize]
        };
        let both = case["config"]["bidirectional"] == true;
        let (mut sum, mut count) = (0.0, 0.0);
        for (row, text) in texts.iter().enumerate() {
            for at in 1..text.len() {
                sum += loss(row, at - 1, 0, text[at]) + if both { loss(row, at, 1, text[at - 1]) } else { 0.0 };
                count += 1.0;
            }
        }
        near(sum / count, case["loss"].as_f64().unwrap());
        if !both {
            let logits = outputs("logits");
            let dot = |token: &[f64]| token.iter().zip(&*states.values).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
            near(f64::from(logits.values[5]), table.chunks(units).map(dot).nth(5).unwrap());
        }
    }
}

#[test]
fn a_folder_of_weights_is_described_as_a_graph_is() {
    let header = Header::read(&weights_of("bert-masked")).unwrap();
    let names = |ports: &[super::super::TensorInfo]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&header.inputs), ["input_ids", "attention_mask", "token_type_ids"]);
    assert_eq!(
        names(&header.outputs),
        ["last_hidden_state", "hidden_states.0", "hidden_states.1", "hidden_states.2", "logits"]
    );
    assert_eq!(Header::read(&weights_of("bert-half")).unwrap().precision(), "fp16");
    let base = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let to = base.path().join("models").join(name);
        fs::create_dir_all(to.join("2_Dense")).unwrap();
        for file in ["config.json", "model.safetensors"] {
            fs::copy(folder(name).join(file), to.join(file)).unwrap();
        }
        fs::copy(weights_of("bert"), to.join("2_Dense/model.safetensors")).unwrap();
    };
    put("gpt2");
    put("bert-classifier");
    let listed = models(base.path(), &[], &Ctx::new(1, 1).unwrap()).unwrap();
    let shown: Vec<&str> = listed.iter().map(|listed| listed.shown.as_str()).collect();
    assert_eq!(shown, ["models/bert-classifier/model.safetensors", "models/gpt2/model.safetensors"]);
    let heads = |listed: &super::super::Listed| listed.found.as_ref().unwrap().heads.clone();
    let vectors = Head::Vectors { size: Some(8), layers: 3 };
    assert_eq!(heads(&listed[0]), [vectors.clone(), Head::Classes(Some(3))]);
    assert_eq!(heads(&listed[1]), [vectors, Head::Next]);
    let length = fs::metadata(weights_of("gpt2")).unwrap().len();
    assert_eq!(listed[1].found.as_ref().unwrap().bytes, length);
}

#[test]
fn the_head_for_words_is_left_out_where_vectors_are_wanted() {
    let outputs = |name: &str, wanted: Wanted| {
        let graph = graph(&weights_of(name), wanted).unwrap().bytes;
        let text = String::from_utf8_lossy(&graph).into_owned();
        (text.contains("hidden_states."), text.contains("logits"))
    };
    assert_eq!(outputs("bert-masked", Wanted::Vectors), (true, false));
    assert_eq!(outputs("bert-masked", Wanted::Words), (false, true));
    assert_eq!(outputs("bert-classifier", Wanted::Vectors), (true, true));
    let error = format!("{:#}", graph(&weights_of("bert"), Wanted::Words).err().unwrap());
    assert!(error.contains("ForMaskedLM"), "{error}");
}

#[test]
fn the_key_is_of_weights_and_settings() {
    let copy = with("bert", &[]);
    fs::write(copy.path().join("tokenizer.json"), "{}").unwrap();
    let params = OnnxParams { model: copy.path().to_owned(), ..OnnxParams::default() };
    let key = || params.files_key(Path::new("")).unwrap();
    let first = key();
    assert_eq!(key(), first);
    fs::copy(weights_of("ernie"), copy.path().join("other.safetensors")).unwrap();
    assert_eq!(key(), first, "a file that is not read");
    let file = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    assert_ne!(key(), first);
}

#[test]
fn weights_that_cannot_be_read_are_refused_with_the_way_out() {
    for (name, setting, value, words) in [
        ("bert", "model_type", "big_bird".into(), &["\"big_bird\"", "optimum-cli export onnx"][..]),
        ("bert", "model_type", Json::Null, &["no model_type"]),
        ("bert", "hidden_size", Json::from(16), &["[24, 8]", "[24, 16]", "another model"]),
        ("bert", "num_attention_heads", Json::from(3), &["3 heads", "8 values"]),
        ("bert", "num_hidden_layers", Json::from(3), &["no weights encoder.layer.2.", "config.json of another model"]),
        ("bert", "hidden_act", "mish".into(), &["\"mish\""]),
        ("bert", "position_embedding_type", "relative_key".into(), &["position_embedding_type", "relative_key"]),
        ("bert", "intermediate_size", Json::from(-1), &["intermediate_size = -1"]),
        ("qwen3", "rope_parameters", serde_json::json!({"rope_type": "yarn"}), &["\"yarn\""]),
        ("qwen2", "use_sliding_window", true.into(), &["use_sliding_window"]),
        ("qwen2", "auto_map", serde_json::json!({"AutoModel": "modeling_qwen.Qwen2Model"}), &["auto_map", "is_causal"]),
    ] {
        let error = refusal(with(name, &[(setting, value)]).path());
        assert!(words.iter().all(|word| error.contains(word)), "{setting}: {error}");
    }
    let copy = with("bert", &[]);
    let file = copy.path().join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    for cut in [4, 100, bytes.len() - 1] {
        fs::write(&file, &bytes[..cut]).unwrap();
        let error = refusal(copy.path());
        assert!(error.contains("no file of safetensors, or a damaged one"), "{cut}: {error}");
    }
    fs::remove_file(copy.path().join("config.json")).unwrap();
    fs::write(&file, &bytes).unwrap();
    assert!(refusal(copy.path()).contains("config.json"));
    fs::rename(&file, copy.path().join("pytorch_model.bin")).unwrap();
    let params = OnnxParams { model: copy.path().to_owned(), ..OnnxParams::default() };
    let error = format!("{:#}", params.files_key(Path::new("")).unwrap_err());
    assert!(error.contains("pickle") && error.contains("safe_serialization"), "{error}");
}

#[test]
fn files_that_ask_for_memory_out_of_proportion_are_refused() {
    // Layers of ALBERT share their weights, so that any number of them fits the file.
    let error = refusal(with("albert-masked", &[("num_hidden_layers", Json::from(1 << 24))]).path());
    assert!(error.contains("num_hidden_layers = 16777216, which is not a number from 1 to 1024"), "{error}");

    let copy = with("bert", &[]);
    let file = copy.path().join("model.safetensors");
    let headed = |header: &str| [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    let size = (1u64 << 61) - 1;
    let tensor = |i: u64| {
        format!(r#""{i}": {{"dtype": "U8", "shape": [{size}], "data_offsets": [{}, {}]}}"#, i * size, (i + 1) * size)
    };
    let tensors: Vec<String> = (0..8).map(tensor).collect();
    fs::write(&file, headed(&format!("{{{}}}", tensors.join(", ")))).unwrap();
    let error = refusal(copy.path());
    assert!(error.contains("damaged") && error.contains("18446744073709551608"), "{error}");
    fs::write(&file, headed(&" ".repeat(limits::WEIGHTS_HEADER as usize + 1))).unwrap();
    let error = refusal(copy.path());
    assert!(error.contains("16777217 bytes, and 16 MB are the most"), "{error}");

    let copy = with("bert", &[]);
    let zeros = format!("[{}0]", "0,".repeat(limits::SETTINGS as usize / 2));
    fs::write(copy.path().join("config.json"), zeros).unwrap();
    let error = refusal(copy.path());
    assert!(error.contains("config.json is larger than 8 MB"), "{error}");
}

#[test]
fn weights_in_several_files_are_read_by_their_index() {
    let copy = with("bert", &[]);
    fs::rename(copy.path().join("model.safetensors"), copy.path().join("model-00001-of-00001.safetensors")).unwrap();
    let index = copy.path().join("model.safetensors.index.json");
    let write = |file: &str| {
        let map = serde_json::json!({"weight_map": {"embeddings.word_embeddings.weight": file}});
        fs::write(&index, map.to_string()).unwrap();
    };
    write("model-00001-of-00001.safetensors");
    assert_eq!(weights_in(copy.path()).unwrap(), Some(index.clone()));
    let beside = Header::read(&index).unwrap().beside;
    assert_eq!(beside.into_iter().collect::<Vec<_>>(), [Path::new("model-00001-of-00001.safetensors")]);
    write("../model-00001-of-00001.safetensors");
    let error = format!("{:#}", graph(&index, Wanted::Vectors).err().unwrap());
    assert!(error.contains("another folder"), "{error}");
}

/// A folder as the cache of a model hub: each file is a link to one that is named by its content.
#[cfg(unix)]
fn in_hub_cache(folder: &Path) -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    let [blobs, snapshot] = ["blobs", "snapshots/main"].map(|name| cache.path().join(name));
    fs::create_dir_all(&blobs).unwrap();
    for (number, entry) in walkdir::WalkDir::new(folder).into_iter().enumerate() {
        let entry = entry.unwrap();
        let link = snapshot.join(entry.path().strip_prefix(folder).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(link).unwrap();
            continue;
        }
        let blob = blobs.join(format!("{number:04}"));
        fs::copy(entry.path(), &blob).unwrap();
        std::os::unix::fs::symlink(&blob, link).unwrap();
    }
    cache
}

#[cfg(unix)]
#[test]
fn folders_of_hub_caches_give_the_same_rows_as_copies() {
    if !has_library() {
        return;
    }
    let with_files = tempfile::tempdir().unwrap();
    with_weights_in_files(with_files.path());
    let (parted, part) = (tempfile::tempdir().unwrap(), "model-00001-of-00001.safetensors");
    for (from, to) in
        [("model.safetensors", part), ("config.json", "config.json"), ("tokenizer.json", "tokenizer.json")]
    {
        fs::copy(onnx_graph("electra-discriminator").join(from), parted.path().join(to)).unwrap();
    }
    let map = serde_json::json!({"weight_map": {"electra.embeddings.word_embeddings.weight": part}});
    fs::write(parted.path().join("model.safetensors.index.json"), map.to_string()).unwrap();
    for folder in [with_files.path(), parted.path(), &onnx_graph("electra-discriminator")] {
        let cache = in_hub_cache(folder);
        let rows = |model: PathBuf| {
            let params = OnnxParams { model, ..OnnxParams::default() };
            let mut model = encoder(&params).unwrap();
            let (rows, _) = model.rows(&["公司回购"], &Ctx::new(1, 1).unwrap(), |_| Ok(())).unwrap();
            (rows, model.key())
        };
        assert_eq!(rows(cache.path().join("snapshots/main")), rows(folder.to_owned()), "{}", folder.display());
    }
}
