//! The events of the one channel that the workbench reads.

use crossterm::event::{KeyEvent, MouseEvent};

/// Everything that arrives through the one channel.
pub enum Event {
    Key(KeyEvent),
    Paste(String),
    Mouse(MouseEvent),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// An errand of a page has come back.
    Back,
    /// Time passed: look at the run.
    Tick,
    /// The terminal is gone, or the program was told to end.
    End,
}
