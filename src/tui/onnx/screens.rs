//! Screens of the page: invented models of every sort, and the demonstration model in the library itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use ratatui::layout::{Position, Rect};

use super::{OnnxBench, Pane};
use crate::job::Ctx;
use crate::model::onnx::runtime::{Candidate, Library, Machine};
use crate::model::onnx::testing::opening;
use crate::model::onnx::{
    Answered, Description, Device, Guess, Head, Header, Listed, Metered, OnnxParams, Output, Probe, Question, Ran,
    Reply, Round, RuntimeParams, Sample, Size, TensorInfo, Until, Vocabulary, Words, meter, models,
};
use crate::tui::bench::{Bench, LARGE, SMALL, empty};
use crate::tui::page::PageState;
use crate::tui::{Language, Workspace};

fn machine(library: Result<Library, String>) -> Machine {
    let there = library.is_ok();
    Machine {
        cores: 8,
        library,
        places: vec![Candidate {
            file: "/home/li/.local/share/inkstone/runtime/onnxruntime/capi/libonnxruntime.so.1.31.1".into(),
            from: "the runtime folder",
            named: false,
        }],
        cuda_lacks: there
            .then(|| vec!["libonnxruntime_providers_cuda.so (the library is the one for processors alone)".into()]),
        devices: Vec::new(),
    }
}

fn library() -> Library {
    let file = "/home/li/.local/share/inkstone/runtime/onnxruntime/capi/libonnxruntime.so.1.31.1";
    Library { file: file.into(), version: "1.31.1".into() }
}

fn tensor(name: &str, element: &'static str, shape: &[&str]) -> TensorInfo {
    let size = |size: &&str| size.parse().map_or_else(|_| Size::Named((*size).to_owned()), Size::Fixed);
    TensorInfo { name: name.to_owned(), element, shape: shape.iter().map(size).collect() }
}

/// A model with these heads, used by these features.
fn listed(file: &str, heads: Vec<Head>, uses: &[(&str, Output)]) -> Listed {
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
        beside: Vec::new(),
    };
    Listed {
        file: Path::new("/work-of-li").join(file),
        shown: file.to_owned(),
        uses: uses.iter().map(use_of).collect(),
        found: Ok(Description {
            header,
            bytes: 409_070_592,
            heads,
            family: "bert".into(),
            limit: Some(512),
            labels: if classes { ["利空", "中性", "利好"].map(str::to_owned).to_vec() } else { Vec::new() },
            vocabulary: Some(Ok(Vocabulary { size: 21_128, mask: Some("[MASK]".into()), pad: Some(0) })),
        }),
    }
}

fn vectors() -> Head {
    Head::Vectors { size: Some(768), layers: 13 }
}

/// A model of each sort; the last two cannot be read, one of them by its tokenizer alone.
fn invented() -> Vec<Listed> {
    let uses = [("tone", Output::Scores), ("vector", Output::Embedding)];
    let mut odd = listed("models/odd/model.onnx", vec![vectors()], &[]);
    if let Ok(found) = &mut odd.found {
        found.vocabulary =
            Some(Err("there is no tokenizer in models/odd: neither tokenizer.json nor vocab.txt".into()));
        found.header.outputs[0].name = "名\u{1b}[31m\u{202e}字𠮷👨‍👩‍👧".into();
    }
    let mut broken = listed("half-copied.onnx", vec![], &[]);
    broken.found = Err("half-copied.onnx is no ONNX model, or a damaged one: export the model again".into());
    vec![
        listed("models/macbert-tone/model.onnx", vec![vectors(), Head::Classes(Some(3)), Head::Masks], &uses),
        listed("models/encoder/model.onnx", vec![vectors()], &[("near", Output::Embedding)]),
        listed("models/ner/model.onnx", vec![Head::Labels], &[]),
        listed("models/writer/decoder_model.onnx", vec![Head::Writes], &[]),
        odd,
        broken,
    ]
}

fn ran() -> Ran {
    Ran { device: "cpu".into(), ..Ran::default() }
}

fn guesses(tokens: &[(&str, f64)]) -> Vec<Guess> {
    tokens.iter().map(|(token, p)| Guess { token: (*token).to_owned(), p: *p }).collect()
}

fn answer(question: &Question) -> Result<Answered> {
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
            bail!("models/macbert-tone/model.onnx failed while it ran: bad allocation")
        }
        Question::Classify(_) => {
            Reply::Classify(vec![("利空".into(), 0.0712), ("中性".into(), 0.2155), ("利好".into(), 0.7133)])
        }
        Question::Names(_) => Reply::Names(vec![("ORG".into(), "瑞禾电气".into(), 0.991)]),
    };
    Ok(Answered { reply, ran: ran(), took: Duration::from_micros(18_400) })
}

fn round(batch: usize, rate: f64, resident: f64) -> Round {
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

fn rounds() -> Vec<Round> {
    [(1, 21.4, 912.0), (2, 33.8, 931.0), (4, 47.1, 988.0), (8, 58.9, 1_102.0), (16, 61.2, 1_340.0), (32, 59.0, 1_811.0)]
        .map(|(batch, rate, resident)| round(batch, rate, resident))
        .to_vec()
}

fn onnx(models: impl Fn() -> Result<Vec<Listed>> + Send + Sync + 'static) -> OnnxBench {
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

fn bench(change: impl FnOnce(&mut Workspace)) -> Bench {
    let mut bench = Bench::open(&empty(), |workspace| {
        workspace.onnx = Some(onnx(|| Ok(invented())));
        change(workspace);
    });
    bench.press("4");
    bench
}

#[test]
fn models_stand_above_their_tensors() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("tensors", bench.screen(SMALL, ""));
    insta::assert_snapshot!("tensors_large_english", bench.screen(LARGE, "L"));
    insta::assert_snapshot!("tokenizer_missing", bench.screen(SMALL, "Ljjjj"));
    insta::assert_snapshot!("damaged", bench.screen(SMALL, "j"));
    insta::assert_snapshot!("damaged_large_english", bench.screen(LARGE, "L"));
}

#[test]
fn what_is_not_there_is_told_with_the_way_out() {
    let mut bench = bench(|w| w.onnx = None);
    assert!(bench.screen(SMALL, "").contains("在有 workbench.toml 的文件夹里打开"));
    let mut bench = self::bench(|w| w.onnx = Some(onnx(|| Ok(Vec::new()))));
    insta::assert_snapshot!("empty", bench.screen(SMALL, ""));
    assert!(bench.screen(LARGE, "L").contains("There are no models"));
    assert_eq!(bench.app.command(), "inkstone doctor --headless");
    // Keys that need a model do nothing.
    bench.screen(SMALL, "m/v<enter>t");
    assert!(!bench.app.typing() && bench.app.onnx.pane == Pane::Tensors);
    let mut bench = self::bench(|w| w.onnx = Some(onnx(|| bail!("feature \"tone\": no such folder"))));
    assert!(bench.screen(SMALL, "").contains("✗ feature \"tone\": no such folder"));
    let mut bench = self::bench(|w| {
        let error = "there is no ONNX Runtime library of version 1.24 or later on this machine (/usr/lib/libonnxruntime.so.1.17.1 is \
                     ONNX Runtime 1.17.1, older than 1.24, which this program needs): `inkstone doctor --fix` installs one that fits";
        w.onnx.as_mut().unwrap().machine = Arc::new(move || machine(Err(error.to_owned())));
    });
    insta::assert_snapshot!("no_library", bench.screen(SMALL, ""));
    insta::assert_snapshot!("no_library_large_english", bench.screen(LARGE, "L"));
    assert_eq!(bench.app.command(), "inkstone doctor --fix");
    bench.press("m/");
    assert!(!bench.app.typing(), "without a library nothing can be asked");
}

#[test]
fn a_device_is_told_with_what_it_lacks() {
    let with = |lacks: Vec<String>| {
        let mut bench = bench(|w| {
            let bench = w.onnx.as_mut().unwrap();
            bench.place.device = Device::Cuda(0);
            bench.machine = Arc::new(move || Machine {
                cuda_lacks: Some(lacks.clone()),
                devices: vec!["NVIDIA H100 80GB HBM3".into()],
                ..machine(Ok(library()))
            });
        });
        bench.screen(LARGE, "")
    };
    assert!(with(Vec::new()).contains("cpu 8 核 · 配置 cuda:0 · ✓ CUDA cuda:0 NVIDIA H100 80GB HBM3"));
    let lacking = with(vec!["libcudnn.so.9".into()]);
    assert!(
        lacking.contains("✗ CUDA cuda:0 NVIDIA H100 80GB HBM3 → inkstone doctor --fix --cuda · 缺 libcudnn.so.9"),
        "{lacking}"
    );
}

#[test]
fn masks_are_filled_in() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("ask_hints", bench.screen(SMALL, "vv"));
    insta::assert_snapshot!("ask_typing", bench.screen(SMALL, "/瑞禾电气净利润同比增[MASK]"));
    insta::assert_snapshot!("filled", bench.screen(SMALL, "<enter>"));
    insta::assert_snapshot!(
        "filled_twice_large_english",
        bench.screen(LARGE, "L/<back><back><back><back><back><back>[MASK]，订单饱[MASK]<enter>")
    );
    let command = bench.app.command();
    let wanted = "printf '%s\\n' '瑞禾电气净利润同比增[MASK]，订单饱[MASK]' | inkstone eval --model \
                  /work-of-li/models/macbert-tone/model.onnx --input - --format text --task fill-mask --headless";
    assert_eq!(command, wanted);
    let table = bench.app.at_desk(|desk| bench.app.onnx.table(desk)).unwrap();
    assert_eq!((table.rows.len(), &table.rows[10]), (20, &["2".into(), "长".into(), "0.8123".into()].to_vec()));
    // Three masks and more: as many as there is room for.
    let more = bench.screen(SMALL, "L/[MASK][MASK][MASK]<enter>");
    assert!(more.contains("+2 处掩码放不下"), "{more}");
}

#[test]
fn a_model_answers_with_what_it_can() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("classified", bench.screen(SMALL, "/瑞禾电气订单饱满<enter>"));
    assert!(bench.app.command().contains("| inkstone embed --model") && bench.app.command().contains("--read scores"));
    let compared = bench.screen(SMALL, "/ | 净利润增长<enter>");
    assert!(compared.contains("余弦 +0.8731"), "{compared}");
    assert!(bench.app.command().contains("'瑞禾电气订单饱满\t净利润增长' | inkstone eval"), "{}", bench.app.command());
    assert!(bench.screen(SMALL, "/<back><back><back><back><back>空<enter>").contains("没有余弦"));
    // The encoder has no head for masks and says so; it compares.
    bench.press("<esc>j");
    assert!(!bench.screen(SMALL, "").contains("余弦 +"), "the answer was another model's");
    bench.app.onnx.typed.clear();
    assert!(bench.screen(SMALL, "/公司[MASK]增长<enter>").contains("写两句，中间用 | 隔开"));
    insta::assert_snapshot!("no_mask_head", bench.screen(SMALL, "/|公司增长<enter>"));
    bench.press("<esc>j");
    assert!(bench.screen(SMALL, "/<enter>").contains("瑞禾电气"), "names");
    bench.press("<esc>j");
    assert!(!bench.app.onnx.can_run(), "a decoder reads nothing by itself");
    assert!(bench.screen(SMALL, "").contains("这个模型是解码器"));
}

#[test]
fn an_answer_that_fails_is_told() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("ask_failed", bench.screen(SMALL, "/坏<enter>"));
    assert!(bench.screen(SMALL, "/<back> <enter>").contains("请输入一句话"));
    let long = "研".repeat(400_000);
    bench.app.onnx.typed = long;
    bench.screen(SMALL, "/");
    let typing = bench.screen(SMALL, "<enter>");
    assert!(typing.contains("利好"), "a text of a megabyte is a text: {typing}");
}

#[test]
fn speed_is_measured_by_batch_size() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("meters_hint_english", bench.screen(SMALL, "Lv"));
    insta::assert_snapshot!("meters", bench.screen(SMALL, "Lttm"));
    insta::assert_snapshot!("meters_large_english", bench.screen(LARGE, "Lt"));
    let table = bench.app.at_desk(|desk| bench.app.onnx.table(desk)).unwrap();
    assert_eq!((table.rows[0][0].as_str(), table.header[1].as_str()), ("1", "texts/s"));
    bench.press("<esc>j");
    assert!(bench.screen(SMALL, "").contains("Press m to run"), "another model was not measured");
    let table = bench.app.at_desk(|desk| bench.app.onnx.table(desk)).unwrap();
    assert_eq!((table.rows.len(), table.rows[0][8].len()), (6, 64), "the list of models, with whole hashes");
}

#[test]
fn a_measurement_that_lasts_is_stopped_by_esc() {
    let mut bench = bench(|w| {
        w.onnx.as_mut().unwrap().measure = Arc::new(|_, _, ctx: &Ctx, each| {
            each(&round(1, 21.4, 912.0));
            loop {
                ctx.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    });
    bench.press_at_once("m");
    bench.take_until(|app| app.onnx.measured.values().any(|measured| !measured.rounds.is_empty()));
    insta::assert_snapshot!("measuring", bench.picture(SMALL));
    bench.press_at_once("<esc>");
    let stopped = bench.screen(SMALL, "");
    assert!(stopped.contains("■ 已停止 · 语料") && stopped.contains("21.4"), "{stopped}");
    let mut bench = self::bench(|w| w.onnx.as_mut().unwrap().measure = Arc::new(|_, _, _, _| bail!("bad allocation")));
    assert!(bench.screen(SMALL, "m").contains("✗ bad allocation"));
}

#[test]
fn the_view_scrolls_and_the_mouse_goes_where_it_is_pressed() {
    let mut bench = bench(|w| {
        w.onnx.as_mut().unwrap().models = Arc::new(|_| {
            let mut models = invented();
            let found = models[0].found.as_mut().map_err(|error| anyhow!("{error}"))?;
            found.header.outputs =
                (0..40).map(|i| tensor(&format!("hidden_states.{i}"), "fp32", &["b", "s", "8"])).collect();
            Ok(models)
        });
    });
    let end = bench.screen(SMALL, "<enter>G");
    assert!(end.contains("hidden_states.39") && end.contains(" 43/43 ") && !end.contains("input_ids"), "{end}");
    assert!(bench.screen(SMALL, "g").contains("input_ids"));
    bench.press("<esc>");
    let area = Rect::new(0, 1, 80, 21);
    let at_desk = |bench: &mut Bench, at: Position| {
        let mut onnx = std::mem::take(&mut bench.app.onnx);
        bench.app.at_desk(|desk| onnx.click(at, area, desk));
        bench.app.onnx = onnx;
    };
    at_desk(&mut bench, Position::new(5, 7));
    assert_eq!((bench.app.onnx.cursor.at, bench.app.onnx.inside), (2, false));
    at_desk(&mut bench, Position::new(5, 20));
    assert!(bench.app.onnx.inside);
    at_desk(&mut bench, Position::new(5, 0));
    assert!(bench.app.onnx.inside, "no line is there");
}

#[test]
fn the_next_session_begins_where_this_one_was() {
    let mut bench = bench(|_| ());
    bench.press("jvvtt");
    bench.press("/公司|股东<enter>");
    let memory = bench.app.onnx.remember();
    let mut bench = self::bench(|_| ());
    let mut again = super::Onnx::default();
    again.recall(&memory);
    assert_eq!(again.remember(), memory, "what is not there yet is not forgotten");
    bench.app.at_desk(|desk| again.reload(desk));
    bench.app.onnx = again;
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("2 / 6"), "{screen}");
    assert_eq!((bench.app.onnx.typed.as_str(), bench.app.onnx.length), ("公司|股东", 2));
    let mut odd = super::Onnx::default();
    odd.recall(&serde_json::json!({"view": 7, "length": 99, "model": null}));
    assert_eq!((odd.pane, odd.length), (Pane::Tensors, 0));
}

#[test]
fn models_that_come_later_keep_the_one_that_is_marked() {
    let mut bench = bench(|w| {
        let calls = std::sync::atomic::AtomicUsize::new(0);
        w.onnx.as_mut().unwrap().models = Arc::new(move |_| {
            let mut models = invented();
            if calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0 {
                models.insert(0, listed("a-new-one.onnx", vec![vectors()], &[]));
            }
            Ok(models)
        });
    });
    assert!(bench.screen(SMALL, "j").contains("2 / 6"));
    bench.press("1r");
    bench.finish();
    assert!(bench.screen(SMALL, "4").contains("3 / 7"));
}

/// The page on a model that is there, in the library that is there.
#[test]
fn the_demonstration_model_is_shown_asked_and_measured() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let features = vec![(
        "tone".to_owned(),
        OnnxParams { model: "model".into(), output: Output::Scores, ..OnnxParams::default() },
    )];
    let probe = Arc::new(Probe::default());
    let mut bench = Bench::open(&empty(), |w| {
        w.onnx = Some(OnnxBench {
            models: Arc::new(move |ctx| models(&base, &features, ctx)),
            ask: Arc::new(move |listed, question, ctx| {
                probe.ask(listed, question, &|| Ok(Words::Spaces), &opening(), ctx)
            }),
            measure: Arc::new(|listed, length, ctx, each| {
                let sample = Sample::Tokens(length.unwrap_or(16));
                meter(listed, &sample, Duration::ZERO, (&|| Ok(Words::Spaces), &opening()), ctx, each)
            }),
            ..onnx(|| bail!("other models are listed"))
        });
        w.language = Language::En;
    });
    let listed = bench.screen(LARGE, "4");
    for said in [
        "model/model.onnx",
        "vec class mask",
        "531,859",
        "1,296",
        "negative neutral positive",
        "mlm_logits",
        "[batch, sequence, 1296]",
    ] {
        assert!(listed.contains(said), "{said}: {listed}");
    }
    let filled = bench.screen(LARGE, "/公司净利[MASK]同比增长<enter>");
    assert!(filled.contains("润 ") && filled.contains("cpu · "), "{filled}");
    let measured = bench.screen(LARGE, "m");
    assert!(measured.contains("✓ time limit · cpu"), "{measured}");
    assert!(!bench.app.waiting());
}

#[test]
fn no_key_breaks_any_size() {
    for size in [(60, 16), SMALL, (109, 20), (110, 20), LARGE, (300, 90), (1, 1)] {
        let mut bench = bench(|_| ());
        bench.screen(size, "");
        for key in [
            "j", "G", "v", "<enter>", "m", "j", "<pgdn>", "G", "v", "/", "公", "[MASK]", "|", "<enter>", "t", "<esc>",
            "g", "v", "b", "L", "?", "<esc>", "<esc>", "m", "/", "<esc>", "jjjj", "/", "k",
        ] {
            bench.screen(size, key);
        }
    }
}
