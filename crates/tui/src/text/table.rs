//! The lists of the page, for copying.

use super::shown::ShownText;
use super::words;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::page::Table;
use crate::words as shared;

/// The tokens of a tokeniser with their places; offsets are half-open.
pub(super) fn of_tokens(shown: &ShownText, tokeniser: usize, desk: &Desk<'_>) -> Option<Table> {
    let tokens = shown.tokens(tokeniser)?;
    let mut header =
        vec![words::TOKEN, words::START_BYTE, words::END_BYTE, words::START_CHARACTER, words::END_CHARACTER];
    header.extend((!tokens.ids.is_empty()).then_some(words::ID));
    let text = shown.text();
    // Beginnings never descend, so characters are counted once from one to the next.
    let (mut counted, mut characters) = (0, 0);
    let mut rows = Vec::with_capacity(tokens.ranges.len());
    for (number, range) in tokens.ranges.iter().enumerate() {
        characters += text[counted..range.start].chars().count();
        counted = range.start;
        let token = &text[range.clone()];
        let end = characters + token.chars().count();
        let mut row = vec![token.to_owned()];
        row.extend([range.start, range.end, characters, end].map(|offset| offset.to_string()));
        row.extend(tokens.ids.get(number).map(u32::to_string));
        rows.push(row);
    }
    Some(Table::new(desk.language, &header, rows))
}

pub(super) fn of_strategies(shown: &ShownText, desk: &Desk<'_>) -> Option<Table> {
    let rows = shown.kept.as_ref().and_then(Errand::get)?;
    let header = [
        shared::STRATEGY,
        words::KEPT_TOKENS,
        words::ALL_TOKENS,
        words::SHARE,
        words::WINDOWS,
        shared::SCORE,
        words::SECTIONS,
    ];
    let row = |(listed, row): (&super::ListedStrategy, &super::strategies::StrategyRow)| {
        let kept = row.kept.as_ref();
        let count = |field: fn(&crate::Kept) -> usize| kept.map(field).map_or(String::new(), |n| n.to_string());
        let share = kept.map(|kept| (kept.kept as f64 / kept.all.max(1) as f64).to_string());
        let score = row.score.as_ref().map(|score| score.value.to_string());
        let sections = kept.iter().flat_map(|kept| &kept.sections);
        let sections: Vec<String> =
            sections.map(|share| format!("{} {}/{}", share.section, share.kept, share.tokens)).collect();
        vec![
            listed.strategy.to_string(),
            count(|kept| kept.kept),
            count(|kept| kept.all),
            share.unwrap_or_default(),
            count(|kept| kept.windows),
            score.unwrap_or_default(),
            sections.join(" "),
        ]
    };
    Some(Table::new(desk.language, &header, shown.listed.iter().zip(rows).map(row).collect()))
}
