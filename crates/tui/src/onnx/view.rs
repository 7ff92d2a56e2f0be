//! Draws the page: the machine in a few lines, the models, and the view of the one that is marked.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::{OnnxPage, Pane, ask, machine, meters, models, tensors, words};
use crate::context::PageContext;
use crate::{list, look};

/// Columns from which list and view stand side by side.
const WIDE: u16 = 110;
/// Models that the list shows at the least, and at the most where the view is below it.
const LISTED: (u16, u16) = (1, 5);
/// Lines of particulars below the list where there is no room for all.
pub(super) const BRIEF: u16 = 2;
/// Lines of them where there is.
const FULL: u16 = 13;

/// The lines about the machine, the list with its particulars, and the view.
fn areas(onnx: &OnnxPage, page: Rect) -> [Rect; 3] {
    let machine = if onnx.lacks_library() { 4 } else { 2 };
    let [machine, rest] = Layout::vertical([Constraint::Length(machine), Constraint::Min(0)]).areas(page);
    let [list, pane] = if page.width >= WIDE {
        Layout::horizontal([Constraint::Percentage(52), Constraint::Min(0)]).areas(rest)
    } else {
        let count = u16::try_from(onnx.models().len()).unwrap_or(u16::MAX).clamp(LISTED.0, LISTED.1);
        // Whoever works in the view has the room of it; the model that is marked stays in sight.
        let rows = if onnx.inside { LISTED.0 } else { count + BRIEF };
        Layout::vertical([Constraint::Length(rows + 3), Constraint::Min(0)]).areas(rest)
    };
    onnx.zoom.areas([machine, list, pane], if onnx.inside { 2 } else { 1 }, page)
}

/// The areas of the list and of the view.
pub(super) fn panes(onnx: &OnnxPage, page: Rect) -> (Rect, Rect) {
    let [_, list, pane] = areas(onnx, page);
    (list, pane)
}

pub(super) fn inner(onnx: &OnnxPage, page: Rect) -> Rect {
    look::inside(panes(onnx, page).1)
}

/// The list and, below it, the particulars of the model that is marked.
pub(super) fn list_areas(onnx: &OnnxPage, list: Rect) -> [Rect; 2] {
    let inside = look::inside(list);
    let lines = match (list.width < WIDE / 2 || inside.width >= 70, onnx.inside) {
        (true, true) => 0,
        (true, false) => BRIEF,
        (false, _) => FULL.min(inside.height / 2),
    };
    Layout::vertical([Constraint::Min(0), Constraint::Length(lines)]).areas(inside)
}

/// The table of models.
pub(super) fn list_area(onnx: &OnnxPage, page: Rect) -> Rect {
    list_areas(onnx, panes(onnx, page).0)[0]
}

pub(crate) fn draw(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, page: Rect) {
    if context.workspace.onnx.is_none() {
        let block = look::pane(format!(" {} ", context.say(context.page.name())), true);
        let text = Paragraph::new(context.say(words::NO_BENCH)).wrap(Wrap { trim: true });
        return frame.render_widget(text.block(block), page);
    }
    let [top, list, pane] = areas(onnx, page);
    machine::draw(context, onnx, frame, top);
    models::draw(context, onnx, frame, list);
    draw_pane(context, onnx, frame, pane);
}

fn draw_pane(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let names = [(Pane::Tensors, words::TENSORS), (Pane::Meters, words::METERS), (Pane::Ask, words::ASKING)];
    let mut title = look::tabs(names.map(|(pane, name)| (context.say(name), pane == onnx.pane)));
    title.push(Span::styled(format!(" {} ", context.say(words::SWITCH)), look::DIM));
    let block = look::pane(Line::from(title), onnx.inside);
    let inner = block.inner(area);
    let (count, room) = (onnx.count(), list::rows(inner));
    let seen = format!(" {}/{count} ", (onnx.scroll.top + room).min(count));
    let block = if count > room { block.title_bottom(Line::raw(seen).right_aligned()) } else { block };
    frame.render_widget(block, area);
    if onnx.models().is_empty() {
        return;
    }
    if !onnx.has_model() {
        return frame.render_widget(Line::styled(context.say(words::NO_MODEL_HERE), look::DIM), inner);
    }
    match onnx.pane {
        Pane::Tensors => tensors::draw(context, onnx, frame, inner),
        Pane::Meters => meters::draw(context, onnx, frame, inner),
        Pane::Ask => ask::draw(context, onnx, frame, inner),
    }
}
