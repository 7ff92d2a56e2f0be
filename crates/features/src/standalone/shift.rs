//! Shift of words between models of different times: the models are aligned one after the other.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;

use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_models::WordVectors;

/// A word in one of the models.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    pub word: Box<str>,
    /// Number of the model, from 0.
    pub model: usize,
    /// Last time of the model's training text.
    pub fitted_until: Option<NaiveDateTime>,
    /// Occurrences in the training text; none where the file does not say.
    pub count: Option<u64>,
    /// 1 less the cosine between the word's aligned vectors in this model and the one before; none where the one before lacks the word.
    pub from_previous: Option<f64>,
    /// The same to the first model that has the word.
    pub from_first: Option<f64>,
}

/// Follows words (all, when none are named) through models in the order of their times, each aligned to the one before it.
pub fn shifts(models: Vec<WordVectors>, words: &[String], ctx: &Ctx) -> Result<Vec<Shift>> {
    ensure!(
        models.len() > 1,
        "比较词义变迁须有两个以上模型，各在不同时期训练（--models）",
        "a shift needs two models or more, each trained on a time of its own (--models)"
    );
    let times: Vec<Option<NaiveDateTime>> = models.iter().map(|model| model.training().fitted_until).collect();
    ensure!(
        times.windows(2).all(|pair| pair[0].is_none() || pair[1].is_none() || pair[0] < pair[1]),
        "各模型在时间上没有先后：{times:?}；请从早到晚写出",
        "the models do not follow each other in time: {times:?}; name them from the earliest to the latest"
    );
    let mut aligned: Vec<WordVectors> = Vec::with_capacity(models.len());
    for (i, model) in models.into_iter().enumerate() {
        ctx.check()?;
        let model = match aligned.last() {
            None => model,
            Some(before) => {
                let done = ctx.install(|| model.aligned(before));
                done.with_context(|| {
                    message!("模型 {} 无法与模型 {i} 对齐", "model {} cannot be aligned to model {i}", i + 1)
                })?
            }
        };
        aligned.push(model);
    }
    let named = || words.iter().map(|word| Box::from(word.as_str())).collect();
    let all: Vec<Box<str>> = if words.is_empty() { aligned[0].words().to_vec() } else { named() };
    let mut out = Vec::new();
    for word in all {
        let vectors: Vec<Option<&[f32]>> = aligned.iter().map(|model| model.vector(&word)).collect();
        ensure!(vectors.iter().any(Option::is_some), "没有模型认识词 {word:?}", "no model knows the word {word:?}");
        let first = vectors.iter().flatten().next().copied();
        for (i, vector) in vectors.iter().enumerate() {
            let Some(vector) = vector else { continue };
            let model = &aligned[i];
            let before = i.checked_sub(1).and_then(|before| vectors[before]);
            out.push(Shift {
                model: i,
                fitted_until: times[i],
                count: model.number(&word).and_then(|number| model.counts().get(number as usize).copied()),
                from_previous: before.map(|before| distance(vector, before)),
                from_first: first.map(|first| distance(vector, first)),
                word: word.clone(),
            });
        }
    }
    Ok(out)
}

/// Writes shifts as CSV: `word,model,fitted_until,count,from_previous,from_first`.
pub fn write_shifts(shifts: &[Shift], path: &Path, formulas: Formulas) -> Result<()> {
    disk::write_atomic(path, |out| {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(["word", "model", "fitted_until", "count", "from_previous", "from_first"])?;
        let shown = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for shift in shifts {
            table.write_record([
                &*formulas.field(&shift.word),
                &shift.model.to_string(),
                &shift.fitted_until.map_or_else(String::new, |time| time.to_string()),
                &shift.count.map_or_else(String::new, |count| count.to_string()),
                &shown(shift.from_previous),
                &shown(shift.from_first),
            ])?;
        }
        Ok(table.flush()?)
    })
}

/// 1 less the cosine.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_models::Training;

    fn model(day: u32, values: [f32; 10]) -> WordVectors {
        let fitted_until = chrono::NaiveDate::from_ymd_opt(2024, 1, day).and_then(|date| date.and_hms_opt(15, 0, 0));
        let words = ["增长", "盈利", "减持", "处罚", "注册"].map(Box::from).to_vec();
        let training = Training { fitted_until, ..Training::default() };
        WordVectors::new(words, vec![9, 8, 7, 6, 5], 2, values.to_vec(), training).unwrap()
    }

    #[test]
    fn a_word_that_moves_is_told_from_a_space_that_turns() {
        let first = model(1, [1.0, 0.0, 0.9, 0.1, -1.0, 0.2, -0.9, -0.1, 1.0, 0.1]);
        // The whole is turned by a right angle; 注册 went over to the other side.
        let second = model(2, [0.0, 1.0, -0.1, 0.9, -0.2, -1.0, 0.1, -0.9, 0.1, -1.0]);
        let ctx = Ctx::new(1, 1).unwrap();
        let found = shifts(vec![first.clone(), second.clone()], &[], &ctx).unwrap();
        assert_eq!(found.len(), 10);
        let moved =
            |word: &str| found.iter().find(|s| *s.word == *word && s.model == 1).unwrap().from_previous.unwrap();
        assert!(moved("注册") > 1.5, "{}", moved("注册"));
        assert!(["增长", "盈利", "减持", "处罚"].iter().all(|word| moved(word) < 0.3), "{}", moved("增长"));
        assert_eq!((found[0].from_previous, found[0].count), (None, Some(9)));
        let named = shifts(vec![first.clone(), second.clone()], &["注册".into()], &ctx).unwrap();
        assert_eq!(named.len(), 2);
        let refusal = |models, words: &[String]| shifts(models, words, &ctx).unwrap_err().to_string();
        assert!(refusal(vec![second.clone(), first.clone()], &[]).contains("from the earliest to the latest"));
        assert!(refusal(vec![first.clone()], &[]).contains("two models or more"));
        assert!(refusal(vec![first, second], &["月亮".into()]).contains("月亮"));
    }

    #[test]
    fn a_word_that_a_spreadsheet_would_compute_is_quoted_on_demand() {
        let dir = tempfile::tempdir().unwrap();
        let word = "=HYPERLINK(1)".into();
        let shift = Shift { word, model: 0, fitted_until: None, count: Some(3), from_previous: None, from_first: None };
        for (formulas, begin) in [(Formulas::Keep, "=HYPERLINK(1),0"), (Formulas::Quote, "'=HYPERLINK(1),0")] {
            let path = dir.path().join("shifts.csv");
            write_shifts(std::slice::from_ref(&shift), &path, formulas).unwrap();
            let table = std::fs::read_to_string(&path).unwrap();
            assert!(table.lines().nth(1).unwrap().starts_with(begin), "{table}");
        }
    }
}
