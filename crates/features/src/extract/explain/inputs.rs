//! The features that a head learns on, taken further: what the head's score loses without each sentence of their texts, and the words where
//! a score is a weighted sum of what words give.
//!
//! | inputs | how |
//! |---|---|
//! | `tfidf`, vectorizers of files | the weight of each word, or its SHAP value or integrated gradient: exactly |
//! | `lsa`, word vectors, both of files too, `surprise`, under a linear head | each word's part in the columns, weighed as the head weighs them: exactly |
//! | these under other heads, `lexicon`, `onnx`, networks, other files | each sentence is left out, and the head scores the row of the rest; then each word of the strongest sentence |
//! | models that learn themselves: `ridge`, `logistic` and the like, `induced`, `sestm` | the input's own value, on its own scale, and so on down |
//!
//! All but files and lexicons are fitted once more, as the head is.

use anyhow::{Context, Result};

use super::occlusion;
use super::words::placed;
use super::{ExplainedBy, ExplainedText, KeptRow, SAME, SplitText};
use crate::extract::entry::{Explainer, RowModel};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::text_rows::{NOWHERE, TextRows};
use crate::extract::{Feature, Inputs, SetMeta};
use crate::models::estimators::project::{Refitted, RefittedFold};
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_models::Part;

/// Takes the score of a head further down, to the texts of the features that it learns on, each by itself.
pub(crate) fn run(
    fold: &RefittedFold<'_>,
    found: &Refitted,
    reader: &CorpusReader<'_>,
    place: (usize, usize),
    head: &ExplainedText,
) -> Result<Vec<ExplainedText>> {
    let CorpusReader { feature, inputs, ctx, .. } = reader;
    let mut names: Vec<&str> = Vec::new();
    for input in feature.input_features() {
        if !names.contains(&input.feature) {
            names.push(input.feature);
        }
    }
    let below = |name: &&str| -> Result<Vec<ExplainedText>> {
        let input = inputs.features.iter().find(|other| other.name == **name);
        let input = input.with_context(|| {
            message!(
                "特征 {:?} 学习所用的 {name:?} 不存在",
                "feature {:?} learns on {name:?}, which is not there",
                feature.name
            )
        })?;
        let mut explained = ExplainedText {
            of: format!("{}.{}", head.feature, head.column),
            score: head.score,
            kept: head.kept,
            ..ExplainedText::new(input)
        };
        let below = Below { input, inputs, ctx, fold, found, place };
        let mut further = Vec::new();
        let done = match input.model.entry().explained_by {
            Explainer::RefittedFold | Explainer::FoldWords => below.learned().map(|texts| further = texts),
            _ => below.explain(&mut explained),
        };
        if let Err(error) = done {
            // A cancelled run has no explanation; of one that failed the score of the head is known all the same.
            ctx.check()?;
            let unknown = message!(
                "未能拆解这一输入：{}。",
                "This input could not be taken apart: {}.",
                Message::of_error(&error)
            );
            explained.note = (unknown.zh, unknown.en);
        }
        if further.is_empty() {
            further.push(explained);
        }
        Ok(further)
    };
    Ok(names.iter().map(below).collect::<Result<Vec<_>>>()?.concat())
}

/// An input feature of a head, and the document.
struct Below<'a> {
    input: &'a Feature,
    inputs: &'a Inputs<'a>,
    ctx: &'a Ctx,
    fold: &'a RefittedFold<'a>,
    found: &'a Refitted,
    place: (usize, usize),
}

impl Below<'_> {
    /// The column of an input that is learned itself which has the largest part in the score, on its own scale, and what it is made of.
    fn learned(&self) -> Result<Vec<ExplainedText>> {
        let Below { input, inputs, ctx, place, .. } = *self;
        let own = format!("{}.", input.name);
        let part = self.found.inputs.iter().find(|(name, _)| name.starts_with(&own));
        let column = part.and_then(|(name, _)| name.strip_prefix(&own));
        let sets = inputs.sets.context(Word("输入的特征集应已读取", "the sets of the inputs were read"))?;
        let number = self.numbers().next().context(Word("输入须为数值", "an input has a number"))?;
        let set = sets
            .store
            .set(&self.fold.inputs()[number].set)?
            .context(Word("输入的行已不存在", "the rows of an input are gone"))?;
        let kept = KeptRow::read(&set, place)?;
        let mut texts = super::explain(input, column, inputs, Some(&kept), place, ctx)?;
        if let (Some(first), Some((name, part))) = (texts.first_mut(), part) {
            first.note.0 += &format!("所拆解的是输入 {name} 自身的值；它在上层得分中的部分为 {part:.6}。");
            first.note.1 += &format!(
                " Taken apart is the input {name} itself, on its own scale; its part of the score above is {part:.6}."
            );
        }
        Ok(texts)
    }

    fn explain(&self, explained: &mut ExplainedText) -> Result<()> {
        let Below { input, inputs, ctx, place, .. } = *self;
        let (opened, reader) = match input.model.entry().opened {
            RowModel::Files(open) => {
                let (model, segmenter) = open(input, inputs, ctx)?;
                (Some(model), CorpusReader::with_segmenter(input, inputs, segmenter, ctx)?)
            }
            RowModel::Refit(_) | RowModel::None => {
                let segmenter = super::segmenter_of(input, inputs)?;
                (None, CorpusReader::with_segmenter(input, inputs, segmenter, ctx)?)
            }
        };
        let document = reader.document(place)?;
        let Some(texts) = explained.read(&document, input) else { return Ok(()) };
        let model = match input.model.entry().opened {
            _ if self.is_sparse() => None,
            RowModel::Refit(fit) => fit(&reader, place)?,
            RowModel::Files(_) | RowModel::None => opened,
        };
        if self.is_sparse() {
            self.sparse_words(&texts, &reader, explained)?;
        } else if let Some(mut model) = model {
            if !(self.fold.is_linear() && self.dense_words(&*model, &document, &texts, &reader, explained)?) {
                let name = [format!("输入特征 {}", input.name), format!("The input {}", input.name)];
                let mut score = |documents: &[ReadDocument]| -> Result<Vec<f64>> {
                    let rows = model.document_rows(documents, &reader)?;
                    self.fold.scores_with(&input.name, &rows, rows.len() / documents.len(), None)
                };
                let name = (name[0].as_str(), name[1].as_str());
                occlusion::run(&document, &texts, &reader.segmenter, name, &mut score, explained)?;
            }
        } else {
            explained.note = (
                format!("模型 {} 作为输入时不再往下拆解：它在得分中的部分见各列。", explained.model),
                format!(
                    "An input of the model {} is not taken further apart: its columns show its part in the score.",
                    explained.model
                ),
            );
        }
        explained.note_mask(texts.text);
        explained.check();
        Ok(())
    }

    /// The numbers of the head's inputs that are of the feature.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        let names = self.fold.inputs().iter().map(|input| input.name.split('.').next().unwrap_or_default());
        names.enumerate().filter(|(_, name)| *name == self.input.name).map(|(number, _)| number)
    }

    fn is_sparse(&self) -> bool {
        self.numbers().any(|number| self.fold.inputs()[number].columns.is_none())
    }

    /// The parts of the words of a sparse row, whose names the set keeps.
    fn sparse_words(
        &self,
        texts: &SplitText<'_>,
        reader: &CorpusReader<'_>,
        explained: &mut ExplainedText,
    ) -> Result<()> {
        let sets = self.inputs.sets.context(Word("输入的特征集应已读取", "the sets of the inputs were read"))?;
        let mut parts = Vec::new();
        for number in self.numbers() {
            let set = sets
                .store
                .set(&self.fold.inputs()[number].set)?
                .context(Word("输入的行已不存在", "the rows of an input are gone"))?;
            let vocabulary = SetMeta::read(set.header())?.vocabulary.unwrap_or_default();
            for &(_, column, value) in self.found.sparse.iter().filter(|(input, ..)| *input == number) {
                if let Some(term) = vocabulary.get(column as usize) {
                    parts.push(Part { token: term.to_string(), value, detail: Vec::new() });
                }
            }
        }
        explained.formula =
            Word("score = 其他输入的得分 + 各词的部分", "score = score of the other inputs + part of each word").into();
        explained.note = match parts.is_empty() {
            true => (
                "该文档在这一输入中没有带名称的词。".into(),
                "The document has no words with a name in this input.".into(),
            ),
            false => (
                format!("{} 的词各自在得分中的部分；不在原文中的部分计入余项。", self.input.name),
                format!(
                    "The part of each word of {} in the score; what has no place in the text is in the rest.",
                    self.input.name
                ),
            ),
        };
        self.fill_words(parts, texts, reader, explained);
        Ok(())
    }

    /// The parts of words in a dense row, weighed as the head weighs its columns; false where the row is no sum over words.
    fn dense_words(
        &self,
        model: &dyn TextRows,
        document: &ReadDocument,
        texts: &SplitText<'_>,
        reader: &CorpusReader<'_>,
        explained: &mut ExplainedText,
    ) -> Result<bool> {
        let words = if document.windows.is_empty() { model.document_parts(document, reader) } else { None };
        let Some(words) = words.filter(|words| !words.is_empty()) else { return Ok(false) };
        let dim = words[0].1.len();
        // A head that is linear gives a word what its columns add to those of a row of zeros.
        let rows: Vec<f32> =
            std::iter::repeat_n(0.0, dim).chain(words.iter().flat_map(|(_, part)| part.iter().copied())).collect();
        let slopes = self.found.slopes.as_deref();
        let scores = self.fold.scores_with(&self.input.name, &rows, dim, slopes)?;
        let part = |((token, _), score): ((String, Vec<f32>), &f64)| Part {
            token,
            value: score - scores[0],
            detail: Vec::new(),
        };
        let parts: Vec<Part> = words.into_iter().zip(&scores[1..]).map(part).collect();
        let sum: f64 = parts.iter().map(|part| part.value).sum();
        // Isotonic calibration turns a sum into another score. A probability moves by its slopes.
        if slopes.is_none() && (scores[0] + sum - explained.score).abs() > SAME * explained.score.abs().max(1.0) {
            return Ok(false);
        }
        let name = &self.input.name;
        explained.formula = message!(
            "score = {name} 为零时的得分 + 各词的部分",
            "score = score with zeros as {name} + part of each word"
        );
        explained.note = (
            format!("{name} 的各列是词的加和：这里是每个词经各列权重对得分的贡献，精确到词。"),
            format!(
                "The columns of {name} are sums over words: shown is what each word gives the score through them, exactly."
            ),
        );
        let parts = parts.into_iter().filter(|part| part.token != NOWHERE).collect();
        self.fill_words(parts, texts, reader, explained);
        Ok(true)
    }

    /// Sets the words where they stand; all that they do not give is the intercept.
    fn fill_words(
        &self,
        parts: Vec<Part>,
        texts: &SplitText<'_>,
        reader: &CorpusReader<'_>,
        explained: &mut ExplainedText,
    ) {
        explained.intercept = explained.score - parts.iter().map(|part| part.value).sum::<f64>();
        explained.by = ExplainedBy::Words;
        texts.fill(placed(&parts, texts, &reader.segmenter), explained);
    }
}
