//! Segmentation on all threads against bare jieba-rs under rayon: same text, same dictionary, same cut.
//!
//! `cargo bench --bench segment [-- FILE]` reads a document a line from FILE, or makes 8 MiB of text. The runs of the contenders
//! alternate within each round, so that a busy machine slows them alike; speeds are medians over the rounds, and so are the
//! ratios, each of which compares two runs of one round. Then whole processes take turns: `inkstone tokenize`, and this program around
//! bare jieba-rs, which reads the text, cuts its lines on the same threads and writes the tokens with spaces between them.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use inkstone_base::job::Ctx;
use inkstone_text::{Cut, Cutting, Mode, Segmenter, TokenizeParams, TokenizerParams, tokenize_stream};
use rand::prelude::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

const ROUNDS: usize = 7;

/// Flag before the file that this program cuts with bare jieba-rs alone.
const BARE: &str = "--bare";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, file] = args.as_slice()
        && flag == BARE
    {
        return bare_program(file);
    }
    // Cargo adds `--bench` to what the user gives.
    let file = args.into_iter().find(|arg| arg != "--bench");
    let lines = match &file {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {path}"))?
            .lines()
            .map(str::to_owned)
            .collect(),
        None => made_text(8 << 20),
    };
    let bytes: usize = lines.iter().map(String::len).sum();
    ensure!(bytes > 0, "there is no text");
    let joined = lines.join("\n");

    let ctx = Ctx::new(0, 1)?;
    let params = TokenizerParams { finance_dictionary: false, ..TokenizerParams::default() };
    let words = Segmenter::new(&params, Path::new("."))?;
    let with_finance = Segmenter::new(&TokenizerParams::default(), Path::new("."))?;
    let full = words.recut(Mode::Jieba, Cut::Full);
    let characters = words.recut(Mode::Char, Cut::Precise);
    let bare = jieba_rs::Jieba::new();

    let count = |segmenter: &Segmenter| {
        ctx.install(|| lines.par_iter().map(|line| segmenter.tokens(line).len()).sum::<usize>())
    };
    type Contender<'a> = (&'static str, Box<dyn Fn() -> Result<usize> + 'a>);
    let contenders: Vec<Contender> = vec![
        (
            "bare jieba-rs, precise",
            Box::new(|| Ok(ctx.install(|| lines.par_iter().map(|line| bare.cut(line, true).len()).sum()))),
        ),
        ("tokens, precise", Box::new(|| Ok(count(&words)))),
        ("tokens, precise, finance dictionary", Box::new(|| Ok(count(&with_finance)))),
        ("terms, precise", Box::new(|| Ok(ctx.install(|| lines.par_iter().map(|line| words.terms(line).len()).sum())))),
        (
            "tokenize, text in and text out",
            Box::new(|| {
                let mut out = Vec::with_capacity(2 * bytes);
                let report = tokenize_stream(
                    joined.as_bytes(),
                    &mut out,
                    Cutting::Words(&words),
                    &TokenizeParams::default(),
                    None,
                    &ctx,
                )?;
                Ok(report.facts["tokens"].as_u64().context("no count of tokens")? as usize)
            }),
        ),
        (
            "bare jieba-rs, full",
            Box::new(|| Ok(ctx.install(|| lines.par_iter().map(|line| bare.cut_all(line).len()).sum()))),
        ),
        ("tokens, full", Box::new(|| Ok(count(&full)))),
        ("tokens, characters", Box::new(|| Ok(count(&characters)))),
    ];

    let mut seconds = vec![Vec::new(); contenders.len()];
    let mut tokens = vec![0; contenders.len()];
    for round in 0..=ROUNDS {
        for (i, (_, run)) in contenders.iter().enumerate() {
            let began = Instant::now();
            tokens[i] = run()?;
            // The first round warms up.
            if round > 0 {
                seconds[i].push(began.elapsed().as_secs_f64());
            }
        }
    }
    println!(
        "{} lines, {:.1} MB, {} threads, median of {ROUNDS} rounds",
        lines.len(),
        bytes as f64 / 1e6,
        ctx.threads()
    );
    for (i, (name, _)) in contenders.iter().enumerate() {
        let ratios = seconds[0].iter().zip(&seconds[i]).map(|(bare, ours)| bare / ours);
        println!(
            "{:>8.1} MB/s {:>6.2} of bare precise {:>12} tokens  {name}",
            bytes as f64 / 1e6 / median(seconds[i].clone()),
            median(ratios.collect()),
            tokens[i]
        );
    }
    whole_processes(&joined, ctx.threads())
}

/// Cuts the lines of a file and writes the tokens of each with spaces between them.
fn bare_program(file: &str) -> Result<()> {
    let text = fs::read_to_string(file)?;
    let jieba = jieba_rs::Jieba::new();
    let lines: Vec<&str> = text.lines().collect();
    let words = |line: &&str| jieba.cut(line, true).iter().map(|token| token.word).collect::<Vec<_>>().join(" ");
    let cut: Vec<String> = lines.par_iter().map(words).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in cut {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// Times `inkstone tokenize`, which knows the finance dictionary too, and a program around bare jieba-rs, each from its start to its end, on eight times the text.
fn whole_processes(text: &str, threads: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("text.txt");
    fs::write(&file, [text, "\n"].concat().repeat(8))?;
    let threads = threads.to_string();
    let bare = || {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(BARE).arg(&file).env("RAYON_NUM_THREADS", &threads);
        anyhow::Ok(command)
    };
    let own = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inkstone"));
        command.args(["tokenize", "--headless", "--threads", &threads]);
        command.stdin(File::open(&file)?);
        anyhow::Ok(command)
    };
    let seconds = |mut command: Command| {
        let began = Instant::now();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(status.success(), "{command:?} ended with {status}");
        anyhow::Ok(began.elapsed().as_secs_f64())
    };
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        let both = (seconds(bare()?)?, seconds(own()?)?);
        if round > 0 {
            rounds.push(both);
        }
    }
    let bytes = fs::metadata(&file)?.len();
    println!(
        "whole processes, {:.1} MB: bare jieba-rs {:.2} s, inkstone tokenize {:.2} s: {:.2} of bare",
        bytes as f64 / 1e6,
        median(rounds.iter().map(|round| round.0).collect()),
        median(rounds.iter().map(|round| round.1).collect()),
        median(rounds.iter().map(|round| round.0 / round.1).collect())
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lines of invented company news, of 5 to 40 clauses, until there are `bytes`.
fn made_text(bytes: usize) -> Vec<String> {
    const WHO: [&str; 8] = ["华远精密", "公司", "云启智联", "控股股东", "董事会", "瀚海微电子", "该项目", "海外子公司"];
    const WHEN: [&str; 7] = ["上半年", "报告期内", "去年同期", "2023年第三季度", "近日", "未来三年", "年初以来"];
    const WHAT: [&str; 12] = [
        "营业收入同比增长",
        "归母净利润环比下降",
        "毛利率提升至",
        "研发投入占比达到",
        "新签订单金额约为",
        "经营性现金流净额为",
        "产能利用率维持在",
        "拟以集中竞价方式回购股份",
        "收到交易所下发的问询函",
        "与下游客户签署战略合作协议",
        "受原材料价格上涨影响盈利能力承压",
        "计划向特定对象发行股票募集资金",
    ];
    const HOW_MUCH: [&str; 6] = ["12.5%", "三成以上", "8000万元", "约4.2亿元", "百分之十五", "ETF份额的1/3"];
    const MARK: [&str; 5] = ["，", "。", "；", "，", "。"];
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut lines, mut made) = (Vec::new(), 0);
    while made < bytes {
        let mut line = String::new();
        for _ in 0..random.random_range(5..40) {
            for part in [&WHO[..], &WHEN, &WHAT, &HOW_MUCH, &MARK] {
                line.push_str(part.choose(&mut random).unwrap_or(&""));
            }
        }
        made += line.len();
        lines.push(line);
    }
    lines
}
