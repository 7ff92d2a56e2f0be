//! From documents to features: every model of text run over the corpus into the store ([`extract`]), experiments on truncation and reading
//! ([`experiment`]), and the same models on plain files ([`standalone`]).

pub mod experiment;
pub mod extract;
pub mod inspect;
pub mod standalone;
