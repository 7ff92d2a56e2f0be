//! Invented models and answers for the screens of the page.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::OnnxBench;
use inkstone_onnx::runtime::{Candidate, Library, Machine};
use inkstone_onnx::{
    Answered, Description, Guess, Head, Header, Listed, Metered, OnnxParams, Output, Question, Ran, Reply, Round,
    RuntimeParams, Size, TensorInfo, Until, Vocabulary,
};

use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, message};

pub(super) fn machine(library: Result<Library, Message>) -> Machine {
    let there = library.is_ok();
    Machine {
        cores: 8,
        library,
        places: vec![Candidate {
            file: "/home/li/.local/share/inkstone/runtime/onnxruntime/capi/libonnxruntime.so.1.31.1".into(),
            from: Word("运行库文件夹", "the runtime folder"),
            named: false,
        }],
        cuda_lacks: there.then(|| {
            vec![message!(
                "libonnxruntime_providers_cuda.so（该代码库只支持 CPU）",
                "libonnxruntime_providers_cuda.so (the library is the one for processors alone)"
            )]
        }),
        devices: Vec::new(),
    }
}

pub(super) fn library() -> Library {
    let file = "/home/li/.local/share/inkstone/runtime/onnxruntime/capi/libonnxruntime.so.1.31.1";
    Library { file: file.into(), version: "1.31.1".into() }
}

pub(super) fn tensor(name: &str, element: &'static str, shape: &[&str]) -> TensorInfo {
    let size = |size: &&str| size.parse().map_or_else(|_| Size::Named((*size).to_owned()), Size::Fixed);
    TensorInfo { name: name.to_owned(), element, shape: shape.iter().map(size).collect() }
}

/// A model with these heads, used by these features.
pub(super) fn listed(file: &str, heads: Vec<Head>, uses: &[(&str, Output)]) -> Listed {
    let use_of = |(name, output): &(&str, Output)| {
        ((*name).to_owned(), OnnxParams { model: file.into(), output: *output, ..OnnxParams::default() })
    };
    let classes = heads.iter().any(|head| matches!(head, Head::Classes(_)));
    let mut outputs = vec![tensor("last_hidden_state", "fp32", &["batch", "sequence", "768"])];
    if classes {
        outputs.push(tensor("logits", "fp32", &["batch", "3"]));
    }
    if heads.contains(&Head::Masks) {
        outputs.push(tensor("mlm_logits", "fp32", &["batch", "sequence", "21128"]));
    }
    let inputs =
        ["input_ids", "attention_mask", "token_type_ids"].map(|name| tensor(name, "int64", &["batch", "sequence"]));
    let header = Header {
        producer: "pytorch 2.15.0".into(),
        opset: Some(17),
        nodes: 1_204,
        inputs: inputs.to_vec(),
        outputs,
        weights: BTreeMap::from([("fp32", 102_267_648)]),
        beside: std::collections::BTreeSet::new(),
    };
    Listed {
        file: Path::new("/home/li/demo").join(file),
        shown: file.to_owned(),
        uses: uses.iter().map(use_of).collect(),
        found: Ok(Description {
            header,
            bytes: 409_070_592,
            heads,
            family: "bert".into(),
            limit: Some(512),
            published: Ok(Vec::new()),
            labels: if classes { ["利空", "中性", "利好"].map(str::to_owned).to_vec() } else { Vec::new() },
            vocabulary: Some(Ok(Vocabulary { size: 21_128, mask: Some("[MASK]".into()), pad: Some(0) })),
        }),
    }
}

pub(super) fn vectors() -> Head {
    Head::Vectors { size: Some(768), layers: 13 }
}

/// A model of each sort; the last two cannot be read, one of them by its tokenizer alone.
pub(super) fn invented() -> Vec<Listed> {
    let uses = [("tone", Output::Scores), ("vector", Output::Embedding)];
    let mut odd = listed("models/odd/model.onnx", vec![vectors()], &[]);
    if let Ok(found) = &mut odd.found {
        found.vocabulary = Some(Err(message!(
            "models/odd 中没有分词器：没有 tokenizer.json 或 vocab.txt",
            "there is no tokenizer in models/odd: neither tokenizer.json nor vocab.txt"
        )));
        found.header.outputs[0].name = "名\u{1b}[31m\u{202e}字𠮷👨‍👩‍👧".into();
    }
    let mut broken = listed("half-copied.onnx", vec![], &[]);
    broken.found = Err(message!(
        "half-copied.onnx 不是 ONNX 模型，或已损坏：请重新导出模型",
        "half-copied.onnx is not an ONNX model, or a damaged one: export the model again"
    ));
    vec![
        listed("models/macbert-tone/model.onnx", vec![vectors(), Head::Classes(Some(3)), Head::Masks], &uses),
        listed("models/encoder/model.onnx", vec![vectors()], &[("near", Output::Embedding)]),
        listed("models/ner/model.onnx", vec![Head::Labels], &[]),
        listed("models/writer/decoder_model.onnx", vec![Head::Writes], &[]),
        odd,
        broken,
    ]
}

pub(super) fn ran() -> Ran {
    Ran { device: "cpu".into(), ..Ran::default() }
}

pub(super) fn guesses(tokens: &[(&str, f64)]) -> Vec<Guess> {
    tokens.iter().map(|(token, p)| Guess { token: (*token).to_owned(), p: *p }).collect()
}

pub(super) fn answer(question: &Question) -> Result<Answered> {
    let reply = match question {
        Question::Fill(text) => Reply::Fill(
            text.matches("[MASK]")
                .map(|_| {
                    guesses(&[
                        ("长", 0.8123),
                        ("加", 0.0931),
                        ("##幅", 0.0312),
                        ("快", 0.0150),
                        ("高", 0.0101),
                        ("速", 0.0077),
                        ("多", 0.0041),
                        ("\u{1b}[0m", 0.0020),
                        ("𠮷", 0.0011),
                        ("👨‍👩‍👧", 0.0006),
                    ])
                })
                .collect(),
        ),
        Question::Compare(_, b) if b == "空" => Reply::Compare(f64::NAN),
        Question::Compare(..) => Reply::Compare(0.8731),
        Question::Classify(text) if text == "坏" => {
            bail!(
                "models/macbert-tone/model.onnx 运行时失败：bad allocation",
                "models/macbert-tone/model.onnx failed while it ran: bad allocation"
            )
        }
        Question::Classify(_) => {
            Reply::Classify(vec![("利空".into(), 0.0712), ("中性".into(), 0.2155), ("利好".into(), 0.7133)])
        }
        Question::Names(_) => Reply::Names(vec![("ORG".into(), "瑞禾电气".into(), 0.991)]),
    };
    Ok(Answered { reply, ran: ran(), took: Duration::from_micros(18_400) })
}

pub(super) fn round(batch: usize, rate: f64, resident: f64) -> Round {
    let texts = 64;
    Round {
        batch,
        batches: texts / batch as u64,
        texts,
        tokens: 128 * texts,
        seconds: texts as f64 / rate,
        resident: Some((resident * 1e6) as u64),
    }
}

pub(super) fn rounds() -> Vec<Round> {
    [(1, 21.4, 912.0), (2, 33.8, 931.0), (4, 47.1, 988.0), (8, 58.9, 1_102.0), (16, 61.2, 1_340.0), (32, 59.0, 1_811.0)]
        .map(|(batch, rate, resident)| round(batch, rate, resident))
        .to_vec()
}

pub(super) fn onnx(models: impl Fn() -> Result<Vec<Listed>> + Send + Sync + 'static) -> OnnxBench {
    OnnxBench {
        machine: Arc::new(|| machine(Ok(library()))),
        models: Arc::new(move |_| models()),
        hash: Arc::new(|_| Ok("3f1c09".repeat(11)[..64].to_owned())),
        ask: Arc::new(|_, question, _| answer(question)),
        measure: Arc::new(|_, _, _, each| {
            rounds().iter().for_each(each);
            Ok(Metered { rounds: rounds(), ran: ran(), opened: Duration::from_millis(640), until: Until::Time })
        }),
        place: RuntimeParams::default(),
    }
}
