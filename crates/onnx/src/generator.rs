//! Text that a model writes: summaries by an encoder and a decoder (BART, MASS, T5), or what goes on from a text (GPT).
//!
//! An export has `encoder_model.onnx` and `decoder_model.onnx`, or one `model.onnx` that reads from left to right. A step reads all that was
//! written before again: graphs with a memory of it run too, given an empty one.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::architecture::Wanted;
use super::decode::{FoundText, NextToken, SearchParams, search};
use super::encoder::ENCODERS;
use super::files::Files;
use super::graph::{Hidden, Role, output, roles};
use super::model::{Model, Opening};
use super::params::OnnxParams;
use super::session::{Feed, Given, Ran, Session, no_output};
use super::windows::{WindowRules, Windows, WordCutter};
use inkstone_base::job::Ctx;
use inkstone_text::Truncation;

/// Names that exports give to the graph of a decoder.
const DECODERS: [&str; 1] = ["decoder_model.onnx"];

/// A model that writes, ready.
pub struct Generator {
    /// The encoder, or the whole model where there is one graph.
    model: Model,
    decoder: Option<Decoder>,
    logits: String,
    begin: Option<u32>,
    params: SearchParams,
    rules: WindowRules,
}

struct Decoder {
    session: Session,
    roles: Vec<Role>,
    /// The encoder's output that it reads.
    states: String,
}

/// A text that a model wrote.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Written {
    /// The text, without special tokens.
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
        let files = Files { wanted: Wanted::Words, ..Files::new(params, opening.base, &ENCODERS)? };
        let model = Model::open(&files, &|| Ok(WordCutter::Spaces), opening)?;
        let decoder = match output(model.session.outputs(), &["logits"], 3) {
            Some(_) => None,
            None => Some(Decoder::open(&files.folder, &model, opening)?),
        };
        let outputs = decoder.as_ref().map_or(model.session.outputs(), |decoder| decoder.session.outputs());
        let logits = output(outputs, &["logits"], 3).map(|port| port.name.clone());
        let writes = decoder.as_ref().map_or(&model.session, |decoder| &decoder.session);
        let logits = logits.with_context(|| no_output(writes, "logits [documents, tokens, vocabulary]"))?;
        let subword = model.tokenizer.subword().context("a model of characters writes no text")?;
        let mut search = search;
        if search.eos.is_empty() {
            let ends = model.config.eos_token_id.as_ref().map(super::family::Numbers::list);
            search.eos = ends.unwrap_or_else(|| subword.end_id().into_iter().collect());
        }
        search.forced_first = search.forced_first.or(model.config.forced_bos_token_id);
        search.forced_last = search.forced_last.or(model.config.forced_eos_token_id);
        let start = model.config.decoder_start_token_id.or(model.config.bos_token_id).or(subword.pad_id());
        let begin = decoder.as_ref().and(start);
        ensure!(
            decoder.is_none() || begin.is_some(),
            "config.json beside {} does not say what a decoder begins with (decoder_start_token_id)",
            files.model.display()
        );
        let places = model.family.limit.unwrap_or(usize::MAX);
        // A model that continues a text needs positions for the tokens that it writes.
        let room = if decoder.is_some() { places } else { places.saturating_sub(search.max_new_tokens) };
        let asked = if params.max_tokens == 0 { usize::MAX } else { params.max_tokens };
        ensure!(room > 0, "{} new tokens leave no place for the text: the model has {places}", search.max_new_tokens);
        let rules =
            WindowRules { truncation, limit: room.min(asked), stride: 0, bare: decoder.is_none(), prompt: None };
        Ok(Generator { model, decoder, logits, begin, params: search, rules })
    }

    pub fn ran(&self) -> &Ran {
        self.decoder.as_ref().map_or(self.model.session.ran(), |decoder| decoder.session.ran())
    }

    /// The texts that the model writes from a text, the best first; none for an empty text.
    pub fn write(&mut self, text: &str, ctx: &Ctx) -> Result<Vec<Written>> {
        let tokenizer = self.model.tokenizer.clone();
        let windows = Windows::new(&[text], &tokenizer, &self.rules, ctx)?;
        let Some(window) = windows.windows.first() else { return Ok(Vec::new()) };
        let Some(decoder) = &mut self.decoder else { return self.follow(windows.numbers(window), ctx) };
        let (states, shape) = (decoder.states.clone(), [1, window.len()]);
        let given =
            self.model.run(&windows, &[0], shape, &[], &[&states], ctx, |outputs| Ok(outputs.get(&states)?.kept()))?;
        let begin = self.begin.context("a decoder begins with a token")?;
        let mut next = FromStates { decoder, states: given, logits: &self.logits, ctx };
        let found = search(&mut next, &[begin], &self.params)?;
        Ok(self.texts(found))
    }

    /// Continuations of these tokens by a model that reads from left to right, the best first.
    pub fn follow(&mut self, numbers: &[u32], ctx: &Ctx) -> Result<Vec<Written>> {
        let mut next = Onwards { model: &mut self.model, logits: &self.logits, ctx };
        let found = search(&mut next, numbers, &self.params)?;
        Ok(self.texts(found))
    }

    fn texts(&self, found: Vec<FoundText>) -> Vec<Written> {
        let text = |ids: &[u32]| self.model.tokenizer.subword().map(|subword| subword.decode(ids)).unwrap_or_default();
        found.into_iter().map(|found| Written { text: text(&found.ids), ids: found.ids, score: found.score }).collect()
    }
}

impl Decoder {
    fn open(folder: &Path, encoder: &Model, opening: &Opening<'_>) -> Result<Decoder> {
        let file = Files::in_folder(folder, &DECODERS)?;
        let session = Session::open(&file, opening.runtime, opening.device, opening.threads)?;
        let roles = roles(&file, session.inputs())?;
        ensure!(
            roles.contains(&Role::EncoderStates),
            "{} takes no encoder_hidden_states: it is no decoder",
            file.display()
        );
        let states = Hidden::last(encoder.session.outputs());
        let states = states.with_context(|| no_output(&encoder.session, "vectors of tokens for the decoder"))?;
        Ok(Decoder { session, roles, states })
    }
}

/// Next tokens of a text and of its continuation so far.
struct Onwards<'a> {
    model: &'a mut Model,
    logits: &'a str,
    ctx: &'a Ctx,
}

impl NextToken for Onwards<'_> {
    fn next(&mut self, prefixes: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let feeds = feeds(&self.model.session, &self.model.roles, prefixes, None)?;
        let logits = self.logits;
        self.model.session.run(feeds, &[logits], self.ctx, |outputs| last(&outputs.get(logits)?))
    }
}

/// Next tokens by a decoder that reads an encoder's vectors.
struct FromStates<'a> {
    decoder: &'a mut Decoder,
    states: Given<'static>,
    logits: &'a str,
    ctx: &'a Ctx,
}

impl NextToken for FromStates<'_> {
    fn next(&mut self, prefixes: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let feeds = feeds(&self.decoder.session, &self.decoder.roles, prefixes, Some(&self.states))?;
        let logits = self.logits;
        self.decoder.session.run(feeds, &[logits], self.ctx, |outputs| last(&outputs.get(logits)?))
    }
}

/// The inputs of a step: rows of one length, each with the same vectors of an encoder.
fn feeds(session: &Session, roles: &[Role], rows: &[Vec<u32>], states: Option<&Given<'_>>) -> Result<Vec<Feed>> {
    let (count, width) = (rows.len(), rows.first().map_or(0, Vec::len));
    ensure!(rows.iter().all(|row| row.len() == width), "the rows of a step have one length");
    let constant = |value: i64| Feed::Integers(vec![count, width], vec![value; count * width]);
    let feed = |(role, port): (&Role, &super::session::Port)| {
        let size =
            |axis: usize| usize::try_from(port.shape[axis]).with_context(|| format!("{port} does not say its sizes"));
        Ok(match role {
            Role::Ids => Feed::Integers(vec![count, width], rows.iter().flatten().map(|&id| i64::from(id)).collect()),
            Role::Mask => constant(1),
            Role::Types | Role::Tasks => constant(0),
            Role::Positions => Feed::Integers(vec![count, width], (0..count).flat_map(|_| 0..width as i64).collect()),
            Role::Past => Feed::Floats(vec![count, size(1)?, 0, size(3)?], Vec::new()),
            Role::UsePast => Feed::Integers(vec![1], vec![0]),
            Role::EncoderStates => {
                let states = states.context("a decoder reads the vectors of an encoder")?;
                Feed::Floats([&[count], &states.shape[1..]].concat(), states.values.repeat(count))
            }
            Role::EncoderMask => {
                let tokens = states.context("a decoder reads the vectors of an encoder")?.shape[1];
                Feed::Integers(vec![count, tokens], vec![1; count * tokens])
            }
            Role::Characters | Role::PairMask | Role::Memory(_) => bail!("{port} is no input of a model that writes"),
        })
    };
    roles.iter().zip(session.inputs()).map(feed).collect()
}

/// The logits behind the last token of each row.
fn last(given: &Given<'_>) -> Result<Vec<Vec<f32>>> {
    let [rows, tokens, words] = given.shape[..] else { bail!("logits have the shape {:?}", given.shape) };
    let row = |row: usize| given.values[(row * tokens + tokens - 1) * words..][..words].to_vec();
    Ok((0..rows).map(row).collect())
}
