use chrono::NaiveDate;

use super::*;
use inkstone_base::width::width;
use inkstone_lab::audit::{AuditCase, AuditCheck, AuditVerdict, Measured};

/// An audit of two checks, in which a hostile result has named itself.
fn audit() -> Audit {
    let day = |day| NaiveDate::from_ymd_opt(2024, 1, day).unwrap();
    let figures = AuditFigures {
        ic: 0.05,
        rank_ic: 0.04,
        icir: f64::NAN,
        rank_icir: 0.3,
        t: 3.2,
        annual_return: 0.12,
        sharpe: 1.5,
        max_drawdown: -0.1,
        turnover: 0.3,
        excess_return: f64::NAN,
        information_ratio: f64::NAN,
    };
    let ahead = [
        ("bars", Measured::Count(1)),
        ("next", Measured::Correlation(0.31)),
        ("t", Measured::Ratio(40.0)),
        ("after", Measured::Correlation(f64::NAN)),
    ];
    let stated = [
        ("column", Measured::Text("<b>{trade}</b>".to_owned())),
        ("trade", Measured::Text("close t → close t+1".to_owned())),
    ];
    let verdict = |check, standing, case, figures: &[(&'static str, Measured)]| AuditVerdict {
        check,
        standing,
        case,
        figures: figures.iter().cloned().collect(),
    };
    Audit {
        name: "<script>alert(1)</script>".to_owned(),
        shape: ResultShape::Predictions,
        column: "得分".to_owned(),
        rows: 10,
        values: 9,
        dates: 3,
        names: 3,
        first: day(2),
        last: day(4),
        claim: Claim { ic: Some(0.2), ..Claim::default() },
        aligned_trade: "open t+1 → open t+2".to_owned(),
        aligned: figures,
        honest_trade: "open t+2 → open t+3".to_owned(),
        honest: figures,
        lags: vec![(0, 0.1), (1, 0.31)],
        verdicts: vec![
            verdict(AuditCheck::BarsAhead, Standing::Failed, AuditCase::AheadFraud, &ahead),
            verdict(AuditCheck::StatedReturns, Standing::Passed, AuditCase::StatedFine, &stated),
        ],
    }
}

#[test]
fn a_page_escapes_what_the_result_says_and_shows_claimed_beside_honest() {
    let page = audit_html(&audit());
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;") && !page.contains("NaN"));
    for text in
        ["+0.2000", "+0.0500", "宣称", "claimed", "values ahead of their date", "数值超前", "open t+2", "finding bad"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains("&lt;b&gt;{trade}&lt;&#x2F;b&gt;"), "a figure is no template");
}

#[test]
fn lines_fit_a_terminal_in_both_languages_and_json_names_the_frauds() {
    for (language, fraud) in
        [(Language::Zh, "✗ 数值超前 · 不通过"), (Language::En, "✗ values ahead of their date · failed")]
    {
        let lines = audit_lines(&audit(), language);
        assert!(lines.iter().any(|line| line == fraud), "{lines:#?}");
        assert!(lines.iter().all(|line| width(line) <= 96), "{lines:#?}");
    }
    let json = audit_json(&audit());
    assert_eq!(json["frauds"], json!(["bars-ahead"]));
    assert_eq!(json["verdicts"][0]["figures"]["bars"], 1);
    assert!(json["honest"]["icir"].is_null());
}
