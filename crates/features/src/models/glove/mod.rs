//! GloVe.

pub(crate) mod params;
pub(crate) mod plain;
pub(crate) mod project;

pub use params::WindowGlove;
pub use plain::{METHOD, train};
