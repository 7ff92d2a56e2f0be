//! Documents with the returns around them, as models that learn from returns need them: `value` of JSON lines.

use std::borrow::Cow;

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Cutter, Lines};
use crate::lines::BLOCK;
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::Csr;

/// Documents with returns, held as word counts: eight bytes a distinct word of a document.
#[derive(Default)]
pub(crate) struct ReturnCorpus {
    pub(crate) counts: Csr,
    /// The word of each column, in the order of first appearance.
    pub(crate) words: Vec<Box<str>>,
    pub(crate) labels: Vec<f64>,
    pub(crate) times: Vec<Option<NaiveDateTime>>,
    pub(crate) groups: Vec<u64>,
    pub(crate) tokens: u64,
}

/// Reads all lines that have a value; the report counts the others.
pub(crate) fn read_returns(lines: &mut Lines, cutter: &Cutter, ctx: &Ctx) -> Result<(ReturnCorpus, Report)> {
    let mut read = ReturnCorpus::default();
    let mut columns: FxHashMap<Box<str>, u32> = FxHashMap::default();
    let mut groups: FxHashMap<String, u64> = FxHashMap::default();
    let mut unlabelled = 0u64;
    lines.for_each_block(BLOCK, |documents| {
        let cut = ctx.install(|| {
            let cut = documents.par_iter().map(|line| {
                ctx.advance(1)?;
                let whole = line.whole();
                let terms = line.value.map(|_| cutter.terms(&whole).into_iter().map(Cow::into_owned).collect());
                Ok::<Option<Vec<String>>, anyhow::Error>(terms)
            });
            cut.collect::<Result<Vec<_>>>()
        })?;
        for (line, terms) in documents.iter().zip(cut) {
            let (Some(value), Some(terms)) = (line.value, terms) else {
                unlabelled += 1;
                continue;
            };
            ensure!(
                value.is_finite(),
                "第 {} 行：值 {value} 不是数字；没有收益时请省略该字段",
                "line {}: the value {value} is no number; leave the field out where there is no return",
                line.number
            );
            read.tokens += terms.len() as u64;
            let mut ids: Vec<u32> = Vec::with_capacity(terms.len());
            for term in terms {
                let next = read.words.len() as u32;
                ids.push(match columns.get(term.as_str()) {
                    Some(&id) => id,
                    None => {
                        read.words.push(term.as_str().into());
                        *columns.entry(term.into_boxed_str()).or_insert(next)
                    }
                });
            }
            read.counts.push_counts(&mut ids);
            read.labels.push(value);
            read.times.push(line.time);
            // A document that names no group has one of its own.
            let next = groups.len() as u64;
            let group = line.group.as_ref().map_or_else(|| format!("\0{}", line.number), |group| group.to_string());
            read.groups.push(*groups.entry(group).or_insert(next));
        }
        Ok(())
    })?;
    let mut report = lines.finish()?;
    if unlabelled > 0 {
        report.drop_rows("without a value", unlabelled);
        report.rows_out -= unlabelled;
    }
    ensure!(
        !read.labels.is_empty(),
        "没有文档有值：{} 行都无从学习；请给出带 \"value\"（文本对应的收益）的 JSON 行（--format jsonl）",
        "no document has a value: of {} lines none can be learned from; give JSON lines with \"value\", the return that goes with the text (--format jsonl)",
        report.rows_in
    );
    report.fact("documents", read.labels.len());
    report.fact("tokens", read.tokens);
    Ok((read, report))
}
