//! The claims of the demo over many seeds: how often each one misses.
//!
//! `cargo bench --bench seeds [-- N [SCALE]]` runs the whole demo for the seeds 1 to N (20 unless told otherwise) at this scale (1), prints
//! what each claim found, and counts the misses. A claim that holds with a probability of 95 % misses more than 4 of 20 times in 0.3 % of
//! such benches: with more misses than that the bench fails, and with as many of another N. A claim that must hold always may not miss.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

#[path = "../tests/program/learned_words.rs"]
mod learned_words;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Probability that a claim made with 95 % confidence misses.
const MISS: f64 = 0.05;
/// Probability of more misses than are let pass, by chance alone; 4 of 20 pass.
const CHANCE: f64 = 0.003;

/// A claim, whether it is one of probability, and the seeds that missed it with what they found.
struct Claim {
    name: &'static str,
    probable: bool,
    misses: Vec<String>,
}

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let mut given = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let seeds: u64 = given.next().map_or(Ok(20), |seeds| seeds.parse()).context("the number of seeds")?;
    let scale = given.next().unwrap_or_else(|| "1".to_owned());
    let mut claims: Vec<Claim> = Vec::new();
    for seed in 1..=seeds {
        let folder = tempfile::tempdir()?;
        let (json, truth) = demo(folder.path(), seed, &scale)?;
        let mut all = judged(&json, &truth)?;
        all.extend(learned(&folder.path().join("demo"), seed)?);
        for (name, probable, holds, found) in all {
            let at = claims.iter().position(|claim| claim.name == name).unwrap_or_else(|| {
                claims.push(Claim { name, probable, misses: Vec::new() });
                claims.len() - 1
            });
            println!("seed {seed:>3}  {}  {name}: {found}", if holds { "holds " } else { "misses" });
            if !holds {
                claims[at].misses.push(format!("seed {seed}: {found}"));
            }
        }
    }
    let most = most_misses(seeds)?;
    println!("\nmisses of {seeds} seeds; a claim of 95 % may miss {most} times");
    let mut failed = Vec::new();
    for Claim { name, probable, misses } in &claims {
        let allowed = if *probable { most } else { 0 };
        println!("{:>3} of {allowed}  {name}  {}", misses.len(), misses.join("; "));
        if misses.len() as u64 > allowed {
            failed.push(*name);
        }
    }
    ensure!(failed.is_empty(), "missed more often than chance allows: {}", failed.join(", "));
    Ok(())
}

/// The most misses of a claim of 95 % that chance makes with a probability of at least [`CHANCE`].
fn most_misses(seeds: u64) -> Result<u64> {
    let misses = Binomial::new(MISS, seeds)?;
    Ok((0..=seeds).find(|most| misses.sf(*most) < CHANCE).unwrap_or(seeds))
}

/// Runs a command of the program in a folder, and gives its result.
fn inkstone(folder: &Path, seed: u64, args: &[&str]) -> Result<Value> {
    let ran = Command::new(env!("CARGO_BIN_EXE_inkstone"))
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .context("the program starts")?;
    // A demo has rows to set aside, which `run` counts.
    ensure!(matches!(ran.status.code(), Some(0 | 1)), "seed {seed}: {}", String::from_utf8_lossy(&ran.stderr));
    Ok(serde_json::from_slice(&ran.stdout)?)
}

/// Runs the demo, and gives its result and its truth.
fn demo(folder: &Path, seed: u64, scale: &str) -> Result<(Value, Value)> {
    let number = seed.to_string();
    let json = inkstone(folder, seed, &["demo", "--headless", "--dir", "demo", "--seed", &number, "--scale", scale])?;
    let truth = std::fs::read(folder.join("demo/data/truth.json")).context("the demo writes its truth")?;
    Ok((json, serde_json::from_slice(&truth)?))
}

/// A claim about one seed: name, whether it is one of probability, whether it holds, and what was found.
type Judged = (&'static str, bool, bool, String);

/// Adds features that learn words from returns to a demo, runs it, and gives the claims about them.
fn learned(demo: &Path, seed: u64) -> Result<Vec<Judged>> {
    learned_words::add_features(&demo.join("workbench.toml"));
    let json = inkstone(demo, seed, &["run", "--headless"])?;
    let mut claims = Vec::new();
    for (name, leans, stands, is_worth) in [
        (
            "sestm",
            "words of sestm lean their way",
            "words of sestm stand in planted phrases",
            "the RankIC of sestm is above 0.025",
        ),
        ("induced", "induced words lean their way", "", "the RankIC of induced words is above 0.025"),
    ] {
        let sides = learned_words::sides(demo, name);
        let least = |share: fn(&learned_words::Side) -> f64| sides.iter().map(share).fold(1.0, f64::min);
        let leaning = least(|side| side.leaning);
        claims.push((leans, true, leaning >= 0.7, format!("{:.0} % at least", 100.0 * leaning)));
        // An induced list takes in whatever goes with returns, the words of events too.
        if !stands.is_empty() {
            let in_phrases = least(|side| side.in_phrases);
            claims.push((stands, true, in_phrases >= 0.4, format!("{:.0} % at least", 100.0 * in_phrases)));
        }
        let factor =
            json["factors"].as_array().and_then(|factors| factors.iter().find(|factor| factor["name"] == name));
        let mean = factor.and_then(|factor| factor["ic"][0]["rank_ic"]["mean"].as_f64());
        let mean = mean.with_context(|| format!("{name} was tested"))?;
        claims.push((is_worth, true, mean > 0.025, format!("{mean:.4}")));
    }
    Ok(claims)
}

/// The mean RankIC of a planted factor: its interval over markets that differ in their noise, and its value in this market.
struct Planted {
    low: f64,
    high: f64,
    realised: f64,
}

impl Planted {
    fn read(planted: &Value) -> Result<Planted> {
        let number = |key: &str| planted[key].as_f64().with_context(|| format!("the truth has a number {key:?}"));
        Ok(Planted { low: number("low")?, high: number("high")?, realised: number("realised")? })
    }
}

/// The claims about the demo of one seed.
fn judged(json: &Value, truth: &Value) -> Result<Vec<Judged>> {
    let factor = |name: &str| json["factors"].as_array()?.iter().find(|factor| factor["name"] == name);
    let rank_ic = |name: &str, horizon: u64| -> Option<&Value> {
        let series = factor(name)?["ic"].as_array()?.iter().find(|series| series["horizon"] == horizon)?;
        Some(&series["rank_ic"])
    };
    let standing = |name: &str, check: &str| -> Option<&str> {
        factor(name)?["lint"].as_array()?.iter().find(|verdict| verdict["check"] == check)?["standing"].as_str()
    };
    let number = |value: &Value| value.as_f64().context("a figure is a number");
    let mut claims = Vec::new();
    for (name, planted) in [
        ("the RankIC of one day in the market lies in its interval", "rank_ic_1"),
        ("the RankIC of five days in the market lies in its interval", "rank_ic_5"),
        ("the RankIC of the placebo in the market lies in its interval", "placebo_rank_ic_1"),
    ] {
        let Planted { low, high, realised } = Planted::read(&truth[planted])?;
        let holds = (low..=high).contains(&realised);
        claims.push((name, true, holds, format!("{realised:.4} of {low:.4} to {high:.4}")));
    }
    // A lexicon reads tone with errors, so the RankIC found may differ from that of the true tone in the same market.
    for (name, factor, horizon, planted, share) in [
        ("the RankIC of one day is found", "tone", 1, "rank_ic_1", 0.15),
        ("the RankIC of five days is found", "tone", 5, "rank_ic_5", 0.15),
        ("the RankIC of the placebo is found", "placebo", 1, "placebo_rank_ic_1", 0.0),
    ] {
        let found = number(&rank_ic(factor, horizon).context("the factor was tested")?["mean"])?;
        let Planted { realised, .. } = Planted::read(&truth[planted])?;
        let holds = (found - realised).abs() <= 0.005 + share * realised.abs();
        claims.push((name, false, holds, format!("{found:.4}, {realised:.4} in the market")));
    }
    let p = number(&rank_ic("placebo", 1).context("the placebo was tested")?["p"])?;
    claims.push(("the p of the placebo is above 0.05", true, p > 0.05, format!("{p:.3}")));
    let t = number(&rank_ic("tone", 1).context("the tone was tested")?["t_nw"])?;
    claims.push(("the t of the planted effect is above 3", true, t > 3.0, format!("{t:.2}")));
    for (name, probable, check, wanted) in [
        ("values are known before they are traded", false, "known-before", "passed"),
        ("values are traded after their date", false, "trade-date", "passed"),
        ("no vocabulary knows the future", false, "future-vocabulary", "passed"),
        ("shuffled dates find nothing", true, "shuffled-dates", "passed"),
        ("shuffled texts find nothing", true, "shuffled-text", "passed"),
        ("the planted gap of the same day is named", true, "same-day-gap", "warned"),
    ] {
        let found = standing("tone", check).context("the check ran")?;
        claims.push((name, probable, found == wanted, found.to_owned()));
    }
    Ok(claims)
}
