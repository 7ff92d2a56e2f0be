//! Figures by hand, and what is refused.

use chrono::NaiveDate;

use super::*;
use crate::extract::tests::Corpus;
use inkstone_base::data::{Key, Kind};
use inkstone_market::{LazyMarket, Security};
use inkstone_models::neural::FitParams;
use inkstone_models::textnet::TextNetParams;
use inkstone_models::{BoostParams, ClassParams, VectorizerParams, WalkForward, WordLimits};
use inkstone_text::DfLimit;

fn day(t: usize) -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, 1, 2).unwrap() + Days::new(t as u64)
}

fn code(i: usize) -> Code {
    Code::canonical(&format!("00000{i}.SZ"))
}

/// Closes and volumes of names 1, 2, ... by day, and the securities.
fn market(names: &[Vec<(f64, f64)>], securities: &[Security]) -> Market {
    let mut prices = "date,code,close,volume\n".to_owned();
    for (i, days) in names.iter().enumerate() {
        for (t, (close, volume)) in days.iter().enumerate() {
            prices += &format!("{},{},{close},{volume}\n", day(t), code(i + 1));
        }
    }
    Market::of_text(&prices, securities).unwrap()
}

fn of_day(target: &Target, market: &Market, t: usize) -> Vec<f64> {
    market_values(target, market).unwrap().row(t).to_vec()
}

fn about(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let same = (found - expected).abs() < 1e-12 || found.is_nan() && expected.is_nan();
        assert!(same, "{found} is not {expected}");
    }
}

fn closes(days: &[f64]) -> Vec<(f64, f64)> {
    days.iter().map(|close| (*close, 100.0)).collect()
}

#[test]
fn a_return_is_in_excess_of_nothing_the_market_the_industry_of_that_day_or_a_code() {
    let names: Vec<Vec<(f64, f64)>> = [
        [10.0, 11.0, 11.0],
        [10.0, 12.0, 15.0],
        [10.0, 9.0, 9.0],
        [10.0, 10.0, 10.0],
        [10.0, 13.0, 13.0],
        [10.0, 15.0, 15.0],
    ]
    .iter()
    .map(|days| closes(days))
    .collect();
    let industry =
        |i: usize, industry: &str| Security { industry: Some(industry.into()), ..Security::unnamed(code(i)) };
    let securities = [
        industry(1, "银行"),
        Security { to: Some(day(1)), ..industry(2, "银行") },
        Security { from: Some(day(1)), ..industry(2, "电力") },
        industry(3, "电力"),
        Security::unnamed(code(4)),
        industry(5, "电力"),
        industry(6, "煤炭"),
    ];
    let market = market(&names, &securities);
    let values = |excess: Excess, t| {
        let target = Target { delay: 0, price: Price::Close, horizon: 1, excess, ..Target::default() };
        of_day(&target, &market, t)
    };
    about(&values(Excess::None, 0), &[0.1, 0.2, -0.1, 0.0, 0.3, 0.5]);
    let mean = 1.0 / 6.0;
    about(&values(Excess::Market, 0), &[0.1 - mean, 0.2 - mean, -0.1 - mean, -mean, 0.3 - mean, 0.5 - mean]);
    // Banks 0.15, power 0.1; the fourth name has no industry, and the sixth is alone in its own.
    about(&values(Excess::Industry, 0), &[-0.05, 0.05, -0.2, f64::NAN, 0.2, f64::NAN]);
    // The second name has gone over to power: 0.25, 0 and 0.
    let mean = 0.25 / 3.0;
    about(&values(Excess::Industry, 1), &[f64::NAN, 0.25 - mean, -mean, f64::NAN, -mean, f64::NAN]);
    about(&values(Excess::Code(code(6)), 0), &[-0.4, -0.3, -0.6, -0.5, -0.2, 0.0]);
    about(&values(Excess::None, 2), &[f64::NAN; 6]);
}

#[test]
fn ranks_of_a_day_are_spread_over_its_securities_and_ties_share_theirs() {
    let names: Vec<Vec<(f64, f64)>> =
        [[10.0, 11.0], [10.0, 9.0], [10.0, 11.0], [10.0, 15.0]].iter().map(|days| closes(days)).collect();
    let market = market(&names, &[]);
    let target = Target { delay: 0, price: Price::Close, horizon: 1, ranked_by_day: true, ..Target::default() };
    for excess in [Excess::None, Excess::Market] {
        let target = Target { excess, ..target.clone() };
        // Ranks 2.5, 1, 2.5 and 4 of four.
        about(&of_day(&target, &market, 0), &[0.0, -0.375, 0.0, 0.375]);
        about(&of_day(&target, &market, 1), &[f64::NAN; 4]);
        assert_eq!(target.known_on(0, day(0).and_hms_opt(9, 0, 0).unwrap(), &market), 1);
    }
    let alone = self::market(&[closes(&[10.0, 11.0])], &[]);
    about(&of_day(&target, &alone, 0), &[0.0]);
}

#[test]
fn a_volatility_is_the_standard_deviation_of_daily_log_returns() {
    let market = market(&[closes(&[9.0, 10.0, 11.0, 10.0, 12.0]), closes(&[5.0; 5])], &[]);
    let target =
        |excess| Target { of: TargetOf::Volatility, price: Price::Close, horizon: 3, excess, ..Target::default() };
    // ln 1.1, ln 10/11 and ln 1.2: mean 0.0607738..., squares over 2.
    let of_three = 0.142_001_456_793_899_86;
    about(&of_day(&target(Excess::None), &market, 0), &[of_three, 0.0]);
    about(&of_day(&target(Excess::Market), &market, 0), &[of_three / 2.0, -of_three / 2.0]);
    about(&of_day(&target(Excess::None), &market, 1), &[f64::NAN; 2]);
    assert_eq!(target(Excess::None).known_on(0, day(0).and_hms_opt(9, 0, 0).unwrap(), &market), 4);
}

#[test]
fn a_volume_is_compared_with_that_of_the_twenty_days_before_the_document() {
    // Day 5 was without trade. The document of day 20 moves the volume of its own day, which counts on neither side.
    let mut days = vec![(10.0, 100.0); 24];
    days[5].1 = 0.0;
    for (t, volume) in [(20, 9000.0), (21, 300.0), (22, 500.0), (23, 0.0)] {
        days[t].1 = volume;
    }
    let market = market(&[days, vec![(10.0, 100.0); 24]], &[]);
    let values = |delay, horizon, t| {
        let target = Target { of: TargetOf::Volume, delay, horizon, excess: Excess::None, ..Target::default() };
        of_day(&target, &market, t)
    };
    about(&values(1, 1, 20), &[3f64.ln(), 0.0]);
    about(&values(1, 2, 20), &[4f64.ln(), 0.0]);
    about(&values(1, 3, 20), &[f64::NAN, 0.0]);
    about(&values(0, 1, 20), &[90f64.ln(), 0.0]);
    about(&values(1, 1, 19), &[f64::NAN; 2]);
    about(&values(-1, 1, 21), &[90f64.ln(), 0.0]);
    let target = Target { of: TargetOf::Volume, horizon: 1, ..Target::default() };
    assert_eq!(target.known_on(20, day(20).and_hms_opt(9, 0, 0).unwrap(), &market), 21);
    about(&of_day(&target, &market, 20), &[3f64.ln() / 2.0, -(3f64.ln()) / 2.0]);
}

#[test]
fn an_excess_is_written_as_a_word_or_a_code() {
    for text in ["none", "market", "industry", "000300.SH"] {
        let excess: Excess = text.parse().unwrap();
        assert_eq!(excess.to_string(), text);
    }
    assert_eq!("sh.000300".parse::<Excess>().unwrap().to_string(), "000300.SH");
    let error = "universe".parse::<Excess>().unwrap_err();
    assert!(error.contains("none of none, market and industry") && error.contains("000300.SH"), "{error}");
}

#[test]
fn a_market_that_lacks_what_a_target_needs_is_named() {
    let table = market(&[closes(&[10.0; 3])], &[]);
    let bare = Market::of_text("date,code,close\n2024-01-02,000001.SZ,1\n2024-01-03,000001.SZ,1\n", &[]).unwrap();
    let error_of = |target: Target, market: &Market| format!("{:#}", market_values(&target, market).unwrap_err());
    let close = || Target { price: Price::Close, ..Target::default() };
    for (target, market, words) in [
        (Target::default(), &table, "no column \"open\", which target.price names"),
        (Target { of: TargetOf::Volume, ..Target::default() }, &bare, "no column volume"),
        (Target { excess: Excess::Industry, ..close() }, &table, "no security has an industry"),
        (
            Target { excess: Excess::Code(code(9)), ..close() },
            &table,
            "\"000009.SZ\", of which the price table has no prices",
        ),
    ] {
        let error = error_of(target, market);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_target_that_a_model_cannot_learn_is_refused_by_name() {
    let labels = |n: usize| ClassParams {
        labels: ["利空", "中性", "利好"][..n].iter().map(|label| (*label).to_owned()).collect(),
        ..ClassParams::default()
    };
    let target_of = |of| Target { of, ..Target::default() };
    let feature = |model, target, classes| Feature { model, target, classes, ..Feature::default() };
    let none = ClassParams::default;
    let cases = [
        (feature(Model::Sestm, target_of(TargetOf::Volume), none()), "model = \"sestm\" learns from returns alone"),
        (feature(Model::Induced, target_of(TargetOf::Rating), none()), "learns from returns alone"),
        (feature(Model::Ridge, target_of(TargetOf::Label), labels(2)), "model = \"ridge\" learns numbers"),
        (feature(Model::Logistic, target_of(TargetOf::Label), none()), "needs the labels to be told apart"),
        (feature(Model::Logistic, target_of(TargetOf::Label), labels(1)), "is one class"),
        (
            feature(Model::Logistic, target_of(TargetOf::Rating), labels(2)),
            "classes.labels is for target.of = \"label\"",
        ),
        (feature(Model::Svm, target_of(TargetOf::Label), labels(3)), "set classes.calibrate"),
        (
            feature(Model::Bayes, Target { form: Some(LabelForm::Raw), ..Target::default() }, none()),
            "target.form is for",
        ),
        (
            feature(Model::Boosted, Target { form: Some(LabelForm::Raw), ..target_of(TargetOf::Label) }, labels(2)),
            "target.form is for",
        ),
        (feature(Model::Ridge, Target { latency_days: 3, ..Target::default() }, none()), "target.latency_days is for"),
        (
            feature(Model::Ridge, Target { horizon: 3, ..target_of(TargetOf::Number) }, none()),
            "target.horizon is for return",
        ),
        (
            feature(Model::Ridge, Target { excess: Excess::None, ..target_of(TargetOf::Rating) }, none()),
            "target.excess is for",
        ),
        (
            feature(Model::Ridge, Target { ranked_by_day: true, ..target_of(TargetOf::Number) }, none()),
            "target.ranked_by_day is for return",
        ),
        (feature(Model::Ridge, Target { horizon: 0, ..Target::default() }, none()), "target.horizon = 0"),
        (
            feature(Model::Ridge, Target { horizon: 1, ..target_of(TargetOf::Volatility) }, none()),
            "lasts 2 or more trading days",
        ),
        (
            feature(Model::Ridge, Target { price: Price::Close, ..target_of(TargetOf::Volume) }, none()),
            "target.price is for",
        ),
    ];
    for (feature, words) in cases {
        let error = format!("{:#}", feature.check().unwrap_err());
        assert!(error.contains(words), "{error}");
    }
    for model in [Model::Logistic, Model::Bayes, Model::Boosted, Model::Mlp, Model::TextCnn, Model::TextRnn] {
        let feature = feature(model, Target { latency_days: 2, ..target_of(TargetOf::Label) }, labels(3));
        feature.check().unwrap();
        assert_eq!(feature.columns(), ["score", "利空", "中性", "利好"]);
    }
    let two = feature(Model::Svm, target_of(TargetOf::Label), labels(2));
    two.check().unwrap();
    assert_eq!(two.columns(), ["score"], "the score of two labels says it all");
    feature(Model::Boosted, Target { form: Some(LabelForm::Ranked), ..target_of(TargetOf::Volatility) }, none())
        .check()
        .unwrap();
}

#[test]
fn reports_say_what_was_learned() {
    assert_eq!(
        Target::default().describe(),
        "return over 5 trading days from the open of day +1, less the mean of the market"
    );
    let volume = Target { of: TargetOf::Volume, horizon: 1, excess: Excess::None, ..Target::default() };
    assert_eq!(volume.describe(), "volume over 1 trading day from day +1");
    let ranked = Target { ranked_by_day: true, ..volume };
    assert_eq!(ranked.describe(), "volume over 1 trading day from day +1, ranked within the day");
    let label = Target { of: TargetOf::Label, latency_days: 2, ..Target::default() };
    assert_eq!(label.describe(), "label, known 2 days after the document");
}

const LABELS: [&str; 3] = ["利空", "中性", "利好"];
const BODIES: [&str; 3] = ["业绩下滑，亏损扩大。", "召开股东大会，审议议案。", "中标大单，订单增长。"];
const TEXTS: usize = 120;

/// The label of a text.
fn class_of(i: usize) -> usize {
    (i * 7 + i / 5) % 3
}

/// A market of 60 days and two texts a day that name no security. Text `i` has the label of its words, or the one of text `shuffled(i)`.
fn labelled(label_of: impl Fn(usize) -> Option<String>) -> Corpus {
    let mut corpus = Corpus::new(0);
    corpus.market = Some(LazyMarket::given(market(&[closes(&[10.0; TEXTS / 2])], &[])));
    let time = |i: usize| day(i / 2).and_hms_opt(9 + i as u32 % 2, 30, 0).unwrap();
    let texts: Vec<_> = (0..TEXTS).map(|i| (time(i), Kind::News, "要闻", BODIES[class_of(i)])).collect();
    corpus.put_labelled(&texts, &(0..TEXTS).map(label_of).collect::<Vec<_>>(), 25);
    corpus
}

fn planted(i: usize) -> Option<String> {
    (i % 11 != 4).then(|| format!(" {} ", LABELS[class_of(i)]))
}

/// A class that has nothing to do with the text.
fn chance(i: usize) -> usize {
    usize::from(Key::of(&i.to_le_bytes()).0[0] % 3)
}

fn shuffled(i: usize) -> Option<String> {
    Some(LABELS[chance(i)].to_owned())
}

fn classifier(model: Model) -> Feature {
    let fit = FitParams { epochs: 25, batch: 10, lr: 0.02, held_out_share: 0.0, ..FitParams::default() };
    Feature {
        name: "read".into(),
        model,
        target: Target { of: TargetOf::Label, latency_days: 2, ..Target::default() },
        classes: ClassParams { labels: LABELS.map(str::to_owned).to_vec(), ..ClassParams::default() },
        walk_forward: WalkForward { train_days: 20, test_days: 10, min_train_rows: 10, ..WalkForward::default() },
        tfidf: VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() },
        words: WordLimits { min_count: 1, max_words: 0 },
        boosted: BoostParams { trees: 20, max_depth: 2, ..BoostParams::default() },
        textnet: TextNetParams {
            dim: 4,
            widths: vec![1, 2],
            maps: 4,
            hidden: 4,
            dropout: 0.0,
            fit,
            ..TextNetParams::default()
        },
        ..Feature::default()
    }
}

/// Share of the tested texts whose most probable class is the true one.
fn right(rows: &[Vec<f32>], truth: fn(usize) -> usize) -> f64 {
    let tested: Vec<(usize, &Vec<f32>)> = rows.iter().enumerate().filter(|(_, row)| !row[0].is_nan()).collect();
    assert!(tested.len() >= TEXTS / 2, "{}", tested.len());
    let most_probable = |row: &[f32]| (0..3).max_by(|a, b| row[1 + a].total_cmp(&row[1 + b])).unwrap();
    tested.iter().filter(|(i, row)| most_probable(row) == truth(*i)).count() as f64 / tested.len() as f64
}

#[test]
fn labels_are_learned_of_texts_without_securities_and_shuffled_ones_teach_nothing() {
    for model in [Model::Logistic, Model::Bayes, Model::Boosted, Model::TextCnn, Model::TextRnn] {
        let corpus = labelled(planted);
        let (set, report) = corpus.run(&classifier(model));
        let rows = corpus.rows(set);
        assert_eq!(report.facts["target"], "label, known 2 days after the document");
        assert!(report.facts["with_target"].as_u64().unwrap() > 100, "{:?}", report.facts["with_target"]);
        assert!(rows[..40].iter().all(|row| row.iter().all(|value| value.is_nan())), "before the first test window");
        let found = right(&rows, class_of);
        assert!(found > 0.95, "{model:?}: {found}");
        for (i, row) in rows.iter().enumerate().skip(40) {
            let sum: f32 = row[1..].iter().sum();
            assert!((sum - 1.0).abs() < 1e-4, "{model:?} {row:?}");
            let lead = f64::from(row[0]);
            // The score is the log-odds of the last label against the first.
            assert!((lead - f64::from(row[3] / row[1]).ln()).abs() < 1e-2 * lead.abs().max(1.0), "{model:?} {row:?}");
            assert!(class_of(i) == 1 || (lead > 0.0) == (class_of(i) == 2), "{model:?} {i} {row:?}");
        }
        let corpus = labelled(shuffled);
        let noise = right(&corpus.rows(corpus.run(&classifier(model)).0), chance);
        assert!(noise < 0.5, "{model:?}: {noise}");
    }
}

#[test]
fn labels_that_become_known_later_change_no_score() {
    for model in [Model::Logistic, Model::TextCnn] {
        let rows = |label_of: &dyn Fn(usize) -> Option<String>| {
            let corpus = labelled(label_of);
            corpus.rows(corpus.run(&classifier(model)).0)
        };
        let bits = |rows: &[Vec<f32>]| -> Vec<u32> { rows.concat().iter().map(|value| value.to_bits()).collect() };
        let unchanged = rows(&planted);
        // The second window tests days 30 to 39. A text of day 28 is labelled two days later, in the window.
        let changed = rows(&|i| if i / 2 >= 28 { shuffled(i) } else { planted(i) });
        assert_eq!(bits(&unchanged[..80]), bits(&changed[..80]), "{model:?}");
        assert_ne!(bits(&unchanged[80..]), bits(&changed[80..]), "{model:?}");
        // A text of day 27 is labelled on day 29, at whose close the training data ends.
        let changed = rows(&|i| if i / 2 == 27 { shuffled(i + 2) } else { planted(i) });
        assert_eq!(bits(&unchanged[..60]), bits(&changed[..60]), "{model:?}");
        assert_ne!(bits(&unchanged[60..80]), bits(&changed[60..80]), "{model:?}");
    }
}

#[test]
fn numbers_and_ratings_are_values_of_ridge_and_of_trees() {
    let corpus = labelled(|i| Some(format!("{}", class_of(i) as f64 - 0.5)));
    for (model, form) in
        [(Model::Ridge, None), (Model::Ridge, Some(LabelForm::Raw)), (Model::Boosted, Some(LabelForm::Raw))]
    {
        let target = Target { of: TargetOf::Number, form, ..Target::default() };
        let feature = Feature { target, classes: ClassParams::default(), ..classifier(model) };
        let rows = corpus.rows(corpus.run(&feature).0);
        for (i, row) in rows.iter().enumerate().skip(40) {
            assert!((f64::from(row[0]) - (class_of(i) as f64 - 0.5)).abs() < 0.4, "{model:?} {i} {row:?}");
        }
    }
}

#[test]
fn a_corpus_without_the_target_is_refused_by_name() {
    let error_of = |corpus: &Corpus, feature: &Feature| format!("{:#}", corpus.try_run(feature).unwrap_err());
    let logistic = classifier(Model::Logistic);
    let bare = labelled(|_| None);
    let error = error_of(&bare, &logistic);
    assert!(error.contains("\"read\" learns a label") && error.contains("no document has a label"), "{error}");
    let number = Feature {
        target: Target { of: TargetOf::Number, ..Target::default() },
        classes: ClassParams::default(),
        ..classifier(Model::Ridge)
    };
    let error = error_of(&labelled(planted), &number);
    assert!(error.contains("has a number") && error.contains("\"利好\" ("), "{error}");
    let rating = Feature { target: Target { of: TargetOf::Rating, ..Target::default() }, ..number };
    assert!(error_of(&labelled(planted), &rating).contains("no document has a rating"));
    let other = ClassParams { labels: ["差", "好"].map(str::to_owned).to_vec(), ..ClassParams::default() };
    let error = error_of(&labelled(planted), &Feature { classes: other, ..logistic.clone() });
    assert!(error.contains("classes.labels = [\"差\", \"好\"]") && error.contains("\"中性\" ("), "{error}");
    // Networks say which label their windows lack.
    let ends = ClassParams { labels: ["下跌", "利好"].map(str::to_owned).to_vec(), ..ClassParams::default() };
    let mut network = Feature { classes: ends, ..classifier(Model::TextCnn) };
    network.walk_forward.min_train_rows = 5;
    let error = error_of(&labelled(planted), &network);
    assert!(error.contains("no document with the label \"下跌\""), "{error}");
    let mut without_prices = labelled(planted);
    without_prices.market = None;
    let error = error_of(&without_prices, &logistic);
    assert!(error.contains("learns a label") && error.contains("there is no price table"), "{error}");
}

#[test]
fn targets_equal_those_of_pandas() {
    #[derive(Deserialize)]
    struct Reference {
        #[serde(flatten)]
        target: Target,
        values: Vec<Vec<Option<f64>>>,
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/pandas/");
    let text = std::fs::read_to_string(format!("{folder}targets.json")).unwrap();
    let references: Vec<Reference> = serde_json::from_str(&text).unwrap();
    let prices = std::fs::read_to_string(format!("{folder}targets.csv")).unwrap();
    let until = Market::of_text(&prices, &[]).unwrap().dates()[25];
    let named = |i: usize| Code::canonical(&format!("{}.SH", 600_001 + i));
    let security =
        |i: usize, industry: &str| Security { industry: Some(industry.into()), ..Security::unnamed(named(i)) };
    let securities: Vec<Security> = (0..3)
        .flat_map(|i| {
            let (first, second) = (security(i, "a"), security(i, "b"));
            [Security { to: Some(until), ..first }, Security { from: Some(until), ..second }]
        })
        .chain((3..6).map(|i| security(i, "b")))
        .collect();
    let market = Market::of_text(&prices, &securities).unwrap();
    for Reference { target, values } in references {
        let found = market_values(&target, &market).unwrap();
        for (t, row) in values.iter().enumerate() {
            for (found, expected) in found.row(t).iter().zip(row) {
                let same = expected.map_or(found.is_nan(), |expected| (found - expected).abs() < 1e-12);
                assert!(same, "{target:?}, day {t}: {found} is not {expected:?}");
            }
        }
    }
}
