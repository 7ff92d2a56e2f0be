//! fastText.

pub(crate) mod params;
pub(crate) mod plain;
pub(crate) mod project;

pub use params::WindowFastText;
pub use plain::{Trained, train_supervised, train_words};
