//! Neural language models of plain files: training, and what `eval`, `embed`, `explain` and `nearest` make of them.
//!
//! Rows and figures are those of n-gram models (`super::ngram_eval`), by the same definitions, so that both can be compared.
//! A document is one line, title and text together; memory is that of the network, the text lies in a mapped scratch file.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;

use crate::fitted::{Columns, EvalParams, Figures, Fitted, Per, Rows, WordRows};
use crate::fitted::{Opened, figures};
use crate::lines::{Cutter, Line, Lines};
use crate::models::ngram::eval::{DOCUMENT, names, rows, write_table};
use crate::models::word_vectors::last_seen;
use crate::standalone::numbered::{Numbered, WordReading};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::neural::{LanguageKind, LanguageParams, LanguageScorer, LanguageWords, NeuralLanguage, WordTree};
use inkstone_models::ngram::{END, Following, GeneratedText, MARKS, SampleParams, Score};
use inkstone_models::{Explanation, ModelFile, ModelHeader, Part, WordLimits, WordVectors};

/// Bytes of lines read at once. Chunks of a block are scored together, so another size moves the last digits.
const BLOCK: usize = 1 << 20;
/// Documents that a thread takes at once.
const CHUNK: usize = 32;

const TOKEN: [&str; 1] = ["log10_prob"];

/// True for the kinds of models that are read here.
pub(crate) fn is_kind(kind: &str) -> bool {
    LanguageKind::of_file(kind).is_some()
}

/// Trains a language model on all lines and writes it to `output`, with a tree of words made by the vectors of `tree` where some are given,
/// in which words without a vector count as zeros; returns its word vectors with the report. An interrupted
/// training leaves a checkpoint beside the output, from which the same training goes on. The report has `documents`, `tokens`,
/// `vocabulary`, `unknown_tokens`, `fitted_until`, `parameters`, `epochs`, and the `perplexity` of the held-out documents.
pub fn train_language(
    lines: &mut Lines,
    cutter: &Cutter,
    vocabulary: WordLimits,
    tree: Option<&WordVectors>,
    params: &LanguageParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<(WordVectors, Report)> {
    let params = &LanguageParams { tree: tree.is_some(), ..params.clone() };
    params.check()?;
    let (corpus, mut report) = Numbered::read(lines, cutter, WordReading::Language, vocabulary, output, ctx)?;
    report.fact("unknown_tokens", corpus.left_out);
    let fitted_until = last_seen(corpus.fitted_until, tree);
    let known = tree.map(|vectors| vectors.known(&corpus.words));
    let tree = tree.map(|vectors| tree_of(vectors, &corpus.words, ctx)).transpose()?;
    let what = json!({
        "tree": tree.as_ref().map(|tree| Key::of(bytemuck::cast_slice(tree.order()))), "network": params, "seed": ctx.seed(), "words": corpus.words,
        "text": Key::of(bytemuck::cast_slice(corpus.numbers())),
    });
    let checkpoint = Checkpoint::new(output, &what)?;
    let counts = corpus.counts.iter().copied().chain([corpus.documents, corpus.left_out]).collect();
    let words = LanguageWords::new(corpus.words.clone(), counts)?;
    let model = NeuralLanguage::train(corpus.numbers(), words, tree, params, Some(&checkpoint), ctx)?;
    model.save(output, cutter.spec(), corpus.documents, fitted_until)?;
    checkpoint.remove()?;
    report.fact("fitted_until", fitted_until);
    if let Some(known) = known {
        report.fact("words_in_tree", known);
    }
    report.fact("parameters", model.parameters());
    report.fact("epochs", model.epochs());
    let best = model.epochs().iter().filter_map(|epoch| epoch.held_out).min_by(f64::total_cmp);
    if let Some(best) = best {
        report.fact("perplexity", best.exp());
    }
    let settings = json!({"network": params, "parameters": model.parameters(), "epochs": model.epochs()});
    let values = model.vectors().to_vec();
    Ok((corpus.vectors(params.kind.name(), settings, params.vector_dim(), values)?, report))
}

/// The tree of words and both marks by given vectors; what has none lies at zero.
fn tree_of(vectors: &WordVectors, words: &[Box<str>], ctx: &Ctx) -> Result<WordTree> {
    let dim = vectors.dim();
    let mut rows = vec![0.0; (words.len() + 2) * dim];
    for (word, row) in words.iter().zip(rows.chunks_mut(dim)) {
        if let Some(vector) = vectors.vector(word) {
            row.copy_from_slice(vector);
        }
    }
    WordTree::by_vectors(&rows, dim, ctx)
}

/// A document as it was scored: its words, `</s>` at the end, and ln of their probabilities.
struct ScoredDocument {
    numbers: Vec<u32>,
    logs: Vec<f32>,
}

/// A language model of a file.
pub(crate) fn open(file: &ModelFile, cutter: Cutter) -> Result<Opened<LanguageScorer>> {
    Ok(Opened::new(file, LanguageScorer::new(NeuralLanguage::read(file)?), cutter))
}

impl Opened<LanguageScorer> {
    fn known(&self) -> &LanguageWords {
        self.model.model().words()
    }

    fn score(&self, lines: &[Line<'_>]) -> Vec<ScoredDocument> {
        let numbers = |line: &Line<'_>| self.known().document(self.cutter.tokens(&line.whole()));
        let documents: Vec<Vec<u32>> = lines.iter().map(numbers).collect();
        let read: Vec<&[u32]> = documents.iter().map(Vec::as_slice).collect();
        let logs = self.model.score(&read);
        documents.into_iter().zip(logs).map(|(numbers, logs)| ScoredDocument { numbers, logs }).collect()
    }

    fn total(&self, scored: &ScoredDocument) -> Score {
        let mut score = Score { tokens: scored.numbers.len() as u64, ..Score::default() };
        for (&number, &log) in scored.numbers.iter().zip(&scored.logs) {
            let log10 = log10(log);
            if number == self.known().unknown() {
                score.oov += 1;
                score.oov_log10 += log10;
            } else {
                score.known_log10 += log10;
            }
        }
        score
    }

    /// Names and rows of a table of documents or of tokens.
    fn table(&self, lines: &[Line<'_>], scored: &[ScoredDocument], per: Per) -> (Vec<String>, Rows) {
        if per == Per::Document {
            let scores: Vec<Score> = scored.iter().map(|scored| self.total(scored)).collect();
            return (lines.iter().map(|line| line.name().into_owned()).collect(), rows(&scores));
        }
        let (mut ids, mut texts, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (line, scored) in lines.iter().zip(scored) {
            let text = line.whole();
            let tokens = self.cutter.tokens(&text).into_iter().chain([MARKS[END as usize]]);
            for (token, &log) in tokens.zip(&scored.logs) {
                ids.push(line.name().into_owned());
                texts.push(token.to_owned());
                numbers.push(log10(log));
            }
        }
        (ids, Rows::Table { texts, numbers })
    }

    /// Scores all lines, block after block, and hands on what there is of each.
    fn each_block(
        &self,
        lines: &mut Lines,
        ctx: &Ctx,
        push: &mut dyn FnMut(&[Line<'_>], &[ScoredDocument]) -> Result<()>,
    ) -> Result<()> {
        lines.for_each_block(BLOCK, |read| {
            let scored = ctx.install(|| {
                let chunks = read.par_chunks(CHUNK).map(|chunk| {
                    ctx.advance(chunk.len() as u64)?;
                    Ok(self.score(chunk))
                });
                chunks.collect::<Result<Vec<_>>>()
            })?;
            push(&read, &scored.into_iter().flatten().collect::<Vec<ScoredDocument>>())
        })
    }
}

fn log10(natural: f32) -> f64 {
    f64::from(natural) * std::f64::consts::LOG10_E
}

impl Fitted for Opened<LanguageScorer> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Table { text: None, numbers: names(&DOCUMENT) })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        Ok(self.table(lines, &self.score(lines), Per::Document).1)
    }

    fn explain(&self, line: &Line<'_>, _of: Option<&str>) -> Result<Explanation> {
        let lines = std::slice::from_ref(line);
        let scored = self.score(lines);
        let (_, Rows::Table { texts, numbers }) = self.table(lines, &scored, Per::Token) else {
            inkstone_base::bail!("词元应有表", "tokens have a table")
        };
        let n = texts.len() as f64;
        let part = |((token, log10), &number): ((String, f64), &u32)| {
            let oov = f64::from(u8::from(number == self.known().unknown()));
            Part { token, value: -log10 / n, detail: vec![("log10_prob", log10), ("oov", oov)] }
        };
        let terms: Vec<Part> = texts.into_iter().zip(numbers).zip(&scored[0].numbers).map(part).collect();
        Ok(Explanation {
            formula: message!(
                "surprise = 各词 -log10_prob / {n} 个词之和",
                "surprise = sum of -log10_prob / {n} tokens"
            ),
            score: terms.iter().map(|part| part.value).sum(),
            terms,
            ..Explanation::default()
        })
    }

    fn following(&self, text: &str, k: usize, ctx: &Ctx) -> Option<Result<Following>> {
        let tokens = self.cutter.tokens(text);
        Some(Ok(ctx.install(|| self.model.following(&tokens, k))))
    }

    fn sample(&self, params: &SampleParams, ctx: &Ctx) -> Option<Result<Vec<GeneratedText>>> {
        Some(self.model.sample(params, ctx))
    }

    fn words(&self) -> Option<WordRows<'_>> {
        let model = self.model.model();
        let dim = model.params().vector_dim();
        Some(WordRows { words: &model.words().words, vectors: Cow::Borrowed(model.vectors()), dim })
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        let (mut total, mut documents) = (Score::default(), 0u64);
        write_table(params, &TOKEN, |push| {
            self.each_block(lines, ctx, &mut |read, scored| {
                documents += scored.len() as u64;
                scored.iter().for_each(|scored| total.add(&self.total(scored)));
                params.table.as_ref().map_or(Ok(()), |(per, _)| {
                    let (ids, rows) = self.table(read, scored, *per);
                    push(ids, rows)
                })
            })
        })?;
        let figures = figures(json!({
            "documents": documents, "perplexity": total.perplexity(), "perplexity_no_oov": total.perplexity_no_oov(),
            "oov": total.oov, "tokens": total.tokens, "log10_prob": total.log10(),
        }));
        Ok((figures, lines.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{Block, CutSpec, LineFormat};
    use crate::models::open_model;
    use inkstone_models::neural::FitParams;
    use inkstone_text::TokenizerParams;

    fn train(text: &str, dir: &Path, params: &LanguageParams) -> Result<(WordVectors, Report)> {
        let ctx = Ctx::new(2, 1).unwrap();
        let mut lines = Lines::new(std::io::Cursor::new(text.to_owned()), LineFormat::Tokens);
        let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap();
        let vocabulary = WordLimits { min_count: 2, max_words: 0 };
        train_language(&mut lines, &cutter, vocabulary, None, params, &dir.join("m"), &ctx)
    }

    fn small() -> LanguageParams {
        let fit = FitParams { batch: 16, epochs: 2, held_out_share: 0.1, ..FitParams::default() };
        LanguageParams { order: 3, dim: 4, hidden: 5, fit, ..LanguageParams::default() }
    }

    #[test]
    fn a_model_is_measured_as_n_gram_models_are() {
        let dir = tempfile::tempdir().unwrap();
        let text = "公司 利润 增长\n公司 利润 下滑\n".repeat(30) + "公司 罕见\n";
        let (vectors, report) = train(&text, dir.path(), &small()).unwrap();
        assert_eq!((vectors.words().len(), vectors.dim()), (4, 4));
        assert_eq!((&report.facts["unknown_tokens"], &report.facts["documents"]), (&json!(1), &json!(61)));
        assert!(!dir.path().join("m.checkpoint").exists());
        let ctx = Ctx::new(2, 1).unwrap();
        let (model, format) = open_model(&dir.path().join("m"), None, None, Path::new(""), &ctx).unwrap();
        let lines = || Lines::new(std::io::Cursor::new("公司 利润\n不识 公司\n\n"), format);
        let table = dir.path().join("t.csv");
        let params = EvalParams { table: Some((Per::Token, table.clone())), ..EvalParams::default() };
        let (figures, _) = model.evaluate(&mut lines(), &params, &ctx).unwrap();
        // Two words and their ends each, and the end of an empty document.
        assert_eq!((&figures["tokens"], &figures["oov"], &figures["documents"]), (&json!(7), &json!(1), &json!(3)));
        let rows = std::fs::read_to_string(table).unwrap();
        let tokens: Vec<Vec<&str>> = rows.lines().skip(1).map(|row| row.split(',').collect()).collect();
        assert_eq!(
            tokens.iter().map(|row| row[1]).collect::<Vec<_>>(),
            ["公司", "利润", "</s>", "不识", "公司", "</s>", "</s>"]
        );
        let sum: f64 = tokens.iter().map(|row| row[2].parse::<f64>().unwrap()).sum();
        assert!((sum - figures["log10_prob"].as_f64().unwrap()).abs() < 1e-6);
        assert!((figures["perplexity"].as_f64().unwrap() / 10f64.powf(-sum / 7.0) - 1.0).abs() < 1e-6);
        let mut block = Block::default();
        let mut lines = lines();
        assert!(lines.next_block(&mut block, BLOCK).unwrap());
        let read = lines.documents(&block);
        let explained = model.explain(&read[0], None).unwrap();
        let Rows::Table { numbers, .. } = model.rows(&read).unwrap() else { panic!("a table") };
        assert!((explained.score - numbers[0]).abs() < 1e-9 && explained.terms.len() == 3);
        assert_eq!(model.words().unwrap().dim, 4);
    }

    #[test]
    fn text_that_cannot_be_learned_from_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |text: &str| train(text, dir.path(), &small()).err().unwrap().to_string();
        // A vocabulary of one word, all words too rare, and no text at all.
        assert!(refused("公司 公司\n公司 利润\n").contains("1 of 2 words occur at least 2 times"));
        assert!(refused("公司 利润\n").contains("0 of 2 words occur at least 2 times"));
        assert!(refused("").contains("the input is empty"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
