//! The lines about the machine: the library, or what brings one, and the devices.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::words;
use crate::context::PageContext;
use crate::onnx::OnnxPage;
use crate::{look, sentences, width};
use inkstone_onnx::runtime::Machine;

use inkstone_base::language::{Message, Word};

pub(super) fn draw(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let cells = usize::from(area.width);
    let titled = |title: Word, text: &str, style: Style| {
        let head = format!(" {} ", context.say(title));
        let text = width::cut(text, cells.saturating_sub(width::width(&head)));
        Line::from(vec![Span::styled(head, look::DIM), Span::styled(text, style)])
    };
    let Some(machine) = onnx.machine() else {
        let fault = onnx.machine.as_ref().and_then(|machine| machine.fault());
        let (text, style) = fault.map_or((context.say(words::LOOKING), look::DIM), |fault| (fault, look::BAD));
        return frame.render_widget(Line::styled(format!(" {}", width::cut(text, cells)), style), area);
    };
    let devices = titled(words::DEVICE, &devices(context, machine), look::PLAIN);
    match &machine.library {
        Ok(library) => {
            let text = format!("ONNX Runtime {} · {}", library.version, library.file.display());
            frame.render_widget(Paragraph::new(vec![titled(words::LIBRARY, &text, look::PLAIN), devices]), area);
        }
        Err(error) => {
            let lines = [Constraint::Length(2), Constraint::Length(1), Constraint::Length(1)];
            let [fault, mend, rest] = Layout::vertical(lines).areas(area);
            let text = format!("{}: {error}", context.say(words::NO_LIBRARY));
            let lines = sentences::lines(&text, cells.saturating_sub(4)).into_iter().enumerate().map(|(at, piece)| {
                let sign = if at == 0 { " ✗ " } else { "   " };
                Line::styled(format!("{sign}{piece}"), look::BAD)
            });
            frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), fault);
            if let Some(command) = machine.mend() {
                frame.render_widget(titled(words::MEND, command, look::KEY), mend);
            }
            frame.render_widget(devices, rest);
        }
    }
}

/// The processor, what the configuration asks for, and CUDA with its devices or what it lacks.
fn devices(context: &PageContext<'_>, machine: &Machine) -> String {
    let set = context.workspace.onnx.as_ref().map_or(String::new(), |bench| bench.place.device.to_string());
    let mut line =
        format!("cpu {} {} · {} {set}", machine.cores, context.say(words::CORES), context.say(words::SET_TO));
    let names = machine.devices.iter().enumerate().map(|(number, name)| format!("cuda:{number} {name}"));
    let names: Vec<String> = names.collect();
    match &machine.cuda_lacks {
        Some(lacks) if lacks.is_empty() => line += &format!(" · ✓ CUDA {}", names.join(", ")),
        Some(lacks) => {
            let mend = machine.mend().map_or(String::new(), |mend| format!(" → {mend}"));
            let names = if names.is_empty() { String::new() } else { format!(" {}", names.join(", ")) };
            line += &format!(
                " · ✗ CUDA{names}{mend} · {} {}",
                context.say(words::LACKS),
                Message::joined(lacks, Word("、", ", ")).to(context.language)
            );
        }
        None if names.is_empty() => {}
        None => line += &format!(" · {}", names.join(", ")),
    }
    line
}
