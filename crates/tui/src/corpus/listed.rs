//! The list of the table, and the thread that makes it anew after a change.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::catalogue::Catalogue;
use super::listing::{Listing, Recipe};
use super::order::{Ranks, SortOrder};
use crate::desk::Desk;
use crate::errand::Errand;

use inkstone_base::language::Message;

/// The state a list was made from: the user's wish, and how much of the corpus was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ListState {
    pub wish: Wish,
    /// Parts that were read.
    pub read: usize,
    /// Documents found by the search.
    pub found: usize,
    /// True if no more parts are to come.
    pub complete: bool,
    /// Version of the facts that the list is made of; 0 where it needs none.
    pub facts: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    /// Number of the list of files.
    pub list: u64,
    /// The filter as it is typed; empty without one.
    pub filter: String,
    /// Number of the search; none without one.
    pub search: Option<u64>,
    pub order: SortOrder,
    pub folded: bool,
    pub open: BTreeSet<u32>,
    pub only_marked: bool,
}

impl Wish {
    /// True if all documents are listed in the order of the corpus, which takes no list.
    fn is_plain(&self) -> bool {
        let plain = self.order == SortOrder::default() && !self.folded && !self.only_marked;
        plain && self.filter.trim().is_empty() && self.search.is_none()
    }
}

#[derive(Default)]
pub(super) struct DocumentList {
    /// None while all documents are listed in the order of the corpus.
    pub now: Option<Listing>,
    /// The state that `now` was made from.
    made_from: ListState,
    errand: Option<(ListState, Errand<Listing>)>,
    /// The reason why there is no list.
    pub fault: Option<Message>,
    /// Ranks of the columns, and how much of the corpus they are of.
    ranks: (u64, usize, Arc<Ranks>),
    /// Computes ranks of the whole corpus while nobody waits for them.
    preparing: Option<Errand<()>>,
}

impl DocumentList {
    /// True if the list is of the whole corpus.
    pub(super) fn is_complete(&self) -> bool {
        self.made_from.complete && self.errand.is_none()
    }

    pub(super) fn waiting(&self) -> bool {
        self.errand.is_some()
    }

    /// Takes in a list that has been made, and has one made where another is asked for; true when the list has changed.
    pub(crate) fn arrange(
        &mut self,
        state: ListState,
        catalogue: &Catalogue,
        recipe: impl FnOnce() -> Recipe,
        desk: &Desk<'_>,
    ) -> bool {
        let mut changed = false;
        if let Some((made_of, mut errand)) = self.errand.take() {
            if errand.look() {
                changed = true;
                self.fault = errand.error().cloned();
                self.now = errand.get_mut().map(std::mem::take).or_else(|| Some(Listing::default()));
                self.made_from = made_of;
            } else {
                self.errand = Some((made_of, errand));
            }
        }
        if state.complete && self.rank(&state) {
            let (catalogue, ranks) = (catalogue.clone(), self.ranks.2.clone());
            self.preparing = Some(desk.errand("rank the columns", move |ctx| {
                ctx.install(|| ranks.prepare(&catalogue));
                Ok(())
            }));
        }
        if state.wish.is_plain() {
            changed |= self.now.take().is_some();
            (self.errand, self.fault, self.made_from) = (None, None, state);
            return changed;
        }
        let under_way = self.errand.as_ref().map_or(&self.made_from, |(state, _)| state);
        let stale = if under_way.wish == state.wish {
            // A list of more of the same waits until the one under way is there; a growing table is not listed for each part.
            let grown = state.read > under_way.read && (state.complete || state.read >= 2 * under_way.read);
            self.errand.is_none() && (grown || state.found > under_way.found || state.facts != under_way.facts)
        } else {
            true
        };
        if stale {
            self.rank(&state);
            let (catalogue, recipe, ranks) = (catalogue.clone(), recipe(), self.ranks.2.clone());
            let errand = desk.errand("list", move |ctx| Listing::make(&catalogue, &recipe, &ranks, ctx));
            self.errand = Some((state, errand));
        }
        changed
    }

    /// Clears the ranks where they belong to another corpus, or to less of it; true where it did.
    fn rank(&mut self, state: &ListState) -> bool {
        let stale = (self.ranks.0, self.ranks.1) != (state.wish.list, state.read);
        if stale {
            (self.ranks, self.preparing) = ((state.wish.list, state.read, Arc::default()), None);
        }
        stale
    }
}
