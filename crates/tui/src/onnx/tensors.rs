//! The view of inputs and outputs.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{OnnxPage, words};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::list::{self, ListColumn};
use crate::page::Table;
use crate::{Language, look};
use inkstone_onnx::TensorInfo;

/// Inputs, then outputs.
fn tensors(onnx: &OnnxPage) -> impl Iterator<Item = (bool, &TensorInfo)> {
    let header = onnx.marked().and_then(|listed| listed.found.as_ref().ok()).map(|found| &found.header);
    let inputs = header.into_iter().flat_map(|header| &header.inputs).map(|info| (true, info));
    inputs.chain(header.into_iter().flat_map(|header| &header.outputs).map(|info| (false, info)))
}

pub(super) fn count(onnx: &OnnxPage) -> usize {
    tensors(onnx).count()
}

fn cells((input, info): (bool, &TensorInfo), language: Language) -> Vec<String> {
    let direction = if input { words::INPUT } else { words::OUTPUT }.to(language);
    let shape: Vec<String> = info.shape.iter().map(ToString::to_string).collect();
    vec![direction.to_owned(), info.name.clone(), info.element.to_owned(), format!("[{}]", shape.join(", "))]
}

pub(super) fn draw(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let shape = if area.width < 60 { 26 } else { 34 };
    let columns = [
        ListColumn::text("", 3),
        ListColumn::text(context.say(words::NAME), 0),
        ListColumn::text(context.say(words::ELEMENT), 6),
        ListColumn::text(context.say(words::SHAPE), shape),
    ];
    let rows: Vec<_> = tensors(onnx).map(|tensor| (cells(tensor, context.language), tensor.0)).collect();
    let row = |at: usize| (rows[at].0.clone(), if rows[at].1 { look::KEY } else { look::PLAIN });
    list::draw(&columns, rows.len(), onnx.scroll, row, frame, area);
}

/// The same to be copied.
pub(super) fn table(onnx: &OnnxPage, desk: &Desk<'_>) -> Option<Table> {
    let header = ["", desk.say(words::NAME), desk.say(words::ELEMENT), desk.say(words::SHAPE)];
    let rows: Vec<_> = tensors(onnx).map(|tensor| cells(tensor, desk.language)).collect();
    (!rows.is_empty()).then(|| Table { header: header.map(str::to_owned).to_vec(), rows })
}
