use std::path::{Path, PathBuf};

use super::StaticEncoder;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/static-encoders")
}

const MODELS: [&str; 6] = ["plain", "unit", "halves", "mapped", "whole", "distilled"];

#[test]
fn vectors_equal_those_of_model2vec() {
    let expected: serde_json::Value =
        serde_json::from_slice(&std::fs::read(home().join("expected.json")).unwrap()).unwrap();
    let texts: Vec<String> = serde_json::from_value(expected["texts"].clone()).unwrap();
    for name in MODELS {
        let encoder = StaticEncoder::open(&home().join(name)).unwrap();
        let rows: Vec<Vec<f64>> = serde_json::from_value(expected[name].clone()).unwrap();
        for (text, row) in texts.iter().zip(rows) {
            let ours = encoder.row(text).unwrap();
            let close = ours.iter().zip(&row).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6);
            assert!(close && ours.len() == row.len(), "{name}: {text}: {ours:?} {row:?}");
        }
    }
}

#[test]
fn parts_of_tokens_sum_to_the_vector_and_to_a_component() {
    let text = "公司拟回购股份，公司净利润同比增长";
    for name in MODELS {
        let encoder = StaticEncoder::open(&home().join(name)).unwrap();
        let row = encoder.row(text).unwrap();
        let parts = encoder.parts(text).unwrap();
        for (component, &value) in row.iter().enumerate() {
            let sum: f32 = parts.iter().map(|(_, part)| part[component]).sum();
            assert!((sum - value).abs() < 1e-6, "{name}: {sum} {value}");
            let explanation = encoder.explain(text, Some(component)).unwrap();
            let sum: f64 = explanation.terms.iter().map(|term| term.value).sum();
            assert!((sum - explanation.score).abs() < 1e-6 && explanation.score == f64::from(value), "{name}");
        }
        let company = parts.iter().filter(|(token, _)| token == "公" || token == "公司").count();
        assert_eq!(company, 1, "{name}: a token that comes twice has one part");
    }
}

#[test]
fn sentence_transformers_has_other_names_and_keeps_unknown_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let within = folder.path().join("0_StaticEmbedding");
    std::fs::create_dir(&within).unwrap();
    let plain = home().join("plain");
    std::fs::copy(plain.join("tokenizer.json"), within.join("tokenizer.json")).unwrap();
    // The same tensor under the other name, which is longer: the header is written anew.
    let table = crate::TensorFile::read(&plain.join("model.safetensors")).unwrap().numbers("embeddings").unwrap();
    let bytes: Vec<u8> = table.values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, table.shape.clone(), &bytes).unwrap();
    let written = safetensors::serialize([("embedding.weight", view)], None).unwrap();
    std::fs::write(within.join("model.safetensors"), written).unwrap();
    let modules = |more: &str| {
        let first = r#"{"idx": 0, "name": "0", "path": "0_StaticEmbedding", "type": "sentence_transformers.models.StaticEmbedding"}"#;
        std::fs::write(folder.path().join("modules.json"), format!("[{first}{more}]")).unwrap();
    };
    modules("");
    assert!(StaticEncoder::is_at(folder.path()));
    let encoder = StaticEncoder::open(folder.path()).unwrap();
    let unknown = &table.values[table.shape[1]..2 * table.shape[1]];
    assert!(encoder.row("龘").unwrap().iter().zip(unknown).all(|(a, b)| (a - b).abs() < 1e-6), "[UNK] has a vector");
    assert_eq!(encoder.coverage("公龘").unwrap(), (2, 1));
    modules(r#", {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}"#);
    let row = StaticEncoder::open(folder.path()).unwrap().row("公司").unwrap();
    assert!((row.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-6);
    modules(r#", {"idx": 1, "name": "1", "path": "1_Dense", "type": "sentence_transformers.models.Dense"}"#);
    let error = StaticEncoder::open(folder.path()).err().unwrap().to_string();
    assert!(error.contains("models.Dense") && error.contains("only Normalize"), "{error}");
}

#[test]
fn folders_that_do_not_fit_are_refused() {
    let copy = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            std::fs::copy(home().join("mapped").join(file), folder.path().join(file)).unwrap();
        }
        change(folder.path());
        format!("{:#}", StaticEncoder::open(folder.path()).err().unwrap())
    };
    let error = copy(&|folder| std::fs::write(folder.join("model.safetensors"), b"no tensors").unwrap());
    assert!(error.contains("is damaged"), "{error}");
    let error = copy(&|folder| std::fs::remove_file(folder.join("tokenizer.json")).unwrap());
    assert!(error.contains("tokenizer.json"), "{error}");
    let error = copy(&|folder| std::fs::write(folder.join("config.json"), "{}").unwrap());
    assert!(error.contains("is not the folder of a static encoder"), "{error}");
    let error = copy(&|folder| {
        let other = home().join("plain/tokenizer.json");
        let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(other).unwrap()).unwrap();
        json["model"]["vocab"]["更多"] = 4_000.into();
        std::fs::write(folder.join("tokenizer.json"), json.to_string()).unwrap();
    });
    assert!(error.contains("knows 4001 tokens") && error.contains("not of one model"), "{error}");
    assert!(!StaticEncoder::is_at(&home()), "a folder without settings is none");
}

#[test]
fn a_header_that_claims_too_much_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    std::fs::write(&path, (17_u64 << 20).to_le_bytes()).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(18 << 20).unwrap();
    let error = crate::TensorFile::read(&path).err().unwrap().to_string();
    assert!(error.contains("in 17825792 bytes, and 16 MB are the most"), "{error}");
}
