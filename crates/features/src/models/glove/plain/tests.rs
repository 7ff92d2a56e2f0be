//! Known answers on a small corpus, threads, and what cannot be trained.

use std::io::Cursor;

use super::*;
use crate::lines::{CutSpec, LineFormat};
use inkstone_text::TokenizerParams;

fn cutter() -> Cutter {
    Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap()
}

/// Two circles of words that never meet.
fn corpus() -> String {
    let line =
        |words: [&str; 4], i: usize| (0..8).map(|j| words[(i * 3 + j * (i % 3 + 1)) % 4]).collect::<Vec<_>>().join(" ");
    (0..200)
        .map(|i| match i % 2 {
            0 => line(["增长", "盈利", "预增", "上调"], i / 2),
            _ => line(["减持", "问询", "处罚", "下调"], i / 2),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn counting() -> CooccurrenceParams {
    CooccurrenceParams { window: 5, min_count: 1, ..CooccurrenceParams::default() }
}

fn trained(
    text: &str,
    counting: &CooccurrenceParams,
    params: &GloveParams,
    threads: usize,
) -> Result<(WordVectors, Report)> {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(threads, 1).unwrap();
    let mut lines = Lines::new(Cursor::new(text.to_owned()), LineFormat::Tokens);
    train(&mut lines, &cutter(), counting, params, &dir.path().join("m"), &ctx)
}

#[test]
fn words_of_a_circle_are_near_and_the_loss_falls() {
    let params = GloveParams { dim: 8, epochs: 60, x_max: 10.0, ..GloveParams::default() };
    let (model, report) = trained(&corpus(), &counting(), &params, 2).unwrap();
    let cosine = |a: &str, b: &str| {
        let (a, b) = (model.vector(a).unwrap(), model.vector(b).unwrap());
        let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    assert!(
        cosine("增长", "盈利") > cosine("增长", "减持") + 0.3,
        "{} {}",
        cosine("增长", "盈利"),
        cosine("增长", "减持")
    );
    assert!(cosine("处罚", "问询") > cosine("处罚", "上调") + 0.3);
    let losses: Vec<f64> = serde_json::from_value(report.facts["losses"].clone()).unwrap();
    assert_eq!(losses.len(), 60);
    assert!(losses[59] < 0.1 * losses[0], "{losses:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_and_so_does_spilling() {
    let params = GloveParams { dim: 20, epochs: 3, ..GloveParams::default() };
    let spilled = CooccurrenceParams { memory: 1, ..counting() };
    let one = trained(&corpus(), &counting(), &params, 1).unwrap().0;
    for (counting, threads) in [(counting(), 2), (counting(), 8), (spilled, 2)] {
        assert_eq!(trained(&corpus(), &counting, &params, threads).unwrap().0.values(), one.values(), "{threads}");
    }
}

#[test]
fn what_cannot_be_trained_says_why() {
    let refusal = |text: &str, params: &GloveParams| {
        format!("{:#}", trained(text, &counting(), params, 1).map(|_| ()).unwrap_err())
    };
    let params = GloveParams::default();
    assert!(refusal("", &params).contains("the input is empty"));
    assert!(refusal("增长 增长 增长", &params).contains("word vectors need two"));
    assert!(refusal("增长\n减持", &params).contains("no two words stand near each other"));
    let fast = refusal(&corpus(), &GloveParams { lr: 1e30, ..GloveParams::default() });
    assert!(fast.contains("epoch 1") && fast.contains("--lr"), "{fast}");
    for (wrong, name) in [
        (GloveParams { dim: 0, ..GloveParams::default() }, "--dim"),
        (GloveParams { epochs: 0, ..GloveParams::default() }, "--epochs"),
        (GloveParams { lr: 0.0, ..GloveParams::default() }, "--lr"),
    ] {
        assert!(refusal(&corpus(), &wrong).contains(name), "{name}");
    }
}
