//! Training of encoders, against PyTorch with the classes of transformers: the same sizes, the same lengths, dropout and AdamW on both sides.
//!
//! `PYTHON=path/to/python cargo bench --bench encoder` trains a small encoder on masked words from nothing, a language model of 4 x 256, an encoder of
//! 4 x 312 on classes, and the last two layers of one of the size of BERT-base. Texts have 128 tokens, and 16 to 128 tokens, which PyTorch fills up. Both sides work on two threads, in
//! turn; figures are tokens a second, all epochs of a training together, so the layers below the trained ones count once here and in each
//! epoch there. An argument names the part that is run (`tiny`, `gpt`, `small`, `base`).

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::ops::Range;
use std::time::Instant;

use anyhow::Result;
use inkstone_base::job::Ctx;
use inkstone_models::Goal;
use inkstone_models::transformer::{
    BlockActivation, BlockKind, BlockShape, EncoderShape, FrozenStates, Goals, HeadForm, Masking, NormPlace,
    PooledActivation, TextGoal, TokenTexts, TrainedLayers, TrainingTexts, Transformer, TransformerParams,
};
use peer::Peer;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

mod peer;

const ROUNDS: usize = 3;
const THREADS: usize = 2;
const BATCH: usize = 16;
const EPOCHS: usize = 3;

/// A training that is timed.
struct Case {
    name: &'static str,
    layers: usize,
    width: usize,
    /// 0 for LSTM layers of one direction.
    heads: usize,
    vocabulary: usize,
    /// The last layers that are trained; all where it is 0.
    top: usize,
    target: Target,
    texts: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Classes,
    MaskedWords,
    /// Each token from those before it, by GPT-2's form or LSTMs.
    NextWords,
}

const CASES: [Case; 5] = [
    case("tiny", [2, 128, 2], 8000, Target::MaskedWords, 256),
    case("gpt", [4, 256, 4], 8000, Target::NextWords, 96),
    case("lstm", [2, 256, 0], 8000, Target::NextWords, 96),
    case("small", [4, 312, 12], 21128, Target::Classes, 96),
    Case { top: 2, ..case("base", [12, 768, 12], 21128, Target::Classes, 32) },
];

const fn case(
    name: &'static str,
    [layers, width, heads]: [usize; 3],
    vocabulary: usize,
    target: Target,
    texts: usize,
) -> Case {
    Case { name, layers, width, heads, vocabulary, top: 0, target, texts }
}

/// Trains on texts whose lengths a line names, behind the sizes; answers with the seconds.
const PEER: &str = "
import sys, time
import torch, transformers as hf
torch.set_num_threads(2)
hf.logging.set_verbosity_error()
print('ready', flush=True)
for line in sys.stdin:
    layers, width, heads, vocabulary, top, target, batch, epochs, *lengths = [int(n) for n in line.split()]
    lstm = heads == 0
    heads = heads or 1
    sizes = dict(vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, max_position_embeddings=128)
    config = hf.GPT2Config(**sizes) if target == 2 else hf.BertConfig(**sizes, intermediate_size=4 * width, num_labels=2)
    model = [hf.BertForSequenceClassification, hf.BertForMaskedLM, hf.GPT2LMHeadModel][target](config).train()
    if lstm:
        model = torch.nn.ModuleDict({'table': torch.nn.Embedding(vocabulary, width),
                                     'layers': torch.nn.LSTM(width, width, layers, batch_first=True, dropout=0.1)})
    if top:
        for part in [model.bert.embeddings, *model.bert.encoder.layer[:-top]]:
            part.requires_grad_(False)
    adam = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-4, weight_decay=0.01)
    began = time.perf_counter()
    for epoch in range(epochs):
        for first in range(0, len(lengths), batch):
            some = torch.tensor(lengths[first:first + batch])
            ids = torch.randint(5, vocabulary, (len(some), int(some.max())))
            mask = torch.arange(ids.shape[1])[None] < some[:, None]
            if target == 2:
                labels = torch.where(mask, ids, -100)
            elif target == 1:
                hidden = (torch.rand(ids.shape) < 0.15) & mask
                labels = torch.where(hidden, ids, -100)
                ids = torch.where(hidden, 4, ids)
            else:
                labels = torch.randint(0, 2, (len(some),))
            if lstm:
                states = model['layers'](model['table'](ids))[0][:, :-1][mask[:, 1:]]
                loss = torch.nn.functional.cross_entropy(states @ model['table'].weight.T, ids[:, 1:][mask[:, 1:]])
            else:
                loss = model(input_ids=ids, attention_mask=mask.long(), labels=labels).loss
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
    print(time.perf_counter() - began, flush=True)
";

fn train(case: &Case, lengths: &[usize], ctx: &Ctx) -> Result<f64> {
    let causal = case.target == Target::NextWords;
    let block = BlockShape {
        kind: BlockKind::Transformer,
        width: case.width,
        heads: case.heads,
        between: 4 * case.width,
        place: if causal { NormPlace::Before } else { NormPlace::After },
        causal,
        activation: if causal { BlockActivation::GeluTanh } else { BlockActivation::Gelu },
        epsilon: 1e-12,
    };
    let is_lstm = case.heads == 0;
    let block = if is_lstm { BlockShape::lstm(case.width, false) } else { block };
    let Case { layers, vocabulary, .. } = *case;
    let shape = EncoderShape {
        vocabulary,
        places: 128,
        first_place: 0,
        segments: if is_lstm { 0 } else { 2 },
        factor: None,
        layers,
        blocks: layers,
        block,
    };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let tokens: Vec<u32> = (0..lengths.iter().sum()).map(|_| rng.random_range(5..vocabulary as u32)).collect();
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end - length..*end)
    });
    let places: Vec<Range<usize>> = ends.collect();
    let (form, goals) = if causal {
        (HeadForm::Next, Goals::Next)
    } else if case.target == Target::MaskedWords {
        let masking = Masking {
            share: 0.15,
            mask: 4,
            vocabulary: vocabulary as u32,
            separator: None,
            spans: false,
            shuffled: 0.0,
        };
        (HeadForm::Words { activation: BlockActivation::Gelu }, Goals::Words(masking))
    } else {
        let class = (0..lengths.len()).map(|_| rng.random_range(0..2)).collect();
        let goal = Goal::Classes { class, names: vec!["0".into(), "1".into()] };
        (HeadForm::Text { goal: TextGoal::Classes(2), pooled: PooledActivation::Tanh }, Goals::Texts(goal))
    };
    let train = if case.top == 0 { TrainedLayers::All } else { TrainedLayers::Top(case.top) };
    let params = TransformerParams {
        train,
        epochs: EPOCHS,
        batch: BATCH,
        lr: 1e-4,
        held_out_share: 0.0,
        ..TransformerParams::default()
    };
    let begun = Transformer::random(shape, form, None, 1)?;
    let began = Instant::now();
    let frozen = FrozenStates::compute(&begun, &params, &tokens, &places, &std::env::temp_dir(), ctx)?;
    let texts = TokenTexts { tokens: &tokens, frozen: frozen.as_ref() };
    begun.train(&TrainingTexts { texts, places: &places, goals }, &params, None, ctx)?;
    Ok(began.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<()> {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut peer = std::env::var("PYTHON").ok().map(|python| Peer::start(&python, PEER, &[])).transpose()?;
    let ctx = Ctx::new(THREADS, 1)?;
    for case in CASES.iter().filter(|case| wanted.as_ref().is_none_or(|wanted| wanted == case.name)) {
        for mixed in [false, true] {
            let length = |i: usize| if mixed { 16 + i * 37 % 113 } else { 128 };
            let lengths: Vec<usize> = (0..case.texts).map(length).collect();
            let tokens = (EPOCHS * lengths.iter().sum::<usize>()) as f64;
            let sizes =
                [case.layers, case.width, case.heads, case.vocabulary, case.top, case.target as usize, BATCH, EPOCHS];
            let line = sizes.iter().chain(&lengths).map(usize::to_string).collect::<Vec<_>>().join(" ");
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                ours.push(train(case, &lengths, &ctx)?);
                theirs.extend(peer.as_mut().map(|peer| peer.ask(&line)).transpose()?.map(|(seconds, _)| seconds));
            }
            let lengths = if mixed { "16 to 128" } else { "128" };
            let ours = tokens / median(ours);
            print!("{} ({} x {}, texts of {lengths} tokens): {ours:.0} tokens/s", case.name, case.layers, case.width);
            match theirs.is_empty() {
                true => println!(" (no PyTorch)"),
                false => {
                    let theirs = tokens / median(theirs);
                    println!("; PyTorch {theirs:.0}, {:.2} times as fast", ours / theirs);
                }
            }
        }
    }
    Ok(())
}
