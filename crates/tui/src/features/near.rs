//! The pane of neighbours: which document is asked for, what lies near to it, and the search for another one.

use super::SetReading;
use super::listing::FeatureBench;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::field::Field;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_features::inspect::{self, Found, NearMeasure, Neighbours, Query};

/// Neighbours that are listed.
const MOST: usize = 50;

/// Documents that a search lists.
const MOST_FOUND: usize = 200;

#[derive(Default)]
pub(super) struct NearPane {
    /// The document asked for; none: the latest that has a row.
    pub(super) place: Option<(usize, usize)>,
    pub(super) measure: NearMeasure,
    /// True if later documents count as neighbours.
    pub(super) any_time: bool,
    /// The neighbours, and what was asked to find them.
    pub(super) reading: Option<(Query, SetReading<Neighbours>)>,
    /// Words that are being typed.
    pub(super) field: Option<Field>,
    /// Documents found by words, with these words; they are listed until one is chosen.
    pub(super) found: Option<(String, Errand<Found>)>,
    /// The neighbour that was opened from here: it does not become the document asked for.
    opened: Option<(usize, usize)>,
}

impl NearPane {
    /// Makes a document the one asked for, unless it was opened from here.
    pub(super) fn follow(&mut self, place: (usize, usize)) {
        if self.opened.take() != Some(place) {
            self.place = Some(place);
        }
    }

    /// Text of the question. Different questions have different texts.
    pub(super) fn question(&self) -> String {
        format!("{:?}", self.query())
    }

    fn query(&self) -> Query {
        Query { place: self.place, measure: self.measure, past_only: !self.any_time, most: MOST }
    }

    pub(super) fn neighbours(&self, set: Key) -> Option<&SetReading<Neighbours>> {
        self.reading.as_ref().filter(|(query, reading)| reading.set == set && *query == self.query()).map(|(_, r)| r)
    }

    pub(super) fn read(&mut self, desk: &Desk<'_>, bench: &FeatureBench, set: Key, rows: u64) {
        let (query, find, asked) = (self.query(), bench.neighbours.clone(), self.query());
        let work = move |set: &Key, progress: &dyn Fn(u64), ctx: &Ctx| find(set, &asked, progress, ctx);
        self.reading = Some((query, SetReading::start(desk, "neighbours", set, rows, work)));
    }

    /// Drops errands that failed, so that they are tried again.
    pub(super) fn forget_fault(&mut self) {
        self.reading = self.reading.take().filter(|(_, reading)| reading.errand.fault().is_none());
    }

    pub(super) fn waiting(&self) -> bool {
        let found = self.found.as_ref().is_some_and(|(_, found)| found.waiting());
        found || self.reading.as_ref().is_some_and(|(_, reading)| reading.errand.waiting())
    }

    /// Takes in the answers of errands; true where a search had one result, which needs no choice.
    pub(super) fn look(&mut self) -> bool {
        if let Some((_, reading)) = &mut self.reading {
            reading.errand.look();
        }
        let Some((_, found)) = &mut self.found else { return false };
        let came = found.look();
        let only = found.get().filter(|found| came && found.documents.len() == 1).map(|found| found.documents[0].place);
        if only.is_some() {
            (self.place, self.found) = (only, None);
        }
        only.is_some()
    }

    pub(super) fn type_words(&mut self) {
        let words = self.found.as_ref().map(|(words, _)| words.clone()).unwrap_or_default();
        self.field = Some(Field::new(words));
    }

    /// Looks for documents with the words typed; without words the latest document is asked for.
    pub(super) fn search(&mut self, desk: &Desk<'_>) {
        let Some(field) = self.field.take() else { return };
        let words = field.text().trim().to_owned();
        if words.is_empty() {
            (self.place, self.found) = (None, None);
            return;
        }
        let (clean, wanted) = (desk.workspace.project.clean(), words.clone());
        let found = desk.errand("find a document", move |ctx| inspect::find(&clean, &wanted, MOST_FOUND, ctx));
        self.found = Some((words, found));
    }

    /// Leaves the list of documents found; true if there was one.
    pub(super) fn leave_list(&mut self) -> bool {
        self.found.take().is_some()
    }

    /// Enter: of the documents found the marked one is asked for from now on; of the neighbours the marked one is to be read.
    pub(super) fn choose(&mut self, set: Option<Key>, marked: usize) -> Option<(usize, usize)> {
        if let Some((_, found)) = &self.found {
            let chosen = found.get().and_then(|found| found.documents.get(marked));
            self.place = chosen.map(|document| document.place).or(self.place);
            self.found = None;
            return None;
        }
        let neighbours = self.neighbours(set?)?.errand.get()?;
        let place = neighbours.found.get(marked)?.document.place;
        self.opened = Some(place);
        Some(place)
    }
}
