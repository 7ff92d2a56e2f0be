//! Rows that every worker computes first, to be compared with those of the process that made the plan.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::extract::part_model::PartModel;
use crate::extract::reading::ReadDocument;
use inkstone_store::{Rows, Values, pack, unpack};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Documents of a canary at most.
const DOCUMENTS: usize = 32;
/// Largest difference of two values that count as the same but for rounding, relative to the larger of 1 and the value.
const ROUNDING: f32 = 1e-4;

/// Documents with their rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Canary {
    /// Number of the part that the documents are in.
    pub(super) part: usize,
    /// Places of the documents in the part.
    documents: Vec<usize>,
    /// The packed rows, in hexadecimal digits.
    rows: Vec<String>,
}

impl Canary {
    /// The first documents of a part that are read; none where none is.
    pub(super) fn new(part: usize, documents: &[ReadDocument], model: &mut PartModel<'_>) -> Result<Option<Canary>> {
        let has_text = |document: &ReadDocument| document.text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let places = documents.iter().enumerate().filter(|(_, document)| has_text(document)).map(|(place, _)| place);
        let places: Vec<usize> = places.take(DOCUMENTS).collect();
        if places.is_empty() {
            return Ok(None);
        }
        let rows = rows_of(&places, documents, model)?;
        let rows = pack(&rows)?.iter().map(|block| digits(block)).collect();
        Ok(Some(Canary { part, documents: places, rows }))
    }

    /// Computes the rows again, and fails where they differ; where `mixed`, the last digits may.
    pub(super) fn check(&self, documents: &[ReadDocument], model: &mut PartModel<'_>, mixed: bool) -> Result<()> {
        ensure!(
            self.documents.iter().all(|&place| place < documents.len()),
            "计划制定后语料有变：请重新制定计划（inkstone plan）",
            "the corpus has changed since the plan was made: make the plan again (inkstone plan)"
        );
        let rows = pack(&rows_of(&self.documents, documents, model)?)?;
        let planned: Vec<Vec<u8>> = self
            .rows
            .iter()
            .map(|block| bytes(block))
            .collect::<Option<_>>()
            .context(Word("计划已损坏", "the plan is damaged"))?;
        if rows == planned {
            return Ok(());
        }
        let unpacked =
            |blocks: &[Vec<u8>]| blocks.iter().map(|block| Ok(unpack(block)?.1)).collect::<Result<Vec<Rows>>>();
        let difference = largest_difference(&unpacked(&planned)?, &unpacked(&rows)?);
        let found = match difference {
            Some(difference) => message!("最多相差 {difference:.1e}", "they differ by up to {difference:.1e}"),
            None => Word("列不同", "they have other columns").into(),
        };
        if mixed && difference.is_some_and(|difference| difference <= ROUNDING) {
            return Ok(());
        }
        let way_out = match difference {
            Some(difference) if difference <= ROUNDING => Word(
                "本机的处理器、设备或 ONNX Runtime 版本舍入不同；请在各台机器上用同一种，或用 --mixed 制定计划",
                "this processor, device or version of ONNX Runtime rounds otherwise; take the same on all machines, or make the plan with --mixed",
            ),
            _ => Word(
                "模型、词典或 ONNX Runtime 版本不同",
                "this is another model, dictionary or version of ONNX Runtime",
            ),
        };
        bail!(
            "{} 篇文档的行与制定计划时不同：{found}。什么也没有计算：{way_out}",
            "the rows of {} documents are not those that the plan was made with: {found}. Nothing was computed: {way_out}",
            self.documents.len()
        )
    }
}

fn rows_of(places: &[usize], documents: &[ReadDocument], model: &mut PartModel<'_>) -> Result<Rows> {
    let documents: Vec<ReadDocument> = places.iter().map(|&place| documents[place].clone()).collect();
    model.rows(&documents)
}

/// The largest difference of two values, relative to the larger of 1 and the value; none for rows of other shapes, or where one value alone
/// is no number.
fn largest_difference(planned: &[Rows], found: &[Rows]) -> Option<f32> {
    let mut largest = 0.0f32;
    if planned.len() != found.len() {
        return None;
    }
    for (planned, found) in planned.iter().zip(found) {
        let (planned, found) = match (&planned.values, &found.values) {
            (Values::Dense { data, .. }, Values::Dense { data: other, .. }) => (data, other),
            (
                Values::Sparse { indptr, indices, values },
                Values::Sparse { indptr: other_ptr, indices: other_indices, values: other },
            ) if indptr == other_ptr && indices == other_indices => (values, other),
            _ => return None,
        };
        if planned.len() != found.len() || planned.iter().zip(found).any(|(a, b)| a.is_nan() != b.is_nan()) {
            return None;
        }
        let differences = planned.iter().zip(found).map(|(a, b)| (a - b).abs() / a.abs().max(1.0));
        largest = differences.fold(largest, f32::max);
    }
    Some(largest)
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(byte).collect()
}
