use std::collections::BTreeMap;

use proptest::prelude::*;

use super::graph::FLOAT;
use super::*;
use crate::architecture::Wanted;
use crate::graph::{Role, roles};
use crate::header::Header;
use crate::runtime::Device;
use crate::session::{Feed, Session};
use crate::testing::{field, graph as reference_graph, has_library, opening, with_weights_in_files};
use crate::{Generator, SearchParams};

/// A file that an established tool has made: see tests/reference/convert/make.py.
fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/convert").join(name)
}

fn architecture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/architectures").join(name)
}

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

/// A conversion into a folder that is thrown away.
fn converted(model: &Path, precision: Option<Precision>) -> (tempfile::TempDir, Vec<ConvertedGraph>) {
    let folder = tempfile::tempdir().unwrap();
    let (graphs, _) = convert(model, precision, false, folder.path(), &ctx()).unwrap();
    (folder, graphs)
}

fn refusal(model: &Path, precision: Option<Precision>, output: &Path) -> String {
    format!("{:#}", convert(model, precision, false, output, &ctx()).unwrap_err())
}

/// All outputs of a graph for two texts, of which one is shorter, or for three rows of numbers.
fn outputs(path: &Path) -> BTreeMap<String, Vec<f32>> {
    let mut session = Session::open(path, Wanted::Vectors, opening().runtime, Device::Cpu, 1).unwrap();
    let feeds: Vec<Feed> = if session.inputs()[0].name == "x" {
        vec![Feed::Floats(vec![3, 5], (0..15).map(|place| (place as f32).sin()).collect())]
    } else {
        let numbers = |role| match role {
            Role::Ids => vec![5, 17, 13, 8, 21, 6, 2, 5, 9, 12, 6, 2, 0, 0],
            Role::Mask => vec![1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0],
            Role::Types | Role::Tasks => vec![0; 14],
            Role::Positions => (0..14).map(|place| place % 7).collect(),
            role => panic!("{role:?}"),
        };
        let roles = roles(path, session.inputs()).unwrap();
        roles.into_iter().map(|role| Feed::Integers(vec![2, 7], numbers(role))).collect()
    };
    let names: Vec<String> = session.outputs().iter().map(|port| port.name.clone()).collect();
    let asked: Vec<&str> = names.iter().map(String::as_str).collect();
    let read = session.run(feeds, &asked, &ctx(), |given| {
        asked.iter().map(|name| Ok(((*name).to_owned(), given.get(name)?.values.to_vec()))).collect()
    });
    read.unwrap()
}

/// The greatest difference of two models' outputs, as a part of the largest number of the first.
fn difference(one: &BTreeMap<String, Vec<f32>>, other: &BTreeMap<String, Vec<f32>>) -> f32 {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let pairs = || one.values().flatten().zip(other.values().flatten());
    assert!(pairs().count() > 3 && pairs().all(|(a, b)| a.is_finite() && b.is_finite()));
    let most = one.values().flatten().fold(0.0f32, |most, value| most.max(value.abs()));
    pairs().fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs())) / most
}

/// Bytes of all weights by name and type.
fn weights(path: &Path) -> BTreeMap<String, (u64, Vec<u64>, Vec<u8>)> {
    let graph = ModelGraph::read(path, Wanted::Vectors).unwrap();
    let bytes = |weight: &graph::Initializer| match weight.numbers {
        Numbers::Plain(range) => graph.bytes(range).unwrap(),
        // The tool writes scales and zeros in fields of their own types; the last bytes are the numbers.
        Numbers::Message(range) => graph.bytes(range).unwrap(),
    };
    let entry =
        |weight: &graph::Initializer| (weight.name.clone(), (weight.data_type, weight.dims.clone(), bytes(weight)));
    graph.initializers.iter().map(entry).collect()
}

#[test]
fn whole_numbers_are_those_of_onnxruntimes_own_tool() {
    for (name, model) in [
        ("bert", reference_graph("bert/model.onnx")),
        ("bert-classifier", reference_graph("bert-classifier/model.onnx")),
        ("products", reference("products.onnx")),
    ] {
        let (folder, graphs) = converted(&model, Some(Precision::Int8));
        let path = folder.path().join("model.onnx");
        let ours = weights(&path);
        let mut compared = 0;
        for (theirs, (data_type, dims, bytes)) in weights(&reference(&format!("{name}-int8.onnx"))) {
            // The tool exchanges the rows and columns of a weight before it quantises it.
            let Some(found) = ours.get(&theirs.replace("_Transposed", "")) else { continue };
            // Zeros are one byte here, and a field of their own type there.
            if !theirs.ends_with("_zero_point") {
                assert_eq!(found, &(data_type, dims, bytes), "{name}: {theirs}");
            }
            compared += usize::from(theirs.ends_with("_quantized"));
        }
        let quantised = ours.keys().filter(|name| name.ends_with("_quantized")).count();
        // One product of the tool's stays in single precision, because its weight stands behind Transpose.
        assert_eq!((compared, quantised), if name == "products" { (2, 3) } else { (quantised, quantised) }, "{name}");
        assert!(graphs[0].counted.left.is_empty() && graphs[0].bytes[1] < graphs[0].bytes[0], "{graphs:?}");
        if name != "products" && has_library() {
            let theirs = outputs(&reference(&format!("{name}-int8.onnx")));
            let differs = difference(&theirs, &outputs(&path));
            assert!(differs < 1e-5, "{name}: {differs}");
            let differs = difference(&outputs(&model), &theirs);
            assert!(differs > 1e-4, "{name}: {differs}");
        }
    }
}

#[test]
fn halves_are_those_of_onnxruntimes_own_tool_and_rows_are_near() {
    for (name, model) in [
        ("bert", reference_graph("bert/model.onnx")),
        ("bert-classifier", reference_graph("bert-classifier/model.onnx")),
        ("products", reference("products.onnx")),
    ] {
        let (folder, graphs) = converted(&model, Some(Precision::Fp16));
        let path = folder.path().join("model.onnx");
        let ours = weights(&path);
        let theirs = weights(&reference(&format!("{name}-fp16.onnx")));
        let halves = theirs.iter().filter(|(_, (data_type, dims, _))| *data_type == HALF && dims.len() == 2);
        let mut compared = 0;
        for (theirs, weight) in halves {
            assert_eq!(&ours[&format!("{theirs}_half")], weight, "{name}: {theirs}");
            compared += 1;
        }
        assert!(
            compared > 2
                && ours.values().filter(|(data_type, dims, _)| *data_type == FLOAT && dims.len() > 1).count() == 0
        );
        // The number of a mask, and one of the weights.
        assert_eq!(graphs[0].clamped, 1, "{name}");
        let header = Header::read(&path).unwrap();
        assert_eq!(header.precision(), "fp16");
        assert!(header.outputs.iter().all(|output| output.element == "fp32"));
        if has_library() && name != "products" {
            let differs = difference(&outputs(&model), &outputs(&path));
            assert!(differs > 1e-5 && differs < 2e-3, "{name}: {differs}");
        }
    }
}

#[test]
fn weights_of_every_architecture_become_graphs_that_stand_alone() {
    if !has_library() {
        return;
    }
    let mut models = 0;
    for folder in std::fs::read_dir(architecture("")).unwrap() {
        let folder = folder.unwrap().path();
        let weights = folder.join("model.safetensors");
        if !weights.is_file() {
            continue;
        }
        models += 1;
        let shown = folder.display();
        let single = outputs(&weights);
        let mut sizes = Vec::new();
        for (precision, most) in [(None, 1e-7), (Some(Precision::Fp16), 2e-3), (Some(Precision::Int8), 0.06)] {
            let (output, graphs) = converted(&folder, precision);
            let file = output.path().join("model.onnx");
            assert!(output.path().join("config.json").is_file() && !output.path().join("model.safetensors").exists());
            assert!(Header::read(&file).unwrap().beside.is_empty());
            let differs = difference(&single, &outputs(&file));
            assert!(differs <= most, "{shown} {precision:?}: {differs}");
            sizes.push(graphs[0].bytes[1]);
        }
        let stored = Header::read(&weights).unwrap().precision();
        assert!(stored != "fp32" || sizes[2] < sizes[1] && sizes[1] < sizes[0], "{shown}: {sizes:?}");
    }
    assert!(models > 10);
    // Logits over the vocabulary are kept where they are asked for.
    for words in [false, true] {
        let output = tempfile::tempdir().unwrap();
        convert(&architecture("bert-masked"), None, words, output.path(), &ctx()).unwrap();
        let header = Header::read(&output.path().join("model.onnx")).unwrap();
        assert_eq!(header.outputs.iter().any(|port| port.name == "logits"), words);
    }
}

#[test]
fn graphs_of_every_family_run_in_both_precisions() {
    if !has_library() {
        return;
    }
    let families =
        ["albert", "bart", "deberta", "electra", "elmo-words", "gpt2", "mass", "openai-gpt", "roberta", "t5", "ulmfit"];
    for name in families.iter().chain(&["unilm", "xlnet", "xlnet-mems"]) {
        // With random weights these two differ most, by as much in the forms that onnxruntime's tools make.
        let most = match *name {
            "gpt2" => [0.0049, 0.2336],
            "t5" => [0.0345, 0.4441],
            _ => [0.002, 0.06],
        };
        for (precision, most) in [Precision::Fp16, Precision::Int8].into_iter().zip(most) {
            let (output, graphs) = converted(&reference_graph(name), Some(precision));
            for graph in graphs {
                let file = output.path().join(&graph.file);
                let session = Session::open(&file, Wanted::Vectors, opening().runtime, Device::Cpu, 1).unwrap();
                let known =
                    |role: &Role| matches!(role, Role::Ids | Role::Mask | Role::Types | Role::Tasks | Role::Positions);
                if roles(&file, session.inputs()).unwrap().iter().all(known) {
                    let differs = difference(&outputs(&graph.read), &outputs(&file));
                    assert!(differs <= most, "{name} {precision:?}: {differs}");
                }
            }
        }
    }
}

#[test]
fn encoders_and_decoders_are_converted_together() {
    if !has_library() {
        return;
    }
    let (output, graphs) = converted(&reference_graph("bart"), Some(Precision::Int8));
    let files: Vec<&str> = graphs.iter().map(|graph| graph.file.as_str()).collect();
    assert_eq!(files, ["encoder_model.onnx", "decoder_model.onnx"]);
    let params = OnnxParams { model: output.path().to_owned(), ..OnnxParams::default() };
    let search = SearchParams { max_new_tokens: 5, ..SearchParams::default() };
    let mut generator = Generator::open(&params, inkstone_text::Truncation::None, search, &opening()).unwrap();
    assert!(!generator.write("公司净利润同比增长。", &ctx()).unwrap().is_empty());
}

#[test]
fn weights_of_an_encoder_and_a_decoder_become_three_graphs_that_write_the_same() {
    if !has_library() {
        return;
    }
    let weights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/generation/bart");
    let (output, graphs) = converted(&weights, None);
    let files: Vec<&str> = graphs.iter().map(|graph| graph.file.as_str()).collect();
    assert_eq!(files, ["encoder_model.onnx", "decoder_model.onnx", "decoder_with_past_model.onnx"]);
    let written = |model: &Path| {
        let params = OnnxParams { model: model.to_owned(), ..OnnxParams::default() };
        let search = SearchParams { max_new_tokens: 8, ..SearchParams::default() };
        let mut generator = Generator::open(&params, inkstone_text::Truncation::None, search, &opening()).unwrap();
        assert!(generator.remembers());
        generator.write("公司净利润同比增长。", &ctx()).unwrap()
    };
    assert_eq!(written(output.path()), written(&weights));
}

#[test]
fn weights_lie_beside_a_graph_that_is_too_large_for_one_file() {
    let (one_file, _) = converted(&reference_graph("bert"), Some(Precision::Fp16));
    let folder = tempfile::tempdir().unwrap();
    convert_within(&reference_graph("bert"), Some(Precision::Fp16), false, folder.path(), 10_000, &ctx()).unwrap();
    let path = folder.path().join("model.onnx");
    assert!(path.metadata().unwrap().len() < 30_000);
    let beside: Vec<PathBuf> = Header::read(&path).unwrap().beside.into_iter().collect();
    assert_eq!(beside, [PathBuf::from("model.onnx_data")]);
    assert_eq!(weights(&path), weights(&one_file.path().join("model.onnx")));
    // Weights in many files come together.
    let many = tempfile::tempdir().unwrap();
    with_weights_in_files(many.path());
    let (one, _) = converted(many.path(), None);
    assert_eq!(weights(&one.path().join("model.onnx")), weights(&reference_graph("bert/model.onnx")));
    if has_library() {
        assert_eq!(outputs(&path), outputs(&one_file.path().join("model.onnx")));
        assert_eq!(outputs(&one.path().join("model.onnx")), outputs(&reference_graph("bert/model.onnx")));
    }
}

#[test]
fn a_folder_has_all_that_the_model_is_read_with_and_nothing_of_an_earlier_one() {
    let root = tempfile::tempdir().unwrap();
    let (model, output) = (root.path().join("bge"), root.path().join("small"));
    std::fs::create_dir_all(model.join("onnx")).unwrap();
    std::fs::create_dir_all(model.join("1_Pooling")).unwrap();
    std::fs::copy(reference_graph("bert/model.onnx"), model.join("onnx/model.onnx")).unwrap();
    for (name, text) in [
        ("config.json", "{}"),
        ("vocab.txt", "a"),
        ("spiece.model", "b"),
        ("chat_template.jinja", "c"),
        ("model.safetensors.index.json", "{}"),
        ("README.md", "d"),
        ("modules.json", r#"[{"path": "", "type": "T"}, {"path": "1_Pooling", "type": "P"}]"#),
        ("1_Pooling/config.json", "{}"),
    ] {
        std::fs::write(model.join(name), text).unwrap();
    }
    convert(&model, Some(Precision::Int8), false, &output, &ctx()).unwrap();
    let names = || {
        let entries = walkdir::WalkDir::new(&output).sort_by_file_name().into_iter().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().is_file());
        files.map(|file| file.path().strip_prefix(&output).unwrap().display().to_string()).collect::<Vec<_>>()
    };
    let first = names();
    assert_eq!(
        first,
        [
            disk::MARKER,
            "1_Pooling/config.json",
            "chat_template.jinja",
            "config.json",
            "model.onnx",
            "modules.json",
            "spiece.model",
            "vocab.txt"
        ]
    );
    let bytes = std::fs::read(output.join("model.onnx")).unwrap();
    convert(&model, Some(Precision::Int8), false, &output, &ctx()).unwrap();
    assert_eq!((names(), std::fs::read(output.join("model.onnx")).unwrap()), (first, bytes));
    convert(&reference("products.onnx"), None, false, &output, &ctx()).unwrap();
    assert_eq!(names(), [disk::MARKER, "model.onnx"]);
}

#[test]
fn what_cannot_be_converted_is_refused_before_anything_is_written() {
    let root = tempfile::tempdir().unwrap();
    let output = root.path().join("output");
    let int8 = Some(Precision::Int8);
    for (model, precision, words) in [
        ("bert/model_int8.onnx", int8, "is quantised already"),
        ("bert/model_int8.onnx", Some(Precision::Fp16), "is quantised already"),
        ("bert/model_fp16.onnx", Some(Precision::Fp16), "nothing becomes smaller"),
        ("bert/model_fp16.onnx", int8, "nothing becomes smaller"),
        ("broken/external.onnx", int8, "cannot look at"),
        ("broken/not_onnx.onnx", int8, "cannot be converted"),
        ("absent", int8, "there is no model"),
    ] {
        let refusal = refusal(&reference_graph(model), precision, &output);
        assert!(refusal.contains(words), "{model}: {refusal}");
        assert!(!output.exists());
    }
    let model = root.path().join("model");
    std::fs::create_dir(&model).unwrap();
    std::fs::copy(reference("products.onnx"), model.join("model.onnx")).unwrap();
    let refused = refusal(&model, int8, &model);
    assert!(refused.contains("Inkstone did not make that folder"), "{refused}");
    std::fs::create_dir(model.join("small")).unwrap();
    let refused = refusal(&model, int8, &model.join("small"));
    assert!(refused.contains("lie in each other"), "{refused}");
    let cancelled = ctx();
    cancelled.cancel();
    assert!(convert(&model, int8, false, &output, &cancelled).is_err() && !output.join("model.onnx").exists());
}

/// A graph with an output, and these fields.
fn hostile(fields: &[Vec<u8>]) -> Vec<u8> {
    [field(7, &[field(12, &field(1, b"y")), fields.concat()].concat()), field(8, &[2 << 3, 17])].concat()
}

fn read(bytes: &[u8]) -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(folder.path().join("weights.bin"), b"").unwrap();
    let graph = ModelGraph::read(&path, Wanted::Vectors)?;
    for precision in [None, Some(Precision::Int8), Some(Precision::Fp16)] {
        if let Ok((new, _)) = smaller(&graph, precision, &ctx()) {
            write::write(&graph, &new, &folder.path().join("new.onnx"), ONE_FILE, &ctx())?;
        }
    }
    Ok(())
}

#[test]
fn hostile_weights_are_refused() {
    let weight = |fields: &[Vec<u8>]| hostile(&[field(5, &[vec![2 << 3, 1], fields.concat()].concat())]);
    let most = [&[0xff; 9][..], &[1]].concat();
    let outside = |location: &str| {
        weight(&[
            vec![1 << 3, 4],
            vec![14 << 3, 1],
            field(13, &[field(1, b"location"), field(2, location.as_bytes())].concat()),
        ])
    };
    // A tensor of no numbers in a file that is there.
    let beside = [vec![1 << 3, 0, 14 << 3, 1], field(13, &[field(1, b"location"), field(2, b"weights.bin")].concat())];
    let beside = beside.concat();
    for (bytes, words) in [
        (weight(&[vec![1 << 3, 4], field(9, &[0; 15])]), "15 bytes"),
        (weight(&[field(1, &[most.clone(), most].concat()), field(9, &[0; 15])]), "have the sizes"),
        (weight(&[field(1, &[1; 65])]), "more than 64 axes"),
        (outside("../secret"), "not in the folder"),
        (outside("/etc/hostname"), "not in the folder"),
        (outside("model.onnx"), "the file of the graph itself"),
        (hostile(&[field(15, b"")]), "sparse"),
        (hostile(&[field(1, &field(5, &field(5, &beside)))]), "keeps the weights"),
        (hostile(&[field(1, &field(5, &field(6, &field(5, &beside))))]), "keeps the weights"),
    ] {
        let error = format!("{:#}", read(&bytes).unwrap_err());
        assert!(error.contains(words), "{error}");
    }
    let mut deep = field(1, b"");
    for _ in 0..10_000 {
        deep = field(1, &field(5, &field(6, &deep)));
    }
    assert!(format!("{:#}", read(&hostile(&[deep])).unwrap_err()).contains("nested more than 32 deep"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_graphs_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut in any::<prop::sample::Index>(), uncut in any::<bool>()) {
        for model in [reference("products.onnx"), reference_graph("bert/model.onnx")] {
            let mut bytes = std::fs::read(model).unwrap();
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            if !uncut {
                bytes.truncate(cut.index(bytes.len()));
            }
            // An error is as good as a graph.
            let _ = read(&bytes);
        }
    }
}
