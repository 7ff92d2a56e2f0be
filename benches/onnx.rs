//! A contextual model against Python's onnxruntime on the same texts: a loop that sorts by length, and the usual one that fills up
//! every batch to the model's last place.
//!
//! `cargo bench --bench onnx -- MODEL TEXTS.jsonl [ROUNDS]` reads the folder of an export and lines with `text`; without them the
//! demonstration model reads made texts. With `PYTHON=python3` (which has onnxruntime and tokenizers) the peers run in turns with
//! ours; their tokenisation is not timed, ours is. Figures are medians over the rounds, ratios medians of the ratios. Two threads.
//! `cargo bench --bench onnx -- MODEL TEXTS.jsonl memory` runs once over all texts and tells the memory on the way.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use inkstone_base::job::Ctx;
use inkstone_onnx::{Device, Encoder, OnnxParams, Opening, Output, Runtime, WordCutter};
use inkstone_text::Truncation;
use peer::Peer;
use serde_json::Value;

mod peer;

const THREADS: usize = 2;

/// Reads `sorted` or `naive` a line; answers seconds and the sum of the logits.
const PEER: &str = r#"
import json, sys, time
import numpy as np, onnxruntime as ort
from tokenizers import Tokenizer
folder, path = sys.argv[1:3]
tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
tokenizer.enable_truncation(512)
ids = [e.ids for e in tokenizer.encode_batch([json.loads(l)["text"] for l in open(path, encoding="utf-8")])]
options = ort.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = 2, 1
session = ort.InferenceSession(folder + "/model.onnx", options, providers=["CPUExecutionProvider"])
print("ready", flush=True)
def run(batch, width):
    x = np.zeros((len(batch), width), dtype=np.int64)
    m = np.zeros_like(x)
    for i, row in enumerate(batch):
        x[i, :len(row)], m[i, :len(row)] = row, 1
    return session.run(["logits"], {"input_ids": x, "attention_mask": m, "token_type_ids": np.zeros_like(x)})[0]
for line in sys.stdin:
    naive = line.strip() == "naive"
    rows = ids if naive else sorted(ids, key=len)
    began, total = time.perf_counter(), 0.0
    for i in range(0, len(rows), 16):
        batch = rows[i:i + 16]
        total += float(run(batch, 512 if naive else max(map(len, batch))).sum())
    print(time.perf_counter() - began, total, flush=True)
"#;

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let dir = tempfile::tempdir()?;
    let model = args.first().map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/model"), PathBuf::from);
    let path = match args.get(1) {
        Some(path) => PathBuf::from(path),
        None => made(dir.path())?,
    };
    let texts = read(&path)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let runtime = Runtime::load(None)?;
    let opening = Opening { runtime, device: Device::Cpu, threads: THREADS, base: Path::new("") };
    let params = OnnxParams { model: model.clone(), output: Output::Scores, ..OnnxParams::default() };
    let mut encoder = Encoder::open(&params, Truncation::None, &|| Ok(WordCutter::Spaces), &opening)?;
    let ctx = Ctx::new(THREADS, 1)?;
    println!(
        "{} texts, {} ({THREADS} threads), {} MB with the model open",
        texts.len(),
        model.display(),
        resident_mb()
    );
    if args.get(2).is_some_and(|what| what == "memory") {
        return memory(&mut encoder, &texts, &ctx);
    }
    let rounds: usize = args.get(2).map_or(Ok(5), |rounds| rounds.parse()).context("rounds are a whole number")?;
    let python = std::env::var("PYTHON").ok();
    let start = |python: String| Peer::start(&python, PEER, &[model.as_os_str(), OsStr::new(&path)]);
    let mut peer = python.map(start).transpose()?;
    let (mut ours, mut sorted, mut naive, mut sums) = (Vec::new(), Vec::new(), Vec::new(), (0.0, 0.0));
    for _ in 0..rounds {
        let began = Instant::now();
        encoder.rows(&texts, &ctx, |_| Ok(()))?;
        ours.push(began.elapsed().as_secs_f64());
        if let Some(peer) = &mut peer {
            let (seconds, total) = peer.ask("sorted")?;
            sorted.push(seconds);
            sums.0 = total[0];
            let (seconds, total) = peer.ask("naive")?;
            naive.push(seconds);
            sums.1 = total[0];
        }
    }
    let speed = |seconds: &[f64]| texts.len() as f64 / median(seconds.to_vec());
    println!("{:>8.1} docs/s  ours, tokenisation included; {} MB", speed(&ours), resident_mb());
    for (name, seconds) in [("sorted by length", &sorted), ("filled up to 512", &naive)] {
        if !seconds.is_empty() {
            let ratios = ours.iter().zip(seconds).map(|(ours, theirs)| theirs / ours).collect();
            println!("{:>8.1} docs/s  Python, {name}: ours is {:.2} times as fast", speed(seconds), median(ratios));
        }
    }
    if peer.is_some() {
        println!("{:>8.1e} between the sums of the peers' logits", (sums.0 - sums.1).abs());
    }
    Ok(())
}

/// One run over all texts, told in twentieths.
fn memory(encoder: &mut Encoder, texts: &[&str], ctx: &Ctx) -> Result<()> {
    let began = Instant::now();
    let (mut done, mut told) = (0u64, 0u64);
    let (mut first, mut most) = (None, 0);
    for part in texts.chunks(4096) {
        let (rows, seen) = encoder.rows(part, ctx, |_| Ok(()))?;
        drop(rows);
        done += seen.texts;
        let now = resident_mb();
        let base = *first.get_or_insert(now);
        most = most.max(now);
        if done * 20 / texts.len() as u64 > told {
            told = done * 20 / texts.len() as u64;
            println!(
                "{done:>8} texts  {now} MB, {:+.1} % on the first {} texts",
                100.0 * (now as f64 / base as f64 - 1.0),
                part.len()
            );
        }
    }
    println!("{:>8.1} docs/s; {most} MB at most", texts.len() as f64 / began.elapsed().as_secs_f64());
    Ok(())
}

fn read(path: &Path) -> Result<Vec<String>> {
    let content = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = |line: &str| -> Result<String> {
        let line: Value = serde_json::from_str(line)?;
        Ok(line["text"].as_str().context("a line has a text")?.to_owned())
    };
    content.lines().map(text).collect()
}

/// Texts of many lengths.
fn made(folder: &Path) -> Result<PathBuf> {
    let sentences = ["公司订单大幅增长。", "净利润同比下降三成。", "控股股东拟回购股份。", "公司收到交易所问询函。"];
    let path = folder.join("texts.jsonl");
    let line = |i: usize| {
        let text: String = (0..1 + i * i % 23).map(|k| sentences[(i + k) % sentences.len()]).collect();
        format!("{{\"text\":\"{text}\"}}\n")
    };
    std::fs::write(&path, (0..512).map(line).collect::<String>())?;
    Ok(path)
}

/// Memory of this process in MB, where the system tells.
fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
