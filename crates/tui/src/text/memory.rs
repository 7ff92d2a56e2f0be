//! The memory of the page between sessions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source::Goal;
use super::strategies::{self, BUDGETS};
use super::{TextFocus, TextPage};

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct TextMemory {
    /// Part and row of the document.
    place: Option<(usize, usize)>,
    /// The byte of its text at which the cursor is.
    at: usize,
    focus: TextFocus,
    tokeniser: usize,
    /// The strategy that is selected, with its limit.
    strategy: Option<String>,
    /// The limit given to strategies without one, in tokens.
    budget: usize,
    /// Strategies of the user's own.
    own: Vec<String>,
}

/// The memory of the page. Text that the user typed is not kept.
pub(super) fn kept(page: &TextPage) -> Value {
    let shown = page.shown.as_ref();
    let goal = page.before.as_ref().unwrap_or(&page.goal);
    let place = match (goal, shown.and_then(|shown| shown.place)) {
        (Goal::Place(part, row), _) => Some((*part, *row)),
        (_, place) => place,
    };
    let memory = TextMemory {
        place,
        at: shown.filter(|shown| shown.place.is_some()).map_or(0, |shown| shown.at),
        focus: page.focus,
        tokeniser: page.tokeniser,
        strategy: page.selected().map(|listed| listed.strategy.to_string()),
        budget: BUDGETS[page.budget],
        own: page.own.clone(),
    };
    serde_json::to_value(memory).unwrap_or_default()
}

/// Restores the place of an earlier session. Values that cannot be read change nothing.
pub(super) fn put_back(page: &mut TextPage, memory: &Value) {
    let Ok(memory) = serde_json::from_value::<TextMemory>(memory.clone()) else { return };
    if let Some((part, row)) = memory.place {
        (page.goal, page.at) = (Goal::Place(part, row), memory.at);
    }
    (page.focus, page.tokeniser, page.wanted) = (memory.focus, memory.tokeniser, memory.strategy);
    page.budget = BUDGETS.iter().position(|budget| *budget == memory.budget).unwrap_or(page.budget);
    page.own = memory.own;
    page.own.retain(|text| strategies::parse(text, BUDGETS[page.budget]).is_ok());
}
