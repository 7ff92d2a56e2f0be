//! The word embedding association test (Caliskan, Bryson and Narayanan 2017): it measures how far names lean towards one of two groups of words.
//!
//! A line of the file is a set, `name: word word ...`. The last two sets are the poles, good words and bad ones; those before them are
//! targets, such as the companies of two industries. The association of a word is its mean cosine with the first pole less that with the
//! second. The effect of two targets is the difference of their mean associations over the standard deviation (of a sample) of all their
//! words; its probability is the share of all ways to part these words that give at least that difference, or of [`DRAWS`] of them, drawn by
//! the seed, where there are more.

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde_json::{Value, json};

use super::Figures;
use super::words::VectorWords;
use crate::fitted::figures;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{mean, std};
use inkstone_base::{ensure, message};
use inkstone_models::unit;

/// The largest number of partitions that are tried.
const DRAWS: usize = 100_000;
/// Sums in another order differ by less than this.
const EQUAL: f64 = 1e-12;

/// The known words of a set, as unit vectors.
struct WordSet {
    name: String,
    words: Vec<(String, Vec<f32>)>,
}

#[derive(Serialize)]
struct TargetAssociation<'s> {
    set: &'s str,
    mean: f64,
    /// Words with their associations, the highest first.
    words: Vec<(&'s str, f64)>,
}

/// Measures the sets of a file.
pub(super) fn associations<'t>(
    lines: impl Iterator<Item = &'t str>,
    words: &VectorWords<'_>,
    report: &mut Report,
    ctx: &Ctx,
) -> Result<Figures> {
    let mut sets: Vec<WordSet> = Vec::new();
    let mut unknown = Vec::new();
    for line in lines {
        report.rows_in += 1;
        let Some((name, members)) = line.split_once([':', '：']) else {
            report.drop_rows("not a name, a colon and words", 1);
            continue;
        };
        report.rows_out += 1;
        let mut set = WordSet { name: name.trim().to_owned(), words: Vec::new() };
        for word in members.split_whitespace() {
            match words.find(word) {
                Some(found) => set.words.push((word.to_owned(), unit(&found.vector))),
                None => unknown.push(word.to_owned()),
            }
        }
        ensure!(!set.words.is_empty(), "集合 {} 中没有模型认识的词", "the model knows no word of the set {}", set.name);
        sets.push(set);
    }
    ensure!(
        sets.len() >= 3,
        "只有 {} 个集合：须有一个或多个目标集，其后是两个极（如褒义词与贬义词），每行一个集合，写作 名称: 词 词",
        "there are {} sets: one or more targets and behind them two poles (good words and bad ones) are needed, a line each, as name: word word",
        sets.len()
    );
    let (targets, poles) = sets.split_at(sets.len() - 2);
    let towards = |vector: &[f32], pole: &WordSet| -> f64 {
        let cosine = |other: &[f32]| vector.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        mean(pole.words.iter().map(|(_, other)| cosine(other)))
    };
    let association = |vector: &[f32]| towards(vector, &poles[0]) - towards(vector, &poles[1]);
    let values: Vec<Vec<f64>> =
        targets.iter().map(|set| set.words.iter().map(|(_, vector)| association(vector)).collect()).collect();
    let listed: Vec<TargetAssociation<'_>> = targets
        .iter()
        .zip(&values)
        .map(|(set, values)| {
            let mut words: Vec<(&str, f64)> =
                set.words.iter().map(|(word, _)| word.as_str()).zip(values.iter().copied()).collect();
            words.sort_by(|one, other| other.1.total_cmp(&one.1));
            TargetAssociation { set: &set.name, mean: mean(values.iter().copied()), words }
        })
        .collect();
    let mut found = json!({
        "poles": [&poles[0].name, &poles[1].name], "targets": listed, "unknown_words": unknown,
    });
    if let [first, second] = &values[..] {
        found["effect"] = effect(first, second, ctx).context(message!("两个目标集", "the two targets"))?;
    }
    Ok(figures(found))
}

/// The effect size, its probability, and the number of partitions that were tried.
fn effect(first: &[f64], second: &[f64], ctx: &Ctx) -> Result<Value> {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    ensure!(all.len() > 2, "两个集合共只有两个词", "they have two words in all");
    let deviation = std(&all);
    let observed = mean(first.iter().copied()) - mean(second.iter().copied());
    let total: f64 = all.iter().sum();
    let (taken, left) = (first.len() as f64, second.len() as f64);
    let as_large = |sum: f64| sum / taken - (total - sum) / left >= observed - EQUAL;
    let (mut tried, mut reached) = (0u64, 0u64);
    if combinations(all.len(), first.len()) <= DRAWS as f64 {
        each_choice(all.len(), first.len(), |chosen| {
            tried += 1;
            reached += u64::from(as_large(chosen.iter().map(|place| all[*place]).sum()));
        });
    } else {
        let (mut places, mut random) = ((0..all.len()).collect::<Vec<usize>>(), ChaCha8Rng::seed_from_u64(ctx.seed()));
        // The partition that was observed is one of them, so that no probability is 0.
        (tried, reached) = (1, 1);
        for _ in 1..DRAWS {
            ctx.check()?;
            let (chosen, _) = places.partial_shuffle(&mut random, first.len());
            tried += 1;
            reached += u64::from(as_large(chosen.iter().map(|place| all[*place]).sum()));
        }
    }
    Ok(json!({"size": observed / deviation, "p": reached as f64 / tried as f64, "partitions": tried}))
}

fn combinations(n: usize, k: usize) -> f64 {
    (0..k.min(n - k)).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// Calls `visit` with each choice of `k` of the places below `n`, ascending.
fn each_choice(n: usize, k: usize, mut visit: impl FnMut(&[usize])) {
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        visit(&chosen);
        let Some(last) = (0..k).rev().find(|i| chosen[*i] < n - k + i) else { return };
        chosen[last] += 1;
        for i in last + 1..k {
            chosen[i] = chosen[i - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::judged::{Judgements, evaluate_words};
    use super::*;
    use crate::models::open_model;

    #[test]
    fn all_choices_come_once() {
        let mut seen = Vec::new();
        each_choice(5, 2, |chosen| seen.push(chosen.to_vec()));
        assert_eq!((seen.len(), combinations(5, 2)), (10, 10.0));
        assert_eq!((&seen[0], &seen[9]), (&vec![0, 1], &vec![3, 4]));
        assert!(seen.is_sorted());
    }

    const ANSWERS: &str = include_str!("../../../../tests/reference/association/answers.json");

    fn measured(sets: &[String], vectors: &Value) -> Result<(Figures, Report)> {
        let dir = tempfile::tempdir().unwrap();
        let vectors = vectors.as_object().unwrap();
        let mut text = format!("{} 6\n", vectors.len());
        for (word, vector) in vectors {
            let values: Vec<String> = vector.as_array().unwrap().iter().map(Value::to_string).collect();
            text += &format!("{word} {}\n", values.join(" "));
        }
        let (path, judged) = (dir.path().join("m.vec"), dir.path().join("sets.txt"));
        std::fs::write(&path, text).unwrap();
        std::fs::write(&judged, sets.join("\n")).unwrap();
        let ctx = Ctx::new(2, 1).unwrap();
        let (model, _) = open_model(&path, None, None, Path::new(""), &ctx).unwrap();
        evaluate_words(model.as_ref(), &judged, Judgements::Association, &ctx)
    }

    #[test]
    fn associations_and_their_effect_are_those_of_the_paper() {
        let answers: Value = serde_json::from_str(ANSWERS).unwrap();
        let set = |name: &str| {
            let words = answers["sets"][name].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            format!("{name}: {}", words.collect::<Vec<_>>().join(" "))
        };
        let mut sets = ["银行", "地产", "好", "坏"].map(set).to_vec();
        sets[0] += " 不识";
        let (found, report) = measured(&sets, &answers["vectors"]).unwrap();
        let near = |one: &Value, other: &Value| (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-6;
        for (target, mean) in found["targets"].as_array().unwrap().iter().zip(answers["means"].as_array().unwrap()) {
            assert!(near(&target["mean"], mean), "{target}");
            for word in target["words"].as_array().unwrap() {
                assert!(near(&word[1], &answers["associations"][word[0].as_str().unwrap()]), "{word}");
            }
        }
        assert!(near(&found["effect"]["size"], &answers["size"]) && near(&found["effect"]["p"], &answers["p"]));
        assert_eq!(found["effect"]["partitions"], answers["partitions"]);
        assert_eq!((&found["unknown_words"], report.rows_out), (&json!(["不识"]), 4));
        let (alone, _) = measured(&sets[1..], &answers["vectors"]).unwrap();
        assert!(alone.get("effect").is_none() && alone["targets"][0]["set"] == "地产", "{alone:?}");
        let error = format!("{:#}", measured(&sets[2..], &answers["vectors"]).unwrap_err());
        assert!(error.contains("two poles"), "{error}");
    }

    #[test]
    fn drawn_partitions_agree_with_all_of_them() {
        let ctx = Ctx::new(1, 1).unwrap();
        let (low, middle, high) = (0..6, 6..18, 18..24);
        let [first, second] = [low.chain(high).collect::<Vec<i32>>(), middle.collect()]
            .map(|n| n.into_iter().map(f64::from).collect::<Vec<f64>>());
        // Their means are equal: half of all 2.7 million partitions give a larger difference, or as large a one.
        let found = effect(&first, &second, &ctx).unwrap();
        assert_eq!((&found["partitions"], &found["size"]), (&json!(DRAWS), &json!(0.0)));
        let p = found["p"].as_f64().unwrap();
        assert!((p - 0.51).abs() < 0.01, "{p}");
    }
}
