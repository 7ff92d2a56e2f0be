//! x
use super::{Link, Params};
use crate::data::Document;
use crate::market::Security;
pub(super) struct Found {
    pub(super) links: Vec<Link>,
    pub(super) ambiguous: Vec<String>,
    pub(super) refused: Vec<String>,
}
pub(super) struct Finder {}
impl Finder {
    pub(super) fn new(_: &[Security], _: &Params) -> anyhow::Result<Finder> {
        Ok(Finder {})
    }
    pub(super) fn find(&self, _: u32, _: &Document) -> Found {
        Found { links: vec![], ambiguous: vec![], refused: vec![] }
    }
    pub(super) fn names(&self) -> usize {
        0
    }
}
