//! Draws the page of features: the list of sets, and below it what the view shows of the one selected.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::listing::{FeatureListing, FeatureSet, FeatureState, SearchSummary};
use super::words as w;
use super::{FeaturesFocus, FeaturesPage, FeaturesView, SetReading, health, near_view};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::kit::{Cell, ListSheet, SheetRow, number, text};
use crate::{figures, look, sentences, width, words};
use inkstone_base::terms::term;
use inkstone_store::BatchEntry;

/// Lines of the pane of files above its list, without that of a search.
const FACTS: u16 = 4;

/// The list of sets, and the pane below.
fn panes(state: &FeaturesPage, page: Rect) -> [Rect; 2] {
    let wanted = u16::try_from(state.count()).unwrap_or(u16::MAX).saturating_add(3);
    let above = wanted.clamp(6, (page.height * 9 / 20).max(6));
    let panes = Layout::vertical([Constraint::Length(above), Constraint::Min(0)]).areas(page);
    state.zoom.areas(panes, state.focus as usize, page)
}

/// The inside of the list of sets.
pub(super) fn list_above(state: &FeaturesPage, page: Rect) -> Rect {
    look::inside(panes(state, page)[0])
}

/// The list in the pane below, its line of titles with it.
pub(super) fn list_below(state: &FeaturesPage, page: Rect) -> Rect {
    let inner = look::inside(panes(state, page)[1]);
    match state.view {
        FeaturesView::Health => health::areas(inner)[1],
        FeaturesView::Near => near_view::areas(inner)[1],
        FeaturesView::Files => files_areas(inner, state.selected())[1],
    }
}

fn files_areas(inner: Rect, set: Option<&FeatureSet>) -> [Rect; 2] {
    let facts = FACTS + u16::from(set.is_some_and(|set| set.search.is_some()));
    Layout::vertical([Constraint::Length(facts), Constraint::Min(0)]).areas(inner)
}

pub(crate) fn draw(context: &PageContext<'_>, state: &FeaturesPage, frame: &mut Frame<'_>, page: Rect) {
    let fault = state.asked.as_ref().and_then(Errand::fault);
    let text = match (&state.listing, fault) {
        _ if context.workspace.features.is_none() => vec![(context.say(w::NO_BENCH), look::PLAIN)],
        (None, Some(fault)) => vec![(fault, look::BAD), (context.say(w::AGAIN), look::NOTE)],
        (None, None) => vec![(context.say(words::READING), look::DIM)],
        (Some(listing), None) if listing.sets.is_empty() => vec![(context.say(w::NO_FEATURES), look::PLAIN)],
        (Some(listing), _) => {
            let [above, below] = panes(state, page);
            draw_sets(context, state, listing, fault, frame, above);
            return draw_below(context, state, listing, frame, below);
        }
    };
    let inner = look::framed(look::pane(format!(" {} ", context.say(w::SETS)), true), frame, page);
    sentences::draw(text, frame, inner);
}

fn draw_sets(
    context: &PageContext<'_>,
    state: &FeaturesPage,
    listing: &FeatureListing,
    fault: Option<&str>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let mut title = format!(
        " {} {} / {} · {} {}",
        context.say(w::SETS),
        state.sets.line() + 1,
        state.sets.len(),
        figures::count(listing.documents),
        context.say(w::DOCUMENTS)
    );
    if state.of_checks > 0 && !state.shows_checks {
        title += &format!(" · {} {}", context.say(w::HIDDEN), state.of_checks);
    }
    if let Some(stats) = &listing.stats {
        title += &format!(" · {} {}", context.say(w::STORE), bytes(stats.file_bytes));
    }
    title += &state.sets.about();
    if state.asked.as_ref().is_some_and(Errand::waiting) {
        title += &format!(" · {}", context.say(words::READING));
    }
    let room = (area.width as usize).saturating_sub(4);
    let mut block = look::pane(format!("{} ", width::cut(&title, room)), state.focus == FeaturesFocus::Sets);
    let held = listing.fault.is_some().then(|| context.say(w::UNREADABLE)).or(fault);
    if let Some(held) = held {
        block = block.title_bottom(Line::styled(format!(" {} ", width::cut(held, room)), look::NOTE));
    }
    let inner = look::framed(block, frame, area);
    state.sets.draw(frame, inner);
}

pub(super) fn style_of(state: FeatureState) -> Style {
    match state {
        FeatureState::Current => look::PLAIN,
        FeatureState::Stale => look::NOTE,
        FeatureState::Missing | FeatureState::OfChecks | FeatureState::Unused => look::DIM,
    }
}

fn draw_below(
    context: &PageContext<'_>,
    state: &FeaturesPage,
    listing: &FeatureListing,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let names = [(FeaturesView::Health, w::HEALTH), (FeaturesView::Near, w::NEAR), (FeaturesView::Files, w::FILES)];
    let mut title = look::tabs(names.map(|(view, name)| (context.say(name), view == state.view)));
    let set = state.selected();
    title.push(Span::raw(set.map_or_else(String::new, |set| format!(" · {} ", width::cut(&set.name, 40)))));
    let inner = look::framed(look::pane(Line::from(title), state.focus == FeaturesFocus::Below), frame, area);
    let Some(set) = set else { return };
    let note = match (state.view, set.id) {
        (_, None) => Some(w::NOT_MADE),
        (FeaturesView::Files, _) => None,
        _ if listing.fault.is_some() => Some(w::NOT_READ),
        _ => None,
    };
    match (note, state.view) {
        // Words can be typed and documents found whatever becomes of the store.
        (_, FeaturesView::Near) if state.near.field.is_some() || state.near.found.is_some() => {
            near_view::draw(context, state, set, frame, inner);
        }
        (Some(note), _) => {
            let fault = listing.fault.as_deref().map(|fault| (fault, look::DIM));
            sentences::draw([(context.say(note), look::NOTE)].into_iter().chain(fault), frame, inner);
        }
        (None, FeaturesView::Health) => health::draw(context, state, set, frame, inner),
        (None, FeaturesView::Near) => near_view::draw(context, state, set, frame, inner),
        (None, FeaturesView::Files) => draw_files(context, state, listing, set, frame, inner),
    }
}

/// Says that a reading is under way, or why it failed; false where it has come.
pub(super) fn draw_outstanding<T>(
    context: &PageContext<'_>,
    name: &str,
    reading: &SetReading<T>,
    frame: &mut Frame<'_>,
    inner: Rect,
) -> bool {
    if let Some(fault) = reading.errand.fault() {
        sentences::draw([(fault, look::BAD), (context.say(w::AGAIN), look::NOTE)], frame, inner);
    } else if reading.errand.waiting() {
        let (done, total) = reading.progress();
        let (done_text, total_text) = (figures::count(done), figures::count(total));
        let text = format!("{} {name}: {done_text} / {total_text} {}", context.say(w::READING), context.say(w::ROWS));
        let room = u64::from(inner.width.min(60));
        let full = (done * room).checked_div(total).unwrap_or(0).min(room);
        let bar = "█".repeat(full as usize) + &"░".repeat((room - full) as usize);
        sentences::draw([(&*text, look::PLAIN), (&*bar, look::KEY)], frame, inner);
    }
    reading.errand.get().is_none()
}

fn draw_files(
    context: &PageContext<'_>,
    state: &FeaturesPage,
    listing: &FeatureListing,
    set: &FeatureSet,
    frame: &mut Frame<'_>,
    inner: Rect,
) {
    let [facts, below] = files_areas(inner, Some(set));
    let room = facts.width as usize;
    let key = set.id.map(|id| id.hex()).unwrap_or_default();
    let fitted = match set.fitted_until {
        Some(time) => format!("{} {}", context.say(w::UNTIL), time.format("%Y-%m-%d %H:%M:%S")),
        None => context.say(w::NOT_FITTED).to_owned(),
    };
    let mut lines = vec![format!("{} {key}", context.say(w::KEY)), format!("{} · {fitted}", set.model)];
    if set.folds > 0 {
        lines[1] += &format!(" · {} {}", set.folds, context.say(w::FOLDS));
    }
    if let Some(seconds) = set.seconds.filter(|seconds| *seconds > 0.0) {
        lines[1] += &format!(" · {} {seconds:.1} s", context.say(w::TOOK));
    }
    lines.extend(set.search.as_ref().map(|search| search_line(context, search)));
    let without: u64 = set.dropped.iter().map(|(_, count)| count).sum();
    let reasons: Vec<String> = set
        .dropped
        .iter()
        .map(|(reason, count)| format!("{} {}", term(reason).to(context.language), figures::count(*count)))
        .collect();
    if without > 0 {
        lines.push(format!("{} {}: {}", context.say(w::WITHOUT), figures::count(without), reasons.join(" · ")));
    }
    if let Some(stats) = &listing.stats {
        let sizes = [(w::FILES, stats.file_bytes), (w::LIVE, stats.live_bytes), (w::OTHER, stats.other_bytes)];
        let sizes: Vec<String> =
            sizes.iter().map(|(word, n)| format!("{} {}", context.say(*word), bytes(*n))).collect();
        lines.push(format!("{}: {} · {}", context.say(w::STORE), sizes.join(" · "), context.say(w::COMPACT)));
    }
    let lines = lines.into_iter().map(|line| Line::styled(width::cut(&line, room), look::PLAIN));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), facts);
    state.below.draw(frame, below);
}

/// Lists the batches of a set.
fn fill_files(sheet: &mut ListSheet, set: &FeatureSet, desk: &Desk<'_>) {
    sheet.fill((&set.name, set.id.map(|id| id.hex()), set.bytes, set.batches.len()), desk.language, || {
        let columns = vec![
            number("part", w::PART, 6),
            number("rows", w::ROWS, 9),
            number("blocks", w::BLOCKS, 7),
            number("size", w::SIZE, 9),
            number("per-row", w::PER_ROW, 10).on_screen(),
            text("digest", w::DIGEST, 0),
        ];
        let row = |(part, batch): (usize, &BatchEntry)| {
            let record = &batch.record;
            let cells = vec![
                Cell::count(Some(part as u64)).shown(part.to_string()),
                Cell::count(Some(record.rows)),
                Cell::count(Some(record.blocks.into())),
                Cell::count(Some(record.bytes)).shown(bytes(record.bytes)),
                Cell::number(record.bytes as f64 / record.rows as f64, |size| figures::number(size, 0)),
                Cell::text(record.digest.hex()),
            ];
            SheetRow { key: part.to_string(), style: look::PLAIN, cells }
        };
        (columns, set.batches.iter().enumerate().map(row).collect())
    });
}

/// Fills the list of the pane below with what the view shows.
pub(super) fn fill_below(state: &FeaturesPage, sheet: &mut ListSheet, width: u16, desk: &Desk<'_>) {
    let Some(set) = state.selected() else { return sheet.empty() };
    match (state.view, &state.near.found) {
        (FeaturesView::Files, _) => fill_files(sheet, set, desk),
        (FeaturesView::Health, _) => match state.health() {
            Some(health) => health::fill(sheet, set, health, width, desk),
            None => sheet.empty(),
        },
        (FeaturesView::Near, Some((words, found))) => match found.get() {
            Some(found) => near_view::fill_found(sheet, words, found, desk),
            None => sheet.empty(),
        },
        (FeaturesView::Near, None) => {
            match set.id.and_then(|id| state.near.neighbours(id)).and_then(|reading| reading.errand.get()) {
                Some(neighbours) => near_view::fill(sheet, &state.near, set, neighbours, desk),
                None => sheet.empty(),
            }
        }
    }
}

/// Choices of the folds, as a line.
fn search_line(context: &PageContext<'_>, search: &SearchSummary) -> String {
    let of_folds = |(settings, folds): &(String, usize)| format!("{settings} ({folds} {})", context.say(w::FOLDS));
    let chosen: Vec<String> = search.chosen.iter().map(of_folds).collect();
    let figure = format!("{} {} {}", context.say(w::OUT_OF_FOLD), search.measure, figures::number(search.mean, 4));
    format!(
        "{}: {} · {figure} · {} {}",
        context.say(w::SEARCH),
        chosen.join(" · "),
        context.say(w::TRIED),
        search.tried
    )
}

/// Bytes as a person reads them: `812 B`, `27.1 kB`, `1.3 GB`; powers of 1,000.
pub(super) fn bytes(count: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = "B";
    for larger in units {
        if value < 999.95 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_one_decimal_and_change_their_unit_in_time() {
        let sizes = [0, 999, 1000, 27_088_507, 999_949, 999_950, 1_300_000_000].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "27.1 MB", "999.9 kB", "1.0 MB", "1.3 GB"]);
    }
}
