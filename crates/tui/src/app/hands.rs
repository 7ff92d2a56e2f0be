//! What the workbench hands to programs of the user: the editor, the browser, the clipboard; and the way back from changes of the
//! configuration.

use anyhow::Result;

use super::App;
use crate::action::Action;
use crate::desk::PageRequest;
use crate::errand::Errand;
use crate::forms::words as form_words;
use crate::graphics;
use crate::jobs::Happening;
use crate::outside::{self, EditRequest};
use crate::page::Page;
use crate::scene::ShownPicture;
use crate::words;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;

impl App {
    /// Asks for the editor on the configuration, at the section of what the page shows.
    pub(super) fn edit_configuration(&mut self) {
        let Some(forms) = &self.workspace.forms else { return };
        let file = forms.file.clone();
        let section = self.at_desk(|desk| self.state(self.page).section(desk));
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let line = section.map_or(1, |(section, name)| outside::line_of_section(&text, section, &name));
        self.wanted_edit = Some(EditRequest { file, line });
    }

    pub(crate) fn take_edit(&mut self) -> Option<EditRequest> {
        self.wanted_edit.take()
    }

    /// Takes in what the editor has done.
    pub(crate) fn edited(&mut self, ended: Result<()>) {
        match ended {
            Ok(()) => self.reopen(),
            Err(error) => self.notice = Some(Message::of_error(&error).to(self.language).to_owned()),
        }
    }

    /// Draws the charts of the page as pictures, on a terminal that shows them.
    pub(super) fn draw_charts(&mut self) {
        let charts = self.at_desk(|desk| self.state(self.page).charts(desk));
        let refusal = match self.graphics {
            None => words::NO_GRAPHICS,
            Some(_) if charts.is_empty() => words::NO_CHARTS,
            Some(protocol) => {
                let (cells, pixels) = (self.size.as_size(), graphics::pixels());
                let draw = move |_: &Ctx| charts.iter().map(|chart| protocol.draw(&chart.svg, cells, pixels)).collect();
                self.drawing = Some(self.at_desk(|desk| desk.errand("draw", draw)));
                return;
            }
        };
        self.notice = Some(self.say(refusal).to_owned());
    }

    /// Takes in the pictures, once they are drawn.
    pub(super) fn take_drawing(&mut self) {
        if !self.drawing.as_mut().is_some_and(Errand::look) {
            return;
        }
        let (Some(drawing), Some(protocol)) = (self.drawing.take(), self.graphics) else { return };
        self.notice = drawing.fault().map(str::to_owned);
        let pictures = drawing.get().map_or(&[][..], Vec::as_slice);
        let shown = |(number, sequences): (usize, &String)| {
            let way_on = if number + 1 == pictures.len() { words::LAST_PICTURE } else { words::NEXT_PICTURE };
            let below = format!(" {} / {} · {}", number + 1, pictures.len(), self.say(way_on));
            ShownPicture { protocol, sequences: sequences.clone(), below }
        };
        self.drawn = pictures.iter().enumerate().map(shown).collect();
    }

    pub(crate) fn take_pictures(&mut self) -> Vec<ShownPicture> {
        std::mem::take(&mut self.drawn)
    }

    /// Opens the report on the factor that is shown, or says where it would be.
    pub(super) fn open_report(&mut self) {
        let shown = self.at_desk(|desk| self.state(Page::Factor).section(desk));
        let name = shown.map(|(_, name)| name).or_else(|| self.workspace.factors.first().cloned());
        let Some(page) = name.map(|name| self.workspace.report_of(&name)) else { return };
        let opened = match page.is_file() {
            true => outside::open(&page).map(|()| page.display().to_string()),
            false => return self.notice = Some(self.say(words::NO_REPORT).to_owned()),
        };
        self.notice = Some(match opened {
            Ok(path) => format!("{} {path}", self.say(words::OPENED)),
            Err(error) => Message::of_error(&error).to(self.language).to_owned(),
        });
    }

    /// Copies the text or the id of the document at the cursor.
    pub(super) fn copy_document(&mut self, action: Action) {
        let Some((text, id)) = self.state(self.page).document() else { return };
        self.obey(PageRequest::Copy(if action == Action::CopyText { text } else { id }), self.page);
    }

    /// Takes back the last change that this program made to the configuration.
    pub(super) fn undo_change(&mut self) {
        let Some(forms) = self.workspace.forms.clone().filter(|_| self.may_write()) else { return };
        match (forms.undo)() {
            Ok(left) => {
                let text = format!("{}: {left}", self.say(form_words::UNDONE));
                self.jobs.log.note(Happening::Warning { text: text.clone() });
                self.notice = Some(text);
                self.reopen();
            }
            Err(error) => self.notice = Some(Message::of_error(&error).to(self.language).to_owned()),
        }
    }
}
