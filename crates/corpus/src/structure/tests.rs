//! The stage on hand-made rows, on random corpora cut short, and on a small generated market.

use std::path::Path;

use chrono::{Duration, NaiveDateTime};
use proptest::prelude::*;

use super::*;
use crate::clean::clean_to_frame;
use inkstone_base::data::{Document, Key, Kind};

const LAW: &str = "本报告仅供本公司客户使用，不构成任何投资建议。";
const VIEW: &str = "我们认为公司渠道下沉的成效将在年内体现。";

fn at(day: i64, hour: i64) -> NaiveDateTime {
    let first: NaiveDateTime = "2024-01-01T00:00:00".parse().unwrap();
    first + Duration::days(day) + Duration::hours(hour)
}

fn report(id: &str, time: NaiveDateTime, org: &str, body: &str) -> CleanDocument {
    CleanDocument {
        document: Document {
            doc_id: id.into(),
            kind: Kind::Report,
            title: format!("研究报告{id}"),
            body: body.into(),
            source: "desk".into(),
            org: Some(org.into()),
            published_at: time,
            ..Document::default()
        },
        text: Key::of(body.as_bytes()),
        first_mention: id.into(),
        similarity: 0.0,
    }
}

/// Output of the stage.
struct StageOutput {
    sentences: Vec<Vec<Sentence>>,
    list: Vec<Boilerplate>,
    list_bytes: Vec<u8>,
    report: Report,
    parts: Vec<Vec<u8>>,
}

impl StageOutput {
    /// Rows of the documents in which a sentence of this section is marked.
    fn marked(&self) -> Vec<usize> {
        (0..self.sentences.len()).filter(|&i| self.sentences[i].iter().any(|s| s.boilerplate)).collect()
    }
}

fn find(parts: &[&[CleanDocument]], params: &Params, decisions: &str, threads: usize) -> StageOutput {
    let dir = tempfile::tempdir().unwrap();
    let (clean, out) = (Parts::new(dir.path().join("clean")), Parts::new(dir.path().join("structure")));
    for (i, part) in parts.iter().enumerate() {
        clean.write(i, &mut clean_to_frame(part).unwrap()).unwrap();
    }
    // A part of an earlier, longer run.
    out.write(9, &mut table::sentences_to_frame(&[]).unwrap()).unwrap();
    let mut params = params.clone();
    if !decisions.is_empty() {
        params.decisions = Some("boilerplate.toml".into());
        std::fs::write(dir.path().join("boilerplate.toml"), decisions).unwrap();
    }
    let ctx = Ctx::new(threads, 0).unwrap();
    let tokenizer = TokenizerParams { mode: inkstone_text::Mode::Char, ..TokenizerParams::default() };
    let report =
        ctx.stage("structure", "docs", None, || run(&clean, &out, &params, &tokenizer, dir.path(), &ctx)).unwrap();
    assert_eq!(ctx.progress().stages()[0].done, report.rows_in);
    let files = out.files().unwrap();
    assert_eq!(files.len(), parts.len());
    StageOutput {
        sentences: files.iter().flat_map(|file| sentences_of_part(file).unwrap()).collect(),
        list: read_list(&boilerplate_of(&out)).unwrap(),
        list_bytes: std::fs::read(boilerplate_of(&out)).unwrap(),
        report,
        parts: files.iter().map(|file| std::fs::read(file).unwrap()).collect(),
    }
}

/// Three documents make boilerplate, in whatever share.
fn quick() -> Params {
    Params { min_documents: 3, min_share: 0.0, ..Params::default() }
}

#[test]
fn boilerplate_is_marked_only_in_documents_after_it_was_known() {
    let body = |i: i64| format!("公司第{i}批产品已交付客户。\n{LAW}");
    // The parts are not in the order of time; documents 2 and 3 are of one moment, the one that makes it known.
    let days = [4, 0, 2, 2, 1, 3];
    let docs: Vec<CleanDocument> = days
        .iter()
        .enumerate()
        .map(|(i, &day)| report(&format!("{i}"), at(day, 9), "远山证券", &body(i as i64)))
        .collect();
    let found = find(&[&docs[..2], &docs[2..]], &quick(), "", 2);
    assert_eq!(found.marked(), [0, 5]);
    let [row] = &found.list[..] else { panic!("{:?}", found.list) };
    assert_eq!((row.text.as_str(), row.documents, row.share, row.status), (LAW, 6, 1.0, Status::Proposed));
    assert_eq!((row.first_seen, row.known_from), (at(0, 9), at(2, 9)));
    assert_eq!((row.publisher.as_deref(), row.id.len()), (Some("远山证券"), 10));
    let law = found.sentences[0].last().unwrap();
    assert_eq!((law.section, law.boilerplate), (Section::Disclaimer, true));
    assert_eq!(&full_text(&docs[0])[law.range.start as usize..law.range.end as usize], LAW);
    let ids = |text| ids_of(&docs[0].document, text, law.section, &quick());
    assert!(ids(LAW).contains(&row.id), "a sentence leads to its row of the list");
    assert!(!ids(VIEW).contains(&row.id) && ids("短。").is_empty());
    assert_eq!(found.report.facts["boilerplate_sentences"], 2);
    assert_eq!(found.report.facts["sentences"], 18);
    assert!(law.salience.tfidf.is_nan() && law.salience.novelty.is_nan());
}

#[test]
fn repeats_ratings_other_kinds_and_other_publishers_make_no_boilerplate() {
    let rating = "我们维持公司“买入”评级，目标价不变。";
    let mut docs = Vec::new();
    for i in 0..6 {
        docs.push(report(&format!("repeat{i}"), at(i, 1), "甲", VIEW));
        docs.push(report(&format!("rating{i}"), at(i, 2), "乙", rating));
        docs.push(report(&format!("news{i}"), at(i, 3), "丙", LAW));
        docs.push(report(
            &format!("spread{i}"),
            at(i, 4),
            &format!("{i}号机构"),
            "本栏目文章均由机构研究部独立撰写完成。",
        ));
    }
    for doc in &mut docs {
        if doc.document.doc_id.starts_with("repeat") {
            doc.first_mention = "repeat0".into();
        }
        if doc.document.doc_id.starts_with("news") {
            doc.document.kind = Kind::News;
        }
    }
    let found = find(&[&docs], &quick(), "", 1);
    assert_eq!((found.marked().len(), found.list.len()), (0, 0), "{:?}", found.list);
    // What many publishers write is everybody's.
    let wide = Params { min_publishers: 4, min_documents_across: 5, ..quick() };
    let found = find(&[&docs], &wide, "", 1);
    assert_eq!(found.list.len(), 1);
    assert_eq!((found.list[0].publisher.as_deref(), found.list[0].documents), (None, 6));
    assert_eq!(found.marked(), [23]);
    let all = find(&[&docs], &Params { kinds: Vec::new(), ..quick() }, "", 1);
    assert!(all.list.iter().any(|row| row.publisher.as_deref() == Some("丙")));
}

#[test]
fn a_sentence_needs_its_share_of_the_publishers_documents() {
    let mut docs = Vec::new();
    for i in 0..40 {
        let more = if i % 2 == 1 { VIEW } else { "" };
        docs.push(report(&format!("{i}"), at(i, 1), "甲", &format!("今日第{i}号事项说明。\n{more}\n{LAW}")));
    }
    let share = |min_share| {
        let found = find(&[&docs], &Params { min_share, min_documents: 3, ..Params::default() }, "", 1);
        found.list.into_iter().map(|row| row.text).collect::<Vec<_>>()
    };
    // It stands in 20 of 39; less two standard errors that is 11.
    assert_eq!(share(0.3), [LAW]);
    assert_eq!(share(0.25), [LAW, VIEW]);
}

#[test]
fn the_user_refuses_and_adds() {
    let docs: Vec<CleanDocument> = (0..6)
        .map(|i| report(&format!("{i}"), at(i, 9), "远山证券", &format!("扫码加入第{i}群。\n公司发布新品。\n{LAW}")))
        .collect();
    let id = find(&[&docs], &quick(), "", 1).list[0].id.clone();
    let decisions = format!(
        "refused = [\"{id}\", \"gone\"]\n[[add]]\npattern = \"^扫码\"\nfrom = 2024-01-03\n[[add]]\ntext = \"公司发布新品\"\n\
         from = 2024-01-01T00:00:00\npublisher = \"近水证券\"\n"
    );
    let found = find(&[&docs], &quick(), &decisions, 1);
    assert_eq!(found.list[0].status, Status::Refused);
    assert_eq!(found.report.facts["decisions_without_a_sentence"], serde_json::json!(["gone"]));
    // The third day is known at its end: the pattern holds from the fourth on.
    assert_eq!(found.marked(), [3, 4, 5]);
    assert!(found.sentences[3].iter().filter(|s| s.boilerplate).all(|s| s.range.start == 14));
    let accepted = find(&[&docs], &quick(), &format!("accepted = [\"{id}\"]"), 1);
    assert_eq!((accepted.list[0].status, accepted.marked()), (Status::Accepted, vec![3, 4, 5]));
}

#[test]
fn salience_is_as_in_its_formulas() {
    let salience = vec![Measure::Tfidf, Measure::Novelty, Measure::Textrank];
    let params = Params { salience, novelty_days: 10, ..Params::default() };
    let mut docs = vec![
        report("a", at(0, 1), "甲", "增长增长"),
        report("b", at(1, 1), "甲", "增长回购"),
        report("c", at(1, 1), "甲", "增长回购"),
        report("d", at(20, 1), "甲", "增长增长"),
        report("e", at(0, 2), "甲", ""),
    ];
    docs.iter_mut().for_each(|doc| doc.document.title.clear());
    let found = find(&[&docs], &params, "", 1);
    let salience = |row: usize| found.sentences[row][0].salience;
    // Nothing was published before the first.
    assert_eq!((salience(0).tfidf, salience(0).novelty), (1.0, 1.0));
    // Two documents before, one of which has two of the four characters.
    let (n, rare, common) = (3.0f64, 3.0f64.ln() + 1.0, (3.0f64 / 2.0).ln() + 1.0);
    assert!((f64::from(salience(1).tfidf) - (rare + common) / 2.0).abs() < 1e-6, "{n} {:?}", salience(1));
    assert_eq!(
        (salience(2).tfidf, salience(2).novelty),
        (salience(1).tfidf, 1.0),
        "documents of one moment do not see each other"
    );
    // It was told, but more than ten days ago.
    assert_eq!(salience(3).novelty, 1.0);
    let near = find(&[&docs], &Params { novelty_days: 20, ..params }, "", 1);
    assert_eq!(near.sentences[3][0].salience.novelty, 0.0);
    assert!((salience(0).textrank - 0.15).abs() < 1e-6, "one sentence alone");
    assert!(found.sentences[4].is_empty());
    assert!(found.report.facts["novelty_collisions"].as_f64().unwrap() < 0.001);
}

/// Documents of a few sentences that recur, published here and there.
fn corpus() -> impl Strategy<Value = Vec<CleanDocument>> {
    let document = (0i64..30, 0usize..3, proptest::collection::vec(0usize..8, 1..5), any::<bool>());
    proptest::collection::vec(document, 2..24).prop_map(|documents| {
        let sentences = [
            LAW,
            VIEW,
            "未经书面许可，任何机构不得以任何形式翻版、复制本报告。",
            "公司在手订单充足，产能利用率处于高位。",
            "风险提示：需求不及预期；原材料价格上涨。",
            "截至2024年3月5日，公司总股本为5.2亿股。",
            "短句。",
            "公司渠道库存回到合理水平，动销好于同业。",
        ];
        let build = |(i, (day, org, which, first)): (usize, (i64, usize, Vec<usize>, bool))| {
            let body: Vec<&str> = which.iter().map(|&s| sentences[s]).collect();
            let mut doc = report(&format!("{i}"), at(day, 9), ["甲", "乙", "丙"][org], &body.join("\n"));
            if !first {
                doc.first_mention = "0".into();
            }
            doc
        };
        documents.into_iter().enumerate().map(build).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn later_documents_change_nothing(docs in corpus(), until in 0i64..30) {
        let salience = vec![Measure::Tfidf, Measure::Novelty, Measure::Textrank];
        let params = Params { min_documents: 2, min_share: 0.2, min_publishers: 2, min_documents_across: 3, salience, ..Params::default() };
        let all = find(&[&docs], &params, "", 1);
        let early: Vec<CleanDocument> = docs.iter().filter(|d| d.document.published_at <= at(until, 9)).cloned().collect();
        let prefix = find(&[&early], &params, "", 1);
        let mut kept = docs.iter().zip(&all.sentences).filter(|(d, _)| d.document.published_at <= at(until, 9));
        for sentences in &prefix.sentences {
            prop_assert_eq!(sentences, kept.next().unwrap().1);
        }
        // What was known by then is in the list of all, known since the same time.
        for row in &prefix.list {
            let same = all.list.iter().find(|other| other.id == row.id).unwrap();
            prop_assert_eq!((row.known_from, row.first_seen, &row.text), (same.known_from, same.first_seen, &same.text));
        }
    }

    #[test]
    fn threads_and_parts_change_nothing(docs in corpus(), cut in 0usize..24) {
        let salience = vec![Measure::Tfidf, Measure::Novelty, Measure::Textrank];
        let params = Params { min_documents: 2, salience, ..quick() };
        let cut = cut.min(docs.len());
        let one = find(&[&docs], &params, "", 1);
        let two = find(&[&docs], &params, "", 2);
        prop_assert_eq!((&one.parts, &one.list_bytes), (&two.parts, &two.list_bytes));
        let split = find(&[&docs[..cut], &docs[cut..]], &params, "", 2);
        prop_assert_eq!((one.sentences, one.list_bytes), (split.sentences, split.list_bytes));
    }

    #[test]
    fn sections_are_whole_sentences_in_order(text in "[公司。！？；\n（）“”：风险提示核心观点免责声明买入维持评级一、1.0-9]{0,80}|\\PC{0,60}", title in 0usize..20) {
        let title = (0..=title.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap();
        let sentences = inkstone_text::sentences(&text);
        let stretches = outline(&text, title);
        let mut end = 0;
        for (range, _) in &stretches {
            prop_assert!(range.start >= end && range.start < range.end);
            prop_assert!(text[end..range.start].chars().all(char::is_whitespace));
            prop_assert!(sentences.iter().any(|s| s.start == range.start) && sentences.iter().any(|s| s.end == range.end));
            end = range.end;
        }
        prop_assert!(text[end..].chars().all(char::is_whitespace));
        prop_assert!(stretches.windows(2).all(|pair| pair[0].1 != pair[1].1));
    }
}

#[test]
fn a_missing_file_of_decisions_is_no_decision() {
    let params = Params { decisions: Some("none.toml".into()), ..quick() };
    let dir = tempfile::tempdir().unwrap();
    let (clean, out) = (Parts::new(dir.path().join("clean")), Parts::new(dir.path().join("out")));
    let ctx = Ctx::new(1, 0).unwrap();
    let report = run(&clean, &out, &params, &TokenizerParams::default(), Path::new(""), &ctx).unwrap();
    assert_eq!((report.rows_in, read_list(&boilerplate_of(&out)).unwrap().len()), (0, 0));
}
