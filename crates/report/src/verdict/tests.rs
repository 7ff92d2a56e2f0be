//! Every verdict has whole sentences in both languages, and exports keep their form.

use super::*;
use inkstone_lab::lint::finding::LateValue;

/// A finding of each case, with every sentence that is only sometimes there.
fn findings() -> Vec<Finding> {
    let trade = json!({"delay": 1, "price": "open"});
    let late = json!({"date": "2024-01-05", "code": "600000.SH", "known_at": "2024-01-05 09:20:00", "trade_at": "2024-01-05 09:15:00"});
    let hours = vec![0; 24];
    let loss = json!({"rank_ic": 0.05, "low": 0.01, "high": 0.03, "p": 0.01, "dates": 200});
    let draws = json!({"rank_ic": 0.05, "low": -0.01, "high": 0.01, "p": 0.02, "draws": 60});
    let ingestion = json!({
        "signals": 9, "without_ingestion_time": 1, "late": 4, "share_late": 0.5, "largest_load": 0.2,
        "context": {"restated": 7, "load": 2, "ranked": 200},
    });
    let gap = json!({
        "rank_ic_same_day": 0.2, "rank_ic_trade": 0.05, "ratio": 4.0, "dates": 200, "p": 0.01, "low": 0.1, "high": 0.2,
        "aligned_at_same_day": false, "context": trade,
    });
    let cases = [
        ("no-documents", vec![]),
        ("nothing-to-break", vec![json!({"rank_ic": 0.001, "p": 0.8, "context": {"dates": 200}})]),
        (
            "known-before",
            vec![json!({
                "values": 100, "late": 3, "backdated": 2, "used": true, "times_assumed": true, "examples": [late],
                "worst_lateness_hours": 0.1, "context": {"trade": trade, "beyond_limit": false, "worst": late},
            })],
        ),
        (
            "trade-date",
            vec![json!({
                "signals": 100, "early": 3, "late": 0, "early_by_hour": hours, "late_by_hour": hours,
                "as_strings": true, "examples": [],
            })],
        ),
        ("same-day-gap", vec![gap.clone()]),
        ("no-same-day", vec![gap]),
        ("shuffled-dates", vec![json!({"rank_ic_moved": 0.001, "std_moved": 0.01}), draws.clone()]),
        ("too-few-days", vec![json!({"context": {"days": 5}})]),
        (
            "shuffled-text",
            vec![json!({"rank_ic_permuted": 0.05, "std_permuted": 0.0, "counts_documents": true}), draws.clone()],
        ),
        ("rewired-graph", vec![json!({"rank_ic_rewired": 0.002, "std_rewired": 0.01}), draws]),
        (
            "future-vocabulary",
            vec![
                json!({"signals": 100, "fitted": 90, "future": 50, "hidden": 40}),
                json!({"rank_ic_seen": 0.1, "rank_ic_unseen": 0.0, "dates_seen": 30, "dates_unseen": 30, "p": null}),
            ],
        ),
        (
            "masked-names",
            vec![json!({"rank_ic_masked": 0.06, "lost": -0.01, "context": {"chance": false}}), loss.clone()],
        ),
        ("always-masked", vec![]),
        ("no-masked-factor", vec![]),
        ("no-common-dates", vec![]),
        ("overlap", vec![json!({"documents": 0, "of_unknown_training": 3})]),
        ("overlap", vec![json!({"documents": 9, "of_unknown_training": 0, "in_training": 1, "story_in_training": 2})]),
        (
            "survivors",
            vec![json!({
                "names": 300, "ended": 0, "expected": 3.6, "through": 0.9, "by_year": {"2024": {"names": 300, "ended": 0}},
                "growth_ended": null, "growth_others": 0.1, "context": {"years": 3.0, "fewest": 1},
            })],
        ),
        ("no-ingestion-times", vec![ingestion.clone()]),
        ("loaded-at-once", vec![ingestion.clone()]),
        ("none-late", vec![ingestion.clone()]),
        ("late-without-power", vec![ingestion.clone(), json!({"rank_ic": 0.001, "p": 0.8})]),
        ("none-in-time", vec![ingestion.clone()]),
        ("restated", vec![ingestion, json!({"rank_ic_without": 0.03}), loss]),
        (
            "unadjusted",
            vec![json!({
                "breaks": ["2024-01-05"], "changes_of_the_grid": ["2024-01-05"], "falls": 12, "values_across": 30,
                "deepest": {"date": "2024-01-08", "code": "600001.SH", "change": -0.3},
            })],
        ),
        (
            "unadjusted",
            vec![json!({
                "breaks": [], "changes_of_the_grid": [], "falls": 12, "values_across": 0,
                "deepest": {"date": "2024-01-08", "code": "600001.SH", "change": -0.3},
            })],
        ),
        (
            "unadjusted",
            vec![json!({"breaks": [], "changes_of_the_grid": [], "falls": 0, "values_across": 0, "deepest": null})],
        ),
        ("crawled", vec![json!({"fields": []})]),
        ("crawled", vec![json!({"fields": [{"field": "rating", "source": "flashes", "column": "read_count"}]})]),
        ("reads-no-documents", vec![json!({"context": {"factors": []}})]),
        ("reads-no-documents", vec![json!({"context": {"factors": ["tone", "heat"]}})]),
        ("no-model-reads-texts", vec![]),
    ];
    let finding = |(case, parts): (&str, Vec<Value>)| {
        let mut members = json!({"case": case});
        for part in parts {
            members.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        }
        serde_json::from_value(members).unwrap()
    };
    cases.into_iter().map(finding).collect()
}

fn sentences(finding: &Finding, standing: Standing) -> [String; 2] {
    let (check, number, limit) = (Check::KnownBefore, Some(0.25), Some(0.5));
    verdict_sentences(&Verdict { check, standing, number, limit, finding: finding.clone() })
}

#[test]
fn every_finding_has_whole_sentences_in_both_languages() {
    for finding in findings() {
        for standing in [Standing::Passed, Standing::Warned, Standing::Failed, Standing::Skipped] {
            let [zh, en] = sentences(&finding, standing);
            assert!(zh.ends_with('。') && en.ends_with('.'), "{zh} {en}");
            assert!(!en.chars().any(|c| ('一'..='龥').contains(&c)), "{en}");
        }
    }
}

#[test]
fn sentences_name_the_cause_and_the_way_out() {
    let english: Vec<String> =
        findings().iter().map(|finding| sentences(finding, Standing::Warned)[1].clone()).collect();
    let causes = [
        (0, "[[factor]]"),
        (2, "known at 2024-01-05 09:20:00, its return begins at 2024-01-05 09:15:00"),
        (2, "so 15:00:00 of the date was taken"),
        (3, "Only texts at 15:xx (early)"),
        (8, "counts documents"),
        (13, "mask_contextual"),
    ];
    for (case, cause) in causes {
        assert!(english[case].contains(cause), "{}", english[case]);
    }
    assert!(sentences(&findings()[3], Standing::Failed)[0].contains("字符串"));
    assert!(english[english.len() - 2].contains("other factors (tone, heat)"), "{english:?}");
}

#[test]
fn exports_carry_sentences_beside_the_figures() {
    let late = LateValue { date: "d".into(), code: "c".into(), known_at: "k".into(), trade_at: "t".into() };
    let mut finding = findings().swap_remove(2);
    if let Finding::KnownBefore(finding) = &mut finding {
        finding.examples = vec![late];
    }
    let verdict = Verdict { check: Check::KnownBefore, standing: Standing::Failed, number: None, limit: None, finding };
    let exported = &verdicts_json(&[verdict])[0];
    let members: Vec<&String> = exported.as_object().unwrap().keys().collect();
    assert_eq!(members, ["check", "standing", "number", "limit", "finding", "figures"]);
    assert_eq!(exported["finding"].as_array().unwrap().len(), 2);
    let figures: Vec<&String> = exported["figures"].as_object().unwrap().keys().collect();
    assert_eq!(figures, ["backdated", "examples", "late", "times_assumed", "used", "values", "worst_lateness_hours"]);
    assert_eq!(
        exported["figures"]["examples"][0].to_string(),
        r#"{"date":"d","code":"c","known_at":"k","trade_at":"t"}"#
    );
}
