//! A contextual model as rows of numbers: text in, one row a document out.

mod entities;
mod pairs;
mod weights;

use std::ops::Range;
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Result};

pub use weights::{TokenWeights, largest_weights};

use super::architecture::Wanted;
use super::batch::{Batch, Shapes};
use super::embedding::finished_vector;
use super::files::Files;
use super::graph::{Role, memories};
use super::model::{Model, Opening};
use super::params::{Activation, OnnxParams, Output};
use super::pooling::Pool;
use super::published::Published;
use super::session::{Given, Ran};
use super::settled::{Settled, VectorRules};
use super::task::{BatchOutputs, Task};
use super::windows::{
    OpenWordCutter, PairText, Tokenizer, WindowCounts, WindowRules, Windows, check_room, tokens_beside,
};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_text::Truncation;
use inkstone_text::subword::Subword;

/// Tokens that run at once, where the user does not say.
const CPU_BUDGET: usize = 2048;
const CUDA_BUDGET: usize = 32_768;
/// Lengths on a CUDA device are filled up to multiples of this.
const CUDA_STEP: usize = 8;
/// Names that exports give to the graph of an encoder.
pub(super) const ENCODERS: [&str; 2] = ["model.onnx", "encoder_model.onnx"];

/// A model, ready.
pub struct Encoder {
    model: Model,
    task: Task,
    rules: WindowRules,
    shapes: Shapes,
    params: OnnxParams,
    memories: Vec<String>,
    /// Texts that stand beside each document.
    pairs: Vec<PairText>,
    key: Key,
}

impl Encoder {
    /// Opens a model. `truncation` keeps part of each text; `words` makes the cutter of models that read words.
    pub fn open(
        params: &OnnxParams,
        truncation: Truncation,
        words: OpenWordCutter<'_>,
        opening: &Opening<'_>,
    ) -> Result<Encoder> {
        params.check()?;
        let mut files = Files::new(params, opening.base, &ENCODERS)?;
        if params.output == Output::Surprise {
            files.wanted = Wanted::Words;
        }
        let shown = files.model.display();
        let published = match params.output {
            Output::Embedding => Published::read(&files.folder)?,
            Output::Scores | Output::Entities | Output::Surprise | Output::Weights | Output::Answer => None,
        };
        let is_published = published.is_some();
        let mut model = Model::open(&files, words, opening)?;
        ensure!(
            !model.decodes(),
            "{shown} 是解码器，用于写作（`inkstone generate`），不给出特征",
            "{shown} is a decoder, which writes text (`inkstone generate`) and gives no features"
        );
        let mut rules = settle(params, published, &files, &mut model)?;
        model.session.ran_mut().used = std::mem::take(&mut rules.settled);
        let (prompt, skips_prompt, max_tokens) =
            (std::mem::take(&mut rules.prompt), rules.skips_prompt, rules.max_tokens);
        let vocabulary = model.tokenizer.subword();
        let task = Task::new(&model.session, params, rules, &model.config, &model.family, vocabulary)?;
        let memories = memories(model.session.outputs());
        let remembers = model.roles.iter().filter(|role| matches!(role, Role::Memory(_))).count();
        ensure!(
            remembers == memories.len(),
            "{shown} 输入 {remembers} 个记忆，输出 {} 个",
            "{shown} takes {remembers} memories and gives {}",
            memories.len()
        );
        let (rows, width) = (model.fixed(0), model.fixed(1));
        let asked = if max_tokens == 0 { usize::MAX } else { max_tokens };
        let limit = asked.min(model.family.limit.unwrap_or(usize::MAX)).min(width.unwrap_or(usize::MAX));
        // A memory is carried from segment to segment, so they must stand side by side.
        let bare = remembers > 0;
        // Surprise counts each token once, so its windows do not overlap.
        let stride = match (bare, params.output) {
            (true, _) => limit,
            (false, Output::Surprise) if params.stride > 0 => limit.saturating_sub(model.tokenizer.specials()).max(1),
            (false, _) => params.stride,
        };
        ensure!(
            stride == 0 || limit < usize::MAX,
            "onnx.stride 须与 onnx.max_tokens 同用，因为模型 {shown} 没有自己的上限",
            "onnx.stride needs onnx.max_tokens, as the model {shown} has no limit of its own"
        );
        let budget = match rows {
            None if params.batch_tokens > 0 => params.batch_tokens,
            None if model.session.on_cuda() => CUDA_BUDGET,
            None => CPU_BUDGET,
            Some(rows) => {
                let fits = width.is_some() || rows == 1;
                ensure!(
                    fits,
                    "{shown} 每次只能读 {rows} 段文本：请以动态批次轴导出",
                    "{shown} takes {rows} texts at once and no other number: export it with a dynamic batch axis"
                );
                width.map_or(1, |width| rows * width)
            }
        };
        let step = width.or(model.session.on_cuda().then_some(CUDA_STEP));
        let rows = rows.or(width.map(|width| budget / width));
        let shapes = Shapes { budget, step: step.unwrap_or(1), limit, rows };
        let labels = model.config.labels(None)?;
        // Batches of other shapes move the last digits.
        let key = Key::of_json(&(model.key(), limit, stride, &model.family.name, labels, budget, step));
        // The folder's own settings are hashed with its files; settings of the user are not.
        let used = model.session.ran().used.iter().map(|one| (one.setting, &one.value)).collect::<Vec<_>>();
        let key = if used.is_empty() { key } else { Key::of_json(&(key, used)) };
        // These came later than such rows: what was kept before is not served.
        let key = match &task {
            Task::Scores { labels, activation, .. } if labels.len() == 1 || *activation == Activation::Identity => {
                Key::of_json(&(key, activation))
            }
            _ => key,
        };
        let prompt = if prompt.is_empty() { None } else { Some(model.tokenizer.prompt(&prompt, skips_prompt)?) };
        ensure!(
            prompt.is_none() || !bare,
            "{shown} 分段阅读文本，而提示词只在文本之前出现一次",
            "{shown} reads a text in segments, and a prompt stands before a text once"
        );
        let cuts_left = is_published && model.tokenizer.subword().is_some_and(Subword::cuts_left);
        let truncation = match truncation {
            Truncation::None if cuts_left && stride == 0 && limit < usize::MAX => Truncation::Tail(limit),
            truncation => truncation,
        };
        let mask = if let Task::MaskedSurprise { mask, .. } = task { Some(mask) } else { None };
        let rules = WindowRules { truncation, limit, stride, bare, prompt, mask };
        rules.check(&model.tokenizer)?;
        let texts = params.pair.iter().map(|text| (text, params.pair_first));
        let texts = texts.chain(params.labels.values().map(|text| (text, false)));
        // Where rows are filled up at the left, the question stands behind the text that it is asked about.
        let texts = texts.chain(params.question.iter().map(|text| (text, !model.family.left)));
        let pairs = texts.map(|(text, first)| model.tokenizer.pair_text(text, first)).collect::<Result<Vec<_>>>()?;
        ensure!(
            pairs.is_empty() || !bare,
            "{shown} 分段阅读文本，不能另有第二段文本",
            "{shown} reads a text in segments, and no second text beside it"
        );
        if !pairs.is_empty() {
            check_room(&pairs, limit, &model.tokenizer)?;
        }
        Ok(Encoder { model, task, rules, shapes, params: params.clone(), memories, pairs, key })
    }

    /// Hash of all that rows depend on besides texts and parameters: graph, tokenizer, labels.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Names of the columns of a row; for sparse rows the tokens of the vocabulary.
    pub fn columns(&self) -> Vec<String> {
        match (&self.task, self.model.tokenizer.subword()) {
            (Task::Weights { .. }, Some(subword)) => {
                (0..subword.size() as u32).map(|token| subword.token(token).unwrap_or_default()).collect()
            }
            _ => self.task.columns(),
        }
    }

    pub fn ran(&self) -> &Ran {
        self.model.session.ran()
    }

    /// Tokens of a window at most, special ones included; none where the model has no limit.
    pub fn limit(&self) -> Option<usize> {
        (self.rules.limit < usize::MAX).then_some(self.rules.limit)
    }

    /// Layers that stand side by side in a vector; none where the rows are no vectors.
    pub fn layers(&self) -> Option<usize> {
        if let Task::Embedding(embedding) = &self.task { Some(embedding.layers()) } else { None }
    }

    /// True if its surprise is that of a discriminator, and no probability of words.
    pub fn discriminates(&self) -> bool {
        matches!(self.task, Task::ReplacedSurprise { .. })
    }

    /// True if the probabilities of labels stand each for itself.
    pub fn labels_stand_alone(&self) -> bool {
        match &self.task {
            Task::Scores { activation, .. } => *activation == Activation::Sigmoid,
            Task::Entailment(entailment) => entailment.alone,
            _ => false,
        }
    }

    /// The bytes of each token of a text that the model reads.
    pub fn spans(&self, text: &str, ctx: &Ctx) -> Result<Vec<Range<usize>>> {
        let windows = self.windows(&[text], ctx)?;
        let tokens = windows.windows.iter().flat_map(|window| &windows.offsets(window)[window.inner.clone()]);
        let mut spans: Vec<Range<usize>> = tokens.map(|token| token.start as usize..token.end as usize).collect();
        // Windows may overlap, and pieces of one character have the same place.
        spans.dedup();
        spans.retain(|span| !span.is_empty());
        spans.sort_by_key(|span| (span.start, span.end));
        spans.dedup();
        Ok(spans)
    }

    /// The bytes of all tokens of a text, whatever truncation keeps.
    pub fn places(&self, text: &str) -> Result<Vec<Range<usize>>> {
        self.model.tokenizer.places(text)
    }

    /// Tokens of a text, whatever truncation keeps, and those that the vocabulary has.
    pub fn coverage(&self, text: &str) -> Result<(usize, usize)> {
        self.model.tokenizer.coverage(text)
    }

    /// Tokens that are read of a text, special ones included.
    pub fn tokens_kept(&self, text: &str, ctx: &Ctx) -> Result<u64> {
        Ok(self.windows(&[text], ctx)?.lengths().iter().map(|&tokens| tokens as u64).sum())
    }

    /// Tokens of a window that are not of its text: special ones, and those of the prompt or of the text beside it.
    pub fn specials(&self) -> usize {
        if !self.pairs.is_empty() {
            return tokens_beside(&self.pairs, &self.model.tokenizer);
        }
        self.rules.specials(&self.model.tokenizer)
    }

    pub fn windows(&self, texts: &[&str], ctx: &Ctx) -> Result<Windows> {
        cut(texts, &self.pairs, &self.model.tokenizer, &self.rules, self.params.output, ctx)
    }

    /// Batches of windows. Windows of a model with a memory run one text at a time.
    pub fn batches(&self, windows: &Windows) -> Vec<Batch> {
        if self.memories.is_empty() {
            return self.shapes.batches(&windows.lengths());
        }
        let texts = windows.of_texts().into_iter().filter(|text| !text.is_empty());
        texts.map(|text| Batch { rows: 1, width: 0, windows: text.collect() }).collect()
    }

    /// The rows of the windows of a batch, in its order.
    pub fn run(&mut self, windows: &Windows, batch: &Batch, ctx: &Ctx) -> Result<Vec<f32>> {
        if self.memories.is_empty() {
            return Ok(self.run_once(windows, &batch.windows, [batch.rows, batch.width], &[], ctx)?.0);
        }
        let (mut rows, mut memory) = (Vec::new(), Vec::new());
        for &window in &batch.windows {
            let width = windows.windows[window].len();
            let (row, after) = self.run_once(windows, &[window], [1, width], &memory, ctx)?;
            rows.extend(row);
            memory = after;
        }
        Ok(rows)
    }

    fn run_once(
        &mut self,
        windows: &Windows,
        batch: &[usize],
        shape: [usize; 2],
        memory: &[Given<'static>],
        ctx: &Ctx,
    ) -> Result<(Vec<f32>, Vec<Given<'static>>)> {
        let mut wanted = self.task.wanted();
        wanted.extend(self.memories.iter().map(String::as_str));
        let (task, family, memories) = (&self.task, self.model.family.clone(), &self.memories);
        self.model.run(windows, batch, shape, memory, &wanted, ctx, |outputs| {
            let read = BatchOutputs { outputs, windows, batch, width: shape[1], family: &family };
            let rows = task.rows(read, ctx)?;
            Ok((rows, memories.iter().map(|name| Ok(outputs.get(name)?.kept())).collect::<Result<_>>()?))
        })
    }

    /// The rows of the texts `[texts, columns]` of the rows of their windows `[windows, columns]`; texts without a window, and those
    /// with values that are no numbers, have NaN.
    pub fn combine(&self, windows: &Windows, rows: &[f32]) -> (Vec<f32>, WindowCounts) {
        let dim = self.columns().len();
        let mut seen = windows.seen;
        let mut combined = vec![f32::NAN; windows.seen.texts as usize * dim];
        for (text, row) in windows.of_texts().into_iter().zip(combined.chunks_mut(dim)) {
            if text.is_empty() {
                continue;
            }
            let of_text: Vec<&[f32]> = text.map(|window| &rows[window * dim..(window + 1) * dim]).collect();
            self.task.combine(&of_text, self.params.over_windows, row);
            // A number that an answer does not have is no error of the model.
            let checked = if matches!(self.task, Task::Answer { .. }) { &row[..1] } else { &row[..] };
            if checked.iter().any(|value| !value.is_finite()) {
                row.fill(f32::NAN);
                seen.not_finite += 1;
            }
        }
        (combined, seen)
    }

    /// The rows of the windows `[windows, columns]`, in their order.
    fn rows_of(&mut self, windows: &Windows, ctx: &Ctx) -> Result<Vec<f32>> {
        let dim = self.columns().len();
        let mut rows = vec![f32::NAN; windows.windows.len() * dim];
        for batch in self.batches(windows) {
            let found = self.run(windows, &batch, ctx)?;
            for (&window, row) in batch.windows.iter().zip(found.chunks(dim)) {
                rows[window * dim..(window + 1) * dim].copy_from_slice(row);
            }
        }
        Ok(rows)
    }

    /// The rows of texts `[texts, columns]`, slice after slice; the next slice is cut into windows while one runs. `each` hears how many
    /// texts were done.
    pub fn rows(
        &mut self,
        texts: &[&str],
        ctx: &Ctx,
        mut each: impl FnMut(u64) -> Result<()>,
    ) -> Result<(Vec<f32>, WindowCounts)> {
        let (tokenizer, rules, pairs) = (self.model.tokenizer.clone(), self.rules.clone(), self.pairs.clone());
        let output = self.params.output;
        self.rows_of_slices(
            texts.chunks(self.slice()),
            |slice| cut(slice, &pairs, &tokenizer, &rules, output, ctx),
            ctx,
            &mut each,
        )
    }

    /// Texts whose windows are put together into batches: enough that lengths fit well, few enough to hold.
    fn slice(&self) -> usize {
        if self.model.session.on_cuda() { 8192 } else { 1024 }
    }

    /// The rows of slices, which `cut` makes windows of.
    fn rows_of_slices<S: Send>(
        &mut self,
        slices: impl Iterator<Item = S> + Send,
        cut: impl Fn(S) -> Result<Windows> + Send,
        ctx: &Ctx,
        each: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<(Vec<f32>, WindowCounts)> {
        std::thread::scope(|scope| {
            let (sender, windows) = sync_channel(1);
            scope.spawn(move || {
                for slice in slices {
                    // Nobody takes it once the run has failed.
                    if sender.send(cut(slice)).is_err() {
                        break;
                    }
                }
            });
            let (mut all, mut seen) = (Vec::new(), WindowCounts::default());
            for windows in windows {
                let windows = windows?;
                let rows = self.rows_of(&windows, ctx)?;
                let (rows, met) = self.combine(&windows, &rows);
                all.extend(rows);
                seen.add(&met);
                each(met.texts)?;
            }
            Ok((all, seen))
        })
    }
}

/// Windows of texts, with each of `pairs` beside them where there are such.
fn cut(
    texts: &[&str],
    pairs: &[PairText],
    tokenizer: &Tokenizer,
    rules: &WindowRules,
    output: Output,
    ctx: &Ctx,
) -> Result<Windows> {
    ensure!(
        output != Output::Answer || !pairs.is_empty(),
        "要答案却没有问题：请设置 onnx.question（--question），或给每行一个 question 字段（jsonl）",
        "an answer is asked for, and no question: set onnx.question (--question), or give each line a field question (jsonl)"
    );
    let windows = match pairs {
        [] => Windows::new(texts, tokenizer, rules, ctx)?,
        pairs => Windows::beside(texts, pairs, tokenizer, rules, ctx)?,
    };
    Ok(match rules.mask {
        Some(mask) => windows.hide_each_token(mask),
        None => windows,
    })
}

/// Settles how vectors are made, and at which side rows are filled up.
fn settle(params: &OnnxParams, published: Option<Published>, files: &Files, model: &mut Model) -> Result<VectorRules> {
    let own = finished_vector(model.session.outputs(), params.pooling.as_ref());
    let own = own.filter(|_| params.output == Output::Embedding);
    let is_published = published.is_some();
    let folder = files.folder.display();
    let mut rules =
        VectorRules::new(params, published, own).with_context(|| message!("文件夹 {folder}", "the folder {folder}"))?;
    // Vectors of tokens are found wherever a row is filled up; a graph that takes the last place of a row needs it filled.
    if own.is_some() && model.tokenizer.subword().is_some_and(Subword::pads_left) {
        model.family.left = true;
        let from = Some(Word("分词器", "the tokenizer").to_string());
        rules.settled.push(Settled { setting: "padding", value: "left".to_owned(), from, against: None });
    }
    let by_folder = is_published && params.pooling.is_none();
    ensure!(
        !(by_folder && model.family.cls_last && rules.pooling.0.contains(&Pool::Cls)),
        "{folder} 中的 1_Pooling/config.json 要求取首个词元，而该模型的分类词元在最后：请设置池化方式（此处 cls 即最后的词元）",
        "1_Pooling/config.json in {folder} asks for the first token, and the classification token of this model is the last: set the pooling (cls is the last token here)"
    );
    Ok(rules)
}
