//! The memory of the page between sessions: filter, search, order, folding, and the document at the cursor.

use serde_json::{Value, json};

use super::filter::Filter;
use super::order::By;
use super::{CorpusPage, Field, SortOrder, TokenUnit};

pub(super) fn kept(corpus: &CorpusPage) -> Value {
    let cut = corpus.cut.map(|cut| if cut == TokenUnit::Characters { "characters" } else { "words" });
    json!({
        "filter": corpus.filter.text(),
        "search": corpus.query.text(),
        "sort": corpus.order.by.id(),
        "descending": corpus.order.descending,
        "folded": corpus.folded,
        "cut": cut,
        "place": corpus.number(corpus.cursor.at).and_then(|n| corpus.catalogue.place(n)),
    })
}

/// Restores the place of an earlier session. Values that can no longer be read are left out.
pub(super) fn recall(corpus: &mut CorpusPage, memory: &Value) {
    let text = |name: &str| memory.get(name).and_then(Value::as_str).unwrap_or_default();
    let is = |name: &str| memory.get(name).and_then(Value::as_bool).unwrap_or_default();
    if let Ok(filter) = Filter::parse(text("filter")) {
        corpus.filter = Field::new(text("filter"));
        (corpus.filtering, corpus.filtering_by) = (filter, text("filter").to_owned());
    }
    corpus.query = Field::new(text("search"));
    corpus.order = SortOrder { by: By::named(&memory["sort"]).unwrap_or_default(), descending: is("descending") };
    corpus.folded = is("folded");
    corpus.cut = match text("cut") {
        "characters" => Some(TokenUnit::Characters),
        "words" => Some(TokenUnit::Words),
        _ => None,
    };
    corpus.go_to = memory.get("place").and_then(|place| serde_json::from_value(place.clone()).ok());
}
