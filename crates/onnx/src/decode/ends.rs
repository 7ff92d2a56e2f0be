//! Where a text ends: with a token, behind a stop word, or with the last token of a choice.

use super::SearchParams;

/// The text of some tokens.
pub(crate) type Decode<'a> = &'a dyn Fn(&[u32]) -> String;

pub(super) struct Ends<'a> {
    params: &'a SearchParams,
    decode: Decode<'a>,
}

impl<'a> Ends<'a> {
    pub(super) fn new(params: &'a SearchParams, decode: Decode<'a>) -> Ends<'a> {
        Ends { params, decode }
    }

    /// True if nothing comes behind these tokens, which were written after the prompt.
    pub(super) fn end(&self, written: &[u32]) -> bool {
        if written.last().is_some_and(|last| self.params.eos.contains(last)) {
            return true;
        }
        let choices = &self.params.choices;
        if self.params.eos.is_empty() && choices.iter().any(|choice| choice == written) {
            return true;
        }
        !self.params.stops.is_empty() && {
            let text = (self.decode)(written);
            self.params.stops.iter().any(|stop| text.contains(stop.as_str()))
        }
    }
}

/// Cuts a text behind the first of its stop words.
pub(crate) fn cut_behind(text: &mut String, stops: &[String]) {
    let ends = stops.iter().filter_map(|stop| text.find(stop.as_str()).map(|at| at + stop.len()));
    if let Some(end) = ends.min() {
        text.truncate(end);
    }
}
