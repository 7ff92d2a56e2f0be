//! Pages made of texts that would be markup: what a browser reads has the elements and attributes of the template and no others.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::factor::testing::Made;
use super::markup::{self, shape};
use super::testing;
use super::{FactorReport, differences_svg, experiment_html, factor_html, frontier_svg};
use inkstone_base::language::Language;
use inkstone_features::experiment::Findings;
use inkstone_lab::factor::TracedDate;

/// Ends titles, styles, attributes and elements, in as many ways as there are; every piece begins with something that would run.
const EVIL: &str = "</title></style></svg><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"alert(1)\" '><a \
                    href='javascript:alert(1)'>&#60;b&gt;]]><!--\u{1b}[2J\u{0}\u{202e}<iframe src=//x>";

/// The same value with [`EVIL`] behind every text that may be any.
fn poisoned<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let mut root = serde_json::to_value(value).unwrap();
    let mut paths = Vec::new();
    texts(&root, &mut String::new(), &mut paths);
    let mut changed = 0;
    for path in paths {
        let before = root.pointer(&path).cloned().unwrap();
        let evil = Value::String(format!("{}{EVIL}", before.as_str().unwrap()));
        *root.pointer_mut(&path).unwrap() = evil;
        match serde_json::from_value::<T>(root.clone()) {
            Ok(_) => changed += 1,
            // A date, or one of a few words.
            Err(_) => *root.pointer_mut(&path).unwrap() = before,
        }
    }
    assert!(changed > 0, "no text of {} can be changed", std::any::type_name::<T>());
    serde_json::from_value(root).unwrap()
}

/// The same experiment, of which every name is [`EVIL`]. (Its figures that are not there have no form in JSON.)
fn evil_findings() -> Findings {
    let evil = |text: &mut String| *text += EVIL;
    let keys = |map: BTreeMap<String, u64>| map.into_iter().map(|(key, n)| (key + EVIL, n)).collect();
    let mut findings = testing::findings();
    evil(&mut findings.name);
    findings.measure = EVIL.to_owned();
    findings.factor = Some((EVIL.to_owned(), 5));
    findings.classes = keys(findings.classes);
    findings.dropped = keys(findings.dropped);
    findings.vary.iter_mut().for_each(evil);
    for effect in &mut findings.effects {
        [&mut effect.setting, &mut effect.value].into_iter().for_each(evil);
    }
    for cell in &mut findings.cells {
        evil(&mut cell.feature);
        evil(&mut cell.family);
        evil(&mut cell.setting);
        cell.values.iter_mut().for_each(evil);
        evil(&mut cell.cost.device);
        cell.figures = std::mem::take(&mut cell.figures).into_iter().map(|(key, value)| (key + EVIL, value)).collect();
    }
    for skipped in &mut findings.skipped {
        [&mut skipped.feature, &mut skipped.setting, &mut skipped.reason.zh, &mut skipped.reason.en]
            .into_iter()
            .for_each(evil);
    }
    findings
}

/// The same names with evil codes, names and titles.
fn evil_newest(mut newest: TracedDate) -> TracedDate {
    for name in &mut newest.names {
        [&mut name.code, &mut name.name, &mut name.title].into_iter().for_each(|text| *text += EVIL);
    }
    newest
}

/// Where texts stand that are no dates.
fn texts(value: &Value, at: &mut String, paths: &mut Vec<String>) {
    let mut inside = |key: &str, value: &Value| {
        let length = at.len();
        *at += "/";
        *at += &key.replace('~', "~0").replace('/', "~1");
        texts(value, at, paths);
        at.truncate(length);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| inside(key, value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| inside(&i.to_string(), item)),
        Value::String(text) if text.get(..4).is_none_or(|year| year.parse::<u16>().is_err()) => paths.push(at.clone()),
        _ => {}
    }
}

#[test]
fn an_experiment_of_evil_names_has_the_elements_of_any_other() {
    let findings = testing::findings();
    let evil = evil_findings();
    assert!(evil.name.contains("<script>") && evil.cells[0].feature.contains("onload="));
    let pages = [experiment_html(&findings, "a").unwrap(), experiment_html(&evil, EVIL).unwrap()];
    assert!(pages[1].contains("&lt;script&gt;"));
    let shapes = pages.each_ref().map(|page| shape(page));
    let new: Vec<_> = shapes[1].difference(&shapes[0]).collect();
    assert!(new.is_empty(), "{new:?}");
    for language in Language::ALL {
        for svg in [frontier_svg(&evil, language), differences_svg(&evil, language)] {
            // Refuses what is not well formed, and more than one picture.
            markup::texts(&svg.unwrap().unwrap());
        }
    }
}

#[test]
fn a_factor_of_evil_names_has_the_elements_of_any_other() {
    let made = Made::new(300);
    let evil = Made {
        outcome: poisoned(&made.outcome),
        events: poisoned(&made.events),
        verdicts: poisoned(&made.verdicts),
        looks: made.looks.clone(),
        newest: evil_newest(made.newest.clone()),
        experiments: vec![evil_findings()],
        manifest: poisoned(&made.manifest),
    };
    assert!(evil.outcome.factor.contains("<script>"));
    let plain = factor_html(&made.page()).unwrap();
    let page = factor_html(&FactorReport { note: EVIL, ..evil.page() }).unwrap();
    let new: Vec<_> = shape(&page).difference(&shape(&plain)).cloned().collect();
    assert!(new.is_empty(), "{new:?}");
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<iframe"));
}

#[test]
fn browsers_are_told_to_run_and_fetch_nothing() {
    let policy = "meta content=default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
    assert!(shape(&experiment_html(&testing::findings(), "").unwrap()).contains(policy));
    assert!(shape(&factor_html(&Made::new(300).page()).unwrap()).contains(policy));
}
