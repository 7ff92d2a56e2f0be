//! The fields of documents that expressions name, as numbers.

use std::collections::BTreeMap;

use super::rating;
use inkstone_corpus::clean::CleanDocument;
use inkstone_lab::factor::DocumentField;

/// Words by which sources mark a report that changes what was said before, and one that does not.
const REVISED: [&str; 20] = [
    "true",
    "yes",
    "y",
    "t",
    "是",
    "上调",
    "下调",
    "调高",
    "调低",
    "调升",
    "调降",
    "上修",
    "下修",
    "变更",
    "调整",
    "up",
    "down",
    "upgrade",
    "downgrade",
    "revised",
];
const UNREVISED: [&str; 16] = [
    "false",
    "no",
    "n",
    "f",
    "否",
    "维持",
    "不变",
    "未变",
    "未调整",
    "首次",
    "首次覆盖",
    "首次评级",
    "maintain",
    "reiterate",
    "unchanged",
    "initiate",
];

/// The number of a field of a document; NaN of numbers of events. A source that is not in `source_weights` weighs 1.
pub(crate) fn number(doc: &CleanDocument, field: DocumentField, source_weights: &BTreeMap<String, f64>) -> f64 {
    let document = &doc.document;
    match field {
        DocumentField::Rating => document.rating.as_deref().map_or(f64::NAN, rating::number),
        DocumentField::Novelty => 1.0 - f64::from(doc.similarity),
        DocumentField::Length => (document.title.chars().count() + document.body.chars().count()) as f64,
        DocumentField::SourceWeight => source_weights.get(&document.source).copied().unwrap_or(1.0),
        DocumentField::Event(_) => f64::NAN,
        DocumentField::Revised => document.revised.as_deref().map_or(f64::NAN, revised),
    }
}

/// 1 of a mark of a revision, or of the size of one; 0 of a mark that there was none; NaN of words that are not known.
fn revised(mark: &str) -> f64 {
    let mark = mark.trim().to_lowercase();
    let number = mark.trim_end_matches('%').trim_end().parse::<f64>().ok().filter(|number| number.is_finite());
    match number {
        Some(number) => f64::from(u8::from(number != 0.0)),
        None if REVISED.contains(&mark.as_str()) => 1.0,
        None if UNREVISED.contains(&mark.as_str()) => 0.0,
        None => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_revisions_are_words_or_numbers() {
        assert!(["1", "True", " 上调 ", "下修", "-3.5 %", "Upgrade"].map(revised).iter().all(|&mark| mark == 1.0));
        assert!(["0", "否", "维持", "首次", "0.0%", "reiterate"].map(revised).iter().all(|&mark| mark == 0.0));
        assert!(["", "待定", "nan", "inf"].map(revised).iter().all(|mark| mark.is_nan()));
    }
}
