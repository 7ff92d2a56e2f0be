//! Sentences, sections, and boilerplate learned from a corpus, on one core, with a regular expression of Python as the peer of the first.
//!
//! `cargo bench --bench structure [-- FILE]` reads a document a line from FILE, or makes 8 MB of reports. With `PYTHON=python3` the peer
//! cuts the same text in the same rounds, at the marks that end sentences, without regard to quotes, numbers and lists. Speeds are
//! bytes of text per second of wall time, medians over the rounds. The learning reads and writes Parquet: it is the whole stage
//! without salience, and then with.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use chrono::{Duration, NaiveDateTime};
use inkstone_base::data::{Document, Kind};
use inkstone_base::job::Ctx;
use inkstone_corpus::clean;
use inkstone_corpus::structure::{self, Measure, outline};
use inkstone_tables::corpus::{PART_ROWS, Parts, documents_to_frame};
use inkstone_text::{TokenizerParams, sentences};
use rand::prelude::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ROUNDS: usize = 3;

/// Prints the seconds that a regular expression takes to cut the file named by the first argument.
const PEER: &str = r#"
import re, sys, time
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
cut = re.compile("[^。！？]+[。！？]*")
began = time.perf_counter()
count = sum(len(cut.findall(line)) for line in lines)
print(time.perf_counter() - began)
"#;

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let file = std::env::args().skip(1).find(|arg| arg != "--bench");
    let dir = tempfile::tempdir()?;
    let docs = match file {
        Some(path) => std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {path}"))?
            .lines()
            .map(str::to_owned)
            .collect(),
        None => made_reports(8 << 20),
    };
    let bytes = docs.iter().map(String::len).sum::<usize>() as f64;
    ensure!(bytes > 0.0, "there is no text");
    let plain = dir.path().join("text.txt");
    std::fs::write(&plain, docs.join("\n"))?;
    println!("{:.1} MB, {} documents, one core, median of {ROUNDS} rounds", bytes / 1e6, docs.len());

    let (mut cutting, mut outlining, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let speed = |seconds: f64| bytes / 1e6 / seconds;
        let took = seconds(|| Ok(docs.iter().map(|text| sentences(text).len()).sum()))?;
        cutting.push(speed(took));
        outlining.push(speed(seconds(|| Ok(docs.iter().map(|text| outline(text, 0).len()).sum()))?));
        if let Ok(python) = std::env::var("PYTHON") {
            ratios.push(peer(&python, &plain)? / took);
        }
    }
    let against = if ratios.is_empty() { String::new() } else { format!("{:>7.1} x Python", median(ratios)) };
    println!("{:>8.1} MB/s {against}  sentences", median(cutting));
    println!("{:>8.1} MB/s  sections", median(outlining));

    let giant = docs.concat().replace(['。', '！', '？', '；', '\n'], "，");
    let took = seconds(|| Ok(sentences(&giant).len()))?;
    println!("{:>8.1} MB/s  one sentence of {:.1} MB", giant.len() as f64 / 1e6 / took, giant.len() as f64 / 1e6);

    let ctx = Ctx::new(1, 1)?;
    let clean = cleaned(dir.path(), docs, &ctx)?;
    for (name, salience) in [
        ("structure with boilerplate", vec![]),
        ("structure with boilerplate and novelty", vec![Measure::Novelty]),
        ("structure with boilerplate and all salience", vec![Measure::Tfidf, Measure::Textrank, Measure::Novelty]),
    ] {
        let params = structure::Params { salience, ..structure::Params::default() };
        let out = Parts::new(dir.path().join("structure"));
        let mut speeds = Vec::new();
        for _ in 0..ROUNDS {
            let took = seconds(|| {
                let report = structure::run(&clean, &out, &params, &TokenizerParams::default(), Path::new(""), &ctx)?;
                Ok(report.rows_out as usize)
            })?;
            speeds.push(bytes / 1e6 / took);
        }
        println!("{:>8.1} MB/s  {name}", median(speeds));
    }
    Ok(())
}

/// The seconds that some work takes, which gives a number that is not 0.
fn seconds(work: impl FnOnce() -> Result<usize>) -> Result<f64> {
    let began = Instant::now();
    ensure!(std::hint::black_box(work()?) > 0, "nothing was done");
    Ok(began.elapsed().as_secs_f64())
}

/// Seconds that Python takes.
fn peer(python: &str, path: &Path) -> Result<f64> {
    let run = Command::new(python).args(["-c", PEER]).arg(path).output()?;
    ensure!(run.status.success(), "{python}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout)?.trim().parse().context("the peer prints its seconds")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The documents as a clean corpus, an hour apart, of ten publishers.
fn cleaned(dir: &Path, texts: Vec<String>, ctx: &Ctx) -> Result<Parts> {
    let first: NaiveDateTime = "2020-01-01T09:00:00".parse()?;
    let build = |(i, body): (usize, String)| Document {
        doc_id: format!("desk/{i}"),
        kind: Kind::Report,
        title: format!("研究报告{i}"),
        body,
        source: "desk".into(),
        org: Some(format!("第{}研究所", i % 10)),
        published_at: first + Duration::hours(i as i64),
        ..Document::default()
    };
    let docs: Vec<Document> = texts.into_iter().enumerate().map(build).collect();
    let (documents, clean) = (Parts::new(dir.join("documents")), Parts::new(PathBuf::from(dir).join("clean")));
    for (i, part) in docs.chunks(PART_ROWS).enumerate() {
        documents.write(i, &mut documents_to_frame(part)?)?;
    }
    clean::run(&documents, &clean, &clean::Params::default(), &BTreeSet::new(), ctx)?;
    Ok(clean)
}

/// Invented reports: a summary, findings that differ by their figures and words, risks, and the legal notes of a house.
fn made_reports(bytes: usize) -> Vec<String> {
    const SUBJECTS: [&str; 8] =
        ["光伏组件", "动力电池", "白色家电", "创新药", "工程机械", "半导体设备", "调味品", "航空运输"];
    const SAID: [&str; 8] = [
        "出货量同比增长",
        "毛利率环比下降",
        "产能利用率回升至",
        "库存周转天数为",
        "订单金额达到",
        "市占率提升",
        "均价下滑",
        "研发费用率为",
    ];
    const WHY: [&str; 6] = [
        "主要因为下游需求恢复",
        "与原材料涨价有关",
        "好于此前预期",
        "受季节因素影响",
        "新产线陆续投产",
        "海外客户备货积极",
    ];
    const LAW: [&str; 4] = [
        "本报告仅供本公司客户使用，信息来源于公开资料，本公司对其准确性及完整性不作任何保证。",
        "未经书面许可，任何机构和个人不得以任何形式翻版、复制、发表或引用本报告的任何部分。",
        "分析师承诺：以勤勉的职业态度独立、客观地出具本报告，未曾因报告中的建议而收到任何形式的补偿。",
        "评级说明：买入指未来六个月内相对沪深300指数涨幅在15%以上；增持指涨幅在5%与15%之间。",
    ];
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut docs, mut length) = (Vec::new(), 0);
    while length < bytes {
        let mut text = String::from("投资要点：");
        let subject = SUBJECTS.choose(&mut random).copied().unwrap_or_default();
        for i in 0..random.random_range(15..40) {
            let (said, why) = (
                SAID.choose(&mut random).copied().unwrap_or_default(),
                WHY.choose(&mut random).copied().unwrap_or_default(),
            );
            let (a, b) = (random.random_range(1..4000), random.random_range(1..100));
            text += &format!(
                "公司{subject}{said}{b}.{}%，第{a}条产线{why}，我们预计{}年底前完成爬坡。",
                b % 10,
                2020 + i % 5
            );
        }
        text += "风险提示：需求不及预期；原材料价格上涨。";
        LAW.iter().for_each(|law| text += law);
        length += text.len();
        docs.push(text);
    }
    docs
}
