//! Parts of speech, keywords and new words, with Python's jieba and a plain Python counter of n-grams as peers.
//!
//! `cargo bench --bench keywords [-- FILE]` reads a document a line from FILE, or makes 2 MiB of text. With `PYTHON=python3` (which has
//! jieba) the peers run on the same file in the same rounds, a twentieth of it where they are slow; speeds are bytes per second of
//! wall time, medians over the rounds, and ratios medians of the ratios.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::keywords::{self, Extractor, KeywordParams, Method};
use inkstone_features::standalone::{CutSpec, LineFormat, Lines, newwords};
use inkstone_models::NewWordParams;
use inkstone_text::{Segmenter, TokenizerParams};
use rand::prelude::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

const ROUNDS: usize = 3;
/// The share of the text that the Python peers read.
const SHARE: usize = 20;

/// Prints the seconds that the task named by the first argument takes on the file named by the second.
const PEER: &str = r#"
import math, re, sys, time
from collections import Counter, defaultdict
import jieba, jieba.analyse, jieba.posseg
jieba.setLogLevel(60)
jieba.lcut("预热"), jieba.posseg.lcut("预热")
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()

def new_words(longest=5, least=10):
    counts, left, right, total = Counter(), defaultdict(Counter), defaultdict(Counter), 0
    for line in lines:
        for run in re.findall("[\u4e00-\u9fff]+", line):
            total += len(run)
            for i in range(len(run)):
                for j in range(i + 1, min(i + longest, len(run)) + 1):
                    counts[run[i:j]] += 1
                    left[run[i:j]][run[i - 1 : i]] += 1
                    right[run[i:j]][run[j : j + 1]] += 1
    def entropy(sides):
        n = sum(sides.values())
        return -sum(c / n * math.log(c / n) for c in sides.values())
    def pmi(word, n):
        return min(math.log(n * total / counts[word[:k]] / counts[word[k:]]) for k in range(1, len(word)))
    words = [(w, n) for w, n in counts.items() if n >= least and len(w) > 1]
    return [w for w, n in words if pmi(w, n) >= 4 and min(entropy(left[w]), entropy(right[w])) >= 1]

tasks = {
    "tag": lambda: [jieba.posseg.lcut(line) for line in lines],
    "textrank": lambda: [jieba.analyse.textrank(line, withWeight=True) for line in lines],
    "tfidf": lambda: [jieba.analyse.extract_tags(line, withWeight=True) for line in lines],
    "newwords": new_words,
}
began = time.perf_counter()
tasks[sys.argv[1]]()
print(time.perf_counter() - began)
"#;

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let file = std::env::args().skip(1).find(|arg| arg != "--bench");
    let dir = tempfile::tempdir()?;
    let path = match file {
        Some(path) => PathBuf::from(path),
        None => made_text(dir.path(), 2 << 20)?,
    };
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(!text.trim().is_empty(), "there is no text");
    let part = dir.path().join("part.txt");
    let some: Vec<&str> = text.lines().step_by(SHARE).collect();
    std::fs::write(&part, some.join("\n"))?;
    let (bytes, part_bytes) = (text.len() as f64, std::fs::metadata(&part)?.len() as f64);

    let ctx = Ctx::new(0, 1)?;
    let tokenizer = TokenizerParams::default();
    let cut = CutSpec::new(LineFormat::Text, tokenizer.clone());
    let segmenter = Segmenter::new(&tokenizer, Path::new(""))?;
    let open = || Lines::open(&path, LineFormat::Text);
    let out = dir.path().join("keywords.jsonl");
    let keywords = |params: KeywordParams| -> Result<()> {
        let mut extractor = Extractor::new(&cut, params, None, Path::new(""))?;
        if extractor.wants_counts() {
            extractor.count(&mut open()?, &ctx)?;
        }
        keywords::run(&mut open()?, &extractor, &out, Formulas::Keep, &ctx)?;
        Ok(())
    };
    type Task<'a> = (&'static str, Box<dyn Fn() -> Result<()> + 'a>);
    let tag = || {
        let tagged: usize = ctx.install(|| text.par_lines().map(|line| segmenter.tagged(line).len()).sum());
        ensure!(tagged > 0, "nothing was tagged");
        Ok(())
    };
    let tfidf = || keywords(KeywordParams { method: Method::Tfidf, ..KeywordParams::jieba(Method::Tfidf) });
    let find = || {
        newwords::find(open, &NewWordParams::default(), None, &tokenizer, Path::new(""), &ctx)?;
        Ok(())
    };
    let tasks: Vec<Task<'_>> = vec![
        ("tag", Box::new(tag)),
        ("textrank", Box::new(|| keywords(KeywordParams::jieba(Method::Textrank)))),
        ("tfidf", Box::new(tfidf)),
        ("newwords", Box::new(find)),
    ];
    println!("{:.1} MB, {} threads, median of {ROUNDS} rounds", bytes / 1e6, ctx.threads());
    let python = std::env::var("PYTHON").ok();
    for (name, run) in &tasks {
        let (mut speeds, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let began = Instant::now();
            run()?;
            let speed = bytes / 1e6 / began.elapsed().as_secs_f64();
            speeds.push(speed);
            if let Some(python) = &python {
                ratios.push(speed / (part_bytes / 1e6 / peer(python, name, &part)?));
            }
        }
        let against = if ratios.is_empty() { String::new() } else { format!("{:>7.1} x Python", median(ratios)) };
        println!("{:>8.1} MB/s {against}  {name}", median(speeds));
    }
    Ok(())
}

/// Seconds that Python takes for a task.
fn peer(python: &str, task: &str, path: &Path) -> Result<f64> {
    let run = Command::new(python).args(["-c", PEER, task]).arg(path).output()?;
    ensure!(run.status.success(), "{python}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout)?.trim().parse().context("the peer prints its seconds")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A file of invented company news with names that no dictionary has.
fn made_text(folder: &Path, bytes: usize) -> Result<PathBuf> {
    const NAMES: &str = "云启智联瀚海微晟源华远精密拓佳恒科新锐";
    const BEFORE: [&str; 6] = ["近日，", "据了解，", "公告显示，", "分析师认为，", "截至昨日收盘，", "记者获悉，"];
    const AFTER: [&str; 8] = [
        "营业收入同比增长",
        "拟回购公司股份",
        "收到交易所问询函",
        "毛利率有所提升",
        "与下游客户签署合作协议",
        "控股股东减持股份",
        "新签订单大幅增加",
        "发布业绩预告",
    ];
    let characters: Vec<char> = NAMES.chars().collect();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let names: Vec<String> =
        (0..200).map(|_| (0..3).filter_map(|_| characters.choose(&mut random)).collect()).collect();
    let mut text = String::new();
    while text.len() < bytes {
        for _ in 0..random.random_range(3..12) {
            text.push_str(BEFORE.choose(&mut random).unwrap_or(&""));
            text.push_str(names.choose(&mut random).map_or("", String::as_str));
            text.push_str(AFTER.choose(&mut random).unwrap_or(&""));
            text.push('。');
        }
        text.push('\n');
    }
    let path = folder.join("text.txt");
    std::fs::write(&path, text)?;
    Ok(path)
}
