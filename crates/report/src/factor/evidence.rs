//! The documents behind the highest and the lowest values of the newest date.

use super::tables::SectionPart;
use super::{FactorReport, words};
use crate::DECIMALS;
use crate::page::{both_of, figure, table, word, wrapped};
use inkstone_base::figures::{count, signed};
use inkstone_base::language::{Language, Message};
use inkstone_lab::factor::TracedName;

/// Names of either end that are listed.
const NAMES: usize = 5;

/// Each name with the document that gave most to its value, and the command that goes on to sentences and words.
pub(super) fn evidence(page: &FactorReport<'_>) -> SectionPart {
    let Some(newest) = page.newest else { return SectionPart::Nothing(words::NO_EVIDENCE) };
    let names: Vec<&TracedName> = newest.names.iter().filter(|name| !name.title.is_empty()).collect();
    let (highest, others) = names.split_at(NAMES.min(names.len()));
    let lowest = &others[others.len().saturating_sub(NAMES)..];
    let row = |name: &&TracedName| {
        vec![
            word(&name.code),
            word(&name.name),
            figure(&signed(name.value, DECIMALS)),
            figure(&if name.quantile == 0 { "–".to_owned() } else { name.quantile.to_string() }),
            figure(&count(name.documents as u64)),
            wrapped(&Message::same(&name.title)),
        ]
    };
    let rows: Vec<Vec<String>> = highest.iter().chain(lowest).map(row).collect();
    let Some(first) = names.first() else { return SectionPart::Nothing(words::NO_EVIDENCE) };
    let heads = [
        (words::CODE, true),
        (words::SECURITY, true),
        (words::VALUE, false),
        (words::QUANTILE, false),
        (words::DOCUMENT_COUNT, false),
        (words::STRONGEST, true),
    ];
    let note = Language::ALL.map(|language| words::evidence_note(newest, &first.code, language));
    let table = table(&heads, &rows, words::NO_EVIDENCE);
    SectionPart::Plain(format!("{table}<p class=\"caption\">{}</p>\n", both_of([&note[0], &note[1]])))
}
