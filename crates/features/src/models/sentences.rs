//! Encoders of sentences on plain files: training on neighbours or on labelled pairs, and their use by `eval`, `embed`, `explain` and
//! `nearest`.
//!
//! Neighbours are sentences in a row, a title and its text, or a summary and its text. Sentences are held in memory as numbers of words;
//! every token counts as written, for order matters here.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, WordRows};
use crate::lines::{Cutter, Line, Lines, fields, pair_of, text_of};
use crate::standalone::coverage::{KnownTokens, component, coverage};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::sentences::{SentenceEncoder, SentenceMethod, SentencePairs, SentenceParams};
use inkstone_models::{Explanation, ModelHeader, Part, WordLimits, component_names};
use inkstone_text::sentences;

/// Documents that a thread takes at once.
const CHUNK: usize = 64;

/// Name of the method in `train`.
pub const METHOD: &str = SentenceEncoder::KIND;

/// The texts of a document that stand beside each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Positives {
    /// The title and the sentences of the text, one after the other.
    #[default]
    Sentences,
    /// The title and the text.
    Title,
    /// The field summary and the text.
    Summary,
}

/// A document as it was cut: texts that stand beside each other, and the label of a pair.
struct CutDocument {
    texts: Vec<Vec<Box<str>>>,
    label: Option<String>,
    time: Option<NaiveDateTime>,
}

/// Trains an encoder on all lines and writes it to `output`. An interrupted training leaves a checkpoint beside it, from which the same
/// training goes on. Lines for `infersent` have two texts and a label, as `eval --task pairs` reads them. The report has `documents`,
/// `tokens`, `vocabulary`, `sentences`, `pairs`, `fitted_until`, `dim`, `parameters` and `epochs`, and of labelled pairs `classes`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    positives: Positives,
    vocabulary: WordLimits,
    params: &SentenceParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    params.check()?;
    let mut all = ReadSentences::default();
    let cut = |chunk: &[Line<'_>]| {
        ctx.advance(chunk.len() as u64)?;
        chunk.iter().map(|line| cut_document(line, cutter, positives, params.method)).collect::<Result<Vec<_>>>()
    };
    lines.for_each_chunk(CHUNK, ctx, cut, |documents| {
        documents.into_iter().for_each(|document| all.push(document));
        Ok(())
    })?;
    let mut report = lines.finish()?;
    ensure!(
        !all.examples.pairs.is_empty(),
        "{} 篇文档中没有相邻的两段文本：--positives sentences 需要有两句以上的文本，title 需要标题，summary 需要 summary 字段",
        "no two texts stand beside each other in {} documents: --positives sentences needs texts of two sentences, title needs titles, and \
         summary the field summary",
        all.documents
    );
    let (words, examples) = all.numbered(vocabulary, params.max_tokens)?;
    report.fact("documents", all.documents);
    report.fact("tokens", all.tokens);
    report.fact("vocabulary", words.len());
    report.fact("fitted_until", all.last);
    report.fact("sentences", examples.sentences.len());
    report.fact("pairs", examples.pairs.len());
    let what = json!({
        "network": params, "seed": ctx.seed(), "words": words, "names": examples.names,
        "text": Key::of(bytemuck::cast_slice(&examples.sentences.concat())),
        "ends": Key::of_json(&examples.sentences.iter().map(Vec::len).collect::<Vec<_>>()),
        "pairs": Key::of_json(&examples.pairs), "of": Key::of_json(&examples.documents),
        "classes": Key::of_json(&examples.classes),
    });
    let checkpoint = Checkpoint::new(output, &what)?;
    let model = SentenceEncoder::train(&examples, words, params, Some(&checkpoint), ctx)?;
    model.save(output, cutter.spec(), all.documents, all.last)?;
    checkpoint.remove()?;
    if !examples.names.is_empty() {
        let count = |class: usize| examples.classes.iter().filter(|&&c| c as usize == class).count();
        let sizes = examples.names.iter().enumerate().map(|(class, name)| (name.clone(), json!(count(class))));
        report.fact("classes", sizes.collect::<serde_json::Map<_, _>>());
    }
    report.fact("dim", model.dim());
    report.fact("parameters", model.parameters());
    report.fact("epochs", model.epochs());
    Ok(report)
}

fn cut_document(line: &Line<'_>, cutter: &Cutter, positives: Positives, method: SentenceMethod) -> Result<CutDocument> {
    let words = |text: &str| cutter.tokens(text).into_iter().map(Box::from).collect::<Vec<Box<str>>>();
    if method == SentenceMethod::InferSent {
        let texts = pair_of(line, &fields(line)?)?;
        let third = || line.text.split('\t').nth(2).filter(|_| line.json.is_none()).map(|label| label.trim().into());
        let label = line.label.clone().or_else(third).with_context(|| {
            message!(
                "第 {} 行的句对没有标签：infersent 需要 label 字段，或第二个制表符后的标签",
                "the pair of line {} has no label: infersent needs the field label, or a label behind a second tab",
                line.number
            )
        })?;
        let texts = texts.iter().map(|text| words(text)).collect();
        return Ok(CutDocument { texts, label: Some(label.into_owned()), time: line.time });
    }
    let mut texts = match positives {
        Positives::Sentences => {
            let within = sentences(&line.text).into_iter().map(|range| words(&line.text[range]));
            std::iter::once(words(&line.title)).chain(within).collect()
        }
        Positives::Title => vec![words(&line.title), words(&line.text)],
        Positives::Summary => {
            vec![words(&text_of(&fields(line)?, "summary").unwrap_or_default()), words(&line.text)]
        }
    };
    texts.retain(|text| !text.is_empty());
    Ok(CutDocument { texts, label: None, time: line.time })
}

/// Documents as they come in, with numbers of words in the order in which the words were met.
#[derive(Default)]
struct ReadSentences {
    words: Vec<Box<str>>,
    counts: Vec<u64>,
    numbers: FxHashMap<Box<str>, u32>,
    classes: FxHashMap<String, u32>,
    examples: SentencePairs,
    documents: u64,
    tokens: u64,
    last: Option<NaiveDateTime>,
}

impl ReadSentences {
    fn push(&mut self, document: CutDocument) {
        let number = self.documents as u32;
        self.documents += 1;
        self.last = self.last.max(document.time);
        let is_pair = document.label.is_some();
        if is_pair && document.texts.iter().any(Vec::is_empty) {
            return;
        }
        let first = self.examples.sentences.len() as u32;
        for text in document.texts {
            self.tokens += text.len() as u64;
            let sentence = text.into_iter().map(|word| self.number(word)).collect();
            self.examples.sentences.push(sentence);
        }
        let end = self.examples.sentences.len() as u32;
        for before in first..end.max(first + 1) - 1 {
            self.examples.pairs.push([before, before + 1]);
            self.examples.documents.push(number);
        }
        if let Some(label) = document.label {
            let next = self.classes.len() as u32;
            let class = *self.classes.entry(label.clone()).or_insert(next);
            if class == next {
                self.examples.names.push(label);
            }
            self.examples.classes.push(class);
        }
    }

    fn number(&mut self, word: Box<str>) -> u32 {
        let next = self.words.len() as u32;
        let number = *self.numbers.entry(word.clone()).or_insert(next);
        if number == next {
            self.words.push(word);
            self.counts.push(0);
        }
        self.counts[number as usize] += 1;
        number
    }

    /// The vocabulary, and the sentences as numbers of its words.
    fn numbered(&self, kept: WordLimits, most: usize) -> Result<(Vec<Box<str>>, SentencePairs)> {
        let mut order: Vec<usize> = (0..self.words.len()).filter(|&w| self.counts[w] >= kept.min_count).collect();
        order.sort_unstable_by_key(|&word| (Reverse(self.counts[word]), &self.words[word]));
        if kept.max_words > 0 {
            order.truncate(kept.max_words);
        }
        ensure!(
            order.len() > 1,
            "{} 个词中有 {} 个至少出现 {} 次，编码器需要两个：请降低 --min-count，或提供更多文本",
            "{1} of {0} words occur at least {2} times, and an encoder needs two: lower --min-count, or give more text",
            self.words.len(),
            order.len(),
            kept.min_count
        );
        let mut places = vec![order.len() as u32; self.words.len()];
        order.iter().zip(0..).for_each(|(&word, place)| places[word] = place);
        let read = |sentence: &Vec<u32>| sentence.iter().take(most).map(|&word| places[word as usize]).collect();
        let sentences = self.examples.sentences.iter().map(read).collect();
        let words = order.into_iter().map(|word| self.words[word].clone()).collect();
        Ok((words, SentencePairs { sentences, ..self.examples.clone() }))
    }
}

impl Opened<SentenceEncoder> {
    fn tokens<'t>(&self, line: &'t Line<'_>) -> Vec<&'t str> {
        [&line.title, &line.text].into_iter().flat_map(|text| self.cutter.tokens(text)).collect()
    }
}

impl Fitted for Opened<SentenceEncoder> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(component_names(self.model.dim())))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let texts: Vec<Vec<u32>> = lines.iter().map(|line| self.model.sentence(&self.tokens(line))).collect();
        Ok(Rows::Dense(self.model.rows(&texts)))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let tokens = self.tokens(line);
        let text = self.model.sentence(&tokens);
        let row = self.model.rows(std::slice::from_ref(&text));
        let farthest = || (0..row.len()).rev().max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs())).unwrap_or(0);
        let component = component(of, self.model.dim())?.unwrap_or_else(farthest);
        let (score, parts) = self.model.reasons(&text, component);
        let part = |(token, &value): (&str, &f64)| Part { token: token.to_owned(), value, detail: Vec::new() };
        Ok(Explanation {
            of: Some(format!("c{}", component + 1)),
            formula: message!(
                "分量 c{}；每个词的部分 = 分量对该词向量的梯度 x 该向量；intercept 是一阶近似下不属于任何词的部分",
                "component c{}; a token's part = gradient of it by the token's vector x that vector; the intercept is what no token gave to \
                 first order",
                component + 1
            ),
            score,
            intercept: score - parts.iter().sum::<f64>(),
            terms: tokens.into_iter().zip(&parts).map(part).collect(),
            ..Explanation::default()
        })
    }

    fn words(&self) -> Option<WordRows<'_>> {
        let (words, vectors) = self.model.word_vectors();
        Some(WordRows { words, vectors: Cow::Borrowed(vectors), dim: self.model.params().dim })
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(METHOD)?;
        coverage(lines, ctx, |line| {
            let tokens = self.tokens(line);
            Ok(KnownTokens::new(tokens.len(), tokens.iter().filter(|token| self.model.knows(token)).count()))
        })
    }
}
