//! Speed and memory of a model on this machine, by the number of texts that run at once.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::describe::Listed;
use super::encoder::ENCODERS;
use super::files::Files;
use super::graph::{Hidden, output};
use super::masked::LOGITS;
use super::model::{Model, Opening};
use super::session::{Ran, no_output};
use super::windows::{OpenWordCutter, WindowRules, Windows};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_text::Truncation;

/// Texts that run at once, round after round.
const SIZES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// A round lasts so long, if the texts are enough.
const ROUND: Duration = Duration::from_millis(1500);
/// Sentence of which generated text consists.
const SENTENCE: &str = "公司发布公告，营业收入同比增长，净利润符合预期，订单充足。";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Texts as they are.
    Texts(Vec<String>),
    /// Text made up, of so many tokens each, special ones included.
    Tokens(usize),
}

/// Measurements of one size of batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Texts that ran at once.
    pub batch: usize,
    pub batches: u64,
    pub texts: u64,
    /// Their tokens, special ones included and filling not.
    pub tokens: u64,
    /// Time for which the batches ran.
    pub seconds: f64,
    /// Memory of this process afterwards, in bytes, where the system tells it.
    pub resident: Option<u64>,
}

impl Round {
    pub fn texts_per_second(&self) -> f64 {
        self.texts as f64 / self.seconds.max(1e-9)
    }

    pub fn tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.seconds.max(1e-9)
    }

    /// Milliseconds that a batch took.
    pub fn batch_millis(&self) -> f64 {
        1e3 * self.seconds / self.batches.max(1) as f64
    }
}

/// Reason why it went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All sizes were measured.
    Whole,
    /// The time was over.
    Time,
    /// A larger batch might have taken more memory than there is left.
    Memory,
    /// The graph takes this number of texts and no other.
    Fixed,
}

/// Measurements of all sizes.
#[derive(Clone, Debug)]
pub struct Metered {
    /// A round for each size.
    pub rounds: Vec<Round>,
    pub ran: Ran,
    /// Time that the opening of the model took.
    pub opened: Duration,
    /// Reason why it went no further.
    pub until: Until,
}

/// Runs a model on a sample with ever larger batches, for about `limit` in all; `each` hears of every round. Batches are made of texts
/// of like length, as those of features are.
pub fn meter(
    listed: &Listed,
    sample: &Sample,
    limit: Duration,
    (words, opening): (OpenWordCutter<'_>, &Opening<'_>),
    ctx: &Ctx,
    mut each: impl FnMut(&Round),
) -> Result<Metered> {
    let began = Instant::now();
    let params = listed.params();
    let mut model = Model::open(&Files::new(&params, opening.base, &ENCODERS)?, words, opening)?;
    let opened = began.elapsed();
    let ran = model.session.ran().clone();
    let shown = listed.file.display();
    ensure!(
        !model.decodes(),
        "{shown} 是解码器，离开编码器不读任何内容：请测编码器",
        "{shown} is a decoder, which reads nothing without its encoder: measure that"
    );
    let wanted = read_of(&model)?;

    let asked = if params.max_tokens == 0 { usize::MAX } else { params.max_tokens };
    let most = asked.min(model.family.limit.unwrap_or(usize::MAX)).min(model.fixed(1).unwrap_or(usize::MAX));
    let of_tokens = if let Sample::Tokens(tokens) = sample { *tokens } else { usize::MAX };
    let made: Vec<String>;
    let texts: Vec<&str> = match sample {
        Sample::Texts(texts) => texts.iter().map(String::as_str).collect(),
        Sample::Tokens(tokens) => {
            // A sentence has more than one token a character in no tokenizer that reads Chinese; the limit cuts what is too much.
            made = vec![SENTENCE.repeat(tokens / 8 + 1); SIZES[SIZES.len() - 1]];
            made.iter().map(String::as_str).collect()
        }
    };
    let rules = WindowRules {
        truncation: Truncation::None,
        limit: most.min(of_tokens).min(1 << 16),
        stride: 0,
        bare: false,
        prompt: None,
        mask: None,
    };
    let windows = Windows::new(&texts, &model.tokenizer, &rules, ctx)?;
    let mut order: Vec<usize> = (0..windows.windows.len()).collect();
    order.sort_by_key(|&window| (std::cmp::Reverse(windows.windows[window].len()), window));
    ensure!(!order.is_empty(), "没有可用来测 {shown} 的文本", "there is no text to measure {shown} with");

    let fixed = model.fixed(0);
    let sizes = fixed.map_or_else(|| SIZES.to_vec(), |rows| vec![rows.max(1)]);
    let mut until = if fixed.is_some() { Until::Fixed } else { Until::Whole };
    let mut rounds: Vec<Round> = Vec::new();
    for batch in sizes {
        if !rounds.is_empty() && (batch > order.len() || began.elapsed() >= limit) {
            until = if batch > order.len() { until } else { Until::Time };
            break;
        }
        if grows_too_much(&rounds) {
            until = Until::Memory;
            break;
        }
        let mut round = Round { batch, ..Round::default() };
        let mut run = |windows_of: &[usize]| -> Result<Duration> {
            let widest = windows_of.iter().map(|&window| windows.windows[window].len()).max().unwrap_or(1);
            let width = model.fixed(1).unwrap_or(widest);
            let started = Instant::now();
            model.run(&windows, windows_of, [batch, width], &[], &[&wanted], ctx, |_| Ok(()))?;
            Ok(started.elapsed())
        };
        // The first run of a shape makes room for it, which later ones need not.
        run(&order[..batch.min(order.len())])?;
        for chunk in order.chunks(batch).cycle() {
            let full = chunk.len() == batch || order.len() < batch;
            if round.batches > 0 && (round.seconds >= ROUND.as_secs_f64() || began.elapsed() >= limit) {
                break;
            }
            if full {
                round.seconds += run(chunk)?.as_secs_f64();
                round.batches += 1;
                round.texts += chunk.len() as u64;
                round.tokens += chunk.iter().map(|&window| windows.windows[window].len() as u64).sum::<u64>();
            }
        }
        round.resident = resident();
        each(&round);
        rounds.push(round);
    }
    Ok(Metered { rounds, ran, opened, until })
}

/// The output that is computed: vectors of tokens, else whatever there is.
fn read_of(model: &Model) -> Result<String> {
    let outputs = model.session.outputs();
    let named = |words: &[&str], rank| output(outputs, words, rank).map(|port| port.name.clone());
    let found =
        Hidden::last(outputs).or_else(|| named(&["logits", "output", "scores"], 2)).or_else(|| named(&LOGITS, 3));
    let any = || outputs.iter().find(|port| port.is_float()).map(|port| port.name.clone());
    found.or_else(any).with_context(|| no_output(&model.session, Word("向量或 logits", "vectors or logits")))
}

/// True if the next round, of twice the texts, may take more memory than is left: four times what the last round took beyond the one
/// before is held to be safe.
fn grows_too_much(rounds: &[Round]) -> bool {
    let [.., before, last] = rounds else { return false };
    let grown = last.resident.zip(before.resident).map(|(last, before)| last.saturating_sub(before));
    grown.zip(available()).is_some_and(|(grown, available)| grown.saturating_mul(4) > available)
}

/// Memory that this process holds, in bytes.
fn resident() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// Memory that the system could still give, in bytes.
fn available() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

/// Number of bytes that a file of the kernel gives behind a name, as in `VmRSS:   1234 kB`.
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let number = text.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?;
    number.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::OnnxParams;
    use super::super::describe::models;
    use super::super::testing::{graph, has_library, opening};
    use super::super::windows::WordCutter;
    use super::*;

    fn measured(model: &str, sample: &Sample, limit: Duration, ctx: &Ctx) -> Result<Metered> {
        let params = OnnxParams { model: graph(model), ..OnnxParams::default() };
        let listed = models(Path::new(""), &[("one".to_owned(), params)], &Ctx::new(1, 1)?)?.remove(0);
        let mut heard = 0;
        let metered = meter(&listed, sample, limit, (&|| Ok(WordCutter::Spaces), &opening()), ctx, |_| heard += 1)?;
        assert_eq!(metered.rounds.len(), heard);
        Ok(metered)
    }

    #[test]
    fn rounds_double_until_the_texts_or_the_time_are_over() {
        if !has_library() {
            return;
        }
        let ctx = Ctx::new(1, 1).unwrap();
        let texts = ["公司营业收入同比增长", "订单充足", "净利润", "股东减持", "回购"].map(str::to_owned).to_vec();
        let metered = measured("bert", &Sample::Texts(texts), Duration::from_millis(300), &ctx).unwrap();
        let first = &metered.rounds[0];
        assert!(first.batch == 1 && first.texts == first.batches && first.tokens > first.texts, "{first:?}");
        assert!(metered.rounds.iter().all(|round| round.batch <= 5), "{:?}", metered.rounds);
        assert!(first.texts_per_second() > 1.0 && first.tokens_per_second() > first.texts_per_second());
        assert_eq!(first.resident.is_some(), cfg!(target_os = "linux"));
        let short = measured("bert-mlm", &Sample::Tokens(16), Duration::ZERO, &ctx).unwrap();
        assert_eq!((short.rounds.len(), short.until, short.rounds[0].batches), (1, Until::Time, 1));
        assert_eq!(short.rounds[0].tokens, 16, "made text is as long as asked for");
    }

    #[test]
    fn what_cannot_be_measured_is_told_and_a_cancelled_measurement_ends() {
        if !has_library() {
            return;
        }
        let ctx = Ctx::new(1, 1).unwrap();
        let error = measured("bert", &Sample::Texts(vec![String::new()]), ROUND, &ctx).unwrap_err().to_string();
        assert!(error.contains("there is no text"), "{error}");
        ctx.cancel();
        let error = measured("bert", &Sample::Tokens(8), ROUND, &ctx).unwrap_err();
        assert!(error.is::<inkstone_base::job::Cancelled>(), "{error:#}");
    }

    #[test]
    fn memory_that_is_not_there_ends_it_before_it_is_taken() {
        if !has_library() {
            return;
        }
        let round = |resident| Round { resident: Some(resident), ..Round::default() };
        assert!(!grows_too_much(&[round(10), round(20)]));
        assert_eq!(grows_too_much(&[round(10), round(u64::MAX / 2)]), cfg!(target_os = "linux"));
        assert!(!grows_too_much(&[round(10)]));
    }
}
