//! The trait that the terminal draws and sends events to.

use anyhow::Result;
use ratatui::Frame;

use super::crash::Whereabouts;
use super::event::Event;
use super::graphics::Protocol;
use super::outside::EditRequest;

/// A picture in place of the screen.
#[derive(Clone, Debug)]
pub struct ShownPicture {
    pub(crate) protocol: Protocol,
    /// The sequences that draw it.
    pub(crate) sequences: String,
    /// Text of the last line of the screen.
    pub(crate) below: String,
}

/// A program shown on the terminal: the first screen or the workbench.
pub trait Scene {
    /// Takes in an event; true when the picture may have changed.
    fn take(&mut self, event: Event) -> bool;
    fn draw(&self, frame: &mut Frame<'_>);
    /// The page and the state of the workbench, for a report.
    fn place(&self) -> Whereabouts;
    fn is_over(&self) -> bool;
    /// Takes the request for the editor, which has the terminal until it ends.
    fn take_edit(&mut self) -> Option<EditRequest> {
        None
    }
    /// Takes in what became of the editor.
    fn edited(&mut self, _ended: Result<()>) {}
    /// Takes the pictures that are to be shown one after another in place of the screen, with the line below each.
    fn take_pictures(&mut self) -> Vec<ShownPicture> {
        Vec::new()
    }
    /// Takes the text for the clipboard.
    fn take_clipboard(&mut self) -> Option<String> {
        None
    }
}
