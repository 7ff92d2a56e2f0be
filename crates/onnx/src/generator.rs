//! Text that a model writes: summaries by an encoder and a decoder (BART, MASS, T5), or what goes on from a text (GPT, Qwen).
//!
//! A masked model with a mask of each pair of tokens (UniLM) writes behind its source. An export has `encoder_model.onnx` and `decoder_model.onnx` (or `decoder_model_merged.onnx`, or `decoder_with_past_model.onnx`
//! beside), or one `model.onnx` that reads from left to right; a folder may hold weights alone ([`super::architecture`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::architecture::{self, Wanted};
use super::chat::ChatTemplate;
use super::decode::{FoundText, JsonSchema, Likelihood, SearchParams, Uniforms, cut_behind, likelihoods, search};
use super::files::Files;
use super::graph::{Hidden, Role, output, roles};
use super::model::{Model, Opening};
use super::params::OnnxParams;
use super::prompt::{PromptFields, PromptTemplate};
use super::session::{Ran, Session, no_output};
use super::steps::{Sources, StepGraph, StepModel, Steps};
use super::windows::{Tokenizer, WindowRules, Windows, WordCutter};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_text::Truncation;
use inkstone_text::subword::Subword;

/// Names that exports give to the graph of a model that writes, or of its encoder.
const WRITERS: [&str; 4] = ["model.onnx", "encoder_model.onnx", "decoder_model_merged.onnx", "decoder_model.onnx"];
/// Names that exports give to the graph of a decoder, and to that of its later steps.
pub(super) const DECODERS: [&str; 2] = ["decoder_model_merged.onnx", "decoder_model.onnx"];
pub(super) const LATER: &str = "decoder_with_past_model.onnx";
/// Tokens of the texts that are worked on at once, written ones included, where nothing is said.
const BUDGET: usize = 4096;
/// Texts drawn after one prompt have streams of random numbers side by side.
const STREAMS: u64 = 1 << 20;

/// A model that writes, ready.
pub struct Generator {
    encoder: Option<SourceReader>,
    steps: StepModel,
    tokenizer: Arc<Tokenizer>,
    begin: Option<u32>,
    params: SearchParams,
    rules: WindowRules,
    /// Places of the model, and tokens that are read of a text at the most.
    places: usize,
    asked: usize,
    budget: usize,
    prompt: Option<(PromptTemplate, Truncation)>,
    chat: Option<ChatTemplate>,
    schema: Option<Arc<JsonSchema>>,
    /// The tokenizer's file, or its folder.
    tokenizer_place: PathBuf,
}

/// The encoder of a model, and the output that its decoder reads.
struct SourceReader {
    model: Model,
    states: String,
}

/// A text that a model wrote.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Written {
    /// The text, without special tokens, up to and with a stop word.
    pub text: String,
    /// Numbers of its tokens, the end included where it was written.
    pub ids: Vec<u32>,
    /// Sum of the natural logarithms of the tokens' probabilities, over their number to the power of the length penalty.
    pub score: f32,
}

impl Generator {
    /// Opens a model. `truncation` says what is read of a text; where `search` names no end, config.json does.
    pub fn open(
        params: &OnnxParams,
        truncation: Truncation,
        search: SearchParams,
        opening: &Opening<'_>,
    ) -> Result<Generator> {
        let files = writing_files(params, opening.base)?;
        let model = Model::open(&files, &|| Ok(WordCutter::Spaces), opening)?;
        let tokenizer = model.tokenizer.clone();
        let subword =
            tokenizer.subword().context(Word("以字为单位的模型不能写作", "a model of characters writes no text"))?;
        let mut search = search;
        let config = &model.config;
        if search.eos.is_empty() {
            let ends = config.eos_token_id.as_ref().map(super::family::Numbers::list);
            search.eos = ends.unwrap_or_else(|| subword.end_id().into_iter().collect());
        }
        search.forced_first = search.forced_first.or(config.forced_bos_token_id);
        search.forced_last = search.forced_last.or(config.forced_eos_token_id);
        let start = config.decoder_start_token_id.or(config.bos_token_id).or(subword.pad_id());
        let (places, pad) = (model.family.limit.unwrap_or(usize::MAX), model.family.pad);
        let folder = files.model.parent().unwrap_or(Path::new(""));
        let (encoder, first, later) = if output(model.session.outputs(), &["logits"], 3).is_some() {
            let later = later_in(folder, opening)?.filter(|_| files.shown().contains("decoder_model"));
            (None, StepGraph { session: model.session, roles: model.roles }, later)
        } else {
            let states = Hidden::last(model.session.outputs());
            let states = states.with_context(|| {
                no_output(&model.session, Word("供解码器使用的词元向量", "vectors of tokens for the decoder"))
            })?;
            let (first, later) = match architecture::has_decoder(&files.model)? {
                true => {
                    let later = open_graph(&files.model, Wanted::LaterStep, opening)?;
                    (open_graph(&files.model, Wanted::FirstStep, opening)?, Some(later))
                }
                false => decoder_in(&files.folder, opening)?,
            };
            (Some(SourceReader { model, states }), first, later)
        };
        let begin = encoder.as_ref().and(start);
        let fills_masks = first.roles.contains(&Role::PairMask);
        let mask = if fills_masks {
            Some(subword.mask_id().context(Word("分词器没有掩码词元", "the tokenizer has no mask token"))?)
        } else {
            None
        };
        ensure!(
            encoder.is_none() || begin.is_some(),
            "{} 旁的 config.json 没有说明解码器以什么开始（decoder_start_token_id）",
            "config.json beside {} does not say what a decoder begins with (decoder_start_token_id)",
            files.model.display()
        );
        let asked = if params.max_tokens == 0 { usize::MAX } else { params.max_tokens };
        let rules = WindowRules {
            truncation,
            limit: 0,
            stride: 0,
            bare: encoder.is_none() && !fills_masks,
            prompt: None,
            mask: None,
        };
        let budget = if params.batch_tokens == 0 { BUDGET } else { params.batch_tokens };
        let steps = StepModel::new(first, later, pad, mask)?;
        let mut generator = Generator {
            encoder,
            steps,
            tokenizer,
            begin,
            params: search,
            rules,
            places,
            asked,
            budget,
            prompt: None,
            chat: None,
            schema: None,
            tokenizer_place: files.tokenizer,
        };
        generator.make_room(generator.params.max_new_tokens)?;
        Ok(generator)
    }

    /// The content of all files that the texts of a model depend on.
    pub fn files_key(params: &OnnxParams, base: &Path) -> Result<Key> {
        let files = writing_files(params, base)?;
        let mut graphs = vec![files.model.clone()];
        if let Ok(decoder) = Files::in_folder(&files.folder, &DECODERS) {
            graphs.extend([disk::folder_of(&decoder).join(LATER), decoder].into_iter().filter(|file| file.is_file()));
        }
        graphs.sort();
        graphs.dedup();
        let key = |model: PathBuf| Files { model, ..files.clone() }.key();
        Ok(Key::of_json(&graphs.into_iter().map(key).collect::<Result<Vec<Key>>>()?))
    }

    /// Leaves places for so many tokens to be written.
    fn make_room(&mut self, new: usize) -> Result<()> {
        // A model that continues a text needs positions for the tokens that it writes.
        let beside = new + usize::from(self.steps.fills_masks());
        let room = if self.encoder.is_some() { self.places } else { self.places.saturating_sub(beside) };
        ensure!(
            room > 0,
            "{new} 个新词元使文本没有位置：模型有 {} 个位置",
            "{new} new tokens leave no place for the text: the model has {}",
            self.places
        );
        self.params.max_new_tokens = new;
        self.rules.limit = room.min(self.asked);
        Ok(())
    }

    /// Writes only these texts.
    pub fn choose(&mut self, choices: &[String]) -> Result<()> {
        let mut numbers = self.numbers(choices)?;
        if let Some(end) = self.params.eos.first() {
            numbers.iter_mut().for_each(|choice| choice.push(*end));
        }
        self.make_room(numbers.iter().map(Vec::len).max().unwrap_or(1))?;
        self.params.choices = numbers;
        Ok(())
    }

    /// Writes only JSON values that this schema allows, as Python's `json.dumps` writes them.
    pub fn keep_to_schema(&mut self, schema: &Value) -> Result<()> {
        let place = &self.tokenizer_place;
        let file = if place.is_dir() { place.join("tokenizer.json") } else { place.clone() };
        let text = std::fs::read(&file).with_context(|| {
            message!(
                "JSON schema 需要 tokenizer.json 的词元；无法读取 {}",
                "a JSON schema needs the tokens of a tokenizer.json; cannot read {}",
                file.display()
            )
        })?;
        let tokenizer = serde_json::from_slice(&text)
            .with_context(|| message!("{} 不是 tokenizer.json", "{} is no tokenizer.json", file.display()))?;
        self.schema = Some(Arc::new(JsonSchema::new(schema, &tokenizer, &self.params.eos)?));
        Ok(())
    }

    /// Puts each document into a prompt. What is cut of a long document is cut within the prompt.
    pub fn ask(&mut self, template: PromptTemplate) {
        self.prompt = Some((template, std::mem::replace(&mut self.rules.truncation, Truncation::None)));
    }

    /// Puts each prompt into a chat by the tokenizer's template, with this system message.
    pub fn chat(&mut self, system: Option<String>) -> Result<()> {
        ensure!(
            self.encoder.is_none(),
            "对话用于从左到右阅读的模型，而这个有编码器：请去掉 --chat",
            "a chat is for models that read from left to right, and this one has an encoder: leave --chat out"
        );
        let place = &self.tokenizer_place;
        let folder = if place.is_dir() { place } else { disk::folder_of(place) };
        self.chat = Some(ChatTemplate::read(folder, system)?);
        if self.prompt.is_none() {
            self.ask(PromptTemplate::whole());
        }
        Ok(())
    }

    /// The prompt of a document.
    pub fn prompt_of(&self, fields: PromptFields<'_>) -> Result<String> {
        let Some((template, truncation)) = &self.prompt else { return Ok(fields.whole.to_owned()) };
        let subword = self.subword()?;
        let chat = |text: &str| self.chat.as_ref().map_or_else(|| Ok(text.to_owned()), |chat| chat.render(text));
        let filled = template.fill(fields, |text, beside| {
            let beside = subword.encode(&chat(beside)?)?.ids.len() + self.rules.specials(&self.tokenizer);
            let room = self.rules.limit.saturating_sub(beside);
            ensure!(
                room > 0,
                "提示词有 {beside} 个词元，而可读 {} 个",
                "the prompt has {beside} tokens, and {} are read",
                self.rules.limit
            );
            let places = subword.encode(text)?.offsets;
            let mut room = room;
            let mut kept = String::new();
            for range in truncation.apply(places.len(), beside) {
                let range = range.start..range.end.min(range.start + room);
                room -= range.len();
                if let (Some(first), Some(last)) = (places.get(range.start), places[..range.end].last())
                    && !range.is_empty()
                {
                    kept.push_str(&text[first.start as usize..last.end as usize]);
                }
            }
            Ok(if kept.len() == text.trim().len() { text.to_owned() } else { kept })
        })?;
        chat(&filled)
    }

    /// True if several texts are worked on at once.
    pub fn steps_together(&self) -> bool {
        self.params.steps_together()
    }

    /// True if what is written is JSON.
    pub fn writes_json(&self) -> bool {
        self.schema.is_some()
    }

    /// True if texts are drawn.
    pub fn draws(&self) -> bool {
        self.params.drawing.is_some()
    }

    pub fn ran(&self) -> &Ran {
        self.steps.session().ran()
    }

    fn subword(&self) -> Result<&Subword> {
        self.tokenizer.subword().context(Word("以字为单位的模型不能写作", "a model of characters writes no text"))
    }

    /// The tokens of some texts, without special ones.
    fn numbers(&self, texts: &[String]) -> Result<Vec<Vec<u32>>> {
        let subword = self.subword()?;
        let one = |text: &String| {
            let numbers = subword.encode(text)?.ids;
            ensure!(
                !numbers.is_empty(),
                "{text:?} 没有模型认识的词元，不能选择",
                "{text:?} has no token of the model, so it cannot be chosen"
            );
            Ok(numbers)
        };
        texts.iter().map(one).collect()
    }

    /// The texts that the model writes from a text, the best first; none for an empty text.
    pub fn write(&mut self, text: &str, ctx: &Ctx) -> Result<Vec<Written>> {
        Ok(self.write_all(&[text], 0, ctx)?.remove(0))
    }

    /// The texts that the model writes from each text, the best first, or as they are drawn; none for an empty text. `first` is the number
    /// of the first text among all: drawn texts depend on it and the seed alone.
    pub fn write_all(&mut self, texts: &[&str], first: u64, ctx: &Ctx) -> Result<Vec<Vec<Written>>> {
        let mut streams = Streams { seed: ctx.seed(), first, streams: Default::default() };
        self.write_by(texts, &mut |text, number| streams.next(text, number), ctx)
    }

    fn write_by(&mut self, texts: &[&str], uniforms: Uniforms<'_>, ctx: &Ctx) -> Result<Vec<Vec<Written>>> {
        let (params, tokenizer, schema) = (self.params.clone(), self.tokenizer.clone(), self.schema.clone());
        let rows = params.drawing.map_or(1, |drawing| drawing.texts);
        let together = params.steps_together().then_some(rows);
        let found = self.in_batches(texts, together, ctx, |steps, prompts, numbers| {
            let decode = |ids: &[u32]| decoded(&tokenizer, ids);
            search(steps, prompts, &params, schema.as_deref(), &decode, &mut |prompt, number| {
                uniforms(numbers[prompt], number)
            })
        })?;
        Ok(found.into_iter().map(|found| self.texts(found.unwrap_or_default())).collect())
    }

    /// Continuations of these tokens by a model that reads from left to right, the best first.
    pub fn follow(&mut self, numbers: &[u32], ctx: &Ctx) -> Result<Vec<Written>> {
        let mut streams = Streams { seed: ctx.seed(), first: 0, streams: Default::default() };
        self.follow_by(numbers, &mut |text, number| streams.next(text, number), ctx)
    }

    pub(crate) fn follow_by(&mut self, numbers: &[u32], uniforms: Uniforms<'_>, ctx: &Ctx) -> Result<Vec<Written>> {
        let (params, tokenizer, schema) = (self.params.clone(), self.tokenizer.clone(), self.schema.clone());
        let mut steps = self.steps.steps(None, ctx)?;
        let decode = |ids: &[u32]| decoded(&tokenizer, ids);
        let found = search(&mut steps, &[numbers.to_vec()], &params, schema.as_deref(), &decode, uniforms)?;
        Ok(self.texts(found.into_iter().next().unwrap_or_default()))
    }

    /// How likely the model finds each label behind each text; none for an empty text.
    pub fn label(&mut self, texts: &[&str], labels: &[String], ctx: &Ctx) -> Result<Vec<Option<Vec<Likelihood>>>> {
        let numbers = self.numbers(labels)?;
        ensure!(!numbers.is_empty(), "没有可选的标签", "there is no label to choose from");
        self.make_room(numbers.iter().map(Vec::len).max().unwrap_or(1))?;
        self.in_batches(texts, Some(labels.len()), ctx, |steps, prompts, _| likelihoods(steps, prompts, &numbers))
    }

    /// Gives texts to `work` in batches within the budget of tokens, `rows` rows a text, or one by one, and gives the results in order;
    /// none for an empty text. `work` gets the tokens that go before what is written, and the numbers of their texts.
    fn in_batches<T>(
        &mut self,
        texts: &[&str],
        rows: Option<usize>,
        ctx: &Ctx,
        mut work: impl FnMut(&mut Steps<'_>, &[Vec<u32>], &[usize]) -> Result<Vec<T>>,
    ) -> Result<Vec<Option<T>>> {
        let windows = Windows::new(texts, &self.tokenizer, &self.rules, ctx)?;
        let length = |window: usize| windows.windows[window].len();
        let mut order: Vec<usize> = (0..windows.windows.len()).collect();
        order.sort_by_key(|window| length(*window));
        let mut found: Vec<Option<T>> = texts.iter().map(|_| None).collect();
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let fits = |count: usize| {
                let width = length(rest[count - 1]);
                let tokens = (width + self.params.max_new_tokens).saturating_mul(count * rows.unwrap_or(1));
                let fills_up = self.encoder.is_some() || self.steps.fills_up() || width == length(*first);
                rows.is_some() && fills_up && tokens <= self.budget
            };
            let count = (2..=rest.len()).take_while(|count| fits(*count)).last().unwrap_or(1);
            let (batch, others) = rest.split_at(count);
            rest = others;
            let lengths: Vec<usize> = batch.iter().map(|window| length(*window)).collect();
            let numbers: Vec<usize> = batch.iter().map(|window| windows.windows[*window].text).collect();
            let (sources, prompts) = match (&mut self.encoder, self.begin) {
                (Some(SourceReader { model, states }), Some(begin)) => {
                    let shape = [count, lengths.iter().copied().max().unwrap_or(0)];
                    let states =
                        model.run(&windows, batch, shape, &[], &[states], ctx, |out| Ok(out.get(states)?.kept()))?;
                    (Some(Sources { states, lengths }), vec![vec![begin]; count])
                }
                _ => (None, batch.iter().map(|window| windows.numbers(&windows.windows[*window]).to_vec()).collect()),
            };
            let mut steps = self.steps.steps(sources, ctx)?;
            for (number, one) in numbers.iter().zip(work(&mut steps, &prompts, &numbers)?) {
                found[*number] = Some(one);
            }
        }
        Ok(found)
    }

    fn texts(&self, found: Vec<FoundText>) -> Vec<Written> {
        let one = |found: FoundText| {
            let mut text = decoded(&self.tokenizer, &found.ids);
            cut_behind(&mut text, &self.params.stops);
            Written { text, ids: found.ids, score: found.score }
        };
        found.into_iter().map(one).collect()
    }

    /// Reads all again in each step, as for graphs that take no keys and values.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.steps.forget();
    }

    #[cfg(test)]
    pub(crate) fn remembers(&self) -> bool {
        self.steps.remembers()
    }
}

fn decoded(tokenizer: &Tokenizer, ids: &[u32]) -> String {
    tokenizer.subword().map(|subword| subword.decode(ids)).unwrap_or_default()
}

/// Random numbers, a stream for each text that is drawn.
struct Streams {
    seed: u64,
    first: u64,
    streams: std::collections::BTreeMap<(usize, usize), ChaCha8Rng>,
}

impl Streams {
    fn next(&mut self, text: usize, number: usize) -> f64 {
        let stream = (self.first + text as u64).wrapping_mul(STREAMS).wrapping_add(number as u64);
        let begin = || {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(stream);
            random
        };
        self.streams.entry((text, number)).or_insert_with(begin).random()
    }
}

/// The files of a model that writes.
fn writing_files(params: &OnnxParams, base: &Path) -> Result<Files> {
    Ok(Files { wanted: Wanted::Writing, ..Files::new(params, base, &WRITERS)? })
}

/// The decoder of a folder, and the graph of its later steps where it is another.
fn decoder_in(folder: &Path, opening: &Opening<'_>) -> Result<(StepGraph, Option<StepGraph>)> {
    let file = Files::in_folder(folder, &DECODERS)?;
    let first = open_graph(&file, Wanted::Writing, opening)?;
    ensure!(
        first.roles.contains(&Role::EncoderStates),
        "{} 不接受 encoder_hidden_states：它不是解码器",
        "{} takes no encoder_hidden_states: it is no decoder",
        file.display()
    );
    let later = match file.ends_with(DECODERS[0]) {
        true => None,
        false => later_in(file.parent().unwrap_or(folder), opening)?,
    };
    Ok((first, later))
}

/// The graph of later steps in a folder, where there is one.
fn later_in(folder: &Path, opening: &Opening<'_>) -> Result<Option<StepGraph>> {
    let file = folder.join(LATER);
    if file.is_file() { open_graph(&file, Wanted::Writing, opening).map(Some) } else { Ok(None) }
}

fn open_graph(file: &Path, wanted: Wanted, opening: &Opening<'_>) -> Result<StepGraph> {
    let session = Session::open(file, wanted, opening.runtime, opening.device, opening.threads)?;
    let roles = roles(file, session.inputs())?;
    Ok(StepGraph { session, roles })
}

#[cfg(test)]
mod tests;
