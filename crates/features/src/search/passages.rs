//! The sentences of a document that have words of a query.

use std::ops::Range;

use serde::{Serialize, Serializer};

use super::rank::QueryTerm;
use inkstone_text::{Segmenter, sentences};

/// A sentence with words of a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Passage {
    pub text: String,
    /// True if it is the title.
    pub title: bool,
    /// Places of the words: bytes of the sentence, half-open.
    #[serde(serialize_with = "pairs")]
    pub hits: Vec<Range<usize>>,
}

fn pairs<S: Serializer>(places: &[Range<usize>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(places.iter().map(|place| [place.start, place.end]))
}

/// The `most` sentences whose different words have the largest sum of inverse document frequencies, in the order of the text; where no
/// sentence has a word, the first one.
pub(super) fn passages(
    title: &str,
    body: &str,
    terms: &[QueryTerm],
    segmenter: &Segmenter,
    most: usize,
) -> Vec<Passage> {
    let mut found: Vec<(f64, Passage)> = Vec::new();
    let texts = std::iter::once((title, true)).chain(sentences(body).into_iter().map(|range| (&body[range], false)));
    for (text, title) in texts.filter(|(text, _)| !text.trim().is_empty()) {
        let (mut hits, mut has) = (Vec::new(), vec![false; terms.len()]);
        segmenter.for_each_token(text, |token| {
            let Some(term) = segmenter.term(token) else { return };
            if let Some(place) = terms.iter().position(|known| known.term == *term) {
                has[place] = true;
                hits.push(token.start..token.end);
            }
        });
        let weight = terms.iter().zip(&has).filter(|(_, has)| **has).map(|(term, _)| term.idf).sum::<f64>();
        found.push((if hits.is_empty() { -1.0 } else { weight }, Passage { text: text.to_owned(), title, hits }));
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|a, b| found[*b].0.total_cmp(&found[*a].0).then(a.cmp(b)));
    let with_hits = order.iter().take_while(|i| found[**i].0 >= 0.0).count();
    order.truncate(most.min(with_hits.max(1)));
    order.sort_unstable();
    order.into_iter().map(|i| found[i].1.clone()).collect()
}
