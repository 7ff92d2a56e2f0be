//! Tables on disk: frames to and from sealed Parquet ([`frames`]), a corpus in numbered parts ([`corpus`]), and where a project keeps
//! everything ([`project`]).

pub mod corpus;
pub mod frames;
pub mod made;
pub mod project;
