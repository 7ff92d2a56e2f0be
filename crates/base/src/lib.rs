//! The foundation of all crates of Inkstone: documents and security codes, files that are whole or absent ([`disk`]), work that reports and can be
//! cancelled ([`job`]), locks, encodings, limits of input files, statistics and number formats. No frames, no models, no terminal.
//!
//! ```
//! use inkstone_base::data::Report;
//! use inkstone_base::job::Ctx;
//!
//! let ctx = Ctx::new(2, 7)?;
//! let report = ctx.stage("count", "docs", Some(3), || {
//!     ctx.advance(3)?;
//!     Ok(Report { rows_in: 3, rows_out: 3, ..Report::new("count") })
//! })?;
//! assert_eq!(report.rows_out, 3);
//! # anyhow::Ok(())
//! ```

/// Lets serde read and write a type as its text: for types with `FromStr` and `Display` that derive with
/// `#[serde(try_from = "String", into = "String")]`.
#[macro_export]
macro_rules! as_text {
    ($($kind:ty),*) => {$(
        impl TryFrom<String> for $kind {
            type Error = anyhow::Error;

            fn try_from(text: String) -> anyhow::Result<$kind> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> String {
                value.to_string()
            }
        }
    )*};
}

pub mod bootstrap;
pub mod bounds;
pub mod code;
pub mod data;
pub mod disk;
pub mod encoding;
pub mod expected;
pub mod figures;
pub mod job;
pub mod language;
pub mod limits;
pub mod lock;
pub mod memory;
pub mod model_file;
pub mod program;
pub mod remedy;
pub mod shell;
pub mod signals;
pub mod simd;
pub mod stats;
pub mod terms;
pub mod width;
