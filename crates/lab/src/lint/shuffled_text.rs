//! What remains of the RankIC when what texts say is given to other texts.
//!
//! Values are permuted among the documents of a kind; which document is about whom, and when, stays. The factor is
//! built anew, and its mean RankIC as a share of the one found is the number: what comes from who is written about and
//! when (attention), not from what is said. More than `max_share` fails; less, with p above 1 - `confidence`, warns. A
//! factor that no permutation changes counts documents by its construction, and warns: it is attention, which is no
//! fault if it is meant.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::factor::Signal;
use crate::lint::power::{Power, share_as_far};
use crate::lint::{Check, Params, Standing, Subject, Texts, Verdict, no_documents, nothing_to_break};
use inkstone_base::bootstrap::interval;
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{mean, std};

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let Some(texts) = &subject.texts else { return Ok(no_documents(Check::ShuffledText)) };
    if !power.is_there(params) {
        return Ok(nothing_to_break(Check::ShuffledText, power));
    }
    let sayings = Sayings::of(texts);
    let mut draws = Vec::with_capacity(params.text_draws);
    let mut untouched = true;
    for number in 0..params.text_draws {
        ctx.check()?;
        let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
        rng.set_stream(number as u64);
        let factor = (texts.rebuild)(&sayings.permuted(texts.signals, &mut rng))
            .context("cannot build the factor of permuted texts")?;
        let drawn = power.of(&factor, ctx)?;
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        untouched &= drawn.iter().zip(&power.series).all(same);
        draws.push(mean(drawn.into_iter()));
    }
    let draws: Vec<f64> = draws.into_iter().filter(|draw| !draw.is_nan()).collect();
    let (found, permuted) = (power.mean.mean, mean(draws.iter().copied()));
    let (share, p) = (permuted.abs() / found.abs(), share_as_far(&draws, found));
    let bounds = interval(draws.iter().copied(), params.confidence);
    let standing = match () {
        () if share.is_nan() => Standing::Skipped,
        () if untouched => Standing::Warned,
        () if share > params.max_share => Standing::Failed,
        () if p > params.alpha() => Standing::Warned,
        () => Standing::Passed,
    };
    let n = draws.len();
    let figure = (
        format!(
            "把文本的取值在同类文档间打乱（{n} 次）后重建因子，RankIC 均值从 {found:+.4} 变为 {permuted:+.4}，\
             剩 {:.0} %（p = {p:.3}）",
            100.0 * share
        ),
        format!(
            "With what texts say permuted among documents of a kind ({n} draws) and the factor built anew, the mean \
             RankIC goes from {found:+.4} to {permuted:+.4}: {:.0} % remains (p = {p:.3})",
            100.0 * share
        ),
    );
    let meaning = match standing {
        Standing::Warned if untouched => (
            "。打乱毫无影响：因子只数文档，衡量的是关注度而非内容；若本意如此则无妨，否则请改 aggregate。",
            ". Nothing changes: the factor counts documents, so it measures attention and not what is said. No fault \
             if that is meant; else choose another aggregate.",
        ),
        Standing::Failed => (
            "。预测力主要来自谁在何时被写到（关注度），而非写了什么；请把文档数作为单独的因子，并以均值代替求和再看。",
            ". The predictive power is mostly that of who is written about and when (attention), not of what is said: \
             make the number of documents a factor of its own, take means instead of sums, and look again.",
        ),
        Standing::Warned => (
            "。随机分配的内容也能得到同样大的 RankIC，内容的作用未得到证明；请用更长的样本再看。",
            ". Contents given at random do as well now and then, so that what is said is not shown to matter: look \
             again with a longer sample.",
        ),
        _ => ("，预测力确实来自文本的内容。", ", so the predictive power is that of what is said."),
    };
    let finding = (figure.0 + meaning.0, figure.1 + meaning.1);
    Ok(Verdict::of(Check::ShuffledText, standing, share, Some(params.max_share), finding)
        .with("rank_ic", found)
        .with("rank_ic_permuted", permuted)
        .with("std_permuted", std(&draws))
        .with("low", bounds.low)
        .with("high", bounds.high)
        .with("p", p)
        .with("draws", n)
        .with("counts_documents", untouched))
}

/// What documents say. A document about several securities says one thing of all, and where a factor reads documents more than once
/// their sayings move together.
struct Sayings {
    /// Numbers of the documents that are of one kind and were taken by the same readings.
    alike: Vec<Vec<u32>>,
    /// By document and reading what is said.
    values: BTreeMap<(u32, u32), f64>,
}

impl Sayings {
    fn of(texts: &Texts<'_>) -> Sayings {
        let values: BTreeMap<(u32, u32), f64> =
            texts.counted().map(|(signal, _)| ((signal.document, signal.reading), signal.value)).collect();
        let mut readings: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        values.keys().for_each(|&(document, reading)| readings.entry(document).or_default().push(reading));
        let mut alike: BTreeMap<(Kind, Vec<u32>), Vec<u32>> = BTreeMap::new();
        for (document, readings) in readings {
            alike.entry((texts.documents[document as usize].kind, readings)).or_default().push(document);
        }
        Sayings { alike: alike.into_values().collect(), values }
    }

    /// The signals with the values of other documents.
    fn permuted(&self, signals: &[Signal], rng: &mut ChaCha8Rng) -> Vec<Signal> {
        let mut from: BTreeMap<u32, u32> = BTreeMap::new();
        for alike in &self.alike {
            let mut other = alike.clone();
            other.shuffle(rng);
            from.extend(alike.iter().copied().zip(other));
        }
        let said = |signal: &Signal| {
            let other = from.get(&signal.document).and_then(|other| self.values.get(&(*other, signal.reading)));
            Signal { value: other.copied().unwrap_or(signal.value), ..*signal }
        };
        signals.iter().map(said).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::{Post, World};

    #[test]
    fn values_stay_among_their_kind_and_a_document_says_one_thing_of_all() {
        let mut posts: Vec<Post> = (0..12).map(|k| Post::new(k, (0, 10, 0), f64::from(k))).collect();
        // One document about the codes 0 and 1, and reports from 6 on.
        (posts[1].document, posts[1].value) = (Some(0), 0.0);
        posts[6..].iter_mut().for_each(|post| post.kind = Kind::Report);
        let world = World::flat(12, 3, posts, |post| Some(post.day));
        world.look(|subject| {
            let texts = subject.texts.as_ref().unwrap();
            let sayings = Sayings::of(texts);
            assert_eq!((sayings.values.len(), sayings.alike.len()), (11, 2));
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let permuted = sayings.permuted(texts.signals, &mut rng);
            assert_eq!(permuted[0].value, permuted[1].value);
            let sorted = |range: std::ops::Range<usize>| {
                let mut values: Vec<f64> = permuted[range].iter().map(|s| s.value).collect();
                values.sort_by(f64::total_cmp);
                values
            };
            assert_eq!(sorted(6..12), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0], "reports among reports");
            let said: f64 = permuted[1..6].iter().map(|s| s.value).sum();
            assert_eq!(said, 14.0, "news among news");
        });
    }
}
