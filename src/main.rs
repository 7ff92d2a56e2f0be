//! Inkstone
fn main() {}
