//! Asking for the facts of documents as they are needed: details of parts, scores of features, notes, and what is counted of a column.

use std::sync::Arc;

use inkstone_base::data::Key;

use super::catalogue::PartSlot;
use super::facts::{Notes, PartDetails, Scores};
use super::filter::Needs;
use super::load::Loading;
use super::order::By;
use super::{CorpusPage, columns, notes, words as own};
use crate::desk::{Desk, PageRequest};
use crate::errand::Errand;
use crate::field::Field;
use crate::kit::{Content, Group, Overlay};

/// Bytes of a corpus whose details are read as soon as the page is shown; of a larger one only what is in sight or asked for.
const AT_ONCE: u64 = 512 << 20;

/// A column of a feature in the store, whose values are a column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoredFeature {
    /// The name of the feature, or `tone.positive` for a column behind the first.
    pub name: Arc<str>,
    /// Id of the set.
    pub id: Key,
    /// The column in its rows, from 0.
    pub column: usize,
}

/// Frequencies or a summary of a column, to be shown over the table once the facts that the column needs are there.
pub(super) struct Count {
    pub by: By,
    /// True for frequencies, false for a summary.
    frequencies: bool,
    errand: Option<Errand<Option<Content>>>,
}

/// Facts on their way.
#[derive(Default)]
pub(super) struct Asked {
    features: Option<Errand<Vec<ScoredFeature>>>,
    details: Option<Loading<PartDetails>>,
    /// Parts whose details had been read when the version of the facts was last raised.
    parts_counted: usize,
    scores: Vec<(Arc<str>, Errand<Scores>)>,
    /// Features that could not be read.
    failed: Vec<Arc<str>>,
    notes: Option<Errand<Notes>>,
    /// The note that is being written.
    writing: Option<Errand<Notes>>,
    pub count: Option<Count>,
}

impl Asked {
    /// True if details or scores are on their way.
    pub(super) fn brings_facts(&self) -> bool {
        self.details.is_some() || !self.scores.is_empty()
    }

    pub(super) fn waiting(&self) -> bool {
        self.brings_facts()
            || self.features.is_some()
            || self.notes.is_some()
            || self.writing.is_some()
            || self.count.is_some()
    }
}

impl CorpusPage {
    /// Asks for the names of features and for the notes.
    pub(super) fn ask_anew(&mut self, desk: &Desk<'_>) {
        let path = desk.workspace.project.notes();
        self.asked.notes = Some(desk.errand("read the notes", move |_| notes::read(&path)));
        match &desk.workspace.features {
            Some(bench) => {
                let scored = bench.scored.clone();
                self.asked.features = Some(desk.errand("columns of features", move |ctx| scored(ctx)));
            }
            None => self.recalled = None,
        }
    }

    /// The facts that the filter, the order, the columns and a count ask for. Details of columns alone are read as they come into sight.
    fn needs(&self) -> Needs {
        let mut needs = self.filtering.needs();
        let counted = self.asked.count.as_ref().map(|count| count.by.clone());
        let order = self.order().by;
        for by in counted.into_iter().chain([order]) {
            needs.details |= by.is_detail();
            if let By::Score(name) = by {
                needs.scores.push(name);
            }
        }
        let shown = |name: &Arc<str>| self.table_head.layout.uses(&By::Score(name.clone()).id());
        needs.scores.extend(self.features.iter().map(|feature| feature.name.clone()).filter(shown));
        needs
    }

    /// Asks for the facts that are needed; `rows` lines are in sight.
    pub(super) fn ask_for_facts(&mut self, rows: usize, desk: &Desk<'_>) {
        let needs = self.needs();
        if self.catalogue.is_complete() && self.catalogue.len() > 0 {
            self.want_details(&needs, rows, desk);
            self.want_scores(&needs, desk);
        }
        self.arrange_count(&needs, desk);
    }

    /// Takes in the facts that have come.
    pub(super) fn take_facts(&mut self, desk: &Desk<'_>) {
        let say = |text: String| desk.order(PageRequest::Say(text));
        if let Some(found) = Errand::arrived(&mut self.asked.features) {
            let found = found.unwrap_or_default();
            if found != self.features {
                self.features = found;
                self.asked.failed.clear();
                self.catalogue.facts.forget();
            }
            self.filter_of_session(desk);
        }
        match Errand::arrived(&mut self.asked.notes) {
            Some(Ok(notes)) if *self.catalogue.facts.notes != notes => {
                self.catalogue.facts.notes = Arc::new(notes);
                self.catalogue.facts.version += 1;
            }
            Some(Err(fault)) => say(fault.to(desk.language).to_owned()),
            _ => {}
        }
        match Errand::arrived(&mut self.asked.writing) {
            Some(Ok(notes)) => {
                self.catalogue.facts.notes = Arc::new(notes);
                self.catalogue.facts.version += 1;
                say(desk.say(own::NOTED).to_owned());
            }
            Some(Err(fault)) => say(fault.to(desk.language).to_owned()),
            None => {}
        }
        if let Some(details) = &mut self.asked.details {
            let (parts, ended) = details.take();
            for (part, details) in parts {
                self.catalogue.facts.take_details(part, details);
            }
            let read = self.catalogue.facts.parts_read();
            if read > self.asked.parts_counted && (ended || read >= 2 * self.asked.parts_counted) {
                self.asked.parts_counted = read;
                self.catalogue.facts.version += 1;
            }
            if ended {
                self.asked.details = None;
            }
        }
        for (name, mut errand) in std::mem::take(&mut self.asked.scores) {
            if !errand.look() {
                self.asked.scores.push((name, errand));
                continue;
            }
            match errand.get_mut().map(std::mem::take) {
                Some(scores) if scores.fits(self.catalogue.rows()) => self.catalogue.facts.take_scores(name, scores),
                Some(_) => {
                    say(format!("{name}: {}", desk.say(own::OUTGROWN)));
                    self.asked.failed.push(name);
                }
                None => {
                    say(format!("{name}: {}", errand.error().map_or("", |fault| fault.to(desk.language))));
                    self.asked.failed.push(name);
                }
            }
        }
    }

    /// Reads the filter of an earlier session, once the features are known that it may speak of.
    fn filter_of_session(&mut self, desk: &Desk<'_>) {
        if let Some(filter) = self.recalled.take() {
            let before = std::mem::replace(&mut self.filter, Field::new(filter));
            self.filter_anew(desk);
            if self.filter_fault.take().is_some() {
                self.filter = before;
            }
            self.to_top = false;
        }
    }

    fn want_details(&mut self, needs: &Needs, rows: usize, desk: &Desk<'_>) {
        let lines = self.cursor.top..self.cursor.top + rows;
        let mut in_sight = lines.filter_map(|line| self.catalogue.place(self.number(line)?)).map(|place| place.0);
        let lacks = |part: &usize| {
            matches!(self.catalogue.slot(*part), PartSlot::Read(_)) && !self.catalogue.facts.has_details(*part)
        };
        let wanted = in_sight.find(lacks).filter(|_| self.on_screen);
        if let Some(loading) = &self.asked.details {
            if let Some(part) = wanted {
                loading.want(part);
            }
            return;
        }
        let small =
            || self.index().is_some_and(|index| index.files.iter().map(|file| file.bytes).sum::<u64>() <= AT_ONCE);
        let all = needs.details || self.on_screen && small();
        let left: Vec<bool> = (0..self.catalogue.parts()).map(|part| lacks(&part)).collect();
        if (wanted.is_some() || all && left.contains(&true))
            && let Some(index) = self.index().cloned()
        {
            let catalogue = self.catalogue.clone();
            let read = move |part: usize| match catalogue.slot(part) {
                // A part that cannot be read has no details; the table says why.
                PartSlot::Read(listed) => PartDetails::read(&index, part, listed).unwrap_or_default(),
                _ => PartDetails::default(),
            };
            self.asked.parts_counted =
                if self.catalogue.facts.parts_read() == 0 { 0 } else { self.asked.parts_counted };
            self.asked.details = Some(Loading::begin(desk, "read the details", left, (wanted, all), read));
        }
    }

    fn want_scores(&mut self, needs: &Needs, desk: &Desk<'_>) {
        let Some(bench) = &desk.workspace.features else { return };
        for name in &needs.scores {
            let asked = self.asked.scores.iter().any(|(other, _)| other == name) || self.asked.failed.contains(name);
            let feature = self.features.iter().find(|feature| feature.name == *name);
            if let Some(feature) = feature.filter(|_| !asked && self.catalogue.facts.scores(name).is_none()) {
                let (read, id, column) = (bench.scores.clone(), feature.id, feature.column);
                let errand = desk.errand("scores of a feature", move |ctx| Ok(Scores::new(read(&id, column, ctx)?)));
                self.asked.scores.push((name.clone(), errand));
            }
        }
    }

    /// Counts a column, or the one of which something is shown, for what lies over the table.
    pub(super) fn count_column(&mut self, by: By, frequencies: bool) {
        self.asked.count = Some(Count { by, frequencies, errand: None });
    }

    fn arrange_count(&mut self, needs: &Needs, desk: &Desk<'_>) {
        let loading = needs.details && self.catalogue.facts.parts_read() < self.catalogue.parts_there();
        let waits = loading || !self.asked.scores.is_empty() || self.listed.waiting();
        let Some(count) = &mut self.asked.count else { return };
        if count.errand.is_none() && !waits {
            let rows: Vec<u32> = match &self.listed.now {
                Some(listing) => listing.rows.clone(),
                None => (0..self.catalogue.len() as u32).collect(),
            };
            let (catalogue, by, frequencies) = (self.catalogue.clone(), count.by.clone(), count.frequencies);
            let language = desk.language;
            let work = desk.errand("count a column", move |ctx| {
                columns::count(&catalogue, &rows, &by, language, frequencies, ctx).map(Some)
            });
            count.errand = Some(work);
        }
        if let Some(found) = Errand::arrived(&mut count.errand) {
            self.asked.count = None;
            match found {
                Ok(Some(content)) => self.table_head.over = Some(Overlay::new(content)),
                Ok(None) => {}
                Err(fault) => desk.order(PageRequest::Say(fault.to(desk.language).to_owned())),
            }
        }
    }

    /// Lists the documents of a group of a column alone, by a condition of the filter.
    pub(super) fn keep_group(&mut self, column: &str, group: &Group, desk: &Desk<'_>) {
        let condition = By::named(column).and_then(|by| columns::condition(&by, group, desk.language));
        let Some(condition) = condition else {
            return desk.order(PageRequest::Say(desk.say(own::NO_SUCH_FILTER).to_owned()));
        };
        let filter = [self.filter.text().trim(), &condition].into_iter().filter(|text| !text.is_empty());
        self.filter = Field::new(filter.collect::<Vec<_>>().join(" "));
        self.table_head.over = None;
        self.filter_anew(desk);
    }

    /// Writes the note that was typed on the document at the cursor.
    pub(super) fn write_note(&mut self, desk: &Desk<'_>) {
        let place = self.number(self.cursor.at).and_then(|n| self.catalogue.place(n));
        let (Some(place), Some(index)) = (place, self.index().cloned()) else { return };
        let (path, shelf, note) = (desk.workspace.project.notes(), self.shelf.clone(), self.note.text().to_owned());
        self.asked.writing = Some(desk.errand("write a note", move |_| {
            let document = shelf.document(&index, place)?;
            notes::write(&path, &document.doc_id, &note)
        }));
    }
}
