//! The foundation of all crates of Inkstone: documents and security codes, files that are whole or absent ([`disk`]), work that reports and can be
//! cancelled ([`job`]), locks, encodings, limits of what a file may be, statistics and number formats. No frames, no models, no terminal.

pub mod bootstrap;
pub mod bounds;
pub mod code;
pub mod data;
pub mod disk;
pub mod encoding;
pub mod figures;
pub mod job;
pub mod language;
pub mod limits;
pub mod lock;
pub mod memory;
pub mod remedy;
pub mod shell;
pub mod signals;
pub mod simd;
pub mod stats;
pub mod width;
