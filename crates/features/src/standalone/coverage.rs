//! Figures and names that models of words share when they are measured.

use anyhow::{Context, Result};
use serde_json::json;

use super::{Figures, Line, Lines};
use crate::fitted::figures;
use crate::lines::BLOCK;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_models::component_names;

/// Coverage of documents by a vocabulary: `documents`, `tokens`, `oov` (tokens that are not in it), `empty_documents` (without
/// a token that is). `count` gives the tokens of a document, and those in the vocabulary.
pub(crate) fn coverage(
    lines: &mut Lines,
    ctx: &Ctx,
    count: impl Fn(&Line<'_>) -> (usize, usize),
) -> Result<(Figures, Report)> {
    let (mut documents, mut tokens, mut known, mut empty) = (0u64, 0u64, 0u64, 0u64);
    lines.for_each_block(BLOCK, |read| {
        for line in &read {
            ctx.advance(1)?;
            let (all, found) = count(line);
            documents += 1;
            tokens += all as u64;
            known += found as u64;
            empty += u64::from(found == 0);
        }
        Ok(())
    })?;
    let figures = json!({"documents": documents, "tokens": tokens, "oov": tokens - known, "empty_documents": empty});
    Ok((self::figures(figures), lines.finish()?))
}

/// The number of the component with this name.
pub(crate) fn component(name: Option<&str>, dim: usize) -> Result<Option<usize>> {
    let place = |name: &str| {
        let place = component_names(dim).iter().position(|known| known == name);
        place.with_context(|| {
            message!(
                "模型没有分量 {name}；有 c1 到 c{dim}",
                "the model has no component {name}; there are c1 to c{dim}"
            )
        })
    };
    name.map(place).transpose()
}
