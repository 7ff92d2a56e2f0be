//! Training TextCNN and a bidirectional LSTM on short posts, against PyTorch: same texts, batches, optimiser and number of epochs.
//!
//! `PYTHON=path/to/python cargo bench --bench textnet` makes 16,000 posts of 8 to 60 words over 20,000 words, of three classes that some
//! of the words tell. Both sides train on two threads, in turn within each round; times are medians over the rounds. PyTorch pads the
//! posts of a batch to the longest and packs them for the LSTM. The share of right classes among 2,000 further posts shows that both
//! learn.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::time::Instant;

use anyhow::{Context, Result, bail};
use inkstone_base::job::Ctx;
use inkstone_models::Goal;
use inkstone_models::neural::FitParams;
use inkstone_models::textnet::{Examples, TextNet, TextNetKind, TextNetParams};
use peer::Peer;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

mod peer;

const ROUNDS: usize = 3;
const THREADS: usize = 2;
const EPOCHS: usize = 2;
const TRAINED: usize = 16_000;
const TESTED: usize = 2000;
const WORDS: usize = 20_000;
/// Words that only posts of one class have, for each class.
const TELLING: u32 = 200;

/// Trains the network that each line names; answers with the seconds and the share of right classes.
const PEER: &str = "
import sys, time
import numpy as np
import torch
from torch import nn
torch.set_num_threads(2)
lengths = np.fromfile(sys.argv[1], dtype=np.uint32).astype(np.int64)
tokens = np.fromfile(sys.argv[2], dtype=np.uint32).astype(np.int64)
classes = torch.from_numpy(np.fromfile(sys.argv[3], dtype=np.uint32).astype(np.int64))
trained, words, epochs = int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
texts = [torch.from_numpy(text) for text in np.split(tokens, np.cumsum(lengths)[:-1])]
padding = words + 1
class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.vectors = nn.Embedding(words + 2, 100, padding_idx=padding)
        self.filters = nn.ModuleList([nn.Conv1d(100, 100, width) for width in (3, 4, 5)])
        self.classes = nn.Linear(300, 3)
    def forward(self, batch, lengths):
        x = self.vectors(batch).transpose(1, 2)
        features = [torch.relu(f(x)).amax(2) for f in self.filters]
        return self.classes(nn.functional.dropout(torch.cat(features, 1), 0.5, self.training))
class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.vectors = nn.Embedding(words + 2, 100, padding_idx=padding)
        self.lstm = nn.LSTM(100, 100, bidirectional=True, batch_first=True)
        self.classes = nn.Linear(200, 3)
    def forward(self, batch, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.vectors(batch), lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, padding_value=-1e9)
        return self.classes(nn.functional.dropout(states.amax(1), 0.5, self.training))
def batch_of(numbers):
    some = [texts[i] for i in numbers]
    lengths = torch.tensor([len(text) for text in some])
    return nn.utils.rnn.pad_sequence(some, batch_first=True, padding_value=padding), lengths
print('ready', flush=True)
for line in sys.stdin:
    torch.manual_seed(1)
    model = (Cnn if line.strip() == 'textcnn' else Lstm)()
    began = time.perf_counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        order = torch.randperm(trained)
        for at in range(0, trained, 50):
            numbers = order[at:at + 50]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(*batch_of(numbers)), classes[numbers])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
    seconds = time.perf_counter() - began
    model.eval()
    with torch.no_grad():
        right = sum((model(*batch_of(range(at, min(at + 100, len(texts))))).argmax(1)
                     == classes[at:at + 100]).sum().item() for at in range(trained, len(texts), 100))
    print(seconds, right / (len(texts) - trained), flush=True)
";

fn main() -> Result<()> {
    let (documents, class) = made();
    let folder = tempfile::tempdir()?;
    let written = |name: &str, numbers: Vec<u32>| -> Result<std::path::PathBuf> {
        let path = folder.path().join(name);
        std::fs::write(&path, numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())?;
        Ok(path)
    };
    let lengths = written("lengths", documents.iter().map(|document| document.len() as u32).collect())?;
    let tokens = written("tokens", documents.concat())?;
    let classes = written("classes", class.clone())?;
    let numbers = [TRAINED, WORDS, EPOCHS].map(|number| number.to_string());
    let mut args = vec![lengths.as_os_str(), tokens.as_os_str(), classes.as_os_str()];
    args.extend(numbers.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
    let mut peer = std::env::var("PYTHON").ok().map(|python| Peer::start(&python, PEER, &args)).transpose()?;
    println!("{TRAINED} posts, {EPOCHS} epochs, {THREADS} threads, median of {ROUNDS} rounds");
    for kind in TextNetKind::ALL {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(train(kind, &documents, &class)?);
            if let Some(peer) = &mut peer {
                let (seconds, right) = peer.ask(kind.name())?;
                theirs.push((seconds, right.first().copied().context("the share of right classes")?));
            }
        }
        let mut ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| theirs.0 / ours.0).collect();
        ratios.sort_by(f64::total_cmp);
        let (seconds, right) = median(&mut ours)?;
        let beside = match median(&mut theirs) {
            Ok((peer, share)) => {
                format!(", PyTorch {peer:.2} s ({:.1} % right), {:.2}x", 100.0 * share, ratios[ROUNDS / 2])
            }
            Err(_) => String::new(),
        };
        println!("{:<8} {seconds:>6.2} s ({:.1} % right){beside}", kind.name(), 100.0 * right);
    }
    Ok(())
}

/// The words of each post, by number, and its class.
fn made() -> (Vec<Vec<u32>>, Vec<u32>) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut post = || {
        let class = random.random_range(0..3u32);
        let length = random.random_range(8..=60);
        let word = |_| {
            let uniform: f64 = random.random();
            match random.random_range(0..12) {
                0 => 1000 + class * TELLING + random.random_range(0..TELLING),
                // The logarithm of the rank is uniform: half of these words are among the 141 most frequent.
                _ => ((WORDS as f64).powf(uniform) - 1.0).min(WORDS as f64 - 1.0) as u32,
            }
        };
        ((0..length).map(word).collect::<Vec<u32>>(), class)
    };
    (0..TRAINED + TESTED).map(|_| post()).unzip()
}

/// Trains once; gives the seconds and the share of right classes among the posts after the trained ones.
fn train(kind: TextNetKind, documents: &[Vec<u32>], class: &[u32]) -> Result<(f64, f64)> {
    let names = ["down", "flat", "up"].map(str::to_owned).to_vec();
    let goal = Goal::Classes { class: class[..TRAINED].to_vec(), names };
    let examples = Examples { documents: documents[..TRAINED].to_vec(), goal };
    let fit = FitParams { epochs: EPOCHS, held_out_share: 0.0, ..TextNetParams::default().fit };
    let params = TextNetParams { kind, fit, ..TextNetParams::default() };
    let words = (0..WORDS).map(|number| number.to_string().into()).collect();
    let began = Instant::now();
    let net = TextNet::train(&examples, words, None, &params, None, &Ctx::new(THREADS, 1)?)?;
    let seconds = began.elapsed().as_secs_f64();
    let found = net.probabilities(&documents[TRAINED..])?;
    let likeliest = found.chunks(3).map(|p| (0..3).max_by(|&a: &usize, &b| p[a].total_cmp(&p[b])).unwrap_or(0));
    let right = likeliest.zip(&class[TRAINED..]).filter(|(found, class)| *found == **class as usize).count();
    Ok((seconds, right as f64 / TESTED as f64))
}

/// The run with the median of the seconds.
fn median(runs: &mut [(f64, f64)]) -> Result<(f64, f64)> {
    if runs.is_empty() {
        bail!("no run");
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(runs[runs.len() / 2])
}
