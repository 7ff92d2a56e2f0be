//! What models of words say of documents when they are measured, and the names of their components.

use anyhow::{Context, Result};
use serde_json::json;

use super::{Block, Figures, Line, Lines};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_models::component_names;

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 22;

/// How much of documents a vocabulary covers: `documents`, `tokens`, `oov` (tokens that are not in it), `empty_documents` (without
/// a token that is). `count` gives the tokens of a document, and those in the vocabulary.
pub(super) fn coverage(
    lines: &mut Lines,
    ctx: &Ctx,
    count: impl Fn(&Line<'_>) -> (usize, usize),
) -> Result<(Figures, Report)> {
    let (mut documents, mut tokens, mut known, mut empty) = (0u64, 0u64, 0u64, 0u64);
    let mut block = Block::default();
    while lines.next_block(&mut block, BLOCK)? {
        for line in lines.documents(&block) {
            ctx.advance(1)?;
            let (all, found) = count(&line);
            documents += 1;
            tokens += all as u64;
            known += found as u64;
            empty += u64::from(found == 0);
        }
    }
    let figures = json!({"documents": documents, "tokens": tokens, "oov": tokens - known, "empty_documents": empty});
    Ok((figures.as_object().cloned().context("figures are an object")?, lines.finish()?))
}

/// The place of a component that was asked for by name.
pub(super) fn component(of: Option<&str>, dim: usize) -> Result<Option<usize>> {
    let place = |name: &str| {
        let place = component_names(dim).iter().position(|known| known == name);
        place.with_context(|| format!("the model has no component {name}; there are c1 to c{dim}"))
    };
    of.map(place).transpose()
}
