//! Screens of the page: invented models of every sort, and the demonstration model in the library itself.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{anyhow, bail};
use ratatui::layout::{Position, Rect};

use super::invented::{invented, library, listed, machine, onnx, round, tensor, vectors};
use super::{OnnxBench, Pane};
use crate::bench::{Bench, LARGE, SMALL, empty};
use crate::page_state::PageState;
use crate::{Language, Start, UnknownLibrary, Workspace};
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::message;
use inkstone_onnx::runtime::Machine;
use inkstone_onnx::testing::{has_library, opening};
use inkstone_onnx::{Device, OnnxParams, Output, Probe, Sample, WordCutter, meter, models};

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
        let error = || {
            message!(
                "本机没有版本 1.24 或更高的 ONNX Runtime 代码库（/usr/lib/libonnxruntime.so.1.17.1 是 ONNX Runtime 1.17.1，低于所需的 1.24）：`inkstone doctor --fix` 可安装合适的",
                "there is no ONNX Runtime library of version 1.24 or later on this machine (/usr/lib/libonnxruntime.so.1.17.1 is ONNX Runtime 1.17.1, older than 1.24, which this program needs): `inkstone doctor --fix` installs one that fits"
            )
        };
        w.onnx.as_mut().unwrap().machine = Arc::new(move || machine(Err(error())));
    });
    insta::assert_snapshot!("no_library", bench.screen(SMALL, ""));
    insta::assert_snapshot!("no_library_large_english", bench.screen(LARGE, "L"));
    assert_eq!(bench.app.command(), "inkstone doctor --fix");
    bench.press("m/");
    assert!(!bench.app.typing(), "without a library nothing can be asked");
}

#[test]
fn a_library_that_the_configuration_names_is_agreed_to_by_nothing_but_y() {
    let agreed = Arc::new(AtomicUsize::new(0));
    let runs = Arc::new(AtomicUsize::new(0));
    let open = |changed: bool, start: Start| {
        let (agreed, runs) = (agreed.clone(), runs.clone());
        Bench::open(&empty(), move |w| {
            let agree = Arc::new(move || {
                agreed.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            w.unknown_library =
                Some(UnknownLibrary { file: "/data/someone/desk/lib/libonnxruntime.so.1.31.1".into(), changed, agree });
            w.start = start;
            w.run = Arc::new(move |_| {
                runs.fetch_add(1, Ordering::SeqCst);
                Ok(Vec::new())
            });
        })
    };
    let count = |of: &Arc<AtomicUsize>| of.load(Ordering::SeqCst);
    insta::assert_snapshot!("unknown_library", open(false, Start::Browse).screen(SMALL, ""));
    let english = |w: &mut Bench| w.app.language = Language::En;
    let mut bench = open(false, Start::Browse);
    english(&mut bench);
    insta::assert_snapshot!("unknown_library_narrow_english", bench.screen((60, 16), ""));
    let mut bench = open(true, Start::Browse);
    english(&mut bench);
    assert!(bench.screen(SMALL, "").contains("has changed since you"));
    for keys in ["n", "<enter>n", "<esc>", "q", "<ctrl-c>"] {
        let mut bench = open(false, Start::Run);
        let ran = count(&runs);
        assert_eq!(count(&agreed), 0);
        assert!(!bench.app.busy(), "the run waits for the answer");
        bench.press(keys);
        bench.finish();
        assert_eq!((count(&agreed), count(&runs)), (0, ran + 1), "{keys}");
    }
    let mut bench = open(false, Start::Run);
    assert!(bench.screen(SMALL, "<enter>").contains("y 是"), "Enter answers nothing");
    bench.press("y");
    bench.finish();
    assert_eq!(count(&agreed), 1);
    assert!(!bench.screen(SMALL, "4").contains("y 是"));
}

#[test]
fn a_device_is_told_with_what_it_lacks() {
    let with = |lacks: Vec<Message>| {
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
    let lacking = with(vec![Message::same("libcudnn.so.9")]);
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
        bench.screen(
            LARGE,
            "L/<backspace><backspace><backspace><backspace><backspace><backspace>[MASK]，订单饱[MASK]<enter>"
        )
    );
    let command = bench.app.command();
    let wanted = "printf '%s\\n' '瑞禾电气净利润同比增[MASK]，订单饱[MASK]' | inkstone eval --model \
                  /home/li/demo/models/macbert-tone/model.onnx --input - --format text --task fill-mask --headless";
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
    assert!(
        bench.screen(SMALL, "/<backspace><backspace><backspace><backspace><backspace>空<enter>").contains("没有余弦")
    );
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
    assert!(bench.screen(SMALL, "/<backspace> <enter>").contains("请输入一句话"));
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
    assert_eq!((bench.app.onnx.table.line(), bench.app.onnx.inside), (2, false));
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
    let mut again = super::OnnxPage::default();
    again.recall(&memory);
    assert_eq!(again.remember(), memory, "what is not there yet is not forgotten");
    bench.app.at_desk(|desk| again.reload(desk));
    bench.app.onnx = again;
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("2 / 6"), "{screen}");
    assert_eq!((bench.app.onnx.typed.as_str(), bench.app.onnx.length), ("公司|股东", 2));
    let mut odd = super::OnnxPage::default();
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

#[test]
fn nothing_is_looked_for_before_the_page_is_shown() {
    let mut bench = Bench::open(&empty(), |w| {
        let mut onnx = onnx(|| panic!("models were looked for"));
        onnx.machine = Arc::new(|| panic!("the library was loaded"));
        w.onnx = Some(onnx);
    });
    bench.press("1r");
    bench.finish();
    assert!(bench.app.onnx.machine.is_none() && bench.app.onnx.models.is_none());
    let screen = bench.screen(SMALL, "4");
    assert!(screen.contains("内部错误：the library was loaded"), "{screen}");
    assert!(screen.contains("内部错误：models were looked for"), "{screen}");
}

/// The page on a model that is there, in the library that is there.
#[test]
fn the_demonstration_model_is_shown_asked_and_measured() {
    if !has_library() {
        return;
    }
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets");
    let features = vec![(
        "tone".to_owned(),
        OnnxParams { model: "model".into(), output: Output::Scores, ..OnnxParams::default() },
    )];
    let probe = Arc::new(Probe::default());
    let mut bench = Bench::open(&empty(), |w| {
        w.onnx = Some(OnnxBench {
            models: Arc::new(move |ctx| models(&base, &features, ctx)),
            ask: Arc::new(move |listed, question, ctx| {
                probe.ask(listed, question, &|| Ok(WordCutter::Spaces), &opening(), ctx)
            }),
            measure: Arc::new(|listed, length, ctx, each| {
                let sample = Sample::Tokens(length.unwrap_or(16));
                meter(listed, &sample, Duration::ZERO, (&|| Ok(WordCutter::Spaces), &opening()), ctx, each)
            }),
            ..onnx(|| bail!("other models are listed"))
        });
        w.language = Language::En;
    });
    let listed = bench.screen(LARGE, "4");
    for said in [
        "model/model.onnx",
        "embed classify",
        "545,290",
        "1,400",
        "negative neutral positive",
        "mlm_logits",
        "[batch, sequence, 1400]",
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
