//! Two texts of a line.

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::Line;

use inkstone_base::{bail, ensure, message};

/// All fields of a JSON line; none of lines of other formats.
pub(crate) fn fields(line: &Line<'_>) -> Result<Map<String, Value>> {
    line.json.map_or_else(
        || Ok(Map::new()),
        |json| {
            serde_json::from_str(json)
                .with_context(|| message!("第 {} 行不是 JSON 对象", "line {} is no JSON object", line.number))
        },
    )
}

/// A field that is a text.
pub(crate) fn text_of(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The second text of a line of any format: the field `pair`, or what stands behind a tab.
pub(crate) fn pair_of(line: &Line<'_>, fields: &Map<String, Value>) -> Result<[String; 2]> {
    if line.json.is_some() {
        let other = text_of(fields, "pair");
        let other = other.with_context(|| {
            message!("第 {} 行没有 pair 字段的文本", "line {} has no text in the field pair", line.number)
        })?;
        return Ok([line.whole().into_owned(), other]);
    }
    let mut parts = line.text.split('\t');
    let (Some(text), Some(other)) = (parts.next(), parts.next()) else {
        bail!(
            "第 {} 行不是文本对：两段文本之间须有制表符",
            "line {} is no pair: two texts with a tab between them",
            line.number
        )
    };
    ensure!(!text.trim().is_empty(), "第 {} 行没有第一段文本", "line {} has no first text", line.number);
    Ok([text.to_owned(), other.to_owned()])
}

/// The score of a pair of texts: the field `value`, or what stands behind a second tab.
pub(crate) fn score_of_pair(line: &Line<'_>) -> Result<Option<f64>> {
    let Some(score) = line.text.split('\t').nth(2).filter(|_| line.json.is_none()) else { return Ok(line.value) };
    let score = score
        .trim()
        .parse()
        .with_context(|| message!("第 {} 行：{score:?} 不是分数", "line {}: {score:?} is no score", line.number))?;
    Ok(Some(score))
}
