//! SESTM (Ke, Kelly and Xiu 2019): tone learned from returns.

pub(crate) mod plain;
pub(crate) mod project;

pub use plain::train;
