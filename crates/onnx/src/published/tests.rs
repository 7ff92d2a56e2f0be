//! Folders of sentence-transformers equal sentence-transformers, and damaged ones say what is wrong.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::testing::{encoder, graph, has_library};
use super::super::{OnnxParams, Pooling};
use super::*;
use inkstone_base::job::Ctx;
use inkstone_models::cosine;

/// Numbers that sentence-transformers has made.
fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/sentence-transformers")
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let to = to.join(entry.path().strip_prefix(from).unwrap());
        match entry.file_type().is_dir() {
            true => std::fs::create_dir_all(to).unwrap(),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// The folder of a case: its graph, and what is said beside it.
fn folder(graph_of: &str, case: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    match graph_of {
        "bert" | "cased" | "left" => {
            let from = graph("bert");
            std::fs::create_dir(folder.path().join("onnx")).unwrap();
            for (name, to) in [
                ("model.onnx", "onnx/model.onnx"),
                ("config.json", "config.json"),
                ("tokenizer.json", "tokenizer.json"),
                ("tokenizer_config.json", "tokenizer_config.json"),
            ] {
                std::fs::copy(from.join(name), folder.path().join(to)).unwrap();
            }
        }
        other => copy(&reference().join(other), folder.path()),
    }
    copy(&reference().join("cases").join(case), folder.path());
    folder
}

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(reference().join("expected.json")).unwrap()).unwrap()
}

fn params(folder: &TempDir, using: &Value) -> OnnxParams {
    OnnxParams {
        model: folder.path().to_owned(),
        prompt: using["prompt"].as_str().map(str::to_owned),
        dim: using["dim"].as_u64().unwrap_or(0) as usize,
        ..OnnxParams::default()
    }
}

fn rows(params: &OnnxParams, texts: &[&str]) -> Vec<Vec<f32>> {
    let mut encoder = encoder(params).unwrap();
    let dim = encoder.columns().len();
    let (rows, _) = encoder.rows(texts, &Ctx::new(2, 1).unwrap(), |_| Ok(())).unwrap();
    rows.chunks(dim).map(<[f32]>::to_vec).collect()
}

#[test]
fn every_folder_gives_the_vectors_of_sentence_transformers() {
    if !has_library() {
        return;
    }
    let expected = expected();
    let texts: Vec<&str> = expected["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let cases: Vec<_> = expected.as_object().unwrap().iter().filter(|(name, _)| *name != "texts").collect();
    assert_eq!(cases.len(), 22);
    for (name, case) in cases {
        let graph = case["graph"].as_str().unwrap();
        // The same model as weights without a graph, where the tokenizer is its own.
        let forms = if graph == "bert" { vec![graph, "weights"] } else { vec![graph] };
        let uses = case["uses"].as_array().unwrap();
        for (form, using) in forms.iter().flat_map(|form| uses.iter().map(move |using| (form, using))) {
            let found = rows(&params(&folder(form, name), using), &texts);
            for ((text, found), want) in texts.iter().zip(&found).zip(using["vectors"].as_array().unwrap()) {
                let want: Vec<f32> = want.as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect();
                let what = format!("{name} {form} {:?} {:?} {text}", using["prompt"], using["dim"]);
                assert_eq!(found.len(), want.len(), "{what}");
                assert!(cosine(found, &want) >= 1.0 - 1e-5, "{what}: {} {found:?} {want:?}", cosine(found, &want));
                // Lengths, too: a cosine does not see whether a vector was scaled.
                let most = want.iter().fold(0.1f32, |most, value| most.max(value.abs()));
                let apart = found.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(apart <= 1e-4 * most, "{what}: {found:?} {want:?}");
            }
        }
    }
}

/// The settings in use and the files that state them, as reports show them.
fn used(params: &OnnxParams) -> Vec<String> {
    encoder(params).unwrap().ran().used.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_used_is_told_with_its_file_and_a_setting_goes_first() {
    if !has_library() {
        return;
    }
    let folder = folder("bert", "cls-l2");
    let plain = params(&folder, &Value::Null);
    assert_eq!(
        used(&plain),
        [
            "pooling = cls: 1_Pooling/config.json",
            "normalise = true: modules.json (2_Normalize)",
            "max_tokens = 12: sentence_bert_config.json",
        ]
    );
    let set = OnnxParams {
        pooling: Some("mean".parse().unwrap()),
        normalise: Some(false),
        max_tokens: 30,
        dim: 7,
        prompt: Some("公告：".into()),
        ..plain.clone()
    };
    assert_eq!(
        used(&set),
        [
            "pooling = mean, where 1_Pooling/config.json says cls",
            "normalise = false, where modules.json (2_Normalize) says true",
            "max_tokens = 30, where sentence_bert_config.json says 12",
            "dim = 7",
            "prompt = \"公告：\"",
        ]
    );
    // Whatever can change a row changes the key; a setting equal to the folder's does not.
    let key = |params: &OnnxParams| encoder(params).unwrap().key();
    let same = OnnxParams { pooling: Some("cls".parse().unwrap()), ..plain.clone() };
    assert_eq!(key(&same), key(&plain));
    for other in [
        OnnxParams { pooling: set.pooling.clone(), ..plain.clone() },
        OnnxParams { normalise: Some(false), ..plain.clone() },
        OnnxParams { dim: 7, ..plain.clone() },
        OnnxParams { prompt: set.prompt.clone(), ..plain.clone() },
    ] {
        assert_ne!(key(&other), key(&plain));
    }
    std::fs::write(folder.path().join("1_Pooling/config.json"), r#"{"pooling_mode_mean_tokens": true}"#).unwrap();
    assert_ne!(key(&same), key(&plain));
    let last = self::folder("within-last", "within-last");
    assert_eq!(
        used(&params(&last, &Value::Null)),
        [
            "pooling = pooler: the graph (sentence_embedding)",
            "normalise = true: modules.json (2_Normalize)",
            "max_tokens = 32: sentence_bert_config.json",
            "padding = left: the tokenizer",
        ]
    );
    let plain_bert = OnnxParams { model: graph("bert"), ..OnnxParams::default() };
    assert!(used(&plain_bert).is_empty());
}

#[test]
fn a_long_text_is_read_in_windows_behind_the_prompt() {
    if !has_library() {
        return;
    }
    let folder = folder("bert", "prompts");
    let ctx = Ctx::new(1, 1).unwrap();
    let text = "公司上半年营业收入同比下降，毛利率降至近年低位";
    let params =
        OnnxParams { max_tokens: 16, stride: 9, prompt: Some("query".into()), ..params(&folder, &Value::Null) };
    let encoder = encoder(&params).unwrap();
    // [CLS], five of the prompt, nine of the text, [SEP].
    assert_eq!(encoder.specials(), 7);
    let windows = encoder.windows(&[text], &ctx).unwrap();
    assert_eq!(windows.lengths(), [16, 16, 12]);
    let prompt = windows.numbers(&windows.windows[0])[..6].to_vec();
    assert!(windows.windows.iter().all(|window| windows.numbers(window)[..6] == prompt && window.inner.start == 6));
    let read: String = windows
        .windows
        .iter()
        .flat_map(|w| &windows.offsets(w)[w.inner.clone()])
        .map(|r| &text[r.start as usize..r.end as usize])
        .collect();
    assert_eq!(read, text);
    assert_eq!(encoder.spans(text, &ctx).unwrap().len(), text.chars().count());
}

/// The settings of a module of old folders.
fn old_pooling(flags: &[&str]) -> String {
    let mut settings =
        json!({"word_embedding_dimension": 16, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": false});
    flags.iter().for_each(|flag| settings[*flag] = true.into());
    settings.to_string()
}

#[test]
fn old_folders_flag_their_poolings() {
    let folder = folder("bert", "mean");
    let pooling = |settings: &str| -> Pooling {
        std::fs::write(folder.path().join("1_Pooling/config.json"), settings).unwrap();
        Published::read(folder.path()).unwrap().unwrap().pooling.unwrap().value
    };
    assert_eq!(pooling(&old_pooling(&["pooling_mode_cls_token"])).to_string(), "cls");
    let several = ["pooling_mode_lasttoken", "pooling_mode_mean_tokens", "pooling_mode_max_tokens"];
    assert_eq!(pooling(&old_pooling(&several)).to_string(), "max+mean+last");
    assert_eq!(pooling(&old_pooling(&[])).to_string(), "mean");
}

#[test]
fn lengths_come_from_the_tokenizer_where_the_encoder_gives_none() {
    let folder = folder("bert", "mean");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let length =
        || Published::read(folder.path()).unwrap().unwrap().max_tokens.map(|stated| (stated.value, stated.file));
    put("sentence_bert_config.json", r#"{"max_seq_length": null}"#);
    assert_eq!(length(), Some((40, "tokenizer_config.json".into())));
    put("tokenizer_config.json", r#"{"model_max_length": 1000000000000000019884624838656}"#);
    assert_eq!(length(), None);
}

#[test]
fn a_prompt_is_a_name_or_a_text() {
    let folder = folder("bert", "prompts");
    let read = || Published::read(folder.path()).unwrap().unwrap();
    let prompt = |asked: Option<&str>| read().prompt(asked).map(|found| found.map(|stated| stated.value));
    assert_eq!(prompt(None).unwrap(), None);
    assert_eq!(prompt(Some("query")).unwrap().as_deref(), Some("公司公告："));
    assert_eq!(prompt(Some("document")).unwrap(), None);
    assert_eq!(prompt(Some("query: ")).unwrap().as_deref(), Some("query: "));
    let error = prompt(Some("qurey")).unwrap_err().to_string();
    assert!(error.contains("no prompt \"qurey\"") && error.contains("document, passage, query"), "{error}");
    let settings = |json: &str| std::fs::write(folder.path().join(PROMPTS), json).unwrap();
    settings(r#"{"prompts": {"passage": "passage: ", "query": "query: "}, "default_prompt_name": "query"}"#);
    assert_eq!(prompt(Some("document")).unwrap().as_deref(), Some("passage: "));
    assert_eq!(prompt(None).unwrap().as_deref(), Some("query: "));
    assert_eq!(prompt(Some("none")).unwrap(), None);
    settings(r#"{"prompts": {"query": "query: "}, "default_prompt_name": "title"}"#);
    let error = Published::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("default prompt \"title\""), "{error}");
}

#[test]
fn a_folder_that_is_not_whole_says_what_is_wrong() {
    let error_after = |change: &dyn Fn(&Path)| {
        let folder = folder("bert", "dense");
        change(folder.path());
        format!("{:#}", Published::read(folder.path()).unwrap_err())
    };
    let put =
        |name: &'static str, text: &'static str| move |folder: &Path| std::fs::write(folder.join(name), text).unwrap();
    let remove = |name: &'static str| move |folder: &Path| std::fs::remove_file(folder.join(name)).unwrap();
    let module = |kind: &str, path: &str| {
        let modules =
            json!([{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": path, "type": kind}]);
        move |folder: &Path| std::fs::write(folder.join("modules.json"), modules.to_string()).unwrap()
    };
    for (change, parts) in [
        (
            &put("modules.json", "no list") as &dyn Fn(&Path),
            &["modules.json is not what sentence-transformers writes"][..],
        ),
        (
            &module("sentence_transformers.models.CNN", "1_CNN"),
            &["models.CNN", "modules that are read here", "without modules.json"],
        ),
        (&module("sentence_transformers.models.Dense", "2_Dense"), &["before a pooling"]),
        (&module("sentence_transformers.models.Pooling", "../1_Pooling"), &["does not lie below it"]),
        (&put("modules.json", "[]"), &["names 0 encoders"]),
        (&remove("1_Pooling/config.json"), &["there is no", "1_Pooling/config.json", "fetch the whole folder"]),
        (&put("1_Pooling/config.json", r#"{"pooling_mode": "median"}"#), &["the pooling \"median\"", "weightedmean"]),
        (
            &put("1_Pooling/config.json", r#"{"pooling_mode_median_tokens": true}"#),
            &["the pooling \"pooling_mode_median_tokens\""],
        ),
        (&remove("2_Dense/config.json"), &["2_Dense/config.json", "fetch the whole folder"]),
        (&remove("2_Dense/model.safetensors"), &["no model.safetensors in", "fetch the whole folder"]),
        (
            &|folder| {
                std::fs::rename(folder.join("2_Dense/model.safetensors"), folder.join("2_Dense/pytorch_model.bin"))
                    .unwrap()
            },
            &["pytorch_model.bin holds a program of Python", "SentenceTransformer(FOLDER).save(NEW)"],
        ),
        (&put("2_Dense/model.safetensors", "short"), &["2_Dense/model.safetensors is damaged"]),
        (
            &put("2_Dense/config.json", r#"{"in_features": 16, "out_features": 9}"#),
            &["linear.weight the shape [8, 16]", "[9, 16]", "not of one model"],
        ),
        (
            &put(
                "2_Dense/config.json",
                r#"{"in_features": 16, "out_features": 8, "activation_function": "torch.nn.Mish"}"#,
            ),
            &["the activation \"torch.nn.Mish\"", "GELU"],
        ),
        (
            &put(
                "2_Dense/config.json",
                r#"{"in_features": 16, "out_features": 8, "module_input_name": "token_embeddings"}"#,
            ),
            &["\"token_embeddings\""],
        ),
    ] {
        let error = error_after(change);
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    if !has_library() {
        return;
    }
    let dense = folder("bert", "dense");
    let refused = |params: OnnxParams| format!("{:#}", encoder(&params).err().expect("it must be refused"));
    let plain = || params(&dense, &Value::Null);
    for (params, parts) in [
        (OnnxParams { pooling: Some("cls+max".parse().unwrap()), ..plain() }, ["2_Dense", "16 values", "gives 32"]),
        (OnnxParams { dim: 13, ..plain() }, ["dim = 13", "the 12 values", "model.onnx"]),
        (OnnxParams { prompt: Some("passage".into()), ..plain() }, ["no prompt", "passage", "none"]),
        (
            OnnxParams { prompt: Some("公告：".into()), output: crate::Output::Surprise, ..plain() },
            ["onnx.prompt", "vectors", "embedding"],
        ),
        (OnnxParams { prompt: Some("公告".repeat(20)), ..plain() }, ["window of 40 tokens", "no room", "prompt"]),
    ] {
        let error = refused(params);
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
    // A pooling for vectors of another length, and the tokenizer of another model.
    let settings = r#"{"embedding_dimension": 768, "pooling_mode": "mean"}"#;
    std::fs::write(dense.path().join("1_Pooling/config.json"), settings).unwrap();
    let error = refused(plain());
    assert!(error.contains("768 values") && error.contains("vectors of 16"), "{error}");
    std::fs::copy(reference().join("qwen3/tokenizer.json"), dense.path().join("tokenizer.json")).unwrap();
    let error = refused(plain());
    assert!(error.contains("knows 317 tokens") && error.contains("vectors for 115"), "{error}");
}
