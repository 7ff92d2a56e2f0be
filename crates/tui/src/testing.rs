//! Parts of the workbench that tests of the program drive: a workbench without a terminal, and the first screen.

pub use crossterm::event::KeyCode;
pub use ratatui::Terminal;
pub use ratatui::backend::TestBackend;

pub use super::bench::{Bench, LARGE, SMALL, SOON, empty};
pub use super::commands::sequence;
pub use super::event::Event;
pub use super::mending::Mending;
pub use super::page::Page;
pub use super::picture::text as picture_text;
pub use super::scene::Scene;
pub use super::welcome::Welcome;
