//! Tables on disk: frames to and from sealed Parquet ([`frames`]), a corpus in numbered parts ([`corpus`]), and where a project keeps
//! its artefacts ([`project`]).
//!
//! ```no_run
//! use inkstone_tables::corpus::documents_from_frame;
//! use inkstone_tables::frames::read_parquet;
//! use inkstone_tables::project::Project;
//!
//! for part in Project::new(".inkstone").documents().files()? {
//!     let documents = documents_from_frame(&read_parquet(&part, None)?)?;
//!     println!("{}: {} documents", part.display(), documents.len());
//! }
//! # anyhow::Ok(())
//! ```

pub mod corpus;
pub mod frames;
pub mod made;
pub mod project;
