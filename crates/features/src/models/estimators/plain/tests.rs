use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::fitted::Opened;
use crate::fitted::{EvalParams, Fitted, Rows};
use crate::lines::{Line, LineFormat};
use inkstone_models::{BayesForm, Explanation, FoldsBy, Unit};
use inkstone_text::{DfLimit, TokenizerParams};

const GOOD: [&str; 4] = ["订单 增长", "业绩 提升", "中标 大单", "回购 股份"];
const BAD: [&str; 4] = ["业绩 下滑", "立案 调查", "亏损 扩大", "股东 减持"];
const DULL: [&str; 4] = ["会议 召开", "人员 变动", "地址 变更", "公告 更正"];

/// Ninety invented lines: three classes, in turn; a group and a day for each three.
fn corpus() -> String {
    (0..90)
        .map(|i| {
            let (label, words) = [("利好", GOOD), ("利空", BAD), ("中性", DULL)][i % 3];
            let text = format!("{} 今日 {} {}", words[i % 4], words[(i / 3) % 4], ["公司", "行业"][i % 2]);
            let value = [1.0, -1.0, 0.0][i % 3] + 0.1 * (i % 5) as f64;
            format!(
                "{{\"text\":\"{text}\",\"label\":\"{label}\",\"value\":{value},\"group\":{},\"time\":\"2024-01-{:02}\"}}\n",
                i / 3,
                1 + i / 3
            )
        })
        .collect()
}

fn lines(text: &str) -> Lines {
    Lines::new(std::io::Cursor::new(text.as_bytes().to_vec()), LineFormat::Jsonl)
}

fn cutter() -> Cutter {
    Cutter::new(CutSpec::new(LineFormat::Jsonl, TokenizerParams::default()), Path::new("")).unwrap()
}

fn params(method: Method) -> ClassifyParams {
    let estimator = EstimatorParams { method, ..EstimatorParams::default() };
    let vectorizer = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    ClassifyParams { estimator, vectorizer, ..ClassifyParams::default() }
}

fn trained(text: &str, params: &ClassifyParams, threads: usize) -> Result<(Classifier, Report)> {
    train(&mut lines(text), &cutter(), params, &Ctx::new(threads, 5).unwrap())
}

fn refused(text: &str, params: &ClassifyParams) -> String {
    format!("{:#}", trained(text, params, 1).err().expect("it is refused"))
}

/// Saves a model and opens it again.
fn saved(model: &Classifier) -> (tempfile::TempDir, PathBuf, Opened<Classifier, Analyzer>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.bin");
    model.save(&path, cutter().spec()).unwrap();
    let fitted = open(&ModelFile::open(&path).unwrap(), &cutter()).unwrap();
    (dir, path, fitted)
}

fn line(text: &str) -> Line<'_> {
    Line { number: 1, text: text.into(), ..Line::default() }
}

fn sum(explanation: &Explanation) -> f64 {
    explanation.intercept + explanation.terms.iter().map(|part| part.value).sum::<f64>()
}

#[test]
fn a_saved_model_says_the_same_and_takes_its_scores_apart() {
    let mut all: Vec<ClassifyParams> =
        [Method::Logistic, Method::Bayes, Method::Svm, Method::Boosted, Method::Mlp].map(params).into();
    all[3].estimator.boosted.trees = 20;
    (all[4].estimator.mlp.batch, all[4].estimator.mlp.learning_rate) = (20, 0.01);
    let mut complement = params(Method::Bayes);
    complement.estimator.bayes.form = BayesForm::Complement;
    complement.calibrate = CalibrationForm::Isotonic;
    all.push(complement);
    for params in all {
        let (model, report) = trained(&corpus(), &params, 2).unwrap();
        assert_eq!(report.facts["classes"], json!({"中性": 30, "利好": 30, "利空": 30}));
        assert_eq!(report.facts["fitted_until"], "2024-01-30T23:59:59");
        let (_dir, path, fitted) = saved(&model);
        let good = line("订单增长，业绩提升");
        let Rows::Table { texts, numbers } = fitted.rows(std::slice::from_ref(&good)).unwrap() else {
            panic!("a classifier gives a table")
        };
        assert_eq!(texts, ["利好"], "{params:?}");
        let has_p = model.estimator.link != inkstone_models::Link::Margin || model.estimator.is_calibrated();
        assert_eq!(numbers.len(), if has_p { 6 } else { 3 });
        if has_p {
            assert!((numbers[3..].iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let explanation = fitted.explain(&good, Some("利空")).unwrap();
        assert!((sum(&explanation) - explanation.score).abs() < 1e-12 && explanation.score < 0.0, "{explanation:?}");
        let best = fitted.explain(&good, None).unwrap();
        assert!(best.of.unwrap().starts_with("利好") && best.score > 0.0);
        let unknown = fitted.explain(&good, Some("狂喜")).unwrap_err().to_string();
        assert!(unknown.contains("it knows 中性, 利好, 利空"), "{unknown}");
        let bytes = |threads: usize| {
            let other = path.with_extension(threads.to_string());
            trained(&corpus(), &params, threads).unwrap().0.save(&other, cutter().spec()).unwrap();
            std::fs::read(other).unwrap()
        };
        let one = bytes(1);
        assert!(one == bytes(2) && one == bytes(8) && one == std::fs::read(&path).unwrap(), "{params:?}");
    }
}

#[test]
fn a_model_is_measured_on_labels_it_knows_and_others() {
    let (model, _) = trained(&corpus(), &params(Method::Logistic), 1).unwrap();
    let (_dir, _, fitted) = saved(&model);
    let ctx = Ctx::new(2, 1).unwrap();
    let (figures, report) = fitted.evaluate(&mut lines(&corpus()), &EvalParams::default(), &ctx).unwrap();
    assert_eq!((figures["documents"].as_u64(), figures["accuracy"].as_f64()), (Some(90), Some(1.0)));
    assert_eq!(figures["confusion"], json!([[30, 0, 0], [0, 30, 0], [0, 0, 30]]));
    assert_eq!(figures["probabilities"]["auc"], 1.0);
    assert_eq!(report.rows_out, 90);
    let strange =
        "{\"text\":\"订单增长\",\"label\":\"利好\"}\n{\"text\":\"未见\",\"label\":\"奇\"}\n{\"text\":\"无\"}\n";
    let (figures, report) = fitted.evaluate(&mut lines(strange), &EvalParams::default(), &ctx).unwrap();
    assert_eq!((figures["accuracy"].as_f64(), &figures["probabilities"]), (Some(0.5), &Value::Null));
    assert_eq!(figures["classes"][3]["label"], "奇");
    assert_eq!(report.dropped["without what is to be learned"], 1);
}

#[test]
fn calibration_folds_and_the_choice_of_a_penalty_are_reported() {
    let mut params = params(Method::Svm);
    params.calibrate = CalibrationForm::Sigmoid;
    params.penalties = vec![0.1, 1.0, 1e6];
    params.folds = Some(FoldParams { folds: 3, by: FoldsBy::Group, embargo_days: 0 });
    params.vectorizer.analyzer = Unit::Char;
    params.vectorizer.ngram_range = (1, 2);
    let (model, report) = trained(&corpus(), &params, 2).unwrap();
    assert!(model.estimator.is_calibrated());
    assert_eq!(report.facts["grid"].as_array().unwrap().len(), 3);
    assert!(params.penalties.contains(&report.facts["penalty"].as_f64().unwrap()));
    assert_eq!(report.facts["cross_validation"]["documents"], 90);
    assert_eq!(report.facts["cross_validation"]["probabilities"], Value::Null, "margins are no probabilities");
    assert!(report.facts["calibration"]["probabilities"]["log_loss"].as_f64().unwrap() < 0.5);
    let mut by_time = self::params(Method::Logistic);
    by_time.folds = Some(FoldParams { folds: 3, by: FoldsBy::Time, embargo_days: 1 });
    by_time.label_days = 2;
    let (_, report) = trained(&corpus(), &by_time, 2).unwrap();
    // Two days of three documents before each later fold, three after each earlier one (two of label, one of embargo).
    assert_eq!(report.facts["purged"], 3 * (2 + 2) + 3 * (3 + 3));
}

#[test]
fn sets_of_labels_and_values_are_learned_too() {
    let text: String = (0..60)
        .map(|i| {
            let (word, labels) =
                [("订单增长", "[\"利好\",\"公司\"]"), ("指数下滑", "[\"利空\"]"), ("公司公告", "[\"公司\"]")][i % 3];
            format!("{{\"text\":\"{word}\",\"labels\":{labels}}}\n")
        })
        .collect();
    let (model, report) = trained(&text, &params(Method::Logistic), 2).unwrap();
    assert_eq!(report.facts["classes"], json!({"公司": 40, "利好": 20, "利空": 20}));
    let (_dir, _, fitted) = saved(&model);
    let Rows::Table { texts, .. } = fitted.rows(&[line("订单增长"), line("指数下滑")]).unwrap() else {
        panic!()
    };
    assert_eq!(texts, ["公司|利好", "利空"]);
    let split = ClassifyParams { learn: Some(Learn::Labels), ..params(Method::Logistic) };
    let bars = text.replace("\"labels\":[\"利好\",\"公司\"]", "\"label\":\"利好|公司\"");
    let (model, _) = trained(&bars, &split, 2).unwrap();
    assert_eq!(model.estimator.task.names(), ["公司", "利好", "利空"]);

    let (model, report) = trained(&corpus(), &params(Method::Ridge), 2).unwrap();
    assert_eq!(report.facts["classes"], json!({}));
    let (_dir, _, fitted) = saved(&model);
    let explanation = fitted.explain(&line("业绩下滑，立案调查"), None).unwrap();
    assert!(explanation.score < -0.3 && (sum(&explanation) - explanation.score).abs() < 1e-12);
    let ctx = Ctx::new(1, 1).unwrap();
    let (figures, _) = fitted.evaluate(&mut lines(&corpus()), &EvalParams::default(), &ctx).unwrap();
    assert!(figures["r2"].as_f64().unwrap() > 0.8, "{figures:?}");
}

#[test]
fn what_cannot_be_learned_is_refused_with_the_way_out() {
    let plain = params(Method::Logistic);
    assert!(refused("{\"text\":\"一\"}\n", &plain).contains("give each line a \"label\""));
    assert!(refused("", &plain).contains("the input is empty"));
    let same = "{\"text\":\"订单增长\",\"label\":1}\n{\"text\":\"业绩提升\",\"label\":1}\n";
    assert!(refused(same, &plain).contains("all rows are of one class (\"1\")"));
    let lone = corpus() + "{\"text\":\"奇闻\",\"label\":\"奇\"}\n";
    let folded = ClassifyParams { folds: Some(FoldParams::default()), ..plain.clone() };
    let ungrouped = lone.replace("\"group\"", "\"other\"");
    let message = refused(&ungrouped, &folded);
    assert!(message.contains("class \"奇\" has 1 row, and needs 2") && message.contains("leave it out"), "{message}");
    assert!(refused(&lone, &folded).contains("90 of 91 lines have a group"));
    let timeless =
        ClassifyParams { folds: Some(FoldParams { by: FoldsBy::Time, ..FoldParams::default() }), ..plain.clone() };
    assert!(refused(&corpus().replace("\"time\"", "\"other\""), &timeless).contains("need the time of each row"));
    let values = ClassifyParams { calibrate: CalibrationForm::Sigmoid, ..params(Method::Ridge) };
    assert!(refused(&corpus(), &values).contains("values have no probabilities"));
    let empty = ClassifyParams {
        vectorizer: VectorizerParams { min_df: DfLimit::Count(1000), ..VectorizerParams::default() },
        ..plain
    };
    assert!(refused(&corpus(), &empty).contains("lower min_df"));
}

#[test]
fn a_model_of_another_kind_or_version_is_told_apart() {
    let (model, _) = trained(&corpus(), &params(Method::Bayes), 1).unwrap();
    let (_dir, path, _) = saved(&model);
    let file = ModelFile::open(&path).unwrap();
    assert_eq!(file.header().kind, "bayes");
    assert!(is_kind("bayes") && !is_kind("ngram"));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let damaged = ModelFile::open(&path).and_then(|file| Classifier::read(&file)).err().unwrap().to_string();
    assert!(damaged.contains("damaged"), "{damaged}");
}
