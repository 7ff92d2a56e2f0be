//! Putting the page in order after each event: what the threads have brought is taken in, and what comes into view is asked for.

use std::sync::Arc;

use ratatui::layout::Rect;

use super::catalogue::PartSlot;
use super::document::{Library, Wanted};
use super::load::Loading;
use super::{CorpusPage, CorpusSearch, layout, reader_view};
use crate::desk::Desk;
use crate::field::Field;

impl CorpusPage {
    /// Takes in the files of the corpus, and has those read that are new.
    pub(super) fn take_files(&mut self, desk: &Desk<'_>) {
        let Some(errand) = &mut self.listing_files else { return };
        if !errand.look() {
            return;
        }
        let found = errand.get_mut().map(std::mem::take);
        let fault = errand.error().cloned().unwrap_or_default();
        self.listing_files = None;
        let Some(index) = found else {
            self.index = Some(Err(fault));
            return;
        };
        if self.index().is_some_and(|old| **old == index) {
            return;
        }
        self.list += 1;
        self.to_top |= self.catalogue.len() == 0;
        let old = self.index().map(|old| (&**old, &self.catalogue));
        let (mut catalogue, index) = (index.catalogue(old), Arc::new(index));
        catalogue.facts = std::mem::take(&mut self.catalogue.facts);
        catalogue.facts.forget();
        let loading = (!catalogue.is_complete()).then(|| Loading::start(index.clone(), &catalogue, desk));
        (self.catalogue, self.loading, self.index) = (catalogue, loading, Some(Ok(index)));
        self.open.clear();
        self.anchor = self.go_to.take().and_then(|place| self.catalogue.number(place)).or(self.anchor);
        // The search of an earlier session, and one typed while the files are listed.
        let to_top = self.to_top && self.anchor.is_none();
        self.search_anew(desk);
        self.to_top = to_top;
    }

    /// Takes in the list, and keeps the cursor on its document or goes to the top.
    pub(super) fn arrange_list(&mut self, desk: &Desk<'_>) {
        let here = self.anchor.or_else(|| self.number(self.cursor.at));
        let (state, recipe) = (self.list_state(), self.recipe());
        if self.listed.arrange(state, &self.catalogue, || recipe, desk) {
            let line = match (&self.listed.now, here) {
                _ if self.to_top => None,
                (Some(listing), Some(here)) => u32::try_from(here).ok().and_then(|here| listing.line_of(here)),
                (None, here) => here,
                (_, None) => None,
            };
            // A document that was gone to comes into the list with its part.
            self.anchor = self.anchor.filter(|_| line.is_none() && !self.catalogue.is_complete());
            self.cursor.at = line.unwrap_or(0);
            let searching = self.search.as_ref().is_some_and(CorpusSearch::is_under_way);
            self.to_top &= searching || !self.listed.is_complete() || self.asked.brings_facts();
        }
        if let Some(anchor) = self.anchor.filter(|_| self.listed.now.is_none()) {
            self.cursor.at = anchor;
        }
        self.seek(desk);
    }

    /// Goes to the document that is sought, once there is a list that has it.
    fn seek(&mut self, desk: &Desk<'_>) {
        let Some(sought) = self.sought.filter(|_| !self.listed.waiting() && self.catalogue.is_complete()) else {
            return;
        };
        let line = match &self.listed.now {
            Some(listing) => listing.line_of(sought),
            None => Some(sought as usize).filter(|line| *line < self.catalogue.len()),
        };
        let asked = self.search.is_some() || !self.filter.text().is_empty();
        let hidden = asked || self.folded || self.only_marked;
        if line.is_none() && hidden {
            self.end_search();
            (self.filter, self.folded, self.only_marked) = (Field::default(), false, false);
            self.filter_anew(desk);
            let (state, recipe) = (self.list_state(), self.recipe());
            self.listed.arrange(state, &self.catalogue, || recipe, desk);
        } else {
            (self.cursor.at, self.sought) = (line.unwrap_or(self.cursor.at), None);
        }
    }

    /// Asks for the part of the first line in sight that has not been read.
    pub(super) fn want_what_is_in_sight(&self, rows: usize) {
        let Some(loading) = &self.loading else { return };
        let lines = self.cursor.top..self.cursor.top + rows;
        let mut parts = lines.filter_map(|line| self.catalogue.place(self.number(line)?)).map(|place| place.0);
        let wanted = parts.find(|part| matches!(self.catalogue.slot(*part), PartSlot::Unread));
        if let Some(part) = wanted {
            loading.want(part);
        }
    }

    /// Takes in the document of the cursor, and asks for it.
    pub(super) fn arrange_reader(&mut self, area: Rect, desk: &Desk<'_>) {
        // A document that cannot be read has its fault on its line.
        let number = self.number(self.cursor.at).filter(|_| self.fault_here().is_none());
        let place = number.and_then(|n| self.catalogue.place(n));
        let wanted = place.map(|place| Wanted {
            unmarked: false,
            list: self.list,
            place,
            cut: self.cut,
            width: (area.width as usize).saturating_sub(2 + layout::GUTTER),
            pattern: self.search.as_ref().map(|search| search.pattern.clone()),
        });
        let (index, shelf) = (self.index().cloned(), self.shelf.clone());
        let library = || {
            let (tokeniser, marker) = (desk.workspace.tokeniser.clone(), desk.workspace.marker.clone());
            Some(Library { index: index?, shelf, tokeniser, marker })
        };
        self.reader.arrange(wanted, library, reader_view::room(area), desk);
    }
}
