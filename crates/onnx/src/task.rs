//! From the outputs of a window to its row.

use anyhow::{Context, Result};

use super::answers::{self, Answer, AnswerLogits, best_span};
use super::embedding::Embedding;
use super::entailment::{Entailment, stated_activation};
use super::family::{Config, Family};
use super::graph::output;
use super::heads;
use super::masked::LOGITS;
use super::params::{Activation, OnnxParams, Output, Over};
use super::session::{Given, Outputs, Session, no_output};
use super::settled::VectorRules;
use super::windows::{Window, Windows, places};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_text::subword::Subword;

/// Outputs of a model for a batch of windows.
#[derive(Clone, Copy)]
pub(crate) struct BatchOutputs<'a, 'r, 's> {
    pub(crate) outputs: &'a Outputs<'r, 's>,
    pub(crate) windows: &'a Windows,
    /// Numbers of the windows of the batch.
    pub(crate) batch: &'a [usize],
    /// Tokens of each row of the batch.
    pub(crate) width: usize,
    pub(crate) family: &'a Family,
}

pub(crate) enum Task {
    Embedding(Embedding),
    /// Probabilities of labels, or their logits.
    Scores {
        logits: String,
        labels: Vec<String>,
        activation: Activation,
        tone: Option<[usize; 2]>,
    },
    /// Probabilities of labels that hypotheses stand for.
    Entailment(Entailment),
    /// The best answer to a question, by the logits of its first and last token.
    Answer {
        starts: String,
        ends: String,
        longest: usize,
        threshold: Option<f64>,
    },
    /// Counts of entities by kind.
    Entities {
        logits: String,
        labels: Vec<String>,
        kinds: Vec<String>,
    },
    /// Weights of tokens for lexical matching, which make sparse rows.
    Weights {
        weights: String,
    },
    /// Surprise of a language model that reads from left to right.
    Surprise {
        logits: String,
    },
    /// Surprise of a discriminator (ELECTRA), which says of each token whether it took the place of another: one run for a text.
    ReplacedSurprise {
        logits: String,
    },
    /// Surprise of a masked language model, by hiding each token in turn: the pseudo-log-likelihood of Salazar et al. (2020).
    MaskedSurprise {
        logits: String,
        mask: u32,
    },
}

/// Labels that mean good and bad news, as models name them.
const GOOD: [&str; 8] = ["positive", "pos", "good", "bullish", "正面", "积极", "利好", "看多"];
const BAD: [&str; 8] = ["negative", "neg", "bad", "bearish", "负面", "消极", "利空", "看空"];

impl Task {
    /// `vectors` says how vectors are made, where these are read; `vocabulary` is that of models that read pieces or words.
    pub(crate) fn new(
        session: &Session,
        params: &OnnxParams,
        vectors: VectorRules,
        config: &Config,
        family: &Family,
        vocabulary: Option<&Subword>,
    ) -> Result<Task> {
        let outputs = session.outputs();
        match params.output {
            Output::Embedding => Ok(Task::Embedding(Embedding::new(session, &params.layers, vectors, config)?)),
            Output::Scores => {
                let port = output(outputs, &["logits", "output", "scores", NEXT_SENTENCE, SENTENCE_ORDER], 2);
                let port = port.with_context(|| {
                    no_output(
                        session,
                        Word("分类头的 logits [文档, 标签]", "logits [documents, labels] of a classification head"),
                    )
                })?;
                let mut labels = config.labels(usize::try_from(port.shape[1]).ok())?;
                ensure!(
                    !labels.is_empty(),
                    "{} 没有说明有多少标签：请在 config.json 的 id2label 中写明",
                    "{} does not say how many labels it has: name them in config.json under id2label",
                    session.path().display()
                );
                name_pair_labels(&mut labels, &port.name, config, family);
                if !params.labels.is_empty() {
                    let tone = tone_of(params.labels.keys().map(String::as_str));
                    return Ok(Task::Entailment(Entailment::new(session, params, &port.name, &labels, tone)?));
                }
                let multi = config.problem_type.as_deref() == Some("multi_label_classification");
                let activation = match params.activation {
                    Activation::Auto => stated_activation(config).unwrap_or(if multi || labels.len() == 1 {
                        Activation::Sigmoid
                    } else {
                        Activation::Softmax
                    }),
                    asked => asked,
                };
                let tone = tone_of(labels.iter().map(String::as_str));
                Ok(Task::Scores { logits: port.name.clone(), labels, activation, tone })
            }
            Output::Answer => {
                let port = |names: &[&str]| output(outputs, names, 2).map(|port| port.name.clone());
                let found = port(&["start_logits", "output_s"]).zip(port(&["end_logits", "output_e"]));
                let (starts, ends) = found.with_context(|| {
                    no_output(
                        session,
                        Word(
                            "问答头的 start_logits 与 end_logits [文档, 词元]",
                            "start_logits and end_logits [documents, tokens] of a question answering head",
                        ),
                    )
                })?;
                Ok(Task::Answer { starts, ends, longest: params.max_answer, threshold: params.no_answer })
            }
            Output::Entities => {
                let port = output(outputs, &["logits"], 3);
                let port = port.with_context(|| {
                    no_output(
                        session,
                        Word(
                            "词元分类头的 logits [文档, 词元, 标签]",
                            "logits [documents, tokens, labels] of a token classification head",
                        ),
                    )
                })?;
                let labels = config.labels(usize::try_from(port.shape[2]).ok())?;
                let mut kinds: Vec<String> =
                    labels.iter().filter_map(|label| heads::kind_of(label)).map(str::to_owned).collect();
                kinds.sort();
                kinds.dedup();
                ensure!(
                    !kinds.is_empty(),
                    "{} 的标签没有指明实体：请在 config.json 的 id2label 中写成 B-ORG、I-ORG 之类",
                    "the labels of {} name no entities: write them in config.json under id2label, as B-ORG and I-ORG",
                    session.path().display()
                );
                Ok(Task::Entities { logits: port.name.clone(), labels, kinds })
            }
            Output::Weights => {
                let port = output(outputs, &["sparse_vecs"], 3).filter(|port| port.shape[2] == 1);
                let port = port.with_context(|| {
                    no_output(
                        session,
                        Word(
                            "词元权重（sparse_vecs [文档, 词元, 1]）",
                            "weights of tokens (sparse_vecs [documents, tokens, 1])",
                        ),
                    )
                })?;
                ensure!(
                    vocabulary.is_some(),
                    "{} 以字为单位阅读，而权重属于子词",
                    "{} reads characters, and weights are of pieces",
                    session.path().display()
                );
                Ok(Task::Weights { weights: port.name.clone() })
            }
            Output::Surprise => {
                if let Some(port) = output(outputs, &["logits"], 2).filter(|_| config.class() == DISCRIMINATOR) {
                    return Ok(Task::ReplacedSurprise { logits: port.name.clone() });
                }
                let port = output(outputs, &LOGITS, 3);
                let port = port.with_context(|| {
                    no_output(
                        session,
                        Word(
                            "语言模型的 logits [文档, 词元, 词表]",
                            "logits [documents, tokens, vocabulary] of a language model",
                        ),
                    )
                })?;
                let logits = port.name.clone();
                if family.causal {
                    return Ok(Task::Surprise { logits });
                }
                let masked = vocabulary.and_then(|words| Some((words.mask_id()?, words.size())));
                let (mask, size) = masked.with_context(|| {
                    message!("output = \"surprise\" 用于 GPT-2 之类从左到右阅读的模型，以及掩码模型；config.json 称 {} 为 {:?}，而其分词器没有掩码词元", "output = \"surprise\" is for models that read from left to right, as GPT-2, and for masked ones; config.json calls {} {:?}, and its tokenizer has no mask token", session.path().display(),
                        family.name)
                })?;
                let width = usize::try_from(port.shape[2]).unwrap_or(usize::MAX);
                ensure!(
                    width >= size,
                    "{} 的 logits 对应 {width} 个标签，而不是其词表的 {size} 个词元：它不是语言模型",
                    "the logits of {} are of {width} labels and not of the {size} tokens of its vocabulary: it is no language model",
                    session.path().display()
                );
                Ok(Task::MaskedSurprise { logits, mask })
            }
        }
    }

    /// The outputs that it reads.
    pub(crate) fn wanted(&self) -> Vec<&str> {
        match self {
            Task::Embedding(embedding) => embedding.wanted(),
            Task::Entailment(entailment) => vec![&entailment.logits],
            Task::Answer { starts, ends, .. } => vec![starts, ends],
            Task::Weights { weights } => vec![weights],
            Task::Scores { logits, .. }
            | Task::Entities { logits, .. }
            | Task::Surprise { logits }
            | Task::ReplacedSurprise { logits }
            | Task::MaskedSurprise { logits, .. } => vec![logits],
        }
    }

    /// Columns of a row; for vectors their number says it.
    pub(crate) fn columns(&self) -> Vec<String> {
        match self {
            Task::Embedding(embedding) => inkstone_models::component_names(embedding.dim),
            Task::Scores { labels, tone, .. } | Task::Entailment(Entailment { labels, tone, .. }) => {
                tone.iter().map(|_| "tone".to_owned()).chain(labels.iter().cloned()).collect()
            }
            Task::Entities { kinds, .. } => kinds.clone(),
            Task::Weights { .. } => Vec::new(),
            Task::Surprise { .. } | Task::ReplacedSurprise { .. } | Task::MaskedSurprise { .. } => {
                vec!["surprise".into(), "tokens".into()]
            }
            Task::Answer { .. } => answers::COLUMNS.map(str::to_owned).to_vec(),
        }
    }

    /// The rows of the windows of a batch, in their order.
    pub(crate) fn rows(&self, read: BatchOutputs<'_, '_, '_>, ctx: &Ctx) -> Result<Vec<f32>> {
        let BatchOutputs { outputs, windows, batch, width, family } = read;
        let mut rows = Vec::new();
        let window = |number: usize| &windows.windows[number];
        match self {
            Task::Embedding(embedding) => return embedding.rows(read, ctx),
            Task::Scores { logits, labels, activation, tone } => {
                let given = outputs.get(logits)?;
                expect(&given, logits, 1, labels.len())?;
                for i in 0..batch.len() {
                    let mut values = given.values[i * labels.len()..(i + 1) * labels.len()].to_vec();
                    match activation {
                        Activation::Sigmoid => heads::sigmoid(&mut values),
                        Activation::Identity => {}
                        Activation::Softmax | Activation::Auto => heads::softmax(&mut values),
                    }
                    rows.extend(tone.map(|[good, bad]| values[good] - values[bad]));
                    rows.extend(values);
                }
            }
            Task::Entailment(entailment) => {
                let (given, classes) = (outputs.get(&entailment.logits)?, entailment.classes);
                expect(&given, &entailment.logits, 1, classes)?;
                for (i, &number) in batch.iter().enumerate() {
                    let logits = &given.values[i * classes..(i + 1) * classes];
                    entailment.row(logits, window(number).pair, &mut rows);
                }
            }
            Task::Weights { .. } => bail!(
                "词元权重为稀疏的行，而所要的是稠密的",
                "weights of tokens are sparse rows, and dense ones are asked for"
            ),
            Task::Answer { .. } => {
                for answer in self.answers(read)? {
                    rows.extend(answer.map_or([f32::NAN; 4], |answer| answer.row(None)));
                }
            }
            Task::Entities { kinds, .. } => {
                for (&number, found) in batch.iter().zip(self.entities(read)?) {
                    // Entities that the window before has read are counted there.
                    let before = windows.read_before(number);
                    let new = || found.iter().filter(|entity| entity.range.start >= before);
                    rows.extend(kinds.iter().map(|kind| new().filter(|entity| entity.label == *kind).count() as f32));
                }
            }
            Task::Surprise { logits } => {
                let given = outputs.get(logits)?;
                let words = *given.shape.last().context(Word("logits 应对应词表", "logits have a vocabulary"))?;
                for (i, &number) in batch.iter().enumerate() {
                    let real = places(window(number), width, family.left, family.cls_last).real;
                    let numbers = windows.numbers(window(number));
                    let mut bits = 0.0f64;
                    for token in 1..numbers.len() {
                        let at = (i * width + real.start + token - 1) * words;
                        bits -= heads::log_softmax_of(&given.values[at..at + words], numbers[token] as usize);
                    }
                    let tokens = numbers.len().saturating_sub(1);
                    let mean = if tokens == 0 { f64::NAN } else { bits / std::f64::consts::LN_10 / tokens as f64 };
                    rows.extend([mean as f32, tokens as f32]);
                }
            }
            Task::ReplacedSurprise { logits } => {
                let given = outputs.get(logits)?;
                expect(&given, logits, 1, width)?;
                for (i, &number) in batch.iter().enumerate() {
                    let text = places(window(number), width, family.left, family.cls_last).text;
                    let logits = &given.values[i * width..(i + 1) * width];
                    // The probability of an original token is 1 / (1 + exp(logit)).
                    let bits = text.clone().map(|token| {
                        let logit = f64::from(logits[token]);
                        logit.max(0.0) + (-logit.abs()).exp().ln_1p()
                    });
                    let (bits, tokens) = (bits.sum::<f64>() / std::f64::consts::LN_10, text.count());
                    rows.extend([(bits / tokens as f64) as f32, tokens as f32]);
                }
            }
            Task::MaskedSurprise { logits, .. } => {
                let given = outputs.get(logits)?;
                let words = *given.shape.last().context(Word("logits 应对应词表", "logits have a vocabulary"))?;
                for (i, &number) in batch.iter().enumerate() {
                    let window = window(number);
                    let token = window.masked.context(Word("有窗口没有遮盖任何词元", "a window hides no token"))?;
                    let real = places(window, width, family.left, family.cls_last).real;
                    let at = (i * width + real.start + token) * words;
                    let hidden = windows.numbers(window)[token] as usize;
                    ensure!(
                        hidden < words,
                        "{logits} 每个词元有 {words} 个值，而词表有词元 {hidden}",
                        "{logits} has {words} values a token, and the vocabulary has a token {hidden}"
                    );
                    let bits = -heads::log_softmax_of(&given.values[at..at + words], hidden);
                    rows.extend([(bits / std::f64::consts::LN_10) as f32, 1.0]);
                }
            }
        }
        Ok(rows)
    }

    /// The entities of each window of a batch; none where it reads no entities.
    pub(crate) fn entities(&self, read: BatchOutputs<'_, '_, '_>) -> Result<Vec<Vec<heads::Entity>>> {
        let BatchOutputs { outputs, windows, batch, width, family } = read;
        let Task::Entities { logits, labels, .. } = self else { return Ok(Vec::new()) };
        let given = outputs.get(logits)?;
        expect(&given, logits, 2, labels.len())?;
        let of_window = |(i, &number): (usize, &usize)| {
            let window = &windows.windows[number];
            let tags = tags(&given, i, width, window, family, labels.len());
            let (offsets, inside) = (windows.offsets(window), windows.inside(window));
            heads::entities(&tags, labels, &offsets[window.inner.clone()], &inside[window.inner.clone()])
        };
        Ok(batch.iter().enumerate().map(of_window).collect())
    }

    /// The best answer of each window of a batch; none where it gives no answers.
    pub(crate) fn answers(&self, read: BatchOutputs<'_, '_, '_>) -> Result<Vec<Option<Answer>>> {
        let BatchOutputs { outputs, windows, batch, width, family } = read;
        let Task::Answer { starts, ends, longest, .. } = self else { return Ok(Vec::new()) };
        let (starts, ends) = (outputs.get(starts)?, outputs.get(ends)?);
        for given in [&starts, &ends] {
            ensure!(
                given.shape.get(1) == Some(&width),
                "答案的 logits 形状为 {:?}，而不是 [文档, {width}]",
                "logits of answers have the shape {:?}, not [documents, {width}]",
                given.shape
            );
        }
        let of_window = |(i, &number): (usize, &usize)| {
            let window = &windows.windows[number];
            let places = places(window, width, family.left, family.cls_last);
            let (offsets, inside) = (windows.offsets(window), windows.inside(window));
            let logits = AnswerLogits {
                starts: &starts.values[i * width..(i + 1) * width],
                ends: &ends.values[i * width..(i + 1) * width],
                document: places.text,
                class: places.cls,
                offsets: &offsets[window.inner.clone()],
                inside: &inside[window.inner.clone()],
            };
            best_span(&logits, *longest, windows.text(window))
        };
        Ok(batch.iter().enumerate().map(of_window).collect())
    }

    /// The row of a document of those of its windows, in order.
    pub(crate) fn combine(&self, windows: &[&[f32]], over: Over, row: &mut [f32]) {
        let [first, others @ ..] = windows else { return row.fill(f32::NAN) };
        row.copy_from_slice(first);
        match self {
            // Entities add up, and a long window weighs as many tokens as it has.
            Task::Entities { .. } => {
                others.iter().for_each(|other| row.iter_mut().zip(*other).for_each(|(sum, value)| *sum += value))
            }
            Task::Surprise { .. } | Task::ReplacedSurprise { .. } | Task::MaskedSurprise { .. } => {
                let spoken = windows.iter().filter(|window| window[1] > 0.0);
                let [mut bits, mut tokens] = [0.0f64; 2];
                spoken.for_each(|window| {
                    bits += f64::from(window[0]) * f64::from(window[1]);
                    tokens += f64::from(window[1]);
                });
                row.copy_from_slice(&[if tokens > 0.0 { (bits / tokens) as f32 } else { f32::NAN }, tokens as f32]);
            }
            Task::Entailment(entailment) => entailment.combine(windows, over, row),
            // They are joined as sparse rows.
            Task::Weights { .. } => {}
            Task::Answer { threshold, .. } => {
                let answer = |row: &&[f32]| Answer {
                    range: 0..0,
                    score: row[0],
                    null: row[1],
                    number: Some(f64::from(row[2])),
                    logit: row[3],
                };
                if let Some(best) = windows.iter().map(answer).reduce(Answer::better) {
                    row.copy_from_slice(&best.row(*threshold));
                }
            }
            Task::Embedding(_) | Task::Scores { .. } => match over {
                Over::First => {}
                Over::Mean => {
                    others.iter().for_each(|other| row.iter_mut().zip(*other).for_each(|(sum, value)| *sum += value));
                    row.iter_mut().for_each(|sum| *sum /= windows.len() as f32);
                }
                Over::Max => others.iter().for_each(|other| {
                    row.iter_mut().zip(*other).for_each(|(most, &value)| {
                        if value > *most || value.is_nan() {
                            *most = value;
                        }
                    });
                }),
            },
        }
        if let Task::Embedding(embedding) = self
            && embedding.normalise
        {
            let length = row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            row.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
    }
}

/// The class of transformers whose logits tell tokens that took the place of others.
const DISCRIMINATOR: &str = "ElectraForPreTraining";
/// Names that exports give to the logits of next-sentence prediction and of sentence order.
const NEXT_SENTENCE: &str = "seq_relationship_logits";
const SENTENCE_ORDER: &str = "sop_logits";

/// Names the two classes of next-sentence prediction (BERT) and sentence order (ALBERT), which config.json leaves unnamed.
fn name_pair_labels(labels: &mut [String], port: &str, config: &Config, family: &Family) {
    let class = config.class();
    let is_head = [NEXT_SENTENCE, SENTENCE_ORDER].contains(&port) || class.ends_with("ForNextSentencePrediction");
    let unnamed = |label: &String| label.to_lowercase().starts_with("label_");
    if let ([first, second], true) = (&mut *labels, is_head)
        && unnamed(first)
        && unnamed(second)
    {
        let order = port == SENTENCE_ORDER || family.name == "albert";
        [*first, *second] = if order { ["ordered", "swapped"] } else { ["next", "random"] }.map(str::to_owned);
    }
}

/// The places of the labels that mean good and bad news, where there are both.
fn tone_of<'l>(labels: impl Iterator<Item = &'l str> + Clone) -> Option<[usize; 2]> {
    let named = |names: [&str; 8]| labels.clone().position(|label| names.contains(&label.to_lowercase().as_str()));
    named(GOOD).zip(named(BAD)).map(|(good, bad)| [good, bad])
}

/// The logits of each token of a window's text.
fn tags(given: &Given<'_>, i: usize, width: usize, window: &Window, family: &Family, labels: usize) -> Vec<Vec<f32>> {
    let text = places(window, width, family.left, family.cls_last).text;
    text.map(|token| given.values[(i * width + token) * labels..][..labels].to_vec()).collect()
}

fn expect(given: &Given<'_>, name: &str, axis: usize, size: usize) -> Result<()> {
    ensure!(
        given.shape.get(axis) == Some(&size),
        "{name} 的形状为 {:?}，而 config.json 有 {size} 个标签",
        "{name} has the shape {:?}, and config.json names {size} labels",
        given.shape
    );
    Ok(())
}
