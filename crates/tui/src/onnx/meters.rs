//! The view of speed and memory by batch size.

use std::sync::mpsc::Receiver;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::{OnnxPage, Pane, words};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::list::{self, Cursor, ListColumn};
use crate::page::Table;
use crate::{bars, figures, look, width};
use inkstone_onnx::{Metered, Round, Until};

/// Tokens of the texts that are measured with; none: texts of the corpus.
pub(super) const LENGTHS: [Option<usize>; 5] = [None, Some(32), Some(128), Some(256), Some(512)];

/// A measurement of one model.
pub(super) struct MeasuredModel {
    /// The number of tokens of the texts; none for texts of the corpus.
    pub(super) length: Option<usize>,
    /// Rounds as they come.
    coming: Receiver<Round>,
    /// The rounds that are shown.
    pub(super) rounds: Vec<Round>,
    /// None once the user has stopped it.
    pub(super) errand: Option<Errand<Metered>>,
}

impl MeasuredModel {
    pub(super) fn look(&mut self) {
        if let Some(errand) = &mut self.errand {
            errand.look();
            self.rounds.extend(self.coming.try_iter());
        }
    }

    pub(super) fn waiting(&self) -> bool {
        self.errand.as_ref().is_some_and(Errand::waiting)
    }

    /// Ends it, if it is under way.
    pub(super) fn stop(&mut self) {
        if self.waiting() {
            self.errand = None;
        }
    }
}

impl OnnxPage {
    /// Measures the model that is marked; one that is measured already is stopped.
    pub(super) fn start_measuring(&mut self, desk: &Desk<'_>) {
        let Some((bench, listed)) = desk.workspace.onnx.clone().zip(self.marked().cloned()) else { return };
        (self.pane, self.inside) = (Pane::Meters, true);
        self.measured.values_mut().for_each(MeasuredModel::stop);
        let (file, length) = (listed.file.clone(), LENGTHS[self.length]);
        let (coming, errand) = desk.errand_in_pieces("measure", move |tell, ctx| {
            (bench.measure)(&listed, length, ctx, &mut |round| {
                tell(round.clone());
            })
        });
        self.measured.insert(file, MeasuredModel { length, coming, rounds: Vec::new(), errand: Some(errand) });
    }

    fn measurement(&self) -> Option<&MeasuredModel> {
        self.measured.get(&self.marked()?.file)
    }
}

/// The texts of a measurement, in words.
fn sample(context: &PageContext<'_>, length: Option<usize>) -> String {
    match length {
        None => context.say(words::OF_CORPUS).to_owned(),
        Some(tokens) => format!("{tokens} {}", context.say(words::OF_TOKENS)),
    }
}

pub(super) fn draw(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let [table, state] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(area);
    let next = format!("{}: {}", context.say(words::TEXTS), sample(context, LENGTHS[onnx.length]));
    let Some(measured) = onnx.measurement() else {
        let hint = Paragraph::new(context.say(words::MEASURE_HINT)).wrap(Wrap { trim: true });
        frame.render_widget(hint, table);
        return frame.render_widget(Line::styled(next, look::DIM), state);
    };
    let most = measured.rounds.iter().map(Round::texts_per_second).fold(0.0, f64::max);
    let numbers = [
        (words::BATCH, 6),
        (words::TEXTS_RATE, 9),
        (words::TOKENS_RATE, 9),
        (words::BATCH_TIME, 9),
        (words::RESIDENT, 9),
    ];
    let mut columns: Vec<ListColumn<'_>> =
        numbers.map(|(title, cells)| ListColumn::number(context.say(title), cells)).to_vec();
    let taken: usize = columns.iter().map(|column| column.cells + 1).sum();
    // A bar shorter than six cells says nothing, and the list would leave it out.
    let room = usize::from(area.width).saturating_sub(taken).clamp(6, 40);
    columns.push(ListColumn::text("", room));
    let row = |at: usize| {
        let round = &measured.rounds[at];
        let rate = round.texts_per_second();
        let mut row = shown(round).to_vec();
        row.push(bars::lying(if most > 0.0 { rate / most } else { 0.0 }, room));
        (row, if rate == most { look::GOOD } else { look::PLAIN })
    };
    let unmarked = Cursor { at: usize::MAX, top: measured.rounds.len().saturating_sub(list::rows(table)) };
    list::draw(&columns, measured.rounds.len(), unmarked, row, frame, table);
    let (text, style) = state_of(context, measured);
    let text = if LENGTHS[onnx.length] == measured.length { text } else { format!("{text} · m → {next}") };
    // A fault has the room of the table, as long as that is empty.
    if measured.errand.as_ref().is_some_and(|errand| errand.fault().is_some()) {
        return frame.render_widget(Paragraph::new(Line::styled(text, style)).wrap(Wrap { trim: true }), table);
    }
    frame.render_widget(Line::styled(width::cut(&text, state.width as usize), style), state);
}

/// The numbers of a round as they stand in the table.
fn shown(round: &Round) -> [String; 5] {
    let rounded = |value: f64| figures::count(value.round() as u64);
    let number = |value: f64| match value {
        value if value < 10.0 => figures::number(value, 2),
        value if value < 1000.0 => figures::number(value, 1),
        value => rounded(value),
    };
    [
        round.batch.to_string(),
        number(round.texts_per_second()),
        rounded(round.tokens_per_second()),
        number(round.batch_millis()),
        round.resident.map_or("–".to_owned(), |bytes| rounded(bytes as f64 / 1e6)),
    ]
}

fn state_of(context: &PageContext<'_>, measured: &MeasuredModel) -> (String, ratatui::style::Style) {
    let texts = sample(context, measured.length);
    let Some(errand) = &measured.errand else {
        return (format!("■ {} · {texts}", context.say(words::STOPPED)), look::NOTE);
    };
    if let Some(fault) = errand.fault() {
        return (format!("✗ {fault}"), look::BAD);
    }
    let Some(metered) = errand.get() else {
        return (format!("▶ {} · {texts}", context.say(words::MEASURING)), look::NOTE);
    };
    let until = context.say(match metered.until {
        Until::Whole => words::UNTIL_WHOLE,
        Until::Time => words::UNTIL_TIME,
        Until::Memory => words::UNTIL_MEMORY,
        Until::Fixed => words::UNTIL_FIXED,
    });
    let opened = figures::span(metered.opened);
    let device = &metered.ran.device;
    (format!("✓ {until} · {device} · {texts} · {} {opened}", context.say(words::OPENED)), look::DIM)
}

/// The same to be copied.
pub(super) fn table(onnx: &OnnxPage, desk: &Desk<'_>) -> Option<Table> {
    let measured = onnx.measurement()?;
    let columns = [words::BATCH, words::TEXTS_RATE, words::TOKENS_RATE, words::BATCH_TIME, words::RESIDENT];
    let row = |round: &Round| {
        let resident = round.resident.map_or(String::new(), |bytes| (bytes as f64 / 1e6).to_string());
        let numbers = [round.texts_per_second(), round.tokens_per_second(), round.batch_millis()];
        let mut row = vec![round.batch.to_string()];
        row.extend(numbers.map(|number| number.to_string()));
        row.push(resident);
        row
    };
    Some(Table::new(desk.language, &columns, measured.rounds.iter().map(row).collect()))
}
