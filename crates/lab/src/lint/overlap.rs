//! Texts that training and test share.
//!
//! Among the documents that the factor counts and a model scored, some trained that model themselves; of others a near
//! duplicate did, so that the model recalls the story rather than reads it. The number is the share of both. A document
//! that trained its own model is no test at all, and fails; stories above `max_overlap` warn. The documents that
//! trained a model are those published in its span ([`crate::lint::FittedModel::trained_on`]). A model without a span was
//! trained on text from elsewhere: it knows no story that was first told after its text ended.

use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;

use crate::lint::finding::{SharedTexts, TrainingOverlap};
use crate::lint::{Check, Finding, FittedModel, Params, Standing, Subject, Verdict, no_documents};

pub(super) fn check(subject: &Subject<'_>, params: &Params) -> Verdict {
    let Some(texts) = &subject.texts else { return no_documents(Check::Overlap, subject) };
    let mut stories: FxHashMap<u32, Vec<NaiveDateTime>> = FxHashMap::default();
    for document in texts.documents {
        stories.entry(document.story).or_default().push(document.published_at);
    }
    stories.values_mut().for_each(|times| times.sort_unstable());

    // The models of each document that counts, by all readings that take it.
    let mut counted: Vec<Vec<&FittedModel>> = vec![Vec::new(); texts.documents.len()];
    for (signal, document) in texts.counted() {
        let known = &mut counted[signal.document as usize];
        for model in texts.models(signal, document) {
            if !known.contains(&model) {
                known.push(model);
            }
        }
    }
    let (mut tested, mut apart, mut unknown, mut own, mut story) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for (document, models) in texts.documents.iter().zip(&counted).filter(|(_, models)| !models.is_empty()) {
        let spans: Vec<(NaiveDateTime, NaiveDateTime)> = models.iter().filter_map(|model| model.trained_on).collect();
        let times = &stories[&document.story];
        // A model whose text ended before the story was first told cannot have been trained on it.
        let may_know = |model: &FittedModel| times.first().is_none_or(|first| *first <= model.fitted_until);
        if spans.is_empty() {
            let known = if models.iter().any(|model| may_know(model)) { &mut unknown } else { &mut apart };
            *known += 1;
            continue;
        }
        tested += 1;
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
    // Where some documents may be known to a model, those that cannot be do not answer for them.
    if tested > 0 || unknown == 0 {
        tested += apart;
    }
    let finding =
        |shared| Finding::Overlap(TrainingOverlap { documents: tested, shared, of_unknown_training: unknown });
    let limit = Some(params.max_overlap);
    if tested == 0 {
        return match unknown {
            0 => Verdict::new(Check::Overlap, Standing::Passed, 0.0, limit, finding(None)),
            _ => Verdict::skipped(Check::Overlap, finding(None)),
        };
    }
    let share = (own + story) as f64 / tested as f64;
    let standing = match () {
        () if own > 0 => Standing::Failed,
        () if share > params.max_overlap => Standing::Warned,
        () => Standing::Passed,
    };
    let shared = SharedTexts { in_training: own, story_in_training: story };
    Verdict::new(Check::Overlap, standing, share, limit, finding(Some(shared)))
}
