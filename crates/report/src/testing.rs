//! Findings with made-up numbers, for tests.

use std::collections::BTreeMap;

use inkstone_base::bootstrap::{Comparison, Interval};
use inkstone_base::language::Message;
use inkstone_corpus::structure::Section;
use inkstone_corpus::truncate::SectionShare;
use inkstone_corpus::truncate::Strategy;
use inkstone_features::experiment::{Cell, Effect, Findings, Overlap, OverlapRule, Skipped, TRUNCATE, Target};
use inkstone_features::extract::Cost;

/// A cell with an interval of 0.01 to both sides; `against` = the baseline's figure and the corrected p.
pub fn cell(feature: &str, strategy: &str, tokens: u64, figure: f64, against: Option<(f64, f64)>) -> Cell {
    let strategy: Strategy = strategy.parse().unwrap();
    let around = |value: f64| Interval { low: value - 0.01, high: value + 0.01 };
    Cell {
        feature: feature.to_owned(),
        setting: strategy.to_string(),
        values: vec![strategy.to_string()],
        family: strategy.family(),
        strategy,
        figure,
        interval: around(figure),
        against: against.map(|(base, p)| Comparison {
            difference: figure - base,
            interval: around(figure - base),
            p: p / 3.0,
            p_adjusted: p,
        }),
        figures: BTreeMap::from([("icir".to_owned(), 10.0 * figure), ("dates".to_owned(), 240.0)]),
        cost: Cost {
            documents: 10,
            windows: 10,
            tokens: 10 * tokens,
            tokens_read: 10 * tokens,
            seconds: 0.01 * tokens as f64,
            device: "CPU".to_owned(),
            ..Cost::default()
        },
        kept: vec![
            SectionShare { section: Section::Title, tokens: 100, kept: 100 },
            SectionShare { section: Section::Risk, tokens: 400, kept: 90 },
        ],
        ..Cell::default()
    }
}

/// Marks what nothing cheaper beats.
fn with_frontier(mut findings: Findings) -> Findings {
    let points: Vec<(f64, f64)> = findings.cells.iter().map(|c| (c.cost.tokens_a_document(), c.figure)).collect();
    for (cell, &(cost, figure)) in findings.cells.iter_mut().zip(&points) {
        let beaten = points.iter().any(|&(c, f)| (c <= cost && f > figure) || (c < cost && f >= figure));
        cell.on_frontier = !figure.is_nan() && !beaten;
    }
    findings
}

/// Two features, one of which has a name to be escaped; a figure that is not there; a cell that stands above and one below.
pub fn findings() -> Findings {
    with_frontier(Findings {
        name: "长文 <截断>".to_owned(),
        measure: "rank_ic".to_owned(),
        factor: Some(("语气 & co".to_owned(), 5)),
        documents: 1200,
        dropped: BTreeMap::from([("no tradable day".to_owned(), 12), ("empty <body>".to_owned(), 3)]),
        observations: 240,
        block: 6,
        draws: 2000,
        confidence: 0.95,
        vary: vec![TRUNCATE.to_owned()],
        cells: vec![
            cell("语气", "head:512", 400, 0.03, None),
            cell("语气", "head:128", 126, 0.034, Some((0.03, 0.4))),
            cell("语气", "tail:512", 400, 0.052, Some((0.03, 0.004))),
            cell("语气", "middle:512", 400, 0.01, Some((0.03, 0.02))),
            cell("bert<&>", "head:512", 410, f64::NAN, Some((0.03, 1.0))),
            cell("bert<&>", "sections:512@rating,risk", 380, 0.035, Some((0.03, 0.6))),
        ],
        skipped: vec![Skipped {
            feature: "bert<&>".to_owned(),
            setting: "none".to_owned(),
            values: vec!["none".to_owned()],
            reason: Message::same("a text of 900 tokens & more than 512 positions"),
        }],
        overlap: Overlap {
            test_documents: 800,
            exact: 3,
            near: 9,
            share: 0.015,
            rule: OverlapRule::Remove,
            removed: 12,
        },
        ..Findings::default()
    })
}

/// Findings of a large grid: ten strategies at six lengths.
pub fn large() -> Findings {
    let families = [
        ("head", ""),
        ("tail", ""),
        ("middle", ""),
        ("random", ""),
        ("tfidf", ""),
        ("textrank", ""),
        ("novelty", ""),
        ("sections", "@rating,summary,forecast"),
        ("windows", "@max"),
        ("head", " -boilerplate"),
    ];
    let mut cells = vec![];
    for (i, (name, rest)) in families.into_iter().enumerate() {
        for j in 0..6 {
            let strategy = format!("{name}:{}{rest}", 32 << j);
            let figure = 0.02 + 0.004 * j as f64 + 0.003 * ((i * 7) % 5) as f64 - 0.0005 * (i + j) as f64;
            let against = (!cells.is_empty()).then_some((0.02, 0.01 * (i + j) as f64));
            cells.push(cell("tone", &strategy, 30 << j, figure, against));
        }
    }
    with_frontier(Findings {
        name: "large".to_owned(),
        measure: "macro_f1".to_owned(),
        classes: BTreeMap::from([("买入".to_owned(), 700), ("中性".to_owned(), 300)]),
        confidence: 0.95,
        vary: vec![TRUNCATE.to_owned()],
        cells,
        ..Findings::default()
    })
}

/// Two settings of two features, with what each does: layers help, pooling does nothing.
pub fn grid() -> Findings {
    let figure = |layers: &str, feature: &str| {
        0.30 + if layers == "last:4" { 0.04 } else { 0.0 } + if feature == "macbert" { 0.01 } else { 0.0 }
    };
    let mut cells = Vec::new();
    for feature in ["bert", "macbert"] {
        for layers in ["last", "last:4"] {
            for pooling in ["cls", "mean"] {
                let values = vec![layers.to_owned(), pooling.to_owned()];
                let against = (!cells.is_empty()).then_some((0.30, if layers == "last" { 1.0 } else { 0.003 }));
                cells.push(Cell {
                    setting: format!("layers={layers} · pooling={pooling}"),
                    values,
                    family: format!("layers={layers}"),
                    p_best: Some(if layers == "last:4" { 1.0 } else { 0.002 }),
                    ..cell(feature, "head:128", 128, figure(layers, feature), against)
                });
            }
        }
    }
    let effect = |setting: &str, value: &str, figure: f64, against: Option<(f64, f64)>| Effect {
        setting: setting.to_owned(),
        value: value.to_owned(),
        cells: 4,
        figure,
        against: against.map(|(difference, p)| Comparison {
            difference,
            interval: Interval { low: difference - 0.01, high: difference + 0.01 },
            p: p / 2.0,
            p_adjusted: p,
        }),
    };
    with_frontier(Findings {
        name: "layers".to_owned(),
        target: Target::Rating,
        measure: "macro_f1".to_owned(),
        documents: 600,
        observations: 600,
        block: 8,
        draws: 2000,
        confidence: 0.95,
        vary: vec!["onnx.layers".to_owned(), "onnx.pooling".to_owned()],
        cells,
        effects: vec![
            effect("feature", "bert", 0.32, None),
            effect("feature", "macbert", 0.33, Some((0.01, 0.2))),
            effect("onnx.layers", "last", 0.305, None),
            effect("onnx.layers", "last:4", 0.345, Some((0.04, 0.003))),
            effect("onnx.pooling", "cls", 0.325, None),
            effect("onnx.pooling", "mean", 0.325, Some((0.0, 1.0))),
        ],
        ..Findings::default()
    })
}

pub fn single() -> Findings {
    let cells = vec![cell("tone", "head:512", 400, 0.03, None)];
    with_frontier(Findings { name: "one".to_owned(), measure: "rank_ic".to_owned(), cells, ..Findings::default() })
}
