//! The documents with a label, and the overlap of texts between training and test.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::ExperimentRun;
use super::plan::kinds;
use inkstone_base::data::{Document, Key};
use inkstone_base::ensure;
use inkstone_corpus::clean::repeats;
use inkstone_features::experiment::{Findings, Labelled, Overlap, OverlapRule, Params, Target};
use inkstone_features::extract::{Inputs, WholeDocument, read_whole};

impl ExperimentRun<'_> {
    /// The documents with a label, and the overlap of their texts.
    pub(super) fn labelled(&self, inputs: &Inputs<'_>, findings: &mut Findings) -> Result<(Labelled, Overlap)> {
        let ExperimentRun { run, params, .. } = self;
        let ctx = run.ctx;
        let kinds = kinds(params, run.config.find_feature(&params.features[0])?);
        let (mut found, mut number): (Vec<(usize, WholeDocument, String)>, usize) = (Vec::new(), 0);
        let mut places = Vec::new();
        for part in 0..inputs.clean.files()?.len() {
            let documents = read_whole(inputs.clean, inputs.links, inputs.sentences, part, ctx.seed())?;
            for (row, document) in documents.into_iter().enumerate() {
                let at = number;
                number += 1;
                places.push((part, row));
                let clean = &document.clean.document;
                if !(kinds.is_empty() || kinds.contains(&clean.kind)) {
                    continue;
                }
                let label = match params.target {
                    Target::Rating => clean.rating.as_deref(),
                    _ => clean.label.as_deref(),
                };
                match label.map(str::trim).filter(|label| !label.is_empty()) {
                    Some(label) => {
                        let label = label.to_owned();
                        found.push((at, document, label));
                    }
                    None => *findings.dropped.entry("without a label".to_owned()).or_default() += 1,
                }
            }
        }
        let field = if params.target == Target::Rating { "rating" } else { "label" };
        ensure!(
            !found.is_empty(),
            "所读文档没有一篇有 {field}；请在 [source.columns] 中指定它的列",
            "no document that is read has a {field}; name its column in [source.columns]"
        );
        found.sort_by(|a, b| {
            let time = |found: &(usize, WholeDocument, String)| found.1.clean.document.published_at;
            time(a).cmp(&time(b)).then(a.0.cmp(&b.0))
        });
        let class_of = |label: &str| match params.positive.is_empty() {
            true => label.to_owned(),
            false if params.positive.iter().any(|positive| positive == label) => params.positive.join("|"),
            false => "other".to_owned(),
        };
        let names: BTreeSet<String> = found.iter().map(|(_, _, label)| class_of(label)).collect();
        ensure!(
            names.len() > 1,
            "全部 {} 篇文档的 {field} 都是 {:?}：分类器至少需要两类",
            "all {} documents have the {field} {:?}: a classifier needs at least two classes",
            found.len(),
            names.first().cloned().unwrap_or_default()
        );
        // The other class first, so that scores are of the positive one.
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_by_key(|name| (*name == params.positive.join("|"), name.clone()));
        let place: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let class: Vec<u32> = found.iter().map(|(_, _, label)| place[class_of(label).as_str()]).collect();
        for &c in &class {
            *findings.classes.entry(names[c as usize].clone()).or_default() += 1;
        }
        let documents: Vec<&Document> = found.iter().map(|(_, document, _)| &document.clean.document).collect();
        let stories = repeats(documents.iter().copied(), &run.config.clean, ctx)?;
        let test = (!params.test_sources.is_empty())
            .then(|| documents.iter().map(|d| params.test_sources.contains(&d.source)).collect::<Vec<bool>>());
        let (overlap, removed) = overlap(&stories, test.as_deref(), params)?;
        let labelled = Labelled {
            documents: found.iter().map(|(at, _, _)| *at).collect(),
            places: found.iter().map(|(at, _, _)| places[*at]).collect(),
            groups: groups(&found, &stories),
            times: documents.iter().map(|document| document.published_at).collect(),
            class,
            names,
            test,
            removed,
        };
        Ok((labelled, overlap))
    }
}

/// The group of each document. Documents about one security on one day form a group; a repeat belongs to that of its first mention.
fn groups(found: &[(usize, WholeDocument, String)], stories: &[(usize, f32)]) -> Vec<u64> {
    let mut events: FxHashMap<Key, u64> = FxHashMap::default();
    let event = |(_, document, _): &(usize, WholeDocument, String)| {
        let code = document.codes.first().map_or("", |code| code.as_str());
        let own = document.clean.document.doc_id.as_str();
        // Without a security a document is an event of its own.
        let name = if code.is_empty() { own } else { code };
        let day = document.clean.document.published_at.date().to_string();
        Key::of_parts([name.as_bytes(), day.as_bytes()])
    };
    let event_of_document: Vec<u64> = found
        .iter()
        .map(|document| {
            let next = events.len() as u64;
            *events.entry(event(document)).or_insert(next)
        })
        .collect();
    stories.iter().map(|&(first, _)| event_of_document[first]).collect()
}

/// The test documents whose texts also train, and the documents that may not train.
fn overlap(stories: &[(usize, f32)], test: Option<&[bool]>, params: &Params) -> Result<(Overlap, Vec<bool>)> {
    let mut removed = vec![false; stories.len()];
    let Some(test) = test else {
        // Folds keep repeats on one side; their number is reported all the same.
        let repeats = |near: bool| {
            stories.iter().enumerate().filter(|(at, story)| story.0 != *at && (story.1 < 1.0) == near).count() as u64
        };
        let (exact, near, n) = (repeats(false), repeats(true), stories.len() as u64);
        let share = (exact + near) as f64 / n.max(1) as f64;
        return Ok((Overlap { test_documents: n, exact, near, share, rule: params.overlap, removed: 0 }, removed));
    };
    let stories_in = |wanted: bool| -> FxHashMap<usize, bool> {
        let mut trained = FxHashMap::default();
        for (at, &(first, similarity)) in stories.iter().enumerate().filter(|(at, _)| test[*at] == wanted) {
            *trained.entry(first).or_insert(false) |= first == at || similarity >= 1.0;
        }
        trained
    };
    let (trains, tests) = (stories_in(false), stories_in(true));
    let (mut exact, mut near) = (0, 0);
    for (at, (first, similarity)) in stories.iter().enumerate().filter(|(at, _)| test[*at]) {
        match trains.get(first) {
            Some(true) if *first == at || *similarity >= 1.0 => exact += 1,
            Some(_) => near += 1,
            None => {}
        }
    }
    let n = test.iter().filter(|test| **test).count() as u64;
    let share = (exact + near) as f64 / n.max(1) as f64;
    if params.overlap == OverlapRule::Remove {
        for (at, (first, _)) in stories.iter().enumerate().filter(|(at, _)| !test[*at]) {
            removed[at] = tests.contains_key(first);
        }
    }
    ensure!(
        params.overlap != OverlapRule::Refuse || share <= params.max_overlap,
        "{n} 篇测试文档中 {:.1} % 的文本也用于训练（{exact} 篇相同，{near} 篇近似），超过 max_overlap = {}：测的会是记忆。overlap = \"remove\" 从训练中去掉它们，\"report\" 则保留",
        "{:.1} % of the {n} test documents have a text that also trains ({exact} exactly, {near} nearly), more than max_overlap = {}: the test would measure memory. overlap = \"remove\" takes them out of the training, \"report\" keeps them",
        100.0 * share,
        params.max_overlap
    );
    let count = removed.iter().filter(|removed| **removed).count() as u64;
    Ok((Overlap { test_documents: n, exact, near, share, rule: params.overlap, removed: count }, removed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_that_tests_on_what_it_trains_is_refused() {
        // One of four test documents is the same as a training one, one nearly.
        let stories = [(0, 0.0), (1, 0.0), (2, 0.0), (0, 1.0), (1, 0.9), (5, 0.0), (6, 0.0)];
        let test = [false, false, false, true, true, true, true];
        let refuse = Params::default();
        let error = overlap(&stories, Some(&test), &refuse).unwrap_err().to_string();
        assert!(error.contains("50.0 % of the 4") && error.contains("1 exactly, 1 nearly"), "{error}");
        let remove = Params { overlap: OverlapRule::Remove, ..Params::default() };
        let (found, removed) = overlap(&stories, Some(&test), &remove).unwrap();
        assert_eq!((found.exact, found.near, found.removed), (1, 1, 2));
        assert_eq!(removed, [true, true, false, false, false, false, false]);
        let report = Params { overlap: OverlapRule::Report, ..Params::default() };
        let (found, removed) = overlap(&stories, Some(&test), &report).unwrap();
        assert_eq!((found.share, removed.iter().any(|r| *r)), (0.5, false));
        // In folds repeats stay together.
        assert_eq!(overlap(&stories, None, &refuse).unwrap().0.exact, 1);
    }

    #[test]
    fn a_test_text_that_came_first_counts_for_its_later_copy_in_the_training() {
        let stories = [(0, 0.0), (0, 1.0), (0, 0.85)];
        let report = Params { overlap: OverlapRule::Report, ..Params::default() };
        let (found, _) = overlap(&stories, Some(&[true, false, false]), &report).unwrap();
        assert_eq!((found.exact, found.near), (1, 0));
        let (found, _) = overlap(&stories, Some(&[true, true, false]), &report).unwrap();
        assert_eq!((found.exact, found.near), (0, 2));
    }
}
