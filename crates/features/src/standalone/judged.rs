//! Word vectors against human judgement: pairs of words with a similarity, and analogies.
//!
//! Files are those in use: pairs as wordsim (`word word score` a line, spaces or tabs between), analogies as the word2vec tool's
//! questions (`a b c d` a line, meaning a is to b as c is to d, under lines `: section`). Figures follow gensim's
//! `evaluate_word_pairs` and `evaluate_word_analogies`: lines with an unknown word are counted and left out; the answer is the
//! word nearest to `b - a + c` in unit vectors (3CosAdd), the three of the question excepted. A model that makes vectors of
//! characters has one for words that it never met, as fastText's own evaluation; how many pairs or questions took one is told.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;

use super::association::associations;
use super::words::{VectorWords, WordVector};
use super::{Figures, Fitted};
use crate::fitted::figures;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{pearson, spearman};
use inkstone_base::{ensure, message};
use inkstone_models::{cosine, unit};

/// Questions that are looked up between two checks for cancellation.
const TOGETHER: usize = 256;

/// The content of a file of judgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Judgements {
    /// Pairs of words with a similarity.
    Similarity,
    /// Questions: a is to b as c is to d.
    Analogy,
    /// Sets of words: do names lean towards good or bad words (WEAT)?
    Association,
}

/// Measures a model's word vectors by a file of judgements.
pub fn evaluate_words(model: &dyn Fitted, path: &Path, kind: Judgements, ctx: &Ctx) -> Result<(Figures, Report)> {
    let words = VectorWords::new(model, ctx)?;
    let bytes = std::fs::read(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    let text = std::str::from_utf8(&bytes)
        .ok()
        .with_context(|| message!("{} 不是 UTF-8", "{} is not UTF-8", path.display()))?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty());
    let mut report = Report::new("eval");
    let figures = match kind {
        Judgements::Similarity => similarity(lines, &words, &mut report),
        Judgements::Analogy => analogies(lines, &words, &mut report, ctx),
        Judgements::Association => associations(lines, &words, &mut report, ctx),
    };
    Ok((figures.with_context(|| path.display().to_string())?, report))
}

fn similarity<'t>(
    lines: impl Iterator<Item = &'t str>,
    words: &VectorWords<'_>,
    report: &mut Report,
) -> Result<Figures> {
    let (mut found, mut judged, mut made) = (Vec::new(), Vec::new(), 0u64);
    for line in lines {
        report.rows_in += 1;
        let mut fields = line.split_whitespace();
        let (Some(a), Some(b), Some(Ok(score))) = (fields.next(), fields.next(), fields.next().map(str::parse::<f64>))
        else {
            report.drop_rows("not two words and a number", 1);
            continue;
        };
        report.rows_out += 1;
        if let (Some(a), Some(b)) = (words.find(a), words.find(b)) {
            found.push(f64::from(cosine(&a.vector, &b.vector)));
            judged.push(score);
            made += u64::from(a.place.is_none() || b.place.is_none());
        }
    }
    ensure!(report.rows_out > 0, "没有一行是两个词加一个数", "no line has two words and a number");
    Ok(figures(json!({
        "pairs": report.rows_out, "known_pairs": found.len(), "made_pairs": made,
        "spearman": spearman(&found, &judged), "pearson": pearson(&found, &judged),
    })))
}

/// Results of a section of questions.
#[derive(Default, Serialize)]
struct JudgedSection {
    section: String,
    questions: usize,
    known_questions: usize,
    right: usize,
    accuracy: f64,
}

/// A question whose words have vectors.
struct AnalogyQuestion {
    section: usize,
    /// `b - a + c`, `[dim]`.
    query: Vec<f32>,
    /// Where a, b and c stand among the words.
    places: Vec<usize>,
    answer: usize,
}

fn analogies<'t>(
    lines: impl Iterator<Item = &'t str>,
    words: &VectorWords<'_>,
    report: &mut Report,
    ctx: &Ctx,
) -> Result<Figures> {
    let mut sections = vec![JudgedSection::default()];
    let (mut questions, mut made): (Vec<AnalogyQuestion>, u64) = (Vec::new(), 0);
    for line in lines {
        if let Some(name) = line.strip_prefix(':') {
            sections.push(JudgedSection { section: name.trim().to_owned(), ..JudgedSection::default() });
            continue;
        }
        report.rows_in += 1;
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.len() != 4 {
            report.drop_rows("not four words", 1);
            continue;
        }
        report.rows_out += 1;
        let section = sections.len() - 1;
        sections[section].questions += 1;
        let asked: Option<Vec<WordVector<'_>>> = fields[..3].iter().map(|word| words.find(word)).collect();
        // The answer is one of the model's own words.
        if let (Some(asked), Some(answer)) = (asked, words.find(fields[3]).and_then(|found| found.place)) {
            sections[section].known_questions += 1;
            let places: Vec<usize> = asked.iter().filter_map(|found| found.place).collect();
            made += u64::from(places.len() < 3);
            let [a, b, c] = [0, 1, 2].map(|i: usize| unit(&asked[i].vector));
            let query = (0..words.dim).map(|i| b[i] - a[i] + c[i]).collect();
            questions.push(AnalogyQuestion { section, query, places, answer });
        }
    }
    ensure!(report.rows_out > 0, "没有一行有类比题所需的四个词", "no line has the four words of a question");
    for asked in questions.chunks(TOGETHER) {
        ctx.check()?;
        let queries: Vec<f32> = asked.iter().flat_map(|question| &question.query).copied().collect();
        // Three of the four nearest may be those of the question.
        let found = ctx.install(|| words.nearest.query_all(&queries, 4));
        for (question, found) in asked.iter().zip(found) {
            let answer = found.iter().map(|neighbour| neighbour.row).find(|row| !question.places.contains(row));
            sections[question.section].right += usize::from(answer == Some(question.answer));
        }
    }
    let accuracy = |right: usize, all: usize| if all > 0 { right as f64 / all as f64 } else { f64::NAN };
    sections.iter_mut().for_each(|s| s.accuracy = accuracy(s.right, s.known_questions));
    let right = sections.iter().map(|section| section.right).sum();
    sections.retain(|section| section.questions > 0);
    Ok(figures(json!({
        "questions": report.rows_out, "known_questions": questions.len(), "made_questions": made, "right": right,
        "accuracy": accuracy(right, questions.len()), "sections": sections,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::open_model;

    fn model(text: &str) -> (tempfile::TempDir, Box<dyn Fitted>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.vec");
        std::fs::write(&path, text).unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        let (model, _) = open_model(&path, None, None, Path::new(""), &ctx).unwrap();
        (dir, model)
    }

    #[test]
    fn similarities_are_ranked_and_unknown_words_left_out() {
        let (dir, model) = model("4 2\n银行 1 0\n信贷 1 0.2\n股票 0 2\n天气 -1 0\n");
        let path = dir.path().join("pairs");
        std::fs::write(&path, "\u{feff}银行\t信贷\t9\n银行 股票 5\n银行 天气 1\n银行 月亮 3\n银行 信贷\n").unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        let (figures, report) = evaluate_words(model.as_ref(), &path, Judgements::Similarity, &ctx).unwrap();
        assert_eq!((figures["pairs"].as_u64(), figures["known_pairs"].as_u64()), (Some(4), Some(3)));
        assert!((figures["spearman"].as_f64().unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(report.dropped_rows(), 1);
        std::fs::write(&path, "a b\n").unwrap();
        let error = evaluate_words(model.as_ref(), &path, Judgements::Similarity, &ctx).unwrap_err();
        assert!(format!("{error:#}").contains("no line has two words and a number"));
    }

    #[test]
    fn an_analogy_is_answered_by_the_nearest_that_is_not_of_the_question() {
        // 涨 is to 大涨 as 跌 is to 大跌: the second value is the strength.
        let (dir, model) = model("5 2\n涨 1 0.1\n大涨 1 1\n跌 -1 0.1\n大跌 -1 1\n平 0.1 0\n");
        let path = dir.path().join("questions");
        std::fs::write(&path, ": 强弱\n涨 大涨 跌 大跌\n大涨 涨 大跌 跌\n涨 大涨 平 跌\n涨 大涨 跌 月亮\n涨 跌\n")
            .unwrap();
        let ctx = Ctx::new(2, 1).unwrap();
        let (figures, report) = evaluate_words(model.as_ref(), &path, Judgements::Analogy, &ctx).unwrap();
        let counts = ["questions", "known_questions", "right"].map(|name| figures[name].as_u64().unwrap());
        assert_eq!(counts, [4, 3, 2]);
        assert_eq!(figures["sections"][0]["section"], "强弱");
        assert_eq!(report.dropped_rows(), 1);
    }
}
