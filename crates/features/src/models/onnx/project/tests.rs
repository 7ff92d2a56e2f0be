use std::path::Path;

use chrono::{NaiveDate, NaiveDateTime};

use super::*;
use crate::extract::Model;
use crate::extract::tests::Corpus;
use inkstone_base::data::Kind;
use inkstone_onnx::OnnxParams;
use inkstone_onnx::testing::{graph, has_library, pair_model, with_weights_in_files};

fn feature(params: OnnxParams) -> Feature {
    let onnx = OnnxParams { fitted_until: NaiveDate::from_ymd_opt(2023, 12, 31), ..params };
    Feature { name: "bert".into(), model: Model::Onnx, onnx, ..Feature::default() }
}

fn bert() -> OnnxParams {
    OnnxParams { model: graph("bert"), batch_tokens: 64, ..OnnxParams::default() }
}

type Text = (NaiveDateTime, Kind, &'static str, &'static str);

fn texts() -> Vec<Text> {
    let day = |day| NaiveDate::from_ymd_opt(2024, 1, day).unwrap().and_hms_opt(10, 0, 0).unwrap();
    vec![
        (day(1), Kind::News, "", "公司订单增长。"),
        (day(2), Kind::Post, "", "公司订单增长。"),
        (day(3), Kind::News, "", "公司净利润同比下降，毛利率下滑，现金流为负。"),
        (day(4), Kind::News, "", ""),
        (day(5), Kind::News, "", "公司订单增长。"),
        (day(6), Kind::Report, "点评", "营业收入同比增长，费用下降。"),
    ]
}

#[test]
fn a_second_text_and_a_question_belong_to_what_a_set_is() {
    if !has_library() {
        return;
    }
    let corpus = Corpus::new(0);
    corpus.put(&texts(), 4);
    let model = |name: &str, output| OnnxParams { model: pair_model(name), batch_tokens: 64, output, ..bert() };
    let pair = |text: &str| OnnxParams { pair: Some(text.to_owned()), ..model("reranker", Output::Scores) };
    let (good, _) = corpus.run(&feature(pair("该消息利好公司股价。")));
    let (same, report) = corpus.run(&feature(pair("该消息利好公司股价。")));
    let (bad, _) = corpus.run(&feature(pair("该消息利空公司股价。")));
    assert!(good == same && good != bad);
    assert_eq!(report.facts["kept_from_before"], 6);
    assert!(corpus.rows(good)[0] != corpus.rows(bad)[0]);
    let labels = ["利好", "利空"].map(|label| (label.to_owned(), format!("该消息{label}公司股价。")));
    let labels = OnnxParams { labels: labels.into(), ..model("inference", Output::Scores) };
    let (shares, _) = corpus.run(&feature(labels));
    for row in corpus.rows(shares).iter().filter(|row| !row[0].is_nan()) {
        assert!((row[1] + row[2] - 1.0).abs() < 1e-6 && (row[0] - (row[1] - row[2])).abs() < 1e-6, "{row:?}");
    }
    let asked = OnnxParams { question: Some("增长多少？".into()), ..model("answers", Output::Answer) };
    let (answers, report) = corpus.run(&feature(asked.clone()));
    let rows = corpus.rows(answers);
    assert_eq!((rows[0].len(), report.rows_out), (4, 5));
    // Where the answer has no number, the row has its other figures.
    assert!(rows[0][0] > 0.0 && rows[0][2].is_nan() && rows[0][3].is_finite(), "{:?}", rows[0]);
    let other = OnnxParams { max_answer: 2, ..asked };
    assert_ne!(feature(other.clone()).identity(), feature(OnnxParams { max_answer: 3, ..other }).identity());
    let plain = feature(bert()).identity();
    assert!(["pair", "labels", "question", "max_answer"].iter().all(|name| plain["onnx"].get(name).is_none()));
    let none = feature(model("answers", Output::Answer));
    assert!(check(&none).unwrap_err().to_string().contains("onnx.question is missing"));
}

#[test]
fn the_same_text_has_the_same_row_and_what_is_not_read_has_none() {
    if !has_library() {
        return;
    }
    let corpus = Corpus::new(0);
    corpus.put(&texts(), 4);
    let mut feature = feature(bert());
    feature.kinds = vec![Kind::News, Kind::Report];
    let (set, report) = corpus.run(&feature);
    let rows = corpus.rows(set);
    assert_eq!(rows[0].len(), 16);
    assert!(rows[1][0].is_nan() && rows[3][0].is_nan());
    // The batches of another part move the last digits alone.
    assert!(rows[0].iter().zip(&rows[4]).all(|(a, b)| (a - b).abs() < 1e-5) && rows[0] != rows[2]);
    assert_eq!((report.rows_in, report.rows_out), (6, 4));
    assert_eq!(report.dropped["without text"], 1);
    assert_eq!(report.dropped["of a kind that is not read"], 1);
    assert_eq!(report.facts["ran"]["device"], "cpu");
    assert_eq!(report.facts["windows"], 4);
    let header = corpus.store.set(&set).unwrap().unwrap().header().clone();
    assert_eq!(header.spec.fitted_until.unwrap().to_string(), "2023-12-31 23:59:59");
    assert_eq!(header.meta["columns"][15], "c16");
    // Nothing is computed again, and nothing of the work is left.
    let (again, report) = corpus.run(&feature);
    assert_eq!((again, &report.facts["kept_from_before"]), (set, &6.into()));
    assert_eq!(corpus.store.stats().unwrap().other_bytes, 0);
}

#[test]
fn a_run_that_goes_on_computes_no_batch_again_and_ends_with_the_same_bytes() {
    if !has_library() {
        return;
    }
    let uninterrupted = Corpus::new(0);
    uninterrupted.put(&texts(), 6);
    let feature = feature(bert());
    let (set, _) = uninterrupted.run(&feature);

    let corpus = Corpus::new(0);
    corpus.put(&texts(), 6);
    corpus.ctx.cancel();
    assert!(corpus.try_run(&feature).unwrap_err().is::<inkstone_base::job::Cancelled>());
    // A run that was killed had kept the rows of the first batch, here with a mark in them.
    let header = uninterrupted.store.set(&set).unwrap().unwrap().header().clone();
    let params = json!([header.spec.params, "cpu"]);
    let windows = SetSpec { name: "bert (windows)".into(), params, ..header.spec.clone() };
    let (part, rows) = (header.batches[0].key, uninterrupted.rows(set));
    let put = |marked: f32| {
        let kept = corpus.store.writer(&windows).unwrap();
        let mut row = rows[2].clone();
        row[0] += marked;
        kept.put(batch_key(part, 0), &Rows::dense(vec![part], 16, row)).unwrap();
    };
    put(0.0);
    let corpus = Corpus { ctx: Ctx::new(2, 1).unwrap(), ..corpus };
    let (again, report) = corpus.run(&feature);
    assert_eq!(report.facts["windows_kept_from_before"], 1);
    let bits = |rows: Vec<Vec<f32>>| rows.concat().into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    assert_eq!((again, bits(corpus.rows(again))), (set, bits(rows.clone())));
    assert_eq!(corpus.store.stats().unwrap().other_bytes, 0);
}

#[test]
fn other_weights_are_another_model_wherever_they_lie() {
    if !has_library() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(with_weights_in_files(folder.path()) > 10);
    let corpus = Corpus::new(0);
    corpus.put(&texts(), 4);
    let params = OnnxParams { model: folder.path().to_owned(), ..bert() };
    let feature = feature(params.clone());
    let key = || params.files_key(Path::new("")).unwrap();
    let (before, of_files) = (corpus.run(&feature).0, key());
    assert_eq!((corpus.run(&feature).0, key()), (before, of_files));
    let uninterrupted = Corpus::new(0);
    uninterrupted.put(&texts(), 4);
    let (set, _) = uninterrupted.run(&self::feature(bert()));
    let bits = |rows: Vec<Vec<f32>>| rows.concat().into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    assert_eq!(bits(uninterrupted.rows(set)), bits(corpus.rows(before)), "the same weights in one file");
    // Another number in one of them.
    let weight = folder.path().join("weights/0");
    let mut bytes = std::fs::read(&weight).unwrap();
    bytes[400..404].copy_from_slice(&0.5f32.to_le_bytes());
    std::fs::write(&weight, &bytes).unwrap();
    let (after, report) = corpus.run(&feature);
    assert!(after != before && key() != of_files);
    assert_eq!(report.facts["kept_from_before"], 0, "no row of the old model is served");
}

#[test]
fn a_document_without_numbers_is_named_and_the_run_goes_on() {
    if !has_library() {
        return;
    }
    let corpus = Corpus::new(0);
    // The graph makes no number of a comma.
    let mut texts = texts();
    texts[2].3 = "净利润下降,毛利率下滑";
    corpus.put(&texts, 6);
    let nan = OnnxParams {
        model: graph("broken").join("nan.onnx"),
        tokenizer: graph("bert").join("tokenizer.json"),
        ..OnnxParams::default()
    };
    let (set, report) = corpus.run(&feature(nan));
    let without: Vec<usize> = (0..6).filter(|&i| corpus.rows(set)[i][0].is_nan()).collect();
    let named = report.facts["without_numbers"].as_array().unwrap().len();
    assert_eq!(without.len(), named + 1, "{without:?} {report:?}");
    assert!(report.dropped["for which the model gave values that are no numbers"] as usize == named && named > 0);
}

#[test]
fn a_model_counts_from_the_end_of_its_text_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut feature = feature(bert());
    feature.onnx.fitted_until = None;
    let error = format!("{:#}", seen_until(&feature, dir.path()).unwrap_err());
    assert!(error.contains("onnx.fitted_until is missing"), "{error}");
    feature.onnx.model = "own".into();
    std::fs::create_dir(dir.path().join("own")).unwrap();
    std::fs::write(dir.path().join("own/config.json"), "{\"fitted_until\":\"2020-05-06T07:08:09\"}").unwrap();
    assert_eq!(seen_until(&feature, dir.path()).unwrap().to_string(), "2020-05-06 07:08:09");
    feature.onnx.fitted_until = NaiveDate::from_ymd_opt(2020, 5, 7);
    assert_eq!(seen_until(&feature, dir.path()).unwrap().to_string(), "2020-05-07 23:59:59");
    feature.onnx.fitted_until = NaiveDate::from_ymd_opt(2020, 5, 5);
    let error = format!("{:#}", seen_until(&feature, dir.path()).unwrap_err());
    assert!(error.contains("own was trained on text until 2020-05-06 07:08:09: leave it out"), "{error}");
    let error = Feature { model: Model::Onnx, ..Feature::default() }.check().unwrap_err().to_string();
    assert!(error.contains("onnx.model is missing"), "{error}");
}

#[test]
fn settings_that_came_later_leave_the_identity_as_it_was() {
    let known = json!({
        "model": "m", "tokenizer": "", "fitted_until": "2023-12-31", "output": "embedding", "pooling": "mean", "layers": "last",
        "activation": "auto", "normalise": false, "max_tokens": 0, "stride": 0, "over_windows": "mean", "compose": 0,
        "batch_tokens": 0,
    });
    let plain = OnnxParams { model: "m".into(), ..OnnxParams::default() };
    let identity = |params: OnnxParams| feature(params).identity()["onnx"].to_string();
    assert_eq!(identity(plain.clone()), known.to_string());
    let as_before = OnnxParams { pooling: Some("mean".parse().unwrap()), normalise: Some(false), ..plain.clone() };
    assert_eq!(identity(as_before), known.to_string());
    for other in [
        OnnxParams { prompt: Some("query".into()), ..plain.clone() },
        OnnxParams { dim: 8, ..plain.clone() },
        OnnxParams { normalise: Some(true), ..plain.clone() },
    ] {
        assert_ne!(identity(other), known.to_string());
    }
}

#[test]
fn a_published_folder_is_used_as_it_says_and_the_report_tells_it() {
    if !has_library() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    for name in ["onnx", "1_Pooling"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::copy(graph("bert/model.onnx"), folder.path().join("onnx/model.onnx")).unwrap();
    for name in ["config.json", "tokenizer.json"] {
        std::fs::copy(graph("bert").join(name), folder.path().join(name)).unwrap();
    }
    let corpus = Corpus::new(0);
    corpus.put(&texts(), 4);
    let params = OnnxParams { model: folder.path().to_owned(), ..bert() };
    let (plain, report) = corpus.run(&feature(params.clone()));
    assert_eq!((&report.facts["ran"]["file"], report.facts["ran"].get("used")), (&json!("onnx/model.onnx"), None));
    put(
        "modules.json",
        r#"[{"path": "", "type": "sentence_transformers.models.Transformer"},
            {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#,
    );
    put("1_Pooling/config.json", r#"{"word_embedding_dimension": 16, "pooling_mode_cls_token": true}"#);
    put("config_sentence_transformers.json", r#"{"prompts": {"query": "公告："}}"#);
    let (published, report) = corpus.run(&feature(params.clone()));
    let used = ["pooling = cls: 1_Pooling/config.json", "normalise = true: modules.json (2_Normalize)"];
    assert_eq!(report.facts["ran"]["used"], json!(used));
    let note = SetMeta::read(corpus.store.set(&published).unwrap().unwrap().header()).unwrap();
    assert_eq!(note.ran.unwrap()["used"], json!(used), "the manifest takes it from here");
    let length = |row: &[f32]| row.iter().map(|value| value * value).sum::<f32>().sqrt();
    assert!((length(&corpus.rows(published)[0]) - 1.0).abs() < 1e-5);
    assert!((length(&corpus.rows(plain)[0]) - 1.0).abs() > 0.1);
    // A prompt, or fewer values, make another set.
    let asked = OnnxParams { prompt: Some("query".into()), dim: 5, ..params };
    let (prompted, report) = corpus.run(&feature(asked));
    assert!(prompted != published && corpus.rows(prompted)[0].len() == 5);
    let used_device = report.facts["ran"]["used"].to_string();
    assert!(
        used_device.contains("dim = 5") && used_device.contains("config_sentence_transformers.json (query)"),
        "{used_device}"
    );
}
