//! The memory of the page between sessions: filter, search, columns, marks, folding, and the document at the cursor.

use std::sync::Arc;

use serde_json::{Value, json};

use super::filter::{Complaint, Filter};
use super::{CorpusPage, Field, TokenUnit};

/// Marked documents that are remembered.
const MARKS: usize = 20_000;

pub(super) fn kept(corpus: &CorpusPage) -> Value {
    let cut = corpus.cut.map(|cut| if cut == TokenUnit::Characters { "characters" } else { "words" });
    json!({
        "filter": corpus.filter.text(),
        "search": corpus.query.text(),
        "columns": corpus.table_head.layout.remember(),
        "marks": corpus.catalogue.facts.marks.iter().take(MARKS).collect::<Vec<_>>(),
        "folded": corpus.folded,
        "cut": cut,
        "place": corpus.number(corpus.cursor.at).and_then(|n| corpus.catalogue.place(n)),
    })
}

/// Restores the place of an earlier session. Values that can no longer be read are left out.
pub(super) fn recall(corpus: &mut CorpusPage, memory: &Value) {
    let text = |name: &str| memory.get(name).and_then(Value::as_str).unwrap_or_default();
    let is = |name: &str| memory.get(name).and_then(Value::as_bool).unwrap_or_default();
    match Filter::parse(text("filter"), &[]) {
        Ok(filter) => {
            corpus.filter = Field::new(text("filter"));
            (corpus.filtering, corpus.filtering_by) = (filter, text("filter").to_owned());
        }
        Err(fault) if matches!(fault.what, Complaint::NoCondition(..)) => {
            corpus.recalled = Some(text("filter").to_owned());
        }
        Err(_) => {}
    }
    corpus.table_head.layout.recall(memory.get("columns").unwrap_or(&Value::Null));
    let marks = memory.get("marks").and_then(|marks| serde_json::from_value(marks.clone()).ok());
    corpus.catalogue.facts.marks = Arc::new(marks.unwrap_or_default());
    corpus.query = Field::new(text("search"));
    corpus.folded = is("folded");
    corpus.cut = match text("cut") {
        "characters" => Some(TokenUnit::Characters),
        "words" => Some(TokenUnit::Words),
        _ => None,
    };
    corpus.go_to = memory.get("place").and_then(|place| serde_json::from_value(place.clone()).ok());
}
