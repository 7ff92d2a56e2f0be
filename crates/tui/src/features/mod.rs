//! The page of features: the sets of the store, what is in one, and which documents it holds to be alike.

mod columns;
mod health;
mod listing;
mod near;
mod near_view;
mod view;
mod words;

#[cfg(test)]
mod screens;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::{Value, json};

pub use listing::{FeatureBench, FeatureListing, FeatureSet, FeatureState, SearchSummary};

use super::action::Action;
use super::context::PageContext;
use super::desk::{Desk, PageRequest};
use super::errand::Errand;
use super::event::Event;
use super::field::Field;
use super::kit::{ListSheet, Zoom};
use super::page::{Table, turns};
use super::page_state::PageState;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_features::inspect::{Health, NearMeasure};
use near::NearPane;

/// Bytes of a set that is read as soon as it is selected; a larger one only when the user says so.
const AT_ONCE: u64 = 64 << 20;

/// Time between two pictures of how far a reading is.
const PICTURE_EVERY: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FeaturesFocus {
    #[default]
    Sets,
    Below,
}

turns! {
    enum FeaturesView {
        #[default]
        Health = "health",
        Near = "neighbours",
        Files = "files",
    }
}

/// A reading of a set that is under way or has ended.
struct SetReading<T> {
    set: Key,
    errand: Errand<T>,
    done: Arc<AtomicU64>,
    total: u64,
}

impl<T: Send + 'static> SetReading<T> {
    /// Starts the reading. The screen follows the number of rows read of `total`.
    fn start(
        desk: &Desk<'_>,
        name: &str,
        set: Key,
        total: u64,
        work: impl FnOnce(&Key, &dyn Fn(u64), &Ctx) -> Result<T> + Send + 'static,
    ) -> SetReading<T> {
        let done = Arc::new(AtomicU64::new(0));
        let (counter, events) = (done.clone(), desk.events.clone());
        let errand = desk.errand(name, move |ctx| {
            let last = std::cell::Cell::new(Instant::now());
            let progress = |rows: u64| {
                counter.store(rows, Ordering::Relaxed);
                if last.get().elapsed() > PICTURE_EVERY {
                    last.set(Instant::now());
                    // Nobody looks any more when the workbench has been closed.
                    drop(events.send(Event::Back));
                }
            };
            work(&set, &progress, ctx)
        });
        SetReading { set, errand, done, total }
    }
}

impl<T> SetReading<T> {
    /// Rows read, and rows in all.
    fn progress(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total)
    }
}

#[derive(Default)]
pub struct FeaturesPage {
    asked: Option<Errand<FeatureListing>>,
    /// Sets that checks and experiments made, and whether they are listed.
    of_checks: usize,
    shows_checks: bool,
    /// The last listing that came; it stands while another is asked for.
    listing: Option<FeatureListing>,
    sets: ListSheet,
    /// The set to go to as soon as there is a listing.
    wanted: Option<String>,
    focus: FeaturesFocus,
    zoom: Zoom,
    view: FeaturesView,
    /// True if the page has been on the screen: only then are sets read that the cursor rests on.
    visited: bool,
    health: Option<SetReading<Health>>,
    near: NearPane,
    /// The list of the pane below.
    below: ListSheet,
}

impl FeaturesPage {
    /// The document that is being read on the text page: neighbours are those of it from now on.
    pub fn follow(&mut self, part: usize, row: usize) {
        self.near.follow((part, row));
    }

    pub(crate) fn has_sets(&self) -> bool {
        self.listing.as_ref().is_some_and(|listing| !listing.sets.is_empty())
    }

    fn count(&self) -> usize {
        self.listing.as_ref().map_or(0, |listing| listing.sets.len())
    }

    fn selected(&self) -> Option<&FeatureSet> {
        self.listing.as_ref()?.sets.get(self.sets.selected()?)
    }

    /// The selected set, where the store has it and can be opened.
    fn readable(&self) -> Option<(Key, u64)> {
        let open = self.listing.as_ref()?.fault.is_none();
        let set = self.selected().filter(|_| open)?;
        Some((set.id?, set.rows.unwrap_or(0)))
    }

    /// Reads what the view shows, unless it was read, is being read, or has failed. The store can be read while a job writes it.
    fn read(&mut self, desk: &Desk<'_>) {
        let Some(bench) = desk.workspace.features.clone() else { return };
        let Some((set, rows)) = self.readable().filter(|(set, _)| !self.is_read(*set)) else { return };
        match self.view {
            FeaturesView::Files => {}
            FeaturesView::Health => {
                let work = move |set: &Key, progress: &dyn Fn(u64), ctx: &Ctx| (bench.health)(set, progress, ctx);
                self.health = Some(SetReading::start(desk, "health of a feature set", set, rows, work));
            }
            FeaturesView::Near => self.near.read(desk, &bench, set, rows),
        }
    }

    /// True if the data of the view was asked for.
    fn is_read(&self, set: Key) -> bool {
        match self.view {
            FeaturesView::Health => self.health.as_ref().is_some_and(|health| health.set == set),
            FeaturesView::Near => self.near.neighbours(set).is_some() || self.near.found.is_some(),
            FeaturesView::Files => true,
        }
    }

    /// Drops errands that failed, so that they are tried again.
    fn forget_faults(&mut self) {
        self.health = self.health.take().filter(|health| health.errand.fault().is_none());
        self.near.forget_fault();
    }

    /// The same for sets that are read quickly, once the user has been here.
    fn read_if_small(&mut self, desk: &Desk<'_>) {
        if self.visited && self.selected().and_then(|set| set.bytes).is_some_and(|bytes| bytes <= AT_ONCE) {
            self.read(desk);
        }
    }

    /// True if nothing is configured and nothing is there.
    pub(crate) fn is_bare(&self) -> bool {
        self.listing.as_ref().is_some_and(|listing| listing.sets.is_empty())
    }

    /// The summary of the selected set, once it was read.
    fn health(&self) -> Option<&Health> {
        let set = self.selected()?.id?;
        self.health.as_ref().filter(|health| health.set == set)?.errand.get()
    }
}

impl PageState for FeaturesPage {
    fn reload(&mut self, desk: &Desk<'_>) {
        let Some(bench) = &desk.workspace.features else { return };
        let list = bench.listing.clone();
        self.asked = Some(desk.errand("feature sets", move |ctx| list(ctx)));
    }

    fn shown(&mut self, _desk: &Desk<'_>) {
        self.visited = true;
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, _: &PageContext<'_>) -> bool {
        match action {
            Action::FeatureReread => true,
            Action::FeatureChecks => self.of_checks > 0,
            Action::FeatureMeasure | Action::FeaturePast => self.has_sets() && self.view == FeaturesView::Near,
            _ => self.has_sets(),
        }
    }

    fn act(&mut self, action: Action, _area: Rect, desk: &Desk<'_>) {
        let list = if self.focus == FeaturesFocus::Sets { &mut self.sets } else { &mut self.below };
        if list.act(action) {
            return;
        }
        match action {
            Action::FeatureReread => {
                self.reload(desk);
                self.forget_faults();
            }
            Action::FeatureChecks => {
                self.shows_checks = !self.shows_checks;
                self.reload(desk);
            }
            Action::FeatureView => self.view = self.view.next(),
            Action::FeatureOpen if self.focus == FeaturesFocus::Sets => {
                self.focus = FeaturesFocus::Below;
                self.forget_faults();
                self.read(desk);
            }
            Action::FeatureOpen => {
                let set = self.readable().map(|(set, _)| set);
                let chosen = match self.below.selected() {
                    Some(marked) if self.view == FeaturesView::Near => self.near.choose(set, marked),
                    _ => None,
                };
                if let Some((part, row)) = chosen {
                    desk.order(PageRequest::Read(part, row, None));
                }
                self.forget_faults();
                self.read(desk);
            }
            Action::FeatureFind => {
                (self.view, self.focus) = (FeaturesView::Near, FeaturesFocus::Below);
                self.near.type_words();
            }
            Action::FeatureMeasure => {
                self.near.measure = match self.near.measure {
                    NearMeasure::Cosine => NearMeasure::Euclid,
                    NearMeasure::Euclid => NearMeasure::Cosine,
                };
                self.read(desk);
            }
            Action::FeaturePast => {
                self.near.any_time = !self.near.any_time;
                self.read(desk);
            }
            Action::Back if self.near.leave_list() => {}
            Action::Back => self.focus = FeaturesFocus::Sets,
            _ => {}
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        if let Some(mut listing) = Errand::take_new(&mut self.asked) {
            let of_checks = |set: &FeatureSet| set.state == FeatureState::OfChecks;
            self.of_checks = listing.sets.iter().filter(|set| of_checks(set)).count();
            if !self.shows_checks {
                listing.sets.retain(|set| !of_checks(set));
            }
            self.listing = Some(listing);
            self.sets.renew();
        }
        if let Some(listing) = &self.listing {
            columns::fill(&mut self.sets, listing, desk);
            if let Some(name) = self.wanted.take() {
                self.sets.go_to(&name);
            }
        }
        self.sets.arrange(view::list_above(self, area));
        if let Some(health) = &mut self.health {
            health.errand.look();
        }
        if self.near.look() {
            self.read(desk);
        }
        self.read_if_small(desk);
        let list = view::list_below(self, area);
        let mut below = std::mem::take(&mut self.below);
        view::fill_below(self, &mut below, list.width, desk);
        below.arrange(list);
        self.below = below;
    }

    fn waiting(&self) -> bool {
        let health = self.health.as_ref().is_some_and(|health| health.errand.waiting());
        self.asked.as_ref().is_some_and(Errand::waiting) || health || self.near.waiting()
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom)
    }

    fn is_typing(&self) -> bool {
        self.near.field.is_some()
    }

    fn field(&mut self) -> Option<&mut Field> {
        self.near.field.as_mut()
    }

    fn accept(&mut self, desk: &Desk<'_>) {
        self.near.search(desk);
        self.read(desk);
    }

    fn leave_field(&mut self, _desk: &Desk<'_>) {
        self.near.field = None;
    }

    fn can_go_back(&self) -> bool {
        self.focus == FeaturesFocus::Below || self.sets.is_open() || self.below.is_open()
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        let above = view::list_above(self, area);
        if !above.is_empty() && at.y <= above.bottom() {
            self.focus = FeaturesFocus::Sets;
            self.sets.click(at);
        } else {
            self.focus = FeaturesFocus::Below;
            self.below.click(at);
        }
    }

    fn table(&self, _desk: &Desk<'_>) -> Option<Table> {
        self.listing.as_ref()?;
        Some(if self.focus == FeaturesFocus::Sets { self.sets.copied() } else { self.below.copied() })
    }

    fn section(&self, _desk: &Desk<'_>) -> Option<(&'static str, String)> {
        Some(("feature", self.selected()?.name.clone()))
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        let bench = desk.workspace.features.as_ref()?;
        Some(format!("inkstone store stats {} --headless", bench.config))
    }

    fn remember(&self) -> Value {
        json!({
            "set": self.selected().map(|set| set.name.clone()),
            "table": self.sets.remember(),
            "view": self.view,
            "checks": self.shows_checks,
            "distance": self.near.measure == NearMeasure::Euclid,
            "any_time": self.near.any_time,
            "document": self.near.place,
        })
    }

    fn recall(&mut self, memory: &Value) {
        self.wanted = memory["set"].as_str().map(str::to_owned);
        self.sets.recall(&memory["table"]);
        self.view = serde_json::from_value(memory["view"].clone()).unwrap_or(self.view);
        self.shows_checks = memory["checks"] == true;
        if memory["distance"] == true {
            self.near.measure = NearMeasure::Euclid;
        }
        self.near.any_time = memory["any_time"] == true;
        self.near.place = serde_json::from_value(memory["document"].clone()).unwrap_or_default();
    }
}
