//! TextCNN and TextRNN on plain files: lines with a label or labels in, a model file out; and what `eval`, `embed` and `explain` make of it.
//!
//! A text is its title and its text, every token as written: order matters here. Documents are held in memory as numbers of words.

use std::cmp::Reverse;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, place_of_class};
use crate::lines::{Cutter, Line, Lines};
use crate::models::estimators::Learn;
use crate::models::estimators::plain::corpus::LabelledCorpus;
use crate::models::tfidf::plain::fields;
use crate::models::word_vectors::last_seen;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::textnet::{Examples, TextNet, TextNetKind, TextNetParams};
use inkstone_models::{
    ClassReport, Explanation, Fields, Goal, LabelReport, ModelHeader, Part, WordLimits, WordVectors,
};

/// Documents that a thread takes at once.
const CHUNK: usize = 64;

/// True for the kinds of models that are read here.
pub(crate) fn is_kind(kind: &str) -> bool {
    TextNetKind::of_file(kind).is_some()
}

/// Trains a classifier on all lines with what is to be learned (`learn`, or the first of labels and label that a line has) and writes it
/// to `output`. An interrupted training leaves a checkpoint beside it,
/// from which the same training goes on. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `classes` (documents of
/// each), `parameters`, `epochs`, and with given vectors the number of words that have one, `pretrained_words`.
#[allow(clippy::too_many_arguments, reason = "input, output, and what is learned how")]
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    learn: Option<Learn>,
    vocabulary: WordLimits,
    params: &TextNetParams,
    pretrained: Option<&WordVectors>,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    params.check()?;
    let corpus = LabelledCorpus::read(lines, learn, false, None, ctx)?;
    corpus.goal.check()?;
    let names = corpus.goal.names().to_vec();
    let (words, tokens, documents) = numbered(&corpus.fields(), cutter, vocabulary, params.max_tokens, ctx)?;
    let known = pretrained.map(|vectors| vectors.known(&words));
    let what = json!({
        "network": params, "seed": ctx.seed(), "words": words, "goal": corpus.goal,
        "text": Key::of(bytemuck::cast_slice(&documents.concat())), "ends": documents.iter().map(Vec::len).collect::<Vec<_>>(),
        "pretrained": pretrained.map(|vectors| Key::of(bytemuck::cast_slice(vectors.values()))),
    });
    let checkpoint = Checkpoint::new(output, &what)?;
    let vocabulary = words.len();
    let examples = Examples { documents, goal: corpus.goal.clone() };
    let model = TextNet::train(&examples, words, pretrained, params, Some(&checkpoint), ctx)?;
    let fitted_until = last_seen(corpus.last_time(), pretrained);
    model.save(output, cutter.spec(), corpus.len() as u64, fitted_until)?;
    checkpoint.remove()?;
    let mut report = lines.report();
    report.fact("documents", corpus.len());
    report.fact("tokens", tokens);
    report.fact("vocabulary", vocabulary);
    report.fact("fitted_until", fitted_until);
    let sizes = names.into_iter().zip(corpus.goal.sizes().into_iter().map(Value::from));
    report.fact("classes", sizes.collect::<serde_json::Map<String, Value>>());
    report.fact("parameters", model.parameters());
    report.fact("epochs", model.epochs());
    if let Some(known) = known {
        report.fact("pretrained_words", known);
    }
    Ok(report)
}

fn tokens<'t>(fields: &Fields<'t>, cutter: &Cutter) -> Vec<&'t str> {
    let mut tokens = cutter.tokens(fields.title);
    tokens.extend(cutter.tokens(fields.body));
    tokens
}

/// The vocabulary, the number of tokens, and the documents as numbers.
fn numbered(
    fields: &[Fields<'_>],
    cutter: &Cutter,
    vocabulary: WordLimits,
    most: usize,
    ctx: &Ctx,
) -> Result<(Vec<Box<str>>, usize, Vec<Vec<u32>>)> {
    let cut: Vec<Vec<&str>> = ctx.install(|| fields.par_iter().map(|fields| tokens(fields, cutter)).collect());
    let mut counts: FxHashMap<&str, u64> = FxHashMap::default();
    cut.iter().flatten().for_each(|token| *counts.entry(token).or_default() += 1);
    let different = counts.len();
    let mut words: Vec<(&str, u64)> = counts.into_iter().filter(|(_, n)| *n >= vocabulary.min_count).collect();
    words.sort_unstable_by_key(|&(word, n)| (Reverse(n), word));
    if vocabulary.max_words > 0 {
        words.truncate(vocabulary.max_words);
    }
    ensure!(
        words.len() > 1,
        "{different} 个词中有 {} 个在 {2} 篇文档中出现至少 {1} 次，分类器需要两个：请降低 --min-count，或提供更多文本",
        "{} of {different} words occur at least {} times in {} documents, and a classifier needs two: lower --min-count, or give more text",
        words.len(),
        vocabulary.min_count,
        fields.len()
    );
    let numbers: FxHashMap<&str, u32> = words.iter().map(|(word, _)| *word).zip(0..).collect();
    let unknown = words.len() as u32;
    let number = |token: &&str| numbers.get(token).copied().unwrap_or(unknown);
    let documents = cut.iter().map(|tokens| tokens.iter().take(most).map(number).collect()).collect();
    let tokens = cut.iter().map(Vec::len).sum();
    Ok((words.into_iter().map(|(word, _)| word.into()).collect(), tokens, documents))
}

impl Opened<TextNet> {
    fn probabilities(&self, fields: &[Fields<'_>]) -> Result<Vec<f64>> {
        let documents: Vec<Vec<u32>> =
            fields.iter().map(|fields| self.model.document(&tokens(fields, &self.cutter))).collect();
        self.model.probabilities(&documents)
    }

    /// Labels of each row: those likelier than not, or the likeliest class (the first of equals).
    fn called(&self, probabilities: &[f64]) -> Vec<Vec<u32>> {
        let labels = |p: &[f64]| (0..).zip(p).filter(|(_, p)| **p > 0.5).map(|(label, _)| label).collect();
        let class = |p: &[f64]| vec![(0..p.len()).rev().max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap_or(0) as u32];
        let rows = probabilities.chunks(self.model.names().len());
        if self.model.has_labels() { rows.map(labels).collect() } else { rows.map(class).collect() }
    }
}

impl Fitted for Opened<TextNet> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        let numbers = self.model.names().iter().map(|name| format!("p:{name}")).collect();
        Ok(Columns::Table { text: Some("label".to_owned()), numbers })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        // One by one: documents that are computed together move one another's last digits.
        let rows = lines.iter().map(|line| self.probabilities(&[fields(line)]));
        let numbers = rows.collect::<Result<Vec<Vec<f64>>>>()?.concat();
        let name = |&number: &u32| self.model.names()[number as usize].as_str();
        let label = |called: Vec<u32>| called.iter().map(name).collect::<Vec<&str>>().join("|");
        Ok(Rows::Table { texts: self.called(&numbers).into_iter().map(label).collect(), numbers })
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let names = self.model.names();
        let class = of.map(|name| place_of_class(names, name));
        let fields = fields(line);
        let tokens = tokens(&fields, &self.cutter);
        let found = self.model.reasons(&self.model.document(&tokens), class.transpose()?)?;
        let name = &names[found.of];
        let (of, score) = match found.against.map(|other| &names[other]) {
            Some(other) => (format!("{name} over {other}"), format!("ln(p({name}) / p({other}))")),
            None => (name.clone(), format!("ln(p({name}) / (1 - p({name})))")),
        };
        let part = |(token, &value): (&str, &f64)| Part { token: token.to_owned(), value, detail: Vec::new() };
        let terms: Vec<Part> = tokens.into_iter().zip(&found.parts).map(part).collect();
        Ok(Explanation {
            of: Some(of),
            formula: message!(
                "{score}；每个词的部分 = 它对该词向量的梯度 x 该向量；intercept 是一阶近似下不属于任何词的部分",
                "{score}; a token's part = gradient of it by the token's vector x that vector; the intercept is what no token gave to \
                 first order"
            ),
            score: found.score,
            intercept: found.score - found.parts.iter().sum::<f64>(),
            terms,
            ..Explanation::default()
        })
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(&self.header.kind)?;
        let (learn, name) = if self.model.has_labels() { (Learn::Labels, "labels") } else { (Learn::Label, "a label") };
        let corpus = LabelledCorpus::read_for(lines, learn, self.model.names(), None, ctx).with_context(|| {
            message!("该模型须在带 {name} 的行上评估", "the model is measured on lines with {name}")
        })?;
        let read = corpus.fields();
        let parts = ctx.install(|| {
            let parts = read.par_chunks(CHUNK).map(|part| {
                ctx.check()?;
                self.probabilities(part)
            });
            parts.collect::<Result<Vec<Vec<f64>>>>()
        })?;
        let called = self.called(&parts.concat());
        let report = match &corpus.goal {
            Goal::Classes { class, names } => json!(ClassReport::new(class, &called.concat(), names)),
            Goal::Labels { labels, names } => json!(LabelReport::new(labels, &called, names)),
            Goal::Values(_) => {
                bail!("学习类别或标签的网络不在数值上评估", "a network of classes or labels is not measured on values")
            }
        };
        let mut figures = Figures::new();
        if let Value::Object(report) = report {
            figures.extend(report);
        }
        Ok((figures, lines.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{Block, CutSpec, LineFormat};
    use crate::models::open_model;
    use inkstone_models::Training;
    use inkstone_models::neural::FitParams;
    use inkstone_text::TokenizerParams;

    fn text(n: usize) -> String {
        let line = |i: usize| {
            let (said, label) = [("净利润大幅增长", "好"), ("净利润大幅下滑", "差")][i % 2];
            format!(
                "{{\"text\":\"公司{said}，公告日{i}\",\"label\":\"{label}\",\"time\":\"2020-01-0{}\"}}\n",
                i % 9 + 1
            )
        };
        (0..n).map(line).collect()
    }

    fn lines(text: String) -> Lines {
        Lines::new(std::io::Cursor::new(text), LineFormat::Jsonl)
    }

    fn trained(text: String, params: &TextNetParams, pretrained: Option<&WordVectors>, dir: &Path) -> Result<Report> {
        let cutter = Cutter::new(CutSpec::new(LineFormat::Jsonl, TokenizerParams::default()), Path::new("")).unwrap();
        let (vocabulary, ctx) = (WordLimits { min_count: 2, max_words: 0 }, Ctx::new(2, 1).unwrap());
        train(&mut lines(text), &cutter, None, vocabulary, params, pretrained, &dir.join("m"), &ctx)
    }

    fn small(kind: TextNetKind) -> TextNetParams {
        let fit = FitParams { epochs: 25, batch: 20, lr: 0.01, held_out_share: 0.1, ..FitParams::default() };
        TextNetParams { kind, dim: 8, maps: 6, hidden: 6, dropout: 0.2, fit, ..TextNetParams::default() }
    }

    #[test]
    fn a_model_is_trained_measured_and_explained() {
        let dir = tempfile::tempdir().unwrap();
        for kind in TextNetKind::ALL {
            let report = trained(text(120), &small(kind), None, dir.path()).unwrap();
            assert_eq!((&report.facts["documents"], &report.facts["classes"]["好"]), (&json!(120), &json!(60)));
            assert!(!dir.path().join("m.checkpoint").exists());
            let ctx = Ctx::new(2, 1).unwrap();
            let (model, _) = open_model(&dir.path().join("m"), None, None, Path::new(""), &ctx).unwrap();
            assert_eq!((model.name(), model.header().documents), (kind.name(), 120));
            assert_eq!(model.header().fitted_until.unwrap().to_string(), "2020-01-09 23:59:59");
            let (figures, _) = model.evaluate(&mut lines(text(30)), &EvalParams::default(), &ctx).unwrap();
            assert_eq!((&figures["documents"], &figures["accuracy"]), (&json!(30), &json!(1.0)));
            let mut block = Block::default();
            let mut one = lines(text(2));
            assert!(one.next_block(&mut block, 1 << 16).unwrap());
            let read = one.documents(&block);
            let Rows::Table { texts, numbers } = model.rows(&read).unwrap() else { panic!("a table") };
            assert_eq!(texts, ["好", "差"]);
            let explained = model.explain(&read[0], Some("好")).unwrap();
            assert_eq!(explained.of.as_deref(), Some("好 over 差"));
            assert!((explained.score - (numbers[0] / numbers[1]).ln()).abs() < 1e-3);
            let sum: f64 = explained.terms.iter().map(|part| part.value).sum();
            assert!((explained.intercept + sum - explained.score).abs() < 1e-9);
            let most = explained.terms.iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap();
            assert!(["增长", "大幅", "净利润"].contains(&&*most.token), "{:?}", explained.terms);
            let error = model.explain(&read[0], Some("平")).err().unwrap().to_string();
            assert!(error.contains("好, 差"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_learned_from_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let params = small(TextNetKind::TextCnn);
        let refused = |text: String, given: Option<&WordVectors>| {
            trained(text, &params, given, dir.path()).err().unwrap().to_string()
        };
        assert!(refused(String::new(), None).contains("the input is empty"));
        let one = text(10).replace("差", "好");
        assert!(refused(one, None).contains("all rows are of one class"));
        let rare = "{\"text\":\"甲\",\"label\":\"a\"}\n{\"text\":\"乙\",\"label\":\"b\"}\n".to_owned();
        assert!(refused(rare, None).contains("0 of 2 words occur at least 2 times"));
        let given = WordVectors::new(vec!["公司".into()], Vec::new(), 3, vec![0.0; 3], Training::default()).unwrap();
        assert!(refused(text(10), Some(&given)).contains("have 3 values, and --dim says 8"));
    }
}
