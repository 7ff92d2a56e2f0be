//! Models whose score is made of words: what each word gave, where it stands.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use serde::Deserialize;

use super::{ExplainedBy, ExplainedInput, ExplainedText, ExplainedWord, SAME, SplitText, inputs, occlusion};
use crate::extract::Model;
use crate::extract::counts::{analyzer, terms_of};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::fitted::{Columns, Fitted};
use crate::models::estimators;
use crate::models::file::project::{number_columns, numbers, text_rows, whole_line};
use inkstone_models::{
    Contributions, Fields, FoldReport, InducedLexicon, Lexicon, Method, Part, Sestm, SestmWord, TITLE_TEXT, ToneScale,
};
use inkstone_text::Segmenter;

use inkstone_base::language::Word;
use inkstone_base::message;

/// How one side of a tone comes about.
const SIDE: Word = Word("这一侧各词权重之和，取正数", "sum of the weights of this side, as numbers above 0");

/// The units of the longest term.
const LONGEST: usize = 8;

/// Tone words in their places.
pub(crate) fn tone_words(
    reader: &CorpusReader<'_>,
    document: &ReadDocument,
    texts: &SplitText<'_>,
    lexicon: &Lexicon,
    explained: &mut ExplainedText,
) {
    let feature = reader.feature;
    let (tokens, places) = tokens(texts.text, &reader.segmenter);
    let (tone, hits) = (lexicon.tone(&tokens), lexicon.explain(&tokens));
    let windowed = !document.windows.is_empty();
    let by = match feature.lexicon.scale {
        _ if windowed => 1.0,
        ToneScale::Balance => f64::from(tone.positive + tone.negative),
        ToneScale::PerToken => f64::from(tone.tokens),
    };
    let (score, part): (f32, fn(f64, f64) -> f64) = match explained.column.as_str() {
        "tone" => (tone.tone, |weight, by| weight / by),
        "positive" => (tone.positive, |weight, _| weight.max(0.0)),
        "negative" => (tone.negative, |weight, _| (-weight).max(0.0)),
        _ => {
            explained.note = no_count();
            return;
        }
    };
    let mut words = vec![Vec::new(); texts.ranges.len()];
    for hit in hits {
        let range = places[hit.token].start..places[hit.token + hit.tokens - 1].end;
        let Some(number) = texts.ranges.iter().position(|s| s.start <= range.start && range.start < s.end) else {
            continue;
        };
        let sentence = &texts.ranges[number];
        let value = part(f64::from(hit.weight), by);
        if value != 0.0 {
            let place = range.start - sentence.start..range.end.min(sentence.end) - sentence.start;
            words[number].push(ExplainedWord {
                word: hit.word,
                value,
                places: vec![place],
                negated: hit.negated,
                degree: hit.degree,
            });
        }
    }
    texts.fill(words, explained);
    explained.by = ExplainedBy::Words;
    // A row of windows is not the row of the whole text: what words sum to here is not what is kept.
    explained.score = if windowed { explained.sentences.iter().map(|s| s.value).sum() } else { f64::from(score) };
    explained.formula = match (explained.column.as_str(), feature.lexicon.scale) {
        _ if windowed => {
            Word("每个情感词的权重，已含否定与程度", "weight of each tone word, negation and degree included")
        }
        ("positive" | "negative", _) => SIDE,
        (_, ToneScale::Balance) => Word(
            "(P - N) / (P + N)：每个词贡献 权重 / (P + N)，已含否定与程度",
            "(P - N) / (P + N): each word gives weight / (P + N), negation and degree included",
        ),
        (_, ToneScale::PerToken) => Word(
            "(P - N) / 词数：每个词贡献 权重 / 词数，已含否定与程度",
            "(P - N) / tokens: each word gives weight / tokens, negation and degree included",
        ),
    }
    .into();
    explained.note = match windowed {
        false => (
            "词典情感词按其所在位置列出，权重已含否定与程度；各词之和即得分。".into(),
            "Tone words of the lexicon where they stand, weights with negation and degree; they sum to the score.".into(),
        ),
        true => (
            "该文档按多个窗口打分后合并：这里列出全文各词的权重，其和不是保存的值。".into(),
            "The document was scored in several windows that were put together: shown are the weights of the words of the whole \
             text, which do not sum to the value that is kept."
                .into(),
        ),
    };
    if windowed {
        explained.kept = f64::NAN;
    }
}

/// The tokens of a text as a lexicon reads them ([`Lexicon::tokens`]), with their places.
fn tokens<'t>(text: &'t str, segmenter: &Segmenter) -> (Vec<&'t str>, Vec<Range<usize>>) {
    let (mut tokens, mut places) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let begin = line.as_ptr() as usize - text.as_ptr() as usize;
        segmenter.for_each_token(line, |token| {
            tokens.push(token.text);
            places.push(begin + token.start..begin + token.end);
        });
        tokens.push("\n");
        places.push(begin + line.len()..begin + line.len());
    }
    (tokens, places)
}

/// The words of a fold, as sets keep them.
#[derive(Deserialize)]
struct FoldWords {
    test: (NaiveDate, NaiveDate),
    #[serde(default)]
    lexicon: InducedLexicon,
    #[serde(default)]
    words: Vec<SestmWord>,
    #[serde(default)]
    lambda: f64,
}

/// Words of the fold that scored the document, which its set keeps.
pub(crate) fn fold_words(
    reader: &CorpusReader<'_>,
    kept: Option<&serde_json::Value>,
    document: &ReadDocument,
    texts: &SplitText<'_>,
    explained: &mut ExplainedText,
) -> Result<()> {
    let feature = reader.feature;
    let Some(kept) = kept else {
        explained.note = no_set();
        return Ok(());
    };
    let folds: Vec<Option<FoldWords>> = serde_json::from_value(kept.clone()).with_context(|| {
        message!(
            "特征 {:?} 的词表无法读取：请重新计算",
            "the words of feature {:?} are unreadable: compute it again",
            feature.name
        )
    })?;
    let day = trading_day(reader, document)?;
    let tests = |fold: &&FoldWords| day.is_some_and(|day| fold.test.0 <= day && day <= fold.test.1);
    let Some(fold) = folds.iter().rev().flatten().find(tests) else {
        explained.note = no_fold();
        return Ok(());
    };
    let analyzer = analyzer(feature, &reader.segmenter)?;
    let terms: Vec<String> = terms_of(document, feature, &analyzer).into_iter().map(|(term, _)| term).collect();
    let parts = if feature.model == Model::Sestm {
        let found = Sestm::of_words(&fold.words, fold.lambda).explain(&terms);
        if explained.column != "score" {
            explained.note = no_count();
            return Ok(());
        }
        (explained.score, explained.formula) = (found.score, found.formula);
        found.terms.into_iter().map(|part| (part.token, part.value)).collect()
    } else {
        let weights: BTreeMap<&str, f64> = fold.lexicon.words.iter().map(|w| (&*w.word, w.weight)).collect();
        let mut found: BTreeMap<&str, f64> = BTreeMap::new();
        for term in &terms {
            if let Some(weight) = weights.get(term.as_str()) {
                *found.entry(term).or_default() += weight;
            }
        }
        let positive: f64 = found.values().filter(|weight| **weight > 0.0).sum();
        let negative: f64 = -found.values().filter(|weight| **weight < 0.0).sum::<f64>();
        let both = positive + negative;
        let (score, part): (f64, &dyn Fn(f64) -> f64) = match explained.column.as_str() {
            "tone" => (if both > 0.0 { (positive - negative) / both } else { 0.0 }, &|weight| weight / both),
            "positive" => (positive, &|weight| weight.max(0.0)),
            "negative" => (negative, &|weight| (-weight).max(0.0)),
            _ => {
                explained.note = no_count();
                return Ok(());
            }
        };
        explained.score = score;
        explained.formula = match explained.column.as_str() {
            "tone" => Word(
                "(P - N) / (P + N)：每个词贡献 次数 x 权重 / (P + N)",
                "(P - N) / (P + N): each word gives count x weight / (P + N)",
            ),
            _ => SIDE,
        }
        .into();
        found.into_iter().map(|(word, weight)| (word.to_owned(), part(weight))).filter(|part| part.1 != 0.0).collect()
    };
    spread(parts, reader, texts, explained)?;
    explained.note = (
        format!("所用词表来自检验期 {}..{} 的那一折；一个词的贡献平摊到它的各处。", fold.test.0, fold.test.1),
        format!(
            "Words of the fold that tests {}..{}; what a word gave is spread evenly over its places.",
            fold.test.0, fold.test.1
        ),
    );
    Ok(())
}

/// Words of the fold that scored the document, fitted once more, and the texts of its inputs.
pub(crate) fn refitted(
    reader: &CorpusReader<'_>,
    place: (usize, usize),
    folds: &[FoldReport],
    document: &ReadDocument,
    texts: &SplitText<'_>,
    explained: &mut ExplainedText,
) -> Result<Vec<ExplainedText>> {
    // Where no fold can have scored the document, the corpus need not be read.
    let refitted = match trading_day(reader, document)? {
        Some(_) => estimators::project::refit(reader, place, folds, &explained.column)?,
        None => None,
    };
    let Some(fold) = refitted else {
        explained.note = no_fold();
        return Ok(Vec::new());
    };
    let Some(mut found) = fold.explain()? else {
        explained.note = no_class();
        return Ok(Vec::new());
    };
    (explained.score, explained.intercept) = (found.score, found.intercept);
    let contributions = reader.feature.model.method().map_or(Contributions::Weights, Method::contributions);
    explained.formula = match contributions {
        _ if found.slopes.is_some() => Word(
            "概率 = 没有词时的概率 + 各词与各列的部分：它们在各类得分中的部分，各乘概率在通往这些得分途中的平均斜率",
            "probability = probability without words + part of each word and column: its parts in the scores of the classes, each x the \
             mean slope of the probability on the way to these scores",
        ),
        Contributions::ShapleyValues => Word(
            "得分 = 各树的均值 + 每个词沿路径所加；文本没有的词也有所加，计入余项",
            "score = mean of the trees + what each word adds along their paths; what the text lacks adds too, and is in the rest",
        ),
        Contributions::IntegratedGradients => Word(
            "得分 = 没有词、输入取均值的文档的得分 + 各词与各列的积分梯度",
            "score = score of a document without words and with mean inputs + the integrated gradient of each word and column",
        ),
        Contributions::Weights if reader.feature.inputs.is_empty() => Word(
            "得分 = 截距 + 各词 权重 x tf-idf 之和",
            "score = intercept + sum of weight x tf-idf of each word",
        ),
        Contributions::Weights => Word(
            "得分 = 截距 + 各列 权重 x 值 之和，列为词与其他特征的行",
            "score = intercept + sum of weight x value of each column, words and rows of other features",
        ),
    }
    .into();
    if reader.feature.learns_on_words() {
        spread(std::mem::take(&mut found.words), reader, texts, explained)?;
    }
    explained.by = ExplainedBy::Words;
    explained.inputs =
        found.inputs.iter().map(|(input, value)| ExplainedInput { input: input.clone(), value: *value }).collect();
    let (from, to) = fold.test;
    explained.note = (
        format!("检验期 {from}..{to} 的那一折按同样的语料重新拟合一次；一个词的贡献平摊到它的各处。"),
        format!(
            "The fold that tests {from}..{to} was fitted once more on the same corpus; what a word gave is spread evenly over its \
             places."
        ),
    );
    inputs::run(&fold, &found, reader, place, explained)
}

/// Words of the model of a file.
pub(crate) fn file_words(
    reader: &CorpusReader<'_>,
    document: &ReadDocument,
    texts: &SplitText<'_>,
    model: &dyn Fitted,
    explained: &mut ExplainedText,
) -> Result<()> {
    let columns = model.columns()?;
    let Some(names) = number_columns(&columns) else {
        explained.note = ("稀疏的行没有得分可拆解。".into(), "A sparse row has no score to take apart.".into());
        return Ok(());
    };
    if explained.column.is_empty() {
        // Only the file says what columns there are.
        explained.column = names.first().cloned().unwrap_or_default();
    }
    let column = explained.column.clone();
    let place = names.iter().position(|name| *name == column);
    let place = place.with_context(|| {
        message!("特征 {:?} 没有列 {column:?}", "feature {:?} has no column {column:?}", reader.feature.name)
    })?;
    if model.explains_by_omission() {
        let mut score = |documents: &[ReadDocument]| -> Result<Vec<f64>> {
            let rows = text_rows(model, documents)?;
            Ok(rows.chunks(names.len()).map(|row| f64::from(row[place])).collect())
        };
        let name = ("编码器上的模型", "Model on an encoder");
        return occlusion::run(document, texts, &reader.segmenter, name, &mut score, explained);
    }
    let line = whole_line(document).context(Word("所读文档应有文本", "a document that is read has text"))?;
    let value = f64::from(numbers(model.rows(std::slice::from_ref(&line))?)?[place]);
    // A component is named by its column, a class stands behind the kind of its column: p:up.
    let output_name = match &columns {
        Columns::Dense(_) => Some(column.as_str()),
        Columns::Sparse { .. } | Columns::Table { .. } => column.split_once(':').map(|(_, class)| class),
    };
    let found = model.explain(&line, output_name)?;
    texts.fill(placed(&found.terms, texts, &reader.segmenter), explained);
    explained.by = ExplainedBy::Words;
    (explained.score, explained.intercept, explained.formula) = (found.score, found.intercept, found.formula);
    let (zh, en) = match &found.of {
        Some(of) => (format!("对 {of} 的"), format!(" of {of}")),
        None => Default::default(),
    };
    let windowed = !document.windows.is_empty();
    let apart = (found.score - value).abs() > SAME * value.abs().max(1.0);
    explained.note = match (windowed, apart) {
        (false, false) => (
            format!("由该文件的模型逐词拆解{zh}得分；不在原文中的部分计入余项。"),
            format!(
                "The model of the file takes the score{en} apart word by word; what has no place in the text is in the rest."
            ),
        ),
        (false, true) => (
            format!("本列的值为 {value:.6}；模型逐词拆解的是{zh}另一个得分，见公式，该得分与保存的值不可直接比较。"),
            format!(
                "The column's value is {value:.6}; what the model takes apart word by word is another score{en}, see the formula, \
                 which cannot be compared with the value that is kept."
            ),
        ),
        (true, _) => (
            format!("该文档按多个窗口打分后合并：这里拆解的是全文{zh}得分，不是保存的值。"),
            format!(
                "The document was scored in several windows that were put together: what is taken apart here is the score{en} of \
                 the whole text, not the value that is kept."
            ),
        ),
    };
    if windowed || apart {
        explained.kept = f64::NAN;
    }
    Ok(())
}

/// The parts of a score where their words stand, sentence by sentence. A word that has as many parts as places has them in the order of
/// the text; else the sum of its parts is spread evenly over its places.
pub(crate) fn placed(terms: &[Part], texts: &SplitText<'_>, segmenter: &Segmenter) -> Vec<Vec<ExplainedWord>> {
    let mut by_word: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    terms.iter().for_each(|part| by_word.entry(&part.token).or_default().push(part.value));
    let sentences: Vec<&str> = texts.ranges.iter().map(|range| &texts.text[range.clone()]).collect();
    let tokens: Vec<Vec<(String, Range<usize>)>> = sentences.iter().map(|text| cut(text, segmenter)).collect();
    let mut words = vec![Vec::new(); sentences.len()];
    let titles_apart = terms.iter().any(|part| part.token.starts_with(TITLE_TEXT));
    for (term, parts) in by_word {
        let (word, of_title) = match term.strip_prefix(TITLE_TEXT) {
            Some(word) => (word, true),
            None => (term, false),
        };
        let searched = |number: &usize| !titles_apart || texts.is_title(&texts.ranges[*number]) == of_title;
        let found: Vec<(usize, Vec<Range<usize>>)> = (0..sentences.len())
            .filter(searched)
            .map(|number| (number, places(word, sentences[number], &tokens[number])))
            .collect();
        let all: usize = found.iter().map(|(_, places)| places.len()).sum();
        let sum: f64 = parts.iter().sum();
        let mut in_order = parts.iter();
        for (number, places) in found.into_iter().filter(|(_, places)| !places.is_empty()) {
            let value = match parts.len() == all {
                true => in_order.by_ref().take(places.len()).sum(),
                false => sum * places.len() as f64 / all as f64,
            };
            words[number].push(ExplainedWord { word: word.to_owned(), value, places, negated: false, degree: 1.0 });
        }
    }
    words.iter_mut().for_each(|words: &mut Vec<ExplainedWord>| words.retain(|word| word.value != 0.0));
    words
}

/// The trading day of a document; none where it has none on the calendar.
fn trading_day(reader: &CorpusReader<'_>, document: &ReadDocument) -> Result<Option<NaiveDate>> {
    let market = reader.inputs.market(reader.feature)?;
    let date = market.calendar().trade_date(document.published_at, reader.inputs.cutoff).ok();
    Ok(date.map(|date| market.dates()[date]))
}

/// Gives each sentence its share of what words gave to the whole text, by how often they stand in it.
fn spread(
    parts: Vec<(String, f64)>,
    reader: &CorpusReader<'_>,
    texts: &SplitText<'_>,
    explained: &mut ExplainedText,
) -> Result<()> {
    let CorpusReader { feature, segmenter, .. } = reader;
    let analyzer = analyzer(feature, segmenter)?;
    let counts: Vec<BTreeMap<String, usize>> = texts
        .ranges
        .iter()
        .map(|range| {
            let sentence = &texts.text[range.clone()];
            let fields = match texts.is_title(range) {
                true => Fields { title: sentence, body: "" },
                false => Fields::body(sentence),
            };
            let mut counts = BTreeMap::new();
            analyzer.for_each_term(fields, &feature.tfidf, |term, title| {
                let term = if title { format!("{TITLE_TEXT}{term}") } else { term.to_owned() };
                *counts.entry(term).or_default() += 1;
            });
            counts
        })
        .collect();
    let cut: Vec<Vec<(String, Range<usize>)>> =
        texts.ranges.iter().map(|range| cut(&texts.text[range.clone()], segmenter)).collect();
    let mut words = vec![Vec::new(); texts.ranges.len()];
    for (term, value) in parts {
        let all: usize = counts.iter().filter_map(|counts| counts.get(&term)).sum();
        for (number, counts) in counts.iter().enumerate() {
            let Some(&times) = counts.get(&term) else { continue };
            let word = term.strip_prefix(TITLE_TEXT).unwrap_or(&term).to_owned();
            let places = places(&word, &texts.text[texts.ranges[number].clone()], &cut[number]);
            let value = value * times as f64 / all as f64;
            words[number].push(ExplainedWord { word, value, places, negated: false, degree: 1.0 });
        }
    }
    texts.fill(words, explained);
    explained.by = ExplainedBy::Words;
    Ok(())
}

/// The tokens of a sentence in lower case, with their places.
fn cut(sentence: &str, segmenter: &Segmenter) -> Vec<(String, Range<usize>)> {
    segmenter.tokens(sentence).into_iter().map(|t| (t.text.to_lowercase(), t.start..t.end)).collect()
}

/// Where a term stands: runs of tokens that make it, else wherever its characters do.
fn places(term: &str, sentence: &str, tokens: &[(String, Range<usize>)]) -> Vec<Range<usize>> {
    let wanted: String = term.to_lowercase().split_whitespace().collect();
    let mut found: Vec<Range<usize>> = Vec::new();
    for first in 0..tokens.len() {
        let mut joined = String::new();
        for (token, place) in tokens[first..].iter().take(LONGEST) {
            joined += token;
            if joined == wanted {
                found.push(tokens[first].1.start..place.end);
            }
            if joined.len() >= wanted.len() {
                break;
            }
        }
    }
    if found.is_empty() && !wanted.is_empty() {
        found = sentence.match_indices(term).map(|(at, found)| at..at + found.len()).collect();
    }
    found
}

fn no_set() -> (String, String) {
    (
        "特征库正被运行占用或没有这个特征的结果：运行结束后再看逐词解释。".into(),
        "The feature store is in use by a run, or has no rows of this feature: look again when the run has ended."
            .into(),
    )
}

fn no_fold() -> (String, String) {
    (
        "没有哪一折为这篇文档打分（在首个检验期之前，或该折样本太少）。".into(),
        "No fold scored this document: it lies before the first test window, or its fold had too few samples.".into(),
    )
}

fn no_class() -> (String, String) {
    (
        "该折的训练期没有这一类别，没有概率可拆解。".into(),
        "The training window of the fold lacks this class: there is no probability to take apart.".into(),
    )
}

pub(crate) fn no_count() -> (String, String) {
    (
        "这一列是计数，没有哪个词比别的词更推动它。".into(),
        "This column is a count: no word moves it more than another.".into(),
    )
}
