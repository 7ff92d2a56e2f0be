//! Features of documents: models of text that turn each document into a row of numbers.
//!
//! - [`extract`] computes the features of a project's corpus into the feature store, without look-ahead.
//! - [`rewrite`] has a model write a text of each document, which features read in place of the document.
//! - [`plan`] has many processes compute the rows of a feature.
//! - [`models`] are the models of texts, each with its feature of a project and its use on plain files.
//! - [`standalone`] is work on plain files that any model can do, without a project.
//! - `fitted`, which both share, is the trait of a trained model that gives documents their rows; `lines` reads documents from files.
//! - [`experiment`] compares values of any settings of a feature, such as which part of a long text its model reads.
//! - [`inspect`] describes feature sets and finds near documents.
//! - [`search`] finds the documents of a project by words and by meaning, as of a time.
//!
//! ```
//! use std::path::Path;
//!
//! use inkstone_base::job::Ctx;
//! use inkstone_features::models::tfidf;
//! use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
//! use inkstone_models::VectorizerParams;
//! use inkstone_text::{DfLimit, TokenizerParams};
//!
//! // A line is a document; its tokens are already cut.
//! let mut lines = Lines::new("净利润 增长\n净利润 下降\n".as_bytes(), LineFormat::Tokens);
//! let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new(""))?;
//! let params = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
//! let (model, report) = tfidf::train(&mut lines, &cutter, &params, &Ctx::new(1, 1)?)?;
//! assert_eq!(report.facts["documents"], 2);
//! assert!(model.terms().iter().any(|term| &**term == "净利润"));
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod experiment;
pub mod extract;
mod fitted;
pub mod inspect;
mod lines;
pub mod models;
pub mod plan;
pub mod rewrite;
pub mod search;
pub mod standalone;

use anyhow::{Context, Result};

use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;

/// Runs `work` as a stage ([`Ctx::stage`]) and returns what it made beside its report.
fn stage_result<T>(
    ctx: &Ctx,
    name: &str,
    unit: &'static str,
    total: Option<u64>,
    work: impl FnOnce() -> Result<(T, Report)>,
) -> Result<T> {
    let mut made = None;
    ctx.stage(name, unit, total, || {
        let (result, report) = work()?;
        made = Some(result);
        Ok(report)
    })?;
    made.context(Word("正常结束的阶段应有产物", "a stage that ended well has made something"))
}
