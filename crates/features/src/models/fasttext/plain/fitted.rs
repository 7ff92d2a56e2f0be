//! A fastText model as `eval`, `embed`, `explain` and `nearest` use it: ours, or a file of fastText's.

use std::borrow::Cow;

use anyhow::Result;
use serde_json::{Value, json};

use super::corpus::parted;
use super::{SUPERVISED, WORDS};
use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, WordRows};
use crate::lines::{Cutter, Line, Lines};
use crate::standalone::coverage::{KnownTokens, coverage};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Explanation, FastText, LabelReport, Loss, ModelHeader, component_names};

/// Labels taken at the most where precision and recall are measured.
const TAKEN: usize = 5;

/// A model that fastText wrote.
pub(crate) fn foreign(model: FastText, cutter: Cutter) -> Opened<FastText> {
    let (kind, params) = (FastText::KIND.to_owned(), json!({"fasttext": model.params()}));
    Opened { header: ModelHeader { kind, version: 1, fitted_until: None, documents: 0, params }, model, cutter }
}

impl Opened<FastText> {
    /// Gives `work` the labels and the terms of a line.
    fn with_labels_and_terms<T>(&self, line: &Line<'_>, work: impl FnOnce(&[Cow<'_, str>], &[&str]) -> T) -> T {
        let (labels, text) = parted(line, &self.model.params().label);
        let terms = self.cutter.terms(&text);
        work(&labels, &terms.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    }

    /// True with one versus all: a text may be called any number of labels.
    fn decides_each_label(&self) -> bool {
        self.model.params().loss == Loss::Ova
    }

    /// The labels that a text is called: those that are likelier than not with one versus all, else the likeliest one.
    fn called(&self, terms: &[&str]) -> Option<Vec<u32>> {
        if !self.decides_each_label() {
            return Some(self.model.likeliest(terms, 1)?.into_iter().map(|entry| entry.0).collect());
        }
        let probabilities = self.model.probabilities(terms)?;
        Some((0..).zip(probabilities).filter(|&(_, p)| p > 0.5).map(|entry| entry.0).collect())
    }
}

/// The labels of one document, true and called.
struct JudgedDocument {
    /// Labels that the model knows.
    truth: Vec<u32>,
    called: Vec<u32>,
    /// The likeliest labels, the likeliest first.
    ranked: Vec<u32>,
}

impl Opened<FastText> {
    fn evaluate_labels(&self, lines: &mut Lines, ctx: &Ctx) -> Result<(Figures, Report)> {
        let names: Vec<String> = self.model.label_names().into_iter().map(str::to_owned).collect();
        let taken = TAKEN.min(names.len());
        let (mut documents, mut judged) = (0u64, Vec::new());
        lines.for_each_document(
            ctx,
            |line| self.judged(line, taken),
            |found| {
                documents += 1;
                judged.extend(found);
                Ok(())
            },
        )?;
        let report = lines.finish()?;
        ensure!(
            !judged.is_empty(),
            "{documents} 篇文档中没有一篇带有模型认识的标签（{}）：请以 {} 开头的词元作标签，或在 JSON 行中写 \"label\" 或 \"labels\"",
            "none of {documents} documents has a label that the model knows ({}): begin tokens with {}, or give JSON lines a \"label\" or \"labels\"",
            names.iter().take(10).map(String::as_str).collect::<Vec<&str>>().join(", "),
            self.model.params().label
        );
        let mut figures = Figures::new();
        figures.insert("documents".to_owned(), json!(documents));
        figures.insert("examples".to_owned(), json!(judged.len()));
        let gold: usize = judged.iter().map(|judged| judged.truth.len()).sum();
        for k in 1..=taken {
            let hits = |judged: &JudgedDocument| {
                judged.ranked[..k].iter().filter(|&label| judged.truth.contains(label)).count()
            };
            let hits = judged.iter().map(hits).sum::<usize>() as f64;
            figures.insert(format!("precision_at_{k}"), json!(hits / (k * judged.len()) as f64));
            figures.insert(format!("recall_at_{k}"), json!(hits / gold as f64));
        }
        let (truth, called): (Vec<Vec<u32>>, Vec<Vec<u32>>) =
            judged.into_iter().map(|judged| (judged.truth, judged.called)).unzip();
        if let Value::Object(mut by_label) = serde_json::to_value(LabelReport::new(&truth, &called, &names))? {
            by_label.remove("documents");
            figures.extend(by_label);
        }
        Ok((figures, report))
    }

    /// None for a document without a known label or without any feature, as in fastText's test.
    fn judged(&self, line: &Line<'_>, taken: usize) -> Option<JudgedDocument> {
        self.with_labels_and_terms(line, |labels, terms| {
            let mut truth: Vec<u32> = labels.iter().filter_map(|label| self.model.dictionary().label(label)).collect();
            truth.sort_unstable();
            truth.dedup();
            if truth.is_empty() {
                return None;
            }
            let ranked: Vec<u32> = self.model.likeliest(terms, taken)?.into_iter().map(|entry| entry.0).collect();
            let called = if self.decides_each_label() { self.called(terms)? } else { ranked[..1].to_vec() };
            Some(JudgedDocument { truth, called, ranked })
        })
    }

    fn evaluate_words(&self, lines: &mut Lines, ctx: &Ctx) -> Result<(Figures, Report)> {
        let dictionary = self.model.dictionary();
        coverage(lines, ctx, |line| {
            self.with_labels_and_terms(line, |_, terms| {
                let known = terms.iter().filter(|term| dictionary.word(term).is_some()).count();
                // A word that was never met has the vectors of its parts.
                Ok(KnownTokens { tokens: terms.len(), known, empty: terms.is_empty() })
            })
        })
    }
}

impl Fitted for Opened<FastText> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn name(&self) -> &str {
        if self.model.is_supervised() { SUPERVISED } else { WORDS }
    }

    fn columns(&self) -> Result<Columns> {
        if !self.model.is_supervised() {
            return Ok(Columns::Dense(component_names(self.model.params().dim)));
        }
        let numbers = self.model.label_names().into_iter().map(|name| format!("p:{name}")).collect();
        Ok(Columns::Table { text: Some("label".to_owned()), numbers })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        if !self.model.is_supervised() {
            let vectors = lines
                .iter()
                .flat_map(|line| self.with_labels_and_terms(line, |_, terms| self.model.sentence_vector(terms)));
            return Ok(Rows::Dense(vectors.collect()));
        }
        let names = self.model.label_names();
        let (mut texts, mut numbers) = (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len() * names.len()));
        for line in lines {
            let read = self
                .with_labels_and_terms(line, |_, terms| Some((self.called(terms)?, self.model.probabilities(terms)?)));
            let Some((called, probabilities)) = read else {
                texts.push(String::new());
                numbers.extend(names.iter().map(|_| f64::NAN));
                continue;
            };
            texts.push(called.iter().map(|&label| names[label as usize]).collect::<Vec<&str>>().join("|"));
            numbers.extend(probabilities.into_iter().map(f64::from));
        }
        Ok(Rows::Table { texts, numbers })
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        self.with_labels_and_terms(line, |_, terms| self.model.explain(terms, of))
    }

    fn words(&self) -> Option<WordRows<'_>> {
        if self.model.is_supervised() {
            return None;
        }
        let vectors = Cow::Owned(self.model.word_vectors());
        Some(WordRows { words: self.model.dictionary().words(), vectors, dim: self.model.params().dim })
    }

    fn made_vector(&self, word: &str) -> Option<Vec<f32>> {
        Some(self.model.word_vector(word)).filter(|vector| vector.iter().any(|&v| v != 0.0))
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(self.name())?;
        if self.model.is_supervised() { self.evaluate_labels(lines, ctx) } else { self.evaluate_words(lines, ctx) }
    }
}
