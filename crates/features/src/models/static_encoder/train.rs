//! A static encoder distilled from a contextual model on the user's text.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::lines::{Cutter, LineFormat, Lines};
use crate::models::onnx::Contextual;
use crate::stage_result;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_models::{CountedTokens, Csr, DistilledFigures, LEAST_DOCUMENTS, StaticEncoder, Teacher, distil};
use inkstone_onnx::{Encoder, Output};
use inkstone_text::subword::Subword;

/// Lines that one task reads.
const CHUNK: usize = 256;
/// Bytes of lines read at once.
const BLOCK: usize = 1 << 20;
/// Tokens that are given to the teacher at once; it makes batches of them.
const TOGETHER: usize = 4096;
/// The number of characters of a word that becomes a token.
const WORD: std::ops::RangeInclusive<usize> = 2..=8;

/// Settings of `train static`.
#[derive(Clone, Copy, Debug)]
pub struct StaticParams {
    /// Values of a vector.
    pub components: usize,
    /// The largest number of words of the text that become tokens, the most frequent first.
    pub words: usize,
    /// Fewest times that such a word occurs.
    pub min_count: u64,
    /// The number of documents that the teacher reads, spread evenly over all documents.
    pub documents: usize,
    /// The a of the weights a / (a + p) of tokens.
    pub sif: f64,
    /// The last time of the text that the teacher was trained on, and of the lines that have no time.
    pub fitted_until: NaiveDateTime,
}

/// Counts of a corpus.
#[derive(Default)]
struct WordCounts {
    /// Occurrences of each word that can become a token.
    counts: FxHashMap<String, u64>,
    documents: u64,
    last_time: Option<NaiveDateTime>,
}

/// The documents that the teacher read, and the counts of tokens of all documents.
struct TaughtDocuments {
    /// Occurrences of each token in all documents.
    counts: Vec<u64>,
    /// The teacher's vectors of the documents that it read, `[documents, width]`.
    vectors: Vec<f32>,
    /// The share of each token in the documents that the teacher read.
    shares: Csr,
}

/// Distils the teacher at `using.params.model` into a static encoder in the folder `output`. `open` opens the lines, which are read twice.
/// Returns the cosines between the vectors of both encoders.
pub fn train(
    using: &Contextual,
    open: &dyn Fn() -> Result<Lines>,
    cutter: &Cutter,
    params: &StaticParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<(DistilledFigures, Report)> {
    ensure!(
        using.params.output == Output::Embedding,
        "静态编码器由向量构成：请去掉 --read",
        "a static encoder is made of vectors: leave --read out"
    );
    ensure!(
        params.documents >= LEAST_DOCUMENTS,
        "--documents {}：教师模型至少要读 {LEAST_DOCUMENTS} 篇文档",
        "--documents {}: the teacher must read at least {LEAST_DOCUMENTS} documents",
        params.documents
    );
    disk::is_ours(output, Room::Converted)?;
    let mut teacher = using.encoder(&using.params.model, LineFormat::Text, ctx)?;
    let tokenizer = using.params.tokenizer_path(&using.base);
    let mut definition = Subword::definition(&tokenizer, false).with_context(|| {
        message!("教师模型 {} 的分词器", "the tokenizer of the teacher {}", using.params.model.display())
    })?;
    let own = Subword::open(&tokenizer)?;

    let mut lines = open()?;
    let words = count_words(&mut lines, cutter, ctx)?;
    let mut report = lines.finish()?;
    ensure!(
        words.documents >= LEAST_DOCUMENTS as u64,
        "{} 篇文档太少，学不了：至少给 {LEAST_DOCUMENTS} 篇",
        "{} documents are too few to learn from: give at least {LEAST_DOCUMENTS}",
        words.documents
    );
    let added = add_words(&mut definition, &own, &words.counts, params);
    disk::own_folder(output, Room::Converted)?;
    let tokens = StaticEncoder::write_tokenizer(output, &definition).context(Word(
        "教师模型的分词器不能再加词：请设置 --words 0",
        "the teacher's tokenizer takes no further words: set --words 0",
    ))?;

    let vectors_of_tokens =
        stage_result(ctx, "read tokens", "tokens", Some((own.size() + added.len()) as u64), || {
            Ok((read_tokens(&mut teacher, &definition, &own, &added, ctx)?, Report::new("read tokens")))
        })?;
    let size = own.size() + added.len();
    let width = vectors_of_tokens.len() / size;
    let step = words.documents.div_ceil(params.documents as u64);
    let mut lines = open()?;
    let taught = stage_result(ctx, "read documents", "docs", Some(words.documents), || {
        let taught = read_documents(&mut teacher, &mut lines, &tokens, size, step, ctx)?;
        Ok((taught, Report::new("read documents")))
    })?;
    let found = stage_result(ctx, "fit vectors", "steps", None, || {
        let teacher = Teacher {
            width,
            tokens: &vectors_of_tokens,
            counts: &taught.counts,
            documents: &taught.vectors,
            shares: &taught.shares,
        };
        Ok((distil(&teacher, params.components, params.sif, ctx)?, Report::new("fit vectors")))
    })?;
    let fitted_until = words.last_time.map_or(params.fitted_until, |last| last.max(params.fitted_until));
    StaticEncoder::write(output, &found.vectors, found.figures.dim, params.sif, fitted_until)?;
    report.fact("documents", words.documents);
    report.fact("documents_taught", taught.shares.rows());
    report.fact("tokens", size);
    report.fact("words_added", added.len());
    report.fact("fitted_until", fitted_until);
    report.fact("ran", teacher.ran());
    Ok((found.figures, report))
}

/// Counts the words that can become tokens.
fn count_words(lines: &mut Lines, cutter: &Cutter, ctx: &Ctx) -> Result<WordCounts> {
    let mut all = WordCounts::default();
    lines.for_each_chunk(
        CHUNK,
        ctx,
        |lines| {
            ctx.check()?;
            let mut words = WordCounts { documents: lines.len() as u64, ..WordCounts::default() };
            for line in lines {
                words.last_time = words.last_time.max(line.time);
                cutter.with_terms(line, |terms| {
                    for term in terms.iter().filter(|term| is_word(term)) {
                        match words.counts.get_mut(*term) {
                            Some(count) => *count += 1,
                            None => drop(words.counts.insert((*term).to_owned(), 1)),
                        }
                    }
                });
            }
            Ok(words)
        },
        |words| {
            all.documents += words.documents;
            all.last_time = all.last_time.max(words.last_time);
            words.counts.into_iter().for_each(|(word, count)| *all.counts.entry(word).or_default() += count);
            Ok(())
        },
    )?;
    Ok(all)
}

/// True for words of letters without case, which every tokenizer leaves as they are.
fn is_word(term: &str) -> bool {
    WORD.contains(&term.chars().count())
        && term.chars().all(|c| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase())
}

/// Adds words to the definition of a tokenizer, as tokens that are found in a text before all others, the longest first. Returns them.
fn add_words(
    definition: &mut Value,
    own: &Subword,
    counts: &FxHashMap<String, u64>,
    params: &StaticParams,
) -> Vec<String> {
    let is_new = |(word, count): &(&String, &u64)| **count >= params.min_count && own.id(word).is_none();
    let mut found: Vec<(&String, u64)> = counts.iter().filter(is_new).map(|(word, count)| (word, *count)).collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    found.truncate(params.words);
    let words: Vec<String> = found.into_iter().map(|(word, _)| word.clone()).collect();
    let token = |(word, id): (&String, usize)| json!({"id": id, "content": word, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false});
    let tokens = words.iter().zip(own.size()..).map(token);
    match definition["added_tokens"].as_array_mut() {
        Some(added) => added.extend(tokens),
        None => definition["added_tokens"] = tokens.collect(),
    }
    // Both are about batches of a contextual model.
    (definition["truncation"], definition["padding"]) = (Value::Null, Value::Null);
    words
}

/// The teacher's vector of each token, read as a text of its own, `[tokens, width]`; NaN for tokens that are no text, such as special ones.
fn read_tokens(
    teacher: &mut Encoder,
    definition: &Value,
    own: &Subword,
    added: &[String],
    ctx: &Ctx,
) -> Result<Vec<f32>> {
    let is_special = |token: &Value| token["special"].as_bool().unwrap_or(false);
    let special: Vec<u64> = definition["added_tokens"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|token| is_special(token))
        .filter_map(|token| token["id"].as_u64())
        .collect();
    let text_of = |id: u32| -> String {
        let token = own.token(id).unwrap_or_default();
        let is_unused = token.starts_with("[unused") || special.contains(&u64::from(id));
        match token.strip_prefix("##").filter(|rest| !rest.is_empty()) {
            _ if is_unused => String::new(),
            Some(rest) => rest.to_owned(),
            None => own.decode(&[id]),
        }
    };
    // A token that holds some bytes of a character cannot be read alone.
    let is_text = |text: &String| !text.contains('\u{fffd}');
    let own_texts = (0..own.size() as u32).map(|id| Some(text_of(id)).filter(is_text).unwrap_or_default());
    let texts: Vec<String> = own_texts.chain(added.iter().cloned()).collect();
    let mut vectors = Vec::new();
    for texts in texts.chunks(TOGETHER) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        vectors.extend(teacher.rows(&texts, ctx, |done| Ok(ctx.advance(done)?))?.0);
    }
    Ok(vectors)
}

/// Counts the tokens of all documents, and has the teacher read every `step`-th.
fn read_documents(
    teacher: &mut Encoder,
    lines: &mut Lines,
    tokens: &CountedTokens,
    size: usize,
    step: u64,
    ctx: &Ctx,
) -> Result<TaughtDocuments> {
    let mut taught = TaughtDocuments { counts: vec![0; size], vectors: Vec::new(), shares: Csr::new(size) };
    let mut number = 0u64;
    lines.for_each_block(BLOCK, |documents| {
        let texts: Vec<_> = documents.iter().map(|line| line.whole()).collect();
        let counted: Vec<Vec<u32>> =
            ctx.install(|| texts.par_iter().map(|text| tokens.counted(text)).collect::<Result<_>>())?;
        let mut chosen = Vec::new();
        for (at, ids) in counted.iter().enumerate() {
            ids.iter().for_each(|&id| taught.counts[id as usize] += 1);
            if number.is_multiple_of(step) && !ids.is_empty() {
                chosen.push(at);
            }
            number += 1;
        }
        let read: Vec<&str> = chosen.iter().map(|&at| &*texts[at]).collect();
        let (rows, _) = teacher.rows(&read, ctx, |_| Ok(ctx.check()?))?;
        let width = rows.len() / read.len().max(1);
        for (&at, row) in chosen.iter().zip(rows.chunks(width.max(1))) {
            if row.iter().all(|value| value.is_finite()) {
                let mut ids = counted[at].clone();
                ids.sort_unstable();
                let all = ids.len() as f32;
                taught.shares.push_row(ids.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32 / all)));
                taught.vectors.extend_from_slice(row);
            }
        }
        Ok(ctx.advance(documents.len() as u64)?)
    })?;
    Ok(taught)
}
