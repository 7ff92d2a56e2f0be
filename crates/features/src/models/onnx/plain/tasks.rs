//! Measurement of models that read two texts: pairs, next sentence, choices, answers; and entities against the right ones.
//!
//! Lines are JSON objects. Pairs: `text` and `pair` (or two texts with a tab between them), with `label` (a class, by name or number) or
//! `value` (how near they are). Choices: `text`, `choices`, and `label`, the number of the right one from 0. Answers: `text`, `question` and
//! `answers`. Entities: `text` and `entities`, each with `kind`, `start` and `end` in bytes, as `eval --task entities` shows them.

use std::ops::Range;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::BLOCK;
use super::FittedOnnx;
use super::eval::each_block;
use super::pairs::score_column;
use crate::fitted::Figures;
use crate::fitted::figures;
use crate::lines::{Line, Lines};
use crate::lines::{fields, pair_of};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{pearson, spearman};
use inkstone_base::{bail, ensure, message};
use inkstone_models::{AnswerMatch, ClassReport, Entities, cmrc_match, squad_match};

/// The number of a label, which a line names or numbers.
fn number_of(label: &str, names: &[String], line: u64) -> Result<u32> {
    let by_number = || label.parse::<usize>().ok().filter(|number| *number < names.len());
    let number = names.iter().position(|name| name == label).or_else(by_number);
    let number = number.with_context(|| {
        message!(
            "第 {line} 行的标签为 {label:?}，而模型认识 {}（或从 0 起的编号）",
            "line {line} has the label {label:?}, and the model knows {} (or their numbers from 0)",
            names.join(", ")
        )
    })?;
    Ok(number as u32)
}

/// Pairs with labels (accuracy, F1) or values (Spearman, Pearson).
pub(crate) fn pairs(model: &FittedOnnx, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    let dim = model.columns.len();
    let names: Vec<String> = model.columns.iter().filter(|name| *name != "tone").cloned().collect();
    let first = dim - names.len();
    // One score says whether both texts go together.
    let is_score = names.len() == 1;
    let classes = if is_score { vec!["0".to_owned(), "1".to_owned()] } else { names.clone() };
    let middle = if model.encoder().labels_stand_alone() { 0.5 } else { 0.0 };
    let (mut truth, mut called) = (Vec::new(), Vec::new());
    let (mut scores, mut values) = (Vec::new(), Vec::new());
    let mut count = 0;
    lines.for_each_block(BLOCK, |documents| {
        let read = |line: &Line<'_>| pair_of(line, &fields(line)?);
        let both = documents.iter().map(read).collect::<Result<Vec<[String; 2]>>>()?;
        let both: Vec<[&str; 2]> = both.iter().map(|[text, other]| [text.as_str(), other.as_str()]).collect();
        let (rows, _) = model.encoder().pair_rows(&both, ctx, |done| Ok(ctx.advance(done)?))?;
        count += both.len();
        for (line, row) in documents.iter().zip(rows.chunks(dim)) {
            let third = || line.text.split('\t').nth(2).filter(|_| line.json.is_none()).map(str::trim);
            let value = line.value.or_else(|| third().and_then(|value| value.parse().ok()));
            if let Some(label) = line.label.as_deref() {
                let right = number_of(label, &classes, line.number)?;
                let best = (first..dim).fold(first, |best, i| if row[i] > row[best] { i } else { best });
                if row[best].is_finite() {
                    truth.push(right);
                    called.push(if is_score { u32::from(row[first] > middle) } else { (best - first) as u32 });
                }
            } else if let Some(value) = value {
                let score = row[first + score_column(&names)?];
                if score.is_finite() {
                    scores.push(f64::from(score));
                    values.push(value);
                }
            }
        }
        Ok(())
    })?;
    ensure!(count > 0, "没有文本对；输入是空的吗？", "there are no pairs; is the input empty?");
    ensure!(
        !truth.is_empty() || !values.is_empty(),
        "文本对既没有标签也没有数值可与模型比较；`inkstone embed --read scores` 写出模型的分数",
        "the pairs have neither a label nor a value to compare the model with; `inkstone embed --read scores` writes its scores"
    );
    let mut found = figures(json!({"pairs": count}));
    if !truth.is_empty() {
        found.extend(figures(serde_json::to_value(ClassReport::new(&truth, &called, &classes))?));
    }
    if !values.is_empty() {
        found.insert("scored".into(), values.len().into());
        found.insert("spearman".into(), json!(spearman(&scores, &values)));
        found.insert("pearson".into(), json!(pearson(&scores, &values)));
    }
    Ok(found)
}

/// Which of several texts goes on from a text, by the score of each.
pub(crate) fn choices(model: &FittedOnnx, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    let (dim, column) = (model.columns.len(), score_column(&model.columns)?);
    let (mut right, mut measured, mut chosen) = (0u64, 0u64, Vec::new());
    lines.for_each_block(BLOCK, |documents| {
        let (mut texts, mut others, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for line in &documents {
            let choices: Vec<String> = fields(line)?
                .get("choices")
                .and_then(|choices| Vec::deserialize(choices).ok())
                .with_context(|| message!("第 {} 行没有 choices（文本列表）", "line {} has no choices, a list of texts", line.number))?;
            ensure!(choices.len() > 1, "第 {} 行只有 {} 个选项，至少要两个", "line {} has {} choice, and two are the fewest", line.number, choices.len());
            places.push(others.len()..others.len() + choices.len());
            texts.extend(std::iter::repeat_n(line.whole(), choices.len()));
            others.extend(choices);
        }
        let both: Vec<[&str; 2]> = texts.iter().zip(&others).map(|(text, other)| [text.as_ref(), other.as_str()]).collect();
        let (rows, _) = model.encoder().pair_rows(&both, ctx, |_| Ok(ctx.check()?))?;
        let score = |choice: usize| rows[choice * dim + column];
        for (line, place) in documents.iter().zip(places) {
            ctx.advance(1)?;
            let best = place.clone().fold(place.start, |best, i| if score(i) > score(best) { i } else { best });
            chosen.push(json!({"id": line.name(), "choice": best - place.start, "scores": place.clone().map(score).collect::<Vec<_>>()}));
            let Some(label) = line.label.as_deref() else { continue };
            let by_text = || others[place.clone()].iter().position(|choice| choice == label);
            let number = label.parse().ok().filter(|&number: &usize| number < place.len()).or_else(by_text);
            let number = number.with_context(|| {
                message!("第 {} 行的标签为 {label:?}：请写正确选项的编号，从 0 起", "line {} has the label {label:?}: write the number of the right choice, from 0", line.number)
            })?;
            measured += 1;
            right += u64::from(best - place.start == number);
        }
        Ok(())
    })?;
    ensure!(!chosen.is_empty(), "没有选项；输入是空的吗？", "there are no choices; is the input empty?");
    let accuracy = if measured > 0 { json!(right as f64 / measured as f64) } else { Value::Null };
    Ok(figures(json!({"documents": chosen.len(), "measured": measured, "accuracy": accuracy, "choices": chosen})))
}

/// Answers, by the right ones where lines have them.
pub(crate) fn answers(model: &FittedOnnx, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    let (mut squad, mut cmrc, mut given) = (Vec::new(), Vec::new(), Vec::new());
    each_block(lines, |documents, texts| {
        let found = model.answers(documents, texts, ctx)?;
        for ((line, text), answer) in documents.iter().zip(texts).zip(found) {
            ctx.advance(1)?;
            let answered = answer.as_ref().map_or("", |answer| &text[answer.range.clone()]);
            if let Some(right) = fields(line)?.get("answers") {
                let mut right: Vec<String> = Vec::deserialize(right).with_context(|| {
                    message!(
                        "第 {} 行：answers 是正确答案的列表",
                        "line {}: answers is a list of the right answers",
                        line.number
                    )
                })?;
                if right.is_empty() {
                    right.push(String::new());
                }
                squad.push(squad_match(&right, answered));
                cmrc.push(cmrc_match(&right, answered));
            }
            given.push(match answer {
                None => json!({"id": line.name(), "answer": Value::Null}),
                Some(answer) => json!({
                    "id": line.name(), "answer": answered, "start": answer.range.start, "end": answer.range.end,
                    "score": answer.score, "null": answer.null, "number": answer.number,
                }),
            });
        }
        Ok(())
    })?;
    let mut found = figures(json!({"documents": given.len(), "answers": given}));
    if !squad.is_empty() {
        found.insert("measured".into(), squad.len().into());
        found.insert("squad".into(), json!(AnswerMatch::mean(&squad)));
        found.insert("cmrc".into(), json!(AnswerMatch::mean(&cmrc)));
    }
    Ok(found)
}

/// An entity of a line, as `eval --task entities` shows it.
#[derive(Deserialize)]
struct RightEntity {
    kind: String,
    start: usize,
    end: usize,
}

/// The right entities of a line; none where it has no such field.
pub(crate) fn right_entities(line: &Line<'_>, text: &str) -> Result<Option<Entities>> {
    let fields: Map<String, Value> = fields(line)?;
    let Some(entities) = fields.get("entities") else { return Ok(None) };
    let entities: Vec<RightEntity> = Vec::deserialize(entities).with_context(|| {
        message!(
            "第 {} 行：entities 是类别、起、止（文本字节）的列表",
            "line {}: entities is a list of kind, start and end (bytes of the text)",
            line.number
        )
    })?;
    let place = |entity: RightEntity| {
        let range: Range<usize> = entity.start..entity.end;
        ensure!(
            text.get(range.clone()).is_some_and(|part| !part.is_empty()),
            "第 {} 行：实体 {} 位于字节 {}..{}，其文本在那里没有完整的字符",
            "line {}: an entity {} stands at bytes {}..{}, where no characters of its text are",
            line.number,
            entity.kind,
            range.start,
            range.end
        );
        Ok((entity.kind, range))
    };
    entities.into_iter().map(place).collect::<Result<Entities>>().map(Some)
}

/// Fails where the flags fix the second text that the lines bring.
pub(crate) fn check(model: &FittedOnnx) -> Result<()> {
    let params = &model.using.params;
    if params.pair.is_some() || !params.labels.is_empty() {
        bail!(
            "此处第二段文本由各行给出，请去掉 --pair 和 --hypothesis",
            "lines bring their second text here, so --pair and --hypothesis are left out"
        );
    }
    Ok(())
}
