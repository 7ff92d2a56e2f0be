use chrono::NaiveDate;

use super::*;
use crate::extract::Model;
use crate::extract::tests::Corpus;
use inkstone_base::data::Kind;
use inkstone_models::VectorizerParams;
use inkstone_store::Values;
use inkstone_text::DfLimit;

type Text = (NaiveDateTime, Kind, &'static str, &'static str);

/// Four texts a day for four weeks from a Monday: three of buybacks and one of orders; on the last day one of something else.
fn texts() -> Vec<Text> {
    const BODIES: [&str; 4] = [
        "控股股东拟回购股份，回购价格不高。",
        "公司回购股份方案获通过。",
        "公司订单饱满，产能利用率提升。",
        "回购股份，回购方案公告。",
    ];
    let day =
        |day: u64, hour| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().and_hms_opt(hour, 0, 0).unwrap() + Days::new(day);
    let mut texts: Vec<Text> = (0..28)
        .flat_map(|number| BODIES.iter().zip(9..).map(move |(body, hour)| (day(number, hour), Kind::News, "", *body)))
        .collect();
    texts.push((day(27, 20), Kind::News, "", "公司订单大幅增长，海外产能扩张，股份质押。"));
    texts
}

fn words() -> Feature {
    // The vocabulary is that of the first week, so that later documents change no row.
    Feature {
        name: "weights".into(),
        model: Model::Tfidf,
        tfidf: VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() },
        fit_until: NaiveDate::from_ymd_opt(2024, 1, 7),
        ..Feature::default()
    }
}

fn themes() -> Feature {
    let clusters =
        ClusterSettings { k: 2, min_train_documents: 10, refit_days: 7, share_days: 7, ..ClusterSettings::default() };
    Feature {
        name: "themes".into(),
        model: Model::Clusters,
        inputs: vec!["weights".into()],
        clusters,
        ..Feature::default()
    }
}

fn run(corpus: &mut Corpus, texts: &[Text], feature: &Feature) -> (Vec<Vec<f32>>, Report, SetMeta) {
    corpus.put(texts, 10);
    let (words, _) = corpus.run(&words());
    corpus.sets.insert("weights".into(), words);
    let (set, report) = corpus.run(feature);
    let set = corpus.store.set(&set).unwrap().unwrap();
    let rows = set.batches().flat_map(|rows| match rows.unwrap().values {
        Values::Dense { dim, data } => data.chunks(dim).map(<[f32]>::to_vec).collect::<Vec<_>>(),
        Values::Sparse { .. } => panic!("the set is sparse"),
    });
    (rows.collect(), report, SetMeta::read(set.header()).unwrap())
}

#[test]
fn documents_of_a_theme_lie_together_and_its_share_is_counted_over_the_days_before() {
    let (rows, report, meta) = run(&mut Corpus::new(0), &texts(), &themes());
    assert!(rows[..28].iter().flatten().all(|value| value.is_nan()), "the first week has nothing before it");
    let theme = |row: &[f32]| row[..2].iter().position(|share| *share == 1.0).unwrap();
    let orders = theme(&rows[30]);
    for (number, row) in rows.iter().enumerate().take(112).skip(28) {
        assert_eq!((theme(row) == orders, row[0] + row[1]), (number % 4 == 2, 1.0), "{number}: {row:?}");
        // Over seven days before there are 28 documents, a quarter of them of orders.
        let expected = if number % 4 == 2 { 0.25 } else { 0.75 };
        assert!((row[3] - expected).abs() < 0.01, "{number}: {row:?}");
        assert!(row[2] < 0.8, "{row:?}");
    }
    assert!(rows[112][2] > rows[30][2], "a text unlike all before it is farther from its theme");
    assert_eq!((report.rows_out, &report.facts["models"]), (85, &3.into()));
    let themes = meta.themes.unwrap();
    let words = themes[orders]["words"].to_string();
    assert!(words.contains("订单") && !words.contains("回购"), "{themes}");
    assert_eq!(meta.columns, ["t1", "t2", "distance", "share"]);
}

#[test]
fn later_texts_and_threads_change_no_value_of_a_theme() {
    let texts = texts();
    let bits = |rows: &[Vec<f32>]| rows.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
    let all = run(&mut Corpus::new(0), &texts, &themes()).0;
    for threads in [1, 8] {
        let mut corpus = Corpus::new(0);
        corpus.ctx = Ctx::new(threads, 1).unwrap();
        assert_eq!(bits(&run(&mut corpus, &texts, &themes()).0), bits(&all));
    }
    for kept in [40, 60, 90] {
        let some = run(&mut Corpus::new(0), &texts[..kept], &themes()).0;
        assert_eq!(bits(&some), bits(&all[..kept]), "{kept}");
    }
}

#[test]
fn soft_memberships_sum_to_one_and_wrong_settings_name_themselves() {
    let mut soft = themes();
    soft.clusters.softness = 0.5;
    let rows = run(&mut Corpus::new(0), &texts(), &soft).0;
    assert!(rows[40][0] > 0.0 && rows[40][1] > 0.0 && (rows[40][0] + rows[40][1] - 1.0).abs() < 1e-6, "{:?}", rows[40]);
    let refused = |change: &dyn Fn(&mut Feature)| {
        let mut feature = themes();
        change(&mut feature);
        feature.check().unwrap_err().to_string()
    };
    assert!(refused(&|feature| feature.inputs.clear()).contains("inputs = [\"lsa\"]"));
    assert!(refused(&|feature| feature.inputs = vec!["words".into()]).contains("a feature of tfidf"));
    assert!(refused(&|feature| feature.clusters.k = 1).contains("feature.clusters.k: 1 is out of bounds"));
}
