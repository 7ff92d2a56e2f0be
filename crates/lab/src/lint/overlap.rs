//! Texts that training and test share.
//!
//! Of the documents that the factor counts and a model scored, some were in that model's own training text, and of some
//! the story was: a near duplicate had trained it, so that the model recalls rather than reads. The number is the share
//! of both. A document that trained its own model is no test at all, and fails; stories above `max_overlap` warn. What
//! trained a model are the documents published in its span ([`crate::lint::Model::trained_on`]).

use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;

use crate::lint::{Check, Model, Params, Standing, Subject, Verdict, no_documents};

pub(super) fn check(subject: &Subject<'_>, params: &Params) -> Verdict {
    let Some(texts) = &subject.texts else { return no_documents(Check::Overlap) };
    let mut stories: FxHashMap<u32, Vec<NaiveDateTime>> = FxHashMap::default();
    for document in texts.documents {
        stories.entry(document.story).or_default().push(document.published_at);
    }
    stories.values_mut().for_each(|times| times.sort_unstable());

    // The models of each document that counts, by all readings that take it.
    let mut counted: Vec<Vec<&Model>> = vec![Vec::new(); texts.documents.len()];
    for (signal, document) in texts.counted() {
        let known = &mut counted[signal.document as usize];
        for model in texts.models(signal, document) {
            if !known.contains(&model) {
                known.push(model);
            }
        }
    }
    let (mut tested, mut unknown, mut own, mut story) = (0u64, 0u64, 0u64, 0u64);
    for (document, models) in texts.documents.iter().zip(&counted).filter(|(_, models)| !models.is_empty()) {
        let spans: Vec<(NaiveDateTime, NaiveDateTime)> = models.iter().filter_map(|model| model.trained_on).collect();
        if spans.is_empty() {
            unknown += 1;
            continue;
        }
        tested += 1;
        let times = &stories[&document.story];
        let within = |time: NaiveDateTime, (first, last): (NaiveDateTime, NaiveDateTime)| first <= time && time <= last;
        let retold = |span: (NaiveDateTime, NaiveDateTime)| {
            times.get(times.partition_point(|time| *time < span.0)).is_some_and(|time| within(*time, span))
        };
        if spans.iter().any(|span| within(document.published_at, *span)) {
            own += 1;
        } else if spans.into_iter().any(retold) {
            story += 1;
        }
    }
    if tested == 0 {
        let finding = match unknown {
            0 => (
                "取值不来自在语料上训练的模型，没有训练文本可以重合。".into(),
                "No value comes from a model that was trained on text, so there is no training text to share.".into(),
            ),
            _ => (
                format!(
                    "{unknown} 篇文档的模型训练于语料之外的文本，重合与否无从得知；请选 fitted_until 早于样本的模型。"
                ),
                format!(
                    "The models of {unknown} documents were trained on text outside this corpus, so what they share \
                     cannot be told; choose one whose fitted_until lies before the sample."
                ),
            ),
        };
        let verdict = match unknown {
            0 => Verdict::of(Check::Overlap, Standing::Passed, 0.0, Some(params.max_overlap), finding),
            _ => Verdict::skipped(Check::Overlap, finding),
        };
        return verdict.with("documents", tested).with("of_unknown_training", unknown);
    }
    let share = (own + story) as f64 / tested as f64;
    let standing = match () {
        () if own > 0 => Standing::Failed,
        () if share > params.max_overlap => Standing::Warned,
        () => Standing::Passed,
    };
    let figure = (
        format!(
            "{tested} 篇计入的文档中，{own} 篇本身训练过给它打分的模型，{story} 篇的同一报道（近似重复）训练过，合计 {:.1} %",
            100.0 * share
        ),
        format!(
            "Of {tested} documents that count, {own} trained the model that scored them and of {story} a near \
             duplicate did: {:.1} %",
            100.0 * share
        ),
    );
    let meaning = match standing {
        Standing::Failed => (
            "。样本内的打分不是检验；请改用滚动拟合（walk_forward），使每篇文档由此前训练的模型打分。",
            ". Scores in sample are no test: fit step by step (walk_forward), so that each document is scored by a \
             model of the past.",
        ),
        Standing::Warned => (
            "。模型可能只是记得这些报道；请只计首次报道（first_only），并加大 [clean] window_days 或 embargo_days。",
            ". The model may recall these stories rather than read them: count first mentions alone (first_only), \
             with longer [clean] window_days or embargo_days.",
        ),
        _ => ("，不足为虑。", ", which is no cause for concern."),
    };
    let finding = (figure.0 + meaning.0, figure.1 + meaning.1);
    Verdict::of(Check::Overlap, standing, share, Some(params.max_overlap), finding)
        .with("documents", tested)
        .with("in_training", own)
        .with("story_in_training", story)
        .with("of_unknown_training", unknown)
}
